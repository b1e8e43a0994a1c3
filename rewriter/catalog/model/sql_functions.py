"""SQL functions: an expression or a query under a name, with typed parameters. Session variables: a constant under a
name.
"""

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
class ReturnedColumn:
    """A column of the table that a SQL function returns."""

    name: str
    type: str
    comment: str | None = None


@dataclass(frozen=True)
class SqlBody:
    """What a SQL function returns: ``expression`` in its author's words, cast to the type ``returns``. While it is
    created, that may be empty: there is no cast.

    A function that returns a table has ``columns``, and its ``expression`` is a query whose columns are cast to theirs,
    in order; while it is created, there may be none. Otherwise they are ``None``.

    Names without a database are names in ``database``, which was current when the function was created.
    """

    parameters: tuple[FunctionParameter, ...]
    returns: str
    expression: str
    database: str
    comment: str | None = None
    columns: tuple[ReturnedColumn, ...] | None = None

    @property
    def is_table(self) -> bool:
        """Tests whether the function returns a table, and so is called in FROM."""
        return self.columns is not None


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
