"""Train a learner many times on the same records, to estimate probabilities of its outputs."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np

from privcurve.coding import Records
from privcurve.learners.base import CodedClassifier
from privcurve.privacy.accountants.compose import BASIC
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import AUTHORS_WORD, CLAIMED, PrivacyStatement

# Kinds of released answers. Floating-point arithmetic affects each kind differently: see
# docs/proofs.md, 'Floating point', F1 and F2.
NUMBERS = "numbers on a grid"
WHOLE = "whole numbers"
CHOICES = "choices and labels"
POINTS = "points of an interval"
SHARES = "shares of Laplace noise"
MINIMA = "minimised objectives"
STREAMS = "noise of a compiled loop"

# Number of models that are trained at a time, which limits the memory.
BATCH = 500


def fits(
    learner: CodedClassifier, side: Records, n: int, rng: np.random.Generator
) -> Iterator[Any]:
    """Train `n` times with the stream `rng`; yield the same models as `fit_records`, bit for bit.

    This is faster than `fit_records` on tiny data: records are not sealed, and parameters and
    records are checked once, not `n` times. Curators draw the noise as in a real fit.
    """
    checked = copy_untrained(learner, side)
    codes = checked._code(side.codes)
    _, targets = checked._targets(side.labels, len(side.labels))
    coded = Records(codes, targets, side.counts, side.n_bins)
    for start in range(0, n, BATCH):
        models = [copy(checked) for _ in range(min(BATCH, n - start))]
        checked._fit_batch(models, coded, [Curator(rng) for _ in models])
        yield from models


def copy_untrained(learner: CodedClassifier, side: Records) -> Any:
    """Return a copy of a learner in the state in which `fit_records` begins its training."""

    def train_nothing(blank: object, learners: Any, *arguments: Any) -> None:
        """Train nothing: only set the privacy statement of each learner, without which fits end."""
        for each in learners:
            spent = each._learner, 0.0, 0.0, each._neighbours()
            each._fitted_statement = PrivacyStatement(
                *spent, None, BASIC, (), status=CLAIMED, caveat=AUTHORS_WORD
            )

    idle = type("Idle", (type(learner),), {"_fit_batch": train_nothing})
    blank = idle(**learner.get_params(deep=False))
    apart = np.random.default_rng(0)
    (model,) = blank.fit_records(side, [{}], [Curator(apart)])
    model.__class__ = type(learner)
    del model._fitted_statement
    return model
