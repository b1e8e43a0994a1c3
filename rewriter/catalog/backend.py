"""What differs from one database below the catalog to the other, as a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import sqlalchemy as sa

from rewriter.errors import Error


class Purpose(Enum):
    """What a database transaction is for."""

    READ = "read"
    WRITE = "write"
    #: A write that says what its process is about to do, and means nothing once that is dead.
    ANNOUNCE = "announce"
    MIGRATE = "migrate"


@dataclass(frozen=True)
class Backend:
    """One database. ``place`` names it in messages, and holds no secret.

    ``begin`` runs first in every transaction: after it a READ sees one state, and any other is the only one and sees
    the newest. An ANNOUNCE need not be on disk before a later WRITE is, where the clients die with the database.
    ``options`` are those of SQLAlchemy's connections. ``translated`` makes an error of ours of one of the driver's; its
    second argument says whether the connection is lost.
    """

    place: str
    engine: sa.Engine
    begin: Callable[[sa.Connection, Purpose], None]
    translated: Callable[[str, BaseException, bool], Error]
    options: Mapping[Purpose, Mapping[str, Any]]
