"""Calibration: the largest noise rates whose costs compose to (ε, δ), one file per family."""
