"""Test the noise that the parties of a distributed tree add, published and proved."""

import math

import numpy as np
import pytest

from privcurve.kernels.holder_counts import list_questions
from privcurve.kernels.trees.form import bin_codes
from privcurve.learners.holders.holder import HolderRows, LocalHolder, published_scale
from privcurve.learners.holders.sums import Sums
from privcurve.learners.holders.transcript import Transcript
from privcurve.papers.distributed.learners.distributed_topdown.best_first import (
    BestFirstPlan,
    grow_best_first,
)
from privcurve.papers.distributed.learners.distributed_topdown.by_levels import (
    LevelsPlan,
    grow_by_levels,
)
from privcurve.papers.distributed.learners.distributed_topdown.noise import (
    level_holders,
    published_holders,
)
from privcurve.papers.distributed.learners.distributed_topdown.tree import GrownTree

N_BINS = np.array([3, 4])
QUESTIONS = list_questions(N_BINS, [True, True])
SHARED = {"criterion": "gini", "leaf_share": 0.25, "n_splits": 8, "epsilon": 2.0, "delta": 0.0}


class Noted(LocalHolder):
    """A party that records the vote rates and noise scales of the requests to it."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        codes = rng.integers(0, N_BINS, (n, 2)).astype(np.uint8)
        labels = (codes[:, 0] > 0) ^ (codes[:, 1] > 1)
        ones = np.ones(n, dtype=np.int64)
        rows = HolderRows(bin_codes(codes, N_BINS), labels.astype(np.int64), ones)
        super().__init__(rows, QUESTIONS, 2, [seed])
        self.rates, self.scales = [], {}

    def vote(self, node, ballot):
        self.rates.append((node, ballot.rate))
        return super().vote(node, ballot)

    def _note(self, kind, release):
        self.scales.setdefault(kind, []).append(release.scale)

    def counts(self, node, columns, release):
        self._note("counts", release)
        return super().counts(node, columns, release)

    def families(self, nodes, questions, release):
        (n_questions,) = set(map(len, questions))
        self._note(f"families of {n_questions}", release)
        return super().families(nodes, questions, release)

    def weights(self, nodes, release):
        self._note("weights", release)
        return super().weights(nodes, release)

    def labels(self, nodes, release):
        self._note("labels", release)
        return super().labels(nodes, release)


def test_published_budgets_are_as_printed():
    """A node at depth d has the budget a_d = (1 − LPF)·α·B(d), as in the paper.

    α is the paper's name of ε, LPF is the share of ε for leaves, and B(d) is 2^−d or, with uniform
    budgets, 1/M for M splits. The split of the root spends all of a_1; the split of another node
    spends half of the node's a_d.
    """
    decay = published_holders(protocol="noisy_counts", budget="decay", **SHARED)
    assert [decay.level(d) for d in (1, 2, 3)] == [0.75, 0.375, 0.1875]
    assert [decay.split_budget(d) for d in (1, 2, 3)] == [0.75, 0.1875, 0.09375]
    assert decay.weight_scale(2) == 2 / 0.375
    # The paper's noise is Lap(3|H|/α′) for the counts of |H| questions, and Lap(1/(LPF·α)) for a
    # count of a label, but Lap(2/(LPF·α)) on one machine.
    assert decay.families_scale(0.5, 7) == 42.0
    assert decay.label_scale == 2.0
    single = published_holders(protocol="single", budget="decay", **SHARED)
    assert single.label_scale == 4.0
    uniform = published_holders(protocol="single", budget="uniform", **SHARED)
    assert [uniform.level(d) for d in (1, 2)] == [0.75 * 2 / 8] * 2


@pytest.mark.parametrize(
    ("protocol", "budget", "status", "proved"),
    [
        # The claimed ε is 2. The published noise is scaled for an added record; a replaced record
        # costs twice as much, 4. With a uniform budget, a chain of 8 splits costs 9/8 of 4 (A6 in
        # the learner's docstring).
        ("noisy_counts", "decay", "refuted", 4.0),
        ("noisy_counts", "uniform", "refuted", 4.5),
        ("single", "decay", "refuted", math.inf),
        ("local_rnm", "decay", "claimed", None),
    ],
)
def test_the_true_epsilon_of_published_noise(protocol, budget, status, proved):
    statement = published_holders(protocol=protocol, budget=budget, **SHARED).statement
    assert (statement.status, statement.proved_epsilon) == (status, proved)
    assert statement.epsilon_spent == pytest.approx(2.0)


@pytest.mark.parametrize("protocol", ["noisy_counts", "local_rnm"])
def test_published_holders_are_asked_for_the_printed_noise(protocol):
    noise = published_holders(protocol=protocol, budget="decay", **{**SHARED, "n_splits": 2})
    holders = [Noted(60, 1), Noted(50, 2)]
    plan = BestFirstPlan(QUESTIONS, 2, 110, "gini", 2, 80, -math.inf, -math.inf, noise)
    grow_best_first(holders, plan, Transcript(2))
    n_questions = len(QUESTIONS.columns)
    for holder in holders:
        assert set(holder.scales["weights"]) <= {2 / 0.375, 2 / 0.1875}
        assert set(holder.scales["labels"]) == {2.0}
        if protocol == "noisy_counts":
            # The first request is about the root, at depth 1; the second about the root's children.
            scale = holder.scales[f"families of {n_questions}"]
            assert scale[0] == 3 * n_questions / 0.75
            assert scale[1] == 3 * n_questions / 0.1875
        else:
            # Votes spend half of α′ = 0.75 at the root, and counts of the voted questions the other
            # half. The two parties vote for one question each, so there are two questions.
            assert holder.rates[0] == (0, 0.375)
            assert holder.scales["families of 2"][0] == 3 * 2 / 0.375


def test_a_published_vote_has_noise_for_twice_the_printed_sensitivity():
    """The noise of votes is Lap(2Δ(m)/α′), with the paper's sensitivity Δ(m) = 20/m for Gini.

    α′ is the budget of the votes, and m ≥ 2 the number of the party's records. A party with one
    record uses Δ(2), because the paper's formula needs m ≥ 2.
    """
    scales = [published_scale(size, "gini", 0.5) for size in (50, 1)]
    assert scales == [2 * 20 / 50 / 0.5, 2 * 20 / 2 / 0.5]


def test_a_proved_vote_is_calibrated_to_its_own_holder():
    """The rate of a party's votes is ε/(2F₁(m)), where m is the number of the party's own records.

    The sensitivity F₁(m) is 4(m − 1)/m for Gini; on the last level, which uses the zero-one error,
    it is 2.
    """
    sizes = (20, 200)
    holders = [Noted(n, n) for n in sizes]
    noise = level_holders(
        depth=2, votes=True, vote_share=0.4, budget="levels", criterion="gini", n=200,
        n_columns=2, epsilon=5.0, delta=0.0, trust="local", n_colluding=0,
    )  # fmt: skip
    plan = LevelsPlan(QUESTIONS, 2, 220, "gini", 2, noise)
    grow_by_levels(holders, plan, Sums(2), Transcript(2))
    # Each of the two levels gets half of ε = 5; votes spend 0.4 of this, that is 1, and histograms
    # 1.5.
    for n, holder in zip(sizes, holders, strict=True):
        (first, *later) = holder.rates
        assert first == (0, pytest.approx(1.0 / (2 * 4 * (n - 1) / n)))
        assert later
        assert {rate for _, rate in later} == {1.0 / (2 * 2)}
        # Histograms are for one or two voted columns. In each column, a replaced record changes two
        # counts.
        assert set(holder.scales["counts"]) <= {2 / 1.5, 4 / 1.5}


@pytest.mark.parametrize("epsilon", [1.0, np.inf])
@pytest.mark.parametrize("votes", [True, False])
def test_noise_that_many_fits_share_cannot_be_changed(epsilon, votes):
    noise = level_holders(
        depth=2, votes=votes, vote_share=0.5, budget="levels", criterion="gini", n=100,
        n_columns=3, epsilon=epsilon, delta=0.0, trust="local", n_colluding=0,
    )  # fmt: skip
    for array in (noise.ranges, noise.amounts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


def test_a_grown_tree_numbers_nodes_as_they_appear():
    tree = GrownTree()
    assert tree.split(0, 1) == 1
    assert tree.split(2, 0) == 3
    tree.label(1, 1)
    tree.label(4, 1)
    questions = list_questions(np.array([3, 2]), (True, False))
    assert questions.numbers.tolist() == [5, 6, 3, 4]
    forest = tree.forest(questions, 2)
    assert forest.splits.tolist() == [[6, -1, 5, -1, -1]]
    assert forest.children.tolist() == [[1, 0, 3, 0, 0]]
    assert forest.labels.tolist() == [[0, 1, 0, -1, 1]]
    assert tree.forest(questions, 3).labels.tolist() == [[0, 1, 0, 0, 1]]
