"""What a catalog must say of a fact, by the words of ``docs/semantics.md``: the model of random histories of commits.

Two layers: the partitions of the base under writes, additions, wipes and drops; above them the rollups, which are fresh
as long as they know all events of the base inside their time. Nothing of the product's code is asked. A history adds
its own layers: what a writer saw, the rules of conflicts, names of tables.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass, field
from typing import TypeAlias

#: The commit of which nothing can be proven, and that of what was registered empty.
UNKNOWN, REGISTERED = -1, 0
#: Why a rollup may not serve: nothing shows that it was computed of the base, or some of the base was not there.
UNPROVEN, INCOMPLETE = "unproven", "incomplete"
FRESH, OUTDATED, ABSENT = "fresh", "outdated", "absent"

#: A partition: its time, and the values of the other columns, ``ALL`` where there are none.
Key: TypeAlias = tuple[Hashable, Hashable]
ALL = ()


@dataclass(frozen=True)
class Content:
    """A partition. A rollup knows the base up to the commit ``as_of``; ``doubt`` says why it may not serve."""

    files: tuple[str, ...] = ()
    as_of: int = REGISTERED
    doubt: str = ""

    def appended(self, files: tuple[str, ...]) -> Content:
        """This content with more files, which is known of no commit; what was unproven remains so."""
        return Content(self.files + files, UNKNOWN, UNPROVEN if self.doubt == UNPROVEN else "")


#: A rollup partition that was registered empty, and one that was computed of anything else.
ADDED, BLIND = Content(doubt=UNPROVEN), Content(("",), UNKNOWN, UNPROVEN)


@dataclass
class Partitions:
    """The partitions of one table. ``dropped`` are those that a drop removed, as they were, unless written since."""

    live: dict[Key, Content] = field(default_factory=dict)
    dropped: dict[Key, Content] = field(default_factory=dict)

    def put(self, key: Key, content: Content) -> None:
        self.live[key] = content
        self.dropped.pop(key, None)

    def drop(self, key: Key) -> None:
        self.dropped[key] = self.live.pop(key)

    def remove(self, key: Key) -> None:
        """It is nothing from now on, and what was dropped of it is nothing, too."""
        self.live.pop(key, None)
        self.dropped.pop(key, None)

    def known(self) -> dict[Key, Content]:
        """Those that are there, or were until a drop."""
        return self.dropped | self.live


@dataclass
class Base(Partitions):
    """The partitions of the base. ``ever`` existed at any time; ``events`` are the commits that rollups must know."""

    ever: set[Key] = field(default_factory=set)
    events: list[tuple[Key, int]] = field(default_factory=list)

    def write(self, key: Key, content: Content, commit: int) -> None:
        self.put(key, content)
        self.ever.add(key)
        self.events.append((key, commit))

    def add(self, key: Key, commit: int) -> None:
        """Registers an empty partition, which is news only where there was one before."""
        if key in self.ever:
            self.write(key, Content(as_of=commit), commit)
        else:
            self.put(key, Content())
            self.ever.add(key)

    def wipe(self, key: Key, commit: int) -> None:
        """An OVERWRITE of the time says that there is nothing."""
        self.remove(key)
        self.events.append((key, commit))


@dataclass(frozen=True)
class Shape:
    """How a rollup lies over its base. ``inside`` are the base times that a rollup's time consists of.

    ``required`` are the values with which a base time is whole, ``is_whole`` says when a rollup's time is. A base
    partition is part of the rollup partition that ``seen`` tells by its values.
    """

    inside: Callable[[Hashable], Collection[Hashable]]
    required: Collection[Hashable] = (ALL,)
    is_whole: Callable[[Collection[Hashable]], bool] = bool
    seen: Callable[[Hashable], Hashable] = lambda values: ALL

    def is_there(self, base: Base, time: Hashable) -> bool:
        """Whether all that the time consists of is there, or was until retention took it."""
        known = base.known().keys()
        return all((part, values) in known for part in self.inside(time) for values in self.required)

    def computed(self, base: Base, time: Hashable, seen_at: int, files: tuple[str, ...] = ("",)) -> Content:
        """What a rollup of the whole base is, whose writer saw ``base`` at a commit."""
        if any(part in self.inside(time) for part, _ in base.dropped):
            return Content(files, UNKNOWN)  # What was computed of the rest proves nothing.
        return Content(files, seen_at, "" if self.is_there(base, time) else INCOMPLETE)

    def state(self, base: Base, rollup: Partitions, time: Hashable) -> str:
        """What a rollup's time is now."""
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
