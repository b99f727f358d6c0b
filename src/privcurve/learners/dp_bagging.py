"""Private bagging: teachers on the parts of several partitions answer a student."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privcurve.coding import Codes, Records, bin_starts
from privcurve.kernels.dp_bagging import add_votes
from privcurve.learners.checks import RandomState
from privcurve.learners.log_odds import OneHotClassifier
from privcurve.privacy.budget import CERTIFIED, is_private
from privcurve.privacy.calibration.dp_bagging import BaggingNoise, bagging
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.mechanisms import MECHANISMS

# A teacher of fewer records knows nothing: small data get fewer teachers. Their number is
# public, as the number of records is.
FEWEST_RECORDS = 10

# Passes of a teacher over its records: more change its votes little.
N_PASSES = 10


class DPBaggingClassifier(OneHotClassifier):
    """A student of teachers that vote with noise (Jordon, Yoon and van der Schaar 2019).

    The records are divided at random into ``n_teachers`` parts, ``n_partitions`` times;
    each part trains a teacher, a logistic model. A pool of ``n_queries`` rows, drawn from the
    domain (each code of each column alike), is put to all teachers, and the noisy majority of
    their votes is the answer. A logistic regression of the answers on the pool is the model:
    it sees no record.

    A record is in one part of each partition, so it holds one vote of ``n_teachers``,
    however many partitions there are. The accounting uses that and nothing of the data;
    the paper's moments accountants, whose ε depends on the votes, are not offered (see
    docs/competitors.md).

    At ε = ∞ answers are exact, and partitions and pool come from a fixed seed, so that
    there is no randomness left.

    Parameters
    ----------
    n_teachers : int
        Parts of a partition (the paper's n); fewer if a part would have less than ten
        records.
    n_partitions : int
        k.
    n_queries : int
        Rows that the teachers are asked about.
    C : float
        Inverse strength of the student's L2 penalty.
    epsilon : float
        Privacy level; inf for no noise.
    delta : float
        0: Laplace noise on the votes. Above 0: randomised answers, whose costs add up
        more slowly.
    calibration : str
        ``certified``.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_bins.sum(),)
        Of the student, for the one-hot coded columns.
    intercept_ : float
    n_features_used_ : int
        Number of coefficients that are not zero.
    n_records_ : int
        Records trained on: the sum of the counts. Public, for neighbours have equally many.
    """

    _learner = "dp_bagging"

    def __init__(
        self,
        n_teachers: int = 300,
        n_partitions: int = 10,
        n_queries: int = 300,
        C: float = 1.0,
        epsilon: float = 1.0,
        delta: float = 0.0,
        calibration: str = CERTIFIED,
        n_bins: int | Sequence[int] | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        classes: Sequence[Any] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_teachers = n_teachers
        self.n_partitions = n_partitions
        self.n_queries = n_queries
        self.C = C
        self.epsilon = epsilon
        self.delta = delta
        self.calibration = calibration
        self.n_bins = n_bins
        self.bounds = bounds
        self.classes = classes
        self.random_state = random_state

    def _fit_one(self, records: Records, curator: Curator) -> PrivacyStatement:
        codes, signs, counts, _ = records
        rng = curator.coins
        if not is_private(self.epsilon):
            rng = np.random.default_rng(0)
        places = np.repeat(np.arange(len(signs)), counts)
        n_queries = int(self.n_queries)
        noise = bagging(n_queries=n_queries, epsilon=float(self.epsilon), delta=float(self.delta))
        drawn = rng.integers(self.n_bins_, size=(n_queries, codes.shape[1]))
        pool = drawn.astype(codes.dtype)
        margins = self._margins(codes, signs, places, pool, rng)
        self._train_student(pool, _answer(margins, noise, rng))
        self.n_records_ = int(counts.sum())
        return noise.statement

    def _train_student(self, pool: Codes, answers: NDArray[np.int8]) -> None:
        self._regress(pool, answers)

    def _margins(
        self,
        codes: Codes,
        signs: NDArray[np.int8],
        records: NDArray[np.int64],
        pool: Codes,
        rng: np.random.Generator,
    ) -> NDArray[np.float64]:
        """Give, for each row of the pool, votes for + less votes for −, divided by k."""
        n_partitions = int(self.n_partitions)
        n_teachers = max(1, min(int(self.n_teachers), len(records) // FEWEST_RECORDS))
        starts = bin_starts(self.n_bins_)
        share = np.arange(1, n_teachers + 1) / n_teachers
        ends = np.rint(len(records) * share).astype(np.int64)
        votes = np.zeros(len(pool), dtype=np.int64)
        for _ in range(n_partitions):
            order = rng.permutation(records)
            add_votes(codes, signs, order, ends, starts, N_PASSES, pool, votes)
        return votes / n_partitions


def _answer(
    margins: NDArray[np.float64], noise: BaggingNoise, rng: np.random.Generator
) -> NDArray[np.int8]:
    """Give the noisy majority of the votes on each row."""
    noisy = margins
    if np.isfinite(noise.rate):
        noisy = margins + MECHANISMS[noise.mechanism].draw(rng, margins.shape, 1 / noise.rate)
    return np.where(noisy > 0, 1, -1).astype(np.int8)
