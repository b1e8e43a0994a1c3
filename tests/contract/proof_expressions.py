"""Expressions that both engines evaluate over the relations of ``proofs``. One query evaluates a whole list."""

from __future__ import annotations

import re

from contract.proofs import lines

from rewriter.exec.translate.casts import cast_entries

#: Over ``t``.
PLAIN = lines(r"""
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
cast('1.5' as float)
cast('1.555' as decimal(5,2))
cast('2013-01-05' as date)
cast('2013-01-05 10:00:00' as timestamp)
cast('2013-01-05T10:00:00Z' as timestamp)
try_cast(n as int)
try_cast(n as double)
try_cast(n as float)
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
lower('AbC') LIKE lower('%B%')
lower(concat(s, 'ABC'))
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
upper('straße') IS NULL OR true
""")

#: Over ``e``: expressions that fail for none of its values.
EDGES = lines(r"""
try_cast(n as int)
try_cast(n as bigint)
try_cast(n as smallint)
try_cast(n as tinyint)
try_cast(n as double)
try_cast(n as float)
try_cast(o as boolean)
try_cast(x as date)
try_cast(y as date)
try_cast(y as timestamp)
try_cast(s as int)
try_cast(case when r <> 4 then n end as decimal(5,2))
try_cast(case when r <> 4 then n end as decimal(38,10))
try_cast(i64 as int)
try_cast(i32 as tinyint)
try_cast(f64 as int)
try_cast(f64 as bigint)
try_cast(m as tinyint)
try_cast(w as bigint)
try_cast(m as decimal(4,1))
try_cast(w as decimal(10,2))
try_cast(i64 as decimal(10,2))
cast(i8 as string)
cast(i64 as string)
cast(m as string)
cast(p as string)
cast(w as string)
cast(k as string)
cast(d as string)
cast(ts as string)
cast(w as double)
cast(p as double)
cast(m as double)
cast(i64 as double)
cast(f32 as double)
cast(ts as date)
cast(d as timestamp)
cast(i8 as boolean)
cast(i64 as boolean)
cast(k as bigint)
cast(k as tinyint)
cast(m as int)
cast(m as bigint)
cast(p as int)
cast(i32 as decimal(12,2))
cast(p as decimal(3,2))
cast(w as decimal(38,2))
cast(m as decimal(10,1))
try_cast(k as int)
try_cast(ts as string)
try_cast(f32 as double)
try_cast(m as double)
round(g)
round(g,1)
round(g,2)
round(g,4)
round(f64,2)
round(f64)
round(m)
round(m,1)
round(m,5)
round(p,2)
round(w)
round(w,3)
round(i32,2)
round(i64)
abs(m)
abs(f64)
floor(g)
ceil(g)
floor(m)
ceil(m)
ceiling(p)
floor(w)
floor(i64)
sqrt(g)
sqrt(f64)
sqrt(i32)
sqrt(m)
sign(i32)
signum(m)
mod(i32,3)
mod(m,0.3)
i32 % 7
i32 % -7
m % 0.03
m % 3
p % 0.00002
w % 7
g % 1
f64 % 2
f64 % -0.5
i32 div 7
i64 div -7
m/3
m/0.03
i32/3.0
w/3
-m
-p
-f64
-g
m*p
m-p
m+i32
p*i32
f64+1
f64*0
f64/2
f32*2
f32+f64
f64=f64
f64<>f64
f64=0
f64<=>f64
f64 in (0, 1)
f64 between -1 and 1
f32=f64
m=p
w>m
i64>f64
i64=m
isnan(f64)
isnan(f32)
nanvl(f64, 0D)
coalesce(f64, 1)
greatest(i8,i16,3)
least(i32,i64)
greatest(s,n)
greatest(m,p)
least(d, ts)
greatest(k, true)
nvl2(s, r, i8)
nullif(f64, 0D)
nullifzero(r - 1)
nullifzero(f64)
nullifzero(m)
zeroifnull(i8)
zeroifnull(f64)
zeroifnull(f32)
zeroifnull(m)
zeroifnull(i64)
equal_null(i8, i16)
equal_null(f64, 0)
equal_null(s, null)
equal_null(d, ts)
if(k, s, n)
trim(s)
ltrim(n)
rtrim(n)
btrim(s)
trim(both from s)
trim(leading from s)
trim('x' from s)
trim(both 'ab' from s)
trim(leading 'a' from s)
trim(trailing 'é' from s)
trim('' from s)
trim(n from s)
ltrim('a', s)
ltrim(n, s)
rtrim('dc', s)
rtrim(s, n)
btrim(s, 'ab')
btrim(s, n)
initcap(n)
initcap(if(r = 8, 'o neil mc-donald 3rd x.y', s))
initcap('hello wORLD foo-bar x_y  z')
trim(trailing from s)
length(s)
len(s)
char_length(s)
character_length(s)
octet_length(s)
concat(s,'-',i8)
concat_ws('-',s,n,i8)
concat_ws(s,n,'x')
s||n
substring(s,2)
substring(s,0)
substring(s,-2)
substring(s,-2,1)
substring(s,0,2)
substring(s,-5,3)
substring(s,-9,8)
substring(s,2,0)
substring(s,2,-1)
substring(s,i8,i8)
substr(s,i32,i32)
substring(s,100,5)
substring(s,-100,5)
substring(s,1,3)
left(s,2)
left(s,0)
left(s,-1)
left(s,i8)
right(s,2)
right(s,-1)
right(s,i8)
lpad(s,5)
rpad(s,5)
lpad(s,3,'xy')
lpad(s,8,'xy')
rpad(s,8,'😀é')
rpad(s,0,'x')
lpad(s,-3,'x')
lpad(s,i8,'-')
ascii(s)
ascii(concat('é', s))
ascii(concat('😀', s))
md5(s)
md5(concat(s, 'é😀'))
sha1(s)
sha(concat('', s))
repeat(s,2)
repeat(s,0)
repeat(s,-1)
reverse(s)
replace(s,'a','X')
replace(s,'a')
replace(s,'',  'X')
replace(s,s,n)
replace(s,'bc','')
replace(s,'😀','é')
translate(s,'abc','XY')
translate(s,'aab','123')
translate(s,'é😀','e!')
translate(s,'','x')
instr(s,'b')
instr(s,'')
instr(s,'é')
instr(s,'x')
instr(s,n)
locate('c',s)
position('d',s)
split_part(s,'-',1)
split_part(s,'-',2)
split_part(s,'-',3)
split_part(s,'-',-1)
split_part(s,'-',-9)
split_part(s,'--',2)
split_part(s,'a',1)
startswith(s,'a')
endswith(s,'a')
contains(s,'bc')
startswith(s,'')
s like '%b%'
s like '_'
s like '__'
s like '%\\%b%'
s like 'a\\_%'
s like ''
s not like 'a%'
s rlike 'b.a'
s rlike '^$'
s rlike '^[a-z]+$'
s rlike '[^a]'
rlike(s,'b')
regexp_like(s,'b')
s regexp 'b'
regexp_extract(s,'(b)(c)')
regexp_extract(s,'(b)(c)',2)
regexp_extract(s,'b.',0)
regexp_extract(s,'(x)|(b)',1)
regexp_extract(s,'[a-z]+',0)
regexp_replace(s,'b','X')
regexp_replace(s,'[a-c]+','<>')
regexp_replace(s,'.','*')
regexp_replace(s,'a.','')
s < 'b'
s = n
s <> ''
s in ('a','😀x😀')
s is null
length(s) > 3 and s > 'A'
year(d)
quarter(d)
month(ts)
day(ts)
dayofmonth(d)
dayofyear(ts)
dayofweek(d)
weekday(ts)
weekofyear(d)
weekofyear(ts)
hour(ts)
minute(ts)
second(ts)
hour(d)
extract(year from ts)
extract(WEEK from d)
extract(dow from d)
extract(doy from d)
extract(dayofweek from d)
extract(second from ts)
extract(quarter from ts)
extract(day from ts)
extract(minute from ts)
date_part('year', ts)
date_part('SECOND', ts)
date_part('doy', d)
datepart('week', ts)
date_trunc('year',ts)
date_trunc('week',ts)
date_trunc('WEEK',d)
date_trunc('quarter',ts)
date_trunc('mon',ts)
date_trunc('dd',ts)
date_trunc('hour',ts)
date_trunc('minute',ts)
date_trunc('second',ts)
trunc(d,'yy')
trunc(d,'MONTH')
trunc(d,'week')
trunc(ts,'quarter')
last_day(d)
last_day(ts)
dayname(d)
dayname(ts)
monthname(d)
monthname(ts)
next_day(case when r <> 2 then d end, 'MO')
next_day(case when r <> 2 then d end, 'Sunday')
next_day(case when r <> 2 then ts end, 'tue')
next_day('2015-01-01', 'FR')
to_char(d, 'yyyy-MM-dd')
to_varchar(ts, 'HH:mm')
exp(if(r = 1, f64, 0))
ln(f64)
log10(case when r in (1, 2, 3, 4, 5, 6, 11) then f64 end)
log2(case when r in (1, 2, 3, 4, 5, 6) then f64 end)
log(2, case when r in (1, 2, 3, 4, 5, 6) then f64 end)
log(1, 2)
log(-1, 2)
log(0, 2)
ln(-1)
cbrt(case when r in (1, 2, 3, 4, 5, 6) then f64 end)
power(f64, 2)
power(f64, 0.5)
power(f64, f64)
pow(-1, 0.5)
pow(0, -1)
pow(i8, 2)
add_months(case when r > 2 then d end, 1)
add_months(case when r > 2 then d end, -1)
add_months(case when r > 2 then d end, 12)
add_months(case when r > 2 then ts end, i8)
date_add(case when r <> 2 then d end, 1)
date_add(case when r > 2 then d end, i8)
dateadd(case when r <> 2 then d end, 1)
date_sub(case when r > 2 then d end, 1)
date_sub(case when r > 2 then ts end, i8)
date_sub('2000-03-01', 1)
datediff(d, '2000-01-01')
datediff(ts, d)
datediff('2000-01-01', ts)
date_diff(d, ts)
timestampadd(DAY, 1, case when r <> 2 then ts end)
timestampadd(MONTH, 1, case when r <> 2 then ts end)
timestampadd(WEEK, i8, case when r > 2 then ts end)
timestampadd(QUARTER, -1, case when r > 1 then ts end)
timestampadd(YEAR, 1, case when r <> 2 then d end)
timestampadd(HOUR, 25, case when r <> 2 then ts end)
timestampadd(MINUTE, -1, case when r <> 1 then ts end)
timestampadd(SECOND, i16, case when r > 2 then ts end)
to_date(d)
to_date(ts)
to_timestamp(d)
to_timestamp('2015-01-01 10:00:00')
to_timestamp(case when r = 1 then y end)
to_date(case when r=9 then x end, 'yyyy-MM-dd')
to_timestamp(case when r=9 then x end, 'yyyy-MM-dd')
date_format(ts,'yyyy-MM-dd HH:mm:ss')
date_format(ts,'yyyy/M/d H:m:s')
date_format(ts,'yy')
date_format(ts,'MMM')
date_format(ts,'MMMM d, yyyy')
date_format(ts,'E EEE EEEE')
date_format(ts,'EE')
date_format(ts,'hh:mm a')
date_format(ts,'h a')
date_format(ts,'DDD')
date_format(ts,'ss.SSS')
date_format(ts,'SSSSSS')
date_format(d,'yyyyMMdd')
date_format(d,'HH')
date_format(ts,'dd''T''HH')
make_date(2016, 2, 29)
make_date(1, 1, 1)
make_timestamp(2016, 2, 29, 23, 59, 59)
make_date(null, 1, 1)
unix_timestamp(ts)
unix_timestamp(d)
unix_timestamp('2015-01-01 00:00:01')
unix_timestamp('2015-01', 'yyyy-MM')
to_unix_timestamp(ts)
to_unix_timestamp('2015-01-02', 'yyyy-MM-dd')
unix_seconds(ts)
unix_millis(ts)
unix_micros(ts)
unix_date(d)
from_unixtime(i32)
from_unixtime(i16, 'yyyy-MM-dd')
timestamp_seconds(i32)
timestamp_millis(i32)
timestamp_micros(i32)
d + interval 0 days
case when r > 2 then d end - interval 1 day
case when r > 2 then d end + interval 1 month
case when r > 2 then ts end + interval 1 year
case when r > 2 then ts end - interval '1' hour
case when r > 2 then ts end + interval 59 seconds
case when r > 2 then ts end - interval 1 week
ts = '2015-01-01 00:00:01'
ts > '2015-01-01'
ts between '2000-01-01' and '2020-01-01'
d >= '1969-12-31'
d in ('2016-02-29', '1970-01-01')
ts > d
d = ts
date '0001-01-01'
date '9999-12-31'
timestamp '0001-01-01 00:00:00'
timestamp '9999-12-31 23:59:59.999999'
timestamp '2015-06-01 12:00:00+05:30'
timestamp '2015-06-01'
ts is null
d <=> null
not k
k and r > 3
k or i8 is null
k is not false
k <=> true
i8 = i16
i32 >= i64
i8 in (1, 7, null)
i8 in (1, 300, 3000000000, 9223372036854775807)
i16 in (007, 1000)
i64 in (9223372036854775807, 0)
i64 in (9223372036854775808, 0)
i8 % 7 in (0, 4)
i8 not in (1, 7)
m between 0 and 1.5
m in (1.25, 2.5)
s between 'a' and 'b'
isnull(s)
isnotnull(s)
nvl(s, '-')
ifnull(i8, i64)
nvl2(i8, s, n)
case when i8 > 0 then 'p' when i8 < 0 then 'n' else 'z' end
case i8 when 7 then m when -7 then p end
if(i8 > 0, i8, m)
coalesce(i8, i64, 0)
coalesce(m, p)
coalesce(i8, f64)
coalesce(d, ts)
nullif(i8, 7)
nullif(m, 1.25)
i8 + m
m + p
m - m
p + p
m * 2
m * 2.5
f64 + m
i64 + f32
i8 - i32
i16 * 2
i32 / r
i8 / 2
i64 / 3
f64 % 3
m / 7
p / 3
m / 1.5
i8 / 1.5
(i8 + 1) * 2
-r
100 - i8
1.5 - m
2 * f32
boolean(i8)
tinyint(r)
smallint(r)
int(m)
bigint(i8)
double(m)
string(d)
date(ts)
timestamp(d)
string(k)
round(i32, 0)
round(2.5)
round(-2.5)
round(1.005, 2)
bigint(s is null)
upper(substring(n,1,2))
lcase(y)
ucase(x)
lower(upper(concat(y, 'ÄÖé')))
decode(i8, 7, 'seven', -1, 'minus', 'other')
decode(s, 'a', i8, i16)
cast(1.5 as double)
cast(1.5 as float)
cast(16777217 as float)
cast(2 as float)
cast(1e3 as int)
try_cast(300 as tinyint)
try_cast(3.7 as int)
1e3
1e-3
-0D
0D
1.50D
2.675F
1Y
1S
-1L
1.5BD
extract(WEEK from d)
extract(Year from ts)
extract(year from date_trunc('month', ts))
extract(hour from (ts))
case when r > 2 then d end + interval 1 week
not r = 1
not r in (1,2)
not r > 3 and k
not k or r > 3
not (k) = true
! k
r + 1 || 'x'
r - 1 - 1
r % 5 * 2
r * 2 % 5
r div 2 * 3
r * 3 div 2
7 - 2 div 2
-r % 3
- 5 % 3
2 - -3
2 - - r
-(-r)
- -r
r = 1 = true
r < 3 = true
r between 1 and 3 and k
r between 1 + 1 and 2 * 3
not r between 1 and 3
r not between 1 and 3
k and r between 1 and 3 or r = 5
not s like 'a%'
s || n like 'a%'
r <=> 1 = true
r <> 1 and r != 2
case when r > 1 then 1 else 2 end + 1
cast(r as string) || 'x'
r::string || 'x'
r*r-r/r+r%r
(r + 1) % 3 = 0 or k and not k
k or k and false
false and k or true
null and k
null or k
null = null
null <=> null
r = null
r in (null)
1 = 1.0
1 = 1D
1.0 = 1.00
0.1 + 0.2
0.1D + 0.2D
1/3
1/3.0
1.0/3
10 / 4
10 / 4L
5 % 3.0
-5 % 3
5 % -3
-5.5 % 3
2147483647 + 1L
1.10
100000000000000000000
-9223372036854775808
5.
1.e3
'a' < 'B'
'a' = 'A'
'a ' = 'a'
'é' < 'f'
'' < ' '
'😀' > '中'
'\u0041'
"a'b"
'a"b'
'a\'b'
'tab\there'
'back\\slash'
'nul\0x'
'%\%'
r'\d'
e.r
E.`R`
d < '2015-01-01'
d < date'2015-01-01' + interval 1 day
ts < timestamp'2015-01-01 00:00:00' - interval 1 hour
year(ts) * 100 + month(ts)
date(ts) = d
d between '1960-01-01' and '2016-12-31'
if(r > 3, 1, 2.5)
if(r > 3, 1, 2.5D)
if(r > 3, null, 'x')
case when r > 3 then d else ts end
coalesce(null, r)
coalesce(null, null, s)
nullif(r, null)
nvl(null, 'x')
greatest(1, 2.5, null)
least('b', 'a', null)
concat('a', null)
concat_ws(',', 'a', null, 'b')
concat_ws(null, 'a', 'b')
length(null)
upper(null)
substring('hello', 2, 3)
substr('hello', -3)
left('hello', 2) || right('hello', 2)
lpad('7', 3, '0')
trim('  x ')
replace('aaa', 'aa', 'b')
split_part('a.b.c', '.', 2)
k = k is null
r < 3 is null
k = (k is null)
'x' || (r + 1)
-(1::int)
-cast(1 as int)
-2.5D
-128Y
- 128Y
-32768S
-9223372036854775808L
-7Y
r is not distinct from 1
size(split(s, 'b'))
cardinality(split(s, 'c'))
array_size(array(r, null))
split(s, 'b')[0]
split(s, ' ')[r - r]
element_at(split(s, 'b'), 1)
element_at(split(s, 'b'), -1)
try_element_at(split(s, 'b'), 3)
try_element_at(array(r, i8), -2)
get(array(r, i8), 1)
get(array(r, i8), r)
get(split(s, 'b'), -1)
array_contains(split(s, 'b'), 'a')
array_contains(array(i8, 1, null), 7Y)
array_contains(array(r, 1), i8)
array_join(split(s, 'b'), '+')
array_join(array(s, null, 'z'), '+')
concat_ws('+', split(s, 'b'), n)
concat_ws('+', array(null, s), 'x')
array_join(sort_array(array(s, 'm', null)), ',')
element_at(sort_array(array(r, 5, -3), false), 1)
element_at(array(m, 1), 2)
coalesce(split(s, 'b'), array('none'))[0]
if(k, array(1), array(2))[0]
array(1.5, r)[0]
array(d, null)[1] is null
split(s, 'b') is null
k is unknown
`r`
""")

