"""The relation that replaces a cube in a query: one SELECT per storage table, joined by UNION ALL.

A table that holds several periods is read once: its arms become one SELECT, with a CASE where their columns differ.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.catalog.model.json_codec import damaged
from rewriter.catalog.model.objects import (
    CONSTRUCTORS,
    KINDS_OF_ORDER,
    Aggregate,
    Column,
    Cube,
    Measure,
    Table,
    TableKind,
)
from rewriter.catalog.model.wider_types import widest
from rewriter.grammar.lexer import tokens
from rewriter.planner.cover.arms import Arm
from rewriter.planner.cover.secondary_times import layout_of
from rewriter.planner.model.plan import ReasonKind, TableToken, quote_identifier
from rewriter.planner.rewrite.additivity import Objection
from rewriter.planner.scope.blocks import Block, CubeSource, inner_queries
from rewriter.planner.scope.deterministic import called_code, what_it_does
from rewriter.planner.scope.inlining import is_marked
from rewriter.planner.text.literals import date_literal, string_literal, timestamp_literal
from rewriter.planner.text.sqlglot_trees import find_all, one_of
from rewriter.planner.zones.zoned_expressions import start_of
from rewriter.timeline.calendars import ZonedPeriod
from rewriter.timeline.layouts import DATE, STRING, TIMESTAMP, TimeLayout

if TYPE_CHECKING:
    from rewriter.planner.scope.column_lineage import Columns
    from rewriter.timeline.timeline import OrdinalRange

#: The expression of a column over the table of an arm.
Extra = Callable[[Arm], str]
#: The most ranges of an arm that shares a SELECT with other arms of its table.
_MOST_SHARED_RANGES = 16


def relation(
    arms: Sequence[Arm],
    cube: Cube,
    columns: Sequence[str],
    extras: Mapping[str, Extra] | None = None,
    unread: Sequence[str] = (),
    time: int | None = None,
    lone_tables: Collection[int] = (),
) -> list[str | TableToken]:
    """``(SELECT … UNION ALL SELECT …)`` over the arms, with ``columns`` of the cube in that order; without arms an
    empty relation. ``extras`` are further columns, by name: each returns its expression over an arm's table.
    ``unread`` are columns of the cube that the text names and the query does not read: they are NULL. With ``time``, an
    instant, the leading time of all rows is this one. All rows of ``lone_tables`` (identities) are of the arms.
    """
    if not arms:
        return [f"({_empty(cube, (*columns, *unread), extras or ())})"]
    parts: list[str | TableToken] = ["("]
    stored_types = {id(arm): _stored_types(arm, cube) for arm in arms}
    types = _measure_types([*stored_types.values()], cube)

    def typed_column(arm: Arm, name: str) -> str:
        """Returns the value of a column in an arm's rows, with the type that it has in the relation."""
        if time is not None and name.lower() == cube.times[0].lower():
            return timestamp_literal(time)
        value, type_ = arm_column(arm, name, cube), types.get(name.lower())
        if type_ is None or type_ == stored_types[id(arm)].get(name.lower()):
            return value
        return f"CAST({value} AS {type_.upper()})"

    for index, scan in enumerate(scans(arms)):
        if index:
            parts.append(" UNION ALL ")
        predicates = [_predicate(arm) for arm in scan]
        items = [_item(name, [typed_column(arm, name) for arm in scan], predicates) for name in columns]
        items += [_item(name, [extra(arm) for arm in scan], predicates) for name, extra in (extras or {}).items()]
        items += [_null(cube, name) for name in unread]
        parts += [f"SELECT {', '.join(items)} FROM ", TableToken(scan[0].table)]
        if scan[0].table.id not in lone_tables:
            either = predicates[0] if len(scan) == 1 else " OR ".join(f"({predicate})" for predicate in predicates)
            parts.append(f" WHERE {either}")
    return [*parts, ")"]


