"""Votes of private weak learners: the one loop that LazyBB, a 1-rule and a tree share.

A *weak learner* says how noise is set for it (`plan`), trains all rounds in a kernel of its
own, and makes of what they released a model that a person can read. A single 1-rule or tree
is one round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from privcurve.coding import Codes, Floats, Ints, Records, Signs
from privcurve.learners.chances import LinkedClassifier
from privcurve.learners.staged import StagedClassifier
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.sensitivity.lazybb import check_largest_weight


class Boosting(NamedTuple):
    """How rounds follow each other.

    Attributes
    ----------
    n_rounds : int
        τ.
    density, learning_rate : float
        κ and λ.
    started : bool
        Whether margins begin at votes of a public start, not at 0.
    """

    n_rounds: int
    density: float
    learning_rate: float
    started: bool = False


# All records alike: the learning rate is never used.
ONE_ROUND = Boosting(1, 1.0, 1.0)


class Noise(Protocol):
    """What a calibration gives."""

    @property
    def statement(self) -> PrivacyStatement:
        """What the noise guarantees."""


class Plan(Protocol):
    """One setting of a weak learner, settled for a number of records."""

    @property
    def density(self) -> float:
        """κ."""

    @property
    def learning_rate(self) -> float:
        """λ."""

    @property
    def noise(self) -> Noise:
        """Rates and mechanisms of all rounds."""


class Model(Protocol):
    """Voters in the order of the rounds, each of which answers −1 or +1."""

    @property
    def n_rounds(self) -> int:
        """How many there are."""

    @property
    def n_features_used(self) -> int:
        """Distinct questions that they ask."""

    def tally(self, codes: Codes, start: int = 0, stop: int | None = None) -> Ints:
        """Sum the votes for each row.

        Parameters
        ----------
        codes : ndarray of unsigned integers, shape (n_rows, n_columns)
        start, stop : int
            Rounds that vote: from `start` to before `stop`; default all.

        Returns
        -------
        ndarray of shape (n_rows,)
        """

    def measures(self) -> dict[str, float]:
        """Give sizes of the model."""

    def check(self, n_bins: Ints) -> Any:
        """Check what was read from a file; give what was released, as of the weak learner.

        Raises
        ------
        ValueError
            If it is no model of columns with so many codes.
        """


class WeakLearner(Protocol):
    """What is boosted. It keeps nothing of a fit."""

    def prepare(self, codes: Codes, n_bins: Ints, signs: Signs, counts: Ints) -> Any:
        """Give the rows as :meth:`train` takes them; all settings share them."""

    def plan(self, learner: Any, boosting: Boosting, n: int) -> Any:
        """Settle the parameters of a learner for n records: a :class:`Plan`."""

    def train(
        self, rows: Any, plan: Any, curator: Curator, begin: Ints | None = None
    ) -> tuple[Any, float]:
        """Draw all noise and train all rounds.

        Parameters
        ----------
        rows : object
            As of :meth:`prepare`.
        plan : Plan
        curator : Curator
        begin : ndarray of shape (n_rows,), optional
            The margin of each row before the first round, in votes; 0 by default.

        Returns
        -------
        released : object
            What was chosen.
        largest : float
            κn times the largest normalised weight of all rounds; see ``kernels.projection``.
        """

    def attributes(self, released: Any, n_bins: Ints) -> Mapping[str, Any]:
        """Give what a fitted learner holds of it: ``model_``, a :class:`Model`, and more."""


class VotingClassifier(LinkedClassifier, StagedClassifier):
    """A vote of weak learners.

    A subclass says what votes (`_weak`) and, if there is more than one round, how rounds
    follow each other (`_boosting`).

    Attributes
    ----------
    model_ : Model
        The vote, readable.
    n_features_used_ : int
        Distinct questions that the voters ask.
    n_records_ : int
        Records trained on: the sum of the counts. Public, for neighbours have equally many;
        how many distinct rows there are is not, and is kept nowhere.
    """

    model_: Any

    @property
    def _weak(self) -> WeakLearner:
        raise NotImplementedError

    def _boosting(self) -> Boosting:
        return ONE_ROUND

    def _begin(self, codes: Codes, signs: Signs) -> Ints | None:
        """Give the margins of rows before the first round, in votes; None: 0 for all."""
        return None

    def _hidden(self) -> tuple[int, ...]:
        """Give the columns that no voter may ask for."""
        return ()

    def _seen(self, codes: Codes) -> Codes:
        """Give the codes as voters see them: a hidden column has one code alone."""
        if not self._hidden():
            return codes
        codes = codes.copy()
        codes[:, list(self._hidden())] = 0
        return codes

    def _seen_bins(self) -> Ints:
        """Give how many codes of each column voters see."""
        bins = self.n_bins_.copy()
        bins[list(self._hidden())] = 1
        return bins

    def _plan(self, n: int) -> Any:
        """Settle the parameters for n records."""
        return self._weak.plan(self, self._boosting(), n)

    def _fit_batch(
        self, learners: Sequence[Self], records: Records, curators: Sequence[Curator]
    ) -> None:
        codes, signs, counts, _ = records
        n = int(counts.sum())
        prepared: dict[tuple[WeakLearner, tuple[int, ...]], Any] = {}
        for learner, curator in zip(learners, curators, strict=True):
            weak, hidden = learner._weak, learner._hidden()
            if (weak, hidden) not in prepared:
                bins = learner._seen_bins()
                prepared[weak, hidden] = weak.prepare(learner._seen(codes), bins, signs, counts)
            plan = learner._plan(n)
            begin = learner._begin(codes, signs)
            released, largest = weak.train(prepared[weak, hidden], plan, curator, begin)
            check_largest_weight(largest, type(self).__name__)
            learner._adopt(released, n, plan.noise.statement)

    def _adopt(self, released: Any, n: int, statement: PrivacyStatement) -> None:
        for name, value in self._weak.attributes(released, self._seen_bins()).items():
            setattr(self, name, value)
        self.n_features_used_ = self.model_.n_features_used
        self.n_records_ = n
        self._fitted_statement = statement

    def _restore(self) -> None:
        released = self.model_.check(self._seen_bins())
        for name, value in self._weak.attributes(released, self._seen_bins()).items():
            setattr(self, name, value)

    def _scores(self, codes: Codes) -> Floats:
        votes: Ints = self.model_.tally(self._seen(codes))
        return votes.astype(np.float64)

    def _stages(self, codes: Codes) -> Iterator[Floats]:
        codes = self._seen(codes)
        votes = np.zeros(len(codes), dtype=np.int64)
        for t in range(self.model_.n_rounds):
            votes += self.model_.tally(codes, t, t + 1)
            yield votes.astype(np.float64)

    def _measures(self) -> dict[str, float]:
        found: dict[str, float] = self.model_.measures()
        return found
