"""Statements and ledgers: conversion to JSON and back, words, sums."""

import dataclasses
import json
import math

import pytest

from privcurve.privacy import LedgerEntry, PrivacyStatement
from privcurve.privacy.accountants import compose as c
from privcurve.privacy.accountants.cost import zcdp_simple
from privcurve.privacy.calibration.one_rules import lazybb_one_rule
from privcurve.privacy.calibration.trees import lazybb_trees
from privcurve.privacy.ledger import NOT_COVERED


def statement(delta=0.0):
    return lazybb_one_rule(
        n=500,
        n_rounds=4,
        density=0.5,
        learning_rate=0.4,
        epsilon=0.5,
        delta=delta,
        calibration="proved",
    ).statement


def mixed(composition, delta, *entries):
    return PrivacyStatement(
        "trees", 1.0, delta, "replace-one", None, composition, entries, status="proved"
    )


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_json_there_and_back(delta):
    before = statement(delta)
    after = PrivacyStatement.from_json(before.to_json())
    assert after == before
    assert after.epsilon_spent == before.epsilon_spent


def test_json_of_infinite_numbers_is_standard_json():
    gaussian = LedgerEntry("gaussian", "weights", 0.5, 1.0, math.inf, None, 0.125, "a theorem")
    before = mixed(c.GAUSSIAN, 1e-5, gaussian)
    document = json.loads(before.to_json(), parse_constant=pytest.fail)
    assert document["ledger"][0]["epsilon"] == "inf"
    assert PrivacyStatement.from_json(before.to_json()) == before
    not_private = PrivacyStatement.not_private("majority_class")
    assert PrivacyStatement.from_json(not_private.to_json()) == not_private


def test_broken_json_is_refused():
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


def test_words_for_a_data_protection_officer():
    words = str(statement())
    for part in (
        "epsilon = 0.5 (pure",
        "any one record been replaced by another",
        "4 choices by permute-and-flip, in 4 steps; the costs of steps add up by basic",
        "Calibration: proved",
        "Assumed public: the number of records, the bins of each column and the two labels",
        "a seed is used once",
        "within a factor of 1.65.",
    ):
        assert part in words
    assert "\n" not in words
    assert "delta = 1e-06" in str(statement(1e-6))


@pytest.mark.parametrize(
    ("calibration", "leaves", "words"),
    [
        ("proved", "labels", "35 choices by permute-and-flip and 40 numbers with Laplace noise"),
        ("proved", "rules", "35 choices by permute-and-flip, in 15 steps"),
        # One choice per split, among all leaves; two numbers per leaf.
        ("published", "labels", "35 choices by the exponential mechanism and 80 numbers with"),
    ],
)
def test_choices_and_numbers_are_counted_one_by_one(calibration, leaves, words):
    message = lazybb_trees(
        learner="lazybb", n=500, n_rounds=5, density=0.5, learning_rate=0.4, depth=3, n_splits=7,
        criterion="gini", split_share=None, leaves=leaves, epsilon=1.0, delta=0.0,
        calibration=calibration,
    ).statement  # fmt: skip
    assert words in str(message)
    assert "in parallel over the " in str(message)


@pytest.mark.parametrize(
    ("epsilon", "words"),
    [
        (1e-4, "differing by at most 0.0101 %."),
        (1e-300, "differing by at most 1.01e-298 %."),
        (0.01, "within a factor of 1.02."),
        (0.1, "within a factor of 1.11."),
        (10.0, "within a factor of 2.21e+04."),
        (50.0, "within a factor of exp(50)."),
    ],
)
def test_the_bound_is_a_number_that_says_something(epsilon, words):
    assert words in str(dataclasses.replace(statement(), epsilon=epsilon))