def scans(arms: Sequence[Arm]) -> list[list[Arm]]:
    """Returns the arms that one SELECT reads. Arms of one table share it, unless an arm has many ranges, which a CASE
    would repeat.
    """
    scans_by_table: dict[str, list[Arm]] = {}
    others: list[list[Arm]] = []
    for arm in arms:
        if len(arm.ranges) + sum(len(selection.ranges) for selection in arm.secondary_selections) > _MOST_SHARED_RANGES:
            others.append([arm])
        else:
            scans_by_table.setdefault(arm.table.name, []).append(arm)
    return [*scans_by_table.values(), *others]


def tables_read_once(*unions: Sequence[Arm]) -> frozenset[int]:
    """Returns the managed tables of unions of arms that one SELECT reads. An engine is given the rows of it alone."""
    tables = [scan[0].table for arms in unions for scan in scans(arms)]
    places = Counter(table.id for table in tables)
    return frozenset(table.id for table in tables if table.kind is TableKind.MANAGED and places[table.id] == 1)


def _item(name: str, values: Sequence[str], predicates: Sequence[str]) -> str:
    """Returns a column of a SELECT over several arms, from its values and the predicates of the arms."""
    value = values[0]
    if len(set(values)) > 1:
        branches = zip(predicates, values, strict=True)
        value = f"CASE {' '.join(f'WHEN {predicate} THEN {value}' for predicate, value in branches)} END"
    column_name = quote_identifier(name)
    return column_name if value == column_name else f"{value} AS {column_name}"


def _measure_types(stored: Sequence[Mapping[str, str]], cube: Cube) -> dict[str, str]:
    """Returns the type of each measure in the relation, by name in lower case: the type in the cube, or the widest type
    in the rollups, whose types are ``stored``. Base rows may have a narrower one.
    """
    names = [measure.name.lower() for measure in cube.measures]
    declared = {measure.name.lower(): measure.type for measure in cube.measures}
    return {name: widest([declared[name], *(types[name] for types in stored if name in types)]) for name in names}


def _stored_types(arm: Arm, cube: Cube) -> dict[str, str]:
    """Returns the types of an arm's columns, by name in lower case. Measures of events have the cube's types."""
    if arm.storage_table.raw is not None:
        return {measure.name.lower(): measure.type for measure in cube.measures}
    return {column.name.lower(): column.type for column in arm.table.columns}


def arm_column(arm: Arm, name: str, cube: Cube) -> str:
    """Returns the value of a column of the cube in an arm's rows."""
    if arm.storage_table.raw is not None:
        return raw_expression(arm.storage_table.raw, arm.table, cube, name)
    return partition_column(arm, name, cube)


def partition_column(arm: Arm, name: str, cube: Cube) -> str:
    """Returns a column of the cube in a table of which all rows of a partition have one time, the start of its period:
    that time, and other columns by their names.
    """
    period = cube.calendar.of(arm.layout.period)
    if name.lower() == arm.storage_table.time.lower():
        start = "CAST(NULL AS TIMESTAMP)" if arm.null_time else _start_expression(arm.layout)
    elif any(name.lower() == other.time.lower() for other in arm.storage_table.others):
        start = _start_expression(layout_of(arm.storage_table, name, period))
    else:
        return quote_identifier(name)
    if isinstance(period, ZonedPeriod):
        ordinals = arm.ordinals(name)
        start = start_of(period, start, ordinals) if ordinals else "CAST(NULL AS TIMESTAMP)"
    return start


def _empty(cube: Cube, columns: Sequence[str], extras: Iterable[str]) -> str:
    items = [_null(cube, name) for name in columns]
    items += [f"CAST(NULL AS BIGINT) AS {quote_identifier(name)}" for name in extras]
    return f"SELECT {', '.join(items)} WHERE 1 = 0"


def _null(cube: Cube, name: str) -> str:
    return f"CAST(NULL AS {_type_name(cube, name)}) AS {quote_identifier(name)}"


