"""The flow of seed 001: two catalogs with caches over one database, and a Thrift client that reads through the second.

The list of the table is written as the seed does: the high-water mark, and the ids below it that are not seen.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rewriter.catalog import Catalog, Transaction
from rewriter.catalog.model.changes import AlterTable
from rewriter.catalog.model.write_ids import ValidWriteIdList


@pytest.fixture
def first(metastore: Any) -> Iterator[Catalog]:
    """Returns the catalog of the writer, with a cache. That of the server has one, too; its follower runs by steps."""
    metastore.catalog.use_cache(1 << 20, follow=False)
    with contextlib.closing(Catalog.open(metastore.catalog.warehouse)) as catalog:
        catalog.use_cache(1 << 20, follow=False)
        yield catalog


def alter(transaction: Transaction, version: str) -> None:
    table = transaction.snapshot.table("t")
    transaction.commit([AlterTable(table, {"version": version})])


def test_the_seven_steps(metastore: Any, client: Any, send: Callable[..., Any], sql: Any, first: Catalog) -> None:
    sql("CREATE TABLE t (x INT)")
    table, second = first.snapshot().table("t"), metastore.catalog

    def read(high: int, *unseen: int) -> tuple[str, str]:
        """Returns the version that the client reads under a list, and where the server found it."""
        before = misses()
        ids = str(ValidWriteIdList(str(table.id), high, frozenset(unseen)))
        shown = send(client, "get_table", dbname="default", tbl_name="t", validWriteIdList=ids)
        return shown.parameters.get("version", "-"), "memory" if misses() == before else "store"

    def misses() -> int:
        return sum(count for name, count in second.cache_metrics().items() if name.startswith("misses_"))

    # 1. The list of the cached table is [13:7,8,12].
    left_open = []
    for write_id in range(2, 14):
        transaction = first.begin()
        assert transaction.write_id(transaction.snapshot.table("t")) == write_id
        if write_id in (7, 8, 12):
            left_open.append(transaction)
        else:
            alter(transaction, f"v{write_id}")
    second.follower.step()
    assert read(13, 7, 8, 12)[0] == "v13"
    assert read(13, 7, 8, 12) == ("v13", "memory")
    # 2. The first catalog alters the table: [14:7,8,12].
    transaction = first.begin()
    assert transaction.write_id(transaction.snapshot.table("t")) == 14
    alter(transaction, "v14")
    # 3. A query under the new list does not fit what the second one has cached.
    assert read(14, 7, 8, 12) == ("v14", "store")
    assert read(13, 7, 8, 12) == ("v13", "store"), "the older list still sees the older version"
    # 4. The follower of the second one has read the change, and not yet the commit.
    assert second.follower.step(1) == 1
    # 5. The entry is not committed: reads go to the store.
    assert read(14, 7, 8, 12) == ("v14", "store")
    # 6. The follower reads the commit.
    second.follower.step()
    second.follower.refresh()
    # 7. The next read is served from the cache.
    assert read(14, 7, 8, 12)[0] == "v14"
    assert read(14, 7, 8, 12) == ("v14", "memory")
    for transaction in left_open:
        transaction.rollback()
    # Aborted writes were never seen: the lists are equivalent.
    ids = first.snapshot().write_ids(table.id)
    assert (
        send(client, "get_table", dbname="default", tbl_name="t", validWriteIdList=str(ids)).parameters["version"]
        == "v14"
    )
