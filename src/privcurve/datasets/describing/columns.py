"""Propose the kind of a column and the keys of its description from its values."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, field
from typing import Any

from privcurve import binning
from privcurve.datasets.blanks import WANTED
from privcurve.datasets.build import BIN, DATE, DRAFTED_BINS, TEXT
from privcurve.datasets.coding import (
    ISO,
    amount_of,
    has_short_years,
    matches,
    read_numbers,
    remove_grouping,
    strip_point,
)
from privcurve.datasets.describing.profile import LIKE_A_DATE, NEARLY_ALL, Profile, Range
from privcurve.datasets.domain import CATEGORICAL, MISSING, NUMERIC, OTHER, format_day

# Texts probably identify records if the number of distinct texts is larger than _FEW, and larger
# than the share _UNIQUE of all texts of the column.
_UNIQUE = 0.9
_FEW = 50
# Texts are sentences, not categories, if their mean number of characters is larger.
_SENTENCE = 40
# A message shows at most SHOWN values of a column. The draft for a public file lists the
# MOST_COPIED most frequent texts of a text column.
SHOWN = 8
MOST_COPIED = 100
# Maximum number of characters of a value in a message.
_LONGEST = 30
# Whole numbers may be codes of categories if a column has at most this many distinct values.
_CODES = 30

# Words that denote two classes by convention: pairs (words for the negative class, words for the
# positive class).
PAIRS = (
    (("no", "n", "false", "f", "0", "-1"), ("yes", "y", "true", "t", "1")),
    (("nein",), ("ja",)),
    (("non",), ("oui",)),
    (("negative", "neg"), ("positive", "pos")),
    (("absent",), ("present",)),
    (("control",), ("case",)),
)
_SEX = {"female": ["f", "female", "w", "woman", "women"], "male": ["m", "male", "man", "men"]}
_SEX_NAMES = re.compile(r"(^|[_\W])(sex|gender|geschlecht|sexe|sexo)($|[_\W])", re.IGNORECASE)
_IDENTIFIER = re.compile(r"(^|[_\W])(id|ids|uuid|guid|key|index|nr|number|ssn)$", re.IGNORECASE)
_CAMEL_IDENTIFIER = re.compile(r"[a-z]I[Dd]$")
# Column names that may identify people (clinics write MRN and PID, trials SUBJID and USUBJID).
_PERSON = re.compile(
    r"(^|[_\W])(id|ids|uuid|guid|ssn|pid|mrn|u?subjid"
    r"|patient|person|subject|customer|client|user|member|participant)$",
    re.IGNORECASE,
)
# A column with fewer distinct values probably contains groups of people, not single persons.
_LEAST_PEOPLE = 20
# Name that pandas gives to an unnamed index in Parquet files.
_INDEX = re.compile(r"__index_level_\d+__")

# Amounts in notations that are not read as numbers: 1,234.50, € 5, 92%.
_DRESSED = re.compile(r"[-+]?[^\w\s]{0,2}\s?[-+]?\d[\d.,'\s]*[^\w\s]{0,2}$")
# A number with a unit, such as 161 cm.
_WITH_UNIT = re.compile(r"[-+]?\d[\d.,]*\s?([^\W\d_]{1,5})$")

# Ambiguous numbers: 1.234 may also mean 1234, if the point separates thousands.
_IN_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}([.,]\d{3})+")

# Numbers of repeated digits 7, 8 or 9, which conventionally mark a missing value: 99, -9, 888.0.
_CODED = re.compile(r"-?(7+|8+|9+)([.,]0+)?")

# Bounds and numbers of bins that follow from the name of a column, which is public. Names such as
# "percent" are not listed: 25 % may be 25 in the file, or 0.25 (as Excel stores it).
_BY_NAME: dict[str, dict[str, Any]] = {
    "age": {"bounds": [0, 120], "n_bins": 120},
    "month": {"bounds": [1, 13], "n_bins": 12},
    "hour": {"bounds": [0, 24], "n_bins": 24},
    "minute": {"bounds": [0, 60]},
    "latitude": {"bounds": [-90, 90]},
    "longitude": {"bounds": [-180, 180]},
}

# The question to the data owner about numbers that may be codes of categories.
CODES_OR_NUMBERS = (
    "[lowest, highest] possible, if these are numbers; for codes (1 for man, 2 for woman) "
    "write only kind: categorical, categories: [1, 2, …]"
)

# Keys for the bins of numeric columns in drafts. These bins suit any distribution of the numbers
# within their bounds (docs/datasets.md).
FINE: dict[str, Any] = {"n_bins": DRAFTED_BINS, "spacing": binning.MIXED}


@dataclass(frozen=True)
class Proposal:
    """A proposed description of a column."""

    kind: str  # `""` for a column that is left out
    # Keys of the column in the description, except name and kind. The value None is a blank.
    keys: dict[str, Any] = field(default_factory=dict)
    # comments that the draft puts next to keys
    remarks: dict[str, str] = field(default_factory=dict)
    summary: str = ""  # a summary of the values, shown to the owner
    largest: float = 0.0  # largest absolute value of numbers
    is_whole: bool = False  # whether all numbers are whole
    # The most frequent texts of a text column, or all values of a numeric column whose numbers may
    # be codes of categories. Empty for other columns.
    words: frozenset[str] = frozenset()
    # Whether the column may name persons with several records each; ε should then protect persons.
    is_person: bool = False

    def is_like(self, other: Proposal) -> bool:
        """Return whether one entry of a description may describe both columns.

        The columns must have the same keys and similar values.
        """
        if (self.kind, self.keys, self.is_whole) != (other.kind, other.keys, other.is_whole):
            return False
        if self.kind == NUMERIC:
            return self.words == other.words
        common = len(self.words & other.words)
        return 2 * common >= min(len(self.words), len(other.words))


def propose(name: str, profile: Profile, decimal: str, thousands: str, public: bool) -> Proposal:
    """Propose the description of a column.

    `public` says whether the records are public, so that the proposal may contain their values.
    """
    amounts = profile.amounts(decimal, thousands)
    if _INDEX.fullmatch(name):
        return Proposal("", summary="row names written by pandas, not part of a record")
    if not profile.n_present:
        return Proposal("", summary="no values")
    if len(profile.values) == 1:
        return Proposal("", summary=f"a single value: {_list_frequent(profile)}")
    proposal = _propose_convention(name, profile)
    if proposal is not None:
        return proposal
    if any(profile.is_mostly(dates) for dates in profile.dates.values()):
        return _propose_date(profile, public)
    if profile.is_mostly(amounts) and not (profile.zeros and amounts.is_whole):
        return _propose_number(name, profile, decimal, thousands, public)
    return _propose_text(name, profile, public)


def _propose_convention(name: str, profile: Profile) -> Proposal | None:
    """Propose the description of a column of words such as yes and no; None for other columns."""
    words = {normalize_word(text) for text in profile.values}
    if profile.more or len(words) > 6:
        return None
    by_convention, summary = "words by convention", _list_frequent(profile)
    groups = [{low[0]: list(low), high[0]: list(high)} for low, high in PAIRS]
    if _SEX_NAMES.search(name):
        groups.insert(0, dict(_SEX))
    if words <= {"0", "1"}:
        keys = {"categories": [0, 1, OTHER, MISSING]}
        return Proposal(CATEGORICAL, keys, {"categories": by_convention}, summary)
    for pair in groups:
        if words <= set(itertools.chain(*pair.values())):
            return Proposal(TEXT, {"groups": pair}, {"groups": by_convention}, summary)
    return None


def normalize_word(text: str) -> str:
    """Convert a text to lower case, and drop the decimal part of a whole number (3.0 becomes 3)."""
    return strip_point(text).casefold()


def _propose_date(profile: Profile, public: bool) -> Proposal:
    most = max(dates.n for dates in profile.dates.values())
    forms = [form for form, dates in profile.dates.items() if dates.n == most]
    dates = profile.dates[forms[0]]
    keys: dict[str, Any] = {"bounds": None}
    remarks = {"bounds": "[first, last day], such as [1990-01-01, 2029-12-31]"}
    is_short = any(map(has_short_years, forms))
    if public and not is_short:
        keys["bounds"] = [format_day(dates.low), format_day(max(dates.high, dates.low + 10))]
        remarks["bounds"] = "of the file, which is public"
    if len(forms) > 1:
        keys["format"] = None
        remarks["format"] = "which format is it? " + " or ".join(f'"{form}"' for form in forms)
    elif forms[0] != ISO:
        keys["format"] = forms[0]
    summary = f"{format_day(dates.low)} to {format_day(dates.high)}"
    if is_short:
        remarks.setdefault("format", "of two digits: 69 is 1969 and 68 is 2068 if pivot is 1969")
        keys["pivot"] = None
        remarks["pivot"] = WANTED["pivot"]
        summary += ", if years of two digits begin with 1969: decide on pivot"
    if not public or profile.missing:
        keys["missing"] = BIN
    return Proposal(DATE, keys, remarks, summary)


def _propose_number(
    name: str, profile: Profile, decimal: str, thousands: str, public: bool
) -> Proposal:
    amounts = profile.amounts(decimal, thousands)
    what = "whole numbers" if amounts.is_whole else "numbers"
    n_values = f"{len(profile.values):,}" if not profile.more else f"over {len(profile.values):,}"
    summary = f"{amounts.low:,.10g} to {amounts.high:,.10g}, {n_values} {what}"
    written = list(profile.values)
    plain = remove_grouping(written, decimal, thousands)
    odd = [text for text, bare in zip(written, plain, strict=True) if not _is_amount(bare)][:3]
    if odd:
        summary += f"; no numbers: {', '.join(odd)}"
    summary += "" if thousands else _remark_on_thousands(profile)
    markers, others = _find_markers(plain, decimal)
    named, listed = " or ".join(markers.values()), [*map(_shorten_number, markers)]
    if markers:
        summary += (
            f"; if {named} stands for a missing value, add it to missing of this column: {listed}"
        )
    by_name = _BY_NAME.get(name.lower().removesuffix("_years"))
    may_identify = by_name is None and amounts.is_whole
    if may_identify and (_is_identifier(name, profile) or _is_sequence(profile, amounts)):
        return Proposal("", summary=f"{summary}; looks like an identifier")
    if may_identify and not public and _may_name_people(name, profile):
        return _propose_person(profile, summary)
    if may_identify and _is_unique(profile) and len(profile.values) > _FEW:
        summary += "; each occurs once: remove the column if it identifies records"
    summary += _remark_on_people(name, profile) if may_identify else ""
    may_be_codes = amounts.is_whole and not profile.more and len(profile.values) <= _CODES
    keys: dict[str, Any] = {"bounds": None, **FINE}
    remarks = {"bounds": CODES_OR_NUMBERS if may_be_codes else "[lowest, highest] possible"}
    # Markers of missing values are larger or smaller than all other numbers. If some values were
    # not counted, they may be still larger or smaller, so no number is taken for a marker.
    is_marked = public and bool(markers) and not profile.more
    if public:
        ends = (others[0], others[-1]) if is_marked else (amounts.low, amounts.high)
        keys["bounds"] = list(_round_bounds(*ends))
        remarks["bounds"] = "of the file, which is public" + f", without {named}" * is_marked
    elif by_name is not None:
        keys = dict(by_name) if "n_bins" in by_name else keys | by_name
        remarks["bounds"] = "from the name of the column: check that it fits"
    if amounts.is_whole and keys.get("spacing") == binning.MIXED:
        keys["whole"] = True
    elif amounts.is_whole and by_name is _BY_NAME["age"]:
        keys |= {"n_bins": 121, "whole": True}
    if is_marked:
        keys["missing"] = listed
        remarks["missing"] = f"right if {named} means no value; otherwise bin, and wider bounds"
    elif not public or profile.missing:
        keys["missing"] = BIN
    largest = max(abs(amounts.low), abs(amounts.high))
    # Two numeric columns whose numbers may be codes share an entry only if their sets of values are
    # equal. The values of a column with fewer than five records per value are not compared, because
    # the column may lack some of them by chance.
    are_codes = may_be_codes and largest <= _CODES and 5 * len(profile.values) <= profile.n_present
    codes = frozenset(profile.values) if are_codes else frozenset()
    return Proposal(NUMERIC, keys, remarks, summary, largest, amounts.is_whole, codes)


def _propose_text(name: str, profile: Profile, public: bool) -> Proposal:
    n_values = len(profile.values)
    summary = f"{'over ' if profile.more else ''}{n_values:,} texts: {_list_frequent(profile)}"
    summary += _remark_on_form(profile)
    if not public and _may_name_people(name, profile):
        return _propose_person(profile, summary)
    summary += _remark_on_people(name, profile)
    unique = n_values > _FEW and profile.share_distinct > _UNIQUE
    if unique or _is_identifier(name, profile):
        return Proposal("", summary=f"{summary}; identifies records")
    if n_values > _FEW and profile.length / profile.n_present > _SENTENCE:
        return Proposal("", summary=f"{summary}; sentences")
    keys: dict[str, Any] = {"groups": None}
    remarks = {
        "groups": "the relevant words: [Oslo, Bergen], or groups of them by patterns: {title: "
        '["A*", B12], …}; all others become other'
    }
    if public:
        # Leave out texts with a star: as a pattern, such a text would match other texts, too.
        groups: list[str] = []
        for text, _ in profile.values.most_common(MOST_COPIED):
            if "*" not in text and not any(matches(group, text) for group in groups):
                groups.append(text)
        keys["groups"] = sorted(groups)
        remarks["groups"] = "of the file, which is public; all else is other"
    words = frozenset(normalize_word(text) for text, _ in profile.values.most_common(MOST_COPIED))
    return Proposal(TEXT, keys, remarks, summary, words=words)


def _remark_on_form(profile: Profile) -> str:
    """Return advice if texts look like dates or amounts in a notation that can't be read."""
    enough = NEARLY_ALL * profile.values.total()

    def mostly_match(pattern: re.Pattern[str]) -> bool:
        texts = profile.values.items()
        return sum(n for text, n in texts if pattern.match(text) and not text.isdecimal()) >= enough

    if mostly_match(LIKE_A_DATE):
        return "; if these are dates, write all in one form: 2024-12-31"
    units = {match[1] for text in profile.values if (match := _WITH_UNIT.match(text))}
    if mostly_match(_DRESSED) or (len(units) == 1 and mostly_match(_WITH_UNIT)):
        return "; if these are amounts, write them as plain numbers: 1234.5"
    return ""


