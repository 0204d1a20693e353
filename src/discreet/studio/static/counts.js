import { $, follow, get, post } from "./workspace.js";
import { entries, publishing } from "./publish.js";

/** Compare what budgets cost, on a synthetic table. */
async function compare() {
  await post("counts/costs", entries());
  await follow((event) => ($("compared").textContent = event.text));
  $("compared").innerHTML = await get("counts/costs");
  $("costs-title").focus();
}

publishing("counts", compare, (target) => {
  if (target.classList.contains("choice")) $("amount").value = target.value;
  if (target.name === "public")
    for (const which of ["list", "units"]) document.querySelector(`.if-${which}`).hidden = target.value !== which;
});
