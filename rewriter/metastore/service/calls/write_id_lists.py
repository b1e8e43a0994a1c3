"""Lists of write ids as Hive's clients write them: with the name of the table in front.

The catalog's own lists have the table's id there: a table that was dropped and created anew has another one.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from rewriter.catalog.model.objects import DEFAULT_DATABASE, Table, full_name, parts_of
from rewriter.catalog.model.write_ids import ValidWriteIdList
from rewriter.errors import DataError
from rewriter.metastore.service.calls.names import database_name

#: What Hive writes as the least open id if none is open: the greatest number that it has.
_NONE_OPEN = (1 << 63) - 1

# ``ValidReaderWriteIdList`` reads texts that end after the high-water mark, or after a later part, too.
_HIVE = re.compile(
    r"(?P<name>[^:]+):(?P<hwm>[0-9]{1,19})(?::(?P<min>[0-9]{1,19})(?::(?P<open>[0-9,]*)(?::(?P<aborted>[0-9,]*))?)?)?"
)


def is_of_catalog(text: str) -> bool:
    """Returns whether a list has a table's id in front. Names of tables do not: they have a database."""
    first = text.partition(":")[0]
    return first.isascii() and first.isdigit()


def _hive_name(table: Table) -> str:
    """Returns the name of a table as lists of Hive have it: ``database.table``, in lower case."""
    return ".".join(parts_of(table.name)).lower()


def catalog_list(text: str, table: Table, held: Collection[int] = ()) -> str:
    """Returns a list of Hive's form for a table as the catalog writes it.

    ``held`` are write ids of open transactions: a writer's list has its own one as the high-water mark (seed 001). Here
    it is open. Nothing was written under it yet, so the list shows the same. Raises ``DataError`` INVALID_WRITE_ID_LIST
    for any other text, and for the list of another table.
    """
    match = _HIVE.fullmatch(text)
    if match is None:
        raise _invalid(text, table)
    if _full_name(match["name"]) != _full_name(_hive_name(table)):
        raise DataError(
            f"'{text}' is a list of write ids of {match['name']}, not of {table.name}",
            condition="INVALID_WRITE_ID_LIST",
            object=table.name,
            hint="Pass the list that get_valid_write_ids returns for this table.",
        )
    mark = int(match["hwm"])
    open_ids, aborted = _ids(match["open"]), _ids(match["aborted"])
    if open_ids is None or aborted is None or open_ids & aborted or mark > _NONE_OPEN:
        raise _invalid(text, table)
    if any(not 0 < id <= _NONE_OPEN for id in open_ids | aborted):
        raise _invalid(text, table)
    least = int(match["min"] or _NONE_OPEN)
    if least != _NONE_OPEN and (least != min(open_ids) if open_ids else least <= mark):
        raise _invalid(text, table)
    # Hive ignores ids above the mark: they are not seen anyway.
    own = {id for id in held if id <= mark} - aborted
    seen_open = frozenset(id for id in open_ids | own if id <= mark)
    return str(ValidWriteIdList(str(table.id), mark, seen_open, frozenset(id for id in aborted if id <= mark)))


def _ids(text: str | None) -> frozenset[int] | None:
    """Returns the ids of a list, ascending and each once; ``None`` for any other text."""
    if not text:
        return frozenset()
    numbers = text.split(",")
    if not all(0 < len(number) <= len(str(_NONE_OPEN)) for number in numbers):
        return None
    ids = list(map(int, numbers))
    return frozenset(ids) if ids == sorted(set(ids)) else None


def _full_name(name: str) -> str:
    database, dot, table = name.partition(".")
    return full_name(database_name(database), table).lower() if dot else full_name(DEFAULT_DATABASE, name).lower()


def _invalid(text: str, table: Table) -> DataError:
    return DataError(
        f"'{text}' is not a list of write ids of {table.name}",
        condition="INVALID_WRITE_ID_LIST",
        object=table.name,
        hint="Its form is <database>.<table>:<high-water mark>:<least open>:<open,…>:<aborted,…>.",
    )
