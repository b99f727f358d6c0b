"""A study: datasets × arms × ε × settings × resampling, read from one YAML file."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from privcurve import schema
from privcurve.experiments import canonical
from privcurve.learners import registry

DEFAULT_OUTPUTS = ("accuracy", "selected_settings", "learning_curves")


class StudyError(ValueError):
    """A study file asks for something that can't be done; the message names it."""


@dataclass(frozen=True, eq=False)
class Arm:
    """One curve of a study: a learner with a calibration, a δ, and a grid.

    Two arms are equal if they are the same object, so that what follows from an arm can be
    remembered.

    Attributes
    ----------
    name : str
        Unique in the study; names folders, so: letters, digits, ``_ ~ = . -``.
    learner : str
        Name in the registry.
    title : str
        Name in figures and tables.
    calibration : str or None
        None for a method without privacy.
    delta : float
    epsilons : tuple of float
    settings : tuple of dict
        The grid, expanded; each with the fixed parameters included.
    """

    name: str
    learner: str
    title: str
    calibration: str | None
    delta: float
    epsilons: tuple[float, ...]
    settings: tuple[Mapping[str, Any], ...]

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """All (ε, setting) pairs, in the order of the study file."""
        texts = [canonical.text(setting) for setting in self.settings]
        return tuple(
            Point(epsilon, setting, text)
            for epsilon in self.epsilons
            for setting, text in zip(self.settings, texts, strict=True)
        )

    def estimator_parameters(self, point: Point) -> dict[str, Any]:
        """Give the estimator's parameters at one point."""
        parameters = dict(point.setting)
        if self.calibration is not None:
            parameters |= {
                "epsilon": point.epsilon,
                "delta": self.delta,
                "calibration": self.calibration,
            }
        return parameters


@dataclass(frozen=True, slots=True)
class Point:
    """An ε with a setting; `text` is the setting's canonical form."""

    epsilon: float
    setting: Mapping[str, Any]
    text: str


@dataclass(frozen=True)
class Finalists:
    """A second round of the selection, for learners whose noise differs from fit to fit.

    Attributes
    ----------
    settings : int
        How many settings, the best of the cross-validation at an ε, are trained again.
    draws : int
        How many times, in each fold.
    """

    settings: int
    draws: int


@dataclass(frozen=True)
class Study:
    """A named experiment.

    Attributes
    ----------
    name, title : str
    datasets : tuple of str
    folds : int
        Folds of the cross-validation that selects settings.
    repeats : int
        Fresh trainings of a selected setting.
    figure : str
        File name of its figure, without ending.
    arms : dict of str to Arm
    finalists : Finalists or None
        None: the best of the cross-validation is selected as it is.
    outputs : tuple of (str, mapping)
        What is made of its results, in the order of the file: word and options.
    paper : str or None
        The paper whose figures it makes.
    skipped : tuple of str
        For each entry whose learner needs a package that is not installed: which it is,
        and how to get it.
    """

    name: str
    title: str
    datasets: tuple[str, ...]
    folds: int
    repeats: int
    figure: str
    arms: Mapping[str, Arm]
    finalists: Finalists | None = None
    outputs: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    paper: str | None = None
    skipped: tuple[str, ...] = ()

    def arm(self, name: str) -> Arm:
        """Give an arm by name."""
        return self.arms[name]


def load(path: Path) -> Study:
    """Read a study file.

    Parameters
    ----------
    path : Path
        ``config/studies/<name>.yaml``, already valid under the study schema.

    Returns
    -------
    Study

    Raises
    ------
    StudyError
        If a learner, parameter, ε, δ or calibration is not allowed, a grid is empty, or
        every learner needs a package that is not installed.
    """
    return from_mapping(schema.read_yaml(path), path.stem, str(path))


