"""The arena: its statistics over tables, its texts, and a user's method among stored results."""

import hashlib
import math
import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from small_study import ROOT

from privcurve import extras
from privcurve.analysis import arena
from privcurve.cli import main
from privcurve.datasets import describe
from privcurve.errors import ExpectedError
from privcurve.experiments import study
from privcurve.experiments.results import IncompleteError
from privcurve.learners import registry
from privcurve.outputs import arena as output
from privcurve.outputs import checks, runs
from privcurve.outputs.base import request_output
from privcurve.outputs.registry import OUTPUTS
from privcurve.privacy.calibration.privgam import SET_ON

GAM, RIVAL, FOREST = "privgam~proved~delta=1e-06", "dp_newton~proved~delta=1e-06", "forest"
TABLES = ["german", "telco", "yeast", "sonar", "skin", "compas", "qsar"]


def run(method, learner, dataset, epsilon, split, score, **more):
    facts = {"title": learner, "version": 1, "status": "proved", "delta": 1e-6, "seconds": 0.5}
    facts |= {"neighbours": "replace-one", "memory": 300.0, "fold": f"{split}@0.2"}
    facts["suite"] = runs.UNTOUCHED
    scores = {"accuracy": score, "auc": score, "log_loss": 1 - score}
    place = {"method": method, "learner": learner, "dataset": dataset, "split": split}
    return {**facts, **place, "epsilon": epsilon, **scores, **more}


NONE_PASSED = pd.DataFrame(columns=checks.COLUMNS)


def made_up(gains, spread=0.0):
    """Return runs: PrivGAM at .8, a rival ahead of it by `gains`, and two methods without ε."""
    free = {"delta": 0.0, "neighbours": "", "status": runs.NOT_PRIVATE}
    rows = []
    for dataset, gain in zip(TABLES, gains, strict=False):
        for split, step in ((1, -spread), (2, 0.0), (3, spread)):
            rows.append(run(GAM, "privgam", dataset, 1.0, split, 0.8))
            rows.append(run(RIVAL, "dp_newton", dataset, 1.0, split, 0.8 + gain + step))
            rows.append(run("gb", "gradient_boosting", dataset, math.inf, split, 0.9, **free))
            rows.append(run("majority", "majority_class", dataset, math.inf, split, 0.5, **free))
    return pd.DataFrame(rows)[runs.COLUMNS]


# Statistics ----------------------------------------------------------------------------


def test_means_count_each_table_once_and_losses_are_of_boosting():
    frame = made_up([0.1, -0.02])
    # A table with fewer hold-outs has the same weight.
    short = frame[(frame["dataset"] != "telco") | (frame["split"] == 1)]
    means = arena.mean_scores(short, "gb").set_index("method")
    assert means.loc[RIVAL, "auc"] == pytest.approx(0.84)
    assert means.loc[RIVAL, "lost_auc"] == pytest.approx(0.06)
    assert means.loc[RIVAL, "lost_log_loss"] == pytest.approx(0.06)
    assert list(means.loc[RIVAL, ["n_datasets", "n_splits"]]) == [2, 1]


def test_a_method_is_compared_with_privgam_at_its_delta_and_relation():
    frame = made_up([0.0])
    added = frame[frame["method"] == GAM].assign(method="added", neighbours="add-remove")
    pure = frame[frame["method"] == RIVAL].assign(method="pure", delta=0.0)
    other = frame[frame["method"] == RIVAL].assign(method="other", neighbours="add-remove")
    references = arena.find_references(pd.concat([frame, added, pure, other]), "privgam")
    assert references == {RIVAL: GAM, "other": "added"}


@pytest.mark.parametrize(("spread", "counts"), [(0.0, [2, 0, 1]), (0.5, [0, 3, 0])])
def test_tables_are_won_beyond_two_standard_errors(spread, counts):
    frame = made_up([0.1, 0.2, -0.1], spread)
    row = arena.compare(frame, {RIVAL: GAM}).set_index("measure").loc["auc"]
    assert [row[name] for name in ("wins", "level", "losses")] == counts
    assert row["difference"] == pytest.approx(0.2 / 3)
    assert -0.1 <= row["low"] < row["difference"] < row["high"] <= 0.2


