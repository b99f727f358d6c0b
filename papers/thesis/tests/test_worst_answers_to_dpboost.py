"""Test the audit's attack "worst answers" on DPBoost, which finds the largest privacy loss."""

from dataclasses import replace

import numpy as np
import pytest
from worst import TARGET, audit_rows, density_claims

from privcurve.audit.attacks.pairs import (
    several,
    two_columns,
)
from privcurve.audit.pairs import cross_columns
from privcurve.audit.run import VIOLATED, run
from privcurve.audit.worst_answers import worst_answers
from privcurve.papers.thesis.learners.dpboost.noise import PUBLISHED_PROVED
from privcurve.privacy.budget import ADD_REMOVE, REPLACE_ONE


@pytest.mark.slow
def test_published_dpboost_is_refuted():
    """The privacy loss of the published noise exceeds ε.

    ΔV is the sensitivity of one leaf. A replaced record changes two leaves by ΔV each, but the
    noise of the leaves, which should cost ε/2, is scaled for one leaf. So the leaves alone have the
    privacy loss ε. The split adds a privacy loss of 2/(12(1 + λ)) · ε, which is ε/6.6 here.
    """
    table = audit_rows("dpboost", neighbours=REPLACE_ONE, epsilon=1.0)
    assert table["found_epsilon"].max() == pytest.approx(1 + 1 / 6.6, rel=1e-6)
    assert table["found_epsilon"].max() < PUBLISHED_PROVED
    assert VIOLATED in set(table["verdict"])
    assert table["not_covered"].str.startswith("refuted: ").all()


@pytest.mark.slow
def test_the_crossed_pair_is_the_worst_of_its_universe():
    """The pair `cross_columns` has the largest privacy loss of all pairs of its size.

    :func:`two_columns` lists these pairs: tables of 2 or 3 records in two columns of two bins.
    """
    (c,) = [c for c in density_claims("dpboost", pairs=several) if c.setting["n_trees"] == 1]
    largest = run([replace(c, pairs=two_columns)], TARGET, 0, 1)["found_epsilon"][0]
    alone = worst_answers(c.estimator(np.array([2, 2])), cross_columns())
    assert alone == pytest.approx(largest, rel=1e-6)


@pytest.mark.slow
def test_published_dpboost_is_not_private_if_a_record_is_added():
    """The published noise is refuted for add-remove neighbours, which its statement does not claim.

    The records of each tree depend on n, so an added record moves other records to other trees.
    """
    (row,) = audit_rows("dpboost", neighbours=ADD_REMOVE).to_dict("records")
    assert (row["verdict"], row["stated_neighbours"]) == (VIOLATED, REPLACE_ONE)
    assert row["found_epsilon"] > 2
