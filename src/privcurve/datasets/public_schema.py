"""The public facts of a raw table, given in Python: the way in for a DataFrame."""

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

# What pandas and NumPy make of no value where they turn a column into texts.
_NO_VALUES = ("nan", "NaN", "None", "<NA>", "NaT")

_MARKS = ("missing", "unknown", "decimal", "thousands")
_PUBLIC = ("columns", "label", "unit", *_MARKS, "edges", "public", "public_label")

# The key that has to be decided for each kind of column.
_DECIDED = {NUMERIC: "bounds", "date": "bounds", CATEGORICAL: "categories", "text": "groups"}

# An example of a unit, for messages.
_UNIT = '{"column": "patient_id", "at_most": 5}'


class Schema:
    """The public facts of a raw table: its columns, what they can hold, and the classes.

    Nothing here may be taken from private records: bounds and categories go into every model.

    Parameters
    ----------
    columns : mapping of str to tuple, list or mapping
        The columns to learn from, by name. A pair ``(low, high)`` of numbers or dates: lowest and
        highest possible value; what lies outside is clipped. A list: all categories. A mapping: any
        words of a description (docs/datasets.md), such as ``{"bounds": [0, 10], "n_bins": 10}``.
        A mapping may list markers of missing values in this column alone:
        ``{"bounds": [0, 50], "missing": [99]}``. None: to be decided.
    label : sequence, or mapping
        The classes as `y` has them, of two the negative one first: texts, numbers, truth values,
        Decimals, dates or times. A mapping: words of a description. scikit-learn takes classes for
        sorted: a fit warns where these are not.
    missing : str
        ``fail``: a missing value is an error (of a category, beside ``unknown="other"``, it is an
        other); ``bin``: each column has one more bin for missing values. The texts nan, NaN, None,
        <NA> and NaT are missing values, too, unless a column lists them.
    unknown : str
        ``fail``: a category that is not listed is an error; ``other``: these share a bin.
    n_bins : int, optional
        Bins of each number whose mapping has no other; by default 64.
    spacing : str
        Their spacing: ``mixed``, ``mixed-high``, ``equal``, ``log`` or ``log1p``
        (:func:`privcurve.coding.edges`).
    unit : mapping, optional
        ``{"column": "patient_id", "at_most": 5}``: ε and δ of a fit are those of persons, of each
        of whom at most so many rows train (docs/your_data.md).
    unnamed : str
        ``fail``: rows that do not name their columns, such as an array, are an error if there are
        several columns; ``in_order``: their columns are these, in this order. It is for tools that
        hand on arrays, such as scikit-learn's ``BaggingClassifier`` (without
        ``bootstrap_features``, which takes columns in another order). YAML has no such key.

    Raises
    ------
    DatasetError
        If something is not allowed or contradicts itself; each fault by name.

    Notes
    -----
    Rows have to name their columns: pandas frames, Arrow tables, structured arrays and mappings of
    columns do. If the schema has several columns, an array is refused, because it does not say
    which column is which. Let a transformer before the model return a frame
    (``SimpleImputer().set_output(transform="pandas")``), name the columns yourself
    (``pandas.DataFrame(array, columns=schema.names)``), or set `unnamed`. A fitted learner has
    ``feature_names_in_``, in the order of the schema, if the rows of its fit named their columns.

    Predictions have the type of the labels of the fit, from a model's file too: numbers for
    numbers, texts for texts, dates for dates. The type is public, as the classes are. It follows
    from the schema and from all labels together, never from one label: an array of labels of
    several types is refused, a list has the type of the schema, and whole numbers of float64 become
    integers (pandas converts integers to float64 if one is missing).

    Tools of scikit-learn replace labels by 0 … K − 1. A fit takes these by position, and predicts
    them. ``OneVsRestClassifier`` of more than two classes needs a schema with ``label=[0, 1]``.
    """

    # What holds for each column that is decided later.
    _defaults: Mapping[str, Any] = MappingProxyType({"gaps": False, **FINE})

    unnamed: str = FAIL

    def __init__(
        self,
        columns: Mapping[str, Any],
        label: Sequence[Any] | Mapping[str, Any],
        *,
        missing: str = FAIL,
        unknown: str = FAIL,
        n_bins: int | None = None,
        spacing: str = FINE["spacing"],
        unit: Mapping[str, Any] | None = None,
        unnamed: str = FAIL,
    ) -> None:
        if missing not in (FAIL, BIN):
            raise DatasetError(f"Schema: missing = {missing!r} is neither {FAIL!r} nor {BIN!r}")
        if unnamed not in (FAIL, IN_ORDER):
            raise DatasetError(f"Schema: unnamed must be {FAIL!r} or {IN_ORDER!r}; got {unnamed!r}")
        self.unnamed = unnamed
        if not isinstance(columns, Mapping):
            raise DatasetError("Schema: columns must be a mapping of names to what they can hold")
        entries = [
            _describe_column(name, value, missing == BIN, unknown == OTHER, n_bins, spacing)
            for name, value in columns.items()
        ]
        facts = {"columns": entries, "label": _describe_label(label), "unknown": unknown}
        facts["missing"] = ["", *_NO_VALUES]  # files of text write nothing for a missing value
        self._defaults = {"gaps": missing == BIN, "n_bins": n_bins, "spacing": spacing}
        if unit is not None:
            if not isinstance(unit, Mapping):
                raise DatasetError(f"Schema: unit = {unit!r} must be a mapping, such as {_UNIT}")
            facts["unit"] = _yaml_value(unit)
        self._set_facts(facts, _list_labels(label))

    def _set_facts(self, facts: dict[str, Any], values: list[Any]) -> None:
        # In Unicode's composed form, as descriptions and the values of files are.
        self._facts, self._values = compose_words(facts), values
        self.__dict__.pop("_description", None)
        if not self.undecided:
            _ = self._description  # raises what is wrong

    @classmethod
    def from_description(cls, path: str | Path) -> Self:
        """Read what a description, or the file of :meth:`to_yaml`, says of columns and label.

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
            If the file can't be read, or is not valid; each fault with its line.
        """
        return cls._from_content(public_facts(Path(path)))

    @classmethod
    def _from_content(cls, content: Mapping[str, Any]) -> Self:
        """Make a schema of what a description says of columns and label."""
        instance = cls.__new__(cls)
        facts = {key: content[key] for key in _PUBLIC if key in content}
        instance._set_facts(facts, label_values(facts.get("label", {})))
        return instance

    @classmethod
    def draft(cls, frame: DataFrame, label: str, public: bool = False) -> Self:
        """Draft the schema of a table, with a blank wherever a person has to decide.

        Parameters
        ----------
        frame : DataFrame
        label : str
            The column that is to be predicted.
        public : bool
            Whether the records are public, so that bounds and categories may be copied from them.

        Returns
        -------
        Schema
            Fill each of its `undecided` columns: ``schema["tenure"] = (0, 100)``.

        Raises
        ------
        DatasetError
            If no schema can be drafted.

        Warns
        -----
        UserWarning
            If columns are left out: which ones.
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

    def __setitem__(self, name: str, value: Any) -> None:
        """Decide what a column can hold: a pair of bounds, a list of categories, or a mapping.

        The name ``unit`` stands for whose records they are, as in a new schema; or ``none``. The
        name ``label`` stands for the classes, where they are undecided.
        """
        name = compose_words(name)
        is_none = isinstance(value, str) and value == "none"
        of_persons = is_none or (isinstance(value, Mapping) and "column" in value)
        # A column may be named unit, too.
        if name == "unit" and name in self._facts and (of_persons or name not in self.names):
            if not of_persons:
                raise DatasetError(f'Schema: unit = {value!r} is neither {_UNIT} nor "none"')
            self._set_facts({**self._facts, "unit": _yaml_value(value)}, self._values)
            return
        if name == "label" and "label" in self.undecided and name not in self.names:
            label = _describe_label(value) | {"column": self._facts["label"]["column"]}
            if len(label.get("classes", "two")) < 2:
                raise DatasetError(f"Schema: label = {value!r} must be the list of classes")
            self._set_facts({**self._facts, "label": label}, _list_labels(value))
            return
        if name not in self.names:
            raise KeyError(f"no column {name!r}{suggestion(name, self.names)}")
        place = self.names.index(name)
        old = self._facts["columns"][place]
        words = dict(self._defaults)
        # Texts in groups always have a code for missing values.
        words["gaps"] |= "missing" in old or old.get("kind") == TEXT
        words["gaps"] |= MISSING in old.get("categories", ())
        entry = _describe_column(name, value, others=self._facts.get("unknown") == OTHER, **words)
        if not isinstance(value, Mapping) and "bounds" in entry:
            # Other drafted keys stay, such as the format of dates.
            same = old if old.get("kind") == entry["kind"] else {}
            words = {key: entry.get(key) if word is None else word for key, word in same.items()}
            entry = {**(words or entry), "bounds": entry["bounds"]}
        entries = [*self._facts["columns"]]
        entries[place] = entry
        self._set_facts({**self._facts, "columns": entries}, self._values)

    @property
    def names(self) -> list[str]:
        """Names of the columns, in the order of their codes."""
        return [entry["name"] for entry in self._facts["columns"]]

    @property
    def undecided(self) -> list[str]:
        """Names of the columns of which something is left blank; ``unit``, ``label`` for those."""
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
                f"the schema leaves blank: {', '.join(self.undecided)}. Decide from public "
                f"knowledge what each can hold: {'; '.join(hints)}"
            )
        content = {**NO_FILES, **self._facts}
        try:
            schema.check(content, SCHEMA, "Schema", in_yaml=False)
        except schema.SchemaError as error:
            raise DatasetError(str(error)) from None
        description = build("schema", Path("Schema"), content)
        domain = description.domain
        # Dates and the like are texts in a description.
        label = replace(domain.label, type=given.type_of_classes(self._values))
        return replace(description, domain=replace(domain, label=label))

    @property
    def domain(self) -> Domain:
        """Columns, bins and names of classes, as the rest of privcurve takes them."""
        return self._description.domain

    @property
    def classes(self) -> list[Any]:
        """The classes as they were given; of two, the negative one first."""
        names = list(self.domain.label.names)
        return self._values if len(self._values) == len(names) else names

    def classes_as(self, y: Any) -> list[Any]:
        """Return the classes in the type of `y`, so that they equal its labels.

        The result is `classes` if they have this type (numbers and truth values are one type
        here), or if y is a list, which has no type. Otherwise all labels together decide the type:
        the classes 0 and 1 become texts for labels "0" and "1", texts of days become times. The
        result is 0 … K − 1 if labels are :meth:`positions`. No single label decides the type.

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
        """How many rows of each person train, where ε is that of persons; None for all rows."""
        unit = self._description.unit
        return None if unit is None else unit.at_most

    def training_rows(self, frame: Any) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Return the places of the rows of a raw frame that train: of each person some.

        Raises
        ------
        DatasetError
            If the column that names the persons is not there, or lacks a name.

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

    def encode(self, frame: Any, *, train: bool = False) -> Codes:
        """Code the rows of a raw frame: columns by name, others are left out.

        Parameters
        ----------
        frame : DataFrame, mapping of columns or array
        train : bool
            Whether these rows train a model: then clipped values above 5 % of a column warn.

        Raises
        ------
        DatasetError
            If a column is not there, or values have no code: naming up to twenty of them.
        """
        return encode_frame(self.domain, frame, in_order=self.unnamed == IN_ORDER, train=train)

    def positions(self, y: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the position of each label of `y` in `classes`.

        Labels may have any spelling of the schema. Whole numbers from 0 to K − 1 that are not all
        classes themselves are positions already: tools of scikit-learn encode labels so.

        Raises
        ------
        DatasetError
            If a label is missing, or no class: naming up to twenty rows.
        """
        labels = given.read_labels(y)
        if self._are_positions(labels):
            return labels.astype(np.int64)
        return self._positions_of(list(labels) if labels.dtype.kind == "M" else labels.tolist())

    def positions_need_rows(self, y: Any) -> bool:
        """Return whether only the rows show that labels are positions: one is a class, too."""
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
        """Return the schema in the words of a description (docs/datasets.md)."""
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
    name: str, value: Any, gaps: bool, others: bool, n_bins: int | None, spacing: str
) -> dict[str, Any]:
    """Return a column in the words of a description."""
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
                f"Schema: {name!r} is {value!r}; a pair (lowest, highest) of numbers or of dates "
                "(2024-12-31) is meant, or a list of categories"
            )
        more = ({} if are_dates else numbers) | ({"missing": BIN} if gaps else {})
        word = "date" if are_dates else NUMERIC
        return {"name": name, "kind": word, "bounds": _yaml_value(value), **more}
    if isinstance(value, list):
        listed = _add_words(_list_words(value), others, gaps)
        return {"name": name, "kind": CATEGORICAL, "categories": listed}
    raise DatasetError(
        f"Schema: {name!r} is {value!r}; give a pair (lowest, highest), a list of categories, or "
        "words of a description"
    )


def _add_words(listed: Any, others: bool, gaps: bool) -> Any:
    """Add `other` and `?` to a list or mapping of categories, where asked for and not there."""
    words = [word for word, is_in in ((OTHER, others), (MISSING, gaps)) if is_in]
    extra = {word: word for word in words if word not in listed}
    return [*listed, *extra] if isinstance(listed, list) else listed | extra


def _describe_label(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return {"column": "label", **_write_words(value, ("negative", "positive", "classes"))}
    if isinstance(value, (str, Set)) or not hasattr(value, "__iter__"):
        raise DatasetError(f"Schema: label = {value!r} must be the list of classes")
    classes = _list_words(value)
    if len(classes) == 2:
        return {"column": "label", "negative": classes[0], "positive": classes[1]}
    return {"column": "label", "classes": classes}


def _write_words(entry: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """Return an entry in the words of a description; `keys` hold values of a column."""
    words = _yaml_value({key: value for key, value in entry.items() if key not in keys})
    for key in keys:
        value = entry.get(key)
        if isinstance(value, Mapping):
            words[key] = _yaml_value(value)
        elif key in entry:
            is_one = isinstance(value, str) or not hasattr(value, "__iter__")
            # None is to be decided.
            words[key] = None if value is None else _word(value) if is_one else _list_words(value)
    return words


def _list_words(values: Any) -> list[Any]:
    """Return values of a column as a description lists them."""
    return [_word(value) for value in values]


def _word(value: Any) -> Any:
    """Return a value of a column as a text or a whole number."""
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
    # A day may be given as its midnight.
    return (text_of(value) or "").removesuffix("T00:00:00")


def _list_labels(label: Any) -> list[Any]:
    """Return the classes as labels have them; none where several values are one class."""
    values = label_values(label) if isinstance(label, Mapping) else label
    return [given.plain_label(value) for value in values]


def _plain_bound(value: Any) -> Any:
    """Return a bound as Python has it: days of NumPy and pandas, and decimal numbers."""
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[D]").item()
    return float(value) if isinstance(value, Decimal) else value


def _is_day(value: Any) -> bool:
    """Return whether a bound is a date, or the text of one (2024-12-31)."""
    try:
        # A missing time of pandas is a date that equals no other.
        is_date = isinstance(value, date) and value == value
        return is_date or date.fromisoformat(value).isoformat() == value
    except (TypeError, ValueError):
        return False


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def _yaml_value(value: Any) -> Any:
    """Return a value as YAML has it: lists, and numbers of Python."""
    if isinstance(value, Mapping):
        return {key: _yaml_value(entry) for key, entry in value.items()}
    if hasattr(value, "tolist"):
        return _yaml_value(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_yaml_value(entry) for entry in value]
    if isinstance(value, date):
        return f"{value.year:04}-{value:%m-%d}"
    return value
