"""ROLLUPS of CREATE FACT and ALTER FACT: makes the tables of rollups, with their names, columns and layouts."""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rewriter.catalog.model.changes import AlterColumns, CreateObject
from rewriter.catalog.model.objects import (
    Cube,
    Fact,
    Storage,
    StorageTable,
    Table,
    TableKind,
    Widening,
    full_name,
    parts_of,
)
from rewriter.catalog.model.partition_commit import rule_of
from rewriter.catalog.reading.pending_changes import Pending
from rewriter.errors import Error
from rewriter.grammar.families import facts as s
from rewriter.grammar.families.tables import CreateTable
from rewriter.grammar.terms import ColumnDef, Name
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.statement_context import single
from rewriter.statements.define.fact_storage import invalid_fact
from rewriter.statements.define.tables import build_table, new_column

if TYPE_CHECKING:
    from rewriter.catalog.commit.transaction import Writer
    from rewriter.runtime.statement_context import Context

#: The partition column that names the period of a rollup that ROLLUPS makes.
_TIME_COLUMN = "dt"
#: Ends the name of the table of a rollup without dimensions.
_NO_DIMENSION = "total"
#: The longest readable part of a table's name, in characters.
_LONGEST = 80


@dataclass(frozen=True)
class MadeTables:
    """The tables of rollups: the changes that create them, their names, their TABLE clauses, and a context that shows
    them.
    """

    changes: tuple[CreateObject, ...]
    names: frozenset[str]
    clauses: tuple[s.FactTable, ...]
    context: Context

    def into(self, block: s.FactStorage) -> s.FactStorage:
        """Returns a storage block with the tables."""
        return replace(block, tables=(*block.tables, *self.clauses))

    def mark(self, storages: Sequence[Storage]) -> tuple[Storage, ...]:
        """Returns storages whose tables of this value are marked as made by the statement."""
        return tuple(
            replace(
                storage,
                tables=tuple(replace(t, made=True) if t.table in self.names else t for t in storage.tables),
            )
            for storage in storages
        )


def make_tables(
    rollups: Sequence[s.Rollup],
    fact: Name,
    cube: Cube,
    columns: tuple[str, ...] | None,
    transaction: Writer,
    context: Context,
    earlier: Sequence[CreateObject] = (),
) -> MadeTables:
    """Returns the tables of rollups of a fact, in the fact's database: parquet, one partition for each period.

    ``earlier`` are the other objects that the same commit creates, which the context shows, too.
    The table of ``MONTHLY (page)`` of the fact ``views`` is ``views_monthly_page``, and that of ``MONTHLY ()``
    ``views_monthly_total``. It has the dimensions, all measures of the fact in the types of their sums, and the
    partition column ``dt``. A table that a dropped fact has left is taken. Raises INVALID_FACT for a dimension that
    the fact does not have and for two equal rollups, and TABLE_OR_VIEW_ALREADY_EXISTS.
    """
    changes: list[CreateObject] = []
    clauses: list[s.FactTable] = []
    names: list[str] = []
    for number, rollup in enumerate(rollups):
        dimensions = _dimensions(rollup, cube, columns)
        if any(_key(rollup, cube, columns) == _key(other, cube, columns) for other in rollups[:number]):
            raise invalid_fact(
                f"The rollup {s.rollup_text(rollup)} occurs twice.", rollup.span, "Name each rollup once."
            )
        statement = _statement(rollup, dimensions, fact, cube, columns, names, context)
        table = _left_table(statement, cube, context)
        if table is None:
            table = _built(statement, rollup, transaction.allocate_id(), context)
            changes.append(CreateObject(table))
        names.append(table.name)
        layout = (cube.times[0], (s.LayoutColumn(_time_column(cube)),))
        clause_name = Name(parts_of(table.name), rollup.span)
        clauses.append(s.FactTable(clause_name, (rollup.period,), (layout,), retain=rollup.retain, span=rollup.span))
    created = [*earlier, *changes]
    shown = context.snapshot.over(Pending.of(created)) if created else context.snapshot
    return MadeTables(tuple(changes), frozenset(names), tuple(clauses), context.over(shown))


