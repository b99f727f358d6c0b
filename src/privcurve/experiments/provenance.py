"""Compute a checksum of the code that trains a run, and compare it with stored runs' checksums.

The checksum is stored with a run. It covers the syntax trees of the learner's module, of the
modules that train and score a run, and of all modules of this package that these modules import
directly or indirectly, except `LEFT_OUT`.
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

# Hexadecimal digits of a checksum: enough to distinguish all versions of the code in one store.
DIGITS = 12
# Joins the names of learners if one of them selects among settings of the other learners.
PLUS = "+"

# The module that trains and scores each run.
TRAINING = "privcurve.experiments.train"
# Modules that the checksum does not cover, with all modules below them, and the reason why: a
# change in such a module changes no result of a run, or it changes the run's id, so that the run is
# trained again anyway.
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
# Exceptions from `LEFT_OUT`: the checksum covers these modules, as they compute folds, distinct
# rows and facts about columns.
COUNTS = {f"privcurve.datasets.{name}" for name in ("rows", "domain", "dataset")}


def _follows(module: str) -> bool:
    """Return whether the checksum covers an imported module."""
    if module in COUNTS:
        return True
    parts = module.split(".")
    # The package `privcurve` itself (k = 1) is never covered: it only contains a list of names.
    around = [".".join(parts[:k]) for k in range(2, len(parts) + 1)]
    return bool(around) and not any(package in LEFT_OUT for package in around)


# Attributes of a learner's registry entry that influence a training.
FACTS = (
    "defaults", "needs", "takes", "neighbours", "pure", "approximate", "multiclass",
    "few_bins", "few_with",
)  # fmt: skip

# Selections of settings are counted under this name, runs under the names of their learners. The
# checksum of a selection covers only the modules in SELECTING.
SELECTION = "selection of settings"
SELECTING = {"privcurve.analysis.selection", "privcurve.experiments.work"}

# Environment variable: if it is set and not empty, jobs retrain runs that other code trained.
FRESH = "PRIVCURVE_FRESH"

# Number of runs by learners (names joined by `PLUS`), and then by the checksum of the code.
Trained = Mapping[str, Mapping[str, int]]
# Stands for the checksum of runs that earlier versions stored without a checksum.
UNKNOWN = ""


def checksum(learners: str) -> str:
    """Return a checksum of the code that trains `learners` (names joined by `PLUS`).

    The checksum is computed once per process, so that later changes of files have no effect.
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
    """Return the learners whose name or class occurs in `files`: code there may train them."""
    words = set().union(*map(sources.words_of, files))
    names = {name: registry.entry(name).path.partition(":")[2] for name in registry.names()}
    return {name for name, kind in names.items() if {name, kind} & words}


def add_up(parts: Iterable[Trained]) -> dict[str, dict[str, int]]:
    """Add up the counts in `parts`, separately for each learner and checksum."""
    total: dict[str, dict[str, int]] = {}
    for part in parts:
        for learners, runs in part.items():
            mine = total.setdefault(learners, {})
            for code, n in runs.items():
                mine[code] = mine.get(code, 0) + n
    return total


def count_selections(n: int, code: str) -> Trained:
    """Return the count of `n` selections of settings by code with the checksum `code`."""
    return {SELECTION: {code: n}}


def without_counts(trained: Trained) -> dict[str, dict[str, int]]:
    """Return the same learners and checksums, each with 0 runs.

    A job uses this for runs that it has only read, as the job that trained them counts them.
    """
    return {learners: dict.fromkeys(runs, 0) for learners, runs in trained.items()}


# Learners that were trained since the start of the enclosing `watch`; None outside of it.
_WATCHED: ContextVar[set[str] | None] = ContextVar("watched", default=None)


@contextmanager
def watch() -> Iterator[set[str]]:
    """Yield a set that collects the learners of all trainings inside the context."""
    learners: set[str] = set()
    token = _WATCHED.set(learners)
    try:
        yield learners
    finally:
        _WATCHED.reset(token)


def say_trained(learners: str) -> None:
    """Add learners (names joined by `PLUS`) to the set of the enclosing `watch`, if any."""
    watched = _WATCHED.get()
    if watched is not None:
        watched.add(learners)


class Stamps:
    """Decides whether code with another checksum trains a run to the same bits as the present code.

    The file `same_code.json` of the store links checksums: each entry maps one checksum to another
    that gives the same bits. `snakemake stamp` adds an entry after it has retrained a sample of
    runs with the same bits. Runs of earlier versions have no checksum and count as current. A
    workflow reports them once and links them to the present code (`adopt`), so that they are
    outdated when the code changes again.
    """

    def __init__(self, store: Path) -> None:
        self._file = store / "same_code.json"
        self._same = self._read()

    def _read(self) -> dict[str, str]:
        try:
            content = json.loads(self._file.read_text("utf-8"))
            return {str(code): str(other) for code, other in dict(content).items()}
        # A missing or damaged file counts as a file without links. At worst, a workflow then warns
        # that runs are outdated.
        except (OSError, ValueError, TypeError):
            return {}

    def _last(self, code: str) -> str:
        """Return the last checksum of the chain of links that begins with `code`."""
        seen = {code}
        while (other := self._same.get(code, code)) not in seen:
            seen.add(code := other)
        return code

    def is_unknown(self, learners: str, code: str) -> bool:
        """Return whether `code` is `UNKNOWN` and :meth:`adopt` has not recorded the learners."""
        return code == UNKNOWN and _name_unknown(learners) not in self._same

    def is_current(self, learners: str, code: str) -> bool:
        """Return whether the present code gives the same bits as code with the checksum `code`."""
        if self.is_unknown(learners, code):
            return True
        return self._last(code or _name_unknown(learners)) == self._last(checksum(learners))

    def adopt(self, learners: Iterable[str]) -> None:
        """Record that runs of `learners` without a checksum count as runs of the present code."""
        self._add({_name_unknown(one): checksum(one) for one in learners})

    def stamp(self, learners: str, code: str) -> None:
        """Record that the learners' runs with the checksum `code` count as runs of present code."""
        if not self.is_current(learners, code):
            last = self._last(code or _name_unknown(learners))
            self._add({last: self._last(checksum(learners))})

    def _add(self, same: Mapping[str, str]) -> None:
        # The file is read again, as another process may have added entries.
        self._same = {**same, **self._read()}
        replace_text(self._file, json.dumps(self._same, indent=1) + "\n")

    def count_others(self, trained: Trained) -> dict[str, tuple[int, int]]:
        """Return (runs of other code, all runs) for each learner that has runs of other code."""
        others = {}
        for learners, runs in sorted(trained.items()):
            stale = [n for code, n in runs.items() if not self.is_current(learners, code)]
            if stale:
                others[learners] = sum(stale), sum(runs.values())
        return others

    def count_unknown(self, trained: Trained) -> dict[str, int]:
        """Return the number of runs without a checksum, for each learner that has such runs."""
        return {
            learners: runs[UNKNOWN]
            for learners, runs in sorted(trained.items())
            if runs.get(UNKNOWN) and self.is_unknown(learners, UNKNOWN)
        }


def _name_unknown(learners: str) -> str:
    return f"without checksum: {learners}"
