"""``privcurve export``: SQLite predicts like ``predict``, for every row."""

import re
import sqlite3
import sys
import unicodedata
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from refusals import assert_refused
from sklearn.datasets import load_breast_cancer

from privcurve import models
from privcurve.cli import main
from privcurve.datasets import Column, DatasetError, Domain, Label
from privcurve.datasets.coding.frames import encode_frame
from privcurve.learners import (
    LazyBBClassifier,
    NoisyBayesClassifier,
    PrivGAMClassifier,
    RandomTreesClassifier,
)
from privcurve.learners.additive.model import AdditiveModel
from privcurve.learners.linear.dp_newton import DPNewtonClassifier
from privcurve.models import sql

AGE, TOWN, DAY, CODE = 'a "good" age', "Ort'; --", "date of birth", "order"
VISITS, WARD, LEFT = "visits", "ward", "left"
DOMAIN = Domain(
    (
        Column(AGE, "numeric", (0.0, 80.0), 4, missing_bin=True),
        Column(
            TOWN,
            "categorical",
            categories=(("Oslo", "O"), ("Rom'", "R"), ("?", "?"), ("other", "other")),
        ),
        Column(DAY, "numeric", (18262.0, 19722.0), 3, dates="iso"),
        Column(
            CODE, "categorical", categories=(("1", "1"), ("2", "2"), ("x y", "3"), ("\u00e9", "4"))
        ),
        # Markers of missing values in one column.
        Column(VISITS, "numeric", (0.0, 80.0), 4, missing_bin=True, missing=("20", "x")),
        Column(WARD, "categorical", categories=(("A", "A"), ("?", "?")), missing=("20", "x")),
        Column(
            LEFT,
            "numeric",
            (18262.0, 19722.0),
            3,
            dates="iso",
            missing_bin=True,
            missing=("2021-05-02",),
        ),
    ),
    Label("sick?", "it's not", "sick"),
    missing=("NA", "-9"),
    unknown="other",
)
DOMAIN_OF_X = Domain((Column("x", "numeric", (0.0, 100.0), 8),), Label("y", "no", "yes"))
DAYS = ("1969-12-31", "2020-01-01", "2021-05-02", "2021-05-03", "2022-09-02", "2030-01-01")
CELLS = (
    [None, -9, -9.0, -8.5, 0, 19.99, 20, 20.0, 39, 60, 80, 1e300],
    [None, "", "NA", "-9", "Oslo", "\tOslo\u00a0", "Rom'\r\n", "oslo", "Paris", "other", "?"],
    [None, "2020-7-1", *DAYS],
    [None, "1", 1, 1.0, "1.0", "1.0000", "1.", "10.0", "2", 2, "x y", "e\u0301", "\u00e9", ""],
    [None, -9, 20, 19.99, 21, 80],
    [None, "A", "20", "20.0", "x", "NA", " A", "x "],
    [None, *DAYS],
)


PUBLIC = {"n_bins": DOMAIN.n_bins, "classes": DOMAIN.label.names}


def save_by_hand(rng):
    """Save a PrivGAM with drawn shapes in multiples of 2⁻²⁴, so that some scores tie."""
    n_bins = DOMAIN.n_bins
    X, y = np.zeros((40, len(n_bins)), dtype=np.uint8), np.array(DOMAIN.label.names * 20)
    fitted = PrivGAMClassifier(delta=1e-6, **PUBLIC).fit(X, y)
    drawn = tuple(rng.integers(-3, 4, size=k) / 2.0**24 for k in n_bins)
    fitted.model_ = AdditiveModel(2.0**-24, 0.1, drawn, drawn)
    models.save("model.json", fitted, DOMAIN)


def ask(table, *options):
    """Run the exported query on a table in SQLite; return its rows."""
    assert main.main(["export", "model.json", "--table", "a table", "-o", "q.sql", *options]) == 0
    with sqlite3.connect(":memory:") as base:
        table.to_sql("a table", base, index=False)
        # Decode bytes: a text file would change carriage returns.
        return pd.read_sql_query(Path("q.sql").read_bytes().decode(), base)


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_blanks_match_python():
    assert [text for text in map(chr, range(sys.maxunicode)) if text.isspace()] == sorted(
        sql.BLANKS
    )


