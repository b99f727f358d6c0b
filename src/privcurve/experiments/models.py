"""Train models of a study again, to inspect them.

Models are trained on a dataset's entire training part. If the dataset has a test part, the fresh
trainings of a study use the same records and random numbers, so that the models are bit for bit the
same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from privcurve.analysis import measures
from privcurve.analysis.keys import short_text
from privcurve.coding import Records
from privcurve.datasets import Dataset
from privcurve.experiments import canonical
from privcurve.experiments.methods import Method, Point
from privcurve.experiments.results import IncompleteError
from privcurve.experiments.runs import RunIds
from privcurve.experiments.splits import TEST, Split, distinct_records
from privcurve.experiments.study import StudyError
from privcurve.experiments.train import fit_method
from privcurve.privacy import seeds
from privcurve.privacy.seeds import Seed

# Stands in place of a fold in the id of a model that is trained on all records of a dataset
# without a test part.
WHOLE = "whole"


class Inspection(NamedTuple):
    """A fitted model, its training records, and unseen records."""

    repeat: int  # number of the training, from 1
    learner: Any
    train: Records
    unseen: Records | None  # the dataset's test part; None if the dataset has none

    def accuracy(self) -> float:
        """Return the accuracy on the unseen records; NaN without unseen records."""
        if self.unseen is None:
            return float("nan")
        scores = self.learner.decision_function(self.unseen.codes)
        return measures.accuracy(scores, self.unseen.labels, self.unseen.counts)


def selected_point(method: Method, selected: pd.DataFrame, dataset: str, epsilon: float) -> Point:
    """Return the point whose setting a study selected for a method on a dataset at `epsilon`.

    `selected` has the columns dataset, method, epsilon and setting. Raises IncompleteError if it
    has no setting for this ε, or if the method no longer has that setting.
    """
    at = short_text(epsilon)
    rows = selected[(selected["dataset"] == dataset) & (selected["method"] == method.name)]
    texts = dict(zip(map(short_text, rows["epsilon"]), rows["setting"], strict=True))
    for point in method.points:
        if short_text(point.epsilon) == at and point.text == texts.get(at):
            return point
    raise IncompleteError(
        f"{dataset}, {method.name}: no setting of the study is selected at ε = {at}; add this ε "
        "to the study, or look for failed runs in its table of selected settings"
    )


def train_afresh(
    dataset: Dataset, method: Method, point: Point, repeats: int, seed: Seed
) -> Iterator[Inspection]:
    """Train a method at a point `repeats` times, each time with other noise; yield each model.

    Raises StudyError if the method trains on a share of the training part only.
    """
    if method.train_share < 1:
        raise StudyError(f"{method.name}: only models of the entire training part can be inspected")
    train = distinct_records(dataset.domain, dataset.X, dataset.y)
    unseen = None
    if dataset.X_test is not None and dataset.y_test is not None:
        unseen = distinct_records(dataset.domain, dataset.X_test, dataset.y_test)
    ids = RunIds(dataset, dataset.checksum, method, seed)
    for repeat in range(1, repeats + 1):
        run = ids.run(point, Split(WHOLE if unseen is None else TEST, repeat))
        (learner,) = fit_method(dataset, method, [run], train, ids)
        yield Inspection(repeat, learner, train, unseen)


def stream(name: str, dataset: Dataset, seed: Seed) -> np.random.Generator:
    """Return the random stream that the computation called `name` uses on a dataset."""
    key = {"name": name, "dataset": dataset.name, "checksum": dataset.checksum}
    return seeds.generator(seed, canonical.digest({**key, "seed": seeds.public_name(seed)}))
