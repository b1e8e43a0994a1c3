"""CREATE FACT: its columns, storages and tables, checked against the cube and each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from rewriter.catalog.clusters.definitions import not_on
from rewriter.catalog.model.changes import CreateObject
from rewriter.catalog.model.objects import Cube, Fact, Storage, StorageTable, Table, parts_of
from rewriter.errors import AnalysisError, Error, Span
from rewriter.grammar.families import facts as s
from rewriter.grammar.terms import Name
from rewriter.planner.cover.validity import between, described, window
from rewriter.runtime.result import Result
from rewriter.runtime.statement_context import Context, single
from rewriter.runtime.statement_runners import runs
from rewriter.statements.define.fact_storage import check_width, invalid_fact, storage_table, with_table_names
from rewriter.statements.define.kept_proofs import kept_proofs
from rewriter.statements.define.measure_columns import check_measure_types
from rewriter.statements.define.raw_tables import check_raw_periods, check_raw_siblings
from rewriter.statements.define.rollups import check_rollups, make_tables
from rewriter.statements.define.tables import already_exists, plain_name
from rewriter.statements.query.not_null_measures import check_stored_not_null
from rewriter.statements.query.words_relied_on import new_fact
from rewriter.statements.resolve.fact_periods import skipped_tables
from rewriter.statements.resolve.named_objects import named_cube
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.time_bounds import earlier

if TYPE_CHECKING:
    from rewriter.catalog.commit.transaction import Writer
    from rewriter.timeline.calendars import Calendar
    from rewriter.timeline.ranges import RangeSet


@runs(s.CreateFact, without_warehouse=True)
def create_fact(statement: s.CreateFact, context: Context) -> Result:
    """CREATE FACT: its storage tables must exist, carry its columns, and name their partitions as the layouts say.
    ROLLUPS creates tables in the same commit.

    Raises NOT_NULL_ASSERT_VIOLATION if a managed table has NULL in a measure that is declared NOT NULL, which costs a
    footer for each file, or a query (``check_not_null``). Raises ``ConflictError`` (retryable) if another transaction
    writes into such a table meanwhile.
    """
    name = single(statement.name)
    if context.snapshot.named(name) is not None:
        if statement.if_not_exists:
            return Result("CREATE FACT")
        raise already_exists(statement.name)
    plain_name(statement.name, "fact")
    cube = named_cube(statement.cube, context)
    blocks = tuple(with_table_names(block, statement.name, context) for block in statement.storages)
    statement = replace(statement, storages=blocks)
    check_lateness(statement.lateness, statement.lateness_span, cube.calendar, context)
    with context.catalog.begin(context.snapshot) as transaction:
        changes, fact, context = build_fact(statement, cube, transaction, context)
        try:
            transaction.commit(changes)
        except Error as error:
            raise error.at(statement.name.span) from None
    now = context.renewed()
    created = now.snapshot.fact(fact.name)
    warnings = kept_proofs(created, now) if created.earlier else unproven_tables(fact, context)
    skipped = skip_warnings(created, now)
    return Result("CREATE FACT", warnings=(*warnings, *skipped, *new_fact(fact, context)))


def build_fact(
    statement: s.CreateFact,
    cube: Cube,
    transaction: Writer,
    context: Context,
    earlier: Sequence[CreateObject] = (),
) -> tuple[list[CreateObject], Fact, Context]:
    """Returns the changes that create the fact of a statement and the tables of its ROLLUPS, the fact, and a context
    that shows the tables. ``earlier`` are the other objects that the same commit creates. Raises as CREATE FACT does.
    """
    columns = _fact_columns(statement, cube)
    name = Name(parts_of(single(statement.name)), statement.name.span)
    made = make_tables(statement.rollups, name, cube, columns, transaction, context, earlier)
    context = made.context
    first, *others = statement.storages
    statement = replace(statement, storages=(made.into(first), *others))
    storages = tuple(read_storage(block, cube, columns, context) for block in statement.storages)
    _check_distinct(statement, storages)
    fact = Fact(
        transaction.allocate_id(),
        single(statement.name),
        cube.name,
        made.mark(storages),
        columns,
        statement.weight,
        cube.zone,
        statement.lateness,
        refresh_on_commit=statement.refresh_on_commit,
    )
    check_rollups(statement.rollups, fact, cube)
    _check_times(statement, storages, columns, cube)
    _check_nesting(fact, statement.name.span)
    check_width(fact, cube, statement)
    check_raw_siblings(fact, context.snapshot.facts_of(cube.name), statement.name.span)
    check_measure_types(statement, fact, cube, context)
    try:
        for stored in fact.tables:
            check_stored_not_null(stored, fact, cube, context)
    except Error as error:
        raise error.at(statement.name.span) from None
    return [*earlier, *made.changes, CreateObject(fact)], fact, context


def unproven_tables(fact: Fact, context: Context, before: Fact | None = None) -> Iterator[str]:
    """Yields a warning for each table whose rollups, or the places of whose events, nothing proves: external tables,
    and tables that already have partitions (of events: with files, unless every write computes the partition of an
    event). The tables of ``before`` are left out.
    """
    old_tables = () if before is None else before.tables
    for stored in (stored for stored in fact.tables if stored not in old_tables):
        table = context.snapshot.table(stored.table)
        is_computed = all(column.transform is not None for column in table.partition_columns)
        is_unproven = table.external or (not is_computed and _has_files(table, context))
        if stored.raw is not None and not stored.trusted and is_unproven:
            reason = "external" if table.external else "already has events"
            yield (
                f"{table.name} is RAW and {reason}: on your word, each event lies in the partition of its "
                f"{stored.time}; CHECK FACT {fact.name} proves it"
            )
        if stored.trusted or all(fact.is_base(stored, period) for period in stored.layouts):
            continue
        has_partitions = next(context.snapshot.lookup(table, None).found_keys(), None) is not None
        if table.external or has_partitions:
            reason = "is external" if table.external else "already has partitions"
            yield (
                f"{table.name} {reason}: its rollups are unproven, and are not used until CHECK FACT "
                f"{fact.name} ACCEPT has "
                f"compared them; ALTER FACT {fact.name} TABLE {table.name} SET TRUSTED uses them without a proof"
            )


def skip_warnings(fact: Fact, context: Context, before: Fact | None = None) -> Iterator[str]:
    """Yields a warning for each managed table of rollups that REFRESH FACT leaves alone, because it has columns that
    the fact does not list. The tables of ``before`` are left out.
    """
    old_tables = {stored.table for stored in before.tables} if before is not None else set()
    for name, columns in skipped_tables(fact, context.snapshot).items():
        if name not in old_tables:
            yield (
                f"REFRESH FACT skips {name}, which has {', '.join(columns)}: ALTER FACT … ADD ROLLUP makes a rollup "
                "without"
            )


def _has_files(table: Table, context: Context) -> bool:
    return any(partition.files for partition in context.snapshot.lookup(table, None).partitions())


def check_storages(statement: s.CreateFact, fact: Fact, cube: Cube, context: Context) -> None:
    """Raises INVALID_FACT where the storages of a fact, whose CREATE FACT is ``statement``, contradict each other."""
    _check_distinct(statement, fact.storages)
    _check_times(statement, fact.storages, fact.columns, cube)
    _check_nesting(fact, statement.name.span)
    check_width(fact, cube, statement)
    check_measure_types(statement, fact, cube, context)


def check_lateness(lateness: str | None, at: Span, calendar: Calendar, context: Context) -> None:
    """Raises ``DataError`` INVALID_LATENESS, at its position, for a LATENESS or RETAIN that is no length of time."""
    try:
        if lateness is not None:
            earlier(lateness, int(context.planning.now), calendar)
    except Error as error:
        raise error.at(at) from None


def _fact_columns(statement: s.CreateFact, cube: Cube) -> tuple[str, ...] | None:
    """Returns the cube's own spelling of the columns that the fact carries; ``None`` means all."""
    if statement.columns is None:
        return None
    by_name = {name.lower(): name for name in cube.column_order}
    fact_columns: list[str] = []
    for name in statement.columns:
        column = by_name.get(name.lower())
        if column is None or column in fact_columns:
            raise AnalysisError(
                f"The column {name} occurs twice." if column else f"The cube {cube.name} has no column {name}.",
                condition="COLUMN_ALREADY_EXISTS" if column else "UNRESOLVED_COLUMN.WITH_SUGGESTION",
                sqlstate="42711" if column else "42703",
                position=statement.name.span,
                object=name,
                hint=f"The columns are {', '.join(cube.column_order)}.",
            )
        fact_columns.append(column)
    return tuple(fact_columns)


