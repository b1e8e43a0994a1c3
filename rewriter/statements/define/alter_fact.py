"""ALTER FACT: changes a fact's lateness, its tables and the trust in them, and marks periods that had no rows."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from rewriter.catalog.model.changes import (
    AlterStorages,
    Change,
    DropObject,
    SetLateness,
    SetRefreshOnCommit,
    SetRetention,
    SetTrusted,
)
from rewriter.catalog.model.objects import Column, Fact, Storage, StorageTable, parts_of
from rewriter.errors import AnalysisError, Error, Span
from rewriter.grammar.families import fact_changes as s
from rewriter.grammar.families.facts import FactStorage
from rewriter.grammar.terms import Name
from rewriter.planner.model.coverage_chart import overlapping
from rewriter.runtime.result import Result, Row, listing, strings
from rewriter.runtime.statement_context import Context, single
from rewriter.runtime.statement_runners import runs
from rewriter.statements.define.fact_storage import invalid_fact, with_table_names
from rewriter.statements.define.facts import (
    check_lateness,
    check_storages,
    read_storage,
    skip_warnings,
    unproven_tables,
)
from rewriter.statements.define.mark_complete import additions
from rewriter.statements.define.rollups import check_rollups, make_tables, table_of_rollup
from rewriter.statements.define.show_create import declared_fact
from rewriter.statements.query.not_null_measures import check_stored_not_null
from rewriter.statements.resolve.fact_periods import StoredPeriod, stored_periods, times
from rewriter.statements.resolve.named_objects import named_fact
from rewriter.timeline.ranges import RangeSet


@runs(s.AlterFact)
def alter_fact(statement: s.AlterFact, context: Context) -> Result:
    """ALTER FACT … SET LATENESS '6 hours', UNSET LATENESS, ADD STORAGE (…), DROP STORAGE t, TABLE t SET TRUSTED, UNSET
    TRUSTED, SET REFRESH ON COMMIT, SET RETAIN 90 DAYS, UNSET RETAIN, and MARK COMPLETE FROM … TO ….

    Rollups of the tables that stay remain as fresh as they were, except where an added table brings base partitions
    below them. Raises INVALID_LATENESS for a text that is no length of time, the errors of CREATE FACT for a table,
    INVALID_FACT for a table that the fact needs, and ``ConflictError`` where another transaction has dropped or
    altered it.
    """
    fact, action = named_fact(statement.fact, context), statement.action
    change: Change
    if isinstance(action, s.MarkComplete):
        return _mark_complete(fact, action, statement, context)
    if isinstance(action, s.SetTrusted):
        change = _set_trusted(fact, action, context)
    elif isinstance(action, s.SetRefresh):
        change = SetRefreshOnCommit(fact, action.on_commit)
    elif isinstance(action, s.SetRetention):
        check_lateness(action.retain, action.span, fact.calendar, context)
        change = SetRetention(fact, _own_table(fact, action.table, context), action.retain)
    elif isinstance(action, s.SetLateness):
        check_lateness(action.lateness, action.span, fact.calendar, context)
        change = SetLateness(fact, action.lateness)
    elif isinstance(action, s.AddStorage):
        change = AlterStorages(fact, _added_storages(fact, action.storage, context))
        _check_added(change, statement, context)
    elif isinstance(action, s.AddRollups):
        return _add_rollups(fact, action, statement, context)
    elif isinstance(action, s.DropRollup):
        return _drop_rollup(fact, action, statement, context)
    elif isinstance(action, s.DropStorage):
        change = AlterStorages(fact, _left(fact, action.table))
    else:
        assert_never(action)
    _commit([change], statement, context)
    if not isinstance(action, s.AddStorage):
        return Result("ALTER FACT")
    now = context.renewed()
    altered = now.snapshot.fact(fact.name)
    skipped = skip_warnings(altered, now, before=fact)
    return Result("ALTER FACT", warnings=(*unproven_tables(altered, now, before=fact), *skipped))


def _add_rollups(fact: Fact, action: s.AddRollups, statement: s.AlterFact, context: Context) -> Result:
    """Creates the tables of rollups, and adds them to the fact's first storage, in one commit."""
    cube, first = context.snapshot.cube(fact.cube), fact.storages[0]
    with context.catalog.begin(context.snapshot) as transaction:
        made = make_tables(action.rollups, Name(parts_of(fact.name)), cube, fact.columns, transaction, context)
        block = FactStorage(first.name, made.clauses, span=action.rollups[0].span)
        storages = made.mark(_added_storages(fact, block, made.context))
        check_rollups(action.rollups, replace(fact, storages=storages), cube)
        try:
            transaction.commit([*made.changes, AlterStorages(fact, storages)])
        except Error as error:
            raise error.at(statement.fact.span) from None
    return Result("ALTER FACT")


