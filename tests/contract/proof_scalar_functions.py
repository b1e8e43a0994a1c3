"""More expressions that both engines evaluate over the relation ``e`` of ``proofs``, and queries that both refuse."""

from __future__ import annotations

from contract.proofs import lines

#: Expressions that fail for none of the values.
SCALARS = lines(r"""
bitmap_bit_position(i8)
bitmap_bit_position(i64)
bitmap_bucket_number(i32)
bitmap_bucket_number(i64)
bitmap_bit_position(32768)
bitmap_bucket_number(-32769)
s like 'a%' escape '!'
s not like 'a!%' escape '!'
s like '%!_%' escape '!'
s like '%!_!!%' escape '!'
s like '%\\\\%' escape '!'
s like '%\\\\%'
s like 'a%%' escape '%'
s like 'a_%%%%' escape '%'
s like '%éé%' escape 'é'
s || '!' like '%!!' escape '!'
s like any ('a%', '%c')
s not like any ('a%', '%c')
s like all ('a%', '%c')
s not like all ('a%', '%c')
s like some ('a%', n)
s not like any ('a%', n)
if(r = 10, 'x', s) like all (if(r = 10, 'x', s), 'a%')
s like any ('a%', null)
s not like all ('a%', null)
s like any ('a%')
s like any (('a%'), '')
s like any (concat('a', '%'), 'b')
s like any ('%\\%%', '')
i8 like any ('1%', 2)
not s like any ('a%', '%c') and k
if(r not in (5, 8), s, 'x') ilike any ('A%', '%C')
if(r not in (5, 8), s, 'x') not ilike all ('A%', '%C')
if(r not in (5, 8), s, 'x') ilike any ('A%', n)
if(r not in (5, 8), s, 'x') ilike 'AX%_C' escape 'X'
if(r not in (5, 8), s, 'x') ilike upper(n)
s ilike null
s like null
null like 'a'
s like n
s like if(r = 10, 'x', s) || '%'
s like if(r in (1, 10), null, s)
s like n escape '!'
n like if(r = 10, 'x', s)
if(r = 10, 'a!b', s) like if(r = 10, 'a!!_', s) escape '!'
s like 'a' || '%'
s like ''
s rlike null
regexp_like(s, null)
months_between(d, date'2015-03-31')
months_between(ts, d)
months_between(ts, timestamp'2016-02-29 01:02:03.5')
months_between(d, ts, false)
months_between(d, '2015-01-31', k)
months_between('2015-01-31', d, true)
months_between(d, if(r in (1, 2, 3, 7, 9, 10, 12), y, '2015-02-28'))
months_between(timestamp'2015-03-01 10:20:30', ts, false)
months_between(null, d)
months_between(d, d, null)
timestampdiff(HOUR, ts, d)
timestampdiff(MONTH, d, ts)
timestampdiff(month, ts, date'2015-03-31')
timestampdiff(MONTH, date'2016-01-31', ts)
timestampdiff(MONTH, timestamp'2015-01-31 12:00:00', timestamp'2015-03-01 11:00:00')
timestampdiff(MONTH, timestamp'2015-03-01 11:00:00', timestamp'2015-01-31 12:00:00')
timestampdiff(MONTH, timestamp'2015-03-31 11:00:00', timestamp'2015-02-28 12:00:00')
timestampdiff(MICROSECOND, timestamp'2015-01-01 00:00:00', ts)
timestampdiff(MILLISECOND, ts, d)
timestampdiff(quarter, timestamp'2015-01-31 00:00:00', ts)
timestampdiff(YEAR, timestamp'2016-02-29 00:00:00', ts)
timestampdiff(YEAR, ts, timestamp'2016-02-28 23:59:59')
timestampdiff(WEEK, timestamp'2016-02-29 00:00:00', ts)
datediff(DAY, d, ts)
datediff(DAY, ts, '2015-01-01')
datediff(MONTH, d, ts)
date_diff(second, d, ts)
timediff(minute, d, ts)
dateadd(day, 1, if(r = 2, null, d))
dateadd(MONTH, 1, if(r = 2, null, d))
date_add(MONTH, r, if(r = 2, null, ts))
date_add(HOUR, 1, d)
dateadd(WEEK, -2, if(r = 1, null, ts))
dateadd(QUARTER, r, if(r = 2, null, ts))
timestampadd(MICROSECOND, r, if(r = 2, null, ts))
timestampadd(MILLISECOND, r, if(r = 2, null, ts))
timestampadd(DAYOFYEAR, r, if(r = 2, null, ts))
date_from_unix_date(i16)
date_trunc('nosuch', ts)
date_trunc(null, ts)
date_trunc('decade', ts)
date_trunc('millisecond', ts)
date_trunc('MICROSECOND', ts)
trunc(d, 'nosuch')
trunc(d, 'day')
trunc(d, null)
from_utc_timestamp(if(year(ts) between 1970 and 2099, ts, null), 'Europe/Berlin')
to_utc_timestamp(if(year(ts) between 1970 and 2099, ts, null), 'America/New_York')
from_utc_timestamp(if(r = 2, null, ts), '+05:30')
to_utc_timestamp(if(r = 2, null, ts), '-09:30')
from_utc_timestamp(ts, 'UTC')
to_utc_timestamp(d, 'GMT')
from_utc_timestamp(ts, null)
from_utc_timestamp('2024-03-31 00:59:59', 'Europe/Berlin')
from_utc_timestamp('2024-03-31 01:00:00', 'Europe/Berlin')
to_utc_timestamp('2024-03-31 01:59:59', 'Europe/Berlin')
to_utc_timestamp('2024-03-31 02:30:00', 'Europe/Berlin')
to_utc_timestamp('2024-03-31 03:00:00', 'Europe/Berlin')
to_utc_timestamp('2024-10-27 01:59:59', 'Europe/Berlin')
to_utc_timestamp('2024-10-27 02:30:00', 'Europe/Berlin')
to_utc_timestamp('2024-10-27 03:00:00', 'Europe/Berlin')
if(r < 3, null, ts) + interval '1 02:03:04' day to second
if(r < 3, null, ts) + interval '1 2:3:4.5' day to second
if(r < 3, null, ts) - interval '-1 02' day to hour
if(r < 3, null, d) + interval '02:03' hour to minute
if(r < 3, null, ts) + interval '65:3' minute to second
if(r < 3, null, ts) + interval '02:03:04.123456' hour to second
if(r < 3, null, ts) - interval '-0 00:00:00.5' day to second
if(r < 3, null, ts) + interval '1-2' year to month
if(r < 3, null, d) - interval '+1-2' year to month
if(r < 3, null, ts) + interval '1' hour * 2
if(r < 3, null, ts) + (interval 1 day) * r
if(r < 3, null, d) + r * interval 1 day
if(r < 3, null, d) - interval 1 month * r
if(r < 3, null, ts) + interval 30 seconds * i8
interval 1 week * r + if(r < 3, null, d)
interval 1 day + if(r < 3, null, d)
if(r < 3, null, ts) + interval 1 day 2 hours
if(r < 3, null, ts) + interval '1 day 2 hours'
if(r < 3, null, ts) + interval '1' day '2' hours
if(r < 3, null, ts) - interval 1 week 36 hours 5 seconds
if(r < 3, null, d) + interval 1 year 2 months
if(r < 3, null, d) - interval 1 day + 2 hours
if(r < 3, null, ts) - interval 1 day + interval 2 hours 3 minutes
if(r < 3, null, ts) + interval -1 month
if(r < 3, null, d) - interval '-1' day
if(r < 3, null, ts) - interval -5 seconds
extract(weeks from d)
extract(minutes from ts)
extract(yearofweek from d)
extract(dow_iso from d)
date_part('seconds', ts)
date_format(d, 'D')
try_to_date(s)
try_to_date(x)
try_to_date(d)
try_to_date(x, 'yyyy-MM-dd')
try_to_timestamp(y)
try_to_timestamp(ts)
try_to_timestamp(x, 'yyyy')
pmod(i8, 3)
pmod(i8, -3Y)
pmod(i32, -2147483648)
pmod(i64, 7)
pmod(g / -3, 1e-3)
pmod(if(r = 1, -2, r), if(r = 1, -2147483647 - 1, 5))
pmod(if(r = 1, -2L, r), if(r = 1, -9223372036854775808L, -5))
pmod(m, 0.3)
pmod(m, -0.3)
pmod(m, i8 * 0 + 7)
pmod(f64, 2)
pmod(f64, -2)
pmod(f32, 2)
pmod(null, 3)
bround(m, 1)
bround(m)
bround(p, 4)
bround(w, 2)
bround(2.5)
bround(i32)
bround(i8, -2)
bround(if(i32 between -9 and 9, i32 * 5, 25), -1)
pi()
e()
floor(m, 1)
floor(p, 3)
floor(w, 2)
floor(m, -1)
ceil(m, 1)
ceil(m, -1)
ceil(w, 2)
ceil(2.345, 2)
ceiling(m, 1)
floor(i32, -1)
ceil(i64, -3)
round(if(i16 between -32000 and 32000, i16, 55S), -1)
round(i8, -3)
round(m, -1)
round(m, -3)
round(m, -10)
round(p, -1)
round(w, -5)
round(125, -1)
round(-125, -1)
round(15L, -1)
round(null)
round('2.567', 1)
floor('2.5')
get(array(r, 1), i32)
lpad(s, -1, null)
rpad(s, i8, n)
lpad(s, if(r > 5, i8, 0), if(r % 2 = 0, null, s))
rpad(null, -1, 'x')
floor(double('NaN'))
ceil(if(i64 between -100 and 100, f64 % 2, i64 / 2))
floor(if(r in (1, 2, 11), f32 * 0, f32))
f32 % 1.5F
f32 % null
mod(f32, 1.5F)
pmod(f32, 1.5F)
try_mod(f32, 2F)
ceil(null)
abs('-2')
abs(null)
sqrt('4')
sqrt(null)
negative(r)
negative(m)
positive(r)
positive('5')
sign(f64)
sign(g)
sign(null)
signum(f32)
-null
m + null
null * m
m / null
null % m
null div 2
i32 div null
+r
+ '2'
+m
+null
- + r
+1
r + +1
+r * 2
+ +r
-+-r
case when +r > 1 then + 1 else +2 end
+1::string
+1D
+abs(r)
abs(+r)
r in (+1, +2)
shiftleft(r, 3)
shiftleft(i8, 2)
shiftleft(i64, r)
shiftleft(i32, i8)
shiftright(i32, 1)
shiftright(i64, 40)
shiftright(i64, i8)
shiftrightunsigned(i32, 1)
shiftrightunsigned(i64, i8)
shiftrightunsigned(i16, 33)
shiftleft(null, 1)
shiftleft(r, null)
i32 << r
i64 >> 2
5 & 3
i8 & 3
i8 & i16
i8 | i64
i32 ^ r
~i8
~i64
~ r + 1
-~r
5 | 3 & 2
1 ^ 3 | 4 & 5 << 1
6 & 3 | 1 ^ 7 & 2
1 << 2 + 3
1 << 2 << 1
r & null
r & 3 = 1
(r | 1) ^ 1
bit_count(i8)
bit_count(i64)
getbit(r, 1)
bit_get(i64, 63)
try_divide(1, 0)
try_divide(r, r - 3)
try_divide(m, p)
try_divide(m, 0)
try_divide(g, 0)
try_divide(i8, 2.5)
try_add(2147483647, 1)
try_add(i32, 1)
try_add(i64, i64)
try_add(i8, 1Y)
try_add(m, 1)
try_add(f64, 1)
try_subtract(i32, 1)
try_subtract(i8, i16)
try_multiply(i64, 2)
try_multiply(i8, 2Y)
try_multiply(m, m)
try_mod(r, r - 3)
try_mod(i8, 0Y)
try_mod(m, 0)
greatest(f64, 1)
greatest(0D, f64)
greatest(f64, g, f32)
greatest(f32, 1.5F)
greatest(g * -0D, g * 0D)
least(g * -0D, g * 0D)
greatest(null, f64)
least(f64, 0D)
least(f64, g, null, f32)
factorial(r)
factorial(i8)
bin(i8)
bin(i64)
hex(i8)
hex(i64)
hex(s)
isnan(null)
null is true
null is not true
null is false
null is unknown
'a' 'b'
'a' "b" r'\c'
'it''s' 'x'
concat('a' 'b', 'c')
s like 'a' '%'
s like any ('a' '%', 'b')
s in ('a' 'bcabc', 'a')
'a' 'b' || 'c'
case when s = 'a' 'bc' 'abc' then 'x' 'y' else 'z' end
cast('2015-' '01-01' as date)
d > '2015-' '01-01'
regexp_extract(s, 'b' '(c)', 1)
substring_index('a.b.c', '.', 2)
substring_index(s, 'b', 1)
substring_index(s, 'b', -1)
substring_index(s, 'bc', r - 3)
substring_index(s, 'bc', i8)
substring_index(s, '', 1)
substring_index(s, null, 1)
substring_index(s, 'B', 2)
substring_index(s, '中', -1)
substring_index(s, 'b', null)
substring_index(r, '1', 1)
overlay(s placing 'XX' from 2)
overlay(s placing 'XX' from 2 for 3)
overlay(s placing 'XX' from 2 for 0)
overlay(s placing 'XX' from 0)
overlay(s placing 'XX' from -1)
overlay(s placing '' from 2 for 100)
overlay(s placing n from r for i8)
overlay(s placing upper('x') from length(substring(s from 1 for 2)) for 1 + 1)
overlay(s, 'XX', 2)
overlay(s, 'XX', 2, 4)
overlay(s, null, 2, 4)
overlay(s, 'XX', 2, null)
overlay('abc' placing 'X' from 2 for length(s))
overlay('abc', 'X', i8, length(s))
i8 < 1.0
i8 < 1.5
i8 <= 1.5
i8 > 1.50
i8 >= 1.5BD
i8 < .5
i8 < -1.5
i8 > - 1.5
i8 > -(1.5)
i8 < +1.5
i8 = 1.0
i8 in (1.0, 2)
1.5 < i8
1.5 <= i8
1.5 > (i8)
(1.5) >= i8
i8 + 0 < 2.5 or 3 < 4.5
i8 < cast(1.5 as decimal(5,1))
m < 1.5
i8 > 99999999999999999999
i8 < (99999999999999999999)
i8 = 99999999999999999999
null < 99999999999999999999
99999999999999999999.5 >= i8
99999999999999999999 <= i8
not i8 > 99999999999999999999
cast(null as int) < 99999999999999999999
if(i8 < 99999999999999999999, 'a', 'b')
i64 > -9223372036854775808.5
i64 < -9223372036854775808.5
i64 >= -9223372036854775808.0
i64 > 9223372036854775806.5
i64 >= 9223372036854775807.5
i64 <= 9223372036854775808
i8 between -99999999999999999999 and 99999999999999999999
i8 not between 0.5 and 99999999999999999999
i8 between 99999999999999999999 and 1
not i8 is null
not (i8) is null and not i8 + 1 is null or i8 is not null
not (i8 is null)
substring(s from 2 for 2)
substring(s from 2)
substring(s from -2 for 1)
position('b' in s)
position('' in s)
position(n in s)
position('b', s, 3)
locate('b', s, 3)
locate('b', s, 0)
locate('', s, 2)
locate('', s, 20)
locate('b', s, i8)
locate('b', s, i32)
locate(null, s, 0)
locate('b', s, null)
locate('x', s, 2)
find_in_set('b', 'a,b')
find_in_set('a,b', 'a,b')
find_in_set('', s)
find_in_set('', 'a,,b')
find_in_set(s, 'a,abcabc,中文字')
find_in_set('x', s)
find_in_set('', '')
find_in_set(s, null)
elt(2, 'a', 'b')
elt(r % 2 + 1, s, n)
elt(null, 'a')
elt(1, 1, 2)
elt(2, s, r)
format_string('%d-%s', r, s)
format_string('%s|%s|%s', k, m, i64)
format_string('%s', null)
format_string('%d', i64)
format_string('%5d|%-5d|%05d', r, i8, i16)
format_string('%8d|%-8d|%08d', i8, i8, i8)
format_string('%5s|%-5s', s, s)
format_string('%2s', k)
format_string('%.2f', g)
format_string('%.0f|%.1f|%10.3f|%-9.1f|', g, g, g, g)
format_string('%,.2f', g)
format_string('%.2f', if(r in (1, 2, 3, 4, 5, 7, 8, 10), f64, 0.125D))
format_string('%,d', i64)
format_string('%,12d', i16)
format_string('100%%')
format_string('plain')
printf('%s-%s', s, n)
format_number(12345.678, 2)
format_number(if(r < 9, g, 1234567.125D), 2)
format_number(if(r < 9, g, 0.5D), 0)
format_number(if(r < 11, f64, 0.375D), 2)
format_number(i64, 0)
format_number(i8, 3)
format_number(m, 1)
format_number(m, 0)
format_number(m, 3)
format_number(p, 2)
format_number(w, 4)
format_number(w, 0)
format_number(m, -1)
format_number(null, 2)
levenshtein('kitten', 'sitting')
levenshtein(s, n)
levenshtein(s, 'abc')
levenshtein(s, 'abc', 2)
levenshtein(s, '')
levenshtein('中x', s)
sha2(s, 256)
sha2(s, 0)
sha2(s, 1)
sha2(s, null)
base64(s)
base64(repeat(s, 30))
base64(repeat('ab', 57))
chr(65)
char(65)
char(0)
char(256)
char(-1)
char(8364)
char(r + 60)
char(i8)
char(i64)
float(1.1)
float('1.5')
float(16777217)
decimal(i16)
decimal(2.5)
decimal('7')
decimal(p)
char(r + 60) < char(65) || char(66)
cast(p as decimal(4, 2)) + decimal(p)
int('12') + 1
unix_timestamp() > 1700000000
unix_timestamp() = unix_timestamp(current_timestamp())
unix_timestamp() is null
chr(r)
chr(i8)
chr(i16)
chr(256)
space(2)
space(i8)
space(null)
bit_length(s)
lpad(s, 5, '')
rpad(s, 5, '')
lpad(s, 5, n)
rpad(s, i8, n)
regexp_count('banana', 'an')
regexp_count(s, '[a-c]+')
regexp_substr('a1b22', '[0-9]+')
regexp_substr(s, 'b')
regexp_substr(s, '[a-c]+')
regexp_instr(s, 'b')
regexp_instr(s, '[a-cx]+', 0)
regexp_instr(s, 'a|[b-d]')
regexp_instr(s, '^a')
size(regexp_extract_all(s, '(b)(c)', 2))
array_join(regexp_extract_all(s, '[a-c]', 0), '-')
cast(if(r < 9, g, 2.675D) as decimal(10,2))
cast(if(r < 9, g, 0.125D) as decimal(10,2))
cast(if(r < 9, g, -0.005D) as decimal(10,2))
cast(if(f64 between -9 and 9, f64, 1e10D) as decimal(38,10))
cast(if(f64 between -9 and 9, f64, 1.5e-10D) as decimal(38,10))
cast(if(f64 between -0.9 and 0.9, f64, 0.25D) as decimal(4,4))
cast(double('NaN') as decimal(10,2))
cast(double('-Infinity') as decimal(10,2))
cast(if(f32 between -9 and 9, f32, 1.5F) as decimal(10,4))
cast(0.1D + 0.2D as decimal(38,30))
cast(5e-20D as decimal(18,18))
try_cast(f64 as decimal(10,2))
try_cast(g as decimal(10,2))
try_cast(g as decimal(38,18))
try_cast(f32 as decimal(10,2))
cast(1.9 as timestamp)
cast(-1.9999999 as timestamp)
cast(m as timestamp)
cast(p as timestamp)
cast(0 as timestamp)
cast(i32 as timestamp)
cast(ts as decimal(20,6))
cast(ts as decimal(20,2))
cast(k as double)
cast(k as decimal(5,2))
cast(g as boolean)
cast(f64 as boolean)
cast(m as boolean)
regexp_extract('https://a.b/c/d?x=1', '^https?://[^/]+(/[^?]*)', 1)
s rlike '[^a]'
s rlike '^[^a]+$'
s rlike '^\\w+$'
s rlike '\\s$'
regexp_replace(s, '[^a-c]', '_')
regexp_replace(s, '[^A-Za-z0-9_-]', '_')
regexp_replace(s, '[-a]', '_')
regexp_replace(s, '[^\\w]', '_')
regexp_replace(s, '\\W', '_')
regexp_replace(s, '\\s', '_')
regexp_replace(s, '\\S', '_')
regexp_replace(s, '[\\s%]', '_')
regexp_replace(s, '\\D', '_')
regexp_replace(s, '\\w+', '_')
regexp_replace(s, '[^\\d\\w]', '_')
regexp_replace(s, '\\n', '_')
regexp_replace(s, '[\\n\\t]', '_')
regexp_replace(s, '[%_\\\\]', '#')
regexp_replace(s, '[\\[\\]\\.]', '#')
regexp_replace(concat(s, '\u000b'), '\\s', '_')
regexp_replace(concat(s, '\u0085\u2028'), '[^a]', '_')
regexp_replace(concat(s, '&#~'), '[&#~]', '_')
regexp_extract(s, '([^b]*)b', 1)
regexp_extract(s, '([^%]+)%(.*)', 2)
regexp_replace(s, '[a-]', '_')
regexp_replace(s, '[^-a]', '_')
regexp_replace(s, '[\\^a]', '_')
regexp_replace(s, '[\\w-]', '_')
regexp_replace(s, '[ -a]', '_')
regexp_replace(s, '[?*(|]', '_')
cast('1' as varchar(3))
cast('abcdef' as char(3))
cast('abc   ' as varchar(3))
cast(123456 as varchar(3))
cast(s as varchar(2))
cast(s as char(9)) || '|'
try_cast(i8 as varchar(2))
s::varchar(2)
length(cast(d as character(20)))
m div 2
m div 0.3
-m div 7
i32 div 0.5
if(r in (1, 2), 1.5, w) div 3
p div 0.001
1e10
1.25e-7
-12345678e3
cast(f64 as string)
cast(f32 as string)
try_cast(g as string)
try_cast(f32 as string)
concat('x', f64, '|', f32, g)
cast(cast(i32 as double) * 1e-9 as string)
cast(cast(i32 as double) / 3 as string)
cast(1e-4d as string)
cast(5e17d as string) as z
cast(1e22d as string) as x
length(f64)
hash(i8)
hash(i16, i32)
hash(i64)
hash(f64)
hash(f32)
hash(m, p)
hash(n, s, x, y)
hash(k, d, ts)
hash(null, i8, null)
hash(repeat(s, 40), ts, f64)
xxhash64(i8)
xxhash64(i16, i32)
xxhash64(i64)
xxhash64(f64)
xxhash64(f32)
xxhash64(m, p)
xxhash64(n, s, x, y)
xxhash64(k, d, ts)
xxhash64(repeat(s, 7), repeat(n, 13))
xxhash64(repeat(s, 40), ts, f64)
pmod(hash(s), 8)
null + interval 1 day
interval 1.5 seconds * 2
if(r = 2, null, ts) + interval '0.000001' second
cast(interval 25 hour as tinyint)
try_cast(d - d as string)
try_cast(d - d as bigint)
count(d - date'2019-01-01') over (order by r)
hash(f64, f32, s)
xxhash64(s)
format_string('%s %s', f64, f32)
regexp_replace(s, '([a-z])([a-z])', '$2$1')
regexp_replace(s, '([a-z])', '<$1>')
regexp_replace(s, '(b)', '$10')
regexp_replace(s, '(b)', '\\$1\\\\')
regexp_replace(s, 'c$', '!')
regexp_replace(s, '^a', '!')
regexp_replace(s, '^a|c$', '!')
regexp_replace(s, '(ab|c)+', '[$1]')
regexp_replace(s, '(?:ab)?c', '[$0]')
regexp_replace(s, '(b)(z)?', '[$2]')
regexp_extract(s, '(b)(z)?', 2)
regexp_extract(s, '(ab|c)+', 1)
regexp_extract_all(s, '(?:a|b)+', 0)
conv(i64, 10, 16)
conv(i64, 10, -16)
conv(n, 10, 2)
conv(s, 16, 10)
conv(n, 16, -36)
conv('-ff', 16, 10)
conv('-ff', 16, -10)
conv('FFFFFFFFFFFFFFFF', 16, -10)
conv('-FFFFFFFFFFFFFFFF', 16, 10)
conv('11', i8, 10)
conv('zz', 36, i8)
conv(null, 10, 2)
crc32(s)
soundex(s)
soundex('Robert')
soundex('Ashcraft')
soundex('Tymczak')
soundex('Pfister')
soundex('Honeyman')
soundex('a1b')
soundex('1abc')
soundex('Jackson-Smith')
soundex('Lloyd')
soundex('Ünal')
soundex('bébe')
sha2(s, 224)
sha2(s, 384)
sha2(s, 512)
sha2(s, 256)
sha2(s, 0)
sha2(s, 1)
unhex(s)
unhex(n)
unhex('F')
unhex('0fA')
hex(unhex('537061726B'))
url_encode(s)
url_encode('a b~*-._/?&=%é')
url_decode(url_encode(s))
url_decode('a%20b+c%C3%A9~*')
unbase64(base64(s))
unbase64('AP8Q')
base64(cast(s as binary))
base64(unhex(hex(i64)))
unbase64('A P\n8')
unbase64('AP==')
luhn_check(n)
luhn_check(cast(i64 as string))
luhn_check('79927398713')
luhn_check('8112189876')
luhn_check('')
luhn_check('1 2')
mask(s)
mask(y)
mask('abCD123-@$#é😀Ⅷ٣ǅªß𝐀𐐀𝟗', 'U')
mask(s, 'U', 'l', '9', '*')
mask(s, null, 'é', null)
mask(null)
hash(w, p)
xxhash64(w, m)
hash(cast(i64 as decimal(20,0)), cast(i64 as decimal(38,18)))
xxhash64(cast(i32 as decimal(38,0)))
regexp_extract(s, '(.)$', 1)
regexp_extract(x, '-([0-9]+)$')
regexp_extract_all(x, '[0-9]$', 0)
regexp_count(x, '5$')
regexp_substr(x, '[0-9]+$')
regexp_instr(x, '[0-9]$')
parse_url('http://user:pw@spark.apache.org:8080/path/a?query=1&x=2#ref', 'HOST')
parse_url('http://user:pw@spark.apache.org:8080/path/a?query=1&x=2#ref', 'PATH')
parse_url('http://user:pw@spark.apache.org:8080/path/a?query=1&x=2#ref', 'QUERY')
parse_url('http://user:pw@spark.apache.org:8080/path/a?query=1&x=2#ref', 'REF')
parse_url('http://user:pw@spark.apache.org:8080/path/a?query=1&x=2#ref', 'PROTOCOL')
parse_url('http://user:pw@spark.apache.org:8080/path/a?query=1&x=2#ref', 'FILE')
parse_url('http://user:pw@spark.apache.org:8080/path/a?query=1&x=2#ref', 'AUTHORITY')
parse_url('http://user:pw@spark.apache.org:8080/path/a?query=1&x=2#ref', 'USERINFO')
parse_url('http://user:pw@spark.apache.org:8080/path/a?query=1&x=2#ref', 'host')
parse_url('http://user:pw@spark.apache.org:8080/path/a?query=1&x=2#ref', 'QUERY', 'x')
parse_url('http://spark.apache.org/path?a=&b=%20', 'QUERY', 'a')
parse_url('http://spark.apache.org/path?a=&b=%20', 'QUERY', 'b')
parse_url('http://spark.apache.org/path?a=&b=%20', 'QUERY', 'c')
parse_url('http://spark.apache.org', 'PATH')
parse_url('http://spark.apache.org', 'QUERY')
parse_url('http://spark.apache.org', 'FILE')
parse_url('http://1.2.3.4/', 'HOST')
parse_url('http://h/?', 'QUERY')
parse_url('http://h/#', 'REF')
parse_url('http://h/a?b?c', 'QUERY')
parse_url(null, 'HOST')
typeof(m)
typeof(s)
typeof(null)
typeof(f32)
typeof(1)
width_bucket(f64, 0, 10, 5)
width_bucket(g, -1, 2, 4)
width_bucket(g, 2, -1, 4)
width_bucket(i32, -1000, 1000, i8)
width_bucket(m, 0, 1, 10)
width_bucket(g, 1, 1, 10)
width_bucket(null, 1, 2, 10)
width_bucket(2.0, 0, 10, 9223372036854775807)
ts - timestamp'2019-01-01'
ts - ts
d - ts
ts - d
d - d
d - date'2019-01-01'
(d - date'2019-01-01') x
cast(ts - timestamp'2019-01-01' as string)
cast(d - date'2019-01-01' as string)
cast(ts - timestamp'2019-01-01' as bigint)
cast(d - date'2019-01-01' as int)
cast(d - date'2019-01-01' as bigint)
concat('x', ts - timestamp'2020-03-01 01:02:03.5')
interval 1 day + interval 2 hour
interval 1 day - interval 2 hour
interval 1 day = interval 24 hour
interval '1 02:03:04.05' day to second
-interval '1 02:03:04.05' day to second
cast(-interval '1 02:03:04.05' day to second as string)
cast(interval '1.5' second as string)
cast(interval 25 hour as string)
cast(interval 61 minute as string)
cast(interval '01:02' hour to minute as string)
cast(interval 1 day - interval '0.000001' second as string)
cast(interval 25 hour as bigint)
ts - timestamp'2019-01-01' > interval 1 day
d - date'2019-01-01' < interval 25 hour
d - date'2019-01-01' between interval 1 hour and interval 2000 day
coalesce(d - date'2019-01-01', interval 1 hour)
if(k, d - date'2019-01-01', interval 1 hour)
case when k then ts - d end
extract(day from ts - timestamp'2019-01-01')
extract(days from ts - timestamp'2019-01-01')
extract(hour from ts - timestamp'2019-01-01')
extract(minute from ts - timestamp'2019-01-01')
extract(second from ts - timestamp'2019-01-01')
date_part('hour', ts - timestamp'2019-01-01')
extract(second from interval '-1.5' second)
interval 1 hour * i32
i8 * interval 1 day
(ts - timestamp'2019-01-01') / 7
interval 5 second / 2
interval '0.000001' second / 2
-interval '0.000001' second / 2
timestamp'2020-01-02' + (if(r in (1,2), null, d) - date'2020-01-01')
date'2020-01-02' + (date'2020-01-05' - date'2020-01-01')
date'2020-01-02' - (date'2020-01-05' - date'2020-01-01')
(date'2020-01-05' - date'2020-01-01') + date'2020-01-02'
date'2020-01-02' + (date'2020-01-05' - date'2020-01-01') * 2
timestamp'2020-01-02' - (timestamp'2020-01-02' - timestamp'2020-01-01 05:00:00')
make_dt_interval(1)
make_dt_interval(-1,2,3,4.5)
make_dt_interval()
make_dt_interval(i16, i8, i8, m)
make_dt_interval(1, null)
typeof(ts - ts)
typeof(d - d)
if(r=2,null,d) + interval 1 day
if(r=2,null,ts) + interval 1 day 2 hours
if(r in (1,2),null,ts) - interval 2 hours * i8
greatest(d - date'2019-01-01', interval 1 hour)
interval 1 day + null
nullif(interval 1 day, interval 24 hour)
assert_true(true)
assert_true(r > 0)
assert_true(r > 0, 'x')
assert_true(r > 0, s) as a
assert_true(r > 0 or i8 is null)
if(r < 0, raise_error('x'), r)
coalesce(r, raise_error('x'))
case when r > 0 then 'a' else raise_error('x') end
case r when -1 then raise_error('x') else d end
if(r > 0, 1, raise_error('x')) + 1
hash(if(r > 0, d, raise_error('x')))
if(r > 0, d, raise_error('x'))
if(r > 0, d, assert_true(false))
if(r > 0, null, raise_error(s))
nvl(r, raise_error('x'))
ifnull(r, raise_error(concat('x', s)))
sum(if(r > 0, r, raise_error('x'))) over (order by r)
case when r > 0 then null else raise_error('x') end
schema_of_json('{"a":1}')
schema_of_json('[{"a":1.5},{"b":null}]')
schema_of_json('{"a":"x","b":[1,2.5],"c":{"d":true}}')
schema_of_json('{"a":1e3}')
schema_of_json('{"a":1E400}')
schema_of_json('{"a":99999999999}')
schema_of_json('1')
schema_of_json('"x"')
schema_of_json('null')
schema_of_json('[]')
schema_of_json('[1,"a"]')
schema_of_json('[1,null]')
schema_of_json('[[1],[2.5]]')
schema_of_json('[{"a":1},{"a":"x"}]')
schema_of_json('[{"a":1},{"a":{"b":1}}]')
schema_of_json('{"b":1,"a":2}')
schema_of_json('{"a b":1,"A":2,"a`":3}')
schema_of_json('{"a":"2020-01-01T00:00:00"}')
schema_of_json('{"a":"2020-01-01"}')
schema_of_json('{"a":0.1}')
schema_of_json('{"a":1.7976931348623157e308}')
schema_of_json('{"a":-0}')
schema_of_json(' {"a" : 1 } ')
schema_of_json('{"ü":1}')
schema_of_json('{"a":[]}')
schema_of_json('{"a":null}')
schema_of_json('[null]')
schema_of_json('{"1a":1,"_b":2,"select":3,"a-b":4}')
schema_of_json('{"a":9223372036854775807}')
schema_of_json('[true, 1]')
schema_of_json('[{"a":1},2]')
schema_of_json('[[1],{"a":1}]')
schema_of_json('{"a":"x\\ny"}')
schema_of_json('{"a\\"b":1}')
schema_of_json('{"b":{"z":1,"y":[{"q":1,"p":"x"}]}}')
schema_of_json('[[1,null],[null,2.5],[]]')
schema_of_json('[{"a":[1]},{"a":["x"],"b":null}]')
schema_of_json('{"é":1,"z":2,"Z":3}')
schema_of_json('{"a":"\\ud83d\\ude00"}')
schema_of_json('[null, {"a": 1}]')
schema_of_json('[1, 2.5, "x"]')
schema_of_json('[[], [{"a":1}]]')
schema_of_json('[{"a":{"b":1}},{"a":{"c":true}}]')
schema_of_json('[{"a":null},{"a":{"c":true}}]')
schema_of_json('[{"a":[1]},{"a":{"c":true}}]')
schema_of_json('{"a":1, "b":2.0}') || 'x'
schema_of_json('true')
schema_of_json('2.5')
hash(struct(r, s))
hash(struct(1 as a, struct('x' as b) as c), 5)
hash(struct(cast(null as int) as a))
hash(cast(null as struct<a:int>))
hash(array(struct(1 as a, 'x' as b), null))
xxhash64(struct(r, s, array(r, i8)))
hash(struct(s, r), struct(d, ts), struct(f64, struct(i64, struct(m, w)), array(struct(r, s), struct(r, s))))
xxhash64(struct(s, r), struct(d, ts), struct(f64, struct(i64, struct(m, w)), array(struct(r, s), struct(r, s))))
hash(if(r > 3, struct(r, s), null), 7)
hash(array(struct(array(struct(r, s)), r), null))
hash(struct(null, 1))
hash(struct(struct(null as a) as b), r)
xxhash64(struct(array(array(r, i8), null), k))
hash(named_struct('x y', r, 'z"q', s))
0.0000001BD
0.00000010BD
-0.0000001BD
0.000001BD
0.0BD
0.00000000BD
1e-7BD
1.5e3BD
10BD
0.0000001
.00000001
0.0000000
00.5
00.5BD
1.
1.BD
000.10
000000000001.5
-0.0000000
- 0.00000001
0.00000001BD + 1
1e2BD
-1e2BD
12.50BD
from_json('{"a":5,"b":[1]}', schema_of_json('{"a":1,"b":[2.5]}'))
from_json('[{"a":5}]', schema_of_json('[{"a":1}]'))
""")

