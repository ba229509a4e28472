// The state, the events that change it, and the updates that follow.

const state = {
  view: 0,
  count: views[0].fitted,
  sample: 0,
  further: [...geometry.start],
  overlay: "marked",
  cursor: null,
  allRows: false,
};
let timer = null;
let featureAt = () => null;
let countAt = () => 1;
const redrawMultiples = [];

const draw = {
  map: () => { featureAt = drawMap(byId("map"), state); },
  sample: () => drawSample(byId("sample"), state),
  curve: () => { if (suggestion.curve.length) countAt = drawCurve(byId("curve"), state); },
  missed: () => { if (missed) drawMissed(byId("missed-map"), state); },
  multiples: () => redrawMultiples.forEach((redraw) => redraw(state)),
  certificates: () => {
    const held = views[state.view].certificates;
    if (held?.gap && held.total > 1) drawCertificates(byId("certificates-chart"), held);
  },
};
const pending = new Set();

function render() {
  pending.forEach((picture) => draw[picture]());
  pending.clear();
  describePictures(views[state.view]);
}

// Draws all pictures, or the given ones, in the next frame.
function renderSoon(...pictures) {
  if (!pending.size) requestAnimationFrame(render);
  (pictures.length ? pictures : Object.keys(draw)).forEach((picture) => pending.add(picture));
}

function describePictures(view) {
  const first = describe(view.ranking[0]);
  const kept = `${counted(state.count)} of ${counted(selectable)} features kept`;
  byId("map").setAttribute("aria-label",
    `Score map, ${kept}. The first is ${first}. Scores from ${format(view.low)} to ${format(view.high)}. `
    + "Arrow keys read features one by one.");
  const over = { marked: "marked on", alone: "alone, of", hidden: "not marked on" }[state.overlay];
  byId("sample").setAttribute("aria-label", `Kept features ${over} ${sampleName()}; ${kept}.`);
  byId("curve").setAttribute("aria-label",
    `Curve of ${suggestion.measure} against the number of features. ${countSentence(view, state.count)} ${suggestion.reason}`);
}

// The number of features

function setCount(count) {
  const wanted = allowedCount(views[state.view], count);
  if (wanted !== state.count) state.allRows = false;
  state.count = wanted;
  countChanged();
}

function countChanged() {
  const view = views[state.view];
  const slider = byId("slider");
  const [least, most] = view.stops ? [view.stops[0], view.stops.at(-1)] : [1, selectable];
  for (const input of [slider, byId("count")]) {
    input.min = String(least);
    input.max = String(most);
  }
  slider.disabled = least === most;
  slider.value = String(state.count);
  slider.style.setProperty("--share", `${(100 * (state.count - least)) / Math.max(1, most - least)}%`);
  slider.setAttribute("aria-valuetext", `${counted(state.count)} of ${counted(selectable)}`);
  if (document.activeElement !== byId("count")) byId("count").value = String(state.count);
  byId("count-in-print").textContent = `${counted(state.count)} of ${counted(total)} features kept.`;
  byId("use-fitted").setAttribute("aria-pressed", String(state.count === view.fitted));
  byId("use-suggested").setAttribute("aria-pressed", String(suggestion.count === state.count));
  byId("use-suggested").disabled = !suggestion.count || allowedCount(view, suggestion.count) !== suggestion.count;
  byId("curve-text").textContent = countSentence(view, state.count);
  byId("curve-text").hidden = !byId("curve-text").textContent;
  byId("code").textContent = codeOf(state);
  byId("caveat").hidden = !view.caveat || (state.count === view.fitted && !view.stops);
  byId("caveat").textContent = view.caveat ?? "";
  tableSoon();
  announce(`${counted(state.count)} of ${counted(selectable)} features kept`);
  renderSoon();
}

// A table may have thousands of rows, so fill it only when the slider rests.
let tableTimer = null;
function tableSoon() {
  clearTimeout(tableTimer);
  tableTimer = setTimeout(fillKept, 80);
}

function fillKept() {
  const left = fillFeatures(byId("features-table"), state, state.allRows);
  byId("features-title").textContent = `${counted(state.count)} kept ${state.count === 1 ? "feature" : "features"}`;
  byId("more").hidden = left === 0;
  byId("more").textContent = `Show the other ${counted(left)}`;
}

