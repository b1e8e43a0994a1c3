"""Compiles the dialect's grammar with lark to tables of plain data, which ``stored_grammar`` keeps."""

from __future__ import annotations

from typing import Any

from lark import Lark
from lark import __version__ as lark_version
from lark.lexer import Lexer

from rewriter.errors import InternalError
from rewriter.grammar.lalr_tables import Shape


class _NoLexer(Lexer):  # type: ignore[misc]
    """A placeholder for the lexer that lark requires; ours has already run."""

    def __init__(self, _conf: object) -> None: ...

    def lex(self, lexer_state: object, parser_state: object) -> Any:
        raise NotImplementedError


def compiled(rules: str) -> dict[str, Any]:
    """Returns the tables of the grammar, as ``lalr_tables.Tables.of`` reads them.

    Its ``types`` are the names of the terminals by their spellings.
    """
    lark = Lark(rules, start=["start", "filter"], parser="lalr", lexer=_NoLexer, maybe_placeholders=True)
    return {
        "types": {terminal.pattern.value: str(terminal.name) for terminal in lark.terminals if terminal.pattern},
        **tables_of(lark),
    }


def tables_of(lark: Lark) -> dict[str, Any]:
    """Returns the tables of a grammar that was read with ``parser="lalr"``, as plain data.

    They are private to lark. ``InternalError`` LARK_VERSION if the installed lark keeps them in another form.
    """
    try:
        from lark.parsers.lalr_analysis import Shift

        table = lark.parser.parser.parser.parse_table
        table.states, table.start_states, table.end_states  # noqa: B018
    except (AttributeError, ImportError) as error:
        raise InternalError(
            f"lark {lark_version} stores its tables in a form that this release does not support: {error}",
            condition="LARK_VERSION",
            hint="Install a version of lark that pyproject.toml allows: pip install 'lark>=1.2,<2'.",
        ) from error
    rules: dict[Any, int] = {}
    actions: list[dict[str, int]] = []
    gotos: list[dict[str, int]] = []
    states = _in_order(table, Shift)
    numbers = {state: number for number, state in enumerate(states)}
    for state in states:
        actions.append({})
        gotos.append({})
        for name, (action, target) in sorted(table.states[state].items()):
            if action is not Shift:
                actions[-1][str(name)] = -1 - rules.setdefault(target, len(rules))
            elif str(name).isupper():
                actions[-1][str(name)] = numbers[target]
            else:
                gotos[-1][str(name)] = numbers[target]
    return {
        "starts": {name: numbers[state] for name, state in sorted(table.start_states.items())},
        "ends": {name: numbers[state] for name, state in sorted(table.end_states.items())},
        "shapes": [_shape(rule) for rule in rules],
        "actions": actions,
        "gotos": gotos,
    }


def _in_order(table: Any, shift: object) -> list[Any]:
    """Returns the states in the order in which they are reached from the starts: lark's order differs between
    processes.
    """
    states = dict.fromkeys(state for _, state in sorted(table.start_states.items()))
    queue = list(states)
    for state in queue:  # which grows meanwhile
        for _, (action, target) in sorted(table.states[state].items()):
            if action is shift and target not in states:
                states[target] = None
                queue.append(target)
    return queue


def _shape(rule: Any) -> Shape:
    """Returns what lark's own tree builder would do at the end of a rule."""
    # One mark for each symbol that may be absent there, between the symbols that are present.
    absent = [len(marks) for marks in "".join(str(int(is_absent)) for is_absent in _indices(rule)).split("0")]
    arguments: list[tuple[int, bool, int]] = []
    none_count = 0
    for position, symbol in enumerate(rule.expansion):
        none_count += absent[position]
        if not (symbol.is_term and symbol.filter_out):
            arguments.append((position, not symbol.is_term and symbol.name.startswith("_"), none_count))
            none_count = 0
    name = str(rule.alias or rule.origin.name)
    passes = bool(rule.options.expand1 and rule.alias is None)
    size = len(rule.expansion)
    return Shape(size, str(rule.origin.name), name, passes, tuple(arguments), none_count + absent[size])


def _indices(rule: Any) -> tuple[bool, ...]:
    return rule.options.empty_indices or (False,) * len(rule.expansion)
