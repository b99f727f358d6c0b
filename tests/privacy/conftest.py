"""Fixtures of the tests of privacy."""

import pytest

from privcurve.learners.majority import MARGIN, NoisyMajorityClassifier
from privcurve.privacy.noise import Announced


@pytest.fixture
def announced_margin(monkeypatch):
    """Let the noisy majority announce its sensitivity, for releases that are not sums of rows."""
    calls = (Announced(MARGIN, l1=2.0, source="docs/proofs.md, 'Counts'"),)
    monkeypatch.setattr(NoisyMajorityClassifier, "_calls", lambda self, n: calls)