def test_odd_names_gaps_and_unknown_values_are_answered_alike():
    rng = np.random.default_rng(0)
    save_by_hand(rng)
    model = models.load("model.json")
    rows = [[cells[rng.integers(len(cells))] for cells in CELLS] for _ in range(300)]
    table = pd.DataFrame(rows, columns=DOMAIN.names, dtype=object)
    table[[AGE, VISITS]] = table[[AGE, VISITS]].astype(float)
    answered = ask(table, "--proba")
    result, refused = answered["predicted_sick?"], 0
    for k in range(len(table)):
        row = table.iloc[[k]].astype(object)
        try:
            expected, chance = model.predict_frame(row)[0], model.predict_proba(row)[0, 1]
        except DatasetError:
            refused += 1
            assert answered.iloc[k, [0, 1, -1]].isna().all(), rows[k]
        else:
            assert result[k] == expected, rows[k]
            assert answered["probability of sick"][k] == pytest.approx(chance, abs=1e-12)
    # A typed database cannot compare a date with a number that marks a missing one.
    assert f'"{DAY}" IN' not in Path("q.sql").read_text()
    assert 50 < refused < 250
    (score,) = [name for name in answered if name.startswith("privcurve_score_")]
    assert (answered[score] == 0).any()
    assert result.nunique() == 2


@pytest.mark.parametrize(
    "learner",
    [
        PrivGAMClassifier(epsilon=2.0),
        pytest.param(DPNewtonClassifier(epsilon=2.0, delta=1e-6), marks=pytest.mark.slow),
        LazyBBClassifier(epsilon=2.0, n_rounds=5),
    ],
    ids=lambda learner: learner._learner,
)
def test_a_real_table_is_answered_alike(learner):
    data = load_breast_cancer(as_frame=True)
    table, low, high = data.data, data.data.min(), data.data.max()
    columns = [Column(name, "numeric", (low[name], high[name]), 10) for name in table.columns]
    domain = Domain(tuple(columns), Label("benign", "0", "1"))
    learner.set_params(n_bins=domain.n_bins, classes=(0, 1), random_state=0)
    learner.fit(encode_frame(domain, table), data.target)
    models.save("model.json", learner, domain)
    votes = isinstance(learner, LazyBBClassifier)
    answered, model = ask(table, *([] if votes else ["--proba"])), models.load("model.json")
    assert answered["predicted_benign"].tolist() == model.predict_frame(table).tolist()
    if not votes:
        chances = model.predict_proba(table)[:, 1]
        assert np.allclose(answered["probability of 1"], chances, rtol=1e-9, atol=0)


def test_for_three_classes_the_first_of_the_largest_scores_counts():
    columns = tuple(Column(name, "numeric", (0.0, 3.0), 3) for name in "ab")
    domain = Domain(columns, Label("stage", classes=("I", "II", "III")))
    codes = np.array(list(np.ndindex(3, 3)) * 20, dtype=np.uint8)
    learner = PrivGAMClassifier(n_bins=3, classes=(0, 1, 2), epsilon=1.0, random_state=0)
    models.save("model.json", learner.fit(codes, codes[:, 0]), domain)
    answered = ask(pd.DataFrame(codes[:9] + 0.5, columns=["a", "b"]))
    names = models.load("model.json").predict_names(codes[:9])
    assert answered["predicted_stage"].tolist() == names.tolist()


def test_values_of_a_typed_database_are_predicted_alike():
    """SQLite has neither truth values nor dates; the texts are DuckDB's."""
    flag = Column("flag", "categorical", categories=(("1", "1"), ("0", "0"), ("other", "other")))
    day = Column("day", "numeric", (18262.0, 19722.0), 2, dates="iso", missing_bin=True)
    size = Column("size", "numeric", (0.0, 2.0), 2, missing_bin=True)
    domain = Domain(
        (flag, day, size), Label("y", "no", "yes"), missing=("NA", "1900-01-01"), unknown="other"
    )
    codes = np.array(list(np.ndindex(3, 3, 3)) * 20, dtype=np.uint8)
    labels = np.where(codes.sum(axis=1) % 4 < 2, "no", "yes")
    learner = NoisyBayesClassifier(epsilon=50, n_bins=3, classes=("no", "yes"), random_state=0)
    models.save("model.json", learner.fit(codes, labels), domain)
    rows = [
        [True, False, True, False, "true?"],
        [None, date(1900, 1, 1), "2023-01-01T10:00", None, "9999-12-31 23:59:59"],
        [0.5, None, 1.5, None, 1.5],
    ]
    cells = [
        ["true", "false", " true", "false", "true?"],
        ["", "1900-01-01 00:00:00", "2023-01-01 10:00:00", "NA", "9999-12-31 23:59:59"],
        [0.5, "nan", 1.5, "", 1.5],
    ]
    frames = [
        pd.DataFrame(dict(zip(domain.names, some, strict=True)), dtype=object)
        for some in (rows, cells)
    ]
    scores = models.load("model.json").decision_function(frames[0])
    answered = ask(frames[1])
    (score,) = [name for name in answered if name.startswith("privcurve_score_")]
    assert answered[score].tolist() == pytest.approx(scores.tolist())
    # DuckDB adds numbers without an exponent as decimals; sums of 0 would differ from 0.
    assert not re.search(r"(THEN|ELSE) -?[0-9.]+ ", Path("q.sql").read_text())


