"""Votes of private weak learners: shared code of LazyBB, 1-rules and trees.

A *weak learner* calibrates its noise (`plan`), trains all rounds in its own kernel, and converts
the released numbers to a readable model. A single 1-rule or tree is one round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple, Protocol, Self, cast

import numpy as np

from privcurve.coding import Codes, Floats, Ints, Records, Signs
from privcurve.learners.shared.chances import LinkedClassifier
from privcurve.learners.shared.staged import StagedClassifier
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.sealed import mechanism
from privcurve.privacy.sensitivity.lazybb import check_largest_weight


class Boosting(NamedTuple):
    """The parameters of the rounds: τ, κ, λ, and whether margins start from a public model."""

    n_rounds: int
    density: float
    learning_rate: float
    started: bool = False


# One round with equal weights: the learning rate is not used.
ONE_ROUND = Boosting(1, 1.0, 1.0)


class WeakLearner(Protocol):
    """A base learner of boosting. It is stateless: no part of a fit is stored on it."""

    def prepare(self, records: Records) -> Any:
        """Return the rows in the form of :meth:`train`; all settings share them."""

    def plan(self, learner: Any, setting: Mapping[str, Any]) -> Any:
        """Return the plan of a learner's rounds, with their noise.

        `setting` has what all weak learners need: the learner's name, n, the rounds and the budget.
        """

    def train(self, rows: Any, plan: Any, curator: Curator, begin: Ints | None = None) -> Any:
        """Draw all noise, train all rounds, and return the choices.

        `begin` is the margin of each row before the first round, in votes; 0 by default.
        """

    def attributes(self, released: Any, n_bins: Ints) -> Mapping[str, Any]:
        """Return the attributes of a fitted learner: ``model_`` and more."""


def with_weight_check(loop: Callable[..., tuple[Any, float]]) -> Callable[..., Any]:
    """Return a loop over rounds as a mechanism that checks the largest weight and drops it."""

    @wraps(loop)
    def run(*arguments: Any) -> Any:
        released, largest = loop(*arguments)
        check_largest_weight(largest, loop.__name__)
        return released

    return cast(Callable[..., Any], mechanism(run))


class VotingClassifier(LinkedClassifier, StagedClassifier):
    """A vote of weak learners.

    A subclass provides the voters (`_weak_learner`) and, if there is more than one round, the
    parameters of the rounds (`_boosting`).

    Attributes
    ----------
    model_ : VoteModel or TreeModel
        The readable vote: voters in the order of the rounds, with answers −1 or +1.
    n_features_used_ : int
        Number of distinct questions of the voters.
    n_records_ : int
        Training records: the sum of the counts. Public, as neighbours have equally many. The
        number of distinct rows is not public, and is not stored.
    """

    model_: Any

    @property
    def _weak_learner(self) -> WeakLearner:
        raise NotImplementedError

    def _boosting(self) -> Boosting:
        return ONE_ROUND

    def _begin(self, codes: Codes, signs: Signs) -> Ints | None:
        """Return the margins of rows before the first round, in votes; None if all are 0."""
        return None

    def _hidden_columns(self) -> tuple[int, ...]:
        """Return the columns that no voter may use."""
        return ()

    def _hide_columns(self, codes: Codes) -> Codes:
        """Return the codes for the voters; a hidden column has a single code."""
        if not self._hidden_columns():
            return codes
        codes = codes.copy()
        codes[:, list(self._hidden_columns())] = 0
        return codes

    def _visible_bins(self) -> Ints:
        """Return the number of codes of each column for the voters."""
        bins = self.n_bins_.copy()
        bins[list(self._hidden_columns())] = 1
        return bins

    def _plan(self, n: int) -> Any:
        """Return the weak learner's plan for n records."""
        setting = {
            "learner": self._learner,
            "n": n,
            **self._boosting()._asdict(),
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "calibration": self.calibration,
            "mechanism": self.mechanism,
        }
        return self._weak_learner.plan(self, setting)

    def _fit_batch(
        self, learners: Sequence[Self], records: Records, curators: Sequence[Curator]
    ) -> None:
        n = records.n
        prepared: dict[tuple[WeakLearner, tuple[int, ...]], Any] = {}
        for learner, curator in zip(learners, curators, strict=True):
            weak, hidden = learner._weak_learner, learner._hidden_columns()
            if (weak, hidden) not in prepared:
                codes = learner._hide_columns(records.codes)
                seen = records._replace(codes=codes, n_bins=learner._visible_bins())
                prepared[weak, hidden] = weak.prepare(seen)
            plan = learner._plan(n)
            begin = learner._begin(records.codes, records.labels)
            released = weak.train(prepared[weak, hidden], plan, curator, begin)
            learner._adopt(released, n, plan.noise.statement)

    def _adopt(self, released: Any, n: int, statement: PrivacyStatement) -> None:
        self.__dict__.update(self._weak_learner.attributes(released, self._visible_bins()))
        self.n_features_used_ = self.model_.n_features_used
        self.n_records_ = n
        self._fitted_statement = statement

    def _restore(self) -> None:
        released = self.model_.check(self._visible_bins())
        self.__dict__.update(self._weak_learner.attributes(released, self._visible_bins()))

    def _scores(self, codes: Codes) -> Floats:
        votes: Ints = self.model_.tally(self._hide_columns(codes))
        return votes.astype(np.float64)

    def _stages(self, codes: Codes) -> Iterator[Floats]:
        codes = self._hide_columns(codes)
        votes = np.zeros(len(codes), dtype=np.int64)
        for t in range(self.model_.n_rounds):
            votes += self.model_.tally(codes, t, t + 1)
            yield votes.astype(np.float64)

    def _measures(self) -> dict[str, float]:
        return self.model_.measures()
