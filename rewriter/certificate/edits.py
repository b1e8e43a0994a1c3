"""Edits of a query's text that keep its meaning: names of items, counts and averages of events, times of a zone.

The executed text is read on the clocks of UTC. Where the query's own text is read on the clocks of a zone, both must
have the same values: at each change of the clocks in the time that is read, and at the units around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import date, datetime
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from rewriter.certificate.evidence import NotUnderstood, Refuted
from rewriter.certificate.expressions import ArmQuery, ComputedExpressions, arms_in, period_of_unit, tree_of, union_in
from rewriter.certificate.periods import Range, floor, following, moment, to_clocks, transitions
from rewriter.certificate.states import with_commits
from rewriter.certificate.subqueries import (
    PROJECTION,
    Projection,
    clauses_of,
    counterpart,
    is_pure,
    offset_of_name,
)
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.certificate.evidence import CatalogRecords, Object


#: The name that stands in the place of a union, followed by the place.
_MARK = "rw_pieces_"


def _bound_tree(text: str, parameters: Mapping[str, str], *, has_all: bool) -> exp.Expr:
    """Returns the tree of a text with the values of the parameters. A text that has not all of them is no query."""
    tree = tree_of(text)
    has_places = parameters or re.search(r":\s*[A-Za-z_`]|\?", text) is not None
    names = {placeholder.name for placeholder in tree.find_all(exp.Placeholder)} if has_places else set()
    if names - parameters.keys() or (has_all and names != parameters.keys()):
        raise Refuted("the parameters are not those of the query")
    return _bind(tree.copy(), parameters) if names else tree


def _bind(tree: exp.Expr, parameters: Mapping[str, str]) -> exp.Expr:
    """Puts the values of parameters in place of their names: all as strings, so that a number is not understood."""
    for placeholder in [*tree.find_all(exp.Placeholder)]:
        value = exp.Literal.string(parameters[placeholder.name])
        if placeholder is tree:
            return value
        placeholder.replace(value)
    return tree


class QueryTexts:
    """The trees of a certificate's query and of its executed text, where a query that only projects and filters a cube
    is merged into the one around it: ``SELECT SUM(x) FROM (SELECT n AS x FROM flights) AS v`` as
    ``SELECT SUM(v.n) FROM flights AS v``.
    """

    def __init__(self, certificate: Mapping[str, Any]) -> None:
        self._certificate = certificate

    @cached_property
    def _places(self) -> set[int]:
        return {reference["start"] for reference in self._certificate["references"]}

    @cached_property
    def _outline(self) -> tuple[str, Mapping[int, str]]:
        """The executed text with ``(SELECT rw_pieces_‹start›)`` in the places of the cubes, and what stands there."""
        text, outline, position = self._certificate["query"], "", 0
        unions: dict[int, str] = {}
        for start, end, replacement in sorted(self._certificate["edits"], key=itemgetter(0, 1)):
            union = union_in(replacement) if start in self._places else None
            if union is not None:
                unions[start] = union
                replacement = f"(SELECT {_MARK}{start}){replacement[len(union) + 2 :]}"
            outline += text[position:start] + replacement
            position = end
        if f"{outline}{text[position:]}".lower().count(_MARK) != len(unions):
            raise NotUnderstood(f"the name {_MARK}")
        return outline + text[position:], unions

    def arms_at(self, start: int, source: exp.Expr) -> list[ArmQuery]:
        """Returns the queries of the union in the place of a cube, in their order."""
        is_mark = isinstance(source.this, exp.Select) and source.this.sql() == f"SELECT {_MARK}{start}"
        left = [*reversed(arms_in(self._outline[1][start]))] if is_mark else [ArmQuery(source.this, None, None)]
        arms: list[ArmQuery] = []
        while left:
            arm = left.pop()
            node = arm.query
            if arm.condition is None and isinstance(node, exp.Union) and clauses_of(node) == {"this", "expression"}:
                left += [ArmQuery(side, None, None) for side in (node.expression, node.this)]
            elif isinstance(node, exp.Select):
                where = node.args.get("where")
                arms.append(arm if arm.condition is not None or where is None else replace(arm, condition=where.this))
            else:
                raise NotUnderstood(f"{type(node).__name__} in place of the cube")
        return arms

    @cached_property
    def trees(self) -> tuple[exp.Expr, exp.Expr]:
        """The trees, in this order. They are not to be changed. That of the executed text has marks instead of the
        unions.
        """
        places, parameters = self._places, self._certificate["parameters"]
        commits = {} if self._certificate.get("typed") is not None else self._certificate["commits"]
        query = _bound_tree(self._certificate["query"], parameters, has_all=True)
        query = with_commits(query, self._certificate, commits)
        executed = with_commits(_bound_tree(self._outline[0], parameters, has_all=False), self._certificate, {})
        sources = [table for table in query.find_all(exp.Table) if offset_of_name(table) in places]
        if all(Projection.of(source) is None for source in sources):
            return query, executed
        query, executed = query.copy(), executed.copy()
        sources = [table for table in query.find_all(exp.Table) if offset_of_name(table) in places]
        pairs = [(source, counterpart(source, executed)) for source in sources]
        for node in (node for pair in pairs for node in pair):
            node.meta["is_source"] = True
        is_merged = True
        while is_merged:
            is_merged = False
            for source, in_place in pairs:
                typed, made = Projection.of(source), Projection.of(in_place)
                if typed is not None and made is not None:
                    typed.merge()
                    made.merge()
                    is_merged = True
        return query, executed


def check_views(certificate: Mapping[str, Any], catalog: CatalogRecords) -> None:
    """The query is the typed one with the queries of views in the places of their names, and with copies of queries in
    WITH.
    """
    database, temporary = certificate["database"], certificate["temporary_views"]
    expansion = _ViewExpansion(catalog, temporary)
    typed = with_commits(tree_of(certificate["typed"]), certificate, certificate["commits"]).copy()
    query = with_commits(tree_of(certificate["query"]), certificate, {}).copy()
    typed = expansion.expanded(typed, database)
    query = _ViewExpansion(catalog, {}, is_expanded=True).expanded(query, database)
    _copy_queries(typed, {cte.alias.lower() for cte in query.find_all(exp.CTE)})
    names = [tree.named_selects for tree in (typed, query) if isinstance(tree, exp.Query)]
    if names[:1] != names[1:] or _plain(typed, expansion.qualified) != _plain(query, expansion.qualified):
        raise NotUnderstood("a query that is not the typed one with its views in their places")


class _ViewExpansion:
    """Puts the queries of views in the places of their names, and gives each table its full name."""

    def __init__(
        self, catalog: CatalogRecords, temporary: Mapping[str, Mapping[str, Any]], is_expanded: bool = False
    ) -> None:
        self._catalog, self._temporary, self._is_expanded = catalog, temporary, is_expanded
        #: Databases and names of the views that were replaced.
        self.qualified: set[tuple[str, str]] = set()

    def expanded(
        self, tree: exp.Expr, database: str, chain: tuple[str, ...] = (), *, is_stored: bool = False
    ) -> exp.Expr:
        """Changes a tree, whose names without a database are of ``database``. A stored view reads no temporary one."""
        of_query = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
        if any(clause.parent is not tree for clause in tree.find_all(exp.With)):
            raise NotUnderstood("a WITH inside of a query, beside a view")
        for table in [*tree.find_all(exp.Table)]:
            name = table.name.lower()
            if not table.db and name in of_query:
                continue
            if table.args.get("catalog") or not isinstance(table.this, exp.Identifier):
                raise NotUnderstood(f"{table.sql('spark')[:80]}, beside a view")
            is_temporary = not table.db and name in self._temporary and not is_stored
            view = None if self._is_expanded else self._view(table, database, is_temporary)
            if view is None:
                table.set("db", exp.to_identifier(table.db or database))
                continue
            if name in chain or any(value and key not in ("this", "db", "alias") for key, value in table.args.items()):
                raise NotUnderstood(f"the view {table.sql('spark')[:80]}")
            body = tree_of(view["query"]).copy()
            self.expanded(body, view.get("database") or "default", (*chain, name), is_stored=not is_temporary)
            columns = table.alias_column_names or [column for column, *_ in view["columns"]]
            self.qualified.add((table.db.lower(), name))
            _put_query(table, body, columns)
        return tree

    def _view(self, table: exp.Table, database: str, is_temporary: bool) -> Mapping[str, Any] | None:
        if is_temporary:
            of_session = self._temporary[table.name.lower()]
            return {**of_session, "columns": [[column] for column in of_session["columns"]]}
        of = table.db.lower() or database
        view = self._catalog.find("view", table.name if of == "default" else f"{of}.{table.name}")
        return None if view is None else view.definition


def _put_query(table: exp.Table, query: exp.Expr, columns: Sequence[str]) -> None:
    alias = exp.TableAlias(
        this=exp.to_identifier(table.alias_or_name), columns=[exp.to_identifier(column) for column in columns]
    )
    table.replace(exp.Subquery(this=query, alias=alias))


def _copy_queries(tree: exp.Expr, kept: Set[str]) -> None:
    """Puts the queries of WITH that are not kept in the places of their names. They only project and filter, so that
    each copy has the same rows.
    """
    ctes = [cte for cte in tree.find_all(exp.CTE) if cte.alias.lower() not in kept]
    names = [cte.alias.lower() for cte in tree.find_all(exp.CTE)]
    for cte in ctes:
        query, clauses = cte.this, clauses_of(cte.this)
        is_plain = all(is_pure(node) or isinstance(node, PROJECTION) for node in query.walk())
        if names.count(cte.alias.lower()) > 1 or not is_plain or clauses - {"expressions", "from_", "where"}:
            raise NotUnderstood(f"copies of the query {cte.alias}")
    for cte in ctes:
        for table in [*tree.find_all(exp.Table)]:
            if table.name.lower() == cte.alias.lower() and not table.db:
                _put_query(table, cte.this.copy(), table.alias_column_names or cte.alias_column_names)
    for cte in ctes:
        scope = cte.parent
        cte.pop()
        if isinstance(scope, exp.With) and not scope.expressions:
            scope.pop()


def _plain(tree: exp.Expr, views: Set[tuple[str, str]]) -> exp.Expr:
    """Changes a tree to names in lower case, without quotes, without aliases that are the table's name, and without the
    databases of views before columns.
    """
    for column in tree.find_all(exp.Column):
        if (column.text("db").lower(), column.table.lower()) in views:
            column.set("db", None)
    for table in tree.find_all(exp.Table):
        if table.alias.lower() == table.name.lower() and not table.alias_column_names:
            table.set("alias", None)
    for identifier in tree.find_all(exp.Identifier):
        identifier.set("this", identifier.name.lower())
        identifier.set("quoted", False)
    return tree


def _counts_of(block: exp.Expr, adds_up: bool) -> Iterator[exp.Expr]:
    """Yields the counts and averages of rows in a block itself. Over groups, a window counts the groups."""
    for node in block.find_all(exp.Count, exp.CountIf, exp.Avg):
        is_of_groups = adds_up and isinstance(node.parent, exp.Window)
        is_of_values = not isinstance(node, exp.Avg) and isinstance(node.this, exp.Distinct)
        if node.find_ancestor(exp.Select) is block and not is_of_groups and not is_of_values:
            yield node


def refuse_counts_of_sums(block: exp.Select, executed: exp.Expr, cube: Object, adds_up: bool) -> None:
    """Refuses COUNT(*) of a block over base rows that hold several events each, where a measure counts them, and AVG of
    a measure whose values are counted.
    """
    counted = {measure[0].lower() for measure in cube.definition["measures"] if measure[3]}
    for node in _counts_of(counterpart(block, executed), adds_up):
        if isinstance(node, exp.Avg):
            is_of_rows = any(column.name.lower() in counted for column in node.find_all(exp.Column))
        else:
            is_of_rows = bool(counters_of_events(cube))
        if is_of_rows:
            raise NotUnderstood(f"{node.sql('spark')} over rows that hold several events each")


def refuse_counts_of_rows(block: exp.Select, executed: exp.Expr, adds_up: bool, has_empty_rows: bool) -> None:
    """Refuses a count or an average of a block over rollups that no edit replaced: they have fewer rows than events.
    Rows without an event are counted beside events by a column of their own.
    """
    for node in _counts_of(counterpart(block, executed), adds_up):
        raise Refuted(f"{node.sql('spark')} is computed over rows of rollups")
    for node in _counts_of(block, adds_up) if has_empty_rows else ():
        names = {column.name.lower() for column in counterpart(node, executed).find_all(exp.Column)}
        if EVENTS not in names and not isinstance(node, exp.Avg):
            raise NotUnderstood(f"{node.sql('spark')[:80]} beside an outer join, over rollups")


def check_name(before: str, inserted: str) -> None:
    """An insertion gives an item its name: the item as typed, as Spark writes it."""
    matched = re.fullmatch(r"\s*AS (?:`((?:[^`]|``)*)`|(\w+))\s*", inserted)
    if matched is None:
        raise NotUnderstood(f"the insertion {inserted.strip()[:80]!r}")
    name = (matched[1] or matched[2]).replace("``", "`").lower()
    # The name has no qualifiers, and counts 1 where the item counts *.
    qualifiers = r"(?:\w+|`[^`]*`)\s*\.\s*"
    typed = re.sub(r"[\s`'()]", "", re.sub(qualifiers, "", before).lower())
    plain = re.sub(r"[\s'()]", "", re.sub(qualifiers, "", name))
    if not typed.endswith((plain, plain.replace("count1", "count*"))):
        raise NotUnderstood(f"the name {name[:80]!r} of an item")


#: The column with the number of events of a row, never NULL, beside rows of an outer join that have no event.
EVENTS = "rw_events"
#: Functions that read the clocks, so that a time on them may stand in place of a time in UTC.
_CLOCK_READERS = (
    exp.Year, exp.Quarter, exp.Month, exp.Day, exp.DayOfMonth, exp.DayOfWeek, exp.DayOfYear, exp.WeekOfYear, exp.Hour,
    exp.Minute, exp.Second, exp.TsOrDsToDate, exp.Date, exp.TimeToStr, exp.LastDay, exp.DateTrunc, exp.TsOrDsAdd,
)  # fmt: skip
#: The fields of EXTRACT that read them.
_CLOCK_FIELDS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFWEEK", "DOW", "DOY", "HOUR", "MINUTE", "SECOND")
#: What means the same time on all clocks.
_INSTANT_READERS = (
    exp.Select, exp.Alias, exp.Group, exp.Ordered, exp.Window, exp.Tuple, exp.Distinct, exp.Min, exp.Max, exp.Count,
    exp.Is, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In, exp.NullSafeEQ, exp.StrToUnix,
    exp.UnixSeconds, exp.UnixMillis, exp.UnixMicros, exp.Coalesce, exp.If, exp.Case,
)  # fmt: skip
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In, exp.NullSafeEQ)


#: What an edit makes of a time on the clocks of a zone: shifts between literals, and the beginning of a unit.
_SHIFTS = (
    exp.Case, exp.If, exp.Column, exp.Identifier, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.And, exp.Or, exp.Literal,
    exp.Cast, exp.DataType, exp.TimestampAdd, exp.TsOrDsAdd, exp.Add, exp.Sub, exp.Interval, exp.Var, exp.Paren,
    exp.TimestampTrunc, exp.DateTrunc, exp.Neg, exp.TimeStrToTime, exp.TsOrDsToTimestamp,
)  # fmt: skip


@dataclass(frozen=True)
class Clocks:
    """The clocks of a query's cubes: their ``zone``; ``None`` for several. ``now`` is the time of the query, ``times``
    are names of columns, ``ranges`` by such a name the time that is read.
    """

    zone: str | None
    now: int
    times: frozenset[str]
    ranges: Mapping[str, Sequence[Range]]

    def is_time(self, node: exp.Expr | None) -> bool:
        return isinstance(node, exp.Column) and node.name.lower() in self.times

    def is_first_time(self, node: exp.Expr) -> bool:
        """Tests for a time, and for the first time of a unit."""
        return self.is_time(node) or (isinstance(node, exp.TimestampTrunc) and self.is_time(node.this))

    def samples(self, time: str, zone: str, edited: exp.Expr, period: str) -> list[int]:
        """Returns the times of the ranges at which two expressions on the clocks can begin to differ."""
        literals = [ComputedExpressions().instant(cast) for cast in edited.find_all(exp.Cast) if cast.this.is_string]
        edges = [edge for range_ in self.ranges[time] for edge in (*range_, *transitions(zone, range_))]
        around: set[int] = set()
        for edge in [*edges, *(literal for literal in literals if literal is not None)]:
            start = floor(period, zone, edge)
            around |= {edge, start, following(period, zone, start), floor(period, zone, start - 1)}
        beside = {at + step for at in around for step in (-1, 0, 1)}
        return sorted(at for at in beside if any(start <= at < end for start, end in self.ranges[time]))


class TextComparison:
    """Compares the tree of the executed text with the query's: they differ where an edit keeps the meaning."""

    def __init__(self, cubes: Sequence[Object], clocks: Clocks, sources: Sequence[exp.Expr]) -> None:
        """``sources`` are the tables of the query that name the cubes. What stands in their places is not compared."""
        self._cube = cubes[0] if len(cubes) == 1 else None
        self._clocks, self._sources = clocks, sources

    def check(self, old: exp.Expr, new: exp.Expr) -> None:
        """Raises ``NotUnderstood`` for the first difference that is not known to keep the meaning."""
        if any(old is source for source in self._sources):
            return
        if old.arg_key == "expressions" and isinstance(old.parent, exp.Select) and not isinstance(old, exp.Alias):
            if isinstance(new, exp.Alias):
                self._check_given_name(old, new.alias.lower())
                new = new.this
            elif old != new and not isinstance(old, exp.Column):
                raise NotUnderstood(f"{new.sql('spark')[:80]} has not the name of {old.sql('spark')[:60]}")
        is_now = isinstance(new, exp.Anonymous) and new.name.lower() == "now"
        if is_now or isinstance(new, exp.CurrentDate | exp.CurrentTimestamp):
            raise NotUnderstood(f"{new.sql('spark')}, which is a later time when the text is executed")
        self._check_clocks(old, new)
        if self._is_known(old, new):
            return
        if type(old) is not type(new):
            raise NotUnderstood(f"{new.sql('spark')[:80]} in place of {old.sql('spark')[:60]}")
        for name in old.args.keys() | new.args.keys():
            before, after = _nodes(old.args.get(name)), _nodes(new.args.get(name))
            if len(before) != len(after):
                raise NotUnderstood(f"{new.sql('spark')[:80]} in place of {old.sql('spark')[:60]}")
            for part, changed in zip(before, after, strict=True):
                if isinstance(part, exp.Expr) and isinstance(changed, exp.Expr):
                    self.check(part, changed)
                elif part != changed:
                    raise NotUnderstood(f"{new.sql('spark')[:80]} in place of {old.sql('spark')[:60]}")

    def _check_given_name(self, old: exp.Expr, name: str) -> None:
        """A name that an edit gives an item is that of its column, and not that of a column in it."""
        if isinstance(old, exp.Column):
            is_other = name != old.name.lower()
        else:  # Spark's name of an expression is none that the query, or a query around it, could mean by it.
            is_other = name in {column.name.lower() for column in old.root().find_all(exp.Column)}
            is_other |= re.fullmatch(r"[a-z_]\w*", name) is not None
        if is_other or not re.search(r"\w", name):
            raise NotUnderstood(f"the name {name[:80]!r} of {old.sql('spark')[:60]}")

    def _check_clocks(self, old: exp.Expr, new: exp.Expr) -> None:
        """Refuses what is read on the clocks of the zone, and has another value on those of UTC, edited or not."""
        zone, clocks = self._clocks.zone, self._clocks
        if zone in (None, "UTC"):
            return
        is_local = (
            (clocks.is_time(old) and _is_read_on_clocks(old))
            or (period_of_unit(old) is not None and clocks.is_time(old.this))
            or (old.find(exp.Column, exp.Query) is None and _is_compared(old, clocks.is_first_time))
        )
        parent = _parent(old)
        # The beginning of a unit was compared itself.
        is_read = isinstance(parent, _INSTANT_READERS) or (parent is not None and period_of_unit(parent) is not None)
        if clocks.is_time(old) and old == new and not is_read and not is_local:
            raise NotUnderstood(f"{old.sql('spark')} in {type(parent).__name__.upper()} on the clocks of {zone}")
        if clocks.is_time(old) and old == new and not _is_kept_whole(old):
            raise NotUnderstood(f"{old.sql('spark')} in an expression, on the clocks of {zone}")
        if isinstance(old, _COMPARISONS) and not all(self._is_known_side(side) for side in old.iter_expressions()):
            sides = [side.unnest() for side in old.iter_expressions()]
            if any(clocks.is_first_time(side) for side in sides):
                raise NotUnderstood(f"{old.sql('spark')[:80]}, on the clocks of {zone}")
        if _is_literal_time(old) and not _is_compared(_whole_constant(old), clocks.is_first_time):
            raise NotUnderstood(f"{old.sql('spark')[:80]}, which is compared with no time, on the clocks of {zone}")
        if is_local and not self._is_same_time(old, new.this if isinstance(new, exp.Alias) else new.unnest()):
            raise NotUnderstood(f"{new.sql('spark')[:80]} in place of {old.sql('spark')[:60]} on the clocks of {zone}")

    def _is_known_side(self, side: exp.Expr) -> bool:
        """Tests for a constant, and for a time or the beginning of its unit."""
        return side.find(exp.Column, exp.Query) is None or self._clocks.is_first_time(side.unnest())

    def _is_known(self, old: exp.Expr, new: exp.Expr) -> bool:
        if isinstance(old, exp.Table) and isinstance(new, exp.Table):
            return _is_named(old, new)
        if isinstance(old, exp.Column) and isinstance(new, exp.Column):
            # A database before the name of the table is left out.
            is_short = len(_parts(old)) == 3 and len(_parts(new)) == 2 and _ends_with(_parts(old), _parts(new))
            return _parts(old) == _parts(new) or is_short
        if isinstance(old, exp.AggFunc) and isinstance(new, exp.Cast) and type(new.this.unnest()) is type(old):
            # A sum over wider columns, with the type of the base's: it fails where it does not fit.
            return bool(old == new.this.unnest()) and self._is_exact_type(old, new.to.sql("spark").lower())
        value = new.unnest()
        if isinstance(old, exp.Anonymous) and old.name.lower() == "time_range_in":
            return value == old or _is_range(old, value, self._clocks)
        if isinstance(old, exp.Count | exp.CountIf | exp.Avg | exp.Filter) and not self._is_of_cube(old, value):
            return False
        if self._cube is not None and isinstance(old, exp.Count | exp.CountIf) and isinstance(value, exp.Coalesce):
            return _is_count_of_events(old, value, self._cube)
        if self._cube is not None and isinstance(old, exp.Filter) and isinstance(value, exp.Coalesce):
            count, filtered = old.this, value.this
            if not isinstance(count, exp.Count | exp.CountIf) or not isinstance(filtered, exp.Filter):
                return False
            without = exp.Coalesce(this=filtered.this.copy(), expressions=value.expressions)
            return bool(old.expression == filtered.expression) and _is_count_of_events(count, without, self._cube)
        if self._cube is not None and isinstance(old, exp.Avg) and isinstance(value, exp.Div):
            return _is_ratio(old, value, self._cube)
        zone = self._clocks.zone
        is_value = isinstance(old, exp.Column | exp.Literal | exp.Add | exp.Sub | exp.Func)
        return zone is not None and is_value and old != new and self._is_same_time(old, value)

    def _is_of_cube(self, old: exp.Expr, new: exp.Expr) -> bool:
        """Tests whether an aggregate is one of the SELECT that names the cube, and its new columns are the cube's."""
        select = old.find_ancestor(exp.Select)
        names = {s.alias_or_name.lower() for s in self._sources if s.find_ancestor(exp.Select) is select}
        is_alone = select is None or not (select.args.get("joins") or select.args.get("laterals"))
        added = {column.sql() for column in new.find_all(exp.Column)} - {c.sql() for c in old.find_all(exp.Column)}
        columns = [column for column in new.find_all(exp.Column) if column.sql() in added or isinstance(old, exp.Avg)]
        if select is not None and old.find_ancestor(exp.Order) is not None:
            output = {item.alias.lower() for item in select.expressions if item.alias}
            if any(column.name.lower() in output and not column.table for column in columns):
                return False  # ORDER BY means the item of that name.
        return len(names) == 1 and all(
            # Beside other tables, the name alone might be that of one of their columns.
            column.table.lower() in names or (not column.table and (is_alone or column.sql() not in added))
            for column in columns
        )

    def _is_exact_type(self, aggregate: exp.AggFunc, type: str) -> bool:
        """Tests whether a type holds each sum of a measure or fails: an integer, or a decimal of as many digits behind
        the point.
        """
        names = {column.name.lower() for column in aggregate.find_all(exp.Column)}
        measures = self._cube.definition["measures"] if self._cube is not None else ()
        types = [measure[1].lower() for measure in measures if measure[0].lower() in names]
        scales = {re.sub(r"^decimal\(\d+, *", "", text.replace(" ", "")) for text in (*types, type)}
        are_decimals = all(text.startswith("decimal(") for text in (*types, type))
        are_integers = {*types, type} <= {"tinyint", "smallint", "int", "bigint"}
        return bool(types) and (are_integers or (are_decimals and len(scales) == 1))

    def _is_same_time(self, old: exp.Expr, new: exp.Expr) -> bool:
        try:
            return _is_same_time(old, new, self._clocks, self._clocks.zone or "")
        except NotUnderstood:
            return False


