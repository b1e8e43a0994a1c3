"""``executemany`` of INSERT … VALUES: the rows of all sets of parameters as one write.

The rows become a Parquet file, and the statement an INSERT … SELECT of it, so that a value is assigned to its column as
the value of a single INSERT is. Values of one placeholder that have different types (an ``int`` and a ``str``) must not
meet in one column: they would get a common type first. Such rows are separate files and INSERTs, in one transaction.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rewriter.errors import Error, NotSupportedError, Span
from rewriter.grammar.families.writes import Insert
from rewriter.grammar.lexer import Token, TokenKind, tokens
from rewriter.grammar.parser import parse
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.parameters import bind, parameter_value
from rewriter.scratch_directories import ScratchDirectory

if TYPE_CHECKING:
    import pyarrow as pa

    from rewriter.runtime.result import Result
    from rewriter.session import Session

#: Characters of a directory that a path in a query cannot have.
_PATTERN = re.compile(r"[*?\[\]{}`\\]")
_LARGEST_INT = 2**31 - 1
_MOST_DIGITS = 38

#: The types of a row's values; ``None`` for NULL, and the scale for decimals.
_Signature = tuple[object, ...]


@dataclass(frozen=True)
class BatchedInsert:
    """An INSERT of many rows. ``head`` is the statement's text up to VALUES, and ``groups`` have rows of equal types.

    ``cells`` are the cells of VALUES: the text of a literal, or the number of a placeholder.
    """

    text: str
    head: str
    cells: tuple[str | int, ...]
    groups: tuple[Sequence[Sequence[object]], ...]

    def run(self, session: Session) -> tuple[Result, int]:
        """Inserts the rows with one commit. Returns the last result, and the number of rows."""
        spooled = ScratchDirectory("executemany")
        try:
            statements = [
                self._statement(os.path.join(spooled.path, f"{number}.parquet"), rows)
                for number, rows in enumerate(self.groups)
            ]
            results = self._run_all(session, statements)
        finally:
            spooled.remove()
        counts = [result.rowcount for result in results]
        return results[-1], -1 if -1 in counts else sum(counts)

    def _run_all(self, session: Session, statements: Sequence[str]) -> list[Result]:
        if len(statements) == 1 or session.in_transaction or not session.autocommit:
            return [self._execute(session, statement) for statement in statements]
        session.execute("START TRANSACTION")
        try:
            results = [self._execute(session, statement) for statement in statements]
        except NotSupportedError as error:
            session.execute("ROLLBACK")
            if error.condition != "NOT_IN_TRANSACTION":
                raise
            return [self._execute(session, statement) for statement in statements]
        except BaseException:
            session.execute("ROLLBACK")
            raise
        session.execute("COMMIT")
        return results

    def _execute(self, session: Session, statement: str) -> Result:
        try:
            return session.execute(statement)
        except Error as error:
            if error.position is not None and error.position.end > len(self.head):
                error.position = Span(len(self.head), len(self.text))
            raise

    def _statement(self, path: str, rows: Sequence[Sequence[object]]) -> str:
        """Writes the rows into a file, and returns the INSERT of them."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        arrays = {f"v{index}": _array(column) for index, column in enumerate(zip(*rows, strict=True))}
        filled = {name: array for name, array in arrays.items() if array is not None}
        # A column for the number of rows, where all values are NULL.
        filled["n"] = pa.nulls(len(rows), pa.bool_())
        pq.write_table(pa.table(filled), path)
        items = [
            cell if isinstance(cell, str) else f"v{cell}" if f"v{cell}" in filled else "NULL" for cell in self.cells
        ]
        return f"{self.head}SELECT {', '.join(items)} FROM parquet.`{path}`"


def batched_insert(text: str, sets: Sequence[Sequence[object] | Mapping[str, object]]) -> BatchedInsert | None:
    """Returns the one INSERT of all sets of parameters; ``None`` for a statement that has to run once for each.

    Only ``INSERT INTO … VALUES (…)`` of one row of placeholders and literals can be one write. INSERT OVERWRITE means
    something else then. Raises the errors of ``bind`` and of the parser.
    """
    first = bind(text, sets[0])
    if _PATTERN.search(os.path.realpath(os.environ.get("TMPDIR", ""))):
        return None
    statement = parse(first.text)
    if not isinstance(statement, Insert) or statement.overwrite:
        return None
    start = statement.query.span.start
    marks = [token for token in tokens(text) if token.kind is TokenKind.PARAMETER]
    if not marks or marks[0].start < start:
        return None
    cells = _cells([token for token in tokens(text) if token.start >= start])
    if cells is None:
        return None
    rows = [_values(text, marks, parameters) for parameters in sets]
    groups = tuple(_grouped(rows))
    if any(_digits(column) > _MOST_DIGITS for group in groups for column in zip(*group, strict=True)):
        return None
    return BatchedInsert(text, text[:start], tuple(cells), groups)