def _start_expression(layout: TimeLayout) -> str:
    """Returns the first instant of a partition's period, as Spark SQL over the layout's columns; in a zone, its wall
    time.
    """
    if len(layout.parts) == 1 and layout.parts[0].type in (DATE, TIMESTAMP):
        # A cast of a TIMESTAMP to itself costs nothing, and leaves no doubt.
        return f"CAST({quote_identifier(layout.parts[0].column)} AS TIMESTAMP)"
    if all(part.type == STRING and not set("'qw") & set(part.pattern) for part in layout.parts):
        names = [quote_identifier(part.column) for part in layout.parts]
        text = names[0] if len(names) == 1 else f"concat({', '.join(_separated(names))})"
        pattern = " ".join(part.pattern for part in layout.parts)
        return f"to_timestamp({text}, {string_literal(pattern)})"
    fields = _field_expressions(layout)
    if "ww" in fields:
        # Week 1 of an ISO year is the one with January 4th.
        first = f"date_trunc('week', make_timestamp({fields['YYYY']}, 1, 4, 0, 0, 0))"
        return f"timestampadd(DAY, ({fields['ww']} - 1) * 7, {first})"
    month = fields.get("MM", f"{fields['q']} * 3 - 2" if "q" in fields else "1")
    parts = [fields["yyyy"], month, fields.get("dd", "1"), fields.get("HH", "0"), fields.get("mm", "0"), "0"]
    return f"make_timestamp({', '.join(parts)})"


def _separated(names: Sequence[str]) -> list[str]:
    parts = [names[0]]
    for name in names[1:]:
        parts += ["' '", name]
    return parts


def _field_expressions(layout: TimeLayout) -> dict[str, str]:
    """Returns each field's number, cut out of the values by position (all values of a layout are of fixed width)."""
    expressions: dict[str, str] = {}
    for index, part in enumerate(layout.parts):
        column, fields = quote_identifier(part.column), layout.fields(index)
        for letters, start, width in fields:
            if part.type == DATE:
                expressions[letters] = f"{_DATE_PARTS[letters]}({column})"
            elif part.is_number:
                digits_after = sum(other for _, position, other in fields if position > start)
                number = f"({column} DIV {10**digits_after})" if digits_after else column
                expressions[letters] = f"CAST({number}{f' % {10**width}' if start else ''} AS INT)"
            else:
                expressions[letters] = f"CAST(substring({column}, {start + 1}, {width}) AS INT)"
    return expressions


_DATE_PARTS = {"yyyy": "year", "MM": "month", "dd": "day"}


def _predicate(arm: Arm) -> str:
    """Returns the predicate of an arm: ranges of plain literals on the partition columns, and a test of the values'
    shape where periods share the table.
    """
    source = _hidden_source(arm)
    if source is not None:
        return _source_predicate(arm, source)
    columns = _columns(arm.layout)
    other_predicates = [_time_predicate(other.layout, other.ranges) for other in arm.secondary_selections]
    if arm.null_time:
        return " AND ".join([f"{columns[0]} IS NULL", *other_predicates])
    # Numbers of different periods have different lengths, so that none lies in a range of the others.
    shapes = (
        f"{column} RLIKE {string_literal(arm.layout.regex(i))}"
        for i, column in enumerate(columns)
        if arm.layout.parts[i].type == STRING
    )
    predicates = [_time_predicate(arm.layout, arm.ranges), *(shapes if len(arm.storage_table.layouts) > 1 else ())]
    return " AND ".join([*predicates, *other_predicates])


def _hidden_source(arm: Arm) -> Column | None:
    """Returns the column of events from which their hidden partition column is computed; ``None`` without one."""
    named = (column for column in arm.table.partition_columns if column.name.lower() == arm.layout.columns[0].lower())
    transform = next(named).transform
    if transform is None:
        return None
    return next(column for column in arm.table.columns if column.name.lower() == transform.source.lower())


