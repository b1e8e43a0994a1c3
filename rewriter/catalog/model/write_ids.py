"""The transactions and write ids that a reader sees (seed 001).

Every table, cube and fact has an increasing sequence of write ids, one for each transaction that writes it. A reader
carries a ``ValidWriteIdList``: all ids up to the high-water mark, except the open and the aborted ids below it.
"""

from __future__ import annotations

import re
from functools import cached_property

from rewriter.errors import DataError
from rewriter.lazy_dataclass import dataclass

_TEXT = re.compile(r"(?P<table>.+):(?P<hwm>[0-9]+):(?P<min>[0-9]+):(?P<open>[0-9,]*):(?P<aborted>[0-9,]*)", re.DOTALL)

_TRANSACTIONS = re.compile(r"(?P<hwm>[0-9]+):(?P<min>[0-9]+):(?P<open>[0-9,]*)")


@dataclass(frozen=True)
class ValidTxnList:
    """The transactions that a snapshot may see: those up to ``high_water_mark`` that were not open then."""

    high_water_mark: int
    open: frozenset[int]

    def may_see(self, transaction: int) -> bool:
        """Returns True if the transaction had ended by then; it is seen if it ended by committing."""
        return transaction <= self.high_water_mark and transaction not in self.open

    @property
    def min_open(self) -> int:
        """The least open transaction; one above the high-water mark if none is open."""
        return min(self.open, default=self.high_water_mark + 1)

    def __str__(self) -> str:
        """``<hwm>:<minOpen>:<open,…>``, ids ascending. Each table's own list contains the aborted ones."""
        return f"{self.high_water_mark}:{self.min_open}:{','.join(map(str, sorted(self.open)))}"

    @classmethod
    def parse(cls, text: str) -> ValidTxnList:
        """Returns the list of this text. Raises ``DataError`` INVALID_TRANSACTION_LIST for any other text."""
        match = _TRANSACTIONS.fullmatch(text)
        if match is not None:
            read = cls(int(match["hwm"]), frozenset(map(int, filter(None, match["open"].split(",")))))
            if str(read) == text and all(0 < transaction <= read.high_water_mark for transaction in read.open):
                return read
        raise DataError(
            f"'{text}' is not a list of valid transactions",
            condition="INVALID_TRANSACTION_LIST",
            hint="Its form is <high-water mark>:<least open>:<open,…>.",
        )


@dataclass(frozen=True)
class ValidWriteIdList:
    """The write ids of one table that a reader sees. ``open`` and ``aborted`` are below the high-water mark."""

    table: str
    high_water_mark: int
    open: frozenset[int] = frozenset()
    aborted: frozenset[int] = frozenset()

    @cached_property
    def invalid(self) -> frozenset[int]:
        """The ids up to the high-water mark that are not seen.

        A row that another id up to the mark made (or ended) is made (or ended) for the reader.
        """
        return self.open | self.aborted

    @cached_property
    def count(self) -> int:
        """The number of valid ids. The larger of two lists of one table from snapshots sees all ids of both."""
        return self.high_water_mark - len(self.invalid)

    @property
    def min_open(self) -> int:
        """The least open id; one above the high-water mark if none is open below it."""
        return min(self.open, default=self.high_water_mark + 1)

    def __str__(self) -> str:
        """``<table>:<hwm>:<minOpen>:<open,…>:<aborted,…>``, ids ascending."""
        lists = (",".join(map(str, sorted(ids))) for ids in (self.open, self.aborted))
        return ":".join((self.table, str(self.high_water_mark), str(self.min_open), *lists))

    @classmethod
    def parse(cls, text: str) -> ValidWriteIdList:
        """Returns the list of this text. Raises ``DataError`` INVALID_WRITE_ID_LIST for any other text."""
        match = _TEXT.fullmatch(text)
        try:
            if match is not None:
                ids = [frozenset(map(int, filter(None, match[name].split(",")))) for name in ("open", "aborted")]
                read = cls(match["table"], int(match["hwm"]), *ids)
                if str(read) == text and all(0 < write_id <= read.high_water_mark for write_id in read.invalid):
                    return read
        except ValueError:
            pass
        raise DataError(
            f"'{text}' is not a list of valid write ids",
            condition="INVALID_WRITE_ID_LIST",
            hint="Its form is <table>:<high-water mark>:<least open>:<open,…>:<aborted,…>.",
        )


def equivalent(a: ValidWriteIdList, b: ValidWriteIdList) -> bool:
    """Returns True if both see exactly the same writes: no id committed between them. O(open and aborted ids).

    Ids above one high-water mark must all be invalid in the other list; below both, the invalid ids must agree.
    """
    if a.table != b.table:
        return False
    low, high = sorted((a, b), key=lambda ids: ids.high_water_mark)
    newer_ids = [write_id for write_id in high.invalid if write_id > low.high_water_mark]
    if len(newer_ids) != high.high_water_mark - low.high_water_mark:
        return False
    return low.invalid == high.invalid - set(newer_ids)
