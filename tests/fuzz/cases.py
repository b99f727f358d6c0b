"""What is mutated: descriptions of each kind of file with a small table each, all of them right."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import yaml
from raw_tables import Table


@dataclass
class Case:
    """A description, and its files."""

    title: str
    content: dict[str, Any]
    tables: dict[str, Table]
    # What is written in place of them.
    text: str | None = None
    raw: dict[str, bytes] = field(default_factory=dict)
    others: dict[str, dict[str, Any]] = field(default_factory=dict)
    encoding: str = "utf-8"

    def copy(self) -> Case:
        """Return one that can be changed."""
        return copy.deepcopy(self)

    @property
    def yaml(self) -> str:
        """The description as its file has it."""
        return self.text if self.text is not None else dumped(self.content)

    def write(self, folder: Path) -> None:
        """Write all files into a working folder."""
        (folder / "descriptions").mkdir(exist_ok=True)
        (folder / "data").mkdir(exist_ok=True)
        for name, content in self.others.items():
            (folder / f"descriptions/{name}.yaml").write_text(dumped(content), "utf-8")
        (folder / "descriptions/mine.yaml").write_bytes(self.yaml.encode(self.encoding))
        for name, table in self.tables.items():
            data = self.raw.get(name)
            (folder / name).write_bytes(table.written(folder) if data is None else data)


class _Dumper(yaml.SafeDumper):
    """Writes no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def dumped(content: Any) -> str:
    """Write YAML as people do: one key a line, in their order."""
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True)


def _records(n: int, **columns: list[Any]) -> list[list[Any]]:
    """Return rows of columns, each of whose values come again and again."""
    return [[values[k % len(values)] for values in columns.values()] for k in range(n)]


AGE = {"name": "age", "kind": "numeric", "bounds": [0, 100]}
TOWN = {"name": "town", "kind": "categorical", "categories": ["Oslo", "Rome, north", "Malmö", "?"]}
ADMITTED = {
    "name": "admitted",
    "kind": "date",
    "bounds": ["2015-01-01", "2024-12-31"],
    "missing": "bin",
}
DIAGNOSIS = {
    "name": "diagnosis",
    "kind": "text",
    "groups": {"heart": "I*", "sugar": ["E10*", "E11*"], "codes": ["0150", "12"]},
}
GRADE = {"name": "grade", "kind": "categorical", "categories": [1, 2, 3, "?", "other"]}
YES = {"column": "sick", "positive": "yes", "negative": "no"}

PATIENTS = Table(
    "delimited",
    ["age", "note", "town", "admitted", "diagnosis", "grade", "sick"],
    _records(
        9,
        age=["31", "45", "17.5", "0", "100", "99.9", "130"],
        note=["x", "a, b", 'say "no"', ""],
        town=["Oslo", "Rome, north", "?", "Malmö", "NA"],
        admitted=["2015-01-01", "2019-06-30", "", "2024-12-31 23:59", "NA"],
        diagnosis=["I21", "e10.2", "E11", "Z00", "", "0150", "12", "12.0"],
        grade=["1", "2", "3.0", "9", "NA"],
        sick=["yes", "no"],
    ),
)


def patients() -> Case:
    """CSV with a header, and columns of all kinds."""
    content = {
        "title": "Are patients sick?",
        "n_rows": 9,
        "files": {"train": {"local": "data/mine.csv"}},
        "parser": {"kind": "delimited", "header": True},
        "missing": ["?", "NA", -999],
        "unknown": "other",
        "columns": [AGE, TOWN, ADMITTED, DIAGNOSIS, GRADE],
        "label": YES,
    }
    return Case("CSV", content, {"data/mine.csv": PATIENTS})


