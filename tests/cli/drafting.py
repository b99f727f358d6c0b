"""Drafts of descriptions of tables that a test writes."""

from pathlib import Path

import yaml

from privcurve.cli import main
from privcurve.datasets.describing import draft
from privcurve.datasets.describing.label import LabelChoice

DRAFT = Path("descriptions/t.yaml")


def drafted(lines, label="sick", encoding="utf-8", **options):
    """Draft the description of a table; give it as it is read, and the draft."""
    Path("t.csv").write_text("\n".join(lines) + "\n", encoding=encoding)
    classes = {
        key: options.pop(key) for key in ("positive", "negative", "classes") if key in options
    }
    made = draft(Path("t.csv"), LabelChoice(label, **classes), **options)
    return yaml.safe_load(made.text), made


def column(values, **options):
    """Draft the description of one column beside the label; give its entry, and the draft."""
    lines = ["x,k,sick", *(f"{v},{k % 2},{'yes' if k % 3 else 'no'}" for k, v in enumerate(values))]
    content, made = drafted(lines, **options)
    entries = [entry for entry in content["columns"] if entry["name"] == "x"]
    return (entries[0] if entries else None), made


def told(capsys, *argv):
    """Run a command; give its code, and what it said."""
    code = main.main(list(argv))
    seen = capsys.readouterr()
    return code, seen.out + seen.err


def described(capsys, content, name="t.csv"):
    """Draft the description of a file; give what was said."""
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    code, said = told(capsys, "describe", name, "--label", "sick", "--force")
    assert code == 0, said
    return said


def of(values, name="x"):
    """A column of values beside an age and a label."""
    lines = (f'"{v}",{20 + k % 40},{"yes" if k % 3 else "no"}' for k, v in enumerate(values))
    return "\n".join([f"{name},age,sick", *lines]) + "\n"


def decide(bounds):
    """Decide on all bounds of a draft."""
    DRAFT.write_text(DRAFT.read_text().replace("bounds:  # decide", f"bounds: {bounds}  #"))
