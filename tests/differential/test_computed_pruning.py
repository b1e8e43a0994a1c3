"""Conditions that are computed on partition values, proven by omission: a query returns the same rows from the
partitions that are kept as from all; of one condition exactly those are kept of which the engine says that it is TRUE.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rewriter.catalog.filters import predicates
from rewriter.catalog.keys import encoding
from rewriter.catalog.model.key_ranges import KeyRange, after
from rewriter.errors import Error
from rewriter.exec.duckdb import evaluate_predicate
from rewriter.exec.spark.engine import SparkEngine
from rewriter.planner import table_pruning
from rewriter.session import Session
from rewriter.statements.query import computed_pruning

#: By type: the values of partitions, as literals.
VALUES: dict[str, list[str]] = {
    "string": [
        "'2024-01-05'", "'2024-02-29'", "'2024-2-3'", "'2024-12-31 10:00:00'", "'us'", "'US'", "'Us '", "'é'", "'7'",
        "' 7'", "'-12'", "'abc'", "'a%b_c'", '"it\'s"', "'10'", "'1e3'", "'true'", "'a-b-c'", "'01'", "'x/y=z'",
    ],
    "int": ["-7", "0", "1", "2", "5", "11", "23", "2147483647", "-2147483648"],
    "bigint": ["-1", "0", "9007199254740993", "9223372036854775807", "202401"],
    "date": ["DATE '1969-12-31'", "DATE '2024-01-31'", "DATE '2024-02-29'", "DATE '2023-12-31'", "DATE '0001-01-01'"],
    "timestamp": [
        "TIMESTAMP '1969-12-31 23:59:59.5'", "TIMESTAMP '2024-02-29 00:00:00'", "TIMESTAMP '2024-03-10 02:30:00'",
        "TIMESTAMP '2024-12-31 23:00:00'",
    ],
    "decimal(6,2)": ["-1.5", "0", "1.25", "9999.99"],
    "double": ["CAST('-Infinity' AS DOUBLE)", "-1.5D", "0.0D", "2.5D", "CAST('NaN' AS DOUBLE)", "1e300"],
    "boolean": ["true", "false"],
}  # fmt: skip
TABLES = {
    "words": ("dt string", "hr int", "c string"),
    "times": ("d date", "ts timestamp", "n int"),
    "numbers": ("b bigint", "m decimal(6,2)", "f double", "flag boolean"),
}
#: By the type that an expression has: forms, in which {type} is an expression of a type and 'text' stays.
FORMS: dict[str, list[str]] = {
    "string": [
        "substr({string}, 1, 7)", "substr({string}, {int}, 3)", "left({string}, 2)", "right({string}, 4)",
        "upper({string})", "lower({string})", "trim({string})", "concat({string}, '-', {string})", "{string} || '/'",
        "replace({string}, '-', '')", "lpad({string}, 3, '0')", "coalesce({string}, 'x')", "nvl({string}, {string})",
        "nullif({string}, 'us')", "CASE WHEN {boolean} THEN {string} ELSE {string} END",
        "if({boolean}, {string}, 'n')", "CAST({int} AS STRING)", "CAST({date} AS STRING)",
        "CAST({decimal(6,2)} AS STRING)", "date_format({timestamp}, 'yyyy-MM-dd')", "split_part({string}, '-', 2)",
        "reverse({string})", "regexp_replace({string}, '[0-9]+', '#')", "CAST({timestamp} AS STRING)",
        "decode({int}, 1, 'a', 5, 'b', 'c')", "concat_ws('-', {string}, {string})",
        "translate({string}, 'us', 'SU')",
    ],
    "int": [
        "length({string})", "CAST({string} AS INT)", "TRY_CAST({string} AS INT)", "{int} + 1", "{int} - {int}",
        "{int} * 2", "{int} % 3", "-{int}", "abs({int})", "year({date})", "month({timestamp})", "day({date})",
        "dayofweek({date})", "hour({timestamp})", "quarter({date})", "datediff({date}, {date})",
        "instr({string}, '-')", "CAST({double} AS INT)", "coalesce({int}, 0)",
        "CASE {int} WHEN 1 THEN 2 WHEN 5 THEN NULL ELSE {int} END", "CAST({boolean} AS INT)", "greatest({int}, 2)",
        "unix_date({date})", "CAST({bigint} AS INT)", "sign({int})", "weekofyear({date})",
    ],
    "bigint": [
        "CAST({int} AS BIGINT)", "{bigint} + 1", "{int} DIV 2", "unix_timestamp({timestamp})",
        "floor({decimal(6,2)})",
    ],
    "date": [
        "to_date({string})", "CAST({timestamp} AS DATE)", "date_add({date}, {int})", "date_sub({date}, 3)",
        "trunc({date}, 'MONTH')", "last_day({date})", "add_months({date}, 1)", "{date} - INTERVAL 1 MONTH",
        "TRY_CAST({string} AS DATE)", "coalesce({date}, DATE '2024-01-01')", "make_date(2024, {int}, 1)",
    ],
    "timestamp": [
        "CAST({date} AS TIMESTAMP)", "date_trunc('HOUR', {timestamp})", "{timestamp} + INTERVAL 2 HOURS",
        "to_timestamp({string})",
    ],
    "decimal(6,2)": [
        "round({decimal(6,2)}, 1)", "abs({decimal(6,2)})",
    ],
    "double": [
        "CAST({int} AS DOUBLE)", "{double} + 0.5D", "{int} / 2", "nanvl({double}, 0D)", "sqrt({double})",
    ],
    "boolean": [
        "isnull({string})", "{int} IS NOT NULL", "startswith({string}, 'u')", "contains({string}, '-')",
        "{string} LIKE '%-0_'", "{string} RLIKE '^[0-9]+$'", "isnan({double})",
        "{date} BETWEEN DATE '2024-01-01' AND {date}", "{string} IN ('us', 'US', {string})", "{int} IN (1, 5, NULL)",
        "{string} = {string}", "{int} > {int}", "{int} <=> {int}",
    ],
}  # fmt: skip


@dataclass(frozen=True)
class Words:
    """Random expressions about the partition columns of a table, given by type."""

    rng: random.Random
    columns: dict[str, list[str]]

    def of(self, kind: str, depth: int) -> str:
        """An expression of a type; at depth 0 a column, where there is one, or a literal."""
        rng, mine = self.rng, self.columns.get(kind, [])
        if depth and rng.random() < (0.75 if mine else 0.9):
            text = rng.choice(FORMS[kind])
            while "{" in text:
                start, end = text.index("{"), text.index("}")
                text = f"{text[:start]}{self.of(text[start + 1 : end], depth - 1)}{text[end + 1 :]}"
            return text if text.endswith(")") else f"({text})"
        return rng.choice(mine) if mine and rng.random() < 0.85 else rng.choice(VALUES[kind])

    def test(self) -> str:
        """A condition without AND and OR at its top."""
        rng = self.rng
        kind = rng.choice([*self.columns, *self.columns, "boolean", "string", "int", "date"])
        if kind == "boolean":
            return f"{rng.choice(['', 'NOT '])}{self.of(kind, 2)}"
        operator = rng.choice(["=", "<>", "<", "<=", ">", ">=", "<=>"])
        return f"{self.of(kind, 2)} {operator} {rng.choice([rng.choice(VALUES[kind]), self.of(kind, 1)])}"

    def condition(self, depth: int = 2) -> str:
        if depth and self.rng.random() < 0.6:
            inner = [self.condition(depth - 1) for _ in range(self.rng.randint(2, 3))]
            if self.rng.random() < 0.15:
                inner.append("x % 2 = 0")
            return self.rng.choice(["({})", "NOT ({})"]).format(self.rng.choice([" AND ", " OR "]).join(inner))
        return self.test()


class World:
    """A warehouse with a row in each partition of three tables, and another table to join."""

    def __init__(self, root: Path, seed: int = 0) -> None:
        self.root, rng = root, random.Random(seed)
        self.session = Session(root, engine="duckdb")
        self.columns: dict[str, dict[str, list[str]]] = {}
        for name, declared in TABLES.items():
            types = [column.split(" ", 1) for column in declared]
            self.columns[name] = {}
            for column, kind in types:
                self.columns[name].setdefault(kind, []).append(column)
            # A file for each partition, so that its rows can be read without the product's code.
            packing = "TBLPROPERTIES ('rewriter.packed' = 'false')"
            self.session.execute(f"CREATE TABLE {name} (x INT) PARTITIONED BY ({', '.join(declared)}) {packing}")
            drawn: set[tuple[str, ...]] = set()
            while len(drawn) < 45:
                drawn.add(tuple("NULL" if rng.random() < 0.12 else rng.choice(VALUES[kind]) for _, kind in types))
            rows = [
                ", ".join(f"CAST({value} AS {kind})" for value, (_, kind) in zip(row, types, strict=True))
                for row in sorted(drawn)
            ]
            selects = " UNION ALL ".join(f"SELECT {number}, {row}" for number, row in enumerate(rows))
            self.session.execute(f"INSERT INTO {name} {selects}")
        self.session.execute("CREATE TABLE others (y INT, w STRING)")
        self.session.execute("INSERT INTO others VALUES (1, 'us'), (7, 'US'), (12, NULL), (NULL, '7'), (99, 'none')")

    def words(self, name: str, rng: random.Random, qualifier: str = "") -> Words:
        named = {kind: [f"{qualifier}{name}" for name in names] for kind, names in self.columns[name].items()}
        return Words(rng, named)

    def answer(self, sql: str) -> list[str] | str:
        """The rows in some order, or the condition of the error."""
        try:
            return sorted(map(repr, self.session.execute(sql).fetch()))
        except Error as error:
            return error.condition or error.message

    def kept(self, name: str, condition: str) -> tuple[set[int], bool]:
        """The rows in the partitions that are read for a condition, and whether it fails for none of them."""
        result = self.session.execute(f"EXPLAIN SCAN SELECT x FROM {name} WHERE {condition}")
        assert result.plan is not None
        (use,) = result.plan.uses
        lines = [str(line) for (line,) in result.fetch()]
        table = use.table
        types = [column.type for column in table.partition_columns]
        snapshot = self.session.catalog.snapshot()
        kept = set()
        for partition, file in snapshot.files(table):
            fields = [encoding.encode_value(kind, value) for kind, value in zip(types, partition.values, strict=True)]
            if use.wanted is None or use.wanted.holds(fields):
                kept |= self.rows[file.path]
        return kept, any("computed: " in line and "fails" not in line for line in lines)

    @property
    def rows(self) -> dict[str, set[int]]:
        """The rows in each file."""
        import pyarrow.parquet as pq

        if not hasattr(self, "_rows"):
            snapshot = self.session.catalog.snapshot()
            files = [file.path for name in TABLES for _, file in snapshot.files(snapshot.table(name))]
            self._rows = {path: set(pq.read_table(path, columns=["x"])["x"].to_pylist()) for path in files}
        return self._rows


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    created = World(tmp_path_factory.mktemp("computed") / "warehouse")
    yield created
    created.session.close()


def compare(world: World, name: str, condition: str) -> bool | None:
    """The rows are those of a query in which nothing can be pruned; whether fewer partitions were read. ``None`` where
    the engine refuses the query, or it fails.
    """
    unpruned = world.answer(f"SELECT * FROM (SELECT * FROM {name}) AS {name} WHERE {condition}")
    pruned = world.answer(f"SELECT * FROM {name} WHERE {condition}")
    if isinstance(unpruned, str):
        # Partitions that another condition rules out may fail.
        assert pruned == unpruned or " AND " in condition or " OR " in condition, condition
        return None
    assert pruned == unpruned, condition
    return len(world.kept(name, condition)[0]) < 45


def campaign(world: World, seed: int, count: int) -> tuple[int, int]:
    """Returns the number of random conditions with a result, and of those that excluded partitions."""
    rng = random.Random(seed)
    answers = []
    for _ in range(count):
        name = rng.choice(list(TABLES))
        answers.append(compare(world, name, world.words(name, rng).condition()))
    return sum(answer is not None for answer in answers), sum(answer is True for answer in answers)


def joins(world: World, seed: int, count: int) -> int:
    """Runs outer and inner joins with conditions in WHERE and ON, and returns the number with a result."""
    rng, answered = random.Random(seed), 0
    for _ in range(count):
        name, kind = rng.choice(list(TABLES)), rng.choice(["", "LEFT ", "RIGHT ", "FULL ", "LEFT SEMI ", "LEFT ANTI "])
        words = world.words(name, rng, "t.")
        on, where = f"o.y = t.x AND {words.condition(1)}", words.condition(1)
        first, second = ("others o", f"{{}} {'AS ' * rng.randrange(2)}t")
        if rng.random() < 0.4:
            first, second = second, first
        shown = "*" if "LEFT " not in kind or kind == "LEFT " else "y" if first.startswith("others") else "t.x"
        tail = "" if kind in ("LEFT SEMI ", "LEFT ANTI ") and first.startswith("others") else f" WHERE {where}"
        sql = f"SELECT {shown} FROM {first} {kind}JOIN {second} ON {on}{tail}"
        unpruned = world.answer(sql.format(f"(SELECT * FROM {name})"))
        if not isinstance(unpruned, str):
            assert world.answer(sql.format(name)) == unpruned, sql
            answered += 1
    return answered


@pytest.mark.share(3)
@pytest.mark.parametrize("seed", range(3))
def test_rows_from_kept_partitions_are_those_from_all(world: World, seed: int) -> None:
    answered, pruned = campaign(world, seed, 70)
    assert answered > 25
    assert pruned > 12


def test_rows_of_joins_are_those_from_all(world: World) -> None:
    assert joins(world, 2, 80) > 30


@pytest.mark.share(2)
@pytest.mark.parametrize("seed", range(2))
def test_exactly_the_partitions_are_kept_that_hold_answers(world: World, seed: int) -> None:
    rng, proven = random.Random(seed), 0
    for _ in range(60):
        name = rng.choice(list(TABLES))
        condition = world.words(name, rng).test()
        kept, certain = world.kept(name, condition)
        answer = world.answer(f"SELECT x FROM (SELECT * FROM {name}) WHERE {condition}")
        if certain and not isinstance(answer, str):
            assert sorted(repr((x,)) for x in kept) == answer, condition
            proven += 1
    assert proven > 10


def test_a_condition_that_fails_for_a_partition_fails_the_query(world: World) -> None:
    for condition in ("CAST(dt AS INT) = 99", "to_date(c) > DATE '2024-01-01'", "NOT (CAST(c AS INT) > 1)"):
        unpruned = world.answer(f"SELECT * FROM (SELECT * FROM words) WHERE {condition}")
        assert world.answer(f"SELECT * FROM words WHERE {condition}") == unpruned == "CAST_INVALID_INPUT"


def _drops_what_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def kept_where_true(condition: predicates.Computed, kept: dict[predicates.Fields, bool]) -> object:
        return original(condition, {fields: truths.get(fields) is True for fields in kept})

    truths: dict[predicates.Fields, bool | None] = {}
    original, read = computed_pruning.filter_of_results, computed_pruning._truths

    def remembered(*arguments):  # type: ignore[no-untyped-def]
        truths.clear()
        truths.update(read(*arguments))
        return truths

    monkeypatch.setattr(computed_pruning, "_truths", remembered)
    monkeypatch.setattr(computed_pruning, "filter_of_results", kept_where_true)


def _forgets_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_pruning._Reader, "_computed", _without_not(table_pruning._Reader._computed))


def _without_not(computed_by: Callable[..., object]) -> Callable[..., object]:
    return lambda self, node, negated: computed_by(self, node, False)


def _takes_the_hull_for_one_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first value of a run is kept."""
    runs = predicates._runs
    monkeypatch.setattr(
        predicates,
        "_runs",
        lambda values: tuple(KeyRange(r.start, after(r.start)) for r in runs(values)),
    )


