"""AIM: records drawn from a graphical model of noisy tables, and gradient boosting of these."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from privcurve.coding import Floats, Ints, Records
from privcurve.learners.boosting.graphical import Columns, GraphicalModel
from privcurve.learners.boosting.synthetic import Column, SyntheticClassifier, joint_counts
from privcurve.learners.entries.parameters import AIMParameters
from privcurve.learners.shared.checks import all_between, require
from privcurve.learners.shared.threads import one_thread
from privcurve.privacy.budget import PROVED
from privcurve.privacy.calibration.shares import SharedBudget, mixed_budget
from privcurve.privacy.curator import EXACT, Call, Curator, call_of
from privcurve.privacy.ledger import PrivacyStatement, state
from privcurve.privacy.mechanisms import score_range
from privcurve.privacy.noise import Announced
from privcurve.privacy.sensitivity.counts import feature_histograms_l2, histogram_l1, histogram_l2

COUNTS = "counts of each column by code, and of the labels"
CHOICE = "round {}: choice of columns"
TABLE = "round {}: counts of the chosen columns by their codes"

SOURCE = "docs/proofs.md, 'AIM'"

# The paper's: a budget for so many rounds a column, if noise stayed as it is at first; of each
# round's, so much for its table, and the rest for the choice.
ROUNDS_OF_COLUMN, OF_TABLE = 16, 0.9
# The mean size of a standard Gaussian number.
MEAN_NOISE = math.sqrt(2 / math.pi)

# Steps of mirror descent after each round, and after the last one.
STEPS, LAST_STEPS = 50, 1000


@dataclass(kw_only=True, eq=False, repr=False)
class AIMClassifier(SyntheticClassifier, AIMParameters):
    r"""Gradient boosting of synthetic records, which are drawn from a private graphical model.

    After McKenna, Mullins, Sheldon and Miklau, *AIM: an adaptive and iterative mechanism for
    differentially private synthetic data*, VLDB 2022: Gaussian noise on the counts of each column;
    then rounds, in each of which the exponential mechanism chooses a table of the workload's
    columns that the model of all answers gets wrong by most, beyond what noise would, and Gaussian
    noise is put on it. Where a round told less than noise, the next have half of it, at four times
    the cost; the last has what is left. The model is Private-PGM's
    (:class:`~privcurve.learners.boosting.graphical.GraphicalModel`).

    The workload is the paper's TARGET: all triples of two columns and the label. A table's error
    weighs as many columns as it shares with them, so that tables with the label are chosen first.
    What is learnt from the records that are drawn is scikit-learn's
    `HistGradientBoostingClassifier`. Proof: docs/proofs.md, 'AIM'.

    Parameters
    ----------
    most_cells : int
        How many cells the model's junction tree may have; in a round the part of them that is
        spent of the budget. The paper has ten million (80 MB), and hours.
    neighbours : str
        ``replace-one``; or ``add-remove``, as in the paper: then the number of records is not
        public, and estimated from the first counts.
    n_rounds, most_records, n_groups, ordered, epsilon, delta, calibration
        See :class:`~privcurve.learners.boosting.synthetic.SyntheticClassifier`.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    chosen_ : ndarray of shape (n_tables, 3)
        The columns of each round's table, the label after the others; −1 is none.
    trees_, values_, start_, n_features_used_
        See :class:`~privcurve.learners.boosting.synthetic.SyntheticClassifier`.
    """

    _learner = "aim"
    _released: ClassVar[Mapping[str, Any]] = {"chosen_": Ints, **SyntheticClassifier._released}

    def _fit_one(self, records: Records, curator: Curator) -> PrivacyStatement:
        budget = mixed_budget(float(self.epsilon), float(self.delta), self.neighbours)
        n_columns = len(self.n_bins_) + 1
        counts = feature_histograms_l2(n_columns, self.neighbours)
        announced = Announced(COUNTS, l2=counts, source=SOURCE)
        call = _call(announced, OF_TABLE / ROUNDS_OF_COLUMN, budget, curator)
        with one_thread():
            columns, places, total = self._columns(records, call, curator, -math.inf)
            model = GraphicalModel([column.width for column in columns])
            for k, column in enumerate(columns):
                model.measure((k,), column.counts / total, column.variances * _part(call, total))
            model.fit(STEPS)
            exact = closure(tables_with_label(columns, places, records.counts))
            rounds = Rounds(exact, n_columns, total, model, budget, curator)
            self.chosen_: Ints = rounds.run(int(self.most_cells))
            model.fit(LAST_STEPS)
            drawn = model.draw(self._count_drawn(total), curator.coins)
            self._boost_drawn(columns, drawn, curator.coins)
        return state(
            self._learner,
            epsilon=budget.epsilon,
            delta=budget.delta,
            calibration=self.calibration,
            composition=budget.accountant,
            ledger=curator.ledger,
            status=PROVED,
            neighbours=self.neighbours,
            assumptions=self._assumptions(),
        )

    def _restore(self) -> None:
        inside = self.chosen_.ndim == 2 and self.chosen_.shape[1] == 3
        inside = inside and all_between(self.chosen_, -1, len(self.n_bins_) + 1)
        require(inside, "its tables are of other columns")
        super()._restore()


class Rounds:
    """The rounds of a fit: what each asks, and what the model makes of the answer."""

    def __init__(
        self,
        exact: Mapping[Columns, Floats],
        n_columns: int,
        total: float,
        model: GraphicalModel,
        budget: SharedBudget,
        curator: Curator,
    ) -> None:
        self.exact, self.total, self.model = exact, total, model
        self.budget, self.curator = budget, curator
        self.names = list(exact)
        self.weights = {name: importance(name, n_columns) for name in exact}
        self.share = 1 / (ROUNDS_OF_COLUMN * n_columns)
        self.left = 1 - OF_TABLE / ROUNDS_OF_COLUMN

    def run(self, most_cells: int) -> Ints:
        """Spend the rest of the budget; return the columns that were chosen."""
        chosen: list[Columns] = []
        # Without noise, asking for a table again gains nothing: stop then.
        while self.left > 0 and (self.budget.private or len({*chosen}) == len(chosen)):
            self.curator.report(1 - self.left)
            if self.left <= 2 * self.share:
                self.share = self.left
            self.left -= self.share
            chosen.append(self._round(len(chosen) + 1, (1 - self.left) * most_cells))
        padded = np.full((len(chosen), 3), -1, dtype=np.int64)
        for row, name in zip(padded, chosen, strict=True):
            row[: len(name)] = name
        return padded

    def _round(self, k: int, most_cells: float) -> Columns:
        neighbours, model, total = self.budget.neighbours, self.model, self.total
        counts = histogram_l2(neighbours)
        table = self._call(Announced(TABLE.format(k), l2=counts, source=SOURCE), OF_TABLE)
        places = model.candidates_within(self.names, most_cells)
        candidates = [self.names[place] for place in places]
        fitted = closure(model.tables_with_label())
        scores = [
            self.weights[name]
            * (
                np.abs(self.exact[name] - total * fitted[name]).sum()
                - MEAN_NOISE * table.scale * fitted[name].size
            )
            for name in candidates
        ]
        # A table's distance is 1-Lipschitz in its counts.
        largest = max(self.weights[name] for name in candidates)
        distances = score_range(histogram_l1(neighbours, largest), neighbours)
        announced = Announced(CHOICE.format(k), score_range=distances, source=SOURCE)
        choice = self._call(announced, 1 - OF_TABLE)
        name = candidates[self.curator.choose(choice, scores)]
        noisy = self.curator.numbers(table, self.exact[name])
        model.measure(name, noisy / total, _part(table, total))
        model.fit(STEPS)
        moved = total * float(np.abs(model.table(name) - fitted[name]).sum())
        if moved <= MEAN_NOISE * table.scale * noisy.size:
            # Four times the cost for half of the noise.
            self.share *= 4
        return name

    def _call(self, announced: Announced, part: float) -> Call:
        return _call(announced, part * self.share, self.budget, self.curator)


def _call(announced: Announced, share: float, budget: SharedBudget, curator: Curator) -> Call:
    """Take a share of the budget for a call."""
    curator.spend(announced.what, share)
    return call_of(budget.entry(announced, share)) if budget.private else EXACT


def _part(call: Call, total: float) -> float:
    """Return the variance of a count's noise, as parts of all records; 1 where there is none."""
    if not call.private:
        return 1.0
    deviation = call.scale / total
    return deviation * deviation


def tables_with_label(
    columns: Sequence[Column], places: Sequence[Ints], counts: Ints
) -> dict[Columns, Floats]:
    """Count records by all pairs of columns with the label, and by each column with it."""
    label = len(columns) - 1
    return {
        (*some, label): joint_counts(columns, places, counts, (*some, label))
        for size in (1, 2)
        for some in itertools.combinations(range(label), size)
    }


def closure(tables: Mapping[Columns, Floats]) -> dict[Columns, Floats]:
    """Return all tables of some of the columns of each table, in a fixed order."""
    smaller: dict[Columns, Floats] = {}
    for name in sorted(tables):
        table, (*others, label) = tables[name], name
        smaller[name] = table
        smaller[tuple(others)] = table.sum(axis=-1)
        if len(others) == 1:
            smaller[(label,)] = table.sum(axis=0)
    return smaller


def importance(name: Columns, n_columns: int) -> int:
    """Return how many columns a table shares with those of the workload, all together."""
    label = n_columns - 1
    # Of the pairs of other columns so many have a given one; with one column alone there is one.
    with_one, pairs = max(label - 1, 1), max(label * (label - 1) // 2, 1)
    return pairs * (label in name) + with_one * (len(name) - (label in name))
