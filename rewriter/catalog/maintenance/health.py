"""The state of a catalog's database, for a person who looks for a problem. Changes nothing."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import sqlalchemy as sa

from rewriter.catalog.store import schema
from rewriter.catalog.store.database import NOW, Database
from rewriter.catalog.store.leases import EXPIRY_SECONDS
from rewriter.lazy_dataclass import dataclass

#: The largest SQLite file whose pages are all checked.
_MOST_CHECKED_BYTES = 1 << 30


@dataclass(frozen=True)
class CatalogHealth:
    """The state of a catalog's database. Times are seconds since 1970 on its own clock.

    ``product`` names the database with its version. ``damage`` is what SQLite finds wrong in its file, if anything.
    ``newest`` is the latest moment that a transaction noted. A transaction is dead if it was silent too long, and a
    lease, of a process that reads old files, if it was not renewed.
    """

    product: str
    is_writable: bool
    damage: str | None
    now: float
    newest: float | None
    open_transactions: int
    dead_transactions: int
    dead_leases: int


def health_of(source: Path | str, warehouse: Path, silent_seconds: float) -> CatalogHealth:
    """Returns the state of the database in a SQLite file or at a URL, which has the schema of this release.

    Raises the errors of ``Database``. A few statements, and for a SQLite file of at most 1 GB a read of all of it.
    """
    transaction, lease = schema.transactions.c, schema.leases.c
    is_open = transaction.state == "open"
    is_silent = ~transaction.heartbeat_at.between(NOW - silent_seconds, NOW + silent_seconds)
    is_dead = sa.and_(is_open, is_silent)
    with closing(Database(source, warehouse=warehouse, create=False)) as database:
        with database.read() as connection:
            product, damage = _product(connection, source)
            now, newest, opened, dead, leases = connection.execute(
                sa.select(
                    NOW,
                    sa.select(sa.func.max(transaction.heartbeat_at)).scalar_subquery(),
                    _count(is_open),
                    _count(is_dead),
                    _count(lease.renewed_at <= NOW - EXPIRY_SECONDS),
                )
            ).one()
        return CatalogHealth(product, database.refusal is None, damage, float(now), newest, opened - dead, dead, leases)


def _count(condition: sa.ColumnElement[bool]) -> sa.ScalarSelect[int]:
    return sa.select(sa.func.count()).where(condition).scalar_subquery()


def _product(connection: sa.Connection, source: Path | str) -> tuple[str, str | None]:
    if not isinstance(source, Path):
        version = connection.exec_driver_sql("SHOW server_version").scalar()
        return f"PostgreSQL {version}", None
    version = connection.exec_driver_sql("SELECT sqlite_version()").scalar()
    mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar()
    product = f"SQLite {version}, journal {mode}"
    if source.stat().st_size > _MOST_CHECKED_BYTES:
        return product, None
    verdict = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
    return product, None if verdict == "ok" else str(verdict)
