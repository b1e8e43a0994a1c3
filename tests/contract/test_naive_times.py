"""Times without a zone as parameters: refused over a cube with a zone, UTC over other cubes, by every entrance."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

import rewriter
from rewriter.dbapi.connection import Connection
from rewriter.exec.engine import Engine

NEW_YORK = ZoneInfo("America/New_York")
#: Midnight of the second day of ``zoned`` is 04:00 in UTC, and that of ``plain`` is midnight in UTC.
NAIVE = [dt.datetime(2023, 6, 2), pd.Timestamp("2023-06-02"), np.datetime64("2023-06-02T00:00")]
DAYS = ["2023-06-02", dt.date(2023, 6, 2), np.datetime64("2023-06-02"), np.str_("2023-06-02")]
AWARE = [
    dt.datetime(2023, 6, 2, tzinfo=NEW_YORK), dt.datetime(2023, 6, 2, 4, tzinfo=dt.UTC), "2023-06-02 04:00:00Z",
    pd.Timestamp("2023-06-02", tz="America/New_York"),
]  # fmt: skip
WHERE = ["t >= {0}", "{0} <= t", "t BETWEEN {0} AND '2023-07-01'", "NOT t < {0}"]


@pytest.fixture
def connection(engine: Engine, tmp_path: Path) -> Iterator[Connection]:
    with rewriter.connect(tmp_path / "warehouse", engine=engine) as opened:
        for name, zone in (("zoned", "TIME ZONE 'America/New_York'"), ("plain", "")):
            for statement in (
                f"CREATE TABLE {name}_days (n BIGINT) PARTITIONED BY (d STRING)",
                f"CREATE CUBE {name} (n BIGINT MEASURE COUNT, t TIMESTAMP TIME) {zone}",
                f"CREATE FACT {name}_f OF CUBE {name} STORED IN ("
                f"TABLE {name}_days PERIOD DAILY PARTITIONED BY t AS (d))",
                f"INSERT INTO {name}_days VALUES (1, '2023-06-01'), (2, '2023-06-02'), (4, '2023-06-03')",
                "SET rewriter.partial_data = true",
            ):
                opened.execute(statement)
        opened.execute("CREATE TABLE counts (n BIGINT)")
        yield opened


def by_mark(connection: Connection, cube: str, where: str, value: object) -> list[Any]:
    return connection.execute(f"SELECT SUM(n) FROM {cube} WHERE {where.format('?')}", [value]).fetchall()


def by_name(connection: Connection, cube: str, where: str, value: object) -> list[Any]:
    return connection.execute(f"SELECT SUM(n) FROM {cube} WHERE {where.format(':v')}", {"v": value}).fetchall()


def by_executemany(connection: Connection, cube: str, where: str, value: object) -> list[Any]:
    cursor = connection.cursor()
    cursor.execute("TRUNCATE TABLE counts")
    cursor.executemany(f"INSERT INTO counts SELECT SUM(n) FROM {cube} WHERE {where.format('?')}", [[value]])
    return connection.execute("SELECT n FROM counts").fetchall()


def by_pandas(connection: Connection, cube: str, where: str, value: object) -> list[Any]:
    frame = pd.read_sql(f"SELECT SUM(n) AS n FROM {cube} WHERE {where.format('?')}", connection, params=[value])
    return [(int(n),) for n in frame["n"]]


@pytest.mark.filterwarnings("ignore:partial data")
@pytest.mark.filterwarnings("ignore:pandas only supports SQLAlchemy")
@pytest.mark.share(4, "spark")
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("run", [by_mark, by_name, by_executemany, by_pandas])
def test_a_time_without_a_zone_is_refused_where_the_cube_has_one(
    connection: Connection, where: str, run: Callable[..., list[Any]]
) -> None:
    for value in NAIVE:
        with pytest.raises((rewriter.NotSupportedError, pd.errors.DatabaseError), match="without a zone") as caught:
            run(connection, "zoned", where, value)
        error = caught.value if isinstance(caught.value, rewriter.Error) else caught.value.__cause__
        assert isinstance(error, rewriter.Error)
        assert error.condition == "ZONED_TIME"
        assert error.hint is not None
        assert "Pass a datetime with a zone" in error.hint
        assert run(connection, "plain", where, value) == [(6,)]
    for value in (*DAYS, *AWARE):
        assert run(connection, "zoned", where, value) == [(6,)]
    for value in DAYS:
        assert run(connection, "plain", where, value) == [(6,)]


@pytest.mark.parametrize("query", ["SELECT SUM(n) FROM zoned WHERE t IN (?)", "SELECT SUM(n) FROM zoned WHERE t = ?",
                                   "SELECT SUM(n) FROM zoned WHERE time_range_in(t, ?, '2023-06-03')",
                                   "SELECT SUM(n) FROM zoned WHERE t >= CAST(? AS TIMESTAMP)",
                                   "SELECT SUM(n) FROM zoned WHERE to_date(t) >= ?",
                                   "SELECT SUM(CASE WHEN t >= ? THEN n END) FROM zoned",
                                   "SELECT SUM(n) FROM (SELECT n, t FROM zoned) AS s WHERE t >= ?",
                                   "SELECT date_trunc('day', ?), SUM(n) FROM zoned GROUP BY 1",
                                   "SHOW COVERAGE OF zoned_f FROM ? TO '2023-06-03'",
                                   "CHECK FACT zoned_f FROM ? TO '2023-06-03'"])  # fmt: skip
def test_siblings_are_refused(connection: Connection, query: str) -> None:
    with pytest.raises(rewriter.Error):
        connection.execute(query, [NAIVE[0]])


@pytest.mark.share(2, "spark")
def test_sqlalchemy_passes_zones_on(connection: Connection) -> None:
    table = sa.Table("zoned", sa.MetaData(), sa.Column("n", sa.BigInteger), sa.Column("t", sa.DateTime()))
    engine = sa.create_engine("rewriter://", creator=lambda: connection, poolclass=sa.StaticPool)

    def total(value: object) -> int:
        query = sa.select(sa.func.sum(table.c.n)).where(table.c.t >= value)
        with engine.connect() as opened:
            results = {opened.execute(query).scalar_one()}
            literal = query.compile(engine, compile_kwargs={"literal_binds": True})
            results.add(opened.exec_driver_sql(str(literal)).scalar_one())
        (result,) = results
        return int(result)

    assert total(dt.datetime(2023, 6, 2, tzinfo=NEW_YORK)) == 6
    with pytest.raises(sa.exc.DBAPIError, match="without a zone"):
        total(dt.datetime(2023, 6, 2))
    query = sa.select(sa.func.sum(table.c.n)).where(table.c.t >= dt.datetime(2023, 6, 2))
    literal = str(query.compile(engine, compile_kwargs={"literal_binds": True}))
    with engine.connect() as opened, pytest.raises(sa.exc.DBAPIError, match="ZONED_TIME"):
        opened.exec_driver_sql(literal)
