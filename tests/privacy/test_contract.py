"""The contract: the project's learners keep it, and each broken one breaks a named condition.

Other tests cover what it cannot see: LazyBB's projection without its cap, a noisy maximum that is
released with its value, and noise divided by ζ twice, which are mechanisms without a learner
(`test_audit_controls.py`); a holder's share of noise for more honest holders than there are, which
no ledger knows (`test_holder_noise.py`); PATE's answers about scored rows (`test_pate.py`).
"""

import gc
import re
import warnings
from dataclasses import replace

import pytest
from audit_less_noise import BREAK
from mistakes_any import (
    DPBOOST_PARAMETERS,
    MISTAKES_IN_NOISY_MAJORITY,
    NOISY_BAYES,
    NOISY_MAJORITY,
    PATE,
    TWO_TREES,
    all_mistakes,
)

from privcurve.audit import contract
from privcurve.audit.contract import (
    CHARGE,
    CONTROL,
    NOISE,
    POST_PROCESSING,
    SEALED,
    SENSITIVITY,
    Case,
    check,
    check_at_size,
)
from privcurve.audit.contract_cases import CASES
from privcurve.audit.replay_fits import overheard
from privcurve.audit.watched_fits import Watch
from privcurve.learners.majority import MARGIN, NoisyMajorityClassifier
from privcurve.learners.registry import LEARNERS
from privcurve.privacy import sums
from privcurve.privacy.budget import ADD_REMOVE, REPLACE_ONE

pytestmark = pytest.mark.usefixtures("announced_margin")


def named(value):
    return getattr(value, "__name__", str(value))


# One setting of each learner, except slow ones. All settings: `test_audit_table.py`.
LONG = {"aim", "mst", "boosting_for_people", "tuned"}
FIRST = {case.learner: case for case in reversed(CASES) if case.learner not in LONG}


@pytest.mark.parametrize("case", FIRST.values(), ids=str)
def test_learners_keep_it(case):
    assert str(check(case, n_random=12).breach or "") == ""


# One setting of each learner and relation, with ε for persons of two records each.
OF_PERSONS = {(case.learner, case.neighbours): case for case in reversed(CASES)}


@pytest.mark.parametrize(
    "key",
    [pytest.param(one, marks=[pytest.mark.slow] * (one[0] in LONG)) for one in OF_PERSONS],
    ids=str,
)
def test_all_records_of_a_person_replaced_keep_it(key):
    case = replace(OF_PERSONS[key], at_most=2)
    assert str(check(replace(case, sizes=[max(6, *case.sizes)]), n_random=6).breach or "") == ""


@pytest.mark.parametrize("learner", ["noisy_majority", "noisy_bayes", "privgam"])
@pytest.mark.parametrize(
    ("name", "wrong", "point"),
    [
        ("budget_within_group", lambda epsilon, delta, size: (epsilon, delta), CHARGE),
        ("limit_places", lambda persons, at_most, seed: range(len(persons)), SENSITIVITY),
    ],
)
def test_for_persons_a_share_and_a_selection_are_needed(monkeypatch, learner, name, wrong, point):
    monkeypatch.setattr(contract, name, wrong)
    case = replace(OF_PERSONS[learner, REPLACE_ONE], at_most=2, sizes=(12,))
    assert check(case, n_random=25).breach.point == point


# Each mistake once; mistakes that take seconds are slow, and so is reduced noise, which takes many
# draws, except for two learners.
SECONDS = {
    "errors_of_chosen_thresholds",
    "rows_that_are_not_scaled",
    "sensitivity_of_another_alpha",
}
MISTAKES = all_mistakes()
ONCE = {
    mistake: case for mistake, case, point in reversed(MISTAKES) if named(mistake) not in SECONDS
}
NOISY = ("noisy_majority", "noisy_bayes")


def with_mark(mistake, case, point):
    quick = case is ONCE.get(mistake) and (point != NOISE or case.learner in NOISY)
    return pytest.param(mistake, case, point, marks=[] if quick else [pytest.mark.slow])


@pytest.mark.parametrize(
    ("mistake", "case", "point"), [with_mark(*one) for one in MISTAKES], ids=named
)
def test_a_mistake_breaks_a_point(monkeypatch, mistake, case, point):
    mistake(monkeypatch)
    # The contract draws noise after it has tried all neighbours.
    breach = check(case, n_random=25 if point == NOISE else 60).breach
    assert breach.point == point


# The statistical audit has the same mutants with almost no noise: `test_audit_mutants.py`.
@pytest.mark.parametrize("learner", BREAK)
def test_a_third_of_the_noise_breaks_it(monkeypatch, learner):
    BREAK[learner](monkeypatch, 1 / 3)
    case = next(case for case in CASES if case.learner == learner)
    breach = check(case, n_random=25).breach
    # The contract measures scores in units of the noise; runs of a selection spend too much.
    assert breach.point == (CHARGE if learner == "tuned" else SENSITIVITY)
    assert re.search("times the announced sensitivity|the calls must add up to", breach.why)


