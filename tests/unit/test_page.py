"""The page of the leaderboard: what is in the file."""

import html
import itertools
import json
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from page_of_a_study import make_page, texts

from privcurve.figures import style
from privcurve.outputs import leaderboard
from privcurve.outputs.answers import REFERENCES
from privcurve.privacy.budget import LOOKED

MOST_BYTES = 1_500_000
# Of text beside its ground, by WCAG's level AA; of what is drawn, against its ground.
TEXT, DRAWN = 4.5, 3.0


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return make_page(tmp_path_factory.mktemp("page"))


def content(page):
    (text,) = re.findall(r'id="data">(.*?)</script>', page.read_text("utf-8"))
    return json.loads(text)


def test_one_file_that_is_not_too_large_and_names_no_other(page):
    assert page.stat().st_size < MOST_BYTES
    text = page.read_text("utf-8")
    outside = text.partition("<script>")[0] + text.rpartition("</script>")[2]
    assert not re.search(r'(src|href)="(?!data:)', outside)
    assert "default-src 'none'" in outside
    assert not re.search(r"/\*(STYLE|DATA|SCRIPT)\*/", text)


def test_without_scripts_there_are_sentences_pictures_and_all_accuracies(page):
    still = re.search(r"<noscript>(.*)</noscript>", page.read_text("utf-8"), re.DOTALL)[1]
    table = texts(page.parents[1] / "tables/tiny/accuracy.csv")
    said = html.unescape(still)
    assert said.count("At ε = 1 take ") == table["dataset"].nunique()
    assert said.count('<img src="data:image/png;base64,') == table["dataset"].nunique()
    for row in table.to_dict("records"):
        at = "no privacy" if row["epsilon"] == "inf" else row["epsilon"]
        score = f"{float(row['accuracy']):.3f} ± {float(row['accuracy_std']):.3f}"
        assert f"<span>{at}: {score}</span>" in said
    # A name is text, not markup.
    assert "A rule &lt;/script&gt; &amp; more" in still


def test_curves_look_as_in_figures_and_are_as_far_apart_in_the_dark(page):
    curves = {one["arm"]: one for one in content(page)["studies"][0]["curves"]}
    colour, marker = style.method_looks(["boost", "rule"])["rule"]
    assert curves["rule~certified"]["colour"] == colour
    assert curves["rule~certified"]["dark"] == style.DARK[colour]
    assert curves["rule~certified"]["symbol"] == leaderboard.SYMBOLS[marker]
    assert curves["boost~certified"]["thin"]
    assert not curves["boost~published"]["filled"]
    assert curves["majority"]["symbol"] == ""
    levels = style.baseline_dashes(["lr", "gb", "majority", *REFERENCES])
    assert len(set(levels.values())) == len(levels)
    ground = COLOUR.findall(dark_part())[0]
    assert min(contrast(one, ground) for one in style.DARK.values()) >= DRAWN
    shortest = [
        min(math.dist(lab(a), lab(b)) for a, b in itertools.combinations(some, 2))
        for some in (style.COLOURS, style.DARK.values())
    ]
    assert shortest[1] > shortest[0] > 20


def test_text_can_be_read_in_the_light_and_in_the_dark():
    sheet = (leaderboard.FOLDER / "page.css").read_text("utf-8")
    for part in (sheet.partition("@media")[0], dark_part()):
        named = dict(re.findall(r"--(\w+): (#\w{6})", part))
        for ground in ("ground", "mark"):
            for text in ("text", "faint", "strong"):
                assert contrast(named[text], named[ground]) >= TEXT, (text, ground)
        assert contrast(named["warn"], named["ground"]) >= DRAWN


COLOUR = re.compile(r"#\w{6}")


def dark_part():
    sheet = (leaderboard.FOLDER / "page.css").read_text("utf-8")
    return sheet.partition("prefers-color-scheme: dark")[2].partition("* {")[0]


def linear(colour):
    """Return red, green and blue as amounts of light."""
    shares = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    return np.array([c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares])


def contrast(*colours):
    low, high = sorted(float(linear(one) @ [0.2126, 0.7152, 0.0722]) + 0.05 for one in colours)
    return high / low


def lab(colour):
    """Return a place in CIELAB, in which distances are about those that people see."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.cbrt(to_xyz @ linear(colour) / [0.9505, 1.0, 1.089])
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def test_the_page_of_private_records_warns_at_its_top(page, tmp_path, monkeypatch):
    """Whoever is mailed it sees there what the terminal said, with or without scripts."""
    describe = leaderboard.about
    monkeypatch.setattr(
        leaderboard,
        "about",
        lambda name: replace(describe(name), public_benchmark=name != "toy-line-fine"),
    )
    top, _, below = make_page(tmp_path).read_text("utf-8").partition("<header>")
    warned = top.partition("<body>")[2]
    assert "This comparison has looked at the records" in warned
    assert "Keep them to those who may see the records" in warned
    assert " ".join(html.unescape(warned).split()).count(" ".join(LOOKED.split())) == 1
    assert 'class="warning"' not in below
    # Of public benchmarks there is nothing to warn of.
    assert "has looked at the records" not in page.read_text("utf-8")


def test_every_number_is_the_text_of_the_table(page):
    table = texts(page.parents[1] / "tables/tiny/accuracy.csv")
    shown = content(page)
    (study,) = shown["studies"]
    rows = [
        {
            "dataset": curve["dataset"],
            "arm": curve["arm"],
            **dict(zip(shown["point"], one, strict=True)),
        }
        for curve in study["curves"]
        for one in curve["points"]
    ]
    mine = pd.DataFrame(rows).astype(str)
    columns = ["dataset", "arm", "epsilon", "accuracy", "accuracy_std", "auc", "log_loss", "error"]
    pd.testing.assert_frame_equal(mine[columns], table[columns])


def test_settings_kinds_and_the_worst_that_the_audit_found(page):
    shown = content(page)
    curves = {curve["arm"]: curve for curve in shown["studies"][0]["curves"]}
    points = {
        arm: dict(zip(shown["point"], curve["points"][0], strict=True))
        for arm, curve in curves.items()
    }
    assert "n_rounds = 9" in points["boost~certified"]["setting"]
    assert points["boost~certified"]["kind"] == "best setting, not private"
    assert points["rule~certified"]["kind"] == "rule"
    assert points["majority"]["kind"] == "not private"
    # Not what was tried beyond its statement.
    assert curves["rule~certified"]["audit"]["found_epsilon"] == "0.900000"
    assert curves["boost~certified"]["audit"] is None


def test_the_ledger_is_that_of_its_table(page):
    table = texts(page.parents[1] / "tables/tiny/ledgers.csv")
    (row,) = table[(table["arm"] == "rule~certified") & (table["dataset"] == "toy-line")].to_dict(
        "records"
    )
    assert row["status"] == "proved"
    assert float(row["epsilon_spent"]) == pytest.approx(1)
    shown = content(page)
    ledgers = {
        one[0]: one[list(shown["point"]).index("ledger")]
        for curve in shown["studies"][0]["curves"]
        if (curve["arm"], curve["dataset"]) == ("rule~certified", "toy-line")
        for one in curve["points"]
    }
    assert set(ledgers) == {"0.5", "1", "2"}
    assert ledgers["1"]
    assert ledgers["1"] in row["ledger"]
    assert ledgers["0.5"] == ledgers["2"] == ""
