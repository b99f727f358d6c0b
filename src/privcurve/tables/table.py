"""A table of a paper: one frame, written as CSV, Markdown and LaTeX.

Tables contain no times, so that two runs of a study write the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from privcurve.files import replace_text
from privcurve.lazy import pd
from privcurve.stored import METHOD, OLD_METHOD, spoken_frame, stored_frame

# Floats in these columns are written in their shortest form, other floats with six decimals.
SHORT = ("epsilon", "delta", "delta_used")

MISSING = "–"


@dataclass(frozen=True)
class Table:
    """A table with its numbers, texts for readers, a caption and notes."""

    frame: pd.DataFrame  # written to the CSV in full
    caption: str
    notes: Sequence[str]  # below the table in Markdown and LaTeX
    shown: pd.DataFrame | None = None  # the texts in Markdown and LaTeX; by default from `frame`

    def write(self, stem: Path) -> None:
        """Write CSV, Markdown and LaTeX (booktabs, longtable), each atomically."""
        texts = text_frame(self.frame) if self.shown is None else self.shown
        csv = stored_frame(format_values(self.frame)).to_csv(index=False)
        replace_text(stem.with_name(stem.name + ".csv"), csv)
        replace_text(stem.with_name(stem.name + ".md"), _markdown(texts, self.caption, self.notes))
        replace_text(
            stem.with_name(stem.name + ".tex"), _latex(texts, self.caption, stem.name, self.notes)
        )


def read_table(*paths: Path | TextIO) -> pd.DataFrame:
    """Read tables that this project wrote as CSV, and concatenate them.

    Names are read as texts: a dataset may be called 2024 or NA.
    """
    names = dict.fromkeys(("dataset", METHOD, OLD_METHOD, "learner", "setting"), "str")
    frames = [
        pd.read_csv(path, dtype=names, keep_default_na=False, na_values=[""]) for path in paths
    ]
    return spoken_frame(pd.concat(frames, ignore_index=True))


def format_values(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame of texts with the canonical form of each value, and None for missing values.

    ε, δ and floats in columns of several types (hyperparameters) have their shortest form, other
    floats six decimals.
    """
    columns = {}
    for name, values in frame.items():
        short = name in SHORT or not pd.api.types.is_float_dtype(values)
        texts = [_format(value, ".12g" if short else ".6f") for value in values]
        columns[name] = pd.Series(texts, dtype=object)
    return pd.DataFrame(columns)


def text_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame as texts for readers: names without underscores, – for a missing value."""
    texts = format_values(frame).map(lambda text: MISSING if text is None else text)
    names = {"epsilon": "ε", "delta": "δ"}
    return texts.rename(columns=lambda name: names.get(name, str(name).replace("_", " ")))


def format_means(means: pd.Series, stds: pd.Series) -> list[str]:
    """Return means with four decimals as texts, each with its standard deviation if it is known."""
    return [
        MISSING if pd.isna(mean) else f"{mean:.4f}" + ("" if pd.isna(std) else f" ± {std:.4f}")
        for mean, std in zip(means, stds, strict=True)
    ]


def format_decimals(values: pd.Series, digits: int) -> list[str]:
    """Return numbers with `digits` decimals as texts, with – for a missing number."""
    return [MISSING if pd.isna(value) else f"{value:.{digits}f}" for value in values]


def format_counts(parts: pd.Series, wholes: pd.Series) -> list[str]:
    """Return texts such as ``3 of 5``, from counts and totals."""
    return [f"{n} of {m}" for n, m in zip(parts, wholes, strict=True)]


def _format(value: object, form: str) -> str | None:
    # pd.isna would fail here: a hyperparameter may be a list.
    if value is None or value is pd.NA or value != value:
        return None
    return format(value, form) if isinstance(value, float) else str(value)


def _markdown(shown: pd.DataFrame, caption: str, notes: Sequence[str]) -> str:
    from tabulate import tabulate

    rows = [[cell.replace("|", r"\|").replace("\n", " ") for cell in row] for row in _cells(shown)]
    table = tabulate(rows, headers=list(shown.columns), tablefmt="pipe", disable_numparse=True)
    return "\n".join([f"# {caption}", "", table, "", *(f"- {note}" for note in notes), ""])


_LATEX = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    '"': r"\textquotedbl{}",
    "ε": r"$\varepsilon$",
    "δ": r"$\delta$",
    "±": r"$\pm$",
    "–": "--",
    "…": r"\ldots{}",
    "∞": r"$\infty$",
    "\n": " ",
}


def _escape(text: str) -> str:
    escaped = "".join(_LATEX.get(sign, sign) for sign in text)
    return re.sub(r"\*\*(.+?)\*\*", r"\\textbf{\1}", escaped)


def _latex(shown: pd.DataFrame, caption: str, label: str, notes: Sequence[str]) -> str:
    header = " & ".join(_escape(str(name)) for name in shown.columns) + r" \\"
    head = [r"\toprule", header, r"\midrule"]
    return "\n".join(
        [
            r"% \usepackage{booktabs,longtable}",
            r"{\footnotesize\setlength{\tabcolsep}{3pt}",
            rf"\begin{{longtable}}{{{'l' * shown.shape[1]}}}",
            rf"\caption{{{_escape(caption)}}}\label{{tab:{label}}}\\",
            *head, r"\endfirsthead", *head, r"\endhead",
            r"\bottomrule",
            r"\endlastfoot",
            *(" & ".join(_escape(cell) for cell in row) + r" \\" for row in _cells(shown)),
            r"\end{longtable}",
            *(rf"\par\noindent {_escape(note)}" for note in notes),
            r"\par}",
            "",
        ]
    )  # fmt: skip


def _cells(shown: pd.DataFrame) -> list[list[str]]:
    return [[str(cell) for cell in row] for row in shown.itertuples(index=False, name=None)]
