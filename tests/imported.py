"""Imports of a metastore as tests run them, and pictures of what a catalog has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from rewriter.catalog.catalog import Catalog
from rewriter.catalog.keys.paths import default_directory
from rewriter.metastore.adoption.plan import Selection
from rewriter.metastore.adoption.report import Report
from rewriter.metastore.adoption.run import Import
from rewriter.metastore.adoption.source import Address, Source
from rewriter.metastore.service.calls.call import Service
from rewriter.metastore.service.server import MetastoreServer


@contextmanager
def served(warehouse: Path) -> Iterator[str]:
    """Serves the catalog of a warehouse as a metastore, and yields the address."""
    with closing(Catalog.open(warehouse)) as catalog:
        server = MetastoreServer(Service(catalog), port=0)
        server.start()
        try:
            yield server.url
        finally:
            server.stop()


@contextmanager
def importing(
    warehouse: Path, url: str, *names: str, batch: int = 2_000, pauses: tuple[float, ...] = (0.01, 0.01)
) -> Iterator[Import]:
    """Yields an import into a warehouse."""
    with closing(Source(Address.parse(url), pauses)) as source, closing(Catalog.open(warehouse)) as catalog:
        yield Import(catalog, source, Selection.parse(names), Report(), batch=batch)


def imported(warehouse: Path, url: str, *names: str, batch: int = 2_000) -> Report:
    """Imports into a warehouse once, and returns the report."""
    with importing(warehouse, url, *names, batch=batch) as one:
        one.everything()
        return one.report


def reasons(report: Report) -> dict[tuple[str, str], str]:
    """Returns the reasons of a report, by object and kind."""
    return {(object_, what): reason for object_, what, _, _, reason in report.rows()}


def picture(warehouse: Path) -> dict[str, Any]:
    """Returns the external tables and the views of a catalog: columns, format, location, comment, partitions."""
    with closing(Catalog.open(warehouse)) as catalog:
        snapshot = catalog.snapshot()
        shown: dict[str, Any] = {}
        for table in snapshot.tables():
            if table.external:
                columns = [(c.name.lower(), c.type, c.comment) for c in table.all_columns]
                places = {
                    p.values: (p.location or default_directory(table, p.values), p.properties.get("numRows"))
                    for p in snapshot.partitions(table)
                }
                own = {key: value for key, value in table.properties.items() if not key.startswith("rewriter.")}
                own.pop("EXTERNAL", None)
                described = (columns, len(table.partition_columns), table.format, table.location, table.comment)
                shown[table.name.lower()] = (*described, own, places)
        for view in snapshot.views():
            shown[view.name.lower()] = (view.query, view.comment)
        return shown


def commits(warehouse: Path) -> int:
    """Returns the number of the newest commit."""
    with closing(Catalog.open(warehouse)) as catalog:
        return catalog.snapshot().sequence