def commas() -> Case:
    """Semicolons and decimal commas, no header, three classes, a test part."""
    rows = _records(
        8,
        x=["1,5", "2", "-9,9", "3,25", "0", "10"],
        y=["0,1", "7,5", "100", "", "0,5"],
        day=["03.01.2000", "31.12.2009", "k.A.", "15.06.2004"],
        town=["Köln", "Bonn"],
        grade=["low", "mid", "high", "top"],
    )
    table = Table(
        "delimited",
        ["x", "y", "day", "town", "grade"],
        rows,
        separator=";",
        header=False,
        above="# made by hand\nx;y;day;town;grade\n",
        encoding="latin-1",
    )
    tested = copy.deepcopy(table)
    tested.rows = rows[3:7]
    content = {
        "n_rows": 8,
        "n_test": 4,
        "files": {
            "train": [{"local": "data/mine.csv"}],
            "test": {"local": "data/test.csv"},
        },
        "parser": {
            "kind": "delimited",
            "separator": ";",
            "fields": ["x", "y", "day", "town", "grade"],
            "skip_rows": 2,
            "encoding": "latin-1",
            "comment": "#",
            "extra_fields": "ignore",
        },
        "decimal": ",",
        "missing": ["-9,9", "k.A."],
        "clipping": "expected",
        "columns": [
            {"name": "x", "kind": "numeric", "bounds": [0, 5], "n_bins": 4, "missing": "bin"},
            {
                "name": "y",
                "kind": "numeric",
                "bounds": [0.1, 1000],
                "n_bins": 6,
                "spacing": "log",
                "missing": "bin",
            },
            {
                "name": "day",
                "kind": "date",
                "format": "%d.%m.%Y",
                "bounds": ["2000-01-01", "2009-12-31"],
                "n_bins": 7,
                "missing": "bin",
            },
            {
                "name": "town",
                "kind": "categorical",
                "categories": {"Köln": "Rhine", "Bonn": "Rhine", "Ulm": "Danube"},
            },
        ],
        "label": {
            "column": "grade",
            "classes": {"low": "poor", "mid": "fair", "high": "good", "top": "good"},
        },
    }
    return Case("decimal commas", content, {"data/mine.csv": table, "data/test.csv": tested})


def blanks() -> Case:
    """Fields between blanks, a pattern of names, a label with a dot, a packed file."""
    rows = _records(
        8,
        p00=["0", "1", "7"],
        p01=["3", "250", "12"],
        p02=["0.5", "9", "99999", "1e3"],
        kind=["A", "b", "C3"],
        paid=[">50K.", "<=50K", "<=50k"],
    )
    table = Table(
        "delimited",
        ["p00", "p01", "p02", "kind", "paid"],
        rows,
        separator="  ",
        header=False,
        packed=True,
    )
    content = {
        "n_rows": 8,
        "files": {"train": {"local": "data/mine.txt.gz"}},
        "parser": {
            "kind": "delimited",
            "separator": "whitespace",
            "fields": ["p{00..02}", "kind", "paid"],
        },
        "columns": [
            {
                "name": "p{00..02}",
                "kind": "numeric",
                "bounds": [0, 1000],
                "n_bins": 12,
                "spacing": "log1p",
                "public": True,
            },
            {"name": "kind", "kind": "text", "groups": ["a*", "B"]},
        ],
        "label": {
            "column": "paid",
            "positive": ">50K",
            "negative": ["<=50K", "<=50k"],
            "strip": ".",
        },
        "public_label": True,
    }
    return Case("blanks", content, {"data/mine.txt.gz": table})


def parquet() -> Case:
    """Parquet with columns of many types."""
    rows = _records(
        8,
        age=[31, 45, None, -999, 120],
        dose=[0.5, 2.0, None, 499.999, -1.5],
        text=["1.5", "7", "NA", "250"],
        admitted=[date(2015, 1, 1), None, date(2024, 12, 31), date(2019, 6, 30)],
        diagnosis=["I21", "e10", None, "0150"],
        grade=[1, 2, 3, 9, None],
        share=[1.0, 2.5, None],
        smoker=[True, False, None],
        sick=[True, False, False],
    )
    names = ["age", "dose", "text", "admitted", "diagnosis", "grade", "share", "smoker", "sick"]
    table = Table("parquet", names, rows, types={"diagnosis": "dictionary"})
    content = {
        "n_rows": 8,
        "files": {"train": {"local": "data/mine.parquet"}},
        "parser": {"kind": "parquet"},
        "missing": ["NA", -999],
        "unknown": "other",
        "columns": [
            {**AGE, "missing": "bin"},
            {"name": "dose", "kind": "numeric", "bounds": [0, 500], "n_bins": 5, "missing": "bin"},
            {"name": "text", "kind": "numeric", "bounds": [0, 500], "missing": "bin"},
            ADMITTED,
            DIAGNOSIS,
            GRADE,
            {"name": "share", "kind": "text", "groups": ["1", "2*"]},
            {"name": "smoker", "kind": "categorical", "categories": ["true", "false", "?"]},
        ],
        "label": {"column": "sick", "positive": "true", "negative": "false"},
    }
    return Case("Parquet", content, {"data/mine.parquet": table})


