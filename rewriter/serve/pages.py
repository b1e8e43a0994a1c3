"""The pages. They have no data: their script fetches it, again and again, and sets it as text."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.display.html.coverage_picture import html_text
from rewriter.display.html.page import page, resource

#: What ``page`` adds to the policy of these pages: the script fetches from this server alone.
POLICY = ("connect-src 'self'",)
_NAVIGATION = '<nav><a href="./">Facts</a><a href="query">What would a query read?</a></nav>'
_NO_SCRIPT = "<noscript><p>This page needs scripts: it shows the present state.</p></noscript>"
_STATUS = '<p class="soft" id="status" role="status"></p>'


def facts_page(warehouse: str) -> str:
    """Returns the page of all facts and the recent commits."""
    body = [
        f"<h1>{html_text(warehouse, 300)}</h1>",
        '<h2>Facts</h2><div class="scroll"><table id="facts"></table></div>',
        '<h2>Recent commits</h2><div class="scroll"><table id="commits"></table></div>',
    ]
    return _page(f"Facts of {warehouse}", body)


def fact_page(name: str) -> str:
    """Returns the page of a fact, which need not exist: the script shows the error."""
    return _page(name, [f'<h1 id="title">{html_text(name, 300)}</h1>', '<div class="chart" id="chart"></div>'])


def query_page() -> str:
    """Returns the page with the text of a query."""
    body = [
        "<h1>What would a query read?</h1>",
        '<form id="query"><label for="sql">The query is planned, and never run.</label>'
        '<textarea id="sql" spellcheck="false" autofocus></textarea>'
        '<p><button type="submit">Plan it</button> <span class="soft">or Ctrl+Enter</span></p></form>',
        '<div id="plan"></div>',
    ]
    return _page("What would a query read?", body)


def _page(title: str, body: Sequence[str]) -> str:
    scripts = [resource("chart.js"), resource("live.js", "rewriter.serve")]
    return page(title, [_NAVIGATION, _NO_SCRIPT, *body, _STATUS], scripts, policy=POLICY)
