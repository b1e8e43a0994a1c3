"""ALTER TABLE … PARTITION … RENAME, ALTER TABLE … EXCHANGE PARTITION, and TRUNCATE TABLE.

Each is one catalog transaction; none starts an engine or opens a data file. ``catalog.moves`` says what moves where.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rewriter.catalog import moves
from rewriter.catalog.changes import TruncatePartitions
from rewriter.catalog.directories import directory
from rewriter.catalog.keys import merged
from rewriter.catalog.models import Partition, PartitionValues, Table
from rewriter.catalog.partition_paths import is_discovered, not_registered
from rewriter.catalog.values import partition_name
from rewriter.context import Context
from rewriter.errors import AnalysisError, ConflictError, Error, NotSupportedError, Span
from rewriter.grammar import statements as s
from rewriter.result import Result
from rewriter.specs import read_full, read_spec, read_static, require_partitioned


def rename_partition(statement: s.RenamePartition, context: Context) -> Result:
    """ALTER TABLE … PARTITION … RENAME TO PARTITION …: both specs full; all that belongs to the partition follows.

    Raises PARTITIONS_NOT_FOUND and PARTITIONS_ALREADY_EXIST, both 428FT, at the spec concerned; the same name exists.
    """
    table = context.table(statement.table)
    _require_transactional(table, statement.table, context)
    require_partitioned(table, statement.table.span)
    old, new = read_full(table, statement.partition), read_full(table, statement.to)
    try:
        moves.existing(context.snapshot, table, old)
    except Error as error:
        raise error.at(spec_span(statement.partition)) from None
    try:
        moves.rename(context.catalog, context.begin, context.snapshot, table, old, new)
    except Error as error:
        raise error.at(spec_span(statement.to)) from None
    return Result("ALTER TABLE RENAME PARTITION")


def exchange_partitions(statement: s.ExchangePartitions, context: Context) -> Result:
    """ALTER TABLE t EXCHANGE PARTITION … WITH TABLE u: what lies below each spec moves from ``u`` to ``t``.

    A spec names the leading partition columns. Raises what ``moves.exchange`` raises, at the spec or table concerned.
    """
    target, source = context.table(statement.table), context.table(statement.source)
    _require_transactional(target, statement.table, context)
    require_partitioned(target, statement.table.span)
    if is_discovered(target):
        raise not_registered(target).at(statement.table.span)
    try:
        moves.check_alike(target, source)
    except Error as error:
        raise error.at(statement.source.span) from None
    prefixes = [_prefix(source, spec) for spec in statement.partitions]
    for spec, leading in zip(statement.partitions, prefixes, strict=True):
        try:
            moves.exchanged(context.snapshot, target, source, leading)
        except Error as error:
            raise error.at(spec_span(spec)) from None
    try:
        moves.exchange(context.catalog, context.begin, context.snapshot, target, source, prefixes)
    except Error as error:
        raise error.at(statement.table.span) from None
    return Result("ALTER TABLE EXCHANGE PARTITION")


def truncate(statement: s.Truncate, context: Context) -> Result:
    """TRUNCATE TABLE: the partitions that have the spec's values stay and hold nothing; none need have them.

    A write that comes in between conflicts where it falls into the stretches of keys that were searched.
    """
    table = context.table(statement.table)
    if table.external:
        raise NotSupportedError(
            f"The files of the external table {table.name} are their owner's: TRUNCATE does not delete them.",
            condition="TRUNCATE_EXTERNAL_TABLE",
            sqlstate="0A000",
            position=statement.table.span,
            object=table.name,
            hint="ALTER TABLE … DROP PARTITION (…) takes partitions out of the table and leaves their files.",
        )
    static: dict[int, str | None] = {}
    if statement.partition is not None:
        require_partitioned(table, statement.table.span)
        static = read_spec(table, statement.partition).static
    lookup = context.snapshot.lookup(table, read_static(table, static) if static else None)
    filled = tuple(partition.key for partition in lookup.partitions() if partition.files)
    if filled:
        with context.begin() as transaction:
            try:
                transaction.commit([TruncatePartitions(table, filled, merged(lookup.ranges))])
            except Error as error:
                raise error.at(statement.table.span) from None
    return Result("TRUNCATE TABLE")


def _require_transactional(table: Table, name: s.Name, context: Context) -> None:
    try:
        context.require_transactional(table)
    except Error as error:
        raise error.at(name.span) from None


def check_unmoved(table: Table, partitions: Iterable[Partition], context: Context) -> None:
    """Raises ``ConflictError`` where partitions of an external table lie elsewhere by now than the statement sees.

    Directories have no snapshots: what was listed in one that has moved meanwhile, or put there, is not the table's.
    """
    fresh = context.catalog.snapshot()
    if fresh.write_ids(table.id) == context.snapshot.write_ids(table.id):
        return
    now = fresh.named(table.name)
    for one in partitions:
        there = fresh.partition(now, one.values) if isinstance(now, Table) and now.id == table.id else None
        if there is None or not isinstance(now, Table) or directory(now, there) != directory(table, one):
            name = partition_name(table.partition_columns, one.values)
            raise ConflictError(
                f"the partition {name} of '{table.name}' was moved or dropped since this statement began",
                object=table.name,
                hint="run the statement again",
            )


def spec_span(spec: Sequence[s.PartitionItem]) -> Span:
    """Where the items of a spec stand."""
    return Span(spec[0].span.start, spec[-1].span.end)


def _prefix(table: Table, items: Sequence[s.PartitionItem]) -> PartitionValues:
    """The values of a spec that names leading partition columns only; a column behind one that is left out is
    INVALID_PARTITION_SPEC.
    """
    spec = read_spec(table, items)
    if len(spec.leading) == len(spec.static):
        return spec.leading
    names = [column.name for column in table.partition_columns]
    raise AnalysisError(
        f"The spec ({', '.join(item.column for item in items)}) leaves out {names[len(spec.leading)]}, which comes "
        "before the columns that it names.",
        condition="INVALID_PARTITION_SPEC",
        sqlstate="42601",
        position=spec_span(items),
        object=table.name,
        hint=f"Name leading partition columns of ({', '.join(names)}): all partitions below them move.",
    )
