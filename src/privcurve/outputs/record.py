"""Records of what files with names for people were made for: a small file for each output.

Snakemake's own record is lost with ``.snakemake``, and knows only the command of the code that
makes an output. So a record here has the version of that code, its options, what it read, and the
checksums of the files that it wrote.
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
    seen: Any = None,
) -> str:
    """Return a digest of all that an output is made for: the output is made again if it changes.

    `others` and `audits` are the digests of other outputs and of audits that it reads, `contracts`
    those of the contracts of the study's own learners, `seen` is what it knows of
    other studies beside files, as plain JSON.
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
    """The small file at `path` that says what some files were made for, and of which data.

    For the datasets in `raw` a changed raw file counts, even if its codes are the same.
    `study` is the study whose output they are, if any; `inputs` are tables that were read for it;
    `notes` are on runs that were trained by code which has changed since; the files have them.
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
        """Record that the files, as they are now, were made for a digest.

        The digest is of all that they depend on, except the data. They are not `complete` if a
        training that they are made from has failed and will be tried again. `code` are checksums of
        the learners that were trained for them alone (:mod:`privcurve.experiments.provenance`).
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
        """Return whether the files are there, unchanged, and made for the wanted digest."""
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
        """Which code has trained the models that were trained for the files alone."""
        code = _read(self.path).get("code", {})
        return {str(learners): {str(of_one): 1} for learners, of_one in code.items()}


def _fits(dataset: str, fact: str, made_of: Mapping[str, Any]) -> bool:
    """Return whether a coded dataset is what files were made of, or not known."""
    return coded_facts(dataset).get(fact) in (None, made_of.get(dataset))


def study_and_files(path: Path) -> tuple[str | None, list[Path]]:
    """Return the study and the files that a record is of; none if it can't be read."""
    made = _read(path)
    return made.get("study"), [*map(Path, made.get("files", {}))]


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def output_record(context: Context) -> Record:
    """Return the record of an output."""
    request, reads = context.request, context.request.reads
    datasets = sorted({*reads.data, *(dataset for dataset, _ in reads.curves)})
    path = MADE / f"{request.target}.json"
    study = request.study.name
    return Record(
        *(path, request.files.all, datasets, reads.raw, study, context.inputs, context.code_notes)
    )


def audit_record(learner: str, dataset: str) -> Record:
    """Return the record of the audit of a learner; its canaries are put into a dataset."""
    return Record(MADE / f"audit~{learner}.json", [AUDITS / f"{learner}.csv"], [dataset])


def auditor_digest(learner: str) -> str:
    """Return a digest of the auditor and a learner, without the data."""
    files = files_of(own.path_of(learner)) if learner in own.names() else []
    sums = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    code = code_digest(Path(audit.__file__).parent)
    entry = registry.entry(learner)
    of_classes = [f"of classes {entry.class_version}"] if entry.class_version > 1 else []
    return " ".join([str(entry.run_version), *of_classes, code, *sums])


def audit_digest(learner: str, dataset: str, seed: Seed) -> str:
    """Return a digest of all that an audit depends on, except the data."""
    return canonical.digest([auditor_digest(learner), seeds.public_name(seed), dataset])


def audited_code(learner: str) -> Trained:
    """Return which code of a learner was audited, on whatever dataset; empty if none was."""
    return audit_record(learner, "").trained


def _hash_files(paths: Sequence[Path]) -> dict[str, str | None]:
    return {str(path): _hash_file(path) for path in paths}


def _hash_file(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
