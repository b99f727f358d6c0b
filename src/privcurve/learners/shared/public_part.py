"""Fit models to public columns and labels only, so they cost no privacy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privcurve.coding import Bools, Codes, Floats, Ints, one_hot, scale_codes
from privcurve.kernels.rows import times
from privcurve.learners.base import PrivateClassifier
from privcurve.learners.entries.parameters import StartParameters
from privcurve.learners.shared.checks import require
from privcurve.learners.shared.log_odds import regress
from privcurve.learners.shared.roles import PublicRows, Roles
from privcurve.privacy.sealed import kernel


@dataclass(frozen=True)
class LinearScore:
    """A linear score of scaled columns: coefficients·x + intercept."""

    coefficients: Floats  # (n_inputs,): one for each public column
    intercept: float

    def score(self, rows: Floats) -> Floats:
        """Return the score of each row of inputs."""
        return times(rows, self.coefficients) + self.intercept


class PublicClassifier:
    """Logistic regression of public labels on scaled public columns; each fit gets new weights.

    The penalty is ½‖coefficients‖²; the intercept has none. No private column is read.

    Parameters
    ----------
    rows : PublicRows
    n_bins : ndarray of shape (n_public,)
        The number of bins of each public column.
    """

    def __init__(self, rows: PublicRows, n_bins: Ints) -> None:
        self._rows, self._inputs = rows, scale_codes(rows.codes, n_bins)
        self._last: Floats | None = None

    def fit(self, weights: Floats) -> LinearScore:
        """Fit the model; each record of row i has the weight ``weights[i]``.

        The search starts at the previous fit's solution, so it is fast if weights change little.
        """
        mass = self._rows.counts * weights
        score = LinearScore(*regress(self._inputs, self._rows.signs, mass, start=self._last))
        self._last = np.append(score.coefficients, score.intercept)
        return score

    def wrong(self, score: LinearScore) -> Bools:
        """Return for each row whether `score` predicts a wrong label; a score of 0 predicts −1."""
        return (score.score(self._inputs) > 0) != (self._rows.signs > 0)


NO_START = "none"
PUBLIC_START = "public"


@dataclass(frozen=True)
class PublicStart:
    """A model of the public columns, to whose log-odds a private learner adds its own score.

    It depends only on public columns and labels, so it has the same bits for any content of the
    private columns, and costs no privacy (docs/proofs.md, 'Public start').
    """

    columns: tuple[int, ...]  # positions of the public columns
    n_bins: Ints  # (n_public,): the number of bins of each public column
    coefficients: Floats  # (n_bins.sum(),): one for each bin of each public column
    intercept: float

    @classmethod
    def fit(cls, rows: PublicRows, roles: Roles, n_bins: Ints) -> PublicStart:
        """Fit a logistic regression (C = 1, intercept not penalised) to public columns."""
        public = tuple(roles.public or ())
        bins = n_bins[list(public)]
        inputs = one_hot(rows.codes, bins) if public else np.zeros((len(rows.signs), 0))
        return cls(public, bins, *regress(inputs, rows.signs, rows.counts))

    def check(self, columns: Sequence[int], n_bins: Ints) -> None:
        """Check that a start read from a file fits these public columns; ValueError if not."""
        bins = n_bins[list(columns)]
        same = self.columns == tuple(columns) and np.array_equal(self.n_bins, bins)
        fits = self.coefficients.shape == (int(bins.sum()),)
        require(same and fits, "its start belongs to other public columns")

    def log_odds(self, codes: Codes) -> Floats:
        """Return the log-odds of the positive label for rows with the bins of all columns."""
        public = codes[:, list(self.columns)]
        return _log_odds(public, self.n_bins, self.coefficients, self.intercept)


@kernel(rows=0)
def _log_odds(codes: Codes, n_bins: Ints, coefficients: Floats, intercept: float) -> Floats:
    if not len(n_bins):
        return np.full(len(codes), intercept)
    return times(one_hot(codes, n_bins), coefficients) + intercept


@dataclass(kw_only=True, eq=False, repr=False)
class StartClassifier(PrivateClassifier, StartParameters):
    """Base of learners whose scores may start from a model of the public columns."""

    public_columns: Sequence[int] | None = None

    def _roles(self) -> Roles:
        """Return which columns are public; without a public start all are private."""
        if self.start != NO_START and self.public_columns is None:
            raise ValueError(
                f"{self._learner}: start = {self.start!r} needs public_columns=, the positions of "
                "public columns (in a study: neighbours: private-columns)"
            )
        public = None if self.start == NO_START else self.public_columns
        return Roles.from_positions(self._learner, public, self.n_features_in_)


def check_start(learner: Any, roles: Roles) -> None:
    """Check that a learner read from a file has a start if some columns are public, and only then.

    Raises ValueError if not, or if the start is for other columns.
    """
    started = roles.public is not None
    require(started == hasattr(learner, "start_"), "its start does not belong to its parameters")
    if roles.public is not None:
        learner.start_.check(roles.public, learner.n_bins_)
