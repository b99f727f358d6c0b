"""Rows as Arrow tables: as pyarrow itself makes them."""

import math

import numpy as np
import pyarrow as pa
import pytest

from privcurve.experiments import arrow
from privcurve.experiments.results import SCHEMA

ROWS = [
    {"id": "ä", "epsilon": math.inf, "accuracy": np.float64(0.1), "repeat": np.int64(3)},
    {"id": None, "epsilon": 1, "error": "", "more": "left out", "repeat": -(2**62)},
    {"id": "b", "auc": 0.5, "log_loss": -0.0, "error": "ε", "repeat": None},
] * 5


@pytest.mark.parametrize("n_rows", [0, 1, 2, 15])
def test_as_pyarrow_does(n_rows):
    rows = ROWS[:n_rows]
    schema = SCHEMA.with_metadata({"facts": "some"})
    table = arrow.table(rows, schema)
    table.validate(full=True)
    assert table.equals(pa.Table.from_pylist(rows, schema=schema), check_metadata=True)


def test_nan_is_a_number():
    column = arrow.table([{"auc": math.nan}, {}], SCHEMA)["auc"]
    assert column.null_count == 1
    assert math.isnan(column[0].as_py())


@pytest.mark.parametrize(
    ("column", "value"), [("id", 1), ("epsilon", "1"), ("repeat", 1.5), ("repeat", "1")]
)
def test_a_value_of_another_type_is_refused(column, value):
    with pytest.raises(TypeError):
        arrow.table([{column: value}], SCHEMA)
