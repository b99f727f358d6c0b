"""Imports point one way, only privacy/ draws noise, and files and names are as a reader expects."""

import ast
import re
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/privcurve"


SHARED = {
    *("progress", "files", "schema", "yaml_nodes", "numerals", "coding", "lazy", "extras"),
    *("errors", "home", "binning", "own", "given", "papers", "sources", "stored"),
}

BOTTOM = {"privacy", "kernels", "analysis"}
MIDDLE = {"learners", "datasets", "figures", "tables"}
ALLOWED = {
    "privacy": {"kernels"},
    "kernels": set(),
    "analysis": set(),
    "datasets": {"privacy"},
    "figures": {"analysis"},
    "tables": {"analysis"},
    "learners": {"privacy", "kernels"},
    # privacy.budget has the names of the neighbouring relations.
    "experiments": {"learners", "datasets", "analysis", "tables", "privacy"},
    # It stores its findings on a user's own learners, and attacks copies of a dataset.
    "audit": {"learners", "datasets", "privacy", "kernels", "experiments"},
    "models": {"learners", "datasets", "privacy", "kernels"},
    "outputs": {"models", "experiments", "audit", *MIDDLE, *BOTTOM},
    "papers": {"papers' learners", "outputs", "experiments", *MIDDLE, *BOTTOM},
    # A learner of a paper, like any learner of the project, and its audit.
    "papers' learners": {"learners", "privacy", "kernels"},
    "papers' audits": {"audit", "privacy"},
    "workflow": {"outputs", "experiments", "audit", *MIDDLE, *BOTTOM},
    "releases": {"audit", "models", "experiments", *MIDDLE, *BOTTOM},
    "cli": {"releases", "models", "workflow", "outputs", "experiments", "audit", *MIDDLE, *BOTTOM},
}


def modules():
    """Return {dotted name below the package: path} of all modules, with the modules of papers."""
    paths = {}
    in_papers = [
        path
        for path in sorted((ROOT / "papers").rglob("*.py"))
        if not {"tests", "examples"} & {*path.parts}
    ]
    for path in (*sorted(SOURCE.rglob("*.py")), *in_papers):
        below = SOURCE if path.is_relative_to(SOURCE) else ROOT
        parts = path.relative_to(below).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return paths


MODULES = modules()


def nodes_of(text):
    return list(ast.walk(ast.parse(text)))


@cache
def nodes(module):
    return nodes_of(MODULES[module].read_text())


@cache
def imported_modules(module, types=False, text=True):
    """Return the modules that a module imports: at its top, in functions, for types, or by path."""
    names, for_types = [], set()
    for node in nodes(module):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            for_types |= {id(inner) for inner in ast.walk(node)}
    for node in nodes(module):
        if id(node) in for_types and not types:
            continue
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{from_where(module, node)}.{alias.name}" for alias in node.names]
        elif text and isinstance(node, ast.Constant) and isinstance(node.value, str):
            path, colon, name = node.value.partition(":")
            if colon and name.isidentifier() and path.startswith("privcurve."):
                names.append(path)
    return {module_of(name) for name in names if name.startswith("privcurve.")} - {None, module}


def from_where(module, node):
    """Return the absolute name of the module of an import statement."""
    if not node.level:
        return node.module
    is_package = MODULES[module].name == "__init__.py"
    parts = module.split(".")
    around = parts[: len(parts) + is_package - node.level]
    return ".".join(["privcurve", *around, *filter(None, [node.module])])


def module_of(name):
    """Return the module that an imported name is, or from which it is imported."""
    parts = name.split(".")[1:]
    while parts and ".".join(parts) not in MODULES:
        parts = parts[:-1]
    return ".".join(parts) or None


def room_of(module):
    room, *parts = module.split(".")
    if room == "papers" and "learners" in parts:
        return "papers' audits" if parts[-1] == "audit" else "papers' learners"
    return room


def is_of_papers(module, *names):
    """Return whether a module belongs to a paper's learner and has one of these names."""
    return room_of(module) == "papers' learners" and module.split(".")[-1].lstrip("_") in names


@pytest.mark.parametrize("room", sorted(ALLOWED))
def test_a_room_imports_only_what_it_may(room):
    names = [name for name in MODULES if room_of(name) == room]
    assert names
    for name in names:
        extra = {room_of(one) for one in imported_modules(name)} - ALLOWED[room] - SHARED - {room}
        assert not extra, f"{name} imports {extra}"


