"""Statements and ledgers: JSON there and back, words, sums."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest

from privcurve.privacy import LedgerEntry, PrivacyStatement
from privcurve.privacy.accountants import compose as c
from privcurve.privacy.accountants.zcdp import zcdp_simple
from privcurve.privacy.calibration.one_rules import lazybb_one_rule


def statement(delta: float = 0.0) -> PrivacyStatement:
    return lazybb_one_rule(
        n=500,
        n_rounds=4,
        density=0.5,
        learning_rate=0.4,
        epsilon=0.5,
        delta=delta,
        calibration="certified",
    ).statement


def mixed(composition: str, delta: float, *entries: LedgerEntry) -> PrivacyStatement:
    return PrivacyStatement("trees", 1.0, delta, "replace-one", None, composition, entries)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_json_there_and_back(delta: float) -> None:
    before = statement(delta)
    after = PrivacyStatement.from_json(before.to_json())
    assert after == before
    assert after.epsilon_spent == before.epsilon_spent


def test_json_of_infinite_numbers_is_standard_json() -> None:
    gaussian = LedgerEntry("gaussian", "weights", 0.5, 1.0, math.inf, None, 0.125, "§d")
    before = mixed(c.GAUSSIAN, 1e-5, gaussian)
    document = json.loads(before.to_json(), parse_constant=pytest.fail)
    assert document["ledger"][0]["epsilon"] == "inf"
    assert PrivacyStatement.from_json(before.to_json()) == before
    not_private = PrivacyStatement.not_private("majority_class")
    assert PrivacyStatement.from_json(not_private.to_json()) == not_private


def test_broken_json_is_refused() -> None:
    document = json.loads(statement().to_json())
    for broken in (
        {k: v for k, v in document.items() if k != "delta"},
        {**document, "budget": 3},
        {**document, "ledger": [{"mechanism": "magic"}]},
        [],
    ):
        with pytest.raises(ValueError, match="not a privacy statement"):
            PrivacyStatement.from_json(json.dumps(broken))
    with pytest.raises(ValueError, match="Expecting"):
        PrivacyStatement.from_json("nonsense")


def test_words_for_a_data_protection_officer() -> None:
    words = str(statement())
    for part in (
        "epsilon = 0.5",
        "pure",
        "any one record been replaced by another",
        "4 uses of permute-and-flip",
        "basic composition",
        "Calibration: certified",
        "Assumed public: the number of records, the bins of each column and the two labels",
        "knowledge of the random seed",
        "floating-point",
        "choice of settings",
    ):
        assert part in words
    assert "\n" not in words
    assert "delta = 1e-06" in str(statement(1e-6))


def test_words_without_privacy() -> None:
    nothing = PrivacyStatement.not_private("gradient_boosting")
    assert "not private" in str(nothing)
    assert nothing.ledger == ()
    assert nothing.epsilon_spent == nothing.epsilon == math.inf
    assert not nothing.private


def test_statements_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        statement().epsilon = 0.1  # type: ignore[misc]


def test_spent_follows_the_ledger_and_not_the_claim() -> None:
    before = statement()
    half = dataclasses.replace(before, ledger=before.ledger[:2])
    assert half.epsilon_spent == pytest.approx(0.25)
    approximate = statement(1e-6)
    more = dataclasses.replace(approximate, ledger=approximate.ledger * 2)
    assert more.epsilon_spent > 1.2 * approximate.epsilon_spent


def test_mixed_ledgers_use_each_entry_at_its_best() -> None:
    split = LedgerEntry("exponential", "split", 2.0, 0.1, 0.4, bounded_range=0.4)
    count = LedgerEntry("laplace", "count", 0.3, 1.0, 0.3)
    noise = LedgerEntry("gaussian", "histogram", 0.5, 0.4, math.inf, rho=0.02)
    other = LedgerEntry("objective_perturbation", "weights", 1.0, 1.0, 0.2)
    known = LedgerEntry("noisy_label", "labels", 1.0, 1.0, math.inf, rho=0.01)
    rho = 0.4**2 / 8 + (0.3 + math.exp(-0.3) - 1) + 0.02 + 0.2**2 / 2 + 0.01
    entries = (split, count, noise, other, known)
    assert mixed(c.ZCDP_SIMPLE, 1e-5, *entries).epsilon_spent == pytest.approx(
        zcdp_simple(rho, 1e-5)
    )
    assert mixed(c.BASIC, 0.0, split, count, other).epsilon_spent == pytest.approx(0.9)
    assert mixed(c.BASIC, 0.0).epsilon_spent == 0
