"use strict";
// What is shown, without the page: points, ranking, words. Numbers stay the texts of the CSV
// files; they are only compared as numbers.

const MISSING = "–";
// What has learned from raw columns, without coding.
const RAW = "raw";
const LESS_IS_BETTER = new Set(["log_loss"]);

const number = (text) => (text === "inf" ? Infinity : text === "" ? NaN : Number(text));

/** Give a point of a curve as an object, by the names that the data give. */
function point(names, values) {
  return Object.fromEntries(names.map((name, i) => [name, values[i]]));
}

/** Write a number of a CSV with three digits behind the point; what is no number stays. */
function three(text) {
  return text === "" || !Number.isFinite(number(text)) ? text : number(text).toFixed(3);
}

/** Give the rows of some curves: one a point. A point without ε is a reference. */
function rowsOf(curves) {
  return curves.flatMap((curve) =>
    curve.points.map((one) => ({ ...one, curve, reference: one.epsilon === "inf" })));
}

/** Compare two rows by a measure, the better first, what is missing last. */
function byScore(measure) {
  const sign = LESS_IS_BETTER.has(measure) ? 1 : -1;
  return (a, b) => {
    const [x, y] = [number(a[measure]), number(b[measure])];
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
    return sign * (x - y);
  };
}

/** Give the rows at an ε, best first, with their rank; then the references. */
function ranking(rows, epsilon, measure) {
  const here = rows.filter((row) => row.epsilon === epsilon).sort(byScore(measure));
  const ranked = here.map((row, i) => ({
    ...row, rank: Number.isNaN(number(row[measure])) ? "" : String(i + 1) }));
  const references = rows.filter((row) => row.reference).sort(byScore(measure));
  return [...ranked, ...references.map((row) => ({ ...row, rank: "" }))];
}

/** Write a score with its standard deviation. */
function score(row, measure) {
  if (row[measure] === "") return MISSING;
  const spread = measure === "accuracy" && row.accuracy_std ? ` ± ${three(row.accuracy_std)}` : "";
  return three(row[measure]) + spread;
}

/**
 * Give the rows that may be recommended: certified, with settings that nobody chose on the records
 * for nothing; where there is none, certified ones; where there is none, all.
 */
function sound(rows, kinds) {
  const proved = rows.filter((row) => row.curve.calibration === "certified");
  const covered = proved.filter((row) => row.kind !== kinds[2]);
  return [covered, proved].find((some) => some.length) ?? rows;
}

/** Say what stands behind the best row's ε, where it is less than a proof. */
function reservation(row, kinds) {
  const said = [];
  if (row.kind === kinds[2]) {
    said.push("Its setting was chosen on the records, which its ε does not cover.");
  }
  if (row.curve.calibration === "published") {
    said.push("Its noise is as published, without a proof of this project.");
  }
  const found = row.curve.audit;
  if (found && found.verdict === "violated") {
    said.push(`The audit refutes its claim: found ε = ${three(found.found_epsilon)}, claimed ${found.epsilon}.`);
  }
  return said;
}

/** Say in a sentence which learner to take at an ε. */
function answer(ranked, epsilon, measure, kinds) {
  const known = ranked.filter((row) => row[measure] !== "");
  const trained = known.filter((row) => !row.reference);
  const [best, next] = sound(trained, kinds);
  const references = known.filter((row) => row.reference);
  const free = references.find((row) => !["majority_class", RAW].includes(row.curve.learner));
  const majority = references.find((row) => row.curve.learner === "majority_class");
  if (!best) return `At ε = ${epsilon} nothing that is chosen below was trained.`;
  const parts = [`At ε = ${epsilon} take ${best.name}: ${score(best, measure)}`];
  const spread = measure === "accuracy" ? number(best.accuracy_std) : NaN;
  const gap = (other) => Math.abs(number(best[measure]) - number(other[measure]));
  if (free) parts.push(`without privacy ${three(free[measure])} (${free.name})`);
  if (majority) {
    const beaten = byScore(measure)(best, majority) < 0 && !(gap(majority) <= spread);
    parts.push(`majority ${three(majority[measure])}${beaten ? "" : ", which it does not surpass"}`);
  }
  if (next) {
    const near = Number.isNaN(spread) ? "" : `, is ${gap(next) <= spread ? "" : "not "}within its error`;
    parts.push(`the next, ${next.name} with ${three(next[measure])}${near}`);
  }
  const ahead = trained.slice(0, trained.indexOf(best))
    .find((row) => row.kind === kinds[2] && row.curve.calibration === "certified");
  if (ahead) {
    parts.push(`${ahead.name} has ${three(ahead[measure])} with a setting that was chosen on the records, which ε does not cover`);
  }
  return [`${parts.join("; ")}.`, ...reservation(best, kinds)].join(" ");
}

/** Say what coding and privacy cost, by the tables of the studies; nothing where there is none. */
function priced(studies, dataset, epsilon, measure) {
  return studies.flatMap((study) => study.prices ?? [])
    .filter((row) => row[0] === dataset && row[1] === epsilon && row[2] === measure)
    .map(([, , , sentence]) => ` ${sentence[0].toUpperCase()}${sentence.slice(1)}.`).join("");
}

/** Say what the audit found, beside what was claimed. */
function audited(curve) {
  const found = curve.audit;
  if (!found) return MISSING;
  const delta = number(found.delta) > 0 ? `, δ = ${found.delta}` : "";
  const at = number(found.found_epsilon) > 0 ? three(found.found_epsilon) : "none";
  return `${at} of ${found.epsilon}${delta} (${found.method}): ${found.verdict}`;
}
