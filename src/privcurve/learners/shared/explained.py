"""Describe a fitted learner: its model in words, and the effect of each column."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

import privcurve
from privcurve.binning import edges
from privcurve.coding import Floats, class_labels
from privcurve.given import OF_TEXTS, plain_label, read_classes, type_of_classes
from privcurve.learners.registry import entry


def check_domain(learner: Any, domain: Any) -> None:
    """Raise ValueError if a domain's bins or classes differ from the learner's fit."""
    name, n_bins = learner._learner, learner._n_codes.tolist()
    if n_bins != list(domain.n_bins):
        raise ValueError(
            f"the domain must have the numbers of bins of {name}'s fit, {n_bins}; it has "
            f"{list(domain.n_bins)}: give the domain that encoded the data"
        )
    names = getattr(learner, "feature_names_in_", None)
    if names is not None and list(names) != list(domain.names):
        raise ValueError(
            f"the domain must have the columns of {name}'s fit, {', '.join(names)}; it has "
            f"{', '.join(domain.names)}: give a domain with the same columns in the same order"
        )
    if learner.schema is not None:
        fitted = learner.schema.domain
        if (domain.columns, domain.label) != (fitted.columns, fitted.label):
            raise ValueError(
                f"the domain must be the one of the schema with which {name} was fitted"
            )
        return  # the domain's classes are the schema's, so the classes need no check
    _check_classes(learner, list(domain.label.names))
    if learner.bounds is None:
        return
    low, high = (np.broadcast_to(side, len(n_bins)) for side in learner.bounds)
    for j, column in enumerate(domain.columns):
        same = column.ordered and not column.missing_bin
        if not same or column.edges != tuple(edges(low[j], high[j], n_bins[j]).tolist()):
            raise ValueError(
                f"the domain's bounds of {column.name!r} must equal the bounds= of {name}'s "
                "fit: fit it on codes (privcurve.datasets.coding.encode_frame), or give the "
                "domain these bounds"
            )


def _check_classes(learner: Any, names: list[str]) -> None:
    """Raise ValueError unless the domain's names fit the learner's classes, in the same order.

    Classes 0, 1, … (or −1 and +1) fit any names, with one exception: names that are these numbers,
    or truth values, must be in the order of the classes.
    """
    classes = np.asarray(learner.classes_).tolist()
    numbered = [list(class_labels(len(classes))), list(range(len(classes)))]
    # `turned`: whether the domain has the classes in another order. For the classes 0 and 1, this
    # is so if its names say that 1 (or true) comes first.
    turned = classes == [0, 1] and names in (["1", "0"], ["True", "False"], ["true", "false"])
    # More than two classes that come from `y` are sorted, but the domain may have the same names in
    # another order.
    if len(classes) > 2 and getattr(learner, "_labels_from_rows", False):
        texts = [str(value) for value in classes]
        turned = names != texts and sorted(names) == sorted(texts)
    plain = classes in numbered and not turned
    if len(classes) != len(names) or not (plain or are_names_of(names, classes)):
        raise ValueError(
            f"{learner._learner} was fitted with the classes {classes}, but the domain's are "
            f"{names}: fit it with classes={tuple(names)}, or encode the labels in the domain's "
            f"order as {class_labels(len(names))}"
        )


def are_names_of(names: Sequence[str], classes: Sequence[object]) -> bool:
    """Return whether `names` are, in order, the names that a schema has for these classes."""
    kind = type_of_classes(classes)
    if kind in OF_TEXTS:
        with suppress(ValueError):
            return read_classes(kind, names) == [*map(plain_label, classes)]
    return all(name in _list_spellings(value) for value, name in zip(classes, names, strict=False))


def _list_spellings(value: object) -> set[str]:
    """Return the names that a schema may have for a class with this value."""
    if isinstance(value, bool):
        return {str(value), str(value).lower(), str(value).upper(), str(int(value))}
    if isinstance(value, float) and value.is_integer():
        return {str(value), str(int(value))}
    return {unicodedata.normalize("NFC", str(value).strip())}


class Explained:
    """Mixin of learners: methods that describe the fitted model."""

    def describe(self: Any, domain: Any = None) -> str:
        """Return the fitted model in words, with names of columns and values.

        Parameters
        ----------
        domain : Domain, optional
            The source of the names. By default it is the schema of the fit; without a schema,
            columns and values are numbered.

        Returns
        -------
        str
            The description, or only the learner's name if its model has no form in words.

        Raises
        ------
        ValueError
            If the fit had other bins or classes than the domain.
        """
        check_is_fitted(self)
        self = self._as_fitted()
        if domain is not None:
            check_domain(self, domain)
        elif self.schema is not None:
            domain = self.schema.domain
        self, domain = self._on_groups(domain)
        names, bins = (None, None) if domain is None else (domain.names, domain.bin_names)
        model: Any = getattr(self, "model_", None)
        many = domain is not None and domain.n_classes > 2
        classes = {"class_names": domain.label.names} if many else {}
        if hasattr(model, "in_words"):
            return str(model.in_words(names, bins, **classes))
        return str(model.describe(bins, **classes)) if hasattr(model, "describe") else self._learner

    def __str__(self: Any) -> str:
        fitted = self._as_fitted()
        if fitted.schema is None or not hasattr(self, "classes_"):
            return repr(self)
        statement, domain = self.privacy_, fitted.schema.domain
        promise = f"ε = {statement.epsilon:g}, δ = {statement.delta:g}, {statement.neighbours}"
        if statement.at_most is not None:
            promise += f", of persons of at most {statement.at_most} rows"
        return (
            f"{entry(self._learner).title}: tells {domain.label.names[0]} from "
            f"{', '.join(domain.label.names[1:])} by {self.n_features_used_} of "
            f"{len(domain.names)} columns ({promise if statement.private else 'not private'}). "
            "describe() says how, privacy_ what it guarantees."
        )

    def explain(self, domain: object = None) -> Any:
        """Return the effect of each column on the model's score; see :func:`privcurve.explain`."""
        # Import here, not at the top: the module of `privcurve.explain` imports learners.
        return privcurve.explain(self, domain)

    @property
    def joins_columns(self) -> bool:
        """Whether the score may differ from a sum over columns, perhaps only for few rows.

        A random sample of combinations of bins may miss such rows. If true, `explain` therefore
        tests all combinations before it accepts that the score is a sum over columns.
        """
        return bool(getattr(getattr(self, "model_", None), "joins_columns", False))

    @property
    def feature_importances_(self) -> Floats:
        """The importance of each column, computed by :func:`privcurve.explain`.

        Columns are in the order of `feature_names_in_`; with a schema this is the schema's order.
        """
        return self.explain().feature_importances
