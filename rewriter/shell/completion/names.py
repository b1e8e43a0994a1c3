"""The names that completion offers, as one immutable value."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache

from rewriter.catalog.model.objects import CATALOG, DEFAULT_DATABASE, Cube, Fact, Table, View, full_name
from rewriter.catalog.model.temporary_views import place_of
from rewriter.errors import ParseError
from rewriter.grammar.lexer import tokens
from rewriter.lazy_dataclass import dataclass
from rewriter.shell.completion.expectations import Relation
from rewriter.shell.completion.query_scope import query_relation
from rewriter.terminal_text import printable

# Names in order, for look-up by prefix and by fuzzy matches.


class SortedNames:
    """Names without duplicates, sorted without case. Immutable. Building is O(n log n), in the size of the names."""

    def __init__(self, names: Iterable[str]) -> None:
        by_key: dict[str, str] = {}
        for name in names:
            if "\n" not in name:
                by_key.setdefault(name.lower(), name)
        self._keys = sorted(by_key)
        self._names = [by_key[key] for key in self._keys]
        self._text = "\n".join(self._keys)
        self._starts: list[int] | None = None

    def edited(self, removed: Iterable[str], added: Iterable[str]) -> SortedNames:
        """Returns the names without some and with others. A copy, and O(log n) for each of them."""
        edited = SortedNames(())
        keys, names = edited._keys, edited._names = list(self._keys), list(self._names)
        for name in removed:
            place = bisect_left(keys, name.lower())
            if place < len(keys) and keys[place] == name.lower():
                del keys[place], names[place]
        for name in added:
            place = bisect_left(keys, name.lower())
            if "\n" not in name and not (place < len(keys) and keys[place] == name.lower()):
                keys.insert(place, name.lower())
                names.insert(place, name)
        edited._text = "\n".join(keys)
        return edited

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def starting_with(self, prefix: str, limit: int) -> list[str]:
        """Returns the first names that begin with the prefix, in any case. O(log n + limit).

        >>> SortedNames(["Orders", "order_items", "users"]).starting_with("ord", 10)
        ['order_items', 'Orders']
        """
        key = prefix.lower()
        first = bisect_left(self._keys, key)
        last = first
        while last < len(self._keys) and last - first < limit and self._keys[last].startswith(key):
            last += 1
        return self._names[first:last]

    def fuzzy(self, letters: str, limit: int) -> list[str]:
        """Returns names that contain the letters in this order, in any case. One pass of a pattern over all names.

        >>> SortedNames(["daily_orders", "users"]).fuzzy("dord", 10)
        ['daily_orders']
        """
        matches: list[str] = []
        if not letters or "\n" in letters:
            return matches
        starts = self._line_starts()
        position = 0
        pattern = _subsequence(letters.lower())
        while len(matches) < limit and (hit := pattern.search(self._text, position)) is not None:
            line = bisect_left(starts, hit.start() + 1) - 1
            matches.append(self._names[line])
            if line + 1 == len(starts):
                break
            position = starts[line + 1]
        return matches

    def _line_starts(self) -> list[int]:
        if self._starts is None:
            starts, position = [], 0
            for key in self._keys:
                starts.append(position)
                position += len(key) + 1
            self._starts = starts
        return self._starts


@lru_cache(maxsize=16)
def _subsequence(letters: str) -> re.Pattern[str]:
    """Returns the pattern of a line that has the letters in this order. It never steps back."""
    first, *others = [re.escape(letter) for letter in letters]
    return re.compile(first + "".join(rf"[^\n{letter}]*+{letter}" for letter in others))


_EMPTY = SortedNames(())


Named = Table | Cube | Fact | View
#: The most views inside views, and CTEs inside CTEs, that are followed for columns.
_MOST_NESTED = 10
#: What is shown as the type of a cube's TIME columns.
TIME = "time"


@dataclass(frozen=True)
class ColumnName:
    """A column and its type, as shown. ``is_partition``: the partitions of a table are named by it."""

    name: str
    type: str
    is_partition: bool = False


@dataclass(frozen=True)
class Setting:
    """A setting with its current value. ``choices`` are its possible values, if there are few."""

    name: str
    value: str
    meaning: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class CommandName:
    """A command of the shell. ``kind`` is what its argument is: ``object``, ``table``, ``view``, ``cube``, ``fact``,
    ``database``, ``file``, a kind of ``Names.words``, or empty.
    """

    name: str
    meaning: str
    kind: str = ""


@dataclass(frozen=True)
class ObjectNames:
    """The objects of a catalog, by their names in lower case, and sorted by database and kind."""

    databases: SortedNames = _EMPTY
    by_name: Mapping[str, Named] = field(default_factory=dict)
    by_place: Mapping[tuple[str, str], SortedNames] = field(default_factory=dict)

    @classmethod
    def of(cls, databases: Iterable[str], objects: Iterable[Named]) -> ObjectNames:
        """Returns the names of these objects. O(n log n)."""
        by_name = {_key(object_): object_ for object_ in objects}
        places: dict[tuple[str, str], list[str]] = {}
        for object_ in by_name.values():
            database, name = place_of(object_.name)
            places.setdefault((database, _kind_of(object_)), []).append(name)
        return cls(SortedNames(databases), by_name, {place: SortedNames(names) for place, names in places.items()})

    def changed(self, databases: Iterable[str], changes: Mapping[str, Named | None]) -> ObjectNames:
        """Returns the names after changes: each key (``_key``) with its object, ``None`` if there is none any more.

        O(objects) only for copies.
        """
        by_name = dict(self.by_name)
        removed: dict[tuple[str, str], list[str]] = {}
        added: dict[tuple[str, str], list[str]] = {}
        for key, object_ in changes.items():
            before = by_name.pop(key, None)
            if before is not None:
                database, name = place_of(before.name)
                removed.setdefault((database, _kind_of(before)), []).append(name)
            if object_ is not None:
                by_name[key] = object_
                database, name = place_of(object_.name)
                added.setdefault((database, _kind_of(object_)), []).append(name)
        by_place = dict(self.by_place)
        for place in removed.keys() | added.keys():
            names = by_place.get(place, _EMPTY)
            by_place[place] = names.edited(removed.get(place, ()), added.get(place, ()))
        return ObjectNames(SortedNames(databases), by_name, by_place)


NO_OBJECTS = ObjectNames()


@dataclass(frozen=True)
class Names:
    """Everything that completion knows. ``temporary`` are the objects of the session, which come before others.

    ``words`` are the words that arguments of commands can be, by their kind.
    """

    objects: ObjectNames = NO_OBJECTS
    temporary: ObjectNames = NO_OBJECTS
    current: str = DEFAULT_DATABASE
    functions: SortedNames = _EMPTY
    clusters: SortedNames = _EMPTY
    settings: tuple[Setting, ...] = ()
    commands: tuple[CommandName, ...] = ()
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def find(self, parts: Sequence[str]) -> Named | None:
        """Returns the object of a name as it is typed, in any case; ``None`` if there is none."""
        if len(parts) == 3 and parts[0].lower() == CATALOG:
            parts = parts[1:]
        if len(parts) == 1:
            own = self.temporary.by_name.get(parts[0].lower())
            return own or self.objects.by_name.get(full_name(self.current, parts[0]).lower())
        if len(parts) != 2:
            return None
        return self.objects.by_name.get(full_name(*parts).lower())

    def argument_kind(self, command: str) -> str:
        """Returns what the argument of a command is; empty if that is unknown."""
        return next((known.kind for known in self.commands if known.name == command), "")

    def listed(self, kind: str, database: str | None) -> list[SortedNames]:
        """Returns the names of a kind in a database; ``None`` is the current one, with the session's own objects."""
        place = (self.current if database is None else database.lower(), kind)
        groups = [self.temporary.by_place.get(("", kind))] if database is None else []
        return [group for group in (*groups, self.objects.by_place.get(place)) if group is not None]

    def columns(self, relation: Relation, nested: int = 0) -> tuple[ColumnName, ...]:
        """Returns the columns of a relation, in order. Columns of a subquery and of a view have no types."""
        if nested > _MOST_NESTED:
            return ()
        if relation.parts:
            object_ = self.find(relation.parts)
            if isinstance(object_, View) and not object_.columns:
                return self.columns(_view_relation(object_.query), nested + 1)
            return () if object_ is None else _columns(object_)
        own = tuple(ColumnName(name, "") for name in relation.columns if name)
        return (*own, *(column for source in relation.sources for column in self.columns(source, nested + 1)))