def check_rollups(rollups: Sequence[s.Rollup], fact: Fact, cube: Cube) -> None:
    """Raises INVALID_FACT for a rollup of a fact that is finer than the base, or equal to another table.

    ``fact`` has the tables of the rollups.
    """
    declared = [table for table in fact.tables if not table.made]
    base = min(period for table in declared for period in table.layouts)
    for rollup in rollups:
        period = next(p for table in fact.tables for p in table.layouts if p.name == rollup.period)
        if period < base:
            raise invalid_fact(
                f"The rollup {rollup.period} is finer than the base period {base.name} of the fact {fact.name}.",
                rollup.span,
                f"Name {base.name} or a longer period.",
            )
    stored: dict[tuple[object, frozenset[str]], StorageTable] = {}
    for table in fact.tables:
        own = cube.columns_in(fact.columns_of(table))
        for period in table.layouts:
            other = None if table.raw is not None else stored.setdefault((period, own), table)
            if table.made and other is not None and other is not table:
                rollup = next(r for r in rollups if r.period == period.name)
                raise invalid_fact(
                    f"{other.table} holds the same rollup: {period.name}, with the same columns.",
                    rollup.span,
                    "Leave it out, or name fewer dimensions behind the period.",
                    other.table,
                )


def shown_rollups(fact: Fact, tables: Sequence[StorageTable], cube: Cube) -> dict[str, s.Rollup]:
    """Returns the rollups of ROLLUPS that make tables of a fact again, under their names, by table. The other tables
    need a TABLE clause.
    """
    database, fact_name = parts_of(fact.name)
    shown: dict[str, s.Rollup] = {}
    for table in tables:
        rollup = _made_rollup(table, fact, cube)
        if rollup is not None:
            dimensions = _dimensions(rollup, cube, fact.columns)
            name = _readable_name(rollup, dimensions, fact_name, cube, fact.columns)
            if full_name(database, name) in shown:
                name = _other_name(name, dimensions, cube)
            if full_name(database, name) == table.table:
                shown[table.table] = rollup
    return shown


def remade_rollups(fact: Fact, tables: Sequence[StorageTable], cube: Cube, context: Context) -> dict[str, s.Rollup]:
    """Returns those of ``shown_rollups`` that take the tables again when the fact is dropped and created: a table with
    a column that the cube has got again since needs a TABLE clause, which lists the columns that the rollup has.
    """
    remade: dict[str, s.Rollup] = {}
    for table, rollup in shown_rollups(fact, tables, cube).items():
        wanted = _columns(_dimensions(rollup, cube, fact.columns), cube, fact.columns)
        if _fits(context.snapshot.table(table), list(wanted), cube):
            remade[table] = rollup
    return remade


def wide_rollups(
    fact: Fact, narrow: Fact, added: Mapping[str, str], cube: Cube, context: Context
) -> tuple[Fact, list[AlterColumns]]:
    """Returns a fact whose rollup tables get new columns of its cube, and the changes of these tables.

    ``narrow`` is the fact with the tables as they are, ``added`` the type of each column in rollups, and ``cube`` has
    them. A table without a list of columns gets all of them, and one of ROLLUPS with a list of dimensions gets the
    measures. Tables that ROLLUPS has made get the columns that they do not have. Others must have them, with these
    types. External, TRUSTED and RAW tables stay, and so do those that a stream fills, and those of several partitions
    for a period: nothing tells which of their partitions have a column.
    """
    changes: list[AlterColumns] = []

    def wide(old: StorageTable, stored: StorageTable) -> StorageTable:
        measures = [] if old.columns is None or not old.made else cube.measures_over(old.columns, None)
        names = [name for name in added if old.columns is None or name in measures]
        if not names or fact.has_base_in(old) or not _has_widths(old, context):
            return stored
        table = context.snapshot.table(old.table)
        own = {column.name.lower(): column for column in table.columns}
        missing = [name for name in names if name.lower() not in own]
        of_partitions = {column.name.lower() for column in table.partition_columns}
        if any(name.lower() in of_partitions for name in names) or (missing and not old.made):
            return stored
        if any(own[name.lower()].type != added[name] for name in names if name not in missing):
            return stored
        if missing:
            new_columns = tuple(new_column(ColumnDef(name, added[name])) for name in missing)
            changes.append(AlterColumns(table, new_columns))
        columns = None if old.columns is None else (*old.columns, *names)
        return replace(stored, columns=columns, widenings=(*old.widenings, Widening(0, tuple(names))))

    tables = {old.table: wide(old, stored) for old, stored in zip(fact.tables, narrow.tables, strict=True)}
    storages = tuple(
        replace(storage, tables=tuple(tables[table.table] for table in storage.tables)) for storage in narrow.storages
    )
    return replace(narrow, storages=storages), changes


