"""Relations as DuckDB queries, which map the columns of files to the declared ones and add the partition values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rewriter.cancellation import check_cancellation
from rewriter.catalog.filesystems.reading import open_bytes
from rewriter.data_formats import DATA_FORMATS, JSON, DataFormat
from rewriter.errors import EngineError, InternalError, NotSupportedError
from rewriter.exec.data_files import check_usable, common_header, is_read_by_us, unreadable
from rewriter.exec.duckdb.stored_types import declared_value
from rewriter.exec.file_groups import (
    PathGroup,
    Scan,
    ValueRun,
    by_leading_values,
    by_value,
    scan,
    selections_of,
    settled_files,
)
from rewriter.exec.formats.csv import delimiter
from rewriter.exec.formats.registry import reader_named
from rewriter.exec.sql_types import STRING, SqlType, arrow_type, duckdb_type, parse_type, struct_of
from rewriter.exec.translate import casts
from rewriter.exec.translate.casts import field_sql, quote, string_literal
from rewriter.exec.translate.json_functions import JsonFunction, JsonUse, is_parsed

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from rewriter.catalog.model.objects import Column
    from rewriter.exec.engine import Relation, ScanFile

_FILE = "rewriter_file"
_PIECE = "rewriter_piece"
_ROW = "rewriter_row"
#: How many texts, of which length, have their columns kept.
_MOST_KEPT, _LONGEST_KEPT = 256, 10_000
#: How many files have the values of their partitions in the text of the query.
_MOST_IN_TEXT = 256
_GLOB, _BRACKETED = re.compile(r"[*?\[]"), r"[\g<0>]"
#: Types of columns of JSON files whose values are not those of a DOUBLE that was written anew: -0, and 0.1 as a FLOAT.
_COPIED_TEXTS = ("string", "double", "float")
_NO_OBJECT = "[MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION] A line of a JSON file is no object."
_WITH, _WITH_RECURSIVE = "WITH ", "WITH RECURSIVE "


class FileSchemas:
    """The names and types of the columns of Parquet files, by the text that reads them, and by the files' sizes and
    times of change.

    They are kept for the next query, up to a number of texts, unless the files have changed in the last seconds.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[str, object], list[tuple[str, str]]] = {}

    def columns(self, connection: duckdb.DuckDBPyConnection, relation: Relation, source: str) -> list[tuple[str, str]]:
        """Returns (name, type) of the columns of a source. Opens each file once, unless the result is kept."""
        settled = settled_files(relation)
        kept = None if settled is None else self._kept.get((source, settled))
        if kept is not None:
            return kept
        described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        columns = [(str(name), str(type_name)) for name, type_name, *_ in described]
        if settled is not None and len(source) <= _LONGEST_KEPT:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[source, settled] = columns
        return columns


def with_relations(sql: str, relations: Mapping[str, str]) -> str:
    """Returns a statement over relations with these names and queries. A query stands in the place of a name that
    occurs once, which DuckDB plans sooner, and otherwise before the statement, which may have queries there itself.
    """
    repeated: list[str] = []
    for name, select in relations.items():
        if sql.count(quote(name)) == sql.count(f"{quote(name)} AS s") == 1:
            sql = sql.replace(quote(name), f"({select})")
        else:
            repeated.append(name)
    if not repeated:
        return sql
    parts = ", ".join(f"{quote(name)} AS NOT MATERIALIZED ({relations[name]})" for name in repeated)
    for word in (_WITH_RECURSIVE, _WITH):
        if sql.startswith(word):
            return f"{word}{parts}, {sql.removeprefix(word)}"
    return f"{_WITH}{parts} {sql}"


def relation_select(
    connection: duckdb.DuckDBPyConnection,
    relation: Relation,
    serial: int,
    schemas: FileSchemas,
    tables: list[str],
    sql: str,
) -> str:
    """Returns the query that reads a relation for ``sql``, a translated query. Costs about 30 µs a file if their
    columns are not kept.

    Names of temporary tables that it needs, and creates, are added to ``tables``.
    """
    stored = relation.as_stored()
    select = _stored_select(connection, stored, serial, schemas, tables, _unnamed_columns(relation, sql))
    if stored is relation:
        return select
    items = (f"{quote(column.stored_name)} AS {quote(column.name)}" for column in relation.all_columns)
    return f"SELECT {', '.join(items)} FROM ({select})"


