"""The workflow as a module of another one: `module` and `use rule`, in a folder of its own."""

import json

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


@pytest.fixture
def importer(tmp_path):
    """A workflow of somebody else, with nothing of ours in its folder but a study."""
    configuration = {"studies": ["tiny"], "studies_folder": "studies", "audit": False}
    configuration |= {"seed": 1, "seconds_per_job": 30}
    (tmp_path / "Snakefile").write_text(
        SNAKEFILE.format(snakefile=json.dumps(str(ROOT / "Snakefile")), configuration=configuration)
    )
    (tmp_path / "studies").mkdir()
    study = {**STUDY, "learners": {"majority": {"learner": "majority_class"}}}
    (tmp_path / "studies/tiny.yaml").write_text(yaml.safe_dump(study))
    return Project(tmp_path)


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
