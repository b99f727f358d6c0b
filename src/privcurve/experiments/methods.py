"""Define the methods of a study: a method is a learner with a calibration, a δ and a grid.

An entry of the study's learners expands into one method or several methods.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from privcurve.experiments import canonical, tune
from privcurve.experiments.provenance import PLUS
from privcurve.learners import own, registry
from privcurve.learners.entry import LearnerEntry
from privcurve.learners.shared import tuning
from privcurve.privacy.budget import PRIVATE_COLUMNS, PROVED, REPLACE_ONE, budget_within_group
from privcurve.privacy.ledger import CLAIMED

# Name of the parameter that the key `train_shares` of a study varies.
TRAIN_SHARE = "train_share"

# Maximum number of settings in a grid, and of combinations of values under `vary`: more would
# exhaust the memory.
MOST_COMBINATIONS = 1_000_000

# Form of texts under `vary`: they become part of names of methods, and so of names of folders.
_WORD = re.compile(r"[A-Za-z0-9_.-]+")


class Point(NamedTuple):
    """One setting (a value for each hyperparameter) at one ε; `text` is its canonical JSON."""

    epsilon: float
    setting: Mapping[str, Any]
    text: str


@dataclass(frozen=True, eq=False)
class Method:
    """One curve of a study: a learner with a calibration, a δ, and a grid of settings.

    Two methods are equal only if they are the same object, so that functions of a method can cache
    their results.
    """

    # Unique in the study. It has only letters, digits and `_ ~ = . -`, as names of folders contain
    # it.
    name: str
    learner: str  # name of the learner in the registry
    title: str  # name in figures and tables
    calibration: str | None  # None for a method without privacy
    delta: float
    epsilons: tuple[float, ...]
    # All settings of the grid; each also contains the parameters under `fixed` and `vary`.
    settings: tuple[Mapping[str, Any], ...]
    neighbours: str | None = None  # requested neighbouring relation; None for the learner's default
    train_share: float = 1.0  # share of the training records that a fit uses
    # The values under `vary`, and the share of the training records if the study varies it: they
    # distinguish methods with the same `base`.
    varied: Mapping[str, Any] = field(default_factory=dict)
    base: str = ""  # common part of the names of methods that differ only in `varied`
    base_title: str = ""  # common part of the titles of methods with the same `base`
    # The content of the key `tune`, if each training selects its setting privately within its ε.
    # `learner` is then `tuned`, and its only setting names the learner and the grid from which it
    # selects.
    tune: Mapping[str, Any] | None = None

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """All (ε, setting) pairs, in the order of the study file."""
        texts = [canonical.text(setting) for setting in self.settings]
        pairs = itertools.product(self.epsilons, zip(self.settings, texts, strict=True))
        return tuple(Point(epsilon, *setting) for epsilon, setting in pairs)

    def points_at(self, epsilons: Collection[float]) -> tuple[Point, ...]:
        """Return the points at each of `epsilons`, in the order of `points`."""
        return tuple(point for point in self.points if point.epsilon in epsilons)

    @property
    def version(self) -> int:
        """The version of the learner, which is part of a run's id.

        With private selection, the number combines the versions of `tuned` and of the tuned
        learner.
        """
        version = registry.version(self.learner)
        if self.tune is None:
            return version
        return 1000 * version + registry.version(self.settings[0]["learner"])

    @property
    def entry(self) -> LearnerEntry:
        """The registry's entry of the learner that the study names, also if `tune` tunes it."""
        return registry.entry(self.settings[0]["learner"]) if self.tune else self.learner_entry

    @cached_property
    def learner_entry(self) -> LearnerEntry:
        """The registry's entry of `learner`; with `tune`, the entry of the learner ``tuned``."""
        return registry.entry(self.learner)

    @cached_property
    def own_learners(self) -> list[str]:
        """The user's own learners that the method trains."""
        names = {one for names in self.all_learners for one in names.split(PLUS)}
        return sorted(names - {*registry.LEARNERS})

    @property
    def is_claimed(self) -> bool:
        """Whether ε is only a claim of the learner's author, neither derived nor proved.

        True for private learners of other libraries, and for a user's own learners unless their
        status is derived.
        """
        is_own = bool(self.own_learners) and self.status == CLAIMED
        return self.calibration is not None and (is_own or self.entry.peer)

    @property
    def status(self) -> str:
        """``derived`` or ``claimed`` if the method trains a user's own learner; else empty."""
        if self.own_learners == [self.learner]:
            return own.status(self.learner)
        return CLAIMED if self.own_learners else ""

    @property
    def contract(self) -> str:
        """The worst result of the contract check among the user's own private learners.

        Empty if the method trains none.
        """
        finding = [own.tried(name) for name in self.own_learners if registry.entry(name).private]
        return next((one for one in (own.BROKEN, own.NOT_TRIED, own.KEPT) if one in finding), "")

    @property
    def breaks_contract(self) -> bool:
        """Whether a learner broke the contract; the method is then not ranked or recommended."""
        return self.contract == own.BROKEN

    def label(self, title: str) -> str:
        """Return `title`; for a user's own learner, with its status and contract result added."""
        return f"{title} ({self.status}; {self.contract})" if self.contract else title

    @property
    def relation(self) -> str | None:
        """The neighbouring relation that privacy statements must name; None without privacy."""
        return None if self.calibration is None else self.claim

    @property
    def claim(self) -> str:
        """The neighbouring relation of the fits.

        A learner without privacy has a relation, too, as the relation determines which columns a
        learner may read exactly.
        """
        return self.neighbours or self.learner_entry.neighbours[0]

    def few_bins(self, setting: Mapping[str, Any]) -> list[int]:
        """Return the maximum number of bins that a fit leaves in a column whose bins it merges.

        A fit merges bins of the columns in `Domain.mixed_bins`. The result is a list: it is empty
        if the fit merges no bins, and has several numbers if the fit selects among settings with
        different maximum numbers.
        """
        candidates = self._list_candidates(setting)
        merged = {registry.entry(c.learner).most_bins(c.setting) for c in candidates}
        return sorted(few for few in merged if few is not None)

    def class_versions(self, setting: Mapping[str, object]) -> dict[str, int]:
        """Return the version of each learner's fits for more than two classes, by learner.

        The result omits learners with version 1, so that ids of older runs stay valid.
        """
        entries = [registry.entry(c.learner) for c in self._list_candidates(setting)]
        return {entry.name: entry.class_version for entry in entries if entry.class_version > 1}

    def learners(self, setting: Mapping[str, object]) -> str:
        """Return the names of the learners that a fit with `setting` trains, joined by `PLUS`."""
        names = {candidate.learner for candidate in self._list_candidates(setting)}
        return PLUS.join(sorted({self.learner, *names}))

    @cached_property
    def all_learners(self) -> frozenset[str]:
        """Names of the learners that a fit trains (:meth:`learners`), for all settings."""
        if self.tune is None:
            return frozenset([self.learner])
        return frozenset(map(self.learners, self.settings))

    def _list_candidates(self, setting: Mapping[str, Any]) -> list[tuning.Candidate]:
        """Return the learners and settings among which a fit selects.

        Without private selection there is one candidate: the learner with this setting.
        """
        if self.tune is None:
            return [tuning.Candidate(self.learner, setting)]
        return [*tuning.candidates_of(setting["learner"], setting["settings"])]

    def estimator_parameters(self, point: Point, at_most: int | None) -> dict[str, Any]:
        """Return the parameters of the learner's estimator at a point.

        If ε and δ protect persons with up to `at_most` records each, the estimator gets the smaller
        ε and δ of one record. `at_most` is None if ε and δ protect records.
        """
        parameters = dict(point.setting)
        if self.calibration is not None:
            epsilon, delta = budget_within_group(point.epsilon, self.delta, at_most)
            parameters |= {"epsilon": epsilon, "delta": delta, "calibration": self.calibration}
        return parameters


