"""Views and shared CTEs become derived tables; messages about them point to the user's text."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest

from rewriter.catalog.model.objects import Column, Fact, Table, View
from rewriter.errors import AnalysisError, Error, InternalError, NotSupportedError, ParseError, Span
from rewriter.grammar.lexer import tokens
from rewriter.planner.scope.blocks import resolve
from rewriter.planner.scope.expand_views import expand, is_projection
from rewriter.planner.text.derived_text import in_view
from rewriter.planner.text.query_text import QueryText
from tests.unit.planner.fakes import AIRLINES, FACT, FakeReader, table

U = Table(30, "u", (Column("a", "int"), Column("b", "int")), (), "parquet", "/warehouse/u")
VIEWS: dict[str, str | tuple[str, ...]] = {
    "v": "SELECT a FROM u",
    "listed": ("SELECT a, b FROM u", "x", "y z"),
    "over_view": "SELECT listed.x FROM v JOIN default.listed ON default.v.a = listed.x",
    "over_cube": "SELECT origin, flights, departed FROM flights",
    "over_fact": "SELECT * FROM flights_all",
    "over_file": "SELECT * FROM parquet.`/a b/c.parquet`",
    "commented": "/* é */ SELECT a -- one\r\nFROM u -- two",
    "own_cte": "WITH u AS (SELECT a FROM u), w AS (SELECT a FROM u) SELECT a FROM w",
    "union_": "(SELECT a FROM u) UNION ALL (SELECT b FROM u)",
    "one": "VALUES (1)",
    "broken": "SELECT a FROM gone",
    "over_broken": "SELECT * FROM broken",
    "unreadable": "SELECT a FROM u WHERE",
    "circle": "SELECT * FROM round_",
    "round_": "SELECT * FROM CIRCLE",
    "loose": "SELECT a FROM u WHERE c > 1",
    "file_column": "SELECT a FROM parquet.`/f`",
    "subquery": "SELECT a FROM u WHERE EXISTS (SELECT 1 FROM v WHERE v.a = u.b)",
    "grouped": "SELECT a + 1 AS n, COUNT(*) AS c FROM u x GROUP BY n HAVING c > 1 ORDER BY c",
}


class Reader(FakeReader):
    """The catalog of the planner's tests with a table ``u`` and views: a query each, or a query and columns."""

    def __init__(self, views: Mapping[str, str | Sequence[str]]) -> None:
        tables = (table(10, "hourly", "dt"), table(11, "daily", "ds"), table(12, "monthly", "month"), AIRLINES, U)
        super().__init__((FACT,), tables, {})
        self._views = {name: _view(number, name, text) for number, (name, text) in enumerate(views.items(), 100)}

    def find_view(self, name: str) -> View | None:
        return self._views.get(name.lower())

    def views(self) -> tuple[View, ...]:
        return tuple(self._views.values())


def _view(number: int, name: str, text: str | Sequence[str]) -> View:
    query, *columns = (text,) if isinstance(text, str) else text
    return View(number, name, query, tuple((column, None) for column in columns))


def expanded(sql: str, views: Mapping[str, str | Sequence[str]] = VIEWS, created_view: str | None = None) -> str:
    return expand(QueryText(sql), Reader(views), created_view).text


def failure(sql: str, views: Mapping[str, str | Sequence[str]] = VIEWS) -> Error:
    """Returns the error of the expansion, or of the look-up of the resulting names."""
    text = QueryText(sql)
    try:
        text = expand(text, Reader(views))
        resolve(text, Reader(views))
    except Error as error:
        return in_view(error, text)
    pytest.fail(f"{sql} raised nothing")


