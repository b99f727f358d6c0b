"""Read a study from its YAML file: datasets, methods, ε, settings and splits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from privcurve import papers, schema
from privcurve.analysis.measures import ACCURACY, AUC, CHANCES, MEASURES
from privcurve.datasets import Description, describe, names
from privcurve.errors import ExpectedError
from privcurve.experiments import canonical, legends, tune
from privcurve.experiments.methods import Method, methods
from privcurve.experiments.splits import TEST, Split, fold_splits, holdout_splits
from privcurve.learners import registry
from privcurve.privacy.budget import PRIVATE_COLUMNS, budget_within_group

# The measure by which settings are selected if the study names none.
DEFAULT_METRIC = ACCURACY
# Name of an output that always needs the AUC, even if its options do not mention the AUC.
PRICE = "price"

# Values of the key `select`: select the best setting, or report all settings.
BEST, ALL = "best", "all"
# The key `studies` may have a list of studies for each paper. The list with this name has the
# studies that belong to no paper.
PACKAGE = "privcurve"
DEFAULT_OUTPUTS = ("accuracy", "selected_settings", "learning_curves")


class StudyError(ExpectedError, ValueError):
    """A study requests something unsupported; the message names the file and the request."""


class Finalists(NamedTuple):
    """The size of the second round of the selection of settings, for learners with noise.

    The best settings of the cross-validation at an ε are trained again, because the noise of a
    single fit may have favoured one of them.
    """

    settings: int  # number of best settings that are trained again
    draws: int  # number of new trainings of each such setting, per fold


@dataclass(frozen=True)
class Study:
    """A named experiment: the methods to train, the datasets and splits, and the outputs."""

    name: str
    title: str
    datasets: tuple[str, ...]
    folds: int  # number of folds of the stratified cross-validation; 0 with hold-outs
    # Number of fresh trainings of each selected setting, or of hold-outs. 0 if there are no fresh
    # trainings: each point is trained once on each fold.
    repeats: int
    figure: str  # file name of the study's figure, without extension
    methods: Mapping[str, Method]  # empty if the study combines tables of other studies
    # The second round of the selection; None if there is only one round.
    finalists: Finalists | None = None
    paper: str | None = None  # name of the paper that the study belongs to
    # Messages, one for each entry of `learners` that needs a package which is not installed.
    skipped: tuple[str, ...] = ()
    holdout: float = 0.0  # share of the records that a hold-out scores; 0 with folds
    metric: str = DEFAULT_METRIC  # measure by which settings are selected
    # `best`: one setting is selected at each ε. `all`: no setting is selected, and the results are
    # the runs of all settings.
    select: str = BEST
    # Requested neighbouring relation; None for each learner's default.
    neighbours: str | None = None
    # The name (`Output.word`) and the options of each output, in the order of the file.
    outputs: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    # Whether the study's key `epsilons` has no effect, because each private learner has its own ε.
    idle_epsilons: bool = False
    # Names of studies whose tables this study combines; if there are any, it trains nothing itself.
    studies: tuple[str, ...] = ()

    @property
    def resampling(self) -> int | tuple[int | float | str, ...]:
        """Folds, hold-out share and other values on which :func:`.readiness.check` depends.

        The check is repeated if one of these values changes.
        """
        least = min((method.train_share for method in self.methods.values()), default=1)
        shares = () if least == 1 else (least,)
        if not self.holdout and self.metric == DEFAULT_METRIC and not shares:
            return self.folds
        # The check depends on the learners only if settings are selected by the log loss or the
        # Brier score: these need probabilities, which some learners lack.
        by_loss = MEASURES[self.metric].needs == CHANCES
        learners = {method.learner for method in self.methods.values()} if by_loss else ()
        return (self.folds, self.holdout, self.metric, *shares, *sorted(learners))

    @property
    def own_learners(self) -> list[str]:
        """The user's own learners that the study trains."""
        return sorted({name for method in self.methods.values() for name in method.own_learners})

    def shows(self, measure: str) -> bool:
        """Return whether the study needs `measure`, to select settings or for an output."""
        is_used = any(
            (word == PRICE and measure == AUC)
            or measure in (*options.values(), *(options.get("measures") or ()))
            for word, options in self.outputs
        )
        return self.metric == measure or is_used

    @property
    def selection_splits(self) -> list[Split]:
        """The splits on which settings are trained to select one of them."""
        if self.holdout:
            return holdout_splits(self.holdout, self.repeats, fresh=False)
        return fold_splits(self.folds)

    def final_splits(self, draws: int) -> list[Split]:
        """Return the splits of the selection's second round: each selection split `draws` times."""
        repeats = range(-1, -1 - draws, -1)
        return [Split(split.fold, repeat) for repeat in repeats for split in self.selection_splits]

    def fresh_splits(self, has_test: bool) -> list[Split]:
        """Return the splits of the fresh trainings of a setting, whose scores are the results.

        If the dataset has a test part, each repeat trains on the entire training part. If it has
        none, each repeat scores one fold: the first `folds` repeats score the folds of one new
        partition, the next `folds` repeats the folds of another, and so on. A study with hold-outs
        or without repeats uses the same splits on datasets with and without a test part.
        """
        n, repeats = self.folds, range(1, self.repeats + 1)
        if self.holdout:
            return holdout_splits(self.holdout, self.repeats, fresh=True)
        if not repeats:
            return fold_splits(n)
        return [Split(TEST if has_test else f"{(r - 1) % n + 1}/{n}", r) for r in repeats]


