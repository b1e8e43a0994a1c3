"""Locations: a commit is refused if its location overlaps one that a commit has given that it did not see.

A statement checks a location against its snapshot. Two concurrent statements see nothing of each other, so the second
to commit starts again, and its check then names the table that shares the files. A location is compared with those
that were given in the meantime, with links resolved. The statement decides which locations may overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from rewriter.catalog.commit.commit_context import CommitContext
from rewriter.catalog.commit.directory_moves import default_directory
from rewriter.catalog.model.changes import (
    AddPartitions,
    AlterPartitions,
    AlterTable,
    Change,
    CreateObject,
    MovePartitions,
    WritePartitions,
)
from rewriter.catalog.model.json_codec import decoded
from rewriter.catalog.model.objects import Namespace, Table
from rewriter.catalog.model.real_paths import Nest, RealPaths
from rewriter.catalog.model.stored_paths import loaded
from rewriter.catalog.model.stored_rows import values_in
from rewriter.catalog.reading import queries
from rewriter.catalog.store import schema
from rewriter.catalog.store.backend import warehouse_of
from rewriter.errors import ConflictError

#: The property of an external table that may share its files with others, ``true`` or ``false``, the default.
SHARED = "rewriter.shared_location"


@dataclass(frozen=True)
class _Given:
    """A directory given to an object or to one of its partitions (``key``; ``None`` for the object itself).

    ``own`` is False for a partition without a location of its own, which lies in the default directory.
    """

    location: str
    object_id: int
    name: str
    shared: bool
    key: bytes | None = None
    own: bool = True

    def may_meet(self, other: _Given) -> bool:
        if self.object_id != other.object_id:
            return not (self.shared or other.shared)
        # Partitions lie below their table; two of them lie apart.
        return not self.shared and None not in (self.key, other.key) and self.key != other.key


def check(context: CommitContext, changes: Sequence[Change]) -> None:
    """Raises ``ConflictError`` if a new location overlaps one given by a concurrent commit.

    The changes have been made. A location overlaps another if it equals, holds or lies in it. A commit is concurrent if
    it is between the transaction's snapshot and its own number. Runs no statement if there was no such commit or no
    location is given. Accesses the disk once for each location.
    """
    if context.snapshot.sequence + 1 >= context.sequence or not any(map(_gives, changes)):
        return
    tables = list(_live_tables(context))
    before = [*_objects(context, between=True), *_partitions(context, tables, between=True)]
    if not before:
        return
    own_claims = [*_objects(context, between=False), *_partitions(context, tables, between=False)]
    before, own_claims = _relevant(before, own_claims), _relevant(own_claims, before)
    real = RealPaths()
    places = Nest((real.of(claim.location), claim) for claim in before)
    for claim in own_claims:
        for prior in places.meeting(real.of(claim.location)):
            if claim.may_meet(prior):
                raise ConflictError(
                    f"another transaction gave '{prior.name}' the location {prior.location} after this "
                    f"one began, and {claim.location} shares files with it",
                    object=claim.name,
                    hint="run the statement again",
                )


def _relevant(claims: Sequence[_Given], other_claims: Sequence[_Given]) -> list[_Given]:
    """Returns those that may meet one of the others. A partition below its table meets only own directories there."""
    tables = {claim.object_id for claim in other_claims if claim.own and claim.key is not None}
    return [claim for claim in claims if claim.own or claim.object_id in tables]


def _gives(change: Change) -> bool:
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
    return False


def _live_tables(context: CommitContext) -> Iterator[Table]:
    for object_, _ in queries.objects(context.connection, context.sequence, kind="table"):
        if isinstance(object_, Table) and object_.external:
            yield object_


def _objects(context: CommitContext, between: bool) -> Iterator[_Given]:
    """Returns the external tables and databases whose newest version was made by the commits between, or by
    this one.
    """
    row = schema.objects.c
    query = sa.select(row.kind, row.object_id, row.name, row.definition).where(
        row.ended == schema.NEVER, row.kind.in_(("table", "database")), *_made(row.commit_seq, context, between)
    )
    warehouse = warehouse_of(context.connection)
    for values in context.connection.execute(query):
        object_ = decoded(*values, warehouse)
        if isinstance(object_, Namespace) and object_.location is not None:
            yield _Given(object_.location, object_.id, object_.name, shared=False)
        elif isinstance(object_, Table) and object_.external:
            yield _Given(object_.location, object_.id, object_.name, _is_shared(object_))


def _partitions(context: CommitContext, tables: Iterable[Table], between: bool) -> Iterator[_Given]:
    """Returns the partitions of external tables that these commits wrote, including those below their table."""
    row, warehouse = schema.partitions.c, warehouse_of(context.connection)
    for table in tables:
        if not table.partition_columns:
            continue
        query = sa.select(row.key, row.partition_values, row.location).where(
            row.table_id == table.id, row.ended == schema.NEVER, *_made(row.commit_seq, context, between)
        )
        for key, values, location in context.connection.execute(query):
            own = location is not None
            claimed_location = (
                loaded(location, warehouse) if own else default_directory(table, values_in(values, table.name))
            )
            yield _Given(claimed_location, table.id, table.name, _is_shared(table), bytes(key), own=own)


def _made(commit: sa.Column[Any], context: CommitContext, between: bool) -> tuple[sa.ColumnElement[bool], ...]:
    if not between:
        return (commit == context.sequence,)
    return commit > context.snapshot.sequence, commit < context.sequence


def _is_shared(table: Table) -> bool:
    return table.properties.get(SHARED) == "true"
