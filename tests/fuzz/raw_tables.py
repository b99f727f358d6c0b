"""A small table, and its bytes as a file of each kind."""

from __future__ import annotations

import gzip
import io
import struct
from dataclasses import dataclass, field
from typing import Any

from raw_files import write_workbook


@dataclass
class Table:
    """Rows of cells, the names of their columns, and the layout of the file."""

    kind: str
    names: list[str]
    rows: list[list[Any]]
    separator: str = ","
    header: bool = True
    above: str = ""
    encoding: str = "utf-8"
    line_end: str = "\n"
    types: dict[str, str] = field(default_factory=dict)
    sheet: str = "Sheet1"
    merged: tuple[str, ...] = ()
    packed: bool = False

    def written(self, folder):
        """Return the bytes of the file."""
        data = getattr(self, f"_{self.kind}")(folder)
        return gzip.compress(data, mtime=0) if self.packed else data

    def _delimited(self, folder):
        rows = [self.names, *self.rows] if self.header else self.rows
        return (self.above + "".join(map(self._line, rows))).encode(self.encoding, "replace")

    def _line(self, cells):
        quoted = {self.separator, '"', "\n", "\r"}
        texts = [
            '"' + text.replace('"', '""') + '"' if quoted & set(text) else text
            for text in map(str, cells)
        ]
        return self.separator.join(texts) + self.line_end

    def _libsvm(self, folder):
        lines = [" ".join([str(row[-1]), *row[:-1]]) + self.line_end for row in self.rows]
        return (self.above + "".join(lines)).encode(self.encoding, "replace")

    def _parquet(self, folder):
        import pyarrow
        from pyarrow import parquet

        columns = list(zip(*self.rows, strict=True)) or [() for _ in self.names]
        arrays = []
        for name, values in zip(self.names, columns, strict=True):
            kind = self.types.get(name)
            if kind == "dictionary":
                arrays.append(pyarrow.array(values).dictionary_encode())
            else:
                arrays.append(pyarrow.array(values, kind and pyarrow.type_for_alias(kind)))
        stream = io.BytesIO()
        parquet.write_table(pyarrow.Table.from_arrays(arrays, self.names), stream)
        return stream.getvalue()

    def _excel(self, folder):
        path = folder / "written.xlsx"
        above = [[text] for text in self.above.splitlines()]
        rows = [*above, *([self.names] if self.header else []), *self.rows]
        write_workbook(path, {"About": [["x"]], self.sheet: rows}, self.merged)
        return path.read_bytes()

    def _idx(self, folder):
        shape = (len(self.rows), *((2, 2) if len(self.names) == 4 else (len(self.names),)))
        shape = shape[:1] if self.names == ["label"] else shape
        head = struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape)
        return head + bytes(cell for row in self.rows for cell in row)
