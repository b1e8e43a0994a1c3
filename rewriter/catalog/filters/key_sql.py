"""Fields of partition keys in SQL: the position and the bytes of a field, the same on SQLite and PostgreSQL.

A key is the table's prefix and then its fields (``catalog.keys.encoding``). A field of fixed width takes one byte if
it is NULL; a text ends at its first ``00``. So a position is a number, counted from 1, as long as the fields before it
have a known length, and otherwise an expression over the key. None of these expressions is ever NULL or fails, for
any bytes in the key. All compare bytes, as both databases do on BLOB and BYTEA.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from rewriter.catalog.keys.encoding import TABLE_WIDTH
from rewriter.lazy_dataclass import dataclass

Condition = sa.ColumnElement[bool]
_Bytes = sa.ColumnElement[bytes]
_Number = sa.ColumnElement[int]


class _Find(FunctionElement[int]):
    """``_Find(bytes, pattern)``: the first position of the pattern, counted from 1; 0 if it does not occur."""

    type = sa.Integer()
    inherit_cache = True


@compiles(_Find, "sqlite")
def _find_sqlite(element: _Find, compiler: Any, **options: Any) -> str:
    return f"instr({compiler.process(element.clauses, **options)})"


@compiles(_Find, "postgresql")
def _find_postgresql(element: _Find, compiler: Any, **options: Any) -> str:
    text, pattern = (compiler.process(clause, **options) for clause in element.clauses)
    return f"position({pattern} in {text})"


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
    """The contribution of a field of unknown length to a position: a number read from the key, multiplied."""

    length: _Number
    times: int = 1

    def added_to(self, position: _Number) -> _Number:
        return position + self.length if self.times == 1 else position - _number(-self.times) * self.length


@dataclass(frozen=True)
class KeyPosition:
    """A position in the key: ``offset``, counted from 1, plus the lengths of fields that only the key contains.

    ``reads`` is the number of reads of the key in the expression, which doubles with each field of unknown length.
    """

    key: _Bytes
    offset: int = TABLE_WIDTH + 1
    lengths: tuple[_Length, ...] = ()
    reads: int = 0

    def advanced_by(self, count: int) -> KeyPosition:
        """Returns the position ``count`` bytes later."""
        return KeyPosition(self.key, self.offset + count, self.lengths, self.reads)

    def after_field(self, width: int | None) -> KeyPosition:
        """Returns the position behind the field here: ``width`` bytes, or one for NULL; ``None``: a text."""
        if width is None:
            field, length = 0, _Length(find(self.tail, _Zero()))
        else:
            # The full width, minus the bytes that NULL, the only field that begins with 00, does not take.
            field, length = width, _Length(find(self.bytes(1), _Zero()), 1 - width)
        return KeyPosition(self.key, self.offset + field, (*self.lengths, length), 2 * self.reads + 1)

    @property
    def number(self) -> _Number:
        """The position as an expression."""
        position = _number(self.offset)
        for length in self.lengths:
            position = length.added_to(position)
        return position

    @property
    def tail(self) -> _Bytes:
        """The key from this position on."""
        return sa.func.substr(self.key, self.number, type_=sa.LargeBinary())

    def bytes(self, count: int) -> _Bytes:
        """Returns at most ``count`` bytes from this position on."""
        return sa.func.substr(self.key, self.number, _number(count), type_=sa.LargeBinary())

    @property
    def text_length(self) -> _Number:
        """The number of bytes of the rest of a text from this position on, including its final ``00``."""
        return find(self.tail, _Zero())


def find(text: _Bytes, pattern: bytes | _Zero) -> _Number:
    """Returns the first position of the pattern, counted from 1; 0 if it does not occur."""
    return _Find(text, sa.literal(pattern, sa.LargeBinary()) if isinstance(pattern, bytes) else pattern)


def begins_with(position: KeyPosition, stems: Sequence[bytes]) -> Condition:
    """Returns the condition that one of the byte strings, all of one length, is at the position."""
    field_start = position.bytes(len(stems[0]))
    return field_start == stems[0] if len(stems) == 1 else field_start.in_(stems)


def _number(number: int) -> _Number:
    """Returns a number of the key's layout, never of a value, as a literal."""
    return sa.literal_column(str(number), sa.Integer())
