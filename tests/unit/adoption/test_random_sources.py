"""Random catalogs, served as metastores, equal their imports; and again after random changes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from imported import commits, imported, importing, picture, served

from rewriter.errors import Error
from rewriter.metastore.adoption.follow import Follower
from rewriter.session import Session

_TYPES = ("INT", "STRING", "DECIMAL(10,2)", "DATE", "ARRAY<STRING>", "MAP<STRING, BIGINT>", "STRUCT<a: INT, b: DOUBLE>")
_KEYS = {
    "STRING": ("a", "a b", "x/y", "100%", "k=v", "ä", "'q'", "__x", ".", "..", "A", "%41", "#", "é:*?"),
    "INT": ("0", "-7", "2147483647"),
    "DATE": ("2026-01-01", "1969-12-31"),
    "BOOLEAN": ("true", "false"),
    "DECIMAL(4,1)": ("1.5", "-0.1"),
}
_FORMATS = ("PARQUET", "ORC", "TEXTFILE")


class _Author:
    """Writes random statements for one warehouse."""

    def __init__(self, rng: random.Random, folder: Path) -> None:
        self._rng, self._folder = rng, folder
        self._tables: dict[str, list[str]] = {}
        self._databases = ["default"]
        self._number = 0

    def statement(self) -> str:
        choices = [self._create_table, self._create_database]
        if self._tables:
            choices += [self._add, self._add, self._add, self._drop_partition, self._property, self._comment]
            choices += [self._add_column, self._move_partition, self._move_table, self._drop_table]
        return self._rng.choice(choices)()

    def _fresh(self, prefix: str) -> str:
        self._number += 1
        return f"{prefix}{self._number}"

    def _name(self, prefix: str) -> str:
        return f"{self._rng.choice(self._databases)}.{self._fresh(prefix)}"

    def _place(self) -> str:
        return f"{self._folder}/{self._fresh('place ')}"

    def _create_database(self) -> str:
        name = self._fresh("db")
        self._databases.append(name)
        return f"CREATE DATABASE {name} COMMENT 'comment of {name}'"

    def _create_table(self) -> str:
        rng, name = self._rng, self._name("t")
        keys = [rng.choice(list(_KEYS)) for _ in range(rng.randrange(3))]
        self._tables[name] = keys
        columns = ", ".join(f"c{index} {rng.choice(_TYPES)}" for index in range(rng.randint(1, 4)))
        partitioned = ", ".join(f"k{index} {type}" for index, type in enumerate(keys))
        return (
            f"CREATE EXTERNAL TABLE {name} ({columns}) {f'PARTITIONED BY ({partitioned})' if keys else ''} "
            f"STORED AS {rng.choice(_FORMATS)} LOCATION '{self._place()}'"
        )

    def _table(self) -> str:
        return self._rng.choice(sorted(self._tables))

    def _spec(self, table: str) -> str:
        rng, parts = self._rng, []
        for index, type in enumerate(self._tables[table]):
            value = rng.choice(_KEYS[type])
            text = "NULL" if rng.random() < 0.1 else "'" + value.replace("'", "\\'") + "'"
            parts.append(f"k{index} = {text}")
        return f"PARTITION ({', '.join(parts)})"

    def _add(self) -> str:
        table = self._table()
        place = f" LOCATION '{self._place()}'" if self._rng.random() < 0.3 else ""
        return f"ALTER TABLE {table} ADD IF NOT EXISTS {self._spec(table)}{place}"

    def _drop_partition(self) -> str:
        table = self._table()
        return f"ALTER TABLE {table} DROP IF EXISTS {self._spec(table)}"

    def _move_partition(self) -> str:
        table = self._table()
        return f"ALTER TABLE {table} {self._spec(table)} SET LOCATION '{self._place()}'"

    def _move_table(self) -> str:
        return f"ALTER TABLE {self._table()} SET LOCATION '{self._place()}'"

    def _property(self) -> str:
        return (
            f"ALTER TABLE {self._table()} SET TBLPROPERTIES ('p{self._rng.randrange(3)}' = '{self._rng.randrange(9)}')"
        )

    def _comment(self) -> str:
        return f"COMMENT ON TABLE {self._table()} IS '{self._rng.choice(('one', 'two'))}'"

    def _add_column(self) -> str:
        return f"ALTER TABLE {self._table()} ADD COLUMNS ({self._fresh('n')} {self._rng.choice(_TYPES)})"

    def _drop_table(self) -> str:
        table = self._table()
        del self._tables[table]
        return f"DROP TABLE {table}"


def _executed(session: Session, statements: Iterator[str]) -> int:
    """Runs statements. Returns the number of those that were refused, such as changes of missing partitions."""
    refused = 0
    for statement in statements:
        try:
            session.execute(statement)
        except Error:
            refused += 1
    return refused


@pytest.mark.parametrize("seed", range(12))
def test_an_import_equals_its_source(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    source, target = tmp_path / "a", tmp_path / "b"
    author = _Author(rng, tmp_path)
    Session(source, "duckdb").close()
    with served(source) as url:
        for _ in range(4):
            with Session(source, "duckdb") as session:
                count = rng.randint(5, 25)
                refused = _executed(session, (author.statement() for _ in range(count)))
                assert refused < count
            report = imported(target, url, batch=rng.choice((1, 3, 2_000)))
            assert list(report.rows()) == [], f"seed {seed}"
            assert picture(target) == picture(source), f"seed {seed}"
            before = commits(target)
            assert imported(target, url).summary == "nothing has changed"
            assert commits(target) == before


@pytest.mark.parametrize("seed", range(8))
def test_a_follower_equals_its_source(tmp_path: Path, seed: int) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    author = _Author(random.Random(1_000 + seed), tmp_path)
    with Session(source, "duckdb") as session:
        _executed(session, (author.statement() for _ in range(20)))
    with served(source) as url, importing(target, url) as one:
        last = one.source.last_event()
        follower = Follower(one, last, one.everything(), lambda _: False)
        assert last > 0
        for count in (1, 1, 3, 10, 30):
            with Session(source, "duckdb") as session:
                _executed(session, (author.statement() for _ in range(count)))
            report = follower.step()
            assert report is None or list(report.rows()) == [], f"seed {seed}"
            assert picture(target) == picture(source), f"seed {seed}"
            assert follower.step() is None
