// What every page of the studio does: ask, say what went wrong, show a part, follow a job, speak now and then.
export const workspace = document.documentElement.dataset.workspace;
export const most = Number(document.documentElement.dataset.most);
export const $ = (id) => document.getElementById(id);

export class Refused extends Error {}

/** Send something and give the answer's text; a refusal says what to do. */
export async function post(path, body, type = "application/json") {
  let answer;
  try {
    answer = await fetch(`${workspace}/${path}`, { method: "POST", body, headers: { "content-type": type } });
  } catch {
    throw new Refused("The studio does not answer. Is it still running in the terminal?");
  }
  const text = await answer.text();
  if (answer.ok) return text;
  if (answer.status === 413) throw new Refused(tooLarge());
  throw new Refused(answer.status === 400 ? JSON.parse(text).message : `The studio failed (${answer.status}); its terminal says where.`);
}

/** Give a file that was chosen, if it is there and small enough. */
export function chosen(input) {
  const file = input.files[0];
  if (!file) throw new Refused("Choose a file first.");
  if (file.size > most) throw new Refused(tooLarge());
  return file;
}

function tooLarge() {
  const { larger } = document.documentElement.dataset;
  return `The file has more than ${most / 2 ** 20} MiB. Larger ones go through “${larger}” on the command line.`;
}

/** Do something for a section: its alert says what went wrong, its buttons wait. */
export async function within(section, action) {
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

export function show(section, html) {
  $(section).innerHTML = html;
  $(section).hidden = false;
  lookAt(section);
}

/** Mark in the stepper how far one is: the last step whose section is shown. */
function step() {
  const steps = [...document.querySelectorAll(".stepper [data-step]")];
  const at = steps.findLastIndex((one) => !$(one.dataset.step).hidden);
  for (const [place, one] of steps.entries())
    if (place === at) one.setAttribute("aria-current", "step");
    else one.removeAttribute("aria-current");
}

export function lookAt(section) {
  step();
  const title = $(`${section}-title`);
  title.focus({ preventScroll: true });
  title.scrollIntoView({ block: "start" });
}

export function hide(...sections) {
  for (const section of sections) $(section).hidden = true;
  step();
}

/** All that forms say, by name. */
export function said(...forms) {
  const found = {};
  for (const id of forms)
    if ($(id)) for (const [name, value] of new FormData($(id))) if (typeof value === "string") found[name] = value;
  return JSON.stringify(found);
}

/** Follow a job until it is over. */
export function follow(told) {
  return new Promise((resolve, reject) => {
    const source = new EventSource(`${workspace}/events`);
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

export async function get(path) {
  const answer = await fetch(`${workspace}/${path}`);
  const text = await answer.text();
  if (!answer.ok) throw new Refused(answer.status === 400 ? JSON.parse(text).message : text);
  return text;
}

/** Show a job's steps while it runs, and what it made at its end. */
export async function watch(path) {
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
    const html = await get(path);
    $("progress-now").textContent = "Done.";
    show("result", html.replaceAll('href="download/', `href="${workspace}/download/`));
    return true;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    $("progress-now").textContent = "There is no result.";
    $("progress-alert").textContent = error.message;
    return false;
  } finally {
    clearInterval(clock);
    $("progress-buttons").hidden = true;
  }
}

/** Let a file be dropped where it may also be chosen. */
export function droppable(drop, input, then) {
  for (const [kind, over] of [["dragover", true], ["dragleave", false], ["drop", false]])
    drop.addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", over);
      if (kind !== "drop" || !event.dataTransfer.files.length) return;
      input.files = event.dataTransfer.files;
      then();
    });
}

/** Say now and then that the page is open, and at its end that it is closed. */
export function stayOpen() {
  setInterval(() => post("here", "").catch((error) => ($("file-alert").textContent = error.message)), 10_000);
  addEventListener("pagehide", () => navigator.sendBeacon(`${workspace}/leave`));
  document.documentElement.dataset.ready = "yes";
}
