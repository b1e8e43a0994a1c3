"""RAND, RANDN and UUID without a seed, for the allow-list of ``expressions``.

Each row has a value of its own. A translation that repeats an operand would compute several, so the calls are items of
a SELECT list and keys of ORDER BY, and ``check_once`` tests that each occurs once in the statement.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.exec.sql_types import DOUBLE, STRING, SqlType
from rewriter.exec.translate.allowlist_entries import Entry
from rewriter.exec.translate.expressions import Allowed, Expressions, Scope, Translation, Typed, functions

if TYPE_CHECKING:
    from rewriter.exec.translate.sql_text import SqlText

#: Above a SELECT, the nodes with which its rows are computed once.
_AROUND_QUERIES = (exp.Subquery, exp.From, exp.Join, exp.SetOperation, exp.Select)
_MARK = re.compile(r"rw_(?:rand|randn|uuid)\((\d+)\)")


def _random(function: str, type_: SqlType) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        name = e.text.called(node) or function
        if node.expressions or (isinstance(node, exp.Uuid) and _has_seeded_uuid(e.text)):
            e.text.refuse(f"{name.upper()} with a seed", node)
        if not _is_computed_once(node):
            e.text.refuse(
                f"{name.upper()} as an operand, or in a subquery that is not in FROM,", node,
                "Make it an item of a subquery in FROM, and name its column here.",
            )  # fmt: skip
        # A key of ORDER BY is a copy, outside of the tree.
        place = next((number for number, part in enumerate(node.root().walk()) if part is node), 0)
        return Typed(f"rw_{function}({place})", type_, f"{function}()")

    return translate


def _has_seeded_uuid(text: SqlText) -> bool:
    """Tests for UUID with an argument, which sqlglot drops."""
    calls = zip(text.tokens, text.tokens[1:], text.tokens[2:], strict=False)
    return any(
        name.is_word("UUID") and opening.is_operator("(") and not end.is_operator(")") for name, opening, end in calls
    )


def _is_computed_once(node: exp.Expr) -> bool:
    """Tests whether a call is an item of a SELECT list, or a key of ORDER BY, of a query that is computed once."""
    child, parent = node, node.parent
    while isinstance(parent, exp.Paren | exp.Alias):
        child, parent = parent, parent.parent
    if isinstance(parent, exp.Ordered) and isinstance(parent.parent, exp.Order):
        parent = parent.parent.parent
    elif isinstance(parent, exp.Select) and child not in parent.expressions:
        return False
    if not isinstance(parent, exp.Select):
        return False
    around = parent.parent
    while isinstance(around, _AROUND_QUERIES):
        if isinstance(around, exp.Subquery) and isinstance(around.parent, exp.Select):
            return False  # a scalar subquery
        around = around.parent
    return around is None


def check_once(text: SqlText, sql: str) -> bool:
    """Returns whether a statement has such calls. Refuses one that has the same call twice."""
    marks = _MARK.findall(sql)
    if len(set(marks)) < len(marks):
        hint = "Make it an item of a subquery in FROM, and name its column here."
        text.refuse("A use of the value of RAND, RANDN or UUID in another expression", text.tree, hint)
    return bool(marks)


_UUID = Entry("Random values", "uuid()", "as RAND")
NODES: dict[type[exp.Expr] | str, Allowed] = {exp.Uuid: Allowed(_random("uuid", STRING), _UUID)}
_REFUSED = "a seed; an operand, and a subquery that is not in FROM"
FUNCTIONS = functions(
    "Random values",
    ("rand()", _random("rand", DOUBLE), _REFUSED),
    ("random()", _random("rand", DOUBLE), "as RAND"),
    ("randn()", _random("randn", DOUBLE), "as RAND"),
)
