"""Statements as text again: what ``parse`` reads as an equal statement."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from rewriter.errors import InternalError
from rewriter.grammar import statements as st
from rewriter.grammar.filters import render_filter

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN_KEY = re.compile(r"[A-Za-z_]\w*(?:[.:-]\w+)*", re.ASCII)
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\u0000"}
_TO_ESCAPE = re.compile(r"[\\'\n\r\t\0]")


def render(statement: st.Statement) -> str:
    """One line of SQL (a query keeps its own lines) without ``;``, such that ``parse(render(s)) == s``.

    The same statement always gives the same text. Names are quoted where they must be, values always by ``quote``.
    """
    renderer = _RENDERERS.get(type(statement))
    if renderer is None:
        raise InternalError(f"no text is known for the statement {type(statement).__name__}")
    return renderer(statement)


def quote(text: str) -> str:
    """The text as a string literal of Spark SQL, on one line."""
    return "'" + _TO_ESCAPE.sub(lambda hit: _ESCAPES[hit.group()], text) + "'"


def quote_name(name: str) -> str:
    """The name, in backquotes unless it is plain and no keyword of the dialect."""
    if _PLAIN.fullmatch(name) and name.upper() not in _keywords():
        return name
    return "`" + name.replace("`", "``") + "`"


@cache
def _keywords() -> frozenset[str]:
    files = (Path(__file__).with_name(name) for name in ("dialect.lark", "filter.lark"))
    grammar = "\n".join(file.read_text(encoding="utf-8") for file in files)
    return frozenset(re.findall(r'"([A-Z]+)"', grammar)) | {"SELECT", "VALUES"}


def _words(*parts: str | None) -> str:
    return " ".join(part for part in parts if part)


def _name(name: st.Name | st.ColumnName) -> str:
    return ".".join(map(quote_name, name.parts))


def _list(items: Iterable[str]) -> str:
    return f"({', '.join(items)})"


def _names(names: Iterable[str] | None) -> str | None:
    return None if names is None else _list(map(quote_name, names))


def _option(keyword: str, text: str | None) -> str | None:
    return None if text is None else f"{keyword} {quote(text)}"


def literal_text(literal: st.Literal) -> str:
    """The literal as it is typed, strings always by ``quote``."""
    if literal.kind == "string":
        return quote(literal.text)
    if literal.kind in ("date", "timestamp"):
        return f"{literal.kind.upper()} {quote(literal.text)}"
    return literal.text.upper() if literal.kind == "boolean" else literal.text or "NULL"


def _select(s: st.Select) -> str:
    return s.query.text


def _explain(s: st.Explain) -> str:
    return f"EXPLAIN {s.what} {s.query.text}"


def _explain_scan(s: st.ExplainScan) -> str:
    return f"EXPLAIN SCAN {render(s.statement)}"


def _column(column: st.ColumnDef) -> str:
    return _words(quote_name(column.name), column.type, _option("COMMENT", column.comment))


def _create_table(s: st.CreateTable) -> str:
    return _words(
        _creates(s),
        _name(s.table),
        _list(map(_column, s.columns)),
        *_table_clauses(s),
    )


def _create_table_as(s: st.CreateTableAs) -> str:
    return _words(_creates(s), _name(s.table), *_table_clauses(s), f"AS {s.query.text}")


def _create_table_like(s: st.CreateTableLike) -> str:
    return _words(
        _creates(s),
        _name(s.table),
        f"LIKE {_name(s.source)}",
        f"USING {quote_name(s.format)}" if s.format is not None else None,
        _option("LOCATION", s.location),
        _properties(s.properties),
    )


def _creates(s: st.CreateTable | st.CreateTableAs | st.CreateTableLike) -> str:
    return _words(
        "CREATE",
        "OR REPLACE" if not isinstance(s, st.CreateTableLike) and s.or_replace else None,
        "TEMPORARY" if s.temporary else None,
        "EXTERNAL" if s.external else None,
        "TABLE",
        "IF NOT EXISTS" if s.if_not_exists else None,
    )


def _table_clauses(s: st.CreateTable | st.CreateTableAs) -> tuple[str | None, ...]:
    return (
        f"USING {quote_name(s.format)}" if s.format is not None else None,
        f"PARTITIONED BY {_list(map(_column, s.partitioned_by))}" if s.partitioned_by else None,
        _option("COMMENT", s.comment),
        _option("LOCATION", s.location),
        _properties(s.properties),
    )


def _add_columns(s: st.AddColumns) -> str:
    return f"ALTER TABLE {_name(s.table)} ADD COLUMNS {_list(map(_column, s.columns))}"


def _comment_column(s: st.CommentColumn) -> str:
    if s.renamed is not None:
        change = _words(quote_name(s.column), _column(s.renamed), _option("COMMENT", s.comment))
        return f"ALTER TABLE {_name(s.table)} CHANGE COLUMN {change}"
    return f"COMMENT ON COLUMN {_name(s.table)}.{quote_name(s.column)} IS {_text_or_null(s.comment)}"


def _text_or_null(text: str | None) -> str:
    return "NULL" if text is None else quote(text)


def _properties(properties: tuple[tuple[str, str], ...]) -> str | None:
    if not properties:
        return None
    return "TBLPROPERTIES " + _list(f"{quote(key)} = {quote(value)}" for key, value in properties)


def _set_properties(s: st.SetProperties) -> str:
    return _words(f"ALTER TABLE {_name(s.table)} SET", _properties(s.properties))


def _unset_properties(s: st.UnsetProperties) -> str:
    exists = "IF EXISTS" if s.if_exists else None
    return _words(f"ALTER TABLE {_name(s.table)} UNSET TBLPROPERTIES", exists, _list(map(quote, s.keys)))


def _set_timeline(s: st.SetTimeline) -> str:
    timeline = f"TIMELINE {s.period} FOR {quote_name(s.column)} TO {quote(s.implementation)}"
    return f"ALTER TABLE {_name(s.table)} SET {timeline}"


def _create_view(s: st.CreateView) -> str:
    columns = [_words(quote_name(column.name), _option("COMMENT", column.comment)) for column in s.columns or ()]
    return _words(
        "CREATE OR REPLACE VIEW" if s.or_replace else "CREATE VIEW",
        "IF NOT EXISTS" if s.if_not_exists else None,
        _name(s.view),
        _list(columns) if columns else None,
        _option("COMMENT", s.comment),
        _properties(s.properties),
        f"AS {s.query.text}",
    )


def _drop(kind: str, name: st.Name, if_exists: bool, purge: bool = False) -> str:
    return _words("DROP", kind, "IF EXISTS" if if_exists else None, _name(name), "PURGE" if purge else None)


def _describe(s: st.Describe) -> str:
    return _words(
        "DESCRIBE",
        s.kind,
        "EXTENDED" if s.extended else None,
        _name(s.name),
        _partition(s.partition),
        _name(s.column) if s.column is not None else None,
        "AS JSON" if s.as_json else None,
    )


def _show_table_extended(s: st.ShowTableExtended) -> str:
    return _words("SHOW TABLE EXTENDED", _in(s.database), _option("LIKE", s.like), _partition(s.partition))


def _show_table_properties(s: st.ShowTableProperties) -> str:
    return _words("SHOW TBLPROPERTIES", _name(s.table), None if s.key is None else f"({quote(s.key)})")


def _analyze_table(s: st.AnalyzeTable) -> str:
    columns = None
    if s.columns is not None:
        columns = f"FOR COLUMNS {', '.join(map(_name, s.columns))}" if s.columns else "FOR ALL COLUMNS"
    return _words(
        f"ANALYZE TABLE {_name(s.table)}",
        _partition(s.partition),
        "COMPUTE STATISTICS",
        "NOSCAN" if s.noscan else columns,
    )


def _analyze_tables(s: st.AnalyzeTables) -> str:
    return _words("ANALYZE TABLES", _in(s.database), "COMPUTE STATISTICS", "NOSCAN" if s.noscan else None)


def _partition(spec: tuple[st.PartitionItem, ...] | None) -> str | None:
    if spec is None:
        return None
    items = (
        quote_name(item.column) if item.value is None else f"{quote_name(item.column)} = {literal_text(item.value)}"
        for item in spec
    )
    return f"PARTITION {_list(items)}"


def _insert(s: st.Insert) -> str:
    return _words(
        "INSERT OVERWRITE TABLE" if s.overwrite else "INSERT INTO TABLE",
        _name(s.table),
        _partition(s.partition),
        "IF NOT EXISTS" if s.if_not_exists else None,
        "BY NAME" if s.by_name else _names(s.columns),
        s.query.text,
    )


def _load_data(s: st.LoadData) -> str:
    return _words(
        "LOAD DATA LOCAL INPATH" if s.local else "LOAD DATA INPATH",
        quote(s.path),
        "OVERWRITE INTO TABLE" if s.overwrite else "INTO TABLE",
        _name(s.table),
        _partition(s.partition),
    )


def _add_partitions(s: st.AddPartitions) -> str:
    return _words(
        f"ALTER TABLE {_name(s.table)} ADD",
        "IF NOT EXISTS" if s.if_not_exists else None,
        *(_words(_partition(one.spec), _option("LOCATION", one.location)) for one in s.partitions),
    )


def _drop_partitions(s: st.DropPartitions) -> str:
    specs = ("PARTITION " + _list(map(render_filter, spec)) for spec in s.specs)
    return _words(
        f"ALTER TABLE {_name(s.table)} DROP",
        "IF EXISTS" if s.if_exists else None,
        ", ".join(specs),
        "PURGE" if s.purge else None,
    )


def _vacuum(s: st.Vacuum) -> str:
    return _words(
        "VACUUM",
        None if s.table is None else f"TABLE {_name(s.table)}",
        None if s.hours is None else f"RETAIN {s.hours} HOURS",
        "DRY RUN" if s.dry_run else None,
    )


def _exchange_partitions(s: st.ExchangePartitions) -> str:
    specs = ", ".join(_partition(spec) or "" for spec in s.partitions)
    return f"ALTER TABLE {_name(s.table)} EXCHANGE {specs} WITH TABLE {_name(s.source)}"


def _stored(s: st.SetLocation | st.SetFileFormat | st.SetSerde, *words: str | None) -> str:
    return _words(f"ALTER TABLE {_name(s.table)}", _partition(s.partition), "SET", *words)


def _set_serde(s: st.SetSerde) -> str:
    pairs = "SERDEPROPERTIES " + _list(f"{quote(key)} = {quote(value)}" for key, value in s.properties)
    if s.serde is None:
        return _stored(s, pairs)
    return _stored(s, f"SERDE {quote(s.serde)}", f"WITH {pairs}" if s.properties else None)


def _show_partitions(s: st.ShowPartitions) -> str:
    keys = (quote_name(key.column) + (" DESC" if key.descending else "") for key in s.order_by)
    return _words(
        "SHOW PARTITIONS",
        _name(s.table),
        _partition(s.partition),
        None if s.where is None else f"WHERE {render_filter(s.where)}",
        f"ORDER BY {', '.join(keys)}" if s.order_by else None,
        None if s.limit is None else f"LIMIT {s.limit}",
        "AS JSON" if s.as_json else None,
    )


def _repair_table(s: st.RepairTable) -> str:
    return _words(
        "MSCK REPAIR TABLE" if s.repair else "MSCK TABLE",
        _name(s.table),
        f"{s.what} PARTITIONS",
        None if s.where is None else f"PARTITION ({render_filter(s.where)})",
    )


def _cube_column(column: st.CubeColumn) -> str:
    measure = column.role not in ("DIMENSION", "TIME")
    return _words(
        quote_name(column.name),
        column.type,
        f"MEASURE {column.role}" if measure else "TIME" if column.role == "TIME" else None,
        f"COUNTED BY {quote_name(column.counted_by)}" if column.counted_by is not None else None,
        "NOT NULL" if column.not_null else None,
    )


def _create_cube(s: st.CreateCube) -> str:
    return _words(
        "CREATE CUBE",
        "IF NOT EXISTS" if s.if_not_exists else None,
        _name(s.name),
        _list(map(_cube_column, s.columns)),
        _option("TIME ZONE", s.time_zone),
    )


def _layout(time: str, columns: Iterable[st.LayoutColumn]) -> str:
    parts = (
        quote_name(column.column) + ("" if column.pattern is None else f" = {quote(column.pattern)}")
        for column in columns
    )
    return f"PARTITIONED BY {quote_name(time)} AS {_list(parts)}"


def _complete(rule: st.CompleteWith) -> str:
    if rule.values is None:
        return f"COMPLETE WITH ANY {quote_name(rule.column)}"
    return f"COMPLETE WITH {quote_name(rule.column)} IN {_list(map(literal_text, rule.values))}"


def _fact_table(table: st.FactTable) -> str:
    return _words(
        f"TABLE {_name(table.table)}" if table.table is not None else None,
        f"PERIOD {table.periods[0]}" if len(table.periods) == 1 else f"PERIODS {_list(table.periods)}",
        *(_layout(time, columns) for time, columns in table.partitioned_by),
        *(flag for flag in table.flags if flag != "COMPLETE"),
        *map(_complete, table.complete),
        _option("START", table.start),
        _option("END", table.end),
    )


def _storage(storage: st.FactStorage) -> str:
    named = storage.name != "default" or storage.cluster is not None
    return _words(
        "STORED IN",
        f"STORAGE {quote_name(storage.name)}" if named else None,
        f"ON CLUSTER {quote_name(storage.cluster)}" if storage.cluster is not None else None,
        _list(map(_fact_table, storage.tables)),
        _option("START", storage.start),
        _option("END", storage.end),
    )


def _create_fact(s: st.CreateFact) -> str:
    return _words(
        "CREATE FACT",
        "IF NOT EXISTS" if s.if_not_exists else None,
        f"{_name(s.name)} OF CUBE {_name(s.cube)}",
        _names(s.columns),
        f"WEIGHT {s.weight}" if s.weight else None,
        *map(_storage, s.storages),
    )


def _show_timelines(s: st.ShowTimelines) -> str:
    return _words(
        f"SHOW TIMELINES OF {_name(s.fact)}",
        f"STORAGE {quote_name(s.storage)}" if s.storage is not None else None,
        f"PERIOD {s.period}" if s.period is not None else None,
    )


def _show_coverage(s: st.ShowCoverage) -> str:
    return _words(f"SHOW COVERAGE OF {_name(s.fact)}", _bounds(s))


def _show_latest(s: st.ShowLatest) -> str:
    return f"SHOW LATEST OF {_name(s.fact)}"


def _bounds(s: st.ShowCoverage | st.CheckFact | st.RefreshFact) -> str | None:
    return (
        f"FROM {literal_text(s.start)} TO {literal_text(s.end)}" if s.start is not None and s.end is not None else None
    )


def _refresh_fact(s: st.RefreshFact) -> str:
    return _words(f"REFRESH FACT {_name(s.fact)}", _bounds(s), "DRY RUN" if s.dry_run else None)


def _database(database: st.DatabaseName) -> str:
    return quote_name(database.text)


def _in(database: st.DatabaseName | None) -> str | None:
    return None if database is None else f"IN {_database(database)}"


def _create_database(s: st.CreateDatabase) -> str:
    properties = _properties(s.properties)
    return _words(
        "CREATE DATABASE",
        "IF NOT EXISTS" if s.if_not_exists else None,
        _database(s.database),
        _option("COMMENT", s.comment),
        _option("LOCATION", s.location),
        f"WITH DB{properties.removeprefix('TBL')}" if properties is not None else None,
    )


def _key(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) else "`" + key.replace("`", "``") + "`"


def _set(s: st.SetSetting) -> str:
    if s.key is None:
        return "SET"
    return f"SET {_key(s.key)}" if s.value is None else f"SET {_key(s.key)} = {quote(s.value)}"


_RENDERERS: dict[type[st.Statement], Callable[[Any], str]] = {
    st.Select: _select,
    st.Explain: _explain,
    st.ExplainScan: _explain_scan,
    st.CreateTable: _create_table,
    st.CreateTableAs: _create_table_as,
    st.CreateTableLike: _create_table_like,
    st.AddColumns: _add_columns,
    st.CommentColumn: _comment_column,
    st.CommentTable: lambda s: f"COMMENT ON TABLE {_name(s.table)} IS {_text_or_null(s.comment)}",
    st.DropTable: lambda s: _drop("TABLE", s.table, s.if_exists, s.purge),
    st.SetProperties: _set_properties,
    st.UnsetProperties: _unset_properties,
    st.SetTimeline: _set_timeline,
    st.ShowTables: lambda s: _words("SHOW TABLES", _in(s.database), _option("LIKE", s.like)),
    st.CreateView: _create_view,
    st.DropView: lambda s: _drop("VIEW", s.view, s.if_exists),
    st.ShowViews: lambda s: _words("SHOW VIEWS", _in(s.database), _option("LIKE", s.like)),
    st.ShowCubes: lambda s: _words("SHOW FACTS" if s.facts else "SHOW CUBES", _in(s.database)),
    st.Describe: _describe,
    st.DescribeQuery: lambda s: f"DESCRIBE QUERY {s.query.text}",
    st.ShowTableExtended: _show_table_extended,
    st.ShowColumns: lambda s: f"SHOW COLUMNS IN {_name(s.table)}",
    st.ShowTableProperties: _show_table_properties,
    st.AnalyzeTable: _analyze_table,
    st.AnalyzeTables: _analyze_tables,
    st.Insert: _insert,
    st.MultiInsert: lambda s: _words(s.source.text, *map(_insert, s.inserts)),
    st.LoadData: _load_data,
    st.AddPartitions: _add_partitions,
    st.DropPartitions: _drop_partitions,
    st.ShowPartitions: _show_partitions,
    st.RenamePartition: lambda s: _words(
        f"ALTER TABLE {_name(s.table)}", _partition(s.partition), "RENAME TO", _partition(s.to)
    ),
    st.ExchangePartitions: _exchange_partitions,
    st.Compact: lambda s: _words(f"ALTER TABLE {_name(s.table)}", _partition(s.partition), "COMPACT"),
    st.Vacuum: _vacuum,
    st.Truncate: lambda s: _words(f"TRUNCATE TABLE {_name(s.table)}", _partition(s.partition)),
    st.SetLocation: lambda s: _stored(s, f"LOCATION {quote(s.location)}"),
    st.SetFileFormat: lambda s: _stored(s, f"FILEFORMAT {quote_name(s.format)}"),
    st.SetSerde: _set_serde,
    st.RepairTable: _repair_table,
    st.CreateCube: _create_cube,
    st.CreateFact: _create_fact,
    st.DropCube: lambda s: _drop("CUBE", s.name, s.if_exists),
    st.DropFact: lambda s: _drop("FACT", s.name, s.if_exists),
    st.ShowTimelines: _show_timelines,
    st.ShowCoverage: _show_coverage,
    st.ShowLatest: _show_latest,
    st.CheckFact: lambda s: _words(f"CHECK FACT {_name(s.fact)}", _bounds(s)),
    st.RefreshFact: _refresh_fact,
    st.RefreshTable: lambda s: f"REFRESH TABLE {_name(s.table)}",
    st.RefreshTimelines: lambda s: f"REFRESH TIMELINES OF {_name(s.fact)}",
    st.CreateDatabase: _create_database,
    st.DropDatabase: lambda s: _words(
        "DROP DATABASE", "IF EXISTS" if s.if_exists else None, _database(s.database), "CASCADE" if s.cascade else None
    ),
    st.ShowDatabases: lambda s: (
        "SHOW CURRENT DATABASE" if s.current else _words("SHOW DATABASES", _option("LIKE", s.like))
    ),
    st.DescribeDatabase: lambda s: _words(
        "DESCRIBE DATABASE", "EXTENDED" if s.extended else None, _database(s.database)
    ),
    st.UseDatabase: lambda s: f"USE DATABASE {_database(s.database)}",
    st.Rename: lambda s: f"ALTER {s.kind} {_name(s.name)} RENAME TO {'.'.join(map(quote_name, s.to.parts))}",
    st.ShowCreate: lambda s: _words(f"SHOW CREATE {s.kind}", _name(s.name), "AS SERDE" if s.as_serde else None),
    st.StartTransaction: lambda _: "START TRANSACTION",
    st.Commit: lambda _: "COMMIT",
    st.Rollback: lambda _: "ROLLBACK",
    st.ShowCache: lambda s: "SHOW CACHE",
    st.SetSetting: _set,
    st.ResetSetting: lambda s: "RESET" if s.key is None else f"RESET {_key(s.key)}",
}
