"""Splits: hold-outs and nested sub-samples, the same on every machine."""

import numpy as np
import pytest

from privcurve import datasets
from privcurve.experiments import splits
from privcurve.experiments.splits import Split, Splitter, draw_held_out, holdout_splits, take_share


@pytest.fixture(scope="module")
def dataset():
    return datasets.load("wdbc")


def size(part):
    return int(part.counts.sum())


def label_share(part):
    return part.counts[part.labels > 0].sum() / part.counts.sum()


def rows(part):
    return {
        (*map(int, row), int(sign)): int(count)
        for row, sign, count in zip(part.codes, part.labels, part.counts, strict=True)
    }


def test_hold_outs_are_distinct_and_selecting_ones_are_not_fresh_ones():
    selecting, fresh = (holdout_splits(0.1, 3, fresh=fresh) for fresh in (False, True))
    partitions = [split.partition for split in (*selecting, *fresh)]
    assert partitions == [-1, -2, -3, 1, 2, 3]
    # Finalists train on the records that selected, with other noise.
    assert Split(selecting[1].fold, -4).partition == -2


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_a_hold_out_takes_its_share_of_each_label(dataset, share):
    splitter = Splitter(dataset, 1)
    parts = [splitter.parts(split) for split in holdout_splits(share, 3, fresh=True)]
    for train, scored in parts:
        assert size(train) + size(scored) == len(dataset.y)
        assert size(scored) == pytest.approx(share * len(dataset.y), abs=1.5)
        assert label_share(scored) == pytest.approx(np.mean(dataset.y > 0), abs=0.01)
    assert rows(parts[0][1]) != rows(parts[1][1])
    again = Splitter(dataset, 1).parts(Split(f"2@{share}", 2))
    assert rows(again[1]) == rows(parts[1][1])
    other = Splitter(dataset, 2).parts(Split(f"2@{share}", 2))
    assert rows(other[1]) != rows(parts[1][1])


def test_a_hold_out_leaves_a_record_of_each_label_on_either_side():
    y = np.array([1, 1, *[-1] * 40])
    for share in (0.01, 0.99):
        out = draw_held_out(y, share, np.random.default_rng(0))
        assert set(y[out]) == set(y[~out]) == {-1, 1}
    with pytest.raises(ValueError, match="each label must have two records"):
        draw_held_out(y[1:], 0.5, np.random.default_rng(0))


@pytest.mark.parametrize("share", [1e-9, 0.0004])
def test_a_share_of_no_record_is_refused(share):
    y = np.array([-1] * 100 + [1] * 100)
    with pytest.raises(ValueError, match=f"holdout must be ≥ 0.01 on this dataset; got {share:g}"):
        draw_held_out(y, share, np.random.default_rng(0))
    assert draw_held_out(y, 0.01, np.random.default_rng(0)).sum() == 2


@pytest.mark.parametrize("split", [Split("2/5", 0), Split("2/5", 7), Split("3@0.2", 3)])
def test_smaller_samples_are_parts_of_larger_ones_and_all_score_on_the_same(dataset, split):
    everything, scored = Splitter(dataset, 1).parts(split)
    sizes = []
    larger = rows(everything)
    for share in (0.5, 0.1, 0.01):
        part, other = Splitter(dataset, 1, share).parts(split)
        assert rows(other) == rows(scored)
        assert rows(part).items() <= larger.items()
        assert size(part) == pytest.approx(share * size(everything), abs=1.5)
        assert set(part.labels) == {-1, 1}
        sizes.append(size(part))
        larger = rows(part)
    assert sizes == sorted(sizes, reverse=True)


def test_the_sample_of_a_test_part_differs_from_repeat_to_repeat():
    data = datasets.load("toy-line")
    if data.X_test is None:
        data = type(data)(**{**vars(data), "X_test": data.X[:9], "y_test": data.y[:9]})
    first, second = (Splitter(data, 1, 0.1).parts(Split("test", repeat)) for repeat in (1, 2))
    assert rows(first[0]) != rows(second[0])
    assert rows(first[1]) == rows(second[1])


def test_parts_are_remembered_while_there_is_room(dataset, monkeypatch):
    splitter = Splitter(dataset, 1)
    first = splitter.parts(Split("1/5", 0))
    # A finalist uses the rows of its selection; another partition does not.
    assert splitter.parts(Split("1/5", -3)) is first
    assert splitter.parts(Split("1/5", 1)) is not first
    monkeypatch.setattr(splits, "REMEMBERED", 1)
    other = splitter.parts(Split("2/5", 0))
    assert splitter.parts(Split("2/5", -1)) is other
    again = splitter.parts(Split("1/5", 0))
    assert again is not first
    assert rows(again[0]) == rows(first[0])


def test_a_sub_sample_has_a_record_of_each_label():
    y = np.array([1, *[-1] * 99])
    taken = take_share(y, np.arange(100), np.random.default_rng(0).permutation(100), 0.02)
    assert sorted(y[taken]) == [-1, -1, 1]
