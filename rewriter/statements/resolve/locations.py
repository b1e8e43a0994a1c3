"""Formats and locations of tables, as statements give them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from rewriter.catalog.clusters.definitions import Cluster, cluster_root
from rewriter.catalog.model.column_statistics import WRITTEN_BY_CLIENTS
from rewriter.data_formats import DATA_FORMATS, REFUSED_FORMATS
from rewriter.errors import NotSupportedError, Span
from rewriter.uris import is_in_store, is_uri, normalize_uri, shown

if TYPE_CHECKING:
    from rewriter.catalog.catalog import Catalog
    from rewriter.catalog.model.objects import Table
    from rewriter.grammar.terms import Name
    from rewriter.runtime.statement_context import Context


def check_table_format(format: str, position: Span, object: str) -> str:
    """Returns the format of a table in lower case. Raises ``NotSupportedError`` for one that no table can have."""
    lowered = format.lower()
    if lowered in DATA_FORMATS:
        return lowered
    refused = REFUSED_FORMATS.get(lowered)
    reason = None if refused is None else refused.reason
    raise NotSupportedError(
        f"The format {format} is not supported{'.' if reason is None else f': {reason}'}",
        position=position,
        object=object,
        hint=f"Use one of {', '.join(DATA_FORMATS)}.",
    )


def absolute(location: str, base: str | Path, name: Name) -> str:
    """Returns a location as an absolute path, or as a URI in its normal form; relative ones lie below ``base``."""
    if location.startswith("file:"):
        location = "/" + location.removeprefix("file:").lstrip("/")
    if is_uri(location) or (location and is_uri(str(base)) and not location.startswith("/")):
        return _normal_uri(location if is_uri(location) else f"{base}/{location}", name)
    if "://" in location or not location or "\0" in location:
        raise NotSupportedError(
            f"The location '{location}' is not a directory.",
            position=name.span,
            object=name.last,
            hint="Use a path in this machine's file system, or a URI such as s3://bucket/directory.",
        )
    # ``normpath`` keeps two slashes at the beginning, which mean the same as one.
    return os.path.normpath("/" + os.path.join(os.path.abspath(base), location).lstrip("/"))


def another_directory(location: str, resolved: str) -> tuple[str, ...]:
    """Returns a warning, or none, for a relative location of a new table that leads to no directory below the
    warehouse, but would lead to one from the working directory, where the paths of queries start.
    """
    here = os.path.abspath(location)
    if os.path.isabs(location) or is_uri(location) or os.path.exists(resolved) or not os.path.isdir(here):
        return ()
    return (
        f"{resolved} does not exist yet, so the table is empty: a relative LOCATION starts at the warehouse. For the "
        f"files in {here}, write LOCATION '{here}'.",
    )


def root_of_cluster(cluster: Cluster, catalog: Catalog) -> str:
    """Returns the directory above the managed tables of a cluster."""
    return cluster_root(cluster, str(catalog.warehouse.absolute()), catalog.identity)


def local(location: str, base: str | Path, name: Name) -> str:
    """Returns a location in this machine's file system as an absolute path. Raises ``NotSupportedError`` for a URI."""
    if "://" in location and not location.startswith("file:"):
        raise NotSupportedError(
            f"The location '{shown(location)}' is not a local directory.",
            position=name.span,
            object=name.last,
            hint="Use a path in this machine's file system.",
        )
    return absolute(location, base, name)


def _normal_uri(location: str, name: Name) -> str:
    try:
        return normalize_uri(location)
    except ValueError as error:
        raise NotSupportedError(
            f"The location '{shown(location)}' is not supported: {error}.",
            position=name.span,
            object=name.last,
            hint="Use a path in this machine's file system, or a URI without credentials: s3://bucket/directory.",
        ) from None


# What is refused for files in object stores, before anything is written.


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
