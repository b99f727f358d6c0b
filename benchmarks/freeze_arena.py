"""Freeze the results of the arena: store a copy of them, and update README.md and docs/arena.md.

    snakemake arena arena_set_on --cores 2
    python benchmarks/freeze_arena.py

The program replaces a table of each page, and copies the figure. A test compares the pages with the
frozen copy.
"""

import hashlib
import math
import shutil
from pathlib import Path

import pandas as pd

from privcurve.analysis import arena
from privcurve.outputs import checks, runs
from privcurve.outputs.arena import FREE, FROZEN_FILE, REFERENCE, what_can_be_found

ROOT = Path(__file__).resolve().parents[1]
# The results of the two commands above, one for each suite of datasets.
RESULTS = [
    Path("results/arena") / name for name in ("results.parquet", "arena_set_on/results.parquet")
]
FIGURE = Path("results/figures/arena/arena.svg")
EPSILONS = (0.1, 0.3, 1.0, 3.0)
# Title and method of each row in the README's table.
ROWS = {
    "PrivGAM, δ = 0": "privgam~proved",
    "PrivGAM": "privgam~proved~delta=1e-06",
    "naive Bayes": "noisy_bayes~proved~delta=1e-06",
    "random trees": "random_trees~proved~delta=1e-06",
    "joint Newton": "dp_newton~proved~delta=1e-06",
    "PrivGAM, added": "privgam_ar~proved~delta=1e-06",
    "joint Newton, added": "dp_newton_ar~proved~delta=1e-06",
    "AIM, then boosting, added": "aim_ar~proved~delta=1e-06",
    "DP-EBM, added": "dp_ebm~published~delta=1e-06",
    "diffprivlib, δ = 0": "dpl_lr~published",
}
HEAD = "|mean AUC at ε =|.1|.3|1|3|"
START, END = "<!-- arena: python benchmarks/freeze_arena.py -->", "<!-- end -->"


def short(value):
    """Write a score without its leading zero."""
    return f"{value:.3f}".removeprefix("0")


def readme_rows(frame):
    """Return the lines of the README's table, without spaces: it counts as few of the 600 words."""
    means = arena.mean_scores(frame, FREE).set_index(["method", "epsilon"])["auc"]
    lines = [
        f"|{title}|{'|'.join(short(means[method, epsilon]) for epsilon in EPSILONS)}|"
        for title, method in ROWS.items()
    ]
    return [HEAD, "|---|---|---|---|---|", *lines]


def page_rows(frame, passed):
    """Return the lines of the table in docs/arena.md, and of the note below it.

    The table has the differences in AUC to PrivGAM at ε = 1, and the results of privacy checks. The
    note says which differences the tests can find with this number of datasets.
    """
    passed = passed.set_index("method")
    compared = arena.compare(frame, arena.find_references(frame, REFERENCE))
    titles = frame.drop_duplicates("method").set_index("method")
    at = compared[(compared["measure"] == "auc") & (compared["epsilon"] == 1)]
    at = at[at["method"].isin([*ROWS.values()])]
    lines = [
        "|method|δ, neighbours|status|contract|measured ε|AUC minus PrivGAM's|"
        "wins/level/losses|p (Holm)|",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in at.sort_values("difference", ascending=False).to_dict("records"):
        facts = titles.loc[row["method"]]
        counts = [row[name] for name in (arena.WINS, arena.EVEN, arena.LOSSES)]
        terms = f"{'10⁻⁶' if facts['delta'] else '0'}, {facts['neighbours']}"
        gap = f"{row['difference']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]"
        p_value = "< .001" if row["p_holm"] < 0.001 else short(row["p_holm"])
        title = facts["title"].removesuffix(", add-remove")
        tried = passed.loc[row["method"]]
        ways = checks.short_contract(tried["contract"]), checks.describe(tried["measured"])
        cells = [title, terms, facts["status"], *ways, gap, "/".join(map(str, counts)), p_value]
        lines.append(f"|{'|'.join(cells)}|")
    return [*lines, "", *what_can_be_found(compared)]


def replace_between(path, lines):
    """Replace the lines between the marks `START` and `END` of a page."""
    text = path.read_text("utf-8")
    if START not in text:
        raise SystemExit(f"{path} has no line {START}")
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    path.write_text("\n".join([f"{before}{START}", "", *lines, "", f"{END}{after}"]), "utf-8")


def main():
    """Write the frozen copy, its checksums, the figure, and both tables."""
    frozen = ROOT / FROZEN_FILE
    frozen.parent.mkdir(parents=True, exist_ok=True)
    runs.write(pd.concat(map(runs.read, RESULTS), ignore_index=True), frozen)
    passed = pd.concat([checks.read(checks.beside(path)) for path in RESULTS], ignore_index=True)
    checks.write(passed.drop_duplicates("method"), checks.beside(frozen))
    files = (frozen, checks.beside(frozen))
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (frozen.parent / "SHA256SUMS").write_text("".join(sums), "utf-8")
    shutil.copyfile(FIGURE, ROOT / "docs/figures/arena.svg")
    frame = runs.read(frozen)
    frame = frame[frame["suite"] == runs.UNTOUCHED]
    replace_between(ROOT / "docs/arena.md", page_rows(frame, checks.read(checks.beside(frozen))))
    replace_between(ROOT / "README.md", readme_rows(frame))
    means = arena.mean_scores(frame, FREE).set_index(["method", "epsilon"])["auc"]
    print(
        f"boosting without privacy: {short(means[FREE, math.inf])}; {frozen.stat().st_size:,} bytes"
    )


if __name__ == "__main__":
    main()
