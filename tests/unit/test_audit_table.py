"""The table of docs/research/audit.md, made by ``python -m privcurve.audit contract --table``."""

from pathlib import Path

import pytest

from privcurve.audit.__main__ import insert_table, main, table
from privcurve.audit.contract import check
from privcurve.audit.contract_cases import CASES

DOCS = (Path(__file__).parents[2] / "docs/research/audit.md").read_text("utf-8")


def rows(learners):
    text = table(check(case) for case in CASES if case.learner in learners)
    return text.splitlines()[2:]


def test_the_table_of_the_docs_is_what_the_contract_sees():
    shown = DOCS.partition("<!-- largest changes -->")[2].partition("<!-- end -->")[0]
    some = ("noisy_majority",)
    of_some = [row for row in shown.splitlines() if row.startswith(tuple(f"| {n} |" for n in some))]
    assert of_some == rows(some)


@pytest.mark.slow
def test_all_rows_of_it():
    assert insert_table(table(map(check, CASES)), DOCS) == DOCS


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
