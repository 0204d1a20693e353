// A client of published location mechanisms, in one file and with nothing else. It computes what
// docs/theory/lrgeo-mechanism.md (places), lrgeo-noise.md and lrgeo-lattice.md (every point)
// specify, in integers, and equals tests/data/lrgeo-vectors.json, tests/browser/noise_by_the_page.py and
// lattice_by_the_page.py bit for bit.
// It does no input or output, holds no place, and does not verify: it takes the mechanism that was verified, by its digest.

const FORM = "discreet.lrgeo.mechanism";
const NOISE = "discreet.lrgeo.noise";
const LATTICE = "discreet.lrgeo.lattice";
const VERSION = "1";
const PER_UNIT = { km: 10_000n, m: 10n };
const BITS = 62n;
const DIGITS = 7;
const GUARD = 24n;
const LARGEST = 1n << 56n;
const DEGREE = (Math.PI / 180) * 6371.0088 * 10_000;

export class Refused extends Error {}

const refuse = (what) => {
  throw new Refused(what);
};

const bitLength = (x) => (x === 0n ? 0n : BigInt(x.toString(2).length));
const ceilDiv = (a, b) => (a + b - 1n) / b;
const abs = (x) => (x < 0n ? -x : x);

/** The integer square root: lengths are below 2^52, so that a float is off by less than two. */
export function isqrt(n) {
  let root = BigInt(Math.floor(Math.sqrt(Number(n))));
  while (root * root > n) root -= 1n;
  while ((root + 1n) * (root + 1n) <= n) root += 1n;
  return root;
}

function gcd(a, b) {
  while (b) [a, b] = [b, a % b];
  return a;
}

/** 2^work e^(num/den) from above, for num >= 0: the series, then squarings, each operation rounded up. */
function expCeil(num, den, work) {
  const halvings = bitLength(num / den) + 1n;
  const fine = work + 2n * halvings + 8n;
  const step = ceilDiv(num << fine, den << halvings);
  let total = 1n << fine;
  let term = total;
  for (let n = 1n; ; n += 1n) {
    term = ceilDiv(term * step, n << fine);
    total += term;
    if (term <= 1n) break;
  }
  total += 1n;
  const most = (1n << fine) - 1n;
  for (let i = 0n; i < halvings; i += 1n) total = (total * total + most) >> fine;
  const shift = fine - work;
  return (total + (1n << shift) - 1n) >> shift;
}

/** The integer below 2^bits e^(-num/den) that everybody finds. */
export function expFloor(num, den, bits) {
  if (num === 0n) return 1n << bits;
  if (num >= bits * den) return 0n;
  const work = bits + GUARD + ceilDiv(3n * num, 2n * den) + 1n;
  return (1n << (work + bits)) / expCeil(num, den, work);
}

/** A word of 64 random bits as a target below the total; null where it must be refused. */
export function targetOf(word, total) {
  const all = 1n << 64n;
  return word >= all - (all % total) ? null : word % total;
}

const systemWord = () => crypto.getRandomValues(new BigUint64Array(1))[0];

/** A uniform integer below a positive one, however large: whole words, and a refusal where remainders would not be even. */
export function randrange(stop, word = systemWord) {
  const words = (bitLength(stop - 1n) + 63n) / 64n || 1n;
  const all = 1n << (64n * words);
  for (;;) {
    let value = 0n;
    for (let i = 0n; i < words; i += 1n) value = (value << 64n) | word();
    if (value < all - (all % stop)) return value % stop;
  }
}

// Numbers stay as they are written: a float that is read and written again is another text, a large integer another number.
class Digits {
  constructor(text) {
    this.text = text;
  }
}

const NUMBER = '-?(?:0|[1-9]\\d*)(?:\\.\\d+)?(?:[eE][+-]?\\d+)?';
const TOKENS = new RegExp(`"[^"\\\\]*(?:\\\\.[^"\\\\]*)*"|${NUMBER}`, "g");

