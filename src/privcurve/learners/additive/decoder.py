"""Run PrivGAM's decoder, the network that turns noisy sums into scores, with trained weights.

The scripts in `decoder/` at the top of the repository trained the weights on public and simulated
tables only.
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

# The trained weights, in half precision; `decoder/export.py` wrote the file.
FILE = Path(__file__).with_name("decoder.npz")
# Each release gets at least this share of the budget. A release consists of sums by bin and of
# totals, and both get at least this share of the release's budget. With a smaller share the noise
# would not fit in 64-bit integers.
LEAST_SHARE = 1e-3
# The network was trained on tables within these limits: the smallest and largest m (the number of
# records times the budget per column, see `rule.plan`), the largest number of bins of an ordered
# column, and the largest number of records.
LEAST_SCALE, MOST_SCALE = 0.02, 8000.0
MOST_BINS = 64
MOST_RECORDS = 2**21


class Network(NamedTuple):
    """The weights of the network, and the coefficients that divide the budget among releases."""

    # Weights for the releases 0, 1, …; all further releases use the last weights.
    stages: tuple[Stage, ...]
    # `shares` and `totals` have the shape (n_stages, 4). From the coefficients in `shares`,
    # `shares_of` computes the share of each release in the budget; from `totals`, the share of the
    # totals in the budget of their release.
    shares: Floats
    totals: Floats

    @property
    def width(self) -> int:
        """The number of hidden values that the network keeps for each bin."""
        return len(self.stages[0].first_bias)

    def stage(self, release: int) -> Stage:
        """Return the weights that decode a release; the first release is 0."""
        return self.stages[min(release, len(self.stages) - 1)]

    def shares_of(
        self, n_releases: int, ratio: float, n_columns: float
    ) -> list[tuple[float, float]]:
        """Divide the budget: return two shares per release, for its sums by bin and for its totals.

        Parameters
        ----------
        n_releases : int
        ratio : float
            The number of records, divided by the standard deviation that the noise would have if
            one release got the entire budget.
        n_columns : float

        Returns
        -------
        list of pair of float
            Shares of the budget, which add up to 1.
        """
        z = (log(ratio) - 5.0) / 2.0
        which = np.minimum(np.arange(n_releases), len(self.stages) - 1)
        powers, of_totals = (
            a[:, 0] + a[:, 1] * z + a[:, 2] * (z * z) + a[:, 3] * (log(n_columns) - 2.0)
            for a in (self.shares[which], self.totals[which])
        )
        weights = exps(powers - powers.max())
        # Python's sum has the same bits on every machine; NumPy's order of addition depends on the
        # CPU.
        parts = weights / sum(weights.tolist())
        parts = LEAST_SHARE + (1.0 - n_releases * LEAST_SHARE) * parts
        totals = parts * (LEAST_SHARE + (1.0 - 2.0 * LEAST_SHARE) * expits(of_totals))
        return list(zip((parts - totals).tolist(), totals.tolist(), strict=True))


def pack(network: Network) -> dict[str, Floats]:
    """Convert a network to the named arrays of a weights file."""
    stages = {
        f"{t}.{name}": weights
        for t, stage in enumerate(network.stages)
        for name, weights in stage._asdict().items()
    }
    return {**stages, "shares": network.shares, "totals": network.totals}


def unpack(arrays: Mapping[str, np.ndarray]) -> Network:
    """Convert the arrays of a weights file to a network."""
    exact = {name: np.ascontiguousarray(arrays[name], dtype=np.float64) for name in arrays}
    stages = (
        Stage(**{name: exact[f"{t}.{name}"] for name in Stage._fields})
        for t in range(len(exact["shares"]))
    )
    return Network(tuple(stages), exact["shares"], exact["totals"])


@cache
def load() -> Network:
    """Read the network of PrivGAM from its file.

    Raises
    ------
    ValueError
        If the SHA-256 of the file differs from the one in the registry.
    """
    return unpack(read_weights(FILE, entry("privgam").weights))


def read_weights(file: Path, stated: str) -> Mapping[str, np.ndarray]:
    """Return the arrays of a weights file; raise ValueError if its SHA-256 is not `stated`."""
    content = file.read_bytes()
    actual = hashlib.sha256(content).hexdigest()
    if actual != stated:
        raise ValueError(
            f"{file} must have the SHA-256 {stated}, as published with this version; got {actual}: "
            "reinstall privcurve"
        )
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return dict(arrays)


class Answers(NamedTuple):
    """Noisy sums of residuals, by bin (shape (n_scores, n_bins)) or in total (shape (n_scores,)).

    With two classes there is one score, of the positive class; otherwise each class has a score.
    """

    own: Floats  # sums over the records whose label is the score's class
    others: Floats  # sums over all other records
    deviations: tuple[float, float]  # standard deviations of the noise in `own` and `others`, > 0


class Decoder:
    """The scores of all bins during a fit; a neural network updates them after each release.

    Parameters
    ----------
    starts : ndarray of shape (n_columns + 1,)
        The first bin of each column, then the number of all bins.
    ordered : sequence of bool
        Whether the bins of each column are ordered.
    n_scores : int
        Number of scores of each bin: 1 for two classes, else one per class.
    laplace : bool
        Whether the noise is Laplace noise (else Gaussian).

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
        """Update the scores and intercepts with the noisy sums of the next release."""
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
