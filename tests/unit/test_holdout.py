"""The hold-out of a release: its members, its cost, and its counts."""

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from own_release import N_ROWS, budget_ledger, release_request, release_states

from privcurve import datasets, models
from privcurve.analysis.measures import auc
from privcurve.cli.main import main
from privcurve.datasets.load import load_rows
from privcurve.privacy.budget import ADD_REMOVE, REPLACE_ONE
from privcurve.releases import card as cards
from privcurve.releases import holdout, judgement
from privcurve.releases import release as releasing
from privcurve.releases.errors import LedgerError, ReleaseError
from privcurve.releases.judgement import CANNOT_BE_TOLD, NO, YES, judge, score_bins
from privcurve.releases.release import release
from privcurve.releases.released import CARD, MODEL

SHARE = 0.4


# Members of the hold-out -------------------------------------------------------------------------


def test_membership_of_a_place_does_not_depend_on_other_places():
    held = holdout.public_split(np.arange(5000), 0.2)
    assert abs(held.mean() - 0.2) < 4 * math.sqrt(0.16 / 5000)
    some = np.array([4999, 3, 3, 77])
    assert (holdout.public_split(some, 0.2) == held[some]).all()
    # A larger share keeps these positions and adds others.
    assert (holdout.public_split(np.arange(5000), 0.5) >= held).all()


def test_records_are_held_out_only_by_their_place(write_private_dataset):
    dataset = datasets.load("mine")
    description = datasets.describe("mine")
    own = holdout.read_places(dataset, description)
    assert own.tolist() == list(range(N_ROWS))
    parts = holdout.split(own, release_request(holdout=SHARE))
    assert sorted([*parts.train, *parts.held]) == list(range(N_ROWS))
    assert parts.held.tolist() == np.flatnonzero(holdout.public_split(own, SHARE)).tolist()


PERSONS = ["a", "b", "a", "c", "b", "b", "b", "d", "a", "e"] * 6


def lines_of(persons):
    return ["age,town,who,sick"] + [
        f"{20 + k},Oslo,{who}{k // 10},{'yes' if k % 3 else 'no'}" for k, who in enumerate(persons)
    ]


def held_persons(write_private_dataset, lines, at_most=2):
    """Return the persons in the hold-out."""
    names = [line.split(",")[2] for line in lines[1:]]
    kept = sum(min(n, at_most) for n in Counter(names).values())
    write_private_dataset(lines=lines, unit={"column": "who", "at_most": at_most}, n_rows=kept)
    dataset, rows, _ = load_rows("mine")
    checksum, own = holdout.load_places("mine")
    assert checksum == dataset.checksum
    parts = holdout.split(own, release_request(holdout=SHARE))
    held = {names[row] for row in rows[parts.held]}
    # All records of a person are in one part.
    assert not held & {names[row] for row in rows[parts.train]}
    return held


def test_all_records_of_a_person_are_held_out_whatever_their_names_and_values(
    write_private_dataset,
):
    lines = lines_of(PERSONS)
    held = held_persons(write_private_dataset, lines)
    assert 0 < len(held) < len({line.split(",")[2] for line in lines[1:]})
    # Membership does not depend on the name of a person.
    renamed = [line.replace(",b2,", ",zz,") for line in lines]
    assert held_persons(write_private_dataset, renamed) - {"zz"} == held - {"b2"}
    # It does not depend on other values.
    swapped = {"yes": "no", "no": "yes", "Oslo": "?"}
    changed = [lines[0]] + [
        ",".join(swapped.get(cell, cell) for cell in line.split(",")) for line in lines[1:]
    ]
    assert held_persons(write_private_dataset, changed) == held
    # It does not depend on how many records a person has beyond the limit.
    assert PERSONS.count("b") == 4 * 6
    more = [*lines[:8], *[lines[5]] * 3, *lines[8:]]
    assert held_persons(write_private_dataset, more) == held


