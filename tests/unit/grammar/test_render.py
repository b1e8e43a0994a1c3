"""Statements render to text that parses to themselves: the written ones, and generated ones with any name and value."""

from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as some
from test_parse_statements import STATEMENTS

from rewriter.grammar import filters as f
from rewriter.grammar.dialect_rules import keywords
from rewriter.grammar.families.clusters import (
    AddCluster,
    DropCluster,
    Replicate,
    SetPrimaryCluster,
    ShowCatalogProperties,
    ShowClusters,
    UseCluster,
)
from rewriter.grammar.families.columns import (
    AddColumns,
    CommentColumn,
    CommentTable,
    DropColumns,
    DropNotNull,
    RenameColumn,
    SetDefault,
)
from rewriter.grammar.families.cube_from import CreateCubeFrom, EventMeasure
from rewriter.grammar.families.cubes import AlterCube, CreateCube, CubeColumn, DropCube, RenameCubeColumn, ShowCubes
from rewriter.grammar.families.databases import (
    CreateDatabase,
    DescribeDatabase,
    DropDatabase,
    ShowDatabases,
    UseDatabase,
)
from rewriter.grammar.families.deletes import Delete
from rewriter.grammar.families.descriptions import (
    Describe,
    DescribeHistory,
    DescribeQuery,
    ShowColumns,
    ShowCreate,
    ShowTableExtended,
    ShowTableProperties,
)
from rewriter.grammar.families.fact_changes import (
    AddRollups,
    AddStorage,
    AlterFact,
    DropRollup,
    DropStorage,
    MarkComplete,
    RecommendRollups,
    SetLateness,
    SetRefresh,
    SetRetention,
    SetTrusted,
    ShowRollupUse,
)
from rewriter.grammar.families.facts import (
    CompleteWith,
    CreateFact,
    DropFact,
    FactStorage,
    FactTable,
    LayoutColumn,
    RawColumn,
    Rollup,
)
from rewriter.grammar.families.functions import CreateFunction, DescribeFunction, DropFunction, ShowFunctions
from rewriter.grammar.families.maintenance import (
    AnalyzeTable,
    AnalyzeTables,
    Compact,
    RefreshTable,
    RepairTable,
    Vacuum,
)
from rewriter.grammar.families.multi_inserts import MultiInsert
from rewriter.grammar.families.output_directories import InsertDirectory
from rewriter.grammar.families.partitions import (
    AddPartitions,
    CommitPartitions,
    DropPartitions,
    ExchangePartitions,
    PartitionLocation,
    RenamePartition,
    ShowPartitions,
    SortKey,
    Truncate,
)
from rewriter.grammar.families.queries import Explain, Select
from rewriter.grammar.families.session_variables import (
    DeclareVariable,
    DropVariable,
    ExecuteImmediate,
    SetVariables,
    SetVariablesByQuery,
)
from rewriter.grammar.families.settings import ResetSetting, SetSetting, ShowCache
from rewriter.grammar.families.storage import SetFileFormat, SetLocation, SetSerde
from rewriter.grammar.families.streams import DropStream, ShowStreams, StopStream
from rewriter.grammar.families.table_caching import CacheTable, ClearCache, RefreshPath, UncacheTable
from rewriter.grammar.families.table_properties import SetProperties, SetTimeline, UnsetProperties
from rewriter.grammar.families.tables import CreateTable, CreateTableAs, CreateTableLike, DropTable, Rename, ShowTables
from rewriter.grammar.families.timelines import (
    CheckFact,
    MaintainFact,
    RefreshFact,
    RefreshTimelines,
    ShowCoverage,
    ShowLatest,
    ShowTimelines,
    ShowWork,
)
from rewriter.grammar.families.transactions import Commit, Rollback, StartTransaction
from rewriter.grammar.families.views import AlterView, CreateView, CreateViewOfFiles, DropView, ShowViews
from rewriter.grammar.families.writes import Insert, LoadData
from rewriter.grammar.lexer import tokens
from rewriter.grammar.parser import parse
from rewriter.grammar.row_formats import RowFormat
from rewriter.grammar.statements import RENDERERS, Statement
from rewriter.grammar.terms import (
    ClusterName,
    ColumnDef,
    ColumnName,
    DatabaseName,
    Expression,
    Literal,
    Name,
    NewName,
    PartitionItem,
    Query,
)
from rewriter.grammar.unparse import quote, quote_name, render

