"""Small curves share a job: which do, and that the job makes what each would make alone."""

import json
import sys
from dataclasses import replace

import pytest
import yaml

from privcurve import datasets
from privcurve.experiments import manifest, study, summary
from privcurve.experiments.bundles import bundles, curves
from privcurve.experiments.jobs import CODED, read_results
from privcurve.steps import _common, bundle

SEED = 1
LEARNERS = {
    "boost": {"learner": "lazybb", "grid": {"n_rounds": [3, 5]}},
    "one_rule": {"learner": "one_rule"},
    "majority": {"learner": "majority_class"},
}


def content(learners=LEARNERS, **changes):
    base = {"title": "t", "datasets": ["toy-line"], "epsilons": [1], "folds": 2, "repeats": 2}
    return {**base, "learners": learners, **changes}


def cut(seconds_per_job=30, **changes):
    return curves(study.from_mapping(content(**changes), "t", "t.yaml"), SEED, seconds_per_job)


def sizes(found):
    return [len(one.curves) for one in bundles(found)]


def test_small_curves_are_put_together_until_they_are_half_a_job():
    many = {f"l{k}": {"learner": "majority_class"} for k in range(7)}
    each = cut(learners=many)[0].work
    assert each > 0
    assert sizes(cut(learners=many)) == [7]
    # Half of a job are three of them; what is left over joins the last.
    assert sizes(cut(learners=many, seconds_per_job=5.9 * each)) == [3, 4]
    # None that fills a job itself, and none alone.
    assert sizes(cut(learners=many, seconds_per_job=each)) == []
    assert sizes(cut(learners=dict(list(many.items())[:1]))) == []


def test_a_curve_of_several_shards_keeps_its_jobs():
    boost, *others = cut(seconds_per_job=cut()[0].work / 4)
    assert boost.shards > 1
    assert boost.bundle == ""
    assert len(boost.benchmarks["refit"]) == 1
    assert [one.shards for one in others] == [1, 1]


def test_what_is_added_at_the_end_moves_nothing_before_it():
    many = {f"l{k}": {"learner": "majority_class"} for k in range(6)}
    per_job = 3.9 * cut(learners=many)[0].work
    before = {one.name: one.bundle for one in cut(learners=many, seconds_per_job=per_job)}
    grown = {**many, "last": {"learner": "majority_class"}, "l9": {"learner": "majority_class"}}
    after = {one.name: one.bundle for one in cut(learners=grown, seconds_per_job=per_job)}
    assert before.items() <= after.items()


def test_the_digest_of_a_bundle_is_of_all_that_its_curves_are_asked_for():
    (plain,) = bundles(cut())
    for changes in (
        {"epsilons": [2]},
        {"folds": 3},
        {"repeats": 3},
        {"learners": dict(list(LEARNERS.items())[:2])},
    ):
        (other,) = bundles(cut(**changes))
        assert other.digest != plain.digest
    (same,) = bundles(cut(title="other"))
    assert same.digest == plain.digest


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the coded data; gives a function that runs the bundles of a study."""
    monkeypatch.chdir(tmp_path)
    datasets.save(datasets.load("toy-line"), CODED / "toy-line")

    def run(program, *arguments):
        monkeypatch.setattr(sys, "argv", ["step", *map(str, arguments)])
        program()

    return run


def write_study(folder, **changes):
    asked = {key: value for key, value in content(**changes).items() if value is not None}
    path = folder / "t.yaml"
    path.write_text(yaml.safe_dump(asked))
    return path


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"select": "all", "outputs": ["accuracy"]},
        {"splits": {"holdout": 0.2, "repeats": 3}, "folds": None, "repeats": None},
    ],
)
def test_a_bundle_makes_what_its_curves_would_make_alone(here, tmp_path, capsys, changes):
    path = write_study(tmp_path, **changes)
    found = curves(study.load(path), SEED, 30)
    (one,) = bundles(found)
    asked = ("--study", path, "--seed", SEED)
    here(bundle.main, *asked, "--digest", one.digest, "--curves", *one.arguments)
    assert all(file.exists() for file in one.outputs)
    assert all(one.is_done(file) for curve in found for file in curve.files)
    together = read_results(found)
    said = [line.split() for line in capsys.readouterr().out.splitlines()]
    trained = sum(int(words[1]) for words in said if words[0] == "trained")
    assert summary.progress(found).done == summary.progress(found).cells == trained
    assert summary.progress(found).jobs_left == 0
    selected = {curve.name: curve.selected.read_bytes() for curve in found if curve.selects}

    # The store has them all: the jobs of each curve alone take them from there.
    for curve in found:
        data = datasets.read(curve.data)
        for shard in curve.shard_numbers:
            _common.train_shard(curve, shard, data)
        if curve.selects:
            _common.select_and_train(curve, data)
            assert curve.selected.read_bytes() == selected[curve.name]
    assert "trained 0 cells" in capsys.readouterr().out
    assert read_results(found).equals(together)


def test_data_of_another_description_are_no_error_of_a_bundle(here, tmp_path):
    path = write_study(tmp_path)
    (one,) = bundles(curves(study.load(path), SEED, 30))
    asked = ("--study", path, "--seed", SEED)
    here(bundle.main, *asked, "--digest", one.digest, "--curves", *one.arguments)
    coded = CODED / "toy-line/domain.json"
    found = json.loads(coded.read_text())
    coded.write_text(json.dumps({**found, "origin": {"description": "another"}}))
    # They are coded anew, and then its job has other data. What raises here, Snakemake passes over.
    assert all(one.is_done(file) for file in one.files)
    coded.write_text("torn")
    assert all(one.is_done(file) for file in one.files)


def test_a_bundle_of_another_study_is_refused(here, tmp_path):
    path = write_study(tmp_path)
    (one,) = bundles(curves(study.load(path), SEED, 30))
    write_study(tmp_path, epsilons=[2])
    asked = ("--study", path, "--seed", SEED, "--curves", *one.arguments)
    with pytest.raises(study.StudyError, match="was changed after the workflow had read it"):
        here(bundle.main, *asked, "--digest", one.digest)
    write_study(tmp_path, learners={"boost": LEARNERS["boost"]})
    with pytest.raises(study.StudyError, match="was changed after the workflow had read it"):
        here(bundle.main, *asked, "--digest", one.digest)


def test_a_shared_job_is_counted_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = cut()
    (path,) = {path for one in found for path in one.benchmarks["train"]}
    path.parent.mkdir(parents=True)
    path.write_text("s\th:m:s\tmax_rss\tcpu_time\n2.5\t0:00:02\t100.5\t1\n")
    told = manifest.manifest({}, {"t": found}, [])
    assert told["rules"]["train"]["jobs"] == 1
    assert told["rules"]["train"]["wall_seconds"] == 2.5
    (shared,) = bundles(found)
    assert shared.name == path.stem
    assert summary.progress(found).jobs_left == 1
    assert summary.progress([replace(one, bundle="") for one in found]).jobs_left == 2 * len(found)


def test_failed_attempts_of_each_part_are_counted():
    (one,) = bundles(cut())
    names = [path.name for path in one.failures]
    assert names[:2] == ["boost~certified~shard~0-of-1.json", "boost~certified.json"]
    assert len(set(one.failures)) == 2 * len(one.curves)
