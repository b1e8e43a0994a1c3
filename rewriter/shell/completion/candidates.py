"""The candidates of a completion: what a position expects, out of the names that are known. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rewriter.catalog.model.objects import Table
from rewriter.lazy_dataclass import dataclass
from rewriter.shell.completion.expectations import (
    KINDS,
    Argument,
    ClusterNames,
    Columns,
    Commands,
    Databases,
    Expectation,
    Functions,
    Keywords,
    Objects,
    Options,
    PartitionValues,
    Position,
    Relation,
    Settings,
    SettingValues,
    Words,
)
from rewriter.shell.completion.names import (
    RESERVED,
    TIME,
    ColumnName,
    Names,
    SortedNames,
    can_be_typed,
    written_literal,
    written_name,
    written_string,
)
from rewriter.shell.completion.position import position_at
from rewriter.terminal_text import printable

if TYPE_CHECKING:
    from rewriter.grammar.text_pieces import TextPieces

#: The most candidates that are offered.
MOST_CANDIDATES = 100
#: The fewest letters that are looked for inside names.
_FUZZY_LETTERS = 3
#: The longest text that a menu shows.
_LONGEST_SHOWN = 60


@dataclass(frozen=True)
class Candidate:
    """A completion: ``text`` replaces the ``-start_offset`` characters in front of the cursor.

    ``display`` and ``meta`` are for a menu: one line, without characters that a terminal acts on.
    """

    text: str
    display: str
    meta: str
    start_offset: int


@dataclass(frozen=True)
class ValuesRequest:
    """The first values of a partition column that begin with ``typed``, in partitions with the values ``given``."""

    table: Table
    column: str
    given: tuple[tuple[str, str], ...]
    typed: str


#: Returns the values, at most some thirty; none if they cannot be read in time.
ValuesReader = Callable[[ValuesRequest], Sequence[str]]


def no_values(_request: ValuesRequest) -> Sequence[str]:
    """Reads no values."""
    return ()


def complete(
    text: str, cursor: int, names: Names, values: ValuesReader = no_values, lexed: TextPieces | None = None
) -> list[Candidate]:
    """Returns what can be written at the cursor, the likeliest first: what begins with the typed word, then what
    contains its letters. Never raises. O(candidates + log of the names), and one pass over the names for the letters.
    """
    position = position_at(text, cursor, lexed)
    return [] if position is None else candidates(position, cursor, names, values)


def candidates(position: Position, cursor: int, names: Names, values: ValuesReader = no_values) -> list[Candidate]:
    """Returns the candidates for a position."""
    source = _Source(position, names, values)
    shown_by_text: dict[str, tuple[str, str]] = {}
    for fuzzy in (False, True):
        if fuzzy and len(position.typed) < _FUZZY_LETTERS:
            break
        for expected in position.expected:
            for text, shown, meta in source.matching(expected, fuzzy):
                if len(shown_by_text) == MOST_CANDIDATES:
                    break
                shown_by_text.setdefault(text, (shown, meta))
    typed = position.typed if not position.quote else None
    return [
        Candidate(text, _shown(shown), _shown(meta), position.start - cursor)
        for text, (shown, meta) in shown_by_text.items()
        if text != typed
    ]


def _shown(text: str) -> str:
    line = printable(text).replace("\n", "\\n").replace("\t", "\\t")
    return line if len(line) <= _LONGEST_SHOWN else f"{line[: _LONGEST_SHOWN - 1]}…"


#: The text to insert, the text to show, and what it is.
_Match = tuple[str, str, str]


class _Source:
    """Finds the matches of expectations at one position."""

    def __init__(self, position: Position, names: Names, values: ValuesReader) -> None:
        self._position = position
        self._names = names
        self._values = values
        # The grammar reads a word as a name where it accepts no such keyword.
        keywords = (expected.words for expected in position.expected if isinstance(expected, Keywords))
        self._reserved = RESERVED if position.in_query else RESERVED.union(*keywords)

    def matching(self, expected: Expectation, fuzzy: bool) -> Iterator[_Match]:
        quoted = self._position.quote == "`"
        match expected:
            case Keywords(words) if not quoted:
                yield from self._keywords(words, fuzzy)
            case Words(words, meaning):
                yield from self._named(((word, meaning) for word in words), fuzzy)
            case Options(words, meaning):
                yield from ((w, w, meaning) for w in words if can_be_typed(w) and self._fits(w, fuzzy))
            case Objects():
                yield from self._objects(expected, fuzzy)
            case Databases(qualifying):
                databases = self._found(self._names.objects.databases, fuzzy)
                # A name in backquotes that is closed already is followed by more than a point.
                point = "." if qualifying and not self._position.closed else ""
                yield from (
                    (f"{text}{point}", f"{shown}{point}", "database") for text, shown in self._written(databases)
                )
            case ClusterNames():
                clusters = self._written(self._found(self._names.clusters, fuzzy))
                yield from ((text, shown, "cluster") for text, shown in clusters)
            case Columns():
                yield from self._columns(expected, fuzzy)
            case PartitionValues() if not fuzzy and not quoted:
                yield from self._partition_values(expected)
            case Functions(called) if not quoted:
                written = (f"{name}(" if called else name for name in self._found(self._names.functions, fuzzy))
                yield from ((text, text, "function") for text in written)
            case Settings():
                yield from self._settings(fuzzy)
            case SettingValues(name) if not fuzzy:
                yield from self._setting_values(name)
            case Commands() if not fuzzy:
                commands = sorted(self._names.commands, key=lambda command: command.name)
                fitting = (command for command in commands if command.name.startswith(self._position.typed))
                yield from ((command.name, command.name, command.meaning) for command in fitting)
            case Argument(command, database):
                for wanted in self._arguments(command, database):
                    yield from self.matching(wanted, fuzzy)
            case _:
                pass

    def _found(self, names: SortedNames, fuzzy: bool) -> list[str]:
        typed = self._position.typed
        return names.fuzzy(typed, MOST_CANDIDATES) if fuzzy else names.starting_with(typed, MOST_CANDIDATES)

    def _fits(self, name: str, fuzzy: bool) -> bool:
        typed, lowered = self._position.typed.lower(), name.lower()
        if not fuzzy:
            return lowered.startswith(typed)
        letters = iter(lowered)
        return all(letter in letters for letter in typed)

    def _written(self, names: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yields the names that can be typed, as identifiers, and as they are shown."""
        position = self._position
        for name in names:
            if can_be_typed(name):
                written = written_name(name, self._reserved, quoted=position.quote == "`")
                yield (written[:-1] if position.closed and position.quote else written), name

    def _keywords(self, words: Sequence[str], fuzzy: bool) -> Iterator[_Match]:
        if fuzzy:
            return
        for word in words:
            if self._fits(word, fuzzy):
                text = word.lower() if self._position.lower else word
                yield text, text, "keyword"

    def _named(self, names: Iterable[tuple[str, str]], fuzzy: bool) -> Iterator[_Match]:
        for name, meaning in names:
            if name and self._fits(name, fuzzy):
                yield from ((text, shown, meaning) for text, shown in self._written([name]))

    def _objects(self, expected: Objects, fuzzy: bool) -> Iterator[_Match]:
        for kind in expected.kinds:
            for group in self._names.listed(kind, expected.database):
                yield from ((text, shown, kind) for text, shown in self._written(self._found(group, fuzzy)))

    def _columns(self, expected: Columns, fuzzy: bool) -> Iterator[_Match]:
        relations = (*expected.relations, *expected.outer)
        for relation in relations:
            columns = self._names.columns(relation)
            if expected.times:
                columns = tuple(sorted(columns, key=lambda column: column.type != TIME))
            if expected.partitions:
                columns = tuple(column for column in columns if column.is_partition) or columns
            yield from self._named(((column.name, _meaning(column, relation)) for column in columns), fuzzy)

    def _partition_values(self, expected: PartitionValues) -> Iterator[_Match]:
        position = self._position
        *qualifier, column = expected.column
        for relation in expected.relations:
            if qualifier and relation.alias.lower() != qualifier[-1].lower():
                continue
            table = self._names.find(relation.parts) if relation.parts else None
            if not isinstance(table, Table):
                continue
            types = {c.name.lower(): c.type for c in table.partition_columns}
            if column.lower() not in types:
                continue
            type_ = types[column.lower()]
            for value in self._values(ValuesRequest(table, column, expected.given, position.typed)):
                if position.quote:
                    text = written_string(value, position.quote)
                    yield (text[:-1] if position.closed else text), value, f"{column} {type_}"
                elif expected.typed_literal:
                    yield written_string(value), value, f"{column} {type_}"
                else:
                    yield written_literal(value, type_), value, f"{column} {type_}"
            return

    def _arguments(self, command: str, database: str | None) -> Iterator[Expectation]:
        kind = self._names.argument_kind(command)
        if kind == "database":
            yield Databases()
        elif kind == "object" or kind in KINDS:
            yield Objects(KINDS if kind == "object" else (kind,), database)
            if database is None:
                yield Databases(qualifying=True)
        elif database is None:
            yield Options(self._names.words.get(kind, ()), kind)

    def _settings(self, fuzzy: bool) -> Iterator[_Match]:
        for setting in self._names.settings:
            if self._fits(setting.name, fuzzy):
                value = f"{setting.value} – {setting.meaning}" if setting.value else setting.meaning
                yield setting.name, setting.name, value

    def _setting_values(self, name: str) -> Iterator[_Match]:
        for setting in self._names.settings:
            if setting.name.lower() == name.lower():
                choices = setting.choices or ((setting.value,) if setting.value else ())
                for choice in choices:
                    if self._fits(choice, False) and can_be_typed(choice):
                        yield choice, choice, "current value" if choice == setting.value else ""


def _meaning(column: ColumnName, relation: Relation) -> str:
    """Returns a column's type and relation."""
    kind = f"{column.type}, partition" if column.is_partition else column.type
    return f"{kind} · {relation.alias}" if kind and relation.alias else kind or relation.alias
