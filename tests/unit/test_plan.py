"""The plan of a run: requested files, refusals, and the files that a change makes out of date."""

import json
import math
import re
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
import yaml
from made_up_study import MADE_UP_STUDY, write_made_up_study
from small_study import ROOT, SMALL_STUDY, plan_with_studies, small_study_with

from privcurve import datasets
from privcurve.experiments import results
from privcurve.experiments.study import StudyError, from_mapping
from privcurve.outputs import record
from privcurve.outputs.registry import OUTPUTS
from privcurve.workflow import plan, reading


def outputs_of_small_study(*outputs, **changes):
    raw = {**SMALL_STUDY, **({"outputs": list(outputs)} if outputs else {}), **changes}
    return plan.outputs_of(from_mapping(raw, "s", "s.yaml"), "s.yaml")


def test_a_study_has_tables_and_curves_by_default():
    files = [str(path) for one in outputs_of_small_study() for path in one.files.all]
    assert "results/tables/s/accuracy.csv" in files
    assert "results/tables/s/selected_settings.md" in files
    assert "results/figures/s.pdf" in files
    assert next(one.target for one in outputs_of_small_study()) == "s_accuracy"


MARGINS = {"learner": "boost", "dataset": "toy-line", "epsilon": 1}
FREE = {"learner": "majority", "epsilon": math.inf}
MAJORITY = {"entry": "majority", "epsilon": 1}


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (["accurracy"], "unknown output 'accurracy'; did you mean 'accuracy'?"),
        ([{"sparsity": {"lerner": "boost"}}], "no option 'lerner'; did you mean 'learner'?"),
        ([{"sparsity": {}}], "sparsity needs the option 'learner'"),
        ([{"sparsity": {"learner": "bost"}}], "no learner 'bost'; did you mean 'boost'?"),
        ([{"sparsity": {"learner": 3}}], "'learner' must be an entry"),
        ([{"accuracy": {"name": "../a"}}], "'name' must have only letters, digits, _ and -; got"),
        (["accuracy", {"rademacher": {"learner": "boost", "epsilon": 3}}], "no epsilon = 3"),
        (["accuracy", {"rademacher": {"learner": "boost", "epsilon": True}}], "got True"),
        ([{"model_card": FREE | {"dataset": "toy-line"}}], "must be one of lazybb, topdown; got"),
        (["accuracy", {"rademacher": FREE}], "learner must be LazyBB with 1-rules; got majority"),
        (
            [{"rademacher": {"learner": "boost", "epsilon": 1, "draws": 1}}],
            "draws must be at least",
        ),
        ([{"advantage_and_margins": {**MARGINS, "rounds": 5}}], "rounds must be above 19 and "),
        ([{"advantage_and_margins": {**MARGINS, "density": 2}}], "density must be above 0 and "),
        (["learning_curves"], "learning_curves is made from accuracy; add accuracy"),
        (["accuracy", {"accuracy": {}}], "accuracy occurs twice; give each its own name"),
        ([{"sweep": {"x": "n_round"}}], "of a learner; got 'n_round'"),
        ([{"sweep": {"x": "epsilon", "scale": "wide"}}], "got 'wide'"),
        ([{"sweep": {"x": "epsilon", "y": "Acuracy"}}], "training; got 'Acuracy'; did you mean"),
        ([{"sweep": {"x": "epsilon", "panels": ["datset"]}}], "did you mean 'dataset'?"),
        ([{"boxes": {"x": "epsilon", "at": {"epsilo": 1}}}], "got 'epsilo'"),
        ([{"sweep": {"x": "epsilon", "at": {"epsilon": 0.7}}}], "a value of a curve; got 0.7"),
        ([{"sweep": {"x": "epsilon", "at": {"dataset": "toyline"}}}], "of a curve; got 'toyline'"),
        ([{"sweep": {"x": "epsilon", "at": MAJORITY}}], "at: one curve must have all the values"),
        ([{"sweep": {"x": "epsilon", "lines": []}}], "several results: calibration vary too"),
        (["claims"], "must be in papers/claims.yaml, which does not exist"),
        ([{"printed": {"learner": "boost"}}], "paper must have printed numbers"),
        ([{"audit": {"learners": ["lazyb"]}}], "exists of 'lazyb'; did you mean 'lazybb'?"),
        ([{"audit": {"learners": [["lazybb"]]}}], "of \"['lazybb']\""),
        ([{"ledgers": {"epsilons": [[1]]}}], "an ε of the study; got [1]"),
        (["accuracy", {"learning_curves": {"measures": [["auc"]]}}], "measures must be a list of"),
    ],
)
def test_an_output_that_cannot_be_made_is_named(outputs, message):
    with pytest.raises(StudyError, match=f"^s.yaml: outputs: .*{re.escape(message)}"):
        outputs_of_small_study(*outputs)


