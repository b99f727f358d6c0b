"""1-rules: one bin of one column decides, alone or as one voter of an ensemble."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privcurve.coding import Codes
from privcurve.kernels.lazybb_rules import boost, count_votes, vote_table
from privcurve.kernels.packing import pack
from privcurve.learners.base import CodedClassifier
from privcurve.learners.checks import RandomState
from privcurve.privacy.calibration.one_rules import OneRuleNoise, one_rule
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.mechanisms import MECHANISMS

# What the projection may exceed its bound by, for rounding (PRIVACY.md §a).
DENSITY_TOLERANCE = 1e-9


class Vote(NamedTuple):
    """Net votes of one bin: they count for the positive label in it, against outside it."""

    votes: int
    column: int
    code: int


@dataclass(frozen=True)
class VoteModel:
    """An ensemble of 1-rules as a person reads it (thesis, Table 5.3).

    The score of a row is `constant` plus, for each vote, ``votes`` if the row is in the
    bin and ``-votes`` if it is not.

    Attributes
    ----------
    votes : tuple of Vote
        Bins with votes that do not cancel, the heaviest first.
    constant : int
        Net votes of the constants.
    """

    votes: tuple[Vote, ...]
    constant: int

    @classmethod
    def from_picks(cls, picks: NDArray[np.int64], n_bins: NDArray[np.int64]) -> Self:
        """Add up picked literals.

        Parameters
        ----------
        picks : ndarray of shape (n_rounds,)
            Literals, numbered as in :mod:`privcurve.kernels.lazybb_rules`.
        n_bins : ndarray of shape (n_columns,)
        """
        starts = np.concatenate([[0], np.cumsum(n_bins)])
        net: Counter[int] = Counter()
        for literal in picks.tolist():
            net[literal >> 1] += 1 - 2 * (literal & 1)
        constant = net.pop(int(starts[-1]), 0)
        votes = []
        for b, count in net.items():
            column = int(np.searchsorted(starts, b, side="right")) - 1
            votes.append(Vote(count, column, b - int(starts[column])))
        votes.sort(key=lambda v: (-abs(v.votes), v.column, v.code))
        return cls(tuple(v for v in votes if v.votes != 0), constant)

    def describe(self, bin_names: Sequence[Sequence[str]] | None = None) -> str:
        """Write the model as a table of votes.

        Parameters
        ----------
        bin_names : sequence of sequence of str, optional
            The name of each code of each column, such as ``dataset.domain.bin_names``;
            default ``column 3 = 5``.

        Returns
        -------
        str
        """
        lines = ["votes  bin"]
        for votes, column, code in self.votes:
            name = f"column {column} = {code}" if bin_names is None else bin_names[column][code]
            lines.append(f"{votes:+5d}  {name}")
        if self.constant or not self.votes:
            lines.append(f"{self.constant:+5d}  always")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.describe()


class OneRuleEnsemble(CodedClassifier):
    """What LazyBB with 1-rules and a single 1-rule share.

    A subclass says how it is calibrated (`_calibrate`) and how it weights records
    (`_weighting`).

    Attributes
    ----------
    chosen_ : ndarray of shape (n_rounds,)
        The literal picked in each round, numbered as in
        :mod:`privcurve.kernels.lazybb_rules`.
    model_ : VoteModel
        The ensemble, readable.
    n_features_used_ : int
        Distinct bins that the ensemble asks for.
    n_records_ : int
        Records trained on: the sum of the counts.
    """

    def _calibrate(self, n: int) -> OneRuleNoise:
        raise NotImplementedError

    def _weighting(self) -> tuple[float, float]:
        """Give κ and λ."""
        raise NotImplementedError

    def _fit_batch(
        self,
        learners: Sequence[Self],
        codes: Codes,
        signs: NDArray[np.int8],
        counts: NDArray[np.int64],
        rngs: Sequence[np.random.Generator],
    ) -> None:
        n = int(counts.sum())
        rows = pack(codes, self.n_bins_)
        positive = signs > 0
        n_literals = 2 * int(self.n_bins_.sum()) + 2
        for learner, rng in zip(learners, rngs, strict=True):
            calibrated = learner._calibrate(n)
            density, learning_rate = learner._weighting()
            picks, largest = boost(
                rows,
                positive,
                counts,
                density,
                learning_rate,
                calibrated.rates,
                calibrated.normalise,
                draw_noise(calibrated, n_literals, rng),
            )
            if not largest <= 1 + DENSITY_TOLERANCE:
                raise ArithmeticError(
                    f"internal error in {type(self).__name__}: a record had {largest!r} times "
                    "the weight that the privacy proof allows; the model is withheld. Please "
                    "report this with the parameters."
                )
            learner._adopt(picks, n, calibrated.statement)

    def _adopt(self, picks: NDArray[np.int64], n: int, statement: PrivacyStatement) -> None:
        width = int(self.n_bins_.sum())
        self.chosen_ = picks
        self.n_records_ = n
        self.model_ = VoteModel.from_picks(picks, self.n_bins_)
        self.n_features_used_ = len(np.unique(picks[picks < 2 * width] >> 1))
        self._vote_table, self._vote_offset = vote_table(picks, width)
        self._fitted_statement = statement

    def _scores(self, codes: Codes) -> NDArray[np.float64]:
        starts = np.concatenate([[0], np.cumsum(self.n_bins_)])
        votes = count_votes(codes, starts, self._vote_table, self._vote_offset)
        return votes.astype(np.float64)

    def _statement(self) -> PrivacyStatement:
        return self._fitted_statement


def draw_noise(
    calibrated: OneRuleNoise, n_literals: int, rng: np.random.Generator
) -> NDArray[np.float64] | None:
    """Draw what is added to the scores of all rounds.

    Parameters
    ----------
    calibrated : OneRuleNoise
    n_literals : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n_rounds, n_literals), or None at ε = ∞
    """
    if np.isinf(calibrated.rates).any():
        return None
    return MECHANISMS[calibrated.mechanism].draw(rng, (len(calibrated.rates), n_literals))


class OneRuleClassifier(OneRuleEnsemble):
    """The private 1-rule: the literal of (noisily) least error (thesis, Algorithm 1).

    Parameters
    ----------
    epsilon : float
        ε, above 0; infinite: the best literal.
    delta : float
        0: pure differential privacy.
    calibration : str
        ``certified`` (PRIVACY.md §b) or ``published`` (thesis, Theorem 2.7.2).
    mechanism : str
        ``exponential``, ``permute_and_flip``, or ``auto``: permute-and-flip when
        certified, the exponential mechanism when published.
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
        See :class:`OneRuleEnsemble`.
    privacy_ : PrivacyStatement
    """

    _learner = "one_rule"

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        calibration: str = "certified",
        mechanism: str = "auto",
        n_bins: int | Sequence[int] | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        classes: Sequence[Any] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.calibration = calibration
        self.mechanism = mechanism
        self.n_bins = n_bins
        self.bounds = bounds
        self.classes = classes
        self.random_state = random_state

    def _calibrate(self, n: int) -> OneRuleNoise:
        return one_rule(
            n=n,
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            calibration=self.calibration,
            mechanism=self.mechanism,
        )

    def _weighting(self) -> tuple[float, float]:
        # One round, all records alike: the rate is never used.
        return 1.0, 1.0
