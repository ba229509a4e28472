// Several selections side by side, and how the solver ended on every slice.

function overlapOf(view, other, count) {
  let shared = 0;
  for (let rank = 0; rank < count; rank += 1) {
    if (other.rankOf[view.ranking[rank]] < count) shared += 1;
  }
  return shared;
}

// Makes a button for each selection; returns a function that redraws them.
function makeMultiples(grid, indices, choose) {
  const parts = indices.map((index) => {
    const canvas = element("canvas", { "aria-hidden": "true" });
    const note = element("span");
    const button = element("button", { type: "button", className: "multiple" }, [
      element("div", {}, [canvas]),
      element("strong", { textContent: views[index].name }),
      note,
    ]);
    button.addEventListener("click", () => choose(index));
    grid.append(button);
    return { index, canvas, note, button };
  });
  return (state) => parts.forEach(({ index, canvas, note, button }) => {
    drawSmall(canvas, views[index], state);
    button.setAttribute("aria-pressed", String(index === state.view));
    const shared = overlapOf(views[index], views[0], state.count);
    note.textContent = index === 0
      ? views[0].kind === "chosen" ? "the selection" : "the first"
      : `${percent(shared / state.count)} the same (${counted(shared)})`;
  });
}

function fillComparison(found) {
  byId("methods-sentences").replaceChildren(
    ...found.sentences.map((text) => element("li", { textContent: text })));
  const titles = Object.keys(found.table[0]).map((text, i) => ({ text, number: i > 0 && text !== "note" }));
  const rows = found.table.map((row) => Object.values(row).map((text, i) =>
    ({ text, header: i === 0, number: titles[i].number })));
  fillTable(byId("methods-table"), titles, rows, `Methods at ${found.count} features`);
  const matrix = found.agreement.map((row, i) => [
    { text: found.methods[i], header: true },
    ...row.map((value) => ({ text: value === null ? "–" : value.toFixed(2) })),
  ]);
  fillTable(byId("agreement"), [{ text: "" }, ...found.methods.map((text) => ({ text }))], matrix,
    "Agreement between selections");
}

// Certificates

function certificateSentence(held) {
  const slices = held.total === 1 ? "The problem" : `The ${counted(held.total)} slices`;
  const steps = held.steps.length === 1
    ? `${held.steps[0]} steps`
    : `${Math.min(...held.steps)} to ${Math.max(...held.steps)} steps`;
  if (held.gap) {
    const open = held.total - held.n_converged;
    return `${slices} took ${steps}. Every objective is proven to be within ${held.worst_gap.toExponential(1)} (relative) of the `
      + "optimum of its slice. "
      + (open ? `${counted(open)} slices stopped before they reached the tolerance.` : "All reached the tolerance.");
  }
  const reached = held.n_converged === null ? ""
    : held.n_converged === held.total ? " All met the stopping rule."
      : ` ${counted(held.n_converged)} of ${counted(held.total)} met the stopping rule; the others reached the maximum number of steps.`;
  const why = held.solver === "paper"
    ? " The paper’s solver does not prove how close this is to the optimum; solver=\"exact\" does, for every slice."
    : " This method does not prove how close this is to the optimum.";
  return `${slices} took ${steps}.${reached}${why}`;
}

function sliceName(held, place) {
  const slice = held.slices[place];
  const strides = stridesOf(held.shape);
  const at = held.shape.map((size, m) => Math.floor(slice / strides[m]) % size);
  return held.shape.length > 1 ? `${slice} (${at.join(", ")})` : String(slice);
}

function fillCertificates(held) {
  // A single problem needs no chart.
  byId("certificates-chart").hidden = held.total === 1;
  byId("certificates-text").textContent = certificateSentence(held);
  const titles = [{ text: "Slice" }, { text: "Objective", number: true }, { text: "Steps", number: true }];
  if (held.converged) titles.push({ text: "Stopping rule" });
  if (held.gap) titles.push({ text: "Duality gap", number: true });
  const rows = held.slices.map((_, i) => {
    const row = [
      { text: sliceName(held, i), header: true },
      { text: digits(held.objective[i]), number: true },
      { text: String(held.steps[i]), number: true },
    ];
    if (held.converged) row.push({ text: held.converged[i] ? "met" : "not met" });
    if (held.gap) row.push({ text: held.gap[i].toExponential(1), number: true });
    return row;
  });
  const some = held.slices.length < held.total ? `the ${held.slices.length} worst of ` : "";
  fillTable(byId("certificates-table"), titles, rows, `Certificates of ${some}${held.total} slices`);
}

// Gaps if there are any, else steps; slices from left to right.
function drawCertificates(canvas, held) {
  const width = widthFor(canvas);
  const pen = prepare(canvas, width, 148);
  const box = { x: 56, y: 8, width: width - 60, height: 100 };
  const base = box.y + box.height;
  const n = held.slices.length;
  const floor = 1e-16;
  const values = held.gap ? held.gap.map((gap) => Math.log10(Math.max(gap, floor))) : held.steps;
  const low = held.gap ? Math.floor(Math.min(...values)) : 0;
  const high = held.gap ? Math.max(low + 1, Math.ceil(Math.max(...values) + 1e-9)) : Math.max(...values);
  const y = (value) => base - (box.height * (value - low)) / (high - low || 1);
  const w = box.width / n;
  values.forEach((value, i) => {
    const missed = held.converged && !held.converged[i];
    pen.fillStyle = missed ? palette.ink : `rgb(${palette.ramp[170].join(",")})`;
    if (held.gap) {
      pen.beginPath();
      pen.arc(box.x + (i + 0.5) * w, y(value), Math.max(1.5, Math.min(4, w / 3)), 0, 7);
      pen.fill();
    } else {
      pen.fillRect(box.x + i * w, y(value), Math.max(0.75, w - (w > 4 ? 2 : 0)), base - y(value));
    }
  });
  pen.fillStyle = palette.faint;
  pen.fillRect(box.x, base, box.width, 1);
  for (const value of [low, high]) {
    const text = held.gap ? `1e${value}` : String(value);
    write(pen, text, box.x - 8, Math.min(base - 3, Math.max(box.y + 4, y(value))), { align: "right" });
  }
  const what = held.gap ? "duality gap of every slice" : "steps of every slice";
  write(pen, what, box.x, base + 22, { room: box.width });
  if (held.converged && held.n_converged < held.total) {
    const label = "stopping rule not met";
    write(pen, label, box.x + box.width, base + 22, { align: "right" });
    pen.fillStyle = palette.ink;
    pen.fillRect(box.x + box.width - pen.measureText(label).width - 16, base + 17, 9, 9);
  }
  canvas.setAttribute("aria-label", `${what}. ${certificateSentence(held)}`);
}
