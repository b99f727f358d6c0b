"""The digest of the auditor: what it does, and not what is said about it."""

import pytest

from privcurve.audit.digest import code_digest

CODE = '''"""An attack."""

LEAST = 3  # trainings


class Attack:
    """Something that attacks."""

    def run(self, text="a"):
        """Run it."""
        # A canary goes in.
        return f"{text} and {LEAST}"
'''


@pytest.fixture
def digest(tmp_path):
    def of(code, name="attack.py"):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        (folder / "attacks").mkdir(parents=True)
        (folder / "attacks" / name).write_text(code)
        return code_digest(folder)

    return of


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# trainings", "# fits"),
        ("        # A canary goes in.\n", ""),
        ('    """Something that attacks."""\n', ""),
        ("Run it.", "Run the attack,\n        whatever it costs."),
        ('"""An attack."""', "# SPDX"),
        ('text="a"', "text='a'"),
        ("\n\n\n", "\n"),
    ],
)
def test_words_about_the_auditor_are_no_reason_for_another_audit(digest, old, new):
    assert old in CODE
    assert digest(CODE.replace(old, new)) == digest(CODE)


@pytest.mark.parametrize(
    ("old", "new"),
    [("LEAST = 3", "LEAST = 4"), ("and {", "or {"), ('"a"', '"b"'), ("def run", "def go")],
)
def test_another_auditor_is_a_reason(digest, old, new):
    assert old in CODE
    assert digest(CODE.replace(old, new)) != digest(CODE)


def test_a_file_under_another_name_is_a_reason(digest):
    assert digest(CODE, "other.py") != digest(CODE)
