"""Stored runs of other code than the present: notes of a plan, and how runs are replaced."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from made_up_study import BOOST, MAJORITY, write_made_up_study
from small_study import ROOT, SMALL_STUDY, plan_with_studies, study_with

from privcurve import datasets
from privcurve.experiments import provenance, results
from privcurve.experiments.curves import CODED, STORE
from privcurve.experiments.jobs import StudyJobs
from privcurve.experiments.provenance import SELECTION
from privcurve.experiments.stamp import stamp
from privcurve.experiments.study import StudyError
from privcurve.experiments.work import work
from privcurve.figures import style
from privcurve.learners.majority import NoisyMajorityClassifier
from privcurve.outputs import record
from privcurve.outputs.base import FIGURE_ENDINGS
from privcurve.workflow import job as program
from privcurve.workflow import reading
from privcurve.workflow.other_code import MARK, REMEDY

A, B = 12 * "a", 12 * "b"
OUTPUTS = [
    *("accuracy", "learning_curves", "leaderboard", {"audit": {"learners": ["one_rule"]}}),
    {"shapes": {"learner": "gam", "epsilon": 2}},
]
LEARNERS = {"boost": BOOST, "gam": {"learner": "privgam"}, "majority": MAJORITY}
UNDER = "under the same version"


@pytest.fixture
def code(tmp_path, monkeypatch):
    """Return a function that changes the code of a learner; change to an empty folder."""
    monkeypatch.chdir(tmp_path)
    changed = {}

    def change(learner, letter):
        changed[learner] = 12 * letter

    monkeypatch.setattr(provenance, "_compute", lambda learners, _: changed.get(learners, A))
    return change


def plan(**changes):
    """Return the plan of the written study, as a new process reads it."""
    made = reading.read_one(Path("config/studies/tiny.yaml"), 1, 30)
    return replace(made, configuration={**made.configuration, **changes})


def lines(made):
    return [note.removeprefix(MARK) for note in made.notes(["tiny"]) if note.startswith(MARK)]


@pytest.fixture
def tiny(code, monkeypatch):
    """Write a made-up study with an audit table; write notes in place of figures."""

    def write_notes(figure, frame, stem, notes):
        stem.parent.mkdir(parents=True, exist_ok=True)
        for ending in FIGURE_ENDINGS:
            is_frame = ending == ".csv"
            text = frame.to_csv() if is_frame else "\n".join(notes)
            stem.with_name(stem.name + ending).write_text(text)

    monkeypatch.setattr(style, "save", write_notes)
    write_made_up_study(Path(), learners=LEARNERS, outputs=OUTPUTS, paper=None)
    record.audit_record("one_rule", "toy-line").write("", code={"one_rule": A})


@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    return tmp_path_factory.mktemp("made")


@pytest.fixture
def made_outputs(tiny, made_once):
    """Write the study with these outputs."""
    if not any(made_once.iterdir()):
        make_all()
        shutil.copytree(Path("results"), made_once / "results")
    shutil.rmtree("results")
    shutil.copytree(made_once / "results", "results")


def make(request):
    program.make(plan(), request)


def make_all():
    requests = plan().study_outputs("tiny")
    for request in sorted(requests, key=lambda one: len(one.reads.outputs)):
        if not plan().is_current(request):
            make(request)


def current():
    return {one.key for one in plan().study_outputs("tiny") if plan().is_current(one)}


WORDS = {"accuracy", "learning_curves", "leaderboard", "audit", "shapes"}


def contents():
    paths = [file for one in plan().study_outputs("tiny") for file in one.files.all]
    return {str(path): path.read_bytes() for path in paths}


@pytest.mark.usefixtures("made_outputs")
def test_runs_tables_figures_and_pages_note_changed_code(code):
    assert current() == WORDS
    assert lines(plan()) == []
    before = contents()
    code("lazybb", "b")
    (runs, remedy) = lines(plan())
    assert runs == f"36 of 36 runs of lazybb in tiny come from other code than the present, {UNDER}"
    assert remedy == REMEDY
    # Outputs that read tables are made again too.
    assert current() == {"audit", "shapes"}
    make_all()
    assert current() == WORDS
    note = "Other code: 36 of 36 runs of lazybb come from other code than the code that made this"
    for path in ("results/tables/tiny/accuracy.md", "results/tables/tiny/accuracy.tex"):
        assert note in Path(path).read_text().replace("\\_", "_")
    assert note in Path("results/tiny/leaderboard.html").read_text()
    assert note in Path("results/figures/tiny.png").read_text()
    for word in ("accuracy", "learning_curves", "leaderboard"):
        (text,) = json.loads(Path(f"results/made/tiny_{word}.json").read_text())["notes"]
        assert text.startswith(note)
    after = contents()
    numbers = {path for path in before if path.endswith(".csv")}
    assert {path: before[path] for path in numbers} == {path: after[path] for path in numbers}
    # Back to the first code.
    code("lazybb", "a")
    assert lines(plan()) == []
    make_all()
    assert contents() == before


@pytest.mark.usefixtures("tiny")
def test_a_note_is_printed_once_per_run(code):
    code("lazybb", "b")
    code("majority_class", "b")
    run = plan()
    first = lines(run)
    assert [line.partition(" in tiny")[0] for line in first[:-1]] == [
        "36 of 36 runs of lazybb", "7 of 7 runs of majority_class"
    ]  # fmt: skip
    assert lines(run) == run.remarks(0) == []
    # The end of a run has the note if one of its jobs has met such runs.
    jobs = plan().jobs("tiny").jobs.values()
    ended = max(job.file.stat().st_mtime for job in jobs)
    run = plan()
    run.jobs("tiny")
    assert run.remarks(ended + 1) == []
    assert [line.removeprefix(MARK) for line in run.remarks(ended)] == first


@pytest.mark.usefixtures("made_outputs")
def test_a_model_that_an_output_trains_for_itself_is_trained_again(code):
    assert json.loads(Path("results/made/tiny_shapes.json").read_text())["code"] == {"privgam": A}
    code("privgam", "b")
    assert "shapes" not in current()
    make(next(one for one in plan().study_outputs("tiny") if one.key == "shapes"))
    assert "shapes" in current()


@pytest.mark.usefixtures("made_outputs")
def test_an_audit_of_other_code_is_noted_and_made_again_on_request(code):
    code("one_rule", "b")
    assert current() == WORDS - {"audit", "leaderboard"}
    make_all()
    text = Path("results/tables/tiny/audit.md").read_text()
    assert "Other code: the audit of one_rule comes from other code than" in text
    assert current() == WORDS
    digest = record.audit_digest("one_rule", plan().audited_dataset, plan().seed)
    record.audit_record("one_rule", "toy-line").write(digest, code={"one_rule": A})
    assert plan().audit_is_current("one_rule")
    assert not plan(fresh=True).audit_is_current("one_rule")
    result = [note for note in plan().notes(["audit"]) if note.startswith(MARK)]
    assert (
        result[0] == f"{MARK}the audit of one_rule comes from other code than the present, {UNDER}"
    )


def test_a_broken_first_study_does_not_hide_the_notes(tmp_path, monkeypatch):
    """This holds although the audit plants its canaries in the first study's data."""
    made = plan_with_studies(tmp_path, configured=("bad", "good"), good=SMALL_STUDY, bad="title: 1")
    monkeypatch.chdir(tmp_path)
    made = replace(made, configuration={**made.configuration, "audit": True})
    assert made.audit is None
    assert [note for note in made.notes([]) if note.startswith(MARK)] == []


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(("word", "again"), [(True, True), ("true", True), ("false", False)])
def test_on_request_jobs_with_runs_of_other_code_are_done_again(code, word, again):
    (job,) = plan().jobs("tiny").jobs.values()
    assert plan(fresh=word).is_done(job)
    code("majority_class", "b")
    assert plan().is_done(job)
    assert plan(fresh=word).is_done(job) != again


