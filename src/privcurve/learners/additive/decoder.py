"""The decoder of PrivGAM: the weights of its network, and its use in a fit.

`decoder/` at the top of the repository trains the weights on public and simulated tables alone.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from privcurve.coding import Floats, Ints
from privcurve.kernels.arithmetic import expits, exps, log
from privcurve.kernels.decoder import Stage, Sums, decode
from privcurve.learners.registry import entry

# The trained weights, in half precision; `decoder/export.py` writes the file.
FILE = Path(__file__).with_name("decoder.npz")
# Minimum share of the budget for a release, and of a release for one of its parts: smaller shares
# have noise that does not fit in 64 bits.
LEAST_SHARE = 1e-3
# Ranges covered by the network's training: m = n·μ/d, the number of bins of an ordered column, and
# the number of records.
LEAST_SCALE, MOST_SCALE = 0.02, 8000.0
MOST_BINS = 64
MOST_RECORDS = 2**21


class Network(NamedTuple):
    """The weights of the network."""

    stages: tuple[Stage, ...]  # for the first releases; later ones use the last
    shares: Floats  # (n_stages, 4): see `shares_of`
    totals: Floats  # (n_stages, 4): likewise

    @property
    def width(self) -> int:
        """The width of the network."""
        return len(self.stages[0].first_bias)

    def stage(self, release: int) -> Stage:
        """Return the weights of a release, from 0 on."""
        return self.stages[min(release, len(self.stages) - 1)]

    def shares_of(
        self, n_releases: int, ratio: float, n_columns: float
    ) -> list[tuple[float, float]]:
        """Return the shares of the budget of each release: of its sums by bin, and of its totals.

        Parameters
        ----------
        n_releases : int
        ratio : float
            The number of records over the noise's standard deviation with the entire budget.
        n_columns : float
        """
        z = (log(ratio) - 5.0) / 2.0
        which = np.minimum(np.arange(n_releases), len(self.stages) - 1)
        powers, of_totals = (
            a[:, 0] + a[:, 1] * z + a[:, 2] * (z * z) + a[:, 3] * (log(n_columns) - 2.0)
            for a in (self.shares[which], self.totals[which])
        )
        weights = exps(powers - powers.max())
        # One after another: NumPy adds in other orders on other machines.
        parts = weights / sum(weights.tolist())
        parts = LEAST_SHARE + (1.0 - n_releases * LEAST_SHARE) * parts
        totals = parts * (LEAST_SHARE + (1.0 - 2.0 * LEAST_SHARE) * expits(of_totals))
        return list(zip((parts - totals).tolist(), totals.tolist(), strict=True))


def pack(network: Network) -> dict[str, Floats]:
    """Return the arrays of a network's file."""
    stages = {
        f"{t}.{name}": weights
        for t, stage in enumerate(network.stages)
        for name, weights in stage._asdict().items()
    }
    return {**stages, "shares": network.shares, "totals": network.totals}


def unpack(arrays: Mapping[str, np.ndarray]) -> Network:
    """Return the network of a file's arrays."""
    exact = {name: np.ascontiguousarray(arrays[name], dtype=np.float64) for name in arrays}
    stages = (
        Stage(**{name: exact[f"{t}.{name}"] for name in Stage._fields})
        for t in range(len(exact["shares"]))
    )
    return Network(tuple(stages), exact["shares"], exact["totals"])


@cache
def load() -> Network:
    """Return the network of PrivGAM.

    Raises
    ------
    ValueError
        If the SHA-256 of the file differs from the registry's.
    """
    return unpack(read_weights(FILE, entry("privgam").weights))


def read_weights(file: Path, stated: str) -> Mapping[str, np.ndarray]:
    """Return the arrays of a file of weights; ValueError if its SHA-256 is not `stated`."""
    content = file.read_bytes()
    actual = hashlib.sha256(content).hexdigest()
    if actual != stated:
        raise ValueError(
            f"{file} must have the SHA-256 {stated}, which the code states; got {actual}: "
            "install privcurve anew"
        )
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return dict(arrays)


class Answers(NamedTuple):
    """Noisy sums of residuals by bin, of shape (n_scores, n_bins), or totals, (n_scores,)."""

    own: Floats  # of the records of each class
    others: Floats  # of all other records
    deviations: tuple[float, float]  # standard deviations of the noise in both; positive


class Decoder:
    """Scores of all bins, updated by each release: one score per bin for two classes, else K.

    Parameters
    ----------
    starts : ndarray of shape (n_columns + 1,)
        The first bin of each column, and the number of all bins.
    ordered : sequence of bool
    n_scores : int
    laplace : bool
        Whether the noise is Laplace noise.

    Attributes
    ----------
    scores : ndarray of shape (n_scores, n_bins)
    intercepts : ndarray of shape (n_scores,)
    """

    def __init__(self, starts: Ints, ordered: Sequence[bool], n_scores: int, laplace: bool) -> None:
        self._network, self._n_releases = load(), 0
        self._starts, self._ordered, self._laplace = starts, np.array(ordered), laplace
        self.scores = np.zeros((n_scores, int(starts[-1])))
        self.intercepts = np.zeros(n_scores)
        self._states = np.zeros((*self.scores.shape, self._network.width))

    def take(self, by_bin: Answers, totals: Answers) -> None:
        """Update the scores with a release."""
        stage = self._network.stage(self._n_releases)
        for k in range(len(self.scores)):
            sums = Sums(
                by_bin.own[k],
                by_bin.others[k],
                by_bin.deviations,
                (float(totals.own[k]), float(totals.others[k])),
                totals.deviations,
                self._starts,
                self._ordered,
                self._laplace,
            )
            self.intercepts[k] = decode(
                stage,
                sums,
                self._states[k],
                self.scores[k],
                float(self.intercepts[k]),
                self._n_releases > 0,
            )
        self._n_releases += 1
