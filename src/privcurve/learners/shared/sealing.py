"""Run fits on sealed records, and determine the status of a fit's guarantee.

All private fits get sealed records, except fits of other libraries' learners and fits with a
calibration in `LearnerEntry.sees_open`.
"""

from __future__ import annotations

import gc
import linecache
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from sys import getrefcount
from types import MethodType
from typing import Any

import numpy as np

from privcurve.learners import own
from privcurve.learners.registry import LEARNERS, entry, is_ours, is_shipped
from privcurve.learners.shared import merging
from privcurve.privacy.budget import ADD_REMOVE, PROVED, is_private
from privcurve.privacy.curator import ROUNDING, Curator, DoorError, party_of
from privcurve.privacy.ledger import AUTHORS_WORD, DERIVED, PrivacyStatement
from privcurve.privacy.parts import seal_records
from privcurve.privacy.reach import PLAIN
from privcurve.privacy.refused import FitName, SealedError, fit_named, name_line
from privcurve.privacy.sealed import Sealed

# Methods of a learner that get records before they are sealed. Subclasses must not override them.
FINAL = (
    *("fit", "fit_records", "_fit_rows", "_train"),
    *("_encode", "_targets", "_with_schema_facts"),
)
# Methods that determine a fit's statement. A user's learner that overrides one is not ``derived``.
STATING = ("_fit_batch", "_fit_one", "_guarantee", "_noise_of", "_neighbours")
# The attribute with the guarantee of a fit. Only classes of this project may define it.
STATED = "privacy_"


def replaced_methods(kind: type[Any], base: type[Any]) -> list[str]:
    """Return the methods of `FINAL` that a learner class overrides without permission."""
    learner = LEARNERS.get(getattr(kind, "_learner", ""))
    if learner is not None and learner.stays_open:
        return []
    return [name for name in FINAL if getattr(kind, name) is not getattr(base, name)]


def check_methods(kind: type[Any], base: type[Any]) -> None:
    """Raise TypeError if a learner class overrides a method of `FINAL`, or defines `STATED`."""
    if replaced := replaced_methods(kind, base):
        raise TypeError(
            f"{kind.__name__} must not replace {', '.join(replaced)}: a method that sees open "
            "records can leave them on the model. Write _release, which gets sealed records "
            "(docs/own_method.md)"
        )
    for one in kind.__mro__:
        if STATED in vars(one) and not is_ours(one.__module__):
            raise TypeError(
                f"{one.__name__} must not define {STATED}, the guarantee of a fit: return a "
                "statement from _guarantee or _fit_one (docs/own_method.md)"
            )


def statement_as_known(learner: Any, statement: PrivacyStatement) -> PrivacyStatement:
    """Return a statement, with the status ``claimed`` unless this project proves the learner.

    The project proves only its own unchanged learners. It does not prove a subclass, another
    library's learner, or a selection with a user's own learner among the candidates.
    """
    if type(statement) is not PrivacyStatement:
        raise TypeError(
            f"{type(learner).__name__}: a fit must return a PrivacyStatement (_noise_of, "
            f"_guarantee); got {type(statement).__name__}"
        )
    if not is_shipped(type(learner)):
        tried = own.tried(learner._learner) if own.is_own(type(learner)) else own.NOT_TRIED
        return statement.as_claimed(f"{AUTHORS_WORD}; {tried}")
    for name in learner._trained_learners():
        if entry(name).proof is None:
            return statement.as_claimed(f"{name}: {AUTHORS_WORD}; {own.tried(name)}")
    return statement


def state_fit(learner: Any, statement: PrivacyStatement, curator: Curator) -> PrivacyStatement:
    """Return the statement of a fit with its final status.

    The statement says whether the records were sealed. The status is ``derived`` if the library
    derived all sensitivities from the computation of the sums. A user's own learner gets it only
    if it overrides no method of `STATING`, so that the library itself computed the noise for the
    announced calls.
    """
    if statement.status == DERIVED:
        raise DoorError(
            f"status must not be {DERIVED!r}, which only the library may state: state {PROVED!r}"
        )
    kind = type(learner)
    states = not is_shipped(kind) and any(_is_replaced(kind, name) for name in STATING)
    if statement.private and statement.status == PROVED and curator.derived and not states:
        return replace(statement, status=DERIVED, sealed=bool(curator.sealed_for))
    statement = statement_as_known(learner, statement)
    return replace(statement, sealed=bool(curator.sealed_for))


def _is_replaced(kind: type[Any], method: str) -> bool:
    """Return whether the method of a class is defined outside of this project."""
    return not is_ours(str(getattr(getattr(kind, method), "__module__", "")))