def read_storage(block: s.FactStorage, cube: Cube, columns: tuple[str, ...] | None, context: Context) -> Storage:
    """Returns a storage with its tables, each of which fits the cube. Raises INVALID_FACT and TABLE_IN_USE for one that
    does not, TABLE_NOT_IN_CLUSTER for one that is not on the cluster of the storage, and CLUSTER_NOT_FOUND.
    """
    tables = tuple(storage_table(clause, cube, columns, context) for clause in block.tables)
    if block.cluster is not None:
        _check_cluster(block.cluster, tables, block.span, context)
    storage = Storage(block.name, tables, block.start, block.end)
    now, text, calendar = context.planning.now, described(storage), cube.calendar
    storage_text = f"The storage {block.name}"
    _check_window(partial(between, block.start, block.end, now, calendar), block.span, storage_text, text)
    for clause, table in zip(block.tables, tables, strict=True):
        at = clause.table.span if clause.table is not None else clause.span
        check_lateness(clause.retain, at, calendar, context)
        text = described(storage, table)
        _check_window(partial(window, storage, table, now, calendar), at, f"The table {table.table}", text)
    return storage


def _check_cluster(name: str, tables: Sequence[StorageTable], at: Span, context: Context) -> None:
    """Checks that a cluster is the primary one of all tables of a storage. A fact remembers no cluster: tables do."""
    try:
        cluster = context.clusters.named(name)
        for stored in tables:
            table = context.snapshot.table(stored.table)
            if not context.clusters.is_primary(table, cluster.name):
                raise not_on(table, cluster, context.clusters)
    except Error as error:
        raise error.at(at) from None


