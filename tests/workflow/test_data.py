"""Encoded data follow their description and the user's file, whatever Snakemake remembers."""

import json
import os
import shutil

import pytest
import yaml

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

TARGET = "results/data/mine/domain.json"


def describe(project, **changes):
    content = {
        "title": "t",
        "citation": "own",
        "licence": "own",
        "n_rows": 40,
        "files": {"train": {"local": "mine.csv"}},
        "parser": {"kind": "delimited", "header": True},
        "columns": [{"name": "age", "kind": "numeric", "bounds": [0, 40], "source": "s"}],
        "label": {"column": "sick", "negative": "no", "positive": "yes"},
        **changes,
    }
    (project.folder / "resources/datasets/mine.yaml").write_text(yaml.safe_dump(content))


def write_rows(project, shift=0):
    rows = [f"{k + shift},{'yes' if k % 2 else 'no'}" for k in range(10, 50)]
    (project.folder / "mine.csv").write_text("\n".join(["age,sick", *rows]) + "\n")


def facts(project):
    return json.loads((project.folder / TARGET).read_text())


def test_encoded_data_follow_their_sources(project):
    describe(project)
    write_rows(project)
    # 9 of 40 values are outside the bounds: the run says so, and succeeds.
    assert "warning: mine: 22% of the values of 'age'" in project.run(TARGET)
    first = facts(project)
    wider = [{"name": "age", "kind": "numeric", "bounds": [0, 50], "source": "s"}]

    # Snakemake's record is deleted, and the description has changed.
    shutil.rmtree(project.folder / ".snakemake")
    describe(project, columns=wider)
    project.run(TARGET)
    assert facts(project)["domain"]["columns"][0]["bounds"] == [0, 50]
    assert facts(project)["checksum"] != first["checksum"]

    # The user's file has changed, and is older than the encoded data.
    second = facts(project)["checksum"]
    write_rows(project, shift=-5)
    os.utime(project.folder / "mine.csv", (0, 0))
    project.run(TARGET)
    assert facts(project)["checksum"] != second
    assert "Nothing to be done" in project.run(TARGET)

    # A job that is started by hand names the outdated file.
    describe(project)
    (project.folder / "resources/datasets/mine.yaml").touch()
    project.write_study(datasets=["mine"])
    output = project.run_job("ready", "--study", "tiny")
    assert "was encoded from an earlier description of 'mine'" in output
