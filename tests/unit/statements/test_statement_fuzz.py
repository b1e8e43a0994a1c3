"""Mutated statements: each returns a result or fails with one of our errors, within seconds.

The statements are those of the golden files. All are parsed; those that parse are run on DuckDB in a warehouse that
some of these files have filled, except what would read or write outside of it.
"""

from __future__ import annotations

import json
import random
import re
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import FrameType

import pytest
from rotation import turn

from rewriter.errors import Error, InternalError, render
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.golden.golden_file import read_cases
from rewriter.grammar.lexer import TokenKind, split_statements, tokens
from rewriter.grammar.parser import parse
from rewriter.grammar.unparse import render as render_statement
from rewriter.session import Session

SEED = 4_003
GOLDEN = Path(__file__).parents[2] / "golden"
#: The files whose statements make the warehouse, in this order.
SCENE = ("partitions", "inserting", "create_table", "seed_003", "views", "freshness")
#: A statement may take that long, on a busy machine.
SECONDS = 10.0

_INSERTED = [
    *(
        "'",
        '"',
        "`",
        "’",
        "(",
        ")",
        "((",
        ",",
        ";",
        "=",
        "<>",
        "<=",
        "::",
        ":x",
        "?",
        "/*",
        "*/",
        "--",
        "\\",
        "\0",
        "%",
    ),
    *("é", "😀", "e\u0301", "\u202e", "\ufeff", "\u00a0", "\ud800", "１", "ſelect", "K"),
    *(
        "SELECT",
        "INSERT",
        "INTO",
        "OVERWRITE",
        "TABLE",
        "PARTITION",
        "PARTITIONED BY (a)",
        "IF NOT EXISTS",
        "AS",
        "ALTER",
    ),
    *(
        "CREATE",
        "DROP",
        "TEMPORARY",
        "OR REPLACE",
        "LIKE",
        "WHERE",
        "ORDER BY",
        "LIMIT",
        "IN (",
        "BETWEEN",
        "NULL",
        "NOT",
    ),
    *(
        "ADD",
        "COLUMNS",
        "COMMENT 'x'",
        "USING csv",
        "TBLPROPERTIES ('a' = 'b')",
        "ARRAY<",
        "DECIMAL(",
        "VALUES",
        "UNION ALL",
    ),
    *(
        "0",
        "-1",
        "1e400",
        "9" * 40,
        "9" * 4000,
        "1.5e",
        "0x",
        "1L",
        "''",
        "'a'",
        "``",
        "x",
        "*",
        ".",
        "DATE '2015-13-01'",
    ),
    *(
        "TIMESTAMP 'x'",
        "INTERVAL",
        "CAST(",
        "time_range_in(",
        "now()",
        "default.",
        "parquet.`/nowhere`",
        "'" + "x" * 3000 + "'",
    ),
]


def statements(*names: str) -> list[str]:
    """Returns the statements of golden files, or of all of them if no names are given."""
    examples: dict[str, None] = {}
    for path in (GOLDEN / f"{name}.test" for name in names) if names else sorted(GOLDEN.glob("*.test")):
        for case in read_cases(path.read_text(encoding="utf-8")).cases:
            try:
                spans = split_statements(case.text)
            except Error:
                examples[case.text] = None
                continue
            examples |= dict.fromkeys(case.text[span.start : span.end] for span in spans)
    return list(examples)


def words(examples: list[str]) -> dict[TokenKind, list[str]]:
    """Returns the words of the statements by kind of token, each as often as it occurs."""
    by_kind: dict[TokenKind, list[str]] = {}
    for sql in examples:
        with suppress(Error):
            for token in tokens(sql):
                by_kind.setdefault(token.kind, []).append(token.text)
    return by_kind


def exchanged(sql: str, random_: random.Random, pool: dict[TokenKind, list[str]]) -> str:
    """Returns the statement with a name, a value or an operator of another statement. Usually it parses."""
    try:
        lexed = tokens(sql)
    except Error:
        return sql
    for token in random_.sample(lexed, min(len(lexed), random_.randint(1, 2))):
        sql = sql.replace(token.text, random_.choice(pool[token.kind]), random_.choice([1, -1]))
    return sql


def mutated(sql: str, random_: random.Random) -> str:
    """Returns the statement with one to four mistakes: of tokens, of clauses, of characters, of depth."""
    for _ in range(random_.randint(1, 4)):
        try:
            pieces = [token.text for token in tokens(sql)]
        except Error:
            pieces = list(sql)
        if not pieces:
            return sql
        at, kind = random_.randrange(len(pieces)), random_.randrange(10)
        end = min(len(pieces), at + random_.randint(1, 6))
        if kind == 0:
            del pieces[at:end]
        elif kind == 1:
            pieces.insert(at, random_.choice(_INSERTED))
        elif kind == 2:
            pieces[at] = random_.choice(_INSERTED)
        elif kind == 3:
            second = random_.randrange(len(pieces))
            pieces[at], pieces[second] = pieces[second], pieces[at]
        elif kind == 4:
            pieces[at:at] = pieces[at:end]  # a clause twice
        elif kind == 5:
            del pieces[at:]
        elif kind == 6:
            pieces[at] = pieces[at][: random_.randint(0, len(pieces[at]))]
        elif kind == 7:
            pieces[at] = pieces[at].translate({ord("'"): random_.choice('’"`'), ord('"'): "'"})
        elif kind == 8:
            depth = random_.choice([3, 50, 400])
            pieces[at] = "(" * depth + pieces[at] + ")" * depth
        else:
            pieces[at] = "".join(
                chr(random_.choice([random_.randrange(1, 128), random_.randrange(0x2FFF)])) for _ in "abc"
            )
        sql = random_.choice([" ", " ", "\n", "\t"]).join(pieces)
    return sql


