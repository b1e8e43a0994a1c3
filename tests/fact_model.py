"""The states of a fact according to ``docs/reference/semantics.md``: the model of random histories of commits.

It has two layers: the partitions of the base with writes, additions, wipes and drops, and above them the rollups. A
rollup is fresh as long as it includes all events of the base inside its time. The model uses no code of the product. A
history adds its own layers: the snapshots of writers, the rules of conflicts, names of tables.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass, field
from typing import TypeAlias

#: The commit number without any proof, and that of partitions that were registered empty.
UNKNOWN, REGISTERED = -1, 0
#: The reasons why a rollup may not serve: no proof that it was computed from the base, or a missing part of the base.
UNPROVEN, INCOMPLETE = "unproven", "incomplete"
FRESH, OUTDATED, ABSENT = "fresh", "outdated", "absent"

#: A partition: its time, and the values of the other columns, ``ALL`` if there are none.
Key: TypeAlias = tuple[Hashable, Hashable]
ALL = ()


@dataclass(frozen=True)
class Word:
    """A word that a rollup rests on: of an owner, or of an acceptance by the commit ``accepted``. It holds as long as
    nothing that it is about has changed after the commit ``as_of``.
    """

    accepted: int | None
    as_of: int


@dataclass(frozen=True)
class Content:
    """A partition. A rollup includes the base up to the commit ``as_of``. ``doubt`` says why it may not serve.
    ``words`` are those that it rests on.
    """

    files: tuple[str, ...] = ()
    as_of: int = REGISTERED
    doubt: str = ""
    words: tuple[Word, ...] = ()

    def appended(self, files: tuple[str, ...]) -> Content:
        """Returns this content with more files, whose commit is unknown. Unproven content remains unproven."""
        return Content(self.files + files, UNKNOWN, UNPROVEN if self.doubt == UNPROVEN else "")


#: A rollup partition that was registered empty, and one that was not computed from the base.
ADDED, BLIND = Content(doubt=UNPROVEN), Content(("",), UNKNOWN, UNPROVEN)


@dataclass
class Partitions:
    """The partitions of one table. ``dropped`` has the content of those that a drop removed, unless they were written
    since.
    """

    live: dict[Key, Content] = field(default_factory=dict)
    dropped: dict[Key, Content] = field(default_factory=dict)

    def put(self, key: Key, content: Content) -> None:
        self.live[key] = content
        self.dropped.pop(key, None)

    def drop(self, key: Key) -> None:
        self.dropped[key] = self.live.pop(key)

    def remove(self, key: Key) -> None:
        """Removes a partition without a trace, even if it was dropped before."""
        self.live.pop(key, None)
        self.dropped.pop(key, None)

    def known(self) -> dict[Key, Content]:
        """Returns the partitions that exist, or existed until a drop."""
        return self.dropped | self.live


@dataclass
class Base(Partitions):
    """The partitions of the base. ``ever`` existed at any time. ``events`` are commits that rollups must include."""

    ever: set[Key] = field(default_factory=set)
    events: list[tuple[Key, int]] = field(default_factory=list)

    def write(self, key: Key, content: Content, commit: int) -> None:
        self.put(key, content)
        self.ever.add(key)
        self.events.append((key, commit))

    def add(self, key: Key, commit: int) -> None:
        """Registers an empty partition. It is an event only if the partition existed before."""
        if key in self.ever:
            self.write(key, Content(as_of=commit), commit)
        else:
            self.put(key, Content())
            self.ever.add(key)

    def wipe(self, key: Key, commit: int) -> None:
        """Removes the partitions of a time, as an OVERWRITE does."""
        self.remove(key)
        self.events.append((key, commit))


@dataclass(frozen=True)
class Shape:
    """The relation of a rollup to its base. ``inside`` returns the base times that a rollup's time consists of.

    ``required`` has the values that make a base time complete. ``is_whole`` tests a rollup's time. ``seen`` returns the
    values of the rollup partition that a base partition belongs to.
    """

    inside: Callable[[Hashable], Collection[Hashable]]
    required: Collection[Hashable] = (ALL,)
    is_whole: Callable[[Collection[Hashable]], bool] = bool
    seen: Callable[[Hashable], Hashable] = lambda values: ALL

    def is_there(self, base: Base, time: Hashable) -> bool:
        """Returns True if all base partitions of the time exist, or existed until retention dropped them."""
        existing = base.known().keys()
        return all((part, values) in existing for part in self.inside(time) for values in self.required)

    def computed(self, base: Base, time: Hashable, seen_at: int, files: tuple[str, ...] = ("",)) -> Content:
        """Returns a rollup of the whole base, whose writer saw ``base`` at a commit."""
        if any(part in self.inside(time) for part, _ in base.dropped):
            return Content(files, UNKNOWN)  # What was computed from a part proves nothing.
        return Content(files, seen_at, "" if self.is_there(base, time) else INCOMPLETE)

    def state(self, base: Base, rollup: Partitions, time: Hashable) -> str:
        """Returns the present state of a rollup's time."""
        parts = {values: content for (of, values), content in rollup.live.items() if of == time}
        if not parts or not self.is_whole(parts.keys()):
            return ABSENT
        if any(content.doubt == UNPROVEN for content in parts.values()):
            return UNPROVEN
        inside = self.inside(time)
        newest: dict[Hashable, int] = {}
        for (part, values), commit in base.events:
            if part in inside:
                newest[self.seen(values)] = max(commit, newest.get(self.seen(values), UNKNOWN))
        if any(c.as_of == UNKNOWN or c.as_of < newest.get(values, UNKNOWN) for values, c in parts.items()):
            return OUTDATED
        if any(of == time and content.files for (of, _), content in rollup.dropped.items()):
            return OUTDATED
        needed = {self.seen(values) for (part, values), c in base.known().items() if c.files and part in inside}
        if not needed <= parts.keys():
            return OUTDATED
        doubtful = any(content.doubt == INCOMPLETE for content in parts.values())
        return INCOMPLETE if doubtful and not self.is_there(base, time) else FRESH
