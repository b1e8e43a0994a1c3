"""ALTER CUBE: more and fewer dimensions and measures of a cube, other names, wider types. Its rollups keep their files
and proofs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING

from rewriter.catalog.model.changes import AlterColumns, AlterCube
from rewriter.catalog.model.wider_types import is_wider
from rewriter.data_formats import DATA_FORMATS
from rewriter.errors import AnalysisError, Error, Span
from rewriter.grammar.families import cubes as s
from rewriter.grammar.terms import ColumnDef
from rewriter.grammar.unparse import quote_name
from rewriter.planner.rewrite.count_rewrites import ambiguity, declaration_hint
from rewriter.planner.rewrite.union_arms import counted_measures
from rewriter.runtime.result import Result
from rewriter.runtime.statement_runners import runs
from rewriter.statements.define.alter_columns import ViewChanges, has_word, views_dropping, views_renaming
from rewriter.statements.define.cubes import build_cube
from rewriter.statements.define.fact_storage import invalid_fact
from rewriter.statements.define.measure_columns import check_measure_types
from rewriter.statements.define.raw_tables import check_counts_events
from rewriter.statements.define.rollups import wide_rollups
from rewriter.statements.define.show_create import declared_cube, declared_fact
from rewriter.statements.define.tables import new_column
from rewriter.statements.query.not_null_measures import check_stored_not_null
from rewriter.statements.resolve.named_objects import named_cube
from rewriter.statements.resolve.partition_specs import check_unique

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column, Cube, Fact, StorageTable, Table, Widening
    from rewriter.grammar.terms import Name
    from rewriter.runtime.statement_context import Context


@runs(s.AlterCube)
def alter_cube(statement: s.AlterCube, context: Context) -> Result:
    """ALTER CUBE c ADD (column, …): adds dimensions and measures to a cube, and to facts that have all of its columns.

    The base tables of these facts must have the columns. The rollups without a list of columns get them, too: their
    partitions lack them until REFRESH FACT, and serve what needs no others. Rollups that cannot get them become narrow
    ones, and a warning names them. All proofs stay. Facts that list their columns stay.

    Raises INVALID_CUBE and COLUMN_ALREADY_EXISTS for the columns, INVALID_FACT for a base table that lacks one or has
    another type, NOT_NULL_ASSERT_VIOLATION, and ``ConflictError`` where another transaction changes the cube or a fact.
    """
    cube = named_cube(statement.name, context)
    time = next((column for column in statement.columns if column.role == "TIME"), None)
    if time is not None:
        raise AnalysisError(
            f"A time cannot be added to the cube {cube.name}.",
            condition="INVALID_CUBE",
            position=time.span,
            object=time.name,
            hint="The times of a cube name its partitions. Create another cube.",
        )
    declared = declared_cube(cube)
    altered = build_cube(replace(declared, columns=(*declared.columns, *statement.columns)), cube.id, cube.calendar)
    before = tuple(name for name in cube.column_order if name not in cube.times)
    pairs: list[tuple[Fact, Fact]] = []
    new_columns: list[AlterColumns] = []
    _check_counts_stay(cube, altered, statement.name, context)
    try:
        for fact in context.snapshot.facts_of(cube.name):
            wider = _with_rollups_of(fact, before)
            if fact.columns is None:
                _check(wider, altered, statement, context)
                wider, added = wide_rollups(fact, wider, _stored_types(statement, altered), altered, context)
                new_columns += added
            pairs.append((fact, wider))
        with context.catalog.begin(context.snapshot) as transaction:
            transaction.commit([AlterCube(cube, altered, tuple(pairs)), *new_columns])
    except Error as error:
        raise error.at(statement.name.span) from None
    names = ", ".join(column.name for column in statement.columns)
    warnings = (*_width_warnings(names, pairs, context), *_count_warnings(cube, altered))
    return Result("ALTER CUBE", warnings=warnings)


def _stored_types(statement: s.AlterCube, altered: Cube) -> dict[str, str]:
    """Returns the type of each new column in rollups."""
    sums = {measure.name.lower(): measure.rollup_type for measure in altered.measures}
    return {column.name: sums.get(column.name.lower(), column.type) for column in statement.columns}


def _width_warnings(names: str, pairs: Sequence[tuple[Fact, Fact]], context: Context) -> Iterator[str]:
    """Yields which rollups do not have the new columns, and which partitions do not have them yet."""
    tables = [(fact, *both) for fact, wider in pairs for both in zip(fact.tables, wider.tables, strict=True)]
    narrow = [new.table for _, old, new in tables if old.columns != new.columns and old.widenings == new.widenings]
    if narrow:
        yield (f"these rollups do not have {names}: {', '.join(narrow)}; ALTER FACT … ADD ROLLUP makes rollups that do")
    for fact, _ in pairs:
        filled = [
            new.table
            for of, old, new in tables
            if of is fact and old.widenings != new.widenings and _has_partitions(old, context)
        ]
        if filled:
            yield (
                f"the existing partitions of {', '.join(filled)} lack the new columns until REFRESH FACT {fact.name} "
                "computes them again: queries that need these read the base there"
            )


def _has_partitions(stored: StorageTable, context: Context) -> bool:
    readers = (context.snapshot.timeline, *context.snapshot.unused_timelines.values())
    return any(not line(stored.table, period, stored.time).is_empty for period in stored.layouts for line in readers)


def _check_counts_stay(cube: Cube, altered: Cube, name: Name, context: Context) -> None:
    """Raises INVALID_FACT if a COUNT measure that RAW events have no column for would count something else: rollups
    hold what it counted.
    """
    kept = {measure.name for measure in cube.counters} & {measure.name for measure in altered.counters}
    changed = [
        counter
        for counter in sorted(kept)
        if {m.name for m in counted_measures(cube, counter)} != {m.name for m in counted_measures(altered, counter)}
    ]
    for fact in context.snapshot.facts_of(cube.name) if changed else ():
        for stored in (table for table in fact.tables if table.raw is not None):
            own = {column.name.lower() for column in context.snapshot.table(stored.table).all_columns}
            own |= {column.lower() for column in stored.raw or ()}
            for counter in changed:
                if counter.lower() not in own:
                    raise invalid_fact(
                        f"{counter} would count something else in the events of {stored.table}, and rollups of "
                        f"{fact.name} may hold what it counts now.",
                        name.span,
                        f"Leave {counter} as it is: add another COUNT measure, or drop {counter} with what it counts.",
                        counter,
                    )


def _count_warnings(cube: Cube, altered: Cube) -> Iterator[str]:
    """Yields what COUNT(*) means from now on, if it meant something else."""
    before, after = cube.count_measure, altered.count_measure
    if before == after and cube.count_is_ambiguous == altered.count_is_ambiguous:
        return
    if altered.count_is_ambiguous:
        yield f"COUNT(*) of {cube.name} is refused from now on. {ambiguity(altered)} {declaration_hint(altered)}"
        return
    meaning = "the rows of the base" if after is None else f"SUM({after.name})"
    yield f"COUNT(*) of {cube.name} means {meaning} from now on"


@runs(s.DropCubeColumns)
def drop_cube_columns(statement: s.DropCubeColumns, context: Context) -> Result:
    """ALTER CUBE c DROP (column, …): takes dimensions and measures from a cube and its facts. Tables keep them, and
    proofs stay. A rollup that is refreshed later has NULL in them: to add a column again makes no rollup serve it.
    With CASCADE, views that use a column are dropped, too.

    Raises UNRESOLVED_COLUMN; INVALID_CUBE for a time, and for a column that counts the values of a measure;
    COLUMN_IN_USE for a column that a view names; INVALID_FACT where a fact or a rollup would have no column, two
    rollups would have the same ones, or partitions are named by the column; and ``ConflictError`` where another
    transaction changes the cube or a fact.
    """
    cube = named_cube(statement.name, context)
    for name, span in zip(statement.columns, statement.spans, strict=True):
        _check_dropped(cube, name, span, statement)
    dropped = {name.lower() for name in statement.columns}
    declared = declared_cube(cube)
    left = tuple(column for column in declared.columns if column.name.lower() not in dropped)
    altered = build_cube(replace(declared, columns=left), cube.id, cube.calendar)
    _check_counts_stay(cube, altered, statement.name, context)
    facts = context.snapshot.facts_of(cube.name)
    spans = dict(zip(statement.columns, statement.spans, strict=True))
    sources = [cube.name, *(fact.name for fact in facts)]
    views = views_dropping(sources, spans, statement.cascade, context)
    pairs = tuple((fact, _without(fact, dropped, altered, statement, context)) for fact in facts)
    try:
        with context.catalog.begin(context.snapshot) as transaction:
            transaction.commit([AlterCube(cube, altered, pairs), *views.changes(transaction)])
    except Error as error:
        raise error.at(statement.name.span) from None
    dropped_names = ", ".join(statement.columns)
    kept = [t.table for _, fact in pairs for t in fact.tables if not t.made and not fact.has_base_in(t)]
    warnings = [
        f"REFRESH FACT skips {table}, which has {dropped_names}: ALTER FACT … ADD ROLLUP makes a rollup without"
        for table in kept
        if dropped & {column.name.lower() for column in context.snapshot.table(table).columns}
    ]
    return Result("ALTER CUBE", warnings=(*views.warnings, *warnings, *_count_warnings(cube, altered)))


@runs(s.WidenCubeColumn)
def widen_cube_column(statement: s.WidenCubeColumn, context: Context) -> Result:
    """ALTER CUBE c ALTER column TYPE type: a wider type of a dimension or measure, in the cube and in the tables of its
    facts that have a narrower one. No file is written, and proofs stay.

    Raises UNRESOLVED_COLUMN; INVALID_CUBE for a time and for a type that does not hold all values of the old one;
    INVALID_FACT for a table whose column cannot have the type; COLUMN_IN_USE where another cube has one of the tables;
    and ``ConflictError`` where another transaction changes the cube, a fact or a table.
    """
    cube = named_cube(statement.name, context)
    _check_column_of(cube, statement.column, statement.column_span)
    declared = declared_cube(cube)
    column = next(c for c in declared.columns if c.name.lower() == statement.column.lower())
    if column.type == statement.type and column.role != "TIME":
        return Result("ALTER CUBE")
    if column.role == "TIME" or not is_wider(statement.type, column.type):
        raise AnalysisError(
            f"The column {column.name} {column.type.upper()} of {cube.name} cannot become {statement.type.upper()}.",
            condition="INVALID_CUBE",
            position=statement.column_span,
            object=column.name,
            hint="A type may become a wider one: TINYINT to SMALLINT to INT to BIGINT, FLOAT to DOUBLE, DECIMAL to a "
            "greater precision with the same scale.",
        )
    wider = replace(column, type=statement.type)
    columns = tuple(wider if c is column else c for c in declared.columns)
    altered = build_cube(replace(declared, columns=columns), cube.id, cube.calendar)
    facts = context.snapshot.facts_of(cube.name)
    carrying = [fact for fact in facts if fact.columns is None or column.name in fact.columns]
    stored = {table.table: table for fact in carrying for table in fact.tables}
    changes = [change for table in stored.values() for change in _widening(table, wider, statement, context)]
    try:
        with context.catalog.begin(context.snapshot) as transaction:
            transaction.commit([AlterCube(cube, altered, tuple((fact, fact) for fact in facts)), *changes])
    except Error as error:
        raise error.at(statement.name.span) from None
    return Result("ALTER CUBE")


def _widening(
    stored: StorageTable, wider: s.CubeColumn, statement: s.WidenCubeColumn, context: Context
) -> Iterator[AlterColumns]:
    """Yields the change of the column of a table, if it has a narrower type."""
    table = context.snapshot.table(stored.table)
    own = next((column for column in table.all_columns if column.name.lower() == wider.name.lower()), None)
    if own is None and stored.raw is None:
        return  # A narrow rollup without it.
    reason = ""
    if own is None or any(
        name.lower() == wider.name.lower() or has_word(sql, wider.name) for name, sql in (stored.raw or {}).items()
    ):
        # Such an expression may have another value for the wider type, and rollups hold the old one.
        reason = f"an expression of RAW in {table.name} computes or reads {wider.name}"
    elif own in table.partition_columns:
        reason = f"the partitions of {table.name} are named by {own.name}"
    elif is_wider(wider.type, own.type) and not DATA_FORMATS[table.format].widens:
        reason = f"the files of {table.name}, {table.format}, may be read differently"
    if reason:
        raise invalid_fact(
            f"{reason[0].upper()}{reason[1:]}.", statement.column_span, "Create another cube with the type.", table.name
        )
    if own is not None and is_wider(wider.type, own.type):
        yield AlterColumns(table, types={own.name: wider.type})


@runs(s.RenameCubeColumn)
def rename_cube_column(statement: s.RenameCubeColumn, context: Context) -> Result:
    """ALTER CUBE c RENAME COLUMN a TO b: gives a dimension or measure another name, in the cube, its facts and their
    tables, in one commit. With CASCADE, views that use the column follow. No file is read or written, and proofs stay.
    A table of RAW events keeps its column: the fact says how an event gives the new one.

    Raises UNRESOLVED_COLUMN and COLUMN_ALREADY_EXISTS; INVALID_CUBE for a time; COLUMN_IN_USE for a column that a view
    names; INVALID_FACT for a partition column, an external table, and a table that has a column of the new name; and
    ``ConflictError`` where another transaction changes the cube, a fact or a table.
    """
    cube = named_cube(statement.name, context)
    _check_column_of(cube, statement.column, statement.column_span)
    if statement.column.lower() in {time.lower() for time in cube.times}:
        raise AnalysisError(
            f"{statement.column} is a time of the cube {cube.name}.",
            condition="INVALID_CUBE",
            position=statement.column_span,
            object=statement.column,
            hint="The times of a cube name its partitions. Create another cube.",
        )
    altered = _cube_with_name(cube, statement)
    if altered == cube:
        return Result("ALTER CUBE")
    pairs: list[tuple[Fact, Fact]] = []
    changes: dict[str, AlterColumns] = {}
    for fact in context.snapshot.facts_of(cube.name):
        storages = []
        for storage in fact.storages:
            tables = [_table_with_name(fact, stored, cube, statement, changes, context) for stored in storage.tables]
            storages.append(replace(storage, tables=tuple(tables)))
        columns = _names_with(fact.columns, statement)
        pairs.append((fact, replace(fact, columns=columns, storages=tuple(storages))))
    views = ViewChanges()
    if statement.to.lower() != statement.column.lower():
        sources = [cube.name, *(fact.name for fact, _ in pairs), *changes]
        views = views_renaming(sources, statement.column, statement.to, statement, context)
    try:
        with context.catalog.begin(context.snapshot) as transaction:
            change = AlterCube(cube, altered, tuple(pairs), {statement.column: statement.to})
            transaction.commit([change, *changes.values(), *views.changes(transaction)])
    except Error as error:
        raise error.at(statement.name.span) from None
    return Result("ALTER CUBE", warnings=views.warnings)


def _names_with(names: tuple[str, ...] | None, statement: s.RenameCubeColumn) -> tuple[str, ...] | None:
    """Returns a list of columns with the new name for the old one."""
    key = statement.column.lower()
    return None if names is None else tuple(statement.to if name.lower() == key else name for name in names)


def _renamed(name: str | None, statement: s.RenameCubeColumn) -> str | None:
    """Returns the new name for the old one."""
    return statement.to if name is not None and name.lower() == statement.column.lower() else name


def _cube_with_name(cube: Cube, statement: s.RenameCubeColumn) -> Cube:
    """Returns the cube with the new name of a column."""
    declared, key = declared_cube(cube), statement.column.lower()
    columns = []
    for column in declared.columns:
        name = column.name
        if name.lower() == key:
            name = new_column(ColumnDef(statement.to, column.type, None, statement.to_span)).name
        columns.append(
            replace(
                column,
                name=name,
                counted_by=_renamed(column.counted_by, statement),
                bucketed_by=_renamed(column.bucketed_by, statement),
                ordered_by=_renamed(column.ordered_by, statement),
                per=_names_with(column.per, statement) or (),
                span=statement.to_span,
            )
        )
    check_unique(sorted(columns, key=lambda column: column.name == statement.to))  # The new name is the second one.
    return build_cube(replace(declared, columns=tuple(columns)), cube.id, cube.calendar)


def _table_with_name(
    fact: Fact,
    stored: StorageTable,
    cube: Cube,
    statement: s.RenameCubeColumn,
    changes: dict[str, AlterColumns],
    context: Context,
) -> StorageTable:
    """Returns a table of a fact with the new name of the cube's column. Adds the change of its own column to
    ``changes``, by the name of the table.
    """
    old, name = statement.column, statement.to
    if old.lower() not in cube.columns_in(fact.columns_of(stored)):
        return stored
    table = context.snapshot.table(stored.table)
    own = next((column for column in table.all_columns if column.name.lower() == old.lower()), None)
    widenings = tuple(replace(w, columns=_names_with(w.columns, statement) or ()) for w in stored.widenings)
    altered = replace(stored, columns=_names_with(stored.columns, statement), widenings=widenings)
    if stored.raw is not None:
        return replace(altered, raw=_expressions_with(stored.raw, table, own, cube, statement))
    _check_new_name(table, own, statement)
    if own is not None:
        reason = f"Other programs write the files of the external table {table.name}, by the name {old}."
        if table.external:
            raise invalid_fact(reason, statement.column_span, "Create another cube with the name.", table.name)
        changes[table.name] = AlterColumns(table, renamed={own.name: name})
    return altered


def _check_new_name(table: Table, own: Column | None, statement: s.RenameCubeColumn) -> None:
    """Checks that a column of a table may get the new name, and that the table has no other column of that name."""
    if own in table.partition_columns:
        reason = f"The partitions of {table.name} are named by {statement.column}."
        raise invalid_fact(reason, statement.column_span, "Create another cube with the name.", table.name)
    if any(column.name.lower() == statement.to.lower() and column is not own for column in table.all_columns):
        reason = f"The table {table.name} has another column {statement.to}."
        raise invalid_fact(reason, statement.to_span, "Choose another name.", table.name)


def _expressions_with(
    raw: Mapping[str, str], table: Table, own: Column | None, cube: Cube, statement: s.RenameCubeColumn
) -> dict[str, str]:
    """Returns the expressions of RAW with the new name of a column. The table keeps its own columns: an expression
    names the old one. None is needed for a column of the new name and type.
    """
    old, name = statement.column, statement.to
    expressions = {name if column.lower() == old.lower() else column: sql for column, sql in raw.items()}
    if name not in expressions:
        _check_new_name(table, own, statement)  # It counts events, or is a column of the table.
    if own is not None and name not in expressions and own.name.lower() != name.lower():
        expressions[name] = quote_name(own.name)
    (type_,) = (column.type for column in declared_cube(cube).columns if column.name.lower() == old.lower())
    same = next((column for column in table.columns if column.name.lower() == name.lower()), None)
    if same is not None and same.type == type_ and expressions.get(name) == quote_name(same.name):
        del expressions[name]
    return expressions


def _check_column_of(cube: Cube, name: str, span: Span) -> None:
    if name.lower() not in {column.lower() for column in cube.column_order}:
        raise AnalysisError(
            f"The cube {cube.name} has no column {name}.",
            condition="UNRESOLVED_COLUMN.WITH_SUGGESTION",
            sqlstate="42703",
            position=span,
            object=name,
            hint=f"Its columns are {', '.join(cube.column_order)}.",
        )


def _check_dropped(cube: Cube, name: str, span: Span, statement: s.DropCubeColumns) -> None:
    """Checks that the cube has the column, and that no other column needs it."""
    dropped = {column.lower() for column in statement.columns}
    _check_column_of(cube, name, span)
    counted = [
        measure.name
        for measure in cube.measures
        if measure.counted_by is not None and measure.counted_by.lower() == name.lower()
    ]
    keyed = [m.name for m in cube.measures if name.lower() in map(str.lower, (*m.keys, m.ordered_by or ""))]
    message, hint = "", ""
    if name.lower() in {time.lower() for time in cube.times}:
        message, hint = f"{name} is a time of the cube {cube.name}", "The times of a cube name its partitions."
    elif not dropped.issuperset(map(str.lower, counted)):
        message = f"{name} counts the values of {', '.join(counted)}"
        hint = f"Drop both: ALTER CUBE {cube.name} DROP ({', '.join(map(quote_name, [name, *counted]))})."
    elif not dropped.issuperset(map(str.lower, keyed)):
        message = f"{', '.join(keyed)} cannot be united without {name}"
        hint = f"Drop both: ALTER CUBE {cube.name} DROP ({', '.join(map(quote_name, [name, *keyed]))})."
    if message:
        raise AnalysisError(f"{message}.", condition="INVALID_CUBE", position=span, object=name, hint=hint)


def _without(fact: Fact, dropped: Set[str], cube: Cube, statement: s.DropCubeColumns, context: Context) -> Fact:
    """Returns a fact without the columns, in lower case."""

    def left(columns: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return None if columns is None else tuple(name for name in columns if name.lower() not in dropped)

    fact_columns = left(fact.columns)
    every = cube.columns_in(fact_columns)

    def widening_left(widening: Widening) -> Widening:
        return replace(widening, columns=tuple(name for name in widening.columns if name.lower() not in dropped))

    def table_left(table: StorageTable) -> StorageTable:
        raw = None if table.raw is None else {n: sql for n, sql in table.raw.items() if n.lower() not in dropped}
        columns = left(table.columns)
        # One that lists all columns means the same without a list, but beside the base of its period it is a rollup.
        if columns is not None and fact.base_period not in table.layouts and cube.columns_in(columns) == every:
            columns = None
        return replace(table, columns=columns, raw=raw, widenings=tuple(map(widening_left, table.widenings)))

    storages = tuple(replace(storage, tables=tuple(map(table_left, storage.tables))) for storage in fact.storages)
    result = replace(fact, columns=fact_columns, storages=storages)
    span, seen = statement.name.span, dict[object, str]()
    if result.columns == ():
        raise invalid_fact(f"The fact {fact.name} has no other column.", span, f"DROP FACT {fact.name}.", fact.name)
    for table in result.tables:
        leave = (
            f"The base of {fact.name} needs it. DROP FACT {fact.name}, or keep the column."
            if fact.has_base_in(table)
            else f"ALTER FACT {fact.name} DROP STORAGE {table.table} takes the rollup out."
        )
        named = {c.name.lower() for c in context.snapshot.table(table.table).partition_columns} & dropped
        if named:
            # Partitions that REFRESH writes without the column would stand beside the old ones.
            reason = f"The partitions of {table.table} are named by {', '.join(sorted(named))}."
            raise invalid_fact(reason, span, leave, table.table)
        own = cube.columns_in(result.columns_of(table))
        if not any(measure.name.lower() in own for measure in cube.measures):
            raise invalid_fact(f"The table {table.table} has no other measure.", span, leave, table.table)
        for period in table.layouts if table.raw is None else ():
            other = seen.setdefault((period, own), table.table)
            if other != table.table:
                reason = f"{other} and {table.table} would hold the same rollup: {period.name}, with the same columns."
                raise invalid_fact(reason, span, leave, table.table)
    return result


def _with_rollups_of(fact: Fact, columns: tuple[str, ...]) -> Fact:
    """Returns the fact of the altered cube: its rollups list the columns that they have."""
    if fact.columns is not None:
        return fact

    def kept(table: StorageTable) -> StorageTable:
        return table if fact.has_base_in(table) or table.columns is not None else replace(table, columns=columns)

    storages = tuple(replace(storage, tables=tuple(map(kept, storage.tables))) for storage in fact.storages)
    return replace(fact, storages=storages)


def _check(fact: Fact, cube: Cube, statement: s.AlterCube, context: Context) -> None:
    """Checks that the base tables of a fact have the new columns, with fitting types and without NULL where that is
    declared; and that a table of the base and of rollups is refused.
    """
    for stored in fact.tables:
        periods = {fact.is_base(stored, period) for period in stored.layouts}
        if True not in periods:
            continue
        if len(periods) > 1:
            raise invalid_fact(
                f"The table {stored.table} holds the base and rollups, which would lack the new columns.",
                statement.name.span,
                "Drop the fact, and create it with a table for each period.",
                stored.table,
            )
        table = context.snapshot.table(stored.table)
        layouts = [layout for by_period in stored.layouts_of_times for layout in by_period.values()]
        named = {column.lower() for layout in layouts for column in layout.columns}
        own = {column.name.lower(): column for column in table.all_columns if column.name.lower() not in named}
        for column in statement.columns:
            if stored.raw is not None and column.role == "COUNT" and column.name.lower() not in own:
                check_counts_events(column.name, column.span, cube, table)  # They are counted without a column.
            else:
                _check_column(column, own.get(column.name.lower()), stored, statement.name)
    check_measure_types(declared_fact(fact), fact, cube, context)
    for stored in fact.tables:
        check_stored_not_null(stored, fact, cube, context)


def _check_column(column: s.CubeColumn, own: Column | None, stored: StorageTable, name: Name) -> None:
    type_ = column.type
    if own is None:
        raise invalid_fact(
            f"The table {stored.table} lacks the column {column.name}, and holds the base.",
            column.span,
            f"ALTER TABLE {stored.table} ADD COLUMNS ({quote_name(column.name)} {type_.upper()}) adds it, as NULL in "
            "older rows.",
            column.name,
        )
    if own.type != type_ and (column.role == "DIMENSION" or stored.raw is not None):
        raise invalid_fact(
            f"{own.name} is {own.type.upper()} in {stored.table}, but {type_.upper()} in {name.last}.",
            column.span,
            "Declare both with the same type.",
            column.name,
        )
