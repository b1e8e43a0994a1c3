"""Finds out how COUNT and AVG over a derived table or a CTE that is not inlined count the events of cubes in it.

A row of such a relation stands for the events of one row of a cube, or is one event itself. COUNT of a value counts
the events whose value is not NULL. That is certain if the value depends on no measure: all events of a row of a cube
have the same dimensions, and the row has sums of their measures.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.catalog.model.objects import Aggregate, Cube, Measure, Table
from rewriter.errors import NotSupportedError
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.model.plan import quote_identifier
from rewriter.planner.scope.deterministic import is_scalar
from rewriter.planner.scope.first_rows import returns_first_rows
from rewriter.planner.scope.joins import contributes, nullable, relations
from rewriter.planner.scope.projections import descend, own_nodes
from rewriter.planner.scope.relation_columns import RelationColumns, UnknownColumnsError
from rewriter.planner.text.sqlglot_trees import cast_type, find_all, walk

if TYPE_CHECKING:
    from rewriter.planner.scope.cte_references import CteReferences
    from rewriter.planner.scope.inlining import Inlining


class _NotCounted(Exception):
    """A part of a relation of which it is not certain for how many events a row or a value stands.

    ``measure`` is the measure that a counted or averaged value is, or depends on, if that is the reason.
    """

    def __init__(self, measure: Measure | None = None, *, computed: bool = False) -> None:
        self.measure, self.computed = measure, computed


@dataclass(frozen=True)
class _RowSource:
    """The relation of a SELECT whose rows are the rows of a cube, or stand for them."""

    relation: exp.Expr
    index: int

    @property
    def alias(self) -> str:
        return self.relation.alias_or_name


@dataclass(frozen=True)
class _Values:
    """The values of a column that is averaged. NULL has no ``type``. ``name`` is the column with their number."""

    type: str
    measure: Measure | None
    name: str


class CountedRelations:
    """The relations of one query whose rows its blocks count, and the columns that SELECTs also select for that."""

    def __init__(
        self, inlining: Inlining, ctes: CteReferences, cubes: Mapping[int, Cube], tables: Mapping[int, Table]
    ) -> None:
        """``cubes`` and ``tables`` are the query's, by the identity of their nodes."""
        self._inlining, self._ctes, self._cubes = inlining, ctes, cubes
        self._shown: dict[int, dict[str, ShownCount]] = {}
        #: The columns of queries, by identity and position, that depend on no measure.
        self._certain: set[tuple[int, int]] = set()
        self._columns = RelationColumns(ctes, cubes, tables)

    def shown(self, select: exp.Select) -> tuple[ShownCount, ...]:
        """Returns the columns that a SELECT also selects, in the order of their names."""
        counts = self._shown.get(id(select), {})
        return tuple(counts[name] for name in sorted(counts))

    def counted_rows(self, select: exp.Select, relation: exp.Expr) -> CountedRows | None:
        """Returns the calls of a block that count single rows of a cube in a relation that is not inlined; ``None`` if
        there are none.

        They would count base rows there, but events everywhere else. LIMIT and DISTINCT return rows that are counted
        as such. Raises ``NotSupportedError`` AMBIGUOUS_COUNT where it is not certain what they count.
        """
        cubes = self._inlining.rows_of(relation) if self._cubes else ()
        if not cubes:
            return None
        are_single = returns_first_rows(select, relation, cubes)
        calls_with_cubes = _find_row_counts(select, relation, cubes, are_single=are_single)
        if not calls_with_cubes:
            return None
        call, cube = calls_with_cubes[0]
        try:
            if are_single or _shows_star(select):
                raise _NotCounted
            sources = relations(select)
            if any(self._inlining.rows_of(source) for source in sources if source is not relation):
                raise _NotCounted
            source = _RowSource(relation, next(i for i, other in enumerate(sources) if other is relation))
            counts, averages = [], []
            for call, _ in calls_with_cubes:
                if isinstance(call, exp.Avg):
                    averages.append(self._average(call, select, source))
                else:
                    self._check_count(call, select, source)
                    counts.append(call)
            if counts:
                self._show_events(self._query(relation))
        except UnknownColumnsError:
            raise _ambiguous(call, cube, _NotCounted()) from None
        except _NotCounted as reason:
            raise _ambiguous(call, cube, reason) from None
        is_nullable = nullable(select, source.index)
        return CountedRows(select, relation.alias_or_name, is_nullable, tuple(counts), tuple(averages))

    # -- calls ----------------------------------------------------------------------------------------------------

    def _check_count(self, call: exp.Count | exp.CountIf, select: exp.Select, source: _RowSource) -> None:
        if counts_all_rows(call):
            return
        if call.expressions or call.this is None:
            raise _NotCounted
        self._check_value(call.this, select, source)

    def _average(self, call: exp.Avg, select: exp.Select, source: _RowSource) -> CountedAverage:
        values = self._values_of(call.this, select, source)
        if values.measure is None:
            raise _NotCounted
        return CountedAverage(call, values.measure, values.name)

    # -- events ---------------------------------------------------------------------------------------------------

    def _query(self, relation: exp.Expr) -> exp.Expr:
        """Returns the query of a derived table or a CTE to which columns can be added that nothing else shows."""
        body: exp.Expr = relation.this
        aliases = [relation.args.get("alias")]
        if isinstance(relation, exp.Table):
            cte = self._ctes.cte_of(relation)
            if cte is None or (cte.parent is not None and cte.parent.args.get("recursive")):
                raise _NotCounted
            body, aliases = cte.this, [*aliases, cte.args.get("alias")]
            if self._ctes.cte_read_once(relation) is None and not all(map(_hides, self._ctes.references_to(cte))):
                raise _NotCounted
        elif not isinstance(relation, exp.Subquery):
            raise _NotCounted
        if clauses(relation) - {"this", "alias"} or any(alias is not None and alias.columns for alias in aliases):
            raise _NotCounted
        return body

    def _show(self, select: exp.Select, count: ShownCount) -> None:
        names = {item.alias_or_name.lower() for item in select.expressions}
        with suppress(UnknownColumnsError):
            names |= {name for name, _ in self._columns.items(select)}
        if count.name in names:
            raise _NotCounted
        self._shown.setdefault(id(select), {})[count.name] = count

    def _show_events(self, query: exp.Expr) -> None:
        selects = self._selects(query)
        for select in selects:
            source = self._row_source(select)
            if source is None:
                self._show(select, ShownCount(EVENTS, text="1"))
            elif cube := self._cube(source):
                if cube.count_measure is None or cube.count_is_ambiguous:
                    raise _NotCounted
                self._show(select, ShownCount(EVENTS))
            else:
                self._show_events(self._query(source.relation))
                if not self._passes(select, selects):
                    column = _qualified(EVENTS, select, source)
                    text = f"COALESCE({column}, 1)" if nullable(select, source.index) else column
                    self._show(select, ShownCount(EVENTS, text=text))

    def _selects(self, query: exp.Expr) -> list[exp.Select]:
        selects: list[exp.Select] = []
        for select in _united_selects(query):
            if select is None:
                raise _NotCounted
            selects.append(select)
        return selects

    def _passes(self, select: exp.Select, united: Sequence[exp.Select]) -> bool:
        """Tests whether ``*`` passes on the columns that its relation also selects."""
        if not _shows_star(select):
            return False
        if len(united) > 1 or len(relations(select)) > 1:
            raise _NotCounted  # they would not stand in the positions of the columns of the other SELECTs
        return True

    def _row_source(self, select: exp.Select) -> _RowSource | None:
        """Returns the relation of a SELECT that has the rows of a cube with counted events; ``None`` where a row of
        the SELECT is one event.
        """
        if not any(cube.counters for cube in self._inlining.rows_of(select)):
            return None
        sources = [
            _RowSource(relation, index)
            for index, relation in enumerate(relations(select))
            if contributes(select, index) and self._inlining.rows_of(relation)
        ]
        if len(sources) != 1:
            raise _NotCounted
        return sources[0]

    def _cube(self, source: _RowSource) -> Cube | None:
        """Returns the cube that a relation is, directly or inlined; ``None`` for other relations."""
        table = source.relation if id(source.relation) in self._cubes else self._inlining.levels(source.relation)[0]
        return None if table is None else self._cubes[id(table)]

    # -- values ---------------------------------------------------------------------------------------------------

    def _check_value(self, value: exp.Expr, select: exp.Select, source: _RowSource) -> None:
        """Raises ``_NotCounted`` for a value of a SELECT that may differ between the events of a row of ``source``."""
        nodes = walk(value)
        if not all(is_scalar(node) and not isinstance(node, exp.Star) for node in nodes):
            raise _NotCounted
        generators = [node for view in select.args.get("laterals") or () for node in find_all(view.this, exp.Column)]
        computed = not isinstance(value.unnest(), exp.Column) or bool(generators)
        for column in (*(node for node in nodes if isinstance(node, exp.Column)), *generators):
            name = self._name_in(source, column, select)
            if name is not None:
                try:
                    self._check_column(name, source)
                except _NotCounted as reason:
                    raise _NotCounted(reason.measure, computed=reason.computed or computed) from None

    def _name_in(self, source: _RowSource, column: exp.Column, select: exp.Select) -> str | None:
        """Returns the column of ``source`` that a column of a SELECT is, or a field of; ``None`` for a column of
        another relation.
        """
        qualifier, name = column.table.lower(), column.name.lower()
        if qualifier:
            others = [*relations(select), *(select.args.get("laterals") or ())]
            if qualifier == source.alias.lower():
                return name
            if qualifier in {other.alias_or_name.lower() for other in others}:
                return None
            if qualifier not in self._columns.names(source.relation):
                raise _NotCounted
            return qualifier
        if name in self._columns.names(source.relation):
            return name
        if any(isinstance(item, exp.Alias) and item.alias.lower() == name for item in select.expressions):
            raise _NotCounted  # another item of the same list, perhaps
        return None

    def _check_column(self, name: str, source: _RowSource) -> None:
        cube = self._cube(source)
        if cube is None:
            query = self._query(source.relation)
            index = self._columns.position(name, source.relation)
            if (id(query), index) in self._certain:
                return
            for select in self._selects(query):
                inner = self._row_source(select)
                if inner is not None:
                    self._check_value(self._columns.value(select, index), select, inner)
            self._certain.add((id(query), index))
            return
        value = self._cube_value(name, source, cube)
        names = {column.name.lower() for column in find_all(value, exp.Column)}
        for measure in cube.measures:
            if measure.name.lower() in names:
                raise _NotCounted(measure, computed=not isinstance(value.unnest(), exp.Column))

    def _cube_value(self, name: str, source: _RowSource, cube: Cube) -> exp.Expr:
        """Returns a column of a cube's relation over the cube's own columns."""
        if id(source.relation) in self._cubes:
            return exp.column(name)
        levels = self._inlining.levels(source.relation)[1]
        value = levels[-1].output_values.get(name)
        if value is None:
            raise _NotCounted
        return value

    def _values_of(self, value: exp.Expr, select: exp.Select, source: _RowSource) -> _Values:
        """Returns the values of a column of ``source``; the SELECTs that it unites also select their number."""
        value = value.unnest()
        if not isinstance(value, exp.Column) or isinstance(value.this, exp.Star):
            raise _NotCounted
        name, cube = self._name_in(source, value, select), self._cube(source)
        if name is None or name != value.name.lower():
            raise _NotCounted
        if cube is None:
            return self._united_values(self._query(source.relation), self._columns.position(name, source.relation))
        column = self._cube_value(name, source, cube).unnest()
        if isinstance(column, exp.Column):
            for measure in cube.measures:
                if measure.name.lower() == column.name.lower():
                    if measure.counted_by and measure.aggregate is Aggregate.SUM:
                        return _Values(measure.type, measure, measure.counted_by)
                    raise _NotCounted(measure)
        raise _NotCounted

    def _united_values(self, query: exp.Expr, index: int) -> _Values:
        shown = f"rw_values_{index}"
        united: list[_Values] = []
        selects = self._selects(query)
        for select in selects:
            value, source = self._columns.value(select, index), self._row_source(select)
            if _is_null(value):
                united.append(_Values(_type_of_null(value), None, ""))
                self._show(select, ShownCount(shown, text="0"))
            elif source is None:
                type_, column = self._table_column(value, select)
                united.append(_Values(type_, None, ""))
                self._show(select, ShownCount(shown, text=f"CASE WHEN {column} IS NOT NULL THEN 1 ELSE 0 END"))
            else:
                values = self._values_of(value, select, source)
                united.append(values)
                if self._cube(source):
                    self._show(select, ShownCount(shown, measure=values.name))
                elif self._passes(select, selects):
                    shown = values.name
                else:
                    self._show(select, ShownCount(shown, text=_qualified(values.name, select, source)))
        measure = next((values.measure for values in united if values.measure is not None), None)
        if len({values.type for values in united if values.type}) > 1:
            raise _NotCounted(measure)  # the sum of the union's type may round otherwise than the average
        return _Values(measure.type if measure else "", measure, shown)

    def _table_column(self, value: exp.Expr, select: exp.Select) -> tuple[str, str]:
        """Returns the type and the text of an item that is a column of a table, perhaps through derived tables."""
        if not isinstance(value, exp.Column) or clauses(select) & {"group", "distinct", "laterals"}:
            raise _NotCounted
        name, sources = value.name.lower(), []
        for index, relation in enumerate(relations(select)):
            if value.table.lower() in ("", relation.alias_or_name.lower()) and contributes(select, index):
                names = self._columns.names(relation)
                if name in names:
                    sources.append((_RowSource(relation, index), names.index(name)))
        if len(sources) != 1:
            raise _NotCounted
        ((source, position),) = sources
        type_ = self._columns.type_in_table(source.relation, position)
        if type_ is None:
            query = self._query(source.relation)
            if not isinstance(query, exp.Select):
                raise _NotCounted
            type_ = self._table_column(self._columns.value(query, position), query)[0]
        return type_, _qualified(quote_identifier(value.name), select, source)


