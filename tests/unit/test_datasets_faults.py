"""Faults in data that once passed silently or were reported one per run: now all are refused."""

import json
import os
import unicodedata
import warnings
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest
import yaml
from own_dataset import DESCRIPTION, LINES, assert_load_fails
from sklearn.pipeline import make_pipeline

from privcurve import PrivGAMClassifier, Schema, datasets
from privcurve.datasets import DatasetError
from privcurve.datasets.coding.transformer import DomainEncoder
from privcurve.datasets.reading.downloads import sha256_of
from privcurve.workflow import job

AGE, TOWN = DESCRIPTION["columns"]


# Encoded data and the files they were made from ------------------------------------


@pytest.fixture
def encoded_folder(write_dataset):
    folder = Path("out/mine")
    datasets.save(datasets.load("mine"), folder)
    assert datasets.is_current(folder)
    return folder


CHANGES = {
    "bounds": {"columns": [{**AGE, "bounds": [0, 101]}, TOWN]},
    "bins": {"columns": [{**AGE, "n_bins": 20}, TOWN]},
    "category": {"columns": [AGE, {**TOWN, "categories": [*TOWN["categories"], "Bergen"]}]},
    "label": {"label": {**DESCRIPTION["label"], "positive": "no", "negative": "yes"}},
    "public": {"public": ["town"]},
    "missing": {"missing": "-"},
    "parser": {"parser": {"kind": "delimited", "header": True, "comment": "#"}},
    "file": {"files": {"train": {"local": "data/other.csv"}}},
}


@pytest.mark.parametrize("case", CHANGES)
def test_another_description_is_noticed_by_every_reader(write_dataset, encoded_folder, case):
    write_dataset(**CHANGES[case])
    assert not datasets.is_current(encoded_folder)
    assert datasets.facts(encoded_folder) is None
    for compare in (datasets.read, datasets.check_current):
        with pytest.raises(DatasetError, match=r"earlier description of 'mine'.*snakemake .*again"):
            compare(encoded_folder)


def test_data_encoded_otherwise_by_earlier_versions_are_encoded_again(
    write_dataset, encoded_folder, monkeypatch
):
    with monkeypatch.context() as earlier:
        for module in ("description", "dataset"):
            earlier.setattr(f"privcurve.datasets.{module}.CODING", 1)
        write_dataset(missing=["?", -999])
        datasets.save(datasets.load("mine"), encoded_folder)
        assert datasets.is_current(encoded_folder)
    assert encoded_folder.is_dir()
    assert not datasets.is_current(encoded_folder)


@pytest.mark.parametrize(("spacing", "kept"), [("mixed", False), ("equal", True)])
def test_data_of_mixed_bins_are_coded_again_where_learners_merge_them_otherwise(
    write_dataset, tmp_path, monkeypatch, spacing, kept
):
    write_dataset(columns=[{**AGE, "spacing": spacing}, TOWN])
    with monkeypatch.context() as earlier:
        for module in ("description", "dataset"):
            earlier.setattr(f"privcurve.datasets.{module}.MERGING", 1)
        before = datasets.load("mine")
        datasets.save(before, tmp_path / "coded")
        assert datasets.is_current(tmp_path / "coded")
    # The id of each result contains the checksum.
    assert (datasets.load("mine").checksum == before.checksum) is kept
    assert datasets.is_current(tmp_path / "coded") is kept


def test_words_without_meaning_for_the_codes_are_free(write_dataset, encoded_folder):
    path = Path("resources/datasets/mine.yaml")
    path.write_text("# a remark\n" + path.read_text())
    assert datasets.is_current(encoded_folder)
    write_dataset(title="another", citation="x", columns=[{**AGE, "source": "another"}, TOWN])
    assert datasets.is_current(encoded_folder)
    assert datasets.read(encoded_folder).name == "mine"


@pytest.mark.usefixtures("write_dataset")
def test_a_change_of_the_base_is_noticed(write_dataset):
    other = {"title": "t", "based_on": "mine", "n_bins": 5}
    Path("resources/datasets/other.yaml").write_text(yaml.safe_dump(other))
    datasets.save(datasets.load("other"), "out/other")
    assert datasets.is_current("out/other")
    write_dataset(columns=[{**AGE, "bounds": [0, 101]}, TOWN])
    assert not datasets.is_current("out/other")


def test_data_of_an_earlier_version_are_coded_again(encoded_folder):
    path = encoded_folder / "domain.json"
    facts = json.loads(path.read_text())
    del facts["origin"]
    path.write_text(json.dumps(facts))
    assert not datasets.is_current(encoded_folder)
    for damaged in ("{", "{}", "[]"):
        path.write_text(damaged)
        assert not datasets.is_current(encoded_folder)


