"""Test the statement of every private learner, and what the statement does not promise."""

from pathlib import Path

import numpy as np
import pytest
from made_learners import (
    each_calibration,
    each_learner,
    each_private_learner,
    is_private,
    make_learner,
    small_problem,
)
from sklearn.base import clone

from privcurve.audit.pairs import records
from privcurve.learners.registry import LEARNERS, entry
from privcurve.privacy import seeds
from privcurve.privacy.accountants.compose import SAMPLED
from privcurve.privacy.budget import relation
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import ASSUMED_BOTH, NOT_COVERED, NOT_FLOATS, NOT_SELECTION
from privcurve.privacy.seeds import OF_CHACHA


def spends(statement, epsilon):
    """Return whether a statement spends ε, with more tolerance for sampled batches."""
    near = 3e-6 if statement.composition == SAMPLED else 1e-9
    return epsilon * (1 - near) <= statement.epsilon_spent <= epsilon * (1 + 1e-9)


# By learner: general exclusions that its statement need not have. The statement of a fit has its
# own sentence on floating point (test_floats.py), and private selection covers the choice of
# hyperparameters.
COVERED = {"tuned": {NOT_FLOATS, NOT_SELECTION}}
# A public seed. A fit with a secret seed must not start a generator from it.
NUMBER = 20


class NeverBegun:
    def __init__(self, *args, **options):
        raise AssertionError("a secret stream has begun a generator of NumPy's")


@each_calibration
def test_statement_adds_up_to_epsilon(name, calibration):
    X, y, n_bins = small_problem()
    for epsilon in (0.05, 1.0, 3.0):
        learner = make_learner(
            name, n_bins=n_bins, epsilon=epsilon, calibration=calibration, random_state=0
        )
        statement = learner.fit(X, y).privacy_
        assert statement.learner == name
        assert statement.epsilon == epsilon
        assert spends(statement, epsilon)
        assert statement.delta == learner.delta
        assert (statement.delta == 0) == LEARNERS[name].pure
        # The statement of a peer has the ε and the neighbours that the peer's library claims.
        assert statement.neighbours == entry(name).neighbours[0]
        # Peers protect added records, except diffprivlib's logistic regression, which follows a
        # paper on replaced records.
        is_added = entry(name).peer and name != "dpl_logistic_regression"
        assert is_added == (statement.neighbours == "add-remove")
        assert statement.calibration == calibration
        assert statement.ledger
        assert set(NOT_COVERED) - set(statement.exclusions) == COVERED.get(name, {NOT_FLOATS})
        # The statement describes the generator: here NumPy's, started by a public number.
        assert "one stream of NumPy's PCG64" in str(statement)
        assert "a number as seed is not private against whoever knows it" in str(statement)
        assert "recovered from its output (Bouillaguet, Martinez and Sauvage" in str(statement)
        assert type(statement).from_json(statement.to_json()) == statement
        assert relation(statement.neighbours).change in str(statement)


@each_private_learner
def test_a_secret_stream_begins_no_other_generator(name, monkeypatch):
    """Noise and public coins never come from PCG64, so a released model reveals no stream."""
    if entry(name).peer:
        pytest.skip("another library draws with a generator of its own")
    X, y, n_bins = small_problem(100)
    y = np.where(y == "yes", 1, -1)
    learner = make_learner(name, n_bins=n_bins, classes=(-1, 1))
    public, begun = np.random.default_rng, []
    monkeypatch.setattr(np.random, "default_rng", lambda seed: begun.append(seed) or public(seed))
    of_number = clone(learner).set_params(random_state=NUMBER).fit(X, y).privacy_
    # Generators with public seeds may draw what is neither noise nor coins, such as rows that
    # measure a bound. A fit may need none of them, if the drawn records have one label.
    allowed = {*begun} - {NUMBER}
    begun.clear()
    # The names must stay types, because draws check the type of a stream; but no generator can be
    # started.
    monkeypatch.setattr(np.random, "MT19937", NeverBegun)
    monkeypatch.setattr(np.random, "PCG64", NeverBegun)
    first = learner.fit_records(records(X, y, n_bins), [{}], [Curator(seeds.stream(bytes(32)))])[0]
    for model in (first, learner.fit(X, y)):
        assert OF_CHACHA in model.privacy_.exclusions
        assert "PCG64" not in str(model.privacy_)
        assert model.privacy_.reservations == of_number.reservations
    assert {*begun} <= allowed


def test_half_spaces_of_a_secret_seed_are_outputs_of_chacha20():
    """A released BRC model shows coins: with PCG64, its seed could be computed from them."""
    X, y, n_bins = small_problem(100)
    side = records(X, np.where(y == "yes", 1, -1), n_bins)
    secret, digest = seeds.SecretSeed(bytes(range(32)), Path("a.seed")), "ab" * 32
    shown = []
    # With the same start number, PCG64 would draw other coins, which the model must not show.
    for start in (seeds.start_number(secret, digest), None):
        begun = [seeds.generator(secret, digest) if start is None else seeds.stream(start)]
        learner = make_learner("brc", n_bins=n_bins, classes=(-1, 1))
        model = learner.fit_records(side, [{}], [*map(Curator, begun)])[0]
        shown.append({number for vote in model.votes_ for number in vote.coefficients})
    # The stream of the coins is separate; its key is the first output of the stream of the noise.
    key = seeds.generator(secret, digest).bytes(32)
    drawn = seeds.stream(key).uniform(-1, 1, 10 * len(n_bins))
    assert shown[1] == set(drawn.tolist())
    assert not shown[0] & shown[1]


def test_a_statement_names_the_generator_that_was_handed_in():
    X, y, n_bins = small_problem(100)
    begun = "one stream of NumPy's PCG64, begun by a number or handed in"
    for handed, text in (
        (np.random.Generator(np.random.Philox(1)), "a generator that was handed in (Philox)"),
        (seeds.stream(bytes(32)), "one stream of ChaCha20"),
        (np.random.default_rng(1), begun),
        (np.random.RandomState(1), begun),
    ):
        model = make_learner("one_rule", n_bins=n_bins, random_state=handed).fit(X, y)
        assert text in str(model.privacy_)
        assert str(model.privacy_).count("what can be computed of the random numbers") == 1


@pytest.mark.parametrize("name", [name for name in LEARNERS if LEARNERS[name].approximate])
def test_delta_is_in_the_statement(name):
    X, y, n_bins = small_problem()
    options = {"n_bins": n_bins, "random_state": 0}
    statement = make_learner(name, delta=1e-5, **options).fit(X, y).privacy_
    assert statement.delta == 1e-5
    assert spends(statement, 1.0)


@each_private_learner
def test_that_both_labels_occur_is_assumed_unless_classes_are_given(name):
    X, y, n_bins = small_problem()
    read = make_learner(name, n_bins=n_bins, random_state=0).fit(X, y)
    given = make_learner(name, n_bins=n_bins, classes=("no", "yes"), random_state=0).fit(X, y)
    assert read.privacy_.assumptions == (*given.privacy_.assumptions, ASSUMED_BOTH)
    assert ASSUMED_BOTH not in given.privacy_.assumptions
    again = read.set_params(classes=("no", "yes")).fit(X, y)
    assert ASSUMED_BOTH not in again.privacy_.assumptions


@each_learner
def test_without_privacy_says_so(name):
    if is_private(name):
        assert make_learner(name).epsilon == 1.0
        return
    X, y, n_bins = small_problem()
    statement = make_learner(name, n_bins=n_bins).fit(X, y).privacy_
    assert not statement.private
    assert statement.ledger == ()
