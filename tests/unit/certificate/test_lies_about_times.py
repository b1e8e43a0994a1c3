"""The checker of certificates against lies about times: zones, weeks, events, facts, now and open ends.

A lie changes an honest certificate in one place; ``sql`` follows ``query`` and ``edits``. No lie may be accepted.
"""

# ruff: noqa: E501 -- a query stays on its line

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from rewriter.session import Session
from rewriter.statements.query.certificates import check_certificate

Certificate = dict[str, Any]
Mutation = Callable[[random.Random, Certificate], "Certificate | None"]
SEEDS = range(4)

# Every lie is told each time.
pytestmark = pytest.mark.share(1)


def zoned(zone: str, base: str, inserts: str) -> str:
    columns = "origin STRING, n BIGINT, miles BIGINT, worst DOUBLE, best DOUBLE"
    hours = f"CREATE TABLE hours ({columns}) PARTITIONED BY (h STRING);" if base == "hours" else ""
    stored = "TABLE hours PERIOD HOURLY PARTITIONED BY t AS (h)," if base == "hours" else ""
    return f"""CREATE CUBE trips (origin STRING, n BIGINT MEASURE COUNT NOT NULL, miles BIGINT MEASURE SUM, worst DOUBLE MEASURE MAX,
      best DOUBLE MEASURE MIN, t TIMESTAMP TIME) TIME ZONE '{zone}';
    {hours}
    CREATE TABLE days ({columns}) PARTITIONED BY (d STRING);
    CREATE TABLE months ({columns}) PARTITIONED BY (m STRING);
    CREATE FACT f OF CUBE trips STORED IN ({stored} TABLE days PERIOD DAILY PARTITIONED BY t AS (d),
      TABLE months PERIOD MONTHLY PARTITIONED BY t AS (m));
    {inserts};
    REFRESH FACT f"""


NEW_YORK = zoned(
    "America/New_York", "hours",
    """INSERT INTO hours MARK COMPLETE FROM '2015-03-01' TO '2015-04-03' VALUES ('JFK', 1, 10, 1.5, 0.5, '2015-03-07-23'),
      ('JFK', 2, 20, 2.5, 1.5, '2015-03-08-06'), ('LGA', 3, 40, 3.5, 0.1, '2015-03-08-07'), ('JFK', 4, 80, 4.5, 2.5, '2015-03-09-03');
    INSERT INTO hours MARK COMPLETE FROM '2015-10-30' TO '2015-11-04' VALUES ('JFK', 1, 10, 1.5, 0.5, '2015-11-01-05'),
      ('LGA', 2, 20, 2.5, 1.5, '2015-11-01-06'), ('JFK', 3, 40, 3.5, 0.1, '2015-11-02-04')""",
)  # fmt: skip
KOLKATA = zoned(
    "Asia/Kolkata", "days",
    "INSERT INTO days MARK COMPLETE FROM '2015-01-01' TO '2015-02-10' VALUES ('DEL', 1, 10, 1.5, 0.5, '2015-01-05'), "
    "('BOM', 2, 20, 2.5, 1.5, '2015-02-03')",
)  # fmt: skip
APIA = zoned(
    "Pacific/Apia", "days",
    "INSERT INTO days MARK COMPLETE FROM '2011-12-01' TO '2012-01-10' VALUES ('APW', 1, 10, 1.5, 0.5, '2011-12-29'), "
    "('APW', 2, 20, 2.5, 1.5, '2011-12-31'), ('FGI', 3, 40, 3.5, 2.5, '2012-01-02')",
)  # fmt: skip
RAW = """CREATE TABLE events (origin STRING, m INT, delay DOUBLE, happened TIMESTAMP) PARTITIONED BY (h STRING);
CREATE TABLE days (origin STRING, n BIGINT, arrived BIGINT, miles BIGINT, delay DOUBLE) PARTITIONED BY (d STRING);
CREATE TABLE other (origin STRING, n BIGINT, arrived BIGINT, miles BIGINT, delay DOUBLE) PARTITIONED BY (d STRING);
CREATE CUBE trips (origin STRING, n BIGINT MEASURE COUNT, arrived BIGINT MEASURE COUNT, miles BIGINT MEASURE SUM,
  delay DOUBLE MEASURE SUM COUNTED BY arrived, t TIMESTAMP TIME);
CREATE FACT f OF CUBE trips STORED IN (TABLE events PERIOD HOURLY PARTITIONED BY t AS (h) RAW (miles AS CAST(m AS BIGINT), t AS happened),
  TABLE days PERIOD DAILY PARTITIONED BY t AS (d));
CREATE FACT o OF CUBE trips STORED IN (TABLE other PERIOD DAILY PARTITIONED BY t AS (d));
INSERT INTO events MARK COMPLETE FROM '2013-01-01' TO '2013-01-04' VALUES
  ('AA', 100, 1.5, TIMESTAMP '2013-01-01 00:40:00', '2013-01-01-00'), ('UA', 200, NULL, TIMESTAMP '2013-01-01 01:20:00', '2013-01-01-01'),
  ('UA', 400, 2.5, TIMESTAMP '2013-01-02 05:00:00', '2013-01-02-05'), ('AA', 800, 4.5, TIMESTAMP '2013-01-03 02:10:00', '2013-01-03-02');
INSERT INTO other VALUES ('AA', 1, 1, 101, 1.5, '2013-01-01'), ('AA', 1, 1, 101, 1.5, '2013-01-02');
REFRESH FACT f"""
WEEKS = """CREATE CUBE trips (origin STRING, n BIGINT MEASURE COUNT, miles BIGINT MEASURE SUM, t TIMESTAMP TIME);
CREATE TABLE days (origin STRING, n BIGINT, miles BIGINT) PARTITIONED BY (d STRING);
CREATE TABLE weeks (origin STRING, n BIGINT, miles BIGINT) PARTITIONED BY (w STRING);
CREATE FACT f OF CUBE trips STORED IN (TABLE days PERIOD DAILY PARTITIONED BY t AS (d), TABLE weeks PERIOD WEEKLY PARTITIONED BY t AS (w));
INSERT INTO days MARK COMPLETE FROM '2014-12-15' TO '2015-01-22' VALUES ('A', 1, 10, '2014-12-29'), ('A', 2, 20, '2015-01-05'), ('B', 3, 40, '2015-01-13');
REFRESH FACT f"""
SHARED = """CREATE TABLE visits (origin STRING, n BIGINT, miles BIGINT) PARTITIONED BY (dt STRING);
INSERT INTO visits VALUES ('A', 1, 10, '2024-01'), ('B', 2, 20, '2024-02-01'), ('A', 3, 40, '2024-02-02'), ('A', 4, 80, '2024-02-03-00');
CREATE CUBE trips (origin STRING, n BIGINT MEASURE COUNT, miles BIGINT MEASURE SUM, t TIMESTAMP TIME);
CREATE FACT f OF CUBE trips STORED IN (TABLE visits PERIODS (HOURLY, DAILY, MONTHLY) PARTITIONED BY t AS (dt) TRUSTED)"""

