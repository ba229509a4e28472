// Canvas: sizes, colours, and basic drawing.

let palette = {};

function rgbOf(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function mixed(one, other, share) {
  return one.map((value, i) => Math.round(value + share * (other[i] - value)));
}

function readPalette() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(`--${name}`).trim();
  const stops = [0, 1, 2, 3, 4].map((i) => rgbOf(read(`ramp-${i}`)));
  palette = { ramp: [] };
  for (const name of ["ink", "soft", "faint", "line", "kept", "dropped", "panel", "page", "wash"]) {
    palette[name] = read(name);
  }
  palette.keptWash = read("kept-wash");
  palette.keptRgb = rgbOf(palette.kept);
  palette.pageRgb = rgbOf(palette.page);
  const ends = [rgbOf(read("gray-0")), rgbOf(read("gray-1"))];
  palette.gray = Array.from({ length: 256 }, (_, level) => mixed(...ends, level / 255));
  for (let i = 0; i < 256; i += 1) {
    const at = (i / 255) * 4;
    const low = Math.min(Math.floor(at), 3);
    palette.ramp.push(mixed(stops[low], stops[low + 1], at - low));
  }
  palette.font = `500 11px ${getComputedStyle(document.body).fontFamily}`;
}

// Sets the size of a canvas in CSS pixels and draws at the resolution of the screen.
function prepare(canvas, width, height) {
  const ratio = Math.max(1, window.devicePixelRatio || 1);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = palette.font;
  pen.textBaseline = "middle";
  return pen;
}

const widthFor = (canvas) => Math.max(120, Math.floor(canvas.parentElement.clientWidth));

// An image of rows x columns cells in a box. A function gives the colour of each cell.
function paintCells(pen, box, rows, columns, colourOf) {
  const small = document.createElement("canvas");
  small.width = columns;
  small.height = rows;
  const smallPen = small.getContext("2d");
  const image = smallPen.createImageData(columns, rows);
  for (let cell = 0, at = 0; cell < rows * columns; cell += 1, at += 4) {
    const [red, green, blue] = colourOf(cell);
    image.data[at] = red;
    image.data[at + 1] = green;
    image.data[at + 2] = blue;
    image.data[at + 3] = 255;
  }
  smallPen.putImageData(image, 0, 0);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(small, box.x, box.y, box.width, box.height);
}

// Lines between marked cells and other cells.
function outlineCells(pen, box, rows, columns, isMarked) {
  const w = box.width / columns;
  const h = box.height / rows;
  const marked = (i, j) =>
    i >= 0 && j >= 0 && i < rows && j < columns && isMarked(i * columns + j);
  pen.beginPath();
  for (let i = 0; i <= rows; i += 1) {
    for (let j = 0; j <= columns; j += 1) {
      const here = marked(i, j);
      if (j < columns && here !== marked(i - 1, j)) {
        pen.moveTo(box.x + j * w, box.y + i * h);
        pen.lineTo(box.x + (j + 1) * w, box.y + i * h);
      }
      if (i < rows && here !== marked(i, j - 1)) {
        pen.moveTo(box.x + j * w, box.y + i * h);
        pen.lineTo(box.x + j * w, box.y + (i + 1) * h);
      }
    }
  }
  // A rim in the page's colour makes the line visible on cells of any colour.
  const line = Math.min(2, Math.max(1.2, Math.min(w, h) / 6));
  pen.lineCap = "square";
  if (Math.min(w, h) >= 8) {
    pen.strokeStyle = palette.page;
    pen.lineWidth = line + 1.4;
    pen.stroke();
  }
  pen.strokeStyle = palette.kept;
  pen.lineWidth = line;
  pen.stroke();
}

// Greys cells and strikes them through.
function strikeCells(pen, box, rows, columns, cells) {
  const w = box.width / columns;
  const h = box.height / rows;
  for (const cell of cells) {
    const x = box.x + (cell % columns) * w;
    const y = box.y + Math.floor(cell / columns) * h;
    strikeBox(pen, x, y, w, h);
  }
}

function strikeBox(pen, x, y, width, height) {
  pen.fillStyle = palette.page;
  pen.globalAlpha = 0.8;
  pen.fillRect(x, y, width, height);
  pen.globalAlpha = 1;
  if (Math.min(width, height) < 5) return;
  pen.beginPath();
  pen.moveTo(x + 1, y + height - 1);
  pen.lineTo(x + width - 1, y + 1);
  pen.strokeStyle = palette.soft;
  pen.lineWidth = 1;
  pen.stroke();
}

