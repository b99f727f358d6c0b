"""The error of each learner on each dataset, at each ε; who wins, and how often."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from privcurve.analysis import kinds
from privcurve.analysis.numbers import mean, short
from privcurve.lazy import pd
from privcurve.outputs.accuracy import FRESH_NOTES, SELECTION_NOTES, whole
from privcurve.outputs.base import TEXT, Asked, Option, Output, Reads
from privcurve.outputs.context import Context
from privcurve.schema import nearest
from privcurve.tables.table import Table


class ErrorTable(Output):
    """Table: errors of fresh trainings, a row a dataset; the best in bold; wins, ties, losses."""

    word: ClassVar[str] = "error_table"
    version: ClassVar[int] = 3
    options: ClassVar = {
        "baseline": Option("the arm that others win against; by default the first", TEXT),
    }

    def check(self, asked: Asked) -> None:
        given, arms = asked.options["baseline"], asked.study.arms
        if given is not None and given not in arms:
            raise ValueError(
                f"baseline: no arm {given!r}{nearest(given, arms)} There are: {', '.join(arms)}."
            )
        if baseline(asked) not in private(asked):
            raise ValueError(f"baseline: {baseline(asked)} has no ε: others have nothing to beat")

    def reads(self, asked: Asked) -> Reads:
        read = whole(asked.study)
        titles = [arm.title for arm in asked.study.arms.values()]
        return Reads(read.curves, data=read.data, facts=[read.facts, titles])

    def make(self, context: Context) -> None:

        study, base = context.study, baseline(context.asked)
        frame = error_frame(context.runs(), study.datasets, list(study.arms), base)
        frame.insert(list(frame).index("learner") + 1, "kind", kinds.column(frame, study.arms))
        titles = arm_titles(context.asked)
        shown = readable(frame, titles, base)
        context.write(
            Table(
                frame,
                "Error of each learner on each dataset, at each ε",
                (
                    f"Wins, ties and losses are against {titles[base]}, by two standard errors of "
                    "the difference, paired by fold and repeat; the least private error of a row "
                    "is in bold; ranks are those of private learners.",
                    *SELECTION_NOTES[1:],
                    *kinds.NOTES,
                    *FRESH_NOTES[1:],
                    *context.data_notes(),
                ),
                shown,
            )
        )


def baseline(asked: Asked) -> str:
    """Return the arm that others are compared with."""
    return str(asked.options["baseline"] or next(iter(asked.study.arms)))


def private(asked: Asked) -> list[str]:
    """Return the arms that have an ε."""
    return [name for name, arm in asked.study.arms.items() if arm.calibration is not None]


def arm_titles(asked: Asked) -> dict[str, str]:
    """Return the titles of arms, with the calibration, δ and kind where these tell some apart."""
    arms = asked.study.arms
    of = {name: kinds.kind(arm) for name, arm in arms.items()}
    mixed = len({arm.delta > 0 for arm in arms.values() if arm.calibration}) > 1
    titles = {}
    for name, arm in arms.items():
        alike = {other.calibration for other in arms.values() if other.title == arm.title}
        said = [arm.title]
        if len(alike) > 1:
            said.append(str(arm.calibration))
        if mixed and arm.delta > 0:
            said.append(f"δ = {arm.delta:g}")
        if of[name] in kinds.SHORT and kinds.RULE in of.values():
            said.append(kinds.SHORT[of[name]])
        titles[name] = ", ".join(said)
    return titles


COLUMNS = [
    "epsilon",
    "dataset",
    "arm",
    "learner",
    "error",
    "error_std",
    "n_repeats",
    "n_failed",
    "best",
    "gain",
    "gain_standard_error",
    "verdict",
    "rank",
]
WIN, TIE, LOSS = "win", "tie", "loss"
# A gain counts from so many standard errors on.
STANDARD_ERRORS = 2.0
# Means of the same errors in another order differ by so little.
ROUNDING = 1e-9


def error_frame(
    runs: pd.DataFrame, datasets: Sequence[str], arms: Sequence[str], baseline: str
) -> pd.DataFrame:
    """Compare the errors of all arms on all datasets, at each ε.

    Parameters
    ----------
    runs : DataFrame
        Those that are results: dataset, arm, learner, epsilon, fold, repeat, status, accuracy.
        Of a dataset, one fold and repeat has the same records in all arms.
    datasets, arms : sequence of str
        The order of the rows.
    baseline : str
        The arm that the others are compared with.

    Returns
    -------
    DataFrame
        One row for each ε, dataset and arm. `gain` is by how much the error is below the
        baseline's, paired by fold and repeat; it is a win or a loss if it is beyond
        `STANDARD_ERRORS` of its standard errors, and `best` is the least mean error of an ε and
        dataset, of all private arms. `rank` counts from 1 among them, ties sharing the mean of
        their ranks. An arm with a failed training lacks its error, and with it gain and rank; an
        arm without privacy (ε = ∞) has neither rank nor rival.
    """
    errors = runs.assign(error=(1 - runs["accuracy"]).where(runs["status"] == "ok"))
    errors["epsilon"] = errors["epsilon"].map(short)
    found = {
        key: group.set_index(["fold", "repeat"])["error"]
        for key, group in errors.groupby(["epsilon", "dataset", "arm"], sort=False)
    }
    learners = dict(zip(runs["arm"], runs["learner"], strict=True))
    rows = []
    for epsilon in sorted(set(errors["epsilon"]), key=float):
        for dataset in datasets:
            mine = [arm for arm in arms if (epsilon, dataset, arm) in found]
            means = {arm: mean(found[epsilon, dataset, arm]) for arm in mine}
            private = {} if math.isinf(float(epsilon)) else means
            ranks = _ranks(private)
            least = min((m for m in private.values() if not math.isnan(m)), default=math.nan)
            base = found.get((epsilon, dataset, baseline))
            for arm in mine:
                own = found[epsilon, dataset, arm]
                gain, gain_error = _gain(base, own) if arm in private else (math.nan, math.nan)
                rows.append(
                    {
                        **{"epsilon": float(epsilon), "dataset": dataset, "arm": arm},
                        **{"learner": learners[arm], "error": means[arm]},
                        "error_std": float(own.std(ddof=1, skipna=False)),
                        **{"n_repeats": len(own), "n_failed": int(own.isna().sum())},
                        "best": bool(arm in private and means[arm] <= least + ROUNDING),
                        **{"gain": gain, "gain_standard_error": gain_error},
                        "verdict": None if arm == baseline else _verdict(gain, gain_error),
                        "rank": ranks.get(arm, math.nan),
                    }
                )
    return pd.DataFrame(rows, columns=COLUMNS)


def wins(table: pd.DataFrame) -> pd.DataFrame:
    """Count wins, ties and losses against the baseline, and give mean ranks.

    epsilon, arm, n_datasets, wins, ties, losses, mean_rank; arms with a rank alone.
    """
    rows = []
    ranked = table[table["epsilon"].map(math.isfinite)]
    for (epsilon, arm), group in ranked.groupby(["epsilon", "arm"], sort=False):
        counts = group["verdict"].value_counts()
        rows.append(
            {
                **{"epsilon": epsilon, "arm": arm, "n_datasets": int(group["error"].notna().sum())},
                "wins": int(counts.get(WIN, 0)),
                "ties": int(counts.get(TIE, 0)),
                "losses": int(counts.get(LOSS, 0)),
                "mean_rank": float(group["rank"].mean()),
            }
        )
    return pd.DataFrame(rows)


def readable(table: pd.DataFrame, titles: dict[str, str], baseline: str) -> pd.DataFrame:
    """Return the table as a reader wants it: a row a dataset and ε, a column an arm.

    The least error of a row in bold; below the rows of an ε, wins/ties/losses and mean ranks.
    """
    arms = [arm for arm in titles if arm in set(table["arm"])]
    fixed = table[table["epsilon"].map(math.isinf)].set_index(["dataset", "arm"])
    counts = {(row["epsilon"], row["arm"]): row for row in wins(table).to_dict("records")}
    rows: list[list[str]] = []
    for epsilon, part in _by_epsilon(table):
        cells = part.set_index(["dataset", "arm"])
        for dataset in dict.fromkeys(part["dataset"]):
            row = [short(epsilon), dataset]
            for arm in arms:
                one = next((c.loc[(dataset, arm)] for c in (cells, fixed)
                            if (dataset, arm) in c.index), None)  # fmt: skip
                row.append(_cell(one))
            rows.append(row)
        known = [counts.get((epsilon, arm)) for arm in arms]
        scores = [
            "–" if arm == baseline else _score(one) for arm, one in zip(arms, known, strict=True)
        ]
        rows.append([short(epsilon), "wins/ties/losses", *scores])
        ranks = [f"{one['mean_rank']:.2f}" if one else "–" for one in known]
        rows.append([short(epsilon), "mean rank", *ranks])
    return pd.DataFrame(rows, columns=["ε", "dataset", *(titles[arm] for arm in arms)])


def _by_epsilon(table: pd.DataFrame) -> Iterator[tuple[float, pd.DataFrame]]:
    for epsilon, part in table.groupby("epsilon", sort=True):
        if math.isfinite(float(epsilon)):  # type: ignore[arg-type]
            yield float(epsilon), part  # type: ignore[arg-type]


def _cell(row: Any) -> str:
    if row is None or math.isnan(row["error"]):
        return "–"
    text = f"{row['error']:.3f}"
    return f"**{text}**" if row["best"] else text


def _score(counts: Any) -> str:
    if counts is None:
        return "–"
    return "/".join(f"{counts[name]:g}" for name in ("wins", "ties", "losses"))


def _gain(base: pd.Series | None, own: pd.Series) -> tuple[float, float]:
    """Return the mean of paired differences, and its standard error."""
    if base is None or set(base.index) != set(own.index):
        return math.nan, math.nan
    gaps = base.reindex(own.index) - own
    if gaps.isna().any():
        return math.nan, math.nan
    return float(gaps.mean()), float(gaps.std(ddof=1)) / math.sqrt(len(gaps))


def _verdict(gain: float, error: float) -> str | None:
    if math.isnan(gain) or math.isnan(error):
        return None
    if abs(gain) <= STANDARD_ERRORS * error + ROUNDING:
        return TIE
    return WIN if gain > 0 else LOSS


def _ranks(means: dict[str, float]) -> dict[str, float]:
    """Rank means that are known, the least first; equal ones share the mean of their ranks."""
    known = {arm: round(mean / ROUNDING) for arm, mean in means.items() if not math.isnan(mean)}
    ranks = pd.Series(known, dtype="int64").rank(method="average")
    return {str(arm): float(rank) for arm, rank in ranks.items()}
