"""Write the package's file of weights from a state of the training.

    python decoder/export.py STATE [--output FILE]

The file contains the average of the weights over the last steps, in half precision. With --output
the program only writes this file. Otherwise it replaces the package's file, and writes the new
SHA-256 into the registry's entry of PrivGAM. As ids of runs contain the SHA-256, golden files must
then be rewritten, and stored runs of PrivGAM are trained again.
"""

from __future__ import annotations

import argparse
import pickle
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from privcurve.kernels.decoder import Stage
from privcurve.learners import entries
from privcurve.learners.additive import decoder

REGISTRY = Path(entries.__file__).with_name("private.py")
# Names of the layers of a block, in the kernel's order: SQUARE layers have as many inputs as
# outputs, COLUMN layers read the features of columns.
SQUARE = ("c", "l", "r", "l4", "r4", "m", "m2", "o")
COLUMN = ("q", "k", "v", "u")
# Maximum size of the file: it is a part of the package, which should stay small.
MOST_BYTES = 10**6


def main() -> None:
    """Export the weights of the state that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("state", type=Path)
    parser.add_argument("--output", type=Path, help="another file than the package's")
    options = parser.parse_args()
    with options.state.open("rb") as stream:
        _, average, _, n_steps = pickle.load(stream)
    file = options.output or decoder.FILE
    checksum = write(network_of(average), file)
    if options.output is None:
        register(checksum, REGISTRY)
    print(f"{file}: {n_steps} steps, SHA-256 {checksum}")


def network_of(parameters: Mapping[str, Any]) -> decoder.Network:
    """Convert weights of the form that `network.init` returns to the library's class."""
    return decoder.Network(
        tuple(map(_stage_of, parameters["rounds"])),
        *(np.asarray(parameters[name]) for name in ("shares", "totals")),
    )


def _stage_of(layers: Mapping[str, Any]) -> Stage:
    def of_blocks(names: tuple[str, ...], part: str) -> np.ndarray:
        return np.array([[block[name][part] for name in names] for block in layers["blocks"]])

    alone = [layers[name][part] for name in ("in", "g", "out", "int") for part in "wb"]
    first, first_bias, common, common_bias, *ends = map(np.asarray, alone)
    return Stage(
        *(first, first_bias, common, common_bias),
        *(of_blocks(SQUARE, "w"), of_blocks(SQUARE, "b")),
        *(of_blocks(COLUMN, "w"), of_blocks(COLUMN, "b")),
        *ends,
    )


def write(network: decoder.Network, path: Path) -> str:
    """Write a file of weights, and return its SHA-256.

    Raises ValueError if it is too large for the package, or a weight is not finite.
    """
    arrays = {name: array.astype(np.float16) for name, array in decoder.pack(network).items()}
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise ValueError("weights must be finite numbers of half precision: train again")
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]
    content = path.read_bytes()
    if len(content) > MOST_BYTES:
        raise ValueError(f"{path} must have at most {MOST_BYTES:,} bytes; got {len(content):,}")
    return sha256(content).hexdigest()


def register(checksum: str, registry: Path) -> None:
    """Write the checksum of the weights into the registry."""
    text, stated = registry.read_text(encoding="utf-8"), decoder.entry("privgam").weights
    registry.write_text(text.replace(stated, checksum), encoding="utf-8")


if __name__ == "__main__":
    main()
