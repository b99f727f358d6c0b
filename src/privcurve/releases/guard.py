"""Check, before a release reserves its price, that its ledger lists all earlier releases.

A ledger is in a working folder: it can be lost, and a copy of the records in another folder has no
ledger. So the owner's folder of seeds keeps a trace of each ledger: the number of releases, digests
of the ledger after each line (which identify a ledger that was moved), and digests of the dataset's
raw files and encoded records. Traces never leave the folder of seeds.
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

# The folder of traces in the folder of seeds.
FOLDER = "ledgers"

# Free bytes that the disk must have before a release begins: more than any trace needs.
ROOM = 2**20


@contextmanager
def guard(
    ledger: BudgetLedger, description: Description, digests: set[str], output: Path | None = None
) -> Iterator[None]:
    """Check the ledger before a price is reserved in the context, and update its trace at the end.

    No other release can begin while the context is open. `digests` are the digests of the records
    (:class:`Traces`). `output` is the folder of the model, if it is not a numbered folder next to
    the ledger. Raises ReleaseError if the ledger lacks releases, or if another ledger has releases
    of the same records.
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
    """Raise ReleaseError if a ledger lacks releases, or another ledger has some of the same files.

    The check ignores files that are missing, and does not read encoded records.
    """
    files = list(description.source_files())
    paths = [Path(file.local) for file in files if file.local is not None]
    digests = {sha256_of(path) for path in paths if path.is_file()}
    digests |= {file.sha256 for file in files if file.sha256}
    _check_numbers(ledger.path.parent, ledger, None)
    _check_other_ledgers(description.records_name, description.name, digests)
    Traces(ledger, description, digests).check()


def _check_numbers(home: Path, ledger: BudgetLedger, output: Path | None) -> None:
    """Raise ReleaseError if a numbered folder belongs to no release in the ledger.

    The check skips the folder `output`, and the folders that releases in the ledger name.
    """
    releases = ledger.releases()
    folders = [release.facts["folder"] for release in releases if "folder" in release.facts]
    named = {Path(folder).resolve() for folder in (*folders, *([output] if output else []))}
    for path in sorted(home.glob("*"), key=lambda path: (len(path.name), path.name)):
        number = int(path.name) if path.name.isdecimal() else 0
        if number > len(releases) and path.resolve() not in named:
            model = path / MODEL
            raise ReleaseError(
                f"{model if model.exists() else path} exists, but the ledger, {ledger.path}, does "
                "not list its release, so the spent budget is unknown: restore the ledger"
            )


def _check_other_ledgers(records: str, dataset: str, digests: set[str]) -> None:
    """Raise ReleaseError if the ledger of another dataset has releases of the same records.

    The costs in two ledgers of the same records would not be added up.
    """
    for path in sorted(RELEASES.glob("*/")):
        if path.name == records:
            continue
        other = BudgetLedger(path)
        for release in other.releases():
            # Compare encoded records, too: they stay the same if a file is saved again.
            facts = release.facts
            if digests & {facts.get("checksum"), *facts.get("sources", {}).values()}:
                raise ReleaseError(same_records(records, dataset, path.name, other.path))


# Traces ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Trace:
    """What the owner's folder stores about the ledger of the dataset `records`.

    `ledger` is the last known path of the ledger, and `releases` its number of releases. `heads`
    are digests of the ledger (:meth:`BudgetLedger.heads`), `digests` the SHA-256 of raw files and
    encoded records.
    """

    ledger: str
    records: str
    releases: int
    heads: tuple[str, ...]
    digests: tuple[str, ...] = ()


class Traces:
    """The traces in the owner's folder, to check and update for one ledger.

    `digests` are the SHA-256 of the raw files and of the encoded records of a release. The ledger
    of a public benchmark leaves no trace, but its records are compared with the traces of other
    ledgers.
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
        """Lock the owner's folder: while locked, no release begins in any working folder."""
        return lock_releases(self.folder) if self._keeps else nullcontext()

    def check(self) -> None:
        """Raise ReleaseError if the ledger lacks releases, or another ledger has these records."""
        for path, trace in self._read_all().items():
            # This is a trace of the ledger itself, perhaps from before the ledger was moved.
            if self._ledger.continues(trace.heads[-1]):
                continue
            if path == self._file:
                raise ReleaseError(self._explain_loss(trace))
            # Each line of a ledger has a digest of all earlier lines, and a random token. So if two
            # ledgers share a head, one of them is a copy of the other.
            if {*self._ledger.heads()} & {*trace.heads}:
                raise ReleaseError(
                    f"the ledger {self._ledger.path} is a copy of {trace.ledger}, which has "
                    f"{trace.releases} releases: two ledgers would not add up their costs. Go on "
                    "there, or replace this ledger by that one."
                )
            if set(trace.digests) & set(self._digests):
                description, ledger = self._description, Path(trace.ledger)
                releases = ledger.parent.parent
                elsewhere = releases != self._ledger.path.resolve().parent.parent
                place = f", in {releases.parent}" if elsewhere else ""
                names = (description.records_name, description.name, trace.records)
                raise ReleaseError(same_records(*names, display_path(ledger), place))

    def prepare(self) -> None:
        """Raise WriteError if there is no room for a trace."""
        if self._keeps:
            check_room(self.folder, ROOM)

    def keep(self) -> None:
        """Write the present trace of the ledger, and remove traces of its earlier paths."""
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
            f"release{' was' if trace.releases == 1 else 's were'} in it ({self._file}), so the "
            "spent budget is unknown. Restore the ledger from a backup; or, if these are different "
            "records, give their description another name."
        )


def same_records(records: str, dataset: str, other: str, ledger: Path, there: str = "") -> str:
    """Return the error message that another ledger has releases of the same records.

    The records of `dataset` are also the records of `other`, which has the ledger `ledger`. `there`
    completes the message: it says where to release `other`.
    """
    return (
        f"the file of {records!r} is also the file of {other!r}, whose ledger, {ledger}, has "
        f"releases of it: two ledgers would not add up their costs. Describe {dataset!r} as a "
        f"variant (based_on: {other}), or release {other!r}{there}."
    )


def _read(path: Path) -> Trace:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        heads = content["heads"]
        if not heads:
            raise ValueError("its list of digests (heads) is empty")
        return Trace(
            content["ledger"],
            content["records"],
            int(content["releases"]),
            tuple(heads),
            tuple(content["digests"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ReleaseError(
            f"{path}, which has the number of releases of a ledger, can't be read ({error}). "
            "Nothing is released until you restore it from a backup."
        ) from None


def _write(path: Path, text: str) -> None:
    with open_private(path, "xb") as file:
        file.write(text.encode())
