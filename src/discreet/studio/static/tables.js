import { $, Refused, chosen, droppable, hide, post, said, show, stayOpen, watch, within } from "./desk.js";

const entries = () => said("layout", "release");
let kept = true;

async function load() {
  const file = chosen($("table"));
  const asked = new URLSearchParams({ ...JSON.parse(said("load")), name: file.name });
  hide("columns", "budget", "progress", "result");
  for (const section of ["columns", "budget", "result"]) $(section).replaceChildren();
  kept = true;
  show("columns", await post(`tables/table?${asked}`, file, "application/octet-stream"));
}

/** Read the list of regions as soon as it is chosen, and say what was read. */
async function list(input) {
  $("said-list").textContent = "";
  const file = chosen(input);
  const asked = new URLSearchParams({ name: file.name });
  $("said-list").textContent = await post(`tables/list?${asked}`, file, "application/octet-stream");
}

/** Put a file of categories into the field, where they can be read and mended. */
async function categories(input) {
  const file = chosen(input);
  if (file.size > 2 ** 20) throw new Refused("A list of categories has at most 1 MiB.");
  $("categories").value = await file.text();
}

async function goOn() {
  hide("progress", "result");
  show("budget", await post("tables/public", entries()));
}

async function book(path) {
  $("book").innerHTML = await post(`tables/${path}`, entries());
}

/** Grant a budget; its button goes, so that the next field takes the focus. */
async function grant() {
  await book("grant");
  $("amount").focus();
}

async function plan() {
  $("plan").innerHTML = await post("tables/plan", entries());
  $("plan-title").focus();
}

async function publish() {
  // The result has a plan of its own.
  $("plan").replaceChildren();
  await post("tables/run", entries());
  const done = await watch("tables/result");
  if (done) kept = false;
  await book("budget");
}

document.addEventListener("submit", (event) => {
  event.preventDefault();
  const action = { load: ["file", load], layout: ["columns", goOn], release: ["budget", publish] }[event.target.id];
  if (action) within(...action);
});

document.addEventListener("click", (event) => {
  const { target } = event;
  if (target.closest(".download")) kept = true;
  const id = target.closest("button")?.id;
  if (id === "compare") within("budget", plan);
  if (id === "look") within("budget", () => book("budget"));
  if (id === "grant") within("budget", grant);
  if (id === "cancel") within("progress", () => post("cancel", ""));
});

document.addEventListener("change", (event) => {
  const { target } = event;
  if (target.id === "file-list") within("columns", () => list(target));
  if (target.id === "file-categories") within("columns", () => categories(target));
  if (target.form?.id === "layout" && !$("budget").hidden) hide("budget", "progress", "result");
  if (target.id === "notion" || target.id === "amount") $("plan").replaceChildren();
});

// A release that is paid for is lost with the page; ask once before that.
addEventListener("beforeunload", (event) => {
  if (!kept) event.preventDefault();
});

droppable($("drop"), $("table"), () => within("file", load));
stayOpen();
