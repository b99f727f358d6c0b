"""The measured ε of a method: a bound that noise keeps, that a lie breaks, and reasons without."""

import math

import pandas as pd
import pytest
from small_study import study_with

from privcurve.audit import measured
from privcurve.audit.canaries import Guesses
from privcurve.outputs import checks
from privcurve.privacy.budget import ADD_REMOVE


def method_of(spec, **more):
    (method,) = study_with({"a": spec}, **more).methods.values()
    return method


def test_a_tight_method_is_measured_near_its_claim_and_not_above():
    bound = measured.measure(method_of({"learner": "noisy_bayes"}))
    assert 0.5 < bound.epsilon < 1
    assert bound.guesses.n_coins == measured.FITS * 250
    # Half of the error for each of two tables.
    assert bound.epsilon == bound.guesses.refuted_epsilon(0.0, 0.025)
    assert measured.measure(method_of({"learner": "noisy_bayes"})) == bound


def test_a_method_that_spends_more_than_it_claims_is_measured_above_its_claim(monkeypatch):
    monkeypatch.setattr(measured, "EPSILON", 20.0)
    bound = measured.measure(method_of({"learner": "noisy_bayes"}), n_fits=5)
    assert bound.epsilon > 3


def test_add_remove_is_measured_by_presence():
    spec = {"learner": "dp_gradient_descent", "neighbours": ADD_REMOVE, "deltas": [1e-6]}
    bound = measured.measure(method_of(spec), n_fits=4)
    assert bound.guesses.n_coins == 1000
    assert 0 <= bound.epsilon < 1


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"learner": "noisy_majority"}, "it scores all canaries alike"),
        ({"learner": "one_rule", "grid": {"mechanism": ["auto", "exponential"]}}, "chosen on the"),
    ],
)
def test_what_can_not_be_measured_has_a_reason(spec, reason):
    bound = measured.measure(method_of(spec), n_fits=2)
    assert reason in bound.reason
    assert math.isnan(bound.epsilon)
    assert bound.guesses == Guesses(0, 0, 0)


def test_a_learner_that_fails_on_canaries_has_the_error_as_its_reason(monkeypatch):
    def fail(*arguments):
        raise ZeroDivisionError("no bins")

    monkeypatch.setattr(measured, "guess_coins", fail)
    bound = measured.measure(method_of({"learner": "noisy_bayes"}))
    assert bound.reason == "ZeroDivisionError: no bins"


def test_checks_are_read_as_they_were(tmp_path):
    row = dict.fromkeys(checks.COLUMNS, "x") | {"measured": math.nan, "reason": "None"}
    frame = pd.DataFrame([row, row | {"measured": 0.25, "reason": ""}])
    checks.write(frame, tmp_path / "checks.csv")
    pd.testing.assert_frame_equal(checks.read(tmp_path / "checks.csv"), frame, check_dtype=False)
    assert checks.read(tmp_path / "absent.csv").empty
    assert [checks.describe(value) for value in frame["measured"]] == ["–", "≥ 0.25"]


def test_contracts_are_kept_by_learners_of_the_project_and_not_tried_of_others():
    assert measured.contract_of(method_of({"learner": "privgam"})) == "contract kept"
    peer = {"learner": "dpl_random_forest"}
    assert measured.contract_of(method_of(peer)) == "contract not tried"
