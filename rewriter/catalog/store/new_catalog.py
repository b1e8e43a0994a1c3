"""A new catalog: the tables and rows that all migrations produce, made in one step.

The steps of ``migrations`` make the same, which a test compares. They take three times as long, because each queries
the database what is there.
"""

from __future__ import annotations

import uuid

import sqlalchemy as sa
from sqlalchemy.schema import CreateIndex, CreateTable

from rewriter.catalog.store import schema
from rewriter.catalog.store.prepared_statements import per_dialect

#: The counters, all 0 before the first write.
_COUNTERS = ("transaction", "object", "event", "commit", "vacuumed", "trusted")


def create(connection: sa.Connection) -> None:
    """Makes tables, indexes and rows in an empty database. ``migrations.migrate`` adds the version."""
    for definition in _definitions(connection.dialect):
        connection.exec_driver_sql(definition)
    connection.execute(schema.counters.insert(), [{"name": name, "value": 0} for name in _COUNTERS])
    connection.execute(schema.warehouse.insert(), {"next_identity": uuid.uuid4().hex})


@per_dialect
def _definitions(dialect: sa.Dialect) -> tuple[str, ...]:
    """Returns the statements that make tables and indexes."""
    statements: list[sa.schema.ExecutableDDLElement] = []
    for table in schema.metadata.sorted_tables:
        statements.append(CreateTable(table))
        statements.extend(CreateIndex(index) for index in sorted(table.indexes, key=lambda index: str(index.name)))
    return tuple(str(statement.compile(dialect=dialect)) for statement in statements)
