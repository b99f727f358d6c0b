"""LazyBB: private boosting by weighted lazy-Bregman projection (thesis, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privcurve.coding import Codes
from privcurve.learners.checks import RandomState
from privcurve.learners.one_rule import OneRuleEnsemble
from privcurve.learners.trees import TreeModel, TreePlan, fit_trees
from privcurve.privacy.calibration.one_rules import OneRuleNoise, lazybb_one_rule


class LazyBBClassifier(OneRuleEnsemble):
    """LazyBB with private 1-rules or trees: an integral vote.

    In each round a record whose margin (correct less wrong votes so far) is σ weighs
    κe^{−λσ}, projected so that no record has more than 1/(κn) of all weight; a literal of
    small weighted error (or a tree) is picked privately and joins the vote.

    Parameters
    ----------
    weak_learner : str
        ``one_rule``, or ``topdown``: trees as of
        :class:`~privcurve.learners.topdown.TopDownTreeClassifier`.
    n_rounds : int
        τ, rounds and voters.
    learning_rate : float
        λ, in (0, 1]: how fast weights follow the margins.
    density : float
        κ, in (0, 1]: 1 keeps all weights equal; smaller values let boosting concentrate,
        at the price of more noise. Too small a value for the number of records is refused,
        unless ε = ∞: see ``privacy.sensitivity.lazybb_smallest_density``.
    epsilon : float
        ε of the whole fit, above 0; infinite: no noise.
    delta : float
        0: pure differential privacy.
    calibration : str
        ``certified`` (η_t = ε/(2τζ_t), PRIVACY.md §a and §b; trees: §c) or ``published``
        (η = εκn/(4τ), thesis, Corollary 4.1.1; trees: Corollary 4.2.5).
    mechanism : str
        ``exponential``, ``permute_and_flip``, or ``auto``: permute-and-flip when
        certified and δ = 0, else the exponential mechanism.
    depth, n_splits, splits, criterion, split_share, leaves
        Shape and budget of a tree, see ``TopDownTreeClassifier``; not used by 1-rules.
    n_bins : int or sequence of int
        Codes of each column.
    bounds : pair of array-like, optional
        Lowest and highest value of each column, when X is numeric.
    classes : sequence of two labels, optional
        Negative first; None takes them from `y`.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    chosen_, model_, n_features_used_, n_records_
        See :class:`~privcurve.learners.one_rule.OneRuleEnsemble`. With trees, `model_` is
        a :class:`~privcurve.learners.trees.TreeModel`, and there is no `chosen_`.
    privacy_ : PrivacyStatement
        What the fit guarantees, with every mechanism call.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from privcurve.learners import LazyBBClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bounds = ([0] * 30, [30, 40, 200, 2600, 0.2, 0.4, 0.5, 0.3, 0.4, 0.1] * 3)
    >>> model = LazyBBClassifier(n_bins=10, bounds=bounds, n_rounds=9, random_state=0)
    >>> model.fit(X, y).privacy_.epsilon
    1.0
    """

    _learner = "lazybb"

    def __init__(
        self,
        weak_learner: str = "one_rule",
        n_rounds: int = 39,
        learning_rate: float = 0.45,
        density: float = 0.35,
        epsilon: float = 1.0,
        delta: float = 0.0,
        calibration: str = "certified",
        mechanism: str = "auto",
        depth: int = 3,
        n_splits: int | None = None,
        splits: str = "equality",
        criterion: str = "gini",
        split_share: float | None = None,
        leaves: str = "labels",
        n_bins: int | Sequence[int] | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        classes: Sequence[Any] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.weak_learner = weak_learner
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.density = density
        self.epsilon = epsilon
        self.delta = delta
        self.calibration = calibration
        self.mechanism = mechanism
        self.depth = depth
        self.n_splits = n_splits
        self.splits = splits
        self.criterion = criterion
        self.split_share = split_share
        self.leaves = leaves
        self.n_bins = n_bins
        self.bounds = bounds
        self.classes = classes
        self.random_state = random_state

    def _calibrate(self, n: int) -> OneRuleNoise:
        return lazybb_one_rule(
            n=n,
            n_rounds=int(self.n_rounds),
            density=float(self.density),
            learning_rate=float(self.learning_rate),
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            calibration=self.calibration,
            mechanism=self.mechanism,
        )

    def _weighting(self) -> tuple[float, float]:
        return float(self.density), float(self.learning_rate)

    def _plan(self, n: int) -> TreePlan:
        return TreePlan.make(
            learner=self._learner,
            n=n,
            n_rounds=int(self.n_rounds),
            density=float(self.density),
            learning_rate=float(self.learning_rate),
            depth=int(self.depth),
            n_splits=None if self.n_splits is None else int(self.n_splits),
            splits=self.splits,
            criterion=self.criterion,
            split_share=None if self.split_share is None else float(self.split_share),
            leaves=self.leaves,
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            calibration=self.calibration,
            mechanism=self.mechanism,
        )

    def _fit_batch(
        self,
        learners: Sequence[Self],
        codes: Codes,
        signs: NDArray[np.int8],
        counts: NDArray[np.int64],
        rngs: Sequence[np.random.Generator],
    ) -> None:
        pairs = list(zip(learners, rngs, strict=True))
        rules = [pair for pair in pairs if pair[0].weak_learner == "one_rule"]
        trees = [pair for pair in pairs if pair[0].weak_learner == "topdown"]
        if rules:
            super()._fit_batch([p[0] for p in rules], codes, signs, counts, [p[1] for p in rules])
        if trees:
            some, theirs = [p[0] for p in trees], [p[1] for p in trees]
            fit_trees(some, self.n_bins_, codes, signs, counts, theirs)

    def _adopt_trees(self, model: TreeModel, n: int, plan: TreePlan) -> None:
        self.model_: Any = model
        self.n_features_used_ = len(model.questions)
        self.n_records_ = n
        self._fitted_statement = plan.noise.statement

    def _scores(self, codes: Codes) -> NDArray[np.float64]:
        if self.weak_learner == "topdown":
            return self.model_.votes(codes).astype(np.float64)
        return super()._scores(codes)
