"""Private records need a secret seed, and no written file contains it."""

import pytest
from checkout import TABLES, write_one_column_dataset

pytestmark = [pytest.mark.workflow, pytest.mark.slow]


@pytest.fixture
def private(project):
    """Return a checkout whose study has private records, and the folder of its seeds."""
    write_one_column_dataset(project, "patients", ["red", "blue"], public=False)
    project.write_study(datasets=["patients"])
    return project, {"PRIVCURVE_SEEDS": str(project.folder / "seeds")}


def test_a_secret_seed_is_made_named_and_never_written(private):
    project, seeds = private
    output = project.run(TABLES, "--config", "seed=secret", **seeds)
    path = project.folder / "seeds/workflow.seed"
    assert str(path) in output
    assert path.stat().st_mode & 0o777 == 0o600
    secret = path.read_text().strip()
    forms = [secret.encode(), str(int(secret, 16)).encode(), bytes.fromhex(secret)]
    path.unlink()
    written = [one.read_bytes() for one in project.folder.rglob("*") if one.is_file()]
    assert len(written) > 20
    assert not [form for form in forms if any(form in one for one in written)]
    assert not [form for form in forms[:2] if form.decode() in output]
    before = project.outputs()

    # The same secret gives the same runs; another secret gives others.
    path.write_text(secret)
    path.chmod(0o600)
    project.run(TABLES, "--config", "seed=secret", "--force", **seeds)
    assert project.outputs() == before
    stored = project.stored_lines()
    path.unlink()
    project.run(TABLES, "--config", "seed=secret", **seeds)
    assert len(project.stored_lines()) == 2 * len(stored)


def test_a_step_by_hand_refuses_too(private):
    project, seeds = private
    project.run("results/data/patients/encoded.npz", "--config", "seed=secret", **seeds)
    words = ("--study", "tiny", "--dataset", "patients", "--part", "x", "--config", "seed=1")
    output = project.run_job("train", *words)
    assert "must be secret for the private records" in output
