"""Measure where a learner is worse than the shares of the classes, on drawn tables.

A *place* is a kind of table, a budget and a relation of neighbours. Its records are drawn from
known probabilities. Models are scored by these probabilities, so that no noise of test labels
enters a result.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np

from privcurve.learners import registry
from privcurve.learners.entry import Facts
from privcurve.learners.registry import entry
from privcurve.privacy.budget import ADD_REMOVE, REPLACE_ONE

SEEDS = 10
# Number of rows that are predicted; PATE answers only as many as it was trained on.
N_SCORED = 300
# Smallest n·ε of a place: with less, a learner need not learn anything.
LEAST_BUDGET = 100.0
# Largest mean loss over the seeds, against the shares of the classes, that is no failure.
MOST_LOST = {"accuracy": 0.03, "log-loss": 0.05}

FACTORS: dict[str, tuple[Any, ...]] = {
    "n_classes": (2, 3, 4, 5),
    "shares": ("balanced", "falling", 0.8, 0.92, 0.96),
    "n_columns": (1, 6, 30),
    "n_bins": (2, 16, 64),
    "ordered": (True, False),
    "informative": ("none", "one", "all"),
    "skewed": (False, True),
    "n": (300, 1_000, 4_000, 20_000),
    "epsilon": (0.05, 0.1, 0.3, 1.0, 3.0, 10.0),
    "delta": (0.0, 1e-6),
    "neighbours": (REPLACE_ONE, ADD_REMOVE),
}
# The probability of each bin is a multiple of 1/PARTS, so that records can be drawn as integers.
PARTS = 4096


class Place(NamedTuple):
    """A place: one level of each factor of `FACTORS`.

    A number as `shares` is the share of the most frequent class. `informative` says which columns
    depend on the class. In `skewed` columns, few bins have most records.
    """

    n_classes: int
    shares: str | float
    n_columns: int
    n_bins: int
    ordered: bool
    informative: str
    skewed: bool
    n: int
    epsilon: float
    delta: float
    neighbours: str

    @property
    def admissible(self):
        return self.n * self.epsilon >= LEAST_BUDGET

    @property
    def class_shares(self):
        if self.shares == "balanced":
            weights = np.ones(self.n_classes)
        else:
            weights = 0.55 ** np.arange(self.n_classes)
        if isinstance(self.shares, float):
            weights[0] = weights[1:].sum() * self.shares / (1 - self.shares)
        return weights / weights.sum()

    @property
    def facts(self):
        return Facts(
            n_bins=(self.n_bins,) * self.n_columns,
            ordered=(self.ordered,) * self.n_columns,
            n_classes=self.n_classes,
            public_columns=(),
            public_label=True,
        )


def levels_of(name):
    """Return, for each factor, the levels that a learner with its default parameters accepts."""
    offer = entry(name)
    levels = dict(FACTORS)
    # By default, `tuned` selects among the settings of a learner for two classes.
    if not offer.multiclass or name == registry.TUNED:
        levels["n_classes"] = (2,)
    if offer.private:
        levels["delta"] = (0.0,) * offer.pure + (1e-6,) * offer.approximate
    else:
        levels["epsilon"], levels["delta"] = (np.inf,), (0.0,)
    relations = (each for each in FACTORS["neighbours"] if each in offer.neighbours)
    levels["neighbours"] = tuple(relations) or offer.neighbours[:1]
    return levels


def places_of(levels):
    """Yield an endless sequence of places, the same in each run.

    Each place is the best of 50 drawn ones: it has the most pairs of levels that no earlier place
    has; among equal ones, it has the most such triples.
    """
    rng = np.random.default_rng(20261201)
    sizes = [len(each) for each in levels.values()]
    tuples = [np.array(list(itertools.combinations(range(len(sizes)), k))) for k in (2, 3)]
    met = [
        np.zeros((len(which), *[max(sizes)] * k), bool)
        for which, k in zip(tuples, (2, 3), strict=True)
    ]
    while True:
        drawn = rng.integers(sizes, size=(200, len(sizes)))
        places = [
            Place(*(choice[i] for choice, i in zip(levels.values(), row, strict=True)))
            for row in drawn.tolist()
        ]
        able = [i for i, place in enumerate(places) if place.admissible][:50]
        new = np.zeros(len(able))
        cells = []
        for which, cells_met, weight in zip(tuples, met, (1_000, 1), strict=True):
            cell = (np.arange(len(which)), *np.moveaxis(drawn[able][:, which], -1, 0))
            new += weight * (~cells_met[cell]).sum(axis=1)
            cells.append(cell)
        best = new.argmax()
        for cells_met, (which, *at) in zip(met, cells, strict=True):
            cells_met[(which, *(each[best] for each in at))] = True
        yield places[able[best]]


def first_places(levels, n_places):
    return list(itertools.islice(places_of(levels), n_places))


def parts_of_bins(place, rng):
    """Draw the probability of each bin, given column and class, in units of 1/`PARTS`.

    Returns an array of shape (n_columns, n_classes, n_bins).
    """
    d, k, b = place.n_columns, place.n_classes, place.n_bins
    weights = 0.5 ** np.minimum(np.arange(b), 8) if place.skewed else np.ones(b)
    chances = np.stack([rng.permutation(weights) for _ in range(d)])[:, None, :].repeat(k, axis=1)
    n_informative, size = {"none": (0, 0.0), "one": (1, 1.5), "all": (d, 0.4)}[place.informative]
    line = np.linspace(-1.0, 1.0, b)
    slopes = rng.normal(size=(n_informative, k, 1))
    wiggles = rng.normal(size=(n_informative, k, b))
    chances[:n_informative] *= np.exp(size * (slopes * line + wiggles / 2))
    ends = np.rint((chances / chances.sum(axis=-1, keepdims=True)).cumsum(axis=-1) * PARTS)
    return np.diff(ends.astype(int), axis=-1, prepend=0)


def draw(place, n, parts, rng):
    """Draw `n` records of a place: bins (n, n_columns), and positions of classes (n,)."""
    y = rng.choice(place.n_classes, n, p=place.class_shares)
    bins = np.broadcast_to(np.arange(place.n_bins, dtype=np.uint8), parts.shape)
    bin_of_part = np.repeat(bins.ravel(), parts.ravel()).reshape(*parts.shape[:2], PARTS)
    drawn = rng.integers(PARTS, size=(n, place.n_columns), dtype=np.uint16)
    return bin_of_part[np.arange(place.n_columns), y[:, None], drawn], y


def chances_of_classes(place, parts, X):
    """Return the true probabilities of the classes of each row: (n, n_classes)."""
    # The bins of a row are possible in its own class, but may have the probability 0 in others.
    logs = np.log(np.maximum(parts, 1e-9))
    by_class = [logs[np.arange(place.n_columns), k, X].sum(axis=1) for k in range(place.n_classes)]
    by_row = np.log(place.class_shares) + np.stack(by_class, axis=1)
    chances = np.exp(by_row - by_row.max(axis=1, keepdims=True))
    return chances / chances.sum(axis=1, keepdims=True)


def make(name, place, seed):
    """Make a learner for a place, with its default parameters."""
    budget = {}
    if entry(name).private:
        budget = {"epsilon": place.epsilon, "delta": place.delta}
    if place.neighbours == ADD_REMOVE and "n_estimate" in entry(name).parameters:
        budget["n_estimate"] = place.n
    return registry.make(name, place.facts, {**budget, "random_state": seed}, place.neighbours)


def losses(name, place, seeds=SEEDS):
    """Return how much worse than the shares of the classes a learner is: the mean over the seeds.

    The keys are accuracy and, if the learner gives probabilities, log-loss. A negative number is a
    gain.
    """
    rows = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        parts = parts_of_bins(place, rng)
        X, y = draw(place, place.n, parts, rng)
        scored, _ = draw(place, N_SCORED, parts, rng)
        chances = chances_of_classes(place, parts, scored)
        learner = make(name, place, seed)
        classes = np.asarray(learner.classes)
        model = learner.fit(X, classes[y])
        predicted = np.searchsorted(classes, model.predict(scored))
        right = chances[np.arange(N_SCORED), predicted].mean()
        rows.append([chances.mean(axis=0).max() - right])
        if hasattr(model, "predict_proba"):
            result = np.log(np.maximum(model.predict_proba(scored), 1e-15))
            rows[-1].append((chances * (np.log(place.class_shares) - result)).sum(axis=1).mean())
    return dict(zip(MOST_LOST, np.mean(rows, axis=0).tolist(), strict=False))