let speech = null;
function announce(text) {
  clearTimeout(speech);
  speech = setTimeout(() => { byId("live").textContent = text; }, 250);
}

// The selection that is shown

function setView(index) {
  state.view = index;
  const view = views[index];
  byId("viewing").hidden = views.length === 1;
  byId("viewing-name").textContent = `Showing ${view.name}`;
  byId("view-first").hidden = index === 0;
  const stability = view.kind === "stability";
  byId("map-title").textContent = mapTitle(view);
  byId("rule").textContent = `${view.rule}${zerosSentence(view)}`;
  byId("use-fitted").textContent = `${stability ? "Stable" : "Fitted"}: ${counted(view.fitted)}`;
  byId("ramp-low").textContent = format(view.low);
  byId("ramp-high").textContent = format(view.high);
  byId("key-included").hidden = !view.included.size;
  byId("key-excluded").hidden = !view.excluded.size;
  state.count = allowedCount(view, state.count);
  byId("certificates").hidden = !view.certificates?.gap;
  if (view.certificates?.gap) fillCertificates(view.certificates);
  fillFacts(view);
  readOut(null);
  countChanged();
  if (views.length > 1) announce(`Showing ${view.name}`);
}

function mapTitle(view) {
  if (view.kind === "stability") return "Share of resamples that keep a feature";
  if (isImage) return "Score map";
  if (!isChannels || total > MOST_NAMED_BARS) return "Scores";
  return view.by_score ? "Scores, highest first" : "Scores, in the order of selection";
}

function zerosSentence(view) {
  if (view.kind === "stability" || !view.zeros) return "";
  if (view.zeros === total) {
    return " All scores are zero, because the penalties are too strong: choose smaller penalties.";
  }
  return ` ${counted(view.zeros)} ${view.zeros === 1 ? "feature has" : "features have"} a score of zero.`;
}

function fillFacts(view) {
  const rows = [...content.facts, ...Object.entries(view.parameters)];
  if (view.certificates && !view.certificates.gap) rows.push(["how the solver ended", certificateSentence(view.certificates)]);
  byId("facts").replaceChildren(...rows.flatMap(([name, value]) =>
    [element("dt", { textContent: name }), element("dd", { textContent: value })]));
}

// Samples

function sampleName() {
  const label = samples.labels ? `, class ${samples.labels[state.sample]}` : "";
  return `sample ${counted(samples.indices[state.sample])}${label}`;
}

function setSample(sample) {
  const n = samples.indices.length;
  state.sample = ((sample % n) + n) % n;
  byId("which").value = String(state.sample);
  const which = byId("which");
  which.setAttribute("aria-valuetext", sampleName());
  const of = n < samples.total
    ? `${counted(state.sample + 1)} of ${counted(n)}, evenly chosen from ${counted(samples.total)}`
    : `${counted(state.sample + 1)} of ${counted(n)}`;
  const notes = [sampleName().replace("s", "S"), of];
  if (isChannels) notes.push("traces in units of their channel’s standard deviation");
  if (samples.modulus) notes.push("modulus of complex values");
  if (samples.step > 1) notes.push(`one of every ${samples.step} points`);
  if (isChannels && total > MOST_TRACES) notes.push(`the first ${MOST_TRACES} of ${counted(total)} traces`);
  byId("sample-name").textContent = notes.join(" · ");
  renderSoon("sample");
}

function play(on) {
  clearInterval(timer);
  timer = on ? setInterval(() => setSample(state.sample + 1), 450) : null;
  // Do not announce names that change twice a second.
  byId("sample-name").setAttribute("aria-live", on ? "off" : "polite");
  byId("play").textContent = on ? "Pause" : "Play";
}

// The map under the pointer and under the arrow keys

function readOut(flat, redraw = false) {
  const view = views[state.view];
  const cursor = redraw ? flat : null;
  if (cursor !== state.cursor) renderSoon("map");
  state.cursor = cursor;
  byId("readout").textContent = flat === null ? "" :
    `${describe(flat)}: ${quantityOf(view)} ${format(view.scores[flat])}, rank ${counted(view.rankOf[flat] + 1)}`
    + `, ${limitWord(view, flat) || (view.rankOf[flat] < state.count ? "kept" : "dropped")}`;
}

