"""Items of a SELECT list over a cube have the same names as Spark gives them over a table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.errors import Error
from rewriter.exec.engine import EngineQuery
from rewriter.exec.spark.engine import SparkEngine
from rewriter.planner.scope.item_names import item_name
from rewriter.session import Session

#: Over columns of the types that their names say; grouped by all of them.
ITEMS = r"""
count(*) over (partition by s order by k)
count(*) over ()
count(*) over (partition by s)
sum(count(*)) over (order by k)
sum(count(*)) over (order by k rows between 1 preceding and current row)
sum(count(*)) over (partition by s, k order by k desc nulls first, s asc)
rank() over (order by count(*) desc)
count(*) + (select 1)
count(*) * 1.50
count(*) * 1e3
count(*) * 1.0E10
count(*) * 1L
count(*) * 1.5D
- count(*)
-1 * count(*)
~count(*)
count(*) % 2
count(*) div 2
count(*) || 'x' || 'y'
concat(count(*), 'x')
count(*) = 1 and true or false
not count(*) = 1
count(*) != 1
count(*) <=> 1
count(*) in (1, 2)
count(*) not in (1, 2)
count(*) between 1 and 2
count(*) not between 1 and 2
count(*) is not null
count(*) is distinct from 3
count(*) is not distinct from 3
(count(*) = 1) is not true
(count(*) = 1) is unknown
case when count(*) > 1 then 'x' else 'y' end
case count(*) when 1 then 'x' end
if(count(*) > 1, 1, 0)
round(avg(k), 2)
round(avg(k))
floor(avg(k))
floor(avg(k), 1)
ceil(avg(k))
ceil(avg(k), 1)
position('a' in s) + count(*)
position('a', s) + count(*)
ceiling(avg(k))
bround(avg(k))
cast(avg(k) as decimal(10,2))
cast(avg(k) as decimal)
cast(count(*) as bigint)
cast(count(*) as integer)
cast(count(*) as varchar(5))
count(*) :: string
bigint(count(*))
try_cast(count(*) as int)
coalesce(avg(k), 0)
nvl(avg(k), 0)
ifnull(avg(k), 0)
nullif(count(*), 0)
sum(k) / nullif(count(*), 0)
greatest(count(*), 1)
count(distinct k)
count(distinct k, s)
count(k, s)
count(ALL k)
count(DISTINCT n1.k)
count(k + 1)
count(case when k > 1 then 1 end)
count(nullif(k, 1))
count_if(k > 1)
count(*) filter (where k > 1 and s = 'a')
avg(k) filter (where s like 'a%')
avg(distinct k)
mean(k)
sqrt(avg(k))
abs(avg(k))
pow(avg(k), 2)
power(avg(k), 2)
ln(count(*))
log(10, count(*))
log(count(*))
exp(avg(k))
sign(avg(k))
format_number(avg(k), 2)
concat_ws(',', count(*), s)
count(*) + k
upper(s) || count(*)
substr(s, 1) || count(*)
lpad(count(*), 5, '0')
lpad(count(*), 5)
date_trunc('day', t) || count(*)
year(t) + count(*)
extract(year from t) + count(*)
date_add(d, 1) || count(*)
named_struct('a', count(*))
first(k) + count(*)
max(s) || count(*)
count(`k`)
COUNT ( * )
count(1 + 1)
count(null)
count('x')
count(true)
count(date'2014-01-01')
count(timestamp'2014-01-01 10:00:00')
percentile_approx(k, 0.5) + count(*)
sum(k) + COUNT(*)
SUM(distinct k) + count(*)
min(t) is null or count(*) = 0
exists (select 1) and count(*) > 0
k in (select 1) and count(*) > 0
s like 'a' and count(*) > 0
s not like 'a' and count(*) > 0
s rlike 'a' and count(*) > 0
s ilike 'a' and count(*) > 0
isnull(count(*))
isnotnull(count(*))
count(*) & 1
count(*) ^ 1
shiftleft(count(*),1)
try_divide(count(*), 2)
try_add(count(*), 2)
current_date() || count(*)
current_date || count(*)
approx_count_distinct(k) + count(*)
-avg(k) + -1
- (count(*) + 1)
count(*) - -1
cast('2014-01-01' as date) > max(d) or count(*) > 1
avg(k + 1)
avg(-k)
avg(k * 2.0)
bool_and(b) and count(*) > 1
any(b) and count(*)>1
every(b) and count(*)>1
len(s) + count(*)
char_length(s) + count(*)
dayofmonth(t) + count(*)
unix_timestamp(t) + count(*)
unix_timestamp(s, 'yyyy') + count(*)
to_date(s) = d and count(*) > 1
to_date(s, 'yyyy') = d and count(*) > 1
date_format(t, 'yyyy') || count(*)
trim(s) || count(*)
trim(both from s) || count(*)
replace(s, 'a') || count(*)
split(s, 'a')[0] || count(*)
decode(count(*), 1, 'a', 'b')
nvl2(count(*), 1, 2)
stddev(k) + count(*)
std(k) + count(*)
variance(k) + count(*)
median(k) + count(*)
collect_list(k)[0] + count(*)
count(*) * 100.0 / sum(count(*)) over ()
ntile(2) over (order by count(*))
any_value(s) || count(*)
datediff(d, d) + count(*)
count(*) + rand(1)
avg(`k`)/1
count(*)*count(*)
regexp_replace(s,'a','b') || count(*)
left(s, 1) || count(*)
ucase(s)||count(*)
current_database() || count(*)
count(*) is not null and not k is null
s not ilike 'a' and count(*) > 0
sum(count(*)) over (order by k rows 2 preceding)
dense_rank() over (order by count(*))
row_number() over (order by count(*))
cume_dist() over (order by count(*))
percent_rank() over (order by count(*))
count(*) > 1.5
1.5 < count(*)
count(*) >= 1.0 or count(*) <= 2.5
count(*) < -1.5
count(*) > - 1.5
count(*) > -(1.5)
count(*) = 1.5 or count(*) <> 1.5 or count(*) <=> 1.5
count(*) > 99999999999999999999
99999999999999999999 > count(*)
count(*) < -99999999999999999999 and count(*) > 9223372036854775807
count(*) between 1 and 2.5 and count(*) not between 1.5 and 2
count(*) + 1 > 1.5
count(*) in (1.5)
avg(k) > 1.5
avg(m) > 1.5
sum(k) > 1.5 and sum(f) > 1.5 and sum(m) > 1.5 and max(s) > 1.5
count(*) * 1.5 > 1.5
length(max(s)) > 1.5
(count(*)) > (1.5)
case when count(*) > .5 then 1 end
count(*) > 1.5D or count(*) > 1e0 or count(*) > 15e-1
count(*) / 2 > 1.5
count(*) div 2 > 1.5 and count(*) % 2 > 1.5
-count(*) > 1.5
coalesce(count(*), 0) > 1.5 or coalesce(count(*), 0.5) > 1.5
year(max(d)) > 1.5
count_if(k > 1.5)
count(distinct k) > 1.5
cast(count(*) as int) > 1.5 or cast(count(*) as double) > 1.5
if(count(*) > 1, 1, 2) > 1.5
nullif(count(*), 1) > 1.5
count(*) > 1 + 1.5
case when s > 'a' then count(*) else 0 end > 1.5
case when s > 'a' then count(*) else 0.5 end > 1.5
count(*) filter (where k > 1.5) > 1.5
sum(count(*)) over (order by k) > 1.5
k > 1.5 and count(*) > 0
bi < 1.5 and count(*) > 0
f > 1.5 and count(*) > 0
k in (1.5) and count(*) > 0
count(*) & 1 > 1.5
1.5 > 1.5 or count(*) > 0
2 > 1.5 or count(*) > 0
exists (select 1 from values (1, 'a') as v(x, y) where v.x = n1.k) and count(*) > 0
exists (select n1.k from values (1, 'a') as v(x, y) where v.y > n1.s and v.x = n1.k and n1.k > 0) and count(*) > 0
k in (select v.x from values (1, 'a') as v(x, y) where v.y = n1.s) and count(*) > 0
k not in (select v.x from values (1, 'a') as v(x, y) where v.y = n1.s and v.y > n1.s) and count(*) > 0
not exists (select 1 from values (1, 'a') as n1(x, y) where n1.x = 1) and count(*) > 0
first((select max(v.x) from values (1, 'a') as v(x, y) where v.y = n1.s)) + count(*)
b and b and b and b and count(*) > 0
b or b or (b or b or count(*) > 0) or b and b and not b and b or b or b or b
""".strip().splitlines()

_ROW = (
    "SELECT 1L AS bi, 2 AS k, 'a' AS s, TIMESTAMP '2014-01-01 00:00:00' AS t, DATE '2014-01-01' AS d, 1.5D AS f, "
    "CAST(1.5 AS DECIMAL(10,2)) AS m, true AS b"
)


def test_names_are_those_of_spark(spark: SparkEngine) -> None:
    """Runs all in one query, because a Spark query costs 0.2 s."""
    integers = ("k", "bi")
    sql = f"SELECT {', '.join(ITEMS)} FROM ({_ROW}) AS n1 GROUP BY k, s, t, d, m, f, b, bi"
    names = [column.name for column in spark.columns(EngineQuery(sql, (), {}))]
    different = [
        (item, ours, name)
        for item, name in zip(ITEMS, names, strict=True)
        if (ours := item_name(item, integers, ("n1",))) != name
    ]
    assert different == []


@pytest.mark.parametrize("item", ["count(*) << 1", "array(count(*), 1)", "+ count(*)", "f(x -> count(*))"])
def test_names_without_a_rule_are_as_typed(item: str) -> None:
    assert item_name(item.replace(" ", "  ")) == item


@pytest.fixture(params=["duckdb", "spark"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", request.getfixturevalue(request.param)) as opened:
        for statement in _CUBE.split(";"):
            opened.execute(statement)
        yield opened


_CUBE = """
CREATE CUBE visits (country STRING, events BIGINT MEASURE COUNT, duration BIGINT MEASURE SUM COUNTED BY timed,
  timed BIGINT MEASURE COUNT, at TIMESTAMP TIME);
