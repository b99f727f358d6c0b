"""Which outputs there are: those of this package, of the papers, and a user's own.

An output of this package is one file of this folder, and its line here. Those of a paper are
files ``papers/<paper>/<name>.py``, a user's own ``outputs/<name>.py`` of the folder where the run
is started; both hold subclasses of :class:`~privcurve.outputs.base.Output`, with a caption for
the report in ``<word>.rst`` beside them. What begins with ``_`` is no output.
"""

from __future__ import annotations

import inspect
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

from privcurve import own
from privcurve.home import home
from privcurve.outputs.accuracy import Accuracy, SelectedSettings
from privcurve.outputs.audit import Audit
from privcurve.outputs.base import PAPERS, Output
from privcurve.outputs.comparison import Comparison
from privcurve.outputs.error_table import ErrorTable
from privcurve.outputs.leaderboard import Leaderboard
from privcurve.outputs.learning_curves import LearningCurves
from privcurve.outputs.ledgers import Ledgers
from privcurve.outputs.mean_ranks import MeanRanks
from privcurve.outputs.price import Price, RawScores
from privcurve.outputs.shapes import Shapes
from privcurve.outputs.sweep import Sweep
from privcurve.outputs.thresholds import Thresholds

OWN = Path("outputs")


def paper_module(paper: str, name: str) -> ModuleType:
    """Import a file of a paper that this project ships."""
    return own.module(home() / PAPERS / paper / f"{name}.py", f"privcurve_papers_{paper}")


def _of_papers() -> Iterator[Output]:
    """Yield the outputs of the papers that this project ships."""
    for path in sorted((home() / PAPERS).glob("*/[!_]*.py")):
        yield from _of_file(paper_module(path.parent.name, path.stem))


def _of_user() -> Iterator[Output]:
    """Yield the outputs of the folder where the run is started.

    Their versions change with their files: no golden test tells when their bytes change.
    """
    shipped = (home() / PAPERS).resolve()
    papers = () if PAPERS.resolve() == shipped else PAPERS.glob("*/[!_]*.py")
    for path in map(Path.resolve, sorted((*OWN.glob("[!_]*.py"), *papers))):
        outputs = list(_of_file(own.module(path, f"privcurve_own_{path.parent.name}")))
        if not outputs:
            raise ValueError(f"{path} has no output: a class on privcurve.outputs.base.Output")
        for output in outputs:
            version = output.version * 2**32 + zlib.crc32(path.read_bytes())
            output.version = version  # type: ignore[misc]
            yield output


def _of_file(module: ModuleType) -> Iterator[Output]:
    """Yield an output of each class that a file defines in full."""
    for kind in vars(module).values():
        if not (inspect.isclass(kind) and issubclass(kind, Output)):
            continue
        if kind.__module__ == module.__name__ and not inspect.isabstract(kind):
            yield kind()


def _by_word(*outputs: Output) -> dict[str, Output]:
    """Return outputs by their words; refuse two of one word."""
    table: dict[str, Output] = {}
    for output in outputs:
        if output.word in table:
            raise ValueError(
                f"{inspect.getfile(type(output))}: there is an output {output.word!r} already; "
                "give this one another word"
            )
        table[output.word] = output
    return table


OUTPUTS: Mapping[str, Output] = _by_word(
    Accuracy(),
    SelectedSettings(),
    RawScores(),
    Price(),
    LearningCurves(),
    Leaderboard(),
    Ledgers(),
    Sweep(),
    Shapes(),
    Thresholds(),
    Audit(),
    ErrorTable(),
    MeanRanks(),
    Comparison(),
    *_of_papers(),
    *_of_user(),
)