def test_for_add_remove_each_person_has_a_secret_coin(write_private_dataset):
    private = release_request(holdout=SHARE, neighbours=ADD_REMOVE)
    own = np.repeat(np.arange(2000), 2)
    parts = holdout.split(own, private, np.random.default_rng(3))
    assert abs(len(parts.held) / 4000 - SHARE) < 4 * math.sqrt(SHARE * 0.6 / 2000)
    assert set(own[parts.held]).isdisjoint(own[parts.train])
    other = holdout.split(own, private, np.random.default_rng(4))
    assert other.held.tolist() != parts.held.tolist()
    # A hold-out may be empty: an error would reveal the number of records.
    assert len(holdout.split(np.arange(0), private, np.random.default_rng(3)).held) == 0


# Cost --------------------------------------------------------------------------------------------


def test_a_hold_out_costs_no_more_than_the_model_and_does_not_train(
    write_private_dataset, monkeypatch
):
    write_private_dataset(budget={"epsilon": 2})
    order, streams = [], releasing._make_stream
    monkeypatch.setattr(
        releasing, "_make_stream", lambda use, *given: order.append(use) or streams(use, *given)
    )
    train = releasing._train

    def watched(*given):
        # The ledger has the query before training begins.
        (entry,) = budget_ledger().releases()
        assert entry.facts["holdout"] == {"share": SHARE, "query": holdout.WHAT}
        return train(*given)

    monkeypatch.setattr(releasing, "_train", watched)
    released = release(release_request(holdout=SHARE, learner="privgam"))
    assert order == ["release", "split", "hold-out"]
    assert released.price.epsilon == 1.0
    assert released.n_train + released.n_held == N_ROWS
    assert released.learner.n_records_ == released.n_train
    card = released.path(CARD).read_text()
    assert f"{released.n_train} records; {released.n_held} others are held out" in card
    assert "Of a person with one record in each part the two add up" in card
    assert "at ε = 1; all numbers here follow from it" in card
    monkeypatch.setattr(releasing, "_train", train)
    release(release_request())
    with pytest.raises(LedgerError, match="is spent"):
        release(release_request(epsilon=1e-3))


def test_for_add_remove_no_size_is_reported(write_private_dataset):
    write_private_dataset(budget={"epsilon": 2, "neighbours": ADD_REMOVE})
    private = release_request(
        learner="privgam", neighbours=ADD_REMOVE, parameters={"n_estimate": 50}, holdout=SHARE
    )
    released = release(private)
    assert models.load(released.path(MODEL)).parameters["n_estimate"] == 30
    assert "a share of 0.6 of the records, by secret coins; their number is not public" in (
        released.path(CARD).read_text()
    )


def test_a_card_says_why_two_tests_may_differ():
    good = SimpleNamespace(judgement=SimpleNamespace(better=YES))
    for better, alike, n in ((YES, True, 1), (YES, False, 0), (NO, True, 0)):
        good.judgement.better = better
        texts = cards._compare_tests(good, SimpleNamespace(is_like_constant=alike))
        assert len([*texts]) == n


@pytest.mark.parametrize("neighbours", [REPLACE_ONE, ADD_REMOVE])
def test_a_resumed_release_holds_out_the_same_records(
    write_private_dataset, monkeypatch, neighbours
):
    write_private_dataset(budget={"epsilon": 1, "neighbours": neighbours})
    private = release_request(
        learner="privgam",
        neighbours=neighbours,
        parameters={"n_estimate": 50} if neighbours == ADD_REMOVE else {},
        holdout=SHARE,
    )
    held, own = [], holdout.split

    def watched(*given):
        parts = own(*given)
        held.append(parts.held.tolist())
        return parts

    def failing(*given):
        raise ValueError("of the disk")

    monkeypatch.setattr(holdout, "split", watched)
    with monkeypatch.context() as patch:
        patch.setattr(releasing, "_write", failing)
        with pytest.raises(ReleaseError, match="of the disk"):
            release(private)
    with pytest.raises(ReleaseError, match="began with another holdout"):
        release(replace(private, holdout=0.3), resume=True)
    del held[1:]
    released = release(private, resume=True)
    assert released.release.number == 1
    assert held[0] == held[1]
    assert release_states() == ["done"]


