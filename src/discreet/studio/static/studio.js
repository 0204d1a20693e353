import { $, Refused, chosen, droppable, follow, get, hide, post, said, show, stayOpen, watch, within } from "./workspace.js";

async function fill(loading) {
  hide("columns", "risk", "progress", "result");
  for (const section of ["columns", "risk", "result"]) $(section).replaceChildren();
  show("columns", await loading());
  $("columns").querySelectorAll("fieldset").forEach(fit);
}

const sample = () => fill(() => post("sample", ""));

async function load() {
  const file = chosen($("table"));
  const asked = new URLSearchParams({ ...JSON.parse(said("load")), name: file.name });
  await fill(() => post(`table?${asked}`, file, "application/octet-stream"));
}

const SHORT = { "": "no role yet", drop: "left out", quasi: "quasi-identifier", sensitive: "sensitive", keep: "kept", person: "persons" };

/** Show of a column what its role needs, and color its header. */
function fit(set) {
  const role = set.querySelector(".role").value;
  const quasi = role === "quasi";
  const kind = quasi ? set.querySelector(".kind").value : "";
  const grouped = kind === "taxonomy";
  set.dataset.role = role;
  const head = document.querySelector(`.preview [data-shown="${set.dataset.column}"]`);
  head.dataset.role = role;
  head.querySelector(".as").textContent = SHORT[role];
  for (const part of set.querySelectorAll(".if-quasi")) part.hidden = !quasi;
  set.querySelector(".if-dates").hidden = kind !== "dates";
  set.querySelector(".if-rounded").hidden = kind !== "rounded";
  set.querySelector(".if-taxonomy").hidden = !grouped;
}

async function outline(set, asked, look = true) {
  const area = set.querySelector("textarea");
  area.value = await post("outline", JSON.stringify({ column: set.dataset.column, ...asked }));
  offer(set);
  if (!look) return;
  area.focus();
  area.setSelectionRange(0, 0);
  area.scrollTop = 0;
}

/** Divide a nested list at the lines that are not indented. */
function blocks(text) {
  const found = [];
  for (const line of text.split("\n").filter((line) => line.trim()))
    if (/^\s/.test(line) && found.length) found.at(-1).push(line);
    else found.push([line]);
  return found;
}

/** Count the values among lines: those with nothing deeper right below them. */
function values(lines) {
  const depths = lines.map((line) => line.search(/\S/));
  return depths.filter((depth, at) => !(depths[at + 1] > depth)).length;
}

/** Offer what stands in no group yet. */
function offer(set) {
  const options = blocks(set.querySelector("textarea").value).map(([name, ...below], at) => {
    const text = below.length ? `${name.trim()} (${values(below)})` : name.trim();
    return Object.assign(document.createElement("option"), { value: at, textContent: text });
  });
  set.querySelector(".loose").replaceChildren(...options);
}

/** Put what was chosen into a group, which may be there. */
function group(set) {
  const [area, input] = [set.querySelector("textarea"), set.querySelector(".group-name")];
  const chosenOnes = new Set([...set.querySelector(".loose").selectedOptions].map((option) => Number(option.value)));
  const name = input.value.trim();
  if (!name || !chosenOnes.size) throw new Refused("Choose what belongs together, and give the group a name.");
  const all = blocks(area.value);
  if (all.some((block, at) => chosenOnes.has(at) && block[0].trim() === name))
    throw new Refused("A group cannot be put into itself; give another name.");
  const inside = all.filter((_, at) => chosenOnes.has(at)).flat().map((line) => `  ${line}`);
  const rest = all.filter((_, at) => !chosenOnes.has(at));
  const there = rest.find((block) => block.length > 1 && block[0].trim() === name);
  if (there) there.push(...inside);
  else rest.unshift([name, ...inside]);
  area.value = rest.flat().join("\n");
  input.value = "";
  offer(set);
  set.querySelector(".loose").focus();
}

/** Mark a k in the drawing and in the table. */
function pick(k) {
  for (const place of document.querySelectorAll("#frontier [data-k], #frontier [data-row]"))
    place.classList.toggle("picked", (place.dataset.k ?? place.dataset.row) === k);
  for (const choice of document.querySelectorAll("#frontier .choice")) choice.checked = choice.value === k;
}

const entries = () => said("roles", "promise");

/** Draw what each k costs, and leave the focus where it is. */
async function draw(path) {
  const focused = document.activeElement?.id;
  const html = await get(path);
  if (!html) return;
  $("frontier").innerHTML = html;
  pick($("k").value);
  if (focused?.startsWith("choice-")) $(focused)?.focus();
}

/** The first drawing is waited for; what refines it comes while one looks. */
async function compare() {
  await post("frontier", entries());
  const quietly = (error) => { if (!(error instanceof Refused)) throw error; };
  await new Promise((ready, failed) => {
    // One drawing after the other, so that no older one comes last; each shows all that is known when it is asked for.
    let [last, asked, drawn] = [Promise.resolve(), false, false];
    const told = ({ rows, text }) => {
      if (!rows && !drawn) $("frontier").textContent = text;
      if (!rows || asked) return;
      [asked, drawn] = [true, true];
      last = last.then(() => { asked = false; return draw("frontier"); }).then(ready).catch(quietly);
    };
    // A search that another job takes the place of has nothing more to say.
    follow(told).then(() => last).then(() => draw("result")).then(ready, failed);
  });
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
  const place = event.target.closest("[data-k]");
  if (place) {
    $("k").value = place.dataset.k;
    pick(place.dataset.k);
  }
  const button = event.target.closest("button");
  if (!button) return;
  const set = button.closest("fieldset");
  if (button.id === "sample") within("file", sample);
  if (button.id === "compare") within("risk", compare);
  if (button.id === "stop" || button.id === "cancel") within("progress", () => post(button.id, ""));
  if (button.classList.contains("group")) within("columns", async () => group(set));
  if (button.classList.contains("values")) within("columns", () => outline(set, { how: "values" }));
  if (button.classList.contains("intervals"))
    within("columns", () => outline(set, { how: "intervals", width: set.querySelector(".width").value }));
});

document.addEventListener("change", (event) => {
  const { target } = event;
  const set = target.closest("fieldset[data-column]");
  if (target.classList.contains("choice")) $("k").value = target.value;
  if (target.classList.contains("choice") || target.id === "k") pick($("k").value);
  if (target.classList.contains("role") || target.classList.contains("kind")) fit(set);
  if (target.value === "taxonomy" && !set.querySelector("textarea").value)
    within("columns", () => outline(set, { how: "values" }, false));
  if (target.tagName === "TEXTAREA") offer(set);
  if (target.classList.contains("taxonomy-file") && target.files[0])
    within("columns", async () => outline(set, { how: "file", text: await target.files[0].text() }));
  if (set && !$("risk").hidden) hide("risk", "progress", "result");
});

droppable($("drop"), $("table"), () => within("file", load));
if (location.hash === "#sample") within("file", sample);
stayOpen();
