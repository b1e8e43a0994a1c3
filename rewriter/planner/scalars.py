"""Which functions and operators answer, for the same operands, always the same value: an allow-list.

What is not listed here may be random, may depend on other rows or on the machine, or has not been thought about; a
block that uses it beside a cube reads the base period.
"""

from __future__ import annotations

from sqlglot import exp

#: Scalar functions and operators whose answer depends on their operands alone.
_SCALAR = (
    exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Paren, exp.Placeholder, exp.DataType,
    exp.DataTypeParam,    exp.Interval, exp.Var, exp.Alias, exp.Tuple, exp.Star, exp.Ordered, exp.Distinct, exp.Where,
    exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ,
    exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike, exp.Exists, exp.Escape,
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.DPipe, exp.SafeDivide,
    exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Greatest, exp.Least, exp.Cast, exp.TryCast,
    exp.Upper, exp.Lower, exp.Trim, exp.Substring, exp.Length, exp.Concat, exp.Left, exp.Right, exp.Replace,
    exp.RegexpReplace, exp.RegexpExtract, exp.StrPosition, exp.Abs, exp.Round, exp.Floor, exp.Ceil, exp.Sqrt, exp.Pow,
    exp.Year, exp.Quarter, exp.Month, exp.Week, exp.WeekOfYear, exp.Day, exp.DayOfMonth, exp.DayOfWeek, exp.DayOfYear,
    exp.LastDay, exp.Hour, exp.Minute, exp.Second, exp.Extract, exp.TimestampTrunc, exp.DateTrunc, exp.TsOrDsToDate,
    exp.TsOrDsAdd, exp.TimeToStr, exp.TimeStrToTime, exp.StrToTime, exp.AddMonths, exp.DateDiff, exp.TimestampFromParts,
    exp.CurrentTimestamp, exp.CurrentDate,
)  # fmt: skip


def is_scalar(node: exp.Expr) -> bool:
    """Whether a node is known to be a deterministic function of its operands alone, of single values."""
    return isinstance(node, _SCALAR)