def _key(object_: Named) -> str:
    """Returns the key of an object: its name in the catalog, a temporary object's name as typed, in lower case."""
    database, name = place_of(object_.name)
    return full_name(database, name).lower() if database else name.lower()


def _kind_of(object_: Named) -> str:
    """Returns ``table``, ``cube``, ``fact`` or ``view``."""
    if isinstance(object_, Table):
        return "table"
    return "cube" if isinstance(object_, Cube) else "fact" if isinstance(object_, Fact) else "view"


def _columns(object_: Named) -> tuple[ColumnName, ...]:
    if isinstance(object_, Table):
        partition = {column.name for column in object_.partition_columns}
        return tuple(ColumnName(c.name, c.type, c.name in partition) for c in object_.all_columns)
    if isinstance(object_, View):
        return tuple(ColumnName(name, "") for name, _ in object_.columns)
    if isinstance(object_, Cube):
        types = {column.name: column.type for column in object_.dimensions}
        types |= {m.name: f"{m.type} measure {m.aggregate.value}" for m in object_.measures}
        types |= dict.fromkeys(object_.times, "time")
        return tuple(ColumnName(name, types.get(name, "")) for name in object_.column_order)
    return ()


@lru_cache(maxsize=256)
def _view_relation(query: str) -> Relation:
    """Returns the columns of a view's query, as far as its text shows them."""
    try:
        return query_relation(tokens(query))
    except ParseError:
        return Relation("")


