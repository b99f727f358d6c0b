"""Learners of other libraries: the data that they get, their claims, missing packages."""

import importlib.util
import math
import warnings

import numpy as np
import pytest
from small_study import study_mapping

from privcurve.audit.pairs import records
from privcurve.experiments import study
from privcurve.learners import registry
from privcurve.learners.registry import estimator_class
from privcurve.privacy.accountants.compose import GAUSSIAN, compose
from privcurve.privacy.accountants.cost import GAUSSIAN_KIND, Cost
from privcurve.privacy.curator import Curator

PEERS = [name for name, entry in registry.LEARNERS.items() if entry.peer]

needs_interpret = pytest.mark.skipif(
    registry.missing_package("dp_ebm") is not None, reason=str(registry.missing_package("dp_ebm"))
)


def installed(name):
    missing = registry.missing_package(name)
    if missing:
        pytest.skip(missing)
    return estimator_class(name)


def problem(n=400, seed=0):
    rng = np.random.default_rng(seed)
    n_bins = [2, 12, 3, 1]
    X = rng.integers(0, n_bins, size=(n, 4)).astype(np.uint8)
    return X, np.where((X[:, 0] == 1) ^ (rng.random(n) < 0.05), 1, -1), n_bins


@pytest.fixture
def without(monkeypatch):
    """Return a function that hides a package from imports."""
    original = importlib.util.find_spec

    def hide(package):
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name: None if name == package else original(name)
        )

    return hide


# Missing packages --------------------------------------------------------------------


def test_an_absent_package_is_named_with_the_way_to_get_it(without):
    without("interpret")
    with pytest.raises(ImportError, match=r"needs .* interpret-core: pip install .*\[peers\]"):
        estimator_class("dp_ebm")
    assert estimator_class("majority_class")


EBM = {"learner": "dp_ebm", "deltas": [1e-5], "grid": {"learning_rate": [0.01, 0.1]}}


def test_a_study_without_the_package_leaves_the_peer_out_with_a_note(without):
    without("interpret")
    made = study.from_mapping(
        study_mapping({"ebm": EBM, "rule": {"learner": "one_rule"}}), "s", "s.yaml"
    )
    assert list(made.methods) == ["rule~proved"]
    (note,) = made.skipped
    for word in ("s.yaml", "ebm is left out", "interpret-core", "privcurve[peers]"):
        assert word in note


def test_an_absent_peer_is_checked_all_the_same(without):
    without("interpret")
    wrong = {**EBM, "grid": {"learning_rat": [0.1]}}
    with pytest.raises(study.StudyError, match="did you mean 'learning_rate'"):
        study.from_mapping(
            study_mapping({"ebm": wrong, "rule": {"learner": "one_rule"}}), "s", "s.yaml"
        )


def test_a_study_of_nothing_but_absent_peers_is_an_error(without):
    without("interpret")
    with pytest.raises(study.StudyError, match=r"no learner is left.*privcurve\[peers\]"):
        study.from_mapping(study_mapping({"ebm": EBM}), "s", "s.yaml")


@needs_interpret
def test_a_study_with_the_package_has_all_methods():
    made = study.from_mapping(
        study_mapping({"ebm": EBM, "rule": {"learner": "one_rule"}}), "s", "s.yaml"
    )
    assert list(made.methods) == ["ebm~published~delta=1e-05", "rule~proved"]
    assert made.skipped == ()


# Data that the libraries get ---------------------------------------------------------


@pytest.mark.parametrize("name", PEERS)
def test_no_library_reads_public_facts_from_the_data(name):
    X, y, n_bins = problem()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ResourceWarning)  # other tests leave files open
        installed(name)(n_bins=n_bins, classes=(-1, 1), random_state=0).fit(X, y)


@pytest.mark.parametrize("name", PEERS)
def test_labels_are_learned(name):
    X, y, n_bins = problem(2000)
    model = installed(name)(n_bins=n_bins, epsilon=10.0, random_state=1).fit(X, y)
    # diffprivlib's forest with labels −1 and 1 never predicts the frequent one (0.6.6).
    assert (model.predict(X) == y).mean() > 0.8


@needs_interpret
def test_ebm_bins_lie_within_the_public_bounds():
    X, y, n_bins = problem()
    narrow = X.copy()
    narrow[:, 1] = 5
    model = estimator_class("dp_ebm")(n_bins=n_bins, random_state=0).fit(narrow, y).model_
    expected = [[-0.5, bins - 0.5] for bins in n_bins]
    assert np.array_equal(model.feature_bounds_, expected)
    assert model.feature_types_in_ == ["continuous"] * 4


