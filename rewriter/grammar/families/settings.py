"""The session itself: SET and RESET of settings, which are read without the grammar; SHOW CACHE."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field

from rewriter.errors import NotSupportedError, ParseError, Span
from rewriter.grammar.lexer import Token, TokenKind, identifier_value, string_value
from rewriter.grammar.statements import Statement, builds, reads, renders
from rewriter.grammar.unparse import quote
from rewriter.lazy_dataclass import dataclass

_PLAIN_KEY = re.compile(r"[A-Za-z_]\w*(?:[.:-]\w+)*", re.ASCII)

RULES = r"""
?statement: show_cache

show_cache: "SHOW" "CACHE"
"""


@dataclass(frozen=True, kw_only=True)
class SetSetting(Statement):
    """``SET key = value``; ``SET key`` has no value; a bare ``SET`` has neither. ``typed`` is a value with its quotes,
    ``None`` for one without.
    """

    key: str | None = None
    value: str | None = None
    typed: str | None = field(default=None, compare=False)


@reads("SET")
def read_set(text: str, statement_tokens: Sequence[Token]) -> SetSetting | None:
    if len(statement_tokens) == 1:
        return SetSetting()
    if statement_tokens[1].is_word("TIME") and len(statement_tokens) > 2 and statement_tokens[2].is_word("ZONE"):
        raise NotSupportedError(
            "SET TIME ZONE is not supported.",
            position=Span(statement_tokens[1].start, statement_tokens[2].end),
            hint="Sessions run in UTC; a cube can have its own time zone: CREATE CUBE … TIME ZONE '…'.",
        )
    if (
        statement_tokens[1].is_word("VAR", "VARIABLE")
        and len(statement_tokens) > 2
        and not _assigns(statement_tokens[2])
    ):
        return None
    key, after = _setting_key(text, statement_tokens)
    if after == len(statement_tokens):
        return SetSetting(key=key)
    if not statement_tokens[after].is_operator("="):
        raise ParseError(
            f"Syntax error at or near '{statement_tokens[after].text}'.",
            condition="INVALID_SET_SYNTAX",
            sqlstate="42000",
            position=statement_tokens[after].span,
            hint="Write SET key = value, SET key, or SET.",
        )
    value = statement_tokens[after + 1 :]
    if not value:
        return SetSetting(key=key, value="")
    if len(value) == 1 and value[0].kind is TokenKind.STRING:
        return SetSetting(key=key, value=string_value(value[0]), typed=value[0].text)
    return SetSetting(key=key, value=text[value[0].start : value[-1].end])


def _assigns(token: Token) -> bool:
    """Tests whether a token behind a word continues a setting: ``SET var = 1``, ``SET var.x = 1``."""
    return token.is_operator("=", ".", "-", ":")


@renders(SetSetting)
def set_setting_text(s: SetSetting) -> str:
    if s.key is None:
        return "SET"
    return f"SET {key_text(s.key)}" if s.value is None else f"SET {key_text(s.key)} = {quote(s.value)}"


@dataclass(frozen=True, kw_only=True)
class ResetSetting(Statement):
    key: str | None = None


@reads("RESET")
def read_reset(text: str, statement_tokens: Sequence[Token]) -> ResetSetting:
    if len(statement_tokens) == 1:
        return ResetSetting()
    key, after = _setting_key(text, statement_tokens)
    if after < len(statement_tokens):
        raise ParseError(
            f"Syntax error at or near '{statement_tokens[after].text}'.",
            position=statement_tokens[after].span,
            hint="Write RESET key, or RESET.",
        )
    return ResetSetting(key=key)


@renders(ResetSetting)
def reset_setting_text(s: ResetSetting) -> str:
    return "RESET" if s.key is None else f"RESET {key_text(s.key)}"


def _setting_key(text: str, statement_tokens: Sequence[Token]) -> tuple[str, int]:
    """Returns the key of a setting, which begins at the second token and has no blanks, and the index of what follows
    it.
    """
    first, end = statement_tokens[1], 1
    if first.kind is TokenKind.IDENTIFIER:
        return identifier_value(first), 2
    while end < len(statement_tokens) and (end == 1 or statement_tokens[end].start == statement_tokens[end - 1].end):
        token = statement_tokens[end]
        if token.kind not in (TokenKind.WORD, TokenKind.NUMBER) and not token.is_operator(".", "-", ":"):
            break
        end += 1
    if end == 1 or first.kind is not TokenKind.WORD:
        raise ParseError(
            f"Syntax error at or near '{first.text}'.",
            condition="INVALID_SET_SYNTAX",
            sqlstate="42000",
            position=first.span,
            hint="A key consists of words separated by dots: SET rewriter.partial_data = true.",
        )
    return text[first.start : statement_tokens[end - 1].end], end


def key_text(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) else "`" + key.replace("`", "``") + "`"


@dataclass(frozen=True, kw_only=True)
class ShowCache(Statement):
    """``SHOW CACHE``."""


@builds("show_cache")
def show_cache() -> ShowCache:
    return ShowCache()


@renders(ShowCache)
def show_cache_text(s: ShowCache) -> str:
    return "SHOW CACHE"