SPRING = "t >= '2015-03-07' AND t < '2015-03-10'"
AUTUMN = "t >= '2015-10-31' AND t < '2015-11-02'"
INDIA = "t >= '2015-01-01' AND t < '2015-02-05'"
SAMOA = "t >= '2011-12-28' AND t < '2012-01-03'"
CUT = "t >= '2013-01-01 00:30' AND t < '2013-01-03 02:15'"
SHARE = "t >= '2024-01-01' AND t < '2024-02-03 01:00'"
WORLDS: dict[str, tuple[str, str, dict[str, str]]] = {
    "new york": (NEW_YORK, "2015-03-09T06:30:00", {
        "days": f"SELECT SUM(miles) AS s, MAX(worst) AS w, MIN(best) AS b FROM trips WHERE {SPRING}",
        "hours": "SELECT origin, SUM(miles) AS s FROM trips WHERE t >= '2015-03-07 20:00' AND t < '2015-03-09 03:00' GROUP BY origin",
        "by date": f"SELECT to_date(t) AS d, SUM(miles) AS s FROM trips WHERE {SPRING} GROUP BY to_date(t)",
        "by day": f"SELECT date_trunc('day', t) AS d, COUNT(*) AS s FROM trips WHERE {SPRING} GROUP BY date_trunc('day', t)",
        "by hour": f"SELECT hour(t) AS h, COUNT(*) AS c FROM trips WHERE {AUTUMN} GROUP BY hour(t)",
        "autumn": f"SELECT to_date(t) AS d, COUNT(origin) AS c FROM trips WHERE {AUTUMN} GROUP BY to_date(t)",
        "winter": "SELECT date_trunc('day', t) AS d, SUM(miles) AS s FROM trips WHERE t >= '2015-03-02' AND t < '2015-03-05' GROUP BY date_trunc('day', t)",
        "month": "SELECT date_format(t, 'yyyy-MM') AS m, SUM(miles) AS s FROM trips WHERE t >= '2015-03-01' AND t < '2015-04-01' GROUP BY date_format(t, 'yyyy-MM')",
        "in range": "SELECT SUM(miles) AS s FROM trips WHERE time_range_in(t, '2015-03-07T12', '2015-03-09T03')",
        "zulu": "SELECT SUM(miles) AS s FROM trips WHERE t >= '2015-03-08 06:00:00Z' AND t < '2015-03-09 03:00:00Z'",
        "between": "SELECT SUM(miles) AS s FROM trips WHERE t BETWEEN '2015-03-07' AND '2015-03-08 23:59:59'",
        "rows": "SELECT origin, t, miles FROM trips WHERE t >= '2015-11-01' AND t < '2015-11-02'",
        "relative": "SELECT SUM(miles) AS s FROM trips WHERE time_range_in(t, 'now.day - 2 days', 'now.hour')",
        "today": "SELECT SUM(miles) AS s FROM trips WHERE t >= current_date - INTERVAL 3 DAYS AND t < current_date",
        "instant": "SELECT SUM(miles) AS s FROM trips WHERE t >= now() - INTERVAL 30 HOURS AND t < now()",
        "inside": "SELECT SUM(miles) AS s FROM trips WHERE t >= '2015-03-08 00:30' AND t < '2015-03-09'",
        "open": "SELECT SUM(miles) AS s FROM trips WHERE t >= '2015-11-01'",
        "beyond": "SELECT SUM(miles) AS s FROM trips WHERE t >= '2020-01-01'",
        "fact": f"SELECT SUM(miles) AS s FROM f WHERE {SPRING}",
    }),
    "kolkata": (KOLKATA, "2015-02-05T06:30:00", {
        "k sums": f"SELECT SUM(miles) AS s FROM trips WHERE {INDIA}",
        "k dates": f"SELECT to_date(t) AS d, SUM(miles) AS s FROM trips WHERE {INDIA} GROUP BY to_date(t)",
        "k days": f"SELECT date_trunc('day', t) AS d, SUM(miles) AS s FROM trips WHERE {INDIA} GROUP BY date_trunc('day', t)",
        "k months": f"SELECT month(t) AS d, SUM(miles) AS s FROM trips WHERE {INDIA} GROUP BY month(t)",
        "k relative": "SELECT SUM(miles) AS s FROM trips WHERE time_range_in(t, 'now.day - 7 days', 'now.day')",
    }),
    "apia": (APIA, "2012-01-02T20:30:00", {
        "a sums": f"SELECT SUM(miles) AS s FROM trips WHERE {SAMOA}",
        "a dates": f"SELECT to_date(t) AS d, SUM(miles) AS s FROM trips WHERE {SAMOA} GROUP BY to_date(t)",
        "a days": f"SELECT date_trunc('day', t) AS d, SUM(miles) AS s FROM trips WHERE {SAMOA} GROUP BY date_trunc('day', t)",
        "a months": "SELECT month(t) AS d, SUM(miles) AS s FROM trips WHERE t >= '2011-12-01' AND t < '2012-01-03' GROUP BY month(t)",
    }),
    "raw": (RAW, "2013-01-03T02:30:00", {
        "r sums": f"SELECT origin, SUM(miles) AS s, COUNT(*) AS c, AVG(delay) AS a FROM trips WHERE {CUT} GROUP BY origin",
        "r fact": "SELECT SUM(miles) AS s, AVG(delay) AS a FROM f WHERE t >= '2013-01-01 00:30' AND t < '2013-01-01 01:30'",
        "r other": "SELECT SUM(miles) AS s FROM o WHERE t >= '2013-01-01' AND t < '2013-01-03'",
        "r rows": "SELECT origin, miles, arrived, t FROM f WHERE t >= '2013-01-01 00:30' AND t < '2013-01-01 01:30'",
        "r minutes": "SELECT minute(t) AS m, COUNT(*) AS c FROM f WHERE t >= '2013-01-01 00:30' AND t < '2013-01-01 02:00' GROUP BY minute(t)",
        "r now": "SELECT SUM(miles) AS s FROM f WHERE t >= now() - INTERVAL 30 HOURS AND t < now()",
        "r column": "SELECT COUNT(origin) AS c FROM f WHERE t >= '2013-01-01 00:30' AND t < '2013-01-02'",
    }),
    "weeks": (WEEKS, "2015-01-20T06:30:00", {
        "w sums": "SELECT SUM(miles) AS s FROM trips WHERE t >= '2014-12-20' AND t < '2015-01-14'",
        "w weeks": "SELECT date_trunc('week', t) AS w, SUM(miles) AS s FROM trips WHERE t >= '2014-12-22' AND t < '2015-01-12' GROUP BY date_trunc('week', t)",
        "w one": "SELECT origin, COUNT(*) AS c FROM trips WHERE t >= '2014-12-29' AND t < '2015-01-05' GROUP BY origin",
        "w relative": "SELECT SUM(miles) AS s FROM trips WHERE t >= date_sub(current_date, 15) AND t < current_date",
    }),
    "shared": (SHARED, "2024-02-04T06:30:00", {
        "s sums": f"SELECT origin, SUM(miles) AS s FROM trips WHERE {SHARE} GROUP BY origin",
        "s months": f"SELECT month(t) AS m, SUM(miles) AS s FROM trips WHERE {SHARE} GROUP BY month(t)",
    }),
}  # fmt: skip
QUERIES = [name for _, _, queries in WORLDS.values() for name in queries]


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[Session, Certificate | Exception]]]:
    """The session and the certificate of each query."""
    path = tmp_path_factory.mktemp("lies")
    found: dict[str, tuple[Session, Certificate | Exception]] = {}
    sessions = []
    for world, (script, now, queries) in WORLDS.items():
        session = Session(path / world.replace(" ", "_"), engine="duckdb")
        sessions.append(session)
        list(session.script(script))
        session.execute("SET rewriter.partial_data = true")
        session.execute(f"SET rewriter.now = '{now}'")
        for name, query in queries.items():
            try:
                rows = session.execute(f"EXPLAIN CERTIFICATE {query}").rows()
                found[name] = session, json.loads("\n".join(str(row[0]) for row in rows))
            except Exception as error:
                found[name] = session, error
    yield found
    for session in sessions:
        session.close()


