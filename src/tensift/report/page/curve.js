// Sorted scores, with the current and the suggested cut.

const CURVE_HEIGHT = 230;

function drawCurve(canvas, state) {
  const view = views[state.view];
  const width = widthFor(canvas);
  const pen = prepare(canvas, width, CURVE_HEIGHT);
  const box = { x: 62, y: 24, width: width - 64, height: CURVE_HEIGHT - 62 };
  const x = (rank) => box.x + (rank * box.width) / total;
  const y = (score) => box.y + box.height * (1 - (score - view.low) / (view.high - view.low || 1));
  const base = y(view.low);
  const area = (from, to, colour) => {
    if (from >= to) return;
    const step = Math.max(1, Math.floor(total / (2 * box.width)));
    pen.beginPath();
    pen.moveTo(x(from), base);
    for (let rank = from; rank < to; rank += step) {
      const top = y(view.scores[view.ranking[rank]]);
      pen.lineTo(x(rank), top);
      pen.lineTo(x(Math.min(rank + step, to)), top);
    }
    pen.lineTo(x(to), base);
    pen.closePath();
    pen.fillStyle = colour;
    pen.fill();
  };
  area(0, state.count, palette.kept);
  area(state.count, total, palette.dropped);
  pen.fillStyle = palette.faint;
  pen.fillRect(box.x, base, box.width, 1);
  for (const score of [view.low, (view.low + view.high) / 2, view.high]) {
    write(pen, format(score), box.x - 8, y(score), { align: "right" });
  }
  for (const rank of ticksOf(total + 1, Math.min(10, box.width / 70))) {
    if (rank) write(pen, counted(rank), x(rank), base + 13, { align: rank > 0.96 * total ? "right" : "center" });
  }
  write(pen, "features, best first", box.x + box.width / 2, base + 30, { align: "center" });
  if (view.cut) {
    pen.setLineDash([4, 4]);
    pen.beginPath();
    pen.moveTo(x(0.5), y(view.scores[view.ranking[0]]));
    pen.lineTo(x(total - 0.5), y(view.scores[view.ranking[total - 1]]));
    pen.strokeStyle = palette.faint;
    pen.lineWidth = 1;
    pen.stroke();
    pen.setLineDash([3, 3]);
    mark(pen, x(view.cut.count), 14, base, palette.soft);
    pen.setLineDash([]);
    const right = view.cut.count < 0.8 * total;
    write(pen, `suggested: ${counted(view.cut.count)}`, x(view.cut.count) + (right ? 5 : -5), 8,
      { align: right ? "left" : "right", colour: palette.ink });
  }
  mark(pen, x(state.count), 18, base, palette.ink);
  pen.beginPath();
  pen.arc(x(state.count), 18, 4.5, 0, 7);
  pen.fillStyle = palette.ink;
  pen.fill();
  return (at) => Math.round(((at - box.x) * total) / box.width);
}

function mark(pen, x, top, bottom, colour) {
  pen.beginPath();
  pen.moveTo(x, top);
  pen.lineTo(x, bottom);
  pen.strokeStyle = colour;
  pen.lineWidth = 1.5;
  pen.stroke();
}

function cutSentence(view) {
  if (view.kind === "stability") return view.caveat;
  if (view.zeros === total) {
    return "All scores are zero, because the penalties are too strong. Choose smaller penalties.";
  }
  if (!view.cut) {
    return view.scores.every((score) => score === view.scores[0])
      ? "All scores are equal, so there is no cut to suggest."
      : "Scores fall evenly, without a bend, so there is no cut to suggest.";
  }
  const { count, depth, sharp } = view.cut;
  const rule = `Suggested: ${counted(count)} features. There the curve is farthest below the straight line from the best to the `
    + "worst score. Before it, scores fall faster than on average; after it, more slowly. ";
  const verdict = sharp
    ? `The bend is sharp: the score is ${percent(depth)} below the line.`
    : `The bend is gentle, ${percent(depth)} below the line, so similar numbers are as good: choose what you need.`;
  const zeros = view.zeros ? ` ${counted(view.zeros)} features have a score of zero.` : "";
  return rule + verdict + zeros;
}

function countSentence(view, count) {
  const last = view.scores[view.ranking[count - 1]];
  const kept = `The last of the ${counted(count)} kept features has the ${quantityOf(view)} ${format(last)}`;
  if (count === total) return `${kept}; nothing is dropped.`;
  const next = view.scores[view.ranking[count]];
  if (next === last) return `${kept}. The first dropped feature has the same ${view.kind === "stability" ? "share" : "score"}, so the cut separates equal features.`;
  return `${kept}, the first dropped feature has ${format(next)}.`;
}
