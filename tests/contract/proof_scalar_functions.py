"""More expressions that both engines evaluate over the relation ``e`` of ``proofs``, and queries that both refuse."""

from __future__ import annotations

from contract.proofs import lines

#: Expressions that fail for none of the values.
SCALARS = lines(r"""
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
""")

#: Queries that fail for a value, or for the form of an argument.
FAILING_SCALARS = lines(r"""
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
""")
