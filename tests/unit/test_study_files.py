"""Study files: their endings, and values that YAML would misread."""

import re

import pytest
import yaml
from small_study import SMALL_STUDY, plan_with_studies

from privcurve import papers
from privcurve.experiments import study
from privcurve.experiments.study import StudyError
from privcurve.workflow import reading


@pytest.mark.parametrize("ending", [".yml", ".YAML"])
def test_a_study_of_another_ending_is_reported(tmp_path, monkeypatch, ending):
    monkeypatch.chdir(tmp_path)
    configuration = plan_with_studies(tmp_path, good=SMALL_STUDY).configuration
    (tmp_path / f"config/studies/bad{ending}").write_text("title: [")
    # A lock file of Emacs.
    (tmp_path / "config/studies/.#good.yaml").symlink_to("nobody@nowhere")
    plan = reading.read(configuration, tmp_path)
    result = f"config/studies/bad{ending} is not read: name it bad.yaml"
    assert plan.notes(["good"]) == [f"left out: {result}"]
    plan.refuse("good")
    plan = reading.read({**configuration, "studies": ["bad"]}, tmp_path)
    assert plan.refusals.keys() >= {"all", "bad"}
    with pytest.raises(StudyError, match=f"no study 'bad'.*{result}"):
        plan.refuse("all")
    plan.refuse("good")


def test_studies_of_a_paper_that_is_not_there_are_left_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(papers, "FOLDER", tmp_path / "papers")
    (tmp_path / "papers/partial").mkdir(parents=True)
    gathers = {"title": "t", "outputs": ["verdict_counts"]}
    of_both = {"thesis": ["smooth_boosting"], "partial": ["convergence", "small_data"]}
    made = study.from_mapping({**gathers, "studies": of_both}, "s", "s.yaml")
    assert made.studies == ("convergence", "small_data")
    for names, text in (
        ({"thesis": ["smooth_boosting"]}, "at least one of its papers must exist: thesis"),
        ({"parti": ["convergence"]}, "'parti' is not a paper; did you mean 'partial'"),
    ):
        with pytest.raises(StudyError, match=text):
            study.from_mapping({**gathers, "studies": names}, "s", "s.yaml")


def test_the_name_of_a_learner_that_yaml_reads_as_a_truth_value_is_refused(tmp_path):
    spec = next(iter(SMALL_STUDY["learners"].values()))
    text = yaml.safe_dump({**SMALL_STUDY, "learners": {"maybe": spec}}).replace("maybe", "yes")
    plan = plan_with_studies(tmp_path, good=SMALL_STUDY, bad=text)
    assert "YAML reads the key yes as true; put the word in quotes" in plan.broken["bad"]


def boost(**changes):
    return {**SMALL_STUDY, "learners": {"boost": {"learner": "lazybb", **changes}}}


def named(name):
    return {**SMALL_STUDY, "learners": {name: {"learner": "majority_class"}}}


ENDLESS = {f"x{k}": list(range(10)) for k in range(20)}
ODD = [
    ({**SMALL_STUDY, "folds": 10**9}, "folds: 1000000000 is greater than the maximum"),
    (
        boost(grid=ENDLESS),
        "the grid: the number of combinations must be at most 1,000,000; got 100,000",
    ),
    (boost(vary=ENDLESS), r"vary: .* combinations must be at most 1,000,000; got 100,000,0"),
    (
        {**SMALL_STUDY, "epsilons": [10**400]},
        "boost: a number must be at most 1.8e308; got 10{19}…",
    ),
    (boost(grid={"n_rounds": [5, 10**400]}), "n_rounds: a number must be at most 1.8e308; got 1"),
    (
        boost(grid={"density": [0.3, 0.1 + 0.2]}),
        "density must be distinct; 0.3 and 0.30000000000000004 differ only",
    ),
    (
        boost(vary={"density": [0.3, 0.1 + 0.2]}),
        "vary: density must be distinct; 0.3 and 0.30000000000000004 ",
    ),
    (named("a\n"), r"learners: must have only letters, digits, - and _; got 'a\\n'"),
    ({**SMALL_STUDY, "datasets": ["toy-line\n"]}, "datasets.0: .*must have only letters"),
    ({**SMALL_STUDY, "learners": {"a": "lazybb"}}, "must have keys; got 'lazybb': wr"),
    (
        boost(fixed={"n_rounds": 10**30}),
        r"n_rounds must be a whole number in .*; got 10{30}",
    ),
    (named("a" * 300), "must have at most 200 letters"),
    ("", "must have a value; got nothing"),
]


@pytest.mark.parametrize(("content", "message"), ODD, ids=[message for _, message in ODD])
def test_odd_studies_are_refused(tmp_path, content, message):
    plan = plan_with_studies(tmp_path, good=SMALL_STUDY, bad=content)
    assert re.search(message, plan.broken["bad"], re.DOTALL), plan.broken["bad"]
    assert list(plan.studies) == ["good"]


def test_titles_are_one_line(tmp_path):
    plan = plan_with_studies(tmp_path, good=boost(title="Boosted\n  rules ") | {"title": "One\n"})
    assert [method.title for method in plan.studies["good"].methods.values()] == ["Boosted rules"]
    assert plan.studies["good"].title == "One"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seconds_per_job": 10**400}, "seconds_per_job: .* greater than the maximum"),
        ({"studies_folder": "nowhere"}, "studies_folder: there is no folder nowhere"),
    ],
)
def test_odd_configurations_are_refused(tmp_path, changes, message):
    configuration = {**plan_with_studies(tmp_path, good=SMALL_STUDY).configuration, **changes}
    with pytest.raises(ValueError, match=message):
        reading.read(configuration, tmp_path)