# Packages within `datasets` that others use only through their __init__, and their allowed imports.
WORDS = {"blanks", "description", "domain", "errors", "variants"}
DATASETS = {
    "reading": WORDS,
    "coding": {"reading", *WORDS},
    "describing": None,  # all of it
}


def test_datasets_take_only_partitioned_records_from_privacy():
    imports = set().union(*map(imported_modules, (n for n in MODULES if room_of(n) == "datasets")))
    assert {name for name in imports if room_of(name) == "privacy"} == {"privacy.parts"}


def test_the_packages_of_datasets_are_imported_by_their_init_only():
    for name in MODULES:
        own = name.split(".")[1] if name.startswith("datasets.") else ""
        for one in imported_modules(name, types=True):
            _, _, within = one.partition("datasets.")
            room, _, file = within.partition(".")
            # A transformer needs scikit-learn, which nothing else in this package imports.
            closed = room in DATASETS and room != own and file not in ("", "transformer")
            assert not closed, f"{name} imports {one}, past the door of {room}"
            allowed = DATASETS.get(own)
            if one.startswith("datasets.") and allowed is not None:
                assert room in {own, *allowed}, f"{name} imports {one}"


def test_a_paper_imports_nothing_of_another():
    for name in (name for name in MODULES if name.startswith("papers.")):
        for one in imported_modules(name, types=True):
            if one.startswith("papers."):
                assert one.split(".")[1] == name.split(".")[1], f"{name} imports {one}"


def test_no_module_imports_itself_in_a_circle():
    """Imports for types count too."""
    graph = {
        # The one exception: the registry names a learner's class as text and imports it late.
        name: imported_modules(name, types=True, text=not name.startswith("learners.entries."))
        for name in MODULES
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' <- '.join(error.args[1])}")


# Only privacy/ makes noise, ledgers and streams of random numbers.

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

SHUFFLES = "shuffles results of many models, for a figure"
MADE_UP = "draws made-up records, which are nobody's"
SAMPLES = "which records of a file a description takes: by its own number"
AT_INFINITY = "of a fit without privacy, whose bits depend on no seed"
ITS_OWN = "another library's mechanism and claim, run as it is"
SCRIPT = "an audit's script of answers, and its made-up records"

RESAMPLES = "the same resamples of scores at each call"
EXCEPTIONS = {
    "learners.peers.diffprivlib": {"LedgerEntry": ITS_OWN, "default_rng": AT_INFINITY},
    "learners.peers.diffprivlib_scaled": {"LedgerEntry": ITS_OWN},
    "learners.peers.ebm": {"LedgerEntry": ITS_OWN},
    "analysis.arena": dict.fromkeys(("Generator", "PCG64"), RESAMPLES),
    "papers.partial.learners.pate.classifier": {"default_rng": AT_INFINITY},
    "papers.thesis.learners.dp_bagging.classifier": {"default_rng": AT_INFINITY},
    "learners.lazybb": {"default_rng": MADE_UP},
    "learners.shared.tuning": {"default_rng": MADE_UP},
    "releases.request": dict.fromkeys(("Generator", "PCG64"), MADE_UP),
    "models.explain": {"default_rng": MADE_UP},
    "datasets.reading.generated": dict.fromkeys(("Generator", "PCG64"), MADE_UP),
    "datasets.load": dict.fromkeys(("Generator", "PCG64"), SAMPLES),
    "papers.boosted_dp.ensembles": dict.fromkeys(("default_rng", "SeedSequence"), SHUFFLES),
    "audit.replay_fits": dict.fromkeys(
        ("standard_normal", "MECHANISMS.draw", "default_rng"), SCRIPT
    ),
    "audit.contract": {"default_rng": SCRIPT},
    "audit.distant": {"default_rng": SCRIPT},
    "audit.kept_runs": {"default_rng": SCRIPT},
    "audit.thresholds": {"default_rng": SCRIPT},
    "audit.watched_fits": {
        "default_rng": SCRIPT,
        "gamma": "a law of SciPy, of which none is drawn",
    },
    "audit.fits": {"default_rng": SCRIPT},
    "releases.contract": {"default_rng": SCRIPT},
    "releases.attack": {"default_rng": SCRIPT},
    "releases.holdout": dict.fromkeys(("Generator", "PCG64"), SAMPLES),
    "releases.judgement": dict.fromkeys(("Generator", "PCG64"), MADE_UP),
}

