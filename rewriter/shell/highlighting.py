"""Colors for text that is being typed: prompt_toolkit's lexer over ours, so the tokens that are colored are those read.

Only what has changed is read again, and only down to the lines that are shown: a key costs the visible lines, however
long the text is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING

from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles.pygments import pygments_token_to_classname
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, Punctuation, String, Token

from rewriter.grammar.dialect_rules import keywords
from rewriter.grammar.query_spans import QUERY_STARTS
from rewriter.grammar.text_pieces import Piece, PieceKind, TextPieces
from rewriter.lazy_dataclass import dataclass
from rewriter.shell.completion.names import RESERVED
from rewriter.shell.completion.query_position import TYPES

if TYPE_CHECKING:
    from prompt_toolkit.document import Document
    from prompt_toolkit.formatted_text import StyleAndTextTuples

#: The styles that are not among the styles of pygments.
STYLES = {"unclosed": "underline"}


def _style(token: object) -> str:
    return f"class:{pygments_token_to_classname(token)}"


_PLAIN = _style(Token)
_KEYWORD, _TYPE, _FUNCTION = _style(Keyword), _style(Keyword.Type), _style(Name.Function)
_NAME, _VARIABLE, _COMMAND = _style(Name), _style(Name.Variable), _style(Name.Builtin)
_COMMENT, _ERROR = _style(Comment), _style(Error)
#: A string, a quoted name or a comment that is not closed.
_UNCLOSED = f"{_style(Error)} class:unclosed"
_BY_KIND = {
    PieceKind.IDENTIFIER: _style(Name.Entity),
    PieceKind.STRING: _style(String),
    PieceKind.NUMBER: _style(Number),
    PieceKind.PARAMETER: _VARIABLE,
    PieceKind.COMMENT: _COMMENT,
    PieceKind.UNCLOSED: _UNCLOSED,
    PieceKind.STRAY: _ERROR,
    PieceKind.OPERATOR: _style(Operator),
}
_PUNCTUATION = _style(Punctuation)
#: The words that a query has besides the reserved ones.
_QUERY_WORDS = RESERVED | frozenset(
    "ASC BY DESC END EXISTS FIRST GROUPING LAST NULLS OVER PARTITION RECURSIVE ROW ROWS RANGE SETS VIEW".split()
)
_TYPES = frozenset(TYPES)


@cache
def _statement_words() -> frozenset[str]:
    """Returns the keywords of statements of the dialect, which can contain queries."""
    return _QUERY_WORDS | keywords()


@dataclass(frozen=True)
class _State:
    """Where the pieces of a text are: ``words`` are the keywords of the statement, empty in front of its first word.

    ``in_command`` says that the line began with a command, ``in_variable`` that ``${`` was read and ``}`` was not.
    """

    words: frozenset[str] = frozenset()
    in_command: bool = False
    in_variable: bool = False


_START = _State()


class SqlLexer(Lexer):
    """Colors statements and commands of the shell. One thread at a time."""

    def __init__(self) -> None:
        self._pieces = TextPieces()
        #: The styles of the pieces, and the state behind each.
        self._styled: list[tuple[str, _State]] = []
        self._text = ""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """Returns the function that colors a line, by its number."""
        text, lines = document.text, document.lines
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line) + 1)

        def colored(number: int) -> StyleAndTextTuples:
            if not 0 <= number < len(lines):
                return []
            return self._colored(text, starts[number], starts[number] + len(lines[number]))

        return colored

    def _colored(self, text: str, start: int, end: int) -> StyleAndTextTuples:
        read_pieces = self._pieces.until(text, end)
        if text != self._text:
            self._text = text
            del self._styled[self._pieces.unchanged :]
        styled = self._styled
        while len(styled) < len(read_pieces):
            _add_style(text, read_pieces, styled)
        fragments: StyleAndTextTuples = []
        position = start
        index = max(0, bisect_right(read_pieces, start, key=attrgetter("start")) - 1)
        while index < len(read_pieces) and read_pieces[index].start < end:
            piece = read_pieces[index]
            first, last = max(piece.start, start), min(piece.end, end)
            if first < last:
                if position < first:
                    fragments.append((_PLAIN, text[position:first]))
                fragments.append((styled[index][0], text[first:last]))
                position = last
            index += 1
        if position < end:
            fragments.append((_PLAIN, text[position:end]))
        return fragments


def _add_style(text: str, pieces: Sequence[Piece], styled: list[tuple[str, _State]]) -> None:
    """Adds the style of the next piece. A variable changes the style of the colon in front of it, too."""
    index = len(styled)
    piece = pieces[index]
    state = styled[-1][1] if styled else _START
    before = pieces[index - 1] if index else None
    if state.in_command and before is not None and "\n" in text[before.start : piece.start]:
        state = _START
    if state.in_command and before is not None:
        styled.append((_COMMAND if before.text in ("\\", ".") else _PLAIN, state))
    elif piece.kind is PieceKind.COMMENT:
        styled.append((_COMMENT, state))
    elif state.in_variable:
        styled.append((_VARIABLE, _State(state.words, False, piece.text != "}")))
    elif not state.words and piece.text in ("\\", "."):
        styled.append((_COMMAND, _State(in_command=True)))
    elif piece.text == ";":
        styled.append((_PUNCTUATION, _START))
    elif piece.text == "$" and text[piece.end : piece.end + 1] == "{":
        styled.append((_VARIABLE, _State(state.words or _QUERY_WORDS, False, True)))
    elif piece.kind is PieceKind.STRING and before is not None and before.text == ":" and before.end == piece.start:
        styled[-1] = (_VARIABLE, styled[-1][1])
        styled.append((_VARIABLE, state))
    else:
        styled.append(_style_in_statement(text, piece, before, state))


def _style_in_statement(text: str, piece: Piece, before: Piece | None, state: _State) -> tuple[str, _State]:
    """Returns the style of a word, a literal or an operator of a statement, and the state behind it."""
    if piece.kind is PieceKind.WORD:
        words = state.words or (_QUERY_WORDS if piece.text.upper() in QUERY_STARTS else _statement_words())
        is_part = before is not None and before.text == "."
        return _word_style(text, piece, words, is_part), _State(words)
    punctuation = piece.text in "(),.[]"
    style = _PUNCTUATION if punctuation and piece.kind is PieceKind.OPERATOR else _BY_KIND[piece.kind]
    return style, state if state.words or piece.text == "(" else _State(_QUERY_WORDS)


def _word_style(text: str, piece: Piece, words: frozenset[str], is_part: bool) -> str:
    word = piece.text.upper()
    if is_part:
        return _NAME
    if word in words:
        return _KEYWORD
    if text[piece.end : piece.end + 1] == "(":
        return _FUNCTION
    return _TYPE if word in _TYPES else _NAME