# Texts of days, with suffixes; databases write a time with a zone like the last ones.
DAY_TEXTS = (
    *("2020-02-29", "2021-02-29", "1900-02-29", "2000-02-29", "2021-01-99", "2021-02-30"),
    *("2021-04-31", "2021-06-30", "2021-12-31", "2021-13-01", "2021-00-10", "2021-01-00"),
    *("2021-1-1", "2021-1-01", "2021-01-1 10:00", "2021-0a-01", "\uff12021-01-01", "2021_01_01"),
    *("0000-01-01", "0001-01-01", "12021-01-01", "2021-01-01 (BC)", "infinity", "NA", ""),
)
TIMES = (
    *(" 10:00", "T10:00:00", " 23:59:59.999999", " 24:00:00", " 10:60", " 10:00:60", " 1:00:00"),
    *(" 10:0:00", " 10:00:0", " ab:cd:ef", " 10:00:00.", " 10:00:00.5", " 10:00:00.x", "x", "T"),
    *(" 10:00:00+00", "T10:00Z", " 10:00:00.5+00:00", " 10:00:00+1", " 10:00:00+000"),
)
OTHER_ZONES = (" 00:30:00+02", " 23:30:00-05:00", " 10:00:00+02", "T23:30-01:00", " 10:00:00.5+01")


def test_texts_of_days_are_answered_alike_or_not_at_all():
    day = Column("day", "numeric", (18262.0, 19722.0), 48, dates="iso", missing_bin=True)
    domain = Domain((day,), Label("y", "no", "yes"), missing=("NA", "2021-03-01"))
    codes = np.arange(49 * 20, dtype=np.uint8).reshape(-1, 1) % 49
    labels = np.where(np.random.default_rng(0).random(len(codes)) < 0.5, "no", "yes")
    learner = NoisyBayesClassifier(epsilon=50, n_bins=49, classes=("no", "yes"), random_state=0)
    models.save("model.json", learner.fit(codes, labels), domain)
    model = models.load("model.json")
    days = ("2021-03-01", "2021-05-02", "2021-02-31")
    texts = [*DAY_TEXTS, *(day + time for day in days for time in TIMES)]
    moved = [day + time for day in days for time in OTHER_ZONES]
    scores = ask(pd.DataFrame({"day": [*texts, *moved]})).iloc[:, -1].astype(float)
    expected = []
    for text in texts:
        try:
            expected.append(model.decision_function(pd.DataFrame({"day": [text]}))[0])
        except DatasetError:
            expected.append(np.nan)
    assert scores[: len(texts)].tolist() == pytest.approx(expected, nan_ok=True)
    assert 30 < np.isnan(expected).sum() < len(texts) - 20
    assert scores[len(texts) :].isna().all()


@pytest.mark.parametrize("cell", ["01.03.2021", "01.03.2021 10:00", "2021-03-01"])
def test_a_day_that_marks_a_missing_value_does_so_however_it_is_written(cell):
    form = "%d.%m.%Y %H:%M" if ":" in cell else "%d.%m.%Y"
    day = Column("day", "numeric", (18262.0, 19722.0), 5, dates=form, missing_bin=True)
    domain = Domain((day,), Label("y", "no", "yes"), missing=("2021-03-01",))
    assert encode_frame(domain, pd.DataFrame({"day": [cell]})).item() == 5


def test_dates_whose_texts_sql_reads_as_other_days_are_refused(tmp_path, capsys):
    day = Column("day", "numeric", (18262.0, 19722.0), 5, dates="%Y-%d-%m")
    domain = Domain((day,), Label("y", "no", "yes"))
    codes, labels = np.zeros((40, 1), dtype=np.uint8), np.array(["no", "yes"] * 20)
    learner = NoisyBayesClassifier(epsilon=50, n_bins=5, classes=("no", "yes"), random_state=0)
    models.save("model.json", learner.fit(codes, labels), domain)
    assert_refused(tmp_path, capsys, "export model.json", "'day' has dates of the form %Y-%d-%m")


