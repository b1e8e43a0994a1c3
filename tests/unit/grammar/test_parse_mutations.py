"""For any text, the parser returns a statement or raises one of our errors, with a position inside the text."""

import random

import pytest
from rotation import turn
from test_parse_statements import STATEMENTS

from rewriter.errors import Error, render
from rewriter.grammar.lexer import tokens
from rewriter.grammar.parser import parse
from rewriter.grammar.unparse import render as render_statement

SEED = 20_260
ROUNDS = 6_000
PIECES = [
    *(
        "'",
        '"',
        "`",
        "(",
        ")",
        ",",
        ";",
        "=",
        "<",
        ">",
        "<>",
        "::",
        ":x",
        "?",
        "/*",
        "*/",
        "--",
        "\r\n",
        "\\",
        "é",
        "😀",
    ),
    *("SELECT", "INSERT", "INTO", "TABLE", "PARTITION", "IF", "NOT", "EXISTS", "ARRAY", "STRUCT", "NULL", "DATE", "AS"),
    *("1", "-1", "1.5e", "''", "'a'", "``", "x", "PERIOD", "STORED", "IN", "FROM", "WITH", "BY", "\0", "’", ".", "SET"),
]


def mutated(sql: str, random_: random.Random) -> str:
    """Returns the text with up to three tokens or characters dropped, doubled, swapped, cut off or replaced."""
    for _ in range(random_.randint(1, 3)):
        try:
            pieces = [token.text for token in tokens(sql)]
        except Error:
            pieces = list(sql)
        if not pieces:
            return sql
        at, kind = random_.randrange(len(pieces)), random_.randrange(6)
        if kind == 0:
            del pieces[at]
        elif kind == 1:
            pieces.insert(at, random_.choice(PIECES))
        elif kind == 2:
            pieces[at] = random_.choice(PIECES)
        elif kind == 3:
            second = random_.randrange(len(pieces))
            pieces[at], pieces[second] = pieces[second], pieces[at]
        elif kind == 4:
            del pieces[at:]
        else:
            pieces[at] = pieces[at][: random_.randint(0, len(pieces[at]))]
        sql = random_.choice([" ", "  ", "\r\n"]).join(pieces)
    return sql


def problem(sql: str) -> str | None:
    """Returns the defect of the parser's result for the text, or None."""
    try:
        statement = parse(sql)
    except Error as error:
        if error.position is None or not 0 <= error.position.start <= error.position.end <= len(sql):
            return f"position {error.position}"
        return None if error.hint and "Hint:" in render(error, sql) else "no hint"
    return None if parse(render_statement(statement)) == statement else f"does not come back: {statement}"


@pytest.mark.parametrize(
    ("seed", "rounds"), [(None, 1_000), pytest.param(SEED, ROUNDS, marks=pytest.mark.long)], ids=["ordinary", "long"]
)
def test_mutated_statements_never_break_the_parser(seed: int | None, rounds: int) -> None:
    seed = turn() if seed is None else seed
    random_ = random.Random(seed)
    for number in range(rounds):
        sql = mutated(random_.choice(STATEMENTS)[0], random_)
        assert problem(sql) is None, f"seed {seed}, round {number}: {sql!r}"
