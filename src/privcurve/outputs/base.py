"""Define the base class of outputs: name, options, inputs, files, and how the files are made.

The workflow imports outputs while it builds the DAG. So neither this module nor the modules of
outputs import heavy modules at the top.
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

# Folders of results, and endings of files. Paths are relative to the folder in which the run is
# started. The files in MADE record what the outputs were made from (outputs/record.py).
TABLES = Path("results/tables")
FIGURES = Path("results/figures")
MADE = Path("results/made")
AUDITS = Path("results/audit")
TABLE_ENDINGS = (".csv", ".md", ".tex")
FIGURE_ENDINGS = (".pdf", ".png", ".svg", ".csv")
# Folder of the papers. It has a folder for each paper, with the paper's studies, outputs, printed
# numbers and claims.
PAPERS = Path("papers")

# Value of `Option.default` for an option that each study must set.
REQUIRED: Any = object()


class Option(NamedTuple):
    """One option of an output, which a study can set."""

    meaning: str  # completes "… must be" in the message about a bad value
    kind: type  # type of the value; an integer passes as a float, a tuple as a list
    default: Any = REQUIRED  # value if a study does not set the option; or `REQUIRED`

    def admits(self, value: object) -> bool:
        """Return whether a value has the right type. A boolean is not a number."""
        if value is None:
            return self.default is None
        # An empty list is refused, as code would take it for the default None, which means "all".
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
    """The files that an output writes: `tables`, `figures`, and `others` by name.

    Tables and figures are paths without extension; each has a file for each format.
    """

    tables: tuple[Path, ...] = ()
    figures: tuple[Path, ...] = ()
    others: Mapping[str, Path] = field(default_factory=dict)

    @property
    def all(self) -> list[Path]:
        """All files: each table and each figure in all formats, and the other files."""
        return [
            *(stem.with_name(stem.name + end) for stem in self.tables for end in TABLE_ENDINGS),
            *(stem.with_name(stem.name + end) for stem in self.figures for end in FIGURE_ENDINGS),
            *self.others.values(),
        ]

    @property
    def frames(self) -> list[Path]:
        """The CSV files of the tables and of the figures, which contain their data."""
        return [stem.with_name(f"{stem.name}.csv") for stem in (*self.tables, *self.figures)]


@dataclass(frozen=True)
class Reads:
    """The inputs of an output. If an input changes, the output is made again."""

    # Curves, as pairs (dataset, method), whose selected settings and fresh trainings are read.
    curves: tuple[tuple[str, str], ...] = ()
    grids: bool = False  # whether the grids of `curves` are read, too
    data: tuple[str, ...] = ()  # datasets whose encoded records or domains are read
    # Datasets whose raw files are read, too: the output is made again if a raw file changes, even
    # if the encoded data stay the same.
    raw: tuple[str, ...] = ()
    # Names of other outputs: `word` for an output of this study, `study/word` for an output of
    # another study, `/word` for an output of the entire run. `word` is the output's name in its
    # study or its `Output.word`.
    outputs: tuple[str, ...] = ()
    resources: tuple[Path, ...] = ()  # files of the project, such as printed numbers
    audits: tuple[str, ...] = ()  # learners whose audits are read
    # All else that determines the bytes of the output's files, as plain JSON: for example titles,
    # the order of rows, versions of learners.
    facts: Any = None


class Output(ABC):
    """Base class of all outputs: a kind of table, figure or file that studies can request."""

    word: ClassVar[str]  # name of the output in study files
    # To be increased if a change of code changes the bytes of the output's files: all outputs of
    # this class are then made again. `tests/unit/test_golden_outputs.py` fails until it is
    # increased.
    version: ClassVar[int] = 1
    # Options by name; each output also has the option `name`.
    options: ClassVar[Mapping[str, Option]] = {}
    # "table", "figure" or both; subclasses with other files override `files`.
    writes: ClassVar[tuple[str, ...]] = ("table",)
    # Whether the output can combine results of several studies (in a "study of studies").
    gathers: ClassVar[bool] = False
    # Whether the output needs selected settings. A study with `select: all` cannot request it then.
    selects: ClassVar[bool] = True
    # Whether Snakemake makes the output on the submitting machine, because this takes only seconds;
    # if False, a job of the cluster makes it.
    local: ClassVar[bool] = True
    memory: ClassVar[int] = 1000  # MiB of memory that a job needs to make the output

    @property
    def report_text(self) -> Path | None:
        """Path of the output's caption for Snakemake's report; None if there is none.

        The file is next to the output's module, or in workflow/report.
        """
        beside = Path(inspect.getfile(type(self))).with_name(f"{self.word}.rst")
        shipped = home() / f"workflow/report/{self.word}.rst"
        return next((path for path in (beside, shipped) if path.is_file()), None)

    def check(self, request: OutputRequest) -> None:  # noqa: B027 - most have nothing to check
        """Raise ValueError if the study lacks what the request needs; this class checks nothing."""

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
        """Return the names of studies that occur in files that the output reads.

        The workflow checks these names, so that a misspelt one is refused.
        """
        return ()

    def unasked(self, study: Study) -> str | None:
        """Return a note if a study could have this output but does not request it; else None."""
        return None

    def facts(self, context: Context) -> Any:
        """Return facts from other studies that determine the bytes of the files; None without any.

        The result is plain JSON. The output is made again if the result changes.
        """
        return None

    @abstractmethod
    def make(self, context: Context) -> None:
        """Make the output and write its files."""


# Separates the study from the output in a name such as `study/word`.
SLASH = "/"


def check_name(what: str, name: str, names: Iterable[str]) -> None:
    """Raise ValueError if `name` is not in `names`.

    The message starts with `what`, and contains the nearest name and all names.
    """
    listed = list(names)
    if name not in listed:
        there = ", ".join(listed)
        raise ValueError(f"{what} {name!r}{suggestion(name, listed)} There are: {there}.")


def foreign_outputs(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return a pair (study, output) for each name of the form ``study/word``.

    `names` are names as in `Reads.outputs`; names of other forms are skipped.
    """
    parts = (name.partition(SLASH) for name in names)
    return [(study, word) for study, slash, word in parts if study and slash]


