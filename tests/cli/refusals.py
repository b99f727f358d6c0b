"""What every refusal is: one message and a code, never a traceback."""

import re
import shlex

from privcurve.cli import main


def refuse(folder, capsys, command, message, files=None):
    """Type a command that can't be done; its message fits a regular expression.

    `files` are written before, by their names in the folder; None for one that is not there.
    """
    for name, content in (files or {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
    try:
        code = main.main(shlex.split(command))
    except SystemExit as end:
        code = end.code
    # Columns of a table that are ignored are a remark.
    told = re.sub(r"^privcurve: ignored .*\n", "", capsys.readouterr().err)
    assert code
    assert re.search(message, told, re.DOTALL), told
    assert re.findall("^privcurve.*?: ", told, re.MULTILINE) == [told[: told.index(": ") + 2]] or (
        "error: " in told  # argparse shows the usage first
    )
    assert "Traceback" not in told
