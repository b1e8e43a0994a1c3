"""Conflicts of operations: the claims of a transaction, compared with the changes of commits that it did not see."""

from __future__ import annotations

from typing import NamedTuple

from .operations import Operation

_FIRST, _LAST = "", "\U0010ffff"
_WRITES = ("into", "overwrite", "wipe")
_MOVES = ("rename_partition", "exchange")


class Claim(NamedTuple):
    """Values ``[low, high)`` of a table."""

    table: int
    low: str
    high: str
    exclusive: bool


def meets(mine: Operation, other: Operation) -> bool:
    """Returns True if ``mine`` must not commit after ``other`` has committed since its snapshot."""
    if mine.kind == "refresh" or other.kind in ("refresh", "create_table", "set_property"):
        return False
    if other.kind == "drop_table":
        return other.table in (mine.table, mine.source)
    if other.kind == "add_column" and other.table in (mine.table, mine.source):
        return mine.kind in (*_WRITES, *_MOVES, "add_column")
    if other.kind == "rename_table" and other.table == mine.table and mine.kind == "rename_table":
        return True
    return any(
        claim.table == another.table
        and claim.low < another.high
        and another.low < claim.high
        and (claim.exclusive or another.exclusive)
        for claim in _checked(mine)
        for another in _left(other)
    )


def want_one_name(mine: Operation, other: Operation) -> bool:
    """Returns True if both give an object the same name. The second commits only if the name is free again by then."""
    names = [operation.goal if operation.kind == "rename_table" else operation.name for operation in (mine, other)]
    return names[0] == names[1] and all(
        operation.kind in ("create_table", "rename_table") for operation in (mine, other)
    )


def _whole(table: int) -> Claim:
    return Claim(table, _FIRST, _LAST, True)


def _checked(operation: Operation) -> list[Claim]:
    if operation.kind in ("drop_table", "add_column"):
        return [_whole(operation.table)]
    return _of_partitions(operation)


def _left(operation: Operation) -> list[Claim]:
    """Returns what a commit leaves to judge later commits by. A new column shows in the table itself."""
    if operation.kind == "rename_table":
        return [_whole(operation.table)]
    return _of_partitions(operation)


def _of_partitions(operation: Operation) -> list[Claim]:
    kind, table = operation.kind, operation.table
    claims = [Claim(table, value, f"{value}\0", kind != "into") for value in operation.values]
    if operation.bounds is not None:
        claims.append(Claim(table, *operation.bounds, True))
    if kind == "rename_partition":
        claims.append(Claim(table, operation.goal, f"{operation.goal}\0", True))
    if kind == "exchange":
        claims += [claim._replace(table=operation.source) for claim in claims]
    return claims
