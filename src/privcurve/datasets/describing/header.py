"""Refuse column names that look like a record.

If the first line of a file is a record instead of a line of names, its values would become column
names in the description, which is public.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from privcurve.datasets.coding import MISSING_WORDS, amount_of
from privcurve.datasets.describing.profile import Profile
from privcurve.datasets.errors import DatasetError
from privcurve.datasets.reading import BY_FILE, Format, kinds
from privcurve.schema import MOST_NAMED


def check_names(path: Path, form: Format, profiles: dict[str, Profile]) -> None:
    """Raise DatasetError if more column names look like values than like names.

    A name looks like a value if it is a value of its column, has the notation of most values of the
    column (numbers, dates, codes), or occurs twice among the names. A word looks like a name if all
    values of its column are numbers. (If the word were a value of the column, it could be in any
    line, and would seldom be in the first one.) The message does not show the names, because they
    may be values of a person.
    """
    columns = list(zip(form.names, form.fields, strict=False))
    twice = {name for name, count in Counter(form.names).items() if name and count > 1}
    is_frame = kinds()[form.parser["kind"]].naming == BY_FILE
    values = [
        place
        for place, (name, field) in enumerate(columns)
        # In frames, columns without names are numbered: "0" as the name of the first column is no
        # value.
        if not (is_frame and name == str(place))
        and ((name in twice and name != field) or _is_value(name, profiles[field]))
    ]
    n_names = sum(_is_name(name, profiles[field]) for name, field in columns)
    if len(values) <= n_names:
        return
    places = ", ".join(str(place + 1) for place in values[:MOST_NAMED])
    more = f" and {len(values) - MOST_NAMED} more" if len(values) > MOST_NAMED else ""
    s = "s" if len(values) > 1 else ""
    if is_frame:
        what, mend = "its column names look", "Give them names"
    else:
        what = "its first line looks"
        mend = (
            "If it is one, use --no-header (the columns become column1, column2, …), or add a "
            "line of names at the top; otherwise rename these columns there"
        )
    if all(name in profiles[field].values for name, field in columns):
        mend = f"{mend}. If the line of names occurs several times, keep the first"
    raise DatasetError(
        f"{path}: {what} like a record, which would become public as column names: in column{s} "
        f"{places}{more} the name is a value of the column, looks like its values, or occurs "
        f"twice. {mend}."
    )


def _is_value(name: str, profile: Profile) -> bool:
    """Return whether a name is a value of its column, or has the notation of most values."""
    if name and (name in profile.values or name in profile.missing):
        return True
    is_number = any(amount_of(name.replace(",", mark), ".") is not None for mark in ("", "."))
    if is_number and any(map(profile.is_mostly, profile.numbers.values())):
        return True
    shape = _shape(name)
    if not re.search(r"[^A-Za-z _.'-]", shape):
        return False
    alike = sum(n for value, n in profile.values.items() if _shape(value) == shape)
    return 2 * alike > profile.values.total()


def _is_name(name: str, profile: Profile) -> bool:
    """Return whether a name is a word, and all values of its column are numbers."""
    is_word = bool(re.search(r"[^\W\d_]", name)) and name.lower() not in MISSING_WORDS
    all_numbers = any(numbers.n == profile.n_present > 0 for numbers in profile.numbers.values())
    return is_word and all_numbers and not _is_value(name, profile)


def _shape(text: str) -> str:
    """Return the notation of a text: runs of digits become 9, runs of letters A, Aa or a."""
    text = re.sub(r"\d+", "9", text)
    text = re.sub(r"[^\W\d_a-z]+", lambda run: "A" if run[0].isupper() else "a", text)
    return re.sub(r"[a-z]+", "a", text)
