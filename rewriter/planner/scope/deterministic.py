"""An allow-list of the functions and operators that always return the same value for the same operands.

A function that is not listed may be random, may depend on other rows or on the machine, may produce rows of its own, or
has not been reviewed (functions with lambdas, sketches, avro, protobuf, geometry, vectors). A block that uses it beside
a cube reads the base period. The list was made from Spark 4.3's SHOW FUNCTIONS, group by group.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sqlglot import exp

from rewriter.errors import NotSupportedError
from rewriter.grammar.lexer import Token, TokenKind, identifier_value
from rewriter.planner.text.sqlglot_trees import one_of

_SYNTAX = (
    exp.Column, exp.Identifier, exp.Literal, exp.RawString, exp.HexString, exp.Null, exp.Boolean, exp.Paren,
    exp.Placeholder, exp.DataType, exp.DataTypeParam, exp.Interval, exp.IntervalSpan, exp.Var, exp.Alias,
    exp.Tuple, exp.Star, exp.Ordered, exp.Distinct, exp.Where, exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ,
    exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In, exp.Between, exp.Like,
    exp.ILike, exp.RegexpLike, exp.Exists, exp.Escape, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod,
    exp.Neg, exp.DPipe, exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot, exp.BitwiseLeftShift,
    exp.BitwiseRightShift, exp.Case, exp.If, exp.Cast, exp.TryCast, exp.Bracket,
)  # fmt: skip
_TIME_FUNCTIONS = (
    exp.TimestampTrunc, exp.DateTrunc, exp.TsOrDsToDate, exp.TsOrDsAdd, exp.TimeToStr, exp.TimeStrToTime,
    exp.StrToTime, exp.StrToUnix, exp.UnixToStr, exp.UnixDate, exp.UnixMicros, exp.UnixMillis, exp.UnixSeconds,
    exp.AddMonths, exp.AtTimeZone, exp.FromTimeZone, exp.ConvertTimezone, exp.DateDiff, exp.DateFromUnixDate,
    exp.Day, exp.DayOfMonth, exp.DayOfWeek, exp.DayOfYear, exp.Dayname, exp.Extract, exp.Hour, exp.LastDay,
    exp.MakeInterval, exp.Minute, exp.Month, exp.Monthname, exp.MonthsBetween, exp.NextDay, exp.Quarter,
    exp.Second, exp.Time, exp.TimeDiff, exp.TimeTrunc, exp.TimestampAdd, exp.TimestampDiff,
    exp.TimestampFromParts, exp.WeekOfYear, exp.Year,
)  # fmt: skip
_FUNCTIONS = (
    exp.Abs, exp.Acos, exp.Acosh, exp.Array, exp.ArrayAppend, exp.ArrayCompact, exp.ArrayContains,
    exp.ArrayDistinct, exp.ArrayExcept, exp.ArrayInsert, exp.ArrayIntersect, exp.ArrayMax, exp.ArrayMin,
    exp.ArrayPosition, exp.ArrayPrepend, exp.ArrayRemove, exp.ArraySize, exp.ArraySlice, exp.ArraySort,
    exp.ArrayToString, exp.ArraysZip, exp.Ascii, exp.Asin, exp.Asinh, exp.Atan, exp.Atan2, exp.Atanh,
    exp.BitLength, exp.BitmapBitPosition, exp.BitmapBucketNumber, exp.BitmapCount, exp.BitwiseCount, exp.Cbrt,
    exp.Ceil, exp.Chr, exp.Coalesce, exp.Collate, exp.Collation, exp.Concat, exp.ConcatWs, exp.Contains,
    exp.Cos, exp.Cosh, exp.Cot, exp.Csc, exp.Decode, exp.DecodeCase, exp.Degrees, exp.Elt, exp.Encode,
    exp.EndsWith, exp.EqualNull, exp.Exp, exp.Factorial, exp.Flatten, exp.Floor, exp.Format, exp.FromBase32,
    exp.FromBase64, exp.FromJson, exp.GenerateSeries, exp.Getbit, exp.Greatest, exp.Hex, exp.Initcap, exp.IsNan,
    exp.JSONExtractScalar, exp.JSONFormat, exp.JSONKeys, exp.Least, exp.Left, exp.Length, exp.Levenshtein,
    exp.Ln, exp.Log, exp.Lower, exp.MD5, exp.Map, exp.MapContainsKey, exp.MapFromEntries, exp.MapKeys,
    exp.Nanvl, exp.Negative, exp.Nullif, exp.Nvl2, exp.Overlay, exp.Pad, exp.ParseJSON, exp.ParseUrl, exp.Pi,
    exp.Pow, exp.PropertyEQ, exp.Radians, exp.RegexpCount, exp.RegexpExtract, exp.RegexpExtractAll,
    exp.RegexpInstr, exp.RegexpReplace, exp.RegexpSplit, exp.RegexpSubstr, exp.Repeat, exp.Replace, exp.Reverse,
    exp.Right, exp.Rint, exp.Round, exp.SHA, exp.SHA2, exp.SafeAdd, exp.SafeDivide, exp.SafeMultiply,
    exp.SafeSubtract, exp.Sec, exp.Sign, exp.Sin, exp.Sinh, exp.Soundex, exp.Space, exp.SplitPart, exp.Sqrt,
    exp.StartsWith, exp.StrPosition, exp.StrToMap, exp.Struct, exp.Substring, exp.SubstringIndex, exp.Tan,
    exp.Tanh, exp.ToBase32, exp.ToBase64, exp.ToBinary, exp.ToChar, exp.ToNumber, exp.Translate, exp.Trim,
    exp.Typeof, exp.Unhex, exp.Upper, exp.VarMap, exp.WidthBucket,
)  # fmt: skip
#: Spark's functions that sqlglot does not have.
_NAMES = frozenset(
    """
    aes_decrypt array_repeat array_union arrays_overlap bigint bin binary bround btrim cardinality conv crc32
    date_part datepart decimal e expm1 find_in_set format_number from_csv from_xml get hash hmac hypot
    is_valid_utf8 is_valid_variant is_variant_null isnotnull isnull jaro_winkler_similarity json_array_length
    log1p luhn_check make_date make_dt_interval make_time make_timestamp_ltz make_timestamp_ntz make_valid_utf8
    make_ym_interval map_concat map_entries map_values mask nullifzero octet_length pmod positive printf quote
    regexp schema_of_csv schema_of_json schema_of_variant schema_of_xml sentences shiftrightunsigned smallint
    theta_difference theta_intersection theta_sketch_estimate theta_union time_bucket time_from_micros
    time_from_millis time_from_seconds time_to_micros time_to_millis
    time_to_seconds timestamp_micros timestamp_millis timestamp_nanos timestamp_seconds tinyint to_csv to_time
    to_timestamp_ltz to_timestamp_ntz to_varchar to_variant_object to_xml try_aes_decrypt try_make_interval
    try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz try_mod try_parse_json try_parse_url
    try_to_binary try_to_date try_to_number try_to_time try_to_timestamp try_url_decode try_validate_utf8
    try_variant_array_append try_variant_get try_variant_insert try_variant_set unix_nanos url_decode url_encode
    validate_utf8 variant_array_append variant_delete variant_get variant_insert variant_set variant_strip_nulls
    weekday window window_time xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number
    xpath_short xpath_string xxhash64 zeroifnull
    """.split()
)
_is_allowed = one_of(*_SYNTAX, *_TIME_FUNCTIONS, *_FUNCTIONS)


def is_scalar(node: exp.Expr) -> bool:
    """Tests whether a node is known to be a deterministic function of its operands alone, over single values."""
    if _is_allowed(type(node)):
        return True
    match node:
        case exp.CurrentTimestamp() | exp.CurrentDate():
            # Pinned where they are typed; unix_timestamp() contains one that is not.
            return not node.this and not isinstance(node.parent, exp.StrToUnix)
        case exp.Dot():
            return isinstance(node.expression, exp.Identifier)  # a field, not the function of some schema
        case exp.Anonymous():
            name = node.name.lower()
            # With a slide, window returns several rows.
            return name in _NAMES and not is_qualified(node) and (name != "window" or len(node.expressions) == 2)
    return False


def is_qualified(node: exp.Expr) -> bool:
    """Tests whether a function is written with a schema, ``db.weekday(t)``, and so is not one of Spark's own."""
    return isinstance(node.parent, exp.Dot) and node.parent.expression is node


