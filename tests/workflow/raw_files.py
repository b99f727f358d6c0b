"""Small raw files of several kinds."""

import gzip
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np


def write_workbook(
    path: Path, sheets: dict[str, list[list[Any]]], merged: Sequence[str] = ()
) -> None:
    """Write a small .xlsx by hand; `merged` lists merged ranges such as ``A1:A2``."""

    def cell(value: Any, place: str) -> str:
        if isinstance(value, str) and value.startswith("="):
            # A formula without a value, as a program writes it that does not compute.
            return f'<c r="{place}"><f>{escape(value[1:])}</f><v /></c>'
        if isinstance(value, str):
            text = f't="inlineStr"><is><t>{escape(value)}</t></is></c>' if value else "/>"
            return f'<c r="{place}" {text}'
        kind = ' t="b"' if isinstance(value, bool) else ""
        return f'<c r="{place}"{kind}><v>{value:{"d" if kind else ""}}</v></c>'

    def line(row: int, values: list[Any]) -> str:
        cells = (cell(value, f"{chr(65 + j)}{row}") for j, value in enumerate(values))
        return f'<row r="{row}">{"".join(cells)}</row>'

    joined = "".join(f'<mergeCell ref="{each}"/>' for each in merged)
    after = f"<mergeCells>{joined}</mergeCells>" if merged else ""

    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    numbered = list(enumerate(sheets, start=1))
    books = "".join(f'<sheet name="{n}" sheetId="{k}" r:id="r{k}"/>' for k, n in numbered)
    links = "".join(
        f'<Relationship Id="r{k}" Type="{office}/worksheet" Target="worksheets/sheet{k}.xml"/>'
        for k, _ in numbered
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/content-types"><Default Extension="xml" '
            'ContentType="application/xml"/></Types>',
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="r0" '
            f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>{books}</sheets></workbook>',
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{package}/relationships">{links}</Relationships>',
        )
        for k, rows in enumerate(sheets.values(), start=1):
            body = "".join(line(row, values) for row, values in enumerate(rows, start=1))
            archive.writestr(
                f"xl/worksheets/sheet{k}.xml",
                f'<worksheet xmlns="{main}"><sheetData>{body}</sheetData>{after}</worksheet>',
            )


def locked_workbook_bytes() -> bytes:
    """Return a workbook with a password: an OLE file with an encrypted stream."""
    free, end, none = 0xFFFFFFFF, 0xFFFFFFFE, b"\0" * 16
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + none
    header += struct.pack("<5H6x9I", 62, 3, 0xFFFE, 9, 6, 0, 1, 1, 0, 4096, end, 0, end, 0)
    header += struct.pack("<109I", 0, *[free] * 108)
    chain = struct.pack("<128I", free - 2, end, *range(3, 10), end, *[free] * 118)

    def entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
        text = f"{name}\0".encode("utf-16-le") if name else b""
        numbers = (len(text), kind, 1, free, free, child, none, start, size)
        return struct.pack("<64sHBB3I16s20xIQ", text, *numbers)

    folder = entry("Root Entry", 5, 1, end, 0) + entry("EncryptedPackage", 2, free, 2, 4096)
    return header + chain + folder + 2 * entry("", 0, free, 0, 0) + b"\0" * 4096


def idx_bytes(values: Any) -> bytes:
    """Return bytes in MNIST's format, compressed; the same at any time."""
    array = np.asarray(values, dtype=np.uint8)
    head = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    return gzip.compress(head + array.tobytes(), mtime=0)
