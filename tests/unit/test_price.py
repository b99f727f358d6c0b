"""The cost of encoding: a model on raw columns, next to models on codes and private models."""

import html
import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from made_up_study import BOOST, output_request, write_made_up_study
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss, roc_auc_score
from threadpoolctl import threadpool_limits

from privcurve import datasets
from privcurve.cli import compare
from privcurve.datasets.coding.frames import encode_frame
from privcurve.datasets.raw import MOST_CATEGORIES, coded_columns, raw_columns
from privcurve.experiments.curves import CODED
from privcurve.experiments.splits import Splitter
from privcurve.experiments.study import StudyError
from privcurve.figures import style
from privcurve.outputs import leaderboard, price, record
from privcurve.outputs.answers import ranking, titles_of
from privcurve.privacy.budget import LOOKED
from privcurve.tables.table import read_table
from privcurve.workflow import reading

N = 400
DESCRIPTION = {
    "n_rows": N,
    "files": {"train": {"local": "shop.csv"}},
    "parser": {"kind": "delimited", "header": True},
    "missing": ["", "NA"],
    "unknown": "other",
    "columns": [
        {"name": "seconds", "kind": "numeric", "bounds": [0, 100_000], "missing": "bin"},
        {"name": "day", "kind": "date", "bounds": ["2020-01-01", "2023-12-31"]},
        {"name": "page", "kind": "categorical", "categories": ["home", "shop", "?", "other"]},
    ],
    "label": {"column": "bought", "negative": "no", "positive": "yes"},
}
LEARNERS = {
    "boost": {**BOOST, "grid": None, "fixed": {"n_rounds": 5, "density": 0.5}},
    "rule": {"learner": "one_rule"},
    "free": {"learner": "logistic_regression"},
    "majority": {"learner": "majority_class"},
}
LEARNERS["boost"].pop("grid")
OUTPUTS = ["accuracy", "selected_settings", "raw", "price", "learning_curves", "leaderboard"]


def shop(n=N):
    """Return a table whose label depends on where a value is in the first of ten bins."""
    rng = np.random.default_rng(3)
    seconds = np.round(rng.exponential(500, n), 1)
    pages = rng.choice(["home", "shop", "help", "about"], n)
    buys = (seconds > 400) ^ (pages == "help") ^ (rng.random(n) < 0.1)
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D")
    table = pd.DataFrame({"seconds": seconds.astype(object), "day": days.strftime("%Y-%m-%d")})
    table = table.assign(page=pages, bought=np.where(buys, "yes", "no"))
    table.loc[::17, "seconds"], table.loc[5::23, "page"] = "NA", ""
    return table


def write(table, **changes):
    Path("descriptions").mkdir(exist_ok=True)
    table.to_csv("shop.csv", index=False)
    Path("descriptions/shop.yaml").write_text(yaml.safe_dump({**DESCRIPTION, **changes}))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def as_numbers(table):
    """Return the columns as a user would prepare them for scikit-learn."""
    days = (pd.to_datetime(table["day"]) - pd.Timestamp("1970-01-01")).dt.days
    codes, _ = pd.factorize(table["page"].replace("", None))
    seconds = pd.to_numeric(table["seconds"], errors="coerce")
    return np.column_stack([seconds, days, np.where(codes < 0, np.nan, codes)]).astype(float)


def test_a_learner_that_has_the_name_of_the_model_on_raw_columns_is_refused():
    output_request("raw", learners={"mine": {"learner": "logistic_regression"}})
    with pytest.raises(StudyError, match="the study must have no learner called 'raw'"):
        output_request("raw", learners={"raw": {"learner": "logistic_regression"}})


def test_raw_columns_match_the_file(folder):
    table = shop()
    table.loc[3, "seconds"] = 250_000.5  # beyond the upper bound
    write(table)
    raw = raw_columns(datasets.load("shop"))
    np.testing.assert_array_equal(raw.X, as_numbers(table))
    assert raw.categorical == (False, False, True)
    assert raw.X_test is None
    # Encoded columns: ten bins of seconds, NaN for missing; unlisted pages share a code.
    codes = coded_columns(datasets.load("shop"))
    assert np.isnan(codes.X[::17, 0]).all()
    assert set(codes.X[:, 2]) == {0, 1, 2, 3}
    assert np.nanmax(codes.X[:, 0]) == 9


