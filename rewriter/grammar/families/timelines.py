"""Timelines of facts: SHOW TIMELINES, COVERAGE and LATEST, work lists, CHECK FACT, REFRESH FACT, REFRESH TIMELINES."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewriter.errors import ParseError
from rewriter.grammar.statement_parts import Terminal, percentage, percentage_text, period_name, whole_number
from rewriter.grammar.statements import Statement, builds, renders
from rewriter.grammar.unparse import literal_text, name_text, quote_name, words
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.grammar.terms import Literal, Name

RULES = r"""
?statement: show_timelines | show_coverage | show_work | show_latest | check_fact | refresh_fact | refresh_timelines \
          | maintain_fact | maintain_table

show_timelines: "SHOW" "TIMELINES" "OF" name ["STORAGE" NAME] ["PERIOD" NAME]
show_coverage: "SHOW" "COVERAGE" "OF" name ["FROM" bound "TO" bound]
show_work: "SHOW" (MISSING | OUTDATED | UNPROVEN | NARROW) "PARTITIONS" "OF" name ["FROM" bound "TO" bound]
show_latest: "SHOW" "LATEST" "OF" name
check_fact: "CHECK" "FACT" name ["FROM" bound "TO" bound] ["SAMPLE" NUMBER "PERCENT"] [ACCEPT]
maintain_fact: "MAINTAIN" "FACT" name ["MAX" NUMBER "PARTITIONS"] [DRY "RUN"]
maintain_table: "MAINTAIN" "TABLE" name [DRY "RUN"]
refresh_fact: "REFRESH" "FACT" name [FORCE] ["FROM" bound "TO" bound] ["MAX" NUMBER "PARTITIONS"] [DRY "RUN"]
refresh_timelines: "REFRESH" "TIMELINES" "OF" name
"""


@dataclass(frozen=True, kw_only=True)
class ShowTimelines(Statement):
    fact: Name
    storage: str | None = None
    period: str | None = None

    def permanent_names(self) -> tuple[str, ...]:
        return ("fact",)


@builds("show_timelines")
def show_timelines(fact: Name, storage: Terminal | None, period: Terminal | None) -> ShowTimelines:
    return ShowTimelines(
        fact=fact,
        storage=storage.name if storage else None,
        period=period_name(period) if period else None,
    )


@renders(ShowTimelines)
def show_timelines_text(s: ShowTimelines) -> str:
    return words(
        f"SHOW TIMELINES OF {name_text(s.fact)}",
        f"STORAGE {quote_name(s.storage)}" if s.storage is not None else None,
        f"PERIOD {s.period}" if s.period is not None else None,
    )


@dataclass(frozen=True, kw_only=True)
class ShowCoverage(Statement):
    """``SHOW COVERAGE OF f [FROM a TO b]``; the bounds are texts that ``time_range_in`` understands."""

    fact: Name
    start: Literal | None = None
    end: Literal | None = None

    def permanent_names(self) -> tuple[str, ...]:
        return ("fact",)


@builds("show_coverage")
def show_coverage(fact: Name, start: Literal | None, end: Literal | None) -> ShowCoverage:
    return ShowCoverage(fact=fact, start=start, end=end)


@renders(ShowCoverage)
def show_coverage_text(s: ShowCoverage) -> str:
    return words(f"SHOW COVERAGE OF {name_text(s.fact)}", bounds_text(s))


@dataclass(frozen=True, kw_only=True)
class ShowWork(Statement):
    """``SHOW MISSING|OUTDATED|UNPROVEN|NARROW PARTITIONS OF f [FROM a TO b]``; ``state`` is the word, bounds as in
    ``ShowCoverage``.
    """

    state: str
    fact: Name
    start: Literal | None = None
    end: Literal | None = None

    def permanent_names(self) -> tuple[str, ...]:
        return ("fact",)


@builds("show_work")
def show_work(state: Terminal, fact: Name, start: Literal | None, end: Literal | None) -> ShowWork:
    return ShowWork(state=state.type, fact=fact, start=start, end=end)


@renders(ShowWork)
def show_work_text(s: ShowWork) -> str:
    return words(f"SHOW {s.state} PARTITIONS OF {name_text(s.fact)}", bounds_text(s))


@dataclass(frozen=True, kw_only=True)
class ShowLatest(Statement):
    fact: Name

    def permanent_names(self) -> tuple[str, ...]:
        return ("fact",)


@builds("show_latest")
def show_latest(fact: Name) -> ShowLatest:
    return ShowLatest(fact=fact)


@renders(ShowLatest)
def show_latest_text(s: ShowLatest) -> str:
    return f"SHOW LATEST OF {name_text(s.fact)}"


@dataclass(frozen=True, kw_only=True)
class CheckFact(Statement):
    """``CHECK FACT f [FROM a TO b] [SAMPLE n PERCENT] [ACCEPT]``; bounds as in ``ShowCoverage``. ``percent`` is the n,
    above 0 and at most 100.
    """

    fact: Name
    start: Literal | None = None
    end: Literal | None = None
    percent: float | None = None
    accept: bool = False

    def permanent_names(self) -> tuple[str, ...]:
        return ("fact",)


@builds("check_fact")
def check_fact(
    fact: Name, start: Literal | None, end: Literal | None, number: Terminal | None, accept: Terminal | None
) -> CheckFact:
    percent = None if number is None else percentage(number.token.text)
    if number is not None and percent is None:
        raise ParseError(
            f"SAMPLE {number.token.text} PERCENT is no part of the partitions.",
            position=number.span,
            hint="Write a number above 0 and at most 100, as in SAMPLE 5 PERCENT.",
        )
    return CheckFact(fact=fact, start=start, end=end, percent=percent, accept=accept is not None)


@renders(CheckFact)
def check_fact_text(s: CheckFact) -> str:
    return words(
        f"CHECK FACT {name_text(s.fact)}",
        bounds_text(s),
        f"SAMPLE {percentage_text(s.percent)} PERCENT" if s.percent is not None else None,
        "ACCEPT" if s.accept else None,
    )


@dataclass(frozen=True, kw_only=True)
class RefreshFact(Statement):
    """``REFRESH FACT f [FORCE] [FROM a TO b] [MAX n PARTITIONS] [DRY RUN]``; bounds as in ``ShowCoverage``. ``most`` is
    the n; it excludes FORCE.
    """

    fact: Name
    force: bool = False
    start: Literal | None = None
    end: Literal | None = None
    most: int | None = None
    dry_run: bool = False

    def permanent_names(self) -> tuple[str, ...]:
        return ("fact",)


@builds("refresh_fact")
def refresh_fact(
    fact: Name,
    force: Terminal | None,
    start: Literal | None,
    end: Literal | None,
    number: Terminal | None,
    dry: Terminal | None,
) -> RefreshFact:
    most = _most(number)
    if number is not None and force is not None:
        raise ParseError(
            "FORCE and MAX cannot be combined: each statement would recompute the same oldest partitions.",
            position=force.span,
            hint="Omit MAX, and give a range: FORCE FROM '2024-01-01' TO '2024-02-01'.",
        )
    return RefreshFact(fact=fact, force=force is not None, start=start, end=end, most=most, dry_run=dry is not None)


def _most(number: Terminal | None) -> int | None:
    """Returns the number of ``MAX n PARTITIONS``."""
    most = None if number is None else whole_number(number)
    if number is not None and not most:
        raise ParseError(
            f"MAX {number.token.text} is not a number of partitions.",
            position=number.span,
            hint="Write a whole number, as in MAX 100 PARTITIONS.",
        )
    return most


@renders(RefreshFact)
def refresh_fact_text(s: RefreshFact) -> str:
    force, dry = "FORCE" if s.force else None, "DRY RUN" if s.dry_run else None
    most = f"MAX {s.most} PARTITIONS" if s.most is not None else None
    return words(f"REFRESH FACT {name_text(s.fact)}", force, bounds_text(s), most, dry)


@dataclass(frozen=True, kw_only=True)
class MaintainFact(Statement):
    """``MAINTAIN FACT f [MAX n PARTITIONS] [DRY RUN]``: refreshes rollups, and drops what RETAIN does not keep."""

    fact: Name
    most: int | None = None
    dry_run: bool = False

    def permanent_names(self) -> tuple[str, ...]:
        return ("fact",)


@builds("maintain_fact")
def maintain_fact(fact: Name, number: Terminal | None, dry: Terminal | None) -> MaintainFact:
    return MaintainFact(fact=fact, most=_most(number), dry_run=dry is not None)


@renders(MaintainFact)
def maintain_fact_text(s: MaintainFact) -> str:
    most = f"MAX {s.most} PARTITIONS" if s.most is not None else None
    return words(f"MAINTAIN FACT {name_text(s.fact)}", most, "DRY RUN" if s.dry_run else None)


@dataclass(frozen=True, kw_only=True)
class MaintainTable(Statement):
    """``MAINTAIN TABLE t [DRY RUN]``: drops the partitions that the table's retention does not keep."""

    table: Name
    dry_run: bool = False


@builds("maintain_table")
def maintain_table(table: Name, dry: Terminal | None) -> MaintainTable:
    return MaintainTable(table=table, dry_run=dry is not None)


@renders(MaintainTable)
def maintain_table_text(s: MaintainTable) -> str:
    return words(f"MAINTAIN TABLE {name_text(s.table)}", "DRY RUN" if s.dry_run else None)


@dataclass(frozen=True, kw_only=True)
class RefreshTimelines(Statement):
    fact: Name

    def permanent_names(self) -> tuple[str, ...]:
        return ("fact",)


@builds("refresh_timelines")
def refresh_timelines(fact: Name) -> RefreshTimelines:
    return RefreshTimelines(fact=fact)


@renders(RefreshTimelines)
def refresh_timelines_text(s: RefreshTimelines) -> str:
    return f"REFRESH TIMELINES OF {name_text(s.fact)}"


def bounds_text(s: ShowCoverage | ShowWork | CheckFact | RefreshFact) -> str | None:
    return (
        f"FROM {literal_text(s.start)} TO {literal_text(s.end)}" if s.start is not None and s.end is not None else None
    )
