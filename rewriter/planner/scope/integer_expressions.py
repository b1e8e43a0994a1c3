"""Expressions that are integers in Spark by their syntax, and decimal literals."""

from __future__ import annotations

import re
from collections.abc import Collection
from decimal import Decimal

from sqlglot import exp

from rewriter.planner.text.call_trees import CALL, called
from rewriter.planner.text.rounded_bounds import LARGEST

#: Functions that return integers, whatever their arguments.
_INTEGERS = frozenset(
    "count count_if approx_count_distinct regr_count length len char_length character_length octet_length bit_length "
    "year quarter month day dayofmonth dayofweek dayofyear weekday weekofyear hour minute second datediff "
    "unix_timestamp ascii size cardinality instr locate position levenshtein crc32 row_number rank dense_rank ntile "
    "tinyint smallint int bigint grouping grouping_id regexp_count hash xxhash64 bit_count".split()
)
#: Functions that return an integer if all of their arguments are integers.
_OF_INTEGERS = frozenset(
    "sum max min abs first last first_value last_value any_value coalesce nvl ifnull greatest least mode negative "
    "positive".split()
)
_INTEGER_TYPES = (exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Mod)
_BITS = (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor)
_DIGITS = re.compile(r"\d+(?:\.\d*)?|\.\d+")


def is_integer(node: exp.Expr | None, columns: Collection[str]) -> bool:
    """Tests whether an expression of ``read_with_calls`` is known to be an integer. ``columns`` are the names, in lower
    case, of columns that are.
    """
    function = None if node is None else called(node)
    match node:
        case exp.Paren() | exp.Neg() | exp.BitwiseNot() | exp.Filter() | exp.Window():
            return is_integer(node.this, columns)
        case exp.Column():
            return str(node.name).removeprefix(CALL).lower() in columns
        case exp.Literal():
            return not node.is_string and node.name.isdigit() and int(node.name) <= LARGEST
        case exp.Cast():
            return node.to.this in _INTEGER_TYPES
        case exp.IntDiv() | exp.Extract():
            return isinstance(node, exp.IntDiv)
        case exp.Case():
            values = [*(branch.args["true"] for branch in node.args["ifs"]), node.args.get("default")]
            return all(value is None or is_integer(value, columns) for value in values)
        case exp.Distinct():
            return all(is_integer(value, columns) for value in node.expressions)
        case exp.First():
            return is_integer(node.this, columns)
    if isinstance(node, (*_ARITHMETIC, *_BITS)):
        return is_integer(node.this, columns) and is_integer(node.expression, columns)
    if function is None or node is None:
        return False
    arguments = node.expressions
    if function == "if":
        arguments = arguments[1:]
    elif function == "nullif":
        arguments = arguments[:1]
    elif function not in _OF_INTEGERS:
        return function in _INTEGERS
    return bool(arguments) and all(is_integer(argument, columns) for argument in arguments)


def decimal_literal(node: exp.Expr) -> Decimal | None:
    """Returns the value of a literal of the type DECIMAL; ``None`` for anything else."""
    node = node.unnest()
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
        value = decimal_literal(node.this)
        return None if value is None else -value
    if not isinstance(node, exp.Literal) or node.is_string or not _DIGITS.fullmatch(node.name):
        return None
    value = Decimal(node.name)
    return value if "." in node.name or value > LARGEST else None