def _is_used(name: str, query: exp.Select, *, is_inner: bool) -> bool:
    """Tests whether a query around this one may use the column of a name, or another item of this one."""
    root = query.root()
    keys = (exp.Ordered, exp.Group)
    uses = (column for column in root.find_all(exp.Column) if column.name.lower() == name.lower())
    stars = (star for star in root.find_all(exp.Star) if not isinstance(star.parent, exp.Count))
    return any(not isinstance(column.parent, keys) or is_inner for column in uses) or (is_inner and any(stars))


def refuse_renamed_times(query: exp.Expr, clocks: Clocks) -> None:
    """Refuses times of a zone that a query inside of another one gives another name."""
    if clocks.zone is None:
        raise NotUnderstood("cubes of several zones")
    if clocks.zone == "UTC":
        return
    for select in query.find_all(exp.Select):
        is_inner = select.find_ancestor(exp.Select, exp.With) is not None
        for item in select.expressions:
            is_named = item.alias_or_name.lower() in clocks.times
            if is_named or not _is_used(item.alias_or_name, select, is_inner=is_inner):
                continue
            times = [column for column in item.find_all(exp.Column) if clocks.is_time(column)]
            if any(not _is_read_on_clocks(time) for time in times):
                raise NotUnderstood(f"{item.sql('spark')[:80]}, whose name is used again, in a zone")
    if any(alias.columns for alias in query.find_all(exp.TableAlias)):
        raise NotUnderstood("columns that FROM names, in a zone")