def _drop_rollup(fact: Fact, action: s.DropRollup, statement: s.AlterFact, context: Context) -> Result:
    """Drops a rollup of ROLLUPS and its table, in one commit."""
    stored = table_of_rollup(action.rollup, fact, context.snapshot.cube(fact.cube))
    table = context.snapshot.table(stored.table)
    _refuse_only_copy(stored, fact, action.rollup.span, context)
    left = _left(fact, Name(parts_of(table.name), action.rollup.span))
    _commit([AlterStorages(fact, left), DropObject(table)], statement, context)
    return Result("ALTER FACT")


def _refuse_only_copy(rollup: StorageTable, fact: Fact, span: Span, context: Context) -> None:
    """Raises INVALID_FACT for a rollup over dropped base partitions, if no other table has its columns for that
    time.
    """
    snapshot = context.snapshot
    dropped = held = elsewhere = RangeSet.EMPTY
    for stored in stored_periods(fact):
        time = times(stored.period, snapshot.timeline(stored.table.table, stored.period, stored.table.time).ranges())
        if stored.is_base:
            dropped |= times(
                stored.period, snapshot.retired(stored.table.table, stored.period, stored.table.time).ranges()
            )
        if stored.table is rollup:
            held |= time
        elif _has_columns_of(rollup, stored):
            elsewhere |= time - _lacking_of(rollup, stored, context)
    alone = held & dropped - elsewhere
    if alone:
        raise invalid_fact(
            f"{rollup.table} has the only copy of {fact.calendar.shown(alone)}: the base partitions were dropped.",
            span,
            f"DROP STORAGE {rollup.table} removes it from the fact and keeps the table; DROP TABLE then deletes it.",
            rollup.table,
        )


def time_held_alone(rollup: StorageTable, left: Fact, context: Context) -> RangeSet:
    """Returns the time of partitions of a rollup, used or not, that no table of what is left of its fact has with its
    columns.
    """
    snapshot = context.snapshot
    held = elsewhere = RangeSet.EMPTY
    for period in rollup.layouts:
        for reader in (snapshot.timeline, *snapshot.unused_timelines.values()):
            held |= times(period, reader(rollup.table, period, rollup.time).ranges())
    for stored in stored_periods(left):
        if _has_columns_of(rollup, stored):
            line = snapshot.timeline(stored.table.table, stored.period, stored.table.time)
            elsewhere |= times(stored.period, line.ranges()) - _lacking_of(rollup, stored, context)
    return held - elsewhere


def _lacking_of(rollup: StorageTable, other: StoredPeriod, context: Context) -> RangeSet:
    """Returns the time of the partitions of another table that lack a column which those of a rollup have there."""
    own = None if rollup.columns is None else {name.lower() for name in rollup.columns}
    lacking, snapshot = RangeSet.EMPTY, context.snapshot
    for column in other.table.lacking_columns(0):
        if own is None or column.lower() in own:
            line = snapshot.lacking(other.table.table, other.period, other.table.time, (column,))
            time = times(other.period, line.ranges())
            for period in rollup.layouts:
                time -= times(period, snapshot.lacking(rollup.table, period, rollup.time, (column,)).ranges())
            lacking |= time
    return lacking


def _has_columns_of(rollup: StorageTable, other: StoredPeriod) -> bool:
    """Tests whether partitions of another table can stand in for those of a rollup."""
    if not all(other.period.nests_in(period) for period in rollup.layouts):
        return False
    return other.table.columns is None or (
        rollup.columns is not None
        and {name.lower() for name in rollup.columns} <= {name.lower() for name in other.table.columns}
    )


def _commit(changes: list[Change], statement: s.AlterFact, context: Context) -> None:
    with context.catalog.begin(context.snapshot) as transaction:
        try:
            transaction.commit(changes)
        except Error as error:
            raise error.at(statement.fact.span) from None


def _check_added(change: AlterStorages, statement: s.AlterFact, context: Context) -> None:
    """Raises the errors of ``check_stored_not_null`` for the tables that a change adds to a fact."""
    fact = change.fact
    try:
        for stored in replace(fact, storages=change.storages).tables:
            if fact.storage_table(stored.table) is None:
                check_stored_not_null(stored, fact, context.snapshot.cube(fact.cube), context)
    except Error as error:
        raise error.at(statement.fact.span) from None


def _set_trusted(fact: Fact, action: s.SetTrusted, context: Context) -> SetTrusted:
    _own_table(fact, action.table, context)
    return SetTrusted(fact, context.table(action.table), action.trusted)


