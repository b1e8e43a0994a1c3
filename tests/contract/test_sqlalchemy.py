"""The dialect of SQLAlchemy on both engines: values, reflection, transactions, pandas. ``tests/integrations`` runs
SQLAlchemy's own suite.
"""

from __future__ import annotations

import datetime
import threading
import tomllib
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import pytest
import sqlalchemy as sa
from sqlalchemy import exc, orm
from sqlalchemy.dialects import registry

import rewriter
from rewriter.exec.engine import Engine
from rewriter.integrations.sqlalchemy import SparkType
from rewriter.integrations.sqlalchemy.dialect import RewriterDialect
from rewriter.integrations.sqlalchemy.types import column_type

registry.register("rewriter", "rewriter.integrations.sqlalchemy.dialect", "RewriterDialect")

#: Texts that a literal has to carry unchanged.
TEXTS = ["it's", "a\\b", "\\", "\\'", "'; DROP TABLE t; --", "100%", "?", ":x", "%s", "a\nb", "é中", '"', "`", "", " "]


@pytest.fixture
def database(engine: Engine, tmp_path: Path) -> Iterator[sa.Engine]:
    """An engine of SQLAlchemy over a new warehouse, on each engine that executes."""
    database = sa.create_engine(
        f"rewriter:///{tmp_path}/warehouse",
        creator=lambda: rewriter.connect(tmp_path / "warehouse", engine, autocommit=False),  # type: ignore[arg-type]
    )
    yield database
    database.dispose()


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"rewriter:///{tmp_path}/warehouse?engine=duckdb"


def text_of(statement: Any) -> str:
    compiled = statement.compile(dialect=RewriterDialect(), compile_kwargs={"literal_binds": True})
    return " ".join(str(compiled).split())


def test_the_entry_point_names_the_dialect() -> None:
    project = tomllib.loads((Path(rewriter.__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    module, _, name = project["project"]["entry-points"]["sqlalchemy.dialects"]["rewriter"].partition(":")
    assert (module, name) == (RewriterDialect.__module__, RewriterDialect.__name__)


def test_a_url_means_what_it_means_for_connect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REWRITER_WAREHOUSE", raising=False)
    with rewriter.connect(tmp_path / "a & b", "duckdb") as made:
        made.execute("CREATE TABLE t AS SELECT 7 AS a")
    path = f"{tmp_path}/a%20%26%20b"
    urls = [f"rewriter://{path}?engine=duckdb", f"rewriter:///{path}?engine=duckdb"]
    with rewriter.connect(urls[0]) as connection:
        assert connection.execute("SELECT a FROM t").fetchall() == [(7,)]
    urls += ["rewriter://?warehouse=a+%26+b&engine=duckdb&partial_data=true"]
    for url in urls:
        database = sa.create_engine(url)
        with database.connect() as connection_of_pool:
            assert connection_of_pool.scalar(sa.text("SELECT a FROM t")) == 7
            setting = connection_of_pool.exec_driver_sql("SET rewriter.partial_data").one()[1]
            assert setting == ("true" if "partial" in url else "false")
        database.dispose()
    monkeypatch.setenv("REWRITER_WAREHOUSE", "a & b")
    database = sa.create_engine("rewriter://?engine=duckdb")
    assert sa.inspect(database).get_table_names() == ["t"]
    database.dispose()
    monkeypatch.delenv("REWRITER_WAREHOUSE")
    with pytest.raises(exc.InterfaceError, match="No warehouse"):
        sa.create_engine("rewriter://?engine=duckdb").connect()


def test_values_of_all_types_return(database: sa.Engine) -> None:
    noon = datetime.datetime(2024, 2, 29, 12, 0, 0, 123456)
    zoned = noon.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=5)))
    values: list[tuple[Any, object]] = [
        (sa.Integer(), -(2**31)),
        (sa.BigInteger(), 2**63 - 1),
        (sa.SmallInteger(), 7),
        (sa.Double(), 0.1),
        (sa.Float(), 1e300),
        (sa.Numeric(38, 18), Decimal("12345678901234567890.123456789012345678")),
        (sa.Boolean(), True),
        (sa.String(10), "é'\\`?"),
        (sa.Text(), ""),
        (sa.Date(), datetime.date(1, 1, 1)),
        (sa.DateTime(), noon),
        (sa.DateTime(timezone=True), zoned),
        (sa.Enum("a", "b"), "b"),
    ]
    columns = [sa.Column(f"c{number}", type_) for number, (type_, _) in enumerate(values)]
    table = sa.Table("t", sa.MetaData(), sa.Column("id", sa.Integer), *columns)
    row = {f"c{number}": value for number, (_, value) in enumerate(values)}
    with database.begin() as connection:
        table.create(connection)
        connection.execute(table.insert(), [{"id": 1, **row}, {"id": 2, **dict.fromkeys(row)}])
    with database.connect() as connection:
        rows = connection.execute(sa.select(table).order_by(table.c.id)).all()
        assert tuple(rows[0])[1:] == tuple(row.values())
        assert rows[0].c11.utcoffset() == datetime.timedelta(0)
        assert set(rows[1][1:]) == {None}
        for column in columns:
            found = connection.execute(sa.select(table.c.id).where(column == row[column.name])).all()
            assert found == [(1,)], column.type


