"""Scripts over several catalog instances of one store, step by step: the action of each, and the source of its result.

A file holds steps, one a line, ``----``, and the answers. ``m1`` and ``m2`` are instances with a cache, whose
followers run when a step says so. Lists are fetched by an instance without a cache, as a query does before it reads.

    m1 create T            m1 create-external T      m1 drop T         m1 alter T N       one commit each
    m1 take N T            takes write id N of T in a transaction that stays open;  commit N, abort N  end it
    m1 insert T V…         m1 remove T V             partitions
    m1 get T [LIST]        m1 partition T V [LIST]   m1 partitions T [LIST]    reads, under the newest list or this one
    m1 get-unlisted T      without a list
    m1 follow [N]          reads at most N events of the log;   m1 refresh   renews what they changed
    m1 tag T               the list under which the table is held
    list T                 the newest list              purge      all entries of the log go
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rewriter.catalog import Catalog, Transaction
from rewriter.catalog.cache.entries import DEFINITION
from rewriter.catalog.metastore_writes import CachedCatalog
from rewriter.catalog.model.changes import AlterTable, DropObject
from rewriter.catalog.model.objects import Partition, Table
from rewriter.catalog.model.write_ids import ValidWriteIdList
from rewriter.errors import Error

from .support import Warehouse

_SEPARATOR = "----"


class Flow:
    """Runs steps. Write ids are shown as the seed shows them: high-water mark, then the ids below it not seen."""

    def __init__(self, warehouse: Path, url: str | None) -> None:
        self._plain = Catalog.open(warehouse, url)
        self._instances = {name: Catalog.open(warehouse, url) for name in ("m1", "m2")}
        for catalog in self._instances.values():
            catalog.use_cache(1 << 20, follow=False)
        self._ids: dict[str, int] = {}
        self._open: dict[str, tuple[Transaction, str]] = {}

    def close(self) -> None:
        for catalog in (self._plain, *self._instances.values()):
            catalog.close()

    def run(self, step: str) -> str:
        """Returns the result of a step."""
        first, *rest = step.split()
        try:
            if first in self._instances:
                verb, *words = rest
                done: Callable[..., str] = getattr(self, "_" + verb.replace("-", "_"))
                return done(self._instances[first], *words)
            if first == "list":
                return self._shown(self._newest(rest[0]))
            return f"{self._plain.purge_events(-3600)} entries of the log are gone"
        except Error as error:
            return f"error: {error.condition}"

    # ---- writes, through an instance

    def _create(self, catalog: Catalog, name: str, external: bool = False) -> str:
        self._ids[name] = Warehouse(catalog).create(name, external=external).id
        return self._shown(self._newest(name))

    def _create_external(self, catalog: Catalog, name: str) -> str:
        return self._create(catalog, name, True)

    def _drop(self, catalog: Catalog, name: str) -> str:
        Warehouse(catalog).commit(lambda tx: [DropObject(tx.snapshot.table(name))])
        return "dropped"

    def _alter(self, catalog: Catalog, name: str, version: str) -> str:
        with catalog.begin() as tx:
            tx.commit([_altered(tx, name, version)])
        return self._shown(self._newest(name))

    def _take(self, catalog: Catalog, number: str, name: str) -> str:
        tx = catalog.begin()
        assert str(tx.write_id(tx.snapshot.table(name))) == number
        self._open[number] = tx, name
        return self._shown(self._newest(name))

    def _commit(self, catalog: Catalog, number: str) -> str:
        tx, name = self._open.pop(number)
        tx.commit([_altered(tx, name, f"v{number}")])
        return self._shown(self._newest(name))

    def _abort(self, catalog: Catalog, number: str) -> str:
        tx, name = self._open.pop(number)
        tx.rollback()
        return self._shown(self._newest(name))

    def _insert(self, catalog: Catalog, name: str, *values: str) -> str:
        table = self._plain.snapshot().table(name)
        Warehouse(catalog).into(table, *values)
        return self._shown(self._newest(name))

    def _remove(self, catalog: Catalog, name: str, value: str) -> str:
        Warehouse(catalog).drop(self._plain.snapshot().table(name), value)
        return self._shown(self._newest(name))

    # ---- reads

    def _get(self, catalog: Catalog, name: str, text: str | None = None) -> str:
        ids = self._text(name, text)
        return self._answered(catalog, lambda: _told(CachedCatalog(catalog).get_table(name, ids)))

    def _get_unlisted(self, catalog: Catalog, name: str) -> str:
        return self._answered(catalog, lambda: _told(CachedCatalog(catalog).get_table(name)))

    def _partition(self, catalog: Catalog, name: str, value: str, text: str | None = None) -> str:
        ids = self._text(name, text)

        def read() -> str:
            partition = CachedCatalog(catalog).get_partition(name, (value,), ids)
            return "none" if partition is None else _names((partition,))

        return self._answered(catalog, read)

    def _partitions(self, catalog: Catalog, name: str, text: str | None = None) -> str:
        ids = self._text(name, text)
        return self._answered(catalog, lambda: _names(CachedCatalog(catalog).get_partitions(name, ids)))

    def _answered(self, catalog: Catalog, read: Callable[[], str]) -> str:
        before = catalog.cache_metrics()
        answer = read()
        after = catalog.cache_metrics()
        causes = [name for name, count in after.items() if name.startswith("misses_") and count > before[name]]
        who = "memory" if not causes else f"store ({', '.join(cause.removeprefix('misses_') for cause in causes)})"
        return f"{answer} from {who}"

    # ---- followers

    def _follow(self, catalog: Catalog, limit: str = "1000") -> str:
        assert catalog.follower is not None
        assert catalog.cache is not None
        position, gaps = catalog.cache.position, catalog.cache_metrics()["gaps"]
        read = catalog.follower.step(int(limit))
        if catalog.cache_metrics()["gaps"] > gaps:
            return "events are gone: begins anew behind the newest"
        kinds = [event.kind for event in self._plain.events(position, read)]
        return "nothing new" if not kinds else ", ".join(kinds) if len(kinds) <= 4 else f"{len(kinds)} events"

    def _refresh(self, catalog: Catalog) -> str:
        assert catalog.follower is not None
        return f"{catalog.follower.refresh()} renewed"

    def _tag(self, catalog: Catalog, name: str) -> str:
        assert catalog.cache is not None
        table_id = self._ids[name]
        kept = catalog.cache.last(table_id, DEFINITION)
        if kept is None:
            return "nothing"
        committed = catalog.cache.get(table_id, DEFINITION, kept[0]) is not None
        return f"{self._shown(kept[0])} {'' if committed else 'un'}committed"

    # ---- lists

    def _newest(self, name: str) -> ValidWriteIdList:
        return self._plain.snapshot().write_ids(self._ids[name])

    def _text(self, name: str, shown: str | None) -> str:
        """Returns the newest list, or the one that ``[13:7,8]`` means for this table: all unknown ids are open ones."""
        if shown is None:
            return str(self._newest(name))
        high, _, invalid = shown.strip("[]").partition(":")
        below = frozenset(map(int, filter(None, invalid.split(","))))
        return str(ValidWriteIdList(str(self._ids[name]), int(high), below))

    @staticmethod
    def _shown(ids: ValidWriteIdList) -> str:
        return f"[{ids.high_water_mark}:{','.join(map(str, sorted(ids.invalid)))}]"


def _altered(tx: Transaction, name: str, version: str) -> AlterTable:
    return AlterTable(tx.snapshot.table(name), set={"version": version})


def _told(table: Table) -> str:
    return f"version {table.properties.get('version', '-')}"


def _names(partitions: tuple[Partition, ...]) -> str:
    return " ".join(str(partition.values[0]) for partition in partitions) or "none"


def run_file(path: Path, warehouse: Path, url: str | None) -> str:
    """Returns the updated file: its steps, and their current results."""
    lines = path.read_text(encoding="utf-8").split(f"\n{_SEPARATOR}\n")[0].split("\n")
    flow = Flow(warehouse, url)
    try:
        answers = [line if _is_comment(line) else f"{line} -> {flow.run(line)}" for line in lines]
    finally:
        flow.close()
    return "\n".join([*lines, _SEPARATOR, *answers, ""])


def _is_comment(line: str) -> bool:
    return not line.strip() or line.startswith("#")
