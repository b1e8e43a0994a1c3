"""Errors for constants that are no times where a time is needed: Spark's conditions, and what to write instead."""

from __future__ import annotations

import re
from typing import NoReturn

from rewriter.errors import AnalysisError, DataError, Span
from rewriter.timeline.timestamp_casts import date_text, is_malformed_date, is_malformed_timestamp

_DAY = re.compile(r"([0-9]{4})\s*-\s*([0-9]{1,2})\s*-\s*([0-9]{1,2})", re.ASCII)
_DIGITS = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})", re.ASCII)


def refuse_number(number: str, time_type: str, number_type: str, position: Span | None, *, is_list: bool) -> NoReturn:
    """Raises the error for a number, as it is typed, that is compared with a time. ``is_list``: it is an item of IN."""
    raise AnalysisError(
        f"A {time_type} cannot be compared with {number}, which is {number_type}.",
        condition="DATATYPE_MISMATCH.DATA_DIFF_TYPES" if is_list else "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES",
        sqlstate="42K09",
        position=position,
        hint=_quoted(number),
    )


def _quoted(number: str) -> str:
    day = _DAY.fullmatch(number)
    if day is not None:
        year, month, day_of_month = day.groups()
        difference = int(year) - int(month) - int(day_of_month)
        return f"Write '{year}-{month}-{day_of_month}'. Without quotes it is a subtraction, {difference}."
    digits = _DIGITS.fullmatch(number)
    text = "-".join(digits.groups()) if digits else number
    return f"Write '{text}'." if date_text(text) is not None else "Write a time in quotes, such as '2013-07-01'."


def check_text(text: str, time_type: str, position: Span | None) -> None:
    """Raises ``DataError`` if a string that is compared with a DATE or a TIMESTAMP certainly is none."""
    if is_malformed(text, time_type):
        raise DataError(
            f'The value \'{text}\' of the type "STRING" cannot be cast to "{time_type}" because it is malformed.',
            condition="CAST_INVALID_INPUT",
            sqlstate="22018",
            position=position,
            hint="Write a time that exists, such as '2013-02-28' or '2013-02-28 06:00:00'.",
        )


def check_literal(text: str, time_type: str, position: Span | None) -> None:
    """Raises ``AnalysisError`` if the text of ``DATE '…'`` or ``TIMESTAMP '…'`` certainly is invalid."""
    if is_malformed(text, time_type):
        raise AnalysisError(
            f"The value of the literal {time_type} '{text}' is invalid.",
            condition="INVALID_TYPED_LITERAL",
            sqlstate="42604",
            position=position,
            hint="Write a time that exists, such as DATE '2013-02-28' or TIMESTAMP '2013-02-28 06:00:00'.",
        )


def is_malformed(text: str, time_type: str) -> bool:
    """Tests whether a text certainly is no value of the type."""
    return is_malformed_date(text) if time_type == "DATE" else is_malformed_timestamp(text)
