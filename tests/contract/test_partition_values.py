"""Any value of any partition type: INSERT, SHOW PARTITIONS, SELECT with ``=``, RENAME, DROP. Nothing leaves the table.

Each step succeeds or is refused with one of our errors. After a refusal partitions and files are unchanged.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as some
from rotation import share, turn

from rewriter.catalog.keys.values import LONGEST_NAME, canonical, parse_partition_name, partition_name
from rewriter.catalog.model.objects import WRITE_ID_LEVEL, Column
from rewriter.errors import DataError, Error, NotSupportedError
from rewriter.exec.engine import Engine
from rewriter.grammar.unparse import quote
from rewriter.session import Session

PIECES = [
    *(
        "/",
        "..",
        ".",
        "%",
        "%2F",
        "%00",
        "=",
        ":",
        "'",
        '"',
        "\\",
        "`",
        " ",
        "\t",
        "\n",
        "\r",
        "\x01",
        "\x1f",
        "\x7f",
        "*",
    ),
    *(
        "?",
        "[",
        "]",
        "{",
        "}",
        "#",
        "~",
        "$HOME",
        "a",
        "Z",
        "é",
        "e\u0301",
        "中",
        "😀",
        "👨\u200d👧",
        "\u202e",
        "\u00a0",
    ),
    *(
        "\ufeff",
        "\ud800",
        "\udfff",
        "\0",
        "-",
        "_",
        "null",
        "NULL",
        "__HIVE_DEFAULT_PARTITION__",
        "0",
        "x" * 40,
        "é" * 60,
    ),
]
texts = some.one_of(
    some.lists(some.sampled_from(PIECES), max_size=8).map("".join),
    some.text(max_size=10),
    some.integers(LONGEST_NAME - 6, LONGEST_NAME + 3).map(lambda length: "x" * length),
    some.sampled_from(
        ["", " ", "  a  ", "null", "__HIVE_DEFAULT_PARTITION__", "../../../etc", "/etc/passwd", "x" * 5000]
    ),
)


def integers(bits: int) -> some.SearchStrategy[str]:
    bound = 1 << (bits - 1)
    return some.integers(-bound, bound - 1).map(str) | some.sampled_from(
        [str(bound), "007", " 5 ", "-0", "1.5", "", "x"]
    )


TYPES: dict[str, some.SearchStrategy[str]] = {
    "string": texts,
    "varchar(7)": texts,
    "char(5)": texts,
    "tinyint": integers(8),
    "smallint": integers(16),
    "int": integers(32),
    "bigint": integers(64),
    "decimal(12,3)": some.decimals(-(10**9), 10**9, places=3).map(str)
    | some.sampled_from(["1", "0.1234", "1e2", "-0"]),
    "date": some.dates(date(1, 1, 1)).map(str) | some.sampled_from(["2020", "2020-1-2", "2020-13-01", "0000-01-01"]),
    "timestamp": some.datetimes(datetime(1900, 1, 1)).map(str) | some.sampled_from(["2020-01-02", "2020-01-02 25:00"]),
    "boolean": some.sampled_from(["true", "FALSE", "t", "0", "yes", "x"]),
    "double": some.floats().map(repr) | some.sampled_from(["1e2", "-0.0", "NaN", "Infinity"]),
    "float": some.floats(width=32).map(repr),
}
#: A temporary value of each type for a partition.
OTHER = {
    "string": "o/t=h %er'", "varchar(7)": "o:her", "char(5)": "o*", "tinyint": "-9", "smallint": "-9", "int": "-9",
    "bigint": "-9", "decimal(12,3)": "-9.125", "date": "1999-12-31", "timestamp": "1999-12-31 23:59:59.5",
    "boolean": "false", "double": "-9.5", "float": "-9.5",
}  # fmt: skip
cases = some.sampled_from(list(TYPES)).flatmap(lambda kind: some.tuples(some.just(kind), TYPES[kind]))


@dataclass(frozen=True)
class Stage:
    """A session. Its warehouse is one directory among others of a root that must stay unchanged."""

    session: Session
    root: Path

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        return [tuple(row) for row in self.session.execute(sql).rows()]

    def tree(self) -> set[str]:
        """Returns all files below the root except the catalog's own."""
        files = (path.relative_to(self.root) for path in self.root.rglob("*") if not path.is_dir())
        return {str(path) for path in files if not path.name.startswith(("catalog.db", "warehouse.json"))}

    def state(self) -> tuple[list[tuple[object, ...]], set[str]]:
        return self.rows("SHOW PARTITIONS t"), self.tree()

    def attempt(self, sql: str) -> Error | None:
        """Returns the error. After it everything is as before."""
        before = self.state()
        try:
            self.session.execute(sql)
        except Error as error:
            assert self.state() == before, sql
            return error
        return None


