r"""Variables in statements: ``${x}`` and Hive's ``${hivevar:x}``; in the shell also ``:x``, ``:'x'``, ``:"x"``.

``:x`` is replaced by the value, which must be one literal or one identifier; ``:'x'`` by the value as a string literal,
``:"x"`` by the value as a quoted identifier. ``${hivevar:x}`` is as ``:x``; within a string or a quoted identifier, and
as a part of a name (``sales_${hivevar:year}``), the value becomes a part of it. It may also be a qualified name, or a
call: ``SET start = date_sub(current_date(), 7)``. The result is lexed again: its other tokens must be the tokens of the
statement. So a value adds no condition, no clause and no statement.

>>> substituted("SELECT * FROM :t WHERE dt = :'day'", Variables({"t": "sales", "day": "it's"})).text
"SELECT * FROM sales WHERE dt = 'it\\'s'"
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from rewriter.errors import InterfaceError, ParseError, ProgrammingError, Span
from rewriter.grammar.lexer import Token, TokenKind, tokens
from rewriter.grammar.unparse import quote
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.parameters import BoundText

#: A reference to a variable of Hive: its namespace, if it has one, and its name.
_HIVE_REFERENCE = re.compile(r"\$\{(?:(\w+):)?([^{}\n'\"`;]*)\}")

_NAME = re.compile(r"[A-Za-z_]\w*")
#: The namespaces of references that are never other text.
_SPACES = ("hivevar", "hiveconf")
#: The namespaces of Hive and Spark whose values no statement sets.
_FOREIGN_SPACES = ("env", "system", "metaconf", "spark", "sparkconf")
#: The beginning of an escape in a string, whose end the next characters may be.
_OPEN_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\(?:u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[01][0-7]?)?\Z")
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
    """Variables by name, and Hive's configuration variables, which ``SET x = …`` sets."""

    values: dict[str, str] = field(default_factory=dict)
    configuration: dict[str, str] = field(default_factory=dict)

    def beside(self, others: Variables) -> Variables:
        """Returns these variables and those of others, which come first."""
        return Variables({**self.values, **others.values}, {**self.configuration, **others.configuration})

    def set(self, name: str, value: str) -> None:
        """Sets a variable. Raises ``InterfaceError`` for a name that is no identifier."""
        if not _NAME.fullmatch(name):
            raise InterfaceError(
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
    #: The namespace of a reference of Hive, in lower case; empty if it has none.
    space: str = ""

    @property
    def is_text(self) -> bool:
        """True if Hive and Spark leave the reference as it is in a string: of an unknown namespace, or with a blank."""
        is_unknown = self.space not in ("", *_SPACES, *_FOREIGN_SPACES)
        return self.form == "$" and (is_unknown or re.fullmatch(r"\S+", self.name) is None)


def mask_references(text: str) -> str:
    """Returns the text with ``x`` for each character of a reference such as ``${hivevar:x}``, which begins no token."""
    return _HIVE_REFERENCE.sub(lambda match: "x" * len(match[0]), text) if "${" in text else text


def substitute_variables(
    text: str, variables: Variables, scripted: Variables | None = None, *, colons: bool = True
) -> BoundText:
    """Returns the statement with the values of its variables, and the way back to positions in the typed text. O(n).
    ``scripted`` are the variables that SET has set, which only ``${x}`` names. Without ``colons``, ``:x`` stays.

    Raises ``ProgrammingError`` UNBOUND_SQL_PARAMETER for a variable that is not set, INVALID_VARIABLE_VALUE for a value
    that is not one literal or identifier, both with the position of the reference, and ``ParseError``.
    """
    beside = variables if scripted is None else variables.beside(scripted)
    hive = list(_hive_references(text, beside)) if "${" in text else []
    if not hive and not (colons and ":" in text):
        return BoundText(text, {})
    plain_text = mask_references(text)
    lexed = tokens(plain_text)
    edits = _hive_edits(text, lexed, hive) + (_colon_edits(plain_text, lexed, variables) if colons else [])
    if not edits:
        return BoundText(text, {})
    edits.sort(key=lambda edit: edit.span.start)
    result = _edited(text, edits)
    _check_tokens(lexed, edits, result)
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
    for match in _HIVE_REFERENCE.finditer(text):
        space, name, span = (match[1] or "").lower(), match[2], Span(*match.span())
        if (span.start - len(text[: span.start].rstrip("\\"))) % 2:
            continue  # An escaped $ in a string.
        own, other = variables.values, variables.configuration
        if space == "hiveconf":
            own, other = other, own
        is_read = not space or space in _SPACES
        # Hive keeps the two apart, and Spark has one value for both: that which was set last.
        if is_read and name in own and own[name] != other.get(name, own[name]):
            raise ProgrammingError(
                f"The variable {name} has two values: that of SET {name}, and that of SET hivevar:{name}.",
                condition="INVALID_VARIABLE_VALUE",
                sqlstate="22023",
                position=span,
                object=name,
                hint=f"Hive and Spark read different ones. Give one of them another name, or RESET {name}.",
            )
        references.append(_Reference(span, name, "$", {**other, **own}, space))
    return references


def _hive_edits(text: str, lexed: Sequence[Token], references: Sequence[_Reference]) -> list[_Edit]:
    edits, index = [], 0
    for reference in references:
        while index < len(lexed) and lexed[index].end <= reference.span.start:
            index += 1
        if index == len(lexed) or lexed[index].start >= reference.span.end:
            continue  # In a comment.
        token = lexed[index]
        is_string = token.kind is TokenKind.STRING
        if is_string and reference.is_text:
            continue
        if is_string and not reference.space and reference.name not in reference.values:
            as_text = f" For the text itself, write '\\u0024{{{reference.name}}}'."
            raise _unset(reference, " Hive leaves its reference in the string, and Spark removes it.", as_text)
        if reference.space not in ("", *_SPACES):
            raise ProgrammingError(
                f"The namespace '{reference.space}' of a variable is not supported.",
                position=reference.span,
                object=reference.space,
                hint="Write ${name}, and set it: SET name = VALUE.",
            )
        if token.span == reference.span:
            edits.append(_whole(reference, lexed[index - 1] if index else None, text))
        else:
            edits.append(_Edit(reference, _part(token, reference, text)))
    return edits


def _part(token: Token, reference: _Reference, text: str) -> str:
    """Returns the value as a part of the token that has the reference."""
    value = _value(reference)
    if token.kind is TokenKind.STRING:
        before = text[token.start : reference.span.start]
        if before[0] in "rR":
            if before[1] in value:
                raise _refused(reference, "has a quote, which a raw string cannot hold")
            return value
        if _OPEN_ESCAPE.search(before[1:]):
            raise _refused(reference, "would become a part of the escape before it")
        return quote(value)[1:-1].replace('"', '\\"')
    if token.kind is TokenKind.IDENTIFIER:
        return value.replace("`", "``")
    if token.kind is not TokenKind.WORD or not re.fullmatch(r"\w+", value):
        raise _refused(reference, "is a part of a name here, and has other characters than letters, digits and _")
    return value


def _whole(reference: _Reference, before: Token | None, text: str) -> _Edit:
    """Returns the edit that puts a value in the place of a reference. A sign does not join operands beside it."""
    edit = _single(reference, _value(reference))
    if edit.text[0] in "+-" and before is not None:
        if _is_operand(before):
            raise _refused(reference, "would be added to the operand before it")
        if text[: reference.span.start].endswith(("+", "-")):
            return replace(edit, text=f" {edit.text}")
    return edit


def _colon_edits(text: str, lexed: Sequence[Token], variables: Variables) -> list[_Edit]:
    edits = []
    for before, token in zip((None, *lexed), lexed, strict=False):
        if token.kind is TokenKind.PARAMETER and token.text != "?":
            reference = _Reference(token.span, token.text[1:], ":", variables.values)
            edits.append(_whole(reference, before, text))
        elif token.text == ":" and (match := _QUOTED.match(text, token.start)):
            reference = _Reference(Span(*match.span()), match[2], match[1], variables.values)
            value = _value(reference)
            quoted = quote(value) if match[1] == "'" else "`" + value.replace("`", "``") + "`"
            edits.append(_Edit(reference, quoted))
    return edits


def _is_operand(token: Token) -> bool:
    if token.kind is TokenKind.WORD:
        return token.is_word("END") or not token.is_word(*_RESERVED, "INTERVAL")
    return token.kind is not TokenKind.OPERATOR or token.text in ")]"


def _value(reference: _Reference) -> str:
    value = reference.values.get(reference.name)
    if value is None:
        raise _unset(reference)
    return value


def _unset(reference: _Reference, effect: str = "", other_hint: str = "") -> ProgrammingError:
    is_conf = reference.form == "$" and reference.space in _SPACES
    option = "--hiveconf" if is_conf else f"--var {reference.name}=VALUE"
    return ProgrammingError(
        f"The variable {reference.name} is not set.{effect}",
        condition="UNBOUND_SQL_PARAMETER",
        sqlstate="42P02",
        position=reference.span,
        object=reference.name,
        hint=f"Set it: SET {reference.name} = VALUE, or in the shell {option}.{other_hint}",
    )


def _single(reference: _Reference, value: str) -> _Edit:
    """Returns the edit for a value that is one literal or identifier; refuses all others."""
    trimmed = value.strip()
    unsigned = _SIGN.sub("", trimmed, count=1) if _SIGN.match(trimmed) else trimmed
    try:
        lexed = tokens(unsigned)
    except ParseError:
        raise _refused(reference, "cannot be read") from None
    is_whole = bool(lexed) and lexed[0].start == 0 and lexed[-1].end == len(unsigned)
    if reference.form == "$" and is_whole and unsigned == trimmed and _is_path_or_call(lexed):
        return _Edit(reference, trimmed, len(lexed))
    if unsigned != trimmed:
        is_valid = len(lexed) == 1 and lexed[0].kind is TokenKind.NUMBER
    elif len(lexed) == 2:
        is_valid = lexed[0].is_word(*_TYPED) and lexed[1].kind is TokenKind.STRING
    else:
        is_valid = len(lexed) == 1 and lexed[0].kind not in (TokenKind.OPERATOR, TokenKind.PARAMETER)
        is_valid = is_valid and not lexed[0].is_word(*_RESERVED)
    if not (is_whole and is_valid):
        raise _refused(
            reference,
            "is not one literal, one name or one call"
            if reference.form == "$"
            else "is not one literal or one identifier",
        )
    return _Edit(reference, trimmed, len(lexed) + (unsigned != trimmed))


def _is_path_or_call(lexed: Sequence[Token]) -> bool:
    """Tests whether a value is a qualified name, or a name and what is in parentheses behind it: one operand."""
    names = (TokenKind.WORD, TokenKind.IDENTIFIER)
    index = 0
    while index + 2 < len(lexed) and lexed[index + 1].is_operator("."):
        index += 2
    is_path = all(token.kind in names and not token.is_word(*_RESERVED) for token in lexed[: index + 1 : 2])
    if not is_path or len(lexed) == 1:
        return False
    if index + 1 == len(lexed):
        return True
    depth = 0
    for position, token in enumerate(lexed[index + 1 :], start=index + 1):
        depth += token.is_operator("(") - token.is_operator(")")
        if token.kind is TokenKind.PARAMETER or token.is_operator(";") or (not depth and position < len(lexed) - 1):
            return False
    return depth == 0 and lexed[-1].is_operator(")")


def _refused(reference: _Reference, reason: str) -> ProgrammingError:
    return ProgrammingError(
        f"The value of the variable {reference.name} {reason}.",
        condition="INVALID_VARIABLE_VALUE",
        sqlstate="22023",
        position=reference.span,
        object=reference.name,
        hint=f"Write '${{{reference.name}}}' for the value as a string, or `${{{reference.name}}}` for it as a name."
        if reference.form == "$"
        else f"Write :'{reference.name}' for the value as a string, or :\"{reference.name}\" for it as a name.",
    )


def _check_tokens(lexed: Sequence[Token], edits: Sequence[_Edit], result: BoundText) -> None:
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
        changed = tokens(mask_references(result.text))
    except ParseError:
        raise _refused(edits[0].reference, "cannot be read at its place") from None
    inside = len(changed) - len(outside(changed, spans))
    before = outside(lexed, [edit.span for edit in edits])
    if outside(changed, spans) != before or inside > sum(edit.tokens for edit in edits):
        raise _refused(edits[0].reference, "would change the words beside it")
