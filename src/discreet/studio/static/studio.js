import { $, chosen, droppable, follow, get, hide, post, said, show, stayOpen, watch, within } from "./desk.js";

async function load() {
  const file = chosen($("table"));
  const asked = new URLSearchParams({ name: file.name, delimiter: $("delimiter").value, encoding: $("encoding").value });
  hide("columns", "risk", "progress", "result");
  for (const section of ["columns", "risk", "result"]) $(section).replaceChildren();
  show("columns", await post(`table?${asked}`, file, "application/octet-stream"));
  $("columns").querySelectorAll("fieldset").forEach(fit);
}

/** Show of a column what its use needs. */
function fit(set) {
  const quasi = set.querySelector(".role").value === "quasi";
  const grouped = quasi && set.querySelector(".kind").value === "taxonomy";
  for (const part of set.querySelectorAll(".if-quasi")) part.hidden = !quasi;
  set.querySelector(".if-taxonomy").hidden = !grouped;
}

async function outline(set, asked) {
  const text = await post("outline", JSON.stringify({ column: set.dataset.column, ...asked }));
  set.querySelector("textarea").value = text;
  set.querySelector("textarea").focus();
}

const entries = () => said("roles", "promise");

async function compare() {
  await post("frontier", entries());
  await follow((event) => ($("frontier").textContent = event.text));
  $("frontier").innerHTML = await get("result");
}

async function run() {
  await post("run", entries());
  await watch("result");
}

document.addEventListener("submit", (event) => {
  event.preventDefault();
  const action = { load: ["file", load], promise: ["risk", run],
    roles: ["columns", async () => { hide("progress", "result"); show("risk", await post("risk", entries())); }] }[event.target.id];
  if (action) within(...action);
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const set = button.closest("fieldset");
  if (button.id === "compare") within("risk", compare);
  if (button.id === "stop" || button.id === "cancel") within("progress", () => post(button.id, ""));
  if (button.classList.contains("values")) within("columns", () => outline(set, { how: "values" }));
  if (button.classList.contains("intervals"))
    within("columns", () => outline(set, { how: "intervals", width: set.querySelector(".width").value }));
});

document.addEventListener("change", (event) => {
  const { target } = event;
  const set = target.closest("fieldset[data-column]");
  if (target.classList.contains("choice")) $("k").value = target.value;
  if (target.classList.contains("role") || target.classList.contains("kind")) fit(set);
  if (target.classList.contains("taxonomy-file") && target.files[0])
    within("columns", async () => outline(set, { how: "file", text: await target.files[0].text() }));
  if (set && !$("risk").hidden) hide("risk", "progress", "result");
});

droppable($("drop"), $("table"), () => within("file", load));
stayOpen();
