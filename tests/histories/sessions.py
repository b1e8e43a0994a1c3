"""One process of a history of statements: a session on DuckDB that writes and reads rows, and logs the results.

Run it with ``python -m histories.sessions WAREHOUSE URL SEED NUMBER STEPS``. An empty URL is SQLite.
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path
from typing import Any

import rewriter
from rewriter.catalog import Snapshot, Transaction
from rewriter.errors import ConflictError

DAYS = ("a", "b", "c")


class Log:
    """A log with a line of JSON for each begun statement, for each number from the catalog, and for each result."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(self, **entry: Any) -> None:
        """Writes one line."""
        os.write(self._file, f"{json.dumps(entry)}\n".encode())

    def listen(self) -> None:
        """Records which snapshots are taken, which transactions begin, and with what number they commit."""
        on, begin, commit = Snapshot.on, Transaction.begin, Transaction.commit

        def noted_on(*arguments: Any, **named: Any) -> Snapshot:
            snapshot = on(*arguments, **named)
            self.write(snapshot=snapshot.sequence)
            return snapshot

        def noted_begin(*arguments: Any, **named: Any) -> Transaction:
            transaction = begin(*arguments, **named)
            self.write(transaction=transaction.id)
            return transaction

        def noted_commit(transaction: Transaction, *arguments: Any, **named: Any) -> int:
            number = commit(transaction, *arguments, **named)
            self.write(committed=transaction.id, number=number)
            return number

        Snapshot.on = noted_on  # type: ignore[method-assign]
        Transaction.begin = noted_begin  # type: ignore[method-assign]
        Transaction.commit = noted_commit  # type: ignore[method-assign]


def statement(kind: str, day: str, number: int) -> str:
    """Returns the text of a statement. ``number`` is a row that no other statement writes."""
    into = f"days PARTITION (dt = '{day}')"
    return {
        "into": f"INSERT INTO {into} VALUES ({number})",
        "count": f"INSERT OVERWRITE {into} SELECT COALESCE(MAX(x), 0) + 1 FROM days WHERE dt = '{day}'",
        "drop": f"ALTER TABLE days DROP IF EXISTS PARTITION (dt = '{day}')",
        "read": "SELECT dt, x FROM days",
    }[kind]


def main(warehouse: str, url: str, seed: str, number: str, steps: str) -> None:
    """Executes all steps."""
    rng, log = random.Random(f"{seed}/{number}"), Log(Path(warehouse) / f"session-{number}.log")
    with rewriter.connect(warehouse, engine="duckdb", catalog=url or None) as connection:
        log.listen()
        cursor = connection.cursor()
        for step in range(int(steps)):
            kind, day = rng.choice(["into", "into", "count", "count", "drop", "read", "read"]), rng.choice(DAYS)
            row = (int(number) * 1000 + step + 1) * 1000
            log.write(kind=kind, day=day, row=row)
            try:
                cursor.execute(statement(kind, day, row))
            except ConflictError as error:
                log.write(conflict=error.sqlstate)
                continue
            if kind == "read":
                log.write(rows=sorted(cursor.fetchall()))


if __name__ == "__main__":
    main(*sys.argv[1:])