def _unnamed_columns(relation: Relation, sql: str) -> frozenset[str]:
    """Returns the data columns that a translated query does not name, which always does so with a qualifier."""
    return frozenset(column.stored_name for column in relation.columns if f".{quote(column.name)}" not in sql)


def _stored_select(
    connection: duckdb.DuckDBPyConnection,
    relation: Relation,
    serial: int,
    schemas: FileSchemas,
    tables: list[str],
    unnamed: frozenset[str],
) -> str:
    """Returns the query that reads a relation, with the names that its files have. JSON files are read without the
    columns ``unnamed``, as Spark does: their values are neither parsed nor checked.
    """
    data_format = check_usable(relation.format)
    format = data_format.name
    if has_copied_files(relation):
        return _copied(connection, relation, f"rewriter_copy_{serial}", tables)
    groups = scan(relation)
    if data_format.is_text:
        groups = Scan((), relation.files)
    selects = [_by_path(connection, relation, group, schemas) for group in groups.by_path]
    for number, files in enumerate(by_value(relation, format, groups)):
        selects.append(_by_value(connection, relation, format, files, f"{serial}_{number}", schemas, tables, unnamed))
    if groups.packed:
        selects.append(_packed(connection, relation, groups.packed, schemas))
    selections, joined_parts = selections_of(relation, groups.packed_parts)
    for runs, paths in selections.items():
        selects.append(_packed(connection, relation, paths, schemas, runs))
    if joined_parts:
        selects.append(_packed_parts(connection, relation, joined_parts, f"{serial}_parts", schemas, tables))
    return " UNION ALL ".join(selects) or _empty(relation)


def has_copied_files(relation: Relation) -> bool:
    """Tests whether the rows of a relation are copied into a temporary table: DuckDB does not read its files."""
    return is_read_by_us(relation, DATA_FORMATS[relation.format.lower()].duckdb)


def _empty(relation: Relation) -> str:
    items = (f"CAST(NULL AS {_type_name(column)}) AS {quote(column.name)}" for column in relation.all_columns)
    return f"SELECT {', '.join(items)} WHERE false"


def _copied(connection: duckdb.DuckDBPyConnection, relation: Relation, table: str, tables: list[str]) -> str:
    """Copies files that DuckDB does not read into a temporary table, piece by piece.

    Arrow evaluates conditions on its data otherwise than Spark; a copy has none.
    """
    scan(relation)  # It checks the names of the columns.
    if not relation.files:
        return _empty(relation)
    data_format = DATA_FORMATS[relation.format.lower()]
    is_text = data_format.is_text
    types = [f"{quote(column.name)} {'VARCHAR' if is_text else _type_name(column)}" for column in relation.columns]
    types += [f"{quote(column.name)} {_type_name(column)}" for column in relation.partition_columns]
    connection.execute(f"CREATE TEMP TABLE {table} ({', '.join(types)})")
    tables.append(table)
    for file in relation.files:
        values = [
            f"CAST({'NULL' if value is None else string_literal(value)} AS {_type_name(column)})"
            for value, column in zip(file.values, relation.partition_columns, strict=True)
        ]
        for piece in _pieces(relation, data_format, file.path):
            check_cancellation()
            connection.register(_PIECE, piece)
            stored_columns = () if is_text else FileSchemas().columns(connection, relation, _PIECE)
            items = ["*"] if is_text else _data_items(relation, stored_columns, is_exact=True)
            connection.execute(f"INSERT INTO {table} SELECT {', '.join([*items, *values])} FROM {_PIECE}")
            connection.unregister(_PIECE)
    if not is_text:
        return f"SELECT * FROM {table}"
    items = [_cast_text(column, column.name, data_format.name) for column in relation.columns]
    return f"SELECT {', '.join([*items, *(quote(column.name) for column in relation.partition_columns)])} FROM {table}"


