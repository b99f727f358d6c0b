"""Measure a model on a labelled table, for all records and by group.

The measures are exact, for the owner alone, or computed from noisy counts, which are released.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from privcurve import datasets, extras
from privcurve.analysis.measures import auc
from privcurve.coding import Bools, Floats, Ints, class_labels, decide
from privcurve.datasets.coding import Markers, read_codes, strip_point
from privcurve.datasets.reading import TRUTHS, RawTable
from privcurve.experiments import canonical
from privcurve.models import Model
from privcurve.privacy import seeds
from privcurve.privacy.curator import Curator
from privcurve.privacy.noise import PARTS, noisy_counts
from privcurve.privacy.sensitivity.counts import histogram_l1
from privcurve.releases.budget_ledger import DONE, RELEASES, BudgetLedger, Price, Release, budget_of
from privcurve.releases.errors import ReleaseError
from privcurve.releases.guard import guard

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALL, MISSING = "all", "(missing)"
# Maximum number of groups, if the column of groups is not a column of the model.
MOST_GROUPS = 50

Measure = tuple[float, float]  # a value and its standard error
UNMEASURED: Measure = (math.nan, math.nan)


class Answers(NamedTuple):
    """The labels of records, and a model's predicted classes (answers) and scores for them."""

    groups: tuple[str, ...]  # names of the groups
    group: Ints  # (n_rows,): position of the record's group
    label: Ints  # (n_rows,): position of the record's class
    answer: Ints  # (n_rows,): position of the predicted class
    scores: Floats  # (n_rows,), or (n_rows, n_classes)
    chances: Floats | None  # (n_rows, n_classes): probabilities; None if the model has none

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return 2 if self.scores.ndim == 1 else self.scores.shape[1]

    def select(self, rows: Bools) -> Answers:
        """Return the answers for the records that the mask `rows`, of shape (n_rows,), selects."""
        chances = None if self.chances is None else self.chances[rows]
        label, answer, scores = self.label[rows], self.answer[rows], self.scores[rows]
        return Answers(self.groups, self.group[rows], label, answer, scores, chances)


class Row(NamedTuple):
    """Measures of the model on one group of records, each with its standard error."""

    group: str
    n: float  # number of records, exact or noisy
    error: Measure  # share of wrong answers
    auc: Measure = UNMEASURED
    predicted: Measure = UNMEASURED  # mean probability of the positive class
    actual: Measure = UNMEASURED  # share of the positive class
    positive: Measure = UNMEASURED  # share of positive answers


