"""ETL scripts run on each engine, and every SELECT has the rows that plain Spark returns for the same text."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rewriter.convert.script import convert_script
from rewriter.errors import Error
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import EngineQuery
from rewriter.exec.spark.engine import SparkEngine
from rewriter.exec.spark_functions import is_function
from rewriter.exec.translate.function_support import runs_on_duckdb
from rewriter.grammar.lexer import split_statements
from rewriter.runtime.text_variables import mask_references
from rewriter.session import Session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
SCRIPTS = sorted(path.stem for path in HERE.glob("*.sql"))
#: Spark without Hive refuses tables of Hive. Without the clause the format is Parquet, which keeps the same values.
_HIVE_STORAGE = re.compile(
    r"(ROW\s+FORMAT\s+DELIMITED(\s+(FIELDS|LINES|COLLECTION\s+ITEMS|MAP\s+KEYS)\s+TERMINATED\s+BY\s+'[^']*')*"
    r"(\s+NULL\s+DEFINED\s+AS\s+'[^']*')?\s+)?STORED\s+AS\s+(TEXTFILE|ORC|PARQUET)",
    re.IGNORECASE,
)
#: Comments without quotes, which may precede a statement.
_BEFORE = re.compile(r"(\s|--[^\n]*\n|/\*.*?\*/)*", re.DOTALL)


@dataclass(frozen=True)
class Statement:
    """A statement and the line of its first word."""

    line: int
    text: str


@dataclass(frozen=True)
class Difference:
    """A statement that an engine refuses (``duckdb``, ``spark``, or ``plain``: Spark alone).

    ``instead`` has statements that do the same. They run there, so that the next statements have their tables. With the
    condition ``OTHER_EFFECT`` the statement would run and do something else, so only they run.
    """

    script: str
    line: int
    engine: str
    condition: str
    reason: str
    instead: str | None = None


def statements(script: str) -> list[Statement]:
    text = (HERE / f"{script}.sql").read_text(encoding="utf-8")
    parts = []
    for span in split_statements(mask_references(text)):
        before = _BEFORE.match(text, span.start)
        start = before.end() if before else span.start
        if start < span.end:
            parts.append(Statement(text.count("\n", 0, start) + 1, text[start : span.end]))
    return parts


def differences() -> list[Difference]:
    return [
        Difference(**entry)
        for entry in tomllib.loads((HERE / "differences.toml").read_text(encoding="utf-8")).get("difference", [])
    ]


def returned(script: str, engine: str, execute: Callable[[str], list[Any]]) -> str:
    """Runs a script. Returns the rows of its queries, each with the line of the query before it.

    Fails if a statement is refused and not listed, or listed and not refused.
    """
    listed = {entry.line: entry for entry in differences() if (entry.script, entry.engine) == (script, engine)}
    results = []
    failures = []
    for statement in statements(script):
        difference = listed.pop(statement.line, None)
        if difference and difference.condition == "OTHER_EFFECT":
            rows, condition, message = [], difference.condition, ""
        else:
            rows, condition, message = run(execute, statement.text)
        if condition != (difference.condition if difference else None):
            expected = f", listed as {difference.condition}" if difference else ""
            failures.append(f"{script}.sql:{statement.line} {condition}{expected}\n{message}")
        if condition and difference and difference.instead:
            for span in split_statements(difference.instead):
                rows, condition, message = run(execute, difference.instead[span.start : span.end])
                if condition:
                    failures.append(f"{script}.sql:{statement.line} instead: {condition}\n{message}")
        if condition is None and is_query(statement.text):
            results.append(f"-- line {statement.line}\n" + "".join(f"{printed(row)}\n" for row in rows))
    failures += [f"{script}.sql:{line} is listed, and no statement begins there" for line in listed]
    assert not failures, "\n\n".join([f"{len(failures)} statements", *failures])
    return "\n".join(results)


def printed(row: Sequence[object]) -> str:
    """Returns a row as text, with timestamps in UTC."""
    return ", ".join(
        f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}" if isinstance(value, datetime) else repr(value) for value in row
    )


def run(execute: Callable[[str], list[Any]], sql: str) -> tuple[list[Any], str | None, str]:
    """Returns the rows of a statement, or the condition and message of its error."""
    try:
        return execute(sql), None, "It runs."
    except Exception as error:
        return [], condition_of(error), f"{type(error).__name__}: {error}"


def without(rows: str, script: str, engine: str) -> str:
    """Leaves out the rows of the queries that an engine refuses, and for which nothing runs instead."""
    refused = {
        f"-- line {entry.line}"
        for entry in differences()
        if (entry.script, entry.engine) == (script, engine) and entry.instead is None
    }
    return "\n".join(part for part in re.split(r"\n(?=-- line )", rows) if part.partition("\n")[0] not in refused)


def condition_of(error: Exception) -> str:
    """Returns the condition of an error of ours or of Spark, and the class of any other."""
    if isinstance(error, Error):
        return str(error.condition)
    get = getattr(error, "getCondition", None)
    return str(get()) if get else type(error).__name__


def is_query(text: str) -> bool:
    return bool(re.match(r"(SELECT|WITH)\b", text, re.IGNORECASE)) and not re.search(
        r"^\s*INSERT\s", text, re.IGNORECASE | re.MULTILINE
    )


@pytest.fixture
def plain(spark: SparkEngine, tmp_path: Path) -> Iterator[SparkSession]:
    """Returns a session of Spark alone, in a database of its own. Its tables of Hive overwrite only what they get."""
    from pyspark.sql import SparkSession

    spark.columns(EngineQuery("SELECT 1 AS started"))  # Otherwise the session would lack the engine's settings.
    session = SparkSession.builder.getOrCreate().newSession()
    before = {row[0] for row in session.sql("SHOW DATABASES").collect()}
    session.sql(f"CREATE DATABASE plain LOCATION '{tmp_path / 'plain'}'")
    session.sql("USE plain")
    session.sql("SET spark.sql.sources.partitionOverwriteMode=dynamic")
    session.sql("SET spark.sql.shuffle.partitions=2")
    session.sql("SET spark.sql.session.timeZone=UTC")
    yield session
    session.sql("USE default")
    for (name,) in session.sql("SHOW DATABASES").collect():
        if name not in before:
            session.sql(f"DROP DATABASE {name} CASCADE")


def through_rewriter(script: str, engine: DuckDBEngine | SparkEngine, warehouse: Path) -> str:
    with Session(warehouse, engine) as session:
        return returned(script, engine.name, lambda sql: session.execute(sql).fetch())


def recorded(script: str) -> str:
    return (HERE / "rows" / f"{script}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("script", SCRIPTS)
def test_on_duckdb(script: str, duckdb: DuckDBEngine, tmp_path: Path) -> None:
    """The rows are those that the next test recorded from plain Spark."""
    assert through_rewriter(script, duckdb, tmp_path) == without(recorded(script), script, "duckdb")


@pytest.mark.share(20)
@pytest.mark.parametrize("script", SCRIPTS)
def test_as_plain_spark(script: str, plain: SparkSession, request: pytest.FixtureRequest) -> None:
    def execute(sql: str) -> list[tuple[object, ...]]:
        columns = plain.sql(_HIVE_STORAGE.sub("", sql)).toArrow().columns
        return list(zip(*(column.to_pylist() for column in columns), strict=True))

    rows = returned(script, "plain", execute)
    if request.config.getoption("--rewrite"):
        (HERE / "rows" / f"{script}.txt").write_text(rows, encoding="utf-8")
    assert rows == recorded(script)


@pytest.mark.share(20)
@pytest.mark.parametrize("script", SCRIPTS)
def test_on_spark(script: str, spark: SparkEngine, tmp_path: Path) -> None:
    assert through_rewriter(script, spark, tmp_path) == without(recorded(script), script, "spark")


def test_each_difference_names_a_script_and_an_engine() -> None:
    assert {entry.script for entry in differences()} <= set(SCRIPTS)
    assert {entry.engine for entry in differences()} == {"duckdb", "spark", "plain"}
    places = [(entry.script, entry.line, entry.engine) for entry in differences()]
    assert len(places) == len(set(places))


#: A comment or a string, or the name of a call.
_CALL = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\b([a-z_]\w*)\s*\(", re.DOTALL)
_WORKLOADS = HERE.parents[1] / "benchmarks" / "workloads"


def test_duckdb_runs_the_functions_of_the_scripts() -> None:
    """DuckDB has at least 95 % of the functions that occur in the scripts and the workloads."""
    files = [*HERE.glob("*.sql"), *_WORKLOADS.glob("*.sql")]
    calls = {match[1] for file in files for match in _CALL.finditer(file.read_text(encoding="utf-8").lower())}
    # The clause FILTER (…), and a table function.
    names = {name for name in calls - {None, "filter", "range"} if is_function(str(name))}
    absent = sorted(str(name) for name in names if not runs_on_duckdb(str(name)))
    assert len(names) > 140
    assert len(absent) <= 0.05 * len(names), absent


def test_duckdb_refuses_few_statements() -> None:
    """DuckDB alone refuses at most 1 % of the statements of the scripts, and in all at most 1.5 %."""
    count = sum(len(statements(script)) for script in SCRIPTS)
    on_spark = {(entry.script, entry.line) for entry in differences() if entry.engine == "spark"}
    on_duckdb = [(entry.script, entry.line) for entry in differences() if entry.engine == "duckdb"]
    assert len([place for place in on_duckdb if place not in on_spark]) <= 0.01 * count
    assert len(on_duckdb) <= 0.015 * count


def test_few_statements_are_refused_after_conversion(duckdb: DuckDBEngine, tmp_path: Path) -> None:
    """DuckDB refuses at most 1 % of the statements of the scripts that ``rewriter convert`` has converted."""
    refused, count = [], 0
    for script in SCRIPTS:
        text = (HERE / f"{script}.sql").read_text(encoding="utf-8")
        conversion = convert_script(text, is_hive=False, is_lenient=False)
        count += conversion.total
        with Session(tmp_path / script, duckdb) as session:
            for span in split_statements(mask_references(conversion.text)):
                statement = conversion.text[span.start : span.end]
                if _BEFORE.sub("", statement, count=1):
                    _, condition, message = run(lambda sql: session.execute(sql).fetch(), statement)
                    refused += [(script, statement, message)] if condition else []
    assert len(refused) <= 0.01 * count, refused
