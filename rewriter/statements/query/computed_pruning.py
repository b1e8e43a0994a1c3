"""Conditions on partition columns that must be computed. They are computed on the existing values, before files are
looked up.

The planner returns a filter for the partitions that a reference can need. It contains, as text, the conditions that
do not compare a column with a value, such as ``substr(dt, 1, 7) = '2024-01'``. This module computes them on the
values of the partitions that the rest of the filter leaves, and turns them into ranges of values. A condition that
cannot be computed excludes nothing, and EXPLAIN SCAN shows the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import count
from typing import TYPE_CHECKING

from rewriter.catalog.filters.predicates import (
    Computed,
    Fields,
    ScanFilter,
    Subquery,
    conditions,
    filter_of_results,
    replace_computed,
)
from rewriter.catalog.keys.encoding import NULL, decode_value
from rewriter.errors import DataError, Error, NotSupportedError
from rewriter.exec.duckdb.evaluate_predicate import evaluate_condition
from rewriter.grammar.terms import Query
from rewriter.planner.model.plan import Plan, Reading, TableUse
from rewriter.planner.plan_query import plan_query
from rewriter.terminal_text import counted

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Table
    from rewriter.planner.scope.blocks import CatalogReader
    from rewriter.runtime.prepared_queries import Prepared
    from rewriter.runtime.statement_context import Context

#: Prepares a query in a context.
Prepare = Callable[[Query, "Context"], "Prepared"]
#: The most combinations of values for which one condition is computed.
MOST_COMBINATIONS = 100_000
_COMPUTED = "computed: "
#: The names of the parameters that stand in a query for the values of its subqueries.
_VALUE = "rewriter_value_"
#: A subquery is computed first where a table has so many values on DuckDB, and on Spark, which starts a job for it.
_LEAST_COMBINATIONS = (4, 64)
#: It reads and returns so much at most.
_MOST_BYTES, _MOST_VALUES = 16 << 20, 10_000
#: The most conditions that are computed for one reference to a table.
_MOST_CONDITIONS = 40


def prune_by_computed_predicates(
    plan: Plan, query: Query, reader: CatalogReader, context: Context, prepare: Prepare
) -> Plan:
    """Returns the plan of a query with the filters of its readings settled. A plan without conditions to compute is
    returned unchanged. ``prepare`` prepares a subquery.

    Reads the keys that the rest of each filter leaves: about 10 µs each, and 1 µs for each combination of values.
    """
    if not any(_conditions(use) for reading in plan.readings for use in reading.uses):
        return plan
    values = _SubqueryValues(prepare, context)
    readings = tuple(_narrowed(reading, plan.parameters, values, context) for reading in plan.readings)
    pruned = replace(plan, readings=readings)
    return pruned if context.planning.derive else _with_values(pruned, query, values, reader, context, prepare)


def _with_values(
    plan: Plan, query: Query, values: _SubqueryValues, reader: CatalogReader, context: Context, prepare: Prepare
) -> Plan:
    """Returns the plan of a query with parameters in place of subqueries of one value that were computed, so that what
    they read is not read again; the plan itself if there are none.
    """
    text, parameters = query.text, dict(plan.parameters)
    for subquery, (value, *_) in values.computed.items():
        if not subquery.is_list and text.count(f"({subquery.text})") == 1:
            # The text may have parameters of the user, and of the subqueries that were replaced before.
            name = next(name for name in map(f"{_VALUE}{{}}".format, count()) if name not in text.lower())
            text, parameters[name] = text.replace(f"({subquery.text})", f"(:{name})"), value
    if text == query.text:
        return plan
    bound = Query(text, query.span)
    again = plan_query(bound, reader, context.planning, parameters)
    again = prune_by_computed_predicates(again, bound, reader, context, prepare)
    notes: dict[int, tuple[str, ...]] = {}
    for reading in plan.readings:
        for use in reading.uses:
            notes.setdefault(use.table.id, tuple(note for note in reading.notes if note.startswith(_COMPUTED)))
    settled = []
    for reading in again.readings:
        computed = [note for use in reading.uses for note in notes.pop(use.table.id, ())]
        settled.append(replace(reading, notes=(*reading.notes, *computed)))
    # The engine gets the values; EXPLAIN REWRITE shows the text with its subqueries.
    engine_template = again.template if again.engine_template is None else again.engine_template
    return replace(
        again, template=plan.template, edits=plan.edits, readings=tuple(settled), engine_template=engine_template
    )


def _narrowed(reading: Reading, parameters: Mapping[str, object], values: _SubqueryValues, context: Context) -> Reading:
    """Returns a reading with its filters settled. ``values`` keeps the values of the subqueries that are computed."""
    uses, notes = [], list(reading.notes)
    for use in reading.uses:
        evaluated = _conditions(use)
        if use.wanted is None or not evaluated:
            uses.append(use)
            continue
        if not use.table.kind.lists_partitions:
            # Its partitions are no rows of the catalog, so no values are available for the computation.
            left = replace_computed(use.wanted, {})
            uses.append(TableUse(use.table, None) if left is None else replace(use, wanted=left))
            notes += (
                f"not used: {condition.shown}: the catalog does not list the table's partitions"
                for condition in evaluated
            )
            continue
        left_out = len({condition for condition, _ in conditions(use.wanted)}) - len(evaluated)
        if left_out:
            notes.append(f"not used: {counted(left_out, 'further condition')}: at most {len(evaluated)} are computed")
        filters_by_condition: dict[Computed, ScanFilter] = {}
        for condition, combinations in _occurring(use.table, use.wanted, evaluated, context).items():
            condition_text = condition.shown
            if combinations is None:
                notes.append(
                    f"not used: {condition_text}: it has more than {MOST_COMBINATIONS:,} combinations of values"
                )
                continue
            # A condition that is TRUE for NULLs does not restrict a side of a join that may be absent.
            nulls = {(NULL,) * len(condition.indexes)} if evaluated[condition] else set()
            if condition.subqueries and len(combinations) < _LEAST_COMBINATIONS[context.engine_name == "spark"]:
                notes.append(f"not used: {condition_text}: there are few partitions")
                continue
            try:
                text, values_by_name = _bound(condition, values)
                truths = _truths(condition, text, combinations | nulls, use.table, {**parameters, **values_by_name})
            except Error as error:
                notes.append(f"not used: {condition_text}: {_reason(error)}")
                continue
            # A partition for which the condition fails is read, and the query fails as it would without any pruning.
            evaluated_filter = filter_of_results(
                condition, {fields: truth is not False for fields, truth in truths.items()}
            )
            if evaluated_filter is not None:
                filters_by_condition[condition] = evaluated_filter
            notes.append(f"{_COMPUTED}{condition_text}: {_counts([truths[fields] for fields in combinations])}")
            if any(truths[fields] is not False for fields in nulls):
                notes[-1] += ", and of NULLs, which represent rows without a match"
        left = replace_computed(use.wanted, filters_by_condition)
        uses.append(TableUse(use.table, None) if left is None else replace(use, wanted=left))
    return replace(reading, uses=tuple(uses), notes=tuple(notes))


def satisfying(
    condition: Computed, combinations: Collection[Fields], table: Table, context: Context, prepare: Prepare
) -> frozenset[Fields]:
    """Returns the combinations of fields of the condition's columns for which it is TRUE, not FALSE or NULL.

    Computes its subqueries first, whatever they read. Raises ``NotSupportedError`` UNDECIDED_CONDITION for what is not
    evaluated alike on both engines, ``DataError`` where it fails for a combination, and the errors of a subquery. 10 µs
    for each combination.
    """
    truths = dict[Fields, bool | None]()
    ordered = sorted(combinations)
    try:
        try:
            text, values = _bound(condition, _SubqueryValues(prepare, context, most_bytes=None))
        except Error as error:
            error.position = None  # It is one in the subquery.
            raise
        # The type of the condition is checked without partitions, too.
        for first in range(0, max(len(ordered), 1), MOST_COMBINATIONS):
            chunk = ordered[first : first + MOST_COMBINATIONS]
            truths |= _truths(condition, text, chunk, table, {**context.parameters, **values})
    except NotSupportedError as error:
        raise uncomputed(error) from None
    failed = next((fields for fields, truth in truths.items() if truth is None), None)
    if failed is not None:
        columns = [table.partition_columns[index] for index in condition.indexes]
        shown = (decode_value(column.type, field) for column, field in zip(columns, failed, strict=True))
        named = ", ".join(f"{column.name} = {value}" for column, value in zip(columns, shown, strict=True))
        raise DataError(
            f"The condition fails for partitions with {named}.",
            hint="Use try_cast, or exclude these partitions by a comparison with AND in front.",
        )
    return frozenset(fields for fields, truth in truths.items() if truth)


def uncomputed(error: NotSupportedError) -> NotSupportedError:
    """Returns the error UNDECIDED_CONDITION for a condition that is not computed, with the reason."""
    return NotSupportedError(
        f"The condition cannot be computed for partitions: {_reason(error).removesuffix('.')}.",
        condition="UNDECIDED_CONDITION",
        hint="Compare partition columns with values, as in WHERE dt IN ('2024-01-01'); a query shows them.",
    )


def _conditions(use: TableUse) -> dict[Computed, bool]:
    """Returns the conditions to compute for a use, each with whether to compute it for NULLs, too. Those after the
    first ones are ignored.
    """
    computed: dict[Computed, bool] = {}
    for condition, of_nulls in () if use.wanted is None else conditions(use.wanted):
        if condition in computed or len(computed) < _MOST_CONDITIONS:
            computed[condition] = computed.get(condition, False) or of_nulls
    return computed


def _occurring(
    table: Table, scan_filter: ScanFilter, evaluated: Iterable[Computed], context: Context
) -> dict[Computed, set[Fields] | None]:
    """Returns, for each condition, the combinations of its columns' fields in the partitions that may be needed.

    Returns ``None`` for a condition that has too many.
    """
    lookup = context.snapshot.lookup(table, replace_computed(scan_filter, {}))
    occurring: dict[Computed, set[Fields]] = {condition: set() for condition in evaluated}
    left = {condition: occurring[condition] for condition in evaluated}
    for key in lookup.found_keys():
        fields = lookup.fields_of(key)
        for condition, combinations in left.items():
            combinations.add(tuple(fields[index] for index in condition.indexes))
        if any(len(combinations) > MOST_COMBINATIONS for combinations in left.values()):
            left = {
                condition: combinations
                for condition, combinations in left.items()
                if len(combinations) <= MOST_COMBINATIONS
            }
            if not left:
                break
    return {condition: combinations if condition in left else None for condition, combinations in occurring.items()}


def _bound(condition: Computed, values_of: _SubqueryValues) -> tuple[str, dict[str, object]]:
    """Returns the text of a condition with parameters for the values of its subqueries, and these. Raises
    ``NotSupportedError`` for a subquery that reads much or returns many values, or NULL, and the subquery's errors.
    """
    text, parameters = condition.text, dict[str, object]()
    for subquery in condition.subqueries:
        values = values_of(subquery)
        names = [f"{subquery.name}_{number}" for number in range(len(values))]
        text = text.replace(f"(:{subquery.name})", f"({', '.join(f':{name}' for name in names)})")
        parameters |= zip(names, values, strict=True)
    return text, parameters


class _SubqueryValues:
    """The values of the subqueries in the conditions of one plan: ``computed`` are those that were computed."""

    def __init__(self, prepare: Prepare, context: Context, most_bytes: int | None = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        planning = replace(context.planning, certify=False, explain=False, derive=False, clocks=False)
        self._prepare, self._context = prepare, replace(context, planning=planning)
        self.computed: dict[Subquery, list[object]] = {}

    def __call__(self, subquery: Subquery) -> list[object]:
        """Returns the values of a subquery: at least one, and only one if it is no list."""
        if subquery not in self.computed:
            self.computed[subquery] = self._values(subquery)
        return self.computed[subquery]

    def _values(self, subquery: Subquery) -> list[object]:
        prepared = self._prepare(Query(subquery.text), self._context)
        tables = [use.table for use in prepared.plan.uses]
        if not all(table.kind.is_in_catalog for table in tables):
            raise NotSupportedError("its subquery reads a source that the catalog does not list")
        if any(column.type.lower().startswith("char") for table in tables for column in table.all_columns):
            raise NotSupportedError("its subquery reads a table with a CHAR column")
        size = sum(scan.bytes for scan in prepared.scans)
        if self._most_bytes is not None and size > self._most_bytes and not prepared.from_footers:
            raise NotSupportedError(f"its subquery reads {size:,} bytes")
        engine = self._context.on(prepared.route.cluster).engine()
        rows = engine.execute(prepared.query).read_all().column(0)
        try:
            values: list[object] = (rows.unique() if subquery.is_list else rows).to_pylist()
        except (OverflowError, ValueError):
            raise NotSupportedError("its subquery returns a time that is not of the years 1 to 9999") from None
        if not values or None in values:
            raise NotSupportedError("its subquery returns NULL, or no value")
        if len(values) > (_MOST_VALUES if subquery.is_list else 1):
            raise NotSupportedError(f"its subquery returns {counted(len(values), 'value')}")
        if not all(isinstance(value, str | int | date) for value in values):
            raise NotSupportedError("its subquery returns numbers that are not whole")
        return values


def _truths(
    condition: Computed, text: str, occurring: Iterable[Fields], table: Table, parameters: Mapping[str, object]
) -> dict[Fields, bool | None]:
    """Returns the truth of a condition, with the values of its subqueries in its text, for each combination. Raises the
    errors of ``evaluate_condition``.
    """
    columns = [table.partition_columns[index] for index in condition.indexes]
    combinations = sorted(occurring)
    rows = [
        tuple(decode_value(column.type, field) for column, field in zip(columns, fields, strict=True))
        for fields in combinations
    ]
    truths = evaluate_condition(text, condition.alias, columns, rows, parameters)
    return dict(zip(combinations, truths, strict=True))


def _counts(truths: Sequence[bool | None]) -> str:
    values = f"TRUE of {truths.count(True):,} of {counted(len(truths), 'value')}"
    failed = truths.count(None)
    return f"{values}, and fails for {failed:,}, which are read" if failed else values


def _reason(error: Error) -> str:
    """Returns why a condition is not computed; with Spark, too, DuckDB's list decides."""
    if error.condition != "DUCKDB_UNSUPPORTED":
        return error.message
    refused = error.message.removesuffix(".").removesuffix(" is not supported on DuckDB")
    reason = refused if refused[:2].isupper() else refused[:1].lower() + refused[1:]
    return f"{reason} is not in the list of expressions that both engines evaluate alike (docs/reference/duckdb.md)"
