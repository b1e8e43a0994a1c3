"""The choice between packed files, which hold several partitions each, and files by partition."""

from __future__ import annotations

from rewriter.catalog.commit.reserved_properties import is_packed
from rewriter.catalog.model.objects import Table
from rewriter.exec.engine import Packing
from rewriter.runtime.statement_context import Context


def packing_of(table: Table, context: Context) -> Packing | None:
    """Returns how a write packs the partitions of a table; ``None`` if each partition has files of its own."""
    if not is_packed(table):
        return None
    return Packing(table.partition_columns, context.settings.target_file_bytes)
