"""Statements of learners that may be given public columns: what the relation adds in words."""

from __future__ import annotations

from collections.abc import Sequence

from privcurve.privacy.budget import PRIVATE_COLUMNS, REPLACE_ONE
from privcurve.privacy.ledger import (
    ASSUMED_BINS,
    ASSUMED_LABELS,
    ASSUMED_N,
    NOT_FLOATS,
    NOT_SEED,
    NOT_SELECTION,
    LedgerEntry,
    PrivacyStatement,
)

NOT_PUBLIC = "anything about public columns or labels: the model may show them exactly"
NOT_IMPLIED = "what public columns tell of private ones (a category that implies another)"


def state(
    learner: str,
    *,
    epsilon: float,
    delta: float,
    calibration: str,
    composition: str,
    ledger: Sequence[LedgerEntry],
    public: Sequence[int] | None,
    assumptions: Sequence[str] = (),
    exclusions: Sequence[str] = (),
) -> PrivacyStatement:
    """Make the statement of a learner by the public columns that it reads.

    Parameters
    ----------
    learner, epsilon, delta, calibration, composition, ledger
        See :class:`~privcurve.privacy.ledger.PrivacyStatement`.
    public : sequence of int or None
        Positions of the columns that are read without noise, beside the label; None if
        nothing is, and the guarantee is about replacing a record.
    assumptions, exclusions : sequence of str
        What there is beside the usual ones; exclusions come first.

    Returns
    -------
    PrivacyStatement
    """
    assumed = [ASSUMED_N, ASSUMED_BINS, ASSUMED_LABELS, *assumptions]
    excluded = [*exclusions, NOT_SEED, NOT_FLOATS, NOT_SELECTION]
    if public is not None:
        columns = ", ".join(str(j) for j in public)
        many = "columns" if len(public) > 1 else "column"
        assumed.append(f"every record's label and {many} {columns}" if public else "every label")
        excluded += [NOT_PUBLIC, NOT_IMPLIED]
    return PrivacyStatement(
        learner=learner,
        epsilon=epsilon,
        delta=delta,
        neighbours=REPLACE_ONE if public is None else PRIVATE_COLUMNS,
        calibration=calibration,
        composition=composition,
        ledger=tuple(ledger),
        assumptions=tuple(assumed),
        exclusions=tuple(excluded),
    )