def test_a_declined_model_is_not_written_and_stays_spent(write_private_dataset):
    questions = []
    with pytest.raises(ReleaseError, match="declined: no model was written"):
        release(release_request(holdout=SHARE), confirm=lambda text: questions.append(text))
    # Sixty records cannot show whether the model is better.
    assert ["cannot be told" in text for text in questions] == [True]
    assert release_states() == ["failed"]
    assert not list(Path("releases").rglob(MODEL))


def test_the_command_warns_and_reports_the_hold_out(write_private_dataset, capsys):
    assert main(["release", "mine", "--epsilon", "1", "--holdout", "0.4"]) == 0
    out, err = capsys.readouterr()
    assert "cannot be told from the hold-out" in err
    assert "better than the base rate: cannot be told" in out
    assert main(["release", "mine", "--epsilon", "1", "--holdout", "40"]) != 0
    assert "holdout must be a share" in capsys.readouterr().err


def test_a_hold_out_is_suggested_where_there_are_records_enough(
    write_private_dataset, capsys, monkeypatch
):
    main(["release", "mine", "--epsilon", "1", "--learner", "noisy_majority"])
    assert "--holdout" not in capsys.readouterr().err
    monkeypatch.setattr("privcurve.releases.request.HOLDOUT_FROM", N_ROWS)
    main(["release", "mine", "--epsilon", "1", "--learner", "noisy_majority"])
    assert "--holdout 0.2 measures it" in capsys.readouterr().err


# Counts ------------------------------------------------------------------------------------------


class Line:
    """A model of one column, whose score is a multiple of (code − mean code)."""

    classes_ = np.array([0, 1])

    def __init__(self, slope, start=0.0, n_codes=64):
        self.values = start + slope * (np.arange(n_codes) / n_codes - 0.5)

    def score_codes(self, codes):
        return self.values[codes[:, 0]]

    def chances(self, scores):
        odds = 1 / (1 + np.exp(-scores))
        return np.column_stack([1 - odds, odds])


TRUE = Line(3.0, -2.0)


def sample(n, seed, truth=TRUE):
    rng = np.random.default_rng(seed)
    codes = rng.integers(64, size=(n, 1)).astype(np.uint8)
    return codes, (rng.random(n) < truth.chances(truth.score_codes(codes))[:, 1]).astype(np.int64)


def ask(model, n, seed, epsilon=2.0, truth=TRUE):
    codes, labels = sample(n, seed, truth)
    bins = score_bins(model, [64], [np.ones(64)])
    noise = np.random.default_rng(seed + 1).laplace(0, 2 / epsilon, bins.shape)
    counts = bins.count(model, codes, labels) + noise
    return judge(counts, math.sqrt(2) * 2 / epsilon, bins, share=0.2, epsilon=epsilon)


def test_margins_cover_the_measures_of_the_population():
    """At least 181 of 200 hold-outs are within 95 % margins; fewer have a probability of 0.001."""
    codes, labels = sample(400_000, 1)
    scores = TRUE.score_codes(codes)
    area = auc(scores, 2 * labels - 1, np.ones(len(labels), dtype=np.int64))
    loss = np.logaddexp(0, scores) - labels * scores
    share = labels.mean()
    base = -share * math.log(share) - (1 - share) * math.log(1 - share)
    judged = [ask(TRUE, 2000, seed) for seed in range(2, 402, 2)]
    for name, truth in (("auc", area), ("loss", loss.mean()), ("gain", base - loss.mean())):
        measures = [getattr(one, name) for one in judged]
        near = sum(abs(one.value - truth) <= one.margin for one in measures)
        assert near >= 181, name
        # Margins are not much wider than sampling and noise require.
        assert np.std([one.value for one in measures]) > 0.25 * np.mean(
            [m.margin for m in measures]
        )
    assert all(one.better == YES for one in judged)
    assert all(abs(one.predicted - share) < 0.01 for one in judged)
    groups = [(g.predicted, g.actual) for one in judged for g in one.groups]
    assert np.mean([abs(text - seen.value) <= seen.margin for text, seen in groups]) > 0.93


