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
    """Return the module that an imported name is, or is in."""
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


# One door: noise, ledgers and streams of random numbers are made in privacy/ alone.

NOISE = {
    *("laplace", "normal", "standard_normal", "multivariate_normal", "gumbel", "logistic"),
    *("exponential", "standard_exponential", "gamma", "standard_gamma", "geometric", "poisson"),
    *("discrete_laplace", "rounded_gaussian", "draw_piece", "draw_share", "MECHANISMS.draw"),
}
LEDGERS = {"LedgerEntry"}
STREAMS = {
    *("default_rng", "SeedSequence", "Generator", "RandomState", "PCG64", "PCG64DXSM", "MT19937"),
    *("Philox", "SFC64", "ChaCha", "Random", "SystemRandom", "urandom"),
}

MADE_UP = "draws made-up records, which are nobody's"
AT_INFINITY = "of a fit without privacy, whose bits depend on no seed"
ITS_OWN = "another library's mechanism and claim, run as it is"
SCRIPT = "an audit's script of answers, and its made-up records"

# Which module makes what outside of privacy/, and why it may.
EXCEPTIONS = {
    ("learners.peers.diffprivlib", "LedgerEntry"): ITS_OWN,
    ("learners.peers.diffprivlib", "default_rng"): AT_INFINITY,
    ("learners.peers.ebm", "LedgerEntry"): ITS_OWN,
    ("learners.pate", "default_rng"): AT_INFINITY,
    ("learners.dp_bagging", "default_rng"): AT_INFINITY,
    ("learners.lazybb", "default_rng"): MADE_UP,
    ("learners.tuning", "default_rng"): MADE_UP,
    ("releases.request", "Generator"): MADE_UP,
    ("releases.request", "PCG64"): MADE_UP,
    ("releases.shares", "default_rng"): MADE_UP,
    ("datasets.readers.builtin", "Generator"): MADE_UP,
    ("datasets.readers.builtin", "PCG64"): MADE_UP,
    (
        "datasets.load",
        "Generator",
    ): "which records of a file a description takes: by its own number",
    ("datasets.load", "PCG64"): "which records of a file a description takes: by its own number",
    ("papers.ensembles", "default_rng"): "shuffles results of many models, for a figure",
    ("papers.ensembles", "SeedSequence"): "shuffles results of many models, for a figure",
    ("audit.replay_fits", "standard_normal"): SCRIPT,
    ("audit.replay_fits", "MECHANISMS.draw"): SCRIPT,
    ("audit.replay_fits", "default_rng"): SCRIPT,
    ("audit.contract", "default_rng"): SCRIPT,
    ("audit.watched_fits", "default_rng"): SCRIPT,
    ("audit.watched_fits", "gamma"): "a law of SciPy, of which nothing is drawn",
    ("audit.fits", "default_rng"): SCRIPT,
}

# Compiled loops that draw from a stream by themselves: the door hands it out, and charges for it.
DRAWING_KERNELS = {
    "kernels.boosted_trees": "questions without records, and BDPE's published choices by rejection",
}

HANDED_A_STREAM = {"learners.bdpe": "the published exponential mechanism, by rejection"}


def made(path):
    """What a file makes of noise, ledgers and streams: the names that it calls."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name == "draw" and "MECHANISMS" in ast.unparse(called):
                name = "MECHANISMS.draw"
            names.add(name)
    return names & (NOISE | LEDGERS | STREAMS)


OUTSIDE = {name: path for name, path in MODULES.items() if room_of(name) != "privacy"}


def test_noise_ledgers_and_streams_are_made_behind_the_door_alone():
    found = {(name, what) for name, path in OUTSIDE.items() for what in made(path)}
    assert not found - set(EXCEPTIONS), "go through privacy.curator, or say here why not"
    assert not set(EXCEPTIONS) - found, "no exception any more"


def test_what_draws_noise_is_imported_behind_the_door_alone():
    """Under another name a sampler could be called unseen."""
    for name, path in OUTSIDE.items():
        assert "privacy.discrete" not in imported(path), name
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                renamed = {alias.name for alias in node.names if alias.asname}
                drawn = {alias.name for alias in node.names} & NOISE
                assert not drawn | (renamed & (LEDGERS | STREAMS)), name


def test_compiled_loops_draw_nothing_but_where_it_is_said():
    """A kernel gets noise as an array; one that gets a stream is named, and so is its caller."""
    drawing = {
        name
        for name, path in MODULES.items()
        if room_of(name) == "kernels"
        and any(arg.arg in ("rng", "coins", "random") for arg in arguments(path))
    }
    assert drawing == set(DRAWING_KERNELS)
    noisy = {name for name, path in OUTSIDE.items() if "curator.generator(" in path.read_text()}
    assert noisy == set(HANDED_A_STREAM)


def arguments(path):
    """The parameters of all functions of a file."""
    functions = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.FunctionDef)]
    return [arg for one in functions for arg in (*one.args.args, *one.args.kwonlyargs)]


@pytest.mark.parametrize(
    "line",
    [
        "x = rng.laplace(size=3)",
        "np.random.default_rng(3).standard_normal(4)",
        "MECHANISMS[name].draw(rng, 3)",
        "entry = ledger.LedgerEntry('laplace', 'sums', 1.0, 1.0, 1.0)",
    ],
)
def test_what_is_drawn_beside_the_door_is_seen(tmp_path, line):
    path = tmp_path / "learner.py"
    path.write_text(f"# rng.gumbel()\ndef _fit_one(self, rng, np, MECHANISMS, name):\n    {line}\n")
    assert made(path)
    path.write_text("# x = rng.laplace(size=3)\ntext = 'default_rng(3)'\n")
    assert not made(path)


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
