"""The tables of a warehouse, as a conversion needs them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rewriter.convert.script_state import KnownTable, known_table

if TYPE_CHECKING:
    from rewriter.catalog.catalog import Catalog


def warehouse_tables(catalog: Catalog) -> dict[str, KnownTable]:
    """Returns the tables of the catalog by their last names, in lower case. Tables of several databases that have the
    same name are left out: which of them a script means is not certain.
    """
    tables = catalog.snapshot().tables()
    counts = Counter(table.name.rpartition(".")[2].lower() for table in tables)
    return {
        name: known_table(
            {column.name: column.type for column in table.all_columns},
            tuple(column.name for column in table.partition_columns),
            is_of_spark=False,
        )
        for table in tables
        if counts[name := table.name.rpartition(".")[2].lower()] == 1
    }