BOOSTED = "papers.boosted_dp.learners."

# Compiled loops that draw from a stream: privacy/ hands the stream out, and charges for the draws.
DRAWING_KERNELS = {
    BOOSTED + "_kernel": "questions without records, and BDPE's published choices by rejection"
}

HANDED_A_STREAM = {
    BOOSTED + "bdpe.classifier": "the published exponential mechanism, by rejection",
    "learners.boosting.gradient_boosting": "not private",
    "learners.peers.diffprivlib": ITS_OWN,
    "learners.peers.diffprivlib_scaled": ITS_OWN,
    "learners.peers.ebm": ITS_OWN,
}

# Modules that may open sealed values: curators, parts and holders, whose answers are sealed or
# noisy.
OPENS = {*(f"privacy.{name}" for name in ("curator", "parts", "rows", "sums"))}
OPENS.add("learners.holders.holder")


def noise_functions_called(nodes):
    """Return the names of the noise, ledger and stream functions that a file calls."""
    names = set()
    for node in nodes:
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name == "draw" and "MECHANISMS" in ast.unparse(called):
                name = "MECHANISMS.draw"
            names.add(name)
    return names & (NOISE | LEDGERS | STREAMS)


OUTSIDE = [name for name in MODULES if room_of(name) != "privacy"]


def test_only_privacy_makes_noise_ledgers_and_streams():
    makers = {(name, what) for name in OUTSIDE for what in noise_functions_called(nodes(name))}
    # A paper's noise.py writes the ledger, like the project's own calibrations.
    makers -= {(name, what) for name in OUTSIDE if is_of_papers(name, "noise") for what in LEDGERS}
    there = {name: reasons for name, reasons in EXCEPTIONS.items() if name in MODULES}
    assert all(name.startswith("papers.") for name in EXCEPTIONS if name not in there)
    excepted = {(name, what) for name, reasons in there.items() for what in reasons}
    assert not makers - excepted, "go through privacy.curator, or say here why not"
    assert not excepted - makers, "no exception any more"


def test_only_privacy_imports_samplers():
    """An alias would hide a call of a sampler from the test above."""
    for name in OUTSIDE:
        assert "privacy.discrete" not in imported_modules(name), name
        for node in nodes(name):
            if isinstance(node, ast.ImportFrom):
                renamed = {alias.name for alias in node.names if alias.asname}
                drawn = {alias.name for alias in node.names} & NOISE
                assert not drawn | (renamed & (LEDGERS | STREAMS)), name


def test_only_listed_compiled_loops_draw():
    """A kernel gets noise as an array; kernels that get a stream, and their callers, are listed."""
    drawing = {
        name
        for name in MODULES
        if room_of(name) == "kernels" or is_of_papers(name, "kernel")
        for node in nodes(name)
        if isinstance(node, ast.arg) and node.arg in ("rng", "coins", "random")
    }
    assert drawing == set(DRAWING_KERNELS) & set(MODULES)
    noisy = {name for name in OUTSIDE if "curator.generator(" in MODULES[name].read_text()}
    assert noisy == set(HANDED_A_STREAM) & set(MODULES)


def test_sealed_values_are_opened_by_a_short_list():
    names = {name for name in MODULES if "open_values" in imported_from(name, "privacy.sealed")}
    assert names == OPENS
    private = {
        name
        for name in MODULES
        for node in nodes(name)
        if isinstance(node, ast.Attribute) and node.attr in ("open_values", "_array")
    }
    assert private == {"privacy.sealed", "privacy.rows", "privacy.sums"}


def imported_from(module, source):
    return {
        alias.name
        for node in nodes(module)
        if isinstance(node, ast.ImportFrom) and node.module == f"privcurve.{source}"
        for alias in node.names
    }


@pytest.mark.parametrize(
    "line",
    [
        "x = rng.laplace(size=3)",
        "np.random.default_rng(3).standard_normal(4)",
        "MECHANISMS[name].draw(rng, 3)",
        "entry = ledger.LedgerEntry('laplace', 'sums', 1.0, 1.0, 1.0)",
    ],
)
def test_a_draw_outside_privacy_is_found(line):
    assert noise_functions_called(
        nodes_of(f"def _fit_one(self, rng, np, MECHANISMS, name):\n    {line}\n")
    )
    assert not noise_functions_called(nodes_of(f"# {line}\ntext = 'default_rng(3)'\n"))


