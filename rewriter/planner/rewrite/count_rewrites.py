"""COUNT and AVG over a cube as sums of the measure that counts, written into the user's text, and casts of aggregates
that have another type over wider rollups.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.catalog.model.wider_types import INTEGERS, decimal_digits, decimal_sum
from rewriter.errors import InternalError, NotSupportedError, Span
from rewriter.grammar.unparse import quote_name
from rewriter.planner.model.plan import quote_identifier
from rewriter.planner.rewrite.additivity import Additivity, AvgCall, CountCall, TypedCall
from rewriter.planner.rewrite.union_arms import Extra, arm_column
from rewriter.planner.scope.counted_relations import EVENTS, CountedRows, ShownCount, counts_all_rows
from rewriter.planner.scope.item_names import item_name_edits
from rewriter.planner.scope.joins import relations
from rewriter.planner.scope.projections import descend
from rewriter.planner.text.query_text import Copied, Edit, Part, QueryText

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Cube, Measure
    from rewriter.planner.scope.blocks import Block, CubeSource
    from rewriter.planner.scope.inlining import Level


def aggregate_edits(
    text: QueryText,
    select: exp.Select,
    cube: Cube,
    additivity: Additivity,
    counters: Counters,
    widened: Collection[str],
) -> list[Edit]:
    """Returns the edits of all COUNT and AVG calls of a block, and of SUM, MIN and MAX where their type would change;
    an unaliased item of the select list that they change keeps its name. ``widened`` are the measures that have a wider
    type in some rollups. Raises ``NotSupportedError`` AMBIGUOUS_COUNT where the cube does not say which measure counts
    events.
    """
    edits: list[Edit] = []
    for count in additivity.counts:
        if cube.count_is_ambiguous:
            raise _ambiguous(text, count, cube)
        edits += _count_edits(text, count, counters.of_events())
    for average in additivity.averages:
        counter = counters.column(str(average.measure.counted_by))
        edits.append(_average_edit(text, average, counter, widened=average.measure.name in widened))
    typed_calls = [call for call in additivity.typed if call.measure.name in widened]
    for call in typed_calls:
        edits += _typed_edits(text, call)
    changed_calls = {id(count.node) for count in additivity.counts} | {id(call.node) for call in additivity.averages}
    changed_calls |= {id(call.node) for call in typed_calls}
    types = [*((column.name, column.type) for column in cube.dimensions), *((m.name, m.type) for m in cube.measures)]
    integers = {name.lower() for name, type_ in types if type_ in INTEGERS}
    return [*edits, *_kept_names(text, select, changed_calls, integers)]


def shown_edits(text: QueryText, block: Block, counters: Counters | None = None) -> list[Edit]:
    """Returns the edit that makes a block also select counts of its rows. ``counters`` are its cube's counters."""
    if not block.shown:
        return []
    items = [(_shown(count, counters), count.name) for count in block.shown]
    position, shown = text.select_list(block.select), " and ".join(value for value, _ in items)
    inserted = "".join(f"{value} AS {name}, " for value, name in items)
    return [Edit(Span(position, position), (inserted,), f"a subquery also selects {shown}")]


def _shown(count: ShownCount, counters: Counters | None) -> str:
    if count.text or counters is None:
        return count.text
    return counters.column(count.measure) if count.measure else counters.of_events()


def counted_rows_edits(text: QueryText, counted: CountedRows) -> list[Edit]:
    """Returns the edits of the block that counts the events of a derived table."""
    is_only_relation = len(relations(counted.select)) == 1 and not counted.select.args.get("laterals")
    qualifier = "" if is_only_relation else f"{quote_identifier(counted.alias)}."
    events = f"COALESCE({qualifier}{EVENTS}, 1)" if counted.nullable else f"{qualifier}{EVENTS}"
    edits: list[Edit] = []
    for count in counted.counts:
        edits += _count_edits(text, CountCall(count, None if counts_all_rows(count) else count.this), events)
    for average in counted.averages:
        call = AvgCall(average.call, average.measure)
        edits.append(_average_edit(text, call, f"{qualifier}{average.values}", widened=False))
    changed_calls = {id(node) for node in (*counted.counts, *(average.call for average in counted.averages))}
    return [*edits, *_kept_names(text, counted.select, changed_calls)]


def _kept_names(
    text: QueryText, select: exp.Select, changed_calls: Collection[int], integers: Collection[str] = ()
) -> Iterator[Edit]:
    """Returns the edits that keep the names of unaliased items with calls that change."""
    return item_name_edits(
        text,
        select,
        lambda item, _: any(id(node) in changed_calls for node in (item, *descend(item))),
        integers=integers,
    )