def methods(label: str, spec: Mapping[str, Any], study: Mapping[str, Any]) -> Iterator[Method]:
    """Yield the methods of one entry of a study's learners.

    There is one method for each combination of a calibration, a δ, the values under `vary`, and a
    share of the training records. `label` is the name and `spec` the content of the entry; `study`
    is the content of the study file, whose values are the defaults of all entries. Raises
    ValueError if the entry requests something unsupported, or if a list is empty.
    """
    base = registry.entry(spec["learner"])
    if "tune" in spec:
        tune.check(spec)
    elif base.name == tuning.NAME:
        raise ValueError(
            f"learner must be the learner to tune; got {tuning.NAME!r}. Name the learner to tune, "
            "and add 'tune': {grid: …} to its entry"
        )
    trained = registry.entry(tuning.NAME) if "tune" in spec else base
    relation = _choose_relation(trained, spec.get("neighbours"), study.get("neighbours"))
    shares = [*map(canonical.real, study.get("train_shares", [1]))]
    canonical.check_distinct(TRAIN_SHARE, shares)
    bad = [share for share in shares if not 0 < share <= 1]
    if bad:
        raise ValueError(f"train_shares: must be in (0, 1]; got {bad[0]:g}")
    for varied in _combine_values(spec.get("vary", {})):
        both = sorted(set(varied) & {*spec.get("fixed", {}), *spec.get("grid", {})})
        if both:
            raise ValueError(f"{both[0]!r} must be under 'vary', 'fixed' or 'grid', but only once")
        fixed = {**spec.get("fixed", {}), **varied}
        grid = {**spec.get("grid", {}), **spec.get("tune", {}).get("grid", {})}
        settings = _expand_grid(base, fixed, grid)
        if "tune" in spec:
            settings = (tune.setting(base, fixed, spec["tune"]),)
        for setting in settings:
            if why := trained.refuses(neighbours=relation, setting=setting):
                raise ValueError(why)
        title = canonical.title(spec.get("title", base.title))
        for calibration, delta, epsilons in _list_budgets(spec, study.get("epsilons"), trained):
            # The name of a method contains its calibration. `proved` is left out for a user's own
            # learner, as this project proves nothing about this learner.
            is_named = calibration and (calibration != PROVED or base.name in registry.LEARNERS)
            name = f"{label}~{calibration}" if is_named else label
            name += f"~delta={canonical.number(delta)}" if delta else ""
            for share in shares:
                axes = {**varied, **({TRAIN_SHARE: share} if "train_shares" in study else {})}
                words = {axis: _write_value(axis, value) for axis, value in axes.items()}
                # A share of 1 is not part of the name, so that the method has the same name, and
                # reuses the same results, as in a study without `train_shares`.
                named = [axis for axis in words if axis in varied or share < 1]
                yield Method(
                    name="~".join([name, *(f"{axis}={words[axis]}" for axis in named)]),
                    learner=trained.name,
                    title=", ".join([title, *map(" = ".join, words.items())]),
                    calibration=calibration,
                    delta=delta,
                    epsilons=epsilons,
                    settings=settings,
                    neighbours=None if base.neighbours[0] == relation else relation,
                    train_share=share,
                    varied=axes,
                    base=name,
                    base_title=title,
                    tune=spec.get("tune"),
                )


