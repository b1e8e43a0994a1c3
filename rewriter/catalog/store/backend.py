"""The differences between the databases below the catalog, as a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any

from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import sqlalchemy as sa

    from rewriter.errors import Error


class Purpose(Enum):
    """The purpose of a database transaction."""

    READ = "read"
    WRITE = "write"
    #: A write that announces what its process is about to do, and means nothing after the process has died.
    ANNOUNCE = "announce"
    MIGRATE = "migrate"


@dataclass(frozen=True)
class Backend:
    """One database. ``address`` names it in messages, and contains no secret.

    ``begin`` runs first in every transaction: after it, a READ sees one state, and any other purpose is exclusive and
    sees the newest state. An ANNOUNCE need not be on disk before a later WRITE is, if the clients die with the
    database. ``options`` are the options of SQLAlchemy's connections. ``translated`` converts an error of the driver;
    its second argument says whether the connection is lost. ``read`` is called with the driver's connection after a
    read: it raises the driver's error if the result may not be one state.
    """

    address: str
    engine: sa.Engine
    begin: Callable[[sa.Connection, Purpose], None]
    translated: Callable[[str, BaseException, bool], Error]
    options: Mapping[Purpose, Mapping[str, Any]]
    read: Callable[[Any], None] = lambda _connection: None


#: The option of SQLAlchemy's connections that holds the warehouse directory.
OPTION = "rewriter_warehouse"


def warehouse_of(connection: sa.Connection) -> str:
    """Returns the warehouse directory of a connection's catalog, absolute; ``""`` if no path is relative."""
    warehouse: str = connection.get_execution_options().get(OPTION, "")
    return warehouse
