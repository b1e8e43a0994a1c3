"""What a completion inserts: one identifier or one literal, whatever the names and values are."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import sqlglot
from completion_world import NAMES, OBJECTS, VALUES, completed, inserted, table, texts, values
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from rewriter.grammar.dialect_rules import keywords
from rewriter.grammar.lexer import TokenKind, identifier_value, string_value, tokens
from rewriter.grammar.parser import parse
from rewriter.shell.completion.candidates import MOST_CANDIDATES, ValuesRequest, candidates, complete
from rewriter.shell.completion.names import RESERVED, Names, ObjectNames, written_literal, written_string
from rewriter.shell.completion.position import position_at
from rewriter.terminal_text import printable

ODD_NAMES = (
    "a-b",
    "a b",
    "`",
    "a`b``c",
    "1a",
    "sélect",
    "🎈",
    "x; DROP TABLE t",
    "-- x",
    "/* x",
    "'",
    '"',
    "a.b",
    "n" * 300,
    *("select", "ORDER", "from", "Table", "values", "cube", "of", "partition", "stored", "null", "true"),
)
ACTING_NAMES = ("\x1b[31mred", "line\nbreak", "tab\there", "\x07", "\u202egnp.exe", "\x9b5n", "\r")
WORDS = st.sampled_from(sorted(keywords() | RESERVED))
FRAGMENTS = st.sampled_from(
    [
        *"SELECT FROM WHERE GROUP BY ORDER JOIN ON AS WITH INSERT INTO OVERWRITE PARTITION IN BETWEEN AND".split(),
        *"orders o customers dt hr rewriter. EXPLAIN DESCRIBE ( ) , . ; = <> '2024 '' ' \" ` `` 1 1e".split(),
        *"OR SET -- /* */ /*+ \\ \\d :x ? ${ } é 🎈".split(),
        *(" ", "\n", "\r\n", "\t"),
    ]
)
BROKEN = st.lists(FRAGMENTS | WORDS | st.text(max_size=3), max_size=25).map(" ".join) | st.lists(FRAGMENTS).map("".join)


@settings(deadline=None, max_examples=400)
@given(BROKEN, st.floats(0, 1))
@example("", 0.0)
@example("SELECT \ud800", 1.0)
@example("SELECT '\\ud800", 1.0)
@example("SELECT '\\U99999999", 1.0)
@example("9" * 5000, 1.0)
@example("(" * 2000 + "SELECT ", 1.0)
@example("WITH " * 500, 1.0)
@example("SELECT * FROM (" * 300, 1.0)
def test_any_text_is_completed(text: str, place: float) -> None:
    cursor = round(place * len(text))
    found = complete(text, cursor, NAMES, values)
    assert len(found) <= MOST_CANDIDATES
    assert len({candidate.text for candidate in found}) == len(found)
    for candidate in found:
        assert printable(candidate.text) == candidate.text
        assert "\n" not in candidate.text
        assert "\t" not in candidate.text
        assert "\n" not in candidate.display + candidate.meta
        assert printable(candidate.display + candidate.meta) == candidate.display + candidate.meta
        assert len(candidate.display) <= 60
        assert -cursor <= candidate.start_offset <= 0


def names_of(name: str) -> Names:
    return Names(ObjectNames.of(["default", name], [table("t", f"{name.replace(' ', '_')}"), _named(name)]))


def _named(name: str) -> object:
    from rewriter.catalog.model.objects import Column, Table

    return Table(9, name.replace(".", ""), (Column(name, "int"),), (), "parquet", "/x")


@pytest.mark.parametrize("name", ODD_NAMES)
@pytest.mark.parametrize("marked", ["SELECT t.| FROM {} t", "SELECT t.`| FROM {} t"])
def test_a_column_is_one_identifier(marked: str, name: str) -> None:
    source = "`" + name.replace(".", "").replace("`", "``") + "`"
    text = marked.format(source)
    candidate = completed(text, names_of(name))[0]
    statement = inserted(text, candidate)
    written = tokens(candidate.text)
    assert len(written) == 1
    assert identifier_value(written[0]) == name
    parsed = sqlglot.parse_one(statement, dialect="spark")
    assert [column.name for column in parsed.find_all(exp.Column)] == [name]
    parse(statement)


@pytest.mark.parametrize("name", [name for name in ODD_NAMES if "." not in name])
@pytest.mark.parametrize(
    "marked",
    [
        "SELECT 1 FROM |",
        "SHOW PARTITIONS |",
        "DROP TABLE |",
        "DROP TABLE IF EXISTS |",
        "DESCRIBE |",
        "INSERT INTO | SELECT 1",
        "ALTER TABLE | DROP PARTITION (a = 1)",
        "ALTER TABLE | RENAME TO x",
        "MSCK REPAIR TABLE |",
        "ANALYZE TABLE | COMPUTE STATISTICS",
        "CREATE TABLE x LIKE |",
        "SHOW CREATE TABLE |",
        "TRUNCATE TABLE |",
        "CACHE TABLE |",
        "VACUUM TABLE |",
    ],
)
def test_a_table_is_one_identifier(marked: str, name: str) -> None:
    candidate = next(c for c in completed(marked, names_of(name)) if c.meta == "table" and c.text != "t")
    written = tokens(candidate.text)
    assert len(written) == 1
    assert identifier_value(written[0]) == name
    statement = parse(inserted(marked, candidate))
    spelled = [token for token in tokens(inserted(marked, candidate)) if identifier_value(token) == name]
    assert spelled, statement


@pytest.mark.parametrize("name", ACTING_NAMES)
def test_names_that_act_on_a_terminal_are_not_offered(name: str) -> None:
    names = names_of(name)
    for marked in ("SELECT 1 FROM |", "SELECT t.| FROM t", "DROP TABLE |", "USE |", "\\d |"):
        assert all(printable(c.text) == c.text and "\n" not in c.text for c in completed(marked, names))


@settings(deadline=None)
@given(st.text(), st.sampled_from(["'", '"']))
@example("it's", "'")
@example("\\", "'")
@example("\\'", "'")
@example("\x1b[31m\n\r\t\0", "'")
@example("\u2028\u202e", '"')
@example("a" * 300, "'")
def test_a_string_is_one_literal_with_the_value(value: str, quote: str) -> None:
    written = written_string(value, quote)
    [token] = tokens(written)
    assert token.kind is TokenKind.STRING
    assert string_value(token) == value
    assert printable(written) == written
    assert "\n" not in written
    assert "\t" not in written


@pytest.mark.parametrize("value", VALUES["country"])
@pytest.mark.parametrize(
    "marked",
    [
        "SELECT 1 FROM customers WHERE country = |",
        "SELECT 1 FROM customers WHERE country = '|",
        "SELECT 1 FROM customers WHERE country = '|'",
        'SELECT 1 FROM customers WHERE country = "|',
        "SELECT 1 FROM customers WHERE country IN ('CH', '|')",
        "SHOW PARTITIONS customers WHERE country = '|'",
        "ALTER TABLE customers DROP PARTITION (country = '|')",
        "INSERT INTO customers PARTITION (country = '|') SELECT 1",
    ],
)
def test_a_partition_value_is_one_literal(marked: str, value: str) -> None:
    def reader(_request: ValuesRequest) -> Sequence[str]:
        return [value]

    cursor = marked.index("|")
    text = marked[:cursor] + marked[cursor + 1 :]
    candidate = candidates(position_at(text, cursor), cursor, NAMES, reader)[0]  # type: ignore[arg-type]
    statement = inserted(marked, candidate)
    strings = [string_value(token) for token in tokens(statement) if token.kind is TokenKind.STRING]
    assert strings[-1] == value
    parse(statement)
    if statement.startswith("SELECT"):
        literal = list(sqlglot.parse_one(statement, dialect="spark").find_all(exp.Literal))[-1]
        assert literal.is_string


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        ("7", "int", "7"),
        ("-7", "bigint", "-7"),
        ("1.50", "decimal(10,2)", "1.50"),
        ("NaN", "double", "'NaN'"),
        ("1E10", "double", "'1E10'"),
        ("7; DROP TABLE t", "int", "'7; DROP TABLE t'"),
        ("7\n", "int", "'7\\n'"),
        ("٣", "int", "'٣'"),
        ("true", "boolean", "TRUE"),
        ("2024-01-01", "date", "DATE '2024-01-01'"),
        ("2024-01-01 01:02:03", "timestamp", "TIMESTAMP '2024-01-01 01:02:03'"),
        ("x'", "date", "DATE 'x\\''"),
        ("7", "string", "'7'"),
        ("7", "varchar(3)", "'7'"),
    ],
)
def test_a_value_is_a_literal_of_its_type(value: str, type_: str, expected: str) -> None:
    assert written_literal(value, type_) == expected


@pytest.mark.share(10)
@pytest.mark.parametrize("word", sorted(keywords() | RESERVED))
def test_a_column_named_like_a_keyword_is_read_as_a_column(word: str) -> None:
    names = Names(ObjectNames.of(["default"], [table("t", word.lower())]))
    for marked in (
        "SELECT t.| FROM t",
        "SELECT 1 FROM t WHERE 1 = 1 AND | = 1",
        "SELECT a, | FROM t",
        "SELECT | FROM t",
    ):
        candidate = next(c for c in completed(marked, names) if c.meta == "int · t")
        [column, *_] = [
            column
            for column in sqlglot.parse_one(inserted(marked, candidate), dialect="spark").find_all(exp.Column)
            if column.name != "a"
        ]
        assert column.name == word.lower()


def test_menus_are_bounded() -> None:
    many = ObjectNames.of(["default"], [table(f"t{number}", "x") for number in range(500)])
    assert len(completed("SELECT * FROM |", Names(many))) == MOST_CANDIDATES
    assert [len(c.display) for c in completed("SELECT 1 FROM |", names_of("n" * 300)) if c.text[0] == "n"] == [60, 60]
    assert OBJECTS.by_name
    assert texts("SELECT * FROM nothing_like_it|") == []