@pytest.mark.parametrize(
    ("file", "calibrations", "message"),
    [
        ("sparsty", ["published", "proved"], "must have a file named sparsity, rademacher, m"),
        ("model_card", ["published", "proved"], "must have model_accuracy if it has model_card"),
        ("settings", ["proved"], "learner must have the calibrations published, proved"),
    ],
)
def test_printed_numbers_without_a_counterpart_are_refused(
    tmp_path, monkeypatch, file, calibrations, message
):
    monkeypatch.chdir(tmp_path)
    Path("papers/mine/printed").mkdir(parents=True)
    Path(f"papers/mine/printed/{file}.csv").touch()
    boost = {"learner": "lazybb", "calibrations": calibrations}
    with pytest.raises(StudyError, match=message):
        outputs_of_small_study(
            {"printed": {"learner": "boost"}}, learners={"boost": boost}, paper="mine"
        )


@pytest.mark.parametrize("output", [{"model_card": MARGINS}, {"advantage_and_margins": MARGINS}])
def test_votes_added_to_a_public_start_are_not_shown_separately(output):
    boost = {"learner": "lazybb", "fixed": {"start": "public"}}
    with pytest.raises(StudyError, match="must not have a public start; got boost~proved"):
        outputs_of_small_study(output, learners={"boost": boost}, neighbours="private-columns")


@pytest.mark.parametrize(
    "outputs",
    [
        [{"sparsity": {"learner": "boost"}}],
        [{"advantage_and_margins": MARGINS}],
        [{"model_card": MARGINS}],
        ["accuracy", {"rademacher": {"learner": "boost", "epsilon": 1}}],
    ],
)
def test_curves_that_the_thesis_outputs_would_mix_up_are_refused(outputs):
    boost = {"learner": "lazybb", "deltas": [0, 1e-5]}
    result = re.escape("got boost~proved and boost~proved~delta=1e-05")
    with pytest.raises(StudyError, match=result):
        outputs_of_small_study(*outputs, learners={"boost": boost})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"figure": "f", "outputs": ["accuracy"]}, "'figure' names the file of learning_curves"),
        ({"finalists": {"settings": 2, "draws": 2}}, "'finalists' are a second round"),
    ],
)
def test_keys_without_effect_are_refused(changes, message):
    with pytest.raises(StudyError, match=f"s.yaml: {message}.*leave it out"):
        outputs_of_small_study(**changes)
    boost = {**SMALL_STUDY["learners"]["boost"], "grid": {"n_rounds": [5, 9]}}
    assert outputs_of_small_study(
        figure="f", finalists={"settings": 2, "draws": 2}, learners={"boost": boost}
    )


def test_without_selection_there_is_no_table_of_selected_settings():
    resampling = {"select": "all", "splits": {"folds": 2}}
    changes = {key: value for key, value in SMALL_STUDY.items() if key not in ("folds", "repeats")}
    made = from_mapping({**changes, **resampling, "outputs": ["accuracy"]}, "s", "s.yaml")
    with pytest.raises(StudyError, match="'select: all' has none"):
        plan.outputs_of(made, "s.yaml")


