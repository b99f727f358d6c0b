"""Make the table of a paper's claims, with a verdict on each: whether our results confirm it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from privcurve import own, schema
from privcurve.experiments.study import Study, StudyError
from privcurve.lazy import pd
from privcurve.outputs._verdicts import (
    RUNS,
    STANDARD_ERROR,
    Computed,
    check,
    check_columns,
    check_printed,
    check_runs,
    verdict_columns,
    verdicts,
)
from privcurve.outputs.accuracy import Accuracy, table_columns
from privcurve.outputs.base import (
    NAME_KEY,
    SLASH,
    Context,
    Output,
    OutputRequest,
    Reads,
    check_name,
)
from privcurve.tables.table import MISSING, Table, format_counts, format_decimals, read_table

# File in a paper's folder with the functions that claims name under `compute`.
FUNCTIONS = "_claims.py"
SCHEMA = Path(__file__).with_name("claims.schema.yaml")


class Claims(Output):
    """Table: the verdict on each claim of ``papers/<paper>/claims.yaml`` about the study.

    If the study combines other studies, the table has the claims about all of these studies, sorted
    by the claims' names.
    """

    word: ClassVar[str] = "claims"
    version: ClassVar[int] = 6
    gathers: ClassVar[bool] = True
    selects: ClassVar[bool] = False

    def check(self, request: OutputRequest) -> None:
        if request.study.studies:
            return
        path = _path(request)
        if not path.is_file():
            raise ValueError(f"the claims of the paper must be in {path}, which does not exist")
        printed, claims = _printed_files(request), _claims(request)
        functions = _functions(request)
        missing = [str(path) for path in printed.values() if not path.is_file()]
        if missing:
            raise ValueError(f"{missing[0]} does not exist, but {path} subtracts its numbers")
        if not claims:
            raise ValueError(
                f"{path} must have a claim with study: {request.study.name}; it has none"
            )
        has_runs = any(claim.get("table") == RUNS for claim in claims)
        places = list(request.places(request.study.methods.values())) if has_runs else []
        words = {str(options.get(NAME_KEY)): word for word, options in request.study.outputs}
        for claim in claims:
            check(claim)
            if "compute" in claim:
                where = request.paper / FUNCTIONS
                check_name(f"claim {claim['name']}: {where} has no", claim["compute"], functions)
            table = claim.get("table", Accuracy.word)
            if words.get(table, table) == Accuracy.word:
                check_columns(claim, [*table_columns(request.study.metric), "kind"])
            if table == RUNS:
                check_runs(claim, places)
            if "less_printed" in claim:
                check_printed(claim, printed[claim["less_printed"]])

    def unasked(self, study: Study) -> str | None:
        request = OutputRequest(self, study, {})
        path = _path(request)
        claims = _claims(request) if path.is_file() else []
        about = f"no study judges the {len(claims)} claims of {path} about the study"
        return f"without {self.word} {about}" if claims else None

    def studies_named(self, request: OutputRequest) -> Iterable[str]:
        if request.study.studies:
            return ()
        # The workflow looks up these names in its plan. Studies in the paper's folder are left out:
        # they exist, but the plan may lack them. It lacks shipped studies if the configuration
        # names a user's own folder of studies.
        of_paper = {path.stem for path in request.paper.glob(f"studies/*{schema.ENDING}")}
        return [c["study"] for c in _claims_of_paper(request) if c["study"] not in of_paper]

    def reads(self, request: OutputRequest) -> Reads:
        if request.study.studies:
            words = [f"{study}{SLASH}{self.word}" for study in request.study.studies]
            return Reads(outputs=tuple(words))
        words = list(dict.fromkeys(claim.get("table", "accuracy") for claim in _claims(request)))
        curves = request.curves_of(request.study.methods.values()) if RUNS in words else ()
        computed = [request.paper / FUNCTIONS] if _functions(request) else []
        resources = (_path(request), *computed, *_printed_files(request).values())
        tables = tuple(word for word in words if word != RUNS)
        return Reads(curves, outputs=tables, resources=resources)

    def make(self, context: Context) -> None:
        tables = {word: context.table_of(word) for word in context.others}
        if context.study.studies:
            frame = gather_verdicts(dict(zip(context.study.studies, tables.values(), strict=True)))
        else:
            if context.curves:
                tables[RUNS] = context.described_runs()
            printed = {
                name: read_table(path) for name, path in _printed_files(context.request).items()
            }
            try:
                functions = _functions(context.request)
                frame = verdicts(_claims(context.request), tables, printed, functions)
            except ValueError as error:
                raise StudyError(f"{_path(context.request)}: {error}") from None
        context.write(Table(frame, CAPTION, NOTES, format_table(frame)))


def _path(request: OutputRequest) -> Path:
    return request.paper / "claims.yaml"


def _printed_files(request: OutputRequest) -> dict[str, Path]:
    """Return the paths of the files of printed numbers, by the names that claims use."""
    names = [claim["less_printed"] for claim in _claims(request) if "less_printed" in claim]
    return {name: _path(request).with_name("printed") / name for name in dict.fromkeys(names)}


def _functions(request: OutputRequest) -> dict[str, Computed]:
    """Return the functions in the paper's file `FUNCTIONS`, by name."""
    path = request.paper / FUNCTIONS
    if not path.is_file():
        return {}
    names = vars(own.module(path.resolve(), f"privcurve_claims_{path.parent.name}"))
    return {name: one for name, one in names.items() if isinstance(one, Computed)}


