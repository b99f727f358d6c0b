"""The learner that a release takes where none is named: by a public rule."""

import json
import os
import random
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from own_dataset import DESCRIPTION
from own_release import LINES, QUICK, ROWS, book

from privcurve import datasets
from privcurve.cli import compare, main
from privcurve.datasets import describe
from privcurve.datasets.catalogue import find
from privcurve.learners import registry
from privcurve.learners.entries import by_rule
from privcurve.learners.entry import Facts
from privcurve.privacy.budget import ADD_REMOVE
from privcurve.releases.errors import ReleaseError
from privcurve.releases.release import release
from privcurve.releases.released import CARD, MODEL
from privcurve.releases.request import ASSUMED_AUTO, Request, by_public_rule

FACTS = Facts([10, 10, 4], ordered=[True, True, False])


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_each_line_of_the_rule_begins_at_its_number(delta):
    lines = by_rule.RULE[delta == 0]
    assert lines[0][0] == 0
    assert [least for least, _ in lines] == sorted(least for least, _ in lines)
    for (least, label), before in zip(lines[1:], lines, strict=False):
        n = 1000
        assert by_rule.label_of(FACTS, n, least / n * (1 + 1e-9), delta) == label
        assert by_rule.label_of(FACTS, n, least / n * (1 - 1e-9), delta) == before[1]
    assert by_rule.label_of(FACTS, 1000, float("inf"), delta) == lines[-1][1]


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("n", [1, 30, 300, 10_000, 10**7])
@pytest.mark.parametrize(
    ("facts", "terms"),
    [
        (FACTS, {}),
        (Facts([10, 10]), {}),
        (Facts([10, 10], n_classes=3), {}),
        (FACTS, {"neighbours": ADD_REMOVE}),
        (FACTS, {"in_parts": True}),
    ],
)
def test_what_the_rule_takes_offers_what_is_asked_for(facts, terms, n, delta):
    spec = by_rule.LEARNERS[by_rule.label_of(facts, n, 1.0, delta, **terms)]
    entry = registry.entry(spec["learner"])
    assert not entry.refuses(
        delta=entry.told_delta(delta),
        n_classes=facts.n_classes,
        facts=facts,
        setting=spec.get("fixed"),
        **terms,
    )
    assert registry.estimator_class(spec["learner"])._released


def test_names_of_columns_the_order_of_records_and_what_is_in_them_tell_the_rule_nothing(mine):
    def taken():
        about = describe("mine")
        return [
            (one.learner, one.parameters)
            for epsilon in (0.01, 0.1, 1, 10, 100)
            for delta in (0, 1e-6)
            for one in [by_public_rule(Request("mine", epsilon, delta), about)]
        ]

    first = taken()
    assert len({learner for learner, _ in first}) > 1
    header, *records = LINES
    random.Random(1).shuffle(records)
    others = zip(DESCRIPTION["columns"], ("q7", "zz"), strict=True)
    mine(
        ["q7,zz,note,sick", *records],
        columns=[{**column, "name": name} for column, name in others],
    )
    assert taken() == first
    mine([header, *["20,Oslo,x,no"] * ROWS])
    assert taken() == first


@pytest.mark.skipif(not os.environ.get("PRIVCURVE_DATA"), reason="PRIVCURVE_DATA is not set")
@pytest.mark.parametrize("label", [by_rule.AUTO, "privgam"])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0), (1, 0), (0.1, 1e-5), (3, 1e-5)])
def test_random_names_of_columns_and_a_shuffle_of_records_leave_accuracies_as_they_are(
    own, epsilon, delta, label
):
    shipped = yaml.safe_load(find("banknote").read_text())
    rng = random.Random(1)
    file = Path(os.environ["PRIVCURVE_DATA"], "banknote", shipped["files"]["train"]["name"])
    lines = file.read_text().split()
    rng.shuffle(lines)
    names = [rng.randbytes(4).hex() for _ in shipped["parser"]["fields"]]
    own(
        lines,
        n_rows=len(lines),
        public_benchmark=True,
        parser={"kind": "delimited", "fields": names},
        columns=[
            {**one, "name": name} for one, name in zip(shipped["columns"], names, strict=False)
        ],
        label={**shipped["label"], "column": names[-1]},
    )

    def accuracies(name):
        data = datasets.load(name)
        facts = (describe(name).domain, len(data.y), epsilon, delta)
        spec = by_rule.LEARNERS[by_rule.label_of(*facts) if label == by_rule.AUTO else label]
        settings = {**spec.get("fixed", {}), "epsilon": epsilon, "delta": delta}
        made = [registry.make(spec["learner"], data.domain, settings) for _ in range(4)]
        for seed, model in enumerate(made):
            model.set_params(random_state=seed).fit(data.X, data.y)
        return [(model.predict(data.X) == data.y).mean() for model in made]

    # With the same coins not even noise differs.
    assert accuracies("mine") == accuracies("banknote")


