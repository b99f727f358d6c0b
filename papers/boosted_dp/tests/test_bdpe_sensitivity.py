"""Test the privacy loss of ensembles with the paper's leaf noise, and the status of its claim."""

import math

import pytest

from privcurve.papers.boosted_dp.learners._m_alpha import largest_link
from privcurve.papers.boosted_dp.learners.bdpe.noise import _flip_loss, published_noise


@pytest.mark.parametrize(
    ("epsilon", "clamp", "lost"), [(0.1, 10.0, 8.6), (1.0, 10.0, 6.2), (0.1, 1.0, 57.0)]
)
def test_published_leaves_lose_what_is_printed(epsilon, clamp, lost):
    """If one label is flipped, the privacy loss of one leaf is `lost` times ε.

    With α = 1, Laplace noise of scale 2M/ε is added to the leaf's link, and the sum is clamped to
    [−M, M]; `clamp` is M.
    """
    link = largest_link(1.0)
    assert _flip_loss(clamp, link, 2 * clamp / epsilon) / epsilon == pytest.approx(lost, abs=0.5)


def test_the_true_epsilon_of_published_leaves():
    """The claimed ε holds if the clamp M is above all links of leaves; else the proved ε is larger.

    If the splits have no budget, the proved ε is 2R/M times the claimed ε, where R is the largest
    link. Here M = 10 and α = 0.1.
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
    # With a clamp above all links the claim holds. In the next case half of ε is for splits: the
    # three levels of a tree cost (2 − 2^(1−3))/3 of this half, because nodes have disjoint records.
    assert truth(clamp=2 * largest_link(0.1)) == ("proved", "", None)
    _, _, proved = truth(tree_share=0.5)
    splits = 0.05 * (2 - 2.0**-2) / 3
    assert proved == pytest.approx(splits + 0.05 * 2 * largest_link(0.1) / 10)
    # If the leverage is computed from the exact records, no finite ε holds. If α is computed from
    # the exact error, no ε is proved.
    assert truth(leverage="exact")[::2] == ("refuted", math.inf)
    assert truth(calibrate_alpha="exact")[2] is None
