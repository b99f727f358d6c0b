"""What a transcript of PrivGAM really tells of a record: the losses of its releases, added up."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.learners.additive.fitting import LINE, PRODUCTS, Fit
from privcurve.learners.additive.linear_part import LinearPart
from privcurve.learners.additive.residuals import PLACE_BITS, SCORE_BITS, Residuals


def realised_losses(
    fit: Fit,
    maps: list[Any],
    left: tuple[NDArray[Any], NDArray[np.int8]],
    right: tuple[NDArray[Any], NDArray[np.int8]],
) -> NDArray[np.float64]:
    """Replay a transcript, and add up ‖S(D) − S(D′)‖²/σ² for records and their replacements.

    S(D) and S(D′) differ by what the two records add, so nothing else is needed. Choices are left
    out. Of a proof that is right no sum is above μ².

    Parameters
    ----------
    fit : Fit
        With Gaussian noise.
    maps : list of ndarray
        The bin of each code.
    left, right : tuple of codes and signs
        Record i of `left` is replaced by record i of `right`.

    Returns
    -------
    ndarray of shape (n_pairs,)
    """
    sides = [
        Residuals(codes, signs, np.ones(len(signs), dtype=np.int64), maps, fit.budget.bits)
        for codes, signs in (left, right)
    ]
    for side in sides:
        for crossing in fit.crossings:
            side.cross(crossing)
    signs = [np.asarray(side[1], dtype=np.int64) for side in (left, right)]
    places = LinearPart(sides[0].n_bins).places / 2.0**PLACE_BITS
    along = [np.stack([places[j][c] for j, c in enumerate(s.columns)]) for s in sides]
    total = np.zeros(len(signs[0]))
    for step in fit.steps:
        if step.rate > 0:
            if step.column == PRODUCTS:
                squares = [(u**2).sum(axis=0) ** 2 for u in along]
                moved = squares[0] + squares[1] - 2 * (along[0] * along[1]).sum(axis=0) ** 2
            else:
                a = [side.each() / 2.0**fit.budget.bits for side in sides]
                if step.column == LINE:
                    slopes = [s * r * u for s, r, u in zip(signs, a, along, strict=True)]
                    moved = ((slopes[0] - slopes[1]) ** 2).sum(axis=0)
                else:
                    bins = [side.column(step.column) for side in sides]
                    same = (bins[0] == bins[1]) & (signs[0] == signs[1])
                    moved = np.where(same, (a[0] - a[1]) ** 2, a[0] ** 2 + a[1] ** 2)
            total += moved * step.rate**2
        for j, shape in step.shapes.items():
            for side in sides:
                side.set_shape(j, shape / 2.0**SCORE_BITS)
    return total
