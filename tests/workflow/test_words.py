"""Optional keys of a study with the real Snakemake: splits, shares, `vary`, and all runs."""

import io
import json

import pandas as pd
import pytest
from checkout import TABLES

from privcurve.experiments import results

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

SPLITS = {"holdout": 0.2, "repeats": 3}
LEARNERS = {
    "boost": {"learner": "lazybb", "grid": {"n_rounds": [3, 5]}, "vary": {"density": [0.5]}},
    # One setting needs no selection.
    "one_rule": {"learner": "one_rule"},
    # Each training selects its setting, and pays for it.
    "paid": {"learner": "one_rule", "tune": {"grid": {"mechanism": ["auto", "exponential"]}}},
}
WORDS = {"epsilons": [1], "splits": SPLITS, "train_shares": [0.1, 1], "metric": "auc"}
PLAIN = ("folds", "repeats")


def runs(project):
    """Return the rows and facts of each part in the job files."""
    for path in sorted((project.folder / "results/cells/tiny").glob("*/*.parquet")):
        for place, facts in enumerate(results.read_facts(path)):
            yield facts, results.read_rows(path, place, results.SCHEMA.names)


def test_hold_outs_of_shares_select_by_a_metric_and_then_all_runs_are_results(project):
    project.write_study(**WORDS, learners=LEARNERS, without=PLAIN)
    output = project.run(TABLES)
    best = [(facts, rows) for facts, rows in runs(project) if "best" in facts["name"]]
    assert len(best) == 6
    fresh = pd.concat([rows for _, rows in best])
    assert set(fresh["fold"]) == {f"{k}@0.2" for k in (1, 2, 3)}
    assert set(fresh["status"]) == {"ok"}
    paid = fresh[fresh["method"].str.startswith("paid")]
    assert set(paid["learner"]) == {"tuned"}
    assert paid["epsilon_spent"].tolist() == pytest.approx([1.0] * 6)
    assert "paid~proved: of epsilon = 1 private selection leaves 0.41" in output
    small = fresh["method"].str.endswith("~train_share=0.1")
    n_train = round(0.8 * len_of(project))
    assert set(fresh["n_train"][~small]) == {n_train}
    assert set(fresh["n_train"][small]) == {n_train // 10}
    for facts, _ in best:
        selected = pd.read_csv(io.StringIO(facts["selected"]))
        assert selected["cv_auc"].notna().all() == ("/boost" in facts["name"])
    assert "Nothing to be done" in project.run(TABLES)

    # Every setting is a result; runs on the full training part are trained already.
    project.delete_logs()
    sweep = {"sweep": {"x": "n_rounds", "learners": ["boost"]}}
    everything = {**WORDS, "select": "all", "outputs": [sweep]}
    without = (*PLAIN, "metric", "train_shares")
    project.write_study(**everything, learners=LEARNERS, without=without)
    project.run("tiny")
    assert project.run_counts() == (3, 3 * 3, 0)
    (drawn,) = project.outputs().keys() & {"results/figures/tiny/sweep.csv"}
    assert len(pd.read_csv(project.folder / drawn)) == 2


def len_of(project):
    facts = json.loads((project.folder / "results/data/toy-line/domain.json").read_text())
    return facts["n_rows"]
