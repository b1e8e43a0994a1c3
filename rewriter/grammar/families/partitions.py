"""Partitions of tables: ADD, DROP, COMMIT, RENAME, EXCHANGE, TRUNCATE, SHOW."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from rewriter.errors import ParseError, Span
from rewriter.grammar.filters import Comparison, Filter
from rewriter.grammar.statement_parts import Terminal, refuse_duplicates, require_values, whole_number
from rewriter.grammar.statements import Statement, builds, renders
from rewriter.grammar.terms import Name, PartitionItem
from rewriter.grammar.unparse import listed, name_text, option, partition_text, quote_name, render_filter, words
from rewriter.lazy_dataclass import dataclass

RULES = r"""
?statement: add_partitions | drop_partitions | rename_partition | exchange_partitions | truncate | show_partitions
          | touch | commit_partitions

add_partitions: "ALTER" "TABLE" name "ADD" [if_not_exists] partition_location (","? partition_location)*
partition_location: partition_spec ["LOCATION" STRING]
drop_partitions: "ALTER" "TABLE" name "DROP" [if_exists] drop_spec ("," drop_spec)* [PURGE]
drop_spec: "PARTITION" "(" condition ("," condition)* ")"
?condition: predicate
          | NOT predicate    -> negated
          | NAME             -> valueless
commit_partitions: "ALTER" "TABLE" name "COMMIT" drop_spec ("," drop_spec)*
rename_partition: "ALTER" "TABLE" name partition_spec "RENAME" "TO" partition_spec
exchange_partitions: "ALTER" "TABLE" name "EXCHANGE" partition_spec ("," _exchanged)* "WITH" "TABLE" name
_exchanged: partition_spec | bare_spec
bare_spec: "(" partition_item ("," partition_item)* ")"                 -> partition_spec
truncate: "TRUNCATE" "TABLE"? name [partition_spec]
touch: "ALTER" "TABLE" name "TOUCH" [partition_spec]
show_partitions: "SHOW" "PARTITIONS" name [STATUS] [partition_spec] [where] [order_by] [limit] [as_json]
order_by: "ORDER" "BY" sort_key ("," sort_key)*
sort_key: NAME [ASC | DESC]
limit: "LIMIT" NUMBER
"""


@dataclass(frozen=True, kw_only=True)
class PartitionLocation:
    spec: tuple[PartitionItem, ...]
    location: str | None = None


@builds("partition_location")
def partition_location(spec: tuple[PartitionItem, ...], location: Terminal | None) -> PartitionLocation:
    require_values(spec)
    return PartitionLocation(spec=spec, location=location.string if location else None)


@dataclass(frozen=True, kw_only=True)
class AddPartitions(Statement):
    table: Name
    partitions: tuple[PartitionLocation, ...]
    if_not_exists: bool = False


@builds("add_partitions")
def add_partitions(table: Name, if_not_exists: bool | None, *partitions: PartitionLocation) -> AddPartitions:
    return AddPartitions(table=table, partitions=partitions, if_not_exists=bool(if_not_exists))


@renders(AddPartitions)
def add_partitions_text(s: AddPartitions) -> str:
    return words(
        f"ALTER TABLE {name_text(s.table)} ADD",
        "IF NOT EXISTS" if s.if_not_exists else None,
        *(words(partition_text(partition.spec), option("LOCATION", partition.location)) for partition in s.partitions),
    )


@dataclass(frozen=True, kw_only=True)
class DropPartitions(Statement):
    """Each item of ``specs`` is a conjunction of predicates, at most one of which has NOT; a partition is dropped if
    any item holds.
    """

    table: Name
    specs: tuple[tuple[Filter, ...], ...]
    if_exists: bool = False
    purge: bool = False


@builds("drop_partitions")
def drop_partitions(table: Name, if_exists: bool | None, *rest: Any) -> DropPartitions:
    *specs, purge = rest
    return DropPartitions(table=table, specs=tuple(specs), if_exists=bool(if_exists), purge=purge is not None)


@builds("drop_spec")
def drop_spec(*conditions: Filter) -> tuple[Filter, ...]:
    equal = [condition for condition in conditions if isinstance(condition, Comparison) and condition.op == "="]
    refuse_duplicates([(comparison.column, comparison.span) for comparison in equal], str.lower)
    return conditions


@builds("valueless")
def valueless(name: Terminal) -> None:
    require_values((PartitionItem(name.name, None, name.span),))


@renders(DropPartitions)
def drop_partitions_text(s: DropPartitions) -> str:
    specs = ("PARTITION " + listed(map(render_filter, spec)) for spec in s.specs)
    return words(
        f"ALTER TABLE {name_text(s.table)} DROP",
        "IF EXISTS" if s.if_exists else None,
        ", ".join(specs),
        "PURGE" if s.purge else None,
    )


@dataclass(frozen=True, kw_only=True)
class CommitPartitions(Statement):
    """``ALTER TABLE t COMMIT PARTITION (…)[, PARTITION (…)]``, with the specs of ``DropPartitions``."""

    table: Name
    specs: tuple[tuple[Filter, ...], ...]


@builds("commit_partitions")
def commit_partitions(table: Name, *specs: tuple[Filter, ...]) -> CommitPartitions:
    return CommitPartitions(table=table, specs=specs)


@renders(CommitPartitions)
def commit_partitions_text(s: CommitPartitions) -> str:
    specs = ("PARTITION " + listed(map(render_filter, spec)) for spec in s.specs)
    return f"ALTER TABLE {name_text(s.table)} COMMIT {', '.join(specs)}"


@dataclass(frozen=True, kw_only=True)
class RenamePartition(Statement):
    """``ALTER TABLE t PARTITION (…) RENAME TO PARTITION (…)``."""

    table: Name
    partition: tuple[PartitionItem, ...]
    to: tuple[PartitionItem, ...]


@builds("rename_partition")
def rename_partition(
    table: Name, partition: tuple[PartitionItem, ...], to: tuple[PartitionItem, ...]
) -> RenamePartition:
    require_values((*partition, *to))
    return RenamePartition(table=table, partition=partition, to=to)


@renders(RenamePartition)
def rename_partition_text(s: RenamePartition) -> str:
    return words(f"ALTER TABLE {name_text(s.table)}", partition_text(s.partition), "RENAME TO", partition_text(s.to))


@dataclass(frozen=True, kw_only=True)
class ExchangePartitions(Statement):
    """``ALTER TABLE t EXCHANGE PARTITION (…)[, (…)] WITH TABLE source``: from ``source`` to ``table``."""

    table: Name
    partitions: tuple[tuple[PartitionItem, ...], ...]
    source: Name


@builds("exchange_partitions")
def exchange_partitions(table: Name, *rest: Any) -> ExchangePartitions:
    *partitions, source = rest
    for spec in partitions:
        require_values(spec)
    return ExchangePartitions(table=table, partitions=tuple(partitions), source=source)


@renders(ExchangePartitions)
def exchange_partitions_text(s: ExchangePartitions) -> str:
    specs = ", ".join(partition_text(spec) or "" for spec in s.partitions)
    return f"ALTER TABLE {name_text(s.table)} EXCHANGE {specs} WITH TABLE {name_text(s.source)}"


@dataclass(frozen=True, kw_only=True)
class Truncate(Statement):
    """``TRUNCATE TABLE t [PARTITION (…)]``; the spec may be partial, and a column without a value has any value."""

    table: Name
    partition: tuple[PartitionItem, ...] | None = None


@builds("truncate")
def truncate(table: Name, partition: tuple[PartitionItem, ...] | None) -> Truncate:
    return Truncate(table=table, partition=partition)


@renders(Truncate)
def truncate_text(s: Truncate) -> str:
    return words(f"TRUNCATE TABLE {name_text(s.table)}", partition_text(s.partition))


@dataclass(frozen=True, kw_only=True)
class Touch(Statement):
    """``ALTER TABLE t TOUCH [PARTITION (…)]``: Hive's statement for its hooks. The spec may be partial."""

    table: Name
    partition: tuple[PartitionItem, ...] | None = None