def test_a_difference_has_the_sign_of_what_is_better():
    signs = arena.compare(made_up([0.05] * 3), {RIVAL: GAM}).set_index("measure")["difference"]
    assert (signs > 0).all()
    assert set(signs.index) == {"accuracy", "auc", "log_loss"}


def test_single_hold_outs_are_neither_won_nor_lost():
    frame = made_up([0.1] * 3)
    row = arena.compare(frame[frame["split"] == 1], {RIVAL: GAM}).iloc[0]
    assert [row[name] for name in ("wins", "level", "losses")] == [0, 0, 0]
    assert row["difference"] == pytest.approx(0.1)


def test_the_bootstrap_is_of_the_mean():
    values = np.random.default_rng(1).normal(0.3, 1.0, 200)
    low, high = arena.bootstrap(values.tolist())
    error = values.std() / math.sqrt(len(values))
    assert (low, high) == pytest.approx(
        (values.mean() - 1.96 * error, values.mean() + 1.96 * error), abs=0.1 * error
    )
    assert arena.bootstrap([0.25] * 5) == (0.25, 0.25)


def test_detectable_differences_follow_from_the_exact_test_with_holm():
    # 8 tables and 5 methods: 2 · 2⁻⁸ · 5 = .039, so no table may speak against the method; a rank
    # sum of 1 doubles this. Six tables are too few: 2⁻⁵ · 5 = .16.
    assert arena.most_against(8, 5) == 0
    assert arena.most_against(6, 5) is None
    assert arena.least_tables(5) == 8
    # The published table of the exact test says 8 for n = 10, two-sided 5 %.
    assert arena.most_against(10, 1) == 8
    few = output.what_can_be_found(arena.compare(made_up([0.1, 0.1]), {RIVAL: GAM}))
    assert "no difference can be found" in few[0]
    assert "needs 6 tables" in few[0]


# Tables and files -----------------------------------------------------------------------


def test_a_table_marks_looks_and_has_the_best_private_method_in_bold():
    table = output.tables_table(made_up([0.1, -0.1]), [GAM, RIVAL], 1.0, ["german"])
    first, second, mean = table.shown.to_dict("records")
    assert first["table"].endswith(output.MARK)
    assert first["dp_newton, δ = 10⁻⁶"] == "**0.900**"
    assert second["privgam, δ = 10⁻⁶"] == "**0.800**"
    assert (first["gradient_boosting"], mean["gradient_boosting"]) == ("0.900", "0.900")
    assert any("looked" in note for note in table.notes)


def test_with_a_file_only_common_tables_and_hold_outs_count():
    stored = made_up([0.1, 0.1])
    new = stored[(stored["method"] == RIVAL) & (stored["dataset"] == "telco")]
    new = new[new["split"] < 3].assign(method="new", learner="new")
    frame = output.beside(new, stored)
    assert set(frame["dataset"]) == {"telco"}
    assert frame.groupby("method").size().to_dict() == dict.fromkeys(
        ["new", GAM, RIVAL, "gb", "majority"], 2
    )
    with pytest.raises(ExpectedError, match="no table and ε in common"):
        output.beside(new.assign(dataset="yeast"), stored)


def test_files_of_runs_are_read_as_they_were_and_others_are_refused(tmp_path):
    frame = made_up([0.1])
    runs.write(frame, tmp_path / "a.parquet")
    pd.testing.assert_frame_equal(runs.read(tmp_path / "a.parquet"), frame)
    frame.drop(columns="memory").to_parquet(tmp_path / "b.parquet")
    with pytest.raises(ExpectedError, match="has no column memory"):
        runs.read(tmp_path / "b.parquet")


# The shipped arena ----------------------------------------------------------------------


def arena_studies():
    files = [*ROOT.glob("config/studies/arena_*.yaml"), *ROOT.glob("papers/*/studies/arena_*.yaml")]
    return {path.stem: study.load(path) for path in files if path.stem != SECOND}


SECOND = "arena_set_on"


