"""Times of no zone and intervals that both engines compute over the relation ``e`` of ``proofs``, and queries that both
refuse.
"""

from __future__ import annotations

from contract.proofs import lines

#: Expressions that fail for none of the values.
EXPRESSIONS = lines(r"""
to_timestamp_ntz(if(r = 2, null, ts))
try_to_timestamp(convert_timezone('UTC', ts))
convert_timezone('UTC', ts)
convert_timezone('Z', 'GMT', ts)
convert_timezone('+05:30', '-09:30', if(r in (1,2), null, ts))
convert_timezone('America/New_York', if(year(ts) between 1970 and 2099, ts, null))
convert_timezone('Europe/Berlin', 'America/New_York', if(year(d) between 1971 and 2099, d, null))
convert_timezone('Europe/Berlin', if(r = 8, '2013-02-03 04:05:06', null))
convert_timezone('Europe/Berlin', '2013-02-03 04:05:06+07:00')
typeof(convert_timezone('UTC', ts))
greatest(convert_timezone('UTC', ts), d)
greatest(convert_timezone('UTC', ts), d, ts)
coalesce(convert_timezone('UTC', ts), '2020-01-01 00:00:00+01:00')
case when r > 3 then convert_timezone('UTC', ts) else d end
convert_timezone('UTC', ts) = '2015-01-01 00:00:01+03:00'
convert_timezone('UTC', ts) = if(r = 7, '2015-01-01 00:00:01+03:00', null)
convert_timezone('UTC', ts) between d and ts
convert_timezone('UTC', ts) in (ts, d)
convert_timezone('UTC', ts) <=> ts
array(convert_timezone('UTC', ts), null)
array(convert_timezone('UTC', ts), d)
map(r, convert_timezone('UTC', ts))
map_keys(map(coalesce(convert_timezone('UTC', ts), d, date'2020-01-01'), 1))
struct(convert_timezone('UTC', ts) as a, 1 as b)
cast(struct(convert_timezone('UTC', ts) as a, 1 as b) as string)
array_distinct(array(convert_timezone('UTC', ts), d))
array_contains(array(convert_timezone('UTC', ts)), ts)
array_max(array(convert_timezone('UTC', ts), d))
hash(convert_timezone('UTC', ts), array(convert_timezone('UTC', ts)))
xxhash64(convert_timezone('UTC', ts))
concat(convert_timezone('UTC', ts), 'x')
convert_timezone('UTC', ts) || 'x'
concat_ws('-', convert_timezone('UTC', ts))
length(convert_timezone('UTC', ts))
upper(convert_timezone('UTC', ts))
nullif(convert_timezone('UTC', ts), d)
nvl2(convert_timezone('UTC', ts), convert_timezone('UTC', ts), d)
isnull(convert_timezone('UTC', ts))
if(r = 2, null, convert_timezone('UTC', ts)) + interval 1 day
if(r = 2, null, convert_timezone('UTC', ts)) + interval 1 month
if(r = 1, null, convert_timezone('UTC', ts)) - interval 1 month
if(r = 2, null, convert_timezone('UTC', ts)) + interval '1:02' minute to second
interval 1 hour + if(r = 2, null, convert_timezone('UTC', ts))
if(r = 2, null, convert_timezone('UTC', ts)) + (ts - ts)
if(r = 2, null, convert_timezone('UTC', ts)) + make_dt_interval(r)
convert_timezone('UTC', ts) - ts
convert_timezone('UTC', ts) - d
d - convert_timezone('UTC', ts)
convert_timezone('UTC', ts) - convert_timezone('UTC', ts)
date_trunc('hour', convert_timezone('UTC', ts))
trunc(convert_timezone('UTC', ts), 'month')
date_format(convert_timezone('UTC', ts), 'yyyy-MM-dd HH:mm:ss.SSSSSS')
to_char(convert_timezone('UTC', ts), 'yyyy-MM-dd HH:mm')
hour(convert_timezone('UTC', ts))
second(convert_timezone('UTC', ts))
dayofweek(convert_timezone('UTC', ts))
extract(second from convert_timezone('UTC', ts))
extract(year from convert_timezone('UTC', ts))
date_part('hour', convert_timezone('UTC', ts))
last_day(convert_timezone('UTC', ts))
add_months(if(r=2,null,convert_timezone('UTC', ts)), 1)
date_add(if(r=2,null,convert_timezone('UTC', ts)), 1)
date_sub(if(r=1,null,convert_timezone('UTC', ts)), 1)
date_add(MONTH, 1, if(r=2,null,convert_timezone('UTC', ts)))
timestampadd(HOUR, r, if(r=2,null,convert_timezone('UTC', ts)))
timestampdiff(HOUR, convert_timezone('UTC', ts), ts)
datediff(convert_timezone('UTC', ts), d)
months_between(convert_timezone('UTC', ts), d)
unix_timestamp(convert_timezone('UTC', ts))
to_unix_timestamp(convert_timezone('UTC', ts))
unix_seconds(convert_timezone('UTC', ts))
unix_micros(convert_timezone('UTC', ts))
to_date(convert_timezone('UTC', ts))
to_timestamp(convert_timezone('UTC', ts))
try_to_date(convert_timezone('UTC', ts))
to_timestamp_ltz(convert_timezone('UTC', ts))
to_timestamp_ntz(ts)
to_timestamp_ntz(d)
to_timestamp_ntz('2024-01-02 03', 'yyyy-MM-dd HH')
to_timestamp_ltz('2024-01-02 03', 'yyyy-MM-dd HH')
to_timestamp_ntz('2024-01-02 03:04:05+01:00')
to_utc_timestamp(convert_timezone('UTC', ts), 'UTC')
next_day(if(r=2,null,convert_timezone('UTC', ts)), 'MON')
dayname(convert_timezone('UTC', ts))
monthname(convert_timezone('UTC', ts))
timestamp(convert_timezone('UTC', ts))
date(convert_timezone('UTC', ts))
string(convert_timezone('UTC', ts))
cast(ts as timestamp_ntz)
cast(d as timestamp_ntz)
cast(cast(ts as timestamp_ntz) as timestamp)
cast(cast(ts as timestamp_ntz) as date)
cast(cast(ts as timestamp_ntz) as string)
try_cast(y as timestamp_ntz)
cast('2024-01-02 03:04:05 UTC' as timestamp_ntz)
cast('2024-01-02 03:04:05+1' as timestamp_ntz)
cast('2024-01-02T03:04:05-01:30' as timestamp_ntz)
timestamp_ntz'2024-01-02 03:04:05.120'
timestamp_ntz'2024-01-02 03:04:05Z'
timestamp_ntz'2024-01-02'
timestamp_ltz'2024-01-02 03:04:05'
current_timezone()
convert_timezone('UTC', null)
convert_timezone(null, ts)
convert_timezone('Europe/Berlin', null, ts)
convert_timezone(null, 'Europe/Berlin', ts)
convert_timezone('Europe/Berlin', 'UTC', '2024-03-31 02:30:00')
convert_timezone('Europe/Berlin', 'UTC', '2024-10-27 02:30:00')
convert_timezone('America/New_York', 'Europe/Berlin', '2024-03-10 02:30:00')
convert_timezone('America/New_York', 'Europe/Berlin', '2024-11-03 01:30:00')
timestamp_ntz'2024-01-02 03:04:05 UTC'
cast('2024-01-02 03:04:05.5' as timestamp_ntz) = timestamp_ntz'2024-01-02 03:04:05.5 +01:00'
try_cast('x' as timestamp_ntz)
cast(if(r = 2, y, null) as timestamp_ntz)
date'2024-01-31' + interval '1' year * r
string(make_ym_interval(i8))
string(make_ym_interval())
string(make_ym_interval(178956970, 7))
string(make_ym_interval(-178956970, -8))
string(make_ym_interval(null, r))
string(make_ym_interval(r, null))
string(interval 1 year 2 months)
string(-interval 1 month)
string(-make_ym_interval(r, i8))
string(negative(make_ym_interval(r, i8)))
string(interval '1-2' year to month + interval '3' month)
string(interval '1' year - make_ym_interval(r))
string(make_ym_interval(r, 1) + interval 1 month)
string(interval '1-2' year to month * r)
string(i8 * interval '1' year)
string(interval '1' year * 2L)
string(make_ym_interval(r, i8) / 4)
string(make_ym_interval(0, i8) / 2)
string(make_ym_interval(0, i8) / -2)
string(make_ym_interval(0, i8) / if(i8 = 0, null, i8))
string(interval '1' year * cast(null as int))
string(interval '1' year + null)
string(null - interval '1' year)
string(null * interval '1' year)
string(interval '1' year / null)
string(coalesce(if(r > 3, interval '1' year, null), interval '1' month))
string(case when k then interval '1' year else make_ym_interval(r) end)
string(greatest(interval '1' year, make_ym_interval(0, r)))
string(interval '-0-3' year to month)
string(interval '0' year)
string(interval '178956970-7' year to month)
string(interval '-178956970-8' year to month)
string(interval '178956970' year)
cast(interval '-14' month as string)
cast(interval '-14' month as int)
cast(make_ym_interval(0, i8) as bigint)
cast(interval '2' year as tinyint)
smallint(make_ym_interval(0, i8))
extract(year from make_ym_interval(0, i8))
extract(month from make_ym_interval(0, i8))
extract(months from interval '14' month)
extract(years from interval '2' year)
date_part('year', make_ym_interval(r, 2))
datepart('month', make_ym_interval(r, 2))
make_ym_interval(r, 2) = interval '14' month
make_ym_interval(r, 2) > interval '1' year
make_ym_interval(r, 2) <=> null
make_ym_interval(r, 2) in (interval '14' month, interval '2' year)
make_ym_interval(r, 2) between interval '14' month and interval '2' year
isnull(make_ym_interval(i8))
typeof(interval '1' year)
typeof(interval '1' month)
typeof(make_ym_interval(r))
typeof(interval '1' year * 2)
typeof(interval '1' year / 2)
typeof(interval '1' year + interval '1' month)
typeof(interval '1' year + interval '1' year)
hash(interval '1' year, make_ym_interval(i8), interval '1 02:03:04' day to second, make_dt_interval(i8))
xxhash64(interval '1' year, make_ym_interval(i8), ts - ts)
concat(make_ym_interval(i8), 'x')
make_ym_interval(i8) || 'x'
cast(array(interval '1' year, make_ym_interval(i8)) as string)
cast(struct(make_ym_interval(i8) as a, 1) as string)
cast(map(r, make_ym_interval(i8)) as string)
array(interval '1' year, make_ym_interval(i8))[1] = interval '1' year
string(element_at(array(interval '1' year, make_ym_interval(i8)), 1))
size(array(make_ym_interval(i8)))
if(r in (1, 2), null, d) + make_ym_interval(0, r)
if(r in (1, 2), null, d) - make_ym_interval(0, i8)
if(r in (1, 2), null, ts) + make_ym_interval(0, r)
if(r in (1, 2), null, ts) - make_ym_interval(0, r)
make_ym_interval(0, r) + if(r in (1, 2), null, ts)
make_ym_interval(0, r) + if(r in (1, 2), null, d)
convert_timezone('UTC', if(r in (1, 2), null, ts)) + make_ym_interval(0, 1)
date'2024-01-31' + (interval '1' year + interval 1 month)
date'2024-01-31' - (interval '1' year / 5)
interval 1 month + make_ym_interval(0, 1) + date'2024-01-31'
date'2024-01-31' + (- interval 1 month)
timestamp'2024-01-31 10:00:00' + interval 1 month / 2
timestamp'2024-01-31 10:00:00' + interval '1-1' year to month / 2
string(+ make_ym_interval(1))
string(interval 1 year 2 months)
string(interval 1 year + interval 2 months)
string(interval 1 day 2 hours 3 minutes)
string(interval '1' day '2' hours)
string((interval 1 year 2 months))
string(interval 1 day + interval 2 hours)
string(- interval 1 day 2 hours)
string(interval 1 day 2 hours * 2)
date'2024-01-31' + (interval '1' year + interval 1 month)
date'2024-01-31' + interval '1' year + interval 1 month
date'2024-01-31' + interval 1 year 1 month
date'2024-01-31' - (interval 1 year 1 month)
timestamp'2024-01-31 10:00:00' + (interval 1 day + interval 2 hours)
timestamp'2024-01-31 10:00:00' + interval 1 day 2 hours
timestamp'2024-01-31 10:00:00' - interval 1 day 2 hours 3 seconds
interval 1 day 2 hours + timestamp'2024-01-31 10:00:00'
date'2024-01-31' + (interval 1 day + interval 2 day)
date'2024-01-31' - (interval 1 day + interval 2 day)
date'2024-01-31' + interval 1 day 2 days
string(+ make_ym_interval(1))
string(+ make_dt_interval(1))
string(- make_dt_interval(r))
string(null * interval '1' year)
string(interval '1' year / null)
string(null * make_dt_interval(r))
string(interval 1 day / null)
timestamp'2024-01-31 10:00:00' + 2 * interval 1 day 2 hours
timestamp'2024-01-31 10:00:00' + (interval 1 day + interval 2 hours) * 2
interval 1 day 2 hours
interval 1 day + interval 2 hours
""")

