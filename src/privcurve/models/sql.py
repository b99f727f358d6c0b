"""Write a model as one SQL query, if its score is a sum over columns."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256

import numpy as np
from scipy.special import expit

from privcurve.coding import Floats
from privcurve.datasets.coding import Markers, TextCodes, amount_of, days_of
from privcurve.datasets.domain import NUMERIC, Column, Domain, format_day
from privcurve.datasets.reading import TRUTHS, text_of
from privcurve.learners.shared.chances import clipped_log_odds
from privcurve.models.errors import ModelError
from privcurve.models.explain import Explanation
from privcurve.models.model import Model

SCORE = "privcurve_score"  # the beginning of the names of score columns
# LIKE pattern of a date, perhaps followed by a time. The query compares dates as texts.
DAY = "____-__-__%"
# The time zones that a time may have. In any other zone, the time's day may differ from its day in
# UTC.
UTC = "('', 'Z', '+00', '+00:00')"
# Ranges of numbers and of dates. SQLite allows any type in any column, so the query treats a
# value outside the range as no number, or as no date.
NUMBERS, DATES = ("-1.7e308", "1.7e308"), ("'0001-01-01'", "'9999-12-31~'")
# The texts that databases write for NaN.
NAN = ("nan", "NaN")
# The characters that Python's `str.strip` removes. SQL's TRIM removes only spaces by default, so
# the query lists them.
BLANKS = (
    " \t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
# The query rounds values to this many decimals, as later digits are rounding errors. PrivGAM's
# values are exact, so they are not rounded.
DIGITS = 12
# Scores at which a model's probabilities are computed, to find its link function.
PROBES = np.linspace(-4, 4, 9)


def query(model: Model, table: str, probabilities: bool = False) -> str:
    """Return a query that adds the prediction of a model to each row of a table.

    Predictions equal :meth:`Model.predict_names`. The prediction is NULL for a row that the model
    would refuse, and for a row with a time in a zone other than UTC. Columns may have numbers,
    dates (or texts of dates, such as 2024-12-31 or 2024-12-31 23:59:00), truth values and texts.
    The query compares categories as texts: the text ``'true'`` equals the truth value, but a
    decimal number 1.50 does not equal the category 1.5.

    Parameters
    ----------
    model : Model
    table : str
        The name of the table, which must have columns with the names of the model's columns.
    probabilities : bool
        Whether to add the probability of the positive class, which needs EXP.

    Raises
    ------
    ModelError
        If the model has no form as a query.
    """
    domain, explanation = model.domain, model.explain()
    if not explanation.is_sum:
        raise ModelError(
            f"{model.learner} has no form in SQL: its score is no sum over columns. Release a "
            "model with such a score (privgam, noisy_bayes, dp_newton), or predict with privcurve"
        )
    same: dict[str, str] = {}
    for column in domain.columns:
        twin = same.setdefault(column.name.lower(), column.name)
        if twin != column.name:
            raise ModelError(
                f"the columns {twin!r} and {column.name!r} are equal for SQL, which ignores "
                "case: rename one in the table and its description and train again, or predict "
                "with privcurve"
            )
        if column.patterns and any("*" in pattern for pattern in column.codes):
            raise ModelError(
                f"the column {column.name!r} has groups of patterns with *, which SQL compares in "
                "other ways: list its words in the description, or predict with privcurve"
            )
        if column.dates.startswith("%Y-%d"):
            raise ModelError(
                f"the column {column.name!r} has dates of the form {column.dates}, whose texts SQL "
                "would read as year, month, day: predict with privcurve"
            )
    n_outputs, label = len(explanation.outputs), domain.label
    scores = [_write_sum(explanation, domain, k, _is_whole(model)) for k in range(n_outputs)]
    # The name of the score column depends on the model, because the table may already have a column
    # with another model's scores.
    score = f"{SCORE}_{sha256(' '.join(scores).encode()).hexdigest()[:8]}"
    names = [score, *(f"{score}_{k}" for k in range(2, n_outputs + 1))]
    sums = [f"{formula} AS {name}" for formula, name in zip(scores, names, strict=True)]
    answers = [f"{_decide(label.names, names)} AS {_quote_name(f'predicted_{label.column}')}"]
    if probabilities:
        title = _quote_name(f"probability of {label.names[-1]}")
        answers.append(f"{_write_probability(model, score)} AS {title}")
    statement = model.statement
    return (
        f"-- {model.learner}: epsilon = {statement.epsilon:g}, delta = {statement.delta:g}\n"
        # Predictions come first: if two columns have the same name, databases take the first.
        f"SELECT\n  {_join_lines([*answers, 't.*'])}\nFROM (\n"
        f"  SELECT t.*,\n  {_join_lines(sums)}\n  FROM {_quote_name(table)} AS t\n) AS t;\n"
    )


def _join_lines(parts: Sequence[str]) -> str:
    return ",\n  ".join(parts)


def _is_whole(model: Model) -> bool:
    """Return whether the model is PrivGAM, whose values have a common unit and exact sums."""
    return hasattr(getattr(model._estimator, "model_", None), "log_odds")


def _write_sum(explanation: Explanation, domain: Domain, k: int, is_whole: bool) -> str:
    """Return the SQL expression of score `k`: a constant plus a CASE of values per column."""
    shapes = {shape.column.name: shape for shape in explanation.shapes}
    constant, cases = float(explanation.constant[k]), []
    for column in domain.columns:
        values = shapes[column.name].values[k]
        if not is_whole:
            constant += float(values[0])
            values = np.round(values - values[0], DIGITS)
        whens = _case_numbers if column.kind == NUMERIC else _case_texts
        place = f"t.{_quote_name(column.name)}"
        each = whens(domain, column, _write_all(values), place)
        cases.append(f"CASE {' '.join(each)} END")  # NULL if the value has no bin
    start = constant if is_whole else round(constant, DIGITS)
    return "\n    + ".join([*_write_all([start]), *cases])


def _write_all(values: Floats | Sequence[float]) -> list[str]:
    # Write an exponent: without it, DuckDB adds decimals, and the last digits of sums differ.
    return [np.format_float_scientific(value, trim="0") for value in values]


def _case_numbers(
    domain: Domain, column: Column, values: Sequence[str], place: str
) -> Iterator[str]:
    missing = values[column.bins] if column.missing_bin else "NULL"
    marked = domain.missing_in(column)
    yield f"WHEN {place} IS NULL THEN {missing}"
    text = f"CAST({place} AS TEXT)"
    markers = () if column.dates else sorted(Markers(marked, domain.decimal).amounts)
    if markers:
        yield f"WHEN {place} IN ({', '.join(map(repr, markers))}) THEN {missing}"
    if column.missing_bin:
        words = dict.fromkeys(["", *marked, *(() if column.dates else NAN)])
        yield f"WHEN TRIM({text}) IN ({', '.join(map(_quote_text, words))}) THEN {missing}"
    if column.dates:
        yield from (f"WHEN {fault} THEN NULL" for fault in _faults_of_day(text))
    if days := days_of(marked, column) if column.dates else ():
        texts = ", ".join(f"'{format_day(day)}'" for day in sorted(days))
        yield f"WHEN SUBSTR({text}, 1, 10) IN ({texts}) THEN {missing}"
    low, high = NUMBERS
    if column.dates:
        # Compare times as texts, whose order is the order in time. Some databases cannot compare
        # their types of times with a date.
        place, (low, high) = text, DATES
    yield f"WHEN {place} NOT BETWEEN {low} AND {high} THEN NULL"
    for k, edge in enumerate(column.edges[1:-1]):
        if values[k] != values[k + 1]:
            end = f"'{format_day(edge)}'" if column.dates else repr(edge)
            yield f"WHEN {place} < {end} THEN {values[k]}"
    yield f"ELSE {values[column.bins - 1]}"


def _faults_of_day(text: str) -> Iterator[str]:
    """Yield SQL conditions on a text; at least one holds unless the text is a day that can be read.

    Such a text is an ISO date, alone or with a time in UTC.

    Each condition may assume that all earlier conditions are false, as in a CASE.
    """
    decimals = "'0123456789'"

    def part(start: int, length: int | str = "") -> str:
        return f"SUBSTR({text}, {start}{length and f', {length}'})"

    def lacks_digits(*places: tuple[int, int]) -> str:
        parts, n = " || ".join(part(*place) for place in places), sum(n for _, n in places)
        return f"LENGTH({parts}) < {n} OR TRIM({parts}, {decimals}) <> ''"

    year, month = f"CAST({part(1, 4)} AS INTEGER)", part(6, 2)
    yield f"{text} NOT LIKE '{DAY}'"
    yield lacks_digits((1, 4), (6, 2), (9, 2))
    yield f"{month} NOT BETWEEN '01' AND '12'"
    yield (
        f"{part(9, 2)} NOT BETWEEN '01' AND CASE WHEN {month} IN ('04', '06', '09', '11') THEN "
        f"'30' WHEN {month} <> '02' THEN '31' WHEN {year} % 4 = 0 AND ({year} % 100 <> 0 OR "
        f"{year} % 400 = 0) THEN '29' ELSE '28' END"
    )
    has_time = f"LENGTH({text}) > 10 AND"
    yield (
        f"{has_time} ({lacks_digits((12, 2), (15, 2))} OR {part(11, 1)} NOT IN (' ', 'T') OR "
        f"{part(14, 1)} <> ':' OR {part(12, 2)} > '23' OR {part(15, 2)} > '59')"
    )
    yield (
        f"{has_time} {part(17)} NOT IN {UTC} AND ({lacks_digits((18, 2))} OR {part(17, 1)} <> ':' "
        f"OR {part(18, 2)} > '59' OR {part(20)} NOT IN {UTC} AND ({lacks_digits((21, 1))} OR "
        f"{part(20, 1)} <> '.' OR LTRIM({part(21)}, {decimals}) NOT IN {UTC}))"
    )


def _case_texts(domain: Domain, column: Column, values: Sequence[str], place: str) -> Iterator[str]:
    codes = TextCodes(domain, column)
    # `words` maps texts of a database to texts of the description with the same bin. Databases
    # write truth values as true and false; the description may write them as 1 and 0, for example.
    words = {
        forms[0]: text for forms in TRUTHS.values() for text in forms[::-1] if text in column.codes
    }
    decimal, marked = domain.decimal, domain.missing_in(column)
    markers = Markers(marked, decimal).amounts
    listed = [*column.codes, *(str(text_of(amount, (), decimal)) for amount in markers)]
    # If the description writes a category with another decimal mark, such as 1,5, a database may
    # have the number 1.5.
    amounts = [word for word in listed if amount_of(word, decimal) is not None]
    words |= {word.replace(decimal, "."): word for word in amounts}
    words |= {word: word for word in (*listed, "", *marked)}
    # A database may write a whole number with a point and any number of zeros, such as 3.00.
    integers = [word for word in words if word.lstrip("+-").isdigit()]
    pointed = (f"{word}.{zeros}" for word in integers for zeros in ("", "0", "00"))
    words |= {word: word for word in pointed}
    stems = {f"{word}{decimal}": f"{word}{decimal}0" for word in integers}
    # `nothing` is added to the score for a missing value, and `other` for a text that the
    # description does not list; "\0" is such a text.
    nothing, other = (
        values[code] if code >= 0 else "NULL" for code in codes.code_all([None, "\0"])
    )
    text = f"TRIM(CAST({place} AS TEXT), '{BLANKS}')"
    yield f"WHEN {place} IS NULL THEN {nothing}"
    yield from _write_texts(text, words, codes, values)
    yield from _write_texts(f"RTRIM({text}, '0')", stems, codes, values)
    if column.patterns:
        letters = _fold_case([*column.codes])
        # If two patterns differ only in case, the first pattern must win: the order is reversed, so
        # that the first pattern overwrites the second in the dictionary.
        folded = {"".join(letters.get(c, c) for c in word): word for word in [*column.codes][::-1]}
        yield from _write_texts(_write_folded(text, letters), folded, codes, values)
    yield f"ELSE {other}"


def _fold_case(words: Sequence[str]) -> dict[str, str]:
    """Map each letter of `words`, and each letter that differs only in case, to the small letter.

    The map follows Python's rules for case, which also equate the long s with s. The query replaces
    letters by this map, because some databases ignore case in ASCII letters only.
    """
    folded: dict[str, str] = {}
    for letter in sorted({c for word in words for c in word + unicodedata.normalize("NFD", word)}):
        small = letter.lower() if len(letter.lower()) == 1 else letter
        for char in re.findall(re.escape(letter), _all_letters(), re.IGNORECASE):
            folded.setdefault(char, folded.get(letter, small))
    return folded


def _write_folded(place: str, letters: Mapping[str, str]) -> str:
    for char, letter in letters.items():
        if char != letter and not (char.isascii() and char.lower() == letter):
            place = f"REPLACE({place}, {_quote_text(char)}, {_quote_text(letter)})"
    return f"LOWER({place})"


@cache
def _all_letters() -> str:
    """Return all characters that have a case."""
    characters = map(chr, range(sys.maxunicode + 1))
    return "".join(char for char in characters if char.lower() != char or char.upper() != char)


def _write_texts(
    place: str, words: Mapping[str, str], codes: TextCodes, values: Sequence[str]
) -> Iterator[str]:
    """Yield WHEN clauses that give each text (key of `words`) the value of its bin.

    `words` maps a text to a text that the column's description has, with the same bin. Texts
    without a bin get no clause.
    """
    texts: dict[str, dict[str, None]] = {}
    for text, code in zip(words, codes.code_all([*words.values()]), strict=True):
        if code >= 0:
            forms = (text, unicodedata.normalize("NFD", text))
            texts.setdefault(values[code], {}).update(dict.fromkeys(map(_quote_text, forms)))
    for value, quoted in texts.items():
        yield f"WHEN {place} IN ({', '.join(quoted)}) THEN {value}"


def _decide(labels: Sequence[str], scores: Sequence[str]) -> str:
    """Return the SQL expression of the predicted label.

    A single score decides by its sign. Of several scores the largest decides; if scores are equal,
    the first of these.
    """
    names = [_quote_text(label) for label in labels]
    if len(scores) == 1:
        (score,) = scores
        return f"CASE WHEN {score} > 0 THEN {names[1]} WHEN {score} <= 0 THEN {names[0]} END"
    whens = [
        f"WHEN {' AND '.join(f'{score} >= {x}' for x in scores if x != score)} THEN {name}"
        for score, name in zip(scores, names, strict=True)
    ]
    return f"CASE {' '.join(whens)} END"


def _write_probability(model: Model, score: str) -> str:
    """Return the SQL expression of the probability of the positive class.

    Raises ModelError if the log-odds are neither the score nor `clipped_log_odds` of the score.
    """
    model.check_probabilities()
    links = {
        f"1 / (1 + EXP(-{score}))": PROBES,
        f"CASE WHEN {score} > 0 THEN (1 + EXP({score})) / (3 + EXP({score})) "
        f"ELSE 2 / (3 + EXP(-{score})) END": clipped_log_odds(PROBES),
    }
    if len(model.labels) == 2:
        chances = model._estimator.chances(PROBES)[:, 1]
        for formula, odds in links.items():
            if np.allclose(chances, expit(odds), atol=1e-12):
                return formula
    raise ModelError(
        f"{model.learner} has no probabilities in SQL: they are a function of votes, or of several "
        "classes. Leave out --proba"
    )


def _quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _quote_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
