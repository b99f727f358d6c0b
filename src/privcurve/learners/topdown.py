"""DP-TopDown: a private decision tree (thesis, Algorithm 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from privcurve.learners.base import PrivateClassifier
from privcurve.learners.trees import TOP_DOWN_TREES, TopDownTrees, TreeModel
from privcurve.learners.voting import VotingClassifier


@dataclass(kw_only=True, eq=False, repr=False)
class TopDownTreeClassifier(VotingClassifier, PrivateClassifier):
    """A decision tree whose splits and labels are chosen privately.

    ``certified`` trees grow by levels: every
    node of a level makes its own private choice, and all of them together cost no more
    than one (PRIVACY.md §c, level-parallel). ``published`` trees grow best first, one
    private choice among all leaves and questions a split.

    Parameters
    ----------
    depth : int
        Levels of splits.
    n_splits : int, optional
        Internal nodes of a published tree; by default as many as a full tree of `depth`
        has. Not for certified trees.
    splits : str
        ``equality``: a split asks whether a column has one code. ``threshold``: it may
        also ask whether the code is at most one, which suits columns whose codes have an
        order. Certified only.
    criterion : str
        ``gini``, ``entropy``, ``root_gini`` or ``zero_one``. Against Gini, ``zero_one``
        is half as sensitive to one record and gets half of the noise; ``entropy`` and
        ``root_gini`` get about (log₂ n + 1.4)/4 and √n/2 times as much. Published trees
        offer Gini alone.
    split_share : float, optional
        Share of the budget for splits, in (0, 1); the rest is for the leaves. Certified
        only; see ``calibration_trees.lazybb_trees`` for the default.
    leaves : str
        ``labels``: each leaf is labelled by its noisy margin. ``rules``: each node of the
        last level chooses a question and the labels of both answers at once, by their
        error, which takes less noise. Certified only.
    epsilon : float
        ε of the whole fit, above 0; infinite: no noise.
    delta : float
        0: pure differential privacy. Published trees offer 0 alone.
    calibration : str
        ``certified`` (PRIVACY.md §c) or ``published`` (thesis, Theorem 4.2.2).
    mechanism : str
        Of the splits: ``exponential``, ``permute_and_flip`` (certified with δ = 0), or
        ``auto``: permute-and-flip where it is offered.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    model_ : TreeModel
        The tree, readable.
    n_features_used_, n_records_
        See :class:`~privcurve.learners.voting.VotingClassifier`.
    privacy_ : PrivacyStatement
        What the fit guarantees, with every mechanism call.

    Examples
    --------
    >>> import numpy as np
    >>> from privcurve.learners.topdown import TopDownTreeClassifier
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.uint8)
    >>> y = np.array([0, 0, 0, 1])
    >>> tree = TopDownTreeClassifier(depth=2, epsilon=float("inf"), n_bins=2).fit(X, y)
    >>> tree.predict(X)
    array([0, 0, 0, 1])
    """

    _learner = "topdown"
    _released: ClassVar[Mapping[str, Any]] = {"model_": TreeModel}

    depth: int = 3
    n_splits: int | None = None
    splits: str = "equality"
    criterion: str = "gini"
    split_share: float | None = None
    leaves: str = "labels"
    mechanism: str = "auto"

    @property
    def _weak(self) -> TopDownTrees:
        return TOP_DOWN_TREES
