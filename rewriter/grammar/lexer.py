r"""The only lexer: finds the words, strings, identifiers and comments in Spark SQL text.

Follows the lexer of Spark 4.3. Blanks and comments (``-- …``, nested ``/* … */``) produce no tokens. Every token has
its span of the text, in characters. A hint ``/*+ … */`` is not a comment: its parts are tokens. ``>>`` is two tokens,
because types nest. ``:name`` is a parameter unless it follows an operand without a blank (``v:a`` is a path).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from rewriter.errors import ParseError, Span


class TokenKind(Enum):
    """Kinds of tokens. ``IDENTIFIER`` is a backquoted name; a bare name or a keyword is a ``WORD``."""

    WORD = "word"
    IDENTIFIER = "identifier"
    STRING = "string"
    NUMBER = "number"
    OPERATOR = "operator"
    PARAMETER = "parameter"

    #: There is one of each, and ``Enum`` would hash its name, anew for each token: that takes 18 % of the time to read
    #: an IN list of 5,000 dates, 80 ms instead of 66, and as much of short statements.
    __hash__ = object.__hash__


#: How many characters of a token a message shows.
LONGEST_SHOWN = 80


class Token(NamedTuple):
    """A token: ``text`` as typed, quotes included, at ``[start, end)`` of the lexed text."""

    kind: TokenKind
    text: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    @property
    def upper(self) -> str:
        return self.text.upper()

    @property
    def shown(self) -> str:
        """The text as messages show it: a long one is cut."""
        return self.text if len(self.text) <= LONGEST_SHOWN else f"{self.text[:LONGEST_SHOWN]}…"

    def is_word(self, *keywords: str) -> bool:
        """Tests whether this is one of the (upper case) keywords, typed without quotes."""
        return self.kind is TokenKind.WORD and self.text.upper() in keywords

    def is_operator(self, *operators: str) -> bool:
        return self.kind is TokenKind.OPERATOR and self.text in operators


# Order matters: raw strings and numbers before words (which may begin with a digit), comments before operators.
#: One token, comment or end, behind blanks; the name of its group is its kind. ``text_pieces`` uses it, too.
PATTERN = re.compile(
    r"""\s*+(?:
      (?P<STRING>[rR](?:'[^']*'|"[^"]*")|'(?:[^'\\]++|\\.|'')*+'|"(?:[^"\\]++|\\.|"")*+")
    | (?P<NUMBER>(?:[0-9]++(?:\.[0-9]*)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?(?:[bB]?[dD]|[fF])?(?!\w)|[0-9]++[lLsSyY](?!\w))
    | (?P<WORD>\w++(?:://[\w/\-.?=&\#%]+)?)
    | (?P<IDENTIFIER>`(?:[^`]|``)*+`)
    | (?P<COMMENT>--(?:\\\n|[^\r\n])*+|/\*(?!\+))
    | (?P<PARAMETER>\?|(?<![\w)\]'"`:]):[^\W\d]\w*+)
    | (?P<OPERATOR><=>|/\*\+|\*/|\|\||\|>|<=|>=|<>|!=|!<|!>|==|::|:=|->|=>|<<|[-+*/%&|^~!<>=.,;:()\[\]{}])
    | (?P<END>\Z)
    )""",
    re.VERBOSE | re.DOTALL,
)
_KINDS = {kind.name: kind for kind in TokenKind}
_COMMENT_EDGE = re.compile(r"/\*(?!\+)|\*/")
_BLANK = re.compile(r"\s*")
_UNCLOSED = {
    "'": ("string", "Close it with '. A quote inside it is written \\' or ''."),
    '"': ("string", 'Close it with ". A quote inside it is written \\" or "".'),
    "`": ("quoted identifier", "Close it with `. A backquote inside it is written ``."),
}
#: The most characters of a number: no type has so many digits, and Python reads no whole number of many more.
_LONGEST_NUMBER = 1000
_LOOKALIKES = {"‘": "'", "’": "'", "“": '"', "”": '"', "„": '"', "´": "'", "–": "-", "—": "-", "−": "-"}


def tokens(text: str) -> tuple[Token, ...]:
    """Returns all tokens of the text, in order. Linear in its length, about 0.2 ms for 1,000 characters.

    Raises ``ParseError``, with position and hint, for an unterminated string, identifier or comment, for a character
    that begins nothing in SQL, for half of a surrogate pair, which is none, and for a number of thousands of digits.
    """
    return _cached_tokens(text) if _SHORTEST <= len(text) <= _LONGEST else _lexed(text)


def _lexed(text: str) -> tuple[Token, ...]:
    _check_characters(text)
    lexed: list[Token] = []
    append, match, kinds = lexed.append, PATTERN.match, _KINDS
    position = 0
    while True:
        hit = match(text, position)
        if hit is None:
            raise _unreadable(text, position)
        name = hit.lastgroup
        assert name is not None
        kind = kinds.get(name)
        if kind is not None:
            start, position = hit.span(name)
            append(Token(kind, text[start:position], start, position))
        elif name == "END":
            if len(text) > _LONGEST_NUMBER:
                _check_numbers(lexed)
            return tuple(lexed)
        else:
            start, position = hit.span(name)
            if text[start] == "/":
                position = end_of_comment(text, start)


def scan(text: str, start: int = 0) -> Iterator[Token]:
    """Yields the tokens from an offset on, each when it is requested. Raises the errors of ``tokens``."""
    position = start
    while True:
        hit = PATTERN.match(text, position)
        if hit is None:
            raise _unreadable(text, position)
        name = hit.lastgroup
        assert name is not None
        if name == "END":
            return
        begin, position = hit.span(name)
        if name in _KINDS:
            yield Token(_KINDS[name], text[begin:position], begin, position)
        elif text[begin] == "/":
            position = end_of_comment(text, begin)


def shifted(typed_tokens: Sequence[Token], distance: int) -> tuple[Token, ...]:
    """Returns the tokens at their positions in another text, which are ``distance`` characters later."""
    if distance == 0:
        return tuple(typed_tokens)
    return tuple([Token(kind, text, start + distance, end + distance) for kind, text, start, end in typed_tokens])


#: A statement's text is lexed by several readers, one after the other. The tokens of the last two texts are cached,
#: except the tokens of texts that cost nothing, or too much memory.
_SHORTEST, _LONGEST = 100, 1_000_000
_cached_tokens = lru_cache(maxsize=2)(_lexed)


def split_statements(text: str) -> tuple[Span, ...]:
    """Returns the spans of the statements that ``;`` separates, from first to last token, without the ``;``.

    Spans of blanks and comments are not statements. Raises ``ParseError`` as ``tokens`` does.
    """
    spans: list[Span] = []
    first: Token | None = None
    last: Token | None = None
    for token in tokens(text):
        if token.is_operator(";"):
            if first is not None and last is not None:
                spans.append(Span(first.start, last.end))
            first = last = None
        else:
            first, last = first or token, token
    if first is not None and last is not None:
        spans.append(Span(first.start, last.end))
    return tuple(spans)


#: A ``;`` at the end of a line, with a comment behind it or none.
_END_OF_STATEMENT = re.compile(r";[ \t\r]*(?:--[^\n]*)?(?:\n|\Z)")


def readable_statements(text: str) -> tuple[tuple[Span, ...], tuple[ParseError, ...]]:
    """Returns the spans of ``split_statements``, and an error for each statement that has none. Linear in the text.

    Where something of the text is not closed, no string and no quoted name goes beyond a ``;`` at the end of a line:
    the next statement begins behind it. In such a text a string that has one is an error, too.
    """
    try:
        return split_statements(text), ()
    except ParseError:
        spans: list[Span] = []
        errors: list[ParseError] = []
        start = 0
        while start < len(text):
            first = last = None
            try:
                for token in scan(text, start):
                    if token.is_operator(";"):
                        start = token.end
                        break
                    edge = _END_OF_STATEMENT.search(text, token.start, token.end) if "\n" in token.text else None
                    if edge is not None and edge[0].endswith("\n"):
                        raise _unreadable(text, token.start + (token.text[0] in "rR"))
                    first, last = first or token, token
                else:
                    start = len(text)
            except ParseError as error:
                errors.append(error)
                first = None
                position = error.position.start if error.position is not None else start
                edge = _END_OF_STATEMENT.search(text, position)
                start = len(text) if edge is None else edge.end()
            if first is not None and last is not None:
                spans.append(Span(first.start, last.end))
        return tuple(spans), tuple(errors)


_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})|\\([01][0-7]{2})|\\(.)|('')|(\"\")", re.DOTALL)
_LETTERS = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def string_value(token: Token) -> str:
    r"""Returns the value of a string literal, by the rules of Spark 4.

    Escapes are ``\n \t \r \b \0 \Z \uXXXX \UXXXXXXXX`` and octal ``\ooo``; ``\%`` and ``\_`` keep their backslash
    (LIKE needs it); any other escaped character is itself. A doubled quote is one quote. A raw string ``r'…'`` is
    taken as typed.
    Raises ``ParseError`` for an escape that is not a character.
    """
    raw = token.text
    if raw[0] in "rR":
        return raw[2:-1]
    quote, body = raw[0], raw[1:-1]
    if "\\" not in body:
        return body.replace(quote * 2, quote)

    def decode(hit: re.Match[str]) -> str:
        short, long, octal, letter, single, double = hit.groups()
        if short or long:
            return _character(token, int(short or long, 16))
        if octal:
            return chr(int(octal, 8))
        if letter:
            return _LETTERS.get(letter, letter)
        doubled: str = single or double
        return quote if doubled[0] == quote else doubled

    value = _ESCAPE.sub(decode, body)
    try:
        # \uD83D\uDE00 spells one character in two halves, as Java does.
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise _no_character(token) from None


def identifier_value(token: Token) -> str:
    """Returns the name that a word or a backquoted identifier denotes, without quotes, in the case typed."""
    if token.kind is TokenKind.IDENTIFIER:
        return token.text[1:-1].replace("``", "`")
    return token.text


def _character(token: Token, code_point: int) -> str:
    if code_point > 0x10FFFF:
        raise _no_character(token)
    return chr(code_point)


def _no_character(token: Token) -> ParseError:
    return ParseError(
        "A string contains a \\u or \\U escape that is not a character.",
        position=token.span,
        hint="Write \\uXXXX or \\UXXXXXXXX with the code of a character; \\\\ is a backslash.",
    )


def end_of_comment(text: str, start: int) -> int:
    """Returns the end of the bracketed comment that begins at ``start``; comments nest."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(text, start):
        depth += 1 if edge.group()[0] == "/" else -1
        if depth == 0:
            return edge.end()
    raise ParseError(
        "Found an unclosed bracketed comment.",
        condition="UNCLOSED_BRACKETED_COMMENT",
        sqlstate="42601",
        position=Span(start, start + 2),
        hint="Close it with */. Comments nest: each /* needs its own */.",
    )