class _TooLong(BaseException):
    """Not an Exception, so that nothing takes it for an error of a statement."""


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def parse_problem(sql: str) -> str | None:
    """Returns the defect of the parser's result for a text, or None."""
    try:
        with _limited(SECONDS):
            statement = parse(sql)
            again = parse(render_statement(statement))
    except Error as error:
        position = error.position
        if isinstance(error, InternalError) or position is None or not 0 <= position.start <= position.end <= len(sql):
            return f"{error} at {position}"
        return None if error.hint and render(error, sql) else f"no hint: {error}"
    except _TooLong:
        return "takes too long to parse"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None if again == statement else f"does not come back: {statement}"


def run_problem(sql: str, session: Session) -> str | None:
    """Returns the defect of a session's result for a statement, or None."""
    try:
        with _limited(SECONDS):
            result = session.execute(sql)
            for number, _ in enumerate(result.rows()):
                if number > 1000:
                    break
            result.close()
    except InternalError as error:
        return str(error)
    except Error as error:
        position = error.position
        if position is not None and not 0 <= position.start <= position.end <= len(sql):
            return f"{error} at {position}"
        return None if render(error, sql) else "no text"
    except _TooLong:
        return "takes too long"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


_OUTSIDE = re.compile(r"LOCATION|DIRECTORY|(parquet|csv|json|orc)\s*\.", re.IGNORECASE)


def fuzz(session: Session, rounds: int, seconds: float, seed: int = SEED) -> list[str]:
    """Returns the problems of so many mutated statements. Within the given time they are run, too."""
    random_, every, scene, problems = random.Random(seed), statements(), statements(*SCENE), []
    pool = words(every)
    for sql in scene:
        if not _OUTSIDE.search(sql) and not sql.upper().startswith("DROP TABLE"):
            run_problem(sql, session)
    until = time.monotonic() + seconds
    for number in range(rounds):
        sql = random_.choice(scene if number % 2 else every)
        sql = mutated(sql, random_) if number % 3 else exchanged(sql, random_, pool)
        problem = parse_problem(sql)
        if problem is None and not _OUTSIDE.search(sql) and time.monotonic() < until:
            problem = run_problem(sql, session)
        if problem is not None:
            problems.append(f"seed {seed}, round {number}: {problem}\n{sql!r}")
    return problems