def _pieces(relation: Relation, data_format: DataFormat, path: str) -> Iterator[pa.Table | pa.RecordBatch]:
    import pyarrow as pa

    reader = reader_named(data_format.name)
    if reader.pieces is None:
        raise InternalError(f"files of the format {data_format.name} have no reader")
    types = [(c.name, arrow_type(_declared(c))) for c in relation.columns if not _is_other(c, relation.format)]
    try:
        yield from reader.pieces(path, open_bytes, pa.schema(types), relation.options)
    except ValueError as error:
        if str(error).startswith("["):
            raise  # It has a condition.
        raise unreadable(path, error) from None


def _by_path(connection: duckdb.DuckDBPyConnection, relation: Relation, group: PathGroup, schemas: FileSchemas) -> str:
    """Files whose directories spell the values. DuckDB reads the values from the paths and skips the files that a
    filter on partition columns rules out.
    """
    columns = relation.partition_columns
    types = ", ".join(
        f"{string_literal(level)}: {string_literal(_type_name(column))}"
        for level, column in zip(group.levels, columns, strict=True)
    )
    source = (
        f"read_parquet({_list([file.path for file in group.files])}, union_by_name=true, hive_partitioning=true, "
        f"hive_types_autocast=false, hive_types={{{types}}})"
    )
    stored_columns = schemas.columns(connection, relation, source)
    items = _data_items(relation, stored_columns)
    items += [f"{quote(level)} AS {quote(column.name)}" for level, column in zip(group.levels, columns, strict=True)]
    return f"SELECT {_select_list(items, stored_columns)} FROM {source}"


def _by_value(
    connection: duckdb.DuckDBPyConnection,
    relation: Relation,
    format: str,
    files: Sequence[ScanFile],
    serial: str,
    schemas: FileSchemas,
    tables: list[str],
    unnamed: frozenset[str],
) -> str:
    """Files whose values are only in the catalog: each file is joined with its values."""
    paths = list(dict.fromkeys(file.path for file in files))
    filename = "" if not relation.partition_columns else f", filename='{_FILE}'"
    stored_columns: Sequence[tuple[str, str]] = ()
    if format == JSON.name:
        source, items = _json_source(relation, paths, filename, unnamed), _json_items(relation, unnamed)
    elif DATA_FORMATS[format].is_text:
        source, items = _source(relation, format, paths, filename), _text_items(relation, paths)
    else:
        source = _source(relation, format, paths, filename)
        stored_columns = schemas.columns(connection, relation, source)
        items = _data_items(relation, stored_columns, relation.partition_columns != ())
    if not relation.partition_columns:
        return f"SELECT {_select_list(items, stored_columns)} FROM {source}"
    table = _partition_values(connection, f"rewriter_values_{serial}", relation, files, tables)
    items += [f"v.p{number} AS {quote(column.name)}" for number, column in enumerate(relation.partition_columns)]
    # A row without partition values must not vanish.
    check = f"CASE WHEN v.path IS NULL THEN error('no partition values for ' || f.{_FILE}) ELSE true END"
    return f"SELECT {', '.join(items)} FROM {source} AS f LEFT JOIN {table} AS v ON v.path = f.{_FILE} WHERE {check}"


def _packed(
    connection: duckdb.DuckDBPyConnection,
    relation: Relation,
    paths: Sequence[str],
    schemas: FileSchemas,
    runs: Sequence[ValueRun] = (),
) -> str:
    """Packed files, which store the values of the partition columns: all rows, or the rows of the partitions in these
    runs of values. DuckDB skips row groups by the statistics of the partition columns.
    """
    source = _source(relation, "parquet", paths, "")
    stored_columns = schemas.columns(connection, relation, source)
    items = _data_items(relation, stored_columns, columns=relation.all_columns, is_exact=True)
    where = f" WHERE {_is_in_runs(relation.partition_columns, runs)}" if runs else ""
    return f"SELECT {_select_list(items, stored_columns)} FROM {source}{where}"


def _is_in_runs(columns: Sequence[Column], runs: Sequence[ValueRun]) -> str:
    """Returns the condition that the partition columns have the values of one of these runs."""
    alternatives = []
    for leading, runs_of_leading in by_leading_values(runs).items():
        conditions = [_has_value(column, (value,)) for column, value in zip(columns, leading, strict=False)]
        alternatives.append(" AND ".join([*conditions, _has_last_value(columns[-1], runs_of_leading)]))
    return " OR ".join(f"({alternative})" for alternative in alternatives)


