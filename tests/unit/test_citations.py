"""Citations of proofs lead to existing sections: "docs/proofs.md, 'Counts' and 'Choices'"."""

import ast
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "workflow", "papers", "docs", "config", "tests", "benchmarks", "examples")
PAGE = re.compile(r"\b(?:docs|papers/\w+)/proofs\.md\b")
# Sections after a page: a comma or colon, then headings in quotes.
CITED = re.compile(rf"({PAGE.pattern})[,:] ('[^']+'(?:(?:,| and|, and) '[^']+')*)")
# A numbered result: "**Lemma T5 (EM).** …".
RESULT = re.compile(
    r"\*\*(?:Convention|Definition|Lemma|Theorem|Corollary) ([A-Z]\d+′?)(?: \(|\.|\*)"
)
# Sections of the review on which the proofs are based; it is not a file of this repository.
REVIEW = re.compile(r"PRIVACY\.md|§(?:0|[a-g][0-9]?)(?![\w.])")


def texts(path):
    """Return the strings (adjacent ones joined) and comment blocks of a file, each in one line."""
    content = path.read_text("utf-8")
    if path.suffix != ".py":
        return [content]
    strings = [
        node.value
        for node in ast.walk(ast.parse(content))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    with path.open("rb") as file:
        comments = [
            (token.start[0], token.string.lstrip("# "))
            for token in tokenize.tokenize(file.readline)
            if token.type == tokenize.COMMENT
        ]
    blocks, last = [], None
    for line, comment in comments:
        if last == line - 1:
            blocks[-1] += " " + comment
        else:
            blocks.append(comment)
        last = line
    return [" ".join(text.split()) for text in strings + blocks]


def files(*suffixes):
    """Return the files of the repository that people write, by their endings."""
    inside = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    for path in [*inside, *ROOT.glob("*.md"), ROOT / "Makefile"]:
        if path.suffix in suffixes and path.is_file() and path != Path(__file__):
            yield path


def headings(page):
    return set(re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE))


def faults(text):
    """Return the wrong citations of a text, as messages."""
    cited = {match.start(): match for match in CITED.finditer(text)}
    for page in PAGE.finditer(text):
        match = cited.get(page.start())
        path = ROOT / page[0]
        # A user may delete a paper's folder together with its page.
        if path.parent.is_dir() and not path.is_file():
            yield f"{page[0]} is not there"
        elif match is None:
            yield f"{page[0]} without a section: {text[page.start() :][:80]!r}"
        elif path.is_file():
            for section in re.findall(r"'([^']+)'", match[2]):
                if section not in headings(path):
                    yield f"{page[0]} has no section {section!r}"


def test_each_citation_names_a_section_that_exists():
    """Pages link to sections by anchors, which `test_docs.py` follows."""
    n_cited = 0
    for path in files(".py"):
        if "proofs.md" not in path.read_text("utf-8"):
            continue
        for text in texts(path):
            n_cited += len(PAGE.findall(text))
            assert not list(faults(text)), path.relative_to(ROOT)
    assert n_cited > 80


def test_names_of_code_in_pages_of_privacy_exist():
    code = "\n".join(path.stem + path.read_text("utf-8") for path in files(".py"))
    pages = [ROOT / f"docs/{name}.md" for name in ("proofs", "privacy", "audit")]
    for page in [*pages, *ROOT.glob("papers/*/proofs.md")]:
        names = set(re.findall(r"`(?:\w+\.)*(\w+_\w+)(?:\.py)?`", page.read_text("utf-8")))
        assert {name for name in names if name not in code} == set(), page


@pytest.mark.parametrize(
    "page",
    [ROOT / "docs/proofs.md", *sorted(ROOT.glob("papers/*/proofs.md"))],
    ids=lambda page: page.parent.name,
)
def test_numbers_of_lemmas_are_consecutive_and_references_lead_to_one(page):
    text = page.read_text("utf-8")
    numbers = re.findall(RESULT, text)
    for letter in {number[0] for number in numbers}:
        mine = [number for number in numbers if number[0] == letter and number[-1] != "′"]
        assert mine == [f"{letter}{k}" for k in range(1, len(mine) + 1)]
    assert numbers
    letters = "".join({number[0] for number in numbers})
    assert {*re.findall(rf"\b[{letters}]\d+\b", text)} <= {*numbers}


def test_citations_name_only_files_of_the_repository():
    for path in files(".py", ".md", ".yaml", ".smk", ".rst", ".json", ".toml", ""):
        text = path.read_text("utf-8")
        assert not REVIEW.search(text), path.relative_to(ROOT)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("docs/proofs.md, 'Counts'", None),
        ("docs/proofs.md, 'Counts', 'Choices' and 'PrivGAM', 3", None),
        ("docs/proofs.md", "without a section"),
        ("docs/proofs.md, Counts", "without a section"),
        ("docs/proofs.md, 'Counts' and 'Guesses'", "no section 'Guesses'"),
        ("papers/thesis/proofs.md, 'Counts'", "no section 'Counts'"),
        ("papers/all/proofs.md, 'Counts'", "is not there"),
    ],
)
def test_a_wrong_citation_is_seen(text, fault):
    result = list(faults(text))
    assert result == [] if fault is None else fault in result[0]