def ask(
    model: Model,
    path: Path,
    by: str | None,
    tell: Callable[[str], None],
    watch: Callable[[RawTable], None] | None = None,
    **options: Any,
) -> Answers:
    """Return the answers of a model about each record of a labelled table.

    Parameters
    ----------
    model : Model
    path : Path
        The table, a file with a column of labels.
    by : str or None
        The column of groups. The groups are the bins of a column of the model, or the values of
        another column of the table.
    tell : callable
        Called with each remark on the table, such as a column with nearly all values out of bounds.
    watch, **options
        See :func:`~privcurve.datasets.coding.read_codes`.

    Raises
    ------
    DatasetError
        If the table can't be read.
    ReleaseError
        If a label is missing or no class of the model, if the table has no record, or if `by` is
        the label or has more than ``MOST_GROUPS`` values.
    """
    domain, label = model.domain, model.domain.label
    column = domain.columns[domain.names.index(by)] if by in domain.names else None
    if by == label.column:
        raise ReleaseError(f"--by {by} is the label: name a column of groups")
    copied = [label.column, *([] if by is None or column is not None else [by])]
    records = read_codes(domain, path, parser=model.parser, copied=copied, watch=watch, **options)
    for remark in records.notes:
        tell(remark)
    places = _place_spellings(label.places)
    markers = Markers(domain.missing, domain.decimal)
    labels: list[int] = []
    texts: list[str] = []
    codes: list[Ints] = []
    scores, chances = [], []
    for part in records.parts:
        for row, text in enumerate(part.copied[0]):
            word = text.strip().removesuffix(label.strip)
            place = places.get(word, places.get(strip_point(word)))
            if place is None and markers.include(word):
                raise ReleaseError(
                    f"{part.table.place_of(row)}: the label {label.column!r} is missing: leave out "
                    "records without a label"
                )
            if place is None:
                raise ReleaseError(
                    f"{part.table.place_of(row)}: the label {label.column!r} must be one of the "
                    f"model's classes ({', '.join(label.names)}); got {word!r}. Write labels as in "
                    "the training data"
                )
            labels.append(place)
        values = model.decision_function(part.codes)
        scores.append(values)
        if model.has_probabilities:
            chances.append(model._estimator.chances(values))
        if column is not None:
            codes.append(part.codes[:, domain.names.index(column.name)].astype(np.int64))
        elif by is not None:
            texts += [_read_group(text, markers) for text in part.copied[1]]
    if not labels:
        raise ReleaseError(f"{path} has no record")
    for remark in records.remarks:
        tell(remark)
    all_scores = np.concatenate(scores)
    if column is not None:
        names, group = column.code_names, np.concatenate(codes)
    elif by is not None:
        names, group = _group_rows(by, texts)
    else:
        names, group = (), np.zeros(len(labels), dtype=np.int64)
    positions = np.array(labels)
    answers, shares = np.asarray(decide(all_scores)), np.concatenate(chances) if chances else None
    return Answers(names, group, positions, answers, all_scores, shares)


def _place_spellings(places: dict[str, int]) -> dict[str, int]:
    """Return a mapping from each spelling of a label to the position of its class.

    `places` is this mapping for the spellings in the training files. If the two classes are truth
    values, the function adds all other spellings of truth values.
    """
    places_of = {
        truth: {places[t] for t in texts if t in places} for truth, texts in TRUTHS.items()
    }
    if len({*places.values()}) == 2 and all(len(some) == 1 for some in places_of.values()):
        for truth, texts in TRUTHS.items():
            places = dict.fromkeys(texts, *places_of[truth]) | places
    return places


def _read_group(text: str, markers: Markers) -> str:
    """Return the group of a record from its text, which is read like a category.

    The text 1.0 gives the group 1, and a marker of missing values gives the group `MISSING`.
    """
    word = text.strip()
    return MISSING if markers.include(word) else strip_point(word, markers.decimal)


def _group_rows(by: str, texts: Sequence[str]) -> tuple[tuple[str, ...], Ints]:
    names, group = np.unique(np.array(texts, dtype=object), return_inverse=True)
    if len(names) > MOST_GROUPS:
        raise ReleaseError(
            f"--by {by} has {len(names):,} different values, more than {MOST_GROUPS}: name a "
            "column of groups"
        )
    return tuple(names.tolist()), group.astype(np.int64)


# Exact -------------------------------------------------------------------------------------------


def measure(answers: Answers, least: int) -> tuple[list[Row], list[str]]:
    """Return the measures of all records and of each group, and the names of small groups.

    A group with fewer than `least` records is small, and is not measured. Groups without records
    are left out.
    """
    rows, small = [_measure(ALL, answers)], []
    for k, name in enumerate(answers.groups):
        inside = answers.group == k
        if 0 < np.count_nonzero(inside) < least:
            small.append(name)
        elif inside.any():
            rows.append(_measure(name, answers.select(inside)))
    return rows, small


def _measure(name: str, answers: Answers) -> Row:
    _, _, label, answer, scores, chances = answers
    n = len(label)
    row = Row(name, n, _rate(answer != label))
    values = np.array(class_labels(answers.n_classes))[label]
    if answers.n_classes > 2:
        ranked = scores if chances is None else chances
        return row._replace(auc=(auc(ranked, values, np.ones(n, dtype=np.int64)), math.nan))
    area = auc(scores, values, np.ones(n, dtype=np.int64))
    of_area = (area, _spread_of_area(area, int(label.sum()), n))
    mean = UNMEASURED if chances is None else _average(chances[:, 1])
    return Row(name, n, row.error, of_area, mean, _rate(label == 1), _rate(answer == 1))


