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
    once,
    period_name,
    refuse_duplicates,
    require_values,
)
from rewriter.grammar.datatypes import scalar_type, struct_type
from rewriter.grammar.filter_builder import FilterBuilder
from rewriter.grammar.filters import Filter, check_depth


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
        external: Terminal | None,
        if_not_exists: bool | None,
        table: st.Name,
        columns: tuple[st.ColumnDef, ...] | None,
        *clauses: Clause,
    ) -> st.CreateTable:
        found = once(clauses)
        if columns is None:
            raise NotSupportedError(
                "CREATE TABLE without columns is not supported.",
                position=table.span,
                hint="Declare the columns: CREATE TABLE t (name type, …) PARTITIONED BY (dt string)",
            )
        return st.CreateTable(
            table=table,
            columns=columns,
            partitioned_by=found.get("PARTITIONED BY", ()),
            external=external is not None,
            if_not_exists=bool(if_not_exists),
            format=found.get("USING or STORED AS"),
            location=found.get("LOCATION"),
            comment=found.get("COMMENT"),
            properties=tuple(pair for pair, _ in found.get("TBLPROPERTIES", ())),
            property_spans=tuple(span for _, span in found.get("TBLPROPERTIES", ())),
        )

    def using(self, word: Terminal, name: Terminal) -> Clause:
        return Clause("USING or STORED AS", name.name.lower(), word.span)

    def stored_as(self, word: Terminal, name: Terminal) -> Clause:
        return Clause("USING or STORED AS", name.name.lower(), word.span)

    def partitioned_by(self, word: Terminal, *columns: st.ColumnDef) -> Clause:
        return Clause("PARTITIONED BY", columns, word.span)

    def comment(self, word: Terminal, text: Terminal) -> Clause:
        return Clause("COMMENT", text.string, word.span)

    def location(self, word: Terminal, text: Terminal) -> Clause:
        return Clause("LOCATION", text.string, word.span)

    def properties(self, word: Terminal, *properties: tuple[tuple[str, str], Span]) -> Clause:
        refuse_duplicates([(key, span) for (key, _), span in properties], str)
        return Clause("TBLPROPERTIES", properties, word.span)

    def property(self, key: Terminal | st.Name, value: Terminal) -> tuple[tuple[str, str], Span]:
        name = self._key_of(key)
        text = value.string if value.type == "STRING" else value.token.text
        return (name, text.lower() if value.type in ("TRUE", "FALSE") else text), key.span

    def property_path(self, *parts: Terminal) -> st.Name:
        return self.name(*parts)

    def _key_of(self, key: Terminal | st.Name) -> str:
        return ".".join(key.parts) if isinstance(key, st.Name) else key.string

    def set_properties(self, table: st.Name, clause: Clause) -> st.SetProperties:
        pairs, spans = zip(*clause.value, strict=True)
        return st.SetProperties(table=table, properties=pairs, property_spans=spans)

    def unset_properties(
        self, table: st.Name, _word: Terminal, if_exists: bool | None, *keys: Terminal | st.Name
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

    def show_tables(self, pattern: Terminal | None) -> st.ShowTables:
        return st.ShowTables(like=pattern.string if pattern else None)

    def describe(self, *parts: Any) -> st.Describe:
        *options, name = parts
        groups = ["kind" if option.type in ("TABLE", "CUBE", "FACT") else "detail" for option in options]
        found = once(Clause(group, option.type, option.span) for group, option in zip(groups, options, strict=True))
        return st.Describe(name=name, kind=found.get("kind", "TABLE"), extended="detail" in found)

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

    def show_views(self, pattern: Terminal | None) -> st.ShowViews:
        return st.ShowViews(like=pattern.string if pattern else None)

    # ---- partitions

    def insert(
        self,
        how: Terminal,
        table: st.Name,
        partition: tuple[st.PartitionItem, ...] | None,
        if_not_exists: Terminal | None,
        columns: tuple[str, ...] | None,
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
            columns=columns,
        )

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
        return conditions

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
        if not number.token.text.isascii() or not number.token.text.isdigit() or len(number.token.text) > 18:
            raise ParseError(
                f"LIMIT {number.token.text} is no number of rows.",
                position=number.span,
                hint="Write a whole number, as in LIMIT 10.",
            )
        return int(number.token.text)

    def as_json(self) -> bool:
        return True

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

    def show_cubes(self) -> st.ShowCubes:
        return st.ShowCubes()

    # ---- facts

    def create_fact(self, if_not_exists: bool | None, name: st.Name, cube: st.Name, *rest: Any) -> st.CreateFact:
        columns, weight, *storages = rest
        refuse_duplicates([(storage.name, storage.span) for storage in storages], str.lower)
        if weight is not None and not weight.token.text.isdigit():
            raise ParseError("WEIGHT is a whole number.", position=weight.span, hint="Write WEIGHT 10.")
        return st.CreateFact(
            name=name,
            cube=cube,
            storages=tuple(storages),
            columns=columns,
            weight=int(weight.token.text) if weight else 0,
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

    def show_facts(self) -> st.ShowCubes:
        return st.ShowCubes(facts=True)

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