def test_the_rarest_of_too_many_categories_share_one(folder):
    table = shop()
    table["page"] = [f"p{k // 2 if k < 200 else k}" for k in range(N)]
    write(table)
    (column,) = raw_columns(datasets.load("shop")).X[:, [2]].T
    numbers, counts = np.unique(column, return_counts=True)
    assert len(numbers) == MOST_CATEGORIES
    assert column[::2][:100].tolist() == column[1::2][:100].tolist() == list(range(100))
    # 100 pages that occur twice, 154 that occur once, and one code for all others.
    assert sorted(counts)[-1] == N - 200 - 154
    with threadpool_limits(1):
        HistGradientBoostingClassifier(categorical_features=[0], max_iter=1).fit(
            column[:, None], np.arange(N) % 2
        )


def test_raw_columns_have_the_sampled_records_and_the_test_records(folder):
    table = shop()
    table.iloc[:100].to_csv("test.csv", index=False)
    files = {"train": {"local": "shop.csv"}, "test": {"local": "test.csv"}}
    few = min(table["bought"].iloc[:300].value_counts())
    sampled = {"first": 300, "balance": "random", "seed": 5}
    write(table, n_rows=2 * few, n_test=100, files=files, records=sampled)
    data = datasets.load("shop")
    raw = raw_columns(data)
    seconds = datasets.Domain((data.domain.columns[0],), data.domain.label, missing=("", "NA"))
    for X, codes in ((raw.X, data.X), (raw.X_test, data.X_test)):
        again = encode_frame(seconds, {"seconds": X[:, 0]})
        np.testing.assert_array_equal(again[:, 0], codes[:, 0])
    np.testing.assert_array_equal(raw.X_test, as_numbers(table.iloc[:100]))


def test_files_that_changed_since_they_were_coded_are_refused(folder):
    table = shop()
    write(table)
    data = datasets.load("shop")
    table.loc[1, "seconds"] = 1.5  # the code does not change
    write(table)
    assert datasets.load("shop").checksum == data.checksum
    with pytest.raises(datasets.DatasetError, match="changed after it was encoded"):
        raw_columns(data)


def test_a_learner_may_be_called_raw_where_nothing_else_is():
    free = {"learner": "logistic_regression", "title": "LR"}
    assert titles_of(output_request("accuracy", learners={"raw": free}).study)["raw"] == "LR"


def write_shop_study(folder, table, **changes):
    write(table, public_benchmark=True, **changes.pop("description", {}))
    return write_made_up_study(
        folder,
        **{
            **{"datasets": ["shop"], "folds": None, "repeats": None, "paper": None},
            **{"splits": {"holdout": 0.2, "repeats": 2}, "learners": LEARNERS, "outputs": OUTPUTS},
            **changes,
        },
    )


def make(plan, *words):
    for request in plan.study_outputs("tiny"):
        if request.output.word in words:
            request.output.make(context := plan.context(request))
            record.output_record(context).write(plan.digest(request))
    return {request.output.word: request for request in plan.study_outputs("tiny")}


def direct(X, y, train, scored, seed):
    """Fit scikit-learn directly."""
    model = HistGradientBoostingClassifier(categorical_features=[2], random_state=seed)
    with threadpool_limits(1):
        model.fit(X[train], y[train])
        return model.score(X[scored], y[scored]), model.predict_proba(X[scored])


