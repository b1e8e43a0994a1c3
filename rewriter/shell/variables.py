r"""Variables in statements: ``:x``, ``:'x'``, ``:"x"`` and Hive's ``${hivevar:x}``.

``:x`` is replaced by the value, which must be one literal or one identifier; ``:'x'`` by the value as a string literal,
``:"x"`` by the value as a quoted identifier. ``${hivevar:x}`` is as ``:x``; within a string or a quoted identifier, and
as a part of a name (``sales_${hivevar:year}``), the value becomes a part of it. The result is lexed again: its other
tokens must be those of the statement. So a value adds no condition, no clause and no statement.

>>> substituted("SELECT * FROM :t WHERE dt = :'day'", Variables({"t": "sales", "day": "it's"})).text
"SELECT * FROM sales WHERE dt = 'it\\'s'"
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rewriter.errors import ParseError, ProgrammingError, Span
from rewriter.grammar.lexer import Token, TokenKind, tokens
from rewriter.grammar.unparse import quote
from rewriter.runtime.parameters import BoundText
from rewriter.shell.script import HIVE_REFERENCE

_NAME = re.compile(r"[A-Za-z_]\w*")
#: What opens a quoted reference: a colon that is no operator of its operand, and a quote.
_QUOTED = re.compile(r"(?<![\w)\]'\"`:]):(['\"])([A-Za-z_]\w*)\1")
_SIGN = re.compile(r"[+-](?=[0-9.])")
_TYPED = ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "X")
#: Words that join or begin the parts of a statement: Spark's reserved words, as far as they are no values.
_RESERVED = frozenset(
    "ALL AND ANTI ANY AS ASC AT BETWEEN BOTH BY CASE CHECK COLLATE COLUMN CONSTRAINT CREATE CROSS CUBE DESC DISTINCT "
    "DROP ELSE END ESCAPE EXCEPT EXISTS FETCH FILTER FOR FOREIGN FROM FULL GRANT GROUP GROUPING HAVING IN INNER INSERT "
    "INTERSECT INTO IS JOIN LATERAL LEADING LEFT LIKE ILIKE LIMIT MINUS NATURAL NOT OFFSET ON ONLY OR ORDER OUTER "
    "OVERLAPS PRIMARY QUALIFY REFERENCES RIGHT RLIKE REGEXP ROLLUP SELECT SEMI SET SOME TABLE THEN TO TRAILING UNION "
    "UNIQUE USING VALUES WHEN WHERE WINDOW WITH WITHIN XOR DIV".split()
)


@dataclass
class Variables:
    """Variables by name, and Hive's configuration variables."""

    values: dict[str, str] = field(default_factory=dict)
    configuration: dict[str, str] = field(default_factory=dict)

    def set(self, name: str, value: str) -> None:
        """Sets a variable. Raises ``ProgrammingError`` for a name that is no identifier."""
        if not _NAME.fullmatch(name):
            raise ProgrammingError(
                f"'{name}' is not the name of a variable.",
                object=name,
                hint="A name has letters, digits and _, and does not begin with a digit.",
            )
        self.values[name] = value


@dataclass(frozen=True)
class _Reference:
    """A reference to a variable in a text. ``form`` is ``:``, a quote, or ``$``."""

    span: Span
    name: str
    form: str
    values: Mapping[str, str]
    is_optional: bool = False


def substituted(text: str, variables: Variables) -> BoundText:
    """Returns the statement with the values of its variables, and the way back to positions in the typed text. O(n).

    Raises ``ProgrammingError`` UNBOUND_SQL_PARAMETER for a variable that is not set, INVALID_VARIABLE_VALUE for a value
    that is not one literal or identifier, both with the position of the reference, and ``ParseError``.
    """
    hive = list(_hive_references(text, variables)) if "${" in text else []
    masked = text
    for reference in hive:
        start, end = reference.span.start, reference.span.end
        masked = f"{masked[:start]}{'x' * (end - start)}{masked[end:]}"
    if not hive and ":" not in text:
        return BoundText(text, {})
    lexed = tokens(masked)
    edits = _hive_edits(text, lexed, hive) + _colon_edits(masked, lexed, variables)
    if not edits:
        return BoundText(text, {})
    edits.sort(key=lambda edit: edit.span.start)
    result = _edited(text, edits)
    _check_tokens(masked, lexed, edits, result)
    return result


