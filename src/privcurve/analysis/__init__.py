"""Compute statistics of runs: functions from tidy data frames to tidy data frames."""
