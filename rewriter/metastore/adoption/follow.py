"""Keeps the catalog in step with a source, by its notifications."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rewriter.errors import OperationalError
from rewriter.lazy_dataclass import dataclass
from rewriter.metastore.adoption.plan import Affected, affected
from rewriter.metastore.adoption.report import Report
from rewriter.metastore.adoption.source import EVENTS

if TYPE_CHECKING:
    from rewriter.metastore.adoption.run import Import

#: Seconds between two looks at the notifications, and between two comparisons of everything without notifications.
INTERVAL, _WITHOUT_EVENTS = 10.0, 600.0
#: The most requests for notifications of one look. If more are left, everything is compared.
_MOST_REQUESTS = 100


@dataclass
class Follower:
    """Follows the notifications of a source after the number ``last``, which was the newest before the import.

    ``names`` are the tables and views that the source had then. ``wait`` waits for some seconds, and returns True if
    the following is to end. ``say`` gets messages for a person.
    """

    importing: Import
    last: int
    names: frozenset[tuple[str, str]]
    wait: Callable[[float], bool]
    say: Callable[[str], object] = lambda _: None
    interval: float = INTERVAL

    def reports(self) -> Iterator[Report]:
        """Yields a report of each time at which something was compared, until ``wait`` ends it.

        While the source is not available, it is tried again at each interval.
        """
        if not self.last:
            self.say(f"The source has no notifications: everything is compared every {_WITHOUT_EVENTS:.0f} seconds.")
        failed = False
        while not self.wait(self.interval if self.last or failed else max(self.interval, _WITHOUT_EVENTS)):
            try:
                report = self.step()
                failed = False
            except OperationalError as error:
                if error.condition not in ("METASTORE_UNAVAILABLE", "METASTORE_REFUSED"):
                    raise
                failed = True
                self.say(error.headline)
                continue
            if report is not None:
                yield report

    def step(self) -> Report | None:
        """Brings the catalog in step with the notifications that are new. Returns ``None`` if there are none.

        After an error, the next call looks at the same notifications again.
        """
        importing = self.importing
        importing.report = Report(importing.report.notice)
        changes = self._changes()
        if changes.everything:
            self.names = importing.everything()
        elif changes.last == self.last:
            return None
        else:
            self._tables(changes)
            if changes.functions:
                importing.functions()
        self.last = changes.last
        return importing.report

    def _changes(self) -> Affected:
        source, last = self.importing.source, self.last
        newest = source.last_event()
        if not last or newest < last:
            # Nothing keeps the notifications, or their numbers begin again.
            return Affected(newest, everything=True)
        collected = Affected(last)
        for _ in range(_MOST_REQUESTS):
            if newest <= collected.last:
                return collected
            events = source.events(collected.last)
            more = affected(events, collected.last)
            if more.last == collected.last or more.everything or len(events) > EVENTS:
                # The source has forgotten some, or says what it cannot mean.
                return Affected(newest, everything=True)
            collected = Affected(
                more.last,
                collected.tables | more.tables,
                names=collected.names or more.names,
                functions=collected.functions or more.functions,
            )
        return Affected(newest, everything=True)

    def _tables(self, changes: Affected) -> None:
        importing = self.importing
        selected = {name for name in changes.tables if importing.selection.has_table(*name)}
        if not changes.names:
            importing.tables(sorted(selected))
            return
        # The notification of another name has the old one or the new one, as the versions of Hive differ.
        listed = frozenset(importing.listed())
        importing.drop_missing(listed)
        importing.tables(sorted(listed & selected | (listed - self.names)))
        self.names = listed
