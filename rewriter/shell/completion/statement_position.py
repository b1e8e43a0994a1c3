"""What a statement of the dialect expects at the cursor: keywords by the grammar, names by the words before them."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.data_formats import DATA_FORMATS
from rewriter.grammar.dialect_parser import first_words
from rewriter.grammar.expected_terminals import expected_after
from rewriter.grammar.lexer import Token
from rewriter.grammar.statements import readers
from rewriter.shell.completion.comparisons import compared_column, given_values
from rewriter.shell.completion.expectations import (
    ClusterNames,
    Columns,
    Databases,
    Expectation,
    Functions,
    Keywords,
    Objects,
    PartitionValues,
    Relation,
)
from rewriter.shell.completion.query_position import TYPES
from rewriter.shell.completion.query_scope import name_at
from rewriter.timeline.periods import UpdatePeriod

_ANY = ("table", "view", "cube", "fact")
#: The kinds of objects that a name behind a keyword can be.
_KINDS_BEHIND = {
    "TABLE": ("table",),
    "INTO": ("table",),
    "OVERWRITE": ("table",),
    "LIKE": ("table",),
    "PARTITIONS": ("table",),
    "VIEW": ("view",),
    "CUBE": ("cube",),
    "FACT": ("fact",),
    "OF": ("fact", "cube"),
    "TBLPROPERTIES": ("table", "view"),
    "DESC": _ANY,
    "DESCRIBE": _ANY,
    "EXTENDED": _ANY,
    "FORMATTED": _ANY,
}
_DATABASE = ("DATABASE", "SCHEMA", "NAMESPACE", "USE", "IN", "FROM")
_FORMATS = tuple(name.upper() for name in DATA_FORMATS)


def statement_words() -> tuple[str, ...]:
    """Returns the words that a statement can begin with. Loads the grammar."""
    return tuple(sorted({word for word in readers() if word.isalpha()} | first_words()))


def statement_expectations(
    tokens: Sequence[Token], qualifier: tuple[str, ...], in_string: bool
) -> tuple[tuple[Expectation, ...], int | None]:
    """Returns what is expected behind the tokens of a statement, or the number of the token that begins its query.

    ``qualifier`` was typed last, with a point behind it, and is not among the tokens.
    """
    if not tokens:
        return ((Keywords(statement_words()),), None) if not qualifier and not in_string else ((), None)
    expected = expected_after(tokens)
    if expected.query is not None:
        return (), expected.query
    values = _values(tokens)
    if in_string:
        return values, None
    names = tuple(
        dict.fromkeys(wanted for context in expected.contexts for wanted in _named(context, tokens, qualifier))
    )
    if qualifier:
        return names, None
    words = (*expected.words, *(("SELECT", "WITH", "VALUES") if expected.expects_query else ()))
    functions = (Columns((subject(tokens),)), Functions()) if expected.in_expression else ()
    return (*values, *names, *functions, Keywords(words)), None


def _values(tokens: Sequence[Token]) -> tuple[Expectation, ...]:
    compared = compared_column(tokens)
    if compared is None:
        return ()
    return (PartitionValues((subject(tokens),), compared.column, given_values(tokens), compared.typed_literal),)


def subject(tokens: Sequence[Token]) -> Relation:
    """Returns the object that a statement is about at its end: the last one behind TABLE or INTO, or its first name."""
    start = None
    for index in range(len(tokens) - 1):
        if (
            tokens[index].is_word("TABLE", "INTO", "OVERWRITE", "PARTITIONS", "OF")
            and not tokens[index + 1].is_word("TABLE", "CUBE")
        ) or (start is None and tokens[index].is_word("CUBE", "FACT", "VIEW", "DESC", "DESCRIBE", "TBLPROPERTIES")):
            start = index + 1
    while (
        start is not None and start < len(tokens) and tokens[start].is_word("IF", "NOT", "EXISTS", "EXTENDED", "TABLE")
    ):
        start += 1
    parts, _ = name_at(tokens, start) if start is not None else ((), 0)
    return Relation(parts[-1] if parts else "", parts)


def _named(context: tuple[str, ...], tokens: Sequence[Token], qualifier: tuple[str, ...]) -> tuple[Expectation, ...]:
    """Returns what a NAME behind these terminals can be; nothing for a new name."""
    last = context[-1] if context else ""
    if last == "CLUSTER":
        return () if qualifier else (ClusterNames(),)
    if last in ("FUNCTION", "FUNCTIONS") and not qualifier:
        return (Functions(called=False),)
    if _is_new(context):
        return (Databases(qualifying=True),) if not qualifier and last in ("TABLE", "VIEW", "EXISTS") else ()
    if context[-2:] == ("IF", "EXISTS"):
        return _named(context[:-2], tokens, qualifier)
    columns = _columns(context, tokens)
    if columns:
        return () if qualifier else columns
    if last in _DATABASE and not (context[:2] == ("SHOW", "COLUMNS") and context.count("NAME") == 0):
        return (Databases(),) if not qualifier else ()
    kinds = _KINDS_BEHIND.get(last, ())
    if last in ("IN", "FROM"):
        kinds = ("table", "view", "cube")
    if context[:3] == ("COMMENT", "ON", "COLUMN"):
        kinds = ("table",)
    if kinds:
        return (Objects(kinds, qualifier[-1] if qualifier else None), *(() if qualifier else (Databases(True),)))
    return ()


def _is_new(context: tuple[str, ...]) -> bool:
    """Tests whether the name is that of an object, or a column, that does not exist yet."""
    if context[0] == "CREATE" and "NAME" not in context:
        return True
    return context[-2:] in (("RENAME", "TO"), ("COLUMN", "NAME"), ("CHANGE", "NAME"))


def _columns(context: tuple[str, ...], tokens: Sequence[Token]) -> tuple[Expectation, ...]:
    """Returns the columns, types, periods or formats that a name is in this place."""
    last = context[-1]
    opening = _opening(context)
    if last == "PERIOD" or (opening == "PERIODS" and last in ("LPAR", "COMMA")):
        return (Keywords(tuple(period.name for period in UpdatePeriod)),)
    if last == "USING" or context[-2:] == ("STORED", "AS") or last == "FILEFORMAT":
        return (Keywords(_FORMATS),)
    about = (subject(tokens),)
    if context[0] == "CREATE" and context[1:2] != ("FACT",):
        if last == "NAME" or last in ("LT", "__LT"):
            return (Keywords(TYPES),)
        return (Keywords(()),) if last in ("LPAR", "COMMA") else ()
    if opening in ("PARTITION", "EXCHANGE", "AS") or "WHERE" in context or context[-2:] == ("ORDER", "BY"):
        return (Columns(about, partitions=True),)
    if "COLUMNS" in context and "FOR" in context:
        return (Columns(about),)
    if context[:2] == ("ALTER", "TABLE") and last in ("COLUMN", "ALTER", "CHANGE"):
        return (Columns(about),)
    if context[0] == "ALTER" and "ADD" in context:
        return (Keywords(TYPES),) if last == "NAME" else (Keywords(()),)
    if context[0] == "INSERT" and last in ("LPAR", "COMMA"):
        return (Columns(about),)
    if context[0] in ("DESC", "DESCRIBE") and last in ("NAME", "RPAR"):
        return (Columns(about),)
    if last == "WITH" and "COMPLETE" in context:
        return (Columns(about, partitions=True),)
    return ()


def _opening(context: tuple[str, ...]) -> str:
    """Returns the terminal in front of the parenthesis that is open at the end; empty if none is."""
    depth = 0
    for index in range(len(context) - 1, -1, -1):
        depth += (context[index] == "RPAR") - (context[index] == "LPAR")
        if depth < 0:
            return context[index - 1] if index else ""
    return ""
