"""Check, before a price is reserved, that all earlier releases are known.

A ledger is in a working folder, where it can be lost, or left behind by a copy of the records. The
owner's folder, beside the seeds, outlives both. A trace of a ledger there holds the number of its
releases, the digest of its lines (by which the ledger is recognised wherever it was moved) and the
digests of its raw files and of its codes. Nothing of it ever leaves that folder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from privcurve.datasets import Description
from privcurve.datasets.reading import sha256_of
from privcurve.files import check_room, display_path, open_private, replace_file
from privcurve.privacy import seeds
from privcurve.releases.budget_ledger import RELEASES, BudgetLedger, lock_releases
from privcurve.releases.errors import ReleaseError
from privcurve.releases.released import MODEL

# Below the folder of seeds.
FOLDER = "ledgers"

# Bytes: more than a trace takes.
ROOM = 2**20


@contextmanager
def guard(
    ledger: BudgetLedger, description: Description, digests: set[str], output: Path | None = None
) -> Iterator[None]:
    """Guard the reservation of a price: no other release begins meanwhile, and a trace is kept.

    `digests` are of the records, as of :class:`Traces`; `output` is the folder of a model that may
    stand beside the numbered ones. Raises ReleaseError for a ledger that
    lacks releases, and for records that have another one.
    """
    traces = Traces(ledger, description, digests)
    with lock_releases(RELEASES):
        _check_numbers(ledger.path.parent, ledger, output)
        _check_other_ledgers(description.records_name, description.name, digests)
        with traces.lock():
            traces.check()
            traces.prepare()
            yield
            traces.keep()


def check_complete(ledger: BudgetLedger, description: Description) -> None:
    """Refuse a ledger that does not say what was spent of its records (ReleaseError).

    It lacks releases, or another ledger has some of the same files. Files that are not there, and
    the codes of their records, are not looked at.
    """
    files = list(description.source_files())
    paths = [Path(file.local) for file in files if file.local is not None]
    digests = {sha256_of(path) for path in paths if path.is_file()}
    digests |= {file.sha256 for file in files if file.sha256}
    _check_numbers(ledger.path.parent, ledger, None)
    _check_other_ledgers(description.records_name, description.name, digests)
    Traces(ledger, description, digests).check()


def _check_numbers(home: Path, ledger: BudgetLedger, output: Path | None) -> None:
    """Refuse a ledger that lacks a release whose numbered folder exists, except for `output`."""
    releases = ledger.releases()
    folders = [release.facts["folder"] for release in releases if "folder" in release.facts]
    named = {Path(folder).resolve() for folder in (*folders, *([output] if output else []))}
    for path in sorted(home.glob("*"), key=lambda path: (len(path.name), path.name)):
        number = int(path.name) if path.name.isdecimal() else 0
        if number > len(releases) and path.resolve() not in named:
            model = path / MODEL
            raise ReleaseError(
                f"{model if model.exists() else path} is there, but the ledger, {ledger.path}, "
                "does not know of it: restore the ledger, without which what is spent can't be "
                "known"
            )


def _check_other_ledgers(records: str, dataset: str, digests: set[str]) -> None:
    """Refuse records that have a ledger under another name: budgets would not add up."""
    for path in sorted(RELEASES.glob("*/")):
        if path.name == records:
            continue
        other = BudgetLedger(path)
        for release in other.releases():
            # A file that was saved again has other bytes, but mostly the same codes.
            facts = release.facts
            if digests & {facts.get("checksum"), *facts.get("sources", {}).values()}:
                raise ReleaseError(same_records(records, dataset, path.name, other.path))


# Traces ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Trace:
    """A trace of a ledger, which was last at `ledger`, of the dataset `records`.

    `heads` are those of :meth:`BudgetLedger.heads`; `digests` are SHA-256 of raw files and codes.
    """

    ledger: str
    records: str
    releases: int
    heads: tuple[str, ...]
    digests: tuple[str, ...] = ()


class Traces:
    """The traces in the owner's folder, for a release that `ledger` will hold.

    `digests` are of its records: of their codes, and of raw files. Of a public benchmark no trace
    is kept, but its records are checked against the traces of other ledgers.
    """

    def __init__(
        self, ledger: BudgetLedger, description: Description, digests: Iterable[str]
    ) -> None:
        self.folder = seeds.folder() / FOLDER
        self._ledger, self._description = ledger, description
        self._digests = tuple(sorted(set(digests)))
        place = hashlib.sha256(str(ledger.path.resolve()).encode()).hexdigest()
        self._file = self.folder / f"{place[:32]}.json"
        self._keeps = not description.public_benchmark

    def lock(self) -> AbstractContextManager[None]:
        """Lock the owner's folder: no other release begins meanwhile, in any working folder."""
        return lock_releases(self.folder) if self._keeps else nullcontext()

    def check(self) -> None:
        """Refuse a ledger that lacks releases, and records that are those of another ledger."""
        for path, trace in self._read_all().items():
            # A trace of this ledger, perhaps from before it was moved.
            if self._ledger.continues(trace.heads[-1]):
                continue
            if path == self._file:
                raise ReleaseError(self._explain_loss(trace))
            # Both began alike: each line follows from those before it, and has a random word.
            if {*self._ledger.heads()} & {*trace.heads}:
                raise ReleaseError(
                    f"the ledger {self._ledger.path} is a copy of {trace.ledger}, in which "
                    f"{trace.releases} releases stood: what both spend would not add up. Go on "
                    "there, or put that ledger in the place of this one."
                )
            if set(trace.digests) & set(self._digests):
                description, ledger = self._description, Path(trace.ledger)
                releases = ledger.parent.parent
                elsewhere = releases != self._ledger.path.resolve().parent.parent
                place = f", in {releases.parent}" if elsewhere else ""
                names = (description.records_name, description.name, trace.records)
                raise ReleaseError(same_records(*names, display_path(ledger), place))

    def prepare(self) -> None:
        """Check that a trace can be written."""
        if self._keeps:
            check_room(self.folder, ROOM)

    def keep(self) -> None:
        """Write down how far the ledger has come, and the digests of its records."""
        if not self._keeps:
            return
        earlier = {
            path: trace
            for path, trace in self._read_all().items()
            if self._ledger.continues(trace.heads[-1])
        }
        content = {
            "ledger": str(self._ledger.path.resolve()),
            "records": self._description.records_name,
            "releases": len(self._ledger.releases()),
            "heads": self._ledger.heads(),
            "digests": sorted({*self._digests, *(d for t in earlier.values() for d in t.digests)}),
        }
        replace_file(self._file, lambda temporary: _write(temporary, json.dumps(content, indent=1)))
        for path in earlier.keys() - {self._file}:
            path.unlink(missing_ok=True)

    def _read_all(self) -> dict[Path, Trace]:
        return {path: _read(path) for path in sorted(self.folder.glob("*.json"))}

    def _explain_loss(self, trace: Trace) -> str:
        n_releases = len(self._ledger.releases())
        has = f"has {n_releases}, or others" if self._ledger.path.exists() else "is gone"
        return (
            f"the ledger {self._ledger.path} {has}, but {trace.releases} "
            f"release{'' if trace.releases == 1 else 's'} stood in it ({self._file}). Restore it "
            "from a backup: without it what is spent can't be known. If these are other records "
            "than those, give their description another name."
        )


def same_records(records: str, dataset: str, other: str, ledger: Path, there: str = "") -> str:
    """Say that records have a ledger under another name, and what to do."""
    return (
        f"the file of {records!r} is that of {other!r} too, whose ledger, {ledger}, has releases "
        f"of it: what they spent would not add up. Describe {dataset!r} as a variant (based_on: "
        f"{other}), or release {other!r}{there}."
    )


def _read(path: Path) -> Trace:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        heads = content["heads"]
        if not heads:
            raise ValueError("it names no state of the ledger")
        return Trace(
            content["ledger"],
            content["records"],
            int(content["releases"]),
            tuple(heads),
            tuple(content["digests"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ReleaseError(
            f"{path}, which says how many releases a ledger had, can't be read ({error}). Nothing "
            "is released until it is restored from a backup."
        ) from None


def _write(path: Path, text: str) -> None:
    with open_private(path, "xb") as file:
        file.write(text.encode())
