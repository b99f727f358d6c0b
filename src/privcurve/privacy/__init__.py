"""Mechanisms, sensitivities, accountants and statements: every privacy constant of privcurve.

Importing this package is light. Modules that need SciPy import it
where they use them.
"""

from privcurve.privacy.ledger import LedgerEntry, PrivacyStatement

__all__ = ["LedgerEntry", "PrivacyStatement"]