def _rate(which: Bools) -> Measure:
    share = float(which.mean())
    return share, math.sqrt(share * (1 - share) / len(which))


def _average(values: Floats) -> Measure:
    return float(values.mean()), float(values.std() / math.sqrt(len(values)))


def _spread_of_area(area: float, n_positive: int, n: int) -> float:
    """Return the standard error of an area under the curve (Hanley and McNeil, Radiology 1982)."""
    n_negative = n - n_positive
    if not n_positive * n_negative:
        return math.nan
    q1, q2 = area / (2 - area), 2 * (area * area) / (1 + area)
    spread = area * (1 - area)
    spread += (n_positive - 1) * (q1 - area * area) + (n_negative - 1) * (q2 - area * area)
    return math.sqrt(max(spread, 0.0) / (n_positive * n_negative))


# With noise --------------------------------------------------------------------------------------


class Noisy(NamedTuple):
    """Measures from noisy counts, and the release in the ledger that paid for them."""

    rows: list[Row]
    release: Release
    ledger: Path


def release(
    answers: Answers, model: Path, table: Path, dataset: str, by: str | None, epsilon: float
) -> Noisy:
    """Count records by group, label and answer with discrete Laplace noise, and measure the model.

    The query is one vector of disjoint counts: replacing a record changes two counts by one, adding
    a record changes one count by one (``privacy.sensitivity.counts.histogram_l1``). The model and
    the groups are public. The function writes the price into the ledger of the dataset before it
    draws noise.

    Parameters
    ----------
    answers : Answers
        Without groups, or grouped by a column of the model: the values of another column are not
        public.
    model, table : Path
        The files of the model and of the table that `answers` were computed from.
    dataset : str
        The dataset whose budget pays.
    by : str or None
        The column of groups, for the ledger.
    epsilon : float
        The price of the query.

    Returns
    -------
    Noisy
        The measures of all records and of each group, and the entry in the ledger.

    Raises
    ------
    DatasetError, SeedError, ReleaseError
        If the dataset does not exist, its records are public or protect persons, its seed can't be
        used, or its budget can't pay. Then nothing is spent.
    """
    description = datasets.describe(dataset)
    records = description.records_name
    if description.public_benchmark:
        raise ReleaseError(f"the records of {records} are public: leave out --epsilon")
    if description.unit is not None:
        raise ReleaseError(
            f"the budget of {records} protects all records of one {description.unit.column}, and "
            f"how many of them {table} holds of each is not known: leave out --epsilon"
        )
    budget = budget_of(records)
    what = f"counts of {table.name} by {by + ', ' if by else ''}label and answer"
    try:
        call = noisy_counts(
            what, histogram_l1(budget.neighbours), epsilon, "releases.evaluation.release"
        )
    except ValueError as error:
        raise ReleaseError(str(error)) from None
    place = seeds.path_of(records)
    seeds.check_secret(place)
    ledger = BudgetLedger(RELEASES / records)
    price = Price(epsilon, 0.0, budget.neighbours)
    facts: dict[str, Any] = {
        "dataset": dataset,
        "what": what,
        "sources": {table.name: hashlib.sha256(table.read_bytes()).hexdigest()},
        "model": hashlib.sha256(model.read_bytes()).hexdigest(),
        "token": secrets.token_hex(32),
    }
    ledger.check(budget, price)
    with guard(ledger, description, set(facts["sources"].values())):
        seed = seeds.read_or_make(place)
        entry = ledger.reserve(budget, price, {**facts, "seed": seeds.public_name(seed)})
    # If the ledger is lost, the numbered folder shows that the release was made.
    (ledger.path.parent / str(entry.number)).mkdir(mode=0o700, exist_ok=True)
    key = {"for": "evaluation", "release": entry.number, "epsilon": epsilon, **facts}
    curator = Curator(seeds.generator(seed, canonical.digest({**key, "seed": seed.name})))
    shape = max(len(answers.groups), 1), answers.n_classes, answers.n_classes
    cells = np.ravel_multi_index((answers.group, answers.label, answers.answer), shape)
    exact = np.bincount(cells, minlength=math.prod(shape)).astype(np.int64)
    noisy = curator.whole_numbers(call, PARTS * exact).reshape(shape) / PARTS
    spread = math.sqrt(2) * call.scale / PARTS
    rows = [_measure_counts(ALL, noisy.sum(axis=0), spread * math.sqrt(shape[0]))]
    rows += [_measure_counts(name, noisy[k], spread) for k, name in enumerate(answers.groups)]
    # If the ledger can't be written now, the release stays reserved, which counts as spent.
    with contextlib.suppress(OSError):
        ledger.close(entry, DONE, {})
    return Noisy(rows, entry, ledger.path)


