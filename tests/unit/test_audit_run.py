"""Configurations, their run, and the table made of it."""

import functools
import math

import numpy as np
import pandas as pd
import pytest

from privcurve.audit import report
from privcurve.audit.configuration import (
    COLUMNS,
    Configuration,
    generator,
    n_comparisons,
    not_covered,
    run,
    verdict,
)
from privcurve.audit.pairs import Target, flipped_constant, records
from privcurve.audit.search import Found
from privcurve.audit.transcripts import one_rule_distribution, sample_transcripts
from privcurve.learners.linear import DPLogisticRegressionClassifier

TARGET = Target("small", records([[0], [1], [0]], [1, -1, -1], [2]))


def pairs(configuration, target):
    return [flipped_constant(6), flipped_constant(3)]


def exact(calibration="certified", delta=0.0, setting=None):
    return Configuration(
        "one_rule",
        calibration,
        1.0,
        pairs,
        delta=delta,
        setting=setting or {},
        distribution=one_rule_distribution,
    )


def sampled(n_trainings=2000, of=pairs):
    return Configuration(
        "one_rule",
        "published",
        1.0,
        of,
        sample=sample_transcripts,
        n_trainings=n_trainings,
        n_pairs=2,
    )


def test_a_row_a_configuration_the_same_in_any_company():
    together = run([exact(), sampled()], TARGET, 7, 2)
    assert tuple(together.columns) == COLUMNS
    assert together["method"].tolist() == ["exact", "sampled"]
    assert together["verdict"].tolist() == ["stands", "stands"]
    assert together["n_pairs"].tolist() == [2, 2]
    assert together["mechanism"].tolist() == ["permute_and_flip", "exponential"]
    alone = run([sampled()], TARGET, 7, 2)
    pd.testing.assert_frame_equal(together.iloc[1:].reset_index(drop=True), alone)
    other = run([sampled()], TARGET, 8, 2)
    assert other["found_epsilon"][0] != alone["found_epsilon"][0]


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
    with pytest.raises(ValueError, match="either distribution= or sample="):
        Configuration("one_rule", "certified", 1.0, pairs)
    with pytest.raises(ValueError, match="n_trainings"):
        sampled(n_trainings=1)


def test_a_claim_that_the_learner_does_not_make_is_refused():
    class Other(Configuration):
        def estimator(self, n_bins):
            return super().estimator(n_bins).set_params(epsilon=2.0)

    other = Other("one_rule", "certified", 1.0, pairs, distribution=one_rule_distribution)
    with pytest.raises(ValueError, match="the learner claims ε = 2"):
        run([other], TARGET, 0, 1)


def test_verdicts():
    pair = flipped_constant(2)
    assert verdict(Found(pair, 0.5, math.nan, False, "", 1)) == "stands"
    assert verdict(Found(pair, -0.5, math.nan, False, "", 1)) == "found nothing"
    assert verdict(Found(pair, 1.5, math.nan, True, "", 1)) == "violated"


@pytest.fixture(scope="module")
def frame():
    rows = run([exact(), exact(delta=0.01, calibration="published"), sampled()], TARGET, 7, 2)
    rows.loc[2, ["found_epsilon", "verdict"]] = [-0.25, "found nothing"]
    return rows


def test_table(frame):
    table = report.table([frame, frame.assign(learner="lazybb", verdict="violated")])
    assert len(table) == 6
    assert table["found_delta"].tolist()[:3] == [0.0, 0.0, None]
    shown = report.shown(table)
    assert shown["found ε"][0] == f"{frame['found_epsilon'][0]:.3f}"
    assert shown["found ε"][2] == "–"
    assert shown["trainings"].tolist()[:3] == ["–", "–", "2000"]
    assert "6 claims tried, 3 refuted" in report.notes(table)[0]


def test_a_refuted_claim_is_named_with_what_its_own_statement_says(frame):
    """Read back from CSV, where an empty text is NaN."""
    two = frame.iloc[:2].assign(verdict="violated", not_covered=["replacing a record", math.nan])
    said = [note for note in report.notes(two) if note.startswith("Refuted")]
    assert said == [
        "Refuted: one_rule, certified, ε = 1 (exact): its own statement does not cover "
        "replacing a record.",
        "Refuted: one_rule, published, ε = 1 (exact): nothing in its statement excludes this; a "
        "proof or the program is wrong.",
    ]
    assert not [note for note in report.notes(frame) if note.startswith("Refuted")]


def test_what_all_statements_exclude_is_no_excuse(frame):
    assert set(frame["not_covered"]) == {""}
    flawed = DPLogisticRegressionClassifier(n_bins=2, calibration="published", classes=(-1, 1))
    fitted = flawed.set_params(random_state=0).fit([[0], [1], [0]], [1, -1, -1])
    assert not_covered(fitted.privacy_).startswith("refuted: a flaw of the published noise")
    assert "seed" not in not_covered(fitted.privacy_)
    sound = flawed.set_params(calibration="certified").fit([[0], [1], [0]], [1, -1, -1])
    assert "tolerance" in str(sound.privacy_)
    assert not_covered(sound.privacy_) == ""


def test_bad_parts_are_named(frame):
    with pytest.raises(ValueError, match="twice: one_rule"):
        report.table([frame, frame])
    with pytest.raises(ValueError, match="not the rows of an audit"):
        report.table([frame.iloc[:0]])
    with pytest.raises(ValueError, match="not the rows of an audit"):
        report.table([frame.drop(columns="delta")])