QUERIES = lines(r"""
select max(convert_timezone('UTC', ts)), min(convert_timezone('UTC', ts)), count(distinct convert_timezone('UTC',
  ts)), approx_count_distinct(convert_timezone('UTC', ts)) from e
select percentile_approx(convert_timezone('UTC', ts), 0.5) from e
select max_by(r, convert_timezone('UTC', ts)), max_by(convert_timezone('UTC', ts), r),
  collect_list(convert_timezone('UTC', ts)) from (select * from e where r = 3)
select array_agg(convert_timezone('UTC', ts)), mode(convert_timezone('UTC', ts)), first(convert_timezone('UTC', ts)),
  listagg(convert_timezone('UTC', ts)) from (select * from e where r = 3)
select convert_timezone('UTC', ts) as n, count(*) from e group by 1 order by 1
select distinct convert_timezone('UTC', ts) as n from e order by n desc
select a.r from e a join e b on convert_timezone('UTC', a.ts) = b.ts order by a.r
select convert_timezone('UTC', ts) from e union all select ts from e
select convert_timezone('UTC', ts) from e except select ts from e
select r, count(*) over (order by convert_timezone('UTC', if(r=2,null,ts)) range between interval 1 day preceding and
  current row) from e order by r
select r, sum(r) over (partition by convert_timezone('UTC', ts)) from e order by r
select * from (select k, convert_timezone('UTC', ts) as n from e) pivot (max(n) for k in (true, false))
select * from values (timestamp_ntz'2024-01-02 03:04:05'), (null) as x(a)
select r from e where convert_timezone('UTC', ts) > '2010-01-01' order by r
select r from e where convert_timezone('UTC', ts) in (select ts from e) order by r
select (select max(convert_timezone('UTC', ts)) from e) as m
select transform(array(convert_timezone('UTC', ts)), x -> x + interval 1 day) from e where r > 2 order by r
select explode(array(convert_timezone('UTC', ts))) from e where r = 7
select bool_or(convert_timezone('UTC', ts) > d) from e
select unix_millis(convert_timezone('UTC', ts)) from e
select elt(1, convert_timezone('UTC', ts), 'x') from e
select decode(convert_timezone('UTC', ts), ts, 1, 2) from e order by r
select r from e where convert_timezone('UTC', ts) like '2015%' order by r
select array_agg(convert_timezone('UTC', ts)) from e where r in (1, 7) group by r order by r
select grouping(convert_timezone('UTC', ts)), count(*) from e group by rollup (convert_timezone('UTC', ts)) order by
  1, 2
select string(sum(make_ym_interval(i8))), string(max(make_ym_interval(i8))), string(min(interval '1' year * i8)),
  count(distinct make_ym_interval(i8)) from e
select string(sum(interval '1' year)), typeof(sum(interval '1' year)) from e
select string(first(make_ym_interval(r))), string(max_by(make_ym_interval(r), r)), string(mode(make_ym_interval(r)))
  from e where r = 3
select cast(collect_list(make_ym_interval(r)) as string) from e where r = 3
select string(make_ym_interval(i8 % 3)) as y, count(*) from e group by make_ym_interval(i8 % 3) order by
  make_ym_interval(i8 % 3)
select string(y) from (select distinct make_ym_interval(i8) as y from e) order by y desc
select a.r, b.r from e a join e b on make_ym_interval(a.i8) = make_ym_interval(b.i8) order by a.r
select string(y) from (select make_ym_interval(r) as y from e union all select interval '1' month union select
  interval '1' year) order by y
select r, string(sum(make_ym_interval(r)) over (order by r)), string(lag(make_ym_interval(r)) over (order by r)) from
  e order by r
select d + y from (select make_ym_interval(0, r) as y, d from e where r > 3) order by 1
select max(x) = interval '2' year from values (interval '1' year), (interval '2' year) as t(x)
select string(x) from values (interval '1' year), (interval '2' month), (null) as t(x)
with c as (select make_ym_interval(i8) as y, r from e) select r from c where y > interval '1' year order by r
select string((select max(make_ym_interval(r)) from e))
select approx_count_distinct(make_ym_interval(r)) from e
select cast(transform(array(make_ym_interval(r)), x -> x + interval 1 month) as string) from e order by r
select cast(filter(array(make_ym_interval(r)), x -> x > interval 3 year) as string) from e order by r
select count(*) from e where make_ym_interval(r) in (select make_ym_interval(i8) from e)
select count_if(make_ym_interval(r) > interval 2 year) from e
select string(y) from (select make_ym_interval(i8) as y, r from e) where y > interval '1' year order by r
select string(z) from e lateral view explode(array(make_ym_interval(r))) x as z order by z
""")

