"use strict";
(() => {
  document.documentElement.classList.add("js");
  for (const figure of document.querySelectorAll("figure.map")) {
    const id = figure.dataset.map;
    const table = JSON.parse(document.getElementById(id).textContent);
    const drawing = figure.querySelector("svg");
    const marks = drawing.querySelector("g.marks");
    const ring = drawing.querySelector("g.true");
    const facts = document.querySelectorAll(`dl[data-for="${id}"] dd`);
    const buttons = document.querySelectorAll(`.picks[data-for="${id}"] button`);
    const mark = (report, share) => {
      const place = table.reports[report];
      const x = table.at[2 * place], y = table.at[2 * place + 1], root = Math.sqrt(share / 1e4);
      const shape = document.createElementNS(drawing.namespaceURI, table.kind === "cell" ? "rect" : "circle");
      const set = table.kind === "cell"
        ? { x: x - table.size / 2, y: y - table.size / 2, width: table.size, height: table.size,
            "fill-opacity": Math.min(1, root / Math.sqrt(table.typical)) }
        : { cx: x, cy: y, r: table.size * root, "fill-opacity": 0.62 };
      for (const [name, value] of Object.entries(set)) shape.setAttribute(name, value);
      return shape;
    };
    const show = (secret) => {
      const row = table.rows[secret], shapes = [];
      for (let i = 0; i < row.length; i += 2) shapes.push(mark(row[i], row[i + 1]));
      marks.replaceChildren(...shapes);
      ring.setAttribute("transform", `translate(${table.at[2 * secret]} ${table.at[2 * secret + 1]})`);
      facts.forEach((cell, i) => { cell.textContent = table.facts[secret][i]; });
      buttons.forEach((b) => b.setAttribute("aria-pressed", String(Number(b.dataset.secret) === secret)));
    };
    buttons.forEach((b) => b.addEventListener("click", () => show(Number(b.dataset.secret))));
    drawing.addEventListener("click", (event) => {
      const p = new DOMPoint(event.clientX, event.clientY).matrixTransform(drawing.getScreenCTM().inverse());
      let best = 0, least = Infinity;
      for (let s = 0; 2 * s < table.at.length; s++) {
        const away = Math.hypot(table.at[2 * s] - p.x, table.at[2 * s + 1] - p.y);
        if (away < least) { least = away; best = s; }
      }
      show(best);
    });
  }
})();
