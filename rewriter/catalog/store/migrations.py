"""Numbered steps that bring a catalog's database up to date, in one database transaction."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence

import sqlalchemy as sa
from sqlalchemy import Connection, func, inspect, select, text, update
from sqlalchemy.schema import CreateIndex, CreateTable

from rewriter.catalog.model.json_codec import decode_object
from rewriter.catalog.model.objects import Fact
from rewriter.catalog.model.origins import Origin, OriginKind, stored_origins
from rewriter.catalog.store import schema
from rewriter.catalog.store.backend import warehouse_of
from rewriter.catalog.store.partition_versions import index_all
from rewriter.catalog.store.path_upgrade import make_relative
from rewriter.catalog.store.prepared_statements import per_dialect
from rewriter.errors import OperationalError

Step = Callable[[Connection], None]


def _first_schema(connection: Connection) -> None:
    """Makes the tables of the first release."""
    schema.metadata.create_all(connection, checkfirst=False)
    names = ("transaction", "object", "event", "commit")
    connection.execute(schema.counters.insert(), [{"name": name, "value": 0} for name in names])


def _views(_connection: Connection) -> None:
    """Allows views. No row changes, but a release without views must not open the catalog."""


def _several_times(_connection: Connection) -> None:
    """Allows several time dimensions in facts. No row changes, but a release that reads only one must not open it."""


def _time_layouts(_connection: Connection) -> None:
    """Allows types, and any order of fields, in time layouts. No row changes, but an older release must not read them
    as patterns of text.
    """


def _partition_properties(connection: Connection) -> None:
    """Adds properties of partitions. A catalog that this release has made has the column already."""
    table = schema.partitions
    if table.c.properties.name not in {column["name"] for column in inspect(connection).get_columns(table.name)}:
        connection.execute(text("ALTER TABLE partitions ADD COLUMN properties TEXT"))


def _secondary_index(connection: Connection) -> None:
    """Adds the index of later columns, and fills it from all keys that were ever written.

    Renames the table of claims, so that a process of an older release, which would write no entries, fails.
    """
    if "written_ranges" in inspect(connection).get_table_names():
        connection.execute(text(f"ALTER TABLE written_ranges RENAME TO {schema.claimed_ranges.name}"))
    schema.partition_fields.create(connection, checkfirst=True)
    index_all(connection)


def _zoned_times(_connection: Connection) -> None:
    """Allows several times, and days by TIMESTAMP, in facts of a zone. No row changes, but an older release would take
    wall times for instants.
    """


def _covering_index(connection: Connection) -> None:
    """Adds an index that covers the listing, counting and visibility of keys. O(rows)."""
    connection.execute(text("DROP INDEX IF EXISTS partitions_by_key"))
    (index,) = (candidate for candidate in schema.partitions.indexes if candidate.name == "partitions_by_version")
    index.create(connection, checkfirst=True)


def _databases(_connection: Connection) -> None:
    """Allows objects in databases. No row changes, but an older release would look a view's names up elsewhere."""


def _leases(connection: Connection) -> None:
    """Adds leases of readers, and removal of files by VACUUM. An older release would ignore them."""
    schema.leases.create(connection, checkfirst=True)
    if "vacuumed" not in connection.execute(select(schema.counters.c.name)).scalars().all():
        connection.execute(schema.counters.insert(), {"name": "vacuumed", "value": 0})


def _lateness(_connection: Connection) -> None:
    """Allows facts to declare how late their data may be. No row changes, but an older release would not report missing
    data.
    """


def _noted_files(connection: Connection) -> None:
    """From here on, a new partition of an external base outdates rollups. Earlier ones stay as they are.

    An older release would build timelines without these events. O(rows of external tables).
    """
    row, registered = schema.objects.c, 0
    tables = connection.execute(select(row.object_id, row.definition).where(row.kind == "table"))
    external = {object_id for object_id, definition in tables if json.loads(definition).get("external")}
    for object_id in sorted(external):
        rows_of_table = schema.partitions.c.table_id == object_id
        connection.execute(update(schema.partitions).where(rows_of_table).values(as_of=registered))


def _unproven_rollups(connection: Connection) -> None:
    """Adds unproven rollup partitions. Partitions of earlier releases, which counted as proven, stay as they are.

    Those releases trusted external rollup tables; their facts now declare it. An older release would use unproven
    partitions.
    """
    table = schema.partitions
    if table.c.doubt.name not in {column["name"] for column in inspect(connection).get_columns(table.name)}:
        connection.execute(text("ALTER TABLE partitions ADD COLUMN doubt TEXT"))
    counter = schema.counters
    newest = connection.execute(select(counter.c.value).where(counter.c.name == "commit")).scalar_one()
    if "trusted" not in connection.execute(select(counter.c.name)).scalars().all():
        connection.execute(counter.insert(), {"name": "trusted", "value": newest})
    _trust_external_rollups(connection)