# Texts


def write(c: Certificate) -> Certificate:
    """Makes ``sql`` what ``query`` and ``edits`` say."""
    text = c["query"]
    for start, end, replacement in reversed(c["edits"]):
        text = text[:start] + replacement + text[end:]
    c["sql"] = text
    return c


def only(c: Certificate) -> Certificate:
    reference: Certificate = c["references"][0]
    return reference


def source(c: Certificate) -> list[Any]:
    edit: list[Any] = next(edit for edit in c["edits"] if edit[0] == only(c)["start"])
    return edit


def others(c: Certificate) -> list[list[Any]]:
    return [edit for edit in c["edits"] if edit[0] != only(c)["start"]]


Change = Callable[[re.Match[str]], str]


def replaced(
    rng: random.Random, c: Certificate, edits: list[list[Any]], pattern: str, change: Change | str
) -> Certificate | None:
    """Changes one place of the edits that the pattern matches."""
    places = [(edit, found) for edit in edits for found in re.finditer(pattern, edit[2])]
    rng.shuffle(places)
    for edit, found in places:
        new = found.expand(change) if isinstance(change, str) else change(found)
        if new != found[0]:
            edit[2] = edit[2][: found.start()] + new + edit[2][found.end() :]
            return write(c)
    return None


def later(text: str, **delta: int) -> str:
    return str(datetime.fromisoformat(text) + timedelta(**delta))


