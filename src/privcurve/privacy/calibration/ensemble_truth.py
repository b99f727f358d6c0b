"""What is true of the published noise of boosted ensembles (docs/privacy.md, Boosted ensembles)."""

from __future__ import annotations

import math

from privcurve.privacy.ledger import NOT_PROVED, PROVED, REFUTED

# Whether β is computed from the exact records, as published, or is public.
EXACT = "exact"
CONSTANT = "constant"

LEAK = (
    "the leveraging coefficients of the trees are computed from the exact records, without noise: "
    "given the leaves, which are public, one of them tells a record's label for certain"
)
ERROR_LEAK = "α of the splits is computed from the exact error, which the paper does not charge for"
LEAF_LEAK = (
    "leaf values get noise for a range of 2M before they are clamped to ±M, but range over more"
)


def truth_of_published(
    n_trees: int,
    depth: int,
    calibrate_alpha: str,
    tree_share: float,
    clamp: float,
    largest_link: float,
    leverage: str,
    epsilon: float,
) -> tuple[str, str, float | None]:
    """Say what is true of the published noise.

    Parameters
    ----------
    n_trees, depth : int
    calibrate_alpha : str
        ``exact``: α of the splits is computed from the records too.
    tree_share : float
        β_tree.
    clamp, largest_link : float
        M, and the largest link of a leaf.
    leverage : str
        ``exact`` or ``constant``.
    epsilon : float

    Returns
    -------
    status, caveat : str
        Of the statement.
    proved : float or None
        The ε that is proved; infinite if there is none, None if nothing is known.
    """
    if leverage == EXACT:
        return REFUTED, LEAK, math.inf
    # All levels of a tree together, by PRIVACY.md §f2.
    splits = tree_share * epsilon * (2 - 2.0 ** (1 - depth)) / depth
    of_leaves = (1 - tree_share) * epsilon
    # A moved record turns two leaves around, each by up to twice the largest link.
    most = splits + of_leaves * 4 * largest_link / (2 * clamp)
    # A record alone in its leaf, in every tree, whose label is flipped; seen after the clamp.
    least = n_trees * _flip_loss(clamp, largest_link, 2 * clamp * n_trees / of_leaves) - splits
    proved = None if calibrate_alpha == EXACT else most
    if least > epsilon:
        return REFUTED, LEAF_LEAK, proved
    if proved is not None and proved <= epsilon * (1 + 1e-12):
        return PROVED, "", None
    return NOT_PROVED, ERROR_LEAK if proved is None else LEAF_LEAK, proved


def _flip_loss(clamp: float, largest_link: float, scale: float) -> float:
    """Give ln P(M | +R)/P(M | −R), R the largest link, of noise before the clamp (§f5)."""
    far = (clamp + largest_link) / scale
    near = (clamp - largest_link) / scale
    kept = 1 - math.exp(near) / 2 if near < 0 else math.exp(-near) / 2
    return math.log(kept) + math.log(2) + far
