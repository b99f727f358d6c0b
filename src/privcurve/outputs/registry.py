"""Which outputs there are: those of this package, of the papers, and a user's own.

An output of this package is one file of this folder. Those of a paper are files
``papers/<paper>/<name>.py``, a user's own ``outputs/<name>.py`` of the folder where the run
is started; both hold subclasses of :class:`~privcurve.outputs.base.Output`, with a caption for
the report in ``<word>.rst`` beside them. What begins with ``_`` or ``.`` is no output.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType

from privcurve import own, papers
from privcurve.outputs.base import Output

OWN = Path("outputs")


def _load_outside_outputs() -> Iterator[Output]:
    """Yield the outputs of papers, and of the folder where the run is started.

    A folder ``papers/<paper>`` there takes the place of the shipped one. No golden test covers
    outputs that are not shipped, so their versions follow from their file and from the files of its
    folder that it imports.
    """
    shipped = {path.name: path for path in papers.list_shipped()}
    every = {**shipped, **{path.name: path for path in papers.list_others()}}
    packages = {path: f"privcurve_papers_{name}" for name, path in every.items()}
    packages |= {path: f"{papers.__name__}.{name}" for name, path in shipped.items()}
    for folder in (*every.values(), OWN.resolve()):
        for path in sorted(folder.glob("[!_.]*.py")):
            outputs = list(_make_outputs(own.module(path, packages.get(folder, "privcurve_own"))))
            if not outputs:
                raise ValueError(f"{path} has no output: a class on privcurve.outputs.base.Output")
            for output in outputs:
                if folder not in shipped.values():
                    version = output.version * 2**32 + own.checksum(path)
                    output.version = version  # type: ignore[misc]
                yield output


def _make_outputs(module: ModuleType) -> Iterator[Output]:
    """Yield an output of each class that a file defines in full."""
    for kind in vars(module).values():
        if not (inspect.isclass(kind) and issubclass(kind, Output)):
            continue
        if kind.__module__ == module.__name__ and not inspect.isabstract(kind):
            yield kind()


def _index_by_word(*outputs: Output) -> dict[str, Output]:
    """Return outputs by their words; refuse two with the same word."""
    table: dict[str, Output] = {}
    for output in outputs:
        if output.word in table:
            raise ValueError(
                f"{inspect.getfile(type(output))}: there is an output {output.word!r} already; "
                "give this one another word"
            )
        table[output.word] = output
    return table


def _load_shipped_outputs() -> Iterator[Output]:
    """Yield the outputs of this package, file by file."""
    for path in sorted(Path(__file__).parent.glob("[!_]*.py")):
        yield from _make_outputs(import_module(f"privcurve.outputs.{path.stem}"))


OUTPUTS: Mapping[str, Output] = _index_by_word(*_load_shipped_outputs(), *_load_outside_outputs())