def _source_predicate(arm: Arm, source: Column) -> str:
    """Returns the predicate of an arm whose partition column no query sees: its value follows from the source."""
    name = quote_identifier(source.name)
    if arm.null_time:
        return f"{name} IS NULL"
    literal = date_literal if source.type == "date" else timestamp_literal
    period = arm.layout.period
    ranges = [
        f"{name} >= {literal(period.start(ordinals.start))} AND {name} <= {literal(period.start(ordinals.end) - 1)}"
        for ordinals in arm.ranges
    ]
    return ranges[0] if len(ranges) == 1 else "(" + " OR ".join(f"({range_})" for range_ in ranges) + ")"


def _columns(layout: TimeLayout) -> list[str]:
    return [quote_identifier(part.column) for part in layout.parts]


def _time_predicate(layout: TimeLayout, wanted: Sequence[OrdinalRange]) -> str:
    ranges = [_range(_columns(layout), layout, ordinals) for ordinals in wanted]
    return ranges[0] if len(ranges) == 1 else "(" + " OR ".join(f"({range_})" for range_ in ranges) + ")"


def _range(columns: Sequence[str], layout: TimeLayout, ordinals: OrdinalRange) -> str:
    first, last = (_literals(layout, ordinal) for ordinal in (ordinals.start, ordinals.end - 1))
    if not layout.text_ordered and first != last:
        # The values' own order differs from the order of time.
        start, end = (timestamp_literal(layout.period.start(o)) for o in (ordinals.start, ordinals.end - 1))
        return f"{_start_expression(layout)} BETWEEN {start} AND {end}"
    if first == last:
        return " AND ".join(f"{column} = {value}" for column, value in zip(columns, first, strict=True))
    return f"{_bounded(columns, first, '>')} AND {_bounded(columns, last, '<')}"


def _literals(layout: TimeLayout, ordinal: int) -> list[str]:
    """Returns the period's values as literals of the columns' own types, so that no cast hides a column."""
    values = zip(layout.parts, layout.values(ordinal), strict=True)
    return [value if part.is_number else _WORDS.get(part.type, "") + string_literal(value) for part, value in values]


_WORDS = {DATE: "DATE ", TIMESTAMP: "TIMESTAMP "}


def _bounded(columns: Sequence[str], values: Sequence[str], op: str) -> str:
    """``columns >= values`` (or ``<=``) in the order of rows: first column first."""
    if len(columns) == 1:
        return f"{columns[0]} {op}= {values[0]}"
    remaining = _bounded(columns[1:], values[1:], op)
    return f"({columns[0]} {op} {values[0]} OR ({columns[0]} = {values[0]} AND {remaining}))"


# The columns of a cube in a table that is declared RAW, where each row is an event: SQL over the table's columns.


def raw_expression(expressions: Mapping[str, str], table: Table, cube: Cube, name: str) -> str:
    """Returns a column of the cube for one event, with the cube's type.

    It is the expression that the fact declares for it, or the table's column of its name. A COUNT measure without
    either is 1; one that counts the values of other measures is 1 where these are not NULL. The table has been checked
    against the cube (``define.raw_tables``). Raises ``OperationalError`` DAMAGED_CATALOG for an expression that runs
    code: CREATE FACT refuses it, so another program wrote it into the catalog.
    """
    type_name = _type_name(cube, name)
    expression = next((sql for column, sql in expressions.items() if column.lower() == name.lower()), None)
    if expression is not None:
        problem = _problem(expression)
        if problem is not None:
            raise damaged(f"the column '{name}' of the table '{table.name}' in a fact", name, f"it {problem}")
        argument = constructed_value(expression, cube, name)
        if argument is not None:
            # All rows of the window have the value: the sketch is that of one event.
            return f"{expression[: expression.index('(')].strip()}({argument}) OVER (PARTITION BY {argument})"
        return f"CAST({expression} AS {type_name})"
    # A partition column is no count of events: facts of earlier versions may have one of that name.
    columns = table.columns if is_count(cube, name) else table.all_columns
    stored_column = next((column for column in columns if column.name.lower() == name.lower()), None)
    if stored_column is not None:
        column_name = quote_identifier(stored_column.name)
        is_same = stored_column.type.upper() == type_name
        return column_name if is_same else f"CAST({column_name} AS {type_name})"
    counted = counted_measures(cube, name)
    if not counted:
        return f"CAST(1 AS {type_name})"
    values = [raw_expression(expressions, table, cube, measure.name) for measure in counted]
    are_absent = " OR ".join(f"{value} IS NULL" for value in values)
    return f"CAST(CASE WHEN {are_absent} THEN 0 ELSE 1 END AS {type_name})"


