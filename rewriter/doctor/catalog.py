"""Checks of a warehouse's catalog: its database, the clocks, and what was left behind."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from rewriter.catalog.catalog import FILE_NAME, TRANSACTION_TIMEOUT_SECONDS, Catalog
from rewriter.catalog.maintenance.health import CatalogHealth, health_of
from rewriter.catalog.store.migrations import STEPS
from rewriter.catalog.store.postgresql import address
from rewriter.doctor.check import Check, error, failed, ok, skipped, warning
from rewriter.errors import Error
from rewriter.session import Session

#: The difference of two clocks that nobody notices, and that by which a clock may be behind what it wrote.
_SKEW_SECONDS, _BEHIND_SECONDS = 5.0, 60.0
#: No clock of a machine that runs this program is before 2025.
_EARLIEST_SECONDS = 1_735_689_600


def catalog(warehouse: Path, url: str | None) -> Iterator[Check]:
    """Checks that the catalog can be read and has the schema of this release, the clocks, and leftovers.

    Upgrades nothing. A missing catalog is not made.
    """
    name = str(warehouse / FILE_NAME) if url is None else url
    try:
        name = name if url is None else address(url)
        version = Catalog.stored_version(warehouse, url)
        problem = None if version == len(STEPS) else _other_version(name, version)
        state = None if problem else _health(warehouse, url)
    except Error as failure:
        problem, state = failed("Catalog", failure), None
    if state is None:
        assert problem is not None
        yield problem
        yield _clock_alone()
        yield skipped("Leftovers", "The catalog cannot be read.")
        return
    yield _database(name, state)
    yield _clock(state, is_server=url is not None)
    yield _leftovers(warehouse, url, state)


def _other_version(name: str, version: int) -> Check:
    newest = len(STEPS)
    if version == 0:
        return skipped("Catalog", f"{name} does not exist yet.")
    detail = f"{name} has schema version {version}, and this release has version {newest}."
    if version > newest:
        return error("Catalog", detail, "Use the release that upgraded it, or a later one.")
    return warning("Catalog", detail, "The next statement upgrades it, and so does `rewriter catalog upgrade`.")


def _health(warehouse: Path, url: str | None) -> CatalogHealth:
    return health_of(warehouse / FILE_NAME if url is None else url, warehouse, TRANSACTION_TIMEOUT_SECONDS)


def _database(name: str, state: CatalogHealth) -> Check:
    detail = f"{name} ({state.product}), schema version {len(STEPS)}"
    if state.damage is not None:
        advice = "Restore a dump (`rewriter catalog restore`), or `rewriter catalog check` to see what is left."
        return error("Catalog", f"{detail}, is damaged: {state.damage}", advice)
    if not state.is_writable:
        return warning("Catalog", f"{detail}, cannot be written.", "Queries work. Get write permission to change it.")
    return ok("Catalog", f"{detail}, can be read and written.")


def _clock_alone() -> Check:
    """Checks the clock where there is nothing to compare it with."""
    if time.time() < _EARLIEST_SECONDS:
        return error("Clock", f"It shows {_text(time.time())}.", "Set the clock of this machine.")
    return ok("Clock", _text(time.time()))


def _clock(state: CatalogHealth, *, is_server: bool) -> Check:
    alone = _clock_alone()
    if alone.status == "error":
        return alone
    skew = time.time() - state.now
    if is_server and abs(skew) > _SKEW_SECONDS:
        word = "ahead of" if skew > 0 else "behind"
        detail = f"This machine is {abs(skew):,.0f} s {word} the catalog's server."
        return warning("Clock", detail, "Synchronize both with NTP: times in results are those of two clocks.")
    if state.newest is not None and state.newest - state.now > _BEHIND_SECONDS:
        detail = f"It shows {_text(state.now)}, before the last transaction of {_text(state.newest)}."
        return error("Clock", detail, "Set the clock: VACUUM and dead transactions are judged by it.")
    return ok("Clock", alone.detail)


def _text(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


def _unused_files(warehouse: Path, url: str | None) -> tuple[int, int]:
    """Returns the number of files that VACUUM would remove, and their bytes."""
    files = size = 0
    with Session(warehouse, engine="duckdb", catalog=url) as session:
        for _, _, count, count_bytes in session.execute("VACUUM DRY RUN").rows():
            assert isinstance(count, int)
            assert isinstance(count_bytes, int)
            files, size = files + count, size + count_bytes
    return files, size


def _leftovers(warehouse: Path, url: str | None, state: CatalogHealth) -> Check:
    try:
        files, size = _unused_files(warehouse, url)
    except Error as problem:
        return failed("Leftovers", problem)
    leftovers = [
        f"{words}: {count:,}{more}"
        for count, words, more in (
            (files, "files without use", f" ({size / 1e6:,.1f} MB)"),
            (state.dead_transactions, "transactions of dead processes", ""),
            (state.dead_leases, "leases of dead processes", ""),
        )
        if count
    ]
    opened = f"; open transactions: {state.open_transactions:,}" if state.open_transactions else ""
    if leftovers:
        return warning("Leftovers", f"{'; '.join(leftovers)}{opened}", "VACUUM removes what is left behind.")
    return ok("Leftovers", f"none{opened}")
