"""Servers for pages of ``docs/``. Each fixture yields what stands for the addresses of its page."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from private_postgres import private_server

#: The fixtures of the pages that need one.
SERVERS = {
    "how-to/postgresql.md": "database_of_page",
}


@pytest.fixture
def database_of_page(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """A PostgreSQL server in the place of ``db.example.com``, where the page creates its roles and databases."""
    with private_server(20) as server:
        monkeypatch.setenv("PGHOST", str(sa.make_url(server.url).query["host"]))
        monkeypatch.setenv("PATH", os.pathsep.join([os.environ["PATH"], str(server.commands)]))
        yield {"@db.example.com/": "@/"}
