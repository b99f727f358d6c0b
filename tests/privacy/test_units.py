"""Persons with several records: group privacy, and its exact price on small tables."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml

from privcurve import datasets
from privcurve.audit.pairs import Pair
from privcurve.audit.worst_answers import worst_answers
from privcurve.coding import Records
from privcurve.datasets.description import Unit
from privcurve.privacy import budget
from privcurve.privacy.budget import (
    ADD_REMOVE,
    PRIVATE_COLUMNS,
    REPLACE_ONE,
    of_group,
    of_replacing,
    within_group,
)
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.releases import request as requests
from privcurve.releases.request import Request

EPSILON = 1.2
AT_MOST = 2

# Persons a to f: how many records each has. Person a is the one who is replaced, or left out.
SIZES = {"a": 4, "b": 1, "c": 2, "d": 5, "e": 3, "f": 1}

DESCRIPTION = {
    "title": "Visits of patients",
    "parser": {"kind": "delimited", "header": True},
    "files": {"train": {"local": "visits.csv"}},
    "unit": {"column": "patient", "at_most": AT_MOST},
    "columns": [
        {"name": "ward", "kind": "categorical", "categories": ["x", "y"], "source": "house"},
        {"name": "age", "kind": "numeric", "bounds": [0, 4], "n_bins": 2, "source": "house"},
    ],
    "label": {"column": "sick", "positive": "yes", "negative": "no"},
}


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Return a function that codes the table in which all records of person a are such ones."""
    monkeypatch.chdir(tmp_path)
    Path("descriptions").mkdir()

    def code(record, size=SIZES["a"], name="a"):
        rng = np.random.default_rng(3)
        lines = ["patient,ward,age,sick"]
        for person, many in SIZES.items():
            for k in range(many):
                ward, age = rng.choice(["x", "y"]), rng.integers(4)
                other = f"{ward},{age},{'no' if k % 2 else 'yes'}"
                if person != "a":
                    lines.append(f"{person},{other}")
                elif k < size:
                    lines.append(f"{name},{record}")
        n_rows = sum(min(many, AT_MOST) for person, many in SIZES.items() if person != "a")
        content = {**DESCRIPTION, "n_rows": n_rows + min(size, AT_MOST)}
        Path("visits.csv").write_text("\n".join(lines) + "\n")
        Path("descriptions/visits.yaml").write_text(yaml.safe_dump(content))
        return datasets.load("visits")

    return code


def learner_of(name, neighbours, **parameters):
    """Return the learner that a release of these records would train."""
    about = datasets.describe("visits")
    request = Request("visits", EPSILON, 0.0, name, parameters, neighbours, unit=about.unit)
    return requests.check(request, about)


def records(data):
    ones = np.ones(len(data.y), dtype=np.int64)
    return Records(data.X, data.y, ones, np.array(data.domain.n_bins))


SICK, WELL = "x,0,yes", "y,3,no"


@pytest.mark.parametrize(
    ("name", "other"),
    [("noisy_majority", "x,0,no"), ("noisy_bayes", WELL), ("noisy_bayes", "x,0,no")],
)
def test_all_records_of_a_person_replaced_cost_epsilon_and_not_more(load, name, other):
    left, right = records(load(SICK)), records(load(other))
    assert np.count_nonzero((left.codes != right.codes).any(1) | (left.labels != right.labels)) == 2
    loss = worst_answers(learner_of(name, REPLACE_ONE), Pair("tiny", "a", left, right))
    assert loss <= EPSILON * (1 + 1e-9)
    assert loss >= 0.95 * EPSILON