def marked(text: str) -> tuple[str, Span]:
    """Returns the text without « and », and the excerpt between them."""
    start, end = text.index("«"), text.index("»") - 1
    return text.replace("«", "").replace("»", ""), Span(start, end)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "SELECT a FROM u -- v",
        "SELECT v, 'v', v.a FROM u AS v",
        "WITH v AS (SELECT 1 AS a) SELECT * FROM v",
        "WITH v AS (SELECT 1 AS a) SELECT (SELECT MAX(a) FROM V) FROM u",
        "SELECT * FROM elsewhere.v",
        "SELECT * FROM a.default.v",
        "SELECT * FROM parquet.`v`",
        "WITH c AS (SELECT * FROM flights) SELECT COUNT(*) FROM c",
    ],
)
def test_a_query_without_views_and_shared_ctes_is_the_same_object(sql: str) -> None:
    text = QueryText(sql)
    assert expand(text, Reader(VIEWS)) is text


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM v", "SELECT * FROM (SELECT a FROM default.u) AS v"),
        ("SELECT * FROM V", "SELECT * FROM (SELECT a FROM default.u) AS V"),
        ("SELECT * FROM `v`WHERE a = 1", "SELECT * FROM (SELECT a FROM default.u) AS v WHERE a = 1"),
        ("SELECT * FROM v x", "SELECT * FROM (SELECT a FROM default.u) x"),
        ("SELECT * FROM v AS `x y`", "SELECT * FROM (SELECT a FROM default.u) AS `x y`"),
        ("SELECT * FROM v AS x (k)", "SELECT * FROM (SELECT a FROM default.u) AS x (k)"),
        (
            "SELECT * FROM listed PIVOT (SUM(x) FOR `y z` IN (1)) AS p",
            "SELECT * FROM (SELECT a, b FROM default.u) AS listed(x, `y z`) PIVOT (SUM(x) FOR `y z` IN (1)) AS p",
        ),
        ("SELECT * FROM listed", "SELECT * FROM (SELECT a, b FROM default.u) AS listed(x, `y z`)"),
        ("SELECT * FROM listed l, u", "SELECT * FROM (SELECT a, b FROM default.u) l(x, `y z`), u"),
        ("SELECT * FROM listed AS l (p, q)", "SELECT * FROM (SELECT a, b FROM default.u) AS l (p, q)"),
        (
            "SELECT default.v.a, v.a, default.v.* FROM default.v",
            "SELECT v.a, v.a, v.* FROM (SELECT a FROM default.u) AS v",
        ),
        (
            "SELECT * FROM over_view",
            "SELECT * FROM (SELECT listed.x FROM (SELECT a FROM default.u) AS v JOIN "
            "(SELECT a, b FROM default.u) AS listed(x, `y z`) ON v.a = listed.x) AS over_view",
        ),
        (
            "SELECT * FROM over_cube",
            "SELECT * FROM (SELECT origin, flights, departed FROM default.flights) AS over_cube",
        ),
        ("SELECT * FROM over_fact", "SELECT * FROM (SELECT * FROM default.flights_all) AS over_fact"),
        ("SELECT * FROM over_file", "SELECT * FROM (SELECT * FROM parquet.`/a b/c.parquet`) AS over_file"),
        ("SELECT * FROM commented", "SELECT * FROM (SELECT a -- one\r\nFROM default.u) AS commented"),
        (
            "SELECT * FROM union_",
            "SELECT * FROM ((SELECT a FROM default.u) UNION ALL (SELECT b FROM default.u)) AS union_",
        ),
        ("SELECT * FROM one", "SELECT * FROM (SELECT * FROM VALUES (1)) AS one"),
        ("FROM v SELECT a", "FROM (SELECT a FROM default.u) AS v SELECT a"),
        ("SELECT * FROM (v) AS x", "SELECT * FROM ((SELECT a FROM default.u) AS v) AS x"),
        (
            "SELECT * FROM u JOIN v ON u.a = v.a UNION ALL SELECT * FROM v, v AS w",
            "SELECT * FROM u JOIN (SELECT a FROM default.u) AS v ON u.a = v.a UNION ALL "
            "SELECT * FROM (SELECT a FROM default.u) AS v, (SELECT a FROM default.u) AS w",
        ),
        (
            "SELECT (SELECT MAX(a) FROM v) FROM u WHERE a IN (SELECT a FROM v) AND EXISTS (SELECT 1 FROM v)",
            "SELECT (SELECT MAX(a) FROM (SELECT a FROM default.u) AS v) FROM u WHERE a IN "
            "(SELECT a FROM (SELECT a FROM default.u) AS v) AND EXISTS (SELECT 1 FROM (SELECT a FROM default.u) AS v)",
        ),
        (
            "WITH c AS (SELECT * FROM v) SELECT * FROM c",
            "WITH c AS (SELECT * FROM (SELECT a FROM default.u) AS v) SELECT * FROM c",
        ),
        (
            "SELECT /*+ BROADCAST(v) */ * FROM v LATERAL VIEW explode(array(1)) e AS n",
            "SELECT /*+ BROADCAST(v) */ * FROM (SELECT a FROM default.u) AS v LATERAL VIEW explode(array(1)) e AS n",
        ),
    ],
)  # fmt: skip
def test_a_view_becomes_a_derived_table(sql: str, expected: str) -> None:
    assert expanded(sql) == expected
    assert QueryText(expected).unread() is None


