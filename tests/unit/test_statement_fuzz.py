"""Mutated statements: each answers, or fails with one of our errors, within seconds. Nothing else ever comes out.

The statements are those of the golden files. All are parsed; those that parse are run on DuckDB in a warehouse that
some of these files have filled, except what would read or write outside of it.
"""

from __future__ import annotations

import random
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import pytest

from rewriter.errors import Error, InternalError, render
from rewriter.exec.duckdb import DuckDBEngine
from rewriter.golden import read_cases
from rewriter.grammar.lexer import TokenKind, split_statements, tokens
from rewriter.grammar.parser import parse
from rewriter.grammar.render import render as render_statement
from rewriter.session import Session

SEED = 4_003
GOLDEN = Path(__file__).parents[1] / "golden"
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
    """The statements of golden files, of all of them without names."""
    found: dict[str, None] = {}
    for path in (GOLDEN / f"{name}.test" for name in names) if names else sorted(GOLDEN.glob("*.test")):
        cases, _ = read_cases(path.read_text(encoding="utf-8"))
        for case in cases:
            try:
                spans = split_statements(case.text)
            except Error:
                found[case.text] = None
                continue
            found |= dict.fromkeys(case.text[span.start : span.end] for span in spans)
    return list(found)


def words(known: list[str]) -> dict[TokenKind, list[str]]:
    """What the statements hold, by kind of token, each as often as it stands there."""
    found: dict[TokenKind, list[str]] = {}
    for sql in known:
        with suppress(Error):
            for token in tokens(sql):
                found.setdefault(token.kind, []).append(token.text)
    return found


def exchanged(sql: str, random_: random.Random, pool: dict[TokenKind, list[str]]) -> str:
    """The statement with a name, a value or an operator that another statement has: it parses, mostly."""
    try:
        found = tokens(sql)
    except Error:
        return sql
    for token in random_.sample(found, min(len(found), random_.randint(1, 2))):
        sql = sql.replace(token.text, random_.choice(pool[token.kind]), random_.choice([1, -1]))
    return sql


def mutated(sql: str, random_: random.Random) -> str:
    """The statement with one to four mistakes: of tokens, of clauses, of characters, of depth."""
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
            other = random_.randrange(len(pieces))
            pieces[at], pieces[other] = pieces[other], pieces[at]
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
    """What is wrong with the parser's answer to a text, if anything."""
    try:
        with _limited(SECONDS):
            statement = parse(sql)
            again = parse(render_statement(statement))
    except Error as error:
        place = error.position
        if isinstance(error, InternalError) or place is None or not 0 <= place.start <= place.end <= len(sql):
            return f"{error} at {place}"
        return None if error.hint and render(error, sql) else f"no hint: {error}"
    except _TooLong:
        return "takes too long to parse"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None if again == statement else f"does not come back: {statement}"


def run_problem(sql: str, session: Session) -> str | None:
    """What is wrong with a session's answer to a statement, if anything."""
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
        place = error.position
        if place is not None and not 0 <= place.start <= place.end <= len(sql):
            return f"{error} at {place}"
        return None if render(error, sql) else "no text"
    except _TooLong:
        return "takes too long"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


_OUTSIDE = re.compile(r"LOCATION|(parquet|csv|json|orc)\s*\.", re.IGNORECASE)


def fuzz(session: Session, rounds: int, seconds: float, seed: int = SEED) -> list[str]:
    """The problems of so many mutated statements; as far as the time reaches they are run, too."""
    random_, every, scene, found = random.Random(seed), statements(), statements(*SCENE), []
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
            found.append(f"seed {seed}, round {number}: {problem}\n{sql!r}")
    return found


@pytest.fixture
def session(tmp_path: Path, duckdb: DuckDBEngine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.chdir(tmp_path)
    with Session(tmp_path / "warehouse", duckdb) as opened:
        yield opened


def test_mutated_statements_answer_or_fail_as_they_should(session: Session) -> None:
    assert fuzz(session, rounds=1_000, seconds=15) == []


@pytest.mark.long
def test_ten_thousand_mutated_statements(session: Session) -> None:
    assert fuzz(session, rounds=10_000, seconds=3_600, seed=SEED + 1) == []
