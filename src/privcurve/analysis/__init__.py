"""Compute statistics of runs, from tidy frames to tidy frames."""
