"""Boosted ensembles: what they refuse."""

import pytest

from privcurve.learners.bdpe import BDPEClassifier
from privcurve.learners.registry import check_parameters

PUBLISHED = {"calibration": "published"}


@pytest.mark.parametrize(
    "wrong",
    [
        {**PUBLISHED, "splits": "random"},
        {**PUBLISHED, "votes": "shrunk"},
        {**PUBLISHED, "votes": "sign"},
        {**PUBLISHED, "alpha_decay": 0.5},
        {**PUBLISHED, "calibrate_alpha": "released"},
        {**PUBLISHED, "delta": 1e-5},
        {"calibrate_alpha": "exact"},
        {"leverage": "constant"},
        {"leverage": "exact"},
    ],
    ids=str,
)
def test_what_a_calibration_does_not_have_is_refused(wrong):
    with pytest.raises(ValueError, match="certified"):
        BDPEClassifier(n_bins=[2], classes=(-1, 1), **wrong).fit([[0], [1]], [-1, 1])


@pytest.mark.parametrize(
    "wrong",
    [
        {"splits": "random", "alpha": 0.5},
        {"splits": "random", "tree_share": 0.5},
        {"calibrate_alpha": "released", "alpha_decay": 0.5},
        {"votes": "shrunk", "clamp": 5.0},
        {"votes": "link", "step": 2.0},
        {"depth": 11},
        {"boost_alpha": 0.0},
        {"tree_share": 1.0},
    ],
    ids=str,
)
def test_what_has_no_effect_or_meaning_is_refused(wrong):
    with pytest.raises(ValueError, match="bdpe"):
        check_parameters("bdpe", wrong)
