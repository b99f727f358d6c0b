"""Kinds of raw files: compressed, Excel, idx, LIBSVM, several per part; reading in pieces."""

import gzip
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from own_dataset import DESCRIPTION, LINES, assert_load_fails
from raw_files import idx_bytes, locked_workbook_bytes, write_workbook

from privcurve import datasets
from privcurve.datasets import DatasetError, reading
from privcurve.datasets.reading import table

AGE, TOWN = DESCRIPTION["columns"]
CODES = [[3, 0], [4, 1], [9, 2], [1, 0]]


def test_compressed_files(write_dataset):
    write_dataset(files={"train": {"local": "data/mine.csv.gz"}})
    path = Path("data/mine.csv.gz")
    path.write_bytes(gzip.compress("\n".join(LINES).encode()))
    assert datasets.load("mine").X.tolist() == CODES
    path.write_bytes(b"\x1f\x9d\x90\xff\xff\xff")
    assert_load_fails(r"can't be read")


def test_several_files_are_one_part(write_dataset):
    files = [{"local": "data/mine.csv"}, {"local": "data/more.csv"}]
    write_dataset(LINES[:3], files={"train": files})
    Path("data/more.csv").write_text("\n".join([LINES[0], *LINES[3:]]) + "\n")
    mine = datasets.load("mine")
    assert mine.X.tolist() == CODES
    assert list(mine.sources) == ["mine.csv", "more.csv"]
    Path("data/more.csv").write_text("\n".join([LINES[0], LINES[3], "9,Paris,x,no"]) + "\n")
    assert_load_fails(r"line 3 of data/more\.csv: 'town' is 'Paris'")
    Path("data/more.csv").write_text(LINES[0] + "\n")
    assert_load_fails(r"more\.csv holds 2 records")


def test_fields_beyond_the_last(write_dataset):
    lines = [*LINES[:2], LINES[2] + ",a remark", *LINES[3:]]
    parser = {"kind": "delimited", "header": True, "extra_fields": "ignore"}
    write_dataset(lines, parser=parser)
    assert datasets.load("mine").X.tolist() == CODES
    write_dataset([*lines[:4], "17"], parser=parser)
    assert_load_fails(r"line 5 of data/mine\.csv must have 4 fields; it has 1")


@pytest.mark.parametrize("kind", ["delimited", "excel"])
def test_names_of_fields_are_compared_with_the_names_in_the_file(write_dataset, kind):
    """Fields are named by position because a file may lack a name or have it twice."""
    named, moved = ["", "age", "town", "sick"], ["", "town", "age", "sick"]
    rows = [[1, 31, "Oslo", "yes"], [2, 45, "?", "no"], [3, 130, "?", "no"], [4, 17, "?", "yes"]]
    source = "data/mine.csv" if kind == "delimited" else "data/mine.xlsx"
    write_dataset(
        files={"train": {"local": source}},
        parser={"kind": kind, "skip_rows": 1, "fields": ["column1", *named[1:]]},
    )

    def write(names):
        order = [named.index(name) for name in names]
        table = [names, *([row[j] for j in order] for row in rows)]
        if kind == "excel":
            write_workbook(Path(source), {"Data": table})
        else:
            Path(source).write_text("\n".join(",".join(map(str, row)) for row in table) + "\n")

    write(named)
    assert datasets.load("mine").X.tolist() == [[3, 0], [4, 2], [9, 2], [1, 2]]
    write(moved)
    unit = "line" if kind == "delimited" else "row"
    assert_load_fails(f"{unit} 1 .* its column 2 'town', .* is column 3")


# Excel -----------------------------------------------------------------------------