def test_the_scores_of_another_model_in_the_table_are_not_taken_for_its_own():
    frame = pd.DataFrame({"x": np.arange(100.0)})
    models_, codes = [], encode_frame(DOMAIN_OF_X, frame)
    for sick in (frame.x > 50, frame.x <= 50):
        fitted = NoisyBayesClassifier(epsilon=50, n_bins=8, classes=("no", "yes"), random_state=0)
        models.save("model.json", fitted.fit(codes, np.where(sick, "yes", "no")), DOMAIN_OF_X)
        models_.append(models.load("model.json"))
    with sqlite3.connect(":memory:") as base:
        frame.to_sql("records", base, index=False)
        first = sql.query(models_[0], "records").rstrip(";\n")
        base.execute(f"CREATE TABLE kept AS {first.replace('predicted_y', 'first')}")
        result = pd.read_sql_query(sql.query(models_[1], "kept"), base)
        # Columns of earlier predictions do not disturb the query.
        base.execute(f"CREATE TABLE answered AS {first}")
        second = sql.query(models_[1], "answered").rstrip(";\n")
        answers = [answer for (answer,) in base.execute(f"SELECT predicted_y FROM ({second})")]
    assert answers == list(result["predicted_y"])
    assert list(result["predicted_y"]) == list(models_[1].predict_frame(frame))
    assert list(result["first"]) == list(models_[0].predict_frame(frame))


def test_a_hyphen_is_standard_output(tmp_path, capsys):
    save_by_hand(np.random.default_rng(0))
    assert main.main(["export", "model.json", "-o", "-"]) == 0
    assert capsys.readouterr().out.startswith("-- privgam")
    assert not (tmp_path / "-").exists()


@pytest.mark.slow
def test_a_model_without_a_form_in_sql_is_refused(tmp_path, capsys):
    save_by_hand(np.random.default_rng(0))
    for options, message in (
        ("--table ''", "--table must be the name of a table; got ''"),
        ("-o model.json", "model.json is an input"),
        ("-o .", "is a folder"),
        ("--to onnx", "invalid choice: 'onnx'"),
    ):
        assert_refused(tmp_path, capsys, f"export model.json {options}", message)
    codes = (
        np.random.default_rng(0)
        .integers(DOMAIN.n_bins, size=(300, len(DOMAIN.n_bins)))
        .astype(np.uint8)
    )
    labels = np.array(DOMAIN.label.names)[(codes[:, 0] > 1) ^ (codes[:, 2] > 0) * 1]
    trees = RandomTreesClassifier(n_trees=20, epsilon=5.0, delta=1e-6, random_state=0, **PUBLIC)
    models.save("model.json", trees.fit(codes, labels), DOMAIN)
    assert_refused(
        tmp_path, capsys, "export model.json", "random_trees has no form in SQL: its score is"
    )
    votes = LazyBBClassifier(n_rounds=5, epsilon=5.0, random_state=0, **PUBLIC)
    models.save("model.json", votes.fit(codes, labels), DOMAIN)
    assert_refused(tmp_path, capsys, "export model.json --proba", "no probabilities in SQL")
    towns = Column(
        "t", "categorical", categories=(("O*", "O"), ("other", "other"), ("?", "?")), patterns=True
    )
    domain = Domain((towns,), DOMAIN.label)
    bayes = NoisyBayesClassifier(n_bins=3, classes=DOMAIN.label.names)
    models.save("model.json", bayes.fit(codes[:, :1] % 3, labels), domain)
    assert_refused(tmp_path, capsys, "export model.json", r"groups of patterns with \*")


@pytest.mark.parametrize("other", ["Alter Ö", "ALTER ö"])
def test_columns_that_are_one_to_sql_are_refused(other, tmp_path, capsys, monkeypatch):
    """SQL ignores case: a table with one of the columns would be read twice."""
    monkeypatch.chdir(tmp_path)
    columns = tuple(Column(name, "numeric", (0.0, 100.0), 8) for name in ("alter ö", other))
    codes = np.random.default_rng(0).integers(8, size=(300, 2)).astype(np.uint8)
    bayes = NoisyBayesClassifier(n_bins=8, classes=("no", "yes"))
    bayes.fit(codes, np.where(codes[:, 1] > 3, "yes", "no"))
    models.save("model.json", bayes, Domain(columns, Label("y", "no", "yes")))
    message = f"the columns 'alter ö' and '{other}' are equal for SQL"
    assert_refused(tmp_path, capsys, "export model.json", message)


