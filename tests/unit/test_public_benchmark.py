"""Which records are public; the key `public_benchmark` changes no encoded data."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from privcurve import datasets
from privcurve.datasets import DatasetError

# Digests of all descriptions without the key: ids of runs depend on them.
STORED = json.loads(Path(__file__).with_name("descriptions.json").read_text())


def test_shipped_datasets_are_public_and_keep_their_digests():
    descriptions = {name: datasets.describe(name) for name in STORED}
    assert all(description.public_benchmark for description in descriptions.values())
    assert {name: description.digest for name, description in descriptions.items()} == STORED


def write(name, **content):
    Path(f"resources/datasets/{name}.yaml").write_text(yaml.safe_dump(content))


def test_records_are_private_unless_a_description_says_otherwise(write_dataset):
    write_dataset()
    assert not datasets.describe("mine").public_benchmark
    write_dataset(public_benchmark=True)
    assert datasets.describe("mine").public_benchmark


def test_the_key_public_benchmark_changes_no_codes(write_dataset):
    write_dataset()
    datasets.save(datasets.load("mine"), "coded")
    private = datasets.describe("mine")
    write_dataset(public_benchmark=True)
    assert datasets.describe("mine").digest == private.digest
    assert replace(private, public_benchmark=True).digest == private.digest
    assert datasets.is_current("coded")


def test_a_variant_inherits_public_benchmark_unless_it_has_its_own_files(write_dataset):
    write_dataset(public_benchmark=True)
    write("same", title="the same records", based_on="mine", n_bins=4)
    assert datasets.describe("same").public_benchmark
    other = {"title": "others", "based_on": "mine", "files": {"train": {"local": "data/o.csv"}}}
    write("other", **other)
    assert not datasets.describe("other").public_benchmark
    write("other", **other, public_benchmark=True)
    assert datasets.describe("other").public_benchmark
    write("hidden", title="not public", based_on="mine", public_benchmark=False)
    assert not datasets.describe("hidden").public_benchmark


def test_a_variant_makes_no_private_records_public(write_dataset):
    write_dataset()
    write("shown", title="not public", based_on="mine", public_benchmark=True)
    with pytest.raises(DatasetError, match="public_benchmark: the records belong to mine"):
        datasets.describe("shown")
    # The test file differs, but the key covers all records.
    test = {"test": {"local": "data/o.csv"}}
    write("shown", title="t", based_on="mine", n_test=1, files=test, public_benchmark=True)
    with pytest.raises(DatasetError, match="public_benchmark: the records belong to mine"):
        datasets.describe("shown")


def test_public_benchmark_must_be_true_or_false(write_dataset):
    write_dataset(public_benchmark="yes")
    with pytest.raises(DatasetError, match="public_benchmark"):
        datasets.describe("mine")