texts = some.text(max_size=12) | some.sampled_from(
    ["", "'", "\\", "\\'", "it's", "\\%", "\0" + "12", "\r\n", "é中😀", "--", "*/"]
)
names = some.sampled_from(["a", "date", "user", "SELECT", "Table", "values", "1a", "x y", "`", "é", "if", "null"]) | (
    some.text(min_size=1, max_size=8)
)
qualified = some.builds(Name, some.lists(names, min_size=1, max_size=3).map(tuple))
databases = some.builds(DatabaseName, names)
paths = some.builds(ColumnName, some.lists(names, min_size=1, max_size=3).map(tuple))
worded = some.sampled_from(
    [Expression(text) for text in ("1", "f(a, 'b')", "(SELECT 1, 2)", "x + 1 -- c\n+ 2", "CASE WHEN a THEN b END")]
)
clusters = some.builds(ClusterName, names)
flags = some.booleans()
numbers = some.from_regex(r"-?[0-9]{1,6}(\.[0-9]{1,3})?(BD|D|F)?|-?[0-9]{1,4}[LSY]|-?1e-?[0-9]", fullmatch=True)
literals = some.one_of(
    some.builds(Literal, some.sampled_from(["string", "date", "timestamp"]), texts),
    some.builds(Literal, some.just("number"), numbers),
    some.sampled_from([Literal("null", ""), Literal("boolean", "true"), Literal("boolean", "false")]),
)
queries = some.sampled_from(
    [
        "SELECT 1",
        "(SELECT a\r\n-- c\n, b)",
        "VALUES (1)",
        "WITH x AS (SELECT 1) SELECT ';'",
        "FROM t SELECT a",
        "TABLE t",
    ]
).map(Query)
scalars = some.sampled_from(["int", "string", "decimal(10,2)", "varchar(3)", "timestamp_ntz"])


def struct(fields: list[tuple[str, str]]) -> str:
    return "struct<" + ",".join(f"`{name.replace('`', '``')}`:{type_}" for name, type_ in fields) + ">"


types = some.recursive(
    scalars,
    lambda inner: some.one_of(
        inner.map(lambda t: f"array<{t}>"),
        some.tuples(inner, inner).map(lambda pair: f"map<{pair[0]},{pair[1]}>"),
        some.lists(some.tuples(some.sampled_from(["x y", "a`b", "1"]), inner), max_size=2).map(struct),
    ),
    max_leaves=4,
)


def unique(key: str):  # type: ignore[no-untyped-def]
    """Returns a key for ``unique_by``: names are compared without case."""
    return lambda item: getattr(item, key).lower()


def tuples(items, key=None, least=1):  # type: ignore[no-untyped-def]
    return some.lists(items, min_size=least, max_size=3, unique_by=key).map(tuple)


def optional(values):  # type: ignore[no-untyped-def]
    return some.none() | values


