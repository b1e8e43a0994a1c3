"""The tables of the catalog's database, as SQLAlchemy Core sees them.

All data of readers is versioned, except ``partition_fields``, which explains why: ``made`` and ``ended`` are
write ids of the object that the row belongs to, ``commit_seq`` is the number of the commit that made it. A row is
written, and marked as ended, only inside the database transaction of its writer's commit; nothing else is ever updated.
A live row has ``ended = NEVER``, which makes "not ended in this snapshot" a range of an index.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)

from rewriter.catalog.model import proofs

#: The ``ended`` of a live row: above every write id.
NEVER = (1 << 63) - 1

metadata = MetaData()

_ROW_ID = BigInteger().with_variant(Integer, "sqlite")

#: Text that an index or an ORDER BY compares: by its bytes, in any locale of the database.
_BYTEWISE = Text().with_variant(Text(collation="C"), "postgresql")

#: One row: the number of the newest migration that ran.
schema_version = Table("schema_version", metadata, Column("version", Integer, primary_key=True))

#: The newest number of each sequence: ``transaction``, ``object``, ``event``, ``commit``. Taking one locks it.
#: ``vacuumed`` is not a sequence: it is the newest commit whose ended files VACUUM has removed. Nor is ``trusted``: it
#: is the newest commit of the releases that accepted rollups without a proof; facts from before it keep their state.
counters = Table(
    "counters",
    metadata,
    Column("name", _BYTEWISE, primary_key=True),
    Column("value", BigInteger, nullable=False),
)

#: ``state`` is ``open``, ``committed`` or ``aborted``; times are seconds since 1970 on the database's clock. The last
#: heartbeat of a committed one is its commit.
transactions = Table(
    "transactions",
    metadata,
    Column("transaction_id", BigInteger, primary_key=True, autoincrement=False),
    Column("state", _BYTEWISE, nullable=False),
    Column("snapshot_seq", BigInteger, nullable=False),
    Column("begun_at", Double, nullable=False),
    Column("heartbeat_at", Double, nullable=False),
    Column("commit_seq", BigInteger),
    Index("transactions_by_state", "state", "transaction_id"),
)

#: The oldest commit that a process still needs for its reads, and its last renewal, on the database's clock.
leases = Table(
    "leases",
    metadata,
    Column("lease_id", _BYTEWISE, primary_key=True),
    Column("commit_seq", BigInteger, nullable=False),
    Column("renewed_at", Double, nullable=False),
)

#: The time of the periods of a rollup table that an open transaction refreshes, in microseconds since 1970. Other
#: workers leave them alone. A claim whose transaction was silent for ``expiry_seconds`` has ended (``refresh_claims``).
refresh_claims = Table(
    "refresh_claims",
    metadata,
    Column("table_id", BigInteger, nullable=False),
    Column("period", Integer, nullable=False),
    Column("start_time", BigInteger, nullable=False),
    Column("end_time", BigInteger, nullable=False),
    Column("transaction_id", BigInteger, nullable=False),
    Column("expiry_seconds", Double, nullable=False),
    PrimaryKeyConstraint("table_id", "period", "start_time", "transaction_id"),
)

#: One row: the identity of the warehouse, which its directory repeats, and its coming identity; and the location of the
#: directory at a writer's last check: its resolved path, the device and inode of its identity file, the host.
warehouse = Table(
    "warehouse",
    metadata,
    Column("identity", Text),
    Column("next_identity", Text),
    Column("place", Text),
    Column("device", Text),
    Column("inode", Text),
    Column("host", Text),
)

#: The batches of rows that were committed, each at most once. Only commits read them. A batch that was appended under
#: an id has neither stream nor checkpoint. A stream has one row for each table: its last batch, with the id of the
#: stream's checkpoint and the batch's number as text. ``watermark`` is the greatest time that the rows of the stream
#: certainly reach, in microseconds since 1970, or null; ``late`` the number of times that a batch of it has committed
#: a partition again.
batches = Table(
    "batches",
    metadata,
    Column("row_id", _ROW_ID, primary_key=True),
    Column("table_id", BigInteger, nullable=False),
    Column("stream", _BYTEWISE, nullable=False),
    Column("checkpoint", _BYTEWISE, nullable=False),
    Column("batch", _BYTEWISE, nullable=False),
    Column("commit_seq", BigInteger, nullable=False),
    Column("watermark", BigInteger),
    Column("late", BigInteger),
    Index("batches_by_id", "table_id", "stream", "checkpoint", "batch", unique=True),
)

#: The commits of partitions whose policies have not run yet. A commit of a partition of a table that has policies
#: adds a row, and the end of the policies removes it. No reader reads it, so it has no versions.
pending_policies = Table(
    "pending_policies",
    metadata,
    Column("table_id", BigInteger, nullable=False),
    Column("key", LargeBinary, nullable=False),
    Column("commit_seq", BigInteger, nullable=False),
    Column("late", Boolean, nullable=False),
    PrimaryKeyConstraint("table_id", "key"),
)

#: The last run of each stream: its table, the directory of its checkpoint, the query that it runs, its ``state``
#: (``running``, ``finished``, ``stopped`` or ``failed``), the time of its start and of its last sign of life on the
#: database's clock, its process, the rows of this run until then, and the message of its failure. ``run`` is the id of
#: the run. STOP STREAM sets ``stopping``. Its last batch is in ``batches``.
streams = Table(
    "streams",
    metadata,
    Column("stream", _BYTEWISE, primary_key=True),
    Column("table_id", BigInteger, nullable=False),
    Column("run", _BYTEWISE, nullable=False),
    Column("checkpoint", Text, nullable=False),
    Column("state", _BYTEWISE, nullable=False),
    Column("stopping", Boolean, nullable=False),
    Column("started_at", Double, nullable=False),
    Column("heartbeat_at", Double, nullable=False),
    Column("process", Text, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("message", Text),
)

#: Writes whose number this catalog has given, or will give, and whose directory another catalog made: before this one
#: was restored, adopted or started.
foreign_writes = Table(
    "foreign_writes",
    metadata,
    Column("object_id", BigInteger, nullable=False),
    Column("write_id", BigInteger, nullable=False),
    PrimaryKeyConstraint("object_id", "write_id"),
)

#: The holders of write ids by object. ``commit_seq`` is null until the holder commits, and for ever if it aborts.
write_ids = Table(
    "write_ids",
    metadata,
    Column("object_id", BigInteger, nullable=False),
    Column("write_id", BigInteger, nullable=False),
    Column("transaction_id", BigInteger, nullable=False),
    Column("commit_seq", BigInteger),
    PrimaryKeyConstraint("object_id", "write_id"),
    Index("write_ids_by_transaction", "transaction_id", "object_id", unique=True),
    Index("write_ids_by_commit", "object_id", "commit_seq"),
)

#: Databases, tables, views, cubes, facts and functions, by ``kind``; ``name_key`` is the key of a look-up
#: (``json_codec.key_of``), ``definition`` is JSON.
objects = Table(
    "objects",
    metadata,
    Column("row_id", _ROW_ID, primary_key=True),
    Column("object_id", BigInteger, nullable=False),
    Column("kind", _BYTEWISE, nullable=False),
    Column("name", Text, nullable=False),
    Column("name_key", _BYTEWISE, nullable=False),
    Column("definition", Text, nullable=False),
    Column("made", BigInteger, nullable=False),
    Column("ended", BigInteger, nullable=False),
    Column("commit_seq", BigInteger, nullable=False),
    Index("objects_by_name", "name_key"),
    Index("objects_by_kind", "kind", "ended"),
    Index("objects_by_id", "object_id"),
)

#: The condition of the index of open partitions, as text: parameters would not match it.
IS_OPEN = text(f"doubt = '{proofs.OPEN}' AND partitions.ended = {NEVER}")
#: The condition of the index of partitions with origins, likewise.
HAS_ORIGINS = text("partitions.origins IS NOT NULL")

#: A version of a partition. ``commit_seq`` is the commit that last wrote its content, ``as_of`` the commit up to which
#: that content includes the base (-1: unknown), ``doubt`` the reason why a rollup is not proven (``proofs.Proof``) or
#: null, ``sources`` a JSON list of the ids of the tables it was computed from, ``origins`` a JSON list of what its
#: proof rests on (``origins.Origin``) or null, ``properties`` a JSON object or null;
#: ``stored_paths`` describes the form of paths, here, in ``objects`` and in ``files``. ``partition_versions`` tells
#: what an ended row records. Timelines are rebuilt from the newest row of each key, live or not, and from all rows of
#: base tables: a removal of ended rows must keep these. Transactions that have not seen a commit judge conflicts by
#: its rows, too.
partitions = Table(
    "partitions",
    metadata,
    Column("row_id", _ROW_ID, primary_key=True),
    Column("table_id", BigInteger, nullable=False),
    Column("key", LargeBinary, nullable=False),
    Column("partition_values", Text, nullable=False),
    Column("location", Text),
    Column("rows", BigInteger),
    Column("bytes", BigInteger, nullable=False),
    Column("files", BigInteger, nullable=False),
    Column("as_of", BigInteger, nullable=False),
    Column("sources", Text, nullable=False),
    Column("made", BigInteger, nullable=False),
    Column("ended", BigInteger, nullable=False),
    Column("commit_seq", BigInteger, nullable=False),
    Column("properties", Text),
    Column("doubt", Text),
    Column("origins", Text),
    Index("partitions_by_version", "key", "ended", "made"),
    Index("partitions_by_commit", "table_id", "commit_seq"),
    Index("open_partitions", "table_id", sqlite_where=IS_OPEN),
    Index("partitions_with_origins", "table_id", "ended", sqlite_where=HAS_ORIGINS),
)

#: The secondary index of partitions: for each key that was ever written, and each partition column after the first, the
#: place of its field (``encoding.entry_prefix``) and the key. A key's values never change, so an entry is a fact about
#: a key and has no versions: it comes with the first row of a key, in the same database transaction, and stays. Its
#: rows in ``partitions`` tell whether such a partition exists, and which snapshots see it.
partition_fields = Table(
    "partition_fields",
    metadata,
    Column("place", LargeBinary, nullable=False),
    Column("key", LargeBinary, nullable=False),
    PrimaryKeyConstraint("place", "key"),
    sqlite_with_rowid=False,
)

#: The files of managed tables; ``base`` distinguishes an OVERWRITE's from an INTO's. A packed file has a row for each
#: partition in it, with the JSON of the ``PackedPart`` in ``part``; for other files this is null.
files = Table(
    "files",
    metadata,
    Column("row_id", _ROW_ID, primary_key=True),
    Column("key", LargeBinary, nullable=False),
    Column("path", _BYTEWISE, nullable=False),
    Column("rows", BigInteger),
    Column("bytes", BigInteger, nullable=False),
    Column("base", Boolean, nullable=False),
    Column("made", BigInteger, nullable=False),
    Column("ended", BigInteger, nullable=False),
    Column("commit_seq", BigInteger, nullable=False),
    Column("part", Text),
    Index("files_by_key", "key", "ended"),
)

#: The keys whose partitions a secondary cluster has: each live partition in a range is there, whole, with the content
#: that it has now. ``cluster`` is in lower case. A commit that changes the content of a key takes it out of the range.
partition_copies = Table(
    "partition_copies",
    metadata,
    Column("row_id", _ROW_ID, primary_key=True),
    Column("table_id", BigInteger, nullable=False),
    Column("cluster", _BYTEWISE, nullable=False),
    Column("start_key", LargeBinary, nullable=False),
    Column("end_key", LargeBinary, nullable=False),
    Column("made", BigInteger, nullable=False),
    Column("ended", BigInteger, nullable=False),
    Column("commit_seq", BigInteger, nullable=False),
    Index("partition_copies_by_table", "table_id", "ended"),
)

#: The files of the partitions in these ranges, as ``files`` has the files of the primary cluster. They are copies of
#: the files that a partition had when it was copied: after COMPACT, the primary cluster has others with the same rows.
copied_files = Table(
    "copied_files",
    metadata,
    Column("row_id", _ROW_ID, primary_key=True),
    Column("cluster", _BYTEWISE, nullable=False),
    Column("key", LargeBinary, nullable=False),
    Column("path", _BYTEWISE, nullable=False),
    Column("rows", BigInteger),
    Column("bytes", BigInteger, nullable=False),
    Column("made", BigInteger, nullable=False),
    Column("ended", BigInteger, nullable=False),
    Column("commit_seq", BigInteger, nullable=False),
    Column("part", Text),
    Index("copied_files_by_key", "key", "ended"),
)

#: The states of a timeline's ordinals. Fresh, outdated, unproven and incomplete ones exist. Retired ones are base
#: periods that were dropped, entirely or in part (such a period may be fresh, too). Unproven and incomplete ones are
#: rollups: without a proof that their content comes from the base, or from a base that lacked periods. Streams still
#: fill open ones.
OUTDATED, FRESH, RETIRED, UNPROVEN, INCOMPLETE, OPEN = 0, 1, 2, 3, 4, 5
#: Beside one of these, ``NARROW + n`` says that the partition of a rollup table lacks the columns of the ``n``-th
#: widening of the table (from 0, ``StorageTable.widenings``), and of all later ones.
NARROW = 16

#: The names of these states in messages and listings.
STATE_NAMES = {
    FRESH: "fresh", OUTDATED: "outdated", RETIRED: "retired", UNPROVEN: "unproven", INCOMPLETE: "incomplete",
    OPEN: "open",
}  # fmt: skip


def state_names(states: Collection[int]) -> list[str]:
    """Returns the names of the states of an ordinal, in order."""
    return [STATE_NAMES.get(state, "narrow") for state in sorted(states)]


#: Timelines as maximal ranges of ordinals; ``period`` is the number of the update period, ``time_key`` in lower case.
timeline_ranges = Table(
    "timeline_ranges",
    metadata,
    Column("row_id", _ROW_ID, primary_key=True),
    Column("table_id", BigInteger, nullable=False),
    Column("period", Integer, nullable=False),
    Column("time_key", Text, nullable=False),
    Column("state", Integer, nullable=False),
    Column("start_ordinal", BigInteger, nullable=False),
    Column("end_ordinal", BigInteger, nullable=False),
    Column("made", BigInteger, nullable=False),
    Column("ended", BigInteger, nullable=False),
    Column("commit_seq", BigInteger, nullable=False),
    Index("timeline_ranges_by_table", "table_id", "ended"),
)

#: The key ranges of each commit that its rows of ``partitions`` do not show, to judge conflicts: ``exclusive`` ones
#: conflict with all others. A row of ``partitions`` is exclusive unless its commit has its key here as not exclusive.
claimed_ranges = Table(
    "claimed_ranges",
    metadata,
    Column("row_id", _ROW_ID, primary_key=True),
    Column("table_id", BigInteger, nullable=False),
    Column("commit_seq", BigInteger, nullable=False),
    Column("start_key", LargeBinary, nullable=False),
    Column("end_key", LargeBinary, nullable=False),
    Column("exclusive", Boolean, nullable=False),
    Index("claimed_ranges_by_table", "table_id", "commit_seq"),
)

#: The notification log: one row for each change and one for each commit, numbered without gaps.
events = Table(
    "events",
    metadata,
    Column("event_seq", BigInteger, primary_key=True, autoincrement=False),
    Column("transaction_id", BigInteger, nullable=False),
    Column("commit_seq", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("object_id", BigInteger),
    Column("payload", Text, nullable=False),
)

#: What queries over cubes needed, counted (``query_log.LoggedNeed``): ``text`` has no literals, ``need`` and ``reads``
#: are JSON. ``entry_id`` is the hash of the cube, the text and the need. Rows have no versions: they are updated, and
#: the oldest are deleted.
query_log = Table(
    "query_log",
    metadata,
    Column("entry_id", _BYTEWISE, primary_key=True),
    Column("cube_id", BigInteger, nullable=False),
    Column("text", Text, nullable=False),
    Column("need", Text, nullable=False),
    Column("queries", BigInteger, nullable=False),
    Column("first_at", Double, nullable=False),
    Column("last_at", Double, nullable=False),
    Column("reads", Text, nullable=False),
    Index("query_log_by_cube", "cube_id"),
)


def use_partial_indexes_on_postgresql() -> None:
    """Gives the partial indexes their conditions on PostgreSQL, too. As options of ``Index`` they would load that
    dialect, a fifteenth of a second, for each catalog in SQLite.
    """
    for table in metadata.tables.values():
        for index in table.indexes:
            index.dialect_options["postgresql"]["where"] = index.dialect_options["sqlite"]["where"]
