"""Table properties and timelines: ALTER TABLE … SET and UNSET TBLPROPERTIES, SET TIMELINE, REFRESH TIMELINES.

Properties about timelines are checked where they are set, and written in one spelling; all others are kept as typed.
None of these statements reads data or outdates a rollup.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rewriter.catalog.commit.reserved_properties import (
    COMMENT,
    checked_auto_compact,
    checked_exposing,
    checked_packing,
    is_about_auto_compact,
    is_about_exposing,
    is_about_packing,
    refuse_reserved,
)
from rewriter.catalog.facts import timeline_properties as properties
from rewriter.catalog.facts.timeline_properties import Choice
from rewriter.catalog.keys.paths import (
    checked_property,
    is_about_directories,
    is_discovered,
    not_registered,
    refuse_change,
)
from rewriter.catalog.model.changes import AlterTable, RefreshTimelines
from rewriter.catalog.model.column_statistics import OF_CLIENTS, is_reserved
from rewriter.catalog.model.objects import Column, Fact, StorageTable, Table
from rewriter.catalog.model.partition_commit import checked_partition_commit, is_about_partition_commit
from rewriter.catalog.model.row_formats import OPTION_PROPERTY, SERDE_PROPERTY
from rewriter.catalog.model.stored_paths import MOVING
from rewriter.catalog.model.table_retention import checked_retention, is_about_retention, retention_of
from rewriter.catalog.store import schema
from rewriter.errors import AnalysisError, Error, InternalError, NotSupportedError, Span
from rewriter.grammar.families import table_properties as s
from rewriter.grammar.families import timelines
from rewriter.runtime.result import Result, Row, listing, strings
from rewriter.runtime.statement_runners import runs
from rewriter.statements.resolve.location_conflicts import checked_sharing, is_about_sharing
from rewriter.statements.resolve.named_objects import named_fact
from rewriter.timeline.kinds.registry import timeline_class
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import format_instant

if TYPE_CHECKING:
    from rewriter.catalog.commit.stored_timelines import States, TimelineDifference
    from rewriter.grammar.terms import Name
    from rewriter.runtime.statement_context import Context
    from rewriter.timeline.layouts import TimeLayout


@runs(s.SetProperties)
def set_properties(statement: s.SetProperties, context: Context) -> Result:
    """ALTER TABLE … SET TBLPROPERTIES: other properties stay; ``comment`` is the table's comment.

    Returns the differences that a rebuild of the timelines found, where the properties ask for one.
    """
    table = context.table(statement.table)
    for (key, value), span in zip(statement.properties, statement.property_spans, strict=True):
        _refuse_change(key, value, table, span)
    new_properties = validate_properties(
        zip(statement.properties, statement.property_spans, strict=True), table, context
    )
    differences = _alter(
        AlterTable(table, new_properties, _superseded(new_properties, table, context)), statement.table, context
    )
    fact = context.snapshot.fact_using(table.name) if properties.asks_for_rebuild(new_properties) else None
    if fact is None:
        return Result("ALTER TABLE SET TBLPROPERTIES")
    return _report("ALTER TABLE SET TBLPROPERTIES", fact, differences)


@runs(s.UnsetProperties)
def unset_properties(statement: s.UnsetProperties, context: Context) -> Result:
    """ALTER TABLE … UNSET TBLPROPERTIES. As in Spark 4.3, a missing key is no error, with or without IF EXISTS."""
    table = context.table(statement.table)
    for key in statement.keys:
        _refuse_change(key, None, table, statement.span)
        if key not in table.properties:  # an older release may have accepted the key
            _refuse_reserved(key, statement.span)
    requested = set(map(_folded, statement.keys))
    removed_keys = [key for key in (*table.properties, COMMENT) if _folded(key) in requested]
    _alter(AlterTable(table, unset=tuple(removed_keys)), statement.table, context)
    return Result("ALTER TABLE UNSET TBLPROPERTIES")


@runs(s.SetTimeline)
def set_timeline(statement: s.SetTimeline, context: Context) -> Result:
    """ALTER TABLE … SET TIMELINE: sets the class of one timeline. Reads no partitions and rewrites no stored data."""
    table, period = context.table(statement.table), UpdatePeriod.named(statement.period)
    fact = context.snapshot.fact_using(table.name)
    if fact is None:
        raise AnalysisError(
            f"The table {table.name} belongs to no fact, so it has no timelines.",
            condition="TIMELINE_NOT_FOUND",
            position=statement.table.span,
            object=table.name,
            hint="To choose the class of a future timeline, set a table property: ALTER TABLE … SET TBLPROPERTIES "
            f"('{properties.class_key(period, statement.column)}' = '…').",
        )
    storage_table = _storage_table(table, fact)
    key = properties.class_key(period, statement.column)
    choice = Choice(key, period, statement.column, statement.implementation)
    span = statement.period_span
    try:
        _layout(choice, storage_table)
        span = statement.column_span
        column = _column_in(choice, storage_table)
        span = statement.implementation_span
        timeline_class(statement.implementation)
    except Error as error:
        raise error.at(span) from None
    new_properties = {properties.class_key(period, column): statement.implementation}
    _alter(AlterTable(table, new_properties, _superseded(new_properties, table, context)), statement.table, context)
    return Result("ALTER TABLE SET TIMELINE")


@runs(timelines.RefreshTimelines)
def refresh_timelines(statement: timelines.RefreshTimelines, context: Context) -> Result:
    """REFRESH TIMELINES OF a fact: rebuilds them from its partitions, in one transaction.

    Rows of (table, period, time, from, to, was, now, partitions), one for each range that was wrong: ``was`` and
    ``now`` are ``fresh``, ``outdated``, ``retired``, ``missing``, or ``fresh, retired``. No rows where all was
    right.
    """
    fact = named_fact(statement.fact, context)
    with context.catalog.begin(context.snapshot) as transaction:
        try:
            transaction.commit([RefreshTimelines(fact)])
        except Error as error:
            raise error.at(statement.fact.span) from None
    return _report("REFRESH TIMELINES", fact, transaction.differences)


def validate_properties(
    items: Iterable[tuple[tuple[str, str], Span]], table: Table, context: Context
) -> dict[str, str]:
    """Returns the properties that a table is to have, with those about timelines in canonical spelling.

    Raises ``AnalysisError`` at the property: INVALID_TIMELINE_PROPERTY for a key about timelines that means nothing
    to this table, UNKNOWN_UPDATE_PERIOD, UNKNOWN_TIMELINE, INVALID_TIMELINE, DUPLICATE_KEY where two mean the same;
    RESERVED_PROPERTY for a key of the catalog's own; UNSUPPORTED_FEATURE for one that Spark reserves.
    """
    canonical_properties: dict[str, str] = {}
    for (key, value), span in items:
        try:
            name, text = _canonical_property(key, value, table, context)
            if name in canonical_properties or _superseded({name: text}, table, context, canonical_properties):
                raise AnalysisError(
                    f"The property {key} is set twice."
                    if not properties.is_about_timelines(name)
                    else f"The property {key} sets the class of a timeline twice.",
                    condition="DUPLICATE_KEY",
                    sqlstate="23505",
                    object=key,
                    hint="Name each only once.",
                )
        except Error as error:
            raise error.at(span) from None
        canonical_properties[name] = text
    return canonical_properties


def check_storage_table(table: Table, storage_table: StorageTable, position: Span) -> None:
    """Checks the properties of a table that becomes a fact's; raises as ``validate_properties`` does, at the position.

    Raises ``NotSupportedError`` DISCOVERED_PARTITIONS, because timelines describe partitions in the catalog, and it
    has none of a table whose partitions are discovered.
    """
    if is_discovered(table):
        raise not_registered(table).at(position)
    retention = retention_of(table)
    if retention is not None:
        raise AnalysisError(
            f"The table {table.name} has a retention of its own, which would drop what rollups need.",
            condition="INVALID_RETENTION",
            position=position,
            object=table.name,
            hint=f"ALTER TABLE {table.name} UNSET TBLPROPERTIES ('rewriter.retain'), and write RETAIN "
            f"{retention.length.upper()} behind the table in CREATE FACT.",
        )
    try:
        for choice in properties.choices(table.properties):
            if choice.time_in(storage_table) is None:
                raise properties.invalid(
                    f"'{choice.key}' is for a timeline that '{storage_table.table}' does not have",
                    choice.key,
                    f"Remove it: ALTER TABLE {storage_table.table} UNSET TBLPROPERTIES ('{choice.key}').",
                )
            timeline_class(choice.implementation)
        for period in storage_table.layouts:
            for time in storage_table.times:
                properties.chosen(table.properties, storage_table, period, time)
    except Error as error:
        raise error.at(position) from None


def _canonical_property(key: str, value: str, table: Table, context: Context) -> tuple[str, str]:
    """Returns a property in its canonical spelling, where it has one; raises where it means nothing to the table."""
    if key.startswith(MOVING):
        raise AnalysisError(
            f"The property {key} is reserved for the catalog.",
            condition="RESERVED_PROPERTY",
            object=key,
            hint="Choose another name.",
        )
    if key.lower().startswith(OF_CLIENTS):
        raise AnalysisError(
            f"The property {key} is reserved for clients of the metastore.",
            condition="RESERVED_PROPERTY",
            object=key,
            hint="Choose another name.",
        )
    if is_reserved(key):
        raise AnalysisError(
            f"The property {key} is reserved: ANALYZE stores its statistics there.",
            condition="UNSUPPORTED_FEATURE.SET_TABLE_PROPERTY",
            sqlstate="0A000",
            object=key,
            hint="ANALYZE TABLE … COMPUTE STATISTICS updates the statistics; choose another name for your "
            "own property.",
        )
    refuse_reserved(key)
    _refuse_text_property(key, value, table)
    if is_about_packing(key):
        return checked_packing(key, value, table)
    if is_about_auto_compact(key):
        return checked_auto_compact(key, value, table)
    if is_about_retention(key):
        return checked_retention(key, value, table, context.snapshot.fact_using(table.name))
    if is_about_exposing(key):
        return checked_exposing(key, value, table)
    if is_about_partition_commit(key):
        return checked_partition_commit(key, value, table)
    if is_about_sharing(key):
        return checked_sharing(key, value, table)
    if properties.is_about_timelines(key):
        return _about_timelines(key, value, table, context)
    return checked_property(key, value, table) if is_about_directories(key) else (key, value)


def _refuse_change(key: str, value: str | None, table: Table, span: Span) -> None:
    try:
        _refuse_text_property(key, value, table)
        refuse_change(key, value, table)
    except Error as error:
        raise error.at(span) from None


#: Properties of a table by which Hive reads text files.
_OF_TEXT = ("field.delim", "escape.delim", "line.delim", "serialization.null.format", "serialization.encoding",
            "skip.header.line.count", "skip.footer.line.count", "textinputformat.record.delimiter",
            "serialization.last.column.takes.rest")  # fmt: skip


def _refuse_text_property(key: str, value: str | None, table: Table) -> None:
    """Raises ``NotSupportedError`` FILES_WOULD_BE_MISREAD for a property by which text or CSV files are read."""
    options = table.file_options
    name = key.lower().removeprefix(OPTION_PROPERTY).removeprefix(SERDE_PROPERTY)
    is_known = name in _OF_TEXT or key.lower().startswith(OPTION_PROPERTY)
    if not (options or key.lower().startswith(OPTION_PROPERTY)) or not is_known or value == options.get(name, "0"):
        return
    raise NotSupportedError(
        f"The property {key} would change how the {table.format} files of {table.name} are read.",
        condition="FILES_WOULD_BE_MISREAD",
        sqlstate="0A000",
        object=key,
        hint="State it in CREATE TABLE: separators in ROW FORMAT DELIMITED, options of CSV in OPTIONS (…).",
    )


def _refuse_reserved(key: str, span: Span) -> None:
    try:
        refuse_reserved(key)
    except Error as error:
        raise error.at(span) from None


def _about_timelines(key: str, value: str, table: Table, context: Context) -> tuple[str, str]:
    """Returns the key and value of a property about timelines in canonical spelling."""
    if properties.is_present_key(key):
        if value.strip().lower() not in ("true", "false"):
            raise properties.invalid(f"'{value}' is neither true nor false", key, "Write 'false' for a rebuild.")
        return properties.PRESENT, value.strip().lower()
    choice = properties.read_choice(key, value)
    column = _column_of(choice, table, context)
    timeline_class(value)
    return properties.class_key(choice.period, column), value


def _column_of(choice: Choice, table: Table, context: Context) -> str:
    """Returns the column of a choice as declared; ``AnalysisError`` where the table can have no such timeline."""
    fact = context.snapshot.fact_using(table.name)
    if fact is not None:
        return _column_in(choice, _storage_table(table, fact))
    columns = [column.name for column in table.partition_columns]
    times = [time for cube in context.snapshot.cubes() for time in cube.times]
    return _named(choice, [*columns, *times], table.name, f"Its partition columns are {', '.join(columns) or 'none'}.")


def _layout(choice: Choice, storage_table: StorageTable) -> TimeLayout:
    layout = properties.layout_of(storage_table.layouts, choice.period)
    if layout is None:
        periods = ", ".join(period.name for period in sorted(storage_table.layouts))
        raise properties.invalid(
            f"'{storage_table.table}' has no {choice.period.name} timeline", choice.key, f"Its periods are {periods}."
        )
    return layout


def _column_in(choice: Choice, storage_table: StorageTable) -> str:
    names = [*_layout(choice, storage_table).columns, storage_table.time]
    for other in storage_table.others:
        layout = properties.layout_of(other.layouts, choice.period)
        names += [*(layout.columns if layout else ()), other.time]
    return _named(choice, names, storage_table.table, f"Name {' or '.join(names)}.")


def _named(choice: Choice, names: Sequence[str], table: str, hint: str) -> str:
    match = next((name for name in names if name.lower() == choice.column.lower()), None)
    if match is None:
        raise properties.invalid(
            f"'{choice.column}' is neither a time partition column of '{table}' nor a time dimension", choice.key, hint
        )
    return match


def _superseded(
    class_properties: Mapping[str, str], table: Table, context: Context, among: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """Returns the properties of a table (or ``among`` others) that choose, by another name, for a timeline of
    ``class_properties``.
    """
    fact = context.snapshot.fact_using(table.name) if any(properties.choices(class_properties)) else None
    if fact is None:
        return ()
    storage_table = _storage_table(table, fact)
    keys = {
        (choice.period, time)
        for choice in properties.choices(class_properties)
        if (time := choice.time_in(storage_table)) is not None
    }
    existing_choices = properties.choices(table.properties if among is None else among)
    return tuple(
        choice.key
        for choice in existing_choices
        if (choice.period, choice.time_in(storage_table)) in keys and choice.key not in class_properties
    )


def _folded(key: str) -> str:
    is_ours = properties.is_about_timelines(key) or is_about_sharing(key) or is_about_partition_commit(key)
    return key.lower() if is_ours else key


def _storage_table(table: Table, fact: Fact) -> StorageTable:
    stored = fact.storage_table(table.name)
    if stored is None:
        raise InternalError(f"the fact {fact.name} does not store {table.name}")
    return stored


def _alter(change: AlterTable, name: Name, context: Context) -> Sequence[TimelineDifference]:
    with context.catalog.begin(context.snapshot) as transaction:
        try:
            transaction.commit([change])
        except Error as error:
            raise error.at(name.span) from None
    return transaction.differences


def _report(kind: str, fact: Fact, differences: Sequence[TimelineDifference]) -> Result:
    times = {(table.table.lower(), time.lower()): time for table in fact.tables for time in table.times}
    columns = (*strings("table", "period", "time", "from", "to", "was", "now"), Column("partitions", "bigint"))
    return listing(
        kind,
        columns,
        [
            _row(difference, times.get((difference.table.lower(), difference.time_key), difference.time_key))
            for difference in differences
        ],
    )


def _row(difference: TimelineDifference, time: str) -> Row:
    start, end = difference.ordinals.start, difference.ordinals.end
    try:
        period = UpdatePeriod(difference.period)
        bounds = (period.name, *(format_instant(period.start(ordinal)) for ordinal in (start, end)))
    except ValueError:  # a damaged row
        bounds = (str(difference.period), str(start), str(end))
    name, *other_bounds = bounds
    return (
        difference.table,
        name,
        time,
        *other_bounds,
        _state(difference.was),
        _state(difference.now),
        len(difference.ordinals),
    )


def _state(states: States) -> str:
    return ", ".join(schema.state_names(states)) or "missing"
