"""Train DP bagging: a student learns from noisy votes of teachers, which divide the records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privcurve.coding import Bools, Codes, Floats, Ints, Records, Signs, bin_starts
from privcurve.learners.base import PrivateClassifier
from privcurve.learners.shared.log_odds import OneHotClassifier
from privcurve.learners.shared.tree_sums import places_of
from privcurve.privacy.budget import is_private
from privcurve.privacy.curator import Curator
from privcurve.privacy.noise import Announced
from privcurve.privacy.sealed import kernel, mechanism

from . import Parameters
from .kernel import add_votes

# Sensitivity of a row's margin (positive minus negative votes, divided by the number k of
# partitions). A record is in one part of each partition, so replacing it flips at most k votes, and
# each flipped vote changes the margin by 2/k.
VOTES_MARGIN = 2.0

# A teacher with fewer records would learn nothing, so small tables have fewer teachers.
# The number of teachers depends only on the number of records, which is public.
FEWEST_RECORDS = 10

# Number of passes of a teacher over its records. With more passes its votes hardly change.
N_PASSES = 10

# Name of a mechanism call in the ledger, with the number of the answer.
ANSWER = "answer {} of the teachers"
SOURCE = "papers/thesis/proofs.md, 'DP bagging'"


@kernel
def collect_votes(
    codes: Codes, signs: Signs, order: Ints, ends: Ints, bin_starts: Ints, pool: Codes
) -> Ints:
    """Train the teachers of one partition, and return the sum of their votes on each row of `pool`.

    A vote is 1 or −1. `order` and `ends` divide the records among the teachers (:func:`add_votes`).
    """
    votes = np.zeros(len(pool), dtype=np.int64)
    add_votes(codes, signs, order, ends, bin_starts, N_PASSES, pool, votes)
    return votes


@mechanism
def answer_by_sign(noise: Floats, scores: Floats) -> Bools:
    """Return whether each noisy score is above 0; `noise` is overwritten by the noisy scores."""
    noise += scores
    return noise > 0


@dataclass(kw_only=True, eq=False, repr=False)
class DPBaggingClassifier(OneHotClassifier, PrivateClassifier, Parameters):
    """A student that learns from noisy votes of teachers (Jordon, Yoon and van der Schaar 2019).

    The learner divides the records at random into `n_teachers` parts, `n_partitions` times, and
    trains a teacher (a logistic model) on each part. All teachers vote on a pool of `n_queries`
    rows, which are drawn from the domain with equal probabilities of the bins of a column. The
    answer about a row is the noisy majority of the votes. The student, a logistic regression, is
    trained on the pool with these answers, so it reads no record.

    A record is in one part of each partition, so in each partition it affects one of `n_teachers`
    votes. The sensitivity of the mean vote over the partitions is therefore the same for any number
    of partitions. The accounting uses only this fact, not the votes. The paper's moments
    accountants, in which ε depends on the votes, are not supported (docs/research/competitors.md).

    At ε = ∞ the answers have no noise, and partitions and pool come from a fixed seed, so that a
    fit is deterministic.

    Parameters
    ----------
    n_teachers : int
        Number of parts of a partition (the paper's n). It is reduced if a part would have fewer
        than ten records.
    n_partitions : int
        k, the number of partitions.
    n_queries : int
        Number of rows in the pool.
    C : float
        Inverse strength of the student's L2 penalty.
    epsilon : float
        ε, above 0. At ∞ there is no noise.
    delta : float
        With δ = 0 each answer is the sign of the mean vote plus Laplace noise. With δ > 0 the noise
        is logistic, which costs less in the composition of all answers.
    calibration : str
        ``proved``.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_bins.sum(),)
        Coefficients of the student, for the columns after one-hot encoding.
    intercept_ : float
    n_features_used_ : int
        Number of nonzero coefficients.
    n_records_ : int
        Number of training records. It is public, because it is equal for replace-one neighbours.
    """

    _learner = "dp_bagging"

    def _calls(self, n: int) -> tuple[Announced, ...]:
        return (Announced(ANSWER, times=int(self.n_queries), margins=VOTES_MARGIN, source=SOURCE),)

    def _release(self, records: Records, curator: Curator) -> None:
        private = is_private(self.epsilon)
        coins = curator.coins if private else np.random.default_rng(0)
        drawn = coins.integers(self.n_bins_, size=(int(self.n_queries), len(self.n_bins_)))
        pool = drawn.astype(records.codes.dtype)
        margins = self._poll(records, pool, curator.shuffle if private else coins.permutation)
        if private:
            calls = [curator.call(ANSWER.format(q)) for q in range(1, len(pool) + 1)]
            positive = answer_by_sign(curator.noise(calls, margins.shape), margins / calls[0].scale)
        else:
            positive = margins > 0
        self._regress(pool, np.where(positive, 1, -1).astype(np.int8), np.ones(len(pool), int))
        self.n_records_ = records.n

    def _poll(self, records: Records, pool: Codes, shuffled: Callable[[Ints], Ints]) -> Floats:
        """Return the mean over the partitions of the sum of votes on each row of the pool.

        `shuffled` is a function that returns a random permutation of its argument.
        """
        n_partitions = int(self.n_partitions)
        n_teachers = max(1, min(int(self.n_teachers), records.n // FEWEST_RECORDS))
        starts = bin_starts(self.n_bins_)
        share = np.arange(1, n_teachers + 1) / n_teachers
        ends = np.rint(records.n * share).astype(np.int64)
        codes, signs, counts, _ = records
        places = places_of(counts)
        votes = np.zeros(len(pool), dtype=np.int64)
        for _ in range(n_partitions):
            order = shuffled(places)
            votes = votes + collect_votes(codes, signs, order, ends, starts, pool)
        return votes / n_partitions