def _ambiguous(text: QueryText, call: CountCall, cube: Cube) -> NotSupportedError:
    return NotSupportedError(
        ambiguity(cube),
        condition="AMBIGUOUS_COUNT",
        position=text.place(text.call(call.node)[0]),
        object=cube.name,
        hint=f"{declaration_hint(cube)} Otherwise, sum the intended measure.",
    )


def _count_edits(text: QueryText, call: CountCall, events: str) -> list[Edit]:
    span, argument_span = text.call(call.node)
    end = _end_of_call(text, span)
    closing: list[Edit] = []
    if end > span.end:
        closing.append(Edit(Span(end, end), (", 0)",)))
        tail = ""
    else:
        tail = ", 0)"
    if call.argument is None:
        description = f"{text.text[span.start : span.end]} becomes the sum of {events}"
        return [Edit(span, (f"COALESCE(SUM({events}){tail}",), description), *closing]
    start = argument_span.start
    first = text.tokens[text.index_at(call.node.meta["start"]) + 2]
    if first.is_word("ALL"):
        start = first.end
    test = "" if isinstance(call.node, exp.CountIf) else " IS NOT NULL"
    description = (
        f"{text.text[span.start : span.end]} becomes the sum of {events} where it is {'not NULL' if test else 'true'}"
    )
    return [
        Edit(Span(span.start, start), ("COALESCE(SUM(CASE WHEN (",), description),
        Edit(Span(argument_span.end, span.end), (f"){test} THEN {events} END){tail}",)),
        *closing,
    ]


def _typed_edits(text: QueryText, call: TypedCall) -> list[Edit]:
    span, _ = text.call(call.node)
    end, type_name = _end_of_call(text, span), call.type.upper()
    description = f"{text.text[span.start : span.end]} keeps its type {type_name}"
    return [
        Edit(Span(span.start, span.start), ("CAST(",), description),
        Edit(Span(end, end), (f" AS {type_name})",)),
    ]


def _average_edit(text: QueryText, call: AvgCall, counter: str, *, widened: bool) -> Edit:
    """``widened`` says that the measure has a wider type in some rollups."""
    span, argument_span = text.call(call.node)
    end = _end_of_call(text, span)
    # A FILTER and an OVER belong to both sums.
    suffix = (Copied(Span(span.end, end)),) if end > span.end else ()
    argument_tokens = [token for token in text.within(argument_span) if not token.is_word("ALL")]
    argument = Span(argument_tokens[0].start, argument_tokens[-1].end)
    description = (
        f"{text.text[span.start : span.end]} becomes SUM({text.text[argument.start : argument.end]}) / SUM({counter})"
    )
    count: tuple[Part, ...] = (f"NULLIF(SUM({counter})", *suffix, ", 0)")
    digits = decimal_digits(call.measure.type)
    if digits is not None:
        total: tuple[Part, ...] = ("SUM(", Copied(argument), ")", *suffix)
        if widened:
            total = ("CAST(", *total, f" AS {decimal_sum(*digits).upper()})")
        return Edit(Span(span.start, end), _decimal_average(text, call, digits, span, total, count), description)
    # Spark's AVG of BIGINT has no overflow: it sums doubles. Decimals are exact whatever the order of the rows.
    is_integer = call.measure.type == "bigint"
    opening, closing = ("CAST(SUM(CAST(", " AS DECIMAL(20,0)))") if is_integer else ("SUM(", ")")
    total = (opening, Copied(argument), closing, *suffix, *((" AS DOUBLE)",) if is_integer else ()))
    return Edit(Span(span.start, end), ("(", *total, " / ", *count, ")"), description)


#: The digits of the number of values that a DECIMAL is averaged over. The CAST fails for more values.
_COUNT_DIGITS = 12
#: The longest scale, and the most digits before the point, for which all intermediate results fit in 38 digits.
_MAX_AVERAGED_SCALE, _MAX_AVERAGED_DIGITS = 9, 18


