"""Scores on counted rows against scikit-learn on repeated rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as reference

from privcurve.experiments import metrics

rows = st.lists(
    st.tuples(
        st.one_of(st.integers(-50, 50).map(float), st.floats(-3, 3)),
        st.sampled_from([-1, 1]),
        st.integers(1, 4),
    ),
    min_size=2,
    max_size=30,
)


@given(rows)
def test_scores_equal_those_of_repeated_rows(drawn):
    scores, signs, counts = (np.array(column) for column in zip(*drawn, strict=True))
    long_scores, long_signs = np.repeat(scores, counts), np.repeat(signs, counts)
    predicted = np.where(long_scores > 0, 1, -1)
    assert metrics.accuracy(scores, signs, counts) == pytest.approx(
        reference.accuracy_score(long_signs, predicted)
    )
    if len(set(signs)) == 2:
        assert metrics.auc(scores, signs, counts) == pytest.approx(
            reference.roc_auc_score(long_signs, long_scores)
        )
        assert metrics.balanced_accuracy(scores, signs, counts) == pytest.approx(
            reference.balanced_accuracy_score(long_signs, predicted)
        )
    else:
        assert np.isnan(metrics.auc(scores, signs, counts))


def test_log_loss_counts_rows():
    probabilities = np.array([[0.8, 0.2], [0.3, 0.7]])
    found = metrics.log_loss(probabilities, np.array([-1, 1]), np.array([3, 1]))
    assert found == pytest.approx(-(3 * np.log(0.8) + np.log(0.7)) / 4)
