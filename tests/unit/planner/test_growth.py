"""The work of planning grows with the text: twice the text is about twice the work, whatever is named how often.

Work is counted in lines of Python that are executed, which are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rewriter.errors import NotSupportedError, ParseError, Span
from rewriter.grammar.lexer import tokens
from tests.unit.executed_lines import executed_lines
from tests.unit.planner.fakes import plan

CUBE = "SELECT carrier, distance, departed FROM flights WHERE departed >= '2013-02-01' AND departed < '2013-02-03'"
SUMS = (
    "SELECT carrier, SUM(distance) AS distance FROM flights WHERE departed >= '2013-02-01' AND departed < '2013-02-03' "
    "GROUP BY carrier"
)
TABLE = "SELECT carrier, name AS distance FROM airlines"
#: Linear work with a factor for what is little and grows faster: the square would be 4.
MOST = 2.6


def growth(text: Callable[[int], str], length: int) -> float:
    """Returns the factor by which the work of planning grows if a text gets twice as long."""
    few, many = text(length), text(2 * length)
    plan(few, partial_data=True)  # what is cached is not counted
    return executed_lines(lambda: plan(many, partial_data=True)) / executed_lines(lambda: plan(few, partial_data=True))


def chained(first: str, step: str, last: str, length: int) -> str:
    """Returns a chain of CTEs: ``{0}`` in ``step`` and ``last`` is the previous one."""
    ctes = [f"c0 AS ({first})", *(f"c{n} AS ({step.format(f'c{n - 1}')})" for n in range(1, length))]
    return f"WITH {', '.join(ctes)} {last.format(f'c{length - 1}')}"


def disjunction(term: str, length: int) -> str:
    terms = (term.format(f"2013-{n % 2 + 1:02}-{n // 2 % 28 + 1:02}", n % 24, n) for n in range(length))
    return f"SELECT SUM(distance) FROM flights WHERE {' OR '.join(terms)}"


JOINED = "SELECT a.carrier, a.distance FROM {0} a JOIN {0} b ON a.carrier = b.carrier"
BOTH = "SELECT * FROM {0} UNION ALL SELECT * FROM {0}"
PLAIN = "SELECT carrier, distance FROM {0}"
COMPUTED = "SELECT carrier, distance || 'x' AS distance FROM {0} WHERE distance <> 'y'"
PASSED = "SELECT carrier, distance, departed FROM {0} WHERE carrier <> 'x'"
ALL = "SELECT * FROM {0}"
GROUPED = "SELECT carrier, MAX(distance) AS m FROM {0} GROUP BY carrier"


@pytest.mark.parametrize(
    ("first", "step", "last"),
    [
        (SUMS, JOINED, ALL),
        (TABLE, JOINED, ALL),
        (CUBE, JOINED, ALL),
        (CUBE, BOTH, GROUPED),
        (TABLE, BOTH, GROUPED),
        (SUMS, "SELECT * FROM {0} WHERE distance IN (SELECT distance FROM {0})", ALL),
        (TABLE, "SELECT * FROM (SELECT * FROM {0}) x, (SELECT * FROM {0}) y", ALL),
    ],
)
def test_ctes_that_are_named_twice(first: str, step: str, last: str) -> None:
    assert growth(lambda n: chained(first, step, last, n), 40) < MOST


@pytest.mark.parametrize(
    ("first", "step", "last"),
    [
        (SUMS, PLAIN, ALL),
        (TABLE, PLAIN, GROUPED),
        (TABLE, COMPUTED, GROUPED),
        (TABLE, ALL, "SELECT COUNT(*) FROM {0} WHERE carrier = 'AA'"),
        (CUBE, PASSED, GROUPED),
        (CUBE, ALL, GROUPED),
        (CUBE, "SELECT carrier, distance, departed FROM {0} LIMIT 9", "SELECT carrier FROM {0}"),
    ],
)
def test_a_chain_of_ctes(first: str, step: str, last: str) -> None:
    assert growth(lambda n: chained(first, step, last, n), 100) < MOST


def test_a_chain_of_a_thousand_ctes_is_planned() -> None:
    for first in (SUMS, TABLE, CUBE):
        plan(chained(first, PLAIN, GROUPED, 1000))


@pytest.mark.share(2)
@pytest.mark.parametrize(
    "term",
    [
        "departed >= '{0}' AND departed < '{0} 12:00'",
        "(departed >= '{0}' AND departed < '{0} 12:00')",
        "time_range_in(departed, '{0}', '{0}T12')",
        "departed = '{0} {1:02}:00'",
        "(departed >= '{0}' AND departed < '{0} 12:00' AND carrier = 'c{2}')",
        "carrier = 'c{2}'",
    ],
)
@pytest.mark.parametrize("length", [40, 200])
def test_terms_of_or(term: str, length: int) -> None:
    assert growth(lambda n: disjunction(term, n), length) < MOST


@pytest.mark.parametrize("word", ["AND", "OR"])
def test_thousands_of_terms_do_not_nest(word: str) -> None:
    terms = f" {word} ".join(f"carrier <> 'c{n}'" for n in range(3000))
    planned = plan(
        f"SELECT SUM(distance) FROM flights WHERE departed < '2013-02-03' AND departed >= '2013-02-01' AND ({terms})"
    )
    assert planned.coverage.references


def listed(separator: str, item: str, length: int) -> str:
    return separator.join(item.format(n) for n in range(length))


RANGE = "departed >= '2013-02-01' AND departed < '2013-02-03'"
ARM = f"SELECT carrier, SUM(distance) FROM flights WHERE {RANGE} GROUP BY carrier"


@pytest.mark.share(2)
@pytest.mark.parametrize(
    "text",
    [
        lambda n: (
            f"SELECT {listed(', ', 'concat(carrier, {0})', n)}, COUNT(*) FROM flights WHERE {RANGE} GROUP BY "
            f"{listed(', ', 'concat(carrier, {0})', n)}"
        ),
        lambda n: f"SELECT {listed(' || ', 'carrier', n)}, COUNT(*) FROM flights WHERE {RANGE} GROUP BY ALL",
        lambda n: f"SELECT carrier || {listed(' || ', 'carrier', n)} AS carrier FROM flights WHERE {RANGE}",
        lambda n: (
            f"SELECT carrier AS c, SUM(distance) AS s FROM flights WHERE {RANGE} GROUP BY carrier HAVING "
            f"{listed(' OR ', 's = {0}', n)} ORDER BY {listed(' + ', 's', n)}"
        ),
        lambda n: f"SELECT carrier AS c0, {listed(', ', 'c0 AS c1{0}', n)} FROM flights WHERE {RANGE}",
        lambda n: f"SELECT {listed(', ', 'current_date()', n)} FROM flights WHERE {RANGE}",
        lambda n: listed(" UNION ALL ", ARM, n),
        lambda n: f"SELECT carrier FROM ({listed(' UNION ALL ', ARM, n)}) x WHERE carrier = 'AA'",
        lambda n: f"WITH c AS ({CUBE}) {listed(' UNION ALL ', 'SELECT carrier FROM c', n)}",
        lambda n: f"SELECT * FROM ({listed(' UNION ALL ', 'SELECT * FROM airlines', n)}) x WHERE carrier = 'AA'",
    ],
)
def test_lists_and_chains(text: Callable[[int], str]) -> None:
    assert growth(text, 100) < 2.3


@pytest.mark.parametrize("column", ["carrier", "departed"])
def test_elements_of_in(column: str) -> None:
    def listed(length: int) -> str:
        items = ", ".join(f"'2013-01-{n % 28 + 1:02} {n // 28 % 24:02}:00'" for n in range(length))
        return f"SELECT SUM(distance) FROM flights WHERE departed < '2013-03-01' AND {column} IN ({items})"

    assert growth(listed, 200) < MOST


@pytest.mark.parametrize("between", ["SELECT carrier, distance, departed FROM {0}", "SELECT * FROM {0}"])
def test_values_that_double_at_each_step_are_refused(between: str) -> None:
    step = f"SELECT carrier, distance + distance AS distance, departed FROM ({between}) x"
    plan(chained(CUBE, step, GROUPED, 8))
    with pytest.raises(NotSupportedError, match="column distance"):
        plan(chained(CUBE, step, GROUPED, 60))


@pytest.mark.parametrize("around", ["SELECT {0}", "SELECT f{0}", "SELECT 1 FROM flights WHERE {0}", "{0}"])
def test_no_parser_sees_what_nests_too_deeply(around: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(*_: object) -> None:
        raise AssertionError("it was parsed")

    monkeypatch.setattr("sqlglot.parser.Parser.parse", parse)
    sql = around.format("(" * 20_000 + "SELECT 1" + ")" * 20_000)
    with pytest.raises(ParseError, match="nested too deeply to be parsed") as caught:
        plan(sql)
    assert (caught.value.condition, caught.value.position) == ("PARSE_SYNTAX_ERROR", Span(0, len(sql)))


def test_a_text_is_lexed_once() -> None:
    sql = disjunction("carrier = 'c{2}'", 50).replace("WHERE", "WHERE departed < '2013-02-01' AND")
    assert tokens(sql) is tokens(sql)
