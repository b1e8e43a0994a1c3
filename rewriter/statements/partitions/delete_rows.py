"""DELETE FROM: removes whole partitions, those for whose values the condition is TRUE.

No data file is opened or changed. A condition that partitions do not decide is refused, with the INSERT OVERWRITE that
keeps the other rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewriter.catalog.filters.predicates import replace_computed
from rewriter.catalog.keys.paths import is_discovered, not_registered
from rewriter.catalog.model.changes import DropPartitions, TruncatePartitions
from rewriter.catalog.model.key_ranges import merge_ranges
from rewriter.catalog.model.objects import seen_from
from rewriter.errors import AnalysisError, EngineError, Error, NotSupportedError
from rewriter.grammar.families.deletes import Delete
from rewriter.grammar.unparse import name_text, quote_name
from rewriter.planner.partition_condition import PartitionCondition, partition_condition
from rewriter.runtime.result import Result
from rewriter.runtime.statement_runners import runs
from rewriter.statements.query.computed_pruning import satisfying, uncomputed
from rewriter.statements.query.select import prepare
from rewriter.statements.write.commit_policies import remove_success_files_now
from rewriter.timeline.calendars import UTC

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Fact, Partition, Table
    from rewriter.catalog.reading.partition_lookup import Lookup
    from rewriter.grammar.terms import Query
    from rewriter.runtime.statement_context import Context

#: The most columns that the refusal lists; it leaves more out.
_MOST_COLUMNS = 40
_KIND = "DELETE"


@runs(Delete, in_transaction=True)
def delete_from(statement: Delete, context: Context) -> Result:
    """DELETE FROM t [WHERE …]: drops the partitions for which the condition is TRUE; ``rowcount`` is the number of
    their rows, -1 where the catalog does not know it.

    A table without partition columns, and a table that has base partitions of a fact, keep their partitions, without
    rows, as after TRUNCATE. External tables keep their files. A concurrent write conflicts if it falls into the key
    ranges that were searched. Raises UNDECIDED_CONDITION and the errors of ``partition_condition``.
    """
    table = context.table(statement.table)
    fact = context.snapshot.fact_using(table.name)
    if is_discovered(table):
        raise not_registered(table).at(statement.table.span)
    is_emptied = not table.partition_columns or _has_base(fact, table)
    if table.external and is_emptied:
        raise _external(table, fact).at(statement.table.span)
    try:
        found = _found(statement, table, fact, context)
    except Error as error:
        raise error.at(statement.span if statement.where is None else statement.where.span) from None
    if found is None:
        return Result(_KIND, rowcount=0)
    lookup, partitions = found
    if is_emptied:
        partitions = [partition for partition in partitions if partition.files]
    if not partitions:
        return Result(_KIND, rowcount=0)
    keys, ranges = tuple(sorted(partition.key for partition in partitions)), merge_ranges(lookup.ranges)
    change = TruncatePartitions(table, keys, ranges) if is_emptied else DropPartitions(table, keys, ranges)
    with context.begin() as transaction:
        try:
            transaction.commit([change])
        except Error as error:
            raise error.at(statement.table.span) from None
    if not is_emptied:
        remove_success_files_now(table, [partition.values for partition in partitions], context)
    rows = [partition.rows for partition in partitions]
    counted = sum(count for count in rows if count is not None) if None not in rows else -1
    return Result(_KIND, rowcount=counted, warnings=_warnings(table, fact, is_emptied, len(partitions)))


def _has_base(fact: Fact | None, table: Table) -> bool:
    stored = None if fact is None else fact.storage_table(table.name)
    return fact is not None and stored is not None and fact.has_base_in(stored)


def _external(table: Table, fact: Fact | None) -> NotSupportedError:
    whose = "" if fact is None else f", which has the events of the fact {fact.name},"
    return NotSupportedError(
        f"The files of the external table {table.name}{whose} belong to the user: DELETE does not remove their rows.",
        condition="TRUNCATE_EXTERNAL_TABLE",
        object=table.name,
        hint="Remove the files where they are written."
        if not table.partition_columns
        else "ALTER TABLE … DROP PARTITION (…) removes partitions, and keeps their files and rollups.",
    )


def _warnings(table: Table, fact: Fact | None, is_emptied: bool, partitions: int) -> tuple[str, ...]:
    amount = "1 partition" if partitions == 1 else f"{partitions:,} partitions"
    if table.external:
        return (
            f"The files of {amount} of the external table {table.name} stay; MSCK REPAIR TABLE would add them again.",
        )
    if fact is not None and is_emptied:
        return (
            f"{table.name} has the events of the fact {fact.name}: without the rows of {amount}, rollups over this "
            "time are outdated. ALTER TABLE … DROP PARTITION removes old events and keeps their rollups.",
        )
    return ()


def _found(
    statement: Delete, table: Table, fact: Fact | None, context: Context
) -> tuple[Lookup, list[Partition]] | None:
    """Returns the partitions for which the condition is TRUE, and the look-up that found them; ``None`` if the
    condition is a constant that is not TRUE.
    """
    if statement.where is None:
        return _all(table, context)
    calendar = UTC if fact is None else fact.calendar
    name, planning = name_text(statement.table), context.planning
    condition = partition_condition(
        table, name, statement.alias, statement.where, planning, context.parameters, calendar
    )
    if condition.row_column is not None:
        raise _of_rows(statement, statement.where, table, condition, context)
    if condition.constant is not None:
        return _all(table, context) if _is_true(condition.constant, context) else None
    wanted = None if condition.wanted is None else replace_computed(condition.wanted, {})
    lookup = context.snapshot.lookup(table, wanted)
    partitions = list(lookup.partitions())
    computed = condition.computed
    if computed is not None:
        fields_by_key = {
            partition.key: tuple(lookup.fields_of(partition.key)[index] for index in computed.indexes)
            for partition in partitions
        }
        satisfied = satisfying(computed, set(fields_by_key.values()), table, context, prepare)
        partitions = [partition for partition in partitions if fields_by_key[partition.key] in satisfied]
    return lookup, partitions


def _all(table: Table, context: Context) -> tuple[Lookup, list[Partition]]:
    lookup = context.snapshot.lookup(table, None)
    return lookup, list(lookup.partitions())


def _is_true(constant: str, context: Context) -> bool:
    from rewriter.exec.duckdb.evaluate_predicate import constant_value, no_condition
    from rewriter.exec.sql_types import BOOLEAN, VOID

    try:
        type_, value = constant_value(constant, context.parameters)
    except EngineError as error:
        raise AnalysisError(error.message) from None
    except NotSupportedError as error:
        raise uncomputed(error) from None
    if type_ not in (BOOLEAN, VOID):
        raise no_condition(type_)
    return value is True


def _of_rows(
    statement: Delete, where: Query, table: Table, condition: PartitionCondition, context: Context
) -> NotSupportedError:
    """Returns the refusal of a condition about rows, with the statement that does its work: it keeps the rows for which
    the condition is FALSE or NULL.
    """
    fixed = condition.fixed or {}
    values = [
        f"{quote_name(column.name)} = {fixed[index]}"
        for index, column in enumerate(table.partition_columns)
        if index in fixed
    ]
    is_one = 0 < len(values) == len(table.partition_columns)
    columns = table.columns if is_one else table.all_columns
    listed = ", ".join(quote_name(column.name) for column in columns) if len(columns) <= _MOST_COLUMNS else "…"
    name, kept = name_text(statement.table), f"({where.text}) IS NOT TRUE"
    source = f"{name}{'' if statement.alias is None else f' AS {quote_name(statement.alias)}'}"
    if is_one:
        kept = f"{' AND '.join(values)} AND {kept}"
        insert = f"INSERT OVERWRITE {name} PARTITION ({', '.join(values)}) SELECT {listed} FROM {source} WHERE {kept}"
    elif table.external and table.partition_columns:
        names = ", ".join(f"{quote_name(column.name)} = …" for column in table.partition_columns)
        insert = f"INSERT OVERWRITE {name} PARTITION ({names}) SELECT … FROM {source} WHERE … AND {kept}"
    else:
        insert = f"INSERT OVERWRITE {name} SELECT {listed} FROM {source} WHERE {kept}"
        mode = "rewriter.partition_overwrite_mode"
        if table.partition_columns and context.settings.get(mode) != "static":
            insert = f"SET {mode} = static; {insert}; SET {mode} = {context.settings.get(mode)}"
    shown = seen_from(context.snapshot.current, table.name)
    return NotSupportedError(
        f"DELETE removes whole partitions, and {condition.row_column} is no partition column of {shown}.",
        condition="UNDECIDED_CONDITION",
        object=condition.row_column,
        hint=f"Write the rows that stay: {insert}.",
    )