def test_data_without_their_description_can_be_read(encoded_folder):
    Path("resources/datasets/mine.yaml").unlink()
    assert datasets.read(encoded_folder).name == "mine"


# Files of a user -------------------------------------------------------------------


def test_new_contents_with_an_old_time_are_noticed(encoded_folder):
    path = Path("data/mine.csv")
    was = path.stat()
    # The same size and time stamp, as after a restore, an unpack or a copy.
    path.write_text(path.read_text().replace("31", "32"))
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
    now = path.stat()
    assert (now.st_size, now.st_mtime_ns, now.st_ino) == (was.st_size, was.st_mtime_ns, was.st_ino)
    assert not datasets.is_current(encoded_folder)
    # Only the content of the file counts.
    path.write_text(path.read_text().replace("32", "31"))
    assert datasets.is_current(encoded_folder)


def test_a_file_that_did_not_change_is_not_read(encoded_folder, monkeypatch):
    read = []
    watched = "privcurve.datasets.dataset.sha256_of"
    monkeypatch.setattr(watched, lambda path: read.append(path) or sha256_of(path))
    assert datasets.is_current(encoded_folder)
    assert Path("data/mine.csv") not in read
    Path("data/mine.csv").touch()
    assert datasets.is_current(encoded_folder)
    assert Path("data/mine.csv") in read


def test_a_file_is_summed_once_a_load(write_dataset, monkeypatch):
    write_dataset(
        n_test=4, files={"train": {"local": "data/mine.csv"}, "test": {"local": "other.csv"}}
    )
    Path("other.csv").write_text(Path("data/mine.csv").read_text() + "\n")
    read = []
    for name in ("load", "dataset"):
        module = import_module(f"privcurve.datasets.{name}")
        monkeypatch.setattr(module, "sha256_of", lambda path: read.append(path) or sha256_of(path))
    loaded = datasets.load("mine")
    files = [path for path in read if path.suffix == ".csv"]
    assert files == list(map(Path, loaded.origin["local"]))
    assert loaded.sources == {path.name: sha256_of(path) for path in files}


def test_a_test_file_that_is_the_training_file(write_dataset):
    write_dataset(
        n_test=4, files={"train": {"local": "data/mine.csv"}, "test": {"local": "copy.csv"}}
    )
    Path("copy.csv").write_bytes(Path("data/mine.csv").read_bytes())
    assert "are byte for byte the same" in assert_load_fails()


def test_a_mirror_that_is_no_folder(write_dataset, monkeypatch, tmp_path):
    monkeypatch.setenv("PRIVCURVE_DATA", str(tmp_path / "nowhere"))
    assert len(datasets.load("mine").y) == 4  # a user's own file needs no mirror
    entry = {"name": "x.csv", "urls": [], "sha256": "0" * 64, "bytes": 1}
    write_dataset(files={"train": entry})
    message = assert_load_fails()
    assert "PRIVCURVE_DATA (or data_mirror" in message
    assert "PRIVCURVE_DATA (or data_mirror of the configuration) must be a folder; got " in message


# Descriptions ----------------------------------------------------------------------


def test_all_faults_of_a_description_are_reported(write_dataset):
    write_dataset(
        columns=[{**AGE, "bounds": [1, 0]}, TOWN, TOWN, {**TOWN, "name": "sick"}],
        parser={"kind": "delimited", "header": True, "encoding": "latin-one"},
    )
    message = assert_load_fails()
    assert message.startswith("dataset 'mine': 4 problems:\n")
    for part in ("low < high", "described twice", "the label and a column", "latin-one"):
        assert part in message


# Files -----------------------------------------------------------------------------


def test_all_faults_of_a_file_are_reported(write_dataset):
    write_dataset(
        [LINES[0], "31,Paris,x,yes", "old,Oslo,y,no", "1,Oslo", "2,Paris,z,maybe", "3,Oslo,w,no"]
    )
    message = assert_load_fails()
    for part in (
        "line 2 of data/mine.csv: 'town' is 'Paris'",
        "(1 more like it)",
        "line 3 of data/mine.csv: 'age' is 'old'",
        "line 4 of data/mine.csv must have 4 fields; it has 2",
        "line 5 of data/mine.csv: the label 'sick' is 'maybe'",
        "holds 5 records",
    ):
        assert part in message
    assert "5 problems" in message
    # The advice is to decide, never to copy a value from the records.
    assert "from public knowledge" in message
    assert "decide whether it may be known" in message
    assert "Add 'Paris'" not in message
    assert "write n_rows: 5" not in message


def test_no_more_than_twenty_faults_are_reported(write_dataset):
    write_dataset([LINES[0], *(f"31,Town {k},x,yes" for k in range(1000))], n_rows=1000)
    message = assert_load_fails()
    assert "at least 20 problems" in message
    assert len(message.splitlines()) == 21


