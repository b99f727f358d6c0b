"""What outputs read of other studies: whether it is there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from privcurve import schema
from privcurve.experiments.study import Study, StudyError
from privcurve.outputs.base import Asked, elsewhere


def check_elsewhere(
    asked: Iterable[Asked], studies: Mapping[str, Study], broken: Mapping[str, str], where: str
) -> None:
    """Check that what outputs read of other studies is there."""
    read = [(one, *names) for one in asked for names in elsewhere(one.reads)]
    for one, name, word in read:
        key = "studies" if one.study.studies else f"outputs: {one.output.word}"
        here = f"{where}: {key}: {name}"
        if name in broken:
            raise StudyError(f"{here}: {broken[name]}")
        if name not in studies:
            hint = schema.nearest(name, studies)
            raise StudyError(f"{where}: {key}: there is no study {name!r}{hint}")
        if studies[name].studies:
            raise StudyError(f"{here} puts tables of others together itself: name those")
        if word not in [given for given, _ in studies[name].outputs]:
            raise StudyError(f"{here} has no output {word}; add that to its outputs")
