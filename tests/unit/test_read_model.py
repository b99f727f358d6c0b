"""The example that reads a model in plain Python predicts what the model predicts."""

import csv
import io
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from privcurve import models
from privcurve.datasets import Column, DatasetError, Domain, Label
from privcurve.datasets.coding import read_codes
from privcurve.datasets.coding.frames import encode_frame
from privcurve.datasets.description import Parser
from privcurve.learners import LazyBBClassifier, PrivGAMClassifier

EXAMPLE = Path(__file__).parents[2] / "examples/read_model.py"
TOWNS = (("Oslo", "north"), ("Rome, south", "south"), ("other", "other"), ("?", "?"))
DIAGNOSES = (
    ("I*", "heart"),
    ("e10*", "sugar"),
    ("7", "seven"),
    ("na", "none"),
    ("other", "other"),
    ("?", "?"),
)
LEFT = ("1972-01-01",)
WARDS = (("A", "A"), ("other", "other"), ("?", "?"))
GRADES = (("1", "1"), ("2", "2"), ("3", "3"), ("other", "other"))
DOMAIN = Domain(
    (
        Column("age", "numeric", (0.0, 100.0), 7, missing_bin=True),
        Column("town", "categorical", categories=TOWNS),
        Column("dose", "numeric", (-1.0, 1.0), 3),
        Column("diagnosis", "categorical", categories=DIAGNOSES, patterns=True),
        Column("grade", "categorical", categories=GRADES),
        Column("since", "numeric", (16436.0, 20088.0), 9, missing_bin=True, dates="%d.%m.%Y"),
        Column("income", "numeric", (1.0, 1e6), 5, missing_bin=True, spacing="log"),
        Column("debt", "numeric", (0.0, 1e4), 5, missing_bin=True, spacing="log1p"),
        # Spacings that `privcurve describe` drafts, and bins that a fit merges.
        Column("price", "numeric", (10.0, 1e4), 8, spacing="mixed"),
        Column("balance", "numeric", (-1e3, 9e3), 16, missing_bin=True, spacing="mixed"),
        Column("loss", "numeric", (-500.0, 0.0), 8, spacing="mixed-high"),
        Column("height", "numeric", (0.0, 3.0), 3, spacing="mixed", merged=(0.0, 0.5, 1.8, 3.0)),
        # Markers of missing values in one column.
        Column("visits", "numeric", (0.0, 50.0), 5, missing_bin=True, missing=("99", "x", "-0.5")),
        Column("ward", "categorical", categories=WARDS, missing=("99", "x")),
        Column("cause", "categorical", categories=DIAGNOSES, patterns=True, missing=("99", "x")),
        Column("left", "numeric", (0.0, 900.0), 3, missing_bin=True, dates="iso", missing=LEFT),
        Column(
            "born",
            "numeric",
            (-36000.0, 0.0),
            9,
            missing_bin=True,
            dates="%d.%m.%y",
            pivot=1880,
            missing=("1900-01-01", "01.01.01"),
        ),
    ),
    Label("sick", "no", "yes"),
    missing=("NA", "-", "-9"),
    unknown="other",
    decimal=",",
)

# Values of each column except the age, as a file contains them.
VALUES = {
    "town": ["Oslo", "Rome, south", "Paris", "NA", "-", "", "-9,0"],
    "dose": ["-1", "-0,5", "0,33333333", "7"],
    "diagnosis": ["I10", "i", "E10.1", "E11", "7.0", "7", "NA", "Na", "-", "", " \n"],
    "grade": ["1", "2.0", "2,0", "3.000", "3", "4", "-"],
    "since": ["01.02.2015", "31.12.2024", "05.06.1999", "17.8.2020", "-", ""],
    "income": ["1", "15,848931924611", "-9,0", "1e5", "2e7", "NA"],
    "debt": ["0", "5,3", "9999", "-9", "120"],
    "price": ["10", "12,5", "16", "40", "350", "5005", "9999"],
    "balance": ["-2000", "-999", "-30", "-0,1", "0", "0,2", "3", "77", "2500", "8999", "-"],
    "loss": ["-500", "-240", "-16", "-2", "-0,1", "0"],
    "height": ["0,2", "0,5", "1,79", "1,8", "2"],
    "visits": ["0", "12,5", "99", "99,0", "x", "-0,5", "-9", "77"],
    "ward": ["A", "99", "99,0", "x", "X", "B", "", "-9"],
    "cause": ["I10", "99", "99,0", "x", "X", "e10", "NA"],
    "born": ["12.05.45", "31.12.79", "01.01.80", "1.1.00", "01.1.01", "29.02.04", "", "-9"],
    "left": ["1970-01-01", "1971-06-01", "1972-01-01", "NA", "-9"],
}