constants = some.sampled_from(["current_date", "date_sub(current_date(), 7)", "'a' || :x", "- INTERVAL 3 DAYS"])
values = some.one_of(literals, constants.map(partial(Literal, "constant")))
dynamic = tuples(some.builds(PartitionItem, names, optional(values)), unique("column"))
static = tuples(some.builds(PartitionItem, names, values), unique("column"))
columns = some.builds(ColumnDef, names, types, optional(texts))
transforms = some.builds(
    ColumnDef, names, some.none(), transform=some.sampled_from(["years", "months", "days", "hours"])
)
layouts = tuples(some.builds(LayoutColumn, names, optional(texts)), unique("column"))
periods = some.sampled_from(["MINUTELY", "HOURLY", "DAILY", "WEEKLY", "MONTHLY", "QUARTERLY", "YEARLY"])
complete = tuples(some.builds(CompleteWith, names, optional(tuples(literals))), unique("column"), least=0)
expressions = some.sampled_from(["a", "f(a, b) + 1", "CASE WHEN a IN (1, 2) THEN ',' ELSE ')' END", "m['k, (']"])
fact_tables = some.builds(
    lambda table, many, by, flags, complete, start, end, raw, columns: FactTable(
        table,
        many,
        by,
        (*flags, "COMPLETE") if complete else flags,
        complete,
        start,
        end,
        raw,
        None if table is None else columns,
    ),
    optional(qualified),
    tuples(periods, str),
    tuples(some.tuples(names, layouts), lambda item: item[0].lower()),
    some.sampled_from([(), ("TRUSTED",)]),
    complete,
    optional(texts),
    optional(texts),
    optional(tuples(some.builds(RawColumn, names, expressions), unique("column"), least=0)),
    optional(tuples(names, str.lower)),
)
lengths = some.builds("{} {}".format, some.integers(1, 400), some.sampled_from(["days", "hours", "years"]))
rollups = some.builds(Rollup, periods, optional(some.just(()) | tuples(names, str.lower)), retain=optional(lengths))
storages = some.builds(
    FactStorage, names | some.just("default"), tuples(fact_tables), optional(names), optional(texts), optional(texts)
)
event_measures = some.one_of(
    some.builds(EventMeasure, some.just("COUNT"), some.none(), names),
    some.builds(EventMeasure, some.sampled_from(["COUNT", "SUM", "MIN", "MAX"]), expressions, names),
)
cube_columns = some.one_of(
    some.builds(CubeColumn, names, types, some.sampled_from(["DIMENSION", "TIME"])),
    some.builds(CubeColumn, names, types, some.sampled_from(["COUNT", "MIN", "MAX"]), some.none(), flags),
    some.builds(CubeColumn, names, types, some.just("SUM"), optional(names), flags),
)
keys = names | some.sampled_from(["a.b", "rewriter.partial_data", "a-b:c.1", "time", "a--b"])
operators = some.sampled_from(["=", "<>", "<", "<=", ">", ">="])
strings = some.builds(Literal, some.just("string"), texts)
predicates = some.one_of(
    some.builds(f.Comparison, names, operators, literals),
    some.builds(f.Like, names, strings),
    some.builds(f.InList, names, tuples(literals)),
    some.builds(f.Between, names, literals, literals),
    some.builds(f.IsNull, names),
)
conditions = predicates | predicates.map(f.negation)
filters = some.recursive(
    predicates,
    lambda inner: some.one_of(
        inner.map(f.negation),
        some.lists(inner, min_size=1, max_size=4).map(tuple).map(f.conjunction),
        some.lists(inner, min_size=1, max_size=4).map(tuple).map(f.disjunction),
    ),
    max_leaves=12,
)


def one_value_each(condition: f.Filter) -> str:
    """Returns a key for ``unique_by``: a spec of DROP gives a column at most one value."""
    equal = isinstance(condition, f.Comparison) and condition.op == "="
    return condition.column.lower() if equal else repr(condition)


