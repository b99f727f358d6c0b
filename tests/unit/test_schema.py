"""Schemas: messages name the fault and the remedy, and the shipped files are valid."""

import math
from pathlib import Path

import pytest
import yaml

from privcurve import schema
from privcurve.workflow.reading import study_files

ROOT = Path(__file__).parents[2]
STUDY = ROOT / "workflow/schemas/study.schema.yaml"
CONFIG = ROOT / "workflow/schemas/config.schema.yaml"


def quickstart():
    return yaml.safe_load((ROOT / "config/studies/quickstart.yaml").read_text())


def read(text, folder):
    """Read a YAML file with this text."""
    path = folder / "s.yaml"
    path.write_text(text)
    return schema.read_yaml(path)


def test_shipped_files_are_valid():
    schema.check(yaml.safe_load((ROOT / "config/config.yaml").read_text()), CONFIG, "config")
    for path in study_files({}, ROOT).values():
        schema.check(yaml.safe_load(path.read_text()), STUDY, path.name)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("epsilon", [1], "unknown key 'epsilon'; did you mean 'epsilons'"),
        (
            "learners",
            {"x": {"learner": "a", "gird": {}}},
            r"s\.yaml: learners\.x: .*'gird'.*'grid'",
        ),
        ("datasets", [], "datasets: must have at least 1 entry; got an empty list"),
        ("folds", 1, "folds: 1 is less than the minimum of 2"),
        ("repeats", "ten", "repeats: 'ten' is not of type 'integer'"),
        ("title", None, "title: must have a value; got nothing"),
        ("neighbours", "replace", "neighbours: 'replace' is not one of .*'replace-one'"),
        ("splits", {"holdout": 1, "repeats": 3}, "splits.holdout: 1 is greater than or equal to"),
        ("splits", {"hold_out": 0.1}, "splits: unknown key 'hold_out'; did you mean 'holdout'"),
        ("select", "some", "select: 'some' is not one of .*Expected: best"),
        (
            "epsilons",
            yaml.safe_load("[1, 1e-2]"),
            r"epsilons.1: must be a number; YAML reads 1e-2 .* as in 1\.0e-6",
        ),
        ("outputs", [{"a": {}, "b": {}}], "outputs.0: .* is not valid under any"),
        ("splits", {"holdout": math.nan}, r"splits\.holdout: must be a number; got \.nan"),
        ("epsilons", [1, -math.inf], r"epsilons\.1: must be finite; got -\.inf"),
        (
            "outputs",
            [{"sweep": {"at": {"x": [math.nan]}}}],
            r"outputs\.0\.sweep\.at\.x\.0: must be a number; got \.nan",
        ),
    ],
)
def test_bad_values_are_named(key, value, message):
    with pytest.raises(schema.SchemaError, match=message):
        schema.check({**quickstart(), key: value}, STUDY, "s.yaml")


def test_infinity_is_a_budget_of_a_study_and_no_time_of_a_job():
    schema.check({**quickstart(), "epsilons": [1, math.inf]}, STUDY, "s.yaml")
    content = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    for wrong, text in (
        (math.nan, r"must be a number; got \.nan"),
        (math.inf, r"must be finite; got \.inf"),
    ):
        with pytest.raises(schema.SchemaError, match=rf"config: seconds_per_job: {text}"):
            schema.check({**content, "seconds_per_job": wrong}, CONFIG, "config")


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
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", "the key 'a' occurs twice, lines 1 and 3; keep one"),
        ("x:\n  - {label: 1}\n  - y: 1\n    'y': 2\n", "the key 'y' occurs twice, lines 3 and 4"),
        ("x: {1: a, 1.0: b}\n", "the key 1.0 occurs twice, lines 1 and 1"),
    ],
)
def test_a_repeated_key_is_refused_with_both_lines(text, message, tmp_path):
    with pytest.raises(schema.SchemaError, match=message) as caught:
        read(text, tmp_path)
    assert str(caught.value).startswith(f"{tmp_path}/s.yaml: ")


@pytest.mark.parametrize(
    ("written", "number"),
    [("0150", 104), ("12:30", 750), ("1_000", 1000), ("0x1F", 31), ("0b11", 3), ("1:30.5", 90.5)],
)
def test_numbers_that_yaml_misreads_are_refused(written, number, tmp_path):
    for text in (f"a:\n  [x, {written}]\n", f"a:\n  {{{written}: x}}\n"):
        with pytest.raises(schema.SchemaError, match=f"line 2: YAML reads {written} as {number}; "):
            read(text, tmp_path)
    good = f"a: ['{written}', 0, -1, 150, 1.5, 1.0e-6, .inf, 2024-01-01]\n"
    assert read(good, tmp_path)["a"][0] == written


@pytest.mark.parametrize("text", ["a:\n  [1, 2019-02-31]\n", "a:\n  2024-13-01: 1\n"])
def test_a_day_that_can_not_be_is_refused(text, tmp_path):
    with pytest.raises(schema.SchemaError, match=r"line 2: YAML can't read 20\d\d-\d\d-\d\d: "):
        read(text, tmp_path)


def test_all_repeated_keys_are_named_at_once(tmp_path):
    with pytest.raises(schema.SchemaError) as caught:
        read("a: 1\na: 1\nb: 1\nb: 1\n", tmp_path)
    assert len(str(caught.value).splitlines()) == 2


