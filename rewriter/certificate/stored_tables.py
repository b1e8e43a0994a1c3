"""The tables of a fact, as the catalog defines them, and the ranges of time that a certificate states."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import field
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from rewriter.certificate.edits import EVENTS, counters_of_events, sql_of_count, sql_of_event, uncast, unmarked
from rewriter.certificate.evidence import REGISTERED, NotUnderstood, OutOfSight, Refuted
from rewriter.certificate.expressions import ComputedExpressions, tree_of
from rewriter.certificate.periods import (
    FINEST_FIRST,
    FIRST,
    LAST,
    Layout,
    Range,
    following,
    intersection,
    read_time,
    starts,
    time_text,
)
from rewriter.certificate.subqueries import counterpart, may_read
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.certificate.evidence import CatalogRecords, Object, Record
    from rewriter.certificate.query_block import QueryBlock, TimeCondition


@dataclass
class StoredTable:
    """A table of a fact in a ``storage``, with its layouts by period."""

    table: Object
    fact: Object
    storage: str
    definition: Mapping[str, Any]
    columns: tuple[str, ...]
    layouts: Mapping[str, Layout]
    #: By another time and by period.
    others: Mapping[str, Mapping[str, Layout]]
    #: The windows of time of the storage and of the table: their first and last bounds, as texts of ``time_range_in``.
    windows: tuple[tuple[str | None, ...], ...]
    _of_no_layout: dict[str, Sequence[tuple[str, int]]] = field(default_factory=dict)

    def window(self, zone: str, now: int) -> Range:
        """Returns the time in which the table is used. A period that reaches beyond it is not used."""
        computed = ComputedExpressions(zone, now)
        begin, end = FIRST, LAST
        for window in self.windows:
            first, last = (None if bound is None else computed.bound(exp.Literal.string(bound)) for bound in window)
            if (first is None and window[0] is not None) or (last is None and window[1] is not None):
                raise NotUnderstood(f"the window of time of {self.name}")
            begin, end = max(begin, FIRST if first is None else first), min(end, LAST if last is None else last)
        return begin, end

    @property
    def name(self) -> str:
        return str(self.definition["table"]).lower()

    @property
    def is_raw(self) -> bool:
        """True if the table holds events."""
        return self.definition.get("raw") is not None

    def has_column(self, name: str) -> bool:
        """Tests whether the fact declares that the table has a dimension or measure, in lower case. Only narrow
        facts and rollups list their columns.
        """
        own = self.definition.get("columns") or self.fact.definition["columns"]
        return own is None or name in {column.lower() for column in own}

    def check_width(self, record: Record, names: Set[str]) -> None:
        """The content of a partition is not older than the columns of its table that are read from it: ``names``, in
        lower case.
        """
        for commit, columns in self.definition.get("widenings", ()):
            if record.written < commit and (lost := names & {column.lower() for column in columns}):
                values = ", ".join(map(str, record.values))
                raise Refuted(f"{values} of {self.name} was computed before the table had {min(lost)}")

    def other_start(self, time: str, values: Sequence[str | None], zone: str) -> int | None:
        """Returns the start of the period of another time that the values of a partition name."""
        starts = [layout.start(values, zone) for layout in self.others[time].values()]
        return min((start for start in starts if start is not None), default=None)

    def has_time(self, values: Sequence[str | None], zone: str) -> bool:
        """Tests whether the values of a partition name a time."""
        return any(layout.start(values, zone) is not None for layout in self.layouts.values())

    def is_excluded(self, values: Sequence[str | None], conditions: Mapping[str, TimeCondition], zone: str) -> bool:
        """Tests whether the query's condition on another time is true for no row of a partition."""
        for time, layouts in self.others.items():
            start = self.other_start(time, values, zone)
            if start is None:
                if conditions[time].excludes_null:
                    return True
                continue
            # A row of sums has the time of its start, an event any time of the period.
            end = max(following(period, zone, start) for period in layouts) if self.is_raw else start + 1
            if not intersection([(start, end)], conditions[time].ranges):
                return True
        return False

    def _unnamed(self, period: str, others: Collection[Layout]) -> Sequence[tuple[str, int]]:
        """Returns the partition columns, and their positions, that are in no layout of a period."""
        if period not in self._of_no_layout:
            named = self.layouts[period].positions.union(*(layout.positions for layout in others))
            columns = enumerate(self.columns)
            self._of_no_layout[period] = [(column.lower(), at) for at, column in columns if at not in named]
        return self._of_no_layout[period]

    def other_values(self, record: Record, period: str, zone: str) -> dict[str, Any]:
        """Returns the values of the partition columns that name no time, and the ranges of other times."""
        others = {time: layouts[period] for time, layouts in self.others.items() if period in layouts}
        values: dict[str, Any] = {name: record.values[at] for name, at in self._unnamed(period, others.values())}
        for time, layout in others.items():
            start = layout.start(record.values, zone)
            values[f"time {time}"] = None if start is None else (start, following(period, zone, start))
        return values


