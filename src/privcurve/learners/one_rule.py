"""1-rules: classifiers that test for one bin of one column. They are used alone or as voters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from privcurve.coding import Bools, Codes, Ints, Records, bin_starts
from privcurve.kernels.lazybb_rules import boost, count_votes, vote_table
from privcurve.kernels.packing import PackedRows, pack
from privcurve.learners.base import PrivateClassifier
from privcurve.learners.entries.parameters import MechanismParameters
from privcurve.learners.shared.checks import all_between, require
from privcurve.learners.shared.voting import VotingClassifier, with_weight_check
from privcurve.privacy.calibration.one_rules import OneRuleNoise, lazybb_one_rule
from privcurve.privacy.curator import Curator
from privcurve.privacy.sealed import WHOLE, kernel

# The records' values determine how `pack` groups columns, and so the shapes of its results. So even
# the shapes are secret, and WHOLE seals each result as a whole.
pack_kernel = kernel(pack, rows=WHOLE)
pick_literals = with_weight_check(boost)


class Vote(NamedTuple):
    """The sum of the votes of the 1-rules that test for a bin; rows in other bins get −sum."""

    votes: int
    column: int
    code: int


@dataclass(frozen=True)
class VoteModel:
    """A readable ensemble of 1-rules (thesis, Table 5.3).

    The score of a row is `constant` plus, for each vote, ``votes`` if the row is in the bin and
    ``-votes`` if it is not.
    """

    votes: tuple[Vote, ...]  # bins whose votes do not cancel, the largest absolute sum first
    constant: int  # sum of the votes of the 1-rules that predict one label for all rows
    # The 1-rule (literal) of each round, numbered as in `privcurve.kernels.lazybb_rules`.
    literals: tuple[int, ...]
    n_bins: tuple[int, ...]  # number of bins of each column

    @classmethod
    def from_picks(cls, picks: Ints, n_bins: Ints) -> Self:
        """Return the model of the 1-rules with numbers `picks`, whose votes are added up by bin."""
        starts = bin_starts(n_bins)
        net: Counter[int] = Counter()
        for literal in picks.tolist():
            net[literal >> 1] += 1 - 2 * (literal & 1)
        constant = net.pop(int(starts[-1]), 0)
        columns = np.searchsorted(starts, np.array(list(net), dtype=np.int64), side="right") - 1
        votes = [
            Vote(count, column, b - start)
            for (b, count), column, start in zip(
                net.items(), columns.tolist(), starts[columns].tolist(), strict=True
            )
        ]
        votes.sort(key=lambda v: (-abs(v.votes), v.column, v.code))
        heavy = tuple(v for v in votes if v.votes != 0)
        return cls(heavy, constant, tuple(picks.tolist()), tuple(n_bins.tolist()))

    @property
    def n_rounds(self) -> int:
        """The number of 1-rules."""
        return len(self.literals)

    @property
    def n_features_used(self) -> int:
        """The number of distinct bins that 1-rules test for, including bins whose votes cancel."""
        constant = sum(self.n_bins)
        return len({literal >> 1 for literal in self.literals} - {constant})

    def tally(self, codes: Codes, start: int = 0, stop: int | None = None) -> Ints:
        """Return the sum of the votes of rounds `start` to `stop` (exclusive) for each row."""
        starts = bin_starts(self.n_bins)
        picks = np.array(self.literals[start:stop], dtype=np.int64)
        return count_votes(codes, starts, *vote_table(picks, int(starts[-1])))

    def measures(self) -> dict[str, float]:
        """Return the number of rounds, and the number of distinct bins that 1-rules test for."""
        return {"rounds": self.n_rounds, "bins": self.n_features_used}

    def check(self, n_bins: Ints) -> Ints:
        """Check a model read from a file, and return its picked literals.

        Raises ValueError if a literal tests for a bin that the columns lack, or if the votes differ
        from the votes of the literals.
        """
        picks = np.array(self.literals, dtype=np.int64)
        inside = len(picks) and all_between(picks, 0, 2 * int(n_bins.sum()) + 2)
        require(inside, "it has 1-rules of other columns, or none")
        same = VoteModel.from_picks(picks, n_bins) == self
        require(same, "its votes differ from its 1-rules")
        return picks

    def describe(self, bin_names: Sequence[Sequence[str]] | None = None) -> str:
        """Write the model as a table of votes.

        `bin_names` has a name for each bin of each column, such as ``dataset.domain.bin_names``;
        the default names are like ``column 3 = 5``.
        """
        lines = ["votes  bin"]
        for votes, column, code in self.votes:
            name = f"column {column} = {code}" if bin_names is None else bin_names[column][code]
            lines.append(f"{votes:+5d}  {name}")
        if self.constant or not self.votes:
            lines.append(f"{self.constant:+5d}  always")
        return "\n".join(lines)

    # The text that `print` shows, with the schema's names; empty if the fit had no schema.
    words: ClassVar[str] = ""

    def __str__(self) -> str:
        return self.words or self.describe()


class RuleRows(NamedTuple):
    """The rows that the kernel of 1-rules reads."""

    packed: PackedRows
    positive: Bools
    counts: Ints
    n_literals: int


@dataclass(frozen=True)
class RulePlan:
    """The plan of a fit of boosted 1-rules: density κ, learning rate λ, and calibrated noise."""

    density: float
    learning_rate: float
    noise: OneRuleNoise


class OneRules:
    """1-rules as weak learners, see :class:`~privcurve.learners.shared.voting.WeakLearner`."""

    def prepare(self, records: Records) -> RuleRows:
        """Convert records to the packed rows that the kernel reads."""
        codes, signs, counts, n_bins = records
        return RuleRows(pack_kernel(codes, n_bins), signs > 0, counts, 2 * int(n_bins.sum()) + 2)

    def plan(self, learner: Any, setting: Mapping[str, Any]) -> RulePlan:
        """Return density, learning rate and calibrated noise for a setting."""
        return RulePlan(setting["density"], setting["learning_rate"], lazybb_one_rule(**setting))

    def train(
        self, rows: RuleRows, plan: RulePlan, curator: Curator, begin: Ints | None = None
    ) -> Ints:
        """Choose a literal privately in each round; return the literals, shape (n_rounds,)."""
        calls = plan.noise.calls
        noise = curator.noise(calls, (len(calls), rows.n_literals)) if calls else None
        return pick_literals(
            rows.packed, rows.positive, rows.counts, plan.density, plan.learning_rate,
            plan.noise.rates, plan.noise.normalise, noise, begin,
        )  # fmt: skip

    def attributes(self, released: Ints, n_bins: Ints) -> Mapping[str, Any]:
        """Return the fitted attributes: the chosen literals, and the model of their votes."""
        return {"chosen_": released, "model_": VoteModel.from_picks(released, n_bins)}


ONE_RULES = OneRules()


@dataclass(kw_only=True, eq=False, repr=False)
class OneRuleClassifier(VotingClassifier, PrivateClassifier, MechanismParameters):
    """The private 1-rule: the literal with the smallest noisy error (thesis, Algorithm 1).

    A literal predicts one label in one bin of one column and the other label elsewhere, or one
    label everywhere.

    Parameters
    ----------
    epsilon : float
        ε, above 0; infinite: the best literal.
    delta : float
        δ; 0 for pure differential privacy.
    calibration : str
        ``proved`` (docs/proofs.md, 'LazyBB: 1-rules') or ``published`` (thesis, Theorem
        2.7.2).
    mechanism : str
        ``exponential``, ``permute_and_flip``, or ``auto``: permute-and-flip with ``proved`` and
        δ = 0, else the exponential mechanism.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    chosen_ : ndarray of shape (1,)
        The literal, numbered as in :mod:`privcurve.kernels.lazybb_rules`.
    model_ : VoteModel
        The 1-rule; ``print`` shows it as text.
    n_features_used_, n_records_
        See :class:`~privcurve.learners.shared.voting.VotingClassifier`.
    privacy_ : PrivacyStatement
    """

    _learner = "one_rule"
    _released: ClassVar[Mapping[str, Any]] = {"model_": VoteModel}

    @property
    def _weak_learner(self) -> OneRules:
        return ONE_RULES
