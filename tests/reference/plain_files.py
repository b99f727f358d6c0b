"""Raw files in plain Python: one file after another, each as records of named cells.

A cell is a text, a number or a truth value as the file has it; None where there is nothing.
"""

import csv
import gzip
import math
import re
import struct
import unicodedata
import zipfile
from pathlib import Path
from xml.etree import ElementTree

from plain_yaml import RefusedError

LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
GZIP = b"\x1f\x8b"


def records_of(about, file, most=None):
    """Return the records of a file, at most so many, each a mapping of cells by name."""
    path = Path(file["local"])
    if not path.is_file():
        raise RefusedError(f"there is no file {path}")
    readers = {"delimited": delimited, "libsvm": libsvm, "excel": excel, "parquet": parquet}
    if about.parser.kind == "idx":
        return idx(about, path, Path(file["labels"]["local"]), most)
    return readers[about.parser.kind](about, path, most)


def unpacked(path):
    data = path.read_bytes()
    if path.suffix == ".gz" or data[:2] == GZIP:
        try:
            return gzip.decompress(data)
        except (OSError, EOFError, ValueError, ArithmeticError) as error:
            raise RefusedError(f"{path} is no gzip: {error}") from None
        except Exception as error:  # zlib.error has no other base
            raise RefusedError(f"{path} is damaged: {error}") from None
    return data


def lines_of(about, path):
    """Return numbered lines, blank ones and remarks too."""
    try:
        text = unpacked(path).decode(about.parser.encoding)
    except (UnicodeError, ValueError) as error:
        raise RefusedError(f"{path} has another encoding: {error}") from None
    return list(enumerate(LINE.findall(unicodedata.normalize("NFC", text)), start=1))


def is_idle(line, parser):
    """Tell whether a line is blank or a remark; tabs may separate fields of nothing."""
    fields_of_nothing = parser.kind == "delimited" and parser.separator == "\t" and "\t" in line
    if not line.strip():
        return not fields_of_nothing
    return bool(parser.comment and line.startswith(parser.comment))


# Fields and separators -----------------------------------------------------------------


def delimited(about, path, most):
    parser = about.parser
    lines = lines_of(about, path)
    if parser.fields and parser.skip_rows and len(lines) >= parser.skip_rows:
        above = lines[parser.skip_rows - 1 :]
        if not is_idle(above[0][1], parser):
            check_order(next(rows_of(above, parser)), parser.fields)
    rows = rows_of(lines[parser.skip_rows :], parser)
    return table_of(about, rows, most)


def rows_of(lines, parser):
    """Divide lines into fields; a quoted field may go on for several lines."""
    waiting = iter(lines)
    for _, line in waiting:
        if is_idle(line, parser):
            continue
        if parser.separator == "whitespace":
            yield line.split()
            continue
        text = line
        while not_closed(text, parser.separator):
            _, line = next(waiting, (0, None))
            if line is None:
                raise RefusedError("a quote is not closed")
            text += line
        try:
            # What stands on several lines must be right to the letter.
            strict = text.count("\n") + text.count("\r") - text.count("\r\n") > 1
            (row,) = csv.reader(
                [text], delimiter=parser.separator, skipinitialspace=True, strict=strict
            )
        except (csv.Error, ValueError, TypeError) as error:
            raise RefusedError(f"no fields: {error}") from None
        yield row


def not_closed(text, separator):
    """Tell whether a quoted field of a record goes on behind its end."""
    inside, at_start, place = False, True, 0
    while place < len(text):
        sign = text[place]
        if inside and sign == '"':
            if text[place + 1 : place + 2] == '"':
                place += 1
            else:
                inside = False
        elif not inside and sign == '"' and at_start:
            inside = True
        if not inside:
            at_start = sign == separator or (at_start and sign == " ")
        place += 1
    return inside