#: Over ``e``: strings where Spark reads a number or a time.
COERCED = lines(r"""
if(r < 4, n, '8') = i8
i64 = if(r < 4, n, '8')
if(r < 4, n, '8') <> i8
i64 <> if(r < 4, n, '8')
if(r < 4, n, '8') <=> i8
i64 <=> if(r < 4, n, '8')
if(r < 4, n, '8') < i8
i64 < if(r < 4, n, '8')
if(r < 4, n, '8') >= i8
i64 >= if(r < 4, n, '8')
if(r < 4, n, '8') = i16
i32 > if(r < 4, n, '8')
if(r in (1, 2, 3, 4, 5, 7, 8, 9, 11), n, '1.25') < f64
if(r in (1, 2, 3, 4, 5, 7, 8, 9, 11), n, '1.25') = f32
f32 <= if(r in (1, 2, 3, 4, 5, 7, 8, 9, 11), n, '1.25')
if(r in (1, 2, 3, 4, 5, 7, 8, 9, 11), n, '1.25') >= m
p = if(r in (1, 2, 3, 4, 5, 7, 8, 9, 11), n, '1.25')
w > if(r in (1, 2, 3, 4, 5, 7, 8, 9, 11), n, '1.25')
if(r in (1, 2, 3, 7, 11, 12), x, '2015-01-01') = d
d < if(r in (1, 2, 3, 7, 11, 12), x, '2015-01-01')
if(r in (1, 2, 3, 7, 11, 12), x, '2015-01-01') <=> d
if(r in (1, 2, 3, 7, 9, 10, 12), y, '2015-01-01') >= ts
ts = if(r in (1, 2, 3, 7, 9, 10, 12), y, '2015-01-01')
if(r < 5, o, 'y') = k
k <> if(r < 5, o, 'y')
if(r in (1, 2, 3, 7, 11, 12), x, '2015-01-01') > date'2013-01-05'
if(r < 4, n, '8') in (1, 7, null)
i8 in (if(r < 4, n, '8'), '7')
f64 in (if(r in (1, 2, 3, 4, 5, 7, 8, 9, 11), n, '1.25'), '0.1', 3)
m in (if(r in (1, 2, 3, 4, 5, 7, 8, 9, 11), n, '1.25'), '1.25')
if(r in (1, 2, 3, 4, 5, 7, 8, 9, 11), n, '1.25') in (1, 12.5D)
if(r < 4, n, '8') in (12, 7.0)
if(r in (1, 2, 3, 4, 5, 7, 8, 9, 11), n, '1.25') between -1D and 2.5
i32 between if(r < 4, n, '8') and '9'
if(r in (1, 2, 3, 7, 11, 12), x, '2015-01-01') between d and '2014-01-01'
if(r in (1, 2, 3, 7, 11, 12), x, '2015-01-01') in (d, '2013-01-01')
'5' = 5
'1.5' < g
m = '1.250'
f32 = '2.675'
1 = ' 1 '
'x' is null or i8 = '3'
g > '1e-3'
if(r < 4, n, '8') + 1
1 + if(r < 4, n, '8')
if(r < 4, n, '8') - 1Y
if(r < 4, n, '8') * m
if(r in (1, 2, 3, 4, 5, 7, 8, 9, 11), n, '1.25') * 2D
if(r < 4, n, '8') / 2
if(r < 4, n, '8') % 5
m % if(r < 0, n, '7')
if(r < 4, n, '8') div 3
-if(r in (1, 2, 3, 4, 5, 7, 8, 9, 11), n, '1.25')
'3' + 4
'3' * 1.5
if(r in (1, 2, 3, 4, 5, 7, 8, 9, 11), n, '1.25') + f32
r + '5'
m - '0.5'
coalesce(if(r < 4, n, '8'), i32)
coalesce(i8, if(r < 4, n, '8'))
nvl(if(r < 4, n, '8'), 0)
if(k, if(r < 4, n, '8'), r)
case when k then m else if(r in (1, 2, 3, 4, 5, 7, 8, 9, 11), n, '1.25') end
coalesce(null, if(r in (1, 2, 3, 4, 5, 7, 8, 9, 11), n, '1.25'), g)
coalesce(d, if(r in (1, 2, 3, 7, 11, 12), x, '2015-01-01'))
if(k, ts, if(r in (1, 2, 3, 7, 9, 10, 12), y, '2015-01-01'))
coalesce(k, if(r < 5, o, 'y'))
nvl2(k, if(r < 4, n, '8'), r)
nullif(if(r < 4, n, '8'), 8)
nullif(i8, '7')
case if(r < 4, n, '8') when 8 then 'eight' when 7 then 'seven' end
case i8 when '7' then 'seven' end
decode(i8, '7', if(r < 4, n, '8'), 2)
coalesce(i8, '-5')
coalesce(if(r < 4, n, '8'), 1, 2.5)
coalesce(2.5, 1, if(r < 4, n, '8'))
year(if(r in (1, 2, 3, 7, 11, 12), x, '2015-01-01'))
month(if(r in (1, 2, 3, 7, 11, 12), x, '2015-01-01'))
quarter(if(r in (1, 2, 3, 7, 11, 12), x, '2015-01-01'))
day(if(r in (1, 2, 3, 7, 11, 12), x, '2015-01-01'))
dayofmonth(if(r in (1, 2, 3, 7, 11, 12), x, '2015-01-01'))
dayofyear(if(r in (1, 2, 3, 7, 11, 12), x, '2015-01-01'))
dayofweek(if(r in (1, 2, 3, 7, 11, 12), x, '2015-01-01'))
weekday(if(r in (1, 2, 3, 7, 11, 12), x, '2015-01-01'))
weekofyear(if(r in (1, 2, 3, 7, 11, 12), x, '2015-01-01'))
hour(if(r in (1, 2, 3, 7, 9, 10, 12), y, '2015-01-01'))
minute(if(r in (1, 2, 3, 7, 9, 10, 12), y, '2015-01-01'))
second(if(r in (1, 2, 3, 7, 9, 10, 12), y, '2015-01-01'))
extract(year from if(r in (1, 2, 3, 7, 11, 12), x, '2015-01-01'))
extract(hour from if(r in (1, 2, 3, 7, 9, 10, 12), y, '2015-01-01'))
extract(second from if(r in (1, 2, 3, 7, 9, 10, 12), y, '2015-01-01'))
date_part('month', if(r in (1, 2, 3, 7, 11, 12), x, '2015-01-01'))
date_trunc('hour', if(r in (1, 2, 3, 7, 9, 10, 12), y, '2015-01-01'))
trunc(if(r in (1, 2, 3, 7, 11, 12), x, '2015-01-01'), 'MM')
last_day(if(r in (1, 2, 3, 7, 11, 12), x, '2015-01-01'))
add_months(if(r in (1, 2, 3, 7, 11, 12), x, '2015-01-01'), 1)
date_add(if(r in (1, 2, 3, 7, 11, 12), x, '2015-01-01'), 3)
date_sub(if(r in (1, 2, 7), x, '2015-01-01'), 3)
datediff(if(r in (1, 2, 3, 7, 11, 12), x, '2015-01-01'), d)
datediff(d, if(r in (1, 2, 3, 7, 11, 12), x, '2015-01-01'))
timestampadd(DAY, 1, if(r in (1, 2, 3, 7, 9, 10, 12), y, '2015-01-01'))
date_format(if(r in (1, 2, 3, 7, 9, 10, 12), y, '2015-01-01'), 'yyyy-MM')
year('2013')
date'2015-01-01' + r
r + date'2015-01-01'
date'2015-01-01' - i8
date'2015-01-01' - 1
'5' + 1S
hour('2013-01-05 7:08')
""")

