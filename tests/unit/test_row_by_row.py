"""A record's code depends only on the record: a table is encoded like its single rows."""

import csv
import io
import runpy
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import one_cell as reference
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
from any_table import COLUMNS, EXCEL, LABEL, TEXTS, TYPED, named, one_by_one, tables
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from raw_files import write_workbook

from privcurve import models
from privcurve.cli import main
from privcurve.datasets import Column, DatasetError, Domain, Label
from privcurve.datasets.coding import numbers
from privcurve.datasets.coding.frames import encode_frame
from privcurve.datasets.coding.unlabelled import read_codes
from privcurve.datasets.description import LabelSpec, Parser
from privcurve.datasets.errors import Problems
from privcurve.datasets.reading import delimited, files, table
from privcurve.datasets.reading.cells import cells_of
from privcurve.learners import PrivGAMClassifier

CODE = runpy.run_path(str(Path(__file__).parents[2] / "examples/read_model.py"))["code"]
REFUSED = "refused"
# An all-blank row or line is no record, so this column is never blank.
FILLED = "filled"

SHORT = settings(max_examples=40)
LONG = settings(max_examples=150, suppress_health_check=list(HealthCheck))


def outcome(code, *arguments):
    """Return codes as a list of rows, or `REFUSED`."""
    try:
        return code(*arguments).tolist()
    except DatasetError:
        return REFUSED


def together(outcomes):
    return REFUSED if REFUSED in outcomes else [row for (row,) in outcomes]


def expected(domain, columns):
    codes = [
        [reference.code(cell, column, domain) for cell in columns[column.name]]
        for column in domain.columns
    ]
    refused = any(code is None for of_column in codes for code in of_column)
    return REFUSED if refused else [list(row) for row in zip(*codes, strict=True)]


# Cells of any types ------------------------------------------------------------------


def of_values(domain):
    """Yield values as objects whose columns share no type."""
    yield partial(encode_frame, domain)
    yield lambda columns: encode_frame(
        domain, [list(row) for row in zip(*columns.values(), strict=True)]
    )
    yield lambda columns: encode_frame(domain, pd.DataFrame(columns, dtype=object))
    yield lambda columns: encode_frame(domain, {k: objects(cells) for k, cells in columns.items()})


def objects(cells):
    """Return cells as an array of objects, with absent cells masked."""
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return np.ma.array(array, mask=[reference.absent(cell) for cell in cells])


def check_values(table):
    domain, columns = table
    for code in of_values(domain):
        result = outcome(code, columns)
        assert result == together([outcome(code, row) for row in one_by_one(columns)])
        assert result == expected(domain, columns)


# Cells of one type, or of none but text ----------------------------------------------


def typed(columns):
    """Yield columns of one type each, which depends on all values of the column."""
    frame = pd.DataFrame(columns)
    yield frame
    with suppress(OverflowError):  # pandas 2 has no integers of this size
        yield frame.convert_dtypes()
    yield frame.astype("category")
    try:
        yield pyarrow.table(columns)
    except (pyarrow.ArrowException, OverflowError, TypeError, ValueError):
        return


def check_typed(table, path):
    domain, columns = table
    for frame in typed(columns):
        is_arrow = isinstance(frame, pyarrow.Table)
        rows = [frame.slice(k, 1) if is_arrow else frame.iloc[[k]] for k in range(len(frame))]
        result = outcome(partial(encode_frame, domain), frame)
        assert result == together([outcome(partial(encode_frame, domain), row) for row in rows])
        if is_arrow:
            assert result == outcome(from_parquet, domain, frame, path)
            assert result == together([outcome(from_parquet, domain, row, path) for row in rows])


def from_parquet(domain, table, path):
    pyarrow.parquet.write_table(table, path / "new.parquet")
    return read(domain, path / "new.parquet")


def read(domain, path):
    return np.concatenate([part.codes for part in read_codes(domain, path).parts])


# Files of text and Excel ---------------------------------------------------------------


def from_csv(domain, columns, path):
    stream = io.StringIO()
    writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
    writer.writerow([*columns, FILLED])
    writer.writerows([*row, 1] for row in zip(*columns.values(), strict=True))
    (path / "new.csv").write_text(stream.getvalue())
    return read(domain, path / "new.csv")


def from_excel(domain, columns, path):
    rows = [[*row, 1] for row in zip(*columns.values(), strict=True)]
    write_workbook(path / "new.xlsx", {"Data": [[*columns, FILLED], *rows]})
    return read(domain, path / "new.xlsx")


def check_file(table, path, code):
    domain, columns = table
    result = outcome(code, domain, columns, path)
    rows = one_by_one(columns)
    assert result == together([outcome(code, domain, row, path) for row in rows])
    assert result == expected(domain, columns)
    # A frame of the same cells has the same codes, and so has a reader of model.json alone.
    assert result == outcome(partial(encode_frame, domain), columns)
    if result != REFUSED and code is from_csv:
        facts = domain.to_dict()
        each = [[CODE(c, text, facts) for text in columns[c["name"]]] for c in facts["columns"]]
        assert result == [list(row) for row in zip(*each, strict=True)]


