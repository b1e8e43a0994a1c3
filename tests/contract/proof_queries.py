"""Queries that both engines run over the relations of ``proofs``, and queries that both refuse because of a value."""

from __future__ import annotations

from contract.proofs import lines

ANSWERED = lines(r"""
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
select x.*, y.* from (select id, s from t) x natural join (select n, id from t) y
select x.*, y.* from (select s, id from t) x join (select n, id from t) y using (id)
select y.*, x.* from (select s, id from t) x join (select n, id from t) y using (id)
select *, y.* from (select s, id from t) x join (select n, id from t) y using (id)
select x.*, y.* from (select s, id from t) x left join (select n, id + 2 as id from t) y using (id)
select x.*, y.* from (select s, id from t) x right join (select n, id + 2 as id from t) y using (id)
select x.*, y.* from (select s, id from t) x full join (select n, id + 2 as id from t) y using (id)
select x.*, y.* from (select s, id, h from t) x join (select n, h, id from t) y using (h, id)
select x.*, y.*, z.* from (select s, id from t) x join (select n, id from t) y using (id) join (select h, id from t) z
  using (id)
select x.*, y.*, z.* from (select s, id, h from t) x join (select n, id from t) y using (id) join (select ym, h from
  t) z using (h)
select x.*, y.*, z.* from (select s, id from t) x join (select n, h, id from t) y using (id) right join (select ym, h
  from t) z using (h)
select * from (select s, id, h from t) x join (select n, id from t) y using (id) join (select ym, h from t) z using (h)
select * from (select s, id from t) x left semi join (select n, id from t where id > 1) y using (id)
select x.* from (select s, id from t) x left anti join (select n, id from t where id > 1) y using (id)
select date_trunc('QUARTER', t), trunc(dd, 'MM') from t group by date_trunc('QUARTER', t), trunc(dd, 'MM')
select date_trunc('MON', t), count(*) from t group by 1
select k, o, grouping(o), grouping_id(k, o) from e group by rollup(k, o)
select k, o, grouping(k), grouping_id(k, o) from e group by k, rollup(o)
select k, o, grouping_id(o, k) from e group by grouping sets ((o), (k), ())
select k, o, grouping_id(k, o) from e group by k, o grouping sets ((o), (k))
select k, sum(r) from e group by rollup(k) having grouping_id(k) = 1
select if(null, 1, 2), null and true, not null, null or null
select id from t where null and true
select f, count(*) from t group by f having null
select i64 + 1, i8 * 1Y, -i64, abs(i8), -i8 from e where r > 2
select count(i64 + 1), sum(i32 + 1), count(-i8), count(abs(i64)) from e where r > 2
select r from e where r > 2 and -i64 < 0 and i8 + 1Y is not null
select avg(m), avg(p), sum(m), sum(p), avg(i8), count(m), count_if(k), bool_and(k), bool_or(k), every(k), some(k),
  any(k) from e
select k, avg(m) from e group by k
select avg(m) from e where false
select avg(distinct i8), sum(distinct m), mean(i16), max(k), min(k), max(s), min(s), max(f64), min(f64) from e
select avg(m) filter (where i8 > 0), sum(m) filter (where false) from e
select k, count(*), grouping(k) from e group by rollup(k)
select k, o, count(*) n from e group by rollup(k, o)
select k, r % 2 as q, count(*) n, grouping_id(k, r % 2) g from e group by cube(k, r % 2)
select k, r % 2 as q, sum(i8) from e group by grouping sets ((k), (r % 2), ())
select k, r % 2 as q, sum(i8) from e group by k, q with rollup
select k, count(*) from e group by k with cube
select k, count(*) from e where false group by rollup(k)
select k, r % 2 as q, count(*) from e group by k, rollup(r % 2)
select k, count(*) from e group by rollup(1)
select k, sum(r) from e group by rollup(k) having sum(r) > 20
select k, sum(r) from e group by rollup(k) having grouping(k) = 1
select k, grouping(k) as g from e group by rollup(k) order by g, k
select id, sum(id) from t group by rollup(id)
select id, id + 1, count(*) from t group by rollup(id)
select s, f, sum(b) from t group by cube(s, f)
select s, f, sum(b) from t group by rollup((s, f))
select coalesce(s, 'all') x, count(*) from t group by rollup(s)
select r, row_number() over (order by i32 desc, r) x, rank() over (order by k) y, dense_rank() over (order by k
  desc) z from e
select r, rank() over (partition by k order by i8 desc nulls first) y, percent_rank() over (order by k) p,
  cume_dist() over (order by k) c from e
select r, ntile(5) over (order by r) x from e
select r, lag(i8) over (order by r) x, lag(i8, 2) over (order by r) y, lag(r, 1, 0) over (order by r) z, lead(s,
  2, 'none') over (order by r desc) w from e
select r, lag(m, 0) over (order by r) x, lag(r, -1) over (order by r) y from e
select r, sum(r) over (order by k) x, sum(r) over (partition by k) y, sum(i8) over (order by r rows between 1
  preceding and 1 following) z from e
select r, count(*) over () x, avg(i8) over (order by r rows between unbounded preceding and current row) y, max(s)
  over (partition by k order by r) z from e
select r, min(g) over (order by r rows 2 preceding) x, max(g) over (order by g) y from e
select r, sum(m) over (order by r) x, avg(m) over (order by r) y, avg(m) over (order by r rows between 2 preceding
  and 1 preceding) z from e
select r, sum(r) over (order by k range between unbounded preceding and current row) x, sum(r) over (order by k
  range between current row and unbounded following) y from e
select r, count(i8) over (partition by k order by r rows between current row and unbounded following) x from e
select r, f64, row_number() over (order by f64, r) x from e
select k, sum(r), sum(sum(r)) over (order by k) x, rank() over (order by sum(r) desc) z from e group by k
select * from (select r, row_number() over (partition by k order by r) n from e) where n = 1
select r from e order by f64, r
select r from e order by f64 desc, r
select r from e order by i8 nulls last, r
select r from e order by i8 desc nulls first, r
select r from e order by s, r
select r from e order by s desc, r
select r, w from e order by w desc nulls last
select distinct f64 from e
select f64, count(*) from e group by f64
select f32, count(*) from e group by f32
select count(distinct f64) from e
select f64 from e union select f64 from e
select f64 from e intersect select f64 from e
select f64 from e except select 0D
select k from e intersect all select k from e where r > 5
select k from e except all select k from e where r > 5
select k from e minus select true
select r from e minus all select id from t
select id from t union select r from e where r < 3 intersect select 2
select a.r from e a join e b on a.f64 = b.f64
select a.r from e a join t b on a.i8 = b.id
select a.r, b.id from e a left join t b on a.i8 = b.id
select t.id from t left semi join e on t.id = e.r and e.k
select t.id from t semi join e on t.id = e.i8
select t.id from t left anti join e on t.id = e.i8
select t.id, t.s from t anti join e on t.b > e.i64
select * from t left anti join e on t.id = e.i8
select * from (select id, s from t) a left semi join (select id from t where f) b using (id)
select * from (select id, s from t) a natural join (select id, n from t) b
select * from (select id, s from t) a natural left join (select id + 2 as id, n from t) b
select * from (select id, s from t) a right join (select id + 2 as id, n from t) b using (id)
select * from (select id, s from t) a full join (select id + 2 as id, n from t) b using (id)
select id, a.id as x, b.id as y from (select id, s from t) a full outer join (select id + 2 as id, n from t) b
  using (id)
select a.*, id from (select id, s from t) a full outer join (select id + 2 as id, n from t) b using (id)
select b.*, id from (select id, s from t) a right join (select id + 2 as id, n from t) b using (id)
select * from (select id, s from t) a join (select id, s, n from t) b using (s, id)
select * from (select s, id from t) a natural join (select n, id, s from t) b
select * from (select id, s from t) a join (select id, n from t) b using (id) join (select id, f from t) c using (id)
select * from (select id, s from t) a join (select id, n from t) b using (id) left join (select n, f from t) c using (n)
select * from (select id, s from t) a full join (select id + 1 as id, n from t) b using (id) full join (select id
  + 3 as id, f from t) c using (id)
select id, count(*) from (select id, s from t) a full join (select id + 2 as id, n from t) b using (id) group by id
select id from (select id, s from t) a full join (select id + 2 as id, n from t) b using (id) where id > 4 order by id
select a.id, b.x from t a, (select max(id) x from t) b where a.id < b.x
select id, (select max(r) from e where e.i8 = t.id) x from t
select id, (select count(*) from e where e.i8 = t.id) x from t
select id from t where exists (select 1 from e where e.r = t.id and e.k)
select id from t where id in (select i8 from e where e.r > t.id)
select id from t where id not in (select i8 from e where i8 is not null)
select id from t where (select true)
select (select s from t where id = 1) as x
select * from values (1, 'a'), (2, null) as v(x, y)
select x, count(*) from values (1.5), (2), (null) v(x) group by x
with a as (select id from t), b as (select id from a where id > 1) select * from b where id in (select id from a)
with a as (select id from t) select (with b as (select max(id) m from a) select m from b) x
select id from t where id in (select i8 from e) or f
select id from t where not (id in (select i8 from e))
select id from t where f and id not in (select i8 from e where i8 > 3)
select id from t where (id in (select i8 from e)) and (f or id in (select r from e))
select k, count(*) from e where false group by grouping sets ((), (k))
select i8, i16, count(*) from e group by i8, i16 grouping sets ((i8), (i16, i8))
select count_if(k), bool_and(k), bool_or(k), count(*), sum(m), avg(i8) from e where false
select k, count_if(i8 > 0) over (partition by k) x from e
select count(if(false, r, null)) from e
select a.f, coalesce(sum(coalesce(a.rw_count, 1)), 0) n from (select f, id, coalesce(b, 0) as rw_count from t where
  ym >= '2000-01' and ym <= '2013-01' and ym rlike '^[0-9]{4}-[0-9]{2}$' union all select k, r, 1 from e where r > 8) a
  left join t u on a.id = u.id group by a.f
select coalesce(sum(case when (a.id) is not null then coalesce(a.rw_count, 1) end), 0) n from t u full join (select id,
  cast(null as bigint) as rw_count from t where id > 2 union all select r, cast(7 as bigint) from e) a on u.id = a.id
select u.id, a.rw_count from (select id, cast(1 as bigint) rw_count from t union all select r, r from e) a
  right join t u on a.id = u.id + 10
select id from t where exists (select 1 from (select r from e where k union all select id from t where f) a
  where a.r = t.id)
select id from t where id in (select a.r from (select r from e where k union all select i8 from e where r = 3) a)
select id from t left semi join (select r, to_timestamp(concat('2013-', lpad(r, 2, '0')), 'yyyy-MM') m from e
  union all select id, make_timestamp(2013, id, 1, 0, 0, 0) from t) a on t.id = a.r and a.m < t.t
select id from t left anti join (select r from e where k union all select id from t where f) a on t.id = a.r
select a.r, sum(a.n) x from (select r, 1 as n from e union all select id, 2 from t where 1 = 0) a group by a.r
select count(*) from (select cast(null as bigint) as x, cast(null as timestamp) as y where 1 = 0) a
""")