MUTATIONS: dict[str, Mutation] = {}
EDIT, ARM = others, source


def text_lie(name: str, where: str, pattern: str, change: Change | str) -> None:
    def lie(rng: random.Random, c: Certificate) -> Certificate | None:
        edits = others(c) if where == "edit" else [source(c)]
        return replaced(rng, c, edits, pattern, change)

    assert name not in MUTATIONS
    MUTATIONS[name] = lie


LITERAL = r"TIMESTAMP '(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)'"
BREAK = rf"(\w+ < ){LITERAL}(?= THEN)"
# The bounds of ranges: no breakpoints.
BOUND = rf"{LITERAL}(?! THEN)"
SHIFT = r"timestampadd\((HOUR|MINUTE), (-?\d+), (t)\)"
BACK = r"timestampadd\((HOUR|MINUTE), (-?\d+), (date_trunc\()"
STAMP = r"(to_timestamp\(\w+, '[^']*'\))"


def literal_moved(**delta: int) -> Change:
    return lambda m: f"TIMESTAMP '{later(m[1], **delta)}'"


def break_moved(**delta: int) -> Change:
    return lambda m: f"{m[1]}TIMESTAMP '{later(m[2], **delta)}'"


def offset(change: Callable[[int], int]) -> Change:
    return lambda m: f"timestampadd({m[1]}, {change(int(m[2]))}, {m[3]}" + (")" if m[3] == "t" else "")


# Edits of expressions. Kolkata and Apia have one offset; a date is another one after a shift by a day in any case.
text_lie("offset of an edit by a day", "edit", SHIFT, offset(lambda n: n + 24 * (60 if abs(n) > 24 else 1)))
text_lie(
    "offset of an edit without its sign", "edit", r"timestampadd\((HOUR), (-[45])\b, (t)\)", offset(lambda n: n - 20)
)
text_lie("offset of the way back", "edit", BACK, offset(lambda n: n + 1))
text_lie("offset of the way back has another sign", "edit", BACK, offset(lambda n: -n))
text_lie(
    "offset of the way back in another unit",
    "edit",
    BACK,
    lambda m: m[0].replace("HOUR", "DAY").replace("MINUTE", "HOUR"),
)
text_lie(
    "offset by one hour before the trunc",
    "edit",
    r"timestampadd\((HOUR|MINUTE), (-?\d+), (t)\)(?=\)\))",
    offset(lambda n: -n),
)
text_lie("no shift in an edit", "edit", SHIFT, "t")
text_lie(
    "another shift unit in an edit", "edit", SHIFT, lambda m: m[0].replace("HOUR", "SECOND").replace("MINUTE", "SECOND")
)
text_lie(
    "no way back",
    "edit",
    r"timestampadd\((?:HOUR|MINUTE), -?\d+, (date_trunc\('\w+', timestampadd\(\w+, -?\d+, t\)\))\)",
    r"\1",
)
text_lie("CASE without ELSE", "edit", r"(THEN timestampadd\([^()]*\)) ELSE timestampadd\([^()]*\) END", r"\1 END")
text_lie("literal moved by an hour", "edit", BOUND, literal_moved(hours=1))
text_lie("literal moved by four hours", "edit", BOUND, literal_moved(hours=-4))
text_lie("literal moved by five hours", "edit", BOUND, literal_moved(hours=5))
text_lie("literal moved by half an hour over days", "edit", BOUND, literal_moved(days=1, minutes=-30))
text_lie("literal moved by a day", "edit", BOUND, literal_moved(days=1))
text_lie("literal moved by a day back", "edit", BOUND, literal_moved(days=-1))
text_lie("literal moved by a year", "edit", BOUND, literal_moved(days=-365))
text_lie("literal as a text", "edit", BOUND, lambda m: f"'{later(m[1], days=1)}'")
text_lie("literal with a zone", "edit", BOUND, lambda m: f"TIMESTAMP '{m[1]}+05:00'")
text_lie("literal as a DATE", "edit", BOUND, lambda m: f"DATE '{later(m[1], days=1)[:10]}'")
text_lie("literal plus an interval", "edit", BOUND, r"TIMESTAMP '\1' + INTERVAL 1 HOUR")
text_lie("a bound is reversed", "edit", r"(t) >= (TIMESTAMP)", r"\1 <= \2")
text_lie(
    "AND becomes OR in an edit",
    "edit",
    r"('\d\d?:?[^']*') AND (t)|(') AND (t)",
    lambda m: m[0].replace(" AND ", " OR "),
)
text_lie(
    "count of another measure",
    "edit",
    r"SUM\(n\)|THEN n END",
    lambda m: m[0].replace("n)", "miles)").replace("THEN n", "THEN miles"),
)
text_lie("count of no rows is another number", "edit", r"(COALESCE\(.*), 0\)", r"\1, 1)")
text_lie("count is multiplied", "edit", r"SUM\(n\)", "SUM(2 * n)")
text_lie("average of another count", "edit", r"NULLIF\(SUM\(arrived\), 0\)", "NULLIF(SUM(n), 0)")
text_lie("average of no values", "edit", r"NULLIF\((SUM\(arrived\)), 0\)", r"NULLIF(\1, 1)")
text_lie("comment that hides the rest of an edit", "edit", r"^(.+)$", r"\1 /* ")
text_lie("line comment in an edit", "edit", r"^(.+)$", r"\1 -- ")
text_lie("statement behind an edit", "edit", r"^(.+)$", r"\1; DROP TABLE days")
text_lie("extra term in an edit", "edit", r"^(.+)$", r"\1 OR TRUE")

