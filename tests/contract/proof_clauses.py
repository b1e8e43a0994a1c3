"""Queries with less usual clauses that both engines run over the relations of ``proofs``, or that both refuse."""

from __future__ import annotations

from contract.proofs import lines

ANSWERED = lines(r"""
select * except (k) from (select k, r, s from e)
select x.* except (K, s), x.k from (select k, r, s from e) x
select x.* except (id), y.* from (select id, s from t) x join (select r as id, o from e) y on x.id = y.id
select * except (o) from (select id, s from t) x join (select r as id, o from e) y using (id)
select count(*), max(r) from (select * except (k) from e)
select r from e where i8 < 99999999999999999999
select k, floor(avg(i8)) from e group by k having floor(avg(i8)) > -100 order by ceil(sum(f32) * 0D), k
select count(*) from e where not (i8 >= 99999999999999999999)
select sum(i8) < 99999999999999999999 from e where i8 is null
select k, sum(i8) from e group by k having sum(i8) < 99999999999999999999 or max(i8) > 0.5
select a.r, b.r from e a left join e b on a.i8 < 99999999999999999999 and a.r = b.r
select i8 < 1.5, count(*) from e group by i8 < 1.5
select * from (select k, r, i8 from e) pivot (sum(r) for k in (true, false))
select * from (select k, r, i8 from e) pivot (sum(r) as x for k in (true, false, null))
select * from (select k, o, r from e) pivot (sum(r), count(*) c for k in (true as yes, false as `no`, null))
select * from (select k, o, r from e) pivot (count(*) for k in (true, false, null))
select * from (select k, o, r, s from e) pivot (count(*), max(s) for k in (true, false, null))
select * from (select k, r from e) pivot (sum(r) for k in (true, false)) as p
select * from (select k, r from e) pivot (sum(r) for k in (true, false)) p
select * from (select k, r from e) pivot (sum(r) for k in (true, true))
select * from (select k, r from e where false) pivot (sum(r), count(*) for k in (true, false))
select * from (select k, r, s from e where false) pivot (sum(r), count(*) for k in (true, false))
select * from (select k, r, s from e where false) pivot (max(s), count(*) for k in (true, false))
select * from (select i8 % 3 as k, r, s from e) pivot (max(r) for k in ('1', 2, 0, 5))
select * from (select i8 % 3 as k, r from e) pivot (max(r) for k in (1.5, 1.0, -1, 300))
select * from (select k, i8 % 3 as q, r from e) pivot (max(r), min(r) as m for (k, q) in ((true, 1) as a, (false, 0),
  (null, null), (true, null)))
select d.* from (select k, r, o from e) d pivot (sum(r) for k in (true, false))
select d.o, true from (select k, r, o from e) d pivot (sum(r) for k in (true, false))
select * from (select m, r from e) pivot (sum(r) for m in (1.25, 2.5, '0', 1, -0.01))
select * from (select s, r from e) pivot (sum(r) for s in ('', 'a', 'Ünïcödé', ' ', 1))
select * from (select k, r, o from e) a join (select id from t) b on a.r = b.id pivot (sum(r) for k in (true, false))
select * from (select k, r, o from e) pivot (sum(r) for k in (true, false)) x join t on x.o = t.s
select * from (select k, r, o from e) x pivot (sum(r) for k in (true, false)) join t on x.o = t.s
select * from (select k, r, o from e) x pivot (sum(r) filter (where r > 3) for k in (true, false))
select * from (select k, r, o from e) x pivot (count(*) filter (where r > 30) for k in (true, false))
select * from (select k, o, r from e) pivot (sum(r) for k in (true)) pivot (count(`true`) for o in ('1', 'y'))
select * from (select k, r from e) pivot (sum(r) as a, sum(r) as a for k in (true))
select * from (select k, r from e) pivot (sum(r) for K in (true AS x)) where x > 3
select * from e pivot (count(distinct r), sum(distinct r) for k in (true AS x))
select p.* from (select k, r, o from e) pivot (sum(r) for k in (true, false)) as p
select * from (select k, r from e) d pivot (percentile(r, 0.5), avg(r), corr(r, r), bool_and(r > 3), median(r) for k
  in (true, null))
select * from (select k, m from e) d pivot (avg(m), sum(m), max(m) for k in (true, null))
select * from (select k, m, ts from e) d pivot (avg(m), max(ts) for k in (true, null))
select * from (select k, m, f64 from e) d pivot (max(m) for k in (true, null))
select * from (select k, r from e) pivot (sum(r) for k in ('true', 'f'))
select * from (select k, r from e) pivot (sum(r) for k in (1, 0))
select * from (select r, i8, i16, k from e) unpivot (v for n in (i8, I16 as x))
select * from (select r, i8, i16, k from e) unpivot include nulls (v for n in (i8, I16))
select * from (select r, i8, i16, k from e) unpivot exclude nulls (v for n in (i8, I16)) as u
select u.* from (select r, i8, i16, k from e) unpivot exclude nulls (v for n in (i8, I16)) u
select d.r, n from (select r, i8, i16, k from e) d unpivot (v for n in (d.i8, d.I16))
select * from (select r, i8, f64, m from e) unpivot (v for n in (i8, f64, m))
select * from (select r, d, ts from e) unpivot (v for n in (d, ts))
select * from (select r, i8, i16, i32, s from e) unpivot ((a, b) for n in ((i8, i16), (i32, r) as `the rest`))
select * from (select r, i8, i16, i32, s from e) unpivot include nulls ((a, b) for n in ((i8, i16), (i32, i8) as `the
  rest`))
select * from (select r, i8 from e) unpivot (v for n in (i8, i8))
select * from (select r, m, w from e) unpivot (v for n in (m, w))
select * from (select r, m, p from e) unpivot (v for n in (m, p, r))
select * from (select r, m, p, i64 from e) unpivot (v for n in (m, p, i64))
select * from (select r, i8, i16 from e) unpivot (v for n in (i8, r)) pivot (sum(v) for n in ('i8', 'r'))
select * from (select k, r from e) pivot (sum(r) for k in (true, false)) unpivot (v for n in (`true`, `false`))
select * from (select i8 from e) unpivot (v for n in (i8))
select n, sum(v) from (select r, i8, i16, k from e) unpivot (v for n in (i8 as `8`, I16)) where v > 0 group by n order
  by n
select * from (select d, r from e) pivot (sum(r) for d in (date '1970-01-01', '2015-01-01', timestamp '2010-01-03
  00:00:00' as x))
select * from (select r, i8 from e) unpivot include nulls (r for n in (i8))
select * from (select r, f32, f64 from e) unpivot (v for n in (f32, f64))
select * from (select f64, f32, i8 from e) unpivot (v for n in (i8))
select * from (select k, o, r from e) x join (select id, h from t) y on x.r = y.id pivot (sum(h), max(id) for k in
  (true, false))
select * from (select k, r from e) x join (select id as r, h from t) y using (r) pivot (sum(h) for k in (true, false,
  null))
select x.k, y.h, `1` from (select k, r from e) x join (select id as r, h from t) y using (r) pivot (sum(r) for r in
  (1, 2))
select * from (select k, o, r from e) x join (select id, h from t) y on x.r = y.id unpivot (v for n in (r, h))
select r, x.v from (select k, r from e) pivot (sum(r) as v for k in (true as r)) x join (select 1 as v) x on true
with p as (select k, r, r % 2 as q from e) select * from p pivot (sum(r) for k in (true, false)) order by q
select * from (select * from e pivot (sum(r) for k in (true as a, false as b))) where a > 3
select * from e x pivot (max(x.r) for k in (true as a, false as b)) y where y.a > 3 and y.i8 > 0
select * from (select k, r from e) pivot (count(*), count(distinct r) as d, avg(r) for k in (null))
select * from (select id, s, n, ym from t) unpivot (v for n in (s, ym, n))
select * from (select id, s, n as nn, ym from t) unpivot (v for n in (s, ym, nn)) order by id, n
select r, i8 from e where r in (select v from (select i8, i16 from e) unpivot (v for n in (i8, i16)))
select `true` from (select k, r from e) pivot (sum(r) for k in (true)) union all select r from e
select a.id, b.r from t a join e b on a.id in (select 1 union all select 2 union all select null) and b.r < 3
select a.id, b.r from t a join e b on a.id = b.r and a.b not in (select 10)
select a.id, b.r from t a join e b on a.id = b.r and (a.b not in (select 10) or a.id = 1)
select a.id, b.r from t a left join e b on a.id = b.r and a.b in (select 10)
select a.id, b.r from t a left join e b on a.id = b.r and b.i8 not in (select 127)
select a.id, b.r from t a left join e b on a.id = b.r and b.i8 in (select 127)
select a.id, b.r from t a full join e b on a.id = b.r and a.b in (select 10)
select a.id from t a left semi join e b on a.id = b.r and b.i8 in (select 127)
select sum(case when id in (select 1) then 10 else 1 end) from t
select count(*) filter (where id in (select 1)) from t
select f, sum(case when b in (select 10) then 10 else 1 end) from t group by f
select b in (select 10), count(*) from t group by 1
select b in (select 10), count(*) from t group by b in (select 10)
select id, b in (select 10) x from t order by x, id
select id, case when b in (select 10) then row_number() over (order by id) end x from t order by id
select id, max(case when b in (select 10) then id end) over () x from t order by id
select distinct b in (select 10) from t
select id, b in (select 10) from t
select id, b not in (select 10) from t
select id, not b in (select 10) from t
select id, b in (select 10) and f as x from t
select id, (id, h) in (select 1, 5) from t
select id, (id, b) in (select 1, 10 union all select 2, 5 union all select null, null) x from t
select id, (id, b) not in (select 1, 10 union all select 2, 5) x from t
select id, (id, b) not in (select 1, 10 union all select 2, null) x from t
select id from t where (id, b) in (select 1, 10)
select id from t where (id, b) not in (select 1, 11)
select id from t where (id, b) not in (select 1, null)
select id from t where (id, b) not in (select 3, null)
select id from t where (id, b) not in (select cast(null as int), 10)
select id from t where (id, b) not in (select id, b from t where false)
select id, (s, id) in (('abc', 1)) x from t
select id, (id, dd) in ((1, date '2013-01-31')) x from t
select id from t where (id, s) in (select r, s from e)
select id from t where (id, h) in (select i8, i16 from e)
select id from t where (id, dd) in (select r, '2013-01-31' from e)
select id from t where exists (select 1 from e where (t.id, t.b) in ((e.r, e.i64)))
select id from t a where (id, b) in (select b.id, b.b from t b where b.f = a.f)
select id from t a where (id, b) not in (select b.id, b.b from t b where b.f = a.f)
select id from t where (d, f) in (select f64, k from e)
select r from e where (f64, r) in (select double('NaN'), 5 union all select 0.0D, 4)
select id from t where (b not in (select 10) or f)
select id from t where (b not in (select 10 union all select null) or f)
select id from t group by id having max(b) in (select 10)
select id from t qualify row_number() over (order by id) in (select 1)
select (s, id) in (('abc', 1)) from t
select id, (s, id) in ((s, id)) x, (s, id) in ((s, 3), ('abc', 1), (n, id)) y, (s, id) not in ((s, 3)) z from t
select (id, upper(s)) in (select 1, 'ABC') from t
select (id, s) not in (select 1, 'ABC') from t
select b in (select r from e), count(*) from t group by b in (select r from e)
select sum(id) in (select 15) from t
select f, sum(id) in (select 5), sum(id) not in (select 5) from t group by f
select id from t where case when (id, b) in (select 1, 10) then true else f end
select id from t where id in (select case when r in (select 1) then r end from e)
select id in (select r from e where false), id not in (select r from e where false) from t
select id, x in (select 1), not x in (select 1) from (select id, if(id = 1, null, id) as x from t)
select id, case when x in (select 1) then 1 else 2 end, case when x not in (select 1) then 1 else 2 end from (select
  id, cast(null as int) as x from t)
select id, b in (select 10) as x, case when x then 1 end as y from t
select id, b in (select 10) as x from t order by id, x desc
select x, f, x in (select y from values (1), (null) as w(y)) as r from (select * from values (1, true), (1, false),
  (1, null), (2, true), (2, false), (2, null), (null, true), (null, false), (null, null) as v(x, f)) v
select x, f, x not in (select y from values (1), (null) as w(y)) as r from (select * from values (1, true), (1,
  false), (1, null), (2, true), (2, false), (2, null), (null, true), (null, false), (null, null) as v(x, f)) v
select x, f, not x in (select y from values (1), (null) as w(y)) as r from (select * from values (1, true), (1,
  false), (1, null), (2, true), (2, false), (2, null), (null, true), (null, false), (null, null) as v(x, f)) v
select x, f, not (x in (select y from values (1), (null) as w(y))) as r from (select * from values (1, true), (1,
  false), (1, null), (2, true), (2, false), (2, null), (null, true), (null, false), (null, null) as v(x, f)) v
select x, f, x in (select y from values (1), (null) as w(y)) and f as r from (select * from values (1, true), (1,
  false), (1, null), (2, true), (2, false), (2, null), (null, true), (null, false), (null, null) as v(x, f)) v
select x, f, x in (select y from values (1), (null) as w(y)) or f as r from (select * from values (1, true), (1,
  false), (1, null), (2, true), (2, false), (2, null), (null, true), (null, false), (null, null) as v(x, f)) v
select x, f, x not in (select y from values (1), (null) as w(y)) or f as r from (select * from values (1, true), (1,
  false), (1, null), (2, true), (2, false), (2, null), (null, true), (null, false), (null, null) as v(x, f)) v
select x, f, x not in (select y from values (1), (null) as w(y)) and f as r from (select * from values (1, true), (1,
  false), (1, null), (2, true), (2, false), (2, null), (null, true), (null, false), (null, null) as v(x, f)) v
select x, f, case when x in (select y from values (1), (null) as w(y)) then 1 else 0 end as r from (select * from
  values (1, true), (1, false), (1, null), (2, true), (2, false), (2, null), (null, true), (null, false), (null, null)
  as v(x, f)) v
select x, f, case when x not in (select y from values (1), (null) as w(y)) then 1 else 0 end as r from (select * from
  values (1, true), (1, false), (1, null), (2, true), (2, false), (2, null), (null, true), (null, false), (null, null)
  as v(x, f)) v
select x, f, if(x in (select y from values (1), (null) as w(y)), 'a', 'b') as r from (select * from values (1, true),
  (1, false), (1, null), (2, true), (2, false), (2, null), (null, true), (null, false), (null, null) as v(x, f)) v
select x, f, if(x not in (select y from values (1), (null) as w(y)), 'a', 'b') as r from (select * from values (1,
  true), (1, false), (1, null), (2, true), (2, false), (2, null), (null, true), (null, false), (null, null) as v(x,
  f)) v
select x, f, if(x not in (select y from values (1), (null) as w(y)), true, false) as r from (select * from values (1,
  true), (1, false), (1, null), (2, true), (2, false), (2, null), (null, true), (null, false), (null, null) as v(x,
  f)) v
select x, f, if(x in (select y from values (1), (null) as w(y)), false, true) as r from (select * from values (1,
  true), (1, false), (1, null), (2, true), (2, false), (2, null), (null, true), (null, false), (null, null) as v(x,
  f)) v
select x, f, if(x in (select y from values (1), (null) as w(y)), false, f) as r from (select * from values (1, true),
  (1, false), (1, null), (2, true), (2, false), (2, null), (null, true), (null, false), (null, null) as v(x, f)) v
select x, f, if(x not in (select y from values (1), (null) as w(y)), f, false) as r from (select * from values (1,
  true), (1, false), (1, null), (2, true), (2, false), (2, null), (null, true), (null, false), (null, null) as v(x,
  f)) v
select x, f, case when x not in (select y from values (1), (null) as w(y)) or f then 1 else 0 end as r from (select *
  from values (1, true), (1, false), (1, null), (2, true), (2, false), (2, null), (null, true), (null, false), (null,
  null) as v(x, f)) v
select x, f from (select * from values (1, true), (1, false), (1, null), (2, true), (2, false), (2, null), (null,
  true), (null, false), (null, null) as v(x, f)) v group by x, f having x in (select y from values (1), (null) as
  w(y))
select x, f from (select * from values (1, true), (1, false), (1, null), (2, true), (2, false), (2, null), (null,
  true), (null, false), (null, null) as v(x, f)) v group by x, f having x not in (select y from values (1), (null) as
  w(y))
select x, f from (select * from values (1, true), (1, false), (1, null), (2, true), (2, false), (2, null), (null,
  true), (null, false), (null, null) as v(x, f)) v group by x, f having not x in (select y from values (1), (null) as
  w(y))
select x, f from (select * from values (1, true), (1, false), (1, null), (2, true), (2, false), (2, null), (null,
  true), (null, false), (null, null) as v(x, f)) v group by x, f having not (x in (select y from values (1), (null) as
  w(y)))
select x, f from (select * from values (1, true), (1, false), (1, null), (2, true), (2, false), (2, null), (null,
  true), (null, false), (null, null) as v(x, f)) v group by x, f having x in (select y from values (1), (null) as
  w(y)) and f
select x, f from (select * from values (1, true), (1, false), (1, null), (2, true), (2, false), (2, null), (null,
  true), (null, false), (null, null) as v(x, f)) v group by x, f having x in (select y from values (1), (null) as
  w(y)) or f
select x, f from (select * from values (1, true), (1, false), (1, null), (2, true), (2, false), (2, null), (null,
  true), (null, false), (null, null) as v(x, f)) v group by x, f having x not in (select y from values (1), (null) as
  w(y)) or f
select x, f from (select * from values (1, true), (1, false), (1, null), (2, true), (2, false), (2, null), (null,
  true), (null, false), (null, null) as v(x, f)) v group by x, f having x not in (select y from values (1), (null) as
  w(y)) and f
select x, f from (select * from values (1, true), (1, false), (1, null), (2, true), (2, false), (2, null), (null,
  true), (null, false), (null, null) as v(x, f)) v group by x, f having if(x not in (select y from values (1), (null)
  as w(y)), true, false)
select x, f from (select * from values (1, true), (1, false), (1, null), (2, true), (2, false), (2, null), (null,
  true), (null, false), (null, null) as v(x, f)) v group by x, f having if(x in (select y from values (1), (null) as
  w(y)), false, true)
select x, f from (select * from values (1, true), (1, false), (1, null), (2, true), (2, false), (2, null), (null,
  true), (null, false), (null, null) as v(x, f)) v group by x, f having if(x in (select y from values (1), (null) as
  w(y)), false, f)
select x, f from (select * from values (1, true), (1, false), (1, null), (2, true), (2, false), (2, null), (null,
  true), (null, false), (null, null) as v(x, f)) v group by x, f having if(x not in (select y from values (1), (null)
  as w(y)), f, false)
select (upper(s), b, h + 1) in (select upper(s), b, 6 from t) from t
select id from t a where (a.id, a.b) in (select id, b from t where s is not null) and (a.id, a.h) not in (select id, h
  from t where h > 10)
select id, b in (select 10) and b not in (select 10) x from t
select id from t where b in (select 10) and b not in (select 10)
select id from t where (b, id) in (select 10, 1) or f
select id from t where (b, id) not in (select 10, 1) or f
select count(*) from t group by grouping sets ((), ())
select count(*), sum(id) from t where false group by grouping sets (())
select count(*), sum(id) from t where false group by grouping sets ((), ())
select count(*), sum(id) from t group by grouping sets (())
select 1 as x from t group by grouping sets (())
select k, grouping_id(), count(*) from e group by cube (k)
select k, o, grouping_id(), count(*) from e group by rollup (k, o) having grouping_id() > 0 order by grouping_id(), k
select k, r % 2 q, grouping__id, count(*) from e group by rollup (k, r % 2)
select k, GROUPING__ID as g, count(*) from e group by k with rollup order by g, k
select k, grouping__id + 1, count(*) from e group by k with rollup having grouping__id = 1
select k, r % 2 q, count(*) from e group by grouping sets ((k), rollup (r % 2))
select k, r % 2 q, count(*), grouping_id() from e group by grouping sets ((k), cube (k, r % 2))
select k, r % 2 q, count(*), grouping_id() from e group by grouping sets ((k), grouping sets ((k, r % 2), ()))
select k, r % 2 q, r % 3 p, count(*), grouping_id() from e group by rollup (k), cube (r % 2, r % 3)
select k, r % 2 q, r % 3 p, count(*), grouping_id() from e group by k, rollup (r % 2), rollup (r % 3)
select k, r % 2 q, count(*), grouping_id() from e group by rollup (k), rollup (k, r % 2)
select k, r % 2 q, count(*), grouping_id(k, r % 2), grouping(k) from e group by k, grouping sets ((k), (r % 2), (k,
  k))
select k, r % 2 q, r % 3 p, count(*), grouping_id() from e group by rollup ((k, r % 2), r % 3)
select k, r % 2 q, r % 3 p, count(*), grouping_id() from e group by cube ((k, r % 2), r % 3)
select k, r % 2 q, count(*) from e group by grouping sets ((k, r % 2), k, ())
select k, r % 2 q, count(*) from e group by k, r % 2 grouping sets ((k, r % 2), k, ())
select k, r % 2 q, count(*) from e group by rollup (1, 2)
select k, r % 2 q, count(*) from e group by grouping sets (1, 2, (1, 2))
select k, r % 2 q, sum(r), avg(m) from e group by grouping sets (q, rollup (k))
select k, count(*) from e group by rollup (k), rollup (k)
select k, count(*) from e where false group by rollup (k), cube (k)
select k, f64, count(*) from e group by grouping sets (k, rollup (f64))
select k, case when grouping(k) = 1 then 'all' else cast(k as string) end, count(*) from e group by grouping sets
  (rollup (k), ())
select count(distinct *) from t
select count(distinct *) from (select k, r % 2 from e)
select count(distinct *), count(*) from (select f from t)
select k, count(*) from e group by k, k with rollup
select r % 2, r % 3, count(*) from e group by cube (1), rollup (2)
select k, sum(sum(r)) over (partition by grouping_id() order by k) from e group by rollup (k)
select k, sum(sum(r)) over (partition by grouping__id) from e group by rollup (k)
select GROUPING__ID from e group by rollup (k)
select r % 2 q, k, grouping_id(), count(*) from e group by rollup (k), r % 2
select k, grouping_id(k, r % 2), count(*) from e group by grouping sets ((k), rollup (r % 2))
select k, grouping_id(r % 2, k), count(*) from e group by grouping sets ((r % 2), cube (k))
select k, r % 2, count(*), grouping_id() from e group by r % 2, k grouping sets ((k), (r % 2, k))
select k, count(*) from (select k, r as grouping__id from e) group by rollup (k), grouping__id
select count(distinct *), sum(r) from (select r, i8, f64 from e) group by r % 2
select r % 2, count(distinct *) from (select r, i8, f64 from e) group by rollup (1)
select count(*) from e a join t b on a.r = b.id group by grouping sets ((), ())
select grouping_id() as g, grouping__id from e group by grouping sets (())
select grouping_id() as g from e group by grouping sets ((), ())
select k, grouping(k), o, grouping(o), grouping_id() from e group by k, grouping sets ((o), rollup (o), cube (k, o))
select max(k), count(distinct *) filter (where r > 3) from (select k, r from e)
select id, sum(id) over (order by id range between 1 preceding and current row) from t
select r, sum(r) over (order by r range between 2 preceding and 1 following) x from e
select r, i16, count(*) over (order by i16 range between 2 preceding and 1 following) x from e where i16 between -1000
  and 1000
select r, d, count(*) over (order by d range between 2 preceding and 1 following) x from e
select r, d, count(*) over (order by d range between interval 400 days preceding and current row) x from e
select r, d, count(*) over (order by d desc range between interval '400' day preceding and interval 5 days following)
  x from e
select r, ts, count(*) over (order by ts range between interval 1000 days preceding and current row) x from e
select r, ts, count(*) over (order by ts range between interval 1000 days preceding and current row) x from e where r
  not in (1, 2)
select r, count(*) over (order by r range between 1 following and 3 following) x, sum(r) over (order by r range
  between 3 preceding and 1 preceding) y from e
select r, first(r) over (order by r range between 2 preceding and current row) x, last_value(r) over (order by r range
  between current row and 2 following) y from e
select k, r, sum(r) over (partition by k order by r range 3 preceding) x from e
select r, sum(r) over w x from e window w as (order by r range between 2 preceding and 1 following)
select r, count(*) over (order by d range between interval 400 days preceding and current row), count(*) over (order
  by ts range between interval 36 hours preceding and interval 100 hours following), sum(r) over (order by d range
  between 3 preceding and 2 following), count(*) over (order by ts desc range between current row and interval 5
  seconds following), count(*) over (order by d range between interval 2 weeks preceding and current row), count(*)
  over (order by d range between interval 12 years preceding and interval 1 year following) from e where r > 2
select i32, r, count(*) over (order by i32 range between 2 preceding and 1 following) x from e where i32 between -1000
  and 1000 or i32 is null
select i64, r, sum(r) over (partition by k order by i64 desc nulls last range between 2 preceding and 1 following) x
  from e where i64 between -1000 and 1000 or i64 is null
select i8, r, sum(r) over (order by i8 nulls last range between 5 preceding and unbounded following) x from e where r
  > 1
select i8, r, sum(r) over (order by i8 desc range between 5 preceding and unbounded following) x from e where r <> 2
select dd, sum(id) over (order by dd range between interval 1 month preceding and current row) x from (select * from
  values (date '2024-01-31', 1), (date '2024-02-29', 2), (date '2024-03-31', 4), (date '2024-03-01', 8), (null, 16),
  (date '2024-02-29', 32) as v(dd, id))
select dd, sum(id) over (order by dd desc range between interval 1 month preceding and interval 1 month following) x
  from (select * from values (timestamp '2024-01-31 00:00:00', 1), (timestamp '2024-02-29 12:00:00', 2), (timestamp
  '2024-03-31 00:00:00', 4), (timestamp '2024-03-01 00:00:00', 8), (null, 16) as v(dd, id))
select r, avg(m) over (order by r range between 2 preceding and current row), max(s) over (order by r range between 2
  preceding and 1 preceding) from e
with recursive r(n) as (select 1 union all select n + 1 from r where n < 4) select n from r order by n
with recursive r(n) as (select 1 union all select n + 1 from r where n < 99) select max(n) from r
with recursive r(n) as (select 1 union all select n + 1 from r where n < 100) select max(n) from r
with recursive r as (select 1 as n union all select n + 1 from r where n < 4) select * from r
with recursive r as (select 1 as n, cast('a' as string) as s union all select n + 1, concat(s, 'b') from r where n <
  4) select * from r
with recursive r(n) as (select 1L union all select cast(n + 1 as int) from r where n < 4) select n from r
with recursive r(n) as (select id from t where id < 3 union all select n * 2 from r where n < 4) select n, count(*)
  from r group by n order by n
with recursive r(a, b) as (select id, id + 1 from t where id = 1 union all select r.b, t.id + 1 from r join t on t.id
  = r.b) select * from r
with recursive r(n) as (select 1), q as (select n + 1 as m from r) select * from q
with recursive r(n) as (select 1 union all select 2) select n from r
with recursive r(n) as (select 1 union all select n + 1 from r where n < 4), q(m) as (select n from r union all select
  m + 1 from q where m < 6) select m, count(*) from q group by m
with recursive r(n) as (select 1 union all select n + 1 from r where n < 3) select a.n, b.n from r a join r b on a.n
  <= b.n
with recursive r(n) as (select cast(null as int) union all select 1 from r where n is null) select n from r
with recursive r(n) as (select id from t where false union all select n + 1 from r where n < 4) select n from r
with recursive r(d) as (select date '2024-01-30' union all select d + interval 1 day from r where d < date
  '2024-02-02') select d from r order by d
with recursive r(n, m) as (select 1, cast(1 as decimal(10,2)) union all select n + 1, cast(m * 2 as decimal(10,2))
  from r where n < 3) select * from r
select * from (with recursive r(n) as (select 1 union all select n + 1 from r where n < 4) select n from r) x join t
  on x.n = t.id
with recursive r(n) as (values (1), (2) union all select n + 2 from r where n < 4) select n from r
with recursive r(n) as (select 1 union all select r.n + 1 from r, t where r.n < 3 and t.id < 3), q as (select n from
  r) select n, count(*) from q group by n having count(*) > (select min(n) from r)
with recursive r(n, s) as (select 1, 'a' union all select n + 1, case when n > 2 then null else upper(s) end from r
  where n < 4) select * from r
select id from t where id in (with recursive r(n) as (select 1 union all select n + 2 from r where n < 4) select n
  from r)
with recursive r(n) as (select 1 union all select n + 1 from r where n < 4 or n is null) select n, row_number() over
  (order by n) from r
select id from t order by id limit 1 + 1
select id from t order by id limit 2 * 2 - 1
select id from t order by id limit (3) offset 1 + 1
select id from t order by id offset 2
select id from t order by id limit 0
select * from (select id from t) natural join (select r as other from e where r < 3)
select * from (select id from t) natural left join (select r as other from e where r < 3)
select * from (select id from t) natural left join (select r as other from e where r < 0)
select * from (select id from t where id < 3) natural full join (select r as other from e where r < 0)
select * from (select id from t where id < 0) natural right join (select r as other from e where r < 3)
select listagg(s, ',') within group (order by s) from t
select string_agg(s, ',') within group (order by s desc) from t
select string_agg(s), string_agg(distinct s, ','), listagg(s), string_agg(s, '-') filter (where r > 2) from e
  where r = 3
select listagg(s) within group (order by id) from t
select listagg(s, '|') within group (order by id desc) from t
select listagg(s, '|') within group (order by id nulls first) from t where s is null
select listagg(s, '|') within group (order by b, id) from t
select listagg(distinct s, ',') within group (order by s) from t
select listagg(distinct k) within group (order by k) from (select cast(k as string) k from e)
select listagg(id, ',') within group (order by id) from t
select listagg(id) within group (order by id desc) from t
select listagg(cast(id as string), ', ') within group (order by id) from t
select f, listagg(s, ',') within group (order by s) x from t group by f
select listagg(s, ',') from t where id = 1
select listagg(s, ',') within group (order by s) filter (where id < 3) from t
select listagg(s, ',') within group (order by s) over () from t
select listagg(s, null) within group (order by s) from t
select listagg(s, '') within group (order by s) from t
select listagg(s, ',') within group (order by upper(s)) from t where id < 3
select listagg(m, ',') within group (order by id) from t
select listagg(f, ',') within group (order by id) from t
select listagg(dd, ',') within group (order by id) from t
select listagg(n, ',') within group (order by f64, n) from e
select listagg(n, ',') within group (order by f64 desc nulls last, n) from e
select string_agg(distinct n, '-') within group (order by n desc nulls first) from e
select listagg(s, ',') within group (order by id) as x, count(*) from t having x is not null
select listagg(distinct s, '-') within group (order by s desc) from (select s from t union all select s from t)
select listagg(s, ',') within group (order by s) from e
select listagg(id) within group (order by id), string_agg(id, '{x}') within group (order by id) from t
select f, listagg(s, ',') within group (order by s) over (partition by f) x from t
select listagg(s, ',') within group (order by id) || '!' from t group by id > 3
select upper(listagg(s, ',') within group (order by length(s), s)) from t
select 1 from t having count(*) > 1
select ntile() over (order by id) from t
select explode(sequence(date '2024-01-01', date '2024-01-04'))
select explode(sequence(1, 4))
select explode(sequence(4, 1)) as x
select explode(sequence(date '2024-01-04', date '2024-01-01')) as d
select d from (select explode(sequence(date '2024-02-27', date '2024-03-02')) as d) order by d
select explode(sequence(date '2024-01-31', date '2025-03-31', interval 1 month)) as d
select explode(sequence(date '2024-01-31', date '2024-04-29', interval 1 month)) as d
select explode(sequence(date '2024-02-29', date '2030-03-31', interval 1 year)) as d
select explode(sequence(date '2024-01-31', date '2024-12-31', interval 3 months)) as d
select explode(sequence(date '2024-01-01', date '2024-01-31', interval 1 week)) as d
select explode(sequence(date '2024-01-01', date '2024-01-10', interval 4 days)) as d
select explode(sequence(1, 10, 3)) as d
select explode(sequence(10, 1, -3)) as d
select explode(sequence(5, 5, 0)) as d
select id, x from t lateral view explode(sequence(1, id)) v as x
select id, p, x from t lateral view posexplode(sequence(id, 2)) v as p, x
select id, x from t lateral view explode(sequence(dd, date_add(dd, 2))) v as x
select id, x from t lateral view outer explode(sequence(dd, add_months(dd, 3), interval 1 month)) v as x
select id, x from t lateral view outer explode(sequence(h, 7)) v as x where x > 4
select size(sequence(1L, 3)), size(sequence(1Y, 3Y)), size(sequence(cast(null as int), 3)), sequence(3, 1)[0],
  element_at(sequence(1, 5), -1)
select r, size(sequence(i16, r)) from e where i16 between -100 and 100
select max(size(sequence(dd, date '2020-01-01'))) from t
with days as (select explode(sequence(date '2013-01-30', date '2013-02-01')) as d) select days.d, count(id) from days
  left join t on t.dd = days.d group by days.d order by days.d
select explode(sequence(9223372036854775806L, 9223372036854775807L)) x
select explode(sequence(127Y, 125Y)) x
select explode(sequence(date '9999-12-30', date '9999-12-31')) x
select explode(sequence(to_date('2024-01-01'), last_day(date '2024-01-05'), interval 10 day)) as d
""")

