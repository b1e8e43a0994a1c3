"""Hidden partition columns, whose values are computed from each row (``days(ts)``): what cannot be one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewriter.errors import NotSupportedError

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column, Table


def hidden_column(table: Table) -> Column | None:
    """Returns the first hidden partition column of a table."""
    return next((column for column in table.partition_columns if column.transform is not None), None)


def files_of_others(table: Table, column: Column) -> NotSupportedError:
    """Returns the error for files that would become a partition as they are."""
    source = "" if column.transform is None else column.transform.source
    return NotSupportedError(
        f"Files cannot become a partition of {table.name} as they are: {column.name} is computed from the {source} of "
        "each row.",
        object=table.name,
        hint=f"INSERT INTO {table.name} SELECT … FROM parquet.`path` reads the files.",
    )