def _decimal_average(
    text: QueryText,
    call: AvgCall,
    digits: tuple[int, int],
    span: Span,
    total: tuple[Part, ...],
    count: tuple[Part, ...],
) -> tuple[Part, ...]:
    """Returns the quotient of a decimal sum and a count, exact and then rounded half up once, as AVG rounds.

    A division of decimals rounds to a scale that follows from the types, and a second rounding to the average's scale
    could differ. So the whole part is divided exactly, and only the remainder's quotient is rounded: it is short enough
    to have more than ``_COUNT_DIGITS`` digits behind the average's, where no quotient that is not half is rounded up to
    half.
    """
    precision, scale = digits
    if scale > _MAX_AVERAGED_SCALE or precision - scale > _MAX_AVERAGED_DIGITS:
        raise NotSupportedError(
            f"AVG of the {call.measure.type.upper()} measure {call.measure.name} is not supported: its sums have too "
            "many digits.",
            position=text.place(span),
            object=call.measure.name,
            hint=f"Write SUM({call.measure.name}) / SUM({call.measure.counted_by}).",
        )
    divisor: tuple[Part, ...] = ("CAST(", *count, f" AS DECIMAL({_COUNT_DIGITS},0))")
    rest: tuple[Part, ...] = (*total, " % ", *divisor)
    rest_type = f"DECIMAL({_COUNT_DIGITS + scale + 4},{scale + 4})"
    return (
        "CAST(CAST((", *total, " - ", *rest, ") / ", *divisor, f" AS DECIMAL({precision - scale + 1},0)) + ",
        "CAST(CAST(", *rest, f" AS {rest_type}) / ", *divisor, f" AS DECIMAL({scale + 5},{scale + 4}))",
        f" AS DECIMAL({precision + 4},{scale + 4}))",
    )  # fmt: skip


def _end_of_call(text: QueryText, span: Span) -> int:
    """Returns the end of a call, including its FILTER and OVER clauses."""
    index = text.index_at(text.within(span)[-1].start)
    while index + 2 < len(text.tokens) and text.tokens[index + 1].is_word("FILTER", "OVER"):
        has_parenthesis = text.tokens[index + 2].is_operator("(")
        index = text.closing(index + 2) if has_parenthesis else index + 2
    return text.tokens[index].end


# Names for the counting measures in a block: columns that its query need not have mentioned.
#
# Such a column is visible through an inlined subquery only if the subquery passes it on. It is therefore added to the
# select lists on the way.

#: The column of a relation that counts events and is never NULL: NULL means that the relation is absent.
_PRESENT = "rw_events"


