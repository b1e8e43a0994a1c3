"""EXPLAIN of a statement that writes rows: the files it would replace and remove. Nothing is run or written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rewriter.catalog.keys.paths import default_directory, is_discovered
from rewriter.catalog.keys.values import partition_name
from rewriter.catalog.model.objects import Partition, PartitionValues, Table
from rewriter.catalog.storage.data_files import FoundFile, directory
from rewriter.catalog.storage.partition_directories import list_directories, printable
from rewriter.exec.engine import EngineQuery
from rewriter.grammar.families.multi_inserts import joined
from rewriter.grammar.families.queries import ExplainWrite
from rewriter.grammar.families.writes import Insert, LoadData
from rewriter.runtime.statement_runners import runs
from rewriter.statements.query.explain import explain_query
from rewriter.statements.query.select import prepare
from rewriter.statements.resolve.location_conflicts import check_table_location
from rewriter.statements.resolve.partition_specs import key_range, read_static
from rewriter.statements.write.external_base_changes import check_places, is_foreign, old_files, refuse_links
from rewriter.statements.write.insert import known_partitions, with_defaults
from rewriter.statements.write.insert_target import Target, read_target, refuse_static_wipe
from rewriter.statements.write.load_data import load_target
from rewriter.statements.write.sink_choice import packing_of, sink_of
from rewriter.terminal_text import counted

if TYPE_CHECKING:
    from rewriter.runtime.result import Result
    from rewriter.runtime.statement_context import Context

#: The most partitions that are shown, and the most files over all of them.
_PARTITIONS, _FILES = 50, 200


@runs(ExplainWrite, in_transaction=True)
def explain_write(statement: ExplainWrite, context: Context) -> Result:
    """Returns rows of one column: the partitions that the statement would replace in each table, with their files and
    sizes, as many as fit.

    The partitions that a query has rows of are unknown before it runs, so the rows show the partitions that it may
    replace. The query is planned, but no engine is started, so its types are not checked. Raises the errors of the
    statement for its words, its tables and its locations.
    """
    explained_statement = statement.statement
    lines: list[str] = []
    if isinstance(explained_statement, LoadData):
        lines += _explained(
            load_target(explained_statement, context.table(explained_statement.table)), explained_statement, context
        )
    elif isinstance(explained_statement, Insert):
        target = read_target(explained_statement, context.table(explained_statement.table))
        query = explained_statement.query
        prepared = prepare(query if explained_statement.by_name else with_defaults(query, target.provided), context)
        sink = _sink_line(target, prepared.query, explained_statement.by_name, context)
        lines += _explained(target, explained_statement, context, sink)
    else:
        for insert in explained_statement.inserts:
            prepare(joined(explained_statement.source, insert.query), context)
            target = read_target(insert, context.table(insert.table))
            lines += _explained(target, insert, context, _sink_line(target, None, insert.by_name, context))
    return explain_query(lines, context)


def _sink_line(target: Target, query: EngineQuery | None, by_name: bool, context: Context) -> str:
    """Returns a line that names the sink of an INSERT."""
    if by_name and context.settings.sink == "auto" and not target.is_static:
        return f"{target.table.name}: the sink is chosen when the engine has named the columns of the query"
    arranged = EngineQuery("") if query is None else query.with_sql(target.arranged(query.sql))
    sink = sink_of(target, arranged, context)
    packed = "packed files" if packing_of(target.table, sink) is not None else f"{target.table.format.upper()} files"
    size = f"{packed} of up to {sink.target_file_bytes:,} bytes"
    return f"{target.table.name}: {sink.kind} sink, {size}: {sink.reason}"


def _explained(target: Target, statement: Insert | LoadData, context: Context, *sink: str) -> list[str]:
    """Returns the lines of one target, with the line of its sink last if rows are written."""
    table = target.table
    if not statement.overwrite:
        return [f"{table.name}: rows are added; nothing is replaced or removed", *sink]
    wipes = context.settings.static_overwrite and not target.is_static and isinstance(statement, Insert)
    if wipes:
        refuse_static_wipe(target, statement.table.span)
    if table.external:
        check_table_location(table, context)
        partitions = _on_disk(target, context)
        if target.is_static:
            directories = {partition.values: directory(table, partition) for partition in partitions}
            refuse_links(table, directories.values())
            check_places(table, directories, context)
        by_place: dict[str, list[FoundFile]] = {}
        for old in old_files(table, partitions):
            by_place.setdefault(old.directory, []).append(old.file)
        files = {partition.values: by_place.get(directory(table, partition), []) for partition in partitions}
    else:
        partitions = list(context.snapshot.partitions(table, [key_range(table, target.static)]))
        partitions = [partition for partition in partitions if _has_constants(target, partition.values)]
        existing_files = context.snapshot.files(table, [key_range(table, target.static)])
        files = {
            partition.values: [FoundFile(file.path, file.bytes, 0) for _, file in partition_files]
            for partition, partition_files in groupby(existing_files, lambda pair: pair[0])
        }
    if isinstance(statement, Insert) and statement.if_not_exists and partitions:
        return [f"{table.name}: the partition exists, and IF NOT EXISTS keeps it"]
    return [*_lines(table, partitions, files, is_certain=target.is_static or wipes), *sink]


def _on_disk(target: Target, context: Context) -> list[Partition]:
    """Returns the partitions that may be replaced: registered ones, and directories in the place of one."""
    table = target.table
    partitions = known_partitions(target, context)
    if target.is_static:
        return [partitions.get(target.static) or Partition(b"", target.static)]
    if not is_discovered(table):
        for found_directory in list_directories(table, read_static(table, dict(target.spec.static))).directories:
            if found_directory.path == default_directory(table, found_directory.values):
                partitions.setdefault(found_directory.values, Partition(found_directory.key, found_directory.values))
    return [partition for values, partition in partitions.items() if _has_constants(target, values)]


def _has_constants(target: Target, values: PartitionValues) -> bool:
    return all(values[index] == value for index, value in target.constants.items())


def _lines(
    table: Table, partitions: Sequence[Partition], files: dict[PartitionValues, list[FoundFile]], is_certain: bool
) -> list[str]:
    all_files = [file for partition in partitions for file in files.get(partition.values, ())]
    effect = "is replaced" if is_certain else "is replaced where the query has rows of it"
    fate = "removed immediately" if table.external else "kept on disk until VACUUM"
    lines = [f"{table.name}: content that {effect}: {_amount(all_files)}, {fate}"]
    left = _FILES
    for partition in partitions[:_PARTITIONS]:
        partition_files = files.get(partition.values, [])
        name = partition_name(table.partition_columns, partition.values) or "(the whole table)"
        lines.append(f"  {name}: {_amount(partition_files)}")
        shown_files = partition_files[: max(left, 0)]
        left -= len(shown_files)
        lines += [f"    {printable(file.path)} ({_size(file)}){_foreign(table, file)}" for file in shown_files]
        if len(shown_files) < len(partition_files):
            lines.append(f"    and {len(partition_files) - len(shown_files):,} more")
    if len(partitions) > _PARTITIONS:
        lines.append(f"  and {len(partitions) - _PARTITIONS:,} more partitions")
    return lines


def _foreign(table: Table, file: FoundFile) -> str:
    foreign = table.external and is_foreign(table, file)
    return f": not a {table.format} file, so the statement is refused" if foreign else ""


def _amount(files: Iterable[FoundFile]) -> str:
    file_list = list(files)
    return f"{counted(len(file_list), 'file')} ({sum(file.bytes for file in file_list):,} bytes)"


def _size(file: FoundFile) -> str:
    return f"{file.bytes:,} bytes"
