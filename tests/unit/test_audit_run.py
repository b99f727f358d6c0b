"""The audit's claims, the runs of their attacks, and the table of the results."""

import dataclasses
import functools
import math

import numpy as np
import pandas as pd
import pytest

from privcurve.audit import report
from privcurve.audit.attacks.all import ATTACKS, COMPARISONS
from privcurve.audit.attacks.one_rules import one_rule_distribution, sample_transcripts
from privcurve.audit.claim import Claim, generator
from privcurve.audit.pairs import Pair, Target, flipped_constant, records
from privcurve.audit.run import (
    COLUMNS,
    n_comparisons,
    refutable_epsilon,
    reservations_of,
    run,
    verdict,
)
from privcurve.audit.search import Worst, search_sampled
from privcurve.learners.linear.linear import DPLogisticRegressionClassifier

TARGET = Target("small", records([[0], [1], [0]], [1, -1, -1], [2]))


def pairs(claim, target):
    return [flipped_constant(6), flipped_constant(3)]


def exact(calibration="proved", delta=0.0, setting=None):
    how = one_rule_distribution
    return Claim("one_rule", calibration, 1.0, pairs, delta, setting or {}, distribution=how)


def sampled(n_trainings=4000, of=pairs):
    how = {"sample": sample_transcripts, "n_trainings": n_trainings, "n_pairs": 2}
    return Claim("one_rule", "published", 1.0, of, **how)


@pytest.mark.slow
def test_one_row_per_claim_independent_of_other_claims():
    together = run([exact(), sampled()], TARGET, 7, 2)
    assert tuple(together.columns) == COLUMNS
    assert together["method"].tolist() == ["exact", "sampled"]
    assert together["verdict"].tolist() == ["stands", "stands"]
    nothing = Worst(flipped_constant(2), -0.5, math.nan, False, "", 1)
    assert verdict(nothing) == "found nothing"
    assert verdict(dataclasses.replace(nothing, violated=True)) == "violated"
    assert together["n_pairs"].tolist() == [2, 2]
    assert together["mechanism"].tolist() == ["permute_and_flip", "exponential"]
    alone = run([sampled()], TARGET, 7, 2)
    pd.testing.assert_frame_equal(together.iloc[1:].reset_index(drop=True), alone)
    other = run([sampled()], TARGET, 8, 2)
    assert other["found_epsilon"][0] != alone["found_epsilon"][0]


def test_a_row_has_the_largest_claim_that_it_could_refute():
    """The largest ε refutable if all trainings on one side show an event, and none on the other."""
    rows = run([exact(), sampled(n_trainings=120), sampled(n_trainings=2000)], TARGET, 7, 352)
    largest = rows["refutable_epsilon"].tolist()
    assert largest == [math.inf, pytest.approx(1.202, abs=1e-3), pytest.approx(4.142, abs=1e-3)]

    def sides(pair, side, n, rng):
        return np.full(n, int(side is pair.left))

    for epsilon in (1.2, 1.21):
        rng = np.random.default_rng(0)
        seen = search_sampled([flipped_constant(3)], sides, 120, epsilon, 0.0, rng, 352)
        assert seen.violated == (epsilon < largest[1])
    shown = report.format_table(report.table([rows.iloc[:2]]))
    assert shown["could refute ε up to"].tolist() == ["any", "1.20"]
    assert any("The least of all is 1.20." in note for note in report.notes(rows))
    blind = rows.assign(epsilon=[5.0, 5.0, 1.0])
    assert any("1 of the claims are not below it" in note for note in report.notes(blind))


def test_every_shipped_claim_could_be_refuted():
    claims = [c for claims in ATTACKS.values() for c in claims]
    assert n_comparisons(claims) == COMPARISONS
    assert all(refutable_epsilon(c, COMPARISONS) > c.epsilon for c in claims)


def test_sides_that_are_no_neighbours_are_refused():
    """The two tables differ in two records, so an attack on them says nothing about the claim."""

    def two_changed(claim, target):
        sides = [records([[0]] * 3, signs, [1]) for signs in ([1, 1, 1], [-1, -1, 1])]
        return [Pair("tiny", "two labels", *sides)]

    with pytest.raises(ValueError, match="'two labels' is not a pair of replace-one neighbours"):
        run([dataclasses.replace(exact(), pairs=two_changed)], TARGET, 7, 1)


def test_names_tell_configurations_apart():
    different = [
        exact(),
        exact(delta=1e-5),
        exact(setting={"mechanism": "exponential"}),
        sampled(),
        sampled(n_trainings=10),
        sampled(of=functools.partial(pairs)),
    ]
    assert len({c.name for c in different}) == len(different)
    assert n_comparisons(different) == 6
    first, second = (generator(c.name, 0).random(4) for c in different[:2])
    assert not np.array_equal(first, second)


