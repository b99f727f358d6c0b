"""Statements of learners, by the public columns that they read: what the relation adds in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from privcurve.privacy.accountants.compose import BASIC
from privcurve.privacy.budget import PRIVATE_COLUMNS, REPLACE_ONE, is_private
from privcurve.privacy.ledger import ASSUMED, NOT_COVERED, PROVED, LedgerEntry, PrivacyStatement

NOT_IMPLIED = "what public columns tell of private ones (a category that implies another)"


def state(
    learner: str,
    *,
    epsilon: float,
    delta: float,
    calibration: str,
    composition: str,
    ledger: Sequence[LedgerEntry],
    neighbours: str = REPLACE_ONE,
    public: Sequence[int] | None = None,
    assumptions: Sequence[str] = (),
    exclusions: Sequence[str] = (),
    status: str = PROVED,
    caveat: str = "",
    proved_epsilon: float | None = None,
) -> PrivacyStatement:
    """Make the statement of a learner by the public columns that it reads.

    Parameters
    ----------
    learner, epsilon, delta, calibration, composition, ledger
        See :class:`~privcurve.privacy.ledger.PrivacyStatement`.
    neighbours : str
        Where there are no public columns.
    public : sequence of int or None
        Positions of the columns that are read without noise, beside the label; None if
        nothing is, and the guarantee is about replacing a record.
    assumptions, exclusions : sequence of str
        What there is beside the usual ones; exclusions come first.
    status, caveat, proved_epsilon
        As above.

    Returns
    -------
    PrivacyStatement
        That of a method without privacy at ε = ∞.
    """
    if not is_private(epsilon):
        return PrivacyStatement.not_private(learner)
    said = PrivacyStatement(
        learner=learner,
        epsilon=epsilon,
        delta=delta,
        neighbours=neighbours,
        calibration=calibration,
        composition=composition,
        ledger=tuple(ledger),
        assumptions=(*ASSUMED, *assumptions),
        exclusions=(*exclusions, *NOT_COVERED),
        status=status,
        caveat=caveat,
        proved_epsilon=proved_epsilon,
    )
    return said if public is None else with_public(said, public)


def state_public(learner: str, public: Sequence[int]) -> PrivacyStatement:
    """Make the statement of a learner that reads public columns and labels alone: ε = 0."""
    said = PrivacyStatement(learner, 0.0, 0.0, REPLACE_ONE, None, BASIC, ())
    return with_public(said, public)


def with_public(statement: PrivacyStatement, public: Sequence[int]) -> PrivacyStatement:
    """Make of a statement about replaced records the one of a learner with a public start.

    Neighbours under ``private-columns`` are neighbours under ``replace-one``, and a start that
    is the same for both adds nothing.
    """
    if not statement.private:
        return statement
    return replace(
        statement,
        neighbours=PRIVATE_COLUMNS,
        public_columns=tuple(public),
        public_label=True,
        exclusions=(*statement.exclusions, NOT_IMPLIED),
    )
