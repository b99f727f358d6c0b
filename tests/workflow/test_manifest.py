"""The manifest and the summary of a run by the real Snakemake."""

import json
import subprocess

import pytest
import yaml
from checkout import ROOT

pytestmark = [pytest.mark.workflow, pytest.mark.slow]


def manifest(project):
    return json.loads((project.folder / "results/manifest.json").read_text())


def summary(project, *arguments, name="tiny"):
    for line in project.run("summary", *arguments).splitlines():
        if line.startswith(f"{name} "):
            return line.split()[1:6]
    raise AssertionError("no line of the study")


def test_the_manifest_lists_what_was_run(finished):
    content = manifest(finished)
    configuration = yaml.safe_load((finished.folder / "config/config.yaml").read_text())
    assert content["configuration"] == configuration
    assert content["commit"] is None
    assert content["versions"]["snakemake"]
    assert content["machine"]["cores"] >= 1
    coded = json.loads((finished.folder / "results/data/toy-line/domain.json").read_text())
    assert content["datasets"] == {"toy-line": {"checksum": coded["checksum"], "sources": {}}}
    work = content["studies"]["tiny"]
    assert (work["trained"], work["reused"], work["failed"]) == (finished.expected_runs(), 0, 0)
    assert 0 < work["not_training"] < 1
    assert content["not_training"] == work["not_training"]  # there is one study
    jobs = {rule: times["jobs"] for rule, times in content["rules"].items()}
    # The three curves are small, and share a job.
    words = ("accuracy", "selected_settings", "learning_curves", "leaderboard")
    outputs = dict.fromkeys(words, 1)
    assert jobs == {"prepare": 1, "train": 1, **outputs}
    for rule, times in content["rules"].items():
        walls = [
            float(path.read_text().splitlines()[1].split("\t")[0])
            for path in (finished.folder / "benchmarks" / rule).rglob("*.tsv")
        ]
        assert times["wall_seconds"] == pytest.approx(sum(walls), abs=0.06)


def test_the_manifest_has_the_commit_and_whether_files_differ(finished):
    folder = finished.folder
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-C", str(folder)]
    ignored = (ROOT / ".gitignore").read_text()
    (folder / ".gitignore").write_text(f"{ignored}cache/\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
        subprocess.run([*git, *command], check=True)
    finished.run("--forcerun", "manifest", "manifest")
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    assert manifest(finished)["commit"] == {"id": head.stdout.strip(), "dirty": False}
    (folder / "config/studies/tiny.yaml").open("a").write("# more\n")
    finished.run("--forcerun", "manifest", "manifest")
    assert manifest(finished)["commit"]["dirty"]


def test_a_summary_of_a_fresh_folder_trains_nothing(project):
    runs = str(project.expected_runs())
    assert summary(project) == [runs, "0", "0", runs, "0.0"]
    assert not (project.folder / "results").exists()


def test_a_summary_always_runs_and_needs_no_lock(finished):
    runs = str(finished.expected_runs())
    done = [runs, runs, "0", "0", "100.0"]
    # Locks of another Snakemake that makes this study.
    locks = finished.folder / ".snakemake/locks"
    locks.mkdir(exist_ok=True)
    for kind, path in (("input", "results/data/toy-line/encoded.npz"), ("output", "all")):
        (locks / f"0.{kind}.lock").write_text(f"{path}\nresults/manifest.json\n")
    assert "locked" in finished.run("--forcerun", "manifest", ok=False).lower()
    assert summary(finished, "--nolock") == done
    assert len(list(locks.iterdir())) == 2
    assert summary(finished) == done
