"""Maintenance of tables: COMPACT, VACUUM, MSCK REPAIR, ANALYZE, REFRESH TABLE."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from rewriter.errors import NotSupportedError, ParseError, Span
from rewriter.grammar.filters import Filter, conjunction
from rewriter.grammar.shared_rules import property_path
from rewriter.grammar.shared_rules import where as checked_filter
from rewriter.grammar.statement_parts import Terminal, refuse_duplicates, require_values, whole_number
from rewriter.grammar.statements import Statement, builds, renders
from rewriter.grammar.unparse import in_database_text, name_text, partition_text, quote, render_filter, words
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.grammar.terms import ColumnName, DatabaseName, Name, PartitionItem

RULES = r"""
?statement: compact | vacuum | vacuum_unknown | repair_table | recover_partitions
          | analyze_table | analyze_tables | refresh_table

compact: "ALTER" "TABLE" name [partition_spec] "COMPACT" [STRING]
vacuum: "VACUUM" ["TABLE" name] ["RETAIN" NUMBER NAME] [DRY "RUN"]
vacuum_unknown: "VACUUM" "UNKNOWN" "DIRECTORIES" (DRY "RUN" | "CONFIRM" STRING)
repair_table: (MSCK REPAIR? | REPAIR) "TABLE" name [repaired "PARTITIONS"] [repaired_where]
            | (MSCK REPAIR? | REPAIR) "TABLE" name repaired "PARTITIONS" bare_where
bare_where: "(" filter ("," filter)* ")"    -> repaired_where
!repaired: "ADD" | "DROP" | "SYNC"
repaired_where: "PARTITION" "(" filter ("," filter)* ")"
recover_partitions: "ALTER" "TABLE" name "RECOVER" "PARTITIONS"
analyze_table: "ANALYZE" "TABLE" name [partition_spec] "COMPUTE" "STATISTICS" [NOSCAN | analyzed_columns]
analyzed_columns: "FOR" "COLUMNS" (NAME ("," NAME)*)?
                | "FOR" "ALL" "COLUMNS"
analyze_tables: "ANALYZE" "TABLES" [in_database] "COMPUTE" "STATISTICS" [NOSCAN]
refresh_table: "REFRESH" "TABLE" name
"""


@dataclass(frozen=True, kw_only=True)
class Compact(Statement):
    """``ALTER TABLE t [PARTITION (…)] COMPACT``; the spec may be partial."""

    table: Name
    partition: tuple[PartitionItem, ...] | None = None


@builds("compact")
def compact(table: Name, partition: tuple[PartitionItem, ...] | None, kind: Terminal | None) -> Compact:
    require_values(partition or ())
    if kind is not None and kind.string.lower() != "major":
        raise NotSupportedError(
            f"COMPACT '{kind.string}' is not supported.",
            position=kind.span,
            hint="The only kind is Hive's 'major': all files of a partition become one.",
        )
    return Compact(table=table, partition=partition)


@renders(Compact)
def compact_text(s: Compact) -> str:
    return words(f"ALTER TABLE {name_text(s.table)}", partition_text(s.partition), "COMPACT")


@dataclass(frozen=True, kw_only=True)
class Vacuum(Statement):
    """``VACUUM [TABLE t] [RETAIN n HOURS] [DRY RUN]``; without a table, of all that there are or were."""

    table: Name | None = None
    hours: int | None = None
    dry_run: bool = False


@builds("vacuum")
def vacuum(table: Name | None, number: Terminal | None, unit: Terminal | None, dry: Terminal | None) -> Vacuum:
    if number is None or unit is None:
        return Vacuum(table=table, dry_run=dry is not None)
    hours = whole_number(number)
    if hours is None or unit.name.upper() not in ("HOUR", "HOURS"):
        raise ParseError(
            f"RETAIN takes a whole number of hours, not {number.token.text} {unit.name}.",
            position=Span(number.span.start, unit.span.end),
            hint="Write RETAIN 24 HOURS.",
        )
    return Vacuum(table=table, hours=hours, dry_run=dry is not None)


@renders(Vacuum)
def vacuum_text(s: Vacuum) -> str:
    return words(
        "VACUUM",
        None if s.table is None else f"TABLE {name_text(s.table)}",
        None if s.hours is None else f"RETAIN {s.hours} HOURS",
        "DRY RUN" if s.dry_run else None,
    )


@dataclass(frozen=True, kw_only=True)
class VacuumUnknown(Statement):
    """``VACUUM UNKNOWN DIRECTORIES DRY RUN | CONFIRM 'code'``; the code is a dry run's, and ``None`` in one."""

    code: str | None = None
    code_span: Span | None = field(default=None, compare=False)


