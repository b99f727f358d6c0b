"""From configuration to jobs: what is asked for (:mod:`.plan`), and what rules do."""

import sys
from pathlib import Path

# Last, for what one's own files import: `python -m` and Snakemake put the folder of the run first,
# where a user's statistics.py would take the place of Python's.
_HERE = str(Path.cwd())
sys.path[:] = [*(folder for folder in sys.path if folder != _HERE), _HERE]
