"""The LALR tables of the dialect, and the automaton that they describe, one terminal at a time.

``compile_grammar`` makes the tables with lark, and ``stored_grammar`` reads them from a file of the package. Lark's
interactive parser could run them, too, but takes 50% longer, and most of the time for a long filter is spent
there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.grammar.statement_parts import Terminal

END = "$END"

Builder = Callable[..., Any]


class Reduction(NamedTuple):
    """Replaces ``size`` values by one value of ``rule``: the result of ``build`` or, without it, the only value."""

    size: int
    rule: str
    build: Callable[[list[Any]], Any] | None


class Shape(NamedTuple):
    """A reduction as plain data.

    ``arguments`` are the values that the builder ``name`` gets: the position of each among the ``size`` values, whether
    it is a list to be unpacked, and the number of ``None`` before it, for absent parts in brackets. ``trailing_nones``
    is the number at the end. A rule without a builder returns the list itself. With ``passes``, a single value is
    passed on as it is.
    """

    size: int
    rule: str
    name: str
    passes: bool
    arguments: tuple[tuple[int, bool, int], ...]
    trailing_nones: int

    def reduction(self, builders: Mapping[str, Builder]) -> Reduction:
        """Returns the reduction, with the builder of its rule."""
        all_positions = tuple((position, False, 0) for position in range(self.size))
        arguments, trailing_nones, passes = self.arguments, self.trailing_nones, self.passes
        build = builders.get(self.name)
        if arguments == all_positions and not trailing_nones and passes and self.size == 1:
            return Reduction(self.size, self.rule, None)

        # A list that grows by one part at a time is extended in place, as its old value is not used again.
        extends_list = bool(arguments) and arguments[0][1] and not arguments[0][2]
        appended = arguments[1:] if extends_list else arguments

        def built(values: list[Any]) -> Any:
            parts: list[Any] = values[arguments[0][0]] if extends_list else []
            for position, is_list, absent in appended:
                if absent:
                    parts += [None] * absent
                if is_list:
                    parts += values[position]
                else:
                    parts.append(values[position])
            if trailing_nones:
                parts += [None] * trailing_nones
            if passes and len(parts) == 1:
                return parts[0]
            return parts if build is None else build(*parts)

        return Reduction(self.size, self.rule, built)


@dataclass(frozen=True)
class Tables:
    """The transitions by state: the effect of a terminal (the next state, or a reduction before it), and the next state
    after a rule.

    ``starts`` and ``ends`` are the states in which a parse of each start rule begins and ends.
    """

    actions: Sequence[Mapping[str, int | Reduction]]
    gotos: Sequence[Mapping[str, int]]
    starts: Mapping[str, int]
    ends: Mapping[str, int]

    @classmethod
    def of(cls, stored: Mapping[str, Any], builders: Mapping[str, Builder]) -> Tables:
        """Returns the tables that ``compile_grammar.compiled`` returned. A negative action ``-n`` is the n-th shape."""
        shapes = (
            Shape(
                size,
                rule,
                name,
                passes,
                tuple((position, is_list, absent) for position, is_list, absent in arguments),
                trailing_nones,
            )
            for size, rule, name, passes, arguments, trailing_nones in stored["shapes"]
        )
        reductions = [shape.reduction(builders) for shape in shapes]
        actions = [
            {name: action if action >= 0 else reductions[-action - 1] for name, action in row.items()}
            for row in stored["actions"]
        ]
        return cls(actions, stored["gotos"], stored["starts"], stored["ends"])


class Parse:
    """A parse in progress. A terminal that does not fit makes it unusable."""

    def __init__(self, tables: Tables, start: str) -> None:
        self._tables = tables
        self._states = [tables.starts[start]]
        self._end = tables.ends[start]
        self._values: list[Any] = []
        #: What was read, once ``END`` was fed.
        self.result: Any = None

    @property
    def choices(self) -> Mapping[str, int | Reduction]:
        """The terminals that may fit next; ``accepted`` returns the terminals that certainly do."""
        return self._tables.actions[self._states[-1]]

    def feed(self, terminal: Terminal) -> bool:
        """Consumes the next terminal and returns whether it fits. Amortized constant time. Raises the errors of
        builders.
        """
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
                arguments = values[len(values) - size :]
                del values[len(values) - size :], states[len(states) - size :]
                values.append(build(arguments))
                states.append(gotos[states[-1]][rule])
            if name == END and states[-1] == self._end:
                self.result = values[-1]
                return True
        return False


def accepted(tables: Tables, start: str, names: Sequence[str]) -> set[str]:
    """Returns the terminals that fit after the terminals of these names, which fit. Builds no values."""
    states: Sequence[int] = [tables.starts[start]]
    for name in names:
        states = advanced(tables, states, name, tables.ends[start]) or states
    return accepted_in(tables, states, tables.ends[start])


def accepted_in(tables: Tables, states: Sequence[int], end: int) -> set[str]:
    """Returns the terminals that fit in these states, a stack."""
    return {name for name in tables.actions[states[-1]] if advanced(tables, states, name, end) is not None}


def advanced(tables: Tables, states: Sequence[int], name: str, end: int) -> tuple[int, ...] | None:
    """Returns the stack of states after a terminal; ``None`` if it does not fit."""
    stack = list(states)
    while (action := tables.actions[stack[-1]].get(name)) is not None:
        if isinstance(action, int):
            stack.append(action)
            return tuple(stack)
        del stack[len(stack) - action.size :]
        stack.append(tables.gotos[stack[-1]][action.rule])
        if name == END and stack[-1] == end:
            return tuple(stack)
    return None
