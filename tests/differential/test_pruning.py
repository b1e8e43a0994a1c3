"""Pruning, proven by omission: a query returns the same rows from the partitions that its plan keeps as from all,
and of a condition that is understood exactly those partitions are kept of which the engine says that it is TRUE.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from rewriter.catalog.keys import encoding
from rewriter.catalog.model.objects import Column, PartitionValues, Table
from rewriter.errors import Error, NotSupportedError
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import Engine, EngineQuery, Relation
from rewriter.exec.spark.engine import SparkEngine
from rewriter.planner import table_pruning
from rewriter.planner.model.plan import TableUse
from tests.contract.conftest import parquet, scan_file
from tests.unit.planner.fakes import FakeReader, plan

DATA = (Column("k", "int"), Column("x", "bigint"))
#: By type: values of partitions; literals that a filter and the engine compare alike; and others.
DOMAINS: dict[str, tuple[list[str], list[str], list[str]]] = {
    "string": (
        ["a", "ab", "b", "b ", "10", "é"],
        ["'a'", "'ab'", "'b'", '"b "', "'é'", "'10'"],
        [r"'\\x'", "'a' 'b'", "''"],
    ),
    "char(3)": (["a  ", "ab ", "abc"], ["'a'", "'a  '", "'abc'", "'ab'"], []),
    "varchar(4)": (["a", "b ", "abcd"], ["'a'", "'b'", "'b '", "'abcde'"], []),
    "tinyint": (["-128", "0", "1", "127"], ["0", "1", "-1", "300", "0.5", "127"], ["1e0", "1L", "'1'"]),
    "int": (["-7", "0", "1", "2", "2147483647"], ["0", "1", "-7", "1.5", "99999999999"], ["1e0", "'2'", "1 + 1"]),
    "bigint": (
        ["-1", "0", "9007199254740992", "9007199254740993"],
        ["0", "9007199254740993", "0.5"],
        ["9007199254740992e0", "'0'", "9223372036854775808"],
    ),
    "decimal(6,2)": (["-1.00", "0.00", "1.50", "9999.99"], ["0", "1.5", "-1", "1.505", "1.500"], ["15e-1", "'1.5'"]),
    "double": (["-Infinity", "-1.5", "-0.0", "0.0", "2.0", "NaN"], ["0", "-0.0", "1.5", "2", "2e0", "1e300"], []),
    "float": (["-0.0", "0.1", "0.5", "2.0", "NaN"], ["0", "0.1", "0.5", "2", "2e0"], []),
    "date": (
        ["1969-12-31", "2020-01-02", "2020-01-03", "9999-12-31"],
        ["DATE '2020-01-02'", "DATE '1970-01-01'", "'2020-01-03'", "TIMESTAMP '2020-01-02 10:00:00'"],
        ["DATE '2020-1-2'", "to_date('2020-01-02')"],
    ),
    "timestamp": (
        ["1969-12-31 23:59:59.5", "2020-01-02 00:00:00", "2020-01-02 10:00:00"],
        ["TIMESTAMP '2020-01-02 10:00:00'", "DATE '2020-01-02'", "'2020-01-02 00:00:00'", "TIMESTAMP '2020-01-02'"],
        ["TIMESTAMP '2020-01-02 10:00:00Z'"],
    ),
    "boolean": (["false", "true"], ["true", "false"], []),
}  # fmt: skip
PATTERNS = ["'a%'", "'%b'", "'_b'", "'a'", "'%'", "'a_%'"]
OPERATORS = ["=", "<>", "!=", "<", "<=", ">", ">=", "==", "<=>"]
#: By type: parameters that compare with it.
NAMED = {"string": ":text", "char(3)": ":text", "int": ":number", "bigint": ":number", "double": ":number"}
NAMED |= {"timestamp": ":moment", "decimal(6,2)": ":number", "boolean": ":flag", "date": ":day"}
PARAMETERS: dict[str, object] = {"text": "ab", "number": 1, "day": date(2020, 1, 2), "flag": True}
PARAMETERS["moment"] = datetime(2020, 1, 2, 10, tzinfo=UTC)
#: The tables' partition columns; names of the first occur in the second, too.
TABLES = {
    "one": ("s string", "n int", "d date"),
    "two": ("s string", "b boolean", "f double", "c char(3)"),
    "two_numbers": ("l bigint", "m decimal(6,2)"),
    "six": ("g float", "m decimal(6,2)", "l bigint", "t timestamp", "v varchar(4)", "y tinyint"),
}


class Words:
    """Random conditions about the partition columns of relations, given as (qualifier, column)."""

    def __init__(self, rng: random.Random, columns: Sequence[tuple[str, Column]], exact: bool = False) -> None:
        # Nothing is concluded from conditions on CHAR, which the engine compares in its own way.
        usable = [column for column in columns if not (exact and column[1].type.startswith("char"))]
        self.rng, self.columns, self.exact = rng, usable, exact

    def condition(self, depth: int = 3) -> str:
        if depth and self.rng.random() < 0.6:
            inner = [self.condition(depth - 1) for _ in range(self.rng.randint(2, 3))]
            word = self.rng.choice([" AND ", " OR "])
            return self.rng.choice(["({})", "NOT ({})"]).format(word.join(inner))
        if not self.exact and self.rng.random() < 0.2:
            return self.rng.choice(self.strange())
        return self.test(*self.rng.choice(self.columns))

    def strange(self) -> list[str]:
        """Conditions that are not understood, or about other columns."""
        name = self.rng.choice(self.columns)[0]
        qualifier, column = self.rng.choice(self.columns)
        return [
            f"{name}x > 9",
            f"{name}k IS NULL",
            f"coalesce({qualifier}{column.name}, {qualifier}{column.name}) IS NULL",
            f"({qualifier}{column.name} IS NULL) = true",
            f"{qualifier}{column.name} = {qualifier}{column.name}",
        ]

    def literal(self, column: Column) -> str:
        _, alike, unlike = DOMAINS[column.type]
        if unlike and not self.exact and self.rng.random() < 0.15:
            return self.rng.choice(unlike)
        if not self.exact and self.rng.random() < 0.1:
            return NAMED.get(column.type, "NULL")
        return "NULL" if self.rng.random() < 0.05 else self.rng.choice(alike)

    def test(self, qualifier: str, column: Column) -> str:
        rng, name = self.rng, qualifier + self.rng.choice([column.name, column.name.upper(), f"`{column.name}`"])
        negated = rng.choice(["", "NOT "])
        kind = rng.randrange(8)
        if column.type.startswith("char") and kind in (1, 2):
            kind = 7  # Not on DuckDB.
        if kind == 0:
            return f"{name} IS {negated}NULL"
        if kind == 1:
            return f"{name} {negated}BETWEEN {self.literal(column)} AND {self.literal(column)}"
        if kind == 2:
            values = [
                literal for literal in (self.literal(column) for _ in range(3)) if self.alike(literal, column)
            ] or ["NULL"]
            return f"{name} {negated}IN ({', '.join(values)})"
        if kind == 3 and column.type in ("string", "char(3)", "varchar(4)"):
            return f"{name} {negated}LIKE {rng.choice(PATTERNS)}"
        if kind == 4 and column.type == "boolean":
            return f"{negated}{name}"
        if kind == 5:
            return f"{self.literal(column)} {rng.choice(OPERATORS)} {name}"
        return f"{name} {rng.choice(OPERATORS)} {self.literal(column)}"

    def alike(self, literal: str, column: Column) -> bool:
        """IN takes literals of one kind only to be understood."""
        return not self.exact or column.type not in ("date", "timestamp") or literal.startswith(("DATE", "NULL"))


class World:
    """Three tables of partitions with two rows each, and an engine to ask."""

    def __init__(self, root: Path, engine: Engine, seed: int = 0) -> None:
        self.engine, rng = engine, random.Random(seed)
        self.tables: dict[str, Table] = {}
        self.relations: dict[str, Relation] = {}
        for number, (name, declared) in enumerate(TABLES.items(), start=1):
            columns = tuple(Column(*column.split(" ", 1)) for column in declared)
            self.tables[name] = Table(number, name, DATA, columns, "parquet", f"/warehouse/{name}")
            values: set[PartitionValues] = {(None,) * len(columns)}
            while len(values) < (14 if name != "six" else 60):
                domains = (DOMAINS[column.type][0] for column in columns)
                values.add(tuple(None if rng.random() < 0.15 else rng.choice(domain) for domain in domains))
            files = []
            for row, value in enumerate(sorted(values, key=repr)):
                rows = {"k": pa.array([rng.randrange(4), None], pa.int32()), "x": pa.array([row, row], pa.int64())}
                # The path does not spell the values, so that each engine takes them from the catalog.
                files.append(scan_file(parquet(root / name / f"{row}.parquet", pa.table(rows)), value))
            self.relations[name] = Relation(name, "parquet", DATA, columns, tuple(files))
        self.reader = FakeReader((), tuple(self.tables.values()), {})

    def columns(self, name: str, qualifier: str) -> list[tuple[str, Column]]:
        return [(qualifier, column) for column in self.tables[name].partition_columns]

    def kept(self, use: TableUse) -> Relation:
        """The relation with those of its files that the use reads."""
        relation = self.relations[use.table.name]
        if use.wanted is None:
            return relation
        types = [column.type for column in use.table.partition_columns]
        fields = {
            file.path: [encoding.encode_value(*pair) for pair in zip(types, file.values, strict=True)]
            for file in relation.files
        }
        files = tuple(file for file in relation.files if use.wanted.holds(fields[file.path]))
        return Relation(relation.name, relation.format, relation.columns, relation.partition_columns, files)

    def answer(self, sql: str, relations: Sequence[Relation]) -> list[str]:
        named = {relation.name: relation for relation in relations}
        result = self.engine.execute(EngineQuery(sql, tuple(named.values()), PARAMETERS)).read_all()
        return sorted(repr(row) for row in zip(*(column.to_pylist() for column in result.columns), strict=True))

    def compare(self, sql: str) -> int | None:
        """Asserts that both results are the same, and returns the number of files that were not read. ``None`` where
        the engine refuses the query.
        """
        planned = plan(sql, self.reader, PARAMETERS)
        relations = [self.relations[use.table.name] for use in planned.uses]
        try:
            wanted = self.answer(planned.sql, relations)
        except Error:
            return None
        kept = [self.kept(use) for use in planned.uses]
        assert self.answer(planned.sql, kept) == wanted, sql
        return sum(len(relation.files) - len(pruned.files) for relation, pruned in zip(relations, kept, strict=True))


def question(rng: random.Random, world: World) -> str:
    """A join of two or three of the relations, with conditions in WHERE and in ON."""
    first, second, third = rng.choice(["one", "two"]), rng.choice(["one", "two"]), "one"
    kinds = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"]
    columns = world.columns(first, "p.")
    sql = f"FROM {first} p"
    shown = ["p.x"]
    for alias, name in [("q", second), ("r", third)][: rng.randint(1, 2)]:
        kind = rng.choice(kinds)
        here = [*columns, *world.columns(name, f"{alias}.")]
        extra = f" AND {Words(rng, here).condition(1)}" if rng.random() < 0.6 else ""
        sql += f" {kind} {name} {alias} ON p.k = {alias}.k{extra}"
        if not kind.endswith(("SEMI JOIN", "ANTI JOIN")):
            columns = here
            shown.append(f"{alias}.x")
    where = f" WHERE {Words(rng, columns).condition(2)}" if rng.random() < 0.8 else ""
    return f"SELECT {', '.join(shown)} {sql}{where}"


def campaign(world: World, seed: int, count: int, alone: str | None = None) -> tuple[int, int]:
    """Asks random questions, about one table ``alone`` or joins, too; how many were answered, and how many of them left
    files out.
    """
    rng, answered, pruned = random.Random(seed), 0, 0
    for _ in range(count):
        if alone is None and rng.random() < 0.7:
            sql = question(rng, world)
        else:
            name = alone or rng.choice(list(TABLES))
            sql = f"SELECT * FROM {name} WHERE {Words(rng, world.columns(name, '')).condition()}"
        left_out = world.compare(sql)
        answered += left_out is not None
        pruned += bool(left_out)
    return answered, pruned


def tightness(world: World, seed: int, count: int) -> int:
    """Of conditions that are understood no partition is kept that holds no answer; how many the engine answered."""
    rng, answered = random.Random(seed), 0
    for _ in range(count):
        name = rng.choice(list(TABLES))
        condition = Words(rng, world.columns(name, rng.choice(["", f"{name}."])), exact=True).condition()
        (use,) = plan(f"SELECT x FROM {name} WHERE {condition}", world.reader).uses
        try:
            wanted = world.answer(f"SELECT DISTINCT x FROM {name} WHERE {condition}", [world.relations[name]])
        except NotSupportedError:
            continue
        answered += 1
        assert use.wanted is not None, condition
        assert sorted(numbers(world, world.kept(use))) == wanted, condition
    return answered


def numbers(world: World, kept: Relation) -> Iterator[str]:
    places = {file.path: number for number, file in enumerate(world.relations[kept.name].files)}
    return (repr((places[file.path],)) for file in kept.files)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, duckdb: DuckDBEngine) -> World:
    return World(tmp_path_factory.mktemp("pruning"), duckdb)


@pytest.mark.share(4)
@pytest.mark.parametrize("seed", range(4))
def test_rows_from_kept_partitions_are_those_from_all(world: World, seed: int) -> None:
    answered, pruned = campaign(world, seed, 150)
    assert answered > 80
    assert pruned > 30


@pytest.mark.share(4)
@pytest.mark.parametrize("seed", range(4))
def test_exactly_the_partitions_are_kept_that_hold_answers(world: World, seed: int) -> None:
    assert tightness(world, seed, 150) > 80


def _negates_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """NOT of an OR of which a part is unknown, as if that part were nothing."""
    monkeypatch.setattr(table_pruning, "_any", lambda parts: table_pruning._all(parts))


def _forgets_outer_joins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_pruning, "nullable", lambda select, index: False)


def _takes_every_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    """ON of an outer join restricts both sides."""

    def every(select, index):  # type: ignore[no-untyped-def]
        for join in select.args.get("joins") or ():
            yield from pruning_joins.conjuncts(join.args["on"])

    from rewriter.planner.scope import joins as pruning_joins

    monkeypatch.setattr(table_pruning, "filters", every)


def _takes_char_for_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CHAR column as a text like any other, of which blanks at the end count."""
    original = table_pruning.partition_type
    monkeypatch.setattr(
        table_pruning, "partition_type", lambda type: original("string" if type.startswith("char") else type)
    )


