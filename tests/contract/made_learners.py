"""Make small learners and data for tests that run for each learner of the registry.

The decorator ``@each_learner`` runs a test for each installed learner, with its `name`;
``@each_private_learner`` runs it for private ones, ``@each_calibration`` for each `name` and
`calibration`.
"""

import numpy as np
import pytest

from privcurve.datasets.domain import CATEGORICAL, NUMERIC, Column, Domain, Label
from privcurve.learners.registry import LEARNERS, entry, estimator_class, missing_package
from privcurve.privacy.budget import PRIVATE_COLUMNS

# Public bounds for scikit-learn's checks, which draw rows from about N(0, 1).
DOMAIN = {"n_bins": 10, "bounds": (-5.0, 5.0)}
# Maximum value of sizes in tests; larger ones are slower and test nothing more.
LARGEST_SIZE = 10


def make_learner(name, **parameters):
    """Return a learner with small sizes; skip the test if the learner's package is not installed.

    Example: ``make_learner("lazybb", epsilon=1.0, n_bins=n_bins)``.
    """
    missing = missing_package(name)
    if missing:
        pytest.skip(missing)
    return estimator_class(name)(**{**small_sizes(name), **required_facts(name), **parameters})


def small_sizes(name):
    """Return values up to `LARGEST_SIZE` for the parameters of a learner that are sizes."""
    sizes = {key: parameter for key, parameter in entry(name).parameters.items() if parameter.size}
    return {key: min(parameter.default, LARGEST_SIZE) for key, parameter in sizes.items()}


def required_facts(name):
    """Return the public facts that a learner requires.

    A learner that protects only private columns requires `public_columns`; none is public here.
    """
    return {"public_columns": ()} if entry(name).neighbours == (PRIVATE_COLUMNS,) else {}


def is_private(name):
    """Return whether the registry says that a learner is private."""
    return LEARNERS[name].private


def small_problem(n=300, seed=0):
    """Return (X, y, n_bins): `n` encoded rows, whose labels depend on two of the four columns."""
    rng = np.random.default_rng(seed)
    n_bins = [2, 5, 3, 10]
    X = rng.integers(0, n_bins, size=(n, 4)).astype(np.uint8)
    truth = (X[:, 0] == 1) | (X[:, 3] > 7)
    y = np.where(truth ^ (rng.random(n) < 0.1), "yes", "no")
    return X, y, n_bins


def domain_of(n_bins):
    """Return a domain for a saved model, whose columns have these numbers of bins."""
    numbers = [Column(f"number {j}", NUMERIC, (0.0, float(k)), k) for j, k in enumerate(n_bins[1:])]
    town = Column("town", CATEGORICAL, categories=(("Oslo", "Oslo"), ("Rome, north", "Rome")))
    return Domain((town, *numbers), Label("sick", "no", "yes"))


def generators(*seeds):
    """Return a generator for each seed."""
    return [np.random.default_rng(seed) for seed in seeds]


INSTALLED = [name for name in LEARNERS if not missing_package(name)]
each_learner = pytest.mark.parametrize("name", INSTALLED)
each_private_learner = pytest.mark.parametrize(
    "name", [name for name in INSTALLED if is_private(name)]
)
each_calibration = pytest.mark.parametrize(
    ("name", "calibration"),
    [(name, calibration) for name in INSTALLED for calibration in LEARNERS[name].calibrations],
)

# For (learner, parameter, value): other parameters without which this value has no effect.
TOGETHER = {
    ("brc", "weights", "adaboost"): {"epsilon": np.inf},
    ("distributed_topdown", "budget", "uniform"): {"calibration": "published"},
}
OF_PUBLISHED = [("calibrate_alpha", "exact"), ("leverage", "exact"), ("leverage", "constant")]
TOGETHER |= {("bdpe", *what): {"calibration": "published"} for what in OF_PUBLISHED}
SAID_PUBLIC = [("start", "public"), ("columns", "public"), ("columns", "private")]
TOGETHER |= {(n, *what): {"public_columns": (1,)} for n in LEARNERS for what in SAID_PUBLIC}


def parameter_changes(name):
    """Yield changes of one parameter: to each choice, to each calibration, and to ε = ∞.

    A change includes other parameters without which it has no effect.
    """
    default = make_learner(name).get_params()
    offered = {key: parameter.choices for key, parameter in LEARNERS[name].parameters.items()}
    if is_private(name):
        offered |= {"calibration": LEARNERS[name].calibrations, "epsilon": (np.inf,)}
    yield {"random_state": 1}
    for key, values in offered.items():
        for value in values:
            if value != default[key]:
                yield {key: value, **required_parameters(name, {key: value})}


def required_parameters(name, change):
    """Return the other parameters without which a change has no effect."""
    parameters = [entry(name).parameters[key] for key in change if key in entry(name).parameters]
    others = {other: values[0] for p in parameters for other, values in p.used_with.items()}
    for (learner, key, value), more in TOGETHER.items():
        if learner == name and key in change and change[key] == value:
            others |= more
    return others
