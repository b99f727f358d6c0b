"""What the files of an output were made for, in a small file of their own.

Snakemake's record of a file is lost with ``.snakemake``, and sees of the code that makes an
output only the command. So each output says itself what it is of: its code's version, its
options, what was read, and the sums of the files that were written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from privcurve.experiments import canonical
from privcurve.experiments.jobs import Curve, coded_checksum, raw_checksums
from privcurve.files import replace_text
from privcurve.outputs.base import Asked
from privcurve.privacy import seeds
from privcurve.privacy.seeds import Seed


def digest(
    asked: Asked,
    curves: Sequence[Curve],
    others: Mapping[str, str],
    audits: Mapping[str, str],
    seed: Seed,
    seen: Any = None,
) -> str:
    """Return a digest of all that an output is made for: it is made again when it changes.

    Parameters
    ----------
    asked : Asked
    curves : sequence of Curve
        That it reads.
    others, audits : mapping of str to str
        Digests of the outputs and audits that it reads.
    seed : Seed
    seen : object
        What it takes from other studies beside files, as plain JSON.
    """
    reads = asked.reads
    return canonical.digest(
        {
            "output": asked.output.word,
            "version": asked.output.version,
            "options": dict(asked.options),
            "facts": reads.facts,
            "curves": [[str(curve.name), curve.refit_digest] for curve in curves],
            "data": reads.data,
            "outputs": dict(others),
            "audits": dict(audits),
            "resources": [[str(path), _sum(path)] for path in reads.resources],
            "seed": seeds.named(seed),
            **({} if seen is None else {"seen": seen}),
        }
    )


def write(asked: Asked, made_for: str) -> None:
    """Say what the files of an output, which stand there now, were made for."""
    content: dict[str, Any] = {
        "digest": made_for,
        "data": {name: coded_checksum(name) for name in _datasets(asked)},
        "raw": _raw_files(asked),
        "files": {str(path): _sum(path) for path in asked.files.all},
    }
    replace_text(asked.record, json.dumps(content, indent=1) + "\n")


def is_current(asked: Asked, wanted: str) -> bool:
    """Return whether the files of an output are there, as made, and for what is wanted now."""
    try:
        made: dict[str, Any] = json.loads(asked.record.read_text())
    except (OSError, ValueError):
        return False
    data, raw = made.get("data", {}), made.get("raw", {})
    return (
        made.get("digest") == wanted
        and made.get("files") == {str(path): _sum(path) for path in asked.files.all}
        and all(coded_checksum(name) in (None, data.get(name)) for name in _datasets(asked))
        and all(sums in (None, raw.get(name)) for name, sums in _raw_files(asked).items())
    )


def _raw_files(asked: Asked) -> dict[str, Mapping[str, str] | None]:
    return {name: raw_checksums(name) for name in asked.reads.raw}


def _datasets(asked: Asked) -> list[str]:
    reads = asked.reads
    return sorted({*reads.data, *(dataset for dataset, _ in reads.curves)})


def _sum(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
