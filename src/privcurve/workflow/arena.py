"""Write the study that ``privcurve arena`` runs: one method on the datasets of stored runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from privcurve.analysis.measures import share_held_out
from privcurve.experiments.study import StudyError
from privcurve.learners import registry
from privcurve.outputs import arena, runs
from privcurve.outputs.base import OutputRequest, check_name
from privcurve.workflow.comparison import SEED, arguments, lay_out
from privcurve.workflow.plan import Plan

PREFIX = "arena_of_"
DELTA = 1e-6  # default δ of learners that use a δ
# Figures show the new method, the reference (PrivGAM), and this many other methods from the file of
# runs.
MOST_OTHERS = 4


class Entrant(NamedTuple):
    """A checked study of one method, whose files are written for the workflow."""

    plan: Plan
    name: str
    configuration: Path

    @property
    def output(self) -> OutputRequest:
        """The output ``arena`` of the study."""
        requests = {r.output.word: r for r in self.plan.study_outputs(self.name)}
        return requests["arena"]

    def arguments(self, cores: str) -> list[str]:
        """Return Snakemake's command-line arguments that run the study on `cores` cores."""
        return arguments(self.configuration, self.name, cores)


def prepare(
    learner: str,
    setting: Mapping[str, object],
    against: str = arena.FROZEN,
    datasets: Sequence[str] = (),
    delta: float | None = None,
    neighbours: str | None = None,
) -> Entrant:
    """Check a method, and write the files of its study and configuration; nothing is trained.

    `against` names a file of runs; the study has the ε and hold-outs of these runs. Its datasets
    are `datasets`, which must be in the file; by default the untouched datasets of the file or, if
    there are none, all its datasets. The default of `delta` is `DELTA`, or 0 for a learner that
    uses no δ. Raises StudyError if the study cannot run, and ValueError if the learner is unknown.
    """
    entry = registry.entry(learner)
    others = runs.read(arena.against_file(against))
    suites = dict(zip(others["dataset"], others["suite"], strict=True))
    for name in datasets:
        try:
            check_name("--datasets: the file of runs has no table", name, suites)
        except ValueError as error:
            raise StudyError(str(error)) from None
    tables = [*datasets] or [name for name in suites if suites[name] == runs.UNTOUCHED]
    tables = tables or list(suites)
    others = others[others["dataset"].isin(tables)]
    spec: dict[str, Any] = {"learner": learner, **({"fixed": dict(setting)} if setting else {})}
    if entry.private:
        chosen = (DELTA if entry.approximate else 0.0) if delta is None else delta
        spec |= {"deltas": [chosen]} | ({"neighbours": neighbours} if neighbours else {})
    (holdout,) = {share_held_out(fold) for fold in others["fold"]}
    options: dict[str, Any] = {"against": against, "shown": _choose_others(learner, others)}
    content = {
        "title": f"{entry.title} in the arena",
        "datasets": tables,
        "epsilons": sorted(e for e in set(others["epsilon"]) if math.isfinite(e)),
        "splits": {"holdout": holdout, "repeats": int(others["split"].max())},
        "learners": {learner: spec},
        "outputs": ["runs", "checks", {"arena": options}],
    }
    name = PREFIX + learner
    head = "# Made by privcurve arena, which writes it anew each time.\n"
    plan, path = lay_out(name, content, head, seed=SEED)
    return Entrant(plan, name, path)


def _choose_others(learner: str, others: Any) -> list[str]:
    """Return the methods in the file of runs that figures show next to the new method.

    They are the reference (PrivGAM), and the best method of each of `MOST_OTHERS` learners: the
    learners with the best mean AUC, without `learner` itself.
    """
    finite = others[others["epsilon"].map(math.isfinite)]
    means = finite.groupby("method")["auc"].mean().sort_values(ascending=False)
    of = dict(zip(finite["method"], finite["learner"], strict=True))
    best: dict[str, str] = {}
    for method in means.index:
        best.setdefault(of[method], method)
    reference = best.pop(arena.REFERENCE, None)
    best.pop(learner, None)
    return [*filter(None, [reference]), *list(best.values())[:MOST_OTHERS]]
