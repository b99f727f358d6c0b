"""Test the complexity by enumeration of all sign vectors, and the bound by its formula."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from privcurve.coding import Records
from privcurve.experiments.models import Inspection
from privcurve.learners.lazybb import LazyBBClassifier
from privcurve.papers.thesis import rademacher
from privcurve.papers.thesis.rademacher import Estimate

N_BINS = (3, 2, 4)


def rows(n, seed):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(0, bins, n) for bins in N_BINS]).astype(np.uint8)


def hypotheses(codes):
    """Return the predictions of all 1-rules on `codes`, of shape (n_rules, n_rows).

    A rule is 1 in one bin and −1 elsewhere, or constant, or the negation of such a rule.
    """
    values = [np.ones(len(codes), dtype=int)]
    for j, bins in enumerate(N_BINS):
        values += [np.where(codes[:, j] == code, 1, -1) for code in range(bins)]
    return np.array([sign * h for h in values for sign in (1, -1)])


def all_signs(n):
    return np.array(list(itertools.product((-1, 1), repeat=n)))


def exact(codes):
    return (hypotheses(codes) @ all_signs(len(codes)).T).max(axis=0).mean() / len(codes)


def test_the_supremum_is_over_all_hypotheses_for_every_sign_vector():
    codes = rows(9, 1)
    written_out = hypotheses(codes)
    for signs in all_signs(9):
        assert rademacher.supremum(codes, N_BINS, signs) == (written_out @ signs).max()


# The tolerance of 4.5 standard errors gives a false alarm with probability 7e-6 in each case.
@pytest.mark.parametrize("n", [2, 7, 12, 15])
def test_the_estimate_agrees_with_enumeration(n):
    codes = rows(n, n)
    rng = np.random.default_rng(n)
    result = rademacher.estimate(codes, N_BINS, np.ones(n, dtype=np.int64), 4000, rng)
    assert result.value == pytest.approx(exact(codes), abs=4.5 * result.standard_error + 1e-12)
    assert result.n == n
    assert result.n_draws == 4000


def test_rows_with_counts_are_as_good_as_repeated_rows():
    codes, counts = rows(6, 3), np.array([1, 4, 2, 3, 1, 3])
    expected = exact(np.repeat(codes, counts, axis=0))
    result = rademacher.estimate(codes, N_BINS, counts, 4000, np.random.default_rng(3))
    assert result.value == pytest.approx(expected, abs=4.5 * result.standard_error)
    # If each row counted as one record, the estimate would be near exact(codes).
    assert abs(result.value - exact(codes)) > 10 * result.standard_error


def test_rules_of_merged_bins_are_the_class():
    """If the learner merges bins, the complexity is of 1-rules on merged, not on single bins."""
    codes = np.arange(12, dtype=np.uint8)[:, None]
    records = Records(codes, np.array([-1, 1] * 6), np.ones(12, dtype=np.int64), np.array([12]))
    learner = LazyBBClassifier(
        n_bins=[12], mixed_bins=[12], classes=(-1, 1), epsilon=1.0, random_state=0
    ).fit(codes, records.labels)
    assert learner.n_bins_.tolist() == [8]
    model = Inspection(1, learner, records, None)
    complexity = rademacher.complexity_of(model, 50, np.random.default_rng(0))
    merged = (codes * 8 // 12).astype(np.uint8)
    of_merged = rademacher.estimate(merged, [8], records.counts, 50, np.random.default_rng(0))
    of_bins = rademacher.estimate(codes, [12], records.counts, 50, np.random.default_rng(0))
    assert complexity == of_merged
    assert complexity.value > of_bins.value


def test_the_standard_error_shrinks_as_the_root_of_the_draws():
    codes, ones = rows(15, 5), np.ones(15, dtype=np.int64)
    few, many = (
        rademacher.estimate(codes, N_BINS, ones, n, np.random.default_rng(0)) for n in (500, 8000)
    )
    assert few.standard_error / many.standard_error == pytest.approx(4, rel=0.2)


def test_one_draw_has_no_standard_error():
    with pytest.raises(ValueError, match="at least 2"):
        rademacher.estimate(rows(3, 0), N_BINS, np.ones(3, dtype=int), 1, np.random.default_rng())


def test_the_bound_of_perfect_margins_is_the_formula():
    complexity = Estimate(0.01, 0.0001, 1000, 10_000)
    result, threshold = rademacher.bound_of(np.ones(4), np.full(4, 2500), complexity)
    limit = 0.01 + math.sqrt(2 * math.log(1 / 0.025) / (10_000 * 1000))
    rest = 3 * math.sqrt(math.log(2 * 100 / 0.025) / 20_000)
    assert threshold == 1
    assert result == pytest.approx(1 - 2 * limit - rest, abs=1e-12)


def test_the_bound_takes_the_best_threshold_and_counts():
    # Nine in ten records have the margin 0.3, and the others −1. So the ramp loss is 0.1 at all
    # thresholds up to 0.3.
    margins, counts = np.array([0.3, -1.0]), np.array([9000, 1000])
    complexity = Estimate(0.005, 0.0001, 1000, 10_000)
    result, threshold = rademacher.bound_of(margins, counts, complexity)
    assert threshold == pytest.approx(0.3)
    assert result < 0.9
    worse = Estimate(0.02, 0.0001, 1000, 10_000)
    assert rademacher.bound_of(margins, counts, worse)[0] < result


def test_the_bound_never_exceeds_the_accuracy_on_the_records():
    rng = np.random.default_rng(8)
    complexity = Estimate(0.0, 0.0, 1000, 5000)
    for _ in range(20):
        margins = rng.uniform(-1, 1, 50)
        accuracy = (margins > 0).mean()
        assert rademacher.bound_of(margins, np.full(50, 100), complexity)[0] < accuracy


def bounds():
    complexity = Estimate(0.01, 0.001, 100, 50)
    return pd.DataFrame(
        [
            rademacher.row_of((data, "boost~proved", "proved", 1.0), complexity, (value, 0.2))
            for data in ("b", "a")
            for value in (0.4, 0.6)
        ]
    )


def accuracy(datasets=("a", "b")):
    facts = {"method": "boost~proved", "epsilon": 1.0000000000000002, "scored_on": "test"}
    numbers = {"accuracy": 0.8, "accuracy_std": 0.01, "n_repeats": 10}
    return pd.DataFrame([{"dataset": name, **facts, **numbers} for name in datasets])


def test_the_table_has_means_over_models_next_to_the_accuracy():
    table = rademacher.bound_table(bounds(), accuracy())
    assert list(table["dataset"]) == ["b", "a"]
    assert table["bound"].tolist() == pytest.approx([0.5, 0.5])
    assert table["bound_std"].tolist() == pytest.approx([0.02**0.5] * 2)
    assert table["accuracy"].tolist() == [0.8, 0.8]
    assert "0.500 ± 0.141" in rademacher.format_table(table).to_string()
    assert "100 drawn" in rademacher.notes_of(table)[0]


def test_a_missing_accuracy_is_named():
    with pytest.raises(ValueError, match="accuracy must have one row for boost~proved on b"):
        rademacher.bound_table(bounds(), accuracy(["a"]))