def _remark_on_thousands(profile: Profile) -> str:
    """Return advice if points or commas may separate thousands, so that 1.000 is 1000."""
    marked = [text for text in profile.values if not text.lstrip("+-").isdecimal()]
    if not marked or not all(map(_IN_THOUSANDS.fullmatch, marked)):
        return ""
    mark = "." if "." in marked[0] else ","
    return f"; if {marked[0]} is more than a thousand, say so in the draft: thousands: {mark!r}"


def _find_markers(texts: list[str], decimal: str) -> tuple[dict[float, str], list[float]]:
    """Find numbers that may mark a missing value, such as -1 among counts or 999 among ages.

    Candidates are -1 and numbers of repeated digits 7, 8 or 9; the numbers that are no candidates
    are ordinary. A candidate is a marker if it is negative and no ordinary number is, or if its
    distance from the range of the ordinary numbers exceeds the width of this range. If no candidate
    is a marker, but exactly one number is negative and it is whole, this number is a marker.

    Returns the text of each marker, by its number, and the numbers that are no markers; both are in
    increasing order.
    """
    amounts, _, wrong = read_numbers(texts, (), decimal)
    by_value = {float(amounts[row]): texts[row] for row in range(len(texts)) if row not in wrong}
    coded = {value for value, text in by_value.items() if _CODED.fullmatch(text)}
    rest = sorted(set(by_value) - coded - {-1.0})
    if len(rest) < 2:
        return {}, sorted(by_value)
    width = rest[-1] - rest[0]
    low, high = (0.0, rest[-1] + width) if rest[0] >= 0 else (rest[0] - width, rest[-1] + width)
    markers = sorted(value for value in set(by_value) - set(rest) if value < low or value > high)
    negative = [value for value in by_value if value < 0]
    if not markers and len(negative) == 1 and negative[0].is_integer():
        markers = negative
    others = sorted(set(by_value) - set(markers))
    return {value: by_value[value] for value in markers}, others