def from_mapping(raw: Mapping[str, Any], name: str, where: str) -> Study:
    """Build a study from the content of its file.

    Parameters
    ----------
    raw : mapping
    name : str
    where : str
        What error messages call the file.

    Returns
    -------
    Study

    Raises
    ------
    StudyError
        As for :func:`load`.
    """
    arms: dict[str, Arm] = {}
    skipped: list[str] = []
    try:
        for label, spec in raw["learners"].items():
            # Checked in any case: a file is right or wrong whatever is installed.
            checked = {arm.name: arm for arm in _arms(label, spec, raw.get("epsilons"))}
            missing = registry.missing_package(spec["learner"])
            if missing:
                skipped.append(f"{where}: {label} is left out: {missing}")
            else:
                arms |= checked
    except ValueError as error:
        raise StudyError(f"{where}: learners: {label}: {error}") from None
    if skipped and not arms:
        raise StudyError(f"{where}: no learner is left. " + ". ".join(skipped))
    return Study(
        name=name,
        title=raw["title"],
        datasets=tuple(raw["datasets"]),
        folds=raw["folds"],
        repeats=raw["repeats"],
        figure=raw.get("figure", name),
        arms=arms,
        finalists=Finalists(**raw["finalists"]) if "finalists" in raw else None,
        outputs=tuple(_output(entry) for entry in raw.get("outputs", DEFAULT_OUTPUTS)),
        paper=raw.get("paper"),
        skipped=tuple(skipped),
    )


def _output(entry: str | Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Read an entry of `outputs`: a word alone, or a word with its options."""
    if isinstance(entry, str):
        return entry, {}
    ((word, options),) = entry.items()
    return word, options or {}


def _arms(label: str, spec: Mapping[str, Any], epsilons: list[Any] | None) -> Iterator[Arm]:
    entry = registry.entry(spec["learner"])
    settings = _expand(spec.get("fixed", {}), spec.get("grid", {}))
    for setting in settings:
        registry.check_parameters(entry.name, setting)
    title = spec.get("title", entry.title)
    if not entry.private:
        for key in ("calibrations", "deltas", "epsilons"):
            if key in spec:
                raise ValueError(f"{entry.name} is not private: it takes no {key!r}")
        yield Arm(label, entry.name, title, None, 0.0, (math.inf,), settings)
        return
    own = tuple(float(e) for e in spec.get("epsilons", epsilons or ()))
    if not own:
        raise ValueError("no epsilon: give the study, or this learner, a list 'epsilons'")
    bad = [e for e in own if not e > 0]
    if bad:
        raise ValueError(f"epsilon = {bad[0]:g} is not above 0")
    for calibration, delta in itertools.product(
        spec.get("calibrations", [entry.calibrations[-1]]), spec.get("deltas", [0])
    ):
        if calibration not in entry.calibrations:
            raise ValueError(
                f"calibration {calibration!r} is not offered by {entry.name}; "
                f"it has: {', '.join(entry.calibrations)}"
            )
        delta = float(delta)
        if not 0 <= delta < 1:
            raise ValueError(f"delta = {delta:g} is not in [0, 1)")
        if delta > 0 and not entry.approximate:
            raise ValueError(f"{entry.name} offers delta = 0 only")
        if delta == 0 and not entry.pure:
            raise ValueError(f"{entry.name} needs a delta above 0, for example deltas: [1.0e-5]")
        name = f"{label}~{calibration}" + (f"~delta={canonical.number(delta)}" if delta else "")
        yield Arm(name, entry.name, title, calibration, delta, own, settings)


def _expand(
    fixed: Mapping[str, Any], grid: Mapping[str, list[Any]]
) -> tuple[Mapping[str, Any], ...]:
    both = sorted(set(fixed) & set(grid))
    if both:
        raise ValueError(f"{both[0]!r} stands under both 'fixed' and 'grid'")
    empty = [axis for axis, values in grid.items() if not values]
    if empty:
        raise ValueError(f"the grid is empty: axis {empty[0]!r} has no value")
    settings = [
        {**fixed, **dict(zip(grid, values, strict=True))}
        for values in itertools.product(*grid.values())
    ]
    seen = {canonical.text(setting) for setting in settings}
    if len(seen) < len(settings):
        raise ValueError("the grid names a setting twice")
    return tuple(settings)
