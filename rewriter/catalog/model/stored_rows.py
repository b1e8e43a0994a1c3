"""Texts in the rows of partitions, as values. Another program may have written the catalog: invalid data raises
DAMAGED_CATALOG, with the name of the table or the key of the partition, and no error of Python's.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeVar

from rewriter.catalog.model.json_codec import damaged
from rewriter.catalog.model.objects import PackedPart, PartitionValues
from rewriter.catalog.model.origins import Origins, origins_of

if TYPE_CHECKING:
    from rewriter.errors import OperationalError

_Value = TypeVar("_Value")

#: The errors of reading bytes that are no key of their table.
KEY_ERRORS = (ValueError, IndexError, TypeError, OverflowError, struct.error)


def values_in(text: object, owner: str | bytes) -> PartitionValues:
    """Returns partition values. ``owner`` is the name of the table, or the key of the partition if that is unknown.

    Raises ``OperationalError`` DAMAGED_CATALOG for another text.
    """
    return _read(text, owner, _values)


def all_values_in(texts: Sequence[Any], keys: Sequence[bytes]) -> list[PartitionValues]:
    """Returns the values of many partitions, in a third of the time of ``values_in`` for each. Raises as that does."""
    try:
        value_lists = json.loads(f"[{','.join(texts)}]")
        if len(value_lists) == len(texts) and set(map(type, value_lists)) == {list}:
            check_types(chain.from_iterable(value_lists), str, NoneType)
            return list(map(tuple, value_lists))
    except (ValueError, TypeError, RecursionError):
        pass  # The partition that is damaged is named below.
    return list(map(values_in, texts, keys))


def properties_in(text: object, owner: str | bytes) -> dict[str, str]:
    """Returns the properties of a partition; NULL is none. Raises like ``values_in``."""
    return {} if text is None or text == "" else _read(text, owner, _properties)


def ids_in(text: object, owner: str | bytes) -> list[int]:
    """Returns the ids of the tables that a partition was computed from. Raises like ``values_in``."""
    return _read(text, owner, _ids)


def origins_in(text: object, owner: str | bytes) -> Origins:
    """Returns what a partition rests on; NULL is nothing. Raises like ``values_in``."""
    return () if text is None else _read(text, owner, _origins)


def part_in(text: object, path: str) -> PackedPart | None:
    """Returns the part of a packed file; NULL is none. Raises ``OperationalError`` DAMAGED_CATALOG for another text."""
    if text is None:
        return None
    try:
        return _part(json.loads(text))  # type: ignore[arg-type]
    except (ValueError, TypeError, RecursionError) as error:
        raise damaged(f"the file '{path}'", path, f"its part is damaged: {error}") from None


def all_parts_in(texts: Sequence[Any], paths: Sequence[str]) -> list[PackedPart | None]:
    """Returns the parts of many files, in a third of the time of ``part_in`` for each. Raises as that does."""
    if texts.count(None) == len(texts):
        return [None] * len(texts)
    try:
        values = json.loads(f"[{','.join(['null' if text is None else text for text in texts])}]")
        if len(values) == len(texts):
            return [value if value is None else _part(value) for value in values]
    except (ValueError, TypeError, RecursionError):
        pass  # The file that is damaged is named below.
    return list(map(part_in, texts, paths))


def _part(numbers: Any) -> PackedPart:
    """Returns a part from the value of its JSON. Raises ``ValueError`` and ``TypeError``."""
    first_row_group, row_groups, partitions, file_bytes, values, *positions = numbers
    types = {type(first_row_group), type(row_groups), type(partitions), type(file_bytes)}
    if types != {int} or first_row_group < 0 or row_groups < 1 or partitions < 1 or file_bytes < 1:
        raise ValueError("its numbers are wrong")
    position = positions[0] if positions else None
    if positions and (type(position) is not int or len(positions) > 1 or not 0 <= position < partitions):
        raise ValueError("its position is wrong")
    if type(values) is not list or not {str, NoneType}.issuperset(map(type, values)):
        raise ValueError("its values are wrong")
    return PackedPart(tuple(values), first_row_group, row_groups, partitions, file_bytes, position)


def stored_part(part: PackedPart | None) -> str | None:
    """Returns the text of a part that ``part_in`` reads."""
    if part is None:
        return None
    numbers = (part.first_row_group, part.row_groups, part.partitions, part.file_bytes)
    position = () if part.position is None else (part.position,)
    return json.dumps([*numbers, list(part.values), *position], ensure_ascii=False, separators=(",", ":"))


def check_values(rows: Sequence[object], width: int) -> None:
    """Raises ``ValueError`` if the JSON of many partitions has an item that is not ``width`` texts or NULLs."""
    if not set(map(type, rows)) <= {list} or not set(map(len, rows)) <= {width}:  # type: ignore[arg-type]
        raise ValueError(f"not {width} partition values")
    check_types(chain.from_iterable(rows), str, NoneType)  # type: ignore[arg-type]


def check_types(values: Any, *types: type) -> None:
    """Raises ``ValueError`` if one of the values has another type. Costs a few nanoseconds for each value."""
    wrong_types = set(map(type, values)) - set(types)
    if wrong_types:
        raise ValueError(f"a value of the type {min(wrong_type.__name__ for wrong_type in wrong_types)}")


def damaged_partition(owner: str | bytes, problem: object) -> OperationalError:
    """Returns DAMAGED_CATALOG for a partition of a table, or for one that only its key identifies."""
    if isinstance(owner, str):
        return damaged(f"a partition of the table '{owner}'", owner, str(problem))
    name = owner.hex() if isinstance(owner, bytes) else str(owner)
    return damaged(f"the partition with the key {name}", name, str(problem))


@contextmanager
def reading_key(key: bytes) -> Iterator[None]:
    """Converts the errors of reading an invalid key to DAMAGED_CATALOG."""
    try:
        yield
    except KEY_ERRORS as error:
        raise damaged_partition(key, f"{type(error).__name__}: {error}") from error


def _read(text: object, owner: str | bytes, read: Callable[[Any], _Value]) -> _Value:
    try:
        return read(json.loads(text))  # type: ignore[arg-type]
    except (ValueError, TypeError, RecursionError) as error:
        raise damaged_partition(owner, f"{type(error).__name__}: {error}") from error


def _values(data: object) -> PartitionValues:
    if not isinstance(data, list):
        raise ValueError("its values are not a list")
    check_types(data, str, NoneType)
    return tuple(data)


def _properties(data: object) -> dict[str, str]:
    if not isinstance(data, dict):
        raise ValueError("its properties are not an object")
    check_types(data.values(), str)
    return data


def _ids(data: object) -> list[int]:
    if not isinstance(data, list):
        raise ValueError("its sources are not a list")
    check_types(data, int)
    return data


def _origins(data: object) -> Origins:
    if not isinstance(data, list) or not all(isinstance(item, dict) and "kind" in item for item in data):
        raise ValueError("its origins are not a list of objects")
    return origins_of(data)
