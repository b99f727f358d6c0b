"""The real Snakemake on a tiny study: results, larger studies, independence of cores."""

import json
import re

import pandas as pd
import pytest
import yaml
from checkout import TABLES, TINY_STUDY

pytestmark = [pytest.mark.workflow, pytest.mark.slow]


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
    assert finished.run_counts() == (finished.expected_runs(), 0, 0)
    assert "Nothing to be done" in finished.run()
    assert finished.outputs() == made


GROWN_AXIS = {
    "boost": {
        "learner": "lazybb",
        "calibrations": ["proved", "published"],
        "grid": {"n_rounds": [5, 7, 9], "density": [0.5]},
    },
    "majority": {"learner": "majority_class"},
}


GROWN = {
    **{"learners": GROWN_AXIS, "datasets": ["toy-line", "wdbc"]},
    **{"epsilons": [0.5, 1, 2], "repeats": 4},
}


def test_a_grown_study_trains_the_new_runs_and_nothing_else(finished):
    before = finished.stored_lines()
    finished.delete_logs()
    finished.write_study(**GROWN)
    finished.run(TABLES)
    after = finished.stored_lines()
    trained, _, failed = finished.run_counts()
    assert failed == 0
    assert trained == len(after) - len(before)
    assert len(after) == len(set(ids_of(after)))
    assert set(before) < set(after)
    # A newly selected setting is trained again, in addition to the earlier one.
    assert len(after) >= finished.expected_runs(**GROWN)


def test_one_core_and_other_jobs_give_the_same_bytes_and_retrain_nothing(finished, project):
    # `finished` ran on two cores, with all runs in one job.
    project.run("--cores", "1", "--config", "seconds_per_job=0.005")
    assert project.outputs() == finished.outputs()
    content = json.loads((project.folder / "results/manifest.json").read_text())
    assert content["configuration"]["seconds_per_job"] == 0.005
    assert content["rules"]["train"]["jobs"] > 3
    stored = project.stored_lines()
    project.run()
    assert project.stored_lines() == stored
    assert project.outputs() == finished.outputs()
    content = json.loads((project.folder / "results/manifest.json").read_text())
    work = content["studies"]["tiny"]
    assert (work["trained"], work["reused"]) == (0, finished.expected_runs())


def test_a_study_of_few_jobs_comes_first_with_its_table(project):
    # Without a priority the larger data would be trained first.
    project.write_study(datasets=["wdbc"])
    small = {
        **TINY_STUDY,
        "learners": {"majority": TINY_STUDY["learners"]["majority"]},
        "figure": "small",
    }
    (project.folder / "config/studies/small.yaml").write_text(yaml.safe_dump(small))
    targets = [f"results/tables/{name}/accuracy.csv" for name in ("tiny", "small")]
    output = project.run("--cores", "1", "--config", "seconds_per_job=0.1", "--", *targets)
    order = re.findall(r"Train .* \((\w+)\)|(Make \w+)", output)
    begun = [study or made for study, made in order]
    n_jobs = begun.count("tiny")
    assert n_jobs > 1
    assert begun == ["small", "Make small_accuracy", *["tiny"] * n_jobs, "Make tiny_accuracy"]


CV = "cv_accuracy_selected_optimistic"


def test_finalists_are_trained_again_and_nothing_else(finished):
    before = finished.stored_lines()
    first = pd.read_csv(finished.folder / "results/tables/tiny/accuracy.csv")
    finished.delete_logs()
    finished.write_study(finalists={"settings": 2, "draws": 3})
    finished.run(TABLES)
    trained, _, failed = finished.run_counts()
    assert failed == 0
    assert trained == len(finished.stored_lines()) - len(before)
    # Two methods with two settings each, two ε, three draws in three folds; a newly selected
    # setting is trained three times. The majority class has one setting.
    again = 2 * 2 * 2 * 3 * 3
    assert trained in {again + 3 * changed for changed in range(5)}
    second = pd.read_csv(finished.folder / "results/tables/tiny/accuracy.csv")
    boosted = second["method"].str.startswith("boost")
    assert (second[CV] != first[CV])[boosted].all()
    assert second[~boosted].equals(first[~boosted])
    assert "Nothing to be done" in finished.run(TABLES)
