"""Load a model from its file, and predict with it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privcurve import __version__, schema
from privcurve.coding import decide
from privcurve.datasets.build import column_faults, parser_faults
from privcurve.datasets.coding import encode_frame
from privcurve.datasets.description import Parser
from privcurve.datasets.domain import Domain
from privcurve.given import OF_TEXTS, TEXT, column_names, read_classes
from privcurve.learners.registry import LEARNERS, estimator_class, missing_package
from privcurve.learners.shared.explained import are_names_of, check_domain
from privcurve.models import text
from privcurve.models.codec import alternatives, decode
from privcurve.models.document import FORMAT, FORMAT_VERSION, NOT_WRITTEN, key_of
from privcurve.models.errors import ModelError
from privcurve.models.explain import Explanation, explain
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.schema import suggestion
from privcurve.stored import spoken

if TYPE_CHECKING:
    from privcurve.learners.base import CodedClassifier

_SCHEMA = Path(__file__).with_name("model.schema.yaml")

# Exceptions of content that is no model.
_UNUSABLE = (ValueError, TypeError, KeyError, OverflowError, ImportError, RecursionError)


@dataclass(frozen=True)
class Model:
    """A loaded model."""

    learner: str  # its name in the registry
    parameters: Mapping[str, Any]  # public parameters of the learner, ε and δ among them
    domain: Domain  # columns, bins and names of classes
    statement: PrivacyStatement  # what the model guarantees
    versions: Mapping[str, Any]  # of privcurve and of the learner, which the model was saved with
    dataset: Any  # as `save` was given it
    notes: Any  # likewise
    _estimator: CodedClassifier
    parser: Parser | None = None  # how the files are written that it was trained on

    @property
    def classes(self) -> NDArray[Any]:
        """The answers of :meth:`predict`: the classes that the learner was fitted with."""
        return np.asarray(self._estimator.classes_)

    @cached_property
    def _label_values(self) -> NDArray[Any]:
        """The answers of :meth:`predict_frame`: the classes as the label's column has them."""
        label = self.domain.label
        if label.type != TEXT and are_names_of(label.names, self.classes.tolist()):
            return self.classes
        return np.asarray(read_classes(label.type, label.names))

    @cached_property
    def labels(self) -> NDArray[Any]:
        """Names of the classes, as the domain has them, in the order of `classes`."""
        return np.array(self.domain.label.names)

    def predict(self, rows: Any) -> NDArray[Any]:
        """Predict the class of each row, as the fitted learner would.

        Parameters
        ----------
        rows : DataFrame, Arrow table, mapping of columns, or array-like
            Raw values by the names of their columns; an array holds codes of `domain`, and is of an
            unsigned type. Where mixed bins were merged these are not the codes of the dataset.

        Returns
        -------
        ndarray of shape (n_rows,)
            Of `classes`.

        Raises
        ------
        ModelError
            If an array is of another type: it may hold raw values.
        """
        return self._estimator.predict(self._codes_of(rows))

    def decision_function(self, rows: Any) -> NDArray[np.float64]:
        """Score rows, as the fitted learner would; `rows` as for :meth:`predict`."""
        return self._estimator.decision_function(self._codes_of(rows))

    def _codes_of(self, rows: Any) -> ArrayLike:
        if column_names(rows) or hasattr(rows, "columns"):
            return encode_frame(self.domain, rows, in_order=False)
        # A learner that was fitted with a schema takes arrays of raw values, which look like codes.
        if np.asarray(rows).dtype.kind != "u":
            raise ModelError(
                "an array holds codes, in an unsigned type such as uint8, as coding gives them: "
                "give raw values by the names of their columns, in a frame"
            )
        return rows

    def predict_frame(self, frame: Any) -> NDArray[Any]:
        """Predict the label of each row of a frame, as the label's column has it.

        Returns
        -------
        ndarray of shape (n_rows,)
            In the type that the file stores. The answers equal those of :meth:`predict`, unless
            the learner was fitted on codes of the labels.
        """
        codes = encode_frame(self.domain, frame, in_order=False)
        return self._label_values[decide(self.decision_function(codes))]

    def predict_names(self, codes: ArrayLike) -> NDArray[Any]:
        """Predict the name of the class of each row of a coded matrix: a text."""
        return self.labels[decide(self.decision_function(codes))]

    def predict_with_probabilities(
        self, codes: ArrayLike
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return what :meth:`predict_names` and :meth:`predict_proba` do; score each row once."""
        self.check_probabilities()
        scores = self.decision_function(codes)
        return self.labels[decide(scores)], self._estimator.chances(scores)

    def predict_proba(self, rows: Any) -> NDArray[np.float64]:
        """Estimate the probability of each class; `rows` as for :meth:`predict`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)

        Raises
        ------
        ModelError
            If the learner gives none.
        """
        self.check_probabilities()
        return self._estimator.predict_proba(self._codes_of(rows))

    def predict_interval(self, rows: Any) -> NDArray[np.float64]:
        """Return 95 % intervals of the probability of the positive class; `rows` as for `predict`.

        Returns
        -------
        ndarray of shape (n_rows, 2)

        Raises
        ------
        ModelError
            If the learner, or its version of the file, gives none.
        """
        if not hasattr(self._estimator, "predict_interval"):
            raise ModelError(f"{self.learner} gives no intervals: use predict_proba")
        try:
            return np.asarray(self._estimator.predict_interval(self._codes_of(rows)))
        except ValueError as error:
            raise ModelError(str(error)) from error

    def check_probabilities(self) -> None:
        """Raise ModelError if the learner gives no probabilities."""
        if not self.has_probabilities:
            raise ModelError(f"{self.learner} gives no probabilities: ask for labels alone")

    @property
    def has_probabilities(self) -> bool:
        """Whether the learner gives probabilities."""
        return hasattr(self._estimator, "predict_proba")

    def describe(self) -> str:
        """Return the model as a person reads it; its learner's name if it has no such form."""
        return self._estimator.describe(self.domain)

    def explain(self) -> Explanation:
        """Return what the model makes of each column, see :func:`privcurve.explain`."""
        return explain(self._estimator, self.domain)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns, in the order of codes."""
        return np.array(self.domain.names, dtype=object)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The importance of each column, see :class:`Explanation`, in the order of codes."""
        return self.explain().feature_importances


