"""Tables: CREATE and DROP TABLE.

Each statement is one catalog transaction. None starts an engine; only CREATE TABLE without columns opens data files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rewriter.catalog.commit.reserved_properties import COMMENT
from rewriter.catalog.facts.time_binding import declared_period
from rewriter.catalog.keys.values import (
    LONGEST_NAME,
    check_partition_column,
    hidden_column,
    partition_name,
)
from rewriter.catalog.model.changes import (
    Change,
    CreateObject,
    DropObject,
)
from rewriter.catalog.model.json_codec import Object, kind_of
from rewriter.catalog.model.objects import WRITE_ID_LEVEL, Column, Table, database_of, managed_directory
from rewriter.catalog.model.partition_transforms import PartitionTransform
from rewriter.catalog.model.temporary_views import TemporaryView, stored_name
from rewriter.data_formats import DATA_FORMATS
from rewriter.errors import AnalysisError, Error, IntegrityError, NotSupportedError, ParseError, Span
from rewriter.grammar.families import tables as s
from rewriter.grammar.terms import ColumnDef
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.result import Result
from rewriter.runtime.statement_context import Context, single
from rewriter.runtime.statement_runners import runs
from rewriter.runtime.temporary_tables import folder_of
from rewriter.runtime.transaction_errors import not_in_transaction
from rewriter.statements.define.inferred_columns import infer_columns
from rewriter.statements.define.row_properties import check_csv_columns, spelled_rows
from rewriter.statements.define.table_properties import validate_properties
from rewriter.statements.resolve.default_values import check_default
from rewriter.statements.resolve.location_conflicts import (
    check_table_location,
)
from rewriter.statements.resolve.locations import absolute, another_directory, check_table_format, root_of_cluster
from rewriter.statements.resolve.partition_specs import (
    check_unique,
)
from rewriter.statements.resolve.type_trees import repeated_field, type_tree
from rewriter.timeline.periods import UpdatePeriod

if TYPE_CHECKING:
    from rewriter.grammar.terms import Name

_REFUSED_TYPES = ("void", "variant", "timestamp_ntz")
#: In bytes: the name of a table's directory also contains its id.
_LONGEST_TABLE = 200
#: The allowed names of tables, views and databases.
PLAIN_NAME = re.compile(r"\w+")

_Creation = s.CreateTable | s.CreateTableAs | s.CreateTableLike


@runs(s.CreateTable, in_transaction=True, without_warehouse=True)
def create_table(statement: s.CreateTable, context: Context) -> Result:
    """CREATE [OR REPLACE] [TEMPORARY] [EXTERNAL] TABLE. Raises Spark's conditions for columns that do not fit together.

    A LOCATION makes the table external, as in Spark, and its files give the columns where none are declared. OR REPLACE
    ends the table of that name in the same transaction.
    """
    inferred = None
    if not statement.columns:
        target = CreationTarget.of(statement, context)
        if target.is_there and statement.if_not_exists:
            return Result("CREATE TABLE")
        inferred = infer_columns(statement, target.format, context.catalog.warehouse)
        statement = inferred.statement
    columns, partition_columns = _columns(statement)
    target = CreationTarget.of(statement, context)
    if target.is_there and statement.if_not_exists:
        return Result("CREATE TABLE")
    with context.begin() as transaction:
        try:
            table = target.table(transaction.allocate_id(), columns, partition_columns)
            transaction.commit([*target.replaced, CreateObject(table)])
        except Error as error:
            raise error.at(statement.table.span) from None
    location = statement.location
    warnings = another_directory(location, table.location) if location else ()
    return Result("CREATE TABLE", warnings=warnings if inferred is None else (*warnings, inferred.warning))


def build_table(statement: s.CreateTable, id: int, context: Context) -> Table:
    """Returns the table that a statement declares, under its id. Raises the errors of CREATE TABLE."""
    columns, partition_columns = _columns(statement)
    return CreationTarget.of(statement, context).table(id, columns, partition_columns)


@dataclass(frozen=True)
class CreationTarget:
    """The place of a new table: its name, format and location, and the object that has the name already."""

    statement: _Creation
    context: Context
    name: str
    format: str
    existing: Object | None
    comment: str | None
    #: How rows of text and CSV files are spelled, as properties of the table.
    row_format: Mapping[str, str]

    @classmethod
    def of(
        cls,
        statement: _Creation,
        context: Context,
        like: Table | None = None,
    ) -> CreationTarget:
        """Checks everything except the columns. ``like`` gives format and comment where the statement gives none.

        Raises TABLE_OR_VIEW_ALREADY_EXISTS unless IF NOT EXISTS or OR REPLACE, EXPECT_TABLE_NOT_VIEW where OR
        REPLACE names an object that is not a table, ``NotSupportedError`` and ``ParseError`` for unsupported formats
        and locations.
        """
        name = _check_new_name(statement, context)
        format_ = like.format if like is not None and statement.format is None else _format(statement)
        _check_declaration(statement, name)
        existing = _temporary(name, context) if statement.temporary else context.snapshot.named(name)
        if existing is not None:
            _check_existing(statement, existing, name, context)
        comment = like.comment if like is not None else None
        if not isinstance(statement, s.CreateTableLike):
            comment = statement.comment
        return cls(statement, context, name, format_, existing, comment, spelled_rows(statement, format_, like))

    @property
    def cluster(self) -> str | None:
        """Returns the primary cluster of the table: the cluster of ON CLUSTER, the cluster of USE CLUSTER, or the
        default one; ``None`` without clusters. A cluster that ran the query of the table comes first (``on``).

        Raises ``AnalysisError`` CLUSTER_NOT_FOUND at the name.
        """
        named, clusters = self.statement.cluster, self.context.clusters
        if named is not None:
            try:
                return clusters.named(named.text).name
            except Error as error:
                raise error.at(named.span) from None
        return self.context.cluster or self.context.chosen_cluster or clusters.default

    def on(self, cluster: str | None) -> CreationTarget:
        """Returns the same target for a cluster that runs the statement's query."""
        return replace(self, context=self.context.on(cluster))

    @property
    def is_there(self) -> bool:
        """Returns whether an object has the name, which IF NOT EXISTS tolerates and OR REPLACE replaces."""
        return self.existing is not None

    @property
    def replaced(self) -> tuple[Change, ...]:
        """Returns the change that drops the replaced table, if any."""
        return () if self.existing is None else (DropObject(self.existing),)

    def table(self, id: int, columns: tuple[Column, ...], partition_columns: tuple[Column, ...]) -> Table:
        """Returns the new table under its id, with its properties checked."""
        statement, warehouse, name = self.statement, self.context.catalog.warehouse, self.name
        cluster = None if statement.temporary else self.cluster
        if statement.temporary:
            session = self.context.temporaries.start(self.context.catalog)
            location = str(folder_of(self.context.catalog, session).absolute() / f"{name}-{id}")
            name = stored_name(name, session)
        else:
            try:
                location = default_location(name, id, self.context, cluster)
            except Error as error:
                raise error.at(statement.table.span) from None
        if statement.location is not None:
            location = absolute(statement.location, warehouse, statement.table)
        table = Table(
            id=id,
            name=name,
            columns=columns,
            partition_columns=partition_columns,
            format=self.format,
            location=location,
            external=statement.location is not None,
            comment=self.comment,
            cluster=cluster,
        )
        table = replace(table, properties=dict(self.row_format))
        property_items = zip(statement.properties, statement.property_spans, strict=True)
        properties = validate_properties(property_items, table, self.context)
        comment = properties.pop(COMMENT, self.comment)
        is_stated = not isinstance(statement, s.CreateTableLike) and self.comment is not None
        properties |= self.row_format
        check_columns_of_format(self.format, table.columns, statement.table.span)
        check_csv_columns(table.columns, self.row_format, statement.table.span)
        table = replace(table, properties=properties, comment=self.comment if is_stated else comment)
        hidden = hidden_column(table)
        if table.external and hidden is not None and hidden.transform is not None:
            raise NotSupportedError(
                f"PARTITIONED BY {hidden.transform.function}({hidden.transform.source}) is not supported for a table "
                "with a LOCATION: other programs write its files, and nothing puts each row into its partition.",
                position=statement.table.span,
                object=table.name,
                hint=f"Leave LOCATION out, or declare the partition column: PARTITIONED BY ({hidden.name} "
                f"{hidden.type.upper()}).",
            )
        if table.external:
            try:
                check_table_location(table, self.context, () if self.existing is None else (self.existing.id,))
            except Error as error:
                raise error.at(statement.table.span) from None
        return table


