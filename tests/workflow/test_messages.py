"""Bad input ends a run before any training, with one message that names the fault."""

import pytest
import yaml
from checkout import ROOT

pytestmark = [pytest.mark.workflow, pytest.mark.slow]


def assert_run_refused(project, *message, arguments=(), **environment):
    output = project.run(*arguments, ok=False, **environment)
    for text in message:
        assert text in output
    assert "Traceback (most recent call last)" not in output
    assert not (project.folder / "results/store").exists()
    return output


def test_a_study_that_is_not_yaml_is_named_and_stops_no_other(project):
    (project.folder / "config/studies/mine.yaml").write_text("title: [")
    assert_run_refused(project, "config/studies/mine.yaml is not valid YAML", arguments=["mine"])
    output = project.run("--dry-run")
    assert output.count("left out: config/studies/mine.yaml is not valid YAML") == 1
    assert "Make tiny_accuracy" in output
    # A broken study does not stop the others either if it is configured first.
    output = project.run("--dry-run", "--config", "studies=[mine,tiny]", "--", "tiny")
    assert "Make tiny_accuracy" in output


def test_the_training_of_the_network_is_a_target(project):
    (project.folder / "decoder").symlink_to(ROOT / "decoder")
    output = project.run("--dry-run", "--", "decoder")
    assert "Simulate 2,000 tables" in output
    assert "Missing output files: results/decoder/decoder.npz" in output


def test_more_folds_than_records_of_a_class(project):
    # WDBC has 212 records of the rarer class, toy-line 1,000.
    project.write_study(datasets=["toy-line", "wdbc"], folds=300)
    assert_run_refused(
        project,
        "config/studies/tiny.yaml",
        "wdbc",
        "n_folds must be at most the number of records",
        "212; got 300",
    )


def test_configuration(project):
    path = project.folder / "config/config.yaml"
    content = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump({**content, "sed": 1}))
    assert_run_refused(project, "unknown key 'sed'", "'seed'")
    path.write_text(yaml.safe_dump(content) + "seed: 2\n")
    assert_run_refused(project, "config/config.yaml: the key 'seed' occurs twice")
    path.write_text(yaml.safe_dump(content))
    (project.folder / "other.yaml").write_text("seed: 2\nseed: 3\n")
    others = ("--configfile", "other.yaml")
    assert_run_refused(project, "other.yaml: the key 'seed' occurs twice", arguments=others)


def test_an_altered_file_is_refused_by_name_and_checksum(project, tmp_path):
    project.write_study(datasets=["wdbc", "mushroom"])
    mirror = tmp_path / "mirror/mushroom"
    mirror.mkdir(parents=True)
    (mirror / "agaricus-lepiota.data").write_text("p,x,s\n")
    assert_run_refused(
        project,
        "agaricus-lepiota.data",
        "e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e",
        arguments=("--config", f"data_mirror={tmp_path / 'mirror'}"),
    )
