"""Lark's LALR tables, and the automaton that they describe, a terminal at a time.

Lark builds the tables; its interactive parser would run them, too, but takes half as long again, and a long filter is
mostly that. What is taken over of its own: a rule that has a single child and no name in the tree hands the child on,
so that nothing needs to be built for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lark import Lark
from lark.parsers.lalr_analysis import Shift

from rewriter.grammar.clauses import Terminal

END = "$END"


class Reduction(NamedTuple):
    """``size`` values become one of ``rule``: what ``build`` makes of them or, without it, the one that there is."""

    size: int
    rule: str
    build: Callable[[list[Any]], Any] | None


@dataclass(frozen=True)
class Tables:
    """By state: what a terminal does (the next state, or a reduction before it), and the next state after a rule.

    ``starts`` and ``ends`` are the states that a parse of each start rule begins and ends with.
    """

    actions: Sequence[Mapping[str, int | Reduction]]
    gotos: Sequence[Mapping[str, int]]
    starts: Mapping[str, int]
    ends: Mapping[str, int]

    @classmethod
    def of(cls, lark: Lark) -> Tables:
        """The tables of a grammar that was read with ``parser="lalr"`` and a transformer."""
        parser = lark.parser.parser.parser
        table, made = parser.parse_table, dict[Any, Reduction]()
        actions: list[dict[str, int | Reduction]] = [{} for _ in range(max(table.states) + 1)]
        gotos: list[dict[str, int]] = [{} for _ in actions]
        for state, row in table.states.items():
            for name, (action, target) in row.items():
                if action is not Shift:
                    actions[state][str(name)] = made.setdefault(target, _reduction(target, parser.callbacks[target]))
                elif str(name).isupper():
                    actions[state][str(name)] = target
                else:
                    gotos[state][str(name)] = target
        return cls(actions, gotos, table.start_states, table.end_states)


def _reduction(rule: Any, build: Callable[[list[Any]], Any]) -> Reduction:
    options, symbols = rule.options, (rule.origin, *rule.expansion)
    passes = (
        options.expand1
        and rule.alias is None
        and len(rule.expansion) == 1
        and not any(options.empty_indices)
        and not any(symbol.name.startswith("_") for symbol in symbols)
        and not getattr(rule.expansion[0], "filter_out", False)
    )
    return Reduction(len(rule.expansion), str(rule.origin.name), None if passes else build)


class Parse:
    """A parse on its way. A terminal that does not fit spoils it."""

    def __init__(self, tables: Tables, start: str) -> None:
        self._tables = tables
        self._states = [tables.starts[start]]
        self._end = tables.ends[start]
        self._values: list[Any] = []
        #: What was read, once ``END`` was fed.
        self.result: Any = None

    @property
    def choices(self) -> Mapping[str, int | Reduction]:
        """The terminals that may fit next; ``accepted`` says of which that is sure."""
        return self._tables.actions[self._states[-1]]

    def feed(self, terminal: Terminal) -> bool:
        """Takes the next terminal. Whether it fits; constant in time, over a whole parse. Raises what rules raise."""
        actions, gotos, states, values = self._tables.actions, self._tables.gotos, self._states, self._values
        name = terminal.type
        while (action := actions[states[-1]].get(name)) is not None:
            if isinstance(action, int):
                states.append(action)
                values.append(terminal)
                return True
            size, rule, build = action
            if build is None:
                states[-1] = gotos[states[-2]][rule]
            else:
                taken = values[len(values) - size :]
                del values[len(values) - size :], states[len(states) - size :]
                values.append(build(taken))
                states.append(gotos[states[-1]][rule])
            if name == END and states[-1] == self._end:
                self.result = values[-1]
                return True
        return False


def accepted(tables: Tables, start: str, fed: Sequence[str]) -> set[str]:
    """The terminals that fit after those of these names, which fit. Nothing is built."""
    states = [tables.starts[start]]
    for name in fed:
        _advance(tables, states, name, tables.ends[start])
    return {name for name in tables.actions[states[-1]] if _advance(tables, [*states], name, tables.ends[start])}


def _advance(tables: Tables, states: list[int], name: str, end: int) -> bool:
    """Takes a terminal. Whether it fits."""
    while (action := tables.actions[states[-1]].get(name)) is not None:
        if isinstance(action, int):
            states.append(action)
            return True
        del states[len(states) - action.size :]
        states.append(tables.gotos[states[-1]][action.rule])
        if name == END and states[-1] == end:
            return True
    return False
