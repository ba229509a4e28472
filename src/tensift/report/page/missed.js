// What the kept features miss, and which of them repeat others. It is known for the fitted number only.

const MOST_NAMED = 8;
const HARDLY = 0.1;
const MOSTLY = 0.9;
const missed = content.missed && {
  ...content.missed,
  predicted: new Float32Array(bytesOf(content.missed.predicted).buffer),
  variance: new Float32Array(bytesOf(content.missed.variance).buffer),
};
const isVarying = (flat) => !Number.isNaN(missed.predicted[flat]);
const isMissable = (flat) => views[0].rankOf[flat] >= missed.count && isVarying(flat);
const sumOf = (flats, valueOf) => flats.reduce((sum, flat) => sum + valueOf(flat), 0);
const lostOf = (flat) => (isMissable(flat) ? missed.variance[flat] * (1 - missed.predicted[flat]) : 0);

function missedSentence(dropped) {
  const all = sumOf(dropped, (flat) => missed.variance[flat]);
  const found = all ? 1 - sumOf(dropped, lostOf) / all : 0;
  const hardly = dropped.filter((flat) => missed.predicted[flat] < HARDLY);
  return `Missed: the ${featuresOf(missed.count, "kept")} ${missed.count === 1 ? "predicts" : "predict"} ${percent(found)} of the variance of the dropped ones. `
    + (hardly.length
      ? `Of ${featuresOf(hardly.length, "dropped")} less than ${percent(HARDLY)} is predicted; ${hardly.length === 1 ? "it has" : "they have"} `
        + `${percentOf(sumOf(hardly, (flat) => missed.variance[flat]))} of the variance of all. What is missed may be noise.`
      : `Of each of them at least ${percent(HARDLY)} is predicted.`);
}

function redundantSentence(kept) {
  const mostly = kept.filter((flat) => missed.predicted[flat] > MOSTLY).length;
  return mostly
    ? `Redundant: of ${featuresOf(mostly, "kept")} more than ${percent(MOSTLY)} is predicted by the other kept ones. `
      + "Fewer would do, unless you want spares."
    : `Redundant: none. Of each kept feature at most ${percent(Math.max(...kept.map((flat) => missed.predicted[flat])))} is predicted by the other kept ones.`;
}

const percentOf = (share) => (share > 0 && share < 0.005 ? "less than 1\u00a0%" : percent(share));
const featuresOf = (count, what) => `${counted(count)} ${what} ${count === 1 ? "feature" : "features"}`;

function fillMissed() {
  const order = Array.from(views[0].ranking);
  const dropped = order.filter(isMissable);
  const kept = missed.count < 2 ? [] : order.slice(0, missed.count).filter(isVarying);
  const sentences = [
    ...(dropped.length ? [missedSentence(dropped)] : []),
    ...(kept.length > 1 ? [redundantSentence(kept)] : []),
    `Predictions are linear, and judged on samples that they were not learned from (${counted(missed.samples)} samples, in halves). `
      + `This is for the ${counted(missed.count)} features that were fitted; the slider does not change it.`,
  ];
  byId("missed-sentences").replaceChildren(...sentences.map((text) => element("li", { textContent: text })));
  byId("missed-map").setAttribute("aria-label", `Map of what is missed. ${sentences.join(" ")}`);
  const number = (text) => ({ text, number: true });
  const worst = [...dropped].sort((a, b) => lostOf(b) - lostOf(a)).slice(0, MOST_NAMED);
  const all = sumOf(dropped, lostOf) || 1;
  fillTable(byId("missed-table"), [{ text: "Dropped feature" }, number("Predicted"), number("Of all missed")],
    worst.map((flat) => [{ text: describe(flat), header: true }, number(percent(missed.predicted[flat])), number(percentOf(lostOf(flat) / all))]),
    "Dropped features of which most variance is missed");
  const repeated = [...kept].sort((a, b) => missed.predicted[b] - missed.predicted[a]).slice(0, MOST_NAMED);
  fillTable(byId("redundant-table"), [{ text: "Kept feature" }, number("Predicted"), { text: "Most like" }],
    repeated.map((flat) => {
      const other = missed.alike[views[0].rankOf[flat]];
      return [{ text: describe(flat), header: true }, number(percent(missed.predicted[flat])),
        { text: other === null ? "–" : describe(other) }];
    }),
    "Kept features that the other kept ones predict best");
  for (const [title, table, rows] of [["missed-most", "missed-table", worst], ["redundant-most", "redundant-table", repeated]]) {
    byId(title).hidden = !rows.length;
    byId(table).parentElement.hidden = !rows.length;
  }
}

function drawMissed(canvas, state) {
  const isKept = (flat) => views[0].rankOf[flat] < missed.count;
  const all = missed.variance.reduce((sum, _, flat) => sum + lostOf(flat), 0) || 1;
  const scores = Float64Array.from(missed.variance, (_, flat) => lostOf(flat) / all);
  const high = scores.reduce((most, score) => Math.max(most, score), 0);
  const view = { ...views[0], scores, low: 0, high, included: new Set(), excluded: new Set() };
  const still = { ...state, cursor: null };
  if (isImage) drawScoreImage(canvas, still, view, isKept);
  else drawScoreColumns(canvas, still, view, isKept);
}
