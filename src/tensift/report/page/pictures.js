// Draw the score map and the sample for a given state.

const isImage = geometry.mode === null && shape.length > 1;
const isChannels = geometry.mode !== null;
const MOST_NAMED_BARS = 48;
const MOST_TRACES = 64;

// The flat index of a cell of the image, at the chosen indices of the other modes.
function cellIndex(further, strides) {
  const [vertical, horizontal] = geometry.axes;
  const offset = geometry.further.reduce((sum, mode, m) => sum + further[m] * strides[mode], 0);
  const columns = shape[horizontal];
  return (cell) =>
    offset + Math.floor(cell / columns) * strides[vertical] + (cell % columns) * strides[horizontal];
}

const level = (view, flat) =>
  Math.round((255 * (view.scores[flat] - view.low)) / (view.high - view.low || 1));

// Score map

function drawMap(canvas, state) {
  const view = views[state.view];
  const isKept = (flat) => view.rankOf[flat] < state.count;
  if (isImage) return drawScoreImage(canvas, state, view, isKept);
  if (isChannels && total <= MOST_NAMED_BARS) return drawNamedBars(canvas, state, view, isKept);
  return drawScoreColumns(canvas, state, view, isKept);
}

function drawScoreImage(canvas, state, view, isKept) {
  const [vertical, horizontal] = geometry.axes;
  const [rows, columns] = [shape[vertical], shape[horizontal]];
  const width = widthFor(canvas);
  const box = imageBox(width);
  const pen = prepare(canvas, width, box.full);
  const flatOf = cellIndex(state.further, featureStrides);
  paintCells(pen, box, rows, columns, (cell) => palette.ramp[level(view, flatOf(cell))]);
  const cells = view.excluded.size || view.included.size ? [...Array(rows * columns).keys()] : [];
  strikeCells(pen, box, rows, columns, cells.filter((cell) => view.excluded.has(flatOf(cell))));
  outlineCells(pen, box, rows, columns, (cell) => isKept(flatOf(cell)));
  dotCells(pen, box, rows, columns, cells.filter((cell) => view.included.has(flatOf(cell))));
  writeAxes(pen, box, geometry.axes);
  if (state.cursor !== null) {
    const at = placeOf(state.cursor);
    const [w, h] = [box.width / columns, box.height / rows];
    pen.strokeStyle = palette.ink;
    pen.lineWidth = 2;
    pen.strokeRect(box.x + at[horizontal] * w - 1, box.y + at[vertical] * h - 1, w + 2, h + 2);
  }
  return (x, y) => {
    const i = Math.floor(((y - box.y) * rows) / box.height);
    const j = Math.floor(((x - box.x) * columns) / box.width);
    return i >= 0 && j >= 0 && i < rows && j < columns ? flatOf(i * columns + j) : null;
  };
}

function drawNamedBars(canvas, state, view, isKept) {
  const width = widthFor(canvas);
  const row = total <= 16 ? 26 : total <= 30 ? 18 : 14;
  const pen = prepare(canvas, width, row * total + 4);
  const names = Array.from(view.ranking, (flat) => labelOf(geometry.mode, flat));
  const longest = Math.max(...names.map((name) => pen.measureText(name).width));
  const left = Math.min(longest + 12, width * 0.38);
  const room = width - left - (view.included.size || view.excluded.size ? 140 : 58);
  view.ranking.forEach((flat, rank) => {
    const y = 2 + row * rank;
    const kept = isKept(flat);
    const length = Math.max(1, (room * (view.scores[flat] - view.low)) / (view.high - view.low || 1));
    write(pen, names[rank], left - 10, y + row / 2,
      { align: "right", room: left - 10, colour: kept ? palette.ink : palette.soft });
    pen.fillStyle = kept ? palette.kept : palette.dropped;
    pen.fillRect(left, y + row * 0.16, length, row * 0.68);
    if (view.excluded.has(flat)) strikeBox(pen, left, y + row * 0.16, length, row * 0.68);
    const limit = limitWord(view, flat);
    write(pen, `${format(view.scores[flat])}${limit ? ` · ${limit}` : ""}`, left + length + 7, y + row / 2);
    if (state.cursor === flat) {
      pen.strokeStyle = palette.ink;
      pen.lineWidth = 2;
      pen.strokeRect(left - 1, y + row * 0.16 - 1, length + 2, row * 0.68 + 2);
    }
  });
  return (x, y) => {
    const rank = Math.floor((y - 2) / row);
    return rank >= 0 && rank < total ? view.ranking[rank] : null;
  };
}