def _check_window(window: Callable[[], RangeSet], at: Span, subject: str, text: str) -> None:
    """Raises, at ``at``, for bounds that cannot be read or leave no time between them."""
    try:
        valid = window()
    except Error as error:
        raise error.at(at) from None
    if not valid:
        raise invalid_fact(
            f"{subject} is never valid: {text} is empty.",
            at,
            "START is included, END excluded: the start must be before the end.",
        )


def _check_times(
    statement: s.CreateFact, storages: tuple[Storage, ...], columns: tuple[str, ...] | None, cube: Cube
) -> None:
    """Checks the time dimensions of all tables.

    All base tables must name the same ones, among them all that the fact lists. No rollup may name more, because its
    values of a time come from the base.
    """
    base = min(period for storage in storages for table in storage.tables for period in table.layouts)
    pairs = [
        (clause, table)
        for block, storage in zip(statement.storages, storages, strict=True)
        for clause, table in zip(block.tables, storage.tables, strict=True)
    ]
    first = next(table for _, table in pairs if base in table.layouts)
    for clause, table in pairs:
        differing = (
            set(table.times) ^ set(first.times) if base in table.layouts else set(table.times) - set(first.times)
        )
        if differing:
            time = sorted(differing)[0]
            names, lacks = (first, table) if time in first.times else (table, first)
            raise invalid_fact(
                f"The table {names.table} is partitioned by {time}, and {lacks.table}, which holds the "
                f"base period {base.name}, is not.",
                clause.span,
                f"Leave it out of {names.table}: rollups of events have the first time dimension alone."
                if first.raw is not None
                else f"Add PARTITIONED BY {time} AS (…) to {lacks.table}, or leave it out of {names.table}.",
                time,
            )
    # Events have a column for each time that the fact lists.
    is_raw = first.raw is not None
    unnamed = [name for name in columns or () if name in cube.times and name not in first.times and not is_raw]
    if unnamed:
        raise invalid_fact(
            f"The fact lists {unnamed[0]}, which no PARTITIONED BY names.",
            statement.name.span,
            f"Add PARTITIONED BY {unnamed[0]} AS (…), or list the fact's columns without it.",
            unnamed[0],
        )


def _check_distinct(statement: s.CreateFact, storages: tuple[Storage, ...]) -> None:
    names: set[str] = set()
    for block, storage in zip(statement.storages, storages, strict=True):
        if storage.name.lower() in {other.name.lower() for other in storages if other is not storage}:
            raise invalid_fact(
                f"The storage {storage.name} occurs twice.",
                block.span,
                "Give each STORED IN block a different name: STORED IN STORAGE s (…).",
                storage.name,
            )
        for clause, table in zip(block.tables, storage.tables, strict=True):
            if table.table.lower() in names:
                raise invalid_fact(
                    f"The table {table.table} occurs twice.",
                    clause.span,
                    "Name several periods of a table in one PERIODS (…).",
                )
            names.add(table.table.lower())


def _check_nesting(fact: Fact, at: Span) -> None:
    """Checks that, in a zone, periods finer than a day divide its days, and that events are the base."""
    check_raw_periods(fact, at)
    periods = sorted({period for table in fact.tables for period in table.layouts})
    days = next((period for period in periods if not isinstance(period, UpdatePeriod)), None)
    for period in periods:
        if days is not None and period.kind < UpdatePeriod.DAILY and not period.nests_in(days):
            hint = "Declare MINUTELY instead" if UpdatePeriod.MINUTELY.nests_in(days) else "Omit it"
            raise invalid_fact(
                f"{period.name} periods are in UTC, and the days of {fact.zone} do not consist of them.",
                at,
                f"{hint}, or store the {period.name} partitions in a fact without {days.name} and coarser ones.",
                fact.name,
            )
