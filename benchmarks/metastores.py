"""The same partitions in a Hive metastore 2.3.10 and in our catalog on SQLite, added and found in the same run.

One client reads whole partitions from the metastore over loopback, as ours does in its own process. The metastore adds
them twice. By default it creates and lists a directory for each partition. A second table, which the other figures use,
avoids this: the directories exist already, statistics are off, and it adds in batches of its best size.
"""

from __future__ import annotations

import gc
import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import hive_metastore
from benchmarks.cache import MEMORY
from benchmarks.lookups import (
    AGAIN,
    BATCHES,
    HOURS,
    REPEAT,
    Shape,
    Taken,
    add,
    answers,
    each,
    gets,
    listing,
    measured,
    open_catalog,
    rate,
)
from benchmarks.timing import Figure, Table, ratio
from rewriter.catalog import Catalog
from rewriter.catalog.metastore_writes import CachedCatalog

#: Returns the shape of a table with about that many partitions.
REGIONS, SMALL = 2, 2_000
THEIR_BATCHES = (100, 1_000)
AS_IT_COMES = 1_000
THEIR_GETS = 30
_HIVE = "— Hive metastore"


def measure(partitions: int = SMALL) -> Iterator[Table]:
    """Returns the figures at about 2,000 partitions, and at about ``partitions`` if that is another number."""
    with (
        tempfile.TemporaryDirectory(prefix="rewriter-metastores-") as folder,
        hive_metastore.running() as plain_port,
        hive_metastore.client(plain_port) as plain,
        hive_metastore.running(statistics=False) as port,
        hive_metastore.client(port) as client,
    ):
        _warm_up(client, Path(folder))
        _add(plain, "warm", Path(folder, "plain"), Shape(1, 4), 100, create=False)
        batches: Sequence[int] = THEIR_BATCHES
        for size in sorted({SMALL, partitions}):
            shape, home = Shape(REGIONS, math.ceil(size / REGIONS / HOURS)), Path(folder, str(size))
            ours = _best([(batch, add((home / str(batch), None), shape, batch)) for batch in _ours(shape)])
            theirs = _best([(batch, _add(client, _name(shape, batch), home, shape, batch)) for batch in batches])
            batches = theirs[:1]
            as_it_comes = _add(plain, _name(shape, 0), home / "plain", shape, AS_IT_COMES, create=False)
            figures = (
                *_adds(shape, ours, {"as it comes": (AS_IT_COMES, as_it_comes), "spared its directories": theirs}),
                *_reads(client, home / str(ours[0]), _name(shape, theirs[0]), shape),
            )
            yield Table(
                f"{shape.size:,} partitions, ours on SQLite compared with a Hive metastore 2.3.10 on Derby", figures
            )


def _ours(shape: Shape) -> Sequence[int]:
    return [*(size for size in BATCHES if size < shape.size), shape.size]


def _name(shape: Shape, batch: int) -> str:
    return f"p{shape.size}_{batch}"


def _best(tried: Sequence[tuple[int, Taken]]) -> tuple[int, Taken]:
    """Returns the batch that took the least time, and its time."""
    return min(tried, key=lambda attempt: attempt[1].seconds)


def _adds(shape: Shape, ours: tuple[int, Taken], theirs: Mapping[str, tuple[int, Taken]]) -> Iterator[Figure]:
    batch, taken = ours
    yield taken.figure(f"add all, {batch:,} in a commit", rate(shape, taken.seconds))
    for how, (size, time) in theirs.items():
        note = f"{rate(shape, time.seconds)}; ours takes {ratio(time.seconds, taken.seconds)} less"
        yield Figure(f"{_HIVE} {how}, {size:,} in a call", time.seconds, note)


