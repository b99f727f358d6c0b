"""A new kind of files is one file in ``datasets/reading``: nothing else names it."""

import sys
from pathlib import Path

import pytest
from drafting import run

from privcurve import datasets, schema
from privcurve.datasets import reading
from privcurve.datasets.coding import read_codes

# A record is a card: lines "name: value", and a blank line.
CARDS = """
from functools import partial

from privcurve.datasets.reading.downloads import RawFile
from privcurve.datasets.reading.formats import FileKind, Format
from privcurve.datasets.reading.table import RawTable, UnlabelledFile, find_unused, positions


def cards_of(path):
    cards = path.read_text("utf-8").strip().split("\\n\\n")
    return [dict(line.split(": ") for line in card.splitlines()) for card in cards]


def read(description, file, problems, most=None):
    cards = cards_of(file.path)[:most]
    place = positions(description, str(file.path), list(cards[0]), problems)
    columns = {name: [card[name] for card in cards] for name in place}
    yield RawTable(str(file.path), columns, range(1, len(cards) + 1), "card")


def sniff(path, header, sheet):
    names = tuple(cards_of(path)[0])
    return Format({"kind": "cards"}, names, names)


def open_file(wanted, path, layout):
    ignored = find_unused(wanted, list(cards_of(path)[0]))
    return UnlabelledFile(wanted, ignored, partial(read, wanted, RawFile(path)))


KIND = FileKind("cards", read, suffixes=(".cards",), sniff=sniff, open=open_file)
"""
TABLE = [(30 + k, ("yes", "no")[k % 3 == 0]) for k in range(12)]


def forget():
    reading.kinds.cache_clear()
    schema._validator.cache_clear()
    sys.modules.pop("privcurve.datasets.reading.cards", None)


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """Return the file of a made-up kind, which is found like the others."""
    (tmp_path / "kinds").mkdir()
    file = tmp_path / "kinds/cards.py"
    file.write_text(CARDS)
    monkeypatch.setattr(reading, "__path__", [*reading.__path__, str(file.parent)])
    monkeypatch.chdir(tmp_path)
    Path("people.cards").write_text("\n\n".join(f"age: {age}\nsick: {sick}" for age, sick in TABLE))
    forget()
    yield file
    forget()


@pytest.mark.usefixtures("made_up")
def test_a_made_up_kind_is_described_checked_loaded_and_read_for_prediction(capsys):
    code, text = run(capsys, "describe", "people.cards", "--label", "sick")
    assert code == 0, text
    assert "kind: cards" in Path("descriptions/people.yaml").read_text()
    code, text = run(capsys, "check", "people")
    assert code == 0, text
    data = datasets.load("people")
    assert sorted(data.y) == sorted(1 if sick == "yes" else -1 for _, sick in TABLE)
    domain = datasets.describe("people").domain
    Path("new.cards").write_text("age: 30\nnote: x\n\nage: 41\nnote: y")
    records = read_codes(domain, Path("new.cards"))
    (piece,) = records.parts
    assert records.ignored == ("note",)
    first, last = piece.codes[:, 0]
    assert first < last


def test_a_package_that_a_kind_needs_is_named(made_up, capsys, monkeypatch):
    made_up.write_text(CARDS.replace("suffixes", 'package="interpret", suffixes'))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    code, text = run(capsys, "describe", "people.cards", "--label", "sick")
    assert code == 1
    assert "kind: cards needs the package interpret" in text


@pytest.mark.usefixtures("made_up")
def test_keys_of_other_kinds_are_refused(capsys):
    run(capsys, "describe", "people.cards", "--label", "sick")
    path = Path("descriptions/people.yaml")
    path.write_text(path.read_text().replace("kind: cards", "kind: cards, blocks: 2"))
    assert "parser: blocks is for kind: idx; drop it" in run(capsys, "check", "people")[1]
    path.write_text(path.read_text().replace("kind: cards, blocks: 2", "kind: card"))
    assert "'cards'" in run(capsys, "check", "people")[1]