def _has_last_value(column: Column, runs: Sequence[ValueRun]) -> str:
    name = quote(column.name)
    tests = [
        f"({name} >= {_literal(column, run.first)} AND {name} <= {_literal(column, run.last)})"
        for run in runs
        if run.first != run.last
    ]
    values = [run.first for run in runs if run.first == run.last]
    if values:
        tests.append(_has_value(column, values))
    return tests[0] if len(tests) == 1 else f"({' OR '.join(tests)})"


def _has_value(column: Column, values: Sequence[str | None]) -> str:
    name = quote(column.name)
    texts = [_literal(column, value) for value in values if value is not None]
    is_in = f"{name} IN ({', '.join(texts)})" if len(texts) != 1 else f"{name} = {texts[0]}"
    if None not in values:
        return is_in
    return f"({is_in} OR {name} IS NULL)" if texts else f"{name} IS NULL"


def _literal(column: Column, value: str | None) -> str:
    text, type_name = "NULL" if value is None else string_literal(value), _type_name(column)
    return text if type_name == "VARCHAR" else f"CAST({text} AS {type_name})"


def _packed_parts(
    connection: duckdb.DuckDBPyConnection,
    relation: Relation,
    files: Sequence[ScanFile],
    serial: str,
    schemas: FileSchemas,
    tables: list[str],
) -> str:
    """Parts of packed files: each row is joined with the values of its partition by the file and the stored values.

    Rows of other partitions match nothing. A file that DuckDB calls by another name than the catalog is an error.
    DuckDB skips row groups by the statistics of the stored values.
    """
    stored_columns = relation.stored_partition_columns
    paths = list(dict.fromkeys(file.path for file in files))
    source = _source(relation, "parquet", paths, f", filename='{_FILE}'")
    items = _data_items(relation, schemas.columns(connection, relation, source), has_file=True, is_exact=True)
    items += [f"v.p{number} AS {quote(column.name)}" for number, column in enumerate(relation.partition_columns)]
    table = _partition_values(connection, f"rewriter_values_{serial}", relation, files, tables)
    stored_values = zip(*(file.part.values for file in files if file.part is not None), strict=True)
    conditions = [f"v.path = f.{_FILE}"]
    for number, (column, values) in enumerate(zip(stored_columns, stored_values, strict=True)):
        operator = "IS NOT DISTINCT FROM" if None in values else "="
        conditions.append(f"v.s{number} {operator} f.{quote(column.name)}")
    named = f"{_FILE} IN ({', '.join(map(string_literal, paths))})"
    check = f"CASE WHEN {named} THEN true ELSE error('no partition values for ' || {_FILE}) END"
    checked = f"(SELECT * FROM {source} WHERE {check})"
    return f"SELECT {', '.join(items)} FROM {checked} AS f JOIN {table} AS v ON {' AND '.join(conditions)}"


def _partition_values(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    relation: Relation,
    files: Sequence[ScanFile],
    tables: list[str],
) -> str:
    """Returns a relation of the files' paths and of the values of their partitions, ``p0``, ``p1``, …

    For parts of packed files, ``s0``, ``s1``, … are the values that the file stores. Many rows are in a temporary table
    with this name, which is added to ``tables``; few are in the text, which saves a millisecond.
    """
    typed = {f"p{number}": column for number, column in enumerate(relation.partition_columns)}
    value_rows = [file.values for file in files]
    if files[0].part is not None:
        stored_columns = relation.stored_partition_columns
        typed |= {f"s{number}": column for number, column in enumerate(stored_columns)}
        value_rows = [(*file.values, *file.part.values) for file in files if file.part is not None]
    casts = ", ".join(f"CAST({name} AS {_type_name(column)}) AS {name}" for name, column in typed.items())
    if len(files) <= _MOST_IN_TEXT:
        rows = ", ".join(
            f"({', '.join('NULL' if value is None else string_literal(value) for value in (file.path, *values))})"
            for file, values in zip(files, value_rows, strict=True)
        )
        return f"(SELECT path, {casts} FROM (VALUES {rows}) AS r(path, {', '.join(typed)}))"
    values_by_name = dict(zip(typed, zip(*value_rows, strict=True), strict=True))
    _register_values(connection, name, casts, [file.path for file in files], values_by_name)
    tables.append(name)
    return name


