"""Raw files that were misread silently, or that never end."""

import gzip
import zipfile
from pathlib import Path

import pytest
from own_dataset import DESCRIPTION, LINES, assert_load_fails
from raw_files import write_workbook

from privcurve import datasets
from privcurve.datasets import Column, DatasetError, Domain, Label
from privcurve.datasets.coding.unlabelled import read_codes
from privcurve.datasets.reading import files
from privcurve.datasets.reading.downloads import _BoundedFile

AGE, TOWN = DESCRIPTION["columns"]


# Text ----------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_quoted_text_is_neither_blank_nor_a_comment(write_dataset, separator):
    town = "Oslo\n\n# or so\n  \nRome"
    lines = [
        "# a comment, of what follows",
        "",
        *(line.replace(",", separator) for line in ("age,town,note,sick", "31,A,x,yes")),
        "# another",
        f'45,"{town}",y,no'.replace(",", separator),
        "",
        '"17,5","A","#",no'.replace('17,5"', '17.5"').replace(",", separator),
    ]
    write_dataset(
        lines,
        parser={"kind": "delimited", "header": True, "comment": "#", "separator": separator},
        columns=[AGE, {**TOWN, "categories": ["A", town]}],
        n_rows=3,
    )
    assert datasets.load("mine").X.tolist() == [[3, 0], [4, 1], [1, 0]]
    write_dataset(
        [*lines, separator.join(["old", "A", "x", "no"])], parser={**PARSER, "separator": separator}
    )
    assert "line 13 of data/mine.csv: 'age' is 'old'" in assert_load_fails()


PARSER = {"kind": "delimited", "header": True, "comment": "#"}


BLANK = ["{0}", "{0}{0}", " {0} ", "\u00a0{0}\u00a0", "", "  ", "{0}\u2003"]


