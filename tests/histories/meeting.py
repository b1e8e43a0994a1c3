"""Which commits of others keep a transaction from committing: what it claims, against what they leave behind."""

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
    """Whether ``mine`` must not commit where ``other`` has committed since its snapshot."""
    if mine.kind == "refresh" or other.kind in ("refresh", "create_table", "set_property"):
        return False
    if other.kind == "drop_table":
        return other.table in (mine.table, mine.other)
    if other.kind == "add_column" and other.table in (mine.table, mine.other):
        return mine.kind in (*_WRITES, *_MOVES, "add_column")
    if other.kind == "rename_table" and other.table == mine.table and mine.kind == "rename_table":
        return True
    return any(
        one.table == two.table and one.low < two.high and two.low < one.high and (one.exclusive or two.exclusive)
        for one in _checked(mine)
        for two in _left(other)
    )


def want_one_name(mine: Operation, other: Operation) -> bool:
    """Whether both give an object the same name; who comes second commits only if it is free again by then."""
    names = [one.goal if one.kind == "rename_table" else one.name for one in (mine, other)]
    return names[0] == names[1] and all(one.kind in ("create_table", "rename_table") for one in (mine, other))


def _whole(table: int) -> Claim:
    return Claim(table, _FIRST, _LAST, True)


def _checked(operation: Operation) -> list[Claim]:
    if operation.kind in ("drop_table", "add_column"):
        return [_whole(operation.table)]
    return _of_partitions(operation)


def _left(operation: Operation) -> list[Claim]:
    """The basis for judging later commits. The table itself shows a new column."""
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
        claims += [claim._replace(table=operation.other) for claim in claims]
    return claims