def test_a_cte_of_the_query_does_not_get_into_a_body() -> None:
    sql = "WITH u AS (SELECT 9 AS a) SELECT * FROM v, u"
    assert expanded(sql) == "WITH u AS (SELECT 9 AS a) SELECT * FROM (SELECT a FROM default.u) AS v, u"
    # The view inside a view is a derived table of its own, whatever the query calls v.
    sql = "WITH v AS (SELECT 9 AS a), listed AS (SELECT 9 AS x) SELECT * FROM over_view, v, listed"
    assert expanded(sql).count("(SELECT a FROM default.u) AS v JOIN (SELECT a, b FROM default.u) AS listed") == 1
    assert expanded(sql).endswith("AS over_view, v, listed")


def test_a_cte_of_a_body_stays_inside() -> None:
    assert expanded("SELECT * FROM own_cte, u") == (
        "SELECT * FROM (WITH u AS (SELECT a FROM default.u), w AS (SELECT a FROM u) SELECT a FROM w) AS own_cte, u"
    )


@pytest.mark.parametrize(
    "text",
    [
        "SELECT «k1», v.a\r\n, '中' /* é */ FROM v, u",
        "SELECT v.a\r\n, '中😀' /* é */ FROM over_view, v WHERE `é` = «k1»",
        "WITH c AS (SELECT a FROM v) SELECT * FROM c, default.listed «k1»",
        "SELECT * FROM listed AS «k1»",
        "WITH c AS (SELECT * FROM over_cube WHERE origin = «'k1'») SELECT * FROM c, c AS d, v",
    ],
)
def test_words_of_the_query_keep_their_places(text: str) -> None:
    sql, span = marked(text)
    expansion = expand(QueryText(sql, 1000), Reader(VIEWS))
    places = [expansion.place(token.span) for token in expansion.tokens if token.text in ("k1", "'k1'")]
    assert places
    assert set(places) == {span.shifted(1000)}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 'é',\r\n* FROM «over_cube»",
        "SELECT * FROM v, «default.over_cube» AS x",
        "SELECT * FROM u WHERE EXISTS (SELECT 1 FROM «over_cube» WHERE flights > 1)",
    ],
)
def test_the_words_of_a_body_have_the_place_of_the_view_s_name(text: str) -> None:
    sql, span = marked(text)
    expansion = expand(QueryText(sql, 10), Reader(VIEWS))
    words = [expansion.place(token.span) for token in expansion.tokens if token.text in ("origin", "departed")]
    assert words == [span.shifted(10)] * 2
    start = expansion.text.index("SELECT origin")
    assert expansion.place(Span(start, expansion.text.index("FROM default.flights"))) == span.shifted(10)
    cube = next(source for block in resolve(expansion, Reader(VIEWS)).blocks for source in block.cubes)
    assert expansion.place(cube.span) == span.shifted(10)