FAILING = lines(r"""
select convert_timezone('UTC', ts) + 1 from e
select convert_timezone('UTC', ts) * 2 from e
select 1 + convert_timezone('UTC', ts) from e
select convert_timezone('UTC', ts) = 1 from e
select timestamp_ntz'x' from e
select convert_timezone('UTC', 1) from e
select convert_timezone('UTC', true) from e
select avg(convert_timezone('UTC', ts)) from e
select sum(convert_timezone('UTC', ts)) from e
select theta_sketch_estimate(theta_sketch_agg(convert_timezone('UTC', ts))) from e
select least(convert_timezone('UTC', ts), '2013-01-01') from e where r > 3
select cast('x' as timestamp_ntz) from e
select to_timestamp_ntz('x') from e
select make_ym_interval(1) = interval '1' day from e
select make_ym_interval(1) = 14 from e
select coalesce(interval '1' year, interval '1' day) from e
select extract(day from make_ym_interval(1)) from e
select extract(year from interval '14' month) from e
select extract(month from interval '2' year) from e
select string(make_ym_interval(178956970, 7) + interval 1 month) from e
select string(make_ym_interval(-178956970, -8) - interval 1 month) from e
select string(make_ym_interval(-178956970, -8) / -1) from e
select string(interval '1' year / 0) from e
select string(interval '1' year / i8) from e
select string(sum(make_ym_interval(178956970, i8))) from e where r > 3
select string(make_ym_interval(178956970, 8)) from e
select string(- make_ym_interval(-178956970, -8)) from e
""")
