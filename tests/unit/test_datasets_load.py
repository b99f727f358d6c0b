"""From a file to codes: a user's CSV files, datasets without a download, real datasets."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from own_dataset import DESCRIPTION, LINES, assert_load_fails

from privcurve import datasets
from privcurve.datasets import DatasetError


def _replaced(number, line):
    """Return the lines with line `number` (counted from 1) replaced."""
    return [*LINES[: number - 1], line, *LINES[number:]]


def test_checksum_follows_codes_and_domain(write_dataset):
    first = datasets.load("mine").checksum
    write_dataset(_replaced(2, "32,Oslo,other note,yes"))  # another record with the same codes
    assert datasets.load("mine").checksum == first
    write_dataset(_replaced(2, "55,Oslo,x,yes"))
    assert datasets.load("mine").checksum != first
    columns = [{**DESCRIPTION["columns"][0], "bounds": [0, 101]}, DESCRIPTION["columns"][1]]
    write_dataset(columns=columns)
    assert datasets.load("mine").checksum != first


@pytest.mark.parametrize(
    ("lines", "parts"),
    [
        (_replaced(3, "45,oslo,y,no"), ("did you mean 'Oslo'",)),
        (_replaced(3, "45,,y,no"), ("line 3", "'town' is missing")),
        (_replaced(4, "?,?,z,no"), ("line 4", "'age' is missing")),
        (_replaced(4, "nan,?,z,no"), ("line 4", "'age' is nan", "finite")),
        (_replaced(1, "Age,town,note,sick"), ("no column 'age'", "did you mean 'Age'")),
        (LINES[:1], ("holds no records",)),
        ([line.replace("yes", "no") for line in LINES], ("the same label",)),
    ],
)
def test_bad_file_is_refused(write_dataset, lines, parts):
    write_dataset(lines)
    message = assert_load_fails()
    for part in ("'mine'", *parts):
        assert part in message


def test_lines_are_counted_through_comments_and_blanks(write_dataset):
    lines = ["a title", "# remark", LINES[0], "", *LINES[1:4], "18,Nowhere,w,yes"]
    write_dataset(
        lines, parser={"kind": "delimited", "header": True, "comment": "#", "skip_rows": 1}
    )
    assert_load_fails("line 8 of")


def test_a_quote_that_never_ends(write_dataset):
    write_dataset([*LINES[:3], '"' + "x" * 140_000])
    assert_load_fails(r"mine\.csv can't be read")


def test_damaged_inside(write_dataset):
    content = gzip.compress(b"age,town,note,sick\n" * 1000, mtime=0)
    write_dataset(files={"train": {"local": "data/mine.csv.gz"}})
    Path("data/mine.csv.gz").write_bytes(content[:12] + b"\xff" * 20 + content[32:])
    assert_load_fails(r"mine\.csv\.gz can't be read")


def test_parts_of_the_same_name_keep_their_checksums(write_dataset):
    write_dataset(
        n_test=2, files={"train": {"local": "data/mine.csv"}, "test": {"local": "test/mine.csv"}}
    )
    Path("test").mkdir()
    Path("test/mine.csv").write_text("\n".join(LINES[:3]) + "\n")
    assert set(datasets.load("mine").sources) == {"train/mine.csv", "test/mine.csv"}


def test_many_bins_need_two_bytes(write_dataset):
    write_dataset(columns=[{**DESCRIPTION["columns"][0], "n_bins": 1000}])
    mine = datasets.load("mine")
    assert mine.X.dtype == np.uint16
    assert mine.X.ravel().tolist() == [310, 450, 999, 175]


@pytest.mark.usefixtures("write_dataset")
def test_example_of_the_documentation():
    text = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8")
    words, text = text.split("## Your own data")
    variant = words.split("```yaml\n")[1].split("```")[0]
    Path("resources/datasets/adult-balanced.yaml").write_text(variant)
    assert datasets.describe("adult-balanced").domain.public_columns == (1, 2, 8, 9, 13)
    description = text.split("```yaml\n")[1].split("```")[0]
    lines = text.split("```\n")[1].splitlines()
    Path("resources/datasets/patients.yaml").write_text(description)
    Path("data/patients.csv").write_text("\n".join([*lines[:-1], "45,,no"]))
    patients = datasets.load("patients")
    assert patients.X.tolist() == [[2, 0], [4, 2]]
    assert patients.domain.bin_names[1][2] == "town = ?"


def _assert_same(one, two):
    assert one.domain == two.domain
    assert (one.name, one.checksum, one.sources) == (two.name, two.checksum, two.sources)
    assert (one.n_clipped, one.n_clipped_test) == (two.n_clipped, two.n_clipped_test)
    assert (one.clipped, one.origin) == (two.clipped, two.origin)
    for key in ("X", "y", "X_test", "y_test"):
        a, b = getattr(one, key), getattr(two, key)
        assert (a is None) == (b is None)
        if a is not None:
            assert a.dtype == b.dtype
            assert np.array_equal(a, b)


def test_save_and_read(write_dataset, tmp_path):
    files = {"train": {"local": "data/mine.csv"}, "test": {"local": "data/test.csv"}}
    write_dataset(files=files, n_test=3)
    Path("data/test.csv").write_text("\n".join(LINES[:-1]) + "\n")
    mine = datasets.load("mine")
    datasets.save(mine, tmp_path / "out")
    _assert_same(mine, datasets.read(tmp_path / "out"))
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["domain.json", "encoded.npz"]
    written = (tmp_path / "out" / "encoded.npz").read_bytes()
    datasets.save(mine, tmp_path / "out")
    assert (tmp_path / "out" / "encoded.npz").read_bytes() == written


@pytest.mark.usefixtures("write_dataset")
def test_damaged_folder_is_refused(tmp_path):
    mine = datasets.load("mine")
    datasets.save(mine, tmp_path / "out")
    arrays = tmp_path / "out" / "encoded.npz"
    np.savez_compressed(arrays, X=mine.X[::-1], y=mine.y)
    with pytest.raises(DatasetError, match="its checksum must be"):
        datasets.read(tmp_path / "out")
    arrays.write_bytes(b"PK")
    with pytest.raises(DatasetError, match="Delete the folder"):
        datasets.read(tmp_path / "out")
    with pytest.raises(DatasetError, match="must hold a readable dataset"):
        datasets.read(tmp_path / "nowhere")


def test_toy_line():
    toy = datasets.load("toy-line")
    assert toy.X.shape == (2000, 2)
    assert toy.checksum == datasets.load("toy-line").checksum
    left = toy.X[:, 0] < 10
    assert (toy.y[left] == -1).all()
    assert (toy.y[~left] == 1).all()
    for side in (0, 1):  # the coin is independent of the label
        assert toy.y[toy.X[:, 1] == side].sum() == 0


def _properties(tree):
    if isinstance(tree, dict):
        for key, spec in tree.items():
            if key == "properties":
                yield from spec.items()
            yield from _properties(spec)


def test_every_key_of_a_description_is_described():
    schema = Path(datasets.__file__).with_name("dataset.schema.yaml")
    tree = yaml.safe_load(schema.read_text(encoding="utf-8"))
    conditions = {"then", "else", "if", "allOf"}
    keys = dict(_properties({k: v for k, v in tree.items() if k not in conditions}))
    assert {"records", "first", "spacing", "zero_based"} <= set(keys)
    for key, spec in keys.items():
        assert "description" in spec or "$ref" in spec or {"const"} & set(spec) or "not" in spec, (
            key
        )


NEEDS_MIRROR = pytest.mark.skipif(
    not os.environ.get("PRIVCURVE_DATA"), reason="PRIVCURVE_DATA is not set"
)
REAL = {
    # name: (records, test records, positive records, distinct rows)
    "adult": (32561, 16281, 7841, 24633),
    "adult-fine": (32561, 16281, 7841, 31021),
    "codrna": (59535, 0, 19845, 7740),
    "mushroom": (8124, 0, 3916, 8124),
    "adult-11": (32561, 0, 7841, 25010),
    "mnist-odd": (60000, 10000, 30508, 53346),
}


@NEEDS_MIRROR
@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.slow] * (one != "codrna")) for one in REAL]
)
def test_real_files(name, tmp_path):
    n_rows, n_test, n_positive, n_distinct = REAL[name]
    dataset = datasets.load(name)
    assert dataset.X.shape == (n_rows, len(dataset.domain.columns))
    assert (0 if dataset.y_test is None else len(dataset.y_test)) == n_test
    assert int((dataset.y == 1).sum()) == n_positive
    assert (dataset.X.max(axis=0) < dataset.domain.n_bins).all()
    assert dataset.n_clipped < 0.001 * dataset.X.size
    X, _, counts = datasets.distinct(dataset.X, dataset.y)
    assert len(X) == n_distinct
    assert counts.sum() == n_rows
    datasets.save(dataset, tmp_path)
    _assert_same(dataset, datasets.read(tmp_path))


MNIST_DIGITS = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]


@pytest.mark.slow
@NEEDS_MIRROR
def test_labels_in_large_files():
    assert np.bincount(datasets.load("mnist").y).tolist() == MNIST_DIGITS
    assert (datasets.load("kddcup99").y == -1).sum() == 97278


# The 19 UCI domains -------------------------------------------------------------------------

# Share of the rarer label; reading checks the number of records.
SHARES = """
transfusion=0.238  banknote=0.445  breastwisc=0.345  ionosphere=0.359  sonar=0.466  yeast=0.312
winered=0.465  cardiotocography=0.222  creditcardsmall=0.214  abalone=0.498  qsar=0.337  page=0.102
winewhite=0.335  mice=0.472  hill-noise=0.500  hill-nonoise=0.495  firmteacher=0.165  magic=0.352
eeg=0.449
"""
DOMAINS = dict(pair.split("=") for pair in SHARES.split())
# Another dataset with public bins.
VARIANTS = [
    *("page-log", "magic-bounds", "eeg-bounds", "eeg-file"),
    *(f"{name}-50" for name in ("banknote", "qsar", "winered", "winewhite")),
]


@pytest.mark.parametrize("name", [*DOMAINS, *VARIANTS])
@NEEDS_MIRROR
def test_the_real_file_of_a_domain(name):
    data = datasets.load(name)
    share = min(np.mean(data.y == sign) for sign in (-1, 1))
    base = next(domain for domain in DOMAINS if name.startswith(domain))
    assert share == pytest.approx(float(DOMAINS[base]), abs=6e-4)
    # Bounds set without looking at the file clip few values.
    assert max(data.clipped["train"].values(), default=0) < 0.02


def test_white_wine_has_the_bounds_of_red():
    assert datasets.describe("winewhite").domain == datasets.describe("winered").domain
    assert datasets.describe("hill-nonoise").domain == datasets.describe("hill-noise").domain


def test_import_is_light():
    code = (
        "import sys, privcurve.datasets as d; d.names();"
        "print([m for m in ('pandas', 'pooch', 'sklearn', 'jsonschema') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
