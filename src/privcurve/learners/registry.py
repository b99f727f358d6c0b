"""Look up learners by name, check their parameters, and construct them (`make`).

The workflow imports this module whenever it builds the DAG, so it must be fast: it imports no
learner. The table in :mod:`privcurve.learners.entries` names each class by its path, and
:func:`estimator_class` imports the class.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from privcurve import extras, papers
from privcurve.learners import own
from privcurve.learners.entries import LEARNERS
from privcurve.learners.entry import LearnerEntry
from privcurve.privacy.budget import REPLACE_ONE
from privcurve.schema import suggestion

# Name of the learner that selects among other learners privately.
TUNED = "tuned"


def entry(name: str) -> LearnerEntry:
    """Return the entry of a learner of this project or of the user; ValueError if unknown."""
    if name in LEARNERS:
        return LEARNERS[name]
    if name in own.names():
        return own.entry(name)
    every = names()
    hint = suggestion(name, every)
    raise ValueError(f"unknown learner {name!r}{hint} There are: {', '.join(every)}.")


def version(name: str) -> int:
    """Return the version for ids of runs; for a user's own learner it depends on the file."""
    return LEARNERS[name].run_version if name in LEARNERS else own.version(name)


def names() -> list[str]:
    """Return the names of all learners: this project's, then the user's own."""
    return [*LEARNERS, *own.names()]


def multiclass_names() -> list[str]:
    """Return the names of all learners that support more than two classes."""
    # Leave out `tuned`: its candidates determine whether it supports more than two classes.
    return [name for name in names() if entry(name).multiclass and name != TUNED]


def hint_multiclass() -> str:
    """Return a sentence that names this project's proved learners for more than two classes."""
    more = [name for name in multiclass_names() if name in LEARNERS and LEARNERS[name].proved]
    return f"Learners of more classes are: {', '.join(more)}."


def check_n_classes(learner: LearnerEntry, n_classes: int) -> None:
    """Raise ValueError if `learner` does not support `n_classes`; name learners that do."""
    if why := learner.refuses(n_classes=n_classes):
        raise ValueError(f"{why}. {hint_multiclass()}")


def hint_parts() -> str:
    """Return a sentence that names the proved learners for partitioned records."""
    able = [name for name, e in LEARNERS.items() if e.in_parts is not None and e.proved]
    return (
        f"Learners of partitioned records are: {', '.join(able)}. If memory holds all records, "
        "set rows_per_part: 0 in the description (docs/big_tables.md)."
    )


# With more than two classes, a training needs this many more bytes for each record and class: for a
# score and a copy of the score.
_PER_CLASS = 16.0


def training_bytes(
    name: str, n_rows: int, n_columns: int, n_classes: int = 2, code_bytes: int = 1
) -> float:
    """Return the estimated peak memory of one training, in bytes, including the data.

    It excludes the memory of a Python process without any training.

    The estimate is linear in the shape of the encoded matrix, with the coefficients of
    `LearnerEntry.peak`. They were fitted to the peak memory of entire processes (training and
    scoring) on 0.2 to 5 million records with 8 and with 30 columns of ten bins. All records were
    different; tables with many equal records need less, down to a third. A learner without a
    measured peak, such as a user's own, gets the peak of the learner that needs most on 30 columns.

    Parameters
    ----------
    name : str
    n_rows : int
        Rows of the encoded matrix: training records (four fifths in the measurements) and test
        records.
    n_columns : int
    n_classes : int
    code_bytes : int
        Bytes of a bin: 1, or 2 if a column has more than 256 bins.
    """
    peak = LEARNERS[name].peak if name in LEARNERS else None
    peaks = [entry.peak for entry in LEARNERS.values() if entry.peak]
    record, value = peak or max(peaks, key=lambda one: one[0] + 30 * one[1])
    classes = _PER_CLASS * n_classes if n_classes > 2 else 0.0
    return n_rows * (record + classes + value * n_columns * code_bytes)


def missing_package(name: str) -> str | None:
    """Return how to install the package that a learner needs; None if nothing is missing."""
    requires = entry(name).requires
    return extras.explain_missing(requires, name) if requires else None


def estimator_class(name: str) -> type[Any]:
    """Import and return the estimator class of a learner.

    Raises MissingPackageError if the learner needs an optional package that is not installed.
    """
    return entry(name).estimator_class()


def is_shipped(kind: type[object]) -> bool:
    """Return whether a class is exactly a learner class of this project, and not a subclass."""
    name = str(getattr(kind, "_learner", None))
    if name not in LEARNERS:
        return False
    module, _, attribute = LEARNERS[name].path.partition(":")
    return is_ours(module) and getattr(sys.modules.get(module), attribute, None) is kind


def is_ours(module: str) -> bool:
    """Return whether a module name belongs to this project's learners, including its papers'."""
    ours = module.startswith((f"{__package__}.", f"{papers.__name__}."))
    return ours and not module.startswith(own.PACKAGE)


def make(
    name: str,
    domain: Any,
    parameters: Mapping[str, object] | None = None,
    neighbours: str = REPLACE_ONE,
) -> Any:
    """Return an unfitted learner for a dataset, with the dataset's public facts as parameters.

    The entry of the learner makes it (:meth:`.LearnerEntry.make`). Its classes are −1 and +1, or
    0 … K − 1 for K > 2.

    Parameters
    ----------
    name : str
    domain : Domain or Facts
        It must have the public facts that the learner's entry lists in `needs`.
    parameters : mapping, optional
        Other parameters of the estimator: ε, δ, hyperparameters, ….
    neighbours : str
        The requested relation. With ``private-columns``, a learner that supports it is given the
        public columns; any other learner keeps its own relation. With ``add-remove``, a learner
        that supports it as well as ``replace-one`` is given ``neighbours="add-remove"``.

    Returns
    -------
    CodedClassifier
        Not fitted.

    Raises
    ------
    ValueError
        If the learner is unknown, needs a missing public fact, supports fewer classes, or supports
        only other neighbours.
    ImportError
        If it needs an optional package that is not installed.
    """
    registered = entry(name)
    check_n_classes(registered, getattr(domain, "n_classes", 2))
    return registered.make(domain, parameters, neighbours)