def _choose_relation(entry: LearnerEntry, of_entry: str | None, of_study: str | None) -> str | None:
    """Return the neighbouring relation of an entry of a study's learners.

    `of_entry` and `of_study` are the relations that the entry and the study request; without any,
    the result is None, for the learner's default. Raises ValueError if the learner does not support
    the requested relation.
    """
    relation = of_entry or of_study
    if not entry.private:
        if of_entry:
            raise ValueError(
                f"{entry.name} is not private, so it has no 'neighbours'; leave the key out"
            )
        # A learner without privacy has no relation, but the relation private-columns makes it read
        # the public columns only.
        return PRIVATE_COLUMNS if of_study == PRIVATE_COLUMNS in entry.neighbours else None
    if relation is None or relation in entry.neighbours:
        return relation
    if of_entry is None and relation == PRIVATE_COLUMNS and REPLACE_ONE in entry.neighbours:
        # Any two neighbours under private-columns are neighbours under replace-one: the learner's
        # default implies the requested relation.
        return None
    raise ValueError(entry.refuses(neighbours=relation))


def _list_budgets(
    spec: Mapping[str, Any], epsilons: Sequence[Any] | None, trained: LearnerEntry
) -> Iterator[tuple[str | None, float, tuple[float, ...]]]:
    """Yield each calibration, δ and list of ε that an entry of a study's learners requests.

    `spec` is the content of the entry, `epsilons` the list of the study.
    """
    if not trained.private:
        for key in ("calibrations", "deltas", "epsilons"):
            if key in spec:
                raise ValueError(
                    f"{trained.name} is not private, so it has no {key!r}; leave the key out"
                )
        yield None, 0.0, (math.inf,)
        return
    values = tuple(map(canonical.real, spec.get("epsilons", epsilons or ())))
    if not values:
        raise ValueError("epsilons must be a list of ε; add it to the study or to this learner")
    for epsilon in values:
        if why := trained.refuses(epsilon=epsilon):
            raise ValueError(why)
    canonical.check_distinct("epsilon", values)
    deltas = [*map(canonical.real, spec.get("deltas", [0]))]
    canonical.check_distinct("delta", deltas)
    calibrations = spec.get("calibrations", [trained.calibrations[-1]])
    for calibration, delta in itertools.product(calibrations, deltas):
        if why := trained.refuses(delta=delta, calibration=calibration):
            raise ValueError(why)
        yield calibration, delta, values


