"""SHOW CREATE: what it shows makes an equal object, token by token what the grammar renders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rewriter.catalog.model.objects import Cube, Fact, Table, View
from rewriter.errors import Error
from rewriter.grammar.lexer import tokens
from rewriter.session import Session
from rewriter.statements.define.show_create import laid_out

TYPES = (
    "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(10,2)", "decimal(38,0)", "string", "char(3)",
    "varchar(20)", "binary", "boolean", "date", "timestamp", "array<int>", "map<string,array<decimal(5,1)>>",
    "struct<a:int,`b c`:struct<`d``e`:string,F:date>>", "struct<>",
)  # fmt: skip
TABLES = (
    "CREATE TABLE t (a INT)",
    "CREATE TABLE t (" + ", ".join(f"c{n} {type_}" for n, type_ in enumerate(TYPES)) + ")",
    "CREATE TABLE t (a INT, dt STRING, b INT, hr INT) USING csv PARTITIONED BY (dt, hr)",
    "CREATE TABLE t (a INT COMMENT 'it''s', b INT) PARTITIONED BY (dt STRING COMMENT 'a \"day', hr INT) STORED AS ORC",
    "CREATE TABLE t (`x y` INT, `a``b` STRING, `table` INT, `É,)` INT) PARTITIONED BY (`date` DATE, `select` INT)",
    r"CREATE TABLE t (a INT COMMENT '\\ \' \n \t ü 😀') COMMENT 'one\\, (two)\nthree''s' USING json",
    "CREATE TABLE t (a INT) TBLPROPERTIES ('k' = 'v', 'it''s' = 'USING x (', 'a.b' = true, n = 1)",
    "CREATE TABLE t (a INT, p DECIMAL(4,2), q TIMESTAMP, r BOOLEAN) PARTITIONED BY (p, q, r)",
    "CREATE EXTERNAL TABLE t (a INT) PARTITIONED BY (p STRING) LOCATION 'some where/it''s' COMMENT ''",
)
CUBE = """CREATE CUBE c (origin STRING, carrier STRING, n BIGINT MEASURE COUNT, k INT MEASURE COUNT NOT NULL,
  delay DOUBLE MEASURE SUM COUNTED BY k, worst DATE MEASURE MAX, `it's` INT MEASURE MIN, departed TIMESTAMP TIME,
  landed TIMESTAMP TIME)"""
COLUMNS = "origin STRING, carrier STRING, n BIGINT, k INT, delay DOUBLE, worst DATE, `it's` INT"
FACTS = (
    "CREATE FACT f OF CUBE c STORED IN (TABLE h PERIOD HOURLY PARTITIONED BY departed AS (dt = 'yyyy-MM-dd-HH'))",
    "CREATE FACT f OF CUBE c (carrier, n) WEIGHT 7 STORED IN STORAGE `hot one` ("
    "TABLE h PERIOD HOURLY PARTITIONED BY departed AS (dt) TRUSTED START '2013' END 'now.day - 1 day', "
    "TABLE d PERIODS (DAILY, MONTHLY) PARTITIONED BY departed AS (ds)) START '2010-01-01' "
    "STORED IN STORAGE cold (TABLE p PERIOD DAILY PARTITIONED BY departed AS (m = \"yyyy'M'MM\", d = 'dd') "
    "COMPLETE WITH carrier IN ('UA', null, 'it''s')) END '2020-01-01'",
    "CREATE FACT f OF CUBE c STORED IN (TABLE two PERIOD DAILY PARTITIONED BY departed AS (day) "
    "PARTITIONED BY landed AS (y = 'yyyy', md = 'MMdd') COMPLETE WITH ANY origin)",
)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path, "duckdb") as opened:
        yield opened


def shown(session: Session, statement: str) -> str:
    ((text,),) = session.execute(statement).rows()
    assert isinstance(text, str)
    return text


def unplaced(created: object, warehouse: str) -> object:
    """Returns the object without what is new in each object: its number, a managed table's directory, and the
    lives of equal facts.
    """
    if isinstance(created, Table) and created.location.startswith(warehouse) and not created.external:
        created = replace(created, location="")
    assert isinstance(created, Table | View | Cube | Fact)
    return replace(created, id=0, earlier=()) if isinstance(created, Fact) else replace(created, id=0)


@pytest.mark.parametrize("serde", ["", " AS SERDE"])
@pytest.mark.parametrize("database", ["default", "other"])
@pytest.mark.parametrize("statement", TABLES)
def test_a_table_comes_back(session: Session, statement: str, database: str, serde: str) -> None:
    session.execute("CREATE DATABASE IF NOT EXISTS other")
    session.execute(f"USE {database}")
    session.execute(statement)
    tables = session.catalog.snapshot().tables()
    text = shown(session, f"SHOW CREATE TABLE t{serde}")
    session.execute("DROP TABLE t")
    session.execute("USE default")
    session.execute(text)
    again = session.catalog.snapshot().tables()
    warehouse = str(session.catalog.warehouse)
    assert [unplaced(table, warehouse) for table in again] == [unplaced(table, warehouse) for table in tables]
    assert shown(session, f"SHOW CREATE TABLE {database}.t{serde}") == text


def test_both_spellings_show_one(session: Session) -> None:
    session.execute("CREATE TABLE a (x INT, dt STRING) USING parquet PARTITIONED BY (dt)")
    session.execute("CREATE TABLE b (x INT) PARTITIONED BY (dt STRING)")
    for serde in ("", " AS SERDE"):
        first, second = (shown(session, f"SHOW CREATE TABLE {name}{serde}") for name in "ab")
        assert first == second.replace("default.b", "default.a")
    assert shown(session, "SHOW CREATE TABLE a") == (
        "CREATE TABLE default.a (\n  x int,\n  dt string)\nUSING parquet\nPARTITIONED BY (dt)"
    )
    assert shown(session, "SHOW CREATE TABLE a AS SERDE") == (
        "CREATE TABLE default.a (\n  x int)\nPARTITIONED BY (dt string)\nSTORED AS parquet"
    )


@pytest.mark.parametrize("zone", ["", " TIME ZONE 'America/New_York'"])
@pytest.mark.parametrize("statement", FACTS)
def test_cubes_and_facts_come_back(session: Session, statement: str, zone: str) -> None:
    session.execute("CREATE DATABASE other")
    session.execute("USE other")
    session.execute(CUBE + zone)
    session.execute(f"CREATE TABLE h ({COLUMNS}) PARTITIONED BY (dt STRING)")
    session.execute(f"CREATE TABLE d ({COLUMNS}) PARTITIONED BY (ds STRING)")
    bare = COLUMNS.replace("carrier STRING, ", "")
    session.execute(f"CREATE TABLE p ({bare}) PARTITIONED BY (m STRING, d STRING, carrier STRING)")
    bare = COLUMNS.replace("origin STRING, ", "")
    session.execute(f"CREATE TABLE two ({bare}) PARTITIONED BY (day DATE, y INT, md STRING, origin STRING)")
    session.execute(statement)
    snapshot = session.catalog.snapshot()
    cube, fact = snapshot.cube("other.c"), snapshot.fact("other.f")
    texts = [shown(session, f"SHOW CREATE {kind}") for kind in ("CUBE c", "FACT f")]
    session.execute("DROP FACT f")
    session.execute("DROP CUBE c")
    session.execute("USE default")
    for text in texts:
        session.execute(text)
    snapshot = session.catalog.snapshot()
    assert unplaced(snapshot.cube("other.c"), "") == unplaced(cube, "")
    assert unplaced(snapshot.fact("other.f"), "") == unplaced(fact, "")


VIEWS = (
    "CREATE VIEW v AS SELECT t.x, 'it''s -- no' AS s -- a comment\n FROM t",
    "CREATE VIEW v (a COMMENT 'it''s', `b c`) COMMENT 'USING (' TBLPROPERTIES ('k' = 'v') AS SELECT x, x FROM t",
    "CREATE VIEW v AS WITH t AS (SELECT x FROM t), u AS (SELECT 2 AS x) SELECT * FROM t UNION ALL SELECT x FROM u",
)


@pytest.mark.parametrize("statement", VIEWS)
@pytest.mark.parametrize("current", ["default", "other"])
def test_a_view_comes_back(session: Session, statement: str, current: str) -> None:
    """The same text where its database is current; elsewhere one that reads the same, whatever is current there."""
    session.execute("CREATE DATABASE other")
    for database, value in (("default", 1), ("other", 2)):
        session.execute(f"CREATE TABLE {database}.t (x INT)")
        session.execute(f"INSERT INTO {database}.t VALUES ({value})")
    session.execute("USE other")
    session.execute(statement)
    view = session.catalog.snapshot().view("other.v")
    answer = list(session.execute("SELECT * FROM other.v").rows())
    session.execute(f"USE {current}")
    text = shown(session, "SHOW CREATE VIEW other.v")
    session.execute("DROP VIEW other.v")
    session.execute(text)
    if current == "other":
        assert unplaced(session.catalog.snapshot().view("other.v"), "") == unplaced(view, "")
    assert list(session.execute("SELECT * FROM other.v").rows()) == answer


def test_what_has_no_statement_is_refused(session: Session) -> None:
    session.execute(CUBE)
    session.execute("CREATE VIEW v AS SELECT 1 AS a")
    for text, condition in {
        "SHOW CREATE TABLE c": "TABLE_OR_VIEW_NOT_FOUND",
        "SHOW CREATE VIEW c": "VIEW_NOT_FOUND",
        "SHOW CREATE FACT c": "FACT_NOT_FOUND",
        "SHOW CREATE TABLE v AS SERDE": "EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE",
        "SHOW CREATE VIEW v AS SERDE": "PARSE_SYNTAX_ERROR",
        "SHOW CREATE TABLE nowhere.t": "TABLE_OR_VIEW_NOT_FOUND",
    }.items():
        with pytest.raises(Error) as info:
            session.execute(text)
        assert (info.value.condition, info.value.hint is not None) == (condition, True), text


def test_lines_hold_the_same_tokens() -> None:
    text = "CREATE TABLE a (b map<int,array<int>>, c string COMMENT 'x (,') PARTITIONED BY (d, e) COMMENT 'USING'"
    assert [token.text for token in tokens(laid_out(text))] == [token.text for token in tokens(text)]
    assert laid_out(text).splitlines() == [
        "CREATE TABLE a (",
        "  b map<int,array<int>>,",
        "  c string COMMENT 'x (,')",
        "PARTITIONED BY (d, e)",
        "COMMENT 'USING'",
    ]


def test_what_the_catalog_keeps_in_properties_is_not_shown(session: Session) -> None:
    """Figures of ANALYZE are no property that CREATE TABLE takes, and they would be another table's."""
    for name, more in [("managed", ""), ("plain", " LOCATION 'outside'")]:
        session.execute(f"CREATE TABLE {name} (a INT) PARTITIONED BY (p INT){more}")
        session.execute(f"INSERT INTO {name} VALUES (1, 1), (2, 2)")
        session.execute(f"ALTER TABLE {name} SET TBLPROPERTIES ('k' = 'v')")
        session.execute(f"ALTER TABLE {name} SET SERDEPROPERTIES ('serialization.format' = '1')")
        session.execute(f"ALTER TABLE {name} PARTITION (p = 1) RENAME TO PARTITION (p = 3)")
        session.execute(f"ALTER TABLE {name} ADD COLUMNS (b STRING COMMENT 'later')")
        before = shown(session, f"SHOW CREATE TABLE {name}")
        session.execute(f"ANALYZE TABLE {name} COMPUTE STATISTICS FOR ALL COLUMNS")
        session.execute(f"ANALYZE TABLE {name} PARTITION (p) COMPUTE STATISTICS FOR ALL COLUMNS")
        assert shown(session, f"SHOW CREATE TABLE {name}") == before
        table = session.catalog.snapshot().table(name)
        session.execute(f"DROP TABLE {name}")
        session.execute(before)
        again = session.catalog.snapshot().table(name)
        assert (again.columns, again.format, again.external) == (table.columns, table.format, table.external)
        assert again.properties == {"k": "v", "rewriter.serdeproperties.serialization.format": "1"}


@pytest.mark.parametrize("serde", ["", " AS SERDE"])
@pytest.mark.parametrize("statement", TABLES)
def test_a_temporary_table_comes_back(session: Session, statement: str, serde: str) -> None:
    session.execute("CREATE TABLE kept (permanent INT)")
    session.execute("CREATE VIEW t AS SELECT permanent FROM kept")
    statement = statement.replace("CREATE ", "CREATE TEMPORARY ")
    session.execute(statement)
    session.execute("CREATE DATABASE other")
    session.execute("USE other")
    tables = [table for table in session.catalog.snapshot(_owner(session)).tables() if table.name != "kept"]
    text = shown(session, f"SHOW CREATE TABLE t{serde}")
    session.execute("DROP TABLE t")
    session.execute(text)
    again = [table for table in session.catalog.snapshot(_owner(session)).tables() if table.name != "kept"]
    warehouse = str(session.catalog.warehouse)
    assert [unplaced(table, warehouse) for table in again] == [unplaced(table, warehouse) for table in tables]


def _owner(session: Session) -> str:
    (folder,) = session.catalog.warehouse.glob("temporary-*")
    return folder.name.removeprefix("temporary-")
