"""Failed trainings are reported at the end of the run, and the next run tries them again."""

import shutil
from pathlib import Path

import pandas as pd
import pytest
from checkout import TABLES

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

LEARNER = Path(__file__).parent / "paper/noisy_label.py"


def trained(project):
    """Return the number of final models in the accuracy table, by ε."""
    table = pd.read_csv(project.folder / TABLES).query("method == 'own'")
    return dict(zip(table["epsilon"], table["n_repeats"] - table["n_failed"], strict=True))


def test_failures_are_reported_at_the_end_until_they_are_fixed(project):
    own = project.folder / "learners/noisy_label.py"
    own.parent.mkdir()
    source = LEARNER.read_text()
    start = "def _release(self, records, curator):\n"
    assert start in source
    # The failure depends on something that no digest covers, such as memory.
    fault = "        if self.epsilon > 1 and __import__('os').path.exists('fault'):\n"
    raised = "            raise ValueError('not there')\n"
    own.write_text(source.replace(start, start + fault + raised))
    (project.folder / "fault").touch()
    learners = {"own": {"learner": "noisy_label"}, "majority": {"learner": "majority_class"}}
    project.write_study(learners=learners)
    result = "failed: tiny: 3 of 9 trainings of own on toy-line: ValueError: not there"
    assert result in project.run(TABLES)
    assert trained(project) == {0.5: 3, 2.0: 0}
    # They are tried again, although Snakemake's own record of them is deleted.
    shutil.rmtree(project.folder / ".snakemake")
    (project.folder / "fault").unlink()
    assert "trainings of" not in project.run(TABLES)
    # The table was made again, although its options are the same.
    assert trained(project) == {0.5: 3, 2.0: 3}
