"""The workflow as a module of another one: `module` and `use rule`, in a folder of its own."""

import json
import shutil

import pytest
import yaml
from checkout import ROOT, STUDY, Project

pytestmark = pytest.mark.workflow

SNAKEFILE = """
rule all:
    input: "count.txt"

module privcurve:
    snakefile: {snakefile}
    config: {configuration}

use rule * from privcurve as privcurve_*

rule count:
    input: "results/tables/tiny/accuracy.csv"
    output: "count.txt"
    shell: "wc -l < {{input}} > {{output}}"
"""


# As `snakedeploy deploy-workflow` writes it, beside a copy of our folder `config`.
DEPLOYED = """
configfile: "config/config.yaml"

module privcurve:
    snakefile: {snakefile}
    config: config

use rule * from privcurve
"""


@pytest.fixture
def importer(tmp_path, request):
    """A workflow of somebody else, with nothing of ours in its folder but a study."""
    configuration = {"studies": ["tiny"], "studies_folder": "studies", "audit": False}
    configuration |= {"seed": 1, "seconds_per_job": 30}
    snakefile = json.dumps(str(ROOT / getattr(request, "param", "Snakefile")))
    text = SNAKEFILE.format(snakefile=snakefile, configuration=configuration)
    (tmp_path / "Snakefile").write_text(text)
    (tmp_path / "studies").mkdir()
    study = {**STUDY, "learners": {"majority": {"learner": "majority_class"}}}
    (tmp_path / "studies/tiny.yaml").write_text(yaml.safe_dump(study))
    return Project(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("importer", ["Snakefile", "workflow/Snakefile"], indirect=True)
def test_another_workflow_uses_ours_as_a_module(importer):
    importer.run()
    n_lines = len((importer.folder / "results/tables/tiny/accuracy.csv").read_text().splitlines())
    assert (importer.folder / "count.txt").read_text().strip() == str(n_lines)
    # Targets of the importer, and ours under their names there.
    assert "Nothing to be done" in importer.run("count")
    assert "privcurve_tiny_learning_curves" in importer.run("--dry-run", "privcurve_tiny")


def test_a_study_of_a_module_that_can_not_be_read_is_refused(importer):
    (importer.folder / "studies/tiny.yaml").write_text("title: [")
    assert "tiny.yaml is not valid YAML" in importer.run("privcurve_tiny", ok=False)


@pytest.fixture
def deployed(tmp_path):
    """A folder with nothing but what snakedeploy puts there."""
    (tmp_path / "workflow").mkdir()
    snakefile = json.dumps(str(ROOT / "workflow/Snakefile"))
    (tmp_path / "workflow/Snakefile").write_text(DEPLOYED.format(snakefile=snakefile))
    shutil.copytree(ROOT / "config", tmp_path / "config")
    return Project(tmp_path)


def test_a_workflow_that_snakedeploy_has_put_there_plans_a_study(deployed):
    said = deployed.run("--dry-run", "smoke")
    for rule in ("prepare", "train", "smoke_accuracy"):
        assert rule in said
    # Its own studies count, where its configuration says so.
    path = deployed.folder / "config/config.yaml"
    path.write_text(path.read_text() + "\nstudies_folder: config/studies\n")
    (deployed.folder / "config/studies/smoke.yaml").write_text("title: [")
    assert "smoke.yaml is not valid YAML" in deployed.run("--dry-run", "smoke", ok=False)


@pytest.mark.slow
def test_a_workflow_that_snakedeploy_has_put_there_runs_a_study(deployed):
    deployed.run("quickstart")
    assert (deployed.folder / "results/figures/quickstart.png").exists()


def test_the_catalogue_can_show_the_workflow():
    """It asks for these three; the keys are those that it knows."""
    assert (ROOT / "workflow/Snakefile").exists()
    assert (ROOT / "config/README.md").exists()
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert set(usage) == {"mandatory-flags", "software-stack-deployment", "report"}
    assert set(usage["mandatory-flags"]) == {"desc", "flags"}
    assert set(usage["software-stack-deployment"]) == {"conda", "apptainer", "apptainer+conda"}
