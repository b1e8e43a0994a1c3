"""Table properties and timelines: ALTER TABLE … SET and UNSET TBLPROPERTIES, SET TIMELINE, REFRESH TIMELINES.

Properties about timelines are checked where they are set, and written in one spelling; all others are kept as typed.
None of these statements reads data or outdates a rollup.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rewriter.catalog import schema
from rewriter.catalog import timeline_properties as properties
from rewriter.catalog.changes import AlterTable, RefreshTimelines
from rewriter.catalog.directories import MOVING
from rewriter.catalog.models import Column, Fact, StorageTable, Table
from rewriter.catalog.partition_paths import (
    checked_property,
    is_about_directories,
    is_discovered,
    not_registered,
    refuse_change,
)
from rewriter.catalog.statistics import is_reserved
from rewriter.catalog.timeline_properties import Choice
from rewriter.catalog.timelines import States, TimelineDifference
from rewriter.context import Context
from rewriter.errors import AnalysisError, Error, InternalError, Span
from rewriter.grammar import statements as s
from rewriter.result import Result, Row
from rewriter.showing import listing, named_fact, strings
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import format_instant
from rewriter.timeline.timeline_classes import timeline_class

_STATE_NAMES = {schema.FRESH: "fresh", schema.OUTDATED: "outdated", schema.RETIRED: "retired"}


def set_properties(statement: s.SetProperties, context: Context) -> Result:
    """ALTER TABLE … SET TBLPROPERTIES: others stay. Answers what was wrong where it has timelines rebuilt."""
    table = context.table(statement.table)
    for (key, value), span in zip(statement.properties, statement.property_spans, strict=True):
        _refuse_change(key, value, table, span)
    found = checked(zip(statement.properties, statement.property_spans, strict=True), table, context)
    differences = _alter(AlterTable(table, found, _superseded(found, table, context)), statement.table, context)
    fact = context.snapshot.fact_using(table.name) if properties.asks_for_rebuild(found) else None
    if fact is None:
        return Result("ALTER TABLE SET TBLPROPERTIES")
    return _report("ALTER TABLE SET TBLPROPERTIES", fact, differences)


def unset_properties(statement: s.UnsetProperties, context: Context) -> Result:
    """ALTER TABLE … UNSET TBLPROPERTIES. As in Spark 4.3, a key that is not there is no error, IF EXISTS or not."""
    table = context.table(statement.table)
    for key in statement.keys:
        _refuse_change(key, None, table, statement.span)
    wanted = set(map(_folded, statement.keys))
    gone = [key for key in table.properties if _folded(key) in wanted]
    _alter(AlterTable(table, unset=tuple(gone)), statement.table, context)
    return Result("ALTER TABLE UNSET TBLPROPERTIES")


def set_timeline(statement: s.SetTimeline, context: Context) -> Result:
    """ALTER TABLE … SET TIMELINE: the class of one timeline, without reading partitions or rewriting what is stored."""
    table, period = context.table(statement.table), UpdatePeriod.named(statement.period)
    fact = context.snapshot.fact_using(table.name)
    if fact is None:
        raise AnalysisError(
            f"The table {table.name} belongs to no fact, so it has no timelines.",
            condition="TIMELINE_NOT_FOUND",
            position=statement.table.span,
            object=table.name,
            hint="Choose the class of a later one by a table property: ALTER TABLE … SET TBLPROPERTIES "
            f"('{properties.class_key(period, statement.column)}' = '…').",
        )
    place = _place(table, fact)
    key = properties.class_key(period, statement.column)
    choice = Choice(key, period, statement.column, statement.implementation)
    span = statement.period_span
    try:
        _layout(choice, place)
        span = statement.column_span
        column = _column_in(choice, place)
        span = statement.implementation_span
        timeline_class(statement.implementation)
    except Error as error:
        raise error.at(span) from None
    found = {properties.class_key(period, column): statement.implementation}
    _alter(AlterTable(table, found, _superseded(found, table, context)), statement.table, context)
    return Result("ALTER TABLE SET TIMELINE")


def refresh_timelines(statement: s.RefreshTimelines, context: Context) -> Result:
    """REFRESH TIMELINES OF a fact: builds them anew from its partitions, in one transaction.

    Rows of (table, period, time, from, to, was, now, partitions), one for each range that stood otherwise: ``was`` and
    ``now`` are ``fresh``, ``outdated``, ``retired``, ``missing``, or ``fresh, retired``. None where all was right.
    """
    fact = named_fact(statement.fact, context)
    with context.catalog.begin(context.snapshot) as transaction:
        try:
            transaction.commit([RefreshTimelines(fact)])
        except Error as error:
            raise error.at(statement.fact.span) from None
    return _report("REFRESH TIMELINES", fact, transaction.differences)


def checked(given: Iterable[tuple[tuple[str, str], Span]], table: Table, context: Context) -> dict[str, str]:
    """Properties that a table is to have, those about timelines in their one spelling.

    Raises ``AnalysisError`` at the property: INVALID_TIMELINE_PROPERTY for a key about timelines that means nothing to
    this table, UNKNOWN_UPDATE_PERIOD, UNKNOWN_TIMELINE, INVALID_TIMELINE, DUPLICATE_KEY where two mean the same;
    RESERVED_PROPERTY for a key of the catalog's own.
    """
    found: dict[str, str] = {}
    for (key, value), span in given:
        try:
            name, text = _spelled(key, value, table, context)
            if name in found or _superseded({name: text}, table, context, found):
                raise AnalysisError(
                    f"The property {key} is given twice."
                    if is_about_directories(name)
                    else f"The property {key} says twice which class a timeline has.",
                    condition="DUPLICATE_KEY",
                    sqlstate="23505",
                    object=key,
                    hint="Name each one once.",
                )
        except Error as error:
            raise error.at(span) from None
        found[name] = text
    return found


def check_storage_table(table: Table, place: StorageTable, position: Span) -> None:
    """Checks the properties of a table that becomes a fact's; raises as ``checked`` does, at the position.

    ``NotSupportedError`` DISCOVERED_PARTITIONS: timelines tell what the catalog has, and it has none of those.
    """
    if is_discovered(table):
        raise not_registered(table).at(position)
    try:
        for choice in properties.choices(table.properties):
            if choice.time_in(place) is None:
                raise properties.invalid(
                    f"'{choice.key}' is for a timeline that '{place.table}' will not have",
                    choice.key,
                    f"take it away: ALTER TABLE {place.table} UNSET TBLPROPERTIES ('{choice.key}')",
                )
            timeline_class(choice.implementation)
        for period in place.layouts:
            for time in place.times:
                properties.chosen(table.properties, place, period, time)
    except Error as error:
        raise error.at(position) from None


def _spelled(key: str, value: str, table: Table, context: Context) -> tuple[str, str]:
    """A property in its one spelling, where it has one; raises where it means nothing to the table."""
    if key.startswith(MOVING):
        raise AnalysisError(
            f"The property {key} is the catalog's own.",
            condition="RESERVED_PROPERTY",
            object=key,
            hint="Choose another name.",
        )
    if is_reserved(key):
        raise AnalysisError(
            f"The property {key} is reserved: ANALYZE keeps its figures there.",
            condition="UNSUPPORTED_FEATURE.SET_TABLE_PROPERTY",
            sqlstate="0A000",
            object=key,
            hint="ANALYZE TABLE … COMPUTE STATISTICS counts anew; choose another name for a property of yours.",
        )
    if properties.is_about_timelines(key):
        return _about_timelines(key, value, table, context)
    return checked_property(key, value, table) if is_about_directories(key) else (key, value)


def _refuse_change(key: str, value: str | None, table: Table, span: Span) -> None:
    try:
        refuse_change(key, value, table)
    except Error as error:
        raise error.at(span) from None


def _about_timelines(key: str, value: str, table: Table, context: Context) -> tuple[str, str]:
    """The key and value of a property about timelines in their one spelling."""
    if properties.is_present_key(key):
        if value.strip().lower() not in ("true", "false"):
            raise properties.invalid(f"'{value}' is neither true nor false", key, "write 'false' for a rebuild")
        return properties.PRESENT, value.strip().lower()
    choice = properties.read_choice(key, value)
    column = _column_of(choice, table, context)
    timeline_class(value)
    return properties.class_key(choice.period, column), value


def _column_of(choice: Choice, table: Table, context: Context) -> str:
    """The column of a choice as it was declared; ``AnalysisError`` where the table can have no such timeline."""
    fact = context.snapshot.fact_using(table.name)
    if fact is not None:
        return _column_in(choice, _place(table, fact))
    columns = [column.name for column in table.partition_columns]
    times = [time for cube in context.snapshot.cubes() for time in cube.times]
    return _named(choice, [*columns, *times], table.name, f"its partition columns are {', '.join(columns) or 'none'}")


def _layout(choice: Choice, place: StorageTable) -> TimeLayout:
    layout = properties.layout_of(place.layouts, choice.period)
    if layout is None:
        periods = ", ".join(period.name for period in sorted(place.layouts))
        raise properties.invalid(
            f"'{place.table}' has no {choice.period.name} timeline", choice.key, f"its periods are {periods}"
        )
    return layout


def _column_in(choice: Choice, place: StorageTable) -> str:
    known = [*_layout(choice, place).columns, place.time]
    for other in place.others:
        layout = properties.layout_of(other.layouts, choice.period)
        known += [*(layout.columns if layout else ()), other.time]
    return _named(choice, known, place.table, f"name {' or '.join(known)}")


def _named(choice: Choice, known: Sequence[str], table: str, hint: str) -> str:
    found = next((name for name in known if name.lower() == choice.column.lower()), None)
    if found is None:
        raise properties.invalid(
            f"'{choice.column}' is neither a time partition column of '{table}' nor a time dimension", choice.key, hint
        )
    return found


def _superseded(
    found: Mapping[str, str], table: Table, context: Context, among: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """The properties of a table (or ``among`` others) that choose, by another name, for a timeline of ``found``."""
    fact = context.snapshot.fact_using(table.name) if any(properties.choices(found)) else None
    if fact is None:
        return ()
    place = _place(table, fact)
    meant = {(one.period, time) for one in properties.choices(found) if (time := one.time_in(place)) is not None}
    others = properties.choices(table.properties if among is None else among)
    return tuple(one.key for one in others if (one.period, one.time_in(place)) in meant and one.key not in found)


def _folded(key: str) -> str:
    return key.lower() if properties.is_about_timelines(key) else key


def _place(table: Table, fact: Fact) -> StorageTable:
    found = fact.storage_table(table.name)
    if found is None:
        raise InternalError(f"the fact {fact.name} does not store {table.name}")
    return found


def _alter(change: AlterTable, name: s.Name, context: Context) -> Sequence[TimelineDifference]:
    with context.catalog.begin(context.snapshot) as transaction:
        try:
            transaction.commit([change])
        except Error as error:
            raise error.at(name.span) from None
    return transaction.differences


def _report(kind: str, fact: Fact, differences: Sequence[TimelineDifference]) -> Result:
    times = {(one.table.lower(), time.lower()): time for one in fact.tables for time in one.times}
    columns = (*strings("table", "period", "time", "from", "to", "was", "now"), Column("partitions", "bigint"))
    return listing(
        kind, columns, [_row(one, times.get((one.table.lower(), one.time_key), one.time_key)) for one in differences]
    )


def _row(one: TimelineDifference, time: str) -> Row:
    start, end = one.ordinals.start, one.ordinals.end
    try:
        period = UpdatePeriod(one.period)
        bounds = (period.name, *(format_instant(period.start(ordinal)) for ordinal in (start, end)))
    except ValueError:  # of a damaged row
        bounds = (str(one.period), str(start), str(end))
    name, *ends = bounds
    return one.table, name, time, *ends, _state(one.was), _state(one.now), len(one.ordinals)


def _state(states: States) -> str:
    return ", ".join(name for state, name in _STATE_NAMES.items() if state in states) or "missing"
