"""Domains of the shipped datasets: widths, names, and refused descriptions."""

import dataclasses
import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import yaml

from privcurve import datasets
from privcurve.datasets import Column, DatasetError, Domain
from privcurve.datasets.build import DEFAULT_BINS
from privcurve.datasets.coding.coder import ColumnCoder
from privcurve.datasets.coding.numbers import ISO
from privcurve.datasets.description import Parser
from privcurve.datasets.domain import MISSING
from privcurve.datasets.reading import file_kind_names, kinds

ROOT = Path(__file__).parents[2]

# Number of one-hot columns per shipped dataset.
SHIPPED = """
adult=162  adult-fine=386  codrna=80  mushroom=117  wdbc=300  toy-line=22  toy-line-fine=2002
adult-balanced=162  adult-first=162  adult-first500=162  adult-11=168  avazu=222  bank=114
bank-11=121  bank-fine=551  bank-balanced=184  bank-first=184  creditcard=225  creditcard-11=233
creditcard-fine=1177  codrna-fine=425  creditcard-balanced=225  creditcard-first=325  sepsis=17
sepsis-balanced=27  sepsis-first=27  kddcup99=461  mnist=196  mnist-odd=196  mnist-ge5=196
skin=99  abalone=73  banknote=40  banknote-50=200  breastwisc=91  cardiotocography=83
creditcardsmall=225  eeg=140  eeg-bounds=630  eeg-file=140  firmteacher=32  hill-noise=1000
hill-nonoise=1000  ionosphere=322  magic=100  magic-bounds=235  mice=1617  page=100
page-log=120  qsar=386  qsar-50=1906  sonar=600  transfusion=40  winered=110  winered-50=550
winewhite=110  winewhite-50=550  yeast=80  page-kinds=120  yeast-sites=80
cardiotocography-states=83  winered-grades=110  german=114  online-shoppers=351  spambase=2760
compas=301  electricity=368  kddcup99-20000=461  mammography=384  phoneme=320
sepsis-20000=27  telco=149
"""
WIDTHS = {name: int(width) for name, width in re.findall(r"(\S+)=(\d+)", SHIPPED)}


def test_mnist_is_cut_where_the_paper_cuts():
    mnist = datasets.describe("mnist").domain
    assert {column.edges for column in mnist.columns} == {(-42.5, 42.5, 127.5, 212.5, 297.5)}
    assert mnist.label.names == tuple("0123456789")
    odd = datasets.describe("mnist-odd").label.codes
    assert odd == {str(digit): 1 if digit % 2 else -1 for digit in range(10)}


def test_avazu_explains_how_to_get_its_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DatasetError, match=r"no file .*avazu\.csv\. Avazu's data may not"):
        datasets.load("avazu")
    content = {"title": "t", "based_on": "avazu", "n_rows": 2}
    Path("resources/datasets").mkdir(parents=True)
    Path("resources/datasets/avazu-mine.yaml").write_text(yaml.safe_dump(content))
    columns = ["id", "click", "hour", "site_id", *datasets.describe("avazu").domain.names]
    values = ["1005", "0", "1", "2", "15706", "320", "50", "1722", "0", "35", "100084", "79"]
    lines = [",".join([f"10000094{k}", str(k), "14102100", "1fbe01fe", *values]) for k in (0, 1)]
    Path("data").mkdir()
    Path("data/avazu.csv").write_text("\n".join([",".join(columns), *lines]) + "\n")
    mine = datasets.load("avazu-mine")
    assert mine.y.tolist() == [-1, 1]
    assert mine.X[0].tolist() == [2, 0, 1, 2, 63, 1, 0, 23, 0, 0, 5, 3]


