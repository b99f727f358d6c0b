"""Trainings that fail are said at the end of the run, and tried again by the next."""

import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.workflow

LEARNER = Path(__file__).parent / "paper/noisy_label.py"


@pytest.mark.slow
def test_what_failed_is_said_at_the_end_until_it_is_mended(project):
    own = project.folder / "learners/noisy_label.py"
    own.parent.mkdir()
    shutil.copy(LEARNER, own)
    whole = own.read_text()
    start = "def _release(self, records, curator):\n"
    assert start in whole
    own.write_text(
        whole.replace(
            start,
            f"{start}        if self.epsilon > 1:\n            raise ValueError('not there')\n",
        )
    )
    learners = {"own": {"learner": "noisy_label"}, "majority": {"learner": "majority_class"}}
    project.write_study(learners=learners)
    said = "failed: tiny: 3 of 9 trainings of own~certified on toy-line: ValueError: not there"
    assert said in project.run("tiny")
    # Once more: they are tried again, though Snakemake's own record of them is lost.
    shutil.rmtree(project.folder / ".snakemake")
    assert said in project.run("tiny")
    # What is another study's is not of this run.
    assert "trainings of" not in project.run("summary")
    own.write_text(whole)
    assert "trainings of" not in project.run("tiny")
    assert "Nothing to be done" in project.run("tiny")
