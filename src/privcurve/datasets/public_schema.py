"""Define a schema in Python: the public facts about a DataFrame or another raw table."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from datetime import date
from decimal import Decimal
from functools import cached_property
from numbers import Real
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from privcurve import given, schema
from privcurve.coding import Codes, limit_places
from privcurve.datasets.build import BIN, TEXT, build, label_values
from privcurve.datasets.catalogue import NO_FILES, SCHEMA, public_facts
from privcurve.datasets.coding import Coder, encode_frame, explain_alike, persons_of
from privcurve.datasets.describing import FINE
from privcurve.datasets.description import Description
from privcurve.datasets.domain import CATEGORICAL, FAIL, MISSING, NUMERIC, OTHER, Domain
from privcurve.datasets.errors import DatasetError, Problems
from privcurve.datasets.reading import (
    FRAME,
    RawTable,
    arrow_table,
    convert_cells,
    list_names,
    text_of,
)
from privcurve.datasets.variants import compose_words, escape_name, write_out
from privcurve.schema import suggestion

if TYPE_CHECKING:
    from pandas import DataFrame

IN_ORDER = "in_order"

# Texts that pandas and NumPy write for a missing value when they convert a column to texts.
_NO_VALUES = ("nan", "NaN", "None", "<NA>", "NaT")

_MARKS = ("missing", "unknown", "decimal", "thousands")
_PUBLIC = ("columns", "label", "unit", *_MARKS, "edges", "public", "public_label")

# For each kind of column, the key that a draft leaves blank.
_DECIDED = {NUMERIC: "bounds", "date": "bounds", CATEGORICAL: "categories", "text": "groups"}

# An example of a unit of privacy, for messages.
_UNIT = '{"column": "patient_id", "at_most": 5}'


class Schema:
    """The public facts of a raw table: its columns, their possible values, and the classes.

    Nothing may come from private records: bounds and categories are part of every model.

    Parameters
    ----------
    columns : mapping of str to tuple, list or mapping
        For each feature column, its possible values. A pair ``(low, high)`` of numbers or dates has
        the lowest and the highest value; values outside are clipped. A list has all categories. A
        mapping has keys of a description (docs/datasets.md), for example
        ``{"bounds": [0, 10], "missing": [99]}``. None leaves the column undecided.
    label : sequence, or mapping
        A sequence has the classes as in `y` (texts, numbers, truth values, Decimals, dates or
        times); of two classes, the negative one comes first. A mapping has keys of a description.
        scikit-learn expects sorted classes: a fit warns if they are not sorted.
    missing : str
        ``fail``: a missing value is an error (in a categorical column with ``unknown="other"``,
        it becomes other); ``bin``: each column has an additional bin for missing values. The
        texts nan, NaN, None, <NA> and NaT are missing values too, unless a column lists them.
    unknown : str
        ``fail``: an unlisted category is an error; ``other``: unlisted categories share a bin.
    n_bins : int, optional
        Number of bins of each numeric column that does not set ``n_bins``; by default 64.
    spacing : str
        Spacing of the bins of each numeric column that does not set ``spacing``: ``mixed``,
        ``mixed-high``, ``equal``, ``log`` or ``log1p`` (:func:`privcurve.binning.edges`).
    unit : mapping, optional
        ``{"column": "patient_id", "at_most": 5}``: ε and δ of a fit protect persons, who
        contribute at most this many training rows each (docs/your_data.md).
    unnamed : str
        ``fail``: rows without column names, such as an array, are an error if the schema has
        several columns; ``in_order``: an array has the columns of the schema, in its order. This is
        for tools that pass arrays, such as scikit-learn's ``BaggingClassifier`` (without
        ``bootstrap_features``, which reorders columns). YAML has no such key.

    Raises
    ------
    DatasetError
        If parts of the schema are invalid or contradict each other; the message has all faults.

    Notes
    -----
    Rows must have column names: pandas frames, Arrow tables, structured arrays and mappings of
    columns have them. If the schema has several columns, an array is refused, because it does not
    identify its columns. Let a transformer before the model return a frame
    (``SimpleImputer().set_output(transform="pandas")``), name the columns yourself
    (``pandas.DataFrame(array, columns=schema.names)``), or set `unnamed`. A fitted learner has
    ``feature_names_in_``, in the order of the schema, if the rows of its fit had column names.

    Predictions have the type of the labels of the fit, also after loading a model's file: numbers
    for numbers, texts for texts, dates for dates. The type is public, like the classes. It follows
    from the schema and from all labels together, never from one label: an array with labels of
    several types is refused, a list gets the type of the schema, and whole numbers of float64
    become integers (pandas converts integers to float64 if one is missing).

    Tools of scikit-learn replace labels by 0 … K − 1. A fit reads these as positions of the
    classes, and predicts positions. With more than two classes ``OneVsRestClassifier`` needs a
    schema with ``label=[0, 1]``.
    """

    # Defaults for the keys of columns whose possible values are set later (`__setitem__`).
    _defaults: Mapping[str, Any] = MappingProxyType({"gaps": False, **FINE})

    unnamed: str = FAIL

    def __init__(
        self,
        columns: Mapping[str, object],
        label: Sequence[Any] | Mapping[str, Any],
        *,
        missing: str = FAIL,
        unknown: str = FAIL,
        n_bins: int | None = None,
        spacing: str = FINE["spacing"],
        unit: Mapping[str, object] | None = None,
        unnamed: str = FAIL,
    ) -> None:
        if missing not in (FAIL, BIN):
            raise DatasetError(f"Schema: missing must be {FAIL!r} or {BIN!r}; got {missing!r}")
        if unnamed not in (FAIL, IN_ORDER):
            raise DatasetError(f"Schema: unnamed must be {FAIL!r} or {IN_ORDER!r}; got {unnamed!r}")
        self.unnamed = unnamed
        if not isinstance(columns, Mapping):
            raise DatasetError("Schema: columns must be a mapping of names to possible values")
        entries = [
            _describe_column(name, value, missing == BIN, unknown == OTHER, n_bins, spacing)
            for name, value in columns.items()
        ]
        facts = {"columns": entries, "label": _describe_label(label), "unknown": unknown}
        facts["missing"] = ["", *_NO_VALUES]  # in text files an empty cell is a missing value
        self._defaults = {"gaps": missing == BIN, "n_bins": n_bins, "spacing": spacing}
        if unit is not None:
            if not isinstance(unit, Mapping):
                raise DatasetError(f"Schema: unit must be a mapping, such as {_UNIT}; got {unit!r}")
            facts["unit"] = _yaml_value(unit)
        self._set_facts(facts, _list_labels(label))

    def _set_facts(self, facts: dict[str, Any], values: list[Any]) -> None:
        # Normalize texts to NFC, like the texts of descriptions and files, so that equal texts
        # match.
        self._facts, self._values = compose_words(facts), values
        self.__dict__.pop("_description", None)
        if not self.undecided:
            _ = self._description  # raises DatasetError if the schema has faults

    @classmethod
    def from_description(cls, path: str | Path) -> Self:
        """Make a schema from the description of a dataset, or from a file of :meth:`to_yaml`.

        Parameters
        ----------
        path : path
            A YAML file, such as ``descriptions/telco.yaml``.

        Returns
        -------
        Schema

        Raises
        ------
        DatasetError
            If the file can't be read or is invalid; the message names each fault with its line.
        """
        return cls._from_content(public_facts(Path(path)))

    @classmethod
    def _from_content(cls, content: Mapping[str, Any]) -> Self:
        """Make a schema from a description's columns and label."""
        instance = cls.__new__(cls)
        facts = {key: content[key] for key in _PUBLIC if key in content}
        instance._set_facts(facts, label_values(facts.get("label", {})))
        return instance

    @classmethod
    def draft(cls, frame: DataFrame, label: str, public: bool = False) -> Self:
        """Draft the schema of a table; what a person has to decide is left undecided.

        Parameters
        ----------
        frame : DataFrame
        label : str
            The column to predict.
        public : bool
            Whether the records are public, so that bounds and categories may be copied from them.

        Returns
        -------
        Schema
            Set the possible values of its `undecided` columns: ``schema["tenure"] = (0, 100)``.

        Raises
        ------
        DatasetError
            If no schema can be drafted.

        Warns
        -----
        UserWarning
            If columns are left out; the warning names them.
        """
        from pyarrow import parquet

        from privcurve.datasets.describing import LabelChoice, draft

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "frame.parquet")
            parquet.write_table(arrow_table(frame), path)
            try:
                drafted = draft(path, LabelChoice(label), name="frame", public=public)
            except DatasetError as error:
                raise DatasetError(str(error).replace(str(path), FRAME)) from None
        if unused := [repr(name) for name, column in drafted.columns.items() if not column.kind]:
            warnings.warn(
                f"the draft leaves out {list_names(unused)}: identifiers, sentences, lists, or at "
                "most one value. To learn from one of them, describe it in a Schema of your own",
                stacklevel=2,
            )
        return cls._from_content(write_out(schema.parse_yaml(drafted.text, "the draft")))

    def __setitem__(self, name: str, value: object) -> None:
        """Set the possible values of a column: a pair of bounds, a list of categories or a mapping.

        ``schema["unit"]`` sets the unit of privacy, to a mapping as in a new schema or to ``none``.
        ``schema["label"]`` sets the classes, if they are undecided.
        """
        name = compose_words(name)
        is_none = isinstance(value, str) and value == "none"
        of_persons = is_none or (isinstance(value, Mapping) and "column" in value)
        # A column may also be called "unit". Then the value decides: a unit is "none" or a mapping
        # with the key "column"; any other value belongs to the column.
        if name == "unit" and name in self._facts and (of_persons or name not in self.names):
            if not of_persons:
                raise DatasetError(f'Schema: unit must be {_UNIT} or "none"; got {value!r}')
            self._set_facts({**self._facts, "unit": _yaml_value(value)}, self._values)
            return
        if name == "label" and "label" in self.undecided and name not in self.names:
            label = _describe_label(value) | {"column": self._facts["label"]["column"]}
            if len(label.get("classes", "two")) < 2:
                raise DatasetError(f"Schema: label must be the list of classes; got {value!r}")
            self._set_facts({**self._facts, "label": label}, _list_labels(value))
            return
        if name not in self.names:
            raise KeyError(f"no column {name!r}{suggestion(name, self.names)}")
        place = self.names.index(name)
        old = self._facts["columns"][place]
        words = dict(self._defaults)
        # A text column with groups always has a bin for missing values.
        words["gaps"] |= "missing" in old or old.get("kind") == TEXT
        words["gaps"] |= MISSING in old.get("categories", ())
        entry = _describe_column(name, value, others=self._facts.get("unknown") == OTHER, **words)
        if not isinstance(value, Mapping) and "bounds" in entry:
            # Keep the other keys of the column in the draft, such as the format of dates.
            same = old if old.get("kind") == entry["kind"] else {}
            words = {key: entry.get(key) if word is None else word for key, word in same.items()}
            entry = {**(words or entry), "bounds": entry["bounds"]}
        entries = [*self._facts["columns"]]
        entries[place] = entry
        self._set_facts({**self._facts, "columns": entries}, self._values)

    @property
    def names(self) -> list[str]:
        """Names of the columns, in the order of the encoded columns."""
        return [entry["name"] for entry in self._facts["columns"]]

    @property
    def undecided(self) -> list[str]:
        """Names of the undecided columns, and ``unit`` and ``label`` if they are undecided."""
        blank = [
            entry["name"]
            for entry in self._facts["columns"]
            if any(word is None for word in entry.values()) or "kind" not in entry
        ]
        label = self._facts.get("label", {})
        blank += ["unit"] * (self._facts.get("unit", "none") is None)
        return blank + ["label"] * any(word is None for word in label.values())

    @cached_property
    def _description(self) -> Description:
        if self.undecided:
            hints = ['schema["age"] = (0, 120)']
            if "unit" in self.undecided:
                hints.append(f'schema["unit"] = {_UNIT}, or "none"')
            if any(entry.get("format", "") is None for entry in self._facts["columns"]):
                hints.append(
                    'schema["day"] = {"kind": "date", "bounds": ["1990-01-01", "2029-12-31"], '
                    '"format": "%d.%m.%Y"}'
                )
            if any(entry.get("pivot", "") is None for entry in self._facts["columns"]):
                hints.append(
                    'schema["day"] = {"kind": "date", "bounds": ["1930-01-01", "2029-12-31"], '
                    '"format": "%d.%m.%y", "pivot": 1930} (years of two digits from 1930 on)'
                )
            raise DatasetError(
                f"the schema must be complete; undecided: {', '.join(self.undecided)}. Set the "
                f"possible values of each from public knowledge: {'; '.join(hints)}"
            )
        content = {**NO_FILES, **self._facts}
        try:
            schema.check(content, SCHEMA, "Schema", in_yaml=False)
        except schema.SchemaError as error:
            raise DatasetError(str(error)) from None
        description = build("schema", Path("Schema"), content)
        domain = description.domain
        # A description stores classes such as dates as texts: restore the type of the classes.
        label = replace(domain.label, type=given.type_of_classes(self._values))
        return replace(description, domain=replace(domain, label=label))

    @property
    def domain(self) -> Domain:
        """The schema as a :class:`Domain`: columns, bins and names of classes."""
        return self._description.domain

    @property
    def classes(self) -> list[Any]:
        """The classes in their original type; with two classes the negative one is first."""
        names = list(self.domain.label.names)
        return self._values if len(self._values) == len(names) else names

    def classes_as(self, y: object) -> list[Any]:
        """Return the classes in the type of `y`, so that they equal the labels in `y`.

        All labels together determine the type: the classes 0 and 1 become texts for labels "0" and
        "1". Numbers and truth values count as one type. If `y` is a list, the result is `classes`.
        If the labels are positions of classes (:meth:`positions`), the result is 0 … K − 1.

        Raises
        ------
        ValueError
            If an array has labels of several types.
        """
        labels = given.read_labels(y)
        if self._are_positions(labels):
            numbers = list(range(len(self.classes)))
            return self.classes if self.classes == numbers else numbers
        if isinstance(y, Sequence):
            return self.classes
        kind, own = given.type_of(labels), self.domain.label.type
        if kind == own or {kind, own} <= given.NUMBERS:
            is_whole = labels.dtype.kind in "iu"
            return [*map(given.shorten, self.classes)] if is_whole else self.classes
        try:
            values = given.read_classes(kind, self.domain.label.names)
            places = self._positions_of(values).tolist()
        except (ValueError, DatasetError):
            return self.classes
        return values if places == list(range(len(values))) else self.classes

    @property
    def at_most(self) -> int | None:
        """Maximum number of training rows per person; None if ε does not protect persons."""
        unit = self._description.unit
        return None if unit is None else unit.at_most

    def training_rows(self, frame: object) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Return the positions of a raw frame's training rows: at most `at_most` of each person.

        Raises
        ------
        DatasetError
            If the column that names the persons is missing, or has an empty cell.

        Warns
        -----
        UserWarning
            If names of persons differ only by zeros, case, width or invisible characters.
        """
        description = self._description
        assert description.unit is not None
        persons = persons_of(description, frame)
        if alike := explain_alike(description.unit.column, persons):
            warnings.warn(alike, stacklevel=2)
        return limit_places(persons, description.unit.at_most, description.unit.seed)

    def encode(self, frame: object, *, train: bool = False) -> Codes:
        """Encode the rows of a raw frame; columns that the schema lacks are ignored.

        Parameters
        ----------
        frame : DataFrame, mapping of columns or array
        train : bool
            Whether these rows train a model; if so, more than 5 % clipped values in a column cause
            a warning.

        Raises
        ------
        DatasetError
            If a column is missing, or values are in no bin; the message names up to twenty values.
        """
        return encode_frame(self.domain, frame, in_order=self.unnamed == IN_ORDER, train=train)

    def positions(self, y: object) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the position of each label of `y` in `classes`.

        A label may have any spelling of its class. Tools of scikit-learn replace labels by
        positions. So labels count as positions if all are whole numbers from 0 to K − 1, and some
        of them are not classes.

        Raises
        ------
        DatasetError
            If a label is missing or not a class; the message names up to twenty rows.
        """
        labels = given.read_labels(y)
        if self._are_positions(labels):
            return labels.astype(np.int64)
        return self._positions_of(list(labels) if labels.dtype.kind == "M" else labels.tolist())

    def positions_need_rows(self, y: object) -> bool:
        """Return whether labels are positions of classes, but one label alone could be a class."""
        labels = given.read_labels(y)
        numbers = range(len(self.classes))
        return self._are_positions(labels) and any(map(self._is_class, numbers))

    def _are_positions(self, labels: NDArray[Any]) -> bool:
        return given.are_positions(labels, self._is_class, len(self.classes))

    def _is_class(self, number: int) -> bool:
        codes = self._description.label.codes
        return text_of(number, codes) in codes

    def _positions_of(self, values: list[Any]) -> NDArray[np.int64]:
        description, label = self._description, self._description.label
        problems = Problems("y", is_file=True)
        cells = convert_cells(values, self.domain, None, label.codes)
        table = RawTable("y", {label.column: cells}, range(len(cells)), "row")
        codes = Coder(self.domain, "the schema", problems).code_labels(description, table)
        problems.check()
        return (codes > 0).astype(np.int64) if len(label.names) == 2 else codes.astype(np.int64)

    def to_yaml(self) -> str:
        """Return the schema as YAML, with the keys of a description (docs/datasets.md)."""
        import yaml

        facts = dict(self._facts)
        facts["columns"] = [
            {**entry, "name": escape_name(entry["name"])} for entry in facts["columns"]
        ]
        if "public" in facts:
            facts["public"] = [*map(escape_name, facts["public"])]
        return yaml.safe_dump(facts, sort_keys=False, allow_unicode=True)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return False
        return (self._facts, self.unnamed) == (other._facts, other.unnamed)

    def __str__(self) -> str:
        return self.to_yaml()

    def __repr__(self) -> str:
        blank = f", {len(self.undecided)} undecided" if self.undecided else ""
        return f"Schema({len(self.names)} columns{blank})"