def _compares_doubles_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_pruning, "_is_exact", lambda digits, scale, values: True)


def _ignores_qualifiers(monkeypatch: pytest.MonkeyPatch) -> None:
    def column(self, node):  # type: ignore[no-untyped-def]
        named = getattr(node, "name", "").lower()
        return next((column for column in self.table.partition_columns if column.name == named), None)

    monkeypatch.setattr(table_pruning._Reader, "_column", column)


JOINED = "SELECT p.x, q.x FROM one p"


@pytest.mark.parametrize(
    ("plant", "asked"),
    [
        (_negates_too_much, "one"),
        (_forgets_outer_joins, f"{JOINED} LEFT JOIN two q ON p.k = q.k WHERE q.s IS NULL"),
        (_takes_every_condition, f"{JOINED} LEFT JOIN two q ON p.k = q.k AND p.n = 1"),
        (_takes_char_for_text, "two"),
        (_compares_doubles_exactly, "two_numbers"),
        (_ignores_qualifiers, f"{JOINED} JOIN two q ON p.k = q.k WHERE p.s IS NULL"),
    ],
)
def test_a_mistake_would_be_found(
    world: World, monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None], asked: str
) -> None:
    """By one question that is ``asked``, or by random ones about a table."""
    if asked not in TABLES:
        assert world.compare(asked) is not None
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        _ = campaign(world, 10, 1000, asked) if asked in TABLES else world.compare(asked)


def test_spark_finds_true_what_is_kept(tmp_path: Path, spark: SparkEngine) -> None:
    """The same of Spark, which answers the truth of all conditions about a table in one query."""
    world, rng = World(tmp_path, spark), random.Random(3)
    wrong: list[str] = []
    for name in TABLES:
        conditions = [Words(rng, world.columns(name, ""), exact=number < 30).condition() for number in range(45)]
        items = ", ".join(f"({condition}) <=> true AS c{number}" for number, condition in enumerate(conditions))
        table = spark.execute(
            EngineQuery(f"SELECT x, {items} FROM {name}", (world.relations[name],), PARAMETERS)
        ).read_all()
        places, *truths = (column.to_pylist() for column in table.columns)
        for number, (condition, truth) in enumerate(zip(conditions, truths, strict=True)):
            (use,) = plan(f"SELECT x FROM {name} WHERE {condition}", world.reader, PARAMETERS).uses
            wanted = {repr((position,)) for position, true in zip(places, truth, strict=True) if true}
            kept = set(numbers(world, world.kept(use)))
            if kept != wanted if number < 30 else not kept >= wanted:
                wrong.append(condition)
    assert wrong == []