@pytest.mark.parametrize("engine", ["spark"], indirect=True)
def test_bytes_and_lists_are_read(database: sa.Engine) -> None:
    with database.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE t AS SELECT unhex('00ff') AS b, array(1, 2) AS l, map('a', 1) AS m")
        connection.commit()
        table = sa.Table("t", sa.MetaData(), autoload_with=connection)
        row = connection.execute(sa.select(table)).one()
        assert (row.b, row.l) == (b"\x00\xff", [1, 2])
        assert row.m is not None


def test_literals_carry_every_text(database: sa.Engine) -> None:
    with database.connect() as connection:
        columns = [sa.literal(text, literal_execute=True).label(f"c{number}") for number, text in enumerate(TEXTS)]
        assert list(connection.execute(sa.select(*columns)).one()) == TEXTS
        bound = [sa.literal(text).label(f"c{number}") for number, text in enumerate(TEXTS)]
        assert list(connection.execute(sa.select(*bound)).one()) == TEXTS


def test_literals_have_their_types() -> None:
    zone = datetime.timezone(datetime.timedelta(hours=2))
    instant = datetime.datetime(2024, 1, 1, 1, 30)
    cases: list[tuple[Any, object, str]] = [
        (sa.Date(), instant, "DATE '2024-01-01'"),
        (sa.DateTime(), instant, "TIMESTAMP '2024-01-01 01:30:00'"),
        (sa.DateTime(timezone=True), instant.replace(tzinfo=zone), "TIMESTAMP '2023-12-31 23:30:00Z'"),
        (sa.Float(), 1.5, "1.5D"),
        (sa.Float(), float("-inf"), "CAST('-inf' AS DOUBLE)"),
        (sa.Numeric(), Decimal("1E+3"), "1000BD"),
        (sa.Integer(), 5, "5"),
        (sa.Boolean(), True, "true"),
    ]
    for type_, value, text in cases:
        assert text_of(sa.select(sa.literal(value, type_).label("x"))) == f"SELECT {text} AS x"


def test_floats_that_are_no_numbers_are_literals(database: sa.Engine) -> None:
    with database.connect() as connection:
        values = [float("inf"), float("-inf"), 1e-320, 0.1]
        columns = [
            sa.literal(value, sa.Double(), literal_execute=True).label(f"c{i}") for i, value in enumerate(values)
        ]
        assert list(connection.execute(sa.select(*columns)).one()) == values
        nan = sa.literal(float("nan"), sa.Double(), literal_execute=True)
        assert str(connection.execute(sa.select(nan)).scalar()) == "nan"


