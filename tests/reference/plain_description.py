"""A dataset's description in plain Python: checked, and written out, as docs/datasets.md says."""

import codecs
import itertools
import math
import re
import unicodedata
from pathlib import Path
from types import SimpleNamespace

import plain_yaml
from plain_columns import check_repeats, column_of, label_of, texts
from plain_yaml import RefusedError, check_numbers, validator_of

SCHEMA = Path(__file__).parents[2] / "src/privcurve/datasets/dataset.schema.yaml"
VALIDATOR = validator_of(SCHEMA)
WITH_FILES = ("delimited", "parquet", "libsvm", "excel", "idx")
NUMBERED = ("libsvm", "idx")
RANGE = re.compile(r"\{([0-9]{1,9})\.\.([0-9]{1,9})\}")
MOST_NAMES = 65536
BELONGS_TO = {
    "zero_based": (("libsvm",), False),
    "sheet": (("excel",), ""),
    "rows": (("excel",), 0),
    "blocks": (("idx",), 1),
    "extra_fields": (("delimited", "excel"), "fail"),
    "header": (("delimited", "excel", "parquet"), False),
    "separator": (("delimited",), ","),
    "comment": (("delimited", "libsvm"), ""),
    "encoding": (("delimited", "libsvm"), "utf-8-sig"),
    "skip_rows": (("delimited", "libsvm", "excel"), 0),
}


def describe(name, file_of):
    """Read a description; `file_of` gives the bytes of the file of a name."""
    content = checked(plain_yaml.read(file_of(name)))
    if "based_on" not in content:
        return built(content)
    base = checked(plain_yaml.read(file_of(content["based_on"])))
    if "based_on" in base:
        raise RefusedError("based on what is based on another")
    full = varied(base, content)
    check_schema(full)
    one = built(full)
    if "train" not in content.get("files", {}):
        one.sizes = {**built(base).sizes, **one.sizes}
    elif "test" not in content.get("files", {}):
        # The test part stays that of the base.
        one.sizes = {"test": built(base).n_test, **one.sizes}
    return one


def checked(content):
    check_schema(content)
    check_numbers(content)
    return written_out(content)


def check_schema(content):
    if not VALIDATOR.is_valid(content):
        raise RefusedError("the schema does not allow it")


def written_out(content):
    """Compose all words, and write out patterns of names."""
    full = {key: value if key == "files" else composed(value) for key, value in content.items()}
    if "columns" in full:
        full["columns"] = [
            {**entry, "name": name} for entry in full["columns"] for name in names(entry["name"])
        ]
    if "fields" in full.get("parser", {}):
        fields = full["parser"]["fields"]
        full["parser"] = {**full["parser"], "fields": [n for f in fields for n in names(f)]}
    if "public" in full:
        full["public"] = [n for pattern in full["public"] for n in names(pattern)]
    if isinstance(full.get("n_bins"), dict):
        full["n_bins"] = {n: bins for p, bins in full["n_bins"].items() for n in names(p)}
    return full


def composed(value):
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, list):
        return [composed(entry) for entry in value]
    if isinstance(value, dict):
        return {composed(key): composed(entry) for key, entry in value.items()}
    return value


def names(pattern):
    """Write out ``x{0..9}``; ``{00..99}`` keeps two digits."""
    parts = RANGE.split(pattern)
    choices = []
    for first, last in zip(parts[1::3], parts[2::3], strict=True):
        width = len(first) if first.startswith("0") else 0
        if int(last) - int(first) >= MOST_NAMES:
            raise RefusedError(f"{pattern} stands for too many names")
        choices.append([str(k).zfill(width) for k in range(int(first), int(last) + 1)])
    if math.prod(map(len, choices)) not in range(1, MOST_NAMES + 1):
        raise RefusedError(f"{pattern} stands for no names, or too many")
    return [
        parts[0] + "".join(a + b for a, b in zip(one, parts[3::3], strict=True))
        for one in itertools.product(*choices)
    ]


# Variants ------------------------------------------------------------------------------


