"""What a text expects at a cursor: a pure function that never raises, for unfinished and for broken text.

The statement around the cursor is looked at alone. A command of the shell begins with a backslash, at the start of a
line.
"""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.data_formats import DATA_FORMATS
from rewriter.errors import ParseError
from rewriter.grammar.dialect_parser import first_words
from rewriter.grammar.expected_terminals import expected_after
from rewriter.grammar.lexer import Token, TokenKind, identifier_value, string_value
from rewriter.grammar.query_spans import starts_query
from rewriter.grammar.statements import readers
from rewriter.grammar.text_pieces import Piece, PieceKind, TextPieces
from rewriter.shell.completion.comparisons import compared_column, given_values
from rewriter.shell.completion.expectations import (
    Argument,
    ClusterNames,
    Columns,
    Commands,
    Databases,
    Expectation,
    Functions,
    Keywords,
    Objects,
    PartitionValues,
    Position,
    Relation,
    Settings,
    SettingValues,
)
from rewriter.shell.completion.query_position import TYPES, query_expectations, typed_qualifier
from rewriter.shell.completion.query_scope import name_at
from rewriter.timeline.periods import UpdatePeriod

#: The commands whose argument is a query.
_QUERY_COMMANDS = ("\\explain", "\\cover")
#: Words behind EXPLAIN, in front of the statement.
_EXPLAINED = (
    "REWRITE",
    "COVER",
    "SCAN",
    "ENGINE",
    "CERTIFICATE",
    "ALL",
    "EXTENDED",
    "CODEGEN",
    "COST",
    "FORMATTED",
    "LOGICAL",
)
_QUOTED = (PieceKind.STRING, PieceKind.IDENTIFIER, PieceKind.UNCLOSED)
#: How far behind the cursor a statement is looked at: what is farther does not change what is expected.
_MOST_BEHIND = 20_000


def position_at(text: str, cursor: int, lexed: TextPieces | None = None) -> Position | None:
    """Returns what is expected at the cursor; ``None`` in a comment, inside a word, and where nothing is known.

    ``lexed`` has the pieces of an earlier text, which are not found again. Linear in the text, with ``lexed`` in the
    text around the cursor.
    """
    cursor = max(0, min(cursor, len(text)))
    lexed = TextPieces() if lexed is None else lexed
    command = _command_at(text, cursor, lexed)
    if command is not None:
        return command
    if cursor < len(text) and (text[cursor].isalnum() or text[cursor] == "_"):
        return None
    around = _without_commands(lexed.statement(text, cursor, _MOST_BEHIND), cursor, text)
    before = [piece for piece in around if piece.end <= cursor and piece.start < cursor]
    inside = next((piece for piece in around if piece.start < cursor < piece.end), None)
    if inside is not None and inside.kind in _QUOTED:
        if _is_open(text, cursor, inside.text[0]):
            inside = Piece(PieceKind.UNCLOSED, text[inside.start : cursor], inside.start, cursor)
            around = [*before, inside, *_read_pieces_behind(text, cursor)]
        elif text[cursor] != inside.text[0]:
            return None
    touching = before[-1] if before and before[-1].end == cursor else None
    if _is_in_comment(inside, touching):
        return None
    last = touching if inside is None else inside
    typed = _typed(text, cursor, last)
    if typed is None:
        return None
    start, value, quote, closed = typed
    tokens, index = _tokens(around, start, cursor)
    return _position(tokens, index, start, value, quote, closed, in_string=quote in ("'", '"'))


def _read_pieces_behind(text: str, cursor: int) -> list[Piece]:
    """Returns the pieces behind an open string at the cursor: the quote that seemed to close it begins another one."""
    behind = TextPieces().statement(text[cursor:], 0, _MOST_BEHIND)
    return [Piece(kind, part, start + cursor, end + cursor) for kind, part, start, end in behind]


def _is_in_comment(inside: Piece | None, touching: Piece | None) -> bool:
    """Tests whether the cursor is inside of a comment, or touches one of a line, which goes on at its end."""
    if inside is not None and (inside.kind is PieceKind.COMMENT or inside.text.startswith("/*")):
        return True
    return touching is not None and touching.kind is PieceKind.COMMENT and touching.text[:2] == "--"


def _command_at(text: str, cursor: int, lexed: TextPieces) -> Position | None:
    """Returns the position in a command of the shell; ``None`` if the line at the cursor has none."""
    line = text.rfind("\n", 0, cursor) + 1
    stripped = text[line:cursor].lstrip()
    if not stripped.startswith(("\\", ".")):
        return None
    begins = cursor - len(stripped)
    before = _without_commands(lexed.statement(text, begins, 0), begins, text)
    if before and (stripped[0] == "." or before[-1].end > begins):
        return None  # In a statement, or in a string or comment of several lines.
    name, blank, rest = stripped.partition(" ")
    if not blank:
        return Position(begins, stripped, expected=(Commands(),))
    argument = rest.lstrip()
    if name in _QUERY_COMMANDS:
        statement = text[:begins] + " " * len(name) + text[begins + len(name) :]
        return position_at(statement, cursor) or Position(cursor)
    database, point, typed = argument.rpartition(".")
    if "/" in argument or not point:
        database, typed = "", argument
    return Position(cursor - len(typed), typed, expected=(Argument(name, database or None),))


