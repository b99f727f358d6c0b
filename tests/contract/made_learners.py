"""Small learners and a problem, for tests over the whole registry.

- ``make(name, **parameters)``: a learner with small sizes; skips the test without its package;
- ``problem(n, seed)``: encoded rows, labels that depend on two columns, and the numbers of bins;
- ``domain_of(n_bins)``: a domain with these columns, for saving a model;
- ``needed_facts(name)``: public columns for learners that need them.
"""

import numpy as np
import pytest

from privcurve.datasets.domain import CATEGORICAL, NUMERIC, Column, Domain, Label
from privcurve.learners.registry import LEARNERS, entry, estimator_class, missing_package
from privcurve.privacy.budget import PRIVATE_COLUMNS

# Public bounds for scikit-learn's checks, which draw rows from about N(0, 1).
DOMAIN = {"n_bins": 10, "bounds": (-5.0, 5.0)}


# Default sizes are slow, and test no more.
LARGEST_SIZE = 10


def make(name, **parameters):
    """Return a learner, with small sizes unless given."""
    missing = missing_package(name)
    if missing:
        pytest.skip(missing)
    return estimator_class(name)(**{**small(name), **needed_facts(name), **parameters})


def small(name):
    sizes = {key: parameter for key, parameter in entry(name).parameters.items() if parameter.size}
    return {key: min(parameter.default, LARGEST_SIZE) for key, parameter in sizes.items()}


def needed_facts(name):
    """Return the parameters of learners that need public columns: only the label is public."""
    return {"public_columns": ()} if entry(name).neighbours == (PRIVATE_COLUMNS,) else {}


def private(name):
    return LEARNERS[name].private


def problem(n=300, seed=0):
    """Return encoded rows, labels that depend on two columns, and numbers of bins."""
    rng = np.random.default_rng(seed)
    n_bins = [2, 5, 3, 10]
    X = rng.integers(0, n_bins, size=(n, 4)).astype(np.uint8)
    truth = (X[:, 0] == 1) | (X[:, 3] > 7)
    y = np.where(truth ^ (rng.random(n) < 0.1), "yes", "no")
    return X, y, n_bins


def domain_of(n_bins):
    """Return a domain with columns of these numbers of bins, for saving a model."""
    numbers = [Column(f"number {j}", NUMERIC, (0.0, float(k)), k) for j, k in enumerate(n_bins[1:])]
    town = Column("town", CATEGORICAL, categories=(("Oslo", "Oslo"), ("Rome, north", "Rome")))
    return Domain((town, *numbers), Label("sick", "no", "yes"))


def rngs(*seeds):
    return [np.random.default_rng(seed) for seed in seeds]


INSTALLED = [name for name in LEARNERS if not missing_package(name)]
learners = pytest.mark.parametrize("name", INSTALLED)
private_learners = pytest.mark.parametrize("name", [name for name in INSTALLED if private(name)])
offered = pytest.mark.parametrize(
    ("name", "calibration"),
    [(name, calibration) for name in INSTALLED for calibration in LEARNERS[name].calibrations],
)


# Values that mean something beside others alone.
TOGETHER = {
    ("brc", "weights", "adaboost"): {"epsilon": np.inf},
    ("distributed_topdown", "budget", "uniform"): {"calibration": "published"},
}
OF_PUBLISHED = [("calibrate_alpha", "exact"), ("leverage", "exact"), ("leverage", "constant")]
TOGETHER |= {("bdpe", *what): {"calibration": "published"} for what in OF_PUBLISHED}
SAID_PUBLIC = [("start", "public"), ("columns", "public"), ("columns", "private")]
TOGETHER |= {(n, *what): {"public_columns": (1,)} for n in LEARNERS for what in SAID_PUBLIC}


def changes(name):
    """Other values of single parameters: each choice, each calibration, no noise."""
    default = make(name).get_params()
    offered = {key: parameter.choices for key, parameter in LEARNERS[name].parameters.items()}
    if private(name):
        offered |= {"calibration": LEARNERS[name].calibrations, "epsilon": (np.inf,)}
    yield {"random_state": 1}
    for key, values in offered.items():
        for value in values:
            if value != default[key]:
                yield {key: value, **needed(name, {key: value})}


def needed(name, change):
    """What a change of parameters has no effect without."""
    parameters = [entry(name).parameters[key] for key in change if key in entry(name).parameters]
    beside = {other: values[0] for p in parameters for other, values in p.used_with.items()}
    for (learner, key, value), others in TOGETHER.items():
        if learner == name and key in change and change[key] == value:
            beside |= others
    return beside
