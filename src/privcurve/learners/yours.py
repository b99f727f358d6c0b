"""The package under which a user's own learners are imported.

A fixed name lets another process unpickle such a learner.
"""

from pathlib import Path

from privcurve.papers import FOLDER, OWN

__path__ = [str(Path(path).resolve()) for path in ("learners", OWN, FOLDER)]