def excel() -> Case:
    """A sheet below a title, with numbers, texts, truth values and gaps."""
    rows = _records(
        8,
        age=[31, 45.5, "", -999],
        town=["Oslo", "Rome, north", "NA"],
        diagnosis=["I21", "e10", "", "0150"],
        grade=[1, 2.0, 9],
        smoker=[True, False],
        sick=["yes", "no", "no"],
    )
    table = Table(
        "excel",
        ["age", "town", "diagnosis", "grade", "smoker", "sick"],
        [*rows, ["sums", "", "", "", "", ""]],
        above="patients",
        sheet="Data",
    )
    content = {
        "n_rows": 8,
        "files": {"train": {"local": "data/mine.xlsx"}},
        "parser": {"kind": "excel", "sheet": "Data", "skip_rows": 1, "header": True, "rows": 8},
        "missing": ["NA", -999, ""],
        "unknown": "other",
        "columns": [
            {**AGE, "missing": "bin"},
            TOWN,
            DIAGNOSIS,
            GRADE,
            {"name": "smoker", "kind": "categorical", "categories": ["1", "0"]},
        ],
        "label": YES,
    }
    return Case("Excel", content, {"data/mine.xlsx": table})


def libsvm() -> Case:
    """Labels, then index:number."""
    rows = [
        ["1:0.5 2:3 3:1", "+1"],
        ["1:9.75 3:2", "-1"],
        ["2:-4", "-1"],
        ["1:10 2:1e1 3:3", "+1"],
        ["3:1", "-1"],
        ["2:12 1:2.5", "+1"],
    ]
    content = {
        "n_rows": 6,
        "files": {"train": {"local": "data/mine.svm"}},
        "parser": {"kind": "libsvm", "fields": ["a", "b", "c"]},
        "columns": [
            {"name": "a", "kind": "numeric", "bounds": [0, 10]},
            {"name": "b", "kind": "numeric", "bounds": [-10, 10], "n_bins": 8},
            {"name": "c", "kind": "categorical", "categories": [0, 1, 2, 3]},
        ],
        "label": {"column": "label", "positive": "+1", "negative": "-1"},
    }
    return Case("LIBSVM", content, {"data/mine.svm": Table("libsvm", ["x", "label"], rows)})


def idx() -> Case:
    """Images of 2 × 2 pixels, and their labels, of more than two classes."""
    pixels = [[(37 * k + 61 * j) % 256 for j in range(4)] for k in range(7)]
    content = {
        "n_rows": 7,
        "files": {
            "train": {"local": "data/mine.idx", "labels": {"local": "data/labels.idx"}},
        },
        "parser": {"kind": "idx", "fields": ["pixel{0..3}"]},
        "columns": [{"name": "pixel{0..3}", "kind": "numeric", "bounds": [0, 255], "n_bins": 4}],
        "label": {"column": "label", "classes": [0, 1, 2, 3]},
    }
    tables = {
        "data/mine.idx": Table("idx", ["a", "b", "c", "d"], pixels),
        "data/labels.idx": Table("idx", ["label"], [[k % 4] for k in range(7)]),
    }
    return Case("idx", content, tables)


def variant() -> Case:
    """A variant: other bins, public columns, a sample of the first records."""
    content = {
        "title": "patients, balanced",
        "based_on": "all_patients",
        "columns": [
            {"name": "grade", "categories": {1: "good", 2: "good", "other": "other", "?": "?"}}
        ],
        "n_bins": {"age": 4},
        "public": ["town", "grade"],
        "records": {"balance": "first", "first": 7},
        "n_rows": 6,
    }
    return Case(
        "variant", content, {"data/mine.csv": PATIENTS}, others={"all_patients": patients().content}
    )


def sample() -> Case:
    """Two files that are pooled, of which random records are taken."""
    table = copy.deepcopy(PATIENTS)
    table.rows = [["50", "", "Oslo", "2020-01-01", "I1", "1", "no"], *table.rows[:3]]
    content = {
        **patients().content,
        "n_rows": 12,
        "files": {"train": {"local": "data/mine.csv"}, "test": {"local": "data/more.csv"}},
        "records": {"parts": ["train", "test"], "balance": "random", "seed": 3},
    }
    return Case("sample", content, {"data/mine.csv": PATIENTS, "data/more.csv": table})


CASES = [
    make() for make in (patients, commas, blanks, parquet, excel, libsvm, idx, variant, sample)
]