def load(path: Path) -> Study:
    """Read a study from a file that has passed the study schema.

    Raises StudyError if a learner, parameter, ε, δ or calibration is not allowed, a grid is empty,
    keys contradict each other, curves are indistinguishable, or the packages of all learners are
    missing.
    """
    return from_mapping(schema.read_yaml(path), path.stem, str(path))


def from_mapping(raw: Mapping[str, Any], name: str, where: str) -> Study:
    """Build a study from the content of its file; raises StudyError as :func:`load` does.

    `where` names the file in messages.
    """
    try:
        if "studies" in raw:
            _check_words_of_gathering(raw)
        else:
            _check_words(raw)
    except ValueError as error:
        raise StudyError(f"{where}: {error}") from None
    learners, datasets = {}, ()
    if (metric := raw.get("metric", DEFAULT_METRIC)) not in MEASURES:
        hint = schema.suggestion(metric, MEASURES)
        of = ", ".join(MEASURES)
        raise StudyError(f"{where}: metric must be one of: {of}; got {metric!r}{hint}")
    if "studies" not in raw:
        learners, datasets = raw["learners"], raw["datasets"]
    installed: dict[str, Method] = {}
    skipped: list[str] = []
    all_methods: list[Method] = []
    selected = raw.get("select") != ALL
    try:
        for label, spec in learners.items():
            # An entry is checked even if its package is missing, so that a file is valid or invalid
            # on all machines alike.
            checked = {method.name: method for method in methods(label, spec, raw)}
            legends.check_curves([*checked.values()], all_methods, selected=selected)
            all_methods += checked.values()
            missing = registry.missing_package(spec["learner"])
            if missing:
                skipped.append(f"{where}: {label} is left out: {missing}")
            else:
                installed |= checked
    except ValueError as error:
        raise StudyError(f"{where}: learners: {label}: {error}") from None
    if skipped and not installed:
        raise StudyError(f"{where}: no learner is left. " + ". ".join(skipped))
    private = [spec for spec in learners.values() if registry.entry(spec["learner"]).private]
    splits = raw.get("splits", raw)
    return Study(
        name=name,
        title=canonical.title(raw["title"]),
        datasets=tuple(datasets),
        folds=splits.get("folds", 0),
        repeats=splits.get("repeats", 0),
        figure=raw.get("figure", name),
        methods=installed,
        finalists=Finalists(**raw["finalists"]) if "finalists" in raw else None,
        paper=raw.get("paper"),
        skipped=tuple(skipped),
        holdout=float(splits.get("holdout", 0)),
        metric=metric,
        select=raw.get("select", BEST),
        neighbours=raw.get("neighbours"),
        outputs=tuple(map(_parse_output, raw.get("outputs", DEFAULT_OUTPUTS))),
        idle_epsilons="epsilons" in raw and {"epsilons" in spec for spec in private} == {True},
        studies=_list_studies(raw.get("studies", ())),
    )