def _describe_column(
    name: str, value: object, gaps: bool, others: bool, n_bins: int | None, spacing: str
) -> dict[str, Any]:
    """Return the entry of a column in a description; keys in `value` override other arguments."""
    bins = FINE["n_bins"] if n_bins is None else _yaml_value(n_bins)
    numbers = {"n_bins": bins, "spacing": spacing}
    if value is None:
        return {"name": name}
    if isinstance(value, Mapping):
        kinds = [kind for kind, key in _DECIDED.items() if key in value and kind != "date"]
        kind = {"kind": kinds[0]} if kinds and "kind" not in value else {}
        entry = {**kind, **_write_words(value, ("categories", "groups"))}
        plain = numbers if entry.get("kind") == NUMERIC else {}
        if entry.get("kind") in (NUMERIC, "date"):
            return {"name": name, **plain, **({"missing": BIN} if gaps else {}), **entry}
        if isinstance(listed := entry.get("categories"), (list, dict)):
            entry["categories"] = _add_words(listed, others, gaps)
        return {"name": name, **entry}
    if isinstance(value, tuple):
        value = tuple(map(_plain_bound, value))
        are_dates = all(map(_is_day, value))
        if len(value) != 2 or not (are_dates or all(map(_is_number, value))):
            raise DatasetError(
                f"Schema: {name!r} must be a pair (lowest, highest) of numbers or dates "
                f"(2024-12-31), or a list of categories; got {value!r}"
            )
        more = ({} if are_dates else numbers) | ({"missing": BIN} if gaps else {})
        word = "date" if are_dates else NUMERIC
        return {"name": name, "kind": word, "bounds": _yaml_value(value), **more}
    if isinstance(value, list):
        listed = _add_words(_list_words(value), others, gaps)
        return {"name": name, "kind": CATEGORICAL, "categories": listed}
    raise DatasetError(
        f"Schema: {name!r} must be a pair (lowest, highest), a list of categories, or a mapping "
        f"with keys of a description; got {value!r}"
    )