CREATE TABLE hours (country STRING, events BIGINT, duration BIGINT, timed BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT visits_all OF CUBE visits STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY at AS (dt = 'yyyy-MM-dd-HH'));
INSERT INTO hours VALUES ('us', 3, 9223372036854775807, 2, '2014-01-01-00'),
  ('eu', 4, 9223372036854775805, 2, '2014-01-01-01')
"""
_FROM = "FROM visits WHERE at >= '2014-01-01' AND at < '2014-01-01 02:00'"


def _names(session: Session, sql: str) -> list[str]:
    return [column.name for column in session.execute(sql).columns or ()]


def test_edited_items_keep_their_names(session: Session) -> None:
    items = ["AVG(duration) / 2", "ROUND(AVG( `duration` ))", "CASE WHEN AVG(duration) > 1 THEN 'x' END"]
    wanted = ["(avg(duration) / 2)", "round(avg(duration), 0)", "CASE WHEN (avg(duration) > 1) THEN x END"]
    assert _names(session, f"SELECT {', '.join(items)} {_FROM}") == wanted


def test_names_over_a_cube_are_those_over_a_table(session: Session) -> None:
    items = [
        "COUNT(*) > 1.5",
        "SUM(duration) / 4 < 1.5 OR SUM(timed) > -0.5 OR COUNT(country) >= 2.5",
        "MAX(country) > 'a' AND COUNT(*) > 1 AND country > 'a' AND country < 'z'",
        "COUNT(*) = 1 OR COUNT(*) = 2 OR COUNT(*) = 3 OR COUNT(*) = 4 OR COUNT(*) = 5",
    ]
    asked = f"SELECT {', '.join(items)}"
    assert _names(session, f"{asked} {_FROM} GROUP BY country") == _names(
        session, f"{asked} FROM hours GROUP BY country"
    )


def test_names_of_inner_blocks_can_be_used_outside(session: Session) -> None:
    inner = f"SELECT country, AVG(duration) * 2 {_FROM} GROUP BY country"
    assert _names(session, f"SELECT * FROM ({inner}) AS x") == ["country", "(avg(duration) * 2)"]
    assert _names(session, f"SELECT `(avg(duration) * 2)` FROM ({inner}) AS x") == ["(avg(duration) * 2)"]


def test_the_clock_keeps_its_name(session: Session) -> None:
    assert _names(session, f"SELECT AVG(duration) > 1 OR current_date > DATE '2014-01-01' {_FROM}") == [
        "((avg(duration) > 1) OR (current_date() > DATE '2014-01-01'))"
    ]
    assert _names(session, f"SELECT current_date, now(), CURRENT_TIMESTAMP {_FROM} GROUP BY country") == [
        "current_date()", "now()", "current_timestamp()"
    ]  # fmt: skip
    assert _names(session, f"SELECT concat(current_database(), 'x'), current_database() {_FROM} GROUP BY country") == [
        "concat(current_schema(), x)", "current_schema()"
    ]  # fmt: skip


def test_an_average_of_bigint_does_not_overflow(session: Session) -> None:
    """As AVG of Spark, which sums doubles. SUM fails on both."""
    rows = session.execute(f"SELECT AVG(duration), AVG(duration) FILTER (WHERE country = 'us') {_FROM}").fetch()
    assert [tuple(row) for row in rows] == [(2**64 / 4, 2**63 / 2)]
    with pytest.raises(Error) as caught:
        session.execute(f"SELECT SUM(duration) {_FROM}").fetch()
    assert caught.value.condition == "ARITHMETIC_OVERFLOW"
