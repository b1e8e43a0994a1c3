"""Statements that are read, and what they mean. The spellings are those of seed 003, Spark, Hive and ``dialect.md``."""

import subprocess
import sys
from typing import Any

import pytest

from rewriter.errors import Span
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
from rewriter.grammar.families.cubes import (
    AlterCube,
    CreateCube,
    CubeColumn,
    DropCube,
    DropCubeColumns,
    RenameCubeColumn,
    ShowCubes,
    WidenCubeColumn,
)
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
    VacuumUnknown,
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
    Touch,
    Truncate,
)
from rewriter.grammar.families.queries import Explain, ExplainChange, ExplainScan, ExplainWrite, Select
from rewriter.grammar.families.session_variables import (
    DeclareVariable,
    DropVariable,
    ExecuteImmediate,
    SetVariables,
    SetVariablesByQuery,
)
from rewriter.grammar.families.settings import ResetSetting, SetSetting, ShowCache
from rewriter.grammar.families.storage import SetFileFormat, SetLocation, SetSerde
from rewriter.grammar.families.streams import DropStream, InsertStream, ShowStreams, StopStream
from rewriter.grammar.families.table_caching import CacheTable, ClearCache, RefreshPath, UncacheTable
from rewriter.grammar.families.table_properties import SetProperties, SetTimeline, UnsetProperties
from rewriter.grammar.families.tables import CreateTable, CreateTableAs, CreateTableLike, DropTable, Rename, ShowTables
from rewriter.grammar.families.timelines import (
    CheckFact,
    MaintainFact,
    MaintainTable,
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
from rewriter.grammar.filters import And, Comparison, IsNull, Or
from rewriter.grammar.parser import parse
from rewriter.grammar.row_formats import RowFormat
from rewriter.grammar.statements import Statement
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


def name(*parts: str) -> Name:
    return Name(parts)


def text(value: str) -> Literal:
    return Literal("string", value)


def number(value: str) -> Literal:
    return Literal("number", value)


def spec(**values: Any) -> tuple[PartitionItem, ...]:
    literals = {key: text(value) if isinstance(value, str) else value for key, value in values.items()}
    return tuple(PartitionItem(key, value) for key, value in literals.items())


USER_CNT = (ColumnDef("user", "string"), ColumnDef("cnt", "int"))
SOURCE = "SELECT user, cnt, date, country FROM country_page_view_source"

STATEMENTS: list[tuple[str, Statement]] = [
    # Seed 003, CREATE TABLE in the spellings of Hive and of Spark
    (
        "CREATE TABLE page_view(\n\n  user STRING,\n\n  cnt INT) \n\nPARTITIONED BY (date STRING);",
        CreateTable(table=name("page_view"), columns=USER_CNT, partitioned_by=(ColumnDef("date", "string"),)),
    ),
    (
        "CREATE TABLE page_view( user STRING, cnt INT, date STRING) PARTITIONED BY (date);",
        CreateTable(
            table=name("page_view"),
            columns=(*USER_CNT, ColumnDef("date", "string")),
            partitioned_by=(ColumnDef("date", None),),
        ),
    ),
    (
        "CREATE TABLE page_view(user STRING, cnt INT) PARTITIONED BY (days(`a b`), Date_Hour(user), d INT, year(cnt))",
        CreateTable(
            table=name("page_view"),
            columns=USER_CNT,
            partitioned_by=(
                ColumnDef("a b", None, transform="days"),
                ColumnDef("user", None, transform="hours"),
                ColumnDef("d", "int"),
                ColumnDef("cnt", None, transform="years"),
            ),
        ),
    ),
    (
        "CREATE TABLE country_page_view(user STRING, cnt INT) PARTITIONED BY (date STRING, country STRING);",
        CreateTable(
            table=name("country_page_view"),
            columns=USER_CNT,
            partitioned_by=(ColumnDef("date", "string"), ColumnDef("country", "string")),
        ),
    ),
    # Views
    ("CREATE VIEW v AS SELECT 1 -- end", CreateView(view=name("v"), query=Query("SELECT 1"))),
    (
        "CREATE OR REPLACE VIEW default.v (a COMMENT 'é', `b c`) COMMENT 'x' TBLPROPERTIES ('k' = 'v') AS "
        "WITH t AS (SELECT 1) SELECT * FROM t",
        CreateView(
            view=name("default", "v"),
            query=Query("WITH t AS (SELECT 1) SELECT * FROM t"),
            columns=(ColumnDef("a", None, "é"), ColumnDef("b c", None)),
            or_replace=True,
            comment="x",
            properties=(("k", "v"),),
        ),
    ),
    (
        "CREATE VIEW IF NOT EXISTS view (as) AS (SELECT a FROM t)",
        CreateView(
            view=name("view"),
            query=Query("(SELECT a FROM t)"),
            columns=(ColumnDef("as", None),),
            if_not_exists=True,
        ),
    ),
    ("CREATE VIEW v AS FROM t SELECT a;", CreateView(view=name("v"), query=Query("FROM t SELECT a"))),
    (
        "CREATE OR REPLACE TEMP VIEW v (a COMMENT 'é') COMMENT 'x' AS SELECT 1",
        CreateView(
            view=name("v"),
            query=Query("SELECT 1"),
            columns=(ColumnDef("a", None, "é"),),
            temporary=True,
            or_replace=True,
            comment="x",
        ),
    ),
    ("CREATE TEMPORARY VIEW v AS TABLE t", CreateView(view=name("v"), query=Query("TABLE t"), temporary=True)),
    (
        "CREATE OR REPLACE TEMP VIEW v (a INT) USING CSV OPTIONS (path '/f', header true, 'sep' = ';')",
        CreateViewOfFiles(
            view=name("v"),
            format="csv",
            path="/f",
            columns=(ColumnDef("a", "int"),),
            options=(("header", "true"), ("sep", ";")),
            or_replace=True,
        ),
    ),
    (
        "CREATE TABLE t (a INT) USING csv OPTIONS (header 'true', 'Path' '/f')",
        CreateTable(
            table=name("t"),
            columns=(ColumnDef("a", "int"),),
            format="csv",
            options=(("header", "true"),),
            location="/f",
        ),
    ),
    (
        "CREATE TABLE t (a STRING) ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.OpenCSVSerde' "
        "WITH SERDEPROPERTIES ('quoteChar' = '`') STORED AS TEXTFILE",
        CreateTable(
            table=name("t"),
            columns=(ColumnDef("a", "string"),),
            format="csv",
            serde_properties=(("quoteChar", "`"),),
        ),
    ),
    (
        "CREATE TABLE t (a INT) ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe' "
        "WITH SERDEPROPERTIES ('field.delim' = ';', 'serialization.format' = ',', 'serialization.null.format' = '')",
        CreateTable(
            table=name("t"),
            columns=(ColumnDef("a", "int"),),
            format="textfile",
            row_format=RowFormat(";", None, ""),
        ),
    ),
    ("ALTER VIEW s.v AS SELECT 1", AlterView(view=name("s", "v"), query=Query("SELECT 1"))),
    ("ALTER VIEW v SELECT 1 -- end", AlterView(view=name("v"), query=Query("SELECT 1"))),
    ("ALTER VIEW v (SELECT 1)", AlterView(view=name("v"), query=Query("(SELECT 1)"))),
    (
        "ALTER VIEW v AS WITH a AS (SELECT 1) TABLE a",
        AlterView(view=name("v"), query=Query("WITH a AS (SELECT 1) TABLE a")),
    ),
    ("DROP VIEW v", DropView(view=name("v"))),
    ("DROP VIEW IF EXISTS default.`v`", DropView(view=name("default", "v"), if_exists=True)),
    ("SHOW VIEWS", ShowViews()),
    ("SHOW VIEWS 'a*|b'", ShowViews(like="a*|b")),
    ("SHOW VIEWS LIKE 'a*'", ShowViews(like="a*")),
    # Seed 003, INSERT
    (
        "INSERT INTO TABLE country_page_view PARTITION (date='2019-8-30', country='china') SELECT user, cnt FROM s;",
        Insert(
            table=name("country_page_view"),
            query=Query("SELECT user, cnt FROM s"),
            partition=spec(date="2019-8-30", country="china"),
        ),
    ),
    (f"INSERT INTO TABLE country_page_view {SOURCE};", Insert(table=name("country_page_view"), query=Query(SOURCE))),
    (
        f"INSERT INTO TABLE country_page_view PARTITION (date, country) {SOURCE}",
        Insert(table=name("country_page_view"), query=Query(SOURCE), partition=spec(date=None, country=None)),
    ),
    (
        "INSERT INTO country_page_view PARTITION (date='2019-8-30') SELECT user, cnt, date FROM s",
        Insert(
            table=name("country_page_view"),
            query=Query("SELECT user, cnt, date FROM s"),
            partition=spec(date="2019-8-30"),
        ),
    ),
    (
        "insert overwrite table t partition (a = 1, b) select 1, 2",
        Insert(table=name("t"), query=Query("select 1, 2"), overwrite=True, partition=spec(a=number("1"), b=None)),
    ),
    # WITH and FROM before INSERT
    (
        "WITH x AS (SELECT 1 AS a) INSERT INTO t SELECT a FROM x",
        Insert(table=name("t"), query=Query("WITH x AS (SELECT 1 AS a)" + " " * 15 + "SELECT a FROM x")),
    ),
    (
        "FROM s INSERT OVERWRITE t PARTITION (b) SELECT a, b",
        Insert(
            table=name("t"),
            query=Query("FROM s" + " " * 34 + "SELECT a, b"),
            overwrite=True,
            partition=spec(b=None),
        ),
    ),
    (
        "FROM (SELECT 1 AS a) AS s INSERT INTO t SELECT a WHERE a > 1 INSERT OVERWRITE TABLE u (a) SELECT a",
        MultiInsert(
            source=Query("FROM (SELECT 1 AS a) AS s"),
            inserts=(
                Insert(table=name("t"), query=Query("SELECT a WHERE a > 1")),
                Insert(table=name("u"), query=Query("SELECT a"), overwrite=True, columns=("a",)),
            ),
        ),
    ),
    ("INSERT INTO t BY NAME SELECT 1 AS a", Insert(table=name("t"), query=Query("SELECT 1 AS a"), by_name=True)),
    ("INSERT INTO by (name) SELECT 1", Insert(table=name("by"), query=Query("SELECT 1"), columns=("name",))),
    (
        "LOAD DATA LOCAL INPATH '/tmp/x y' OVERWRITE INTO TABLE t PARTITION (b = '1')",
        LoadData(path="/tmp/x y", table=name("t"), partition=spec(b="1"), overwrite=True, local=True),
    ),
    ("load data inpath 'x' into table t", LoadData(path="x", table=name("t"))),
    # Seed 003, partitions
    (
        "ALTER TABLE country_page_view ADD PARTITION (date='2019-8-30', country='china');",
        AddPartitions(
            table=name("country_page_view"),
            partitions=(PartitionLocation(spec=spec(date="2019-8-30", country="china")),),
        ),
    ),
    (
        "ALTER TABLE t ADD PARTITION (d=1), PARTITION (d=2)",
        AddPartitions(
            table=name("t"),
            partitions=(PartitionLocation(spec=spec(d=number("1"))), PartitionLocation(spec=spec(d=number("2")))),
        ),
    ),
    (
        "ALTER TABLE t DROP PARTITION (d=1), PARTITION (d=2)",
        DropPartitions(
            table=name("t"),
            specs=((Comparison("d", "=", number("1")),), (Comparison("d", "=", number("2")),)),
        ),
    ),
    (
        "ALTER TABLE t COMMIT PARTITION (d=1), PARTITION (d<5)",
        CommitPartitions(
            table=name("t"),
            specs=((Comparison("d", "=", number("1")),), (Comparison("d", "<", number("5")),)),
        ),
    ),
    ("SHOW PARTITIONS t STATUS LIMIT 3", ShowPartitions(table=name("t"), status=True, limit=3)),
    ("SHOW PARTITIONS status STATUS", ShowPartitions(table=name("status"), status=True)),
    ("SHOW PARTITIONS country_page_view;", ShowPartitions(table=name("country_page_view"))),
    (
        "SHOW PARTITIONS table_name PARTITION(ds='2010-03-03', hr='12');",
        ShowPartitions(table=name("table_name"), partition=spec(ds="2010-03-03", hr="12")),
    ),
    # moves of partitions, and where and how they are stored
    (
        "ALTER TABLE table_name PARTITION (ds='1', hr=2) RENAME TO PARTITION (HR=3, ds='1')",
        RenamePartition(
            table=name("table_name"),
            partition=(PartitionItem("ds", text("1")), PartitionItem("hr", number("2"))),
            to=(PartitionItem("HR", number("3")), PartitionItem("ds", text("1"))),
        ),
    ),
    (
        "ALTER TABLE table_name_2 EXCHANGE PARTITION (ds='1') WITH TABLE table_name_1;",
        ExchangePartitions(table=name("table_name_2"), partitions=(spec(ds="1"),), source=name("table_name_1")),
    ),
    (
        "ALTER TABLE t2 EXCHANGE PARTITION (ds='1'), (ds='2'), PARTITION (ds='3', hr='4') WITH TABLE db.t1",
        ExchangePartitions(
            table=name("t2"), partitions=(spec(ds="1"), spec(ds="2"), spec(ds="3", hr="4")), source=name("db", "t1")
        ),
    ),
    ("ALTER TABLE t COMPACT", Compact(table=name("t"))),
    ("alter table t partition (ds = '1') compact 'MAJOR'", Compact(table=name("t"), partition=spec(ds="1"))),
    ("VACUUM", Vacuum()),
    ("VACUUM TABLE t RETAIN 0 hours DRY RUN", Vacuum(table=name("t"), hours=0, dry_run=True)),
    ("vacuum retain 24 HOURS", Vacuum(hours=24)),
    ("VACUUM UNKNOWN DIRECTORIES DRY RUN", VacuumUnknown()),
    ("vacuum unknown directories confirm 'x1'", VacuumUnknown(code="x1")),
    ("DESCRIBE HISTORY t", DescribeHistory(name=name("t"))),
    ("desc history db.`t 1` LIMIT 3", DescribeHistory(name=name("db", "t 1"), limit=3)),
    ("DESCRIBE HISTORY history", DescribeHistory(name=name("history"))),
    ("DESCRIBE HISTORY", Describe(name=name("HISTORY"))),
    ("EXPLAIN EXTENDED SELECT 1", Explain(what="ALL", query=Query("SELECT 1"))),
    ("EXPLAIN FORMATTED SELECT 1", Explain(what="ENGINE", query=Query("SELECT 1"))),
    ("DELETE FROM t", Delete(table=name("t"))),
    ("delete from db.`t 1` where (a) = 1 ;", Delete(table=name("db", "t 1"), where=Query("(a) = 1"))),
    ("DELETE FROM t AS x WHERE x.a = 'where'", Delete(table=name("t"), alias="x", where=Query("x.a = 'where'"))),
    (
        "DELETE FROM t `x y` WHERE a IN (SELECT b FROM u WHERE c)",
        Delete(table=name("t"), alias="x y", where=Query("a IN (SELECT b FROM u WHERE c)")),
    ),
    ("EXPLAIN DELETE FROM t", ExplainChange(statement=Delete(table=name("t")))),
    ("TRUNCATE TABLE t", Truncate(table=name("t"))),
    ("TRUNCATE t", Truncate(table=name("t"))),
    ("TRUNCATE table", Truncate(table=name("table"))),
    ("TRUNCATE db.t PARTITION (ds = '1')", Truncate(table=name("db", "t"), partition=spec(ds="1"))),
    ("TRUNCATE TABLE t PARTITION (ds = '1')", Truncate(table=name("t"), partition=spec(ds="1"))),
    ("ALTER TABLE t SET LOCATION '/x'", SetLocation(table=name("t"), location="/x")),
    (
        "ALTER TABLE t PARTITION (ds='1') SET LOCATION '/x'",
        SetLocation(table=name("t"), location="/x", partition=spec(ds="1")),
    ),
    ("ALTER TABLE t SET FILEFORMAT ORC", SetFileFormat(table=name("t"), format="orc")),
    (
        "ALTER TABLE t PARTITION (ds='1') SET FILEFORMAT parquet",
        SetFileFormat(table=name("t"), format="parquet", partition=spec(ds="1")),
    ),
    ("ALTER TABLE t SET SERDE 'a.B'", SetSerde(table=name("t"), serde="a.B")),
    (
        "ALTER TABLE t PARTITION (ds='1') SET SERDE 'a.B' WITH SERDEPROPERTIES ('x' = 'y', a.b = 1)",
        SetSerde(table=name("t"), serde="a.B", properties=(("x", "y"), ("a.b", "1")), partition=spec(ds="1")),
    ),
    ("ALTER TABLE t SET SERDEPROPERTIES ('x' = 'y')", SetSerde(table=name("t"), properties=(("x", "y"),))),
    # Directories of external tables
    ("MSCK TABLE t", RepairTable(table=name("t"), repair=False, what="SYNC")),
    ("MSCK REPAIR TABLE t", RepairTable(table=name("t"), repair=True, what="ADD")),
    ("REPAIR TABLE db.t SYNC PARTITIONS", RepairTable(table=name("db", "t"), repair=True, what="SYNC")),
    ("MSCK TABLE sync ADD PARTITIONS", RepairTable(table=name("sync"), repair=False, what="ADD")),
    (
        "MSCK REPAIR TABLE t DROP PARTITIONS PARTITION (a = 1, (a = 2 OR b IS NULL))",
        RepairTable(
            table=name("t"),
            repair=True,
            what="DROP",
            where=And(
                (
                    Comparison("a", "=", Literal("number", "1")),
                    Or((Comparison("a", "=", Literal("number", "2")), IsNull("b"))),
                )
            ),
        ),
    ),
    ("ALTER TABLE t RECOVER PARTITIONS", RepairTable(table=name("t"), repair=True, what="ADD")),
    ("DESCRIBE EXTENDED db.t", Describe(name=name("db", "t"), extended=True)),
    # CREATE TABLE, clauses in any order
    (
        "CREATE EXTERNAL TABLE IF NOT EXISTS db.`t 1` (a DEC(5) COMMENT 'x', partition LONG) LOCATION '/w' "
        "TBLPROPERTIES ('a'='b', c.d=1, e true, f=False) PARTITIONED BY (dt STRING COMMENT 'day', partition) "
        "COMMENT 'it''s' STORED AS PARQUET",
        CreateTable(
            table=name("db", "t 1"),
            columns=(ColumnDef("a", "decimal(5,0)", "x"), ColumnDef("partition", "bigint")),
            partitioned_by=(ColumnDef("dt", "string", "day"), ColumnDef("partition", None)),
            external=True,
            if_not_exists=True,
            format="parquet",
            location="/w",
            comment="it's",
            properties=(("a", "b"), ("c.d", "1"), ("e", "true"), ("f", "false")),
        ),
    ),
    (
        "create table select (date date, user string, period int, storage int, table int) using ORC",
        CreateTable(
            table=name("select"),
            columns=(
                ColumnDef("date", "date"),
                ColumnDef("user", "string"),
                ColumnDef("period", "int"),
                ColumnDef("storage", "int"),
                ColumnDef("table", "int"),
            ),
            format="orc",
        ),
    ),
    (
        "create table t (a int) row format delimited fields terminated by '9' escaped by '\\\\' "
        "lines terminated by '\\n' null defined as ''",
        CreateTable(
            table=name("t"),
            columns=(ColumnDef("a", "int"),),
            format="textfile",
            row_format=RowFormat("\t", "\\", ""),
        ),
    ),
    (
        "CREATE TABLE t (a int) ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe' STORED AS "
        "INPUTFORMAT 'org.apache.hadoop.mapred.TextInputFormat' "
        "OUTPUTFORMAT 'org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat'",
        CreateTable(table=name("t"), columns=(ColumnDef("a", "int"),), format="textfile"),
    ),
    (
        "insert overwrite local directory '/o' row format delimited fields terminated by ',' stored as textfile "
        "select 1",
        InsertDirectory(path="/o", query=Query("select 1"), local=True, row_format=RowFormat(",")),
    ),
    (
        "WITH x AS (SELECT 1) INSERT OVERWRITE DIRECTORY '/o' USING csv OPTIONS (header = true, 'sep' ',') TABLE x",
        InsertDirectory(
            path="/o",
            query=Query("WITH x AS (SELECT 1)" + " " * 78 + "TABLE x"),
            format="csv",
            options=(("header", "true"), ("sep", ",")),
        ),
    ),
    ("INSERT OVERWRITE directory SELECT 1", Insert(table=name("directory"), query=Query("SELECT 1"), overwrite=True)),
    # CREATE TABLE in its other forms
    (
        "create or replace temporary table t partitioned by (b) stored as orc as (SELECT 1 AS a, 2 AS b)",
        CreateTableAs(
            table=name("t"),
            query=Query("(SELECT 1 AS a, 2 AS b)"),
            partitioned_by=(ColumnDef("b", None),),
            format="orc",
            temporary=True,
            or_replace=True,
        ),
    ),
    (
        "CREATE TABLE IF NOT EXISTS t LOCATION '/w' COMMENT 'c' TBLPROPERTIES ('a'='b') "
        "AS WITH x AS (SELECT 1) TABLE x",
        CreateTableAs(
            table=name("t"),
            query=Query("WITH x AS (SELECT 1) TABLE x"),
            if_not_exists=True,
            location="/w",
            comment="c",
            properties=(("a", "b"),),
        ),
    ),
    ("CREATE TEMP TABLE t (a INT)", CreateTable(table=name("t"), columns=(ColumnDef("a", "int"),), temporary=True)),
    (
        "CREATE OR REPLACE TABLE t (a INT) "
        "ROW FORMAT SERDE 'org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe' "
        "STORED AS INPUTFORMAT 'org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat' "
        "OUTPUTFORMAT 'org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat'",
        CreateTable(table=name("t"), columns=(ColumnDef("a", "int"),), format="parquet", or_replace=True),
    ),
    (
        "CREATE EXTERNAL TABLE IF NOT EXISTS t LIKE db.s USING csv LOCATION 'x' TBLPROPERTIES (a = 1)",
        CreateTableLike(
            table=name("t"),
            source=name("db", "s"),
            external=True,
            if_not_exists=True,
            format="csv",
            location="x",
            properties=(("a", "1"),),
        ),
    ),
    # Columns
    (
        "ALTER TABLE t ADD COLUMNS (a INT COMMENT 'x', `b c` ARRAY<INT>)",
        AddColumns(table=name("t"), columns=(ColumnDef("a", "int", "x"), ColumnDef("b c", "array<int>"))),
    ),
    ("ALTER TABLE t ADD COLUMN column INT", AddColumns(table=name("t"), columns=(ColumnDef("column", "int"),))),
    ("ALTER TABLE t ALTER COLUMN c COMMENT 'x'", CommentColumn(table=name("t"), column="c", comment="x")),
    ("ALTER TABLE t ALTER column COMMENT 'x'", CommentColumn(table=name("t"), column="column", comment="x")),
    (
        "ALTER TABLE t CHANGE c C INT COMMENT ''",
        CommentColumn(table=name("t"), column="c", comment="", renamed=ColumnDef("C", "int")),
    ),
    (
        "ALTER TABLE t CHANGE c COMMENT 'x'",
        CommentColumn(table=name("t"), column="c", comment="x"),
    ),
    (
        "ALTER TABLE t CHANGE COLUMN c comment STRING",
        CommentColumn(table=name("t"), column="c", comment=None, renamed=ColumnDef("comment", "string")),
    ),
    (
        "ALTER TABLE t ALTER COLUMN c TYPE BIGINT",
        CommentColumn(table=name("t"), column="c", comment=None, renamed=ColumnDef("c", "bigint")),
    ),
    (
        "ALTER TABLE t CHANGE COLUMN c d BIGINT",
        CommentColumn(table=name("t"), column="c", comment=None, renamed=ColumnDef("d", "bigint")),
    ),
    ("COMMENT ON COLUMN db.t.c IS NULL", CommentColumn(table=name("db", "t"), column="c", comment=None)),
    ("COMMENT ON TABLE t IS 'it''s'", CommentTable(table=name("t"), comment="it's")),
    ("DROP TABLE t", DropTable(table=name("t"))),
    ("DROP TABLE IF EXISTS db.t PURGE", DropTable(table=name("db", "t"), if_exists=True, purge=True)),
    ("SHOW TABLES", ShowTables()),
    ("SHOW TABLES 'a*'", ShowTables(like="a*")),
    ("SHOW TABLES LIKE 'a*'", ShowTables(like="a*")),
    ("SHOW CUBES", ShowCubes()),
    ("SHOW FACTS", ShowCubes(facts=True)),
    ("DESC t", Describe(name=name("t"))),
    ("DESCRIBE TABLE EXTENDED t", Describe(name=name("t"), extended=True)),
    ("DESC FORMATTED TABLE t", Describe(name=name("t"), extended=True)),
    ("DESCRIBE CUBE c", Describe(name=name("c"), kind="CUBE")),
    ("DESCRIBE FACT f", Describe(name=name("f"), kind="FACT")),
    # a keyword that cannot be one is a name
    ("DESCRIBE fact", Describe(name=name("fact"))),
    ("DESCRIBE FACT fact", Describe(name=name("fact"), kind="FACT")),
    ("DESCRIBE extended", Describe(name=name("extended"))),
    ("DESC t PARTITION (c='zz', d='22')", Describe(name=name("t"), partition=spec(c="zz", d="22"))),
    (
        "DESCRIBE FORMATTED t PARTITION (c='zz') col",
        Describe(name=name("t"), extended=True, partition=spec(c="zz"), column=ColumnName(("col",))),
    ),
    ("DESCRIBE t partition", Describe(name=name("t"), column=ColumnName(("partition",)))),
    ("DESC EXTENDED t AS JSON", Describe(name=name("t"), extended=True, as_json=True)),
    ("DESC t as", Describe(name=name("t"), column=ColumnName(("as",)))),
    ("DESCRIBE QUERY SELECT 1 AS a", DescribeQuery(query=Query("SELECT 1 AS a"))),
    ("DESC (SELECT 1)", DescribeQuery(query=Query("(SELECT 1)"))),
    ("DESCRIBE query", Describe(name=name("query"))),
    ("DESCRIBE values", Describe(name=name("values"))),
    ("SHOW TABLE EXTENDED LIKE 't*'", ShowTableExtended(like="t*")),
    (
        "SHOW TABLE EXTENDED FROM default LIKE 't' PARTITION (d='1')",
        ShowTableExtended(like="t", database=DatabaseName("default"), partition=spec(d="1")),
    ),
    ("SHOW COLUMNS FROM t IN b", ShowColumns(table=name("b", "t"))),
    ("SHOW TBLPROPERTIES t", ShowTableProperties(table=name("t"))),
    ("SHOW TBLPROPERTIES t (a.b)", ShowTableProperties(table=name("t"), key="a.b")),
    ("ANALYZE TABLE t COMPUTE STATISTICS", AnalyzeTable(table=name("t"))),
    (
        "ANALYZE TABLE t PARTITION (c='1', d) COMPUTE STATISTICS NOSCAN",
        AnalyzeTable(table=name("t"), partition=(*spec(c="1"), PartitionItem("d", None)), noscan=True),
    ),
    (
        "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS a, b",
        AnalyzeTable(table=name("t"), columns=(ColumnName(("a",)), ColumnName(("b",)))),
    ),
    ("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS", AnalyzeTable(table=name("t"), columns=())),
    ("ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS", AnalyzeTable(table=name("t"), columns=())),
    ("ANALYZE TABLES IN a COMPUTE STATISTICS NOSCAN", AnalyzeTables(database=DatabaseName("a"), noscan=True)),
    ("DROP TABLE if", DropTable(table=name("if"))),
    ("INSERT INTO table SELECT 1", Insert(table=name("table"), query=Query("SELECT 1"))),
    ("INSERT INTO TABLE table SELECT 1", Insert(table=name("table"), query=Query("SELECT 1"))),
    # INSERT: the parenthesis after the head
    ("INSERT INTO t (a, `b`) VALUES (1, 2)", Insert(table=name("t"), query=Query("VALUES (1, 2)"), columns=("a", "b"))),
    ("INSERT INTO t (a) (SELECT 1)", Insert(table=name("t"), query=Query("(SELECT 1)"), columns=("a",))),
    (
        "INSERT INTO t (a, b) FROM u SELECT *",
        Insert(table=name("t"), query=Query("FROM u SELECT *"), columns=("a", "b")),
    ),
    ("INSERT INTO t (values) TABLE u", Insert(table=name("t"), query=Query("TABLE u"), columns=("values",))),
    ("INSERT INTO t (SELECT 1)", Insert(table=name("t"), query=Query("(SELECT 1)"))),
    ("INSERT INTO t ((SELECT 1)) UNION SELECT 2", Insert(table=name("t"), query=Query("((SELECT 1)) UNION SELECT 2"))),
    ("INSERT INTO t (TABLE u)", Insert(table=name("t"), query=Query("(TABLE u)"))),
    ("INSERT INTO t (VALUES (1))", Insert(table=name("t"), query=Query("(VALUES (1))"))),
    (
        "INSERT INTO t WITH x AS (SELECT 1) SELECT *",
        Insert(table=name("t"), query=Query("WITH x AS (SELECT 1) SELECT *")),
    ),
    (
        "INSERT OVERWRITE t PARTITION (a=1) IF NOT EXISTS (x, y) SELECT 1, 2",
        Insert(
            table=name("t"),
            query=Query("SELECT 1, 2"),
            overwrite=True,
            partition=spec(a=number("1")),
            if_not_exists=True,
            columns=("x", "y"),
        ),
    ),
    # literals
    (
        "ALTER TABLE t ADD IF NOT EXISTS PARTITION (a='x' 'y', b=- 2, c=1.5BD, d==5L) LOCATION '/x' "
        "PARTITION (a=NULL, b=true, c=date'2015-01-01', d=TIMESTAMP '2015-01-01 00:00:00')",
        AddPartitions(
            table=name("t"),
            if_not_exists=True,
            partitions=(
                PartitionLocation(spec=spec(a="xy", b=number("-2"), c=number("1.5BD"), d=number("5L")), location="/x"),
                PartitionLocation(
                    spec=spec(
                        a=Literal("null", ""),
                        b=Literal("boolean", "true"),
                        c=Literal("date", "2015-01-01"),
                        d=Literal("timestamp", "2015-01-01 00:00:00"),
                    )
                ),
            ),
        ),
    ),
    (
        "ALTER TABLE t DROP IF EXISTS PARTITION (a = 1, b == 2, c != 3, d <> 4), "
        "PARTITION (e < 5, f <= 6, g > 7, h >= 8) PURGE",
        DropPartitions(
            table=name("t"),
            specs=(
                (
                    Comparison("a", "=", number("1")),
                    Comparison("b", "=", number("2")),
                    Comparison("c", "<>", number("3")),
                    Comparison("d", "<>", number("4")),
                ),
                (
                    Comparison("e", "<", number("5")),
                    Comparison("f", "<=", number("6")),
                    Comparison("g", ">", number("7")),
                    Comparison("h", ">=", number("8")),
                ),
            ),
            if_exists=True,
            purge=True,
        ),
    ),
    # cubes and facts
    (
        """CREATE CUBE flights (
             origin STRING, carrier STRING,
             flights BIGINT MEASURE COUNT, distance BIGINT MEASURE SUM, worst_delay DOUBLE MEASURE MAX,
             departures BIGINT MEASURE COUNT, delay DOUBLE MEASURE SUM COUNTED BY departures NOT NULL,
             departed TIMESTAMP TIME
           ) TIME ZONE 'America/New_York';""",
        CreateCube(
            name=name("flights"),
            columns=(
                CubeColumn("origin", "string"),
                CubeColumn("carrier", "string"),
                CubeColumn("flights", "bigint", "COUNT"),
                CubeColumn("distance", "bigint", "SUM"),
                CubeColumn("worst_delay", "double", "MAX"),
                CubeColumn("departures", "bigint", "COUNT"),
                CubeColumn("delay", "double", "SUM", "departures", True),
                CubeColumn("departed", "timestamp", "TIME"),
            ),
            time_zone="America/New_York",
        ),
    ),
    (
        "CREATE CUBE IF NOT EXISTS c (time TIMESTAMP TIME, m INT MEASURE MIN NOT NULL)",
        CreateCube(
            name=name("c"),
            columns=(CubeColumn("time", "timestamp", "TIME"), CubeColumn("m", "int", "MIN", None, True)),
            if_not_exists=True,
        ),
    ),
    (
        """CREATE FACT flights_all OF CUBE flights STORED IN (   -- the storage `default`
             TABLE flights_hourly  PERIOD HOURLY  PARTITIONED BY departed AS (dt = 'yyyy-MM-dd-HH'),
             TABLE db.flights_daily PERIOD daily PARTITIONED BY departed AS (ds = 'yyyy-MM-dd')
           );""",
        CreateFact(
            name=name("flights_all"),
            cube=name("flights"),
            storages=(
                FactStorage(
                    "default",
                    (
                        FactTable(
                            name("flights_hourly"), ("HOURLY",), (("departed", (LayoutColumn("dt", "yyyy-MM-dd-HH"),)),)
                        ),
                        FactTable(
                            name("db", "flights_daily"),
                            ("DAILY",),
                            (("departed", (LayoutColumn("ds", "yyyy-MM-dd"),)),),
                        ),
                    ),
                ),
            ),
        ),
    ),
    (
        """CREATE FACT IF NOT EXISTS f OF CUBE c (origin, period) WEIGHT 10 LATENESS '1 day 6 hours'
           STORED IN STORAGE hot ON CLUSTER c1 (
             PERIODS (HOURLY, DAILY) PARTITIONED BY t AS (dt, hr = 'HH') PARTITIONED BY u AS (ut) TRUSTED RAW,
             TABLE e PERIOD HOURLY PARTITIONED BY t AS (dt) RAW (n AS 1, t AS seen)
           ) START '2013-01-01' END 'now.day - 1 day'
           STORED IN STORAGE cold (
             TABLE x COMPLETE WITH country IN ('us', 'eu') COMPLETE WITH ANY region
             PERIOD MONTHLY PARTITIONED BY t AS (m)
           )""",
        CreateFact(
            name=name("f"),
            cube=name("c"),
            columns=("origin", "period"),
            weight=10,
            lateness="1 day 6 hours",
            if_not_exists=True,
            storages=(
                FactStorage(
                    "hot",
                    (
                        FactTable(
                            None,
                            ("HOURLY", "DAILY"),
                            (("t", (LayoutColumn("dt"), LayoutColumn("hr", "HH"))), ("u", (LayoutColumn("ut"),))),
                            ("TRUSTED",),
                            raw=(),
                        ),
                        FactTable(
                            name("e"),
                            ("HOURLY",),
                            (("t", (LayoutColumn("dt"),)),),
                            raw=(RawColumn("n", "1"), RawColumn("t", "seen")),
                        ),
                    ),
                    cluster="c1",
                    start="2013-01-01",
                    end="now.day - 1 day",
                ),
                FactStorage(
                    "cold",
                    (
                        FactTable(
                            name("x"),
                            ("MONTHLY",),
                            (("t", (LayoutColumn("m"),)),),
                            ("COMPLETE",),
                            (CompleteWith("country", (text("us"), text("eu"))), CompleteWith("region")),
                        ),
                    ),
                ),
            ),
        ),
    ),
    ("DROP CUBE c", DropCube(name=name("c"))),
    ("DROP CUBE IF EXISTS c", DropCube(name=name("c"), if_exists=True)),
    ("DROP FACT IF EXISTS f", DropFact(name=name("f"), if_exists=True)),
    ("CREATE CUBE c FROM db.t", CreateCubeFrom(name=name("c"), source=name("db", "t"))),
    (
        "CREATE CUBE c FROM parquet.`a/b.c` MEASURES (COUNT(*) AS n, sum(ms), MAX(f(a, b) + 1) AS `x y`) TIME at "
        "DIMENSIONS (k, `l m`) TIME ZONE 'UTC' ROLLUPS (DAILY (k))",
        CreateCubeFrom(
            name=name("c"),
            source=name("parquet", "a/b.c"),
            time="at",
            dimensions=("k", "l m"),
            measures=(
                EventMeasure("COUNT", None, "n"),
                EventMeasure("SUM", "ms", "ms"),
                EventMeasure("MAX", "f(a, b) + 1", "x y"),
            ),
            rollups=(Rollup("DAILY", ("k",)),),
            time_zone="UTC",
        ),
    ),
    ("DROP FACT f CASCADE", DropFact(name=name("f"), cascade=True)),
    (
        "CREATE FACT f OF CUBE c STORED IN (TABLE d (k, n) PERIOD DAILY PARTITIONED BY t AS (p)) "
        "ROLLUPS (daily, MONTHLY (k, `a b`))",
        CreateFact(
            name=name("f"),
            cube=name("c"),
            storages=(
                FactStorage(
                    "default",
                    (FactTable(name("d"), ("DAILY",), (("t", (LayoutColumn("p"),)),), columns=("k", "n")),),
                ),
            ),
            rollups=(Rollup("DAILY"), Rollup("MONTHLY", ("k", "a b"))),
        ),
    ),
    (
        "ALTER FACT f ADD ROLLUP DAILY, WEEKLY (k)",
        AlterFact(fact=name("f"), action=AddRollups((Rollup("DAILY"), Rollup("WEEKLY", ("k",))))),
    ),
    ("ALTER FACT f DROP ROLLUP DAILY", AlterFact(fact=name("f"), action=DropRollup(Rollup("DAILY")))),
    ("SHOW TIMELINES OF f", ShowTimelines(fact=name("f"))),
    ("SHOW TIMELINES OF f STORAGE s PERIOD daily", ShowTimelines(fact=name("f"), storage="s", period="DAILY")),
    ("SHOW COVERAGE OF f", ShowCoverage(fact=name("f"))),
    ("SHOW LATEST OF f", ShowLatest(fact=name("f"))),
    ("SHOW MISSING PARTITIONS OF f", ShowWork(state="MISSING", fact=name("f"))),
    ("SHOW NARROW PARTITIONS OF f", ShowWork(state="NARROW", fact=name("f"))),
    (
        "show outdated partitions of f from '2015' to 'now'",
        ShowWork(state="OUTDATED", fact=name("f"), start=text("2015"), end=text("now")),
    ),
    ("SHOW UNPROVEN PARTITIONS OF d.f", ShowWork(state="UNPROVEN", fact=name("d", "f"))),
    ("SHOW COVERAGE OF f FROM '2015' TO 'now'", ShowCoverage(fact=name("f"), start=text("2015"), end=text("now"))),
    (
        "SHOW COVERAGE OF f FROM DATE '2015-01-01' TO 'now'",
        ShowCoverage(fact=name("f"), start=Literal("date", "2015-01-01"), end=text("now")),
    ),
    ("CHECK FACT f", CheckFact(fact=name("f"))),
    (
        "check fact f FROM '2015' TO TIMESTAMP '2016-01-01'",
        CheckFact(fact=name("f"), start=text("2015"), end=Literal("timestamp", "2016-01-01")),
    ),
    ("REFRESH FACT f", RefreshFact(fact=name("f"))),
    ("REFRESH FACT f DRY RUN", RefreshFact(fact=name("f"), dry_run=True)),
    (
        "REFRESH FACT f FROM '2015' TO 'now' dry run",
        RefreshFact(fact=name("f"), start=text("2015"), end=text("now"), dry_run=True),
    ),
    (
        "ALTER CUBE c ADD COLUMNS (city STRING, m INT MEASURE MAX)",
        AlterCube(name=name("c"), columns=(CubeColumn("city", "string"), CubeColumn("m", "int", "MAX"))),
    ),
    ("ALTER CUBE c DROP (city, `M`)", DropCubeColumns(name=name("c"), columns=("city", "M"))),
    ("alter cube d.c drop column city", DropCubeColumns(name=name("d", "c"), columns=("city",))),
    ("ALTER CUBE c RENAME COLUMN a TO `B c`", RenameCubeColumn(name=name("c"), column="a", to="B c")),
    ("alter cube d.c rename a to b", RenameCubeColumn(name=name("d", "c"), column="a", to="b")),
    ("ALTER CUBE c DROP city CASCADE", DropCubeColumns(name=name("c"), columns=("city",), cascade=True)),
    ("ALTER CUBE c DROP cascade", DropCubeColumns(name=name("c"), columns=("cascade",))),
    (
        "ALTER CUBE c RENAME COLUMN a TO cascade CASCADE",
        RenameCubeColumn(name=name("c"), column="a", to="cascade", cascade=True),
    ),
    (
        "alter table t rename column a to b cascade",
        RenameColumn(table=name("t"), column="a", to="b", cascade=True),
    ),
    ("ALTER TABLE t DROP COLUMNS (a, b) CASCADE", DropColumns(table=name("t"), columns=("a", "b"), cascade=True)),
    ("ALTER TABLE t RENAME COLUMN a TO column", RenameColumn(table=name("t"), column="a", to="column")),
    ("alter table d.t drop column `A b`", DropColumns(table=name("d", "t"), columns=("A b",))),
    ("ALTER TABLE t DROP COLUMNS (a, b)", DropColumns(table=name("t"), columns=("a", "b"))),
    ("ALTER CUBE c ALTER COLUMN m TYPE BIGINT", WidenCubeColumn(name=name("c"), column="m", type="bigint")),
    ("MAINTAIN FACT f", MaintainFact(fact=name("f"))),
    ("RECOMMEND ROLLUPS FOR c", RecommendRollups(cube=name("c"))),
    (
        "recommend rollups for d.c from 'q.sql' within '2 GB'",
        RecommendRollups(cube=name("d", "c"), file="q.sql", within="2 GB"),
    ),
    ("SHOW ROLLUP USE OF d.f", ShowRollupUse(fact=name("d", "f"))),
    ("show rollup use of f from 'q.sql'", ShowRollupUse(fact=name("f"), file="q.sql")),
    ("maintain fact d.f MAX 5 PARTITIONS DRY RUN", MaintainFact(fact=name("d", "f"), most=5, dry_run=True)),
    ("maintain table d.t DRY RUN", MaintainTable(table=name("d", "t"), dry_run=True)),
    ("REFRESH FACT f MAX 5 PARTITIONS", RefreshFact(fact=name("f"), most=5)),
    (
        "refresh fact d.f from '2015' to 'now' max 1 partitions dry run",
        RefreshFact(fact=name("d", "f"), start=text("2015"), end=text("now"), most=1, dry_run=True),
    ),
    ("REFRESH TIMELINES OF f", RefreshTimelines(fact=name("f"))),
    ("REFRESH TABLE db.t", RefreshTable(table=name("db", "t"))),
    (
        "CREATE TABLE t (a INT DEFAULT -1 COMMENT 'c', b STRING COMMENT 'd' DEFAULT 'x, y', "
        "default INT DEFAULT f(1, 2))",
        CreateTable(
            table=name("t"),
            columns=(
                ColumnDef("a", "int", "c", default="-1"),
                ColumnDef("b", "string", "d", default="'x, y'"),
                ColumnDef("default", "int", default="f(1, 2)"),
            ),
        ),
    ),
    (
        "ALTER TABLE t ALTER COLUMN a SET DEFAULT DATE '2024-01-31';",
        SetDefault(table=name("t"), column="a", default="DATE '2024-01-31'"),
    ),
    ("ALTER TABLE s.t ALTER COLUMN a DROP NOT NULL", DropNotNull(table=name("s", "t"), column="a")),
    ("ALTER TABLE s.t CHANGE a DROP DEFAULT", SetDefault(table=name("s", "t"), column="a", default=None)),
    (
        "INSERT INTO t PARTITION (p) SELECT x FROM STREAM csv.`a/b` OPTIONS ('Stream' = 's', 'k' = '') WHERE x > 1",
        InsertStream(
            insert=Insert(
                table=name("t"),
                partition=(PartitionItem("p", None),),
                query=Query(f"SELECT x FROM        csv.`a/b`{' ' * 35} WHERE x > 1"),
            ),
            typed=Query("SELECT x FROM STREAM csv.`a/b` OPTIONS ('Stream' = 's', 'k' = '') WHERE x > 1"),
            format="csv",
            path="a/b",
            options=(),
        ),
    ),
    ("SHOW STREAMS", ShowStreams()),
    ("STOP STREAM s", StopStream(stream="s")),
    ("STOP STREAM 'a b'", StopStream(stream="a b")),
    ("DROP STREAM s", DropStream(stream="s")),
    ("DROP STREAM 'a b'", DropStream(stream="a b")),
    ("SHOW FUNCTIONS", ShowFunctions()),
    ("SHOW ALL FUNCTIONS FROM s LIKE 'a*|b'", ShowFunctions(like="a*|b", database=DatabaseName("s"))),
    ("SHOW SYSTEM FUNCTIONS 'a'", ShowFunctions(like="a", system=True)),
    (
        "CREATE OR REPLACE FUNCTION db.f(x INT COMMENT 'c', y STRING DEFAULT 'a,b') RETURNS DECIMAL(5, 2) COMMENT 'd' "
        "RETURN x + length(y)",
        CreateFunction(
            function=name("db", "f"),
            parameters=(ColumnDef("x", "int", "c"), ColumnDef("y", "string", default="'a,b'")),
            body=Expression("x + length(y)"),
            returns="decimal(5,2)",
            or_replace=True,
            comment="d",
        ),
    ),
    (
        "CREATE TEMP FUNCTION f() RETURN (SELECT max(a), 1 FROM t)",
        CreateFunction(function=name("f"), parameters=(), body=Expression("(SELECT max(a), 1 FROM t)"), temporary=True),
    ),
    (
        "CREATE FUNCTION f(x INT) RETURNS TABLE (p INT COMMENT 'c', `q r` STRING) COMMENT 'd' RETURN SELECT 1, x",
        CreateFunction(
            function=name("f"),
            parameters=(ColumnDef("x", "int"),),
            body=Expression("SELECT 1, x"),
            columns=(ColumnDef("p", "int", "c"), ColumnDef("q r", "string")),
            comment="d",
        ),
    ),
    (
        "CREATE TEMP FUNCTION f() RETURNS TABLE RETURN (SELECT a FROM t) ORDER BY a, a",
        CreateFunction(
            function=name("f"),
            parameters=(),
            body=Expression("(SELECT a FROM t) ORDER BY a, a"),
            columns=(),
            temporary=True,
        ),
    ),
    (
        "CREATE FUNCTION f() RETURN SELECT max(a), 1 FROM t",
        CreateFunction(function=name("f"), parameters=(), body=Expression("SELECT max(a), 1 FROM t")),
    ),
    (
        "CREATE FUNCTION IF NOT EXISTS f() RETURN 1",
        CreateFunction(function=name("f"), parameters=(), body=Expression("1"), if_not_exists=True),
    ),
    ("DROP FUNCTION IF EXISTS db.f", DropFunction(function=name("db", "f"), if_exists=True)),
    ("DROP TEMPORARY FUNCTION f", DropFunction(function=name("f"), temporary=True)),
    ("DECLARE v INT", DeclareVariable(variables=(ColumnName(("v",)),), type="int")),
    (
        "DECLARE OR REPLACE VARIABLE session.v, w STRING = concat('a', 'b')",
        DeclareVariable(
            variables=(ColumnName(("session", "v")), ColumnName(("w",))),
            type="string",
            default=Expression("concat('a', 'b')"),
            or_replace=True,
        ),
    ),
    ("DECLARE v DEFAULT 5", DeclareVariable(variables=(ColumnName(("v",)),), default=Expression("5"))),
    (
        "SET VAR v = v + 1, w = (SELECT 1, 2)",
        SetVariables(
            variables=(ColumnName(("v",)), ColumnName(("w",))),
            values=(Expression("v + 1"), Expression("(SELECT 1, 2)")),
        ),
    ),
    (
        "SET VARIABLE (v, session.w) = (SELECT 1, 2)",
        SetVariablesByQuery(
            variables=(ColumnName(("v",)), ColumnName(("session", "w"))), source=Expression("(SELECT 1, 2)")
        ),
    ),
    ("DROP TEMPORARY VARIABLE IF EXISTS v", DropVariable(variable=ColumnName(("v",)), if_exists=True)),
    ("EXECUTE IMMEDIATE 'SELECT 1'", ExecuteImmediate(statement=Expression("'SELECT 1'"))),
    (
        "EXECUTE IMMEDIATE 'SELECT ' || w INTO a, session.b USING (f(1, 2) AS x, v)",
        ExecuteImmediate(
            statement=Expression("'SELECT ' || w"),
            into=(ColumnName(("a",)), ColumnName(("session", "b"))),
            arguments=((Expression("f(1, 2)"), "x"), (Expression("v"), None)),
        ),
    ),
    ("SHOW USER FUNCTIONS LIKE s.abs", ShowFunctions(like="abs", user=True)),
    ("SHOW FUNCTIONS abs", ShowFunctions(like="abs")),
    ("DESC FUNCTION abs", DescribeFunction(function=ColumnName(("abs",)))),
    (
        "DESCRIBE FUNCTION EXTENDED builtin.`in`",
        DescribeFunction(function=ColumnName(("builtin", "in")), extended=True),
    ),
    ("DESCRIBE FUNCTION not", DescribeFunction(function=ColumnName(("not",)))),
    ("DESCRIBE FUNCTION '<=>'", DescribeFunction(function=ColumnName(("<=>",)))),
    ("DESCRIBE function", Describe(name=name("function"))),
    ("REFRESH '/data/t';", RefreshPath(path="/data/t")),
    ("CACHE TABLE s.t", CacheTable(table=name("s", "t"))),
    (
        "CACHE LAZY TABLE t OPTIONS ('storageLevel' 'DISK_ONLY', a.b = 1)",
        CacheTable(table=name("t"), lazy=True, options=(("storageLevel", "DISK_ONLY"), ("a.b", "1"))),
    ),
    ("CACHE TABLE t AS SELECT 1 -- x", CacheTable(table=name("t"), query=Query("SELECT 1"))),
    (
        "CACHE TABLE cache OPTIONS ('storageLevel' = 'DISK_ONLY') WITH a AS (TABLE b) SELECT * FROM a",
        CacheTable(
            table=name("cache"),
            query=Query("WITH a AS (TABLE b) SELECT * FROM a"),
            options=(("storageLevel", "DISK_ONLY"),),
        ),
    ),
    ("CACHE TABLE t TABLE u", CacheTable(table=name("t"), query=Query("TABLE u"))),
    ("UNCACHE TABLE IF EXISTS t", UncacheTable(table=name("t"), if_exists=True)),
    ("UNCACHE TABLE s.t", UncacheTable(table=name("s", "t"))),
    ("CLEAR CACHE", ClearCache()),
    (
        "ALTER TABLE t SET TIMELINE daily FOR dt TO 'Ranges'",
        SetTimeline(table=name("t"), period="DAILY", column="dt", implementation="Ranges"),
    ),
    (
        "ALTER TABLE t SET TBLPROPERTIES ('a.b' = 'c', d.e = 1, f true)",
        SetProperties(table=name("t"), properties=(("a.b", "c"), ("d.e", "1"), ("f", "true"))),
    ),
    ("ALTER TABLE t UNSET TBLPROPERTIES ('a', b.c)", UnsetProperties(table=name("t"), keys=("a", "b.c"))),
    ("ALTER TABLE t UNSET TBLPROPERTIES IF EXISTS (a)", UnsetProperties(table=name("t"), keys=("a",), if_exists=True)),
    # settings
    ("SET", SetSetting()),
    ("SET;", SetSetting()),
    ("SET rewriter.now", SetSetting(key="rewriter.now")),
    ("SET rewriter.now = '2015-01-01'", SetSetting(key="rewriter.now", value="2015-01-01")),
    ('SET a.b="it\'s" ; ', SetSetting(key="a.b", value="it's")),
    ("SET a.b-c.1d = x  y, 'z' -- why", SetSetting(key="a.b-c.1d", value="x  y, 'z'")),
    ("SET a.b=", SetSetting(key="a.b", value="")),
    ("SET `a b`=1", SetSetting(key="a b", value="1")),
    ("SET x = hdfs://host/a--b", SetSetting(key="x", value="hdfs://host/a--b")),
    ("RESET", ResetSetting()),
    ("RESET a.b", ResetSetting(key="a.b")),
    # queries
    ("EXPLAIN SELECT 1", Explain(what="ALL", query=Query("SELECT 1"))),
    ("explain rewrite (SELECT 1)", Explain(what="REWRITE", query=Query("(SELECT 1)"))),
    ("EXPLAIN COVER SELECT 1", Explain(what="COVER", query=Query("SELECT 1"))),
    ("EXPLAIN SCAN FROM t SELECT a", Explain(what="SCAN", query=Query("FROM t SELECT a"))),
    (
        "EXPLAIN SCAN SHOW PARTITIONS t WHERE a = 1",
        ExplainScan(statement=ShowPartitions(table=name("t"), where=Comparison("a", "=", Literal("number", "1")))),
    ),
    (
        "EXPLAIN INSERT OVERWRITE t SELECT 1",
        ExplainWrite(statement=Insert(table=name("t"), query=Query("SELECT 1"), overwrite=True)),
    ),
    ("ALTER TABLE db.t TOUCH", Touch(table=name("db", "t"))),
    (
        "ALTER TABLE t TOUCH PARTITION (ds='x')",
        Touch(table=name("t"), partition=(PartitionItem("ds", Literal("string", "x")),)),
    ),
    (
        "TRUNCATE TABLE t PARTITION (ds, hr='12')",
        Truncate(
            table=name("t"),
            partition=(PartitionItem("ds", None), PartitionItem("hr", Literal("string", "12"))),
        ),
    ),
    (
        "MSCK REPAIR TABLE t SYNC PARTITIONS (ds = 1)",
        RepairTable(table=name("t"), repair=True, what="SYNC", where=Comparison("ds", "=", Literal("number", "1"))),
    ),
    (
        "ALTER TABLE t ADD COLUMNS (c INT) CASCADE",
        AddColumns(table=name("t"), columns=(ColumnDef("c", "int"),)),
    ),
    ("EXPLAIN TRUNCATE TABLE t", ExplainChange(statement=Truncate(table=name("t")))),
    (
        "EXPLAIN MSCK REPAIR TABLE t",
        ExplainChange(statement=RepairTable(table=name("t"), repair=True, what="ADD")),
    ),
    (
        "EXPLAIN LOAD DATA INPATH 'x' INTO TABLE t",
        ExplainWrite(statement=LoadData(path="x", table=name("t"))),
    ),
    (
        "EXPLAIN SCAN ALTER TABLE t DROP PARTITION (a = 1)",
        ExplainScan(
            statement=DropPartitions(table=name("t"), specs=((Comparison("a", "=", Literal("number", "1")),),))
        ),
    ),
    (
        "EXPLAIN ENGINE WITH x AS (SELECT 1) SELECT * FROM x",
        Explain(what="ENGINE", query=Query("WITH x AS (SELECT 1) SELECT * FROM x")),
    ),
    ("VALUES (1), (2)", Select(query=Query("VALUES (1), (2)"))),
    ("TABLE t", Select(query=Query("TABLE t"))),
    ("((SELECT 1) UNION (SELECT 2))", Select(query=Query("((SELECT 1) UNION (SELECT 2))"))),
    ("FROM t SELECT insert, into", Select(query=Query("FROM t SELECT insert, into"))),
    (
        "WITH a (x) AS (SELECT 1), b AS (SELECT 2) SELECT *",
        Select(query=Query("WITH a (x) AS (SELECT 1), b AS (SELECT 2) SELECT *")),
    ),
    # ---- databases and names
    ("CREATE DATABASE sales", CreateDatabase(database=DatabaseName("sales"))),
    (
        "create schema if not exists `x y` with dbproperties ('a'='b', c.d = 1) comment 'c' location '/d'",
        CreateDatabase(
            database=DatabaseName("x y"),
            if_not_exists=True,
            comment="c",
            location="/d",
            properties=(("a", "b"), ("c.d", "1")),
        ),
    ),
    ("DROP NAMESPACE spark_catalog.sales", DropDatabase(database=DatabaseName("sales"))),
    ("DROP SCHEMA IF EXISTS sales RESTRICT", DropDatabase(database=DatabaseName("sales"), if_exists=True)),
    ("DROP DATABASE sales CASCADE", DropDatabase(database=DatabaseName("sales"), cascade=True)),
    ("SHOW CACHE", ShowCache()),
    ("SHOW DATABASES", ShowDatabases()),
    ("SHOW SCHEMAS LIKE 's*|d*'", ShowDatabases(like="s*|d*")),
    ("SHOW NAMESPACES 's*'", ShowDatabases(like="s*")),
    ("SHOW CURRENT SCHEMA", ShowDatabases(current=True)),
    ("DESC DATABASE EXTENDED sales", DescribeDatabase(database=DatabaseName("sales"), extended=True)),
    ("DESCRIBE SCHEMA sales", DescribeDatabase(database=DatabaseName("sales"))),
    ("DESCRIBE database", Describe(name=name("database"))),
    ("DESCRIBE schema.t", Describe(name=name("schema", "t"))),
    ("start transaction", StartTransaction()),
    ("BEGIN", StartTransaction()),
    ("BEGIN WORK", StartTransaction()),
    ("BEGIN TRANSACTION", StartTransaction()),
    ("COMMIT", Commit()),
    ("COMMIT WORK", Commit()),
    ("ROLLBACK", Rollback()),
    ("ROLLBACK WORK", Rollback()),
    ("USE sales", UseDatabase(database=DatabaseName("sales"))),
    ("USE DATABASE sales", UseDatabase(database=DatabaseName("sales"))),
    ("USE database", UseDatabase(database=DatabaseName("database"))),
    ("USE SCHEMA cluster", UseDatabase(database=DatabaseName("cluster"))),
    ("USE `CLUSTER`", UseDatabase(database=DatabaseName("CLUSTER"))),
    ("USE CLUSTER", UseCluster()),
    ("use cluster C1", UseCluster(cluster=ClusterName("C1"))),
    ("USE CLUSTER `c-1`", UseCluster(cluster=ClusterName("c-1"))),
    ("USE CLUSTER cluster", UseCluster(cluster=ClusterName("cluster"))),
    ("SHOW CLUSTERS", ShowClusters()),
    ("SHOW CATALOG PROPERTIES", ShowCatalogProperties()),
    ("ALTER TABLE t ADD CLUSTER c2", AddCluster(table=name("t"), cluster=ClusterName("c2"))),
    (
        "ALTER TABLE s.t PARTITION (dt = '1', n = 2) ADD CLUSTER c2 LOCATION 's3://b/t'",
        AddCluster(
            table=name("s", "t"),
            partition=(
                PartitionItem("dt", Literal("string", "1")),
                PartitionItem("n", Literal("number", "2")),
            ),
            cluster=ClusterName("c2"),
            location="s3://b/t",
        ),
    ),
    ("ALTER TABLE t DROP CLUSTER c2", DropCluster(table=name("t"), cluster=ClusterName("c2"))),
    (
        "ALTER TABLE t PARTITION (dt = '1') DROP CLUSTER c2",
        DropCluster(
            table=name("t"), partition=(PartitionItem("dt", Literal("string", "1")),), cluster=ClusterName("c2")
        ),
    ),
    ("ALTER TABLE t SET PRIMARY CLUSTER c2", SetPrimaryCluster(table=name("t"), cluster=ClusterName("c2"))),
    ("REPLICATE TABLE t TO CLUSTER c2", Replicate(table=name("t"), cluster=ClusterName("c2"))),
    (
        "REPLICATE TABLE t PARTITION (dt = '1') TO CLUSTER c2 ONLY STALE",
        Replicate(
            table=name("t"),
            partition=(PartitionItem("dt", Literal("string", "1")),),
            cluster=ClusterName("c2"),
            only_stale=True,
        ),
    ),
    (
        "CREATE TABLE t (a INT) ON CLUSTER c1",
        CreateTable(table=name("t"), columns=(ColumnDef("a", "int"),), cluster=ClusterName("c1")),
    ),
    (
        "CREATE TABLE t ON CLUSTER c1 USING orc AS SELECT 1",
        CreateTableAs(table=name("t"), format="orc", query=Query("SELECT 1"), cluster=ClusterName("c1")),
    ),
    (
        "CREATE TABLE t LIKE u ON CLUSTER `a b`",
        CreateTableLike(table=name("t"), source=name("u"), cluster=ClusterName("a b")),
    ),
    ("SHOW TABLES IN sales LIKE 'a'", ShowTables(like="a", database=DatabaseName("sales"))),
    ("SHOW VIEWS FROM sales 'a'", ShowViews(like="a", database=DatabaseName("sales"))),
    ("SHOW CUBES IN sales", ShowCubes(database=DatabaseName("sales"))),
    ("SHOW FACTS FROM sales", ShowCubes(facts=True, database=DatabaseName("sales"))),
    ("ALTER TABLE a.b RENAME TO c", Rename(kind="TABLE", name=name("a", "b"), to=NewName(("c",)))),
    ("ALTER VIEW v RENAME TO a.c", Rename(kind="VIEW", name=name("v"), to=NewName(("a", "c")))),
    ("SHOW CREATE TABLE a.b AS SERDE", ShowCreate(kind="TABLE", name=name("a", "b"), as_serde=True)),
    ("SHOW CREATE FACT f", ShowCreate(kind="FACT", name=name("f"))),
    ("ALTER FACT f SET LATENESS '6 hours'", AlterFact(fact=name("f"), action=SetLateness("6 hours"))),
    ("alter fact sales.f unset lateness", AlterFact(fact=name("sales", "f"), action=SetLateness(None))),
    ("ALTER FACT f TABLE s.t SET TRUSTED", AlterFact(fact=name("f"), action=SetTrusted(name("s", "t"), True))),
    ("alter fact f table t unset trusted", AlterFact(fact=name("f"), action=SetTrusted(name("t"), False))),
    (
        "ALTER FACT f MARK COMPLETE FROM '2013' TO DATE '2014-01-01'",
        AlterFact(fact=name("f"), action=MarkComplete(Literal("string", "2013"), Literal("date", "2014-01-01"))),
    ),
    (
        "ALTER FACT f ADD STORAGE cold (TABLE x PERIOD DAILY PARTITIONED BY d AS (ds) TRUSTED) START '2013'",
        AlterFact(
            fact=name("f"),
            action=AddStorage(
                FactStorage(
                    "cold",
                    (FactTable(name("x"), ("DAILY",), (("d", (LayoutColumn("ds"),)),), flags=("TRUSTED",)),),
                    start="2013",
                )
            ),
        ),
    ),
    ("ALTER FACT f DROP STORAGE s.t", AlterFact(fact=name("f"), action=DropStorage(name("s", "t")))),
    (
        "INSERT INTO t (a) MARK COMPLETE FROM '2013' TO '2014' SELECT 1",
        Insert(
            table=name("t"),
            query=Query("SELECT 1"),
            columns=("a",),
            complete=MarkComplete(Literal("string", "2013"), Literal("string", "2014")),
        ),
    ),
]


@pytest.mark.parametrize(("sql", "statement"), STATEMENTS, ids=[sql[:60] for sql, _ in STATEMENTS])
def test_statement(sql: str, statement: Statement) -> None:
    assert parse(sql) == statement


@pytest.mark.parametrize(("sql", "statement"), STATEMENTS, ids=[sql[:60] for sql, _ in STATEMENTS])
def test_keywords_have_no_case_and_blanks_and_comments_may_stand_anywhere(sql: str, statement: Statement) -> None:
    loose = "\r\n-- é 'comment;\r\n /* 中 /* nested */ */" + sql.rstrip("; ") + " -- end;\r\n;"
    parsed = parse(loose)
    if isinstance(parsed, Select) and isinstance(statement, Select):
        # Tools tag queries by comments around them: these go along.
        assert parsed.query.text == loose.rstrip("\r\n;").strip() + ";"
    else:
        assert parsed == statement


@pytest.mark.parametrize(
    ("typed", "canonical"),
    [
        ("BOOLEAN", "boolean"),
        ("BYTE", "tinyint"),
        ("SHORT", "smallint"),
        ("INTEGER", "int"),
        ("LONG", "bigint"),
        ("REAL", "float"),
        ("DECIMAL", "decimal(10,0)"),
        ("NUMERIC(5)", "decimal(5,0)"),
        ("dec(10, 2)", "decimal(10,2)"),
        ("CHARACTER(3)", "char(3)"),
        ("VarChar( 9 )", "varchar(9)"),
        ("TIMESTAMP_LTZ", "timestamp"),
        ("timestamp_ntz", "timestamp_ntz"),
        ("ARRAY<ARRAY<INT>>", "array<array<int>>"),
        ("MAP < STRING, DEC >", "map<string,decimal(10,0)>"),
        ("STRUCT<Date: INT, `a b` STRING, c:array<varchar(3)>, d :int>",
         "struct<Date:int,`a b`:string,c:array<varchar(3)>,d:int>"),
        ("struct<>", "struct<>"),
        ("struct < >", "struct<>"),
    ],
)  # fmt: skip
def test_types_are_spelled_as_spark_does(typed: str, canonical: str) -> None:
    statement = parse(f"CREATE TABLE t (a {typed}, b int)")
    assert isinstance(statement, CreateTable)
    assert statement.columns == (ColumnDef("a", canonical), ColumnDef("b", "int"))
    again = parse(f"CREATE TABLE t (a {canonical})")
    assert isinstance(again, CreateTable)
    assert again.columns[0].type == canonical


def test_spans_are_stretches_of_the_text() -> None:
    sql = "-- é\r\n INSERT INTO db.`t` PARTITION (date = 'a' 'b', hr)\r\n (x) SELECT '中' -- c\r\n ; "
    statement = parse(sql)
    assert isinstance(statement, Insert)
    assert statement.partition is not None

    def typed(span: Span) -> str:
        return sql[span.start : span.end]

    assert typed(statement.span) == sql[sql.index("INSERT") : sql.index(" -- c")]
    assert typed(statement.table.span) == "db.`t`"
    assert [typed(item.span) for item in statement.partition] == ["date = 'a' 'b'", "hr"]
    value = statement.partition[0].value
    assert value is not None
    assert typed(value.span) == "'a' 'b'"
    assert typed(statement.query.span) == statement.query.text == "SELECT '中'"


@pytest.mark.parametrize(
    "sql", [" ( SELECT 1 -- one\r\n , 2 /* two */ ) ", "EXPLAIN  COVER\n (SELECT ';' -- x\n)", "\tVALUES ('''', \"\")"]
)
def test_queries_are_verbatim(sql: str) -> None:
    statement = parse(sql + "; -- end")
    assert isinstance(statement, Select | Explain)
    query = statement.query
    assert query.text == sql[query.span.start : query.span.end]
    assert sql.endswith(query.text) or sql.rstrip().endswith(query.text)


def test_queries_load_neither_lark_nor_sqlglot() -> None:
    program = (
        "import sys; from rewriter.grammar.parser import parse; parse('WITH x AS (SELECT 1) SELECT * FROM x');"
        "parse('SET a = b'); parse('EXPLAIN SELECT 1'); print(sorted({'lark', 'sqlglot'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_statement_of_many_partitions() -> None:
    sql = "ALTER TABLE t ADD " + ", ".join(f"PARTITION (dt='2015', hr={hour})" for hour in range(3000))
    statement = parse(sql)
    assert isinstance(statement, AddPartitions)
    assert len(statement.partitions) == 3000
    assert statement.partitions[-1].spec[1].value == number("2999")


@pytest.mark.parametrize(
    "expression",
    ["a", "f(a, b) + 1", "CASE WHEN a IN (1, 2) THEN ',' ELSE ')' END", "m['k, (']", "CAST(a AS DECIMAL(10, 2))"],
)
def test_an_expression_of_a_raw_table_ends_with_its_comma_or_parenthesis(expression: str) -> None:
    """It is kept as it was typed."""
    for after in ("", ", t AS seen"):
        raw = f"RAW (n AS {expression}{after})"
        text = f"CREATE FACT f OF CUBE c STORED IN (TABLE e PERIOD DAILY PARTITIONED BY t AS (dt) {raw})"
        statement = parse(text)
        assert isinstance(statement, CreateFact)
        first, *_ = statement.storages[0].tables[0].raw or ()
        assert first == RawColumn("n", expression)
        assert text[first.expression_span.start : first.expression_span.end] == expression
