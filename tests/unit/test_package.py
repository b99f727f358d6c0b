"""What is said of the package in several files: its version, and what it needs."""

import re
import tomllib
from pathlib import Path

import yaml

import privcurve

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_all_versions_agree():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    (newest, *_) = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert PROJECT["version"] == privcurve.__version__ == citation["version"] == newest


def test_the_citation_has_what_its_schema_requires():
    """The format's own validator, `cffconvert --validate`, pins old packages: it is run by hand."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert citation["message"]
    assert citation["title"]
    assert [author["name"] for author in citation["authors"]] == [
        author["name"] for author in PROJECT["authors"]
    ]
    assert citation["license"] == PROJECT["license"]


def test_hosted_ci_runs_what_a_contributor_runs():
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert commands == [".ci/run"]
