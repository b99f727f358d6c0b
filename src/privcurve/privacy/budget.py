"""Define the terms of a guarantee: neighbouring relations and calibrations; check ε and δ."""

from __future__ import annotations

import math
import numbers
import sys
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

from privcurve.stored import SPOKEN, STORED

REPLACE_ONE = "replace-one"
PRIVATE_COLUMNS = "private-columns"
ADD_REMOVE = "add-remove"

PUBLISHED = "published"
PROVED = SPOKEN

# Smallest δ above 0: computations with a smaller one lose precision.
LEAST_DELTA = 1e-300
# Largest finite ε: the square of a larger one, times a number of records, may overflow.
MOST_EPSILON = 1e100

# A δ of at least SMALL_SHARE/n, with n records, causes a warning.
SMALL_SHARE = 0.1
# Relative tolerance for rounding where δ is compared with SMALL_SHARE/n: so δ = SMALL_SHARE/n
# causes the warning for any n.
_TOLERANCE = 1e-9

# The warning printed with every comparison of learners on private records.
LOOKED = """\
This comparison has looked at the records: its numbers are exact statistics of them, and ε covers
none of them. Keep them to those who may see the records. A model of the learner that came out
first has its ε only if the choice is counted as public. If that is too much, choose before looking
(PrivGAM, the default of release, needs no setting), compare on public data that are alike, or have
the choice paid for (--private-choice).\
"""


@dataclass(frozen=True)
class Relation:
    """A neighbouring relation: which datasets are neighbours."""

    name: str
    description: str
    # Words for the change of one record, as the end of "had any one record been …".
    change: str
    # The same as `change`, but for all records of one person.
    of_person: str
    # Largest number of cells of a histogram that differ between neighbours.
    touched: float


NEIGHBOURS = (
    Relation(
        REPLACE_ONE,
        "any one record is replaced by any other; the number of records is public",
        "replaced by another",
        "replaced by as many others",
        2.0,
    ),
    # Neighbours under private-columns are also replace-one neighbours, so every replace-one
    # guarantee holds for them.
    Relation(
        PRIVATE_COLUMNS,
        "any one record changes in its private columns, and in its label where that is private; "
        "the public columns and public label of all records are known, and so is their number",
        "given other values in its private columns",
        "given other values in their private columns, and in their labels where those are private",
        2.0,
    ),
    Relation(
        ADD_REMOVE,
        "any one record is added or left out; the claim of other libraries",
        "added or left out",
        "added or left out",
        1.0,
    ),
)


def relation(neighbours: str) -> Relation:
    """Return a neighbouring relation by its name."""
    for one in NEIGHBOURS:
        if one.name == neighbours:
            return one
    names = ", ".join(repr(one.name) for one in NEIGHBOURS)
    raise ValueError(f"neighbours must be one of {names}; got {neighbours!r}")


def implies(stated: str, wanted: str) -> bool:
    """Return whether a guarantee for one neighbouring relation also holds for another.

    Neighbours that differ in private columns alone are neighbours under ``replace-one``.
    """
    return stated == wanted or (stated, wanted) == (REPLACE_ONE, PRIVATE_COLUMNS)


def replace_one_guarantee(epsilon: float, delta: float) -> tuple[float, float]:
    """Return the ``replace-one`` guarantee of a mechanism with an ``add-remove`` guarantee.

    Replacing a record means removing one and adding one: a group of two changes.
    """
    return group_guarantee(epsilon, delta, 2)


def group_guarantee(epsilon: float, delta: float, size: int) -> tuple[float, float]:
    """Return the guarantee for a change of `size` records, if (ε, δ) holds for one record.

    The records are changed one after another. Each change multiplies the probability p of an event
    by at most e^ε, and adds at most δ. So after k changes it is at most e^(kε) p + δ (1 + e^ε + … +
    e^((k−1)ε)) (docs/proofs.md, 'Several records a person').
    """
    if not delta:
        return size * epsilon, 0.0
    # δ is at most 1, as every mechanism is (0, 1)-DP.
    return size * epsilon, min(1.0, delta * _group_factor(epsilon, size))


# Enough digits to round an exponential to the nearest float.
_DIGITS = Context(prec=40)


def exp(x: float) -> float:
    """Return e^x by decimal arithmetic, so that a statement does not need compiled code."""
    return float(_DIGITS.exp(Decimal(x)))


