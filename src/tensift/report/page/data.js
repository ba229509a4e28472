// The content of the page, decoded once and read by everything below.

const byId = (id) => document.getElementById(id);
const content = JSON.parse(byId("content").textContent);
const { geometry, samples, suggestion } = content;
const shape = geometry.shape;
const featureModes = geometry.mode === null ? shape.map((_, mode) => mode) : [geometry.mode];
const featureShape = featureModes.map((mode) => shape[mode]);
const total = featureShape.reduce((product, size) => product * size, 1);
const { selectable } = content; // without features that were never observed

function bytesOf(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i += 1) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

function decodeView(view) {
  const shares = new Float32Array(bytesOf(view.scores.values).buffer);
  const order = bytesOf(view.ranking.values).buffer;
  const ranking = view.ranking.bytes === 2 ? new Uint16Array(order) : new Uint32Array(order);
  const rankOf = new Uint32Array(ranking.length);
  ranking.forEach((flat, rank) => { rankOf[flat] = rank; });
  const scores = Float64Array.from(shares, (share) => share * view.scores.scale);
  let [low, high] = [0, -Infinity];
  for (const score of scores) {
    if (score < low) low = score;
    if (score > high) high = score;
  }
  const [included, excluded] = [new Set(view.included), new Set(view.excluded)];
  return { ...view, scores, ranking, rankOf, low, high, included, excluded };
}

const views = content.views.map(decodeView);
const sampleBytes = bytesOf(samples.values);

function stridesOf(sizes) {
  const strides = new Array(sizes.length).fill(1);
  for (let m = sizes.length - 2; m >= 0; m -= 1) strides[m] = strides[m + 1] * sizes[m + 1];
  return strides;
}

const featureStrides = stridesOf(featureShape);
const sampleStrides = stridesOf(samples.shape);
const sampleSize = samples.shape.reduce((product, size) => product * size, 1);

const placeOf = (flat) =>
  featureShape.map((size, m) => Math.floor(flat / featureStrides[m]) % size);

const labelOf = (mode, index) =>
  geometry.labels[mode] ? geometry.labels[mode][index] : String(index);

function titled(mode, index) {
  const [name, unit] = [geometry.names[mode], geometry.units[mode]];
  // "mode 1 3" would read as one number.
  return `${name}${/\d$/.test(name) ? ":" : ""} ${labelOf(mode, index)}${unit ? ` ${unit}` : ""}`;
}

const describe = (flat) => placeOf(flat).map((i, m) => titled(featureModes[m], i)).join(", ");

// The number nearest to a wanted one for which the first features meet all constraints.
function allowedCount(view, count) {
  const wanted = Math.min(selectable, Math.max(1, Math.round(count) || 1));
  if (!view.stops) return wanted;
  return view.stops.reduce((best, stop) => (Math.abs(stop - wanted) < Math.abs(best - wanted) ? stop : best));
}

const limitWord = (view, flat) =>
  (view.included.has(flat) ? "must be kept" : view.excluded.has(flat) ? "excluded" : "");

// What the numbers of a view mean.
const quantityOf = (view) => (view.kind === "stability" ? "share of resamples" : "score");

// Words and numbers

const counted = (number) => number.toLocaleString("en-US");
const percent = (share) => `${Math.round(100 * share)}\u00a0%`;

function format(value) {
  if (value === null || Number.isNaN(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e5 || size < 1e-3 ? value.toExponential(2) : String(Number(value.toPrecision(4)));
}

// For columns of numbers: the same number of digits in each row.
function digits(value) {
  const size = Math.abs(value);
  return size >= 1e-3 && size < 1e5 ? value.toPrecision(4) : format(value);
}

function element(tag, properties = {}, children = []) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// Rows of cells: {text, header, number}.
function fillTable(table, titles, rows, caption) {
  const head = titles.map(({ text, number }) =>
    element("th", { scope: "col", className: number ? "number" : "", textContent: text }));
  const body = rows.map((cells) => element("tr", {}, cells.map(({ text, header, number }) => {
    const properties = { className: number ? "number" : "", textContent: text };
    return header ? element("th", { ...properties, scope: "row" }) : element("td", properties);
  })));
  table.replaceChildren(
    element("caption", { className: "sr-only", textContent: caption }),
    element("thead", {}, [element("tr", {}, head)]),
    element("tbody", {}, body));
}