function parse(text) {
  const marked = text.replace(TOKENS, (token) => (token[0] === '"' ? token : `{"#":"${token}"}`));
  return JSON.parse(marked, (_, value) =>
    value !== null && typeof value === "object" && "#" in value ? new Digits(value["#"]) : value);
}

function canonical(value) {
  if (value instanceof Digits) return value.text;
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const parts = Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`);
  return `{${parts.join(",")}}`;
}

async function sha256(text) {
  const sum = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(sum)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

const whole = (value, name) =>
  value instanceof Digits && /^-?\d+$/.test(value.text) ? BigInt(value.text) : refuse(`${name}: no integer`);

const fraction = (text) => {
  const [, num, den = "1"] = /^(\d+)(?:\/(\d+))?$/.exec(text) ?? refuse("rate: no fraction");
  return [BigInt(num), BigInt(den)];
};

function unpack(packed, name, low, high) {
  const count = Number(whole(packed.count, name));
  const bytes = Number(whole(packed.bytes, name));
  const least = whole(packed.least, name);
  const body = atob(packed.data);
  if (count < 0 || bytes < 1 || bytes > 8 || body.length !== count * bytes) refuse(`${name}: not its number of bytes`);
  const values = new BigInt64Array(count);
  for (let i = 0; i < count; i += 1) {
    let value = 0n;
    for (let j = bytes - 1; j >= 0; j -= 1) value = (value << 8n) | BigInt(body.charCodeAt(i * bytes + j));
    value += least;
    if (value < low || value > high) refuse(`${name}: out of range`);
    values[i] = value;
  }
  return values;
}

const indices = (packed, name, n) => Int32Array.from(unpack(packed, name, 0n, BigInt(n - 1)), Number);

/** The content of a text whose digest is its own, and that of the mechanism that was verified. */
async function opened(text, verifiedDigest) {
  let plain;
  try {
    plain = parse(text);
  } catch {
    refuse("mechanism: no JSON");
  }
  // An answer of the service wraps the mechanism: {"protocol": 1, "digest": ..., "mechanism": {...}}.
  if (plain !== null && typeof plain === "object" && "protocol" in plain) plain = plain.mechanism;
  const { digest, ...rest } = plain ?? {};
  if ((await sha256(canonical(rest))) !== digest) refuse("digest: not that of the content");
  if (digest !== verifiedDigest) refuse("digest: not that of the mechanism that was verified");
  return rest;
}

/** Read the text of a mechanism of any kind, and refuse one that is not that which was verified. */
export async function read(text, verifiedDigest) {
  const plain = await opened(text, verifiedDigest);
  const kinds = { [NOISE]: NoiseMechanism, [LATTICE]: LatticeMechanism };
  return new (Object.hasOwn(kinds, plain.form) ? kinds[plain.form] : Mechanism)(plain, verifiedDigest);
}

export class Mechanism {
  /** Read the text of a mechanism, and refuse one that is not that which was verified. */
  static async read(text, verifiedDigest) {
    return new Mechanism(await opened(text, verifiedDigest), verifiedDigest);
  }

  constructor(plain, digest) {
    if (plain.form !== FORM || plain.version.text !== VERSION) refuse("form: another version");
    this.digest = digest;
    this.unit = plain.unit;
    this.per = PER_UNIT[plain.unit] ?? refuse("unit: neither km nor m");
    this.origin = plain.origin && plain.origin.map(Number);
    this.cosine = Number(plain.cosine);
    this.epsilon = plain.guarantee.epsilon;
    this.radius = plain.guarantee.radius;
    this.bounds = [plain.lower, plain.upper].map((bound) => (bound === null ? null : Number(bound)));
    const flat = unpack(plain.places, "places", -(1n << 30n), 1n << 30n);
    this.x = Float64Array.from(flat.filter((_, i) => i % 2 === 0), Number);
    this.y = Float64Array.from(flat.filter((_, i) => i % 2 === 1), Number);
    this.n = this.x.length;
    this.readLengths(plain.lengths);
    this.readChannel(plain);
  }

  readLengths(lengths) {
    this.bits = whole(lengths.scale_bits, "scale_bits");
    this.cell = Number(whole(lengths.cell, "cell"));
    if (lengths.rule === "plane") {
      const step = (1n << this.bits) / this.per - 1n;
      this.square = step * step;
    } else if (lengths.rule === "lattice") {
      this.square = (BigInt(this.cell) << this.bits) ** 2n;
    } else refuse("lengths: an unknown rule");
    this.rule = lengths.rule;
  }

  readChannel(plain) {
    const [num, den] = fraction(plain.rate);
    this.rate = [num, den << this.bits];
    this.lift = whole(plain.lift, "lift");
    this.centers = indices(plain.centers, "centers", this.n);
    this.names = indices(plain.names, "names", this.n);
    this.anchors = unpack(plain.anchors, "anchors", 0n, LARGEST);
    this.reports = this.centers.length;
    if (this.lift < 1n || this.anchors.length !== this.reports || this.names.length !== this.reports)
      refuse("anchors: not one for each report");
    const secrets = indices(plain.ball_secrets, "ball_secrets", this.n);
    const reports = indices(plain.ball_reports, "ball_reports", this.reports);
    const weights = unpack(plain.ball_weights, "ball_weights", 1n, (1n << BITS) - 1n);
    if (secrets.length !== reports.length || secrets.length !== weights.length) refuse("ball: not of one size");
    this.ball = new Map();
    secrets.forEach((place, at) => {
      if (!this.ball.has(place)) this.ball.set(place, new Map());
      if (this.ball.get(place).has(reports[at])) refuse("ball: a pair twice");
      this.ball.get(place).set(reports[at], weights[at]);
    });
    this.tables = Array.from({ length: DIGITS }, () => new Array(256));
    this.decays = new Map();
  }

  /** The length between two places as everybody computes it. */
  length(i, o) {
    return this.lengthOf(Math.abs(this.x[i] - this.x[o]), Math.abs(this.y[i] - this.y[o]));
  }

  lengthOf(a, b) {
    if (a === 0 && b === 0) return 0n;
    if (this.rule === "plane") {
      const [p, q] = [BigInt(a), BigInt(b)];
      return 1n + isqrt(this.square * (p * p + q * q));
    }
    const g = gcd(a / this.cell, b / this.cell);
    const [p, q] = [BigInt(a / this.cell / g), BigInt(b / this.cell / g)];
    return BigInt(g) * isqrt(((p * p + q * q) * this.square) / (this.per * this.per));
  }

  factor(j, g) {
    const known = this.tables[j][g];
    if (known !== undefined) return known;
    const [num, den] = this.rate;
    return (this.tables[j][g] = expFloor(num * (BigInt(g) << BigInt(8 * j)), den, BITS));
  }

  /** E of a length: a product of seven factors, each rounded down. */
  decay(length) {
    let left = Number(length);
    let value = this.factor(0, left % 256);
    for (let j = 1; j < DIGITS; j += 1) {
      left = Math.floor(left / 256);
      // The factor of zero is 2^62, which changes nothing.
      if (left % 256) value = (value * this.factor(j, left % 256)) >> BITS;
    }
    return value;
  }

  /** On a lattice few offsets occur, and each is computed once. */
  decayBetween(i, o) {
    if (this.rule === "plane") return this.decay(this.length(i, o));
    const a = Math.abs(this.x[i] - this.x[o]);
    const b = Math.abs(this.y[i] - this.y[o]);
    const key = (a / this.cell) * 0x200000 + b / this.cell;
    let known = this.decays.get(key);
    if (known === undefined) this.decays.set(key, (known = this.decay(this.lengthOf(a, b))));
    return known;
  }

  /** The weights of all reports for a place. */
  row(place) {
    const row = new BigUint64Array(this.reports);
    for (let k = 0; k < this.reports; k += 1)
      row[k] = this.lift + ((this.anchors[k] * this.decayBetween(place, this.centers[k])) >> BITS);
    for (const [k, weight] of this.ball.get(place) ?? []) row[k] = weight;
    return row;
  }

  total(row) {
    let total = 0n;
    for (const weight of row) total += weight;
    return total < 1n << BITS ? total : refuse("anchors: a total beyond 2^62");
  }

  /** The place that is told for a target below the total. */
  reportAt(row, target) {
    let k = 0;
    for (let sum = row[0]; sum <= target; sum += row[k]) k += 1;
    return this.names[k];
  }

  /** Draw one report for a place: the place that may be told. */
  report(place, word = systemWord) {
    const row = this.row(place);
    const total = this.total(row);
    let target = null;
    while (target === null) target = targetOf(word(), total);
    return this.reportAt(row, target);
  }

  /** The probability of each place that may be told: floats, to be looked at. */
  shares(place) {
    const row = this.row(place);
    const total = Number(this.total(row));
    const shares = new Float64Array(this.n);
    row.forEach((weight, k) => {
      shares[this.names[k]] += Number(weight) / total;
    });
    return shares;
  }

  /** What is shown of a place: latitude and longitude, or east and north in the unit. */
  where(place) {
    if (!this.origin) return [this.x[place] / Number(this.per), this.y[place] / Number(this.per)];
    return [this.origin[0] + this.y[place] / DEGREE, this.origin[1] + this.x[place] / (DEGREE * this.cosine)];
  }

  /** How far a place is from another, in the unit. */
  distance(i, j) {
    return Math.hypot(this.x[i] - this.x[j], this.y[i] - this.y[j]) / Number(this.per);
  }

  /** The largest distance of a place from the one nearest to it, in decimeters: what is farther lies outside. */
  get reach() {
    if (this.known_reach !== undefined) return this.known_reach;
    const order = Uint32Array.from(this.x.keys()).sort((i, j) => this.x[i] - this.x[j]);
    let most = 0;
    order.forEach((i, at) => {
      let least = Infinity;
      for (const way of [-1, 1])
        for (let to = at + way; to >= 0 && to < order.length; to += way) {
          const [a, b] = [this.x[order[to]] - this.x[i], this.y[order[to]] - this.y[i]];
          if (a * a >= least) break;
          least = Math.min(least, a * a + b * b);
        }
      most = Math.max(most, least);
    });
    return (this.known_reach = Math.sqrt(most));
  }

  /** The place nearest to a point in the plane, in decimeters, and how far it is. */
  nearest(x, y) {
    let best = 0;
    let least = Infinity;
    for (let i = 0; i < this.n; i += 1) {
      const away = Math.hypot(this.x[i] - x, this.y[i] - y);
      if (away < least) [best, least] = [i, away];
    }
    return [best, least];
  }

  /** The place of a point; what is refused is not repeated. */
  snap(first, second) {
    if (!Number.isFinite(first) || !Number.isFinite(second)) refuse("point: not two numbers");
    let [x, y] = [first * Number(this.per), second * Number(this.per)];
    if (this.origin) {
      if (Math.abs(first) > 90 || second < -180 || second > 360) refuse("point: no latitude and longitude");
      const turn = (second - this.origin[1] + 180) % 360;
      x = ((turn + 360) % 360 - 180) * (DEGREE * this.cosine);
      y = (first - this.origin[0]) * DEGREE;
    }
    const [place, away] = this.nearest(x, y);
    return away <= this.reach * (1 + 1e-9) ? place : refuse("point: outside the region");
  }
}

const SCALE = 1n << 20n;
const FARTHEST = (1n << 30n) - 1n;
const MOST_NODES = 1n << 22n;
const DECIMAL = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;

const wholeGcd = (a, b) => {
  [a, b] = [abs(a), abs(b)];
  while (b) [a, b] = [b, a % b];
  return a;
};

/** A decimal as it is written, exactly: numerator and denominator without a common factor. */
export function exactly(text) {
  const trimmed = String(text).trim();
  const parts = trimmed.length <= 60 && DECIMAL.exec(trimmed);
  const power = parts ? Number(parts[4] ?? 0) : 0;
  if (!parts || Math.abs(power) > 40) refuse("point: not two numbers");
  const digits = parts[3] ?? "";
  const shift = power - digits.length;
  const value = BigInt(parts[1] + parts[2] + digits);
  return shift >= 0 ? [value * 10n ** BigInt(shift), 1n] : lowest(value, 10n ** BigInt(-shift));
}

const lowest = (num, den) => {
  if (den < 0n) [num, den] = [-num, -den];
  const shared = wholeGcd(num, den) || 1n;
  return [num / shared, den / shared];
};
const plus = ([a, b], [c, d]) => lowest(a * d + c * b, b * d);
const minus = (p, [c, d]) => plus(p, [-c, d]);
const times = ([a, b], [c, d]) => lowest(a * c, b * d);
const over = (p, [c, d]) => times(p, [d, c]);
const less = ([a, b], [c, d]) => a * d < c * b;
const floorDiv = (a, b) => (a - (((a % b) + b) % b)) / b;
const asFloat = ([a, b]) => {
  // Enough digits for a float, however long both are.
  const shift = bitLength(b) - bitLength(abs(a)) + 64n;
  const scaled = shift > 0n ? (a << shift) / b : a / (b << -shift);
  return Number(scaled) * 2 ** Number(-shift);
};

/** The integers before and with each one: below 2^53, hence exact in floats. */
function sumsOf(weights, bits, name) {
  const sums = new Float64Array(weights.length);
  let sum = 0n;
  weights.forEach((weight, at) => (sums[at] = Number((sum += weight))));
  return sum === 1n << bits ? sums : refuse(`${name}: another sum`);
}

/** The same for each row of a table. */
function rowSums(weights, width, bits) {
  if (!width) refuse("weights: rows without reports");
  const sums = new Float64Array(weights.length);
  for (let from = 0; from < weights.length; from += width) {
    let sum = 0n;
    for (let k = 0; k < width; k += 1) sums[from + k] = Number((sum += weights[from + k]));
    if (sum !== 1n << bits) refuse("weights: a row of another sum");
  }
  return sums;
}

/** The first whose sum is beyond a target, from `first` on and below `end`. */
function firstBeyond(sums, target, first, end) {
  let [low, high] = [first, end - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sums[middle] > target) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The first of some weights whose sum is beyond a target. */
function oneOf(weights, target) {
  let at = 0;
  for (let sum = weights[0]; target >= sum; sum += weights[at]) at += 1;
  return at;
}

const sum = (weights) => weights.reduce((a, b) => a + b);

/** What the mechanisms for every point have in common: a plane, a region in it, and what is told of reports. */
export class EveryPoint {
  constructor(plain, digest, form) {
    if (plain.form !== form || plain.version.text !== VERSION) refuse("form: another version");
    this.digest = digest;
    this.unit = plain.unit;
    this.per = PER_UNIT[plain.unit] ?? refuse("unit: neither km nor m");
    this.origin = plain.origin && plain.origin.map(exactly);
    this.factors = [whole(plain.east, "east"), whole(plain.north, "north")];
    if (this.factors.some((factor) => factor < 1n)) refuse("east: not positive");
    this.reach = whole(plain.reach, "reach");
    this.epsilon = plain.guarantee.epsilon;
    this.bounds = [plain.lower, plain.upper].map((bound) => (bound === null ? null : Number(bound)));
    [this.reportX, this.reportY] = this.pairs(plain.reports, "reports");
    this.n = this.reportX.length;
    if (!Array.isArray(plain.shown) || plain.shown.length !== this.n) refuse("shown: not one for each report");
    this.shown = plain.shown.map((pair) => pair.map(String));
    this.bits = whole(plain.bits, "bits");
    if (this.bits < 1n || this.bits > 53n) refuse("bits: not 1 to 53");
  }

  pairs(packed, name) {
    const flat = unpack(packed, name, -FARTHEST, FARTHEST);
    if (flat.length % 2) refuse(`${name}: no pairs`);
    return [0, 1].map((odd) => Float64Array.from(flat.filter((_, i) => i % 2 === odd), Number));
  }

  /** The rational decimeters of a point as it was typed. */
  plane(first, second) {
    const [a, b] = [exactly(first), exactly(second)];
    const [east, north] = this.factors.map((factor) => lowest(factor, SCALE));
    if (!this.origin) return [times(a, east), times(b, north)];
    if (less([90n, 1n], a) || less(a, [-90n, 1n]) || less(b, [-180n, 1n]) || less([360n, 1n], b))
      refuse("point: no latitude and longitude");
    const [num, den] = plus(minus(b, this.origin[1]), [180n, 1n]);
    const away = minus(lowest(num - 360n * den * floorDiv(num, 360n * den), den), [180n, 1n]);
    return [times(away, east), times(minus(a, this.origin[0]), north)];
  }

  /** Where a point lies that was typed; what is refused is not repeated. */
  locate(first, second) {
    return this.find(this.plane(first, second));
  }

  /** What is told of a report. */
  where(report) {
    return this.shown[report].map(Number);
  }

  /** What is shown of a point of the plane, in decimeters: floats, to be looked at. */
  coordinates([x, y]) {
    const [east, north] = this.factors.map((factor) => Number(factor) / Number(SCALE));
    if (!this.origin) return [x / east, y / north];
    const [latitude, longitude] = this.origin.map(asFloat);
    return [latitude + y / north, ((longitude + x / east + 540) % 360) - 180];
  }
}

/** What the forms on a lattice have in common: a box of cells, whose control points have biquadratic B-spline weights. */
export class BoxMechanism extends EveryPoint {
  constructor(plain, digest, form) {
    super(plain, digest, form);
    [this.low, this.cells] = [this.two(plain, "low"), this.two(plain, "cells")];
    this.side = whole(plain.side, "side");
    if (this.side < 1n || this.cells.some((count) => count < 1n)) refuse("cells: no box");
    this.high = this.low.map((from, axis) => from + this.cells[axis] * this.side);
    if ([...this.low, ...this.high].some((end) => abs(end) > FARTHEST)) refuse("low: a box beyond all");
    // The corners of the region, as the page draws it.
    const [[west, south], [east, north]] = [this.low, this.high].map((corner) => corner.map(Number));
    [this.x, this.y] = [Float64Array.of(west, east, east, west), Float64Array.of(south, south, north, north)];
    this.outline = Int32Array.of(0, 1, 2, 3);
  }

  two(plain, name) {
    if (!Array.isArray(plain[name]) || plain[name].length !== 2) refuse(`${name}: no pair`);
    return plain[name].map((part) => whole(part, name));
  }

  /** The nearest point of the box; farther away than the reach nothing is reported. */
  projected(point) {
    const spot = point.map((x, axis) => {
      const [low, high] = [[this.low[axis], 1n], [this.high[axis], 1n]];
      return less(x, low) ? low : less(high, x) ? high : x;
    });
    const [dx, dy] = point.map((x, axis) => minus(x, spot[axis]));
    const away = plus(times(dx, dx), times(dy, dy));
    return less([this.reach * this.reach, 1n], away) ? refuse("point: outside the region") : spot;
  }

  /** The first of three columns of control points and of three rows, and their weights by the quadratic B-spline. */
  find(point) {
    return this.projected(point).map((x, axis) => {
      const [num, den] = lowest(x[0] - this.low[axis] * x[1], x[1] * this.side);
      const last = this.cells[axis] - 1n;
      const first = num / den < last ? num / den : last;
      const [p, q] = [num - first * den, den];
      return { first: Number(first), weights: [(q - p) ** 2n, q * q + 2n * p * q - 2n * p * p, p * p] };
    });
  }

  /** The column or the row of a target below the sum of the weights. */
  lineAt({ first, weights }, target) {
    return first + oneOf(weights, target);
  }

  /** Draw a report for a spot: a column, a row, and what is drawn from their control point. */
  report(spot, word = systemWord) {
    const [column, row] = spot.map((axis) => this.lineAt(axis, randrange(sum(axis.weights), word)));
    return this.reportAt(column, row, randrange(1n << this.bits, word));
  }

  /** What of the whole each column, and each row, of a spot has: floats. */
  partsOf(spot) {
    return spot.map(({ weights }) => weights.map((weight) => asFloat([weight, sum(weights)])));
  }
}

/** One table of noise on a torus for all of the box, and the report of each node. */
export class NoiseMechanism extends BoxMechanism {
  static async read(text, verifiedDigest) {
    return new NoiseMechanism(await opened(text, verifiedDigest), verifiedDigest);
  }

  constructor(plain, digest) {
    super(plain, digest, NOISE);
    const torus = this.two(plain, "torus");
    if (torus.some((size, axis) => size < this.cells[axis] + 2n) || torus[0] * torus[1] > MOST_NODES) refuse("torus: of another size");
    this.torus = torus.map(Number);
    const noise = unpack(plain.noise, "noise", 0n, 1n << this.bits);
    this.names = indices(plain.names, "names", this.n);
    for (const [name, table] of [["noise", noise], ["names", this.names]])
      if (table.length !== this.torus[0] * this.torus[1]) refuse(`${name}: not one for each node`);
    this.sums = sumsOf(noise, this.bits, "noise");
  }

  /** The report of a control point for a target below 2^bits: the noise is the first whose sum is beyond it. */
  reportAt(column, row, target) {
    const [m, n] = this.torus;
    const noise = firstBeyond(this.sums, Number(target), 0, this.sums.length);
    return this.names[((column + Math.floor(noise / n)) % m) * n + (row + (noise % n)) % n];
  }

  /** The probability of each report at a spot: floats, to be looked at. Noise is spread along columns first, then along rows. */
  shares(spot) {
    const [m, n] = this.torus;
    const parts = this.partsOf(spot);
    const [columns, rows] = spot.map(({ first }) => first);
    const chances = (this.chances ??= this.sums.map((sum, at) => (sum - (at ? this.sums[at - 1] : 0)) / 2 ** Number(this.bits)));
    const spread = new Float64Array(m * n);
    const shares = new Float64Array(this.n);
    for (let from = 0; from < m * n; from += n)
      parts[1].forEach((part, j) => {
        for (let b = 0, to = (rows + j) % n; part && b < n; b += 1, to = to + 1 < n ? to + 1 : 0)
          spread[from + to] += part * chances[from + b];
      });
    for (let a = 0; a < m; a += 1)
      parts[0].forEach((part, i) => {
        const [from, to] = [a * n, ((a + columns + i) % m) * n];
        for (let b = 0; part && b < n; b += 1) shares[this.names[to + b]] += part * spread[from + b];
      });
    return shares;
  }
}

/** A row of weights for each control point of the box. */
export class LatticeMechanism extends BoxMechanism {
  static async read(text, verifiedDigest) {
    return new LatticeMechanism(await opened(text, verifiedDigest), verifiedDigest);
  }

  constructor(plain, digest) {
    super(plain, digest, LATTICE);
    [this.columns, this.rows] = this.cells.map((count) => Number(count) + 2);
    const weights = unpack(plain.weights, "weights", 0n, 1n << this.bits);
    if (weights.length !== this.columns * this.rows * this.n) refuse("weights: not a row for each control point");
    this.sums = rowSums(weights, this.n, this.bits);
  }

  /** The report of a control point for a target below 2^bits: the first of its row whose sum is beyond it. */
  reportAt(column, row, target) {
    const first = (column * this.rows + row) * this.n;
    return firstBeyond(this.sums, Number(target), first, first + this.n) - first;
  }

  /** The probability of each report at a spot: floats, to be looked at. */
  shares(spot) {
    const shares = new Float64Array(this.n);
    const [columns, rows] = this.partsOf(spot);
    columns.forEach((across, i) => rows.forEach((along, j) => {
      const part = (across * along) / 2 ** Number(this.bits);
      const row = ((spot[0].first + i) * this.rows + spot[1].first + j) * this.n;
      for (let k = 0; part && k < this.n; k += 1)
        shares[k] += part * (this.sums[row + k] - (k ? this.sums[row + k - 1] : 0));
    }));
    return shares;
  }
}
