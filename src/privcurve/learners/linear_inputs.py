"""What a linear learner sees of a coded matrix: which columns, and how they are coded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from privcurve.coding import Codes, Floats, one_hot, scaled
from privcurve.learners.log_odds import OneHotClassifier
from privcurve.learners.roles import Roles

SCALED = "scaled"


class LinearClassifier(OneHotClassifier):
    """A learner that is linear in some columns, one-hot coded or scaled.

    Attributes
    ----------
    coef_ : ndarray of shape (n_inputs,)
        One for each bin of the columns that are read (``one_hot``), or one a column
        (``scaled``).
    """

    columns: str
    encoding: str
    public_columns: Sequence[int] | None

    def _read(self) -> NDArray[np.intp]:
        """Give the positions of the columns that are read."""
        roles = Roles.of(self._learner, self.public_columns, self.n_features_in_)
        return roles.columns(self.columns)

    def _width(self) -> int:
        columns = self._read()
        return len(columns) if self.encoding == SCALED else int(self.n_bins_[columns].sum())

    def _rows(self, codes: Codes, value: float = 1.0) -> csr_array | Floats:
        columns = self._read()
        if self.encoding == SCALED:
            return value * scaled(codes[:, columns], self.n_bins_[columns])
        if not len(columns):
            return np.zeros((len(codes), 0))
        return one_hot(codes[:, columns], self.n_bins_[columns], value)