def tables_of(fact: Object, catalog: CatalogRecords) -> Sequence[StoredTable]:
    """Returns the tables of a fact. Raises ``OutOfSight`` if the commit saw one of them no more."""
    if fact.id not in catalog.stored_tables:
        catalog.stored_tables[fact.id] = [*_read_tables(fact, catalog)]
    return catalog.stored_tables[fact.id]


def _read_tables(fact: Object, catalog: CatalogRecords) -> Iterator[StoredTable]:
    for storage, tables, *bounds in fact.definition["storages"]:
        for definition in tables:
            own = (definition.get("start"), definition.get("end"))
            table = catalog.find("table", definition["table"])
            if table is None:
                raise OutOfSight(f"the catalog has no table {definition['table']}")
            columns = tuple(column[0] for column in table.definition["partition_columns"])
            layouts = {data["period"]: Layout(data["period"], data["parts"], columns) for data in definition["layouts"]}
            others = {
                time.lower(): {data["period"]: Layout(data["period"], data["parts"], columns) for data in listed}
                for time, listed in definition["others"]
            }
            yield StoredTable(table, fact, storage, definition, columns, layouts, others, ((*bounds,), own))


def has_base(stored: StoredTable, of_fact: Sequence[StoredTable]) -> bool:
    """Tests whether a table holds base rows: events where a table of the fact is RAW, else all columns of the shortest
    period.
    """
    has_events = any(other.is_raw for other in of_fact)
    is_wide = stored.definition.get("columns") is None
    return base_period(of_fact) in stored.layouts and (stored.is_raw or (is_wide and not has_events))


def base_period(of_fact: Iterable[StoredTable]) -> str:
    """Returns the shortest period of the tables of a fact."""
    return min((period for stored in of_fact for period in stored.layouts), key=FINEST_FIRST.index)


def check_origin(origin: Mapping[str, Any], catalog: CatalogRecords) -> str:
    """Returns the name of the table whose partitions content rests on. They have not changed since, and the word of
    their owner stands: the table is TRUSTED, or in a fact whose partitions were accepted.
    """
    kind, table = origin["kind"], catalog.table(origin["table"])
    if table is None:
        raise OutOfSight(f"it rests on {kind} content of a table that commit {catalog.commit} no longer saw")
    facts = [tables_of(fact, catalog) for fact in catalog.all_facts()]
    holders = [(of_fact, stored) for of_fact in facts for stored in of_fact if stored.table.id == table.id]
    if kind not in ("trusted", "accepted", "copied"):
        raise NotUnderstood(f"content that rests on {kind} content")
    if kind == "trusted" and not (holders and holders[0][1].definition["trusted"]):
        raise Refuted(f"it rests on {table.name}, which is not TRUSTED at commit {catalog.commit}")
    if (kind == "accepted" and not holders) or origin["as_of"] < 0:
        raise Refuted(f"it rests on {kind} content of {table.name}, which has changed")
    period = FINEST_FIRST[origin["period"] - 1]
    for of_fact, holder in holders[: None if kind == "copied" else 1]:
        cube = catalog.find("cube", holder.fact.definition["cube"])
        zone = "UTC" if cube is None else cube.definition.get("time_zone") or "UTC"
        changing = [stored for stored in of_fact if has_base(stored, of_fact)] if kind == "copied" else [holder]
        time = origin["start"], origin["end"]
        for stored in (stored for stored in changing if period in stored.layouts):
            layout = stored.layouts[period]
            for version in catalog.versions(stored.table, *layout.text_bounds(time, zone)):
                start = layout.start(version.values, zone)
                is_inside = start is not None and time[0] <= start < time[1]
                written = written_by(version, stored) if kind == "copied" else version.written
                if is_inside and origin["as_of"] < written <= catalog.commit and version.made is not None:
                    raise Refuted(f"it rests on {stored.name}, which commit {written} wrote since")
    return table.name.lower()


