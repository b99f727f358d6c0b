// The page: what is chosen, the curves, the table.
const DATA = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const dark = matchMedia("(prefers-color-scheme: dark)");
const PUBLISHED = "noise as published";
const DASH = { [DATA.kinds[0]]: "solid", [DATA.kinds[1]]: "longdash", [DATA.kinds[2]]: "dot" };
// Too dark on a dark ground.
const LIGHTER = { "#0072B2": "#4DA6E0", "#882255": "#D069A0" };
const NOT_AUDITED = "No audit is shown: it attacks learners, not these data. In a checkout of privcurve “snakemake --cores all audit” "
  + "attacks each of them (docs/audit.md), and results/tables/audit.md has what was found beside what is claimed.";
const BASELINES = ["dash", "dashdot", "longdashdot", "dot"];

const curves = DATA.studies.flatMap((study) =>
  study.curves.map((curve) => ({
    ...curve, study, points: curve.points.map((values) => point(DATA.point, values)) })));
curves.forEach((curve, i) => {
  curve.id = i;
  curve.private = curve.points.some((one) => one.epsilon !== "inf");
  curve.kind = curve.private ? curve.points.find((one) => one.epsilon !== "inf").kind : DATA.not_private;
});

const chosen = {
  kinds: new Set([...DATA.kinds]),
  off: new Set(),
  epsilon: "1",
  sort: null,
};

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function options(select, pairs) {
  const kept = select.value;
  select.replaceChildren(...pairs.map(([value, text]) => element("option", { value }, text)));
  if (pairs.some(([value]) => value === kept)) select.value = kept;
}

const studies = () => DATA.studies.filter((one) => at("study").value === "*" || one.name === at("study").value);

/** The curves of the study and the data, with their names. */
function onData() {
  const mine = studies();
  const found = curves.filter((one) => mine.includes(one.study) && one.dataset === at("dataset").value);
  const several = new Set(found.map((one) => one.study)).size > 1;
  for (const one of found) one.name = nameOf(one, several);
  return found;
}

/** Of these, the curves of the kinds that are chosen. */
function ofKinds() {
  return onData().filter((one) => chosen.kinds.has(one.kind)
    && (one.calibration !== "published" || chosen.kinds.has(PUBLISHED)));
}

const shown = () => ofKinds().filter((one) => !chosen.off.has(one.id));

function epsilons() {
  const all = onData().flatMap((one) => one.points.map((p) => p.epsilon));
  return [...new Set(all)].filter((e) => e !== "inf").sort((a, b) => number(a) - number(b));
}

function swatch(curve) {
  const colour = curve.private ? colourOf(curve, colours()) : levelOf(curve, colours());
  const dashes = { solid: "", longdash: "9 3", dot: "2 3", dash: "6 3" }[DASH[curve.kind] ?? "dash"];
  const image = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  image.setAttribute("class", "swatch");
  image.setAttribute("viewBox", "0 0 30 14");
  image.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(image.namespaceURI, "line");
  for (const [name, value] of Object.entries({
    x1: 0, x2: 30, y1: 7, y2: 7, stroke: colour, "stroke-width": 3, "stroke-dasharray": dashes })) {
    line.setAttribute(name, value);
  }
  image.append(line);
  if (curve.private) {
    const dot = document.createElementNS(image.namespaceURI, "circle");
    const inside = curve.calibration === "published" ? "var(--ground)" : colour;
    for (const [name, value] of Object.entries({ cx: 15, cy: 7, r: 4.5, fill: inside, stroke: colour, "stroke-width": 2 })) {
      dot.setAttribute(name, value);
    }
    image.append(dot);
  }
  return image;
}

function checkbox(text, checked, change, picture) {
  const box = element("input", { type: "checkbox" });
  box.checked = checked;
  box.addEventListener("change", () => change(box.checked));
  return element("label", picture ? {} : { class: "plain" }, box, ...(picture ? [picture] : []), element("span", {}, text));
}

function listKinds() {
  const there = onData();
  const has = (kind) => there.some((one) => one.kind === kind);
  const kinds = DATA.kinds.filter(has);
  if (there.some((one) => one.calibration === "published")) kinds.push(PUBLISHED);
  const boxes = kinds.map((kind) =>
    checkbox(kind, chosen.kinds.has(kind), (on) => {
      chosen.kinds[on ? "add" : "delete"](kind);
      listLearners();
      draw();
    }));
  at("kinds").replaceChildren(at("kinds").querySelector("legend"), ...boxes);
}