// A dot in each of some cells.
function dotCells(pen, box, rows, columns, cells) {
  const w = box.width / columns;
  const h = box.height / rows;
  for (const cell of cells) {
    drawDot(pen, box.x + ((cell % columns) + 0.5) * w, box.y + (Math.floor(cell / columns) + 0.5) * h,
      Math.max(1.5, Math.min(4.5, w / 5, h / 5)));
  }
}

function drawDot(pen, x, y, radius) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 7);
  pen.fillStyle = palette.kept;
  pen.fill();
  pen.strokeStyle = palette.page;
  pen.lineWidth = 1.2;
  pen.stroke();
}

// A few round numbers from 0 to the last index.
function ticksOf(length, most) {
  const bare = Math.max(1, (length - 1) / Math.max(1, most));
  const power = 10 ** Math.floor(Math.log10(bare));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= bare - 1e-9);
  const ticks = [];
  for (let tick = 0; tick < length; tick += Math.max(1, Math.round(step))) ticks.push(tick);
  return ticks;
}

// Shortens a text to the room there is.
function shortened(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  let short = text;
  while (short.length > 1 && pen.measureText(`${short}…`).width > room) short = short.slice(0, -1);
  return `${short}…`;
}

function write(pen, text, x, y, { align = "left", colour = palette.soft, room = Infinity } = {}) {
  pen.fillStyle = colour;
  pen.textAlign = align;
  pen.fillText(room < Infinity ? shortened(pen, text, room) : text, x, y);
}

function writeAxes(pen, box, [vertical, horizontal]) {
  const { width, height } = box;
  for (const i of ticksOf(shape[horizontal], Math.min(8, width / 60))) {
    const x = box.x + ((i + 0.5) * width) / shape[horizontal];
    write(pen, labelOf(horizontal, i), x, box.y + height + 11, { align: "center", room: 56 });
  }
  for (const i of ticksOf(shape[vertical], Math.min(8, height / 36))) {
    const y = box.y + ((i + 0.5) * height) / shape[vertical];
    write(pen, labelOf(vertical, i), box.x - 7, y, { align: "right", room: box.x - 22 });
  }
  write(pen, geometry.titles[horizontal], box.x + width / 2, box.y + height + 27,
    { align: "center", room: width });
  writeUpwards(pen, geometry.titles[vertical], box);
}

// The title of a vertical axis, at the left edge of the picture.
function writeUpwards(pen, title, box) {
  pen.save();
  pen.translate(8, box.y + box.height / 2);
  pen.rotate(-Math.PI / 2);
  write(pen, title, 0, 0, { align: "center", room: box.height });
  pen.restore();
}

// The box of an image: square cells, unless the image would be too thin.
function imageBox(width) {
  const [vertical, horizontal] = geometry.axes;
  const margin = { left: 52, top: 6, bottom: 38 };
  const room = width - margin.left - 2;
  const ratio = shape[vertical] / shape[horizontal];
  const square = ratio >= 0.25 && ratio <= 4;
  const tallest = Math.min(520, Math.max(300, room));
  let w = room;
  let h = square ? room * ratio : Math.min(tallest, Math.max(160, room * Math.min(ratio, 1)));
  if (h > tallest) {
    if (square) w *= tallest / h;
    h = tallest;
  }
  const [boxWidth, boxHeight] = [Math.round(w), Math.round(h)];
  return {
    x: margin.left, y: margin.top, width: boxWidth, height: boxHeight,
    full: margin.top + boxHeight + margin.bottom,
  };
}

// One column per index, from left to right: values, and which are marked.
function paintColumns(pen, box, length, valueOf, isMarked, [low, high], plain) {
  const y = (value) => box.y + box.height * (1 - (value - low) / (high - low || 1));
  const base = y(Math.max(low, Math.min(high, 0)));
  const w = box.width / length;
  const gap = w > 4 ? Math.min(2, w / 5) : 0;
  for (const marked of [false, true]) {
    pen.fillStyle = marked && !plain ? palette.kept : palette.dropped;
    for (let i = 0; i < length; i += 1) {
      if (isMarked(i) !== marked) continue;
      const top = y(valueOf(i));
      pen.fillRect(box.x + i * w, Math.min(top, base), Math.max(w - gap, 0.75),
        Math.max(Math.abs(base - top), 0.75));
    }
  }
}