SHEET = [
    ["age", "town", "year", "sick"],
    [31, "Oslo", 2000.0, 1],
    [45.5, "Rome, north", 2000, 0],
    [130, "", 2001, 0],
    [17.5, "Oslo", 2001, 1],
    ["sums", "", "", ""],
]
EXCEL = {
    "files": {"train": {"local": "data/mine.xlsx"}},
    "parser": {"kind": "excel", "header": True, "sheet": "Data", "skip_rows": 1, "rows": 4},
    "missing": "",
    "columns": [AGE, TOWN, {"name": "year", "kind": "categorical", "categories": [2000, 2001]}],
    "label": {"column": "sick", "positive": 1, "negative": 0},
}


BOOK = Path("data/mine.xlsx")


def sheet(write_dataset, rows=SHEET, merged=(), **changes):
    """Write a sheet with a title above its rows, and the description of the dataset."""
    write_dataset(**{**EXCEL, **changes})
    write_workbook(BOOK, {"Data": [["a title"], *rows]}, merged)


def test_a_sheet_of_excel(write_dataset):
    write_dataset(**EXCEL)
    write_workbook(Path("data/mine.xlsx"), {"About": [["x"]], "Data": [["a title"], *SHEET]})
    mine = datasets.load("mine")
    assert mine.X.tolist() == [[3, 0, 0], [4, 1, 0], [9, 2, 1], [1, 0, 1]]
    assert mine.y.tolist() == [1, -1, -1, 1]
    write_dataset(**{**EXCEL, "parser": {**EXCEL["parser"], "rows": 5}}, n_rows=5)
    assert_load_fails(r"row 7 of data/mine\.xlsx: 'age' is 'sums'")
    write_dataset(**{**EXCEL, "parser": {**EXCEL["parser"], "sheet": "data"}})
    assert_load_fails(
        r"the sheet must be one of About, Data; got 'data'; did you mean 'Data'\? Correct"
    )
    Path("data/mine.xlsx").write_text("no sheet at all")
    assert_load_fails("can't be read")


HIDDEN = [
    (b'<row r="4">', b'<row r="4" spans="1:3" hidden="1">', 1),
    (b'<row r="4">', b"<row hidden='true'  r='4'>", 1),
    (b'</row><row r="4">', b'</row><row hidden = "1" ht="0">', 1),
    (b'<row r="', b'<row hidden="1" r="', 4),
    (b'<row r="4">', b'<row r="4" hidden="0" customHeight="1">', 0),
    # The title row, the row of names, and the row below the records.
    (b'<row r="1">', b'<row r="1" hidden="1">', 0),
    (b'<row r="2">', b'<row r="2" hidden="1">', 0),
    (b'<row r="7">', b'<row r="7" hidden="1">', 0),
]


@pytest.mark.parametrize(("old", "new", "n"), HIDDEN)
def test_hidden_rows_are_read_and_reported_once(write_dataset, old, new, n):
    sheet(write_dataset)
    rewrite(BOOK, SHEET_1, old, new)
    mine = datasets.load("mine")
    assert mine.X[:, 0].tolist() == [3, 4, 9, 1]
    result = f"hidden rows of {BOOK}, which are read like all others: {n}"
    assert mine.remarks == ((result,) if n else ())


def test_blank_rows_are_skipped_and_reported_once(write_dataset):
    blank = ["", " ", "", ""]
    sheet(write_dataset, [blank, *SHEET[:3], blank, blank, *SHEET[3:], blank])
    mine = datasets.load("mine")
    assert mine.X[:, 0].tolist() == [3, 4, 9, 1]
    assert mine.remarks == (f"rows of {BOOK} without a value, which are skipped: 3",)


def test_a_workbook_with_a_password_is_refused_with_the_remedy(write_dataset):
    write_dataset(**EXCEL)
    BOOK.write_bytes(locked_workbook_bytes())
    assert_load_fails(
        r"data/mine\.xlsx can't be read: a password protects it: .* save it without one"
    )
    with pytest.raises(DatasetError, match="a password protects it"):
        reading.sniff(BOOK)


