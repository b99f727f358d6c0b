"""The warning of a fit whose budget is too small for PrivGAM."""

import warnings

import numpy as np
import pytest

from privcurve.learners.registry import estimator_class


@pytest.mark.parametrize(("epsilon", "warned"), [(0.1, True), (50.0, False)])
def test_a_fit_warns_of_too_small_a_budget(epsilon, warned):
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 4, (200, 6)).astype(np.uint8), rng.integers(0, 2, 200)
    model = estimator_class("privgam")(epsilon=epsilon, n_bins=4, classes=[0, 1], random_state=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert any("below 5" in str(one.message) for one in caught) == warned