def _claims(request: OutputRequest) -> list[Mapping[str, Any]]:
    """Return the paper's claims about the study of the request."""
    return [c for c in _claims_of_paper(request) if c["study"] == request.study.name]


def _claims_of_paper(request: OutputRequest) -> tuple[Mapping[str, Any], ...]:
    """Read all claims of the paper; raise SchemaError, naming the fault, if the file is invalid."""
    path = _path(request)
    return _all_claims(path, schema.file_state(path))


@lru_cache(maxsize=16)
def _all_claims(path: Path, changed: tuple[int, ...]) -> tuple[Mapping[str, Any], ...]:
    # The cache serves the workflow: to build the DAG, it needs these claims for each study of a
    # paper.
    content = schema.read_yaml(path)
    schema.check(content, SCHEMA, str(path))
    return tuple(content["claims"])


STUDY = "study"

CAPTION = "What the paper claims, by our results"
NOTES: tuple[str, ...] = (
    (
        "A claim is in the paper's own words. Its criterion follows from them, and was written "
        "before the results were known, except where 'changed' says otherwise. Our own "
        "questions are marked."
    ),
    (
        "± and 'beyond' are computed from single runs: paired standard errors by leaving out "
        "each split in turn, since all curves have the same splits. A place is beyond if it is "
        "more than two standard errors inside the criterion (for) or outside (against), by "
        "Student's t with Holm's correction for all places of the claim."
    ),
    (
        "'holds': no place is against, and all are for, or else their mean is (if the claim "
        "says every, all must pass too); 'fails': a place is against, and none is for or the "
        "claim says every; 'mixed': some places are for, others against; 'not decided': within "
        "two standard errors. The standard error of a share of places is over datasets. Values "
        "without standard errors (–) are compared without them."
    ),
    (
        "'not comparable': the paper's reference was not built; 'not computed': rows or values "
        "are missing."
    ),
    (
        "Ours: mean, minimum and maximum of the compared values, each a score or a difference "
        "of two."
    ),
)


def gather_verdicts(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the verdicts of several studies in one table, sorted by claim (C2 before C10)."""
    frame = pd.concat([table.assign(study=study) for study, table in tables.items()])
    order = sorted(range(len(frame)), key=lambda i: _natural_key(str(frame["name"].iloc[i])))
    columns = [*verdict_columns(STANDARD_ERROR in frame), STUDY]
    return frame[columns].iloc[order].reset_index(drop=True)


def _natural_key(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key for names that orders numbers in them by value."""
    parts = re.split(r"(\d+)", name)
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]


def format_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table of verdicts with texts for readers."""

    def write_column(column: str) -> list[str]:
        return [text if isinstance(text, str) else MISSING for text in frame[column]]

    errors = frame.get(STANDARD_ERROR, pd.Series(math.nan, frame.index))
    numbers = (frame["mean"], errors, frame["least"], frame["largest"])
    ours = [
        middle
        + ("" if error == MISSING else f" ± {error}")
        + ("" if n <= 1 else f" ({least} to {largest})")
        for n, middle, error, least, largest in zip(
            frame["n_places"], *(format_decimals(column, 3) for column in numbers), strict=True
        )
    ]
    quotes = [f"“{text}”" if isinstance(text, str) else "(ours)" for text in frame["quote"]]
    texts = pd.DataFrame({"": frame["name"], "quote": quotes, "source": frame["source"]})
    texts["printed"], texts["asked"] = write_column("printed"), frame["claim"]
    texts["criterion"], texts["ours"] = frame["criterion"], ours
    texts["places"] = format_counts(frame["n_pass"], frame["n_places"])
    texts["beyond"] = [
        MISSING if pd.isna(n) else f"{n:.0f} for, {m:.0f} against"
        for n, m in zip(frame["n_for"], frame["n_against"], strict=True)
    ]
    texts["verdict"] = [
        f"{verdict}: {why}" if isinstance(why, str) else verdict
        for verdict, why in zip(frame["verdict"], frame["why"], strict=True)
    ]
    texts["changed"] = write_column("changed")
    return texts.join(frame[[name for name in (STUDY,) if name in frame]])