bounds = some.sampled_from([(Literal("string", "2015"), Literal("date", "2016-01-01"))])
marks = some.builds(lambda between: MarkComplete(*between), bounds)
inserts = some.builds(
    Insert,
    table=qualified,
    query=queries,
    overwrite=flags,
    partition=optional(dynamic),
    columns=optional(tuples(names)),
    complete=optional(marks),
) | some.builds(Insert, table=qualified, query=queries, partition=optional(dynamic), by_name=some.just(True))
multi_inserts = some.builds(
    MultiInsert,
    source=some.sampled_from(["FROM s", "FROM (SELECT a FROM t) AS s", "WITH x AS (SELECT 1) FROM x"]).map(Query),
    inserts=some.lists(
        some.builds(
            Insert,
            table=qualified,
            query=some.sampled_from(["SELECT a", "SELECT * WHERE a > (SELECT 1)"]).map(Query),
            overwrite=flags,
            partition=optional(dynamic),
            columns=optional(tuples(names)),
        ),
        min_size=2,
        max_size=3,
    ).map(tuple),
)
statements = some.one_of(
    multi_inserts,
    some.builds(LoadData, path=texts, table=qualified, partition=optional(static), overwrite=flags, local=flags),
    some.builds(
        InsertDirectory,
        path=texts,
        query=queries,
        local=flags,
        format=some.sampled_from(["parquet", "csv", "x y"]),
        options=tuples(some.tuples(texts, texts), lambda pair: pair[0].lower(), least=0),
    ),
    some.builds(
        InsertDirectory,
        path=texts,
        query=queries,
        row_format=some.sampled_from([RowFormat(), RowFormat("\t", "\\", "")]),
    ),
    some.builds(Select, query=queries),
    some.builds(Explain, what=some.sampled_from(["REWRITE", "COVER", "SCAN", "ENGINE", "ALL"]), query=queries),
    some.builds(
        CreateTable,
        table=qualified,
        columns=tuples(columns),
        partitioned_by=tuples(columns | transforms | some.builds(ColumnDef, names, some.none()), least=0),
        external=flags,
        if_not_exists=flags,
        format=optional(some.sampled_from(["parquet", "orc", "x y", "table"])),
        location=optional(texts),
        comment=optional(texts),
        properties=tuples(some.tuples(texts, texts), lambda pair: pair[0], least=0),
        temporary=flags,
        cluster=optional(clusters),
    ),
    some.builds(
        CreateTable,
        table=qualified,
        columns=tuples(columns),
        format=some.just("textfile"),
        row_format=some.sampled_from([RowFormat(), RowFormat(",", "\\", "null"), RowFormat("\t", None, "it's")]),
    ),
    some.builds(
        CreateTable,
        table=qualified,
        columns=tuples(columns),
        format=some.just("csv"),
        options=tuples(
            some.tuples(texts.filter(lambda key: key.lower() != "path"), texts), lambda pair: pair[0].lower()
        ),
    ),
    some.builds(
        CreateTable,
        table=qualified,
        columns=tuples(columns),
        format=some.just("csv"),
        serde_properties=tuples(some.tuples(texts, texts), lambda pair: pair[0], least=0),
    ),
    some.builds(
        CreateTableAs,
        table=qualified,
        query=queries,
        partitioned_by=tuples(transforms | some.builds(ColumnDef, names, some.none()), least=0),
        external=flags,
        format=optional(some.sampled_from(["parquet", "orc", "x y", "table"])),
        location=optional(texts),
        comment=optional(texts),
        properties=tuples(some.tuples(texts, texts), lambda pair: pair[0], least=0),
        temporary=flags,
        or_replace=flags,
        cluster=optional(clusters),
    ),
    some.builds(
        CreateTableLike,
        table=qualified,
        source=qualified,
        external=flags,
        if_not_exists=flags,
        format=optional(some.sampled_from(["parquet", "as"])),
        location=optional(texts),
        properties=tuples(some.tuples(texts, texts), lambda pair: pair[0], least=0),
        temporary=flags,
        cluster=optional(clusters),
    ),
    some.builds(AddColumns, table=qualified, columns=tuples(columns)),
    some.builds(RenameColumn, table=qualified, column=names, to=names, cascade=flags),
    some.builds(DropColumns, table=qualified, columns=tuples(names, str.lower), cascade=flags),
    some.builds(CommentColumn, table=qualified, column=names, comment=optional(texts)),
    some.builds(
        CommentColumn,
        table=qualified,
        column=names,
        comment=texts,
        renamed=some.builds(ColumnDef, names, types),
    ),
    some.builds(CommentTable, table=qualified, comment=optional(texts)),
    some.builds(
        SetDefault,
        table=qualified,
        column=names,
        default=some.sampled_from([None, "-1", "'x, y'", "DATE '2024-01-31'", "NULL"]),
    ),
    some.builds(DropNotNull, table=qualified, column=names),
    some.builds(DropTable, table=qualified, if_exists=flags, purge=flags),
    some.builds(
        lambda how, **parts: CreateView(or_replace=how == "REPLACE", if_not_exists=how == "IF NOT EXISTS", **parts),
        some.sampled_from(["", "REPLACE", "IF NOT EXISTS"]),
        view=qualified,
        query=queries,
        columns=optional(tuples(some.builds(ColumnDef, names, some.none(), optional(texts)), unique("name"))),
        comment=optional(texts),
        properties=tuples(some.tuples(texts, texts), lambda pair: pair[0], least=0),
    ),
    some.builds(
        CreateView,
        temporary=some.just(True),
        or_replace=flags,
        view=names.map(lambda view: Name((view,))),
        query=queries,
        columns=optional(tuples(some.builds(ColumnDef, names, some.none(), optional(texts)), unique("name"))),
        comment=optional(texts),
    ),
    some.builds(
        CreateViewOfFiles,
        view=names.map(lambda view: Name((view,))),
        format=some.sampled_from(["csv", "x y"]),
        path=texts,
        columns=optional(tuples(columns, unique("name"))),
        options=tuples(
            some.tuples(texts.filter(lambda key: key.lower() != "path"), texts), lambda pair: pair[0].lower(), least=0
        ),
        or_replace=flags,
    ),
    some.builds(AlterView, view=qualified, query=queries),
    some.builds(DropView, view=qualified, if_exists=flags),
    some.builds(ShowViews, like=optional(texts), database=optional(databases)),
    some.builds(ShowTables, like=optional(texts), database=optional(databases)),
    some.builds(ShowCubes, facts=flags, database=optional(databases)),
    some.builds(
        CreateDatabase,
        database=databases,
        if_not_exists=flags,
        comment=optional(texts),
        location=optional(texts),
        properties=some.just(()) | tuples(some.tuples(texts, texts), lambda pair: pair[0]),
    ),
    some.builds(DropDatabase, database=databases, if_exists=flags, cascade=flags),
    some.builds(ShowDatabases, like=optional(texts)),
    some.builds(DescribeDatabase, database=databases, extended=flags),
    some.sampled_from([StartTransaction(), Commit(), Rollback()]),
    some.builds(UseDatabase, database=databases),
    some.sampled_from([ShowClusters(), ShowCatalogProperties()]),
    some.builds(UseCluster, cluster=optional(clusters)),
    some.builds(AddCluster, table=qualified, cluster=clusters, partition=optional(static), location=optional(texts)),
    some.builds(DropCluster, table=qualified, cluster=clusters, partition=optional(static)),
    some.builds(SetPrimaryCluster, table=qualified, cluster=clusters),
    some.builds(Replicate, table=qualified, cluster=clusters, partition=optional(static), only_stale=flags),
    some.builds(ShowCache),
    some.builds(
        Rename,
        kind=some.sampled_from(["TABLE", "VIEW"]),
        name=qualified,
        to=some.builds(NewName, some.lists(names, min_size=1, max_size=3).map(tuple)),
    ),
    some.builds(ShowCreate, kind=some.sampled_from(["TABLE", "VIEW", "CUBE", "FACT"]), name=qualified, as_serde=flags),
    some.builds(Describe, name=qualified, kind=some.sampled_from(["TABLE", "CUBE", "FACT"]), extended=flags),
    some.builds(
        Describe,
        name=qualified,
        extended=flags,
        partition=optional(static),
        column=optional(some.builds(ColumnName, some.lists(names, min_size=1, max_size=3).map(tuple))),
        as_json=flags,
    ),
    some.builds(DescribeQuery, query=queries),
    some.builds(ShowTableExtended, like=texts, database=optional(databases), partition=optional(static)),
    some.builds(ShowColumns, table=qualified),
    some.builds(ShowTableProperties, table=qualified, key=optional(texts)),
    some.builds(AnalyzeTable, table=qualified, partition=optional(dynamic), noscan=flags),
    some.builds(
        AnalyzeTable,
        table=qualified,
        partition=optional(dynamic),
        columns=tuples(names.map(lambda name: ColumnName((name,))), lambda name: name.last.lower(), least=0),
    ),
    some.builds(AnalyzeTables, database=optional(databases), noscan=flags),
    inserts,
    some.builds(
        Insert,
        table=qualified,
        query=queries,
        overwrite=some.just(True),
        partition=static,
        if_not_exists=some.just(True),
        columns=optional(tuples(names)),
    ),
    some.builds(
        AddPartitions,
        table=qualified,
        partitions=tuples(some.builds(PartitionLocation, spec=static, location=optional(texts))),
        if_not_exists=flags,
    ),
    some.builds(
        DropPartitions,
        table=qualified,
        specs=tuples(tuples(conditions, one_value_each)),
        if_exists=flags,
        purge=flags,
    ),
    some.builds(CommitPartitions, table=qualified, specs=tuples(tuples(conditions, one_value_each))),
    some.builds(
        ShowPartitions,
        table=qualified,
        status=some.just(False),
        partition=optional(static),
        where=optional(filters),
        order_by=tuples(some.builds(SortKey, names, flags), least=0),
        limit=optional(some.integers(0, 10**9)),
        as_json=flags,
    ),
    some.builds(RenamePartition, table=qualified, partition=static, to=static),
    some.builds(ExchangePartitions, table=qualified, partitions=tuples(static), source=qualified),
    some.builds(Compact, table=qualified, partition=optional(static)),
    some.builds(Vacuum, table=optional(qualified), hours=optional(some.integers(0, 10**6)), dry_run=some.booleans()),
    some.builds(Truncate, table=qualified, partition=optional(static)),
    some.builds(DescribeHistory, name=qualified, limit=optional(some.integers(0, 100))),
    some.builds(Delete, table=qualified, alias=optional(names), where=optional(some.just(Query("a = 'x' OR b")))),
    some.builds(SetLocation, table=qualified, location=texts, partition=optional(static)),
    some.builds(
        SetFileFormat,
        table=qualified,
        format=some.sampled_from(["parquet", "orc", "x y", "inputformat"]),
        partition=optional(static),
    ),
    some.builds(
        lambda serde, pairs, **parts: SetSerde(serde=serde, properties=pairs, **parts),
        optional(texts),
        tuples(some.tuples(texts, texts), lambda pair: pair[0]),
        table=qualified,
        partition=optional(static),
    ),
    some.builds(SetSerde, table=qualified, serde=texts, partition=optional(static)),
    some.builds(
        RepairTable,
        table=qualified,
        repair=flags,
        what=some.sampled_from(["ADD", "DROP", "SYNC"]),
        where=optional(filters),
    ),
    some.builds(
        CreateCube, name=qualified, columns=tuples(cube_columns), if_not_exists=flags, time_zone=optional(texts)
    ),
    some.builds(
        CreateFact,
        name=qualified,
        cube=qualified,
        storages=tuples(storages, unique("name")),
        columns=optional(tuples(names)),
        weight=some.integers(0, 10**6),
        if_not_exists=flags,
        rollups=some.just(()) | tuples(rollups),
        refresh_on_commit=flags,
    ),
    some.builds(
        CreateCubeFrom,
        name=qualified,
        source=qualified,
        time=optional(names),
        dimensions=optional(tuples(names, str.lower)),
        measures=optional(tuples(event_measures, unique("name"))),
        rollups=some.just(()) | tuples(rollups),
        time_zone=optional(texts),
        external=flags,
    ),
    some.builds(AlterCube, name=qualified, columns=tuples(cube_columns, unique("name"))),
    some.builds(RenameCubeColumn, name=qualified, column=names, to=names, cascade=flags),
    some.builds(DropCube, name=qualified, if_exists=flags),
    some.builds(DropFact, name=qualified, if_exists=flags, cascade=flags),
    some.builds(
        RecommendRollups,
        cube=qualified,
        file=optional(texts),
        within=optional(some.sampled_from(["2 GB", "1.5 mib", "7B"])),
    ),
    some.builds(ShowRollupUse, fact=qualified, file=optional(texts)),
    some.builds(MaintainFact, fact=qualified, most=optional(some.integers(1, 99)), dry_run=flags),
    some.builds(ShowTimelines, fact=qualified, storage=optional(names), period=optional(periods)),
    some.builds(
        lambda kind, fact, bounds: kind(fact=fact, start=bounds[0], end=bounds[1]),
        some.sampled_from(
            [
                ShowCoverage,
                *(partial(ShowWork, state=state) for state in ("MISSING", "OUTDATED", "UNPROVEN", "NARROW")),
                CheckFact,
                partial(CheckFact, accept=True),
                RefreshFact,
                partial(RefreshFact, dry_run=True),
                partial(RefreshFact, force=True),
                partial(RefreshFact, most=3),
                partial(RefreshFact, most=100, dry_run=True),
            ]
        ),
        qualified,
        some.just((None, None)) | bounds,
    ),
    some.builds(
        AlterFact,
        fact=qualified,
        action=some.one_of(
            marks,
            some.builds(SetLateness, optional(texts)),
            some.builds(SetTrusted, qualified, flags),
            some.builds(SetRetention, qualified, optional(lengths)),
            some.builds(SetRefresh, flags),
            some.builds(
                AddStorage,
                some.builds(
                    FactStorage,
                    names | some.just("default"),
                    tuples(fact_tables),
                    some.none(),
                    optional(texts),
                    optional(texts),
                ),
            ),
            some.builds(DropStorage, qualified),
            some.builds(AddRollups, tuples(rollups)),
            some.builds(DropRollup, rollups),
        ),
    ),
    some.builds(ShowLatest, fact=qualified),
    some.builds(RefreshTimelines, fact=qualified),
    some.builds(RefreshTable, table=qualified),
    some.builds(RefreshPath, path=texts),
    some.just(ShowStreams()),
    some.builds(StopStream, stream=texts),
    some.builds(DropStream, stream=texts),
    some.builds(ShowFunctions, like=optional(texts), user=flags, database=optional(databases)),
    some.builds(ShowFunctions, like=optional(texts), system=flags, database=optional(databases)),
    some.builds(
        CreateFunction,
        function=qualified,
        parameters=tuples(some.builds(ColumnDef, name=names, type=some.just("decimal(5,2)"), comment=optional(texts))),
        body=worded,
        returns=some.none() | some.just("int"),
        temporary=flags,
        or_replace=flags,
        comment=optional(texts),
    ),
    some.builds(CreateFunction, function=qualified, parameters=some.just(()), body=worded, if_not_exists=flags),
    some.builds(DropFunction, function=qualified, temporary=flags, if_exists=flags),
    some.builds(
        DeclareVariable,
        variables=some.lists(paths, min_size=1, max_size=3).map(tuple),
        type=some.just("string"),
        default=optional(worded),
        or_replace=flags,
    ),
    some.lists(some.tuples(paths, worded), min_size=1, max_size=3).map(
        lambda pairs: SetVariables(
            variables=tuple(variable for variable, _ in pairs), values=tuple(value for _, value in pairs)
        )
    ),
    some.builds(
        SetVariablesByQuery,
        variables=some.lists(paths, min_size=1, max_size=3).map(tuple),
        source=some.just(Expression("(SELECT 1, 2)")),
    ),
    some.builds(DropVariable, variable=paths, if_exists=flags),
    some.builds(
        ExecuteImmediate,
        statement=worded,
        into=some.lists(paths, max_size=3).map(tuple),
        arguments=some.lists(some.tuples(worded, optional(names)), max_size=3).map(tuple),
    ),
    some.builds(
        DescribeFunction, function=some.lists(names, min_size=1).map(lambda n: ColumnName(tuple(n))), extended=flags
    ),
    some.builds(
        CacheTable,
        table=names.map(lambda table: Name((table,))),
        query=optional(queries),
        lazy=flags,
        options=tuples(some.tuples(texts, texts), lambda pair: pair[0], least=0),
    ),
    some.builds(UncacheTable, table=qualified, if_exists=flags),
    some.builds(ClearCache),
    some.builds(SetProperties, table=qualified, properties=tuples(some.tuples(texts, texts), lambda pair: pair[0])),
    some.builds(UnsetProperties, table=qualified, keys=tuples(texts, str), if_exists=flags),
    some.builds(SetTimeline, table=qualified, period=periods, column=names, implementation=texts),
    some.just(SetSetting()),
    some.builds(SetSetting, key=keys, value=optional(texts)),
    some.builds(ResetSetting, key=optional(keys)),
)


