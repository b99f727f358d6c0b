"""Train models to look into: votes, margins and the advantage of each round.

Models are trained on all of a dataset's training part. Where the dataset has a test part they
are, bit for bit, those of the fresh trainings of a study.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from privcurve.datasets import Dataset, distinct
from privcurve.experiments import canonical, metrics
from privcurve.experiments.methods import Method, Point
from privcurve.experiments.results import IncompleteError
from privcurve.experiments.runs import RunIds
from privcurve.experiments.splits import TEST, Part, Split
from privcurve.experiments.study import StudyError
from privcurve.experiments.train import fit_method
from privcurve.learners.lazybb import round_advantages
from privcurve.privacy import seeds
from privcurve.privacy.seeds import Seed

# Stands for the fold of a model that is trained on a dataset without a test part.
WHOLE = "whole"


@dataclass(frozen=True)
class Inspection:
    """A fitted model with the records that it was trained on and those that are unseen."""

    repeat: int  # from 1
    learner: Any  # a fitted learner
    train: Part
    unseen: Part | None  # the dataset's test part, where it has one

    @property
    def of_trees(self) -> bool:
        """Whether the model is made of trees."""
        return hasattr(self.learner.model_, "forest")

    def margins(self, part: Part) -> NDArray[np.float64]:
        """Return the normalised margin y·Σh/τ of each row of a part, in [−1, 1]."""
        model = self.learner.model_
        return np.asarray(
            model.tally(self.learner._code(part.X, fit=False)) * part.y / model.n_rounds
        )

    def advantages(self) -> NDArray[np.float64]:
        """Return the advantage of each round on the records it was trained on."""
        codes = self.learner._code(self.train.X, fit=False)
        return round_advantages(self.learner, codes, self.train.y, self.train.counts)

    def accuracy(self) -> float:
        """Return the accuracy on the unseen records; NaN if there are none."""
        if self.unseen is None:
            return float("nan")
        scores = self.learner.decision_function(self.unseen.X)
        return metrics.accuracy(scores, self.unseen.y, self.unseen.counts)

    def votes(self, bin_names: tuple[tuple[str, ...], ...]) -> list[tuple[int, str]]:
        """Return net votes and the condition they depend on, the heaviest first.

        Of 1-rules a condition that does not hold subtracts its votes; of trees a condition is
        all that leads to a leaf, and where it does not hold it is silent.
        """
        model = self.learner.model_
        if self.of_trees:
            return tree_votes(model, bin_names)
        votes = [(vote.votes, bin_names[vote.column][vote.code]) for vote in model.votes]
        return votes + ([(model.constant, "always")] if model.constant else [])


def tree_votes(model: Any, bin_names: tuple[tuple[str, ...], ...]) -> list[tuple[int, str]]:
    """Return the votes of trees: of each leaf what leads to it; leaves that are alike add up."""
    columns, values = model.columns.tolist(), model.values.tolist()
    totals: Counter[str] = Counter()

    def ask(question: int, answer: bool) -> str:
        threshold, b = divmod(question, len(columns))
        name = bin_names[columns[b]][values[b]]
        if threshold:
            return f"{'up to' if answer else 'above'} [{name}]"
        return name if answer else f"not [{name}]"

    def walk(tree: int, node: int, path: tuple[str, ...]) -> None:
        child = int(model.forest.children[tree, node])
        if child == 0:
            totals[" and ".join(path) or "always"] += int(model.forest.labels[tree, node])
            return
        question = int(model.forest.splits[tree, node])
        walk(tree, child + 1, (*path, ask(question, True)))
        walk(tree, child, (*path, ask(question, False)))

    for tree in range(len(model.forest.splits)):
        walk(tree, 0, ())
    votes = [(votes, condition) for condition, votes in totals.items() if votes]
    return sorted(votes, key=lambda vote: (-abs(vote[0]), -vote[0], vote[1]))


def selected_point(method: Method, selected: pd.DataFrame, dataset: str, epsilon: float) -> Point:
    """Return the point of a method that cross-validation selected on a dataset at one ε.

    `selected` has the columns dataset, arm, epsilon and setting. Raises IncompleteError if nothing
    was selected there, or the method no longer has that setting.
    """
    wanted = canonical.number(epsilon)
    mine = selected[(selected["dataset"] == dataset) & (selected["arm"] == method.name)]
    texts = {
        canonical.number(float(f"{row.epsilon:.12g}")): row.setting for row in mine.itertuples()
    }
    for point in method.points:
        if canonical.number(point.epsilon) == wanted and point.text == texts.get(wanted):
            return point
    raise IncompleteError(
        f"{dataset}, {method.name}: no setting of the study is selected at ε = {wanted}; give the "
        "study this ε, or look for failed runs in its table of selected settings"
    )


def round_by_round(
    dataset: Dataset,
    method: Method,
    epsilon: float,
    setting: dict[str, Any],
    repeats: int,
    seed: Seed,
) -> tuple[list[NDArray[np.float64]], dict[str, list[tuple[NDArray[np.float64], Any]]]]:
    """Train a setting, which need not be in any grid, and look at its rounds and margins.

    The method has learner, calibration and δ. Without noise (ε = ∞) all runs are the same: one is
    made. Return the advantages of each run's rounds; and, for "train" and, where there is a test
    part, "test", the margins and counts of each run.
    """
    point = Point(epsilon, setting, canonical.text(setting))
    advantages = []
    margins: dict[str, list[tuple[NDArray[np.float64], Any]]] = {}
    for model in inspect(dataset, method, point, repeats if np.isfinite(epsilon) else 1, seed):
        advantages.append(model.advantages())
        for name, part in (("train", model.train), ("test", model.unseen)):
            if part is not None:
                margins.setdefault(name, []).append((model.margins(part), part.counts))
    return advantages, margins


def inspect(
    dataset: Dataset, method: Method, point: Point, repeats: int, seed: Seed
) -> Iterator[Inspection]:
    """Train a point of a method of LazyBB, or of a tree, as :func:`train_afresh`; refuse others."""
    if method.learner not in ("lazybb", "topdown"):
        raise StudyError(f"{method.name}: only LazyBB and TopDown trees can be looked into")
    yield from train_afresh(dataset, method, point, repeats, seed)


def train_afresh(
    dataset: Dataset, method: Method, point: Point, repeats: int, seed: Seed
) -> Iterator[Inspection]:
    """Train a point of a method some times, each time with its own noise; yield each in order.

    Raises StudyError if the method trains on a share of the records.
    """
    if method.train_share < 1:
        raise StudyError(
            f"{method.name}: only models of the whole training part can be looked into"
        )
    train = Part(*distinct(dataset.X, dataset.y))
    unseen = None
    if dataset.X_test is not None and dataset.y_test is not None:
        unseen = Part(*distinct(dataset.X_test, dataset.y_test))
    ids = RunIds.on(dataset, dataset.checksum, method, seed)
    for repeat in range(1, repeats + 1):
        run = ids.run(point, Split(WHOLE if unseen is None else TEST, repeat))
        (learner,) = fit_method(dataset, method, [run], train, ids)
        yield Inspection(repeat, learner, train, unseen)


def stream(name: str, dataset: Dataset, seed: Seed) -> np.random.Generator:
    """Return the random stream of a named computation on a dataset."""
    key = {
        "name": name,
        "dataset": dataset.name,
        "checksum": dataset.checksum,
        "seed": seeds.public_name(seed),
    }
    return seeds.generator(seed, canonical.digest(key))
