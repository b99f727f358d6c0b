"""One HTML file out of a template, a style, a script, Plotly and the data."""

from __future__ import annotations

import hashlib
import html
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
PARTS = ("page.html", "page.css", "view.js", "page.js")


def sources() -> str:
    """Return a digest of template, style and scripts."""
    return hashlib.sha256(b"".join((FOLDER / name).read_bytes() for name in PARTS)).hexdigest()


def page(data: Mapping[str, Any], warning: str = "") -> str:
    """Return the page of :func:`.data.page_data`: HTML that needs no other file.

    A warning stands above everything, without any script.
    """
    from plotly.offline import get_plotlyjs

    template, style, *scripts = ((FOLDER / name).read_text("utf-8") for name in PARTS)
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # In this order: what is put in may hold what is looked for later, and must not be replaced.
    before, _, rest = template.partition("/*STYLE*/")
    middle, _, rest = rest.partition("/*DATA*/")
    note = f'<p class="warning" role="note">{html.escape(warning)}</p>' if warning else ""
    middle = middle.replace("<!--WARNING-->", note)
    between, _, rest = rest.partition("/*PLOTLY*/")
    last, _, after = rest.partition("/*SCRIPT*/")
    # `</script>` in a name would end the element; \u003c is the same to JSON.
    inside = text.replace("<", "\\u003c")
    parts = (before, style, middle, inside, between, get_plotlyjs(), last, *scripts, after)
    return "".join(parts)
