"""Columns of integers: integer bins, and units for readers."""

import json
from dataclasses import replace

import numpy as np
import pytest

from privcurve import PrivGAMClassifier, Schema, binning, load, save
from privcurve.binning import WHOLE
from privcurve.datasets import DatasetError, Domain

DAYS = {"bounds": [0, 30], "n_bins": 64, "whole": True, "units": "days"}


def column(**changes):
    (one,) = Schema({"stay": {**DAYS, **changes}}, label=["no", "yes"]).domain.columns
    return one


def codes_of(values, **changes):
    schema = Schema({"stay": {**DAYS, **changes}}, label=["no", "yes"])
    return schema.encode({"stay": np.array(values, dtype=float)})[:, 0].tolist()


def test_each_whole_number_has_a_bin_where_the_bounds_allow():
    days = column()
    assert (days.bins, days.spacing, days.is_whole) == (31, WHOLE, True)
    assert codes_of(range(31)) == list(range(31))
    # Values outside the bounds belong to the nearest bin.
    assert codes_of([-5, 31, 99]) == [0, 30, 30]
    assert days.format_bounds() == ("0", "30")
    assert days.bin_names[0] == "stay = 0"
    assert days.bin_names[30] == "stay = 30"


def test_with_wider_bounds_bins_hold_equally_many_integers():
    pressure = column(bounds=[40, 250])
    assert pressure.bins == 53
    sizes = np.diff(pressure.edges)
    assert set(sizes) <= {3.0, 4.0}
    assert pressure.bin_names[0] == "40 <= stay <= 43"
    assert codes_of([40, 43, 44, 250], bounds=[40, 250]) == [0, 0, 1, 52]
    # With more than four numbers per bin the spacing is used.
    wide = column(bounds=[0, 500_000], spacing="mixed")
    assert (wide.bins, wide.spacing) == (64, "mixed")


def test_bounds_of_whole_numbers_are_whole():
    with pytest.raises(DatasetError, match=r"'stay' must be whole numbers, .* got \[0, 10.5\]"):
        column(bounds=[0, 10.5])
    assert binning.edges(0, 3, 4, WHOLE).tolist() == [0, 1, 2, 3, 4]


def test_a_unit_changes_no_code_and_no_checksum():
    schemas = [
        Schema({"stay": {**DAYS, "units": unit}}, label=["no", "yes"]) for unit in ("d", "h")
    ]
    one, other = (schema.domain for schema in schemas)
    assert one.to_json() == other.to_json()
    for domain in (one, other):
        assert Domain.from_dict(json.loads(json.dumps(domain.to_dict()))) == domain
    assert one.columns[0].label == "stay [d]"
    assert replace(one.columns[0], units="").label == "stay"


def test_edges_have_few_digits_for_readers_but_are_distinguished():
    fine = column(bounds=[0, 7], n_bins=64, whole=False, spacing="equal")
    assert fine.bin_names[0] == "0 <= stay < 0.109375"
    assert fine.short_names[0] == "0 <= stay < 0.109"
    near = column(bounds=[1000, 1001], n_bins=4, whole=False, spacing="equal")
    assert near.short_names[1] == "1000.2 <= stay < 1000.5"
    days = column()
    assert days.short_names == days.bin_names


def test_a_model_of_whole_numbers_is_saved_and_explained(tmp_path):
    rng = np.random.default_rng(0)
    stays = rng.integers(0, 31, 2000)
    sick = np.where(rng.random(2000) < stays / 30, "yes", "no")
    schema = Schema({"stay": DAYS}, label=["no", "yes"])
    model = PrivGAMClassifier(epsilon=float("inf"), schema=schema).fit({"stay": stays}, sick)
    path = tmp_path / "model.json"
    save(path, model)
    again = load(path)
    assert again.domain.columns[0].units == "days"
    new = {"stay": np.arange(31)}
    assert (again.decision_function(new) == model.decision_function(new)).all()
    assert "stay [days]" in str(again.explain())
    assert "stay = 7" in str(again.explain())
    axes = again.explain().plot()[0]
    # An integer is in the middle of its bin, and ticks are integers.
    assert axes.lines[0].get_xdata()[0] % 1 == 0.5
    axes.figure.canvas.draw()
    assert all(tick == int(tick) for tick in axes.get_xticks())
    assert axes.get_title() == "stay [days]"