#: Deviations, whose last digits may differ.
APPROXIMATE = lines("""
select stddev(i8), std(i16), stddev_samp(m), stddev_pop(i8), variance(i8), var_samp(i16), var_pop(i8) from e
select k, stddev(g), var_pop(i32) from e group by k order by k
select stddev(i8), stddev_pop(i8), var_samp(i8) from e where r = 3
select stddev(i8), var_pop(i8) from e where false
""")

#: Queries whose errors have equal conditions.
FAILING = lines(r"""
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
select i32 + 1 from e where r = 2
select i32 - 1 from e where r = 1
select i64 + 1 from e where r = 2
select i64 * 2 from e where r = 2
select -i8 from e where r = 1
select -i32 from e where r = 1
select -i64 from e where r = 1
select abs(i8) from e where r = 1
select abs(i64) from e where r = 1
select i64 div -1 from e where r = 1
select i64 / 0 from e where r = 2
select f64 / 0 from e where r = 2
select m / 0 from e where r = 2
select m % 0 from e where r = 2
select i8 div 0 from e where r = 2
select mod(i8, 0) from e where r = 2
select 0D/0 from e where r = 2
select cast(i16 as tinyint) from e where r = 2
select cast(i64 as int) from e where r = 2
select cast(f64 as bigint) from e where r = 2
select cast(f64 as int) from e where r = 5
select cast(f64 as bigint) from e where r = 11
select cast(w as bigint) from e where r = 2
select cast(w as decimal(10,2)) from e where r = 2
select cast(i64 as decimal(10,2)) from e where r = 2
select cast(m as tinyint) from e where r = 2
select cast('' as int)
select cast(' ' as date)
select cast('1.5' as int)
select cast('128' as tinyint)
select cast('99999999999' as int)
select cast('abc' as boolean)
select cast('abc' as decimal(5,2))
select cast('12345' as decimal(5,2))
select cast('x' as double)
select cast('2015-02-29' as date)
select cast('2015-13-01' as timestamp)
select cast('2015-01-01 24:00:00' as timestamp)
select cast('noon' as timestamp)
select sum(i64) from e where r in (2, 11)
select make_date(2015, 2, 29)
select make_timestamp(2015, 1, 1, 24, 0, 0)
select to_date('2015-02-29', 'yyyy-MM-dd')
select to_timestamp('2015-1-1', 'yyyy-MM-dd')
select to_timestamp('x')
select unix_timestamp('x')
select (select r from e)
select to_timestamp('2015-01-01 24', 'yyyy-MM-dd HH')
select to_timestamp('2015-01-01 23:60', 'yyyy-MM-dd HH:mm')
select to_timestamp('2015-01-01 23:59:60', 'yyyy-MM-dd HH:mm:ss')
select to_timestamp('2015 ', 'yyyy')
select make_timestamp(2015, 1, 1, -1, 0, 0)
select make_timestamp(2015, 1, 1, 0, 60, 0)
select 1 from e where i64 + 1 > 0
select 1 from e where 0 < 1 + i64
select 1 from e where i64 - (-1) >= 5
select 1 from e where i64 * 2 > 0
select 1 from e where i64 + i8 > 0
select 1 from e where i64 + 1 = 5
select 1 from e where i64 + 1 between 1 and 2
select 1 from e where i32 + 1 > 0
select 1 from e where i16 + 1S > 0S
select 1 from e where i8 * 2Y > 0Y
select 1 from e where not (i64 + 1 > 0)
select 1 from e where i64 + 1 is null
select 1 from e where i64 + 1 is not null
select i64 + 1 is null from e
select i64 + 1 > 0 from e
select case when i64 + 1 > 0 then 1 end from e
select if(i64 * 2 > 0, 1, 2) from e
select count(i64 + 1) from e
select sum(i32 + 1) from e
select avg(i64 + 1) from e
select count(x) from (select i64 + 1 as x from e)
select a.r from e a left join t b on a.i64 + 1 > 0
select r from e group by r having max(i64) + 1 > 0
select id from t where id in (select r from e where i64 + 1 > 0)
select 1 from e where -i64 > 0
select 1 from e where -i8 > 0
select 1 from e where -i16 <> 0
select count(-i32) from e
select count(abs(i8)) from e
select count(abs(i64)) from e
select 1 from e where abs(i32) is not null
select i8 + 100Y from e where r = 2
select i16 - 2S from e where r = 1
select sum(a.i64) / count(*) from e a cross join t b where a.r = 2
select sum(i64) * 2 from e where r = 2
with x as (select 1), x as (select 2) select * from x
with x as (select 1), X as (select 2) select 1
select k, grouping(k) from e group by k
select grouping(k) from e
select k, grouping_id(k) from e group by k
select k from e group by k having grouping(k) = 1
select k from e group by k order by grouping(k)
select k from e where grouping(k) = 1 group by rollup(k)
select grouping(o) from e group by rollup(k)
select k, o, grouping_id(o) from e group by rollup(k, o)
select k, o, grouping_id(o, k) from e group by rollup(k, o)
select 1 in ()
select id from t where id not in ()
select false is not null :: string
select id is null :: boolean from t
select id is not null = true from t
select f is true is null from t
select case when null then 1 end
select case when (null) then 1 else 2 end from t
select id from t where null
select t.id from t join e on null
select t.id from t left join e on (null)
select count(*) filter (where null) from t
select date_trunc('quarter', t) from t group by date_trunc('QUARTER', t)
select date_trunc('month', t) from t group by date_trunc('mon', t)
select trunc(dd, 'mm') from t group by trunc(dd, 'MM')
select date_trunc('quarter', t) from t group by rollup(date_trunc('QUARTER', t))
select id as "n" from t
select id as 'n' from t
select x."id" from t x
select x.'id' from t x
select id from t as "x"
select id from t 'x'
select id from "t"
with "q" as (select 1) select * from q
select * from (select id from t) as x("a")
""")
