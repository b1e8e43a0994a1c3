"""AVG of a DECIMAL measure over a cube: Spark's type, and its rounding, on each engine."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal

import pytest

from rewriter.errors import NotSupportedError
from rewriter.session import Session

#: Sums of DECIMAL(10,2) and the numbers of values. Many averages end in half of the last digit, or just below.
PAIRS = [
    ("10.55", 2), ("0.01", 20_000), ("-0.01", 20_000), ("0.01", 20_001), ("0.01", 19_999), ("-0.03", 20_000),
    ("99999999.99", 3), ("-99999999.99", 7), ("99999999.99", 999_999_999_999), ("0.01", 999_999_999_999),
    ("12345678.91", 160_000), ("-12345678.93", 160_000), ("5.00", 10_000_000), ("4.99", 9_999_999), ("0.00", 5),
    ("10000.01", 20_000), ("10000.01", 19_999), ("50000000.00", 99_999_999_999),
]  # fmt: skip


@pytest.mark.parametrize("engine", ["duckdb", "spark"], indirect=True)
def test_an_average_is_rounded_once(engine: object, tmp_path: object) -> None:
    with Session(f"{tmp_path}/warehouse", engine) as session:  # type: ignore[arg-type]
        session.execute(
            "CREATE CUBE c (k INT, p DECIMAL(10,2) MEASURE SUM COUNTED BY n, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)"
        )
        for table in ("hours", "days"):
            session.execute(f"CREATE TABLE {table} (k INT, p DECIMAL(10,2), n BIGINT) PARTITIONED BY (dt STRING)")
        session.execute(
            "CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt), "
            "TABLE days PERIOD DAILY PARTITIONED BY t AS (dt))"
        )
        rows = [f"({k}, {amount}, {count}, '2013-01-01-00')" for k, (amount, count) in enumerate(PAIRS)]
        rows += [f"({k}, 0.00, 0, '2013-01-01-01')" for k in range(len(PAIRS))] + ["(-1, NULL, 0, '2013-01-01-00')"]
        session.execute("INSERT INTO hours MARK COMPLETE FROM '2013-01-01' TO '2013-01-02' VALUES " + ", ".join(rows))
        session.execute("REFRESH FACT f")
        result = session.execute("SELECT k, AVG(p) FROM c WHERE to_date(t) = '2013-01-01' GROUP BY k ORDER BY k")
        assert [column.name for column in result.columns] == ["k", "avg(p)"]
        assert result.columns[1].type == "decimal(14,6)"
        context = Context(prec=60, rounding=ROUND_HALF_UP)
        expected = [(-1, None)] + [
            (k, context.divide(Decimal(amount), Decimal(count)).quantize(Decimal("0.000001"), ROUND_HALF_UP))
            for k, (amount, count) in enumerate(PAIRS)
        ]
        assert [tuple(row) for row in result.fetch()] == expected


@pytest.mark.parametrize(
    ("declared", "average"), [("18,2", "22,6"), ("18,9", "22,13"), ("9,9", "13,13"), ("22,4", "26,8")]
)
@pytest.mark.parametrize("engine", ["duckdb", "spark"], indirect=True)
def test_an_average_over_events_is_that_of_the_plain_table(
    engine: object, tmp_path: object, declared: str, average: str
) -> None:
    with Session(f"{tmp_path}/warehouse", engine) as session:  # type: ignore[arg-type]
        session.execute(
            f"CREATE CUBE c (p DECIMAL({declared}) MEASURE SUM COUNTED BY n, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)"
        )
        session.execute(f"CREATE TABLE hours (p DECIMAL({declared}), n BIGINT) PARTITIONED BY (dt STRING)")
        session.execute("CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt))")
        precision, scale = map(int, declared.split(","))
        largest = Decimal(10**precision - 1).scaleb(-scale, Context(prec=60))
        values = [largest, -largest, largest, Decimal(1).scaleb(-scale), None, Decimal(0), Decimal(-2).scaleb(-scale)]
        rows = ", ".join(
            f"(CAST({'NULL' if value is None else f'{value:f}'} AS DECIMAL({declared})), {int(value is not None)}, "
            "'2013-01-01-00')"
            for value in values
        )
        session.execute(f"INSERT INTO hours VALUES {rows}")
        over_cube = session.execute("SELECT AVG(p) AS a, AVG(p) FILTER (WHERE n > 0) AS b FROM c")
        over_base = session.execute("SELECT AVG(p) AS a, AVG(p) FILTER (WHERE n > 0) AS b FROM hours")
        assert {column.type for column in (*over_cube.columns, *over_base.columns)} == {f"decimal({average})"}
        assert over_cube.fetch() == over_base.fetch()


def test_sums_of_too_many_digits_are_refused(cube_session: Session) -> None:
    for number, declared in enumerate(("38,2", "20,10")):
        cube_session.execute(
            f"CREATE CUBE long{number} (p DECIMAL({declared}) MEASURE SUM COUNTED BY n, n BIGINT MEASURE COUNT, "
            "t TIMESTAMP TIME)"
        )
        cube_session.execute(
            f"CREATE TABLE long_hours{number} (p DECIMAL({declared}), n BIGINT) PARTITIONED BY (dt STRING)"
        )
        cube_session.execute(
            f"CREATE FACT long_fact{number} OF CUBE long{number} STORED IN "
            f"(TABLE long_hours{number} PERIOD HOURLY PARTITIONED BY t AS (dt))"
        )
        with pytest.raises(NotSupportedError, match="too many digits") as caught:
            cube_session.execute(f"SELECT AVG(p) FROM long{number}")
        assert caught.value.hint == "Write SUM(p) / SUM(n)."