def test_words_for_private_columns():
    def said(columns, label):
        changed = dataclasses.replace(
            statement(), neighbours="private-columns", public_columns=columns, public_label=label
        )
        assert PrivacyStatement.from_json(changed.to_json()) == changed
        return str(changed)

    both = said(("age", 3), True)
    assert "Protected are the private columns (all but columns age and 3) of each single" in both
    assert "any one record been given other values in its private columns, every" in both
    assert "Not protected: its public columns age and 3 and its label, which the model" in both
    assert "the two labels and each record's public columns age and 3 and each record's" in both
    columns = said((2,), False)
    assert "the private columns (all but column 2) and the label of each single" in columns
    assert "in its private columns or another label, every" in columns
    assert "Not protected: its public column 2, which" in columns
    label = said((), True)
    assert "Protected are the private columns of each single record" in label
    assert "Not protected: its label, which" in label
    assert "Not protected" not in said((), False)


def test_a_statement_says_what_it_is():
    for changes, message in (
        ({"neighbours": "twins"}, "neighbours must be one of .*; got 'twins'"),
        ({"public_columns": (1,)}, "neighbours must be 'private-columns'"),
        ({"public_label": True}, "neighbours must be 'private-columns'"),
        ({"status": "refuted"}, "caveat must have a reason with the status refuted"),
        (
            {"caveat": "a flaw"},
            "caveat must be empty with the status proved; got 'a flaw'",
        ),
        (
            {"status": "false", "caveat": "a flaw"},
            "status must be .*; got 'false'",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            dataclasses.replace(statement(), **changes)


def test_reservations_are_what_is_particular():
    assert statement().reservations == ()
    doubted = dataclasses.replace(
        statement(), status="claimed", caveat="a gap", exclusions=("rare bins", *NOT_COVERED)
    )
    assert doubted.reservations == ("claimed: a gap", "rare bins")
    assert "This is not proved: a gap. What the claim would mean:" in str(doubted)


def test_spent_follows_the_ledger_and_not_the_claim():
    before = statement()
    half = dataclasses.replace(before, ledger=before.ledger[:2])
    assert half.epsilon_spent == pytest.approx(0.25)
    approximate = statement(1e-6)
    more = dataclasses.replace(approximate, ledger=approximate.ledger * 2)
    assert more.epsilon_spent > 1.2 * approximate.epsilon_spent


def test_mixed_ledgers_use_each_entry_at_its_best():
    split = LedgerEntry("exponential", "split", 2.0, 0.1, 0.4, bounded_range=0.4)
    count = LedgerEntry("laplace", "count", 0.3, 1.0, 0.3)
    noise = LedgerEntry("gaussian", "histogram", 0.5, 0.4, math.inf, rho=0.02)
    other = LedgerEntry("objective_perturbation", "weights", 1.0, 1.0, 0.2)
    entry = LedgerEntry("noisy_label", "labels", 1.0, 1.0, math.inf, rho=0.01)
    rho = 0.4**2 / 8 + (0.3 + math.exp(-0.3) - 1) + 0.02 + 0.2**2 / 2 + 0.01
    entries = (split, count, noise, other, entry)
    assert mixed(c.ZCDP_SIMPLE, 1e-5, *entries).epsilon_spent == pytest.approx(
        zcdp_simple(rho, 1e-5)
    )
    assert mixed(c.BASIC, 0.0, split, count, other).epsilon_spent == pytest.approx(0.9)
    assert mixed(c.BASIC, 0.0).epsilon_spent == 0


def test_entries_of_other_settings_do_not_share_a_hash():
    # A process trains thousands of settings, so looking up an entry must not compare all of them.
    setting = {"n": 500, "n_rounds": 9, "density": 0.5, "calibration": "proved", "delta": 0}
    entries = {
        entry
        for epsilon in (0.1, 0.5, 1, 5)
        for rate in (0.1, 0.2, 0.3, 0.4)
        for entry in lazybb_one_rule(
            **setting, epsilon=epsilon, learning_rate=rate
        ).statement.ledger
    }
    assert len({hash(entry) for entry in entries}) == len(entries) > 50