def _register_values(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    casts: str,
    paths: Sequence[str],
    values_by_name: Mapping[str, Sequence[str | None]],
) -> None:
    """Creates the temporary table of paths and values."""
    import pyarrow as pa

    arrays = {column: pa.array(values, pa.string()) for column, values in values_by_name.items()}
    connection.register("rewriter_texts", pa.table({"path": pa.array(paths, pa.string()), **arrays}))
    connection.execute(f"CREATE TEMP TABLE {name} AS SELECT path, {casts} FROM rewriter_texts")
    connection.unregister("rewriter_texts")


def _source(relation: Relation, format: str, paths: Sequence[str], filename: str) -> str:
    if format == "parquet":
        return f"read_parquet({_list(paths)}, union_by_name=true, hive_partitioning=false{filename})"
    if format == "csv":
        separator = delimiter(relation.options)
        names = common_header(paths, separator)
        types = ", ".join(f"{string_literal(name)}: 'VARCHAR'" for name in names)
        return (
            f"read_csv({_list(paths)}, auto_detect=false, header=true, delim={string_literal(separator)}, "
            f"quote='\"', escape='\"', nullstr='', allow_quoted_nulls=false, hive_partitioning=false, "
            f"columns={{{types}}}{filename})"
        )
    raise InternalError(f"DuckDB reads no files of the format {format} here.", object=relation.name)


def _json_source(relation: Relation, paths: Sequence[str], filename: str, unnamed: frozenset[str]) -> str:
    """Returns the rows of JSON files with the columns that are not ``unnamed``. DuckDB's own reader makes each number
    with a fraction a DOUBLE and writes it anew, so it reads no table with columns where that could be seen.
    """
    types = {column.name: _declared(column) for column in relation.columns if not _is_other(column, JSON.name)}
    row = {name: type_ for name, type_ in types.items() if name not in unnamed}
    parameters = f"{_list(paths)}, ignore_errors=false, hive_partitioning=false{filename}"
    file = f", {_FILE}" if filename else ""
    if not row:
        check = f"CASE WHEN json_type(json) = 'OBJECT' THEN true ELSE error({string_literal(_NO_OBJECT)}) END"
        return f"(SELECT 1 AS {_ROW}{file} FROM read_ndjson_objects({parameters}) WHERE {check})"
    if not any(is_parsed(type_) or type_.is_decimal or type_.name in _COPIED_TEXTS for type_ in types.values()):
        columns = ", ".join(f"{string_literal(name)}: 'VARCHAR'" for name in row)
        return f"read_json({parameters}, format='newline_delimited', records=true, columns={{{columns}}})"
    struct = struct_of([(name, STRING if type_.name == "string" else type_) for name, type_ in row.items()])
    function = JsonFunction(JsonUse.ROW, struct)
    items = ", ".join(f"{field_sql(_ROW, name)} AS {quote(name)}" for name in row)
    lines = f"SELECT {function.name}(json) AS {_ROW}{file} FROM read_ndjson_objects({parameters})"
    return f"(SELECT {items}{file} FROM ({lines}))"


def _text_items(relation: Relation, paths: Sequence[str]) -> list[str]:
    """Columns of CSV files: text, cast as Spark casts it."""
    names_in_file = {name.lower(): name for name in common_header(paths, delimiter(relation.options))}
    items = []
    for column in relation.columns:
        name = names_in_file.get(column.name.lower())
        if _is_other(column, "csv"):
            items.append(f"NULL AS {quote(column.name)}")
        elif name is None:
            items.append(f"CAST(NULL AS {duckdb_type(_declared(column))}) AS {quote(column.name)}")
        else:
            items.append(_cast_text(column, name, "csv"))
    return items


def _json_items(relation: Relation, unnamed: frozenset[str]) -> list[str]:
    """Columns of JSON files: text that is cast as Spark casts it, and values that are parsed."""
    items = []
    for column in relation.columns:
        if _is_other(column, JSON.name):
            items.append(f"NULL AS {quote(column.name)}")
        elif column.name in unnamed:
            message = string_literal(f"the column {column.name} was not read")
            items.append(f"CAST(error({message}) AS {_type_name(column)}) AS {quote(column.name)}")
        else:
            items.append(_cast_text(column, column.name, JSON.name))
    return items