# Arms
text_lie("arm's time by a day", "arm", STAMP + "(?! <)", r"timestampadd(DAY, 1, \1)")
text_lie("arm's time by an hour", "arm", STAMP + "(?! <)", r"timestampadd(HOUR, 1, \1)")
text_lie("arm's time by an hour back", "arm", STAMP + "(?! <)", r"timestampadd(HOUR, -1, \1)")
text_lie("arm's time truncated", "arm", STAMP, r"timestampadd(MONTH, 1, \1)")
text_lie("arm's time is NULL", "arm", STAMP, "CAST(NULL AS TIMESTAMP)")
text_lie(
    "arm's time by another layout",
    "arm",
    r"'(yyyy-MM-dd|yyyy-MM)'",
    lambda m: "'yyyy-dd-MM'" if m[1] == "yyyy-MM-dd" else "'MM-yyyy'",
)
text_lie(
    "arm's offset by one",
    "arm",
    r"timestampadd\((HOUR|MINUTE), (-?\d+), (to_timestamp\(|CASE )",
    lambda m: f"timestampadd({m[1]}, {int(m[2]) + 1}, {m[3]}",
)
text_lie(
    "arm's offset has another sign",
    "arm",
    r"timestampadd\((HOUR|MINUTE), (-?\d+), ",
    lambda m: f"timestampadd({m[1]}, {-int(m[2])}, ",
)
text_lie("arm's shift is left out", "arm", r"timestampadd\((?:HOUR|MINUTE), -?\d+, (to_timestamp\([^()]*\))\)", r"\1")
text_lie(
    "arm's CASE branches swapped",
    "arm",
    r"THEN (timestampadd.*?\)\)|-?\d+) ELSE (timestampadd.*?\)\)|-?\d+) END",
    r"THEN \2 ELSE \1 END",
)
text_lie("condition excludes the first", "arm", r"(WHERE \(?\w+ )>=", r"\1>")
text_lie("condition excludes the last", "arm", r"(AND \w+ )<=(?= '[^']*'\)?(?:\)| OR|$| UNION))", r"\1<")
text_lie(
    "condition of one partition is another",
    "arm",
    r"(WHERE \w+ = '\d{4}-\d\d-)(\d\d)'",
    lambda m: f"{m[1]}{int(m[2]) % 27 + 1:02}'",
)
text_lie("condition is TRUE", "arm", r"WHERE .*?(?= UNION ALL |\) AS \w+$)", "WHERE TRUE")
text_lie("condition adds a filter", "arm", r"WHERE (.*?)(?= UNION ALL |\) AS \w+$)", r"WHERE (\1) AND origin = 'JFK'")
text_lie("condition adds a limit", "arm", r"(WHERE .*?)(?=\) AS \w+$)", r"\1 LIMIT 1")
text_lie(
    "hour of the first bound later",
    "arm",
    r"(h >= '\d{4}-\d\d-\d\d-)(\d\d)'",
    lambda m: f"{m[1]}{min(int(m[2]) + 1, 23):02}'" if int(m[2]) < 23 else m[0],
)
text_lie(
    "hour of the last bound earlier",
    "arm",
    r"(h <= '\d{4}-\d\d-\d\d-)(\d\d)'",
    lambda m: f"{m[1]}{max(int(m[2]) - 1, 0):02}'",
)
text_lie("week's time by one", "arm", r"- 1\) \* 7", "- 2) * 7")
text_lie("week's year from another day", "arm", r", 1, 4, 0, 0, 0\)", ", 1, 14, 0, 0, 0)")
text_lie(
    "week's time is not truncated to weeks", "arm", r"date_trunc\('week', (make_timestamp)", r"date_trunc('month', \1"
)
text_lie("week's number from other digits", "arm", r"substring\((\w+), 7, 2\)", r"substring(\1, 7, 1)")
text_lie("an event counts two", "arm", r"CAST\(1 AS BIGINT\)", "CAST(2 AS BIGINT)")
text_lie("an event counts nothing", "arm", r"CAST\(1 AS BIGINT\)", "CAST(NULL AS BIGINT)")
text_lie("count counts NULLs", "arm", r"IS NULL THEN 0 ELSE 1", "IS NULL THEN 1 ELSE 1")
text_lie("count counts only NULLs", "arm", r"IS NULL THEN 0 ELSE 1", "IS NOT NULL THEN 0 ELSE 1")
text_lie("count counts another column", "arm", r"WHEN delay IS NULL", "WHEN origin IS NULL")
text_lie("RAW expression of another column", "arm", r"CAST\(m AS BIGINT\)", "CAST(delay AS BIGINT)")
text_lie("RAW expression of another type", "arm", r"CAST\(m AS BIGINT\)", "CAST(m AS TINYINT)")
text_lie("RAW expression is another", "arm", r"CAST\(m AS BIGINT\)", "CAST(m + 1 AS BIGINT)")
text_lie("RAW time of another type", "arm", r"CAST\(happened AS TIMESTAMP\)", "CAST(happened AS DATE)")
text_lie("RAW time is truncated", "arm", r"CAST\(happened AS TIMESTAMP\)", "date_trunc('hour', happened)")
text_lie("RAW time from the partition", "arm", r"CAST\(happened AS TIMESTAMP\)", "to_timestamp(h, 'yyyy-MM-dd-HH')")
text_lie("RAW time is shifted", "arm", r"CAST\(happened AS TIMESTAMP\)", "timestampadd(MINUTE, 30, happened)")
text_lie("another measure under a name", "arm", r"(SELECT |, )miles,", r"\1n AS miles,")
text_lie("a column that is read is NULL", "arm", r"(SELECT |, )origin,", r"\1CAST(NULL AS STRING) AS origin,")
text_lie("a measure that is read is NULL", "arm", r"(SELECT |, )miles,", r"\1CAST(NULL AS BIGINT) AS miles,")
text_lie("another dimension under a name", "arm", r"(SELECT |, )origin,", r"\1'JFK' AS origin,")
text_lie("MIN and MAX columns swapped", "arm", r"\bworst, best\b", "best AS worst, worst AS best")
text_lie("measure of another type", "arm", r"(SELECT |, )miles,", r"\1CAST(miles AS TINYINT) AS miles,")
text_lie("another table is read", "arm", r"FROM days\b", "FROM other")
text_lie("shared CASE without its pattern", "arm", r"(THEN to_timestamp\(dt, )'yyyy-MM-dd'\)", r"\1'yyyy-dd-MM')")
text_lie("shared pattern of another period", "arm", r"\[0-9\]\{4\}-\[0-9\]\{2\}\$", "[0-9]{4}-[0-9]{3}$")
text_lie("shared pattern negated", "arm", r"AND dt RLIKE", "AND NOT dt RLIKE")
text_lie("shared period left out", "arm", r" OR \(dt [^()]*\)(?=\) AS)", "")
text_lie(
    "shared periods' times swapped",
    "arm",
    r"THEN (to_timestamp\(dt, 'yyyy-MM'\)) (WHEN .*?) THEN (to_timestamp\(dt, 'yyyy-MM-dd'\))",
    r"THEN \3 \2 THEN \1",
)
text_lie("UNION removes repetitions", "arm", r" UNION ALL ", " UNION ")
text_lie("clause behind an arm", "arm", r"(\) AS \w+)$", r" ORDER BY 1 LIMIT 2\1")
text_lie("comment in an arm", "arm", r"( WHERE )", r" /* \1")
text_lie("columns renamed by the alias", "arm", r"\) AS (\w+)$", r") AS \1(a, b)")


