"""Small worlds in which a cube's base rows stand for several events each, and a plain table has the events themselves.

A query over the cube ``c`` must return what it returns over the table ``e``, which has the columns of the cube.
"""

from __future__ import annotations

import random

from rewriter.session import Session

COLUMNS = "k STRING, d INT, n BIGINT, m DECIMAL(10,2), v BIGINT, x BIGINT, w BIGINT, hi INT"
_CUBE = (
    "CREATE CUBE c (k STRING, d INT, n BIGINT MEASURE COUNT EVENTS NOT NULL, m DECIMAL(10,2) MEASURE SUM COUNTED BY v, "
    "v BIGINT MEASURE COUNT NOT NULL, x BIGINT MEASURE SUM COUNTED BY w, w BIGINT MEASURE COUNT NOT NULL, "
    "hi INT MEASURE MAX, t TIMESTAMP TIME)"
)
_HOURS = ("2013-01-30-22", "2013-01-31-00", "2013-01-31-23", "2013-02-01-00", "2013-02-01-13")
#: A row of the cube: its dimensions and its hour, and the values of its events.
Row = tuple[str | None, int | None, str, list[tuple[str | None, int | None, int | None]]]


def random_rows(rng: random.Random) -> list[Row]:
    """Returns rows of a cube; several may have the same dimensions and hour."""

    def event() -> tuple[str | None, int | None, int | None]:
        m = None if rng.random() < 0.3 else f"{rng.randrange(-300, 900)}.{rng.randrange(100):02}"
        x = None if rng.random() < 0.3 else rng.randrange(-50, 50)
        return m, x, None if rng.random() < 0.3 else rng.randrange(100)

    return [
        (
            rng.choice(("UA", "AA", "", None)),
            rng.choice((1, 2, None)),
            rng.choice(_HOURS),
            [event() for _ in range(rng.choice((1, 2, 3, 7)))],
        )
        for _ in range(rng.randrange(6, 14))
    ]


def make(session: Session, rows: list[Row]) -> None:
    """Creates the cube ``c`` with rollups, the table ``e`` of its events, and the plain tables ``p`` and ``names``."""
    session.execute(_CUBE)
    for table in ("hours", "days"):
        session.execute(f"CREATE TABLE {table} ({COLUMNS}) PARTITIONED BY (dt STRING)")
    session.execute(
        "CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt), "
        "TABLE days PERIOD DAILY PARTITIONED BY t AS (dt))"
    )
    values = ", ".join(f"({_summed(row)}, {_text(row[2])})" for row in rows)
    session.execute(f"INSERT INTO hours MARK COMPLETE FROM '2013-01-30' TO '2013-02-02' VALUES {values}")
    session.execute("REFRESH FACT f")
    for table in ("e", "p"):
        session.execute(f"CREATE TABLE {table} ({COLUMNS}, t TIMESTAMP)")
    single = [(k, d, hour, [event]) for k, d, hour, events in rows for event in events]
    session.execute(f"INSERT INTO e VALUES {', '.join(f'({_summed(row)}, {_instant(row[2])})' for row in single)}")
    some = single[:: max(1, len(single) // 3)]
    session.execute(f"INSERT INTO p VALUES {', '.join(f'({_summed(row)}, {_instant(row[2])})' for row in some)}")
    session.execute("CREATE TABLE names (k STRING, name STRING, m DECIMAL(10,2))")
    session.execute("INSERT INTO names VALUES ('UA', 'United', 1.5), ('UA', NULL, NULL), ('XX', 'None', 2.5)")


def _summed(row: Row) -> str:
    k, d, _, events = row
    m, x, hi = ([event[index] for event in events if event[index] is not None] for index in range(3))
    total = f"CAST({' + '.join(f'({value})' for value in m)} AS DECIMAL(10,2))" if m else None
    numbers = (
        d,
        len(events),
        total,
        len(m),
        sum(map(int, x)) if x else None,
        len(x),
        max(map(int, hi)) if hi else None,
    )
    return ", ".join([_text(k), *("NULL" if number is None else str(number) for number in numbers)])


def _text(value: str | None) -> str:
    return "NULL" if value is None else f"'{value}'"


def _instant(hour: str) -> str:
    return f"TIMESTAMP '{hour[:10]} {hour[11:]}:00:00'"
