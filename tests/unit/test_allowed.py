"""The quick answer whether a schema allows some content is that of jsonschema."""

import copy
import random
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from privcurve import allowed, schema

ROOT = Path(__file__).parents[2]
SCHEMAS = {
    "config": ("workflow/schemas/config.schema.yaml", "config/config.yaml"),
    "study": ("workflow/schemas/study.schema.yaml", "config/studies/*.yaml"),
    "dataset": ("src/privcurve/datasets/dataset.schema.yaml", "resources/datasets/[a-e]*.yaml"),
    "claims": ("src/privcurve/outputs/claims.schema.yaml", "resources/printed/*/claims.yaml"),
    "model": ("src/privcurve/models/model.schema.yaml", ""),
}
# In place of what stands in a file.
WRONG = [None, True, False, 0, 1, -1, 2.0, 0.5, float("inf"), "", "x", "a/b", [], {}, ["a", "a"],
         [1, True], [[1], [1]], {"x": 1}, [{"name": "x", "kind": "numeric"}]]  # fmt: skip
EACH = 25


def read(path):
    return yaml.load(path.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def places(content, path=()):
    """All places of some content, as lists of keys and positions."""
    yield path
    if isinstance(content, (dict, list)):
        inner = content.items() if isinstance(content, dict) else enumerate(content)
        for key, value in inner:
            yield from places(value, (*path, key))


def changed(content, rng):
    """Give content with something taken away, put in, or put in place of another thing."""
    whole = [copy.deepcopy(content)]
    *before, last = (0, *rng.choice(list(places(content))))
    target = whole
    for step in before:
        target = target[step]
    kind = rng.randrange(3)
    if kind == 0 and before:
        del target[last]
    elif kind == 1 and isinstance(target[last], dict):
        target[last][rng.choice(["unknown", 3, "name", "grid"])] = rng.choice(WRONG)
    else:
        target[last] = rng.choice(WRONG)
    return whole[0]


@pytest.mark.parametrize("name", SCHEMAS)
def test_it_answers_as_jsonschema_does(name):
    path, files = SCHEMAS[name]
    whole = read(ROOT / path)
    test, judge = allowed.compiled(whole), Draft202012Validator(whole)
    contents = [read(file) for file in sorted(ROOT.glob(files))] if files else [{}]
    rng = random.Random(7)
    answers = []
    for k in range(EACH):
        content = contents[k % len(contents)]
        for one in (content, changed(content, rng), changed(changed(content, rng), rng)):
            try:
                answer = test(one)
            except allowed.UndecidedError:
                continue
            assert answer == judge.is_valid(one), one
            answers.append(answer)
    assert len(answers) > 2 * EACH
    assert files == "" or {True, False} == set(answers)


WORDS = [
    {"type": "integer"},
    {"type": ["number", "null"]},
    {"type": "boolean"},
    {"const": 1},
    {"const": True},
    {"enum": ["x", 0, None]},
    {"minimum": 0, "exclusiveMaximum": 2},
    {"exclusiveMinimum": 0, "maximum": 1},
    {"minLength": 1, "pattern": "^[a-x]"},
    {"uniqueItems": True, "items": {"type": ["string", "integer", "boolean"]}},
    {"uniqueItems": False, "minItems": 1, "maxItems": 2},
    {"minProperties": 1, "maxProperties": 1, "propertyNames": {"minLength": 1}},
    {"properties": {"x": {"type": "integer"}}, "additionalProperties": {"type": "string"}},
    {"properties": {"x": False}},
    {"required": ["x"]},
    {"dependentRequired": {"x": ["y"]}},
    {"not": {"type": "string"}},
    {"if": {"type": "string"}, "then": {"minLength": 1}, "else": {"type": "number"}},
    {"if": {"type": "string"}, "else": {"type": "object"}},
    {"oneOf": [{"type": "number"}, {"type": "integer"}, {"const": "x"}]},
    {"anyOf": [{"type": "string"}, {"minimum": 1}]},
    {"allOf": [{"minimum": 0}, {"type": "integer"}]},
    {"$ref": "#/$defs/tree", "$defs": {"tree": {"type": ["array", "string"],
                                                "items": {"$ref": "#/$defs/tree"}}}},
]  # fmt: skip
VALUES = [*WRONG, 3, 1.5, float("nan"), [1, 1.0], ["x", ["y"]], [2, "x", 3], {"x": 2, "z": "a"},
          {"": 1}, {"x": 1, "y": 2}, "abc", [None]]  # fmt: skip


@pytest.mark.parametrize("word", WORDS, ids=str)
def test_each_word_means_what_it_means(word):
    test, judge = allowed.compiled(word), Draft202012Validator(word)
    decided = 0
    for value in VALUES:
        try:
            assert test(value) == judge.is_valid(value), value
            decided += 1
        except allowed.UndecidedError:
            assert word.get("uniqueItems")
    assert decided > len(VALUES) - 4


@pytest.mark.parametrize(
    "word",
    [
        {"patternProperties": {"^x": {"type": "string"}}},
        {"$ref": "other.json#/$defs/x"},
        {"const": [1]},
        {"items": {"format": "date"}},
    ],
    ids=str,
)
def test_a_word_that_is_not_known_is_left_to_jsonschema(word, tmp_path):
    with pytest.raises(allowed.UndecidedError):
        allowed.compiled(word)
    path = tmp_path / "schema.yaml"
    path.write_text(yaml.safe_dump({"patternProperties": {"^x": {"type": "string"}}}))
    assert schema.faults({"y": 1}, path) == []
    with pytest.raises(schema.SchemaError, match="1 is not of type 'string'"):
        schema.check({"x1": 1}, path, "here")
