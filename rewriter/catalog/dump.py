"""A catalog as text: JSON, a line for the header, one for each row, one for the end. The same on both databases.

A row is ``["table", value, …]`` with values in the order of the header's columns; bytes are ``{"hex": "…"}``. What is
true of a moment of one server only stays out: leases, and the version, which the header has.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from rewriter.catalog import schema
from rewriter.catalog.database import Database
from rewriter.errors import DataError, IntegrityError, OperationalError

#: What the header's ``format`` says.
FORMAT = "rewriter catalog dump 1"

_LEFT_OUT = (schema.schema_version.name, schema.leases.name)
_BATCH = 1000


def dump(database: Database, warehouse: Path) -> Iterator[str]:
    """The lines of a catalog, each with its newline, from one state of the database. O(rows), streamed."""
    tables = _tables()
    columns = {table.name: [column.name for column in table.columns] for table in tables}
    yield _line({"format": FORMAT, "version": database.version, "warehouse": str(warehouse), "columns": columns})
    count = 0
    with database.read() as connection:
        for table in tables:
            query = sa.select(table).order_by(*table.primary_key.columns)
            with connection.execute(query.execution_options(yield_per=_BATCH)) as found:
                for row in found:
                    yield _line([table.name, *map(_written, row)])
                    count += 1
    yield _line({"rows": count})


def restore(database: Database, warehouse: Path, lines: Iterable[str]) -> int:
    """Fills an empty catalog with the rows of a dump, all or none, and answers how many. O(rows).

    Raises ``IntegrityError`` CATALOG_NOT_EMPTY; ``DataError`` INVALID_DUMP for what is no dump, or not all of one;
    ``OperationalError`` DUMP_OF_ANOTHER_VERSION, and WAREHOUSE_MOVED where the dump is of another directory, which the
    paths of its tables and files name.
    """
    rest = iter(lines)
    header = _header(next(rest, ""))
    _check_header(header, database, warehouse)
    tables = {table.name: table for table in _tables()}
    with database.write() as connection:
        _check_empty(connection)
        connection.execute(schema.counters.delete())
        count = 0
        batch: list[dict[str, Any]] = []
        last, ended = "", False
        for number, line in enumerate(rest, start=2):
            read = _read(line, number)
            if ended or (isinstance(read, dict) and read != {"rows": count}):
                raise _invalid(f"line {number} is not the end of {count} rows")
            if isinstance(read, dict):
                ended = True
                continue
            name, values = read[0], read[1:]
            if name not in tables or len(values) != len(header["columns"].get(name, ())):
                raise _invalid(f"line {number} is no row of a table")
            if name != last or len(batch) == _BATCH:
                _insert(connection, tables.get(last), batch)
                last, batch = name, []
            batch.append(dict(zip(header["columns"][name], map(_stored, values), strict=True)))
            count += 1
        _insert(connection, tables.get(last), batch)
        if not ended:
            raise _invalid("its end is missing")
        _set_sequences(connection)
    return count


def _tables() -> list[sa.Table]:
    return [table for table in schema.metadata.sorted_tables if table.name not in _LEFT_OUT]


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def _written(value: object) -> object:
    return {"hex": bytes(value).hex()} if isinstance(value, bytes | memoryview) else value


def _stored(value: object) -> object:
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else value


def _header(line: str) -> Mapping[str, Any]:
    read = _read(line, 1)
    if not isinstance(read, dict) or read.get("format") != FORMAT:
        raise _invalid("its first line is no header of ours")
    return read


def _read(line: str, number: int) -> Any:
    try:
        read = json.loads(line)
    except ValueError as error:
        raise _invalid(f"line {number} cannot be read") from error
    if not isinstance(read, dict) and not (isinstance(read, list) and read):
        raise _invalid(f"line {number} is no row of a table")
    return read


def _check_header(header: Mapping[str, Any], database: Database, warehouse: Path) -> None:
    if header.get("version") != database.version:
        raise OperationalError(
            f"the dump is of schema version {header.get('version')}, and this release has version {database.version}",
            condition="DUMP_OF_ANOTHER_VERSION",
            hint="restore it with the release that wrote it; a later one upgrades the catalog when it opens it",
        )
    if header.get("warehouse") != str(warehouse):
        raise OperationalError(
            f"the dump is of the warehouse {header.get('warehouse')}, and this one is {warehouse}",
            condition="WAREHOUSE_MOVED",
            object=str(warehouse),
            hint="its tables and files have absolute paths: restore it for the directory that they lie in",
        )
    wanted = {table.name: [column.name for column in table.columns] for table in _tables()}
    if header.get("columns") != wanted:
        raise _invalid("its header does not name the tables of this version")


def _check_empty(connection: sa.Connection) -> None:
    """Raises unless nobody ever used the catalog."""
    for table in (schema.transactions, schema.objects, schema.events):
        if connection.execute(sa.select(sa.func.count()).select_from(table)).scalar():
            raise IntegrityError(
                f"the catalog is not empty: there are {table.name} in it",
                condition="CATALOG_NOT_EMPTY",
                hint="restore into a new database, or one whose tables were dropped",
            )


def _insert(connection: sa.Connection, table: sa.Table | None, rows: list[dict[str, Any]]) -> None:
    if table is not None and rows:
        try:
            connection.execute(table.insert(), rows)
        except (sa.exc.StatementError, ValueError, TypeError) as error:
            raise _invalid(f"its rows of {table.name} cannot be stored: {error}".partition("\n")[0]) from error


def _set_sequences(connection: sa.Connection) -> None:
    """PostgreSQL numbers new rows by sequences, which know nothing of rows that bring their numbers along."""
    if connection.dialect.name != "postgresql":
        return
    for table in _tables():
        if "row_id" in table.c:
            newest = connection.execute(sa.select(sa.func.max(table.c.row_id))).scalar()
            sequence = sa.func.pg_get_serial_sequence(table.name, "row_id")
            if newest is not None:
                connection.execute(sa.select(sa.func.setval(sequence, newest)))


def _invalid(problem: str) -> DataError:
    return DataError(
        f"this is no dump of a catalog: {problem}",
        condition="INVALID_DUMP",
        hint="give what `rewriter catalog dump` wrote, all of it",
    )
