"""The read-only tables about the catalog and the session, as values: databases, names, columns.

``information_schema`` has the columns of the SQL standard, ``system`` the columns of this program. Their rows are
computed when a query reads them (``statements.system_tables``). A database of a user's that has one of these names
hides ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rewriter.catalog.model.objects import Column, Namespace, Table, TableKind, full_name
from rewriter.errors import NotSupportedError
from rewriter.lazy_dataclass import dataclass

_INFORMATION_SCHEMA, SYSTEM = "information_schema", "system"

#: The ids of system tables begin here, downwards: no other table has them.
_FIRST_ID = -900_000


@dataclass(frozen=True)
class SystemTable(Table):
    """A table whose rows are computed. The values of its ``partition_columns`` decide which rows are computed at all.

    ``in_order`` are all columns as ``SELECT *`` returns them.
    """

    in_order: tuple[Column, ...] = ()

    @property
    def kind(self) -> TableKind:
        return TableKind.SYSTEM

    @property
    def all_columns(self) -> tuple[Column, ...]:
        return self.in_order


class _Definition(NamedTuple):
    comment: str
    #: The names of the columns, with their types; the names of columns that select rows end in ``*``.
    columns: str


#: The objects of a database are found by these columns before anything else is read of them.
_OF_TABLE = "table_schema string*, table_name string*"

_DEFINITIONS: Mapping[str, Mapping[str, _Definition]] = {
    _INFORMATION_SCHEMA: {
        "schemata": _Definition(
            "Databases",
            "catalog_name string, schema_name string, comment string, location string",
        ),
        "tables": _Definition(
            "Tables, views, cubes and facts",
            f"table_catalog string, {_OF_TABLE}, table_type string, is_insertable_into string, comment string, "
            "data_source_format string, storage_path string",
        ),
        "columns": _Definition(
            "Columns of tables, views, cubes and facts",
            f"table_catalog string, {_OF_TABLE}, column_name string, ordinal_position int, column_default string, "
            "is_nullable string, data_type string, comment string, extra_info string",
        ),
        "views": _Definition(
            "Views and their queries",
            f"table_catalog string, {_OF_TABLE}, view_definition string, comment string",
        ),
    },
    SYSTEM: {
        "partitions": _Definition(
            "Partitions that the catalog lists",
            f"{_OF_TABLE}, partition string*, partition_values string, status string, row_count bigint, "
            "file_count bigint, byte_count bigint, location string, properties string",
        ),
        "timelines": _Definition(
            "Ranges of time that the tables of facts have, by state",
            f"{_OF_TABLE}, fact_schema string, fact_name string, cube_schema string, cube_name string, storage string, "
            "period string, time_dimension string, state string, range_start timestamp, range_end timestamp, "
            "periods bigint",
        ),
        "transactions": _Definition(
            "Transactions that wrote, or write",
            "transaction_id bigint, state string, begun_at timestamp, heartbeat_at timestamp, ended_at timestamp, "
            "snapshot_commit bigint, commit bigint, objects string",
        ),
        "cache": _Definition(
            "Use of the session's cache of the catalog", "metric string, value bigint, meaning string"
        ),
        "queries": _Definition(
            "The last statements of the session",
            "query_id string, started_at timestamp, ended_at timestamp, text string, status string, "
            "planning_seconds double, execution_seconds double, row_count bigint, error_condition string, "
            "error_message string",
        ),
    },
}


def _made() -> dict[str, SystemTable]:
    tables: dict[str, SystemTable] = {}
    for database, definitions in _DEFINITIONS.items():
        for name, definition in definitions.items():
            texts = [text.rsplit(" ", 1) for text in definition.columns.split(", ")]
            columns = [Column(column, type_.rstrip("*")) for column, type_ in texts]
            selecting = [column for column, (_, type_) in zip(columns, texts, strict=True) if type_.endswith("*")]
            tables[full_name(database, name)] = SystemTable(
                id=_FIRST_ID - len(tables),
                name=full_name(database, name),
                columns=tuple(column for column in columns if column not in selecting),
                partition_columns=tuple(selecting),
                format="parquet",
                location="",
                external=True,
                comment=definition.comment,
                in_order=tuple(columns),
            )
    return tables


#: All system tables by their names in the catalog.
SYSTEM_TABLES: Mapping[str, SystemTable] = _made()

#: Their databases, which are in no catalog.
SYSTEM_DATABASES: Mapping[str, Namespace] = {
    _INFORMATION_SCHEMA: Namespace(-1, _INFORMATION_SCHEMA, comment="Objects of the catalog"),
    SYSTEM: Namespace(-2, SYSTEM, comment="State of the catalog and of the session"),
}


def is_system_database(database: Namespace) -> bool:
    """Returns True for one of our databases, not a user's of the same name."""
    return SYSTEM_DATABASES.get(database.name) == database


def system_read_only(name: str) -> NotSupportedError:
    """Returns the error of a statement that would change a system table or database, or that needs one of a user's."""
    table = SYSTEM_TABLES.get(name.lower())
    if table is not None:
        return NotSupportedError(
            f"{table.name} is a system table, which this statement cannot use.",
            condition="SYSTEM_TABLE_IS_READ_ONLY",
            object=table.name,
            hint="Queries, DESCRIBE and SHOW COLUMNS read it; CREATE TABLE … AS SELECT keeps its rows.",
        )
    return NotSupportedError(
        f"{name} is the database of system tables, and cannot be changed.",
        condition="SYSTEM_TABLE_IS_READ_ONLY",
        object=name,
        hint="Queries, DESCRIBE, SHOW TABLES and SHOW COLUMNS read them. Use another database for other objects.",
    )
