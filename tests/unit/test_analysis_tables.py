"""Tables: no mean over an incomplete set of runs, and the same bytes each time."""

import math
from types import SimpleNamespace

import pandas as pd
import pytest

from privcurve.outputs import accuracy
from privcurve.outputs.accuracy import accuracy_of, settings_of
from privcurve.tables import table as tables
from privcurve.tables.table import Table

DATASETS = ["mushroom", "adult"]
METHODS = ["lazybb~proved", "majority"]
KNOWN = {
    "lazybb~proved": SimpleNamespace(
        calibration="proved", settings=({}, {"n_rounds": 5}), tune=None
    ),
    "majority": SimpleNamespace(calibration=None, settings=({},), tune=None),
}


def selected():
    rows = []
    for dataset in sorted(DATASETS):
        for epsilon in (1.0, 0.05):
            rows.append((dataset, METHODS[0], "lazybb", "proved", epsilon, '{"n_rounds":9}'))
        rows.append((dataset, "majority", "majority_class", None, math.inf, "{}"))
    columns = ["dataset", "method", "learner", "calibration", "epsilon", "setting"]
    same = {"delta": 0.0, "cv_accuracy": 0.8125, "cv_std": 0.01, "status": "ok", "error": None}
    frame = pd.DataFrame(rows, columns=columns)
    return frame.assign(**same, n_settings=4, n_failed_settings=0)


def refits(n_repeats=3):
    chosen = selected()[["dataset", "method", "epsilon", "setting"]]
    scores = {"balanced_accuracy": 0.6, "auc": 0.75, "log_loss": math.nan, "fit_seconds": 0.123}
    frames = []
    for repeat in range(1, n_repeats + 1):
        fold = chosen["dataset"].map({"adult": "test", "mushroom": f"{repeat}/5"})
        own = {"repeat": repeat, "accuracy": 0.7 + 0.01 * repeat, "n_features_used": repeat}
        frames.append(chosen.assign(fold=fold, **own, **scores, status="ok", error=None))
    return pd.concat(frames, ignore_index=True)


def write(chosen, fresh, folder):
    study = SimpleNamespace(datasets=DATASETS, methods=KNOWN, repeats=3, metric="accuracy")
    accuracy_of(study, chosen, fresh).write(folder / "accuracy")
    settings_of(study, chosen).write(folder / "selected_settings")


def table(fresh, chosen=None):
    chosen = selected() if chosen is None else chosen
    return accuracy.accuracy_table(chosen, fresh, 3, DATASETS, METHODS)


def test_rows_are_in_the_order_of_the_study_and_values_are_right():
    rows = table(refits().sample(frac=1, random_state=1), selected().iloc[::-1])
    assert list(rows[["dataset", "method", "epsilon"]].itertuples(index=False, name=None)) == [
        (dataset, method, epsilon)
        for dataset in DATASETS
        for method, epsilon in [(METHODS[0], 0.05), (METHODS[0], 1.0), ("majority", math.inf)]
    ]
    assert rows["accuracy"].tolist() == pytest.approx([0.72] * 6)
    assert rows["accuracy_std"].tolist() == pytest.approx([0.01] * 6)
    assert rows["n_features_used"].tolist() == [2.0] * 6
    assert rows["log_loss"].isna().all()
    assert set(rows["status"]) == {"ok"}
    assert rows["scored_on"].tolist() == ["folds"] * 3 + ["test"] * 3
    assert not [name for name in rows if "seconds" in name]


def test_each_measure_has_a_standard_error_wider_where_hold_outs_overlap():
    fresh = refits()
    fresh["auc"] = 0.7 + 0.02 * fresh["repeat"]
    fresh["log_loss"] = 0.5 - 0.03 * fresh["repeat"]
    rows = table(fresh).set_index("dataset")
    # Three repeats on one test part: √(1/3); on hold-outs of a fifth: √(1/3 + 1/4).
    for dataset, factor in (("adult", 1 / 3), ("mushroom", 1 / 3 + 1 / 4)):
        for name, std in (("accuracy", 0.01), ("auc", 0.02), ("log_loss", 0.03)):
            assert rows.loc[dataset, f"{name}_std"].tolist() == pytest.approx([std] * 3)
            expected = pytest.approx([std * math.sqrt(factor)] * 3)
            assert rows.loc[dataset, f"{name}_error"].tolist() == expected


def test_a_failed_or_missing_repeat_makes_the_value_missing_and_is_named():
    fresh = refits()
    here = (fresh["dataset"] == "adult") & (fresh["method"] == METHODS[0]) & (fresh["epsilon"] == 1)
    fresh.loc[here & (fresh["repeat"] == 2), ["status", "error"]] = ["failed", "ValueError: no"]
    fresh = fresh[~(here & (fresh["repeat"] == 3))]
    rows = table(fresh)
    bad = rows[(rows["dataset"] == "adult") & (rows["method"] == METHODS[0])].set_index("epsilon")
    assert pd.isna(
        bad.loc[1.0, [*accuracy.scores_of_tables("accuracy"), "accuracy_std"]].astype(float)
    ).all()
    assert bad.loc[1.0, "n_failed"] == 2
    assert bad.loc[1.0, "status"] == "failed"
    assert bad.loc[1.0, "error"] == "repeats 2, 3 of 3: ValueError: no"
    assert bad.loc[0.05, "status"] == "ok"


def test_a_metric_that_one_repeat_lacks_is_missing():
    fresh = refits()
    fresh.loc[fresh["repeat"] == 1, "auc"] = math.nan
    rows = table(fresh)
    assert rows["auc"].isna().all()
    assert rows["accuracy"].notna().all()


