"""Read a model.json without privcurve, and predict: plain Python, nothing to install.

    python examples/read_model.py model.json new.csv > answers.csv

It knows the models of LazyBB (1-rules) and of PrivGAM; docs/model_file.md says what the others
hold. `privcurve predict` does the same for all of them, checks more, and knows more files.
"""

import contextlib
import csv
import datetime
import functools
import hashlib
import json
import math
import re
import sys
import unicodedata


def main(model_path, table_path):
    """Print the label of each record of a CSV, and the score behind it, if all can be read."""
    model = read(model_path)
    score_of = {"lazybb": lazybb, "privgam": privgam}[model["learner"]]
    domain, label = model["domain"], model["domain"]["label"]
    answers = [[label["column"], "score"]]
    for line, record in records(table_path, model):
        codes = []
        for column in domain["columns"]:
            text = unicodedata.normalize("NFC", record[column["name"]]).strip()
            try:
                codes.append(code(column, text, domain))
            except (ValueError, KeyError, OverflowError):
                what = f"{text!r}, which the model does not know" if text else "missing"
                raise ValueError(f"line {line}: {column['name']!r} is {what}") from None
        score = score_of(model, codes)
        answers.append([label["positive" if score > 0 else "negative"], repr(score)])
    csv.writer(sys.stdout, lineterminator="\n").writerows(answers)


def read(path):
    """Read the file, and check that nobody changed it."""
    with open(path, encoding="utf-8") as stream:  # noqa: PTH123
        model = json.load(stream)
    if (model["format"], model["format_version"]) != ("privcurve model", 1):
        raise ValueError("this is no model, or one of another format")
    said = model.pop("sha256")
    text = json.dumps(model, sort_keys=True, separators=(",", ":"))
    if hashlib.sha256(text.encode("ascii")).hexdigest() != said:
        raise ValueError("changed since it was written")
    return model


def records(path, model):
    """Yield the line and fields of each record: by names in its first line, or by the parser."""
    parser = model.get("parser", {})
    if parser.get("kind") != "delimited":
        parser = {}
    with open(path, encoding=parser.get("encoding", "utf-8-sig"), newline="") as stream:  # noqa: PTH123
        lines = list(stream)
    wanted = [column["name"] for column in model["domain"]["columns"]]
    for n_skipped, fields in ((0, None), (parser.get("skip_rows", 0), parser.get("fields"))):
        rows = rows_of(lines, n_skipped, parser)
        names = fields or next(rows, (0, []))[1]
        names = [unicodedata.normalize("NFC", name).strip() for name in names]
        if all(names.count(name) == 1 for name in wanted):
            break
    else:
        raise ValueError(f"{path} does not name the columns {', '.join(wanted)}, once each")
    for line, row in rows:
        more = parser.get("extra_fields") == "ignore" and len(row) > len(names)
        if not more and len(row) != len(names):
            raise ValueError(f"line {line} must have {len(names)} fields; it has {len(row)}")
        yield line, dict(zip(names, row))  # noqa: B905 - for old versions of Python


def rows_of(lines, n_skipped, parser):
    """Yield the fields of each record, and its last line: neither a comment nor empty fields."""
    comment, separator = parser.get("comment"), parser.get("separator", ",")
    last = n_skipped

    def used_lines():
        nonlocal last
        for last, line in enumerate(lines[n_skipped:], start=n_skipped + 1):  # noqa: B007
            if not (comment and line.startswith(comment)):
                yield line

    if separator == "whitespace":
        rows = map(str.split, used_lines())
    else:
        rows = csv.reader(used_lines(), delimiter=separator, skipinitialspace=True)
    return ((last, row) for row in rows if any(map(str.strip, row)))


def code(column, text, domain):
    """Return the code of a value: the number of its bin, or of the title of its category."""
    domain = {**domain, "missing": domain["missing"] + column.get("missing", [])}
    if column["kind"] == "categorical":
        titles = list(dict.fromkeys(title for _, title in column["categories"]))
        return titles.index(title_of(column, text, domain))
    value = None
    if text != "" and text not in domain["missing"]:
        value = day(text, column, domain) if "dates" in column else number(text, domain)
    if value is not None:
        # A value on an edge belongs to the bin above it.
        return sum(edge <= value for edge in edges(column))
    if not column.get("missing_bin"):
        raise ValueError("missing")
    return column["bins"]


