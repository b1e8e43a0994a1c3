"""``rewriter maintain [FACT…]``: the one command of a scheduler: refresh, retention, compaction, vacuum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from rewriter.cli.connection import connection, connection_options, engine_options
from rewriter.terminal_text import counted, printable

if TYPE_CHECKING:
    from rewriter.runtime.result import Result, Row
    from rewriter.session import Session

#: The lines that are printed of what one statement has done.
_MOST_LINES = 20
_ATTEMPTS = 4
#: The seconds between two runs of all steps where commits are followed: time alone makes partitions old, too.
_HOUR = 3600.0


@click.command()
@connection_options
@engine_options
@click.argument("facts", nargs=-1, metavar="[FACT…]")
@click.option("--dry-run", is_flag=True, help="List each step with what it costs, and change nothing.")
@click.option(
    "--max",
    "most",
    type=click.IntRange(1),
    metavar="N",
    help="Refresh at most N partitions of each fact, the oldest first: several workers share the work.",
)
@click.option(
    "--follow", is_flag=True, help="Go on: refresh after each commit of any process, until Ctrl-C or SIGTERM."
)
@click.option(
    "--every",
    type=click.FloatRange(0.1),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="With --follow, look for new commits so often: rollups follow their base within this time and the refresh.",
)
def maintain(facts: Sequence[str], dry_run: bool, most: int | None, follow: bool, every: float, **options: Any) -> int:
    """Refresh, drop what is old, compact and vacuum.

    It refreshes the rollups of facts, drops the partitions that RETAIN does not keep, compacts small files of their
    tables, drops what 'rewriter.retain' of other tables does not keep, and removes files that nothing needs.

    FACT is the name of a fact: f or db.f. Without one, all facts are maintained. Each step is a transaction of its own:
    after an error or a kill, the next run does what is left. An error of one fact does not stop the others.

    With --follow the command stays, prints what it does, and does all steps once an hour. It is for facts whose writers
    are not to wait for a refresh.

    Exit codes: 0 if everything that can be done is done; 1 after an error of a fact or of a table.
    """
    if follow and dry_run:
        raise click.UsageError("--follow and --dry-run exclude each other.")
    opened = connection(**options)
    opened.require_warehouse("Name the warehouse's directory with -w.")
    with opened.session() as session:
        from rewriter.grammar.terms import parse_name
        from rewriter.grammar.unparse import name_text

        named = [name_text(parse_name(fact)) for fact in facts]

        def run(*, is_whole: bool, is_stopped: Callable[[], bool] = lambda: False) -> bool:
            steps = [(_maintenance(fact, dry_run, most), _step_line) for fact in named or _all_facts(session)]
            if is_whole:
                plain = [] if named else _retained_tables(session)
                steps += [(f"MAINTAIN TABLE {table}{' DRY RUN' if dry_run else ''}", _step_line) for table in plain]
                steps += [(f"ALTER TABLE {table} COMPACT", _line) for table in _tables(session, named) if not dry_run]
                steps.append(("VACUUM DRY RUN" if dry_run else "VACUUM", _line))
            succeeded = [
                _run(statement, line, session, is_quiet=follow) for statement, line in steps if not is_stopped()
            ]
            return all(succeeded)

        return _follow(session, every, run) if follow else int(not run(is_whole=True))


def _follow(session: Session, every: float, run: Callable[..., bool]) -> int:
    """Runs the steps after commits, and all of them once an hour, until a signal comes. An error does not end it."""
    from rewriter.cli.stop_signals import stop_signals

    seen, next_whole = -1, 0.0
    with stop_signals() as is_stopped:
        while True:
            # The next run sees commits of other processes during this one, and its own, which leave nothing to do.
            newest, is_whole = session.catalog.snapshot().sequence, monotonic() >= next_whole
            if newest != seen or is_whole:
                run(is_whole=is_whole, is_stopped=partial(is_stopped, 0.0))
                seen, next_whole = newest, monotonic() + _HOUR if is_whole else next_whole
            if is_stopped(every):
                return 0


def _maintenance(fact: str, dry_run: bool, most: int | None) -> str:
    share = "" if most is None else f" MAX {most} PARTITIONS"
    return f"MAINTAIN FACT {fact}{share}{' DRY RUN' if dry_run else ''}"


def _all_facts(session: Session) -> list[str]:
    """Returns the names of all facts, as SQL."""
    return [_written(fact.name) for fact in session.catalog.snapshot().facts()]


def _tables(session: Session, facts: Sequence[str]) -> list[str]:
    """Returns the names of the managed tables of facts, as SQL."""
    snapshot, names = session.catalog.snapshot(), []
    for fact in snapshot.facts():
        full = _written(fact.name)
        if facts and not {full, full.removeprefix("default.")} & {*facts}:
            continue
        tables = (snapshot.table(stored.table) for stored in fact.tables)
        names += [_written(table.name) for table in tables if not table.external]
    return names


def _retained_tables(session: Session) -> list[str]:
    """Returns the names of the tables that have a retention of their own, as SQL."""
    from rewriter.catalog.model.table_retention import retention_of

    return [_written(table.name) for table in session.catalog.snapshot().tables() if retention_of(table) is not None]


def _written(name: str) -> str:
    from rewriter.catalog.model.objects import parts_of
    from rewriter.grammar.terms import Name
    from rewriter.grammar.unparse import name_text

    return name_text(Name(parts_of(name)))


def _step_line(row: Row) -> str:
    step, table, period, start, end, count, size, status = row
    assert isinstance(count, int)
    amount = counted(count, "partition") + ("" if size is None else f", {size:,} bytes")
    return f"{step} {table} {period} [{start}, {end}): {amount}, {status}"


def _line(row: Row) -> str:
    return " ".join("" if value is None else str(value) for value in row)


def _retried(statement: str, session: Session) -> Result:
    """Runs a statement a few times, where other processes write the same partitions."""
    from rewriter.errors import ConflictError

    for _ in range(_ATTEMPTS - 1):
        try:
            return session.execute(statement)
        except ConflictError:
            continue
    return session.execute(statement)


def _run(statement: str, line: Callable[[Row], str], session: Session, *, is_quiet: bool) -> bool:
    """Runs a statement, and prints what it has done; if ``is_quiet``, not what it has left as it was. Returns whether
    it succeeded; an error is printed.
    """
    from rewriter.display.terminal.errors import write_error
    from rewriter.errors import Error

    try:
        result = _retried(statement, session)
        shown = [row for row in result.rows() if not (is_quiet and str(row[-1]).startswith("kept"))]
        lines = [printable(line(row)) for row in shown]
    except Error as error:
        error.position = None  # The position was in a generated statement.
        write_error(error, statement, click.get_current_context().obj)
        return False
    if is_quiet and not lines:
        return True
    click.echo(f"{statement}{'' if lines else ': nothing to do'}")
    for text in [*lines[:_MOST_LINES], *([f"… {len(lines) - _MOST_LINES:,} more"] if len(lines) > _MOST_LINES else [])]:
        click.echo(f"  {text}")
    for warning in result.warnings:
        click.echo(f"  Warning: {printable(warning)}")
    return True
