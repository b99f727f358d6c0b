"""Save a fitted learner as a model file."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from privcurve import __version__
from privcurve.datasets.description import Parser
from privcurve.datasets.domain import Domain
from privcurve.datasets.reading import file_kind_names
from privcurve.given import OF_TEXTS, TEXT, type_of_classes
from privcurve.learners.registry import LEARNERS, estimator_class
from privcurve.learners.shared.explained import are_names_of, check_domain
from privcurve.models import text
from privcurve.models.codec import encode
from privcurve.models.errors import ModelError
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.stored import stored

if TYPE_CHECKING:
    from privcurve.learners.base import CodedClassifier

FORMAT = "privcurve model"
# The version of the file format. It increases if the meaning of files changes.
FORMAT_VERSION = 1

# Parameters that a file does not contain: the seed, which is secret, and facts that the domain in
# the file has already.
NOT_WRITTEN = ("n_bins", "bounds", "classes", "schema", "random_state", "mixed_bins", "levels")


def key_of(attribute: str) -> str:
    """Return the key in a model file for an attribute of a learner: its name without ``_``."""
    return attribute.rstrip("_")


def save(
    path: str | os.PathLike[str],
    estimator: CodedClassifier,
    domain: Domain | None = None,
    *,
    parser: Parser | None = None,
    statement: PrivacyStatement | None = None,
    dataset: object = None,
    notes: object = None,
) -> None:
    """Write a fitted learner as a file of JSON (docs/model_file.md).

    The file contains only released results of the fit and public facts: no exact counts, no private
    number of records, no seed. It suffices for predictions; its privacy statement bounds what it
    may reveal.

    Parameters
    ----------
    path : path
        The file to write; its folder is created if necessary.
    estimator : CodedClassifier
        A fitted learner of this project, trained on data encoded by `domain`.
    domain : Domain, optional
        The public meaning of the columns and classes; by default the domain of the learner's
        ``schema``.
    parser : Parser, optional
        The public format of the training files, such as ``datasets.describe("patients").parser``.
        ``privcurve predict`` uses it to read files without column names.
    statement : PrivacyStatement, optional
        The statement of the released model; by default the estimator's ``privacy_``.
    dataset, notes : optional
        Texts or plain JSON, written unchanged into the file. They must be public.

    Raises
    ------
    ModelError
        If the learner can't be released, is not fitted, or was fitted on other columns or classes
        than `domain` has.
    OSError
        If the file can't be written.
    """
    if domain is None:
        _learner_of(estimator)
        schema = estimator._as_fitted().schema
        if schema is None:
            raise ModelError("give the domain that encoded the data, or fit with schema=")
        domain = schema.domain
    content = document(
        estimator, domain, parser=parser, statement=statement, dataset=dataset, notes=notes
    )
    if Path(path).is_dir():
        raise ModelError(f"{path} is a folder: name the file to write, such as model.json")
    text.write(Path(path), content)


def document(
    estimator: CodedClassifier,
    domain: Domain,
    *,
    parser: Parser | None = None,
    statement: PrivacyStatement | None = None,
    dataset: object = None,
    notes: object = None,
) -> dict[str, Any]:
    """Return the content of the file that :func:`save` writes, without the checksum (the seal)."""
    name = _learner_of(estimator)
    if not hasattr(estimator, "classes_"):
        raise ModelError(f"{name} is not fitted: call fit first")
    estimator = estimator._as_fitted()
    chosen = estimator._model_to_save()._as_fitted()
    if not chosen._released:
        raise ModelError(f"{chosen._learner} can't be saved: {chosen._why_kept_back}")
    check(estimator, domain)
    chosen, domain = chosen._on_groups(domain)
    stated = estimator.privacy_ if statement is None else statement
    fields = json.loads(stated.to_json())
    parameters = {
        key: stored(_encode_parameter(value, key))
        if key == "calibration"
        else _encode_parameter(value, key)
        for key, value in chosen.get_params(deep=False).items()
        if key not in NOT_WRITTEN
    }
    classes, facts = _encode_classes(estimator, domain)
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "made_with": {"privcurve": __version__, "learner": LEARNERS[chosen._learner].version},
        "learner": chosen._learner,
        "calibration": fields["calibration"],
        "epsilon": fields["epsilon"],
        "delta": fields["delta"],
        "parameters": parameters,
        "classes": classes,
        "domain": facts,
        # Leave the parser out if the dataset has no files, and so no file format.
        **({"parser": parser.to_dict()} if parser and parser.kind in file_kind_names() else {}),
        "model": _encode_attributes(chosen),
        "statement": {"text": str(stated), **fields},
        "dataset": _check_json(dataset, "dataset"),
        "notes": _check_json(notes, "notes"),
    }


def _encode_classes(estimator: CodedClassifier, domain: Domain) -> tuple[list[Any], dict[str, Any]]:
    """Return the classes of the fit, and the domain with the type of the labels, as plain JSON."""
    classes, facts = np.asarray(estimator.classes_).tolist(), domain.to_dict()
    names = domain.label.names
    kind = type_of_classes(classes)
    if kind in OF_TEXTS:
        # JSON has no type for these labels (such as dates): write the names of the classes instead.
        classes = list(names)
    elif estimator.schema is None or not are_names_of(names, classes):
        # The fit got the index of each label's class instead of the label itself. Write the type of
        # the labels themselves, which the domain has.
        kind = domain.label.type
    if kind != TEXT:
        facts["label"]["type"] = kind
    return classes, facts


def _encode_attributes(estimator: CodedClassifier) -> dict[str, Any]:
    entries = {}
    for attribute, declared in estimator._released.items():
        if hasattr(estimator, attribute):
            value, key = getattr(estimator, attribute), key_of(attribute)
            try:
                entries[key] = encode(value, declared, key)
            except ValueError as error:
                raise ModelError(f"{estimator._learner} can't be saved: {error}") from None
    return entries


def _learner_of(estimator: object) -> str:
    """Return the name of a learner; raise ModelError if it can't be saved."""
    name = getattr(estimator, "_learner", None)
    if name not in LEARNERS or type(estimator) is not estimator_class(str(name)):
        raise ModelError(
            f"{type(estimator).__name__} can't be saved: only unmodified learners of privcurve "
            "can. For a pipeline or a search, give the fitted learner in it; pickle a learner of "
            "your own"
        )
    return str(name)


def check(estimator: CodedClassifier, domain: Domain) -> None:
    """Raise ModelError if a domain has other columns, bins or classes than the learner's fit."""
    try:
        check_domain(estimator, domain)
    except ValueError as error:
        raise ModelError(str(error)) from None


def _encode_parameter(value: object, key: str) -> Any:
    """Return a parameter as plain JSON; infinity is the text ``inf``."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        number = float(value)
        if np.isfinite(number):
            return number
        if number == float("inf"):
            return "inf"
    if isinstance(value, (tuple, list)):
        return [_encode_parameter(item, key) for item in value]
    raise ModelError(f"{key} = {value!r} can't be written as JSON")


def _check_json(value: object, name: str) -> Any:
    """Return `value` if it is plain JSON; raise ModelError otherwise."""
    with suppress(TypeError, ValueError):
        written = json.dumps(value, allow_nan=False)
        written.encode("utf-8")
        if json.loads(written) == value:
            return value
    raise ModelError(f"{name} must be a text or plain JSON; got {value!r}")