# Names and values as a completion writes them: always one identifier or one literal, without control characters.

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TO_ESCAPE = re.compile(r"[\\'\"\x00-\x1f]")
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}
_TEXT_TYPES = ("string", "varchar", "char")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "decimal", "float", "double")

#: The words that a query cannot use as a name without backquotes: for Spark, for sqlglot, or for a reader.
RESERVED = frozenset(
    (
        "ALL ALTER ANALYZE AND ANTI ANY ARRAY AS ASC ASOF BETWEEN BOTH BY CASE CAST COLLATE CONSTRAINT CREATE "
        "CROSS CUBE CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DESC DESCRIBE DISTINCT "
        "DISTRIBUTE DIV DROP ELSE END EXCEPT EXISTS EXPLAIN EXTRACT FALSE FETCH FOR FOREIGN FROM FULL GLOB "
        "GRANT GROUP GROUPING HAVING IF ILIKE IN INNER INSERT INTERSECT INTERVAL INTO IS JOIN LATERAL LEADING "
        "LEFT LIKE LIMIT LOCK MAP MINUS NATURAL NOT NOTNULL NULL OFFSET ON OR ORDER OUTER OVER OVERWRITE "
        "PARTITION PARTITIONED_BY PIVOT QUALIFY REGEXP RETURNING REVOKE RIGHT RLIKE ROLLBACK ROLLUP SELECT "
        "SEMI SERDEPROPERTIES SESSION_USER SET SETMINUS SOME SORT STRAIGHT_JOIN STRUCT TABLE TABLESAMPLE THEN "
        "TO TRAILING TRUE UNCACHE UNION UNIQUE UNPIVOT USING VALUES WHEN WHERE WINDOW WITH XOR"
    ).split()
)


def can_be_typed(name: str) -> bool:
    """Tests whether a name has only characters that a terminal shows as they are."""
    return bool(name) and "\n" not in name and "\t" not in name and printable(name) == name


def written_name(name: str, reserved: Container[str] = RESERVED, *, quoted: bool = False) -> str:
    """Returns the name as one identifier, in backquotes where it needs them, or where one was typed.

    ``reserved`` are the words, in upper case, that are no names in that place.
    """
    if not quoted and _PLAIN.fullmatch(name) and name.upper() not in reserved:
        return name
    return "`" + name.replace("`", "``") + "`"


def written_string(value: str, quote: str = "'") -> str:
    r"""Returns the value as a string literal on one line. Characters that a terminal acts on become ``\u001b``."""
    return quote + printable(_TO_ESCAPE.sub(lambda hit: _escaped(hit[0], quote), value)) + quote


def _escaped(char: str, quote: str) -> str:
    if char in "'\"":
        return f"\\{char}" if char == quote else char
    return _ESCAPES.get(char) or f"\\u{ord(char):04x}"


def written_literal(value: str, type_: str) -> str:
    """Returns a partition value as a literal of its column's type."""
    name = type_.partition("(")[0].lower()
    if name in ("date", "timestamp"):
        return f"{name.upper()} {written_string(value)}"
    if name == "boolean" and value.lower() in ("true", "false"):
        return value.upper()
    if name in _NUMBERS and _NUMBER.fullmatch(value):
        return value
    return written_string(value)
