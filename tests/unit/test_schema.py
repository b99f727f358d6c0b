"""Schemas: faults are named with their mend, and the shipped files are valid."""

from datetime import date
from pathlib import Path

import pytest
import yaml

from privcurve import schema

ROOT = Path(__file__).parents[2]
STUDY = ROOT / "workflow/schemas/study.schema.yaml"
CONFIG = ROOT / "workflow/schemas/config.schema.yaml"


def quickstart():
    return yaml.safe_load((ROOT / "config/studies/quickstart.yaml").read_text())


def test_shipped_files_are_valid():
    schema.check(yaml.safe_load((ROOT / "config/config.yaml").read_text()), CONFIG, "config")
    for path in (ROOT / "config/studies").glob("*.yaml"):
        schema.check(yaml.safe_load(path.read_text()), STUDY, path.name)


def test_an_unknown_key_is_named_with_the_nearest_known_one():
    content = quickstart()
    content["epsilon"] = content.pop("epsilons")
    with pytest.raises(schema.SchemaError, match="unknown key 'epsilon'; did you mean 'epsilons'"):
        schema.check(content, STUDY, "s.yaml")


def test_a_nested_unknown_key_is_named_with_its_place():
    content = quickstart()
    content["learners"]["lazybb_1r"]["gird"] = {}
    with pytest.raises(schema.SchemaError, match=r"s\.yaml: learners\.lazybb_1r: .*'gird'.*'grid'"):
        schema.check(content, STUDY, "s.yaml")


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("datasets", [], "datasets: the list is empty"),
        ("folds", 1, "folds: 1 is less than the minimum of 2"),
        ("repeats", "ten", "repeats: 'ten' is not of type 'integer'"),
        ("title", None, "title: None is not of type 'string'"),
        ("neighbours", "replace", "neighbours: 'replace' is not one of .*'replace-one'"),
        ("splits", {"holdout": 1, "repeats": 3}, "splits.holdout: 1 is greater than or equal to"),
        ("splits", {"hold_out": 0.1}, "splits: unknown key 'hold_out'; did you mean 'holdout'"),
        ("metric", "precision", "metric: 'precision' is not one of .*'balanced_accuracy'"),
        ("select", "some", "select: 'some' is not one of .*Expected: best"),
        ("epsilons", yaml.safe_load("[1, 1e-2]"), r"epsilons.1: YAML reads 1e-2 .* as in 1\.0e-6"),
        ("outputs", [{"a": {}, "b": {}}], "outputs.0: .* is not valid under any"),
    ],
)
def test_bad_values_are_named(key, value, says):
    with pytest.raises(schema.SchemaError, match=says):
        schema.check({**quickstart(), key: value}, STUDY, "s.yaml")


def test_a_missing_key_is_named():
    content = quickstart()
    del content["datasets"]
    with pytest.raises(schema.SchemaError, match="missing key 'datasets'"):
        schema.check(content, STUDY, "s.yaml")


def test_every_key_of_config_and_study_is_described_in_the_readme():
    readme = (ROOT / "config/README.md").read_text()
    for path in (CONFIG, STUDY):
        tree = yaml.safe_load(path.read_text())
        specs = [tree["properties"]]
        if "learners" in tree["properties"]:
            specs.append(tree["properties"]["learners"]["additionalProperties"]["properties"])
        for properties in specs:
            for key, spec in properties.items():
                assert f"| `{key}` | {spec['description']} |" in readme, key


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: 1\nb: 2\na: 3\n", "the key 'a' stands twice, lines 1 and 3; keep one"),
        ("x:\n  - {label: 1}\n  - y: 1\n    'y': 2\n", "the key 'y' stands twice, lines 3 and 4"),
        ("x: {1: a, 1.0: b}\n", "the key 1.0 stands twice, lines 1 and 1"),
    ],
)
def test_a_repeated_key_is_refused_with_both_lines(text, says, tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(schema.SchemaError, match=says) as caught:
        schema.read_yaml(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("written", "read"),
    [("0150", 104), ("12:30", 750), ("1_000", 1000), ("0x1F", 31), ("0b11", 3), ("1:30.5", 90.5)],
)
def test_numbers_that_yaml_takes_for_others_are_refused(written, read, tmp_path):
    path = tmp_path / "s.yaml"
    for text in (f"a:\n  [x, {written}]\n", f"a:\n  {{{written}: x}}\n"):
        path.write_text(text)
        with pytest.raises(schema.SchemaError, match=f"line 2: YAML reads {written} as {read}; "):
            schema.read_yaml(path)
    path.write_text(f"a: ['{written}', 0, -1, 150, 1.5, 1.0e-6, .inf, 2024-01-01]\n")
    assert schema.read_yaml(path)["a"][0] == written


@pytest.mark.parametrize("text", ["a:\n  [1, 2019-02-31]\n", "a:\n  2024-13-01: 1\n"])
def test_a_day_that_can_not_be_is_refused(text, tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(schema.SchemaError, match=r"line 2: 20\d\d-\d\d-\d\d can't be: "):
        schema.read_yaml(path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{1.10: a, 1.1: b}", "line 1: YAML reads 1.10 as 1.1; put it in quotes"),
        ("a: {+1: yes}", "YAML reads [+]1 as 1"),
        ("when: 2024-01-01 12:00:00", "reads 2024-01-01 12:00:00 as 2024-01-01T12:00:00; put"),
        ("when: 2024-01-01T12:00:00Z", "reads 2024-01-01T12:00:00Z as 2024-01-01T12:00:00[+]00"),
        ("words: [a, {b: +1}]", "YAML reads [+]1 as 1"),
        ("words: {1.0e+3: 1.50}", "reads 1.0e[+]3 as 1000.0(.|\n)*reads 1.50 as 1.5"),
        ("a: &a {b: 1}\nc: &c {b: 2}\nd: {<<: *a, <<: *c}", "the key '<<' stands twice, lines 3"),
    ],
)
def test_words_that_yaml_takes_for_others_are_refused(text, says, tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(schema.SchemaError, match=says):
        schema.read_yaml(path, ["words"])


def test_words_may_be_numbers(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("words: {1.1: [-1, '+1'], '1.10': 2.0}\nelse: [+1, 1.10, 2024-01-01]\n")
    assert schema.read_yaml(path, ["words"]) == {
        "words": {1.1: [-1, "+1"], "1.10": 2.0},
        "else": [1, 1.1, date(2024, 1, 1)],
    }


def test_all_repeated_keys_are_named_at_once(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text("a: 1\na: 1\nb: 1\nb: 1\n")
    with pytest.raises(schema.SchemaError) as caught:
        schema.read_yaml(path)
    assert len(str(caught.value).splitlines()) == 2


def test_anchors_and_merged_keys_are_no_repetition(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text("a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}\nc: [*a, *a]\n")
    assert schema.read_yaml(path)["b"] == {"x": 3, "y": 2}
    path.write_text("")
    assert schema.read_yaml(path) is None
