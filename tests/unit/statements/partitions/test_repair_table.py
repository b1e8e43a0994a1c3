"""Directories of external tables against the catalog: MSCK, and partitions that are discovered."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewriter.catalog.storage import partition_directories
from rewriter.errors import AnalysisError, Error, IntegrityError, NotSupportedError, OperationalError
from rewriter.session import Session
from rewriter.statements.partitions import repair_table

NULL = "__HIVE_DEFAULT_PARTITION__"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", "duckdb") as opened:
        yield opened


@pytest.fixture
def folder(session: Session, tmp_path: Path) -> Path:
    """Creates the directory of the table ``e``, partitioned by (c STRING, d INT)."""
    folder = tmp_path / "outside"
    folder.mkdir()
    session.execute(f"CREATE EXTERNAL TABLE e (a INT) PARTITIONED BY (c STRING, d INT) LOCATION '{folder}'")
    return folder


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return session.execute(sql).fetch()


def names(session: Session, table: str = "e") -> list[object]:
    return [name for (name,) in rows(session, f"SHOW PARTITIONS {table}")]


def statuses(session: Session, sql: str, folder: Path) -> list[tuple[object, object, str]]:
    """Returns (partition, status, path below the folder)."""
    return [(name, status, os.path.relpath(str(path), folder)) for name, status, path, _ in rows(session, sql)]


def make(folder: Path, *levels: str) -> None:
    for level in levels:
        (folder / level).mkdir(parents=True)


def fill(directory: Path, a: int) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"a": pa.array([a], pa.int32())}), directory / "data.parquet")


def test_directories_of_every_kind(session: Session, folder: Path) -> None:
    make(folder, "c=US/d=1", "C=é x/D=03", "c=%C3%A9/d=5", "c=/d=7", f"c={NULL}/d=null", "c=null/d=8", "c=a%2Fb/d=+9")
    make(folder, "c=FR/d=abc", "c=FR/d=1.5", "c=FR/d=3000000000", "c=%C3/d=1", "x=1", "plain", "d=1/c=US", "c=JP/e=1")
    make(folder, "_temporary", ".hive-staging", "c=IT/_d", "c=IT/d=1/e=9")
    (folder / "c=US" / "lost.parquet").write_bytes(b"")
    (folder / "c=US" / "_SUCCESS").write_bytes(b"")
    os.makedirs(os.fsencode(folder) + b"/c=\xff/d=1")
    answer = session.execute("MSCK TABLE e")
    fetched = answer.fetch()
    missing = [row for row in fetched if row[1] == "missing in catalog"]
    assert [(name, os.path.relpath(str(path), folder)) for name, _, path, _ in missing] == [
        ("c=IT/d=1", "c=IT/d=1"),
        ("c=US/d=1", "c=US/d=1"),
        (f"c={NULL}/d=7", "c=/d=7"),
        (f"c={NULL}/d={NULL}", f"c={NULL}/d=null"),
        ("c=a%2Fb/d=9", "c=a%2Fb/d=+9"),
        ("c=null/d=8", "c=null/d=8"),
        ("c=é x/d=3", "C=é x/D=03"),
        ("c=é/d=5", "c=%C3%A9/d=5"),
    ]  # fmt: skip
    ignored = {os.path.relpath(str(row[2]), folder): row[3] for row in fetched if row[1] == "ignored"}
    assert set(ignored) == {
        "c=FR/d=abc", "c=FR/d=1.5", "c=FR/d=3000000000", "c=%C3", "x=1", "plain", "d=1", "c=JP/e=1", "c=\\xff", "c=US",
    }  # fmt: skip
    assert ignored["c=US"] == "files above the partitions, which queries do not read: lost.parquet"
    assert ignored["c=JP/e=1"] == "the directory is not named d=…"
    assert len(fetched) == 8 + 10
    hidden, deeper = answer.warnings
    assert all(name in hidden for name in (".hive-staging", "_temporary", "_d"))
    assert deeper.endswith("c=IT/d=1/e=9.")
    assert names(session) == []
    session.execute("MSCK REPAIR TABLE e")
    assert len(names(session)) == 8
    assert {row[1] for row in rows(session, "MSCK TABLE e")} == {"ignored"}


def test_two_directories_of_one_partition(session: Session, folder: Path) -> None:
    make(folder, "c=US/d=1", "c=US/d=01", "C=US/d=2", "c=US/d=2", "c=/d=3", f"c={NULL}/d=3", "c=DE/d=1")
    assert statuses(session, "MSCK REPAIR TABLE e", folder) == [
        ("c=DE/d=1", "added", "c=DE/d=1"),
        ("c=US/d=1", "ambiguous", "c=US/d=01"),
        ("c=US/d=1", "ambiguous", "c=US/d=1"),
        ("c=US/d=2", "ambiguous", "C=US/d=2"),
        ("c=US/d=2", "ambiguous", "c=US/d=2"),
        (f"c={NULL}/d=3", "ambiguous", "c=/d=3"),
        (f"c={NULL}/d=3", "ambiguous", f"c={NULL}/d=3"),
    ]
    assert names(session) == ["c=DE/d=1"]
    (folder / "c=US" / "d=01").rmdir()
    assert ("c=US/d=1", "added", "c=US/d=1") in statuses(session, "MSCK REPAIR TABLE e", folder)
    # Rows of the other directory would not be read, and it is reported every time.
    make(folder, "c=US/d=001")
    assert ("c=US/d=1", "ambiguous", "c=US/d=001") in statuses(session, "MSCK TABLE e", folder)


def test_a_registered_partition_keeps_its_place(session: Session, folder: Path, tmp_path: Path) -> None:
    for directory, a in [(tmp_path / "other", 1), (folder / "c=US" / "d=1", 2), (folder / "C=DE" / "d=01", 3)]:
        fill(directory, a)
    session.execute(f"ALTER TABLE e ADD PARTITION (c='US', d=1) LOCATION '{tmp_path}/other'")
    session.execute(f"ALTER TABLE e ADD PARTITION (c='gone', d=1) LOCATION '{tmp_path}/gone'")
    assert statuses(session, "MSCK REPAIR TABLE e SYNC PARTITIONS", folder) == [
        ("c=DE/d=1", "added", "C=DE/d=01"),
        ("c=US/d=1", "ambiguous", "c=US/d=1"),
        ("c=gone/d=1", "dropped", "../gone"),
    ]
    assert rows(session, "SELECT * FROM e ORDER BY a") == [(1, "US", 1), (3, "DE", 1)]
    # Where it points through a link, it is the same directory.
    session.execute("ALTER TABLE e DROP PARTITION (c='US')")
    (tmp_path / "link").symlink_to(folder / "c=US" / "d=1")
    session.execute(f"ALTER TABLE e ADD PARTITION (c='US', d=1) LOCATION '{tmp_path}/link'")
    assert rows(session, "MSCK REPAIR TABLE e SYNC PARTITIONS") == []


def test_a_directory_that_was_renamed(session: Session, tmp_path: Path) -> None:
    session.execute(f"CREATE EXTERNAL TABLE days (n BIGINT) PARTITIONED BY (dt DATE) LOCATION '{tmp_path}/days'")
    session.execute("CREATE CUBE visits (n BIGINT MEASURE SUM, at TIMESTAMP TIME)")
    session.execute(
        "CREATE FACT all_visits OF CUBE visits STORED IN (TABLE days PERIOD DAILY PARTITIONED BY at AS (dt))"
    )
    session.execute("INSERT INTO days VALUES (1, DATE '2019-08-30'), (2, DATE '2019-08-31')")
    (tmp_path / "days" / "dt=2019-08-30").rename(tmp_path / "days" / "DT=2019-8-30")
    row, missing = rows(session, "MSCK REPAIR TABLE days")
    assert row[1] == "ambiguous"
    assert "which does not exist" in str(row[3])
    place = f"{tmp_path}/days/dt=2019-08-30"
    assert missing == ("dt=2019-08-30", "missing on disk", place, "SYNC PARTITIONS drops it")
    before = session.catalog.snapshot().sequence
    assert statuses(session, "MSCK REPAIR TABLE days SYNC PARTITIONS", tmp_path / "days") == [
        ("dt=2019-08-30", "added", "DT=2019-8-30"),
        ("dt=2019-08-30", "dropped", "dt=2019-08-30"),
    ]
    assert session.catalog.snapshot().sequence == before + 1
    query = "SELECT sum(n) FROM visits WHERE at >= '2019-08-30' AND at < '2019-09-01'"
    assert rows(session, query) == [(3,)]
    assert rows(session, "REFRESH TIMELINES OF all_visits") == []
    # A day that goes away is missed, and one that comes is seen.
    shutil.rmtree(tmp_path / "days" / "dt=2019-08-31")
    session.execute("MSCK REPAIR TABLE days DROP PARTITIONS")
    with pytest.raises(Error) as caught:
        session.execute(query)
    assert caught.value.condition == "MISSING_PARTITIONS"
    fill_days = pa.table({"n": pa.array([5], pa.int64())})
    (tmp_path / "days" / "dt=2019-08-31").mkdir()
    pq.write_table(fill_days, tmp_path / "days" / "dt=2019-08-31" / "data.parquet")
    session.execute("MSCK REPAIR TABLE days")
    assert rows(session, query) == [(6,)]
    assert rows(session, "REFRESH TIMELINES OF all_visits") == []


def test_only_directories_that_the_filter_leaves_are_listed(
    session: Session, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(folder, *(f"c={c}/d={d}" for c in "abcdefghijklm" for d in range(3)))
    listed: list[str] = []
    monkeypatch.setattr(partition_directories, "_entries", counted(partition_directories._entries, listed))
    reported = statuses(
        session, "MSCK TABLE e ADD PARTITIONS PARTITION (c IN ('b', 'd') AND d >= 1 OR c = 'f')", folder
    )
    assert [path for _, _, path in reported] == [
        "c=b/d=1",
        "c=b/d=2",
        "c=d/d=1",
        "c=d/d=2",
        "c=f/d=0",
        "c=f/d=1",
        "c=f/d=2",
    ]
    assert sorted({os.path.relpath(path, folder) for path in listed if "d=" not in path}) == [".", "c=b", "c=d", "c=f"]
    listed.clear()
    # Nothing is known of a later column before its level is reached.
    assert len(statuses(session, "MSCK TABLE e PARTITION (NOT d <> 2)", folder)) == 13
    session.execute("MSCK REPAIR TABLE e PARTITION (c > 'k')")
    assert len(names(session)) == 6
    # The filter is that of what is dropped, too.
    shutil.rmtree(folder)
    folder.mkdir()
    assert len(rows(session, "MSCK REPAIR TABLE e DROP PARTITIONS PARTITION (c = 'l')")) == 3
    assert len(names(session)) == 3


def counted(run, listed: list[str]):  # type: ignore[no-untyped-def]
    def counting(path: str) -> object:
        listed.append(path)
        return run(path)

    return counting


@pytest.mark.parametrize("action", ["ADD", "DROP", "SYNC"])
def test_what_may_not_be_read_stops_the_whole_statement(
    session: Session, folder: Path, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    make(folder, "c=a/d=1", "c=b/d=1")
    session.execute("ALTER TABLE e ADD PARTITION (c='x', d=1) PARTITION (c='y', d=1)")

    def refused(call, denied: Path):  # type: ignore[no-untyped-def]
        def run(path, *rest, **options):  # type: ignore[no-untyped-def]
            if str(path) == str(denied):
                raise PermissionError(13, "Permission denied", str(path))
            return call(path, *rest, **options)

        return run

    monkeypatch.setattr(partition_directories.os, "scandir", refused(os.scandir, folder / "c=b"))
    monkeypatch.setattr(partition_directories.os, "stat", refused(os.stat, folder / "c=x" / "d=1"))
    with pytest.raises(OperationalError) as caught:
        session.execute(f"MSCK REPAIR TABLE e {action} PARTITIONS")
    assert (caught.value.condition, caught.value.sqlstate) == ("FAILED_READ_FILE", "KD001")
    assert "Permission denied" in caught.value.message
    assert caught.value.position is not None
    monkeypatch.undo()
    assert names(session) == ["c=x/d=1", "c=y/d=1"]


def test_a_table_without_its_directory_keeps_its_partitions(session: Session, folder: Path) -> None:
    make(folder, "c=a/d=1")
    session.execute("MSCK REPAIR TABLE e")
    shutil.rmtree(folder)
    for action in ("DROP", "SYNC"):
        with pytest.raises(OperationalError) as caught:
            session.execute(f"MSCK REPAIR TABLE e {action} PARTITIONS")
        assert (caught.value.condition, caught.value.sqlstate) == ("PATH_NOT_FOUND", "42K03")
    assert names(session) == ["c=a/d=1"]
    folder.mkdir()
    session.execute("MSCK REPAIR TABLE e DROP PARTITIONS")
    assert names(session) == []


@pytest.mark.parametrize("other", ["MSCK REPAIR TABLE e", "ALTER TABLE e ADD PARTITION (c='a', d=1)"])
def test_two_repairs_at_once(
    session: Session, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    make(folder, "c=a/d=1", "c=b/d=1")
    listing = repair_table.list_directories

    def interrupted(*arguments):  # type: ignore[no-untyped-def]
        monkeypatch.undo()
        with Session(tmp_path / "warehouse", "duckdb") as another:
            another.execute(other)
        return listing(*arguments)

    monkeypatch.setattr(repair_table, "list_directories", interrupted)
    added = [row[0] for row in rows(session, "MSCK REPAIR TABLE e")]
    assert added == ([] if other.startswith("MSCK") else ["c=b/d=1"])
    assert names(session) == ["c=a/d=1", "c=b/d=1"]


def test_a_table_that_was_dropped_meanwhile(
    session: Session, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(folder, "c=a/d=1")
    listing = repair_table.list_directories

    def interrupted(*arguments):  # type: ignore[no-untyped-def]
        with Session(tmp_path / "warehouse", "duckdb") as another:
            another.execute("DROP TABLE IF EXISTS e")
        return listing(*arguments)

    monkeypatch.setattr(repair_table, "list_directories", interrupted)
    with pytest.raises(AnalysisError) as caught:
        session.execute("MSCK REPAIR TABLE e")
    assert caught.value.condition == "TABLE_OR_VIEW_NOT_FOUND"


_INT = re.compile(r"\s*[+-]?[0-9]+\s*")


@pytest.mark.parametrize("seed", range(8))
def test_random_directories(session: Session, folder: Path, seed: int) -> None:
    """After a repair exactly those partitions are there that one directory names, and their rows are read."""
    rng = random.Random(seed)
    spellings = ["1", "01", "+1", "2", "-2", " 3", "x", "", "null", NULL, "%31", "4.0", "%C3%A9", "007", "7"]
    tree: dict[str, int] = {}
    for number in range(60):
        level = f"{rng.choice('cC')}={rng.choice(['a', 'A', 'b', NULL, '', 'é', '%C3%A9'])}/"
        level += f"{rng.choice('dD')}={rng.choice(spellings)}"
        if level not in tree:
            tree[level] = number
            fill(folder / level, number)
    named = {level: name for level in tree if (name := model(level)) is not None}
    times = Counter(named.values())
    once = {level: name for level, name in named.items() if times[name] == 1}
    answer = statuses(session, "MSCK REPAIR TABLE e", folder)
    note = f"seed {seed}"
    assert {path for _, status, path in answer if status == "added"} == set(once), note
    assert {path for _, status, path in answer if status == "ambiguous"} == set(named) - set(once), note
    assert {path for _, status, path in answer if status == "ignored"} == set(tree) - set(named), note
    assert rows(session, "SELECT * FROM e ORDER BY a") == sorted((tree[at], *name) for at, name in once.items()), note
    for level in rng.sample(sorted(once), len(once) // 2):
        shutil.rmtree(folder / level)
        del once[level]
    session.execute("MSCK REPAIR TABLE e SYNC PARTITIONS")
    left = sorted((tree[at], *name) for at, name in once.items())
    assert rows(session, "SELECT * FROM e ORDER BY a") == left, note


def model(level: str) -> tuple[str | None, int | None] | None:
    """Computes the partition of a directory without the code under test."""
    c, d = (part.partition("=")[2] for part in level.split("/"))
    c, d = c.replace("%C3%A9", "é"), d.replace("%31", "1").replace("%C3%A9", "é")
    if d in ("", NULL, "null"):
        number = None
    elif _INT.fullmatch(d):
        number = int(d)
    else:
        return None
    return (None if c in ("", NULL) else c, number)


def test_random_filters_find_what_the_catalog_finds(session: Session, folder: Path) -> None:
    """A filter on directories is tested level by level, one on the catalog by ranges of keys."""
    rng = random.Random(5)
    for c in ("a", "B", "b", "ab", NULL):
        for d in ("-3", "0", "2", "10", NULL):
            fill(folder / f"c={c}" / f"d={d}", len(c))
    session.execute("MSCK REPAIR TABLE e")
    session.execute(
        f"CREATE EXTERNAL TABLE f (a INT) PARTITIONED BY (c STRING, d INT) LOCATION '{folder}' "
        "TBLPROPERTIES ('rewriter.partitions' = 'discovered', 'rewriter.shared_location' = 'true')"
    )
    some = 0
    for _ in range(150):
        condition = random_filter(rng, 3)
        listed = names(session, f"e WHERE {condition}")
        assert names(session, f"f WHERE {condition}") == listed, condition
        # The words of a partition's name, NULL left out, mean in MSCK what they mean here.
        with_null = rows(session, f"MSCK TABLE e ADD PARTITIONS PARTITION ({condition})")
        assert with_null == [], condition
        some += 0 < len(listed) < 25
    assert some > 50
    query = "SELECT c, d FROM {} WHERE d > 0 OR c LIKE 'a%' ORDER BY c, d"
    assert rows(session, query.format("f")) == rows(session, query.format("e"))


def random_filter(rng: random.Random, depth: int) -> str:
    if depth and rng.random() < 0.6:
        word = rng.choice([" AND ", " OR "])
        parts = (f"({random_filter(rng, depth - 1)})" for _ in range(rng.randint(2, 3)))
        return f"{'NOT ' * (rng.random() < 0.3)}({word.join(parts)})"
    number, text, op = (
        rng.randint(-4, 11),
        rng.choice(["a", "B", "ab", "c"]),
        rng.choice(["=", "<>", "<", "<=", ">", ">="]),
    )
    return rng.choice(
        [
            f"d {op} {number}",
            f"c {op} '{text}'",
            f"d IN ({number}, 2)",
            f"c NOT IN ('{text}', 'b')",
            f"d BETWEEN {number} AND 5",
            f"c LIKE '{text}%'",
            f"NOT c LIKE '%{text}'",
            "c IS NULL",
            "d IS NOT NULL",
        ]
    )


def test_a_column_whose_name_is_escaped(session: Session, tmp_path: Path) -> None:
    session.execute(f"CREATE EXTERNAL TABLE n (a INT) PARTITIONED BY (`é:x` INT) LOCATION '{tmp_path}/n'")
    for level, a in [("%C3%A9%3Ax=1", 1), ("é%3Ax=2", 2), ("É:X=3", 3)]:
        fill(tmp_path / "n" / level, a)
    assert {row[1] for row in rows(session, "MSCK REPAIR TABLE n")} == {"added"}
    session.execute("INSERT INTO n VALUES (4, 4)")
    assert rows(session, "SELECT * FROM n ORDER BY a") == [(1, 1), (2, 2), (3, 3), (4, 4)]


def test_properties_of_directories_stay_as_they_were_created(session: Session, folder: Path) -> None:
    for sql in (
        "ALTER TABLE e SET TBLPROPERTIES ('x' = 'y', 'rewriter.directories' = 'values')",
        "ALTER TABLE e SET TBLPROPERTIES ('Rewriter.Partitions' = 'discovered')",
    ):
        with pytest.raises(AnalysisError) as caught:
            session.execute(sql)
        assert caught.value.condition == "INVALID_DIRECTORY_PROPERTY"
        assert caught.value.position is not None
    # A change without effect is not an error.
    session.execute("ALTER TABLE e SET TBLPROPERTIES ('rewriter.directories' = 'NAMES')")
    session.execute("ALTER TABLE e UNSET TBLPROPERTIES ('rewriter.directories', 'rewriter.partitions')")
    assert session.catalog.snapshot().table("e").properties == {}


def test_thousands_of_directories(session: Session, folder: Path) -> None:
    make(folder, *(f"c={c}/d={d}" for c in range(40) for d in range(50)))
    assert len(rows(session, "MSCK REPAIR TABLE e")) == 2000
    assert len(names(session)) == 2000
    assert rows(session, "MSCK TABLE e") == []
    shutil.rmtree(folder / "c=7")
    assert len(rows(session, "MSCK REPAIR TABLE e SYNC PARTITIONS")) == 50
    assert len(names(session)) == 1950


class TestDiscovered:
    @pytest.fixture
    def directory(self, session: Session, tmp_path: Path) -> Path:
        directory = tmp_path / "found"
        session.execute(
            f"CREATE EXTERNAL TABLE f (a INT) PARTITIONED BY (c STRING, d INT) LOCATION '{directory}' "
            "TBLPROPERTIES ('rewriter.partitions' = 'discovered')"
        )
        return directory

    def test_each_statement_looks_anew_and_once(
        self, session: Session, directory: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        directory.mkdir()
        assert rows(session, "SELECT * FROM f") == []
        for c in "abcd":
            for d in range(3):
                fill(directory / f"c={c}" / f"d={d}", d)
        listed: list[str] = []
        monkeypatch.setattr(partition_directories, "_entries", counted(partition_directories._entries, listed))
        answer = session.execute(
            "SELECT x.c, y.a FROM f x JOIN f y ON x.c = y.c WHERE x.c = 'b' AND y.c = 'b' AND x.d = 2"
        )
        assert sorted(answer.fetch()) == [("b", 0), ("b", 1), ("b", 2)]
        assert sorted(os.path.relpath(path, directory) for path in listed) == [".", "c=b"]
        shutil.rmtree(directory / "c=b")
        assert len(rows(session, "SELECT * FROM f")) == 9
        assert rows(session, "SELECT a FROM f WHERE false") == []

    def test_nothing_is_registered(self, session: Session, directory: Path) -> None:
        session.execute("INSERT INTO f VALUES (1, 'x', 1)")
        table = session.catalog.snapshot().table("f")
        assert session.catalog.snapshot().partitions(table) == ()
        for sql in ("ALTER TABLE f ADD PARTITION (c='y', d=1)", "ALTER TABLE f DROP PARTITION (c='x')"):
            with pytest.raises(NotSupportedError) as caught:
                session.execute(sql)
            assert (caught.value.condition, caught.value.sqlstate) == ("DISCOVERED_PARTITIONS", "0A000")
            assert caught.value.position is not None
        assert rows(session, "MSCK REPAIR TABLE f SYNC PARTITIONS") == []
        assert rows(session, "SELECT * FROM f") == [(1, "x", 1)]
        session.execute("DROP TABLE f PURGE")
        assert len(list(directory.rglob("*.parquet"))) == 1

    def test_what_is_no_partition_is_an_error(self, session: Session, directory: Path) -> None:
        fill(directory / "c=x" / "d=1", 1)
        fill(directory / "c=x" / "d=y", 2)
        for sql in ("SELECT * FROM f", "SHOW PARTITIONS f", "INSERT INTO f VALUES (1, 'x', 1)"):
            with pytest.raises(OperationalError) as caught:
                session.execute(sql)
            assert caught.value.condition == "INVALID_PARTITION_DIRECTORY"
            assert caught.value.position is not None
        assert rows(session, "SELECT a FROM f WHERE c = 'other'") == []
        (directory / "c=x" / "d=y").rename(directory / "c=x" / "_d")
        assert rows(session, "SELECT * FROM f") == [(1, "x", 1)]

    def test_a_failing_insert_leaves_no_partition(self, session: Session, directory: Path) -> None:
        session.execute("SET rewriter.max_dynamic_partitions = 1")
        with pytest.raises(OperationalError):
            session.execute("INSERT INTO f VALUES (1, 'x', 1), (2, 'y', 2)")
        assert names(session, "f") == []

    def test_none_of_them_moves_by_a_statement(self, session: Session, directory: Path, folder: Path) -> None:
        session.execute("INSERT INTO f VALUES (1, 'x', 1)")
        session.execute("INSERT INTO e VALUES (2, 'y', 2)")
        for sql in (
            "ALTER TABLE f PARTITION (c = 'x', d = 1) RENAME TO PARTITION (c = 'z', d = 1)",
            "ALTER TABLE f PARTITION (c = 'x', d = 1) SET LOCATION 'elsewhere'",
            "ALTER TABLE f PARTITION (c = 'x', d = 1) SET SERDEPROPERTIES ('serialization.format' = '1')",
            "ALTER TABLE f EXCHANGE PARTITION (c = 'y') WITH TABLE e",
            "ALTER TABLE e EXCHANGE PARTITION (c = 'x') WITH TABLE f",
        ):
            with pytest.raises(NotSupportedError) as caught:
                session.execute(sql)
            assert caught.value.condition == "DISCOVERED_PARTITIONS", sql
            assert caught.value.position is not None
        assert rows(session, "SELECT * FROM f") == [(1, "x", 1)]
        assert rows(session, "SELECT * FROM e") == [(2, "y", 2)]

    def test_one_of_them_is_described(self, session: Session, directory: Path) -> None:
        session.execute("INSERT INTO f VALUES (1, 'x', 1)")
        spec = "PARTITION (c = 'x', d = '01')"
        assert rows(session, f"DESCRIBE f {spec}")[0] == ("a", "int", None)
        described = rows(session, f"DESCRIBE EXTENDED f {spec}")
        assert {("Partition Values", "[c=x, d=1]", ""), ("Location", f"{directory}/c=x/d=1", "")} <= set(described)
        ((_, _, _, text),) = rows(session, f"SHOW TABLE EXTENDED LIKE 'f' {spec}")
        assert f"Location: {directory}/c=x/d=1\n" in str(text)
        with pytest.raises(AnalysisError) as caught:
            session.execute("DESCRIBE f PARTITION (c = 'x', d = 2)")
        assert caught.value.condition == "PARTITIONS_NOT_FOUND"


class TestValueDirectories:
    def test_no_value_leaves_the_table(self, session: Session, tmp_path: Path) -> None:
        directory = tmp_path / "values"
        session.execute(
            f"CREATE EXTERNAL TABLE v (a INT) PARTITIONED BY (c STRING, d STRING) LOCATION '{directory}' "
            "TBLPROPERTIES ('rewriter.directories' = 'values')"
        )
        texts = ["..", ".", "/", "../..", "_x", ".x", "a=b", "%2E%2E", NULL[:-1], "~"]
        values = ", ".join(f"({number}, '{text}', '{text}')" for number, text in enumerate(texts))
        session.execute(f"INSERT INTO v VALUES {values}, (100, NULL, 'x')")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["values", "warehouse"]
        assert all(len(file.relative_to(directory).parts) == 3 for file in directory.rglob("*.parquet"))
        expected = [*((number, text, text) for number, text in enumerate(texts)), (100, None, "x")]
        assert rows(session, "SELECT * FROM v ORDER BY a") == expected
        session.execute("ALTER TABLE v DROP PARTITION (d <> 'none')")
        assert {row[1] for row in rows(session, "MSCK REPAIR TABLE v")} == {"added"}
        assert rows(session, "SELECT * FROM v ORDER BY a") == expected
        table = session.catalog.snapshot().table("v")
        assert all(partition.location is None for partition in session.catalog.snapshot().partitions(table))

    def test_a_value_as_it_is_spelled(self, session: Session, tmp_path: Path) -> None:
        for spelled, a in [("2019-8-30/china", 1), ("2019-08-31/china", 2), ("2019-8-31/china", 3)]:
            fill(tmp_path / "views" / spelled, a)
        session.execute(
            f"CREATE EXTERNAL TABLE v (a INT) PARTITIONED BY (date DATE, country STRING) LOCATION '{tmp_path}/views' "
            "TBLPROPERTIES ('rewriter.directories' = 'values')"
        )
        session.execute("ALTER TABLE v ADD PARTITION (country='china', date='2019-8-30')")
        with pytest.raises(IntegrityError):
            session.execute("ALTER TABLE v ADD PARTITION (country='china', date='2019-08-30')")
        # The default directory comes first where it is there.
        session.execute("ALTER TABLE v ADD PARTITION (date='2019-8-31', country='china')")
        assert rows(session, "SELECT a FROM v ORDER BY a") == [(1,), (2,)]
