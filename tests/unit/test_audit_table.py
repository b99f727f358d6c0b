"""The table of docs/research/audit.md, made by ``python -m privcurve.audit contract --table``."""

from pathlib import Path

import pytest

from privcurve.audit.__main__ import insert_table, main, table
from privcurve.audit.contract import check
from privcurve.audit.contract_cases import CASES

DOCS = (Path(__file__).parents[2] / "docs/research/audit.md").read_text("utf-8")
SHOWN = DOCS.partition("<!-- largest changes -->")[2].partition("<!-- end -->")[0].splitlines()
ROWS = [row for row in SHOWN if row.startswith("|")][2:]
LEARNERS = dict.fromkeys(case.learner for case in CASES)


def test_rows_are_of_the_learners_of_the_contract():
    assert {row.split(" | ")[0].strip("| ") for row in ROWS} == LEARNERS.keys()


@pytest.mark.parametrize(
    "learner",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name != "noisy_majority"))
        for name in LEARNERS
    ],
)
def test_settings_keep_the_contract_and_their_rows_match_the_docs(learner):
    checks = [check(case) for case in CASES if case.learner == learner]
    assert [str(one.breach) for one in checks if one.breach] == []
    rows = table(checks).splitlines()[2:]
    assert rows == [row for row in ROWS if row.startswith(f"| {learner} |")]


@pytest.mark.slow
def test_a_row_is_the_worst_setting_of_a_call(tmp_path, capsys):
    path = tmp_path / "table.md"
    path.write_text("before\n<!-- largest changes -->\nold\n<!-- end -->\nafter\n")
    assert main(["contract", "one_rule", "--processes", "1", "--table", str(path)]) == 0
    kept = path.read_text()
    assert kept.startswith("before\n<!-- largest changes -->\n| learner | call |")
    assert kept.endswith("\n<!-- end -->\nafter\n")
    assert kept.count("| one_rule |") == 1
    assert "old" not in kept
    assert insert_table("table\n", "a file without marks") == "table\n"
