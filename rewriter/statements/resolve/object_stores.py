"""What is refused for files in object stores, before anything is written."""

from __future__ import annotations

from collections.abc import Iterable

from rewriter.catalog.model.column_statistics import WRITTEN_BY_CLIENTS
from rewriter.catalog.model.objects import Table
from rewriter.errors import NotSupportedError, Span
from rewriter.runtime.statement_context import Context
from rewriter.uris import is_in_store, is_uri


def refuse_external_write(table: Table, directories: Iterable[str] = (), position: Span | None = None) -> None:
    """Raises ``NotSupportedError`` OBJECT_STORE_WRITE for an external table whose files, or one of these directories,
    are in an object store: nothing can be renamed there, so readers would see a part of the new files; and CLIENT_TABLE
    for a table of a client of the metastore that only clients write.
    """
    if WRITTEN_BY_CLIENTS in table.properties:
        raise NotSupportedError(
            f"The table {table.name} was created by a client of the metastore with buckets, or with columns that are "
            "never NULL, which sessions of SQL do not check.",
            condition="CLIENT_TABLE",
            sqlstate="0A000",
            position=position,
            object=table.name,
            hint="Write it with the client.",
        )
    place = next((path for path in (table.location, *directories) if is_uri(path)), None)
    if table.external and place is not None:
        raise NotSupportedError(
            f"The external table {table.name} cannot be written: {place} is in an object store, where files cannot be "
            "moved into place.",
            condition="OBJECT_STORE_WRITE",
            sqlstate="0A000",
            position=position,
            object=table.name,
            hint="Write into a managed table: CREATE DATABASE … LOCATION 's3://…' keeps its tables there.",
        )


def refuse_uri(path: str, what: str, hint: str, position: Span | None = None) -> None:
    """Raises ``NotSupportedError`` OBJECT_STORE_UNSUPPORTED for a path in an object store, where ``what`` cannot be."""
    if is_in_store(path):
        raise NotSupportedError(
            f"{what} cannot be in an object store.",
            condition="OBJECT_STORE_UNSUPPORTED",
            sqlstate="0A000",
            position=position,
            object=what,
            hint=hint,
        )


def refuse_spark_write(table: Table, context: Context) -> None:
    """Raises ``NotSupportedError`` OBJECT_STORE_WRITE where a Spark of other machines would write a managed table in an
    object store: files are uploaded from this one. Starts the engine.
    """
    if is_uri(table.location) and not context.engine().writes_here:
        raise NotSupportedError(
            f"This Spark does not write {table.name}, which is in an object store: it runs on other machines, and the "
            "files are uploaded from this one.",
            condition="OBJECT_STORE_WRITE",
            sqlstate="0A000",
            object=table.name,
            hint="Write it with the DuckDB engine (engine duckdb), or with a local Spark (engine local[*]).",
        )