@pytest.fixture(params=["compiled", "plain"])
def loader(request, monkeypatch):
    """Read YAML with either loader; some builds of PyYAML lack the compiled one."""
    if request.param == "plain":
        monkeypatch.delattr(yaml, "CSafeLoader")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a:\n  {1.10: x}", "line 2: YAML reads 1.10 as 1.1; put it in quotes"),
        ("{1.0e+3: x}", r"YAML reads 1.0e\+3 as 1000.0"),
        ("a: 2024-01-01 12:00:00", "YAML reads 2024-01-01 12:00:00 as 2024-01-01T12:00:00; put"),
        ("{2024-01-01T12:00:00Z: x}", r"reads 2024-01-01T12:00:00Z as 2024-01-01T12:00:00\+00:00;"),
        ("yes: x", "line 1: YAML reads the key yes as true; put the word in quotes"),
        ("{+1: x}", r"YAML reads \+1 as 1"),
        ("a: +1", r"YAML reads \+1 as 1"),
        ("~: x", "YAML reads the key ~ as nothing"),
        ("? [a]\n: x", "line 1: a key must be a word; got a list or a mapping"),
        ("{1: a, '1': b}", "the key '1' occurs twice"),
        # The same word in two Unicode forms.
        ("caf\u00e9: 1\ncafe\u0301: 2", "occurs twice, lines 1 and 2"),
        (
            "x: &x {k: 1}\ny: &y {k: 2}\nz:\n  <<: *x\n  <<: *y",
            "key '<<' occurs twice, lines 4 and 5",
        ),
        ("a: !!int '1'", "line 1: the tag !!int has no meaning here"),
        ("a: !mine x", "the tag !mine"),
        ("a: 1.0e+400", "a number must be at most 1.8e308; got 1.0e.400"),
        ("a: &a [*a]", "line 1: an alias must not be within the node that it refers to"),
        ("&a {<<: *a}", "an alias must not be within the node"),
        ("x: 1\na: " + "[" * 9_000, "line 2: lists and mappings must be nested less deeply"),
        ("<<: 5", "is not valid YAML"),
    ],
)
@pytest.mark.usefixtures("loader")
def test_values_that_yaml_misreads_are_refused(text, message, tmp_path):
    with pytest.raises(schema.SchemaError, match=message) as caught:
        read(text, tmp_path)
    assert str(caught.value).startswith(f"{tmp_path}/s.yaml")


def test_a_word_that_is_misread_everywhere_is_one_line(tmp_path):
    text = "a: {no: x, yes: y}\nb: {no: x, yes: y}\nc: [+1, 5]\n"
    with pytest.raises(schema.SchemaError, match=r"s.yaml: line 3: YAML reads \+1 as 1; .*1$"):
        read(text, tmp_path)
    with pytest.raises(schema.SchemaError) as caught:
        read(text.replace("+", ""), tmp_path)
    assert str(caught.value).replace(str(tmp_path / "s.yaml"), "s").splitlines() == [
        "s: lines 1, 2: YAML reads the key no as false; put the word in quotes",
        "s: lines 1, 2: YAML reads the key yes as true; put the word in quotes",
    ]


def test_a_file_of_nested_aliases_is_refused(tmp_path):
    lines = ["a0: &a0 [x, x]", *(f"a{k}: &a{k} [*a{k - 1}, *a{k - 1}]" for k in range(1, 60))]
    with pytest.raises(schema.SchemaError, match="entries; its aliases expand to more"):
        read("\n".join(lines), tmp_path)


@pytest.mark.usefixtures("loader")
def test_keys_and_days_keep_their_text(tmp_path):
    text = (
        "{1: a, 1.5: b, 2024-01-01: c, '<<': d, =: =, e: [2024-01-01, 2024-01-01T09:30:00, 1.50]}"
    )
    assert read(text, tmp_path) == {
        **{"1": "a", "1.5": "b", "2024-01-01": "c", "<<": "d", "=": "="},
        "e": ["2024-01-01", "2024-01-01T09:30:00", 1.5],
    }


def test_truth_values_where_words_are_meant_are_one_message():
    content = quickstart() | {"title": True, "datasets": [False, True, *"abcd"], "metric": False}
    with pytest.raises(schema.SchemaError) as caught:
        schema.check(content, STUDY, "s.yaml")
    assert str(caught.value).splitlines() == [
        "s.yaml: title (True), datasets.0 (False), datasets.1 (True), metric (False): must be a "
        "text; YAML reads yes, no, on and off as truth values: put the word in quotes"
    ]


def test_a_fault_that_two_schemas_find_is_reported_once():
    path = ROOT / "src/privcurve/datasets/dataset.schema.yaml"
    content = yaml.safe_load((ROOT / "resources/datasets/transfusion.yaml").read_text())
    numeric = next(entry for entry in content["columns"] if "bounds" in entry)
    for bound, text in (
        (True, "reads it as a truth value"),
        (None, "must have a value; got nothing"),
    ):
        numeric["bounds"] = [bound, 5]
        ((places, message),) = schema.faults(content, path)
        assert (places[0][-2:], text in message) == (("bounds", 0), True)


def test_anchors_and_merged_keys_are_no_repetition(tmp_path):
    text = "a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}\nc: [*a, *a]\n"
    assert read(text, tmp_path)["b"] == {"x": 3, "y": 2}
    assert read("", tmp_path) is None