@builds("touch")
def touch(table: Name, partition: tuple[PartitionItem, ...] | None) -> Touch:
    require_values(partition or ())
    return Touch(table=table, partition=partition)


@renders(Touch)
def touch_text(s: Touch) -> str:
    return words(f"ALTER TABLE {name_text(s.table)} TOUCH", partition_text(s.partition))


@dataclass(frozen=True)
class SortKey:
    """``column [ASC|DESC]`` in ORDER BY."""

    column: str
    descending: bool = False
    span: Span = field(default=Span(0, 0), compare=False)


@builds("sort_key")
def sort_key(name: Terminal, direction: Terminal | None) -> SortKey:
    descending = direction is not None and direction.type == "DESC"
    return SortKey(name.name, descending, name.span)


@dataclass(frozen=True, kw_only=True)
class ShowPartitions(Statement):
    """``SHOW PARTITIONS t [STATUS] [PARTITION (…)] [WHERE filter] [ORDER BY …] [LIMIT n] [AS JSON]``."""

    table: Name
    status: bool = False
    partition: tuple[PartitionItem, ...] | None = None
    where: Filter | None = None
    order_by: tuple[SortKey, ...] = ()
    limit: int | None = None
    as_json: bool = False


@builds("show_partitions")
def show_partitions(
    table: Name,
    status: Terminal | None,
    partition: tuple[PartitionItem, ...] | None,
    where: Filter | None,
    order_by: tuple[SortKey, ...] | None,
    limit: int | None,
    as_json: bool | None,
) -> ShowPartitions:
    require_values(partition or ())
    if status is not None and as_json:
        raise ParseError("STATUS is not shown AS JSON.", position=status.span, hint="Leave STATUS or AS JSON out.")
    return ShowPartitions(
        table=table,
        status=status is not None,
        partition=partition,
        where=where,
        order_by=order_by or (),
        limit=limit,
        as_json=bool(as_json),
    )


@builds("order_by")
def order_by(*keys: SortKey) -> tuple[SortKey, ...]:
    return keys


@builds("limit")
def limit(number: Terminal) -> int:
    rows = whole_number(number)
    if rows is None:
        raise ParseError(
            f"LIMIT {number.token.text} is not a number of rows.",
            position=number.span,
            hint="Write a whole number, as in LIMIT 10.",
        )
    return rows


@renders(ShowPartitions)
def show_partitions_text(s: ShowPartitions) -> str:
    keys = (quote_name(key.column) + (" DESC" if key.descending else "") for key in s.order_by)
    return words(
        "SHOW PARTITIONS",
        name_text(s.table),
        "STATUS" if s.status else None,
        partition_text(s.partition),
        None if s.where is None else f"WHERE {render_filter(s.where)}",
        f"ORDER BY {', '.join(keys)}" if s.order_by else None,
        None if s.limit is None else f"LIMIT {s.limit}",
        "AS JSON" if s.as_json else None,
    )