function listLearners() {
  for (const label of at("learners").querySelectorAll("label")) label.remove();
  at("learners").append(...ofKinds().map((curve) =>
    checkbox(curve.name, !chosen.off.has(curve.id), (on) => {
      chosen.off[on ? "delete" : "add"](curve.id);
      draw();
    }, swatch(curve))));
}

function setSlider() {
  const there = epsilons();
  const slider = at("epsilon");
  slider.max = Math.max(0, there.length - 1);
  let place = there.indexOf(chosen.epsilon);
  if (place < 0) {
    const far = there.map((e) => Math.abs(Math.log(number(e) / number(chosen.epsilon))));
    place = Math.max(0, far.indexOf(Math.min(...far)));
  }
  slider.value = place;
  slider.disabled = there.length < 2;
  at("least").textContent = there[0] ?? "";
  at("most").textContent = there[there.length - 1] ?? "";
}

function readSlider() {
  const text = epsilons()[Number(at("epsilon").value)] ?? "";
  if (text) chosen.epsilon = text;
  at("epsilon-now").textContent = text || MISSING;
  at("epsilon").setAttribute("aria-valuetext", `ε = ${text}`);
  return text;
}

function colours() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(["ground", "text", "faint", "line", "grid"].map((name) =>
    [name, style.getPropertyValue(`--${name}`).trim()]));
}

const colourOf = (curve, palette) =>
  (palette.ground === LIGHT.ground ? curve.colour : LIGHTER[curve.colour] ?? curve.colour);

/** Give the colour of a horizontal line: that of raw columns is apart from those of codes. */
const levelOf = (curve, palette) => (curve.learner === RAW ? palette.text : palette.faint);

const LIGHT = { ground: "#ffffff", text: "#1b1b1b", faint: "#595959", line: "#c9c9c9", grid: "#e8e8e8" };

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

function wrapped(text, width = 46) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.length - 1;
    if (lines[last] && (lines[last] + word).length >= width) lines.push(word);
    else lines[last] += (lines[last] && " ") + word;
  }
  return lines.map(escaped).join("<br>");
}

function hover(curve, one, measure) {
  const lines = [`<b>${wrapped(curve.name)}</b>`];
  lines.push(one.epsilon === "inf" ? "without privacy" : escaped(`ε = ${one.epsilon}, δ = ${curve.delta}`));
  lines.push(escaped(`${measure.replace("_", " ")} ${score(one, measure)}`));
  lines.push(escaped(one.kind + (curve.calibration ? `; ${curve.calibration}` : "")));
  if (one.setting) lines.push(wrapped(one.setting));
  if (one.ledger) lines.push(wrapped(`Ledger: ${one.ledger}`));
  if (curve.audit) lines.push(wrapped(`Audit, found of claimed ε: ${audited(curve)}`));
  return lines.join("<br>");
}

function traces(measure, palette) {
  const there = epsilons().map(number);
  const ends = there.length ? [there[0], there[there.length - 1]] : [0.1, 10];
  const made = [];
  let baseline = 0;
  for (const curve of shown()) {
    const colour = colourOf(curve, palette);
    const finite = curve.points.filter((one) => one.epsilon !== "inf")
      .sort((a, b) => number(a.epsilon) - number(b.epsilon));
    if (finite.length) {
      const band = measure === "accuracy" ? finite.filter((one) => one.accuracy && one.accuracy_std) : [];
      if (band.length > 1) {
        const edge = (sign) => band.map((one) => number(one.accuracy) + sign * number(one.accuracy_std));
        const x = band.map((one) => number(one.epsilon));
        made.push({
          x: [...x, ...x.slice().reverse()], y: [...edge(1), ...edge(-1).reverse()],
          type: "scatter", mode: "lines", fill: "toself", fillcolor: `${colour}26`,
          line: { width: 0 }, hoverinfo: "skip", showlegend: false });
      }
      made.push({
        x: finite.map((one) => number(one.epsilon)),
        y: finite.map((one) => (one[measure] === "" ? null : number(one[measure]))),
        text: finite.map((one) => hover(curve, one, measure)), hovertemplate: "%{text}<extra></extra>",
        type: "scatter", mode: "lines+markers", name: wrapped(curve.name, 60), meta: curve.id,
        line: { color: colour, width: 2, dash: DASH[curve.kind] ?? "solid" },
        marker: {
          color: colour, size: 8,
          symbol: curve.symbol + (curve.calibration === "published" ? "-open" : "") } });
    }
    for (const one of curve.points.filter((p) => p.epsilon === "inf" && p[measure] !== "")) {
      const steps = 12;
      const x = Array.from({ length: steps + 1 }, (_, i) => ends[0] * (ends[1] / ends[0]) ** (i / steps));
      made.push({
        x, y: x.map(() => number(one[measure])), text: x.map(() => hover(curve, one, measure)),
        hovertemplate: "%{text}<extra></extra>", type: "scatter", mode: "lines", meta: curve.id,
        name: wrapped(curve.private ? `${curve.name}, ε = inf` : curve.name, 60),
        line: {
          color: curve.private ? colour : levelOf(curve, palette), width: 1.5,
          dash: curve.learner === RAW ? "14px 4px" : BASELINES[baseline++ % BASELINES.length] } });
    }
  }
  return made;
}

