"""Every private learner is audited, on what it really claims."""

import dataclasses

import numpy as np
import pytest

from privcurve.audit.configuration import check_configurations, statement
from privcurve.audit.configurations import COMPARISONS, CONFIGURATIONS
from privcurve.audit.pairs import Target, records
from privcurve.learners import registry

RNG = np.random.default_rng(5)
TARGET = Target("drawn", records(RNG.integers(0, 3, (120, 3)), RNG.choice([-1, 1], 120), [3, 3, 3]))


def test_every_private_learner_and_calibration_is_audited():
    assert check_configurations(CONFIGURATIONS, registry.LEARNERS) == []


def test_a_private_learner_without_configuration_is_named(monkeypatch):
    new = dataclasses.replace(registry.entry("one_rule"), name="new")
    monkeypatch.setattr(registry, "LEARNERS", {"new": new})
    (problem,) = check_configurations(CONFIGURATIONS, registry.LEARNERS)
    assert "'new' has no audit configuration" in problem
    assert check_configurations({**CONFIGURATIONS, "new": ()}, registry.LEARNERS) == [problem]
    half = tuple(c for c in CONFIGURATIONS["one_rule"] if c.calibration == "published")
    (problem,) = check_configurations({**CONFIGURATIONS, "new": half}, registry.LEARNERS)
    assert problem == "new: no audit configuration has the calibration 'certified'"


def test_a_learner_that_offers_delta_is_audited_with_it(monkeypatch):
    new = dataclasses.replace(registry.entry("one_rule"), name="new")
    monkeypatch.setattr(registry, "LEARNERS", {"new": new})
    pure = tuple(c for c in CONFIGURATIONS["one_rule"] if c.delta == 0)
    (problem,) = check_configurations({"new": pure}, registry.LEARNERS)
    assert problem == "new offers δ > 0, but no audit configuration has it"
    monkeypatch.setattr(registry, "LEARNERS", {"new": dataclasses.replace(new, approximate=False)})
    assert check_configurations({"new": pure}, registry.LEARNERS) == []


def test_both_weak_learners_of_lazybb_are_audited_with_delta():
    some = [c.setting.get("weak_learner") for c in CONFIGURATIONS["lazybb"] if c.delta > 0]
    assert {None, "topdown"} == set(some)


def test_peers_and_learners_without_privacy_are_exempt():
    exempt = [n for n, known in registry.LEARNERS.items() if known.peer or not known.private]
    assert "majority_class" in exempt
    assert check_configurations({}, exempt) == []


def test_verdicts_share_their_error_over_all_sampled_pairs():
    sampled = [c for some in CONFIGURATIONS.values() for c in some if c.method == "sampled"]
    assert sum(c.n_pairs for c in sampled) == COMPARISONS >= len(sampled)
    for c in sampled:
        assert len(list(c.pairs(c, TARGET))) == c.n_pairs, c.name


@pytest.mark.parametrize("learner", CONFIGURATIONS)
def test_configurations_are_distinct_and_claim_what_the_learner_states(learner):
    configurations = CONFIGURATIONS[learner]
    assert {c.learner for c in configurations} == {learner}
    assert len({c.name for c in configurations}) == len(configurations)
    for c in configurations:
        pair = next(iter(c.pairs(c, TARGET)))
        said = statement(c, pair.left)
        assert (said.learner, said.calibration) == (learner, c.calibration)
