"""Inspect LazyBB models and trees: their votes, their margins, and the advantage of each round."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from privcurve.coding import Codes, Floats, Ints, Records, Signs
from privcurve.datasets import Dataset
from privcurve.experiments import canonical
from privcurve.experiments.methods import Method, Point
from privcurve.experiments.models import Inspection, train_afresh
from privcurve.kernels.projection import fixed_point_bits, project, start_levels
from privcurve.learners.lazybb import LazyBBClassifier
from privcurve.privacy.seeds import Seed


def is_of_trees(model: Inspection) -> bool:
    """Return whether the model of an inspected fit consists of trees."""
    return hasattr(model.learner.model_, "forest")


def margins_of(model: Inspection, part: Records) -> Floats:
    """Return the normalised margin y·Σ_t h_t/τ of each row of `part`, in [−1, 1].

    The vote of round t is h_t, for τ rounds; the label y is ±1.
    """
    votes = model.learner.model_
    return np.asarray(votes.tally(model.learner._merge(part.codes)) * part.labels / votes.n_rounds)


def votes_of(model: Inspection, bin_names: tuple[tuple[str, ...], ...]) -> list[tuple[int, str]]:
    """Return pairs (votes, condition) of a model, with the largest absolute numbers of votes first.

    A positive number votes for the positive class; votes of equal conditions are added up. The
    condition of a 1-rule is that a column has a certain bin; if it is false, the 1-rule votes for
    the other class. The condition of a tree is a path to a leaf; if it is false, the leaf does not
    vote.
    """
    voters = model.learner.model_
    if is_of_trees(model):
        return _votes_of_trees(voters, bin_names)
    votes = [(vote.votes, bin_names[vote.column][vote.code]) for vote in voters.votes]
    return votes + ([(voters.constant, "always")] if voters.constant else [])


def _votes_of_trees(model: Any, bin_names: tuple[tuple[str, ...], ...]) -> list[tuple[int, str]]:
    """Return the votes by path to a leaf, over all trees; votes of equal paths are added up."""
    names = [bin_names[j][code] for j, n in enumerate(model.n_bins) for code in range(n)]
    totals: Counter[str] = Counter()

    def ask(question: int, answer: bool) -> str:
        threshold, b = divmod(question, len(names))
        name = names[b]
        if threshold:
            return f"{'up to' if answer else 'above'} [{name}]"
        return name if answer else f"not [{name}]"

    def walk(tree: int, node: int, path: tuple[str, ...]) -> None:
        child = int(model.forest.children[tree, node])
        if child == 0:
            totals[" and ".join(path) or "always"] += int(model.forest.labels[tree, node])
            return
        question = int(model.forest.splits[tree, node])
        walk(tree, child + 1, (*path, ask(question, True)))
        walk(tree, child, (*path, ask(question, False)))

    for tree in range(len(model.forest.splits)):
        walk(tree, 0, ())
    votes = [(votes, condition) for condition, votes in totals.items() if votes]
    return sorted(votes, key=lambda vote: (-abs(vote[0]), -vote[0], vote[1]))


def round_by_round(
    dataset: Dataset,
    method: Method,
    epsilon: float,
    setting: dict[str, Any],
    repeats: int,
    seed: Seed,
) -> tuple[list[Floats], dict[str, list[tuple[Floats, Any]]]]:
    """Train a setting `repeats` times, and return the advantages and margins of each run.

    `method` gives the learner, calibration and δ; the setting may be missing in the method's grid.
    Without noise (ε = ∞) all runs are equal, so only one is trained.

    Returns
    -------
    advantages : list of arrays of shape (n_rounds,)
        One array for each run; see :func:`round_advantages`.
    margins : dict
        For the key "train" and, if the dataset has a test part, the key "test": a list with a pair
        for each run, the margins of the rows and the number of records of each row.
    """
    point = Point(epsilon, setting, canonical.text(setting))
    advantages = []
    margins: dict[str, list[tuple[Floats, Any]]] = {}
    n_runs = repeats if np.isfinite(epsilon) else 1
    for model in train_afresh(dataset, method, point, n_runs, seed):
        codes = model.learner._merge(model.train.codes)
        advantages.append(
            round_advantages(model.learner, codes, model.train.labels, model.train.counts)
        )
        for name, part in (("train", model.train), ("test", model.unseen)):
            if part is not None:
                margins.setdefault(name, []).append((margins_of(model, part), part.counts))
    return advantages, margins


def round_advantages(learner: LazyBBClassifier, codes: Codes, signs: Signs, counts: Ints) -> Floats:
    """Return the advantage over guessing of each round's weak classifier, in [−1/2, 1/2].

    The advantage is the total weight of the training records that the classifier predicts
    correctly, minus 1/2; in each round the weights add up to 1 (thesis, Definition 2.3.3).
    Advantages are exact statistics of the records, so only the data owner may see them.
    """
    positive = np.asarray(signs) > 0
    n_rounds = learner.model_.n_rounds
    unit = 1 << fixed_point_bits(int(counts.sum()))
    level, spread, step = start_levels(learner._begin(codes, signs), len(positive))
    weights = np.zeros(spread + step * n_rounds + 1, dtype=np.int64)
    rate = learner.learning_rate / step
    seen = learner._hide_columns(codes)
    advantages = np.empty(n_rounds)
    for t in range(n_rounds):
        n_levels = spread + step * t + 1
        histogram = _histogram(level, counts, n_levels)
        project(histogram, n_levels - 1, learner.density, rate, unit, weights)
        right = (learner.model_.tally(seen, t, t + 1) > 0) == positive
        of_right = _histogram(level[right], counts[right], n_levels)
        # Weights are fixed-point integers whose sums fit in 62 bits, so both sums below are exact.
        own = weights[:n_levels]
        share = int((own * of_right).sum()) / int((own * histogram).sum())
        advantages[t] = share - 0.5
        level += step * right
    return advantages


def _histogram(levels: Ints, counts: Ints, n_levels: int) -> Ints:
    return np.bincount(levels, weights=counts, minlength=n_levels).astype(np.int64)
