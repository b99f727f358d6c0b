"""Features of Snakemake work here too: rules of the user, and its options."""

import os
import re
import sys
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest
import yaml
from checkout import TABLES, TINY_STUDY

pytestmark = pytest.mark.workflow

OWN = """

rule my_count:
    input: "results/tables/tiny/accuracy.csv"
    output: "results/count.txt"
    shell: "wc -l < {input} > {output}"
"""


def jobs_of(output):
    """Return the number of jobs of each rule in a dry run."""
    table = output[output.index("Job stats:") :].split("\n\n")[0]
    return {name: int(n) for name, n in re.findall(r"^(\w+) +(\d+)$", table, re.MULTILINE)}


def test_a_rule_of_a_user_is_a_target(project):
    path = project.folder / "Snakefile"
    path.write_text(path.read_text() + OWN)
    project.run("my_count")
    n_lines = len((project.folder / TABLES).read_text().splitlines())
    assert int((project.folder / "results/count.txt").read_text()) == n_lines
    assert "Nothing to be done" in project.run("my_count")


@pytest.mark.slow
def test_rules_are_forced_stopped_at_and_left_out(finished):
    made, stored = finished.outputs(), finished.stored_lines()
    after = {"accuracy", "selected_settings", "learning_curves", "tiny"}
    force = ("--forcerun", "train")
    planned = finished.run("--dry-run", *force, "--", "tiny")
    assert set(jobs_of(planned)) == {"train", "total", *after}
    until = finished.run(*force, "--until", "accuracy", "--", "tiny")
    assert set(jobs_of(until)) == {"train", "accuracy", "total"}
    omit = finished.run(*force, "--omit-from", "learning_curves", "--", "tiny")
    assert set(jobs_of(omit)) == {"train", "accuracy", "selected_settings", "total"}
    # Runs that are trained again have the same bytes, so the omitted outputs stay current.
    assert "Nothing to be done" in finished.run()
    assert (finished.outputs(), finished.stored_lines()) == (made, stored)


@pytest.mark.slow
def test_lines_of_jobs_can_be_typed(finished):
    made, stored = finished.outputs(), finished.stored_lines()
    planned = finished.run("--dry-run", "--printshellcmds", "--forceall", "--", "tiny")
    lines = dict(
        re.findall(r"^(?:Shell command: )?(python -m \S+ (\w+) .*)$", planned, re.MULTILINE)
    )
    steps = ("prepare", "ready", "train", "output")
    assert {*lines.values()} == {*steps}
    folder = Path(sys.executable).parent
    for line in sorted(lines, key=lambda line: (steps.index(lines[line]), "curves" in line)):
        done = finished.call(["bash", "-c", line], PATH=f"{folder}:{os.environ['PATH']}")
        assert done.returncode == 0, (line, done.stderr)
    assert (finished.outputs(), finished.stored_lines()) == (made, stored)


@pytest.mark.slow
def test_touched_files_count_and_forced_files_are_made_again(finished):
    made, stored = finished.outputs(), finished.stored_lines()
    (finished.folder / "results/data/toy-line/encoded.npz").touch()
    finished.run("--touch")
    assert "Nothing to be done" in finished.run()
    finished.run("--forcerun", "prepare", "--", "tiny")
    assert finished.outputs() == made
    assert finished.stored_lines() == stored


@pytest.mark.slow
def test_a_report_shows_tables_and_figures(finished):
    finished.run("--report", "report.html")
    page = (finished.folder / "report.html").read_text()
    for name in ("accuracy.md", "tiny.png"):
        assert name in page
    assert "Studies in this report: tiny; base seed" in page


@pytest.mark.slow
def test_a_report_of_one_study_names_that_study(finished):
    other = {**TINY_STUDY, "figure": "other"}
    (finished.folder / "config/studies/other.yaml").write_text(yaml.safe_dump(other))
    finished.run("--config", "studies=[other]", "--report", "report.html", "--", "tiny")
    page = (finished.folder / "report.html").read_text()
    assert "Studies in this report: tiny; base seed" in page


@pytest.mark.slow
def test_incomplete_files_are_made_again(finished):
    """As a killed Snakemake leaves it; for its lock see `tests/faults/test_killed.py`."""
    made = finished.outputs()
    state = finished.folder / ".snakemake"
    (file,) = (finished.folder / "results/cells").rglob("*.parquet")
    name = str(file.relative_to(finished.folder))
    (state / "incomplete").mkdir(exist_ok=True)
    (state / "incomplete" / urlsafe_b64encode(name.encode()).decode()).touch()
    assert "train" in jobs_of(finished.run("--rerun-incomplete", "tiny"))
    assert finished.outputs() == made
    assert "Nothing to be done" in finished.run("tiny")


@pytest.mark.slow
def test_the_rule_graph_names_the_steps_of_a_study(finished):
    graph = finished.run("--rulegraph", "--", "tiny")
    for rule in ("prepare", "datasets_ready", "train", "accuracy"):
        assert f'label = "{rule}"' in graph
    jobs = finished.run("--dag", "--", "tiny")
    assert "dataset: toy-line" in jobs
    assert re.search(r"part: small~[0-9a-f]{8}", jobs)
