"""The workflow as a module of another workflow: `module` and `use rule`, in another folder."""

import json
import re
import shutil
import subprocess
from types import SimpleNamespace

import pytest
import yaml
from checkout import ROOT, TINY_STUDY, Project

from privcurve.workflow import snakemake

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


# The file that `snakedeploy deploy-workflow` writes, next to a copy of our folder `config`.
DEPLOYED = """
configfile: "config/config.yaml"

module privcurve:
    snakefile: {snakefile}
    config: config

use rule * from privcurve
"""


@pytest.fixture
def importer(tmp_path):
    """Return a user's workflow, whose folder has nothing of this project except a study."""
    configuration = {"studies": ["tiny"], "studies_folder": "studies", "audit": False}
    configuration |= {"seed": 1, "seconds_per_job": 30}
    snakefile = json.dumps(str(ROOT / "workflow/Snakefile"))
    text = SNAKEFILE.format(snakefile=snakefile, configuration=configuration)
    (tmp_path / "Snakefile").write_text(text)
    (tmp_path / "studies").mkdir()
    study = {**TINY_STUDY, "learners": {"majority": {"learner": "majority_class"}}}
    (tmp_path / "studies/tiny.yaml").write_text(yaml.safe_dump(study))
    return Project(tmp_path)


@pytest.mark.slow
def test_another_workflow_uses_ours_as_a_module(importer):
    importer.run()
    n_lines = len((importer.folder / "results/tables/tiny/accuracy.csv").read_text().splitlines())
    assert (importer.folder / "count.txt").read_text().strip() == str(n_lines)
    # Targets of the importing workflow, and ours with their prefix.
    assert "Nothing to be done" in importer.run("count")
    assert "Make tiny_learning_curves" in importer.run("--dry-run", "privcurve_tiny")


def test_a_module_takes_from_a_command_line_what_changes_no_result():
    given = {"seconds_per_job": 1200, "local_jobs": [], "seed": 2, "audit": False, "theirs": 1}
    configuration = {"studies": ["tiny"], "seed": 1, "audit": False, "seconds_per_job": 30}
    imported = SimpleNamespace(config_settings=SimpleNamespace(overwrite_config=given))
    (note,) = snakemake.add_overrides(configuration, imported)
    assert note.startswith("seed: privcurve takes 1, of config: in the module statement, and not 2")
    changed = {"seconds_per_job": 1200, "local_jobs": []}
    assert configuration == {"studies": ["tiny"], "seed": 1, "audit": False, **changed}


LOCAL = """
with open("local.json", "w") as file:
    json.dump([rule.name for rule in workflow.rules if rule.name in workflow._localrules], file)
"""


@pytest.mark.slow
def test_keys_of_a_profile_have_an_effect_in_a_module(importer):
    path = importer.folder / "Snakefile"
    path.write_text(f"import json\n{path.read_text()}{LOCAL}")
    local = ["privcurve_prepare", "privcurve_datasets_ready"]
    lines = (ROOT / "profiles/slurm/overrides.yaml").read_text()
    (importer.folder / "profile").mkdir()
    (importer.folder / "profile/config.yaml").write_text("configfile: overrides.yaml\n")
    jobs = []
    for overrides in (lines, "seconds_per_job: 0.001\nlocal_jobs: []\nseed: 2\n"):
        (importer.folder / "profile/overrides.yaml").write_text(overrides)
        output = importer.run("--dry-run", "--workflow-profile", "profile", "privcurve_tiny")
        jobs.append(int(re.search(r"^privcurve_train +([0-9]+)$", output, re.MULTILINE)[1]))
        names = json.loads((importer.folder / "local.json").read_text())
        assert [name in names for name in local] == [overrides == lines] * 2
        assert ("seed: privcurve takes 1" in output) == (overrides != lines)
    assert jobs[0] < jobs[1]


@pytest.mark.slow
def test_a_study_of_a_module_that_can_not_be_read_is_refused(importer):
    (importer.folder / "studies/tiny.yaml").write_text("title: [")
    assert "tiny.yaml is not valid YAML" in importer.run("privcurve_tiny", ok=False)
    # An old table of this study is not mistaken for a raw file.
    old = importer.folder / "results/tables/tiny/accuracy.csv"
    old.parent.mkdir(parents=True)
    old.write_text("dataset\n")
    output = importer.run("--dry-run", "count", ok=False)
    assert "rule privcurve_refused" in output
    assert "tiny.yaml is not valid YAML" in output.partition("InputFunctionException")[2]


def deploy(folder, snakefile):
    """Write the files that snakedeploy writes into a folder."""
    (folder / "workflow").mkdir(parents=True)
    (folder / "workflow/Snakefile").write_text(DEPLOYED.format(snakefile=snakefile))
    shutil.copytree(ROOT / "config", folder / "config")
    return Project(folder)


@pytest.mark.slow
def test_a_workflow_that_snakedeploy_has_put_there_has_its_own_studies(tmp_path):
    deployed = deploy(tmp_path, json.dumps(str(ROOT / "workflow/Snakefile")))
    path = deployed.folder / "config/config.yaml"
    own = {"studies": ["smoke"], "studies_folder": "config/studies"}
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **own}))
    (deployed.folder / "config/studies/smoke.yaml").write_text("title: [")
    assert "smoke.yaml is not valid YAML" in deployed.run("--dry-run", "smoke", ok=False)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_workflow_that_snakedeploy_has_put_there_knows_the_studies_of_a_release(tmp_path):
    """With `github()`, as snakedeploy writes it; git maps the host to a folder."""
    release = tmp_path / "hosted/us/privcurve"
    shutil.copytree(ROOT / "workflow", release / "workflow")
    git = ["git", "-C", release, "-c", "user.name=us", "-c", "user.email=us@example.org"]
    for words in ("init --quiet", "add .", "commit --quiet --message=v1", "tag v1"):
        subprocess.run([*git, *words.split()], check=True)
    hosted = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{tmp_path}/hosted/.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    deployed = deploy(
        tmp_path / "mine", 'github("us/privcurve", path="workflow/Snakefile", tag="v1")'
    )
    deployed.run("results/data/ready/quickstart.txt", **hosted)
    assert (deployed.folder / "results/data/toy-line/domain.json").exists()
    planned = deployed.run("--dry-run", "results/tables/quickstart/accuracy.csv", **hosted)
    assert "Make quickstart_accuracy" in planned


def test_the_catalogue_can_show_the_workflow():
    """The catalogue requires these three files, and knows these keys."""
    assert (ROOT / "workflow/Snakefile").exists()
    assert (ROOT / "config/README.md").exists()
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert set(usage) == {"mandatory-flags", "software-stack-deployment", "report"}
    assert set(usage["mandatory-flags"]) == {"desc", "flags"}
    assert set(usage["software-stack-deployment"]) == {"conda", "apptainer", "apptainer+conda"}
