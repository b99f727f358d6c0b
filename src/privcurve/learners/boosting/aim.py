"""AIM: gradient boosting of synthetic records, drawn from a graphical model of noisy tables."""

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
from privcurve.privacy.noise import Announced
from privcurve.privacy.sensitivity.counts import feature_histograms_l2, histogram_l1, histogram_l2

COUNTS = "counts of each column by code, and of the labels"
CHOICE = "round {}: choice of columns"
TABLE = "round {}: counts of the chosen columns by their codes"

SOURCE = "docs/proofs.md, 'AIM'"

# Constants of the paper. If the noise stayed as in the first round, the budget would last for
# ROUNDS_OF_COLUMN · (number of columns) rounds. Of a round's budget, the share OF_TABLE pays for
# the release of a table, and the rest for the choice of this table.
ROUNDS_OF_COLUMN, OF_TABLE = 16, 0.9
# The mean absolute value of a standard Gaussian number.
MEAN_NOISE = math.sqrt(2 / math.pi)

# Steps of mirror descent after each round, and after the last one.
STEPS, LAST_STEPS = 50, 1000


@dataclass(kw_only=True, eq=False, repr=False)
class AIMClassifier(SyntheticClassifier, AIMParameters):
    r"""Gradient boosting of synthetic records, which are drawn from a private graphical model.

    The method is by McKenna, Mullins, Sheldon and Miklau, *AIM: an adaptive and iterative mechanism
    for differentially private synthetic data*, VLDB 2022. First it releases the counts of each
    column with Gaussian noise. Then, in each round, the exponential mechanism chooses a table of
    some columns whose error in the present model is large, compared with the error that noise would
    cause; the table is released with Gaussian noise, and the model is fitted again. If a table
    changes the model by less than noise would, later rounds get half of the noise, at four times
    the cost. The last round spends the rest of the budget. The model is
    :class:`~privcurve.learners.boosting.graphical.GraphicalModel` (Private-PGM).

    The workload is the paper's TARGET: all triples of two columns and the label. The error of a
    table is weighted by the number of columns that it shares with the workload's tables, so that
    tables with the label are chosen first. Finally, scikit-learn's `HistGradientBoostingClassifier`
    is trained on records drawn from the model. Proof: docs/proofs.md, 'AIM'.

    Parameters
    ----------
    most_cells : int
        Maximum number of cells of the model's junction tree. The limit grows with the spent budget:
        after a round that brings the spent share of the budget to s, the tree has at most s ·
        `most_cells` cells. The paper allows ten million cells (80 MB), which takes hours.
    neighbours, n_rounds, most_records, n_groups, ordered, epsilon, delta, calibration
        See :class:`~privcurve.learners.boosting.synthetic.SyntheticClassifier`.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    chosen_ : ndarray of shape (n_tables, 3)
        The columns of the table that each round chose, the label last; −1 fills rows of tables with
        fewer columns. The label's position is the number of columns.
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
    """The rounds of a fit: each releases the table of some columns and fits the model again.

    Parameters
    ----------
    exact : mapping
        The exact counts of all tables that a round may choose, by their columns.
    n_columns : int
        Number of columns, including the label.
    total : float
        The public or estimated number of records.
    model : GraphicalModel
        The model, already fitted to the counts of single columns.
    budget : SharedBudget
    curator : Curator
    """

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
        """Run rounds until the budget is spent, and return the columns of the chosen tables.

        The result has shape (n_rounds, 3); see `AIMClassifier.chosen_`.
        """
        chosen: list[Columns] = []
        # Without noise there is no budget to spend: stop as soon as a table is chosen again.
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
        # A score is its weight times a 1-Lipschitz function (L1) of a table's counts, so `largest`
        # times the L1 sensitivity of the counts bounds the sensitivity of all scores.
        largest = max(self.weights[name] for name in candidates)
        distances = 2 * histogram_l1(neighbours, largest)
        announced = Announced(CHOICE.format(k), score_range=distances, source=SOURCE)
        choice = self._call(announced, 1 - OF_TABLE)
        name = candidates[self.curator.choose(choice, scores)]
        noisy = self.curator.numbers(table, self.exact[name])
        model.measure(name, noisy / total, _part(table, total))
        model.fit(STEPS)
        moved = total * float(np.abs(model.table(name) - fitted[name]).sum())
        if moved <= MEAN_NOISE * table.scale * noisy.size:
            # The table was mostly noise. Halve the noise of later rounds, at four times the cost.
            self.share *= 4
        return name

    def _call(self, announced: Announced, part: float) -> Call:
        return _call(announced, part * self.share, self.budget, self.curator)


def _call(announced: Announced, share: float, budget: SharedBudget, curator: Curator) -> Call:
    """Spend a share of the budget on a call, and return the call with its noise."""
    curator.spend(announced.what, share)
    return call_of(budget.entry(announced, share)) if budget.private else EXACT


def _part(call: Call, total: float) -> float:
    """Return the variance of the noise of a count, after the count is divided by `total`.

    If the call has no noise, return 1, so that all counts weigh the same.
    """
    if not call.private:
        return 1.0
    deviation = call.scale / total
    return deviation * deviation


def tables_with_label(
    columns: Sequence[Column], places: Sequence[Ints], counts: Ints
) -> dict[Columns, Floats]:
    """Return the joint tables of the label with each column, and with each pair of columns.

    For each column, `places` has the merged bin of each row; `counts` has the number of records of
    each row.
    """
    label = len(columns) - 1
    return {
        (*some, label): joint_counts(columns, places, counts, (*some, label))
        for size in (1, 2)
        for some in itertools.combinations(range(label), size)
    }


def closure(tables: Mapping[Columns, Floats]) -> dict[Columns, Floats]:
    """Return `tables`, the same tables summed over the label, and the table of the label alone.

    A given table has the label and one or two other columns. The order of the result is fixed.
    """
    smaller: dict[Columns, Floats] = {}
    for name in sorted(tables):
        table, (*others, label) = tables[name], name
        smaller[name] = table
        smaller[tuple(others)] = table.sum(axis=-1)
        if len(others) == 1:
            smaller[(label,)] = table.sum(axis=0)
    return smaller


def importance(name: Columns, n_columns: int) -> int:
    """Return the sum, over the workload's tables, of the number of columns shared with `name`.

    The workload has a table for each pair of columns, together with the label.
    """
    label = n_columns - 1
    # `with_one` is the number of pairs that contain a given column, `pairs` the number of pairs.
    # With only one column, the workload is the table of this column and the label.
    with_one, pairs = max(label - 1, 1), max(label * (label - 1) // 2, 1)
    return pairs * (label in name) + with_one * (len(name) - (label in name))
