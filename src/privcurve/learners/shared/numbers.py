"""Convert bins to numbers in [0, 1] by public bounds, for methods that are defined for numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privcurve.coding import Floats
from privcurve.learners.base import PrivateClassifier
from privcurve.privacy.rows import Rows

# Numbers in [0, 1] are rounded to multiples of LEVEL_UNIT, so that sums of their products are
# exact.
LEVEL_UNIT = 2.0**-10


@dataclass(kw_only=True, eq=False, repr=False)
class NumbersClassifier(PrivateClassifier):
    """A learner that may read bins as numbers in [0, 1].

    Parameters
    ----------
    levels : sequence, optional
        For each column the number of each bin, or None for a column of categories (public facts). A
        domain or a schema gives it to learners whose entry has ``takes=("levels",)``. The lowest
        bin within the public bounds gets 0, the highest 1, and other bins get numbers in proportion
        to their middles; the bin of missing values gets ½. Values beyond the bounds are in the
        outer bins.
    """

    levels: Sequence[Sequence[float] | None] | None = None

    def numbers(self, codes: Any) -> Any:
        """Return the bins as numbers in [0, 1], one column each.

        If `codes` are a curator's `Rows`, the result is `Rows` with the bounds from which the
        library derives sensitivities. If `codes` are an array, as in a prediction, the result is an
        array. Bins of categories, and all bins without `levels`, are at equal distances.
        """
        every = [
            even_levels(int(n)) if own is None else own
            for n, own in zip(self.n_bins_, self._check_levels(), strict=True)
        ]
        if isinstance(codes, Rows):
            return np.column_stack([codes[:, j].look_up(own) for j, own in enumerate(every)])
        return np.column_stack([own[codes[:, j]] for j, own in enumerate(every)])

    def _check_levels(self) -> list[Floats | None]:
        """Check `levels`; return each column's numbers, rounded to multiples of `LEVEL_UNIT`."""
        n_bins = self.n_bins_.tolist()
        given = [None] * len(n_bins) if self.levels is None else [*self.levels]
        levels = [None if own is None else np.asarray(own, dtype=np.float64) for own in given]
        fits = len(levels) == len(n_bins) and all(
            # Both comparisons are false for NaN, so NaN is refused, too.
            own is None or (own.shape == (n,) and ((own >= 0) & (own <= 1)).all())
            for own, n in zip(levels, n_bins, strict=False)
        )
        if not fits:
            raise ValueError(
                f"{self._learner}: levels must be None, or for each of the {len(n_bins)} columns "
                "None or a number from 0 to 1 for each of its codes; got "
                f"{self.levels!s:.80}; leave levels out: a domain or a schema gives them"
            )
        return [None if own is None else _rounded(own) for own in levels]


def even_levels(n_codes: int) -> Floats:
    """Return a number in [0, 1] for each bin of a column whose bins have equal widths."""
    return _rounded(np.arange(n_codes) / (n_codes - 1)) if n_codes > 1 else np.full(1, 0.5)


def _rounded(levels: Floats) -> Floats:
    return np.asarray(LEVEL_UNIT * np.rint(levels / LEVEL_UNIT))