REFUTED = [
    (Case("dpboost", DPBOOST_PARAMETERS), SENSITIVITY, "2 times the announced sensitivity"),
    # Links that are never clamped have enough noise: only the leverage breaks the contract.
    (Case("bdpe", {**TWO_TREES, "clamp": 100.0}), POST_PROCESSING, "leverages_"),
    (Case("bdpe", {**TWO_TREES, "leverage": "constant"}), SENSITIVITY, "before they are clamped"),
    (PATE, SENSITIVITY, "times the announced sensitivity"),
    (Case("dp_logistic_regression", {"C": 0.1}), SENSITIVITY, "Jacobians"),
]


@pytest.mark.parametrize(
    ("case", "point", "why"), [one for one in REFUTED if one[0].learner in LEARNERS], ids=str
)
def test_refuted_noise_breaks_it(case, point, why):
    published = replace(case, parameters={**case.parameters, "calibration": "published"})
    breach = check(published).breach
    assert breach.point == point
    assert why in breach.why


@pytest.mark.parametrize(
    ("mistake", "expected"),
    [
        ("divides_by_zero", "both sides end with ZeroDivisionError: "),
        ("no_call", "margin_ of the fitted model holds int64 values: exact values are sealed"),
        ("scaled_to_nothing", "a charged answer must have noise"),
        ("states_no_privacy", "an answer of a private fit must have noise"),
    ],
)
def test_a_breach_is_reported_with_the_tables_that_show_it(monkeypatch, mistake, expected):
    MISTAKES_IN_NOISY_MAJORITY[mistake](monkeypatch)
    text = str(check(NOISY_MAJORITY).breach)
    assert expected in text
    assert "one table:   [" in text
    assert "its neighbour: [" in text


def test_a_failure_only_in_real_fits_is_reported(monkeypatch):
    """A fit that fails only with real noise is found, as the contract also runs such fits.

    The replays with chosen answers do not have the likely answers of real noise.
    """
    own = Watch._numbers

    def numbers(self, call, exact):
        raise OverflowError("of real noise")

    monkeypatch.setattr(Watch, "_numbers", numbers)
    breach = check(NOISY_MAJORITY, n_random=20).breach
    assert breach.point == CONTROL
    assert "a real fit ends with OverflowError: of real noise\n  one table:" in str(breach)
    monkeypatch.setattr(Watch, "_numbers", own)
    assert not check(NOISY_MAJORITY, n_random=20).breach


def counted_twice(self, records, curator):
    margins = records.counts * records.labels
    self.margin_ = curator.number(MARGIN, (records.counts * margins).sum())


def test_a_record_that_counts_as_often_as_its_likes_is_seen(monkeypatch):
    """The mistake squares the counts of rows, which only tables with counts above 1 show."""
    monkeypatch.setattr(NoisyMajorityClassifier, "_release", counted_twice)
    text = str(check(NOISY_MAJORITY).breach)
    assert text.startswith(SENSITIVITY)
    assert " times)" in text


def test_a_bound_that_holds_only_for_few_columns_fails_at_real_size(monkeypatch):
    own = sums.join_bounds

    def of_two(parts):
        all_of_them, two = own(parts), own(parts[:2])
        change = two.change._replace(entries=all_of_them.change.entries)
        return all_of_them._replace(change=change)

    monkeypatch.setattr(sums, "join_bounds", of_two)
    assert check(NOISY_BAYES).breach is None
    breach = check_at_size(NOISY_BAYES).breach
    assert breach.point == SENSITIVITY
    assert "3 times the announced sensitivity (4)" in breach.why


def test_a_learner_with_its_own_fit_cannot_be_tried(monkeypatch):
    monkeypatch.setattr(NoisyMajorityClassifier, "fit", lambda self, X, y: self, raising=False)
    breach = check(NOISY_MAJORITY).breach
    assert breach.point == SEALED
    assert breach.why.startswith("NoisyMajorityClassifier replaces fit, which see open records")


@pytest.mark.parametrize("learner", [name for name in LEARNERS if LEARNERS[name].peer])
def test_the_noise_of_a_peer_is_not_tried(learner):
    breach = check(Case(learner, {}, neighbours=ADD_REMOVE)).breach
    assert breach.point == CHARGE
    assert "package of a peer" in breach.why


def test_garbage_of_earlier_code_is_not_what_a_fit_says():
    class Ring:
        def __init__(self):
            self.me = self

        def __del__(self):
            warnings.warn("left open by earlier code", stacklevel=1)

    messages = []
    with overheard(messages):
        Ring()
        # Enough new objects to start the garbage collector.
        kept = [[] for _ in range(200_000)]
        warnings.warn("from the fit", stacklevel=1)
    assert messages == ["from the fit"]
    assert len(kept) == 200_000
    assert gc.isenabled()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()
