"""Selection: the best complete setting, whatever the order of the rows."""

import itertools
import json
import math

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privcurve.analysis import selection
from privcurve.analysis.selection import choose_finalists, select_only, table


def rank(parts, n_best=1, metric="accuracy", folds=("1/2", "2/2")):
    return selection.rank_settings(parts, n_best, metric, folds)


def select(cv):
    return table(rank([cv]))


def runs(accuracies, *, epsilon=1.0, method="lazybb~proved", dataset="adult"):
    """Return rows of a cross-validation from {setting: [accuracy per fold; None: failed]}."""
    own = {"dataset": dataset, "method": method, "learner": "lazybb", "calibration": "proved"}
    rows = []
    for setting, values in accuracies.items():
        for k, value in enumerate(values, start=1):
            outcome = {"accuracy": value, "status": "ok", "error": None}
            if value is None:
                error = f"ValueError: fold {k} broke"
                outcome = {"accuracy": math.nan, "status": "failed", "error": error}
            place = {"setting": setting, "fold": f"{k}/{len(values)}", "repeat": 0}
            rows.append({**own, "delta": 0.0, "epsilon": epsilon, **place, **outcome})
    return pd.DataFrame(rows)


def setting(n_rounds, **others):
    return json.dumps({**others, "n_rounds": n_rounds}, sort_keys=True, separators=(",", ":"))


@pytest.mark.parametrize(
    "ordered",
    [
        [setting(9, density=0.25), setting(9, density=0.5), setting(39, density=0.2)],
        ['{"C":9.5}', '{"C":10}', '{"C":"auto"}'],
        # The size of trees counts before other parameters.
        ['{"density":0.35,"depth":1,"n_rounds":9}', '{"density":0.25,"depth":3,"n_rounds":9}'],
        ['{"criterion":"zero_one","depth":1}', '{"criterion":"gini","depth":3}'],
    ],
)
def test_ties_go_to_the_smaller_size_and_number_not_by_text(ordered):
    (best,) = rank([runs({one: [0.8, 0.8] for one in reversed(ordered)})], len(ordered))
    assert best.settings == ordered


def test_a_tie_up_to_rounding_is_a_tie():
    # 0.1 + 0.2 + 0.3 as floats: the first mean is one ulp above the second.
    tied = {setting(9): [0.30000000000000004, 0.3], setting(5): [0.3, 0.3]}
    assert select(runs(tied)).iloc[0]["setting"] == setting(5)


@pytest.mark.parametrize("how", ["failed", "missing", "no accuracy", "failed with an accuracy"])
def test_a_setting_that_lacks_a_fold_is_never_selected(how):
    second = {"failed": None, "no accuracy": math.nan}.get(how, 0.99)
    frame = runs({setting(5): [0.7, 0.7], setting(9): [0.99, second]})
    if how == "missing":
        frame = frame.iloc[:-1]
    elif how == "failed with an accuracy":
        frame.loc[3, "status"] = "failed"
    chosen = select(frame).iloc[0]
    assert chosen["setting"] == setting(5)
    assert (chosen["n_settings"], chosen["n_failed_settings"]) == (2, 1)


def test_no_complete_setting_gives_a_failed_row_with_the_first_error():
    chosen = select(runs({setting(9): [None, 0.9], setting(5): [0.8, None]})).iloc[0]
    assert chosen["setting"] is None
    assert chosen["status"] == "failed"
    assert math.isnan(chosen["cv_accuracy"])
    assert chosen["error"] == f"{setting(5)}: fold 2/2: ValueError: fold 2 broke"
    assert chosen["n_failed_settings"] == 2
    missing = select(runs({setting(5): [0.8, 0.8]}).iloc[:1]).iloc[0]
    assert missing["error"] == f"{setting(5)}: fold 2/2 is missing"


def test_each_epsilon_selects_for_itself_and_infinity_counts():
    frame = pd.concat(
        [
            runs({setting(5): [0.8, 0.8], setting(9): [0.7, 0.7]}, epsilon=math.inf),
            runs({setting(5): [0.5, 0.5], setting(9): [0.6, 0.6]}, epsilon=0.05),
        ]
    )
    chosen = select(frame)
    assert list(chosen["epsilon"]) == [0.05, math.inf]
    assert list(chosen["setting"]) == [setting(9), setting(5)]


def test_an_method_without_calibration_is_kept():
    frame = runs({"{}": [0.8, 0.8]}, epsilon=math.inf).assign(calibration=None)
    chosen = select(frame)
    assert list(chosen["setting"]) == ["{}"]
    assert chosen["calibration"].isna().all()


def test_a_run_twice_is_an_error():
    frame = runs({setting(5): [0.8, 0.8]})
    with pytest.raises(ValueError, match="appears twice"):
        select(pd.concat([frame, frame]))


def finalists(accuracies, draws):
    """Return rows of the second round from {setting: [accuracy per fold]} for each draw."""
    frames = [runs(one).assign(repeat=-k) for k, one in enumerate(accuracies[:draws], start=1)]
    return pd.concat(frames, ignore_index=True)


