"""Record what outputs were made from, in a small JSON file for each output.

The records decide whether an output must be made again. Snakemake's own records do not suffice:
they are lost with the folder ``.snakemake``, and do not notice a change of code that leaves the
command of a job as it was. A record here covers the version of the output's class, its options and
inputs, and the checksums of the files that were written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from privcurve import audit
from privcurve.experiments import canonical
from privcurve.experiments.curves import Curve, coded_facts
from privcurve.experiments.provenance import Trained
from privcurve.files import replace_text
from privcurve.learners import own, registry
from privcurve.outputs.base import AUDITS, MADE, Context, OutputRequest
from privcurve.own import files_of
from privcurve.privacy import seeds
from privcurve.privacy.seeds import Seed
from privcurve.sources import code_digest


def digest(
    request: OutputRequest,
    curves: Sequence[Curve],
    others: Mapping[str, str],
    audits: Mapping[str, str],
    contracts: Mapping[str, str],
    seed: Seed,
    seen: object = None,
) -> str:
    """Return a digest of all that determines an output: if it changes, the output is made again.

    `others` and `audits` are the digests of the outputs and audits that the output reads,
    `contracts` the digests of the contract checks of a user's own learners in the study. `seen` is
    the result of :meth:`.Output.facts`: facts from other studies that the output reads, as plain
    JSON. The digest does not cover the data; :class:`Record` compares their checksums.
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
            "resources": [[str(path), _hash_file(path)] for path in reads.resources],
            "seed": seeds.public_name(seed),
            **({"contracts": dict(contracts)} if contracts else {}),
            **({} if seen is None else {"seen": seen}),
        }
    )


class Record(NamedTuple):
    """A record of what `files` were made from; the record is stored in the file `path`.

    `datasets` are the datasets whose encoded data the files depend on. `raw` are the datasets on
    whose raw files the files depend directly, even if the encoded data stay the same. `study` is
    the study of the output; None for an audit. `inputs` are other files that were read. `notes` are
    warnings in the files about runs whose code has changed since they were trained.
    """

    path: Path
    files: Sequence[Path]
    datasets: Sequence[str]
    raw: Sequence[str] = ()
    study: str | None = None
    inputs: Sequence[Path] = ()
    notes: Sequence[str] = ()

    def write(
        self, made_for: str, *, complete: bool = True, code: Mapping[str, str] | None = None
    ) -> None:
        """Write the record of the files in their present state.

        `made_for` is the digest of all that determines the files, except the data. `complete` is
        False if a training failed; the files are then made again next time. `code` has the code's
        checksums by learner, for learners that were trained only for these files
        (:mod:`.experiments.provenance`).
        """
        content: dict[str, Any] = {
            "study": self.study,
            "digest": made_for,
            "complete": complete,
            "data": {name: coded_facts(name).get("checksum") for name in self.datasets},
            "raw": {name: coded_facts(name).get("sources") for name in self.raw},
            "files": _hash_files(self.files),
            "inputs": _hash_files(self.inputs),
            "notes": list(self.notes),
            "code": dict(code or {}),
        }
        replace_text(self.path, json.dumps(content, indent=1) + "\n")

    def is_current(self, wanted: str) -> bool:
        """Return whether the files are unchanged and were made for the digest `wanted`.

        The result is also False if a training failed, or if the data or the inputs have changed.
        """
        made = _read(self.path)
        data, sources = made.get("data", {}), made.get("raw", {})
        return (
            made.get("digest") == wanted
            and made.get("complete", True)
            and made.get("files") == _hash_files(self.files)
            and made.get("inputs", {}) == _hash_files(self.inputs)
            and made.get("notes", []) == list(self.notes)
            and all(_fits(name, "checksum", data) for name in self.datasets)
            and all(_fits(name, "sources", sources) for name in self.raw)
        )

    @property
    def trained(self) -> Trained:
        """Learners, and checksums of their code, that were trained only for these files."""
        code = _read(self.path).get("code", {})
        return {str(learners): {str(of_one): 1} for learners, of_one in code.items()}


def _fits(dataset: str, fact: str, made_of: Mapping[str, object]) -> bool:
    """Return whether an entry of a dataset's metadata is the same as when files were made from it.

    `fact` is the key of the entry in the metadata of encoded datasets. `made_of` has, for each
    dataset, the value of the entry when the files were made. The result is also True if the
    metadata do not have the key now.
    """
    return coded_facts(dataset).get(fact) in (None, made_of.get(dataset))


def study_and_files(path: Path) -> tuple[str | None, list[Path]]:
    """Return the study and the files in the record at `path`; (None, []) if it is unreadable."""
    made = _read(path)
    return made.get("study"), [*map(Path, made.get("files", {}))]


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def output_record(context: Context) -> Record:
    """Return the record to write for an output, with the present files and inputs."""
    request, reads = context.request, context.request.reads
    datasets = sorted({*reads.data, *(dataset for dataset, _ in reads.curves)})
    path = MADE / f"{request.target}.json"
    study = request.study.name
    return Record(
        path, request.files.all, datasets, reads.raw, study, context.inputs, context.code_notes
    )


def audit_record(learner: str, dataset: str) -> Record:
    """Return the record of a learner's audit, which inserts canaries into `dataset`."""
    return Record(MADE / f"audit~{learner}.json", [AUDITS / f"{learner}.csv"], [dataset])


def auditor_digest(learner: str) -> str:
    """Return a text that changes with the audit's code and with the learner's version.

    For a user's own learner, the text also changes with the learner's files.
    """
    files = files_of(own.path_of(learner)) if learner in own.names() else []
    sums = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    code = code_digest(Path(audit.__file__).parent)
    entry = registry.entry(learner)
    of_classes = [f"of classes {entry.class_version}"] if entry.class_version > 1 else []
    return " ".join([str(entry.run_version), *of_classes, code, *sums])


def audit_digest(learner: str, dataset: str, seed: Seed) -> str:
    """Return a digest of all that determines an audit, except the data."""
    return canonical.digest([auditor_digest(learner), seeds.public_name(seed), dataset])


def audited_code(learner: str) -> Trained:
    """Return the checksum of the learner's code at its last audit; empty without an audit."""
    return audit_record(learner, "").trained


def _hash_files(paths: Sequence[Path]) -> dict[str, str | None]:
    return {str(path): _hash_file(path) for path in paths}


def _hash_file(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