def check_columns_of_format(format: str, columns: Sequence[Column], position: Span) -> None:
    """Raises ``NotSupportedError`` for a column that files of the format do not hold."""
    data_format = DATA_FORMATS[format]
    for column in columns:
        if data_format.unstorable is not None and re.match(data_format.unstorable, column.type.lower()):
            raise NotSupportedError(
                f"The column {column.name}, {column.type.upper()}, cannot be in {data_format.a_file}.",
                position=position,
                object=column.name,
                hint="Use STORED AS PARQUET, ORC or JSON.",
            )
        if data_format.column_names is not None and not re.fullmatch(data_format.column_names, column.name):
            raise NotSupportedError(
                f"A column named {column.name} cannot be in {data_format.a_file}.",
                position=position,
                object=column.name,
                hint="Use a name of ASCII letters, digits and underscores, or another format: STORED AS PARQUET.",
            )


def _check_new_name(statement: _Creation, context: Context) -> str:
    """Checks the name of the new table, and returns it: that in the catalog, or in the session if it is temporary."""
    name = plain_name(statement.table, "table")
    if statement.cluster is not None and statement.temporary:
        raise NotSupportedError(
            "A temporary table belongs to the session, and to no cluster.",
            position=statement.cluster.span,
            object=name,
            hint="Omit ON CLUSTER.",
        )
    if not statement.temporary:
        return name
    if len(statement.table.parts) > 1:
        raise ParseError(
            "A temporary table cannot be in a database.",
            position=statement.table.span,
            object=name,
            hint=f"Write CREATE TEMPORARY TABLE {statement.table.last}.",
        )
    name = statement.table.last
    if context.transaction is not None:
        raise not_in_transaction(f"The temporary table {name} belongs to the session", name).at(statement.table.span)
    return name


