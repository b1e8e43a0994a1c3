"""The synchronized cache of one catalog instance (seed 001): answers in memory that are never stale.

An answer about an object is kept with the list of write ids that it was read under, and given to whoever brings an
equivalent list: no write of the object was committed between, so the store would answer the same. Who brings another
list is answered by the store, and what was read then is kept instead, unless memory knows more commits than the reader.
What is about no single object (that there is none of a name; all of a kind) is kept with the number of a commit.

The notification log, which a follower reads (``follower``), tells the lists themselves: a reader whose snapshot is not
ahead of it needs no call to the database to know that an answer holds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event, Lock
from typing import Any, TypeVar, cast

from rewriter.catalog.cache_entries import Entries, Entry, size_of, size_of_ids
from rewriter.catalog.cache_log import LogEntry, LogView, of_kind, of_name
from rewriter.catalog.cache_metrics import MEANINGS, MISSES, Miss
from rewriter.catalog.cache_questions import DEFINITION, Question
from rewriter.catalog.codec import Object, key_of
from rewriter.catalog.writeids import ValidWriteIdList, equivalent

_T = TypeVar("_T")

#: What answers about no single object are kept under; no object has this id.
_NOBODY = 0
#: For so long, in seconds, what the log told last is given to those who bring no list. Where nobody reads the log any
#: more, or nobody can, they are answered by the store.
TOLD_LASTS = 30.0
#: No answer: what is in memory may be ``None``.
_NOTHING = object()


@dataclass(frozen=True)
class _Dated:
    """An answer about no single object, and the commit at which it was read."""

    sequence: int
    value: object


class CatalogCache:
    """Answers in memory, ``capacity`` bytes at most, and what the log tells of them. Thread-safe.

    Nothing here reads the database: readers say how to, and no lock is held while they do.
    """

    def __init__(self, capacity: int) -> None:
        self._lock = Lock()
        self._entries = Entries(capacity)
        self._log = LogView()
        self._counts = dict.fromkeys(MEANINGS, 0)
        #: Objects that commits have changed while answers about them were in memory.
        self._changed: set[int] = set()
        #: When the log was last read to its end, on the clock of ``time.monotonic``.
        self._whole_at = -TOLD_LASTS
        #: Set where somebody saw a commit that the log, as far as it was read, does not tell.
        self.behind = Event()

    def answer(self, object_id: int, question: Question, ids: ValidWriteIdList, read: Callable[[], _T]) -> _T:
        """What memory holds under an equivalent list; else what ``read`` answers, which is kept."""
        found = self._find(object_id, question, ids)
        if found is not _NOTHING:
            return cast(_T, found)
        value = read()
        self.keep(object_id, question, ids, value)
        return value

    def held(self, object_id: int, question: Question, ids: ValidWriteIdList) -> object | None:
        """What memory holds under an equivalent list, counted as a hit; ``None`` where there is nothing."""
        found = self._find(object_id, question, ids, count_miss=False)
        return None if found is _NOTHING else found

    def _find(self, object_id: int, question: Question, ids: ValidWriteIdList, *, count_miss: bool = True) -> object:
        with self._lock:
            entry = self._entries.get(object_id, question)
            cause = self._miss(object_id, entry, ids)
            if cause is None and entry is not None:
                self._counts["hits"] += 1
                return entry.value
            if cause is not None and count_miss:
                self._counts[MISSES[cause]] += 1
            return _NOTHING

    def _miss(self, object_id: int, entry: Entry | None, ids: ValidWriteIdList) -> Miss | None:
        """Why an entry does not answer for a list; ``None`` where it does."""
        if entry is None or entry.ids is None:
            return Miss.ABSENT
        if object_id in self._log.uncommitted:
            return Miss.UNCOMMITTED
        if entry.ids is ids or equivalent(entry.ids, ids):
            return None
        return Miss.OLDER if entry.ids.count > ids.count else Miss.CHANGED

    def keep(
        self, object_id: int, question: Question, ids: ValidWriteIdList, value: object, *, if_room: bool = False
    ) -> bool:
        """Keeps an answer that was read under a list, unless memory holds a newer one. Answers whether it is held."""
        size = size_of(question, value)
        with self._lock:
            old = self._entries.get(object_id, question)
            if old is not None and old.ids is not None and old.ids.count > ids.count:
                return False
            # A list may be long, and each caller has made its own of a text: one is kept for all answers.
            shared = self._entries.list_of(object_id, ids)
            entry = Entry(ids, value, size + size_of_ids(ids)) if shared is None else Entry(shared, value, size)
            return self._put(object_id, question, entry, if_room)

    def named(
        self,
        name: str,
        sequence: int,
        write_ids: Callable[[int], ValidWriteIdList],
        read: Callable[[], Object | None],
    ) -> Object | None:
        """What a snapshot, which sees the commits up to ``sequence``, finds under a name (``codec.key_of``).

        ``write_ids`` tells the list of an object under the snapshot.
        """
        with self._lock:
            known = self._entries.get(_NOBODY, ("name", name))
            dated = None if known is None else cast(_Dated, known.value)
            if dated is not None and dated.value is None and self._is_current(dated, sequence, of_name(name)):
                self._counts["hits"] += 1
                return None
        if dated is not None and dated.value is not None:
            object_id = cast(int, dated.value)
            found = self._find(object_id, DEFINITION, write_ids(object_id))
            # An equal list means that it is there, and is called so.
            if found is not _NOTHING and key_of(cast(Object, found)) == name:
                return cast(Object, found)
        else:
            self._count(MISSES[Miss.ABSENT if dated is None else Miss.CHANGED])
        answer = read()
        if answer is None:
            self._keep_dated(("name", name), _Dated(sequence, None))
        else:
            self.keep(answer.id, DEFINITION, write_ids(answer.id), answer)
            self._keep_dated(("name", name), _Dated(sequence, answer.id))
        return answer

    def of_kind(self, kind: str, sequence: int, read: Callable[[], tuple[Object, ...]]) -> tuple[Object, ...]:
        """All objects of a kind (``codec.kind_of``) that a snapshot with the commits up to ``sequence`` sees."""
        with self._lock:
            known = self._entries.get(_NOBODY, ("kind", kind))
            dated = None if known is None else cast(_Dated, known.value)
            if dated is not None:
                objects = cast(tuple[Object, ...], dated.value)
                if self._is_current(dated, sequence, of_kind(kind), [one.id for one in objects]):
                    self._counts["hits"] += 1
                    return objects
                cause = Miss.OLDER if dated.sequence > sequence else Miss.CHANGED
            else:
                cause = Miss.ABSENT
            self._counts[MISSES[cause]] += 1
        answer = read()
        self._keep_dated(("kind", kind), _Dated(sequence, answer))
        return answer

    def _is_current(self, dated: _Dated, sequence: int, made: str, members: Sequence[int] = ()) -> bool:
        uncommitted = self._log.uncommitted
        return not any(one in uncommitted for one in members) and self._log.unchanged(
            dated.sequence, sequence, made, members
        )

    def _keep_dated(self, question: Question, dated: _Dated) -> None:
        with self._lock:
            old = self._entries.get(_NOBODY, question)
            if old is None or cast(_Dated, old.value).sequence <= dated.sequence:
                self._put(_NOBODY, question, Entry(None, dated, size_of(question, dated)), False)

    def _put(self, object_id: int, question: Question, entry: Entry, if_room: bool) -> bool:
        return self._entries.put(object_id, question, entry, if_room=if_room)

    def write_ids(self, object_id: int, sequence: int) -> ValidWriteIdList | None:
        """The list of an object at a commit, where the log tells it. ``None``: it has to be read, and ``learn``ed."""
        with self._lock:
            found = self._log.write_ids(object_id, sequence)
            if found is not None:
                self._counts["lists_known"] += 1
        return found

    def learn(self, object_id: int, ids: ValidWriteIdList, sequence: int) -> None:
        """Takes over a list that a reader has read from the store."""
        with self._lock:
            self._counts["lists_read"] += 1
            self._log.learn(object_id, ids, sequence)

    def seen(self, sequence: int) -> None:
        """Says that there is a commit with this number."""
        if sequence > self._log.commit >= 0:
            self.behind.set()

    # ---- the newest state that is known, for those who bring no list

    def newest(self, name: str) -> Object | None:
        """What is called so (``codec.key_of``) as far as the log was read, from memory; ``None`` where that cannot be
        told.
        """
        with self._lock:
            known = self._entries.get(_NOBODY, ("name", name))
            object_id = None if known is None else cast(_Dated, known.value).value
            if not isinstance(object_id, int) or not self._is_told():
                return None
            entry, ids = self._entries.get(object_id, DEFINITION), self._log.newest(object_id)
            if entry is None or ids is None or self._miss(object_id, entry, ids) is not None:
                return None
            found = cast(Object, entry.value)
            return found if key_of(found) == name else None

    def newest_ids(self, object_id: int) -> ValidWriteIdList | None:
        """The newest list of an object that the log tells, where that was read not long ago."""
        with self._lock:
            return self._log.newest(object_id) if self._is_told() else None

    def _is_told(self) -> bool:
        return self._log.commit >= 0 and time.monotonic() - self._whole_at < TOLD_LASTS

    # ---- the follower's side

    @property
    def position(self) -> int:
        """The number of the last event that was applied; -1 before ``restart``."""
        return self._log.position

    @property
    def commit(self) -> int:
        """The number of the last commit that was read whole; -1 before ``restart``."""
        return self._log.commit

    def restart(self, position: int, commit: int, *, lost: bool = False) -> None:
        """The log is read from behind this event on. Lists are forgotten, answers stay and are judged by lists read
        from the store. ``lost``: it is another log, in which numbers may have another meaning, so nothing stays.
        """
        with self._lock:
            if self._log.position >= 0:
                self._counts["gaps"] += 1
            self._log.restart(position, commit)
            self._changed.clear()
            if lost:
                self._entries.clear()

    def apply(self, entries: Sequence[LogEntry]) -> None:
        """Reads events on, whose numbers follow one another."""
        with self._lock:
            for entry in entries:
                self._log.apply(entry)
                self._changed.update(one for one in entry.write_ids if self._entries.questions(one))
            self._counts["events"] += len(entries)

    def told(self, newest: int) -> None:
        """Notes the number of the newest event, which is read now."""
        with self._lock:
            self._counts["events_behind"] = behind = max(0, newest - self._log.position)
            if not behind:
                self._whole_at = time.monotonic()

    def take_changed(self) -> tuple[tuple[int, ValidWriteIdList, tuple[Question, ...]], ...]:
        """The objects that were changed since this was asked last: newest list, and what is in memory of them."""
        with self._lock:
            changed, self._changed = self._changed, set()
            asked = ((one, self._log.newest(one), self._entries.questions(one)) for one in sorted(changed))
            return tuple((one, ids, questions) for one, ids, questions in asked if ids is not None and questions)

    def room(self, *, if_room: bool) -> int:
        """How many bytes an answer may take at most; with ``if_room`` without taking the place of others."""
        with self._lock:
            return self._entries.capacity - (self._entries.bytes if if_room else 0)

    def forget(self, object_id: int) -> None:
        """Lets go what is kept of an object."""
        with self._lock:
            self._entries.forget(object_id)

    def name(self, thing: Object, sequence: int) -> None:
        """Notes by its name an object that was read at a commit."""
        self._keep_dated(("name", key_of(thing)), _Dated(sequence, thing.id))

    def count_refreshed(self, number: int) -> None:
        """Counts answers that were renewed in the background."""
        self._count("refreshed", number)

    def tag(self, object_id: int, question: Question = DEFINITION) -> tuple[ValidWriteIdList, bool] | None:
        """The list under which an answer is held, and whether all that was read of the log is committed for its object;
        ``None`` where nothing is held.
        """
        with self._lock:
            entry = self._entries.get(object_id, question)
            if entry is None or entry.ids is None:
                return None
            return entry.ids, object_id not in self._log.uncommitted

    def last(self, object_id: int, question: Question) -> tuple[ValidWriteIdList, Any] | None:
        """What memory holds under whichever list, and that list; ``None`` where there is nothing."""
        with self._lock:
            entry = self._entries.get(object_id, question)
            return None if entry is None or entry.ids is None else (entry.ids, entry.value)

    def metrics(self) -> dict[str, int]:
        """All that ``cache_metrics.MEANINGS`` explains, by name, in its order."""
        with self._lock:
            now = {
                "capacity_bytes": self._entries.capacity,
                "bytes": self._entries.bytes,
                "entries": len(self._entries),
                "evicted": self._entries.evicted,
                "position": self._log.position,
                "commit": self._log.commit,
            }
            return {**self._counts, **now}

    def _count(self, metric: str, number: int = 1) -> None:
        with self._lock:
            self._counts[metric] += number
