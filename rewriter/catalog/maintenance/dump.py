"""A catalog as text: JSON, a line for the header, one for each row, one for the end. The same on both databases.

A row is ``["table", value, …]`` with values in the order of the header's columns; bytes are ``{"hex": "…"}``. State of
one running server is left out: leases, claims, and the version, which the header has.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rewriter.catalog.maintenance.warehouse_identity import (
    Identity,
    apply_new_identity,
    read_identity,
    record_new_identity,
)
from rewriter.catalog.model import json_codec
from rewriter.catalog.reading.history import has_date
from rewriter.catalog.store import schema
from rewriter.catalog.store.backend import warehouse_of
from rewriter.catalog.store.sql_differences import differences_of
from rewriter.errors import DataError, IntegrityError, OperationalError
from rewriter.terminal_text import printable

if TYPE_CHECKING:
    from rewriter.catalog.store.database import Database

#: The ``format`` of the header.
_FORMAT = "rewriter catalog dump 1"

_EXCLUDED_TABLES = (
    schema.schema_version.name,
    schema.leases.name,
    schema.refresh_claims.name,
    schema.warehouse.name,
)
_BATCH = 1000
#: Neither database stores these in a text.
_NOT_STORED = re.compile("[\0\ud800-\udfff]")


def dump(database: Database, warehouse: Path) -> Iterator[str]:
    """Yields the lines of a catalog, each with its newline, from one state of the database. O(rows), streamed.

    The header contains the identity and the directory of the warehouse.
    """
    tables = _tables()
    columns = {table.name: [column.name for column in table.columns] for table in tables}
    count = 0
    with database.read() as connection:
        identity = connection.execute(sa.select(schema.warehouse.c.identity)).scalar()
        warehouse_fields = {"identity": identity, "warehouse": str(warehouse)}
        yield _line({"format": _FORMAT, "version": database.version, **warehouse_fields, "columns": columns})
        for table in tables:
            query = sa.select(table).order_by(*table.primary_key.columns)
            with connection.execute(query.execution_options(yield_per=_BATCH)) as result:
                for row in result:
                    yield _line([table.name, *map(_encoded_value, row)])
                    count += 1
    yield _line({"rows": count})


def restore(database: Database, warehouse: Path, lines: Iterable[str], *, adopt: bool = False) -> int:
    """Fills an empty catalog with the rows of a dump, all or none, and returns their number. O(rows).

    The warehouse gets a new identity, so no other catalog of it can be used any more. Files on disk that are not in the
    dump count as another catalog's. With ``adopt`` the dump may be of any warehouse.
    Raises ``IntegrityError`` CATALOG_NOT_EMPTY; ``DataError`` INVALID_DUMP for a text that is not a complete dump;
    ``OperationalError`` DUMP_OF_ANOTHER_VERSION, and CATALOG_OF_ANOTHER_WAREHOUSE if the directory has an identity that
    the dump does not have.
    """
    remaining_lines = _bounded(lines)
    header = _header(next(remaining_lines, ""))
    old_identity = read_identity(warehouse)
    _check_header(header, database, warehouse)
    if not adopt:
        _check_identity(header, warehouse, old_identity)
    is_filled, count = False, 0
    try:
        with database.write() as connection:
            check_empty(connection)
            connection.execute(schema.counters.delete())
            count = _fill(connection, remaining_lines)
            _check_content(connection)
            _set_sequences(connection)
            record_new_identity(connection, warehouse, None if old_identity is None else old_identity.identity)
            is_filled = True
        apply_new_identity(database, warehouse)
    except OperationalError as error:
        if is_filled:  # Only the commit, or what follows it, has failed.
            error.hint = "Run the command again: CATALOG_NOT_EMPTY then says that the whole dump is in the catalog."
        raise
    return count


def _fill(connection: sa.Connection, lines: Iterator[str]) -> int:
    """Inserts the rows of a dump, whose header was read, and returns their number. Raises INVALID_DUMP."""
    tables = {table.name: table for table in _tables()}
    columns = {name: list(table.columns) for name, table in tables.items()}
    count = 0
    batch: list[dict[str, Any]] = []
    last, ended = "", False
    for number, line in enumerate(lines, start=2):
        read = _read(line, number)
        if ended or (isinstance(read, dict) and read != {"rows": count}):
            raise _invalid(f"line {number} is not the end of {count} rows")
        if isinstance(read, dict):
            ended = True
            continue
        name, values = read[0], read[1:]
        if not isinstance(name, str) or name not in tables or len(values) != len(columns[name]):
            raise _invalid(f"line {number} is not a row of a table")
        if name != last or len(batch) == _BATCH:
            _insert(connection, tables.get(last), batch)
            last, batch = name, []
        batch.append({c.name: _decoded_value(v, c, number) for c, v in zip(columns[name], values, strict=True)})
        count += 1
    _insert(connection, tables.get(last), batch)
    if not ended:
        raise _invalid("it is truncated")
    return count


def _bounded(lines: Iterable[str]) -> Iterator[str]:
    """Yields the lines. Raises ``DataError`` INVALID_DUMP at one that is not text."""
    iterator = iter(lines)
    while True:
        try:
            line = next(iterator, None)
        except UnicodeDecodeError as error:
            raise _invalid("it is not UTF-8") from error
        if line is None:
            return
        yield line


def _tables() -> list[sa.Table]:
    return [table for table in schema.metadata.sorted_tables if table.name not in _EXCLUDED_TABLES]


def _line(value: object) -> str:
    return printable(json.dumps(value, ensure_ascii=False, separators=(",", ":"))) + "\n"


def _encoded_value(value: object) -> object:
    return {"hex": bytes(value).hex()} if isinstance(value, bytes | memoryview) else value


def _decoded_value(value: object, column: sa.Column[Any], number: int) -> object:
    """Returns a value of a line as its column stores it. Raises ``DataError`` INVALID_DUMP for another type."""
    if value is None and column.nullable:
        return None
    kind = column.type
    if isinstance(kind, sa.LargeBinary):
        if isinstance(value, dict) and set(value) == {"hex"} and isinstance(value["hex"], str):
            with contextlib.suppress(ValueError):
                return bytes.fromhex(value["hex"])
    elif isinstance(kind, sa.Boolean):
        if isinstance(value, bool):
            return value
    elif isinstance(kind, sa.Integer):
        bound = 2**63 if isinstance(kind, sa.BigInteger) else 2**31
        if isinstance(value, int) and not isinstance(value, bool) and -bound <= value < bound:
            return value
    elif isinstance(kind, sa.Float):
        if has_date(value):  # All numbers with a fraction are times.
            return value
    elif isinstance(value, str) and _NOT_STORED.search(value) is None:
        return value
    raise _invalid(f"line {number} has an invalid {column.name}")


def _check_content(connection: sa.Connection) -> None:
    """Raises ``DataError`` INVALID_DUMP if rows of the right types do not form a catalog.

    This detects counters that are missing or too low, and objects that cannot be read. ``check`` verifies all other
    invariants.
    """
    counter = schema.counters.c
    values = {row.name: row.value for row in connection.execute(sa.select(counter.name, counter.value))}
    for name, numbered_column in (
        ("commit", schema.events.c.commit_seq),
        ("event", schema.events.c.event_seq),
        ("object", schema.objects.c.object_id),
        ("transaction", schema.transactions.c.transaction_id),
        ("vacuumed", sa.null()),
    ):
        newest = connection.execute(sa.select(sa.func.max(numbered_column))).scalar() or 0
        if values.get(name, -1) < newest:
            raise _invalid(f"the counter {name} is missing or too low")
    row, warehouse = schema.objects.c, warehouse_of(connection)
    for definition in connection.execute(sa.select(row.kind, row.object_id, row.name, row.definition)):
        try:
            json_codec.decode_object(*definition, warehouse)
        except OperationalError as error:
            raise _invalid(error.message) from error


def _header(line: str) -> Mapping[str, Any]:
    header = _read(line, 1)
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise _invalid("its first line is not the header of a dump")
    return header


def _read(line: str, number: int) -> Any:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _invalid(f"line {number} cannot be read") from error
    if not isinstance(row, dict) and not (isinstance(row, list) and row):
        raise _invalid(f"line {number} is not a row of a table")
    return row


def _check_header(header: Mapping[str, Any], database: Database, warehouse: Path) -> None:
    if header.get("version") != database.version:
        raise OperationalError(
            f"the dump has schema version {header.get('version')}, but this release has version {database.version}",
            condition="DUMP_OF_ANOTHER_VERSION",
            hint="Restore it with the release that wrote it; a later release upgrades the catalog when it opens it.",
        )
    expected = {table.name: [column.name for column in table.columns] for table in _tables()}
    if header.get("columns") != expected:
        raise _invalid("its header does not name the tables of this version")


def _check_identity(header: Mapping[str, Any], warehouse: Path, identity: Identity | None) -> None:
    if identity is not None and header.get("identity") not in identity.all:
        raise OperationalError(
            f"the dump is from another warehouse, which was in {header.get('warehouse')}; this one is {warehouse}",
            condition="CATALOG_OF_ANOTHER_WAREHOUSE",
            object=str(warehouse),
            hint="Name the directory of the dump; use `restore --adopt` if the dump belongs to this directory.",
        )


def check_empty(connection: sa.Connection) -> None:
    """Raises unless the catalog was never used."""
    for table in (schema.transactions, schema.objects, schema.events):
        if connection.execute(sa.select(sa.func.count()).select_from(table)).scalar():
            raise IntegrityError(
                f"the catalog is not empty: it contains {table.name}",
                condition="CATALOG_NOT_EMPTY",
                hint="Name a directory without a catalog, or a database that is new or whose tables were dropped.",
            )


def _insert(connection: sa.Connection, table: sa.Table | None, rows: list[dict[str, Any]]) -> None:
    if table is not None and rows:
        try:
            connection.execute(table.insert(), rows)
        except (sa.exc.StatementError, ValueError, TypeError) as error:
            raise _invalid(f"its rows of {table.name} cannot be stored: {error}".partition("\n")[0]) from error


def _set_sequences(connection: sa.Connection) -> None:
    """Sets the sequences for new rows above the numbers of the restored rows."""
    for table in _tables():
        if "row_id" in table.c:
            differences_of(connection.dialect).raise_sequence(connection, table.c.row_id)


def _invalid(problem: str) -> DataError:
    return DataError(
        f"this is not a catalog dump: {problem}",
        condition="INVALID_DUMP",
        hint="Give the complete output of `rewriter catalog dump`.",
    )
