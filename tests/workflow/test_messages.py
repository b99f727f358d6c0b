"""Bad input ends a run before any training, with one message that names the culprit."""

import pytest
import yaml

pytestmark = pytest.mark.workflow


def refused(project, *says, arguments=(), **environment):
    output = project.run(*arguments, ok=False, **environment)
    for text in says:
        assert text in output
    assert "Traceback" not in output
    assert not (project.folder / "results/store").exists()
    return output


def with_boost(**changes):
    return {"learners": {"boost": {"learner": "lazybb", "grid": {"n_rounds": [5]}, **changes}}}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"epsilon": [1]}, ("unknown key 'epsilon'", "'epsilons'")),
        (with_boost(learner="lazybbb"), ("unknown learner 'lazybbb'", "'lazybb'")),
        ({"epsilons": [-1]}, ("epsilon = -1 is not above 0",)),
        (with_boost(grid={"density": [2]}), ("density = 2",)),
        (with_boost(grid={"n_rounds": []}), ("n_rounds", "no value")),
        ({"datasets": ["no-such"]}, ("no-such",)),
    ],
)
def test_studies(project, changes, says):
    project.write_study(**changes)
    refused(project, "config/studies/tiny.yaml" if "datasets" not in changes else "", *says)


def test_configuration(project):
    path = project.folder / "config/config.yaml"
    content = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump({**content, "sed": 1}))
    refused(project, "unknown key 'sed'", "'seed'")
    path.write_text(yaml.safe_dump({**content, "studies": ["tinny"]}))
    refused(project, "no study 'tinny'")


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


def test_a_category_that_the_description_misses_is_named(project, tmp_path):
    table = tmp_path / "colours.csv"
    table.write_text("colour,label\n" + "red,yes\nblue,no\n" * 20 + "green,yes\n")
    description = {
        "title": "Colours",
        "citation": "own",
        "licence": "own",
        "n_rows": 41,
        "files": {"train": {"local": str(table)}},
        "parser": {"kind": "delimited", "header": True},
        "columns": [{"name": "colour", "kind": "categorical", "categories": ["red", "blue"]}],
        "label": {"column": "label", "negative": "no", "positive": "yes"},
    }
    path = project.folder / "resources/datasets/colours.yaml"
    path.write_text(yaml.safe_dump(description))
    project.write_study(datasets=["wdbc", "colours"])
    refused(project, "colours", "colour", "green")
