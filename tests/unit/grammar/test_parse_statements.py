"""Statements that are read, and what they mean. The spellings are those of seed 003, Spark, Hive and ``dialect.md``."""

import subprocess
import sys
from typing import Any

import pytest

from rewriter.errors import Span
from rewriter.grammar.filters import Comparison
from rewriter.grammar.parser import parse
from rewriter.grammar.statements import (
    AddPartitions,
    CheckFact,
    ColumnDef,
    CompleteWith,
    CreateCube,
    CreateFact,
    CreateTable,
    CreateView,
    CubeColumn,
    Describe,
    DropCube,
    DropFact,
    DropPartitions,
    DropTable,
    DropView,
    Explain,
    ExplainScan,
    FactStorage,
    FactTable,
    Insert,
    LayoutColumn,
    Literal,
    Name,
    PartitionItem,
    PartitionLocation,
    Query,
    RefreshFact,
    RefreshTimelines,
    ResetSetting,
    Select,
    SetProperties,
    SetSetting,
    SetTimeline,
    ShowCoverage,
    ShowCubes,
    ShowLatest,
    ShowPartitions,
    ShowTables,
    ShowTimelines,
    ShowViews,
    Statement,
    UnsetProperties,
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
    ("SHOW PARTITIONS country_page_view;", ShowPartitions(table=name("country_page_view"))),
    (
        "SHOW PARTITIONS table_name PARTITION(ds='2010-03-03', hr='12');",
        ShowPartitions(table=name("table_name"), partition=spec(ds="2010-03-03", hr="12")),
    ),
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
        """CREATE FACT IF NOT EXISTS f OF CUBE c (origin, period) WEIGHT 10
           STORED IN STORAGE hot ON CLUSTER c1 (
             PERIODS (HOURLY, DAILY) PARTITIONED BY t AS (dt, hr = 'HH') PARTITIONED BY u AS (ut) TRUSTED RAW
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
            if_not_exists=True,
            storages=(
                FactStorage(
                    "hot",
                    (
                        FactTable(
                            None,
                            ("HOURLY", "DAILY"),
                            (("t", (LayoutColumn("dt"), LayoutColumn("hr", "HH"))), ("u", (LayoutColumn("ut"),))),
                            ("RAW", "TRUSTED"),
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
    ("SHOW TIMELINES OF f", ShowTimelines(fact=name("f"))),
    ("SHOW TIMELINES OF f STORAGE s PERIOD daily", ShowTimelines(fact=name("f"), storage="s", period="DAILY")),
    ("SHOW COVERAGE OF f", ShowCoverage(fact=name("f"))),
    ("SHOW LATEST OF f", ShowLatest(fact=name("f"))),
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
    ("REFRESH TIMELINES OF f", RefreshTimelines(fact=name("f"))),
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
]


@pytest.mark.parametrize(("sql", "statement"), STATEMENTS, ids=[sql[:60] for sql, _ in STATEMENTS])
def test_statement(sql: str, statement: Statement) -> None:
    assert parse(sql) == statement


@pytest.mark.parametrize(("sql", "statement"), STATEMENTS, ids=[sql[:60] for sql, _ in STATEMENTS])
def test_keywords_have_no_case_and_blanks_and_comments_may_stand_anywhere(sql: str, statement: Statement) -> None:
    loose = "\r\n-- é 'comment;\r\n /* 中 /* nested */ */" + sql.rstrip("; ") + " -- end;\r\n;"
    found = parse(loose)
    if isinstance(found, Select) and isinstance(statement, Select):
        # Tools tag queries by comments around them: these go along.
        assert found.query.text == loose.rstrip("\r\n;").strip() + ";"
    else:
        assert found == statement


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