@pytest.mark.usefixtures("tiny")
def test_runs_of_earlier_versions_are_named_once_and_then_belong_to_the_code_of_that_time(code):
    (job,) = plan().jobs("tiny").jobs.values()
    facts = [{k: v for k, v in fact.items() if k != "code"} for fact in job.facts.values()]
    tables = [results.table([{}] * fact.pop("rows")) for fact in facts]
    results.write(job.file, tables, facts)
    run = plan()
    stored = "code that an earlier privcurve did not store; from now on they count as runs of the"
    result = lines(run)
    assert [line for line in result if stored not in line] == []
    assert [line.partition(" come")[0] for line in result] == [
        *("36 runs of lazybb", "7 runs of majority_class", "14 runs of privgam"),
        "7 selections of settings",
    ]
    assert not Path(STORE, "same_code.json").exists()
    # If the store cannot be written, the next run prints the note again.
    STORE.write_text("a file, where the store wants a folder")
    run.code.adopt()
    STORE.unlink()
    run = plan()
    assert lines(run) == result
    run.code.adopt()
    assert lines(plan()) == []
    code("lazybb", "b")
    (line, _) = lines(plan())
    assert line.startswith("36 of 36 runs of lazybb in tiny come from other code than the present")


# Real trainings -----------------------------------------------------------------------------