#: Texts of JSON, each with a path.
_JSON_CASES = lines(r"""
{"a":{"b":1, "c":"x"}} $.a.b
{"a":{"b":1, "c":"x"}} $.a
{"a":{"b":1 , "c":[true,false,null,-5,12345678901234567890123],"d":{}}} $.a
{"a":1.50} $.a
{"a":1e5} $.a
{"a":1E+5} $.a
{"a":-0.0} $.a
{"a":0} $.a
{"a":-0,"b":1} $.a
{"a":"\u0000b"} $.a
{"a":12345678901234567890123} $.a
{"a":-9223372036854775809} $.a
{"a":0.1234567890123456789} $.a
{"a":-1234567.891} $.a
{"a":100.00e-2} $.a
{"a":true} $.a
{"a":null} $.a
{"a":"x"} $.a
{"a":""} $.a
{"a":"null"} $.a
{"a":"x\"y\u00e9\n\/é😀"} $.a
{"a":"\ud83d\ude00"} $.a
{"a":[1,2,{"b":3}]} $.a[2].b
{"a":[1, 2 ,3]} $.a
{"a":[]} $.a[0]
{"a":[1,2]} $.a[5]
{"a":[1,2]} $.a.b
{"a":"1"} $.a.b
{"a":{"0":1}} $.a[0]
{"a":[{"b":1},{"b":2}]} $.a.b
[{"a":1},{"a":2}] $[1].a
[{"a":1},{"a":2}] $.a
[1,2] $[1]
{"a":1,"a":2} $.a
{"b":{"a":1},"a":null} $.a
{"A":1} $.a
{"a_b":1,"a-b":2} $.a-b
{"a b":1} $['a b']
{"a.b":1,"a":{"b":2}} $['a.b']
{"\u0061":1} $.a
{"a":"}\"{, NaN,]"} $.a
"x" $.a
n/a $.a
{} $.a
[] $[0]
{"a":{"b":{"c":[[1,2],[3,4]]}}} $.a.b.c[1][0]
""")


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SCALARS += [
    f"get_json_object({_literal(text)}, {_literal(f'${path}')})"
    for text, _, path in (case.rpartition(" $") for case in _JSON_CASES)
]
SCALARS += ["get_json_object('', '$.a')", "get_json_object(s, '$.a')", "get_json_object('{\"a\":1}', null)"]