@pytest.mark.parametrize("shares", [[1], [0.1, 0.5]])
def test_the_raw_score_is_scikit_learns_on_the_same_splits(folder, shares):
    table = shop()
    plan = write_shop_study(folder, table, train_shares=shares)
    outputs = make(plan, "raw")
    result = read_table(outputs["raw"].files.frames[1])
    X, y = as_numbers(table), table["bought"].eq("yes").to_numpy()
    data = datasets.read(CODED / "shop")
    splits = plan.studies["tiny"].fresh_splits(False)
    mine = result[result["method"] == "raw"]
    assert list(zip(mine["fold"], mine["repeat"], strict=True)) == [
        (split.fold, split.repeat) for split in splits
    ]
    for split, row in zip(splits, mine.to_dict("records"), strict=True):
        train, scored = Splitter(data, plan.seed, shares[-1]).rows(split)
        assert len(set(train) & set(scored)) == 0
        assert len(scored) == N // 5
        accuracy, chances = direct(X, y, train, scored, split.repeat)
        assert row["accuracy"] == pytest.approx(accuracy, abs=1e-6)
        assert row["auc"] == pytest.approx(roc_auc_score(y[scored], chances[:, 1]), abs=1e-6)
        assert row["log_loss"] == pytest.approx(log_loss(y[scored], chances), abs=1e-6)
    means = read_table(outputs["raw"].files.frames[0]).set_index("method")
    assert means.loc["raw", "accuracy"] == pytest.approx(mine["accuracy"].mean(), abs=1e-6)
    # Ten equal bins hide the positions on which the label depends.
    assert means.loc["raw", "accuracy"] > means.loc["raw_codes", "accuracy"] + 0.15


def test_test_records_are_scored_if_there_are_any(folder):
    table, tested = shop(), shop(N + 90).iloc[N:]
    tested.to_csv("test.csv", index=False)
    files = {"train": {"local": "shop.csv"}, "test": {"local": "test.csv"}}
    split = {"splits": None, "folds": 2, "repeats": 2}
    plan = write_shop_study(folder, table, description={"files": files, "n_test": 90}, **split)
    result = read_table(make(plan, "raw")["raw"].files.frames[1])
    assert set(result["fold"]) == {"test"}
    X = as_numbers(pd.concat([table, tested], ignore_index=True))
    y = pd.concat([table, tested])["bought"].eq("yes").to_numpy()
    for row in result[result["method"] == "raw"].itertuples():
        accuracy, _ = direct(X, y, np.arange(N), np.arange(N, N + 90), row.repeat)
        assert row.accuracy == pytest.approx(accuracy, abs=1e-6)


@pytest.mark.slow
def test_more_than_two_classes(folder):
    table = shop()
    seconds = pd.to_numeric(table["seconds"], errors="coerce").fillna(0)
    table["bought"] = np.select([seconds > 700, seconds > 200], ["much", "some"], "no")
    classes = {"label": {"column": "bought", "classes": ["no", "some", "much"]}}
    learners = {"gam": {"learner": "noisy_bayes"}, "majority": {"learner": "majority_class"}}
    plan = write_shop_study(folder, table, description=classes, learners=learners)
    outputs = make(plan, "accuracy", "raw", "price")
    result = read_table(outputs["raw"].files.frames[1])
    X, data = as_numbers(table), datasets.read(CODED / "shop")
    mine = result[result["method"] == "raw"].itertuples()
    for split, row in zip(plan.studies["tiny"].fresh_splits(False), mine, strict=True):
        train, scored = Splitter(data, plan.seed).rows(split)
        accuracy, chances = direct(X, data.y, train, scored, split.repeat)
        assert row.accuracy == pytest.approx(accuracy, abs=1e-6)
        assert row.log_loss == pytest.approx(log_loss(data.y[scored], chances), abs=1e-6)
        area = roc_auc_score(data.y[scored], chances, multi_class="ovr")
        assert row.auc == pytest.approx(area, abs=1e-6)
    priced = read_table(outputs["price"].files.frames[0])
    assert set(priced["metric"]) == {"accuracy", "auc", "balanced_accuracy", "log_loss"}
    assert priced["sentence"].str.startswith("raw ").all()


