"""A real headless Chromium for tests of pages, which loads nothing that a test does not serve."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page, Request

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str:
    """Returns the path of Chromium: that which ``REWRITER_TEST_CHROMIUM`` names, or the system's. Skips without one."""
    named = os.environ.get("REWRITER_TEST_CHROMIUM")
    found = shutil.which(named) if named else next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None and named:
        pytest.fail(f"REWRITER_TEST_CHROMIUM names {named}, which is no program")
    if found is None:
        pytest.skip("there is no Chromium: REWRITER_TEST_CHROMIUM names one")
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Starts Chromium for a module: as long as it runs, no other test in this process can start an event loop."""
    path = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield launched
        launched.close()


@dataclass
class Watched:
    """A page, what it asked for, and what went wrong on it. Requests to other hosts than ``host`` are cut off."""

    page: Page
    host: str = ""
    requests: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def check(self) -> None:
        """Asserts that nothing went wrong, and that no other host was asked."""
        assert self.problems == []
        assert [url for url in self.requests if not url.startswith((f"http://{self.host}/", "file:", "data:"))] == []


@pytest.fixture
def watched(browser: Browser) -> Iterator[Watched]:
    page = browser.new_page(viewport={"width": 1000, "height": 700}, timezone_id="Asia/Tokyo")
    watched = Watched(page)

    def note(request: Request) -> None:
        watched.requests.append(request.url)

    def dismiss(dialog: Dialog) -> None:
        watched.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    page.on("request", note)
    page.on("console", lambda message: watched.problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: watched.problems.append(str(error)))
    page.on("dialog", dismiss)
    page.route(
        lambda url: not url.startswith((f"http://{watched.host}/", "file:", "data:")), lambda route: route.abort()
    )
    yield watched
    page.close()
