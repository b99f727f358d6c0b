"""The digest of the auditor follows its code, not its docstrings and comments."""

import pytest

from privcurve.sources import code_digest

CODE = '''"""An attack."""

LEAST = 3  # trainings


class Attack:
    """Something that attacks."""

    def run(self, text="a"):
        """Run it."""
        return f"{text} and {LEAST}"
'''


def digest(folder, code, name="attack.py"):
    (folder / name).write_text(code)
    made = code_digest.__wrapped__(folder)
    (folder / name).unlink()
    return made


@pytest.mark.parametrize(
    ("old", "new", "another"),
    [
        ("# trainings", "# fits", False),
        ('    """Something that attacks."""\n', "", False),
        ("Run it.", "Run the attack,\n        whatever it costs.", False),
        ('text="a"', "text='a'", False),
        ("\n\n\n", "\n", False),
        ("LEAST = 3", "LEAST = 4", True),
        ("def run", "def go", True),
    ],
)
def test_only_changed_code_makes_another_auditor(tmp_path, old, new, another):
    assert old in CODE
    assert (digest(tmp_path, CODE.replace(old, new)) != digest(tmp_path, CODE)) == another


def test_a_file_under_another_name_is_another_auditor(tmp_path):
    assert digest(tmp_path, CODE, "other.py") != digest(tmp_path, CODE)