def _identity(connection: Connection) -> None:
    """Adds the identity of the warehouse, and makes paths relative to the warehouse. O(rows of files).

    A new catalog writes an identity into its directory. An older one first checks that the directory is its own.
    """
    for table in (schema.warehouse, schema.foreign_writes):
        table.create(connection, checkfirst=True)
    if connection.execute(select(func.count()).select_from(schema.warehouse)).scalar() == 0:
        used = connection.execute(select(func.max(schema.counters.c.value))).scalar()
        connection.execute(schema.warehouse.insert(), {"next_identity": None if used else uuid.uuid4().hex})
        if used:
            make_relative(connection, warehouse_of(connection))


def _packed_files(connection: Connection) -> None:
    """Allows files that hold several partitions. An older release would read all rows of such a file."""
    table = schema.files
    if table.c.part.name not in {column["name"] for column in inspect(connection).get_columns(table.name)}:
        connection.execute(text("ALTER TABLE files ADD COLUMN part TEXT"))


def _streams(connection: Connection) -> None:
    """Adds batches that are committed at most once, and streams. An older release would commit a batch again."""
    schema.batches.create(connection, checkfirst=True)
    schema.streams.create(connection, checkfirst=True)


def _refresh_claims(connection: Connection) -> None:
    """Adds the claims of workers that refresh a share of a fact."""
    schema.refresh_claims.create(connection, checkfirst=True)


def _batches_of_streams(connection: Connection) -> None:
    """Removes the number of a stream's last batch from its run: the table ``batches`` has it."""
    table = schema.streams.name
    if "batch" in {column["name"] for column in inspect(connection).get_columns(table)}:
        connection.execute(text(f"ALTER TABLE {table} DROP COLUMN batch"))


def _partition_commit(connection: Connection) -> None:
    """Adds open partitions, which streams fill, and the watermarks of streams. An older release would read open ones in
    covers.
    """
    inspector = inspect(connection)
    columns = {column["name"] for column in inspector.get_columns(schema.batches.name)}
    for name in ("watermark", "late"):
        if name not in columns:
            connection.execute(text(f"ALTER TABLE batches ADD COLUMN {name} BIGINT"))
    schema.pending_policies.create(connection, checkfirst=True)
    (index,) = (candidate for candidate in schema.partitions.indexes if candidate.name == "open_partitions")
    index.create(connection, checkfirst=True)


def _clusters(connection: Connection) -> None:
    """Adds the copies of partitions on secondary clusters. An earlier release would write a partition and leave its
    copies as they are.
    """
    schema.partition_copies.create(connection, checkfirst=True)
    schema.copied_files.create(connection, checkfirst=True)


def _origins(connection: Connection) -> None:
    """Adds what the proof of a partition rests on. An earlier release would not judge it again."""
    table = schema.partitions
    if table.c.origins.name not in {column["name"] for column in inspect(connection).get_columns(table.name)}:
        connection.execute(text("ALTER TABLE partitions ADD COLUMN origins TEXT"))
    (index,) = (candidate for candidate in table.indexes if candidate.name == "partitions_with_origins")
    index.create(connection, checkfirst=True)
    _note_trusted_sources(connection)


def _query_log(connection: Connection) -> None:
    """Adds the log of queries that were run."""
    schema.query_log.create(connection, checkfirst=True)


def _stored_names(_connection: Connection) -> None:
    """Allows columns whose values have another name in files, and dropped columns. No row changes, but an earlier
    release would look for the new name in old files, and return NULL.
    """


def _partition_transforms(_connection: Connection) -> None:
    """Allows hidden partition columns. No row changes, but an earlier release would not compute them."""


#: Step n (counted from 1) brings version n - 1 to version n. A step that was released is never changed. A new database
#: does not take them: ``new_catalog`` makes what they lead to.
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
    _lateness,
    _noted_files,
    _unproven_rollups,
    _identity,
    _packed_files,
    _streams,
    _refresh_claims,
    _batches_of_streams,
    _partition_commit,
    _clusters,
    _origins,
    _query_log,
    _stored_names,
    _partition_transforms,
)


def version_of(connection: Connection) -> int:
    """Returns the version of the database, 0 if it is empty. ``OperationalError`` if it has other tables than ours."""
    tables = set(inspect(connection).get_table_names())
    if not tables:
        return 0
    # Other software uses this table name, too; the other tables exist from the first version on.
    if tables.issuperset({schema.schema_version.name, "counters", "transactions", "write_ids", "objects"}):
        versions: Sequence[int] = connection.execute(select(schema.schema_version.c.version)).scalars().all()
        if len(versions) == 1:
            return versions[0]
    raise OperationalError(
        "this database is not a catalog: it contains other tables",
        condition="NOT_A_CATALOG",
        hint="Use a separate directory, database or schema for the catalog.",
    )


