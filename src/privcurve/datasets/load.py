"""Encode a dataset with its description: fetch, read, encode and sample."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Codes, code_type, limit_places
from privcurve.datasets import reading
from privcurve.datasets.catalogue import describe
from privcurve.datasets.coding import (
    DIGITS,
    NOTED,
    Coded,
    Coder,
    ColumnCounts,
    explain_alike,
)
from privcurve.datasets.dataset import Dataset, PartedDataset, checksum, origin, save
from privcurve.datasets.description import RANDOM, TEST, TRAIN, Description, Subsample
from privcurve.datasets.domain import Domain
from privcurve.datasets.errors import DatasetError, Problems
from privcurve.datasets.part_files import PartWriter
from privcurve.datasets.reading import RawFile, RawTable, fetch, sha256_of
from privcurve.datasets.rows import balance_labels

# Maximum share of clipped values in a column. A larger share probably means that bounds and values
# have different units. It is an error, unless the description says `clipping: expected`.
REFUSED = 0.5


def load(name: str, watch: Callable[[RawTable], None] | None = None) -> Dataset:
    """Fetch the files of a dataset, read them and encode the records.

    Parameters
    ----------
    name : str
        One of :func:`privcurve.datasets.names`.
    watch : callable, optional
        Called with each piece of records before it is encoded.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetError
        If the dataset is unknown or unavailable, or contradicts its description. The message
        names up to twenty culprits and the remedy.
    """
    return load_rows(name, watch)[0]


def load_rows(
    name: str, watch: Callable[[RawTable], None] | None = None
) -> tuple[Dataset, NDArray[np.intp], NDArray[np.intp]]:
    """Return the dataset of :func:`load`, and the positions of its training and test records.

    The positions count all records that were read, first the records of the training files, then
    the records of the test files.
    """
    description = describe(name)
    train, test_rows, common = _load_parts(description, _GrowingArrays(description), watch)
    return Dataset(**common, X=train.X, y=train.y), train.rows, test_rows


def load_places(
    name: str, watch: Callable[[RawTable], None] | None = None
) -> tuple[str, NDArray[np.intp]]:
    """Return a dataset's checksum, and a number for each training record (its place).

    A hold-out is drawn by places. If ε protects single records, the place of a record is its
    position among all training records that were read. If ε protects persons, all records of a
    person have the place of the person's first record. Positions then count at most `at_most`
    records of each person, so that further records do not change the places of other persons.
    """
    description = describe(name)
    train, _, common = _load_parts(description, _GrowingArrays(description), watch)
    if description.unit is None:
        return common["checksum"], train.rows
    first: dict[str, int] = {}
    counted, place = Counter[str](), 0
    for person in train.persons:
        first.setdefault(person, place)
        place += counted[person] < description.unit.at_most
        counted[person] += 1
    places = np.array([first[train.persons[row]] for row in train.rows], dtype=np.intp)
    return common["checksum"], places


def prepare(
    name: str, folder: str | os.PathLike[str], watch: Callable[[RawTable], None] | None = None
) -> Dataset | PartedDataset:
    """Load a dataset and save it to a folder.

    The dataset is partitioned if it is large or if its description says so. Parameters and errors
    are as in :func:`load`; in addition, WriteError is raised if the folder is not writable.
    """
    description = describe(name)
    dataset: Dataset | PartedDataset
    if not description.part_rows:
        dataset = load(name, watch=watch)
        save(dataset, folder)
        return dataset
    with PartWriter(description, Path(folder)) as writer:
        _, _, common = _load_parts(description, writer, watch)
        dataset = PartedDataset(**common, parts=writer.keep(common["checksum"]))
        save(dataset, folder)
    return dataset


def _load_parts(
    description: Description,
    sink: _GrowingArrays | PartWriter,
    watch: Callable[[RawTable], None] | None,
) -> tuple[Coded, NDArray[np.intp], dict[str, Any]]:
    """Fetch, read, encode and check a dataset; add its training records to `sink`.

    Returns three values: the encoded training records (without bins if `sink` is a PartWriter,
    which writes them to files); the positions of the test records among all records that were read;
    and the arguments that :class:`Dataset` and :class:`PartedDataset` have in common, including the
    arrays of the test set.
    """
    name = description.name
    files = fetch(description)
    # Determine the state of the files before reading: if a file changes while it is read, the
    # dataset must not count as current.
    made_from = origin(description)
    digests = {Path(path): state["sha256"] for path, state in made_from["local"].items()}
    sources = checksums(files, digests)
    problems = Problems(name)
    first = description.records.first
    train, counts = _read(description, files, description.parts, problems, sink, first, watch)
    test, test_counts = None, list[ColumnCounts]()
    if description.n_test:
        growing = _GrowingArrays(description, (TEST,))
        test, test_counts = _read(description, files, (TEST,), problems, growing, watch=watch)
        check_kept(description, len(test.y), test.n_read, "n_test", problems)
    clipped = {TRAIN: _find_clipped_shares(description, TRAIN, counts, problems)}
    if test is not None:
        clipped[TEST] = _find_clipped_shares(description, TEST, test_counts, problems)
    train = _sample(description, train, problems)
    problems.check()
    more: dict[str, Any] = {} if test is None else {"X_test": test.X, "y_test": test.y}
    unit = description.unit
    remarks = problems.remarks
    if unit is not None:
        more |= _number_persons(train, test)
        names = [*train.persons, *(() if test is None else test.persons)]
        alike = explain_alike(unit.column, names)
        remarks += (f"{alike}. privcurve check shows some",) if alike else ()
    common = {
        "name": name,
        "domain": description.domain,
        **more,
        **({} if unit is None else {"at_most": unit.at_most}),
        "checksum": sink.checksum(train, more),
        "n_clipped": sum(column.clipped for column in counts),
        "n_clipped_test": sum(column.clipped for column in test_counts),
        "clipped": clipped,
        "sources": sources,
        "origin": made_from,
        "remarks": remarks,
    }
    test_rows = np.arange(0) if test is None else train.n_read + test.rows
    return train, test_rows, common


def _number_persons(train: Coded, test: Coded | None) -> dict[str, NDArray[np.int32]]:
    """Assign a number to each person; return the number of each record's person.

    The arrays ``persons`` and ``persons_test`` have the same number for the same person.
    """
    numbers: dict[str, int] = {}
    arrays = {}
    for key, part in (("persons", train), ("persons_test", test)):
        if part is not None:
            persons = [part.persons[row] for row in part.rows]
            codes = [numbers.setdefault(person, len(numbers)) for person in persons]
            arrays[key] = np.array(codes, dtype=np.int32)
    return arrays


def checksums(
    files: Mapping[str, Sequence[RawFile]], digest_of: Mapping[Path, str] | None = None
) -> dict[str, str]:
    """Return the checksum of each raw file, by the name of the file.

    If names are not unique, the key is the group of files (``train``, ``test``) and the name.
    `digest_of` has checksums by path; only the other files are read. Raises DatasetError if two
    files have the same bytes: their records would count twice, or would be in both the training and
    the test set.
    """
    paths = [(part, path) for part, group in files.items() for file in group for path in file.paths]
    same_name = len({path.name for _, path in paths}) < len(paths)
    digests: dict[str, str] = {}
    first: dict[str, tuple[str, Path]] = {}
    for part, path in paths:
        digest = (digest_of or {}).get(path) or sha256_of(path)
        if digest in first:
            other_part, other = first[digest]
            raise DatasetError(
                f"{path} (files: {part}) and {other} (files: {other_part}) are byte for byte "
                "the same: records would count twice, or be both trained and tested on. "
                "Correct files, or leave one out."
            )
        first[digest] = (part, path)
        name = f"{part}/{path.name}" if same_name else path.name
        digests[str(path) if name in digests else name] = digest
    return digests


def _read(
    description: Description,
    files: Mapping[str, Sequence[RawFile]],
    parts: Sequence[str],
    problems: Problems,
    sink: _GrowingArrays | PartWriter,
    first: int = 0,
    watch: Callable[[RawTable], None] | None = None,
) -> tuple[Coded, list[ColumnCounts]]:
    """Read and encode the first `first` records (0: all) in the groups of files `parts`.

    Adds the records to `sink`. Returns the encoded records, and the :class:`ColumnCounts` of each
    column. If ε protects persons, the result has at most `at_most` records of each person.
    """
    coder = Coder(description.domain, description.path, problems)
    for part in parts:
        n_before = sink.n_rows + problems.n_unread
        # A dataset without files (from scikit-learn, or generated) is read with None as its only
        # file.
        for file in files.get(part, (None,)):
            most = min(first - sink.n_rows, sys.maxsize) if first else None
            for table in reading.read(description, file, problems, most):
                if watch is not None:
                    watch(table)
                X, persons = coder.code_columns(table), coder.name_persons(description, table)
                sink.add(X, coder.code_labels(description, table), persons)
                if problems.full:
                    return sink.coded, coder.counts
            if first and sink.n_rows == first:
                return sink.coded, coder.counts
        _check_size(description, part, sink.n_rows + problems.n_unread - n_before, problems)
    if first:
        problems.add(
            f"records: first is {first}, but there are {sink.n_rows} (in {description.path})"
        )
    return sink.coded, coder.counts


class _GrowingArrays:
    """Collects encoded records in arrays that grow as pieces are added.

    To save memory, the arrays get no more rows than the description promises, unless more records
    are added.
    """

    def __init__(self, description: Description, parts: Sequence[str] | None = None) -> None:
        self._domain = domain = description.domain
        self.n_rows = 0
        sizes = [description.raw_sizes.get(part, 0) for part in parts or description.parts]
        self._expected = (0 if parts else description.records.first) or sum(sizes)
        self._X = np.empty((0, len(domain.columns)), dtype=code_type(domain.n_bins))
        self._y = np.empty(0, dtype=np.int8)
        self._unit = description.unit
        self._persons: list[str] = []

    def add(self, X: Codes, y: NDArray[np.int8], persons: Sequence[str]) -> None:
        """Add bins and labels of records, and the names of persons if ε protects persons."""
        self._persons += persons
        end = self.n_rows + len(y)
        if end > len(self._y):
            # Double the size of the arrays, so that they are seldom copied. But use at most the
            # number of records in the description, unless there are more records.
            room = max(end, 2 * self.n_rows)
            room = min(room, self._expected) if end <= self._expected else room
            self._X.resize((room, self._X.shape[1]), refcheck=False)
            self._y.resize(room, refcheck=False)
        self._X[self.n_rows : end], self._y[self.n_rows : end] = X, y
        self.n_rows = end

    @property
    def coded(self) -> Coded:
        X, y, rows = self._X[: self.n_rows], self._y[: self.n_rows], np.arange(self.n_rows)
        if self._unit is not None:
            rows = limit_places(self._persons, self._unit.at_most, self._unit.seed)
            X, y = X[rows], y[rows]
        return Coded(X, y, self.n_rows, rows, self._persons)

    def checksum(self, train: Coded, more: Mapping[str, NDArray[Any]]) -> str:
        """Return the checksum of the dataset; `more` has the arrays of test set and persons."""
        at_most = None if self._unit is None else self._unit.at_most
        return checksum(self._domain, {"X": train.X, "y": train.y, **more}, at_most)


def _check_size(description: Description, part: str, n_read: int, problems: Problems) -> None:
    """Add a problem if a group of files has no records, or another number than described."""
    source = " and ".join(file.local or file.name for file in description.files.get(part, ()))
    if not n_read:
        problems.add(f"{source} holds no records")
        return
    if n_read != (expected := description.raw_sizes.get(part, n_read)):
        key = "n_test" if part == TEST else "n_rows"
        _add_wrong_number(description, f"{source} holds {n_read} records", key, expected, problems)


def _add_wrong_number(
    description: Description, what: str, key: str, expected: int, problems: Problems
) -> None:
    """Add the problem that a number of records differs from the description.

    `what` is a clause with the real number; the description has the number `expected` at `key`.
    """
    problems.add(
        f"{what}, but {description.path} says {key}: {expected}. If it is the wrong file, "
        "replace it. The number of records is public: decide whether it may be known, before "
        f"you change {key}."
    )


def _sample(description: Description, coded: Coded, problems: Problems) -> Coded:
    """Return the records that `records: balance` selects.

    Adds a problem if all records have one label, or if another number of records remains than the
    description says.
    """
    records = description.records
    if problems.any:
        return coded
    if len(np.unique(coded.y)) < 2:
        problems.add(
            f"all {len(coded.y)} records have the same label. Check label "
            f"({'classes' if description.label.classes else 'positive, negative'}) in "
            f"{description.path}, or the file."
        )
        return coded
    if records.balance:
        rng = None
        if records.balance == RANDOM:
            rng = np.random.Generator(np.random.PCG64(records.seed))
        keep = balance_labels(coded.y, rng)
        coded = coded._replace(X=coded.X[keep], y=coded.y[keep], rows=coded.rows[keep])
    if description.unit is not None and not records.balance:
        check_kept(description, len(coded.y), coded.n_read, "n_rows", problems)
    elif records != Subsample() and len(coded.y) != description.n_rows:
        what = f"records leaves {len(coded.y)} records"
        _add_wrong_number(description, what, "n_rows", description.n_rows, problems)
    return coded


def check_kept(
    description: Description, n_kept: int, n_read: int, key: str, problems: Problems
) -> None:
    """Add a problem if `n_kept`, a number of records, is not the number in the description.

    Of the `n_read` records, `n_kept` remain with at most ``unit.at_most`` of each person. The
    description has the expected number at `key` (``n_rows`` or ``n_test``).
    """
    unit, expected = description.unit, getattr(description, key)
    if unit is not None and not problems.any and n_kept != expected:
        limit = f"at most {unit.at_most} of each {unit.column}"
        what = f"unit keeps {n_kept} of {n_read} records ({limit})"
        _add_wrong_number(description, what, key, expected, problems)


def _find_clipped_shares(
    description: Description, part: str, counts: Sequence[ColumnCounts], problems: Problems
) -> dict[str, float]:
    """Return the share of clipped values of each column that has any.

    A share above `REFUSED` is a problem, unless the description says `clipping: expected`.
    """
    shares = {}
    for of_column in counts:
        column = of_column.column
        if not of_column.clipped:
            continue
        share = shares[column.name] = of_column.share(of_column.clipped)
        if share > REFUSED and column.name not in description.clipped:
            bounds = " to ".join(column.format_bounds(DIGITS))
            problems.add(
                f"{share:.0%} of the values of {column.name!r} ({part}) lie outside its bounds, "
                f"{bounds}: check their unit, and decide on bounds from what is public, "
                f"not from the records. If it must be so, say clipping: expected of the column in "
                f"{description.path}."
            )
    return shares


def clipping_notes(facts: Mapping[str, Any]) -> list[str]:
    """Return a note for each column with a share of clipped values above :data:`NOTED`.

    Training and test records get separate notes. `facts` is the result of
    :func:`privcurve.datasets.facts`.
    """
    columns = Domain.from_dict(facts["domain"]).columns
    ends = {column.name: column.format_bounds(DIGITS) for column in columns if column.bounds}
    return [
        f"{facts['name']}: {share:.0%} of the values of {name!r} ({part}) lay outside the bounds "
        f"{ends[name][0]} to {ends[name][1]} and were clipped to them."
        for part, shares in facts["clipped"].items()
        for name, share in shares.items()
        if share > NOTED
    ]


def data_notes(facts: Mapping[str, Any] | None) -> list[str]:
    """Return notes for users who train on a dataset: on clipped values, and the dataset's remarks.

    `facts` is the result of :func:`privcurve.datasets.facts`; None gives no notes.
    """
    if facts is None:
        return []
    remarks = (f"{facts['name']}: {remark}." for remark in facts.get("remarks", ()))
    return [*clipping_notes(facts), *remarks]