def title_of(column, text, domain):
    """Return the title of a text's category: of the first pattern that fits, or the text."""
    values = [value for value, _ in column["categories"]]
    codes = dict(column["categories"])
    short = whole_of(text, domain)
    # What stands for a missing value, unless it is a value of its own.
    fold = str.casefold if column.get("patterns") else str
    own = {fold(value) for value, title in column["categories"] if title != "?"}
    none = any(
        m == text and not own & {fold(m), fold(whole_of(m, domain))} for m in domain["missing"]
    )
    # A number is meant however it is written; a code with leading zeros is none.
    plain = [value for value in own if not re.match(LEADING_ZERO, value)]
    numbers = amounts(domain["missing"], domain) - amounts(plain, domain)
    if not re.match(LEADING_ZERO, text):
        none = none or amount(text, domain["decimal"]) in numbers
    if column.get("patterns"):
        if text == "" or none:
            return "?"
        fits = (v for v in values if regular(v).fullmatch(text) or regular(v).fullmatch(short))
        return codes[next(fits, "other")]
    if text in codes:
        return codes[text]
    other = "other" if domain["unknown"] == "other" and "other" in codes else None
    if "?" in codes and (none or (text == "" and other)):
        return codes["?"]
    if "?" in codes and short not in codes and short in domain["missing"]:
        return codes["?"]
    return codes[other if other and short not in codes else short]


def whole_of(text, domain):
    """Write a whole number without its point: 3.0 is the code 3."""
    if domain["decimal"] == ",":
        text = re.sub(r"^([+-]?[0-9]+),0*$", r"\1", text)
        return re.sub(r"^([+-]?[0-9]+)[.](?!(000)+$)0*$", r"\1", text)  # 3.000 is a thousand
    return re.sub(r"^([+-]?[0-9]+)[.]0*$", r"\1", text)


LEADING_ZERO = r"[+-]?0\d"


def amount(text, decimal):
    """Return the number that a text writes, or None; 1.000 may be a thousand with a comma."""
    # Python alone takes 1_0 for ten.
    if "_" in text or (decimal == "," and "." in text):
        return None
    try:
        return float(text.replace(decimal, "."))
    except ValueError:
        return None


def amounts(words, domain):
    """Return the numbers among the words of a description, which may be written with a point."""
    values = (amount(word.replace(domain["decimal"], "."), ".") for word in words)
    return {value for value in values if value is not None}


def regular(pattern):
    """Write a pattern as a regular expression: * is any text, and case does not count."""
    return re.compile(".*".join(map(re.escape, pattern.split("*"))), re.IGNORECASE | re.DOTALL)


def number(text, domain):
    """Read a number; None if it stands for a missing value, however it is written."""
    decimal, mark = domain["decimal"], domain.get("thousands", "")
    missing = domain["missing"] + [ungrouped(word, decimal, mark) for word in domain["missing"]]
    text = ungrouped(text, decimal, mark)
    value = amount(text, decimal)
    if text in missing or value in amounts(missing, domain):
        return None
    if value is None or not math.isfinite(value):
        raise ValueError(f"{text!r} is no finite number")
    return value


def ungrouped(text, decimal, mark):
    """Remove the marks between the thousands of a number: 8.333,96 is 8333,96."""
    between = "[ \u00a0\u202f]" if mark == " " else re.escape(mark)
    grouped = rf"[-+]?[1-9][0-9]{{0,2}}(?:{between}[0-9]{{3}})+(?:{re.escape(decimal)}[0-9]*)?"
    return re.sub(between, "", text) if mark and re.fullmatch(grouped, text) else text


def day(text, column, domain):
    """Return the days since 1970-01-01; None if the text stands for a missing value."""
    try:
        days = days_of(text, column["dates"], column)
    except (ValueError, OverflowError):
        if amount(text, domain["decimal"]) in amounts(domain["missing"], domain):
            return None
        raise
    for word in domain["missing"]:
        for form in (column["dates"], "iso"):
            with contextlib.suppress(ValueError, OverflowError):
                if days_of(word, form, column) == days:
                    return None
    return days


