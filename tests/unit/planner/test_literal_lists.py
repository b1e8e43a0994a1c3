"""The parser with a short way for literals reads what sqlglot's own does, in fewer steps."""

from __future__ import annotations

import random
import sys
from types import FrameType

import pytest
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from rewriter.planner.text.literal_lists import ListParser, is_compiled, list_parser
from rewriter.planner.text.sqlglot_trees import walk

SPARK = Dialect.get_or_raise("spark")
only_in_python = pytest.mark.skipif(is_compiled(), reason="a compiled parser has no subclass")
ELEMENTS = (
    "1", "-1", "+1", "1.5", "1e3", "1L", "2S", "1.0BD", "'a'", "'a' 'b'", '"c"', "r'd'", "NULL", "TRUE", "'a'[0]",
    "(1)", "(1, 'a')", "('a')", "1 + 1", "'a' || 'b'", "1 AS x", "'a' AS y", "1 x", "a", "a.b", "f(1, 'a')", "1::INT",
    "/* c */ 1", "1 /* d */", "'a' -- e\n", "(SELECT 1)", "INTERVAL 1 DAY", "INTERVAL '1' DAY", "CAST('1' AS INT)",
    "1 IN (1, 2)", "CASE WHEN 1 THEN 2 END", "ARRAY(1, 'a')", "X'1F'", "'%a' ESCAPE '/'", "1 BETWEEN 0 AND 2", ":p",
    "?", "DATE '2015-01-01'", "x -> 1",
)  # fmt: skip
SHAPES = (
    "SELECT * FROM t WHERE a IN ({0})", "SELECT * FROM VALUES ({0}), ({0}) AS v", "VALUES {0}", "SELECT f({0})",
    "SELECT ({0})", "SELECT {0}", "SELECT a FROM t GROUP BY GROUPING SETS (({0}))", "SELECT DECIMAL({0}), x LIKE ({0})",
)  # fmt: skip


def outcome(kind: type, sql: str) -> object:
    try:
        trees = kind(dialect=SPARK).parse(SPARK.tokenize(sql), sql)
    except Exception as error:
        return type(error), str(error)
    return [
        [(type(node), node.meta, node.comments, _plain(node)) for node in walk(tree)]
        for tree in trees
        if tree is not None
    ]


def _plain(node: exp.Expr) -> dict[str, object]:
    return {key: value for key, value in node.args.items() if not isinstance(value, exp.Expr | list)}


@pytest.mark.parametrize("shape", SHAPES)
@only_in_python
def test_it_reads_what_sqlglot_reads(shape: str) -> None:
    source = random.Random(7)
    for number in range(250):
        elements = (
            source.choices(ELEMENTS, k=source.choice((1, 2, 3, 5))) if number >= len(ELEMENTS) else [ELEMENTS[number]]
        )
        sql = shape.format(", ".join(elements))
        assert outcome(ListParser, sql) == outcome(type(SPARK.parser()), sql), sql


@only_in_python
def test_a_literal_is_read_in_few_steps() -> None:
    sql = f"SELECT * FROM t WHERE a IN ({', '.join(map(str, range(1000)))})"
    tokens, calls = SPARK.tokenize(sql), 0

    def counted(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(counted)
    try:
        ListParser(dialect=SPARK).parse(tokens, sql)
    finally:
        sys.setprofile(None)
    assert calls < 20 * 1000  # 64 without the short way


def test_the_parser_fits_the_installed_build() -> None:
    parser = list_parser(SPARK)
    assert isinstance(parser, ListParser) is not is_compiled()
    assert parser.parse(SPARK.tokenize("SELECT a IN (1, 2)"), "SELECT a IN (1, 2)")[0] == exp.maybe_parse(
        "SELECT a IN (1, 2)", dialect=SPARK
    )
