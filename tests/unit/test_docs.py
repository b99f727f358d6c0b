"""The pages: their links lead somewhere, and the files and names that they mention exist."""

import io
import re
import shlex
import socket
from pathlib import Path

import pytest

from privcurve.cli.main import _parser, main
from privcurve.workflow.reading import study_files

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = (
    README,
    ROOT / "config/README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted(ROOT.glob("papers/*/README.md")),
    *sorted(ROOT.glob("papers/*/proofs.md")),
    *(ROOT / f"{name}.md" for name in ("CHANGELOG", "CONTRIBUTING", "SECURITY")),
)
NOTEBOOKS = sorted((ROOT / "docs/tutorials").glob("*.ipynb"))
# Pages that only the site has, and pages that it makes from other files.
MADE = {
    ROOT / "docs" / page
    for page in (
        *re.findall(r'"([a-z/]+\.md)"', (ROOT / "docs/hooks.py").read_text()),
        *(f"{page.parent.name}.md" for page in ROOT.glob("papers/*/README.md")),
        *(f"{page.parent.name}_proofs.md" for page in ROOT.glob("papers/*/proofs.md")),
    )
}
# Logs of experiments, which are not on the site.
RESEARCH = ROOT / "docs/research"
# Word limits of pages, 700 by default. Proofs have no limit.
MOST_WORDS = {
    "README.md": 600,
    "config/README.md": 1450,
    "docs/architecture.md": 1300,
    "docs/audit.md": 1350,
    "docs/big_tables.md": 900,
    "docs/capabilities.md": 750,
    "docs/claims.md": 750,
    "docs/clusters.md": 1150,
    "docs/compare.md": 900,
    "docs/datasets.md": 2225,
    "docs/faults.md": 1100,
    "docs/for_your_dpo.md": 900,
    "docs/model_file.md": 1775,
    "docs/own_method.md": 1400,
    "docs/worse_than_majority.md": 800,
    "docs/privacy.md": 2200,
    "docs/privgam.md": 1200,
    "docs/releases.md": 1650,
    "docs/studies.md": 750,
    "docs/your_data.md": 1450,
    "papers/boosted_dp/README.md": 950,
    "papers/distributed/README.md": 1100,
    "papers/partial/README.md": 1050,
    "papers/thesis/README.md": 850,
}
UNLIMITED = ("proofs.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def anchors(page):
    """Return the anchors of headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_lead_to_files_and_headings():
    for page in PAGES:
        for link in re.findall(r"\]\(([^)\s]+)\)", FENCED.sub("", page.read_text())):
            if re.match(r"https?://", link):
                continue
            path, _, heading = link.partition("#")
            there = (page.parent / path).resolve() if path else page
            if there in MADE:
                continue
            assert there.exists(), (page, link)
            assert not heading or heading in anchors(there), (page, link)


def test_pages_that_the_code_names_are_there():
    for path in (ROOT / "src").rglob("*.py"):
        for page in re.findall(r"\b(?:docs|papers)/[a-z_/]+\.md\b", path.read_text()):
            assert (ROOT / page).is_file(), (path, page)


def test_a_page_is_read_to_its_end():
    for page in PAGES:
        name = str(page.relative_to(ROOT))
        if RESEARCH not in page.parents and page.name not in UNLIMITED:
            assert len(page.read_text().split()) <= MOST_WORDS.get(name, 700), name


def test_the_pages_together_are_read_in_a_few_hours():
    """The total excludes proofs, which are for reference."""
    pages = {page for page in (ROOT / "docs").rglob("*.md") if RESEARCH not in page.parents}
    read = (page.read_text() for page in pages if page.name != "proofs.md")
    assert sum(len(text.split()) for text in read) <= 27_000


def test_the_site_leads_to_every_page():
    navigation = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    named = re.findall(r": (\S+\.(?:md|ipynb))$", navigation, re.MULTILINE)
    assert len(named) == len(set(named))
    docs = ROOT / "docs"
    paths = {*docs.rglob("*.md"), *NOTEBOOKS} - {*RESEARCH.rglob("*")}
    pages = {str(path.relative_to(docs)) for path in paths}
    assert pages - set(named) == set(), "name it in mkdocs.yml"
    # docs/hooks.py makes the other pages.
    assert {docs / page for page in set(named) - pages} == MADE


def test_links_of_notebooks_lead_to_files():
    for notebook in NOTEBOOKS:
        for link in re.findall(r"\]\(([^)\s#]+)", notebook.read_text()):
            assert (notebook.parent / link).exists(), (notebook, link)


def test_the_pages_name_every_study():
    pages = (ROOT / "docs/studies.md", *ROOT.glob("papers/*/README.md"))
    named = set(re.findall(r"\w+", " ".join(page.read_text() for page in pages)))
    studies = study_files({}, ROOT).keys()
    # A study that collects the claims of several studies has the name of its table in the pages.
    studies -= {study for study in studies if study.endswith("_claims")}
    assert studies - named == set()


# Options of Snakemake in the pages that take one value; --config would take the target as another
# value.
ONE_VALUE = {"--cores", "--report", "--workflow-profile", "--executor"}


def test_targets_of_snakemake_come_before_its_options():
    texts = [page.read_text() for page in (*PAGES, ROOT / "workflow/Snakefile", ROOT / ".ci/run")]
    for command in re.findall(r"snakemake ((?:(?! {2})[^`\n#&|;])+)", "\n".join(texts)):
        words = command.split()
        options = [k for k, word in enumerate(words) if word.startswith("-")]
        for k in range(options[0] + 1 if options else len(words), len(words)):
            is_value = words[k - 1] in ONE_VALUE or "=" in words[k]
            assert words[k].startswith("-") or is_value, command


def page_commands():
    """Return the commands `privcurve …` of all pages except the README, without comments."""
    return [
        line.partition("#")[0].strip()
        for page in PAGES
        for block in FENCED.findall(page.read_text())
        for line in block.splitlines()
        if line.startswith("privcurve ")
    ]


def test_commands_of_the_pages_are_understood():
    parser = _parser()
    commands = page_commands()
    assert len(commands) > 10
    for line in commands:
        parser.parse_args(shlex.split(line)[1:])


@pytest.fixture
def without_network(monkeypatch):
    """Let every connection of a socket fail."""

    def refuse(self, address):
        raise AssertionError(f"something connects to {address}")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def write_patients(folder):
    """Write the tables that the pages mention."""
    rows = [
        f"{30 + k % 50},{'yes' if k % 3 else 'no'},{'yes' if k % 50 > 25 else 'no'}"
        for k in range(200)
    ]
    (folder / "patients.csv").write_text("\n".join(["age,smokes,sick", *rows, ""]))
    (folder / "new.csv").write_text("patient_id,age,smokes\na,41,no\nb,67,yes\n")


@pytest.mark.slow
@pytest.mark.usefixtures("without_network")
def test_commands_of_the_pages_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRIVCURVE_SEEDS", str(tmp_path / "seeds"))
    monkeypatch.setattr("sys.stdin", io.StringIO())
    write_patients(tmp_path)
    commands = dict.fromkeys(page_commands())
    # The first of them writes the description, once; Dask's scheduler is on another machine; a
    # comparison at more ε is like a comparison at one; test_arena.py adds a method to the arena.
    first = next(line for line in commands if line.startswith("privcurve describe"))
    left_out = {"describe", "--scheduler", "0.5", "arena"}
    others = [line for line in commands if not left_out & set(line.split())]
    for line in [first, *others]:
        assert main(shlex.split(line)[1:]) == 0, (line, capsys.readouterr().err)


# The README ---------------------------------------------------------------------------


def blocks(language):
    """Return the README's code blocks in a language, each with the plain-text block after it."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE)
    pairs = zip(fenced, [*fenced[1:], ("", "")], strict=True)
    return [
        (code, after if kind == "" else "")
        for (word, code), (kind, after) in pairs
        if word == language
    ]


def test_python_of_the_readme_prints_the_block_below_it(capsys):
    (block,) = blocks("python")
    code, printed = block
    exec(code, {})
    assert capsys.readouterr().out == printed


@pytest.mark.usefixtures("without_network")
def test_commands_of_the_readme_print_the_block_below_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRIVCURVE_SEEDS", str(tmp_path / "seeds"))
    write_patients(tmp_path)
    ((console, _),) = blocks("console")
    steps = re.findall(r"^\$ privcurve (.*)\n((?:(?!\$).*\n)*)", console, re.MULTILINE)
    assert len(steps) == console.count("$ ")
    for command, expected in steps:
        assert main(shlex.split(command)) == 0
        output = capsys.readouterr().out.splitlines()
        assert set(expected.splitlines()) <= set(output), command
    assert (tmp_path / "answers.csv").read_text().splitlines()[0] == "predicted_sick"


def test_make_has_the_targets_that_the_readme_names():
    named = set(re.findall(r"\bmake (\w+)", README.read_text()))
    assert {"quickstart", "test", "site"} <= named
    makefile = (ROOT / "Makefile").read_text()
    assert all(f"\n{target}:" in makefile for target in named - {"s"})