def _without_commands(pieces: Sequence[Piece], cursor: int, text: str) -> list[Piece]:
    """Returns the pieces of a statement without the commands in front of it, which end with their line."""
    around: list[Piece] = []
    command_end = -1
    for piece in pieces:
        if piece.start < command_end:
            continue
        if piece.text in ("\\", ".") and not around and piece.start < cursor:
            line_end = text.find("\n", piece.start)
            command_end = len(text) if line_end < 0 else line_end
        else:
            around.append(piece)
    return around


def _is_open(text: str, cursor: int, quote: str) -> bool:
    """Tests whether the quotes behind the cursor, in its line, are quotes of other strings: their number is even."""
    line_end = text.find("\n", cursor)
    return text.count(quote, cursor, len(text) if line_end < 0 else line_end) % 2 == 0


def _typed(text: str, cursor: int, last: Piece | None) -> tuple[int, str, str, bool] | None:
    """Returns the start of what is being typed, its value, its quote, and whether the closing quote follows already.

    ``None`` behind a finished string, and inside a word.
    """
    if last is None:
        return cursor, "", "", False
    first = last.text[0]
    if last.kind in _QUOTED:
        if (last.end <= cursor and last.kind is not PieceKind.UNCLOSED) or first in "rR":
            return None  # Behind it, or in a raw string, which has no escapes.
        opening = last.start
        body = text[opening + 1 : cursor]
        if first == "`":
            value = body.replace("``", "`")
        else:
            try:
                value = string_value(Token(TokenKind.STRING, f"{first}{body}{first}", 0, len(body) + 2))
            except (ParseError, ValueError):
                return None
        return opening, value, first, text[cursor : cursor + 1] == first
    if last.kind is PieceKind.WORD and last.end == cursor:
        return last.start, last.text, "", False
    if last.kind is PieceKind.NUMBER and last.end == cursor:
        return last.start, last.text, "", False
    if last.start < cursor < last.end:
        return None
    return cursor, "", "", False


def _tokens(around: Sequence[Piece], start: int, cursor: int) -> tuple[list[Token], int]:
    """Returns the tokens of the statement without the one that is being typed, and the number of those before it."""
    tokens: list[Token] = []
    index = 0
    for piece in around:
        token = piece.token
        if token is None or (piece.start <= start and piece.end > start):
            continue
        tokens.append(token)
        index += piece.start < start
    return tokens, index


def _position(
    tokens: list[Token], index: int, start: int, typed: str, quote: str, closed: bool, *, in_string: bool
) -> Position:
    skipped = _explained(tokens, index)
    before = tokens[skipped:index]
    lower = _is_lower(typed, tokens[:index])

    def position(expected: tuple[Expectation, ...], in_query: bool = False) -> Position:
        return Position(start, typed, quote, closed, expected, lower, in_query)

    setting = _setting(before, in_string)
    if setting is not None:
        return _setting_position(position(setting), before)
    qualifier = typed_qualifier(before, len(before))
    if qualifier:
        # The name that will follow the point, so that the next word does not.
        tokens.insert(index, Token(TokenKind.IDENTIFIER, "``", start, start))
    if before and starts_query(before, 0):
        return position(query_expectations(tokens[skipped:], index - skipped, qualifier, in_string), True)
    if skipped and not before:
        words = () if in_string else (*_statement_words(), *_EXPLAINED)
        return position((Keywords(words),))
    head = before[: len(before) - 2 * len(qualifier)]
    query = _described_query(head)
    expected: tuple[Expectation, ...] = ()
    if query is None:
        expected, query = _statement_expectations(head, qualifier, in_string)
    if query is not None:
        begins = skipped + query
        return position(query_expectations(tokens[begins:], index - begins, qualifier, in_string), True)
    return position(expected)


def _explained(tokens: Sequence[Token], index: int) -> int:
    """Returns the number of the words of EXPLAIN at the start."""
    if not index or not tokens[0].is_word("EXPLAIN"):
        return 0
    skipped = 1
    while skipped < index and tokens[skipped].is_word(*_EXPLAINED):
        skipped += 1
    return skipped


def _described_query(tokens: Sequence[Token]) -> int | None:
    if len(tokens) < 2 or not tokens[0].is_word("DESC", "DESCRIBE"):
        return None
    begins = 1 + tokens[1].is_word("QUERY")
    is_query = starts_query(tokens, begins) and not tokens[begins].is_word("TABLE")
    return begins if is_query else None


def _setting(before: Sequence[Token], in_string: bool) -> tuple[Expectation, ...] | None:
    """Returns what SET and RESET expect; ``None`` for other statements."""
    if not before or not before[0].is_word("SET", "RESET"):
        return None
    name, equals, value = _split_setting(before)
    if not equals:
        return () if in_string else (Settings(),)
    return (SettingValues(name),) if not value and before[0].is_word("SET") else ()


