"""The package of your own learners, under which another process finds them too, as pickles need."""

from pathlib import Path

from privcurve.papers import FOLDER, OWN

__path__ = [str(Path(path).resolve()) for path in ("learners", OWN, FOLDER)]