@pytest.mark.parametrize(
    ("text", "condition", "message"),
    [
        ("SELECT *\r\nFROM «broken»", "TABLE_OR_VIEW_NOT_FOUND", "The view broken reads gone"),
        ("SELECT * FROM v, «default.over_broken» x", "TABLE_OR_VIEW_NOT_FOUND", "The view broken reads gone"),
        ("SELECT * FROM «circle»", "RECURSIVE_VIEW", "circle -> round_ -> circle"),
        ("SELECT * FROM «unreadable»", "PARSE_SYNTAX_ERROR", "The query of the view unreadable"),
        ("SELECT * FROM «v» TABLESAMPLE (10 PERCENT)", "UNSUPPORTED", "the view v"),
        ("SELECT * FROM «v» VERSION AS OF 1", "UNSUPPORTED", "the view v"),
        ("SELECT * FROM «listed» AS x (p)", "ASSIGNMENT_ARITY_MISMATCH", "2 columns, but 1 names"),
        ("SELECT * FROM v, «gone»", "TABLE_OR_VIEW_NOT_FOUND", "The table, cube or fact gone"),
        ("SELECT * FROM v, «gone» AS g", "TABLE_OR_VIEW_NOT_FOUND", "The table, cube or fact gone cannot be found."),
    ],
)
def test_errors_say_which_view_and_where_it_is_named(text: str, condition: str, message: str) -> None:
    sql, span = marked(text)
    error = failure(sql)
    assert (error.condition, error.position) == (condition, span)
    assert message in error.message
    assert error.object


@pytest.mark.parametrize(
    "call",
    [
        "reflect('java.lang.System', 'exit', 1) AS a",
        "`Java_Method` ('a', 'b') AS a",
        "system.builtin.TRY_REFLECT('a') AS a",
        "IDENTIFIER('reflect') AS a",
        "TRANSFORM(a) USING 'touch file' AS (a STRING)",
        """transform /* a list */ (a) using "touch file" AS (a STRING)""",
    ],
)
def test_a_view_brings_its_readers_no_code(call: str) -> None:
    reader = Reader({"v": f"SELECT {call} FROM u", "over": "SELECT a FROM v", "reflect": "SELECT 'reflect(1)' AS a"})
    for name in ("v", "over"):
        with pytest.raises(NotSupportedError) as raised:
            expand(QueryText(f"SELECT a FROM {name}"), reader)
        assert (raised.value.condition, raised.value.object) == ("CODE_IN_VIEW", "v")
        assert raised.value.position is not None
    # A query of the reader's own may; and the words alone are no call.
    expand(QueryText(f"SELECT {call} FROM u"), reader)
    expand(QueryText("SELECT a FROM reflect"), reader)
    reader = Reader({"v": "SELECT transform(array(u.a), x -> x) AS a FROM u JOIN u AS w USING (a) WHERE 'using' > 'x'"})
    expand(QueryText("SELECT a FROM v"), reader)


def test_an_error_inside_a_body_names_the_view() -> None:
    views = {"w": "SELECT * FROM (flights) TABLESAMPLE (1 ROWS)", "z": "SELECT * FROM w"}
    text = expand(QueryText("SELECT * FROM u, z"), Reader(views))
    inside = Span(text.text.index("flights"), text.text.index("flights") + 7)
    error = in_view(NotSupportedError("No.", position=text.place(inside)), text)
    assert error.message == "In the view z: No."
    outside = in_view(NotSupportedError("No.", position=text.place(Span(14, 15))), text)
    assert outside.message == "No."


@pytest.mark.parametrize(
    "body", ["SELECT * FROM new", "SELECT * FROM v", "WITH x AS (SELECT * FROM V) SELECT 1 FROM x"]
)
def test_a_view_must_not_read_itself(body: str) -> None:
    views = {"v": "SELECT a FROM u", "new": "SELECT * FROM v"}
    with pytest.raises(AnalysisError) as caught:
        expanded(body, views, created_view="V")
    assert (caught.value.condition, caught.value.sqlstate) == ("RECURSIVE_VIEW", "42K0H")


def test_views_over_views_do_not_grow_without_end() -> None:
    views = {"v0": "SELECT a FROM u"} | {f"v{n}": f"SELECT x.a FROM v{n - 1} x, v{n - 1} y" for n in range(1, 40)}
    error = failure("SELECT * FROM v39", views)
    assert isinstance(error, NotSupportedError)
    assert error.position == Span(14, 17)


