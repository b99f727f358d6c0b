"""Calibrate the noise of distributed trees to a budget (ε, δ), as proved and as published."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from privcurve.coding import Floats
from privcurve.privacy.accountants.compose import BASIC
from privcurve.privacy.accountants.cost import BOUNDED_RANGE_KIND, GAUSSIAN_KIND, Cost
from privcurve.privacy.budget import PUBLISHED, check_budget, is_private
from privcurve.privacy.calibration.holders import (
    FOLLOWED,
    NOT_DROPOUTS,
    SIZES,
    WHERE,
    holders_statement,
)
from privcurve.privacy.calibration.search import calibrate
from privcurve.privacy.ledger import CLAIMED, REFUTED, LedgerEntry, PrivacyStatement, state
from privcurve.privacy.mechanisms import EXPONENTIAL, GAUSSIAN, LAPLACE
from privcurve.privacy.noise import Announced, freeze
from privcurve.privacy.sensitivity.counts import (
    feature_histograms_l1,
    feature_histograms_l2,
)
from privcurve.privacy.sensitivity.impurity import (
    distributed_split_published,
    split_sensitivity,
)

SINGLE = "single"
NOISY_COUNTS = "noisy_counts"
LOCAL_RNM = "local_rnm"

DECAY = "decay"
UNIFORM = "uniform"
LEVELS = "levels"

NODES = "the nodes of a tree's level, and the parties"


def noisy_counts_published(n_candidates: int) -> float:
    """Return the L1 sensitivity 3|H| that the paper publishes for its NoisyCounts.

    |H| is `n_candidates`, the number of questions. The sensitivity is correct for add-remove
    neighbours, but replace-one neighbours need 6|H|. Source: papers/distributed/proofs.md,
    'NoisyCounts'.
    """
    return 3.0 * n_candidates


@dataclass(frozen=True)
class LevelNoise:
    """The proved noise of a tree that grows level by level. Its arrays are read-only."""

    # (n_levels,): for each level, the range (largest minus smallest value) of the privacy loss of
    # the parties' votes. If δ = 0, it is the ε of the votes. It is 0 without votes, and ∞ at ε = ∞.
    ranges: Floats
    # (n_levels,): for each level, the ε of the histograms if they get Laplace noise, or their
    # sensitivity divided by σ if they get Gaussian noise.
    amounts: Floats
    mechanism: str  # `laplace` or `gaussian`
    statement: PrivacyStatement

    @property
    def votes(self) -> bool:
        """Whether the parties vote for columns."""
        return bool(self.ranges[0] > 0)

    def vote_rate(self, level: int, size: int, criterion: str) -> float:
        """Return the factor by which a party multiplies the scores of its votes on a level.

        `size` is the party's number of records. The factor is 0 if no record can change a score.
        """
        if math.isinf(self.ranges[level]):
            return math.inf
        change = 2 * split_sensitivity(max(size, 1), criterion)
        return float(self.ranges[level]) / change if change else 0.0

    def vote_what(self, level: int) -> str:
        """Return the name of the ledger's entry for the votes of a level; empty at ε = ∞."""
        ledger = self.statement.ledger
        return ledger[2 * level].what if ledger else ""

    def counts_what(self, level: int) -> str:
        """Return the name of the ledger's entry for the histograms of a level; empty at ε = ∞."""
        ledger = self.statement.ledger
        return ledger[(2 if self.votes else 1) * (level + 1) - 1].what if ledger else ""

    def counts_scale(self, level: int, n_columns: int) -> float:
        """Return the noise scale of the counts of a node, for histograms of `n_columns` columns."""
        amount = float(self.amounts[level])
        return histograms_sensitivity(n_columns, self.mechanism) / amount


def histograms_sensitivity(n_columns: int, mechanism: str) -> float:
    """Return the sensitivity of the histograms of `n_columns` columns together.

    It is in the L1 norm for Laplace noise, and in the L2 norm for Gaussian noise.
    """
    if mechanism == LAPLACE:
        return feature_histograms_l1(n_columns)
    return feature_histograms_l2(n_columns)


