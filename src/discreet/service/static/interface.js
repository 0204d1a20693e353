// Asks what the page lists, of this server, and shows the answer.
"use strict";
const MOST = 2000;
for (const button of document.querySelectorAll("button[data-path]")) {
  button.addEventListener("click", async () => {
    const output = button.nextElementSibling;
    button.disabled = true;
    try {
      const answer = await fetch(button.dataset.path, { headers: { accept: "application/json" } });
      const text = await answer.text();
      const headers = [...answer.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
      const rest = text.length > MOST ? `\n… ${text.length} characters in all` : "";
      output.textContent = `${answer.status}\n${headers}\n\n${text.slice(0, MOST)}${rest}`;
    } catch {
      output.textContent = "no answer: the server can't be reached";
    } finally {
      button.disabled = false;
    }
  });
}