def constructed_value(expression: str, cube: Cube, name: str) -> str | None:
    """Returns ``x`` where the expression of a measure THETA_UNION is ``theta_sketch_agg(x)``: an event has the sketch
    of one value. So has a measure BITMAP_OR the bitmap of one position. ``None`` for any other expression.
    """
    measure = next((measure for measure in cube.measures if measure.name.lower() == name.lower()), None)
    function = None if measure is None else CONSTRUCTORS.get(measure.aggregate)
    listed = tokens(expression)
    if function is None or len(listed) < 4 or not listed[0].is_word(function.upper()) or not listed[1].is_operator("("):
        return None
    depth = 0
    for position, token in enumerate(listed[1:], start=1):
        depth += token.is_operator("(") - token.is_operator(")")
        if depth == 0:
            return expression[listed[2].start : listed[-2].end] if position == len(listed) - 1 else None
    return None


def values_of_events(arms: Sequence[Arm], cube: Cube, measures: Sequence[Measure]) -> dict[int, str]:
    """Returns the SQL of the values of which events give measures sketches or bitmaps, by the measure's number.

    Measures of arms that are no events, or that have different values, are left out.
    """
    values: dict[int, str] = {}
    for number, measure in enumerate(measures):
        texts = set()
        for arm in arms:
            raw = {column.lower(): sql for column, sql in (arm.storage_table.raw or {}).items()}
            expression = raw.get(measure.name.lower())
            texts.add(None if expression is None else constructed_value(expression, cube, measure.name))
        text = texts.pop() if len(texts) == 1 else None
        if text is not None:
            values[number] = text
    return values


def columns_of_values(values: Mapping[int, str]) -> dict[str, Extra]:
    """Returns the columns rw_value0, … of ``relation`` for values of events, by number."""

    def column(value: str) -> Extra:
        return lambda _arm: value

    return {f"rw_value{number}": column(value) for number, value in values.items()}


@lru_cache(maxsize=1024)
def _problem(expression: str) -> str | None:
    code = called_code(tokens(expression))
    return None if code is None else what_it_does(code)


def has_own_values(expressions: Mapping[str, str], table: Table, name: str) -> bool:
    """Tests whether a column of the cube is an expression of the fact or a column of the table. A COUNT measure without
    either is never NULL.
    """
    columns = {*map(str.lower, expressions), *(column.name.lower() for column in table.all_columns)}
    return name.lower() in columns


def counted_measures(cube: Cube, name: str) -> list[Measure]:
    """Returns the measures that may be NULL and whose values a COUNT measure counts; none if it counts events."""
    return [
        measure
        for measure in cube.measures
        if measure.counted_by is not None and measure.counted_by.lower() == name.lower() and not measure.not_null
    ]


def is_count(cube: Cube, name: str) -> bool:
    """Tests whether a column of the cube is a COUNT measure."""
    return any(m.name.lower() == name.lower() and m.aggregate is Aggregate.COUNT for m in cube.measures)


def _type_name(cube: Cube, name: str) -> str:
    types = {column.name.lower(): column.type for column in cube.dimensions}
    types |= {measure.name.lower(): measure.type for measure in cube.measures}
    return types.get(name.lower(), "timestamp").upper()


# Dimensions whose equality merges values that a query can distinguish, as ``CAST(f AS STRING)`` does 0.0 and -0.0.
#
# GROUP BY keeps one of several equal values, and so does a rollup. It may serve where such a dimension is grouped,
# compared or selected as it is; whatever else is done with it needs base rows. So do MIN and MAX, which return a
# value of some row.