def fitted(kind):
    rng = np.random.default_rng(3)
    X = rng.integers(0, DOMAIN.n_bins, size=(3000, len(DOMAIN.n_bins))).astype(np.uint8)
    y = np.where((X[:, 0] > 3) ^ (X[:, 1] == 0), 1, -1)
    return kind.set_params(n_bins=DOMAIN.n_bins, classes=(-1, 1), random_state=0).fit(X, y)


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(4)
    ages = ["NA", "", "-5", "14,285714285714286", "100", *map(str, rng.integers(0, 120, 200))]
    with (tmp_path / "new.csv").open("w", newline="") as stream:
        out = csv.writer(stream)
        out.writerow(["note", "age", *VALUES])
        for age in ages:
            out.writerow(["x", age, *map(rng.choice, VALUES.values())])
    return tmp_path / "new.csv"


@pytest.mark.parametrize(
    "kind",
    [
        LazyBBClassifier(n_rounds=8),
        PrivGAMClassifier(epsilon=5.0, delta=1e-5),
    ],
)
def test_it_predicts_what_the_model_predicts(kind, tmp_path, table, capsys):
    path = tmp_path / "model.json"
    models.save(path, fitted(kind), DOMAIN)
    model = models.load(path)
    runpy.run_path(str(EXAMPLE))["main"](str(path), str(table))
    header, *rows = csv.reader(io.StringIO(capsys.readouterr().out))
    assert header == ["sick", "score"]
    with table.open(newline="") as stream:
        records = list(csv.DictReader(stream))
    frame = {name: [record[name] for record in records] for name in records[0]}
    # Python programs hold None for a missing value.
    codes = encode_frame(DOMAIN, frame)
    scores = model.decision_function(codes)
    assert [row[0] for row in rows] == model.predict_names(codes).tolist()
    assert {row[0] for row in rows} == {"no", "yes"}
    tolerance = 0 if model.learner == "lazybb" else 1e-12
    assert np.allclose([float(row[1]) for row in rows], scores, rtol=0, atol=tolerance)


# Numbers as people and programs write them, and texts that only look like numbers.
NUMBERS = (
    *("7", "7.0", "7.", ".5", "+7", "-0", "1e1", "1E1", "1e400", "-1e400", "0x10", "0b1", "1_0"),
    *("nan", "NaN", "-nan", "inf", "-inf", "Infinity", "INF", "infinity", "1e5_0", "_1", "1__0"),
    *(
        "\uff11\uff10",
        "\u0663",
        "\u00bd",
        "\u00b2",
        "1\u200b",
        "1\u00a0",
        "\u2003 1 ",
        "1 0",
        "--1",
    ),
    *("7,0", "0,5", "1,000", "1.000", "1.000,5", "1,000.5", "1 000", "1\u202f000", "01", "007.0"),
    *(
        "",
        " ",
        "-9",
        "-9.0",
        "-9,00",
        "-9e0",
        "9",
        "seven",
        "2.0",
        "2.00",
        "2,0",
        "true",
        "1d",
        "1f",
    ),
    *("\u0661.0", "+2.0", "--2.0", "2.000", "2.0000", "10", "1-0", "1/2", "7%", "$7", "7\x00"),
)
DATES = (
    *("2020-02-29", "2021-02-29", "2020-1-1", "20200229", "2020-02-29T23:00-05:00", "2020-02-99"),
    *("29.02.2020", "1.2.2020", "29.02.20", "2020-02-29 10:00", "nan", "-9", "-9.0", "inf", "1_0"),
    *("0001-01-01T00:00+10:00", "\uff12020-02-29", "2021-03-01", "2021-03-01T05:00", "01.03.2021"),
    *("1900-01-01", "9999-12-31", "2020-W01-1", "x", ""),
)
OWN = ("7.0", "1,000", "seven", "29.02.20", "2020-02-29")
ODD = {
    "point": {},
    "comma": {"decimal": ","},
    "grouped": {"decimal": ",", "thousands": "."},
    "blank": {"thousands": " "},
    "apostrophe": {"thousands": "'"},
}


