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
    *sorted((ROOT / "docs").glob("*.md")),
    *(ROOT / f"{name}.md" for name in ("CHANGELOG", "CONTRIBUTING", "SECURITY")),
)
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
        assert there.exists(), link
        assert not heading or heading in anchors(there), link


def test_the_readme_leads_to_every_page():
    text = README.read_text()
    pages = [str(page.relative_to(ROOT)) for page in PAGES[1:]]
    assert [page for page in pages if f"]({page})" not in text] == []


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
