"""Where the plain programs are, and a working folder for each mutation."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "reference"))
