"""List the outputs that a study can request: ``python -m privcurve.outputs``."""

from __future__ import annotations

import sys

from privcurve.errors import DONE, end_with_reader
from privcurve.outputs.base import REQUIRED
from privcurve.outputs.registry import OUTPUTS


@end_with_reader
def main() -> int:
    """Print the name of each output with its first line of description and its options."""
    for word, output in OUTPUTS.items():
        print(f"{word}: {(output.__doc__ or '').splitlines()[0]}")
        for name, option in output.options.items():
            default = "needed" if option.default is REQUIRED else f"default {option.default}"
            print(f"    {name}: {option.meaning} ({default})")
    return DONE


if __name__ == "__main__":
    sys.exit(main())
