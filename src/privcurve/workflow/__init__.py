"""Turn a configuration into jobs (:mod:`.plan`), and define the commands that rules run."""

import sys
from pathlib import Path

# The folder of the run must be in sys.path, as the user's own files may import modules from it.
# `python -m` and Snakemake put the folder first, where a user's statistics.py would hide the
# standard module of this name. The folder is therefore moved to the end.
_HERE = str(Path.cwd())
sys.path[:] = [*(folder for folder in sys.path if folder != _HERE), _HERE]
