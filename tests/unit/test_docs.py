"""The pages: their links lead somewhere, and what they name is there."""

import re
import shlex
from pathlib import Path

import pytest

from privcurve.cli.main import _parser
from privcurve.outputs.registry import OUTPUTS

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = (
    README,
    ROOT / "config/README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *(ROOT / f"{name}.md" for name in ("CHANGELOG", "CONTRIBUTING", "SECURITY")),
)
NOTEBOOKS = sorted((ROOT / "docs/tutorials").glob("*.py"))
# Pages of the site alone.
MADE = {
    ROOT / "docs" / page
    for page in re.findall(r'"([a-z/]+\.md)"', (ROOT / "docs/hooks.py").read_text())
}
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def anchors(page):
    """Headings as GitHub links to them."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page):
    links = re.findall(r"\]\(([^)\s]+)\)", FENCED.sub("", page.read_text()))
    for link in links:
        if re.match(r"https?://", link):
            continue
        path, _, heading = link.partition("#")
        there = (page.parent / path).resolve() if path else page
        if there in MADE:
            continue
        assert there.exists(), link
        assert not heading or heading in anchors(there), link


def test_the_site_leads_to_every_page():
    navigation = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    named = re.findall(r": (\S+\.(?:md|py))$", navigation, re.MULTILINE)
    assert len(named) == len(set(named))
    docs = ROOT / "docs"
    pages = {str(path.relative_to(docs)) for path in (*docs.rglob("*.md"), *NOTEBOOKS)}
    assert pages - set(named) == set(), "name it in mkdocs.yml"
    # Others are made by docs/hooks.py.
    assert {docs / page for page in set(named) - pages} == MADE


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_of_notebooks_lead_to_files(notebook):
    for link in re.findall(r"\]\(([^)\s#]+)", notebook.read_text()):
        assert (notebook.parent / link).exists(), link


def test_the_readme_names_every_study_and_output():
    named = set(re.findall(r"`([\w]+)`", README.read_text()))
    # What puts the claims of several studies together goes by the name of its table.
    studies = {path.stem for path in (ROOT / "config/studies").glob("*.yaml")}
    assert studies - named == set()
    assert set(OUTPUTS) - named == set()


# Options of Snakemake in the pages that take one value; --config takes several, and would take a
# target for one.
ONE_VALUE = {"--cores", "--report", "--workflow-profile", "--executor"}


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "workflow/Snakefile", ROOT / ".ci/run"], ids=lambda page: page.name
)
def test_targets_of_snakemake_come_before_its_options(page):
    for command in re.findall(r"snakemake ((?:(?! {2})[^`\n#&|;])+)", page.read_text()):
        words = command.split()
        options = [k for k, word in enumerate(words) if word.startswith("-")]
        for k in range(options[0] + 1 if options else len(words), len(words)):
            is_value = words[k - 1] in ONE_VALUE or "=" in words[k]
            assert words[k].startswith("-") or is_value, command


def test_commands_of_the_pages_are_understood():
    parser = _parser()
    found = [
        line.partition("#")[0]
        for page in PAGES
        for block in FENCED.findall(page.read_text())
        for line in block.splitlines()
        if line.startswith("privcurve ")
    ]
    assert len(found) > 10
    for line in found:
        parser.parse_args(shlex.split(line)[1:])