NOISY = {"noisy": {"learner": "noisy_majority"}}
GRID = {"noisy": {"learner": "noisy_bayes", "grid": {"smoothing": [1.0, 5.0]}}}


def jobs_of(learners=NOISY, seconds_per_job=30, **changes):
    return StudyJobs(study_with(learners, **changes), 1, seconds_per_job)


def run(study_jobs, **how):
    if not (CODED / "toy-line").exists():
        datasets.save(datasets.load("toy-line"), CODED / "toy-line")
    for job in study_jobs.jobs.values():
        work(job, **how)
    return provenance.add_up(job.trained for job in study_jobs.jobs.values())


@pytest.mark.usefixtures("code")
@pytest.mark.parametrize("seconds_per_job", [30, 1e-9])
def test_a_job_records_the_code_of_its_runs_and_selections(code, seconds_per_job):
    """In one job, and in one job per run."""
    n_grid, n_fresh = 2 * 2 * 3, 2 * 2
    trained = run(jobs_of(GRID, seconds_per_job))
    assert trained["noisy_bayes"] == {A: n_grid + n_fresh}
    assert trained[SELECTION] == {A: 2}
    code("noisy_bayes", "b")
    code(SELECTION, "b")
    grown = run(jobs_of(GRID, seconds_per_job, repeats=3))
    assert grown["noisy_bayes"] == {A: n_grid + n_fresh, B: 2}
    assert grown[SELECTION] == {B: 2}
    best = [job for job in jobs_of(GRID, 1e-9, repeats=3).jobs.values() if job.stage]
    # The runs that select a setting come from the old code, the final models from the new code.
    if seconds_per_job < 1:
        assert all(A in job.trained["noisy_bayes"] for job in best)


@pytest.mark.usefixtures("code")
def test_with_the_word_fresh_a_job_trains_what_other_code_has_trained(code, monkeypatch, capsys):
    def done():
        return re.findall(r"trained (\d+) runs, reused (\d+)", capsys.readouterr().out)

    run(jobs_of())
    assert done() == [("6", "0"), ("4", "0")]
    code("noisy_majority", "b")
    run(jobs_of(epsilons=[0.5, 2, 3]))
    assert done() == [("3", "6"), ("2", "4")]
    assert run(jobs_of(epsilons=[0.5, 2, 3]), fresh=True)["noisy_majority"] == {B: 15}
    assert done() == [("6", "3"), ("4", "2")]
    # Another study takes these runs from the store.
    run(jobs_of(name="other"))
    assert done() == [("0", "6"), ("0", "4")]