def _cast_text(column: Column, name: str, format: str) -> str:
    """Returns a column of texts with this name as the declared type, by Spark's cast."""
    target = _declared(column)
    sql = quote(name) if format == JSON.name and is_parsed(target) else casts.cast(quote(name), STRING, target)
    if sql is None:
        raise NotSupportedError(
            f"Reading the column {column.name}, {column.type.upper()}, from {format} is not supported on DuckDB.",
            condition="DUCKDB_UNSUPPORTED",
            object=column.name,
            hint="Use the Spark engine (engine spark), or parquet.",
        )
    return f"{sql} AS {quote(column.name)}"


def _select_list(items: Sequence[str], stored_columns: Sequence[tuple[str, str]]) -> str:
    """Returns the items of a SELECT over files with these columns: ``*`` if they are all columns, unchanged and in
    order, because DuckDB binds that sooner than a list.

    Other columns of the files must not be there: they could hide names of an outer query.
    """
    unchanged = [f"{quote(name)} AS {quote(name)}" for name, _ in stored_columns]
    return "*" if unchanged == items else ", ".join(items)


def _data_items(
    relation: Relation,
    stored_columns: Sequence[tuple[str, str]],
    has_file: bool = False,
    columns: Sequence[Column] | None = None,
    is_exact: bool = False,
) -> list[str]:
    """Returns the data columns of parquet files, or the given ones, cast to the declared types.

    ``stored_columns`` are the names and types of the files' columns. A column that no file has is NULL. ``is_exact``
    says that the files are packed ones, which have no statistics that leave out NaN (``formats.parquet``).
    """
    types_in_file: dict[str, tuple[str, str]] = {}
    for stored_name, stored_type in stored_columns:
        types_in_file.setdefault(stored_name.lower(), (stored_name, stored_type))
    prefix = "f." if has_file else ""
    items = []
    for column in relation.columns if columns is None else columns:
        name, type_name = types_in_file.get(column.name.lower(), (None, ""))
        if _is_other(column, relation.format):
            items.append(f"NULL AS {quote(column.name)}")
        elif name is None:
            items.append(f"CAST(NULL AS {_type_name(column)}) AS {quote(column.name)}")
        else:
            value = _as_declared_type(prefix + quote(name), type_name, column, is_exact)
            items.append(f"{value} AS {quote(column.name)}")
    return items


def _as_declared_type(sql: str, type_name: str, column: Column, is_exact: bool) -> str:
    """Returns a column of a file as the declared type, provided that no value can change."""
    value = declared_value(sql, type_name, _declared(column), is_exact)
    if value is None:
        raise _mismatch(column, type_name)
    return value


def _mismatch(column: Column, type_name: str) -> EngineError:
    hint = "Declare the column with the type that the files have, and CAST it in queries."
    if type_name == "TIMESTAMP_NS":
        hint = (
            "A TIMESTAMP has microseconds. Write the files with these: to_parquet(…, coerce_timestamps='us') in "
            f"pandas, CAST({column.name} AS TIMESTAMP) in DuckDB."
        )
    return EngineError(
        f"The column {column.name} is declared {column.type}, but a file stores it as {type_name}.",
        condition="FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH",
        sqlstate="KD001",
        object=column.name,
        hint=hint,
    )


def _is_other(column: Column, format: str = "parquet") -> bool:
    """Tests whether only Spark reads the type from files of a format. The translator refuses a query that names the
    column.
    """
    try:
        is_nested = parse_type(column.type).is_nested
        return is_nested and not DATA_FORMATS[format.lower()].nests_type(column.type)
    except NotSupportedError:
        return True


def _declared(column: Column) -> SqlType:
    return parse_type(column.type)


def _type_name(column: Column) -> str:
    return "INTEGER" if _is_other(column) else duckdb_type(_declared(column))


def _list(paths: Sequence[str]) -> str:
    """Returns the paths as a DuckDB list, with glob characters escaped."""
    return f"[{', '.join([string_literal(_GLOB.sub(_BRACKETED, path)) for path in paths])}]"