function layout(measure, palette) {
  const there = epsilons();
  const all = there.map(number);
  // Labels of neighbours in a logarithmic axis would stand on each other.
  const room = at("plot").clientWidth / 34;
  const wide = all.length > 1 ? Math.log(all[all.length - 1] / all[0]) : 1;
  const ticks = [];
  for (const value of all) {
    const last = ticks[ticks.length - 1];
    if (last === undefined || Math.log(value / last) / wide > 1 / room) ticks.push(value);
  }
  const title = at("measure").selectedOptions[0].textContent;
  return {
    margin: { l: 56, r: 14, t: 10, b: 46 }, showlegend: false, hovermode: "closest",
    paper_bgcolor: palette.ground, plot_bgcolor: palette.ground,
    font: { color: palette.text, family: "system-ui, DejaVu Sans, sans-serif", size: 13 },
    hoverlabel: { align: "left", bgcolor: palette.ground, bordercolor: palette.line, font: { color: palette.text, size: 12 } },
    xaxis: {
      type: "log", title: { text: "ε" }, gridcolor: palette.grid, linecolor: palette.line, zeroline: false,
      tickmode: "array", tickvals: ticks, ticktext: ticks.map((value) => there[all.indexOf(value)]) },
    yaxis: { title: { text: title }, gridcolor: palette.grid, linecolor: palette.line, zeroline: false, automargin: true },
    shapes: there.length ? [{
      type: "line", yref: "paper", y0: 0, y1: 1, x0: number(chosen.epsilon), x1: number(chosen.epsilon),
      line: { color: palette.faint, width: 1, dash: "dot" } }] : [],
  };
}

const CONFIG = {
  responsive: true, displaylogo: false,
  modeBarButtons: [["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
};

function heading() {
  const data = at("dataset").selectedOptions[0]?.textContent ?? "";
  return `${at("measure").selectedOptions[0].textContent} against ε on ${data}`;
}

const COLUMNS = [
  { key: "rank", title: "Rank", number: true },
  { key: "name", title: "Learner", cell: "name" },
  { key: "epsilon", title: "ε", number: true },
  { key: "accuracy", title: "Accuracy", number: true, text: (row) => score(row, "accuracy") },
  { key: "balanced_accuracy", title: "Balanced", number: true },
  { key: "auc", title: "AUC", number: true },
  { key: "log_loss", title: "Log loss", number: true },
  { key: "kind", title: "Kind", cell: "kind" },
  { key: "calibration", title: "Noise", text: (row) => row.curve.calibration || MISSING, value: (row) => row.curve.calibration },
  { key: "delta", title: "δ", number: true, text: (row) => (row.reference ? MISSING : row.curve.delta), value: (row) => row.curve.delta },
  { key: "found", title: "Audit: found of claimed ε", text: (row) => audited(row.curve),
    value: (row) => (row.curve.audit ? row.curve.audit.found_epsilon : ""), number: true },
  { key: "setting", title: "Setting", cell: "long" },
  { key: "ledger", title: "Ledger", cell: "long" },
];

const columns = COLUMNS.filter(({ key }) =>
  (key !== "ledger" || curves.some((one) => one.points.some((p) => p.ledger)))
  && (key !== "found" || DATA.audited));

function head() {
  at("table").tHead.rows[0].replaceChildren(...columns.map((column) => {
    const button = element("button", { type: "button" }, column.title);
    button.addEventListener("click", () => {
      const again = chosen.sort?.key === column.key;
      // Scores start with the best, names with A.
      const first = ["rank", "epsilon", "delta", "log_loss"].includes(column.key) || !column.number ? 1 : -1;
      chosen.sort = { key: column.key, sign: again ? -chosen.sort.sign : first };
      fill();
    });
    return element("th", { scope: "col", "aria-sort": "none", "data-key": column.key }, button);
  }));
}

function sorted(rows) {
  if (!chosen.sort) return rows;
  const column = columns.find((one) => one.key === chosen.sort.key);
  const value = column.value ?? ((row) => row[column.key]);
  return rows.slice().sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === "" || y === "") return (x === "") - (y === "");
    const order = column.number ? number(x) - number(y) : x.localeCompare(y);
    return chosen.sort.sign * (Number.isNaN(order) ? 0 : order);
  });
}

