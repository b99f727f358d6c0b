"""Make a table of how many claims of each paper hold."""

from __future__ import annotations

from typing import ClassVar

from privcurve.lazy import pd
from privcurve.outputs._verdicts import FAILS, HOLDS, MIXED, NOT_COMPARABLE, UNDECIDED, UNKNOWN
from privcurve.outputs.base import SLASH, Context, Output, OutputRequest, Reads
from privcurve.outputs.claims import Claims
from privcurve.tables.table import Table

KINDS = (HOLDS, FAILS, MIXED, UNDECIDED, NOT_COMPARABLE, UNKNOWN)
OURS = ", our own questions"


class VerdictCounts(Output):
    """Table: the number of each verdict on each paper's claims.

    The table covers the claims about one study or, in a study of studies, about all its studies.
    The key `paper` of a study's file names the paper.
    """

    word: ClassVar[str] = "verdict_counts"
    version: ClassVar[int] = 2
    gathers: ClassVar[bool] = True
    selects: ClassVar[bool] = False

    def reads(self, request: OutputRequest) -> Reads:
        others = tuple(f"{study}{SLASH}{Claims.word}" for study in request.study.studies)
        return Reads(outputs=others or (Claims.word,))

    def make(self, context: Context) -> None:
        studies = {word: one.study for word, one in context.others.items()}
        tables = [
            context.table_of(word).assign(paper=of.paper or of.name, study=of.name)
            for word, of in studies.items()
        ]
        context.write(Table(counts(pd.concat(tables, ignore_index=True)), CAPTION, NOTES))


CAPTION = "Verdicts on what the papers claim"
NOTES = (
    (
        "A claim about each dataset or method has a verdict for each; 'claims' counts it once. "
        "Our own questions, which no paper asks, are counted separately."
    ),
    "What each verdict means: docs/claims.md.",
)


def counts(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Count the verdicts on each paper's claims, on all papers' claims, and on our own questions.

    Our own questions are rows of `verdicts` without a quote: no paper makes such a claim.
    """
    ours = verdicts["quote"].isna()
    parts = [
        *verdicts[~ours].groupby("paper", sort=False),
        ("all papers", verdicts[~ours]),
        *verdicts[ours].groupby(verdicts["paper"] + OURS, sort=False),
    ]
    rows = []
    for paper, part in parts:
        numbers = part["verdict"].value_counts()
        claims = part.drop_duplicates(["paper", "study", "source", "quote", "claim"])
        of_kind = {kind: int(numbers.get(kind, 0)) for kind in KINDS}
        rows.append({"paper": paper, "claims": len(claims), "verdicts": len(part), **of_kind})
    return pd.DataFrame(rows)
