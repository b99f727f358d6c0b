"""A learner's results are tied to its version in the registry.

If a change of code changes results, the stored runs are wrong: increase `version` of the learner
in the registry, then rewrite the golden file with ``python tests/unit/test_golden.py``.
"""

import json
import math
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from privcurve import datasets
from privcurve.learners import base, registry
from privcurve.privacy.budget import PRIVATE_COLUMNS
from privcurve.stored import stored

GOLDEN = Path(__file__).with_name("golden.json")

# Settings where a default takes long, or where votes can tie.
SETTINGS = {
    "gradient_boosting": {"n_estimators": 10},
    "lazybb": {"n_rounds": 10},
    "aim": {"most_cells": 2**12},
}

# Peers wrap other libraries, whose versions decide their results.
OWN = sorted(name for name, entry in registry.LEARNERS.items() if not entry.peer)


def results(name):
    """Return {calibration: (number of positive predictions, mean score)} of a learner on WDBC."""
    data = datasets.load("wdbc")
    entry = registry.entry(name)
    sums = {}
    for calibration in entry.calibrations or (None,):
        parameters = dict(SETTINGS.get(name, {}))
        if entry.neighbours == (PRIVATE_COLUMNS,):
            parameters["public_columns"] = (0, 1, 2)
        if calibration is not None:
            parameters |= {"epsilon": 20.0, "calibration": calibration}
        learner = registry.estimator_class(name)(
            n_bins=data.domain.n_bins, classes=(-1, 1), **parameters
        )
        # A fixed stream: these results do not depend on how a seed starts a stream.
        with patch.object(base, "generator_of", lambda *_: np.random.default_rng(12345)):
            learner.fit(data.X, data.y)
        scores = learner.decision_function(data.X)
        sums[str(stored(calibration))] = [int((scores > 0).sum()), float(np.mean(scores))]
    return sums


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n == "aim")) for n in OWN]
)
def test_results_change_only_with_the_version(name):
    golden = json.loads(GOLDEN.read_text())
    assert name in golden, f"run python {Path(__file__).name} to add {name}"
    assert golden[name]["version"] == registry.entry(name).version, (
        f"the version of {name} was changed: rewrite the golden file"
    )
    sums = results(name)
    assert set(sums) == set(golden[name]["results"])
    for calibration, (positive, mean) in sums.items():
        expected_positive, expected_mean = golden[name]["results"][calibration]
        same = positive == expected_positive and math.isclose(
            mean, expected_mean, rel_tol=1e-4, abs_tol=1e-6
        )
        assert same, f"{name} ({calibration}) gives other results: raise its version"


if __name__ == "__main__":
    content = {
        name: {"version": registry.entry(name).version, "results": results(name)} for name in OWN
    }
    GOLDEN.write_text(json.dumps(content, indent=1) + "\n")
