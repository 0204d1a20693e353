// The page: it draws the map, computes rows in the browser, and asks its own client for two things only: whether this
// epoch's report may be drawn, and to keep what was drawn. Neither request holds a place, and choosing one makes none.
import { EveryPoint, Refused, exactly, read as readMechanism } from "./client.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 1000;
const MARGIN = 50;
const LEAST = 1e-4;
const $ = (id) => document.getElementById(id);
const sent = [];

const short = (x) => (x === 0 ? "0" : String(Number(x.toPrecision(3))));
const percent = (share) => (share > 0.9995 && share < 1 ? "> 99.9 %" : share < 1e-4 ? "< 0.01 %" : `${short(100 * share)} %`);

function time(seconds) {
  const [size, name] = [[86_400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]].find(([size]) => seconds % size === 0);
  return `${seconds / size} ${name}${seconds === size ? "" : "s"}`;
}

function make(name, attributes) {
  const shape = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) shape.setAttribute(key, value);
  return shape;
}

function fail(text) {
  $("failure").textContent = text;
  $("failure").hidden = false;
}

async function read(path) {
  const answer = await fetch(path, { cache: "no-store" });
  if (!answer.ok) throw new Refused(`the client on this machine answered ${answer.status}`);
  return answer.text();
}

async function tell(path, body) {
  sent.push(`POST ${path}  ${body === "" ? "(no body)" : body}`);
  $("to-client").textContent = sent.join("\n");
  const headers = { "content-type": "application/json" };
  const answer = await fetch(path, { method: "POST", body, headers, cache: "no-store" });
  if (!answer.ok) throw new Refused(`the client on this machine answered ${answer.status}`);
  return answer.json();
}

class City {
  constructor(mechanism, roads) {
    this.m = mechanism;
    this.points = mechanism instanceof EveryPoint;
    // What is drawn: the places that may be reported.
    [this.x, this.y] = this.points ? [mechanism.reportX, mechanism.reportY] : [mechanism.x, mechanism.y];
    const xs = roads.vertices.filter((_, i) => i % 2 === 0);
    const ys = roads.vertices.filter((_, i) => i % 2 === 1);
    const bounds = (a, b) => [...a, ...b].reduce(([lo, hi], v) => [Math.min(lo, v), Math.max(hi, v)], [Infinity, -Infinity]);
    const [west, east] = bounds(mechanism.x, xs);
    const [south, north] = bounds(mechanism.y, ys);
    [this.east, this.south] = [east, south];
    const pad = mechanism.rule === "lattice" ? mechanism.cell / 2 : 0;
    this.scale = (WIDTH - 2 * MARGIN) / Math.max(east - west + 2 * pad, (north - south) / 1.6, 1);
    this.west = (east + west) / 2 - WIDTH / 2 / this.scale;
    this.north = north + pad + MARGIN / this.scale;
    const height = (north - south + 2 * pad) * this.scale + 2 * MARGIN + 50;
    $("map").setAttribute("viewBox", `0 0 ${WIDTH} ${Math.ceil(height)}`);
    this.size = mechanism.rule === "lattice" ? mechanism.cell * this.scale
      : Math.sqrt(((east - west) * (north - south) || Number(mechanism.reach) ** 2) / mechanism.n) * this.scale;
    this.lines(roads);
    this.bar(height);
  }

  at(place) {
    return [this.left(this.x[place]), this.top(this.y[place])];
  }

  left(x) {
    return Math.round((x - this.west) * this.scale * 10) / 10;
  }

  top(y) {
    return Math.round((this.north - y) * this.scale * 10) / 10;
  }

  lines({ vertices, segments }) {
    const at = (v) => `${this.left(vertices[2 * v])} ${this.top(vertices[2 * v + 1])}`;
    let path = "";
    for (let i = 0; i < segments.length; i += 2) path += `M${at(segments[i])}L${at(segments[i + 1])}`;
    for (const id of ["casing", "roads"]) $(id).setAttribute("d", path);
    let dots = "";
    for (let place = 0; place < this.m.n; place += 1) dots += `M${this.at(place).join(" ")}h0`;
    $("places").setAttribute("d", dots);
    if (this.points) {
      const edge = [...this.m.outline].map((v) => `${this.left(this.m.x[v])} ${this.top(this.m.y[v])}`);
      $("cells").setAttribute("d", `M${edge.join("L")}z`);
      return;
    }
    if (this.m.rule !== "lattice" || this.m.n > 5000) return;
    let cells = "";
    for (let place = 0; place < this.m.n; place += 1) {
      const [x, y] = this.at(place);
      cells += `M${x - this.size / 2} ${y - this.size / 2}h${this.size}v${this.size}h${-this.size}z`;
    }
    $("cells").setAttribute("d", cells);
  }