def mutation(function: Mutation) -> Mutation:
    MUTATIONS[function.__name__.replace("_", " ")] = function  # type: ignore[attr-defined]
    return function


def stamp(text: str, **delta: int) -> str:
    return f"{(datetime.fromisoformat(text.removesuffix('Z')) + timedelta(**delta)).isoformat()}Z"


STEPS: list[dict[str, int]] = [
    {"hours": 1},
    {"hours": -1},
    {"days": 1},
    {"days": -1},
    {"hours": 5},
    {"hours": -4},
    {"minutes": 30},
]


@mutation
def requested_bound_moved(rng: random.Random, c: Certificate) -> Certificate | None:
    places = [(r, i) for r in only(c)["requested"] for i in (0, 1) if r[i]]
    if not places:
        return None
    range_, index = rng.choice(places)
    range_[index] = stamp(range_[index], **rng.choice(STEPS))
    return c


@mutation
def requested_and_piece_moved(rng: random.Random, c: Certificate) -> Certificate | None:
    """Both agree on a day that is not the zone's."""
    ranges = [*only(c)["requested"], *(r for p in only(c)["pieces"] for r in p["ranges"])]
    step = rng.choice(STEPS)
    ends = {r[i] for r in ranges for i in (0, 1) if r[i]}
    if not ends:
        return None
    old = rng.choice(sorted(ends))
    for range_ in ranges:
        range_[:] = [stamp(at, **step) if at == old else at for at in range_]
    return c


