"""The names that Spark gives to calls and operators, from the names of their operands."""

from __future__ import annotations

from collections.abc import Sequence

#: Functions that Spark prints in upper case.
_CAPITAL = frozenset(
    "acos acosh asin asinh atan atan2 atanh cbrt ceil cos cosh cot csc degrees dense_rank exp expm1 floor hypot log "
    "log10 log1p log2 percent_rank power radians rank regexp regexp_like rlike sec signum sin sinh sqrt tan "
    "tanh".split()
)
#: The text that Spark prints for omitted arguments, by the function and the number of arguments given.
_DEFAULTS: dict[tuple[str, int], str] = {
    ("approx_percentile", 2): "10000",
    ("bround", 1): "0",
    ("from_unixtime", 1): "yyyy-MM-dd HH:mm:ss",
    ("locate", 2): "1",
    ("lpad", 2): " ",
    ("months_between", 2): "true",
    ("percentile", 2): "1",
    ("percentile_approx", 2): "10000",
    ("position", 2): "1",
    ("regexp_extract", 2): "1",
    ("regexp_extract_all", 2): "1",
    ("regexp_replace", 3): "1",
    ("replace", 2): "",
    ("round", 1): "0",
    ("rpad", 2): " ",
    ("sort_array", 1): "true",
    ("split", 2): "-1",
    ("substr", 2): "2147483647",
    ("substring", 2): "2147483647",
    ("to_unix_timestamp", 1): "yyyy-MM-dd HH:mm:ss",
    ("unix_timestamp", 1): "yyyy-MM-dd HH:mm:ss",
}
_OTHER_NAMES = {"dateadd": "date_add", "curdate": "current_date", "array_agg": "collect_list",
                "current_database": "current_schema"}  # fmt: skip


def call_name(function: str, arguments: Sequence[str]) -> str:
    """Returns the name of a call. ``function`` is in lower case; ``arguments`` are the names of its arguments.

    >>> call_name("round", ["x"])
    'round(x, 0)'
    """
    if function in ("isnull", "isnotnull"):
        return f"({', '.join(arguments)} {'IS NULL' if function == 'isnull' else 'IS NOT NULL'})"
    if function == "if":
        return f"(IF({', '.join(arguments)}))"
    if function == "log" and len(arguments) == 1:
        arguments = ["E()", *arguments]
    default = _DEFAULTS.get((function, len(arguments)))
    shown_arguments = [*arguments, *([] if default is None else [default])]
    is_capital = function in _CAPITAL and not (function in ("ceil", "floor") and len(arguments) > 1)
    name = function.upper() if is_capital else _OTHER_NAMES.get(function, function)
    return f"{name}({', '.join(shown_arguments)})"


def infix_name(operator: str, left: str, right: str) -> str:
    """Returns the name of an operator between two operands."""
    return f"({left} {operator} {right})"
