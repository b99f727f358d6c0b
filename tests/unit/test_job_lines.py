"""Jobs without Snakemake: their command lines, and messages instead of tracebacks."""

import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from made_up_study import write_made_up_study
from small_study import ROOT
from test_jobs import SEED, content, jobs_of

from privcurve import datasets
from privcurve.experiments import provenance, work
from privcurve.experiments.curves import CODED
from privcurve.files import replace_text
from privcurve.workflow import job as program
from privcurve.workflow import reading, running

# Messages instead of tracebacks


@pytest.mark.slow
def test_a_users_file_does_not_shadow_pythons_modules(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("statistics", "random", "json", "logging"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('not this one')\n")
    command = [sys.executable, "-m", "privcurve.workflow.job", "summary"]
    job_error = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    assert "the following arguments are required: --cores" in job_error
    running.run(["--version"], Path("log"))


@pytest.fixture
def recorded_steps(monkeypatch):
    """Record (name of job, arguments) of each step instead of running it."""
    steps = []

    def pretend(module, name):
        def job(*terms, **more):
            steps.append((name, *more.values()))

        monkeypatch.setattr(module, name, job)

    for name in ("prepare", "ready", "make"):
        pretend(program, name)
    pretend(work, "work")
    return steps


def test_without_snakemake_too_data_that_are_coded_anew_are_trained_on(
    tmp_path, monkeypatch, recorded_steps
):
    monkeypatch.chdir(tmp_path)
    domain = Path("results/data/toy-line/domain.json")

    def prepare(dataset):
        recorded_steps.append(("prepare",))
        domain.write_text(re.sub(r'"checksum": "\w', '"checksum": "x', domain.read_text()))

    monkeypatch.setattr(program, "prepare", prepare)
    monkeypatch.setattr(running, "is_current", lambda folder: bool(recorded_steps))
    running.run_here(write_made_up_study(tmp_path), "tiny", Path("log"), quiet=True)
    assert recorded_steps[:3] == [("prepare",), ("ready",), ("work", False)]


def test_without_snakemake_too_runs_of_other_code_are_trained_again(
    tmp_path, monkeypatch, recorded_steps
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running, "is_current", lambda folder: True)
    plan = write_made_up_study(tmp_path)
    fresh = replace(plan, configuration={**plan.configuration, "fresh": True})
    running.run_here(fresh, "tiny", Path("log"), quiet=True)
    monkeypatch.setattr(provenance, "_compute", lambda learners, folder: "other")
    running.run_here(plan, "tiny", Path("log"), quiet=True)
    assert not [step for step in recorded_steps if step[0] == "work"]
    running.run_here(fresh, "tiny", Path("log"), quiet=True)
    assert [step for step in recorded_steps if step[0] == "work"] == [("work", True)]


def test_without_snakemake_a_failure_is_reported_and_in_the_log(
    tmp_path, monkeypatch, recorded_steps
):
    monkeypatch.chdir(tmp_path)

    for failure, text in (
        (OSError("no space left"), "the run has failed.\nerror: no space left\nComplete log: log"),
        (ZeroDivisionError("by 0"), "ZeroDivisionError: by 0\nComplete log: log"),
    ):

        def ready(run, study, failure=failure):
            print("begun")
            raise failure

        monkeypatch.setattr(program, "ready", ready)
        with pytest.raises(running.RunError, match=text):
            running.run_here(write_made_up_study(tmp_path), "tiny", Path("log"), quiet=True)
        assert Path("log").read_text().startswith("begun\n")


# Command lines that a person types ---------------------------------------------------


def test_a_typed_line_repeats_a_job(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    datasets.save(datasets.load("toy-line"), CODED / "toy-line")
    (job,) = jobs_of().jobs.values()
    Path("config/studies").mkdir(parents=True)
    Path("config/studies/t.yaml").write_text(yaml.safe_dump(content(), sort_keys=False))
    Path("config/config.yaml").write_text("studies: [t]\nseed: 2\nseconds_per_job: 30\n")
    (tmp_path / "workflow").symlink_to(ROOT / "workflow")
    line = ["train", "--study", "t", "--dataset", "toy-line", "--part", job.part]
    with pytest.raises(SystemExit, match="or the configuration, was changed"):
        program.main(line)
    program.main([*line, "--config", f"seed={SEED}"])
    assert job.is_done
    program.main([*line, *shlex.split(reading.options({"seed": SEED}, tmp_path, ["seed"]))])
    for line, text in (
        (["train", "--study", "u", "--dataset", "toy-line", "--part", "x"], "no study 'u'"),
        (["output", "--study", "t", "--output", "acuracy"], "did you mean 'accuracy'"),
    ):
        with pytest.raises(SystemExit, match=text):
            program.main(line)


def test_options_of_a_job_are_the_differences_from_config_yaml(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = {"seed": 2, "seconds_per_job": 1e-9, "studies": ["a", "b"], "fresh": True}
    words = shlex.split(reading.options(given, reading.root()))
    assert words == ["--config", "seed=2", "seconds_per_job=1e-09", 'studies=["a", "b"]']
    assert reading.overridden(words[1:]) == {key: given[key] for key in given if key != "fresh"}
    Path("config").mkdir()
    Path("config/config.yaml").write_text("seed: 2\nseconds_per_job: 30\nlocal_jobs: []\n")
    words = shlex.split(reading.options({"seed": 2, "seconds_per_job": 5}, tmp_path))
    assert words == ["--config", "seconds_per_job=5", "local_jobs=null", "--home", str(tmp_path)]
    assert reading.overridden(words[1:3]) == {"seed": 2, "seconds_per_job": 5}
    # The default values need no option, whatever their order and type.
    assert (
        reading.options({"seconds_per_job": 30, "seed": 2, "local_jobs": []}, reading.root()) == ""
    )


def test_each_job_lists_its_options(capsys):
    for words in ([], *([job.__name__] for job in program.JOBS)):
        with pytest.raises(SystemExit) as ended:
            program.main([*words, "--help"])
        assert ended.value.code == 0
        assert "usage: python -m privcurve.workflow.job" in capsys.readouterr().out


def test_an_expected_error_is_one_line():
    def work():
        raise OSError("no space left")

    with pytest.raises(SystemExit, match=r"^error: no space left$"):
        program.run(work)


def test_a_job_that_cannot_write_reports_that_no_training_is_lost(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as caught:
        program.run(lambda: replace_text(tmp_path / "file/x", ""))
    assert caught.value.code.startswith(f"error: {tmp_path / 'file/x'} can't be written: ")
    assert caught.value.code.endswith("then try again. Finished trainings are kept.")


def test_a_description_that_was_changed_during_a_run_is_named(write_dataset):
    with pytest.raises(datasets.DatasetError, match="'mine' is not encoded in results/data/mine"):
        program._check_coded("mine", 1)
    datasets.save(datasets.load("mine"), "results/data/mine")
    write_dataset(missing="-")
    with pytest.raises(datasets.DatasetError, match=r"from an earlier description of 'mine' than"):
        program._check_coded("mine", 1)
