"""Test the privacy loss of ensembles with the paper's leaf noise, and the status of its claim."""

import math

import pytest

from privcurve.papers.boosted_dp.learners._m_alpha import largest_link
from privcurve.papers.boosted_dp.learners.bdpe.noise import _flip_loss, published_noise


@pytest.mark.parametrize(
    ("epsilon", "clamp", "lost"), [(0.1, 10.0, 8.6), (1.0, 10.0, 6.2), (0.1, 1.0, 57.0)]
)
def test_published_leaves_lose_what_is_printed(epsilon, clamp, lost):
    """The privacy loss of one leaf, if one label is flipped, is `lost` times ε.

    The noise, of scale 2M/ε, is added before values are clamped to [−M, M]; α = 1.
    """
    link = largest_link(1.0)
    assert _flip_loss(clamp, link, 2 * clamp / epsilon) / epsilon == pytest.approx(lost, abs=0.5)


def test_the_true_epsilon_of_published_leaves():
    """The claim holds if M is above all values of leaves, else the proved ε is larger.

    With α = 0.1, M = 10, largest value R, and no budget for splits, the proved ε is 2R/M times ε.
    """

    def truth(**changes):
        settings = {"n_trees": 1, "depth": 3, "calibrate_alpha": "no", "tree_share": 0.0}
        settings |= {"clamp": 10.0, "largest_link": largest_link(0.1), "leverage": "constant"}
        given = {"sensitivity": 1.0, "epsilon": 0.1, "delta": 0.0}
        result = published_noise(**{**settings, **given, **changes})
        return result.status, result.caveat, result.proved_epsilon

    status, _, proved = truth()
    assert status == "refuted"
    assert proved == pytest.approx(0.1 * 2 * largest_link(0.1) / 10)
    # With a clamp above all links the claim holds. With half of ε for the splits, three levels of a
    # tree cost (2 − 2^(1−3))/3 of this half.
    assert truth(clamp=2 * largest_link(0.1)) == ("proved", "", None)
    _, _, proved = truth(tree_share=0.5)
    splits = 0.05 * (2 - 2.0**-2) / 3
    assert proved == pytest.approx(splits + 0.05 * 2 * largest_link(0.1) / 10)
    # If the leverage comes from the exact records, no finite ε holds. If α comes from the exact
    # error, no ε is proved.
    assert truth(leverage="exact")[::2] == ("refuted", math.inf)
    assert truth(calibrate_alpha="exact")[2] is None
