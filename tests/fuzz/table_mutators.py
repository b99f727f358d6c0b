"""Mutations of a raw file: cells, rows, names and bytes."""

import unicodedata
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

ODD_TEXTS = [
    *("", " ", "?", "NA", "na", "nan", "NaN", "inf", "-inf", "1e400", "1_0", "0x1f", "1,5", "1.5"),
    *("１２", "٣", "+3", "3.", ".5", "1e1", "  7  ", '"', "'", "\x00", "x" * 500, "😀", "\xa0"),
    *("\u200b", "-999", "-999.0", "-999.00", "-9.99e2", "-9,9", "-9,90", "-9.9", "1.000"),
    *("1,000.5", "k.A.", "TRUE", "True", "true", "0", "1", "1.0", "2.0", "02", "0150", "150"),
    *("other", "OTHER", "#N/A", "2020-02-30", "2020-1-1", "20200131", "2019-06-30T23:30:00-05:00"),
    *("31.12.2009", "1.2.2003", "2019-W05-1", "yes", "Yes", "yes ", "no.", ">50K", "Oslo ", "oslo"),
    *("Malmö", "a,b", "a;b", "a\tb", "x\ny", "x\n\ny", "x\n# y", "I*", "*", "i21", "E10", "e"),
    *("--", "1e5", "0.30000000000000004", "-0"),
]
ODD_NUMBERS = [
    *(None, 0, -0.0, 1, 1.5, -999, -999.0, 10**9, 1e308, float("inf"), float("nan"), 150, 12, 12.0),
    *(True, False, "", "NA", "x", "12", "1.5", "-999.0", date(2020, 1, 1), Decimal("1.50"), b"x"),
    *(0.1, datetime(2020, 1, 1, 23, 59), [1], 2**53, 1e-320, 99.99999999999999),
]
ODD_CELLS = [
    *("", "=1+1", "#N/A", True, False, 0, 1.5, 150, "150", " x ", -999, "-999.0", "NA", 12.0)
]
ENTRIES = [
    *("1:0.5", "1:1 1:2", "0:1", "4:1", "1:nan", "1:inf", "1:x", "x:1", "1", ":", "1:", "1:1_0"),
    *("2:1,5", "", "1.0:2", "-1:2", "1:+2", "1:1e400", "01:5", "3:1.0", "3:12345678901"),
    *("2:1 # no", "qid:1 1:2"),
]


def _table(rng, case):
    return rng.choice(list(case.tables.items()))


def cell(rng, case):
    """Put an unusual value into a cell."""
    path, table = _table(rng, case)
    if not table.rows:
        return None
    row, j = rng.randrange(len(table.rows)), rng.randrange(len(table.names))
    if table.kind == "idx":
        new = rng.choice([0, 1, 127, 128, 255])
    elif table.kind == "libsvm":
        new = rng.choice(ENTRIES if j == 0 else [*ODD_TEXTS, "1", "+1.0", "-1.0"])
    elif table.kind == "excel":
        new = rng.choice([*ODD_CELLS, *[t for t in ODD_TEXTS if "\x00" not in t]])
    elif table.kind == "parquet":
        new = _fitting(table, j, rng.choice([*ODD_NUMBERS, *ODD_TEXTS]))
    else:
        new = rng.choice(ODD_TEXTS)
        if table.separator == "  ":
            new = new.replace("\n", " ")
    old = table.rows[row][j]
    if repr(new) == repr(old):
        return None
    table.rows[row][j] = new
    names = [repr(table.names[j]), str(new).strip(), repr(new), *case.tables]
    return f"{table.names[j]} of record {row + 1} of {path} is {new!r} in place of {old!r}", names


def _fitting(table, j, new):
    """Return a value of the column, or convert the column to one type."""
    column = [row[j] for row in table.rows]
    kinds = {type(value) for value in column if value is not None}
    number = {int, float}
    if new is None or {type(new)} == kinds or (kinds | {type(new)} <= number):
        return new
    for row in table.rows:
        row[j] = None if row[j] is None else str(row[j])
    return str(new)


def column_type(rng, case):
    """Convert a column to another type."""
    path, table = _table(rng, case)
    j = rng.randrange(len(table.names))
    makes = [str, lambda v: float(v), lambda v: int(float(v)), bool]
    if table.kind == "parquet":
        makes += [lambda v: Decimal(str(v)), lambda v: str(v).encode(), lambda v: [v]]
        makes += [lambda v: None, lambda v: datetime(2020, 1, int(float(v)) % 28 + 1)]
    if table.kind not in ("parquet", "excel"):
        makes = [lambda v: f'"{v}"', lambda v: f" {v} ", lambda v: str(v).upper(), lambda v: ""]
        if table.kind != "delimited":
            return None
    make = rng.choice(makes)
    try:
        new = [None if row[j] is None else make(row[j]) for row in table.rows]
    except (ValueError, TypeError, ArithmeticError):
        return None
    for row, value in zip(table.rows, new, strict=True):
        row[j] = "" if value is None and table.kind == "excel" else value
    table.types.pop(table.names[j], None)
    names = [repr(table.names[j]), "label", path]
    return f"{table.names[j]} of {path} is written as {new[:3]}", names


def rows(rng, case):
    """Delete, repeat or reorder records."""
    path, table = _table(rng, case)
    if not table.rows:
        return None
    row = rng.randrange(len(table.rows))
    how = rng.choice(["drop", "repeat", "swap", "none", "one label"])
    if how == "drop":
        del table.rows[row]
    elif how == "repeat":
        table.rows.insert(row, list(table.rows[row]))
    elif how == "swap":
        rng.shuffle(table.rows)
    elif how == "none":
        table.rows.clear()
    else:
        for one in table.rows:
            one[-1] = table.rows[row][-1]
    names = ["n_rows", "n_test", "records", path, "label"]
    return f"records of {path}: {how} ({row + 1})", names


