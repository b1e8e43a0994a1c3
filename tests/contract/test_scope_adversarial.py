"""Tricky scopes: joins of all kinds, subqueries, CTEs and correlation, compared with plain SQL over the base rows.

Each query runs twice, with all periods and with only hours. It must return the rows of plain SQL in DuckDB over the
base rows, where COUNT is written as the sum of the counting measure (``semantics.md``, rules 1 and 4). Periods are
compared, too, so that no query is correct only because it always reads hours.
"""

# ruff: noqa: E501 -- a query of a table stays on its line

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal

import duckdb as engine
import pytest

from rewriter.errors import Error
from rewriter.session import Session
from rewriter.timeline.periods import UpdatePeriod

#: The placeholders of the time ranges: ``{W}`` consists of days, ``{V}`` begins and ends within one.
RANGES = {
    "W": "{t} >= '2013-01-01' AND {t} < '2013-02-05'",
    "V": "{t} >= '2013-01-01 05:00' AND {t} < '2013-02-03 11:00'",
}
BUSY = (
    "2013-01-01-00",
    "2013-01-01-05",
    "2013-01-01-23",
    "2013-01-02-00",
    "2013-01-31-23",
    "2013-02-01-00",
    "2013-02-03-10",
)
HOURS = [f"{datetime(2013, 1, 1) + timedelta(hours=hour):%Y-%m-%d-%H}" for hour in range(35 * 24)]
Row = tuple[object, ...]
SAME, COARSE, BASE = "", True, False

FLIGHTS = "carrier STRING, dest STRING, n BIGINT, distance BIGINT, cnt BIGINT, hi BIGINT, lo BIGINT, ndist BIGINT"
EVENTS = "carrier STRING, kind STRING, amount BIGINT, top BIGINT"
TABLES: dict[str, tuple[str, list[Row]]] = {
    "dim": (
        "carrier STRING, name STRING, country STRING",
        [
            ("UA", "United", "US"),
            ("UA", "Again", "US"),
            ("AA", "American", None),
            (None, "nobody", "XX"),
            ("ZZ", "Ghost", "ZZ"),
        ],
    ),
    "cal": (
        "day STRING, hol BIGINT, note STRING",
        [("2013-01-01", 1, "x"), ("2013-01-02", 0, None), ("2013-02-03", 1, "y"), (None, 1, "z")],
    ),
    "nb": ("k STRING, v BIGINT", [("UA", 5), ("DL", 1), (None, 7)]),
    "tt": ("departed STRING, v BIGINT", [("2013-1-5 00:00:00", 1), ("2013-02-01 00:00:00", 4)]),
}


def flights() -> Iterator[Row]:
    """Returns base rows: several per hour, NULL dimensions and measures, 0, 1, more and NULL events; two rows without a
    time.
    """
    rng = random.Random(7)
    for hour in HOURS:
        for _ in range(4 if hour in BUSY else rng.random() < 0.05):
            distance, counted = rng.choice((100, 200, 350, None)), rng.choice((1, 2))
            yield (
                *(
                    rng.choice(("UA", "AA", "DL", None)),
                    rng.choice(("JFK", "LGA", None)),
                    rng.choice((0, 1, 1, 2, 3, None)),
                ),
                *(distance, 0 if distance is None else counted),
                *(rng.choice((1, 5, 9, None)), rng.choice((1, 5, 9, None)), rng.choice((1, 2, 5)), hour),
            )
    yield ("UA", "JFK", 2, 100, 1, 5, 5, 1, None)
    yield (None, None, 1, None, 0, None, None, 2, None)


