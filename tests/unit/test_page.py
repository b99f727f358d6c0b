"""The page of the leaderboard: what is in the file."""

import html
import json
import re
from dataclasses import replace

import pandas as pd
import pytest
from page_of_a_study import make_page, texts

from privcurve.outputs import leaderboard
from privcurve.privacy.budget import LOOKED

MEBIBYTES = 6


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return make_page(tmp_path_factory.mktemp("page"))


def content(page):
    (text,) = re.findall(r'id="data">(.*?)</script>', page.read_text("utf-8"))
    return json.loads(text)


def test_one_file_that_is_not_too_large_and_names_no_other(page):
    assert page.stat().st_size < MEBIBYTES * 2**20
    text = page.read_text("utf-8")
    outside = text.partition("<script>")[0] + text.rpartition("</script>")[2]
    assert not re.search(r'(src|href)="(?!data:)', outside)
    assert "default-src 'none'" in outside
    assert not re.search(r"/\*(STYLE|DATA|PLOTLY|SCRIPT)\*/", text)


def test_the_page_of_private_records_warns_at_its_top(page, tmp_path, monkeypatch):
    """Whoever is mailed it sees there what the terminal said, with or without scripts."""
    known = leaderboard.about
    monkeypatch.setattr(
        leaderboard,
        "about",
        lambda name: replace(known(name), public_benchmark=name != "toy-line-fine"),
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
