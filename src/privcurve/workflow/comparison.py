"""Write the study that ``privcurve compare`` runs: proved learners, with a public setting each."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from privcurve import extras
from privcurve.datasets import Description, describe, is_current, read_coded
from privcurve.datasets import prepare as prepare_data
from privcurve.experiments.curves import CODED
from privcurve.experiments.study import Study, StudyError
from privcurve.files import replace_text
from privcurve.home import home
from privcurve.learners import registry
from privcurve.learners.entries import by_rule
from privcurve.outputs.answers import RARE
from privcurve.outputs.base import OutputRequest
from privcurve.outputs.wishes import METRICS, Wish
from privcurve.privacy.budget import check_budget
from privcurve.privacy.seeds import SECRET
from privcurve.workflow import reading
from privcurve.workflow.plan import Plan

# Folder of the files of studies and configurations, below the working directory.
FOLDER = Path("results/comparisons")
PREFIX = "compare_"
# Seed of comparisons on public benchmarks; comparisons on private records use a secret seed.
SEED = 20210
HOLDOUT = 0.2
SECONDS_PER_JOB = 30
# EPSILONS are the default ε. WIDE are the default ε with --want or --within, as the search for a
# wanted score needs a wider range.
EPSILONS, WIDE = (0.3, 1.0, 3.0), (0.1, 0.3, 1.0, 3.0, 10.0)
# A standard error needs at least two repeats.
LEAST_REPEATS = 2

# Learners that select their settings privately, within ε; compared only with --tune.
TUNED: Mapping[str, Mapping[str, Any]] = {
    "lazybb_tuned": {
        "learner": "lazybb",
        "title": "LazyBB, trees of rules, tuned",
        "fixed": {**by_rule.TREES, "density": 0.3},
        "tune": {"grid": {"depth": [1, 2], "n_rounds": [9, 25], "learning_rate": [0.1, 0.25]}},
    }
}
# Learners without privacy, which each comparison includes.
FREE: Mapping[str, Mapping[str, Any]] = {
    "lr": {"learner": "logistic_regression"},
    "gb": {"learner": "gradient_boosting"},
    "majority": {"learner": "majority_class"},
}
OUTPUTS = ("accuracy", "selected_settings", "raw", "price", "ledgers")
FIGURE = "learning_curves"


class Comparison(NamedTuple):
    """A checked comparison, whose files are written for the workflow.

    `left_out` has a line with the reason for each learner that does not support the dataset or δ.
    `configuration` is the path of Snakemake's configuration file.
    """

    plan: Plan
    study: Study
    left_out: tuple[str, ...]
    configuration: Path
    wish: Wish | None = None

    @property
    def file(self) -> Path:
        """Path of the study's file."""
        return self.plan.files[self.study.name]

    @property
    def outputs(self) -> dict[str, OutputRequest]:
        """The outputs of the study, indexed by `Output.word`."""
        return {r.output.word: r for r in self.plan.study_outputs(self.study.name)}

    @property
    def page(self) -> Path:
        """Path of the HTML page of the comparison."""
        return self.outputs["leaderboard"].files.others["page"]

    def arguments(self, cores: str) -> list[str]:
        """Return Snakemake's command-line arguments that run the study on `cores` cores."""
        return arguments(self.configuration, self.study.name, cores)


def default_metric(dataset: str) -> str:
    """Return the metric that ranks learners on a dataset: AUC if a label is rare, else accuracy.

    The choice depends on exact labels. Like every comparison, it is therefore only for the owner of
    the records. Raises DatasetError if the records cannot be read.
    """
    folder = CODED / dataset
    data = read_coded(folder) if is_current(folder) else prepare_data(dataset, folder)
    largest = np.unique(data.y, return_counts=True)[1].max()
    return "auc" if largest > (1 - RARE) * data.n_rows else METRICS[0]


