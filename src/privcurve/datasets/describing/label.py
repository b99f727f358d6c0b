"""Find the classes of a label for a draft; refuse a column that is not a label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from privcurve.coding import MOST_CLASSES
from privcurve.datasets.coding import amount_of
from privcurve.datasets.describing.columns import PAIRS, normalize_word
from privcurve.datasets.describing.profile import Profile
from privcurve.datasets.errors import DatasetError
from privcurve.schema import suggestion

# A label with more distinct numbers is an amount, not a class.
_AMOUNTS = 20
_SHOWN = 8  # maximum number of values in a message


@dataclass(frozen=True)
class Classes:
    """The classes of a label, as a draft describes them."""

    # Keys of the label in the description, except `column`: `positive` and `negative`, or `classes`
    # if there are more than two. The value None is a blank.
    keys: dict[str, Any]
    summary: str  # values and their shares, shown to the owner
    n_missing: int = 0  # number of records without a label


@dataclass(frozen=True)
class LabelChoice:
    """What the user chose as label: its column and, optionally, the values of its classes."""

    column: str
    positive: Sequence[str] = ()
    negative: Sequence[str] = ()
    classes: Sequence[str] = ()

    @property
    def values(self) -> list[str]:
        """All values that the user named."""
        return [*self.positive, *self.negative, *self.classes]


def find_classes(choice: LabelChoice, profile: Profile, public: bool) -> Classes:
    """Find the classes of the label that the user chose.

    `public` says whether the records are public, so that classes may be copied from them. Raises
    DatasetError, with a summary of the column, if the column has no valid classes or contradicts
    `choice`.
    """
    values = choice.values
    _check_named(choice)
    # A word that usually means a missing value is a class if the user names it as one.
    absent = {text: n for text, n in profile.missing.items() if text not in values}
    counts = dict(profile.values)
    counts |= {text: n for text, n in profile.missing.items() if text in values}
    for value in (*choice.positive, *choice.negative):
        if value not in counts and not profile.more:
            raise DatasetError(
                f"no record has the label {value!r}{suggestion(value, counts)} "
                f"{choice.column!r} has the values {_write_shares(counts)}"
            )
    _check_values(choice, profile, counts, [text for text in absent if text])
    summary, n_missing = _write_shares(counts), sum(absent.values())
    if choice.classes:
        return Classes({"classes": list(choice.classes)}, summary, n_missing)
    if not values and len({value.casefold() for value in counts}) > 2:
        return Classes({"classes": _sort_values(counts) if public else None}, summary, n_missing)
    positive, negative = (list(values) or None for values in (choice.positive, choice.negative))
    if not (positive and negative):
        convention = _find_convention(counts, positive, negative)
        if convention is not None:
            positive, negative = convention
        elif public:
            positive, negative = _split_values(counts, positive, negative)
    return Classes({"positive": positive, "negative": negative}, summary, n_missing)


def _check_named(choice: LabelChoice) -> None:
    """Raise DatasetError if the options of the user contradict each other."""
    both = sorted(set(choice.positive) & set(choice.negative))
    if both:
        raise DatasetError(f"{both[0]!r} is named as positive and as negative: keep one")
    if not choice.classes:
        return
    if choice.positive or choice.negative:
        raise DatasetError("--classes names all classes: leave out --positive and --negative")
    if len(set(choice.classes)) < 3 or len(set(choice.classes)) < len(choice.classes):
        raise DatasetError(
            "--classes must list three or more classes, each once; got "
            f"{' '.join(choice.classes)}. For two classes name --positive and --negative"
        )


def _check_values(
    choice: LabelChoice, profile: Profile, counts: dict[str, int], absent: list[str]
) -> None:
    n_classes = len({value.casefold() for value in counts})
    if n_classes < 2:
        what = f"a single value, {next(iter(counts))!r}" if counts else "no value"
        words = (
            f"; or, where {' and '.join(map(repr, absent))} is a class and not a missing "
            "label, name it by --negative or --positive"
        )
        raise DatasetError(
            f"the label {choice.column!r} must have two classes; it holds {what}. Name the "
            f"column that is to be predicted{words if absent else ''}"
        )
    if set(counts) <= set(choice.values):
        if choice.classes or (choice.positive and choice.negative):
            return
        side, other = ("positive", "negative") if choice.positive else ("negative", "positive")
        raise DatasetError(
            f"all values of the label {choice.column!r} are named as {side}: "
            f"{_write_shares(counts)}. Remove the {other} ones from --{side}"
        )
    if n_classes == 2 and not (profile.more or choice.classes):
        return
    if profile.is_mostly(profile.amounts(".", "")) and (profile.more or n_classes > _AMOUNTS):
        raise DatasetError(
            f"the label {choice.column!r} is an amount ({n_classes:,}{'+' if profile.more else ''} "
            "numbers): regression is not supported. Instead add a column of two values to the "
            "file, such as whether the amount is above a threshold that you set from public "
            "knowledge, name it by --label, and leave the amount out"
        )
    if not (choice.values or profile.more or n_classes > MOST_CLASSES):
        return
    raise DatasetError(
        f"the label {choice.column!r} has {n_classes:,}{'+' if profile.more else ''} values "
        f"({_write_shares(counts)}). Name none of them, so that each is a class (at most "
        f"{MOST_CLASSES}); or name all of them, as two classes: --positive A --negative B C …"
    )


def _find_convention(
    counts: dict[str, int], positive: list[str] | None, negative: list[str] | None
) -> tuple[list[str], list[str]] | None:
    """Return the values of the positive and of the negative class, if they are conventional words.

    Conventional words are pairs such as "yes" and "no". By default, "yes" is the positive class. If
    the user chose "no" as positive, or "yes" as negative, the classes are exchanged. Returns None
    if the values are not the words of one pair, or contradict the user's choice.
    """
    for low, high in PAIRS:
        # Sort values, lower case first: their order in the table may reveal something about
        # records.
        sides = [
            sorted((v for v in counts if normalize_word(v) in words), key=str.swapcase)
            for words in (low, high)
        ]
        if not all(sides) or len(sides[0]) + len(sides[1]) < len(counts):
            continue
        if positive is None and negative is None:
            return sides[1], sides[0]
        # The owner may declare "no" as positive, so try both directions.
        for low_side, high_side in (sides, sides[::-1]):
            if (positive or high_side)[0] in high_side and (negative or low_side)[0] in low_side:
                return high_side, low_side
    return None


def _split_values(
    counts: dict[str, int], positive: list[str] | None, negative: list[str] | None
) -> tuple[list[str], list[str]]:
    """Assign two values, each with all its spellings, to the positive and the negative class.

    If the user assigns neither value to a class, the value of the first record is negative.
    """
    values = {value.casefold() for value in positive or negative or [next(iter(counts))]}
    side = [value for value in counts if value.casefold() in values]
    other = [value for value in counts if value.casefold() not in values]
    return (side, other) if positive else (other, side)


def _sort_values(counts: dict[str, int]) -> list[str] | dict[str, str]:
    """Return all values, sorted; numbers are sorted by size.

    If some values differ only in case, these are spellings of one class. The result then maps each
    value to the name of its class, which is the first of its spellings.
    """
    values = sorted(counts, key=lambda value: (amount_of(value, ".") or 0.0, value.swapcase()))
    first: dict[str, str] = {}
    titles = {value: first.setdefault(value.casefold(), value) for value in values}
    return values if len(first) == len(values) else titles


def _write_shares(counts: dict[str, int]) -> str:
    total = max(sum(counts.values()), 1)
    most = sorted(counts.items(), key=lambda pair: -pair[1])[:_SHOWN]
    values = ", ".join(f"{value!r} ({count / total:.1%})" for value, count in most)
    return values + (", …" if len(counts) > _SHOWN else "")
