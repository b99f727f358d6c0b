"""The registry's entry of one learner: only facts, fast to import."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from inspect import get_annotations
from typing import Any, NamedTuple, TypeVar

from privcurve.privacy.budget import (
    PRIVATE_COLUMNS,
    PROVED,
    REPLACE_ONE,
    check_budget,
    explain_renamed,
)

# The largest number of rounds, trees, columns or records: more do not fit in memory.
MOST = 10**9
# The largest absolute value of a number: sums of larger ones overflow.
LARGEST = 1e100

# Matches every value of a parameter except its default.
ANY = "any value"

Value = TypeVar("Value")
# The key of a declaration in the metadata of its field.
_DECLARED = "hyperparameter"


@dataclass(frozen=True)
class Parameter:
    """One hyperparameter: its default and its allowed values.

    Attributes
    ----------
    default : int, float, str or None
        None is allowed only as the default.
    kind : type
        ``int``, ``float`` or ``str``. A ``float`` accepts integers.
    low, high : float, optional
        Bounds of numbers; integers are always at most `MOST`.
    open_low, open_high : bool
        Whether the bound itself is excluded.
    choices : tuple of str
        Allowed values of strings.
    size : bool
        Whether the work of a fit grows roughly in proportion to it: tests use small values, and
        estimates of cost must grow with it.
    used_with : mapping of str to tuple
        Other parameters, with the values that they must have for this one to have an effect.
        Otherwise this one must have its default. Parameters that a learner does not have do not
        count.
    only : mapping of str to str
        Values (or `ANY`) that only one calibration supports, with that calibration.
    with_public : tuple of str
        Values that need to know which columns are public.
    unproved : mapping of str to str
        Values without a proved guarantee, and the reason. Studies accept them; releases and
        private selections refuse them.
    structure : str
        A description of the values, if they are neither numbers nor words of a list: then the
        learner itself checks them.
    tried : tuple, optional
        Values for the contract instead of the two ends of the range, or of all words, if the
        values are limited by more than the range.
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
    """Declare a hyperparameter: a field of a dataclass, with its allowed values.

    Parameters
    ----------
    default : int, float, str or None
    kind : type, optional
        The default's type; ``str`` for None.
    **allowed
        Other attributes of :class:`Parameter`.
    """
    kind = kind or (str if default is None else type(default))
    declared = Parameter(default, kind, **allowed)
    return field(default=default, metadata={_DECLARED: declared})


def parameters_of(declaring: type[Any]) -> dict[str, Parameter]:
    """Return the hyperparameters that a dataclass declares with `parameter`, then its bases'."""
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
    """Public facts of records outside the pipeline's datasets, as in an audit or a test.

    A `Domain` of the pipeline has the same attributes, and more.

    Attributes
    ----------
    n_bins : sequence of int
        Number of codes of each column.
    ordered : sequence of bool, optional
        Whether the codes of each column are ordered.
    n_classes : int
        Number of classes.
    public_columns : sequence of int, optional
        Positions of the columns that are public under ``private-columns``.
    public_label : bool, optional
        Whether the label is public there.
    mixed_bins : sequence of int, optional
        How many of the first codes of each column are mixed bins, and how many leaves of private
        ones; 0 for none.
    """

    n_bins: Any
    ordered: Any = None
    n_classes: int = 2
    public_columns: Any = None
    public_label: Any = None
    mixed_bins: Any = None


class Proof(NamedTuple):
    """Support of the status ``proved`` of a learner: a section of a page of proofs, and a test."""

    theorem: str
    test: str = "tests/privacy/test_contract.py::test_learners_keep_it"


