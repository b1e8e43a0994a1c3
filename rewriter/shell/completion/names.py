"""The names that completion offers, as one immutable value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from rewriter.catalog.model.objects import Cube, Fact, Table, View
from rewriter.catalog.model.qualified_names import CATALOG, DEFAULT_DATABASE, full_name
from rewriter.catalog.model.temporary_names import place_of
from rewriter.errors import ParseError
from rewriter.grammar.lexer import tokens
from rewriter.shell.completion.expectations import Relation
from rewriter.shell.completion.query_scope import query_relation
from rewriter.shell.completion.sorted_names import EMPTY, SortedNames

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

    databases: SortedNames = EMPTY
    by_name: Mapping[str, Named] = field(default_factory=dict)
    by_place: Mapping[tuple[str, str], SortedNames] = field(default_factory=dict)

    @classmethod
    def of(cls, databases: Iterable[str], objects: Iterable[Named]) -> ObjectNames:
        """Returns the names of these objects. O(n log n)."""
        by_name = {_key(object_): object_ for object_ in objects}
        places: dict[tuple[str, str], list[str]] = {}
        for object_ in by_name.values():
            database, name = place_of(object_.name)
            places.setdefault((database, kind_of(object_)), []).append(name)
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
                removed.setdefault((database, kind_of(before)), []).append(name)
            if object_ is not None:
                by_name[key] = object_
                database, name = place_of(object_.name)
                added.setdefault((database, kind_of(object_)), []).append(name)
        by_place = dict(self.by_place)
        for place in removed.keys() | added.keys():
            names = by_place.get(place, EMPTY)
            by_place[place] = names.edited(removed.get(place, ()), added.get(place, ()))
        return ObjectNames(SortedNames(databases), by_name, by_place)


NO_OBJECTS = ObjectNames()


@dataclass(frozen=True)
class Names:
    """Everything that completion knows. ``temporary`` are the objects of the session, which come before others.

    ``words`` are those that arguments of commands can be, by their kind.
    """

    objects: ObjectNames = NO_OBJECTS
    temporary: ObjectNames = NO_OBJECTS
    current: str = DEFAULT_DATABASE
    functions: SortedNames = EMPTY
    clusters: SortedNames = EMPTY
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
        """Returns the columns of a relation, in order. Those of a subquery and of a view have no types."""
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
    """Returns the key of an object: its name in the catalog, that of a temporary one as it is typed, in lower case."""
    database, name = place_of(object_.name)
    return full_name(database, name).lower() if database else name.lower()


def kind_of(object_: Named) -> str:
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