def _measure_counts(name: str, counts: Floats, spread: float) -> Row:
    """Compute the measures of a group from its noisy counts.

    `counts` has the shape (n_classes, n_classes): a row per label, a column per answer. `spread` is
    the standard deviation of the noise of each count.
    """
    n, n_classes = float(counts.sum()), len(counts)

    def share(count: float, n_cells: int) -> Measure:
        if n <= 0:
            return UNMEASURED
        value = min(max(count / n, 0.0), 1.0)
        # The share is the sum of `n_cells` counts, divided by the sum n of all counts. Noise z in
        # one of the `n_cells` counts changes the share by z(1 − share)/n; noise z in any other
        # count changes it by −z·share/n.
        rest, noise = 1 - value, spread / n
        n_others = n_classes * n_classes - n_cells
        weight = n_cells * (rest * rest) + n_others * (value * value)
        return value, math.sqrt(value * rest / n + weight * (noise * noise))

    wrong = n - float(np.trace(counts))
    row = Row(name, n, share(wrong, n_classes * n_classes - n_classes))
    if n_classes > 2:
        return row
    actual, positive = share(float(counts[1].sum()), 2), share(float(counts[:, 1].sum()), 2)
    return row._replace(actual=actual, positive=positive)


# Drawn -------------------------------------------------------------------------------------------


def draw(rows: Sequence[Row]) -> Figure:
    """Draw the measures of groups, with bars of two standard errors; a panel for each measure."""
    extras.check("matplotlib", "a picture of an evaluation")
    from matplotlib.figure import Figure

    measures = {"error": ["error"], "AUC": ["auc"], "positive class": ["actual", "predicted"]}
    measures["positive answers"] = ["positive"]
    panels = {title: names for title, names in measures.items() if is_measured(rows, names[0])}
    if not panels:
        raise ReleaseError("no picture: the noise leaves no group a number of records above 0")
    figure = Figure(figsize=(3.0 * len(panels), 1.2 + 0.35 * len(rows)), layout="constrained")
    places = np.arange(len(rows))
    all_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (title, names) in zip(all_axes, panels.items(), strict=True):
        for k, name in enumerate(names):
            values, errors = np.array([getattr(row, name) for row in rows]).T
            axes.errorbar(
                values, places + 0.2 * k, xerr=2 * errors, fmt="os"[k], color=f"C{k}", label=name
            )
        axes.set_title(title, fontsize="medium")
        axes.set_yticks(places, [row.group for row in rows], fontsize="small")
        axes.spines[["top", "right"]].set_visible(False)
        if len(names) > 1:
            axes.legend(fontsize="small", frameon=False)
    all_axes[0].invert_yaxis()
    figure.supxlabel("bars: ± two standard errors", fontsize="small")
    return figure


def is_measured(rows: Sequence[Row], name: str) -> bool:
    """Return whether at least one group has the measure `name`."""
    return any(not math.isnan(getattr(row, name)[0]) for row in rows)
