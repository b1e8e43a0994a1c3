"""DuckDB's errors as errors of ours, with Spark's conditions."""

from __future__ import annotations

import re

from rewriter.errors import DataError, EngineError, Error, NotSupportedError, disk_full, is_disk_full
from rewriter.exec.engine import (
    disk_content,
)

#: Errors raised by ``error()`` in our SQL, by casts of such texts in windows, and by our functions: anchored, because
#: DuckDB quotes the SQL behind errors of its own.
_OWN_ERROR = re.compile(
    r"(?:[A-Za-z ]+ Error: )?(?:Could not convert string '|Python exception [a-z ]+UDF: ValueError: )?"
    r"\[([A-Z][A-Z_.]+)\] (.*?)(?:' to INT8.*)?$",
    re.DOTALL,
)
#: A column of a subquery or a macro as the translation calls it.
_INTERNAL_NAME = re.compile(r'[Cc]olumn "(?:s\d+\.)?(?:c\d+|[a-z])"')
_QUOTED_PATH = re.compile(r"[\"'](/[^\"']*)[\"']")
_SQLSTATES = {
    "CAST_INVALID_INPUT": "22018",
    "RECURSION_LEVEL_LIMIT_EXCEEDED": "42836",
    "RECURSION_ROW_LIMIT_EXCEEDED": "42836",
    "CANNOT_PARSE_TIMESTAMP": "22007",
    "DIVIDE_BY_ZERO": "22012",
    "REMAINDER_BY_ZERO": "22012",
    "EXCEED_LIMIT_LENGTH": "54006",
    "ARITHMETIC_OVERFLOW": "22003",
    "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION": "22003",
    "INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION": "22015",
    "INTERVAL_DIVIDED_BY_ZERO": "22012",
    "INVALID_ARRAY_INDEX": "22003",
    "INVALID_FORMAT.ESC_AT_THE_END": "42601",
    "INVALID_FORMAT.ESC_IN_THE_MIDDLE": "42601",
    "INVALID_ARRAY_INDEX_IN_ELEMENT_AT": "22003",
    "INVALID_INDEX_OF_ZERO": "22003",
    "INVALID_PARAMETER_VALUE.LENGTH": "22023",
    "INVALID_PARAMETER_VALUE.START": "22023",
    "DUPLICATED_MAP_KEY": "23505",
    "NULL_MAP_KEY": "2200E",
    "INVALID_BITMAP_POSITION": "22003",
    "NEGATIVE_VALUES_IN_FREQUENCY_EXPRESSION": "22003",
    "CANNOT_DECODE_URL": "22546",
    "THETA_INVALID_INPUT_SKETCH_BUFFER": "22000",
    "DATETIME_FIELD_OUT_OF_BOUNDS": "22023",
    "INSERT_WOULD_ROUND": "22003",
    "USER_RAISED_EXCEPTION": "P0001",
    "TIME_OUTSIDE_ORC": "22008",
    "TIME_OUTSIDE_JSON": "22008",
    "CANNOT_PARSE_JSON_FIELD": "2203G",
    "MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION": "22023",
    "VALUE_OUTSIDE_CSV": "22023",
    "VALUE_OUTSIDE_TEXTFILE": "22023",
    "PARTITION_VALUE_TOO_LONG": "22001",
    "INVALID_PARTITION_VALUE": "42846",
}


