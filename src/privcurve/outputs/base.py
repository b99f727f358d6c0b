"""Base class of outputs: name, options, inputs, files, and how the files are made.

The workflow reads these classes while it builds the DAG. So neither this file nor the file of an
output imports heavy modules at the top.
"""

from __future__ import annotations

import inspect
import io
import itertools
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from privcurve import datasets
from privcurve.analysis import sweep
from privcurve.analysis.keys import method_of
from privcurve.analysis.measures import MEASURES
from privcurve.datasets import Description, describe
from privcurve.experiments.curves import CODED, Curve
from privcurve.experiments.jobs import StudyJobs
from privcurve.experiments.study import ALL, Method, Study, StudyError
from privcurve.figures import style
from privcurve.home import home
from privcurve.lazy import Figure, pd
from privcurve.privacy import seeds
from privcurve.privacy.seeds import Seed
from privcurve.schema import suggestion
from privcurve.tables.table import Table, read_table

TABLES = Path("results/tables")
FIGURES = Path("results/figures")
MADE = Path("results/made")
AUDITS = Path("results/audit")
TABLE_ENDINGS = (".csv", ".md", ".tex")
FIGURE_ENDINGS = (".pdf", ".png", ".svg", ".csv")
# One folder per paper: its studies, outputs, printed numbers and claims.
PAPERS = Path("papers")

REQUIRED: Any = object()


class Option(NamedTuple):
    """One option of an output."""

    meaning: str  # printed when a value is refused
    kind: type  # type of the value; an integer is accepted for a float, a tuple for a list
    default: Any = REQUIRED  # `REQUIRED` if a study must set it

    def admits(self, value: object) -> bool:
        """Return whether a value has the right type; booleans are not numbers."""
        if value is None:
            return self.default is None
        # An empty list would mean the default, which is all.
        if isinstance(value, list) and not value and self.default is None:
            return False
        if isinstance(value, bool):
            return self.kind is bool
        others = {float: int, list: tuple}
        return isinstance(value, (self.kind, others.get(self.kind, self.kind)))


NAME = Option("file name below results/tables and results/figures, without extension", str, None)
NAME_KEY = "name"
FILE_NAME = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Files:
    """The files that an output writes: stems of tables and figures, and other files by name."""

    tables: tuple[Path, ...] = ()
    figures: tuple[Path, ...] = ()
    others: Mapping[str, Path] = field(default_factory=dict)

    @property
    def all(self) -> list[Path]:
        """Every file."""
        return [
            *(stem.with_name(stem.name + end) for stem in self.tables for end in TABLE_ENDINGS),
            *(stem.with_name(stem.name + end) for stem in self.figures for end in FIGURE_ENDINGS),
            *self.others.values(),
        ]

    @property
    def frames(self) -> list[Path]:
        """The CSV files of its tables and figures."""
        return [stem.with_name(f"{stem.name}.csv") for stem in (*self.tables, *self.figures)]


@dataclass(frozen=True)
class Reads:
    """The inputs of an output."""

    # curves whose selected settings and fresh trainings are read
    curves: tuple[tuple[str, str], ...] = ()
    grids: bool = False  # whether the cross-validation of these curves is also read
    data: tuple[str, ...] = ()  # datasets whose encoded records or domain are read
    # Datasets whose raw files are also read: a changed file counts even if its encoded data is the
    # same.
    raw: tuple[str, ...] = ()
    # Other outputs by word or name: `word` in this study, `study/word` in another study, `/word`
    # for the entire run.
    outputs: tuple[str, ...] = ()
    resources: tuple[Path, ...] = ()  # files of the project, such as printed numbers
    audits: tuple[str, ...] = ()  # learners whose audits are read
    # Other facts that determine the bytes, as plain JSON: titles, an order, versions of learners.
    facts: Any = None