def _cells(values: Sequence[Token]) -> list[str | int] | None:
    """Returns the cells of ``VALUES (…)``; ``None`` where they are more rows, or expressions."""
    if values and values[-1].is_operator(";"):
        values = values[:-1]
    if len(values) < 4 or not values[0].is_word("VALUES"):
        return None
    if not values[1].is_operator("(") or not values[-1].is_operator(")"):
        return None
    cells: list[str | int] = []
    placeholders = 0
    inner = [*values[2:-1], Token(TokenKind.OPERATOR, ",", 0, 0)]
    cell: list[Token] = []
    for token in inner:
        if not token.is_operator(","):
            cell.append(token)
            continue
        if len(cell) == 1 and cell[0].kind is TokenKind.PARAMETER:
            cells.append(placeholders)
            placeholders += 1
        elif _is_literal(cell):
            cells.append("".join(part.text for part in cell))
        else:
            return None
        cell = []
    return cells


def _is_literal(cell: Sequence[Token]) -> bool:
    if len(cell) == 2 and cell[0].is_operator("-"):
        return cell[1].kind is TokenKind.NUMBER
    return len(cell) == 1 and (
        cell[0].kind in (TokenKind.STRING, TokenKind.NUMBER) or cell[0].is_word("NULL", "TRUE", "FALSE")
    )


def _values(text: str, marks: Sequence[Token], parameters: Sequence[object] | Mapping[str, object]) -> list[object]:
    """Returns a set's values in the order of the placeholders."""
    is_fitting = (
        all(mark.text[1:] in parameters for mark in marks)
        if isinstance(parameters, Mapping)
        else isinstance(parameters, list | tuple) and len(parameters) == len(marks)
    )
    if not is_fitting or isinstance(parameters, Mapping) != (marks[0].text != "?"):
        bound = bind(text, parameters)  # Raises, or has another kind of sequence.
        return list(bound.parameters.values())
    values = [parameters[mark.text[1:]] for mark in marks] if isinstance(parameters, Mapping) else parameters
    return [parameter_value(value, mark.span) for value, mark in zip(values, marks, strict=True)]


def _grouped(rows: Sequence[Sequence[object]]) -> Iterable[Sequence[Sequence[object]]]:
    """Returns the rows by their types: one group if no column has two."""
    signatures = [tuple(map(_type_of, row)) for row in rows]
    types = [set(column) - {None} for column in zip(*set(signatures), strict=True)]
    if all(len(column) < 2 for column in types):
        return [rows]
    groups: dict[_Signature, list[Sequence[object]]] = {}
    for signature, row in zip(signatures, rows, strict=True):
        groups.setdefault(signature, []).append(row)
    return groups.values()


def _type_of(value: object) -> object:
    if value is None:
        return None
    return ("decimal", _scale(value)) if isinstance(value, Decimal) else type(value)


def _scale(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    return max(-exponent, 0) if isinstance(exponent, int) else 0


def _digits(column: Sequence[object]) -> int:
    """Returns the digits that a column of decimals needs; 0 for other columns."""
    decimals = [value for value in column if isinstance(value, Decimal)]
    return max((max(value.adjusted() + 1, 1) + _scale(value) for value in decimals), default=0)


def _array(column: Sequence[Any]) -> pa.Array | None:
    """Returns the values of one type as an array; ``None`` where all are NULL."""
    import pyarrow as pa

    first = next((value for value in column if value is not None), None)
    if first is None:
        return None
    if isinstance(first, Decimal):
        return pa.array(column, pa.decimal128(_digits(column), _scale(first)))
    if type(first) is int:
        fits = all(value is None or -_LARGEST_INT - 1 <= value <= _LARGEST_INT for value in column)
        return pa.array(column, pa.int32() if fits else pa.int64())
    types = {bool: pa.bool_(), float: pa.float64(), str: pa.string()}
    if type(first) in types:
        return pa.array(column, types[type(first)])
    return pa.array(column, pa.timestamp("us", "UTC") if hasattr(first, "hour") else pa.date32())