def _check_declaration(statement: _Creation, name: str) -> None:
    """Checks the update period in the properties, the location of an external table, and the length of the name."""
    try:
        declared_period(dict(statement.properties))
    except Error as error:
        raise error.at(statement.table.span) from None
    if statement.external and statement.location is None:
        raise ParseError(
            "CREATE EXTERNAL TABLE needs a LOCATION.",
            condition="CREATE_EXTERNAL_TABLE_WITHOUT_LOCATION",
            sqlstate="42601",
            position=statement.table.span,
            object=statement.table.last,
            hint="Add LOCATION 'directory', or leave EXTERNAL out.",
        )
    if len(name.encode("utf-8")) > _LONGEST_TABLE:
        raise AnalysisError(
            f"The name of the table {name[:40]}… is too long: it is a directory name.",
            condition="INVALID_SCHEMA_OR_RELATION_NAME",
            sqlstate="42602",
            position=statement.table.span,
            object=name,
            hint=f"Choose a name of at most {_LONGEST_TABLE} bytes.",
        )


def _check_existing(statement: _Creation, existing: Object, name: str, context: Context) -> None:
    """Checks that the object that has the name may stay, or that the new table may replace it."""
    replaces = not isinstance(statement, s.CreateTableLike) and statement.or_replace
    if replaces and not isinstance(existing, Table):
        raise AnalysisError(
            f"The {kind_of(existing)} {existing.name} cannot be replaced by a table.",
            condition="EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE",
            sqlstate="42809",
            position=statement.table.span,
            object=existing.name,
            hint="Choose a different name, or drop it first.",
        )
    if not replaces and not statement.if_not_exists:
        raise already_exists(statement.table)
    fact = context.snapshot.fact_using(existing.name) if replaces else None
    if fact is not None:
        raise IntegrityError(
            f"The table {name} cannot be replaced: it is used by the fact {fact.name}.",
            condition="TABLE_IN_USE",
            position=statement.table.span,
            object=name,
            hint=f"DROP FACT {fact.name} first, or choose a different name.",
        )


