"""Seconds since 1970 of a zoned cube's time: the same number in every zone, until it is made a time again."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

#: Functions of an instant that ask no clock.
SECONDS = (exp.UnixMicros, exp.UnixMillis, exp.UnixSeconds, exp.StrToUnix)
#: What unix_timestamp(t) has as its format, which means texts.
_DEFAULT_FORMAT = "%Y-%mstrict-%dstrict %Hstrict:%Mstrict:%Sstrict"
#: What makes a number of numbers, and of the numbers of a group.
_RECKONING = (exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Floor, exp.Ceil, exp.Abs)
#: What answers one of several numbers; its conditions are judged where they stand.
_CHOOSING = (exp.If, exp.Case, exp.Coalesce)
_ROLLING = (exp.Min, exp.Max, exp.Sum, exp.Avg, exp.Distinct)


def counts_seconds(node: exp.Expr | None, operand: exp.Expr) -> bool:
    """Whether a node answers the seconds since 1970, or parts of them, of ``operand``, an instant."""
    if not isinstance(node, SECONDS) or node.this is not operand:
        return False
    return not isinstance(node, exp.StrToUnix) or node.text("format") in ("", _DEFAULT_FORMAT)


def reckoned(node: exp.Expr) -> exp.Expr:
    """The outermost of the sums, differences and the like that are made of a number."""
    while (parent := node.parent) is not None:
        number = isinstance(parent, exp.Cast | exp.TryCast) and parent.args["to"].is_type(*exp.DataType.NUMERIC_TYPES)
        if not number and not isinstance(parent, (*_RECKONING, *_CHOOSING, *_ROLLING)):
            break
        node = parent
    return node


def seconds_above(node: exp.Expr) -> exp.Expr:
    """What is reckoned of the seconds of an instant; the instant itself where they are not counted."""
    return reckoned(node.parent) if isinstance(node.parent, SECONDS) else node


def is_reckoned(node: exp.Expr, instants: Collection[int]) -> bool:
    """Whether a node is a number made of numbers, columns and the seconds of instants (``id`` of their columns)."""
    if isinstance(node, _RECKONING):
        return all(is_reckoned(one, instants) for one in node.iter_expressions())
    if isinstance(node, exp.Column) and isinstance(node.parent, SECONDS):
        return id(node) in instants
    if isinstance(node, SECONDS):
        return counts_seconds(node, node.this) and is_reckoned(node.this, instants)
    return isinstance(node, exp.Column | exp.Null) or (isinstance(node, exp.Literal) and not node.is_string)