@pytest.mark.parametrize("marks", ODD)
def test_it_reads_or_refuses_each_cell_like_the_library(marks):
    grades = (("1", "1"), ("2", "2"), ("01", "3"), ("1_0", "4"), ("nan", "5"), ("7,0", "6"))
    patterns = (("2*", "two"), ("nan", "n"), ("other", "other"), ("?", "?"))
    columns = (
        Column("number", "numeric", (-10.0, 2000.0), 201, missing_bin=True),
        Column("strict", "numeric", (-10.0, 2000.0), 201),
        Column("grade", "categorical", categories=(*grades, ("other", "other"), ("?", "?"))),
        Column("listed", "categorical", categories=grades),
        Column("group", "categorical", categories=patterns, patterns=True),
        Column("iso", "numeric", (-9000.0, 20000.0), 500, missing_bin=True, dates="iso"),
        Column("day", "numeric", (-9000.0, 20000.0), 500, dates="%d.%m.%Y"),
        # Markers of one column, and years of two digits.
        Column("own", "numeric", (-10.0, 2000.0), 201, missing_bin=True, missing=OWN),
        Column("own grade", "categorical", categories=(*grades, ("?", "?")), missing=OWN),
        Column("own group", "categorical", categories=patterns, patterns=True, missing=OWN),
        Column(
            "short",
            "numeric",
            (-36000.0, 0.0),
            90,
            missing_bin=True,
            dates="%d.%m.%y",
            pivot=1880,
            missing=OWN,
        ),
    )
    missing = ("NA", "-9", "1_0", "2021-03-01", "1.000", "inf")
    domain = Domain(columns, Label("y", "no", "yes"), missing, "other", **ODD[marks])
    code, n_refused = runpy.run_path(str(EXAMPLE))["code"], 0
    facts = domain.to_dict()
    for column, entry in zip(columns, facts["columns"], strict=True):
        one = Domain((column,), domain.label, missing, "other", **ODD[marks])
        for text in (*NUMBERS, *DATES):
            try:
                expected = encode_frame(one, {column.name: [text]}).item()
            except DatasetError:
                n_refused += 1
                with pytest.raises((ValueError, KeyError, OverflowError)):
                    code(entry, text.strip(), facts)
            else:
                assert code(entry, text.strip(), facts) == expected, (column.name, text)
    assert n_refused > 100


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("x,1_0", "line 3: 'age' is '1_0'"),
        ("x,inf", "line 3: 'age' is 'inf'"),
        ("x,nan", "line 3: 'age' is 'nan'"),
        ("x,1,2", "line 3 must have 2 fields; it has 3"),
        ("x", "line 3 must have 2 fields; it has 1"),
        ("x, ", "line 3: 'age' is missing"),
        (" , \n,,,\n\nx,7", ""),
    ],
)
def test_nothing_is_predicted_unless_all_records_can_be(rows, message, tmp_path, capsys):
    domain = Domain((Column("age", "numeric", (0.0, 9.0), 3),), Label("y", "no", "yes"))
    learner = LazyBBClassifier(n_rounds=3, n_bins=3, classes=(-1, 1), random_state=0)
    codes = np.array([[0], [1], [2]] * 20, dtype=np.uint8)
    models.save(tmp_path / "model.json", learner.fit(codes, np.where(codes[:, 0], 1, -1)), domain)
    (tmp_path / "new.csv").write_text(f"note,age\nx,1\n{rows}\nx,2\n")
    main = runpy.run_path(str(EXAMPLE))["main"]
    if not message:
        main(tmp_path / "model.json", tmp_path / "new.csv")
        assert capsys.readouterr().out.count("\n") == 4
        return
    with pytest.raises(ValueError, match=message):
        main(tmp_path / "model.json", tmp_path / "new.csv")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("# note\n1.5;x;no;more\n;;\n3;x;", ""),
        ("# note\n1_0;x;no", "line 5: 'age' is '1_0'"),
        ("1;x", "line 4 must have 3 fields; it has 2"),
        (";x;no", "line 4: 'age' is missing"),
    ],
)
def test_a_file_without_names_is_read_as_the_model_says(rows, message, tmp_path, capsys):
    path, new = tmp_path / "model.json", tmp_path / "new.csv"
    domain = Domain((Column("age", "numeric", (0.0, 9.0), 3),), Label("y", "no", "yes"))
    fields, layout = ("age", "note", "y"), {"separator": ";", "comment": "#", "skip_rows": 2}
    parser = Parser("delimited", fields=fields, extra_fields="ignore", **layout)
    learner = LazyBBClassifier(n_rounds=3, n_bins=3, classes=(-1, 1), random_state=0)
    codes = np.array([[0], [1], [2]] * 20, dtype=np.uint8)
    fit = learner.fit(codes, np.where(codes[:, 0], 1, -1))
    models.save(path, fit, domain, parser=parser)
    new.write_text(f"a title\nof two lines\n7;x;yes\n{rows}\n")
    main = runpy.run_path(str(EXAMPLE))["main"]
    if message:
        with pytest.raises(ValueError, match=message):
            main(path, new)
        assert capsys.readouterr().out == ""
        return
    main(path, new)
    answers = capsys.readouterr().out.splitlines()[1:]
    (piece,) = read_codes(domain, new, parser=parser).parts
    expected = models.load(path).predict_names(piece.codes).tolist()
    assert [answer.partition(",")[0] for answer in answers] == expected
    assert len(expected) == 3


def test_it_needs_nothing_and_notices_a_change(tmp_path, table):
    path = tmp_path / "model.json"
    models.save(path, fitted(LazyBBClassifier(n_rounds=3)), DOMAIN)
    path.write_text(path.read_text().replace('"notes": null', '"notes": "mine"'))
    # An interpreter without packages.
    alone = [shutil.which("python3") or sys.executable, "-I", "-S", EXAMPLE, path, table]
    done = subprocess.run(alone, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "changed since it was written" in done.stderr
    models.save(path, fitted(LazyBBClassifier(n_rounds=3)), DOMAIN)
    done = subprocess.run(alone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 206