def fit(learners: Sequence[Any], records: Any, curators: Sequence[Curator]) -> None:
    """Train learners that differ only in hyperparameters, on records in memory or partitioned.

    Private learners get sealed records, others the records themselves. After a private fit, the
    function searches the learners for sealed values and sources of noise that must not be kept.
    There is one curator per learner. Raises SealedError if a learner kept such a value, and
    DoorError if this fit is a part of another private fit, which does not pay for it.
    """
    groups: dict[tuple[bool, bool], list[int]] = {}
    for k, learner in enumerate(learners):
        counted = learner._neighbours() != ADD_REMOVE
        groups.setdefault((sees_sealed(learner), counted), []).append(k)
    for (private, counted), places in groups.items():
        chosen, doors = [learners[k] for k in places], [curators[k] for k in places]
        name = chosen[0]._learner
        if not private:
            merging.fit(chosen, records, doors)
            continue
        if records.learner and not all(door.sealed_for or door.paid for door in doors):
            raise DoorError(
                f"{name} is fitted inside of a private fit by a curator whose cost is not charged: "
                "pass the curator of the fit, or one of its runs (curator.inner)"
            )
        fit_name = FitName(name)
        for learner, door in zip(chosen, doors, strict=True):
            door.has_theorems = is_shipped(type(learner))
        n_alone = getrefcount(fit_name)
        _seal_for(doors, fit_name)
        n_before = _count_references(doors)
        # NumPy's warnings (such as a division by 0) would reveal exact values, so all are off.
        with fit_named(fit_name), np.errstate(all="ignore"):
            merging.fit(chosen, seal_records(fit_name, records, counted), doors)
        if fit_name.refused:
            raise fit_name.refused
        _seal_for(doors, name)
        # Searching a model for kept objects is slow. It is needed only if a curator, a stream or a
        # sealed value still has references, which reference counts show.
        others = [group for door in doors for group in (door.parties, door.inners) if group]
        is_kept = any({*_count_references(group)} - {_ALONE} for group in others)
        if is_kept or _count_references(doors) != n_before:
            for learner in chosen:
                refuse_noise_kept(learner, name)
        is_left = getrefcount(fit_name) > n_alone
        if records.learner or is_left:
            for learner in chosen:
                refuse_kept(learner, name)
        if is_left:
            gc.collect()  # frees values that only reference cycles still hold
            if getrefcount(fit_name) > n_alone:
                what = "a sealed value is left after the fit, in a module, a class or a function"
                raise SealedError(name, what, place=type(chosen[0]).__name__)


def check_asked(learner: Any, statement: PrivacyStatement) -> PrivacyStatement:
    """Return a statement; raise DoorError if it guarantees less than the parameters say."""
    for name in ("epsilon", "delta"):
        wanted, stated = getattr(learner, name, math.inf), getattr(statement, name)
        if not stated <= wanted * (1 + ROUNDING):
            raise DoorError(
                f"{name} of the statement must be the requested {wanted:g}; it is {stated:g}"
            )
    wanted = getattr(learner, "neighbours", statement.neighbours)
    if statement.private and statement.neighbours != wanted:
        raise DoorError(
            f"neighbours of the statement must be the requested {wanted}; got "
            f"{statement.neighbours}"
        )
    return statement


def refuse_kept(model: Any, learner: str) -> None:
    """Raise SealedError if a fitted model still holds a sealed value."""
    # The statement needs no search: its numbers were compared with the curator's calls.
    for name, value in vars(model).items():
        if name != "_fitted_statement" and (kept := _find_held(value)) is not None:
            what = f"{name} of the fitted model holds {kept.dtype} values"
            raise SealedError(learner, what, place=_line_of(model, name))


def _line_of(model: Any, attribute: str) -> str:
    """Return which line of a learner's file sets an attribute, or else the name of the class."""
    path = getattr(sys.modules[type(model).__module__], "__file__", None) or ""
    sets = re.compile(rf"\bself\.{attribute}\b[^=]*=(?!=)")
    lines = (k for k, line in enumerate(linecache.getlines(path), 1) if sets.search(line))
    number = next(lines, None)
    return name_line(path, number) if number else type(model).__name__


def _seal_for(doors: Sequence[Curator], name: str) -> None:
    # This loop is a separate function: in `fit`, its variable would be one more reference to a
    # curator, which `_count_references` would count.
    for door in doors:
        for one in (door, *door.parties):
            one.sealed_for = name


def _count_references(doors: Sequence[Curator]) -> list[tuple[int, int]]:
    """Return the reference counts of each curator and of its random stream."""
    return [(getrefcount(door), getrefcount(door._source)) for door in doors]


# The reference counts of a curator to which only a list refers.
(_ALONE,) = _count_references([party_of(0)])


def _find_held(value: Any, kinds: type | tuple[type, ...] = Sealed) -> Any:
    """Search `value`, its attributes and its containers for an object of the given types.

    Returns the first such object, or None.
    """
    left: list[Any] = [value]
    seen = set()
    for one in left:
        if isinstance(one, kinds):
            return one
        kind = type(one)
        if (kind is np.ndarray and not one.dtype.hasobject) or id(one) in seen:
            continue
        seen.add(id(one))
        parts: Iterable[Any] = ()
        if isinstance(one, (tuple, list, set, frozenset)):
            parts = one
        elif isinstance(one, np.ndarray):
            parts = one.ravel().tolist() if one.dtype.hasobject else ()
        elif isinstance(one, Mapping):
            parts = (*one.keys(), *one.values())
        elif isinstance(one, MethodType):
            parts = (one.__self__,)
        elif closure := getattr(one, "__closure__", None):
            parts = [cell.cell_contents for cell in closure]
        left += [part for part in parts if type(part) not in PLAIN]
        if hasattr(one, "__dict__") and not isinstance(one, type):
            left += vars(one).values()
    return None


def refuse_noise_kept(model: Any, name: str) -> None:
    """Raise SealedError if a fitted model still holds a curator or a random generator."""
    for key, value in vars(model).items():
        if key == "random_state":
            continue
        if (source := _find_held(value, (Curator, np.random.Generator))) is not None:
            what = (
                f"{key} of the fitted model has a {type(source).__name__}, which reveals the noise"
            )
            raise SealedError(name, what, "store its answers instead", _line_of(model, key))


def sees_sealed(learner: Any) -> bool:
    """Return whether a fit of this learner must get sealed records."""
    registered, facts = entry(learner._learner), vars(learner)
    if registered.peer or not is_private(facts.get("epsilon", math.inf)):
        return False
    return facts["calibration"] not in registered.sees_open
