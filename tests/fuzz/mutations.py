"""Mutations by number: a number gives the same mutation on every machine."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from cases import CASES, Case
from table_mutators import OF_TABLE
from valid_mutators import OF_CASE
from yaml_mutators import OF_CONTENT, OF_TEXT

# {kind: weight}; of two mutations, the kind that is listed first is applied first.
KINDS = {"case": 2, "table": 3, "content": 3, "text": 1}


@dataclass
class Mutation:
    """A mutated case: a description of the change, and names that a message may use for it."""

    number: int
    case: Case
    words: str
    names: list[str]

    def __str__(self):
        return f"mutation {self.number} of {self.case.title!r}: {self.words}"


def mutation(number):
    """Return the mutation with this number: one change, or two in one of five."""
    rng = Random(f"dataset {number}")
    while True:
        case = rng.choice(CASES).copy()
        kinds = rng.choices(list(KINDS), KINDS.values(), k=1 if rng.random() < 4 / 5 else 2)
        result = [_one(rng, case, kind) for kind in sorted(kinds, key=list(KINDS).index)]
        done = [one for one in result if one is not None]
        if len(done) == len(result):
            words = "; then ".join(words for words, _ in done)
            names = [name for _, names in done for name in names if name.strip()]
            return Mutation(number, case, words, [*names, *_elsewhere(names, case)])


def _elsewhere(names, case):
    """Return other names for the fault: a wrong parser shows in each line of the file."""
    if "parser" in names:
        return list(case.tables)
    # A wrong selection of records also shows in their number.
    selects = {"records", "label", "sick"} & {name.strip("'") for name in names}
    return ["n_test", "n_rows"] if selects else []


def _one(rng, case, kind):
    if kind == "text":
        case.text, words, names = rng.choice(OF_TEXT)(rng, case.yaml)
        return words, names
    if kind == "content":
        return rng.choice(OF_CONTENT)(rng, case.content)
    return rng.choice(OF_TABLE if kind == "table" else OF_CASE)(rng, case)
