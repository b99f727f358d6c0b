"""Traces of budget ledgers in the owner's own folder: how far each has come, of which records.

A ledger is in a working folder, where it can be lost, or left behind by a copy of the records. The
owner's folder, beside the seeds, outlives both. A trace of a ledger holds the number of its
releases, the digest of its lines (by which the ledger is recognised wherever it was moved) and
sketches of its records (:mod:`privcurve.releases.sketch`). Nothing of it ever leaves that folder.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privcurve.datasets import Dataset, Description, PartedDataset
from privcurve.datasets.load import raw_tables
from privcurve.datasets.readers.table import RawTable
from privcurve.files import check_room, open_private, replace_file, shown
from privcurve.privacy import seeds
from privcurve.releases.budget_ledger import BudgetLedger, alone
from privcurve.releases.errors import ReleaseError
from privcurve.releases.sketch import SAME, Sketch, Sketcher

# Below the folder of seeds.
FOLDER = "ledgers"
# The secret that records are hashed under, for all sketches of an owner.
KEY = f"records{seeds.ENDING}"

# In bytes: more than a trace takes.
ROOM = 2**20


@dataclass(frozen=True)
class Trace:
    """A trace of a ledger, which was last at `ledger`, of the dataset `records`.

    `head` is that of :meth:`BudgetLedger.head`; `sketches` are by what each was drawn from.
    """

    file: Path
    ledger: str
    records: str
    n_releases: int
    head: str
    sketches: Mapping[str, Sketch]

    def has(self, sketch: Sketch) -> bool:
        """Whether these are the records of a sketch: most of the smaller table are in both."""
        return any(mine.share(sketch) > SAME for mine in self.sketches.values())


class Traces:
    """The traces in the owner's folder, as one release, whose ledger is given, needs them.

    Of a public benchmark nothing is kept; that its records are not those of a ledger with a trace
    is checked nevertheless.
    """

    def __init__(self, ledger: BudgetLedger, description: Description) -> None:
        self.folder = seeds.folder() / FOLDER
        self._ledger, self._description = ledger, description
        self._keeps = not description.public_benchmark
        self._new_key = ""
        self._sketcher: Sketcher | None = None
        self._made_from = ""
        self._sketch: Sketch | None = None
        if self._keeps or self._all():
            self._sketcher = Sketcher(description, self._key())

    @property
    def watch(self) -> Callable[[RawTable], None] | None:
        """A function to call with all records as they are read; None if none is needed."""
        return None if self._sketcher is None else self._sketcher.add

    def take(self, data: Dataset | PartedDataset) -> None:
        """Take the sketch of the records of a release; read them if `watch` saw none."""
        if self._sketcher is None:
            return
        sources = json.dumps(sorted(data.sources.items()))
        made_from = hashlib.sha256(f"{self._description.digest} {sources}".encode()).hexdigest()
        mine = self._mine()
        if not self._sketcher.n_records and mine is not None:
            self._sketch = mine.sketches.get(made_from)
        if self._sketch is None:
            if not self._sketcher.n_records:
                for table in raw_tables(self._description):
                    self._sketcher.add(table)
            self._sketch = self._sketcher.sketch
        self._made_from = made_from

    def alone(self) -> AbstractContextManager[None]:
        """Let no other release of the owner's begin meanwhile, in whatever folder."""
        return nullcontext() if self._sketch is None else alone(self.folder)

    def check(self, other_records: bool) -> list[str]:
        """Refuse a ledger that lacks releases, and records that are those of another ledger.

        `other_records`: records that are mostly the same are other people's nevertheless; return
        the ledgers of such records.
        """
        mine = self._mine()
        if mine is not None and not self._ledger.continues(mine.head):
            raise ReleaseError(self._lost(mine))
        if self._sketch is None:
            return []
        same = [
            trace
            for trace in self._all()
            # That of this ledger before it was moved says nothing against it.
            if not self._ledger.continues(trace.head) and trace.has(self._sketch)
        ]
        if same and not other_records:
            about, other = self._description, same[0]
            ledger = Path(other.ledger)
            releases = ledger.parent.parent
            elsewhere = releases != self._ledger.path.resolve().parent.parent
            there = f", in {releases.parent}" if elsewhere else ""
            raise ReleaseError(
                same_records(about.of_records, about.name, other.records, shown(ledger), there)
                + " (More than half of the smaller table's records are in both. If they are other "
                "people's nevertheless, say --other-records, which the ledger notes.)"
            )
        return [trace.ledger for trace in same]

    def prepare(self) -> None:
        """Check that a trace can be written; write the key of sketches, if it is a new one."""
        if not self._keeps:
            return
        check_room(self.folder, ROOM)
        path = self.folder / KEY
        if self._new_key:
            seeds.make(path, self._new_key)
            if seeds.read(path).key.hex() != self._new_key:
                raise ReleaseError(
                    f"another release has begun at the same time, the first to keep {path}. "
                    "Nothing was trained. Try again."
                )

    def keep(self) -> None:
        """Write down how far the ledger has come, and the sketch of its records."""
        if not self._keeps or self._sketch is None:
            return
        earlier = [trace for trace in self._all() if self._ledger.continues(trace.head)]
        sketches = {self._made_from: self._sketch}
        for trace in earlier:
            for made_from, other in trace.sketches.items():
                # Of the same fields, the last one is that of the records as they are.
                if other.fields not in {one.fields for one in sketches.values()}:
                    sketches[made_from] = other
        content = {
            "ledger": str(self._ledger.path.resolve()),
            "records": self._description.of_records,
            "releases": len(self._ledger.releases()),
            "head": self._ledger.head(),
            "sketches": {
                made_from: {"fields": one.fields, "hashes": [f"{h:016x}" for h in one.hashes]}
                for made_from, one in sketches.items()
            },
        }
        replace_file(self._file, lambda temporary: _write(temporary, content))
        for trace in earlier:
            if trace.file != self._file:
                trace.file.unlink(missing_ok=True)

    def _key(self) -> bytes:
        path = self.folder / KEY
        seeds.check_secret(path)
        if path.exists():
            return seeds.read(path).key
        if self._all():
            raise ReleaseError(
                f"{path} is gone, without which no records are recognised. Restore it from a "
                f"backup; or, if there is none, move {self.folder} away: what is spent is in the "
                "ledgers then, and nowhere else."
            )
        self._new_key = secrets.token_hex(32)
        return bytes.fromhex(self._new_key)

    @property
    def _file(self) -> Path:
        place = str(self._ledger.path.resolve())
        return self.folder / f"{hashlib.sha256(place.encode()).hexdigest()[:32]}.json"

    def _mine(self) -> Trace | None:
        return _read(self._file) if self._file.exists() else None

    def _all(self) -> list[Trace]:
        return [_read(path) for path in sorted(self.folder.glob("*.json"))]

    def _lost(self, mine: Trace) -> str:
        n_releases = len(self._ledger.releases())
        has = f"has {n_releases}, or others" if self._ledger.path.exists() else "is gone"
        return (
            f"the ledger {self._ledger.path} {has}, but {mine.n_releases} "
            f"release{'' if mine.n_releases == 1 else 's'} stood in it ({mine.file}). Restore it "
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
        return Trace(
            path,
            content["ledger"],
            content["records"],
            int(content["releases"]),
            content["head"],
            {
                source: Sketch(one["fields"], tuple(int(text, 16) for text in one["hashes"]))
                for source, one in content["sketches"].items()
            },
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ReleaseError(
            f"{path}, which says how many releases a ledger had, can't be read ({error}). Nothing "
            "is released until it is restored from a backup."
        ) from None


def _write(path: Path, content: Mapping[str, Any]) -> None:
    with open_private(path, "xb") as file:
        file.write(json.dumps(content, indent=1).encode())