@pytest.mark.usefixtures("code")
def test_runs_with_the_same_bits_are_stamped(code):
    run(jobs_of(GRID))
    code("noisy_bayes", "b")
    code(SELECTION, "b")
    messages = []
    assert stamp({"t": jobs_of(GRID)}, messages.append) == []
    assert messages == [
        "16 runs of noisy_bayes: stamped; 3 were retrained with the same bits",
        "2 selections of settings: stamped; 2 were retrained with the same bits",
    ]
    others = provenance.Stamps(STORE).count_others
    assert others(run(jobs_of(GRID))) == {}
    assert stamp({"t": jobs_of(GRID)}, messages.append) == []
    assert len(messages) == 2


@pytest.mark.usefixtures("code")
def test_runs_with_other_bits_are_not_stamped(code, monkeypatch):
    run(jobs_of(epsilons=[0.1, 0.2, 0.3, 0.4]))
    code("noisy_majority", "b")
    right = NoisyMajorityClassifier._scores
    monkeypatch.setattr(NoisyMajorityClassifier, "_scores", lambda self, X: -right(self, X))
    messages = []
    jobs = {"t": jobs_of(epsilons=[0.1, 0.2, 0.3, 0.4])}
    assert stamp(jobs, messages.append) == ["noisy_majority"]
    assert re.fullmatch(
        r"20 runs of noisy_majority: not stamped: t/toy-line/noisy~proved, ε = 0\.\d, \{\}, "
        r"fold ./., repeat .: \w+ was [\d.]+ and is [\d.]+",
        messages[0],
    ), messages
    assert not (STORE / "same_code.json").exists()
    monkeypatch.undo()


@pytest.mark.usefixtures("code")
def test_a_sample_is_of_the_code_in_question_also_if_others_trained_the_same_runs(code):
    run(jobs_of())
    code("noisy_majority", "b")
    assert run(jobs_of(), fresh=True)["noisy_majority"] == {B: 10}
    code("noisy_majority", "c")
    messages = []
    assert stamp({"t": jobs_of()}, messages.append) == []
    assert messages == ["10 runs of noisy_majority: stamped; 3 were retrained with the same bits"]
    stamps = provenance.Stamps(STORE)
    assert stamps.count_others({"noisy_majority": {A: 1, B: 1}}) == {"noisy_majority": (1, 2)}


@pytest.mark.usefixtures("code")
def test_a_run_that_can_no_longer_be_trained_is_named_with_its_error(code, monkeypatch):
    run(jobs_of())
    code("noisy_majority", "b")

    def fail(self, *arguments):
        raise ArithmeticError("broken")

    monkeypatch.setattr(NoisyMajorityClassifier, "_scores", fail)
    messages = []
    assert stamp({"t": jobs_of()}, messages.append) == ["noisy_majority"]
    assert messages[0].endswith("ArithmeticError: broken")
    monkeypatch.undo()


@pytest.mark.usefixtures("code")
def test_runs_that_are_not_in_the_store_are_not_stamped(code):
    run(jobs_of())
    code("noisy_majority", "b")
    shutil.rmtree(STORE)
    messages = []
    assert stamp({"t": jobs_of()}, messages.append) == ["noisy_majority"]
    assert messages[0].endswith("or they are no longer in the store")


def test_the_command_names_the_remedy_for_other_bits(code, capsys):
    write_made_up_study(Path(), learners=LEARNERS, outputs=OUTPUTS, paper=None)
    terms = {"studies": ["tiny"], "audit": False, "seed": 1, "seconds_per_job": 30}
    terms["studies_folder"] = "config/studies"
    shutil.copytree(ROOT / "workflow/schemas", "workflow/schemas")
    run = program.Run(terms, Path())
    program.stamp(run)
    assert capsys.readouterr().out.startswith("nothing to stamp: the present code has trained all")
    code("lazybb", "b")
    with pytest.raises(StudyError, match="the runs of lazybb may not be mixed with new ones"):
        program.stamp(run)
    assert "36 runs of lazybb: not stamped: their data have changed" in capsys.readouterr().out
