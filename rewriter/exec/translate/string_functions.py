"""Functions of strings, for the allow-list of ``expressions``."""

from __future__ import annotations

from sqlglot import exp

from rewriter.exec.sql_types import BIGINT, BOOLEAN, INT, STRING, VOID
from rewriter.exec.translate.allowlist_entries import Entry
from rewriter.exec.translate.casts import plain_cast
from rewriter.exec.translate.expressions import Allowed, Expressions, Scope, Translation, Typed, call, functions

#: Text that DuckDB and Java map to upper or lower case alike. Other text is an error at run time.
_CASED = (
    r"'[\x00-\x7f\x{a0}-\x{b4}\x{b6}-\x{de}\x{e0}-\x{fe}\x{100}-\x{12f}\x{131}-\x{148}\x{14a}-\x{17f}"
    r"\x{410}-\x{44f}\x{2000}-\x{206f}\x{3000}-\x{30ff}\x{4e00}-\x{9fff}\x{1f300}-\x{1f64f}]*'"
)
_MAX_ARGUMENTS = 1000
_BIT_OPERATORS = (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseLeftShift, exp.BitwiseRightShift)
_TRIMS = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}


def text(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates an argument to a string. Values that Spark casts to one implicitly (numbers, dates) are cast."""
    value = e.translate(node, scope)
    return Typed(e.cast(value, STRING, node), STRING, value.name, value.text)


def count(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates a number of characters."""
    value = e.translate(node, scope)
    if not (value.type.is_integer and value.type != BIGINT) and value.type != VOID:
        e.refuse(node, f"A {value.type} where an INT is needed")
    return Typed(plain_cast(value.sql, INT), INT, value.name, digits=value.digits)


def _name(e: Expressions, node: exp.Expr) -> str:
    return str(e.text.called(node))


def _direct(template: str, argument_count: int = 1, spark: str | None = None, result: str = "string") -> Translation:
    """Returns the translation of a function of strings alone, which DuckDB also has. ``{0}``, ``{1}`` represent its
    arguments.
    """
    type_ = {"string": STRING, "int": INT, "boolean": BOOLEAN}[result]

    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        values = [text(e, argument, scope) for argument in e.arguments(node, argument_count)]
        sql = template.format(*(value.sql for value in values))
        name = call(spark or _name(e, node), *(value.name for value in values))
        return Typed(plain_cast(sql, type_), type_, name)

    return translate


def _cased(function: str) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        value = text(e, e.arguments(node, 1)[0], scope)
        return Typed(cased_sql(function, value.sql), STRING, call(_name(e, node), value.name))

    return translate


def cased_sql(function: str, sql: str, shown: str = "") -> str:
    """Returns SQL of a text in another case. It fails for letters that the engines map differently."""
    return (
        f"CASE WHEN {sql} IS NULL OR regexp_full_match({sql}, {_CASED}, 's') "
        f"THEN {function}({sql}) ELSE error('[DUCKDB_UNSUPPORTED] {shown or function.upper()} of this text is not "
        f"supported on DuckDB: ' || {sql}) END"
    )


def _trim(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.allow_only(node, "this", "position", "expression")
    side = str(node.args.get("position") or "BOTH")
    value = text(e, node.this, scope)
    if node.args.get("expression") is not None:
        return _trimmed(side, value, text(e, node.expression, scope))
    return Typed(f"{_TRIMS[side]}({value.sql}, ' ')", STRING, call(_TRIMS[side], value.name))


def _trimmed(side: str, value: Typed, characters: Typed) -> Typed:
    """Returns a string without the given characters at its ends."""
    name = None
    if value.name is not None and characters.name is not None:
        name = f"TRIM({side} {characters.name} FROM {value.name})"
    return Typed(f"{_TRIMS[side]}({value.sql}, {characters.sql})", STRING, name)


def _trim_call(side: str) -> Translation:
    """Returns the translation of ``ltrim(s)`` and ``ltrim(characters, s)``; of ``btrim`` the characters follow."""

    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        *characters, value = (text(e, argument, scope) for argument in e.arguments(node, 1, 2))
        if not characters:
            return Typed(f"{_TRIMS[side]}({value.sql}, ' ')", STRING, call(_name(e, node), value.name))
        if side == "BOTH":
            string = characters[0]
            return Typed(f"trim({string.sql}, {value.sql})", STRING, call("btrim", string.name, value.name))
        return _trimmed(side, value, characters[0])

    return translate


def _initcap(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = text(e, e.arguments(node, 1)[0], scope)
    sql = cased_sql("rw_initcap", value.sql, "INITCAP")
    return Typed(sql, STRING, call("initcap", value.name))


def _pipes(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.allow_only(node, "this", "expression", "safe")
    if isinstance(node.expression, exp.Add | exp.Sub) or isinstance(node.this, _BIT_OPERATORS):
        # Spark reads ``a || b + c`` as ``(a || b) + c``, and ``a & b || c`` as ``a & (b || c)``.
        e.refuse(node, f"{e.text.shown(node)} without parentheses")
    return _concatenation([text(e, part, scope) for part in (node.this, node.expression)])


def _concat(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    return _concatenation([text(e, part, scope) for part in e.arguments(node, 1, _MAX_ARGUMENTS)])


def _concatenation(values: list[Typed]) -> Typed:
    return Typed(f"({' || '.join(v.sql for v in values)})", STRING, call("concat", *(v.name for v in values)))


def _text_or_array(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = e.translate(node, scope)
    return value if value.type.element == STRING else text(e, node, scope)


def _joined_elements(e: Expressions, value: Typed, separator: Typed, node: exp.Expr) -> Typed:
    """Returns the elements of an array that are not NULL as one text, or NULL without any."""
    if value.type.element is None:
        return value
    elements = f"list_filter({value.sql}, lambda x: x IS NOT NULL)"
    sql = f"CASE WHEN len({elements}) > 0 THEN array_to_string({elements}, {separator.sql}) END"
    return Typed(sql, STRING, value.name)


def _concat_ws(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    values = [_text_or_array(e, part, scope) for part in e.arguments(node, 2, _MAX_ARGUMENTS)]
    values = [values[0], *(_joined_elements(e, value, values[0], node) for value in values[1:])]
    sql = f"concat_ws({', '.join(v.sql for v in values)})"
    return Typed(sql, STRING, call("concat_ws", *(v.name for v in values)))


def _substring(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    string, start, *options = e.arguments(node, 2, 3)
    value, first = text(e, string, scope), count(e, start, scope)
    length = count(e, options[0], scope) if options else Typed("2147483647", INT, "2147483647")
    function_name = _name(e, node)
    name = call(function_name, value.name, first.name, length.name)
    if (first.digits or 0) > 0 and (not options or (length.digits or -1) >= 0):
        # Text from its middle needs none of the rules for positions below 1.
        end = f", {length.sql}" if options else ""
        return Typed(f"substring({value.sql}, {first.sql}{end})", STRING, name)
    return Typed(f"rw_substring({value.sql}, {first.sql}, {length.sql})", STRING, name)


def _unless_none(value: Typed, number_of: Typed, sql: str) -> str:
    """Returns an empty string if the number of characters is 0 or less, otherwise ``sql``."""
    return f"CASE WHEN {number_of.sql} <= 0 AND {value.sql} IS NOT NULL THEN '' ELSE {sql} END"


def _side(function: str) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        string, number = e.arguments(node, 2)
        value, number_of = text(e, string, scope), count(e, number, scope)
        sql = _unless_none(value, number_of, f"{function}({value.sql}, {number_of.sql})")
        return Typed(sql, STRING, call(function, value.name, number_of.name))

    return translate


def _padded(function: str) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        string, number, *options = e.arguments(node, 2, 3)
        value, number_of = text(e, string, scope), count(e, number, scope)
        pad = text(e, options[0], scope) if options else Typed("' '", STRING, " ", " ")
        call_sql = f"{function}({value.sql}, {number_of.sql}, {pad.sql})"
        if not pad.text:
            # Nothing is added of an empty text, and DuckDB fails.
            call_sql = f"CASE WHEN {pad.sql} = '' THEN left({value.sql}, {number_of.sql}) ELSE {call_sql} END"
        sql = _unless_none(value, number_of, call_sql)
        if options and pad.text is None:
            sql = f"CASE WHEN {pad.sql} IS NOT NULL THEN {sql} END"
        return Typed(sql, STRING, call(function, value.name, number_of.name, pad.name))

    return translate


def _repeat(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    string, number = e.arguments(node, 2)
    value, number_of = text(e, string, scope), count(e, number, scope)
    sql = _unless_none(value, number_of, f"repeat({value.sql}, {number_of.sql})")
    return Typed(sql, STRING, call("repeat", value.name, number_of.name))


def _replace(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    values = [text(e, part, scope) for part in e.arguments(node, 2, 3)]
    if len(values) == 2:
        values.append(Typed("''", STRING, ""))
    sql = f"replace({', '.join(value.sql for value in values)})"
    return Typed(sql, STRING, call("replace", *(value.name for value in values)))


def _translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value, before, after = (text(e, part, scope) for part in e.arguments(node, 3))
    if before.text is None or after.text is None:
        e.refuse(node, "TRANSLATE with an argument that is not a string literal")
    sql = f"translate({value.sql}, {before.sql}, {after.sql})"
    return Typed(sql, STRING, call("translate", value.name, before.name, after.name))


def _split_part(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    string, delimiter, number = e.arguments(node, 3)
    value, separator, part = text(e, string, scope), text(e, delimiter, scope), e.translate(number, scope)
    if not separator.text or not part.digits:
        e.refuse(node, "SPLIT_PART with an empty or computed delimiter, or a part that is 0 or computed,")
    sql = f"split_part({value.sql}, {separator.sql}, {part.sql})"
    return Typed(sql, STRING, call("split_part", value.name, separator.name, part.name))


_SECTION = "Strings"
_LETTERS = "letters that the engines map differently, when they occur"

NODES: dict[type[exp.Expr] | str, Allowed] = {
    exp.DPipe: Allowed(_pipes, Entry(_SECTION, "a || b", "+ or - after it without parentheses")),
    exp.Trim: Allowed(_trim, Entry(_SECTION, "trim([BOTH|LEADING|TRAILING] [characters] [FROM] s)")),
}
FUNCTIONS = functions(
    _SECTION,
    ("upper(s)", _cased("upper"), _LETTERS),
    ("ucase(s)", _cased("upper"), _LETTERS),
    ("lower(s)", _cased("lower"), _LETTERS),
    ("lcase(s)", _cased("lower"), _LETTERS),
    ("ltrim([characters, ]s)", _trim_call("LEADING")),
    ("rtrim([characters, ]s)", _trim_call("TRAILING")),
    ("btrim(s[, characters])", _trim_call("BOTH")),
    ("initcap(s)", _initcap, _LETTERS),
    ("length(s)", _direct("length({0})", result="int")),
    ("len(s)", _direct("length({0})", result="int")),
    ("char_length(s)", _direct("length({0})", result="int")),
    ("character_length(s)", _direct("length({0})", result="int")),
    ("octet_length(s)", _direct("strlen({0})", result="int")),
    ("ascii(s)", _direct("ascii({0})", result="int")),
    ("md5(s)", _direct("md5({0})")),
    ("sha1(s)", _direct("sha1({0})")),
    ("sha(s)", _direct("sha1({0})")),
    ("concat(a, b, …)", _concat, "arrays"),
    ("concat_ws(separator, a, b, …)", _concat_ws, "arrays of other types than STRING"),
    ("substring(s, start[, length]), substring(s FROM start [FOR length])", _substring),
    ("substr(s, start[, length])", _substring),
    ("left(s, n)", _side("left")),
    ("right(s, n)", _side("right")),
    ("lpad(s, n[, pad])", _padded("lpad")),
    ("rpad(s, n[, pad])", _padded("rpad")),
    ("repeat(s, n)", _repeat),
    ("reverse(s)", _direct("array_to_string(list_reverse(regexp_extract_all({0}, '(?s).')), '')"), "arrays"),
    ("replace(s, search[, other])", _replace),
    ("translate(s, before, after)", _translate, "before and after that are not literals"),
    (
        "split_part(s, delimiter, part)",
        _split_part,
        "an empty or computed delimiter, a computed part",
    ),
    ("startswith(s, part)", _direct("starts_with({0}, {1})", 2, result="boolean")),
    ("endswith(s, part)", _direct("ends_with({0}, {1})", 2, result="boolean")),
    ("contains(s, part)", _direct("contains({0}, {1})", 2, result="boolean")),
)
