"""Mutations by number: the same number is the same mutation, on every machine."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from cases import CASES, Case
from table_mutators import OF_TABLE
from valid_mutators import OF_CASE
from yaml_mutators import OF_CONTENT, OF_TEXT

# What is mutated, and how often of nine times; of two, the one that stands first here is first.
KINDS = {"case": 2, "table": 3, "content": 3, "text": 1}


@dataclass
class Mutation:
    """A mutated case: what was done in words, and what a message may call the culprit."""

    number: int
    case: Case
    words: str
    names: list[str]

    def __str__(self):
        return f"mutation {self.number} of {self.case.title!r}: {self.words}"


def mutation(number):
    """Return a mutation of a description or of its table; one of five is two."""
    rng = Random(f"dataset {number}")
    while True:
        case = rng.choice(CASES).copy()
        kinds = rng.choices(list(KINDS), KINDS.values(), k=1 if rng.random() < 4 / 5 else 2)
        told = [_one(rng, case, kind) for kind in sorted(kinds, key=list(KINDS).index)]
        done = [one for one in told if one is not None]
        if len(done) == len(told):
            words = "; then ".join(words for words, _ in done)
            names = [name for _, names in done for name in names if name.strip()]
            return Mutation(number, case, words, [*names, *_elsewhere(names, case)])


def _elsewhere(names, case):
    """Return where else a culprit shows: a file read in another way does so line by line."""
    if "parser" in names:
        return list(case.tables)
    # Who says which records are taken says what stands beside it, too.
    selects = {"records", "label", "sick"} & {name.strip("'") for name in names}
    return ["n_test", "n_rows"] if selects else []


def _one(rng, case, kind):
    if kind == "text":
        case.text, words, names = rng.choice(OF_TEXT)(rng, case.yaml)
        return words, names
    if kind == "content":
        return rng.choice(OF_CONTENT)(rng, case.content)
    return rng.choice(OF_TABLE if kind == "table" else OF_CASE)(rng, case)
