"""Experiments: studies, the list of their runs, and the execution of one job."""
