"""Appends rows that a program hands over: ``connection.append``."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from rewriter.catalog.model.changes import Batch, PartitionWrite, WritePartitions
from rewriter.catalog.model.objects import Column
from rewriter.catalog.model.proofs import BY_APPEND
from rewriter.errors import AnalysisError, DataError, InterfaceError, NotSupportedError
from rewriter.exec.arrow_input import batches_of, spool
from rewriter.exec.data_files import stored_rows
from rewriter.exec.engine import EngineQuery, Relation, ScanFile, WrittenFile
from rewriter.exec.spark.session_kinds import check_frame, is_spark_frame
from rewriter.exec.sql_types import arrow_type, decimal, parse_type
from rewriter.grammar.families.writes import Insert
from rewriter.grammar.terms import Name, Query
from rewriter.runtime.program_statements import Append
from rewriter.runtime.result import Result
from rewriter.runtime.statement_runners import runs
from rewriter.runtime.transaction_errors import not_in_transaction
from rewriter.scratch_directories import ScratchDirectory
from rewriter.statements.resolve.type_trees import TypeTree, type_tree
from rewriter.statements.write.auto_compact import compact_after
from rewriter.statements.write.commit_policies import with_batch
from rewriter.statements.write.insert import retry_on_conflict, write_external, write_rows
from rewriter.statements.write.insert_target import Target, check_columns, named_target, read_target
from rewriter.statements.write.managed_write import WriteChange, group_files, rows_of, stats_of, write_managed

if TYPE_CHECKING:
    import pyarrow as pa

    from rewriter.catalog.model.objects import Table
    from rewriter.runtime.statement_context import Context


@runs(Append, in_transaction=True, writes=lambda statement: (statement.table,))
def append(statement: Append, context: Context) -> Result:
    """Appends rows by the names of their columns, as INSERT … BY NAME does, and with its errors.

    A batch whose id was committed to the table before is skipped: the result has 0 rows and a warning. The data is
    written twice: first as it is, then into partitions. Afterwards the partitions are compacted, where the table asks
    for it.
    """
    table = context.table(statement.table)
    if statement.batch_id is not None:
        _check_batch(statement.batch_id, table, context)
        if context.catalog.has_batch(table, statement.batch_id):
            return _skipped(statement.batch_id, table)
    with _rows(statement.data, table, statement.batch_id is not None, context) as rows:
        result, files = retry_on_conflict(lambda now: _append(statement, rows, now), True, context)
    return replace(result, warnings=(*result.warnings, *compact_after(statement.table, files, context)))


@contextmanager
def _rows(data: Any, table: Table, has_id: bool, context: Context) -> Iterator[Relation]:
    """The rows of data as a relation: those of a DataFrame of Spark in place if the engine is of its Spark, else as a
    file of Arrow data. If they have an id, a reader without rows is an error: it would spend the id.
    """
    if is_spark_frame(data):
        check_frame(data)
        columns = tuple(
            Column(field.name, _type_of_frame(table, field.name, field.dataType.simpleString()))
            for field in data.schema.fields
        )
        view = context.engine().view_of_frame(data, columns)
        if view is not None:
            try:
                yield Relation("", "parquet", columns, (), (), view=view)
            finally:
                context.engine().forget_frame(data)
            return
        data = data.toArrow()
    batches = batches_of(data)
    spooled = ScratchDirectory("append")
    try:
        path, columns = spool(batches, spooled.path, partial(_type_of, table))
        if has_id and batches is data and not stored_rows("parquet", path):
            raise InterfaceError(
                "This RecordBatchReader has no rows; one that was read before has none left.",
                hint="Make a new one. A batch without rows is a Table: schema.empty_table().",
            )
        yield Relation("", "parquet", columns, (), (ScanFile(path, (), os.path.getsize(path)),))
    finally:
        spooled.remove()


def _type_of_frame(table: Table, name: str, type_: str) -> str:
    """Returns the type that a column of a DataFrame is read as: a time without a zone is one of UTC, and a column of
    NULL has the type of the table's.
    """
    if type_ == "void":
        return next((column.type for column in table.all_columns if column.name.lower() == name.lower()), "string")
    return "timestamp" if type_ == "timestamp_ntz" else type_


def _type_of(table: Table, field: pa.Field) -> pa.DataType:
    column = next((column for column in table.all_columns if column.name.lower() == field.name.lower()), None)
    return field.type if column is None else with_types(field.type, type_tree(column.type))


def _check_batch(id: str, table: Table, context: Context) -> None:
    if not id:
        raise DataError("The id of a batch is empty.", condition="INVALID_BATCH_ID", hint="Leave batch_id out.")
    if context.transaction is not None:
        raise not_in_transaction("An append with a batch_id commits automatically")
    if table.external:
        raise NotSupportedError(
            f"The external table {table.name} cannot take a batch at most once: its files appear before the commit.",
            object=table.name,
            hint="Use a managed table, or leave batch_id out.",
        )


def _skipped(id: str, table: Table) -> Result:
    warning = f"The batch {id} was committed to {table.name} before: nothing was written."
    return Result("APPEND", rowcount=0, warnings=(warning,))


def _append(statement: Append, rows: Relation, context: Context) -> tuple[Result, tuple[WrittenFile, ...]]:
    started = time.perf_counter()
    table, id = context.table(statement.table), statement.batch_id
    if id is not None and context.catalog.has_batch(table, id):
        return _skipped(id, table), ()
    files = append_rows(statement.table, rows, None if id is None else Batch(id), context)
    return Result("APPEND", rowcount=rows_of(files), stats=stats_of(files, time.perf_counter() - started)), files


def append_rows(name: Name, rows: Relation, batch: Batch | None, context: Context) -> tuple[WrittenFile, ...]:
    """Appends the rows of a relation to a table, by the names of the columns. The commit notes the batch. Raises the
    errors of INSERT … BY NAME.
    """
    table = context.table(name)
    target = _target(name, table, rows.columns)
    relation = replace(rows, name=f"rw_{next(context.serial)}_rows")
    query = EngineQuery(target.arranged(f"SELECT * FROM {relation.name}"), (relation,))

    def fill(folder: str) -> tuple[WrittenFile, ...]:
        return write_rows(query, target, folder, context)

    if table.external:
        return write_external(target, False, fill, context)
    return write_managed(table, fill, partial(_changes, target, batch, context), (), context)


def _target(name: Name, table: Table, columns: Sequence[Column]) -> Target:
    try:
        target = named_target(read_target(Insert(table=name, query=Query("")), table), columns, name.span)
        check_columns(target, columns, name.span)
    except AnalysisError as error:
        error.message = error.message.replace("the query", "the data")
        error.hint = "Give the columns the names and types of the table's: pyarrow.Table.rename_columns, cast, select."
        raise
    return target


def _changes(
    target: Target, batch: Batch | None, context: Context, write_id: int, files: Sequence[WrittenFile]
) -> Sequence[WriteChange]:
    """Returns the changes that append the rows of a batch: the partitions with rows, and the note of the batch."""
    partitions = group_files(files)
    changes: list[WriteChange] = []
    if partitions:
        writes = tuple([PartitionWrite(values, data_files) for values, data_files in partitions.items()])
        changes.append(WritePartitions(target.table, write_id, writes, overwrite=False, doubt=BY_APPEND))
    return changes if batch is None else with_batch(changes, target.table, batch, files, context)


# The types of Arrow data in which only NULLs occur: ``null``, ``list<null>``, ``struct<a: null>``.


def with_types(type_: pa.DataType, declared: TypeTree) -> pa.DataType:
    """Returns an Arrow type in which the types of a column take the place of ``null``, at any depth.

    Other types stay, and so does ``null`` where the column has another structure, or a type without values in Arrow.
    Fields of structs are found by their names in any case.

    Example: ``list<null>`` in a column of type ``array<struct<a:int>>`` is ``list<struct<a: int32>>``.
    """
    import pyarrow as pa

    if pa.types.is_null(type_):
        return _arrow_type(declared)
    parts = [part for _, part in declared.parts]
    is_list = pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_)
    if is_list and declared.name == "array":
        return pa.list_(pa.field("element", with_types(type_.value_type, parts[0])))
    if pa.types.is_map(type_) and declared.name == "map":
        return pa.map_(with_types(type_.key_type, parts[0]), with_types(type_.item_type, parts[1]))
    if pa.types.is_struct(type_) and declared.name == "struct":
        by_name = {name.lower(): part for name, part in declared.parts}
        fields = [(field, by_name.get(field.name.lower())) for field in type_]
        return pa.struct(
            [field if part is None else field.with_type(with_types(field.type, part)) for field, part in fields]
        )
    return type_


def _arrow_type(declared: TypeTree) -> pa.DataType:
    import pyarrow as pa

    parts = [_arrow_type(part) for _, part in declared.parts]
    if declared.name == "array":
        return pa.list_(pa.field("element", parts[0]))
    if declared.name == "map":
        return pa.map_(*parts)
    if declared.name == "struct":
        return pa.struct([pa.field(name, part) for (name, _), part in zip(declared.parts, parts, strict=True)])
    if declared.name == "decimal":
        return arrow_type(decimal(*declared.sizes))
    if declared.name in ("char", "varchar"):
        return pa.string()
    if declared.name == "binary":
        return pa.binary()
    try:
        return arrow_type(parse_type(declared.name))
    except NotSupportedError:
        return pa.null()
