"""``rewriter catalog check``: what must hold between the rows of a catalog, proven row by row.

All is read in one state of the database, and nothing is written; who writes meanwhile waits for nobody. It reads every
row, builds every timeline anew, and asks the disk for every file that readers see.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import sqlalchemy as sa

from rewriter.catalog import reads, schema, vacuum
from rewriter.catalog.binding import bind
from rewriter.catalog.check_partitions import check_table
from rewriter.catalog.codec import decoded
from rewriter.catalog.context import CommitContext
from rewriter.catalog.database import Database
from rewriter.catalog.factwork import FactWork
from rewriter.catalog.keys import prefix
from rewriter.catalog.models import Cube, Namespace
from rewriter.catalog.names import DEFAULT_DATABASE, database_of
from rewriter.catalog.snapshot import Snapshot
from rewriter.catalog.timelines import TimelineDifference
from rewriter.errors import Error
from rewriter.timeline.periods import UpdatePeriod

_STATE_NAMES = {schema.FRESH: "fresh", schema.OUTDATED: "outdated", schema.RETIRED: "retired"}


@dataclass(frozen=True)
class Finding:
    """What is off: the object that it is about, and a sentence."""

    object: str
    problem: str


def findings(database: Database) -> Iterator[Finding]:
    """All that is off in a catalog; nothing where all is well. O(rows and files)."""
    with database.read() as connection:
        snapshot = Snapshot.on(database, connection)
        names = _names(connection)
        for part in (_counters, _transactions, _log):
            yield from (Finding("catalog", problem) for problem in part(connection))
        yield from _write_ids(connection, names)
        broken = list(_definitions(connection))
        yield from broken
        for table, column in (
            (schema.objects, schema.objects.c.object_id),
            (schema.partitions, schema.partitions.c.table_id),
            (schema.timeline_ranges, schema.timeline_ranges.c.table_id),
        ):
            yield from _versions(connection, table, column, names)
        yield from _claims(connection, names)
        if broken:
            return  # Nothing more can be said of tables that cannot be read.
        yield from _objects(connection, snapshot)
        known = vacuum.tables(connection)
        yield from _keys(connection, {prefix(one.table.id) for one in known})
        for one in known:
            for thing, problem in check_table(connection, one):
                yield Finding(thing, problem)
        yield from _same_paths(connection)
        yield from _timelines(database, connection, snapshot, names)


def _names(connection: sa.Connection) -> dict[int, str]:
    """The last name of every object that there ever was, by its id."""
    row = schema.objects.c
    found = connection.execute(sa.select(row.object_id, row.name).order_by(row.row_id))
    return {row.object_id: row.name for row in found}


def _counters(connection: sa.Connection) -> Iterator[str]:
    """A number that a sequence may give is above all that were given; of commits and events none was left out."""
    counter = schema.counters.c
    values = {row.name: row.value for row in connection.execute(sa.select(counter.name, counter.value))}
    used = {
        "transaction": (schema.transactions.c.transaction_id,),
        "object": (schema.objects.c.object_id, schema.write_ids.c.object_id),
        "commit": (schema.transactions.c.commit_seq,),
        "event": (schema.events.c.event_seq,),
    }
    for name, columns in used.items():
        newest = max(connection.execute(sa.select(sa.func.max(column))).scalar() or 0 for column in columns)
        if name not in values:
            yield f"the counter {name} is missing"
        elif values[name] < newest:
            yield f"the counter {name} is {values[name]}, and {newest} was given already"
        elif name == "commit" and values[name] > newest:
            yield f"the counter commit is {values[name]}, and the newest commit {newest}"
        elif name == "event" and newest and values[name] > newest:
            yield f"the counter event is {values[name]}, and the newest event {newest}"
    if values.get("vacuumed", 0) > values.get("commit", 0):
        yield f"VACUUM has removed files up to commit {values['vacuumed']}, which has not come yet"


def _transactions(connection: sa.Connection) -> Iterator[str]:
    """Exactly the committed transactions have a commit number, each its own, and all numbers have one."""
    row = schema.transactions.c
    wrong = sa.or_(
        row.state.not_in(("open", "committed", "aborted")),
        sa.and_(row.state == "committed", row.commit_seq.is_(None)),
        sa.and_(row.state != "committed", row.commit_seq.is_not(None)),
    )
    for number, state, commit in connection.execute(
        sa.select(row.transaction_id, row.state, row.commit_seq).where(wrong)
    ):
        yield f"transaction {number} is {state}, and its commit number is {commit}"
    counted = sa.select(
        sa.func.count(row.commit_seq), sa.func.count(sa.distinct(row.commit_seq)), sa.func.max(row.commit_seq)
    )
    every, different, newest = connection.execute(counted).one()
    if every != different:
        yield f"{every - different} transactions share a commit number with another one"
    if different != (newest or 0):
        yield f"of the commits up to {newest} only {different} have a transaction"


def _log(connection: sa.Connection) -> Iterator[str]:
    """Events are numbered without a gap, each is of a committed transaction, and each commit has its closing one."""
    row, transaction = schema.events.c, schema.transactions.c
    least, newest, count = connection.execute(
        sa.select(sa.func.min(row.event_seq), sa.func.max(row.event_seq), sa.func.count())
    ).one()
    if count and newest - least + 1 != count:
        yield f"the log has {count} events between {least} and {newest}: some are missing"
    stray = (
        sa.select(row.event_seq, row.commit_seq)
        .join_from(schema.events, schema.transactions, transaction.transaction_id == row.transaction_id, isouter=True)
        .where(transaction.commit_seq.is_distinct_from(row.commit_seq))
        .order_by(row.event_seq)
    )
    for number, commit in connection.execute(stray):
        yield f"event {number} is of commit {commit}, which its transaction did not make"
    closing = sa.select(row.commit_seq).where(row.kind == "COMMIT").order_by(row.commit_seq)
    commits = list(connection.execute(closing).scalars())
    if commits and commits != list(range(commits[0], commits[-1] + 1)):
        yield f"the log does not close each commit from {commits[0]} to {commits[-1]} once"


def _write_ids(connection: sa.Connection, names: dict[int, str]) -> Iterator[Finding]:
    """Each is held by a transaction and has its commit number; those of an object are numbered without a gap."""
    held, transaction = schema.write_ids.c, schema.transactions.c
    wrong = (
        sa.select(held.object_id, held.write_id, held.commit_seq, transaction.commit_seq)
        .join_from(
            schema.write_ids, schema.transactions, transaction.transaction_id == held.transaction_id, isouter=True
        )
        .where(sa.or_(transaction.state.is_(None), transaction.commit_seq.is_distinct_from(held.commit_seq)))
    )
    for object_id, write_id, commit, made in connection.execute(wrong):
        yield Finding(
            _name(names, object_id), f"the write id {write_id} is of commit {commit}, its transaction of {made}"
        )
    newest = sa.func.max(held.write_id)
    gaps = sa.select(held.object_id, newest, sa.func.count()).group_by(held.object_id).having(newest != sa.func.count())
    for object_id, last, count in connection.execute(gaps):
        yield Finding(_name(names, object_id), f"it has {count} write ids, and the newest is {last}")
    of_nothing = sa.select(held.object_id).where(held.commit_seq.is_not(None)).distinct()
    for object_id in connection.execute(of_nothing).scalars():
        if object_id not in names:
            yield Finding(_name(names, object_id), "it has committed write ids, and is no object")


def _versions(
    connection: sa.Connection, table: sa.Table, column: sa.Column[int], names: dict[int, str]
) -> Iterator[Finding]:
    """Rows are made and ended by commits, in this order, and say which."""
    row, maker, ender = table.c, schema.write_ids.alias("maker"), schema.write_ids.alias("ender")
    said = row.commit_seq > maker.c.commit_seq if "as_of" in row else row.commit_seq != maker.c.commit_seq
    wrong = [
        maker.c.commit_seq.is_(None),
        sa.and_(row.ended != schema.NEVER, ender.c.commit_seq.is_(None)),
        ender.c.commit_seq < maker.c.commit_seq,
        said,
    ]
    if "as_of" in row:
        wrong.append(row.as_of > maker.c.commit_seq)
    query = (
        sa.select(row.row_id, column, row.made, row.ended)
        .join_from(table, maker, sa.and_(maker.c.object_id == column, maker.c.write_id == row.made), isouter=True)
        .join(ender, sa.and_(ender.c.object_id == column, ender.c.write_id == row.ended), isouter=True)
        .where(sa.or_(*wrong))
        .order_by(row.row_id)
    )
    for row_id, object_id, made, ended in connection.execute(query):
        end = "" if ended == schema.NEVER else f" and ended by {ended}"
        yield Finding(
            _name(names, object_id), f"row {row_id} of {table.name}, made by write id {made}{end}, fits no commits"
        )
    for object_id in connection.execute(sa.select(column).distinct()).scalars():
        if object_id not in names:
            yield Finding(_name(names, object_id), f"it has rows in {table.name}, and is no object")


def _claims(connection: sa.Connection, names: dict[int, str]) -> Iterator[Finding]:
    row, counter = schema.claimed_ranges.c, schema.counters.c
    newest = sa.select(counter.value).where(counter.name == "commit").scalar_subquery()
    wrong = sa.or_(row.commit_seq > newest, row.start_key >= row.end_key)
    for row_id, table_id in connection.execute(sa.select(row.row_id, row.table_id).where(wrong)):
        yield Finding(_name(names, table_id), f"row {row_id} of claimed_ranges is of no commit, or an empty range")
    for table_id in connection.execute(sa.select(row.table_id).distinct()).scalars():
        if table_id not in names:
            yield Finding(_name(names, table_id), "it has rows in claimed_ranges, and is no object")


def _definitions(connection: sa.Connection) -> Iterator[Finding]:
    row = schema.objects.c
    for row_id, *definition in connection.execute(
        sa.select(row.row_id, row.kind, row.object_id, row.name, row.definition)
    ):
        try:
            decoded(*definition)
        except Exception as error:  # Whatever damage does to a text.
            yield Finding(definition[2], f"row {row_id} of objects cannot be read: {type(error).__name__}: {error}")


def _objects(connection: sa.Connection, snapshot: Snapshot) -> Iterator[Finding]:
    """Of each name and each id one object is live, and it lies in a database that there is."""
    row = schema.objects.c
    for column, what in ((row.name_key, "name"), (row.object_id, "id")):
        query = sa.select(sa.func.min(row.name), sa.func.count()).where(row.ended == schema.NEVER)
        for name, count in connection.execute(query.group_by(column).having(sa.func.count() > 1)):
            yield Finding(name, f"{count} live objects have its {what}")
    things = [thing for thing, _ in reads.objects(connection, snapshot.sequence)]
    databases = {thing.name for thing in things if isinstance(thing, Namespace)} | {DEFAULT_DATABASE}
    for thing in things:
        if not isinstance(thing, Namespace) and database_of(thing.name) not in databases:
            yield Finding(thing.name, f"there is no database '{database_of(thing.name)}'")


def _keys(connection: sa.Connection, prefixes: set[bytes]) -> Iterator[Finding]:
    """Rows without an id of their table are found by their keys: each begins with that of a table."""
    for table, key in (
        (schema.files, schema.files.c.key),
        (schema.partition_fields, schema.partition_fields.c.place),
        (schema.partition_fields, schema.partition_fields.c.key),
    ):
        begun = sa.func.substr(key, 1, 9)
        for head, count in connection.execute(sa.select(begun, sa.func.count()).group_by(begun)):
            if bytes(head) not in prefixes:
                yield Finding("catalog", f"{count} rows of {table.name} belong to no table ({bytes(head).hex()})")


def _same_paths(connection: sa.Connection) -> Iterator[Finding]:
    row = schema.files.c
    query = sa.select(row.path, sa.func.count()).where(row.ended == schema.NEVER).group_by(row.path)
    for path, count in connection.execute(query.having(sa.func.count() > 1).order_by(row.path)):
        yield Finding(path, f"{count} live rows name this file: its rows count more than once")


def _timelines(
    database: Database, connection: sa.Connection, snapshot: Snapshot, names: dict[int, str]
) -> Iterator[Finding]:
    """Stored timelines are those that the committed partitions make; tables of no fact have none."""
    context = CommitContext(database, connection, 0, snapshot, {}, frozenset(), snapshot.sequence + 1)
    bound: set[int] = set()
    for fact, made_by in context.live_facts():
        if not isinstance(context.live_object(fact.cube), Cube):
            yield Finding(fact.name, f"there is no cube '{fact.cube}'")
        try:
            bindings = bind(fact, context.live_object)
            bound.update(binding.table.id for binding in bindings)
            for found in FactWork(context, bindings, made_by).compare():
                yield Finding(found.table, _difference(found))
        except Error as error:
            yield Finding(fact.name, f"its timelines cannot be built: {error.message}")
    row = schema.timeline_ranges.c
    for table_id in connection.execute(sa.select(row.table_id).where(row.ended == schema.NEVER).distinct()).scalars():
        if table_id not in bound:
            yield Finding(_name(names, table_id), "it has timelines, and belongs to no fact")


def _difference(found: TimelineDifference) -> str:
    period = UpdatePeriod(found.period).name if found.period in list(UpdatePeriod) else found.period
    stored, rebuilt = (
        ", ".join(_STATE_NAMES[state] for state in sorted(one)) or "absent" for one in (found.was, found.now)
    )
    ordinals = found.ordinals
    return (
        f"the timeline {period} of {found.time_key} says {stored} of the ordinals {ordinals.start} to "
        f"{ordinals.end - 1}, and the partitions {rebuilt}"
    )


def _name(names: dict[int, str], object_id: int) -> str:
    return names.get(object_id, f"id {object_id}")
