"""Base of learners whose model grows in rounds."""

from __future__ import annotations

from collections.abc import Iterator

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from privcurve.coding import Codes, Floats
from privcurve.learners.base import CodedClassifier, with_fitted_parameters


class StagedClassifier(CodedClassifier):
    """Base of learners with `staged_decision_function`.

    A subclass implements `_stages`, which yields the scores of encoded rows after each round.
    """

    @with_fitted_parameters
    def staged_decision_function(self, X: ArrayLike) -> Iterator[Floats]:
        """Yield the scores of the rows after the first round, after the first two, and so on.

        Each item has the shape of the result of :meth:`decision_function`; the last item equals
        this result.
        """
        check_is_fitted(self)
        yield from self._stages(self._code(X))

    def _stages(self, codes: Codes) -> Iterator[Floats]:
        raise NotImplementedError