def events() -> Iterator[Row]:
    rng = random.Random(8)
    for hour in HOURS:
        for _ in range(2 if hour in BUSY else rng.random() < 0.03):
            yield (
                rng.choice(("UA", "AA", "B6", None)),
                rng.choice(("x", None)),
                rng.choice((10, 20, None)),
                rng.choice((1, 7, None)),
                hour,
            )


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Opens a session with hours of two cubes, and days and a month by SQL. One day of flights is missing."""
    with Session(tmp_path_factory.mktemp("scope") / "warehouse", "duckdb") as opened:
        for name, (columns, rows) in TABLES.items():
            opened.execute(f"CREATE TABLE {name} ({columns})")
            opened.execute(f"INSERT INTO {name} VALUES {values(rows)}")
        for name, columns in (
            ("hours", FLIGHTS),
            ("days", FLIGHTS),
            ("months", FLIGHTS),
            ("ehours", EVENTS),
            ("edays", EVENTS),
        ):
            opened.execute(f"CREATE TABLE {name} ({columns}) PARTITIONED BY (dt STRING)")
        opened.execute(
            "CREATE CUBE flights (carrier STRING, dest STRING, n BIGINT MEASURE COUNT, distance BIGINT MEASURE SUM COUNTED BY cnt, "
            "cnt BIGINT MEASURE COUNT, hi BIGINT MEASURE MAX, lo BIGINT MEASURE MIN, ndist BIGINT MEASURE SUM NOT NULL, departed TIMESTAMP TIME)"
        )
        opened.execute(
            "CREATE FACT f_all OF CUBE flights STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY departed AS (dt = 'yyyy-MM-dd-HH'), "
            "TABLE days PERIOD DAILY PARTITIONED BY departed AS (dt = 'yyyy-MM-dd'), TABLE months PERIOD MONTHLY PARTITIONED BY departed AS (dt = 'yyyy-MM'))"
        )
        opened.execute(
            "CREATE CUBE events (carrier STRING, kind STRING, amount BIGINT MEASURE SUM, top BIGINT MEASURE MAX, happened TIMESTAMP TIME)"
        )
        opened.execute(
            "CREATE FACT e_all OF CUBE events STORED IN (TABLE ehours PERIOD HOURLY PARTITIONED BY happened AS (dt = 'yyyy-MM-dd-HH'), "
            "TABLE edays PERIOD DAILY PARTITIONED BY happened AS (dt = 'yyyy-MM-dd'))"
        )
        for name, rows in (("hours", list(flights())), ("ehours", list(events()))):
            opened.execute(f"INSERT INTO {name} PARTITION (dt) VALUES {values(rows)}")
            add(opened, name, set(HOURS) - {str(row[-1]) for row in rows})
        sums = "carrier, dest, SUM(n), SUM(distance), SUM(cnt), MAX(hi), MIN(lo), SUM(ndist)"
        day = "substr(dt, 1, 10)"
        roll_up(
            opened, "hours", "days", sums, f"carrier, dest, {day}", day, "(dt < '2013-02-02' OR dt >= '2013-02-03')"
        )
        roll_up(
            opened, "hours", "months", sums, "carrier, dest, substr(dt, 1, 7)", "substr(dt, 1, 7)", "dt < '2013-02'"
        )
        roll_up(
            opened,
            "ehours",
            "edays",
            "carrier, kind, SUM(amount), MAX(top)",
            f"carrier, kind, {day}",
            day,
            "dt IS NOT NULL",
        )
        days = {hour[:10] for hour in HOURS}
        add(opened, "days", days - {"2013-02-02"} - {str(row[-1])[:10] for row in flights()})
        add(opened, "edays", days - {str(row[-1])[:10] for row in events()})
        yield opened


@pytest.fixture(scope="module")
def plain() -> Iterator[engine.DuckDBPyConnection]:
    """Returns the base rows as ordinary tables. ``ev`` is the number of events that a row of flights represents."""
    connection = engine.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for name, (columns, rows) in TABLES.items():
        connection.execute(f"CREATE TABLE {name} ({columns})")
        connection.execute(f"INSERT INTO {name} VALUES {values(rows)}")
    for name, columns, time, rows in (
        ("flights", FLIGHTS, "departed", list(flights())),
        ("events", EVENTS, "happened", list(events())),
    ):
        connection.execute(f"CREATE TABLE {name}_rows ({columns}, dt STRING)")
        connection.execute(f"INSERT INTO {name}_rows VALUES {values(rows)}")
        counted = ", COALESCE(n, 0) AS ev" if name == "flights" else ""
        connection.execute(
            f"CREATE TABLE {name} AS SELECT * EXCLUDE (dt), strptime(dt, '%Y-%m-%d-%H') AS {time}{counted} FROM {name}_rows"
        )
    yield connection
    connection.close()


def values(rows: Sequence[Row]) -> str:
    """Returns rows of texts and numbers as SQL."""
    spelled = (
        ", ".join("NULL" if v is None else f"'{v}'" if isinstance(v, str) else str(v) for v in row) for row in rows
    )
    return ", ".join(f"({row})" for row in spelled)


def add(session: Session, table: str, keys: set[str]) -> None:
    """Adds partitions without rows."""
    listed = " ".join(f"PARTITION (dt = '{key}')" for key in sorted(keys))
    session.execute(f"ALTER TABLE {table} ADD {listed}")


def roll_up(session: Session, source: str, target: str, items: str, groups: str, key: str, where: str) -> None:
    session.execute(
        f"INSERT OVERWRITE {target} PARTITION (dt) SELECT {items}, {key} AS p FROM {source} WHERE {where} GROUP BY {groups}"
    )


def spelled(sql: str) -> str:
    """Returns the query with its ranges written out: ``{W}`` of departed, ``{W:f}`` of f.departed."""
    return re.sub(
        r"\{([WV])(?::(\w+))?\}", lambda m: RANGES[m[1]].format(t=f"{m[2]}.departed" if m[2] else "departed"), sql
    )


def comparable(rows: Sequence[Sequence[object]]) -> list[tuple[object, ...]]:
    """Returns rows in a fixed order, without differences in the notation of engines: zones, decimals, last digits."""

    def value(cell: object) -> object:
        if isinstance(cell, datetime):
            return cell.replace(tzinfo=None)
        return round(float(cell), 6) if isinstance(cell, Decimal | float) else cell

    return sorted((tuple(value(cell) for cell in row) for row in rows), key=repr)


def asked(session: Session, sql: str, periods: str) -> tuple[list[tuple[object, ...]], bool]:
    """Returns the result, and True if anything coarser than hours was read for it."""
    session.execute(f"SET rewriter.periods = '{periods}'")
    result = session.execute(spelled(sql))
    parts = [part.period for reference in result.coverage.references for part in reference.parts]
    return comparable(result.fetch()), any(period is not UpdatePeriod.HOURLY for period in parts)


#: Each query, its meaning over base rows (SAME: the same text), and whether periods coarser than hours may serve it.
# fmt: off
QUERIES = [
    # Names and constants of inlined subqueries.
    ("SELECT d.name, COUNT(x.one) AS c FROM dim d LEFT JOIN (SELECT carrier, 1 AS one, departed FROM flights WHERE {W}) x ON d.carrier = x.carrier GROUP BY d.name",
     "SELECT d.name, COALESCE(SUM(x.n),0) FROM dim d LEFT JOIN (SELECT * FROM flights WHERE {W}) x ON d.carrier = x.carrier GROUP BY d.name", COARSE),
    ("SELECT COUNT(*) AS c, SUM(a.distance) AS s FROM flights a LEFT JOIN (SELECT k, TRUE AS seen FROM nb) y ON a.carrier = y.k WHERE {W:a} AND y.seen IS NULL",
     "SELECT COALESCE(SUM(n),0), SUM(a.distance) FROM flights a LEFT JOIN (SELECT k, TRUE AS seen FROM nb) y ON a.carrier = y.k WHERE {W:a} AND y.seen IS NULL", COARSE),
    ("SELECT SUM(a.distance) AS s FROM flights a LEFT JOIN (SELECT carrier, 1 AS one FROM events WHERE happened >= '2013-01-01' AND happened < '2013-02-01') y ON a.carrier = y.carrier WHERE {W:a} AND y.one IS NULL", SAME, COARSE),
    ("SELECT SUM(a.distance) AS s FROM flights a LEFT JOIN (SELECT carrier, TRUE AS seen FROM events WHERE happened >= '2013-01-01' AND happened < '2013-02-01') y ON a.carrier = y.carrier WHERE {W:a} AND COALESCE(y.seen, FALSE) = FALSE", SAME, COARSE),
    ("SELECT COUNT(*) FROM (SELECT 1 AS n, carrier FROM flights WHERE {W}) x",
     "SELECT COALESCE(SUM(n),0) FROM flights WHERE {W}", COARSE),
    ("SELECT COUNT(*) FROM (SELECT 1 AS n, n AS m FROM flights WHERE {W}) x",
     "SELECT COALESCE(SUM(n),0) FROM flights WHERE {W}", COARSE),
    ("SELECT AVG(distance) FROM (SELECT distance, hi AS cnt FROM flights WHERE {W}) x",
     "SELECT SUM(distance)*1.0/SUM(cnt) FROM flights WHERE {W}", COARSE),
    ("SELECT AVG(x.cnt) FROM (SELECT distance AS cnt, cnt AS distance FROM flights WHERE {W}) x",
     "SELECT SUM(distance)*1.0/SUM(cnt) FROM flights WHERE {W}", COARSE),
    ("SELECT dest, COUNT(*) AS c FROM (SELECT carrier AS dest, dest AS carrier FROM flights WHERE {W}) x WHERE carrier = 'JFK' GROUP BY dest",
     "SELECT carrier, COALESCE(SUM(n),0) FROM flights WHERE {W} AND dest='JFK' GROUP BY carrier", COARSE),
    ("SELECT SUM(hi) AS s, MAX(distance) AS m FROM (SELECT hi AS distance, distance AS hi FROM flights WHERE {W}) x",
     "SELECT SUM(distance), MAX(hi) FROM flights WHERE {W}", COARSE),
    ("SELECT SUM(distance) AS s FROM (SELECT hi AS distance, distance AS hi FROM flights WHERE {W}) x", SAME, BASE),
    ("SELECT COUNT(*), SUM(d) AS s FROM (SELECT distance * 2 AS d FROM (SELECT distance, departed, carrier FROM flights) a WHERE {W}) b",
     "SELECT COALESCE(SUM(n),0), SUM(distance)*2 FROM flights WHERE {W}", COARSE),
    ("SELECT COUNT(*) AS c FROM (SELECT carrier FROM (SELECT carrier, departed FROM (SELECT * FROM flights WHERE departed < '2013-02-03') a) b WHERE departed >= '2013-01-01 05:00') c",
     "SELECT COALESCE(SUM(n),0) FROM flights WHERE departed < '2013-02-03' AND departed >= '2013-01-01 05:00'", COARSE),
    ("SELECT COUNT(carrier) AS c, COUNT(x.k) AS k, COUNT(x.z) AS z, COUNT(NULL) AS nn FROM (SELECT carrier, COALESCE(carrier, 'x') AS k, NULL AS z FROM flights WHERE {W}) x",
     "SELECT SUM(CASE WHEN carrier IS NOT NULL THEN n END), SUM(n), 0, 0 FROM flights WHERE {W}", COARSE),
    ("SELECT COUNT('x') AS c, COUNT(f.carrier) AS fc, COUNT(d.carrier) AS dc, COUNT(TRUE) AS t FROM dim d LEFT JOIN flights f ON d.carrier = f.carrier AND {W:f}",
     "SELECT SUM(COALESCE(ev,1)), SUM(CASE WHEN f.carrier IS NOT NULL THEN COALESCE(ev,1) END), SUM(CASE WHEN d.carrier IS NOT NULL THEN COALESCE(ev,1) END),SUM(COALESCE(ev,1)) FROM dim d LEFT JOIN flights f ON d.carrier = f.carrier AND {W:f}", COARSE),
    # Joins of all kinds: conditions in ON and in WHERE, chains, two cubes.
    ("SELECT d.name, COUNT(*) AS c, SUM(f.distance) AS s FROM dim d LEFT JOIN flights f ON d.carrier = f.carrier AND {V:f} GROUP BY d.name",
     "SELECT d.name, COALESCE(SUM(COALESCE(f.ev,1)),0), SUM(f.distance) FROM dim d LEFT JOIN flights f ON d.carrier = f.carrier AND {V} GROUP BY d.name", COARSE),
    ("SELECT d.name, COUNT(*) AS c, SUM(f.distance) AS s FROM dim d LEFT JOIN flights f ON d.carrier = f.carrier WHERE {V:f} GROUP BY d.name",
     "SELECT d.name, COALESCE(SUM(COALESCE(f.ev,1)),0), SUM(f.distance) FROM dim d LEFT JOIN flights f ON d.carrier = f.carrier WHERE {V} GROUP BY d.name", COARSE),
    ("SELECT d.name, COUNT(*) AS c, SUM(f.distance) AS s FROM dim d LEFT JOIN flights f ON d.carrier = f.carrier AND {V:f} WHERE f.carrier IS NULL GROUP BY d.name",
     "SELECT d.name, COALESCE(SUM(COALESCE(f.ev,1)),0), SUM(f.distance) FROM dim d LEFT JOIN flights f ON d.carrier = f.carrier AND {V} WHERE f.carrier IS NULL GROUP BY d.name", COARSE),
    ("SELECT d.name, COUNT(*) AS c, SUM(f.distance) AS s FROM dim d LEFT JOIN flights f ON d.carrier = f.carrier WHERE f.departed IS NULL OR f.departed >= '2013-02-01' GROUP BY d.name",
     "SELECT d.name, COALESCE(SUM(COALESCE(f.ev,1)),0), SUM(f.distance) FROM dim d LEFT JOIN flights f ON d.carrier = f.carrier WHERE f.departed IS NULL OR f.departed >= '2013-02-01' GROUP BY d.name", BASE),
    ("SELECT d.name, COUNT(*) AS c FROM dim d LEFT JOIN flights f ON d.carrier = f.carrier WHERE COALESCE(f.departed, TIMESTAMP '2013-02-03 10:00:00') >= '2013-02-03 10:00:00' GROUP BY d.name",
     "SELECT d.name, COALESCE(SUM(COALESCE(f.ev,1)),0) FROM dim d LEFT JOIN flights f ON d.carrier = f.carrier WHERE COALESCE(f.departed, TIMESTAMP '2013-02-03 10:00:00') >= '2013-02-03 10:00:00' GROUP BY d.name", BASE),
    ("SELECT COUNT(*) AS c, COUNT(d.name) AS dn, SUM(f.distance) AS s FROM flights f LEFT JOIN dim d ON d.carrier = f.carrier AND f.departed >= '2013-02-03 10:00:00' WHERE {V:f}",
     "SELECT SUM(ev), SUM(CASE WHEN d.name IS NOT NULL THEN ev END), SUM(distance) FROM flights f LEFT JOIN dim d ON d.carrier = f.carrier AND f.departed >= '2013-02-03 10:00:00' WHERE {V}", BASE),
    ("SELECT COUNT(*) AS c, SUM(f.distance) AS s FROM flights f RIGHT JOIN dim d ON d.carrier = f.carrier AND {V:f}",
     "SELECT SUM(COALESCE(ev,1)), SUM(distance) FROM flights f RIGHT JOIN dim d ON d.carrier = f.carrier AND {V}", COARSE),
    ("SELECT COUNT(*) AS c, SUM(f.distance) AS s, COUNT(d.name) AS n2 FROM flights f FULL JOIN dim d ON d.carrier = f.carrier AND {V:f}",
     "SELECT SUM(COALESCE(ev,1)), SUM(distance), SUM(CASE WHEN d.name IS NOT NULL THEN COALESCE(ev,1) END) FROM flights f FULL JOIN dim d ON d.carrier = f.carrier AND {V}", BASE),
    ("SELECT COUNT(*) AS c, SUM(f.distance) AS s FROM nb FULL JOIN dim d ON nb.k = d.carrier FULL JOIN flights f ON d.carrier = f.carrier AND f.departed >= '2013-01-02'",
     "SELECT SUM(COALESCE(ev,1)), SUM(distance) FROM nb FULL JOIN dim d ON nb.k = d.carrier FULL JOIN flights f ON d.carrier = f.carrier AND f.departed >= '2013-01-02'", BASE),
    ("SELECT COUNT(*) AS c, SUM(f.distance) AS s FROM dim d LEFT JOIN flights f ON d.carrier = f.carrier RIGHT JOIN nb ON nb.k = d.carrier AND {V:f}",
     "SELECT SUM(COALESCE(ev,1)), SUM(distance) FROM dim d LEFT JOIN flights f ON d.carrier = f.carrier RIGHT JOIN nb ON nb.k = d.carrier AND {V}", COARSE),
    ("SELECT COUNT(*) AS c, SUM(f.distance) AS s FROM dim d LEFT JOIN flights f ON d.carrier = f.carrier JOIN nb ON nb.k = d.carrier AND (f.departed < '2013-01-02' OR f.departed IS NULL)",
     "SELECT SUM(COALESCE(ev,1)), SUM(distance) FROM dim d LEFT JOIN flights f ON d.carrier = f.carrier JOIN nb ON nb.k = d.carrier AND (f.departed < '2013-01-02' OR f.departed IS NULL)", BASE),
    ("SELECT COUNT(*) AS c, SUM(f.distance) AS s FROM flights f LEFT JOIN dim d ON d.carrier = f.carrier RIGHT JOIN nb ON nb.k = f.carrier AND {V:f} FULL JOIN cal ON cal.hol = nb.v AND f.departed >= '2013-01-02'",
     "SELECT SUM(COALESCE(ev,1)), SUM(distance) FROM flights f LEFT JOIN dim d ON d.carrier = f.carrier RIGHT JOIN nb ON nb.k = f.carrier AND {V} FULL JOIN cal ON cal.hol = nb.v AND f.departed >= '2013-01-02'", BASE),
    ("SELECT COUNT(*) AS c, SUM(f.distance) AS s FROM flights f, dim d LEFT JOIN nb ON nb.k = d.carrier WHERE f.carrier = d.carrier AND {V:f}",
     "SELECT SUM(n), SUM(distance) FROM flights f, dim d LEFT JOIN nb ON nb.k = d.carrier WHERE f.carrier = d.carrier AND {V}", COARSE),
    ("SELECT COUNT(*) AS c, SUM(f.distance) AS s FROM flights f CROSS JOIN nb WHERE {V:f} AND nb.v > 4",
     "SELECT SUM(ev), SUM(distance) FROM flights f CROSS JOIN nb WHERE {V} AND nb.v > 4", COARSE),
    ("SELECT d.name, AVG(f.distance) AS a, MAX(f.hi) AS m, COUNT(f.dest) AS c FROM dim d LEFT JOIN (SELECT carrier, dest, distance, hi, departed FROM flights) f ON d.carrier = f.carrier AND {V:f} GROUP BY d.name",
     "SELECT d.name, SUM(distance)*1.0/NULLIF(SUM(cnt),0), MAX(hi), COALESCE(SUM(CASE WHEN dest IS NOT NULL THEN ev END),0) FROM dim d LEFT JOIN flights f ON d.carrier = f.carrier AND {V} GROUP BY d.name", COARSE),
    ("SELECT COUNT(*) AS c FROM dim d LEFT JOIN (SELECT carrier FROM flights WHERE departed >= '2013-02-01' AND departed < '2013-02-02') f ON d.carrier = f.carrier",
     "SELECT SUM(COALESCE(ev,1)) FROM dim d LEFT JOIN (SELECT * FROM flights WHERE departed >= '2013-02-01' AND departed < '2013-02-02') f ON d.carrier = f.carrier", COARSE),
    ("SELECT COUNT(*) AS c FROM dim d LEFT JOIN flights f ON d.carrier = f.carrier AND 1 = 0",
     "SELECT COUNT(*) FROM dim", BASE),
    ("SELECT COUNT(*) AS c FROM dim d FULL JOIN flights f ON d.carrier = f.carrier AND 1 = 0",
     "SELECT SUM(COALESCE(ev,1)) FROM dim d FULL JOIN flights f ON d.carrier = f.carrier AND 1 = 0", COARSE),
    ("SELECT SUM(f.distance) AS s, MAX(e.top) AS m FROM flights f JOIN events e ON f.carrier = e.carrier WHERE {W:f} AND e.happened >= '2013-01-01' AND e.happened < '2013-02-02'", SAME, COARSE),
    ("SELECT SUM(f.distance) AS s, SUM(e.amount) AS m FROM flights f JOIN events e ON f.carrier = e.carrier WHERE f.departed >= '2013-01-01' AND f.departed < '2013-01-03' AND e.happened >= '2013-01-01' AND e.happened < '2013-01-03'", SAME, BASE),
    ("SELECT MAX(f.hi) AS s, MAX(e.top) AS m, COUNT(DISTINCT e.kind) AS k FROM flights f LEFT JOIN events e ON f.carrier = e.carrier AND e.happened >= '2013-01-01' AND e.happened < '2013-02-02' WHERE {W:f}", SAME, COARSE),
    ("SELECT COUNT(*) AS c FROM events a JOIN events b ON a.carrier = b.carrier",
     "SELECT COUNT(*) FROM events a JOIN events b ON a.carrier = b.carrier", BASE),
    ("SELECT AVG(a.distance) AS x, AVG(b.distance) AS y FROM (SELECT carrier, distance FROM flights WHERE departed < '2013-01-10') a JOIN (SELECT carrier, distance FROM flights WHERE departed < '2013-01-20') b ON a.carrier = b.carrier",
     "SELECT SUM(a.distance)*1.0/SUM(a.cnt), SUM(b.distance)*1.0/SUM(b.cnt) FROM (SELECT * FROM flights WHERE departed < '2013-01-10') a JOIN (SELECT * FROM flights WHERE departed < '2013-01-20') b ON a.carrier = b.carrier", BASE),
    # Time in many clauses; IN, EXISTS and scalar subqueries; CTEs and set operations.
    ("SELECT COUNT(*) AS c FROM (SELECT departed >= '2013-02-01' AS late, carrier FROM flights WHERE {W}) x WHERE late",
     "SELECT SUM(n) FROM flights WHERE {W} AND departed >= '2013-02-01'", COARSE),
    ("SELECT late, COUNT(*) AS c FROM (SELECT departed >= '2013-01-31 23:00' AS late, carrier FROM flights WHERE {W}) x GROUP BY late",
     "SELECT departed >= '2013-01-31 23:00', SUM(n) FROM flights WHERE {W} GROUP BY 1", BASE),
    ("SELECT SUM(CASE WHEN NOT late THEN distance END) AS s, SUM(CASE WHEN late IS NULL THEN distance ELSE 0 END) AS t FROM (SELECT departed >= '2013-02-01' AS late, distance FROM flights) x", SAME, COARSE),
    ("SELECT COUNT(*) AS c, MAX(departed) AS m, MIN(departed) AS l FROM flights WHERE {W}",
     "SELECT SUM(n), MAX(departed), MIN(departed) FROM flights WHERE {W}", BASE),
    ("SELECT SUM(CASE WHEN time_range_in(departed, '2013-01-02', '2013-01-05') THEN distance END) AS s, COUNT(*) AS c FROM flights WHERE {W}",
     "SELECT SUM(CASE WHEN (departed >= '2013-01-02' AND departed < '2013-01-05') THEN distance END) AS s, COALESCE(SUM(n), 0) AS c FROM flights WHERE {W}", COARSE),
    ("SELECT COUNT(*) AS c FROM (SELECT time_range_in(departed, '2013-01-02', '2013-01-05') AS q, carrier FROM flights) x WHERE q",
     "SELECT SUM(n) FROM flights WHERE departed >= '2013-01-02' AND departed < '2013-01-05'", COARSE),
    ("SELECT COUNT(*) AS c FROM (SELECT time_range_in(departed, '2013-01-02', '2013-01-05') AS q, carrier FROM flights WHERE {W}) x WHERE NOT q",
     "SELECT SUM(n) FROM flights WHERE NOT(departed >= '2013-01-02' AND departed < '2013-01-05') AND {W}", COARSE),
    ("SELECT d.name, COUNT(x.carrier) AS c FROM dim d LEFT JOIN (SELECT departed AS t, carrier FROM flights) x ON x.carrier = d.carrier AND time_range_in(x.t, '2013-01-02', '2013-02-03T10') GROUP BY d.name",
     "SELECT d.name, COALESCE(SUM(CASE WHEN x.carrier IS NOT NULL THEN x.ev END),0) FROM dim d LEFT JOIN flights x ON x.carrier = d.carrier AND x.departed >= '2013-01-02' AND x.departed < '2013-02-03 10:00' GROUP BY d.name", COARSE),
    ("SELECT d.name FROM dim d WHERE EXISTS (SELECT 1 FROM flights f WHERE f.carrier = d.carrier AND time_range_in(f.departed, '2013-02-01', '2013-02-04'))",
     "SELECT d.name FROM dim AS d WHERE EXISTS(SELECT 1 FROM flights AS f WHERE f.carrier = d.carrier AND (f.departed >= '2013-02-01' AND f.departed < '2013-02-04'))", COARSE),
    ("SELECT d.name FROM dim d WHERE d.carrier NOT IN (SELECT carrier FROM flights WHERE departed >= '2013-02-01' AND departed < '2013-02-04')", SAME, COARSE),
    ("SELECT d.name FROM dim d WHERE EXISTS (SELECT 1 FROM flights f WHERE f.carrier = d.carrier AND {W:f} GROUP BY f.dest HAVING COUNT(*) > 6)",
     "SELECT d.name FROM dim d WHERE EXISTS (SELECT 1 FROM flights f WHERE f.carrier = d.carrier AND {W:f} GROUP BY f.dest HAVING SUM(n) > 6)", COARSE),
    ("SELECT d.name FROM dim d WHERE EXISTS (SELECT 1 FROM flights f WHERE f.carrier = d.carrier AND {W:f} LIMIT 1 OFFSET 12)", SAME, BASE),
    ("SELECT d.name FROM dim d WHERE EXISTS (SELECT 1 FROM flights f WHERE f.carrier = d.carrier AND f.distance > 300 AND {W:f})", SAME, BASE),
    ("SELECT d.name FROM dim d WHERE EXISTS (SELECT 1 FROM (SELECT * FROM flights WHERE {W}) f WHERE f.carrier = d.carrier AND f.hi = 9)", SAME, BASE),
    ("SELECT d.name, (SELECT COUNT(*) FROM flights f WHERE f.carrier = d.carrier AND {W:f}) AS c, (SELECT AVG(distance) FROM flights f WHERE f.carrier = d.carrier AND {W:f}) AS a FROM dim d",
     "SELECT d.name, (SELECT COALESCE(SUM(n),0) FROM flights f WHERE f.carrier = d.carrier AND {W:f}) AS c, (SELECT SUM(distance)*1.0/SUM(cnt) FROM flights f WHERE f.carrier = d.carrier AND {W:f}) AS a FROM dim d", COARSE),
    ("SELECT carrier, COUNT(*) AS c FROM flights f WHERE {W} AND EXISTS (SELECT 1 FROM cal WHERE cal.hol * 200 = f.distance) GROUP BY carrier",
     "SELECT carrier, COALESCE(SUM(n), 0) AS c FROM flights AS f WHERE {W} AND EXISTS(SELECT 1 FROM cal WHERE cal.hol * 200 = f.distance) GROUP BY carrier", BASE),
    ("SELECT COUNT(DISTINCT carrier) AS c, COUNT(DISTINCT distance) AS d FROM flights WHERE {W}", SAME, BASE),
    ("SELECT carrier, SUM(distance) AS s FROM flights WHERE {W} GROUP BY carrier UNION ALL SELECT kind, SUM(amount) FROM events WHERE happened >= '2013-01-01' AND happened < '2013-02-01' GROUP BY kind UNION SELECT 'all', COUNT(*) FROM flights WHERE {V}",
     "SELECT carrier, SUM(distance) AS s FROM flights WHERE {W} GROUP BY carrier UNION ALL SELECT kind, SUM(amount) FROM events WHERE happened >= '2013-01-01' AND happened < '2013-02-01' GROUP BY kind UNION SELECT 'all', SUM(n) FROM flights WHERE {V}", COARSE),
    ("SELECT COUNT(*) AS c FROM (SELECT DISTINCT carrier FROM flights WHERE {W}) x",
     "SELECT COUNT(*) FROM (SELECT DISTINCT carrier FROM flights WHERE {W}) x", COARSE),
    ("WITH flights AS (SELECT carrier, distance, departed FROM flights WHERE {W}) SELECT carrier, COUNT(*) AS c FROM flights GROUP BY carrier",
     "SELECT carrier, SUM(n) FROM flights WHERE {W} GROUP BY carrier", COARSE),
    ("WITH flights AS (SELECT k AS carrier, v AS distance FROM nb) SELECT COUNT(*) AS c, SUM(distance) AS s FROM flights",
     "SELECT COUNT(*), SUM(v) FROM nb", BASE),
    ("WITH x AS (SELECT * FROM flights WHERE {W}) SELECT (SELECT COUNT(*) FROM x) AS a, (SELECT COUNT(*) FROM x WHERE carrier = 'UA') AS b",
     "SELECT (SELECT SUM(n) FROM flights WHERE {W}), (SELECT SUM(n) FROM flights WHERE {W} AND carrier='UA')", COARSE),
    ("SELECT COUNT(*) AS c FROM (WITH q AS (SELECT carrier FROM flights WHERE {W}) SELECT * FROM q) z",
     "SELECT SUM(n) FROM flights WHERE {W}", COARSE),
    ("SELECT COUNT(*) AS c FROM (SELECT default.flights.carrier, `flights`.`Departed` AS `T x` FROM default.flights) `Q` WHERE `q`.`t X` >= '2013-02-01' AND Q.CARRIER = 'UA'",
     "SELECT SUM(n) FROM flights WHERE departed >= '2013-02-01' AND carrier='UA'", COARSE),
    ("SELECT flights.carrier, COUNT(*) AS c FROM (SELECT flights.carrier, flights.departed FROM flights) flights WHERE flights.departed >= '2013-02-01' GROUP BY flights.carrier",
     "SELECT carrier, SUM(n) FROM flights WHERE departed >= '2013-02-01' GROUP BY carrier", COARSE),
    ("SELECT SUM(d) AS s, COUNT(d) AS c FROM (SELECT CASE WHEN carrier = 'UA' THEN distance * 2 END AS d FROM flights WHERE {W}) x",
     "SELECT SUM(CASE WHEN carrier='UA' THEN distance*2 END), COUNT(CASE WHEN carrier='UA' THEN distance*2 END) FROM flights WHERE {W}", BASE),
    ("SELECT SUM(ndist + 1) AS a, SUM(ndist - 2 * ndist) AS b, SUM(distance + ndist) AS c FROM flights WHERE {W}", SAME, BASE),
    # Correlation, shadowing, and subqueries that must not be inlined.
    ("WITH t AS (SELECT COUNT(*) FROM flights WHERE {W}) SELECT `count(1)` + 1 AS p FROM t",
     "SELECT SUM(n) + 1 FROM flights WHERE {W}", COARSE),
    ("SELECT d.name FROM dim d WHERE d.carrier IN (SELECT carrier FROM flights WHERE {W} GROUP BY carrier HAVING SUM(distance) > 2400)", SAME, COARSE),
    ("SELECT d.name FROM dim d WHERE d.carrier IN (SELECT carrier FROM flights WHERE {W} AND carrier IS NOT NULL ORDER BY departed, carrier LIMIT 1)", SAME, BASE),
    ("SELECT COUNT(*) AS c FROM flights f WHERE {W} AND EXISTS (SELECT 1 FROM (SELECT k, v FROM nb) z WHERE k = carrier)",
     "SELECT SUM(n) FROM flights f WHERE {W} AND EXISTS (SELECT 1 FROM nb z WHERE k = carrier)", COARSE),
    ("SELECT COUNT(*) AS c FROM flights f WHERE {W} AND EXISTS (SELECT 1 FROM dim d WHERE d.carrier = f.carrier AND EXISTS (SELECT 1 FROM nb WHERE nb.k = f.carrier AND nb.v < f.hi))",
     "SELECT SUM(n) FROM flights f WHERE {W} AND EXISTS (SELECT 1 FROM dim d WHERE d.carrier = f.carrier AND EXISTS (SELECT 1 FROM nb WHERE nb.k = f.carrier AND nb.v < f.hi))", BASE),
    ("SELECT COUNT(*) AS c FROM (SELECT carrier AS k2, hi + 1 AS h2 FROM flights WHERE {W}) x WHERE EXISTS (SELECT 1 FROM nb WHERE nb.k = x.k2 AND nb.v < x.h2)",
     "SELECT SUM(n) FROM flights x WHERE {W} AND EXISTS (SELECT 1 FROM nb WHERE nb.k = x.carrier AND nb.v < x.hi+1)", BASE),
    ("SELECT COUNT(*) AS c FROM (SELECT carrier AS k2, date_format(departed, 'yyyy-MM-dd') AS day FROM flights WHERE {W}) x WHERE EXISTS (SELECT 1 FROM cal WHERE cal.day = x.day)",
     "SELECT SUM(n) FROM flights x WHERE {W} AND EXISTS (SELECT 1 FROM cal WHERE cal.day = strftime(x.departed, '%Y-%m-%d'))", BASE),
    ("SELECT carrier, SUM(distance) AS s FROM flights WHERE {W} GROUP BY carrier HAVING SUM(distance) > (SELECT MAX(v) * 300 FROM nb WHERE k = carrier)", SAME, COARSE),
    ("SELECT d.name, COUNT(*) AS c FROM dim d LEFT JOIN (SELECT departed, carrier AS k FROM flights) x ON d.carrier = x.k WHERE NOT (x.departed <=> TIMESTAMP '2013-01-01 05:00:00') GROUP BY d.name",
     "SELECT d.name, COALESCE(SUM(COALESCE(ev,1)),0) FROM dim d LEFT JOIN flights x ON d.carrier = x.carrier WHERE x.departed IS DISTINCT FROM TIMESTAMP '2013-01-01 05:00:00' GROUP BY d.name", BASE),
    ("SELECT COUNT(*) AS c FROM (SELECT carrier AS departed, departed AS carrier FROM flights) x WHERE carrier >= '2013-02-01' AND departed = 'UA'",
     "SELECT SUM(n) FROM flights WHERE departed >= '2013-02-01' AND carrier='UA'", COARSE),
    ("WITH x AS (SELECT * FROM flights WHERE {W}) SELECT COUNT(*) AS c FROM (WITH x AS (SELECT k FROM nb) SELECT * FROM x) y",
     "SELECT COUNT(*) FROM nb", BASE),
    ("WITH flights AS (SELECT carrier FROM flights WHERE {W}), g AS (SELECT * FROM flights) SELECT COUNT(*) AS c FROM g",
     "SELECT SUM(n) FROM flights WHERE {W}", COARSE),
    ("SELECT COUNT(*) AS c FROM ((SELECT carrier FROM flights WHERE {W})) x",
     "SELECT SUM(n) FROM flights WHERE {W}", COARSE),
    ("SELECT COUNT(x.k) AS c FROM dim d LEFT JOIN (SELECT carrier, 'a' AS k FROM flights WHERE {W}) x ON x.carrier = d.carrier",
     "SELECT SUM(ev) FROM dim d LEFT JOIN (SELECT * FROM flights WHERE {W}) x ON x.carrier = d.carrier", COARSE),
    ("SELECT x.carrier, (SELECT COUNT(*) FROM flights g WHERE g.carrier = x.carrier AND {W:g}) AS c FROM (SELECT DISTINCT carrier FROM flights WHERE {W}) x",
     "SELECT x.carrier, (SELECT COALESCE(SUM(n),0) FROM flights g WHERE g.carrier = x.carrier AND {W:g}) AS c FROM (SELECT DISTINCT carrier FROM flights WHERE {W}) x", COARSE),
    ("SELECT f.carrier, COUNT(*) AS c FROM flights f WHERE {W:f} AND EXISTS (SELECT 1 FROM flights f WHERE f.dest IS NULL AND f.departed >= '2013-02-01' AND f.carrier = 'DL') GROUP BY f.carrier",
     "SELECT f.carrier, SUM(n) FROM flights f WHERE {W:f} AND EXISTS (SELECT 1 FROM flights f WHERE f.dest IS NULL AND f.departed >= '2013-02-01' AND f.carrier = 'DL') GROUP BY f.carrier", COARSE),
    ("SELECT f.carrier, SUM(f.distance) AS s FROM flights f WHERE {W:f} AND EXISTS (SELECT 1 FROM events e WHERE e.carrier = f.carrier AND e.happened < f.departed) GROUP BY f.carrier", SAME, BASE),
    ("SELECT f.carrier, SUM(f.distance) AS s FROM flights f WHERE {W:f} AND EXISTS (SELECT 1 FROM events e WHERE e.carrier = f.carrier AND date_trunc('day', e.happened) = date_trunc('day', f.departed)) GROUP BY f.carrier", SAME, COARSE),
    # Odd select lists, and values that inner queries compute.  # ?c60
    ("SELECT COUNT(*) AS c FROM (SELECT NULL FROM flights WHERE {W}) x",
     "SELECT SUM(n) FROM flights WHERE {W}", COARSE),
    ("SELECT x.mv, COUNT(*) AS c FROM (SELECT f.carrier, (SELECT MAX(v) FROM nb WHERE nb.k = f.carrier) AS mv, f.departed FROM flights f) x WHERE {W} GROUP BY x.mv",
     "SELECT (SELECT MAX(v) FROM nb WHERE nb.k = f.carrier) AS mv, SUM(n) FROM flights f WHERE {W} GROUP BY 1", COARSE),
    ("SELECT x.hol, SUM(x.distance) AS s FROM (SELECT distance, (SELECT MAX(hol) FROM cal WHERE cal.day = date_format(f.departed, 'yyyy-MM-dd')) AS hol FROM flights f WHERE {W}) x GROUP BY x.hol",
     "SELECT x.hol, SUM(x.distance) AS s FROM (SELECT distance, (SELECT MAX(hol) FROM cal WHERE cal.day = STRFTIME(CAST(f.departed AS TIMESTAMP), '%Y-%m-%d')) AS hol FROM flights AS f WHERE {W}) AS x GROUP BY x.hol", COARSE),
    ("WITH flights AS (SELECT k FROM nb) SELECT COUNT(*) AS c FROM default.flights WHERE {W}",
     "SELECT SUM(n) FROM flights WHERE {W}", COARSE),
    ("SELECT flights.name, COUNT(*) AS c FROM dim flights JOIN flights dim ON flights.carrier = dim.carrier WHERE dim.departed >= '2013-02-01' GROUP BY flights.name",
     "SELECT flights.name, COALESCE(SUM(n),0) AS c FROM dim flights JOIN main.flights dim ON flights.carrier = dim.carrier WHERE dim.departed >= '2013-02-01' GROUP BY flights.name", COARSE),
    ("SELECT SUM(CASE WHEN EXISTS (SELECT 1 FROM nb WHERE nb.k = f.carrier) THEN distance END) AS s FROM flights f WHERE {W}", SAME, COARSE),
    ("SELECT COUNT(*) AS c FROM flights WHERE {W} AND (SELECT COUNT(*) FROM events) > 3",
     "SELECT SUM(n) FROM flights WHERE {W}", COARSE),
    ("SELECT MAX(x.distance) AS day, COUNT(*) AS c FROM (SELECT date_trunc('day', departed) AS day, hi AS distance FROM flights WHERE {W}) x GROUP BY day ORDER BY day, c",
     "SELECT MAX(hi), COALESCE(SUM(n),0) FROM flights WHERE {W} GROUP BY date_trunc('day', departed)", COARSE),
    ("SELECT d.name, COUNT(x.c) AS c, SUM(x.z) AS z FROM dim d LEFT JOIN (SELECT carrier, COALESCE(dest, 'none') AS c, COALESCE(distance, 0) AS z FROM flights WHERE {W}) x ON x.carrier = d.carrier GROUP BY d.name",
     "SELECT d.name, COALESCE(SUM(ev),0), SUM(z) FROM dim d LEFT JOIN (SELECT *, COALESCE(distance, 0) AS z FROM flights WHERE {W}) x ON x.carrier = d.carrier GROUP BY d.name", BASE),
    ("SELECT d.name, x.flag, COUNT(*) AS c FROM dim d LEFT JOIN (SELECT carrier, departed IS NULL AS flag, departed FROM flights WHERE {W}) x ON x.carrier = d.carrier GROUP BY d.name, x.flag",
     "SELECT d.name, x.flag, COALESCE(SUM(COALESCE(ev,1)),0) FROM dim d LEFT JOIN (SELECT *, FALSE AS flag FROM flights WHERE {W}) x ON x.carrier = d.carrier GROUP BY d.name, x.flag", COARSE),
    ("SELECT MAX(a.hi) AS s, MAX(y.top) AS t FROM flights a LEFT JOIN (SELECT carrier, top, happened >= '2013-01-15' AS late FROM events) y ON a.carrier = y.carrier WHERE {W:a} AND (y.late IS NULL OR NOT y.late)", SAME, COARSE),
    ("SELECT MAX(a.hi) AS s, MAX(y.top) AS t FROM flights a FULL JOIN (SELECT carrier, top, happened FROM events WHERE happened < '2013-01-20') y ON a.carrier = y.carrier AND {W:a}", SAME, COARSE),
    ("SELECT MAX(a.hi) AS s, MAX(y.top) AS t FROM flights a RIGHT JOIN (SELECT carrier, top, happened FROM events) y ON a.carrier = y.carrier AND {W:a} AND y.happened < '2013-01-03' LEFT JOIN dim d ON d.carrier = y.carrier AND y.happened >= '2013-02-01' WHERE d.carrier IS NULL OR y.happened < '2013-02-04'", SAME, COARSE),
    # ?c71  # ?c76
    ("SELECT COUNT(*) AS c FROM (SELECT 1 AS n, * FROM flights WHERE {W}) x",
     "SELECT SUM(n) FROM flights WHERE {W}", COARSE),
    ("SELECT COUNT(*) AS c FROM (SELECT NULL FROM flights WHERE {W}) x",
     "SELECT SUM(n) FROM flights WHERE {W}", COARSE),
    # CTEs that are named more than once, and constants beside absent rows.
    ("WITH x AS (SELECT carrier, distance, departed FROM flights) SELECT (SELECT COUNT(*) FROM x WHERE {W}) AS a, (SELECT SUM(distance) FROM x WHERE {V}) AS b",
     "SELECT (SELECT SUM(n) FROM flights WHERE {W}), (SELECT SUM(distance) FROM flights WHERE {V})", COARSE),
    ("WITH x AS (SELECT carrier AS k, departed AS t FROM flights), y AS (SELECT k FROM x WHERE t >= '2013-02-01') SELECT COUNT(*) AS c, (SELECT COUNT(*) FROM y) AS d FROM x WHERE t < '2013-01-10'",
     "SELECT SUM(n), (SELECT SUM(n) FROM flights WHERE departed >= '2013-02-01') FROM flights WHERE departed < '2013-01-10'", COARSE),
    ("WITH x (k, t) AS (SELECT carrier, departed FROM flights) SELECT a.k, MAX(b.t) AS m FROM x a JOIN x b ON a.k = b.k WHERE a.t < '2013-01-03' AND b.t >= '2013-02-01' GROUP BY a.k",
     "SELECT a.carrier, MAX(b.departed) FROM flights a JOIN flights b ON a.carrier = b.carrier WHERE a.departed < '2013-01-03' AND b.departed >= '2013-02-01' GROUP BY a.carrier", COARSE),
    ("WITH flights AS (SELECT * FROM flights WHERE {W}), g AS (SELECT carrier FROM flights) SELECT (SELECT COUNT(*) FROM flights) AS a, (SELECT COUNT(*) FROM g) AS b, (SELECT COUNT(*) FROM default.flights) AS c",
     "SELECT (SELECT SUM(n) FROM flights WHERE {W}), (SELECT SUM(n) FROM flights WHERE {W}), (SELECT SUM(n) FROM flights)", COARSE),
    ("WITH x AS (SELECT * FROM flights WHERE {W}), dim AS (SELECT k AS carrier FROM nb) SELECT dim.carrier, (SELECT COUNT(*) FROM x WHERE x.carrier = dim.carrier) AS a, (SELECT SUM(distance) FROM x WHERE x.carrier = dim.carrier) AS b FROM dim",
     "SELECT k, (SELECT COALESCE(SUM(n),0) FROM flights x WHERE {W} AND x.carrier = k), (SELECT SUM(distance) FROM flights x WHERE {W} AND x.carrier = k) FROM nb", COARSE),
    ("WITH x AS (SELECT carrier, 'late' AS tag FROM flights WHERE departed >= '2013-02-01') SELECT d.name, COUNT(a.tag) AS n1, COUNT(*) AS c FROM dim d LEFT JOIN x a ON a.carrier = d.carrier AND a.tag = 'late' GROUP BY d.name",
     "SELECT d.name, COALESCE(SUM(a.ev),0), SUM(COALESCE(a.ev,1)) FROM dim d LEFT JOIN (SELECT * FROM flights WHERE departed >= '2013-02-01') a ON a.carrier = d.carrier GROUP BY d.name", COARSE),
    ("SELECT d.name, COUNT(*) AS c FROM dim d LEFT JOIN (SELECT carrier, 'late' AS tag FROM flights WHERE departed >= '2013-02-01') a ON a.carrier = d.carrier AND a.tag = 'early' GROUP BY d.name",
     "SELECT name, COUNT(*) FROM dim GROUP BY name", COARSE),
    ("SELECT COUNT(*) AS c, SUM(f.distance) AS s FROM flights f RIGHT JOIN (SELECT k, 1 AS one FROM nb) y ON f.carrier = y.k AND y.one = 1 AND {W:f}",
     "SELECT SUM(COALESCE(ev,1)), SUM(distance) FROM flights f RIGHT JOIN nb y ON f.carrier = y.k AND {W:f}", COARSE),
    ("SELECT SUM(a.distance) AS s FROM flights a LEFT JOIN (SELECT carrier, TIMESTAMP '2013-01-05 00:00:00' AS lim FROM events WHERE kind = 'x') y ON a.carrier = y.carrier WHERE {W:a} AND NOT (a.departed < y.lim)", SAME, BASE),
    ("SELECT SUM(a.distance) AS s FROM flights a LEFT JOIN (SELECT carrier, TIMESTAMP '2013-01-05 00:00:00' AS lim FROM events WHERE kind = 'x') y ON a.carrier = y.carrier WHERE {W:a} AND (a.departed < y.lim) IS NOT TRUE", SAME, BASE),
    ("SELECT SUM(a.distance) AS s FROM flights a LEFT JOIN (SELECT carrier, TIMESTAMP '2013-01-05 00:00:00' AS lim FROM events WHERE kind = 'x') y ON a.carrier = y.carrier WHERE {W:a} AND NOT (a.departed <=> y.lim)",
     "SELECT SUM(a.distance) AS s FROM flights a LEFT JOIN (SELECT carrier, TIMESTAMP '2013-01-05 00:00:00' AS lim FROM events WHERE kind = 'x') y ON a.carrier = y.carrier WHERE {W:a} AND a.departed IS DISTINCT FROM y.lim", BASE),
    ("SELECT x.yr, COUNT(*) AS c FROM (SELECT year(departed) AS yr, departed AS d2 FROM flights) x WHERE x.yr = 2013 AND x.d2 < '2013-02-02' GROUP BY x.yr",
     "SELECT 2013, SUM(n) FROM flights WHERE departed < '2013-02-02'", COARSE),
    ("SELECT SUM(distance) AS s FROM (SELECT departed + INTERVAL 1 DAY AS d, distance FROM flights) x WHERE d >= '2013-01-03' AND d < '2013-02-01'", SAME, COARSE),
    ("SELECT cal.note, COUNT(*) AS c, SUM(x.distance) AS s FROM cal LEFT JOIN (SELECT date_format(departed, 'yyyy-MM-dd') AS day, distance FROM flights) x ON cal.day = x.day GROUP BY cal.note",
     "SELECT cal.note, SUM(COALESCE(ev,1)), SUM(x.distance) FROM cal LEFT JOIN flights x ON cal.day = strftime(x.departed, '%Y-%m-%d') GROUP BY cal.note", COARSE),
    ("SELECT cal.note, COUNT(*) AS c FROM cal FULL JOIN (SELECT date_format(departed, 'yyyy-MM-dd') AS day, carrier FROM flights) x ON cal.day = x.day WHERE x.day IS NULL OR x.day >= '2013-02-01' GROUP BY cal.note",
     "SELECT cal.note, SUM(COALESCE(ev,1)) FROM cal FULL JOIN (SELECT *, strftime(departed, '%Y-%m-%d') AS day FROM flights) x ON cal.day = x.day WHERE x.day IS NULL OR x.day >= '2013-02-01' GROUP BY cal.note", COARSE),
    # Constants of a relation that may be absent are NULL there, whatever its subquery defines.
    ("SELECT SUM(a.distance) AS s FROM flights a LEFT JOIN (SELECT carrier, TRUE AS seen, 1 AS one FROM events WHERE happened < '2013-02-01') y ON a.carrier = y.carrier WHERE {W:a} AND y.seen IS NULL", SAME, COARSE),
    ("SELECT SUM(a.distance) AS s FROM flights a LEFT JOIN (SELECT carrier, TRUE AS seen, 1 AS one FROM events WHERE happened < '2013-02-01') y ON a.carrier = y.carrier WHERE {W:a} AND y.seen IS NOT TRUE", SAME, COARSE),
    ("SELECT SUM(a.distance) AS s FROM flights a LEFT JOIN (SELECT carrier, TRUE AS seen, 1 AS one FROM events WHERE happened < '2013-02-01') y ON a.carrier = y.carrier WHERE {W:a} AND NOT (y.seen IS NOT NULL)", SAME, COARSE),
    ("SELECT SUM(a.distance) AS s FROM flights a LEFT JOIN (SELECT carrier, TRUE AS seen, 1 AS one FROM events WHERE happened < '2013-02-01') y ON a.carrier = y.carrier WHERE {W:a} AND (y.one = 1) IS NULL", SAME, COARSE),
    ("SELECT SUM(a.distance) AS s FROM flights a LEFT JOIN (SELECT carrier, TRUE AS seen, 1 AS one FROM events WHERE happened < '2013-02-01') y ON a.carrier = y.carrier WHERE {W:a} AND (y.seen IS NULL OR a.departed < '2013-01-10')", SAME, BASE),
    ("SELECT COUNT(*) AS c FROM (SELECT (SELECT MAX(v) FROM nb) FROM flights WHERE {W}) x",
     "SELECT SUM(n) FROM flights WHERE {W}", COARSE),
]
# fmt: on


@pytest.mark.parametrize(("sql", "meaning", "coarse"), QUERIES)
def test_a_scope_answers_what_plain_sql_over_the_base_rows_does(
    session: Session, plain: engine.DuckDBPyConnection, sql: str, meaning: str, coarse: bool
) -> None:
    expected = comparable(plain.execute(spelled(meaning or sql)).fetchall())
    assert asked(session, sql, "") == (expected, coarse)
    assert asked(session, sql, "HOURLY") == (expected, False)


@pytest.mark.parametrize(
    "join", ["JOIN flights USING (departed)", "LEFT JOIN flights USING (departed)", "NATURAL JOIN flights"]
)
def test_a_range_of_a_joined_text_is_no_range_of_the_cube(session: Session, join: str) -> None:
    session.execute("SET rewriter.periods = ''")
    cover = session.execute(f"EXPLAIN COVER SELECT SUM(distance) FROM tt {join} WHERE departed >= '2013-01-10'").fetch()
    assert str(cover[0][0]).startswith("flights: [2013-01-01,")


#: Refused queries, with words of the message: COUNT over rows that may not be events, and absent columns.
REFUSED = [
    ("SELECT COUNT(*) FROM flights f JOIN events e ON f.carrier = e.carrier", "two cubes"),
    (
        "SELECT COUNT(*) FROM (SELECT carrier FROM flights LIMIT 3) x JOIN flights f ON f.carrier = x.carrier AND 1 = 0 JOIN events",
        "two cubes",
    ),
    ("SELECT COUNT(*) FROM (SELECT carrier, rand() AS r FROM flights WHERE {W}) x", "count rows, not events"),
    ("SELECT COUNT(carrier, dest) FROM flights WHERE {W}", "count rows, not events"),
    ("SELECT x.*, COUNT(*) OVER () AS c FROM (SELECT carrier FROM flights WHERE {W}) x", "with \\* are not supported"),
    (
        "SELECT * FROM (SELECT carrier, dest FROM flights WHERE {W}) x GROUP BY ALL HAVING COUNT(*) > 2",
        "with \\* are not supported",
    ),
    (
        "SELECT *, COUNT(*) OVER () AS c FROM dim d LEFT JOIN flights f ON d.carrier = f.carrier AND {W:f}",
        "with \\* are not supported",
    ),
    ("SELECT COUNT(*) FROM flights TABLESAMPLE (50 PERCENT)", "TABLESAMPLE"),
    ("SELECT flights.dest FROM (SELECT carrier FROM flights) flights", "no column dest"),
    (
        "SELECT carrier, COUNT(*) AS c FROM (SELECT carrier, dest AS carrier FROM flights WHERE {W}) x GROUP BY carrier",
        "The name `carrier` is ambiguous",
    ),
]


@pytest.mark.parametrize(("sql", "words"), REFUSED)
def test_what_could_mean_two_things_is_refused(session: Session, sql: str, words: str) -> None:
    session.execute("SET rewriter.periods = ''")
    with pytest.raises(Error, match=words):
        session.execute(spelled(sql)).fetch()
