"""The leaderboard page: the content of the HTML file."""

import html
import itertools
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from page_of_a_study import csv_texts, make_leaderboard_page

from privcurve.figures import page, pictures, style
from privcurve.outputs import leaderboard
from privcurve.outputs.answers import errors_key, full_sentence, ranking, rankings
from privcurve.outputs.wishes import Wish
from privcurve.privacy.budget import LOOKED
from privcurve.workflow import reading

MOST_BYTES = 150_000
# Least contrast of text (WCAG, level AA) and of drawings with the background.
TEXT, DRAWN = 4.5, 3.0


@pytest.fixture(scope="module")
def page_path(tmp_path_factory):
    return make_leaderboard_page(tmp_path_factory.mktemp("page"))


@pytest.fixture
def outputs(page_path, monkeypatch):
    """Return {word: output} of the page's study, and change to its folder."""
    monkeypatch.chdir(page_path.parents[2])
    plan = reading.read_one(Path("config/studies/tiny.yaml"), 1, 30)
    return {one.output.word: one for one in plan.study_outputs("tiny")}


def words(path):
    """Return the visible text of a page, one line per element."""
    body = path.read_text("utf-8").partition("<body>")[2]
    return html.unescape(re.sub(r"<[^>]*>", "\n", body))


@pytest.mark.parametrize(
    ("scored_on", "expected"),
    [
        ({"test"}, "the noise of training alone where all repeats score one test part. "),
        ({"folds"}, "over the repeats, widened because the parts that score overlap (Nadeau and"),
        (
            {"folds", "test"},
            "repeats score one test part, elsewhere widened because the parts that",
        ),
    ],
)
def test_a_standard_error_is_explained(scored_on, expected):
    assert expected in errors_key("auc", scored_on)


def test_one_small_file_that_names_no_other_and_runs_no_program(page_path):
    assert page_path.stat().st_size < MOST_BYTES
    text = page_path.read_text("utf-8")
    assert "<script" not in text
    assert "onload" not in text
    assert not re.search(r'(src|href)="(?!data:|#)', text)
    assert "default-src 'none'" in text
    # Names are escaped.
    assert "A rule &lt;/script&gt; &amp; more" in text


def test_the_page_has_the_sentences_of_the_terminal(page_path, outputs):
    """The page has the sentences of the terminal at every ε, with models without privacy."""
    result = words(page_path)
    for dataset in outputs["accuracy"].study.datasets:
        for place in rankings(outputs, dataset, [0.5, 1, 2]):
            assert result.count(f"\n{full_sentence(place.sentence())}\n") >= 1


def test_a_wish_is_answered_by_its_metric_whatever_the_study_ranks_by(outputs, monkeypatch):
    metrics = []
    monkeypatch.setattr(
        leaderboard,
        "needed_epsilon",
        lambda places, wish: metrics.extend(place.metric for place in places),
    )
    list(leaderboard._section(outputs, "toy-line", None, Wish.parse("auc >= 0.6")))
    assert outputs["accuracy"].study.metric == "accuracy"
    assert set(metrics) == {"auc"}


@pytest.mark.slow
def test_datasets_of_one_title_have_a_section_each(tmp_path, monkeypatch):
    monkeypatch.setattr(leaderboard, "dataset_title", lambda name: "Patients")
    result = words(make_leaderboard_page(tmp_path))
    assert "Patients (toy-line)" in result
    assert "Patients (toy-line-fine)" in result


def test_every_score_is_in_the_table(page_path):
    table = csv_texts(page_path.parents[1] / "tables/tiny/accuracy.csv")
    result = words(page_path)
    assert set(table["accuracy"]) != {""}
    for row in table.to_dict("records"):
        for name in ("accuracy", "auc", "log_loss"):
            score, error = (float(row[key]) for key in (name, f"{name}_error"))
            assert f"\n{score:.3f} ± {error:.3f}\n" in result


def test_settings_ledgers_and_the_worst_that_the_audit_found(page_path):
    result = words(page_path)
    assert "n_rounds = 9" in result
    (ledger,) = set(csv_texts(page_path.parents[1] / "tables/tiny/ledgers.csv").query(
        "method == 'rule~certified' and dataset == 'toy-line'")["ledger"])  # fmt: skip
    assert ledger.removeprefix("The model is made of ") in result
    # The page omits audit results beyond the statement.
    assert "\n0.900 of 1 (exact): stands\n" in result
    assert "3.000 of 1" not in result


