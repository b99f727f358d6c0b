"""Calibration: the largest noise rates whose costs add up to (ε, δ), one file a family."""
