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

/** Give a curve's full name: what tells it from others of the same title. */
function nameOf(curve, several) {
  const parts = [curve.title];
  if (curve.calibration === "published") parts.push("noise as published");
  if (number(curve.delta) > 0) parts.push(`δ = ${curve.delta}`);
  const name = parts.join(", ");
  return several ? `${name} (${curve.study.title})` : name;
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

/** Write a score with its standard deviation, as the CSV has them. */
function score(row, measure) {
  if (row[measure] === "") return MISSING;
  const spread = measure === "accuracy" && row.accuracy_std ? ` ± ${row.accuracy_std}` : "";
  return row[measure] + spread;
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
    said.push(`The audit refutes its claim: found ε = ${found.found_epsilon}, claimed ${found.epsilon}.`);
  }
  return said;
}

/** Say in a sentence which learner to take at an ε. */
function answer(ranked, epsilon, measure, kinds) {
  const known = ranked.filter((row) => row[measure] !== "");
  const [best, next] = known.filter((row) => !row.reference);
  const references = known.filter((row) => row.reference);
  const free = references.find((row) => !["majority_class", RAW].includes(row.curve.learner));
  const majority = references.find((row) => row.curve.learner === "majority_class");
  if (!best) return `At ε = ${epsilon} nothing that is chosen below was trained.`;
  const parts = [`At ε = ${epsilon} take ${best.name}: ${score(best, measure)}`];
  if (free) parts.push(`without privacy ${free[measure]} (${free.name})`);
  if (majority) {
    const beaten = byScore(measure)(best, majority) < 0 ? "" : ", which it does not surpass";
    parts.push(`majority ${majority[measure]}${beaten}`);
  }
  if (next) {
    const spread = measure === "accuracy" ? number(best.accuracy_std) : NaN;
    const gap = Math.abs(number(best[measure]) - number(next[measure]));
    const near = Number.isNaN(spread) ? "" : gap <= spread ? ", is within its error" : ", is not within its error";
    parts.push(`the next, ${next.name} with ${next[measure]}${near}`);
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
  const at = number(found.found_epsilon) > 0 ? found.found_epsilon : "none";
  return `${at} of ${found.epsilon}${delta} (${found.method}): ${found.verdict}`;
}
