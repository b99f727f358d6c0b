"""Drafts of descriptions of tables that a test writes."""

from pathlib import Path

import yaml

from privcurve.cli import main
from privcurve.datasets.describing import draft
from privcurve.datasets.describing.label import LabelChoice

DRAFT = Path("descriptions/t.yaml")


def draft_table(lines, label="sick", encoding="utf-8", **options):
    """Write a table and draft its description; return the parsed YAML, and the draft."""
    Path("t.csv").write_text("\n".join(lines) + "\n", encoding=encoding)
    classes = {
        key: options.pop(key) for key in ("positive", "negative", "classes") if key in options
    }
    made = draft(Path("t.csv"), LabelChoice(label, **classes), **options)
    return yaml.safe_load(made.text), made


def draft_column(values, **options):
    """Draft a description of a table with this column `x`; return its entry and the draft."""
    lines = ["x,k,sick", *(f"{v},{k % 2},{'yes' if k % 3 else 'no'}" for k, v in enumerate(values))]
    content, made = draft_table(lines, **options)
    entries = [entry for entry in content["columns"] if entry["name"] == "x"]
    return (entries[0] if entries else None), made


def run(capsys, *argv):
    """Run a command; return its exit code and its output."""
    code = main.main(list(argv))
    seen = capsys.readouterr()
    return code, seen.out + seen.err


def describe_file(capsys, content, name="t.csv"):
    """Write a file and draft its description with the command; return the output."""
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    code, output = run(capsys, "describe", name, "--label", "sick", "--force")
    assert code == 0, output
    return output


def table_with(values, name="x"):
    """Return a table with these values, an age and a label."""
    lines = (f'"{v}",{20 + k % 40},{"yes" if k % 3 else "no"}' for k, v in enumerate(values))
    return "\n".join([f"{name},age,sick", *lines]) + "\n"


def fill_bounds(bounds):
    """Set all bounds of the draft."""
    DRAFT.write_text(DRAFT.read_text().replace("bounds:  # decide", f"bounds: {bounds}  #"))
