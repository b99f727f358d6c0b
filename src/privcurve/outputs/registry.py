"""List all outputs: the outputs of this package, of the papers, and a user's own outputs.

Each module of this package may define outputs. Outputs of a paper are in files
``papers/<paper>/<name>.py``; a user's own outputs are in files ``outputs/<name>.py`` in the folder
where the run is started. These files contain subclasses of :class:`~privcurve.outputs.base.Output`;
a caption for the report can be next to them, in ``<word>.rst``. Files whose names begin with ``_``
or ``.`` are skipped.
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
    """Yield the outputs of papers, and a user's own outputs.

    A folder ``papers/<paper>`` in the folder where the run is started replaces the shipped paper.
    A golden test fails if the files of a shipped output change but its version does not. No test
    covers other outputs. Their version therefore contains a checksum of the output's file and of
    the files that this file imports from its folder.
    """
    shipped = {path.name: path for path in papers.list_shipped()}
    every = {**shipped, **{path.name: path for path in papers.list_others()}}
    packages = {path: f"privcurve_papers_{name}" for name, path in every.items()}
    packages |= {path: f"{papers.__name__}.{name}" for name, path in shipped.items()}
    for folder in (*every.values(), OWN.resolve()):
        for path in sorted(folder.glob("[!_.]*.py")):
            outputs = list(_make_outputs(own.module(path, packages.get(folder, "privcurve_own"))))
            if not outputs:
                raise ValueError(
                    f"{path} must define an output, a subclass of "
                    "privcurve.outputs.base.Output; it has none"
                )
            for output in outputs:
                if folder not in shipped.values():
                    version = output.version * 2**32 + own.checksum(path)
                    output.version = version  # type: ignore[misc]
                yield output


def _make_outputs(module: ModuleType) -> Iterator[Output]:
    """Yield an instance of each concrete output class that a module defines."""
    for kind in vars(module).values():
        if not (inspect.isclass(kind) and issubclass(kind, Output)):
            continue
        if kind.__module__ == module.__name__ and not inspect.isabstract(kind):
            yield kind()


def _index_by_word(*outputs: Output) -> dict[str, Output]:
    """Return outputs indexed by `Output.word`; raise ValueError if two have the same word."""
    table: dict[str, Output] = {}
    for output in outputs:
        if output.word in table:
            raise ValueError(
                f"{inspect.getfile(type(output))}: word must be unique; an output "
                f"{output.word!r} exists. Choose another word"
            )
        table[output.word] = output
    return table


def _load_shipped_outputs() -> Iterator[Output]:
    """Yield the outputs that the modules of this package define."""
    for path in sorted(Path(__file__).parent.glob("[!_]*.py")):
        yield from _make_outputs(import_module(f"privcurve.outputs.{path.stem}"))


OUTPUTS: Mapping[str, Output] = _index_by_word(*_load_shipped_outputs(), *_load_outside_outputs())