  bar(height) {
    const most = (WIDTH / 3 / this.scale) / Number(this.m.per);
    const power = 10 ** Math.floor(Math.log10(most));
    const long = [5, 2, 1].map((n) => n * power).find((n) => n <= most);
    const wide = long * Number(this.m.per) * this.scale;
    $("scale").setAttribute("d", `M${MARGIN} ${height - 34}v14h${wide}v-14`);
    $("scale-text").setAttribute("x", MARGIN + wide + 16);
    $("scale-text").setAttribute("y", height - 18);
    $("scale-text").textContent = `${short(long)} ${this.m.unit}`;
  }

  heat(shares) {
    const most = shares.reduce((a, b) => Math.max(a, b), 0);
    const shapes = [];
    shares.forEach((share, place) => {
      if (share < LEAST) return;
      const [x, y] = this.at(place);
      const set = { "fill-opacity": (0.06 + 0.89 * Math.sqrt(share / most)).toFixed(3) };
      const half = this.size / 2;
      shapes.push(this.m.rule === "lattice"
        ? make("rect", { ...set, x: x - half, y: y - half, width: this.size, height: this.size })
        : make("circle", { ...set, cx: x, cy: y, r: Math.max(6, 0.42 * this.size) }));
    });
    $("heat").replaceChildren(...shapes);
    $("ramp").textContent = `the stronger the color, the likelier to be reported; the strongest ${percent(most)}`;
  }

  mark(id, [x, y]) {
    $(id).setAttribute("transform", `translate(${this.left(x)} ${this.top(y)})`);
    $(id).removeAttribute("hidden");
  }

  /** Decimeters east and north of where one pointed. */
  pointed(event) {
    const p = new DOMPoint(event.clientX, event.clientY).matrixTransform($("map").getScreenCTM().inverse());
    return [p.x / this.scale + this.west, this.north - p.y / this.scale];
  }

  /** The nearest place within 45 degrees of a direction. */
  next(place, east, north) {
    let best = place;
    let least = Infinity;
    for (let to = 0; to < this.m.n; to += 1) {
      const [a, b] = [this.m.x[to] - this.m.x[place], this.m.y[to] - this.m.y[place]];
      const along = a * east + b * north;
      const away = a * a + b * b;
      if (along > 0 && 2 * along * along >= away && away < least) [best, least] = [to, away];
    }
    return best;
  }
}

function shown(mechanism, pair) {
  return pair.map((x) => (mechanism.origin ? x.toFixed(5) : short(x))).join(mechanism.origin ? ", " : " east, ")
    + (mechanism.origin ? "" : " north");
}

/** Where one is, for a mechanism on places: the place nearest to it. */
class Snapped {
  constructor(mechanism) {
    this.m = mechanism;
  }

  pointed([x, y]) {
    return this.spot(this.m.nearest(x, y)[0]);
  }

  typed(first, second) {
    return this.spot(this.m.snap(Number(first), Number(second)));
  }

  spot(place) {
    const { m } = this;
    return { place, at: [m.x[place], m.y[place]], shown: m.where(place), shares: m.shares(place), draw: () => m.where(m.report(place)) };
  }

  step(spot, east, north, map) {
    const middle = (values) => values.reduce((sum, v) => sum + v, 0) / this.m.n;
    return spot ? this.spot(map.next(spot.place, east, north)) : this.pointed([middle(this.m.x), middle(this.m.y)]);
  }
}

/** Where one is, for a mechanism for every point: nothing is snapped and nothing rounded. */
class Anywhere {
  constructor(mechanism) {
    this.m = mechanism;
  }

  pointed(at) {
    return this.spot(at.map(exactly), at);
  }

  typed(first, second) {
    const plane = this.m.plane(first, second);
    return this.spot(plane, plane.map(([num, den]) => Number((num * 1024n) / den) / 1024));
  }

  spot(plane, at) {
    const { m } = this;
    const found = m.find(plane);
    return { at, shown: m.coordinates(at), shares: m.shares(found), draw: () => m.where(m.report(found)) };
  }

