"""RENAME COLUMN and DROP COLUMN: files of any age are read right, and values of a dropped column never come back."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from rewriter.catalog.catalog import Catalog
from rewriter.catalog.maintenance.dump import dump
from rewriter.catalog.model.objects import Table
from rewriter.errors import ConflictError, Error
from rewriter.exec.duckdb import engine
from rewriter.exec.engine import EngineQuery, Relation, Write, WrittenFile
from rewriter.session import Session

Plant = Callable[[pytest.MonkeyPatch], None]

#: Formats whose files name their columns.
NAMING = ("parquet", "csv", "json", "orc", "avro")


@pytest.fixture
def session(tmp_path: Path, catalog_url: str | None) -> Iterator[Session]:
    with Session(tmp_path / "w", "duckdb", catalog=catalog_url) as opened:
        yield opened


def rows(session: Session, statement: str) -> list[tuple[object, ...]]:
    return list(session.execute(statement).rows())


@dataclass
class Model:
    """A table as it should be: the names of its columns by their identity, in order, and rows by partition."""

    names: dict[int, str] = field(default_factory=dict)
    partitions: dict[str, list[dict[int, object]]] = field(default_factory=dict)
    made: int = 0

    def add(self, name: str) -> None:
        self.names[self.made] = name
        self.made += 1

    def identity(self, name: str) -> int:
        return next(number for number, own in self.names.items() if own == name)

    def rows(self) -> list[str]:
        return sorted(
            str((*(row.get(number) for number in self.names), partition))
            for partition, partition_rows in self.partitions.items()
            for row in partition_rows
        )

    def columns(self) -> str:
        return ", ".join(self.names.values())


@dataclass
class History:
    """A random history of one table ``t`` of integers beside its model."""

    session: Session
    source: random.Random
    format: str
    model: Model = field(default_factory=Model)
    said: list[str] = field(default_factory=list)

    def run(self, statement: str) -> None:
        self.said.append(statement)
        self.session.execute(statement)

    def create(self) -> None:
        for name in "abc":
            self.model.add(name)
        packed = self.source.choice(("true", "false"))
        properties = f" TBLPROPERTIES ('rewriter.packed' = '{packed}')" if self.format == "parquet" else ""
        columns = ", ".join(f"{name} BIGINT" for name in self.model.names.values())
        self.run(f"CREATE TABLE t ({columns}) PARTITIONED BY (p STRING) STORED AS {self.format}{properties}")

    def step(self) -> None:
        choices = [self.insert, self.insert, self.overwrite, self.compact, self.analyze]
        if self.free():
            choices += [self.rename, self.rename, self.add]
        if len(self.model.names) > 1:
            choices += [self.drop]
        self.source.choice(choices)()

    def _new_rows(self) -> list[tuple[str, dict[int, object]]]:
        return [
            (
                self.source.choice("xyz"),
                {n: self.source.choice((None, self.source.randrange(1000))) for n in self.model.names},
            )
            for _ in range(self.source.randint(1, 4))
        ]

    def _values(self, new: list[tuple[str, dict[int, object]]]) -> str:
        texts = [", ".join("NULL" if v is None else str(v) for v in row.values()) for _, row in new]
        return ", ".join(f"({text}, '{p}')" for text, (p, _) in zip(texts, new, strict=True))

    def insert(self) -> None:
        new = self._new_rows()
        self.run(f"INSERT INTO t VALUES {self._values(new)}")
        for partition, row in new:
            self.model.partitions.setdefault(partition, []).append(row)

    def overwrite(self) -> None:
        new = self._new_rows()
        self.run(f"INSERT OVERWRITE t VALUES {self._values(new)}")
        for partition in {partition for partition, _ in new}:
            self.model.partitions[partition] = [row for own, row in new if own == partition]

    def free(self) -> list[str]:
        """Returns the names that no column has, in both cases."""
        used = {name.lower() for name in self.model.names.values()}
        return [name for name in "abcdeABCDE" if name.lower() not in used]

    def rename(self) -> None:
        name, to = self.source.choice(list(self.model.names.values())), self.source.choice(self.free())
        self.run(f"ALTER TABLE t RENAME COLUMN {name} TO {to}")
        self.model.names[self.model.identity(name)] = to

    def add(self) -> None:
        name = self.source.choice(self.free())
        self.run(f"ALTER TABLE t ADD COLUMNS ({name} BIGINT)")
        self.model.add(name)

    def drop(self) -> None:
        name = self.source.choice(list(self.model.names.values()))
        self.run(f"ALTER TABLE t DROP COLUMN {name}")
        del self.model.names[self.model.identity(name)]

    def compact(self) -> None:
        self.run("ALTER TABLE t COMPACT")
        self.session.execute("SET rewriter.least_retention_hours = 0")
        self.run("VACUUM RETAIN 0 HOURS")

    def analyze(self) -> None:
        self.run("ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS")

    def go_on(self, steps: int) -> None:
        for _ in range(steps):
            self.step()
            self.check()

    def check(self) -> None:
        shown = "\n".join(self.said)
        selected = f"SELECT {self.model.columns()}, p FROM t"
        assert sorted(map(str, rows(self.session, selected))) == self.model.rows(), shown
        assert sorted(map(str, rows(self.session, "SELECT * FROM t"))) == self.model.rows(), shown
        name = self.source.choice(list(self.model.names.values()))
        number = self.model.identity(name)
        values = [row.get(number) for own in self.model.partitions.values() for row in own]
        kept = [value for value in values if isinstance(value, int)]
        # These aggregates come from footers where there are any, and the filter is one that statistics prune.
        expected = (len(values), len(kept), min(kept, default=None), max(kept, default=None))
        assert rows(self.session, f"SELECT COUNT(*), COUNT({name}), MIN({name}), MAX({name}) FROM t") == [expected], (
            shown
        )
        least = self.source.randrange(1000)
        ((found,),) = rows(self.session, f"SELECT COUNT(*) FROM t WHERE {name} >= {least}")
        assert found == sum(value >= least for value in kept), shown
        figures = {str(row[0]): row[1] for row in rows(self.session, f"DESCRIBE EXTENDED t {name}")}
        if figures.get("num_nulls", "NULL") != "NULL":
            assert figures["num_nulls"] == str(values.count(None)), shown


@pytest.mark.parametrize("seed", range(10))
def test_random_histories_read_every_file_right(tmp_path: Path, seed: int) -> None:
    source = random.Random(seed)
    with Session(tmp_path / "w", "duckdb") as session:
        history = History(session, source, NAMING[seed % len(NAMING)])
        history.create()
        for number in range(24):
            history.step()
            if number % 4 == 3:
                history.check()
        lines = list(dump(session.catalog.database, session.catalog.warehouse))
    for name in (tmp_path / "w").glob("catalog.db*"):
        name.unlink()
    Catalog.restore(tmp_path / "w", None, lines)
    with Session(tmp_path / "w", "duckdb") as session:
        restored = replace(history, session=session)
        restored.check()
        for _ in range(5):
            restored.step()
        restored.check()


@pytest.mark.spark
@pytest.mark.parametrize("format", NAMING)
def test_spark_reads_and_writes_the_same_files(tmp_path: Path, spark: object, format: str) -> None:
    with Session(tmp_path / "w", "duckdb") as duckdb, Session(tmp_path / "w", spark) as on_spark:
        history = History(duckdb, random.Random(format), format)
        history.create()
        for number in range(12):
            history.session = (duckdb, on_spark)[number % 3 == 1]
            history.step()
        history.rename()
        history.session = on_spark
        history.insert()
        history.check()
        history.session = duckdb
        history.check()


def plant_reader_by_name(patch: pytest.MonkeyPatch) -> None:
    """An engine looks for the new name in old files."""
    patch.setattr(Relation, "as_stored", lambda relation: relation)


def plant_writer_by_name(patch: pytest.MonkeyPatch) -> None:
    """A write gives the file of a renamed column its new name."""
    written = engine.DuckDBEngine.write

    def write(self: engine.DuckDBEngine, query: EngineQuery, target: Write) -> tuple[WrittenFile, ...]:
        columns = tuple(replace(column, stored=None) for column in target.columns)
        return written(self, query, replace(target, columns=columns))

    patch.setattr(engine.DuckDBEngine, "write", write)


def plant_used_name(patch: pytest.MonkeyPatch) -> None:
    """A new column gets the name of a dropped one in files."""
    patch.setattr(Table, "with_free_stored_name", lambda _table, column: column)


@pytest.mark.parametrize("plant", [plant_reader_by_name, plant_writer_by_name, plant_used_name])
def test_planted_faults_are_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: Plant) -> None:
    plant(monkeypatch)
    with Session(tmp_path / "w", "duckdb") as session:
        history = History(session, random.Random(3), "parquet")
        history.create()
        history.insert()
        with pytest.raises((AssertionError, Error)):
            history.go_on(60)


def test_names_can_be_swapped(session: Session) -> None:
    session.execute("CREATE TABLE t (a BIGINT, b BIGINT)")
    session.execute("INSERT INTO t VALUES (1, 2)")
    for old, new in (("a", "x"), ("b", "a"), ("x", "b")):
        session.execute(f"ALTER TABLE t RENAME COLUMN {old} TO {new}")
    session.execute("INSERT INTO t (a, b) VALUES (20, 10)")
    assert sorted(rows(session, "SELECT a, b FROM t")) == [(2, 1), (20, 10)]
    session.execute("ALTER TABLE t RENAME COLUMN a TO A")
    assert rows(session, "DESCRIBE t")[1][0] == "A"


def test_an_older_snapshot_reads_by_the_older_name(session: Session, catalog_url: str | None) -> None:
    session.execute("CREATE TABLE t (a BIGINT)")
    session.execute("INSERT INTO t VALUES (1)")
    with Session(session.catalog.warehouse, "duckdb", catalog=catalog_url) as reader:
        reader.execute("START TRANSACTION")
        assert rows(reader, "SELECT a FROM t") == [(1,)]
        session.execute("ALTER TABLE t RENAME COLUMN a TO b")
        session.execute("INSERT INTO t VALUES (2)")
        assert rows(reader, "SELECT a FROM t") == [(1,)]
        reader.execute("ROLLBACK")
        assert sorted(rows(reader, "SELECT b FROM t")) == [(1,), (2,)]


@pytest.mark.parametrize("change", ["RENAME COLUMN a TO c", "DROP COLUMN b"])
def test_a_write_that_began_before_is_a_conflict(session: Session, catalog_url: str | None, change: str) -> None:
    session.execute("CREATE TABLE t (a BIGINT, b BIGINT)")
    with Session(session.catalog.warehouse, "duckdb", catalog=catalog_url) as writer:
        writer.execute("START TRANSACTION")
        writer.execute("INSERT INTO t VALUES (1, 2)")
        session.execute(f"ALTER TABLE t {change}")
        if "DROP" in change:
            session.execute("ALTER TABLE t ADD COLUMNS (b BIGINT)")  # Another column with the same name and type.
        with pytest.raises(ConflictError, match="altered the columns"):
            writer.execute("COMMIT")


def test_partitions_of_files_with_other_names_are_not_exchanged(session: Session) -> None:
    for name in ("s", "t"):
        session.execute(f"CREATE TABLE {name} (a BIGINT, b BIGINT) PARTITIONED BY (p STRING)")
    session.execute("INSERT INTO s VALUES (1, 2, 'x')")
    session.execute("ALTER TABLE s DROP COLUMN b")
    session.execute("ALTER TABLE t DROP COLUMN a")
    session.execute("ALTER TABLE t RENAME COLUMN b TO a")
    with pytest.raises(Error, match="their files have other names for them") as caught:
        session.execute("ALTER TABLE t EXCHANGE PARTITION (p = 'x') WITH TABLE s")
    assert caught.value.condition == "TABLES_INCOMPATIBLE_SCHEMAS"


def test_files_are_not_loaded_under_other_names(session: Session, tmp_path: Path) -> None:
    session.execute("CREATE TABLE s (a BIGINT, b BIGINT)")
    session.execute("INSERT INTO s VALUES (1, 2)")
    (path,) = (tmp_path / "w").glob("s-*/**/*.parquet")
    session.execute("CREATE TABLE t (a BIGINT, b BIGINT)")
    for old, new in (("a", "x"), ("b", "a"), ("x", "b")):
        session.execute(f"ALTER TABLE t RENAME COLUMN {old} TO {new}")
    with pytest.raises(Error, match="has another name in its files") as caught:
        session.execute(f"LOAD DATA INPATH '{path}' INTO TABLE t")
    assert caught.value.hint is not None
    session.execute("CREATE TABLE u LIKE t")
    session.execute("INSERT INTO u SELECT * FROM t")
    session.execute("INSERT INTO u VALUES (1, 2)")
    assert rows(session, "SELECT b, a FROM u") == [(1, 2)]


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("statement", "condition", "message"),
    [
        ("RENAME COLUMN x TO y", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "The table t has no column x."),
        ("RENAME COLUMN a TO B", "COLUMN_ALREADY_EXISTS", "The column B already exists"),
        ("RENAME COLUMN a TO p", "COLUMN_ALREADY_EXISTS", "The column p already exists"),
        ("RENAME COLUMN a TO rewriter_write_id", "RESERVED_COLUMN_NAME", "The name rewriter_write_id is reserved"),
        ("RENAME COLUMN p TO q", "UNSUPPORTED", "The column p of t cannot be renamed: the directories of its"),
        ("RENAME COLUMN b TO c", "COLUMN_IN_USE", "The view w reads t and names b."),
        ("DROP COLUMN b", "COLUMN_IN_USE", "The view w reads t and names b."),
        ("DROP COLUMNS (a, A)", "COLUMN_ALREADY_EXISTS", "The column a already exists"),
        ("DROP COLUMNS (a, b)", "UNSUPPORTED", "The column a of t cannot be dropped: a table has at least one"),
        ("DROP COLUMN p", "UNSUPPORTED", "The column p of t cannot be dropped: the directories of its"),
        ("CHANGE COLUMN a c BIGINT", "UNSUPPORTED", "The column a bigint of t cannot become c bigint"),
    ],
)
def test_what_is_refused_changes_nothing(session: Session, statement: str, condition: str, message: str) -> None:
    session.execute("CREATE TABLE t (a BIGINT, b BIGINT) PARTITIONED BY (p STRING)")
    session.execute("CREATE VIEW v AS SELECT * FROM t")
    session.execute("CREATE VIEW w AS SELECT b FROM v")
    before = rows(session, "SHOW CREATE TABLE t")
    with pytest.raises(Error) as caught:
        session.execute(f"ALTER TABLE t {statement}")
    assert caught.value.message.startswith(message)
    assert caught.value.condition == condition
    assert caught.value.position is not None
    assert caught.value.hint
    assert rows(session, "SHOW CREATE TABLE t") == before


@pytest.mark.parametrize(
    ("view", "message"),
    [
        ("SELECT `a.b` AS z FROM t", "The view v reads t and names a.b"),
        ("SELECT b FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = q)", "The view v reads t and names q"),
        ("SELECT COUNT(*) AS n FROM t NATURAL JOIN u", "The view v reads t and has a NATURAL JOIN"),
    ],
)
def test_names_that_would_mean_other_columns_in_views(session: Session, view: str, message: str) -> None:
    session.execute("CREATE TABLE t (`a.b` INT, b INT)")
    session.execute("CREATE TABLE u (k INT, q INT)")
    session.execute(f"CREATE VIEW v AS {view}")
    with pytest.raises(Error, match=message) as caught:
        session.execute("ALTER TABLE t RENAME COLUMN `a.b` TO q")
    assert caught.value.condition == "COLUMN_IN_USE"
    session.execute("DROP VIEW v")
    session.execute("ALTER TABLE t RENAME COLUMN `a.b` TO q")


def test_text_files_have_no_names(session: Session, tmp_path: Path) -> None:
    session.execute("CREATE TABLE t (a BIGINT, b BIGINT) STORED AS TEXTFILE")
    session.execute("INSERT INTO t VALUES (1, 2)")
    session.execute("ALTER TABLE t RENAME COLUMN a TO c")
    assert rows(session, "SELECT c, b FROM t") == [(1, 2)]
    with pytest.raises(Error, match="have values without names"):
        session.execute("ALTER TABLE t DROP COLUMN c")
    session.execute(f"CREATE EXTERNAL TABLE e (a BIGINT, b BIGINT) LOCATION '{tmp_path / 'e'}'")
    for change in ("RENAME COLUMN a TO c", "DROP COLUMN a"):
        with pytest.raises(Error, match="other programs write the files of an external table"):
            session.execute(f"ALTER TABLE e {change}")