def test_another_file_with_the_same_codes_and_another_description_are_seen(folder):
    table = shop()
    plan = write_shop_study(folder, table)
    outputs = make(plan, "accuracy", "raw", "price")
    assert all(plan.is_current(outputs[word]) for word in ("accuracy", "raw", "price"))
    before = datasets.read(CODED / "shop").checksum
    table.loc[1, "seconds"] = 1.5
    write(table, public_benchmark=True)
    datasets.save(datasets.load("shop"), CODED / "shop")
    assert datasets.read(CODED / "shop").checksum == before
    fresh = [plan.is_current(outputs[word]) for word in ("accuracy", "raw", "price")]
    assert fresh == [True, False, False]
    # Add another marker of missing values.
    from privcurve.outputs.base import _describe_in

    _describe_in.cache_clear()
    write(table, public_benchmark=True, missing=["", "NA", "none"])
    again = reading.read_one(Path("config/studies/tiny.yaml"), 1, 30)
    (mine,) = [one for one in again.study_outputs("tiny") if one.output.word == "raw"]
    assert again.digest(mine) != plan.digest(outputs["raw"])


def made_up_scores(method, epsilon, values, learner=None, calibration=None, kind="not private"):
    runs = pd.DataFrame({"accuracy": values}).assign(
        method=method, epsilon=epsilon, dataset="d", fold=[f"{k}@0.2" for k in (1, 2, 3, 4)]
    )
    runs["repeat"] = range(1, 5)
    mean = {
        "dataset": "d",
        "method": method,
        "learner": learner or method,
        "calibration": calibration,
    }
    spread = {"accuracy": np.mean(values), "accuracy_error": np.std(values, ddof=1)}
    spread |= {"scored_on": "folds", "n_repeats": 4}
    return runs, {**mean, "delta": 0.0, "epsilon": epsilon, "kind": kind, **spread}


def unnamed(title):
    """Return a shipped learner's method, whose title needs no addition."""
    return SimpleNamespace(title=title, relation=None, contract="", label=str)


def prices_of(*models):
    runs, means = zip(*models, strict=True)
    names = {m["method"]: unnamed(m["method"].upper()) for m in means}
    study = SimpleNamespace(datasets=("d",), methods=names)
    frame = pd.DataFrame(means).assign(
        **{name: math.nan for name in ("balanced_accuracy", "auc", "log_loss")}
    )
    result = price.prices(study, frame, pd.concat(runs, ignore_index=True))
    return result.set_index("epsilon")


RAW = made_up_scores("raw", math.inf, [0.93, 0.94, 0.92, 0.93])
FREE = made_up_scores("free", math.inf, [0.919, 0.928, 0.911, 0.918])
MAJORITY = made_up_scores("majority", math.inf, [0.8] * 4, learner="majority_class")


def test_the_sentence_adds_up_and_names_models_and_noise():
    rule = {"calibration": "proved", "kind": "rule"}
    good = made_up_scores("gam", 1.0, [0.90, 0.91, 0.89, 0.90], **rule)
    near = made_up_scores("gam", 2.0, [0.93, 0.90, 0.92, 0.923], **rule)
    not_covered = made_up_scores("best", 1.0, [0.99] * 4, calibration="proved", kind="best setting")
    published = made_up_scores("old", 1.0, [0.99] * 4, calibration="published", kind="rule")
    weak = made_up_scores("weak", 1.0, [0.6, 0.7, 0.5, 0.6], **rule)
    result = prices_of(RAW, FREE, MAJORITY, good, near, not_covered, published, weak)
    # The differences 0.011, 0.012, 0.009, 0.012 have standard deviation 0.0014; times √(1/4 +
    # 0.2/0.8).
    assert result.loc[1, "sentence"] == (
        "raw 0.930; lost by coding 0.011 ± 0.001 (FREE: 0.919); "
        "lost by privacy at ε = 1: 0.019 ± 0.001 (GAM: 0.900)"
    )
    row = result.loc[1]
    gaps = [0.011, 0.012, 0.009, 0.012]
    assert row["coding_error"] == pytest.approx(np.std(gaps, ddof=1) * math.sqrt(0.5))
    assert row["raw"] - row["coding"] - row["privacy"] == pytest.approx(row["private"])
    assert result.loc[2, "sentence"].endswith(
        "lost by privacy at ε = 2: 0.001 ± 0.013, within noise (GAM: 0.918)"
    )


