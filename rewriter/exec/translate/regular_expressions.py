"""Functions of regular expressions, for the allow-list of ``expressions``."""

from __future__ import annotations

from sqlglot import exp

from rewriter.exec.sql_types import BOOLEAN, INT, STRING, VOID, array_of
from rewriter.exec.translate.allowlist_entries import Entry
from rewriter.exec.translate.casts import plain_cast, string_literal
from rewriter.exec.translate.expressions import Allowed, Expressions, Scope, Typed, call, functions
from rewriter.exec.translate.patterns import groups, java_regex, replaceable
from rewriter.exec.translate.string_functions import text


def _name(e: Expressions, node: exp.Expr) -> str:
    return str(e.text.called(node))


def _rlike(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.allow_only(node, "this", "expression")
    return _regex_search(e, node, node.this, node.expression, "RLIKE", scope)


def _regexp_like(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    string, pattern = e.arguments(node, 2)
    return _regex_search(e, node, string, pattern, _name(e, node).upper(), scope)


def _regex_search(
    e: Expressions, node: exp.Expr, string: exp.Expr, regex: exp.Expr, function: str, scope: Scope
) -> Typed:
    value, pattern = text(e, string, scope), e.translate(regex, scope)
    if pattern.type == VOID:
        return Typed(plain_cast(pattern.sql, BOOLEAN), BOOLEAN, call(function, value.name, pattern.name))
    translated = java_regex(pattern.text) if pattern.text is not None else None
    if translated is None:
        e.refuse(node, f"The regular expression {e.text.shown(regex)}")
    name = call(function, value.name, pattern.text)
    return Typed(f"regexp_matches({value.sql}, {string_literal(translated)})", BOOLEAN, name)


def _regex(e: Expressions, node: exp.Expr, pattern: exp.Expr, scope: Scope) -> tuple[Typed, str]:
    """Returns a pattern whose matches, not only their existence, are those of Java."""
    value = e.translate(pattern, scope)
    translated = java_regex(value.text) if value.text is not None else None
    if translated is None or not replaceable(value.text or ""):
        e.refuse(node, f"The regular expression {e.text.shown(pattern)} in {_name(e, node).upper()}")
    return value, translated


def _matched_group(e: Expressions, node: exp.Expr, scope: Scope) -> tuple[Typed, Typed, str, int]:
    """Returns the arguments of REGEXP_EXTRACT and REGEXP_EXTRACT_ALL: the string, the pattern, the same for DuckDB, and
    the number of a group in it.
    """
    string, regex, *options = e.arguments(node, 2, 3)
    value = text(e, string, scope)
    pattern, translated = _regex(e, node, regex, scope)
    group = e.translate(options[0], scope).digits if options else 1
    if group is None or not 0 <= group <= groups(str(pattern.text)):
        e.refuse(node, f"{_name(e, node).upper()} of a group that is not in the pattern")
    return value, pattern, translated, group


def _regexp_extract(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value, pattern, translated, group = _matched_group(e, node, scope)
    sql = f"regexp_extract({value.sql}, {string_literal(translated)}, {group})"
    return Typed(sql, STRING, call("regexp_extract", value.name, pattern.name, str(group)))


def _regexp_replace(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    string, regex, replacement = e.arguments(node, 3)
    value, other = text(e, string, scope), text(e, replacement, scope)
    pattern, translated = _regex(e, node, regex, scope)
    if other.text is None or "$" in other.text or "\\" in other.text:
        e.refuse(node, f"The replacement {e.text.shown(replacement)}")
    sql = f"regexp_replace({value.sql}, {string_literal(translated)}, {other.sql}, 'g')"
    return Typed(sql, STRING, call("regexp_replace", value.name, pattern.name, other.name, "1"))


def _regexp_count(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    string, regex = e.arguments(node, 2)
    value = text(e, string, scope)
    pattern, translated = _regex(e, node, regex, scope)
    sql = f"len(regexp_extract_all({value.sql}, {string_literal(translated)}))"
    return Typed(plain_cast(sql, INT), INT, call("regexp_count", value.name, pattern.name))


def _regexp_substr(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    string, regex = e.arguments(node, 2)
    value = text(e, string, scope)
    pattern, translated = _regex(e, node, regex, scope)
    # No match is empty.
    sql = f"nullif(regexp_extract({value.sql}, {string_literal(translated)}), '')"
    return Typed(sql, STRING, call("regexp_substr", value.name, pattern.name))


def _regexp_instr(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    string, regex, *options = e.arguments(node, 2, 3)
    value = text(e, string, scope)
    if options and e.translate(options[0], scope).digits != 0:
        e.refuse(node, "REGEXP_INSTR of a group")
    pattern, translated = _regex(e, node, regex, scope)
    before = string_literal(f"(?s:\\A(.*?))(?:{translated})")
    sql = (
        f"CASE WHEN regexp_matches({value.sql}, {string_literal(translated)}) "
        f"THEN length(regexp_extract({value.sql}, {before}, 1)) + 1 WHEN {value.sql} IS NOT NULL THEN 0 END"
    )
    return Typed(plain_cast(sql, INT), INT, call("regexp_instr", value.name, pattern.name, "0"))


def _regexp_extract_all(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value, pattern, translated, group = _matched_group(e, node, scope)
    sql = f"regexp_extract_all({value.sql}, {string_literal(translated)}, {group})"
    return Typed(sql, array_of(STRING), call("regexp_extract_all", value.name, pattern.name, str(group)))


_SECTION = "Strings"
_PATTERN = "patterns other than those below"
_MATCHES = f"{_PATTERN}, $, repeated groups, matches of nothing"
NODES: dict[type[exp.Expr] | str, Allowed] = {
    exp.RegexpLike: Allowed(_rlike, Entry(_SECTION, "s RLIKE 'regex', rlike(s, 'regex')", _PATTERN)),
}
FUNCTIONS = functions(
    _SECTION,
    ("regexp_like(s, 'regex')", _regexp_like, _PATTERN),
    ("regexp_extract(s, 'regex'[, group])", _regexp_extract, _MATCHES),
    ("regexp_extract_all(s, 'regex'[, group])", _regexp_extract_all, _MATCHES),
    ("regexp_replace(s, 'regex', other)", _regexp_replace, f"{_MATCHES}; a position"),
    ("regexp_count(s, 'regex')", _regexp_count, _MATCHES),
    ("regexp_substr(s, 'regex')", _regexp_substr, _MATCHES),
    ("regexp_instr(s, 'regex'[, 0])", _regexp_instr, _MATCHES),
)