def _combine_values(vary: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Yield each combination of the values under `vary`; one empty mapping if `vary` is empty."""
    for axis, values in vary.items():
        if not values:
            raise ValueError(f"vary: axis {axis!r} must have a value; its list is empty")
        texts = [_write_value(axis, value) for value in values]
        twice = [text for place, text in enumerate(texts) if text in texts[:place]]
        if twice:
            raise ValueError(
                f"vary: {axis} must have distinct values; {twice[0]} occurs twice. Keep one"
            )
        canonical.check_distinct(f"vary: {axis}", values)
    _check_size("vary: ", vary.values())
    for values in itertools.product(*vary.values()):
        yield dict(zip(vary, values, strict=True))


def _check_size(what: str, axes: Iterable[Sequence[Any]]) -> None:
    """Raise ValueError if `axes` have too many combinations, before these fill the memory."""
    size = math.prod(map(len, axes))
    if size > MOST_COMBINATIONS:
        raise ValueError(
            f"{what}the number of combinations must be at most {MOST_COMBINATIONS:,}; got {size:,}"
        )


def _write_value(axis: str, value: object) -> str:
    """Write a value as part of a method's name, which is also the name of a folder.

    Raises ValueError if the value is not allowed in the name of a folder.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return canonical.number(value) if value == value else "nan"
    text = "none" if value is None else str(value)
    if isinstance(value, bool) or not _WORD.fullmatch(text):
        raise ValueError(
            f"vary: {axis} must have numbers, or words of letters, digits, '_', '.' and '-', "
            f"which name the curves; got {value!r}"
        )
    return text


def _expand_grid(
    entry: LearnerEntry, fixed: Mapping[str, object], grid: Mapping[str, Sequence[Any]]
) -> tuple[Mapping[str, Any], ...]:
    """Return the settings of a grid, each together with the fixed parameters.

    Raises ValueError if two settings are equal, or if a parameter is not allowed.
    """
    both = sorted(set(fixed) & set(grid))
    if both:
        raise ValueError(f"{both[0]!r} must be under 'fixed' or 'grid'; it is under both")
    empty = [axis for axis, values in grid.items() if not values]
    if empty:
        raise ValueError(f"grid: axis {empty[0]!r} must have a value; its list is empty")
    _check_size("the grid: ", grid.values())
    for axis, values in grid.items():
        canonical.check_distinct(axis, values)
    settings = [
        {**fixed, **dict(zip(grid, values, strict=True))}
        for values in itertools.product(*grid.values())
    ]
    for setting in settings:
        # This check comes before the comparison as texts: it refuses NaN, which has no canonical
        # JSON.
        entry.check_parameters(setting)
    # Two settings can be equal only if an axis has two equal values, which is quick to test.
    if any(len(set(map(canonical.text, values))) < len(values) for values in grid.values()):
        times = Counter(map(canonical.text, settings))
        twice = next(text for text in times if times[text] > 1)
        raise ValueError(f"the settings of the grid must be distinct; it has one twice: {twice}")
    return tuple(settings)