@mutation
def piece_range_as_days_of_utc(rng: random.Random, c: Certificate) -> Certificate | None:
    pieces = [p for p in only(c)["pieces"] if p["period"] in ("DAILY", "MONTHLY")]
    changed = False
    for piece in pieces:
        for range_ in piece["ranges"]:
            new = [f"{at[:10]}T00:00:00Z" for at in range_]
            changed |= new != range_
            range_[:] = new
    return c if changed else None


@mutation
def piece_bound_moved(rng: random.Random, c: Certificate) -> Certificate | None:
    pieces = only(c)["pieces"]
    if not pieces:
        return None
    range_ = rng.choice(rng.choice(pieces)["ranges"])
    index = rng.choice([0, 1])
    range_[index] = stamp(range_[index], **rng.choice([*STEPS, {"days": 7}, {"days": -7}]))
    return c


@mutation
def inexact_dropped(rng: random.Random, c: Certificate) -> Certificate | None:
    if not only(c)["inexact"]:
        return None
    only(c)["inexact"] = []
    return c


@mutation
def inexact_moved(rng: random.Random, c: Certificate) -> Certificate | None:
    if not only(c)["inexact"]:
        return None
    only(c)["inexact"] = [stamp(at, minutes=rng.choice([-7, 7, 60])) for at in only(c)["inexact"]]
    return c


@mutation
def now_changed(rng: random.Random, c: Certificate) -> Certificate | None:
    """Of queries that name now: by days, so that each of their bounds is another."""
    if not re.search(r"now|current_date", c["query"]):
        return None
    c["now"] = stamp(c["now"][:19], days=rng.choice([-1, 1, 30]))
    return c


def reaches(c: Certificate, end: Any) -> bool:
    """Tests whether the requested time goes up to an open end. One that it does not reach changes nothing."""
    return end["at"] in [at for range_ in only(c)["requested"] for at in range_]


@mutation
def open_end_changed(rng: random.Random, c: Certificate) -> Certificate | None:
    end = only(c)["open_end"] or only(c)["open_begin"]
    if not end or not reaches(c, end):
        return None
    end["at"] = stamp(end["at"], **rng.choice(STEPS))
    return c


@mutation
def open_end_and_requested_changed(rng: random.Random, c: Certificate) -> Certificate | None:
    end = only(c)["open_end"]
    if not end or not reaches(c, end):
        return None
    new = stamp(end["at"], **rng.choice(STEPS))
    for range_ in only(c)["requested"]:
        range_[:] = [new if at == end["at"] else at for at in range_]
    end["at"] = new
    return c


@mutation
def open_end_left_out(rng: random.Random, c: Certificate) -> Certificate | None:
    if not only(c)["open_end"] or not reaches(c, only(c)["open_end"]):
        return None
    only(c)["open_end"] = None
    return c


@mutation
def missing_hidden(rng: random.Random, c: Certificate) -> Certificate | None:
    if not only(c)["missing"]:
        return None
    only(c)["missing"] = []
    return c


@mutation
def missing_and_requested_hidden(rng: random.Random, c: Certificate) -> Certificate | None:
    missing = only(c)["missing"]
    if not missing:
        return None
    for start, end in missing:
        for range_ in only(c)["requested"]:
            if range_[1] == end:
                range_[1] = start
    only(c)["missing"] = []
    only(c)["requested"] = [r for r in only(c)["requested"] if r[0] != r[1]]
    return c


@mutation
def zone_changed(rng: random.Random, c: Certificate) -> Certificate | None:
    old = only(c)["zone"]
    only(c)["zone"] = rng.choice(
        [
            z
            for z in ("America/New_York", "Europe/Berlin", "Asia/Kolkata", "UTC", None)
            if z != old and (old, z) not in (("UTC", None), (None, "UTC"))
        ]
    )
    return c


@mutation
def fact_of_a_piece_changed(rng: random.Random, c: Certificate) -> Certificate | None:
    pieces = only(c)["pieces"]
    if not pieces:
        return None
    piece = rng.choice(pieces)
    piece["fact"] = re.sub(r"\bf$|\bo$", lambda m: {"f": "o", "o": "f"}[m[0]], piece["fact"])
    return c


def asked(c: Certificate, start: int, end: int, text: str) -> Certificate:
    """Changes the query beside the edits; they move along."""
    delta = len(text) - (end - start)
    c["query"] = c["query"][:start] + text + c["query"][end:]
    for edit in c["edits"]:
        edit[:2] = [at + (delta if at >= end else 0) for at in edit[:2]]
    only(c)["start"] += delta if only(c)["start"] >= end else 0
    return write(c)


