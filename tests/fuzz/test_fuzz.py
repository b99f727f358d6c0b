"""Mutated descriptions, tables and studies give one message that names the fault, or right codes.

For a valid table, the code of each cell must be the code that the cell has by itself. A failure has
a number; to look at it:  python tests/fuzz/show.py dataset 123
"""

import shutil

import numpy as np
import pytest
from cases import BY_TITLE, CASES
from mutations import mutation
from oracle import coded, faults_of, faults_of_message
from studies import STUDIES, faults_of_study, message_of, study_mutation
from studies import dumped as written

from privcurve.datasets.coding import coder

# Number of parts; mutations per part of descriptions and tables, and of studies.
N_PARTS, N_DATASETS, N_STUDIES = 4, 190, 60
# The default tests use the mutations after these.
FEW = range(N_PARTS * N_DATASETS, N_PARTS * N_DATASETS + 45)
FEW_STUDIES = range(N_PARTS * N_STUDIES, N_PARTS * N_STUDIES + 15)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Change to an empty folder, without files of this machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PRIVCURVE_DATA", raising=False)
    return tmp_path


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_cases_are_valid_before_mutation(case, folder):
    case.write(folder)
    assert coded()[1] == ""
    assert faults_of(case) == []


@pytest.mark.parametrize("title", STUDIES)
def test_studies_are_valid_before_mutation(title, folder):
    (folder / "mine.yaml").write_text(written(STUDIES[title]))
    assert message_of(folder) == ""


def test_a_few_mutations(folder):
    assert list(of_datasets(folder, FEW)) == []
    assert list(of_studies(folder, FEW_STUDIES)) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(N_PARTS))
def test_a_thousand_mutations(part, folder):
    faults = [
        *of_datasets(folder, range(part * N_DATASETS, (part + 1) * N_DATASETS)),
        *of_studies(folder, range(part * N_STUDIES, (part + 1) * N_STUDIES)),
    ]
    assert not faults, "\n".join(faults)


def of_datasets(folder, numbers):
    """Yield the faults in the results of mutated descriptions and tables."""
    for number in numbers:
        one = mutation(number)
        _remove_datasets(folder)
        one.case.write(folder)
        yield from (f"{one}: {fault}" for fault in faults_of(one.case, one.names))


def of_studies(folder, numbers):
    """Yield the faults in the results of mutated studies."""
    # Studies may use only shipped datasets, so delete earlier descriptions.
    _remove_datasets(folder)
    for number in numbers:
        one = study_mutation(number)
        (folder / "mine.yaml").write_bytes(one.data)
        yield from (f"{one}: {fault}" for fault in faults_of_study(folder, one.names))


def _remove_datasets(folder):
    for name in ("descriptions", "data"):
        shutil.rmtree(folder / name, ignore_errors=True)


# Tests of the oracle ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("data/mine.csv has no column 'age'", []),
        ("data/mine.csv has no column 'town'", ["none of ['age'] is named"]),
        ("'age' is missing\n'age' is missing", ["said twice: 'age' is missing"]),
        ("'age' is <object object at 0x7f>", ["object at 0x in the message"]),
        (" \n", ["the message is empty"]),
    ],
)
def test_messages_are_judged(fault, message):
    faults = faults_of_message(fault, ["age"])
    assert len(faults) == len(message)
    assert all(one.startswith(start) for one, start in zip(faults, message, strict=True))


def test_a_value_on_an_edge_in_the_bin_below_is_noticed(folder, monkeypatch):
    def below(numbers, edges):
        return np.searchsorted(np.asarray(edges)[1:-1], numbers, side="left")

    monkeypatch.setattr(coder, "code_by_edges", below)
    case = BY_TITLE["LIBSVM"]
    case.write(folder)
    assert [fault.split()[0] for fault in faults_of(case)] == ["codes"]