def default_location(name: str, table_id: int, context: Context, cluster: str | None = None) -> str:
    """Returns the location of a managed table: an absolute directory of its own, below its database's directory, or
    below the root of its cluster (``root_of_cluster``). The LOCATION of a database is one of the default cluster.

    ``name`` is the catalog's. Raises ``AnalysisError`` SCHEMA_NOT_FOUND.
    """
    location = context.snapshot.database(database_of(name)).location
    root, clusters = str(context.catalog.warehouse.absolute()), context.clusters
    if cluster is not None and clusters:
        root = root_of_cluster(clusters.named(cluster), context.catalog)
        location = location if cluster == clusters.default else None
    return managed_directory(name, table_id, location, root)


def _temporary(name: str, context: Context) -> Object | None:
    return context.snapshot.temporary_view(name) or context.snapshot.temporary(name)


def plain_name(name: Name, kind: str) -> str:
    """Returns the name of a new object. Raises ``AnalysisError`` INVALID_SCHEMA_OR_RELATION_NAME unless it is plain."""
    unquoted_name = single(name)
    if PLAIN_NAME.fullmatch(name.last):
        return unquoted_name
    raise AnalysisError(
        f"'{name.last}' is not a valid {kind} name.",
        condition="INVALID_SCHEMA_OR_RELATION_NAME",
        sqlstate="42602",
        position=name.span,
        object=name.last,
        hint="Use letters, digits and underscores.",
    )


@runs(s.DropTable, in_transaction=True)
def drop_table(statement: s.DropTable, context: Context) -> Result:
    """DROP TABLE. Files stay: a managed table's files until VACUUM, an external table's files belong to their owner.

    Drops a temporary view of the name, too, as Spark does.
    """
    object_ = context.named(statement.table)
    if object_ is None and statement.if_exists:
        return Result("DROP TABLE")
    if isinstance(object_, TemporaryView):
        context.temporaries.views = context.temporaries.views.without(object_)
        return Result("DROP TABLE")
    table = context.table(statement.table)
    with context.begin() as transaction:
        try:
            transaction.commit([DropObject(table)])
        except Error as error:
            raise error.at(statement.table.span) from None
    return Result("DROP TABLE")


def already_exists(name: Name, *, has_condition: bool = True) -> IntegrityError:
    """Returns the error for a name that a table, view, cube or fact has already. ``has_condition`` says whether the
    statement takes IF NOT EXISTS.
    """
    return IntegrityError(
        f"Cannot create {name.last} because it already exists.",
        condition="TABLE_OR_VIEW_ALREADY_EXISTS",
        sqlstate="42P07",
        position=name.span,
        object=name.last,
        hint="Choose a different name, drop the existing object, or add IF NOT EXISTS."
        if has_condition
        else "Choose a different name, or drop the existing object.",
    )


def _columns(statement: s.CreateTable) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    """Returns data and partition columns. ``(dt STRING)`` adds a column, ``(dt)`` refers to a declared one; both may
    mix.
    """
    new_columns = [definition for definition in statement.partitioned_by if definition.type is not None]
    check_unique((*statement.columns, *new_columns))
    names = ", ".join(column.name for column in statement.columns)
    hint = f"The columns are {names}. To add a partition column, give it a type."
    return split_columns(statement.table, statement.columns, statement.partitioned_by, hint)