def test_without_a_method_by_rule_only_encoding_is_priced():
    not_covered = made_up_scores(
        "best", 1.0, [0.8, 0.81, 0.8, 0.8], calibration="proved", kind="best setting"
    )
    result = prices_of(RAW, FREE, MAJORITY, not_covered)
    assert result.loc[1, "sentence"] == "raw 0.930; lost by coding 0.011 ± 0.001 (FREE: 0.919)"
    # Codes may give a better model than raw columns.
    better = made_up_scores("free", math.inf, [0.96, 0.96, 0.95, 0.96])
    assert "lost by coding −0.028 ± 0.004" in prices_of(RAW, better, not_covered).loc[1, "sentence"]


def test_the_model_on_raw_columns_is_not_used_as_without_privacy():
    rule = {"calibration": "proved", "kind": "rule"}
    models = (RAW, FREE, MAJORITY, made_up_scores("gam", 1.0, [0.90, 0.91, 0.89, 0.90], **rule))
    frame = pd.DataFrame([means for _, means in models])
    place = ranking(frame, "d", 1, {"raw": "Raw", "free": "F", "gam": "G", "majority": "M"})
    assert "without privacy 0.919" in place.sentence()
    assert any("Raw (no privacy)" in line and "0.930" in line for line in place.lines())


@pytest.mark.slow
def test_terminal_page_and_figure_show_it(folder, monkeypatch):
    table = shop()
    drawn = []
    monkeypatch.setattr(style, "save", lambda figure, frame, stem, notes: drawn.append(figure))
    plan = write_shop_study(folder, table, epsilons=[0.5, math.log(2)])
    describe = leaderboard.description_of
    private = {"public_benchmark": False}
    monkeypatch.setattr(
        leaderboard, "description_of", lambda name: replace(describe(name), **private)
    )
    outputs = make(plan, *OUTPUTS)
    means = read_table(outputs["raw"].files.frames[0]).set_index("method")["accuracy"]
    sentences = price.sentences(outputs["price"], "shop", "accuracy")
    assert list(sentences) == ["0.5", "0.69314718056"]
    assert sentences["0.5"].startswith(f"raw {means['raw']:.3f}; lost by coding 0.")
    assert "; lost by privacy at ε = 0.5: " in sentences["0.5"]

    comparison = SimpleNamespace(
        study=plan.studies["tiny"], outputs=outputs, file="tiny.yaml", page="page.html", wish=None
    )
    result = compare.report(comparison)
    for sentence in sentences.values():
        assert f"\n{sentence[0].upper()}{sentence[1:]}.\n" in result
    assert price.KEY in result
    assert LOOKED in result

    (figure,) = drawn
    (line,) = [one for one in figure.axes[0].get_lines() if one.get_label() == "raw"]
    assert line.get_ydata()[0] == pytest.approx(means["raw"])
    others = [one for one in figure.axes[0].get_lines() if one.get_label() in ("free", "majority")]
    assert line.get_linestyle() == "--"
    dashes = {one._unscaled_dash_pattern[1] for one in (line, *others)}
    assert len(dashes) == 3

    page = html.unescape(outputs["leaderboard"].files.others["page"].read_text("utf-8"))
    for sentence in sentences.values():
        assert f"<p>{sentence[0].upper()}{sentence[1:]}.</p>" in page
    # "without privacy" is the best model on codes, on the page as in the terminal.
    (best,) = re.findall(r"At ε = 0\.693147 .*?without privacy (0\.\d+)", result) or ["none"]
    assert page.count(f"without privacy {best}") == result.count(f"without privacy {best}")
    assert "Raw columns (histogram boosting)" in page
    # A reader who gets the page by mail sees that its numbers are only for the data owner.
    assert leaderboard.OWNERS in page.partition("<h2")[0]