@builds("vacuum_unknown")
def vacuum_unknown(option: Terminal) -> VacuumUnknown:
    is_dry = option.token.is_word("DRY")
    return VacuumUnknown() if is_dry else VacuumUnknown(code=option.string, code_span=option.span)


@renders(VacuumUnknown)
def vacuum_unknown_text(s: VacuumUnknown) -> str:
    return f"VACUUM UNKNOWN DIRECTORIES {'DRY RUN' if s.code is None else f'CONFIRM {quote(s.code)}'}"


@dataclass(frozen=True, kw_only=True)
class RepairTable(Statement):
    """``MSCK [REPAIR] TABLE t [ADD|DROP|SYNC PARTITIONS] [[PARTITION] (filter)]``; ``what`` is one of the three words.

    Without ``repair`` it only reports. ALTER TABLE … RECOVER PARTITIONS is a repair that adds.
    """

    table: Name
    repair: bool
    what: str
    where: Filter | None = None


@builds("repair_table")
def repair_table(*parts: Any) -> RepairTable:
    *words, table, action, where = parts
    repair = words[-1].type == "REPAIR"
    return RepairTable(table=table, repair=repair, what=action or ("ADD" if repair else "SYNC"), where=where)


@builds("repaired")
def repaired(word: Terminal) -> str:
    return word.word.upper()


@builds("repaired_where")
def repaired_where(*parts: Filter) -> Filter:
    return checked_filter(conjunction(parts))


@builds("recover_partitions")
def recover_partitions(table: Name) -> RepairTable:
    return RepairTable(table=table, repair=True, what="ADD")


@renders(RepairTable)
def repair_table_text(s: RepairTable) -> str:
    return words(
        "MSCK REPAIR TABLE" if s.repair else "MSCK TABLE",
        name_text(s.table),
        f"{s.what} PARTITIONS",
        None if s.where is None else f"PARTITION ({render_filter(s.where)})",
    )


@dataclass(frozen=True, kw_only=True)
class AnalyzeTable(Statement):
    """``ANALYZE TABLE t [PARTITION (…)] COMPUTE STATISTICS [NOSCAN | FOR COLUMNS … | FOR ALL COLUMNS]``.

    ``columns`` is ``None`` without FOR and empty for all of them; NOSCAN and columns exclude each other.
    """

    table: Name
    partition: tuple[PartitionItem, ...] | None = None
    columns: tuple[ColumnName, ...] | None = None
    noscan: bool = False


@builds("analyze_table")
def analyze_table(
    table: Name,
    partition: tuple[PartitionItem, ...] | None,
    scope: Terminal | tuple[ColumnName, ...] | None,
) -> AnalyzeTable:
    noscan = isinstance(scope, Terminal)
    return AnalyzeTable(
        table=table, partition=partition, columns=None if isinstance(scope, Terminal) else scope, noscan=noscan
    )


@builds("analyzed_columns")
def analyzed_columns(*columns: Terminal) -> tuple[ColumnName, ...]:
    refuse_duplicates([(column.name, column.span) for column in columns], str.lower)
    return tuple(property_path(column) for column in columns)


@renders(AnalyzeTable)
def analyze_table_text(s: AnalyzeTable) -> str:
    columns = None
    if s.columns is not None:
        columns = f"FOR COLUMNS {', '.join(map(name_text, s.columns))}" if s.columns else "FOR ALL COLUMNS"
    return words(
        f"ANALYZE TABLE {name_text(s.table)}",
        partition_text(s.partition),
        "COMPUTE STATISTICS",
        "NOSCAN" if s.noscan else columns,
    )


@dataclass(frozen=True, kw_only=True)
class AnalyzeTables(Statement):
    """``ANALYZE TABLES [IN database] COMPUTE STATISTICS [NOSCAN]``."""

    database: DatabaseName | None = None
    noscan: bool = False


@builds("analyze_tables")
def analyze_tables(database: DatabaseName | None, noscan: Terminal | None) -> AnalyzeTables:
    return AnalyzeTables(database=database, noscan=noscan is not None)


@renders(AnalyzeTables)
def analyze_tables_text(s: AnalyzeTables) -> str:
    return words("ANALYZE TABLES", in_database_text(s.database), "COMPUTE STATISTICS", "NOSCAN" if s.noscan else None)


@dataclass(frozen=True, kw_only=True)
class RefreshTable(Statement):
    """``REFRESH TABLE t``: looks for changed files if the table is the external base of a fact."""

    table: Name


@builds("refresh_table")
def refresh_table(table: Name) -> RefreshTable:
    return RefreshTable(table=table)


@renders(RefreshTable)
def refresh_table_text(s: RefreshTable) -> str:
    return f"REFRESH TABLE {name_text(s.table)}"