#: Queries that fail on both engines with one condition.
FAILING = lines(r"""
select * except (nosuch) from (select k, r from e)
select * except (k, k) from (select k, r from e)
select * from (select i8 % 3 as k, r, s from e) pivot (max(r) for k in ('x'))
select o, `true` + `false` from (select k, r, o from e) d pivot (sum(d.r) for d.k in (true, false))
select * from e pivot (sum(r) for nope in (1))
select * from e pivot (sum(nope) for k in (true))
select * from (select k, r from e) pivot (sum(1) for K in (r))
select d.o from (select k, r, o from e) d pivot (sum(r) for k in (true, false)) as p
select * from (select k, r, o from e) d pivot (sum(r) for k in (true, false)) as p(a, b, c)
select * from (select i8, r from e) pivot (sum(r) for i8 in (300))
select d.* from (select r, i8, i16, k from e) d unpivot (v for n in (i8, I16)) u
select d.r, d.v from (select r, i8, i16, k from e) d unpivot (v for n in (d.i8, d.I16))
select * from (select r, i8, i16, k from e) unpivot (v for n in (i8, k))
select * from (select r, i8, s, k from e) unpivot (v for n in (i8, s))
select * from (select r, i8, i16, i32, s from e) unpivot ((a, b) for n in ((i8, s), (s, i8)))
select * from (select r, i8 from e) unpivot (r for n in (i8))
select * from (select r, i8 from e) unpivot (v for v in (i8))
select * from (select r, i8 from e) unpivot (v for n in (nope))
select * from (select r, i8 from e) unpivot (v for n in (i8 + 1))
select * from (select r, i8 from e) unpivot (v for n in (*))
with p as (select k, r, r % 2 as q from e) select q, `true` from p as z pivot (sum(r), count(*) as n for k in (true as
  t, false as f)) where t_n > 1
select * from e pivot (sum(r) as a for k in (true, false)) where a > 3
select * from (select k, r from e) pivot (sum(r) for k in (true), (false))
select count(*) from t unpivot ((a, b) for which in ((id, h) as `x y`))
select id from t where (id, b) in ((1, 10), (2, 3))
select id from t where (id, b) in ((1, 10), (2, null))
select id from t where (id, b) not in ((1, 10), (2, null))
select id, (id, b) in ((1, 10), (2, null)) from t
select id, (id, h) in ((1, 5L), (2, 6S)) x from t
select id, (id, s) in ((1, 'abc'), (2, 6S)) x from t
select id, (m, d) in ((1.25, 1.5)) x from t
select id, (m, d) in ((1.25, 1.5D)) x from t
select id, (id, dd) in ((1, '2013-01-31')) x from t
select id, (id, b) in (select 1) x from t
select id, (id, b) in ((1, 2, 3)) x from t
select id, id in (select 1, 2) x from t
select id from t where (id, s) in (select r, i8 from e)
select r from e where (f64, r) in ((double('NaN'), 5), (0.0, 4))
select (id, b) in ((1, 10)) from t
select grouping_id() from e group by k
select grouping_id() from e
select grouping__id from e group by k
select grouping__id from e
select count(*) from t group by 1
select id, sum(b) + 1 from t group by 1, 2
select id, max(b) x from t group by x
select f, count(*) from t group by f, 3
select f, count(*) from t group by 0
select count(*) from t order by 2
select r, i32, count(*) over (order by i32 range between 2 preceding and 1 following) x from e
select r, i64, count(*) over (order by i64 range between 2 preceding and 1 following) x from e
select r, d, count(*) over (order by d range between interval 5 years preceding and interval 2 months following) x
  from e
select r, d, count(*) over (order by d range between interval 5 years preceding and interval 2 months following) x
  from e where r not in (1, 2)
select r, ts, count(*) over (order by ts range between interval 36 hours preceding and interval 1 second following) x
  from e where r not in (1, 2)
select r, ts, count(*) over (order by ts range between interval 5 years preceding and interval 1 month following) x
  from e where r not in (1, 2)
select r, ts, count(*) over (order by ts range between 5 preceding and current row) x from e
select r, s, count(*) over (order by s range between 5 preceding and current row) x from e
select r, count(*) over (order by r, i8 range between 5 preceding and current row) x from e
select r, count(*) over (range between 5 preceding and current row) x from e
select r, count(*) over (order by r range between 2 following and 1 following) x from e
select r, sum(r) over (order by i64 range between current row and 1 following) x from e
select r, sum(r) over (order by i32 range between 1 preceding and current row) x from e
select r, count(*) over (order by r rows between 1 following and 1 preceding) x from e
select r, count(*) over (order by r rows between current row and unbounded preceding) x from e
with recursive r(n) as (select 1 union all select n + 1 from r where n < 101) select max(n) from r
with recursive r(n) as (select 1 union all select n + 1 from r where n < 102) select max(n) from r
with recursive r(n) as (select 1 union select n + 1 from r where n < 4) select n from r
with recursive r(n) as (select 1 union all select n + 1L from r where n < 4) select n from r
with recursive r(n) as (select 1 union all select n + 1 from r where n < 4 limit 1) select n from r
with recursive r(n) as (select 1 union all select n + 1 from r where n < 4 union all select n + 10 from r where n < 4)
  select n from r
with recursive r(n) as (select n + 1 from r) select n from r
with r(n) as (select 1 union all select n + 1 from r where n < 4) select n from r
with recursive r(n) as (select n + 1 from r where n < 3 union all select 1) select n from r
with recursive r(n) as (select 1 union all select n + 1 from r where n < 2147483647) select count(*) from r where n <
  5
with recursive r(n) as (select 1 union all select n + 1 from r where n < 3 order by n) select n from r
with recursive t2(n) as (select id from t where id = 1 union all select n + id from t2 join t on id = n where n < 20)
  select * from t2
with recursive r(n) as (select 1 union all select n + 1 from r) select count(*) from r
with recursive r(n) as (select 1 union all select n from r where n < 4, 5) select n from r
with recursive r(n) as (select 2147483647 union all select n + 1 from r) select n from r
select id from t order by id limit -1
select id from t order by id limit 1 - 2
select id from t order by id limit id
select id from t order by id limit 'a'
select id from t order by id limit '2'
select id from t order by id limit 1.5
select id from t order by id limit null
select id from t order by id limit 3000000000
select id from t order by id limit 1e0
select id from t order by id limit 2147483647 + 1
select id from t order by id limit (select 2)
select id from t order by id limit true
select id from t order by id offset -1
select id from t order by id offset id
select id from t order by id offset 'a'
select listagg(distinct s, ',') within group (order by id) from t
select listagg(s, s) within group (order by s) from t
select listagg(s, ',') within group (order by s) over (order by id) x from t
select f, count(*) from t
select f from t where count(*) > 1
select sum(count(*)) from t
select f from t having f
select f from t having count(*) > 1
select count() from t
select sum(id, b) from t
select id from t where row_number() over (order by id) = 1
select row_number() over () from t
select row_number() from t
select rank() over (partition by f) from t
select count(distinct id) over () from t
select ntile(0) over (order by id) from t
select id from t join e using (id)
select * from values (1, 2) as v(a)
select distinct f from t order by id
select greatest(1)
select coalesce()
select upper()
select upper('a', 'b')
select length() from t
select substr('a') from t
select abs(1, 2)
select concat_ws() from t
select date_add(dd) from t
select nvl(1) from t
select if(true, 1)
select f, max(id) from t
select sum(id) + b from t
select id, sum(max(b)) from t group by id
select id from t where sum(id) over () > 1
select id from t where id > 1 and max(id) > 3
select id from t group by id having row_number() over (order by id) = 1
select lag(id) over () from t
select first(id) over (order by id), nth_value(id, 2) over () from t
select ntile(-1) over (order by id) from t
select sum(distinct id) over () from t
select count(distinct f) over (order by id) from t
select count(*) from t where id
select case when id then 1 end from t
select id, count(*) over (order by count(*)) from t
select count(*) filter (where max(id) > 1) from t
select percentile(id) from t
select min() from t
select avg() from t
select collect_list(id, b) from t
select max_by(id) from t
select mode(id, b, 1) from t
select sequence(1, 2, 3, 4)
select sequence(1) from t
""")