@dataclass(frozen=True)
class _Edit:
    """The replacement of a reference, and the number of tokens that it has or is a part of."""

    reference: _Reference
    text: str
    tokens: int = 1

    @property
    def span(self) -> Span:
        return self.reference.span


def _edited(text: str, edits: Sequence[_Edit]) -> BoundText:
    parts, position = [], 0
    for edit in edits:
        parts += [text[position : edit.span.start], edit.text]
        position = edit.span.end
    lengths = tuple((edit.span, len(edit.text)) for edit in edits)
    return BoundText("".join([*parts, text[position:]]), {}, lengths)


def _hive_references(text: str, variables: Variables) -> list[_Reference]:
    references = []
    for match in HIVE_REFERENCE.finditer(text):
        space, name, span = (match[1] or "").lower(), match[2].strip(), Span(*match.span())
        if (span.start - len(text[: span.start].rstrip("\\"))) % 2:
            continue  # An escaped $ in a string.
        if space not in ("", "hivevar", "hiveconf"):
            raise ProgrammingError(
                f"The namespace '{space}' of a variable is not supported.",
                position=span,
                object=space,
                hint="Write ${hivevar:name}, and pass the value: --var name=VALUE.",
            )
        values = variables.configuration if space == "hiveconf" else variables.values
        references.append(_Reference(span, name, "$", values, is_optional=not space))
    return references


def _hive_edits(text: str, lexed: Sequence[Token], references: Sequence[_Reference]) -> list[_Edit]:
    edits, remaining = [], iter(lexed)
    token = next(remaining, None)
    for reference in references:
        while token is not None and token.end <= reference.span.start:
            token = next(remaining, None)
        if token is None or token.start >= reference.span.end:
            continue  # In a comment.
        if reference.is_optional and reference.name not in reference.values and token.kind is TokenKind.STRING:
            continue  # Such text has a meaning of its own in other languages, whose code a string may hold.
        edits.append(_in_token(token, reference, text))
    return edits


def _in_token(token: Token, reference: _Reference, text: str) -> _Edit:
    """Returns the edit that makes the value a part of the token that has the reference."""
    value = _value(reference)
    if token.kind is TokenKind.STRING:
        typed = text[token.start : token.end]
        if typed[0] in "rR":
            if typed[1] in value:
                raise _refused(reference, "has a quote, which a raw string cannot hold")
            return _Edit(reference, value)
        return _Edit(reference, quote(value)[1:-1].replace('"', '\\"'))
    if token.kind is TokenKind.IDENTIFIER:
        return _Edit(reference, value.replace("`", "``"))
    if token.span == reference.span:
        return _single(reference, value)
    if token.kind is not TokenKind.WORD or not re.fullmatch(r"\w+", value):
        raise _refused(reference, "is a part of a name here, and has other characters than letters, digits and _")
    return _Edit(reference, value)


def _colon_edits(masked: str, lexed: Sequence[Token], variables: Variables) -> list[_Edit]:
    edits = []
    for before, token in zip((None, *lexed), lexed, strict=False):
        if token.kind is TokenKind.PARAMETER and token.text != "?":
            reference = _Reference(token.span, token.text[1:], ":", variables.values)
            edit = _single(reference, _value(reference))
            if edit.text[0] in "+-" and before is not None and _is_operand(before):
                raise _refused(reference, "would be added to the operand before it")
            is_after_sign = edit.text[0] in "+-" and masked[: token.start].endswith(("+", "-"))
            edits.append(replace(edit, text=f" {edit.text}") if is_after_sign else edit)
        elif token.text == ":" and (match := _QUOTED.match(masked, token.start)):
            reference = _Reference(Span(*match.span()), match[2], match[1], variables.values)
            value = _value(reference)
            quoted = quote(value) if match[1] == "'" else "`" + value.replace("`", "``") + "`"
            edits.append(_Edit(reference, quoted))
    return edits