def test_a_title_is_not_taken_for_names_of_columns(tmp_path):
    sniffed = partial(names_in, tmp_path / "sheet.xlsx")
    cells = [["Our clinic", "", ""], ["", "", ""], ["age", "town", "sick"], [31, "Oslo", 1]]
    with pytest.raises(DatasetError, match=r"for 1 of 3 .* the next one for 3: if it is a title"):
        sniffed(cells)
    with pytest.raises(DatasetError, match="if it is a title"):
        sniffed([["Our clinic", ""], ["age", "sick"], [31, 1]])
    with pytest.raises(DatasetError, match="if it is a title"):
        sniffed([["Our", "", "of 2024", "", ""], list("abcde"), [1, 2, 3, 4, 5]])
    # An index column without a name, and empty columns.
    assert sniffed([["", "sick"], [1, 0], [2, 1]]) == ("column1", "sick")
    assert sniffed([["a", "b", "", "", ""], [1, 0, "", "", ""]])[:2] == ("a", "b")
    assert sniffed([["a", "b"]]) == ("a", "b")


def names_in(path, cells):
    """Return the column names of a sheet."""
    write_workbook(path, {"Data": cells})
    return reading.sniff(path).fields


def test_a_sheet_may_be_read_as_a_file_with_decimal_commas_is(write_dataset):
    cells = [list(row) for row in SHEET]
    # One number as Excel stores it, and one that was typed as text.
    cells[2][0], cells[4][0] = 45.5, "17,5"
    sheet(write_dataset, cells, decimal=",")
    assert datasets.load("mine").X[:, 0].tolist() == [3, 4, 9, 1]


SHEET_1 = "xl/worksheets/sheet1.xml"


