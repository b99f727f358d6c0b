"""What the name of an arm says."""

from __future__ import annotations

# Stands for the value of what a line or a panel of a figure lacks.
NONE = "none"


def method_of(arm: str) -> str:
    """Return the method of an arm: its name before the calibration (``lazybb~certified``)."""
    return arm.partition("~")[0]