def _reads(client: Any, warehouse: Path, name: str, shape: Shape) -> Iterator[Figure]:
    catalog = open_catalog((warehouse, None))
    snapshot = catalog.snapshot()
    ask = partial(client.get_partition, "default", name)
    chosen = shape.values()[:: shape.size // THEIR_GETS]
    assert [ask(list(values)).values for values in chosen] == [list(values) for values in chosen]
    # Freed here, so that later reads do not include the garbage collection of the adds.
    gc.collect()
    gc.freeze()
    by_values, _ = gets(snapshot, shape)
    yield from _pair("get one", by_values, each(lambda values: ask(list(values)), chosen))
    for label, taken, number in answers(snapshot, shape):
        text = shape.filters()[label.removesuffix(AGAIN)]
        call = partial(client.get_partitions_by_filter, "default", name, text, -1)
        assert len(call()) == number, label
        yield from _pair(label, taken, measured(call, REPEAT), f"{number:,} partitions")
    names, count = listing(snapshot)
    every = partial(client.get_partition_names, "default", name, -1)
    # They list hours as text: 1, 10, 11, …
    assert sorted(every()) == sorted(snapshot.lookup(snapshot.table("p"), None).names())
    yield from _pair("names of all", names, measured(every, REPEAT))
    counted = partial(client.get_num_partitions_by_filter, "default", name, "region >= ''")
    assert counted() == shape.size
    yield from _pair("count of all", count, measured(counted, REPEAT))
    yield from _from_memory(client, catalog, name, chosen)
    gc.unfreeze()
    catalog.close()


def _from_memory(client: Any, catalog: Catalog, name: str, chosen: Sequence[tuple[str, str, str]]) -> Iterator[Figure]:
    """Measures a table and one of its partitions from the cache, with a given list of write ids."""
    catalog.use_cache(MEMORY, follow=False)
    reads = CachedCatalog(catalog)
    ids = reads.valid_write_id_list("p")

    def ours(values: tuple[str, str, str]) -> None:
        reads.get_table("p", ids)
        assert reads.get_partition("p", values, ids) is not None

    def theirs(values: tuple[str, str, str]) -> None:
        client.get_table("default", name)
        client.get_partition("default", name, list(values))

    for values in chosen:
        ours(values)
    yield from _pair("table and one partition, from the cache", each(ours, chosen), each(theirs, chosen))


def _pair(label: str, ours: Taken, theirs: Taken, note: str = "") -> tuple[Figure, Figure]:
    less = f"ours takes {ratio(theirs.seconds, ours.seconds)} less"
    return ours.figure(label, note), Figure(_HIVE, theirs.seconds, less)


def _warm_up(client: Any, folder: Path) -> None:
    """Runs everything that is measured some times, on separate tables."""
    shape = Shape(1, 42)
    add((folder / "ours", None), shape, shape.size)
    _add(client, "warm", folder / "warm", shape, 100)
    for _ in range(REPEAT):
        client.get_partition_names("default", "warm", -1)
        client.get_partition("default", "warm", list(shape.values()[0]))
        for text in shape.filters().values():
            client.get_partitions_by_filter("default", "warm", text, -1)


def _add(client: Any, name: str, folder: Path, shape: Shape, batch: int, *, create: bool = True) -> Taken:
    """Measures adding all partitions to a new table of the metastore, ``batch`` of them in each call.

    If ``create`` is set, their directories are created before that.
    """
    from pymetastore.hive_metastore import ttypes

    def storage(location: Path) -> Any:
        if create:
            location.mkdir(parents=True, exist_ok=True)
        return ttypes.StorageDescriptor(
            cols=[ttypes.FieldSchema("x", "int", None)],
            location=location.as_uri(),
            inputFormat="org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
            outputFormat="org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
            serdeInfo=ttypes.SerDeInfo(
                serializationLib="org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe", parameters={}
            ),
            compressed=False,
            numBuckets=-1,
            bucketCols=[],
            sortCols=[],
            parameters={},
        )

    columns = [ttypes.FieldSchema(*pair, None) for pair in (("region", "string"), ("ds", "string"), ("hr", "int"))]
    client.create_table(
        ttypes.Table(
            tableName=name,
            dbName="default",
            owner="rewriter",
            createTime=0,
            lastAccessTime=0,
            retention=0,
            sd=storage(folder / name),
            partitionKeys=columns,
            parameters={"EXTERNAL": "TRUE"},
            tableType="EXTERNAL_TABLE",
        )
    )
    partitions = [
        ttypes.Partition(
            values=list(values),
            dbName="default",
            tableName=name,
            createTime=0,
            lastAccessTime=0,
            sd=storage(folder / name / "/".join(values)),
            parameters={},
        )
        for values in shape.values()
    ]

    def run() -> None:
        for some in _batches(partitions, batch):
            client.add_partitions_req(ttypes.AddPartitionsRequest("default", name, some, False, False))

    return measured(run)


def _batches(partitions: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(partitions), size):
        yield partitions[start : start + size]