def test_a_study_that_cannot_be_read_stops_only_its_own_targets(tmp_path):
    run = plan_with_studies(tmp_path, good=SMALL_STUDY, bad="title: [")
    assert list(run.studies) == ["good"]
    (note,) = run.notes(["good"])
    assert "bad.yaml is not valid YAML" in note
    run.refuse("good")
    assert set(run.refusals) == {"bad", "papers"}
    with pytest.raises(StudyError, match="not valid YAML"):
        run.refuse("bad")


def test_a_configured_study_that_can_not_be_read_stops_a_plain_run(tmp_path):
    # The audit uses the first study.
    run = plan_with_studies(
        tmp_path, ("bad", "good"), good=SMALL_STUDY, bad=small_study_with(epsilons=[-1])
    )
    assert set(run.refusals) == {"bad", "all", "manifest", "papers", "audit", "leaderboard"}
    assert "epsilon must be a number > 0 (inf: not private); got -1.0" in run.refusals["audit"]


def test_a_page_without_a_table_of_accuracy_is_refused(tmp_path):
    run = plan_with_studies(tmp_path, good=small_study_with(outputs=["selected_settings"]))
    (why,) = run.refusals.values()
    assert why == "leaderboard: no configured study has the output accuracy, which it shows: good"


def test_notes_concern_the_requested_or_configured_studies(tmp_path):
    large = {"privgam": {"learner": "privgam", "deltas": [0.5]}}
    run = plan_with_studies(tmp_path, good=SMALL_STUDY, large=small_study_with(learners=large))
    for words in (["large"], ["-n", "large_accuracy"], ["results/tables/large/accuracy.csv"]):
        assert "is not private on toy-line" in run.notes(words)[0]
    assert run.notes(["good", "--cores", "2"]) == run.notes(["-n"]) == []


def test_epsilons_that_no_learner_takes_are_reported(tmp_path):
    own = {**SMALL_STUDY["learners"], "boost": {"learner": "lazybb", "epsilons": [3]}}
    both = {**own, "gam": {"learner": "privgam"}}
    run = plan_with_studies(
        tmp_path, good=small_study_with(learners=own), used=small_study_with(learners=both)
    )
    (note,) = run.notes(["good"])
    assert note.endswith("good.yaml: epsilons: no learner uses them, as each has its own")
    assert run.notes(["used"]) == []


@pytest.mark.parametrize("name", ["all", "summary", "train", "audit"])
def test_a_study_may_not_be_called_like_a_rule(tmp_path, name):
    run = plan_with_studies(tmp_path, **{"good": SMALL_STUDY, name: SMALL_STUDY})
    assert f"config/studies/{name}.yaml: '{name}' is already a target" in run.broken[name]


def test_two_studies_may_not_write_the_same_file(tmp_path):
    run = plan_with_studies(
        tmp_path, good=small_study_with(figure="one"), another=small_study_with(figure="one")
    )
    # The configured folder takes precedence.
    assert list(run.studies) == ["good"]
    assert "'results/figures/one.pdf' is already" in run.broken["another"]
    assert "config/studies/good.yaml" in run.broken["another"]


def test_a_paper_has_its_studies_in_its_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    configuration = plan_with_studies(tmp_path, good=SMALL_STUDY).configuration
    folder = tmp_path / "papers/mine/studies"
    folder.mkdir(parents=True)
    (folder / "first.yaml").write_text(yaml.safe_dump(small_study_with(paper="mine")))
    run = reading.read({**configuration, "studies": ["first"]}, tmp_path)
    assert list(run.studies) == ["first", "good"]
    assert str(run.files["first"]) == "papers/mine/studies/first.yaml"
    # If two studies have one name, the study in the configured folder counts.
    (folder / "good.yaml").write_text("title: [")
    assert str(reading.read(configuration, tmp_path).files["good"]) == "config/studies/good.yaml"
    # A run elsewhere finds papers in its own folder, next to a configured folder.
    other = tmp_path / "elsewhere/papers/mine/studies"
    other.mkdir(parents=True)
    (other / "first.yaml").write_text(yaml.safe_dump(SMALL_STUDY))
    monkeypatch.chdir(tmp_path / "elsewhere")
    files = reading.study_files({}, tmp_path)
    assert {name: str(path) for name, path in files.items()} == {
        "first": "papers/mine/studies/first.yaml", "good": "../config/studies/good.yaml"
    }  # fmt: skip
    assert reading.study_files({"studies_folder": "../config/studies"}, tmp_path) == files
    # Then the workflow's own studies are left out.
    monkeypatch.chdir(tmp_path)
    assert list(reading.study_files({"studies_folder": "config/studies"}, tmp_path)) == ["good"]


