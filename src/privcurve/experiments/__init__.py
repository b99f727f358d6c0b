"""Experiments: studies, the runs that they need, and the jobs that train these runs."""