def split_columns(
    table: Name, columns: Sequence[ColumnDef], partitioned_by: Sequence[ColumnDef], hint: str
) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    """Returns the data columns, which partition nothing, and the partition columns, checked. ``partitioned_by`` may
    refer to ``columns``, add columns of its own, and add hidden columns by transforms.

    Raises COLUMN_NOT_DEFINED_IN_TABLE with the hint, COLUMN_ALREADY_EXISTS, ALL_PARTITION_COLUMNS_NOT_ALLOWED,
    INVALID_PARTITION_COLUMN_DATA_TYPE, and ``NotSupportedError`` for types that no column has.
    """
    declared = {column.name.lower(): column for column in columns}
    plain = [definition for definition in partitioned_by if definition.transform is None]
    check_unique(plain)
    names = {column.name.lower() for column in plain}
    data = [column for column in columns if column.name.lower() not in names]
    if not data:
        raise _no_data_columns(table, partitioned_by)
    partition_columns = []
    for definition in partitioned_by:
        if definition.transform is not None:
            column = _hidden_column(definition, table, _referred(definition, declared, table, hint))
        else:
            named = definition if definition.type else _referred(definition, declared, table, hint)
            if named.default is not None:
                raise no_partition_default(named.name, named.default_span)
            column = new_column(named)
        try:
            check_partition_column(column)
            _check_level(column)
        except Error as error:
            error.object = column.name
            raise error.at(definition.span) from None
        partition_columns.append(column)
    _check_transforms(partition_columns, partitioned_by, table)
    hidden = [
        ColumnDef(column.name, column.type, None, definition.span)
        for column, definition in zip(partition_columns, partitioned_by, strict=True)
        if definition.transform is not None
    ]
    check_unique((*data, *plain, *hidden))
    return tuple(new_column(column) for column in data), tuple(partition_columns)


def _hidden_column(definition: ColumnDef, table: Name, source: ColumnDef) -> Column:
    """Returns the partition column of a transform of a column."""
    assert definition.transform is not None
    transform = PartitionTransform(definition.transform, source.name)
    types = ("timestamp",) if transform.period is UpdatePeriod.HOURLY else ("timestamp", "date")
    if source.type not in types:
        raise AnalysisError(
            f"{transform.function}({source.name}) in PARTITIONED BY of {table.last} needs a column of the type "
            f"{' or '.join(map(str.upper, types))}, and {source.name} is {str(source.type).upper()}.",
            condition="INVALID_PARTITION_TRANSFORM",
            position=definition.span,
            object=source.name,
            hint="A DATE has no hours: use days." if source.type == "date" else "Convert the column, or use another.",
        )
    return Column(transform.column, transform.type, transform=transform)


def _check_transforms(columns: Sequence[Column], definitions: Sequence[ColumnDef], table: Name) -> None:
    """Raises INVALID_PARTITION_TRANSFORM for a second transform of a column, and for one of a partition column."""
    sources: set[str] = set()
    plain = {column.name.lower() for column in columns if column.transform is None}
    for column, definition in zip(columns, definitions, strict=True):
        if column.transform is None:
            continue
        source = column.transform.source
        if source.lower() in plain:
            raise AnalysisError(
                f"{source} in PARTITIONED BY of {table.last} is a partition column, and has a transform.",
                condition="INVALID_PARTITION_TRANSFORM",
                position=definition.span,
                object=source,
                hint="Write the column, or its transform, not both.",
            )
        if source.lower() in sources:
            raise AnalysisError(
                f"{source} in PARTITIONED BY of {table.last} has two transforms.",
                condition="INVALID_PARTITION_TRANSFORM",
                position=definition.span,
                object=source,
                hint="Write the transform of the shortest period alone.",
            )
        sources.add(source.lower())


