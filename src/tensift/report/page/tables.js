// The kept features as a table, as CSV, and as Python.

const ROWS_AT_FIRST = 50;

function featureColumns() {
  return featureModes.map((mode, m) => (
    { mode, named: Boolean(geometry.labels[mode]), ...geometry.columns[m] }
  ));
}

function fillFeatures(table, state, all) {
  const view = views[state.view];
  const columns = featureColumns();
  // How sure a feature is, if that is known and is not the score itself.
  const sure = view.kind === "chosen" && views.find((other) => other.kind === "stability");
  const shown = all ? state.count : Math.min(state.count, ROWS_AT_FIRST);
  const titles = [
    { text: "Rank", number: true },
    ...columns.map(({ mode, named }) => ({ text: geometry.titles[mode], number: !named })),
    { text: "Index", number: true },
    { text: view.kind === "stability" ? "Share" : "Score", number: true },
    ...(sure ? [{ text: "Kept by resamples", number: true }] : []),
    ...content.features.map(({ title, number }) => (
      { text: title[0].toUpperCase() + title.slice(1), number }
    )),
  ];
  const rows = Array.from(view.ranking.slice(0, shown), (flat, rank) => {
    const place = placeOf(flat);
    return [
      { text: counted(rank + 1), number: true },
      ...columns.map(({ mode, named }, m) => ({ text: labelOf(mode, place[m]), number: !named, header: m === 0 })),
      { text: String(flat), number: true },
      { text: digits(view.scores[flat]), number: true },
      ...(sure ? [{ text: percent(sure.scores[flat]), number: true }] : []),
      ...content.features.map(({ number, cells }) => (
        { text: number ? format(Number(cells[flat])) : cells[flat], number }
      )),
    ];
  });
  fillTable(table, titles, rows, `The first ${shown} of ${state.count} kept features`);
  return state.count - shown;
}

// What a spreadsheet would run gets an apostrophe in front, as in the files of the command line.
const FORMULA = /^(?!\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$)[\s"']*[=+\-@＝＋－＠]/;

function plainText(text) {
  const safe = text.split(/([;\t\r\n])/).map((part) => (FORMULA.test(part) ? `'${part}` : part)).join("");
  return /^[\t\r\n]/.test(safe) ? `'${safe}` : safe;
}

function quoted(text) {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// The columns of ranking.csv, which the command line writes.
function csvOf(state, onlyKept) {
  const view = views[state.view];
  const columns = featureColumns();
  const named = columns.map((column, m) => ({ ...column, m })).filter((column) => column.named);
  const head = ["rank", "index", ...columns.map((c) => c.title), ...named.map((c) => c.label),
    quantityOf(view).replaceAll(" ", "_"), "selected", ...content.features.map((c) => c.title)];
  const lines = [head.map(plainText).map(quoted).join(",")];
  const rows = onlyKept ? state.count : total;
  for (let rank = 0; rank < rows; rank += 1) {
    const flat = view.ranking[rank];
    const place = placeOf(flat);
    const names = named.map(({ cells, m }) => plainText(cells[place[m]]));
    const score = Number(view.scores[flat].toPrecision(7));
    const more = content.features.map((column) => plainText(column.cells[flat]));
    const cells = [rank + 1, flat, ...place, ...names, score, rank < state.count ? 1 : 0, ...more];
    lines.push(cells.map((cell) => quoted(String(cell))).join(","));
  }
  return `${lines.join("\n")}\n`;
}

const codeOf = (state) => views[state.view].code.join(String(state.count));

function save(text, name) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

// Some browsers have no clipboard for pages opened from files: copy a selection instead.
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = element("textarea", { value: text, className: "sr-only", readOnly: true });
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
