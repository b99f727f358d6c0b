"""If code changes without a new version, the run, tables and figures say so until a correction."""

import json
import re
import shutil
import zlib

import pandas as pd
import pytest
from checkout import ROOT, TABLES, Project, make_checkout, shared_checkout

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

STUDY = {
    "epsilons": [2, 5],
    "outputs": ["accuracy", "learning_curves"],
    "learners": {"gam": {"learner": "privgam"}, "majority": {"learner": "majority_class"}},
}
RULE = "src/privcurve/learners/additive/rule.py"
SAID = "code: 12 of {} runs of privgam in tiny come from other code than the present"
NOTE = "Other code: 12 of {} runs of privgam come from other code than the code that made this file"


def lay_out(folder):
    """Return a checkout with a copy of the package, after a run of the study."""
    project = make_checkout(folder)
    project.write_study(**STUDY)
    # Copy the compiled loops, too, and the time stamps that they depend on.
    shutil.copytree(ROOT / "src", folder / "src")
    run(project)


def run(project, *arguments):
    return project.run(*arguments, PYTHONPATH=str(project.folder / "src"))


@pytest.fixture
def project(tmp_path_factory, tmp_path):
    first = shared_checkout(tmp_path_factory, "other_code", lay_out)
    shutil.copytree(first, tmp_path / "copy")
    return Project(tmp_path / "copy")


def edit(project, old, new):
    path = project.folder / RULE
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def code_lines(output):
    return list(dict.fromkeys(re.findall(r"^code: .*", output, re.MULTILINE)))


def losses(project):
    """Return the log loss of PrivGAM by ε; the file has the stored name of its curve."""
    frame = pd.read_csv(project.folder / TABLES).query("method == 'gam~certified'")
    assert len(frame)
    return dict(zip(frame["epsilon"], frame["log_loss"], strict=True))


def test_a_curve_never_mixes_two_versions_of_the_code_silently(project):
    made, first = project.outputs(), losses(project)
    edit(project, "BINS_PER_ROOT = 8, 3.0", "BINS_PER_ROOT = 2, 0.1")
    (line, remedy) = code_lines(run(project))
    assert line.startswith(SAID.format(12))
    assert "--config fresh=true" in remedy
    table = project.folder / TABLES.replace(".csv", ".md")
    assert NOTE.format(12) in table.read_text()
    figure = "results/figures/tiny.png"
    assert project.outputs()[figure] != made[figure]
    assert losses(project) == first
    # Also if nothing is to be done, and if training is requested again.
    output = run(project)
    assert "Nothing to be done" in output
    assert code_lines(output) == [line, remedy]
    project.delete_logs()
    assert code_lines(run(project, "-R", "train", "--", TABLES)) == [line, remedy]
    assert project.run_counts() == (0, project.expected_runs(**STUDY), 0)

    # A curve with runs of both codes says so.
    project.write_study(**{**STUDY, "epsilons": [2, 3, 5]})
    assert SAID.format(18) in "".join(code_lines(run(project, TABLES)))
    assert NOTE.format(18) in table.read_text()
    mixed = losses(project)
    assert {at: mixed[at] for at in first} == first

    # The present code trains all of its runs, and no others.
    project.delete_logs()
    run(project, TABLES, "--config", "fresh=true")
    assert project.run_counts()[0] == 12
    assert NOTE.format(18) not in table.read_text()
    last = losses(project)
    assert last[3] == mixed[3]
    assert all(last[at] != mixed[at] for at in first)
    codes = [json.loads(text)["code"] for text in project.stored_lines()]
    assert sorted(map(codes.count, set(codes))) == [6, 12, 18]
    output = run(project, TABLES, "-n", "--config", "fresh=true")
    assert "Nothing to be done" in output
    assert code_lines(output) == []

    # Back to the old code, whose runs are in the store.
    project.write_study(**STUDY)
    edit(project, "BINS_PER_ROOT = 2, 0.1", "BINS_PER_ROOT = 8, 3.0")
    project.delete_logs()
    run(project, "--config", "fresh=true")
    assert project.run_counts()[0] == 0
    assert project.outputs() == made


def test_words_about_code_change_nothing_and_a_move_of_code_is_stamped(project):
    made = project.outputs()
    edit(project, "BINS_PER_ROOT = 8, 3.0", "BINS_PER_ROOT = 8, 3.0  # of bins\n")
    output = run(project, "-n")
    assert "Nothing to be done" in output
    assert code_lines(output) == []

    for path in (project.folder / RULE).parent.glob("*.py"):
        path.write_text(path.read_text().replace("BINS_PER_ROOT", "BINS_BY_ROOT"))
    output = run(project, "stamp")
    assert SAID.format(12) in output
    assert "12 runs of privgam: stamped; 3 were retrained with the same bits" in output
    assert code_lines(run(project)) == []
    assert project.outputs() == made

    edit(project, "BINS_BY_ROOT = 8, 3.0", "BINS_BY_ROOT = 2, 0.1")
    output = project.run("stamp", ok=False, PYTHONPATH=str(project.folder / "src"))
    result = r"12 runs of privgam: not stamped: tiny/toy-line/gam~proved, ε = \d.*: \w+ was "
    assert re.search(result, output)
    assert "the runs of privgam may not be mixed with new ones" in output


def without_code(line):
    """Return a line of the store as earlier versions wrote it, without a checksum of the code."""
    body = re.sub(r',"code":"\w+","crc":"\w+"}$', "", line)
    return f'{body},"crc":"{zlib.crc32(body.encode()):08x}"}}\n'


def test_runs_of_an_earlier_version_count_as_unknown_once(project):
    """Runs that no job has read yet are reported when a job reads them."""
    made = project.outputs()
    shutil.rmtree(project.folder / "results/cells")
    (project.folder / TABLES).unlink()
    for path in (project.folder / "results/store").rglob("*.jsonl"):
        path.write_text("".join(map(without_code, path.read_text().splitlines())))
    lines = code_lines(run(project))
    names = ("6 runs of majority_class", "12 runs of privgam")
    result = "come from code that an earlier privcurve did not store"
    assert [line.partition(result)[0] for line in lines] == [f"code: {name} " for name in names]
    assert project.outputs() == made
    edit(project, "BINS_PER_ROOT = 8, 3.0", "BINS_PER_ROOT = 2, 0.1")
    (line, _) = code_lines(run(project, "-n"))
    assert line.startswith(SAID.format(12))
