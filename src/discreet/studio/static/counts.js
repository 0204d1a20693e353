import { $, chosen, droppable, follow, get, hide, post, said, show, stayOpen, watch, within } from "./desk.js";

const entries = () => said("layout", "release");
let kept = true;

async function load() {
  const file = chosen($("table"));
  const asked = new URLSearchParams({ ...JSON.parse(said("load")), name: file.name });
  hide("columns", "budget", "progress", "result");
  for (const section of ["columns", "budget", "result"]) $(section).replaceChildren();
  kept = true;
  show("columns", await post(`counts/table?${asked}`, file, "application/octet-stream"));
}

/** Read a public file as soon as it is chosen, and say what was read. */
async function list(input) {
  const { which } = input.dataset;
  $(`said-${which}`).textContent = "";
  const file = chosen(input);
  const asked = new URLSearchParams({ which, name: file.name });
  $(`said-${which}`).textContent = await post(`counts/list?${asked}`, file, "application/octet-stream");
}

async function goOn() {
  hide("progress", "result");
  show("budget", await post("counts/public", entries()));
}

async function book(path) {
  $("book").innerHTML = await post(`counts/${path}`, entries());
}

/** Grant a budget; its button goes, so that the next field takes the focus. */
async function grant() {
  await book("grant");
  $("amount").focus();
}

async function compare() {
  await post("counts/costs", entries());
  await follow((event) => ($("costs").textContent = event.text));
  $("costs").innerHTML = await get("counts/result");
  $("costs-title").focus();
}

async function publish() {
  await post("counts/run", entries());
  const done = await watch("counts/result");
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
  if (id === "compare") within("budget", compare);
  if (id === "look") within("budget", () => book("budget"));
  if (id === "grant") within("budget", grant);
  if (id === "cancel") within("progress", () => post("cancel", ""));
});

document.addEventListener("change", (event) => {
  const { target } = event;
  if (target.classList.contains("choice")) $("amount").value = target.value;
  if (target.classList.contains("public-file")) within("columns", () => list(target));
  if (target.name === "public")
    for (const which of ["list", "units"]) document.querySelector(`.if-${which}`).hidden = target.value !== which;
  if (target.form?.id === "layout" && !$("budget").hidden) hide("budget", "progress", "result");
  if (target.id === "notion") $("costs").replaceChildren();
});

// A release that is paid for is lost with the page; ask once before that.
addEventListener("beforeunload", (event) => {
  if (!kept) event.preventDefault();
});

droppable($("drop"), $("table"), () => within("file", load));
stayOpen();
