"""What the name of an arm says."""

from __future__ import annotations


def method_of(arm: str) -> str:
    """Give the method of an arm: its name before the calibration (``lazybb~certified``)."""
    return arm.partition("~")[0]