def test_either_a_distribution_or_a_sample():
    with pytest.raises(ValueError, match="one of distribution, loss, sample and guess"):
        Claim("one_rule", "proved", 1.0, pairs)
    with pytest.raises(ValueError, match="delta must be 0 for a loss"):
        Claim("one_rule", "proved", 1.0, pairs, 0.1, loss=lambda learner, pair: 0.0)
    with pytest.raises(ValueError, match="n_trainings"):
        sampled(n_trainings=1)


def test_a_claim_that_the_learner_does_not_make_is_refused():
    class Other(Claim):
        def estimator(self, n_bins):
            return super().estimator(n_bins).set_params(epsilon=2.0)

    other = Other("one_rule", "proved", 1.0, pairs, distribution=one_rule_distribution)
    with pytest.raises(ValueError, match="the learner claims ε = 2"):
        run([other], TARGET, 0, 1)


@pytest.fixture(scope="module")
def frame():
    rows = run([exact(), exact(delta=0.01, calibration="published"), sampled()], TARGET, 7, 2)
    rows.loc[2, ["found_epsilon", "verdict"]] = [-0.25, "found nothing"]
    return rows


def test_a_reader_sees_the_worst_of_each_learner_calibration_and_delta(frame):
    more = frame.iloc[[0, 0, 1, 2]].assign(
        epsilon=[1.0, 5.0, 1.0, 1.0],
        found_epsilon=[0.9, 2.0, 0.5, -0.25],
        verdict=["stands", "stands", "violated", "found nothing"],
    )
    shown = report.format_table(report.table([more]))
    assert shown["claimed δ"].tolist() == ["0", "0.01", "0"]
    # A share of 0.9 of ε = 1 is worse than 2 of ε = 5.
    assert shown["worst found ε"].tolist() == ["0.900", "0.500", "–"]
    assert shown["claimed ε"].tolist() == ["1", "1", "1"]
    assert shown["tried"].tolist() == ["2", "1", "1"]
    assert shown["verdict"].tolist() == ["stands", "violated", "found nothing"]
    # At δ > 0 an attack can refute a claim by δ alone, so a violation is worse than any share of ε.
    rows = frame.iloc[[0, 0]].assign(found_epsilon=[0.9, 0.8], verdict=["stands", "violated"])
    assert report.worst_rows(report.table([rows]))["verdict"].tolist() == ["violated"]


def test_a_refuted_claim_is_named_with_its_own_exclusions(frame):
    """A table that was read from CSV has NaN for an empty text."""
    two = frame.iloc[:2].assign(
        verdict="violated",
        found_epsilon=2.0,
        not_covered=["refuted: a flaw of the noise", math.nan],
    )
    result = [note for note in report.notes(two) if note.startswith("Refuted")]
    assert result == [
        "Refuted: one_rule, proved, ε = 1 (exact, 2.000 found): its own statement makes a "
        "reservation (refuted: a flaw of the noise).",
        "Refuted: one_rule, published, ε = 1 (exact, 2.000 found): nothing in its statement "
        "excludes this; a proof or the program is wrong.",
    ]
    assert not [note for note in report.notes(frame) if note.startswith("Refuted")]


def test_a_violation_beyond_the_statement_refutes_nothing(frame):
    beyond = frame.iloc[:2].assign(
        neighbours=["add-remove", "replace-one"],
        verdict=["violated", "stands"],
        found_epsilon=[6.93, 0.5],
        method=["density", "exact"],
    )
    table = report.table([beyond])
    notes = report.notes(table)
    assert "2 claims tried, 0 refuted" in notes[0]
    assert notes[1] == (
        "Beyond its statement: one_rule, proved, does not have ε = 1 for add-remove "
        "neighbours; ≥ 6.930 was found. It states replace-one."
    )
    assert report.format_table(table)["neighbours"].tolist() == [
        "add-remove (not claimed)",
        "replace-one",
    ]


def test_general_exclusions_are_no_excuse(frame):
    assert set(frame["not_covered"]) == {""}
    flawed = DPLogisticRegressionClassifier(n_bins=2, calibration="published", classes=(-1, 1))
    fitted = flawed.set_params(random_state=0).fit([[0], [1], [0]], [1, -1, -1])
    assert reservations_of(fitted.privacy_).startswith("refuted: a flaw of the published noise")
    assert "seed" not in reservations_of(fitted.privacy_)
    sound = flawed.set_params(calibration="proved").fit([[0], [1], [0]], [1, -1, -1])
    assert "tolerance" in str(sound.privacy_)
    assert reservations_of(sound.privacy_) == ""
