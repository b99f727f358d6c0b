"""Each sentence that promises privacy names the tests that show it: `promises.yaml`.

The list names tests for each sentence that has a word of promise (`PROMISE`), or says why the
sentence promises nothing. It may have more sentences than these words find.
"""

import ast
import math
import re
from functools import cache
from pathlib import Path

import pytest
import yaml

from privcurve.privacy.budget import (
    group_guarantee,
    most_right_guesses,
    replace_one_guarantee,
    round_up,
)
from privcurve.privacy.ledger import PrivacyStatement

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("promises.yaml")

# Pages about privacy; two modules contain the texts of statements and cards.
DOCS = (
    *("index", "privacy", "audit", "own_method", "your_data", "releases", "privgam", "tuning"),
    *("probabilities", "model_file", "compare", "peers", "competitors", "datasets", "big_tables"),
    "for_your_dpo",
)
PAGES = (
    "README.md",
    *(f"docs/{name}.md" for name in DOCS),
    "papers/distributed/README.md",
    "papers/partial/README.md",
    "src/privcurve/privacy/ledger.py",
    "src/privcurve/releases/card.py",
)
# Other pages and their subjects; tests/privacy/ tests the constants of the proofs.
OTHERS = {
    "docs/arena.md": "accuracies",
    "docs/architecture.md": "rooms of the code, which test_architecture.py holds",
    "docs/capabilities.md": "commands, each with a link to the page that promises",
    "docs/claims.md": "verdicts on papers",
    "docs/clusters.md": "jobs",
    "docs/faults.md": "results that survive a fault",
    "docs/glossary.md": "definitions, with links to the pages that promise",
    "docs/manifest.md": "what a run was made with",
    "docs/studies.md": "what studies show",
    "docs/worse_than_majority.md": "accuracies",
    "papers/boosted_dp/README.md": "a paper's results",
    "papers/thesis/README.md": "a paper's results",
}

# A promise says that something does not happen (first line), to nobody or nothing else (second),
# up to a bound (third), that something stops it (fourth), or uses a word for a guarantee (fifth).
# "All", "each" and "not" are left out: they find mostly sentences about other things.
PROMISE = re.compile(
    r"""\b(?:
    never | nothing | cannot | can't | may\ not | must\ not | impossible | neither
    | nobody | no\ one | no\ other | only | alone | always | whatever
    | at\ most | no\ more | no\ event | no\ (?:sealed|seed|count|noise|model|setting)
    | refuse[sd]? | ends?\ (?:it|the\ fit|with\ an\ error) | stops | prevents? | ensures?
    | guarantee[sd]? | protect(?:s|ed|ion)? | prove[sdn]? | proofs? | sealed | final | secret
    | covers? | (?<!at\ )once | twice | costs?\ nothing
    )\b""",
    re.VERBOSE | re.IGNORECASE,
)

FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
ITEM = re.compile(r"(?:[-*]|\d+\.|>) ")
# A sentence ends with a point, and a space and the start of a sentence follow.
END = re.compile(r"(?<=[.!?])[\"”)*_]*\s+(?=[\"“(*\[]*[A-ZερδΔ{`])")
# Shorter cells of tables and shorter texts of a module are names and titles.
LEAST_WORDS = 4


def paragraphs(text):
    """Return the paragraphs, items and cells of a page, without headings and code."""
    blocks = [""]
    for line in FENCED.sub("\n", text).splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            blocks.append("")
        elif line.startswith("|"):
            cells = line.strip("|").split("|")
            blocks += [cell for cell in cells if len(cell.split()) >= LEAST_WORDS]
            blocks.append("")
        elif ITEM.match(line):
            blocks.append(ITEM.sub("", line, count=1))
        else:
            blocks[-1] += f" {line}"
    return blocks