#: FLOAT and DOUBLE have two zeros, MAP an order of its entries; so has what holds them. The name of a field, which a
#: colon follows, is not a type.
_MERGING = re.compile(r"\b(float|double|map)\b(?!:)")

_compares = one_of(
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In, exp.Between
)  # fmt: skip
_groups = one_of(exp.Group, exp.GroupingSets, exp.Cube, exp.Rollup, exp.Grouping, exp.GroupingId)


def _is_merging(type_: str) -> bool:
    """Tests whether two values of a type, in the catalog's spelling, may be equal and yet distinguishable.

    ``double`` and ``array<float>`` are, ``string`` is not.
    """
    return _MERGING.search(type_) is not None


def merged_uses(
    block: Block,
    source: CubeSource,
    columns: Columns,
    nodes: Iterable[exp.Expr],
    correlated: Iterable[tuple[exp.Column, exp.Expr]],
) -> Iterator[Objection]:
    """Returns the uses of such dimensions of one cube in a block that need base rows.

    ``nodes`` are the block's own and the conditions inlined with the reference, ``correlated`` the columns in
    subqueries that may be the cube's, with the values that they represent.
    """
    dimensions = {column.name.lower() for column in source.cube.dimensions if _is_merging(column.type)}
    if dimensions:
        yield from _Uses(block, source, columns, dimensions).found(nodes, correlated)


class _Uses:
    def __init__(self, block: Block, source: CubeSource, columns: Columns, dimensions: set[str]) -> None:
        self._block = block
        self._source = source
        self._columns = columns
        self._dimensions = dimensions
        offered = {name: value for name, value in source.columns.items() if self._reads(value)}
        #: A value computed on a dimension, not the dimension itself.
        self._computed = {name for name, value in offered.items() if not isinstance(value, exp.Column)}
        self._names = dimensions | set(offered)
        cubes = {cube.alias.lower() for cube in block.cubes}
        self._relations = cubes | {relation.alias.lower() for relation in block.others}
        items = block.effective.expressions
        self._aliases = {item.alias.lower() for item in items if isinstance(item, exp.Alias) and self._is(item.this)}

    def found(
        self, nodes: Iterable[exp.Expr], correlated: Iterable[tuple[exp.Column, exp.Expr]]
    ) -> Iterator[Objection]:
        for node in nodes:
            if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
                yield from self._object_to_column(node)
            elif isinstance(node, exp.Column | exp.Star):
                yield from self._object_to_star(node)
        for name in sorted(self._block.joined_names & self._computed):
            yield _objection(name, self._block.effective)
        for column, value in correlated:
            if self._reads(value) and not (isinstance(value, exp.Column) and _is_compared(column)):
                yield _objection(column.name, column)
        for query in inner_queries(self._block.select, self._block.original_nodes):
            yield from (_objection(part.name, part) for part in find_all(query, exp.Column) if self._is_field(part))

    def _object_to_column(self, column: exp.Column) -> Iterator[Objection]:
        """Yields an objection if a column is such a dimension, but not used as it is, or a field of one."""
        if self._is(column) or self._is_output(column):
            if not _as_it_is(column):
                yield _objection(column.name, column.parent or column)
        elif self._is_field(column):
            yield _objection(column.name, column)

    def _object_to_star(self, star: exp.Column | exp.Star) -> Iterator[Objection]:
        """Yields an objection for each computed value that a ``*`` of the select list shows."""
        is_output = isinstance(star.parent, exp.Select) and (isinstance(star, exp.Star) or self._columns.owned(star))
        yield from (_objection(name, star) for name in sorted(self._computed) if is_output)

    def _is(self, node: exp.Expr) -> bool:
        """Tests whether a node of the block is such a dimension."""
        return isinstance(node, exp.Column) and node.name.lower() in self._dimensions and self._columns.owned(node)

    def _is_output(self, column: exp.Column) -> bool:
        """Tests whether a name may denote an item of the select list that is such a dimension."""
        return not column.table and column.name.lower() in self._aliases

    def _is_field(self, column: exp.Column) -> bool:
        """Tests whether a name may denote a field within such a dimension."""
        names = [part.name.lower() for part in column.parts]
        if names[0] in self._relations:
            del names[0]
        return len(names) > 1 and names[0] in self._names

    def _reads(self, value: exp.Expr) -> bool:
        """Tests whether a value that the source offers, or a subquery reads, is computed from such a dimension."""
        return any(
            is_marked(marked) and marked.name.lower() in self._dimensions for marked in find_all(value, exp.Column)
        )


