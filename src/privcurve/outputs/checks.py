"""Check each private method of a study: test its contract, and measure a lower bound on its ε."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from privcurve.files import replace_file
from privcurve.lazy import pd
from privcurve.outputs.base import Context, Files, Output, OutputRequest, Reads
from privcurve.outputs.error_table import private_methods
from privcurve.outputs.runs import FOLDER
from privcurve.tables.table import MISSING

FILE = "checks"

# Columns of the file, which has a row per method. `measured` is a lower bound on the ε of fits that
# claim `epsilon`, with confidence `level`. If `measured` is missing, `reason` says why.
COLUMNS = [
    "method", "learner", "version", "contract", "epsilon", "delta", "neighbours", "measured",
    "level", "fits", "right", "guessed", "coins", "table", "reason",
]  # fmt: skip
NOT_MEASURED = "not measured"
NOTE = (
    "Contract: whether pairs of tables show that the learner keeps it; fits of other libraries are "
    "not tried. Measured ε: a lower bound with 95 % confidence for fits that claim ε = 1, from "
    "guesses of the labels or the presence of canaries (Steinke, Nasr and Jagielski 2023): "
    "docs/audit.md."
)


class Checks(Output):
    """File ``checks``: the contract of each method's learner, and a lower bound on its ε, as CSV.

    The bound comes from attacks that guess the labels of canary records or, under add-remove,
    whether a canary record is present (docs/audit.md).
    """

    word: ClassVar[str] = "checks"
    writes: ClassVar = ()
    selects: ClassVar[bool] = False

    def files(self, request: OutputRequest) -> Files:
        return Files(others={FILE: FOLDER / f"{request.study.name}_{FILE}.csv"})

    def reads(self, request: OutputRequest) -> Reads:
        methods = [request.study.methods[name] for name in private_methods(request)]
        facts = [[one.name, one.version, [*map(dict, one.settings)], one.claim] for one in methods]
        return Reads(facts=[facts, [one.contract for one in methods]])

    def make(self, context: Context) -> None:
        from privcurve.audit import measured

        rows = []
        for name in private_methods(context.request):
            method = context.study.methods[name]
            bound = measured.measure(method)
            terms = {"learner": method.learner, "version": method.version}
            terms |= {"contract": measured.contract_of(method), "epsilon": measured.EPSILON}
            terms |= {"delta": method.delta, "neighbours": method.claim}
            how: dict[str, Any] = {"level": 1 - measured.REPORTED_ERROR, "fits": 2 * measured.FITS}
            how |= {"right": bound.guesses.n_right, "guessed": bound.guesses.n_guessed}
            how |= {"coins": bound.guesses.n_coins, "table": bound.table, "reason": bound.reason}
            rows.append({"method": name, **terms, "measured": round(bound.epsilon, 4), **how})
        write(pd.DataFrame(rows, columns=COLUMNS), context.request.files.others[FILE])


def write(frame: pd.DataFrame, path: Path) -> None:
    """Write a table of checks with the columns `COLUMNS` as CSV."""
    replace_file(path, lambda temporary: frame.to_csv(temporary, index=False, lineterminator="\n"))


def read(path: Path) -> pd.DataFrame:
    """Read a file of checks; return a table without rows if the file does not exist."""
    if not path.is_file():
        return pd.DataFrame(columns=COLUMNS)
    return pd.read_csv(path, keep_default_na=False, na_values={"measured": [""]})[COLUMNS]


def beside(runs: Path) -> Path:
    """Return the path of the checks that belong to the file `runs`: a file in the same folder."""
    return runs.with_name(f"{FILE}.csv")


def describe(measured: float) -> str:
    """Write a measured ε as a lower bound, such as ``≥ 0.85``, or a dash if it is NaN."""
    return MISSING if pd.isna(measured) else f"≥ {measured:.2f}"


def short_contract(text: Any) -> str:
    """Return the result of a contract check without the word "contract"; a dash if missing."""
    return MISSING if pd.isna(text) else str(text).removeprefix("contract ")
