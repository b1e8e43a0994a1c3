"""Functions of strings, for the allow-list of ``expressions``."""

from __future__ import annotations

from sqlglot import exp

from rewriter.exec.sql_types import BIGINT, BOOLEAN, INT, STRING, VOID
from rewriter.exec.translate.allowlist_entries import Entry
from rewriter.exec.translate.casts import plain_cast, string_literal
from rewriter.exec.translate.expressions import Allowed, Expressions, Scope, Translation, Typed, call, functions
from rewriter.exec.translate.patterns import groups, java_regex, replaceable

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


def _count(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
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
    value, first = text(e, string, scope), _count(e, start, scope)
    length = _count(e, options[0], scope) if options else Typed("2147483647", INT, "2147483647")
    function_name = _name(e, node)
    name = call(function_name, value.name, first.name, length.name)
    if (first.digits or 0) > 0 and (not options or (length.digits or -1) >= 0):
        # Text from its middle needs none of the rules for positions below 1.
        end = f", {length.sql}" if options else ""
        return Typed(f"substring({value.sql}, {first.sql}{end})", STRING, name)
    return Typed(f"rw_substring({value.sql}, {first.sql}, {length.sql})", STRING, name)


def _unless_none(value: Typed, count: Typed, sql: str) -> str:
    """Returns an empty string if the number of characters is 0 or less, otherwise ``sql``."""
    return f"CASE WHEN {count.sql} <= 0 AND {value.sql} IS NOT NULL THEN '' ELSE {sql} END"


def _side(function: str) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        string, number = e.arguments(node, 2)
        value, count = text(e, string, scope), _count(e, number, scope)
        sql = _unless_none(value, count, f"{function}({value.sql}, {count.sql})")
        return Typed(sql, STRING, call(function, value.name, count.name))

    return translate


def _padded(function: str) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        string, number, *options = e.arguments(node, 2, 3)
        value, count = text(e, string, scope), _count(e, number, scope)
        pad = text(e, options[0], scope) if options else Typed("' '", STRING, " ", " ")
        if not pad.text:
            e.refuse(node, f"{function.upper()} with an argument that is not a string literal, or is empty,")
        call_sql = f"{function}({value.sql}, {count.sql}, {pad.sql})"
        sql = _unless_none(value, count, call_sql)
        return Typed(sql, STRING, call(function, value.name, count.name, pad.name))

    return translate


def _repeat(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    string, number = e.arguments(node, 2)
    value, count = text(e, string, scope), _count(e, number, scope)
    sql = _unless_none(value, count, f"repeat({value.sql}, {count.sql})")
    return Typed(sql, STRING, call("repeat", value.name, count.name))


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


def _position_of(swapped: bool) -> Translation:
    """Returns the translation of ``instr(string, part)``; ``locate`` and ``position`` take the part first."""

    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        first, second = (text(e, part, scope) for part in e.arguments(node, 2))
        string, part = (second, first) if swapped else (first, second)
        names = (first.name, second.name, "1") if swapped else (first.name, second.name)
        sql = f"CASE WHEN {part.sql} = '' AND {string.sql} IS NOT NULL THEN 1 ELSE instr({string.sql}, {part.sql}) END"
        return Typed(plain_cast(sql, INT), INT, call(_name(e, node), *names))

    return translate


def _split_part(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    string, delimiter, number = e.arguments(node, 3)
    value, separator, part = text(e, string, scope), text(e, delimiter, scope), e.translate(number, scope)
    if not separator.text or not part.digits:
        e.refuse(node, "SPLIT_PART with an empty or computed delimiter, or a part that is 0 or computed,")
    sql = f"split_part({value.sql}, {separator.sql}, {part.sql})"
    return Typed(sql, STRING, call("split_part", value.name, separator.name, part.name))


def _rlike(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.allow_only(node, "this", "expression")
    return _regex_search(e, node, node.this, node.expression, "RLIKE", scope)


def _regexp_like(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    string, pattern = e.arguments(node, 2)
    return _regex_search(e, node, string, pattern, _name(e, node).upper(), scope)


def _regex_search(
    e: Expressions, node: exp.Expr, string: exp.Expr, regex: exp.Expr, function: str, scope: Scope
) -> Typed:
    value, pattern = text(e, string, scope), e.translate(regex, scope)
    if pattern.type == VOID:
        return Typed(plain_cast(pattern.sql, BOOLEAN), BOOLEAN, call(function, value.name, pattern.name))
    translated = java_regex(pattern.text) if pattern.text is not None else None
    if translated is None:
        e.refuse(node, f"The regular expression {e.text.shown(regex)}")
    name = call(function, value.name, pattern.text)
    return Typed(f"regexp_matches({value.sql}, {string_literal(translated)})", BOOLEAN, name)


def _regex(e: Expressions, node: exp.Expr, pattern: exp.Expr, scope: Scope) -> tuple[Typed, str]:
    """Returns a pattern whose matches, not only their existence, are those of Java."""
    value = e.translate(pattern, scope)
    translated = java_regex(value.text) if value.text is not None and replaceable(value.text) else None
    if translated is None:
        e.refuse(node, f"The regular expression {e.text.shown(pattern)} in {_name(e, node).upper()}")
    return value, translated


def _regexp_extract(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    string, regex, *options = e.arguments(node, 2, 3)
    value = text(e, string, scope)
    pattern, translated = _regex(e, node, regex, scope)
    group = e.translate(options[0], scope).digits if options else 1
    if group is None or not 0 <= group <= groups(str(pattern.text)):
        e.refuse(node, "REGEXP_EXTRACT of a group that is not in the pattern")
    sql = f"regexp_extract({value.sql}, {string_literal(translated)}, {group})"
    return Typed(sql, STRING, call("regexp_extract", value.name, pattern.name, str(group)))


def _regexp_replace(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    string, regex, replacement = e.arguments(node, 3)
    value, other = text(e, string, scope), text(e, replacement, scope)
    pattern, translated = _regex(e, node, regex, scope)
    if other.text is None or "$" in other.text or "\\" in other.text:
        e.refuse(node, f"The replacement {e.text.shown(replacement)}")
    sql = f"regexp_replace({value.sql}, {string_literal(translated)}, {other.sql}, 'g')"
    return Typed(sql, STRING, call("regexp_replace", value.name, pattern.name, other.name, "1"))


_SECTION = "Strings"
_LETTERS = "letters that the engines map differently, when they occur"
_PATTERN = "patterns other than those below"

NODES: dict[type[exp.Expr] | str, Allowed] = {
    exp.DPipe: Allowed(_pipes, Entry(_SECTION, "a || b", "+ or - after it without parentheses")),
    exp.Trim: Allowed(_trim, Entry(_SECTION, "trim([BOTH|LEADING|TRAILING] [characters] [FROM] s)")),
    exp.RegexpLike: Allowed(_rlike, Entry(_SECTION, "s RLIKE 'regex', rlike(s, 'regex')", _PATTERN)),
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
    ("substring(s, start[, length])", _substring),
    ("substr(s, start[, length])", _substring),
    ("left(s, n)", _side("left")),
    ("right(s, n)", _side("right")),
    ("lpad(s, n[, pad])", _padded("lpad"), "a pad that is empty or not a literal"),
    ("rpad(s, n[, pad])", _padded("rpad"), "a pad that is empty or not a literal"),
    ("repeat(s, n)", _repeat),
    ("reverse(s)", _direct("array_to_string(list_reverse(regexp_extract_all({0}, '(?s).')), '')"), "arrays"),
    ("replace(s, search[, other])", _replace),
    ("translate(s, before, after)", _translate, "before and after that are not literals"),
    ("instr(s, part)", _position_of(False)),
    ("locate(part, s)", _position_of(True), "a third argument"),
    ("position(part, s)", _position_of(True), "a third argument; position(part IN s)"),
    (
        "split_part(s, delimiter, part)",
        _split_part,
        "an empty or computed delimiter, a computed part",
    ),
    ("startswith(s, part)", _direct("starts_with({0}, {1})", 2, result="boolean")),
    ("endswith(s, part)", _direct("ends_with({0}, {1})", 2, result="boolean")),
    ("contains(s, part)", _direct("contains({0}, {1})", 2, result="boolean")),
    ("regexp_like(s, 'regex')", _regexp_like, _PATTERN),
    ("regexp_extract(s, 'regex'[, group])", _regexp_extract, f"{_PATTERN}, $, repeated groups"),
    ("regexp_replace(s, 'regex', other)", _regexp_replace, f"{_PATTERN}, $, repeated groups, matches of nothing"),
)
