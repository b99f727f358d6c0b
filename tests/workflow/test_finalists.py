"""A second round of the selection, added to a finished study."""

import pandas as pd
import pytest
from checkout import TABLES

CV = "cv_accuracy_selected_optimistic"

pytestmark = [pytest.mark.workflow, pytest.mark.slow]


def test_finalists_are_trained_again_and_nothing_else(finished):
    before = finished.stored()
    first = pd.read_csv(finished.folder / "results/tables/tiny/accuracy.csv")
    finished.forget_logs()
    finished.write_study(finalists={"settings": 2, "draws": 3})
    finished.run(TABLES)
    trained, _, failed = finished.counts()
    assert failed == 0
    assert trained == len(finished.stored()) - len(before)
    # Two methods with two settings each, two ε, three draws in three folds; what is then
    # selected anew is trained afresh three times. The majority class has one setting.
    again = 2 * 2 * 2 * 3 * 3
    assert trained in {again + 3 * changed for changed in range(5)}
    second = pd.read_csv(finished.folder / "results/tables/tiny/accuracy.csv")
    boosted = second["arm"].str.startswith("boost")
    assert (second[CV] != first[CV])[boosted].all()
    assert second[~boosted].equals(first[~boosted])
    assert "Nothing to be done" in finished.run(TABLES)
