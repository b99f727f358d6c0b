"""Train private weak learners that vote: shared code of LazyBB, 1-rules and trees.

A *weak learner* calibrates its noise (`plan`), trains all rounds in its own kernel, and converts
the released numbers to a model. The learners of a single 1-rule or tree make one round.
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
    """The parameters of boosting: n_rounds (τ), density (κ), learning_rate (λ), and `started`.

    `started` says whether the margins of records start from a public model instead of 0.
    """

    n_rounds: int
    density: float
    learning_rate: float
    started: bool = False


# A single round with equal weights, for a single 1-rule or tree; the learning rate has no effect.
ONE_ROUND = Boosting(1, 1.0, 1.0)


class WeakLearner(Protocol):
    """The interface of a weak learner of boosting. An object stores nothing about a fit."""

    def prepare(self, records: Records) -> Any:
        """Convert records to the rows that :meth:`train` reads; all settings share these rows."""

    def plan(self, learner: Any, setting: Mapping[str, Any]) -> Any:
        """Return the plan of a fit: parameters for :meth:`train`, and the calibrated noise.

        `learner` has the parameters of the weak learner. `setting` has what all weak learners need:
        the learner's name, n, the parameters of boosting, and the budget.
        """

    def train(self, rows: Any, plan: Any, curator: Curator, begin: Ints | None = None) -> Any:
        """Draw all noise, train all rounds, and return the released choices of the rounds.

        `begin` has the margin of each row before the first round, in votes; None means 0.
        """

    def attributes(self, released: Any, n_bins: Ints) -> Mapping[str, Any]:
        """Convert the released choices to attributes of the fitted learner, such as ``model_``."""


def with_weight_check(loop: Callable[..., tuple[Any, float]]) -> Callable[..., Any]:
    """Turn a kernel's loop over rounds into a mechanism that may run on sealed records.

    The loop returns its choices and the largest weight of a record. The mechanism checks that the
    weight is within the proof's bound, and returns only the choices.
    """

    @wraps(loop)
    def run(*arguments: Any) -> Any:
        released, largest = loop(*arguments)
        check_largest_weight(largest, loop.__name__)
        return released

    return cast(Callable[..., Any], mechanism(run))


class VotingClassifier(LinkedClassifier, StagedClassifier):
    """Base of learners whose score is the sum of votes, −1 or +1, of weak learners.

    A subclass provides the weak learner (`_weak_learner`) and, for more than one round, the
    parameters of boosting (`_boosting`).

    Attributes
    ----------
    model_ : VoteModel or TreeModel
        The voters in the order of the rounds; ``print`` shows them as text.
    n_features_used_ : int
        Number of distinct yes/no questions that the voters ask about a row.
    n_records_ : int
        Number of training records (the sum of the counts). It is public: replace-one neighbours
        have equally many records. The number of rows is not public, and is not stored.
    """

    model_: Any

    @property
    def _weak_learner(self) -> WeakLearner:
        raise NotImplementedError

    def _boosting(self) -> Boosting:
        return ONE_ROUND

    def _begin(self, codes: Codes, signs: Signs) -> Ints | None:
        """Return the margin of each row before the first round, in votes; None if all are 0."""
        return None

    def _hidden_columns(self) -> tuple[int, ...]:
        """Return the positions of columns that no voter may use."""
        return ()

    def _hide_columns(self, codes: Codes) -> Codes:
        """Return the bins that voters see: in hidden columns, every row has the bin 0."""
        if not self._hidden_columns():
            return codes
        codes = codes.copy()
        codes[:, list(self._hidden_columns())] = 0
        return codes

    def _visible_bins(self) -> Ints:
        """Return the number of bins that voters see in each column: 1 for a hidden column."""
        bins = self.n_bins_.copy()
        bins[list(self._hidden_columns())] = 1
        return bins

    def _plan(self, n: int) -> Any:
        """Return the weak learner's plan for a fit on n records."""
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