def test_every_folder_is_in_the_map():
    folders = {p.name for p in SOURCE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    rooms = {room for room in ALLOWED if not room.startswith("papers' ")}
    assert {*folders, "papers"} == rooms
    table = (ROOT / "docs/architecture.md").read_text()
    assert all(f"`{room}/`" in table for room in rooms)


TEST_FILES = sorted([*(ROOT / "tests").rglob("*.py"), *ROOT.glob("papers/*/tests/*.py")])


def test_no_file_is_too_long():
    files = [*MODULES.values(), *TEST_FILES, ROOT / "workflow/Snakefile"]
    for pattern in ("benchmarks/**/*.py", "examples/**/*.py", "workflow/**/*.smk"):
        files += ROOT.glob(pattern)
    long = {str(path.relative_to(ROOT)): n for path in files if (n := lines(path)) > 600}
    assert not long


def lines(path):
    return len(path.read_text().splitlines())


def test_a_small_file_with_one_user_is_part_of_it():
    users = Counter(used for name in MODULES for used in imported_modules(name, types=True))
    small = {
        name
        for name, path in MODULES.items()
        if path.stem not in ("__init__", "__main__") and lines(path) < 40 and users[name] == 1
    }
    assert not small


def test_the_folder_of_learners_can_be_seen_at_a_glance():
    entries = {path.name for path in (SOURCE / "learners").iterdir()} - {"__pycache__"}
    assert len(entries) <= 25


# Arithmetic: stored numbers are computed by kernels/arithmetic.py -----------------------------

STORED = {
    *("kernels", "privacy", "learners", "datasets", "experiments", "models"),
    *("releases", "coding", "binning", "papers' learners"),
}

# Functions whose last bits depend on the processor or the C library.
OF_NUMPY = {
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "power", "float_power"),
    *("tanh", "sinh", "cosh", "arctanh", "arcsinh", "arccosh", "sin", "cos", "tan", "arctan"),
    *("cbrt", "hypot", "geomspace", "logspace", "dot", "vdot", "inner", "matmul", "tensordot"),
    *("einsum", "linalg", "corrcoef", "cov", "convolve", "correlate", "polyfit", "fft", "kron"),
}
OF_MATH = {
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "pow", "tanh", "sinh", "cosh"),
    *("sin", "cos", "tan", "atan", "asinh", "atanh", "hypot", "erf", "erfc", "gamma", "lgamma"),
    "cbrt",
}
OF_SCIPY = {"special", "linalg", "optimize", "stats", "fft", "integrate", "signal", "interpolate"}
# A generator's own samplers of these distributions.
OF_GENERATORS = {
    *("laplace", "gumbel", "logistic", "gamma", "standard_gamma", "beta", "dirichlet"),
    *("normal", "standard_normal", "exponential", "standard_exponential", "binomial", "poisson"),
}
STREAM_NAMES = {"rng", "coins", "source", "stream"}

PRODUCT, UNSTABLE, POWER = "@", "argsort of ties", "**"

# Allowed uses, and why no stored result depends on their last bits.
USES = {
    ("privacy.sealed", "np.matmul"): "a name, of what is called on sealed arrays",
    ("privacy.sealed", "np.dot"): "a name, of what is called on sealed arrays",
    ("privacy.sums", "np.matmul"): "a name, of what is called on sums",
    **{
        ("privacy.rows", f"np.{name}"): "a name, of what is called on rows"
        for name in ("matmul", "exp", "expm1", "log", "log1p", "tanh")
    },
    ("learners.shared.threads", "scipy.linalg"): "loads the threads that are limited",
    ("models.sql", "scipy.special"): "compares, to 1e-12",
    ("datasets.describing.columns", "math.log10"): "a draft's proposal, by whole powers of ten",
    ("datasets.describing.columns", POWER): "a draft's proposal, by whole powers of ten",
    ("datasets.reading.idx", POWER): "of whole numbers",
    **{
        ("releases.attack", use): "makes up a table, to count the right guesses about it"
        for use in (PRODUCT, UNSTABLE, "Generator.beta")
    },
}


