"""The hooks of the site: documents of the project become pages, each page has a Markdown copy, llms.txt lists them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markdownify import markdownify  # type: ignore[import-untyped]
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig

ROOT = Path(__file__).parent
#: Documents outside of ``docs/``, and their pages.
PROJECT = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "benchmarks/README.md": "project/benchmarks.md",
}
_LINK = re.compile(r"\[([^\]\n]*)\]\(([^)\s]+)\)")
_DEFINITION = re.compile(r"^(\[[^\]\n]+\]: )(\S+)$", re.MULTILINE)
_GOLDEN = re.compile(
    r"^```golden\n(?P<command>[^\n]*)\n(?P<input>(?:(?!----$|```$)[^\n]*\n)*)----\n(?P<output>(?:(?!```$)[^\n]*\n)*)```\n",
    re.MULTILINE,
)
_TABLE_ROW = re.compile(r"^\|.*", re.MULTILINE)
#: Commands of golden files that show a part of a query's plan, as statements.
_EXPLAINED = {
    "cover": "EXPLAIN COVER ",
    "scan": "EXPLAIN SCAN ",
    "rewrite": "EXPLAIN REWRITE ",
    "explain": "EXPLAIN ",
    "coverage": "-- the coverage of\n",
}
_markdown: dict[str, str] = {}
_navigation: list[Navigation] = []


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Adds the documents of the project."""
    for source, page in PROJECT.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    return files


def on_nav(nav: Navigation, **_: Any) -> None:
    _navigation[:] = [nav]


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Leads links to documents of the project to their pages. Links to other files outside of the site become text."""
    uri = page.file.src_uri
    sources = {path: source for source, path in PROJECT.items()}
    source = sources.get(uri, f"docs/{uri}")

    def site_address(target: str) -> str | None:
        """Returns the address of the page that has the target, or ``None`` for a file outside of the site."""
        name, mark, anchor = target.partition("#")
        if not name or "://" in target or name.startswith("mailto:"):
            return target
        path = os.path.normpath(os.path.join(os.path.dirname(source), name))
        site_path = PROJECT.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else None)
        return None if site_path is None else f"{os.path.relpath(site_path, os.path.dirname(uri))}{mark}{anchor}"

    def redirected(match: re.Match[str]) -> str:
        text, target = match.groups()
        address = site_address(target)
        return text if address is None else f"[{text}]({address})"

    def redefined(match: re.Match[str]) -> str:
        return f"{match[1]}{site_address(match[2]) or match[2]}"

    _markdown[uri] = _DEFINITION.sub(redefined, _LINK.sub(redirected, markdown))
    return _GOLDEN.sub(_statement_and_output, _TABLE_ROW.sub(_with_plain_bars, _markdown[uri]))


def _with_plain_bars(row: re.Match[str]) -> str:
    """Returns a row of a table whose code has ``|`` for the ``\\|`` of GitHub, which the site would show."""
    return re.sub(r"`[^`\n]*`", lambda code: code[0].replace("\\|", "|"), row[0])


def _statement_and_output(case: re.Match[str]) -> str:
    """Shows a case of a golden file as a statement, in its colors, and its output."""
    command, *options = case["command"].split()
    kind = _EXPLAINED.get(command, "")
    if options and options[0].startswith("what="):
        kind += f"{options.pop(0).removeprefix('what=')} "
    note = f"-- {' '.join(options)}\n" if options else ""
    separator = "----\n----\n" if case["output"].startswith("----\n") else ""
    output = case["output"].removeprefix("----\n").removesuffix(separator)
    parts = [f"```sql\n{note}{kind}{case['input']}```\n", f"```text\n{output}```\n" if output else ""]
    return "".join(parts)


def on_page_content(html: str, page: Page, **_: Any) -> None:
    """The API is in docstrings: its Markdown is that of the page."""
    if re.search(r"^::: ", _markdown[page.file.src_uri], re.MULTILINE):
        _markdown[page.file.src_uri] = markdownify(html, heading_style="ATX", strip=["svg"])


def on_post_build(config: MkDocsConfig, **_: Any) -> None:
    site = Path(config.site_dir)
    for uri, markdown in _markdown.items():
        path = site / uri
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(markdown, encoding="utf-8")
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", ""]
    for item in _navigation[0].items:
        if isinstance(item, Section):
            lines += [f"## {item.title}", "", *_entries(item), ""]
    (site / "llms.txt").write_text("\n".join(lines), encoding="utf-8")


def _entries(section: Section) -> list[str]:
    rows = []
    for item in section.children:
        if isinstance(item, Section):
            rows += _entries(item)
        elif isinstance(item, Page):
            uri = item.file.src_uri
            rows.append(f"- [{item.title}]({uri}): {_first_sentence(_markdown[uri])}")
    return rows


def _first_sentence(markdown: str) -> str:
    """Returns the first sentence of a page's text, without links and marks."""
    markdown = re.sub(r"^```.*?^```$", "", markdown, flags=re.MULTILINE | re.DOTALL)
    paragraphs = (part for part in markdown.split("\n\n") if part.strip() and part[0] not in "#`|<!:-")
    text = " ".join(next(paragraphs, "").split())
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("`", "").replace("**", "")
    return re.split(r"(?<=[.:])\s", text)[0].rstrip(":")
