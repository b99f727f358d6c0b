"""Add pages to the site: Markdown files outside this folder, and generated reference pages."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent

# Files outside docs/ that become pages: path in the repository → path in the site.
PAGES = {
    "config/README.md": "config.md",
    **{
        f"papers/{paper.parent.name}/README.md": f"{paper.parent.name}.md"
        for paper in sorted(ROOT.glob("papers/*/README.md"))
    },
    **{
        f"papers/{paper.parent.name}/proofs.md": f"{paper.parent.name}_proofs.md"
        for paper in sorted(ROOT.glob("papers/*/proofs.md"))
    },
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
ASKS = re.compile(r"<(?:script|img|link|iframe)\b[^>]*(?:src|href)=.?https?://[^>]*")
LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s]+\.\w+)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages from outside this folder and the generated pages."""
    for source, page in PAGES.items():
        text = (ROOT / source).read_text("utf-8")
        files.append(File.generated(config, page, content=_linked(text, (ROOT / source).parent)))
    for page, write in GENERATED.items():
        files.append(File.generated(config, page, content="\n".join(write())))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Point links to files outside this folder to the pages made from these files."""
    source = page.file.abs_src_path
    return _linked(markdown, Path(source).parent) if source else markdown


def on_page_content(html: str, **_: Any) -> str:
    """Drop the Sphinx roles of docstrings."""
    return re.sub(r":(?:class|func|meth|mod):<code>~?", "<code>", html)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Refuse a page that loads anything from a network."""
    if match := ASKS.search(output):
        raise PluginError(f"{page.file.src_uri} must not load from a network; got {match[0]}")
    return output


def _linked(text: str, folder: Path) -> str:
    """Replace links to files of the repository by links to pages of the site, or by plain text."""
    below = folder.relative_to(DOCS) if folder.is_relative_to(DOCS) else Path()
    up = "../" * len(below.parts)

    def link(match: re.Match[str]) -> str:
        text, target, anchor = match[1], match[2], match[3] or ""
        path = (folder / target).resolve()
        if "://" in target or not path.exists():
            return match[0]
        inside = str(path.relative_to(ROOT))
        if inside in PAGES:
            return f"[{text}]({up}{PAGES[inside]}{anchor})"
        if path.is_relative_to(DOCS) and not path.is_relative_to(DOCS / "research"):
            return f"[{text}]({up}{path.relative_to(DOCS)}{anchor})"
        return text

    return LINK.sub(link, text)


def _commands() -> Iterator[str]:
    """Yield the help of each command, as the command prints it."""
    from privcurve.cli.main import COMMANDS, _parser

    parser = _parser()
    yield "# Commands\n\nThe output of `privcurve --help` and `privcurve <command> --help`.\n"
    yield _help("privcurve", parser)
    (choices,) = (action.choices for action in parser._actions if isinstance(action.choices, dict))
    for name in COMMANDS:
        yield _help(f"privcurve {name}", choices[name])


def _help(name: str, parser: argparse.ArgumentParser) -> str:
    return f"## {name}\n\n```text\n{parser.format_help()}\n```\n"


def _learners() -> Iterator[str]:
    """Yield the registry: names, calibrations and parameters of the learners."""
    from privcurve.learners.registry import LEARNERS

    yield "# Learners\n\nThe registry. Study files and `--learner` use these names.\n"
    for name, entry in LEARNERS.items():
        path = entry.path.replace(":", ".")
        yield f"## {name}\n\n**{entry.title}**, version {entry.version}. `{path}`\n"
        facts = {
            "noise": ", ".join(entry.calibrations) or "none: no privacy",
            "neighbours": ", ".join(entry.neighbours) if entry.private else "",
            "δ": _deltas(entry) if entry.private else "",
            "classes": "two or more" if entry.multiclass else "two",
            "needs": ", ".join(entry.needs),
        }
        yield "\n".join(f"- {key}: {value}" for key, value in facts.items() if value) + "\n"
        if entry.parameters:
            yield "| parameter | default | values |\n|---|---|---|"
            for key, parameter in entry.parameters.items():
                default = _cell(repr(parameter.default))
                yield f"| `{key}` | {default} | {_cell(str(parameter))} |"
            yield ""


def _deltas(entry: Any) -> str:
    if not entry.approximate:
        return "0"
    return "0 or above" if entry.pure else "above 0"


def _outputs() -> Iterator[str]:
    """Yield the outputs of a study with their options."""
    from privcurve.outputs.base import REQUIRED
    from privcurve.outputs.registry import OUTPUTS

    yield "# Outputs\n\nA study lists outputs under `outputs`; `python -m privcurve.outputs` prints"
    yield "this list too. Each output also takes a `name`: its file below `results/tables` and"
    yield "`results/figures`, and its target.\n"
    for word, output in OUTPUTS.items():
        yield f"## {word}\n\n{(output.__doc__ or '').splitlines()[0].replace('``', '`')}\n"
        for name, option in output.options.items():
            default = "needed" if option.default is REQUIRED else f"default `{option.default}`"
            yield f"- `{name}`: {_cell(option.meaning)} ({default})"
        yield ""


def _datasets() -> Iterator[str]:
    """Yield the datasets that ship, with their sizes."""
    from privcurve.datasets import describe

    yield "# Datasets that ship\n\nFrom their descriptions, `resources/datasets/<name>.yaml`."
    yield "[Datasets](../datasets.md) says where they are used. *Bins* are the intervals and"
    yield "categories of all columns together.\n"
    yield "| name | title | records | test | columns | bins |\n|---|---|---|---|---|---|"
    for path in sorted((ROOT / "resources/datasets").glob("*.yaml")):
        one = describe(path.stem)
        sizes = (one.n_rows, one.n_test, len(one.domain.columns), sum(one.domain.n_bins))
        cells = (f"`{path.stem}`", _cell(one.title), *(f"{size:,}" for size in sizes))
        yield f"| {' | '.join(cells)} |"


def _description() -> Iterator[str]:
    """Yield the keys of a description, from the schema that checks it."""
    schema = yaml.safe_load((ROOT / "src/privcurve/datasets/dataset.schema.yaml").read_text())
    yield "# Keys of a description\n\nFrom the schema that checks each description."
    yield "[Datasets](../datasets.md) explains some of them further.\n"
    yield from _keys(schema, schema, "")


def _keys(schema: Any, top: Any, indent: str) -> Iterator[str]:
    for key, value in schema.get("properties", {}).items():
        while "$ref" in value:
            there = top["$defs"][value["$ref"].rpartition("/")[2]]
            value = {**there, **{k: v for k, v in value.items() if k != "$ref"}}
        yield f"{indent}- `{key}`: {_cell(value.get('description', ''))}"
        yield from _keys(value.get("items", value), top, indent + "    ")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


GENERATED: dict[str, Callable[[], Iterator[str]]] = {
    "reference/commands.md": _commands,
    "reference/learners.md": _learners,
    "reference/outputs.md": _outputs,
    "reference/datasets.md": _datasets,
    "reference/description.md": _description,
}
