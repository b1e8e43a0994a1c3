"""The base of all statements, and how a family declares its own.

A module of ``rewriter.grammar.families`` defines some kinds of statements in the dialect, each part next to
the others: the rules of lark (``RULES``), the class of the value (a ``Statement``), the function that builds the value
out of what a rule recognised (``@builds``), and the function that writes it as text again (``@renders``). Statements
that are not read by the grammar have a function that reads their tokens (``@reads``). No other table lists them.

The rule ``statement`` of a family is the alternation of its statements. All other names of rules belong to one grammar.
An upper-case word that no rule defines is a keyword that the builder gets as an argument; a quoted word is a keyword
that it does not get.

Example, in ``families/views.py``::

    RULES = r'''
    ?statement: drop_view
    drop_view: "DROP" "VIEW" [if_exists] name
    '''

    @dataclass(frozen=True, kw_only=True)
    class DropView(Statement):
        view: Name
        if_exists: bool = False

    @builds("drop_view")
    def drop_view(if_exists: bool | None, view: Name) -> DropView:
        return DropView(view=view, if_exists=bool(if_exists))

    @renders(DropView)
    def drop_view_text(s: DropView) -> str:
        return dropping("VIEW", s.view, s.if_exists)
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cache
from typing import Any, ClassVar, TypeVar

from rewriter.errors import Span
from rewriter.grammar.lexer import Token
from rewriter.lazy_dataclass import dataclass


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A statement as a value, which renders to text that parses to an equal one.

    ``span`` is its range of the parsed text. Names carry the span of their first mention so that an error about them
    can point at it. Spans do not take part in comparison.
    """

    #: Whether the statement loads rows from a STREAM. Others must not name one.
    loads_stream: ClassVar[bool] = False
    span: Span = field(default=Span(0, 0), compare=False)

    def permanent_names(self) -> tuple[str, ...]:
        """Returns the fields that never denote a temporary table: new permanent objects, and names of cubes and
        facts.
        """
        return ()

    def unqualified_names(self) -> tuple[str, ...]:
        """Returns the fields whose names belong to no database."""
        return ()


Reader = Callable[[str, Sequence[Token]], Statement | None]

_Build = TypeVar("_Build", bound=Callable[..., Any])
_Render = TypeVar("_Render", bound=Callable[[Any], str])
_Read = TypeVar("_Read", bound=Reader)

#: What builds the value of a rule, by the rule's name.
BUILDERS: dict[str, Callable[..., Any]] = {}
#: What writes a kind of statement as text.
RENDERERS: dict[type[Statement], Callable[[Any], str]] = {}
#: What reads the statements that begin with a word, by that word in upper case.
_READERS: dict[str, Reader] = {}


def builds(*rules: str) -> Callable[[_Build], _Build]:
    """Registers the decorated function as the builder of the values of the rules, by name or alias.

    It is called with the rule's parts: the values of rules and the ``Terminal`` of tokens. Absent parts in brackets are
    ``None``. ``ValueError`` for a second builder.
    """

    def register(build: _Build) -> _Build:
        for rule in rules:
            _put(BUILDERS, rule, build, f"The rule {rule}", "builder")
        return build

    return register


def renders(kind: type[Statement]) -> Callable[[_Render], _Render]:
    """Registers the decorated function as the one that writes a kind of statement. ``ValueError`` for a second one."""

    def register(render: _Render) -> _Render:
        _put(RENDERERS, kind, render, kind.__name__, "renderer")
        return render

    return register


def reads(*words: str) -> Callable[[_Read], _Read]:
    """Registers the decorated function as the reader of the statements that begin with one of the words.

    It is called with the text and the tokens of one statement, and returns ``None`` if the grammar must read it.
    ``ValueError`` for a second reader.
    """

    def register(read: _Read) -> _Read:
        for word in words:
            _put(_READERS, word, read, word, "reader")
        return read

    return register


def _put(registry: dict[Any, Any], key: Any, function: Callable[..., Any], title: str, role: str) -> None:
    if key in registry:
        raise ValueError(f"{title} already has a {role}: {registry[key].__qualname__}")
    registry[key] = function


@cache
def families() -> Mapping[str, str]:
    """Returns the grammar's rules by family, in the order of the families' names; families without rules are omitted.

    The first call imports every family. The families import this module, hence it finds them by name.
    """
    package = importlib.import_module("rewriter.grammar.families")
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    modules = {name: importlib.import_module(f"{package.__name__}.{name}") for name in names}
    return {name: module.RULES for name, module in modules.items() if hasattr(module, "RULES")}


def readers() -> Mapping[str, Reader]:
    """Returns the readers of all families, by the words that statements begin with."""
    families()
    return _READERS
