"""Seeds of a run: who makes a secret, and what is refused a public one."""

import shutil
from pathlib import Path

import pytest
import yaml
from small_study import ROOT, SMALL, read

from privcurve.experiments.study import StudyError
from privcurve.privacy.seeds import SeedError
from privcurve.workflow import reading


@pytest.mark.slow
def test_a_node_of_a_cluster_makes_no_secret_seed(tmp_path, monkeypatch):
    monkeypatch.setenv("PRIVCURVE_SEEDS", str(tmp_path / "seeds"))
    shutil.copytree(ROOT / "workflow/schemas", tmp_path / "workflow/schemas")
    (tmp_path / "config/studies").mkdir(parents=True)
    (tmp_path / "config/studies/s.yaml").write_text(yaml.safe_dump(SMALL))
    configuration = {"studies": ["s"], "audit": False, "seed": "secret", "seconds_per_job": 30}
    with pytest.raises(SeedError, match="can't be read"):
        reading.read(configuration, tmp_path, decides=False)
    assert not (tmp_path / "seeds").exists()
    made = reading.read(configuration, tmp_path)
    assert made.seed == reading.read(configuration, tmp_path, decides=False).seed
    (note,) = made.notes(["s"])
    assert note.startswith(f"seed: the secret seed in {tmp_path / 'seeds/workflow.seed'}")
    assert made.seed.key.hex() not in note


def test_private_records_are_refused_a_public_seed_when_they_are_asked_for(own):
    own()
    plan = read(Path.cwd(), ("good",), good=SMALL, mine={**SMALL, "datasets": ["mine"]})
    with pytest.raises(StudyError, match=r"studies/mine\.yaml: the records of 'mine' are private"):
        plan.refuse("mine")
    # Another study is not stopped by it, and is told of it.
    plan.refuse("good")
    assert any("'mine' are private" in note for note in plan.notes(["good"]))
    assert list(plan.studies) == ["good"]
