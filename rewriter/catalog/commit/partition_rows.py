"""Partition and file rows as a commit reads and writes them: the live state, inside the write transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from rewriter.catalog.commit.stored_timelines import end_rows
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import DataFile, PartitionValues, Table
from rewriter.catalog.model.origins import Origins, stored_origins
from rewriter.catalog.model.proofs import BEFORE_FACT, OPEN, UNKNOWN, Proof
from rewriter.catalog.model.stored_paths import all_stored, loaded_path, stored_location
from rewriter.catalog.model.stored_rows import (
    all_values_in,
    ids_in,
    origins_in,
    part_in,
    properties_in,
    stored_part,
    values_in,
)
from rewriter.catalog.reading.queries import chunks
from rewriter.catalog.store import schema
from rewriter.catalog.store.backend import warehouse_of
from rewriter.catalog.store.partition_versions import RowState, add_entries, newest_rows, state_of, tombstone_end
from rewriter.catalog.store.prepared_statements import MOST, fetch, insert_rows, once
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.catalog.facts.time_binding import TimeBinding


class LivePartition(NamedTuple):
    """A partition as the newest commit left it. ``row_id`` is 0 if it is not stored yet; ``properties`` are JSON;
    ``doubt`` and ``origins`` are its proof's, the latter as JSON.
    """

    key: bytes
    values: PartitionValues
    location: str | None
    rows: int | None
    bytes: int
    files: int
    row_id: int = 0
    properties: str | None = None
    doubt: str | None = None
    origins: str | None = None

    @property
    def is_open(self) -> bool:
        """True if a stream fills the partition, and nothing has committed it yet."""
        return self.doubt == OPEN


_KEY = itemgetter(0)

#: The maximum number of keys of one statement, a power of two.
_KEYS = 512

_ROW = schema.partitions.c
#: The columns of a ``LivePartition``, in its order.
_COLUMNS = (
    _ROW.key, _ROW.partition_values, _ROW.location, _ROW.rows, _ROW.bytes, _ROW.files, _ROW.row_id, _ROW.properties,
    _ROW.doubt, _ROW.origins,
)  # fmt: skip

#: The columns of a ``StoredPartition``.
_STORED_COLUMNS = (*_COLUMNS, _ROW.as_of, _ROW.sources, _ROW.commit_seq)


@dataclass(frozen=True)
class Version:
    """The values that one commit writes into every row of one table: write id, commit number, and source tables."""

    made: int
    commit_seq: int
    sources: Sequence[int] = ()


@dataclass(frozen=True)
class StoredPartition:
    """A live partition and the provenance in its row: its proof, the ids of its source tables, and the commit that
    wrote its content.
    """

    live: LivePartition
    proof: Proof
    sources: tuple[int, ...]
    commit_seq: int


def stored_by_key(connection: sa.Connection, keys: Sequence[bytes]) -> dict[bytes, StoredPartition]:
    """Returns the partitions with these keys that exist, with their provenance."""
    by_key: dict[bytes, StoredPartition] = {}
    for chunk in chunks(list(dict.fromkeys(keys)), _KEYS):
        size, parameters = _filled(chunk)
        for values in fetch(connection, _stored(connection.dialect, size), **parameters):
            stored = _stored_partition(values)
            by_key[stored.live.key] = stored
    return by_key


def open_partitions(connection: sa.Connection, table: Table) -> list[tuple[StoredPartition, float]]:
    """Returns the open partitions of a table, each with the time of its last write, in seconds since 1970; 0 if that is
    no longer known. Reads an index that has open partitions alone.
    """
    writer, transaction = schema.write_ids.c, schema.transactions.c
    query = (
        sa.select(*_STORED_COLUMNS, sa.func.coalesce(transaction.heartbeat_at, 0.0))
        .join_from(
            schema.partitions,
            schema.write_ids,
            sa.and_(writer.object_id == table.id, writer.commit_seq == _ROW.commit_seq),
            isouter=True,
        )
        .join(schema.transactions, transaction.transaction_id == writer.transaction_id, isouter=True)
        .where(_ROW.table_id == table.id, schema.IS_OPEN)
        .order_by(_ROW.key)
    )
    return [(_stored_partition(values), written_at) for *values, written_at in connection.execute(query)]


def _stored_partition(values: Sequence[Any]) -> StoredPartition:
    """Returns a partition from ``_STORED_COLUMNS``."""
    *live_values, as_of, sources, commit = values
    key, texts, *fields = live_values
    live = LivePartition(key, values_in(texts, key), *fields)
    proof = Proof(as_of, live.doubt, origins_in(live.origins, key))
    return StoredPartition(live, proof, tuple(ids_in(sources, key)), commit)


def insert_stored(connection: sa.Connection, table: Table, written: Sequence[StoredPartition], made: int) -> None:
    """Inserts new versions of partitions, each with its provenance."""
    groups: dict[tuple[int, tuple[int, ...]], list[tuple[LivePartition, Proof]]] = {}
    for partition in written:
        groups.setdefault((partition.commit_seq, partition.sources), []).append((partition.live, partition.proof))
    for (commit_seq, sources), group in groups.items():
        insert_partitions(connection, table, group, Version(made, commit_seq, sources))


def replace_origins(connection: sa.Connection, table: Table, origins: Mapping[bytes, Origins], made: int) -> None:
    """Makes new versions of live partitions, by key, whose proofs rest on other origins. Their content stays."""
    stored = stored_by_key(connection, list(origins))
    end_partitions(connection, [partition.live for partition in stored.values()], made)
    changed = [
        replace(partition, proof=partition.proof._replace(origins=origins[key])) for key, partition in stored.items()
    ]
    insert_stored(connection, table, changed, made)


def remove_proofs(
    connection: sa.Connection, table: Table, keys: Sequence[bytes], write_id: Callable[[int], int]
) -> None:
    """Makes new versions of live partitions without a proof; open ones, and ones that have no proof, stay."""
    proven = [
        partition
        for partition in stored_by_key(connection, keys).values()
        if partition.proof.as_of != UNKNOWN and not partition.proof.is_open
    ]
    if proven:
        made = write_id(table.id)
        end_partitions(connection, [partition.live for partition in proven], made)
        unproven = [replace(partition, proof=partition.proof._replace(as_of=UNKNOWN)) for partition in proven]
        insert_stored(connection, table, unproven, made)


def live_by_key(connection: sa.Connection, keys: Sequence[bytes]) -> dict[bytes, LivePartition]:
    """Returns the partitions with these keys that exist."""
    by_key: dict[bytes, LivePartition] = {}
    for chunk in chunks(keys, _KEYS):
        size, parameters = _filled(chunk)
        partitions = _lives(fetch(connection, _live_of(connection.dialect, size), **parameters))
        by_key |= zip(map(_KEY, partitions), partitions, strict=True)
    return by_key


def _filled(keys: Sequence[bytes]) -> tuple[int, dict[str, bytes]]:
    """Returns the padded number of keys of a statement, so that few statements serve all numbers, and its parameters.

    The padding is the empty key, which no partition has.
    """
    size = 1 << (len(keys) - 1).bit_length()
    return size, {f"key_{index}": key for index, key in enumerate([*keys, *[b""] * (size - len(keys))])}


def _key_condition(size: int) -> sa.ColumnElement[bool]:
    return _ROW.key.in_([sa.bindparam(f"key_{index}", b"", sa.LargeBinary) for index in range(size)])


@once
def _live_of(size: int) -> sa.Select[Any]:
    return sa.select(*_COLUMNS).where(_ROW.ended == schema.NEVER, _key_condition(size))


@once
def _stored(size: int) -> sa.Select[Any]:
    return sa.select(*_STORED_COLUMNS).where(_ROW.ended == schema.NEVER, _key_condition(size))


def live_in_range(connection: sa.Connection, keys: KeyRange) -> list[LivePartition]:
    """Returns the partitions that exist in a key range, in key order."""
    row = schema.partitions
    return sorted(_live(connection, row.c.key >= keys.start, row.c.key < keys.end), key=lambda live: live.key)


def dropped_in_range(connection: sa.Connection, keys: KeyRange) -> list[LivePartition]:
    """Returns the dropped partitions of a key range, as they were before, in key order."""
    newest = newest_rows(connection, (*_COLUMNS, _ROW.made, _ROW.ended), [keys])
    return [
        LivePartition(key, values_in(values, key), *fields)
        for key, values, *fields, made, ended in connection.execute(sa.select(newest).order_by(newest.c.key))
        if state_of(made, ended) is RowState.DROPPED
    ]


def retired(connection: sa.Connection, keys: Sequence[bytes]) -> set[bytes]:
    """Returns the given keys whose partitions retention dropped."""
    dropped: set[bytes] = set()
    for chunk in chunks(keys, MOST):
        newest = newest_rows(connection, (_ROW.key, _ROW.made, _ROW.ended), list(map(KeyRange.of_key, chunk)))
        versions = connection.execute(sa.select(newest))
        dropped.update(key for key, made, ended in versions if state_of(made, ended) is RowState.DROPPED)
    return dropped


def known_before(connection: sa.Connection, keys: Sequence[bytes]) -> set[bytes]:
    """Returns the given keys whose partitions exist or ever existed."""
    row = schema.partitions
    existing: set[bytes] = set()
    for chunk in chunks(keys):
        existing.update(connection.execute(sa.select(row.c.key).where(row.c.key.in_(chunk)).distinct()).scalars())
    return existing


def _live(connection: sa.Connection, *conditions: sa.ColumnElement[bool]) -> list[LivePartition]:
    row = schema.partitions
    query = sa.select(*_COLUMNS).where(row.c.ended == schema.NEVER, *conditions)
    return _lives(connection.execute(query))


def _lives(rows: Iterable[Sequence[Any]]) -> list[LivePartition]:
    columns = list(zip(*rows, strict=True))
    if not columns:
        return []
    keys, texts, *fields = columns
    return list(map(LivePartition._make, zip(keys, all_values_in(texts, keys), *fields, strict=True)))


def insert_partitions(
    connection: sa.Connection, table: Table, written: Sequence[tuple[LivePartition, Proof]], version: Version
) -> None:
    """Inserts new versions of partitions, each with its proof, and the entries of new keys in the secondary index."""
    _insert_rows(connection, table, written, version, schema.NEVER)
    add_entries(connection, table, (live.key for live, _ in written))


def insert_tombstones(
    connection: sa.Connection, table: Table, removed: Sequence[LivePartition], version: Version
) -> None:
    """Inserts invisible rows which record that the content of these partitions was removed without retention."""
    _insert_rows(connection, table, [(live, Proof(UNKNOWN)) for live in removed], version, tombstone_end(version.made))


_INSERT, _INSERT_FILES = schema.partitions.insert(), schema.files.insert()
#: The columns that ``_insert_rows`` writes, in its order.
_WRITTEN = (
    "key", "partition_values", "location", "rows", "bytes", "files", "as_of", "doubt", "origins", "properties",
    "table_id", "sources", "made", "ended", "commit_seq",
)  # fmt: skip


def _insert_rows(
    connection: sa.Connection,
    table: Table,
    written: Iterable[tuple[LivePartition, Proof]],
    version: Version,
    ended: int,
) -> None:
    common = (table.id, json.dumps(list(version.sources)), version.made, ended, version.commit_seq)
    encoded = cache(json.JSONEncoder(ensure_ascii=False).encode)  # Partitions share most of their values.
    warehouse = warehouse_of(connection)
    written_rows = [
        (
            live.key, f"[{', '.join(map(encoded, live.values))}]",
            live.location and stored_location(live.location, warehouse), live.rows, live.bytes, live.files,
            proof.as_of, proof.doubt, stored_origins(proof.origins), live.properties, *common,
        )
        for live, proof in written
    ]  # fmt: skip
    insert_rows(connection, _INSERT, _WRITTEN, written_rows)


def insert_files(
    connection: sa.Connection, added: Mapping[bytes, Sequence[DataFile]], version: Version, *, base: bool
) -> None:
    """Inserts the files that a write added, by partition key."""
    common = (base, version.made, schema.NEVER, version.commit_seq)
    keyed_files = [(key, file) for key, files in added.items() for file in files]
    paths = all_stored([file.path for _, file in keyed_files], warehouse_of(connection))
    file_rows = [
        (key, path, file.rows, file.bytes, stored_part(file.part), *common)
        for (key, file), path in zip(keyed_files, paths, strict=True)
    ]
    columns = ("key", "path", "rows", "bytes", "part", "base", "made", "ended", "commit_seq")
    insert_rows(connection, _INSERT_FILES, columns, file_rows)


def live_files(connection: sa.Connection, keys: Sequence[bytes]) -> dict[bool, dict[bytes, list[DataFile]]]:
    """Returns the files of these partitions, by whether an OVERWRITE added them, and by partition key."""
    row = schema.files.c
    by_origin: dict[bool, dict[bytes, list[DataFile]]] = {True: {}, False: {}}
    warehouse = warehouse_of(connection)
    for chunk in chunks(keys):
        query = sa.select(row.key, row.path, row.rows, row.bytes, row.base, row.part).order_by(row.row_id)
        for key, path, count, size, base, part in connection.execute(
            query.where(row.key.in_(chunk), row.ended == schema.NEVER)
        ):
            file = DataFile(loaded_path(path, warehouse), count, size, part_in(part, path))
            by_origin[base].setdefault(key, []).append(file)
    return by_origin


def with_files(live: LivePartition, files: Sequence[DataFile]) -> LivePartition:
    """Returns a partition with the size of other files of the same rows."""
    counts = [file.rows for file in files]
    row_count = live.rows if None in counts else sum(count or 0 for count in counts)
    return live._replace(rows=row_count, bytes=sum(file.bytes for file in files), files=len(files))


def end_partitions(connection: sa.Connection, partitions: Sequence[LivePartition], made: int) -> None:
    """Ends the rows of these partitions; their files stay as they are."""
    end_rows(connection, schema.partitions, [live.row_id for live in partitions], made)


def end_files(connection: sa.Connection, keys: Sequence[bytes], made: int) -> None:
    """Ends all files of the partitions with these keys."""
    row = schema.files
    for chunk in chunks(keys):
        connection.execute(sa.update(row).where(row.c.key.in_(chunk), row.c.ended == schema.NEVER).values(ended=made))


# The newest version of each partition of a table, dropped ones included, as a commit reads it.


@dataclass(frozen=True)
class NewestVersion:
    """The newest row of a partition; ``changed_by`` is the commit that wrote, wiped or dropped it last."""

    values: PartitionValues
    properties: Mapping[str, str]
    proof: Proof
    sources: list[int]
    state: RowState
    commit: int
    changed_by: int


def newest_versions(connection: sa.Connection, table: Table, keys: Sequence[KeyRange]) -> Iterator[NewestVersion]:
    """Yields the newest versions of the partitions with keys in disjoint ranges, unordered.

    One statement for up to ``range_query.MOST`` ranges. Reads all versions of these partitions.
    """
    row, ender = schema.partitions.c, schema.write_ids
    columns = (
        row.partition_values, row.properties, row.as_of, row.doubt, row.origins, row.sources, row.made, row.ended,
        row.commit_seq,
    )  # fmt: skip
    for chunk in chunks(keys, MOST):
        newest = newest_rows(connection, columns, chunk)
        ended_by_write = sa.and_(ender.c.object_id == table.id, ender.c.write_id == newest.c.ended)
        query = sa.select(newest, ender.c.commit_seq).join_from(newest, ender, ended_by_write, isouter=True)
        for values, properties, *proof, sources, made, ended, commit, ended_by in connection.execute(query):
            state, (as_of, doubt, origins) = state_of(made, ended), proof
            yield NewestVersion(
                values_in(values, table.name),
                properties_in(properties, table.name),
                Proof(as_of, doubt, origins_in(origins, table.name)),
                ids_in(sources, table.name),
                state,
                commit,
                changed_by=commit if state is RowState.LIVE else ended_by,
            )


# The proofs of rollups in the rows of a fact's partitions, read after the commit that wrote them.


@dataclass(frozen=True)
class StoredProofs:
    """Reads the proofs of rollup partitions of one fact from their rows.

    ``made_by`` is the number of the commit that created the fact. ``trusted`` is the newest commit of the releases that
    accepted rollups without a proof.
    """

    made_by: int
    trusted: int
    bindings: Sequence[TimeBinding]

    def of(self, binding: TimeBinding, proof: Proof, sources: Collection[int], commit: int) -> Proof:
        """Returns the proof of a partition whose content ``commit`` computed from the tables ``sources``.

        Content that is older than the table's membership in the fact is unproven, unless the table belonged to an equal
        fact at that time. In facts of earlier releases it keeps
        their judgment: outdated if it was computed from a rollup, because it is unknown which write invalidated
        that rollup.
        """
        since = binding.since(self.made_by)
        if commit > since or binding.was_member(commit):
            return proof
        if since > self.trusted:
            return Proof(UNKNOWN, BEFORE_FACT)
        rollups = (
            binding for binding in self.bindings if binding.rollup_periods and binding.since(self.made_by) <= since
        )
        return proof if {rollup.table.id for rollup in rollups}.isdisjoint(sources) else Proof(UNKNOWN)