@dataclass(frozen=True, eq=False)
class OutputRequest:
    """The request of a study for an output, with the options that the study sets."""

    output: Output
    study: Study
    options: Mapping[str, Any]  # all options of the output; defaults are filled in

    @property
    def key(self) -> str:
        """Name of the output, unique within its study."""
        return self.options[NAME_KEY] or self.output.word

    @property
    def target(self) -> str:
        """Name of the target on Snakemake's command line that makes the output."""
        return self.options[NAME_KEY] or f"{self.study.name}_{self.output.word}"

    @property
    def place(self) -> Path:
        """Path of the output's files below a folder of results, without extension."""
        return Path(self.options[NAME_KEY] or f"{self.study.name}/{self.output.word}")

    @property
    def table(self) -> Path:
        """Path of the table, without extension."""
        return TABLES / self.place

    @property
    def figure(self) -> Path:
        """Path of the figure, without extension."""
        return FIGURES / self.place

    @property
    def paper(self) -> Path:
        """Folder of the study's paper.

        A folder ``papers/<paper>`` below the working directory takes precedence over the paper that
        ships with the project.
        """
        folder = PAPERS / (self.study.paper or "")
        return folder if folder.is_dir() else Path(os.path.relpath(home() / folder))

    @cached_property
    def files(self) -> Files:
        """The files that the output writes."""
        return self.output.files(self)

    @cached_property
    def reads(self) -> Reads:
        """The inputs of the output."""
        return self.output.reads(self)

    def curves_of(self, methods: Iterable[Method]) -> tuple[tuple[str, str], ...]:
        """Return the curves of `methods` on all datasets, as pairs (dataset, method)."""
        return tuple(itertools.product(self.study.datasets, [method.name for method in methods]))

    def places(self, methods: Iterable[Method]) -> Iterator[dict[str, Any]]:
        """Yield each point with results of its own: a dataset, method, ε and setting, as a mapping.

        The mapping has all columns that identify the point's runs, except the split. A parameter
        whose value is selected from a grid is not known yet; it has a placeholder that differs from
        all values.
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
        """Return [name, title] of each dataset, for `Reads.facts` of outputs with titles."""
        return [[name, dataset_title(name)] for name in self.study.datasets]

    def methods_of(self, learner: str) -> list[Method]:
        """Return the methods of the entry `learner` in the study's learners.

        Raises ValueError if the study has no such entry.
        """
        labels = dict.fromkeys(map(method_of, self.study.methods))
        check_name("the study has no learner", learner, labels)
        return [method for name, method in self.study.methods.items() if method_of(name) == learner]

    def wanted_methods(self, *others: str) -> list[Method]:
        """Return the methods of the entries in the option `learners` and in `others`.

        If the study does not set the option, all methods are returned.
        """
        wanted = self.options["learners"] and (*self.options["learners"], *others)
        methods = self.study.methods.values()
        return [method for method in methods if not wanted or method_of(method.base) in wanted]

    def check_dataset(self, dataset: str) -> None:
        """Raise ValueError if the study has no such dataset."""
        check_name("the study has no dataset", dataset, self.study.datasets)

    def check_epsilon(self, learner: str, epsilon: float) -> None:
        """Raise ValueError if a method of the entry `learner` is not trained at `epsilon`."""
        for method in self.methods_of(learner):
            if epsilon not in method.epsilons:
                raise ValueError(f"the curve {method.name} has no epsilon = {epsilon:g}")


@dataclass(frozen=True)
class Context:
    """What an output can read while it is made: results, datasets, and files of other outputs."""

    request: OutputRequest
    jobs: StudyJobs  # the jobs of the output's study
    # The other outputs that this output reads, indexed by their names in `Reads.outputs`.
    others: Mapping[str, OutputRequest]
    seed: Seed  # secret or public seed of the run
    # Notes on runs whose code has changed since they were trained.
    code_notes: tuple[str, ...] = ()

    @property
    def own_notes(self) -> tuple[str, ...]:
        """Notes that all tables and figures of the output get.

        They name the contract checks of a user's own learners, and runs of code that has changed.
        """
        claimed = [method for method in self.study.methods.values() if method.contract]
        return (*(method.label(method.name) for method in claimed), *self.code_notes)

    @property
    def shuffle_seed(self) -> int:
        """Seed for random shuffles.

        If the seed of the run is public, it also serves for shuffles. Otherwise the result is a
        number that is derived from the secret seed.
        """
        return self.seed if isinstance(self.seed, int) else seeds.start_number(self.seed, "")

    @property
    def study(self) -> Study:
        """The study that requests the output."""
        return self.request.study

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of the request, with defaults."""
        return self.request.options

    @property
    def curves(self) -> tuple[Curve, ...]:
        """The curves that the output reads, in the order of `Reads.curves`."""
        return tuple(self.jobs.curves[pair] for pair in self.request.reads.curves)

    @property
    def inputs(self) -> list[Path]:
        """The files of other outputs and of audits that the output reads."""
        others = [other.files for other in self.others.values()]
        paths = [path for files in others for path in (*files.frames, *files.others.values())]
        return paths + [AUDITS / f"{learner}.csv" for learner in self.request.reads.audits]

    @property
    def is_complete(self) -> bool:
        """Whether all trainings that the output reads have succeeded."""
        return all(job.is_done for job in self.jobs.jobs_of(self.curves))

    def results(self, columns: list[str] | None = None) -> Iterator[pd.DataFrame]:
        """Yield the results of the curves, one frame per job, with `columns` (default: all).

        Raises IncompleteError if a file is missing or damaged, or if its runs were trained on other
        data or are not the requested runs.
        """
        for curve in self.curves:
            yield from self.jobs.results(curve, columns)

    def runs(self) -> pd.DataFrame:
        """Return the results of all curves: fresh trainings or, with `select: all`, all runs."""
        return pd.concat(list(self.results()), ignore_index=True)

    def described_runs(self) -> pd.DataFrame:
        """Return the runs with a column for each parameter and each measure."""
        return sweep.describe_runs(self.runs(), self.methods())

    def methods(self) -> dict[str, dict[str, Any]]:
        """Return each method's varied parameters and, as ``entry``, its entry in the study."""
        # The key `entry` comes last, so that it overrides a varied parameter that is called
        # `entry`.
        return {
            curve.method.name: {**curve.method.varied, "entry": method_of(curve.method.base)}
            for curve in self.curves
        }

    def read_selected(self) -> pd.DataFrame:
        """Return the selected settings of all curves.

        Raises IncompleteError if a file is missing or damaged, or if its runs were trained on other
        data.
        """
        texts = (text for curve in self.curves for text in self.jobs.read_selected(curve))
        return read_table(*map(io.StringIO, texts))

    def grids(self, columns: list[str]) -> Iterator[pd.DataFrame]:
        """Yield the runs of the curves' grids, one frame per job, with `columns`."""
        for curve in self.curves:
            yield from self.jobs.grid(curve, columns)

    def data(self, dataset: str) -> datasets.Dataset:
        """Read an encoded dataset; raise ValueError if `Reads.data` does not name it."""
        word = self.request.output.word
        if dataset not in self.request.reads.data:
            raise ValueError(
                f"the output {word} reads the dataset {dataset!r}, which its reads() must name"
            )
        return datasets.read(CODED / dataset)

    def data_notes(self) -> tuple[str, ...]:
        """Return notes on the datasets in `Reads.data`.

        The notes are about values that the public bounds clip, and about datasets on which
        PrivGAM's network was trained (:func:`rule_notes`).
        """
        facts = [datasets.facts(CODED / name) for name in self.request.reads.data]
        notes = [note for coded in facts if coded for note in datasets.clipping_notes(coded)]
        return (*notes, *rule_notes(self.study))

    def table_of(self, word: str) -> pd.DataFrame:
        """Read the first table of the output `word`; if it has none, the data of its first figure.

        Raises ValueError if `Reads.outputs` does not name the output.
        """
        check_name("Reads.outputs does not name", word, self.others)
        return read_table(self.others[word].files.frames[0])

    def write(self, table: Table, stem: Path | None = None) -> None:
        """Write a table with :attr:`own_notes` added.

        `stem` is the path without extension; by default, the path of the output's first table.
        """
        noted = replace(table, notes=(*table.notes, *self.own_notes))
        noted.write(stem or self.request.files.tables[0])

    def draw(self, figure: Figure, frame: pd.DataFrame, stem: Path | None = None) -> None:
        """Save a figure with :attr:`own_notes` above it, and save its data `frame`.

        `stem` is the path without extension; by default, the path of the output's first figure.
        """
        style.save(figure, frame, stem or self.request.files.figures[0], self.own_notes)


