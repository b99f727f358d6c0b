"""A hold-out: records that do not train the model, but measure it by one private query.

The split does not depend on the values of the records (docs/proofs.md, 'Hold-out'). For replace-one
neighbours, the split is a public function of the row number of each record in the raw file, or of
the first row of each person. For add-remove neighbours, a secret coin for each record, or for each
person, decides.
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

# Seed of the public split: the k-th random number decides whether row k is held out.
PUBLIC_SEED = 20261129

WHAT = "counts of the hold-out by label and bin of the score"


@dataclass(frozen=True)
class Parts:
    """The two disjoint parts of the records: the records that train the model, and the hold-out."""

    train: NDArray[np.intp]  # positions among the encoded records, in increasing order
    held: NDArray[np.intp]  # positions of the held-out records, in increasing order


def check(request: Request, description: Description) -> None:
    """Raise ReleaseError if the request has a hold-out that is not possible or not needed."""
    if not request.holdout:
        return
    if not 0 < request.holdout < 1:
        raise ReleaseError(
            f"holdout must be a share of the records between 0 and 1; got {request.holdout!r}. "
            "Give 0.2, for a fifth of them"
        )
    if description.public_benchmark:
        raise ReleaseError(
            f"holdout must be 0 for {description.name}, whose records are public; got "
            f"{request.holdout!r}. An accuracy on a test part (files: test:) costs nothing, and is "
            "on the card"
        )
    try:
        query(request)
    except ValueError as error:
        raise ReleaseError(f"holdout: {error}") from None


def read_places(
    data: Dataset | PartedDataset,
    description: Description,
    watch: Callable[[RawTable], None] | None = None,
) -> NDArray[np.intp]:
    """Return for each encoded record its row number in the raw file, from 0.

    If the description has a unit, a record gets the row number of the first record of its person,
    as in :func:`~privcurve.datasets.load.load_places`. Raises ReleaseError if the raw file has
    changed since it was encoded.
    """
    if description.unit is None and not description.records.balance:
        # The encoded records are all rows or the first rows of the file, in the same order.
        return np.arange(data.n_rows)
    checksum, places = load_places(description.name, watch)
    if checksum != data.checksum:
        raise ReleaseError(
            f"{description.name}: its files were changed after they were coded. Nothing was "
            "trained; run the same command again"
        )
    return places


def split(places: NDArray[np.intp], request: Request, coins: Generator | None = None) -> Parts:
    """Split records by their row numbers (:func:`read_places`).

    For add-remove neighbours `coins` is a secret stream; other relations need none.

    Raises ReleaseError if a part is empty and the number of records is public.
    """
    if request.relation == ADD_REMOVE:
        assert coins is not None
        # Each record has a secret coin; if ε protects persons, each person has one coin.
        units = np.unique(places, return_inverse=True)[1]
        held = np.asarray(coins.random(len(places))[units] < request.holdout)
    else:
        held = public_split(places, request.holdout)
    parts = Parts(np.flatnonzero(~held), np.flatnonzero(held))
    if request.relation != ADD_REMOVE and not (len(parts.train) and len(parts.held)):
        raise ReleaseError(
            f"holdout must leave a record in each part; got {request.holdout:g} for {len(places)} "
            "records. Give another share, or leave it out. Nothing was trained"
        )
    return parts


def public_split(places: NDArray[np.intp], share: float) -> Bools:
    """Return whether each record is held out: a mask of the same shape as `places`.

    Whether a record is held out depends only on its row number and on the share.
    """
    generator = np.random.Generator(np.random.PCG64(PUBLIC_SEED))
    numbers = generator.random(int(places.max(initial=0)) + 1)
    return np.asarray(numbers[places] < share)


def query(request: Request) -> Call:
    """Return the mechanism call of the query on the hold-out: counts with discrete Laplace noise.

    Raises ValueError if ε is too small for the sampler.
    """
    l1 = histogram_l1(request.relation)
    return noisy_counts(WHAT, l1, request.epsilon_of_query, "docs/proofs.md, 'Hold-out'")


def ask(
    learner: object, codes: Codes, labels: NDArray[Any], request: Request, curator: Curator
) -> Judgement:
    """Measure a fitted learner on the held-out records, with noise.

    Parameters
    ----------
    learner : CodedClassifier
        Fitted on the training records.
    codes, labels : ndarray of shape (n_held, n_columns), (n_held,)
        The held-out records, encoded.
    request : Request
    curator : Curator
        Draws the noise of the counts.
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
