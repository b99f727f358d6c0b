"""What every private learner says of its guarantee, and what it refuses to promise."""

import pytest
from made_learners import changes, learners, make, offered, private, private_learners, problem

from privcurve.learners.registry import LEARNERS, entry
from privcurve.privacy.budget import relation
from privcurve.privacy.ledger import ASSUMED_BOTH, NOT_COVERED, NOT_FLOATS, NOT_SELECTION

# Learners whose sums are whole numbers, with exact noise, cover floating-point arithmetic; one
# that chooses settings privately covers the choice.
COVERED = {"privgam": {NOT_FLOATS}, "tuned": {NOT_SELECTION}}


@offered
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 3.0])
def test_statement_adds_up_to_epsilon(name, calibration, epsilon):
    X, y, n_bins = problem()
    learner = make(name, n_bins=n_bins, epsilon=epsilon, calibration=calibration, random_state=0)
    statement = learner.fit(X, y).privacy_
    assert statement.learner == name
    assert statement.epsilon == epsilon
    assert statement.epsilon_spent == pytest.approx(epsilon, rel=1e-9)
    assert statement.delta == learner.delta
    assert (statement.delta == 0) == LEARNERS[name].pure
    # A peer's ε is what its library claims, for neighbours of the library's choice.
    assert statement.neighbours == entry(name).neighbours[0]
    assert entry(name).peer == (statement.neighbours == "add-remove")
    assert statement.calibration == calibration
    assert statement.ledger
    assert set(NOT_COVERED) - set(statement.exclusions) == COVERED.get(name, set())
    # What is known of the generator is said of each.
    assert "one stream of NumPy's PCG64" in str(statement)
    assert "recovered from its output (Bouillaguet, Martinez and Sauvage" in str(statement)
    assert type(statement).from_json(statement.to_json()) == statement
    assert relation(statement.neighbours).change in str(statement)


@pytest.mark.parametrize("name", [name for name in LEARNERS if LEARNERS[name].approximate])
def test_delta_is_in_the_statement(name):
    X, y, n_bins = problem()
    statement = make(name, n_bins=n_bins, delta=1e-5, random_state=0).fit(X, y).privacy_
    assert statement.delta == 1e-5
    assert statement.epsilon_spent == pytest.approx(1.0, rel=1e-9)


@private_learners
def test_a_statement_is_of_the_fit_whatever_is_set_later(name):
    X, y, n_bins = problem(100)
    model = make(name, n_bins=n_bins, epsilon=100.0, random_state=0).fit(X, y)
    stated = model.privacy_
    assert stated.epsilon == 100.0
    for change in changes(name):
        model.set_params(**change)
    model.set_params(epsilon=0.01)
    if hasattr(model, "C"):
        model.set_params(C=50.0)
    assert model.privacy_ == stated


@private_learners
def test_that_both_labels_occur_is_assumed_unless_classes_are_given(name):
    X, y, n_bins = problem()
    read = make(name, n_bins=n_bins, random_state=0).fit(X, y)
    given = make(name, n_bins=n_bins, classes=("no", "yes"), random_state=0).fit(X, y)
    assert read.privacy_.assumptions == (*given.privacy_.assumptions, ASSUMED_BOTH)
    assert ASSUMED_BOTH not in given.privacy_.assumptions
    # What the fit read stays read, whatever is set later.
    assert read.set_params(classes=("no", "yes")).privacy_.assumptions[-1] == ASSUMED_BOTH
    assert ASSUMED_BOTH not in read.fit(X, y).privacy_.assumptions


@learners
def test_without_privacy_says_so(name):
    if private(name):
        assert make(name).epsilon == 1.0
        return
    X, y, n_bins = problem()
    statement = make(name, n_bins=n_bins).fit(X, y).privacy_
    assert not statement.private
    assert statement.ledger == ()


@private_learners
@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), "much"])
def test_epsilon_is_checked(name, epsilon):
    X, y, n_bins = problem()
    with pytest.raises(ValueError, match="epsilon"):
        make(name, n_bins=n_bins, epsilon=epsilon).fit(X, y)


@private_learners
def test_delta_and_calibration_are_checked(name):
    X, y, n_bins = problem()
    with pytest.raises(ValueError, match="calibration"):
        make(name, n_bins=n_bins, calibration="hoped for").fit(X, y)
    with pytest.raises(ValueError, match="delta"):
        make(name, n_bins=n_bins, delta=1.0).fit(X, y)
    if not LEARNERS[name].approximate:
        with pytest.raises(ValueError, match="pure"):
            make(name, n_bins=n_bins, delta=1e-6).fit(X, y)
    if not LEARNERS[name].pure:
        with pytest.raises(ValueError, match="pure"):
            make(name, n_bins=n_bins, delta=0.0).fit(X, y)