def test_definitions_have_the_clauses_of_the_dialect() -> None:
    table = sa.Table(
        "Order",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True, comment="it's \\ one"),
        sa.Column("when", sa.DateTime, nullable=False),
        sa.Column("day", sa.Date),
        sa.Column("other", sa.ForeignKey("Order.id")),
        sa.CheckConstraint("id > 0"),
        sa.UniqueConstraint("when"),
        comment="all",
        rewriter_partitioned_by=["day"],
        rewriter_format="orc",
        rewriter_location="/files",
        rewriter_properties={"a": "b"},
    )
    assert text_of(sa.schema.CreateTable(table)) == (
        "CREATE TABLE `Order` ( id INT COMMENT 'it\\'s \\\\ one', `when` TIMESTAMP, `day` DATE, other INT ) USING orc "
        "PARTITIONED BY (`day`) LOCATION '/files' COMMENT 'all' TBLPROPERTIES ('a' = 'b')"
    ).replace("\\'", "''")
    for column in (sa.Column("c", sa.Integer, sa.Computed("1")), sa.Column("c", sa.Integer, sa.Identity())):
        with pytest.raises(exc.CompileError, match="computed or generated"):
            text_of(sa.schema.CreateTable(sa.Table("t", sa.MetaData(), column)))
    for type_ in (sa.Time(), sa.JSON()):
        with pytest.raises(exc.CompileError, match="no columns of type"):
            text_of(sa.schema.CreateTable(sa.Table("t", sa.MetaData(), sa.Column("c", type_))))


def test_queries_have_the_clauses_of_the_dialect() -> None:
    table = sa.table("t", sa.column("a", sa.Integer), sa.column("b", sa.String))
    assert text_of(sa.select(table.c.a).offset(2)).endswith("FROM t OFFSET 2")
    assert text_of(sa.select(table.c.a).fetch(3)).endswith("FROM t LIMIT 3")
    assert text_of(sa.select(table.c.a).with_for_update()).endswith("FROM t")
    assert text_of(sa.select(table.c.b.regexp_match("a.c"))).startswith("SELECT t.b RLIKE 'a.c'")
    assert text_of(sa.delete(table)) == "TRUNCATE TABLE t"
    assert text_of(sa.delete(table).where(table.c.a == 1)) == "DELETE FROM t WHERE t.a = 1"
    for statement in (
        sa.select(table.c.a).fetch(3, percent=True),
        sa.select(table.c.a).fetch(3, with_ties=True),
        sa.select(table.c.b.regexp_match("a", flags="i")),
    ):
        with pytest.raises(exc.CompileError):
            text_of(statement)