def journey(stage: Stage, kind: str, text: str, external: bool) -> None:
    column = Column("p", kind)
    stage.session.execute("DROP TABLE IF EXISTS t")
    location = stage.root / "outside" / str(len(list(stage.root.joinpath("outside").glob("*"))))
    where = f" LOCATION {quote(str(location))}" if external else ""
    stage.session.execute(f"CREATE TABLE t (x INT) PARTITIONED BY (p {kind}){where}")
    (_, *rest) = next(row for row in stage.rows("DESCRIBE EXTENDED t") if row[0] == "Location")
    inside = str(Path(str(rest[0])).relative_to(stage.root)) + "/"
    outside = {path for path in stage.tree() if not path.startswith(inside)}
    wanted = _canonical(column, text)
    literal = quote(text)

    static = stage.attempt(f"INSERT INTO t PARTITION (p = {literal}) VALUES (1)")
    # DuckDB has no CHAR and VARCHAR in queries, but the store assignment does.
    value = literal if "char" in kind else f"CAST({literal} AS {kind})"
    dynamic = stage.attempt(f"INSERT INTO t PARTITION (p) SELECT 2, {value}")
    written = ([] if static else [(1,)]) + ([] if dynamic else [(2,)])
    if isinstance(wanted, Error):
        assert static is not None
    else:
        name = partition_name((column,), (wanted,))
        long = len(name.encode()) > LONGEST_NAME
        assert (static is not None) == (long or text == ""), static
        if long:
            assert isinstance(static, DataError)
            assert static.condition == "PARTITION_VALUE_TOO_LONG"
        _check_partition(stage, column, wanted, literal, written)
    assert {path for path in stage.tree() if not path.startswith(inside)} == outside, "something left the table"
    _check_depth(stage, inside, external)


def _canonical(column: Column, text: str) -> str | Error | None:
    try:
        return canonical(column, text)
    except Error as error:
        return error


def _check_partition(stage: Stage, column: Column, wanted: str | None, literal: str, written: list[tuple[int]]) -> None:
    """Checks that written rows are found by their partition's name and value, and dropped by it."""
    name = partition_name((column,), (wanted,))
    assert stage.rows("SHOW PARTITIONS t") == ([(name,)] if written else [])
    assert canonical(column, parse_partition_name(name)[0][1]) == wanted
    spec = "NULL" if wanted is None else literal
    value = quote(wanted or "") if "char" in column.type else f"CAST({quote(wanted or '')} AS {column.type})"
    condition = "p IS NULL" if wanted is None else f"p = {value}"
    if written:
        assert stage.rows(f"SHOW PARTITIONS t PARTITION (p = {spec})") == [(name,)]
        with contextlib.suppress(NotSupportedError):  # DuckDB converts no text to FLOAT.
            assert stage.rows(f"SELECT x FROM t WHERE {condition} ORDER BY x") == written
        assert stage.rows("SELECT x FROM t ORDER BY x") == written
        _check_rename(stage, column, name, spec, written)
        with contextlib.suppress(NotSupportedError):
            assert stage.rows(f"SELECT x FROM t WHERE {condition} ORDER BY x") == written
        stage.session.execute(f"ALTER TABLE t DROP PARTITION (p = {spec})")
    assert stage.rows("SHOW PARTITIONS t") == []
    assert stage.rows("SELECT x FROM t") == []


def _check_rename(stage: Stage, column: Column, name: str, spec: str, written: list[tuple[int]]) -> None:
    """Renames a partition to another value and back. The rows follow."""
    another = OTHER[column.type]
    elsewhere = partition_name((column,), (canonical(column, another),))
    if elsewhere == name:
        return
    for before, after, now in [(spec, quote(another), elsewhere), (quote(another), spec, name)]:
        stage.session.execute(f"ALTER TABLE t PARTITION (p = {before}) RENAME TO PARTITION (p = {after})")
        assert stage.rows("SHOW PARTITIONS t") == [(now,)]
        assert stage.rows("SELECT x FROM t ORDER BY x") == written


def _check_depth(stage: Stage, inside: str, external: bool) -> None:
    """Checks the depth of the files: one directory for the write, if there is one, and one for the partition, unless a
    packed file holds it.
    """
    for path in stage.tree():
        if path.startswith(inside):
            levels = [part for part in path.removeprefix(inside).split("/")[:-1] if not part.startswith(WRITE_ID_LEVEL)]
            assert [level[:2] for level in levels] in ((["p="],) if external else (["p="], [])), path