def _is_name_of_identifier(name: str) -> bool:
    return bool(_IDENTIFIER.search(name) or _CAMEL_IDENTIFIER.search(name))


def _is_identifier(name: str, profile: Profile) -> bool:
    distinct = profile.more or len(profile.values) > _UNIQUE * profile.n_present
    return distinct and _is_name_of_identifier(name)


def _may_name_people(name: str, profile: Profile) -> bool:
    """Return whether a column may contain names of persons who have several records each."""
    match = _PERSON.search(name) or _CAMEL_IDENTIFIER.search(name)
    repeats = profile.share_distinct <= _UNIQUE
    return bool(match) and repeats and len(profile.values) >= _LEAST_PEOPLE


def _propose_person(profile: Profile, summary: str) -> Proposal:
    times = 1 / profile.share_distinct
    text = f"{summary}; if it names people, each has {times:.1f} records: decide on unit"
    return Proposal("", summary=text, is_person=True)


def _remark_on_people(name: str, profile: Profile) -> str:
    """Return a warning if values of an identifier repeat, as ε protects only single records."""
    if not _is_name_of_identifier(name) or profile.more or _is_unique(profile):
        return ""
    times = profile.n_present / len(profile.values)
    return f"; if it names people, each has {times:.1f} records, but ε protects one record"


