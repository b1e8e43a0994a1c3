"""Arrays, maps and structs that both engines read and compute: expressions and queries over the relation ``v``."""

from __future__ import annotations

from contract.proofs import lines

#: Expressions over ``v``.
NESTED = lines(r"""
ai
x
ad
ats
adt
am
aa
ms
mi
st
ast
mst
ab
v.ai
st.x
st.y
st.Y
st.z.q
v.st.z.t
st['x']
st.x + 1
(st).x
ast.k
ast is null
get(ast, 0).k
get(ast.k, 0)
get(aa, 1)
get(get(aa, 0), 0)
try_element_at(ai, 1)
try_element_at(ai, -1)
try_element_at(x, 2)
element_at(ms, 'a')
try_element_at(ms, 'b')
ms['a']
ms['']
ms['none']
ms.a
mi[1]
mi[cast(7 as tinyint)]
mst[date'2020-02-29'].f
mst[d]
ms[s]
array(1, null, 3)
array(r, 2L)
array(1.5, r)
array(s, 'x')
array(st, null)
array(ai, null, array(1))
array(d, timestamp'2020-01-01 00:00:00')
array(true, false, null)
map('a', r, 'b', null)
map(r, ai)
map(coalesce(d, date'1950-01-01'), s, date'1900-01-01', 'old')
map(1.5, 'a', 2, 'b')
map('k', st)
struct(r, s, 1)
struct(r as a, st.x, ai)
named_struct('a', r, 'B c', ai, 'n', named_struct('m', ms))
named_struct('a', cast(null as int))
map_from_arrays(array('a', 'b'), array(r, null))
map_from_arrays(x, cast(null as array<int>))
map_from_entries(array(struct('a', r), named_struct('col1', 'b', 'r', 2)))
map_from_entries(array(struct('a', r), null))
str_to_map('a:1,b:2,c,:')
str_to_map('a=1&b=x=y', '&', '=')
str_to_map('a.1|b.x.y|c', '\\|', '\\.')
str_to_map(concat('k:', s))
size(ai)
cardinality(x)
size(ms)
cardinality(mi)
array_size(aa)
size(array())
map_keys(ms)
map_values(ms)
map_entries(ms)
map_keys(mst)
map_values(mi)
map_contains_key(ms, 'a')
map_contains_key(mi, 1)
map_contains_key(mi, 1Y)
map_contains_key(ms, s)
map_concat(map('k1', r), map('k2', 2))
map_concat(ms, cast(null as map<string,int>))
array_contains(ai, 1)
array_contains(ai, 1L)
array_contains(x, '')
array_contains(x, s)
array_contains(ats, timestamp'2013-01-31 23:59:59.123456')
array_contains(aa, array(1, null))
array_contains(array(st), st)
array_position(ai, 1)
array_position(x, 'a')
array_position(ai, r)
array_remove(ai, 1)
array_remove(x, s)
array_remove(aa, array(1, null))
array_append(ai, 5)
array_append(ai, 5L)
array_append(ad, null)
array_prepend(x, s)
array_append(ast, named_struct('k', 'new', 'v', 1.5D))
array_join(ai, ',')
array_join(x, '-', 'none')
array_join(adt, ' ')
sort_array(ai)
sort_array(x, false)
sort_array(am)
sort_array(ats)
array_sort(ai)
array_sort(x)
array_sort(adt)
array_max(ai)
array_min(x)
array_max(ats)
array_min(am)
array_distinct(ai)
array_distinct(x)
array_distinct(aa)
array_distinct(array(st, st, null))
array_union(ai, array(1, 9))
array_union(x, array(s))
array_intersect(ai, array(null, 1))
array_except(ai, array(1))
array_except(x, array(s))
array_union(ai, array(3L))
arrays_overlap(ai, array(1))
arrays_overlap(ai, array(99))
arrays_overlap(x, array(s))
array_compact(ai)
array_compact(ad)
array_compact(ast)
array_repeat(s, 2)
array_repeat(st, r)
array_repeat(1, cast(null as int))
slice(ai, 1, 2)
slice(ai, -1, 1)
slice(x, 2, r)
slice(aa, -9, 2)
flatten(aa)
flatten(array(ai, array(1)))
flatten(array(x, null))
concat(ai, array(1), ai)
concat(x, array(s))
concat(ai, array(1L))
sequence(1, 3)
transform(ai, e -> e + 1)
transform(ai, (e, i) -> e * i)
transform(x, x -> upper(x))
transform(ai, r -> r)
transform(ai, e -> e - 1L + r)
transform(aa, e -> transform(e, f -> f + size(e)))
transform(ast, e -> e.v)
transform(ast, e -> struct(e.k as kk, e.v + 1 as vv))
transform(ad, e -> e > 1)
filter(ai, e -> e > 1)
filter(ai, (e, i) -> i > 0)
filter(ast, e -> e.v > 1)
filter(ad, e -> e = e)
filter(x, e -> e is null)
exists(ai, e -> e = 1)
exists(ad, e -> isnan(e))
exists(x, e -> e in ('a', s))
forall(ai, e -> e > 0)
forall(x, e -> length(e) < 3)
aggregate(array(1, r), 0, (acc, e) -> acc + e)
aggregate(ai, 0, (acc, e) -> acc + coalesce(e, 0), acc -> acc * 10)
reduce(x, '', (acc, e) -> concat(acc, coalesce(e, '-')))
aggregate(ast, 0D, (acc, e) -> acc + e.v)
aggregate(ai, named_struct('n', 0, 's', 0), (a, e) ->
 named_struct('n', a.n + 1, 's', a.s + coalesce(e, 1)), a -> try_divide(a.s, a.n))
aggregate(ai, cast(array() as array<int>), (acc, e) -> array_append(acc, e))
zip_with(ai, x, (a, b) -> concat(coalesce(cast(a as string), 'N'), coalesce(b, 'N')))
zip_with(ai, array(1, 2, 3, 4), (a, b) -> a + b)
transform_keys(ms, (k, v) -> concat(k, '!'))
transform_values(ms, (k, v) -> v + 1)
transform_values(mi, (k, v) -> size(v) + k)
map_filter(ms, (k, v) -> v > 0)
map_filter(mst, (k, v) -> v.f)
cast(ai as array<bigint>)
cast(ai as array<string>)
cast(st as struct<a:bigint,b:string,c:struct<d:decimal(20,0),e:date>>)
cast(ms as map<string,bigint>)
cast(ai as string)
cast(x as string)
cast(ms as string)
cast(st as string)
cast(aa as string)
cast(mst as string)
ai = array(1, null, 3)
ai <> array(1)
st <=> st
ai <=> null
x = array('a')
aa = array(array(1, null), null)
ai is null
ms is not null
coalesce(ai, array())
coalesce(ms, map())
if(r > 2, ai, array(1L))
case when r > 2 then st end
nvl(x, array(s))
to_json(st)
to_json(struct(r, s, ai, x, ats, adt, am, aa, ab, ms, mi, mst, st, ast))
to_json(struct(ad, s), map('ignoreNullFields', 'false'))
hash(ai, x, r)
hash(ad, ats, adt)
hash(aa)
xxhash64(ai, x, r)
xxhash64(ats, ab, am)
xxhash64(aa, array(), array(null))
to_json(ast)
to_json(mst)
from_json(to_json(ms), 'map<string,int>')
from_json(to_json(x), 'ARRAY<STRING>')
from_json(s, 'a INT')
from_json(cast(null as string), 'a INT')
from_json('{"a":[1,{"b":2.50}],"B":"2020-01-02","c":{"k":"x"}}', 'a STRING, `B` DATE, c STRUCT<k: INT>').c.k
from_json('[{"a":1},{"a":"x","b":true}]', 'ARRAY<STRUCT<a INT COMMENT "x", b: BOOLEAN NOT NULL>>',
 map('mode', 'PERMISSIVE'))[1]
hash(st)
hash(st, r)
xxhash64(st, ast, st)
hash(ast)
hash(st.z, get(ast, 0), s)
xxhash64(ast, struct(st, ai))
hash(struct(st, ast, aa), x)
""")

