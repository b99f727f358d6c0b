"""Train BDPEα: boosted private trees with the Mα-loss, with published or with proved noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from privcurve.coding import Floats, Ints, Records, Signs
from privcurve.kernels.arithmetic import dot, powers
from privcurve.learners.base import PrivateClassifier
from privcurve.learners.shared.checks import require
from privcurve.learners.shared.tree_sums import (
    TreeSumClassifier,
    bins_kernel,
)
from privcurve.privacy.accountants.compose import ADAPTIVE, BASIC, GAUSSIAN, ZCDP_CKS
from privcurve.privacy.budget import PROVED, PUBLISHED, is_private
from privcurve.privacy.curator import Call, Curator
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.mechanisms import EXPONENTIAL, NOISY_LABEL, PERMUTE_AND_FLIP
from privcurve.privacy.noise import Announced
from privcurve.privacy.sealed import WHOLE, kernel, mechanism
from privcurve.privacy.sensitivity.counts import histogram_l1, histogram_l2, margins_l1

from .._kernel import (
    BEST,
    DRAWN,
    NOISY,
    Growth,
    WeightedRows,
    begin_tree,
    draw_tree,
    grow_levels,
    leaves_of,
)
from .._leaves import leaves_in, shrunk_votes, sum_by_leaf
from .._m_alpha import (
    boosted_split_published,
    inverse_link,
    largest_link,
    link_of_leaves,
    log_odds_of_margins,
    margins_l2,
    record_weights,
    split_sensitivity,
)
from . import Parameters
from .noise import (
    CONSTANT,
    EXACT,
    LEAVES,
    OF_LINKS,
    OF_NODE,
    published_noise,
)

CHOSEN = "chosen"
RANDOM = "random"

# The value of `calibrate_alpha` with which α depends on the tree's noisy error. With EXACT, α
# depends on the exact error.
RELEASED = "released"

# Values of `votes`, which says how the weights in a leaf determine the leaf's vote (see the class).
LINK = "link"
SHRUNK = "shrunk"
SIGN = "sign"

# The share of a tree's budget that pays for the noisy errors, if `calibrate_alpha` needs them.
ERROR_SHARE = 0.01
OF_ERRORS = "papers/boosted_dp/proofs.md, 'Errors'"

# A weight of a record has at most WEIGHT_BITS significant bits, so that float64 represents a sum of
# MOST_RECORDS weights exactly: 22 + 31 = 53 bits.
WEIGHT_BITS = 22
MOST_RECORDS = 2**31

# The default share of a tree's budget for splits: the middle of the grid that the paper tries.
TREE_SHARE = 0.5

# Accountants for proved fits. Accounting by privacy loss distributions is left out, because it does
# not support calls that release vectors.
ACCOUNTANTS = (BASIC, ZCDP_CKS, ADAPTIVE, GAUSSIAN)

# Names of mechanism calls in the ledger of proved fits, and parts of these names.
NODES = "the nodes of a tree's level"
IN_WEIGHTS = "in units of the largest weight of the round"
OF_ERROR = "tree {}: error before level {}, " + IN_WEIGHTS
OF_SPLITS = "tree {}: splits of level {}, all nodes, " + IN_WEIGHTS
OF_LEAVES = "tree {}: {} of all leaves, " + IN_WEIGHTS


# Trees grow on sealed records. Only `grow_released` opens results: the questions, which are chosen
# with noise.
begin_kernel = kernel(begin_tree, rows=WHOLE)
error_kernel = kernel(Growth.error)


@mechanism
def grow_released(splits: Ints, tree: Growth, first: int, last: int, *given: Any) -> None:
    """Grow some levels of a tree by `grow_levels`, and copy their questions into open `splits`.

    `given` are the further arguments of `grow_levels`.
    """
    grow_levels(tree, first, last, *given)
    splits[:] = tree.splits


@kernel(rows=(0, None, None))
def weigh_leaves(data: WeightedRows, tree: Growth) -> tuple[Ints, Floats, Floats]:
    """Return the leaf of each row, and the weights of positive and of negative rows by leaf."""
    leaves = leaves_of(tree)
    return leaves, *data.sum_by_leaf(leaves, len(tree.splits) + 1)


@kernel(rows=0)
def weigh_rows(
    scores: Floats,
    votes: Floats,
    leaves: Ints | None,
    signs: Signs,
    counts: Ints,
    alpha: float,
    bound: float,
) -> Floats:
    """Add the votes of the last tree to the scores, in place, and return the weight of each row.

    A row's weight is `counts` (the number of equal records) times the weight of one record. The
    weight of one record must be at most `bound`. It is rounded down to a multiple of a unit that
    depends on `bound`, so that float64 represents sums of `MOST_RECORDS` weights exactly, in any
    order. `leaves` is None before the first tree.
    """
    if leaves is not None:
        scores += votes[leaves]
    weights = record_weights(scores, signs, alpha)
    if weights.max() > bound * (1 + 1e-12):
        raise AssertionError(f"a record weighs {weights.max()}, more than {bound}")
    unit = 2.0 ** (math.frexp(bound)[1] - WEIGHT_BITS)
    return counts * (unit * np.floor(np.minimum(weights, bound) / unit))


@dataclass(kw_only=True, eq=False, repr=False)
class BDPEClassifier(TreeSumClassifier, PrivateClassifier, Parameters):
    r"""Boosted private trees with the Mα-loss (Nock and Henecka 2022; papers/boosted_dp/README.md).

    Each round grows a complete tree on records with the weights :math:`\psi^{-1}(-y H(x))`, where H
    is the score so far. A node chooses its question by the Bayes risk :math:`\Phi` of the two
    sides of the question, with noise. Each leaf gets a noisy vote. The tree's votes are multiplied
    by a leverage β and added to H.

    - ``calibration="published"``: the nodes of a level divide the level's ε, and each node uses the
      exponential mechanism. The link of a leaf gets Laplace noise and is then clamped. β is
      computed from the exact records, which refutes the paper's privacy claim.
    - ``calibration="proved"``: each node spends the whole budget of its level, because nodes of a
      level have disjoint records. The weights or margins of the leaves get noise, and β follows
      from these noisy numbers or is public.

    At ε = ∞ there is no noise and no clamp. Each node then has the best question, but no question
    if all its records have the same label.

    Parameters
    ----------
    n_trees : int
        T, the number of trees.
    depth : int
        d, the number of levels of questions.
    alpha : float
        α of the splits: 0 is the 0/1 criterion, 1 Matsushita's criterion.
    alpha_decay : float
        The ratio of a level's α to the α of the level above; only with ``proved``.
    calibrate_alpha : str
        The paper's objective calibration (O.C.). ``no``: α is as given. ``exact``: α is multiplied
        by the present error of the tree, divided by the error of its root; only with ``published``
        (the paper sets alpha = boost_alpha = 1 in this case). ``released``: α is multiplied by the
        same ratio of noisy errors; only with ``proved``.
    boost_alpha : float
        α of the links and weights.
    tree_share : float or None
        Share of a tree's budget for its splits. None means one half, except with ``votes="sign"``
        and δ > 0: then each level, and all leaves together, have equal shares.
    clamp : float
        M, the largest absolute vote with ``votes="link"``.
    splits : str
        ``chosen``: questions are chosen by their risk. ``random``: questions are drawn without
        data, and the leaves get the whole budget (only with ``proved``).
    votes : str or None
        The vote of a leaf. ``link``: ψ(q) of the share q of positive weight. ``shrunk``: the margin
        D (positive minus negative weight), shrunk to D/(|D| + c), where c grows with the noise
        scale and the mean number of records per leaf. ``sign``: the sign of D. None: ``link`` with
        ``published``, which allows no other votes, and ``shrunk`` with ``proved``.
    step : float
        The leverage β of every tree, for the votes ``shrunk`` and ``sign``.
    leverage : str or None
        Only with ``published``. ``exact`` (or None): β is computed from exact records, as in the
        paper. ``constant``: β is `boost_alpha`/(2M), its largest possible value in the first round.
    epsilon, delta : float
        The budget; δ > 0 only with ``proved``.
    calibration : str
        ``published`` or ``proved``.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    splits_ : ndarray of shape (n_trees, 2**depth - 1)
        Questions, numbered as in :mod:`privcurve.kernels.trees.levels`.
    leaf_values_ : ndarray of shape (n_trees, 2**depth)
        The votes of the leaves, before they are multiplied by β.
    leverages_ : ndarray of shape (n_trees,)
        β of each tree.
    alphas_ : ndarray of shape (n_trees, depth)
        α of each level. With ``calibrate_alpha="exact"``, the values do not include the ratio of
        errors, which is not released.
    n_features_used_, n_records_
        See :class:`~privcurve.learners.shared.tree_sums.TreeSumClassifier`.
    """

    _learner = "bdpe"
    _released: ClassVar[Mapping[str, Any]] = {**TreeSumClassifier._released, "leverages_": Floats}
    _most_records: ClassVar[float] = MOST_RECORDS

    def _guarantee(self, n: int) -> PrivacyStatement:
        if self.calibration == PROVED:
            shared = {"rounds": int(self.n_trees), "accountants": ACCOUNTANTS}
            return self._noise_of(self._tree_calls(n), **shared)
        return published_noise(
            n_trees=int(self.n_trees),
            depth=int(self.depth),
            sensitivity=self._sensitivity(n, 0.0),
            calibrate_alpha=self.calibrate_alpha,
            tree_share=self._tree_share(),
            clamp=float(self.clamp),
            largest_link=largest_link(float(self.boost_alpha)),
            leverage=self.leverage or EXACT,
            epsilon=float(self.epsilon),
            delta=float(self.delta),
        )

    def _tree_calls(self, n: int) -> list[Announced]:
        """Return the mechanism calls of one proved tree, with sensitivities for weights up to 1.

        Trees share the budget equally. Each level of a tree has a share of the tree's budget, and
        each node of the level spends this share in full, because nodes have disjoint records. All
        leaves together have one share (papers/boosted_dp/proofs.md, 'Splits' and 'Leaves').
        """
        depth, votes = int(self.depth), self._votes()
        released = self.splits == CHOSEN and self.calibrate_alpha == RELEASED
        of_error = ERROR_SHARE / depth if released else 0.0
        rest, share = 1.0 - of_error * depth, self._tree_share()
        of_level, of_leaves = rest * share / depth, rest * (1.0 - share)
        if self.delta > 0 and votes == SIGN and self.tree_share is None and not released:
            # The labels of leaves and the splits of a level are both bounded-range choices. zCDP
            # composition costs least if their ranges are equal, so each level, and all leaves
            # together, get equal shares.
            of_leaves = 1 / (depth + 1) if self.splits == CHOSEN else 1.0
            of_level = of_leaves if self.splits == CHOSEN else 0.0
        sensitivity: dict[str, Any] = {
            LINK: {"l1": histogram_l1(), "l2": histogram_l2()},
            SHRUNK: {"l1": margins_l1(), "l2": margins_l2()},
            SIGN: {"margins": margins_l1()},
        }[votes]
        calls = []
        for level, alpha in enumerate(self._level_alphas().tolist()):
            if released:
                what = OF_ERROR.format("{}", level + 1)
                # A record changes a tree's error by at most its weight, which is at most 1 here.
                calls.append(Announced(what, of_error, l1=1.0, l2=1.0, source=OF_ERRORS))
            if of_level > 0:
                # If α follows from released errors, the sensitivity is unknown before the fit. So
                # the range of the scores is in units of the sensitivity, and `_grow` multiplies the
                # noise scale by the sensitivity.
                change = 2 * (1.0 if released else self._sensitivity(n, alpha))
                calls.append(Announced(
                    OF_SPLITS.format("{}", level + 1), of_level, score_range=change,
                    calls=2**level, parallel=NODES, source="papers/boosted_dp/proofs.md, 'Splits'",
                ))  # fmt: skip
        calls.append(Announced(
            OF_LEAVES.format("{}", self._leaf_words()), of_leaves, **sensitivity,
            calls=2**depth * (2 if votes == LINK else 1), parallel=LEAVES,
            source="papers/boosted_dp/proofs.md, 'Leaves'",
        ))  # fmt: skip
        return calls

    def _release(self, records: Records, curator: Curator) -> None:
        signs, counts = records.labels, records.counts
        bins, labels = bins_kernel(records.codes, self.n_bins_, signs)
        n_trees, depth, alpha = int(self.n_trees), int(self.depth), float(self.boost_alpha)
        self._begin(depth, records.n)
        self.leverages_ = np.zeros(n_trees)
        self.alphas_ = np.tile(self._level_alphas(), (n_trees, 1))
        scores, reach = np.zeros_like(signs, dtype=np.float64), 0.0
        steps, leaves = np.zeros(0), None
        for t in range(n_trees):
            # `reach` bounds the absolute score of a record after the earlier trees. So `bound` is
            # the largest possible weight w̄ (papers/boosted_dp/proofs.md, 'Weights').
            bound = inverse_link(reach, alpha)
            weights = weigh_rows(scores, steps, leaves, signs, counts, alpha, bound)
            data = WeightedRows(bins, labels, weights, self._bin_starts())
            leaves, positive, negative = self._grow(t, data, bound, curator)
            votes, beta = self._vote(t, positive, negative, bound, curator)
            self.leaf_values_[t], self.leverages_[t] = votes, beta
            steps = beta * votes
            reach += abs(beta) * float(np.abs(votes).max())
        self._count_questions()

    def _sensitivity(self, n: int, alpha: float) -> float:
        """Return the sensitivity of a split's score for `n` records with weights of at most 1.

        It is linear in α: Δ₀ + α(Δ₁ − Δ₀), if Δ₀ is the sensitivity for α = 0 and Δ₁ for α = 1.
        """
        if self.calibration == PUBLISHED:
            return boosted_split_published(n, alpha)
        # With n = 1 the score is always 0; the formula needs n ≥ 2.
        return split_sensitivity(max(n, 2), alpha)

    def _grow(
        self, t: int, data: WeightedRows, weight_bound: float, curator: Curator
    ) -> tuple[Ints, Floats, Floats]:
        """Choose the questions of tree number `t` with noise, and write them to `splits_`.

        Returns the leaf of each row, and by leaf the total weight of positive and of negative rows;
        all three are sealed. No record may have a weight above `weight_bound`.
        """
        n, starts = self.n_records_, data.bin_starts
        splits, alphas = self.splits_[t], self.alphas_[t]
        restrict = self.calibration == PROVED
        if self.splits == RANDOM:
            draw_tree(starts, restrict, curator.coins, splits)
            leaves: Ints = leaves_in(data.bins, self._trees(t, t + 1))
            return leaves, *sum_by_leaf(data, leaves, len(splits) + 1)
        calls = self._node_calls(t, curator)
        coins, noise, chooses, slope = curator.coins, np.empty((1, 0)), BEST, 0.0
        if is_private(self.epsilon) and self.calibration == PUBLISHED:
            chooses, coins = DRAWN, curator.generator(calls)
            slope = self._sensitivity(n, 1.0) / self._sensitivity(n, 0.0) - 1
        elif is_private(self.epsilon):
            chooses, noise = NOISY, curator.noise(calls, (len(calls), int(starts[-1])))
        # Published noise is scaled for weights of at most 1 in all rounds; proved noise is scaled
        # for the weight bound of the round.
        bound = weight_bound if chooses == NOISY else 1.0
        scales = np.array([calls[2**level - 1].scale * bound for level in range(len(alphas))])
        by_error, released = self.calibrate_alpha == EXACT, self.calibrate_alpha == RELEASED
        tree, root = begin_kernel(splits, data, restrict), 0.0
        of_levels = data, alphas, by_error, chooses, scales, slope, noise, coins
        for level in range(len(alphas) if released else 0):
            call = curator.call(OF_ERROR.format(t + 1, level + 1)).rescale(weight_bound)
            seen = curator.number(call, error_kernel(tree, level))
            root = seen if level == 0 else root
            if root > 0:
                alphas[level] *= min(max(seen / root, 0.0), 1.0)
            scales[level] *= self._sensitivity(n, float(alphas[level]))
            grow_released(splits, tree, level, level + 1, *of_levels)
        if not released:
            grow_released(splits, tree, 0, len(alphas), *of_levels)
        grown: tuple[Ints, Floats, Floats] = weigh_leaves(data, tree)
        return grown

    def _node_calls(self, t: int, curator: Curator) -> list[Call]:
        """Return the mechanism call of each inner node of tree `t`, in breadth-first order."""
        nodes = range(len(self.splits_[t]))
        if is_private(self.epsilon) and self.tree_share == 0:
            pure = self.delta == 0 and self.calibration == PROVED
            # A share of 0 means an infinite noise scale: noise alone chooses the splits.
            return [Call(PERMUTE_AND_FLIP if pure else EXPONENTIAL, math.inf)] * len(nodes)
        if self.calibration == PUBLISHED:
            return [curator.call(OF_NODE.format(t + 1, i + 1)) for i in nodes]
        levels = [curator.call(OF_SPLITS.format(t + 1, k + 1)) for k in range(int(self.depth))]
        return [call for k, call in enumerate(levels) for _ in range(2**k)]

    def _vote(
        self, t: int, positive: Floats, negative: Floats, weight_bound: float, curator: Curator
    ) -> tuple[Floats, float]:
        """Return the noisy votes of the leaves of tree number `t`, and its leverage β.

        `positive` and `negative` are the sealed weights of the positive and negative rows in each
        leaf.
        """
        n, alpha, step, kind = self.n_records_, float(self.boost_alpha), self.step, self._votes()
        # The clamp M. At ε = ∞ no vote is clamped, so M is the largest possible link.
        clamp = float(self.clamp) if is_private(self.epsilon) else largest_link(alpha)
        if self.calibration == PUBLISHED:
            # As in the paper, links get noise and are then clamped, and β is computed from exact
            # margins.
            links = link_of_leaves(positive, negative, alpha)
            votes = curator.numbers(OF_LINKS.format(t + 1), links)
            votes = np.clip(votes, -clamp, clamp) if is_private(self.epsilon) else votes
            exact = self._leverage(votes, positive - negative, n, clamp)
            return votes, exact if self.leverage != CONSTANT else alpha / (2 * clamp)
        call = curator.call(OF_LEAVES.format(t + 1, self._leaf_words())).rescale(weight_bound)
        if call.mechanism == NOISY_LABEL:
            return np.where(curator.signs(call, positive - negative), 1.0, -1.0), step
        if kind != LINK:
            margins = curator.numbers(call, positive - negative)
            return np.sign(margins) if kind == SIGN else shrunk_votes(margins, call.scale, n), step
        positive, negative = curator.numbers(call, np.stack([positive, negative]))
        votes = np.clip(link_of_leaves(positive, negative, alpha), -clamp, clamp)
        return votes, max(0.0, self._leverage(votes, positive - negative, n, clamp))

    def _leverage(self, votes: Floats, margins: Floats, n: int, clamp: float) -> float:
        """Return the leverage β = α/(M²n) · Σ h·(A − B); the sum is over the leaves of a tree.

        h is the vote of a leaf (`votes`), A − B its positive minus negative weight (`margins`), α
        is `boost_alpha`, and M is `clamp`.
        """
        return float(float(self.boost_alpha) / (clamp * clamp) / n * dot(votes, margins))

    def _votes(self) -> str:
        if self.votes is not None:
            return self.votes
        return LINK if self.calibration == PUBLISHED else SHRUNK

    def _level_alphas(self) -> Floats:
        return np.asarray(float(self.alpha) * powers(float(self.alpha_decay), int(self.depth)))

    def _leaf_words(self) -> str:
        """Return the words by which the ledger names the noisy numbers of leaves in proved fits."""
        return "weights by label" if self._votes() == LINK else "margins"

    def _tree_share(self) -> float:
        """Return the share of a tree's budget that its splits spend."""
        if self.splits == RANDOM:
            return 0.0
        return TREE_SHARE if self.tree_share is None else float(self.tree_share)

    def _link(self, scores: Floats) -> Floats:
        return log_odds_of_margins(scores, float(self.boost_alpha))

    def _restore(self) -> None:
        shape = self.splits_.shape[:1]
        require(self.leverages_.shape == shape, "it does not have one leverage for each tree")
        super()._restore()

    def _tree_values(self) -> Floats:
        return np.asarray((self.leverages_[:, None] * self.leaf_values_)[:, :, None])