def _list_studies(studies: Sequence[str] | Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the names of the studies that a study combines, from its key `studies`.

    The value of the key is a list of names, or a mapping from papers to lists of names. In the
    mapping, `PACKAGE` stands for studies without a paper. Lists of papers that are not installed
    are ignored.
    """
    if not isinstance(studies, Mapping):
        return tuple(studies)
    there = {*papers.names(), PACKAGE}
    return tuple(name for paper, some in studies.items() if paper in there for name in some)


def _check_words_of_gathering(raw: Mapping[str, Any]) -> None:
    """Raise ValueError if a study that combines other studies has keys for training."""
    idle = [key for key in raw if key not in ("title", "paper", "studies", "outputs")]
    if idle:
        raise ValueError(
            f"{idle[0]!r} is for a study that trains; with 'studies' only title, paper and "
            "outputs are allowed"
        )
    if "outputs" not in raw:
        raise ValueError(
            "'studies' needs 'outputs', as the default outputs need trainings of the study itself; "
            "list the outputs"
        )
    there = papers.names()
    for paper in raw["studies"] if isinstance(raw["studies"], Mapping) else ():
        if paper not in {*there, *papers.SHIPPED, PACKAGE}:
            hint = schema.suggestion(paper, there)
            raise ValueError(f"studies: {paper!r} is not a paper{hint}")
    if not _list_studies(raw["studies"]):
        raise ValueError(
            f"studies: at least one of its papers must exist: {', '.join(raw['studies'])}"
        )


def _check_words(raw: Mapping[str, Any]) -> None:
    """Raise ValueError if the keys of a study that trains contradict each other."""
    resampling = [key for key in ("folds", "repeats") if key in raw]
    splits, select_all = raw.get("splits"), raw.get("select") == ALL
    if splits is None and len(resampling) < 2:
        raise ValueError(
            "give 'folds' and 'repeats', or 'splits', for example splits: "
            "{holdout: 0.1, repeats: 100}"
        )
    if splits is not None and resampling:
        raise ValueError(f"{resampling[0]!r} is given with 'splits', which replaces it: keep one")
    if splits is not None and set(splits) not in ({"holdout", "repeats"}, {"folds"}):
        raise ValueError("splits: give either 'holdout' and 'repeats', or 'folds'")
    # The form `not … > 0` also refuses NaN, which the schema accepts.
    if splits is not None and not splits.get("holdout", 1) > 0:
        raise ValueError("splits: holdout must be a share, such as 0.1")
    if splits is not None and "folds" in splits and not select_all:
        raise ValueError(
            "splits: folds alone need 'select: all'; to select settings and train them afresh, "
            "give the study 'folds' and 'repeats' in place of 'splits'"
        )
    if select_all and "finalists" in raw:
        raise ValueError(
            "'finalists' are a second round of the selection, which 'select: all' "
            "does not have; leave one out"
        )
    if select_all and "metric" in raw:
        raise ValueError("'metric' selects settings, which 'select: all' does not; leave one out")
    if select_all and "outputs" not in raw:
        raise ValueError("'select: all' needs 'outputs': the default ones need selected settings")


def _parse_output(item: str | Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the name and the options of an item in the list `outputs`."""
    if isinstance(item, str):
        return item, {}
    ((name, options),) = item.items()
    return name, dict(options or {})


def prices(study: Study, where: str) -> Iterator[str]:
    """Yield a note for each method with private selection: the part of ε left for a training.

    The computation takes a tenth of a second per method. Raises StudyError if nothing is left.
    """
    for method in study.methods.values():
        if method.tune is not None:
            try:
                note = tune.price(method.settings[0], method.epsilons, method.delta)
            except ValueError as error:
                raise StudyError(f"{where}: learners: {method.name}: {error}") from None
            yield f"{where}: {method.name}: {note}"


def notes(study: Study, datasets: Mapping[str, Description], where: str) -> Iterator[str]:
    """Check a study against the descriptions of its datasets, and yield notes for the user.

    Raises StudyError if a neighbouring relation has no meaning on a dataset, if a dataset has more
    classes than a learner supports, if a learner does not support the unit of privacy, or if a
    learner needs all records in memory but the dataset is partitioned.
    """
    partial = [method for method in study.methods.values() if method.claim == PRIVATE_COLUMNS]
    if study.neighbours == PRIVATE_COLUMNS and not partial:
        raise StudyError(
            f"{where}: neighbours: no learner of the study offers {PRIVATE_COLUMNS!r}; leave the "
            "key out"
        )
    if study.idle_epsilons:
        yield f"{where}: epsilons: no learner uses them, as each has its own"
    for note in legends.notes_on_titles(study.methods.values(), selected=study.select != ALL):
        yield f"{where}: learners: {note}"
    for name in study.datasets:
        about = datasets[name]
        if about.unit is not None:
            _check_unit(study, about, where)
            yield (
                f"{where}: {name}: ε and δ protect persons: at most {about.unit.at_most} "
                f"records of each {about.unit.column} train, and all of a person's records are "
                "in the same part"
            )
        _check_parts(study, about, where)
        _check_classes(study, about, where)
        if partial:
            _check_public(about, where)
        large = [method for method in study.methods.values() if method.delta >= 1 / about.n_rows]
        for method in large:
            yield (
                f"{where}: {method.name}: delta = {method.delta:g} is not private on {name}: "
                f"publishing one of its {about.n_rows} records has delta = 1/{about.n_rows}"
            )


def _check_unit(study: Study, about: Description, where: str) -> None:
    """Raise StudyError if a learner does not support the ε and δ that are left for one record.

    The ε and δ of a person are divided among the person's records; a learner may refuse the small ε
    or δ of one record.
    """
    assert about.unit is not None
    for method in study.methods.values():
        for epsilon in method.epsilons if method.calibration else ():
            per_record = budget_within_group(epsilon, method.delta, about.unit.at_most)
            budget = dict(zip(("epsilon", "delta"), per_record, strict=True))
            if why := method.learner_entry.refuses(**budget):
                raise StudyError(
                    f"{where}: {method.name}: epsilon = {epsilon:g} protects persons with at most "
                    f"{about.unit.at_most} records ({about.name}); for one record, {why}"
                )


def _check_parts(study: Study, about: Description, where: str) -> None:
    """Raise StudyError if a dataset is partitioned and a learner needs all records in memory."""
    for method in study.methods.values() if about.part_rows else ():
        entry = method.learner_entry
        for setting in method.settings:
            if why := entry.refuses(setting=setting, in_parts=True, facts=about.domain):
                raise StudyError(
                    f"{where}: {about.name}: {method.name}: {why}. {registry.hint_parts()}"
                )


def _check_classes(study: Study, about: Description, where: str) -> None:
    """Raise StudyError if a dataset has more than two classes and a learner supports only two."""
    n_classes = about.domain.n_classes
    if n_classes == 2:
        return
    entries = [method.entry for method in study.methods.values()]
    refused = dict.fromkeys(why for entry in entries if (why := entry.refuses(n_classes=n_classes)))
    if refused:
        of_two = [
            other
            for other in names()
            if other.startswith(f"{about.name}-") and describe(other).domain.n_classes == 2
        ]
        instead = f" ({', '.join(of_two)})" if of_two else ""
        raise StudyError(
            f"{where}: {'; '.join(refused)}; {about.name} has {n_classes} (label: classes in "
            f"{about.path}). Leave the dataset out; or give it two classes{instead}, by based_on: "
            f"{about.name} with another label; or use learners for more classes: "
            f"{', '.join(registry.multiclass_names())}"
        )


def _check_public(about: Description, where: str) -> None:
    domain = about.domain
    if not domain.label.public:
        lack = "does not declare its label public (public_label: true)"
    elif all(column.public for column in domain.columns):
        lack = "declares all of its columns public, so nothing is private"
    else:
        return
    raise StudyError(
        f"{where}: neighbours: {PRIVATE_COLUMNS!r} has no meaning on {about.name}: "
        f"{about.path} {lack}"
    )
