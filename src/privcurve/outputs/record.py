"""What files with names for people were made for, in a small file of their own.

Snakemake's record of a file is lost with ``.snakemake``, and sees of the code that makes an
output only the command. So each output says itself what it is of: its code's version, its
options, what was read, and the sums of the files that were written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from privcurve.experiments import canonical
from privcurve.experiments.curves import Curve, coded_checksum, raw_checksums
from privcurve.files import replace_text
from privcurve.outputs.base import OutputRequest
from privcurve.privacy import seeds
from privcurve.privacy.seeds import Seed


def digest(
    request: OutputRequest,
    curves: Sequence[Curve],
    others: Mapping[str, str],
    audits: Mapping[str, str],
    seed: Seed,
    seen: Any = None,
) -> str:
    """Return a digest of all that an output is made for: it is made again when it changes.

    That is of the curves that it reads, of the digests of other outputs and audits that it reads,
    of the seed, and of what it has `seen` of other studies beside files, as plain JSON.
    """
    reads = request.reads
    return canonical.digest(
        {
            "output": request.output.word,
            "version": request.output.version,
            "options": dict(request.options),
            "facts": reads.facts,
            "curves": [[str(curve.name), curve.digest] for curve in curves],
            "data": reads.data,
            "outputs": dict(others),
            "audits": dict(audits),
            "resources": [[str(path), _sum(path)] for path in reads.resources],
            "seed": seeds.public_name(seed),
            **({} if seen is None else {"seen": seen}),
        }
    )


def write(
    path: Path,
    made_for: str,
    files: Iterable[Path],
    datasets: Iterable[str],
    *,
    raw: Iterable[str] = (),
    complete: bool = True,
) -> None:
    """Say what some files, which stand there now, were made for, and of which data.

    `made_for` is the digest of all that they depend on but the data. Of the datasets in `raw` the
    raw files were read too: another file with the same codes counts. Not `complete`: a training
    that they are made from has failed, and will be tried again.
    """
    content: dict[str, Any] = {
        "digest": made_for,
        "complete": complete,
        "data": {name: coded_checksum(name) for name in datasets},
        "raw": {name: raw_checksums(name) for name in raw},
        "files": {str(file): _sum(file) for file in files},
    }
    replace_text(path, json.dumps(content, indent=1) + "\n")


def is_current(
    path: Path,
    wanted: str,
    files: Iterable[Path],
    datasets: Iterable[str],
    *,
    raw: Iterable[str] = (),
) -> bool:
    """Return whether files are there, as made, and for what is wanted now (:func:`write`)."""
    try:
        made: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return False
    data, sources = made.get("data", {}), made.get("raw", {})
    return (
        made.get("digest") == wanted
        and made.get("complete", True)
        and made.get("files") == {str(file): _sum(file) for file in files}
        and all(coded_checksum(name) in (None, data.get(name)) for name in datasets)
        and all(raw_checksums(name) in (None, sources.get(name)) for name in raw)
    )


def datasets_of(request: OutputRequest) -> list[str]:
    """Return the datasets that an output is made from."""
    reads = request.reads
    return sorted({*reads.data, *(dataset for dataset, _ in reads.curves)})


def _sum(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