def calls(nodes):
    """Return which functions a file uses whose last bits may differ between machines."""
    used = set()
    for node in nodes:
        if isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.MatMult):
            used.add(PRODUCT)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and not is_exact(node):
            used.add(POWER)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            module = getattr(node, "module", None) or ""
            names = [f"{module}.{a.name}" if module else a.name for a in node.names]
            used |= {".".join(n.split(".")[:2]) for n in names if is_of_scipy(n)}
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner, name = node.value.id, node.attr
            if owner == "np" and name in OF_NUMPY:
                used.add(f"np.{name}")
            if owner == "math" and name in OF_MATH:
                used.add(f"math.{name}")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = ast.unparse(node.func.value).rpartition(".")[2]
            if owner in STREAM_NAMES and node.func.attr in OF_GENERATORS:
                used.add(f"Generator.{node.func.attr}")
            stable = any(one.arg == "kind" for one in node.keywords)
            if node.func.attr == "argsort" and not stable:
                used.add(UNSTABLE)
    return used


def is_of_scipy(name):
    first, *others = name.split(".")
    return first == "scipy" and bool(others) and others[0] in OF_SCIPY


def is_exact(power):
    """Return whether a power is exact: of two or of an integer. Floats go to the C library."""
    base = power.left
    return isinstance(base, ast.Constant) and (base.value == 2 or isinstance(base.value, int))


def test_stored_numbers_depend_only_on_own_arithmetic():
    stored = [name for name in MODULES if room_of(name) in STORED]
    uses = {(name, use) for name in stored for use in calls(nodes(name))}
    assert not uses - set(USES), "take privcurve.kernels.arithmetic, or say here why not"
    assert not set(USES) - uses, "no exception any more"


@pytest.mark.parametrize(
    ("line", "use"),
    [
        ("y = rows @ model", PRODUCT),
        ("rows @= model", PRODUCT),
        ("np.exp(x)", "np.exp"),
        ("math.log1p(x)", "math.log1p"),
        ("from scipy.special import expit", "scipy.special"),
        ("import scipy.linalg", "scipy.linalg"),
        ("self.coins.laplace(size=3)", "Generator.laplace"),
        ("order = np.argsort(x)", UNSTABLE),
        ("share**depth", POWER),
    ],
)
def test_inexact_functions_are_found(line, use):
    assert calls(nodes_of(line)) == {use}


@pytest.mark.parametrize(
    "line", ["2**k + 2.0**-k", "np.argsort(x, kind='stable')", "arithmetic.exp(x)"]
)
def test_exact_functions_are_accepted(line):
    assert not calls(nodes_of(line))


# Names and docstrings -------------------------------------------------------------------------

# Participles do not say what a variable holds.
SAY_NOTHING = {"found", "asked", "whole", "known"}
# Forbidden in names of the package, too.
OF_THE_HOUSE = {"told", "said", "here"}
# The field of a node that holds the name of a variable, parameter, attribute or function.
NAMED_BY = {ast.Name: "id", ast.arg: "arg", ast.Attribute: "attr", ast.FunctionDef: "name"}


def wrong_names(nodes, words=SAY_NOTHING):
    named = [node for node in nodes if type(node) in NAMED_BY]
    names = {(node.lineno, getattr(node, NAMED_BY[type(node)])) for node in named}
    return sorted((line, name) for line, name in names if name in words)


def test_names_are_nouns():
    words = SAY_NOTHING | OF_THE_HOUSE
    wrong = {name: names for name in MODULES if (names := wrong_names(nodes(name), words))}
    for path in TEST_FILES:
        text = path.read_text()
        if SAY_NOTHING & set(re.findall(r"\w+", text)) and (names := wrong_names(nodes_of(text))):
            wrong[str(path)] = names
    assert not wrong


def test_meaningless_names_are_found():
    code = "def whole(asked, *found):\n    known = asked.known\n    return known.finder, 'whole'\n"
    assert len(wrong_names(nodes_of(code))) == 6
    assert not wrong_names(nodes_of("unknown = words['found'](wholes)"))


def test_docstrings_say_what_happens():
    """A docstring says "Return", "Write" or "Make", not "Give"."""
    giving = re.compile(r'^\s*"""Give', re.MULTILINE)
    files = [*MODULES.values(), *TEST_FILES]
    assert [path.name for path in files if giving.search(path.read_text())] == []
