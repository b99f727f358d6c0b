"""Define `LearnerEntry`, the public facts of a learner.

An entry imports the learner's code only when its class is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from importlib import import_module
from inspect import get_annotations
from typing import Any, NamedTuple, TypeVar

from privcurve import extras
from privcurve.coding import class_labels
from privcurve.privacy.budget import (
    ADD_REMOVE,
    PRIVATE_COLUMNS,
    PROVED,
    REPLACE_ONE,
    check_budget,
    explain_renamed,
)
from privcurve.schema import suggestion

# The largest integer hyperparameter (rounds, trees, …): larger models do not fit in memory.
MOST = 10**9
# The largest absolute value of a numeric hyperparameter: sums of larger numbers may overflow.
LARGEST = 1e100

# A key of `Parameter.only` that means every value of the parameter except the default.
ANY = "any value"

Value = TypeVar("Value")
# The key under which the metadata of a dataclass field holds the declared `Parameter`.
_DECLARED = "hyperparameter"


@dataclass(frozen=True)
class Parameter:
    """One hyperparameter: its default and its allowed values.

    Attributes
    ----------
    default : int, float, str or None
        None is an allowed value only if it is the default.
    kind : type
        ``int``, ``float`` or ``str``. A ``float`` accepts integers.
    low, high : float, optional
        Bounds of a number. Integers are also limited by `MOST`, other numbers by `LARGEST`.
    open_low, open_high : bool
        Whether the bound itself is excluded.
    choices : tuple of str
        Allowed values of strings.
    size : bool
        Whether the time of a fit grows roughly in proportion to the parameter. Tests then use small
        values, and check that the estimated cost grows with it.
    used_with : mapping of str to tuple
        Other parameters, with the values at which this parameter has an effect. If one of them has
        another value, this parameter must be left at its default. Parameters that a learner does
        not have are ignored.
    only : mapping of str to str
        Maps a value of the parameter to the only calibration that supports it. The key `ANY` means
        every value except the default.
    with_public : tuple of str
        Values with which the learner needs to know which columns are public.
    unproved : mapping of str to str
        Values without a proved guarantee, and the reason. Studies accept them; releases and
        private selections refuse them.
    structure : str
        A description of the allowed values, if they are neither numbers nor `choices`. The learner
        itself then checks the value.
    tried : tuple, optional
        Values that the contract check tries. By default it tries the two ends of the range, or all
        `choices`; these may be too slow, or not allowed with the defaults of other parameters.
    """

    default: Any
    kind: type = str
    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False
    choices: tuple[str, ...] = ()
    size: bool = False
    used_with: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    only: Mapping[str, str] = field(default_factory=dict)
    with_public: tuple[str, ...] = ()
    unproved: Mapping[str, str] = field(default_factory=dict)
    structure: str = ""
    tried: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        for name, bound in (("low", self.low), ("high", self.high)):
            if not isinstance(bound, (int, float)):
                raise ValueError(
                    f"Parameter: {name} must be a number; got {bound!r}. Leave it out if there "
                    "is no bound"
                )

    def __str__(self) -> str:
        if self.structure:
            return self.structure
        if self.choices:
            return "one of " + ", ".join(repr(choice) for choice in self.choices)
        name = "a whole number" if self.kind is int else "a number"
        low, high = self.low, self.high
        if (low, high) == (-math.inf, math.inf):
            return name
        high = min(high, MOST) if self.kind is int else high
        left = "(" if self.open_low or low == -math.inf else "["
        right = ")" if self.open_high or high == math.inf else "]"
        return f"{name} in {left}{low:g}, {high:g}{right}"

    def admits(self, value: object) -> bool:
        """Return whether `value` is allowed."""
        if self.structure:
            return True
        if value is None:
            return self.default is None
        if self.choices:
            return value in self.choices
        if isinstance(value, bool) or not hasattr(value, "__float__"):
            return False
        try:
            number = float(value)
        except OverflowError:
            return False
        if not abs(number) <= LARGEST:
            return False
        if self.kind is int and not (number.is_integer() and abs(number) <= MOST):
            return False
        high_enough = number > self.low or (number == self.low and not self.open_low)
        return high_enough and (number < self.high or (number == self.high and not self.open_high))


def parameter(default: Value, kind: type | None = None, **allowed: Any) -> Value:
    """Return a dataclass field that declares a hyperparameter with its allowed values.

    Parameters
    ----------
    default : int, float, str or None
    kind : type, optional
        By default the type of `default`, or ``str`` if `default` is None.
    **allowed
        Other attributes of :class:`Parameter`.
    """
    kind = kind or (str if default is None else type(default))
    declared = Parameter(default, kind, **allowed)
    return field(default=default, metadata={_DECLARED: declared})


def parameters_of(declaring: type[Any]) -> dict[str, Parameter]:
    """Return the hyperparameters that a dataclass declares with `parameter`.

    The parameters of the class itself come first, then the parameters of its bases, in
    method resolution order.
    """
    every = {one.name: one.metadata.get(_DECLARED) for one in fields(declaring)}
    own = {
        name: one
        for kind in declaring.__mro__
        for name in get_annotations(kind)
        if isinstance(one := every.get(name), Parameter)
    }
    for name, one in own.items():
        own[name] = replace(one, used_with={k: v for k, v in one.used_with.items() if k in own})
    return own


@dataclass(frozen=True)
class Facts:
    """Public facts about records that belong to no dataset of the pipeline, as in an audit or test.

    It has the attributes of a `Domain` that learners use, and no others.

    Attributes
    ----------
    n_bins : sequence of int
        Number of bins of each column.
    ordered : sequence of bool, optional
        Whether the bins of each column are ordered.
    n_classes : int
        Number of classes.
    public_columns : sequence of int, optional
        Positions of the public columns, for the relation ``private-columns``.
    public_label : bool, optional
        Whether the label is public, for the same relation.
    mixed_bins : sequence of int, optional
        How many of the first bins of each column are fine numeric bins that a learner may merge
        (``mixed`` or ``whole`` spacing); 0 for none.
    levels : sequence, optional
        The number in [0, 1] of each bin of each column; None for a categorical column.
    """

    n_bins: Any
    ordered: Any = None
    n_classes: int = 2
    public_columns: Any = None
    public_label: Any = None
    mixed_bins: Any = None
    levels: Any = None


class Proof(NamedTuple):
    """Where a learner's privacy is proved: a section of the proofs, and a test of its constants."""

    theorem: str
    test: str = "tests/privacy/test_contract.py::test_learners_keep_it"