def _has_widths(stored: StorageTable, context: Context) -> bool:
    """Tests whether the commit of each partition of a rollup table tells which columns it has."""
    table, open_periods = context.snapshot.table(stored.table), context.snapshot.open
    if table.external or table.kind is not TableKind.MANAGED or stored.trusted or stored.parted or stored.raw:
        return False
    is_filled = any(not open_periods(stored.table, period, stored.time).is_empty for period in stored.layouts)
    return not is_filled and rule_of(table.properties) is None


def _made_rollup(table: StorageTable, fact: Fact, cube: Cube) -> s.Rollup | None:
    """Returns the rollup of ROLLUPS that stands for a table of a fact, which has all measures of it that a rollup over
    its dimensions has; ``None`` for other tables.
    """
    if not table.made or table.trusted or table.start is not None or table.end is not None:
        return None
    own = fact.columns_of(table)
    listed = [dimension.name for dimension in cube.dimensions if own is None or dimension.name in own]
    if own is not None and not {*own}.issuperset(cube.measures_over(listed, fact.columns)):
        return None
    (period,) = table.layouts
    if table.columns is None:
        return s.Rollup(period.name, retain=table.retain)
    dimensions = tuple(d.name for d in cube.dimensions if d.name in table.columns)
    return s.Rollup(period.name, dimensions, table.retain)


def table_of_rollup(rollup: s.Rollup, fact: Fact, cube: Cube) -> StorageTable:
    """Returns the table that ROLLUPS has made for a rollup of a fact. Raises INVALID_FACT if there is none."""
    wanted = _key(rollup, cube, fact.columns)
    for table in fact.tables:
        own = _made_rollup(replace(table, trusted=False, start=None, end=None), fact, cube)
        if own is not None and _key(own, cube, fact.columns) == wanted:
            return table
    existing = [_made_rollup(table, fact, cube) for table in fact.tables]
    shown = ", ".join(s.rollup_text(own) for own in existing if own is not None) or "there are none"
    raise invalid_fact(
        f"The fact {fact.name} has no rollup {s.rollup_text(rollup)} that ROLLUPS has made.",
        rollup.span,
        f"Its rollups: {shown}. A table of STORED IN leaves with DROP STORAGE.",
    )


def _key(rollup: s.Rollup, cube: Cube, columns: tuple[str, ...] | None) -> tuple[str, frozenset[str]]:
    return rollup.period, frozenset(_dimensions(rollup, cube, columns))


def _dimensions(rollup: s.Rollup, cube: Cube, columns: tuple[str, ...] | None) -> tuple[str, ...]:
    """Returns the dimensions of a rollup, in the cube's spelling and order."""
    own = {d.name.lower(): d.name for d in cube.dimensions if columns is None or d.name in columns}
    if rollup.dimensions is None:
        return tuple(own.values())
    wanted = {name.lower() for name in rollup.dimensions}
    for name in rollup.dimensions:
        if name.lower() not in own:
            raise invalid_fact(
                f"{name} is not a dimension of the fact.",
                rollup.span,
                f"The dimensions are {', '.join(own.values()) or 'none'}. A rollup has all measures.",
                name,
            )
    return tuple(name for key, name in own.items() if key in wanted)


