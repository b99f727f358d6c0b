"""Releases notice a lost ledger, and records that have a ledger under another name."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from own_release import LINES, budget_ledger, release_request

from privcurve import datasets
from privcurve.privacy import seeds
from privcurve.releases.budget_ledger import note_comparison
from privcurve.releases.errors import ReleaseError
from privcurve.releases.guard import FOLDER
from privcurve.releases.release import release
from privcurve.releases.released import MODEL

# A lost ledger ---------------------------------------------------------------------


def test_a_lost_ledger_is_noticed_wherever_its_models_are(write_private_dataset, tmp_path):
    write_private_dataset(budget={"epsilon": 9})
    release(release_request())
    # A folder that the holder chooses may have a number as its name.
    release(release_request(), output=Path("releases/mine/2024"))
    release(release_request(), output=tmp_path / "out")
    Path("releases/mine/1").rename("elsewhere")
    shutil.rmtree("releases/mine/2024")
    assert not list(Path("releases/mine/3").iterdir())
    budget_ledger().path.unlink()
    with pytest.raises(ReleaseError, match=r"releases/mine/2 exists, but the ledger.* restore"):
        release(release_request(), output=tmp_path / "other")
    shutil.rmtree(seeds.folder())
    (Path("releases/mine/2") / MODEL).touch()
    with pytest.raises(ReleaseError, match=r"2/model\.json exists, but the ledger.* restore"):
        release(release_request())


@pytest.mark.parametrize("kept", [0, 1])
def test_the_holders_folder_knows_how_many_releases_a_ledger_had(write_private_dataset, kept):
    """The folder of releases is deleted, or replaced by an older backup."""
    release(release_request(epsilon=0.5))
    older = budget_ledger().path.read_bytes()
    release(release_request(epsilon=0.5))
    shutil.rmtree("releases")
    if kept:
        budget_ledger().path.parent.mkdir(parents=True)
        budget_ledger().path.write_bytes(older)
    message = rf"ledger\.jsonl (is gone|has 1, or others), but 2 releases were in it \(.*{FOLDER}"
    with pytest.raises(ReleaseError, match=message):
        release(release_request(epsilon=0.5))
    assert len(budget_ledger().releases()) == kept


@pytest.mark.parametrize("changed", ["", "records", "records and ledger"])
def test_a_moved_folder_continues_and_only_one_of_two_copies(
    write_private_dataset, tmp_path, monkeypatch, changed
):
    """This holds for any records of the older copy and any later entries in its ledger."""
    write_private_dataset(budget={"epsilon": 9})
    release(release_request())
    for name in ("releases", "data", "resources"):
        shutil.copytree(tmp_path / name, tmp_path / "new" / name)
    monkeypatch.chdir(tmp_path / "new")
    assert release(release_request()).release.number == 2
    assert len(list((seeds.folder() / FOLDER).glob("*.json"))) == 1
    monkeypatch.chdir(tmp_path)
    if changed:
        write_private_dataset(
            lines=[*LINES[:-1], LINES[-1].replace(",", "1,", 1)], budget={"epsilon": 9}
        )
    if "ledger" in changed:
        note_comparison("mine", [1.0], 0.0)
    with pytest.raises(ReleaseError, match=r"is a copy of /.*new/releases/.* 2 releases"):
        release(release_request())
    assert len(budget_ledger().releases()) == 1


def test_a_trace_that_is_damaged_is_named(write_private_dataset):
    release(release_request(epsilon=0.5))
    (trace,) = (seeds.folder() / FOLDER).glob("*.json")
    trace.write_text("{}")
    with pytest.raises(ReleaseError, match=rf"{trace}.* can't be read.*until you restore it"):
        release(release_request(epsilon=0.5))
    # The holder may delete the seed after a release.
    shutil.rmtree(seeds.folder())
    assert release(release_request(epsilon=0.5)).release.number == 2
    seeds.path_of("mine").unlink()
    assert release(release_request(epsilon=0.5)).release.number == 3


def test_a_refused_release_leaves_neither_a_seed_nor_a_trace(write_private_dataset, tmp_path):
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
                release(release_request(epsilon=epsilon), output=output, seed=seed)
    write_private_dataset(lines=[*LINES, "31,Rome?,x,yes"])
    with pytest.raises(datasets.DatasetError):
        release(release_request())
    assert not Path(os.environ["PRIVCURVE_SEEDS"]).exists()
    assert not budget_ledger().path.exists()


# The same records under another name -----------------------------------------------


def write_copy(lines=LINES, **changes):
    """Write other records, described as `copy`."""
    Path("data/copy.csv").write_text("\n".join(lines) + "\n")
    content = yaml.safe_load(Path("resources/datasets/mine.yaml").read_text())
    files = {"train": {"local": "data/copy.csv"}}
    content |= {"files": files, "n_rows": len(lines) - 1, **changes}
    Path("resources/datasets/copy.yaml").write_text(yaml.safe_dump(content))


HEADER = LINES[0]
OTHERS = [f"{age + 0.5},Oslo,x,{'yes' if age % 2 else 'no'}" for age in range(20, 80)]
SEMICOLONS = {"kind": "delimited", "header": True, "separator": ";"}
COPIES = {
    "the same file": lambda: write_copy(files={"train": {"local": "data/mine.csv"}}),
    "other ends of lines": lambda: write_copy([f"{line}\r" for line in LINES]),
    "other separators": lambda: write_copy(
        [";".join(f'"{cell}"' for cell in line.split(",")) for line in LINES], parser=SEMICOLONS
    ),
    "said to be public": lambda: write_copy([f"{line} " for line in LINES], public_benchmark=True),
}


@pytest.mark.parametrize("case", COPIES)
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_copy_has_no_fresh_budget(write_private_dataset, monkeypatch, tmp_path, case, elsewhere):
    release(release_request())
    COPIES[case]()
    if elsewhere:
        for name in ("data", "resources"):
            shutil.copytree(tmp_path / name, tmp_path / "new" / name)
        monkeypatch.chdir(tmp_path / "new")
    message = r"the file of 'copy' is also the file of 'mine'.*\(based_on: mine\)"
    with pytest.raises(ReleaseError, match=message):
        release(release_request(dataset="copy"))
    assert not Path("releases/copy/ledger.jsonl").exists()
    assert not seeds.path_of("copy").exists()


def test_tables_of_few_possible_records_are_distinguished(write_private_dataset):
    """With 292 possible records, two random tables have most records in common."""
    rng = np.random.default_rng(0)

    def table():
        draws = zip(rng.integers(20, 93, 3000), *rng.integers(0, 2, (2, 3000)), strict=True)
        rows = (
            f"{age},{'Oslo' if town else '?'},,{'yes' if sick else 'no'}"
            for age, town, sick in draws
        )
        return [HEADER, *rows]

    write_private_dataset(lines=table())
    release(release_request())
    write_copy(table())
    assert release(release_request(dataset="copy")).release.number == 1


def test_a_table_that_grows_stays_known(write_private_dataset):
    """Both the present files and the earlier files are recognised."""
    write_private_dataset(budget={"epsilon": 9})
    release(release_request())
    write_private_dataset(lines=[*LINES, *OTHERS], budget={"epsilon": 9})
    release(release_request())
    for lines in (LINES, [*LINES, *OTHERS]):
        write_copy(lines)
        with pytest.raises(ReleaseError, match="is also the file of 'mine'"):
            release(release_request(dataset="copy"))


def test_traces_are_kept_only_of_private_records_and_for_their_owner(write_private_dataset):
    write_private_dataset(public_benchmark=True)
    release(release_request())
    assert not (seeds.folder() / FOLDER).exists()
    shutil.rmtree("releases")
    write_private_dataset()
    release(release_request())
    kept = seeds.folder() / FOLDER
    (trace,) = kept.glob("*.json")
    assert trace.stat().st_mode & 0o777 == 0o600
    assert kept.stat().st_mode & 0o777 == 0o700
    assert seeds.folder().stat().st_mode & 0o777 == 0o700