def _is_unique(profile: Profile) -> bool:
    """Return whether all values differ."""
    return not profile.more and len(profile.values) == profile.n_present


def _is_sequence(profile: Profile, amounts: Range) -> bool:
    """Return whether numbers are distinct and nearly without gaps, like numbers of rows."""
    run = amounts.high - amounts.low + 1
    unique = profile.more or _is_unique(profile)
    return unique and run > _FEW and amounts.n <= run <= 1.05 * amounts.n


def _is_amount(text: str) -> bool:
    amount = amount_of(text.replace(",", "."), ".")
    return amount is not None and math.isfinite(amount)


def _list_frequent(profile: Profile) -> str:
    total = profile.n_present
    parts = [
        f"{_shorten(text)} ({count / total:.0%})"
        for text, count in profile.values.most_common(SHOWN)
    ]
    return ", ".join(parts) + (", …" if len(profile.values) > SHOWN else "")


def _shorten(text: str) -> str:
    """Return a value on one line, with at most `_LONGEST` characters."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _round_bounds(low: float, high: float) -> tuple[float, float]:
    """Round bounds outwards, by at most a tenth of the distance between them.

    If the bounds are equal, the upper one is increased first. Bounds that are too large or too
    close to be rounded are unchanged.
    """
    if low == high:
        high = low + max(1.0, abs(low) / 100)
    width = high - low
    step = 10.0 ** (math.floor(math.log10(width)) - 1) if math.isfinite(width) else 0.0
    if step > 0:
        low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    return _shorten_number(float(f"{low:.12g}")), _shorten_number(float(f"{high:.12g}"))


def _shorten_number(value: float) -> float:
    return int(value) if value.is_integer() else value
