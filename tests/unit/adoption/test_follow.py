"""An import follows the notifications of its source."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fake_metastore import FakeMetastore
from imported import importing, picture

from rewriter.catalog.catalog import Catalog
from rewriter.errors import OperationalError
from rewriter.metastore.adoption.follow import Follower
from rewriter.metastore.adoption.plan import Affected, affected
from rewriter.metastore.wire.interface import structure


def _event(number: int, kind: str = "ADD_PARTITION", database: str | None = "d", table: str | None = "t") -> Any:
    return SimpleNamespace(eventId=number, eventType=kind, dbName=database, tableName=table)


def test_events_name_tables() -> None:
    assert affected([], 4) == Affected(4)
    assert affected([_event(5), _event(6, table="U")], 4) == Affected(6, frozenset({("d", "t"), ("d", "u")}))
    assert affected([_event(5, "ALTER_TABLE")], 4) == Affected(5, frozenset({("d", "t")}), names=True)
    assert affected([_event(5, "CREATE_DATABASE", table=None)], 4) == Affected(5, everything=True)
    assert affected([_event(5, "OPEN_TXN", None, None)], 4) == Affected(5)


@pytest.mark.parametrize("numbers", [(6, 5), (5, 5, 6), (4, 5, 6, 3), (6, 5, 6, 1)])
def test_events_come_in_any_order_and_again(numbers: tuple[int, ...]) -> None:
    assert affected([_event(number) for number in numbers], 4) == Affected(6, frozenset({("d", "t")}))


@pytest.mark.parametrize("numbers", [(6,), (5, 7), (1_000_000_000,)])
def test_after_a_gap_everything_is_compared(numbers: tuple[int, ...]) -> None:
    assert affected([_event(number) for number in numbers], 4) == Affected(max(numbers), everything=True)


@contextmanager
def _following(warehouse: Path, metastore: FakeMetastore, *names: str) -> Iterator[Follower]:
    with metastore.serving() as url, importing(warehouse, url, *names) as one:
        last = one.source.last_event()
        listed = one.everything()
        metastore.calls.clear()
        yield Follower(one, last, listed, lambda _: False)


def test_the_table_of_an_event_is_brought_in_step(tmp_path: Path) -> None:
    metastore = FakeMetastore()
    for name in ("a", "b"):
        metastore.add_table(name, keys={"p": "int"})
    with _following(tmp_path, metastore) as follower:
        assert follower.step() is None
        metastore.add_partition("a", "p=1")
        # Nobody tells of this one.
        metastore.add_partition("b", "p=1")
        metastore.events.pop()
        report = follower.step()
        assert report is not None
        assert report.summary == "partitions: 1 created, 0 changed, 0 dropped"
        assert [len(picture(tmp_path)[name][-1]) for name in ("a", "b")] == [1, 0]
        assert metastore.calls.count("get_all_tables") == 0
        assert follower.step() is None


def test_tables_that_are_created_dropped_and_renamed(tmp_path: Path) -> None:
    metastore = FakeMetastore()
    for name in ("a", "b"):
        metastore.add_table(name)
    with _following(tmp_path, metastore) as follower:
        metastore.add_table("c")
        del metastore.tables["default", "b"]
        metastore.note("DROP_TABLE", "default", "b")
        # Hive 2 names the table before, Hive 3 the one after.
        table = metastore.tables.pop(("default", "a"))
        table.tableName = "renamed"
        metastore.tables["default", "renamed"] = table
        metastore.note("ALTER_TABLE", "default", "a")
        assert follower.step() is not None
        assert set(picture(tmp_path)) == {"c", "renamed"}
        table = metastore.tables.pop(("default", "c"))
        table.tableName = "later"
        metastore.tables["default", "later"] = table
        metastore.note("ALTER_TABLE", "default", "later")
        assert follower.step() is not None
        assert set(picture(tmp_path)) == {"later", "renamed"}


def test_after_a_gap_and_with_databases_everything_is_compared(tmp_path: Path) -> None:
    metastore = FakeMetastore()
    metastore.add_table("a", keys={"p": "int"})
    with _following(tmp_path, metastore) as follower:
        metastore.add_partition("a", "p=1")
        metastore.note("ADD_PARTITION", "default", "elsewhere")
        del metastore.events[-2]
        assert follower.step() is not None
        assert len(picture(tmp_path)["a"][-1]) == 1
        metastore.add_database("d")
        metastore.add_table("t", database="d")
        metastore.note("CREATE_DATABASE", "d")
        assert follower.step() is not None
        assert "d.t" in picture(tmp_path)
        # A new source at the address counts from the beginning.
        metastore.add_partition("a", "p=2")
        metastore.events = metastore.events[:1]
        assert follower.step() is not None
        assert len(picture(tmp_path)["a"][-1]) == 2


def test_a_source_that_counts_on_without_events_is_compared(tmp_path: Path) -> None:
    metastore = FakeMetastore()
    metastore.add_table("a", keys={"p": "int"})
    with _following(tmp_path, metastore) as follower:
        metastore.add_partition("a", "p=1")
        metastore.overrides["get_next_notification"] = lambda _: structure("NotificationEventResponse")(events=[])
        assert follower.step() is not None
        assert len(picture(tmp_path)["a"][-1]) == 1
        assert follower.step() is None


def test_without_notifications_everything_is_compared(tmp_path: Path) -> None:
    metastore = FakeMetastore()
    metastore.add_table("a", keys={"p": "int"})
    metastore.events.clear()
    with _following(tmp_path, metastore) as follower:
        metastore.partitions["default", "a"]["p=1"] = metastore.add_partition("a", "p=1")
        metastore.events.clear()
        said: list[str] = []
        waited: list[float] = []

        def wait(seconds: float) -> bool:
            waited.append(seconds)
            return len(waited) > 2

        follower.say, follower.wait = said.append, wait
        reports = list(follower.reports())
        assert [report.partitions.created for report in reports] == [1, 0]
        assert waited[0] == 600
        assert "no notifications" in said[0]


def test_a_source_that_is_away_is_tried_again(tmp_path: Path) -> None:
    metastore = FakeMetastore()
    metastore.add_table("a", keys={"p": "int"})
    with _following(tmp_path, metastore) as follower:
        metastore.add_partition("a", "p=1")
        rounds: list[float] = []

        def cut(method: str, _: Any) -> None:
            if len(rounds) < 3 and method == "get_partitions_by_names":
                metastore.cut_after = 10

        def wait(seconds: float) -> bool:
            rounds.append(seconds)
            return len(rounds) > 4

        said: list[str] = []
        metastore.on_call = cut
        follower.say, follower.wait = said.append, wait
        assert [report.partitions.created for report in follower.reports()] == [1]
        assert len(said) == 2
        assert "METASTORE_UNAVAILABLE" in said[0]
        assert len(picture(tmp_path)["a"][-1]) == 1


def test_errors_of_the_catalog_end_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metastore = FakeMetastore()
    metastore.add_table("a", keys={"p": "int"})

    def lost(_: Catalog) -> None:
        raise OperationalError("gone", condition="CATALOG_CONNECTION_LOST")

    with _following(tmp_path, metastore) as follower:
        metastore.add_partition("a", "p=1")
        monkeypatch.setattr(Catalog, "snapshot", lost)
        with pytest.raises(OperationalError, match="gone"):
            next(follower.reports())


def test_only_selected_tables_are_followed(tmp_path: Path) -> None:
    metastore = FakeMetastore()
    for name in ("a", "b"):
        metastore.add_table(name, keys={"p": "int"})
    with _following(tmp_path, metastore, "default.a") as follower:
        metastore.add_partition("b", "p=1")
        metastore.add_table("c")
        follower.step()
        assert set(picture(tmp_path)) == {"a"}