def most_right_guesses(epsilon: float, delta: float) -> float:
    """Return the largest probability of guessing which of two equally likely records was used.

    Let a and b be the probabilities of a right guess if the first, or the second, record was used.
    Then a ≤ e^ε (1 − b) + δ and b ≤ e^ε (1 − a) + δ; so (a + b)/2 ≤ (e^ε + δ)/(1 + e^ε).
    """
    odds = exp(-epsilon)
    return min(1.0, (1 + delta * odds) / (1 + odds))


def budget_within_group(epsilon: float, delta: float, size: int | None) -> tuple[float, float]:
    """Return the guarantee for one changed record with which `size` changed records have (ε, δ).

    This inverts :func:`group_guarantee`; a `size` of None means 1. The resulting δ may be too small
    to compute with: then :func:`check_budget` refuses it.
    """
    size = size or 1
    each = epsilon / size
    return each, delta / _group_factor(each, size) if delta else 0.0


def _group_factor(epsilon: float, size: int) -> float:
    """Return (e^(kε) − 1)/(e^ε − 1) as a sum; infinite if it overflows."""
    if size == 1:
        # Without this case, an infinite ε would give an infinite factor.
        return 1.0
    if epsilon * (size - 1) >= 700:
        return math.inf
    return math.fsum(exp(k * epsilon) for k in range(size))


def explain_renamed(word: Any) -> str:
    """Return the new name of a renamed calibration, to end a message; else an empty text."""
    return f": it is called {PROVED!r} now" if word == STORED else ""


def check_budget(epsilon: Any, delta: Any, who: str = "") -> None:
    """Check a budget: the only check of ε and δ; `who` begins the message, e.g. a learner's name.

    ε must be a number in (0, `MOST_EPSILON`], or infinite; δ must be 0, or a number in
    [`LEAST_DELTA`, 1). Booleans, NaN and text are not numbers. Raises ValueError otherwise.
    """
    who = f"{who}: " if who else ""
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        if _is_number(value) and sys.float_info.max < abs(value) < math.inf:
            raise ValueError(
                f"{who}{name} must be at most the largest float (1.8e308); give a smaller one"
            )
    if not (_is_number(epsilon) and epsilon > 0):
        raise ValueError(f"{who}epsilon must be a number > 0 (inf: not private); got {epsilon!r}")
    if MOST_EPSILON < epsilon < math.inf:
        raise ValueError(
            f"{who}epsilon must be at most {MOST_EPSILON:g}, or inf (not private); got "
            f"{float(epsilon)!r}, which is too large to compute with"
        )
    if not (_is_number(delta) and 0 <= delta < 1):
        raise ValueError(f"{who}delta must be a number in [0, 1); got {delta!r}")
    if 0 < delta < LEAST_DELTA:
        raise ValueError(
            f"{who}delta must be 0 or at least {LEAST_DELTA:g}; got {delta!r}, which is too "
            "small to compute with"
        )


def _is_number(value: Any) -> bool:
    # NumPy registers its numbers as `Real`, but not its bool.
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def explain_delta(delta: float, n: int | None, neighbours: str, person: str = "") -> str:
    """Return a sentence on the meaning of a δ for n records.

    `n` is None if the number of records is not public. `person` names the column of persons, if δ
    protects persons.
    """
    whose = f"all records of each {person}" if person else "each record whole"
    meaning = (
        f"delta = {delta:g}: whatever epsilon is, a mechanism of this delta may show {whose} "
        "with that probability"
    )
    if n is None:
        return f"{meaning}; it belongs well below one over their number, which is not public"
    about = "about " if neighbours == ADD_REMOVE else ""
    return f"{meaning}, which of {about}{n:,} records are {delta * n:.2g} in the mean"


def is_large_delta(delta: float, n: int | None) -> bool:
    """Return whether a δ causes a warning; any δ does if the number of records is not public."""
    return delta > 0 and (n is None or delta * n >= SMALL_SHARE * (1 - _TOLERANCE))


def suggest_delta(n: int | None) -> str:
    """Return advice on a δ small enough for n records; if n is None, for two records."""
    return f"Give a delta below {SMALL_SHARE / (n or 2):.2g}"


def is_private(epsilon: float) -> bool:
    """Return whether ε is finite."""
    return not math.isinf(epsilon)


_THREE_DIGITS = Context(prec=3, rounding=ROUND_CEILING)


def round_up(x: float) -> str:
    """Write a positive number with three digits, rounded up."""
    return f"{float(_THREE_DIGITS.create_decimal_from_float(x)):.3g}"
