"""What a session adds to the query log of the catalog: collected in memory, and written now and then."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rewriter.catalog.store.query_log import LoggedNeed, LoggedReads, add_logged
from rewriter.errors import Error
from rewriter.grammar.lexer import TokenKind, tokens
from rewriter.planner.model.rollup_needs import RollupNeed, reads_of
from rewriter.uris import mask_credentials

if TYPE_CHECKING:
    from rewriter.catalog.catalog import Catalog
    from rewriter.catalog.reading.snapshot import Snapshot
    from rewriter.planner.model.plan import Plan

#: The log is written when so many queries wait, or when the oldest of them has waited for so many seconds and another
#: query comes.
_MOST_WAITING, _LONGEST_WAIT = 200, 10.0
#: How many characters of a text the log keeps.
_LONGEST_TEXT = 2000
_LITERALS = (TokenKind.STRING, TokenKind.NUMBER, TokenKind.PARAMETER)


class SessionLog:
    """The queries of a session that the catalog's query log does not have yet. One thread at a time.

    A process that is killed loses those that wait.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, LoggedNeed] = {}
        self._count = self._lost = 0
        self._since = 0.0
        self._failure = ""

    def note(self, text: str, plan: Plan, snapshot: Snapshot) -> None:
        """Notes a query that was run, if it reads a cube. Costs less than its planning, and no read of the database
        that the planning has not made.
        """
        now = time.time()
        for entry in _entries(text, plan, snapshot, now):
            known = self._waiting.setdefault(entry.entry_id, entry)
            if known is not entry:
                known.add(entry)
            self._since = self._since if self._count else now
            self._count += 1

    @property
    def is_due(self) -> bool:
        """Returns whether it is time to write."""
        return self._count >= _MOST_WAITING or (self._count > 0 and time.time() - self._since >= _LONGEST_WAIT)

    @property
    def loss(self) -> str | None:
        """The queries that the log lacks because it could not be written; ``None`` if it lacks none of the session."""
        if not self._lost:
            return None
        queries = "1 query" if self._lost == 1 else f"{self._lost:,} queries"
        return f"the query log lacks {queries} of this session, because it could not be written: {self._failure}"

    def write(self, catalog: Catalog) -> str | None:
        """Writes the waiting queries in one short transaction. Returns the warning that it failed, and forgets them
        then: a query never fails because of the log.
        """
        entries, count = list(self._waiting.values()), self._count
        self._waiting, self._count = {}, 0
        if not entries or catalog.is_absent:
            return None
        try:
            with catalog.database.write() as connection:
                add_logged(connection, entries)
        except Error as error:
            self._lost, self._failure = self._lost + count, error.message
            return f"the query log lacks some queries, the last {count:,} of this session: {error.message}"
        return None


def without_literals(text: str) -> str:
    """Returns a text with ``?`` for each literal and parameter, and for each list of them. Comments are left out.

    >>> without_literals("SELECT 1 FROM v /* x */ WHERE page IN ('a', 'b') AND n > -2.5")
    'SELECT ? FROM v WHERE page IN ( ? ) AND n > - ?'
    """
    words: list[str] = []
    for token in tokens(text):
        if token.kind not in _LITERALS:
            words.append(token.text)
        elif words[-2:] == ["?", ","]:
            words.pop()
        elif words[-1:] != ["?"]:
            words.append("?")
    return mask_credentials(" ".join(words))[:_LONGEST_TEXT]


def _entries(text: str, plan: Plan, snapshot: Snapshot, now: float) -> Iterator[LoggedNeed]:
    for reference, period_reads in reads_of(plan):
        cube = snapshot.cube(reference.cube)
        need = RollupNeed.of(reference, cube.times[1:]).under_names(cube.log_name).as_text()
        reads: dict[tuple[int, str], LoggedReads] = {}
        for read in period_reads:
            key = snapshot.table(read.table).id, read.period.name
            reads[key] = LoggedReads(1, read.partitions, now)
        yield LoggedNeed(cube.id, without_literals(text), need, 1, now, now, reads)