def test_a_name_twice_in_a_header(write_dataset):
    write_dataset([LINES[0].replace("note", "age"), *LINES[1:]])
    assert "data/mine.csv must have one column 'age'; it has 2." in assert_load_fails()
    write_dataset([LINES[0].replace("town", "note"), *LINES[1:]], columns=[AGE])
    assert len(datasets.load("mine").y) == 4  # no learner of this run needs it


def test_a_file_without_any_column_is_one_fault(write_dataset):
    write_dataset([line.replace(",", ";") for line in LINES])
    message = assert_load_fails()
    assert (
        "data/mine.csv must have the columns 'age', 'town', 'sick'; no required column is among"
        in message
    )
    assert "no required column is among its 1 name. If a title is above the names" in message
    assert "delete it. Correct the names, there or in " in message
    assert len(message.splitlines()) == 1


def test_names_with_a_prefix_are_shown_where_none_fits(write_dataset):
    """scikit-learn's ColumnTransformer renames town to cat__town."""
    write_dataset(["num__age,cat__town,y", *LINES[1:]])
    message = assert_load_fails()
    assert "no required column is among its 3 names; did you mean" in message
    assert "did you mean 'cat__town'? Correct the names" in message
    assert "title" not in message


def test_composed_and_decomposed_letters_are_the_same(write_dataset):
    nfc, nfd = (unicodedata.normalize(form, "Malmö") for form in ("NFC", "NFD"))
    for written, listed in ((nfc, nfd), (nfd, nfc)):
        write_dataset(
            [line.replace("town", written).replace("Oslo", written) for line in LINES],
            columns=[{**TOWN, "name": listed, "categories": [listed, *TOWN["categories"][1:]]}],
            label={"column": "sick", "positive": "yes", "negative": "no"},
        )
        mine = datasets.load("mine")
        assert mine.X.ravel().tolist() == [0, 1, 2, 0]
        assert mine.domain.names == (nfc,)


# Values outside their bounds -------------------------------------------------------


def rows(n_outside):
    return [
        LINES[0],
        *(f"{200 if k < n_outside else 50},Oslo,x,{'yes' if k % 2 else 'no'}" for k in range(100)),
    ]


@pytest.mark.parametrize(("n_outside", "n_notes"), [(0, 0), (5, 0), (6, 1), (50, 1)])
def test_clipped_values_are_counted_and_noted(write_dataset, n_outside, n_notes, tmp_path):
    write_dataset(rows(n_outside), n_rows=100)
    mine = datasets.load("mine")
    assert mine.clipped == {"train": {"age": n_outside / 100} if n_outside else {}}
    datasets.save(mine, tmp_path / "out")
    facts = datasets.facts(tmp_path / "out")
    assert facts is not None
    notes = datasets.clipping_notes(facts)
    assert len(notes) == n_notes
    for note in notes:
        assert f"{n_outside}% of the values of 'age' (train)" in note
        assert "0 to 100" in note


@pytest.mark.parametrize("n_outside", [5, 6, 46])
def test_a_fit_reports_clipped_values(write_dataset, n_outside):
    write_dataset(rows(n_outside), n_rows=100)
    result = f"{n_outside}% of the values of 'age'"
    frame = pd.read_csv("data/mine.csv")
    schema = Schema({"age": (0, 100), "town": ["Oslo", "Rome"]}, ["no", "yes"])
    learner = PrivGAMClassifier(epsilon=1, n_bins=schema.domain.n_bins, classes=["no", "yes"])
    fits = [
        PrivGAMClassifier(epsilon=1, schema=schema),
        make_pipeline(DomainEncoder(schema.domain), learner),
    ]
    for model in fits:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(frame, frame.sick)
        assert [result in str(warning.message) for warning in caught] == [True] * (n_outside > 5)
        # In a prediction of a few records such values are normal.
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.predict(frame)


def test_mostly_clipped_values_are_refused_unless_expected(write_dataset):
    write_dataset(rows(51), n_rows=100)
    message = assert_load_fails()
    assert "51% of the values of 'age' (train) lie outside its bounds, 0 to 100" in message
    assert "not from the records" in message
    for changes in ({"clipping": "expected"}, {"columns": [{**AGE, "clipping": "expected"}, TOWN]}):
        write_dataset(rows(51), n_rows=100, **changes)
        assert datasets.load("mine").n_clipped == 51


def test_preparing_reports_to_the_user(write_dataset, capsys):
    write_dataset(rows(30), n_rows=100)
    job.main(["prepare", "--dataset", "mine"])
    assert "\nwarning: mine: 30% of the values of 'age'" in capsys.readouterr().out