def test_at_least_twenty_tables_that_set_nothing_and_no_two_of_a_source(monkeypatch):
    monkeypatch.setattr(registry, "missing_package", lambda learner: None)
    studies = arena_studies()
    tables = studies["arena_rivals"].datasets
    assert {*studies["arena_bagging"].datasets} == {*tables} - {"spambase"}
    others = [made.datasets for name, made in studies.items() if name != "arena_bagging"]
    assert set(others) == {tables}
    sources = [describe(name).source for name in tables]
    assert len(set(sources)) == len(tables) >= 20
    assert not set(sources) & set(SET_ON)
    gathered = study.load(ROOT / "config/studies/arena.yaml")
    assert set(gathered.studies) == set(studies)
    ((_, options),) = gathered.outputs
    methods = {name for made in studies.values() for name in made.methods}
    assert set(options["shown"]) <= methods
    assert set(options["looks"]) <= set(tables)


def test_tables_that_set_privgam_are_a_second_suite_with_the_same_methods(monkeypatch):
    monkeypatch.setattr(registry, "missing_package", lambda learner: None)
    second = study.load(ROOT / f"config/studies/{SECOND}.yaml")
    assert sorted(describe(name).source for name in second.datasets) == sorted(SET_ON)
    methods = {name: one for made in arena_studies().values() for name, one in made.methods.items()}
    # Settings are equal if they read alike.
    assert [*map(repr, second.methods.values())] == [repr(methods[name]) for name in second.methods]
    assert SECOND not in study.load(ROOT / "config/studies/arena.yaml").studies
    assert {runs.suite_of(name) for name in second.datasets} == {runs.SET_ON}
    assert {runs.suite_of(name) for name in arena_studies()["arena_rivals"].datasets} == {
        runs.UNTOUCHED
    }


def test_tables_of_both_suites_share_no_mean_and_the_second_is_marked():
    both = {"datasets": ["german", "adult-fine"], "outputs": ["runs", "arena"]}
    content = {"title": "t", "epsilons": [1.0], "splits": {"holdout": 0.2, "repeats": 2}}
    made = study.from_mapping(
        {**content, **both, "learners": {"gam": {"learner": "privgam"}}}, "t", "t"
    )
    with pytest.raises(study.StudyError, match=r"got adult-fine \(set PrivGAM\) and german"):
        request_output(OUTPUTS, made, "arena", {}, "t")
    frame = made_up([0.1, 0.1])
    suites = [runs.SET_ON if name == "telco" else runs.UNTOUCHED for name in frame["dataset"]]
    files = {"runs": frame.assign(suite=suites), "checks": NONE_PASSED}
    others = SimpleNamespace(files=SimpleNamespace(others=files))
    request = SimpleNamespace(options={"shown": [], "against": None}, study=made)
    context = SimpleNamespace(request=request, others={"runs": others})
    with pytest.MonkeyPatch.context() as patch:
        for reader in (runs, checks):
            patch.setattr(reader, "read", lambda frame: frame)
        with pytest.raises(IncompleteError, match="one suite of the arena; got telco"):
            OUTPUTS["arena"].make(context)
    for make in (partial(output.means_table, passed=NONE_PASSED), output.wins_table):
        assert output.SET_ON_NOTE not in make(frame).notes
        marked = make(frame.assign(suite=runs.SET_ON))
        assert output.SET_ON_NOTE in marked.notes
        assert marked.caption.endswith("on tables that set PrivGAM")
    marked = output.tables_table(frame.assign(suite=runs.SET_ON), [GAM], 1.0, [])
    assert output.SET_ON_NOTE in marked.notes


def test_each_method_has_a_citation(monkeypatch):
    monkeypatch.setattr(registry, "missing_package", lambda learner: None)
    text = (ROOT / "docs/methods.bib").read_text("utf-8")
    words = re.findall(r"keywords = \{(.+?)\}", text)
    cited = {name.strip() for line in words for name in line.split(",")}
    learners = {one.learner for made in arena_studies().values() for one in made.methods.values()}
    assert learners <= cited


