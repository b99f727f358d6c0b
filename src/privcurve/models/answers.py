"""Ask a model about a file: labels and probabilities, row after row, in bounded memory."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from privcurve.coding import Codes
    from privcurve.models.model import Model


def write_answers(
    model: Model,
    pieces: Iterable[Codes],
    target: TextIO,
    probabilities: bool = False,
    answered: Counter[str] | None = None,
) -> Counter[str]:
    """Write what a model says of each row as CSV.

    The first column bears the name of the label and holds names of classes. Then comes, if asked
    for, the probability of each class, to six digits. Nothing is written before there is an answer.

    Parameters
    ----------
    model : Model
    pieces : iterable of ndarray
        Codes of some rows after another.
    target : text file
    probabilities : bool
    answered : Counter of str, optional
        Is added to, as answers are written.

    Returns
    -------
    Counter of str
        How often each label was the answer.

    Raises
    ------
    ModelError
        If the learner gives no probabilities.
    """
    if probabilities:
        model.check_probabilities()
    answered = Counter() if answered is None else answered
    out = csv.writer(target, lineterminator="\n")
    head: list[str] | None = names(model, probabilities)
    for codes in pieces:
        if probabilities:
            answers, chances = model.named_with_chances(codes)
        else:
            answers, chances = model.named(codes), None
        labels = answers.tolist()
        if head is not None:
            out.writerow(head)
            head = None
        out.writerows(zip(labels, *_written(chances), strict=True))
        answered.update(labels)
    if head is not None:
        out.writerow(head)
    return answered


def names(model: Model, probabilities: bool) -> list[str]:
    """Return the names of the columns of answers."""
    each = [f"probability of {name}" for name in model.labels] if probabilities else []
    return [model.domain.label.column, *each]


def _written(chances: NDArray[np.float64] | None) -> Iterator[list[str]]:
    """Yield the columns of probabilities as texts."""
    for column in () if chances is None else chances.T:
        yield [f"{p:.6g}" for p in column]
