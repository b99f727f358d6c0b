"""Write a document of headings, texts, lists, tables and pictures as Markdown or as an HTML page.

The HTML page requests nothing from the network and runs no script, so that all readers see the
same.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tabulate import tabulate

from privcurve.figures import pictures

# Style sheet of HTML pages and of their pictures.
CSS = Path(__file__).with_name("page.css")


class Heading(NamedTuple):
    """The title of a section; `level` is the level in HTML (2 for h2)."""

    text: str
    level: int = 2


class Text(NamedTuple):
    """A paragraph; a warning or an answer is highlighted."""

    text: str
    warning: bool = False
    answer: bool = False


class Points(NamedTuple):
    """A bulleted list."""

    items: tuple[str, ...]


class Links(NamedTuple):
    """A list of links to headings of the same page."""

    headings: tuple[str, ...]


class Code(NamedTuple):
    """Preformatted text, whose line breaks stay."""

    text: str


class Rows(NamedTuple):
    """A table with a header."""

    header: tuple[str, ...]
    rows: Sequence[Sequence[str]]


class Picture(NamedTuple):
    """A picture, as HTML from :mod:`privcurve.figures.pictures`, with a title and a caption."""

    html: str
    caption: str = ""
    title: str = ""


class Folded(NamedTuple):
    """Blocks of a page that are hidden until the reader unfolds them or prints the page."""

    title: str
    blocks: tuple[Block, ...]
    level: int = 2


Block = Heading | Text | Points | Links | Code | Rows | Picture | Folded


class Page(NamedTuple):
    """A document: a title and a sequence of blocks."""

    title: str
    blocks: tuple[Block, ...]

    def markdown(self) -> str:
        """Return the document as Markdown, without pictures, links and folded blocks."""
        parts = [f"# {_escape(self.title)}", *map(_markdown, self.blocks)]
        return "\n\n".join(part for part in parts if part) + "\n"

    def html(self) -> str:
        """Return the document as a complete HTML file."""
        body = "\n".join(map(_html, self.blocks))
        title = html.escape(self.title)
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
            "style-src 'unsafe-inline'; img-src data:\">\n"
            '<meta name="color-scheme" content="light dark">\n'
            f'<title>{title}</title>\n<link rel="icon" href="data:,">\n'
            f"<style>\n{CSS.read_text('utf-8')}{pictures.palette()}</style>\n</head>\n<body>\n<main>\n"
            f"<h1>{title}</h1>\n{body}\n</main>\n</body>\n</html>\n"
        )


def _markdown(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {_escape(text)}"
        case Text(text, warning):
            return f"**{_escape(text)}**" if warning else _escape(text)
        case Points(items):
            return "\n".join(f"- {_escape(item)}" for item in items)
        case Code(text):
            return f"```\n{text}\n```"
        case Rows(header, rows):
            names, *cells = ([_escape_cell(text) for text in row] for row in (header, *rows))
            return tabulate(cells, headers=names, tablefmt="pipe", disable_numparse=True)
        case _:
            return ""


# Escapes of characters with a meaning in Markdown, which names of columns may contain.
_SPECIAL = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_<[]"} | {"\n": " "})


def _escape(text: str) -> str:
    return text.translate(_SPECIAL)


def _escape_cell(text: str) -> str:
    return _escape(text).replace("|", r"\|")


def _anchor(text: str) -> str:
    return re.sub(r"\W+", "-", text)


def _html(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f'<h{level} id="{_anchor(text)}">{html.escape(text)}</h{level}>'
        case Folded(title, blocks, level):
            inner = "\n".join(map(_html, blocks))
            heading = f"<h{level}>{html.escape(title)}</h{level}>"
            return f"<details>\n<summary>{heading}</summary>\n{inner}\n</details>"
        case Text(text, warning, answer):
            kind = "warning" if warning else "answer" if answer else ""
            mark = f' class="{kind}"' + ' role="note"' * warning if kind else ""
            return f"<p{mark}>{html.escape(text)}</p>"
        case Points(items):
            inner = "".join(f"<li>{html.escape(item)}</li>" for item in items)
            return f"<ul>{inner}</ul>"
        case Links(headings):
            inner = "".join(
                f'<li><a href="#{_anchor(text)}">{html.escape(text)}</a></li>' for text in headings
            )
            return f"<nav><ul>{inner}</ul></nav>"
        case Code(text):
            return f'<pre tabindex="0">{html.escape(text)}</pre>'
        case Picture(drawing, caption, title):
            above = f"<h4>{html.escape(title)}</h4>" if title else ""
            below = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
            return f"<figure>{above}{drawing}{below}</figure>"
        case Rows(header, rows):
            head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in header)
            cells = ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows]
            body = "".join(f"<tr>{row}</tr>" for row in cells)
            return (
                f'<div class="wide" tabindex="0"><table><thead><tr>{head}</tr></thead>'
                f"<tbody>{body}</tbody></table></div>"
            )