@lru_cache(maxsize=256)
def level_holders(
    *,
    depth: int,
    votes: bool,
    vote_share: float,
    budget: str,
    criterion: str,
    n: int,
    n_columns: int,
    epsilon: float,
    delta: float,
    trust: str,
    n_colluding: int,
) -> LevelNoise:
    """Calibrate the noise of a tree that grows by levels (papers/distributed/proofs.md, 'Levels').

    Each level has a share of the budget: equal shares (``levels``) or in proportion to 2^−d
    (``decay``). The histograms of a level and, with `votes`, the votes for columns divide the
    level's budget. The budget is ε with Laplace noise if δ = 0, else ρ (zCDP) with Gaussian noise.

    Parameters
    ----------
    depth : int
        Number of levels of splits.
    votes : bool
        Whether parties vote for columns.
    vote_share, budget, criterion, trust, n_colluding
        See :class:`~.classifier.DistributedTopDownClassifier`.
    n : int
        Number of records of the largest party; it determines the sensitivity in the ledger.
    n_columns : int
        Number of columns. Without `votes`, each of them gets a histogram.
    epsilon, delta : float
        The budget.
    """
    check_budget(epsilon, delta)
    if budget == UNIFORM:
        raise ValueError(
            f"budget must be {LEVELS!r} or {DECAY!r} for calibration='proved'; got {UNIFORM!r}"
        )
    mechanism = LAPLACE if delta == 0 else GAUSSIAN
    share = vote_share if votes else 0.0
    if not is_private(epsilon):
        no_noise, no_votes = freeze(np.full(depth, math.inf)), freeze(np.zeros(depth))
        statement = PrivacyStatement.not_private("distributed_topdown")
        return LevelNoise(no_noise if votes else no_votes, no_noise, mechanism, statement)
    weights = np.ones(depth) if budget == LEVELS else 2.0 ** -np.arange(depth)
    weights /= weights.sum()
    if delta == 0:
        ranges, amounts = share * epsilon * weights, (1 - share) * epsilon * weights
        accountant = BASIC
    else:
        # Split ρ (zCDP): a choice of range r costs r²/8; Gaussian noise with a = sensitivity/σ
        # costs a²/2.
        ranges, amounts = np.sqrt(8 * share * weights), np.sqrt(2 * (1 - share) * weights)
        costs = [Cost(GAUSSIAN_KIND, float(amount)) for amount in amounts]
        costs += [Cost(BOUNDED_RANGE_KIND, float(length)) for length in ranges if votes]
        scale, accountant = calibrate(tuple(costs), epsilon, delta)
        ranges, amounts = ranges * scale, amounts * scale
    counted = "all columns"
    if votes:
        grows = "variance" if delta else "scale"
        counted = f"each voted column (of c of them: c times the {grows})"
    ledger: list[LedgerEntry] = []
    for level in range(depth):
        if votes:
            last = level == depth - 1
            bound = split_sensitivity(max(n, 2), "zero_one" if last else criterion)
            what = f"level {level + 1}: votes of a party at all nodes, by its number of records"
            call = Announced(
                what, score_range=2 * bound, by=EXPONENTIAL, calls=2**level, parallel=NODES,
                source="papers/distributed/proofs.md, 'Levels'",
            )  # fmt: skip
            ledger += call.entries(float(ranges[level]), delta == 0)
        bound = histograms_sensitivity(1 if votes else n_columns, mechanism)
        what = f"level {level + 1}: histograms of {counted}, all nodes"
        call = Announced(
            what, l1=bound, l2=bound, calls=2**level, parallel=NODES,
            source="papers/distributed/proofs.md, 'Levels'",
        )  # fmt: skip
        ledger += call.entries(float(amounts[level]), delta == 0)
    statement = holders_statement(
        "distributed_topdown", epsilon, delta, accountant, ledger, trust, n_colluding
    )
    return LevelNoise(freeze(ranges), freeze(amounts), mechanism, statement)


# Distributed trees, as published -------------------------------------------------------------


@dataclass(frozen=True)
class PublishedNoise:
    """The noise of the paper's Algorithm 1, with claimed and true guarantee in `statement`.

    In the paper's notation, `epsilon` is α, `leaf_share` is LPF, and `n_splits` is M.
    """

    protocol: str
    epsilon: float
    leaf_share: float
    budget: str
    n_splits: int
    statement: PrivacyStatement

    def level(self, depth: int) -> float:
        """Return the budget a_d = (1 − LPF)·α·B(d) of a node at depth d; the root has depth 1.

        α is ε, and LPF is the share of ε for leaves. B(d) is 2^−d with budget ``decay``, and 1/M
        for M splits with ``uniform``.
        """
        share = 2.0**-depth if self.budget == DECAY else 1 / self.n_splits
        return (1 - self.leaf_share) * self.epsilon * share

    def split_budget(self, depth: int) -> float:
        """Return the budget α′ for the split of a node at depth d: a_1 at the root, else a_d/2.

        a_d is the budget of the node (:meth:`level`).
        """
        return self.level(depth) if depth == 1 else self.level(depth) / 2

    def weight_scale(self, depth: int) -> float:
        """Return the noise scale 2/a_d of the number of records of a node at depth d.

        a_d is the budget of the node (:meth:`level`).
        """
        return 2 / self.level(depth)

    def families_scale(self, budget: float, n_questions: int) -> float:
        """Return the noise scale 3|H|/α′ of the paper's NoisyCounts, for |H| = `n_questions`.

        α′ is `budget`. Elsewhere the paper prints another scale, which is a typo: see A3 in
        :class:`~.classifier.DistributedTopDownClassifier`.
        """
        return noisy_counts_published(n_questions) / budget

    @property
    def label_scale(self) -> float:
        """Noise scale of a leaf's counts of labels: 2/(LPF·α) on one machine, else 1/(LPF·α).

        α is ε, and LPF is the share of ε for leaves.
        """
        return (2 if self.protocol == SINGLE else 1) / (self.leaf_share * self.epsilon)


