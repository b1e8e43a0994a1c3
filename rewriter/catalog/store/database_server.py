"""The server of the catalog's database, in SQL: its clock, which all processes share, and the identity of its tables.

Tables of the same names that were made later are another catalog.
"""

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


class _Identity(sa.ColumnElement[int]):
    type = sa.BigInteger()
    inherit_cache = True


@compiles(_Identity, "sqlite")
def _sqlite_identity(_element: _Identity, _compiler: Any, **_: Any) -> str:
    return "0"  # The file itself is checked whenever a connection is used.


@compiles(_Identity, "postgresql")
def _postgresql_identity(_element: _Identity, _compiler: Any, **_: Any) -> str:
    return "(SELECT max(CAST(tableoid AS bigint)) FROM schema_version)"


#: A number that stays the same as long as the catalog's tables exist.
IDENTITY: sa.ColumnElement[int] = _Identity()
