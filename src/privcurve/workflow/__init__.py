"""From configuration to jobs: the plan of a run (:mod:`.plan`), and the commands of rules."""

import sys
from pathlib import Path

# The user's own files may import modules from the folder of the run, so the folder must be in
# sys.path. `python -m` and Snakemake put it at the start, where a user's statistics.py would hide
# the standard module of this name; move it to the end.
_HERE = str(Path.cwd())
sys.path[:] = [*(folder for folder in sys.path if folder != _HERE), _HERE]
