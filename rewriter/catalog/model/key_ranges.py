"""Ranges of partition keys, and their arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rewriter.lazy_dataclass import dataclass


@dataclass(frozen=True, order=True)
class KeyRange:
    """The keys from ``start`` up to, but not including, ``end``. Empty if ``start >= end``."""

    start: bytes
    end: bytes

    def __contains__(self, key: object) -> bool:
        return isinstance(key, bytes) and self.start <= key < self.end

    def __and__(self, other: KeyRange) -> KeyRange:
        """Returns the keys that are in both."""
        return KeyRange(max(self.start, other.start), min(self.end, other.end))

    def overlaps(self, other: KeyRange) -> bool:
        """Returns True if a byte string is in both."""
        overlap = self & other
        return overlap.start < overlap.end

    @classmethod
    def of_key(cls, key: bytes) -> KeyRange:
        """Returns the range of one key alone: it contains no other byte string."""
        return cls(key, key + b"\x00")

    @property
    def is_one_key(self) -> bool:
        """True if it contains exactly one byte string."""
        return self.end == self.start + b"\x00"

    @classmethod
    def of_prefix(cls, prefix: bytes) -> KeyRange:
        """Returns the range of all keys that begin with ``prefix``."""
        return cls(prefix, successor(prefix))


def after(field: bytes) -> bytes:
    """Returns the least bytes above everything that begins with ``field``, in the same length.

    For a type of fixed width that is the next value. It cannot overflow: a field begins with ``00`` or ``01``.
    """
    return (int.from_bytes(field, "big") + 1).to_bytes(len(field), "big")


def successor(prefix: bytes) -> bytes:
    """Returns the least byte string above everything that begins with ``prefix``.

    Trailing ``ff`` carry into the byte before them, so nothing overflows; keys begin with ``01``, so there is always
    such a byte. Raises ``ValueError`` for bytes without it (empty, or nothing but ``ff``).
    """
    stem = prefix.rstrip(b"\xff")
    if not stem:
        raise ValueError("no byte string is greater than all those with this prefix")
    return stem[:-1] + bytes([stem[-1] + 1])


def merge_ranges(ranges: Iterable[KeyRange]) -> tuple[KeyRange, ...]:
    """Returns the same keys as sorted ranges that neither overlap nor touch, without empty ones. O(n log n)."""
    out: list[KeyRange] = []
    for current in sorted(ranges):
        if current.start >= current.end:
            continue
        if out and current.start <= out[-1].end:
            if current.end > out[-1].end:
                out[-1] = KeyRange(out[-1].start, current.end)
        else:
            out.append(current)
    return tuple(out)


def outside(keys: Iterable[bytes], ranges: Sequence[KeyRange]) -> list[bytes]:
    """Returns the keys, given in order, that are in none of the merged ranges. O(keys + ranges).

    >>> outside([b"a", b"b", b"c"], [KeyRange(b"b", b"c")])
    [b'a', b'c']
    """
    index, outer_keys = 0, []
    for key in keys:
        while index < len(ranges) and ranges[index].end <= key:
            index += 1
        if index == len(ranges) or key < ranges[index].start:
            outer_keys.append(key)
    return outer_keys


def without(ranges: Iterable[KeyRange], removed: Sequence[KeyRange]) -> list[KeyRange]:
    """Returns what is left of ranges without merged ones.

    >>> without([KeyRange(b"a", b"d")], [KeyRange(b"b", b"c")])
    [KeyRange(start=b'a', end=b'b'), KeyRange(start=b'c', end=b'd')]
    """
    remaining = []
    for key_range in ranges:
        start = key_range.start
        for gap in removed:
            if gap.overlaps(key_range):
                if start < gap.start:
                    remaining.append(KeyRange(start, gap.start))
                start = max(start, gap.end)
        if start < key_range.end:
            remaining.append(KeyRange(start, key_range.end))
    return remaining
