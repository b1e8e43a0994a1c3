"""An import takes permanent functions, and changes and drops those that it made."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fake_metastore import FakeMetastore
from imported import commits, imported, importing, reasons, served
from thrift.Thrift import TApplicationException

from rewriter.catalog.catalog import Catalog
from rewriter.catalog.model.changes import CreateObject
from rewriter.catalog.model.objects import Function
from rewriter.metastore.adoption.follow import Follower
from rewriter.metastore.wire.interface import structure
from rewriter.session import Session

RESOURCES = (("JAR", "hdfs://n/a.jar"), ("FILE", "s3://b/f"), ("ARCHIVE", "x.zip"))


@pytest.fixture
def metastore() -> FakeMetastore:
    return FakeMetastore()


def given(name: str, class_name: str = "org.example.F", database: str = "default", **fields: Any) -> Any:
    return structure("Function")(functionName=name, dbName=database, className=class_name, **fields)


def functions(warehouse: Path) -> dict[str, tuple[Any, ...]]:
    with closing(Catalog.open(warehouse)) as catalog:
        found = catalog.snapshot().functions()
        return {one.name: (one.class_name, one.owner, one.created, one.resources) for one in found}


def test_functions_come_over_as_they_are(tmp_path: Path) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    with Session(source, "duckdb") as session:
        session.execute("CREATE DATABASE sales")
    with closing(Catalog.open(source)) as catalog, catalog.begin() as transaction:
        made = [Function(transaction.allocate_id(), "sales.f", "org.example.F", "o'neill", 1_700_000_000, RESOURCES)]
        made.append(Function(transaction.allocate_id(), "g_1", "G", None, 5))
        transaction.commit([CreateObject(one) for one in made])
    with served(source) as url:
        report = imported(target, url)
        assert report.is_complete
        assert report.summary == (
            "databases: 1 created, 0 changed, 0 dropped; functions: 2 created, 0 changed, 0 dropped"
        )
        assert functions(target) == functions(source)
        before = commits(target)
        assert imported(target, url).summary == "nothing has changed"
        assert commits(target) == before
    # A second import may have this one as its source.
    with served(target) as url:
        assert imported(tmp_path / "c", url).is_complete
        assert functions(tmp_path / "c") == functions(source)


def test_functions_that_change_and_end_at_the_source(tmp_path: Path, metastore: FakeMetastore) -> None:
    metastore.add_database("d")
    metastore.functions += [given("F"), given("g"), given("h", database="d")]
    with metastore.serving() as url:
        imported(tmp_path, url)
        metastore.functions[0].className = "Other"
        del metastore.functions[1]
        report = imported(tmp_path, url)
        assert report.is_complete
        assert report.summary == "functions: 0 created, 1 changed, 1 dropped"
        assert {name: value[0] for name, value in functions(tmp_path).items()} == {"f": "Other", "d.h": "org.example.F"}
        # The database goes with its functions.
        del metastore.databases["d"], metastore.functions[1]
        report = imported(tmp_path, url)
        assert (report.databases.dropped, report.functions.dropped, report.is_complete) == (1, 1, True)
        assert set(functions(tmp_path)) == {"f"}


def test_functions_of_others_stay_as_they_are(tmp_path: Path, metastore: FakeMetastore) -> None:
    metastore.functions += [given("f", "Theirs"), given("new")]
    with closing(Catalog.open(tmp_path)) as catalog, catalog.begin() as transaction:
        own = [Function(transaction.allocate_id(), name, "Ours") for name in ("f", "only_here")]
        transaction.commit([CreateObject(one) for one in own])
    with metastore.serving() as url, FakeMetastore().serving() as other:
        report = imported(tmp_path, url)
        assert "did not make" in reasons(report)["default.f", "function"]
        assert report.functions.created == 1
        # Another source has no functions, and drops none of this one.
        assert imported(tmp_path, other).is_complete
    shown = {name: value[0] for name, value in functions(tmp_path).items()}
    assert shown == {"f": "Ours", "only_here": "Ours", "new": "org.example.F"}


def test_functions_that_the_catalog_cannot_have(tmp_path: Path, metastore: FakeMetastore) -> None:
    metastore.functions += [given("a-b"), given("none", ""), given("lie"), given("lost"), given("f")]
    answers = {"lie": given("other"), "f": metastore.functions[-1]}

    def get_function(arguments: Any) -> Any:
        if arguments.funcName == "lost":
            raise structure("NoSuchObjectException")(message="it is gone")
        return answers.get(arguments.funcName) or metastore._get_function(arguments)

    metastore.overrides["get_function"] = get_function
    with metastore.serving() as url:
        said = reasons(imported(tmp_path, url))
        assert set(said) == {(f"default.{name}", "function") for name in ("a-b", "none", "lie", "lost")}
        assert "it is gone" in said["default.lost", "function"]
        assert set(functions(tmp_path)) == {"f"}
        # One that the source lists, but does not return, stays.
        answers["f"] = given("other")
        assert ("default.f", "function") in reasons(imported(tmp_path, url))
        assert set(functions(tmp_path)) == {"f"}


@pytest.mark.parametrize("is_known", [True, False])
def test_functions_whose_names_cannot_be_had_stay(tmp_path: Path, metastore: FakeMetastore, is_known: bool) -> None:
    metastore.add_database("d")
    metastore.functions += [given("f"), given("g", database="d")]
    with metastore.serving() as url:
        imported(tmp_path, url)

        def refuse(method: str, arguments: Any) -> None:
            if method == "get_functions" and (not is_known or arguments.dbName == "d"):
                if is_known:
                    raise structure("MetaException")(message="not now")
                raise TApplicationException(TApplicationException.UNKNOWN_METHOD, "unknown")

        metastore.on_call = refuse
        metastore.functions.clear()
        report = imported(tmp_path, url)
        assert set(functions(tmp_path)) == ({"d.g"} if is_known else {"f", "d.g"})
        said = reasons(report)
        assert list(said) == [("d" if is_known else url, "functions")]


def test_only_functions_of_whole_databases_are_taken(tmp_path: Path, metastore: FakeMetastore) -> None:
    metastore.add_database("d")
    metastore.add_table("t")
    metastore.functions += [given("f"), given("g", database="d")]
    with metastore.serving() as url:
        assert imported(tmp_path, url, "d.*", "default.t").is_complete
        assert set(functions(tmp_path)) == {"d.g"}
        imported(tmp_path, url)
        metastore.functions.clear()
        imported(tmp_path, url, "d.*", "default.t")
        assert set(functions(tmp_path)) == {"f"}


def test_notifications_bring_functions_in_step(tmp_path: Path, metastore: FakeMetastore) -> None:
    metastore.add_table("a")
    with metastore.serving() as url, importing(tmp_path, url) as one:
        follower = Follower(one, one.source.last_event(), one.everything(), lambda _: False)
        metastore.functions.append(given("f"))
        metastore.note("CREATE_FUNCTION", "default")
        metastore.calls.clear()
        report = follower.step()
        assert report is not None
        assert report.summary == "functions: 1 created, 0 changed, 0 dropped"
        assert metastore.calls.count("get_all_tables") == 0
        assert follower.step() is None
        metastore.functions.clear()
        metastore.note("DROP_FUNCTION", "default")
        metastore.add_table("b")
        report = follower.step()
        assert report is not None
        assert (report.functions.dropped, report.tables.created) == (1, 1)
        assert functions(tmp_path) == {}