class Output(ABC):
    """Base class of all outputs."""

    word: ClassVar[str]  # its name in a study
    # Increase this when the bytes of the output change: all outputs of this kind are then made
    # again, and no others. `tests/unit/test_golden_outputs.py` fails until then.
    version: ClassVar[int] = 1
    # options in addition to `name`, which every output has
    options: ClassVar[Mapping[str, Option]] = {}
    # "table", "figure" or both; override `files` to write other files.
    writes: ClassVar[tuple[str, ...]] = ("table",)
    # Whether the output can combine outputs of its kind from other studies.
    gathers: ClassVar[bool] = False
    # Whether the output needs selected settings, which a study with `select: all` does not have.
    selects: ClassVar[bool] = True
    # Whether the output takes only seconds and should not wait in a cluster's queue.
    local: ClassVar[bool] = True
    memory: ClassVar[int] = 1000  # MiB needed to make it

    @property
    def report_text(self) -> Path | None:
        """Return the report's caption file: next to the output's module, or in the workflow."""
        beside = Path(inspect.getfile(type(self))).with_name(f"{self.word}.rst")
        shipped = home() / f"workflow/report/{self.word}.rst"
        return next((path for path in (beside, shipped) if path.is_file()), None)

    def check(self, request: OutputRequest) -> None:  # noqa: B027 - most have nothing to check
        """Raise ValueError if the study can't provide what the request needs."""

    def files(self, request: OutputRequest) -> Files:
        """Return the files that the output writes."""
        return Files(
            (request.table,) if "table" in self.writes else (),
            (request.figure,) if "figure" in self.writes else (),
        )

    @abstractmethod
    def reads(self, request: OutputRequest) -> Reads:
        """Return the inputs of the output."""

    def studies_named(self, request: OutputRequest) -> Iterable[str]:
        """Return the studies that a file of the output names, so that a misspelt one is refused."""
        return ()

    def unasked(self, study: Study) -> str | None:
        """Return a note if the study has input for this output but lacks it; else None."""
        return None

    def facts(self, context: Context) -> Any:
        """Return facts about other studies that determine the bytes, as plain JSON; or None."""
        return None

    @abstractmethod
    def make(self, context: Context) -> None:
        """Make the output and write its files."""


# Separates the study from the output in a name.
SLASH = "/"


def check_name(what: str, name: str, names: Iterable[str]) -> None:
    """Raise ValueError, with the nearest name and all names, if `name` is not in `names`."""
    listed = list(names)
    if name not in listed:
        there = ", ".join(listed)
        raise ValueError(f"{what} {name!r}{suggestion(name, listed)} There are: {there}.")