def varied(base, changes):
    full = {**base, **{key: value for key, value in changes.items() if key != "based_on"}}
    for key in ("files", "parser", "label"):
        if key in base and key in changes:
            full[key] = {**base[key], **changes[key]}
    kind = changes.get("parser", {}).get("kind")
    if kind is not None and kind != base["parser"]["kind"]:
        full["parser"] = changes["parser"]
    new_label = changes.get("label", {})
    gone = ()
    if "classes" in new_label:
        gone = ("positive", "negative")
    elif "positive" in new_label or "negative" in new_label:
        gone = ("classes",)
    full["label"] = {key: value for key, value in full["label"].items() if key not in gone}
    own_train = "train" in changes.get("files", {})
    if "files" in changes:
        full["public_benchmark"] = changes.get("public_benchmark", False)
    if own_train and "budget" not in changes:
        full.pop("budget", None)
    if not own_train and "budget" in changes:
        raise RefusedError("the records are those of the base, and share its budget")
    if not own_train and full.get("public_benchmark") and not base.get("public_benchmark"):
        raise RefusedError("a variant can't mark as public what the base does not")
    columns = {entry["name"]: entry for entry in base["columns"]}
    for entry in changes.get("columns", []):
        old = columns.get(entry["name"], {})
        same_kind = entry.get("kind", old.get("kind")) == old.get("kind")
        columns[entry["name"]] = {**old, **entry} if same_kind else entry
    n_bins = full.pop("n_bins", {})
    if not isinstance(n_bins, dict):
        n_bins = {n: n_bins for n, entry in columns.items() if entry.get("kind") == "numeric"}
    for name, bins in n_bins.items():
        if name not in columns:
            raise RefusedError(f"n_bins: there is no {name}")
        columns[name] = {**columns[name], "n_bins": bins}
    if "public" in changes:
        for name, entry in columns.items():
            columns[name] = {key: value for key, value in entry.items() if key != "public"}
    full["columns"] = list(columns.values())
    if "parts" in changes.get("records", {}) and "n_test" not in changes:
        full.pop("n_test", None)
    return full


# What it means -------------------------------------------------------------------------


def built(content):
    parser = {"separator": ",", "header": False, "fields": [], "extra_fields": "fail"}
    parser |= {"comment": "", "skip_rows": 0, "encoding": "utf-8-sig", "zero_based": False}
    parser |= {"sheet": "", "rows": 0, "blocks": 1, **content["parser"]}
    records = {"parts": [], "first": 0, "balance": "", **content.get("records", {})}
    files = {
        part: given if isinstance(given, list) else [given]
        for part, given in content.get("files", {}).items()
    }
    n_test = content.get("n_test", 0)
    check_public(content)
    columns = [column_of(entry, content) for entry in content["columns"]]
    label = label_of(content["label"])
    check_repeats([column.name for column in columns])
    if label.column in [column.name for column in columns]:
        raise RefusedError("the label is a column too")
    check_parser(parser, [*(column.name for column in columns), label.column], label)
    check_files(parser, files, records, n_test)
    sizes = {} if "records" in content else {"train": content["n_rows"]}
    return SimpleNamespace(
        columns=columns,
        label=label,
        parser=SimpleNamespace(**parser),
        files=files,
        records=SimpleNamespace(**records),
        sampled="records" in content,
        n_rows=content["n_rows"],
        n_test=n_test,
        sizes={**sizes, **({"test": n_test} if n_test else {})},
        missing=texts(content.get("missing", "?")),
        unknown=content.get("unknown", "fail"),
        decimal=content.get("decimal", "."),
        public_label=content.get("public_label", False),
    )


def check_public(content):
    columns = [entry["name"] for entry in content["columns"]]
    if "public" in content and any("public" in entry for entry in content["columns"]):
        raise RefusedError("public is said twice")
    for name in content.get("public", []):
        if name not in columns:
            raise RefusedError(f"public: there is no {name}")


def check_parser(parser, wanted, label):
    kind, fields = parser["kind"], parser["fields"]
    try:
        is_text = codecs.lookup(parser["encoding"])._is_text_encoding
    except (LookupError, ValueError):
        is_text = False
    if not is_text:
        raise RefusedError("the encoding is unknown")
    if kind in ("delimited", "excel") and parser["header"] == bool(fields):
        raise RefusedError("either header or fields")
    if kind == "parquet" and (parser["header"] or fields):
        raise RefusedError("Parquet names its fields itself")
    if kind in NUMBERED:
        if not fields or label.column != "label":
            raise RefusedError(f"{kind} needs fields, and the label is called label")
        fields = [*fields, "label"]
    for key, (kinds, default) in BELONGS_TO.items():
        if parser[key] != default and kind not in kinds:
            raise RefusedError(f"{key} belongs to {kinds}")
    if fields:
        check_repeats(fields)
        for name in wanted:
            if name not in fields:
                raise RefusedError(f"fields have no {name}")


def check_files(parser, files, records, n_test):
    kind = parser["kind"]
    if (kind in WITH_FILES) != ("train" in files):
        raise RefusedError("files: train")
    if records["parts"]:
        if n_test or ("test" in records["parts"] and "test" not in files):
            raise RefusedError("records: parts")
    elif ("test" in files) != (n_test > 0):
        raise RefusedError("n_test and files: test belong together")
    entries = [file for group in files.values() for file in group]
    if any(("labels" in file) != (kind == "idx") for file in entries):
        raise RefusedError("labels are of idx files")
    check_repeats([file.get("local", file.get("name")) for file in entries])