def test_views_over_views_are_not_read_without_end() -> None:
    views = {"v0": "SELECT a FROM u"} | {f"v{n}": f"SELECT a FROM v{n - 1}" for n in range(1, 200)}
    error = failure("SELECT * FROM v199", views)
    assert (error.condition, error.position) == ("VIEW_EXCEED_MAX_NESTED_DEPTH", Span(14, 18))
    assert expanded("SELECT * FROM v20", views).count("SELECT a FROM") == 21


@pytest.mark.parametrize(
    ("sql", "certain"),
    [
        ("SELECT * FROM loose, u", True),  # a derived table sees nothing beside it
        ("SELECT * FROM (SELECT * FROM loose)", True),
        ("WITH x AS (SELECT * FROM loose) SELECT * FROM x UNION SELECT * FROM loose", True),
        ("SELECT * FROM u WHERE a IN (SELECT a FROM loose)", False),
        ("SELECT (SELECT MAX(a) FROM loose) FROM u", False),
        ("SELECT ((SELECT MAX(a) FROM loose)) + 1 FROM u", False),
        ("SELECT * FROM u JOIN u AS o ON (SELECT MAX(a) FROM loose) > 1", False),
        ("SELECT * FROM u WHERE (SELECT MAX(a) > 1 FROM u JOIN (SELECT * FROM loose) x)", False),
        ("SELECT a FROM u ORDER BY (SELECT MAX(a) FROM loose)", False),
        ("SELECT a FROM u JOIN (SELECT * FROM loose UNION SELECT 1) x", True),
        ("SELECT * FROM u WHERE EXISTS (SELECT 1 FROM (SELECT * FROM loose) x)", False),
        ("SELECT * FROM u WHERE EXISTS (WITH x AS (SELECT * FROM loose) SELECT 1 FROM x)", False),
        ("SELECT * FROM u, LATERAL (SELECT * FROM loose)", False),
        ("SELECT * FROM u WHERE a IN (SELECT a FROM file_column)", False),
        ("SELECT * FROM u WHERE a IN (SELECT a FROM v)", True),
        ("SELECT * FROM u WHERE a IN (SELECT a FROM subquery)", True),
        ("SELECT * FROM u WHERE a IN (SELECT n FROM grouped)", True),
        ("SELECT * FROM u WHERE a IN (SELECT `y z` FROM listed)", True),
        ("SELECT * FROM u WHERE a IN (SELECT flights FROM over_cube)", True),
        ("SELECT * FROM u WHERE a IN (SELECT a FROM own_cte)", True),
        ("SELECT * FROM u WHERE a IN (SELECT x FROM over_view)", True),
    ],
)
def test_a_body_takes_no_column_of_the_query_around_it(sql: str, certain: bool) -> None:
    if certain:
        assert expanded(sql) != sql
        return
    error = failure(sql)
    assert isinstance(error, NotSupportedError)
    assert "is ambiguous" in error.message
    assert error.position is not None
    assert sql[error.position.start : error.position.end] in ("loose", "file_column")


@pytest.mark.parametrize(
    "body",
    [
        "SELECT x.c FROM u x",
        "SELECT a FROM u JOIN (SELECT b AS k FROM u WHERE k = 1) y ON u.a = y.k",
        "SELECT u.c.d FROM u",
        "SELECT a FROM u WHERE n = 1 AND a + 1 = (SELECT 1 AS n)",
        "SELECT * FROM (SELECT a FROM u) WHERE b = 1",
        "SELECT carrier FROM airlines ORDER BY origin",
        "SELECT a, EXPLODE(b) FROM u WHERE col = 1",
    ],
)
def test_columns_that_might_be_another_s_are_seen(body: str) -> None:
    error = failure("SELECT * FROM u AS o WHERE EXISTS (SELECT 1 FROM w)", {"w": body})
    assert isinstance(error, NotSupportedError)
    assert expanded("SELECT * FROM w", {"w": body}).startswith("SELECT * FROM (SELECT ")


