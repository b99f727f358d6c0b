"""What a learner takes from a schema: public facts, classes, and which rows train."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from privcurve.learners.registry import entry
from privcurve.learners.shared.checks import MOST_NAMED, check_unmasked, plain_labels, plain_number
from privcurve.privacy.budget import PRIVATE_COLUMNS, budget_within_group

if TYPE_CHECKING:
    from privcurve.datasets.public_schema import Schema


def schema_facts(learner: Any, schema: Schema, y: Any) -> dict[str, Any]:
    """Return the parameters of a learner that its schema decides; only the type of `y` counts.

    If the schema has a unit, ε and δ are those that one row may cost. Raises ValueError if the
    learner already has one of these parameters.
    """
    for name in ("n_bins", "bounds", "classes"):
        if getattr(learner, name) is not None:
            raise ValueError(f"{name} follows from the schema: leave out one of the two")
    domain, registered = schema.domain, entry(learner._learner)
    facts: dict[str, Any] = {"n_bins": domain.n_bins, "classes": schema.classes_as(y)}
    for fact in (*registered.needs, *registered.takes, "mixed_bins"):
        if getattr(learner, fact) is None:
            facts[fact] = getattr(domain, fact)
    is_blank = registered.neighbours == (PRIVATE_COLUMNS,) and learner.public_columns is None
    # Such a learner takes the label for public: the schema has to say so.
    if is_blank and domain.public_label:
        facts["public_columns"] = domain.public_columns
    if schema.at_most is not None and registered.private:
        budget = plain_number(learner.epsilon), plain_number(learner.delta)
        epsilon, delta = budget_within_group(*budget, schema.at_most)
        facts |= {"epsilon": epsilon, "delta": delta}
    return facts


def explain_missing_schema(learner: str, names: list[Any]) -> str:
    """Say what to give beside a raw frame, whose columns have these names."""
    some = ", ".join(f"{name!r}: …" for name in names[:MOST_NAMED])
    more = ", …" if len(names) > MOST_NAMED else ""
    return (
        f"{learner} has no schema: what each column can hold is public knowledge, and never read "
        f"from the rows. Give schema=Schema({{{some}{more}}}, label=[negative, positive]), of a "
        "number (lowest, highest) and of words the list of all; Schema.draft(frame, label=…) "
        "drafts one from a frame with its label. Of codes give n_bins=, how many each column has."
    )


def schema_labels(schema: Schema, y: Any, classes: NDArray[Any]) -> NDArray[Any]:
    """Return the class of each label, which may be in any spelling of the schema."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    check_unmasked(y, "y")
    values = plain_labels(y if hasattr(y, "ndim") else np.asarray(y, dtype=object))
    labels = column_or_1d(values, warn=True)
    try:
        return classes[schema.positions(labels)]
    except RuntimeError as error:
        numbers = labels.dtype.kind in "iu" and set(labels.tolist()) <= {*range(len(classes))}
        if not numbers:
            raise
        hint = "did a tool of scikit-learn encode them? Then its schema needs label=[0, 1, …]"
        raise type(error)(f"{error}\nThe labels are whole numbers: {hint}") from None


def training_rows(schema: Schema | None, X: Any, counts: Any) -> NDArray[np.intp] | slice:
    """Return which rows train: all, or some of each person if the schema has a unit."""
    if schema is None or schema.at_most is None:
        return slice(None)
    if counts is not None:
        raise ValueError("counts: with a unit in schema each row is one record; leave it out")
    return schema.training_rows(X)