def test_the_colours_of_the_arena_tell_all_methods_apart():
    ((_, options),) = study.load(ROOT / "config/studies/arena.yaml").outputs
    frame = made_up([0.1])
    row = frame[frame["method"] == GAM]
    shown = pd.concat([row.assign(method=name, title=name) for name in options["shown"]])
    looks = output.looks_of(shown)
    assert len({look["color"] for look in looks.values()}) == len(options["shown"])


# A method among stored results ----------------------------------------------------------

MEAN_VOTE = """
import numpy as np
from privcurve.coding import Floats
from privcurve.learners.base import PrivateClassifier
from privcurve.learners.entry import LearnerEntry
from privcurve.privacy.noise import Announced

ENTRY = LearnerEntry(
    name="mean_vote", path="MeanVoteClassifier", title="Mean vote", calibrations=("proved",),
    approximate=True, seconds=lambda *size: 0.01,
)


class MeanVoteClassifier(PrivateClassifier):
    _learner = "mean_vote"
    _released = {"weights_": Floats}

    def _calls(self, n):
        return [Announced("signed sums")]

    def _release(self, records, curator):
        codes, labels = curator.rows(records)
        sums = (self.places(codes) * labels[:, None]).sum(axis=0)
        self.weights_ = curator.numbers("signed sums", sums)

    def _scores(self, codes):
        return self.places(codes) @ self.weights_

    def places(self, codes):
        inside = 2.0 * codes / np.maximum(self.n_bins_ - 1, 1) - 1
        return np.column_stack([inside, np.ones_like(inside[:, 0])])
"""


def test_one_command_draws_a_method_among_stored_ones(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    # In this process, because a run of Snakemake takes longer than the trainings.
    explain = extras.explain_missing
    monkeypatch.setattr(
        extras,
        "explain_missing",
        lambda module, user: "absent" if module == "snakemake" else explain(module, user),
    )
    Path("learners").mkdir()
    Path("learners/mean_vote.py").write_text(MEAN_VOTE, "utf-8")
    stored = made_up([0.1])
    stored = stored[stored["split"] < 3].assign(dataset="toy-line")
    runs.write(stored, Path("stored.parquet"))
    words = ["arena", "add", "mean_vote", "--against", "stored.parquet"]
    assert main.main(words) == 0
    output = capsys.readouterr().out
    assert "ε = 1: mean AUC" in output
    assert "rank" in output
    results = runs.read(Path("results/arena/arena_of_mean_vote/results.parquet"))
    own = results[results["learner"] == "mean_vote"]
    assert len(own) == 2
    assert own["auc"].between(0, 1).all()
    assert (own["memory"] > 50).all()
    assert own["status"].iloc[0] == "claimed"
    (row,) = checks.read(Path("results/arena/arena_of_mean_vote_checks.csv")).to_dict("records")
    assert row["contract"] == "contract not tried"
    assert 0 <= row["measured"] < 1
    assert row["reason"] == ""
    assert f"(claimed; contract not tried; measured ε at 1 ≥ {row['measured']:.2f};" in output
    table = Path("results/tables/arena_of_mean_vote/arena_means.md").read_text("utf-8")
    (line,) = (line.split("|") for line in table.splitlines() if "| Mean vote" in line)
    cells = [cell.strip() for cell in line]
    assert cells[3:6] == ["claimed", "not tried", f"≥ {row['measured']:.2f}"]
    # The file of runs has no checks of the others.
    assert "dp_newton, δ = 10⁻⁶: not measured." in table
    assert set(results["method"]) == {*own["method"], GAM, RIVAL, "gb", "majority"}
    figure = Path("results/figures/arena_of_mean_vote/arena.svg").read_text("utf-8")
    assert "Mean vote, δ = 10⁻⁶, claimed" in figure
    assert main.main([*words, "--datasets", "wdbc"]) != 0
    assert "has no table 'wdbc'" in capsys.readouterr().err


def test_a_learner_that_broke_the_contract_does_not_enter(monkeypatch):
    from privcurve.experiments.methods import Method

    monkeypatch.setattr(Method, "breaks_contract", True)
    made = study.from_mapping(
        {
            "title": "t",
            "datasets": ["toy-line"],
            "epsilons": [1.0],
            "splits": {"holdout": 0.2, "repeats": 2},
            "learners": {"rule": {"learner": "one_rule"}},
        },
        "t",
        "t",
    )
    from privcurve.experiments.jobs import StudyJobs

    jobs = StudyJobs(made, 1, 30)
    with pytest.raises(ExpectedError, match="broke the contract"):
        runs.rows_of(jobs, next(iter(jobs.curves.values())))


# The frozen copy ------------------------------------------------------------------------

FROZEN = ROOT / output.FROZEN_FILE


def test_the_frozen_copy_is_small_complete_and_has_the_studies_methods(monkeypatch):
    files = (FROZEN, checks.beside(FROZEN))
    lines = (FROZEN.parent / "SHA256SUMS").read_text("utf-8").splitlines()
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in files]
    assert sums == lines
    assert sum(path.stat().st_size for path in files) <= 1_000_000
    monkeypatch.setattr(registry, "missing_package", lambda learner: None)
    frame = runs.read(FROZEN)
    studies = arena_studies()
    passed = checks.read(checks.beside(FROZEN))
    private = frame[frame["status"] != runs.NOT_PRIVATE]
    # What was checked is what was run.
    places = ["method", "learner", "version", "delta", "neighbours"]
    assert {*passed[places].itertuples(index=False, name=None)} == {
        *private[places].itertuples(index=False, name=None)
    }
    assert (passed["measured"].isna() == (passed["reason"] != "")).all()
    assert (passed["measured"].dropna() <= passed["epsilon"].max()).all()
    assert set(passed["epsilon"]) == {1.0}
    frame, second = (frame[frame["suite"] == suite] for suite in (runs.UNTOUCHED, runs.SET_ON))
    made = study.load(ROOT / f"config/studies/{SECOND}.yaml")
    assert set(second["dataset"]) == {*made.datasets}
    assert set(second["method"]) == {*made.methods}
    assert set(frame["dataset"]) == {*studies["arena_rivals"].datasets}
    assert set(frame["method"]) == {name for one in studies.values() for name in one.methods}
    assert frame[["accuracy", "auc", "seconds", "memory"]].notna().all(axis=None)
    # The frozen copy has only scores of tables whose records may not be passed on.
    assert list(frame) == runs.COLUMNS


