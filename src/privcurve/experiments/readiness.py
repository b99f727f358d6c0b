"""Check before any training whether a study can be trained on an encoded dataset."""

from __future__ import annotations

import numpy as np

from privcurve.analysis.measures import CHANCES, MEASURES
from privcurve.datasets import Dataset, PartedDataset, check_folds
from privcurve.experiments.metrics import fits_log_odds
from privcurve.experiments.splits import Splitter, labels_for_folds
from privcurve.experiments.study import Study
from privcurve.learners import registry


def _check_persons(dataset: Dataset | PartedDataset) -> None:
    """Raise ValueError if a person has records in the training part and in the test part."""
    if dataset.persons is None or dataset.persons_test is None:
        return
    both = np.intersect1d(dataset.persons, dataset.persons_test).size
    if both:
        raise ValueError(
            f"no person may have records both in the training part and in the test part; {both:,} "
            "persons have. Take all records for both parts (records: {parts: [train, test]}, "
            "without n_test), or put each person's records in one of the files"
        )


def check(study: Study, dataset: Dataset | PartedDataset) -> None:
    """Raise ValueError if a study cannot be trained and scored on a dataset.

    A dataset is refused if a label has too few records, or if a person has records both in the
    training part and in the test part. A learner is refused

    - if the study selects settings by a measure of probabilities that the learner does not fit,
    - if the learner needs a public fact that the dataset lacks,
    - if the dataset has more classes than the learner supports, or
    - if each prediction costs privacy, and the learner pays for fewer predictions than there are
      records to score.
    """
    if study.folds:
        check_folds(labels_for_folds(dataset)[0], study.folds)
    _check_persons(dataset)
    train, scored = Splitter(dataset, 0).parts(study.selection_splits[0])
    least = min(method.train_share for method in study.methods.values())
    Splitter(dataset, 0, least).rows(study.selection_splits[0])
    for method in study.methods.values():
        by_loss = MEASURES[study.metric].needs == CHANCES
        # Importing a learner's class is slow, so it is only done if the checks need more than the
        # registry's entry.
        answers = "n_answers" in method.learner_entry.parameters
        n_classes = dataset.domain.n_classes
        if not (by_loss or answers or method.learner_entry.needs or n_classes > 2):
            continue
        learner = registry.make(method.learner, dataset.domain, neighbours=method.claim)
        for point in method.points if n_classes > 2 else ():
            learner.set_params(**method.estimator_parameters(point, dataset.at_most))
            learner.check_classes(n_classes)
        for setting in method.settings if answers else ():
            learner.set_params(**setting).check_answers(train.n, scored.codes)
        if by_loss and not fits_log_odds(learner):
            raise ValueError(
                f"metric: {study.metric} needs probabilities; {method.learner} ({method.name}) "
                "has none. Leave the learner out, or select by another metric"
            )