def _split_setting(before: Sequence[Token]) -> tuple[str, bool, bool]:
    """Returns the name in front of the = of a SET, whether there is one, and whether a value follows it."""
    for index, token in enumerate(before):
        if token.is_operator("="):
            return "".join(map(identifier_value, before[1:index])), True, index + 1 < len(before)
    return "", False, False


def _setting_position(position: Position, before: Sequence[Token]) -> Position:
    """Returns the position with the complete name of the setting: its parts between points are tokens of their own."""
    if position.expected != (Settings(),) or len(before) == 1:
        return position
    if position.typed and before[-1].end != position.start:
        return Position(position.start)  # a name, a blank, and another word
    if not position.typed and not before[-1].is_operator("."):
        return Position(position.start)
    name = "".join(token.text for token in before[1:])
    return Position(before[1].start, name + position.typed, "", False, position.expected, position.lower)


def _is_lower(typed: str, before: Sequence[Token]) -> bool:
    """Returns whether keywords are typed in lower case: the one being typed, or else the first word."""
    text = typed or next((token.text for token in before if token.kind is TokenKind.WORD), "")
    return bool(text) and text == text.lower() and text != text.upper()


# What a statement of the dialect expects at the cursor: keywords by the grammar, names by the words before them.

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


def _statement_words() -> tuple[str, ...]:
    """Returns the words that a statement can begin with. Loads the grammar."""
    return tuple(sorted({word for word in readers() if word.isalpha()} | first_words()))


def _statement_expectations(
    tokens: Sequence[Token], qualifier: tuple[str, ...], in_string: bool
) -> tuple[tuple[Expectation, ...], int | None]:
    """Returns what is expected behind the tokens of a statement, or the number of the token that begins its query.

    ``qualifier`` was typed last, with a point behind it, and is not among the tokens.
    """
    if not tokens:
        return ((Keywords(_statement_words()),), None) if not qualifier and not in_string else ((), None)
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
    functions = (Columns((_subject(tokens),)), Functions()) if expected.in_expression else ()
    return (*values, *names, *functions, Keywords(words)), None


def _values(tokens: Sequence[Token]) -> tuple[Expectation, ...]:
    compared = compared_column(tokens)
    if compared is None:
        return ()
    return (PartitionValues((_subject(tokens),), compared.column, given_values(tokens), compared.typed_literal),)


def _subject(tokens: Sequence[Token]) -> Relation:
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
    if context == ("RECOMMEND", "ROLLUPS", "FOR"):
        kinds = ("cube",)
    if kinds:
        return (Objects(kinds, qualifier[-1] if qualifier else None), *(() if qualifier else (Databases(True),)))
    return ()


def _is_new(context: tuple[str, ...]) -> bool:
    """Tests whether the name is the name of an object, or a column, that does not exist yet."""
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
    about = (_subject(tokens),)
    if context[0] == "CREATE" and context[1:2] != ("FACT",):
        if last == "NAME" or last in ("LT", "__LT"):
            return (Keywords(TYPES),)
        return (Keywords(()),) if last in ("LPAR", "COMMA") else ()
    if opening in ("PARTITION", "EXCHANGE", "AS") or "WHERE" in context or context[-2:] == ("ORDER", "BY"):
        return (Columns(about, partitions=True),)
    if _is_existing_column(context):
        return (Columns(about),)
    if context[0] == "ALTER" and last == "TYPE":
        return (Keywords(TYPES),)
    if context[0] == "ALTER" and "ADD" in context:
        return (Keywords(TYPES),) if last == "NAME" else (Keywords(()),)
    if last == "WITH" and "COMPLETE" in context:
        return (Columns(about, partitions=True),)
    return ()


def _is_existing_column(context: tuple[str, ...]) -> bool:
    """Tests whether the place is the place of a data column that the table or cube has."""
    last = context[-1]
    if "COLUMNS" in context and "FOR" in context:
        return True
    is_of_cube, is_of_table = context[:2] == ("ALTER", "CUBE"), context[:2] == ("ALTER", "TABLE")
    if is_of_cube and "DROP" in context and last in ("DROP", "COLUMN", "COLUMNS", "LPAR", "COMMA"):
        return True
    if is_of_table and "DROP" in context and "COLUMNS" in context and last in ("COLUMNS", "LPAR", "COMMA"):
        return True
    if (is_of_table or is_of_cube) and last in ("COLUMN", "ALTER", "CHANGE"):
        return True
    if is_of_cube and last == "RENAME":
        return True
    if context[0] == "INSERT" and last in ("LPAR", "COMMA"):
        return True
    return context[0] in ("DESC", "DESCRIBE") and last in ("NAME", "RPAR")


def _opening(context: tuple[str, ...]) -> str:
    """Returns the terminal in front of the parenthesis that is open at the end; empty if none is."""
    depth = 0
    for index in range(len(context) - 1, -1, -1):
        depth += (context[index] == "RPAR") - (context[index] == "LPAR")
        if depth < 0:
            return context[index - 1] if index else ""
    return ""
