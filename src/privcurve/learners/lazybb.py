"""LazyBB: private boosting by weighted lazy-Bregman projection (thesis, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from privcurve.coding import Codes, Floats, Ints, Records, Signs, code_type
from privcurve.learners.base import with_fitted_parameters
from privcurve.learners.entries.parameters import LazyBBParameters
from privcurve.learners.one_rule import ONE_RULES, VoteModel
from privcurve.learners.shared.chances import cap_of, capped_weights
from privcurve.learners.shared.checks import require
from privcurve.learners.shared.public_part import (
    PUBLIC_START,
    PublicStart,
    StartClassifier,
    check_start,
)
from privcurve.learners.shared.roles import PublicRows
from privcurve.learners.shared.voting import Boosting, VotingClassifier, WeakLearner
from privcurve.learners.trees import TOP_DOWN_TREES, TreeModel
from privcurve.privacy.budget import PUBLISHED
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import PrivacyStatement, with_public

# To compute the weights of records, margins of a public start are clipped to ± this many votes. The
# clip limits the size of the kernels' tables, which have an entry for each possible margin.
LARGEST_START = 1000

# Number of rows that `cap_` draws uniformly from the domain to compute the cap of the weights.
POOL = 4096

# Values of the parameter `ties`: a tied vote is decided by the last round, or is negative.
LAST_ROUND = "last_round"
NEGATIVE = "negative"

# Weak learners by the value of the parameter `weak_learner`.
WEAK_LEARNERS: Mapping[str, WeakLearner] = {"one_rule": ONE_RULES, "topdown": TOP_DOWN_TREES}


@dataclass(kw_only=True, eq=False, repr=False)
class LazyBBClassifier(VotingClassifier, StartClassifier, LazyBBParameters):
    """LazyBB with private 1-rules or trees, which vote with equal weights.

    In each round, a record with the margin σ (correct minus wrong votes so far) has the weight
    κe^{−λσ}; a projection then limits the share of each record to 1/(κn) of the total weight. A
    1-rule (or a tree) with a small weighted error is chosen privately and joins the vote.

    Parameters
    ----------
    weak_learner : str
        ``one_rule``, or ``topdown``: the trees of
        :class:`~privcurve.learners.trees.TopDownTreeClassifier`.
    n_rounds : int
        τ, the number of rounds; each adds one voter.
    learning_rate : float
        λ: how strongly weights depend on the margins.
    density : float
        κ: 1 keeps all weights equal; smaller values let the weights concentrate on fewer records,
        at the price of more noise. With a finite ε, a value that is too small for the number of
        records is refused: see ``privacy.sensitivity.lazybb_smallest_density``.
    epsilon : float
        ε of the whole fit, above 0; infinite: no noise.
    delta : float
        δ; 0 for pure differential privacy.
    calibration : str
        ``proved`` (for δ = 0, η_t = ε/(2τζ_t): docs/proofs.md, 'LazyBB: first rounds') or
        ``published`` (η = εκn/(4τ): thesis, Corollary 4.1.1; trees: Corollary 4.2.5).
    mechanism : str
        ``exponential``, ``permute_and_flip``, or ``auto``: permute-and-flip with ``proved`` and
        δ = 0, else the exponential mechanism.
    start : str
        ``none``, or ``public``: the scores start at the log-odds that a model of the public columns
        gives, which costs no privacy, and only private columns vote (docs/proofs.md, 'LazyBB from a
        public start'). The margin of a record before the first round is its margin by that model,
        rounded to whole votes. Labels are then public, and the guarantee is about private columns.
    vote_worth : float or None
        With a public start: the log-odds that one vote adds. None: 1 for a single round, else 2λ.
    public_columns : sequence of int or None
        Positions of public columns, which only a public start reads.
    depth, n_splits, splits, criterion, split_share, leaves
        Shape and budget of a tree: see ``TopDownTreeClassifier``. With 1-rules they must have their
        defaults.
    ties : str
        The prediction if the votes cancel, which is possible for an even number of rounds.
        ``last_round``: the sum without the last round decides, at no privacy cost; the score is
        ±½. ``negative``: the negative label (thesis, §1.2). ``auto``: ``negative`` with
        ``published``, else ``last_round``.
    n_bins : int or sequence of int
        Number of bins of each column.
    bounds : pair of array-like, optional
        Lowest and highest value of each column, if X is numeric.
    classes : sequence of two labels, optional
        The labels, the negative one first. None takes them from `y`.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    model_ : VoteModel or TreeModel
        The voters; ``print`` shows them as text.
    chosen_ : ndarray of shape (n_rounds,)
        Only with 1-rules: the literal of each round, numbered as in
        :mod:`privcurve.kernels.lazybb_rules`.
    ties_ : str
        ``last_round`` or ``negative``: the resolved value of `ties`.
    n_features_used_, n_records_
        See :class:`~privcurve.learners.shared.voting.VotingClassifier`.
    start_ : PublicStart
        With a public start: the model whose log-odds are added to the votes. In `model_` a public
        column has a single bin, so that no voter uses it.
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
    _released: ClassVar[Mapping[str, Any]] = {
        "model_": VoteModel | TreeModel,
        "ties_": str,
        "start_": PublicStart | None,
        "cap_": float | None,
    }

    @property
    def _weak_learner(self) -> WeakLearner:
        return WEAK_LEARNERS[self.weak_learner]

    def _boosting(self) -> Boosting:
        started = self.start == PUBLIC_START
        return Boosting(int(self.n_rounds), float(self.density), float(self.learning_rate), started)

    def _hidden_columns(self) -> tuple[int, ...]:
        return self._roles().public or ()

    def _fit_batch(
        self, learners: Sequence[Self], records: Records, curators: Sequence[Curator]
    ) -> None:
        starts: dict[tuple[int, ...], PublicStart] = {}
        for learner, curator in zip(learners, curators, strict=True):
            roles = learner._roles()
            if roles.public is not None:
                if roles.public not in starts:
                    rows = curator.public(roles.public, PublicRows.gather, records)
                    start = PublicStart.fit(rows, roles, learner.n_bins_)
                    starts[roles.public] = start
                learner.start_ = starts[roles.public]
        super()._fit_batch(learners, records, curators)
        for learner in learners:
            public = learner._roles().public
            if public is not None:
                learner.n_features_used_ += len(public)
                learner._fitted_statement = with_public(learner._fitted_statement, public)

    def _begin(self, codes: Codes, signs: Signs) -> Ints | None:
        if self.start != PUBLIC_START:
            return None
        votes = np.round(self.start_.log_odds(codes) / self._worth())
        kept = np.clip(votes, -LARGEST_START, LARGEST_START)
        return signs * kept.astype(np.int64)

    def _adopt(self, released: object, n: int, statement: PrivacyStatement) -> None:
        super()._adopt(released, n, statement)
        automatic = NEGATIVE if self.calibration == PUBLISHED else LAST_ROUND
        self.ties_ = automatic if self.ties == "auto" else self.ties

    def _restore(self) -> None:
        require(self.ties_ in (LAST_ROUND, NEGATIVE), f"ties = {self.ties_!r} is unknown")
        check_start(self, self._roles())
        trees = isinstance(self.model_, TreeModel)
        require(trees == (self.weak_learner != "one_rule"), "its voters are not its weak_learner")
        super()._restore()

    @property
    @with_fitted_parameters
    def cap_(self) -> float | None:
        """The cap of the weights, which only `predict_proba` uses (docs/probabilities.md), or None.

        It follows from the model's votes on rows drawn from the domain, so it costs no privacy. It
        is None with a public start, a single round or equal weights, which need no cap.
        """
        if self.start == PUBLIC_START or self.model_.n_rounds == 1 or self.density == 1:
            return None
        if hasattr(self, "_cap"):
            return self._cap
        drawn = np.random.default_rng(0).integers(self.n_bins_, size=(POOL, len(self.n_bins_)))
        votes = self._scores(drawn.astype(code_type(self.n_bins_)))
        return cap_of(votes, float(self.learning_rate), float(self.density))

    @cap_.setter
    def cap_(self, cap: float) -> None:
        self._cap = cap

    def _link(self, scores: Floats) -> Floats:
        cap = self.cap_
        if cap is not None:
            return capped_weights(scores, float(self.learning_rate), cap)
        if self.start == PUBLIC_START or self.model_.n_rounds == 1:
            return scores
        # With density 1 all rounds saw the same weights, so together they count as one vote.
        return scores / self.model_.n_rounds

    @property
    def joins_columns(self) -> bool:
        """Whether the score is not a sum of functions of single columns.

        A tree may combine columns. If the last round decides ties, the score combines columns, too:
        whether a row has a tie depends on the votes of all rounds.
        """
        # Ties are broken only without a public start.
        may_tie = self.start != PUBLIC_START and self.ties_ == LAST_ROUND
        return (may_tie and self.model_.n_rounds % 2 == 0) or super().joins_columns

    def _worth(self) -> float:
        if self.vote_worth is not None:
            return float(self.vote_worth)
        return 1.0 if self.n_rounds == 1 else 2 * float(self.learning_rate)

    def _scores(self, codes: Codes) -> Floats:
        if self.start == PUBLIC_START:
            return self.start_.log_odds(codes) + self._worth() * super()._scores(codes)
        votes = self.model_.tally(codes)
        scores: Floats = votes.astype(np.float64)
        tied = votes == 0
        if self.ties_ == LAST_ROUND and tied.any():
            scores[tied] = -0.5 * self.model_.tally(codes[tied], self.model_.n_rounds - 1)
        return scores

    def _stages(self, codes: Codes) -> Iterator[Floats]:
        if self.start == PUBLIC_START:
            start = self.start_.log_odds(codes)
            yield from (start + self._worth() * votes for votes in super()._stages(codes))
            return
        votes = np.zeros(len(codes), dtype=np.int64)
        for t in range(self.model_.n_rounds):
            last = self.model_.tally(codes, t, t + 1)
            votes += last
            broken = -0.5 * last if self.ties_ == LAST_ROUND else 0.0
            yield np.where(votes == 0, broken, votes)
