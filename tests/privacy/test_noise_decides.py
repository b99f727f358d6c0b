"""The noise of labels and rules of trees decides at its rate, to a millionth.

The kernel gets noise that exceeds all scores except where it should be close. Tests with the plain
references on equal noise show that each number of noise decides its own choice, and that noise of
1-rules and questions has its rate: `test_tree_kernels.py`, `test_kernels_one_rule.py`.
"""

import itertools

import numpy as np
import pytest
import tree as reference

from privcurve.kernels.lazybb_trees import BinnedRows, TreeNoise, boost_trees
from privcurve.kernels.trees.form import bin_rows

FAR = -1e9
CODES = np.array([[0, 0], [0, 1], [1, 2], [1, 0], [0, 2], [1, 1], [0, 0]], dtype=np.uint8)
N_BINS = np.array([2, 3])
SIGNS = np.array([1, 1, -1, -1, 1, 1, -1], dtype=np.int8)
COUNTS = np.array([1, 2, 1, 3, 1, 1, 2])
WIDTH = 5
LITERALS = 2 * WIDTH + 2
DENSITY, LEARNING_RATE = 0.5, 0.4


def peaks(shape, chosen):
    """Return noise that is far below 0 except at one place of each row."""
    noise = np.full(shape, FAR)
    for row, place in zip(noise.reshape(-1, shape[-1]), chosen, strict=True):
        row[place] = 0.0
    return noise


def trees(noise, n_rounds, with_rules=False, rates=(3.0, 5.0), label_rates=(2.0, 4.0)):
    rows = BinnedRows(*bin_rows(CODES, N_BINS, SIGNS), COUNTS, N_BINS)
    forest, _ = boost_trees(
        rows, DENSITY, LEARNING_RATE, 2, 3, False, "gini", np.array(rates[:n_rounds]),
        np.array(label_rates[:n_rounds]), with_rules, False, noise,
    )  # fmt: skip
    return forest


NO_RULES = np.zeros((2, 0, 0))


def test_rules_and_labels_win_where_their_noise_outweighs_the_rate():
    """In the first tree all weights are equal."""
    weights = COUNTS / COUNTS.sum()
    yes = reference.questions_of(CODES, N_BINS, thresholds=False)
    # Questions 0 and 2: rows with neither, 0 only, 2 only, both are in leaves 3, 5, 4 and 6.
    splits = peaks((1, 3, WIDTH), [0, 2, 2])
    leaf = (CODES[:, 0] == 1) & (CODES[:, 1] == 0)
    margin = float((weights * SIGNS)[leaf].sum())
    for more in (-1e-6, 1e-6):
        labels = np.zeros((1, 7))
        labels[0, 4] = -2.0 * margin + more
        forest = trees(TreeNoise(splits, NO_RULES[:1], labels), 1)
        assert forest.labels[0, 4] == (1 if more > 0 else -1)
    errors = reference.rule_errors(yes, SIGNS, weights, CODES[:, 0] == 1)
    for a, b in itertools.combinations(range(LITERALS), 2):
        for more in (-1e-6, 1e-6):
            noise = peaks((1, 2, LITERALS), [a, 0])
            noise[0, 0, b] = 2.0 * (errors[b] - errors[a]) + more
            drawn = TreeNoise(peaks((1, 1, WIDTH), [0]), noise, np.zeros((1, 7)))
            forest = trees(drawn, 1, with_rules=True)
            rule = b if more > 0 else a
            column = -1 if rule >> 1 == WIDTH else rule >> 1
            assert forest.splits[0, 1] == column
            at = 1 if column < 0 else int(forest.children[0, 1]) + 1
            assert forest.labels[0, at] == 1 - 2 * (rule & 1)


def test_no_noise_is_never_taken_for_private():
    none = TreeNoise(np.zeros((2, 3, 0)), NO_RULES, np.zeros((2, 7)))
    with pytest.raises(ValueError, match="noise must have all arrays"):
        trees(none, 2)
    some = TreeNoise(np.zeros((2, 1, WIDTH)), np.zeros((2, 2, 0)), np.zeros((2, 7)))
    with pytest.raises(ValueError, match="noise must have all arrays"):
        trees(some, 2, with_rules=True)
