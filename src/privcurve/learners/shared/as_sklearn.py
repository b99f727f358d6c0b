"""Implement scikit-learn's interface of classifiers, except `fit` and `predict`."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score

from privcurve.coding import decide
from privcurve.given import read_labels
from privcurve.learners.shared.by_schema import positions_of
from privcurve.learners.shared.checks import check_unmasked
from privcurve.privacy import seeds


class SklearnClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that scikit-learn's tools can clone, score and describe."""

    def score(self: Any, X: ArrayLike, y: ArrayLike, sample_weight: Any = None) -> float:
        """Return the share of correctly predicted rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
        y : array-like of shape (n_rows,)
            Labels, read as in the fit: with a schema, in any spelling that it accepts.
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        float
        """
        fitted = self._as_fitted()
        if fitted.schema is None or not hasattr(self, "classes_"):
            return float(super().score(X, y, sample_weight))
        check_unmasked(y, "y")
        positions = positions_of(fitted.schema, read_labels(y), self.classes_)
        answers = decide(self.decision_function(X))
        return float(accuracy_score(positions, answers, sample_weight=sample_weight))

    def __sklearn_clone__(self: Any) -> Any:
        """Return an unfitted copy; a generator in `random_state` is replaced by a child generator.

        Copies of one generator would draw the same noise, and two models with the same noise reveal
        the exact numbers.
        """
        copied = super().__sklearn_clone__()
        copied.random_state = _source_of_copy(self.random_state)
        return copied

    def __getstate__(self: Any) -> dict[str, Any]:
        """Return the state for a copy or a pickle, in which a generator is replaced by a child."""
        return {**super().__getstate__(), "random_state": _source_of_copy(self.random_state)}

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        # Cache the names: scikit-learn asks for them in each fit, and inspecting the signature is
        # slow.
        return super()._get_param_names()

    def __sklearn_tags__(self: Any) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._effective_entry().multiclass
        return tags


def _source_of_copy(source: Any) -> Any:
    """Return the `random_state` of a copy: a child if `source` is a generator, else `source`."""
    generators = (np.random.Generator, np.random.RandomState)
    return seeds.child_of(source) if type(source) in generators else source