def load(path: str | os.PathLike[str]) -> Model:
    """Read a model that :func:`save` wrote.

    Nothing in the file is run or imported: it is JSON, checked against a schema and against what
    its learner declares. Learners are those of this project alone.

    Raises
    ------
    ModelError
        If the file can't be read, is damaged or changed, or is of an unknown format.
    """
    path = Path(path)
    content = text.read(path)
    version = content.get("format_version")
    if content.get("format") != FORMAT or version != FORMAT_VERSION:
        raise ModelError(
            f"{path} has the format {content.get('format')!r} {version!r}, but this privcurve "
            f"({__version__}) reads {FORMAT!r} {FORMAT_VERSION}. Take the version that the model "
            "was saved with."
        )
    try:
        schema.check(content, _SCHEMA, "it")
        return _restore_model(content)
    except _UNUSABLE as error:
        raise ModelError(f"{path} holds no model that can be used: {error}") from error


def _restore_model(content: Mapping[str, Any]) -> Model:
    name = content["learner"]
    if name not in LEARNERS:
        raise ValueError(f"unknown learner {name!r}{suggestion(name, LEARNERS)}")
    missing = missing_package(name)
    if missing:
        raise ImportError(missing)
    domain = Domain.from_dict(content["domain"])
    _check_domain(domain)
    parser = Parser.from_dict(content["parser"]) if "parser" in content else None
    if parser is not None:
        for fault in parser_faults(parser, domain.columns, domain.label.column):
            raise ValueError(fault)
    fields = dict(content["statement"])
    del fields["text"]
    statement = PrivacyStatement.from_json(json.dumps(fields))
    # A statement without words is refused here, not when it is printed.
    str(statement)
    if any(fields[key] != content[key] for key in ("epsilon", "delta", "calibration")):
        raise ValueError("its statement is not about its epsilon, delta and calibration")
    entries = content["parameters"].items()
    parameters = {key: float("inf") if value == "inf" else value for key, value in entries}
    if "calibration" in parameters:
        parameters["calibration"] = spoken(parameters["calibration"])
    version, oldest = content["made_with"]["learner"], estimator_class(name)._oldest_read
    if version < oldest:
        raise ValueError(
            f"version {version} of {name} made it, and from version {oldest} on scores have "
            "another meaning: predict with the privcurve that saved it, or release a new model"
        )
    estimator = _restore_estimator(name, parameters, content["classes"], domain, content["model"])
    estimator._fitted_statement, estimator._labels_from_rows = statement, False
    versions, dataset, notes = content["made_with"], content["dataset"], content["notes"]
    return Model(name, parameters, domain, statement, versions, dataset, notes, estimator, parser)


def _restore_estimator(
    name: str,
    parameters: Mapping[str, Any],
    classes: list[Any],
    domain: Domain,
    released: Mapping[str, Any],
) -> CodedClassifier:
    """Make a learner in its fitted state."""
    kind = estimator_class(name)
    declared = set(kind().get_params(deep=False)) - set(NOT_WRITTEN)
    for key in parameters.keys() - declared:
        raise ValueError(f"{name} has no parameter {key!r}{suggestion(key, declared)}")
    estimator: CodedClassifier = kind(**parameters, n_bins=list(domain.n_bins), classes=classes)
    estimator._check_parameters()
    if len(classes) != domain.n_classes or len(set(map(str, classes))) < len(classes):
        raise ValueError(f"its classes, {classes}, are not those of its domain")
    estimator.check_classes(len(classes))
    estimator.n_features_in_ = len(domain.columns)
    estimator.n_bins_ = np.array(domain.n_bins, dtype=np.int64)
    estimator.classes_ = np.asarray(classes)
    check_domain(estimator, domain)
    if domain.label.type in OF_TEXTS and classes == list(domain.label.names):
        estimator.classes_ = np.asarray(read_classes(domain.label.type, classes))
    attributes = {key_of(attribute): attribute for attribute in kind._released}
    for key in released.keys() - attributes.keys():
        raise ValueError(f"{name} releases no {key!r}{suggestion(key, attributes)}")
    for key, attribute in attributes.items():
        inner = kind._released[attribute]
        if key in released:
            setattr(estimator, attribute, decode(released[key], inner, key))
        elif NoneType not in alternatives(inner):
            raise ValueError(f"its model has no {key!r}")
    estimator._restore()
    return estimator


def _check_domain(domain: Domain) -> None:
    """Refuse a domain that can't code records."""
    for column in domain.columns:
        merged = column.merged
        if merged and (len(merged) != column.bins + 1 or sorted(set(merged)) != list(merged)):
            raise ValueError(f"merged bins of the column {column.name!r} have other edges")
    for fault in column_faults(domain.columns):
        raise ValueError(fault)
    if len(set(read_classes(domain.label.type, domain.label.names))) < domain.n_classes:
        raise ValueError("its classes have the same name")
    if spelt := domain.label.spellings:
        texts, names = zip(*spelt, strict=True)
        if len(set(texts)) < len(texts) or set(names) != set(domain.label.names):
            raise ValueError("the spellings of its label do not name its classes")
