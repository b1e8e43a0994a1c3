"""Store assignment: the values that an INSERT may put into a column, the same on both engines.

The rules are the rules of Spark's ANSI policy: number to number, anything to a string, date to timestamp and back;
never a string to another type. They are stricter in one respect: a value that would be rounded or cut (1.5 into INT, a
time of day into DATE, 0.125 into DECIMAL(5,2)) is a ``DataError``, whereas Spark silently stores another value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rewriter.errors import EngineError, NotSupportedError
from rewriter.exec.sql_types import BINARY, DATE, INTEGERS, STRING, TIMESTAMP, VOID, SqlType, duckdb_type, parse_type
from rewriter.exec.translate.casts import as_decimal, cast, string_literal
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column

#: Decimals of more digits do not survive a conversion to double and back.
_EXACT_DIGITS = 15


@dataclass(frozen=True)
class Dialect:
    """The words in which the engines differ."""

    type_name: Callable[[SqlType], str]
    error: str
    literal: Callable[[str], str]
    string_type: str


def _spark_literal(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


SPARK = Dialect(str, "raise_error", _spark_literal, "STRING")
DUCKDB = Dialect(duckdb_type, "error", string_literal, "VARCHAR")


def assign(sql: str, source_type: str, column: Column, dialect: Dialect) -> str:
    """Returns SQL that puts ``sql``, of the type ``source_type`` (Spark's spelling), into the column.

    Raises ``EngineError`` INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST for types. For values, the SQL fails when it
    runs. Nested types are assigned to types with the same fields that hold all their values, BINARY only to itself.
    """
    if not is_assignable(source_type, column.type):
        raise _incompatible(source_type, column)
    source, target = _parsed(source_type), _parsed(column.type)
    if dialect is DUCKDB and target is not None and target.is_nested:
        # DuckDB's own casts find fields by their names, with their letters as they are.
        nested = None if source is None else cast(sql, source, target)
        if nested is None:
            raise _unsupported(f"Writing {source_type} into {column.name}", column)
        return nested
    if dialect is DUCKDB and source is None and source_type.startswith("interval"):
        raise _unsupported(f"Writing {source_type} into {column.name}", column)
    if source is None or target is None or target.is_nested:
        # The fields get the declared names, by which files are read, and may be NULL: those of a literal are not.
        is_same = source_type == column.type and "struct" not in column.type
        return sql if is_same else f"CAST({sql} AS {column.type})"
    converted = _converted(sql, source, target, column, dialect)
    if target.length is None:
        return converted
    return _fitted(converted, target, column, dialect)


def is_assignable(source_type: str, target_type: str) -> bool:
    """Tests whether values of one type (Spark's spelling) may be put into a column of another. Nested types are
    assigned to types with the same fields that hold all their values, BINARY only to itself.

    >>> is_assignable("array<int>", "array<bigint>"), is_assignable("array<bigint>", "array<int>")
    (True, False)
    """
    source, target = _parsed(source_type), _parsed(target_type)
    if source is None or target is None:
        return source_type == "void" or _without_blanks(source_type) == _without_blanks(target_type)
    if target.is_nested:
        return _holds_all(target, source)
    if source == VOID or source.name == target.name:
        return True
    if target.name == "string":
        return source != BINARY and not source.is_nested
    return (source.is_numeric and target.is_numeric) or (source.is_datetime and target.is_datetime)


def _parsed(type_name: str) -> SqlType | None:
    try:
        return parse_type(type_name)
    except NotSupportedError:
        return None


def _holds_all(target: SqlType, source: SqlType) -> bool:
    """Tests whether each value of a type is one of another, with the same fields in their order: INT within BIGINT."""
    if source in (VOID, target):
        return True
    if source.is_nested and source.name == target.name and len(source.parts) == len(target.parts):
        return (source.name != "map" or source.parts[0][1] in (VOID, target.parts[0][1])) and all(
            source_name.lower() == name.lower() and _holds_all(part, source_part)
            for (name, part), (source_name, source_part) in zip(target.parts, source.parts, strict=True)
        )
    if source.is_integer and target.is_integer:
        return INTEGERS[source.name] <= INTEGERS[target.name]
    if (source.is_integer or source.is_decimal) and target.is_decimal:
        digits = as_decimal(source)
        return digits.scale <= target.scale and digits.precision - digits.scale <= target.precision - target.scale
    return source.name == "float" and target.name == "double"


def _unsupported(what: str, column: Column) -> NotSupportedError:
    return NotSupportedError(
        f"{what} is not supported on DuckDB.",
        condition="DUCKDB_UNSUPPORTED",
        object=column.name,
        hint="Use the Spark engine (engine spark).",
    )


def _without_blanks(type_name: str) -> str:
    return type_name.lower().replace(" ", "")


def _converted(sql: str, source: SqlType, target: SqlType, column: Column, dialect: Dialect) -> str:
    if source.name == target.name and not source.is_decimal:
        return sql
    direct = f"CAST({sql} AS {dialect.type_name(target)})"
    if source == VOID:
        return direct
    if target.name == "string" and dialect is DUCKDB:
        text = cast(sql, source, STRING)
        if text is None:
            raise _unsupported(f"Writing {source} as text into {column.name}", column)
        return text
    if not _loses(source, target):
        return direct
    if target.is_decimal and source.is_floating and target.precision > _EXACT_DIGITS:
        raise NotSupportedError(
            f"A {source} cannot be stored exactly in {column.name} {target}.",
            condition="INSERT_WOULD_ROUND",
            sqlstate="22003",
            object=column.name,
            hint=f"Write CAST(… AS {target}) in the query.",
        )
    round_trip = f"CAST({direct} AS {dialect.type_name(source)})"
    failure = _rounding(sql, target, column, dialect)
    return f"CASE WHEN {sql} IS NULL OR {round_trip} = {sql} THEN {direct} ELSE {failure} END"


def _loses(source: SqlType, target: SqlType) -> bool:
    """Tests whether a cast can change a value that it does not refuse."""
    if target == DATE:
        return source == TIMESTAMP
    if target.is_integer:
        return source.is_floating or (source.is_decimal and source.scale > 0)
    if target.is_decimal:
        return source.is_floating or (source.is_decimal and source.scale > target.scale)
    return False


def _rounding(sql: str, target: SqlType, column: Column, dialect: Dialect) -> str:
    before = dialect.literal("[INSERT_WOULD_ROUND] The value ")
    after = dialect.literal(f" would be rounded in the column {column.name}, which is {target}.")
    return f"{dialect.error}(concat({before}, CAST({sql} AS {dialect.string_type}), {after}))"


def _fitted(sql: str, target: SqlType, column: Column, dialect: Dialect) -> str:
    """Returns a string in a CHAR(n) or VARCHAR(n): only trailing blanks may be cut."""
    length = target.length
    trimmed = f"rtrim({sql}, ' ')" if dialect is DUCKDB else f"rtrim({sql})"
    message = dialect.literal(f"[EXCEED_LIMIT_LENGTH] A value exceeds the length {length} of the column {column.name}.")
    fitted = (
        f"CASE WHEN {sql} IS NULL OR length({sql}) <= {length} THEN {sql} "
        f"WHEN length({trimmed}) <= {length} THEN substring({sql}, 1, {length}) ELSE {dialect.error}({message}) END"
    )
    return f"rpad({fitted}, {length}, ' ')" if target.padded else fitted


def check_arity(count: int, expected_count: int) -> None:
    """Raises ``EngineError`` if a query returns another number of columns than the write needs."""
    if count != expected_count:
        prefix = "NOT_ENOUGH" if count < expected_count else "TOO_MANY"
        raise EngineError(
            f"The query returns {count} columns, but the table takes {expected_count}.",
            condition=f"INSERT_COLUMN_ARITY_MISMATCH.{prefix}_DATA_COLUMNS",
            sqlstate="21S01",
        )


def _incompatible(source_type: str, column: Column) -> EngineError:
    return EngineError(
        f"Cannot safely cast {source_type.upper()} to the {column.type.upper()} of the column {column.name}.",
        condition="INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST",
        sqlstate="KD000",
        object=column.name,
        hint=f"Write CAST(… AS {column.type.upper()}) in the query.",
    )
