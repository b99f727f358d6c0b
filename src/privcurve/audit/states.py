"""Convert the complete fitted state of a model to numbers, as attacks may use all of a release."""

from __future__ import annotations

import itertools
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from privcurve.audit.fits import copy_untrained, fits
from privcurve.audit.pairs import Pair
from privcurve.coding import Floats, Records
from privcurve.learners.base import OF_SKLEARN, CodedClassifier
from privcurve.privacy.budget import ADD_REMOVE
from privcurve.privacy.ledger import PrivacyStatement

# Name of the column with the canary's score; other columns have the names of fitted attributes.
SCORE = "score of the canary"

# Fills the rows of fits in which an attribute has fewer numbers than in other fits.
ABSENT = -1e30


@dataclass(frozen=True)
class States:
    """The fitted states of many models."""

    # For each attribute, its numbers in each fit: (n_fits, n_numbers), padded with `ABSENT`.
    columns: Mapping[str, Floats]
    # The distinct values of 1/scale of the Laplace and Gaussian noise in the ledger. A released
    # number times 1/scale of its noise is in units of the noise.
    rates: tuple[float, ...] = ()

    @classmethod
    def gather(cls, rows: Sequence[Mapping[str, Floats]], rates: tuple[float, ...] = ()) -> States:
        """Collect the states of fits; each of `rows` maps the attributes of a fit to numbers."""
        names = dict.fromkeys(name for row in rows for name in row)
        columns = {}
        for name in names:
            parts = [row.get(name, np.zeros(0)) for row in rows]
            columns[name] = np.full((len(rows), max(map(len, parts))), ABSENT)
            for line, part in zip(columns[name], parts, strict=True):
                line[: len(part)] = part
        return cls(columns, rates)

    def widen(self, like: States) -> dict[str, Floats]:
        """Return the columns, padded with `ABSENT` to a width that is enough for `like`, too."""
        n = len(next(iter(self.columns.values())))
        columns = {}
        for name in dict.fromkeys([*self.columns, *like.columns]):
            own, other = (side.columns.get(name, np.zeros((n, 0))) for side in (self, like))
            columns[name] = np.full((n, max(own.shape[1], other.shape[1])), ABSENT)
            columns[name][:, : own.shape[1]] = own
        return columns


def fitted_attributes(model: object) -> dict[str, Any]:
    """Return all attributes of a fitted model, by name, without its parameters."""
    parameters = _parameters(type(model))  # type: ignore[arg-type]
    return {name: value for name, value in vars(model).items() if name not in parameters}


@lru_cache(maxsize=64)
def _parameters(kind: Any) -> frozenset[str]:
    return frozenset((*kind._get_param_names(), *OF_SKLEARN))


class _Holder(NamedTuple):
    """Describes a container: its type, number of parts, and shape or names of attributes."""

    kind: type
    n_parts: int
    form: tuple[Any, ...] = ()


def _leaves(value: object) -> Iterator[Any]:
    """Yield all values within a model's attribute, depth first, with a `_Holder` for a container.

    The other values are arrays, numbers, texts, statements and None.
    """
    form: tuple[Any, ...] = ()
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        parts, form = value.ravel().tolist(), value.shape
    elif value is None or isinstance(value, _VALUES):
        yield value
        return
    elif isinstance(value, Mapping):
        parts = [part for item in value.items() for part in item]
    elif isinstance(value, (set, frozenset)):
        parts = sorted(value, key=repr)
    elif isinstance(value, (tuple, list)):
        parts = list(value)
    elif hasattr(value, "__dict__") and not callable(value):
        parts, form = list(vars(value).values()), tuple(vars(value))
    else:
        raise TypeError(f"the audit can't read an attribute of type {type(value).__name__}")
    yield _Holder(type(value), len(parts), form)
    for part in parts:
        yield from _leaves(part)


_VALUES = (np.ndarray, bool, int, float, str, bytes, np.generic, PrivacyStatement)


def is_same(one: object, other: object) -> bool:
    """Return whether two values are equal bit for bit, including shapes, types and order."""
    pairs = itertools.zip_longest(_leaves(one), _leaves(other))
    return all(itertools.starmap(_is_same_leaf, pairs))


def _is_same_leaf(one: object, other: object) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, (np.ndarray, float, np.floating)):
        one, other = np.asarray(one), np.asarray(other)
        forms = ((side.dtype, side.shape, side.tobytes()) for side in (one, other))
        return next(forms) == next(forms)
    return bool(one == other)


def numbers(value: object) -> Floats:
    """Convert a model's attribute to numbers, in one dimension.

    A container becomes its number of parts, then its parts; texts and statements become checksums.
    """
    return np.concatenate([np.zeros(0), *map(_number, _leaves(value))])


def _number(leaf: object) -> Floats:
    if isinstance(leaf, np.ndarray) and leaf.dtype.kind in "biuf":
        return leaf.astype(np.float64).ravel()
    if isinstance(leaf, np.ndarray):
        return np.array([_number(part)[0] for part in leaf.ravel().tolist()])
    if isinstance(leaf, _Holder):
        return np.array([leaf.n_parts], dtype=np.float64)
    if isinstance(leaf, PrivacyStatement):
        return np.array([_checksum(leaf)], dtype=np.float64)
    if isinstance(leaf, (str, bytes)):
        return np.array([zlib.crc32(leaf.encode() if isinstance(leaf, str) else leaf)], dtype=float)
    return np.zeros(0) if leaf is None else np.array([leaf], dtype=np.float64)


@lru_cache(maxsize=256)
def _checksum(statement: PrivacyStatement) -> int:
    return zlib.crc32(statement.to_json().encode())


def sample_states(
    learner: CodedClassifier, pair: Pair, side: Records, n: int, rng: np.random.Generator
) -> States:
    """Train any learner `n` times; return the fitted states, and the scores of the canary."""
    before = fitted_attributes(copy_untrained(learner, side))
    always = {name: numbers(value) for name, value in before.items()}
    rows: list[dict[str, Floats]] = []
    rates: tuple[float, ...] = ()
    for model in fits(learner, side, n, rng):
        if not rows:
            laws = ("laplace", "gaussian")
            added = {e.noise_rate for e in model.privacy_.ledger if e.mechanism in laws}
            rates = tuple(sorted(added))
        changed = {
            name: numbers(value)
            for name, value in fitted_attributes(model).items()
            if name not in before or value is not before[name]
        }
        rows.append({**always, **changed, SCORE: np.array([canary_score(model, pair)])})
    return States.gather(rows, rates)


def sample_canary_scores(
    learner: CodedClassifier, pair: Pair, side: Records, n: int, rng: np.random.Generator
) -> Floats:
    """Train any learner `n` times; return the canary's score in each fit."""
    with warnings.catch_warnings():
        # Ignore warnings of fits (e.g. that a solver did not converge): their scores still count.
        warnings.simplefilter("ignore")
        return np.array([canary_score(model, pair) for model in fits(learner, side, n, rng)])


def canary_score(model: Any, pair: Pair) -> float:
    """Return a score of the canary that tends to be larger in fits to the left side."""
    scores = model._scores(pair.canaries)
    if scores.ndim == 2:
        # Scores have a row per version of the differing record (left and right; for add-remove, the
        # added record), and a column per class. Take the score for the class of the record.
        if pair.neighbours == ADD_REMOVE:
            sign = 1 if pair.larger is pair.left else -1
            return float(sign * scores[0, int(pair.larger.labels[0])])
        left, right = int(pair.left.labels[0]), int(pair.right.labels[0])
        return float(scores[0, left] - scores[1, right])
    return float(scores @ pair.labels)