#: A 128-bit result that does not fit its type: of arithmetic, or of SUM.
_OVERFLOW = re.compile(r"Conversion Error: Type INT128 with value (\S+) .*out of range for the destination type (\w+)")
_INTEGER_NAMES = {"INT8": "TINYINT", "INT16": "SMALLINT", "INT32": "INT", "INT64": "BIGINT"}
_DECIMAL_RANGE = "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"
#: Spark's conditions for DuckDB's errors, by DuckDB's messages.
_CONDITIONS = (
    (re.compile(r"^(Conversion|Invalid Input) Error: Type .* value is out of range"), "CAST_OVERFLOW", "22003"),
    (re.compile(r"^Conversion Error: Failed to cast decimal value"), "CAST_OVERFLOW", "22003"),
    (re.compile(r"^Conversion Error: Casting value .* to type DECIMAL"), _DECIMAL_RANGE, "22003"),
    (re.compile(r"^Conversion Error: Could not convert string .* to DECIMAL"), _DECIMAL_RANGE, "22003"),
    (re.compile(r"^Conversion Error: Could not cast value .* to DECIMAL"), _DECIMAL_RANGE, "22003"),
    (re.compile(r"^Out of Range Error: Overflow in [a-z]+ of DECIMAL"), _DECIMAL_RANGE, "22003"),
    (re.compile(r"^Conversion Error: (Date|Time) out of range"), "DATETIME_FIELD_OUT_OF_BOUNDS", "22023"),
    (re.compile(r"Could not parse string"), "CANNOT_PARSE_TIMESTAMP", "22007"),
    (re.compile(r"^Conversion Error"), "CAST_INVALID_INPUT", "22018"),
    (re.compile(r"^Out of Range Error"), "ARITHMETIC_OVERFLOW", "22003"),
    (re.compile(r"must appear in the GROUP BY clause"), "MISSING_AGGREGATION", "42803"),
    (re.compile(r"More than one row returned by a subquery"), "SCALAR_SUBQUERY_TOO_MANY_ROWS", "21000"),
)


def own_error(error: Exception, directory: str | None = None) -> Error:
    """Returns DuckDB's error as one of ours, with the first line of its message."""
    import duckdb

    text = str(error).strip()
    match = _OWN_ERROR.match(text)
    if match and match[1] in _SQLSTATES:
        raised = EngineError if match[1] == "USER_RAISED_EXCEPTION" else DataError
        return raised(match[2].strip(), condition=match[1], sqlstate=_SQLSTATES[match[1]])
    if match and match[1] == "DUCKDB_UNSUPPORTED":
        return NotSupportedError(match[2].strip(), condition=match[1], hint="Use the Spark engine (engine spark).")
    if is_disk_full(error):
        path = _QUOTED_PATH.search(text)
        return disk_full(f"The file {path[1]}", path[1]) if path else disk_full(disk_content(directory), directory)
    if directory is not None and isinstance(error, OSError) and str(error.filename).startswith(directory):
        return EngineError(
            f"The file {error.filename} cannot be written: {error.strerror}.",
            condition="FAILED_WRITE_FILE",
            sqlstate="58030",
            object=str(error.filename),
            hint="Check the disk, and that this user can write to it, and run the statement again: it left nothing "
            "half done.",
        )
    line = (text.splitlines() or [type(error).__name__])[0]
    overflow = _OVERFLOW.match(line)
    if overflow:
        value, type_ = overflow[1], _INTEGER_NAMES.get(overflow[2], overflow[2])
        message = f"overflow: {value} does not fit {type_}."
        if type_ in ("TINYINT", "SMALLINT"):
            return DataError(message, condition="BINARY_ARITHMETIC_OVERFLOW", sqlstate="22003")
        return DataError(message, condition="ARITHMETIC_OVERFLOW", sqlstate="22003")
    message = _INTERNAL_NAME.sub("a column", re.sub(r"^[A-Za-z ]+ Error: ", "", line))
    for pattern, condition, state in _CONDITIONS:
        if pattern.search(line):
            kind = DataError if state.startswith("22") else EngineError
            return kind(message, condition=condition, sqlstate=state)
    if isinstance(error, duckdb.OutOfMemoryException):
        return EngineError(
            f"DuckDB has not enough memory: {message}.",
            condition="OUT_OF_MEMORY",
            sqlstate="53200",
            hint="Read less at once, or use the Spark engine (engine spark). Lists and sketches stay in memory.",
        )
    if isinstance(error, duckdb.IOException | OSError):
        return EngineError(message, condition="FAILED_READ_FILE", sqlstate="KD001")
    return EngineError(message, condition="DUCKDB_ERROR")