def too_old(version: int) -> OperationalError:
    """Returns the error of a reader that must not upgrade an older catalog."""
    return OperationalError(
        f"the catalog has schema version {version}, and this release has version {len(STEPS)}",
        condition="CATALOG_TOO_OLD",
        hint="Run `rewriter catalog upgrade` first: reading does not upgrade it.",
    )


def too_new(version: int, newest: int) -> OperationalError:
    """Returns the error of a release that supports versions up to ``newest`` and finds a later one."""
    return OperationalError(
        f"this catalog has schema version {version}, but this release supports versions up to {newest}",
        condition="CATALOG_TOO_NEW",
        hint="Use the release that upgraded it, or a later one.",
    )


def migrate(connection: Connection, steps: tuple[Step, ...] = STEPS) -> int:
    """Runs the missing steps and returns their number; the caller's write transaction makes them atomic.

    Raises ``OperationalError`` CATALOG_TOO_NEW for a database that a later release has upgraded.
    """
    version = version_of(connection)
    if version > len(steps):
        raise too_new(version, len(steps))
    if 0 < version < len(steps):
        # Writers wait, and then see the new version.
        counter = schema.counters
        connection.execute(counter.update().where(counter.c.name == "commit").values(value=counter.c.value))
    done = version
    if version == 0 and steps[: len(STEPS)] == STEPS:
        create(connection)
        done = len(STEPS)
    for step in steps[done:]:
        step(connection)
    if version < len(steps):
        connection.execute(schema.schema_version.delete())
        connection.execute(schema.schema_version.insert(), {"version": len(steps)})
    return len(steps) - version


# A new catalog: the tables and rows that all migrations produce, made in one step.
#
# The steps of ``migrations`` make the same, which a test compares. They take three times as long, because each
# queries the database what is there.

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


# The upgrades of facts with TRUSTED tables: from releases that trusted every external rollup table, and from releases
# that did not note which rollups rest on them.


def _trust_external_rollups(connection: Connection) -> None:
    """Declares the external tables of all live facts TRUSTED if they hold rollups. O(objects)."""
    row = schema.objects
    query = select(row.c.row_id, row.c.kind, row.c.object_id, row.c.name, row.c.definition)
    stored = connection.execute(query.where(row.c.ended == schema.NEVER, row.c.kind.in_(("table", "fact")))).all()
    external = {name.lower() for _, kind, _, name, text in stored if kind == "table" and json.loads(text)["external"]}
    for row_id, kind, object_id, name, definition in stored:
        fact = decode_object(kind, object_id, name, definition, "") if kind == "fact" else None
        if not isinstance(fact, Fact):
            continue
        rollups = {
            table.table.lower()
            for table in fact.tables
            if any(period != fact.base_period for period in table.layouts) and table.table.lower() in external
        }
        document = json.loads(definition)
        for _, tables, *_ in document["storages"]:
            for table in tables:
                table["trusted"] = table["trusted"] or table["table"].lower() in rollups
        if rollups:
            changed = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
            connection.execute(update(row).where(row.c.row_id == row_id).values(definition=changed))


def _note_trusted_sources(connection: Connection) -> None:
    """Notes of the proven partitions of all live facts which tables that are TRUSTED now they were computed from.

    They rest on the declaration alone: the times that they have read are unknown. O(partitions of these facts).
    """
    row, partition = schema.objects.c, schema.partitions
    query = select(row.kind, row.object_id, row.name, row.definition)
    stored = connection.execute(query.where(row.ended == schema.NEVER, row.kind.in_(("table", "fact")))).all()
    ids = {name.lower(): object_id for kind, object_id, name, _ in stored if kind == "table"}
    for kind, object_id, name, definition in stored:
        fact = decode_object(kind, object_id, name, definition, "") if kind == "fact" else None
        if not isinstance(fact, Fact):
            continue
        trusted = {
            ids[table.table.lower()]: min(int(period) for period in table.layouts if not fact.is_base(table, period))
            for table in fact.tables
            if table.trusted and any(not fact.is_base(table, period) for period in table.layouts)
        }
        for table_id in [ids[table.table.lower()] for table in fact.tables] if trusted else ():
            live = (partition.c.table_id == table_id, partition.c.ended == schema.NEVER, partition.c.doubt.is_(None))
            for row_id, sources in connection.execute(select(partition.c.row_id, partition.c.sources).where(*live)):
                origins = tuple(
                    Origin(OriginKind.TRUSTED, source, trusted[source], 0, 0, 0)
                    for source in json.loads(sources)
                    if source in trusted and source != table_id
                )
                if origins:
                    noted = update(partition).where(partition.c.row_id == row_id)
                    connection.execute(noted.values(origins=stored_origins(origins)))