@pytest.mark.parametrize(
    ("titles", "cells", "reading"),
    [
        (
            ["a", "?", "other"],
            ["-9", -9, "-9.0", -9.0, "-9.00", "-9.000", "0.5", 0.5, "0.50", "9", "a"],
            {"missing": ("-9.00", "0.50")},
        ),
        (
            ["1,5", "2", "a,b", "other", "?"],
            [1.5, "1,5", 2, 2.0, "2,0", "a,b", "a.b", -9.5, "-9,5"],
            {"decimal": ",", "missing": ("-9.5",)},
        ),
    ],
    ids=["markers of missing values", "a decimal comma"],
)
def test_numbers_among_categories_are_predicted_alike_in_any_notation(titles, cells, reading):
    check_column(
        Column("town", "categorical", categories=tuple((t, t) for t in titles)), cells, reading
    )


def check_column(town, cells, reading):
    domain = Domain((town,), Label("y", "no", "yes"), unknown="other", **reading)
    n = town.n_bins
    codes = np.array([[k] for k in range(n)] * 20 + [[1]] * 20, dtype=np.uint8)
    learner = NoisyBayesClassifier(epsilon=50, n_bins=n, classes=("no", "yes"), random_state=0)
    models.save("model.json", learner.fit(codes, np.where(codes[:, 0] % 2, "yes", "no")), domain)
    table = pd.DataFrame({"town": cells}, dtype=object)
    scores = models.load("model.json").decision_function(table)
    assert ask(table).iloc[:, -1].tolist() == pytest.approx(scores.tolist())


GROUPS = [
    {"female": ["f", "female", "w", "woman", "women"], "male": ["m", "male", "man", "men"]},
    {"no": ["no", "n", "false", "f", "0", "-1"], "yes": ["yes", "y", "true", "t", "1"]},
    {"nein": ["nein"], "ja": ["ja"]},
    {"a": ["Stra\u00dfe", "m\u00e4nnlich", "\u00e9"], "b": ["I", "K", "\u03c3"], "c": ["\u0131x"]},
    {"a": ["\u0131"], "b": ["7", "other words"]},
]


@pytest.mark.parametrize("groups", GROUPS)
def test_groups_of_words_are_answered_alike_in_any_case(groups):
    """The groups of sex and of a yes/no column, as `privcurve describe` writes them."""
    pairs = [(word, title) for title, words in groups.items() for word in words]
    pairs += [("other", "other"), ("?", "?")]
    column = Column("town", "categorical", categories=tuple(pairs), patterns=True, missing=("NA",))
    words = [word for word, _ in pairs]
    odd = {"s": "\u017f", "k": "\u212a", "i": "\u0130", "\u03c3": "\u03c2", "\u00df": "\u1e9e"}
    forms = [
        *words,
        *(word.upper() for word in words),
        *(word.title() for word in words),
        *(word.swapcase() for word in words),
        *("".join(odd.get(c, c) for c in word.lower()) for word in words),
        *(f" {word}\t" for word in words),
        *(unicodedata.normalize("NFD", word.upper()) for word in words),
        *(unicodedata.normalize("NFD", word) for word in words),
    ]
    more = [
        None,
        "",
        "NA",
        "na",
        "Paris",
        "i",
        "I",
        "\u0131",
        "STRASSE",
        "1.0",
        "7.00",
        1,
        7.0,
        "wom",
    ]
    check_column(column, [*forms, *more], {"missing": ("-9",)})


def test_a_draft_with_groups_of_words_can_be_exported(capsys, monkeypatch, fixed_entropy):
    monkeypatch.setenv("PRIVCURVE_SEEDS", "seeds")
    rows = "".join(f"{'fMFm'[k % 4]},{'NnYy'[k % 4]},{k % 2}\n" for k in range(80))
    Path("t.csv").write_text("Sex,smokes,sick\n" + rows)
    for command in (
        "describe t.csv --label sick",
        "release t --epsilon 3 --output out --quiet",
        "export out/model.json --table t -o q.sql",
        "predict out/model.json t.csv -o answers.csv",
    ):
        assert main.main(command.split()) == 0
    with sqlite3.connect(":memory:") as base:
        pd.read_csv("t.csv").to_sql("t", base, index=False)
        answered = pd.read_sql_query(Path("q.sql").read_text(), base)["predicted_sick"]
    assert answered.tolist() == pd.read_csv("answers.csv", dtype=str)["predicted_sick"].tolist()
    assert answered.nunique() == 2