def test_a_study_name_of_two_papers_belongs_to_neither(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    configuration = plan_with_studies(tmp_path, good=SMALL_STUDY).configuration
    for paper in ("mine", "other"):
        folder = tmp_path / f"papers/{paper}/studies"
        folder.mkdir(parents=True)
        (folder / "first.yaml").write_text(yaml.safe_dump(SMALL_STUDY))
    run = reading.read(configuration, tmp_path)
    assert list(run.studies) == ["good"]
    assert run.broken == {
        "first": "papers/mine/studies/first.yaml and papers/other/studies/first.yaml "
        "must not have the same name; rename one"
    }
    # The configured folder takes precedence over papers.
    shutil.copy("config/studies/good.yaml", "config/studies/first.yaml")
    assert list(reading.read(configuration, tmp_path).studies) == ["first", "good"]


def test_studies_with_the_key_paper_are_papers(tmp_path):
    run = plan_with_studies(tmp_path, good=SMALL_STUDY, paper=small_study_with(paper="mine"))
    assert run.paper_studies == ["paper"]
    files = run.files_of(run.paper_studies)
    assert "results/tables/paper/accuracy.csv" in files
    assert not [path for path in files if "/good" in path]


# Outputs of the whole run.
RUN = {"audit", "leaderboard"}


def test_the_rules_are_all_reserved():
    text = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    text += (ROOT / "workflow/Snakefile").read_text()
    assert set(re.findall(r"^ *rule (\w+):", text, re.MULTILINE)) | RUN == set(plan.RULES)


def test_rules_run_in_the_environment_that_snakemake_runs_in():
    """An environment of a rule would lack this package, because it has no path to the checkout."""
    for path in [ROOT / "workflow/Snakefile", *(ROOT / "workflow/rules").glob("*.smk")]:
        assert not re.findall(r"^ *(conda|container|envmodules):", path.read_text(), re.MULTILINE)


def test_rules_of_the_login_node_can_be_chosen(tmp_path):
    run = plan_with_studies(tmp_path, good=SMALL_STUDY)
    assert run.is_local("data")
    assert run.is_local("outputs")
    other = replace(run, configuration={**run.configuration, "local_jobs": ["outputs"]})
    assert not other.is_local("data")
    assert other.is_local("outputs")


def test_every_output_has_a_caption_in_the_report():
    captions = [*(ROOT / "workflow/report").glob("*.rst"), *(ROOT / "papers").glob("*/*.rst")]
    assert {output.report_text for output in OUTPUTS.values()} == {
        path for path in captions if path.stem != "workflow"
    }


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_made_up_study(tmp_path)


def digests():
    made = reading.read_one(Path("config/studies/tiny.yaml"), 1, 30)
    return {one.key: made.digest(one) for one in made.study_outputs("tiny")}


def changed_digests(before):
    return {key for key, digest in digests().items() if digest != before[key]}


def test_a_new_version_remakes_an_output_and_its_readers(tiny, monkeypatch):
    before = digests()
    monkeypatch.setattr(type(OUTPUTS["learning_curves"]), "version", 99)
    assert changed_digests(before) == {"learning_curves"}
    monkeypatch.setattr(type(OUTPUTS["sparsity"]), "version", 99)
    assert changed_digests(before) == {"learning_curves", "sparsity", "printed"}


def test_the_digest_covers_everything_that_is_read(tiny):
    before = digests()
    printed = Path("papers/tiny/printed/settings.csv")
    printed.write_text(printed.read_text().replace(",9\n", ",5\n"))
    assert changed_digests(before) == {"printed"}
    before = digests()
    rule = {"learner": "one_rule", "vary": {"mechanism": ["auto", "permute_and_flip"]}}
    write_made_up_study(Path(), learners={**MADE_UP_STUDY["learners"], "rule": rule})
    # The table of Rademacher complexity reads the accuracy table.
    assert {"sparsity", "model_card", "audit"}.isdisjoint(changed_digests(before))
    assert {"accuracy", "sweep"} <= changed_digests(before)


def make(made, request):
    context = made.context(request)
    request.output.make(context)
    record.output_record(context).write(made.digest(request))


def test_a_record_tells_whether_files_are_current(tiny):
    request = tiny.study_outputs("tiny")[0]
    assert not tiny.is_current(request)
    make(tiny, request)
    assert tiny.is_current(request)
    assert not reading.read_one(Path("config/studies/tiny.yaml"), 2, 30).is_current(request)
    # An output of failed trainings is out of date: they are tried again.
    path = record.output_record(tiny.context(request)).path
    written = json.loads(path.read_text())
    path.write_text(json.dumps({**written, "complete": False}))
    assert not tiny.is_current(request)
    path.write_text(json.dumps(written))
    table = Path("results/tables/tiny/accuracy.csv")
    text = table.read_text()
    table.write_text(text.replace("0.7", "0.5", 1))
    assert not tiny.is_current(request)
    table.write_text(text)
    assert tiny.is_current(request)
    # The data were encoded again, outside of a run.
    domain = Path("results/data/toy-line/domain.json")
    domain.write_text(re.sub(r'"checksum": "\w', '"checksum": "x', domain.read_text()))
    assert not tiny.is_current(request)


def test_a_figure_is_made_again_of_a_table_of_other_data(tiny):
    """The figure reads only the table, of the same study, and no dataset."""
    table, _, figure = tiny.study_outputs("tiny")[:3]
    make(tiny, table)
    make(tiny, figure)
    assert tiny.is_current(figure)
    path = table.files.frames[0]
    path.write_text(path.read_text().replace("0.7", "0.5", 1))
    assert not tiny.is_current(figure)


def test_leftover_tables_are_named(tiny):
    request = tiny.study_outputs("tiny")[0]
    make(tiny, request)
    assert tiny.notes(["tiny"]) == []
    write_made_up_study(Path(), outputs=["selected_settings"], paper=None)
    shrunk = reading.read_one(Path("config/studies/tiny.yaml"), 1, 30)
    (note,) = shrunk.notes(["tiny"])
    assert note == (
        "left over: results/tables/tiny/accuracy.csv and 2 more: no study makes them now (see "
        "results/made)"
    )
    # The files may belong to a study in another folder, or to a study with an error.
    assert replace(shrunk, studies={}).notes([]) == []
    for file in request.files.all:
        file.unlink()
    assert shrunk.notes(["tiny"]) == []


def test_leftover_tables_with_their_own_name_are_named(tiny):
    write_made_up_study(Path(), outputs=[{"accuracy": {"name": "mine"}}], paper=None)
    named = reading.read_one(Path("config/studies/tiny.yaml"), 1, 30)
    make(named, named.study_outputs("tiny")[0])
    assert named.notes([]) == []
    (note,) = tiny.notes([])
    assert note.startswith("left over: results/tables/mine.csv and 2 more: no study makes them now")
    # Outputs over all studies are not left over while the first study has an error.
    Path("results/made/mine.json").rename("results/made/audit.json")
    assert tiny.notes([]) == []
    Path("results/made/audit.json").rename("results/made/mine.json")
    assert replace(tiny, studies={}).notes([]) == []


def is_stale(run, request, **changes):
    """Ask a new plan without cached answers, as each start of Snakemake does."""
    new = replace(run, configuration={**run.configuration, **changes})
    return new.is_stale(request.files.all, partial(new.is_current, request))


def test_existing_files_that_are_not_current_are_stale(tiny):
    request = tiny.study_outputs("tiny")[0]
    assert not is_stale(tiny, request)
    make(tiny, request)
    assert not is_stale(tiny, request)
    assert is_stale(tiny, request, seed=2)
    table = Path("results/tables/tiny/accuracy.csv")
    table.write_text(table.read_text() + "x")
    assert is_stale(tiny, request)
    # A plan caches its answers, so outputs that its run makes change none.
    run = replace(tiny)
    for _ in range(2):
        assert run.is_stale(request.files.all, partial(run.is_current, request))
        make(tiny, request)
    assert not is_stale(tiny, request)


def test_files_that_cannot_be_checked_are_stale(tiny):
    """For example, data without a description; the job reports the reason."""
    domain = Path("results/data/toy-line/domain.json")
    domain.write_text(domain.read_text().replace('"name": "toy-line"', '"name": "gone"'))
    is_current = partial(datasets.is_current, domain.parent)
    assert tiny.is_stale([domain], is_current)
    assert not tiny.is_stale([Path("results/data/other/domain.json")], is_current)


def test_a_job_with_trainings_that_failed_is_stale(tiny):
    job, *_ = tiny.jobs("tiny").jobs.values()
    assert not replace(tiny).is_stale([job.file], partial(tiny.is_done, job))
    facts = [{**one, "failed": 1} for one in job.facts.values()]
    results.write(job.file, [results.table([{}] * one.pop("rows")) for one in facts], facts)
    assert replace(tiny).is_stale([job.file], partial(tiny.is_done, job))


TOGETHER = {"title": "t", "studies": ["tiny"], "outputs": [{"claims": {"name": "all_claims"}}]}


def plan_with_tiny(folder, **studies):
    """Write studies next to the made-up one, and return the plan of all of them."""
    shutil.copytree(ROOT / "workflow/schemas", folder / "workflow/schemas", dirs_exist_ok=True)
    for name, content in studies.items():
        (folder / f"config/studies/{name}.yaml").write_text(yaml.safe_dump(content))
    configuration = {"studies": ["tiny"], "audit": False, "seed": 1, "seconds_per_job": 30}
    return reading.read(configuration, folder)


def test_claims_of_other_studies_come_together(tiny, tmp_path):
    run = plan_with_tiny(tmp_path, whole=TOGETHER)
    assert run.broken == {}
    request = run.outputs["all_claims"]
    assert run.inputs(request) == ["results/tables/tiny/claims.csv"]
    for one in (*tiny.study_outputs("tiny"), request):
        if one.output.word in ("accuracy", "claims"):
            one.output.make(run.context(one))
    table = pd.read_csv("results/tables/all_claims.csv")
    assert table[["name", "study"]].to_numpy().tolist() == [["C1", "tiny"]]
    assert (
        table["verdict"].tolist()
        == pd.read_csv("results/tables/tiny/claims.csv")["verdict"].tolist()
    )
    # A job reads only its study and the studies that it names; its digest equals the run's.
    job = reading.read_one(run.files["whole"], 1, 30, {"tiny": run.files["tiny"]})
    before = run.digest(request)
    assert job.digest(job.study_outputs("whole")[0]) == before
    claimed = Path("papers/tiny/claims.yaml")
    claimed.write_text(claimed.read_text().replace("above: 0", "above: 1"))
    job = reading.read_one(run.files["whole"], 1, 30, {"tiny": run.files["tiny"]})
    assert job.digest(job.study_outputs("whole")[0]) != before


def test_a_claim_about_a_missing_study_is_named(tiny, tmp_path):
    claimed = Path("papers/tiny/claims.yaml")
    content = yaml.safe_load(claimed.read_text())
    content["claims"].append({**content["claims"][0], "name": "C9", "study": "tyny"})
    claimed.write_text(yaml.safe_dump(content))
    result = "claims: papers/tiny names a study 'tyny' that does not exist; did you mean 'tiny'?"
    assert result in plan_with_tiny(tmp_path).broken["tiny"]
    # The studies of a paper may be only in the paper's folder.
    Path("papers/tiny/studies").mkdir()
    shutil.copy("config/studies/tiny.yaml", "papers/tiny/studies/tyny.yaml")
    assert plan_with_tiny(tmp_path).broken.get("tiny") is None


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"studies": ["tyny"]}, "studies: there is no study 'tyny'; did you mean 'tiny'?"),
        ({"studies": ["other"]}, "studies: other has no output claims; add it"),
        ({"studies": ["more"]}, "studies: more combines tables of other studies"),
        ({"studies": ["ill"]}, "studies: ill: config/studies/ill.yaml: splits: folds alone"),
        ({"epsilons": [1]}, "'epsilons' is for a study that trains"),
        ({"outputs": ["accuracy"]}, "accuracy reads results of its own study; of other studies"),
        ({"outputs": None}, "'studies' needs 'outputs'"),
    ],
)
def test_studies_that_can_not_come_together_are_named(tiny, tmp_path, changes, expected):
    raw = {key: value for key, value in {**TOGETHER, **changes}.items() if value is not None}
    ill = small_study_with(splits={"folds": 2}, outputs=["accuracy"])
    del ill["folds"], ill["repeats"]
    others = {"other": SMALL_STUDY, "ill": ill}
    more = {**TOGETHER, "outputs": [{"claims": {"name": "more_claims"}}]}
    run = plan_with_tiny(tmp_path, whole=raw, more=more, **others)
    assert run.broken["whole"].startswith("config/studies/whole.yaml: ")
    assert expected in run.broken["whole"]
    assert "whole" not in run.studies
    assert "tiny" in run.studies


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        (["god/accuracy"], "leaderboard: there is no study 'god'; did you mean 'good'?"),
        (["good/accuracy", "good/ledgers"], "leaderboard: good has no output ledgers; add it"),
        (["ill/accuracy"], "leaderboard: ill: config/studies/ill.yaml: learners"),
        (["good/selected_settings"], "tables: good/accuracy is required to include good"),
        (["good"], "tables: each must be <study>/<accuracy or"),
    ],
)
def test_tables_that_a_page_can_not_show_are_named(tmp_path, tables, expected):
    page = small_study_with(outputs=["accuracy", {"leaderboard": {"tables": tables}}])
    ill = small_study_with(epsilons=[-1])
    run = plan_with_studies(tmp_path, good=SMALL_STUDY, ill=ill, page=page)
    assert run.broken["page"].startswith("config/studies/page.yaml: outputs: ")
    assert expected in run.broken["page"]
    assert list(run.studies) == ["good"]
    # A study that reads a broken study is broken too; a study that reads a good one is not.
    shown = [
        small_study_with(outputs=["accuracy", {"leaderboard": {"tables": [f"{name}/accuracy"]}}])
        for name in ("page", "good")
    ]
    other = plan_with_studies(
        tmp_path / "other", good=SMALL_STUDY, ill=ill, page=page, again=shown[0], fine=shown[1]
    )
    assert list(other.studies) == ["fine", "good"]
    assert "again.yaml: outputs: leaderboard: page: config/studies/page" in other.broken["again"]


def test_canaries_go_into_the_first_study_that_has_data(tiny, tmp_path):
    run = plan_with_tiny(tmp_path, whole=TOGETHER)
    of = replace(run, configuration={**run.configuration, "studies": ["whole", "tiny"]})
    assert of.audited_dataset == "toy-line"
    alone = replace(run, configuration={**run.configuration, "studies": ["whole"]})
    with pytest.raises(StudyError, match="whole: put tables together and train nothing"):
        alone.audited_dataset  # noqa: B018


def test_an_output_may_not_be_called_like_its_study(tmp_path):
    sweep = {"sweep": {"name": "mine", "x": "epsilon"}}
    run = plan_with_studies(tmp_path, good=SMALL_STUDY, mine=small_study_with(outputs=[sweep]))
    assert "'mine' is already a target or a file of config/studies/mine" in run.broken["mine"]


def test_a_missing_file_of_a_user_is_reported_with_the_remedy(tmp_path):
    ads = small_study_with(datasets=["avazu"], outputs=["accuracy"])
    run = plan_with_studies(tmp_path, good=SMALL_STUDY, ads=ads)
    run.refuse("good")
    with pytest.raises(StudyError, match=r"dataset 'avazu': there is no file .*get train\.gz"):
        run.refuse("ads")