function drawScoreColumns(canvas, state, view, isKept) {
  const width = widthFor(canvas);
  const pen = prepare(canvas, width, 300);
  const box = { x: 56, y: 8, width: width - 58, height: 250 };
  paintColumns(pen, box, total, (i) => view.scores[i], isKept, [view.low, view.high], false);
  for (const i of view.excluded) {
    pen.fillStyle = palette.page;
    pen.globalAlpha = 0.8;
    pen.fillRect(box.x + (i * box.width) / total, box.y, box.width / total, box.height);
    pen.globalAlpha = 1;
  }
  for (const i of view.included) drawDot(pen, box.x + ((i + 0.5) * box.width) / total, box.y + box.height - 4, 3);
  writeColumnAxis(pen, box, featureModes[0], [view.low, view.high]);
  if (state.cursor !== null) {
    pen.fillStyle = palette.ink;
    pen.fillRect(box.x + ((state.cursor + 0.5) * box.width) / total - 0.75, box.y, 1.5, box.height);
  }
  return (x) => {
    const i = Math.floor(((x - box.x) * total) / box.width);
    return i >= 0 && i < total ? i : null;
  };
}

function writeColumnAxis(pen, box, mode, [low, high]) {
  const length = shape[mode];
  for (const i of ticksOf(length, Math.min(8, box.width / 60))) {
    const x = box.x + ((i + 0.5) * box.width) / length;
    write(pen, labelOf(mode, i), x, box.y + box.height + 12, { align: "center", room: 58 });
  }
  write(pen, geometry.titles[mode], box.x + box.width / 2, box.y + box.height + 30,
    { align: "center", room: box.width });
  write(pen, format(high), box.x - 6, box.y + 4, { align: "right", room: 50 });
  write(pen, format(low), box.x - 6, box.y + box.height - 4, { align: "right", room: 50 });
}

// Sample

function drawSample(canvas, state) {
  const view = views[state.view];
  const isKept = (flat) => view.rankOf[flat] < state.count;
  const first = state.sample * sampleSize;
  if (isChannels) drawTraces(canvas, state, view, isKept, first);
  else if (isImage) drawSampleImage(canvas, state, isKept, first);
  else drawSampleColumns(canvas, state, isKept, first);
}

function drawSampleImage(canvas, state, isKept, first) {
  const [vertical, horizontal] = geometry.axes;
  const [rows, columns] = [shape[vertical], shape[horizontal]];
  const width = widthFor(canvas);
  const box = imageBox(width);
  const pen = prepare(canvas, width, box.full);
  const flatOf = cellIndex(state.further, featureStrides);
  paintCells(pen, box, rows, columns, (cell) => {
    const flat = flatOf(cell);
    const value = sampleBytes[first + flat];
    const gray = palette.gray[value];
    if (state.overlay === "hidden") return gray;
    const kept = isKept(flat);
    if (state.overlay === "alone") return kept ? gray : mixed(gray, palette.pageRgb, 0.9);
    // Darker and lighter orange keep the sample visible.
    if (kept) return mixed(mixed(gray, palette.keptRgb, 0.75), [255, 255, 255], value / 900);
    return gray;
  });
  if (state.overlay !== "hidden" && Math.min(box.width / columns, box.height / rows) >= 4) {
    outlineCells(pen, box, rows, columns, (cell) => isKept(flatOf(cell)));
  }
  writeAxes(pen, box, geometry.axes);
}

function drawSampleColumns(canvas, state, isKept, first) {
  const width = widthFor(canvas);
  const pen = prepare(canvas, width, 300);
  const box = { x: 56, y: 8, width: width - 58, height: 250 };
  const range = [samples.low[state.sample], samples.high[state.sample]];
  const valueOf = (i) => range[0] + ((range[1] - range[0]) * sampleBytes[first + i]) / 255;
  const plain = state.overlay === "hidden";
  const shown = state.overlay === "alone" ? (i) => (isKept(i) ? valueOf(i) : Math.max(range[0], Math.min(range[1], 0))) : valueOf;
  paintColumns(pen, box, total, shown, isKept, range, plain);
  writeColumnAxis(pen, box, featureModes[0], range);
}

