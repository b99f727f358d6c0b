"""Descriptions of a user: their folder, optional keys, and reserved names."""

from pathlib import Path

import pytest
import yaml
from own_dataset import DESCRIPTION, assert_load_fails

from privcurve import datasets
from privcurve.datasets import DatasetError

LOCAL = Path("descriptions/mine.yaml")
UNSOURCED = [{k: v for k, v in c.items() if k != "source"} for c in DESCRIPTION["columns"]]


@pytest.fixture
def write_local(write_dataset):
    """Write the description of `mine` only in the user's folder; return a function to change it."""
    Path("resources/datasets/mine.yaml").unlink()

    def write(path=LOCAL, **changes):
        path.parent.mkdir(exist_ok=True)
        content = {k: v for k, v in (DESCRIPTION | changes).items() if v is not None}
        path.write_text(yaml.safe_dump(content))

    write()
    return write


def test_a_users_descriptions_are_found_and_may_be_short(write_local):
    write_local(title=None, citation=None, licence=None, columns=UNSOURCED)
    mine = datasets.describe("mine")
    assert "mine" in datasets.names()
    assert (mine.title, mine.citation, mine.licence) == ("mine", "", "")
    assert mine.path == Path.cwd() / LOCAL
    # Paths of files are relative to the working folder, which holds `descriptions`.
    assert len(datasets.load("mine").y) == 4


@pytest.mark.parametrize("other", ["adult", "mine"])
def test_a_name_that_is_taken_is_refused(write_local, other):
    write_local(path=Path(f"descriptions/{other}.yaml"))
    if other == "mine":
        Path("resources/datasets/mine.yaml").write_text(LOCAL.read_text())
    with pytest.raises(
        DatasetError, match=rf"{other}.yaml and .* describe datasets of the same name"
    ):
        datasets.describe(other)


def test_files_of_others_need_all(write_local):
    file = {"name": "x.csv", "urls": [], "sha256": "0" * 64, "bytes": 1}
    wanted = ("title", "citation", "licence")
    write_local(files={"train": file}, columns=UNSOURCED, **dict.fromkeys(wanted))
    message = assert_load_fails()
    for key in (*wanted, "source"):
        assert f"missing key '{key}'" in message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"files": None}, "missing key 'files'"),
        ({"files": {"train": {}}}, "files.train: missing key 'local'"),
        ({"files": {"train": {"sha256": "0" * 64}}}, "files.train: missing key 'local'"),
    ],
)
def test_without_its_file_a_description_needs_no_owner(write_local, changes, message):
    write_local(columns=UNSOURCED, **dict.fromkeys(("title", "citation", "licence")), **changes)
    fault, *hint = assert_load_fails().splitlines()
    assert message in fault
    assert len(hint) == 1


def test_a_variant_without_its_base_is_reported(write_local):
    write_local(n_bins=5, parser=None, label=None)
    message = assert_load_fails()
    assert "n_bins: does not belong here: it stands in a column, or beside based_on" in message
    assert "missing key 'label': a description of its own has" in message


def test_an_unknown_name_is_reported_with_folders_and_remedy(write_local):
    with pytest.raises(DatasetError, match=r"descriptions/nobody.yaml.*privcurve describe"):
        datasets.describe("nobody")


def test_a_blank_is_reported_with_the_command_that_fills_it(write_local):
    write_local(columns=[{"name": "age", "kind": "numeric", "bounds": None}])
    assert_load_fails("columns.age.bounds: must have a value; got nothing\npriv")