@needs_interpret
def test_nominal_columns_of_ebm_reveal_categories_and_the_statement_excludes_it():
    X, y, n_bins = problem()
    X[:, 2] = 2 * (X[:, 2] > 0)  # no record has category 1
    ordered = (True, True, False, True)
    options = {"n_bins": n_bins, "ordered": ordered, "random_state": 0}
    fit = estimator_class("dp_ebm")(**options, nominal="as_nominal").fit(X, y)
    assert fit.model_.feature_types_in_ == ["continuous"] * 2 + ["nominal", "continuous"]
    occur = "which categories of columns without an order occur"
    assert occur in fit.privacy_.exclusions
    assert len(fit.model_.bins_[2][0]) == 2
    assert occur not in estimator_class("dp_ebm")(**options).fit(X, y).privacy_.exclusions


@needs_interpret
def test_ebm_noise_does_not_grow_with_repeated_records():
    X, y, n_bins = problem(100)
    learner = estimator_class("dp_ebm")(n_bins=n_bins, max_rounds=5, random_state=0)
    counts = np.ones(100, dtype=int)
    alone = learner.fit(X, y, counts).model_.noise_scale_boosting_
    counts[3] = 50
    assert learner.fit(X, y, counts).model_.noise_scale_boosting_ == alone
    assert not hasattr(learner, "n_records_")  # neighbours differ in this number


def test_trees_train_on_repeated_records():
    pytest.importorskip("diffprivlib")
    X, y, n_bins = problem(100)
    for name in ("dpl_random_forest", "dpl_decision_tree"):
        learner = estimator_class(name)(n_bins=n_bins, epsilon=math.inf)
        weighted = learner.fit(X, y, np.where(y > 0, 1, 60)).decision_function(X).mean()
        assert weighted < learner.fit(X, y).decision_function(X).mean()


# Claims of the libraries -------------------------------------------------------------


@needs_interpret
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_ebm_noise_keeps_the_claim_for_one_record_more(epsilon):
    """The Gaussian steps compose to less than ε, because interpret adds up two parts of ε."""
    X, y, n_bins = problem(100)
    learner = estimator_class("dp_ebm")(n_bins=n_bins, epsilon=epsilon, random_state=0)
    statement = learner.fit(X, y).privacy_
    costs = [Cost(GAUSSIAN_KIND, e.noise_rate * e.sensitivity) for e in statement.ledger]
    together = compose(GAUSSIAN, costs, statement.delta)
    assert 0.7 * epsilon < together <= epsilon
    assert statement.neighbours == "add-remove"
    assert any("replacement of a record" in text for text in statement.exclusions)


def seeds(parts, path=()):
    """Return the path of every random_state in a nested object that is not None."""
    if isinstance(parts, dict):
        below = parts.items()
    elif isinstance(parts, (list, tuple)):
        below = enumerate(parts)
    else:
        below = vars(parts).items() if hasattr(parts, "__dict__") else ()
    for name, value in below:
        if name == "random_state" and value is not None:
            yield (*path, name)
        elif len(path) < 8:
            yield from seeds(value, (*path, name))


@pytest.mark.parametrize("name", PEERS)
def test_a_model_does_not_hold_the_seed_of_its_noise(name):
    X, y, n_bins = problem(60)
    model = installed(name)(n_bins=n_bins, classes=(-1, 1)).fit(X, y)
    assert list(seeds(model)) == []
    model.model_.random_state = 3
    assert list(seeds(model)) == [("model_", "random_state")]


def test_a_replaced_record_costs_a_diffprivlib_tree_twice_its_epsilon():
    """Two equal records in one leaf: one flipped label raises P(minority label) by exp(2ε).

    Each side has 300 fits. P = exp(-2)/2 = 0.068 and 1/2; a factor of exp(1) would mean at least
    0.184 where the other is 1/2.
    """
    pytest.importorskip("diffprivlib")
    X = np.zeros((2, 1), dtype=np.uint8)
    shares = []
    for y in ([1, 1], [-1, 1]):
        learner = estimator_class("dpl_decision_tree")(
            max_depth=1, n_bins=2, classes=(-1, 1), epsilon=1.0
        )
        curators = [Curator(np.random.default_rng([7, seed])) for seed in range(300)]
        fits = learner.fit_records(records(X, y, [2]), [{}] * 300, curators)
        shares.append(np.mean([fit.decision_function(X)[0] < 0 for fit in fits]))
    # False alarm: below 1e-6 each (5.9 standard errors).
    assert shares[0] == pytest.approx(math.exp(-2) / 2, abs=0.086)
    assert shares[1] == pytest.approx(0.5, abs=0.17)
    assert "epsilon = 2" in str(fits[0].privacy_)
