"""The identity of a server's catalog tables: tables of the same names that were made later are another catalog."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles


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