def test_the_clauses_run(database: sa.Engine) -> None:
    table = sa.Table("t", sa.MetaData(), sa.Column("a", sa.Integer), sa.Column("b", sa.String))
    with database.begin() as connection:
        table.create(connection)
        connection.execute(table.insert(), [{"a": n, "b": f"x{n}"} for n in range(5)])
    a, b = table.c.a, table.c.b
    with database.connect() as connection:

        def numbers(statement: sa.Select[Any]) -> list[Any]:
            return list(connection.scalars(statement.order_by(a)))

        assert numbers(sa.select(a).offset(3)) == [3, 4]
        assert numbers(sa.select(a).fetch(2)) == [0, 1]
        assert numbers(sa.select(a).limit(2).offset(1)) == [1, 2]
        assert numbers(sa.select(a).where(b.regexp_match("x[12]"))) == [1, 2]
        assert numbers(sa.select(a).where(~b.regexp_match("x[12]"))) == [0, 3, 4]
        assert numbers(sa.select(a).where(b.ilike("X1"))) == [1]
        assert numbers(sa.select(a).where(b.contains("1", autoescape=True))) == [1]
        assert numbers(sa.select(a).where((b + "\\").contains("\\", autoescape=True))) == [0, 1, 2, 3, 4]
        assert numbers(sa.select(a).where((b + "%").contains("0%", autoescape=True))) == [0]
        assert numbers(sa.select(a).where(a.in_([]))) == []
        assert numbers(sa.select(a).where(a.not_in([]))) == [0, 1, 2, 3, 4]
        assert numbers(sa.select(a).where(sa.tuple_(a, b).in_([(1, "x1"), (2, "x9")]))) == [1]
        assert numbers(sa.select(a).where(sa.tuple_(a, b).in_([]))) == []
        assert numbers(sa.select(a / 2)) == [0, 0.5, 1, 1.5, 2]
        assert numbers(sa.select(a // 2)) == [0, 0, 1, 1, 2]
        assert numbers(sa.select(sa.func.sum(a).over(order_by=a, rows=(-1, 0)))) == [0, 1, 3, 5, 7]
        assert connection.scalar(sa.select(sa.func.aggregate_strings(b, ","))).count(",") == 4  # type: ignore[union-attr]


def test_a_transaction_is_undone(database: sa.Engine) -> None:
    table = sa.Table("t", sa.MetaData(), sa.Column("a", sa.Integer))
    table.create(database)
    with database.connect() as connection:
        connection.execute(table.insert().values(a=1))
        connection.rollback()
        connection.execute(table.insert().values(a=2))
        connection.commit()
        connection.execute(table.insert().values(a=3))
    with database.connect() as connection, connection.begin() as transaction:
        connection.execute(table.insert().values(a=4))
        transaction.rollback()
    with database.connect() as connection:
        assert connection.scalars(sa.select(table.c.a)).all() == [2]
    with database.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(table.insert().values(a=5))
        connection.rollback()
        assert sorted(connection.scalars(sa.select(table.c.a))) == [2, 5]
    with database.connect() as connection:
        assert connection.get_isolation_level() == "SNAPSHOT"
        assert connection.default_isolation_level == "SNAPSHOT"


def test_rowcount_of_many_rows_is_their_number(database: sa.Engine) -> None:
    table = sa.Table("t", sa.MetaData(), sa.Column("a", sa.Integer))
    table.create(database)
    with database.begin() as connection:
        assert connection.execute(table.insert(), [{"a": 1}, {"a": 2}]).rowcount == 2


def test_reflection_reads_the_catalog(url: str) -> None:
    database = sa.create_engine(url)
    with database.connect() as connection:
        for statement in (
            "CREATE SCHEMA sales",
            "CREATE TABLE t (a INT COMMENT 'first', b VARCHAR(5) DEFAULT 'x', c DECIMAL(10,2)) "
            "PARTITIONED BY (dt DATE, h INT) COMMENT 'a table'",
            "CREATE TABLE sales.u (m MAP<STRING, INT>, l ARRAY<ARRAY<BIGINT>>, s STRUCT<x: INT>)",
            "CREATE VIEW v (one COMMENT 'of t') AS SELECT a FROM t",
            "CREATE VIEW w AS SELECT a + 1 AS next FROM t",
            "CREATE CUBE c (d STRING, m DECIMAL(10,2) MEASURE SUM, at TIMESTAMP TIME)",
            "CREATE TABLE days (d STRING, m DECIMAL(10,2)) PARTITIONED BY (p STRING)",
            "CREATE FACT f OF CUBE c STORED IN (TABLE days PERIOD DAILY PARTITIONED BY at AS (p))",
        ):
            connection.exec_driver_sql(statement).close()
            connection.commit()
    inspector = sa.inspect(database)
    assert inspector.default_schema_name == "default"
    assert inspector.get_schema_names() == ["default", "sales"]
    assert sorted(inspector.get_table_names()) == ["c", "days", "f", "t"]
    assert inspector.get_table_names("sales") == ["u"]
    assert sorted(inspector.get_view_names()) == ["v", "w"]
    assert inspector.get_view_definition("v") == "SELECT a FROM t"
    assert inspector.get_table_comment("t") == {"text": "a table"}
    described = [(c["name"], repr(c["type"]), c["default"], c["comment"]) for c in inspector.get_columns("t")]
    assert described == [
        ("a", "INTEGER()", None, "first"),
        ("b", "VARCHAR(length=5)", "'x'", None),
        ("c", "DECIMAL(precision=10, scale=2)", None, None),
        ("dt", "DATE()", None, None),
        ("h", "INTEGER()", None, None),
    ]
    assert [repr(c["type"]) for c in inspector.get_columns("u", "sales")] == [
        "SparkType('map<string,int>')",
        "ARRAY(BIGINT(), dimensions=2)",
        "SparkType('struct<x:int>')",
    ]
    assert [(c["name"], repr(c["type"]), c["comment"]) for c in inspector.get_columns("v")] == [
        ("one", "INTEGER()", "of t")
    ]
    assert [(c["name"], repr(c["type"])) for c in inspector.get_columns("w")] == [("next", "INTEGER()")]
    for name in ("c", "f"):
        assert [c["name"] for c in inspector.get_columns(name)] == ["d", "m", "at"]
        assert repr(inspector.get_columns(name)[2]["type"]) == "TIMESTAMP(timezone=True)"
    assert inspector.get_indexes("t") == [{"name": "partition", "column_names": ["dt", "h"], "unique": False}]
    assert inspector.get_indexes("sales.u".split(".")[1], "sales") == inspector.get_indexes("v") == []
    assert inspector.get_pk_constraint("t")["constrained_columns"] == []
    assert inspector.has_table("T")
    assert inspector.has_table("v")
    assert not inspector.has_table("u")
    assert not inspector.has_table("sales.u")
    reflected = sa.Table("t", sa.MetaData(), autoload_with=database)
    assert reflected.dialect_options["rewriter"]["partitioned_by"] == ("dt", "h")
    assert text_of(sa.schema.CreateTable(reflected)).count("PARTITIONED BY (dt, h)") == 1
    database.dispose()


def test_cubes_are_queried_as_tables(url: str) -> None:
    database = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with database.connect() as connection:
        for statement in (
            "CREATE CUBE c (d STRING, m DECIMAL(10,2) MEASURE SUM, at TIMESTAMP TIME)",
            "CREATE TABLE days (d STRING, m DECIMAL(10,2)) PARTITIONED BY (p STRING)",
            "CREATE FACT f OF CUBE c STORED IN (TABLE days PERIOD DAILY PARTITIONED BY at AS (p))",
            "INSERT INTO days VALUES ('x', 1.5, '2024-01-01'), ('y', 2.5, '2024-01-02'), ('y', 9, '2024-01-03')",
        ):
            connection.exec_driver_sql(statement)
        cube = sa.Table("c", sa.MetaData(), autoload_with=connection)
        start, end = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), datetime.datetime(2024, 1, 3)
        for bounds in ((start, end), (start.replace(tzinfo=None), end.replace(tzinfo=datetime.UTC))):
            query = sa.select(cube.c.d, sa.func.sum(cube.c.m)).where(cube.c.at >= bounds[0], cube.c.at < bounds[1])
            rows = connection.execute(query.group_by(cube.c.d).order_by(cube.c.d)).all()
            assert rows == [("x", Decimal("1.50")), ("y", Decimal("2.50"))]
    database.dispose()


def test_names_are_those_that_were_asked_for(database: sa.Engine) -> None:
    names = ["select", "Select It", "?", ":x", "a`b", "%(x)s", "é", "1st", "a.b"]
    with database.connect() as connection:
        columns = [sa.literal(number).label(name) for number, name in enumerate(names)]
        assert list(connection.execute(sa.select(*columns)).keys()) == names
    table = sa.Table("ORDER", sa.MetaData(), *(sa.Column(name, sa.Integer) for name in ("select", "Date", "a b", "ü")))
    with database.begin() as connection:
        table.create(connection)
        connection.execute(table.insert(), [{"select": 1, "Date": 2, "a b": 3, "ü": 4}])
    with database.connect() as connection:
        query = sa.select(table).where(table.c["a b"] == 3, table.c["select"] == 1).order_by(table.c.Date)
        assert connection.execute(query).all() == [(1, 2, 3, 4)]


def test_a_missing_object_is_no_such_table(url: str) -> None:
    database = sa.create_engine(url)
    inspector = sa.inspect(database)
    assert inspector.get_table_names() == []
    assert not inspector.has_table("t")
    assert inspector.has_schema("default")
    assert not inspector.has_schema("sales")
    for method in ("columns", "indexes", "table_comment", "pk_constraint", "foreign_keys", "view_definition"):
        with pytest.raises(exc.NoSuchTableError):
            getattr(inspector, f"get_{method}")("t")
    with pytest.raises(exc.NoSuchTableError):
        sa.Table("t", sa.MetaData(), autoload_with=database)
    database.dispose()


def test_temporary_objects_are_those_of_the_connection(url: str) -> None:
    database = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with database.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE stored (a INT)")
        connection.exec_driver_sql("CREATE TEMPORARY TABLE tt (a INT)")
        connection.exec_driver_sql("CREATE TEMPORARY VIEW tv AS SELECT a FROM tt")
        inspector = sa.inspect(connection)
        assert inspector.get_temp_table_names() == ["tt"]
        assert inspector.get_temp_view_names() == ["tv"]
        assert inspector.get_table_names() == ["stored"]
        assert [column["name"] for column in inspector.get_columns("tv")] == ["a"]
    database.dispose()


def test_errors_are_those_of_sqlalchemy(url: str) -> None:
    database = sa.create_engine(url)
    with database.connect() as connection:
        with pytest.raises(exc.OperationalError, match="WAREHOUSE_NOT_FOUND"):
            connection.exec_driver_sql("SELECT * FROM t")
        connection.exec_driver_sql("CREATE TABLE t (a INT)")
        with pytest.raises(exc.ProgrammingError, match="TABLE_OR_VIEW_NOT_FOUND"):
            connection.exec_driver_sql("SELECT * FROM tt")
        with pytest.raises(exc.NotSupportedError, match="DELETE removes whole partitions"):
            connection.execute(sa.delete(sa.table("t", sa.column("a"))).where(sa.column("a") == 1))
    with pytest.raises(exc.ArgumentError, match="no host"):
        sa.create_engine("rewriter://host/warehouse")
    with pytest.raises(exc.InterfaceError, match="no engine"):
        sa.create_engine(url.replace("duckdb", "sqlite")).connect()
    database.dispose()


def test_a_key_without_a_value_is_refused(url: str) -> None:
    table = sa.Table("t", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("x", sa.String))
    database = sa.create_engine(url)
    table.create(database)
    missing: list[tuple[Any, Any]] = [
        (table.insert(), [{"x": "a"}, {"x": "b"}]),
        (table.insert().values(x="a"), None),
        (table.insert().values([{"x": "a"}, {"x": "b"}]), None),
        (table.insert().from_select(["x"], sa.select(sa.literal("a"))), None),
    ]
    for statement, parameters in missing:
        with database.begin() as connection, pytest.raises(exc.CompileError, match=r"t\.id has no value"):
            connection.execute(statement, parameters)
    given: list[tuple[Any, Any]] = [
        (table.insert(), [{"id": 1, "x": "a"}, {"id": 2, "x": "b"}]),
        (table.insert().values(id=3, x="a"), None),
        (table.insert().values([{"id": 4, "x": "a"}, {"id": 5, "x": "b"}]), None),
        (table.insert().values((6, "c")), None),
        (table.insert().from_select(["id", "x"], sa.select(sa.literal(7), sa.literal("a"))), None),
    ]
    for statement, parameters in given:
        with database.begin() as connection:
            connection.execute(statement, parameters)
    with database.connect() as connection:
        assert connection.scalars(sa.select(table.c.id).order_by(table.c.id)).all() == [1, 2, 3, 4, 5, 6, 7]
    database.dispose()


def test_a_key_may_have_a_default(url: str) -> None:
    database = sa.create_engine(url)
    numbers = iter(range(100))
    for name, automatic in (("t", "auto"), ("u", True)):
        key: sa.Column[int] = sa.Column(
            "id",
            sa.Integer,
            primary_key=True,
            autoincrement=automatic,  # type: ignore[arg-type]
            default=lambda: next(numbers),
        )
        table = sa.Table(name, sa.MetaData(), key, sa.Column("x", sa.Integer))
        table.create(database)
        with database.begin() as connection:
            connection.execute(table.insert(), [{"x": 1}, {"x": 2}])
    with database.connect() as connection:
        ids = connection.scalars(sa.text("SELECT id FROM t UNION ALL SELECT id FROM u")).all()
    assert sorted(ids) == [0, 1, 2, 3]
    database.dispose()


def test_objects_are_loaded_and_stored(database: sa.Engine) -> None:
    class Base(orm.DeclarativeBase):
        pass

    class Flight(Base):
        __tablename__ = "flights"
        __table_args__: ClassVar[Any] = {"rewriter_partitioned_by": ["day"]}
        id: orm.Mapped[int] = orm.mapped_column(primary_key=True, autoincrement=False)
        carrier: orm.Mapped[str | None]
        day: orm.Mapped[datetime.date]

    Base.metadata.create_all(database)
    Base.metadata.create_all(database)  # The table exists now.
    day = datetime.date(2024, 1, 1)
    with orm.Session(database) as session:
        session.add_all([Flight(id=1, carrier="UA", day=day), Flight(id=2, carrier=None, day=day)])
        session.commit()
        assert [f.carrier for f in session.scalars(sa.select(Flight).order_by(Flight.id))] == ["UA", None]
        assert session.get_one(Flight, 2).day == day


def test_statements_are_cached(url: str) -> None:
    database = sa.create_engine(url)
    table = sa.Table("t", sa.MetaData(), sa.Column("a", sa.Integer))
    table.create(database)
    with database.begin() as connection:
        connection.execute(table.insert(), [{"a": n} for n in range(10)])
    with database.connect() as connection:
        for limit in (2, 3):
            result = connection.execute(sa.select(table).where(table.c.a >= limit).order_by(table.c.a).limit(limit))
            assert result.scalars().all() == list(range(limit, 2 * limit))
            caching: Any = result.context
            hit = caching.cache_hit
        assert hit.name == "CACHE_HIT"
        for rows in (1, 2):  # The distances of frames are literals, and no part of the cached statement.
            window = sa.func.count().over(order_by=table.c.a, rows=(-rows, 0))
            assert max(connection.scalars(sa.select(window))) == rows + 1
    database.dispose()


def test_a_pool_serves_threads_and_replaces_closed_connections(url: str) -> None:
    database = sa.create_engine(url, pool_size=2, max_overflow=0, pool_pre_ping=True)
    with database.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (a INT)")
    answers: list[Any] = []

    def read() -> None:
        for _ in range(3):
            with database.connect() as connection:
                answers.append(connection.scalar(sa.text("SELECT count(*) FROM t")))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [0] * 12
    with database.connect() as connection:
        raw: Any = connection.connection.dbapi_connection
    raw.close()
    for _ in range(2):
        with database.connect() as connection:
            assert connection.scalar(sa.text("SELECT count(*) FROM t")) == 0
    database.dispose()


def test_a_closed_connection_is_a_lost_one(url: str) -> None:
    database = sa.create_engine(url)
    with database.connect() as connection:
        raw: Any = connection.connection.dbapi_connection
        raw.close()
        with pytest.raises(exc.InterfaceError) as caught:
            connection.exec_driver_sql("SELECT 1")
        assert caught.value.connection_invalidated
    with database.connect() as connection:
        assert connection.scalar(sa.text("SELECT 1")) == 1
    database.dispose()


def test_pandas_reads_and_appends(database: sa.Engine) -> None:
    days = pd.to_datetime(["2024-01-01", "2024-01-02", None]).tz_localize("UTC")
    frame = pd.DataFrame({"a": [1.5, None, 3.0], "b": ["it's", None, "\\"], "n": [1, 2, 3], "at": days})
    assert frame.to_sql("frames", database, if_exists="append") == 3
    assert frame.to_sql("frames", database, if_exists="append", index=True) == 3
    read = pd.read_sql("SELECT * FROM frames ORDER BY n, `index`", database)
    assert read["n"].tolist() == [1, 1, 2, 2, 3, 3]
    assert read["b"].tolist()[0] == "it's"
    assert read["b"].tolist()[-1] == "\\"
    assert read["b"].isna().tolist() == [False, False, True, True, False, False]
    assert read["at"].tolist()[0] == pd.Timestamp("2024-01-01", tz="UTC")
    only = pd.read_sql(sa.text("SELECT n FROM frames WHERE b = :b"), database, params={"b": "it's"})
    assert only["n"].tolist() == [1, 1]
    assert sorted(pd.read_sql_table("frames", database, columns=["n"])["n"]) == [1, 1, 2, 2, 3, 3]
    with pytest.raises(ValueError, match="already exists"):
        frame.to_sql("frames", database, if_exists="fail")
    assert frame.to_sql("frames", database, if_exists="replace", index=False) == 3
    assert pd.read_sql("SELECT count(*) AS n FROM frames", database)["n"].tolist() == [3]


def test_types_are_read_from_their_spelling() -> None:
    assert (
        repr(column_type("array<map<string,array<int>>>")) == "ARRAY(SparkType('map<string,array<int>>'), dimensions=1)"
    )
    assert repr(column_type("char(3)")) == "CHAR(length=3)"
    assert isinstance(column_type("variant"), SparkType)
    dialect = RewriterDialect()
    for text in ("tinyint", "smallint", "int", "bigint", "float", "double", "boolean", "string", "binary", "date"):
        assert column_type(text).compile(dialect=dialect).lower() == text
    for text in ("timestamp", "timestamp_ntz", "decimal(10, 2)", "char(3)", "varchar(4)", "array<int>", "map<int,int>"):
        assert column_type(text.replace(", ", ",")).compile(dialect=dialect).lower() == text
