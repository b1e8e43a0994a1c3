"""SQL functions: an expression under a name, with typed parameters. Session variables: a constant under a name."""

from __future__ import annotations

from rewriter.lazy_dataclass import dataclass


@dataclass(frozen=True)
class FunctionParameter:
    """A parameter of a SQL function. ``default`` is the text of an expression, ``None`` without one."""

    name: str
    type: str
    default: str | None = None
    comment: str | None = None


@dataclass(frozen=True)
class SqlBody:
    """What a SQL function returns: ``expression`` in its author's words, cast to the type ``returns``. While it is
    created, that may be empty: there is no cast.

    Names without a database are names in ``database``, which was current when the function was created.
    """

    parameters: tuple[FunctionParameter, ...]
    returns: str
    expression: str
    database: str
    comment: str | None = None


@dataclass(frozen=True)
class SessionVariable:
    """A variable of one session. ``value`` is a literal of its ``type``, ``shown`` the literal in names of columns.

    ``default`` is the text of the expression that SET VARIABLE v = DEFAULT evaluates again.
    """

    name: str
    type: str
    value: str
    shown: str
    default: str
