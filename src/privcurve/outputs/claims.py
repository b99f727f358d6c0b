"""What a paper claims, and whether our tables bear it out."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from privcurve import schema
from privcurve.analysis.names import RUNS
from privcurve.outputs.base import OF, Asked, Files, Output, Reads
from privcurve.outputs.context import Context
from privcurve.outputs.options import PAPER

SCHEMA = Path(__file__).with_name("claims.schema.yaml")


class Claims(Output):
    """Table: each claim of ``resources/printed/<paper>/claims.yaml`` about the study.

    Of a study of studies: the claims of all of them, in the order of their names.
    """

    word: ClassVar[str] = "claims"
    gathers: ClassVar[bool] = True
    selects: ClassVar[bool] = False
    options: ClassVar = {"paper": PAPER}

    def check(self, asked: Asked) -> None:  # noqa: D102
        if asked.study.studies:
            if asked.options["paper"]:
                raise ValueError("paper: these are the claims of the studies: leave it out")
            return
        path = _path(asked)
        if not path.is_file():
            raise ValueError(f"there is no {path}, where the claims of the paper stand")
        missing = [str(path) for path in _printed(asked).values() if not path.is_file()]
        if missing:
            raise ValueError(f"there is no {missing[0]}, whose numbers {path} takes off")
        if not _claims(asked):
            raise ValueError(f"{path} has no claim with study: {asked.study.name}")

    def files(self, asked: Asked) -> Files:  # noqa: D102
        return Files(tables=(asked.table,))

    def reads(self, asked: Asked) -> Reads:  # noqa: D102
        if asked.study.studies:
            return Reads(outputs=tuple(f"{one}{OF}{self.word}" for one in asked.study.studies))
        words = dict.fromkeys(claim.get("table", "accuracy") for claim in _claims(asked))
        resources = (_path(asked), *_printed(asked).values())
        if RUNS not in words:
            return Reads(outputs=tuple(words), resources=resources)
        del words[RUNS]
        curves = tuple(itertools.product(asked.study.datasets, asked.study.arms))
        return Reads(curves, outputs=tuple(words), resources=resources)

    def make(self, context: Context) -> None:  # noqa: D102
        from privcurve.analysis import claims
        from privcurve.tables.table import Table, read_table

        tables = {word: context.table_of(word) for word in context.others}
        if context.study.studies:
            frame = claims.together(dict(zip(context.study.studies, tables.values(), strict=True)))
            notes = claims.NOTES_TOGETHER
            context.write(Table(frame, claims.CAPTION, notes, claims.shown(frame)))
            return
        notes = claims.NOTES
        if context.curves:
            tables[RUNS] = context.described_runs()
            notes += (claims.PAIRED_NOTE,)
        printed = {name: read_table(path) for name, path in _printed(context.asked).items()}
        frame = claims.verdicts(_claims(context.asked), tables, printed)
        context.write(Table(frame, claims.CAPTION, notes, claims.shown(frame)))


def _path(asked: Asked) -> Path:
    return asked.printed / "claims.yaml"


def _printed(asked: Asked) -> dict[str, Path]:
    """Give the files of printed numbers that the claims name."""
    names = [claim["less_printed"] for claim in _claims(asked) if "less_printed" in claim]
    return {name: _path(asked).with_name(name) for name in dict.fromkeys(names)}


def _claims(asked: Asked) -> list[Mapping[str, Any]]:
    """Read the claims of the paper that are about the study; SchemaError names what is wrong."""
    path = _path(asked)
    claims = _all_claims(path, schema.state(path))
    return [claim for claim in claims if claim["study"] == asked.study.name]


@lru_cache(maxsize=16)
def _all_claims(path: Path, changed: tuple[int, ...]) -> tuple[Mapping[str, Any], ...]:
    # Asked for several times by each study of a paper, whenever a DAG is built.
    content = schema.read_yaml(path)
    schema.check(content, SCHEMA, str(path))
    return tuple(content["claims"])