def _is_null(value: exp.Expr) -> bool:
    """Tests for NULL and a cast of it."""
    return isinstance(value.this if isinstance(value, exp.Cast) else value, exp.Null)


def _type_of_null(value: exp.Expr) -> str:
    return cast_type(value) if isinstance(value, exp.Cast) else ""


def _hides(reference: exp.Table) -> bool:
    """Tests whether the SELECT that reads a CTE shows only columns that it names."""
    select = reference.parent_select
    if select is None or _shows_star(select) or not any(relation is reference for relation in relations(select)):
        return False
    return not any(join.args.get("method") for join in select.args.get("joins") or ())


def _qualified(name: str, select: exp.Select, source: _RowSource) -> str:
    """Returns a column of a relation of a SELECT."""
    if len(relations(select)) == 1 and not select.args.get("laterals"):
        return name
    if not source.alias:
        raise _NotCounted
    return f"{quote_identifier(source.alias)}.{name}"


def _ambiguous(call: exp.Count | exp.CountIf | exp.Avg, cube: Cube, reason: _NotCounted) -> NotSupportedError:
    """Returns the error for COUNT or AVG over rows of a cube."""
    name, counter, measure = call.sql_name(), cube.count_measure, reason.measure
    hint = "Aggregate inside the subquery; repeat a shared CTE at each reference."
    counts = measure.counted_by if measure is not None else None
    if measure is not None and counts and not reason.computed:
        instead = f"SUM({counts})" if isinstance(call, exp.Count) else f"SUM({measure.name}) / SUM({counts})"
        hint = (
            f"Select {counts} in the subquery, and write {instead} instead of {name}. Otherwise, aggregate inside it."
        )
    elif isinstance(call, exp.Count) and counter is not None:
        hint = (
            f"Select {counter.name} in the subquery, and write SUM({counter.name}) instead of COUNT. Or aggregate in "
            "the subquery; repeat a shared CTE at each reference."
        )
    of = "" if measure is None else f" of the measure {measure.name}"
    return NotSupportedError(
        f"{name}{of} over a subquery of the cube {cube.name} that does more than project and filter it, or is a CTE "
        f"referenced more than once, would count rows, not {'events' if measure is None else 'values'}.",
        condition="AMBIGUOUS_COUNT",
        object=cube.name,
        hint=hint,
    )


