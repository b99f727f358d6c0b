// Pictures of curves, as SVG. They carry their own looks, so that they can be saved as they are.

/** Make an element of SVG. */
function drawing(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Return about `n` round numbers between two ends, as texts of one length. */
function roundNumbers(low, high, n) {
  const rough = (high - low) / n;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((one) => one >= rough * 0.999);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const first = Math.ceil(low / step - 1e-9);
  const many = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: many }, (_, k) => ((first + k) * step).toFixed(digits));
}

/** Choose of some ε, as texts in order, those whose labels do not stand on each other. */
function apart(epsilons, room) {
  const wide = Math.log(number(epsilons[epsilons.length - 1]) / number(epsilons[0]));
  const chosen = [];
  for (const text of epsilons) {
    const last = chosen[chosen.length - 1];
    if (last === undefined || Math.log(number(text) / number(last)) / wide > room) chosen.push(text);
  }
  return chosen;
}

const dashes = (curve, width) => curve.dash.map((length) => length * width).join(" ");

/** Draw a curve's line and its mark, as they are in the picture. */
function key(curve) {
  const width = curve.thin ? 1.5 : 2.5;
  const parts = [drawing("path", {
    d: "M0 7H64", stroke: curve.colour, "stroke-width": width, "stroke-dasharray": dashes(curve, width) })];
  if (curve.symbol) parts.push(mark(curve, 32, 7));
  return drawing("g", {}, ...parts);
}

function mark(curve, x, y) {
  const size = curve.thin ? 0.75 : 1;
  return drawing("path", {
    d: curve.symbol, transform: `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${size})`,
    fill: curve.filled ? curve.colour : curve.ground, stroke: curve.filled ? curve.ground : curve.colour,
    "stroke-width": curve.filled ? 1 : 1.6 });
}

/**
 * Draw curves against ε on a logarithmic axis.
 *
 * A curve has a colour, a symbol, dashes, and points with epsilon, score and the ends of a band; a
 * level has a score for every ε. Give the picture, and where its points are.
 */
