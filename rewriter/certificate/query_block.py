"""The SELECT that names a cube: the time that its conditions ask for, and whether rollups may serve it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from rewriter.certificate.evidence import NotUnderstood, Refuted
from rewriter.certificate.expressions import UNITS, ComputedExpressions, is_ordered_text, pattern_of, unit_of_pattern
from rewriter.certificate.periods import (
    FIRST,
    LAST,
    NESTS,
    Range,
    complement,
    floor,
    following,
    from_clocks,
    instant,
    intersection,
    moment,
    offset,
    read_time,
    transitions,
    union,
)
from rewriter.certificate.subqueries import (
    EnclosingQueries,
    clauses_of,
    conditions_in,
    counterpart,
    idempotent_kind,
    is_aggregate,
    is_of_series,
    is_pure,
    keeps_precision,
)
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.certificate.evidence import Object

#: Aggregates that are the same however often a value occurs.
#: What may stand around them in a block that adds up.
_CLAUSES = (
    exp.Select, exp.From, exp.Table, exp.TableAlias, exp.Where, exp.Group, exp.Having, exp.Order, exp.Limit,
    exp.Rollup, exp.GroupingSets, exp.Cube, exp.Filter, exp.Div,
)  # fmt: skip
#: Functions of the rows of the result, which are computed after everything is added up.
_OF_GROUPS = (
    exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Lag, exp.Lead, exp.Sum, exp.Min, exp.Max,
    exp.Avg, exp.Count, exp.FirstValue, exp.LastValue,
)  # fmt: skip


@dataclass
class TimeCondition:
    """The ``ranges`` that the conditions of a block leave of a time that is not the leading one. Unless ``is_exact``,
    they may leave less. ``excludes_null`` says that they leave no row without the time.
    """

    ranges: Sequence[Range]
    is_exact: bool
    excludes_null: bool


@dataclass
class WantedTime:
    """The times of a block's rows that the query uses: ``bounded`` by the block's own WHERE, ``enclosed`` by joins and
    the queries around it as well, and the ``ranges`` that conditions on the calendar leave of these. Unless
    ``is_exact``, something else in the block may leave less; unless ``is_alone``, something around it.
    """

    bounded: list[Range]
    enclosed: list[Range]
    ranges: list[Range]
    is_exact: bool
    is_alone: bool


@dataclass
class QueryBlock:
    """The SELECT that names the cube, whose zone is ``zone``. ``pieces`` are the ranges of ``time`` of the pieces by
    period, ``now`` is the time of the query. The cube may have ``other_times``.
    """

    select: exp.Select
    source: exp.Table
    cube: Object
    zone: str
    pieces: Mapping[str, Sequence[Range]]
    now: int
    time: str
    measures: dict[str, list[Any]] = field(init=False)
    dimensions: dict[str, str] = field(init=False)
    other_times: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        definition = self.cube.definition
        self.measures = {measure[0].lower(): measure for measure in definition["measures"]}
        self.dimensions = {dimension[0].lower(): dimension[1] for dimension in definition["dimensions"]}
        self.other_times = frozenset(time.lower() for time in definition["times"]) - {self.time}

    def of_time(self, time: str) -> QueryBlock:
        """Returns the block with another time as the one that conditions and functions are about."""
        return replace(self, time=time)

    def type_of(self, name: str) -> str:
        """Returns the type of a column of the cube."""
        return (
            "timestamp"
            if name in {self.time, *self.other_times}
            else str(self.dimensions.get(name) or self.measures[name][1])
        )

    def is_own(self, column: exp.Column) -> bool:
        """Tests whether a column of the block may be one of the cube."""
        alias = (self.source.alias or self.source.name).lower()
        return not column.table or column.table.lower() == alias

    def is_time(self, node: exp.Expr | None) -> bool:
        return isinstance(node, exp.Column) and node.name.lower() == self.time and self.is_own(node)

    def uses_time(self, node: exp.Expr) -> bool:
        return any(self.is_time(column) for column in node.find_all(exp.Column))

    def wanted(self) -> WantedTime:
        """Returns the times that the conditions of the block, and of the queries around it, leave."""
        where = self.select.args.get("where")
        condition = _Condition(self)
        ranges, is_exact = ([(FIRST, LAST)], True) if where is None else condition.read(where.this)
        bounded = enclosed = ranges
        if where is not None and not is_exact:
            ranges, is_exact = condition.read_calendar(where.this, ranges)
        is_alone = self.select.find_ancestor(exp.Select, exp.With) is None
        of_joins, is_joined = self._joined(condition)
        around = (
            of_joins
            if is_alone
            else intersection(of_joins, EnclosingQueries(self.select, self.source, self.time, condition.read).ranges())
        )
        enclosed, ranges = intersection(enclosed, around), intersection(ranges, around)
        return WantedTime(bounded, enclosed, ranges, is_exact and not is_joined, is_alone)

    def _joined(self, condition: _Condition) -> tuple[list[Range], bool]:
        """Returns the times of rows that joins may leave, and whether they may leave less."""
        ranges, is_joined = [(FIRST, LAST)], False
        for join in self.select.find_all(exp.Join):
            on, using = join.args.get("on"), join.args.get("using") or ()
            if join.find_ancestor(exp.Select) is not self.select:
                continue
            if on is None or join.parent is not self.select or not self._filters(join):
                names = {column.name.lower() for column in on.find_all(exp.Column)} if on is not None else set()
                is_joined |= bool(join.method) or self.time in names | {name.name.lower() for name in using}
                continue
            for part in conditions_in(on):
                of_part, is_exact = condition.read(part)
                ranges, is_joined = intersection(ranges, of_part), is_joined or not is_exact
        return ranges, is_joined

    def _filters(self, join: exp.Join) -> bool:
        """Tests whether rows of the cube for which the condition of a join is not true are used nowhere."""
        if join.method or join.kind not in ("", "INNER", "OUTER", "SEMI", "ANTI"):
            return False
        if join.this is self.source:
            return join.side in ("", "LEFT")
        if self.source.find_ancestor(exp.Join) not in (None, *self.select.args["joins"][: join.index]):
            return False  # Of a later join.
        is_inner = join.side == "" and join.kind in ("", "INNER")
        return is_inner or join.side == "RIGHT" or join.kind == "SEMI"

    def used_columns(self) -> Set[str] | None:
        """Returns the dimensions and measures that the block may read, in lower case; ``None`` for all of ``*``."""
        for star in self.select.find_all(exp.Star):
            if not isinstance(star.parent, exp.Count):
                return None
        names = {column.name.lower() for column in self.select.find_all(exp.Column) if self.is_own(column)}
        return (names | self._using()) & (self.dimensions.keys() | self.measures.keys())

    def own_names(self) -> set[str]:
        """Returns the columns of the cube, in lower case, that the block and its subqueries name; of ``*`` none."""
        own = self.dimensions.keys() | self.measures.keys() | {self.time} | self.other_times
        columns = (column for column in self.select.find_all(exp.Column) if self.is_own(column))
        names = {column.name.lower() for column in columns if column.table or not self._is_hidden(column)}
        return (names | self._using()) & own

    def _using(self) -> set[str]:
        """Returns the names, in lower case, that USING of a join makes equal."""
        joins = self.select.args.get("joins") or ()
        return {identifier.name.lower() for join in joins for identifier in join.args.get("using") or ()}

    def counters_in(self, executed: exp.Expr) -> set[str]:
        """Returns the measures of the cube, and the columns beside them, that counts in the executed text read."""
        block = counterpart(self.select, executed)
        columns = (column for node in block.find_all(exp.Sum) for column in node.find_all(exp.Column))
        names = {c.name.lower() for c in columns if self.is_own(c) and c.find_ancestor(exp.Select) is block}
        return {name for name in names if name in self.measures or name.startswith("rw_")}

    def has_plain_constants(self) -> bool:
        """Tests whether all constants of the query are literals: a plan need not compute what others are."""
        of_values = (exp.Func, exp.Add, exp.Sub, exp.Interval, exp.DPipe)
        return not any(
            isinstance(node, of_values)
            and not isinstance(node, exp.CurrentDate | exp.CurrentTimestamp | exp.Count)
            and not (isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal))
            and node.find(exp.Column, exp.Star) is None
            for node in self.select.root().walk()
        )

    def _is_hidden(self, column: exp.Column) -> bool:
        """Tests for a name that a table of a subquery, or an item of the block, may give a meaning."""
        items = {item.alias.lower() for item in self.select.expressions if item.alias}
        return column.find_ancestor(exp.Select) is not self.select or column.name.lower() in items

    def condition_on(self, time: str) -> TimeCondition:
        """Returns what the conditions leave of a time that is not the leading one."""
        block = self.of_time(time)
        wanted = block.wanted()
        ranges, is_exact = wanted.ranges, wanted.is_exact and wanted.is_alone
        where = self.select.args.get("where")
        # No bound is true for NULL. An exact condition that leaves all times is IS NOT NULL, or all bounds of an OR.
        excludes_null = ranges != [(FIRST, LAST)] or (is_exact and where is not None and block.uses_time(where))
        return TimeCondition(ranges, is_exact, excludes_null)

    def check_additive(self) -> None:
        """Refuses a block whose result over rollups may differ from the one over the base."""
        select = self.select
        if select.args.get("laterals") or select.args.get("windows"):
            raise NotUnderstood("LATERAL VIEW or WINDOW, over rollups")
        if any(table.args.get("joins") for table in select.find_all(exp.Table, exp.Subquery)):
            raise NotUnderstood("a join within FROM, over rollups")
        semi_join = self.semi_join()
        if semi_join is not None:
            if semi_join.method or semi_join.args.get("using"):
                raise NotUnderstood(f"{semi_join.sql('spark')[:80].strip()}, over rollups")
            self._check(semi_join, set(), in_where=False)
            return
        for join in select.args.get("joins") or ():
            self._check_join(join)
        if not self.adds_up() and not select.args.get("distinct") and not self._is_of_values():
            if select.find_ancestor(exp.Select, exp.With) is not None:
                raise NotUnderstood("a query inside of another one that returns rows, over rollups")
            if any(item.find(exp.Any, exp.All, exp.Anonymous) for item in select.expressions):
                raise NotUnderstood("a function that may be an aggregate, over rollups")
            raise Refuted("the query returns rows, and a piece holds sums")
        output = {item.alias.lower() for item in select.expressions if item.alias}
        # EXISTS reads no item, unless one makes the rows one group.
        is_tested = isinstance(select.parent, exp.Exists) and not self.adds_up()
        for name, value in select.args.items():
            for clause in value if isinstance(value, list) else [value]:
                if isinstance(clause, exp.Expr) and not (is_tested and name == "expressions"):
                    names = output if name in ("order", "having", "group") else set()
                    for part in [clause] if name in ("having", "group") else clause.find_all(exp.AggFunc):
                        if name in ("having", "group", "order"):
                            self._refuse_ambiguous(part, output)
                    self._check(clause, names, in_where=name == "where")

    def adds_up(self) -> bool:
        """Tests for a block of groups, or of one sum. Aggregates of subqueries are not its own."""
        return bool(self.select.args.get("group")) or any(
            is_aggregate(node) and not isinstance(node.parent, exp.Window)
            for node in self.select.find_all(exp.AggFunc, exp.Any, exp.Anonymous)
            if node.find_ancestor(exp.Select) is self.select
        )

    def refuse_split(self, ranges: Sequence[Range], base: str | None = None) -> None:
        """Refuses bounds inside a period of a piece; rows of the ``base`` period have the time of their start."""
        edges = [edge for range_ in ranges for edge in range_ if edge not in (FIRST, LAST)]
        for period, covered in self.pieces.items():
            for edge in edges if period != base else ():
                is_inside = any(start <= edge < end for start, end in covered)
                begin = floor(period, self.zone, edge)
                # A bound in the last second is the end of its period: BETWEEN … AND '23:59:59'.
                is_end = following(period, self.zone, begin) - edge < LAST_SECOND
                if is_inside and begin != edge and not is_end:
                    raise NotUnderstood(f"a bound inside a {period} period, over rollups")

    def _check_on(self, condition: exp.Expr, filters: bool) -> None:
        """Checks a condition of a join. Bounds of time are those of the block where the join filters its rows."""
        if self.uses_time(condition) and filters and _Condition(self).read(condition)[1]:
            return
        is_of_time = self.uses_time(condition) or self._other_time(condition) is not None
        if is_of_time and not self._is_of_units(condition):
            raise NotUnderstood(f"time in the condition {condition.sql('spark')[:80]} of a join, over rollups")
        self._check(condition, set(), in_where=False)

    def semi_join(self) -> exp.Join | None:
        """Returns the SEMI or ANTI JOIN that tests for rows of the cube: how many there are does not matter."""
        join = self.source.parent
        is_tested = isinstance(join, exp.Join) and join.kind in ("SEMI", "ANTI") and join.parent is self.select
        return join if is_tested and isinstance(join, exp.Join) else None

    def _is_of_values(self) -> bool:
        """Tests for a query in IN or EXISTS: how often it returns a row does not matter."""
        node: exp.Expr = self.select
        while isinstance(node.parent, exp.Subquery | exp.Paren):
            node = node.parent
        is_set = isinstance(node.parent, exp.Exists) or (isinstance(node.parent, exp.In) and node.arg_key == "query")
        return is_set and not self.select.args.get("limit") and not self.select.args.get("offset")

    def _check_join(self, join: exp.Join) -> None:
        """Each row of a rollup joins the rows that its events join: the condition is one on what all pieces have. An
        outer join adds the same rows without the cube.
        """
        clauses = clauses_of(join) - {"this", "on", "using", "kind", "side"}
        # A query in FROM returns the same rows for all rows of the cube.
        of_source = clauses_of(join.this) - {"this", "db", "catalog", "alias"}
        is_source = isinstance(join.this, exp.Table | exp.Subquery) and not of_source
        if not is_source or clauses or join.kind not in ("", "INNER", "CROSS", "OUTER", "SEMI", "ANTI"):
            raise NotUnderstood(f"{join.sql('spark')[:80].strip()}, over rollups")
        for name in self._using() & (self.measures.keys() | {self.time} | self.other_times):
            raise NotUnderstood(f"USING ({name}), over rollups")
        for name in self._using() & self.dimensions.keys():
            self._check_column(exp.column(name), set())

    def has_empty_rows(self) -> bool:
        """Tests whether an outer join adds rows in which all columns of the cube are NULL: they count as rows, and not
        as events.
        """
        joins = self.select.args.get("joins") or ()
        own = self.source.parent
        if isinstance(own, exp.Join) and own.side in ("LEFT", "FULL") and own.kind not in ("SEMI", "ANTI"):
            return True
        later = joins[(own.index or 0) + 1 :] if isinstance(own, exp.Join) else joins
        return any(join.side in ("RIGHT", "FULL") for join in later)

    def _measure(self, node: exp.Expr | None) -> list[Any] | None:
        """Returns the measure that an expression names."""
        return self.measures.get(node.name.lower()) if isinstance(node, exp.Column) and self.is_own(node) else None

    def _refuse_ambiguous(self, clause: exp.Expr, output: set[str]) -> None:
        """Refuses a name that may be that of an item or that of a column of the cube; in ORDER BY it is the item."""
        for column in clause.find_all(exp.Column):
            if column.name.lower() in output & (self.measures.keys() | {self.time} | self.other_times):
                raise NotUnderstood(f"the name {column.name} of an item and of a column")

    def _check(self, node: exp.Expr, output: set[str], *, in_where: bool) -> None:
        """Checks an expression and those in it."""
        if in_where and isinstance(node, exp.Where | exp.And | exp.Paren):
            for condition in node.iter_expressions():
                self._check(condition, output, in_where=True)
        elif in_where and self.uses_time(node):
            is_read = _Condition(self).read(node)[1] or _Condition(self).is_implied(node) or self._is_of_units(node)
            if self._other_time(node) is not None or not is_read:
                raise NotUnderstood(f"the condition {node.sql('spark')}, over rollups")
        elif in_where and self._other_time(node) is not None:
            self.of_time(self._other_time(node) or "").check_whole(node)
        elif isinstance(node, exp.Window) and isinstance(node.this, _OF_GROUPS) and self.adds_up():
            for part in [
                *node.this.iter_expressions(),
                *node.args.get("partition_by", ()),
                *filter(None, [node.args.get("order")]),
            ]:
                if not isinstance(part, exp.Star):
                    self._check(part, output, in_where=False)
        elif isinstance(node, exp.Is) and isinstance(node.expression, exp.Null) and self.is_time(node.this):
            pass  # Each row of a piece has a time; that of an outer join without the cube has none.
        elif isinstance(node, exp.From):
            pass  # A table, or a query that is the same for all rows of the cube.
        elif isinstance(node, exp.Grouping | exp.GroupingId) and self.select.args.get("group"):
            for column in node.expressions:
                self._check(column, set(), in_where=False)
        elif isinstance(node, exp.Join):
            on = node.args.get("on")
            for part in conditions_in(on) if on is not None else ():
                self._check_on(part, self._filters(node))
        elif isinstance(node, exp.Subquery | exp.Exists) or (isinstance(node, exp.In) and node.args.get("query")):
            self._check_subquery(node)
        elif (kind := idempotent_kind(node)) is not None:
            for child in node.iter_expressions():
                measure = self._measure(child.unnest())
                if measure is None:
                    self._check(child, set(), in_where=False)
                elif measure[2] == kind and not keeps_precision(node, measure):
                    raise Refuted(f"rollups of {measure[0]} have the precision {measure[9]}: {node.sql('spark')}")
                elif measure[2] != kind:
                    raise Refuted(f"{kind} does not add up {measure[0]}, a measure {measure[2]}")
        elif isinstance(node, exp.AggFunc):
            self._check_aggregate(node)
        elif self.unit(node) is not None:
            self._check_unit(node)
        elif (other := self._other_time(node)) is not None and self.of_time(other).unit(node) is not None:
            if self.zone != "UTC" and self.pieces.keys() & {"HOURLY", "MINUTELY"}:
                raise NotUnderstood(f"units of {other} on the clocks of a zone, over hours")
            self.of_time(other)._check_unit(node)
        elif isinstance(node, (*_MIRRORED, exp.NEQ, exp.Between)) and any(map(self.is_time, node.iter_expressions())):
            ranges, is_exact = _Condition(self).read(node)
            if not is_exact or self._other_time(node) is not None:
                raise NotUnderstood(f"{node.sql('spark')[:80]}, over rollups")
            self.refuse_split(ranges)
        elif isinstance(node, exp.Column):
            self._check_column(node, output)
        elif (is_pure(node) or isinstance(node, _CLAUSES)) and not isinstance(node, exp.Subquery):
            if isinstance(node, exp.Div) and not any(isinstance(child, exp.AggFunc) for child in node.walk()):
                raise NotUnderstood(f"{node.sql('spark')}, over rollups")
            for child in node.iter_expressions():
                self._check(child, output, in_where=False)
        else:
            raise NotUnderstood(f"{type(node).__name__.upper()} {node.sql('spark')[:80]}, over rollups")

    def _check_subquery(self, node: exp.Expr) -> None:
        """A subquery that knows only dimensions of the row has one value for all events of a row of sums."""
        own_names = self.dimensions.keys() | self.measures.keys() | {self.time} | self.other_times
        for column in node.find_all(exp.Column):
            is_own = self.is_own(column) and (column.table or column.name.lower() in own_names)
            if is_own and not column.table and self._is_of_inner(column):
                continue
            if is_own and column.name.lower() not in self.dimensions:
                raise NotUnderstood(f"{column.sql('spark')} in a subquery, over rollups")
            if is_own:
                self._check_column(column, set())
        understood = (exp.Exists, exp.Sum, exp.Count, exp.Min, exp.Max, exp.Avg)
        if any(
            isinstance(part, exp.Func) and not (is_pure(part) or isinstance(part, understood)) for part in node.walk()
        ):
            raise NotUnderstood(f"a function in the subquery {node.sql('spark')[:80]}, over rollups")

    def _is_of_inner(self, column: exp.Column) -> bool:
        """Tests whether the query of a column without a table has a source that is the cube, too."""
        select = column.find_ancestor(exp.Select)
        if select is None or select is self.select:
            return False
        sources = [clause.this for clause in (select.args.get("from_"), *(select.args.get("joins") or ())) if clause]
        names = {(source.name.lower(), source.db.lower()) for source in sources if isinstance(source, exp.Table)}
        return (self.source.name.lower(), self.source.db.lower()) in names

    def _is_of_units(self, condition: exp.Expr) -> bool:
        """Tests whether a condition depends on time through units that no piece splits alone."""
        try:
            self._check(condition, set(), in_where=False)
        except (NotUnderstood, Refuted):
            return False
        return True

    def _check_column(self, column: exp.Column, output: set[str]) -> None:
        name = column.name.lower()
        own_names = self.dimensions.keys() | self.measures.keys() | {self.time} | self.other_times
        is_joined = self.select.args.get("joins") and not column.table and name not in own_names
        if is_joined or not self.is_own(column):
            return  # Of a joined table, a function of dimensions; of a query around this one, the same for all rows.
        if name in self.dimensions:
            if self.dimensions[name].lower() in ("double", "float", "timestamp") or "<" in self.dimensions[name]:
                raise NotUnderstood(f"the dimension {name} of type {self.dimensions[name]}")
        elif name in output and not column.table:
            return
        elif name in self.measures:
            raise Refuted(f"the measure {name} is used outside of an aggregate, and a piece holds sums")
        elif name == self.time or name in self.other_times:
            raise Refuted("time is used as it is, and a piece has no times of its rows")
        else:
            raise NotUnderstood(f"the column {name}")

    def _other_time(self, node: exp.Expr) -> str | None:
        """Returns the other time that an expression uses, the first one by name."""
        names = {column.name.lower() for column in node.find_all(exp.Column) if self.is_own(column)}
        return min(names & self.other_times, default=None)

    def check_whole(self, condition: exp.Expr) -> None:
        """Refuses a condition on the time that may be true for a part of a period."""
        ranges, is_exact = _Condition(self).read(condition)
        if not is_exact or self._other_time(condition) is not None:
            raise NotUnderstood(f"the condition {condition.sql('spark')}, over rollups")
        edges = [edge for range_ in ranges for edge in range_ if edge not in (FIRST, LAST)]
        if any(floor(period, self.zone, edge) != edge for period in self.pieces for edge in edges):
            raise NotUnderstood(f"the condition {condition.sql('spark')} inside a period, over rollups")

    def unit(self, node: exp.Expr) -> str | None:
        """Returns the period on which a function of time depends; ``None`` for anything else."""
        if isinstance(node, exp.Cast) and self.is_time(node.this) and node.is_type("date"):
            return "DAILY"
        if isinstance(node, exp.TsOrDsToDate | exp.Date) and self.is_time_argument(node.this):
            return None if node.args.get("format") else "DAILY"
        if isinstance(node, exp.Extract) and self.is_time_argument(node.expression):
            return _EXTRACTED.get(node.name.upper())
        for kind, unit in (
            (exp.LastDay, "MONTHLY"), (exp.Year, "YEARLY"), (exp.Quarter, "QUARTERLY"), (exp.Month, "MONTHLY"),
            (exp.Day, "DAILY"), (exp.DayOfMonth, "DAILY"), (exp.DayOfWeek, "DAILY"), (exp.DayOfYear, "DAILY"),
            (exp.Hour, "HOURLY"), (exp.Minute, "MINUTELY"), (exp.WeekOfYear, "WEEKLY"), (exp.TsOrDsAdd, "DAILY"),
        ):  # fmt: skip
            if isinstance(node, kind) and self.is_time_argument(node.this):
                return unit
        if isinstance(node, exp.TimestampTrunc | exp.DateTrunc) and self.is_time_argument(node.this):
            return UNITS.get(node.text("unit").upper())
        if isinstance(node, exp.TimeToStr) and self.is_time_argument(node.this):
            return unit_of_pattern(node)
        return None

    def is_time_argument(self, node: exp.Expr | None) -> bool:
        while isinstance(node, exp.TsOrDsToDate | exp.TsOrDsToTimestamp | exp.TimeStrToTime | exp.Paren):
            node = node.this
        return self.is_time(node)

    def _check_unit(self, node: exp.Expr) -> None:
        unit = self.unit(node)
        for period, size in (("HOURLY", 3_600_000_000), ("MINUTELY", 60_000_000)):
            for range_ in self.pieces.get(period, ()):
                changes = transitions(self.zone, range_)
                if any(at % size for at in changes) or any(
                    offset(self.zone, at) % size for at in (range_[0], *changes)
                ):
                    raise Refuted(f"{node.sql('spark')} splits {period} periods: the clocks are not whole ones behind")
        coarse = [period for period in self.pieces if unit is not None and unit not in NESTS[period]]
        if coarse:
            raise Refuted(f"{node.sql('spark')} splits {coarse[0]} periods")

    def _check_aggregate(self, node: exp.AggFunc) -> None:
        argument = node.this.unnest() if isinstance(node.this, exp.Expr) else None
        measure = self._measure(argument)
        if isinstance(node, exp.Sum):
            if argument is None:
                raise NotUnderstood("SUM")
            self._check_sum(argument)
        elif isinstance(node, exp.Avg):
            if measure is None or measure[2] != "SUM" or measure[3] is None:
                raise Refuted(f"{node.sql('spark')} is no average of a SUM measure that is COUNTED BY another")
        elif isinstance(node, exp.Count | exp.CountIf):
            for part in node.iter_expressions():
                if not isinstance(part, exp.Star):
                    self._check(part, set(), in_where=False)
        elif isinstance(node, exp.ArgMax | exp.ArgMin) and is_of_series(node, measure, self._measure(node.expression)):
            pass  # The rows of a series: the newest of the newest rows is the newest.
        elif isinstance(node, exp.AnonymousAggFunc):
            *values, frequency = node.expressions or [node]
            counter = self._measure(frequency)
            if counter is None or counter[2] != "COUNT" or len(values) != 2 or isinstance(values[0], exp.Distinct):
                raise Refuted(f"{node.sql('spark')[:80]} is not weighted by a COUNT measure")
            for value in values:
                self._check(value, set(), in_where=False)
        else:
            raise NotUnderstood(f"the aggregate {node.sql('spark')[:80]}")

    def _check_sum(self, argument: exp.Expr) -> None:
        """The argument of SUM is a measure that SUM adds up, times a number, or such a one under a condition."""
        node = argument.unnest()
        if isinstance(node, exp.Column):
            measure = self._measure(node)
            if measure is None:
                raise Refuted(f"SUM of {node.name}, which is no measure, counts single rows")
            if measure[2] not in ("SUM", "COUNT"):
                raise Refuted(f"SUM does not add up {measure[0]}, a measure {measure[2]}")
        elif isinstance(node, exp.Neg):
            self._check_sum(node.this)
        elif isinstance(node, exp.Mul) and (_is_number(node.this) or _is_number(node.expression)):
            self._check_sum(node.expression if _is_number(node.this) else node.this)
        elif isinstance(node, exp.Mul) and self._has_no_measure(node.this):
            self._check(node.this, set(), in_where=False)
            self._check_sum(node.expression)
        elif isinstance(node, exp.Mul) and self._has_no_measure(node.expression):
            self._check(node.expression, set(), in_where=False)
            self._check_sum(node.this)
        elif isinstance(node, exp.Add | exp.Sub) and self._is_never_null(node):
            self._check_sum(node.this)
            self._check_sum(node.expression)
        elif isinstance(node, exp.Case):
            if node.this is not None:
                self._check(node.this, set(), in_where=False)
            for branch in node.args["ifs"]:
                self._check(branch.this, set(), in_where=False)
                self._check_value(branch.args["true"])
            self._check_value(node.args.get("default"))
        elif isinstance(node, exp.If):
            self._check(node.this, set(), in_where=False)
            self._check_value(node.args["true"])
            self._check_value(node.args.get("false"))
        elif isinstance(node, exp.Literal):
            raise Refuted(f"SUM({node.sql('spark')}) counts single rows")
        else:
            raise NotUnderstood(f"SUM({node.sql('spark')[:80]})")

    def _has_no_measure(self, node: exp.Expr) -> bool:
        return all(self._measure(column) is None for column in node.find_all(exp.Column))

    def _is_never_null(self, node: exp.Expr) -> bool:
        """Tests for sums and multiples of measures that are NOT NULL: a NULL in one event would drop all of its sum."""
        parts = (exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Paren, exp.Column, exp.Identifier, exp.Literal)
        measures = [self._measure(column) for column in node.find_all(exp.Column)]
        return all(isinstance(part, parts) for part in node.walk()) and all(m is not None and m[4] for m in measures)

    def _check_value(self, value: exp.Expr | None) -> None:
        is_nothing = value is None or isinstance(value, exp.Null)
        if not is_nothing and not (isinstance(value, exp.Literal) and value.name == "0"):
            self._check_sum(value)  # type: ignore[arg-type]


def _is_number(node: exp.Expr) -> bool:
    node = node.unnest()
    number = node.this if isinstance(node, exp.Neg) else node
    return isinstance(number, exp.Literal) and not number.is_string


#: The fields of EXTRACT that are those of the functions of the same names.
_EXTRACTED = {
    "YEAR": "YEARLY",
    "QUARTER": "QUARTERLY",
    "MONTH": "MONTHLY",
    "DAY": "DAILY",
    "HOUR": "HOURLY",
    "MINUTE": "MINUTELY",
}
#: In microseconds.
LAST_SECOND = 1_000_000
_WHOLE_DAYS = ("DAILY", "WEEKLY", "MONTHLY", "QUARTERLY", "YEARLY")
#: The time whose days and hours are tested one by one, in microseconds: ten years, and one.
_MOST_TIME = {"DAILY": 3_660 * 86_400_000_000, "HOURLY": 366 * 86_400_000_000}
#: A comparison → the one with the sides exchanged.
_MIRRORED: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.EQ, exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE,
}  # fmt: skip


class _Condition:
    """Reads conditions on the time of a block."""

    def __init__(self, block: QueryBlock) -> None:
        self._block, self._zone = block, block.zone
        self._constants = ComputedExpressions(block.zone, block.now)

    def read(self, node: exp.Expr) -> tuple[list[Range], bool]:
        """Returns times that contain all for which the condition may be true, and whether that is all that it says
        about time.
        """
        node = node.unnest()
        everything: tuple[list[Range], bool] = ([(FIRST, LAST)], not self._block.uses_time(node))
        if isinstance(node, exp.And | exp.Or):
            (left, exact_left), (right, exact_right) = self.read(node.this), self.read(node.expression)
            if isinstance(node, exp.And):
                return intersection(left, right), exact_left and exact_right
            are_times = self._is_only_time(node.this) and self._is_only_time(node.expression)
            return union([*left, *right]), exact_left and exact_right if are_times else everything[1]
        if isinstance(node, exp.Not) and isinstance(node.this.unnest(), exp.Is):
            is_null = node.this.unnest()
            is_of_time = isinstance(is_null.expression, exp.Null) and self._block.is_time(is_null.this)
            return ([(FIRST, LAST)], True) if is_of_time else everything
        if isinstance(node, exp.Not):
            ranges, is_exact = self.read(node.this)
            # The opposite of IS NOT NULL is true for rows without the time.
            is_exact = is_exact and self._is_only_time(node.this) and node.find(exp.Is) is None
            return (complement(ranges), True) if is_exact else everything
        ranges_of_leaf = self._leaf(node)
        return everything if ranges_of_leaf is None else (ranges_of_leaf, True)

    def read_calendar(self, node: exp.Expr, within: list[Range]) -> tuple[list[Range], bool]:
        """Returns the days and hours of a bounded time for which conditions on the calendar are true, such as
        month(t) = 2, and whether nothing else is said about time.
        """
        parts = [part for part in conditions_in(node) if not self.read(part)[1]]
        for period, units in (("DAILY", _WHOLE_DAYS), ("HOURLY", (*_WHOLE_DAYS, "HOURLY"))):
            length = sum(end - start for start, end in within)
            if not all(start > FIRST and end < LAST for start, end in within) or length > _MOST_TIME[period]:
                break
            if period == "HOURLY" and self._zone != "UTC":
                break  # Its hours may begin at other minutes.
            of_period = [part for part in parts if self._is_only_time(part) and self._is_of_units(part, units)]
            parts = [part for part in parts if part not in of_period]
            tests = [self._constants.read(part) for part in of_period]
            stretches = (
                stretch
                for stretch in self._stretches(period, within if tests else ())
                if all(test({self._block.time: moment(stretch[0])}) for test in tests)
            )
            within = intersection(within, [*stretches]) if tests else within
        return within, not parts

    def is_implied(self, node: exp.Expr) -> bool:
        """Tests whether a condition on the calendar is true on all days of the pieces."""
        ranges = union([range_ for ranges in self._block.pieces.values() for range_ in ranges])
        days, is_read = self.read_calendar(node, ranges)
        return bool(ranges) and is_read and days == ranges

    def _stretches(self, period: str, ranges: Sequence[Range]) -> Iterator[Range]:
        for start, end in ranges:
            at = floor(period, self._zone, start)
            while at < end:
                begin, at = at, following(period, self._zone, at)
                yield begin, at

    def _is_of_units(self, condition: exp.Expr, units: Sequence[str]) -> bool:
        """Tests whether a condition uses the time only by functions that have one value for such a unit."""
        for column in condition.find_all(exp.Column):
            node: exp.Expr = column
            while node is not condition and node.parent is not None and self._block.unit(node) not in units:
                node = node.parent
            if node is condition:
                return False
        return True

    def _is_only_time(self, node: exp.Expr) -> bool:
        return all(self._block.is_time(column) for column in node.find_all(exp.Column)) and self._block.uses_time(node)

    def _leaf(self, node: exp.Expr) -> list[Range] | None:
        if isinstance(node, exp.Between):
            low = self._compare(exp.GTE, node.this, node.args["low"])
            high = self._compare(exp.LTE, node.this, node.args["high"])
            return None if low is None or high is None else intersection(low, high)
        if isinstance(node, exp.Anonymous) and node.name.lower() == "time_range_in":
            return self._time_range_in(node)
        if isinstance(node, exp.In) and not node.args.get("query") and node.expressions:
            equals = [self._compare(exp.EQ, node.this, option) for option in node.expressions]
            return None if None in equals else union([range_ for ranges in equals for range_ in ranges or ()])
        if isinstance(node, exp.LT | exp.LTE | exp.GT | exp.GTE | exp.EQ | exp.NEQ):
            kind = exp.EQ if isinstance(node, exp.NEQ) else type(node)
            ranges = self._compare(kind, node.this, node.expression)
            ranges = self._compare(_MIRRORED[kind], node.expression, node.this) if ranges is None else ranges
            return complement(ranges) if isinstance(node, exp.NEQ) and ranges is not None else ranges
        return None

    def _time_range_in(self, call: exp.Anonymous) -> list[Range] | None:
        column, *bounds = call.expressions
        times = [self._constants.bound(bound) for bound in bounds]
        if not self._block.is_time(column) or len(times) != 2 or None in times:
            return None
        return [(times[0] or 0, times[1] or 0)]

    def _literal(self, node: exp.Expr) -> int | None:
        """Returns the time that an expression without columns is; ``None`` where that is not understood."""
        if node.find(exp.Column, exp.Query):
            return None
        try:
            return self._constants.instant(node)
        except NotUnderstood:
            return None

    def _compare(self, operator: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> list[Range] | None:
        """Returns the times of ``time operator literal``, and of a function that cuts time to a unit."""
        left = left.unnest()
        if is_ordered_text(left) and self._block.is_time_argument(left.this):
            return self._compare_text(operator, left, right)
        unit = None if self._block.is_time(left) else self._block.unit(left)
        if unit is not None and isinstance(left, exp.Year) and isinstance(right, exp.Literal) and not right.is_string:
            at = read_time(right.name.zfill(4), self._zone)
        elif self._block.is_time(left) or (
            unit is not None and isinstance(left, exp.TimestampTrunc | exp.DateTrunc | exp.Cast | exp.TsOrDsToDate)
        ):
            if isinstance(left, exp.Cast | exp.TsOrDsToDate):
                return self._compare_date(operator, right)
            at = self._literal(right)
        else:
            return None
        if at is None:
            return None
        if unit is None:
            begin, end = at, at + 1
        else:
            begin = floor(unit, self._zone, at)
            end = following(unit, self._zone, begin)
            if begin != at:
                # No unit begins at the literal.
                is_before = operator in (exp.LT, exp.LTE)
                return [] if operator is exp.EQ else [(FIRST, end)] if is_before else [(end, LAST)]
        return _beside(operator, begin, end)

    def _compare_text(self, operator: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> list[Range] | None:
        """Returns the times of ``date_format(time, 'yyyy-MM') operator text``: texts have the order of times."""
        shows_hours = isinstance(left, exp.Cast) or "H" in (pattern_of(left) or "")  # type: ignore[arg-type]
        if not isinstance(right, exp.Literal) or not right.is_string or (shows_hours and self._zone != "UTC"):
            return None
        text_at = ComputedExpressions().read(left)
        clocks = range(*(instant(at) for at in (datetime.min, datetime.max)))
        first, behind = (
            bisect(clocks, right.name, key=lambda at: text_at({self._block.time: moment(at)}))
            for bisect in (bisect_left, bisect_right)
        )
        begin, end = (
            FIRST if at == 0 else LAST if at == len(clocks) else from_clocks(moment(clocks[at]), self._zone)
            for at in (first, behind)
        )
        return [(start, stop) for start, stop in _beside(operator, begin, end) if start < stop]

    def _compare_date(self, operator: type[exp.Expr], right: exp.Expr) -> list[Range] | None:
        """Returns the times of ``date operator literal``. A day that the zone's clocks skipped has none."""
        try:
            day = None if right.find(exp.Column, exp.Query) else self._constants.day(right)
        except NotUnderstood:
            return None
        if day is None:
            return None
        shown = datetime(day.year, day.month, day.day)
        begin, end = (from_clocks(midnight, self._zone) for midnight in (shown, shown + timedelta(days=1)))
        return _beside(operator, begin, end)


def _beside(operator: type[exp.Expr], begin: int, end: int) -> list[Range]:
    """Returns the times that compare with a stretch of time."""
    if operator is exp.LT:
        return [(FIRST, begin)]
    if operator is exp.LTE:
        return [(FIRST, end)]
    if operator is exp.GT:
        return [(end, LAST)]
    return [(begin, LAST)] if operator is exp.GTE else [(begin, end)]
