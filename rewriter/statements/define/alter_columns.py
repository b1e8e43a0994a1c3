"""Columns and comments of a table: ALTER TABLE … ADD COLUMNS, RENAME and DROP COLUMN, ALTER COLUMN, CHANGE COLUMN,
COMMENT ON.

No file is read or written: rows that are older than a column have NULL in it. A type may only become one that holds all
values of the old one, and that both engines read from files of the old one. A column keeps the name that its values
have in files (``Column.stored``), and no later column gets that name there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rewriter.catalog.model import wider_types
from rewriter.catalog.model.changes import AlterColumns, AlterCube, Change, CreateObject, DropObject
from rewriter.catalog.model.objects import View, parts_of
from rewriter.catalog.model.temporary_views import TemporaryView, with_typed_names
from rewriter.data_formats import CSV, DATA_FORMATS
from rewriter.errors import AnalysisError, Error, IntegrityError, NotSupportedError, Span
from rewriter.grammar.families import columns as s
from rewriter.grammar.lexer import identifier_value, tokens
from rewriter.grammar.terms import ColumnDef
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.scope.column_uses import ColumnUses, column_uses
from rewriter.runtime.result import Result
from rewriter.runtime.statement_runners import runs
from rewriter.statements.define.raw_tables import reads_column, renamed_expressions
from rewriter.statements.define.tables import new_column, no_partition_default
from rewriter.statements.resolve.default_values import check_default
from rewriter.statements.resolve.partition_specs import check_unique

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rewriter.catalog.commit.transaction import Writer
    from rewriter.catalog.model.objects import Column, Fact, Table
    from rewriter.grammar.families.cubes import RenameCubeColumn
    from rewriter.grammar.terms import Name
    from rewriter.runtime.statement_context import Context

_WIDER = (
    "TINYINT to SMALLINT to INT to BIGINT, TINYINT, SMALLINT, INT or FLOAT to DOUBLE, DECIMAL to a greater precision "
    "with the same scale"
)

#: The property of a table that Spark made by USING. Spark keeps its columns in other properties.
_PROVIDER = "spark.sql.sources.provider"


@runs(s.AddColumns)
def add_columns(statement: s.AddColumns, context: Context) -> Result:
    """ALTER TABLE … ADD COLUMNS: adds columns behind the data columns, before the partition columns. Facts over the
    table stay.

    Raises COLUMN_ALREADY_EXISTS, and ``ConflictError`` where another transaction has written the table meanwhile.
    """
    table = _own_table(statement.table, context)
    check_unique(statement.columns, table)
    if table.format == CSV.name and table.file_options:
        raise NotSupportedError(
            f"The columns of {table.name} cannot be added to: each row of a CSV file with options has all columns.",
            position=statement.table.span,
            object=table.name,
            hint=f"Create a table with the columns, and INSERT INTO it SELECT … FROM {table.name}.",
        )
    _commit(AlterColumns(table, tuple(map(new_column, statement.columns))), statement.table.span, context)
    return Result("ALTER TABLE ADD COLUMNS")


@runs(s.RenameColumn)
def rename_column(statement: s.RenameColumn, context: Context) -> Result:
    """ALTER TABLE … RENAME COLUMN a TO b. Existing and later files have the values under the stored name. With CASCADE,
    views that use the column follow, and so does the fact of a RAW table: its cube keeps its columns.

    Raises UNRESOLVED_COLUMN and COLUMN_ALREADY_EXISTS; COLUMN_IN_USE if a view or a fact reads the column;
    ``NotSupportedError`` for a partition column and for an external table; and ``ConflictError`` where another
    transaction has written the table meanwhile.
    """
    table = _own_table(statement.table, context)
    column = _data_column(table, statement.column, statement.column_span, "renamed")
    named = ColumnDef(statement.to, column.type, None, statement.to_span)
    name = new_column(named).name
    views = ViewChanges()
    if name.lower() != column.name.lower():
        check_unique([named], table)
        views = views_renaming([table.name], column.name, name, statement, context)
    if name == column.name:
        return Result("ALTER TABLE RENAME COLUMN")
    of_fact = _fact_renaming(table, column.name, name, statement, context)
    change = AlterColumns(table, renamed={column.name: name}, judged=of_fact.judged)
    _commit(change, statement.column_span, context, views, of_fact.changes)
    return Result("ALTER TABLE RENAME COLUMN", warnings=(*views.warnings, *of_fact.warnings))


@runs(s.DropColumns)
def drop_columns(statement: s.DropColumns, context: Context) -> Result:
    """ALTER TABLE … DROP COLUMNS (a, …). Files keep the values, which no later column gets. With CASCADE, views that
    use one of the columns are dropped, too, with those that read such a view.

    Raises as RENAME COLUMN does, and ``NotSupportedError`` for the last data column and for text files, whose values
    have no names.
    """
    table = _own_table(statement.table, context)
    dropped = [
        _data_column(table, name, span, "dropped")
        for name, span in zip(statement.columns, statement.spans, strict=True)
    ]
    check_unique([ColumnDef(c.name, c.type, None, span) for c, span in zip(dropped, statement.spans, strict=True)])
    reason = ""
    if len(dropped) == len(table.columns):
        reason = "a table has at least one data column"
    elif not DATA_FORMATS[table.format].names_columns or table.file_options:
        reason = f"the files of the format {table.format} have values without names, in the order of the columns"
    if reason:
        raise NotSupportedError(
            f"The column {dropped[0].name} of {table.name} cannot be dropped: {reason}.",
            position=statement.spans[0],
            object=dropped[0].name,
            hint=f"Create a table without it: CREATE TABLE new AS SELECT … FROM {table.name}.",
        )
    names = [column.name for column in dropped]
    views = views_dropping([table.name], dict(zip(names, statement.spans, strict=True)), statement.cascade, context)
    span = Span(statement.spans[0].start, statement.spans[-1].end)
    _commit(
        AlterColumns(table, dropped=tuple(names), judged=_fact_without(table, names, context)), span, context, views
    )
    return Result("ALTER TABLE DROP COLUMNS", warnings=views.warnings)


@dataclass(frozen=True)
class _FactChanges:
    """The changes of a fact that follow a new name of a column of its RAW table: ``judged`` is the fact afterwards."""

    judged: Fact | None = None
    changes: tuple[Change, ...] = ()
    warnings: tuple[str, ...] = ()


def _fact_renaming(table: Table, old: str, new: str, statement: s.RenameColumn, context: Context) -> _FactChanges:
    """Returns how the fact of a RAW table follows a new name of a column; the commit refuses facts of other tables that
    read the column.

    Raises ``IntegrityError`` COLUMN_IN_USE for a fact that reads the column, without CASCADE; with it for one whose
    expressions may read the column in a way that is not certain.
    """
    snapshot = context.snapshot
    fact = snapshot.fact_using(table.name)
    stored = None if fact is None else fact.storage_table(table.name)
    if fact is None or stored is None or stored.raw is None:
        return _FactChanges()
    cube = snapshot.cube(fact.cube)
    if not reads_column(fact, stored, table, cube, old, snapshot):
        return _FactChanges(fact)
    expressions = renamed_expressions(fact, stored, table, cube, (old, new), snapshot)
    if isinstance(expressions, str) or not statement.cascade:
        hint = "CASCADE lets the fact follow: its cube keeps its columns."
        if isinstance(expressions, str):
            hint = f"It cannot follow: {expressions}. DROP FACT {fact.name} first."
        raise IntegrityError(
            f"the column {old} of '{table.name}' cannot be renamed: the fact '{fact.name}' reads it",
            condition="COLUMN_IN_USE",
            position=statement.column_span,
            object=old,
            hint=hint,
        )
    storages = tuple(
        replace(
            storage,
            tables=tuple(replace(of, raw=expressions) if of is stored else of for of in storage.tables),
        )
        for storage in fact.storages
    )
    altered = replace(fact, storages=storages)
    pairs = tuple((of, altered if of == fact else of) for of in snapshot.facts_of(cube.name))
    warning = f"the fact {fact.name} reads {new} now, and its cube keeps its columns"
    return _FactChanges(altered, (AlterCube(cube, cube, pairs),), (warning,))


def _fact_without(table: Table, names: Sequence[str], context: Context) -> Fact | None:
    """Returns the fact of a RAW table that reads none of some columns; ``None`` where there is none."""
    snapshot = context.snapshot
    fact = snapshot.fact_using(table.name)
    stored = None if fact is None else fact.storage_table(table.name)
    if fact is None or stored is None or stored.raw is None:
        return None
    cube = snapshot.cube(fact.cube)
    is_read = any(reads_column(fact, stored, table, cube, name, snapshot) for name in names)
    return None if is_read else fact


def _data_column(table: Table, name: str, span: Span, change: str) -> Column:
    """Returns a data column that may get another name, or leave. ``change`` is the word for that in messages."""
    column = _named_column(table, name, span)
    reason, hint = "", f"CREATE VIEW v AS SELECT … FROM {table.name} shows other columns."
    if column in table.partition_columns:
        reason = "the directories of its partitions have its name"
        hint = f"Create a table with other partition columns: CREATE TABLE new … AS SELECT … FROM {table.name}."
    elif any(c.transform is not None and c.transform.source == column.name for c in table.partition_columns):
        reason = "the hidden partition column of the table is computed from it"
        hint = f"Create another table: CREATE TABLE new PARTITIONED BY … AS SELECT … FROM {table.name}."
    elif table.external:
        reason = "other programs write the files of an external table, by the names that its columns have"
    if reason:
        raise NotSupportedError(
            f"The column {column.name} of {table.name} cannot be {change}: {reason}.",
            position=span,
            object=column.name,
            hint=hint,
        )
    return column


@dataclass(frozen=True)
class ViewChanges:
    """The changes of views by RENAME and DROP COLUMN: those that are dropped, and those that get another query."""

    dropped: tuple[View, ...] = ()
    queries: tuple[tuple[View, str], ...] = ()
    warnings: tuple[str, ...] = ()

    def changes(self, transaction: Writer) -> Iterator[Change]:
        """Yields the changes of the catalog, as DROP VIEW and ALTER VIEW make them."""
        yield from (DropObject(view) for view in self.dropped)
        for view, query in self.queries:
            yield DropObject(view)
            yield CreateObject(replace(view, id=transaction.allocate_id(), query=query))


def views_renaming(
    sources: Sequence[str],
    column: str,
    new_name: str,
    statement: s.RenameColumn | RenameCubeColumn,
    context: Context,
) -> ViewChanges:
    """Returns what a new name of a column of ``sources``, tables, cubes and facts, changes in views: nothing without
    CASCADE, and with it the queries of the views that use the column. Their own columns keep their names.

    Raises ``IntegrityError`` COLUMN_IN_USE for a view that names one of both names: without CASCADE for each, with it
    for those that may use the column in a way that is not certain, or would return something else.
    """
    span = statement.column_span
    if not statement.cascade:
        for source in sources:
            _check_no_view_reads(source, column, span, context, new_name)
        return ViewChanges()
    readers = _Readers.of(sources, column, new_name, context)
    queries: list[tuple[View, str]] = []
    for view, uses in readers.naming((column, new_name)):
        reason = readers.doubt(view, uses, column) or uses.obstacle
        if reason is None and uses.uses and isinstance(view, TemporaryView):
            reason = "is temporary"
        if reason is not None:
            raise IntegrityError(
                f"The view {with_typed_names(view.name)} cannot follow a new name of {column}: it {reason}.",
                condition="COLUMN_IN_USE",
                position=span,
                object=column,
                hint=f"Create the view again without {column}, or with an alias for each item, or drop it, first.",
            )
        if uses.uses:
            queries.append((view, uses.with_name(view.query, new_name)))
    names = ", ".join(view.name for view, _ in queries)
    warnings = (f"these views use {new_name} now, and return what they did: {names}",) if queries else ()
    return ViewChanges(queries=tuple(queries), warnings=warnings)


def views_dropping(sources: Sequence[str], columns: Mapping[str, Span], cascade: bool, context: Context) -> ViewChanges:
    """Returns the views that a drop of columns of ``sources``, tables, cubes and facts, drops: none without CASCADE,
    and with it those that use one of the columns, and those that read such a view.

    Raises ``IntegrityError`` COLUMN_IN_USE for a view that names a column: without CASCADE for each, with it for those
    whose use of the column is not certain.
    """
    if not cascade:
        for column, span in columns.items():
            for source in sources:
                _check_no_view_reads(source, column, span, context)
        return ViewChanges()
    doomed: dict[str, View] = {}
    for column, span in columns.items():
        readers = _Readers.of(sources, column, None, context)
        for view, uses in readers.naming((column,)):
            reason = None if uses.uses else readers.doubt(view, uses, column)
            if reason is None and uses.uses and isinstance(view, TemporaryView):
                reason = "is temporary"
            if reason is not None:
                raise _may_use(view, column, span, reason)
            if uses.uses:
                doomed[view.name] = view
        for name in list(doomed):
            for view in _readers_of_view(name, column, span, context):
                doomed[view.name] = view
    names = ", ".join(doomed)
    warnings = (f"these views were dropped, because they use {', '.join(columns)}: {names}",) if doomed else ()
    return ViewChanges(dropped=tuple(doomed.values()), warnings=warnings)


def _may_use(view: View, column: str, span: Span, reason: str) -> IntegrityError:
    return IntegrityError(
        f"It is not certain that the view {with_typed_names(view.name)} does without {column}: it {reason}.",
        condition="COLUMN_IN_USE",
        position=span,
        object=column,
        hint="Drop the view, or create it again without the column, first.",
    )


@dataclass(frozen=True)
class _Readers:
    """The views that may read some sources, directly or through others, with the uses of a column in their queries.
    ``behind_stars`` are those that read a view which shows all columns with ``*``.
    """

    views: Mapping[str, View]
    uses: Mapping[str, ColumnUses]
    behind_stars: frozenset[str]

    @classmethod
    def of(cls, sources: Sequence[str], column: str, new_name: str | None, context: Context) -> _Readers:
        views = {view.name: view for view in context.snapshot.views()}
        queries = {name: view.query for name, view in views.items()}
        keys = {source.lower() for source in sources}
        names = dict.fromkeys(name for source in sources for name in _views_reading(source, queries))
        uses = {name: column_uses(views[name], keys, column, new_name, context.snapshot) for name in names}
        stars = [name for name in names if uses[name].shows_all]
        return cls(views, uses, frozenset(reader for name in stars for reader in _views_reading(name, queries)))

    def naming(self, names: Sequence[str]) -> Iterator[tuple[View, ColumnUses]]:
        """Yields the views that have one of the names as a word, or a NATURAL JOIN, with their uses."""
        for name, uses in self.uses.items():
            view = self.views[name]
            if any(has_word(view.query, word) for word in (*names, "natural")):
                yield view, uses

    def doubt(self, view: View, uses: ColumnUses, column: str) -> str | None:
        """Returns why a view may use the column in another way than by its ``uses``, if it may."""
        if uses.doubt is None and view.name in self.behind_stars:
            return f"may read {column} through a view with *"
        return uses.doubt


def _readers_of_view(name: str, column: str, span: Span, context: Context) -> list[View]:
    """Returns the views that read a view, directly or through others. Raises COLUMN_IN_USE for one that cannot be
    parsed, and for a temporary one.
    """
    views = {view.name: view for view in context.snapshot.views()}
    queries = {view.name: view.query for view in views.values()}
    dependents, sources = dict[str, View](), [name]
    while sources:
        source = sources.pop()
        for reader in _views_reading(source, queries):
            view = views[reader]
            uses = column_uses(view, {source.lower()}, column, None, context.snapshot)
            if not uses.reads or reader in dependents:
                continue
            if uses.doubt is not None and "parsed" in uses.doubt:
                raise _may_use(view, column, span, uses.doubt)
            if isinstance(view, TemporaryView):
                raise _may_use(view, column, span, f"is temporary, and reads {source}")
            dependents[reader] = view
            sources.append(reader)
    return list(dependents.values())


def _check_no_view_reads(source: str, column: str, span: Span, context: Context, new_name: str | None = None) -> None:
    """Raises ``IntegrityError`` COLUMN_IN_USE if a view reads a table or cube, or such a view, and names a column, or
    the name that it is to have: a name in a view could mean another column then. NATURAL JOIN names all columns.
    """
    queries = {view.name: view.query for view in context.snapshot.views()}
    for view in _views_reading(source, queries):
        named = [name for name in (column, new_name) if name is not None and has_word(queries[view], name)]
        if not named and not has_word(queries[view], "natural"):
            continue
        raise IntegrityError(
            f"The view {view} reads {source} and {f'names {named[0]}' if named else 'has a NATURAL JOIN'}.",
            condition="COLUMN_IN_USE",
            position=span,
            object=column,
            hint="Drop the view, or create it again without the column, first. CASCADE drops the views that use it."
            if new_name is None
            else "Drop the view, or create it again without the column, first. CASCADE lets views follow.",
        )


def _views_reading(source: str, queries: Mapping[str, str]) -> list[str]:
    """Returns the views whose queries, by name, name a table or cube, or such a view."""
    readers, sources = list[str](), [source]
    while sources:
        source = sources.pop()
        name = parts_of(source)[-1]
        more = [view for view, query in queries.items() if view not in readers and has_word(query, name)]
        readers += more
        sources += more
    return readers


def has_word(query: str, name: str) -> bool:
    """Tests whether a query has a name as a word, or in backquotes."""
    key = name.lower()
    return any(identifier_value(token).lower() == key for token in tokens(query))


@runs(s.CommentColumn)
def comment_column(statement: s.CommentColumn, context: Context) -> Result:
    """ALTER TABLE … ALTER COLUMN … COMMENT or TYPE, CHANGE COLUMN, COMMENT ON COLUMN.

    Raises ``NotSupportedError`` for another name, and for a type that is not a wider one; ``IntegrityError``
    COLUMN_IN_USE if a fact reads a column whose type changes; ``ConflictError`` where another transaction has written
    the table meanwhile.
    """
    table = _own_table(statement.table, context)
    column = _named_column(table, statement.column, statement.column_span)
    renamed = statement.renamed
    types: dict[str, str] = {}
    if renamed is not None and (renamed.name.lower() != column.name.lower() or renamed.type != column.type):
        _check_wider(table, column, renamed)
        types = {column.name: str(renamed.type)}
    comments: dict[str | None, str | None] = {}
    if renamed is None or statement.comment is not None:
        comments = {column.name: statement.comment}
    if comments or types:
        _commit(AlterColumns(table, comments=comments, types=types), statement.table.span, context)
    return Result("ALTER TABLE ALTER COLUMN")


@runs(s.SetDefault)
def set_default(statement: s.SetDefault, context: Context) -> Result:
    """ALTER TABLE … ALTER COLUMN … SET DEFAULT, DROP DEFAULT: what later inserts write; existing rows stay.

    Raises UNRESOLVED_COLUMN and INVALID_DEFAULT_VALUE, and ``NotSupportedError`` for a partition column.
    """
    table = _own_table(statement.table, context)
    column = _named_column(table, statement.column, statement.column_span)
    if column in table.partition_columns:
        raise no_partition_default(column.name, statement.column_span)
    default = statement.default
    if default is not None:
        check_default(default, column.type, column.name, statement.default_span, "ALTER TABLE ALTER COLUMN")
    if default != column.default:
        _commit(AlterColumns(table, defaults={column.name: default}), statement.table.span, context)
    return Result("ALTER TABLE ALTER COLUMN")


@runs(s.DropNotNull)
def drop_not_null(statement: s.DropNotNull, context: Context) -> Result:
    """ALTER TABLE … ALTER COLUMN … DROP NOT NULL: later statements may write NULL. Raises UNRESOLVED_COLUMN."""
    table = _own_table(statement.table, context)
    column = _named_column(table, statement.column, statement.column_span)
    if column.not_null:
        _commit(AlterColumns(table, nullable=(column.name,)), statement.table.span, context)
    return Result("ALTER TABLE ALTER COLUMN")


@runs(s.CommentTable)
def comment_table(statement: s.CommentTable, context: Context) -> Result:
    """COMMENT ON TABLE."""
    table = context.table(statement.table)
    _commit(AlterColumns(table, comments={None: statement.comment}), statement.table.span, context)
    return Result("COMMENT ON TABLE")


def _named_column(table: Table, name: str, span: Span) -> Column:
    column = next((candidate for candidate in table.all_columns if candidate.name.lower() == name.lower()), None)
    if column is not None:
        return column
    raise AnalysisError(
        f"The table {table.name} has no column {name}.",
        condition="UNRESOLVED_COLUMN.WITH_SUGGESTION",
        sqlstate="42703",
        position=span,
        object=name,
        hint=f"The columns are {', '.join(column.name for column in table.all_columns)}.",
    )


def _own_table(name: Name, context: Context) -> Table:
    """Returns a table whose columns a session may change. Raises ``NotSupportedError`` CLIENT_TABLE for one that Spark
    made by USING: Spark reads its columns in its properties.
    """
    table = context.table(name)
    if table.properties.get(_PROVIDER, "hive").lower() != "hive":
        raise NotSupportedError(
            f"The columns of {table.name} are in its properties, where Spark put them.",
            condition="CLIENT_TABLE",
            sqlstate="0A000",
            position=name.span,
            object=table.name,
            hint="Change them in Spark.",
        )
    return table


def _check_wider(table: Table, column: Column, renamed: ColumnDef) -> None:
    """Raises ``NotSupportedError`` unless the column keeps its name, and the new type is safe for existing files."""
    reason, hint = "", f"Add a column, or create a new table: CREATE TABLE new AS SELECT … FROM {table.name}."
    if renamed.name.lower() != column.name.lower():
        reason = "CHANGE changes types and comments"
        hint = f"ALTER TABLE {table.name} RENAME COLUMN {column.name} TO {renamed.name}."
    elif column in table.partition_columns:
        reason = "its values are the names of the partitions"
    elif not reads_as_wider(column.type, str(renamed.type)):
        reason = "existing files are not rewritten"
        hint += f" A type may become a wider one: {_WIDER}."
    elif not DATA_FORMATS[table.format].widens:
        reason = f"the files of the format {table.format} may be read differently"
    if reason:
        raise NotSupportedError(
            f"The column {column.name} {column.type} of {table.name} cannot become {renamed.name} "
            f"{renamed.type}: {reason}.",
            position=renamed.span,
            object=column.name,
            hint=hint,
        )


def reads_as_wider(type_: str, new_type: str) -> bool:
    """Returns whether both engines read every value of Parquet files of a type as the same value of a new type."""
    is_exact_double = new_type == "double" and type_ in ("tinyint", "smallint", "int")
    return is_exact_double or wider_types.is_wider(new_type, type_)


def _commit(
    change: AlterColumns,
    span: Span,
    context: Context,
    views: ViewChanges | None = None,
    earlier: Sequence[Change] = (),
) -> None:
    with context.catalog.begin(context.snapshot) as transaction:
        try:
            transaction.commit([*earlier, change, *(views or ViewChanges()).changes(transaction)])
        except Error as error:
            raise error.at(span) from None
