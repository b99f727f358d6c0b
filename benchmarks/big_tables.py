"""Measure time and memory of PrivGAM's release on large tables, in parts and in one memory.

    python benchmarks/big_tables.py [--rows 1000000 10000000] [--whole 10000000] [--dask]

The program makes up a table for each of --rows as a CSV file, with 20 numeric columns (64 bins) and
10 categorical ones; after 10 million rows, the rows repeat. It encodes the table, and releases
PrivGAM (ε = 1) from the encoded parts. Each step is a process of its own; its seconds, CPU seconds
and peak resident memory are printed. Up to --whole rows, the release is also made with all records
in one memory; the last column says whether both model.json are equal. With --dask, the release is
made once more by a Dask scheduler and two workers with one thread each; their peak memory is
printed, too.

    python benchmarks/big_tables.py --draw docs/research/big_tables.md docs/figures/big_tables.png

draws CPU seconds and memory against the number of rows, from printed lines in the page.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow
import yaml
from pyarrow import csv

N_NUMBERS, N_CATEGORIES, N_BINS = 20, 10, 64
COLOURS = ("red", "green", "blue", "grey", "black")
DELTAS = {"pure": "0", "δ": "1e-9"}
AT_ONCE = 250_000
MADE_UP = 10_000_000
# Rows per part: the default for a table of 30 columns.
PART = 1_000_000
WORDS = {"parts": "in parts", "whole": "in one memory"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7])
    parser.add_argument("--whole", type=int, default=10**7, help="most rows in one memory")
    parser.add_argument("--dask", action="store_true", help="with two workers of Dask too")
    parser.add_argument("--folder", type=Path, help="for the tables; by default a temporary one")
    parser.add_argument("--draw", type=Path, nargs=2, metavar=("PAGE", "FIGURE"))
    options = parser.parse_args()
    if options.draw:
        draw(*options.draw)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        os.chdir(folder)
        os.environ["PRIVCURVE_SEEDS"] = str(Path(folder) / "seeds")
        print("| rows | what | seconds | CPU seconds | resident, MB | to one memory | same model |")
        print("|---|---|---|---|---|---|---|")
        for n_rows in options.rows:
            measure(n_rows, n_rows <= options.whole, options.dask)


def measure(n_rows: int, in_one: bool, dask: bool) -> None:
    """Make up a table, and print a line of the results for each step."""
    write(n_rows, Path("table.csv"))
    code = ["-m", "privcurve.workflow.job", "prepare", "--dataset", "table"]
    forms = ("parts", "whole") if in_one else ("parts",)
    for form in forms:
        shutil.rmtree(form, ignore_errors=True)
        Path(form, "descriptions").mkdir(parents=True)
        text = yaml.safe_dump(description(n_rows, 0 if form == "whole" else PART))
        Path(form, "descriptions/table.yaml").write_text(text)
        line(n_rows, f"coding from CSV, {WORDS[form]}", run(form, *code))
    Path("table.csv").unlink()
    for word, delta in DELTAS.items():
        plain: tuple[float, float, float] | None = None
        models = []
        if in_one:
            plain = run("whole", *release(delta))
            line(n_rows, f"release ({word}), one memory", plain)
            models.append(model("whole"))
        took = run("parts", *release(delta))
        models.append(model("parts"))
        line(n_rows, f"release ({word}), parts", took, plain, models)
        if dask:
            with Workers(Path.cwd()) as workers:
                took = run("parts", *release(delta), "--scheduler", workers.address)
                largest = workers.largest()
            models.append(model("parts"))
            line(n_rows, f"release ({word}), parts, Dask's coordinator", took, plain, models)
            print(f"| {n_rows:,} | its workers | | | {' + '.join(map(str, largest))} | | |")


def draw(page: Path, figure: Path) -> None:
    """Draw CPU seconds and memory against rows, for steps measured at several numbers of rows."""
    from privcurve.figures import style

    points: dict[str, list[list[float]]] = {}
    for text in page.read_text().splitlines():
        cells = [cell.strip() for cell in text.split("|")]
        if len(cells) == 9 and all(cells[k].replace(",", "").isdecimal() for k in (1, 4, 5)):
            row = [float(cells[k].replace(",", "")) for k in (1, 4, 5)]
            points.setdefault(cells[2], []).append(row)
    lines = {what: rows for what, rows in points.items() if len(rows) > 1}
    with style.paper():
        drawn = style.new_figure(style.TEXT_WIDTH, style.SINGLE_PANEL_HEIGHT)
        panels = drawn.subplots(1, 2)
        for (what, rows), colour, marker in zip(
            lines.items(), style.COLOURS, style.MARKERS, strict=False
        ):
            n, cpu, memory = np.transpose(sorted(rows))
            for panel, values in zip(panels, (cpu, memory), strict=True):
                panel.loglog(n, values, color=colour, marker=marker, label=what)
        for panel, title in zip(panels, ("CPU seconds", "Resident memory (MB)"), strict=True):
            panel.set(xlabel="Rows of 31 columns", ylabel=title)
        panels[1].set_yscale("linear")
        panels[1].set_ylim(bottom=0)
        panels[1].legend()
        drawn.savefig(figure, dpi=200)


def write(n_rows: int, path: Path) -> None:
    """Write a made-up table as CSV, piece by piece; after `MADE_UP` rows, the rows repeat."""
    rng = np.random.default_rng(0)
    with path.open("wb") as file:
        for start in range(0, min(n_rows, MADE_UP), AT_ONCE):
            n = min(AT_ONCE, n_rows - start)
            z = rng.normal(size=(N_NUMBERS + N_CATEGORIES, n))
            columns: dict[str, Any] = {
                f"x{j}": np.round(10 * z[j] + 50, 2) for j in range(N_NUMBERS)
            }
            for j in range(N_NUMBERS, len(z)):
                places = np.clip((z[j] + 2.5).astype(int), 0, len(COLOURS) - 1)
                columns[f"c{j}"] = pyarrow.array(np.array(COLOURS)[places])
            score = z[0] + np.abs(z[1]) - z[N_NUMBERS] + rng.logistic(size=n)
            columns["sick"] = pyarrow.array(np.where(score > 0.5, "yes", "no"))
            form = csv.WriteOptions(include_header=start == 0, quoting_style="none")
            csv.write_csv(pyarrow.table(columns), file, form)
        for start in range(MADE_UP, n_rows, MADE_UP):
            file.flush()
            with path.open("rb") as made:
                made.readline()
                for piece in itertools.islice(made, min(MADE_UP, n_rows - start)):
                    file.write(piece)


def description(n_rows: int, rows_per_part: int) -> dict[str, Any]:
    numbers = [
        {"name": f"x{j}", "kind": "numeric", "bounds": [0, 100], "n_bins": N_BINS}
        for j in range(N_NUMBERS)
    ]
    categories = [
        {"name": f"c{j}", "kind": "categorical", "categories": list(COLOURS)}
        for j in range(N_NUMBERS, N_NUMBERS + N_CATEGORIES)
    ]
    return {
        "n_rows": n_rows,
        "rows_per_part": rows_per_part,
        "public_benchmark": True,
        "files": {"train": {"local": "../table.csv"}},
        "parser": {"kind": "delimited", "header": True},
        "columns": [*numbers, *categories],
        "label": {"column": "sick", "positive": "yes", "negative": "no"},
    }


def release(delta: str) -> list[str]:
    words = ["release", "table", "--epsilon", "1", "--delta", delta, "--seed", "1"]
    return ["-m", "privcurve", *words, "--quiet"]


def model(form: str) -> str:
    """Return the text of the released model.json, and remove the release."""
    text = Path(form, "releases/table/1/model.json").read_text()
    shutil.rmtree(Path(form, "releases"))
    return text


class Workers:
    """A Dask scheduler and two workers, each in a process, while the context lasts."""

    def __init__(self, folder: Path) -> None:
        self._place = folder / "scheduler.json"

    def __enter__(self) -> Workers:
        dask = Path(sys.executable).parent / "dask"
        self._log: IO[bytes] = tempfile.TemporaryFile()
        place = ("--scheduler-file", self._place)
        scheduler = [dask, "scheduler", "--host", "127.0.0.1", "--port", "0", *place]
        worker = [dask, "worker", *place, "--nthreads", "1", "--no-nanny"]
        self._running = [self._start(scheduler), self._start(worker), self._start(worker)]
        self.address = f"file:{self._place}"
        while not (self._place.exists() and self._place.read_text().endswith("}")):
            time.sleep(0.1)
        self.address = yaml.safe_load(self._place.read_text())["address"]
        return self

    def _start(self, words: Sequence[Any]) -> subprocess.Popen[bytes]:
        return subprocess.Popen([*words, "--no-dashboard"], stdout=self._log, stderr=self._log)

    def largest(self) -> list[int]:
        """Return the peak resident memory of each worker, in MB."""
        peaks = []
        for worker in self._running[1:]:
            status = Path(f"/proc/{worker.pid}/status").read_text()
            peaks.append(int(status.partition("VmHWM:")[2].split()[0]) // 1000)
        return peaks

    def __exit__(self, *error: object) -> None:
        for process in self._running:
            process.kill()
            process.wait()
        self._place.unlink()
        self._log.close()


def run(folder: str, *command: str) -> tuple[float, float, float]:
    """Run Python in a folder; return seconds, CPU seconds and peak resident memory in MB."""
    started = time.perf_counter()
    child = subprocess.Popen([sys.executable, *command], cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{' '.join(command)} has failed")
    seconds = time.perf_counter() - started
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6


def line(
    n_rows: int,
    what: str,
    took: tuple[float, float, float],
    plain: tuple[float, float, float] | None = None,
    models: Sequence[str] = (),
) -> None:
    seconds, cpu, memory = took
    ratio = "" if plain is None else f"{cpu / plain[1]:.2f}"
    same = "" if len(models) < 2 else "yes" if len(set(models)) == 1 else "NO"
    cells = (f"{n_rows:,}", what, f"{seconds:.0f}", f"{cpu:.0f}", f"{memory:.0f}", ratio, same)
    print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
