"""List the outputs that a study can be asked for: ``python -m privcurve.outputs``."""

from __future__ import annotations

from privcurve.outputs.base import REQUIRED
from privcurve.outputs.registry import OUTPUTS


def main() -> None:
    """Print each output with its options."""
    for word, output in OUTPUTS.items():
        print(f"{word}: {(output.__doc__ or '').splitlines()[0]}")
        for name, option in output.options.items():
            default = "needed" if option.default is REQUIRED else f"default {option.default}"
            print(f"    {name}: {option.meaning} ({default})")


if __name__ == "__main__":
    main()
