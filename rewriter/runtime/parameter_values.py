"""Values of Python, numpy and pandas as values that both engines accept.

numpy and pandas are never imported here: a value of theirs can only exist if the program has imported them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from rewriter.errors import DataError, Span

_LARGEST = 2**63 - 1
_HINT = "Use None, bool, int, float, str, Decimal, date, datetime, UUID, or a scalar of numpy or pandas."


def parameter_value(value: object, position: Span | None) -> object:
    """Returns a value as engines accept it: ``None``, ``bool``, ``int``, ``float``, ``str``, ``Decimal``, ``date``, or
    a ``datetime`` in UTC or without a zone.

    A UUID becomes its text; a scalar of numpy or pandas becomes the Python value; ``NaT`` and ``NA`` become ``None``. A
    datetime without a zone stays so: engines take it as UTC, and the planner refuses it where a zone makes it
    ambiguous. Raises ``DataError`` at ``position`` for a value that does not fit its
    type, has nanoseconds, or is of another type.
    """
    value = _python_value(value, position)
    if isinstance(value, datetime):
        return value if value.tzinfo is None else value.astimezone(UTC)
    if value is None or isinstance(value, bool | date):
        return value
    if isinstance(value, str):
        return str.__str__(value)  # Of an enumeration or numpy's own, the text alone.
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, int):
        if -_LARGEST - 1 <= value <= _LARGEST:
            return int(value)
        raise DataError(
            f"{value} does not fit a BIGINT.", position=position, hint="Pass it as a Decimal, or as a str with CAST."
        )
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Decimal):
        return _decimal(value, position)
    raise DataError(f"A value of the type {type(value).__name__} cannot be a parameter.", position=position, hint=_HINT)


def list_items(value: object) -> Sequence[object] | None:
    """Returns the items of a list, tuple, set, or one-dimensional array of numpy or pandas; ``None`` for other
    values.
    """
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, set | frozenset):
        return list(value)
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    if numpy is not None and isinstance(value, numpy.ndarray) and value.ndim == 1:
        return list(value)
    if pandas is not None and isinstance(value, pandas.Series | pandas.Index):
        return list(value)
    return None


def _decimal(value: Decimal, position: Span | None) -> Decimal:
    digits, exponent = value.as_tuple().digits, value.as_tuple().exponent
    if isinstance(exponent, int) and max(len(digits), -exponent) + max(exponent, 0) <= 38:
        return value
    raise DataError(f"{value} is not a DECIMAL of at most 38 digits.", position=position, hint="Round it first.")


def _python_value(value: object, position: Span | None) -> object:
    """Returns a scalar of numpy or pandas as a value of Python, and other values as they are."""
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    if pandas is not None:
        if value is pandas.NaT or value is pandas.NA:
            return None
        if isinstance(value, pandas.Timestamp):
            if value.nanosecond:
                raise _too_fine(value, position)
            return value.to_pydatetime()
    if numpy is not None:
        if isinstance(value, numpy.datetime64):
            return _instant(value, numpy, position)
        if isinstance(value, numpy.longdouble):
            raise DataError(
                "A value of the type longdouble has more digits than a DOUBLE.",
                position=position,
                hint="Pass it as a float or a Decimal.",
            )
        if isinstance(value, numpy.generic):
            return value.item()
    return value


def _instant(value: Any, numpy: Any, position: Span | None) -> object:
    """Returns a date or an instant of numpy: days are dates, finer units datetimes."""
    if numpy.isnat(value):
        return None
    unit, _ = numpy.datetime_data(value.dtype)
    python_value = value.astype("datetime64[D]" if unit in ("Y", "M", "W", "D") else "datetime64[us]")
    if python_value != value:
        raise _too_fine(value, position)
    instant = python_value.item()
    if not isinstance(instant, date):
        raise DataError(
            f"{value} is not a date of the years 1 to 9999.", position=position, hint="Pass it as a str with CAST."
        )
    return instant


def _too_fine(value: object, position: Span | None) -> DataError:
    return DataError(
        f"{value} has nanoseconds, and a TIMESTAMP has microseconds.",
        position=position,
        hint="Round it first: Timestamp.floor('us'), or astype('datetime64[us]').",
    )
