"""Variables: what they become, and that they add nothing to a statement."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewriter.errors import Error, InterfaceError, ProgrammingError
from rewriter.grammar.lexer import Token, TokenKind, string_value, tokens
from rewriter.runtime.text_variables import Variables, substitute_variables

VALUES = {
    "table": "sales",
    "day": "it's",
    "n": "-5",
    "whole": "7",
    "year": "2024",
    "date": "DATE '2024-01-01'",
    "text": "'a b'",
    "quoted": "`a b`",
    "empty": "",
    "any": "1 OR 1=1",
    "raw": "r",
    "keyword": "OR",
    "comment": "1 -- ",
    "end": "1; DROP TABLE t",
    "tick": "a`b",
    "slash": "a\\",
    "double": 'say "x"',
    "line": "a\nb",
    "nested": "${hivevar:year}",
    "parameter": ":year",
}


def of(text: str) -> str:
    return substitute_variables(text, Variables(dict(VALUES), {"conf": "3"})).text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM :table", "SELECT * FROM sales"),
        ("SELECT * FROM ${hivevar:table}, ${table}, ${ HIVEVAR:table }", None),
        ("SELECT ${hivevar:table}.x, ${table}", "SELECT sales.x, sales"),
        ("WHERE dt = :'day'", r"WHERE dt = 'it\'s'"),
        ('SELECT :"day", :"tick"', "SELECT `it's`, `a``b`"),
        ("WHERE dt = '${hivevar:day}'", r"WHERE dt = 'it\'s'"),
        ('WHERE dt = "${hivevar:double}${year}"', r'WHERE dt = "say \"x\"2024"'),
        ("SELECT 'a\\${hivevar:year}'", "SELECT 'a\\${hivevar:year}'"),
        ("SELECT '${un known}', '${}', '$x', '{x}'", "SELECT '${un known}', '${}', '$x', '{x}'"),
        ("SELECT '${ year }', '\\u0024{year}'", "SELECT '${ year }', '\\u0024{year}'"),
        ("SELECT r'${hivevar:year}'", "SELECT r'2024'"),
        ("SELECT `${hivevar:tick}`", "SELECT `a``b`"),
        ("SELECT * FROM sales_${hivevar:year}_${year}", "SELECT * FROM sales_2024_2024"),
        ("SELECT 5 - :n, 5-:n", "SELECT 5 - -5, 5- -5"),
        ("LIMIT :whole", "LIMIT 7"),
        ("WHERE d = :date AND s = :text AND :quoted", "WHERE d = DATE '2024-01-01' AND s = 'a b' AND `a b`"),
        ("SELECT :'empty'", "SELECT ''"),
        ("SELECT :'line', :'slash'", "SELECT 'a\\nb', 'a\\\\'"),
        ("SELECT '${slash}'", "SELECT 'a\\\\'"),
        ("SELECT ${hiveconf:conf}", "SELECT 3"),
        ("SELECT v:table, x::int, m[':table'] -- :nothing ${hivevar:nothing}", None),
        ("SELECT 1 /* :nothing ${hivevar:nothing} */", "SELECT 1 /* :nothing ${hivevar:nothing} */"),
        ("SELECT '${hivevar:nested}', '${parameter}'", "SELECT '${hivevar:year}', ':year'"),
        ("SELECT ?", "SELECT ?"),
        ("SELECT 5 -${n}, -${hivevar:n}", "SELECT 5 - -5, - -5"),
        ("SELECT '${foo:unknown}', :whole", "SELECT '${foo:unknown}', 7"),
        ("SELECT '${foo:bar}', 1 -- ${env:HOME}", "SELECT '${foo:bar}', 1 -- ${env:HOME}"),
        ("SELECT '\\\\${year}', '\\n${year}', '\\u0041${year}'", "SELECT '\\\\2024', '\\n2024', '\\u00412024'"),
    ],
)
def test_values(text: str, expected: str | None) -> None:
    if expected is None:
        expected = text
        if "HIVEVAR" in text:
            with pytest.raises(ProgrammingError):
                of(text)
            return
    assert of(text) == expected


@pytest.mark.parametrize(
    ("text", "condition", "marked"),
    [
        ("SELECT :unknown", "UNBOUND_SQL_PARAMETER", ":unknown"),
        ("SELECT '${hivevar:unknown}'", "UNBOUND_SQL_PARAMETER", "${hivevar:unknown}"),
        ("SELECT ${unknown}", "UNBOUND_SQL_PARAMETER", "${unknown}"),
        # Hive leaves it, and Spark removes it.
        ("SELECT '${unknown}'", "UNBOUND_SQL_PARAMETER", "${unknown}"),
        ("SELECT regexp_replace(s, '(b)', '${1}')", "UNBOUND_SQL_PARAMETER", "${1}"),
        ("SELECT ${env:HOME}", "PROGRAMMING_ERROR", "${env:HOME}"),
        *((f"SELECT '{reference}'", "PROGRAMMING_ERROR", reference) for reference in (
            "${env:HOME}", "${system:user.name}", "${metaconf:x}", "${spark:x}", "${sparkconf:x}"
        )),
        *((f"SELECT * FROM t WHERE a = :{name}", "INVALID_VARIABLE_VALUE", f":{name}") for name in (
            "any", "keyword", "comment", "end", "empty", "tick", "slash", "double", "line", "nested", "parameter", "day"
        )),
        ("SELECT ${hivevar:any}", "INVALID_VARIABLE_VALUE", "${hivevar:any}"),
        ("SELECT t_${hivevar:any}", "INVALID_VARIABLE_VALUE", "${hivevar:any}"),
        ("SELECT r'${hivevar:day}'", "INVALID_VARIABLE_VALUE", "${hivevar:day}"),
        ("SELECT :raw'x'", "INVALID_VARIABLE_VALUE", ":raw"),
        ("SELECT :whole.5", "INVALID_VARIABLE_VALUE", ":whole"),
        ("SELECT a :n", "INVALID_VARIABLE_VALUE", ":n"),
        ("SELECT (a) :n", "INVALID_VARIABLE_VALUE", ":n"),
        ("SELECT 1 :n", "INVALID_VARIABLE_VALUE", ":n"),
        ("SELECT 5 ${n}", "INVALID_VARIABLE_VALUE", "${n}"),
        ("SELECT a ${n}", "INVALID_VARIABLE_VALUE", "${n}"),
        ("SELECT CASE WHEN true THEN 2 END :n", "INVALID_VARIABLE_VALUE", ":n"),
        ("SELECT '\\u00${year}'", "INVALID_VARIABLE_VALUE", "${year}"),
        ("SELECT '\\1${year}'", "INVALID_VARIABLE_VALUE", "${year}"),
    ],
)  # fmt: skip
def test_refused(text: str, condition: str, marked: str) -> None:
    with pytest.raises(Error) as caught:
        of(text)
    error = caught.value
    assert error.condition == condition
    assert error.hint
    assert error.position is not None
    assert text[error.position.start : error.position.end] == marked


@pytest.mark.parametrize("reference", ["${x}", "${hivevar:x}", "${hiveconf:x}", "${HiveConf:x}"])
def test_values_that_hive_and_spark_read_differently(reference: str) -> None:
    with pytest.raises(ProgrammingError) as caught:
        substitute_variables(f"SELECT '{reference}'", Variables({"x": "1"}, {"x": "2"}))
    assert caught.value.condition == "INVALID_VARIABLE_VALUE"
    for variables in (Variables({"x": "1"}, {"x": "1"}), Variables({"x": "1"}), Variables({}, {"x": "1"})):
        assert substitute_variables(f"SELECT '{reference}'", variables).text == "SELECT '1'"


def test_positions_lead_back_to_the_typed_text() -> None:
    text = "SELECT :'day', nope FROM :table"
    bound = substitute_variables(text, Variables(dict(VALUES)))
    at = bound.text.index("nope")
    original = bound.original(tokens(bound.text)[3].span)
    assert bound.text[at : at + 4] == "nope"
    assert original is not None
    assert text[original.start : original.end] == "nope"


def test_names_of_variables() -> None:
    for name in ("1", "a-b", "", "a b", "é;"):
        with pytest.raises(InterfaceError):
            Variables().set(name, "x")


PLACES = [
    "SELECT a {} b FROM t",
    "SELECT {} FROM t WHERE x = 1",
    "SELECT a FROM t WHERE dt = {}",
    "SELECT a FROM t WHERE dt = {} AND x",
    "SELECT f({}), -{}, 1 {}",
    "INSERT INTO t PARTITION (dt={}) SELECT 1",
]
QUOTED_PLACES = [
    "SELECT '{}'",
    'SELECT "{}"',
    "SELECT `{}`",
    "SELECT r'{}'",
    "SELECT a_{}, {}_b",
    "SELECT 1 -- {}\n, 2",
]
NOISE = st.text(alphabet="ab1 .-+*/'\"`\\:;?${}()\n,=é\u202e\x00xrXR_", max_size=12) | st.text(max_size=6)


def values_of(lexed: tuple[Token, ...]) -> list[tuple[TokenKind, str]]:
    return [(token.kind, token.text) for token in lexed]


@given(place=st.sampled_from(PLACES), form=st.sampled_from([":v", ":'v'", ':"v"', "${hivevar:v}", "${v}"]), value=NOISE)
def test_a_value_is_one_token_or_refused(place: str, form: str, value: str) -> None:
    """The tokens beside the references are those of the statement, and each reference is one literal or name."""
    text = place.replace("{}", form)
    try:
        result = substitute_variables(text, Variables({"v": value})).text
    except Error:
        return
    expected = values_of(tokens(place.replace("{}", " xyzzy ")))
    count = place.count("{}")
    lexed = values_of(tokens(result))
    extra = len(lexed) - len(expected)
    # A sign, or the word of a typed literal, is one more token for each reference.
    assert 0 <= extra <= count
    kept = [token for token in expected if token != (TokenKind.WORD, "xyzzy")]
    remaining = iter(lexed)
    assert all(token in remaining for token in kept)  # In their order.
    if form == ":'v'":
        assert sum(kind is TokenKind.STRING and string_value(Token(kind, t, 0, len(t))) == value for kind, t in lexed)


@given(place=st.sampled_from(QUOTED_PLACES), value=NOISE)
def test_a_value_stays_within_its_quotes(place: str, value: str) -> None:
    try:
        result = substitute_variables(place.replace("{}", "${hivevar:v}"), Variables({"v": value})).text
    except Error:
        return
    expected, lexed = tokens(place.replace("{}", "xyzzy")), tokens(result)
    assert [token.kind for token in lexed] == [token.kind for token in expected]
    if place in ("SELECT '{}'", 'SELECT "{}"', "SELECT r'{}'"):
        assert string_value(lexed[1]) == value
