"""Learners whose model grows by rounds."""

from __future__ import annotations

from collections.abc import Iterator

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from privcurve.coding import Codes, Floats
from privcurve.learners.base import CodedClassifier, with_fitted_parameters


class StagedClassifier(CodedClassifier):
    """A learner with `staged_decision_function`; a subclass defines the stages (`_stages`)."""

    @with_fitted_parameters
    def staged_decision_function(self, X: ArrayLike) -> Iterator[Floats]:
        """Yield the scores of rows by the first round, by the first two rounds, and so on."""
        check_is_fitted(self)
        yield from self._stages(self._code(X))

    def _stages(self, codes: Codes) -> Iterator[Floats]:
        raise NotImplementedError