function picture({ curves, levels, epsilons, epsilon, ends, title, heading, palette, width, height, legend }) {
  const rows = legend ? [...curves, ...levels] : [];
  // Beside the picture there is room for the longest name.
  const room = legend ? 90 + 6.8 * Math.max(0, ...rows.map((one) => one.name.length)) : 0;
  const box = { left: 58, right: width - 14 - room, top: heading ? 46 : 12, bottom: height - 46 };
  const numbers = epsilons.map(number);
  const [first, last] = [numbers[0], numbers[numbers.length - 1]];
  const pad = numbers.length > 1 ? 0.03 * Math.log(last / first) : 1;
  const from = Math.log(first) - pad;
  const x = (e) => box.left + ((Math.log(e) - from) / (Math.log(last) + pad - from)) * (box.right - box.left);
  const y = (score) => box.bottom - ((score - ends[0]) / (ends[1] - ends[0])) * (box.bottom - box.top);
  const words = (text, at, attributes = {}) =>
    drawing("text", { ...at, fill: palette.text, "font-size": 13, ...attributes }, text);
  const rule = (d, attributes) => drawing("path", { d, fill: "none", stroke: palette.grid, ...attributes });
  const parts = [drawing("rect", { width, height, fill: palette.ground })];

  for (const text of roundNumbers(...ends, height > 300 ? 7 : 5)) {
    const level = y(number(text));
    parts.push(rule(`M${box.left} ${level.toFixed(1)}H${box.right}`),
      words(text, { x: box.left - 8, y: level + 4 }, { "text-anchor": "end" }));
  }
  for (const text of apart(epsilons, 34 / (box.right - box.left))) {
    const place = x(number(text)).toFixed(1);
    parts.push(rule(`M${place} ${box.top}V${box.bottom}`),
      words(text, { x: place, y: box.bottom + 18 }, { "text-anchor": "middle" }));
  }
  parts.push(
    rule(`M${box.left} ${box.top}V${box.bottom}H${box.right}`, { stroke: palette.line }),
    words("privacy budget ε", { x: (box.left + box.right) / 2, y: height - 8 }, { "text-anchor": "middle" }),
    words(title, { transform: `translate(15 ${(box.top + box.bottom) / 2}) rotate(-90)` }, { "text-anchor": "middle" }));
  if (heading) parts.push(words(heading, { x: box.left, y: 26 }, { "font-size": 17, "font-weight": 600 }));

  const marks = [];
  const inside = drawing("svg", {
    x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top,
    viewBox: `${box.left} ${box.top} ${box.right - box.left} ${box.bottom - box.top}` });
  if (epsilon) {
    const now = x(number(epsilon)).toFixed(1);
    inside.append(rule(`M${now} ${box.top}V${box.bottom}`, { stroke: palette.faint, "stroke-dasharray": "2 3" }));
  }
  for (const { points, colour } of curves) {
    const band = points.filter((one) => Number.isFinite(one.low));
    if (band.length < 2) continue;
    const edge = [...band.map((one) => [one, one.high]), ...band.reverse().map((one) => [one, one.low])];
    const d = edge.map(([one, score]) => `${x(one.epsilon).toFixed(1)} ${y(score).toFixed(1)}`).join("L");
    inside.append(drawing("path", { d: `M${d}Z`, fill: colour, "fill-opacity": 0.09 }));
  }
  for (const level of levels) {
    const place = y(level.score).toFixed(1);
    inside.append(rule(`M${box.left} ${place}H${box.right}`, {
      class: "level", stroke: level.colour, "stroke-width": 1.6, "stroke-dasharray": dashes(level, 1.6) }));
  }
  for (const curve of curves) {
    const there = curve.points.filter((one) => Number.isFinite(one.score));
    const d = there.map((one) => `${x(one.epsilon).toFixed(1)} ${y(one.score).toFixed(1)}`).join("L");
    const width = curve.thin ? 1.2 : 2.2;
    const group = drawing("g", { class: "curve", "data-curve": curve.id });
    group.append(rule(`M${d}`, {
      stroke: curve.colour, "stroke-width": width, "stroke-dasharray": dashes(curve, width), "stroke-linejoin": "round" }));
    for (const one of there) {
      group.append(mark(curve, x(one.epsilon), y(one.score)));
      marks.push({ x: x(one.epsilon), y: y(one.score), lines: one.lines });
    }
    inside.append(group);
  }
  parts.push(inside);
  rows.forEach((curve, i) => {
    const place = box.top + 10 + 24 * i;
    const sign = key(curve);
    sign.setAttribute("transform", `translate(${box.right + 16} ${place - 11})`);
    parts.push(sign, words(curve.name, { x: box.right + 88, y: place }, { "font-size": 12 }));
  });
  const whole = drawing("svg", {
    viewBox: `0 0 ${width} ${height}`, width, height, "font-family": "system-ui, DejaVu Sans, sans-serif" }, ...parts);
  return { whole, marks: marks.filter((one) => one.y <= box.bottom + 1 && one.y >= box.top - 1) };
}

/**
 * Return the ends of the axis of scores, a little beyond what matters.
 *
 * What is far worse than always giving the more frequent label, of which the score is `base`, is
 * left out, unless everything is asked for.
 */
function endsOf(scores, base, sign, everything) {
  let [low, high] = [Math.min(...scores), Math.max(...scores)];
  const best = sign > 0 ? high : low;
  if (!everything && Number.isFinite(base) && sign * (best - base) > 0) {
    const worst = base - 0.15 * (best - base);
    if (sign > 0) low = Math.max(low, worst);
    else high = Math.min(high, worst);
  }
  const room = 0.05 * (high - low) || 0.05;
  return [low - room, high + room];
}