#: Queries of aggregates.
AGGREGATES = lines(r"""
select bit_and(i8), bit_or(i16), bit_xor(i32), bit_and(i64), bit_or(r), bit_xor(i64) from e
select k, bit_and(i8), bit_or(i64), bit_xor(i16) from e group by k
select bit_and(r), bit_or(r), bit_xor(r) from e where false
select r, bit_or(r) over (order by r), bit_xor(i8) over (partition by k) from e
select bit_or(r) filter (where k) from e
select bitmap_construct_agg(pmod(i16, 1000)), bitmap_construct_agg(bitmap_bit_position(i64)) from e
select k, bitmap_count(bitmap_construct_agg(bitmap_bit_position(i32))) from e group by k
select bitmap_construct_agg(r), bitmap_count(bitmap_construct_agg(r)) from e where false
select bitmap_construct_agg(r) filter (where k), bitmap_construct_agg(32767) from e
select hex(bitmap_or_agg(x)), bitmap_and_agg(x) from (select bitmap_construct_agg(r) x from e group by k)
select k, bitmap_or_agg(x), bitmap_and_agg(x) from (select k, bitmap_construct_agg(r) x from e group by k, r) group by k
select bitmap_or_agg(x) filter (where k) from (select k, bitmap_construct_agg(r) x from e group by k)
select bitmap_and_agg(x) filter (where k) from (select k, bitmap_construct_agg(r) x from e group by k)
select bitmap_or_agg(x), bitmap_and_agg(x) from (select bitmap_construct_agg(r) x from e group by k) where false
select r, bitmap_count(bitmap_or_agg(x) over (order by r)) from (select r, bitmap_construct_agg(r) x from e group by r)
select min(x), max(x), count(x), count(distinct x) from (select bitmap_construct_agg(r) x from e group by r)
select length(x), octet_length(x), len(x) from (select bitmap_construct_agg(r) x from e group by r)
select x, max(r) from (select r, bitmap_construct_agg(pmod(r, 3)) x from e group by r) group by x
with b as (select r, bitmap_construct_agg(pmod(r, 3)) x from e group by r) select a.x = b.x, a.x < b.x from b a, b
with b as (select r, bitmap_construct_agg(r) x from e group by r) select coalesce(x, x), nullif(x, x), x <=> x from b
with b as (select r, bitmap_construct_agg(r) x from e group by r) select case when r > 3 then x end from b
select r, x from (select r, bitmap_construct_agg(pmod(r, 3)) x from e group by r) order by x desc, r
select x from (select bitmap_construct_agg(pmod(r, 3)) x from e group by r) union select null
select r, sum(r) over (partition by cast(cast(r as string) as int) % 3 order by r) x from e
select r, sum(r) over (partition by month(to_date(cast(d as string))) order by cast(cast(r as string) as double)) x
  from e
select r, rank() over (partition by date_trunc('month', cast(cast(ts as string) as timestamp)) order by r desc) x from e
select r, count(*) over (partition by concat(split(concat('a-', r % 3), '-')[1], 'error(1)', k)) x, 'error(1)' y from e
select k, sum(sum(r)) over (order by cast(max(cast(r as string)) as int)) x from e group by k
select r, sum(r) over w x from e window w as (partition by r / 2, element_at(array(1, 2), 1) order by r % 2, r)
select percentile(r, 0.5, r), percentile(i32, 0.25, pmod(r, 3)), percentile(f64, 0.9, r), percentile(f32, 0, r) from e
select k, percentile(i8, array(0, 0.1, 0.5, 1), r)[2], percentile(m, 0.33, i8) from e where i8 > 0 group by k
select percentile(r, 0.5, 0), percentile(r, array(0.5, 1), 0L)[0], percentile(cast(null as int), 0.5, 1) from e
select percentile(r, 0.5, r) filter (where r > 3), percentile(r, 0.5, r) filter (where r > 300) from e
select percentile(id, 0.999, id), percentile(id % 17, array(0.1, 0.77), 1 + id % 5)[1] from range(1000)
select percentile(r, 0.5, r) over (partition by k) from e
select percentile(i64, 0.7, r), percentile(cast(id as decimal(10,2)), 0.3, 2) from e cross join range(3)
select r, theta_sketch_agg(i32) over (partition by i32) x, theta_sketch_agg(s, 6) over (partition by s) y from e
select r, theta_sketch_agg(concat(s, r)) over (partition by concat(s, r)) x,
  theta_sketch_agg(f64) over (partition by f64) y from e
select theta_sketch_agg(i32), theta_sketch_agg(i64), theta_sketch_agg(f32), theta_sketch_agg(f64),
  theta_sketch_agg(s) from e
select k, theta_sketch_agg(s, 5), theta_sketch_estimate(theta_sketch_agg(i64, 26)) from e group by k
select theta_sketch_agg(r), theta_sketch_estimate(theta_sketch_agg(r)) from e where false
select theta_sketch_agg(r) filter (where k), theta_sketch_agg(1), theta_sketch_agg('') from e
select theta_sketch_agg(id), theta_sketch_agg(id, 5), theta_sketch_agg(concat('u', id), 9) from range(50000)
select id % 7, theta_sketch_agg(cast(id as double) / 3) from range(50000) group by id % 7
select theta_union_agg(x), theta_union_agg(x, 5)
  from (select theta_sketch_agg(id, 8) x from range(9000) group by id % 40)
select theta_union_agg(x, 6) from (select id % 3 k, theta_sketch_agg(id) x from range(0) group by id % 3) group by k
select theta_intersection_agg(x) from (select theta_sketch_agg(id * (1 + id % 2)) x from range(20000) group by id % 2)
select theta_union_agg(x), theta_intersection_agg(x) from (select theta_sketch_agg(r) x from e group by k) where false
select k, theta_union_agg(x) filter (where r > 3)
  from (select k, r, theta_sketch_agg(i64) x from e group by k, r) group by k
select r, theta_sketch_estimate(theta_union_agg(x) over (order by r))
  from (select r, theta_sketch_agg(i8 + 0) x from e group by r)
select r, theta_sketch_estimate(theta_sketch_agg(i32) over (partition by k order by r)) from e
select theta_union(a, b), theta_union(a, b, 6), theta_intersection(a, b), theta_difference(a, b), theta_union(a, null)
  from (select theta_sketch_agg(id) a, theta_sketch_agg(id * 2) b from range(30000))
select k, (select theta_sketch_estimate(theta_sketch_agg(i.r)) from e i where i.r = e.r + 5) x from e
select k, (select coalesce(theta_sketch_estimate(theta_union_agg(x)), -1) from (select r, theta_sketch_agg(r) x from e
  group by r) i where i.r = e.r + 5) x from e
select (select theta_sketch_estimate(theta_sketch_agg(i.r)) from e i where i.r = 500) x from e
select theta_sketch_estimate(null), theta_union(null, null), theta_intersection(null, null),
  theta_difference(null, null)
select theta_sketch_estimate(theta_difference(a, b)), theta_sketch_estimate(theta_intersection(b, a))
  from (select theta_sketch_agg(id) a, theta_sketch_agg(id + 300) b from range(1000))
select assert_true(count(*) = 12), max(r) from e
select assert_true(r > 100) from e where false
select raise_error('x') from e where false
select x from (select if(r > 0, r, raise_error('x')) as x from e) where x > 3 order by x
select count(*) from (select if(r < 0, r, raise_error('x')) as x from e)
select k, assert_true(count(*) > 0, 'none') from e group by k order by k
select r from e where if(r > 0, r, raise_error('x')) > 3 order by r
select if(r > 0, r, raise_error('x')) as a, count(*) from e group by 1 order by 1
select rand(), random(), randn(), uuid(), rand() as x from e where false
select count(*), count(distinct x), min(x) >= 0, max(x) < 1, avg(x) between 0.4 and 0.6 from (select rand() as x from
  e a join e b join e c)
select count(distinct x), avg(x) between -0.2 and 0.2, stddev(x) between 0.8 and 1.2, min(x) < -2, max(x) > 2 from
  (select randn() as x from e a join e b join e c)
select count(distinct u), count(distinct v), count_if(u rlike
  '^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$') from (select uuid() as u, uuid() as v from
  e a join e b)
select count_if(x >= 0.5), count_if(x <> y) from (select x, x as y from (select rand() as x from e a join e b) where
  x < 0.5)
select count(distinct x), count(*) from (select rand() as x from e union all select rand() from e)
select count(distinct x), count(*) from (select k, rand() as x from e group by k)
select count(*), count(distinct r), sum(r) from (select r from e order by rand())
select count(*), count(distinct r) from (select r, rand() as x from e order by rand(), r)
select count(*), sum(r) from (select r from e order by uuid() desc limit 5) where r > 100
""")

