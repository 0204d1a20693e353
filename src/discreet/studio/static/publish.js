// What every page that publishes does: a table comes in, a ledger is seen and charged, a release goes out.
import { $, chosen, droppable, hide, post, said, show, stayOpen, watch, within } from "./workspace.js";

export const entries = () => said("layout", "release");

/**
 * Make a page work.
 *
 * @param {string} name - its address
 * @param {() => Promise<void>} compare - shows what a budget buys, before it is charged
 * @param {(target: HTMLElement) => void} changed - what else happens when a control is changed
 */
export function publishing(name, compare, changed) {
  async function load() {
    const file = chosen($("table"));
    const asked = new URLSearchParams({ ...JSON.parse(said("load")), name: file.name });
    hide("columns", "budget", "progress", "result");
    for (const section of ["columns", "budget", "result"]) $(section).replaceChildren();
    show("columns", await post(`${name}/table?${asked}`, file, "application/octet-stream"));
  }

  /** Read a public file as soon as it is chosen, and say what was read. */
  async function list(input) {
    const { which } = input.dataset;
    $(`said-${which}`).textContent = "";
    const file = chosen(input);
    const asked = new URLSearchParams({ which, name: file.name });
    $(`said-${which}`).textContent = await post(`${name}/list?${asked}`, file, "application/octet-stream");
  }

  async function goOn() {
    hide("progress", "result");
    show("budget", await post(`${name}/public`, entries()));
  }

  async function book(path) {
    $("book").innerHTML = await post(`${name}/${path}`, entries());
  }

  /** Grant a budget; its button goes, so that the next field takes the focus. */
  async function grant() {
    await book("grant");
    $("amount").focus();
  }

  async function publish() {
    // The result has headings of its own with these names.
    $("compared").replaceChildren();
    await post(`${name}/run`, entries());
    await watch(`${name}/result`);
    await book("budget");
  }

  document.addEventListener("submit", (event) => {
    event.preventDefault();
    const action = { load: ["file", load], layout: ["columns", goOn], release: ["budget", publish] }[event.target.id];
    if (action) within(...action);
  });

  document.addEventListener("click", (event) => {
    const id = event.target.closest("button")?.id;
    if (id === "compare") within("budget", compare);
    if (id === "look") within("budget", () => book("budget"));
    if (id === "grant") within("budget", grant);
    if (id === "cancel") within("progress", () => post("cancel", ""));
  });

  document.addEventListener("change", (event) => {
    const { target } = event;
    if (target.classList.contains("public-file")) within("columns", () => list(target));
    if (target.form?.id === "layout" && !$("budget").hidden) hide("budget", "progress", "result");
    if (target.id === "notion") $("compared").replaceChildren();
    changed(target);
  });

  droppable($("drop"), $("table"), () => within("file", load));
  stayOpen();
}