def _add_words(listed: Any, others: bool, gaps: bool) -> Any:
    """Add the categories `other` (if `others`) and `?` (if `gaps`), unless they are listed."""
    words = [word for word, is_in in ((OTHER, others), (MISSING, gaps)) if is_in]
    extra = {word: word for word in words if word not in listed}
    return [*listed, *extra] if isinstance(listed, list) else listed | extra


def _describe_label(value: object) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return {"column": "label", **_write_words(value, ("negative", "positive", "classes"))}
    if isinstance(value, (str, Set)) or not hasattr(value, "__iter__"):
        raise DatasetError(f"Schema: label must be the list of classes; got {value!r}")
    classes = _list_words(value)
    if len(classes) == 2:
        return {"column": "label", "negative": classes[0], "positive": classes[1]}
    return {"column": "label", "classes": classes}


def _write_words(entry: Mapping[str, object], keys: Sequence[str]) -> dict[str, Any]:
    """Convert an entry to values of YAML; values at `keys` become texts or whole numbers."""
    words = _yaml_value({key: value for key, value in entry.items() if key not in keys})
    for key in keys:
        value = entry.get(key)
        if isinstance(value, Mapping):
            words[key] = _yaml_value(value)
        elif key in entry:
            is_one = isinstance(value, str) or not hasattr(value, "__iter__")
            # None means undecided, so keep it.
            words[key] = None if value is None else _word(value) if is_one else _list_words(value)
    return words