@lru_cache(maxsize=256)
def published_holders(
    *,
    protocol: str,
    criterion: str,
    budget: str,
    leaf_share: float,
    n_splits: int,
    epsilon: float,
    delta: float,
) -> PublishedNoise:
    """Return the noise of a published protocol; its statement has the true status of the claim.

    Of the budget (1 − `leaf_share`) · `epsilon` for splits, a node at depth d gets the share 2^−d
    (``decay``) or 1/`n_splits` (``uniform``). Raises ValueError if δ > 0, or if the paper has
    no formula for these arguments.
    """
    check_budget(epsilon, delta)
    if delta > 0:
        raise ValueError(
            "delta must be 0 for the published calibration of distributed trees: use "
            "calibration='proved'"
        )
    if budget == LEVELS:
        raise ValueError(
            f"budget must be {DECAY!r} or {UNIFORM!r} for calibration='published'; got {LEVELS!r}"
        )
    if protocol != NOISY_COUNTS:
        distributed_split_published(2, criterion)
    statement = PrivacyStatement.not_private("distributed_topdown")
    if is_private(epsilon):
        statement = _published_statement(protocol, budget, leaf_share, n_splits, epsilon)
    return PublishedNoise(protocol, epsilon, leaf_share, budget, n_splits, statement)


# Maps each published protocol to the status of its claim for replace-one neighbours, the caveat in
# the statement, and the ratio of the proved to the claimed ε (None if no ε is proved).
_CAVEATS = {
    SINGLE: (
        REFUTED,
        "noise is scaled by the exact number of records of a node, nodes of fewer than two "
        "records show, and the noisy maximum is released beside the question "
        "(papers/distributed/proofs.md, 'Local scale' and 'Noisy maximum')",
        math.inf,
    ),
    NOISY_COUNTS: (
        REFUTED,
        "counts have the noise for an added record, whose number would then not be public; a "
        "replaced one costs twice as much (papers/distributed/proofs.md, 'NoisyCounts')",
        2.0,
    ),
    LOCAL_RNM: (
        CLAIMED,
        "counts and labels have the noise for an added record, and the noise of votes is scaled "
        "by the exact number of a party's records in a node (papers/distributed/proofs.md, "
        "'Published noise' and 'Local scale')",
        None,
    ),
}


def _published_statement(
    protocol: str, budget: str, leaf_share: float, n_splits: int, epsilon: float
) -> PrivacyStatement:
    growth = (1 - leaf_share) * epsilon
    level = growth / 2 if budget == DECAY else growth / n_splits
    weights = (growth - level) / 2
    # The ledger's sensitivity. With ``single`` the sensitivity Δ(m) of a gain depends on the secret
    # number m of a node's records, so the ledger states it in units of Δ(m).
    bound = 2.0 if protocol == SINGLE else noisy_counts_published(1)
    ledger = [
        LedgerEntry(
            LAPLACE,
            f"questions and gains of all nodes ({protocol}): the root has {level:.4g}, the "
            f"levels below half of their budgets ({budget}); the rate is that of the root, for "
            + ("a gain" if protocol == SINGLE else "one question"),
            level / bound,
            bound,
            growth - weights,
            source="the paper's Algorithm 1 and Theorem 15; not so: "
            "papers/distributed/proofs.md, 'Noisy maximum', 'Local scale' and 'NoisyCounts'",
        ),
        LedgerEntry(
            LAPLACE,
            "labels of all leaves",
            leaf_share * epsilon / (2 if protocol == SINGLE else 1),
            2.0 if protocol == SINGLE else 1.0,
            leaf_share * epsilon,
            source="the paper's Corollary 16",
        ),
    ]
    if weights > 0:
        ledger.append(
            LedgerEntry(
                LAPLACE,
                "weights of all nodes below the root: half of the budget of each level",
                level / 4,
                2.0,
                weights,
                source="the paper's Algorithm 1, line 10; a replaced record costs twice that: "
                "papers/distributed/proofs.md, 'Published noise'",
            )
        )
    status, caveat, factor = _CAVEATS[protocol]
    if budget == UNIFORM:
        over = (n_splits + 1) / n_splits
        factor = None if factor is None else factor * over
        caveat += f"; and a chain of {n_splits} splits spends {over:.4g} times the budget"
    alone = protocol == SINGLE
    return state(
        "distributed_topdown",
        epsilon=epsilon,
        delta=0.0,
        calibration=PUBLISHED,
        composition=BASIC,
        ledger=ledger,
        assumptions=() if alone else (SIZES, WHERE, FOLLOWED),
        exclusions=() if alone else (NOT_DROPOUTS,),
        status=status,
        caveat=caveat,
        proved_epsilon=None if factor is None else factor * epsilon,
    )
