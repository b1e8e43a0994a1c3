"""Warehouses for the catalog's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.catalog import Catalog
from rewriter.catalog.model.objects import Table

from .support import BASE, Warehouse


@pytest.fixture
def w(tmp_path: Path, catalog_url: str | None) -> Iterator[Warehouse]:
    """Creates an empty warehouse, on each database in turn."""
    warehouse = Warehouse(Catalog.open(tmp_path, catalog_url), catalog_url)
    yield warehouse
    warehouse.catalog.close()


@pytest.fixture
def fact(w: Warehouse) -> dict[str, Table]:
    """Creates hours, days, and a table of months and years, of one fact."""
    tables = {name: w.create(name) for name in BASE}
    w.create_fact(BASE)
    return tables
