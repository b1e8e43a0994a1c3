"""Seconds since 1970 of a zoned cube's time: the same number in every zone, until it is converted back to a time."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from rewriter.planner.text.sqlglot_trees import is_of_type

#: Functions of an instant that do not depend on a zone.
SECONDS = (exp.UnixMicros, exp.UnixMillis, exp.UnixSeconds, exp.StrToUnix)
#: The format argument of unix_timestamp(t), which applies to texts.
_DEFAULT_FORMAT = "%Y-%mstrict-%dstrict %Hstrict:%Mstrict:%Sstrict"
#: Expressions that compute a number from numbers, and from the numbers of a group.
_RECKONING = (exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Floor, exp.Ceil, exp.Abs)
#: Expressions that return one of several numbers; their conditions are checked on their own.
_CHOOSING = (exp.If, exp.Case, exp.Coalesce)
_ROLLING = (exp.Min, exp.Max, exp.Sum, exp.Avg, exp.Distinct)


def counts_seconds(node: exp.Expr | None, operand: exp.Expr) -> bool:
    """Tests whether a node is the seconds since 1970, or parts of them, of ``operand``, an instant."""
    if not isinstance(node, SECONDS) or node.this is not operand:
        return False
    return not isinstance(node, exp.StrToUnix) or node.text("format") in ("", _DEFAULT_FORMAT)


def reckoned(node: exp.Expr) -> exp.Expr:
    """Returns the outermost arithmetic expression around a number."""
    while (parent := node.parent) is not None:
        number = isinstance(parent, exp.Cast | exp.TryCast) and is_of_type(
            parent.args["to"], *exp.DataType.NUMERIC_TYPES
        )
        if not number and not isinstance(parent, (*_RECKONING, *_CHOOSING, *_ROLLING)):
            break
        node = parent
    return node


def seconds_above(node: exp.Expr) -> exp.Expr:
    """Returns the arithmetic around the seconds of an instant; the instant itself if its seconds are not counted."""
    return reckoned(node.parent) if isinstance(node.parent, SECONDS) else node


def is_reckoned(node: exp.Expr, instants: Collection[int]) -> bool:
    """Tests whether a node is a number computed from numbers, columns and seconds of instants (``id`` of their
    columns).
    """
    if isinstance(node, _RECKONING):
        return all(is_reckoned(operand, instants) for operand in node.iter_expressions())
    if isinstance(node, exp.Column) and isinstance(node.parent, SECONDS):
        return id(node) in instants
    if isinstance(node, SECONDS):
        return counts_seconds(node, node.this) and is_reckoned(node.this, instants)
    return isinstance(node, exp.Column | exp.Null) or (isinstance(node, exp.Literal) and not node.is_string)
