"""What the steps of the thesis' analyses share: arguments, and the arms that they look into."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privcurve.experiments.study import Arm, Study


def add_study_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name a study and its arms."""
    parser.add_argument("--study", type=Path, required=True, help="study file")
    parser.add_argument("--arms", nargs="+", required=True, help="names of arms in the study")
    parser.add_argument("--seed", type=int, required=True, help="base seed")


def add_selected_argument(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names the files of selected settings."""
    parser.add_argument("--selected", type=Path, nargs="+", required=True, help="selected.csv")


def arms_of(arguments: argparse.Namespace) -> tuple[Study, list[Arm]]:
    """Give the study and the arms that the command line names."""
    from privcurve.experiments import study as studies
    from privcurve.steps._common import changed

    study = studies.load(arguments.study)
    if any(name not in study.arms for name in arguments.arms):
        raise changed(arguments.study)
    return study, [study.arms[name] for name in arguments.arms]
