"""Mutations that keep a case valid: other columns, values and notations."""

import copy
from datetime import date, timedelta
from decimal import Decimal

NUMBERS = [
    *("  7 ", "+3", ".5", "3.", "1e1", "-0", "0.30000000000000004", "1E2", "007", "5e-324", "99.5")
]
TEXTS = [
    *("I21", "i2", "E10", "e11.9", "E1", "0150", "150", "12", "12.0", "12.00", "+12", "x", "OTHER")
]
MISSING = ["", "NA", ["", "NA", "?"], -999, ["-999.0"], [12, "x"], "1.0", "31"]
CATEGORIES = [["1", "2"], {"1": "a", "2": "a", "?": "b"}, ["?", "other"]]
GRADES = ["1", "2", "3", "1.0", "2.00", "03", "4", "-1", "NA", "?", "other", "x", "3.5"]
TIMES = ["", "T00:00", " 23:59:59", "T23:30:00-05:00", "T00:30:00+01:00", "T12:00:00Z"]


def _described(case, table):
    """Return the columns of the description whose names the table has unchanged."""
    return [one for one in case.content.get("columns", []) if one.get("name") in table.names]


def numbers(rng, case):
    """Set other bounds and bins of a numeric column, with values on edges and near them."""
    path, table = rng.choice(list(case.tables.items()))
    columns = [one for one in _described(case, table) if one.get("kind") == "numeric"]
    if table.kind not in ("delimited", "parquet") or not columns:
        return None
    column = rng.choice(columns)
    unit = Decimal(1).scaleb(-rng.randrange(4))
    low = unit * rng.randrange(-20, 20)
    width, bins = unit * rng.randrange(1, 60), rng.randrange(2, 25)
    column.pop("spacing", None)
    if low > 0 and rng.random() < 0.3:
        column["spacing"] = "log"
    elif low >= 0 and rng.random() < 0.3:
        column["spacing"] = "log1p"
    column |= {"bounds": [float(low), float(low + width)], "n_bins": bins, "clipping": "expected"}
    j = table.names.index(column["name"])
    comma = case.content.get("decimal") == ","
    for row in table.rows:
        # On an edge, if it has few digits; else anywhere.
        edge = low + width * rng.randrange(-1, bins + 2) / bins
        value = edge if rng.random() < 0.6 else edge + unit * rng.randrange(-9, 9) / 7
        text = str(value) if len(str(value)) < 12 else f"{value:.9g}"
        text = rng.choice(NUMBERS) if rng.random() < 0.1 else text
        text = text.replace(".", ",") if comma else text
        row[j] = float(text) if table.kind == "parquet" else text
    result = {key: column[key] for key in ("bounds", "n_bins", "spacing") if key in column}
    cells = [row[j] for row in table.rows]
    return f"{column['name']} is {result} with {cells}", [column["name"], path]


def values(rng, case):
    """Fill columns of dates, texts and codes with other values in several notations."""
    path, table = rng.choice(list(case.tables.items()))
    columns = [one for one in _described(case, table) if one.get("kind") != "numeric"]
    if table.kind != "delimited" or not columns:
        return None
    column = rng.choice(columns)
    j = table.names.index(column["name"])
    pool = TEXTS if column.get("kind") == "text" else GRADES
    for row in table.rows:
        if column.get("kind") == "date":
            day = date(1999, 1, 1) + timedelta(days=rng.randrange(9999))
            form = column.get("format")
            row[j] = day.strftime(form) if form else day.isoformat() + rng.choice(TIMES)
        elif column.get("kind") == "text" or (rng.random() < 0.5 and column["name"] == "grade"):
            row[j] = rng.choice(pool)
        else:
            row[j] = rng.choice([*map(str, column.get("categories", pool)), "?"])
    return f"{column['name']} holds {[row[j] for row in table.rows]}", [column["name"], path]


def words(rng, case):
    """Set another valid key of the description."""
    content = case.content
    columns = content.get("columns", [])
    options = [
        ("unknown", rng.choice(["fail", "other"])),
        ("clipping", "expected"),
        ("missing", rng.choice(MISSING)),
        ("decimal", rng.choice([".", ","])),
        ("public_label", True),
        ("public_benchmark", True),
        ("budget", rng.choice([{"epsilon": 1}, {"epsilon": 2, "delta": 1e-6}])),
        ("records", {"first": rng.randrange(2, 8), "balance": rng.choice(["first", "first"])}),
        ("records", {"first": rng.randrange(2, 9)}),
    ]
    key, value = rng.choice(options)
    if rng.random() < 0.4 and columns:
        column = rng.choice(columns)
        entries = [("public", True), ("source", "a law"), ("n_bins", rng.randrange(2, 300))]
        entries += [("missing", "bin"), ("spacing", rng.choice(["equal", "log", "log1p"]))]
        entries += [("groups", rng.choice([["E*"], {"a": ["*"]}, {"b": ["*1*", 150], "c": "i*"}]))]
        entries += [("categories", rng.choice(CATEGORIES))]
        inner, value = rng.choice(entries)
        column[inner] = copy.deepcopy(value)
        return f"{inner} of {column.get('name')} is {value!r}", [inner, str(column.get("name"))]
    content[key] = copy.deepcopy(value)
    names = ["missing", "'"]
    if key == "records":
        content["n_rows"] = value["first"]
        names = ["n_rows", "label"]
    return f"{key} is {value!r}", [key, *names]


def column_kind(rng, case):
    """Describe a column as another kind."""
    columns = [one for one in case.content.get("columns", []) if isinstance(one, dict)]
    if not columns:
        return None
    column = rng.choice(columns)
    name = str(column.get("name"))
    new = rng.choice(
        [
            {"kind": "text", "groups": {"a": ["1*", "o*"], "b": ["*5", 0]}},
            {"kind": "text", "groups": ["Oslo", 12, "NA"]},
            {"kind": "numeric", "bounds": [0, 50], "missing": "bin", "clipping": "expected"},
            {"kind": "date", "bounds": ["2000-01-01", "2020-12-31"], "missing": "bin"},
            {"kind": "categorical", "categories": [1, 2, "?", "other", "Oslo"]},
        ]
    )
    column.clear()
    column |= {"name": name, **new}
    return f"{name} is described as {new}", [name.partition("{")[0]]


OF_CASE = [numbers, numbers, numbers, values, values, words, words, column_kind]