def _nodes(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value in (None, False, "") else [value]


def _parts(column: exp.Column) -> list[str]:
    return [part.name.lower() for part in column.parts]


def _ends_with(whole: list[str], end: list[str]) -> bool:
    return whole[len(whole) - len(end) :] == end


def _is_named(old: exp.Table, new: exp.Table) -> bool:
    """Tests for a table under its name: ``names AS names`` in place of ``names``."""
    bare = new.copy()
    bare.set("alias", None if not old.alias else new.args.get("alias"))
    return bool(bare == old) and (bool(old.alias) or new.alias.lower() in ("", old.name.lower()))


def _is_same_time(old: exp.Expr, new: exp.Expr, clocks: Clocks, zone: str) -> bool:
    """Tests whether an expression on the clocks of the zone is another one on those of UTC."""
    local, utc = ComputedExpressions(zone, clocks.now), ComputedExpressions(now=clocks.now)
    columns = [*old.find_all(exp.Column), *new.find_all(exp.Column)]
    if not columns and not (_is_compared(old, clocks.is_first_time) or _is_compared(old, _is_date)):
        return False
    if not columns:
        before, after = local.constant(old), utc.constant(new)
        if type(before) is type(after) and not isinstance(before, str):
            return bool(before == after)
        if isinstance(after, date) and not isinstance(after, datetime):
            return _is_compared(old, _is_date) and local.instant(old) == local.instant(new) is not None
        return _is_compared(old, clocks.is_first_time) and local.instant(old) == utc.instant(new) is not None
    if not all(clocks.is_time(column) for column in columns):
        return False
    name = columns[0].name.lower()
    if {column.name.lower() for column in columns} != {name} or name not in clocks.ranges:
        return False
    if zone == "UTC" or not all(isinstance(node, _SHIFTS) for node in new.walk()):
        return False
    computed = utc.read(new)
    if isinstance(old, exp.Column):
        if not _is_read_on_clocks(old):
            return False
        return all(
            computed({name: moment(at)}) == to_clocks(at, zone) for at in clocks.samples(name, zone, new, "DAILY")
        )
    period = period_of_unit(old)
    if period is None or not clocks.is_time(old.this):
        return False
    expected = local.read(old)
    return all(
        computed({name: moment(at)}) == expected({name: moment(at)}) for at in clocks.samples(name, zone, new, period)
    )


def _parent(time: exp.Expr) -> exp.Expr | None:
    """Returns what uses a time, behind wrappers that sqlglot adds."""
    parent = time.parent
    while isinstance(parent, exp.Paren | exp.TsOrDsToTimestamp | exp.TimeStrToTime):
        parent = parent.parent
    return parent


def _is_read_on_clocks(time: exp.Expr) -> bool:
    parent = _parent(time)
    is_date = isinstance(parent, exp.Cast) and parent.is_type("date")
    is_field = isinstance(parent, exp.Extract) and parent.name.upper() in _CLOCK_FIELDS
    return isinstance(parent, _CLOCK_READERS) or is_date or is_field


def _is_kept_whole(time: exp.Expr) -> bool:
    """Tests whether a time that an aggregate or a CASE returns is read as an instant, too."""
    node, parent = time, _parent(time)
    while isinstance(parent, exp.Min | exp.Max | exp.Coalesce | exp.If | exp.Case | exp.Paren):
        if isinstance(parent, exp.If) and node.arg_key == "this":
            return True  # In a condition, which is looked at itself.
        node, parent = parent, parent.parent
    readers = (exp.Select, exp.Alias, exp.Group, exp.Ordered, exp.Tuple, exp.Count, exp.Distinct, exp.Is, exp.Window)
    return node is time or isinstance(parent, readers)


def _is_literal_time(node: exp.Expr) -> bool:
    """Tests for a text that is read as a timestamp."""
    is_cast = isinstance(node, exp.Cast) and node.is_type("timestamp", "timestamptz", "timestampltz")
    is_read = isinstance(node, exp.StrToTime | exp.StrToUnix | exp.TsOrDsToTimestamp | exp.TimeStrToTime)
    return (is_cast or is_read) and isinstance(node.this, exp.Literal) and node.this.is_string


def _whole_constant(node: exp.Expr) -> exp.Expr:
    """Returns the sum of which a constant is a part."""
    while isinstance(node.parent, exp.Add | exp.Sub | exp.Paren | exp.Func) and not node.parent.find(exp.Column):
        node = node.parent
    return node


def _is_date(node: exp.Expr) -> bool:
    return isinstance(node, exp.TsOrDsToDate | exp.Date) or (isinstance(node, exp.Cast) and bool(node.is_type("date")))


def _is_compared(constant: exp.Expr, is_kind: Callable[[exp.Expr], bool]) -> bool:
    """Tests whether a constant is compared with an expression of a kind."""
    parent = constant.parent
    while isinstance(parent, exp.Paren):
        parent = parent.parent
    if not isinstance(parent, _COMPARISONS):
        return False
    sides = [side.unnest() for side in (parent.this, parent.args.get("expression")) if isinstance(side, exp.Expr)]
    return any(is_kind(side) for side in sides)


def _is_count_of_events(count: exp.Count | exp.CountIf, node: exp.Coalesce, cube: Object) -> bool:
    """Tests for ``COALESCE(SUM(counter), 0)`` in place of ``COUNT(*)``, where ``counter`` counts the cube's events, and
    for ``COALESCE(SUM(CASE WHEN (x) IS NOT NULL THEN counter END), 0)`` in place of ``COUNT(x)``, and with the
    condition itself in place of ``COUNT_IF``.
    """
    value = node.this.this.unnest() if isinstance(node.this, exp.Sum) else None
    if [part.sql() for part in node.expressions] != ["0"] or isinstance(count.this, exp.Distinct):
        return False
    if not isinstance(count.this, exp.Star | exp.Literal):
        if not isinstance(value, exp.Case) or value.this is not None or value.args.get("default") is not None:
            return False
        (branch, *others) = value.args["ifs"]
        condition = branch.this.unnest()
        if isinstance(count, exp.Count):
            is_known = isinstance(condition, exp.Not) and isinstance(condition.this, exp.Is)
            if not is_known or not isinstance(condition.this.expression, exp.Null):
                return False
            condition = condition.this.this.unnest()
        if others or condition != count.this.unnest() or count.expressions:
            return False
        value = branch.args["true"].unnest()
    elif isinstance(count, exp.CountIf):
        return False
    if isinstance(value, exp.Coalesce) and [part.sql() for part in value.expressions] == ["1"]:
        # NULL is a row of an outer join that has no event: ``check_item`` knows the column.
        return isinstance(value.this, exp.Column) and unmarked(value.this.name, cube) == EVENTS
    return isinstance(value, exp.Column) and counters_of_events(cube) == [unmarked(value.name, cube)]


def counters_of_events(cube: Object) -> list[str]:
    """Returns the measures that may count the events, in lower case."""
    measures = cube.definition["measures"]
    # A measure is its name, type, kind, counter, NOT NULL and EVENTS.
    of_values = {measure[3].lower() for measure in measures if measure[3] and not measure[4]}
    counters = [measure for measure in measures if measure[2] == "COUNT"]
    marked = [measure for measure in counters if measure[5]]
    return [m[0].lower() for m in marked or [m for m in counters if m[0].lower() not in of_values]]


def unmarked(name: str, cube: Object) -> str:
    """Returns the measure that ``rw_…`` names beside an item of the query's own that has the measure's name; otherwise
    the name itself, in lower case.
    """
    lowered = name.lower()
    measures = {measure[0].lower() for measure in cube.definition["measures"]}
    others = {column[0].lower() for column in cube.definition["dimensions"]} | {
        time.lower() for time in cube.definition["times"]
    }
    measure = lowered.removeprefix("rw_")
    return measure if measure in measures and lowered not in measures | others else lowered


def _is_ratio(average: exp.Avg, node: exp.Expr, cube: Object) -> bool:
    """Tests for ``SUM(m) / NULLIF(SUM(counter), 0)`` in place of ``AVG(m)``, where the sum of an integer is that of a
    DECIMAL, as a DOUBLE.
    """
    column = average.this.unnest()
    measures = {measure[0].lower(): measure for measure in cube.definition["measures"]}
    measure = measures.get(column.name.lower()) if isinstance(column, exp.Column) else None
    if measure is None or not isinstance(node, exp.Div) or not isinstance(node.expression, exp.Nullif):
        return False
    above, below = node.this, node.expression.this
    if isinstance(above, exp.Cast) and above.to.sql("spark") == "DOUBLE":
        above = above.this.copy()
        value = above.this
        if not isinstance(value, exp.Cast) or value.to.sql("spark") != "DECIMAL(20, 0)":
            return False
        value.replace(value.this)
    if not (isinstance(above, exp.Sum) and isinstance(below, exp.Sum) and node.expression.expression.sql() == "0"):
        return False
    counter = (measure[3] or "").lower()
    is_of_events = unmarked(below.this.name, cube) == EVENTS and counters_of_events(cube) == [counter]
    is_counted = bool(counter) and (unmarked(below.this.name, cube) == counter or is_of_events)
    return is_counted and above.this.sql() == average.this.sql()


def _is_range(call: exp.Anonymous, node: exp.Expr, clocks: Clocks) -> bool:
    """Tests for ``(t >= TIMESTAMP '…' AND t < TIMESTAMP '…')`` in place of ``time_range_in(t, …)``."""
    column, *bounds = call.expressions
    node = node.unnest()
    if not isinstance(node, exp.And) or len(bounds) != 2 or clocks.zone is None:
        return False
    low, high = node.this, node.expression
    if not isinstance(low, exp.GTE) or not isinstance(high, exp.LT):
        return False
    if low.this.sql() != column.sql() or high.this.sql() != column.sql():
        return False
    local, utc = ComputedExpressions(clocks.zone, clocks.now), ComputedExpressions(now=clocks.now)
    return all(
        local.bound(bound) == utc.instant(side.expression) is not None
        for bound, side in zip(bounds, (low, high), strict=True)
    )


def sql_of_count(name: str, raw: Mapping[str, str], measures: Iterable[Sequence[Any]]) -> str:
    """Returns what an event counts: one, or the value of a measure, which may be NULL."""
    values = {column.lower(): text for column, text in raw.items()}
    counted = [measure for measure in measures if (measure[3] or "").lower() == name and not measure[4]]
    if not counted:
        return "1"
    value = counted[0][0].lower()
    return f"CASE WHEN {values.get(value, value)} IS NULL THEN 0 ELSE 1 END"


def sql_of_event(declared: str, kind: str) -> str:
    """Returns what an event gives a measure: of ``theta_sketch_agg(x)``, the sketch of its own x alone."""
    function = {"THETA_UNION": "theta_sketch_agg", "BITMAP_OR": "bitmap_construct_agg"}.get(kind)
    name, opening, rest = declared.partition("(")
    call = tree_of(declared)
    is_call = isinstance(call, exp.AnonymousAggFunc | exp.BitmapConstructAgg) and name.strip().lower() == function
    if not (is_call and opening and rest.rstrip().endswith(")")):
        return declared
    value = f"{rest.rstrip()[:-1]}\n"
    return f"{name.strip()}({value}) OVER (PARTITION BY {value})"


def uncast(value: exp.Expr, type: str) -> exp.Expr:
    """Returns a value without casts to the type that its column has anyway."""
    value = value.unnest()
    while isinstance(value, exp.Cast) and value.to.sql("spark").lower() == type.lower():
        value = value.this.unnest()
    return value