# Code that SQL text calls by its name. Text of the catalog may not: its readers would run what its author named.

#: Spark's functions that call a method of any Java class by its name, and its clause that names a function by a text.
_RUN_CODE = frozenset(("java_method", "reflect", "try_reflect", "identifier"))
_CALLED_CODE_NAMES = (TokenKind.WORD, TokenKind.IDENTIFIER)


def called_code(tokens: Sequence[Token]) -> Token | None:
    """Returns the name of the first function that runs a Java method by its name, or the word USING before the text of
    a program (``TRANSFORM (a) USING 'program'``), or ``None``.
    """
    for token, after in pairwise(tokens):
        if token.kind not in _CALLED_CODE_NAMES:
            continue
        if after.is_operator("("):
            if identifier_value(token).lower() in _RUN_CODE:
                return token
        elif after.kind is TokenKind.STRING and token.is_word("USING"):
            return token
    return None


def what_it_does(code: Token) -> str:
    """Returns a phrase for a message: what the text does at this token of ``called_code``."""
    return "runs a program (TRANSFORM … USING)" if code.is_word("USING") else f"calls {identifier_value(code)}"


def brings_code(view: str, code: Token) -> NotSupportedError:
    """Returns the error for a view whose query calls code: its readers would run code that its author named."""
    return NotSupportedError(
        f"The view {view} would run code on the machine of its readers: its query {what_it_does(code)}.",
        condition="CODE_IN_VIEW",
        object=view,
        hint="Write this part in the query that reads the view.",
    )