def test_a_release_without_a_learner_says_what_was_taken_and_by_what(mine, capsys):
    assert main.main(["release", "mine", "--epsilon", "1"]) == 0
    said = capsys.readouterr().out
    spec = by_rule.LEARNERS[by_rule.label_of(describe("mine").domain, ROWS, 1.0, 0.0)]
    assert f"learner: {by_rule.title(spec)}, by a public rule that reads no record" in said
    content = json.loads(Path("releases/mine/1", MODEL).read_text())
    assert content["learner"] == spec["learner"]
    assert ASSUMED_AUTO in json.dumps(content["statement"], ensure_ascii=False)
    card = Path("releases/mine/1", CARD).read_text()
    assert "by a public rule in the numbers of records and classes" in card
    assert "public rule, fixed before and apart from these records" in card
    (entry,) = book().releases()
    assert entry.facts["learner"] == spec["learner"]
    assert entry.facts["parameters"] == spec.get("fixed", {})


def test_a_learner_that_is_named_is_not_said_to_follow_from_the_rule(mine):
    released = release(Request("mine", 1.0, learner=QUICK))
    assert ASSUMED_AUTO not in released.statement.assumptions
    assert "public rule" not in released.path(CARD).read_text()


def test_where_a_record_is_added_the_rule_goes_by_the_estimate(mine):
    mine(budget={"epsilon": 5, "neighbours": ADD_REMOVE})
    asked = Request("mine", 1.0, neighbours=ADD_REMOVE, parameters={"n_estimate": 100})
    released = release(asked)
    assert released.statement.neighbours == ADD_REMOVE
    about = describe("mine")
    # How many records there are is not public: as many others, and the same is taken.
    mine(LINES[:30], budget={"epsilon": 5, "neighbours": ADD_REMOVE})
    assert by_public_rule(asked, describe("mine")) == by_public_rule(asked, about)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--set n_steps=3", "n_steps is a setting of one learner"),
        ("--set n_estimate=50", "n_estimate is a setting of one learner"),
        ("--neighbours add-remove", "n_estimate= is a public estimate of the number of records"),
        ("--neighbours add-remove --set n_estimate=few", "n_estimate = 'few' is not a whole"),
        ("--neighbours nobody", "offers neighbours = 'replace-one' or 'add-remove', not 'nobody'"),
    ],
)
def test_what_the_rule_does_not_go_by_is_refused_before_anything_is_spent(
    mine, capsys, words, says
):
    assert main.main(["release", "mine", "--epsilon", "1", *words.split()]) != 0
    assert says in capsys.readouterr().err
    assert book().releases() == []


def test_compare_names_what_a_release_takes(mine):
    asked = SimpleNamespace(dataset="mine", epsilon=[100.0, 0.1], delta=0.0)
    titles = compare.unlooked(asked)
    assert list(titles) == ["0.1", "100"]
    for epsilon, title in titles.items():
        taken = by_public_rule(Request("mine", float(epsilon)), describe("mine"))
        assert by_rule.name_of(taken.learner, taken.parameters) == title
    with pytest.raises(ReleaseError, match="name the learner"):
        by_public_rule(Request("mine", 1.0, parameters={"depth": 2}), describe("mine"))
