"""The work of whole statements on DuckDB grows with their text, and results do not depend on its length."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rewriter.catalog.reading import queries, versioned_reads
from rewriter.errors import EngineError, NotSupportedError
from rewriter.planner.text.query_text import QueryText
from rewriter.session import Session
from tests.unit.executed_lines import executed_lines
from tests.unit.test_statement_work import counted

#: Linear work; the square would be 4.
MOST = 2.3
PAIR, SPEC, ROW = "(k = {0} AND l = 'x{0}')", "PARTITION (k = {0}, l = 'x')", "({0}, 'x')"
TEXT = "'{0}'"


def listed(separator: str, item: str, length: int) -> str:
    return separator.join(item.format(n) for n in range(length))


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path, engine="duckdb") as session:
        session.execute("CREATE TABLE parts (a INT) PARTITIONED BY (k INT, l STRING)")
        session.execute("CREATE TABLE t (a INT, b STRING)")
        session.execute(f"CREATE TABLE wide ({listed(', ', 'c{0} INT', 400)})")
        yield session


@pytest.mark.parametrize(
    "text",
    [
        lambda n: f"SELECT {listed(', ', 'c{0}', n)} FROM wide",
        lambda n: f"SELECT COUNT(*) FROM parts WHERE {listed(' OR ', PAIR, n)}",
        lambda n: f"SELECT COUNT(*) FROM parts WHERE {listed(' OR ', 'k = {0}', n)}",
        lambda n: f"SELECT COUNT(*) FROM parts WHERE k IN ({listed(', ', '{0}', n)})",
        lambda n: f"SELECT COUNT(*) FROM parts WHERE {listed(' AND ', 'k % {0} <> 7', n)}",
        lambda n: f"SELECT COUNT(*) FROM t WHERE (a, b) IN ({listed(', ', ROW, n)})",
        lambda n: listed(" UNION ALL ", "SELECT a FROM parts WHERE k = {0}", n),
        lambda n: f"SELECT a FROM ({listed(' UNION ALL ', 'SELECT * FROM parts', n)}) x WHERE k = 1",
        lambda n: f"SELECT CASE {listed(' ', 'WHEN a = {0} THEN 1', n)} END FROM t",
        lambda n: f"SHOW PARTITIONS parts WHERE {listed(' OR ', PAIR, n)}",
        lambda n: f"ALTER TABLE parts DROP IF EXISTS {listed(', ', SPEC, n)}",
    ],
)
def test_work_grows_with_the_text(session: Session, text: Callable[[int], str]) -> None:
    def run(length: int) -> int:
        return executed_lines(lambda: list(session.execute(text(length)).rows()))

    run(3)  # what is cached is not counted
    assert run(400 if "wide" in text(1) else 200) / run(200 if "wide" in text(1) else 100) < MOST


def test_an_error_is_placed_with_work_that_grows_with_the_text(session: Session) -> None:
    def run(length: int) -> None:
        sql = f"SELECT COUNT(*) FROM t WHERE aes_encrypt(b, b) IN ({listed(', ', TEXT, length)})"
        with pytest.raises(NotSupportedError) as caught:
            session.execute(sql)
        assert caught.value.position is not None

    run(3)
    assert executed_lines(lambda: run(1600)) / executed_lines(lambda: run(800)) < MOST


def test_an_error_in_the_middle_of_a_long_statement_has_its_place(session: Session) -> None:
    for length in (3, 3000):
        sql = f"SELECT a, missing, {listed(', ', 'a', length)} FROM t"
        with pytest.raises(EngineError) as caught:
            session.execute(sql)
        position = caught.value.position
        assert position is not None
        assert sql[position.start : position.end] == "missing"


@pytest.mark.parametrize("condition", ["{0}", "k > 1 AND ({0})", "NOT ({0})", "({0}) OR k IS NULL"])
def test_a_long_or_selects_what_its_terms_select(session: Session, condition: str) -> None:
    session.execute("CREATE TABLE v (k INT, l STRING)")
    session.execute("INSERT INTO v VALUES (1, 'x1'), (2, 'x2'), (3, 'x'), (NULL, 'x4'), (90, NULL), (99, 'x99')")

    def selected(terms: int) -> list[object]:
        wanted = condition.format(listed(" OR ", PAIR, terms))
        return sorted(session.execute(f"SELECT k, l FROM v WHERE {wanted}").rows(), key=str)

    assert selected(120) == selected(100)
    # Ten groups of ten are short ORs.
    pairs = [PAIR.format(number) for number in range(100)]
    either = " OR ".join(f"({' OR '.join(pairs[start::10])})" for start in range(10))
    assert selected(100) == sorted(
        session.execute(f"SELECT k, l FROM v WHERE {condition.format(either)}").rows(), key=str
    )


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        (f"SELECT 1 FROM t a {listed(' ', 'JOIN t j{0} ON a.a = j{0}.a', 900)}", "900 joins"),
        (listed(" UNION ALL ", "SELECT {0}", 5001), "5,001 queries"),
    ],
)
def test_what_takes_duckdb_too_long_is_refused(session: Session, sql: str, words: str) -> None:
    with pytest.raises(NotSupportedError, match=words) as caught:
        session.execute(sql)
    assert caught.value.condition == "DUCKDB_UNSUPPORTED"


@pytest.mark.parametrize("most", [2, 50_000])
@pytest.mark.parametrize("cache", [0, 1 << 20])
def test_partitions_without_files_are_counted_and_not_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, cache: int
) -> None:
    monkeypatch.setattr(versioned_reads, "MOST_HELD", most)
    with Session(tmp_path, engine="duckdb", settings={"rewriter.cache_bytes": cache}) as session:
        session.execute("CREATE TABLE parts (a INT) PARTITIONED BY (k INT)")
        session.execute(f"ALTER TABLE parts ADD {listed(' ', 'PARTITION (k = {0})', 20)}")
        session.execute("INSERT INTO parts SELECT a, a % 3 FROM VALUES (1), (2), (3), (4) AS v(a)")
        session.execute("INSERT OVERWRITE parts PARTITION (k = 1) SELECT 9")
        session.execute("ALTER TABLE parts DROP PARTITION (k = 2)")
        counts = counted(monkeypatch, queries, "partition_count")
        result = session.execute("SELECT COUNT(*), SUM(a) FROM parts")
        assert list(result.rows()) == [(2, 12)]
        assert result.stats is not None
        assert result.stats.scans[0].partitions == 19
        assert bool(counts) or cache
        assert list(session.execute("SELECT k, a FROM parts ORDER BY k").rows()) == [(0, 3), (1, 9)]
        assert list(session.execute("SELECT COUNT(*) FROM parts WHERE k = 1").rows()) == [(1,)]


def test_items_of_a_select_list_end_where_spark_ends_them() -> None:
    sql = (
        "SELECT /*+ BROADCAST(a, b) */ DISTINCT a, f(b, (SELECT c, d FROM x), [1, 2]), t.from, "
        "e IS DISTINCT FROM g, min(h) WITHIN GROUP (ORDER BY i) AS j FROM u, v WHERE (SELECT k, l) UNION ALL "
        "SELECT m, n"
    )
    text = QueryText(sql)
    shown = {
        word: (lambda span: sql[span.start : span.end])(text.select_item(text.tokens[index].start))
        for index, word in enumerate(token.text for token in text.tokens)
        if word in tuple("abcdeghiklmn")
    }
    assert shown["b"] == "f(b, (SELECT c, d FROM x), [1, 2])"
    assert (shown["a"], shown["c"], shown["d"]) == ("a", "c", "d")
    assert shown["e"] == shown["g"] == "e IS DISTINCT FROM g"
    assert shown["h"] == shown["i"] == "min(h) WITHIN GROUP (ORDER BY i) AS j"
    assert (shown["k"], shown["l"], shown["m"], shown["n"]) == ("k", "l", "m", "n")
