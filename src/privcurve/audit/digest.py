"""A digest of the auditor's code: audits are made again when it changes."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def code_digest(folder: Path = Path(__file__).parent) -> str:
    """Return the SHA-256, in hex, of the code in a folder, by default that of the audit.

    Comments, docstrings and layout are left out: they change no result, and an audit takes minutes.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder).as_posix()
        digest.update(f"{name}\n{_code(path.read_text('utf-8'))}\n".encode())
    return digest.hexdigest()


def _code(text: str) -> str:
    """Return code in one form, without comments and docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)
