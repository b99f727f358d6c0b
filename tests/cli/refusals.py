"""A check of refusals by the command line."""

import re
import shlex

from privcurve.cli import main


def assert_refused(folder, capsys, command, message, files=None):
    """Assert that a command fails with one message that matches, and without a traceback.

    `files` are {name: content}, written into `folder` before; a content of None deletes the file.
    ``assert_refused(folder, capsys, "privcurve check x.csv", "no file")``.
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
    # The remark about ignored columns is no refusal.
    printed = re.sub(r"^privcurve: ignored .*\n", "", capsys.readouterr().err)
    assert code
    assert re.search(message, printed, re.DOTALL), printed
    assert re.findall("^privcurve.*?: ", printed, re.MULTILINE) == [
        printed[: printed.index(": ") + 2]
    ] or (
        "error: " in printed  # argparse shows the usage first
    )
    assert "Traceback" not in printed