def _check_characters(text: str) -> None:
    if text.isascii():
        return
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ParseError(
            "The text contains half of a surrogate pair, which is not a character.",
            position=Span(error.start, error.start + 1),
            hint="Remove it: it cannot be stored.",
        ) from None


def _check_numbers(numbers: Iterable[Token]) -> None:
    for token in numbers:
        if token.kind is TokenKind.NUMBER and len(token.text) > _LONGEST_NUMBER:
            raise ParseError(
                f"A number has {len(token.text):,} characters.",
                condition="DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION",
                sqlstate="22003",
                position=token.span,
                hint="Write at most 38 digits, or a string.",
            )


def _unreadable(text: str, position: int) -> ParseError:
    """Returns the error for text that begins no token."""
    blank = _BLANK.match(text, position)
    start = blank.end() if blank else position
    char = text[start]
    # The r of an unclosed raw string has become a word of its own.
    if char in _UNCLOSED:
        kind, hint = _UNCLOSED[char]
        return ParseError(f"This {kind} is not closed.", position=Span(start, start + 1), hint=hint)
    hint = "Quote names that contain other characters with `…`, and values with '…'."
    if char in _LOOKALIKES:
        hint = f"This is a typographic character; SQL requires {_LOOKALIKES[char]}."
    return ParseError(f"Syntax error at or near '{char}'.", position=Span(start, start + 1), hint=hint)
