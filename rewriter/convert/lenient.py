"""Expressions without ANSI mode, in functions that return NULL by name.

Where Hive, and Spark with ``spark.sql.ansi.enabled = false``, return NULL, ANSI mode raises an error. Each rule here
returns the same value as the original, for every value of its operands: ``tests/convert/test_lenient.py`` compares
them on Spark. What depends on a type that is not known is not changed, and reported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date

from rewriter.convert.column_types import (
    BOOLEAN,
    DATE,
    INTEGERS,
    NULL,
    NUMBERS,
    STRING,
    TIMESTAMP,
    ExpressionTypes,
    base_type,
)
from rewriter.convert.comments import inline_comment
from rewriter.convert.expressions import COMPARING, Expression, ExpressionForm, all_parts
from rewriter.convert.meeting_columns import meeting_columns
from rewriter.grammar.lexer import Token, TokenKind, string_value
from rewriter.planner.model.plan import quote_identifier
from rewriter.planner.scope.item_names import certain_item_name
from rewriter.planner.text.query_text import ListItems

#: The calls that are casts.
_CAST_CALLS = frozenset((*NUMBERS, DATE, TIMESTAMP, BOOLEAN))
#: The calls that have a form that returns NULL in place of an error.
_TOLERANT = {
    "to_date": "try_to_date",
    "to_timestamp": "try_to_timestamp",
    "element_at": "try_element_at",
    "parse_url": "try_parse_url",
    "url_decode": "try_url_decode",
    "make_timestamp": "try_make_timestamp",
}
_READ_TIMES = ("to_date", "to_timestamp")
_UNIX_TIMES = ("unix_timestamp", "to_unix_timestamp")
#: The arguments that a call casts from text: the name of the call, the indexes of the arguments, and the type.
_TIME_ARGUMENTS = {
    **dict.fromkeys("date_add date_sub last_day next_day add_months trunc year quarter month day dayofmonth dayofweek "
                    "weekday dayofyear weekofyear dayname monthname".split(), ((0,), "DATE")),
    "datediff": ((0, 1), "DATE"),
    "date_diff": ((0, 1), "DATE"),
    **dict.fromkeys("hour minute second date_format from_utc_timestamp to_utc_timestamp".split(), ((0,), "TIMESTAMP")),
    "date_trunc": ((1,), "TIMESTAMP"),
    "months_between": ((0, 1), "TIMESTAMP"),
}  # fmt: skip
_NUMBER_CALLS = frozenset(
    "abs round bround sqrt cbrt exp ln log10 log2 floor ceil ceiling sum avg mean stddev stddev_pop stddev_samp "
    "variance var_pop var_samp sin cos tan degrees radians std skewness kurtosis percentile signum sign "
    "log1p expm1 asin acos atan sinh cosh tanh cot".split()
)
#: The calls whose arguments all become DOUBLE.
_NUMBERS_CALLS = frozenset("pow power log atan2 hypot corr covar_pop covar_samp".split())
#: The arguments that a call casts from text to an integer: their indexes, and the type.
_INTEGER_ARGUMENTS = {
    **dict.fromkeys(("substr", "substring"), ((1, 2), "int")),
    **dict.fromkeys(("repeat", "lpad", "rpad", "left", "right"), ((1,), "int")),
    "space": ((0,), "int"), "factorial": ((0,), "int"), "bin": ((0,), "bigint"),
}  # fmt: skip
#: The calls that return one of some arguments: the index of the first of these.
_CHOOSING = {
    "coalesce": 0, "nvl": 0, "ifnull": 0, "if": 1, "iff": 1, "nvl2": 1, "array": 0, "greatest": 0, "least": 0
}  # fmt: skip
_NO_LENIENT_FORM = {"make_date": "make_date raises an error for a date that does not exist, where the original is NULL"}
#: What calls of Hive return, where Spark's function of that name returns something else.
_OTHER_IN_HIVE = {
    "greatest": "greatest is NULL in Hive if an argument is NULL, and ignores NULLs here",
    "least": "least is NULL in Hive if an argument is NULL, and ignores NULLs here",
    "hash": "hash has other values in Hive",
}
_NO_NUMBER = "a text that is no number is NULL"
_NO_TIME = "a text that is no time is NULL"
_SIMPLE_INTEGER = re.compile(r"-?[0-9]{1,9}", re.ASCII)
_SIMPLE_NUMBER = re.compile(r"-?[0-9]{1,9}(\.[0-9]{1,9})?", re.ASCII)
_DIGITS_GROUP = re.compile(r"[^()]*\((?:\[0-9\]|\\d)[+*]?\)[^()]*")


class LenientText:
    """A statement as it is written in ANSI mode, with a comment at each change.

    ``unknown`` are the names on whose types a change would depend, and ``problems`` the other reasons for which an
    expression was not changed.
    """

    def __init__(
        self,
        text: str,
        tokens: Sequence[Token],
        roots: Sequence[Expression],
        types: ExpressionTypes,
        *,
        keeps_names: bool,
        is_hive: bool,
    ) -> None:
        """``keeps_names`` is false where the names of columns do not count, as in an INSERT. In Hive, a text and a
        number are compared as DOUBLE, in Spark as the type of the number.
        """
        self._text, self._tokens, self._types, self._is_hive = text, tokens, types, is_hive
        self._lists = ListItems(tokens)
        self._keeps_names = keeps_names
        self.changes = 0
        meeting = meeting_columns(tokens, types, is_hive=is_hive)
        self._casts, self._nameless = meeting.casts, meeting.nameless
        self.unknown = meeting.unknown
        self.problems = meeting.problems
        parts, position = [], 0
        for root in roots:
            start, end = tokens[root.first].start, tokens[root.last].end
            parts += [text[position:start], self._written(root)]
            position = end
        self.text = "".join([*parts, text[position:]])

    def _typed(self, first: int, last: int) -> str:
        return self._text[self._tokens[first].start : self._tokens[last].end]

    def _written(self, expression: Expression) -> str:
        """Returns an expression with all changes in it, and its name if it would lose it."""
        before = self.changes
        text = self._changed(expression)
        if id(expression) in self._casts:
            text = self._as_cast(expression, text, self._casts[id(expression)])
        if self.changes > before and id(expression) not in self._nameless and self._is_item(expression):
            text += self._alias(expression)
        return text

    def _is_item(self, expression: Expression) -> bool:
        """Tests whether an expression is an item of a select list, without a name, whose name counts."""
        first, last = expression.first, expression.last
        if not self._keeps_names or first == 0 or not self._lists.directly_in_list(first):
            return False
        before = self._tokens[first - 1]
        behind = self._tokens[last + 1] if last + 1 < len(self._tokens) else None
        return (before.is_word("SELECT", "DISTINCT", "ALL") or before.is_operator(",", "*/")) and (
            behind is None or behind.is_operator(",", ")", ";") or behind.is_word("FROM", "UNION", "WHERE", "LATERAL")
        )

    def _alias(self, expression: Expression) -> str:
        names = {part.word for part in all_parts((expression,)) if part.form is ExpressionForm.NAME}
        typed = self._typed(expression.first, expression.last)
        name = certain_item_name(typed, names)
        if name is None:
            self.problems[f"The column {' '.join(typed.split())} would get another name: give it one with AS"] = None
            return ""
        return f" AS {quote_identifier(name)}"

    def _kept(self, expression: Expression) -> str:
        """Returns an expression with the changes of its parts."""
        return self._between(expression.first, expression.last, expression.parts)

    def _between(self, first: int, last: int, parts: Sequence[Expression]) -> str:
        pieces, position = [], self._tokens[first].start
        for part in sorted(parts, key=lambda part: part.first):
            pieces += [self._text[position : self._tokens[part.first].start], self._written(part)]
            position = self._tokens[part.last].end
        return "".join([*pieces, self._text[position : self._tokens[last].end]])

    def _replaced(self, text: str, comment: str) -> str:
        self.changes += 1
        return f"{text} {inline_comment(comment)}"

    def _changed(self, expression: Expression) -> str:
        match expression.form:
            case ExpressionForm.CAST:
                return self._cast(expression)
            case ExpressionForm.CALL:
                return self._call(expression)
            case ExpressionForm.OPERATION:
                return self._operation(expression)
            case ExpressionForm.INDEX:
                return self._index(expression)
            case ExpressionForm.SIGN:
                operand = expression.operands[0]
                return self._typed(expression.first, expression.first) + self._as_double(operand)
            case ExpressionForm.CASE:
                self._check_simple_case(expression)
                return self._chosen(expression, expression.operands)
            case ExpressionForm.IN:
                return self._chosen(expression, expression.operands)
            case ExpressionForm.BETWEEN:
                return self._spliced(expression, self._compared(expression.operands))
            case ExpressionForm.LITERAL | ExpressionForm.NAME | ExpressionForm.GROUP | ExpressionForm.OTHER:
                return self._kept(expression)

    def _spliced(self, expression: Expression, written: Sequence[str]) -> str:
        """Returns an expression with other texts for its operands."""
        pieces, position = [], self._tokens[expression.first].start
        by_place = sorted(zip(expression.operands, written, strict=True), key=lambda pair: pair[0].first)
        others = [part for part in expression.parts if not any(part is operand for operand in expression.operands)]
        places = [*by_place, *((part, self._written(part)) for part in others)]
        for part, text in sorted(places, key=lambda pair: pair[0].first):
            pieces += [self._text[position : self._tokens[part.first].start], text]
            position = self._tokens[part.last].end
        return "".join([*pieces, self._text[position : self._tokens[expression.last].end]])

    # Types.

    def _note_unknown(self, *expressions: Expression) -> None:
        """Notes the names whose types are not known."""
        for part in all_parts(expressions):
            if part.form is ExpressionForm.NAME and self._types.type_of(part) is None:
                self.unknown[".".join(part.names)] = None
            elif part.form is ExpressionForm.CALL and self._types.type_of(part) is None and not part.operands:
                self.unknown[f"{part.word}()"] = None
        if not self.unknown:
            self.unknown[" ".join(self._typed(expressions[0].first, expressions[0].last).split())] = None

    def _literal(self, expression: Expression) -> str | None:
        """Returns the value of a single string literal."""
        if expression.form is not ExpressionForm.LITERAL or expression.first != expression.last:
            return None
        token = self._tokens[expression.first]
        return string_value(token) if token.kind is TokenKind.STRING else None

    def _is_date(self, expression: Expression) -> bool:
        value = self._literal(expression)
        try:
            return value is not None and len(value) == 10 and bool(date.fromisoformat(value))
        except ValueError:
            return False

    def _is_number(self, expression: Expression) -> bool:
        value = self._literal(expression)
        return value is not None and _SIMPLE_NUMBER.fullmatch(value) is not None

    # Casts.

    def _cast(self, expression: Expression) -> str:
        operand = expression.operands[0]
        if expression.names == ("TRY_CAST",):
            return self._kept(expression)
        if expression.names == ("CAST",):
            type_first = next(i for i in range(operand.last + 1, expression.last) if self._tokens[i].is_word("AS")) + 1
            type_text = self._typed(type_first, expression.last - 1)
        else:
            type_text = self._typed(expression.at + 1, expression.last)
        return self._tolerant_cast(expression, operand, type_text) or self._kept(expression)

    def _tolerant_cast(self, expression: Expression, operand: Expression, type_text: str) -> str | None:
        """Returns a cast that returns NULL; ``None`` if it cannot fail, or is not converted."""
        source, target = self._types.type_of(operand), base_type(type_text)
        if target in INTEGERS:
            if source is None:
                self._note_unknown(operand)
            if source != STRING:
                return None
            return self._replaced(self._integer(operand, type_text), f"was CAST: {_NO_NUMBER}")
        if target == TIMESTAMP and source is None:
            self._note_unknown(operand)
        can_fail = {
            "decimal": source != NULL,
            "double": source in (STRING, None),
            "float": source in (STRING, None),
            BOOLEAN: source in (STRING, None),
            DATE: source in (STRING, None) and not self._is_date(operand),
            TIMESTAMP: source == STRING and not self._is_date(operand),
        }
        if not can_fail.get(target, False):
            return None
        if target == BOOLEAN and self._is_hive:
            self.problems["CAST of a text to BOOLEAN is true in Hive for other texts, too: compare the text"] = None
            return None
        self_text = self._written(operand)
        reason = f"was CAST: {_NO_TIME if target in (DATE, TIMESTAMP) else 'what does not fit is NULL'}"
        return self._replaced(f"TRY_CAST({self_text} AS {type_text})", reason)

    def _integer(self, operand: Expression, type_text: str) -> str:
        """Returns the cast of a text to an integer: digits behind a point are cut off, as ``CAST('12.7' AS INT)`` does
        without ANSI mode.
        """
        written = self._written(operand)
        value = self._literal(operand)
        if (value is not None and _SIMPLE_INTEGER.fullmatch(value)) or self._has_only_digits(operand):
            return f"TRY_CAST({written} AS {type_text})"
        if operand.form not in (
            ExpressionForm.NAME,
            ExpressionForm.CALL,
            ExpressionForm.GROUP,
            ExpressionForm.LITERAL,
            ExpressionForm.CAST,
            ExpressionForm.CASE,
        ):
            written = f"({written})"
        return (
            f"TRY_CAST(CASE WHEN {written} RLIKE '^[^0-9.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace({written}, "
            f"'[.][0-9]*', '0') WHEN {written} RLIKE '^[^.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace({written}, "
            f"'[.][0-9]*', '') ELSE {written} END AS {type_text})"
        )

    def _has_only_digits(self, operand: Expression) -> bool:
        """Tests whether a text is the one group of a pattern, of digits: it has no point."""
        if operand.form is not ExpressionForm.CALL or operand.word != "regexp_extract" or len(operand.operands) < 2:
            return False
        pattern = self._literal(operand.operands[1])
        index = operand.operands[2:]
        is_first = not index or self._typed(index[0].first, index[0].last) == "1"
        return pattern is not None and is_first and _DIGITS_GROUP.fullmatch(pattern) is not None

    def _as_type(self, operand: Expression, target: str) -> str:
        """Returns a text as a number or a time, as the original casts it by itself."""
        if target in INTEGERS:
            value = self._literal(operand)
            if value is not None and _SIMPLE_INTEGER.fullmatch(value):
                return self._written(operand)
            return self._replaced(self._integer(operand, target.upper()), _NO_NUMBER)
        if target in (DATE, TIMESTAMP):
            if self._is_date(operand):
                return self._written(operand)
            return self._replaced(f"TRY_CAST({self._written(operand)} AS {target.upper()})", _NO_TIME)
        if target in ("decimal", "double", "float") and self._is_number(operand):
            return self._written(operand)
        name = {"decimal": "DOUBLE"}.get(target, target.upper())
        reason = _NO_NUMBER if target != BOOLEAN else "a text that is no boolean is NULL"
        return self._replaced(f"TRY_CAST({self._written(operand)} AS {name})", reason)

    def _as_double(self, operand: Expression) -> str:
        """Returns an operand of arithmetic: a text becomes a DOUBLE, as without ANSI mode."""
        if self._types.type_of(operand) != STRING:
            return self._written(operand)
        return self._replaced(f"TRY_CAST({self._written(operand)} AS DOUBLE)", _NO_NUMBER)

    # Calls.

    def _call(self, expression: Expression) -> str:
        name, arguments = expression.word, expression.operands
        if name in _NO_LENIENT_FORM:
            self.problems[_NO_LENIENT_FORM[name]] = None
        if self._is_hive and name in _OTHER_IN_HIVE:
            self.problems[_OTHER_IN_HIVE[name]] = None
        if name == "coalesce" and len(arguments) == 2 and self._is_size(arguments[0]):
            last = arguments[1]
            if self._typed(last.first, last.last) == "-1":
                return self._kept_but_first(expression)
        if self._is_size(expression):
            return self._replaced(f"coalesce({self._kept(expression)}, -1)", f"was {name}: -1 for NULL")
        if name in _CAST_CALLS and len(arguments) == 1:
            return self._tolerant_cast(expression, arguments[0], name.upper()) or self._kept(expression)
        is_time = bool(arguments) and self._types.type_of(arguments[0]) in (DATE, TIMESTAMP)
        if name in _UNIX_TIMES and arguments and not is_time:
            form = self._written(arguments[1]) if len(arguments) > 1 else "'yyyy-MM-dd HH:mm:ss'"
            return self._replaced(
                f"unix_timestamp(try_to_timestamp({self._written(arguments[0])}, {form}))", f"was {name}: {_NO_TIME}"
            )
        if name in _TOLERANT and not (name in _READ_TIMES and (is_time or self._is_whole_date(arguments))):
            kept = self._between(expression.at, expression.last, expression.parts)
            return self._replaced(f"{_TOLERANT[name]}{kept}", f"was {name}: an error is NULL")
        if name in ("mod", "pmod") and len(arguments) == 2:
            written = [self._as_double(argument) for argument in arguments]
            if not self._can_be_zero(arguments[1]):
                return self._spliced(expression, written)
            if name == "mod":
                return self._replaced(f"try_mod({written[0]}, {written[1]})", "was mod: NULL if the divisor is 0")
            return self._replaced(f"pmod({written[0]}, NULLIF({written[1]}, 0))", "NULL if the divisor is 0")
        if name in _NUMBERS_CALLS:
            return self._spliced(expression, [self._as_double(argument) for argument in arguments])
        if name in _INTEGER_ARGUMENTS:
            indexes, target = _INTEGER_ARGUMENTS[name]
            return self._spliced(
                expression,
                [self._as_type(argument, target) if i in indexes and self._types.type_of(argument) == STRING
                 else self._written(argument) for i, argument in enumerate(arguments)],
            )  # fmt: skip
        if name == "nullif" and len(arguments) == 2:
            return self._null_if(expression)
        if name == "map":
            keys, values = arguments[::2], arguments[1::2]
            return self._with_casts(expression, self._casts_of(expression, keys) | self._casts_of(expression, values))
        if name in ("lag", "lead") and len(arguments) == 3:
            type_ = self._types.type_of(arguments[0])
            if type_ in (*NUMBERS, DATE, TIMESTAMP) and self._types.type_of(arguments[2]) == STRING:
                default = self._as_type(arguments[2], str(type_))
                return self._spliced(expression, [*map(self._written, arguments[:2]), default])
        if name in _CHOOSING:
            return self._chosen(expression, arguments[_CHOOSING[name] :])
        if name in _TIME_ARGUMENTS:
            indexes, target = _TIME_ARGUMENTS[name]
            return self._spliced(
                expression,
                [self._time(argument, target) if i in indexes else self._written(argument)
                 for i, argument in enumerate(arguments)],
            )  # fmt: skip
        if name == "from_unixtime" and arguments and self._types.type_of(arguments[0]) == STRING:
            first = self._as_type(arguments[0], "bigint")
            return self._spliced(expression, [first, *map(self._written, arguments[1:])])
        if name in _NUMBER_CALLS and arguments:
            return self._spliced(expression, [self._as_double(arguments[0]), *map(self._written, arguments[1:])])
        return self._kept(expression)

    def _is_size(self, expression: Expression) -> bool:
        is_call = expression.form is ExpressionForm.CALL and expression.word in ("size", "cardinality")
        return is_call and len(expression.operands) == 1

    def _kept_but_first(self, expression: Expression) -> str:
        """Returns a call whose first argument is kept, but for the changes of its own arguments."""
        first, *others = expression.operands
        return self._spliced(expression, [self._kept(first), *map(self._written, others)])

    def _is_whole_date(self, arguments: Sequence[Expression]) -> bool:
        return len(arguments) == 1 and self._is_date(arguments[0])

    def _time(self, argument: Expression, target: str) -> str:
        """Returns an argument that is a time: a text may be none."""
        if self._types.type_of(argument) not in (STRING, None) or self._is_date(argument):
            return self._written(argument)
        if argument.form is ExpressionForm.CALL and (
            argument.word in _READ_TIMES or argument.word.startswith("try_to_")
        ):
            return self._written(argument)
        return self._replaced(f"TRY_CAST({self._written(argument)} AS {target})", _NO_TIME)

    def _chosen(self, expression: Expression, values: Sequence[Expression]) -> str:
        """Returns an expression whose values get one type: texts and numbers become texts without ANSI mode, and
        numbers with it.
        """
        return self._with_casts(expression, self._casts_of(expression, values))

    def _casts_of(self, expression: Expression, values: Sequence[Expression]) -> dict[int, str]:
        """Returns the types to which values, by their ids, are cast so that all have one type."""
        types = [self._types.type_of(value) for value in values]
        numeric_text = any(self._is_number(value) for value in values)
        if None in types and (set(types) & set(NUMBERS) or numeric_text) and set(types) - {None, NULL}:
            self._note_unknown(*(value for value, type_ in zip(values, types, strict=True) if type_ is None))
            return {}
        others = {type_ for type_ in types if type_ not in (STRING, NULL, None)}
        if STRING not in types or not others:
            return self._float_casts(values)
        if others & {BOOLEAN} or any("<" in str(type_) for type_ in others):
            return {}
        texts = [value for value, type_ in zip(values, types, strict=True) if type_ == STRING]
        if expression.form is ExpressionForm.IN and self._is_hive and others & set(NUMBERS):
            self.problems["IN compares a text with numbers, in Hive by their values: cast the text"] = None
            return {}
        if expression.form is ExpressionForm.IN and others == {DATE} and all(map(self._is_date, texts)):
            return {}
        return {id(value): STRING for value, type_ in zip(values, types, strict=True) if type_ in others}

    def _float_casts(self, values: Sequence[Expression]) -> dict[int, str]:
        """Returns the casts of integers beside FLOAT: both are FLOAT without ANSI mode, and DOUBLE with it."""
        types = [self._types.type_of(value) for value in values]
        if "float" not in types or not set(types) <= {"float", NULL, *INTEGERS}:
            return {}
        return {id(value): "float" for value, type_ in zip(values, types, strict=True) if type_ in INTEGERS}

    def _with_casts(self, expression: Expression, casts: Mapping[int, str]) -> str:
        """Returns an expression some operands of which are cast."""
        if not casts:
            return self._kept(expression)
        return self._spliced(expression, [self._operand(operand, casts) for operand in expression.operands])

    def _operand(self, operand: Expression, casts: Mapping[int, str]) -> str:
        written = self._written(operand)
        target = casts.get(id(operand))
        return written if target is None else self._as_cast(operand, written, target)

    def _null_if(self, expression: Expression) -> str:
        """Returns ``nullif(a, b)``, which compares as ``=`` does, and returns a value of the type of ``a``."""
        first, second = expression.operands
        types = [self._types.type_of(operand) for operand in expression.operands]
        if types[0] == STRING and types[1] in (*NUMBERS, DATE, TIMESTAMP):
            self.problems["nullif compares a text with a value that is none: cast the value to STRING"] = None
        if types[1] == STRING and types[0] in (*NUMBERS, DATE, TIMESTAMP):
            return self._spliced(expression, [self._written(first), self._as_type(second, str(types[0]))])
        return self._kept(expression)

    def _as_cast(self, operand: Expression, written: str, target: str) -> str:
        if target == "float":
            return self._replaced(f"CAST({written} AS FLOAT)", "an integer beside FLOAT is FLOAT")
        typed = self._typed(operand.first, operand.last)
        reason = "texts and numbers are compared, or chosen, as texts"
        if operand.form is ExpressionForm.LITERAL and typed.isascii() and typed.isdigit() and str(int(typed)) == typed:
            return self._replaced(f"'{typed}'", reason)
        return self._replaced(f"CAST({written} AS STRING)", reason)

    def _check_simple_case(self, expression: Expression) -> None:
        """Reports CASE s WHEN 1: the text and the number are compared as texts without ANSI mode."""
        parts = expression.parts
        if not parts or parts[0].first != expression.first + 1:
            return
        types = [self._types.type_of(part) for part in parts if part not in expression.operands]
        if STRING in types and set(types) & set(NUMBERS):
            self.problems["CASE compares a text with numbers: write the numbers in quotes"] = None
        elif None in types and set(types) & set(NUMBERS):
            self._note_unknown(*(part for part in parts if self._types.type_of(part) is None))

    # Operators.

    def _can_be_zero(self, divisor: Expression) -> bool:
        if divisor.form in (ExpressionForm.GROUP, ExpressionForm.SIGN):
            return self._can_be_zero(divisor.operands[0])
        if divisor.form is ExpressionForm.LITERAL:
            token = self._tokens[divisor.first]
            return token.kind is not TokenKind.NUMBER or not re.search(r"[1-9]", token.text.lower().split("e")[0])
        if divisor.form is ExpressionForm.CALL and divisor.word == "nullif" and len(divisor.operands) == 2:
            zero = divisor.operands[1]
            return self._types.type_of(divisor.operands[0]) == STRING or self._typed(zero.first, zero.last) != "0"
        return True

    def _operation(self, expression: Expression) -> str:
        operator, (left, right) = expression.word, expression.operands
        if operator in COMPARING:
            return self._spliced(expression, self._compared((left, right)))
        if operator not in ("+", "-", "*", "/", "%", "DIV"):
            return self._kept(expression)
        types = self._types.type_of(left), self._types.type_of(right)
        if STRING in types and not set(types) <= {STRING, NULL, *NUMBERS}:
            # A text beside a time or an interval becomes a time.
            self._note_unknown(left, right) if None in types else None
            return self._kept(expression)
        if operator != "/" and None in types and set(types) & {*NUMBERS, STRING}:
            self._note_unknown(*(operand for operand, t in zip((left, right), types, strict=True) if t is None))
        casts = self._float_casts((left, right)) if operator in ("+", "-", "*", "%") else {}
        first, second = (
            self._operand(operand, casts) if id(operand) in casts else self._as_double(operand)
            for operand in (left, right)
        )
        if operator in ("+", "-", "*") or not self._can_be_zero(right):
            return self._spliced(expression, [first, second])
        gap = self._text[self._tokens[left.last].end : self._tokens[expression.at].start]
        behind = self._text[self._tokens[expression.at].end : self._tokens[right.first].start] or " "
        reason = f"was {operator}: NULL if the divisor is 0"
        if operator == "DIV":
            return self._replaced(f"{first}{gap or ' '}DIV{behind}NULLIF({second}, 0)", reason)
        function = "try_divide" if operator == "/" else "try_mod"
        return self._replaced(f"{function}({first}{gap if gap.strip() else ''},{behind}{second})", reason)

    def _compared(self, operands: Sequence[Expression]) -> list[str]:
        """Returns operands that are compared with the first one: a text becomes what the other one is."""
        types = [self._types.type_of(operand) for operand in operands]
        others = [type_ for type_ in types if type_ not in (STRING, NULL, None)]
        if None in types and set(others) & set(NUMBERS):
            self._note_unknown(*(operand for operand, type_ in zip(operands, types, strict=True) if type_ is None))
            return [self._written(operand) for operand in operands]
        if STRING not in types or not others or any("<" in type_ for type_ in others):
            casts = {} if all(map(self._is_short, operands)) else self._float_casts(operands)
            return [self._operand(operand, casts) for operand in operands]
        if len(set(others)) > 1:
            self.problems["BETWEEN compares a text with values of several types: cast the text"] = None
            return [self._written(operand) for operand in operands]
        target = "double" if self._is_hive and others[0] in NUMBERS else others[0]
        return [
            self._as_type(operand, target) if type_ == STRING else self._written(operand)
            for operand, type_ in zip(operands, types, strict=True)
        ]

    def _is_short(self, operand: Expression) -> bool:
        """Tests whether an operand is no integer, or one that FLOAT has exactly."""
        typed = self._typed(operand.first, operand.last)
        return self._types.type_of(operand) not in INTEGERS or re.fullmatch(r"-?[0-9]{1,7}", typed) is not None

    def _index(self, expression: Expression) -> str:
        base, index = expression.operands
        type_ = self._types.type_of(base)
        if type_ is None or not type_.startswith("array<"):
            return self._kept(expression)
        written = f"get({self._written(base)}, {self._written(index)})"
        return self._replaced(written, "was […]: NULL behind the end")