function moveCursor(key) {
  const view = views[state.view];
  const back = key === "ArrowLeft" || key === "ArrowUp" ? -1 : 1;
  let flat = state.cursor;
  if (flat === null) flat = view.ranking[0];
  else if (isImage) {
    const [vertical, horizontal] = geometry.axes;
    const mode = key === "ArrowLeft" || key === "ArrowRight" ? horizontal : vertical;
    const at = placeOf(flat)[mode];
    if (at + back >= 0 && at + back < shape[mode]) flat += back * featureStrides[mode];
  } else if (isChannels && total <= MOST_NAMED_BARS) {
    flat = view.ranking[Math.min(total - 1, Math.max(0, view.rankOf[flat] + back))];
  } else flat = Math.min(total - 1, Math.max(0, flat + back));
  if (isImage) showPlaneOf(flat);
  readOut(flat, true);
}

// Modes that are not axes

function showPlaneOf(flat) {
  const place = placeOf(flat);
  geometry.further.forEach((mode, m) => {
    if (state.further[m] === place[mode]) return;
    state.further[m] = place[mode];
    byId(`further-${m}`).value = String(place[mode]);
    renderSoon();
  });
}

function makeFurther() {
  geometry.further.forEach((mode, m) => {
    const options = Array.from({ length: shape[mode] }, (_, i) =>
      element("option", { value: String(i), textContent: labelOf(mode, i) }));
    const select = element("select", { id: `further-${m}` }, options);
    select.value = String(state.further[m]);
    select.addEventListener("change", () => {
      state.further[m] = Number(select.value);
      readOut(null);
      renderSoon();
    });
    byId("further").append(element("label", {}, [geometry.titles[mode], select]));
  });
}

// Light and dark

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").setAttribute("aria-pressed", String(theme === "dark"));
  readPalette();
  renderSoon();
}

const otherTheme = () => (document.documentElement.dataset.theme === "dark" ? "light" : "dark");

// Print: light colours, and nothing folded. Pictures keep the width that they have on the screen.

let beforePrint = null;

function onPaper() {
  beforePrint ??= { theme: document.documentElement.dataset.theme, open: [...document.querySelectorAll("details[open]")] };
  for (const one of document.querySelectorAll("details")) one.open = true;
  setTheme("light");
  Object.keys(draw).forEach((picture) => draw[picture]());
}

function onScreen() {
  if (!beforePrint) return;
  for (const one of document.querySelectorAll("details")) one.open = beforePrint.open.includes(one);
  setTheme(beforePrint.theme);
  beforePrint = null;
}

// Event listeners

function listen() {
  const on = (id, event, action) => byId(id).addEventListener(event, action);
  on("slider", "input", (e) => setCount(Number(e.target.value)));
  on("count", "input", (e) => { if (e.target.value) setCount(Number(e.target.value)); });
  on("count", "blur", (e) => { e.target.value = String(state.count); });
  on("use-fitted", "click", () => setCount(views[state.view].fitted));
  on("use-suggested", "click", () => setCount(suggestion.count));
  on("view-first", "click", () => { setView(0); byId("slider").focus(); });
  on("previous", "click", () => setSample(state.sample - 1));
  on("next", "click", () => setSample(state.sample + 1));
  on("play", "click", () => play(timer === null));
  on("which", "input", (e) => setSample(Number(e.target.value)));
  on("theme", "click", () => setTheme(otherTheme()));
  on("more", "click", () => { state.allRows = true; fillKept(); byId("features-table").parentElement.focus(); });
  on("download", "click", () => save(csvOf(state, false), "ranking.csv"));
  on("copy-table", "click", (e) => copied(e.target, csvOf(state, true)));
  on("copy-code", "click", (e) => copied(e.target, codeOf(state)));
  for (const choice of document.querySelectorAll("input[name=overlay]")) {
    choice.addEventListener("change", () => { state.overlay = choice.value; renderSoon("sample"); });
  }
  on("map", "pointermove", (e) => readOut(featureAt(e.offsetX, e.offsetY)));
  on("map", "pointerleave", () => readOut(null));
  on("map", "blur", () => readOut(null));
  on("curve", "pointerdown", (e) => { byId("curve").setPointerCapture(e.pointerId); setCount(countAt(e.offsetX)); });
  on("curve", "pointermove", (e) => { if (e.buttons & 1) setCount(countAt(e.offsetX)); });
  document.addEventListener("keydown", onKey);
  window.addEventListener("resize", () => renderSoon());
  window.addEventListener("beforeprint", onPaper);
  window.addEventListener("afterprint", onScreen);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
}