def _own_table(fact: Fact, name: Name, context: Context) -> str:
    table = context.table(name)
    if fact.storage_table(table.name) is None:
        raise _no_table(fact, name)
    return table.name


def _no_table(fact: Fact, name: Name) -> AnalysisError:
    return invalid_fact(
        f"{name.last} is not a table of the fact {fact.name}.",
        name.span,
        f"Its tables are {', '.join(table.table for table in fact.tables)}.",
        name.last,
    )


def _mark_complete(fact: Fact, action: s.MarkComplete, statement: s.AlterFact, context: Context) -> Result:
    """Returns rows of (table, period, from, to, status, partitions): ``marked``, ``dropped`` for periods that stay
    dropped, or ``open`` for periods that a stream fills.
    """
    changes, absences = additions(fact, action, context)
    if changes:
        _commit(list(changes), statement, context)
    rows: list[Row] = []
    for absence in absences:
        period = absence.stored.period
        marked = absence.time - absence.filled
        for status, time in (("marked", marked), ("open", absence.filled), ("dropped", absence.dropped)):
            for time_range in time:
                texts = (fact.calendar.text(time_range.start), fact.calendar.text(time_range.end))
                count = len(overlapping(period, time_range))
                rows.append((absence.stored.table.table, period.name, *texts, status, count))
    columns = (*strings("table", "period", "from", "to", "status"), Column("partitions", "bigint"))
    return listing("ALTER FACT", columns, rows)


def _added_storages(fact: Fact, block: FactStorage, context: Context) -> tuple[Storage, ...]:
    """Returns the storages with the tables added: in the storage of the given name, or in a new one."""
    cube, name = context.snapshot.cube(fact.cube), block.name.lower()
    existing = next((storage for storage in fact.storages if storage.name.lower() == name), None)
    if existing is not None and (block.start is not None or block.end is not None):
        raise invalid_fact(
            f"The fact {fact.name} already has the storage {existing.name}: its START and END cannot be changed.",
            block.span,
            "Give each TABLE its own START and END, or name a new storage: ADD STORAGE s (…).",
            existing.name,
        )
    if existing is not None:
        block = replace(block, start=existing.start, end=existing.end)
    block = with_table_names(block, Name(parts_of(fact.name)), context)
    new = read_storage(block, cube, fact.columns, context)
    declared = declared_fact(fact)
    if existing is None:
        altered = replace(fact, storages=(*fact.storages, new))
        blocks = (*declared.storages, block)
    else:
        pairs = zip(fact.storages, declared.storages, strict=True)
        existing_and_new = [
            (
                replace(storage, tables=(*storage.tables, *new.tables)),
                replace(text, tables=(*text.tables, *block.tables)),
            )
            if storage is existing
            else (storage, text)
            for storage, text in pairs
        ]
        altered, blocks = (
            replace(fact, storages=tuple(storage for storage, _ in existing_and_new)),
            tuple(text for _, text in existing_and_new),
        )
    if altered.base_period != fact.base_period:
        raise invalid_fact(
            f"{fact.base_period.name} is the base period of the fact {fact.name}, and {altered.base_period.name} is a "
            "finer one.",
            block.span,
            "The base period cannot be changed: create another fact of the cube.",
        )
    if altered.is_raw and not fact.is_raw:
        raise invalid_fact(
            f"The base rows of the fact {fact.name} are {fact.base_period.name}: it cannot have a RAW table.",
            block.span,
            "Create another fact of the cube for the events.",
        )
    try:
        check_storages(replace(declared, storages=blocks), altered, cube, context)
    except Error as error:
        if error.position == Span(0, 0):
            error.position = block.span  # The position was in the text of CREATE FACT.
        raise
    return altered.storages


def _left(fact: Fact, name: Name) -> tuple[Storage, ...]:
    """Returns the storages without a table; a storage that has no other table is dropped."""
    removed_table = fact.storage_table(single(name))
    if removed_table is None:
        raise _no_table(fact, name)
    left = [
        replace(storage, tables=tuple(table for table in storage.tables if table is not removed_table))
        for storage in fact.storages
    ]
    storages = tuple(storage for storage in left if storage.tables)
    if not any(
        fact.is_base(table, period) for storage in storages for table in storage.tables for period in table.layouts
    ):
        raise invalid_fact(
            f"{removed_table.table} is the only table of the fact {fact.name} that holds its base period, "
            f"{fact.base_period.name}.",
            name.span,
            "Add another table of that period first, or DROP FACT.",
            removed_table.table,
        )
    return storages
