"""Facts about the package that several files repeat: its version and requirements."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version
from test_architecture import MODULES, nodes

import privcurve
from privcurve import learners
from privcurve.extras import EXTRAS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LIBRARY = [Requirement(text) for text in PROJECT["dependencies"]]
OF_EXTRA = {
    extra: [Requirement(text) for text in texts if not text.startswith("privcurve[")]
    for extra, texts in PROJECT["optional-dependencies"].items()
}
# {name of the import: name of the package}
INSTALLED_AS = {"sklearn": "scikit-learn", "yaml": "pyyaml"}


def test_all_versions_agree():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    (newest, *_) = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert PROJECT["version"] == privcurve.__version__ == citation["version"] == newest


def test_the_classifiers_name_tested_versions():
    """The README lists the Pythons and systems that `.ci` tests."""
    named = [text.split(" :: ") for text in PROJECT["classifiers"]]
    pythons = [text[-1] for text in named if text[0] == "Programming Language"]
    assert f"Python {pythons[0]} to {pythons[-1]}:" in (ROOT / "README.md").read_text()
    assert [text[-1] for text in named if text[0] == "Operating System"] == ["Linux"]


def test_the_citation_has_what_its_schema_requires():
    """The official validator, `cffconvert --validate`, pins old packages, so it is run by hand."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert citation["message"]
    assert citation["title"]
    assert [author["name"] for author in citation["authors"]] == [
        author["name"] for author in PROJECT["authors"]
    ]
    assert citation["license"] == PROJECT["license"]


@pytest.mark.slow
def test_the_package_lists_its_names_and_imports_them_on_use():
    code = (
        "import sys, privcurve; print({*dir(privcurve)} ^ {*privcurve.__all__});"
        "print({'numpy', 'pandas', 'scipy', 'sklearn', 'numba', 'yaml'} & {*sys.modules});"
        "from privcurve import *; print(load.__name__, Schema.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["{'__version__'}", "set()", "load", "Schema"]
    assert all(getattr(learners, name).__name__ == name for name in learners.__all__)


def test_hosted_ci_runs_what_a_contributor_runs():
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert [command.split()[0] for command in commands] == [".ci/run", ".ci/versions"]
    assert all((ROOT / command.split()[0]).stat().st_mode & 0o111 for command in commands)


# Requirements -------------------------------------------------------------------------


def imports(module):
    """Yield (package, whether the import runs at import time) for the imports of a module."""
    later = {
        id(inner)
        for node in nodes(module)
        if isinstance(node, ast.FunctionDef)
        or (isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    for node in nodes(module):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        for name in names:
            package = name.partition(".")[0]
            if package not in (*sys.stdlib_module_names, "privcurve"):
                yield package, id(node) not in later


def installed_as(package):
    return INSTALLED_AS.get(package, package.replace("_", "-"))


def test_the_library_imports_its_requirements_and_extras_only_on_use():
    core, later = set(), set()
    for module, path in MODULES.items():
        for package, at_once in imports(module):
            # Only the learners of peers import these packages.
            is_peer = path.parent.name == "peers" and package in ("diffprivlib", "interpret")
            (core if at_once and not is_peer else later).add(package)
    names = {requirement.name for requirement in LIBRARY}
    assert {installed_as(one) for one in core} <= names
    assert {installed_as(one) for one in later - set(EXTRAS)} <= names


@pytest.mark.parametrize("folder", ["benchmarks", "examples"])
def test_names_that_other_files_import_from_the_package_exist(folder):
    for path in (ROOT / folder).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("privcurve"):
                module = import_module(node.module)
                for name in {alias.name for alias in node.names} - set(dir(module)):
                    import_module(f"{node.module}.{name}")


def test_each_extra_has_the_packages_that_messages_name():
    for package, extra in EXTRAS.values():
        assert package in {requirement.name for requirement in OF_EXTRA[extra]}


LOCKS = {path.stem: path.read_text() for path in (ROOT / "locks").glob("*.lock")}
# The lock with the lowest versions, for the test of them.
OLDEST = "oldest"
# A pinned version of a package: version, platform, and hashes of its files.
PINNED = re.compile(
    r"([\w.-]+)==(\S+)(?: ; ([^\n]+?))?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n"
)


def pinned(lock):
    """Return {package: versions} of a lock."""
    versions = {}
    for name, version, _, _ in PINNED.findall(LOCKS[lock]):
        versions.setdefault(name, set()).add(version)
    return versions


def test_each_extra_has_a_lock_of_versions_that_are_allowed():
    assert set(LOCKS) == {*OF_EXTRA, OLDEST}
    for extra, own in OF_EXTRA.items():
        versions = pinned(extra)
        needs_workflow = "privcurve[workflow]" in PROJECT["optional-dependencies"][extra]
        for requirement in (*LIBRARY, *own, *(OF_EXTRA["workflow"] if needs_workflow else ())):
            there = versions[requirement.name.lower()]
            assert all(map(requirement.specifier.contains, there)), (extra, requirement)
    (peer,) = (one for one in OF_EXTRA["peers"] if one.name == "diffprivlib")
    assert all(map(peer.specifier.contains, pinned("dev")["diffprivlib"]))


def test_a_lock_admits_no_file_without_its_hash_and_names_no_index():
    for lock in LOCKS.values():
        lines = "".join(line for line in lock.splitlines(keepends=True) if line[0] != "#")
        assert PINNED.sub("", lines) == ""


def test_one_lock_can_be_added_to_another():
    """Locks have the same versions of shared packages."""
    together = {}
    for lock in {*LOCKS} - {OLDEST}:
        for name, versions in pinned(lock).items():
            assert together.setdefault(name, versions) == versions, (lock, name)


def test_the_oldest_allowed_versions_are_tested():
    versions = pinned(OLDEST)
    for requirement in (*LIBRARY, *OF_EXTRA["workflow"]):
        (lowest,) = (one.version for one in requirement.specifier if one.operator == ">=")
        assert {*map(Version, versions[requirement.name])} == {Version(lowest)}, requirement


def test_set_up_installs_only_locked_packages():
    for name in ("Makefile", "Dockerfile"):
        lines = (ROOT / name).read_text().splitlines()
        installs = [
            line for line in lines if re.match(r"\t\$\((PIP|ADD)\)|RUN .*pip install", line)
        ]
        assert len(installs) > 1
        for line in installs:
            assert re.search(r"\$\(ADD\)|--require-hashes|--no-deps --editable", line), line
            assert set(re.findall(r"(\w+)\.lock", line)) <= set(LOCKS), line
    assert "ADD := $(PIP) --require-hashes" in (ROOT / "Makefile").read_text()


def test_conda_gets_what_pip_gets():
    dependencies = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    (by_pip,) = (one["pip"] for one in dependencies if isinstance(one, dict))
    by_conda = [one for one in dependencies if isinstance(one, str) and not one.startswith("py")]
    texts = [one for one in (*by_conda, *by_pip) if one not in ("pip", "-e .")]
    texts += [one for one in dependencies if re.match("py(arrow|yaml|thon-c)", str(one))]
    there = {one.name: one.specifier for one in map(Requirement, texts)}
    conda_names = {"matplotlib": "matplotlib-base", "snakemake": "snakemake-minimal"}
    for requirement in (*LIBRARY, *OF_EXTRA["workflow"]):
        name = conda_names.get(requirement.name, requirement.name)
        assert there[name] == requirement.specifier, name
