"""The output `shapes`, the effects of one model's columns: frames, figure, refusals."""

import dataclasses
import math
import re

import numpy as np
import pytest
from made_up_study import ADDITIVE_STUDY, output_request

from privcurve import explain
from privcurve.datasets import Column, Domain, Label
from privcurve.experiments.study import StudyError
from privcurve.learners import PrivGAMClassifier, registry
from privcurve.learners.additive.model import AdditiveModel
from privcurve.outputs import record, shapes

GAM = ADDITIVE_STUDY["learners"]["gam"]
DOMAIN = Domain(
    (
        Column("flat", "categorical", categories=(("a", "a"), ("b", "b"))),
        Column("size", "numeric", (1.0, 100.0), 2, missing_bin=True, spacing="log"),
        Column("kind", "categorical", categories=(("x", "x"), ("a" * 30, "a" * 30))),
    ),
    Label("sick", "no", "yes"),
)
BAYES = {"learner": "noisy_bayes"}
VALUES = [[0.0, 0.0], [-0.5, 0.25, 0.1], [0.75, -1.0]]
ERRORS = [[0.1, 0.1], [0.2, 0.3, 0.4], [0.05, 0.06]]


def ask(learner=GAM, given=None, **changes):
    """Return the request of `shapes`, with changes of the learner or the study."""
    options = {"learner": "gam", "epsilon": 2, **(given or {})}
    return output_request("shapes", options, **{"learners": {"gam": learner}, **changes})


def test_another_version_of_fits_to_more_classes_makes_them_again(monkeypatch):
    def facts():
        two, three = ask(), ask(datasets=["winered-grades"])
        return two.reads.facts, three.reads.facts, record.auditor_digest("privgam")

    before, entry = facts(), registry.entry("privgam")
    raised = dataclasses.replace(entry, class_version=entry.class_version + 1)
    monkeypatch.setitem(registry.LEARNERS, "privgam", raised)
    assert [old != new for old, new in zip(before, facts(), strict=True)] == [False, True, True]


@pytest.fixture(scope="module")
def explanation():
    """Explain a model with shapes that are set by hand."""
    X, y = np.zeros((40, 3), dtype=np.uint8), np.arange(40) % 2
    fitted = PrivGAMClassifier(n_bins=DOMAIN.n_bins, classes=(0, 1)).fit(X, y)
    values, errors = ([np.array(row) for row in rows] for rows in (VALUES, ERRORS))
    fitted.model_ = AdditiveModel(0.5, 0.1, tuple(values), tuple(errors))
    return explain(fitted, DOMAIN)


def test_the_frame_has_each_value_with_its_bin(explanation):
    rows = shapes.values_of(explanation)
    assert rows["column"].tolist() == ["kind"] * 2 + ["size"] * 3
    assert rows["value"].tolist() == [0.75, -1.0, -0.5, 0.25, 0.1]
    assert rows["high"].tolist()[2:4] == [10.0, 100.0]
    assert rows["low"].isna().tolist() == [True, True, False, False, True]


def test_ends_are_the_lowest_and_the_highest_value_of_each_column(explanation):
    rows = shapes.ends_of(explanation)
    # Half the widths of 95 % intervals, 1.96 standard errors.
    assert rows.drop(columns="importance").values.tolist() == [
        ["kind", -1.0, 0.1176, f"kind = {'a' * 30}", 0.75, 0.098, "kind = x"],
        ["size", -0.5, 0.392, "1 <= size < 10", 0.25, 0.588, "10 <= size <= 100"],
    ]
    texts = shapes.format_table(rows)
    assert texts["lowest"].tolist() == ["−1.00 ± 0.12", "−0.50 ± 0.39"]
    # Without an estimate the text has no "± 0.00".
    bare = shapes.format_table(rows.assign(error_lowest=0.0))
    assert bare["lowest"].tolist() == ["−1.00", "−0.50"]


def test_the_figure_has_one_scale_and_an_axis_that_suits_the_bins(explanation):
    kind, size = explanation.plot()
    assert kind.get_xlim() == size.get_ylim() == pytest.approx((-1.17348, 1.17348))
    assert size.get_xscale() == "log"
    assert [line.tolist() for line in size.lines[0].get_data()] == [
        [1, 10, 100],
        [-0.5, 0.25, 0.25],
    ]
    assert "missing" in [text.get_text() for text in size.texts]
    assert [label.get_text() for label in kind.get_yticklabels()] == ["x", "a" * 17 + "…"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"learner": {"learner": "gradient_boosting"}},
            "gam can't be explained: its model has no file format",
        ),
        ({"learner": {**BAYES, "grid": {"n_columns": [1, 2]}}}, "has a grid or a share"),
        ({"train_shares": [0.5]}, "has a grid or a share of the records"),
        ({"given": {"epsilon": math.nan}}, "epsilon must be > 0; got nan"),
        ({"given": {"dataset": "wdbc"}}, "no dataset 'wdbc'"),
        ({"given": {"delta": 0.5}}, "gam has no delta = 0.5 in this study"),
    ],
)
def test_a_model_without_shapes_is_refused(change, message):
    with pytest.raises(StudyError, match=f"^tiny: outputs: .*{re.escape(message)}"):
        ask(**change)


def test_the_output_depends_on_the_model_and_reads_no_study():
    reads = ask().reads
    assert (reads.curves, reads.data) == ((), ("toy-line",))
    assert ask(given={"delta": 1e-5}).reads.facts != reads.facts
    settings = [ask({**BAYES, "fixed": {"n_columns": k}}).reads.facts for k in (1, 2)]
    assert settings[0] != settings[1]
    assert ask(epsilons=[3]).reads.facts == reads.facts
