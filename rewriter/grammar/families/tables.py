"""Tables: CREATE TABLE in all its forms, DROP, RENAME (of views, too), SHOW TABLES."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from rewriter.errors import AnalysisError, NotSupportedError, Span
from rewriter.grammar.families.clusters import on_cluster_text
from rewriter.grammar.statement_parts import Clause, Terminal, from_to, refuse_duplicates, values_by_kind
from rewriter.grammar.statements import Statement, builds, renders
from rewriter.grammar.table_clauses import (
    Format,
    delimited_format,
    file_format_name,
    format_of_class,
    format_of_classes,
    partition_transform,
    refuse_schema,
    refused_nesting,
    row_format_text,
    table_flags,
    table_options,
    with_path_as_location,
)
from rewriter.grammar.terms import ClusterName, ColumnDef, DatabaseName, Name, NewName, Query
from rewriter.grammar.unparse import (
    column_text,
    dropping,
    in_database_text,
    listed,
    name_text,
    option,
    options_text,
    properties_text,
    quote_name,
    words,
)
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.grammar.row_formats import RowFormat

RULES = r"""
?statement: create_table | create_table_like | drop_table | rename | show_tables

create_table: "CREATE" [or_replace] [temporary] [EXTERNAL] "TABLE" [if_not_exists] name [columns] \
              _table_clause* ["AS" QUERY]
create_table_like: "CREATE" [temporary] [EXTERNAL] "TABLE" [if_not_exists] name "LIKE" name _like_clause*
_table_clause: using | stored_as | partitioned_by | comment | location | properties | row_format | stored_by_classes \
             | on_cluster | file_options
