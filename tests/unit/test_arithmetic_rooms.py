"""Rooms whose results are stored work them out by own arithmetic: see ``kernels/arithmetic.py``."""

import ast

import pytest
from test_architecture import MODULES, nodes, nodes_of, room_of

STORED = {
    *("kernels", "privacy", "learners", "holders", "datasets", "experiments", "models"),
    *("releases", "coding", "parts"),
}

# What has other last bits on another processor, or with another C library.
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
# A generator's own samplers of these laws.
OF_GENERATORS = {
    *("laplace", "gumbel", "logistic", "gamma", "standard_gamma", "beta", "dirichlet"),
    *("normal", "standard_normal", "exponential", "standard_exponential", "binomial", "poisson"),
}
STREAMS = {"rng", "coins", "source", "stream"}

PRODUCT, UNSTABLE, POWER = "@", "argsort of ties", "**"

# Where it is called all the same, and why no stored result depends on its last bits.
EXCEPTIONS = {
    ("privacy.sealed", "np.matmul"): "a name, of what is called on sealed arrays",
    ("privacy.sealed", "np.dot"): "a name, of what is called on sealed arrays",
    ("learners.shared.threads", "scipy.linalg"): "loads the threads that are limited",
    ("models.sql", "scipy.special"): "compares, to 1e-12",
    ("datasets.describing.columns", "math.log10"): "a draft's proposal, by whole powers of ten",
    ("datasets.describing.columns", POWER): "a draft's proposal, by whole powers of ten",
    ("datasets.reading.idx", POWER): "of whole numbers",
    ("releases.released", "math.hypot"): "a standard error, printed with three digits",
}


def calls(nodes):
    """What a file uses of what may differ."""
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
            if owner in STREAMS and node.func.attr in OF_GENERATORS:
                used.add(f"Generator.{node.func.attr}")
            stable = any(one.arg == "kind" for one in node.keywords)
            if node.func.attr == "argsort" and not stable:
                used.add(UNSTABLE)
    return used


def is_of_scipy(name):
    first, *others = name.split(".")
    return first == "scipy" and bool(others) and others[0] in OF_SCIPY


def is_exact(power):
    """A power of two, or one of whole numbers. Python's squares of floats are of the C library."""
    base = power.left
    return isinstance(base, ast.Constant) and (base.value == 2 or isinstance(base.value, int))


def test_what_is_stored_depends_on_own_arithmetic_alone():
    stored = [name for name in MODULES if room_of(name) in STORED]
    uses = {(name, use) for name in stored for use in calls(nodes(name))}
    assert not uses - set(EXCEPTIONS), "take privcurve.kernels.arithmetic, or say here why not"
    assert not set(EXCEPTIONS) - uses, "no exception any more"


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
def test_what_may_differ_is_seen(line, use):
    assert calls(nodes_of(line)) == {use}


@pytest.mark.parametrize(
    "line", ["2**k + 2.0**-k", "np.argsort(x, kind='stable')", "arithmetic.exp(x)"]
)
def test_what_is_exact_is_left_alone(line):
    assert not calls(nodes_of(line))