# Rows of the README's table: {title: method}.
README_ROWS = {
    "PrivGAM, δ = 0": "privgam~proved",
    "PrivGAM": GAM,
    "naive Bayes": "noisy_bayes~proved~delta=1e-06",
    "random trees": "random_trees~proved~delta=1e-06",
    "joint Newton": RIVAL,
    "PrivGAM, added": "privgam_ar~proved~delta=1e-06",
    "joint Newton, added": "dp_newton_ar~proved~delta=1e-06",
    "AIM, then boosting, added": "aim_ar~proved~delta=1e-06",
    "DP-EBM, added": "dp_ebm~published~delta=1e-06",
    "diffprivlib, δ = 0": "dpl_lr~published",
}


def test_numbers_of_the_readme_match_the_frozen_copy():
    frame = runs.read(FROZEN)
    frame = frame[frame["suite"] == runs.UNTOUCHED]
    means = arena.mean_scores(frame, output.FREE).set_index(["method", "epsilon"])["auc"]
    text = (ROOT / "README.md").read_text("utf-8")
    block = text.partition("benchmarks/freeze_arena.py -->")[2].partition("<!-- end -->")[0]
    lines = [line.split("|")[1:-1] for line in block.strip().splitlines()]
    table = {name: cells for name, *cells in lines if set(name) != {"-"}}
    expected = {
        title: [f"{means[method, epsilon]:.3f}"[1:] for epsilon in (0.1, 0.3, 1.0, 3.0)]
        for title, method in README_ROWS.items()
    }
    assert table.pop("mean AUC at ε =") == [".1", ".3", "1", "3"]
    assert table == expected
    assert f"{means['gb', math.inf]:.3f}"[1:] in text
