"""Evaluate PrivGAM, with the package's weights, on the public tables that trained its network.

    PRIVCURVE_DATA=<mirror> python decoder/evaluate.py [--json FILE] [--against FILE] [--seeds N]

For each seed, PrivGAM is trained on a random two thirds of each table; AUC, log-loss and accuracy
are measured on the other third. As parts of the same tables trained the network, these scores only
serve to compare weights: scores on other tables are worse. `--json` writes the scores for each
table, ε, δ and seed to a file. `--against` reads such a file, and adds a table of the mean paired
differences from its scores. Without `--against`, the printed tables replace the results in
decoder/README.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score

from privcurve.learners.additive import decoder
from privcurve.learners.additive.privgam import PrivGAMClassifier
from privcurve.learners.additive.rule import FitFacts, plan
from privcurve.privacy.budget import REPLACE_ONE
from tasks import PUBLIC, Columns, public_table

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
DELTAS = (1e-6, 0.0)
MEASURES = ("AUC", "log-loss", "accuracy")
README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- results: python decoder/evaluate.py -->", "<!-- end of results -->"
# Two tables show the loss by m = n·μ/d and by the number of columns; these are the limits of their
# rows.
SCALES = (0, 1, 10, 100, 1000, math.inf)
COLUMNS = (0, 5, 10, 15, math.inf)

# The keys are texts "table ε δ seed". A value has six numbers: AUC, log-loss, accuracy, log-loss of
# the base rate, m, and number of columns.
Results = dict[str, list[float]]


def main() -> None:
    """Evaluate PrivGAM on all tables, and print and write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the numbers to this file too")
    parser.add_argument("--against", type=Path, help="compare with the numbers of this file")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    results: Results = {}
    for name in PUBLIC:
        for seed in range(options.seeds):
            results |= evaluate(name, public_table(name), seed)
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    others = {} if options.against is None else json.loads(options.against.read_text())
    text = "\n\n".join([*write_tables(results, options.seeds), *write_differences(results, others)])
    print(text)
    if options.against is None:
        before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        README.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def evaluate(name: str, table: Columns, seed: int) -> Results:
    """Train and score PrivGAM on a split of a table, for each ε and δ; `seed` decides the split."""
    order = np.random.default_rng([77, seed]).permutation(len(table.codes))
    train, test = np.split(order, [len(order) * 2 // 3])
    labels, ordered = table.labels[:, 0], tuple(table.ordered.tolist())
    base = np.full(len(test), labels[train].mean())
    results = {}
    for delta in DELTAS:
        for epsilon in EPSILONS:
            model = PrivGAMClassifier(
                epsilon=epsilon,
                delta=delta,
                n_bins=table.n_bins.tolist(),
                classes=(0, 1),
                ordered=ordered,
                random_state=seed,
            ).fit(table.codes[train], labels[train])
            chances = model.predict_proba(table.codes[test])[:, 1]
            results[f"{name} {epsilon} {delta} {seed}"] = [
                float(roc_auc_score(labels[test], chances)),
                float(log_loss(labels[test], chances)),
                float(((chances > 0.5) == labels[test]).mean()),
                float(log_loss(labels[test], base)),
                plan(FitFacts(len(train), ordered, 2, epsilon, delta, REPLACE_ONE)).m,
                len(ordered),
            ]
    return results


def write_tables(results: Results, n_seeds: int) -> Iterable[str]:
    """Yield the tables of the results for decoder/README.md, in Markdown."""
    yield (
        f"{len(PUBLIC)} tables, {n_seeds} splits of each, weights of the SHA-256 "
        f"`{decoder.entry('privgam').weights[:16]}…`. *Base* is the log-loss of the share of the "
        "labels."
    )
    rows = []
    for delta in DELTAS:
        for epsilon in EPSILONS:
            some = [row for key, row in results.items() if f" {epsilon} {delta} " in key]
            means = np.mean(some, axis=0)
            rows.append([f"{delta:g}", f"{epsilon:g}", *(f"{mean:.4f}" for mean in means[:4])])
    yield write_table(("δ", "ε", *MEASURES, "base"), rows)
    for title, at, edges in (("n·μ/d", 4, SCALES), ("columns", 5, COLUMNS)):
        rows = []
        for low, high in itertools.pairwise(edges):
            some = [row for row in results.values() if low <= row[at] < high]
            if some:
                ends = f"from {low:g}" if high == math.inf else f"{low:g} to {high:g}"
                gained = np.mean([row[1] - row[3] for row in some])
                rows.append([ends, str(len(some)), f"{gained:+.4f}"])
        yield write_table((title, "fits", "log-loss − base"), rows)


def write_differences(results: Results, others: Mapping[str, Sequence[float]]) -> Iterable[str]:
    """Yield a Markdown table of mean differences `results` − `others`, paired by table and seed."""
    rows = []
    for delta in DELTAS:
        for epsilon in EPSILONS:
            keys = [key for key in results if f" {epsilon} {delta} " in key and key in others]
            if not keys:
                continue
            apart = np.array([np.subtract(results[key][:3], others[key][:3]) for key in keys])
            # Splits of the same table are not independent. So first average over the splits, and
            # compute the standard error over tables.
            names = np.array([key.split()[0] for key in keys])
            means = np.array([apart[names == name].mean(axis=0) for name in np.unique(names)])
            errors = means.std(axis=0, ddof=1) / math.sqrt(len(means))
            cells = (
                f"{mean:+.4f} ± {error:.4f}"
                for mean, error in zip(means.mean(axis=0), errors, strict=True)
            )
            rows.append([f"{delta:g}", f"{epsilon:g}", *cells])
    if rows:
        yield write_table(("δ", "ε", *(f"{measure}, difference" for measure in MEASURES)), rows)


def write_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown, from its header and rows of texts."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    main()
