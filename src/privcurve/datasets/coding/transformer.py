"""Encode with a domain in the first step of a scikit-learn pipeline."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from privcurve.coding import Codes
from privcurve.datasets.coding.frames import encode_frame
from privcurve.datasets.domain import Domain


class DomainEncoder(TransformerMixin, BaseEstimator):
    """Encode raw columns with a public domain, as the step before a learner.

    The encoder learns nothing from the records: its fitted attributes follow from the domain, and
    the bin of a value depends on no other row. So a fit of the encoder costs no privacy, however
    often cross-validation repeats it.

    Parameters
    ----------
    domain : Domain

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Names of the domain's columns.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from privcurve.datasets import Column, Domain, Label
    >>> from privcurve.datasets.coding.transformer import DomainEncoder
    >>> from privcurve.learners import LazyBBClassifier
    >>> domain = Domain((Column("age", "numeric", (0.0, 100.0), 10),), Label("sick", "no", "yes"))
    >>> learner = LazyBBClassifier(n_bins=domain.n_bins, classes=domain.label.names)
    >>> model = make_pipeline(DomainEncoder(domain), learner)
    """

    def __init__(self, domain: Domain) -> None:
        self.domain = domain

    def fit(self, X: object, y: object = None) -> Self:
        """Set the fitted attributes, which depend on the domain alone; `X` and `y` are ignored."""
        self.n_features_in_ = len(self.domain.columns)
        self.feature_names_in_ = np.array(self.domain.names, dtype=object)
        return self

    def fit_transform(self, X: object, y: object = None, **fit_params: Any) -> Codes:
        """Encode the records that train the next step, with the warnings for training records."""
        self.fit(X, y)
        return encode_frame(self.domain, X, in_order=False, train=True)

    def transform(self, X: object) -> Codes:
        """Encode a frame or a mapping of columns; see :func:`encode_frame`.

        Raises DatasetError if a column is missing, or if a value is in no bin.
        """
        return encode_frame(self.domain, X, in_order=False)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """Return the names of the encoded columns, which are the names of the domain's columns."""
        return np.array(self.domain.names, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        return tags
