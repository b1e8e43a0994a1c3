"""FROM_UTC_TIMESTAMP and TO_UTC_TIMESTAMP, for the allow-list of ``expressions``.

Java and DuckDB have rules of time zones of their own, and each release of either may know other ones. The zones below
have had the same rules since 2019, for the times from 1970 to 2099.
"""

from __future__ import annotations

import re

from sqlglot import exp

from rewriter.exec.sql_types import TIMESTAMP, VOID
from rewriter.exec.translate.casts import plain_cast, string_literal
from rewriter.exec.translate.expressions import Expressions, Scope, Translation, Typed, call, functions
from rewriter.exec.translate.time_functions import time_value

ZONES = frozenset(
    "Africa/Algiers Africa/Johannesburg Africa/Lagos Africa/Nairobi America/Anchorage America/Argentina/Buenos_Aires "
    "America/Caracas America/Chicago America/Denver America/Lima America/Los_Angeles America/New_York America/Phoenix "
    "America/Sao_Paulo Asia/Bangkok Asia/Calcutta Asia/Dhaka Asia/Dubai Asia/Ho_Chi_Minh Asia/Hong_Kong Asia/Jakarta "
    "Asia/Karachi Asia/Kolkata Asia/Kuala_Lumpur Asia/Riyadh Asia/Seoul Asia/Shanghai Asia/Singapore Asia/Taipei "
    "Asia/Tashkent Asia/Tokyo Atlantic/Reykjavik Australia/Adelaide Australia/Brisbane Australia/Melbourne "
    "Australia/Perth Australia/Sydney Europe/Amsterdam Europe/Athens Europe/Belgrade Europe/Berlin Europe/Brussels "
    "Europe/Bucharest Europe/Budapest Europe/Copenhagen Europe/Dublin Europe/Helsinki Europe/Istanbul Europe/Lisbon "
    "Europe/Ljubljana Europe/London Europe/Luxembourg Europe/Madrid Europe/Moscow Europe/Oslo Europe/Paris "
    "Europe/Prague Europe/Riga Europe/Rome Europe/Sofia Europe/Stockholm Europe/Tallinn Europe/Vienna Europe/Vilnius "
    "Europe/Warsaw Europe/Zagreb Europe/Zurich Pacific/Auckland Pacific/Honolulu US/Central US/Eastern US/Mountain "
    "US/Pacific".split()
)
_UTC = ("UTC", "GMT", "Z", "Etc/UTC", "Etc/GMT")
_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)", re.ASCII)
_MOST_MINUTES = 18 * 60


def _shifted(is_local: bool) -> Translation:
    """Returns the translation of ``to_utc_timestamp`` if the time is local, of ``from_utc_timestamp`` otherwise."""

    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        first, second = e.arguments(node, 2)
        value, zone = time_value(e, first, scope, TIMESTAMP), e.translate(second, scope)
        moment = plain_cast(value.sql, TIMESTAMP)
        name = call(str(e.text.called(node)), value.name, zone.name)
        if zone.type == VOID:
            return Typed(plain_cast("NULL", TIMESTAMP), TIMESTAMP, name)
        if zone.text in _UTC:
            return Typed(moment, TIMESTAMP, name)
        minutes = None if zone.text is None else _minutes(zone.text)
        if minutes is not None:
            sql = f"{moment} + to_minutes({-minutes if is_local else minutes})"
        elif zone.text in ZONES:
            sql = f"{'rw_to_utc' if is_local else 'rw_from_utc'}({moment}, {string_literal(zone.text or '')})"
        else:
            e.refuse(node, f"The time zone {e.text.shown(second)}")
        return Typed(plain_cast(sql, TIMESTAMP), TIMESTAMP, name)

    return translate


def _minutes(zone: str) -> int | None:
    """Returns the offset ``±HH:MM`` in minutes; ``None`` for another text."""
    match = _OFFSET.fullmatch(zone)
    if match is None or int(match[3]) > 59:
        return None
    minutes = int(match[2]) * 60 + int(match[3])
    return None if minutes > _MOST_MINUTES else -minutes if match[1] == "-" else minutes


_REFUSED = "a zone that is not a literal, or not listed below; years before 1970 and after 2099"
FUNCTIONS = functions(
    "Dates and times",
    ("from_utc_timestamp(time, 'zone')", _shifted(False), _REFUSED),
    ("to_utc_timestamp(time, 'zone')", _shifted(True), _REFUSED),
)
