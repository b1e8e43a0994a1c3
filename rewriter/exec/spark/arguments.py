"""The values of a query's parameters, as Spark takes them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from rewriter.exec.engine import EngineQuery
from rewriter.exec.spark.session_kinds import functions_of

#: The first whole year in which Java counts days as we do.
_FIRST_GREGORIAN_YEAR = 1583


def arguments(query: EngineQuery, owner: object) -> dict[str, Any] | None:
    """Returns the parameters in the form that Spark expects: a datetime without a zone is UTC. ``owner`` is the session
    that takes them, or a DataFrame of it.
    """
    return {name: _argument(value, owner) for name, value in query.parameters.items()} or None


def _argument(value: object, owner: object) -> object:
    """Returns one parameter. Days before the Gregorian calendar are literals, because Java would take them as days of
    the Julian one, and shift them.
    """
    if isinstance(value, datetime) and value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    if isinstance(value, date) and value.year < _FIRST_GREGORIAN_YEAR:
        expr = functions_of(owner).expr
        if isinstance(value, datetime):
            return expr(f"TIMESTAMP '{value.astimezone(UTC).replace(tzinfo=None).isoformat(sep=' ')} UTC'")
        return expr(f"DATE '{value.isoformat()}'")
    return value