@pytest.mark.parametrize("separator", [*",;\t|^"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_of_only_separators_are_skipped_and_counted(tmp_path, separator, encoding, end):
    columns = tuple(Column(name, "numeric", (0.0, 10.0), 10, missing_bin=True) for name in "ab")
    domain, new = Domain(columns, Label("y", "no", "yes")), tmp_path / "new.csv"
    blank = [line.format(separator) for line in BLANK]
    blank = [line for line in blank if encoding != "cp1252" or "\u2003" not in line]
    # A line is a record if it has a quote or a separator, even if all its values are missing.
    rows = ["1{0}2", '""{0}', "{0}4", '{0}" "', "5{0}", '6{0}"7"']
    rows = [row.format(separator) for row in rows]
    codes = [[1, 2], [10, 10], [10, 4], [10, 10], [5, 10], [6, 7]]
    for k in range(len(rows) + 1):
        lines = [f"a{separator}b", *rows[:k], *blank, *rows[k:]]
        new.write_bytes(end.join(lines).encode(encoding))
        new_records = read_codes(domain, new, encoding=encoding, separator=separator)
        assert [code for part in new_records.parts for code in part.codes.tolist()] == codes
        n = sum(separator in line for line in blank)
        assert new_records.remarks == (f"lines of {new} without a value, which are skipped: {n}",)


def test_a_line_of_separators_within_quotes_is_a_part_of_the_text(tmp_path):
    town = Column("town", "categorical", categories=(("a\n,,\nb", "ab"), ("c", "c")))
    domain = Domain((town, Column("x", "numeric", (0.0, 9.0), 9)), Label("y", "no", "yes"))
    (tmp_path / "new.csv").write_text('town,x\n"a\n,,\nb",1\n,\nc,2\n')
    (part,) = (new_records := read_codes(domain, tmp_path / "new.csv")).parts
    assert part.codes.tolist() == [[0, 1], [1, 2]]
    assert part.table.lines == (4, 6)
    assert new_records.remarks[0].endswith(": 1")


@pytest.mark.parametrize("sha256", [False, True])
def test_the_size_of_a_users_file_is_checked(write_dataset, sha256):
    from privcurve.datasets.reading.downloads import sha256_of

    file = {"local": "data/mine.csv", "bytes": 7}
    if sha256:
        file["sha256"] = sha256_of(Path("data/mine.csv"))
    write_dataset(files={"train": file})
    size = Path("data/mine.csv").stat().st_size
    assert (
        f"data/mine.csv must have 7 bytes, as its description says; it has {size}"
        in assert_load_fails()
    )
    write_dataset(files={"train": {**file, "bytes": size}})
    assert len(datasets.load("mine").y) == 4


@pytest.mark.parametrize("n_rows", [10**12, 10**18, 10**30])
def test_a_number_of_records_takes_no_memory(write_dataset, n_rows):
    write_dataset(n_rows=n_rows)
    assert f"holds 4 records, but resources/datasets/mine.yaml says n_rows: {n_rows}" in (
        assert_load_fails().replace(f"{Path.cwd()}/", "")
    )
    write_dataset(n_rows=n_rows, records={"first": n_rows})
    assert f"first is {n_rows}, but there are 4" in assert_load_fails()


# LIBSVM ----------------------------------------------------------------------------------


LIBSVM = {
    "columns": [{**AGE, "name": "p"}, {**AGE, "name": "q"}],
    "parser": {"kind": "libsvm", "fields": ["p", "q"], "zero_based": True},
    "label": {"column": "label", "positive": 1, "negative": -1},
}


def test_indices_match_fields_and_occur_once_per_record(write_dataset):
    write_dataset(["1 0:35 1:90", "-1 1:40", "-1 0:10", "1"], **LIBSVM)
    assert datasets.load("mine").X.tolist() == [[3, 9], [0, 4], [1, 0], [0, 0]]
    write_dataset(["1 2:35", "-1 1:4_0", "-1 1:40 0:1 1:50", "1"], **LIBSVM)
    message = assert_load_fails()
    assert "line 1 of data/mine.csv: '2:35' is not index:number, index 0 … 1" in message
    assert "line 2 of data/mine.csv: '1:4_0'" in message
    assert "line 3 of data/mine.csv has the index 1 twice" in message


def test_a_file_that_counts_from_one_is_not_read_as_one_that_counts_from_zero(write_dataset):
    from_one = ["1 1:35", "-1 1:40", "-1 1:10", "1"]
    write_dataset(from_one, **LIBSVM)
    assert "data/mine.csv never has the index 0" in assert_load_fails()
    write_dataset(from_one, **{**LIBSVM, "parser": {**LIBSVM["parser"], "zero_based": False}})
    assert datasets.load("mine").X.tolist() == [[3, 0], [4, 0], [1, 0], [0, 0]]
    # Rows that are not used count, too.
    write_dataset([*from_one[:3], "1 00:0"], **LIBSVM, records={"first": 2}, n_rows=2)
    assert datasets.load("mine").X.tolist() == [[0, 3], [0, 4]]


def test_categories_of_many_digits_are_distinguished(write_dataset):
    codes = {"name": "p", "kind": "categorical", "categories": [12345678901, 12345678902]}
    lines = ["1 0:12345678901", "-1 0:12345678902 1:1", "-1 0:12345678902", "1 0:12345678901.0"]
    write_dataset(lines, **{**LIBSVM, "columns": [codes]})
    assert datasets.load("mine").X.ravel().tolist() == [0, 1, 1, 0]
    # Floats do not hold this many digits, so no category is guessed.
    many = {**codes, "categories": ["9007199254740993", "1"]}
    write_dataset(["1 0:1", "-1 0:1", "-1 0:1", "1 0:1"], **{**LIBSVM, "columns": [many]})
    assert "of whose digits such numbers lose some" in assert_load_fails()
    # Floats hold no number this large.
    write_dataset(
        ["1 0:1", "-1 0:1"], **{**LIBSVM, "columns": [{**codes, "categories": ["1", "9" * 400]}]}
    )
    assert "of whose digits such numbers lose some" in assert_load_fails()


# Packed files ------------------------------------------------------------------------------


@pytest.fixture
def little_room(monkeypatch):
    monkeypatch.setattr(files, "MOST_UNPACKED", 100_000)
    monkeypatch.setattr(files, "MOST_TIMES", 5)


@pytest.mark.parametrize("ending", ["csv.gz", "csv"])
@pytest.mark.usefixtures("little_room")
def test_a_file_that_unpacks_to_too_much_is_refused(write_dataset, ending):
    text = "\n".join([LINES[0], *LINES[1:] * 5000]).encode()
    data = gzip.compress(text)
    assert len(data) * files.MOST_TIMES < len(text)
    write_dataset(files={"train": {"local": f"data/mine.{ending}"}})
    Path(f"data/mine.{ending}").write_bytes(data)
    assert f"its {len(data):,} packed bytes contain more than " in assert_load_fails()
    with pytest.raises(DatasetError, match="packed bytes contain more than"):
        list(read_codes(datasets.describe("mine").domain, Path(f"data/mine.{ending}")).parts)


@pytest.mark.usefixtures("little_room")
def test_a_workbook_that_unpacks_to_too_much_is_not_read(write_dataset):
    write_dataset(
        files={"train": {"local": "data/mine.xlsx"}}, parser={"kind": "excel", "header": True}
    )
    rows = [LINES[0].split(","), *[[31, "Oslo", "x", "yes"]] * 5000]
    path = Path("data/mine.xlsx")
    write_workbook(path, {"Data": rows})
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    assert "packed bytes contain more than" in assert_load_fails()
    with pytest.raises(DatasetError, match="packed bytes contain more than"):
        list(read_codes(datasets.describe("mine").domain, path).parts)


def test_a_download_ends_where_the_file_should(tmp_path):
    with (tmp_path / "x").open("wb") as stream:
        target = _BoundedFile(stream, 5)
        target.write(b"12345")
        with pytest.raises(ValueError, match="must have 5 bytes; it is larger"):
            target.write(b"6")
    assert (tmp_path / "x").read_bytes() == b"12345"
