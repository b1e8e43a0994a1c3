"""Servers for pages of ``docs/``. Each fixture yields what stands for the addresses of its page."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from object_store import CREDENTIALS, ObjectStore
from private_postgres import private_server

#: The fixtures of the pages that need one.
SERVERS = {
    "how-to/object-stores.md": "bucket_of_page",
    "how-to/postgresql.md": "database_of_page",
}


@pytest.fixture
def database_of_page(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """A PostgreSQL server in the place of ``db.example.com``, where the page creates its roles and databases."""
    with private_server(20) as server:
        monkeypatch.setenv("PGHOST", str(sa.make_url(server.url).query["host"]))
        monkeypatch.setenv("PATH", os.pathsep.join([os.environ["PATH"], str(server.commands)]))
        yield {"@db.example.com/": "@/"}


@pytest.fixture
def bucket_of_page(object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An object store in the place of ``minio.example``, with an empty bucket in the place of ``bucket``."""
    for name, value in zip(("MINIO_KEY", "MINIO_SECRET"), CREDENTIALS.values(), strict=True):
        monkeypatch.setenv(name, value)
    return {"http://minio.example:9000": object_store.endpoint, "s3://bucket": object_store.uri}
