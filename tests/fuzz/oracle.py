"""The expected result of a mutation: one message that names the fault, or codes of cells."""

from collections import Counter

import numpy as np
import one_cell
from cases import BY_TITLE

from privcurve import datasets
from privcurve.datasets import DatasetError

# A hint at the end of messages.
HINT = "privcurve check "
# Keys that decide which cells are read, and attributes that decide how a file is written.
READING = ("parser", "files", "records", "based_on")
WRITING = ("kind", "names", "separator", "header", "above", "encoding", "line_end", "sheet")


def coded():
    """Return the dataset of descriptions/mine.yaml, or the message of its error."""
    try:
        return datasets.load("mine"), ""
    except DatasetError as error:
        return None, str(error)


def faults_of(case, names=()):
    """Return the faults in the program's result for a case; usually none.

    Parameters
    ----------
    case : Case
        The mutated case, as it was written.
    names : sequence of str
        Names that a message may use for the fault.
    """
    dataset, message = coded()
    if dataset is None:
        return faults_of_message(message, names)
    codes = dataset.X.tolist()
    if np.greater_equal(dataset.X, dataset.domain.n_bins).any():
        return [f"codes without a bin: {codes}"]
    expected = codes_of(case, dataset.domain)
    return [] if expected in (None, codes) else [f"codes {codes}, not {expected}"]


def codes_of(case, domain):
    """Return the expected code of each cell; None if the file is read in another way."""
    path, table = next(iter(case.tables.items()))
    other = BY_TITLE[case.title]
    same = all(case.content.get(key) == other.content.get(key) for key in READING)
    same &= all(getattr(table, key) == getattr(other.tables[path], key) for key in WRITING)
    same &= len(table.rows) == len(other.tables[path].rows) and not case.raw
    if not same or case.text is not None or "records" in case.content:
        return None
    rows = table.rows[: case.content["parser"].get("rows")]
    if table.kind in ("libsvm", "idx"):
        cells = [cells_of(row) for row in rows]
    else:
        places = [table.names.index(name) for name in domain.names]
        cells = [[row[place] for place in places] for row in rows]
    return [
        [one_cell.code(*pair, domain) for pair in zip(row, domain.columns, strict=True)]
        for row in cells
    ]


def cells_of(row):
    """Return the cells of a record: LIBSVM with its zeros, idx as it is."""
    if not isinstance(row[0], str):
        return row
    cells = ["0", "0", "0"]
    for entry in row[0].partition("#")[0].split():
        place, _, value = entry.partition(":")
        cells[int(place) - 1] = value
    return cells


def faults_of_message(message, names):
    """Return the faults in a message: it must name the mutated part, and say each thing once."""
    faults = []
    lines = [line for line in message.splitlines() if not line.startswith(HINT)]
    if not any(line.strip() for line in lines):
        return ["the message is empty"]
    twice = [line for line, count in Counter(lines).items() if count > 1 and line.strip()]
    if twice:
        faults.append(f"said twice: {twice[0]}")
    if names and not any(name in message for name in names):
        faults.append(f"none of {list(names)} is named: {message}")
    internal = [word for word in ("Traceback", "NoneType", "object at 0x") if word in message]
    if internal:
        faults.append(f"{internal[0]} in the message: {message}")
    return faults