@mutation
def another_fact_is_asked(rng: random.Random, c: Certificate) -> Certificate | None:
    named_fact = re.search(r"FROM ([fo])\b", c["query"])
    if not named_fact or "miles" not in c["query"]:
        return None
    at = named_fact.start(1)
    c["query"] = c["query"][:at] + {"f": "o", "o": "f"}[named_fact[1]] + c["query"][at + 1 :]
    return write(c)


def asks(name: str, pattern: str, change: Change | str) -> None:
    """Another query has this plan: its text is changed where no edit is, or below an edit, which stays."""

    def lie(rng: random.Random, c: Certificate) -> Certificate | None:
        places = list(re.finditer(pattern, c["query"]))
        rng.shuffle(places)
        for found in places:
            new = found.expand(change) if isinstance(change, str) else change(found)
            inside = [e for e in c["edits"] if e[0] < found.end() and found.start() < e[1]]
            if new == found[0] or any(not (e[0] <= found.start() and found.end() <= e[1]) for e in inside):
                continue
            if not inside:
                return asked(c, found.start(), found.end(), new)
            (edit,) = inside
            delta = len(new) - len(found[0])
            c["query"] = c["query"][: found.start()] + new + c["query"][found.end() :]
            for other in c["edits"]:
                if other[0] >= found.end():
                    other[0] += delta
                    other[1] += delta
            edit[1] += delta
            only(c)["start"] += delta if only(c)["start"] >= found.end() else 0
            return write(c)
        return None

    MUTATIONS[name] = lie


asks("asks for the next day", r"(\d{4}-\d\d-)(0\d)", lambda m: f"{m[1]}{int(m[2]) + 1:02}")
asks("asks for an hour later", r" (\d\d):(?=[0-5]\d)", lambda m: f" {(int(m[1]) + 1) % 24:02}:")
asks("asks for a wall time", r"(\d\d:\d\d:\d\d)Z'", r"\1'")
asks("asks until before the end of the day", r"23:59:59", "22:59:59")
asks("asks for days of the month", r"month\(t\)(?= AS)", "day(t)")
asks("asks for MIN of a MAX measure", r"MAX\(worst\)", "MIN(worst)")
asks("asks for MAX of a MIN measure", r"MIN\(best\)", "MAX(best)")
asks("asks for more hours before now", r"INTERVAL 30 HOURS", "INTERVAL 31 HOURS")
asks("asks for more days before now", r"- (\d) days", lambda m: f"- {int(m[1]) + 1} days")
asks("asks for more days before today", r"INTERVAL 3 DAYS", "INTERVAL 4 DAYS")
asks("asks for now instead of its hour", r"now\.(hour|day)'", "now.month'")
asks("asks for no end", r" AND t < '[^']*'", "")
asks("asks with another comparison", r"t >= '", "t <= '")


# Tests


def verdict_of(session: Session, c: Certificate) -> Any:
    return check_certificate(c, session.catalog)


def lies(
    honest: dict[str, tuple[Session, Certificate | Exception]], name: str
) -> Iterator[tuple[str, Session, Certificate]]:
    for query, (session, certificate) in honest.items():
        if isinstance(certificate, Exception):
            continue
        seen = {json.dumps(certificate, sort_keys=True)}
        for seed in SEEDS:
            lie = MUTATIONS[name](random.Random(f"{name} {query} {seed}"), copy.deepcopy(certificate))
            if lie is not None and (key := json.dumps(lie, sort_keys=True)) not in seen:
                seen.add(key)
                yield query, session, lie


def difference(a: Any, b: Any, path: str = "") -> list[str]:
    if isinstance(a, dict) and isinstance(b, dict):
        return [line for k in a for line in difference(a[k], b.get(k), f"{path}.{k}")]
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [line for i, (x, y) in enumerate(zip(a, b, strict=True)) for line in difference(x, y, f"{path}[{i}]")]
    return [] if a == b else [f"{path}: {a!r} -> {b!r}"]


@pytest.mark.parametrize("name", QUERIES)
def test_an_honest_certificate_is_accepted(
    honest: dict[str, tuple[Session, Certificate | Exception]], name: str
) -> None:
    session, certificate = honest[name]
    assert not isinstance(certificate, Exception), certificate
    verdict = verdict_of(session, certificate)
    assert verdict.is_accepted, (certificate["sql"], verdict.findings)


@pytest.mark.parametrize("name", list(MUTATIONS))
def test_a_lie_is_not_accepted(honest: dict[str, tuple[Session, Certificate | Exception]], name: str) -> None:
    accepted = []
    count = 0
    for query, session, lie in lies(honest, name):
        count += 1
        if verdict_of(session, lie).is_accepted:
            accepted.append(f"{query!r}:\n    " + "\n    ".join(difference(honest[query][1], lie)))
    assert count > 0
    assert not accepted, f"{len(accepted)} of {count} lies are accepted:\n" + "\n".join(accepted)