def foreign_outputs(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return study and word (or name) of each output of another study, named as in `Reads`."""
    parts = (name.partition(SLASH) for name in names)
    return [(study, word) for study, slash, word in parts if study and slash]


@dataclass(frozen=True, eq=False)
class OutputRequest:
    """An output that a study requests, with its options."""

    output: Output
    study: Study
    options: Mapping[str, Any]  # all options, including defaults

    @property
    def key(self) -> str:
        """Return the name of the output within its study."""
        return self.options[NAME_KEY] or self.output.word

    @property
    def target(self) -> str:
        """Return the target's name on Snakemake's command line."""
        return self.options[NAME_KEY] or f"{self.study.name}_{self.output.word}"

    @property
    def place(self) -> Path:
        """Return the path of the files below a folder of results, without extension."""
        return Path(self.options[NAME_KEY] or f"{self.study.name}/{self.output.word}")

    @property
    def table(self) -> Path:
        """Return the stem of the table."""
        return TABLES / self.place

    @property
    def figure(self) -> Path:
        """Return the stem of the figure."""
        return FIGURES / self.place

    @property
    def paper(self) -> Path:
        """Return the folder of the study's paper; a user's own folder comes first."""
        folder = PAPERS / (self.study.paper or "")
        return folder if folder.is_dir() else Path(os.path.relpath(home() / folder))

    @cached_property
    def files(self) -> Files:
        """Return the files that the output writes."""
        return self.output.files(self)

    @cached_property
    def reads(self) -> Reads:
        """Return the inputs of the output."""
        return self.output.reads(self)

    def curves_of(self, methods: Iterable[Method]) -> tuple[tuple[str, str], ...]:
        """Return the curves of `methods` on all datasets of the study."""
        return tuple(itertools.product(self.study.datasets, [method.name for method in methods]))

    def places(self, methods: Iterable[Method]) -> Iterator[dict[str, Any]]:
        """Yield the columns that distinguish the results of `methods`, without splits.

        A parameter that a grid selects has a value that equals no other value.
        """
        for dataset, method in itertools.product(self.study.datasets, methods):
            curve: dict[str, Any] = {"dataset": dataset, "method": method.name}
            curve |= {"entry": method_of(method.base)}
            curve |= {"learner": method.learner, "calibration": method.calibration}
            curve |= {"delta": method.delta, "neighbours": method.relation}
            first, last = method.settings[0], method.settings[-1]
            chosen = [name for name in first if first[name] != last[name]]
            for epsilon in method.epsilons:
                selected = {**first, **dict.fromkeys(chosen, (method.name, epsilon))}
                for setting in method.settings if self.study.select == ALL else (selected,):
                    place = {**curve, "epsilon": epsilon, "setting": str(setting)}
                    yield {**setting, **method.varied, **place}

    def dataset_titles(self) -> list[list[str]]:
        """Return name and title of each dataset, a fact that determines the bytes of figures."""
        return [[name, dataset_title(name)] for name in self.study.datasets]

    def methods_of(self, learner: str) -> list[Method]:
        """Return the methods of one entry of the study's learners; ValueError without any."""
        labels = dict.fromkeys(map(method_of, self.study.methods))
        check_name("the study has no learner", learner, labels)
        return [method for name, method in self.study.methods.items() if method_of(name) == learner]

    def wanted_methods(self, *others: str) -> list[Method]:
        """Return the methods of the learners in the option `learners`, and of `others`; or all."""
        wanted = self.options["learners"] and (*self.options["learners"], *others)
        methods = self.study.methods.values()
        return [method for method in methods if not wanted or method_of(method.base) in wanted]

    def check_dataset(self, dataset: str) -> None:
        """Raise ValueError if the study has no such dataset."""
        check_name("the study has no dataset", dataset, self.study.datasets)

    def check_epsilon(self, learner: str, epsilon: float) -> None:
        """Raise ValueError if a method of a learner is not trained at an ε."""
        for method in self.methods_of(learner):
            if epsilon not in method.epsilons:
                raise ValueError(f"the curve {method.name} has no epsilon = {epsilon:g}")


@dataclass(frozen=True)
class Context:
    """The environment of an output when it is made."""

    request: OutputRequest
    jobs: StudyJobs  # jobs of its study
    # Outputs that it reads, by name as in `Reads.outputs`.
    others: Mapping[str, OutputRequest]
    seed: Seed  # base seed
    # Notes on runs that were trained by code that has changed since.
    code_notes: tuple[str, ...] = ()

    @property
    def own_notes(self) -> tuple[str, ...]:
        """Return notes on the contract of a user's own learners, and on changed code."""
        claimed = [method for method in self.study.methods.values() if method.contract]
        return (*(method.label(method.name) for method in claimed), *self.code_notes)

    @property
    def shuffle_seed(self) -> int:
        """Return the seed of shuffles (not of noise): the seed of the run, if it is public."""
        return self.seed if isinstance(self.seed, int) else seeds.start_number(self.seed, "")

    @property
    def study(self) -> Study:
        """Return the study."""
        return self.request.study

    @property
    def options(self) -> Mapping[str, Any]:
        """Return the options, including defaults."""
        return self.request.options

    @property
    def curves(self) -> tuple[Curve, ...]:
        """Return the curves that the output reads, in the order of `Reads.curves`."""
        return tuple(self.jobs.curves[pair] for pair in self.request.reads.curves)

    @property
    def inputs(self) -> list[Path]:
        """Return the files of other outputs and of audits that the output reads."""
        others = [other.files for other in self.others.values()]
        paths = [path for files in others for path in (*files.frames, *files.others.values())]
        return paths + [AUDITS / f"{learner}.csv" for learner in self.request.reads.audits]

    @property
    def is_complete(self) -> bool:
        """Return whether no training that the output reads has failed."""
        return all(job.is_done for job in self.jobs.jobs_of(self.curves))

    def results(self, columns: list[str] | None = None) -> Iterator[pd.DataFrame]:
        """Yield the results of the curves in parts; refuse results of other data or runs."""
        for curve in self.curves:
            yield from self.jobs.results(curve, columns)

    def runs(self) -> pd.DataFrame:
        """Read the runs that are results: fresh trainings or, without a selection, all runs."""
        return pd.concat(list(self.results()), ignore_index=True)

    def described_runs(self) -> pd.DataFrame:
        """Return the runs with a column for each parameter and each measure."""
        return sweep.describe_runs(self.runs(), self.methods())

    def methods(self) -> dict[str, dict[str, Any]]:
        """Return each method's name in the study and the values of its varying parameters."""
        # The key is the name: a learner may have a parameter `entry`, which a study varies.
        return {
            curve.method.name: {**curve.method.varied, "entry": method_of(curve.method.base)}
            for curve in self.curves
        }

    def read_selected(self) -> pd.DataFrame:
        """Read the selected settings of the curves; refuse settings of other data."""
        texts = (text for curve in self.curves for text in self.jobs.read_selected(curve))
        return read_table(*map(io.StringIO, texts))

    def grids(self, columns: list[str]) -> Iterator[pd.DataFrame]:
        """Yield the grids of the curves in parts."""
        for curve in self.curves:
            yield from self.jobs.grid(curve, columns)

    def data(self, dataset: str) -> datasets.Dataset:
        """Read an encoded dataset; ValueError if `Reads.data` does not declare it."""
        word = self.request.output.word
        if dataset not in self.request.reads.data:
            raise ValueError(
                f"the dataset {dataset!r} is read by {word}, so its reads() must name it"
            )
        return datasets.read(CODED / dataset)

    def data_notes(self) -> tuple[str, ...]:
        """Return notes on the datasets: values that bounds clip, and a network trained on them."""
        facts = [datasets.facts(CODED / name) for name in self.request.reads.data]
        notes = [note for coded in facts if coded for note in datasets.clipping_notes(coded)]
        return (*notes, *rule_notes(self.study))

    def table_of(self, word: str) -> pd.DataFrame:
        """Read the table of another output, or the frame of its figure.

        Raises ValueError if `Reads.outputs` does not name the output.
        """
        check_name("Reads.outputs does not name", word, self.others)
        return read_table(self.others[word].files.frames[0])

    def write(self, table: Table, stem: Path | None = None) -> None:
        """Write a table of the output (default: its first), followed by :attr:`own_notes`."""
        noted = replace(table, notes=(*table.notes, *self.own_notes))
        noted.write(stem or self.request.files.tables[0])

    def draw(self, figure: Figure, frame: pd.DataFrame, stem: Path | None = None) -> None:
        """Save a figure of the output (default: its first), and the frame with the plotted data.

        The notes of :attr:`own_notes` are written above the figure.
        """
        style.save(figure, frame, stem or self.request.files.figures[0], self.own_notes)


@cache
def _describe_in(dataset: str, folder: Path) -> Description:
    return describe(dataset)


def description_of(dataset: str) -> Description:
    """Return the description of a dataset, cached, so that a run uses one state of its file."""
    return _describe_in(dataset, Path.cwd())


def metric_name(metric: str) -> str:
    """Return the name of a metric for readers."""
    return MEASURES[metric].title if metric in MEASURES else metric.replace("_", " ")


def dataset_title(name: str) -> str:
    """Return the short title of a dataset: the part before the colon."""
    return description_of(name).title.partition(":")[0]


def source_of(name: str) -> str:
    """Return the dataset with the raw files of `name`: panels of one source share an axis."""
    return description_of(name).source


def datasets_of_rule(study: Study) -> list[str]:
    """Return the datasets of a study whose sources trained PrivGAM's network.

    PrivGAM's settings depend on the records of these datasets. The list is empty if the study has
    no PrivGAM.
    """
    from privcurve.privacy.calibration.privgam import SET_ON

    if all(method.learner != "privgam" for method in study.methods.values()):
        return []
    return [name for name in study.datasets if description_of(name).source in SET_ON]


def rule_notes(study: Study) -> list[str]:
    """Return the note of tables about the datasets of :func:`datasets_of_rule`."""
    names = ", ".join(datasets_of_rule(study))
    if not names:
        return []
    return [
        (
            f"Records of {names}, including test records, trained PrivGAM's network: on these "
            "datasets its settings depend on the records, and its results are optimistic."
        )
    ]


def request_output(
    outputs: Mapping[str, Output], study: Study, word: str, given: Mapping[str, Any], where: str
) -> OutputRequest:
    """Return a checked request for an output; messages call the study's file `where`.

    Raises StudyError if the output or an option is unknown (with the nearest name), if a value has
    a wrong type or is missing, or if the study lacks what the output needs.
    """
    place = f"{where}: outputs"
    if word not in outputs:
        hint = suggestion(word, outputs)
        raise StudyError(f"{place}: unknown output {word!r}{hint} There are: {', '.join(outputs)}.")
    output = outputs[word]
    options = {NAME_KEY: NAME, **output.options}
    for key, value in given.items():
        if key not in options:
            hint = suggestion(key, options)
            allowed = ", ".join(options)
            raise StudyError(f"{place}: {word} has no option {key!r}{hint} It has: {allowed}.")
        if not options[key].admits(value):
            raise StudyError(
                f"{place}: {word}: {key!r} must be {options[key].meaning}; got {value!r}."
            )
    for key, option in options.items():
        if option.default is REQUIRED and key not in given:
            raise StudyError(f"{place}: {word} needs the option {key!r}: {option.meaning}.")
    name = given.get(NAME_KEY)
    if name is not None and not FILE_NAME.fullmatch(name):
        raise StudyError(
            f"{place}: {word}: 'name' must have only letters, digits, _ and -; got {name!r}."
        )
    complete = {key: given.get(key, option.default) for key, option in options.items()}
    request = OutputRequest(output, study, complete)
    if study.studies and not output.gathers:
        others = ", ".join(name for name, other in outputs.items() if other.gathers)
        why = "reads results of its own study; of other studies it can read"
        raise StudyError(f"{place}: {word} {why}: {others}.")
    if output.selects and study.select == ALL:
        raise StudyError(
            f"{place}: {word} needs selected settings; 'select: all' has none. Set 'select: best'."
        )
    try:
        output.check(request)
    except ValueError as error:
        raise StudyError(f"{place}: {word}: {error}") from None
    try:
        request.reads  # noqa: B018 - kept by the request
    except StudyError:
        raise
    except Exception as error:  # a mistake in a user's own output
        raise StudyError(f"{place}: {word}: reads(): {type(error).__name__}: {error}") from error
    return request
