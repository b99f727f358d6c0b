"""Files of the papers that this project ships."""

from types import ModuleType

from privcurve import own
from privcurve.home import home


def paper_module(paper: str, name: str) -> ModuleType:
    """Import a file of a paper, as the registry of outputs does."""
    return own.module(home() / f"papers/{paper}/{name}.py", f"privcurve_papers_{paper}")
