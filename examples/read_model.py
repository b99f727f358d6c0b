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
    """Print the label of each record of a CSV, and the score behind it."""
    model = read(model_path)
    score_of = {"lazybb": lazybb, "privgam": privgam}[model["learner"]]
    domain = model["domain"]
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow([domain["label"]["column"], "score"])
    for record in records(table_path, model):
        codes = [code(column, record[column["name"]], domain) for column in domain["columns"]]
        score = score_of(model, codes)
        out.writerow([domain["label"]["positive" if score > 0 else "negative"], repr(score)])


def read(path):
    """Read the file, and check that nobody changed it."""
    with open(path, encoding="utf-8") as stream:  # noqa: PTH123
        model = json.load(stream)
    assert (model["format"], model["format_version"]) == ("privcurve model", 1)
    said = model.pop("sha256")
    text = json.dumps(model, sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(text.encode("ascii")).hexdigest() == said, "changed since it was written"
    return model


def records(path, model):
    """Yield the records of a text file: by names in its first line, or by the model's parser."""
    parser = model.get("parser", {})
    if parser.get("kind") != "delimited":
        parser = {}
    with open(path, encoding=parser.get("encoding", "utf-8-sig"), newline="") as stream:  # noqa: PTH123
        lines = list(stream)
    wanted = {column["name"] for column in model["domain"]["columns"]}
    for first, fields in ((0, None), (parser.get("skip_rows", 0), parser.get("fields"))):
        rows = rows_of(lines[first:], parser)
        names = fields or [name.strip() for name in next(rows, [])]
        if all(names.count(name) == 1 for name in wanted):
            break
    else:
        raise ValueError(f"{path} does not name the columns {', '.join(sorted(wanted))}, once each")
    for row in rows:
        more = parser.get("extra_fields") == "ignore" and len(row) > len(names)
        assert more or len(row) == len(names), f"{len(row)} fields, not {len(names)}: {row}"
        yield dict(zip(names, row))  # noqa: B905 - for old versions of Python


def rows_of(lines, parser):
    """Yield the fields of each line that is neither blank nor a comment."""
    comment, separator = parser.get("comment"), parser.get("separator", ",")
    lines = (line for line in lines if not (comment and line.startswith(comment)))
    if separator == "whitespace":
        rows = (line.split() for line in lines)
    else:
        rows = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    return (row for row in rows if row)


def code(column, text, domain):
    """Return the code of a value: the number of its bin, or of the title of its category."""
    text = unicodedata.normalize("NFC", text).strip()
    domain = {**domain, "missing": domain["missing"] + column.get("missing", [])}
    if column["kind"] == "categorical":
        titles = list(dict.fromkeys(title for _, title in column["categories"]))
        return titles.index(title_of(column, text, domain))
    value = None
    if text != "" and text not in domain["missing"]:
        value = day(text, column, domain) if "dates" in column else number(text, domain)
    if value is None:
        assert column.get("missing_bin"), f"{column['name']} is missing"
        return column["bins"]
    # A value on an edge belongs to the bin above it.
    return sum(edge <= value for edge in edges(column))


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
    numbers = amounts(domain["missing"], domain) - amounts(own, domain)
    none = none or bool(amounts([text], domain, text=True) & numbers)
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


def amounts(texts, domain, text=False):
    """Return the numbers among some texts; of the file's, those that it writes with its point."""
    values = set()
    for each in texts:
        if re.match("[+-]?0[0-9]", each) or "_" in each:
            continue
        if text and domain["decimal"] == "," and "." in each:
            continue
        with contextlib.suppress(ValueError):
            values.add(float(each.replace(domain["decimal"], ".")))
    return values


def regular(pattern):
    """Write a pattern as a regular expression: * is any text, and case does not count."""
    return re.compile(".*".join(map(re.escape, pattern.split("*"))), re.IGNORECASE | re.DOTALL)


def number(text, domain):
    """Read a number; None if it stands for a missing value, however it is written."""
    assert domain["decimal"] == "." or "." not in text, f"{text} is no number"
    value = float(text.replace(domain["decimal"], "."))
    for marker in domain["missing"]:
        try:
            if float(marker.replace(domain["decimal"], ".")) == value:
                return None
        except ValueError:
            pass
    return value


def day(text, column, domain):
    """Return the days since 1970-01-01; None for a missing value."""
    try:
        days = days_of(text, column["dates"], column)
    except ValueError:
        if number(text, domain) is None:
            return None
        raise
    for marker in domain["missing"]:
        for form in (column["dates"], "iso"):
            with contextlib.suppress(ValueError):
                if days_of(marker, form, column) == days:
                    return None
    return days


def days_of(text, form, column):
    """Read a day: in ISO's form, or one of strptime."""
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
    assert (parameters["weak_learner"], parameters["start"]) == ("one_rule", "none")

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
    """Add up the values of codes and of pairs; undo what clipped residuals did to log-odds."""
    fitted = model["model"]["model"]
    score = fitted["intercept"]
    for values, k in zip(fitted["shapes"], codes):  # noqa: B905 - for old versions of Python
        score += values[k]
    for pair in fitted["pairs"]:
        first, second = (
            groups[codes[column]]
            for column, groups in zip(pair["columns"], pair["groups"])  # noqa: B905
        )
        score += pair["values"][first][second]
    size = math.log1p(math.exp(-abs(score))) + abs(score) - math.log(2)
    return math.copysign(size, score) if score else 0.0


if __name__ == "__main__":
    main(*sys.argv[1:])