def table_of(about, rows, most):
    """Return the records of rows of fields, the first of which may be names."""
    parser = about.parser
    fields = parser.fields
    rows = iter(rows)
    if parser.header:
        fields = [str(name).strip() for name in next(rows, [])]
    place = places(about, fields)
    records = []
    for row in rows:
        if most is not None and len(records) == most:
            break
        if len(row) < len(fields) or (len(row) > len(fields) and parser.extra_fields == "fail"):
            raise RefusedError(f"{len(row)} fields, not {len(fields)}")
        records.append({name: row[j] for name, j in place.items()})
    return records


def places(about, fields):
    """Find the fields that are used: each is there once."""
    wanted = [*(column.name for column in about.columns), about.label.column]
    for name in wanted:
        if list(fields).count(name) != 1:
            raise RefusedError(f"there are {list(fields).count(name)} fields {name}")
    return {name: list(fields).index(name) for name in wanted}


def check_order(above, fields):
    """Refuse names in the skipped row above that say another order than `fields`."""
    above = [str(name).strip() for name in above]
    for j, name in enumerate(above):
        if above.count(name) == 1 and name in fields and fields.index(name) != j:
            raise RefusedError(f"{name} is field {j + 1}")


# Other formats -------------------------------------------------------------------------


def libsvm(about, path, most):
    parser = about.parser
    base = 0 if parser.zero_based else 1
    records, indices = [], []
    for _, line in lines_of(about, path)[parser.skip_rows :]:
        if is_idle(line, parser):
            continue
        label, *entries = line.split()
        if most is not None and len(records) == most:
            indices += [int(one.partition(":")[0]) for one in entries if one[:1].isdigit()]
            continue
        record, own = dict.fromkeys(parser.fields, 0.0), []
        for entry in entries:
            index, colon, text = entry.partition(":")
            try:
                place = int(index) - base
                number = float(text)
            except ValueError:
                raise RefusedError(f"{entry} is not index:number") from None
            if "_" in entry or not colon or place in own or not math.isfinite(number):
                raise RefusedError(f"{entry} is not index:number, or stands twice")
            if not 0 <= place < len(parser.fields):
                raise RefusedError(f"{entry} has no name")
            own.append(place)
            record[parser.fields[place]] = number
        indices += [place + base for place in own]
        records.append({**record, "label": label})
    if parser.zero_based and 0 not in indices:
        raise RefusedError("no index is 0: the file begins with 1")
    return records


def idx(about, images_path, labels_path, most):
    if not labels_path.is_file():
        raise RefusedError(f"there is no file {labels_path}")
    images, labels = unpacked(images_path), unpacked(labels_path)
    (count, *shape), pixels = idx_head(images)
    sizes, values = idx_head(labels)
    if len(sizes) != 1 or sizes[0] != count:
        raise RefusedError("as many labels as images")
    n_pixels, blocks = math.prod(shape), about.parser.blocks
    if any(side % blocks for side in shape):
        raise RefusedError("no blocks of this side")
    if n_pixels // blocks ** len(shape) != len(about.parser.fields):
        raise RefusedError("other numbers of pixels and names")
    wanted = count if most is None else min(most, count)
    for held, each in ((len(pixels), n_pixels), (len(values), 1)):
        if held < wanted * each or (wanted == count and held > count * each):
            raise RefusedError("too few bytes, or too many")
    records = []
    for k in range(wanted):
        image = pixels[k * n_pixels : (k + 1) * n_pixels]
        means = block_means(image, shape, blocks)
        record = dict(zip(about.parser.fields, means, strict=True))
        records.append({**record, "label": str(values[k])})
    return records


def idx_head(data):
    zero, kind, axes = struct.unpack(">HBB", data[:4]) if len(data) >= 4 else (1, 0, 0)
    if zero or kind != 8 or not axes or len(data) < 4 + 4 * axes:
        raise RefusedError("no idx file of bytes")
    return struct.unpack(f">{axes}I", data[4 : 4 + 4 * axes]), data[4 + 4 * axes :]


