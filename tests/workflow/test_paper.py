"""A paper needs only a learner's file, a study and claims."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

PAPER = Path(__file__).parent / "paper"


def test_a_paper_needs_no_line_of_a_rule(project):
    folder = project.folder
    places = {
        "noisy_label.py": folder / "learners",
        "dummy.yaml": folder / "papers/dummy/studies",
        "dummy_together.yaml": folder / "config/studies",
        "claims.yaml": folder / "papers/dummy",
    }
    for name, place in places.items():
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(PAPER / name, place)
    project.run("papers")
    tables, figures = folder / "results/tables", folder / "results/figures"

    accuracy = pd.read_csv(tables / "dummy/accuracy.csv")
    assert accuracy["method"].nunique() == 3
    assert (accuracy["status"] == "ok").all()
    sweep = pd.read_csv(figures / "dummy_caution.csv")
    assert sorted(zip(sweep["epsilon"], sweep["caution"], strict=True)) == [
        (epsilon, caution) for epsilon in (0.01, 1) for caution in (0.1, 1)
    ]
    claims = pd.read_csv(tables / "dummy/claims.csv").set_index("name")
    assert claims["verdict"].to_dict() == {"C1": "holds", "C2": "fails"}
    audit = pd.read_csv(tables / "dummy/audit.csv")
    assert set(audit["learner"]) == {"noisy_label"}
    # Exact, on tiny neighbours: near the claimed ε, and not above it.
    assert 0.5 < audit["found_epsilon"].max() <= 1
    assert set(audit["verdict"]) == {"stands"}
    for name in ("dummy_caution", "dummy/audit"):
        assert (figures / f"{name}.pdf").exists()
    together = pd.read_csv(tables / "dummy_all_claims.csv").set_index("name")
    assert together["verdict"].to_dict() == claims["verdict"].to_dict()
    assert set(together["study"]) == {"dummy"}

    # Another claim remakes only the tables of claims.
    claimed = folder / "papers/dummy/claims.yaml"
    claimed.write_text(claimed.read_text().replace("within: [1, 0.01]", "at_least: 0"))
    assert "dummy_claims" in (output := project.run("dummy_all_claims"))
    assert "dummy_accuracy" not in output
    claims = pd.read_csv(tables / "dummy/claims.csv").set_index("name")
    assert claims["verdict"].to_dict() == {"C1": "holds", "C2": "holds"}
    together = pd.read_csv(tables / "dummy_all_claims.csv").set_index("name")
    assert together["verdict"].to_dict() == {"C1": "holds", "C2": "holds"}
    assert "Nothing to be done" in project.run("papers")
