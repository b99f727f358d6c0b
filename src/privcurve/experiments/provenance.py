"""Provenance: a checksum of the code that trained a run, stored with the run's id.

The checksum covers the syntax trees of the learner's module, of the modules that train and score a
run, and of all modules of this package that they import directly or indirectly.
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

# Digits of a checksum: enough to distinguish the versions of the code in one store.
DIGITS = 12
# Separates the names of learners, if one selects settings and trains the others.
PLUS = "+"

# The module that trains and scores each run.
TRAINING = "privcurve.experiments.train"
# Modules that are left out, with all modules below them: a change in them changes no number of a
# run, or changes the run's id.
LEFT_OUT: Mapping[str, str] = {
    "privcurve.datasets": "an id contains the checksum of the codes and of their domain",
    "privcurve.learners.entries": "the facts in the learner's own entry count (`FACTS`)",
    "privcurve.learners.own": "finds a user's own files, which count themselves",
    "privcurve.experiments.store": "writes and reads numbers as they are",
    "privcurve.experiments.provenance": "computes these checksums",
    "privcurve.experiments.tune": "turns words of a study into a setting, which is in the id",
    "privcurve.audit": "attacks learners",
    **dict.fromkeys(
        (f"privcurve.{name}" for name in ("errors", "extras", "files", "schema", "yaml_nodes")),
        "messages, and how files are read and written",
    ),
    **dict.fromkeys(("privcurve.own", "privcurve.sources"), "find and import files"),
}
# Modules below these that are covered: folds, distinct rows, and facts about columns.
COUNTS = {f"privcurve.datasets.{name}" for name in ("rows", "domain", "dataset")}


def _follows(module: str) -> bool:
    """Return whether an imported module is covered."""
    if module in COUNTS:
        return True
    parts = module.split(".")
    # The package itself is a list of names, each imported on first use.
    around = [".".join(parts[:k]) for k in range(2, len(parts) + 1)]
    return bool(around) and not any(package in LEFT_OUT for package in around)


# Facts of an entry that determine a training.
FACTS = (
    "defaults", "needs", "takes", "neighbours", "pure", "approximate", "multiclass",
    "few_bins", "few_with",
)  # fmt: skip

# Replaces the learners in counts of selections; its checksum covers these modules.
SELECTION = "selection of settings"
SELECTING = {"privcurve.analysis.selection", "privcurve.experiments.work"}

# Environment variable: jobs retrain runs from other code.
FRESH = "PRIVCURVE_FRESH"

# Number of runs by learners, then by the checksum of the code that trained them.
Trained = Mapping[str, Mapping[str, int]]
# Checksum of runs that earlier versions stored.
UNKNOWN = ""


def checksum(learners: str) -> str:
    """Return a checksum of the code that trains learners; `PLUS` separates their names.

    The result is cached.
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
    """Return the learners whose name or class occurs in files: the files may train them."""
    words = set().union(*map(sources.words_of, files))
    names = {name: registry.entry(name).path.partition(":")[2] for name in registry.names()}
    return {name for name, kind in names.items() if {name, kind} & words}


def add_up(parts: Iterable[Trained]) -> dict[str, dict[str, int]]:
    """Add up the numbers of runs by code."""
    total: dict[str, dict[str, int]] = {}
    for part in parts:
        for learners, runs in part.items():
            mine = total.setdefault(learners, {})
            for code, n in runs.items():
                mine[code] = mine.get(code, 0) + n
    return total


def count_selections(n: int, code: str) -> Trained:
    """Return the count of selections of settings by one code."""
    return {SELECTION: {code: n}}


def without_counts(trained: Trained) -> dict[str, dict[str, int]]:
    """Return the same checksums with 0 runs each, for runs that are read but not reported."""
    return {learners: dict.fromkeys(runs, 0) for learners, runs in trained.items()}


# Learners trained since `watch` began.
_WATCHED: ContextVar[set[str] | None] = ContextVar("watched", default=None)


@contextmanager
def watch() -> Iterator[set[str]]:
    """Return a set that collects the learners trained within the context."""
    learners: set[str] = set()
    token = _WATCHED.set(learners)
    try:
        yield learners
    finally:
        _WATCHED.reset(token)


def say_trained(learners: str) -> None:
    """Report trained learners to `watch`, if it is active."""
    watched = _WATCHED.get()
    if watched is not None:
        watched.add(learners)


class Stamps:
    """Which checksums are known to give the same bits: the file `same_code.json` of the store.

    Each entry links a checksum to another one. `snakemake stamp` adds an entry after it has
    retrained a sample of runs. Runs of earlier versions have no checksum: a workflow reports them
    once and links them to the present code (`adopt`); until then they count as current.
    """

    def __init__(self, store: Path) -> None:
        self._file = store / "same_code.json"
        self._same = self._read()

    def _read(self) -> dict[str, str]:
        try:
            content = json.loads(self._file.read_text("utf-8"))
            return {str(code): str(other) for code, other in dict(content).items()}
        except (OSError, ValueError, TypeError):  # none: a damaged file can only cause a warning
            return {}

    def _last(self, code: str) -> str:
        """Follow the links of a checksum to their end."""
        seen = {code}
        while (other := self._same.get(code, code)) not in seen:
            seen.add(code := other)
        return code

    def is_unknown(self, learners: str, code: str) -> bool:
        """Return whether a run has no checksum, and such runs are not adopted yet."""
        return code == UNKNOWN and _name_unknown(learners) not in self._same

    def is_current(self, learners: str, code: str) -> bool:
        """Return whether a run with this checksum equals a training with the present code."""
        if self.is_unknown(learners, code):
            return True
        return self._last(code or _name_unknown(learners)) == self._last(checksum(learners))

    def adopt(self, learners: Iterable[str]) -> None:
        """Count runs without a checksum as runs of the present code, from now on."""
        self._add({_name_unknown(one): checksum(one) for one in learners})

    def stamp(self, learners: str, code: str) -> None:
        """Count runs with this checksum as runs of the present code, from now on."""
        if not self.is_current(learners, code):
            last = self._last(code or _name_unknown(learners))
            self._add({last: self._last(checksum(learners))})

    def _add(self, same: Mapping[str, str]) -> None:
        # Read again: another process may have added entries.
        self._same = {**same, **self._read()}
        replace_text(self._file, json.dumps(self._same, indent=1) + "\n")

    def count_others(self, trained: Trained) -> dict[str, tuple[int, int]]:
        """Return, by learners, the number of runs from other code and of all runs."""
        others = {}
        for learners, runs in sorted(trained.items()):
            stale = [n for code, n in runs.items() if not self.is_current(learners, code)]
            if stale:
                others[learners] = sum(stale), sum(runs.values())
        return others

    def count_unknown(self, trained: Trained) -> dict[str, int]:
        """Return, by learners, the number of runs whose code is unknown."""
        return {
            learners: runs[UNKNOWN]
            for learners, runs in sorted(trained.items())
            if runs.get(UNKNOWN) and self.is_unknown(learners, UNKNOWN)
        }


def _name_unknown(learners: str) -> str:
    return f"without checksum: {learners}"
