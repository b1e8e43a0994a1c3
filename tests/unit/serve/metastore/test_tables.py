"""Tables and views over Thrift."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pymetastore.hive_metastore import ttypes
from unit.serve.metastore.descriptions import EXTERNAL, MANAGED, ORC, PARQUET, changed, fields, partition, table, view

from rewriter.catalog.catalog import Catalog
from rewriter.errors import Error, OperationalError

_TEXTS = [
    "it's",
    'a "quote"',
    "one\ntwo\r\n\t",
    "é ☃ \U0001f600",
    "back\\slash",
    "%s {x} $y",
    " spaced ",
    "x" * 5000,
    "'--;",
]
_TYPES = [
    "boolean",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "string",
    "binary",
    "date",
    "timestamp",
    "decimal(38,18)",
    "char(3)",
    "varchar(65535)",
    "array<int>",
    "map<string,array<decimal(3,1)>>",
    "struct<a:int,`b c`:string,d:struct<e:date>>",
    "uniontype<int,string>",
    "interval_year_month",
    "timestamp with local time zone",
    "void",
]


def _folder(metastore: Any) -> Path:
    """Returns the directory in which clients create tables."""
    return Path(metastore.catalog.warehouse).absolute() / "metastore"


def _put(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "file").write_text("x")
    return directory / "file"


def _raises(kind: Any, call: Callable[..., Any], *arguments: Any, match: str | None = None) -> None:
    with pytest.raises(kind, match=match):
        call(*arguments)


def _described(chance: random.Random, name: str, location: str) -> Any:
    """Returns a random description of a table."""

    def texts(most: int) -> dict[str, str]:
        return {
            f"{chance.choice(_TEXTS[:7])} {n}": chance.choice([*_TEXTS, ""]) for n in range(chance.randint(0, most))
        }

    columns = {f"c{number}": chance.choice(_TYPES) for number in range(chance.randint(1, 12))}
    given = table(name, columns, {"p1": "string", "p2": "int"} if chance.random() < 0.5 else None, location, EXTERNAL)
    for field in [*given.sd.cols, *given.partitionKeys]:
        field.comment = chance.choice([None, *_TEXTS])
    given.sd.cols[-1].name = chance.choice(["a b", "é", "select", "x.y", "a`b", "c_1"])
    given.parameters = texts(5)
    given.parameters["comment"] = chance.choice(_TEXTS)
    given.owner, given.ownerType = chance.choice(["me", "é'"]), chance.choice([1, 2])
    given.createTime, given.lastAccessTime, given.retention = chance.randrange(1, 2**31), 7, chance.randrange(99)
    given.sd.inputFormat, given.sd.outputFormat, library = chance.choice([PARQUET, ORC])
    given.sd.serdeInfo = ttypes.SerDeInfo(chance.choice([None, "serde's"]), library, texts(3))
    given.sd.compressed = chance.random() < 0.5
    given.sd.numBuckets = chance.choice([-1, 0, 8])
    given.sd.bucketCols = ["c0"] if given.sd.numBuckets == 8 else []
    given.sd.sortCols = [ttypes.Order("c0", order) for order in (1, 0)][: chance.randint(0, 2)]
    given.sd.parameters = texts(2)
    given.sd.storedAsSubDirectories = chance.random() < 0.3
    return given


def _comparable(shown: Any) -> Any:
    """Returns what a client has given of a table that it is shown: less what the service adds."""
    result = changed(shown, parameters={k: v for k, v in shown.parameters.items() if k != "transient_lastDdlTime"})
    for name in ("viewOriginalText", "viewExpandedText", "temporary", "rewriteEnabled", "writeId", "catName"):
        setattr(result, name, None)
    result.sd.skewedInfo = None
    return result


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.share(1)
def test_descriptions_are_read_back_equal(client: Any, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(12):
        given = _described(chance, f"t{number}", f"{tmp_path}/t{number}")
        client.create_table(given)
        shown = client.get_table("default", f"t{number}")
        expected = _comparable(given)
        assert _comparable(shown) == expected
        assert client.get_fields("default", f"t{number}") == given.sd.cols
        assert client.get_schema("default", f"t{number}") == [*given.sd.cols, *given.partitionKeys]
        # What a client reads, it may write: nothing changes.
        client.alter_table("default", f"t{number}", shown)
        assert _comparable(client.get_table("default", f"t{number}")) == expected
        # Other parameters and comments, the old ones removed.
        other = _described(chance, f"t{number}", f"{tmp_path}/t{number}")
        next_ = changed(shown, parameters=other.parameters, owner=other.owner, retention=other.retention)
        client.alter_table("default", f"t{number}", next_)
        assert _comparable(client.get_table("default", f"t{number}")) == _comparable(next_)
    assert len(client.get_all_tables("default")) == 12


def test_sql_and_clients_see_each_other_at_once(client: Any, sql: Any, tmp_path: Path) -> None:
    client.create_table(table("t", {"A": "int", "b": "string"}, location=tmp_path / "t", parameters={"comment": "c"}))
    assert [row[:2] for row in sql("DESCRIBE t")] == [("A", "int"), ("b", "string")]
    sql("INSERT INTO t VALUES (1, 'x')")
    shown = client.get_table("default", "T")
    shown.sd.cols.append(ttypes.FieldSchema("c", "bigint", "new"))
    client.alter_table("default", "t", shown)
    assert sql("SELECT * FROM t") == [(1, "x", None)]
    sql("ALTER TABLE t SET TBLPROPERTIES ('k' = 'it''s')")
    sql("ALTER TABLE t ADD COLUMNS (d DOUBLE COMMENT 'of SQL')")
    shown = client.get_table("default", "t")
    assert shown.parameters["k"] == "it's"
    assert shown.parameters["comment"] == "c"
    assert [field.name for field in shown.sd.cols] == ["a", "b", "c", "d"]
    assert (shown.sd.cols[2].comment, shown.sd.cols[3].comment) == ("new", "of SQL")
    sql("DROP TABLE t")
    _raises(ttypes.NoSuchObjectException, client.get_table, "default", "t")
    sql(f"CREATE EXTERNAL TABLE e (Big INT) PARTITIONED BY (d STRING) STORED AS ORC LOCATION '{tmp_path}/e'")
    shown = client.get_table("default", "e")
    assert (shown.sd.inputFormat, shown.sd.outputFormat, shown.sd.serdeInfo.serializationLib) == ORC
    assert (shown.tableType, shown.parameters["EXTERNAL"]) == (EXTERNAL, "TRUE")
    assert (shown.sd.cols, shown.partitionKeys) == (fields({"big": "int"}), fields({"d": "string"}))
    client.drop_table("default", "e", True)
    assert ("e",) not in [row[:1] for row in sql("SHOW TABLES")]


def test_lists_of_tables(client: Any, sql: Any, tmp_path: Path) -> None:
    client.create_database(ttypes.Database("d"))
    for name, kind in (("ab", MANAGED), ("abc", EXTERNAL), ("b_c", EXTERNAL)):
        client.create_table(table(name, kind=kind, location=tmp_path / name, parameters={"comment": name}))
    client.create_table(view("av"))
    client.create_table(table("other", database="d"))
    sql("CREATE TABLE of_sql (a INT)")
    sql("CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME)")
    assert client.get_all_tables("DEFAULT") == ["ab", "abc", "av", "b_c", "of_sql"]
    assert client.get_tables("default", "A*") == ["ab", "abc", "av"]
    assert client.get_tables("default", "ab|b.*") == ["ab", "b_c"]
    assert client.get_tables("default", "b?c") == []
    assert client.get_tables("none", "*") == client.get_all_tables("none") == []
    assert client.get_tables_by_type("default", "*", EXTERNAL) == ["abc", "b_c"]
    assert client.get_tables_by_type("default", "*", "VIRTUAL_VIEW") == ["av"]
    assert client.get_tables_by_type("default", "*", "MANAGED_TABLE") == ["ab", "of_sql"]
    meta = client.get_table_meta("*", "ab*|other", [MANAGED])
    assert [(one.dbName, one.tableName, one.comments) for one in meta] == [
        ("default", "ab", "ab"),
        ("d", "other", None),
    ]
    assert [one.tableName for one in client.get_table_meta("d", "*", [])] == ["other"]
    names = ["ABC", "none", "ab", "of_sql", "c", "ab"]
    assert [one.tableName for one in client.get_table_objects_by_name("default", names)] == ["abc", "ab"]
    request = ttypes.GetTablesRequest("default", names)
    assert [one.tableName for one in client.get_table_objects_by_name_req(request).tables] == ["abc", "ab"]
    assert client.get_table_req(ttypes.GetTableRequest("default", "AB")).table == client.get_table("default", "ab")
    _raises(ttypes.UnknownTableException, client.get_fields, "default", "none")
    _raises(ttypes.UnknownTableException, client.get_schema, "none", "ab")
    _raises(ttypes.MetaException, client.get_table_names_by_filter, "default", "x = 1", -1)


@pytest.mark.parametrize("name", ["", None, "..", "a.b", "a/b", "a b", "a\0b", "x" * 101])
@pytest.mark.share(1)
def test_names_that_no_statement_would_give(client: Any, name: str | None) -> None:
    client.create_table(table("t"))
    client.create_table(view("v"))
    refused = (ttypes.MetaException, ttypes.InvalidObjectException, ttypes.NoSuchObjectException)
    for given in (table("x"), view("x")):
        _raises(refused, client.create_table, changed(given, tableName=name))
    for old in ("t", "v"):
        shown = changed(client.get_table("default", old), tableName=name)
        _raises((ttypes.MetaException, ttypes.InvalidOperationException), client.alter_table, "default", old, shown)
    assert client.get_all_tables("default") == ["t", "v"]


@pytest.mark.parametrize(
    "change",
    [
        {"partitionKeys": fields({"a": "int"})},
        {"partitionKeys": fields({"p": "map<int,int>"})},
        {"partitionKeys": [ttypes.FieldSchema("p", None)]},
        {"sd": None},
        {"tableType": "INDEX_TABLE"},
        {"dbName": "none"},
        {"parameters": {"rewriter.shared_location": "true"}},
        {"parameters": {"Rewriter.metastore": "{}"}},
        {"parameters": {"location": "/x"}},
        {"parameters": {"rewriter.moving.x": "[]"}},
    ],
    ids=str,
)
@pytest.mark.share(1)
def test_descriptions_that_are_refused(client: Any, change: dict[str, Any]) -> None:
    refused = (ttypes.MetaException, ttypes.InvalidObjectException, ttypes.NoSuchObjectException)
    _raises(refused, client.create_table, changed(table("t"), **change))
    assert client.get_all_tables("default") == []


@pytest.mark.parametrize(
    "columns", [{}, {"a": "nope"}, {"a": "int", "A": "int"}, {"": "int"}, {"a": "decimal(39,1)"}, {"a": "decimal(1,2)"}]
)
@pytest.mark.share(1)
def test_columns_that_are_refused(client: Any, columns: dict[str, str]) -> None:
    given = table("t")
    given.sd.cols = fields(columns)
    _raises(ttypes.MetaException, client.create_table, given)
    assert client.get_all_tables("default") == []


def test_alterations_that_are_refused(client: Any, sql: Any, tmp_path: Path) -> None:
    client.create_table(table("t", {"a": "int", "b": "string"}, {"d": "string"}, tmp_path / "t", EXTERNAL))
    client.create_table(table("u", location=tmp_path / "u", kind=EXTERNAL))
    client.create_table(view("v"))
    shown = client.get_table("default", "t")
    refused = (ttypes.InvalidOperationException, ttypes.MetaException)
    for change in (
        {"partitionKeys": fields({"e": "string"})},
        {"partitionKeys": fields({"d": "int"})},
        {"partitionKeys": []},
        {"sd": None},
        {"sd": changed(shown.sd, cols=fields({"a": "int"}))},
        {"sd": changed(shown.sd, cols=fields({"b": "string", "a": "int"}))},
        {"sd": changed(shown.sd, cols=fields({"a": "int", "c": "string"}))},
        {"sd": changed(shown.sd, cols=fields({"a": "int", "b": "string", "B": "int"}))},
        {"sd": changed(shown.sd, inputFormat=ORC[0], outputFormat=ORC[1])},
        {"sd": changed(shown.sd, location=f"file:{tmp_path}/u")},
        {"sd": changed(shown.sd, location=f"file:{tmp_path}/u/below")},
        {"sd": changed(shown.sd, location=f"file:{tmp_path}")},
        {"sd": changed(shown.sd, location=f"file:{tmp_path}/x/../y")},
        {"sd": changed(shown.sd, location="x")},
        {"parameters": {"rewriter.x": "1"}},
        {"parameters": {"owner": "1"}},
        {"tableName": "u"},
        {"tableName": "v"},
        {"dbName": "none"},
    ):
        _raises(refused, client.alter_table, "default", "t", changed(shown, **change))
        assert client.get_table("default", "t") == shown, change
    for change in ({"parameters": {"rewriter.x": "1"}}, {"tableName": "t"}, {"dbName": "none"}):
        _raises(refused, client.alter_table, "default", "v", changed(client.get_table("default", "v"), **change))
    _raises(refused, client.alter_table, "default", "none", shown)
    # The other spellings of the call.
    for call in (
        lambda given: client.alter_table_with_cascade("default", "t", given, True),
        lambda given: client.alter_table_with_environment_context("default", "t", given, None),
    ):
        call(changed(shown, parameters={"x": "1"}))
        assert client.get_table("default", "t").parameters["x"] == "1"
        call(shown)


def test_partitions_stay_where_they_are_when_the_location_changes(client: Any, sql: Any, tmp_path: Path) -> None:
    client.create_table(table("t", {"n": "int"}, {"d": "string"}, tmp_path / "old", EXTERNAL))
    sql("INSERT INTO t VALUES (1, 'x')")
    before = client.get_partition("default", "t", ["x"]).sd.location
    shown = client.get_table("default", "t")
    shown.sd.location = f"file:{tmp_path}/new"
    client.alter_table("default", "t", shown)
    assert client.get_partition("default", "t", ["x"]).sd.location == before == f"file:{tmp_path}/old/d=x"
    client.append_partition("default", "t", ["y"])
    assert client.get_partition("default", "t", ["y"]).sd.location == f"file:{tmp_path}/new/d=y"
    (tmp_path / "new" / "d=y").mkdir(parents=True)
    assert sql("SELECT * FROM t") == [(1, "x")]


def test_views(client: Any, sql: Any) -> None:
    given = view("v", "SELECT 1 AS x, 'it''s' AS y", comment="c", k="é\n")
    given.sd.cols = [ttypes.FieldSchema("x", "int", "one"), ttypes.FieldSchema("y", "string", None)]
    given.viewExpandedText = "SELECT 1, 2"
    client.create_table(given)
    shown = client.get_table("default", "V")
    assert (shown.viewOriginalText, shown.viewExpandedText) == (given.viewOriginalText, "SELECT 1, 2")
    assert (shown.sd.cols, shown.tableType) == (given.sd.cols, "VIRTUAL_VIEW")
    assert {"comment": "c", "k": "é\n"}.items() <= shown.parameters.items()
    assert sql("SELECT * FROM v") == [(1, "it's")]
    client.create_database(ttypes.Database("d"))
    # A view that is altered without its database stays in its own.
    client.create_table(view("w", database="d"))
    client.alter_table("d", "w", changed(client.get_table("d", "w"), dbName=None, viewOriginalText="SELECT 2 AS a"))
    assert (client.get_all_tables("d"), client.get_all_tables("default")) == (["w"], ["v"])
    assert client.get_table("d", "w").viewOriginalText == "SELECT 2 AS a"
    client.alter_table("d", "w", changed(client.get_table("d", "w"), tableName="renamed"))
    assert sql("SELECT * FROM d.renamed") == [(2,)]
    sql("CREATE VIEW of_sql (p COMMENT 'q') AS SELECT 3 AS a")
    # Its columns have no types that a client could use.
    with pytest.raises(ttypes.MetaException, match="session of SQL"):
        client.get_table("default", "of_sql")
    assert client.get_all_tables("default") == ["of_sql", "v"]
    assert [shown.tableName for shown in client.get_table_objects_by_name("default", ["of_sql", "v"])] == ["v"]
    sql("ALTER VIEW v AS SELECT 4 AS z")
    with pytest.raises(ttypes.MetaException, match="session of SQL"):
        client.get_table("default", "v")
    client.drop_table("default", "of_sql", True)
    client.drop_table("default", "v", True)
    assert client.get_all_tables("default") == []


_REFUSED_OF_MANAGED: dict[str, Callable[[Any], Any]] = {
    "get_table": lambda c: c.get_table("default", "m"),
    "get_table_req": lambda c: c.get_table_req(ttypes.GetTableRequest("default", "m")),
    "get_fields": lambda c: c.get_fields("default", "m"),
    "get_schema": lambda c: c.get_schema("default", "m"),
    "get_partition": lambda c: c.get_partition("default", "m", ["x"]),
    "get_partition_by_name": lambda c: c.get_partition_by_name("default", "m", "d=x"),
    "get_partitions": lambda c: c.get_partitions("default", "m", -1),
    "get_partition_names": lambda c: c.get_partition_names("default", "m", -1),
    "get_partition_names_ps": lambda c: c.get_partition_names_ps("default", "m", ["x"], -1),
    "get_partitions_by_filter": lambda c: c.get_partitions_by_filter("default", "m", "d = 'x'", -1),
    "get_num_partitions_by_filter": lambda c: c.get_num_partitions_by_filter("default", "m", "d = 'x'"),
    "get_partitions_by_names": lambda c: c.get_partitions_by_names("default", "m", ["d=x"]),
    "alter_table": lambda c: c.alter_table("default", "m", table("m", {"a": "int"}, {"d": "string"})),
    "drop_table": lambda c: c.drop_table("default", "m", True),
    "truncate_table": lambda c: c.truncate_table("default", "m", []),
    "add_partition": lambda c: c.add_partition(partition("m", ["y"])),
    "append_partition": lambda c: c.append_partition("default", "m", ["y"]),
    "append_partition_by_name": lambda c: c.append_partition_by_name("default", "m", "d=y"),
    "alter_partition": lambda c: c.alter_partition("default", "m", partition("m", ["x"])),
    "rename_partition": lambda c: c.rename_partition("default", "m", ["x"], partition("m", ["y"])),
    "drop_partition": lambda c: c.drop_partition("default", "m", ["x"], True),
    "drop_partition_by_name": lambda c: c.drop_partition_by_name("default", "m", "d=x", True),
    "drop_partitions_req": lambda c: c.drop_partitions_req(
        ttypes.DropPartitionsRequest("default", "m", ttypes.RequestPartsSpec(names=["d=x"]))
    ),
}


def test_a_managed_table_of_sql_needs_a_list_of_write_ids(client: Any, sql: Any) -> None:
    sql("CREATE TABLE m (a INT) PARTITIONED BY (d STRING)")
    sql("INSERT INTO m VALUES (1, 'x')")
    kinds = (ttypes.MetaException, ttypes.InvalidOperationException, ttypes.InvalidObjectException)
    for name, call in _REFUSED_OF_MANAGED.items():
        match = "TRUNCATE" if name == "truncate_table" else "VALID_WRITE_ID_LIST_REQUIRED"
        _raises(kinds, call, client, match=match)
    assert client.get_table_objects_by_name("default", ["m"]) == []
    assert sql("SELECT * FROM m") == [(1, "x")]


def test_drop_removes_the_files_of_purged_tables_alone(client: Any, metastore: Any, sql: Any, tmp_path: Path) -> None:
    folder = _folder(metastore)
    kept, gone = [], []
    client.create_table(table("managed"))
    gone.append(_put(folder / "managed"))
    client.create_table(table("untouched"))
    _put(folder / "untouched")
    client.create_table(table("plain", kind=EXTERNAL))
    kept.append(_put(folder / "plain"))
    client.create_table(table("asked", kind=EXTERNAL, parameters={"external.table.purge": "true"}))
    gone.append(_put(folder / "asked"))
    client.create_table(table("outside", location=tmp_path / "outside"))
    kept.append(_put(tmp_path / "outside"))
    client.create_table(table("linked"))
    kept.append(_put(tmp_path / "target"))
    (folder / "linked").rmdir()
    (folder / "linked").symlink_to(tmp_path / "target")
    client.create_table(table("behind", location=folder / "way" / "behind"))
    (folder / "way" / "behind").rmdir()
    (folder / "way").rmdir()
    kept.append(_put(tmp_path / "target" / "behind"))
    (folder / "way").symlink_to(tmp_path / "target")
    client.create_table(table("shared"))
    kept.append(_put(folder / "shared"))
    sql("ALTER TABLE shared SET TBLPROPERTIES ('rewriter.shared_location' = 'true')")
    client.create_table(table("user"))
    kept.append(_put(folder / "user"))
    sql(
        f"CREATE EXTERNAL TABLE reader (a INT) STORED AS PARQUET LOCATION '{folder}/user' "
        "TBLPROPERTIES ('rewriter.shared_location' = 'true')"
    )
    client.create_table(table("host"))
    kept.append(_put(folder / "host"))
    sql(
        f"CREATE EXTERNAL TABLE guest (a INT) PARTITIONED BY (d INT) STORED AS PARQUET LOCATION '{tmp_path}/guest' "
        "TBLPROPERTIES ('rewriter.shared_location' = 'true')"
    )
    sql(f"ALTER TABLE guest ADD PARTITION (d = 1) LOCATION '{folder}/host/d'")
    for name in ("managed", "plain", "asked", "outside", "linked", "behind", "shared", "user", "host"):
        client.drop_table("default", name, True)
    assert [path for path in kept if not path.exists()] == []
    assert [path for path in gone if path.parent.exists()] == []
    client.drop_table("default", "untouched", False)
    assert (folder / "untouched" / "file").exists()
    assert client.get_all_tables("default") == ["guest", "reader"]


def test_a_managed_table_of_a_client_moves_with_its_name(client: Any, metastore: Any, sql: Any) -> None:
    folder = _folder(metastore)
    client.create_table(table("t", {"n": "int"}, {"d": "string"}))
    sql("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    client.create_database(ttypes.Database("other"))
    client.alter_table("default", "t", changed(client.get_table("default", "t"), tableName="U", dbName="OTHER"))
    shown = client.get_table("other", "u")
    assert shown.sd.location == f"file:{folder}/other.db/u"
    assert client.get_partition("other", "u", ["x"]).sd.location == f"file:{folder}/other.db/u/d=x"
    assert not (folder / "t").exists()
    assert sorted(sql("SELECT * FROM other.u")) == [(1, "x"), (2, "y")]
    # The old name is free, with its directory.
    client.create_table(table("t"))
    # What is in the way of a move keeps the table as it is.
    _put(folder / "in_the_way")
    with pytest.raises((ttypes.InvalidOperationException, ttypes.MetaException)):
        client.alter_table("other", "u", changed(shown, tableName="in_the_way", dbName="default"))
    assert client.get_table("other", "u") == shown
    assert sorted(sql("SELECT * FROM other.u")) == [(1, "x"), (2, "y")]


def test_a_table_elsewhere_keeps_its_files_when_it_is_renamed(client: Any, sql: Any, tmp_path: Path) -> None:
    for name, kind in (("t", EXTERNAL), ("u", MANAGED)):
        client.create_table(table(name, {"n": "int"}, location=tmp_path / name, kind=kind))
        sql(f"INSERT INTO {name} VALUES (1)")
        client.alter_table("default", name, changed(client.get_table("default", name), tableName=f"{name}2"))
        assert client.get_table("default", f"{name}2").sd.location == f"file:{tmp_path}/{name}"
        assert sql(f"SELECT * FROM {name}2") == [(1,)]


def test_a_crash_between_the_new_name_and_the_move(
    client: Any, metastore: Any, sql: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _folder(metastore)
    client.create_table(table("t", {"n": "int"}, {"d": "string"}))
    client.create_table(table("flat", {"n": "int"}))
    sql("INSERT INTO t VALUES (1, 'x'), (2, NULL)")
    sql("INSERT INTO flat VALUES (3)")

    def crash(*_: Any) -> None:
        raise OperationalError("the process has ended", condition="CRASHED")

    with monkeypatch.context() as patch:
        patch.setattr(Catalog, "finish_moves", crash)
        for name in ("t", "flat"):
            with pytest.raises((ttypes.InvalidOperationException, ttypes.MetaException), match="CRASHED"):
                client.alter_table("default", name, changed(client.get_table("default", name), tableName=f"{name}2"))
        assert (folder / "t").is_dir()
        assert sorted(sql("SELECT * FROM t2"), key=str) == [(1, "x"), (2, None)]
        assert sql("SELECT * FROM flat2") == [(3,)]
    # The next call of a client finishes the moves before it shows anything.
    assert client.get_table("default", "t2").sd.location == f"file:{folder}/t2"
    assert client.get_table_objects_by_name("default", ["flat2"])[0].sd.location == f"file:{folder}/flat2"
    assert (folder / "t2" / "d=x").is_dir()
    assert not (folder / "t").exists()
    assert sorted(sql("SELECT * FROM t2"), key=str) == [(1, "x"), (2, None)]
    assert sql("SELECT * FROM flat2") == [(3,)]
    shown = client.get_table("default", "t2")
    assert not any(key.startswith("rewriter.") for key in shown.parameters)
    client.drop_table("default", "t2", True)
    assert not (folder / "t2").exists()


def test_a_name_that_is_taken(client: Any, sql: Any, tmp_path: Path) -> None:
    """It is said before the location of the table is found to be in use: clients know that the table exists."""
    client.create_table(table("t"))
    client.create_table(view("v"))
    sql("CREATE TABLE m (a INT)")
    sql("CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME)")
    for name in ("t", "T", "v", "m", "c"):
        for given in (table(name), view(name), table(name, location=tmp_path / "elsewhere", kind=EXTERNAL)):
            _raises(ttypes.AlreadyExistsException, client.create_table, given)
    assert not (tmp_path / "elsewhere").exists()


def test_clients_that_create_the_same_at_once(metastore: Any) -> None:
    """One of them has made it, and the others learn that it exists."""

    def create(number: int) -> list[str]:
        client, outcomes = metastore.connect(), []
        for name in range(4):
            for call, given in (
                (client.create_table, table(f"t{name}")),
                (client.create_database, ttypes.Database(f"d{name}")),
                (client.create_table, view(f"v{name}")),
            ):
                try:
                    call(given)
                    outcomes.append("made")
                except ttypes.AlreadyExistsException:
                    outcomes.append("exists")
        return outcomes

    with ThreadPoolExecutor(5) as pool:
        outcomes = [outcome for part in pool.map(create, range(5)) for outcome in part]
    assert (outcomes.count("made"), outcomes.count("exists")) == (12, 48)


def test_clients_that_alter_one_table_take_turns(metastore: Any, client: Any, tmp_path: Path) -> None:
    client.create_table(table("t", keys={"d": "string"}, location=tmp_path / "t", kind=EXTERNAL))

    def alter(number: int) -> None:
        own = metastore.connect()
        for turn in range(5):
            shown = own.get_table("default", "t")
            own.alter_table("default", "t", changed(shown, parameters={**shown.parameters, f"k{number}": str(turn)}))
            own.add_partition(partition("t", [f"{number}-{turn}"]))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(alter, range(4)))
    assert len(client.get_partition_names("default", "t", -1)) == 20
    assert "4" in client.get_table("default", "t").parameters.values()


def test_sessions_do_not_set_what_is_kept_for_clients(client: Any, sql: Any) -> None:
    client.create_table(table("t"))
    with pytest.raises(Error, match="reserved"):
        sql("ALTER TABLE t SET TBLPROPERTIES ('rewriter.metastore' = '{}')")
    assert "rewriter.metastore" not in sql("SHOW CREATE TABLE t")[0][0]
