"""Mechanisms, sensitivities, accountants and statements: every privacy constant of privcurve.

Importing this package is fast: modules that need SciPy import it where they use it.
"""

from privcurve.privacy.ledger import LedgerEntry, PrivacyStatement

__all__ = ["LedgerEntry", "PrivacyStatement"]
