// The page: what is chosen, the curves, the table.
const DATA = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const dark = matchMedia("(prefers-color-scheme: dark)");
const PUBLISHED = "noise as published";
const NOT_AUDITED = "No audit is shown: it attacks learners, not these data. In a checkout of privcurve “snakemake --cores all audit” "
  + "attacks each of them (docs/audit.md), and results/tables/audit.md has what was found beside what is claimed.";
// How near a pointer has to be to a point, in pixels.
const NEAR = 22;

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
  for (const one of found) one.name = several ? `${one.title} (${one.study.title})` : one.title;
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

/** Give a curve the look that it has on this ground. */
function looked(curve, palette) {
  const level = curve.learner === RAW ? palette.text : palette.faint;
  const own = palette.ground === LIGHT.ground ? curve.colour : curve.dark;
  return { ...curve, colour: own || level, ground: palette.ground };
}

function swatch(curve) {
  const image = drawing("svg", { class: "swatch", viewBox: "0 0 64 14", "aria-hidden": "true" });
  image.append(key(looked(curve, colours())));
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

const LIGHT = { ground: "#ffffff", text: "#1b1b1b", faint: "#595959", line: "#c9c9c9", grid: "#e8e8e8" };

/** Give the lines that are told of a point. */
function told(curve, one, measure) {
  return [
    curve.name,
    one.epsilon === "inf" ? "without privacy" : `ε = ${one.epsilon}, δ = ${curve.delta}`,
    `${measure.replace("_", " ")} ${score(one, measure)}`,
    one.kind + (curve.calibration ? `; ${curve.calibration}` : ""),
    ...(one.setting ? [one.setting] : []),
    ...(one.ledger ? [`Ledger: ${one.ledger}`] : []),
    ...(curve.audit ? [`Audit, found of claimed ε: ${audited(curve)}`] : []),
  ];
}

/** Give what is drawn: curves, levels, and the ends of the axis. */
function drawn(measure, palette) {
  const all = shown().map((curve) => ({ ...looked(curve, palette), all: curve.points }));
  const curves = all.filter((curve) => curve.private).map((curve) => ({
    ...curve,
    points: curve.all.filter((one) => one.epsilon !== "inf")
      .sort((a, b) => number(a.epsilon) - number(b.epsilon))
      .map((one) => {
        const [mean, spread] = [number(one[measure]), measure === "accuracy" ? number(one.accuracy_std) : NaN];
        return {
          epsilon: number(one.epsilon), score: mean, low: mean - spread, high: mean + spread,
          lines: told(curve, one, measure) };
      }) }));
  const levels = all.flatMap((curve) =>
    curve.all.filter((one) => one.epsilon === "inf" && one[measure] !== "").map((one) => ({
      ...curve, symbol: "", score: number(one[measure]),
      name: curve.private ? `${curve.name}, ε = inf` : curve.name })));
  const scores = [...curves.flatMap((curve) => curve.points), ...levels].map((one) => one.score).filter(Number.isFinite);
  const majority = levels.find((one) => one.learner === "majority_class");
  const sign = LESS_IS_BETTER.has(measure) ? -1 : 1;
  const ends = endsOf(scores.length ? scores : [0, 1], majority ? majority.score : NaN, sign, at("whole").checked);
  const beyond = curves.flatMap((curve) => curve.points).filter((one) => one.score < ends[0] || one.score > ends[1]);
  return { curves, levels, ends, beyond: beyond.length };
}

/** Draw the picture into the page, as wide as there is room. */
function redraw(measure) {
  const plot = at("plot");
  // Before the page has a width there is nothing to draw on: it is resized then.
  if (!plot.clientWidth) return;
  const palette = colours();
  const { beyond, ...there } = drawn(measure, palette);
  at("beyond").textContent = beyond ? ` ${beyond} point${beyond > 1 ? "s" : ""} far worse than the majority class: not in the picture.` : "";
  const { whole, marks } = picture({
    ...there, palette, epsilons: epsilons(), epsilon: chosen.epsilon, title: at("measure").selectedOptions[0].textContent,
    width: plot.clientWidth, height: plot.clientHeight });
  plot.marks = marks;
  plot.replaceChildren(whole);
  at("told").hidden = true;
}

/** Tell of the point that is nearest to the pointer. */
function tellNearest(event) {
  const box = at("plot").getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  const far = (one) => Math.hypot(one.x - x, one.y - y);
  const nearest = at("plot").marks.reduce((a, b) => (a && far(a) <= far(b) ? a : b), null);
  const note = at("told");
  note.hidden = !nearest || far(nearest) > NEAR;
  if (note.hidden) return;
  note.replaceChildren(...nearest.lines.map((line, i) => element("div", i ? {} : { class: "first" }, line)));
  const right = nearest.x > box.width / 2;
  note.style.left = right ? "auto" : `${nearest.x + 14}px`;
  note.style.right = right ? `${box.width - nearest.x + 14}px` : "auto";
  note.style.top = `${nearest.y}px`;
}

function heading() {
  const data = at("dataset").selectedOptions[0]?.textContent ?? "";
  return `${at("measure").selectedOptions[0].textContent} against ε on ${data}`;
}

const COLUMNS = [
  { key: "rank", title: "Rank", number: true },
  { key: "name", title: "Learner", cell: "name" },
  { key: "epsilon", title: "ε", number: true },
  { key: "accuracy", title: "Accuracy", number: true, text: (row) => score(row, "accuracy") },
  { key: "balanced_accuracy", title: "Balanced", number: true, text: (row) => three(row.balanced_accuracy) },
  { key: "auc", title: "AUC", number: true, text: (row) => three(row.auc) },
  { key: "log_loss", title: "Log loss", number: true, text: (row) => three(row.log_loss) },
  { key: "kind", title: "Kind" },
  { key: "found", title: "Audit: found of claimed ε", text: (row) => audited(row.curve),
    value: (row) => (row.curve.audit ? row.curve.audit.found_epsilon : ""), number: true },
  { key: "setting", title: "Setting, ledger", cell: "long",
    text: (row) => [row.setting, row.ledger].filter((text) => text).join("; ") },
];

const columns = COLUMNS.filter(({ key }) => key !== "found" || DATA.audited);

function head() {
  at("table").tHead.rows[0].replaceChildren(...columns.map((column) => {
    const button = element("button", { type: "button" }, column.title);
    button.addEventListener("click", () => {
      const again = chosen.sort?.key === column.key;
      // Scores start with the best, names with A.
      const first = ["rank", "epsilon", "log_loss"].includes(column.key) || !column.number ? 1 : -1;
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
      cell.dataset.title = column.title;
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
  redraw(measure);
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
  const [width, height] = [1100, 560];
  const { whole } = picture({
    ...drawn(measure, LIGHT), palette: LIGHT, epsilons: epsilons(), heading: heading(), legend: true,
    title: at("measure").selectedOptions[0].textContent, width, height });
  let url = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(whole))}`;
  if (format === "png") {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = element("canvas", { width: 2 * width, height: 2 * height });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    url = canvas.toDataURL("image/png");
  }
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
const notes = DATA.audited ? DATA.notes : [...DATA.notes, NOT_AUDITED];
at("notes").replaceChildren(...notes.map((text) => element("li", {}, text)));
if (DATA.studies.length === 1 && DATA.studies[0].metric) at("measure").value = DATA.studies[0].metric;
head();
for (const id of ["study", "dataset"]) at(id).addEventListener("change", refresh);
at("measure").addEventListener("change", draw);
at("epsilon").addEventListener("input", draw);
at("every").addEventListener("change", fill);
at("whole").addEventListener("change", draw);
for (const kind of ["pointermove", "pointerdown"]) at("plot").addEventListener(kind, tellNearest);
at("plot").addEventListener("pointerleave", () => { at("told").hidden = true; });
addEventListener("resize", () => redraw(at("measure").value));
at("all").addEventListener("click", () => { chosen.off.clear(); listLearners(); draw(); });
at("none").addEventListener("click", () => { for (const one of ofKinds()) chosen.off.add(one.id); listLearners(); draw(); });
at("save-png").addEventListener("click", () => save("png"));
at("save-svg").addEventListener("click", () => save("svg"));
at("controls").addEventListener("submit", (event) => event.preventDefault());
dark.addEventListener("change", () => { listLearners(); draw(); });
refresh();
