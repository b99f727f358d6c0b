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

# Exceptions that the invalid content of a file raises.
_UNUSABLE = (ValueError, TypeError, KeyError, OverflowError, ImportError, RecursionError)


@dataclass(frozen=True)
class Model:
    """A model from a file, which predicts like the fitted learner that was saved."""

    learner: str  # name of the learner in the registry
    parameters: Mapping[str, Any]  # public parameters of the learner, including ε and δ
    domain: Domain  # columns, bins and names of classes
    statement: PrivacyStatement  # the guarantee of the model
    versions: Mapping[str, Any]  # versions of privcurve and of the learner when the model was saved
    dataset: Any  # the argument `dataset` of `save`
    notes: Any  # the argument `notes` of `save`
    _estimator: CodedClassifier
    parser: Parser | None = None  # format of the training files

    @property
    def classes(self) -> NDArray[Any]:
        """The classes of the fit: :meth:`predict` returns these."""
        return np.asarray(self._estimator.classes_)

    @cached_property
    def _label_values(self) -> NDArray[Any]:
        """The classes as values of the label's column: :meth:`predict_frame` returns these."""
        label = self.domain.label
        if label.type != TEXT and are_names_of(label.names, self.classes.tolist()):
            return self.classes
        return np.asarray(read_classes(label.type, label.names))

    @cached_property
    def labels(self) -> NDArray[Any]:
        """The names of the classes in the domain, in the order of `classes`."""
        return np.array(self.domain.label.names)

    def predict(self, rows: object) -> NDArray[Any]:
        """Predict the class of each row, like the fitted learner.

        Parameters
        ----------
        rows : DataFrame, Arrow table, mapping of columns, or array-like
            Raw values by column name; or an array of bins of `domain`, of an unsigned type. If the
            learner merged bins, `domain` has other bins than the dataset.

        Returns
        -------
        ndarray of shape (n_rows,)
            Items of `classes`.

        Raises
        ------
        ModelError
            If an array has another type than unsigned integers, as it may contain raw values.
        """
        return self._estimator.predict(self._codes_of(rows))

    def decision_function(self, rows: object) -> NDArray[np.float64]:
        """Return the scores of rows, as the fitted learner does; `predict` explains `rows`."""
        return self._estimator.decision_function(self._codes_of(rows))

    def _codes_of(self, rows: Any) -> ArrayLike:
        if column_names(rows) or hasattr(rows, "columns"):
            return encode_frame(self.domain, rows, in_order=False)
        # Refuse signed numbers and floats: they may be raw values, which would be read as bins.
        if np.asarray(rows).dtype.kind != "u":
            raise ModelError(
                f"an array of bins must have an unsigned type, such as uint8; got "
                f"{np.asarray(rows).dtype}. Give raw values in a frame, with column names"
            )
        return rows

    def predict_frame(self, frame: object) -> NDArray[Any]:
        """Predict the label of each row of a frame, as a value of the label's column.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels of the type in the model's file. They equal the results of :meth:`predict`,
            unless the learner was fitted on encoded labels.
        """
        codes = encode_frame(self.domain, frame, in_order=False)
        return self._label_values[decide(self.decision_function(codes))]

    def predict_names(self, codes: ArrayLike) -> NDArray[Any]:
        """Return the name of each row's predicted class.

        `codes` may have all forms that the argument `rows` of :meth:`predict` may have.
        """
        return self.labels[decide(self.decision_function(codes))]

    def predict_with_probabilities(
        self, codes: ArrayLike
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return the results of :meth:`predict_names` and :meth:`predict_proba` together."""
        self.check_probabilities()
        scores = self.decision_function(codes)
        return self.labels[decide(scores)], self._estimator.chances(scores)

    def predict_proba(self, rows: object) -> NDArray[np.float64]:
        """Estimate the probability of each class; :meth:`predict` explains `rows`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)

        Raises
        ------
        ModelError
            If the learner gives no probabilities.
        """
        self.check_probabilities()
        return self._estimator.predict_proba(self._codes_of(rows))

    def predict_interval(self, rows: object) -> NDArray[np.float64]:
        """Return 95 % intervals of each row's probability of the positive class (see `predict`).

        Returns
        -------
        ndarray of shape (n_rows, 2)

        Raises
        ------
        ModelError
            If the learner, or its version that saved the file, gives no intervals.
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
            raise ModelError(f"{self.learner} gives no probabilities: use predict")

    @property
    def has_probabilities(self) -> bool:
        """Whether the learner gives probabilities."""
        return hasattr(self._estimator, "predict_proba")

    def describe(self) -> str:
        """Return a text that describes the model to people; by default, the learner's name."""
        return self._estimator.describe(self.domain)

    def explain(self) -> Explanation:
        """Return importances and shapes of all columns, see :func:`privcurve.explain`."""
        return explain(self._estimator, self.domain)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the columns, in the order of the encoded data."""
        return np.array(self.domain.names, dtype=object)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The importance of each column (:class:`Explanation`), in the order of encoded data."""
        return self.explain().feature_importances


def load(path: str | os.PathLike[str]) -> Model:
    """Read a model that :func:`save` wrote.

    Loading runs and imports nothing from the file. The file is JSON; it is checked against a schema
    and the declared types of the learner's attributes. Only learners of this project can be loaded.

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
            f"({__version__}) reads {FORMAT!r} {FORMAT_VERSION}. Install the version that saved "
            "the model."
        )
    try:
        schema.check(content, _SCHEMA, "it")
        return _restore_model(content)
    except _UNUSABLE as error:
        raise ModelError(f"{path} contains no usable model: {error}") from error


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
    # Format the statement now, so that an invalid one fails here and not when it is printed.
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
    """Construct a learner from the content of a file, with all attributes that a fit would set."""
    kind = estimator_class(name)
    declared = set(kind().get_params(deep=False)) - set(NOT_WRITTEN)
    for key in parameters.keys() - declared:
        raise ValueError(f"{name} has no parameter {key!r}{suggestion(key, declared)}")
    estimator: CodedClassifier = kind(**parameters, n_bins=list(domain.n_bins), classes=classes)
    estimator._check_parameters()
    if len(classes) != domain.n_classes or len(set(map(str, classes))) < len(classes):
        raise ValueError(f"its classes, {classes}, differ from its domain's")
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
    """Raise ValueError if a domain can't encode records."""
    for column in domain.columns:
        merged = column.merged
        if merged and (len(merged) != column.bins + 1 or sorted(set(merged)) != list(merged)):
            raise ValueError(
                f"merged bins of the column {column.name!r} must have {column.bins + 1} edges, "
                "in increasing order"
            )
    for fault in column_faults(domain.columns):
        raise ValueError(fault)
    if len(set(read_classes(domain.label.type, domain.label.names))) < domain.n_classes:
        raise ValueError("its classes have the same name")
    if spelt := domain.label.spellings:
        texts, names = zip(*spelt, strict=True)
        if len(set(texts)) < len(texts) or set(names) != set(domain.label.names):
            raise ValueError("the spellings of its label must be distinct, and name all classes")