def stage_of(engine: Engine, root: Path) -> Iterator[Stage]:
    (root / "beside").mkdir()
    (root / "beside" / "untouched").write_text("x")
    with Session(root / "w", engine) as session:
        session.execute("CREATE TABLE t (x INT)")
        yield Stage(session, root)


@pytest.fixture
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stage]:
    yield from stage_of(request.getfixturevalue(request.param), tmp_path)


def _settings(examples: int) -> settings:
    """Returns settings without shrinking: an example is slow and short."""
    relaxed = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    phases = (Phase.explicit, Phase.reuse, Phase.generate)
    return settings(
        max_examples=examples, deadline=None, suppress_health_check=relaxed, phases=phases, derandomize=True
    )


@pytest.mark.parametrize("stage", ["duckdb"], indirect=True)
@_settings(15)
@example(case=("string", "x" * (LONGEST_NAME - 2)), external=False)
@example(case=("string", "x" * (LONGEST_NAME - 1)), external=True)
@example(case=("string", ".."), external=True)
@example(case=("string", "\ud800"), external=False)
@example(case=("string", "a\0b"), external=False)
@example(case=("string", ""), external=True)
@example(case=("char(5)", " "), external=False)
@given(case=cases, external=some.booleans())
def test_a_value_goes_its_way(stage: Stage, case: tuple[str, str], external: bool) -> None:
    journey(stage, *case, external)


@pytest.mark.long
@pytest.mark.parametrize("stage", ["duckdb"], indirect=True)
@_settings(1000)
@given(case=cases, external=some.booleans())
def test_many_values_go_their_way(stage: Stage, case: tuple[str, str], external: bool) -> None:
    journey(stage, *case, external)


#: Values that Spark, its writer and its paths might take for another value.
ON_SPARK = [
    ("string", "a/../b %2F=:'\"\\*?[é]{中}😀\t\n\x7f"),
    ("string", " __HIVE_DEFAULT_PARTITION__"),
    ("string", "x" * (LONGEST_NAME - 1)),
    ("char(5)", "ab"),
    ("timestamp", "2020-01-02 03:04:05.123456"),
    ("double", "-0.0"),
]


@pytest.mark.parametrize("stage", ["spark"], indirect=True)
def test_a_value_goes_its_way_on_spark(stage: Stage) -> None:
    for number, (kind, text) in enumerate(share(ON_SPARK, 3), start=turn() // 3):
        journey(stage, kind, text, external=number % 2 == 1)


@pytest.mark.parametrize("stage", ["duckdb"], indirect=True)
@_settings(15)
@given(
    names=some.lists(
        some.one_of(some.sampled_from(PIECES), some.text(min_size=1, max_size=6), some.sampled_from(["select", "A b"])),
        min_size=2,
        max_size=4,
        unique_by=lambda name: name.lower(),
    )
)
def test_columns_of_any_name(stage: Stage, names: list[str]) -> None:
    """Data and partition columns with odd characters and letter cases work, or the table is refused."""
    quoted = ["`" + name.replace("`", "``") + "`" for name in names]
    *data, part = quoted
    stage.session.execute("DROP TABLE IF EXISTS t")
    outside = {path for path in stage.tree() if not path.startswith("w/t-")}
    try:
        declared = ", ".join(f"{name} INT" for name in data)
        stage.session.execute(f"CREATE TABLE t ({declared}) PARTITIONED BY ({part} STRING)")
    except Error as error:
        refused = error
    else:
        refused = None
    if refused is not None:
        assert refused.hint, refused
        return
    values = ", ".join(str(number) for number, _ in enumerate(data))
    stage.session.execute(f"INSERT INTO t PARTITION ({part} = 'v') VALUES ({values})")
    stage.session.execute(f"INSERT INTO t SELECT {values}, 'w/x'")
    assert stage.rows(f"SELECT {', '.join(quoted)} FROM t WHERE {part} = 'w/x'") == [(*range(len(data)), "w/x")]
    assert stage.rows(f"SELECT max({data[0].swapcase()}) FROM t GROUP BY {part.swapcase()}") == [(0,), (0,)]
    (first, _) = stage.rows("SHOW PARTITIONS t")
    assert parse_partition_name(str(first[0])) == ((names[-1], "v"),)
    stage.session.execute(f"ALTER TABLE t DROP PARTITION ({part} = 'v'), PARTITION ({part} = 'w/x')")
    assert stage.rows("SELECT * FROM t") == []
    assert {path for path in stage.tree() if not path.startswith("w/t-")} == outside
