"""Fields of partition keys in SQL: where a field begins, and what bytes it holds, the same on SQLite and PostgreSQL.

A key is the table's prefix and then its fields (``catalog.keys``): a field of fixed width takes one byte where it is
NULL, a text ends at its first ``00``. So a place is a number, counted from 1, as far as the fields before it are known
to have one length, and beyond that an expression over the key. None of these expressions is ever NULL or fails,
whatever bytes the key holds; all compare bytes, as both databases do on BLOB and BYTEA.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from rewriter.catalog.keys import TABLE_WIDTH

Condition = sa.ColumnElement[bool]
_Bytes = sa.ColumnElement[bytes]
_Number = sa.ColumnElement[int]


class _Find(FunctionElement[int]):
    """``_Find(bytes, wanted)``: where the wanted bytes stand first, counted from 1; 0 where they stand nowhere."""

    type = sa.Integer()
    inherit_cache = True


@compiles(_Find, "sqlite")
def _find_sqlite(element: _Find, compiler: Any, **options: Any) -> str:
    return f"instr({compiler.process(element.clauses, **options)})"


@compiles(_Find, "postgresql")
def _find_postgresql(element: _Find, compiler: Any, **options: Any) -> str:
    text, wanted = (compiler.process(one, **options) for one in element.clauses)
    return f"position({wanted} in {text})"


class _Zero(FunctionElement[bytes]):
    """The byte ``00``."""

    type = sa.LargeBinary()
    inherit_cache = True


@compiles(_Zero, "sqlite")
def _zero_sqlite(element: _Zero, compiler: Any, **options: Any) -> str:
    return "x'00'"


@compiles(_Zero, "postgresql")
def _zero_postgresql(element: _Zero, compiler: Any, **options: Any) -> str:
    return "'\\x00'::bytea"


@dataclass(frozen=True)
class _Length:
    """What a field of unknown length adds to a place: a number found in the key, so many times."""

    found: _Number
    times: int = 1

    def added_to(self, place: _Number) -> _Number:
        return place + self.found if self.times == 1 else place - _number(-self.times) * self.found


@dataclass(frozen=True)
class Place:
    """A place in the key: ``offset``, counted from 1, and what the lengths of fields that only the key tells add to it.

    ``reads`` is how often the expression reads the key, which doubles with each field of unknown length.
    """

    key: _Bytes
    offset: int = TABLE_WIDTH + 1
    lengths: tuple[_Length, ...] = ()
    reads: int = 0

    def behind(self, count: int) -> Place:
        """So many bytes further on."""
        return Place(self.key, self.offset + count, self.lengths, self.reads)

    def behind_field(self, width: int | None) -> Place:
        """Behind the field that begins here: of ``width`` bytes or, where it is NULL, one; ``None`` is a text."""
        if width is None:
            field, length = 0, _Length(find(self.tail, _Zero()))
        else:
            # All of the width, less what NULL, the one field whose first byte is 00, does not take.
            field, length = width, _Length(find(self.bytes(1), _Zero()), 1 - width)
        return Place(self.key, self.offset + field, (*self.lengths, length), 2 * self.reads + 1)

    @property
    def number(self) -> _Number:
        """The place itself."""
        place = _number(self.offset)
        for length in self.lengths:
            place = length.added_to(place)
        return place

    @property
    def tail(self) -> _Bytes:
        """The key from here on."""
        return sa.func.substr(self.key, self.number, type_=sa.LargeBinary())

    def bytes(self, count: int) -> _Bytes:
        """At most so many bytes from here on."""
        return sa.func.substr(self.key, self.number, _number(count), type_=sa.LargeBinary())

    @property
    def text_length(self) -> _Number:
        """How many bytes the rest of a text takes from here on, its ending ``00`` among them."""
        return find(self.tail, _Zero())


def find(text: _Bytes, wanted: bytes | _Zero) -> _Number:
    """Where the wanted bytes stand first, counted from 1; 0 where they stand nowhere."""
    return _Find(text, sa.literal(wanted, sa.LargeBinary()) if isinstance(wanted, bytes) else wanted)


def begins_with(place: Place, stems: Sequence[bytes]) -> Condition:
    """One of the byte strings, all of one length, stands at the place."""
    found = place.bytes(len(stems[0]))
    return found == stems[0] if len(stems) == 1 else found.in_(stems)


def _number(number: int) -> _Number:
    """A number of the key's layout, never of a value."""
    return sa.literal_column(str(number), sa.Integer())