def over_period(origin: Mapping[str, Any], period: str, zone: str, start: int) -> Sequence[Mapping[str, Any]]:
    """Returns an origin of a base partition with the whole of its period: what came into it later was not copied."""
    end = following(period, zone, start)
    if origin["start"] < end and start < origin["end"]:
        return [{**origin, "start": min(origin["start"], start), "end": max(origin["end"], end)}]
    return [origin, {**origin, "start": start, "end": end}] if origin["kind"] == "copied" else [origin]


def written_by(version: Record, stored: StoredTable) -> int:
    """Returns the commit that wrote a version of a base partition, or that brought it into the fact with its table; -1
    for a partition that was registered empty, which holds no event, and for one that had ended before its table came.
    """
    joined = stored.definition.get("joined") or -1
    if version.as_of == REGISTERED or (version.ended is not None and version.ended < joined):
        return -1
    return max(version.written, joined)


@dataclass
class BaseRows:
    """The base rows of a cube for a query: the rows of the shortest ``period`` of the facts that carry its columns.
    They are events if a table of theirs is RAW.
    """

    period: str
    are_events: bool

    @classmethod
    def among(cls, facts: Iterable[Object]) -> BaseRows:
        """Returns the base rows of facts that carry the columns of a query."""
        layouts = [
            (layout["period"], definition.get("raw") is not None)
            for fact in facts
            for _, tables, *_ in fact.definition["storages"]
            for definition in tables
            for layout in definition["layouts"]
        ]
        period = min((period for period, _ in layouts), key=FINEST_FIRST.index)
        return cls(period, (period, True) in layouts)


def carrying(facts: Iterable[Object], columns: Set[str]) -> Iterator[Object]:
    """Yields the facts that have the given dimensions and measures, in lower case."""
    for fact in facts:
        own = fact.definition["columns"]
        if own is None or columns <= {name.lower() for name in own}:
            yield fact