def days_of(text, form, column):
    """Return the days from 1970-01-01 to a date in a form of strptime, or ISO's."""
    if form == "iso":
        moment = datetime.datetime.fromisoformat(text)
    else:
        moment = datetime.datetime.strptime(text, form)
        some, later = datetime.datetime(2001, 2, 3), datetime.datetime(2401, 2, 3)
        if some.strftime(form) == later.strftime(form):  # years of two digits
            pivot = column.get("pivot", 1969)
            moment = moment.replace(year=pivot + (moment.year - pivot) % 100)
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.timezone.utc)  # noqa: UP017 - for old versions of Python
    return (moment.date() - datetime.date(1970, 1, 1)).days


def edges(column):
    """Return the edges between the bins of numbers or dates."""
    if "merged" in column:
        return column["merged"][1:-1]
    (low, high), bins = column["bounds"], column["bins"]
    spacing = column.get("spacing", "equal")
    if spacing == "equal":
        inner = [low + (high - low) * k / bins for k in range(1, bins)]
        if column.get("rounded"):
            inner = [float(f"{edge:.12g}") for edge in inner]
    elif spacing == "whole":
        inner = [math.ceil(low + (high + 1 - low) * k / bins) for k in range(1, bins)]
    else:
        if spacing.startswith("mixed"):
            inner = mixed(low, high, bins, spacing == "mixed-high")
        else:
            shift = 1.0 if spacing == "log1p" else 0.0
            ratio = (high + shift) / (low + shift)
            inner = [(low + shift) * ratio ** (k / bins) - shift for k in range(1, bins)]
        inner = [float(f"{edge:.12g}") for edge in inner]
    return [math.ceil(edge) for edge in inner] if "dates" in column else inner


def mixed(low, high, bins, from_high):
    """Return the edges between mixed bins: from one bound, or from 0 to both sides."""
    if from_high:
        return [high - (high - low) * share(k, bins) for k in range(bins - 1, 0, -1)]
    if low < 0 < high and bins > 1:
        below = min(max(round(bins * (0.5 * -low / (high - low) + 0.25)), 1), bins - 1)
        left = [low * share(k, below) for k in range(below - 1, 0, -1)]
        return left + [high * share(k, bins - below) for k in range(bins - below)]
    return [low + (high - low) * share(k, bins) for k in range(1, bins)]


@functools.lru_cache(maxsize=None)  # noqa: UP033 - for old versions of Python
def share(k, bins):
    """Return the u for which u + max(0, 1 + log2(u)/14) = 2k/bins, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(80 if k else 0):
        middle = 0.5 * (low + high)
        reached = 0.5 * middle + 0.5 * max(0, 1 + math.log2(middle) / 14)
        low, high = (middle, high) if reached < k / bins else (low, middle)
    return high if k else 0.0


def lazybb(model, codes):
    """Add up votes: for the positive label in their bin, against it elsewhere."""
    fitted, parameters = model["model"], model["parameters"]
    if (parameters["weak_learner"], parameters["start"]) != ("one_rule", "none"):
        raise ValueError("this LazyBB has no one-rules alone: read_model.py does not know it")

    def tally(literals):
        return sum(vote(literal, fitted["model"]["n_bins"], codes) for literal in literals)

    literals = fitted["model"]["literals"]
    votes = tally(literals)
    if votes == 0 and fitted["ties"] == "last_round":
        return -0.5 * vote(literals[-1], fitted["model"]["n_bins"], codes)
    return float(votes)


def vote(literal, n_bins, codes):
    """Return the vote of a literal: 2b asks "is it bin b?", 2b + 1 the opposite."""
    b, sign = literal // 2, 1 - 2 * (literal % 2)
    for column, size in enumerate(n_bins):
        if b < size:
            return sign if codes[column] == b else -sign
        b -= size
    return sign  # beyond all bins: a vote without a question


def privgam(model, codes):
    """Add up the values of codes: the log-odds of the positive label."""
    if model["made_with"]["learner"] < 8:
        raise ValueError("this PrivGAM is of a version before 8, whose scores are no log-odds")
    fitted = model["model"]["model"]
    score = fitted["intercept"]
    for values, k in zip(fitted["shapes"], codes):  # noqa: B905 - for old versions of Python
        score += values[k]
    return score


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except ValueError as error:
        sys.exit(f"read_model.py: {error}")
