"""Locations: a commit is refused if its location overlaps one that a commit has given that it did not see.

A statement checks a location against its snapshot. Two concurrent statements see nothing of each other, so the second
to commit starts again, and its check then names the table that shares the files. A location is compared with the
locations that were given in the meantime, with links resolved. The statement decides which locations may overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, assert_never

import sqlalchemy as sa

from rewriter.catalog.keys.paths import default_directory
from rewriter.catalog.model.changes import (
    AddPartitions,
    AlterPartitions,
    AlterTable,
    Change,
    CreateObject,
    DefinitionChange,
    DropPartitions,
    MovePartitions,
    PartitionNote,
    TruncatePartitions,
    WritePartitions,
)
from rewriter.catalog.model.json_codec import decode_object
from rewriter.catalog.model.objects import Namespace, Table
from rewriter.catalog.model.stored_paths import PathIndex, RealPaths, loaded_path
from rewriter.catalog.model.stored_rows import values_in
from rewriter.catalog.reading import queries
from rewriter.catalog.store import schema
from rewriter.catalog.store.backend import warehouse_of
from rewriter.errors import ConflictError
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.catalog.commit.commit_context import CommitContext

#: The property of an external table that may share its files with others, ``true`` or ``false``, the default.
SHARED = "rewriter.shared_location"


@dataclass(frozen=True)
class _LocationClaim:
    """A directory given to an object or to one of its partitions (``key``; ``None`` for the object itself).

    ``has_own_location`` is False for a partition in the default directory, below its table.
    """

    location: str
    object_id: int
    name: str
    may_share: bool
    key: bytes | None = None
    has_own_location: bool = True

    def may_overlap(self, other: _LocationClaim) -> bool:
        if self.object_id != other.object_id:
            return not (self.may_share or other.may_share)
        # Partitions are below their table. Two partitions have disjoint directories.
        return not self.may_share and None not in (self.key, other.key) and self.key != other.key


def check(context: CommitContext, changes: Sequence[Change]) -> None:
    """Raises ``ConflictError`` if a new location overlaps one given by a concurrent commit.

    The changes have been made. A location overlaps another if it equals, contains or is inside it. A commit is
    concurrent if it is between the transaction's snapshot and its own number. Runs no statement if there was no such
    commit or no location is given. Accesses the disk once for each location.
    """
    if context.snapshot.sequence + 1 >= context.sequence or not any(map(_may_set_location, changes)):
        return
    tables = list(_live_tables(context))
    concurrent_claims = [*_objects(context, concurrent=True), *_partitions(context, tables, concurrent=True)]
    if not concurrent_claims:
        return
    own_claims = [*_objects(context, concurrent=False), *_partitions(context, tables, concurrent=False)]
    concurrent_claims, own_claims = _relevant(concurrent_claims, own_claims), _relevant(own_claims, concurrent_claims)
    real = RealPaths()
    claims_by_path = PathIndex((real.of(claim.location), claim) for claim in concurrent_claims)
    for claim in own_claims:
        for concurrent_claim in claims_by_path.overlapping(real.of(claim.location)):
            if claim.may_overlap(concurrent_claim):
                raise ConflictError(
                    f"another transaction gave '{concurrent_claim.name}' the location {concurrent_claim.location} "
                    f"after this one began, and {claim.location} shares files with it",
                    object=claim.name,
                    hint="Run the statement again.",
                )


def _relevant(claims: Sequence[_LocationClaim], other_claims: Sequence[_LocationClaim]) -> list[_LocationClaim]:
    """Returns the claims that may overlap one of the others.

    A partition in its default directory overlaps only partitions of its table that have a location of their own.
    """
    tables = {claim.object_id for claim in other_claims if claim.has_own_location and claim.key is not None}
    return [claim for claim in claims if claim.has_own_location or claim.object_id in tables]


def _may_set_location(change: Change) -> bool:
    """Returns True if a change may give a directory to an external table, one of its partitions, or a database."""
    match change:
        case CreateObject(object=Table() as table):
            return table.external
        case CreateObject(object=Namespace() as database):
            return database.location is not None
        case AlterTable():
            return change.location is not None
        case AddPartitions() | AlterPartitions() | WritePartitions():
            return change.table.external
        case MovePartitions():
            return change.target.external
    if isinstance(change, DefinitionChange | PartitionNote | DropPartitions | TruncatePartitions):
        return False
    assert_never(change)


def _live_tables(context: CommitContext) -> Iterator[Table]:
    for object_, _ in queries.objects(context.connection, context.sequence, kind="table"):
        if isinstance(object_, Table) and object_.external:
            yield object_


def _objects(context: CommitContext, concurrent: bool) -> Iterator[_LocationClaim]:
    """Returns the external tables and databases whose newest version was made by a concurrent commit, or by
    this one.
    """
    row = schema.objects.c
    query = sa.select(row.kind, row.object_id, row.name, row.definition).where(
        row.ended == schema.NEVER, row.kind.in_(("table", "database")), *_committed(row.commit_seq, context, concurrent)
    )
    warehouse = warehouse_of(context.connection)
    for values in context.connection.execute(query):
        object_ = decode_object(*values, warehouse)
        if isinstance(object_, Namespace) and object_.location is not None:
            yield _LocationClaim(object_.location, object_.id, object_.name, may_share=False)
        elif isinstance(object_, Table) and object_.external:
            yield _LocationClaim(object_.location, object_.id, object_.name, _is_shared(object_))


def _partitions(context: CommitContext, tables: Iterable[Table], concurrent: bool) -> Iterator[_LocationClaim]:
    """Returns the partitions of external tables that these commits wrote, including those below their table."""
    row, warehouse = schema.partitions.c, warehouse_of(context.connection)
    for table in tables:
        if not table.partition_columns:
            continue
        query = sa.select(row.key, row.partition_values, row.location).where(
            row.table_id == table.id, row.ended == schema.NEVER, *_committed(row.commit_seq, context, concurrent)
        )
        for key, values, location in context.connection.execute(query):
            has_own_location = location is not None
            claimed_location = (
                loaded_path(location, warehouse)
                if has_own_location
                else default_directory(table, values_in(values, table.name))
            )
            yield _LocationClaim(
                claimed_location, table.id, table.name, _is_shared(table), bytes(key), has_own_location=has_own_location
            )


def _committed(commit: sa.Column[Any], context: CommitContext, concurrent: bool) -> tuple[sa.ColumnElement[bool], ...]:
    if not concurrent:
        return (commit == context.sequence,)
    return commit > context.snapshot.sequence, commit < context.sequence


def _is_shared(table: Table) -> bool:
    return table.properties.get(SHARED) == "true"
