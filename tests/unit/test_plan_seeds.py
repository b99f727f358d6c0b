"""The seed of a run: secret where records are private, and written only by the plan."""

from pathlib import Path

import pytest
from small_study import SMALL_STUDY, plan_with_studies

from privcurve.experiments.study import StudyError
from privcurve.privacy.seeds import SeedError
from privcurve.workflow import reading


@pytest.mark.slow
def test_a_node_of_a_cluster_makes_no_secret_seed(tmp_path, monkeypatch):
    monkeypatch.setenv("PRIVCURVE_SEEDS", str(tmp_path / "seeds"))
    configuration = {
        **plan_with_studies(tmp_path, ["s"], s=SMALL_STUDY).configuration,
        "seed": "secret",
    }
    with pytest.raises(SeedError, match="can't be read"):
        reading.read(configuration, tmp_path, decides=False)
    assert not (tmp_path / "seeds").exists()
    made = reading.read(configuration, tmp_path)
    assert made.seed == reading.read(configuration, tmp_path, decides=False).seed
    (note,) = made.notes(["s"])
    assert note.startswith(f"seed: the secret seed in {tmp_path / 'seeds/workflow.seed'}")
    assert made.seed.key.hex() not in note


def test_only_requested_private_records_are_refused_a_public_seed(write_dataset):
    write_dataset()
    plan = plan_with_studies(
        Path.cwd(), ("good",), good=SMALL_STUDY, mine={**SMALL_STUDY, "datasets": ["mine"]}
    )
    with pytest.raises(StudyError, match=r"mine\.yaml: the seed must be secret .* 'mine'"):
        plan.refuse("mine")
    # Another study is not stopped, and has a note about it.
    plan.refuse("good")
    assert any("private records of 'mine'" in note for note in plan.notes(["good"]))
    assert list(plan.studies) == ["good"]