function tableRows(ranked) {
  if (!at("every").checked) return ranked;
  const rows = rowsOf(shown()).map((row) => ({ ...row, name: row.curve.name }));
  const measure = at("measure").value;
  const finite = epsilons().flatMap((e) => ranking(rows, e, measure).filter((row) => !row.reference));
  return [...finite, ...ranked.filter((row) => row.reference)];
}

let ranked = [];

function fill() {
  at("table-epsilon").textContent = at("every").checked ? "every trained value" : chosen.epsilon;
  for (const cell of at("table").tHead.rows[0].cells) {
    const mine = chosen.sort?.key === cell.dataset.key;
    const first = !chosen.sort && cell.dataset.key === "rank";
    cell.setAttribute("aria-sort", mine ? (chosen.sort.sign > 0 ? "ascending" : "descending") : first ? "ascending" : "none");
  }
  at("table").tBodies[0].replaceChildren(...sorted(tableRows(ranked)).map((row) => {
    const cells = columns.map((column) => {
      const text = column.text ? column.text(row) : row[column.key];
      const kind = column.cell ?? (column.number && column.key !== "found" ? "number" : "");
      const cell = element(column.key === "name" ? "th" : "td", {}, text || (column.key === "rank" ? "" : MISSING));
      if (column.key === "name") cell.scope = "row";
      if (kind) cell.className = kind;
      if (column.key === "accuracy" && row.error) cell.title = row.error;
      return cell;
    });
    return element("tr", row.reference ? { class: "reference" } : {}, ...cells);
  }));
}

function draw() {
  const epsilon = readSlider();
  const measure = at("measure").value;
  const rows = rowsOf(shown()).map((row) => ({
    ...row, name: row.reference && row.curve.private ? `${row.curve.name}, ε = inf` : row.curve.name }));
  ranked = ranking(rows, epsilon, measure);
  at("answer").textContent = answer(ranked, epsilon, measure, DATA.kinds)
    + priced(studies(), at("dataset").value, epsilon, measure);
  at("plot-name").textContent = `Curves of ${heading()}.`;
  const palette = colours();
  Plotly.react(at("plot"), traces(measure, palette), layout(measure, palette), CONFIG);
  fill();
}

function refresh() {
  const names = new Map(studies().flatMap((one) => one.datasets));
  options(at("dataset"), [...names]);
  listKinds();
  listLearners();
  setSlider();
  draw();
}

async function save(format) {
  const measure = at("measure").value;
  const whole = { ...layout(measure, LIGHT), showlegend: true, legend: { orientation: "v" },
    title: { text: escaped(heading()) }, margin: { l: 64, r: 14, t: 50, b: 56 } };
  const url = await Plotly.toImage(
    { data: traces(measure, LIGHT), layout: whole }, { format, width: 1100, height: 620, scale: format === "png" ? 2 : 1 });
  const link = element("a", { href: url, download: `${at("study").value.replace("*", "all")}-${at("dataset").value}.${format}` });
  document.body.append(link);
  link.click();
  link.remove();
}

// What is no proof is not shown at first.
if (!curves.every((one) => one.calibration === "published" || !one.private)) chosen.kinds.delete(PUBLISHED);
else chosen.kinds.add(PUBLISHED);
const all = DATA.studies.length > 1 ? [["*", "all studies"]] : [];
options(at("study"), [...DATA.studies.map((one) => [one.name, one.title]), ...all]);
if (matchMedia("(max-width: 60rem)").matches) at("choose").open = false;
const notes = DATA.audited ? DATA.notes : [...DATA.notes, NOT_AUDITED];
at("notes").replaceChildren(...notes.map((text) => element("li", {}, text)));
if (DATA.studies.length === 1 && DATA.studies[0].metric) at("measure").value = DATA.studies[0].metric;
head();
for (const id of ["study", "dataset"]) at(id).addEventListener("change", refresh);
at("measure").addEventListener("change", draw);
at("epsilon").addEventListener("input", draw);
at("every").addEventListener("change", fill);
at("all").addEventListener("click", () => { chosen.off.clear(); listLearners(); draw(); });
at("none").addEventListener("click", () => { for (const one of ofKinds()) chosen.off.add(one.id); listLearners(); draw(); });
at("save-png").addEventListener("click", () => save("png"));
at("save-svg").addEventListener("click", () => save("svg"));
at("controls").addEventListener("submit", (event) => event.preventDefault());
dark.addEventListener("change", () => { listLearners(); draw(); });
refresh();
