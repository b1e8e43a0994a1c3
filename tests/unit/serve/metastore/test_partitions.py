"""Partitions over Thrift."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pymetastore.hive_metastore import ttypes
from unit.serve.metastore.descriptions import EXTERNAL, ORC, changed, descriptor, partition, table

NULL = "__HIVE_DEFAULT_PARTITION__"
KEYS = {"s": "string", "n": "int"}


@pytest.fixture
def made(client: Any, tmp_path: Path) -> Any:
    """A client of a warehouse with the external table p."""
    client.create_table(table("p", keys=KEYS, location=tmp_path / "p", kind=EXTERNAL))
    return client


def _values(partitions: list[Any]) -> list[list[str]]:
    return [one.values for one in partitions]


def _raises(kind: type[Exception], call: Callable[..., Any], *arguments: Any, match: str | None = None) -> None:
    with pytest.raises(kind, match=match):
        call(*arguments)


@pytest.mark.parametrize(
    ("values", "shown", "name"),
    [
        (["a", "1"], ["a", "1"], "s=a/n=1"),
        (["a", "007"], ["a", "7"], "s=a/n=7"),
        (["a", " 9 "], ["a", "9"], "s=a/n=9"),
        (["a", "-0"], ["a", "0"], "s=a/n=0"),
        ([NULL, NULL], [NULL, NULL], f"s={NULL}/n={NULL}"),
        (["", "5"], [NULL, "5"], f"s={NULL}/n=5"),
        (['it\'s "1"', "1"], ['it\'s "1"', "1"], "s=it%27s %221%22/n=1"),
        (["x/y=z%", "1"], ["x/y=z%", "1"], "s=x%2Fy%3Dz%25/n=1"),
        (["é☃\n\\", "1"], ["é☃\n\\", "1"], "s=é☃%0A%5C/n=1"),
        (["..", "1"], ["..", "1"], "s=../n=1"),
    ],
)
@pytest.mark.share(1)
def test_a_partition_is_read_back(made: Any, sql: Any, values: list[str], shown: list[str], name: str) -> None:
    parameters = {"it's": 'a "q"', "é\n": ""}
    added = made.add_partition(partition("p", values, parameters=parameters))
    assert added.values == shown
    assert parameters.items() <= added.parameters.items()
    for found in (
        made.get_partition("default", "p", values),
        made.get_partition("DEFAULT", "P", shown),
        made.get_partition_with_auth("default", "p", values, "me", []),
        made.get_partition_by_name("default", "p", name),
        *made.get_partitions("default", "p", -1),
        *made.get_partitions_by_names("default", "p", [name, name]),
        *made.get_partitions_ps("default", "p", values, -1),
        *made.get_partitions_ps_with_auth("default", "p", values[:1], -1, "me", []),
    ):
        assert found == added
    assert made.get_partition_names("default", "p", -1) == [name]
    assert sql("SHOW PARTITIONS p") == [(name,)]
    assert made.partition_name_to_vals(name) == shown
    assert made.partition_name_to_spec(name) == dict(zip(KEYS, shown, strict=True))
    _raises(ttypes.AlreadyExistsException, made.add_partition, partition("p", shown))
    assert made.drop_partition("default", "p", values, False) is True
    _raises(ttypes.NoSuchObjectException, made.get_partition, "default", "p", values)


@pytest.mark.parametrize("values", [[], ["a"], ["a", "1", "2"], ["a", "x"], ["a", "1.5"], ["a", str(2**31)], None])
@pytest.mark.share(1)
def test_values_of_no_partition(made: Any, values: list[str] | None) -> None:
    given = changed(partition("p", []), values=values)
    for call in (
        lambda: made.add_partition(given),
        lambda: made.add_partitions([partition("p", ["ok", "1"]), given]),
        lambda: made.append_partition("default", "p", values),
        lambda: made.get_partition("default", "p", values),
        lambda: made.drop_partition("default", "p", values, True),
    ):
        _raises(ttypes.MetaException, call)
    assert made.get_partition_names("default", "p", -1) == []


@pytest.mark.parametrize("name", ["", "s=a", "n=1", "s=a/n=1/x=2", "a/1", "s=a/x=1", "s=a/s=b"])
@pytest.mark.share(1)
def test_names_of_no_partition(made: Any, name: str) -> None:
    made.add_partition(partition("p", ["a", "1"]))
    _raises(ttypes.MetaException, made.get_partition_by_name, "default", "p", name)
    _raises(ttypes.MetaException, made.append_partition_by_name, "default", "p", name)
    _raises(ttypes.MetaException, made.drop_partition_by_name, "default", "p", name, False)
    assert made.get_partition_names("default", "p", -1) == ["s=a/n=1"]


def test_add_partitions_adds_all_or_none(made: Any) -> None:
    assert made.add_partitions([]) == 0
    assert made.add_partitions([partition("p", ["a", "1"]), partition("p", ["a", "2"])]) == 2
    there = made.get_partition_names("default", "p", -1)
    for second in (
        partition("p", ["a", "1"]),
        partition("p", ["b", "01"]),  # The same as the first one.
        partition("p", ["b", "x"]),
        partition("other", ["b", "2"]),
        partition("p", ["b", "3"], location="/"),
        changed(partition("p", ["b", "3"]), sd=descriptor({"a": "int"}, None, ORC)),
        partition("p", ["b", "3"], parameters={"rewriter.x": "1"}),
    ):
        with pytest.raises((ttypes.MetaException, ttypes.AlreadyExistsException, ttypes.InvalidObjectException)):
            made.add_partitions([partition("p", ["b", "1"]), second])
        assert made.get_partition_names("default", "p", -1) == there


def test_add_partitions_req(made: Any) -> None:
    made.add_partition(partition("p", ["a", "1"], parameters={"old": "1"}))
    parts = [partition("p", ["a", "1"]), partition("p", ["a", "2"])]
    request = ttypes.AddPartitionsRequest("default", "p", parts, False)
    _raises(ttypes.AlreadyExistsException, made.add_partitions_req, request)
    request.ifNotExists = True
    assert _values(made.add_partitions_req(request).partitions) == [["a", "2"]]
    assert made.add_partitions_req(changed(request, needResult=False)).partitions is None
    assert made.get_partition("default", "p", ["a", "1"]).parameters["old"] == "1"


def test_append(made: Any) -> None:
    assert made.append_partition("default", "p", ["a", "01"]).values == ["a", "1"]
    assert made.append_partition_by_name("default", "p", "s=b%2F/n=2").values == ["b/", "2"]
    _raises(ttypes.AlreadyExistsException, made.append_partition, "default", "p", ["a", "1"])
    assert made.get_partition_names("default", "p", -1) == ["s=a/n=1", "s=b%2F/n=2"]


def test_tables_without_partitions(made: Any) -> None:
    made.create_table(table("flat"))
    _raises(ttypes.InvalidObjectException, made.add_partition, partition("flat", []))
    _raises(ttypes.InvalidObjectException, made.add_partition, partition("none", ["a"]), match="NOT_FOUND")
    _raises(ttypes.NoSuchObjectException, made.get_partitions, "default", "none", -1)
    _raises(ttypes.NoSuchObjectException, made.get_partition_names, "none", "p", -1)


def test_prefixes_and_limits(made: Any) -> None:
    all_values = [[s, n] for s in ("a", "b", NULL) for n in ("1", "2", "10", NULL)]
    made.add_partitions([partition("p", values) for values in all_values])
    for prefix in (["a"], ["a", ""], ["", "10"], ["", ""], [], [NULL], ["b", NULL], ["c"], ["a", "010"]):
        wanted = [text.lstrip("0") for text in prefix]
        expected = [
            values
            for values in all_values
            if all(text in ("", value) for text, value in zip(wanted, values, strict=False))
        ]
        found = made.get_partitions_ps("default", "p", prefix, -1)
        assert sorted(_values(found)) == sorted(expected), prefix
        assert made.get_partition_names_ps("default", "p", prefix, -1) == [
            "/".join(f"{key}={value}" for key, value in zip(KEYS, values, strict=True)) for values in _values(found)
        ]
        assert _values(made.get_partitions_ps("default", "p", prefix, 1)) == _values(found)[:1]
    _raises(ttypes.MetaException, made.get_partition_names_ps, "default", "p", ["a", "1", "2"], -1)
    everything = made.get_partitions("default", "p", -1)
    for most in (0, 1, 5, 12, 32767):
        assert made.get_partitions("default", "p", most) == everything[:most]
        assert len(made.get_partition_names("default", "p", most)) == min(most, 12)
        assert len(made.get_partitions_by_filter("default", "p", "", most)) == min(most, 12)


_TEXTS = ["a", "ab", "b", "it's", 'q"q', "a\\b", "a\\tb", "a\tb", "a%b", "a_b", "x.y", "and", "2020-01-01", "é", "A"]
_NUMBERS = [-5, 0, 1, 2, 10]
_DATES = ["2019-12-31", "2020-01-01", "2020-02-29"]
_Row = tuple[str | None, int | None, str | None]
_Test = Callable[[_Row], bool | None]


def _quoted(text: str) -> str:
    return f'"{text}"' if '"' not in text else f"'{text}'"


def _comparison(chance: random.Random) -> tuple[str, _Test]:
    """Returns a comparison as Spark writes it, and its meaning; ``None`` is unknown."""
    index = chance.randrange(3)
    value: Any = chance.choice(([text for text in _TEXTS if text[-1] != "\\"], _NUMBERS, _DATES)[index])
    literal = _quoted(value) if index == 0 else str(value)
    name = ("s", "n", "d")[index]
    kind = chance.randrange(9 if index == 0 else 7)
    if kind == 6:
        others: list[Any] = chance.sample(([*_TEXTS], _NUMBERS, _DATES)[index], 2)
        written = [_quoted(other) if index != 1 else str(other) for other in others]
        return f"{name} in ({', '.join(written)})", lambda row: None if row[index] is None else row[index] in others
    if kind > 6:
        plain = "".join(character for character in value if character.isalnum())
        expression = (f"{plain}.*", f".*{plain}", f".*{plain}.*", f"{plain[:1]}.")[chance.randrange(4)]
        like = re.compile(expression, re.DOTALL)
        return f's like "{expression}"', lambda row: None if row[0] is None else like.fullmatch(row[0]) is not None
    operator = ("=", "!=", "<", ">", "<=", ">=")[kind]
    compare: Callable[[Any, Any], bool] = (
        lambda a, b: a == b,
        lambda a, b: a != b,
        lambda a, b: a < b,
        lambda a, b: a > b,
        lambda a, b: a <= b,
        lambda a, b: a >= b,
    )[kind]
    if chance.random() < 0.3:
        return f"{literal} {operator} {name}", lambda row: None if row[index] is None else compare(value, row[index])
    return f"{name} {operator} {literal}", lambda row: None if row[index] is None else compare(row[index], value)


def _filter(chance: random.Random, depth: int) -> tuple[str, _Test]:
    if depth == 0 or chance.random() < 0.2:
        return _comparison(chance)
    word, decides = chance.choice([("and", False), ("OR", True)])
    parts = [_filter(chance, depth - 1) for _ in range(chance.randint(2, 3))]

    def holds(row: _Row) -> bool | None:
        results = [test(row) for _, test in parts]
        if decides in results:
            return decides
        return None if None in results else not decides

    return "(" + f" {word} ".join(text for text, _ in parts) + ")", holds


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.share(1)
def test_filters_against_a_model(client: Any, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    keys = {"s": "string", "n": "int", "d": "date"}
    client.create_table(table("p", keys=keys, location=tmp_path / "p", kind=EXTERNAL))
    product = list(itertools.product([*_TEXTS, None], [*_NUMBERS, None], [*_DATES, None]))
    rows: list[_Row] = chance.sample(product, 120)
    client.add_partitions([partition("p", [NULL if value is None else str(value) for value in row]) for row in rows])
    hits = 0
    for _ in range(120):
        text, test = _filter(chance, chance.randrange(4))
        expected = sorted([NULL if value is None else str(value) for value in row] for row in rows if test(row) is True)
        assert sorted(_values(client.get_partitions_by_filter("default", "p", text, -1))) == expected, text
        assert client.get_num_partitions_by_filter("default", "p", text) == len(expected), text
        hits += 0 < len(expected) < len(rows)
    assert hits > 50


@pytest.mark.parametrize(
    "text", ["s", "s =", 's = "a', "nope = 1", "s = 1", 'n = "x"', 's = "a" and', "s like 'a+b'", "drop table p", "()"]
)
@pytest.mark.share(1)
def test_filters_that_are_none(made: Any, text: str) -> None:
    _raises(ttypes.MetaException, made.get_partitions_by_filter, "default", "p", text, -1)
    _raises(ttypes.MetaException, made.get_num_partitions_by_filter, "default", "p", text)


def test_a_deep_filter_is_refused(made: Any) -> None:
    deep = "n = 1"
    for level in range(3000):
        deep = f"({deep} {'and' if level % 2 else 'or'} n = 2)"
    _raises(ttypes.MetaException, made.get_partitions_by_filter, "default", "p", deep, -1)
    wide = " or ".join(f"n = {number}" for number in range(3000))
    assert made.get_partitions_by_filter("default", "p", wide, -1) == []


def test_expressions_of_java_are_refused(made: Any) -> None:
    made.add_partition(partition("p", ["a", "1"]))
    request = ttypes.PartitionsByExprRequest("default", "p", b"\xac\xed\x00\x05sr")
    _raises(ttypes.MetaException, made.get_partitions_by_expr, request, match="Java")
    drop = ttypes.DropPartitionsRequest("default", "p", ttypes.RequestPartsSpec(exprs=[ttypes.DropPartitionsExpr(b"")]))
    _raises(ttypes.MetaException, made.drop_partitions_req, drop, match="Java")
    assert made.get_partition_names("default", "p", -1) == ["s=a/n=1"]


def test_drop_partitions_req(made: Any) -> None:
    made.add_partitions([partition("p", ["a", str(number)]) for number in range(4)])

    def request(*names: str, **fields: Any) -> Any:
        return ttypes.DropPartitionsRequest("default", "p", ttypes.RequestPartsSpec(names=list(names)), **fields)

    missing = request("s=a/n=1", "s=b/n=1", ifExists=False)
    _raises(ttypes.NoSuchObjectException, made.drop_partitions_req, missing)
    assert len(made.get_partition_names("default", "p", -1)) == 4
    dropped = made.drop_partitions_req(changed(missing, ifExists=True, needResult=True))
    assert _values(dropped.partitions) == [["a", "1"]]
    # A name that comes twice is dropped once.
    made.drop_partitions_req(request("s=a/n=2", "s=a/n=02", needResult=False))
    assert made.get_partition_names("default", "p", -1) == ["s=a/n=0", "s=a/n=3"]


def test_alter_partition(made: Any, sql: Any, tmp_path: Path) -> None:
    made.add_partition(partition("p", ["a", "1"], parameters={"x": "1", "y": "2"}))
    shown = made.get_partition("default", "p", ["a", "1"])
    shown.parameters = {"y": "it's", "z": "\n"}
    shown.sd.location = f"file:{tmp_path}/elsewhere"
    made.alter_partition("default", "p", shown)
    after = made.get_partition("default", "p", ["a", "01"])
    assert {"y": "it's", "z": "\n"}.items() <= after.parameters.items()
    assert "x" not in after.parameters
    assert after.sd.location == f"file:{tmp_path}/elsewhere"
    after.sd.location = f"file:{tmp_path}/p/s=a/n=1"
    made.alter_partitions("default", "p", [after])
    assert made.get_partition("default", "p", ["a", "1"]).sd.location == f"file:{tmp_path}/p/s=a/n=1"
    for call in (made.alter_partition, lambda *given: made.alter_partitions(given[0], given[1], [given[2]])):
        _raises(ttypes.InvalidOperationException, call, "default", "p", partition("p", ["b", "1"]))
        for key in ("rewriter.x", "rewriter.metastore.x"):
            given = partition("p", ["a", "1"], parameters={key: "1"})
            with pytest.raises((ttypes.MetaException, ttypes.InvalidOperationException), match="has a meaning"):
                call("default", "p", given)
    assert sql("SHOW PARTITIONS p") == [("s=a/n=1",)]


def test_rename_partition(made: Any, sql: Any, tmp_path: Path) -> None:
    made.add_partitions([partition("p", ["a", "1"], parameters={"x": "1"}), partition("p", ["b", "2"])])
    (tmp_path / "p" / "s=a" / "n=1").mkdir(parents=True, exist_ok=True)
    (tmp_path / "p" / "s=a" / "n=1" / "file").write_text("x")
    shown = made.get_partition("default", "p", ["a", "1"])
    made.rename_partition("default", "p", ["a", "1"], changed(shown, values=["c", "03"]))
    after = made.get_partition("default", "p", ["c", "3"])
    assert after.parameters["x"] == "1"
    assert Path(after.sd.location.removeprefix("file:"), "file").read_text() == "x"
    assert sql("SHOW PARTITIONS p") == [("s=b/n=2",), ("s=c/n=3",)]
    _raises(
        ttypes.InvalidOperationException,
        made.rename_partition,
        "default",
        "p",
        ["a", "1"],
        changed(shown, values=["d", "1"]),
    )
    with pytest.raises((ttypes.InvalidOperationException, ttypes.MetaException)):
        made.rename_partition("default", "p", ["c", "3"], changed(shown, values=["b", "2"]))
    assert made.get_partition_names("default", "p", -1) == ["s=b/n=2", "s=c/n=3"]


def test_locations_of_partitions(made: Any, metastore: Any, tmp_path: Path) -> None:
    made.create_table(table("q", location=tmp_path / "q", kind=EXTERNAL))
    made.add_partitions([partition("p", ["a", "1"]), partition("p", ["b", "2"], location=tmp_path / "b")])
    (tmp_path / "link").symlink_to(tmp_path / "q")
    warehouse = Path(metastore.catalog.warehouse)
    for place in (
        "/",
        tmp_path,
        tmp_path / "p",
        tmp_path / "p" / "s=a" / "n=1",
        tmp_path / "p" / "s=a",
        tmp_path / "b",
        tmp_path / "b" / "below",
        tmp_path / "q",
        tmp_path / "q" / "below",
        tmp_path / "link",
        tmp_path / "p" / ".." / "q",
        warehouse,
        warehouse / "t-1",
    ):
        for given in (partition("p", ["c", "3"], location=place), partition("p", ["b", "2"], location=place)):
            call = (
                made.add_partition if given.values[0] == "c" else lambda one: made.alter_partition("default", "p", one)
            )
            if given.values[0] == "b" and tmp_path / "b" in (place, *getattr(place, "parents", ())):
                continue
            _raises(ttypes.MetaException, call, given, match=r"SHARED_LOCATION|UNSAFE_LOCATION|INVALID_LOCATION")
    made.add_partition(partition("p", ["c", "3"], location=tmp_path / "p" / "own"))
    assert made.get_partition("default", "p", ["c", "3"]).sd.location == f"file:{tmp_path}/p/own"
    foreign = partition("p", ["e", "1"])
    foreign.sd = ttypes.StorageDescriptor(location="hdfs://host/e")
    assert made.add_partitions([foreign, partition("p", ["e", "2"], location=tmp_path / "e2")]) == 2
    made.alter_partitions("default", "p", [])
    twins = [partition("p", ["d", number], location=tmp_path / "twin") for number in "12"]
    _raises(ttypes.MetaException, made.add_partitions, twins, match="SHARED_LOCATION")


def test_drop_removes_files_of_purged_tables_alone(client: Any, metastore: Any, sql: Any, tmp_path: Path) -> None:
    folder = Path(metastore.catalog.warehouse).absolute() / "metastore"
    client.create_table(table("purged", keys=KEYS))
    client.create_table(table("kept", keys=KEYS, kind=EXTERNAL))
    client.create_table(table("asked", keys=KEYS, kind=EXTERNAL, parameters={"external.table.purge": "TRUE"}))
    for name in ("purged", "kept", "asked"):
        places = {"1": None, "2": tmp_path / name, "3": folder / f"{name}_3", "4": None}
        for number, place in places.items():
            client.add_partition(partition(name, ["a", number], location=place))
            directory = place or folder / name / "s=a" / f"n={number}"
            directory.mkdir(parents=True, exist_ok=True)
            (directory / "file").write_text("x")
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "file").write_text("x")
    client.add_partition(partition("purged", ["l", "1"]))
    (folder / "purged" / "s=l" / "n=1").rmdir()
    (folder / "purged" / "s=l" / "n=1").symlink_to(tmp_path / "target")
    client.add_partition(partition("purged", ["m", "1"]))
    (folder / "purged" / "s=m" / "n=1").rmdir()
    (folder / "purged" / "s=m").rmdir()
    (tmp_path / "target" / "n=1").mkdir()
    (tmp_path / "target" / "n=1" / "file").write_text("x")
    (folder / "purged" / "s=m").symlink_to(tmp_path / "target")
    for name in ("purged", "kept", "asked"):
        for number in "123":
            client.drop_partition("default", name, ["a", number], True)
        client.drop_partition("default", name, ["a", "4"], False)
        is_purged = name != "kept"
        assert (folder / name / "s=a" / "n=1" / "file").exists() != is_purged
        assert (tmp_path / name / "file").exists()
        assert (folder / f"{name}_3" / "file").exists() != is_purged
        assert (folder / name / "s=a" / "n=4" / "file").exists()
    for value in "lm":
        client.drop_partition_by_name("default", "purged", f"s={value}/n=1", True)
    assert (tmp_path / "target" / "file").exists()
    assert (tmp_path / "target" / "n=1" / "file").exists()


def test_a_fact_follows_partitions_of_clients(client: Any, sql: Any, tmp_path: Path) -> None:
    for name in ("days", "months"):
        client.create_table(table(name, {"n": "bigint"}, {"dt": "string"}, location=tmp_path / name, kind=EXTERNAL))
    sql("CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME)")
    sql(
        "CREATE FACT f OF CUBE c STORED IN (TABLE days PERIOD DAILY PARTITIONED BY t AS (dt = 'yyyy-MM-dd'), "
        "TABLE months PERIOD MONTHLY PARTITIONED BY t AS (dt = 'yyyy-MM'))"
    )
    query = "EXPLAIN COVER SELECT SUM(n) FROM c WHERE t >= '2020-01-01' AND t < '2020-03-01'"
    client.add_partitions([partition("days", [f"2020-01-{day:02}"]) for day in range(1, 32)])
    client.append_partition_by_name("default", "days", "dt=2020-02-01")
    assert len(sql("SHOW PARTITIONS days")) == 32
    before = str(sql(query))
    assert "2020-02-02" in before
    client.add_partitions([partition("days", [f"2020-02-{day:02}"]) for day in range(2, 30)])
    client.drop_partition("default", "days", ["2020-01-15"], False)
    after = str(sql(query))
    assert after != before
    assert "2020-01-15" in after
    assert "2020-02-02" not in after
    for call in (
        lambda: client.drop_table("default", "days", True),
        lambda: client.alter_table("default", "days", changed(client.get_table("default", "days"), tableName="d2")),
    ):
        with pytest.raises((ttypes.MetaException, ttypes.InvalidOperationException), match="TABLE_IN_USE"):
            call()
    assert client.get_all_tables("default") == ["days", "months"]
    _raises(ttypes.NoSuchObjectException, client.get_table, "default", "f")
    _raises(ttypes.NoSuchObjectException, client.get_table, "default", "c")
    _raises(ttypes.NoSuchObjectException, client.drop_table, "default", "c", True)


def test_partitions_of_sql_are_seen(client: Any, sql: Any, tmp_path: Path) -> None:
    sql(
        f"CREATE EXTERNAL TABLE e (n BIGINT) PARTITIONED BY (S STRING, d INT) STORED AS PARQUET LOCATION '{tmp_path}/e'"
    )
    sql("INSERT INTO e VALUES (1, 'a/b', 1), (2, NULL, 2)")
    shown = client.get_partitions("default", "e", -1)
    assert sorted(_values(shown)) == [[NULL, "2"], ["a/b", "1"]]
    for one in shown:
        directory = Path(one.sd.location.removeprefix("file:"))
        assert [path.suffix for path in directory.iterdir() if path.is_file()] == [".parquet"]
    client.drop_partition("default", "e", ["a/b", "1"], True)
    assert sql("SELECT n FROM e") == [(2,)]
    assert (tmp_path / "e" / "S=a%2Fb" / "d=1").is_dir()
    client.append_partition("default", "e", ["a/b", "1"])
    assert sorted(sql("SELECT n FROM e")) == [(1,), (2,)]


def test_properties_of_sql_stay_when_a_client_alters_a_partition(client: Any, sql: Any, tmp_path: Path) -> None:
    sql(f"CREATE EXTERNAL TABLE e (n INT) PARTITIONED BY (d STRING) STORED AS TEXTFILE LOCATION '{tmp_path}/e'")
    sql("ALTER TABLE e ADD PARTITION (d = 'x')")
    sql("ALTER TABLE e PARTITION (d = 'x') SET SERDEPROPERTIES ('serialization.format' = '1')")
    shown = client.get_partition("default", "e", ["x"])
    assert shown.parameters == {}
    client.alter_partition("default", "e", changed(shown, parameters={"k": "1"}))
    assert client.get_partition("default", "e", ["x"]).parameters["k"] == "1"
    assert "serialization.format" in str(sql("DESCRIBE FORMATTED e PARTITION (d = 'x')"))


def test_clients_that_add_partitions_at_once(metastore: Any, made: Any) -> None:
    def add(number: int) -> list[bool]:
        client, added = metastore.connect(), []
        for turn in range(6):
            client.add_partition(partition("p", [f"own {number}", str(turn)]))
            try:
                client.add_partition(partition("p", ["same", str(turn)]))
                added.append(True)
            except ttypes.AlreadyExistsException:
                added.append(False)
        return added

    with ThreadPoolExecutor(5) as pool:
        outcomes = [outcome for part in pool.map(add, range(5)) for outcome in part]
    assert outcomes.count(True) == 6
    assert len(made.get_partition_names("default", "p", -1)) == 36