def _objection(name: str, node: exp.Expr) -> Objection:
    text = (
        f"{name} has equal values that can be distinguished, and is used for more than grouping, "
        "comparison or selection"
    )
    return Objection(ReasonKind.MERGED_VALUES, text, node)


def _as_it_is(column: exp.Column) -> bool:
    """Tests whether a column is grouped, ordered, counted, compared or selected unchanged."""
    node = _outermost(column)
    parent = node.parent
    if isinstance(parent, exp.Alias):
        node, parent = parent, parent.parent
    if isinstance(parent, exp.Select):
        return node.arg_key == "expressions"
    if isinstance(parent, exp.Window):
        return node.arg_key == "partition_by"
    if isinstance(parent, exp.Distinct):
        return isinstance(parent.parent, exp.Count)
    if isinstance(parent, exp.Tuple):
        # A set of GROUPING SETS.
        return _is(_groups, _outermost(parent).parent)
    return isinstance(parent, exp.Ordered | exp.Count) or _is(_groups, parent) or _is(_compares, parent)


def _is_compared(column: exp.Column) -> bool:
    return _is(_compares, _outermost(column).parent)


def _is(kinds: Callable[[type[exp.Expr]], bool], node: exp.Expr | None) -> bool:
    return node is not None and kinds(type(node))


def _outermost(node: exp.Expr) -> exp.Expr:
    """Returns the node in its parentheses."""
    while isinstance(node.parent, exp.Paren):
        node = node.parent
    return node


# Measures rolled up, as Spark SQL.


def rolled_up(measures: Sequence[Measure], number: int, value: Callable[[int], str], edge: str) -> str:
    """Returns a measure rolled up, as Spark SQL. ``value`` returns the SQL of a measure by its number, and ``edge`` is
    what ``edge_of`` computes for a LAST or FIRST one: of values with the same time, LAST takes the greatest, and FIRST
    the least one.
    """
    measure = measures[number]
    if measure.ordered_by is None:
        precision = "" if measure.precision is None else f", {measure.precision}"
        return f"{measure.aggregate.rollup_function}({value(number)}{precision})"
    time = value(_number_of(measures, measure.ordered_by))
    return f"{KINDS_OF_ORDER[measure.aggregate].value}(CASE WHEN {time} = {edge} THEN {value(number)} END)"


def constructed(measure: Measure, value: str) -> str:
    """Returns a measure as Spark SQL of values of events, of a kind that ``CONSTRUCTORS`` has."""
    precision = "" if measure.precision is None else f", {measure.precision}"
    return f"{CONSTRUCTORS[measure.aggregate]}({value}{precision})"


def edge_of(measures: Sequence[Measure], number: int, value: Callable[[int], str], groups: str) -> str | None:
    """Returns the newest or oldest time of a LAST or FIRST measure in the group of a row; ``None`` for the others."""
    measure = measures[number]
    if measure.ordered_by is None:
        return None
    time = value(_number_of(measures, measure.ordered_by))
    return f"{KINDS_OF_ORDER[measure.aggregate].value}({time}) OVER (PARTITION BY {groups})"


def _number_of(measures: Sequence[Measure], name: str) -> int:
    (number,) = (n for n, measure in enumerate(measures) if measure.name.lower() == name.lower())
    return number