// The channels to draw, in their own order: all if there is room, else the first selected.
function tracesOf(view, count, overlay) {
  const most = overlay === "alone" ? Math.min(count, MOST_TRACES) : MOST_TRACES;
  return Array.from(view.ranking.slice(0, Math.min(most, total))).sort((a, b) => a - b);
}

function drawTraces(canvas, state, view, isKept, first) {
  const width = widthFor(canvas);
  const channels = tracesOf(view, state.count, state.overlay);
  const height = Math.min(600, Math.max(220, channels.length * 26));
  // Traces may overlap the rows of their neighbours, but stay inside the picture.
  const reach = height / channels.length < 20 ? 2.2 : 1.5;
  const row = height / (channels.length + reach - 1);
  const top = ((reach - 1) * row) / 2;
  const pen = prepare(canvas, width, height + 34);
  const trace = geometry.trace;
  const points = samples.shape[trace];
  const named = row >= 11;
  const longest = named
    ? Math.max(...channels.map((c) => pen.measureText(labelOf(geometry.mode, c)).width)) : 0;
  const left = named ? Math.min(longest + 14, width * 0.34) : 8;
  const room = width - left - 4;
  const offset = first
    + geometry.further.reduce((sum, mode, m) => sum + state.further[m] * sampleStrides[mode], 0);
  const tall = Math.min(row * reach, 90);
  for (const marked of [false, true]) {
    channels.forEach((channel, place) => {
      const kept = isKept(channel);
      if (kept !== marked) return;
      const coloured = kept && state.overlay !== "hidden";
      const middle = top + row * (place + 0.5);
      pen.beginPath();
      for (let t = 0; t < points; t += 1) {
        const at = offset + channel * sampleStrides[geometry.mode] + t * sampleStrides[trace];
        const x = left + (points > 1 ? (t * room) / (points - 1) : room / 2);
        const y = middle + tall * (0.5 - sampleBytes[at] / 255);
        if (t) pen.lineTo(x, y);
        else pen.moveTo(x, y);
      }
      pen.lineJoin = "round";
      pen.strokeStyle = coloured ? palette.kept : palette.dropped;
      pen.lineWidth = coloured ? 1.75 : 1.1;
      pen.stroke();
      if (named) {
        write(pen, labelOf(geometry.mode, channel), left - 10, middle,
          { align: "right", room: left - 10, colour: coloured ? palette.ink : palette.soft });
      }
    });
  }
  for (const t of ticksOf(shape[trace], Math.min(8, room / 60))) {
    const x = left + (shape[trace] > 1 ? (t * room) / (shape[trace] - 1) : room / 2);
    write(pen, labelOf(trace, t), x, height + 10, { align: !t ? "left" : t === shape[trace] - 1 ? "right" : "center", room: 58 });
  }
  write(pen, geometry.titles[trace], left + room / 2, height + 26, { align: "center", room });
}

// Small multiples: the map without axes, the kept features filled.
function drawSmall(canvas, view, state) {
  const width = widthFor(canvas);
  const isKept = (flat) => view.rankOf[flat] < state.count;
  if (isImage) {
    const [vertical, horizontal] = geometry.axes;
    const [rows, columns] = [shape[vertical], shape[horizontal]];
    const height = Math.round(width * Math.min(1.25, Math.max(0.4, rows / columns)));
    const pen = prepare(canvas, width, height);
    const flatOf = cellIndex(state.further, featureStrides);
    paintCells(pen, { x: 0, y: 0, width, height }, rows, columns, (cell) => {
      const flat = flatOf(cell);
      return isKept(flat) ? palette.keptRgb : palette.ramp[level(view, flat)];
    });
    return;
  }
  const pen = prepare(canvas, width, 84);
  const box = { x: 0, y: 2, width, height: 80 };
  paintColumns(pen, box, total, (i) => view.scores[i], isKept, [view.low, view.high], false);
}
