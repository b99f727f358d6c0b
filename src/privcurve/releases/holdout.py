"""A hold-out: records that are set aside before anything else, and answer one charged query.

The split does not look at what the records hold (docs/proofs.md, 'Hold-out'). For replace-one
neighbours it is a public function of the place of a row in the raw file, or of the first row of
its person. For add-remove neighbours each record, or person, has a secret coin of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from privcurve.coding import Bools, Codes, Floats
from privcurve.datasets import Dataset, Description, PartedDataset
from privcurve.datasets.load import load_places
from privcurve.datasets.reading import RawTable
from privcurve.learners.additive.people import code_weights
from privcurve.privacy.budget import ADD_REMOVE
from privcurve.privacy.curator import Call, Curator
from privcurve.privacy.noise import PARTS, noisy_counts
from privcurve.privacy.sensitivity.counts import histogram_l1
from privcurve.releases.errors import ReleaseError
from privcurve.releases.judgement import Judgement, judge, score_bins
from privcurve.releases.request import Request

# The public function of places: the k-th number of this generator belongs to place k.
PUBLIC_SEED = 20261129

WHAT = "counts of the hold-out by label and bin of the score"


@dataclass(frozen=True)
class Parts:
    """The two parts of the training records; a record is in exactly one."""

    train: NDArray[np.intp]  # places among the coded records, in increasing order
    held: NDArray[np.intp]


def read_places(
    data: Dataset | PartedDataset,
    description: Description,
    watch: Callable[[RawTable], None] | None = None,
) -> NDArray[np.intp]:
    """Return the place in the raw file of each coded record, or of its person's first row.

    Raises ReleaseError if the raw file was changed after it was coded.
    """
    if description.unit is None and not description.records.balance:
        # All records are kept, or the first ones.
        return np.arange(data.n_rows)
    checksum, places = load_places(description.name, watch)
    if checksum != data.checksum:
        raise ReleaseError(
            f"{description.name}: its files were changed after they were coded. Nothing was "
            "trained; run the same command again"
        )
    return places


def split(places: NDArray[np.intp], request: Request, coins: Generator | None = None) -> Parts:
    """Split records by the places of :func:`read_places`.

    For add-remove neighbours `coins` is a secret stream; for others none is needed.

    Raises ReleaseError if a part has no record, where their numbers are public.
    """
    if request.relation == ADD_REMOVE:
        assert coins is not None
        # One secret coin for each record or person, whatever its place.
        units = np.unique(places, return_inverse=True)[1]
        held = np.asarray(coins.random(len(places))[units] < request.holdout)
    else:
        held = public_split(places, request.holdout)
    parts = Parts(np.flatnonzero(~held), np.flatnonzero(held))
    if request.relation != ADD_REMOVE and not (len(parts.train) and len(parts.held)):
        raise ReleaseError(
            f"holdout = {request.holdout:g} leaves a part of {len(places)} records without any: "
            "give another share, or leave it out. Nothing was trained"
        )
    return parts


def public_split(places: NDArray[np.intp], share: float) -> Bools:
    """Return which places a hold-out of this share takes; `places` are not empty.

    Each answer follows from its own place and the share alone.
    """
    generator = np.random.Generator(np.random.PCG64(PUBLIC_SEED))
    numbers = generator.random(int(places.max(initial=0)) + 1)
    return np.asarray(numbers[places] < share)


def query(request: Request) -> Call:
    """Return the call of the one query: disjoint counts with discrete Laplace noise.

    Raises ValueError if ε is too small for the sampler.
    """
    l1 = histogram_l1(request.relation)
    return noisy_counts(WHAT, l1, request.epsilon_of_query, "docs/proofs.md, 'Hold-out'")


def ask(
    learner: Any, codes: Codes, labels: NDArray[Any], request: Request, curator: Curator
) -> Judgement:
    """Ask held-out records how good a fitted learner is.

    Parameters
    ----------
    learner : CodedClassifier
        Fitted on the other records; it is not fitted again.
    codes, labels : ndarray of shape (n_held, n_columns), (n_held,)
    request : Request
    curator : Curator
        Gives the counts their noise.
    """
    weights: list[Floats] = code_weights(learner)
    bins = score_bins(learner, [len(own) for own in weights], weights)
    positions = labels.astype(np.int64)
    if bins.n_classes == 2:
        positions = (positions > 0).astype(np.int64)
    exact = bins.count(learner, codes, positions)
    call = query(request)
    noisy = curator.whole_numbers(call, PARTS * exact) / PARTS
    deviation = math.sqrt(2) * call.scale / PARTS
    return judge(noisy, deviation, bins, share=request.holdout, epsilon=request.epsilon)
