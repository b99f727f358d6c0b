"""The package of your own learners, under which another process finds them too, as pickles need."""

from pathlib import Path

__path__ = [str(Path("learners").resolve())]
