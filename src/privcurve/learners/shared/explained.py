"""What is said of a fitted learner: in words, and by column."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

import privcurve
from privcurve.coding import Floats
from privcurve.learners.registry import entry


class Explained:
    """A learner that says what its model is."""

    def describe(self: Any, domain: Any = None) -> str:
        """Return the fitted model as a person reads it, with names of columns and values.

        Parameters
        ----------
        domain : Domain, optional
            Says what they are called; by default the `schema`'s, or their numbers without one.

        Returns
        -------
        str
            The learner's name alone where its model has no such form.
        """
        check_is_fitted(self)
        self = self._as_fitted()
        if domain is None and self.schema is not None:
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

    def explain(self, domain: Any = None) -> Any:
        """Return what the model makes of each column, see :func:`privcurve.explain`."""
        # A room above this one, loaded late.
        return privcurve.explain(self, domain)

    @property
    def feature_importances_(self) -> Floats:
        """The importance of each column, in the order of X, see :func:`privcurve.explain`."""
        return self.explain().feature_importances
