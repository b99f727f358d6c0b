"""The learner of a release without a named learner: its settings follow from public facts."""

import html
import json
import random
from pathlib import Path

import numpy as np
import pytest
from own_dataset import DESCRIPTION
from own_release import LINES, budget_ledger

from privcurve import datasets
from privcurve.cli import main
from privcurve.learners import registry
from privcurve.learners.entries import by_rule
from privcurve.learners.entry import Facts
from privcurve.privacy.budget import ADD_REMOVE
from privcurve.privacy.calibration.privgam import ASSUMED_RULE
from privcurve.releases.released import MODEL, PAGE
from privcurve.releases.request import Request


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("terms", [{}, {"neighbours": ADD_REMOVE}, {"in_parts": True}])
def test_the_default_learner_offers_all_that_a_release_may_request(n_classes, delta, terms):
    facts = Facts([10, 10, 4], ordered=[True, True, False], n_classes=n_classes)
    entry = registry.entry(Request("mine", 1.0).learner)
    assert not entry.refuses(delta=delta, n_classes=n_classes, facts=facts, **terms)
    assert entry.proved
    assert registry.estimator_class(entry.name)._released


def test_names_of_columns_and_the_order_of_records_change_nothing(write_private_dataset):
    budgets = [(0.1, 0.0), (1.0, 0.0), (200.0, 0.0), (99.0, 1e-6)]

    def fits():
        data = datasets.load("mine")
        for epsilon, delta in budgets:
            settings = {"epsilon": epsilon, "delta": delta}
            model = registry.make(by_rule.DEFAULT, data.domain, settings)
            # With equal seeds even the noise is equal.
            model.set_params(random_state=1).fit(data.X, data.y)
            yield model.decision_function(np.unique(data.X, axis=0)).tolist()

    first = list(fits())
    header, *records = LINES
    random.Random(1).shuffle(records)
    write_private_dataset([header, *records])
    assert list(fits()) == first
    others = zip(DESCRIPTION["columns"], ("q7", "zz"), strict=True)
    columns = [{**column, "name": name} for column, name in others]
    write_private_dataset(["q7,zz,note,sick", *records], columns=columns)
    assert list(fits()) == first


def released(words):
    """Release with the command; return its request in the ledger, and the model's statement."""
    assert main.main(["release", "mine", "--epsilon", "0.5", *words.split()]) == 0
    entry = budget_ledger().releases()[-1]
    content = json.loads(Path(f"releases/mine/{entry.number}", MODEL).read_text())
    return entry.facts["learner"], entry.facts["parameters"], content["statement"]


def test_a_release_without_a_learner_names_the_one_it_uses(write_private_dataset, capsys):
    learner, parameters, statement = released("")
    assert (learner, parameters) == ("privgam", {})
    assert ASSUMED_RULE in statement["assumptions"]
    assert capsys.readouterr().out.startswith("learner: PrivGAM\n")
    assert ASSUMED_RULE in html.unescape(Path("releases/mine/1", PAGE).read_text())
    assert released("--learner auto") == (learner, parameters, statement)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--set n_estimat=3", "no parameter 'n_estimat'; did you mean 'n_estimate'"),
        ("--set n_estimate=50", "n_estimate must be given for neighbours = 'add-remove'"),
        ("--neighbours add-remove", "n_estimate must be given for neighbours = 'add-remove'"),
        ("--neighbours nobody", "offers neighbours = 'replace-one' or 'add-remove', not 'nobody'"),
        ("--learner auot", "unknown learner 'auot'"),
    ],
)
def test_values_that_the_default_learner_does_not_offer_are_refused_before_anything_is_spent(
    write_private_dataset, capsys, words, message
):
    assert main.main(["release", "mine", "--epsilon", "1", *words.split()]) != 0
    assert message in capsys.readouterr().err
    assert budget_ledger().releases() == []
