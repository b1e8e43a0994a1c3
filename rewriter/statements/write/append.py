"""Appends rows that a program hands over: ``connection.append``."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from rewriter.catalog.model.batches import Batch
from rewriter.catalog.model.changes import PartitionWrite, WritePartitions
from rewriter.catalog.model.objects import Column, Table
from rewriter.catalog.model.proofs import BY_APPEND
from rewriter.errors import AnalysisError, DataError, NotSupportedError
from rewriter.exec.arrow_input import batches_of, spool
from rewriter.exec.engine import EngineQuery, Relation, ScanFile, WrittenFile
from rewriter.grammar.families.writes import Insert
from rewriter.grammar.terms import Name, Query
from rewriter.runtime.multi_statement import not_in_transaction
from rewriter.runtime.program_statements import Append
from rewriter.runtime.result import Result
from rewriter.runtime.statement_context import Context
from rewriter.runtime.statement_runners import runs
from rewriter.scratch_directories import ScratchDirectory
from rewriter.statements.resolve.type_trees import type_tree
from rewriter.statements.write.auto_compact import compact_after
from rewriter.statements.write.batch_notes import with_batch
from rewriter.statements.write.insert import retried, write_external, write_rows
from rewriter.statements.write.insert_target import Target, check_columns, named_target, read_target
from rewriter.statements.write.managed_write import WriteChange, grouped, write_managed
from rewriter.statements.write.null_types import with_types
from rewriter.statements.write.written_files import rows_of, stats_of

if TYPE_CHECKING:
    import pyarrow as pa


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
    batches = batches_of(statement.data)
    spooled = ScratchDirectory("append")
    try:
        path, columns = spool(batches, spooled.path, partial(_type_of, table))
        result, files = retried(lambda now: _append(statement, path, columns, now), True, context)
    finally:
        spooled.remove()
    return replace(result, warnings=(*result.warnings, *compact_after(statement.table, files, context)))


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


def _append(
    statement: Append, path: str, columns: tuple[Column, ...], context: Context
) -> tuple[Result, tuple[WrittenFile, ...]]:
    started = time.perf_counter()
    table, id = context.table(statement.table), statement.batch_id
    if id is not None and context.catalog.has_batch(table, id):
        return _skipped(id, table), ()
    relation = Relation("", "parquet", columns, (), (ScanFile(path, (), os.path.getsize(path)),))
    files = append_rows(statement.table, relation, None if id is None else Batch(id), context)
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
    partitions = grouped(files)
    changes: list[WriteChange] = []
    if partitions:
        writes = tuple([PartitionWrite(values, data_files) for values, data_files in partitions.items()])
        changes.append(WritePartitions(target.table, write_id, writes, overwrite=False, doubt=BY_APPEND))
    return changes if batch is None else with_batch(changes, target.table, batch, files, context)