def test_refits_of_another_setting_do_not_count():
    rows = table(refits().replace({"setting": {'{"n_rounds":9}': '{"n_rounds":5}'}}))
    assert rows.loc[rows["method"] == METHODS[0], "accuracy"].isna().all()
    assert rows.loc[rows["method"] == "majority", "accuracy"].notna().all()


def test_the_last_bit_of_epsilon_does_not_matter():
    chosen = selected()
    chosen["epsilon"] = chosen["epsilon"].map(lambda epsilon: math.nextafter(epsilon, 0))
    chosen.loc[chosen["method"] == "majority", "epsilon"] = math.inf
    assert set(table(refits(), chosen)["status"]) == {"ok"}


def test_an_method_without_a_setting_is_failed_with_its_reason():
    chosen = selected()
    chosen.loc[0, ["setting", "cv_accuracy", "status", "error"]] = [None, math.nan, "failed", "why"]
    rows = table(refits(), chosen)
    row = rows[(rows["dataset"] == "adult") & (rows["epsilon"] == 1)].iloc[0]
    assert row["status"] == "failed"
    assert row["error"] == "no setting is complete: why"
    assert math.isnan(row["accuracy"])


def test_wrong_input_is_named():
    with pytest.raises(ValueError, match=r"method must be one of .*; got 'majority'"):
        accuracy.accuracy_table(selected(), refits(), 3, DATASETS, METHODS[:1])
    with pytest.raises(ValueError, match="two fresh trainings have the same repeat"):
        table(pd.concat([refits(), refits()]))
    fresh = refits()
    fresh.loc[(fresh["dataset"] == "adult") & (fresh["repeat"] == 1), "fold"] = "1/5"
    with pytest.raises(ValueError, match="adult: refits must all score the test set"):
        table(fresh)


def test_settings_become_columns():
    chosen = selected()
    chosen.loc[1, "setting"] = '{"density":0.25,"mechanism":"auto","n_rounds":19}'
    rows = accuracy.selected_settings_table(chosen, DATASETS, METHODS)
    text = tables.format_values(rows)
    row = text[(text["dataset"] == "adult") & (text["epsilon"] == "0.05")].iloc[0]
    assert row[["density", "mechanism", "n_rounds"]].tolist() == ["0.25", "auto", "19"]
    assert text.loc[text["method"] == "majority", "n_rounds"].isna().all()


def test_a_learner_that_is_tuned_leaves_the_names_of_the_others():
    chosen = selected().iloc[::-1]
    chosen.loc[1, "setting"] = '{"learner":"lazybb","settings":{"n_rounds":[3,5]}}'
    rows = accuracy.selected_settings_table(chosen, DATASETS, METHODS)
    assert rows["dataset"].tolist() == ["mushroom"] * 3 + ["adult"] * 3
    assert set(rows["learner"]) == set(chosen["learner"])


def test_written_forms(tmp_path):
    write(selected(), refits(), tmp_path)
    back = pd.read_csv(tmp_path / "accuracy.csv", dtype=str)
    assert back["epsilon"].tolist() == ["0.05", "1", "inf"] * 2
    assert back["accuracy"].unique().tolist() == ["0.720000"]
    assert back["n_repeats"].unique().tolist() == ["3"]
    markdown = (tmp_path / "accuracy.md").read_text(encoding="utf-8")
    assert "0.8125 ± 0.0100" in markdown
    assert "| 3 of 3" in markdown
    latex = (tmp_path / "selected_settings.tex").read_text(encoding="utf-8")
    assert r"lazybb\textasciitilde{}proved" in latex
    assert latex.isascii()
    for text in (markdown, latex):
        assert "is optimistic" in text
        assert "is itself not private" in text


def test_signs_are_escaped(tmp_path):
    frame = pd.DataFrame({"a_b": ["50% & 1|2 {x} \\ $"], "n": [1], "value": [0.5]})
    Table(frame, "A_caption", ["a note"]).write(tmp_path / "t")
    latex = (tmp_path / "t.tex").read_text(encoding="utf-8")
    assert r"50\% \& 1|2 \{x\} \textbackslash{} \$ & 1 & 0.500000 \\" in latex
    assert r"\caption{A\_caption}" in latex
    assert r"1\|2" in (tmp_path / "t.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("dtype", ["Int64", "boolean", "float64", "object"])
def test_missing_values_of_any_type_are_dashes(dtype, tmp_path):
    Table(pd.DataFrame({"n": pd.Series([1, None], dtype=dtype)}), "c", []).write(tmp_path / "t")
    assert (tmp_path / "t.md").read_text(encoding="utf-8").splitlines()[-2].strip("| ") == "–"


def test_names_stay_text_and_empty_fields_missing(tmp_path):
    rows = [("2024", "1", "proved", 0.5, 0.25), ("NA", "None", None, math.inf, math.nan)]
    columns = ["dataset", "method", "calibration", "epsilon", "accuracy"]
    frame = pd.DataFrame(rows, columns=columns)
    for part in (0, 1):
        Table(frame.iloc[[part]], "caption", ()).write(tmp_path / f"t{part}")
    again = tables.read_table(tmp_path / "t0.csv", tmp_path / "t1.csv")
    assert again["dataset"].tolist() == ["2024", "NA"]
    assert again["method"].tolist() == ["1", "None"]
    assert again["calibration"].isna().tolist() == [False, True]
    assert again["epsilon"].tolist() == [0.5, math.inf]
    assert again["accuracy"].isna().tolist() == [False, True]
