"""Numbered steps that bring a catalog's database up to date, in one database transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, inspect, select, text

from rewriter.catalog import schema
from rewriter.catalog.partition_index import index_all
from rewriter.errors import OperationalError

Step = Callable[[Connection], None]


def _first_schema(connection: Connection) -> None:
    schema.metadata.create_all(connection, checkfirst=False)
    names = ("transaction", "object", "event", "commit")
    connection.execute(schema.counters.insert(), [{"name": name, "value": 0} for name in names])


def _views(_connection: Connection) -> None:
    """Objects may be views. No row changes, but a release that does not know views must not open the catalog."""


def _several_times(_connection: Connection) -> None:
    """Facts may name several time dimensions. No row changes, but a release that reads only one must not open it."""


def _time_layouts(_connection: Connection) -> None:
    """Time layouts may have types, and any order of fields. No row changes, but an older release must not read them as
    patterns of text.
    """


def _partition_properties(connection: Connection) -> None:
    """Partitions may have properties of their own. A catalog that this release has made has the column already."""
    table = schema.partitions
    if table.c.properties.name not in {column["name"] for column in inspect(connection).get_columns(table.name)}:
        connection.execute(text("ALTER TABLE partitions ADD COLUMN properties TEXT"))


def _secondary_index(connection: Connection) -> None:
    """Partitions are found by their later columns, too: the index is filled from the keys that were ever written.

    The table of claims takes another name, so that a process of an older release, which would write no entries, fails.
    """
    if "written_ranges" in inspect(connection).get_table_names():
        connection.execute(text(f"ALTER TABLE written_ranges RENAME TO {schema.claimed_ranges.name}"))
    schema.partition_fields.create(connection, checkfirst=True)
    index_all(connection)


def _zoned_times(_connection: Connection) -> None:
    """Facts of a zone may name several times, and its days by TIMESTAMP. No row changes, but an older release would
    take wall times for instants.
    """


def _covering_index(connection: Connection) -> None:
    """Keys are listed and counted from an index that tells who sees them. O(rows)."""
    connection.execute(text("DROP INDEX IF EXISTS partitions_by_key"))
    (index,) = (one for one in schema.partitions.indexes if one.name == "partitions_by_version")
    index.create(connection, checkfirst=True)


def _databases(_connection: Connection) -> None:
    """Objects may lie in databases. No row changes, but an older release would look a view's names up elsewhere."""


def _leases(connection: Connection) -> None:
    """Readers hold leases, and VACUUM removes files: an older release would know of neither."""
    schema.leases.create(connection, checkfirst=True)
    if "vacuumed" not in connection.execute(select(schema.counters.c.name)).scalars().all():
        connection.execute(schema.counters.insert(), {"name": "vacuumed", "value": 0})


#: Step n (counted from 1) brings version n - 1 to version n. A step that was released is never changed.
STEPS: tuple[Step, ...] = (
    _first_schema,
    _views,
    _several_times,
    _time_layouts,
    _partition_properties,
    _secondary_index,
    _zoned_times,
    _covering_index,
    _databases,
    _leases,
)


def version_of(connection: Connection) -> int:
    """The version of the database: 0 where it is empty. ``OperationalError`` where it holds other tables than ours."""
    tables = set(inspect(connection).get_table_names())
    if not tables:
        return 0
    # Others call a table so, too; these are there from the first version on.
    if tables.issuperset({schema.schema_version.name, "counters", "transactions", "write_ids", "objects"}):
        versions: Sequence[int] = connection.execute(select(schema.schema_version.c.version)).scalars().all()
        if len(versions) == 1:
            return versions[0]
    raise OperationalError(
        "this database is not a catalog: it holds other tables",
        condition="NOT_A_CATALOG",
        hint="give the catalog a directory, or a database or schema, of its own",
    )


def too_new(version: int, known: int) -> OperationalError:
    """The error of a release that knows versions up to ``known`` and meets a later one."""
    return OperationalError(
        f"this catalog has schema version {version}, and this release knows versions up to {known}",
        condition="CATALOG_TOO_NEW",
        hint="use the release that upgraded it, or a later one",
    )


def migrate(connection: Connection, steps: tuple[Step, ...] = STEPS) -> int:
    """Runs the steps that the database lacks and answers how many; the caller's write transaction makes them one.

    Raises ``OperationalError`` CATALOG_TOO_NEW for a database that a later release has upgraded.
    """
    version = version_of(connection)
    if version > len(steps):
        raise too_new(version, len(steps))
    if 0 < version < len(steps):
        # Writers wait, and see the new version when it is their turn.
        counter = schema.counters
        connection.execute(counter.update().where(counter.c.name == "commit").values(value=counter.c.value))
    for step in steps[version:]:
        step(connection)
    if version < len(steps):
        connection.execute(schema.schema_version.delete())
        connection.execute(schema.schema_version.insert(), {"version": len(steps)})
    return len(steps) - version