#: Queries that fail for a value, or for the form of an argument.
FAILING_SCALARS = lines(r"""
select url_decode('%zz')
select url_decode('a%')
select url_decode('a%4')
select conv('FFFFFFFFFFFFFFFFF', 16, 10)
select interval 1 day / (r - 1) from e
select (ts - ts) / 0 from e
select interval 106751991 day + interval 106751991 day
select sum(interval 100000000 day) from e
select make_dt_interval(106751992)
select interval 1 day > 5
select ts - d > r from e
select r from e tablesample (101 percent)
select r from e tablesample (bucket 3 out of 2)
select r from e tablesample (bucket 3 out of 0)
select extract(minute from interval 25 hour)
select bitmap_construct_agg(32768)
select bitmap_construct_agg(-r) from e
select bitmap_or_agg(s) from e
select bitmap_and_agg(r) from e
select bitmap_count(s) from e
select theta_sketch_estimate(s) from e
select sum(r) over (partition by 1 / (r - 3)) from e
select sum(r) over (order by cast(concat(r, 'x') as int)) from e
select sum(r) over (partition by split('a', '-')[r]) from e
select percentile(r, 0.5, -r) from e
select percentile(r, 0.5, f64) from e
select percentile(r, 2, r) from e
select theta_union_agg(r) from e
select theta_sketch_agg(k) from e
select theta_sketch_agg(r, 27) from e
select theta_sketch_agg(r, 3) from e
select theta_sketch_estimate(bitmap_construct_agg(1))
select theta_union(theta_sketch_agg(1), bitmap_construct_agg(1))
select make_date(2015, 1, i64) from e
select floor(f64) from e where r = 2
select ceil(-1e300D)
select floor(9223372036854775808D)
select s like '!%' escape '!!' from e
select s like '%' escape '' from e
select s like 'a!' escape '!' from e
select s like '!a' escape '!' from e
select 'a' like '\\'
select 'a' like '\\x'
select n like s from e
select s like n || '\\' from e
select s like any ('a', 'b\\') from e
select s like 'é' escape 'é' from e
select elt(r, s, n) from e
select elt(0, 'a')
select w div m from e
select m div 0 from e
select cast(g as decimal(10,2)) from e
select cast(f64 as decimal(5,5)) from e where r = 7
select cast(ts as decimal(10,2)) from e
select pmod(r, 0) from e
select pmod(m, 0) from e
select pmod(f64, 0) from e
select round(i8, -1) from e where r = 2
select round(i16, -2) from e
select round(i32, -3) from e
select round(i64, -5) from e
select bround(i32, -1) from e where r = 2
select negative(i32) from e
select abs('x')
select + 'x'
select try_divide(r / 0, 1) from e
select decimal(i64) from e
select float('x')
select assert_true(r < 0) from e
select assert_true(null) from e
select assert_true(1) from e
select assert_true(r < 0, 'message') from e
select raise_error('x') from e
select raise_error(null) from e
select raise_error(1) from e
select raise_error(s) from e where r = 4
select raise_error('a', 'b') from e
select raise_error() from e
select assert_true(count(*) = 1) from e
select if(r < 3, r, raise_error(concat('row ', r))) from e
select coalesce(i8, raise_error('x')) from e
select case when r < 3 then 'a' else raise_error('x') end from e
select hash(if(r < 3, d, raise_error('x'))) from e
select sum(if(r < 3, r, raise_error('x'))) from e
select r from e where if(r < 3, true, raise_error('x'))
select r from e order by if(r < 3, r, raise_error('x'))
select convert_timezone('UTC') from e
select current_timezone(1) from e
select make_ym_interval(1, 2, 3) from e
select json_tuple('{"a":1}') from e
select json_tuple() from e
select j.* from e lateral view json_tuple(s) j as x
select schema_of_json(null) from e
select hash(map(1,2)) from e
select hash(named_struct('a', map(1, 2))) from e
select hash(map(1, 2)) from e
select xxhash64(array(map(1, 2))) from e
""")