def test_better_worse_and_undecided():
    assert ask(TRUE, 4000, 1).better == YES
    # This model predicts positive for all.
    assert ask(Line(0.5, 2.0), 4000, 1).better == NO
    # This model is right, because the label is pure noise.
    flat = Line(0.0, -2.0)
    assert ask(Line(0.05, -2.0), 4000, 1, truth=flat).better == CANNOT_BE_TOLD
    few = ask(TRUE, 40, 1)
    assert (few.better, few.auc, few.gain) == (CANNOT_BE_TOLD, None, None)


def test_a_constant_has_one_bin_and_is_not_better():
    _, labels = sample(400_000, 1)
    judged = ask(Line(0.0, math.log(labels.mean() / (1 - labels.mean()))), 4000, 1)
    assert judged.auc.value == pytest.approx(0.5)
    assert judged.better == CANNOT_BE_TOLD


def test_without_probabilities_the_area_decides():
    class Votes(Line):
        chances = property()  # a class without probabilities

    model = Votes(3.0)
    assert not hasattr(model, "chances")
    judged = ask(model, 4000, 1)
    assert (judged.loss, judged.measured_by, judged.better) == (None, "AUC", YES)


class Three:
    classes_ = np.arange(3)

    def __init__(self, strength):
        self.strength = strength

    def score_codes(self, codes):
        return self.strength * (codes[:, :1] % 3 == np.arange(3)).astype(float)

    def chances(self, scores):
        weights = np.exp(scores)
        return weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("has_chances", [True, False])
def test_with_more_classes_a_record_counts_once(has_chances):
    model = Three(1.0)
    if not has_chances:
        model = SimpleNamespace(classes_=model.classes_, score_codes=model.score_codes)
    rng = np.random.default_rng(0)
    codes = rng.integers(64, size=(3000, 1)).astype(np.uint8)
    labels = np.where(rng.random(3000) < 0.6, codes[:, 0] % 3, rng.integers(3, size=3000))
    bins = score_bins(model, [64], [np.ones(64)])
    counts = bins.count(model, codes, labels)
    assert counts.sum() == 3000
    assert (counts.sum(axis=1) == np.bincount(labels)).all()
    judged = judge(counts.astype(float), 1.0, bins, share=0.2, epsilon=1.0)
    assert judged.better == YES
    assert judged.auc is None
    if has_chances:
        exact = -np.log(Three(1.0).chances(model.score_codes(codes))[np.arange(3000), labels])
        assert judged.loss.value == pytest.approx(exact.mean(), abs=judged.loss.binning + 1e-9)
    else:
        right = (codes[:, 0] % 3 == labels).mean()
        assert judged.gain.value == pytest.approx(right - counts.sum(axis=1).max() / 3000)


def test_cut_points_follow_from_weights():
    low = score_bins(TRUE, [64], [np.r_[np.ones(8), np.zeros(56)]])
    assert max(low.cuts[0]) < TRUE.values[8]
    cells = judgement.draw_cells([4, 2], [np.array([0, 1, 0, 3.0]), np.zeros(2)])
    assert set(np.unique(cells[:, 0])) == {1, 3}
    assert abs((cells[:, 0] == 3).mean() - 0.75) < 0.03
    assert abs(cells[:, 1].mean() - 0.5) < 0.03