def prepare(
    dataset: str,
    epsilons: Sequence[float],
    delta: float = 0.0,
    *,
    tune: bool = False,
    repeats: int = 10,
    metric: str | None = METRICS[0],
    wish: Wish | None = None,
    fresh: bool = False,
) -> Comparison:
    """Check a request, and write the files of its study and configuration; nothing is trained.

    With `tune`, the comparison includes learners that select their settings privately, within ε.
    `repeats` is the number of hold-outs. Learners are ranked by `metric`, one of `METRICS`; None
    means :func:`default_metric`. `wish` is a wanted score: the page says which ε reaches it. With
    `fresh`, stored runs of other code are trained again.

    Raises DatasetError, StudyError or SchemaError if the study cannot run.
    """
    about = describe(dataset)
    _check(epsilons, delta, repeats)
    learners, left_out = _choose_learners(about, delta, tune)
    if metric is None:
        metric = default_metric(dataset)
        wish = wish._replace(metric=metric) if wish else None
    name = f"{PREFIX}{dataset}"
    content = {
        "title": f"Comparison on {about.title.partition(':')[0]}",
        "datasets": [dataset],
        "epsilons": sorted({float(epsilon) for epsilon in epsilons}),
        "splits": {"holdout": HOLDOUT, "repeats": repeats},
        **({} if metric == METRICS[0] else {"metric": metric}),
        "learners": learners,
        "outputs": [
            *OUTPUTS,
            {"leaderboard": {"want": str(wish)}} if wish else "leaderboard",
            *([] if extras.explain_missing("matplotlib", "a figure") else [FIGURE]),
        ],
    }
    head = "# Made by privcurve compare, which writes it anew each time.\n"
    seed = SEED if about.public_benchmark else SECRET
    plan, path = lay_out(name, content, head, seed=seed, **({"fresh": True} if fresh else {}))
    return Comparison(plan, plan.studies[name], tuple(left_out), path, wish)


def lay_out(
    name: str, content: Mapping[str, object], head: str, **configuration: Any
) -> tuple[Plan, Path]:
    """Write a study and its configuration to files; return the plan and the configuration's path.

    `content` is the content of the study's file, and `head` a comment at its top. `configuration`
    has keys in addition to the usual ones. Raises StudyError or SchemaError if the study cannot
    run.
    """
    words = {"studies": [name], "studies_folder": str(FOLDER), "audit": False}
    words |= {"seconds_per_job": SECONDS_PER_JOB, **configuration}
    text = yaml.safe_dump(dict(content), sort_keys=False, allow_unicode=True)
    replace_text(FOLDER / f"{name}.yaml", head + text)
    path = FOLDER / f"{name}.json"
    replace_text(path, json.dumps(words, indent=1) + "\n")
    plan = reading.read(words, home())
    plan.refuse(name)
    # `broken` names other studies in the same folder that are unreadable; these must not stop this
    # study.
    return replace(plan, broken={}), path


def arguments(configuration: Path, study: str, cores: str) -> list[str]:
    """Return Snakemake's command-line arguments for a study whose files :func:`lay_out` wrote."""
    return [
        "--snakefile", str(home() / "workflow/Snakefile"), "--directory", ".",
        "--workflow-profile", str(home() / "profiles/default"), "--cores", cores,
        "--configfile", str(configuration), "--", study,
    ]  # fmt: skip


def _check(epsilons: Sequence[float], delta: float, repeats: int) -> None:
    """Raise StudyError, naming the command-line option, if a value is not allowed."""
    try:
        for epsilon in epsilons:
            check_budget(epsilon, 0.0, "--epsilon")
            if math.isinf(epsilon):
                raise ValueError(
                    "--epsilon must be finite; got inf (no privacy). Leave it out: each comparison "
                    "also shows learners without privacy"
                )
        check_budget(1.0, delta, "--delta")
    except ValueError as error:
        raise StudyError(str(error)) from None
    if repeats < LEAST_REPEATS:
        raise StudyError(f"--repeats must be at least {LEAST_REPEATS}; got {repeats}")


def _choose_learners(
    about: Description, delta: float, tune: bool
) -> tuple[dict[str, Mapping[str, Any]], list[str]]:
    """Return the entries of learners that support a dataset and δ, and why others do not."""
    candidates = {**by_rule.LEARNERS, **(TUNED if tune else {}), **FREE}
    suited, left_out = by_rule.suitable_learners(candidates, about.domain.n_classes, delta)
    learners: dict[str, Mapping[str, Any]] = {}
    for label, spec in suited.items():
        entry = registry.entry(spec["learner"])
        used = entry.delta_passed(delta) if entry.private else 0.0
        learners[label] = {**spec, **({"deltas": [used]} if used else {})}
    if not any(registry.entry(spec["learner"]).private for spec in learners.values()):
        raise StudyError(f"{about.name}: no proved learner supports it: {'; '.join(left_out)}")
    return learners, left_out