def _is_operand(token: Token) -> bool:
    if token.kind is TokenKind.WORD:
        return not token.is_word(*_RESERVED, "INTERVAL")
    return token.kind is not TokenKind.OPERATOR or token.text in ")]"


def _value(reference: _Reference) -> str:
    value = reference.values.get(reference.name)
    if value is None:
        is_conf = reference.form == "$" and not reference.is_optional
        raise ProgrammingError(
            f"The variable {reference.name} is not set.",
            condition="UNBOUND_SQL_PARAMETER",
            sqlstate="42P02",
            position=reference.span,
            object=reference.name,
            hint=f"Set it: \\set {reference.name} VALUE, or --var {reference.name}=VALUE."
            + (" --hiveconf sets a variable of ${hiveconf:…}." if is_conf else ""),
        )
    return value


def _single(reference: _Reference, value: str) -> _Edit:
    """Returns the edit for a value that is one literal or identifier; refuses all others."""
    trimmed = value.strip()
    unsigned = _SIGN.sub("", trimmed, count=1) if _SIGN.match(trimmed) else trimmed
    try:
        lexed = tokens(unsigned)
    except ParseError:
        raise _refused(reference, "cannot be read") from None
    is_whole = bool(lexed) and lexed[0].start == 0 and lexed[-1].end == len(unsigned)
    if unsigned != trimmed:
        is_valid = len(lexed) == 1 and lexed[0].kind is TokenKind.NUMBER
    elif len(lexed) == 2:
        is_valid = lexed[0].is_word(*_TYPED) and lexed[1].kind is TokenKind.STRING
    else:
        is_valid = len(lexed) == 1 and lexed[0].kind not in (TokenKind.OPERATOR, TokenKind.PARAMETER)
        is_valid = is_valid and not lexed[0].is_word(*_RESERVED)
    if not (is_whole and is_valid):
        raise _refused(reference, "is not one literal or one identifier")
    return _Edit(reference, trimmed, len(lexed) + (unsigned != trimmed))


def _refused(reference: _Reference, reason: str) -> ProgrammingError:
    return ProgrammingError(
        f"The value of the variable {reference.name} {reason}.",
        condition="INVALID_VARIABLE_VALUE",
        sqlstate="22023",
        position=reference.span,
        object=reference.name,
        hint=f"Write :'{reference.name}' for the value as a string, or :\"{reference.name}\" for it as a name.",
    )


def _check_tokens(masked: str, lexed: Sequence[Token], edits: Sequence[_Edit], result: BoundText) -> None:
    """Refuses values that change tokens of the statement: those beside the references must be the same."""

    def outside(kept: Sequence[Token], spans: Sequence[Span]) -> list[tuple[TokenKind, str]]:
        outer, position = [], 0
        for token in kept:
            while position < len(spans) and spans[position].end <= token.start:
                position += 1
            if position == len(spans) or token.end <= spans[position].start:
                outer.append((token.kind, token.text))
        return outer

    spans, grown = [], 0
    for edit in edits:
        start = edit.span.start + grown
        spans.append(Span(start, start + len(edit.text)))
        grown += len(edit.text) - (edit.span.end - edit.span.start)
    try:
        changed = tokens(result.text)
    except ParseError:
        raise _refused(edits[0].reference, "cannot be read at its place") from None
    inside = len(changed) - len(outside(changed, spans))
    before = outside(lexed, [edit.span for edit in edits])
    if outside(changed, spans) != before or inside > sum(edit.tokens for edit in edits):
        raise _refused(edits[0].reference, "would change the words beside it")