def rewrite(path, part, old, new):
    """Edit one part of an .xlsx archive."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    assert old in parts[part]
    parts[part] = parts[part].replace(old, new)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def test_merged_cells_are_not_read_as_missing(write_dataset):
    # The title, a column that is not read, and rows below the records.
    harmless = ["A1:D1", "E2:E6", "A7:D7"]
    sheet(write_dataset, merged=harmless)
    codes = datasets.load("mine").X.tolist()
    assert codes[2] == [9, 2, 1]
    for merged, message in (
        ("B4:B5", "row 5 of data/mine.xlsx: 'town' is part of merged cells"),
        ("A5:B5", "row 5 of data/mine.xlsx: 'town' is part of merged cells"),
        ("B2:B5", r"row 3 of data/mine.xlsx: 'town' is part of merged .* \(2 more like it\)"),
    ):
        sheet(write_dataset, merged=[*harmless, merged])
        assert_load_fails(message)


def test_a_formula_without_a_value_is_not_read_as_missing(write_dataset):
    age = {**AGE, "missing": "bin"}
    write_dataset(**{**EXCEL, "columns": [age, *EXCEL["columns"][1:]]})
    cells = [["a title"], *map(list, SHEET)]
    cells[6][0] = "=SUM(A3:A6)"
    # Cells that are not read may hold formulas: another sheet, another column, a row of sums.
    sheets = {"About": [["=1+1"]] * 9, "Data": [[*row, "=1+1"] for row in cells]}
    sheets["Data"][1][-1] = "sum"
    write_workbook(BOOK, sheets)
    assert datasets.load("mine").X[:, 0].tolist() == [3, 4, 9, 1]
    for row in (3, 4):
        sheets["Data"][row][0] = "=B1&lt"
    write_workbook(BOOK, sheets)
    message = (
        r"row 4 of .*: 'age' is a formula without a stored value.* save it\. \(1 more like it\)"
    )
    assert_load_fails(message)
    # Some programs write absolute paths.
    rewrite(BOOK, "xl/_rels/workbook.xml.rels", b'Target="', b'Target="/xl/')
    assert_load_fails(message)


def test_numbers_of_excel_are_no_codes_with_leading_zeros(write_dataset):
    groups = {"name": "zip", "kind": "text", "groups": {"north": "01*", "south": ["9990"]}}
    rows = [["zip", "sick"], ["0150", 1], ["9990", 0], ["0170", 1], ["", 0]]
    sheet(write_dataset, rows, columns=[groups])
    assert datasets.load("mine").X.ravel().tolist() == [0, 1, 0, 3]
    # A cell formatted as 0150 holds the number 150.
    rows[1][0] = 150
    sheet(write_dataset, rows, columns=[groups])
    assert_load_fails(r"data/mine\.xlsx: 'zip' holds numbers .*format Text")


@pytest.mark.parametrize("last", [4, 6])
def test_a_row_of_formulas_without_values_is_not_blank(write_dataset, last):
    age = {**AGE, "missing": "bin"}
    parser = {"kind": "excel", "header": True, "sheet": "Data"}
    write_dataset(
        **{**EXCEL, "columns": [age, *EXCEL["columns"][1:]], "parser": parser}, n_rows=last - 2
    )
    formulas = ["=About!A1", "=About!B1", "=About!C1", "=About!D1"]
    sheets = {"Data": [*SHEET[:3], formulas, *SHEET[3:]][:last]}
    write_workbook(Path("data/mine.xlsx"), sheets)
    assert_load_fails("row 4 of .*: 'age' is a formula without a stored value")


FORMULAS = [
    b'<c s="1" r="A4" ><f>B1</f></c>',
    b"<c r='A4' s='1'><f t='shared' si='0'/><v></v></c>",
    b'<c r="A4"><!-- none --><f><![CDATA[B1]]></f><v/></c>',
    b"<c><f>B1</f></c>",
]


@pytest.mark.parametrize("written", FORMULAS)
def test_a_formula_may_be_written_in_any_way(write_dataset, written):
    sheet(write_dataset, columns=[{**AGE, "missing": "bin"}, *EXCEL["columns"][1:]])
    rewrite(BOOK, SHEET_1, b'<c r="A4"><v>45.5</v></c>', written)
    assert_load_fails(r"row 4 of .*: 'age' is a formula without a stored value")
    # Formulas with a stored value are read, even if the value is an empty text.
    rewrite(BOOK, SHEET_1, written, b'<c s="0" r="A4"><f>B1</f><v>45.5</v></c>')
    assert datasets.load("mine").X[:, 0].tolist() == [3, 4, 9, 1]


@pytest.mark.parametrize("listed", [["TRUE", "FALSE"], ["false", "true"], [0, 1], ["True"]])
def test_truth_values_of_excel_match_the_listed_values(write_dataset, listed):
    seen = {"name": "seen", "kind": "categorical", "categories": [*listed, "other"]}
    rows = [["seen", "sick"], [True, 1], [False, 0], [True, 0], ["so", 1]]
    sheet(write_dataset, rows, columns=[seen], unknown="other")
    titles = datasets.describe("mine").domain.columns[0].titles
    labels = [titles[code] for (code,) in datasets.load("mine").X]
    right = {str(value).lower(): str(value) for value in listed} | {"so": "other"}
    right |= {"true": "1", "false": "0"} if 0 in listed else {}
    assert labels == [right.get(text, "other") for text in ("true", "false", "true", "so")]


# idx -------------------------------------------------------------------------------


IMAGES = np.arange(4 * 4 * 4, dtype=np.uint8).reshape(4, 4, 4)
IDX = {
    "files": {"train": {"local": "data/images.gz", "labels": {"local": "data/labels.gz"}}},
    "parser": {"kind": "idx", "fields": ["b{0..3}"], "blocks": 2},
    "columns": [
        {"name": "b{0..3}", "kind": "numeric", "bounds": [0, 64], "n_bins": 64, "source": "s"}
    ],
    "label": {"column": "label", "positive": [1, 3], "negative": [0, 2]},
}


def test_idx_files(write_dataset):
    write_dataset(**IDX)
    Path("data/images.gz").write_bytes(idx_bytes(IMAGES))
    Path("data/labels.gz").write_bytes(idx_bytes([3, 0, 1, 2]))
    mine = datasets.load("mine")
    # The mean of pixels 0, 1, 4 and 5 is 2.5; then the blocks to the right and below.
    assert mine.X.tolist() == [[2 + 16 * k, 4 + 16 * k, 10 + 16 * k, 12 + 16 * k] for k in range(4)]
    assert mine.y.tolist() == [1, -1, 1, -1]
    assert set(mine.sources) == {"images.gz", "labels.gz"}
    write_dataset(**{**IDX, "parser": {"kind": "idx", "fields": ["b{0..3}"]}})
    assert_load_fails(r"has 16 numbers per image \(4 × 4 pixels")


def longer(packed):
    return gzip.compress(gzip.decompress(packed) + b"\0")


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (
            idx_bytes(IMAGES),
            idx_bytes([1, 0, 1]),
            "it has 4 images, but data/labels.gz has 3 labels",
        ),
        (
            gzip.compress(gzip.decompress(idx_bytes(IMAGES))[:-1]),
            idx_bytes([1, 0, 1, 0]),
            "ends too early",
        ),
        (
            gzip.compress(b"\x00\x00\x0d\x03" + bytes(80)),
            idx_bytes([1, 0, 1, 0]),
            "must be an idx file",
        ),
        (
            idx_bytes(IMAGES),
            idx_bytes([1, 0, 7, 0]),
            "image 3 of data/images.gz: the label 'label' is '7'",
        ),
        (
            idx_bytes(IMAGES),
            gzip.compress(b"1 0 1 0"),
            r"labels\.gz: it must be an idx file of bytes",
        ),
        (idx_bytes(IMAGES), idx_bytes([1, 0, 1, 0])[:-12], r"its labels, data/labels\.gz: "),
        (
            idx_bytes(IMAGES),
            idx_bytes([[1], [0], [1], [0]]),
            r"its labels must be one byte per image",
        ),
        (
            longer(idx_bytes(IMAGES)),
            idx_bytes([1, 0, 1, 0]),
            r"images\.gz must end after its 4 entries",
        ),
        (
            idx_bytes(IMAGES),
            longer(idx_bytes([1, 0, 1, 0])),
            r"labels\.gz must end after its 4 entries",
        ),
    ],
    # Gzip bytes contain the time; workers of pytest need equal ids.
    ids=[
        *("other numbers", "short", "no magic number", "unknown label"),
        *("text for labels", "short labels", "images for labels", "long", "long labels"),
    ],
)
def test_invalid_idx_files(write_dataset, images, labels, message):
    write_dataset(**IDX)
    Path("data/images.gz").write_bytes(images)
    Path("data/labels.gz").write_bytes(labels)
    assert_load_fails(message)


def test_idx_files_need_labels(write_dataset):
    write_dataset(**{**IDX, "files": {"train": {"local": "data/images.gz"}}})
    assert_load_fails(r"images\.gz needs labels")


# Pieces ----------------------------------------------------------------------------


@pytest.mark.parametrize("n_records", [1, 3, 4, 1000])
def test_pieces_make_no_difference(write_dataset, n_records, monkeypatch):
    dataset = datasets.load("mine")
    monkeypatch.setattr(table, "MOST_RECORDS", n_records)
    again = datasets.load("mine")
    assert again.checksum == dataset.checksum
    assert (again.n_clipped, again.clipped) == (dataset.n_clipped, dataset.clipped)
    write_dataset([*LINES[:4], "17.5,Bergen,w,yes"])
    assert_load_fails(r"line 5 of .*'Bergen'")


def test_memory_does_not_grow_with_the_file(write_dataset, monkeypatch):
    import tracemalloc

    monkeypatch.setattr(table, "MOST_RECORDS", 500)
    peaks = []
    for n_rows in (1_000, 10_000):
        write_dataset([LINES[0], *(LINES[1:] * (n_rows // 4))], n_rows=n_rows)
        tracemalloc.start()
        mine = datasets.load("mine")
        peaks.append(tracemalloc.get_traced_memory()[1] - mine.X.nbytes - mine.y.nbytes)
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]