# Derived tables whose rows COUNT and AVG take as events without inlining them: UNION ALL, and joins of a cube.
#
# Each SELECT of such a table also selects the number of events that a row of it stands for, and the number of values
# that an averaged measure of it sums. The block that counts adds these up.

#: The column with the number of events that a row stands for.
EVENTS = "rw_events"


@dataclass(frozen=True)
class ShownCount:
    """A column that a SELECT of a derived table also selects.

    ``measure`` is the measure of the SELECT's cube that it shows, ``text`` its SQL over the relations of the SELECT.
    Neither: the events of the cube's row.
    """

    name: str
    measure: str = ""
    text: str = ""


@dataclass(frozen=True)
class CountedAverage:
    """An AVG of a measure, and the column of the derived table with the number of values that a row of it sums."""

    call: exp.Avg
    measure: Measure
    values: str


@dataclass(frozen=True, eq=False)
class CountedRows:
    """A derived table and the block that counts its rows.

    ``counts`` and ``averages`` are the calls that become sums. ``nullable`` says that an outer join of the block may
    put NULLs in the table's place.
    """

    select: exp.Select
    alias: str
    nullable: bool
    counts: tuple[exp.Count | exp.CountIf, ...]
    averages: tuple[CountedAverage, ...]


def _counting_calls(select: exp.Select, relation: exp.Expr) -> list[exp.Count | exp.CountIf | exp.Avg]:
    """Returns the calls of COUNT and AVG in a block, or in a PIVOT of its relation, that depend on the number of
    rows.
    """
    kinds = (exp.Count, exp.CountIf, exp.Avg)
    pivots = relation.args.get("pivots") or ()
    nodes = (*own_nodes(select), *(node for pivot in pivots for node in descend(pivot)))
    return [node for node in nodes if isinstance(node, kinds) and not isinstance(node.this, exp.Distinct)]


