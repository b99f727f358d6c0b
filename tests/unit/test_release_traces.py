"""Releases: a ledger that was lost, and records that have one under another name, are noticed."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from own_release import LINES, QUICK, book, request

from privcurve import datasets
from privcurve.cli import main
from privcurve.datasets.readers.table import RawTable
from privcurve.privacy import seeds
from privcurve.releases import sketch as sketches
from privcurve.releases.errors import LedgerError, ReleaseError
from privcurve.releases.release import release
from privcurve.releases.released import CARD, MODEL, PAGE
from privcurve.releases.sketch import Sketch, Sketcher, siphash
from privcurve.releases.traces import FOLDER, KEY

# A ledger that was lost ------------------------------------------------------------


def test_a_ledger_is_missed_wherever_its_models_went(mine, tmp_path):
    mine(budget={"epsilon": 9})
    release(request())
    # A folder of the holder's choice may have a number.
    release(request(), output=Path("releases/mine/2024"))
    release(request(), output=tmp_path / "out")
    Path("releases/mine/1").rename("elsewhere")
    shutil.rmtree("releases/mine/2024")
    assert not list(Path("releases/mine/3").iterdir())
    book().path.unlink()
    with pytest.raises(ReleaseError, match=r"releases/mine/2 is there, but the ledger.* restore"):
        release(request(), output=tmp_path / "other")
    shutil.rmtree(seeds.folder())
    (Path("releases/mine/2") / MODEL).touch()
    with pytest.raises(ReleaseError, match=r"2/model\.json is there, but the ledger.* restore"):
        release(request())


@pytest.mark.parametrize("kept", [0, 1])
def test_the_holders_folder_knows_how_many_releases_a_ledger_had(mine, kept):
    """With the folder of releases gone; or with a backup of the ledger in it, an older one."""
    release(request(epsilon=0.5))
    older = book().path.read_bytes()
    release(request(epsilon=0.5))
    shutil.rmtree("releases")
    if kept:
        book().path.parent.mkdir(parents=True)
        book().path.write_bytes(older)
    message = rf"ledger\.jsonl (is gone|has 1, or others), but 2 releases stood in it \(.*{FOLDER}"
    with pytest.raises(ReleaseError, match=message):
        release(request(epsilon=0.5))
    assert len(book().releases()) == kept


def test_a_folder_that_is_moved_goes_on_and_of_two_copies_one(mine, tmp_path, monkeypatch):
    mine(budget={"epsilon": 9})
    release(request())
    for name in ("releases", "data", "resources"):
        shutil.copytree(tmp_path / name, tmp_path / "new" / name)
    monkeypatch.chdir(tmp_path / "new")
    assert release(request()).release.number == 2
    assert len(list((seeds.folder() / FOLDER).glob("*.json"))) == 1
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        ReleaseError, match=r"whose ledger, new/releases/.* release 'mine', in /.*/new\."
    ):
        release(request())
    assert len(book().releases()) == 1


def test_a_trace_that_is_damaged_and_a_key_that_is_gone_are_named(mine):
    release(request(epsilon=0.5))
    (trace,) = (seeds.folder() / FOLDER).glob("*.json")
    content = trace.read_text()
    trace.write_text("{}")
    with pytest.raises(ReleaseError, match=rf"{trace}.* can't be read.*restored from a backup"):
        release(request(epsilon=0.5))
    trace.write_text(content)
    (seeds.folder() / FOLDER / KEY).unlink()
    with pytest.raises(ReleaseError, match=rf"{KEY} is gone, .* Restore it from a backup"):
        release(request(epsilon=0.5))
    # The seed itself may be deleted after a release.
    shutil.rmtree(seeds.folder())
    assert release(request(epsilon=0.5)).release.number == 2
    seeds.path_of("mine").unlink()
    assert release(request(epsilon=0.5)).release.number == 3


def test_what_is_refused_leaves_neither_a_seed_nor_a_trace(mine, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / MODEL).write_text("")
    for epsilon, output, message in (
        (3.0, None, "Nothing was trained"),
        (1.0, tmp_path / "file/out", "can't be made"),
        (1.0, tmp_path / "full", r"model\.json exists already"),
    ):
        for seed in (None, str(tmp_path / "seeds/own.seed")):
            with pytest.raises(ReleaseError, match=message):
                release(request(epsilon=epsilon), output=output, seed=seed)
    mine(lines=[*LINES, "31,Rome?,x,yes"])
    with pytest.raises(datasets.DatasetError):
        release(request())
    assert not Path(os.environ["PRIVCURVE_SEEDS"]).exists()
    assert not book().path.exists()


# The same records under another name -----------------------------------------------


def copied(lines=LINES, **changes):
    """Describe other records as `copy`."""
    Path("data/copy.csv").write_text("\n".join(lines) + "\n")
    content = yaml.safe_load(Path("resources/datasets/mine.yaml").read_text())
    files = {"train": {"local": "data/copy.csv"}}
    content |= {"files": files, "n_rows": len(lines) - 1, **changes}
    Path("resources/datasets/copy.yaml").write_text(yaml.safe_dump(content))


def as_parquet():
    rows = [line.split(",") for line in RECORDS]
    frame = pd.DataFrame(rows, columns=HEADER.split(",")).astype({"age": float})
    frame.sample(len(frame), random_state=0).to_parquet("data/copy.parquet", index=False)
    copied(files={"train": {"local": "data/copy.parquet"}}, parser={"kind": "parquet"}, **BINS)


HEADER, *RECORDS = LINES
OTHERS = [f"{age + 0.5},Oslo,x,{'yes' if age % 2 else 'no'}" for age in range(20, 80)]
BINS = {
    "columns": [
        {"name": "age", "kind": "numeric", "bounds": [0, 120], "n_bins": 7, "source": "human life"},
        {"name": "town", "kind": "categorical", "categories": ["Oslo", "?", "Rome, north"]},
    ]
}
SEMICOLONS = {"kind": "delimited", "header": True, "separator": ";"}
COPIES = {
    "in another order": lambda: copied([HEADER, *RECORDS[::-1]]),
    "one record changed": lambda: copied([HEADER, "99,Oslo,x,no", *RECORDS[1:]]),
    "one record dropped": lambda: copied([HEADER, *RECORDS[1:]]),
    "half of them and a few": lambda: copied([HEADER, *RECORDS[::2], *OTHERS[:9]]),
    "among as many others": lambda: copied([HEADER, *RECORDS, *OTHERS]),
    "other ends of lines and bins": lambda: copied([f"{line}\r" for line in LINES], **BINS),
    "numbers written otherwise": lambda: copied(
        [HEADER, *(f"{line[:2]}.0{line[2:]}" for line in RECORDS)], **BINS
    ),
    "other separators": lambda: copied(
        [";".join(f'"{cell}"' for cell in line.split(",")) for line in LINES],
        parser=SEMICOLONS,
        **BINS,
    ),
    "columns in another order": lambda: copied(
        [",".join(line.split(",")[::-1]) for line in LINES], **BINS
    ),
    "in another form": as_parquet,
    "said to be public": lambda: copied([HEADER, *RECORDS[::-1]], public_benchmark=True),
}


@pytest.mark.parametrize("case", COPIES)
def test_a_copy_has_no_fresh_budget(mine, case):
    release(request())
    COPIES[case]()
    message = r"the file of 'copy' is that of 'mine' too.*\(based_on: mine\).*--other-records"
    with pytest.raises(ReleaseError, match=message):
        release(request(dataset="copy"))
    assert not Path("releases/copy/ledger.jsonl").exists()
    assert not seeds.path_of("copy").exists()


def test_other_records_have_a_budget_of_their_own(mine):
    release(request())
    copied([HEADER, *OTHERS, *RECORDS[:29]])
    assert release(request(dataset="copy")).release.number == 1


def test_records_that_are_said_to_be_others_are_and_the_ledger_notes_it(mine, capsys):
    release(request())
    COPIES["in another order"]()
    words = ["release", "copy", "--epsilon", "1", "--learner", QUICK]
    assert main.main(words) == 1
    assert "--other-records" in capsys.readouterr().err
    assert main.main([*words, "--other-records"]) == 0
    noted = json.loads(Path("releases/copy/ledger.jsonl").read_text().splitlines()[0])
    assert noted["other_records_than"] == [str(book().path.resolve())]
    # Of the very same file nobody can say that.
    copied(files={"train": {"local": "data/mine.csv"}})
    shutil.rmtree("releases/copy")
    with pytest.raises(ReleaseError, match="is that of 'mine' too"):
        release(request(dataset="copy"), other_records=True)


def test_a_table_that_grows_stays_known(mine):
    """By its records as they are, and under each description that it was released by."""
    mine(budget={"epsilon": 9})
    release(request())
    fine = {"title": "by age alone", "based_on": "mine", "n_bins": 4}
    Path("resources/datasets/fine.yaml").write_text(yaml.safe_dump(fine))
    release(request(dataset="fine"))
    mine(lines=[HEADER, *RECORDS, *OTHERS, *(f"{age}.25,Oslo,x,yes" for age in range(20, 99))])
    with pytest.raises(LedgerError):
        release(request(epsilon=9.0))
    mine([HEADER, *RECORDS[:40], *OTHERS], budget={"epsilon": 9})
    release(request())
    copied([HEADER, *OTHERS])
    with pytest.raises(ReleaseError, match="is that of 'mine' too"):
        release(request(dataset="copy"))


def test_nothing_of_a_sketch_leaves_the_holders_folder(mine):
    mine(public_benchmark=True)
    released = release(request())
    # Records that are public leave none.
    assert not (seeds.folder() / FOLDER).exists()
    shutil.rmtree("releases")
    mine()
    released = release(request())
    kept = seeds.folder() / FOLDER
    (trace,) = kept.glob("*.json")
    key = (kept / KEY).read_text().strip()
    content = json.loads(trace.read_text())
    (drawn,) = content["sketches"].values()
    assert len(drawn["hashes"]) == len(RECORDS)
    assert {path.stat().st_mode & 0o777 for path in (trace, kept / KEY)} == {0o600}
    assert kept.stat().st_mode & 0o777 == 0o700
    hidden = [key, drawn["fields"], *drawn["hashes"]]
    files = [released.path(name) for name in (MODEL, CARD, PAGE)]
    for path in (*files, *Path("releases").rglob("*"), *Path("resources").rglob("*")):
        text = path.read_text() if path.is_file() else ""
        assert not [word for word in hidden if word in text], path


@pytest.mark.parametrize("coded", [True, False])
def test_records_are_read_once_more_only_where_nobody_has_told_of_them(mine, monkeypatch, coded):
    """Coded data tell too little of them; a table that was not changed is known by its files."""
    mine(budget={"epsilon": 9})
    if coded:
        datasets.save(datasets.load("mine"), "results/data/mine")
    passes = []
    read = datasets.readers.read
    monkeypatch.setattr(
        datasets.readers, "read", lambda *given: passes.append(given) or read(*given)
    )
    release(request())
    assert len(passes) == 1
    release(request())
    assert len(passes) == 1 + (not coded)


# Sketches --------------------------------------------------------------------------


def drawn(description, ages, towns, key=bytes(32), at_once=999):
    sketcher = Sketcher(description, key)
    for start in range(0, len(ages), at_once):
        piece = slice(start, start + at_once)
        labels = ["yes"] * len(ages[piece])
        columns = {"age": ages[piece], "town": towns[piece], "sick": labels}
        sketcher.add(RawTable("t", columns, range(len(labels))))
    return sketcher.sketch


def test_the_hash_is_siphash_2_4():
    """The vectors of its authors: messages 00, 01, … under the key 00 … 0f."""
    words = np.frombuffer(bytes(range(56)), dtype="<u8").reshape(-1, 1)
    expected = {0: 0x726FDB47DD0E0E31, 1: 0x93F5F5799A932462, 2: 0x3F2ACC7F57C29BDB}
    for length, value in expected.items():
        assert siphash(bytes(range(16)), words[:length], 1).tolist() == [value]


@pytest.mark.parametrize("decimal", [".", ","])
def test_the_hash_of_a_record_depends_on_no_other(own, decimal):
    own(missing=["?", "-9,9", "-99"], decimal=decimal)
    cells = ["3,5", "3.5", "-9,9", "-99", "-99.0", "", "?", "1_0", "10", "nan", "inf", " 4 ", "-0"]
    towns = list(map(str, range(len(cells))))
    description = datasets.describe("mine")
    for order in (cells, cells[:2] * 6 + ["1"], ["7"] * 12 + ["nan"], ["7"] * 13):
        sketch = drawn(description, order, towns)
        assert sketch == drawn(description, order, towns, at_once=1)
        assert len(sketch.hashes) == len(order)
    same = drawn(description, ["1", "2", "-99", "?", "0"], towns[:5])
    numbers = np.array([1.0, 2.0, -99.0, np.nan, -0.0])
    assert same == drawn(description, numbers, towns[:5])
    other_key = drawn(description, ["1", "2", "-99", "?", "0"], towns[:5], bytes([1] * 32))
    assert same.share(other_key) == 0


def test_shares_of_large_tables_are_estimated(own, monkeypatch):
    """40,000 records; the estimate is within 4 standard errors, of a sample of 512."""
    monkeypatch.setattr(sketches, "SIZE", 512)
    description = datasets.describe("mine")

    def table(start, end):
        ages = [str(k) for k in range(start, end)]
        return drawn(description, ages, ["Oslo"] * len(ages))

    mine = table(0, 40_000)
    assert len(mine.hashes) == 512
    for start, size in ((0, 40_000), (4_000, 40_000), (20_000, 40_000), (30_000, 20_000)):
        share = max(0, 40_000 - start) / min(size, 40_000)
        seen = 512 * size / 80_000
        estimate = mine.share(table(start, start + size))
        assert estimate == table(start, start + size).share(mine)
        assert abs(estimate - share) <= 4 * (share * (1 - share) / seen) ** 0.5
    # The smaller one counts, and one of other fields says nothing.
    assert mine.share(table(100, 3_000)) == 1
    assert mine.share(Sketch("others", mine.hashes)) == 0
    assert mine.share(table(50_000, 50_900)) == 0
