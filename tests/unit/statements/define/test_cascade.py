"""RENAME and DROP COLUMN … CASCADE: views follow and return what they did, or are named in the refusal."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rewriter.errors import Error, IntegrityError
from rewriter.planner.scope import column_uses
from rewriter.session import Session
from tests.rotation import share

WORLD = """
CREATE TABLE t (k INT, a INT, x INT) PARTITIONED BY (p STRING);
CREATE TABLE st (a INT, s STRUCT<a: INT, z: INT>);
CREATE TABLE u (k INT, a INT, b INT, y INT);
CREATE TABLE w (k INT, y INT, b INT);
INSERT INTO t VALUES (1, 10, 7, 'p'), (2, 20, 7, 'q'), (3, 20, 9, 'q');
INSERT INTO u VALUES (1, 10, 3, 4), (2, 21, 5, 6), (4, 20, 7, 8);
INSERT INTO w VALUES (1, 1, 5), (2, 2, 6)
"""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "w", "duckdb") as opened:
        list(opened.script(WORLD))
        yield opened


def table(session: Session, query: str) -> tuple[list[str], list[str]]:
    """Returns the names of the columns of a query, and its rows in order."""
    result = session.execute(query)
    return [column.name for column in result.columns or ()], sorted(map(str, result.rows()))


def text_of(session: Session, view: str) -> str:
    found = session.snapshot().find_view(view)
    assert found is not None
    return found.query


#: Queries of views, and those that they become; ``None`` where nothing changes.
FOLLOWED: tuple[tuple[str, str | None], ...] = (
    ("SELECT a FROM t", "SELECT b AS a FROM t"),
    ("SELECT t.A, x FROM t", "SELECT t.b AS A, x FROM t"),
    ("SELECT `a` FROM default.t AS q WHERE q.`A` > 10", "SELECT b AS `a` FROM default.t AS q WHERE q.b > 10"),
    (
        "SELECT a + 1 AS c, SUM(x) AS n FROM t GROUP BY a + 1 HAVING SUM(a) > 5 ORDER BY a + 1",
        "SELECT b + 1 AS c, SUM(x) AS n FROM t GROUP BY b + 1 HAVING SUM(b) > 5 ORDER BY b + 1",
    ),
    (
        "SELECT a, COUNT(*) AS n FROM t GROUP BY a ORDER BY a DESC",
        "SELECT b AS a, COUNT(*) AS n FROM t GROUP BY b ORDER BY a DESC",
    ),
    ("SELECT DISTINCT a FROM t ORDER BY a", "SELECT DISTINCT b AS a FROM t ORDER BY a"),
    ("SELECT x AS y FROM t ORDER BY a", "SELECT x AS y FROM t ORDER BY b"),
    ("SELECT d.a FROM (SELECT a FROM t) d", "SELECT d.a FROM (SELECT b AS a FROM t) d"),
    ("WITH t AS (SELECT a FROM u) SELECT a FROM t", None),
    ("WITH a AS (SELECT a, x FROM t) SELECT a.a FROM a", "WITH a AS (SELECT b AS a, x FROM t) SELECT a.a FROM a"),
    (
        "SELECT a FROM t UNION ALL SELECT k FROM w ORDER BY a",
        "SELECT b AS a FROM t UNION ALL SELECT k FROM w ORDER BY a",
    ),
    ("SELECT k FROM w UNION SELECT a FROM t", "SELECT k FROM w UNION SELECT b AS a FROM t"),
    (
        "SELECT x, ROW_NUMBER() OVER (PARTITION BY x ORDER BY a) AS r FROM t",
        "SELECT x, ROW_NUMBER() OVER (PARTITION BY x ORDER BY b) AS r FROM t",
    ),
    ("SELECT w.y, t.a FROM t JOIN w ON t.k = w.k", "SELECT w.y, t.b AS a FROM t JOIN w ON t.k = w.k"),
    # Another relation has a column of the new name.
    ("SELECT a, y FROM t JOIN w ON t.k = w.k", "SELECT t.b AS a, y FROM t JOIN w ON t.k = w.k"),
    (
        "SELECT x, y FROM t JOIN u ON t.k = u.k WHERE t.a > 1",
        "SELECT x, y FROM t JOIN u ON t.k = u.k WHERE t.b > 1",
    ),
    (
        "SELECT a FROM t JOIN (SELECT k, y FROM u) q ON t.k = q.k",
        "SELECT b AS a FROM t JOIN (SELECT k, y FROM u) q ON t.k = q.k",
    ),
    (
        "SELECT k FROM w WHERE EXISTS (SELECT 1 FROM t WHERE t.k = w.k AND a > 10)",
        "SELECT k FROM w WHERE EXISTS (SELECT 1 FROM t WHERE t.k = w.k AND b > 10)",
    ),
    (
        "SELECT x FROM t WHERE EXISTS (SELECT 1 FROM w WHERE w.k = t.k AND a > 10)",
        "SELECT x FROM t WHERE EXISTS (SELECT 1 FROM w WHERE w.k = t.k AND t.b > 10)",
    ),
    (
        "SELECT x FROM t WHERE a IN (SELECT a FROM t WHERE k < 3)",
        "SELECT x FROM t WHERE b IN (SELECT b AS a FROM t WHERE k < 3)",
    ),
    # The inner block has the name, and the outer one the source.
    (
        "SELECT x FROM t WHERE k IN (SELECT k FROM u WHERE u.a = 10)",
        "SELECT x FROM t WHERE k IN (SELECT k FROM u WHERE u.a = 10)",
    ),
    ("SELECT x AS a FROM t", "SELECT x AS a FROM t"),
    # An item keeps the name that engines make of its text.
    ("SELECT a + 1 FROM t", "SELECT b + 1 AS `(a + 1)` FROM t"),
    (
        "SELECT max(a), COUNT(*), t.A * 2.5 /* of */ FROM t GROUP BY a",
        "SELECT max(b) AS `max(a)`, COUNT(*), t.b * 2.5 AS `(A * 2.5)` /* of */ FROM t GROUP BY b",
    ),
    (
        "SELECT q.`upper(p)`, n FROM (SELECT upper(p), COUNT(a), sum(a) AS n FROM t GROUP BY p) q",
        "SELECT q.`upper(p)`, n FROM (SELECT upper(p), COUNT(b) AS `count(a)`, sum(b) AS n FROM t GROUP BY p) q",
    ),
    (
        "SELECT CASE WHEN a > 10 THEN x END, a BETWEEN 1 AND x FROM t ORDER BY a",
        "SELECT CASE WHEN b > 10 THEN x END AS `CASE WHEN (a > 10) THEN x END`, "
        "b BETWEEN 1 AND x AS `between(a, 1, x)` FROM t ORDER BY b",
    ),
    ("SELECT u.a FROM u", None),
    (
        "SELECT COUNT(*) AS n /* of a */ FROM t WHERE a > 10",
        "SELECT COUNT(*) AS n /* of a */ FROM t WHERE b > 10",
    ),
    (
        "SELECT 'a' AS c, CASE WHEN a > 10 THEN \"a\" END AS d FROM t",
        "SELECT 'a' AS c, CASE WHEN b > 10 THEN \"a\" END AS d FROM t",
    ),
)
#: Queries of views that cannot follow, and a part of the reason.
REFUSED = (
    ("SELECT a > 1.5 FROM t", "has an item with a and without an alias"),
    ("SELECT (a) FROM t", "has an item with a and without an alias"),
    ("SELECT CAST(a AS STRING) FROM t", "has an item with a and without an alias"),
    ("SELECT (SELECT MAX(a) FROM t) FROM w", "has an item with a and without an alias"),
    ("SELECT * FROM t WHERE a > 10", "shows all columns with *"),
    ("SELECT a FROM (SELECT * FROM t) q", "shows all columns with *"),
    ("SELECT t.*, a AS c FROM t", "shows all columns with *"),
    ("SELECT x FROM t NATURAL JOIN w", "has a NATURAL JOIN"),
    ("SELECT y FROM t JOIN u USING (a)", "joins USING a"),
    ("SELECT x AS b, a AS c FROM t", "names b"),
    ("SELECT t.a, u.b AS c FROM t JOIN u ON t.k = u.k", "names b"),
    ("SELECT s.a AS c FROM st", "names a behind s, which may be a struct"),
    ("SELECT st.s.a AS c FROM st", "names a behind s, which may be a struct"),
    ("SELECT struct(a, x) AS c FROM t", "names a beside a STRUCT"),
    ("SELECT x FROM t WHERE (a, x) IN (SELECT 10, 7)", "names a beside a TUPLE"),
    ("SELECT MAX(a) AS a FROM t GROUP BY x HAVING a > 1", "has an output column of that name"),
    ("SELECT x AS a FROM t ORDER BY a", "has an output column of that name"),
    ("SELECT DISTINCT t.a FROM t ORDER BY t.a", "names a in ORDER BY beside DISTINCT"),
    ("SELECT q.a FROM t AS q (k, a, x, p)", "gives other names to the columns"),
    ("SELECT a, n FROM t LATERAL VIEW explode(array(1, 2)) e AS n", "names a"),
    ("SELECT transform(array(1), a -> a + 1) AS c FROM t", "names a beside a LAMBDA"),
)


def test_views_follow(session: Session) -> None:
    for query, followed in FOLLOWED:
        session.execute(f"CREATE VIEW v AS {query}")
        session.execute("CREATE VIEW above AS SELECT COUNT(*) AS n FROM v")
        before, above = table(session, "SELECT * FROM v"), table(session, "SELECT * FROM above")
        warnings = session.execute("ALTER TABLE t RENAME COLUMN a TO b CASCADE").warnings
        text = text_of(session, "v")
        assert text == (followed or query)
        assert warnings == (("these views use b now, and return what they did: v",) if text != query else ()), query
        assert table(session, "SELECT * FROM v") == before, query
        assert table(session, "SELECT * FROM above") == above, query
        for statement in ("DROP VIEW v", "DROP VIEW above", "ALTER TABLE t RENAME COLUMN b TO a"):
            session.execute(statement)


def test_views_that_cannot_follow_are_named(session: Session) -> None:
    for query, reason in REFUSED:
        session.execute(f"CREATE VIEW v AS {query}")
        source = "st" if "FROM st" in query else "t"
        with pytest.raises(IntegrityError) as caught:
            session.execute(f"ALTER TABLE {source} RENAME COLUMN a TO b CASCADE")
        assert caught.value.condition == "COLUMN_IN_USE"
        assert "The view v cannot follow" in caught.value.message
        assert reason in caught.value.message, query
        assert caught.value.hint
        assert text_of(session, "v") == query
        session.execute("DROP VIEW v")


def test_views_of_views(session: Session) -> None:
    """A view that reads another one needs no change; one behind ``*`` may mean the column."""
    session.execute("CREATE VIEW one AS SELECT a AS a, k FROM t")
    session.execute("CREATE VIEW two AS SELECT one.a, u.y FROM one JOIN u ON one.k = u.k")
    session.execute("CREATE VIEW three AS SELECT t.x, two.a AS c FROM two JOIN t ON two.a = t.a")
    session.execute("CREATE VIEW listed (a, n) AS SELECT x, COUNT(a) AS m FROM t GROUP BY x")
    session.execute("CREATE VIEW all_of_t AS SELECT * FROM t")
    names = ("one", "two", "three", "listed")
    before = {name: table(session, f"SELECT * FROM {name}") for name in names}
    (warning,) = session.execute("ALTER TABLE t RENAME COLUMN a TO `b 2` CASCADE").warnings
    assert warning == "these views use b 2 now, and return what they did: listed, one, three"
    assert {name: table(session, f"SELECT * FROM {name}") for name in names} == before
    assert text_of(session, "three") == "SELECT t.x, two.a AS c FROM two JOIN t ON two.a = t.`b 2`"
    assert table(session, "SELECT * FROM all_of_t")[0] == ["k", "b 2", "x", "p"]
    session.execute("CREATE VIEW behind AS SELECT x AS `b 2` FROM all_of_t")
    with pytest.raises(IntegrityError) as caught:
        session.execute("ALTER TABLE t RENAME COLUMN `b 2` TO b3 CASCADE")
    assert "The view behind cannot follow a new name of b 2: it may read b 2 through a view with *." in str(
        caught.value
    )
    session.execute("DROP VIEW behind")
    session.execute("CREATE TEMPORARY VIEW mine AS SELECT `b 2` AS c FROM t")
    with pytest.raises(IntegrityError, match="The view mine cannot follow a new name of b 2: it is temporary"):
        session.execute("ALTER TABLE t RENAME COLUMN `b 2` TO b3 CASCADE")


def test_drop_takes_the_views_that_use_the_column(session: Session) -> None:
    for name, query in (
        ("one", "SELECT a AS c, k FROM t"),
        ("two", "SELECT COUNT(*) AS n FROM one"),
        ("three", "SELECT two.n, u.a FROM two JOIN u ON u.k = two.n"),
        ("other", "SELECT u.a, t.x FROM u JOIN t ON t.k = u.k"),
        ("named", "SELECT x AS a FROM t"),
        ("starred", "SELECT * FROM t"),
    ):
        session.execute(f"CREATE VIEW {name} AS {query}")
    with pytest.raises(IntegrityError, match="The view named reads t and names a"):
        session.execute("ALTER TABLE t DROP COLUMN a")
    session.execute("CREATE VIEW behind AS SELECT a FROM starred")
    with pytest.raises(IntegrityError) as caught:
        session.execute("ALTER TABLE t DROP COLUMN a CASCADE")
    assert "It is not certain that the view behind does without a: it may read a through a view with *." in str(
        caught.value
    )
    session.execute("DROP VIEW behind")
    before = {name: table(session, f"SELECT * FROM {name}") for name in ("other", "named")}
    (warning,) = session.execute("ALTER TABLE t DROP COLUMN a CASCADE").warnings
    assert warning == "these views were dropped, because they use a: one, two, three"
    assert {view.name for view in session.snapshot().views()} == {"other", "named", "starred"}
    assert {name: table(session, f"SELECT * FROM {name}") for name in before} == before
    assert table(session, "SELECT * FROM starred")[0] == ["k", "x", "p"]


CUBE = """
CREATE CUBE c (page STRING, n BIGINT MEASURE COUNT, ms BIGINT MEASURE SUM, t TIMESTAMP TIME);
CREATE TABLE h (page STRING, n BIGINT, ms BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT f OF CUBE c STORED IN (TABLE h PERIOD DAILY PARTITIONED BY t AS (dt)) ROLLUPS (MONTHLY (page));
INSERT INTO h MARK COMPLETE FROM '2024-01-01' TO '2024-02-01'
  VALUES ('a', 1, 7, '2024-01-02'), ('b', 2, 9, '2024-01-09');
REFRESH FACT f;
CREATE VIEW of_cube AS SELECT page, SUM(ms) AS ms FROM c WHERE t >= '2024-01-01' AND t < '2024-02-01' GROUP BY page;
CREATE VIEW of_fact AS SELECT MAX(ms) AS m FROM f;
CREATE VIEW of_base AS SELECT SUM(ms) AS m FROM h WHERE page = 'a';
CREATE VIEW of_rollup AS SELECT page, ms FROM f_monthly WHERE n > 0;
CREATE VIEW above AS SELECT page, ms FROM of_cube
"""


def test_views_of_cubes_facts_and_their_tables(session: Session) -> None:
    list(session.script(CUBE))
    names = ("of_cube", "of_fact", "of_base", "of_rollup", "above")
    before = {name: table(session, f"SELECT * FROM {name}") for name in names}
    assert before["of_cube"] == (["page", "ms"], ["('a', 7)", "('b', 9)"])
    with pytest.raises(IntegrityError, match=r"names ms\.") as caught:
        session.execute("ALTER CUBE c RENAME COLUMN ms TO millis")
    assert str(caught.value.hint).endswith("CASCADE lets views follow.")
    (warning,) = session.execute("ALTER CUBE c RENAME COLUMN ms TO millis CASCADE").warnings
    assert warning == "these views use millis now, and return what they did: of_cube, of_fact, of_base, of_rollup"
    assert {name: table(session, f"SELECT * FROM {name}") for name in names} == before
    assert text_of(session, "of_rollup") == "SELECT page, millis AS ms FROM f_monthly WHERE n > 0"
    assert session.plan("SELECT * FROM of_cube").uses[0].table.name == "f_monthly"
    (warning,) = session.execute("ALTER CUBE c DROP (millis) CASCADE").warnings
    assert warning == "these views were dropped, because they use millis: of_cube, of_fact, above"
    assert table(session, "SELECT * FROM of_base") == before["of_base"]


EVENTS = """
CREATE CUBE sales (shop STRING, n BIGINT MEASURE COUNT, amount BIGINT MEASURE SUM, best INT MEASURE MAX,
  sold TIMESTAMP TIME);
CREATE TABLE ev (sold TIMESTAMP, shop STRING, cents INT, price INT, note STRING)
  PARTITIONED BY (d STRING);
CREATE FACT g OF CUBE sales STORED IN (TABLE ev PERIOD DAILY PARTITIONED BY sold AS (d)
  RAW (amount AS CAST(cents AS BIGINT) + `PRICE`, best AS price)) ROLLUPS (DAILY (shop), MONTHLY);
INSERT INTO ev VALUES (TIMESTAMP '2024-01-01 10:00:00', 'a', 10, 3, 'x', '2024-01-01'),
  (TIMESTAMP '2024-01-02 11:00:00', 'b', 20, 5, 'y', '2024-01-02');
REFRESH FACT g;
SET rewriter.verify = certificate
"""
SALES = (
    "SELECT shop, COUNT(*), SUM(amount), MAX(best){} FROM sales WHERE sold >= '2024-01-01' AND sold < '2024-01-03' "
    "GROUP BY shop"
)


def fact_text(session: Session) -> str:
    ((text,),) = session.execute("SHOW CREATE FACT g").rows()
    return str(text)


def test_facts_of_events_follow(session: Session) -> None:
    """The cube keeps its columns, and rollups their proofs; the fact says how an event gives the columns."""
    list(session.script(EVENTS))
    rolled, of_events = SALES.format(""), SALES.format(", MAX(sold)")
    before, shown = (table(session, rolled), table(session, of_events)), fact_text(session)
    for old, new in (("shop", "store"), ("cents", "`c 1`"), ("price", "cents"), ("sold", "happened")):
        with pytest.raises(IntegrityError, match="the fact 'g' reads it") as caught:
            session.execute(f"ALTER TABLE ev RENAME COLUMN {old} TO {new}")
        assert caught.value.hint == "CASCADE lets the fact follow: its cube keeps its columns."
        (warning,) = session.execute(f"ALTER TABLE ev RENAME COLUMN {old} TO {new} CASCADE").warnings
        assert warning == f"the fact g reads {new.strip('`')} now, and its cube keeps its columns"
        assert (table(session, rolled), table(session, of_events)) == before
        assert session.plan(rolled).uses[0].table.name == "g_daily"
    raw = "RAW (amount AS CAST(`c 1` AS BIGINT) + cents, best AS cents, shop AS store, sold AS happened)"
    assert raw in fact_text(session)
    session.execute("INSERT INTO ev VALUES (TIMESTAMP '2024-01-02 12:00:00', 'c', 1, 1, 'z', '2024-01-02')")
    session.execute("REFRESH FACT g")
    after = table(session, rolled)
    assert after[1] == ["('a', 1, 13, 3)", "('b', 1, 25, 5)", "('c', 1, 2, 1)"]
    assert all(row[8] in ("agrees", "nothing compared") for row in session.execute("CHECK FACT g").rows())
    session.execute("DROP FACT g")
    (kept,) = session.execute(shown.replace("+ `PRICE`", "+ cents").replace("CAST(cents", "CAST(`c 1`").replace(
        "best AS price", "best AS cents, shop AS store, sold AS happened")).warnings  # fmt: skip
    assert "keeps its proofs: 2 rollup partitions are proven" in kept
    for old, new in (("happened", "sold"), ("cents", "price"), ("`c 1`", "cents"), ("store", "shop")):
        session.execute(f"ALTER TABLE ev RENAME COLUMN {old} TO {new} CASCADE")
    assert "RAW (amount AS CAST(cents AS BIGINT) + price, best AS price)" in fact_text(session)
    assert table(session, rolled) == after


def test_columns_of_events_that_a_fact_does_not_read_are_free(session: Session) -> None:
    list(session.script(EVENTS))
    before = table(session, SALES.format(""))
    session.execute("ALTER TABLE ev RENAME COLUMN note TO remark")
    session.execute("ALTER TABLE ev DROP COLUMN remark")
    for column in ("shop", "cents", "sold"):
        with pytest.raises(IntegrityError, match="the fact 'g' reads it"):
            session.execute(f"ALTER TABLE ev DROP COLUMN {column} CASCADE")
    with pytest.raises(IntegrityError, match="counts the events of this RAW table as n"):
        session.execute("ALTER TABLE ev RENAME COLUMN shop TO n CASCADE")
    assert table(session, SALES.format("")) == before


def test_an_expression_whose_value_has_the_name_of_the_column_does_not_follow(session: Session) -> None:
    before, made, after = EVENTS.partition("CREATE FACT g")
    fact = (made + after).partition(";")[0].replace("best AS price", "best AS length(to_json(struct(price)))")
    list(session.script(before + fact))
    with pytest.raises(IntegrityError) as caught:
        session.execute("ALTER TABLE ev RENAME COLUMN price TO p CASCADE")
    reason = "It cannot follow: the expression of best, length(to_json(struct(price))), names price beside a STRUCT."
    assert caught.value.hint == f"{reason} DROP FACT g first."


def test_facts_of_sums_name_the_change_of_their_cube(session: Session) -> None:
    list(session.script(CUBE))
    for cascade in ("", " CASCADE"):
        with pytest.raises(IntegrityError, match="the fact 'f' reads it") as caught:
            session.execute(f"ALTER TABLE h RENAME COLUMN n TO zz{cascade}")
        assert "ALTER CUBE c RENAME COLUMN n TO zz renames it in all its tables" in str(caught.value.hint)


def no_output_columns(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(column_uses._Search, "_is_output", lambda *_: False)


def no_stars(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(column_uses._Search, "_shows_source", lambda *_: False)


def no_qualifiers(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(column_uses._Search, "_qualifier", lambda *_: "")


def no_aliases(patch: pytest.MonkeyPatch) -> None:
    plain = column_uses.ColumnUses.with_name
    patch.setattr(
        column_uses.ColumnUses,
        "with_name",
        lambda uses, *rest: plain(replace(uses, uses=tuple(replace(use, is_item=False) for use in uses.uses)), *rest),
    )


def every_table_is_a_source(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(column_uses._Search, "_is_source", lambda search, node: search._ctes.cte_of(node) is None)


def names_of_ctes_are_tables(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(column_uses._Search, "_is_source", lambda search, node: node.name.lower() == "t")


@pytest.mark.parametrize(
    ("fault", "seed"),
    [
        (no_output_columns, 171),
        (no_stars, 3),
        (no_qualifiers, 25),
        (no_aliases, 5),
        (every_table_is_a_source, 1),
        (names_of_ctes_are_tables, 8),
    ],
)
def test_planted_faults_are_found(
    session: Session, monkeypatch: pytest.MonkeyPatch, fault: Callable[[pytest.MonkeyPatch], None], seed: int
) -> None:
    fault(monkeypatch)
    with pytest.raises(AssertionError, match=f"seed {seed}"):
        live(session, seed)


# Random views: after each rename they return what they did, or the rename is refused and changes nothing.

#: Tables and views of the random worlds, with their columns.
SOURCES = {"t": ("k", "a", "x", "p"), "u": ("k", "a", "b", "y"), "w": ("k", "y", "b")}


class Queries:
    """Random queries over tables and earlier views, most of which name a column ``a``."""

    def __init__(self, rng: random.Random, sources: dict[str, tuple[str, ...]]) -> None:
        self.rng, self.sources = rng, sources

    def query(self, depth: int = 2) -> tuple[str, tuple[str, ...]]:
        """Returns a query, and the names of its columns."""
        rng = self.rng
        if depth and rng.random() < 0.15:
            (left, names), (right, others) = self.query(depth - 1), self.query(depth - 1)
            if len(names) == len(others) == 1:
                return f"{left} UNION ALL {right}", names
        ctes = ""
        relations = [self.relation(depth) for _ in range(rng.choice((1, 1, 1, 2)))]
        if depth and rng.random() < 0.2:
            name = rng.choice(("q", "t", "a"))
            text, names = self.query(0)
            ctes = f"WITH {name} AS ({text}) "
            relations[0] = (name, rng.choice((name, "r")), names)
        aliases = [alias for _, alias, _ in relations]
        if len(set(aliases)) < len(aliases):
            relations = relations[:1]
        named = [f"{text} {alias}" if text != alias else text for text, alias, _ in relations]
        columns = [(alias, name) for _, alias, names in relations for name in names]
        if not columns:
            return self.query(depth)
        joined = f" JOIN {named[1]} ON {self.condition(columns, 0)}" if len(named) > 1 else ""
        where = f" WHERE {self.condition(columns, depth)}" if rng.random() < 0.6 else ""
        items: dict[str, str] = {}
        for _ in range(rng.choice((1, 1, 2, 3))):
            item, name = self.item(columns)
            items.setdefault(name, item)
        if rng.random() < 0.15:
            keys = self.column(columns)
            count, name = rng.choice((("COUNT(*)", "n"), (f"SUM({self.column(columns)})", "a")))
            tail = rng.choice(("", f" HAVING {keys} > 1", f" ORDER BY {keys}", f" HAVING {count} > 1"))
            key_name = keys.rpartition(".")[2]
            if name != key_name:
                text = f"SELECT {keys}, {count} AS {name} FROM {named[0]}{joined}{where} GROUP BY {keys}{tail}"
                return ctes + text, (key_name, name)
        listed = ", ".join(items.values())
        distinct = rng.choice(("", "", "DISTINCT "))
        order = rng.choice(("", "", f" ORDER BY {self.column(columns)}", f" ORDER BY {next(iter(items))}"))
        if rng.random() < 0.08 and len(relations) == 1:
            return f"{ctes}SELECT * FROM {named[0]}{where}", relations[0][2]
        return f"{ctes}SELECT {distinct}{listed} FROM {named[0]}{joined}{where}{order}", tuple(items)

    def relation(self, depth: int) -> tuple[str, str, tuple[str, ...]]:
        rng = self.rng
        if depth and rng.random() < 0.25:
            text, names = self.query(depth - 1)
            return f"({text})", rng.choice(("d", "e", "a")), names
        name = rng.choice((*self.sources, "t", "t"))
        alias = rng.choice((name, name, "r", "a"))
        return name, alias, self.sources[name]

    def column(self, columns: list[tuple[str, str]]) -> str:
        preferred = [column for column in columns if column[1] == "a"]
        alias, name = self.rng.choice(preferred if preferred and self.rng.random() < 0.6 else columns)
        typed = self.rng.choice((name, name, name.upper(), f"`{name}`"))
        return self.rng.choice((typed, typed, f"{alias}.{typed}"))

    def condition(self, columns: list[tuple[str, str]], depth: int) -> str:
        rng = self.rng
        if depth and rng.random() < 0.4:
            alias, (table, names) = "i", rng.choice(list(self.sources.items()))
            inner = [(alias, name) for name in names]
            both = [*columns, *inner, *inner]
            if rng.random() < 0.5:
                return f"{self.column(columns)} IN (SELECT {self.column(inner)} FROM {table} {alias})"
            return f"EXISTS (SELECT 1 FROM {table} {alias} WHERE {self.column(both)} = {self.column(both)})"
        return f"{self.column(columns)} {rng.choice(('>', '=', '<>'))} {rng.choice(('1', '10', self.column(columns)))}"

    def item(self, columns: list[tuple[str, str]]) -> tuple[str, str]:
        rng, column = self.rng, self.column(columns)
        plain = column.rpartition(".")[2].strip("`").lower()
        name = rng.choice(("c", "d", "a", "x", "z"))
        return rng.choice(
            (
                (column, plain),
                (column, plain),
                (f"{column} AS {name}", name),
                (f"CASE WHEN {column} = {self.column(columns)} THEN 1 END AS {name}", name),
                (f"ROW_NUMBER() OVER (ORDER BY {column}, {self.column(columns)}) AS {name}", name),
            )
        )


def live(session: Session, seed: int) -> tuple[int, int]:
    """Makes random views, and renames a column of t. Returns how many renames were made, and how many refused."""
    rng = random.Random(seed)
    queries = Queries(rng, dict(SOURCES))
    made: list[str] = []
    while len(made) < 4:
        text, names = queries.query()
        name = f"v{len(made)}"
        try:
            session.execute(f"CREATE VIEW {name} AS {text}")
        except Error:
            continue
        try:
            table(session, f"SELECT * FROM {name}")
        except Error:
            session.execute(f"DROP VIEW {name}")
            continue
        made.append(name)
        queries.sources[name] = names
    before = {name: table(session, f"SELECT * FROM {name}") for name in made}
    texts = {name: text_of(session, name) for name in made}
    followed = refused = 0
    note = f"seed {seed}: {texts}"
    old, new = "a", rng.choice(("b", "b2", "`a 2`"))
    try:
        session.execute(f"ALTER TABLE t RENAME COLUMN {old} TO {new} CASCADE")
        followed += any(text_of(session, name) != text for name, text in texts.items())
        for name in made:
            after, told = table(session, f"SELECT * FROM {name}"), f"{note} {text_of(session, name)}"
            assert after[1] == before[name][1], told
            # A view with * shows the new name, and no view that names the old one reads it.
            has_star = any("*" in text.replace("COUNT(*)", "") for text in texts.values())
            assert has_star or after[0] == before[name][0], told
        undo = f"ALTER TABLE t RENAME COLUMN {new} TO {old}"
    except Error as error:
        if error.condition != "COLUMN_IN_USE":
            raise AssertionError(f"{note} {error}") from error
        assert {name: text_of(session, name) for name in made} == texts
        refused, undo = 1, ""
    for name in reversed(made):
        session.execute(f"DROP VIEW {name}")
    if undo:
        session.execute(undo)
    return followed, refused


def test_random_views_return_what_they_did(session: Session) -> None:
    followed = refused = 0
    for seed in share(range(300), 10):
        ups, downs = live(session, seed)
        followed, refused = followed + ups, refused + downs
    assert followed


@pytest.mark.long
@pytest.mark.parametrize("first", range(1000, 5000, 100))
def test_many_random_views_return_what_they_did(session: Session, first: int) -> None:
    for seed in range(first, first + 100):
        live(session, seed)
