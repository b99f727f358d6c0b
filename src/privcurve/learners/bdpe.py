"""Boosted ensembles of private trees with the Mα-loss: BDPEα, as published and certified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privcurve.coding import Codes, Records
from privcurve.kernels.boosted_trees import (
    BEST,
    DRAWN,
    FIXED,
    NOISY,
    draw_tree,
    find_leaves,
    grow_tree,
    leaf_weights,
)
from privcurve.kernels.boosted_trees import EXACT as EXACT_ALPHA
from privcurve.kernels.boosted_trees import RELEASED as RELEASED_ALPHA
from privcurve.kernels.dpboost import NO_SPLIT
from privcurve.kernels.m_alpha import (
    largest_link,
    link_of_leaves,
    log_odds_of_margins,
    record_weights,
)
from privcurve.learners.checks import RandomState, require
from privcurve.learners.tree_sums import TreeSumClassifier, shrunk
from privcurve.privacy.budget import CERTIFIED, PUBLISHED, is_private
from privcurve.privacy.calibration.bdpe import (
    LINK,
    RELEASED,
    SHRUNK,
    SIGN,
    EnsembleNoise,
    bdpe,
)
from privcurve.privacy.calibration.ensemble_truth import CONSTANT, EXACT
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.mechanisms import MECHANISMS
from privcurve.privacy.sensitivity.ensembles import ensemble_weight_bound

CHOSEN = "chosen"
RANDOM = "random"

_CALIBRATED = {"no": FIXED, EXACT: EXACT_ALPHA, RELEASED: RELEASED_ALPHA}


class BDPEClassifier(TreeSumClassifier):
    r"""Boosted private trees with the Mα-loss (Nock and Henecka 2022; docs/boosted_dp.md).

    Each round grows a complete tree on records of weight :math:`\psi^{-1}(-y H(x))`. A
    question is chosen by the Bayes risk :math:`\Phi` of its two sides, with noise; a leaf votes,
    with noise; the tree is multiplied by β and added to H.

    ``published``: the exponential mechanism at each node with its part of ε, a leaf's link with
    Laplace noise and then clamped, β from the exact records: what it claims is refuted.
    ``certified``: all of a level's budget at each of its nodes, noise on the leaves' weights or
    margins, β from what is released or public.

    At ε = ∞ there is no noise and no clamp, each question is the best, and a pure node has
    none.

    Parameters
    ----------
    n_trees : int
        T.
    depth : int
        d, levels of questions.
    alpha : float
        α of the splits, in [0, 1]: 0 is the 0/1 criterion, 1 Matsushita's.
    alpha_decay : float
        Multiplies α from level to level, in (0, 1]; ``certified`` alone.
    calibrate_alpha : str
        Objective calibration: ``no``; ``exact``, α times the relative error of the tree so far
        (``published`` alone: its O.C. has alpha = boost_alpha = 1); ``released``, by that
        error with noise (``certified`` alone).
    boost_alpha : float
        α of links and weights, in (0, 1].
    tree_share : float or None
        Part of a tree's budget for its splits, in [0, 1); None: a half, or equal ranges of all
        steps where labels are drawn (``votes="sign"`` with δ > 0).
    clamp : float
        M, the largest vote of a link.
    splits : str
        ``chosen``, or ``random``: questions without data, all of the budget for the leaves
        (``certified`` alone).
    votes : str or None
        ``link``: ψ of the leaf's share; ``shrunk``: its margin D over |D| + noise + a few
        records; ``sign``: of the margin. None: ``link`` for ``published``, which has no
        other, and ``shrunk`` for ``certified``.
    step : float
        β of shrunk votes and of signs.
    leverage : str or None
        Of ``published`` alone: β ``exact`` as printed (None), or ``constant``: the largest that
        the first β can be, 1/(2M) times `boost_alpha`.
    epsilon, delta : float
        δ > 0 with ``certified`` alone.
    calibration : str
        ``published`` or ``certified``.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    splits_ : ndarray of shape (n_trees, 2**depth - 1)
        Questions, numbered as in :mod:`privcurve.kernels.dpboost`.
    leaf_values_ : ndarray of shape (n_trees, 2**depth)
        h, the votes of the leaves.
    leverages_ : ndarray of shape (n_trees,)
        β.
    alphas_ : ndarray of shape (n_trees, depth)
        α of each level; of ``calibrate_alpha="exact"`` that of the root alone is told.
    n_features_used_, n_records_
        See :class:`~privcurve.learners.tree_sums.TreeSumClassifier`.
    """

    _learner = "bdpe"
    _released: ClassVar[Mapping[str, Any]] = {
        **TreeSumClassifier._released,
        "leverages_": NDArray[np.float64],
    }

    def __init__(
        self,
        n_trees: int = 5,
        depth: int = 3,
        alpha: float = 0.0,
        alpha_decay: float = 1.0,
        calibrate_alpha: str = "no",
        boost_alpha: float = 1.0,
        tree_share: float | None = None,
        clamp: float = 10.0,
        splits: str = CHOSEN,
        votes: str | None = None,
        step: float = 1.0,
        leverage: str | None = None,
        epsilon: float = 1.0,
        delta: float = 0.0,
        calibration: str = CERTIFIED,
        n_bins: int | Sequence[int] | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        classes: Sequence[Any] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_trees = n_trees
        self.depth = depth
        self.alpha = alpha
        self.alpha_decay = alpha_decay
        self.calibrate_alpha = calibrate_alpha
        self.boost_alpha = boost_alpha
        self.tree_share = tree_share
        self.clamp = clamp
        self.splits = splits
        self.votes = votes
        self.step = step
        self.leverage = leverage
        self.epsilon = epsilon
        self.delta = delta
        self.calibration = calibration
        self.n_bins = n_bins
        self.bounds = bounds
        self.classes = classes
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        only = {
            CERTIFIED: [
                self.splits == RANDOM and "splits = 'random'",
                self.votes in (SHRUNK, SIGN) and f"votes = {self.votes!r}",
                self.alpha_decay != 1 and f"alpha_decay = {self.alpha_decay:g}",
                self.calibrate_alpha == RELEASED and "calibrate_alpha = 'released'",
            ],
            PUBLISHED: [
                self.calibrate_alpha == EXACT and "calibrate_alpha = 'exact'",
                self.leverage is not None and f"leverage = {self.leverage!r}",
            ],
        }
        for calibration, given in only.items():
            for words in filter(None, given):
                if self.calibration != calibration:
                    raise ValueError(
                        f"bdpe: {words} is of calibration = {calibration!r} alone, not of "
                        f"{self.calibration!r}: leave it out, or change the calibration"
                    )

    def _fit_one(self, records: Records, curator: Curator) -> PrivacyStatement:
        codes, signs, counts, _ = records
        rng = curator.coins
        n_trees, depth, alpha = int(self.n_trees), int(self.depth), float(self.boost_alpha)
        self.n_records_ = int(counts.sum())
        noise = self._noise(self.n_records_)
        self.splits_ = np.full((n_trees, 2**depth - 1), NO_SPLIT, dtype=np.int64)
        self.leaf_values_ = np.zeros((n_trees, 2**depth))
        self.leverages_ = np.zeros(n_trees)
        self.alphas_ = np.tile(self._level_alphas(), (n_trees, 1))
        scores, reach = np.zeros(len(signs)), 0.0
        for t in range(n_trees):
            weights = record_weights(scores, signs, alpha)
            bound = self._weight_bound(reach)
            if weights.max() > bound * (1 + 1e-12):
                raise AssertionError(f"a record weighs {weights.max()}, more than {bound}")
            weights *= counts
            leaves = self._grow(codes, signs, weights, t, noise, bound, rng)
            positive, negative = leaf_weights(leaves, signs, weights, 2**depth)
            votes, beta = self._vote(positive, negative, noise, bound, rng)
            self.leaf_values_[t], self.leverages_[t] = votes, beta
            scores += beta * votes[leaves]
            reach += abs(beta) * float(np.abs(votes).max())
        self._count_questions()
        return noise.statement

    def _weight_bound(self, reach: float) -> float:
        """Give w̄, the largest weight where |H| is at most `reach`."""
        return ensemble_weight_bound(reach, float(self.boost_alpha))

    def _grow(
        self,
        codes: Codes,
        signs: NDArray[np.int8],
        weights: NDArray[np.float64],
        t: int,
        noise: EnsembleNoise,
        weight_bound: float,
        rng: np.random.Generator,
    ) -> NDArray[np.int64]:
        """Choose the questions of tree t; give the leaf of each row."""
        starts, splits, depth = self._bin_starts(), self.splits_[t], int(self.depth)
        restrict = self.calibration == CERTIFIED
        if self.splits == RANDOM:
            draw_tree(starts, restrict, rng, splits)
            return np.asarray(find_leaves(codes, starts, splits))
        private = is_private(self.epsilon)
        calibrated = _CALIBRATED[self.calibrate_alpha]
        drawn, errors = np.empty((1, 0)), np.zeros(depth)
        chooses, unit = BEST, 1.0
        if private and self.calibration == PUBLISHED:
            chooses = DRAWN
        elif private:
            # The published Δ* takes weights to be at most 1.
            chooses, unit = NOISY, weight_bound
            drawn = MECHANISMS[noise.mechanism].draw(rng, (len(splits), int(starts[-1])))
            if calibrated == RELEASED_ALPHA:
                scale = weight_bound / noise.error_rate
                errors = MECHANISMS[noise.errors].draw(rng, (depth,), scale)
        return np.asarray(
            grow_tree(
                codes, signs, weights, starts, restrict, self.alphas_[t], calibrated, errors,
                chooses, np.array(noise.spent), unit * noise.bound, unit * noise.slope, drawn,
                rng, splits,
            )
        )  # fmt: skip

    def _vote(
        self,
        positive: NDArray[np.float64],
        negative: NDArray[np.float64],
        noise: EnsembleNoise,
        weight_bound: float,
        rng: np.random.Generator,
    ) -> tuple[NDArray[np.float64], float]:
        """Give the votes of a tree's leaves and its β, from the weights in each by label."""
        if self.calibration == PUBLISHED:
            return self._published_vote(positive, negative, noise, rng)
        seen = np.stack([positive, negative]) if self._votes() == LINK else positive - negative
        scale = weight_bound / noise.leaf_rate
        if scale > 0:
            seen = seen + MECHANISMS[noise.leaves].draw(rng, seen.shape, scale)
        return self._vote_of(seen, scale, self.n_records_)

    def _vote_of(
        self, seen: NDArray[np.float64], scale: float, n: int
    ) -> tuple[NDArray[np.float64], float]:
        """Vote by what is released, with noise of `scale`: weights by label, or margins."""
        kind = self._votes()
        if kind == SIGN:
            return np.sign(seen), float(self.step)
        if kind == SHRUNK:
            return shrunk(seen, scale, n), float(self.step)
        clamp, (positive, negative) = self._clamp(), seen
        votes = np.clip(link_of_leaves(positive, negative, float(self.boost_alpha)), -clamp, clamp)
        return votes, max(0.0, self._leverage(votes, positive, negative, n))

    def _published_vote(
        self,
        positive: NDArray[np.float64],
        negative: NDArray[np.float64],
        noise: EnsembleNoise,
        rng: np.random.Generator,
    ) -> tuple[NDArray[np.float64], float]:
        """Vote as printed: noise on the link, then the clamp; β from the records."""
        votes, clamp = link_of_leaves(positive, negative, float(self.boost_alpha)), self._clamp()
        if is_private(self.epsilon):
            votes = votes + MECHANISMS[noise.leaves].draw(rng, votes.shape, 1 / noise.leaf_rate)
            votes = np.clip(votes, -clamp, clamp)
        if self.leverage == CONSTANT:
            return votes, float(self.boost_alpha) / (2 * clamp)
        return votes, self._leverage(votes, positive, negative, self.n_records_)

    def _leverage(
        self,
        votes: NDArray[np.float64],
        positive: NDArray[np.float64],
        negative: NDArray[np.float64],
        n: int,
    ) -> float:
        """Give β = (a/m) Σ h(λ)(A − B), a = α/M²."""
        rate = float(self.boost_alpha) / self._clamp() ** 2
        return float(rate / n * (votes @ (positive - negative)))

    def _clamp(self) -> float:
        """Give M; without privacy the largest link."""
        if is_private(self.epsilon):
            return float(self.clamp)
        return largest_link(float(self.boost_alpha))

    def _votes(self) -> str:
        if self.votes is not None:
            return self.votes
        return LINK if self.calibration == PUBLISHED else SHRUNK

    def _level_alphas(self) -> NDArray[np.float64]:
        return np.asarray(float(self.alpha) * float(self.alpha_decay) ** np.arange(self.depth))

    def _noise(self, n: int) -> EnsembleNoise:
        return bdpe(
            n=n,
            n_trees=int(self.n_trees),
            depth=int(self.depth),
            alphas=tuple(self._level_alphas().tolist()),
            calibrate_alpha=self.calibrate_alpha,
            chosen=self.splits == CHOSEN,
            tree_share=None if self.tree_share is None else float(self.tree_share),
            votes=self._votes(),
            clamp=float(self.clamp),
            largest_link=largest_link(float(self.boost_alpha)),
            leverage=self.leverage or EXACT,
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            calibration=self.calibration,
        )

    def _link(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return log_odds_of_margins(scores, float(self.boost_alpha))

    def _restore(self) -> None:
        shape = self.splits_.shape[:1]
        require(self.leverages_.shape == shape, "it has not one leverage a tree")
        super()._restore()

    def _tree_values(self) -> NDArray[np.float64]:
        return np.asarray(self.leverages_[:, None] * self.leaf_values_)