def _forgets_absent_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_pruning, "NotOfNulls", lambda part, columns: part)


def _computes_columns_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A condition is computed though it is about data, too."""
    walk = table_pruning.walk
    monkeypatch.setattr(
        table_pruning, "walk", lambda node: [column for column in walk(node) if column.name.lower() != "x"]
    )
    original = evaluate_predicate.evaluate_condition
    monkeypatch.setattr(
        computed_pruning,
        "evaluate_condition",
        lambda text, *rest: original(text.replace("x % 2", "0").replace("x > 9", "false"), *rest),
    )


def _compares_texts_without_case(monkeypatch: pytest.MonkeyPatch) -> None:
    original = evaluate_predicate.evaluate_condition
    monkeypatch.setattr(
        computed_pruning,
        "evaluate_condition",
        lambda text, *rest: original(text.replace("upper(c)", "lower(c)"), *rest),
    )


@pytest.mark.parametrize(
    ("plant", "asked"),
    [
        (_drops_what_fails, "SELECT * FROM {} t WHERE CAST(dt AS INT) = 7"),
        (_forgets_not, "SELECT * FROM {} t WHERE NOT (hr % 10 = 6)"),
        (_takes_the_hull_for_one_value, "SELECT * FROM {} t WHERE hr % 100 < 8"),
        (_forgets_absent_rows, "SELECT * FROM others o LEFT JOIN {} t ON o.y = t.x WHERE coalesce(t.c, 'q') = 'q'"),
        (_computes_columns_of_others, "SELECT * FROM {} t WHERE if(x % 2 = 0, hr, 3) = 3"),
        (_compares_texts_without_case, "SELECT * FROM {} t WHERE upper(c) = 'US'"),
    ],
)  # fmt: skip
def test_a_mistake_would_be_found(
    world: World, monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None], asked: str
) -> None:
    unpruned = world.answer(asked.format("(SELECT * FROM words)"))
    assert world.answer(asked.format("words")) == unpruned
    plant(monkeypatch)
    # A text that has not run: the session keeps the plans of others.
    assert world.answer(f"{asked.format('words')} -- planted") != unpruned


def test_spark_finds_true_what_is_kept(world: World, spark: SparkEngine) -> None:
    """Spark says of all conditions about a table in one query of which rows they are TRUE."""
    rng = random.Random(4)
    wrong, proven = [], 0
    with Session(world.root, engine=spark) as session:
        for name in TABLES:
            kept_by_condition: dict[str, set[int]] = {}
            while len(kept_by_condition) < 40:
                condition = world.words(name, rng).test()
                kept, certain = world.kept(name, condition)
                if certain:
                    kept_by_condition[condition] = kept
            items = ", ".join(
                f"({condition}) <=> true AS c{number}" for number, condition in enumerate(kept_by_condition)
            )
            rows = session.execute(f"SELECT x, {items} FROM {name}").fetch()
            for number, (condition, kept) in enumerate(kept_by_condition.items(), start=1):
                proven += 1
                if {row[0] for row in rows if row[number]} != kept:
                    wrong.append(condition)
    assert (wrong, proven) == ([], 120)