def _check_level(column: Column) -> None:
    if len(partition_name((column,), (None,)).encode("utf-8")) > LONGEST_NAME:
        raise AnalysisError(
            f"The name of the partition column {column.name[:40]}… is too long: it is part of directory names.",
            condition="PARTITION_COLUMN_NAME_TOO_LONG",
            hint=f"A directory name, column=value, can have at most {LONGEST_NAME} bytes: choose a shorter name.",
        )


def _no_data_columns(table: Name, partitioned_by: Sequence[ColumnDef]) -> Error:
    if not partitioned_by:
        return AnalysisError(
            f"The table {table.last} has no columns.",
            position=table.span,
            hint="Declare columns: CREATE TABLE t (a STRING, b INT).",
        )
    return AnalysisError(
        "Cannot use all columns for partition columns.",
        condition="ALL_PARTITION_COLUMNS_NOT_ALLOWED",
        sqlstate="KD005",
        position=Span(partitioned_by[0].span.start, partitioned_by[-1].span.end),
        object=table.last,
        hint="At least one column must not be in PARTITIONED BY.",
    )


def _referred(reference: ColumnDef, columns_by_name: Mapping[str, ColumnDef], table: Name, hint: str) -> ColumnDef:
    """Returns the column that PARTITIONED BY refers to, among columns by name in lower case.

    Raises COLUMN_NOT_DEFINED_IN_TABLE, with the hint.
    """
    column = columns_by_name.get(reference.name.lower())
    if column is not None:
        return column
    raise AnalysisError(
        f"The partition column {reference.name} is not defined in the table {table.last}.",
        condition="COLUMN_NOT_DEFINED_IN_TABLE",
        sqlstate="42703",
        position=reference.span,
        object=reference.name,
        hint=hint,
    )


def new_column(definition: ColumnDef) -> Column:
    """Returns a column as it is declared. Raises for the reserved name and for types that no column of ours has."""
    assert definition.type is not None
    if definition.name.lower() == WRITE_ID_LEVEL:
        raise AnalysisError(
            f"The name {WRITE_ID_LEVEL} is reserved for the directories of writes.",
            condition="RESERVED_COLUMN_NAME",
            position=definition.span,
            object=definition.name,
            hint="Choose another name.",
        )
    if "\0" in definition.name:
        raise AnalysisError(
            "The name of a column cannot contain the character NUL, which paths and files cannot contain.",
            condition="RESERVED_COLUMN_NAME",
            position=definition.span,
            object=definition.name,
            hint="Choose another name.",
        )
    refused = next((t for t in _REFUSED_TYPES if re.search(rf"\b{t}\b", definition.type)), None)
    if refused:
        raise NotSupportedError(
            f"A column of the type {refused} is not supported.",
            condition="UNSUPPORTED_DATATYPE",
            sqlstate="0A000",
            position=definition.span,
            object=definition.name,
            hint="Use TIMESTAMP, which is an instant in UTC." if refused == "timestamp_ntz" else "Use STRING.",
        )
    field = repeated_field(type_tree(definition.type))
    if field is not None:
        raise AnalysisError(
            f"The field {field} of the column {definition.name} already exists.",
            condition="COLUMN_ALREADY_EXISTS",
            sqlstate="42711",
            position=definition.span,
            object=definition.name,
            hint="Choose another name; names are not case-sensitive.",
        )
    if definition.default is not None:
        check_default(definition.default, definition.type, definition.name, definition.default_span, "CREATE TABLE")
    return Column(
        definition.name, definition.type, definition.comment, definition.default, not_null=definition.not_null
    )


def no_partition_default(name: str, position: Span) -> NotSupportedError:
    """Returns the error for a DEFAULT of a partition column."""
    return NotSupportedError(
        f"The partition column {name} cannot have a DEFAULT.",
        position=position,
        object=name,
        hint="Give it a value in each INSERT: PARTITION (column = 'value'), or a column of the query.",
    )


def _format(statement: _Creation) -> str:
    position = statement.format_span or statement.table.span
    return check_table_format(statement.format or "parquet", position, statement.table.last)
