"""How long MAINTAIN TABLE keeps the partitions of a table of no fact: its property ``rewriter.retain``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewriter.errors import AnalysisError, DataError
from rewriter.lazy_dataclass import dataclass
from rewriter.timeline.time_bounds import earlier

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Fact, Table

_RETAIN = "rewriter.retain"


@dataclass(frozen=True)
class Retention:
    """How long MAINTAIN TABLE keeps the partitions of a table, such as '90 days', by the time that ``columns`` name;
    empty where they are inferred.
    """

    length: str
    columns: tuple[str, ...] = ()


def retention_of(table: Table) -> Retention | None:
    """Returns the retention that a table's property declares; ``None`` if partitions stay for ever."""
    text = table.properties.get(_RETAIN)
    if text is None:
        return None
    length, _, columns = text.partition(" by ")
    return Retention(length, tuple(name.strip() for name in columns.split(",") if name.strip()))


def is_about_retention(key: str) -> bool:
    """Returns whether a property is ``_RETAIN``, in any case."""
    return key.lower() == _RETAIN


def checked_retention(key: str, value: str, table: Table, fact: Fact | None) -> tuple[str, str]:
    """Returns the property in its canonical spelling. ``fact`` is the one that the table belongs to.

    Raises ``AnalysisError`` INVALID_RETENTION for a value that is no length of time, for a table without partitions and
    for a table of a fact; the hint has the statement for it.
    """
    text, problem = " ".join(value.lower().split()), ""
    length, _, columns = text.partition(" by ")
    own = {column.name.lower() for column in table.partition_columns}
    others = [name.strip() for name in columns.split(",") if columns and name.strip() not in own]
    hint = "Write a number and a unit, such as '90 days' or '2 years'; '90 days by d' where several columns name times."
    if fact is not None:
        problem = f"{table.name} is a table of the fact {fact.name}"
        hint = f"ALTER FACT {fact.name} TABLE {table.name} SET RETAIN {length.upper()} keeps the results of its cube."
    elif not table.partition_columns:
        problem, hint = f"{table.name} has no partitions", "Partition the table by the day of its rows."
    elif others or (columns and len(set(map(str.strip, columns.split(",")))) < len(columns.split(","))):
        problem = f"{table.name} has no partition column {others[0]}" if others else f"'{columns}' names a column twice"
    else:
        try:
            earlier(length, 0)
        except DataError:
            problem = f"'{length}' is not a length of time"
    if problem:
        raise AnalysisError(f"{problem}.", condition="INVALID_RETENTION", object=key, hint=hint)
    return _RETAIN, text
