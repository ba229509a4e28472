// How well the first features keep the similarities of samples (or predict the others), against their number.

const CURVE_HEIGHT = 230;

function drawCurve(canvas, state) {
  const { curve, measure, spread, count: suggested } = suggestion;
  const known = curve.length;
  const width = widthFor(canvas);
  const pen = prepare(canvas, width, CURVE_HEIGHT);
  const box = { x: 52, y: 24, width: width - 60, height: CURVE_HEIGHT - 62 };
  const highest = Math.max(...curve.map((value, i) => value + spread[i]));
  const top = Math.min(1, Math.max(0.1, Math.ceil(10 * highest) / 10));
  const x = (count) => box.x + (count * box.width) / known;
  const y = (value) => box.y + box.height * (1 - Math.min(Math.max(value, 0), top) / top);
  const base = y(0);
  // The curve begins at zero features, which keep nothing.
  const values = [0, ...curve];
  const half = [0, ...spread];
  const kept = Math.min(state.count, known);
  const counts = values.map((_, n) => n);
  const trace = (some, sign) => some.forEach((n) => pen.lineTo(x(n), y(values[n] + sign * half[n])));
  pen.fillStyle = palette.keptWash;
  pen.beginPath();
  trace(counts.slice(0, kept + 1), 0);
  pen.lineTo(x(kept), base);
  pen.fill();
  pen.fillStyle = palette.dropped;
  pen.globalAlpha = 0.6;
  pen.beginPath();
  trace(counts, 1);
  trace([...counts].reverse(), -1);
  pen.fill();
  pen.globalAlpha = 1;
  for (const [some, colour] of [[counts.slice(kept), palette.soft], [counts.slice(0, kept + 1), palette.kept]]) {
    pen.beginPath();
    trace(some, 0);
    pen.strokeStyle = colour;
    pen.lineWidth = 2;
    pen.stroke();
  }
  pen.fillStyle = palette.faint;
  pen.fillRect(box.x, base, box.width, 1);
  for (const value of [0, top / 2, top]) {
    write(pen, String(Number(value.toFixed(2))), box.x - 8, y(value), { align: "right" });
  }
  for (const n of ticksOf(known + 1, Math.min(10, box.width / 70))) {
    if (n) write(pen, counted(n), x(n), base + 13, { align: n > 0.96 * known ? "right" : "center" });
  }
  write(pen, "number of features", box.x + box.width / 2, base + 30, { align: "center" });
  writeUpwards(pen, measure, box);
  pen.setLineDash([3, 3]);
  mark(pen, x(suggested), 14, base, palette.soft);
  pen.setLineDash([]);
  const right = suggested < 0.7 * known;
  write(pen, `suggested: ${counted(suggested)}`, x(suggested) + (right ? 5 : -5), 8,
    { align: right ? "left" : "right", colour: palette.ink });
  if (state.count <= known) {
    mark(pen, x(kept), y(values[kept]), base, palette.kept);
    pen.beginPath();
    pen.arc(x(kept), y(values[kept]), 4.5, 0, 7);
    pen.fillStyle = palette.kept;
    pen.fill();
  }
  return (at) => Math.round(((at - box.x) * known) / box.width);
}

function mark(pen, x, top, bottom, colour) {
  pen.beginPath();
  pen.moveTo(x, top);
  pen.lineTo(x, bottom);
  pen.strokeStyle = colour;
  pen.lineWidth = 1.5;
  pen.stroke();
}

function suggestionText() {
  const { reason, curve } = suggestion;
  if (!curve.length) return reason;
  return `${reason} The number comes from the samples alone: features are chosen on one half of them and judged on the other, `
    + "then the other way round. The band is the spread between halves.";
}

function countSentence(view, count) {
  return [curveSentence(count), scoresSentence(view, count)].filter(Boolean).join(" ");
}

function curveSentence(count) {
  const { curve, measure, spread, structured } = suggestion;
  const known = curve.length;
  if (!known) return "";
  if (count > known) {
    return known === structured && measure !== "R²"
      ? `The curve ends at ${counted(known)} features: on the others, similar samples do not agree more than noise would.`
      : `The curve ends at ${counted(known)} features.`;
  }
  const here = curve[count - 1];
  return `At ${counted(count)} ${count === 1 ? "feature" : "features"}, ${measure}: ${here.toFixed(3)} ± ${spread[count - 1].toFixed(3)}, `
    + `${percent(here / Math.max(...curve))} of its maximum.`;
}

// Scores on both sides of the cut, if features were selected by them.
function scoresSentence(view, count) {
  if (count === selectable) return "All features are kept; nothing is dropped.";
  if (!view.by_score) return "";
  const last = view.scores[view.ranking[count - 1]];
  const next = view.scores[view.ranking[count]];
  const kept = `The last kept feature has the ${quantityOf(view)} ${format(last)}`;
  return next === last
    ? `${kept}. The first dropped feature has the same, so the cut separates equal features.`
    : `${kept}, the first dropped feature has ${format(next)}.`;
}
