"""What the registry says of one learner: facts only, light to import."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

# Optional packages, by the name they are imported under: name of the distribution.
OPTIONAL = {"interpret": "interpret-core"}


@dataclass(frozen=True)
class Parameter:
    """The values that one hyperparameter may take.

    Attributes
    ----------
    kind : type
        ``int``, ``float`` or ``str``. A ``float`` accepts whole numbers.
    low, high : float, optional
        Bounds, for numbers.
    open_low, open_high : bool
        Whether the bound itself is excluded.
    choices : tuple of str
        Allowed values, for strings.
    optional : bool
        Whether None is allowed too.
    """

    kind: type
    low: float | None = None
    high: float | None = None
    open_low: bool = False
    open_high: bool = False
    choices: tuple[str, ...] = ()
    optional: bool = False

    def __str__(self) -> str:
        if self.choices:
            return "one of " + ", ".join(repr(choice) for choice in self.choices)
        name = "a whole number" if self.kind is int else "a number"
        if self.low is None and self.high is None:
            return name
        low = "-inf" if self.low is None else f"{self.low:g}"
        high = "inf" if self.high is None else f"{self.high:g}"
        left = "(" if self.open_low or self.low is None else "["
        right = ")" if self.open_high or self.high is None else "]"
        return f"{name} in {left}{low}, {high}{right}"

    def admits(self, value: object) -> bool:
        """Whether `value` is allowed."""
        if value is None:
            return self.optional
        if self.choices:
            return value in self.choices
        if isinstance(value, bool) or not hasattr(value, "__float__"):
            return False
        number = float(value)
        if number != number or (self.kind is int and not number.is_integer()):
            return False
        if self.low is not None and (number < self.low or (self.open_low and number == self.low)):
            return False
        return not (
            self.high is not None
            and (number > self.high or (self.open_high and number == self.high))
        )


@dataclass(frozen=True)
class LearnerEntry:
    """One learner as the pipeline knows it.

    Attributes
    ----------
    name : str
        The word that a study uses for it.
    path : str
        ``module:Class`` of the estimator.
    version : int
        Raised whenever the same cell would give another result: part of a cell's id.
    title : str
        The name in tables and figures.
    calibrations : tuple of str
        Which of ``published`` and ``certified`` it offers; empty for a method
        without privacy, which is run at ε = ∞ alone.
    approximate : bool
        Whether it offers δ > 0.
    parameters : mapping of str to Parameter
        Its hyperparameters: what a grid may hold.
    cost : callable
        ``cost(setting, n_rows, n_columns)``: about how many seconds one fit takes.
    shared : tuple of str
        Parameters whose equal values (and ε) share costly work, such as a calibration:
        their cells are trained by the same job. Empty: no cells share any.
    pure : bool
        Whether it offers δ = 0.
    requires : str or None
        The optional package that it needs, a key of `OPTIONAL`; it comes with the extra
        ``privcurve[peers]``.
    peer : bool
        Whether it is another library's method, run as it is: its ε is that library's
        claim, for neighbours of its own choice (docs/peers.md), and is not audited.
    """

    name: str
    path: str
    version: int
    title: str
    calibrations: tuple[str, ...]
    approximate: bool
    parameters: Mapping[str, Parameter]
    cost: Callable[[Mapping[str, Any], int, int], float]
    shared: tuple[str, ...] = ()
    pure: bool = True
    requires: str | None = None
    peer: bool = False

    @property
    def private(self) -> bool:
        """Whether the learner offers a finite ε."""
        return bool(self.calibrations)