C = "SELECT origin, departed FROM default.flights"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "WITH c AS (SELECT origin, departed FROM flights) SELECT * FROM c, c AS d",
            f"SELECT * FROM ({C}) AS c, ({C}) AS d",
        ),
        (
            "WITH one AS (SELECT 1), c AS (SELECT origin, departed FROM flights), two AS (SELECT 2) "
            "SELECT * FROM c UNION ALL SELECT * FROM c JOIN one JOIN two",
            f"WITH one AS (SELECT 1), two AS (SELECT 2) SELECT * FROM ({C}) AS c UNION ALL "
            f"SELECT * FROM ({C}) AS c JOIN one JOIN two",
        ),
        (
            "WITH one AS (SELECT 1), c AS (SELECT origin, departed FROM flights -- it's\n) SELECT * FROM c, c d, one",
            f"WITH one AS (SELECT 1) SELECT * FROM ({C}) AS c, ({C}) d, one",
        ),
        (
            "WITH c (o, `t 1`) AS (SELECT origin, departed FROM flights) SELECT * FROM c, c AS d, c e (x, y)",
            f"SELECT * FROM ({C}) AS c(o, `t 1`), ({C}) AS d(o, `t 1`), ({C}) e (x, y)",
        ),
        (
            "WITH c AS (SELECT origin, departed FROM flights), d AS (SELECT * FROM c WHERE origin = 'A') "
            "SELECT * FROM d x, d y",
            f"SELECT * FROM (SELECT * FROM ({C}) AS c WHERE origin = 'A') x, "
            f"(SELECT * FROM ({C}) AS c WHERE origin = 'A') y",
        ),
        (
            "WITH c AS (SELECT origin, departed FROM flights), d AS (SELECT COUNT(*) AS n FROM c) SELECT * FROM c, d",
            f"WITH d AS (SELECT COUNT(*) AS n FROM ({C}) AS c) SELECT * FROM ({C}) AS c, d",
        ),
        (
            "WITH c AS (SELECT origin, departed FROM flights) "
            "SELECT * FROM c, (WITH flights AS (SELECT 1 AS origin) SELECT c.origin FROM c, flights) d",
            f"SELECT * FROM ({C}) AS c, "
            f"(WITH flights AS (SELECT 1 AS origin) SELECT c.origin FROM ({C}) AS c, flights) d",
        ),
        (
            "SELECT * FROM (WITH c AS (SELECT origin, departed FROM default.flights)SELECT * FROM c, c d)",
            f"SELECT * FROM (SELECT * FROM ({C}) AS c, ({C}) d)",
        ),
        (
            "WITH c AS (SELECT origin FROM over_cube) SELECT * FROM c JOIN c d",
            "SELECT * FROM (SELECT origin FROM (SELECT origin, flights, departed FROM default.flights) AS over_cube) "
            "AS c JOIN (SELECT origin FROM (SELECT origin, flights, departed FROM default.flights) AS over_cube) d",
        ),
    ],
)
def test_a_shared_cte_over_a_cube_is_copied(sql: str, expected: str) -> None:
    assert expanded(sql) == expected
    assert QueryText(expected).unread() is None


@pytest.mark.parametrize(
    "sql",
    [
        "WITH c AS (SELECT * FROM u) SELECT * FROM c, c AS d",
        "WITH c AS (SELECT * FROM parquet.`/f`) SELECT * FROM c, c AS d",
        "WITH c AS (SELECT COUNT(*) FROM flights) SELECT * FROM c, c AS d",
        "WITH c AS (SELECT DISTINCT origin FROM flights) SELECT * FROM c, c AS d",
        "WITH c AS (SELECT origin FROM flights LIMIT 1) SELECT * FROM c, c AS d",
        "WITH c AS (SELECT origin, rand() FROM flights) SELECT * FROM c, c AS d",
        "WITH c AS (SELECT origin FROM flights, u) SELECT * FROM c, c AS d",
        "WITH c AS (SELECT origin FROM flights TABLESAMPLE (1 ROWS)) SELECT * FROM c, c AS d",
        "WITH c AS (SELECT origin FROM flights) SELECT * FROM c, c TABLESAMPLE (1 ROWS)",
        "WITH c AS (SELECT origin FROM flights UNION SELECT carrier FROM flights) SELECT * FROM c, c AS d",
        "WITH c AS (SELECT origin FROM flights), d AS (SELECT 1 FROM c LIMIT 1) SELECT * FROM d, d AS e",
        "WITH c AS (SELECT origin FROM (SELECT * FROM flights LIMIT 1)) SELECT * FROM c, c AS d",
        "WITH RECURSIVE c AS (SELECT origin FROM flights) SELECT * FROM c, c AS d",
        "WITH c (x, y) AS (SELECT * FROM flights) SELECT * FROM c, c AS d",
        "WITH c AS (SELECT f.* FROM flights f) SELECT * FROM c, c AS d (x, y)",
        # Unknown here, this column would be the outer one's in a copy.
        "WITH c AS (SELECT origin, a FROM flights) SELECT * FROM u WHERE EXISTS (SELECT 1 FROM c, c AS d)",
    ],
)
def test_other_ctes_stay(sql: str) -> None:
    assert expanded(sql) == sql


