"""Store the success of an attack on a made-up table, for the card of a release to cite.

The made-up table is computed from public facts alone, so that the result is public.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from privcurve import __version__
from privcurve.datasets import Description
from privcurve.experiments import canonical
from privcurve.files import replace_text
from privcurve.releases.request import Request

FOLDER = Path("results/attacks")


@dataclass(frozen=True)
class Cited:
    """The success of an attack that guesses which of two equally likely secrets is true."""

    right: float  # share of right guesses
    error: float  # standard error of `right`
    most: float  # the largest share that the guarantee allows
    n_fits: int  # number of attacked models

    def sentence(self) -> str:
        """Return a sentence that states the success of the attack."""
        return (
            f"the best attack that we tried guessed right {100 * self.right:.1f} ± "
            f"{100 * self.error:.1f} times in 100; at most {100 * self.most:.1f} are possible"
        )


def write(cited: Cited, request: Request, description: Description) -> Path:
    """Store the success of an attack, for cards of releases with the same request."""
    path = _path(description)
    content = {"of": _key(request, description), **asdict(cited)}
    replace_text(path, json.dumps(content, indent=1) + "\n")
    return path


def read(request: Request, description: Description) -> Cited | None:
    """Return the stored success of an attack for this request; None if there is none."""
    try:
        content = json.loads(_path(description).read_text(encoding="utf-8"))
        if content.pop("of") != _key(request, description):
            return None
        return Cited(**content)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _path(description: Description) -> Path:
    return FOLDER / f"{description.name}_made_up.json"


def _key(request: Request, description: Description) -> str:
    """Return a digest of all public facts that determine an attack on a made-up table."""
    facts: dict[str, Any] = {
        "domain": description.domain.to_json(),
        "n": description.n_rows,
        "epsilon": request.epsilon,
        "delta": request.delta,
        "learner": request.learner,
        "version": request.entry.run_version,
        "parameters": dict(request.parameters),
        "neighbours": request.relation,
        "at_most": request.at_most,
        "privcurve": __version__,
    }
    return canonical.digest(facts)
