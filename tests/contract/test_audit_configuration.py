"""Every private learner is audited, on what it really claims."""

import dataclasses

import numpy as np
import pytest

from privcurve.audit.attacks import all as attacks
from privcurve.audit.attacks.all import ATTACKS, COMPARISONS, gather
from privcurve.audit.attacks.pairs import hidden_few, several
from privcurve.audit.pairs import Target, check_pair, records
from privcurve.audit.run import no_attack_message
from privcurve.audit.states import sample_states
from privcurve.learners import registry
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS

RNG = np.random.default_rng(5)
TARGET = Target("drawn", records(RNG.integers(0, 3, (120, 3)), RNG.choice([-1, 1], 120), [3, 3, 3]))
CLAIMS = [c for claims in ATTACKS.values() for c in claims]

# Their models hold what is not released (PATE's teachers): what is claimed is about answers.
ANSWERS = {"pate"}
# Of few records nothing of its model tells: it is tried on one pair of many.
MANY = {"aim", "mst"}


def check_attacks(attacks, learners):
    """Return what an audit leaves out, a sentence each; peers need no attack."""
    problems = []
    for name in learners:
        if not registry.entry(name).private or registry.entry(name).peer:
            continue
        if not attacks.get(name):
            problems.append(no_attack_message(name))
            continue
        # What is tried beyond a statement is not the claim.
        claims = [c for c in attacks[name] if c.stated == c.neighbours]
        covered = {c.calibration for c in claims}
        problems += [
            f"{name}: no claim of its attack has the calibration {calibration!r}"
            for calibration in registry.entry(name).calibrations
            if calibration not in covered
        ]
        if registry.entry(name).approximate and not any(c.delta > 0 for c in claims):
            problems.append(f"{name} offers δ > 0, but no claim of its attack has it")
    return problems


def only(learner, keep):
    """The attack of a learner, with some of its claims."""
    return tuple(c for c in ATTACKS[learner] if keep(c))


def test_every_private_learner_and_calibration_is_audited():
    assert check_attacks(ATTACKS, registry.LEARNERS) == []


@pytest.fixture
def new(monkeypatch):
    """A learner that is new: registered like another one, whose attacks are taken in part."""

    shipped = dict(registry.LEARNERS)

    def register(like, **changes):
        entry = dataclasses.replace(shipped[like], name="new", **changes)
        monkeypatch.setattr(registry, "LEARNERS", {"new": entry})
        return lambda claims: check_attacks({**ATTACKS, "new": claims}, registry.LEARNERS)

    return register


def test_a_private_learner_without_an_attack_is_named(new):
    problems = new("one_rule")
    (problem,) = problems(())
    assert "'new' has no attack: add a file to src/privcurve/audit/attacks" in problem
    (problem,) = problems(only("one_rule", lambda c: c.calibration == "published"))
    assert problem == "new: no claim of its attack has the calibration 'certified'"


def test_a_learner_that_offers_delta_is_audited_with_it(new):
    pure = only("one_rule", lambda c: c.delta == 0)
    (problem,) = new("one_rule")(pure)
    assert problem == "new offers δ > 0, but no claim of its attack has it"
    assert new("one_rule", approximate=False)(pure) == []


def test_what_is_tried_beyond_a_statement_does_not_count_as_its_claim(new):
    beyond = only("dpboost", lambda c: c.neighbours == ADD_REMOVE)
    assert beyond
    problems = new("dpboost", calibrations=("published",))(beyond)
    assert "new: no claim of its attack has the calibration 'published'" in problems


def test_the_recipe_covers_every_calibration():
    """All that a fit leaves, on several pairs: of each learner and calibration."""
    states = [c for c in CLAIMS if c.sample is sample_states]
    tried = [c for c in states if c.pairs is several or c.learner in MANY]
    covered = {(c.learner, c.calibration) for c in tried}
    assert covered == {(c.learner, c.calibration) for c in CLAIMS if c.learner not in ANSWERS}


def test_the_recipe_covers_every_learner_that_may_read_public_columns():
    """With neighbours that share what is public: the others are none of its claim."""
    covered = {c.learner for c in CLAIMS if c.pairs is hidden_few}
    offered = {
        name
        for name, one in registry.LEARNERS.items()
        if one.private and PRIVATE_COLUMNS in one.neighbours
    }
    assert covered == offered - ANSWERS


def test_small_parts_are_tried():
    """Two partitions, two trees an ensemble, three rounds and codes; each weak learner with δ."""
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
        "CLAIMS = (claim_by_answers('new', 'certified', {}),)"
    )
    monkeypatch.setattr(attacks.attacks, "__path__", [*attacks.attacks.__path__, str(tmp_path)])
    attacked = gather(attacks.find_claims())
    assert [c.learner for c in attacked["new"]] == ["new"]
    assert set(attacked) == {*ATTACKS, "new"}


def test_the_same_claim_twice_is_refused():
    with pytest.raises(ValueError, match="one_rule has the same claim twice"):
        gather([*ATTACKS["one_rule"], ATTACKS["one_rule"][0]])


def test_peers_and_learners_without_privacy_are_exempt():
    exempt = [n for n, one in registry.LEARNERS.items() if one.peer or not one.private]
    assert "majority_class" in exempt
    assert check_attacks({}, exempt) == []


def test_verdicts_share_their_error_over_all_sampled_pairs():
    chosen = [c for c in CLAIMS if c.method == "sampled"]
    assert sum(c.n_pairs for c in chosen) == COMPARISONS >= len(chosen)
    for c in chosen:
        assert len(list(c.pairs(c, TARGET))) == c.n_pairs, c.name


@pytest.mark.parametrize(
    "learner", [pytest.param(name, marks=[pytest.mark.slow] * (name == "aim")) for name in ATTACKS]
)
def test_claims_are_what_the_learner_states(learner):
    for c in ATTACKS[learner]:
        pair = next(iter(c.pairs(c, TARGET)))
        check_pair(pair)
        assert pair.neighbours == c.neighbours
        said = c.statement(pair.left)
        assert (said.learner, said.calibration) == (learner, c.calibration)
