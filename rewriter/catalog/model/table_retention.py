"""The property ``rewriter.retain``: how long MAINTAIN TABLE keeps the partitions of a table that no fact has."""

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
    """``length`` is how long partitions stay, such as '90 days'. ``columns`` are the partition columns that name their
    time, in lower case; empty if the property names none.
    """

    length: str
    columns: tuple[str, ...] = ()

    @classmethod
    def read(cls, text: str) -> Retention:
        """Returns the retention in a value of the property, such as '90 days by year, month'."""
        length, _, columns = " ".join(text.lower().split()).partition(" by ")
        return cls(length, tuple(name.strip() for name in columns.split(",")) if columns else ())


def retention_of(table: Table) -> Retention | None:
    """Returns the retention that a table's property declares; ``None`` if partitions stay for ever."""
    text = table.properties.get(_RETAIN)
    return None if text is None else Retention.read(text)


def is_about_retention(key: str) -> bool:
    """Returns whether a property is ``_RETAIN``, in any case."""
    return key.lower() == _RETAIN


def checked_retention(key: str, value: str, table: Table, fact: Fact | None) -> tuple[str, str]:
    """Returns the property in its canonical spelling. ``fact`` is the one that the table belongs to.

    Raises ``AnalysisError`` INVALID_RETENTION for a value that is no length of time, for a table without partitions and
    for a table of a fact; the hint has the statement for it.
    """
    retention, problem = Retention.read(value), ""
    own = {column.name.lower() for column in table.partition_columns}
    others = [name for name in retention.columns if name not in own]
    named = ", ".join(retention.columns)
    hint = "Write a number and a unit, such as '90 days' or '2 years'; '90 days by d' where several columns name times."
    if fact is not None:
        problem = f"{table.name} is a table of the fact {fact.name}"
        length = retention.length.upper()
        hint = f"ALTER FACT {fact.name} TABLE {table.name} SET RETAIN {length} keeps the results of its cube."
    elif not table.partition_columns:
        problem, hint = f"{table.name} has no partitions", "Partition the table by the day of its rows."
    elif others:
        problem = f"{table.name} has no partition column {others[0]}"
    elif len(set(retention.columns)) < len(retention.columns):
        problem = f"'{named}' names a column twice"
    else:
        try:
            earlier(retention.length, 0)
        except DataError:
            problem = f"'{retention.length}' is not a length of time"
    if problem:
        raise AnalysisError(f"{problem}.", condition="INVALID_RETENTION", object=key, hint=hint)
    return _RETAIN, f"{retention.length} by {named}" if named else retention.length
