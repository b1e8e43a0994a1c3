"""The clock of the catalog's database, which all its processes share."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles


class _Now(sa.ColumnElement[float]):
    type = sa.Double()
    inherit_cache = True


@compiles(_Now, "sqlite")
def _sqlite_now(_element: _Now, _compiler: Any, **_: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(_Now, "postgresql")
def _postgresql_now(_element: _Now, _compiler: Any, **_: Any) -> str:
    return "CAST(EXTRACT(epoch FROM statement_timestamp()) AS double precision)"


#: Seconds since 1970 on the database's clock, at the start of the statement.
NOW: sa.ColumnElement[float] = _Now()