def _list_words(values: Any) -> list[Any]:
    return [_word(value) for value in values]


def _word(value: object) -> str | int:
    """Convert a category or class to a text or an integer, as descriptions contain it."""
    is_time = isinstance(value, (date, np.datetime64))
    value = value.item() if isinstance(value, np.generic) and not is_time else value
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, (str, int)):
        return value
    try:
        given.check_word(value)
    except ValueError as error:
        raise DatasetError(f"Schema: {error}") from None
    # NumPy and pandas may store a date as a time at midnight.
    return (text_of(value) or "").removesuffix("T00:00:00")


def _list_labels(label: Any) -> list[Any]:
    """Return the classes as they occur in `y`; an empty list if several values form one class."""
    values = label_values(label) if isinstance(label, Mapping) else label
    return [given.plain_label(value) for value in values]


def _plain_bound(value: object) -> Any:
    """Convert a bound: a NumPy day to `date`, a Decimal to float; return other bounds unchanged."""
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[D]").item()
    return float(value) if isinstance(value, Decimal) else value


def _is_day(value: Any) -> bool:
    """Return whether a bound is a `date`, or the text of a date (2024-12-31)."""
    try:
        # pandas' NaT is an instance of `date`, but does not equal itself.
        is_date = isinstance(value, date) and value == value
        return is_date or date.fromisoformat(value).isoformat() == value
    except (TypeError, ValueError):
        return False


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def _yaml_value(value: object) -> Any:
    """Convert a value to types that YAML has: lists for tuples and arrays, texts for dates."""
    if isinstance(value, Mapping):
        return {key: _yaml_value(entry) for key, entry in value.items()}
    if hasattr(value, "tolist"):
        return _yaml_value(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_yaml_value(entry) for entry in value]
    if isinstance(value, date):
        return f"{value.year:04}-{value:%m-%d}"
    return value
