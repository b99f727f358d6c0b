"""What every refusal is: one message and a code, never a traceback."""

from __future__ import annotations

import re

from privcurve.cli import main


def refuse(folder, capsys, argv, message, files):
    """Type a command that can't be done.

    Parameters
    ----------
    folder : Path
        The working folder.
    capsys : fixture
    argv : list of str
    message : str
        What is said, as a regular expression.
    files : dict of str to str, bytes or None
        Written before; None for one that is not there.
    """
    for name, content in files.items():
        path = folder / name
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
    try:
        code = main.main(argv)
    except SystemExit as end:
        code = end.code
    # What was left out of a table is a remark.
    told = re.sub(r"^privcurve: left out .*\n", "", capsys.readouterr().err)
    assert code
    assert re.search(message, told, re.DOTALL), told
    assert re.findall("^privcurve.*?: ", told, re.MULTILINE) == [told[: told.index(": ") + 2]] or (
        "error: " in told  # argparse shows the usage first
    )
    assert "Traceback" not in told
