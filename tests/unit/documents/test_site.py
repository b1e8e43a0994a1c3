"""The site: it builds without a warning, needs no other host, and its links lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from page_runner import DOCS, ROOT

#: Tags whose addresses a browser loads.
LOADED = {"img", "script", "iframe", "source", "embed", "object", "video", "audio"}


class _Page(HTMLParser):
    """The links, the identifiers and the loaded addresses of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.anchors |= {attributes[name] for name in ("id", "name") if name in attributes}
        address = attributes.get("href", attributes.get("src", ""))
        if tag == "a":
            self.links.append(address)
        elif tag in LOADED or (tag == "link" and attributes.get("rel") != "canonical"):
            self.loaded.append(address)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(directory)],
        cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    return directory


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, _Page]:
    return {path: _Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


def test_each_page_is_there_as_html_and_as_markdown(site: Path) -> None:
    names = [page.relative_to(DOCS) for page in DOCS.rglob("*.md")]
    assert [name for name in names if not (site / name).exists()] == []
    assert [name for name in names if not (site / name).with_suffix(".html").exists()] == []


def test_llms_txt_lists_each_page_with_a_sentence(site: Path) -> None:
    text = (site / "llms.txt").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^- \[[^\]]+\]\(([^)]+)\): (.*)$", text, re.MULTILINE))
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert pages <= set(rows)
    assert [name for name in rows if not (site / name).exists()] == []
    assert [name for name, sentence in rows.items() if len(sentence) < 15] == []


def test_links_and_anchors_lead_somewhere(pages: dict[Path, _Page], site: Path) -> None:
    dead = []
    for path, page in pages.items():
        if path.name == "404.html":
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or not link:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].anchors):
                dead.append(f"{path.relative_to(site)}: {link}")
    assert dead == []


def test_markdown_copies_link_to_copies(site: Path) -> None:
    dead = []
    for path in site.rglob("*.md"):
        text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            if "://" not in link and not (path.parent / link).exists():
                dead.append(f"{path.relative_to(site)}: {link}")
    assert dead == []


def test_nothing_is_loaded_from_another_host(pages: dict[Path, _Page], site: Path) -> None:
    assert {
        address
        for page in pages.values()
        for address in page.loaded
        if urlsplit(address).scheme or urlsplit(address).netloc
    } == set()
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert not re.search(r"@import|url\(['\"]?(?:https?:)?//", text), style


@pytest.mark.browser
def test_the_search_works_without_a_server(site: Path, browser: object) -> None:
    page = browser.new_page()  # type: ignore[attr-defined]
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto((site / "index.html").as_uri())
    page.keyboard.press("/")
    page.keyboard.type("outdated")
    page.locator(".md-search-result__item").first.wait_for()
    page.close()
    assert [url for url in requests if not url.startswith(("file:", "data:", "about:"))] == []