_like_clause: using | stored_as | location | properties | row_format | stored_by_classes | on_cluster | file_options
using: USING NAME
stored_as: STORED "AS" NAME
partitioned_by: PARTITIONED "BY" "(" _partition_column ("," _partition_column)* ")"
_partition_column: column | column_reference | transform
column_reference: NAME
transform: NAME "(" _transform_argument ("," _transform_argument)* ")"
_transform_argument: NAME | NUMBER | STRING
row_format: ROW "FORMAT" "SERDE" STRING ["WITH" serde_properties] | delimited
file_options: OPTIONS "(" property ("," property)* ")"
delimited: ROW "FORMAT" "DELIMITED" (fields | escaped | null_text | line_end | nested_end)*
fields: FIELDS "TERMINATED" "BY" STRING
escaped: ESCAPED "BY" STRING
line_end: LINES "TERMINATED" "BY" STRING
nested_end: COLLECTION "ITEMS" "TERMINATED" "BY" STRING | MAP "KEYS" "TERMINATED" "BY" STRING
null_text: NULL "DEFINED" "AS" STRING
stored_by_classes: STORED "AS" "INPUTFORMAT" STRING "OUTPUTFORMAT" STRING
drop_table: "DROP" "TABLE" [if_exists] name [PURGE]
rename: "ALTER" (TABLE | VIEW) name "RENAME" "TO" new_name
new_name: NAME ("." NAME)*
show_tables: "SHOW" "TABLES" [in_database] ["LIKE"? STRING]
"""


@dataclass(frozen=True, kw_only=True)
class NewTable(Statement):
    """The fields that all forms of CREATE TABLE share.

    ``serde_properties`` are those of OpenCSVSerde; ``None`` without this class. ``options`` are those of OPTIONS but
    the path, which is the location; ``None`` without the clause.
    """

    table: Name
    external: bool = False
    temporary: bool = False
    if_not_exists: bool = False
    format: str | None = None
    row_format: RowFormat | None = None
    serde_properties: tuple[tuple[str, str], ...] | None = None
    options: tuple[tuple[str, str], ...] | None = None
    option_spans: tuple[Span, ...] = field(default=(), compare=False)
    location: str | None = None
    properties: tuple[tuple[str, str], ...] = ()
    property_spans: tuple[Span, ...] = field(default=(), compare=False)
    format_span: Span | None = field(default=None, compare=False)
    cluster: ClusterName | None = None

    def permanent_names(self) -> tuple[str, ...]:
        return () if self.temporary else ("table",)

    def unqualified_names(self) -> tuple[str, ...]:
        return ("table",) if self.temporary else ()


@dataclass(frozen=True, kw_only=True)
class CreateTable(NewTable):
    """``CREATE [OR REPLACE] [TEMPORARY] [EXTERNAL] TABLE [IF NOT EXISTS] t [(columns)] …``.

    Without ``columns`` there is a ``location``, whose files give them.
    """

    columns: tuple[ColumnDef, ...]
    partitioned_by: tuple[ColumnDef, ...] = ()
    comment: str | None = None
    or_replace: bool = False


@dataclass(frozen=True, kw_only=True)
class CreateTableAs(NewTable):
    """``CREATE [OR REPLACE] [TEMPORARY] [EXTERNAL] TABLE [IF NOT EXISTS] t … AS query``.

    ``partitioned_by`` refers to columns that the query returns: none has a type.
    """

    query: Query
    partitioned_by: tuple[ColumnDef, ...] = ()
    comment: str | None = None
    or_replace: bool = False


@builds("create_table")
def create_table(
    or_replace: bool | None,
    temporary: bool | None,
    external: Terminal | None,
    if_not_exists: bool | None,
    table: Name,
    columns: tuple[ColumnDef, ...] | None,
    *rest: Any,
) -> CreateTable | CreateTableAs:
    *clauses, query = rest
    values = values_by_kind(clauses)
    flags = table_flags(or_replace, temporary, external, if_not_exists, table)
    partitioned_by = values.get("PARTITIONED BY", ())
    if query is not None:
        refuse_schema(table, columns, partitioned_by)
        text = Query(query.token.text, query.span)
        options = with_path_as_location(table_options(values))
        return CreateTableAs(table=table, query=text, partitioned_by=partitioned_by, **flags, **options)
    options = with_path_as_location(table_options(values))
    _refuse_not_null(columns or (), partitioned_by)
    if columns is None and options["location"] is None:
        raise AnalysisError(
            f"CREATE TABLE {table.last} has no columns, and no LOCATION whose files give them.",
            condition="UNABLE_TO_INFER_SCHEMA",
            sqlstate="42KD9",
            position=table.span,
            object=table.last,
            hint="Declare the columns: CREATE TABLE t (name type, …) PARTITIONED BY (dt string); or write LOCATION "
            "'directory', of a directory with files.",
        )
    return CreateTable(table=table, columns=columns or (), partitioned_by=partitioned_by, **flags, **options)


def _refuse_not_null(columns: tuple[ColumnDef, ...], partitioned_by: tuple[ColumnDef, ...]) -> None:
    """Refuses NOT NULL of a partition column: partitions come in other ways than by rows that are written."""
    names = {column.name.lower() for column in partitioned_by if column.transform is None}
    for column in (*columns, *partitioned_by):
        if column.not_null and column.name.lower() in names:
            raise NotSupportedError(
                f"NOT NULL of the partition column {column.name} is not supported.",
                position=column.not_null_span,
                object=column.name,
                hint="Omit NOT NULL, and filter NULL in the query.",
            )


@renders(CreateTable)
def create_table_text(s: CreateTable) -> str:
    return words(
        creating(s),
        name_text(s.table),
        listed(map(column_text, s.columns)) if s.columns else None,
        *table_clauses_text(s),
    )


@renders(CreateTableAs)
def create_table_as_text(s: CreateTableAs) -> str:
    return words(creating(s), name_text(s.table), *table_clauses_text(s), f"AS {s.query.text}")


@dataclass(frozen=True, kw_only=True)
class CreateTableLike(NewTable):
    """``CREATE [TEMPORARY] [EXTERNAL] TABLE [IF NOT EXISTS] t LIKE source …``."""

    source: Name


@builds("create_table_like")
def create_table_like(
    temporary: bool | None,
    external: Terminal | None,
    if_not_exists: bool | None,
    table: Name,
    source: Name,
    *clauses: Clause,
) -> CreateTableLike:
    flags = table_flags(None, temporary, external, if_not_exists, table)
    options = with_path_as_location(table_options(values_by_kind(clauses)))
    del flags["or_replace"], options["comment"]
    return CreateTableLike(table=table, source=source, **flags, **options)


@renders(CreateTableLike)
def create_table_like_text(s: CreateTableLike) -> str:
    return words(
        creating(s),
        name_text(s.table),
        f"LIKE {name_text(s.source)}",
        *format_text(s),
        option("LOCATION", s.location),
        properties_text(s.properties),
        on_cluster_text(s.cluster),
    )


def creating(s: CreateTable | CreateTableAs | CreateTableLike) -> str:
    return words(
        "CREATE",
        "OR REPLACE" if not isinstance(s, CreateTableLike) and s.or_replace else None,
        "TEMPORARY" if s.temporary else None,
        "EXTERNAL" if s.external else None,
        "TABLE",
        "IF NOT EXISTS" if s.if_not_exists else None,
    )


def format_text(s: NewTable) -> tuple[str | None, ...]:
    """Returns the clauses of the format."""
    has_class = s.format is None or s.serde_properties is not None
    return (
        None if has_class else f"USING {quote_name(s.format or '')}",
        row_format_text(s.row_format, s.serde_properties),
        options_text(s.options or ()),
    )


def table_clauses_text(s: CreateTable | CreateTableAs) -> tuple[str | None, ...]:
    return (
        *format_text(s),
        f"PARTITIONED BY {listed(map(column_text, s.partitioned_by))}" if s.partitioned_by else None,
        option("COMMENT", s.comment),
        option("LOCATION", s.location),
        properties_text(s.properties),
        on_cluster_text(s.cluster),
    )


@builds("using")
def using(word: Terminal, name: Terminal) -> Clause:
    return Clause("USING or STORED AS", Format(name.name.lower(), name.span), word.span)


@builds("stored_as")
def stored_as(word: Terminal, name: Terminal) -> Clause:
    return Clause("USING or STORED AS", Format(file_format_name(name), name.span), word.span)


@builds("partitioned_by")
def partitioned_by(word: Terminal, *columns: ColumnDef) -> Clause:
    return Clause("PARTITIONED BY", columns, word.span)


@builds("column_reference")
def column_reference(name: Terminal) -> ColumnDef:
    return ColumnDef(name.name, None, None, name.span)


@builds("transform")
def transform(name: Terminal, *arguments: Terminal) -> ColumnDef:
    return partition_transform(name, arguments)


@builds("row_format")
def row_format(*parts: Any) -> Clause:
    if len(parts) == 1:
        clause: Clause = parts[0]
        return clause
    word, name, properties = parts
    return Clause("ROW FORMAT", format_of_class(name, () if properties is None else properties[1]), word.span)


@builds("file_options")
def file_options(word: Terminal, *properties: tuple[tuple[str, str], Span]) -> Clause:
    refuse_duplicates([(key, span) for (key, _), span in properties], str.lower)
    return Clause("OPTIONS", properties, word.span)


@builds("delimited")
def delimited(word: Terminal, *clauses: Clause) -> Clause:
    return Clause("ROW FORMAT", delimited_format(clauses, word.span), word.span)


@builds("fields")
def fields(word: Terminal, text: Terminal) -> Clause:
    return Clause("FIELDS TERMINATED BY", text, from_to(word.span, text.span))


@builds("escaped")
def escaped(word: Terminal, text: Terminal) -> Clause:
    return Clause("ESCAPED BY", text, from_to(word.span, text.span))


@builds("line_end")
def line_end(word: Terminal, text: Terminal) -> Clause:
    return Clause("LINES TERMINATED BY", text, from_to(word.span, text.span))


@builds("nested_end")
def nested_end(word: Terminal, text: Terminal) -> Clause:
    raise refused_nesting(from_to(word.span, text.span))


@builds("null_text")
def null_text(word: Terminal, text: Terminal) -> Clause:
    return Clause("NULL DEFINED AS", text, from_to(word.span, text.span))


@builds("stored_by_classes")
def stored_by_classes(word: Terminal, reads: Terminal, writes: Terminal) -> Clause:
    return Clause("USING or STORED AS", format_of_classes(reads, writes), word.span)


@dataclass(frozen=True, kw_only=True)
class DropTable(Statement):
    table: Name
    if_exists: bool = False
    purge: bool = False


@builds("drop_table")
def drop_table(if_exists: bool | None, table: Name, purge: Terminal | None) -> DropTable:
    return DropTable(table=table, if_exists=bool(if_exists), purge=purge is not None)


@renders(DropTable)
def drop_table_text(s: DropTable) -> str:
    return dropping("TABLE", s.table, s.if_exists, s.purge)


@dataclass(frozen=True, kw_only=True)
class Rename(Statement):
    """``ALTER TABLE|VIEW a RENAME TO b``; ``kind`` is ``TABLE`` or ``VIEW``."""

    kind: str
    name: Name
    to: NewName


@builds("rename")
def rename(kind: Terminal, name: Name, to: NewName) -> Rename:
    return Rename(kind=kind.type, name=name, to=to)


@builds("new_name")
def new_name(*parts: Terminal) -> NewName:
    return NewName(tuple(part.name for part in parts), from_to(parts[0].span, parts[-1].span))


@renders(Rename)
def rename_text(s: Rename) -> str:
    return f"ALTER {s.kind} {name_text(s.name)} RENAME TO {'.'.join(map(quote_name, s.to.parts))}"


@dataclass(frozen=True, kw_only=True)
class ShowTables(Statement):
    like: str | None = None
    database: DatabaseName | None = None


@builds("show_tables")
def show_tables(database: DatabaseName | None, pattern: Terminal | None) -> ShowTables:
    return ShowTables(like=pattern.string if pattern else None, database=database)


@renders(ShowTables)
def show_tables_text(s: ShowTables) -> str:
    return words("SHOW TABLES", in_database_text(s.database), option("LIKE", s.like))