@dataclass(frozen=True)
class LearnerEntry:
    """One learner in the registry.

    Attributes
    ----------
    name : str
        The name in studies.
    path : str
        ``module:Class`` of the estimator. A user's own file gives only the class. The folder of a
        learner (a user's or a paper's) gives the module relative to the folder.
    title : str
        The name in tables and figures.
    seconds : callable
        ``seconds(setting, n_rows, n_columns)``: estimated seconds of one fit with a complete
        setting. See :meth:`cost`.
    version : int
        It must be raised whenever the same run would give another result. Ids of runs contain it.
    class_version : int
        It is raised instead if only fits with more than two classes change. Only the ids of such
        runs contain it.
    weights : str
        The SHA-256 of the file of trained network weights that a fit reads; empty if it reads none.
    calibrations : tuple of str
        The supported calibrations among ``published`` and ``proved``; empty for a method
        without privacy, which runs only at ε = ∞.
    approximate : bool
        Whether it supports δ > 0.
    parameters : mapping of str to Parameter
        Its hyperparameters: the allowed axes of a grid (:func:`parameters_of`).
    shared : tuple of str
        Runs with equal values of these parameters (and of ε) share expensive work, such as a
        calibration, so one job trains them together. Empty: no runs share work.
    pure : bool
        Whether it supports δ = 0.
    needs : tuple of str
        Public facts that the estimator needs in addition to ``n_bins`` and ``classes``. They are
        parameters of its constructor, with the names of attributes of :class:`Facts`.
    takes : tuple of str
        Public facts that the estimator uses if they are known, but does not need.
    neighbours : tuple of str
        Supported neighbouring relations (constants of ``privacy.budget``); the first is the
        default.
    requires : str or None
        Import name of the optional package that the learner needs; see `privcurve.extras`.
    peer : bool
        Whether the learner wraps another library's method without changes. Its ε is then that
        library's claim for that library's neighbouring relation (docs/peers.md); the audit leaves
        it out.
    multiclass : bool
        Whether it supports more than two classes. Its training then gets labels as positions
        0 … K − 1, even for two classes; other learners get signs −1 and +1.
    few_bins : int or None
        The number of bins per column with which the learner is most accurate. Before a fit,
        neighbouring fine bins (`Facts.mixed_bins`) are merged to this number. None: nothing is
        merged.
    few_with : mapping of str to tuple
        The values of hyperparameters with which `few_bins` applies.
    slow_by_class : bool
        Whether a fit with K classes takes K/2 times as long as with two. If false, the number of
        classes does not change the estimate.
    in_parts : mapping of str to tuple, or None
        The values of hyperparameters with which the learner can be trained on partitioned records
        (:mod:`privcurve.privacy.parts`). Empty: with all values; None: with no values.
    peak : tuple of float, optional
        Memory of a training: bytes per record, and bytes per value (one encoded column of one
        record) if bins have one byte. See `registry.training_bytes`.
    proof : Proof, optional
        The proof of its statement. Only learners of this project have one; statements of others
        have the status ``claimed``.
    sees_open : mapping of str to str
        Calibrations with which a private fit reads records that are not sealed, each with the
        reason. Only learners of this project may have any.
    """

    name: str
    path: str
    title: str
    seconds: Callable[[Mapping[str, Any], int, int], float]
    version: int = 1
    class_version: int = 1
    weights: str = ""
    calibrations: tuple[str, ...] = ()
    approximate: bool = False
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    shared: tuple[str, ...] = ()
    pure: bool = True
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    neighbours: tuple[str, ...] = (REPLACE_ONE,)
    requires: str | None = None
    peer: bool = False
    multiclass: bool = False
    few_bins: int | None = None
    few_with: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    slow_by_class: bool = False
    in_parts: Mapping[str, tuple[Any, ...]] | None = None
    peak: tuple[float, float] | None = None
    proof: Proof | None = None
    sees_open: Mapping[str, str] = field(default_factory=dict)

    @property
    def run_version(self) -> int:
        """The version and the first 32 bits of the checksum of the weights, as one number."""
        return self.version * 2**32 + int(self.weights[:8], 16) if self.weights else self.version

    def placed_in(self, module: str) -> LearnerEntry:
        """Return a copy with the absolute path of the class; `module` declares this entry."""
        return replace(self, path=f"{module}{'.' if ':' in self.path else ':'}{self.path}")

    @property
    def private(self) -> bool:
        """Whether the learner supports a finite ε."""
        return bool(self.calibrations)

    @property
    def proved(self) -> bool:
        """Whether this project proves the privacy of the learner with one of its calibrations."""
        return PROVED in self.calibrations and not self.peer

    @property
    def stays_open(self) -> bool:
        """Whether all private fits read unsealed records: each calibration is in `sees_open`."""
        return self.private and set(self.calibrations) <= self.sees_open.keys()

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        """The default hyperparameters."""
        return {name: parameter.default for name, parameter in self.parameters.items()}

    def estimator_class(self) -> type[Any]:
        """Import and return the estimator class.

        Raises MissingPackageError if the learner needs an optional package that is not installed.
        """
        if self.requires:
            extras.check(self.requires, self.name)
        module, _, attribute = self.path.partition(":")
        kind = getattr(import_module(module), attribute)
        assert isinstance(kind, type)
        return kind

    def complete(self, setting: Mapping[str, object]) -> dict[str, Any]:
        """Return all hyperparameters: the values in `setting`, and defaults for the rest."""
        return {**self.defaults, **setting}

    def most_bins(self, setting: Mapping[str, object]) -> int | None:
        """Return to how many bins the fine bins of a column are merged; None without merging.

        Parameters
        ----------
        setting : mapping
            Hyperparameters; those left out have their defaults.
        """
        values = self.complete(setting)
        is_few = all(values[key] in allowed for key, allowed in self.few_with.items())
        return self.few_bins if is_few else None

    def delta_passed(self, delta: float) -> float:
        """Return `delta`, or 0 if the learner supports only pure differential privacy."""
        return float(delta) if self.approximate else 0.0

    def check_parameters(
        self, parameters: Mapping[str, object], calibration: str | None = None
    ) -> None:
        """Check hyperparameters of the learner; those left out have their defaults.

        Raises ValueError if the learner has no such parameter, or if a value is out of range, has
        no effect together with the other values (unless it is the default), or is not supported by
        the calibration.
        """
        for key, value in parameters.items():
            if key not in self.parameters:
                hint = suggestion(key, self.parameters)
                allowed = ", ".join(self.parameters) or "none"
                raise ValueError(
                    f"{self.name} has no parameter {key!r}{hint} Its parameters: {allowed}."
                )
            if not self.parameters[key].admits(value):
                raise ValueError(
                    f"{self.name}: {key} must be {self.parameters[key]}; got {value!r}."
                )
        completed = self.complete(parameters)
        for key, value in parameters.items():
            if value == self.parameters[key].default:
                continue
            for other, values in self.parameters[key].used_with.items():
                if completed[other] not in values:
                    raise ValueError(
                        f"{self.name}: {key} = {value!r} has no effect with {other} = "
                        f"{completed[other]!r}: leave it out, or give {other} = "
                        f"{' or '.join(map(repr, values))}."
                    )
            for restricted, only in self.parameters[key].only.items():
                if restricted in (ANY, value) and calibration not in (None, only):
                    raise ValueError(
                        f"{self.name}: {key} = {value!r} needs calibration = {only!r}; got "
                        f"{calibration!r}: leave it out, or change the calibration."
                    )

    def check_proved(self, parameters: Mapping[str, object]) -> None:
        """Raise ValueError if a hyperparameter has a value without a proved guarantee."""
        for key, value in parameters.items():
            declared = self.parameters[key]
            if isinstance(value, str) and value in declared.unproved:
                proved = [repr(one) for one in declared.choices if one not in declared.unproved]
                raise ValueError(
                    f"{self.name}: {key} = {value!r} has no proved guarantee: "
                    f"{declared.unproved[value]}. Give {key} = {' or '.join(proved)}."
                )

    def make(self, domain: Any, parameters: Mapping[str, object] | None, neighbours: str) -> Any:
        """Return an unfitted learner for a dataset: see :func:`.registry.make`.

        The number of classes is not checked.
        """
        needs = self.needs
        if neighbours == PRIVATE_COLUMNS and not getattr(domain, "public_label", None):
            raise ValueError(
                f"neighbours = {PRIVATE_COLUMNS!r} needs data with a public label, which the "
                "dataset does not declare (public_label: true)"
            )
        if PRIVATE_COLUMNS in self.neighbours and neighbours == PRIVATE_COLUMNS:
            needs = (*needs, "public_columns")
        elif self.neighbours == (PRIVATE_COLUMNS,):
            raise ValueError(self.refuses(neighbours=neighbours))
        if why := replace(self, needs=needs).refuses(facts=domain):
            raise ValueError(why)
        parameters = dict(parameters or {})
        n_classes = getattr(domain, "n_classes", 2)
        facts: dict[str, Any] = {"n_bins": domain.n_bins, "classes": class_labels(n_classes)}
        facts |= {fact: getattr(domain, fact) for fact in needs}
        taken = [fact for fact in self.takes if fact not in parameters]
        facts |= {fact: getattr(domain, fact, None) for fact in taken}
        bins = getattr(domain, "mixed_bins", None)
        if bins is not None and "mixed_bins" not in parameters:
            facts["mixed_bins"] = bins
        if neighbours == ADD_REMOVE and {REPLACE_ONE, ADD_REMOVE} <= set(self.neighbours):
            facts["neighbours"] = ADD_REMOVE
        # If `parameters` contains one of `facts`, Python raises TypeError here.
        return self.estimator_class()(**facts, **parameters)

    def refuses(self, **terms: Any) -> str:
        """Return the reason why the learner does not support a request; empty if it supports it.

        Fits, studies, releases and private selections all check requests by this method.

        Parameters
        ----------
        epsilon, delta : float, optional
            The budget. With ε = ∞ every learner accepts δ = 0.
        calibration, neighbours : str, optional
            Constants of ``privacy.budget``, e.g. ``proved``.
        n_classes : int, optional
        facts : Domain or Facts, optional
            The public facts of the records.
        setting : mapping, optional
            Hyperparameters. Some values need public columns, and so the relation
            ``private-columns``.
        in_parts : bool, optional
            Whether the records are partitioned.

        Returns
        -------
        str
            A sentence without a full stop: the learner, what it supports, and the request.
        """
        try:
            check_budget(terms.get("epsilon", 1.0), terms.get("delta", 0.0), self.name)
        except ValueError as error:
            return str(error)
        why = next(self._refusals(**terms), "")
        return why and f"{self.name} {why}"

    def _refusals(
        self,
        epsilon: float = 1.0,
        delta: float | None = None,
        calibration: str | None = None,
        neighbours: str | None = None,
        n_classes: int = 2,
        facts: object = None,
        setting: Mapping[str, object] | None = None,
        in_parts: bool = False,
    ) -> Iterator[str]:
        if delta and not self.approximate:
            yield f"offers only delta = 0, not {delta:g}"
        if delta == 0 and not self.pure and epsilon < math.inf:
            yield "needs a delta above 0, for example 1e-6"
        if calibration not in (None, *self.calibrations):
            offered = " or ".join(map(repr, self.calibrations)) or "none"
            yield (
                f"offers calibration = {offered}, not {calibration!r}{explain_renamed(calibration)}"
            )
        if neighbours not in (None, *self.neighbours):
            offered = " or ".join(map(repr, self.neighbours))
            yield f"offers neighbours = {offered}, not {neighbours!r}"
        if in_parts and self.in_parts is None:
            yield "needs all records in memory, but these are partitioned"
        for key, values in (self.in_parts or {}).items() if in_parts else ():
            if (value := self.complete(setting or {})[key]) not in values:
                yield (
                    f"with {key} = {value!r} needs all records in memory, but these are "
                    f"partitioned: use {key} = {' or '.join(map(repr, values))}"
                )
        if in_parts and self.few_bins and getattr(facts, "mixed_bins", None) is not None:
            yield "merges mixed bins with all records in memory, but these are partitioned"
        if n_classes > 2 and not self.multiclass:
            yield f"takes two classes, not {n_classes}"
        for need in self.needs if facts is not None else ():
            if getattr(facts, need, None) is None:
                yield f"needs the public fact {need!r}, which is not given"
        if (neighbours or self.neighbours[0]) != PRIVATE_COLUMNS:
            for key, value in (setting or {}).items():
                if value in self.parameters[key].with_public:
                    yield (
                        f"needs to know for {key} = {value!r} which columns are public: use "
                        f"neighbours = {PRIVATE_COLUMNS!r}, and data that declare it (public, "
                        "public_label)"
                    )

    def cost(
        self, setting: Mapping[str, object], n_rows: int, n_columns: int, n_classes: int = 2
    ) -> float:
        """Return the estimated seconds of one fit.

        Parameters
        ----------
        setting : mapping
            Hyperparameters; those left out have their defaults.
        n_rows, n_columns : int
            Shape of the encoded matrix.
        n_classes : int
        """
        times = n_classes / 2 if self.slow_by_class else 1.0
        # Callers divide by the cost, so it must be positive even if a user's own learner returns 0.
        return max(1e-9, times * self.seconds(self.complete(setting), n_rows, n_columns))
