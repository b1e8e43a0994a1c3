"""Builds statements out of what the lark grammar recognised: one method per rule of ``dialect.lark``.

What fits the grammar and means nothing is refused here, with the condition that Spark has for it.
"""

from __future__ import annotations

from typing import Any

from lark import v_args

from rewriter.errors import NotSupportedError, ParseError, Span
from rewriter.grammar import statements as st
from rewriter.grammar.clauses import (
    Clause,
    Terminal,
    check_if_not_exists,
    fact_table,
    from_to,
    inside,
    once,
    period_name,
    refuse_duplicates,
    require_values,
    whole_number,
)
from rewriter.grammar.creation import (
    Format,
    format_of_class,
    format_of_classes,
    refuse_schema,
    refused_transform,
    table_and_column,
    table_flags,
    table_options,
)
from rewriter.grammar.datatypes import scalar_type, struct_type
from rewriter.grammar.filter_builder import FilterBuilder
from rewriter.grammar.filters import Comparison, Filter, check_depth, conjunction


@v_args(inline=True)
class Builder(FilterBuilder):
    """The transformer that lark calls while it reads. Optional parts that are absent arrive as ``None``."""

    # ---- names and literals

    def name(self, *parts: Terminal) -> st.Name:
        return st.Name(tuple(part.name for part in parts), from_to(parts[0].span, parts[-1].span))

    def names(self, *names: Terminal) -> tuple[str, ...]:
        return tuple(name.name for name in names)

    def if_exists(self) -> bool:
        return True

    def if_not_exists(self) -> bool:
        return True

    def string(self, *parts: Terminal) -> st.Literal:
        span = from_to(parts[0].span, parts[-1].span)
        return st.Literal("string", "".join(part.string for part in parts), span)

    def number(self, number: Terminal) -> st.Literal:
        return st.Literal("number", number.token.text, number.span)

    def negative_number(self, minus: Terminal, number: Terminal) -> st.Literal:
        return st.Literal("number", f"-{number.token.text}", from_to(minus.span, number.span))

    def null(self, word: Terminal) -> st.Literal:
        return st.Literal("null", "", word.span)

    def boolean(self, word: Terminal) -> st.Literal:
        return st.Literal("boolean", word.word.lower(), word.span)

    def instant(self, kind: Terminal, text: Terminal) -> st.Literal:
        return st.Literal(kind.word.lower(), text.string, from_to(kind.span, text.span))

    # ---- databases and names

    def database_name(self, *parts: Terminal) -> st.DatabaseName:
        span = from_to(parts[0].span, parts[-1].span)
        names = [part.name for part in parts]
        if len(names) > 2 or (len(names) == 2 and names[0].lower() != "spark_catalog"):
            raise ParseError(
                f"'{'.'.join(names)}' is no name of a database: there is one catalog.",
                condition="REQUIRES_SINGLE_PART_NAMESPACE",
                sqlstate="42K05",
                position=span,
                object=".".join(names),
                hint=f"Write {names[-1]}, or spark_catalog.{names[-1]}.",
            )
        return st.DatabaseName(names[-1], span)

    def create_database(
        self, if_not_exists: bool | None, database: st.DatabaseName, *clauses: Clause
    ) -> st.CreateDatabase:
        found = once(clauses)
        return st.CreateDatabase(
            database=database,
            if_not_exists=bool(if_not_exists),
            comment=found.get("COMMENT"),
            location=found.get("LOCATION"),
            properties=tuple(pair for pair, _ in found.get("DBPROPERTIES", ())),
        )

    def database_properties(self, word: Terminal, *properties: tuple[tuple[str, str], Span]) -> Clause:
        return self.properties(word, *properties)._replace(kind="DBPROPERTIES")

    def drop_database(self, if_exists: bool | None, database: st.DatabaseName, how: Terminal | None) -> st.DropDatabase:
        cascade = how is not None and how.type == "CASCADE"
        return st.DropDatabase(database=database, if_exists=bool(if_exists), cascade=cascade)

    def show_databases(self, pattern: Terminal | None) -> st.ShowDatabases:
        return st.ShowDatabases(like=pattern.string if pattern else None)

    def show_current_database(self) -> st.ShowDatabases:
        return st.ShowDatabases(current=True)

    def show_cache(self) -> st.ShowCache:
        return st.ShowCache()

    def describe_database(self, *parts: Any) -> st.DescribeDatabase:
        return st.DescribeDatabase(database=parts[-1], extended=len(parts) > 1)

    def use_database(self, database: st.DatabaseName) -> st.UseDatabase:
        return st.UseDatabase(database=database)

    def start_transaction(self, start: Terminal | None = None) -> st.StartTransaction:
        return st.StartTransaction()

    def commit(self) -> st.Commit:
        return st.Commit()

    def rollback(self) -> st.Rollback:
        return st.Rollback()

    def use_cluster(self, word: Terminal, cluster: Terminal | None = None) -> st.UseDatabase:
        raise NotSupportedError(
            "USE CLUSTER is not supported yet.",
            position=from_to(word.span, (cluster or word).span),
            hint="Clusters come later: the engine is chosen where the session is opened. A database of that name is "
            "`cluster`, in backquotes.",
        )

    def in_database(self, database: st.DatabaseName) -> st.DatabaseName:
        return database

    def rename(self, kind: Terminal, name: st.Name, to: st.NewName) -> st.Rename:
        return st.Rename(kind=kind.type, name=name, to=to)

    def new_name(self, *parts: Terminal) -> st.NewName:
        return st.NewName(tuple(part.name for part in parts), from_to(parts[0].span, parts[-1].span))

    def show_create(self, kind: Terminal, name: st.Name, as_serde: bool | None) -> st.ShowCreate:
        return st.ShowCreate(kind=kind.type, name=name, as_serde=bool(as_serde))

    def as_serde(self) -> bool:
        return True

    # ---- types and columns

    def simple_type(self, name: Terminal) -> str:
        return scalar_type(name.name, (), name.span)

    def sized_type(self, name: Terminal, *sizes: Terminal) -> str:
        span = from_to(name.span, sizes[-1].span)
        return scalar_type(name.name, [size.token.text for size in sizes], span)

    def array_type(self, element: str) -> str:
        return f"array<{element}>"

    def map_type(self, key: str, value: str) -> str:
        return f"map<{key},{value}>"

    def struct_type(self, *fields: tuple[str, str] | None) -> str:
        return struct_type([field for field in fields if field])

    def field(self, name: Terminal, type_: str) -> tuple[str, str]:
        return name.name, type_

    def columns(self, *columns: st.ColumnDef) -> tuple[st.ColumnDef, ...]:
        return columns

    def column(self, name: Terminal, type_: str, comment: Terminal | None) -> st.ColumnDef:
        return st.ColumnDef(name.name, type_, comment.string if comment else None, name.span)

    def column_reference(self, name: Terminal) -> st.ColumnDef:
        return st.ColumnDef(name.name, None, None, name.span)

    # ---- tables

    def create_table(
        self,
        or_replace: bool | None,
        temporary: bool | None,
        external: Terminal | None,
        if_not_exists: bool | None,
        table: st.Name,
        columns: tuple[st.ColumnDef, ...] | None,
        *rest: Any,
    ) -> st.CreateTable | st.CreateTableAs:
        *clauses, query = rest
        found = once(clauses)
        flags = table_flags(or_replace, temporary, external, if_not_exists, table)
        partitioned_by = found.get("PARTITIONED BY", ())
        if query is not None:
            refuse_schema(table, columns, partitioned_by)
            text = st.Query(query.token.text, query.span)
            options = table_options(found)
            return st.CreateTableAs(table=table, query=text, partitioned_by=partitioned_by, **flags, **options)
        if columns is None:
            raise NotSupportedError(
                "CREATE TABLE without columns is not supported.",
                position=table.span,
                hint="Declare the columns: CREATE TABLE t (name type, …) PARTITIONED BY (dt string)",
            )
        return st.CreateTable(
            table=table, columns=columns, partitioned_by=partitioned_by, **flags, **table_options(found)
        )

    def using(self, word: Terminal, name: Terminal) -> Clause:
        return Clause("USING or STORED AS", Format(name.name.lower(), name.span), word.span)

    def stored_as(self, word: Terminal, name: Terminal) -> Clause:
        return Clause("USING or STORED AS", Format(name.name.lower(), name.span), word.span)

    def partitioned_by(self, word: Terminal, *columns: st.ColumnDef) -> Clause:
        return Clause("PARTITIONED BY", columns, word.span)

    def comment(self, word: Terminal, text: Terminal) -> Clause:
        return Clause("COMMENT", text.string, word.span)

    def location(self, word: Terminal, text: Terminal) -> Clause:
        return Clause("LOCATION", text.string, word.span)

    def properties(self, word: Terminal, *properties: tuple[tuple[str, str], Span]) -> Clause:
        refuse_duplicates([(key, span) for (key, _), span in properties], str)
        return Clause("TBLPROPERTIES", properties, word.span)

    def property(self, key: Terminal | st.ColumnName, value: Terminal) -> tuple[tuple[str, str], Span]:
        name = self._key_of(key)
        text = value.string if value.type == "STRING" else value.token.text
        return (name, text.lower() if value.type in ("TRUE", "FALSE") else text), key.span

    def property_path(self, *parts: Terminal) -> st.ColumnName:
        return st.ColumnName(tuple(part.name for part in parts), from_to(parts[0].span, parts[-1].span))

    def _key_of(self, key: Terminal | st.ColumnName) -> str:
        return ".".join(key.parts) if isinstance(key, st.ColumnName) else key.string

    def set_properties(self, table: st.Name, clause: Clause) -> st.SetProperties:
        pairs, spans = zip(*clause.value, strict=True)
        return st.SetProperties(table=table, properties=pairs, property_spans=spans)

    def unset_properties(
        self, table: st.Name, _word: Terminal, if_exists: bool | None, *keys: Terminal | st.ColumnName
    ) -> st.UnsetProperties:
        names = [(self._key_of(key), key.span) for key in keys]
        refuse_duplicates(names, str)
        return st.UnsetProperties(table=table, keys=tuple(name for name, _ in names), if_exists=bool(if_exists))

    def set_timeline(self, table: st.Name, period: Terminal, column: Terminal, to: Terminal) -> st.SetTimeline:
        return st.SetTimeline(
            table=table,
            period=period_name(period),
            column=column.name,
            implementation=to.string,
            period_span=period.span,
            column_span=column.span,
            implementation_span=to.span,
        )

    def drop_table(self, if_exists: bool | None, table: st.Name, purge: Terminal | None) -> st.DropTable:
        return st.DropTable(table=table, if_exists=bool(if_exists), purge=purge is not None)

    def show_tables(self, database: st.DatabaseName | None, pattern: Terminal | None) -> st.ShowTables:
        return st.ShowTables(like=pattern.string if pattern else None, database=database)

    def describe(self, *parts: Any) -> st.Describe:
        *options, name, partition, column, as_json = parts
        groups = ["kind" if option.type in ("TABLE", "CUBE", "FACT") else "detail" for option in options]
        found = once(Clause(group, option.type, option.span) for group, option in zip(groups, options, strict=True))
        kind = found.get("kind", "TABLE")
        require_values(partition or ())
        beyond = name.span if as_json else column.span if column else partition[-1].span if partition else None
        if kind != "TABLE" and beyond is not None:
            raise ParseError(
                f"DESCRIBE {kind} describes a {kind.lower()} as a whole.",
                position=beyond,
                hint=f"Write DESCRIBE {kind} {name.last}, or DESCRIBE TABLE of one of its tables.",
            )
        return st.Describe(
            name=name,
            kind=kind,
            extended="detail" in found,
            partition=partition,
            column=column,
            as_json=bool(as_json),
        )

    # ---- what is known of tables and partitions

    def show_table_extended(
        self, database: st.DatabaseName | None, pattern: Terminal, partition: tuple[st.PartitionItem, ...] | None
    ) -> st.ShowTableExtended:
        require_values(partition or ())
        return st.ShowTableExtended(like=pattern.string, database=database, partition=partition, like_span=pattern.span)

    def show_columns(self, table: st.Name, database: st.DatabaseName | None) -> st.ShowColumns:
        return st.ShowColumns(table=table if database is None else inside(table, database))

    def show_tblproperties(
        self, _word: Terminal, table: st.Name, key: Terminal | st.ColumnName | None = None
    ) -> st.ShowTableProperties:
        return st.ShowTableProperties(table=table, key=self._key_of(key) if key is not None else None)

    def analyze_table(
        self,
        table: st.Name,
        partition: tuple[st.PartitionItem, ...] | None,
        what: Terminal | tuple[st.ColumnName, ...] | None,
    ) -> st.AnalyzeTable:
        noscan = isinstance(what, Terminal)
        return st.AnalyzeTable(
            table=table, partition=partition, columns=None if isinstance(what, Terminal) else what, noscan=noscan
        )

    def analyzed_columns(self, *columns: Terminal) -> tuple[st.ColumnName, ...]:
        refuse_duplicates([(column.name, column.span) for column in columns], str.lower)
        return tuple(self.property_path(column) for column in columns)

    def analyze_tables(self, database: st.DatabaseName | None, noscan: Terminal | None) -> st.AnalyzeTables:
        return st.AnalyzeTables(database=database, noscan=noscan is not None)

    # ---- other forms of CREATE TABLE, and columns

    def temporary(self) -> bool:
        return True

    def transform(self, name: Terminal, *arguments: Terminal) -> st.ColumnDef:
        raise refused_transform(name, arguments)

    def row_format(self, word: Terminal, name: Terminal) -> Clause:
        return Clause("ROW FORMAT", format_of_class(name), word.span)

    def stored_by_classes(self, word: Terminal, reads: Terminal, writes: Terminal) -> Clause:
        return Clause("USING or STORED AS", format_of_classes(reads, writes), word.span)

    def create_table_like(
        self,
        temporary: bool | None,
        external: Terminal | None,
        if_not_exists: bool | None,
        table: st.Name,
        source: st.Name,
        *clauses: Clause,
    ) -> st.CreateTableLike:
        flags = table_flags(None, temporary, external, if_not_exists, table)
        options = table_options(once(clauses))
        del flags["or_replace"], options["comment"]
        return st.CreateTableLike(table=table, source=source, **flags, **options)

    def add_columns(self, table: st.Name, *columns: Any) -> st.AddColumns:
        listed = isinstance(columns[0], tuple)
        return st.AddColumns(table=table, columns=columns[0] if listed else columns)

    def comment_column(self, table: st.Name, column: Terminal, comment: Terminal) -> st.CommentColumn:
        return st.CommentColumn(table=table, column=column.name, comment=comment.string, column_span=column.span)

    def change_column(
        self, table: st.Name, column: Terminal, name: Terminal, type_: str, comment: Terminal | None
    ) -> st.CommentColumn:
        return st.CommentColumn(
            table=table,
            column=column.name,
            comment=comment.string if comment else None,
            renamed=st.ColumnDef(name.name, type_, None, name.span),
            column_span=column.span,
        )

    def comment_on(self, table: st.Name, comment: Terminal) -> st.CommentTable:
        return st.CommentTable(table=table, comment=comment.string if comment.type == "STRING" else None)

    def comment_on_column(self, name: st.Name, comment: Terminal) -> st.CommentColumn:
        table, column = table_and_column(name)
        return st.CommentColumn(
            table=table,
            column=column,
            comment=comment.string if comment.type == "STRING" else None,
            column_span=name.span,
        )

    # ---- views

    def create_view(
        self,
        or_replace: bool | None,
        if_not_exists: bool | None,
        view: st.Name,
        columns: tuple[st.ColumnDef, ...] | None,
        *rest: Any,
    ) -> st.CreateView:
        *clauses, query = rest
        found = once(clauses)
        if or_replace and if_not_exists:
            raise ParseError(
                "CREATE VIEW with both IF NOT EXISTS and OR REPLACE is not allowed.",
                condition="CREATE_VIEW_WITH_IF_NOT_EXISTS_AND_REPLACE",
                sqlstate="42601",
                position=view.span,
                object=view.last,
                hint="Leave one of them out.",
            )
        return st.CreateView(
            view=view,
            query=st.Query(query.token.text, query.span),
            columns=columns,
            or_replace=bool(or_replace),
            if_not_exists=bool(if_not_exists),
            comment=found.get("COMMENT"),
            properties=tuple(pair for pair, _ in found.get("TBLPROPERTIES", ())),
        )

    def or_replace(self) -> bool:
        return True

    def view_columns(self, *columns: st.ColumnDef) -> tuple[st.ColumnDef, ...]:
        return columns

    def view_column(self, name: Terminal, comment: Terminal | None) -> st.ColumnDef:
        return st.ColumnDef(name.name, None, comment.string if comment else None, name.span)

    def drop_view(self, if_exists: bool | None, view: st.Name) -> st.DropView:
        return st.DropView(view=view, if_exists=bool(if_exists))

    def show_views(self, database: st.DatabaseName | None, pattern: Terminal | None) -> st.ShowViews:
        return st.ShowViews(like=pattern.string if pattern else None, database=database)

    # ---- inserting

    def by_name(self, _word: Terminal) -> bool:
        return True

    def load_data(
        self,
        local: Terminal | None,
        path: Terminal,
        overwrite: Terminal | None,
        table: st.Name,
        partition: tuple[st.PartitionItem, ...] | None,
    ) -> st.LoadData:
        require_values(partition or ())
        return st.LoadData(
            path=path.string,
            table=table,
            partition=partition,
            overwrite=overwrite is not None,
            local=local is not None,
            path_span=path.span,
        )

    def insert(
        self,
        how: Terminal,
        table: st.Name,
        partition: tuple[st.PartitionItem, ...] | None,
        if_not_exists: Terminal | None,
        columns: tuple[str, ...] | bool | None,
        query: Terminal,
    ) -> st.Insert:
        if if_not_exists is not None:
            check_if_not_exists(how, partition or (), if_not_exists)
        return st.Insert(
            table=table,
            query=st.Query(query.token.text, query.span),
            overwrite=how.type == "OVERWRITE",
            partition=partition,
            if_not_exists=if_not_exists is not None,
            columns=columns if isinstance(columns, tuple) else None,
            by_name=columns is True,
        )

    # ---- partitions

    def partition_spec(self, *items: st.PartitionItem) -> tuple[st.PartitionItem, ...]:
        refuse_duplicates([(item.column, item.span) for item in items], str.lower)
        return items

    def partition_item(self, column: Terminal, value: st.Literal | None) -> st.PartitionItem:
        span = from_to(column.span, value.span) if value else column.span
        return st.PartitionItem(column.name, value, span)

    def add_partitions(
        self, table: st.Name, if_not_exists: bool | None, *partitions: st.PartitionLocation
    ) -> st.AddPartitions:
        return st.AddPartitions(table=table, partitions=partitions, if_not_exists=bool(if_not_exists))

    def partition_location(self, spec: tuple[st.PartitionItem, ...], location: Terminal | None) -> st.PartitionLocation:
        require_values(spec)
        return st.PartitionLocation(spec=spec, location=location.string if location else None)

    def drop_partitions(self, table: st.Name, if_exists: bool | None, *rest: Any) -> st.DropPartitions:
        *specs, purge = rest
        return st.DropPartitions(table=table, specs=tuple(specs), if_exists=bool(if_exists), purge=purge is not None)

    def drop_spec(self, *conditions: Filter) -> tuple[Filter, ...]:
        equal = [one for one in conditions if isinstance(one, Comparison) and one.op == "="]
        refuse_duplicates([(one.column, one.span) for one in equal], str.lower)
        return conditions

    def valueless(self, name: Terminal) -> None:
        require_values((st.PartitionItem(name.name, None, name.span),))

    def operator(self, op: Terminal) -> str:
        return {"==": "=", "!=": "<>"}.get(op.token.text, op.token.text)

    def show_partitions(
        self,
        table: st.Name,
        partition: tuple[st.PartitionItem, ...] | None,
        where: Filter | None,
        order_by: tuple[st.SortKey, ...] | None,
        limit: int | None,
        as_json: bool | None,
    ) -> st.ShowPartitions:
        require_values(partition or ())
        return st.ShowPartitions(
            table=table,
            partition=partition,
            where=where,
            order_by=order_by or (),
            limit=limit,
            as_json=bool(as_json),
        )

    def where(self, tree: Filter) -> Filter:
        check_depth(tree)
        return tree

    def order_by(self, *keys: st.SortKey) -> tuple[st.SortKey, ...]:
        return keys

    def sort_key(self, name: Terminal, direction: Terminal | None) -> st.SortKey:
        descending = direction is not None and direction.type == "DESC"
        return st.SortKey(name.name, descending, name.span)

    def limit(self, number: Terminal) -> int:
        rows = whole_number(number)
        if rows is None:
            raise ParseError(
                f"LIMIT {number.token.text} is no number of rows.",
                position=number.span,
                hint="Write a whole number, as in LIMIT 10.",
            )
        return rows

    def as_json(self) -> bool:
        return True

    # ---- moves of partitions, and where and how they are stored

    def rename_partition(
        self, table: st.Name, partition: tuple[st.PartitionItem, ...], to: tuple[st.PartitionItem, ...]
    ) -> st.RenamePartition:
        require_values((*partition, *to))
        return st.RenamePartition(table=table, partition=partition, to=to)

    def exchange_partitions(self, table: st.Name, *rest: Any) -> st.ExchangePartitions:
        *partitions, source = rest
        for spec in partitions:
            require_values(spec)
        return st.ExchangePartitions(table=table, partitions=tuple(partitions), source=source)

    def truncate(self, table: st.Name, partition: tuple[st.PartitionItem, ...] | None) -> st.Truncate:
        require_values(partition or ())
        return st.Truncate(table=table, partition=partition)

    def compact(
        self, table: st.Name, partition: tuple[st.PartitionItem, ...] | None, kind: Terminal | None
    ) -> st.Compact:
        require_values(partition or ())
        if kind is not None and kind.string.lower() != "major":
            raise NotSupportedError(
                f"COMPACT '{kind.string}' is not supported.",
                position=kind.span,
                hint="There is one kind, Hive's 'major': all files of a partition become one.",
            )
        return st.Compact(table=table, partition=partition)

    def vacuum(
        self, table: st.Name | None, number: Terminal | None, unit: Terminal | None, dry: Terminal | None
    ) -> st.Vacuum:
        if number is None or unit is None:
            return st.Vacuum(table=table, dry_run=dry is not None)
        hours = whole_number(number)
        if hours is None or unit.name.upper() not in ("HOUR", "HOURS"):
            raise ParseError(
                f"RETAIN takes a whole number of hours, not {number.token.text} {unit.name}.",
                position=Span(number.span.start, unit.span.end),
                hint="Write RETAIN 24 HOURS.",
            )
        return st.Vacuum(table=table, hours=hours, dry_run=dry is not None)

    def set_location(
        self, table: st.Name, partition: tuple[st.PartitionItem, ...] | None, location: Terminal
    ) -> st.SetLocation:
        require_values(partition or ())
        return st.SetLocation(table=table, location=location.string, partition=partition, location_span=location.span)

    def set_file_format(
        self, table: st.Name, partition: tuple[st.PartitionItem, ...] | None, name: Terminal
    ) -> st.SetFileFormat:
        require_values(partition or ())
        return st.SetFileFormat(table=table, format=name.name.lower(), partition=partition, format_span=name.span)

    def hive_format(self, word: Terminal, *_classes: Terminal | None) -> Terminal:
        raise NotSupportedError(
            "SET FILEFORMAT with classes of Hive is not supported.",
            position=word.span,
            hint="Name the format: ALTER TABLE t SET FILEFORMAT parquet",
        )

    def set_serde(
        self, table: st.Name, partition: tuple[st.PartitionItem, ...] | None, what: tuple[Terminal | None, Any]
    ) -> st.SetSerde:
        require_values(partition or ())
        serde, found = what
        return st.SetSerde(
            table=table,
            serde=serde.string if serde is not None else None,
            properties=tuple(pair for pair, _ in found),
            partition=partition,
            serde_span=serde.span if serde is not None else table.span,
            property_spans=tuple(span for _, span in found),
        )

    def serde_class(self, serde: Terminal, properties: tuple[None, Any] | None) -> tuple[Terminal, Any]:
        return serde, properties[1] if properties is not None else ()

    def serde_properties(self, *properties: tuple[tuple[str, str], Span]) -> tuple[None, Any]:
        refuse_duplicates([(key, span) for (key, _), span in properties], str)
        return None, properties

    # ---- directories of external tables

    def repair_table(self, *parts: Any) -> st.RepairTable:
        *words, table, what, where = parts
        repair = words[-1].type == "REPAIR"
        return st.RepairTable(table=table, repair=repair, what=what or ("ADD" if repair else "SYNC"), where=where)

    def repaired(self, word: Terminal) -> str:
        return word.word.upper()

    def repaired_where(self, *parts: Filter) -> Filter:
        return self.where(conjunction(parts))

    def recover_partitions(self, table: st.Name) -> st.RepairTable:
        return st.RepairTable(table=table, repair=True, what="ADD")

    # ---- cubes

    def create_cube(
        self, if_not_exists: bool | None, name: st.Name, columns: tuple[st.CubeColumn, ...], zone: Terminal | None
    ) -> st.CreateCube:
        return st.CreateCube(
            name=name,
            columns=columns,
            if_not_exists=bool(if_not_exists),
            time_zone=zone.string if zone else None,
        )

    def cube_columns(self, *columns: st.CubeColumn) -> tuple[st.CubeColumn, ...]:
        return columns

    def dimension(self, name: Terminal, type_: str) -> st.CubeColumn:
        return st.CubeColumn(name.name, type_, span=name.span)

    def time_dimension(self, name: Terminal, type_: str, _word: Terminal) -> st.CubeColumn:
        return st.CubeColumn(name.name, type_, "TIME", span=name.span)

    def measure(self, name: Terminal, type_: str, aggregate: Terminal, *options: Clause) -> st.CubeColumn:
        found = once(options)
        counter = found.get("COUNTED BY")
        if counter and aggregate.type != "SUM":
            raise ParseError(
                f"COUNTED BY belongs to a measure declared SUM, not {aggregate.type}.",
                position=next(option.span for option in options if option.kind == "COUNTED BY"),
                hint="COUNTED BY names the COUNT measure that makes AVG of a SUM measure possible.",
            )
        return st.CubeColumn(name.name, type_, aggregate.type, counter, "NOT NULL" in found, name.span)

    def counted_by(self, word: Terminal, name: Terminal) -> Clause:
        return Clause("COUNTED BY", name.name, word.span)

    def not_null(self, word: Terminal) -> Clause:
        return Clause("NOT NULL", True, word.span)

    def drop_cube(self, if_exists: bool | None, name: st.Name) -> st.DropCube:
        return st.DropCube(name=name, if_exists=bool(if_exists))

    def show_cubes(self, database: st.DatabaseName | None) -> st.ShowCubes:
        return st.ShowCubes(database=database)

    # ---- facts

    def create_fact(self, if_not_exists: bool | None, name: st.Name, cube: st.Name, *rest: Any) -> st.CreateFact:
        columns, weight, *storages = rest
        refuse_duplicates([(storage.name, storage.span) for storage in storages], str.lower)
        size = 0 if weight is None else whole_number(weight)
        if size is None:
            raise ParseError(
                "WEIGHT is a whole number of at most 18 digits.", position=weight.span, hint="Write WEIGHT 10."
            )
        return st.CreateFact(
            name=name,
            cube=cube,
            storages=tuple(storages),
            columns=columns,
            weight=size,
            if_not_exists=bool(if_not_exists),
        )

    def storage(self, stored: Terminal, where: Any, *rest: Any) -> st.FactStorage:
        *tables, start, end = rest
        name, cluster, span = where or ("default", None, stored.span)
        return st.FactStorage(
            name=name,
            tables=tuple(tables),
            cluster=cluster,
            start=start.string if start else None,
            end=end.string if end else None,
            span=span,
        )

    def storage_name(self, name: Terminal, cluster: Terminal | None) -> tuple[str, str | None, Span]:
        return name.name, cluster.name if cluster else None, name.span

    def named_fact_table(self, name: st.Name, *clauses: Clause) -> st.FactTable:
        return fact_table(name, name.span, clauses)

    def unnamed_fact_table(self, *clauses: Clause) -> st.FactTable:
        return fact_table(None, clauses[0].span, clauses)

    def period(self, word: Terminal, name: Terminal) -> Clause:
        return Clause("PERIOD", (period_name(name),), word.span)

    def periods(self, word: Terminal, *names: Terminal) -> Clause:
        refuse_duplicates([(name.name, name.span) for name in names], str.lower)
        return Clause("PERIOD", tuple(period_name(name) for name in names), word.span)

    def partitioned_by_time(self, word: Terminal, time: Terminal, *columns: st.LayoutColumn) -> Clause:
        refuse_duplicates([(column.column, column.span) for column in columns], str.lower)
        return Clause("PARTITIONED BY", (time.name, columns), word.span)

    def layout_column(self, column: Terminal, pattern: Terminal | None) -> st.LayoutColumn:
        return st.LayoutColumn(column.name, pattern.string if pattern else None, column.span)

    def raw(self, word: Terminal) -> Clause:
        return Clause("RAW", True, word.span)

    def trusted(self, word: Terminal) -> Clause:
        return Clause("TRUSTED", True, word.span)

    def valid_from(self, word: Terminal, bound: Terminal) -> Clause:
        return Clause("START", bound.string, word.span)

    def valid_to(self, word: Terminal, bound: Terminal) -> Clause:
        return Clause("END", bound.string, word.span)

    def complete_with_any(self, word: Terminal, column: Terminal) -> Clause:
        return Clause("COMPLETE", st.CompleteWith(column.name, None, column.span), word.span)

    def complete_with(self, word: Terminal, column: Terminal, *values: st.Literal) -> Clause:
        return Clause("COMPLETE", st.CompleteWith(column.name, values, column.span), word.span)

    def drop_fact(self, if_exists: bool | None, name: st.Name) -> st.DropFact:
        return st.DropFact(name=name, if_exists=bool(if_exists))

    def show_facts(self, database: st.DatabaseName | None) -> st.ShowCubes:
        return st.ShowCubes(facts=True, database=database)

    def show_timelines(self, fact: st.Name, storage: Terminal | None, period: Terminal | None) -> st.ShowTimelines:
        return st.ShowTimelines(
            fact=fact,
            storage=storage.name if storage else None,
            period=period_name(period) if period else None,
        )

    def show_coverage(self, fact: st.Name, start: st.Literal | None, end: st.Literal | None) -> st.ShowCoverage:
        return st.ShowCoverage(fact=fact, start=start, end=end)

    def show_latest(self, fact: st.Name) -> st.ShowLatest:
        return st.ShowLatest(fact=fact)

    def check_fact(self, fact: st.Name, start: st.Literal | None, end: st.Literal | None) -> st.CheckFact:
        return st.CheckFact(fact=fact, start=start, end=end)

    def refresh_fact(
        self, fact: st.Name, start: st.Literal | None, end: st.Literal | None, dry: Terminal | None
    ) -> st.RefreshFact:
        return st.RefreshFact(fact=fact, start=start, end=end, dry_run=dry is not None)

    def refresh_timelines(self, fact: st.Name) -> st.RefreshTimelines:
        return st.RefreshTimelines(fact=fact)

    def refresh_table(self, table: st.Name) -> st.RefreshTable:
        return st.RefreshTable(table=table)