async function copied(button, text) {
  const before = button.textContent;
  const done = await copyText(text);
  button.textContent = done ? "Copied" : "Cannot copy here";
  announce(button.textContent);
  setTimeout(() => { button.textContent = before; }, 1500);
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const at = event.target;
  if (at.id === "map" && event.key.startsWith("Arrow")) {
    event.preventDefault();
    moveCursor(event.key);
    return;
  }
  const typing = at.matches?.("select, textarea, input[type=number]");
  const presses = at.matches?.("button, summary, a, input, select");
  const actions = {
    n: () => setSample(state.sample + 1),
    p: () => setSample(state.sample - 1),
    s: () => byId("use-suggested").click(),
    d: () => setTheme(otherTheme()),
  };
  if (!typing && actions[event.key]) actions[event.key]();
  else if (event.key === " " && !presses) {
    event.preventDefault();
    play(timer === null);
  }
}

function fillHeader() {
  byId("title").textContent = content.title;
  document.title = content.title;
  byId("lede").textContent =
    `${counted(samples.total)} samples of ${shape.join(" × ")}`
    + `${geometry.names.every((title) => /^mode \d+$/.test(title)) ? "" : ` (${geometry.names.join(", ")})`}. `
    + `${isChannels ? `Every index along ${geometry.names[geometry.mode]} is a feature` : "Every element is a feature"}; `
    + `the selection used no labels.`;
  byId("of-total").textContent = `of ${counted(selectable)}`;
  byId("which").max = String(samples.indices.length - 1);
  byId("use-suggested").textContent = suggestion.title;
  byId("constraints").hidden = !content.constraints.length;
  byId("constraints-sentences").replaceChildren(
    ...content.constraints.map((text) => element("li", { textContent: text })));
  byId("suggestion").textContent = suggestionText();
  byId("curve-picture").hidden = !suggestion.curve.length;
  byId("made-by").textContent = `Made by tensift ${content.version}`;
  if (!isImage) {
    for (const id of ["ramp-low", "ramp-high"]) byId(id).hidden = true;
    document.querySelector(".ramp").hidden = true;
    document.querySelector(".swatch-kept").classList.add("filled");
  }
  const several = samples.indices.length > 1;
  for (const id of ["previous", "next", "play", "which"]) byId(id).disabled = !several;
}

function start() {
  setTheme(window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  fillHeader();
  makeFurther();
  const ofKind = (...kinds) => views.map((_, i) => i).filter((i) => kinds.includes(views[i].kind));
  const alternatives = ofKind("alternative");
  if (alternatives.length) {
    byId("alternatives").hidden = false;
    const there = new Set(ofKind("chosen", "alternative").map((i) => views[i].orientation));
    const missing = shape.map((_, mode) => mode).filter((mode) => !there.has(mode));
    byId("alternatives-missing").textContent = missing.length
      ? `Not tried: ${missing.map((mode) => `orientation ${geometry.names[mode].replace(/^mode (?=\d+$)/, "")}`).join(", ")}.` : "";
    const shown = ofKind("chosen", "alternative")
      .sort((a, b) => views[a].orientation - views[b].orientation);
    redrawMultiples.push(makeMultiples(byId("alternatives-grid"), shown, setView));
  }
  if (missed) {
    byId("missed").hidden = false;
    fillMissed();
  }
  if (content.stability) {
    byId("stability").hidden = false;
    byId("stability-sentences").replaceChildren(
      ...content.stability.map((text) => element("li", { textContent: text })));
    redrawMultiples.push(makeMultiples(byId("stability-grid"), ofKind("chosen", "stability"), setView));
  }
  if (content.comparison) {
    byId("methods").hidden = false;
    fillComparison(content.comparison);
    redrawMultiples.push(makeMultiples(byId("methods-grid"), ofKind("method"), setView));
  }
  listen();
  setSample(0);
  setView(0);
  // Draw what is seen first now, the rest in the next frame.
  for (const picture of ["map", "sample", "curve"]) {
    draw[picture]();
    pending.delete(picture);
  }
  performance.mark("tensift-drawn");
}

start();
