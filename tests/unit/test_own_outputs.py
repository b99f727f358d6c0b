"""Outputs of a user: one file each in the folder of the run."""

import importlib
import shutil
import sys
from pathlib import Path

import pytest

from privcurve import papers
from privcurve.experiments.study import StudyError, load
from privcurve.outputs import registry
from privcurve.outputs.base import Context, OutputRequest, request_output
from privcurve.own import module

ROOT = Path(__file__).parents[2]
MINE = """
from privcurve.lazy import pd
from privcurve.outputs.base import Output, Reads
from privcurve.tables.table import Table


class Mine(Output):
    \"\"\"Table: one number.\"\"\"

    word = "mine"

    def reads(self, request):
        return Reads()

    def make(self, context):
        context.write(Table(pd.DataFrame({"number": [1]}), "Mine"))
"""


@pytest.fixture
def outputs(tmp_path, monkeypatch):
    """Return a function that writes a file of outputs and returns the registry with them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "outputs").mkdir()

    def read(text, name="mine"):
        (tmp_path / f"outputs/{name}.py").write_text(text)
        module.cache_clear()
        for imported in [one for one in sys.modules if one.startswith("privcurve_own.")]:
            del sys.modules[imported]
        return importlib.reload(registry).OUTPUTS

    yield read
    monkeypatch.undo()
    importlib.reload(registry)


def test_a_file_is_an_output_like_the_others(outputs):
    outputs("what an editor keeps", ".#mine")
    mine = outputs(MINE)["mine"]
    assert mine.report_text is None
    assert {"accuracy", "claims", "raw"} <= set(registry.OUTPUTS)


def test_it_reads_no_dataset_and_no_output_that_it_does_not_name(outputs):
    study = load(ROOT / "config/studies/quickstart.yaml")
    context = Context(OutputRequest(outputs(MINE)["mine"], study, {"name": None}), None, {}, 1)
    with pytest.raises(
        ValueError, match=r"the output mine reads the dataset 'wdbc', which its reads"
    ):
        context.data("wdbc")
    with pytest.raises(ValueError, match=r"Reads\.outputs does not name 'accuracy'"):
        context.table_of("accuracy")


def test_a_mistake_in_its_reads_names_the_study(outputs):
    study = load(ROOT / "config/studies/quickstart.yaml")
    mine = outputs(MINE.replace("Reads()", "Reads(facts=request.options['price'])"))
    with pytest.raises(StudyError, match=r"a file: outputs: mine: reads\(\): KeyError: 'price'"):
        request_output(mine, study, "mine", {}, "a file")


def test_its_version_changes_with_its_file(outputs):
    versions = {outputs(text)["mine"].version for text in (MINE, MINE + "\n", MINE)}
    assert len(versions) == 2


def test_its_version_changes_with_what_it_imports(outputs, tmp_path):
    (tmp_path / "outputs/_words.py").write_text("word = 1\n")
    first = outputs("from ._words import word\n" + MINE)["mine"].version
    (tmp_path / "outputs/_words.py").write_text("word = 2\n")
    assert outputs("from ._words import word\n" + MINE)["mine"].version != first


def test_a_folder_of_a_paper_takes_the_place_of_the_shipped_one(outputs, tmp_path):
    (tmp_path / "papers/thesis").mkdir(parents=True)
    (tmp_path / "papers/thesis/mine.py").write_text(MINE)
    words = set(outputs("", name="_none"))
    assert "mine" in words
    assert "claims" in words
    assert "rademacher" not in words


def test_papers_of_this_project_are_listed():
    there = {path.name for path in (Path(__file__).parents[2] / "papers").glob("[!_]*/")}
    assert there <= set(papers.SHIPPED)


def test_the_version_of_a_users_paper_in_a_checkout_changes_with_its_file(
    outputs, tmp_path, monkeypatch
):
    monkeypatch.setattr(papers, "FOLDER", tmp_path / "papers")
    versions = set()
    for paper, text in (("mine", MINE), ("mine", MINE + "\n"), ("thesis", MINE)):
        shutil.rmtree(tmp_path / "papers", ignore_errors=True)
        (tmp_path / f"papers/{paper}").mkdir(parents=True)
        (tmp_path / f"papers/{paper}/mine.py").write_text(text)
        for package in (f"privcurve_papers_{paper}", f"{papers.__name__}.{paper}"):
            monkeypatch.delitem(sys.modules, f"{package}.mine", raising=False)
            monkeypatch.delitem(sys.modules, package, raising=False)
        versions.add(outputs("", name="_none")["mine"].version)
    assert len(versions) == 3
    assert 1 in versions


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "mine.py must define an output, a subclass of privcurve.outputs.base.Output"),
        ("1 / 0", "mine.py can't be run: ZeroDivisionError"),
        (MINE.replace('"mine"', '"accuracy"'), "an output 'accuracy' exists"),
    ],
)
def test_a_file_without_an_output_is_named(outputs, text, message):
    with pytest.raises(ValueError, match=message):
        outputs(text)
