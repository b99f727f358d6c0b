"""The real Snakemake on a tiny study: results, growth, independence of cores."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
import yaml
from checkout import STUDY, TABLES

pytestmark = pytest.mark.workflow

ROOT = Path(__file__).parents[2]


def ids_of(lines):
    return [json.loads(line)["id"] for line in lines]


def test_a_run_makes_everything_and_a_second_does_nothing(finished):
    made = finished.outputs()
    tables = {
        f"results/tables/tiny/{table}.{ending}"
        for table in ("accuracy", "selected_settings")
        for ending in ("csv", "md", "tex")
    }
    assert tables | {f"results/figures/tiny.{e}" for e in ("pdf", "png", "svg", "csv")} == set(made)
    frame = pd.read_csv(finished.folder / "results/tables/tiny/accuracy.csv")
    assert len(frame) == 2 * 2 + 1
    assert (frame["status"] == "ok").all()
    assert finished.counts() == (finished.n_runs(), 0, 0)
    assert "Nothing to be done" in finished.run()
    assert finished.outputs() == made


GROWN_AXIS = {
    "boost": {
        "learner": "lazybb",
        "calibrations": ["certified", "published"],
        "grid": {"n_rounds": [5, 7, 9], "density": [0.5]},
    },
    "majority": {"learner": "majority_class"},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"learners": GROWN_AXIS},
        {"datasets": ["toy-line", "wdbc"], "epsilons": [0.5, 1, 2], "repeats": 4},
    ],
)
def test_a_grown_study_trains_the_new_runs_and_nothing_else(finished, changes):
    before = finished.stored()
    finished.forget_logs()
    finished.write_study(**changes)
    finished.run(TABLES)
    after = finished.stored()
    trained, _, failed = finished.counts()
    assert failed == 0
    assert trained == len(after) - len(before)
    assert len(after) == len(set(ids_of(after)))
    assert set(before) < set(after)
    # A setting that is newly selected is trained afresh in place of the one before it.
    reselected = len(after) - finished.n_runs(**changes)
    assert reselected >= 0
    assert reselected == 0 or "learners" in changes


@pytest.mark.slow
def test_other_folds_in_one_run(finished):
    before = finished.stored()
    finished.forget_logs()
    finished.write_study(folds=4)
    finished.run()
    # toy-line has no test set: its fresh trainings are scored on folds too.
    assert finished.counts() == (finished.n_runs(folds=4), 0, 0)
    assert len(finished.stored()) == len(before) + finished.n_runs(folds=4)


@pytest.mark.slow
def test_one_core_and_other_jobs_give_the_same_bytes(finished, project):
    # Finished ran on two cores, all in one job.
    project.run("--cores", "1", "--config", "seconds_per_job=0.005")
    assert len(list((project.folder / "results/cells").rglob("*.parquet"))) > 3
    assert project.outputs() == finished.outputs()


@pytest.mark.slow
def test_a_study_of_few_jobs_comes_first_with_its_table(project):
    # Larger data would be trained first without a word.
    project.write_study(datasets=["wdbc"])
    small = {**STUDY, "learners": {"majority": STUDY["learners"]["majority"]}, "figure": "small"}
    (project.folder / "config/studies/small.yaml").write_text(yaml.safe_dump(small))
    targets = [f"results/tables/{name}/accuracy.csv" for name in ("tiny", "small")]
    output = project.run("--cores", "1", "--config", "seconds_per_job=0.01", "--", *targets)
    order = re.findall(r"Train .* \((\w+)\)|(Make \w+)", output)
    begun = [study or made for study, made in order]
    n_jobs = begun.count("tiny")
    assert n_jobs > 1
    assert begun == ["small", "Make small_accuracy", *["tiny"] * n_jobs, "Make tiny_accuracy"]


@pytest.mark.slow
def test_another_job_size_retrains_nothing_and_back(finished):
    stored, made = finished.stored(), finished.outputs()
    finished.run("--config", "seconds_per_job=0.005")
    assert finished.stored() == stored
    assert finished.outputs() == made
    content = json.loads((finished.folder / "results/manifest.json").read_text())
    assert content["configuration"]["seconds_per_job"] == 0.005
    # The curves have jobs of their own now; the benchmark of the one they shared is still there.
    benchmarks = list((finished.folder / "benchmarks/train").rglob("*.tsv"))
    assert content["rules"]["train"]["jobs"] == len(benchmarks) - 1 > 3
    work = content["studies"]["tiny"]
    assert (work["trained"], work["reused"]) == (0, finished.n_runs())
    finished.run("--config", "seconds_per_job=30")
    assert finished.stored() == stored
    assert finished.outputs() == made
    assert "Nothing to be done" in finished.run("--config", "seconds_per_job=30")


@pytest.mark.slow
def test_one_figure_needs_only_its_study(finished):
    output = finished.run("--dry-run", "results/figures/quickstart.pdf", ok=False)
    assert "MissingRuleException" in output  # this copy has no such study
    other = finished.folder / "config/studies/other.yaml"
    other.write_text((ROOT / "config/studies/quickstart.yaml").read_text())
    output = finished.run("--dry-run", "results/figures/tiny.pdf")
    assert "Nothing to be done" in output


OTHER_VERSION = """
import os
if os.environ.get("OTHER_VERSION"):
    from privcurve.outputs.accuracy import SelectedSettings
    SelectedSettings.version = 99
"""


@pytest.mark.slow
def test_a_new_version_of_an_output_makes_that_output_again_and_no_other(finished):
    (finished.folder / "code").mkdir()
    (finished.folder / "code/sitecustomize.py").write_text(OTHER_VERSION)
    environment = {"PYTHONPATH": str(finished.folder / "code"), "OTHER_VERSION": "1"}
    made = finished.outputs()
    output = finished.run(**environment)
    assert "Make tiny_selected_settings" in output
    assert "Make tiny_accuracy" not in output
    assert "Make tiny_learning_curves" not in output
    assert finished.outputs() == made
    assert "Nothing to be done" in finished.run(**environment)
