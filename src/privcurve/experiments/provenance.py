"""Which code trained a run: checksums of it, and which of them stand for the same bits.

A checksum is stored with each run, beside its id. It is of the syntax trees of the learner's
module, of what trains and scores a run, and of all modules of this package that these import.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

from privcurve import own, sources
from privcurve.files import replace_text
from privcurve.learners import own as own_learners
from privcurve.learners import registry

# Digits of a checksum: it tells some hundred states of the code apart, not files of the world.
DIGITS = 12
# Separates learners in a text of several: one that selects settings, and those that it trains.
PLUS = "+"

# What trains and scores each run.
TRAINING = "privcurve.experiments.train"
# Modules that change no number of a run, or that its id speaks for, with all below them.
LEFT_OUT: Mapping[str, str] = {
    "privcurve": "names for callers, each imported on first use",
    "privcurve.datasets": "an id contains the checksum of the codes and of their domain",
    "privcurve.learners.entries": "of these the facts about the learner itself count",
    "privcurve.learners.own": "finds the files of learners, which count",
    "privcurve.experiments.store": "writes and reads numbers as they are",
    "privcurve.experiments.provenance": "says which code it is",
    "privcurve.experiments.tune": "checks a study's words; what follows from them is in the id",
    "privcurve.audit": "attacks learners",
    **dict.fromkeys(
        (f"privcurve.{name}" for name in ("errors", "extras", "files", "schema", "yaml_nodes")),
        "messages, and how files are read and written",
    ),
    **dict.fromkeys(("privcurve.own", "privcurve.sources"), "find and import files"),
}
# Below these, but parts of each training: folds, distinct rows, and facts about columns.
COUNTS = {f"privcurve.datasets.{name}" for name in ("rows", "domain", "dataset")}


def _follows(module: str) -> bool:
    """Return whether a module counts: those of a package are left out with it."""
    if module in COUNTS:
        return True
    parts = module.split(".")
    around = (".".join(parts[:k]) for k in range(2, len(parts) + 1))
    return module != "privcurve" and not any(package in LEFT_OUT for package in around)


# Facts of an entry that a training depends on.
FACTS = (
    *("defaults", "needs", "takes", "neighbours", "pure", "approximate", "multiclass"),
    *("few_bins", "few_with"),
)

# Stands for learners where settings are selected: what selects, and what hands it the runs.
SELECTION = "selection of settings"
SELECTING = {"privcurve.analysis.selection", "privcurve.experiments.work"}

# The environment variable that lets jobs train what other code has trained.
FRESH = "PRIVCURVE_FRESH"

# How many runs each code has trained: by learners, then by checksum (`UNKNOWN` for none).
Trained = Mapping[str, Mapping[str, int]]
UNKNOWN = ""


def checksum(learners: str) -> str:
    """Return a checksum of the code that trains some learners, named in one text with `PLUS`.

    It is computed once in a process.
    """
    return _compute(learners, Path.cwd())


@cache
def _compute(learners: str, folder: Path) -> str:
    if learners == SELECTION:
        return _join(sources.reachable(SELECTING, [], SELECTING.__contains__), [])
    modules, more, files = {TRAINING, *COUNTS}, [], []
    names = learners.split(PLUS)
    for name in names:
        entry = registry.entry(name)
        more.append(repr([name, *(getattr(entry, fact) for fact in FACTS)]))
        if name in own_learners.names():
            own_files = own.files_of(own_learners.path_of(name).resolve())
            files += own_files
            names += sorted(_learners_named_in(own_files) - {*names})
        else:
            modules.add(entry.path.partition(":")[0])
    more += [sources.checksum_of(sources.tree_of(file)) for file in files]
    return _join(sources.reachable(modules, files, _follows), more)


def _join(checksums: Mapping[str, str], more: Iterable[str]) -> str:
    lines = sorted([*(f"{name} {of_one}" for name, of_one in checksums.items()), *more])
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:DIGITS]


def _learners_named_in(files: Iterable[Path]) -> set[str]:
    """Return the learners that files name, or whose class they name: they may train these."""
    words = set().union(*map(sources.words_of, files))
    names = {name: registry.entry(name).path.partition(":")[2] for name in registry.names()}
    return {name for name, kind in names.items() if {name, kind} & words}


def add_up(parts: Iterable[Trained]) -> dict[str, dict[str, int]]:
    """Add up the runs of each code."""
    total: dict[str, dict[str, int]] = {}
    for part in parts:
        for learners, runs in part.items():
            mine = total.setdefault(learners, {})
            for code, n in runs.items():
                mine[code] = mine.get(code, 0) + n
    return total


def count_selections(n: int, code: str) -> Trained:
    """Return how many selections of settings a code has made."""
    return {SELECTION: {code: n}}


def without_counts(trained: Trained) -> dict[str, dict[str, int]]:
    """Return which codes trained runs, as of no runs: of what is selected from, and not shown."""
    return {learners: dict.fromkeys(runs, 0) for learners, runs in trained.items()}


# The learners that have been trained, where somebody watches.
_WATCHED: ContextVar[set[str] | None] = ContextVar("watched", default=None)


@contextmanager
def watch() -> Iterator[set[str]]:
    """Gather the learners that are trained within a context, each as in `checksum`."""
    learners: set[str] = set()
    token = _WATCHED.set(learners)
    try:
        yield learners
    finally:
        _WATCHED.reset(token)


def say_trained(learners: str) -> None:
    """Say that learners are trained, to who watches."""
    watched = _WATCHED.get()
    if watched is not None:
        watched.add(learners)


class Stamps:
    """Which checksums stand for the same bits: ``same_code.json`` in the folder of the store.

    Runs of earlier versions have no checksum. They count as trained by the present code until they
    are adopted, which a run does when it meets them first and says so; from then on they have the
    checksum of that time. `snakemake stamp` adds checksums whose runs it has refitted.
    """

    def __init__(self, store: Path) -> None:
        self._file = store / "same_code.json"
        self._same = self._read()

    def _read(self) -> dict[str, str]:
        try:
            content = json.loads(self._file.read_text("utf-8"))
            return {str(code): str(other) for code, other in dict(content).items()}
        except (OSError, ValueError, TypeError):  # then runs count as trained by other code
            return {}

    def _last(self, code: str) -> str:
        """Follow a checksum to the last one that it is the same as."""
        seen = {code}
        while (other := self._same.get(code, code)) not in seen:
            seen.add(code := other)
        return code

    def is_unknown(self, learners: str, code: str) -> bool:
        """Return whether nobody knows which code trained a run."""
        return code == UNKNOWN and _name_unknown(learners) not in self._same

    def is_current(self, learners: str, code: str) -> bool:
        """Return whether a run that has this checksum is what the present code would train."""
        if self.is_unknown(learners, code):
            return True
        return self._last(code or _name_unknown(learners)) == self._last(checksum(learners))

    def adopt(self, learners: Iterable[str]) -> None:
        """Let all runs of some learners that have no checksum have the present one."""
        self._add({_name_unknown(one): checksum(one) for one in learners})

    def stamp(self, learners: str, code: str) -> None:
        """Let runs that have a checksum count as trained by the present code."""
        if not self.is_current(learners, code):
            last = self._last(code or _name_unknown(learners))
            self._add({last: self._last(checksum(learners))})

    def _add(self, same: Mapping[str, str]) -> None:
        # Read again: another process may have added some.
        self._same = {**same, **self._read()}
        replace_text(self._file, json.dumps(self._same, indent=1) + "\n")

    def count_others(self, trained: Trained) -> dict[str, tuple[int, int]]:
        """Return the learners of which other code has trained runs: how many of how many."""
        others = {}
        for learners, runs in sorted(trained.items()):
            stale = [n for code, n in runs.items() if not self.is_current(learners, code)]
            if stale:
                others[learners] = sum(stale), sum(runs.values())
        return others

    def count_unknown(self, trained: Trained) -> dict[str, int]:
        """Return the learners that have runs without a checksum, and how many."""
        return {
            learners: runs[UNKNOWN]
            for learners, runs in sorted(trained.items())
            if UNKNOWN in runs and self.is_unknown(learners, UNKNOWN)
        }


def _name_unknown(learners: str) -> str:
    return f"without checksum: {learners}"
