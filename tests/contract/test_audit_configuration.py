"""Test that the default audit covers every private learner, with claims that it makes."""

import numpy as np
import pytest

from privcurve.audit.attacks import all as attacks
from privcurve.audit.attacks.all import ATTACKS, COMPARISONS, gather
from privcurve.audit.attacks.any_learner import recipe
from privcurve.audit.attacks.pairs import hidden_few, several
from privcurve.audit.claim import CANARIES, RANDOM
from privcurve.audit.pairs import Target, check_pair, records
from privcurve.audit.run import no_attack_message
from privcurve.audit.states import sample_states
from privcurve.learners import registry
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS

RNG = np.random.default_rng(5)
TARGET = Target("drawn", records(RNG.integers(0, 3, (120, 3)), RNG.choice([-1, 1], 120), [3, 3, 3]))
PEERS = {name for name, one in registry.LEARNERS.items() if one.peer}
CLAIMS = [c for name, claims in ATTACKS.items() if name not in PEERS for c in claims]

# Models that contain secrets (PATE's teachers): their claims are about predictions.
ANSWERS = {"pate"}
# Learners whose models show nothing of few records, so that one of their pairs has many records.
MANY = {"aim", "mst"}


def test_every_private_learner_and_calibration_is_audited():
    """Only claims with the neighbours of the learner's statement count."""
    own = {name: one for name, one in registry.LEARNERS.items() if one.private and not one.peer}
    claims = [c for c in CLAIMS if c.stated == c.neighbours]
    offered = {(name, one) for name in own for one in own[name].calibrations}
    assert offered - {(c.learner, c.calibration) for c in claims} == set()
    approximate = {name for name, one in own.items() if one.approximate}
    assert approximate - {c.learner for c in claims if c.delta > 0} == set()
    # The claims of dpboost that do not count try add-remove neighbours, which it does not claim.
    assert {c.neighbours for c in ATTACKS["dpboost"] if c not in claims} == {ADD_REMOVE}


def test_the_recipe_covers_every_calibration():
    """Each learner and calibration has a claim on the states of its fits, on several pairs."""
    states = [c for c in CLAIMS if c.sample is sample_states]
    tried = [c for c in states if c.pairs is several or c.learner in MANY]
    covered = {(c.learner, c.calibration) for c in tried}
    assert covered == {(c.learner, c.calibration) for c in CLAIMS if c.learner not in ANSWERS}


def test_the_recipe_covers_every_learner_that_may_read_public_columns():
    """The neighbours in these claims have the same public columns."""
    covered = {c.learner for c in CLAIMS if c.pairs is hidden_few}
    offered = {
        name
        for name, one in registry.LEARNERS.items()
        if one.private and PRIVATE_COLUMNS in one.neighbours
    }
    assert covered == offered - ANSWERS


def test_canaries_are_tried_on_all_peers_and_on_own_learners():
    assert {learner for learner in PEERS if learner in ATTACKS} == PEERS
    for learner in PEERS:
        assert [c.method for c in ATTACKS[learner]] == [CANARIES]
        assert {c.neighbours for c in ATTACKS[learner]} == {
            registry.LEARNERS[learner].neighbours[0]
        }
    by_recipe = list(recipe("noisy_bayes"))
    assert [c.calibration for c in by_recipe if c.method == CANARIES] == ["proved"]


def test_small_parts_are_tried():
    """Some claims have two partitions, two trees per ensemble, three rounds, or three bins."""
    recipe = [c for c in CLAIMS if c.pairs is several]
    assert any(c.setting.get("n_partitions") == 2 for c in recipe)
    assert any(c.setting.get("trees_per_ensemble") == 2 for c in recipe)
    rounds = [c for c in recipe if c.setting.get("n_rounds") == 3]
    approximate = [c for c in ATTACKS["lazybb"] if c.delta > 0]
    for some in (rounds, approximate):
        assert {c.setting.get("weak_learner") for c in some} == {None, "topdown"}
    for c in CLAIMS:
        if c.pairs is several:
            assert any(3 in pair.left.n_bins for pair in c.pairs(c, TARGET))


def test_an_attack_is_found_by_itself(tmp_path, monkeypatch):
    (tmp_path / "brand_new.py").write_text(
        "from privcurve.audit.attacks.any_learner import claim_by_answers\n"
        "CLAIMS = (claim_by_answers('new', 'proved', {}),)"
    )
    monkeypatch.setattr(attacks.attacks, "__path__", [*attacks.attacks.__path__, str(tmp_path)])
    attacked = gather(attacks.find_claims())
    assert [c.learner for c in attacked["new"]] == ["new"]
    assert set(attacked) == {*ATTACKS, "new"}


def test_the_same_claim_twice_is_refused():
    with pytest.raises(ValueError, match="one_rule has the same claim twice"):
        gather([*ATTACKS["one_rule"], ATTACKS["one_rule"][0]])


def test_a_private_learner_without_an_attack_is_reported_with_the_remedy():
    result = "'new' has no attack: add a file to src/privcurve/audit/attacks"
    assert result in no_attack_message("new")


def test_verdicts_share_their_error_over_all_sampled_pairs():
    chosen = [c for claims in ATTACKS.values() for c in claims if c.method in RANDOM]
    assert sum(c.n_pairs for c in chosen) == COMPARISONS >= len(chosen)
    for c in chosen:
        assert len(list(c.pairs(c, TARGET))) == c.n_pairs, c.name


@pytest.mark.parametrize(
    "learner", [pytest.param(name, marks=[pytest.mark.slow] * (name == "aim")) for name in ATTACKS]
)
def test_claims_are_what_the_learner_states(learner):
    if missing := registry.missing_package(learner):
        pytest.skip(missing)
    for c in ATTACKS[learner]:
        pair = next(iter(c.pairs(c, TARGET)))
        check_pair(pair)
        assert pair.neighbours == c.neighbours
        statement = c.statement(pair.left)
        assert (statement.learner, statement.calibration) == (learner, c.calibration)
