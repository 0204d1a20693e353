"use strict";
(() => {
  document.documentElement.classList.add("js");
  for (const section of document.querySelectorAll("section[data-map]")) {
    const table = JSON.parse(document.getElementById(section.dataset.map).textContent);
    const drawing = section.querySelector(".map svg");
    const marks = drawing.querySelector("g.marks");
    const ring = drawing.querySelector("g.true");
    const facts = section.querySelectorAll("dl.facts dd");
    const buttons = section.querySelectorAll(".picks button");
    const slider = section.querySelector("input[type=range]");
    let shown = Number(buttons[0].dataset.secret), strength = table;
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
      shown = secret;
      const row = strength.rows[secret], shapes = [];
      for (let i = 0; i < row.length; i += 2) shapes.push(mark(row[i], row[i + 1]));
      marks.replaceChildren(...shapes);
      ring.setAttribute("transform", `translate(${table.at[2 * secret]} ${table.at[2 * secret + 1]})`);
      facts.forEach((cell, i) => { cell.textContent = strength.facts[secret][i]; });
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
    // With the keyboard: the nearest place to the left, right, above or below, going more along than aside.
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    drawing.setAttribute("tabindex", "0");
    drawing.addEventListener("keydown", (event) => {
      const way = ways[event.key];
      if (!way) return;
      event.preventDefault();
      let best = shown, least = Infinity;
      for (let s = 0; 2 * s < table.at.length; s++) {
        const dx = table.at[2 * s] - table.at[2 * shown], dy = table.at[2 * s + 1] - table.at[2 * shown + 1];
        const along = dx * way[0] + dy * way[1], aside = Math.abs(dx * way[1] - dy * way[0]);
        if (along > 0.5 && aside <= along && along + 2 * aside < least) { least = along + 2 * aside; best = s; }
      }
      show(best);
    });
    if (slider) {
      const output = section.querySelector("output");
      const change = () => {
        strength = table.strengths[Number(slider.value)];
        output.textContent = strength.words;
        slider.setAttribute("aria-valuetext", strength.words);
        for (const [name, words] of Object.entries(strength.claim))
          section.querySelectorAll(`[data-of="${name}"]`).forEach((e) => { e.textContent = words; });
        show(shown);
      };
      slider.addEventListener("input", change);
      // A browser that reloads the page keeps where the slider stood.
      if (Number(slider.value) !== table.strength) change();
    }
  }
  const bar = document.querySelector(".tabs ul");
  if (!bar) return;
  const tabs = [...bar.querySelectorAll("a")], panels = tabs.map((tab) => document.querySelector(tab.hash));
  bar.setAttribute("role", "tablist");
  bar.parentElement.removeAttribute("aria-label");
  bar.setAttribute("aria-label", "What can be done");
  tabs.forEach((tab, i) => {
    tab.parentElement.setAttribute("role", "presentation");
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", panels[i].id);
    panels[i].setAttribute("role", "tabpanel");
  });
  const select = (chosen) => tabs.forEach((tab, i) => {
    tab.setAttribute("aria-selected", String(i === chosen));
    tab.tabIndex = i === chosen ? 0 : -1;
    panels[i].hidden = i !== chosen;
    // On a phone the tabs are a row that scrolls; the page itself stays where it is.
    if (i === chosen && bar.scrollWidth > bar.clientWidth) {
      bar.scrollLeft = tab.parentElement.offsetLeft - (bar.clientWidth - tab.parentElement.offsetWidth) / 2;
    }
  });
  const follow = (jump) => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const at = panels.findIndex((panel) => target && panel.contains(target));
    select(Math.max(0, at));
    if (jump && at >= 0 && target !== panels[at]) target.scrollIntoView();
  };
  tabs.forEach((tab, i) => {
    tab.addEventListener("click", (event) => {
      event.preventDefault();
      history.replaceState(null, "", tab.hash);
      select(i);
    });
    tab.addEventListener("keydown", (event) => {
      const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      tabs[(to + tabs.length) % tabs.length].focus();
      tabs[(to + tabs.length) % tabs.length].click();
    });
  });
  addEventListener("hashchange", () => follow(true));
  follow(true);
})();