@dataclass(frozen=True)
class LearnerEntry:
    """One learner in the registry.

    Attributes
    ----------
    name : str
        Its name in a study.
    path : str
        ``module:Class`` of the estimator. In a user's own file it is only the class; in a user's
        or a paper's folder, the module is relative to the folder.
    title : str
        The name in tables and figures.
    seconds : callable
        ``seconds(setting, n_rows, n_columns)``: estimated seconds of one fit with a complete
        setting. See :meth:`cost`.
    version : int
        Raised whenever the same run would give another result: part of a run's id.
    class_version : int
        Raised instead if only fits to more than two classes change: only their ids contain it.
    weights : str
        The SHA-256 of the file of trained weights that its fits read; empty without such a file.
    calibrations : tuple of str
        The supported calibrations among ``published`` and ``proved``; empty for a method
        without privacy, which runs only at ε = ∞.
    approximate : bool
        Whether it supports δ > 0.
    parameters : mapping of str to Parameter
        Its hyperparameters: the allowed axes of a grid (:func:`parameters_of`).
    shared : tuple of str
        Parameters whose equal values (and ε) share expensive work, such as a calibration:
        their runs are trained by the same job. Empty: no runs share work.
    pure : bool
        Whether it supports δ = 0.
    needs : tuple of str
        Public facts that the estimator needs in addition to ``n_bins`` and ``classes``: parameters
        of its constructor named like attributes of a domain (see :class:`Facts`).
    takes : tuple of str
        Such facts that it uses if a domain has them, but does not need.
    neighbours : tuple of str
        Supported neighbouring relations, words of ``privacy.budget``; the first is its default.
    requires : str or None
        Import name of the optional package that it needs; `extras` lists the extras.
    peer : bool
        Whether it is another library's method, unchanged: its ε is that library's claim, for
        that library's neighbouring relation (docs/peers.md), and is not audited.
    multiclass : bool
        Whether it supports more than two classes: then its `_fit_one` gets positions of classes,
        0 … K − 1, even for two classes, while other learners get signs.
    few_bins : int or None
        The best number of mixed bins per column: neighbouring bins are merged to this number
        before a fit. None: fine bins cost it little, and nothing is merged.
    few_with : mapping of str to tuple
        The values of its parameters for which `few_bins` applies.
    slow_by_class : bool
        Whether a fit takes K/2 times longer with K classes; others take about as long as with two.
    in_parts : mapping of str to tuple, or None
        The values of its parameters with which it can be trained on partitioned records
        (:mod:`privcurve.parts`); empty if it always can, None if it never can.
    peak : tuple of float, optional
        Memory of a training: bytes per record, and bytes per value (one encoded column of one
        record) if codes have one byte. See `registry.training_bytes`.
    proof : Proof, optional
        The proof of its statement. Only a learner of this project has one; without it the status
        of its statements is ``claimed``.
    sees_open : mapping of str to str
        Calibrations with which a private fit sees open records, and why. Only learners of this
        project may.
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
        """Its version and the first digits of the checksum of its weights, as one number."""
        return self.version * 2**32 + int(self.weights[:8], 16) if self.weights else self.version

    def placed_in(self, module: str) -> LearnerEntry:
        """Return the entry of a module, with the complete path of its class."""
        return replace(self, path=f"{module}{'.' if ':' in self.path else ':'}{self.path}")

    @property
    def private(self) -> bool:
        """Whether the learner supports a finite ε."""
        return bool(self.calibrations)

    @property
    def proved(self) -> bool:
        """Whether this project proves noise of the learner."""
        return PROVED in self.calibrations and not self.peer

    @property
    def stays_open(self) -> bool:
        """Whether all private fits see open records: a part of the model stays with the owner."""
        return self.private and set(self.calibrations) <= self.sees_open.keys()

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        """The default hyperparameters."""
        return {name: parameter.default for name, parameter in self.parameters.items()}

    def complete(self, setting: Mapping[str, Any]) -> dict[str, Any]:
        """Return all hyperparameters of a setting: its own, and the defaults of the others."""
        return {**self.defaults, **setting}

    def most_bins(self, setting: Mapping[str, Any]) -> int | None:
        """Return the best number of mixed bins of a column; None: no merging.

        Parameters
        ----------
        setting : mapping
            Parameters; others are at their defaults.
        """
        values = self.complete(setting)
        is_few = all(values[key] in allowed for key, allowed in self.few_with.items())
        return self.few_bins if is_few else None

    def delta_passed(self, delta: float) -> float:
        """Return the δ for the learner: 0 if it supports only pure privacy."""
        return float(delta) if self.approximate else 0.0

    def refuses(self, **terms: Any) -> str:
        """Return why the learner does not support a request; empty if it does.

        Fits, studies, releases and private selections all give this answer.

        Parameters
        ----------
        epsilon, delta : float, optional
            The budget. With ε = ∞ every δ may be 0.
        calibration, neighbours : str, optional
            Words of ``privacy.budget``.
        n_classes : int, optional
        facts : Domain or Facts, optional
            The public facts.
        setting : mapping, optional
            Hyperparameters, for these neighbours: some need public columns.
        in_parts : bool, optional
            Whether the records are partitioned.

        Returns
        -------
        str
            The learner, what it supports, and the request; no full stop.
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
        setting: Mapping[str, Any] | None = None,
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
        self, setting: Mapping[str, Any], n_rows: int, n_columns: int, n_classes: int = 2
    ) -> float:
        """Return the estimated seconds of one fit.

        Parameters
        ----------
        setting : mapping
            Hyperparameters; the others are at their defaults.
        n_rows, n_columns : int
            Shape of the encoded matrix.
        n_classes : int
        """
        times = n_classes / 2 if self.slow_by_class else 1.0
        # Positive, whatever a user's own learner returns: it is a divisor.
        return max(1e-9, times * self.seconds(self.complete(setting), n_rows, n_columns))
