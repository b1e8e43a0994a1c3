"""The sink of a statement's write, and the form of its files: packed, or by partition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.catalog.commit.reserved_properties import is_packed
from rewriter.errors import Error
from rewriter.exec.data_files import check_format
from rewriter.exec.engine import EngineQuery, Packing, input_bytes
from rewriter.exec.formats.registry import format_named
from rewriter.exec.sinks.choice import choose_sink
from rewriter.exec.sinks.sink_kinds import SinkChoice, SinkKind
from rewriter.planner.text.query_text import QueryText

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Table
    from rewriter.runtime.statement_context import Context
    from rewriter.statements.write.insert_target import Target

#: The longest query text that is searched for its source.
_LONGEST = 10_000
#: The most bytes of the files of a query for one task of Spark. Two tasks on two cores were not faster for 22 MB.
_ONE_TASK_BYTES = 32 << 20
#: The most tasks of Spark that each pack all partitions of their rows, and the most bytes that such tasks read: each of
#: them reads as much as Spark gives a task by itself. More tasks would scatter a partition over too many files.
_FEW_TASKS, _FEW_TASKS_BYTES = 16, 16 * (128 << 20)
#: Functions that return many rows for one.
_GENERATORS = frozenset({
    "explode", "explode_outer", "inline", "inline_outer", "json_tuple", "posexplode", "posexplode_outer", "stack",
})  # fmt: skip


def packing_of(table: Table, sink: SinkChoice) -> Packing | None:
    """Returns how a write packs the partitions of a table; ``None`` if each partition has files of its own."""
    if sink.kind in (SinkKind.SINGLE, SinkKind.UNGROUPED) or not is_packed(table):
        return None
    return Packing(table.partition_columns)


def grouped_sink(context: Context) -> SinkChoice:
    """Returns the sink of maintenance, whose rows are always sorted."""
    return SinkChoice(target_file_bytes=context.settings.target_file_bytes)


def sink_of(target: Target, query: EngineQuery, context: Context) -> SinkChoice:
    """Returns the sink of an INSERT of a query's rows. Starts no engine, and reads no file.

    ``query`` returns the provided columns of the target.
    """
    settings, table = context.settings, target.table
    has_many_tasks = context.engine_name == "spark"
    reads_little = has_many_tasks and _reads_little(query)
    has_few_tasks = has_many_tasks and is_packed(table) and _has_few_tasks(query)
    kind, reason = choose_sink(
        settings.sink,
        format_named(check_format(table.format)),
        lambda: most_partitions(target, query),
        is_static=target.is_static,
        is_packed=is_packed(table),
        has_many_tasks=has_many_tasks,
        reads_little=reads_little,
        has_few_tasks=has_few_tasks,
        max_open_writers=settings.max_open_writers,
    )
    most_tasks = None
    if reads_little and kind in (SinkKind.SINGLE, SinkKind.SORTED):
        most_tasks = 1
    elif has_few_tasks and kind is SinkKind.SORTED:
        most_tasks = _FEW_TASKS
    return SinkChoice(kind, reason, settings.target_file_bytes, settings.max_open_writers, most_tasks)


def _reads_little(query: EngineQuery) -> bool:
    """Tests whether a query is a SELECT from few bytes, so that one task of Spark can run it and write its rows."""
    return 0 < input_bytes(query) <= _ONE_TASK_BYTES and _keeps_rows(query)


def _has_few_tasks(query: EngineQuery) -> bool:
    """Tests whether a query is a SELECT from a relation that few tasks of Spark read."""
    read_bytes = input_bytes(query)
    for relation in query.relations:
        view = relation.view
        if view is not None:
            if view.bytes is None or view.tasks is None or view.tasks > _FEW_TASKS:
                return False
            read_bytes += view.bytes
    return 0 < read_bytes <= _FEW_TASKS_BYTES and _keeps_rows(query)


def _keeps_rows(query: EngineQuery) -> bool:
    """Tests whether a query is a SELECT that makes at most one row of each, without joins and such functions."""
    if len(query.relations) != 1 or len(query.sql) > _LONGEST:
        return False
    try:
        tree = QueryText(query.sql, lexed=query.tokens).tree
    except Error:
        return False
    calls = (node for node in tree.find_all(exp.Func))
    return _is_plain_select(tree, query.relations[0].name) and not any(
        (call.name if isinstance(call, exp.Anonymous) else call.sql_name()).lower() in _GENERATORS for call in calls
    )


def most_partitions(target: Target, query: EngineQuery) -> int | None:
    """Returns a bound of the number of partitions that a query writes; ``None`` if none is known.

    It is known where each dynamic partition column is a partition column of the only table of the query, a SELECT
    without joins, or a literal: the number of partitions that are read.
    """
    if len(query.relations) != 1 or len(query.sql) > _LONGEST:
        return None
    (relation,) = query.relations
    try:
        items = _items(QueryText(query.sql, lexed=query.tokens).tree, relation.name)
    except Error:
        return None
    if items is None:
        return None
    columns = [column.name.lower() for column in relation.all_columns]
    first = len(relation.columns)
    names = [name for item in items for name in (columns if item == "*" else [item])]
    if len(names) != len(target.provided):
        return None
    read: list[int] = []
    for column in target.dynamic:
        name = names[[provided.name for provided in target.provided].index(column.name)]
        if name is None:
            continue
        if name not in columns[first:]:
            return None
        read.append(columns.index(name, first) - first)
    return len({tuple([file.values[index] for index in read]) for file in relation.files})


def _is_plain_select(tree: exp.Expr, relation: str) -> bool:
    """Tests whether a query is a SELECT from a relation, without joins."""
    if not isinstance(tree, exp.Select) or tree.args.get("joins") or tree.args.get("laterals"):
        return False
    source = tree.args.get("from_")
    table = source.this if isinstance(source, exp.From) else None
    return isinstance(table, exp.Table) and table.name.lower() == relation.lower() and not table.args.get("pivots")


def _items(tree: exp.Expr, relation: str) -> list[str | None] | None:
    """Returns the names of the columns that a SELECT from one relation returns: ``*`` is all, ``None`` a literal, and
    an empty text another expression. Returns ``None`` for another query.
    """
    if not _is_plain_select(tree, relation) or tree.args["from_"].this.alias_column_names:
        return None
    items: list[str | None] = []
    for item in tree.expressions:
        value = item.this if isinstance(item, exp.Alias) else item
        if isinstance(value, exp.Star) and not value.args.get("except_") and not value.args.get("replace"):
            items.append("*")
        elif isinstance(value, exp.Column) and isinstance(value.this, exp.Identifier):
            items.append(value.name.lower())
        else:
            items.append(None if isinstance(value, exp.Literal) else "")
    return items
