"""The whole fitted state of a model, as numbers: whatever a fit leaves on it is released."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from privcurve.audit.fits import fits, untrained
from privcurve.audit.pairs import Pair
from privcurve.coding import Floats, Records
from privcurve.learners.base import REQUESTS, CodedClassifier
from privcurve.privacy.ledger import PrivacyStatement

# The score of the canary, beside the attributes.
SCORE = "score of the canary"

# Stands for what a fit did not leave, while another did.
ABSENT = -1e30


@dataclass(frozen=True)
class States:
    """What many fits left on their models.

    Attributes
    ----------
    columns : mapping of str to ndarray of shape (n_fits, n_numbers)
        The numbers of each attribute, `ABSENT` where a fit left fewer than another.
    rates : tuple of float
        Of noise that is added to numbers (Laplace, Gaussian), as the statement says: a
        number times its rate is in the unit that the noise was drawn in.
    """

    columns: Mapping[str, Floats]
    rates: tuple[float, ...] = ()

    @classmethod
    def gather(cls, rows: Sequence[Mapping[str, Floats]], rates: tuple[float, ...] = ()) -> States:
        """Put the states of fits below each other."""
        columns = {}
        for name in dict.fromkeys(name for row in rows for name in row):
            width = max(len(row[name]) for row in rows if name in row)
            table = np.full((len(rows), width), ABSENT)
            for i, row in enumerate(rows):
                if name in row:
                    table[i, : len(row[name])] = row[name]
            columns[name] = table
        return cls(columns, rates)

    def widened(self, like: States) -> dict[str, Floats]:
        """Return the columns, with room for all that the other side has."""
        n = len(next(iter(self.columns.values())))
        found = {}
        for name in dict.fromkeys([*self.columns, *like.columns]):
            widths = [side.columns[name].shape[1] for side in (self, like) if name in side.columns]
            found[name] = np.full((n, max(widths)), ABSENT)
            if name in self.columns:
                found[name][:, : self.columns[name].shape[1]] = self.columns[name]
        return found


def left_on(model: Any) -> dict[str, Any]:
    """Return all attributes that a fit left on a model: parameters are none of them."""
    known = _parameters(type(model))  # type: ignore[arg-type]
    return {name: value for name, value in vars(model).items() if name not in known}


@lru_cache(maxsize=64)
def _parameters(kind: Any) -> frozenset[str]:
    return frozenset((*kind._get_param_names(), REQUESTS))


def numbers(value: Any) -> Floats:
    """Turn anything that a model may hold into numbers.

    Numbers and arrays are kept as they are; a text and a statement become a checksum; of
    other objects every part is taken.

    Parameters
    ----------
    value : object

    Returns
    -------
    ndarray of shape (n_numbers,)

    Raises
    ------
    TypeError
        If there is nothing in it that could be read.
    """
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        found: Floats = value.astype(np.float64).ravel()
        return found
    if isinstance(value, (bool, int, float, np.number, np.bool_)):
        return np.array([value], dtype=np.float64)
    if isinstance(value, PrivacyStatement):
        return np.array([_checksum(value)], dtype=np.float64)
    if isinstance(value, (str, bytes)):
        text = value.encode() if isinstance(value, str) else value
        return np.array([zlib.crc32(text)], dtype=np.float64)
    if value is None:
        return np.zeros(0)
    if isinstance(value, Mapping):
        parts = [part for item in value.items() for part in item]
    elif isinstance(value, np.ndarray):
        parts = value.ravel().tolist()
    elif isinstance(value, (tuple, list, set, frozenset)):
        parts = list(value)
    elif hasattr(value, "__dict__"):
        parts = list(vars(value).values())
    else:
        raise TypeError(f"the audit can't read a {type(value).__name__} that a fit left on a model")
    return np.concatenate([np.array([len(parts)], dtype=float), *map(numbers, parts)])


@lru_cache(maxsize=256)
def _checksum(said: PrivacyStatement) -> int:
    return zlib.crc32(said.to_json().encode())


def sample_states(
    learner: CodedClassifier, pair: Pair, side: Records, n: int, rng: np.random.Generator
) -> States:
    """Train n times, and take all that each fit leaves on the model.

    The recipe for any learner: no insight into it is needed. All but the pair, whose canary is
    scored, is given as to :func:`~privcurve.audit.fits.fits`.
    """
    before = left_on(untrained(learner, side))
    always = {name: numbers(value) for name, value in before.items()}
    canaries, labels = pair.canaries, pair.labels
    rows: list[dict[str, Floats]] = []
    rates: tuple[float, ...] = ()
    for model in fits(learner, side, n, rng):
        if not rows:
            rates = added_rates(model.privacy_)
        row = dict(always)
        for name, value in left_on(model).items():
            if name not in before or value is not before[name]:
                row[name] = numbers(value)
        row[SCORE] = np.array([model._scores(canaries) @ labels])
        rows.append(row)
    return States.gather(rows, rates)


def added_rates(said: PrivacyStatement) -> tuple[float, ...]:
    """Return the rates of noise that is added to numbers, each once."""
    rates = {e.noise_rate for e in said.ledger if e.mechanism in ("laplace", "gaussian")}
    return tuple(sorted(rates))
