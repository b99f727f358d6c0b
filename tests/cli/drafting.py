"""Drafts of descriptions of tables that a test writes."""

from __future__ import annotations

from pathlib import Path

import yaml

from privcurve.datasets.drafts import draft
from privcurve.datasets.drafts.label import LabelChoice


def drafted(lines, label="sick", name="t.csv", encoding="utf-8", **asked):
    """Draft the description of a table; give it as it is read, and its text."""
    Path(name).write_text("\n".join(lines) + "\n", encoding=encoding)
    classes = {key: asked.pop(key) for key in ("positive", "negative") if key in asked}
    found = draft(Path(name), LabelChoice(label, **classes), **asked)
    return yaml.safe_load(found.text), found


def column(values, **asked):
    """Draft the description of one column beside the label."""
    lines = ["x,k,sick", *(f"{v},{k % 2},{'yes' if k % 3 else 'no'}" for k, v in enumerate(values))]
    content, found = drafted(lines, **asked)
    described = [entry for entry in content["columns"] if entry["name"] == "x"]
    return (described[0] if described else None), found
