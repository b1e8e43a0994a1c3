"""Warehouses for the catalog's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewriter.catalog import Catalog
from rewriter.catalog.models import Table

from .support import BASE, Warehouse


@pytest.fixture
def w(tmp_path: Path) -> Warehouse:
    return Warehouse(Catalog.open(tmp_path))


@pytest.fixture
def fact(w: Warehouse) -> dict[str, Table]:
    """Hours, days, and a table of months and years, of one fact."""
    tables = {name: w.create(name) for name in BASE}
    w.create_fact(BASE)
    return tables
