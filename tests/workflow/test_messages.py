"""Bad input ends a run before any training, with one message that names the culprit."""

import pytest
import yaml
from checkout import write_dataset

pytestmark = pytest.mark.workflow


def refused(project, *says, arguments=(), **environment):
    output = project.run(*arguments, ok=False, **environment)
    for text in says:
        assert text in output
    assert "Traceback (most recent call last)" not in output
    assert not (project.folder / "results/store").exists()
    return output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"epsilon": [1]}, ("unknown key 'epsilon'", "'epsilons'")),
        # Other words: tests/unit/test_study.py.
        ({"datasets": ["toy line"]}, ("toy line",)),
    ],
)
def test_studies(project, changes, says):
    project.write_study(**changes)
    refused(project, "config/studies/tiny.yaml" if "datasets" not in changes else "", *says)


@pytest.mark.slow
def test_a_study_that_is_not_yaml_is_named_and_stops_no_other(project):
    (project.folder / "config/studies/mine.yaml").write_text("title: [")
    refused(project, "config/studies/mine.yaml is not valid YAML", arguments=["mine"])
    output = project.run("--dry-run")
    assert output.count("left out: config/studies/mine.yaml is not valid YAML") == 1
    assert "Make tiny_accuracy" in output
    # Nor does it if it is the first of those that are configured.
    output = project.run("--dry-run", "--config", "studies=[mine,tiny]", "--", "tiny")
    assert "Make tiny_accuracy" in output


@pytest.mark.slow
def test_a_study_called_like_a_rule(project):
    tiny = project.folder / "config/studies/tiny.yaml"
    tiny.rename(tiny.with_name("summary.yaml"))
    arguments = ["--config", "studies=[summary]"]
    refused(project, "'summary' is already a target", "another name", arguments=arguments)


@pytest.mark.slow
def test_more_folds_than_records_of_a_class(project):
    # WDBC has 212 records of the rarer class, toy-line 1,000.
    project.write_study(datasets=["toy-line", "wdbc"], folds=300)
    refused(project, "config/studies/tiny.yaml", "wdbc", "use at most 212 folds")


@pytest.mark.slow
def test_configuration(project):
    path = project.folder / "config/config.yaml"
    content = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump({**content, "sed": 1}))
    refused(project, "unknown key 'sed'", "'seed'")
    path.write_text(yaml.safe_dump(content) + "seed: 2\n")
    refused(project, "config/config.yaml: the key 'seed' stands twice")


@pytest.mark.slow
def test_a_missing_dataset_stops_before_training(project, tmp_path):
    project.write_study(datasets=["wdbc", "mushroom"])
    (tmp_path / "mirror").mkdir()
    # No network in this test: a proxy that refuses at once.
    refused(
        project,
        "mushroom",
        "agaricus-lepiota.data",
        PRIVCURVE_DATA=str(tmp_path / "mirror"),
        https_proxy="http://127.0.0.1:9",
        http_proxy="http://127.0.0.1:9",
    )


@pytest.mark.slow
def test_an_altered_file_is_refused_by_name_and_checksum(project, tmp_path):
    project.write_study(datasets=["wdbc", "mushroom"])
    mirror = tmp_path / "mirror/mushroom"
    mirror.mkdir(parents=True)
    (mirror / "agaricus-lepiota.data").write_text("p,x,s\n")
    refused(
        project,
        "agaricus-lepiota.data",
        "e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e",
        arguments=("--config", f"data_mirror={tmp_path / 'mirror'}"),
    )


@pytest.mark.slow
def test_a_category_that_the_description_misses_is_named(project):
    write_dataset(project, "colours", ["red", "blue"], [*("red", "blue") * 20, "green"])
    project.write_study(datasets=["wdbc", "colours"])
    refused(project, "colours", "colour", "green")
