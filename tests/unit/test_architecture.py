"""Imports point one way, and no module imports itself in a circle."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/privcurve"

# Files at the top of the package that every room may use.
SHARED = {"files", "schema", "yaml_nodes", "numerals", "coding", "lazy"}

BOTTOM = {"privacy", "kernels", "analysis"}
MIDDLE = {"learners", "datasets", "figures", "tables"}
ALLOWED = {
    "privacy": set(),
    "kernels": set(),
    "analysis": set(),
    "datasets": set(),
    "figures": {"analysis"},
    "tables": {"analysis"},
    "holders": {"privacy", "kernels"},
    "learners": {"holders", "privacy", "kernels"},
    # Relations of neighbours have their words in privacy.budget.
    "experiments": {"learners", "datasets", "analysis", "privacy"},
    "audit": {"learners", "holders", "privacy", "kernels"},
    "outputs": {"experiments", "audit", *MIDDLE, *BOTTOM},
    "papers": {"outputs", "experiments", *MIDDLE, *BOTTOM},
    "workflow": {"outputs", "experiments", "audit", *MIDDLE, *BOTTOM},
    "models": {"learners", "datasets", "privacy", "kernels"},
    "releases": {"models", "experiments", *MIDDLE, *BOTTOM},
    "cli": {"releases", "models", "workflow", "outputs", "experiments", "audit", *MIDDLE, *BOTTOM},
    "steps": {"workflow", "outputs", "experiments", "audit", *MIDDLE, *BOTTOM},
}

# The table of all outputs names those of papers, which are made like the others.
TABLE_OF_ALL = {"outputs.registry": {"papers"}}

# The one way round: the registry says of a learner, in text, where its class is, and asks for it
# when it is needed; the class asks the registry what it may be given.
ASKED_FOR_BY_NAME = {("learners.entries", "learners")}


def modules():
    """All modules of the package, by their dotted names below it."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imported(path):
    """Modules that a file imports, at its top or inside functions, or names as a path."""
    names = []
    checked_alone = set()
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            checked_alone |= {id(inner) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in checked_alone:
            continue
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            module, colon, name = node.value.partition(":")
            if colon and name.isidentifier() and module.startswith("privcurve."):
                names.append(module)
    return {module_of(name) for name in names if name.startswith("privcurve.")} - {None}


def module_of(name):
    """Give the module that an imported name is, or is in."""
    parts = name.split(".")[1:]
    while parts and ".".join(parts) not in MODULES:
        parts = parts[:-1]
    return ".".join(parts) or None


def room_of(module):
    return module.split(".")[0]


@pytest.mark.parametrize("room", sorted(ALLOWED))
def test_a_room_imports_only_what_it_may(room):
    files = {name: path for name, path in MODULES.items() if room_of(name) == room}
    assert files
    for name, path in files.items():
        extra = {room_of(one) for one in imported(path)} - ALLOWED[room] - SHARED - {room}
        extra -= TABLE_OF_ALL.get(name, set())
        assert not extra, f"{name} imports {extra}"


def test_no_module_imports_itself_in_a_circle():
    graph = {}
    for name, path in MODULES.items():
        found = imported(path) - {name}
        for asks, room in ASKED_FOR_BY_NAME:
            if name.startswith(f"{asks}."):
                found -= {one for one in found if one.startswith(f"{room}.") and is_class(one)}
        graph[name] = found
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' <- '.join(error.args[1])}")


def is_class(module):
    """Whether a module of learners is one that the registry names in text."""
    return any(
        f"privcurve.{module}:" in path.read_text()
        for path in (SOURCE / "learners/entries").glob("*.py")
    )


def test_every_folder_is_in_the_map():
    folders = {p.name for p in SOURCE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert folders == set(ALLOWED)
    table = (ROOT / "docs/architecture.md").read_text()
    assert all(f"`{room}/`" in table for room in folders)


def test_no_file_is_too_long():
    rooms = (SOURCE, ROOT / "tests", ROOT / "benchmarks", ROOT / "examples")
    files = [path for room in rooms for path in room.rglob("*.py")]
    files += [*(ROOT / "workflow").rglob("*.smk"), ROOT / "Snakefile"]
    long = {str(path.relative_to(ROOT)): n for path in files if (n := lines(path)) > 600}
    assert not long


def lines(path):
    return len(path.read_text().splitlines())
