"""Valid cases to mutate: a description and a small table of each kind of file."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

import yaml
from raw_tables import Table

DESCRIPTIONS = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text("utf-8"))


@dataclass
class Case:
    """A description and its files."""

    title: str
    tables: dict[str, Table]
    content: dict[str, Any]
    # The file's text or bytes, if they replace the content above.
    text: str | None = None
    raw: dict[str, bytes] = field(default_factory=dict)
    others: dict[str, dict[str, Any]] = field(default_factory=dict)
    encoding: str = "utf-8"

    def copy(self):
        """Return a deep copy."""
        return copy.deepcopy(self)

    @property
    def yaml(self):
        """Return the text of the description file."""
        return self.text if self.text is not None else dumped(self.content)

    def write(self, folder):
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
    """A YAML dumper without aliases."""

    def ignore_aliases(self, data):
        return True


def dumped(content):
    """Return YAML as people write it: one key per line, in the given order."""
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True)


def _records(n, **columns):
    """Return rows whose columns repeat a few values."""
    return [[values[k % len(values)] for values in columns.values()] for k in range(n)]


def _delimited(names, rows, **how):
    return Table("delimited", names.split(), rows, **how)


PATIENTS = _delimited(
    "age note town admitted diagnosis grade sick",
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
MORE = copy.deepcopy(PATIENTS)
MORE.rows = [["50", "", "Oslo", "2020-01-01", "I1", "1", "no"], *MORE.rows[:3]]

COMMAS = _delimited(
    "x y day town grade",
    _records(
        8,
        x=["1,5", "2", "-9,9", "3,25", "0", "10"],
        y=["0,1", "7,5", "100", "", "0,5"],
        day=["03.01.2000", "31.12.2009", "k.A.", "15.06.2004"],
        town=["Köln", "Bonn"],
        grade=["low", "mid", "high", "top"],
    ),
    separator=";",
    header=False,
    above="# made by hand\nx;y;day;town;grade\n",
    encoding="latin-1",
)
# The test file has some records of the training file.
TESTED = replace(COMMAS, names=list(COMMAS.names), rows=COMMAS.rows[3:7], types={})

BLANKS = _delimited(
    "p00 p01 p02 kind paid",
    _records(
        8,
        p00=["0", "1", "7"],
        p01=["3", "250", "12"],
        p02=["0.5", "9", "99999", "1e3"],
        kind=["A", "b", "C3"],
        paid=[">50K.", "<=50K", "<=50k"],
    ),
    separator="  ",
    header=False,
    packed=True,
)

TYPED = Table(
    "parquet",
    ["age", "dose", "text", "admitted", "diagnosis", "grade", "share", "smoker", "sick"],
    _records(
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
    ),
    types={"diagnosis": "dictionary"},
)

SHEET_ROWS = _records(
    8,
    age=[31, 45.5, "", -999],
    town=["Oslo", "Rome, north", "NA"],
    diagnosis=["I21", "e10", "", "0150"],
    grade=[1, 2.0, 9],
    smoker=[True, False],
    sick=["yes", "no", "no"],
)
SHEET = Table(
    "excel",
    ["age", "town", "diagnosis", "grade", "smoker", "sick"],
    [*SHEET_ROWS, ["sums", "", "", "", "", ""]],
    above="patients",
    sheet="Data",
)

ENTRIES = Table(
    "libsvm",
    ["x", "label"],
    [
        *(["1:0.5 2:3 3:1", "+1"], ["1:9.75 3:2", "-1"], ["2:-4", "-1"]),
        *(["1:10 2:1e1 3:3", "+1"], ["3:1", "-1"], ["2:12 1:2.5", "+1"]),
    ],
)
PIXELS = [[(37 * k + 61 * j) % 256 for j in range(4)] for k in range(7)]

TABLES = {
    "CSV": {"data/mine.csv": PATIENTS},
    "decimal commas": {"data/mine.csv": COMMAS, "data/test.csv": TESTED},
    "blanks": {"data/mine.txt.gz": BLANKS},
    "Parquet": {"data/mine.parquet": TYPED},
    "Excel": {"data/mine.xlsx": SHEET},
    "LIBSVM": {"data/mine.svm": ENTRIES},
    "idx": {
        "data/mine.idx": Table("idx", ["a", "b", "c", "d"], PIXELS),
        "data/labels.idx": Table("idx", ["label"], [[k % 4] for k in range(7)]),
    },
    "variant": {"data/mine.csv": PATIENTS},
    "sample": {"data/mine.csv": PATIENTS, "data/more.csv": MORE},
}
CASES = [Case(title, tables, DESCRIPTIONS[title]) for title, tables in TABLES.items()]
BY_TITLE = {case.title: case for case in CASES}
BY_TITLE["variant"].others["all_patients"] = DESCRIPTIONS["CSV"]