#: Over ``t``: their columns have names of Spark that we do not compute.
UNNAMED = ["1e7", "t + interval -1 day", "interval 1 day + dd", "1 + 1e8"]

#: A value of each type that every cast from it accepts; for a string, by the type that it is cast to.
_SAMPLES = {
    "boolean": "k",
    "tinyint": "i8",
    "smallint": "if(i16 between -9 and 9, i16, 3S)",
    "int": "if(i32 between -9 and 9, i32, 3)",
    "bigint": "if(i64 between -9 and 9, i64, 3L)",
    "float": "if(f32 between -9 and 9, f32, 1.5F)",
    "double": "if(f64 between -9 and 9, f64, 1.5D)",
    "decimal": "if(m between -9 and 9, m, 1.25)",
    "date": "d",
    "timestamp": "ts",
    "timestamp_ntz": "CAST(ts AS TIMESTAMP_NTZ)",
    "binary": "unhex(hex(s))",
}
#: Timestamps whose seconds fit in each integer type.
_MINUTES = "if(r in (3, 4), ts, timestamp'1970-01-01 00:01:40.5')"
_STRINGS = {
    "boolean": "if(r < 5, o, 'y')",
    "double": "if(r in (1, 2, 3, 4, 5, 7, 8, 9, 11), n, '1.25')",
    "decimal": "if(r in (1, 2, 3, 5, 7), n, '0.125')",
    "date": "if(r in (1, 2, 3, 7, 11, 12), x, '2015-01-01')",
    "timestamp": "if(r in (1, 2, 3, 7, 9, 10, 12), y, '2015-01-01')",
    "timestamp_ntz": "if(r in (1, 2, 3, 7, 9, 10, 12), y, '2015-01-01')",
}
_CAST = re.compile(r"((?:TRY_)?CAST)\((\w+) AS (\w+)\)")


def _casts() -> list[str]:
    casts = []
    for entry in cast_entries():
        match = _CAST.fullmatch(entry.form)
        assert match is not None
        word, source, target = match.groups()
        value = _STRINGS.get(target, "if(r < 4, n, '8')") if source == "string" else _SAMPLES[source]
        if source == "timestamp" and (target.endswith("int") or target == "decimal"):
            value = _MINUTES
        casts.append(f"{word}({value} AS {'decimal(9,1)' if target == 'decimal' else target})")
    return casts


#: Over ``e``: every cast of the list.
CASTS = _casts()
