const desk = document.documentElement.dataset.desk;
const most = Number(document.documentElement.dataset.most);
const $ = (id) => document.getElementById(id);

class Refused extends Error {}

/** Send something and give the answer's text; a refusal says what to do. */
async function post(path, body, type = "application/json") {
  let answer;
  try {
    answer = await fetch(`${desk}/${path}`, { method: "POST", body, headers: { "content-type": type } });
  } catch {
    throw new Refused("The studio does not answer. Is it still running in the terminal?");
  }
  const text = await answer.text();
  if (answer.ok) return text;
  if (answer.status === 413) throw new Refused(tooLarge());
  throw new Refused(answer.status === 400 ? text : `The studio failed (${answer.status}); its terminal says where.`);
}

function tooLarge() {
  return `The file has more than ${most / 2 ** 20} MiB. Larger ones go through “discreet anonymize FILE -k K --quasi A,B --stream -o OUT” on the command line.`;
}

/** Do something for a section: its alert says what went wrong, its buttons wait. */
async function within(section, action) {
  const [alert, buttons] = [$(`${section}-alert`), [...$(section).querySelectorAll("button")]];
  alert.textContent = "";
  $(section).setAttribute("aria-busy", "true");
  for (const button of buttons) button.disabled = true;
  try {
    await action();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    alert.textContent = error.message;
  } finally {
    for (const button of buttons) button.disabled = false;
    $(section).removeAttribute("aria-busy");
  }
}

function show(section, html) {
  $(section).innerHTML = html;
  $(section).hidden = false;
  lookAt(section);
}

function lookAt(section) {
  const title = $(`${section}-title`);
  title.focus({ preventScroll: true });
  title.scrollIntoView({ block: "start" });
}

function hide(...sections) {
  for (const section of sections) $(section).hidden = true;
}

/** All that the forms say, by name. */
function said() {
  const found = {};
  for (const id of ["roles", "promise"])
    if ($(id)) for (const [name, value] of new FormData($(id))) if (typeof value === "string") found[name] = value;
  return JSON.stringify(found);
}

async function load() {
  const file = $("table").files[0];
  if (!file) throw new Refused("Choose a file first.");
  if (file.size > most) throw new Refused(tooLarge());
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

/** Follow a job until it is over. */
function follow(told) {
  return new Promise((resolve, reject) => {
    const source = new EventSource(`${desk}/events`);
    source.addEventListener("message", ({ data }) => {
      const event = JSON.parse(data);
      if (event.type === "step") return void told(event);
      source.close();
      event.type === "done" ? resolve() : reject(new Refused(event.message));
    });
    source.addEventListener("error", () => {
      source.close();
      reject(new Refused("The studio does not answer. Is it still running in the terminal?"));
    });
  });
}

async function result() {
  const answer = await fetch(`${desk}/result`);
  if (!answer.ok) throw new Refused(await answer.text());
  return answer.text();
}

async function compare() {
  await post("frontier", said());
  await follow((event) => ($("frontier").textContent = event.text));
  $("frontier").innerHTML = await result();
}

async function run() {
  await post("run", said());
  hide("result");
  $("steps").replaceChildren();
  $("progress-alert").textContent = "";
  $("progress-now").textContent = "Starting.";
  $("progress-buttons").hidden = false;
  $("progress").hidden = false;
  lookAt("progress");
  const began = Date.now();
  const clock = setInterval(() => ($("progress-now").textContent = `Running for ${Math.round((Date.now() - began) / 1000)} s.`), 1000);
  try {
    await follow((event) => $("steps").append(Object.assign(document.createElement("li"), { textContent: event.text })));
    const html = await result();
    $("progress-now").textContent = "Done.";
    show("result", html.replaceAll('href="download/', `href="${desk}/download/`));
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    $("progress-now").textContent = "There is no result.";
    $("progress-alert").textContent = error.message;
  } finally {
    clearInterval(clock);
    $("progress-buttons").hidden = true;
  }
}

document.addEventListener("submit", (event) => {
  event.preventDefault();
  const action = { load: ["file", load], promise: ["risk", run],
    roles: ["columns", async () => { hide("progress", "result"); show("risk", await post("risk", said())); }] }[event.target.id];
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

for (const [kind, over] of [["dragover", true], ["dragleave", false], ["drop", false]])
  $("drop").addEventListener(kind, (event) => {
    event.preventDefault();
    $("drop").classList.toggle("over", over);
    if (kind !== "drop" || !event.dataTransfer.files.length) return;
    $("table").files = event.dataTransfer.files;
    within("file", load);
  });

setInterval(() => post("here", "").catch((error) => ($("file-alert").textContent = error.message)), 10_000);
addEventListener("pagehide", () => navigator.sendBeacon(`${desk}/leave`));
document.documentElement.dataset.ready = "yes";