@cache
def _describe_in(dataset: str, folder: Path) -> Description:
    return describe(dataset)


def description_of(dataset: str) -> Description:
    """Return the description of a dataset.

    The description is cached: a run uses the same description even if its file changes meanwhile.
    """
    return _describe_in(dataset, Path.cwd())


def metric_name(metric: str) -> str:
    """Return the name of a metric for readers."""
    return MEASURES[metric].title if metric in MEASURES else metric.replace("_", " ")


def dataset_title(name: str) -> str:
    """Return the short title of a dataset: the part of its title before the colon."""
    return description_of(name).title.partition(":")[0]


def source_of(name: str) -> str:
    """Return the name of the dataset whose raw files the dataset `name` uses.

    Panels of datasets with the same source share an axis.
    """
    return description_of(name).source


def trained_privgam(name: str) -> bool:
    """Return whether PrivGAM's network or constants depend on records of the dataset's source.

    The source is the dataset with the same raw files (:func:`source_of`).
    """
    from privcurve.privacy.calibration.privgam import SET_ON

    return source_of(name) in SET_ON


def datasets_of_rule(study: Study) -> list[str]:
    """Return the datasets of a study on whose records PrivGAM's settings depend.

    The sources of these datasets trained PrivGAM's network or set its constants. The list is empty
    if the study has no PrivGAM.
    """
    if all(method.learner != "privgam" for method in study.methods.values()):
        return []
    return [name for name in study.datasets if trained_privgam(name)]


def rule_notes(study: Study) -> list[str]:
    """Return a note that names the datasets of :func:`datasets_of_rule`; no note without any."""
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
    """Check a study's request for an output, and return the request with all options.

    `word` is the output's name in `outputs`, `given` are the options that the study sets, and
    `where` names the study's file in messages. Raises StudyError if the output or an option is
    unknown (the message suggests the nearest name), if a value has a wrong type or is missing, or
    if the study lacks what the output needs.
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
    except Exception as error:  # such as a mistake in a user's own output
        raise StudyError(f"{place}: {word}: reads(): {type(error).__name__}: {error}") from error
    return request
