"""Datasets: encode raw files as a matrix of bins over a public domain.

The categories and bounds of the domain come from the description of the dataset,
``resources/datasets/<name>.yaml``. Only the encoded matrix is computed from the records.
"""

from privcurve.datasets.catalogue import describe, names
from privcurve.datasets.dataset import (
    Dataset,
    PartedDataset,
    check_current,
    facts,
    is_current,
    is_public,
    read,
    read_coded,
    save,
)
from privcurve.datasets.description import Description
from privcurve.datasets.domain import Column, Domain, Label
from privcurve.datasets.errors import DatasetError
from privcurve.datasets.load import clipping_notes, data_notes, load, prepare
from privcurve.datasets.rows import check_folds, distinct, label_persons, stratified_folds

__all__ = [
    "Column",
    "Dataset",
    "DatasetError",
    "Description",
    "Domain",
    "Label",
    "PartedDataset",
    "check_current",
    "check_folds",
    "clipping_notes",
    "data_notes",
    "describe",
    "distinct",
    "facts",
    "is_current",
    "is_public",
    "label_persons",
    "load",
    "names",
    "prepare",
    "read",
    "read_coded",
    "save",
    "stratified_folds",
]
