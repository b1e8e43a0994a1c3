"""LIKE and ILIKE, with ESCAPE, ANY and ALL, for the allow-list of ``expressions``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from rewriter.exec.sql_types import BOOLEAN, STRING
from rewriter.exec.translate.allowlist_entries import Entry
from rewriter.exec.translate.casts import string_literal
from rewriter.exec.translate.expressions import Allowed, Expressions, Scope, Translation, Typed, call
from rewriter.exec.translate.patterns import like_pattern
from rewriter.exec.translate.string_functions import cased_sql, text

#: Translates one condition: a value, a pattern, the node of the pattern, and the escape character.
_Condition = Callable[[Expressions, Typed, Typed, exp.Expr, str], Typed]


def _like(e: Expressions, value: Typed, pattern: Typed, node: exp.Expr, escape: str) -> Typed:
    name = None
    if value.name is not None and pattern.name is not None:
        name = f"{value.name} LIKE {pattern.name}" + ("" if escape == "\\" else f" ESCAPE '{escape}'")
    return Typed(_matches(e, value.sql, pattern, node, escape), BOOLEAN, name)


def _ilike(e: Expressions, value: Typed, pattern: Typed, node: exp.Expr, escape: str) -> Typed:
    name = call("ilike", value.name, pattern.name)
    if pattern.text is None:
        lower_pattern = Typed(cased_sql("lower", pattern.sql), STRING)
    elif pattern.text.isascii():
        lower_pattern = Typed(string_literal(pattern.text.lower()), STRING, text=pattern.text.lower())
    else:
        e.refuse(node, f"The ILIKE pattern {e.text.shown(node)}")
    return Typed(_matches(e, cased_sql("lower", value.sql), lower_pattern, node, escape), BOOLEAN, name)


def _matches(e: Expressions, value_sql: str, pattern: Typed, node: exp.Expr, escape: str) -> str:
    if pattern.text is not None:
        translated = like_pattern(pattern.text, escape)
        if translated is not None:
            escape_clause = " ESCAPE '\\'" if "\\" in translated else ""
            return f"({value_sql} LIKE {string_literal(translated)}{escape_clause})"
    elif escape in "%_" or not escape.isascii():
        e.refuse(node, f"The escape character {escape} of a pattern that is not a string literal")
    return f"rw_like({value_sql}, {pattern.sql}, {string_literal(escape)})"


def _single(condition: _Condition) -> Translation:
    """Returns the translation of ``s LIKE pattern``, and of ``s LIKE ANY (…)`` and ``s LIKE ALL (…)``."""

    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        e.allow_only(node, "this", "expression", "negate")
        if isinstance(node.expression, exp.Any | exp.All):
            return _quantified(e, node, condition, scope)
        return _one(e, node, condition, "\\", scope)

    return translate


def _escaped(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``s LIKE pattern ESCAPE 'c'``."""
    e.allow_only(node, "this", "expression")
    like, character = node.this, node.expression
    condition = _CONDITIONS.get(type(like))
    if condition is None or isinstance(like.expression, exp.Any | exp.All):
        e.refuse(node, "ESCAPE here")
    e.allow_only(like, "this", "expression", "negate")
    e.entries.add(_ENTRIES[type(like)])
    escape = e.text.string(character) if isinstance(character, exp.Literal) else ""
    if len(escape) != 1:
        e.text.wrong(f"The escape '{escape}' is not one character.", "INVALID_ESC", "42604", node)
    return _one(e, like, condition, escape, scope)


def _one(e: Expressions, node: exp.Expr, condition: _Condition, escape: str, scope: Scope) -> Typed:
    value, pattern = text(e, node.this, scope), text(e, node.expression, scope)
    return _negated(condition(e, value, pattern, node.expression, escape), node)


def _negated(value: Typed, node: exp.Expr) -> Typed:
    if not node.args.get("negate"):
        return value
    return Typed(f"(NOT {value.sql})", BOOLEAN, None if value.name is None else f"(NOT {value.name})")


def _quantified(e: Expressions, node: exp.Expr, condition: _Condition, scope: Scope) -> Typed:
    """Returns the conditions of all patterns, joined by OR or AND. NOT negates each of them."""
    listed = node.expression.this
    patterns: list[exp.Expr] = listed.expressions if isinstance(listed, exp.Tuple) else [listed.unnest()]
    is_list = isinstance(listed, exp.Tuple | exp.Paren) and len(patterns) > 0
    if not is_list or isinstance(patterns[0], exp.Query):
        e.refuse(node, f"{e.text.shown(node)}")
    value = text(e, node.this, scope)
    values = [_negated(condition(e, value, text(e, p, scope), p, "\\"), node) for p in patterns]
    word = "OR" if isinstance(node.expression, exp.Any) else "AND"
    sql = f"({f' {word} '.join(part.sql for part in values)})"
    return Typed(sql, BOOLEAN, _quantified_name(node, word, value, patterns, [part.name for part in values]))


def _quantified_name(
    node: exp.Expr, word: str, value: Typed, patterns: Sequence[exp.Expr], names: Sequence[str | None]
) -> str | None:
    """Returns Spark's name: of a function if all patterns are string literals, otherwise of the chain of conditions."""
    kinds = [_is_literal(pattern) for pattern in patterns]
    if all(kinds):
        function = f"{'not' * bool(node.args.get('negate'))}like{'any' if word == 'OR' else 'all'}"
        return call(function, call("lower", value.name) if isinstance(node, exp.ILike) else value.name)
    if False not in kinds or any(name is None for name in names):
        return None
    first, *others = names
    return "(" * len(others) + f"{first}" + "".join(f" {word} {name})" for name in others)


def _is_literal(pattern: exp.Expr) -> bool | None:
    """Tests whether a pattern is a string literal; ``None`` for an expression that Spark's parser may evaluate."""
    node = pattern.unnest()
    if isinstance(node, exp.Literal):
        return bool(node.args.get("is_string"))
    if isinstance(node, exp.Column | exp.Null | exp.Anonymous):
        return False
    return True if isinstance(node, exp.Concat) else None


_SECTION = "Strings"
_CONDITIONS: dict[type[exp.Expr], _Condition] = {exp.Like: _like, exp.ILike: _ilike}
_ENTRIES = {
    exp.Like: Entry(
        _SECTION,
        "s [NOT] LIKE pattern [ESCAPE 'c'], s [NOT] LIKE ANY|ALL (pattern, …)",
        "an escape `%` or `_`, or not in ASCII, of a pattern that is not a literal",
    ),
    exp.ILike: Entry(
        _SECTION,
        "s [NOT] ILIKE pattern [ESCAPE 'c'], s [NOT] ILIKE ANY|ALL (pattern, …)",
        "a literal that is not in ASCII; other patterns as for LIKE",
    ),
}
NODES: dict[type[exp.Expr] | str, Allowed] = {
    exp.Like: Allowed(_single(_like), _ENTRIES[exp.Like]),
    exp.ILike: Allowed(_single(_ilike), _ENTRIES[exp.ILike]),
    exp.Escape: Allowed(_escaped, None),
}