def test_a_copy_has_the_place_of_its_definition() -> None:
    sql = "WITH é AS (SELECT origin,\r\n departed AS t FROM flights WHERE flights > 1)\nSELECT * FROM é x, é AS y"
    text = expand(QueryText(sql, 5), Reader(VIEWS))
    for word in ("origin", "departed", "1"):
        places = [text.place(token.span) for token in text.tokens if token.text == word]
        assert places == [Span(sql.index(word), sql.index(word) + len(word)).shifted(5)] * 2
    start = sql.index("flights")
    cubes = [source for block in resolve(text, Reader(VIEWS)).blocks for source in block.cubes]
    assert [text.place(cube.span) for cube in cubes] == [Span(start, start + 7).shifted(5)] * 2
    condition = text.text.index("flights > 1")
    assert text.place(Span(condition, condition + 11)) == Span(sql.index("flights >"), sql.index(")")).shifted(5)


def test_a_copy_of_a_cte_over_a_view_has_the_place_of_the_view_s_name() -> None:
    sql, span = marked("WITH é AS (SELECT departed FROM «over_cube»)\r\nSELECT * FROM é x, é AS y")
    text = expand(QueryText(sql, 5), Reader(VIEWS))
    inside = [token.span for token in text.tokens if token.text == "flights"]
    assert [text.place(inner) for inner in inside] == [span.shifted(5)] * 4
    error = in_view(NotSupportedError("No.", position=text.place(inside[-1])), text)
    assert error.message == "In the view over_cube: No."


@pytest.mark.parametrize("name", ["a-b", "x`y", "select", "é 中"])
def test_names_of_views_are_quoted_where_they_must_be(name: str) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    expansion = expanded(f"SELECT {quoted}.a FROM {quoted}", {name: "SELECT a FROM u"})
    assert expansion == f"SELECT {quoted}.a FROM (SELECT a FROM default.u) AS {quoted}"


def test_a_place_of_nothing_in_a_derived_text() -> None:
    text = expand(QueryText("SELECT * FROM v", 3), Reader(VIEWS))
    assert text.place(Span(0, 0)).start == 3
    assert text.place(Span(len(text.text), len(text.text) + 1)).end <= 3 + len("SELECT * FROM v") + 1


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM flights", True),
        ("SELECT upper(origin) AS o, time_range_in(departed, '2013') FROM flights f WHERE departed >= now()", True),
        ("SELECT a FROM (SELECT a FROM u WHERE b = 1) WHERE a IN (1, 2)", True),
        ("SELECT a FROM (SELECT a FROM u ORDER BY a LIMIT 1)", False),
        ("SELECT a FROM u WHERE a IN (SELECT a FROM u)", False),
        ("SELECT a FROM u WHERE EXISTS (SELECT 1 FROM u)", False),
        ("SELECT SUM(a) FROM u", False),
        ("SELECT a FROM u GROUP BY a", False),
        ("SELECT a FROM u ORDER BY a", False),
        ("SELECT a FROM u SORT BY a", False),
        ("SELECT ROW_NUMBER() OVER (ORDER BY a) FROM u", False),
        ("SELECT explode(a) FROM u", False),
        ("SELECT a FROM u LATERAL VIEW explode(array(1)) e AS n", False),
        ("SELECT uuid() FROM u", False),
        ("SELECT unheard_of(a) FROM u", False),
        ("SELECT a FROM u x JOIN u y ON x.a = y.a", False),
        ("SELECT 1", False),
        ("WITH c AS (SELECT 1) SELECT a FROM u", False),
        ("VALUES (1)", False),
        ("SELECT a FROM u UNION ALL SELECT a FROM u", False),
    ],
)
def test_what_only_projects_and_filters(sql: str, expected: bool) -> None:
    assert is_projection(QueryText(sql).tree) is expected


