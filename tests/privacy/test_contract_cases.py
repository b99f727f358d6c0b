"""The cases of the contract cover all parameters of a learner: ends of numbers, and choices."""

import math

import numpy as np
import pytest
from mistakes_any import replacement_of

from privcurve.audit.contract import check
from privcurve.audit.contract_cases import (
    CASES,
    EPSILONS,
    MOST,
    at_ends,
    cases_of,
    ends_of,
)
from privcurve.audit.distant import check_distant
from privcurve.audit.replay_fits import SENSITIVITY
from privcurve.audit.thresholds import check_thresholds
from privcurve.learners.entry import Parameter
from privcurve.learners.noisy_bayes import NoisyBayesClassifier
from privcurve.learners.registry import LEARNERS
from privcurve.privacy.curator import Curator

OURS = {name: entry for name, entry in LEARNERS.items() if entry.private and not entry.peer}

# Parameters that no case changes. Published noise is refuted, or its fits see open records.
PUBLISHED = "of published noise alone, which no case has"
UNMOVED = {
    ("lazybb", "n_splits"): PUBLISHED,
    ("topdown", "n_splits"): PUBLISHED,
    ("bdpe", "calibrate_alpha"): PUBLISHED,
    ("bdpe", "leverage"): PUBLISHED,
    **{
        ("distributed_topdown", key): PUBLISHED
        for key in ("leaf_share", "n_splits", "smallest_weight", "smallest_gain")
    },
}


def test_each_relation_has_a_case_with_each_kind_of_delta():
    offered = {
        (name, relation, delta)
        for name, entry in OURS.items()
        for relation in entry.neighbours
        for delta in [False] * entry.pure + [True] * entry.approximate
    }
    cases = {(c.learner, c.neighbours, bool(c.parameters.get("delta"))) for c in CASES}
    assert offered == cases


def test_each_parameter_of_a_private_learner_is_moved_to_its_ends_or_words():
    still = set()
    for name, entry in OURS.items():
        cases = list(cases_of(name))
        assert {case.parameters.get("epsilon") for case in cases} >= {*EPSILONS}
        for key, parameter in entry.parameters.items():
            given = [case.parameters.get(key, parameter.default) for case in cases]
            if not all(end in given for end in ends_of(parameter)):
                still.add((name, key))
    assert still == {(name, key) for name, key in UNMOVED if name in OURS}


def test_ends_match_the_range_or_stated():
    for name, entry in OURS.items():
        for key, parameter in entry.parameters.items():
            ends = ends_of(parameter)
            assert bool(ends) == (parameter.kind in (int, float) or bool(parameter.choices)), key
            assert all(parameter.admits(parameter.kind(end)) for end in ends), (name, key)
    assert ends_of(Parameter(1.0, float)) == (-1000.0, 1000.0)
    assert ends_of(Parameter(1, int)) == (-MOST, MOST)
    assert ends_of(Parameter(None, int, low=2, high=7)) == (2, 7)
    assert ends_of(Parameter("x", choices=("x", "y"))) == ("x", "y")
    assert ends_of(Parameter("x", choices=("x", "y"), tried=("y",))) == ("y",)


# Shares near 1 are quick, others slow.
QUICK = 1 - 1e-3


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case, marks=[pytest.mark.slow] * (QUICK not in case.parameters.values()), id=str(case)
        )
        for name in OURS
        for case in at_ends([case for case in CASES if case.learner == name])
    ],
)
def test_the_ends_keep_the_contract(case):
    for one in (check, check_distant, check_thresholds):
        assert str(one(case).breach or "") == ""


def test_a_number_that_multiplies_sums_and_no_sensitivity_is_seen_at_its_end(monkeypatch):
    """The mistake has no effect at the default value, so a case at the parameter's end finds it."""
    damping = [1.0]

    @replacement_of(NoisyBayesClassifier, "_release")
    def released(original, self, records, curator):
        damping[0] = float(self.damping)
        original(self, records, curator)

    @replacement_of(Curator, "numbers")
    def divided(original, self, call, exact):
        return original(self, call, exact / damping[0])

    released(monkeypatch)
    divided(monkeypatch)
    cases = [case for case in cases_of("noisy_bayes") if not case.parameters.get("n_columns")]
    defaults = [check(case, n_random=12).breach for case in cases if not case.at_end]
    assert defaults == [None]
    breaches = {
        case.parameters["damping"]: check(case).breach
        for case in cases
        if case.at_end and "damping" in case.parameters
    }
    assert list(breaches) == [1e-3]
    assert breaches[1e-3].point == SENSITIVITY
    factor = float(breaches[1e-3].why.split(" times")[0].split()[-1])
    assert math.isclose(factor, 1000, rel_tol=0.01)
    assert np.isfinite(factor)
