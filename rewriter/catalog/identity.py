"""Which tables of a server hold a catalog: others of the same names, made since, are another catalog."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles


class _Identity(sa.ColumnElement[int]):
    type = sa.BigInteger()
    inherit_cache = True


@compiles(_Identity, "sqlite")
def _sqlite_identity(_element: _Identity, _compiler: Any, **_: Any) -> str:
    return "0"  # There the file is looked at, whenever a connection is used.


@compiles(_Identity, "postgresql")
def _postgresql_identity(_element: _Identity, _compiler: Any, **_: Any) -> str:
    return "(SELECT max(CAST(tableoid AS bigint)) FROM schema_version)"


#: A number that the catalog's tables keep as long as they are there.
IDENTITY: sa.ColumnElement[int] = _Identity()