@pytest.fixture
def session(tmp_path: Path, duckdb: DuckDBEngine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.chdir(tmp_path)
    with Session(tmp_path / "warehouse", duckdb) as opened:
        yield opened


def test_mutated_statements_answer_or_fail_as_they_should(session: Session) -> None:
    assert fuzz(session, rounds=400, seconds=15, seed=turn()) == []


@pytest.mark.long
def test_ten_thousand_mutated_statements(session: Session) -> None:
    assert fuzz(session, rounds=1_000, seconds=15) == []
    assert fuzz(session, rounds=10_000, seconds=3_600, seed=SEED + 1) == []


#: The content of a catalog after another program has written into it.
_STORED = """
CREATE TABLE hours (k STRING, n BIGINT, s STRUCT<a: INT, b: ARRAY<MAP<STRING, INT>>>) PARTITIONED BY (dt STRING);
CREATE TABLE days (k STRING, n BIGINT) PARTITIONED BY (dt STRING) TBLPROPERTIES ('a' = 'b');
CREATE TABLE plain (x INT COMMENT 'c', y DECIMAL(10, 2)) COMMENT 'a table';
CREATE TABLE texts (x INT) USING csv TBLPROPERTIES ('k' = 'v');
CREATE VIEW seen (u COMMENT 'c') AS SELECT x FROM plain;
CREATE CUBE c (k STRING, n BIGINT MEASURE SUM, t TIMESTAMP TIME);
CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt),
    TABLE days PERIOD DAILY PARTITIONED BY t AS (dt));
ALTER TABLE hours ADD PARTITION (dt='2013-01-01-00') PARTITION (dt='2013-01-01-01');
INSERT INTO plain VALUES (1, 2.5);
CREATE DATABASE d COMMENT 'x';
CREATE TABLE d.other (x INT)
"""
_ASKED = """
SHOW TABLES; SHOW TABLE EXTENDED LIKE '*'; SHOW VIEWS; SHOW CUBES; SHOW FACTS; SHOW DATABASES;
DESCRIBE DATABASE EXTENDED d; SHOW TIMELINES OF f; SHOW LATEST OF f; SHOW COVERAGE OF f;
SHOW CREATE CUBE c; SHOW CREATE FACT f; SHOW CREATE VIEW seen; DESCRIBE c; DESCRIBE f; DESCRIBE EXTENDED seen;
SELECT * FROM seen; SELECT SUM(n) FROM c WHERE time_range_in(t, '2013-01-01', '2013-01-01T02');
EXPLAIN SELECT COUNT(*) FROM c WHERE t >= '2013-01-01' AND t < '2013-01-02'; CHECK FACT f; REFRESH FACT f;
REFRESH TIMELINES OF f; SELECT * FROM d.other; VACUUM DRY RUN
"""
_ASKED_OF_TABLES = """
DESCRIBE {0}; DESCRIBE EXTENDED {0}; DESCRIBE EXTENDED {0} AS JSON; SHOW CREATE TABLE {0}; SHOW COLUMNS IN {0};
SHOW TBLPROPERTIES {0}; SHOW PARTITIONS {0}; SELECT * FROM {0}; EXPLAIN SCAN SELECT * FROM {0};
ANALYZE TABLE {0} COMPUTE STATISTICS; ALTER TABLE {0} SET TBLPROPERTIES ('n' = 'm');
ALTER TABLE {0} ADD COLUMNS (zz INT); ALTER TABLE {0} DROP IF EXISTS PARTITION (dt = '2013-01-01-00');
TRUNCATE TABLE {0}; ALTER TABLE {0} RENAME TO {0}_2; DROP TABLE {0}
"""
_HOSTILE: tuple[object, ...] = (
    *(None, True, 0, -1, 2**70, 1.5, "", "x", "\x1b[31m", "\u202e", "a\0b", "a\nb"),
    *("'; DROP TABLE plain --", "x" * 5000),
    *([], {}, [[]], [None], {"a": None}, {"rewriter.statistics": "{"}, {"k": 5}, [["a", "int", None]] * 3),
    *("struct<" * 3, "struct<a:" * 1000 + "int" + ">" * 1000, "decimal(x)", "array<>", "map<int>", "char", "unknown"),
    *("/", "..", "relative/../path", "/dev/null", "file:///x", "parquet", "orc", "exe", "2013", "HOURLY", "SUM"),
)


def hostile(definition: object, random_: random.Random) -> object:
    """Returns a definition with one of its values exchanged for another one, or without one of its members."""
    places: list[tuple[dict[str, object] | list[object], str | int]] = []

    def visit(node: object) -> None:
        if isinstance(node, dict | list):
            for key in list(node) if isinstance(node, dict) else range(len(node)):
                places.append((node, key))  # type: ignore[arg-type]
                visit(node[key])  # type: ignore[index]

    visit(definition)
    node, key = random_.choice(places)
    if random_.random() < 0.1:
        del node[key]  # type: ignore[arg-type]
    else:
        node[key] = random_.choice(_HOSTILE)  # type: ignore[index]
    return definition


def fuzz_stored(warehouse: Path, duckdb: DuckDBEngine, rounds: int, seconds: float, seed: int = SEED) -> list[str]:
    """Returns the problems of statements over so many catalogs with a changed definition, within the given time."""
    random_, problems = random.Random(seed), []
    with Session(warehouse, duckdb) as session:
        for _, result in session.script(_STORED):
            result.close()
    path = warehouse / "catalog.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = DELETE")
        objects = database.execute("SELECT row_id, definition FROM objects").fetchall()
    content, until = path.read_bytes(), time.monotonic() + seconds
    for number in range(rounds):
        if time.monotonic() > until:
            break
        row, definition = random_.choice(objects)
        text = json.dumps(hostile(json.loads(definition), random_))
        if random_.random() < 0.05:
            text = text[: random_.randrange(len(text))]
        path.write_bytes(content)
        with closing(sqlite3.connect(path)) as database:
            database.execute("UPDATE objects SET definition = ? WHERE row_id = ?", (text, row))
            database.commit()
        asked = [_ASKED, *(_ASKED_OF_TABLES.format(name) for name in ("hours", "days", "plain", "texts"))]
        with Session(warehouse, duckdb) as session:
            for part in asked:
                for span in split_statements(part):
                    sql = part[span.start : span.end]
                    problem = run_problem(sql, session)
                    if problem is not None:
                        problems.append(f"seed {seed}, round {number}: {problem[:300]}\n{sql!r} after {text[:400]}")
        for suffix in ("-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
    return problems


def test_hostile_definitions_answer_or_fail_as_they_should(
    tmp_path: Path, duckdb: DuckDBEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert fuzz_stored(tmp_path / "warehouse", duckdb, rounds=16, seconds=20, seed=turn()) == []


@pytest.mark.long
def test_a_thousand_hostile_definitions(tmp_path: Path, duckdb: DuckDBEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert fuzz_stored(tmp_path / "warehouse", duckdb, rounds=40, seconds=60) == []
    assert fuzz_stored(tmp_path / "again", duckdb, rounds=1_000, seconds=3_600, seed=SEED + 1) == []