  /** An arrow key goes a fiftieth of the width. */
  step(spot, east, north, map) {
    const wide = (map.east - map.west) / 50;
    const from = spot ? spot.at : [0, 1].map((axis) => {
      const ends = [...this.m.outline].map((v) => (axis ? this.m.y : this.m.x)[v]);
      return (Math.min(...ends) + Math.max(...ends)) / 2;
    });
    return this.pointed(spot ? [from[0] + east * wide, from[1] + north * wide] : from);
  }
}

/** A row of a table. */
function line(cells) {
  const row = document.createElement("tr");
  for (const [text, kind] of cells) row.append(Object.assign(document.createElement("td"), { textContent: text, className: kind }));
  return row;
}

const at = (x) => String(Number(x.toFixed(6)));
const times = (x) => (x < 10 ? x.toFixed(4) : short(x));
/** What no report exceeds: four decimals, or three digits, rounded up. */
const atMost = (x) => {
  const step = x < 10 ? 1e-4 : 10 ** (Math.floor(Math.log10(x)) - 2);
  return String(Number((Math.ceil(x / step) * step).toPrecision(12)));
};

class Page {
  constructor(mechanism, data) {
    this.m = mechanism;
    this.data = data;
    this.spot = null;
    this.held = null;
    this.map = new City(mechanism, data.roads);
    this.points = mechanism instanceof EveryPoint;
    this.where = this.points ? new Anywhere(mechanism) : new Snapped(mechanism);
  }

  start() {
    const { m, data } = this;
    $("promise").textContent = data.promise;
    $("digest").textContent = m.digest;
    $("rule").textContent = `One fresh report in each epoch, which is ${time(data.seconds)}. It costs ${data.cost} per ${m.unit} and is`
      + " repeated until the epoch ends, wherever you are by then.";
    $("server").textContent = data.requests.length
      ? `${data.url} received ${data.requests.length === 1 ? "one request" : `${data.requests.length} requests`}`
        + " before this page was opened, with no place in it:"
      : `${data.url} received nothing: the mechanism was kept from before.`;
    $("to-server").textContent = data.requests.join("\n\n") || "nothing";
    $("point-label").textContent = m.origin ? "Or type latitude and longitude"
      : `Or type how far east and north it is, in ${m.unit}`;
    this.account(data.state);
    $("map").addEventListener("click", (event) => this.point(event));
    if (this.points) this.side();
    $("map").addEventListener("keydown", (event) => this.key(event));
    $("typed").addEventListener("submit", (event) => this.type(event));
    $("take").addEventListener("click", () => this.take());
    document.documentElement.dataset.ready = "yes";
  }

  account(state) {
    $("today").textContent = `${state.spent_today} per ${this.m.unit}`;
    $("in-all").textContent = `${state.spent_in_all} per ${this.m.unit}`;
    if (state.report) this.told(state.report);
  }

  told(report) {
    $("report").textContent = `Reported: ${shown(this.m, report)}`;
    $("report").dataset.report = JSON.stringify(report);
    for (let place = 0; place < this.m.n; place += 1) {
      const [a, b] = this.m.where(place);
      if (a === report[0] && b === report[1]) this.map.mark("told", [this.map.x[place], this.map.y[place]]);
    }
  }

  /** Choose where one pointed; beyond the envelope nothing is reported, and nothing changes. */
  point(event) {
    this.attempt(() => this.where.pointed(this.map.pointed(event)));
  }

  attempt(found) {
    $("point-said").textContent = "";
    try {
      this.choose(found());
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      $("point-said").textContent = error.message.replace("point: ", "That is ").replace("is outside", "lies outside");
    }
  }

  choose(spot) {
    const { m, map } = this;
    this.spot = spot;
    const { shares } = spot;
    const away = Float64Array.from(shares.keys(), (to) => this.apart(spot.at, [map.x[to], map.y[to]]));
    map.heat(shares);
    map.mark("here", spot.at);
    const cost = shares.reduce((sum, share, to) => sum + share * away[to], 0);
    const near = [...shares.keys()].sort((i, j) => away[i] - away[j]);
    let sum = 0;
    const edge = near.find((to) => (sum += shares[to]) >= 0.95) ?? near.at(-1);
    $("where").textContent = `Your ${this.points ? "point" : "place"}: ${this.points && !m.origin ? `${at(spot.shown[0])} east, ${at(spot.shown[1])} north` : shown(m, spot.shown)}.`;
    $("cost").textContent = `${short(cost)} ${m.unit}`;
    $("mean").textContent = this.data.mean;
    $("within").textContent = `${short(away[edge])} ${m.unit}`;
    $("itself").textContent = percent(shares[near[0]]);
    const rows = [...shares.keys()].sort((i, j) => shares[j] - shares[i] || i - j).slice(0, 5)
      .map((to) => line([[shown(m, m.where(to)), ""], [`${short(away[to])} ${m.unit}`, "n"], [percent(shares[to]), "n"]]));
    document.querySelector("#likely tbody").replaceChildren(...rows);
    for (const id of ["facts", "likely"]) $(id).hidden = false;
    for (const id of ["take", "hold"]) $(id).disabled = false;
    this.compare();
  }