def may_share(left: Any, right: Any) -> bool:
    """Tests whether partitions with these values can hold the same rows: equal texts, and ranges of time that meet."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        return bool(intersection([left], [right]))
    return bool(left == right)


def reasons_as_words(stated: Sequence[Mapping[str, str]]) -> frozenset[tuple[str, ...]]:
    """Returns what a piece rests on, as a certificate states it: each reason as its words."""
    return frozenset(
        tuple(str(word[key]) for key in ("kind", "table", "base_commit") if key in word) for word in stated
    )


def check_listed(stored: StoredTable) -> None:
    if stored.table.definition["properties"].get("rewriter.partitions") == "discovered":
        raise NotUnderstood(f"partitions of {stored.name}, which the catalog does not list")


def check_inexact(inside: Sequence[int], stated: Sequence[str], zone: str) -> None:
    """The certificate names the bounds inside base periods, on the clocks of the zone."""
    if inside and not stated:
        raise Refuted(f"{time_text(inside[0])} lies inside a base period, which the certificate does not say")
    times = {read_time(text, zone) for text in stated}
    # A bound that is included ends behind it.
    if any(at not in times and at - 1 not in times for at in inside):
        raise NotUnderstood("the bounds inside base periods are others than the certificate names")


def is_named(node: exp.Table, name: str, database: str | None) -> bool:
    """Tests whether a name in the query is that of an object of the catalog. ``None`` for an unknown database."""
    of, _, last = name.lower().rpartition(".")
    is_there = database is None or (node.db or database).lower() == (of or "default")
    return node.name.lower() == last and is_there


def extent_of_piece(piece: Mapping[str, Any]) -> Range:
    """Returns a range that contains all times of a piece."""
    ranges = read_ranges(piece["ranges"])
    return min(start for start, _ in ranges), max(end for _, end in ranges)


def checked_starts(period: str, zone: str, range_: Range) -> list[int]:
    try:
        return starts(period, zone, range_)
    except ValueError as error:
        raise Refuted(str(error)) from None


def read_instant(text: str | None, unbounded: int = LAST) -> int:
    if text is None:
        return unbounded
    at = read_time(text.removesuffix("Z"), "UTC")
    if at is None:
        raise NotUnderstood(f"the time {text!r}")
    return at


def read_ranges(stated: Sequence[Sequence[str | None]]) -> list[Range]:
    return [(read_instant(start, FIRST), read_instant(end, LAST)) for start, end in stated]


def ranges_text(ranges: Sequence[Range]) -> str:
    return ", ".join(
        f"{time_text(start) or 'the beginning'} to {time_text(end) or 'the end'}" for start, end in ranges[:3]
    )


def read_items(arm: exp.Select, stored: StoredTable, block: QueryBlock, executed: exp.Expr) -> list[exp.Expr]:
    """Returns the columns of a piece that the query may read, and checks them. The others are NULL: the text names
    them, and no part of the query uses them. ``executed`` is the tree of the executed text.
    """
    blocks = [
        (block.select, block.source),
        (counterpart(block.select, executed), counterpart(block.source, executed)),
    ]
    items = []
    for item in arm.expressions:
        value, name = item.unalias(), item.alias_or_name.lower()
        if isinstance(value, exp.Cast) and isinstance(value.this, exp.Null):
            if not any(may_read(select, source, name) for select, source in blocks):
                continue
            if name not in {column.lower() for column in stored.definition.get("raw") or ()}:
                raise NotUnderstood(f"{item.sql('spark')[:80]} of {stored.name}, which the query may read")
        _check_item(item, stored, block)
        items.append(item)
    return items


def _check_item(item: exp.Expr, stored: StoredTable, block: QueryBlock) -> None:
    """A column of a piece is the table's column of this name, what the table's declaration as events says, or the start
    of the partition's period.
    """
    name, value = unmarked(item.alias_or_name, block.cube), item.this if isinstance(item, exp.Alias) else item
    raw = stored.definition.get("raw")
    if (name == block.time and raw is None) or name in stored.others:
        return  # Computed for each partition.
    counters = counters_of_events(block.cube)
    if name == EVENTS and isinstance(value, exp.Coalesce) and len(counters) == 1:
        if [part.sql() for part in value.expressions] != ["0"]:
            raise NotUnderstood(f"{value.sql('spark')[:80]} of {stored.name} as {name}")
        _check_item(exp.alias_(value.this.copy(), counters[0]), stored, block)
        return
    if name in block.other_times and raw is None:
        raise NotUnderstood(f"{name} of {stored.name}, which no partition column names")
    if name != block.time and not stored.has_column(name):
        raise Refuted(f"{stored.name} does not have the column {name} of its cube")
    if name not in block.measures.keys() | block.dimensions.keys() | {block.time} | block.other_times:
        raise NotUnderstood(f"{value.sql('spark')[:80]} of {stored.name} as {name}, which the cube does not have")
    declared = {column.lower(): text for column, text in (raw or {}).items()}.get(name)
    value = uncast(value, block.type_of(name))
    if isinstance(value, exp.Column) and declared is None:
        if value.name.lower() != name or value.table:
            raise Refuted(f"{value.name} of {stored.name} stands for {name}")
        return
    if raw is not None and declared is None and name in block.measures and block.measures[name][2] == "COUNT":
        declared = sql_of_count(name, raw, block.measures.values())
    if declared is not None and name in block.measures:
        declared = sql_of_event(declared, block.measures[name][2])
    if declared is None or uncast(tree_of(declared), block.type_of(name)) != value:
        raise NotUnderstood(f"{item.sql('spark')[:80]} of {stored.name}")