@pytest.mark.slow
def test_the_page_of_private_records_warns_in_one_line_at_its_top(page_path, tmp_path, monkeypatch):
    describe = leaderboard.description_of
    monkeypatch.setattr(
        leaderboard,
        "description_of",
        lambda name: replace(describe(name), public_benchmark=name != "toy-line-fine"),
    )
    text = make_leaderboard_page(tmp_path).read_text("utf-8")
    top, _, below = text.partition("<nav>")
    assert leaderboard.OWNERS in top
    assert len(leaderboard.OWNERS) < 100
    assert " ".join(html.unescape(below).split()).count(" ".join(LOOKED.split())) == 1
    # A page of public benchmarks has no warning.
    assert leaderboard.OWNERS not in page_path.read_text("utf-8")


@pytest.mark.slow
def test_one_epsilon_is_a_ranking_of_dots_and_several_are_curves(page_path, tmp_path):
    assert '<div class="curves"' in page_path.read_text("utf-8")
    alone = make_leaderboard_page(tmp_path, epsilons=[1]).read_text("utf-8")
    assert '<div class="curves"' not in alone
    rows = re.findall(r'<div class="row (\w+)" title="([^"]*), ε = 1: (\S+) ', alone)
    # Two datasets with three measures each; some learners have no colour.
    assert len(rows) == 18
    for some in (rows[:3], rows[9:12]):
        scores = [float(score) for _, _, score in some]
        assert scores == sorted(scores, reverse=True)
        assert {name.partition(" ")[0]: kind for kind, name, _ in some} == {
            "A": "c1",  # its colour in the learning curves
            "LazyBB,": "other",
        }


def test_a_curve_has_a_gap_where_a_training_has_failed():
    row = {"dataset": "d", "method": "a", "learner": "lr", "calibration": "proved", "delta": 0}
    frame = pd.DataFrame([{**row, "epsilon": e, "accuracy": 0.7 + e / 100} for e in (1, 2, 4, 8)])
    drawn = []
    for status in ("ok", "failed"):
        at_two = frame["epsilon"].eq(2) & (status == "failed")
        rows = frame.assign(accuracy=frame["accuracy"].mask(at_two), status="ok")
        rows.loc[at_two, "status"] = status
        places = [ranking(rows, "d", e, {"a": "A"}) for e in (1, 2, 4, 8)]
        drawn.append(leaderboard._picture(places, {"a": 0}))
    lines = [re.findall(r'class="line" d="([^"]*)"', one.html) for one in drawn]
    assert [[path.count("L") for path in paths] for paths in lines] == [[3], [0, 1]]
    assert [leaderboard.GAP in one.caption for one in drawn] == [False, True]
    assert [one.html.count('<i class="dot') for one in drawn] == [4, 3]


def test_names_next_to_curves_are_apart_and_near_their_ends():
    places = [0.0, 0.01, 0.02, 0.5, 0.52, 0.99, 1.0]
    moved = pictures._spread_names(places)
    gaps = [b - a for a, b in itertools.pairwise(moved)]
    assert min(gaps) >= pictures.NAME_HEIGHT - 1e-9
    assert moved[0] >= 0
    assert moved[-1] <= 1
    assert moved[3] == pytest.approx(0.51 - pictures.NAME_HEIGHT / 2)


COLOUR = re.compile(r"#\w{6}")
LIGHT, _, DARK = page.CSS.read_text("utf-8").partition("@media screen")


def test_text_can_be_read_in_the_light_and_in_the_dark():
    for part in (LIGHT, DARK.partition("body {")[0]):
        named = dict(re.findall(r"--(\w+): (#\w{6})", part))
        for ground in ("ground", "soft"):
            for text in ("text", "faint", "strong"):
                assert contrast(named[text], named[ground]) >= TEXT, (text, ground)
        assert contrast(named["mark"], named["ground"]) >= DRAWN


def test_curves_are_as_far_apart_in_the_dark():
    ground = COLOUR.findall(DARK)[0]
    assert min(contrast(one, ground) for one in style.DARK) >= DRAWN
    shortest = [
        min(math.dist(lab(a), lab(b)) for a, b in itertools.combinations(some, 2))
        for some in (style.COLOURS, style.DARK)
    ]
    assert shortest[1] > shortest[0] > 20


def linear(colour):
    """Return the linear RGB values of a colour."""
    shares = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    return np.array([c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares])


def contrast(*colours):
    low, high = sorted(float(linear(one) @ [0.2126, 0.7152, 0.0722]) + 0.05 for one in colours)
    return high / low


def lab(colour):
    """Return the CIELAB coordinates of a colour: their distances are about as perceived."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.cbrt(to_xyz @ linear(colour) / [0.9505, 1.0, 1.089])
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)