  apart([a, b], [c, d]) {
    return Math.hypot(a - c, b - d) / Number(this.m.per);
  }

  /** Let the pin be drawn over the map, and a point be held beside it. */
  side() {
    $("pair").hidden = false;
    $("how").textContent = "Click the map, drag the pin over it, or focus it and use the arrow keys: the odds move as the pin moves."
      + " Choosing a point sends nothing to anybody.";
    $("h-map").textContent = "Choose a point";
    $("pin-name").textContent = "your point";
    $("itself-name").textContent = "the nearest place is reported";
    const map = $("map");
    let drawn = false;
    map.addEventListener("pointerdown", () => (drawn = true));
    for (const end of ["pointerup", "pointercancel", "pointerleave"]) map.addEventListener(end, () => (drawn = false));
    map.addEventListener("pointermove", (event) => drawn && event.buttons && this.point(event));
    $("hold").addEventListener("click", () => {
      this.held = this.spot;
      this.map.mark("there", this.held.at);
      this.compare();
    });
  }

  /** Two points side by side: how much likelier a report is from one than from the other, and what is allowed. */
  compare() {
    const { m, held, spot } = this;
    if (!held) return;
    const apart = this.apart(held.at, spot.at);
    const [num, den = "1"] = m.epsilon.split("/");
    const allowed = Math.exp((Number(num) / Number(den)) * apart);
    const ratio = (k) => Math.max(held.shares[k] / spot.shares[k], spot.shares[k] / held.shares[k]);
    const known = [...held.shares.keys()].filter((k) => held.shares[k] || spot.shares[k]);
    const most = known.reduce((worst, k) => Math.max(worst, ratio(k)), 1);
    $("apart").textContent = `They are ${short(apart)} ${m.unit} apart. No report may be more than ${atMost(allowed)} times likelier`
      + ` from one than from the other; the largest here is ${times(most)} times.`;
    $("apart").dataset.most = String(most);
    $("apart").dataset.allowed = String(allowed);
    const rows = known.sort((i, j) => Math.max(held.shares[j], spot.shares[j]) - Math.max(held.shares[i], spot.shares[i])).slice(0, 6)
      .map((k) => line([[shown(m, m.where(k)), ""], [percent(held.shares[k]), "n"], [percent(spot.shares[k]), "n"], [`${times(ratio(k))} times`, "n"]]));
    document.querySelector("#two tbody").replaceChildren(...rows);
    $("two").hidden = false;
  }

  key(event) {
    const way = { ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[event.key];
    if (!way) return;
    event.preventDefault();
    this.attempt(() => this.where.step(this.spot, ...way, this.map));
  }

  type(event) {
    event.preventDefault();
    const parts = $("point").value.replace(",", " ").trim().split(/\s+/);
    this.attempt(() => {
      if (parts.length !== 2) throw new Refused("point: not two numbers");
      return this.where.typed(...parts);
    });
  }

  /** Pay first, then draw here, then have the report kept, and only then show it. */
  async take() {
    const { spot } = this;
    $("take").disabled = true;
    try {
      const given = await tell("take", "");
      if (given.refused) return void ($("report").textContent = given.refused);
      if (given.state.report) return this.account(given.state);
      const pinned = given.pinned.find(([at]) => at === spot.place);
      const drawn = pinned ? pinned[1] : spot.draw();
      this.account((await tell("keep", JSON.stringify({ report: drawn }))).state);
    } catch (error) {
      fail(`The report was not taken: ${error.message}. Nothing else was reported in its place.`);
    } finally {
      $("take").disabled = false;
    }
  }
}

try {
  const data = JSON.parse(await read("data.json"));
  new Page(await readMechanism(await read("mechanism.json"), data.digest), data).start();
} catch (error) {
  fail(`The mechanism could not be used: ${error.message}.`);
}
