"""The frame of the command: help, version, and errors that end in one message."""

import pytest

from privcurve import __version__
from privcurve.cli import main
from privcurve.cli.errors import CommandError


class Refusing:
    HELP = "always refuse"
    EXAMPLES = "example: privcurve refuse"

    def add_arguments(self, parser):
        parser.add_argument("--as", dest="kind", default="command")

    def run(self, arguments):
        if arguments.kind == "stop":
            raise KeyboardInterrupt
        raise CommandError("no such thing: take another")


@pytest.fixture
def refusing(monkeypatch):
    monkeypatch.setattr(main, "COMMANDS", ("refuse",))
    monkeypatch.setattr(main, "_command", lambda name: Refusing())


def test_each_command_has_help_with_examples(capsys):
    for name in main.COMMANDS:
        with pytest.raises(SystemExit) as end:
            main.main([name, "--help"])
        assert end.value.code == 0
        assert f"privcurve {name}" in capsys.readouterr().out.split("xample", 1)[1]


def test_no_command_prints_the_help(capsys):
    assert main.main([]) == 0
    assert "privcurve" in capsys.readouterr().out


def test_the_version(capsys):
    with pytest.raises(SystemExit):
        main.main(["--version"])
    assert capsys.readouterr().out.strip() == f"privcurve {__version__}"


@pytest.mark.usefixtures("refusing")
def test_a_refusal_is_one_message_and_a_code(capsys):
    assert main.main(["refuse"]) == 1
    assert capsys.readouterr().err == "privcurve: no such thing: take another\n"


@pytest.mark.usefixtures("refusing")
def test_ctrl_c_is_no_traceback():
    assert main.main(["refuse", "--as", "stop"]) == 130


@pytest.mark.usefixtures("refusing")
def test_an_unknown_command_is_named(capsys):
    with pytest.raises(SystemExit) as end:
        main.main(["reelase"])
    assert end.value.code == 2
    assert "reelase" in capsys.readouterr().err
