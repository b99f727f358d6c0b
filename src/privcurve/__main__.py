"""``python -m privcurve`` is the command ``privcurve``."""

import sys

from privcurve.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
