"""Declare the hyperparameters of the learners, each once for the registry and for the class.

A learner's class inherits its parameters from a dataclass of this module, and its entry in the
registry lists them. The registry must not import the classes, because their modules are slow to
import.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from privcurve.learners.entry import ANY, Value, parameter
from privcurve.privacy.budget import ADD_REMOVE, PROVED, PUBLISHED, REPLACE_ONE

BOTH = (PUBLISHED, PROVED)
OF_PUBLISHED, OF_PROVED = {ANY: PUBLISHED}, {ANY: PROVED}

# Number of bins to which the fine bins of a column are merged: the numbers with the best accuracy
# on public tables (docs/research/coding.md). FEW is for learners that test a single bin, SOME for
# learners that estimate a number per bin.
FEW, SOME = 8, 12

CRITERIA = ("gini", "entropy", "root_gini", "zero_one")
TRUSTS = ("central", "local", "secure_sum")

# Fields that the entries of learners with Gaussian noise on sums of all columns share.
GAUSSIAN: dict[str, Any] = {
    "calibrations": (PROVED,),
    "approximate": True,
    "pure": False,
    "takes": ("ordered",),
    "neighbours": (REPLACE_ONE, ADD_REMOVE),
}


def positive(default: Value, **more: Any) -> Value:
    """Declare a parameter that is a number > 0."""
    return parameter(default, float, low=0, open_low=True, **more)


def share(default: Value, **more: Any) -> Value:
    """Declare a parameter that is a share in (0, 1)."""
    return parameter(default, float, low=0, high=1, open_low=True, open_high=True, **more)


def part(default: Value, **more: Any) -> Value:
    """Declare a parameter that is a share in (0, 1]."""
    return parameter(default, float, low=0, high=1, open_low=True, **more)


# Parameters of several learners --------------------------------------------------------


@dataclass(kw_only=True, eq=False, repr=False)
class MechanismParameters:
    """The mechanism for private choices."""

    mechanism: str = parameter("auto", choices=("auto", "permute_and_flip", "exponential"))


# Parameters of trees have an effect in LazyBB only with trees as weak learners. Learners without
# the parameter `weak_learner` ignore this condition.
_OF_TREES = {"weak_learner": ("topdown",)}


@dataclass(kw_only=True, eq=False, repr=False)
class TreeParameters:
    """The shape of a tree, and how its budget is divided."""

    depth: int = parameter(
        3, low=1, high=10, size=True, used_with={"n_splits": (None,), **_OF_TREES}
    )
    n_splits: int | None = parameter(
        None, int, low=1, high=255, used_with=_OF_TREES, only=OF_PUBLISHED
    )
    criterion: str = parameter("gini", choices=CRITERIA, used_with=_OF_TREES)
    splits: str = parameter(
        "equality", choices=("equality", "threshold"), used_with=_OF_TREES, only=OF_PROVED
    )
    leaves: str = parameter("labels", choices=("labels", "rules"), used_with=_OF_TREES)
    split_share: float | None = share(None, used_with=_OF_TREES)


@dataclass(kw_only=True, eq=False, repr=False)
class StartParameters:
    """Whether scores start at the log-odds of a model of the public columns, or at 0."""

    # `used_with`: a public start is proved only with ``noise="box"``. Learners without the
    # parameter `noise` are not restricted.
    start: str = parameter(
        "none", choices=("none", "public"), with_public=("public",), used_with={"noise": ("box",)}
    )


@dataclass(kw_only=True, eq=False, repr=False)
class PenaltyParameters:
    """The inverse strength of the L2 penalty of logistic regression."""

    C: float = positive(1.0)


@dataclass(kw_only=True, eq=False, repr=False)
class InputParameters(PenaltyParameters):
    """The columns that logistic regression reads, and their encoding."""

    columns: str = parameter(
        "all", choices=("all", "public", "private"), with_public=("public", "private")
    )
    encoding: str = parameter("one_hot", choices=("one_hot", "scaled"))


# Why no proof covers the values `label` and `column` of the parameter `placement`.
_BY_VALUE = (
    "records are dealt to parties by their values, so that one replaced record may move, and "
    "change what several parties send"
)


@dataclass(kw_only=True, eq=False, repr=False)
class HolderParameters:
    """The parties, and how records are dealt to them."""

    n_holders: int = parameter(4, low=1, high=1000)
    n_colluding: int = parameter(
        0,
        low=0,
        high=999,
        used_with={"trust": ("secure_sum",)},
        tried=(0, 2),  # n_colluding must be below n_holders, which is 4 by default
    )
    placement: str = parameter(
        "random",
        choices=("random", "sizes", "label", "column"),
        unproved={"label": _BY_VALUE, "column": _BY_VALUE},
    )


@dataclass(kw_only=True, eq=False, repr=False)
class GroupParameters:
    """The number of groups of bins that an ordered column has after merging."""

    n_groups: int = parameter(16, low=2)


@dataclass(kw_only=True, eq=False, repr=False)
class EstimateParameters:
    """An estimate of the number of records, from public sources."""

    n_estimate: int | None = parameter(None, int, low=1)


# Parameters of one learner each --------------------------------------------------------


@dataclass(kw_only=True, eq=False, repr=False)
class LazyBBParameters(StartParameters, TreeParameters, MechanismParameters):
    """Hyperparameters of LazyBB."""

    weak_learner: str = parameter("one_rule", choices=("one_rule", "topdown"))
    n_rounds: int = parameter(39, low=1, size=True)
    learning_rate: float = part(0.45)
    density: float = part(0.35)
    ties: str = parameter("auto", choices=("auto", "last_round", "negative"))
    vote_worth: float | None = positive(None, used_with={"start": ("public",)})


@dataclass(kw_only=True, eq=False, repr=False)
class TopDownParameters(TreeParameters, MechanismParameters):
    """Hyperparameters of one DP-TopDown tree."""


@dataclass(kw_only=True, eq=False, repr=False)
class DPLogisticRegressionParameters(StartParameters, InputParameters):
    """Hyperparameters of DP logistic regression."""

    noise: str = parameter("ball", choices=("ball", "box"), only=OF_PROVED)
    curvature_share: float = share(0.1, used_with={"noise": ("box",)})


@dataclass(kw_only=True, eq=False, repr=False)
class NoisyBayesParameters(StartParameters):
    """Hyperparameters of noisy naive Bayes."""

    n_columns: int | None = parameter(None, int, low=1)
    choice_share: float = share(0.3)
    damping: float = part(1.0)
    smoothing: float = positive(5.0)


@dataclass(kw_only=True, eq=False, repr=False)
class RandomTreesParameters(HolderParameters):
    """Hyperparameters of boosted random trees."""

    n_trees: int = parameter(100, low=1, high=10_000, size=True)
    depth: int = parameter(4, low=1, high=12, size=True)
    batch: int = parameter(5, low=1)
    learning_rate: float = positive(1.0)
    trust: str = parameter("secure_sum", choices=TRUSTS)


@dataclass(kw_only=True, eq=False, repr=False)
class DPNewtonParameters(GroupParameters):
    """Hyperparameters of logistic regression by noisy Newton steps."""

    n_steps: int = parameter(8, low=1, size=True)
    gram_share: float = share(0.25)


@dataclass(kw_only=True, eq=False, repr=False)
class DPGradientDescentParameters(GroupParameters, EstimateParameters):
    """Hyperparameters of DP gradient descent."""

    n_steps: int = parameter(30, low=1, size=True)
    learning_rate: float = positive(2.0)


@dataclass(kw_only=True, eq=False, repr=False)
class DPSGDParameters(GroupParameters, EstimateParameters):
    """Hyperparameters of DP-SGD."""

    n_epochs: int = parameter(10, low=1, size=True, tried=(1, 3))
    batch_rate: float = parameter(0.1, low=1e-4, high=1, tried=(0.2, 1))
    clip: float = parameter(0.5, low=1e-3, high=1e3)
    learning_rate: float = positive(1.0)
    n_hidden: int = parameter(0, low=0, high=1000, tried=(0, 2))


@dataclass(kw_only=True, eq=False, repr=False)
class BoostedAdaSSPParameters(GroupParameters):
    """Hyperparameters of boosted AdaSSP."""

    n_rounds: int = parameter(10, low=1, size=True)
    gram_share: float = share(0.3)
    inputs: str = parameter("codes", choices=("codes", "numbers"))


@dataclass(kw_only=True, eq=False, repr=False)
class SyntheticParameters(GroupParameters):
    """Hyperparameters of boosting on synthetic records."""

    n_rounds: int = parameter(100, low=1, size=True)
    most_records: int = parameter(20_000, low=1)


@dataclass(kw_only=True, eq=False, repr=False)
class AIMParameters(SyntheticParameters):
    """Hyperparameters of AIM with boosting."""

    most_cells: int = parameter(2**17, low=1)


@dataclass(kw_only=True, eq=False, repr=False)
class GradientBoostingParameters:
    """Hyperparameters of gradient boosting without privacy."""

    n_estimators: int = parameter(100, low=1, size=True)
    max_depth: int = parameter(3, low=1)
    learning_rate: float = positive(0.1)


@dataclass(kw_only=True, eq=False, repr=False)
class TunedParameters:
    """Hyperparameters of private selection (`tuned`)."""

    learner: str = parameter("lazybb", structure="the name of a learner")
    settings: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]] | None = parameter(
        None, structure="a mapping of parameters to lists of values, or a list of settings"
    )
    # The contract check tries no `eta` below -0.9: with some values of `expected_runs`, a fit
    # refuses such an `eta`.
    eta: float = parameter(1.0, low=-1, high=10, open_low=True, tried=(-0.9, 10))
    expected_runs: float = parameter(5.0, low=1, high=1000, tried=(1, 30))
    score_share: float = share(0.05)


@dataclass(kw_only=True, eq=False, repr=False)
class DPEBMParameters:
    """Hyperparameters of DP-EBM (interpret)."""

    learning_rate: float = positive(0.1)
    max_rounds: int = parameter(300, low=1, size=True)
    max_bins: int = parameter(32, low=3)
    max_leaves: int = parameter(3, low=2)
    nominal: str = parameter("as_ordered", choices=("as_ordered", "as_nominal"))
    composition: str = parameter("gdp", choices=("gdp", "classic"))


@dataclass(kw_only=True, eq=False, repr=False)
class DiffprivlibTreeParameters:
    """Hyperparameters of diffprivlib's trees."""

    max_depth: int = parameter(5, low=1, high=16, size=True)


@dataclass(kw_only=True, eq=False, repr=False)
class DiffprivlibForestParameters(DiffprivlibTreeParameters):
    """Hyperparameters of diffprivlib's random forest."""

    n_estimators: int = parameter(10, low=1, size=True)
