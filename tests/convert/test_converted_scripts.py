"""Scripts in the styles of Hive and Spark: how each is converted, and that it then returns what plain Spark returned.

``pytest --rewrite`` accepts the converted scripts and their reports; ``record.py`` records the rows.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from converted_scripts import HERE, SCRIPTS, is_query, printed, script_statements

from rewriter.convert.script import Conversion, convert_script
from rewriter.errors import Error
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.spark.engine import SparkEngine
from rewriter.session import Session


def converted(path: Path) -> Conversion:
    is_hive = path.suffix == ".hql"
    return convert_script(path.read_text(encoding="utf-8"), is_hive=is_hive, is_lenient=is_hive)


def recorded(path: Path) -> dict[int, str]:
    """Returns the names and rows of each query that plain Spark ran, by its line."""
    results = {}
    for part in (HERE / "rows" / f"{path.stem}.txt").read_text(encoding="utf-8").split("-- line ")[1:]:
        line, _, rows = part.partition(": ")
        results[int(line)] = rows.strip()
    return results


def report(conversion: Conversion) -> str:
    entries = [f"-- {entry.line}: {entry.reason} {entry.hint}".rstrip() + "\n" for entry in conversion.unconverted]
    return "".join(["-- not converted:\n", *entries]) if entries else ""


def _by_name(path: Path) -> str:
    return path.stem


@pytest.mark.share(1)
@pytest.mark.parametrize("path", SCRIPTS, ids=_by_name)
def test_how_a_script_is_converted(path: Path, request: pytest.FixtureRequest) -> None:
    conversion = converted(path)
    accepted = HERE / "converted" / path.name
    text = conversion.text + report(conversion)
    if request.config.getoption("--rewrite"):
        accepted.write_text(text, encoding="utf-8")
    assert text == accepted.read_text(encoding="utf-8")


@pytest.mark.share(1)
@pytest.mark.parametrize("path", SCRIPTS, ids=_by_name)
def test_a_converted_script_stays_as_it_is(path: Path) -> None:
    is_hive = path.suffix == ".hql"
    once = converted(path)
    again = convert_script(once.text, is_hive=is_hive, is_lenient=True)
    assert again.text == once.text


def run(path: Path, session: Session) -> tuple[list[str], list[str]]:
    """Runs a converted script. Returns its differences from the rows of plain Spark, and what the engine refused."""
    conversion, expected = converted(path), recorded(path)
    lines = [line for line, text in script_statements(path.read_text(encoding="utf-8")) if is_query(text)]
    stated = {entry.line for entry in conversion.unconverted}
    differences, refused = [], []
    queries = iter(lines)
    for _, text in script_statements(conversion.text):
        line = next(queries) if is_query(text) else 0
        try:
            result = session.execute(text)
            rows = result.fetch() if is_query(text) else []
        except Error as error:
            reason = f"{path.name}: {' '.join(text.split())[:90]}: {error.condition}"
            is_of_duckdb = error.condition == "DUCKDB_UNSUPPORTED"
            refused += [reason] if is_of_duckdb else []
            if not is_of_duckdb and line not in stated and not _is_reported(text, conversion):
                differences.append(f"{reason} {error.message}")
            continue
        if line in expected and line not in stated:
            shown = "\n".join([", ".join(column.name for column in result.columns), *map(printed, rows)]).strip()
            if shown != expected[line]:
                differences.append(f"{path.name}:{line}\n{shown}\n-- but on Spark:\n{expected[line]}")
    assert next(queries, None) is None
    return differences, refused


def _is_reported(text: str, conversion: Conversion) -> bool:
    words = " ".join(text.split())
    return any(words.startswith(entry.statement.rstrip("…")[:40]) for entry in conversion.unconverted)


#: Statements that DuckDB refuses, at most, in all scripts: it has no try_parse_url, no try_divide of 38 digits, no
#: histogram_numeric.
_MOST_REFUSED = 8


def test_the_rows_on_duckdb(duckdb: DuckDBEngine, tmp_path: Path) -> None:
    differences, refused = [], []
    for path in SCRIPTS:
        with Session(tmp_path / path.stem, duckdb) as session:
            session.execute("CREATE DATABASE IF NOT EXISTS first")
            found = run(path, session)
        if not any("INSERT" in reason for reason in found[1]):
            differences += found[0]
        refused += found[1]
    assert not differences, "\n\n".join(differences)
    assert len(refused) <= _MOST_REFUSED, "\n".join(refused)


@pytest.mark.spark
@pytest.mark.parametrize("path", SCRIPTS, ids=_by_name)
def test_the_rows_on_spark(path: Path, spark: SparkEngine, tmp_path: Path) -> None:
    with Session(tmp_path, spark) as session:
        session.execute("CREATE DATABASE IF NOT EXISTS first")
        differences, _ = run(path, session)
    assert not differences, "\n\n".join(differences)
