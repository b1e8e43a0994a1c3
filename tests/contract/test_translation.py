"""DuckDB answers what Spark answers: every construct of the allow-list, evaluated on both.

Values, types and column names must be equal. What is not on the list is refused (``tests/unit/exec``).
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from contract.conftest import columns, parquet, scan_file

from rewriter.errors import DataError
from rewriter.exec.duckdb import DuckDBEngine
from rewriter.exec.engine import EngineQuery, Relation
from rewriter.exec.spark import SparkEngine


def _at(*fields: int) -> dt.datetime:
    return dt.datetime(*fields, tzinfo=dt.UTC)  # type: ignore[misc]


#: Rows with NULLs, negative and odd values, dates before 1970 and on a leap day.
_TABLE = pa.table(
    {
        "id": pa.array([1, 2, 3, 4, 5], pa.int32()),
        "b": pa.array([10, None, -7, 2**40, 0], pa.int64()),
        "d": pa.array([1.5, -2.5, None, 1e10, 0.0], pa.float64()),
        "m": pa.array(
            [Decimal("1.25"), Decimal("-2.50"), None, Decimal("12345678.90"), Decimal("0.00")], pa.decimal128(10, 2)
        ),
        "s": pa.array(["abc", "Ünï", None, " x% y ", ""]),
        "n": pa.array(["12", " -7 ", None, "1.5", "zz"]),
        "f": pa.array([True, False, None, True, False]),
        "dd": pa.array([dt.date(2013, 1, 31), dt.date(2016, 2, 29), None, dt.date(1969, 12, 31), dt.date(2000, 1, 1)]),
        "t": pa.array(
            [
                _at(2013, 1, 31, 23, 59, 59, 123456),
                _at(2016, 2, 29, 5),
                None,
                _at(1969, 12, 31, 23, 0, 0, 1),
                _at(2000, 1, 1),
            ],
            pa.timestamp("us", "UTC"),
        ),
        "ym": pa.array(["2013-01", "2016-02", None, "1969-12", "2000-01"]),
        "h": pa.array([5, 23, None, 0, 12], pa.int16()),
    }
)
_COLUMNS = columns(
    "id int", "b bigint", "d double", "m decimal(10,2)", "s string", "n string", "f boolean", "dd date", "t timestamp",
    "ym string", "h smallint",
)  # fmt: skip
_PARAMETERS = {
    "p": 5, "q": "abc", "r": 2.5, "x": Decimal("1.50"), "y": dt.date(2013, 1, 31), "z": _at(2013, 1, 1),
}  # fmt: skip

EXPRESSIONS = r"""
id+1
id-b
id*2
b*id
id/2
b/id
d/2
id%3
-7%3
b%id
d%2
-id
-b
d+id
d*2
m+1
m+m
m*m
m*2
m-id
m+b
d*m
m+0.5
1.5+2
1.50
0.5
3000000000
1L
1.5D
-5
-1.5
2147483647
-2147483648
id=1
b>id
d>=m
m=1.25
m>1
id<>2
id!=2
id==2
b<=>null
b<=>10
d<=>d
s='abc'
s<'b'
s>ym
t>='2013-01-01'
t='2016-02-29 05:00:00'
t<'2013-02-01T00:00:00Z'
dd='2013-01-31'
dd>t
dd<=timestamp'2013-01-31 00:00:00'
h='5'
h>4
id in (1,2,3)
id in (1,b)
s in ('abc','')
id not in (1,null)
dd in ('2013-01-31')
dd between '2000-01-01' and '2013-12-31'
id between 2 and 4
not f
f and id>1
f or b is null
f is true
f is not true
f is null
b is not null
s is null
case when id>2 then 'x' else s end
case id when 1 then b when 2 then 5 end
case when f then id else d end
case when f then id end
if(f,id,b)
coalesce(b,id)
coalesce(b,0)
coalesce(s,'-')
nvl(b,id)
ifnull(s,'x')
nullif(id,2)
nullif(s,'')
coalesce(m,0)
coalesce(d,id)
cast(id as string)
cast(id as bigint)
cast(b as double)
cast(-1.9 as int)
cast(m as int)
cast(m as string)
cast(m as double)
cast(m as decimal(12,1))
cast(m as decimal(12,4))
cast(id as decimal(10,2))
cast(dd as string)
cast(t as string)
cast(t as date)
cast(dd as timestamp)
cast(f as string)
cast(f as int)
cast(id as boolean)
cast(h as tinyint)
cast('12' as int)
cast(' 12 ' as bigint)
cast('1.5' as double)
cast('1.555' as decimal(5,2))
cast('2013-01-05' as date)
cast('2013-01-05 10:00:00' as timestamp)
cast('2013-01-05T10:00:00Z' as timestamp)
try_cast(n as int)
try_cast(n as double)
try_cast(n as decimal(5,1))
try_cast(s as date)
cast('true' as boolean)
string(id)
double(id)
date(t)
id::bigint
cast(null as int)
cast(concat(ym,'-01') as date)
cast(concat(ym,'-15 10:00:00') as timestamp)
lower('ABC')
upper('abc')
trim(s)
ltrim(s)
rtrim(s)
length(s)
char_length(s)
concat(s,'-',n)
s||n
concat(id,s)
s||id
substring(s,1,2)
substring(s,2,100)
replace(s,'b','X')
s like 'a%'
s like '%\%%'
s not like '_bc'
s rlike '^[a-z]+$'
ym rlike '^[0-9]{4}-[0-9]{2}$'
startswith(s,'a')
s like '%x\%%'
abs(id)
abs(m)
abs(d)
abs(b)
round(d)
round(id)
floor(d)
ceil(d)
ceiling(d)
floor(id)
floor(-1.5D)
year(t)
year(dd)
quarter(t)
month(dd)
day(t)
dayofmonth(t)
hour(t)
minute(t)
second(t)
dayofweek(dd)
dayofyear(t)
weekofyear(dd)
weekday(dd)
extract(year from t)
extract(month from dd)
date_trunc('year',t)
date_trunc('QUARTER',t)
date_trunc('month',dd)
date_trunc('week',t)
date_trunc('day',t)
date_trunc('hour',t)
date_trunc('minute',t)
date_trunc('second',t)
trunc(dd,'MM')
trunc(t,'YEAR')
trunc(dd,'week')
trunc(dd,'quarter')
to_date(t)
to_date(ym||'-03')
to_date(ym,'yyyy-MM')
to_date('20130105','yyyyMMdd')
to_timestamp(ym,'yyyy-MM')
to_timestamp(concat(ym,' 05'),'yyyy-MM dd')
to_timestamp('2013-01-05 10:20','yyyy-MM-dd HH:mm')
to_timestamp('2013-01-05T10','yyyy-MM-dd''T''HH')
to_timestamp(cast(t as string))
date_format(t,'yyyy-MM-dd HH:mm:ss')
date_format(dd,'yyyyMM')
date_format(t,"yyyy'%Q'MM")
make_timestamp(2013,1,2,3,4,5)
make_timestamp(year(t),month(t),1,0,0,0)
make_date(2013,id,5)
add_months(dd,1)
add_months(dd,-13)
date_add(dd,1)
date_sub(dd,30)
date_add(t,1)
datediff(dd,'2013-01-01')
datediff(t,dd)
last_day(dd)
t + interval 1 day
t - interval '7' day
dd + interval 1 month
dd + interval 3 hours
t + interval 90 minutes
t + interval '2 weeks'
t - interval 1 year
t + interval 30 seconds
dd + interval 1 year
isnull(s)
isnotnull(s)
null
true
'lit'
'it''s'
"dq"
'a\nb'
r'a\nb'
date '2013-01-05'
timestamp '2013-01-05 10:00:00'
timestamp '2013-01-05 10:00:00.5'
timestamp '2013-01-05 10:00:00+02:00'
date'2013-1-5'
:p
:q
:r
:x
:y
:z
id + :p
s = :q
t > :z
dd = :y
T.ID
`id`
t.`S`
ID as Foo
id x
(id)
(id+1)*2
(select max(id) from t)
exists(select 1 from t)
id in (select id from t where id>2)
upper('straße') IS NULL OR true
""".strip().splitlines()

#: Their columns have names of Spark's that we do not know.
UNNAMED = ["1e3", "dd - interval 2 days", "interval 1 day + dd"]

QUERIES = r"""
select count(*), count(1), count(b), count(distinct s), sum(id), sum(b), sum(d), sum(m), avg(id) from t
select avg(d), min(s), max(t), min(dd), max(m), min(f) from t
select sum(h), avg(h), sum(distinct id), count(distinct id), max(id)+1 from t
select sum(id) filter (where id>2), count(*) filter (where f) from t
select f, count(*) from t group by f
select f, count(*) c from t group by 1 having count(*) > 1 order by c desc, f
select f as g, sum(id) x from t group by g having x > 3
select year(dd) y, count(*) from t group by year(dd) order by y
select date_trunc('month', t) mm, count(*) n from t where t >= '1970-01-01' group by 1 order by mm desc limit 2
select date_trunc('day', t), count(*) from t group by date_trunc('day', t)
select upper(s), count(*) from t where s <> 'Ünï' group by upper(s)
select distinct f from t order by f
select distinct f, id > 2 as g from t order by g, f desc
select id, s from t order by s desc nulls first, id limit 3
select id, s from t order by s, id limit 2 offset 1
select id, b from t order by b
select id, b from t order by b desc
select id from t order by id+b desc nulls last, id
select * from t where id = 1
select t.*, id+1 from t where id = 1
select a.id, b.s from t a join t b on a.id = b.id + 1
select a.id, b.s from t a left join t b on a.id = b.id + 3 order by 1
select a.id, b.id from t a right join t b on a.id = b.id + 3
select a.id, b.id from t a full outer join t b on a.id = b.id + 3
select count(*) from t a cross join t b
select count(*) from t a, t b where a.id < b.id
select id, s, n from t join (select id, n as n2 from t) u using (id) order by id
select * from (select id, s from t) join (select id, n from t) u using (id) order by id
select * from (select id, s from t) x left join (select id+2 as id, n from t) u using (id) order by id
with x as (select id, b from t where id > 1), y(k) as (select id from x) select * from y union all select 100
select id from t union select 1 union all select 2.5
select id from t except select 1
select id from t intersect select b from t
select id, 'x' from t union all select b, s from t order by 1 limit 3
select null from t union all select id from t
select * from (values (1,'a'),(2,null)) as v(x,y)
values (1,'a'),(2.5,null)
select x.id from t x where exists (select 1 from t y where y.id = x.id + 1)
select x.id from t x where not exists (select 1 from t y where y.id = x.id + 1 and y.f)
select id from t where id not in (select b from t)
select id from t where b in (select b from t)
select id, (select count(*) from t y where y.id < x.id) c from t x
select coalesce(sum(id),0) from t where false
select sum(id), count(*) from t where false
select id from t where false
select 1 as a, 2 as a
select substr(s, 2) as x, substr(s, 1, 1) as y from t
select sum(id)/count(*) r, sum(case when f then id end) q from t
select id, id from t where id=1
select max(d), min(d) from t having max(d) > 5
select s from t where s like '%' order by length(s), s
from t select id where id=2
select /*+ broadcast(t) */ id from t where id=2
select id as b from t order by b
select -id as id from t order by id
select id from (select id from t order by id desc limit 2)
(select id from t) union all (select id from t where id=1)
select id % 2 as p, count(*) from t group by id % 2 order by p
select id % 2 as p, sum(b) from t group by id % 2 order by sum(b) desc
select concat(ym, '-', s) from t
select count(*) from t where t between timestamp'2000-01-01 00:00:00' and timestamp'2014-01-01 00:00:00'
select null/0
""".strip().splitlines()

FAILING = r"""
select cast(d as int) from t
select cast(d as smallint) from t
select cast(n as int) from t
select cast(b as int) from t
select cast('x' as int)
select cast('' as double)
select cast(s as date) from t
select cast(concat(ym, '-05 25:00:00') as timestamp) from t
select 9223372036854775807 + id from t
select b * 9223372036854775807 from t
select sum(x) from (select 9223372036854775807 as x union all select 1)
select 1/0
select d/(id-id) from t
select b % 0 from t
select to_timestamp(s, 'yyyy') from t
select to_date('2013-02-30', 'yyyy-MM-dd')
select make_date(2013, 13, 1)
select make_timestamp(2013, 1, 32, 0, 0, 0)
""".strip().splitlines()


@pytest.fixture(scope="module")
def relation(tmp_path_factory: pytest.TempPathFactory) -> Relation:
    path: Path = tmp_path_factory.mktemp("translation") / "t.parquet"
    return Relation("t", "parquet", _COLUMNS, (), (scan_file(parquet(path, _TABLE)),))


def _query(sql: str, relation: Relation) -> EngineQuery:
    used = {name: value for name, value in _PARAMETERS.items() if re.search(rf":{name}\b", sql)}
    return EngineQuery(sql, (relation,), used)


def _rows(table: pa.Table, ordered: bool) -> list[str]:
    rows = [repr(row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]
    return rows if ordered else sorted(rows)


def test_expressions(spark: SparkEngine, duckdb: DuckDBEngine, relation: Relation) -> None:
    """All in one query each, because a Spark query costs 0.2 s."""
    listed = [*EXPRESSIONS, *(f"{expression} AS u{i}" for i, expression in enumerate(UNNAMED))]
    sql = f"SELECT {', '.join(listed)} FROM t ORDER BY t.id"
    ours, theirs = (engine.execute(_query(sql, relation)).read_all() for engine in (duckdb, spark))
    different = [
        (expression, mine, other)
        for i, expression in enumerate(listed)
        for mine, other in [
            (
                (table.schema.names[i], str(table.schema.types[i]), repr(table.column(i).to_pylist()))
                for table in (ours, theirs)
            )
        ]
        if mine != other
    ]
    assert different == []


@pytest.mark.parametrize("sql", QUERIES)
def test_queries(spark: SparkEngine, duckdb: DuckDBEngine, relation: Relation, sql: str) -> None:
    ours, theirs = (engine.execute(_query(sql, relation)).read_all() for engine in (duckdb, spark))
    assert ours.schema == theirs.schema
    ordered = re.search(r"order by [^)]*$", sql) is not None
    assert _rows(ours, ordered) == _rows(theirs, ordered)


@pytest.mark.parametrize("sql", FAILING)
def test_values_at_fault(spark: SparkEngine, duckdb: DuckDBEngine, relation: Relation, sql: str) -> None:
    found = []
    for engine in (duckdb, spark):
        with pytest.raises(DataError) as caught:
            engine.execute(_query(sql, relation))
        found.append(caught.value.condition.split(".")[0])
    assert found[0] == found[1]
