"""The state of the notification log for a cache: the valid write ids of each object at each commit.

Commits are totally ordered and the log has no gaps. So a reader of the log up to commit N that has the list of an
object at some earlier commit knows it at every commit from there to N: the list changes only with commits that contain
it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field

from rewriter.catalog.model.json_codec import key_of_kind
from rewriter.catalog.model.write_ids import ValidWriteIdList
from rewriter.lazy_dataclass import dataclass

#: The event that closes a transaction.
COMMIT = "COMMIT"
#: The maximum number of objects and names; with more of them the view restarts, which costs a list for each lookup.
MOST_FOLLOWED = 200_000


def of_name(key: str) -> str:
    """Returns the name in ``unchanged`` of the object under a name (``json_codec.key_of``)."""
    return f"name {key}"


def of_kind(kind: str) -> str:
    """Returns the name in ``unchanged`` of all objects of a kind (``json_codec.kind_of``)."""
    return f"kind {kind}"


@dataclass(frozen=True)
class LogEntry:
    """One event of the log. ``write_ids`` are texts by object, in the event that closes a commit."""

    number: int
    commit: int
    kind: str
    object_id: int | None
    name: str = ""
    write_ids: dict[int, str] = field(default_factory=dict)


class LogView:
    """The log read so far. ``position`` is the number of the last event, ``commit`` the number of the last complete
    commit; both are ``-1`` before ``restart``. ``base`` is the commit after which reading began.

    ``uncommitted`` are the objects of a commit some of whose events were read, but not the closing one.
    Not thread-safe. Everything is O(1), except ``unchanged``, which is O(members).
    """

    def __init__(self) -> None:
        self.restart(-1, -1)

    def restart(self, position: int, commit: int) -> None:
        """Starts behind an event and a commit. Forgets the previous state, as the events between were not read."""
        self.position, self.commit, self.base = position, commit, commit
        self.uncommitted: set[int] = set()
        #: By object: the commit since which the list is valid, and the list, as text until its first use.
        self._lists: dict[int, tuple[int, ValidWriteIdList | str]] = {}
        #: The last commit in which a name, or a kind of objects, got a new object.
        self._made: dict[str, int] = {}

    def apply(self, entry: LogEntry) -> None:
        """Applies the next event."""
        self.position = entry.number
        if entry.kind != COMMIT:
            if entry.object_id is not None:
                self.uncommitted.add(entry.object_id)
            self._note(entry)
            return
        for object_id, text in entry.write_ids.items():
            dated_list = self._lists.get(object_id)
            if dated_list is None or dated_list[0] < entry.commit:
                self._lists[object_id] = entry.commit, text
        self.commit = entry.commit
        self.uncommitted.clear()
        if len(self._lists) + len(self._made) > MOST_FOLLOWED:
            self.restart(self.position, self.commit)

    def _note(self, entry: LogEntry) -> None:
        verb, _, kind = entry.kind.partition("_")
        if verb == "CREATE":
            self._made[of_kind(kind.lower())] = entry.commit
        self._made[of_name(key_of_kind(kind.lower(), entry.name))] = entry.commit

    def write_ids(self, object_id: int, sequence: int) -> ValidWriteIdList | None:
        """Returns the list of an object at a commit; ``None`` if the log read so far does not contain it."""
        dated_list = self._lists.get(object_id)
        if dated_list is None or not dated_list[0] <= sequence <= max(self.commit, dated_list[0]):
            return None
        since, ids = dated_list
        if isinstance(ids, str):
            ids = ValidWriteIdList.parse(ids)
            self._lists[object_id] = since, ids
        return ids

    def newest(self, object_id: int) -> ValidWriteIdList | None:
        """Returns the newest list of an object in the log."""
        dated_list = self._lists.get(object_id)
        return None if dated_list is None else self.write_ids(object_id, dated_list[0])

    def note_write_ids(self, object_id: int, ids: ValidWriteIdList, sequence: int) -> None:
        """Takes over the list of an object at a commit that a reader has read from the store, if it is newer."""
        dated_list = self._lists.get(object_id)
        if sequence > self.commit:
            if dated_list is None or dated_list[0] < sequence:
                self._lists[object_id] = sequence, ids
        elif dated_list is None and sequence >= self.base:
            # No commit since the base has changed the object: the list at one of them is the list at all of them.
            self._lists[object_id] = self.base, ids

    def unchanged(self, read: int, sequence: int, made: str, members: Collection[int] = ()) -> bool:
        """Returns True if a result read at one commit is valid at another one, too.

        It is if no object was created under ``made`` (from ``of_name`` or ``of_kind``), and no member changed.
        """
        if not self.base <= read <= sequence <= max(self.commit, read) or self._made.get(made, 0) > read:
            return False
        lists = self._lists
        return not any(member in lists and lists[member][0] > read for member in members)
