"""A document of headings, texts, lists and tables, written as Markdown and as one page of HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from tabulate import tabulate


@dataclass(frozen=True)
class Heading:
    """The title of a section; of one in a part of the page, with level 3."""

    text: str
    level: int = 2


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
    """A table."""

    header: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    bars: Sequence[float] = ()  # one number a row, drawn beside it on the page; empty for none
    errors: Sequence[float] = ()  # the standard error of each of these numbers, drawn over its bar
    largest: float = 0.0  # the number of the longest bar, with its error; of these by default


@dataclass(frozen=True)
class Part:
    """A part of the page that is folded away until someone opens it."""

    title: str
    blocks: tuple[Block, ...]


Block = Heading | Text | Points | Code | Rows | Part


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
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Part(title, blocks):
            return "\n\n".join([f"## {title}", *map(_markdown, blocks)])
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
        case Heading(text, level):
            return f"<h{level}>{html.escape(text)}</h{level}>"
        case Part(title, blocks):
            inner = "\n".join(map(_html, blocks))
            return (
                f"<details>\n<summary><h2>{html.escape(title)}</h2></summary>\n{inner}\n</details>"
            )
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
    errors = block.errors or [0.0] * len(block.bars)
    ends = [abs(bar) + error for bar, error in zip(block.bars, errors, strict=True)]
    largest = max(block.largest, *ends, 1e-9)
    lines = []
    for k, row in enumerate(block.rows):
        cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in row)
        if block.bars:
            bar = _bar(block.bars[k] / largest, errors[k] / largest)
            cells += f'<td class="bar" aria-hidden="true">{bar}</td>'
        lines.append(f"<tr>{cells}</tr>")
    return (
        f'<div class="wide" tabindex="0"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _bar(share: float, error: float) -> str:
    """Draw a number from −1 to 1 as a bar to the left or right of a middle, with its error."""
    width = 50 * abs(share)
    start = 50.0 if share > 0 else 50 - width
    kind = "up" if share > 0 else "down"
    low, high = 50 * (1 + share - error), 50 * (1 + share + error)
    whisker = f'<path class="error" d="M{low:.1f} 2V8M{low:.1f} 5H{high:.1f}M{high:.1f} 2V8"/>'
    return (
        '<svg width="120" height="12" viewBox="0 0 100 10" preserveAspectRatio="none">'
        '<line x1="50" y1="0" x2="50" y2="10"/>'
        f'<rect class="{kind}" x="{start:.1f}" y="1" width="{width:.1f}" height="8"/>'
        f"{whisker if error else ''}</svg>"
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
svg line, .error { stroke: currentColor; stroke-width: 1px; vector-effect: non-scaling-stroke; }
.error { fill: none; } .up { fill: #0072b2; } .down { fill: #d55e00; }
td { overflow-wrap: break-word; } h3 { font-size: 1.05rem; margin-top: 1.5rem; }
details { border-top: 1px solid var(--line); margin-top: 2rem; } summary { cursor: pointer; }
summary h2 { display: inline; line-height: 3; }
pre { background: var(--soft); padding: 0.7rem; overflow-x: auto; white-space: pre-wrap; }
.warning { border-left: 4px solid var(--mark); padding-left: 0.7rem; font-weight: 600; }
"""
