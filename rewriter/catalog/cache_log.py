"""What the notification log tells a cache: which write ids of which object are valid at which commit.

Commits are totally ordered and the log has no gaps, so whoever has read it up to commit N, and knows the list of an
object at some commit before, knows it at every commit from there to N: it changes with the commits that say so only.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from rewriter.catalog.names import database_key
from rewriter.catalog.writeids import ValidWriteIdList

#: The event that closes a transaction.
COMMIT = "COMMIT"
#: How many objects and names are followed; with more of them the view begins anew, which costs a list for each asked.
MOST_FOLLOWED = 200_000


def of_name(key: str) -> str:
    """What ``unchanged`` calls the object under a name (``codec.key_of``)."""
    return f"name {key}"


def of_kind(kind: str) -> str:
    """What ``unchanged`` calls all objects of a kind (``codec.kind_of``)."""
    return f"kind {kind}"


@dataclass(frozen=True)
class LogEntry:
    """One event as the log has it. ``write_ids`` are texts by object; they stand in the event that closes a commit."""

    number: int
    commit: int
    kind: str
    object_id: int | None
    name: str = ""
    write_ids: dict[int, str] = field(default_factory=dict)


class LogView:
    """The log as far as it was read. ``position`` is the last event's number, ``commit`` the last commit's that was
    read whole; both ``-1`` before ``restart``. ``base`` is the commit that reading began behind.

    ``uncommitted`` are the objects of a commit of which some events were read, and not yet the one that closes it.
    Not thread-safe. Everything is O(1), but ``unchanged`` is O(members).
    """

    def __init__(self) -> None:
        self.restart(-1, -1)

    def restart(self, position: int, commit: int) -> None:
        """Begins behind an event and a commit; what was known is forgotten, as what lies between was not read."""
        self.position, self.commit, self.base = position, commit, commit
        self.uncommitted: set[int] = set()
        #: By object the commit since which the list is valid, and the list, as text until somebody asks.
        self._lists: dict[int, tuple[int, ValidWriteIdList | str]] = {}
        #: The last commit after which a name, or a kind of objects, had a new object.
        self._made: dict[str, int] = {}

    def apply(self, entry: LogEntry) -> None:
        """Reads the next event."""
        self.position = entry.number
        if entry.kind != COMMIT:
            if entry.object_id is not None:
                self.uncommitted.add(entry.object_id)
            self._note(entry)
            return
        for object_id, text in entry.write_ids.items():
            known = self._lists.get(object_id)
            if known is None or known[0] < entry.commit:
                self._lists[object_id] = entry.commit, text
        self.commit = entry.commit
        self.uncommitted.clear()
        if len(self._lists) + len(self._made) > MOST_FOLLOWED:
            self.restart(self.position, self.commit)

    def _note(self, entry: LogEntry) -> None:
        verb, _, kind = entry.kind.partition("_")
        if verb == "CREATE":
            self._made[of_kind(kind.lower())] = entry.commit
        of_database = kind == "DATABASE"
        self._made[of_name(database_key(entry.name) if of_database else entry.name.lower())] = entry.commit

    def write_ids(self, object_id: int, sequence: int) -> ValidWriteIdList | None:
        """The list of an object at a commit; ``None`` where the log read so far does not tell."""
        known = self._lists.get(object_id)
        if known is None or not known[0] <= sequence <= max(self.commit, known[0]):
            return None
        since, ids = known
        if isinstance(ids, str):
            ids = ValidWriteIdList.parse(ids)
            self._lists[object_id] = since, ids
        return ids

    def newest(self, object_id: int) -> ValidWriteIdList | None:
        """The newest list of an object that is known."""
        known = self._lists.get(object_id)
        return None if known is None else self.write_ids(object_id, known[0])

    def learn(self, object_id: int, ids: ValidWriteIdList, sequence: int) -> None:
        """Takes over the list of an object at a commit that a reader has read from the store, where it tells more."""
        known = self._lists.get(object_id)
        if sequence > self.commit:
            if known is None or known[0] < sequence:
                self._lists[object_id] = sequence, ids
        elif known is None and sequence >= self.base:
            # No commit since the base has touched it: the list at one of them is that at all of them.
            self._lists[object_id] = self.base, ids

    def unchanged(self, read: int, sequence: int, made: str, members: Collection[int] = ()) -> bool:
        """Whether what was read at a commit is so at another one, too: nothing was created that ``of_name`` or
        ``of_kind`` calls ``made``, and none of the members changed.
        """
        if not self.base <= read <= sequence <= max(self.commit, read) or self._made.get(made, 0) > read:
            return False
        lists = self._lists
        return not any(one in lists and lists[one][0] > read for one in members)
