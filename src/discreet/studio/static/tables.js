import { $, Refused, chosen, post, within } from "./workspace.js";
import { entries, publishing } from "./publish.js";

/** Put a file of categories into the field, where they can be read and mended. */
async function categories(input) {
  const file = chosen(input);
  const text = /\.(json|txt)$/i.test(file.name);
  if (text && file.size > 2 ** 20) throw new Refused("A list of categories has at most 1 MiB.");
  const asked = new URLSearchParams({ name: file.name });
  $("categories").value = text ? await file.text() : await post(`tables/categories?${asked}`, file, "application/octet-stream");
}

/** Show how noisy each number will be. */
async function plan() {
  $("compared").innerHTML = await post("tables/plan", entries());
  $("plan-title").focus();
}

publishing("tables", plan, (target) => {
  if (target.id === "file-categories") within("columns", () => categories(target));
  if (target.id === "amount") $("compared").replaceChildren();
});
