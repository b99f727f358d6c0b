"""From configuration to jobs: the plan of a run (:mod:`.plan`), and the commands of rules."""

import sys
from pathlib import Path

# The user's own files may import modules from the folder of the run, so it must be in sys.path, but
# at the end: `python -m` and Snakemake put it first, where a user's statistics.py would hide the
# standard module.
_HERE = str(Path.cwd())
sys.path[:] = [*(folder for folder in sys.path if folder != _HERE), _HERE]