CHECKS = {
    "values": (tables(TYPED | TEXTS), lambda table, path: check_values(table)),
    "kinds": (tables(), lambda table, path: check_values(table)),
    "types": (tables(), check_typed),
    "csv": (tables(TEXTS, nothing=False), lambda *given: check_file(*given, from_csv)),
    "excel": (tables(EXCEL, nothing=False), lambda *given: check_file(*given, from_excel)),
}


@pytest.mark.parametrize("how", [SHORT, pytest.param(LONG, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", CHECKS)
def test_a_table_is_coded_as_its_rows_are(case, how, tmp_path_factory):
    strategy, compare = CHECKS[case]
    path = tmp_path_factory.mktemp(case)
    how(given(strategy)(lambda table: compare(table, path)))()


# The two readers of text files -------------------------------------------------------------


PLAIN = ["a", "1.5", "", " ", "  b", '"a"']
BITS = [*PLAIN, "#", '"', '""', ' "x"', '"a;b"', "é", "e\u0301", "\0", "\ufeff"]
ENDS = ["\n"] * 8 + ["\r\n", "\r", "\n\n", "\n \n"]


@st.composite
def raw_texts(draw):
    """Draw a parser, the bytes of a file, and the number of bytes per read."""
    separator = draw(st.sampled_from([",", ";", "\t", "|"]))
    width = draw(st.integers(1, 3))
    regular = draw(st.booleans())
    cell = st.sampled_from(PLAIN if regular else BITS)
    text = ""
    for _ in range(draw(st.integers(0, 12))):
        ragged = 0 if regular else draw(st.sampled_from([0, 0, 0, 0, 1, -1]))
        cells = draw(st.lists(cell, min_size=width + ragged, max_size=width + ragged))
        if not regular and draw(st.integers(0, 9)) == 0:
            cells[:1] = ['"' + draw(st.sampled_from(ENDS)) + "c" + draw(st.sampled_from(['"', ""]))]
        text += separator.join(cells) + draw(st.sampled_from(ENDS[:1] if regular else ENDS))
    if draw(st.booleans()):
        text = text.rstrip("\r\n")
    encoding = draw(st.sampled_from(["utf-8-sig", "utf-8", "cp1252", "latin-1", "utf-16"]))
    header = draw(st.booleans())
    parser = Parser(
        "delimited",
        separator=separator,
        header=header,
        fields=() if header else ("p", "q", "r")[:width],
        extra_fields=draw(st.sampled_from(["fail", "ignore"])),
        comment=draw(st.sampled_from(["", "#", "é"])),
        skip_rows=draw(st.sampled_from([0, 0, 1, 2])),
        encoding=encoding,
    )
    above = "".join(draw(st.sampled_from(["", "x\n", "x\n", '"y\n'])) for _ in range(2))
    names = separator.join(("p", "q", "r")[:width]) + "\n" if header else ""
    written = draw(st.sampled_from([encoding, encoding, encoding, "utf-8", "utf-8-sig"]))
    raw = (above + names + text).encode(written, "replace")
    return parser, raw, draw(st.sampled_from([3, 20, 100, 2**20]))


def by_road(road, parser, most):
    """Return the records that a reader finds, with their lines, and its problems."""
    domain = Domain((Column("p", "categorical"),), Label("q"))
    label = LabelSpec("q") if "q" in parser.fields or parser.header else None
    described = SimpleNamespace(
        name="n", path="p", parser=parser, domain=domain, label=label, copied=(), unit=None
    )
    problems = Problems("n")
    records = []
    try:
        for piece in road(described, problems, most):
            columns = map(cells_of, piece.columns.values())
            rows = zip(piece.lines, *columns, strict=True)
            records += [(line, *(cell.strip() for cell in cells)) for line, *cells in rows]
    except UnicodeError:
        return "not of this encoding"
    except (DatasetError, csv.Error) as error:
        return str(error)
    return records, problems.messages, problems.n_unread


def test_arrow_reads_the_same_records_as_the_exact_reader(monkeypatch):
    by_arrow = []
    together = delimited._read_by_arrow

    def noted(*arguments):
        by_arrow.append(together(*arguments))
        return by_arrow[-1]

    monkeypatch.setattr(delimited, "_read_by_arrow", noted)

    @settings(max_examples=300, suppress_health_check=list(HealthCheck))
    @given(raw_texts(), st.sampled_from([None, None, 1, 4]))
    def check(given_text, most):
        parser, raw, at_once = given_text
        monkeypatch.setattr(files, "PIECE", at_once)

        def pieces(described, problems, most):
            some = files.pieces_of(io.BytesIO(raw), parser.encoding)
            return delimited.read_pieces(described, "f", some, problems, most)

        def exact(described, problems, most):
            below = islice(files.lines_of(io.BytesIO(raw), parser.encoding), parser.skip_rows, None)
            records = delimited.records_of(below, parser.separator, parser.comment)
            fields = parser.fields
            if parser.header:
                fields = [name.strip() for name in next(records, (0, []))[1]]
            place = table.positions(described, "f", fields, problems)
            yield from delimited.tables(described, "f", records, len(fields), place, problems, most)

        by_pieces, expected = (by_road(road, parser, most) for road in (pieces, exact))
        try:
            raw.decode(parser.encoding)
            assert by_pieces == expected
        except UnicodeError:
            # The first reported fault depends on how far the file is read ahead.
            assert most is not None or isinstance(by_pieces, str) == isinstance(expected, str)

    check()
    # Both readers were used, so the comparison means something.
    read = sum(table is not None for table in by_arrow)
    assert min(read, len(by_arrow) - read) > 15


NUMERALS = st.one_of(
    st.floats().map(repr),
    st.floats().map(lambda x: f"{x:.25e}"),
    st.integers().map(str),
    st.from_regex(r"\A[-+ ]?(0|[0-9_]{1,25})?[.,]?[0-9]{0,25}([eE][-+]?[0-9]{1,3})?\Z"),
    st.sampled_from(
        ["inf", "-Infinity", "NaN", "nan(1)", "0x1p3", "1d5", "1f", "٣", "１", "1\xa0"]
    ),
    st.sampled_from([None, "", "NA", "-9", "-9.0", "-9,00"]),
)


@settings(max_examples=40)
@given(st.lists(NUMERALS, max_size=3), st.sampled_from([".", ","]))
@pytest.mark.slow
def test_numbers_of_arrow_match_python(cells, decimal):
    markers = numbers.Markers(("NA", "-9"), decimal)
    exact = numbers._read_each(cells, lambda text: numbers._number(text, markers))
    for values in (cells, pyarrow.array(cells, pyarrow.string())):
        result = numbers.read_numbers(values, ("NA", "-9"), decimal)
        np.testing.assert_array_equal(result[0].view(np.uint64), exact[0].view(np.uint64))
        assert (result[1].tolist(), result[2]) == (exact[1].tolist(), exact[2])


# Predictions of a saved model ------------------------------------------------------------


ALL = Domain(named(COLUMNS), LABEL, missing=("", "NA", "-9"), unknown="other")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Save a model whose prediction depends on every column."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, ALL.n_bins, size=(2000, len(COLUMNS))).astype(np.uint8)
    weights = rng.normal(size=len(COLUMNS))
    y = np.where((X - X.mean(axis=0)) @ weights > 0, "yes", "no")
    parameters = {"n_bins": ALL.n_bins, "classes": LABEL.names, "random_state": 0}
    path = tmp_path_factory.mktemp("model") / "model.json"
    models.save(path, PrivGAMClassifier(epsilon=50.0, **parameters).fit(X, y), ALL)
    return path


def told(model, table):
    """Return what the command predicts for a file, with probabilities, or `REFUSED`."""
    target = table.with_suffix(".answers")
    argv = ["predict", str(model), str(table), "--proba", "-o", str(target)]
    if main.main(argv):
        return REFUSED
    _, *rows = csv.reader(io.StringIO(target.read_text()))
    return rows


def check_predictions(columns, model, path):
    write = {
        "csv": lambda columns: from_csv(ALL, columns, path),
        "xlsx": lambda columns: from_excel(ALL, columns, path),
        "parquet": lambda columns: from_parquet(ALL, pyarrow.table(columns), path),
    }
    loaded = models.load(model)
    frames = {name: [text or None for text in cells] for name, cells in columns.items()}
    for given_columns in (columns, frames):
        names = outcome(loaded.predict_frame, given_columns)
        rows = [outcome(loaded.predict_frame, row) for row in one_by_one(given_columns)]
        assert names == (REFUSED if REFUSED in rows else [name for (name,) in rows])
    answers = []
    for ending, to_file in write.items():
        for some in (columns, *one_by_one(columns)):
            outcome(to_file, some)
            answers.append(told(model, path / f"new.{ending}"))
    each = len(answers) // len(write)
    for at_once, *rows in (answers[k : k + each] for k in range(0, len(answers), each)):
        assert at_once == together(rows)
        assert at_once == answers[0]
        assert (REFUSED if at_once == REFUSED else [row[0] for row in at_once]) == names


def test_a_saved_model_predicts_a_table_like_its_single_rows(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("predictions")
    strategy = tables(TEXTS, nothing=False, of=ALL)
    how = settings(max_examples=2, suppress_health_check=list(HealthCheck))
    how(given(strategy)(lambda table: check_predictions(table[1], model, path)))()