def fields(rng, case):
    """Delete, add, repeat or reorder columns, or only their names."""
    path, table = _table(rng, case)
    j = rng.randrange(len(table.names))
    k = rng.randrange(len(table.names))
    name = table.names[j]
    spelt = ["name", "twice", "empty", "case", "blank", "nfd"]
    how = rng.choice([*spelt, "drop", "add", "swap", "short"])
    names = [name, path, repr(name)]
    if how == "drop" and len(table.names) > 1:
        for cells in (table.names, *table.rows):
            del cells[j]
    elif how == "add":
        table.names.insert(k, "more")
        for cells in table.rows:
            cells.insert(k, cells[min(k, len(cells) - 1)])
    elif how == "swap":
        for cells in (table.names, *table.rows):
            cells[j], cells[k] = cells[k], cells[j]
    elif how == "short" and table.kind in ("delimited", "excel") and table.rows:
        row = rng.randrange(len(table.rows))
        table.rows[row] = table.rows[row][:-1] if rng.random() < 0.5 else [*table.rows[row], "x"]
        names += [f"line {row + 1}", f"line {row + 2}", "n_rows"]
    else:
        other = table.names[k]
        odd = {"name": "nome", "twice": other, "empty": "", "case": name.upper()}
        odd |= {"blank": f" {name} ", "nfd": unicodedata.normalize("NFD", name + "é")}
        table.names[j] = odd.get(how, name)
        names += [other]
    return f"columns of {path}: {how} {name}", names


def layout(rng, case):
    """Write the file with another encoding, separator, line end or remark."""
    path, table = _table(rng, case)
    encodings = ["latin-1", "utf-16", "utf-8-sig", "cp1252"]
    how = rng.choice([*encodings, "crlf", "cr", "separator", "above", "packed"])
    names = [path, "encoding", "parser"]
    if how in encodings:
        table.encoding = how
    elif how in ("crlf", "cr"):
        table.line_end = "\r\n" if how == "crlf" else "\r"
    elif how == "separator":
        table.separator = rng.choice([",", ";", "\t", "|", " ", ", "])
    elif how == "above":
        table.above += rng.choice(["\n", "# a remark\n", "  \n", "a title\n", "x,y\n", "\ufeff"])
    else:
        table.packed = not table.packed
    return f"{path} is written otherwise: {how}", names


# Bytes that replace or extend a place of the file.
DAMAGE = {
    "byte": [bytes([byte]) for byte in (0, 10, 34, 44, 65, 128, 195, 255)],
    "quote": [b'"'],
    "blank line": [b"\n\n"],
    "insert": [b",", b";", b" ", b"\n", b"# ", b"\xc2\xa0", b"-"],
}


def damage(rng, case):
    """Damage the bytes of the file."""
    path, table = _table(rng, case)
    with TemporaryDirectory() as folder:
        data = table.written(Path(folder))
    text = table.kind == "delimited" or table.kind == "libsvm"
    hows = ["cut", "empty", "text", "more"]
    if table.kind == "idx" or (text and not table.packed):
        hows += ["byte", "byte", "byte"]
    if text and not table.packed:
        hows += ["quote", "blank line", "insert", "no end"]
    how = rng.choice(hows)
    place = rng.randrange(1, len(data)) if len(data) > 1 else 0
    if how == "cut":
        data = data[:place]
    elif how == "empty":
        data = b""
    elif how == "text":
        data = b"this is no file\n"
    elif how == "more":
        data += rng.choice([b"\x00", b"x", b"\n", b"\n\n", data[:1]])
    elif how == "no end":
        data = data.rstrip(b"\n")
    else:
        some = DAMAGE[how]
        new = rng.choice(some) if len(some) > 1 else some[0]
        data = data[:place] + new + data[place + (how == "byte") :]
    case.raw[path] = data
    names = [path, "'label'", *(f"line {k}" for k in range(1, 12))]
    return f"{path} is damaged: {how} at byte {place}", names


def description_file(rng, case):
    """Write the description in another encoding."""
    case.encoding = rng.choice(["latin-1", "utf-16", "utf-8-sig", "cp500"])
    try:
        case.yaml.encode(case.encoding)
    except UnicodeEncodeError:
        return None
    return f"the description is written in {case.encoding}", ["mine.yaml"]


def other_file(rng, case):
    """Set a property of a file that may be wrong: checksum, size, place."""
    files = case.content.get("files")
    if not files:
        return None
    part = rng.choice(list(files))
    given = files[part][0] if isinstance(files[part], list) else files[part]
    how = rng.choice(["sha256", "bytes", "local", "twice", "same"])
    if how == "sha256":
        given["sha256"] = "0" * 64
    elif how == "bytes":
        given["bytes"] = 7
    elif how == "local":
        given["local"] += "x"
    elif how == "twice":
        files[part] = [given, dict(given)]
    else:
        paths = list(case.tables)
        case.raw[paths[-1]] = b"1,2\n"
        case.raw[paths[0]] = b"1,2\n"
    return f"files: {part}: {how}", [given["local"], "sha256", "bytes"]


OF_TABLE = [
    *(cell, cell, cell, cell, cell, column_type, rows, fields, fields, layout, damage),
    *(damage, description_file, other_file),
]