class Counters:
    """Names for the counting measures of one source in its block; ``edits`` make them visible.

    ``nullable`` says that an outer join may put NULLs in the source's place; such a row counts one.
    """

    def __init__(self, text: QueryText, block: Block, source: CubeSource, *, nullable: bool) -> None:
        self._text = text
        self._block = block
        self._source = source
        self._is_nullable = nullable
        self.edits: list[Edit] = []
        #: Columns that the relation must offer besides the cube's.
        self.extras: dict[str, Extra] = {}
        self._names: dict[str, str] = {}
        self._names_in_extras: set[str] = set()

    @property
    def measures(self) -> tuple[str, ...]:
        """The cube's measures that are read."""
        return tuple(self._names)

    @property
    def relation_measures(self) -> tuple[str, ...]:
        """The cube's measures that are read as columns of the relation, not through ``extras``."""
        return tuple(name for name in self._names if name not in self._names_in_extras)

    @property
    def presence_name(self) -> str:
        """``_PRESENT``, or a name like it that the cube does not have."""
        return self._unused_name(_PRESENT)

    def _unused_name(self, name: str) -> str:
        used_names = {column.lower() for column in self._source.cube.column_order}
        while name in used_names:
            name += "_"
        return name

    def of_events(self) -> str:
        """Returns an expression for the number of events that a row of the block represents."""
        cube = self._source.cube
        measure = cube.count_measure
        if measure is None:
            raise InternalError("a cube without a COUNT measure has no events to sum")
        if not self._is_nullable:
            return self.column(measure.name)
        present = self.presence_name
        if present not in self.extras:
            name = measure.name
            self.extras[present] = lambda arm: f"COALESCE({arm_column(arm, name, cube)}, 0)"
            self._names_in_extras.add(name)
            self._names[name] = self._visible(present)
        return f"COALESCE({self._qualified(self._names[measure.name])}, 1)"

    def column(self, name: str) -> str:
        """Returns a measure of the cube as the block may write it."""
        if name not in self._names:
            visible = self._visible(name)
            if visible.lower() in self._outputs():
                # ORDER BY and HAVING would find the output column of that name.
                extra = self._unused_name(f"rw_{name.lower()}")
                cube = self._source.cube
                self.extras[extra] = lambda arm: arm_column(arm, name, cube)
                self._names_in_extras.add(name)
                visible = self._visible(extra)
            self._names[name] = visible
        return self._qualified(self._names[name])

    def _outputs(self) -> set[str]:
        """Returns the output columns that ORDER BY and the like may name, in lower case."""
        select = self._block.select
        if not any(select.args.get(key) for key in ("order", "having", "sort", "cluster", "distribute", "qualify")):
            return set()
        return {item.alias.lower() for item in select.expressions}

    def _qualified(self, visible: str) -> str:
        """Returns a column of the source, qualified where another source may have the name."""
        is_only_source = not self._block.others and len(self._block.cubes) == 1
        quoted = quote_identifier(visible)
        return (
            quoted if is_only_source or not self._source.alias else f"{quote_identifier(self._source.alias)}.{quoted}"
        )

    def _visible(self, name: str) -> str:
        """Returns the name under which the block sees a column of the cube; select lists that hide it are extended."""
        hidden_names = [name] if name in self.extras else []
        for level in self._source.levels:
            if level.passes_all and not _names(level, name):
                continue
            passed_name = None if level.passes_all else _passed_name(level, name)
            if passed_name is None:
                passed_name, edits = self._extend_select(level, name)
                self.edits += edits
                hidden_names.append(passed_name)
            name = passed_name
        if hidden_names and self._shown_by_star():
            raise NotSupportedError(
                "COUNT and AVG with * are not supported over a subquery or an outer join of a cube.",
                position=self._text.place(self._source.span),
                object=self._source.cube.name,
                hint="Name the columns instead of *.",
            )
        return name

    def _shown_by_star(self) -> bool:
        """Tests whether a ``*`` of the block would show the added columns."""
        for node in self._block.original_nodes:
            if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
                if node.table.lower() == self._source.alias.lower():
                    return True
            elif isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count | exp.Column):
                return True
        return False

    def _extend_select(self, level: Level, name: str) -> tuple[str, list[Edit]]:
        position = self._text.select_list(level.select)
        fresh = name if name.startswith("rw_") else f"rw_{name.lower()}"
        while fresh in {*level.output_values, *(name.name.lower() for names in level.column_lists for name in names)}:
            fresh += "_"
        qualifier = f"{quote_identifier(level.alias)}." if level.alias else ""
        item = f"{qualifier}{quote_identifier(name)} AS {quote_identifier(fresh)}"
        edits = [Edit(Span(position, position), (f"{item}, ",), f"a subquery also selects {item}")]
        for column_list in level.column_lists:
            start = column_list[0].meta["start"]
            edits.append(Edit(Span(start, start), (f"{quote_identifier(fresh)}, ",)))
        return fresh, edits


def _names(level: Level, name: str) -> bool:
    """Tests whether a subquery gives the name to a column of its own, beside ``*``."""
    return any(item.alias_or_name.lower() == name.lower() for item in level.select.expressions)


def _passed_name(level: Level, name: str) -> str | None:
    """Returns the name under which a subquery passes a column of its relation on, if it does."""
    if level.column_lists:
        return None
    for item in level.select.expressions:
        column = item.unalias()
        is_own = isinstance(column, exp.Column) and column.table.lower() in ("", level.alias.lower())
        if is_own and column.name.lower() == name.lower():
            return str(item.alias_or_name)
    return None


# Messages for COUNT over a cube that declares COUNT measures and does not say which of them counts its events.


def ambiguity(cube: Cube) -> str:
    """Explains in a sentence why the cube's count is ambiguous (``count_is_ambiguous``)."""
    candidates = cube.event_counters
    if candidates:
        names = " and ".join(measure.name for measure in candidates)
        return f"Each of {names} may count the events of the cube {cube.name}."
    counters = ", ".join(f"{measure.name} counts the values of {_counted(cube, measure)}" for measure in cube.counters)
    return f"No measure of the cube {cube.name} is known to count its events: {counters}."


def declaration_hint(cube: Cube) -> str:
    """Returns the declaration that says which measure counts events, as a hint."""
    measure = (cube.event_counters or cube.counters)[0]
    not_null = " NOT NULL" if measure.not_null else ""
    declared = f"{quote_name(measure.name)} {measure.type.upper()} MEASURE COUNT EVENTS{not_null}"
    return f"Mark the measure for COUNT(*) in CREATE CUBE, as in: {declared}."


def _counted(cube: Cube, counter: Measure) -> str:
    """Returns the nullable measures whose values a measure counts."""
    names_by_table = (
        measure
        for measure in cube.measures
        if measure.counted_by and measure.counted_by.lower() == counter.name.lower()
    )
    return " and ".join(measure.name for measure in names_by_table if not measure.not_null)