def _statement(
    rollup: s.Rollup,
    dimensions: Sequence[str],
    fact: Name,
    cube: Cube,
    columns: tuple[str, ...] | None,
    taken: Collection[str],
    context: Context,
) -> CreateTable:
    name = _readable_name(rollup, dimensions, fact.last, cube, columns)
    full = single(Name((*fact.parts[:-1], name)))
    existing = context.snapshot.fact_using(full)
    if full in taken or (existing is not None and existing.name == single(fact)):
        name = _other_name(name, dimensions, cube)
    return CreateTable(
        table=Name((*fact.parts[:-1], name), rollup.span),
        columns=tuple(_columns(dimensions, cube, columns)),
        partitioned_by=(ColumnDef(_time_column(cube), "string"),),
    )


def _left_table(statement: CreateTable, cube: Cube, context: Context) -> Table | None:
    """Returns the table that the rollup of a dropped fact has left: it has the name, the columns, and no fact. It may
    have columns that are none of the cube's: ALTER CUBE … DROP has left them in it.
    """
    name = single(statement.table)
    left = context.snapshot.named(name)
    if not isinstance(left, Table) or left.external or context.snapshot.fact_using(name) is not None:
        return None
    return left if _fits(left, statement.columns, cube) else None


def _fits(table: Table, columns: Sequence[ColumnDef], cube: Cube) -> bool:
    """Tests whether a table has the columns of a rollup that ROLLUPS makes, and no others of the cube."""
    of_cube = {*(column.lower() for column in cube.column_order), *(column.name.lower() for column in columns)}
    # A column that the rollup got later is the last one of its table.
    own = sorted((column.name, column.type) for column in table.columns if column.name.lower() in of_cube)
    partitioning = [(column.name, column.type) for column in table.partition_columns]
    is_alike = own == sorted((c.name, str(c.type)) for c in columns) and partitioning == [
        (_time_column(cube), "string")
    ]
    return is_alike and table.kind is TableKind.MANAGED


def _built(statement: CreateTable, rollup: s.Rollup, id: int, context: Context) -> Table:
    try:
        return build_table(statement, id, context)
    except Error as error:
        if error.condition == "TABLE_OR_VIEW_ALREADY_EXISTS":
            error.hint = "The table of the rollup would have this name. Drop it, or name a table in STORED IN."
        raise error.at(rollup.span) from None


def _columns(dimensions: Sequence[str], cube: Cube, columns: tuple[str, ...] | None) -> Iterator[ColumnDef]:
    for dimension in cube.dimensions:
        if dimension.name in dimensions:
            yield ColumnDef(dimension.name, dimension.type)
    names = cube.measures_over(dimensions, columns)
    for measure in cube.measures:
        if measure.name in names:
            yield ColumnDef(measure.name, measure.rollup_type)


def _readable_name(
    rollup: s.Rollup, dimensions: Sequence[str], fact: str, cube: Cube, columns: tuple[str, ...] | None
) -> str:
    """Returns the name of a rollup's table, unless another rollup of the fact has it."""
    # A list of all dimensions is the same as no list.
    is_whole = set(dimensions) == set(_dimensions(s.Rollup(rollup.period), cube, columns))
    words = () if is_whole else (dimensions or (_NO_DIMENSION,))
    return _name("_".join([fact, rollup.period.lower(), *words]))


def _other_name(name: str, dimensions: Sequence[str], cube: Cube) -> str:
    """Returns a name for the table of a rollup of a fact that has a table of its name: DAILY (a, b) beside DAILY (a_b),
    or DAILY after ALTER CUBE.
    """
    return _name(f"{name}_{zlib.crc32(repr((tuple(dimensions), cube.column_order)).encode()):08x}")


def _name(text: str) -> str:
    name = re.sub(r"\W", "_", text)
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 9]}_{zlib.crc32(name.encode()):08x}"


def _time_column(cube: Cube) -> str:
    """Returns the name of the partition column, which is no column of the cube."""
    names = {name.lower() for name in cube.column_order}
    return next(name for n in range(len(names) + 1) if (name := _TIME_COLUMN + "_" * n) not in names)