def strings(text):
    """Return the texts of a module, with {} for inserted values, without docstrings."""
    tree = ast.parse(text)
    left_out = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            left_out.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            left_out |= {id(part) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (getattr(part, "value", "") for part in node.values)
            yield "".join(part if isinstance(part, str) else "{}" for part in parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) in left_out or len(node.value.split()) < LEAST_WORDS:
                continue
            yield node.value


@cache
def sentences(path):
    """Return the sentences of a page or of the texts of a module, each in one line."""
    texts = strings if path.suffix == ".py" else paragraphs
    blocks = [" ".join(block.split()) for block in texts(path.read_text("utf-8"))]
    return [sentence for block in blocks for sentence in END.split(block) if sentence]


@cache
def listed():
    return yaml.safe_load(LIST.read_text("utf-8"))


def without_tests(page):
    return [one for group in listed()[page]["no promise"].values() for one in group]


def test_the_list_has_these_pages():
    assert tuple(listed()) == PAGES
    paths = [*ROOT.glob("*README.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("papers/*/README.md")]
    pages = {str(path.relative_to(ROOT)) for path in paths if path.stem != "proofs"}
    assert pages - {*PAGES} == {*OTHERS}


@pytest.mark.parametrize("page", PAGES)
def test_each_sentence_of_the_list_is_in_its_page(page):
    result = {one["says"] for one in listed()[page]["shown"]} | {*without_tests(page)}
    assert sorted(result - {*sentences(ROOT / page)}) == []
    assert len(result) == len(listed()[page]["shown"]) + len(without_tests(page))


@pytest.mark.parametrize("page", PAGES)
def test_each_sentence_with_a_word_of_promise_is_in_the_list(page):
    result = {one["says"] for one in listed()[page]["shown"]} | {*without_tests(page)}
    promises = [one for one in sentences(ROOT / page) if PROMISE.search(one)]
    assert [one for one in promises if one not in result] == [], (
        "name a test that shows it in promises.yaml, or say there why it promises nothing"
    )


@cache
def named_tests(file):
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("page", PAGES)
def test_each_test_that_shows_a_promise_exists(page):
    for one in listed()[page]["shown"]:
        assert one["by"], one["says"]
        for node in one["by"]:
            file, _, name = node.partition("::")
            assert name.startswith("test_"), node
            assert name in named_tests(file), node


@pytest.mark.parametrize(
    "text",
    [
        "A look at exact values is *impossible*.",
        "No seed is in a file. Nobody can see it.",
        "- It costs nothing.\n- The only way out is this.",
        "| what | why |\n|---|---|\n| releases | the model shows nothing of runs that lose |",
    ],
)
def test_a_promise_is_found(tmp_path, text):
    (tmp_path / "page.md").write_text(f"# Never\n\n{text}\n")
    promises = [one for one in sentences(tmp_path / "page.md") if PROMISE.search(one)]
    assert len(promises) == 1 + (". Nobody" in text) + ("\n- The only" in text)


# Numbers on the pages ------------------------------------------------------------------------


def test_guesses_match_the_readme():
    """The README's guesses hold for a replaced record, and for an added or removed one."""
    text = " ".join((ROOT / "README.md").read_text("utf-8").split())
    assert "At ε = 1 and δ ≤ 0.01 (a record replaced)" in text
    assert "right at most 74 times in 100" in text
    assert 0.73 < most_right_guesses(1, 0) <= most_right_guesses(1, 0.01) < 0.74
    assert "for a record added or left out (that guess: 89 times in 100); δ = 10⁻⁶" in text
    assert 0.88 < most_right_guesses(*replace_one_guarantee(1, 1e-6)) < 0.89


def test_factors_match_the_page():
    text = " ".join((ROOT / "docs/your_data.md").read_text("utf-8").split())
    assert "(2.72 times at ε = 1; 1.11 times at 0.1)" in text
    assert [round_up(math.exp(epsilon)) for epsilon in (1, 0.1)] == ["2.72", "1.11"]


def test_a_person_with_five_lines_has_five_epsilon_and_86_delta():
    """docs/proofs.md, 'Several records a person': δ (e^(kε) − 1)/(e^ε − 1)."""
    text = " ".join((ROOT / "docs/your_data.md").read_text("utf-8").split())
    assert "five lines has the protection of 5 ε and, at ε = 1, 86 δ" in text
    epsilon, delta = group_guarantee(1.0, 1e-6, 5)
    assert epsilon == 5
    assert delta / 1e-6 == pytest.approx((math.exp(5) - 1) / (math.exp(1) - 1), rel=1e-12)
    assert 85 < delta / 1e-6 < 86


def test_a_statement_bounds_events_give_or_take_delta():
    """A bound on the loss with probability 1 − δ would be stronger than (ε, δ)-privacy."""
    made = PrivacyStatement(
        "mine", 1.0, 1e-6, "replace-one", "proved", "basic", (), status="proved"
    )
    words = (
        "had any one record been replaced by another, every event would have been about as "
        "likely, within a factor of 2.72, give or take a probability of 1e-06."
    )
    assert words in str(made)