def _find_row_counts(
    select: exp.Select, relation: exp.Expr, cubes: Iterable[Cube], *, are_single: bool
) -> list[tuple[exp.Count | exp.CountIf | exp.Avg, Cube]]:
    """Returns the calls that count rows of a relation, each with the first cube whose rows stand for several events.

    Rows that ``are_single`` are counted as such, but an average of them is still one of events.
    """
    calls_with_cubes = []
    for call in _counting_calls(select, relation):
        is_average = isinstance(call, exp.Avg)
        for cube in () if are_single and not is_average else cubes:
            if any(measure.counted_by for measure in cube.measures) if is_average else cube.counters:
                calls_with_cubes.append((call, cube))
                break
    return calls_with_cubes


def counts_all_rows(node: exp.Expr) -> bool:
    """Tests for COUNT(*) and COUNT(1)."""
    return isinstance(node, exp.Count) and not node.expressions and isinstance(node.this, exp.Star | exp.Literal)


def _shows_star(select: exp.Select) -> bool:
    """Tests whether a ``*`` of a block shows all columns of its relations."""
    stars = (node for node in own_nodes(select) if isinstance(node, exp.Star))
    return any(not isinstance(node.parent, exp.Count) for node in stars)


def _united_selects(query: exp.Expr) -> Iterator[exp.Select | None]:
    """Yields the SELECTs whose rows a query returns as they are; ``None`` for any other part of it."""
    stack = [query]
    while stack:
        node = stack.pop()
        if type(node) is exp.Union and clauses(node) <= {"this", "expression"}:
            stack += [node.expression, node.this]
        elif isinstance(node, exp.Subquery) and clauses(node) == {"this"}:
            stack.append(node.this)
        else:
            yield node if isinstance(node, exp.Select) and _returns_rows_as_read(node) else None


def _returns_rows_as_read(select: exp.Select) -> bool:
    """Tests for a SELECT whose items do not depend on the number of rows, and none of whose clauses on the positions of
    items.
    """
    group = select.args.get("group")
    by_position = group is not None and any(isinstance(node, exp.Literal) for node in walk(group))
    if by_position or clauses(select) & {"order", "sort", "cluster", "distribute", "with_"}:
        return False
    return not any(isinstance(node, exp.Func | exp.Window) and not _is_of_a_row(node) for node in own_nodes(select))


def _is_of_a_row(node: exp.Expr) -> bool:
    """Tests for a function that is the same for all events of a row, unlike a random number: a deterministic one, an
    aggregate, the generator of a LATERAL VIEW.
    """
    is_ours = isinstance(node, exp.Anonymous) and node.name.upper() == "TIME_RANGE_IN"
    return is_scalar(node) or is_ours or isinstance(node, exp.AggFunc) or isinstance(node.parent, exp.Lateral)


def clauses(node: exp.Expr) -> set[str]:
    """Returns the keys of the parts that a node has."""
    return {name for name, value in node.args.items() if value}