def test_a_shipped_description_is_complete():
    for name, width in WIDTHS.items():
        description = datasets.describe(name)
        domain = description.domain
        names = [word for column in domain.bin_names for word in column]
        assert domain.width == len(names) == len(set(names)) == width, name
        ordered = {column.name for column in domain.columns if column.ordered}
        assert set(description.bound_sources) == ordered, name
        had = all(file.sha256 and file.urls for file in description.source_files())
        # A dataset without an address says how to get its files.
        assert had or description.how_to_get, name
        assert Domain.from_dict(domain.to_dict()) == domain, name
        assert Domain.from_dict(json.loads(domain.to_json())).to_json() == domain.to_json(), name


def test_widths_cover_all_shipped_datasets():
    """Only shipped datasets are tested, not descriptions that a user has added."""
    result = subprocess.run(
        ["git", "ls-files", "resources/datasets"], cwd=ROOT, capture_output=True, text=True
    )
    if result.returncode or not result.stdout:
        pytest.skip("not a git checkout")
    assert {Path(name).stem for name in result.stdout.split()} == set(WIDTHS)


def test_adult_columns():
    domain = datasets.describe("adult").domain
    assert domain.n_bins == (10, 9, 10, 16, 10, 7, 15, 6, 5, 2, 10, 10, 10, 42)
    names = dict(zip(domain.names, domain.bin_names, strict=True))
    assert "13 <= education-num < 14.5" in names["education-num"]
    assert names["education-num"][-1] == "14.5 <= education-num <= 16"
    assert "workclass = Private" in names["workclass"]
    assert "occupation = ?" in names["occupation"]


def test_mushroom_has_a_code_for_each_codebook_value():
    columns = datasets.describe("mushroom").domain.columns
    assert len(columns) == 22
    assert sum(len(column.categories) for column in columns) == 126


def test_other_bins_of_a_dataset():
    adult, fine = datasets.describe("adult"), datasets.describe("adult-fine")
    assert fine.source == "adult"
    assert fine.paths == (fine.path, adult.path)
    assert (fine.files, fine.parser, fine.label) == (adult.files, adult.parser, adult.label)
    assert fine.domain.names == adult.domain.names
    names = dict(zip(fine.domain.names, fine.domain.bin_names, strict=True))
    # One bin for each age and each level of education.
    age, education = (fine.domain.columns[i] for i in (0, 4))
    for column, low, n in ((age, 17, 74), (education, 1, 16)):
        values = np.arange(low, low + n, dtype=np.float64)
        assert ColumnCoder(fine.domain, column).code(values).codes.tolist() == list(range(n))
    assert len(names["capital-gain"]) == 100
    assert names["workclass"] == adult.domain.bin_names[1]


def test_keys_of_a_description_are_declared_once():
    """The schema has the keys and defaults of the code, and the docs name every key."""
    properties = yaml.safe_load((ROOT / "src/privcurve/datasets/dataset.schema.yaml").read_text())[
        "properties"
    ]
    keys = {key.name: key for key in dataclasses.fields(Parser)}
    parser = properties["parser"]["properties"]
    assert set(parser) == set(keys)
    for key, spec in parser.items():
        assert spec.get("default", keys[key].default) == keys[key].default
        assert ("by default" in spec["description"]) == ("default" in spec), key
    columns = properties["columns"]["items"]["properties"]
    of_columns = {"n_bins": DEFAULT_BINS, "spacing": Column.spacing, "format": ISO}
    of_all = {"missing": MISSING, "unknown": Domain.unknown, "decimal": Domain.decimal}
    for specs, in_code in ((columns, of_columns), (properties, of_all)):
        assert {k: spec["default"] for k, spec in specs.items() if "default" in spec} == in_code
    assert {key for kind in kinds().values() for key in kind.keys} == {*keys} - {"kind", "fields"}
    text = (ROOT / "docs/datasets.md").read_text()
    for kind in file_kind_names():
        (row,) = re.findall(rf"^\| `{kind}` \|.*\|(.*)\|$", text, re.MULTILINE)
        for key in set(re.findall(r"`(\w+)[`:]", row)) & set(keys):
            assert key in ("fields", *kinds()[kind].keys), (kind, key)