def test_a_fact_is_a_cube_to_a_shared_cte() -> None:
    assert isinstance(Reader(VIEWS).find("flights_all"), Fact)
    sql = "WITH c AS (SELECT origin FROM flights_all) SELECT * FROM c, c d"
    assert expanded(sql).count("(SELECT origin FROM default.flights_all)") == 2


def test_an_unreadable_body_is_an_error_of_reading() -> None:
    assert isinstance(failure("SELECT * FROM unreadable"), ParseError)


_SEEDS = (
    "WITH c AS (SELECT origin, departed FROM flights), d (x) AS (SELECT origin FROM c WHERE origin = 'A') "
    "SELECT * FROM d, d AS e JOIN c ON c.origin = d.x",
    "WITH one AS (SELECT 1), c AS (SELECT origin FROM flights -- x\n) SELECT (SELECT MAX(origin) FROM c), default.v.a "
    "FROM c, one, default.v UNION ALL SELECT * FROM listed AS l (p, q)",
    "SELECT l.x, `y z`, 'é' FROM listed l LEFT JOIN (v) AS k ON l.x = k.a WHERE EXISTS (SELECT 1 FROM over_view)",
    "SELECT * FROM (v JOIN own_cte o USING (a)) LATERAL VIEW explode(array(1)) e AS n, over_cube",
    "SELECT * FROM u WHERE a IN (WITH c AS (SELECT * FROM flights) SELECT a FROM c JOIN c d)",
)
_WORDS = (
    ",", "(", ")", "AS", "WITH", "FROM", "SELECT", "v", "default.", "listed", "c", "JOIN", "TABLESAMPLE (1 ROWS)",
    "PIVOT (SUM(a) FOR a IN (1))", "RECURSIVE", "LATERAL", "-- x\n", "/* v */", "`v`", "LIMIT 1", "DISTINCT", "UNION",
    "VERSION AS OF 1", "(a, b)", ".", "VALUES (1)", "{", "x", "*", "TABLE", "/*+ BROADCAST(v) */",
)  # fmt: skip


def _mutated(sql: str, chance: random.Random) -> str:
    words = [token.text for token in tokens(sql)]
    for _ in range(chance.randint(1, 4)):
        at, second = chance.randrange(len(words)), chance.randrange(len(words))
        kind = chance.randrange(4)
        if kind == 0:
            words[at : at + 1] = []
        elif kind == 1:
            words.insert(at, chance.choice(_WORDS))
        elif kind == 2:
            words[at] = chance.choice(_WORDS)
        else:
            words[at], words[second] = words[second], words[at]
    return " ".join(words)


def _expanded_or_error(text: QueryText, reader: Reader) -> QueryText | Error:
    try:
        return expand(text, reader)
    except Error as error:
        return error


def test_any_text_is_expanded_or_gives_an_error_of_ours_with_a_place() -> None:
    reader, read = Reader(VIEWS), 0
    for seed in range(3000):
        chance = random.Random(seed)
        sql = _mutated(chance.choice(_SEEDS), chance)
        try:
            text = QueryText(sql)
            if text.unread() is not None:
                continue
        except ParseError:
            continue  # no text of the lexer's
        read += 1
        expansion = _expanded_or_error(text, reader)
        if isinstance(expansion, Error):
            assert not isinstance(expansion, InternalError), (seed, sql)
            assert expansion.position is not None, (seed, sql)
            assert 0 <= expansion.position.start < expansion.position.end <= len(sql) + 1, (seed, sql)
            continue
        for token in expansion.tokens:
            original = expansion.place(token.span)
            assert 0 <= original.start < original.end <= len(sql), (seed, sql)
    assert read > 200
