"""What the label of a draft is: two classes, or a refusal that says what exists instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from privcurve.datasets.drafts.columns import PAIRS, word
from privcurve.datasets.drafts.profile import Profile
from privcurve.datasets.errors import DatasetError
from privcurve.schema import nearest

# From so many numbers on a label is an amount rather than a class.
_AMOUNTS = 20
_SHOWN = 8


@dataclass(frozen=True)
class Classes:
    """Values of the two classes; None where they are to be decided.

    Attributes
    ----------
    positive, negative : list of str, optional
    seen : str
        For the screen of the holder.
    n_missing : int
        Records without a label.
    """

    positive: list[str] | None
    negative: list[str] | None
    seen: str
    n_missing: int = 0


@dataclass(frozen=True)
class LabelChoice:
    """The column of the label, and those values of its classes that are named."""

    column: str
    positive: Sequence[str] = ()
    negative: Sequence[str] = ()


def classes(choice: LabelChoice, profile: Profile, public: bool) -> Classes:
    """Find the two classes of a label, or refuse it and say what exists instead."""
    named = [*choice.positive, *choice.negative]
    # A word for no value may be a class of its own, if it is named.
    absent = {text: n for text, n in profile.missing.items() if text not in named}
    counts = dict(profile.values)
    counts |= {text: n for text, n in profile.missing.items() if text in named}
    both = sorted(set(choice.positive) & set(choice.negative))
    if both:
        raise DatasetError(f"{both[0]!r} is named as positive and as negative: keep one")
    for value in named:
        if value not in counts and not profile.more:
            raise DatasetError(
                f"no record has the label {value!r}{nearest(value, counts)} "
                f"{choice.column!r} holds {_listed(counts)}"
            )
    _refuse_others(choice, profile, counts, [text for text in absent if text])
    positive, negative = (list(values) or None for values in (choice.positive, choice.negative))
    if not (positive and negative):
        convention = _by_convention(counts, positive, negative)
        if convention is not None:
            positive, negative = convention
        elif public:
            positive, negative = _sides(counts, positive, negative)
    return Classes(positive, negative, _listed(counts), sum(absent.values()))


def _refuse_others(
    choice: LabelChoice, profile: Profile, counts: dict[str, int], absent: list[str]
) -> None:
    n_classes = len({value.casefold() for value in counts})
    if n_classes < 2:
        what = f"one value alone, {next(iter(counts))!r}" if counts else "no value"
        words = (
            f"; or, where {' and '.join(map(repr, absent))} is no missing label but one of the "
            "classes, name it by --negative or --positive"
        )
        raise DatasetError(
            f"the label {choice.column!r} holds {what}: there is nothing to tell apart. Take the "
            f"column that is to be predicted{words if absent else ''}"
        )
    both_named = choice.positive and choice.negative
    unnamed = set(counts) - {*choice.positive, *choice.negative}
    if not (unnamed or both_named):
        side, other = ("positive", "negative") if choice.positive else ("negative", "positive")
        raise DatasetError(
            f"all values of the label {choice.column!r} are named as {side}: {_listed(counts)}. "
            f"Leave out those that are {other}"
        )
    if (n_classes == 2 and not profile.more) or (both_named and not unnamed):
        return
    if both_named and not profile.more and len(unnamed) < _SHOWN:
        raise DatasetError(
            f"the label {choice.column!r} has values that are named neither as positive nor as "
            f"negative: {_listed({value: counts[value] for value in unnamed})}. Name all, or leave "
            "their records out of the file"
        )
    if profile.nearly_all(profile.points) and (profile.more or n_classes > _AMOUNTS):
        raise DatasetError(
            f"the label {choice.column!r} is an amount ({n_classes:,}{'+' if profile.more else ''} "
            "numbers): regression is not among what is here, classes are. What exists instead: add "
            "a column of two values to the file, such as whether the amount is above a threshold "
            "that you set from public knowledge, name it by --label, and leave the amount out"
        )
    raise DatasetError(
        f"the label {choice.column!r} has {n_classes:,}{'+' if profile.more else ''} values "
        f"({_listed(counts)}): drafts are of two classes. What exists instead: some values against "
        "the others, all named, --positive A --negative B C …; or more classes by hand, label: "
        "classes: [A, B, C] in the description (docs/datasets.md), for the learners that take them"
    )


def _by_convention(
    counts: dict[str, int], positive: list[str] | None, negative: list[str] | None
) -> tuple[list[str], list[str]] | None:
    """Return the values of the classes, if their words are settled by convention."""
    for low, high in PAIRS:
        # In an order that says nothing of records: small letters first.
        sides = [
            sorted((v for v in counts if word(v) in words), key=str.swapcase)
            for words in (low, high)
        ]
        if not all(sides) or len(sides[0]) + len(sides[1]) < len(counts):
            continue
        if positive is None and negative is None:
            return sides[1], sides[0]
        # The other way round, if the holder says so.
        for one, other in (sides, sides[::-1]):
            if (positive or other)[0] in other and (negative or one)[0] in one:
                return other, one
    return None


def _sides(
    counts: dict[str, int], positive: list[str] | None, negative: list[str] | None
) -> tuple[list[str], list[str]]:
    """Divide two values, however they are spelt; if none is named, the first one is negative."""
    named = {value.casefold() for value in positive or negative or [next(iter(counts))]}
    ones = [value for value in counts if value.casefold() in named]
    others = [value for value in counts if value.casefold() not in named]
    return (ones, others) if positive else (others, ones)


def _listed(counts: dict[str, int]) -> str:
    total = max(sum(counts.values()), 1)
    most = sorted(counts.items(), key=lambda pair: -pair[1])[:_SHOWN]
    shown = ", ".join(f"{value!r} ({count / total:.1%})" for value, count in most)
    return shown + (", …" if len(counts) > _SHOWN else "")