def test_written_statements_come_back() -> None:
    for _, statement in STATEMENTS:
        assert parse(render(statement)) == statement


@settings(max_examples=400, deadline=None)
@given(statements)
def test_generated_statements_come_back(statement: Statement) -> None:
    text = render(statement)
    assert parse(text) == statement
    assert render(parse(text)) == text


def test_every_statement_is_generated() -> None:
    def leaves(cls: type) -> set[type]:
        return {leaf for sub in cls.__subclasses__() for leaf in leaves(sub)} or {cls}

    helpers = {PartitionLocation}
    written = {type(statement) for _, statement in STATEMENTS}
    assert {leaf for leaf in leaves(Statement) if leaf in RENDERERS} - helpers == written


@given(texts)
def test_quoted_text_says_the_same(text: str) -> None:
    statement = parse(f"SET x = {quote(text)}")
    assert isinstance(statement, SetSetting)
    assert statement.value == text
    assert len(tokens(quote(text))) == 1


def test_all_keywords_are_quoted_as_names() -> None:
    assert {word for word in keywords() if quote_name(word.lower()) == word.lower()} == {"DEFAULT"}  # The database.
    assert quote_name("flights") == "flights"


def test_rendered_text_is_pleasant() -> None:
    sql = (
        "CREATE FACT flights_all OF CUBE flights WEIGHT 10 LATENESS '6 hours' STORED IN STORAGE hot "
        "(TABLE flights_daily PERIOD DAILY PARTITIONED BY departed AS (ds = 'yyyy-MM-dd')) START '2013'"
    )
    assert render(parse(sql)) == sql
