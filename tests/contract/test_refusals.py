"""Test that fits, studies and releases refuse, with one sentence, what a learner does not offer."""

import math
import re

import numpy as np
import pytest
from made_learners import make_learner, small_problem

from privcurve import datasets
from privcurve.experiments import study
from privcurve.learners import registry
from privcurve.learners.entry import Facts
from privcurve.learners.registry import LEARNERS, entry
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS, PROVED, REPLACE_ONE
from privcurve.releases.errors import ReleaseError
from privcurve.releases.request import Request, make_estimator

ASKED = {
    "epsilon 0": {"epsilon": 0.0},
    "epsilons must be a list of ε": {"epsilon": math.nan},
    "delta 1": {"delta": 1.0},
    "approximate": {"delta": 1e-5},
    "pure": {"delta": 0.0},
    "published": {"calibration": "published"},
    "proved": {"calibration": PROVED},
    "no calibration": {"calibration": "guess"},
    **{one: {"neighbours": one} for one in (REPLACE_ONE, PRIVATE_COLUMNS, ADD_REMOVE)},
    "classes": {"n_classes": 3},
    "facts": {"facts": Facts([2, 3])},
}
REFUSALS = {
    name: [
        case
        for what, case in ASKED.items()
        # A learner without privacy has no guarantee, so it has no budget to refuse.
        if (one.private or what in ("classes", "facts")) and one.refuses(**case)
    ]
    for name, one in LEARNERS.items()
    if not registry.missing_package(name)
}

# Entries of learners in a study. Private selection is a key of the learner that it tunes.
SPECS = {"tuned": {"learner": "noisy_bayes", "tune": {"grid": {"smoothing": [1, 5]}}}}
WORDS = {"epsilon": "epsilons", "delta": "deltas", "calibration": "calibrations"}


def refusals(*left_out):
    """Return a decorator for tests with (name, cases): the requests that each learner refuses.

    Requests about a fact in `left_out` are omitted.
    """
    kept = {
        name: [case for case in cases if not set(left_out) & set(case)]
        for name, cases in REFUSALS.items()
    }
    pairs = [(name, cases) for name, cases in kept.items() if cases]
    return pytest.mark.parametrize(("name", "cases"), pairs, ids=[name for name, _ in pairs])


# `neighbours` is a parameter only of learners with several relations.
@refusals("facts")
def test_a_fit_refuses_in_the_words_of_the_registry(name, cases):
    for case in cases:
        X, y, n_bins = small_problem(60)
        learner = make_learner(name, n_bins=n_bins)
        if "n_classes" in case:
            y = np.arange(60) % 3
        elif "neighbours" in case and "neighbours" not in learner.get_params():
            continue  # not a parameter of the learner
        else:
            learner.set_params(**case)
        for classes in (None, sorted(set(y))):
            with pytest.raises(ValueError, match=re.escape(entry(name).refuses(**case))):
                learner.set_params(classes=classes).fit(X, y)


@refusals("epsilon", "delta", "calibration", "neighbours")
def test_the_pipelines_learners_are_refused(name, cases):
    (relation, *_) = entry(name).neighbours
    for case in cases:
        facts = case.get("facts") or Facts([2, 3], ordered=(True, False), n_classes=3)
        with pytest.raises(ValueError, match=re.escape(entry(name).refuses(**case))):
            registry.make(name, facts, neighbours=relation)


@refusals("facts")
def test_a_study_is_refused_before_training(name, cases):
    about = datasets.describe("mnist")
    for case in cases:
        ((word, value),) = case.items()
        if (name, word) == ("tuned", "calibration"):
            continue  # selection has only proved noise, so a study has no key for it
        one, spec = entry(name), SPECS.get(name, {"learner": name})
        if not one.pure:
            spec = {**spec, "deltas": [1e-5]}
        if word != "n_classes":
            spec = {**spec, **({WORDS[word]: [value]} if word in WORDS else {word: value})}
        content = {"title": "t", "datasets": ["mnist"], "folds": 2, "repeats": 1, "epsilons": [1]}
        result = {"n_classes": about.domain.n_classes} if word == "n_classes" else case
        content["learners"] = {"x": spec}
        with pytest.raises(study.StudyError, match=re.escape(one.refuses(**result))):
            _checked(content, about)


def _checked(content, about):
    """Check a study and the description of its data, as is done before any training."""
    made = study.from_mapping(content, "s", "s.yaml")
    return list(study.notes(made, {"mnist": about}, "s.yaml"))


# A release always has a proved calibration, and its dataset has the public facts that the learner
# needs.
@refusals("calibration", "facts")
def test_a_release_is_refused_before_anything_is_spent(name, cases):
    one = entry(name)
    if not one.proved or not (registry.estimator_class(name)._released or name == "tuned"):
        pytest.skip("never released")
    for case in cases:
        given = {key: value for key, value in case.items() if key != "n_classes"}
        budget = {"epsilon": 1.0, "delta": 0.0 if one.pure else 1e-6, **given}
        domain = Facts([2, 3], ordered=(True, False), n_classes=case.get("n_classes", 2))
        with pytest.raises(ReleaseError, match=re.escape(one.refuses(**case))):
            make_estimator(Request("d", learner=name, **budget), domain)


def test_each_kind_of_refusal_is_met():
    kinds = {key for cases in REFUSALS.values() for case in cases for key in case}
    assert kinds == {"epsilon", "delta", "calibration", "neighbours", "n_classes", "facts"}


def test_only_offered_values_are_accepted():
    for name, one in LEARNERS.items():
        for relation in one.neighbours:
            for calibration in one.calibrations:
                assert not one.refuses(neighbours=relation, calibration=calibration), name
        assert bool(one.refuses(delta=0.0)) == (not one.pure), name
        assert bool(one.refuses(delta=1e-5)) == (not one.approximate), name
        assert all(one.refuses(**ASKED[no]) for no in ("epsilon 0", "delta 1", "no calibration"))
        # Without noise, a learner needs no δ.
        assert not one.refuses(epsilon=math.inf, delta=0.0)