QUERIES = lines(r"""
select * from v order by r
select v.* from v where st.x > 0 order by r
select st.* from v order by r
select ast.v as w from v order by v.r
select r, e from v lateral view explode(ai) q as e
select r, p, e from v lateral view posexplode(x) q as p, e
select r, e from v lateral view outer explode(ad) q as e
select r, k, e from v lateral view explode(ms) q as k, e
select r, q.key, q.value from v lateral view outer explode(mi) q
select r, k, w from v lateral view inline(ast) q as k, w
select r, q.k, q.v from v lateral view outer inline(ast) q
select r, e.f from v lateral view explode(map_values(mst)) q as e
select r, explode(ai) from v
select r, explode(ms) as (k, w) from v
select r, explode_outer(aa) as e from v
select posexplode(ms), r from v
select posexplode_outer(ats), r from v
select inline(ast), r from v
select inline_outer(ast) from v
select r, e from v lateral view explode_outer(ai) q as e
select r, e, f from v lateral view explode(aa) q as e lateral view explode(e) w as f
select explode_outer(cast(null as array<int>)) as e
select explode(map('a', 1)), 5
select inline(array(struct(1, 'a'), null, struct(2, 'b')))
select r, q.c0, q.c1 from v lateral view json_tuple(to_json(st), 'x', 'Y') q
select r, a, b from v lateral view outer json_tuple(s, 'a', s) q as a, b
select json_tuple(to_json(struct(ms, s)), 'ms', 's'), r from v
select json_tuple('{"a":1.50}', 'a') as a
select r, k, w from v lateral view stack(2, 'a', ai, s, null) q as k, w
select stack(2, r, s, 5), st.x from v
select stack(3, 1, null, 2, null, null, 1.5) as (a, b)
select ai, count(*) from v group by ai
select x, max(r) from v group by x
select distinct ai, st from v
select count(distinct ai), count(distinct st.x) from v
select st.x, sum(r) from v group by st.x order by st.x
select st, min(r) from v group by st
select struct(s, r % 2), count(*) from v group by struct(s, r % 2)
select r, count(*) over (partition by ai) from v
select a.r, b.r from v a join v b on a.ai = b.ai
select a.r, b.r from v a left join v b on a.st <=> b.st
select ai from v union all select array(1L)
select x from v union select array('a')
select ai from v except select array(1, null, 3)
select aa from v intersect select aa from v
select size(collect_list(st)), size(collect_set(ai)), size(collect_list(ms)), size(collect_list(ats)) from v
select sort_array(collect_list(st.x)) from v group by r % 2
select s, collect_list(struct(r)) from v group by s, r
select first(ai), max_by(st, r), min_by(ms, r) from v where r = 1
select (select max(st.x) from v) as m, exists(select 1 from v where st.x = 1)
select r from v where exists(ai, e -> e = 1) and array_contains(ai, 1) order by st.z.q
select r from v where st.z.t > timestamp'2000-01-01 00:00:00' and ad[0] > 1e300
select r, s.e from (select r, explode(ast) as e from v) s where s.e.v > 1 order by s.e.v
select a.b.c from (select named_struct('b', named_struct('c', r)) as a from v) a
select st.x from (select named_struct('x', r) as st, named_struct('x', 5) as t from v) t
with w as (select r, ai, st from v) select w.st.x, w.ai[0] from w where size(ai) > 0
select r, (select max(e) from (select explode(array(1, 2)) as e)) from v
select lead(ai) over (order by r), lag(st.x) over (order by r) from v
select coalesce(ai, array(r)), nvl2(ms, 1, 2) from v
select * from values (1, array(1, 2)), (2, null) as t(a, b)
select map(1, 2) as m, array(struct(1 as a)) as n
""")

FAILING = lines(r"""
select to_json(r) from v
select from_json(r, 'a int') from v
select json_tuple(r, 'a') from v
select stack(2, r, s) from v
select 1 + json_tuple(s, 'a') from v
select map('a', 1, 'a', 2)
select map_from_arrays(array(1, 1), array(1, 2))
select map_from_entries(array(struct(1, 2), struct(1, 3)))
select map_concat(map(1, 2), map(1, 3))
select transform_keys(map(1, 2, 3, 4), (k, v) -> 5)
select map_from_arrays(array('a', null), array(1, 2))
select map(cast(null as string), 1)
select transform_keys(map(1, 2), (k, v) -> cast(null as int))
select ai[5] from v
select ai[-1] from v where r = 1
select element_at(ai, 9) from v where r = 1
select element_at(ai, 0) from v where r = 1
select slice(ai, 0, 1) from v where r = 1
select slice(ai, 1, -1) from v where r = 1
select r.x from v
select st.nothing from v
select ast.nothing from v
select named_struct(1, 2)
select named_struct('a')
select map(1)
select ms = ms from v
select r from v order by ms
select explode(r) from v
select nothing.x from v
select transform(ai, e -> nothing) from v
select hash(mst) from v
""")
