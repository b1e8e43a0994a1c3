"""Names in order, for look-up by prefix and by fuzzy matches."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import lru_cache


class SortedNames:
    """Names without duplicates, sorted without case. Immutable. Building is O(n log n), in the size of the names."""

    def __init__(self, names: Iterable[str]) -> None:
        by_key: dict[str, str] = {}
        for name in names:
            if "\n" not in name:
                by_key.setdefault(name.lower(), name)
        self._keys = sorted(by_key)
        self._names = [by_key[key] for key in self._keys]
        self._text = "\n".join(self._keys)
        self._starts: list[int] | None = None

    def edited(self, removed: Iterable[str], added: Iterable[str]) -> SortedNames:
        """Returns the names without some and with others. A copy, and O(log n) for each of them."""
        edited = SortedNames(())
        keys, names = edited._keys, edited._names = list(self._keys), list(self._names)
        for name in removed:
            place = bisect_left(keys, name.lower())
            if place < len(keys) and keys[place] == name.lower():
                del keys[place], names[place]
        for name in added:
            place = bisect_left(keys, name.lower())
            if "\n" not in name and not (place < len(keys) and keys[place] == name.lower()):
                keys.insert(place, name.lower())
                names.insert(place, name)
        edited._text = "\n".join(keys)
        return edited

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def starting_with(self, prefix: str, limit: int) -> list[str]:
        """Returns the first names that begin with the prefix, in any case. O(log n + limit).

        >>> SortedNames(["Orders", "order_items", "users"]).starting_with("ord", 10)
        ['order_items', 'Orders']
        """
        key = prefix.lower()
        first = bisect_left(self._keys, key)
        last = first
        while last < len(self._keys) and last - first < limit and self._keys[last].startswith(key):
            last += 1
        return self._names[first:last]

    def fuzzy(self, letters: str, limit: int) -> list[str]:
        """Returns names that contain the letters in this order, in any case. One pass of a pattern over all names.

        >>> SortedNames(["daily_orders", "users"]).fuzzy("dord", 10)
        ['daily_orders']
        """
        matches: list[str] = []
        if not letters or "\n" in letters:
            return matches
        starts = self._line_starts()
        position = 0
        pattern = _subsequence(letters.lower())
        while len(matches) < limit and (hit := pattern.search(self._text, position)) is not None:
            line = bisect_left(starts, hit.start() + 1) - 1
            matches.append(self._names[line])
            if line + 1 == len(starts):
                break
            position = starts[line + 1]
        return matches

    def _line_starts(self) -> list[int]:
        if self._starts is None:
            starts, position = [], 0
            for key in self._keys:
                starts.append(position)
                position += len(key) + 1
            self._starts = starts
        return self._starts


@lru_cache(maxsize=16)
def _subsequence(letters: str) -> re.Pattern[str]:
    """Returns the pattern of a line that has the letters in this order. It never steps back."""
    first, *others = [re.escape(letter) for letter in letters]
    return re.compile(first + "".join(rf"[^\n{letter}]*+{letter}" for letter in others))


EMPTY = SortedNames(())