def block_means(image, shape, blocks):
    sums = {}
    for place, byte in enumerate(image):
        block = []
        for side in reversed(shape):
            place, at = divmod(place, side)
            block.append(at // blocks)
        block = tuple(reversed(block))
        sums[block] = sums.get(block, 0) + byte
    return [sums[block] / blocks ** len(shape) for block in sorted(sums)]


def parquet(about, path, most):
    import pyarrow
    from pyarrow import parquet

    try:
        table = parquet.read_table(path)
        place = places(about, table.column_names)
        table = table.select([table.column_names[j] for j in place.values()])
        records = [{name: decoded(cell) for name, cell in one.items()} for one in table.to_pylist()]
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise RefusedError(f"{path} is no Parquet file: {error}") from None
    return records if most is None else records[:most]


def decoded(cell):
    """Read bytes as a text."""
    return cell.decode() if isinstance(cell, bytes) else cell


# Excel ---------------------------------------------------------------------------------


def excel(about, path, most):
    parser = about.parser
    cells, merged = sheet_of(path, parser.sheet)
    last = max((row for row, _ in cells), default=0)
    width = max((column for _, column in cells), default=-1) + 1
    rows = [[cells.get((row, j), "") for j in range(width)] for row in range(1, last + 1)]
    if parser.fields and 0 < parser.skip_rows <= len(rows):
        check_order(rows[parser.skip_rows - 1], parser.fields)
    kept = [
        (number, row)
        for number, row in enumerate(rows, start=1)
        if number > parser.skip_rows and any(cell != "" for cell in row)
    ]
    if parser.rows:
        kept = kept[: parser.rows + parser.header]
    records = table_of(about, [[named(c) for c in row] for _, row in kept], most)
    check_cells(about, rows, kept[parser.header :], merged)
    return records


def named(cell):
    return cell if not isinstance(cell, NotComputed) else ""


class NotComputed:
    """A formula whose value is not in the file."""


def sheet_of(path, sheet):
    try:
        with zipfile.ZipFile(path) as archive:
            names = re.findall(r'<sheet name="([^"]*)"', archive.read("xl/workbook.xml").decode())
            if sheet and sheet not in names:
                raise RefusedError(f"no sheet {sheet}")
            number = names.index(sheet) + 1 if sheet else 1
            root = ElementTree.fromstring(archive.read(f"xl/worksheets/sheet{number}.xml"))
    except (zipfile.BadZipFile, KeyError, ElementTree.ParseError) as error:
        raise RefusedError(f"{path} is no Excel file: {error}") from None
    cells = {}
    for cell in root.iterfind(".//{*}c"):
        column, row = position(cell.get("r"))
        cells[row, column] = cell_value(cell)
    merged = [each.get("ref") for each in root.iterfind(".//{*}mergeCell")]
    return cells, merged


def position(place):
    letters, digits = re.fullmatch(r"([A-Z]+)([0-9]+)", place).groups()
    column = 0
    for letter in letters:
        column = 26 * column + ord(letter) - ord("A") + 1
    return column - 1, int(digits)


def cell_value(cell):
    kind = cell.get("t")
    text = cell.findtext("{*}v") or ""
    if kind == "inlineStr":
        return "".join(cell.itertext())
    if kind == "e":
        return ""
    if not text:
        return NotComputed() if cell.find("{*}f") is not None and kind != "str" else ""
    if kind == "b":
        return text == "1"
    return text if kind == "str" else float(text)


def check_cells(about, rows, kept, merged):
    """Refuse cells that are used and hold no value of their own."""
    fields = about.parser.fields
    if about.parser.header:
        above = next(
            row for number, row in enumerate(rows, start=1) if is_header(about, number, row)
        )
        fields = [str(name).strip() for name in above]
    used = [j for j, name in enumerate(fields) if name in places(about, fields)]
    numbers = [number for number, _ in kept]
    for _, row in kept:
        if any(isinstance(row[j], NotComputed) for j in used):
            raise RefusedError("a formula that no program has computed")
    for ref in merged:
        (left, top), (right, bottom) = (position(place) for place in ref.split(":"))
        for row in range(top, bottom + 1):
            for j in range(left, right + 1):
                if (row, j) != (top, left) and row in numbers and j in used:
                    raise RefusedError("merged cells")


def is_header(about, number, row):
    return number > about.parser.skip_rows and any(cell != "" for cell in row)