def test_finalists_are_compared_only_by_their_further_trainings():
    lucky, good, bad = setting(5), setting(9), setting(15)
    first = {lucky: [0.95, 0.95], good: [0.9, 0.9], bad: [0.5, 0.5]}
    best = rank([runs(first)], 2)
    assert best[0].settings == [lucky, good]
    again = finalists(
        [{lucky: [0.8, 0.7], good: [0.9, 0.86]}, {lucky: [0.7, 0.8], good: [0.8, 0.84]}], 2
    )
    chosen = table(choose_finalists(best, again)).iloc[0]
    assert chosen["setting"] == good
    assert chosen["cv_accuracy"] == pytest.approx(0.85)
    # The means of the folds, over the draws: both are 0.85.
    assert chosen["cv_std"] == pytest.approx(0, abs=1e-9)
    assert (chosen["n_settings"], chosen["n_failed_settings"]) == (3, 0)


def test_a_finalist_that_fails_is_out():
    first = {setting(5): [0.9, 0.9], setting(9): [0.8, 0.8]}
    best = rank([runs(first)], 2)
    again = finalists([{setting(5): [0.9, None], setting(9): [0.7, 0.7]}], 1)
    chosen = table(choose_finalists(best, again)).iloc[0]
    assert (chosen["setting"], chosen["n_failed_settings"]) == (setting(9), 1)
    nobody = finalists([{setting(5): [0.9, None], setting(9): [None, 0.7]}], 1)
    chosen = table(choose_finalists(best, nobody)).iloc[0]
    assert (chosen["status"], chosen["n_failed_settings"]) == ("failed", 2)
    assert "broke" in chosen["error"]


@settings(max_examples=20)
@given(data=st.data())
def test_neither_parts_nor_the_order_of_rows_matter(data):
    # Few distinct accuracies, so that ties are common; None is a failed fold.
    accuracy = st.sampled_from([0.5, 0.6, 0.7, None])
    grids = {
        epsilon: {
            setting(n, density=d): data.draw(st.lists(accuracy, min_size=2, max_size=2))
            for n, d in itertools.product((5, 39, 100), (0.25, 0.5))
        }
        for epsilon in (0.1, math.inf)
    }
    frame = pd.concat([runs(grid, epsilon=e) for e, grid in grids.items()], ignore_index=True)
    n_best = data.draw(st.integers(1, 6))
    shuffled = frame.iloc[data.draw(st.permutations(range(len(frame))))]
    pd.testing.assert_frame_equal(select(shuffled), select(frame))
    n_parts = data.draw(st.integers(1, 4))
    points = sorted(set(zip(frame["epsilon"], frame["setting"], strict=True)))
    part_of = {point: data.draw(st.integers(0, n_parts - 1)) for point in points}
    number = [part_of[p] for p in zip(frame["epsilon"], frame["setting"], strict=True)]
    parts = [frame[[n == part for n in number]] for part in range(n_parts)]
    pd.testing.assert_frame_equal(table(rank(parts)), select(frame), check_exact=True)
    assert rank(parts, n_best) == rank([frame], n_best)


@pytest.mark.parametrize(
    ("metric", "best", "mean"), [("accuracy", 9, 0.8), ("auc", 9, 0.8), ("log_loss", 5, 0.6)]
)
def test_a_metric_selects_and_a_loss_the_smaller_way(metric, best, mean):
    frame = runs({setting(5): [0.7, 0.5], setting(9): [0.9, 0.7]})
    frame = frame.rename(columns={"accuracy": metric})
    candidates = rank([frame], 2, metric)
    (row,) = table(candidates, metric).to_dict("records")
    assert row["setting"] == setting(best)
    assert row[f"cv_{metric}"] == pytest.approx(mean)
    assert row["cv_std"] == pytest.approx(0.1 * math.sqrt(2))
    # The second round uses the same metric.
    again = pd.concat([frame, frame])
    (row,) = table(choose_finalists(candidates, again, metric), metric).to_dict("records")
    assert (row["setting"], row[f"cv_{metric}"]) == (setting(best), pytest.approx(mean))


def test_a_metric_that_is_missing_is_named():
    frame = runs({setting(5): [0.7, math.nan]}).rename(columns={"accuracy": "log_loss"})
    frame["status"] = "ok"
    (row,) = table(rank([frame], 1, "log_loss"), "log_loss").to_dict("records")
    assert row["status"] == "failed"
    assert row["error"].endswith("fold 2/2: no log loss")


def test_hold_outs_select_if_they_are_complete():
    frame = runs({setting(5): [0.7, 0.5], setting(9): [0.9, 0.7]})
    frame["fold"] = frame["fold"].map({"1/2": "1@0.1", "2/2": "2@0.1"})
    names = ["1@0.1", "2@0.1"]
    (row,) = table(rank([frame], folds=names)).to_dict("records")
    assert row["setting"] == setting(9)
    (row,) = table(rank([frame[:-1]], folds=names)).to_dict("records")
    assert row["setting"] == setting(5)


def test_a_lone_setting_is_taken_by_no_trainings():
    key = ("adult", "lazybb~proved", 1.0)
    (row,) = table([select_only(key, ("lazybb", "proved", 0.0), setting(5))]).to_dict("records")
    assert row["setting"] == setting(5)
    assert (row["status"], row["n_settings"]) == ("ok", 1)
    assert math.isnan(row["cv_accuracy"])
    assert math.isnan(row["cv_std"])
