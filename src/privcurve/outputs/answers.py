"""What a study's table of accuracy says in words: which learner to take, and at what price."""

from __future__ import annotations

from collections.abc import Sequence

from privcurve.analysis.ranking import Ranking, ranking
from privcurve.outputs.base import Asked


def rankings(accuracy: Asked, dataset: str, epsilons: Sequence[float]) -> list[Ranking]:
    """Rank the learners of a study on a dataset.

    Parameters
    ----------
    accuracy : Asked
        The study's table of accuracy, which has been made.
    dataset : str
    epsilons : sequence of float

    Returns
    -------
    list of Ranking
        One an ε.
    """
    from privcurve.tables.table import read_table

    frame = read_table(accuracy.files.frames[0])
    titles = {name: arm.title for name, arm in accuracy.study.arms.items()}
    metric = accuracy.study.metric
    return [ranking(frame, dataset, epsilon, titles, metric) for epsilon in epsilons]
