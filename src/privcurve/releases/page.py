"""A document of headings, texts, lists and tables, written as Markdown and as one page of HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from tabulate import tabulate


@dataclass(frozen=True)
class Heading:
    """The title of a section."""

    text: str


@dataclass(frozen=True)
class Text:
    """A paragraph; a warning stands out."""

    text: str
    warning: bool = False


@dataclass(frozen=True)
class Points:
    """A list."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Code:
    """Text whose lines are to stay as they are."""

    text: str


@dataclass(frozen=True)
class Rows:
    """A table.

    Attributes
    ----------
    header : tuple of str
    rows : sequence of sequences of str
    bars : sequence of float
        One number a row, drawn beside it on the page; empty for none.
    largest : float
        The number of the longest bar; of these by default.
    """

    header: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    bars: Sequence[float] = ()
    largest: float = 0.0


Block = Heading | Text | Points | Code | Rows


@dataclass(frozen=True)
class Page:
    """A document."""

    title: str
    blocks: tuple[Block, ...]

    def markdown(self) -> str:
        """Write it as Markdown."""
        parts = [f"# {_plain(self.title)}", *map(_markdown, self.blocks)]
        return "\n\n".join(parts) + "\n"

    def html(self) -> str:
        """Write it as one file of HTML, which needs no network and runs no program."""
        body = "\n".join(map(_html, self.blocks))
        title = html.escape(self.title)
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
            f"<h1>{title}</h1>\n{body}\n</main>\n</body>\n</html>\n"
        )


def _markdown(block: Block) -> str:
    match block:
        case Heading(text):
            return f"## {text}"
        case Text(text, warning):
            return f"**{_plain(text)}**" if warning else _plain(text)
        case Points(items):
            return "\n".join(f"- {_plain(item)}" for item in items)
        case Code(text):
            return f"```\n{text}\n```"
        case Rows(header, rows):
            names, *cells = ([_cell(text) for text in row] for row in (header, *rows))
            return tabulate(cells, headers=names, tablefmt="pipe", disable_numparse=True)


# What means something to Markdown; names of columns have some of it.
_SPECIAL = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_<[]"} | {"\n": " "})


def _plain(text: str) -> str:
    return text.translate(_SPECIAL)


def _cell(text: str) -> str:
    return _plain(text).replace("|", r"\|")


def _html(block: Block) -> str:
    match block:
        case Heading(text):
            return f"<h2>{html.escape(text)}</h2>"
        case Text(text, warning):
            mark = ' class="warning" role="note"' if warning else ""
            return f"<p{mark}>{html.escape(text)}</p>"
        case Points(items):
            inner = "".join(f"<li>{html.escape(item)}</li>" for item in items)
            return f"<ul>{inner}</ul>"
        case Code(text):
            return f'<pre tabindex="0">{html.escape(text)}</pre>'
        case Rows():
            return _table(block)


def _table(block: Rows) -> str:
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in block.header)
    if block.bars:
        head += '<th scope="col" aria-hidden="true"></th>'
    largest = max(block.largest, *map(abs, block.bars), 1e-9)
    lines = []
    for k, row in enumerate(block.rows):
        cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in row)
        if block.bars:
            cells += f'<td class="bar" aria-hidden="true">{_bar(block.bars[k] / largest)}</td>'
        lines.append(f"<tr>{cells}</tr>")
    return (
        f'<div class="wide" tabindex="0"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _bar(share: float) -> str:
    """Draw a number from −1 to 1 as a bar to the left or right of a middle."""
    width = 50 * abs(share)
    start = 50.0 if share > 0 else 50 - width
    kind = "up" if share > 0 else "down"
    return (
        '<svg width="120" height="12" viewBox="0 0 100 10" preserveAspectRatio="none">'
        '<line x1="50" y1="0" x2="50" y2="10"/>'
        f'<rect class="{kind}" x="{start:.1f}" y="1" width="{width:.1f}" height="8"/></svg>'
    )


_STYLE = """
:root { color-scheme: light dark; --line: #c8c8c8; --soft: #f4f4f2; --mark: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --line: #555; --soft: #222; --mark: #ff8a80; } }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; }
main { max-width: 52rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.6rem; line-height: 1.25; } h2 { font-size: 1.2rem; margin-top: 2rem; }
.wide { overflow-x: auto; margin-bottom: 1rem; }
table { border-collapse: collapse; font-size: 0.9rem; }
th, td { text-align: left; padding: 0.2rem 0.7rem 0.2rem 0; border-bottom: 1px solid var(--line); }
td { font-variant-numeric: tabular-nums; } .bar { min-width: 120px; }
svg line { stroke: currentColor; stroke-width: 0.6; } .up { fill: #0072b2; }
.down { fill: #d55e00; }
pre { background: var(--soft); padding: 0.7rem; overflow-x: auto; white-space: pre-wrap; }
.warning { border-left: 4px solid var(--mark); padding-left: 0.7rem; font-weight: 600; }
"""
