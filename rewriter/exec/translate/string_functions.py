"""Functions of strings, for the allow-list of ``expressions``."""

from __future__ import annotations

import re

from sqlglot import exp

from rewriter.exec.sql_types import BIGINT, BINARY, BOOLEAN, DOUBLE, INT, MAX_PRECISION, STRING, VOID, array_of, decimal
from rewriter.exec.translate.allowlist_entries import Entry
from rewriter.exec.translate.casts import plain_cast, string_literal
from rewriter.exec.translate.expressions import Allowed, Expressions, Scope, Translation, Typed, call, functions
from rewriter.exec.translate.nested_constructors import concatenated_arrays
from rewriter.exec.translate.patterns import groups, java_regex, java_replacement, replaceable
from rewriter.lazy_dataclass import dataclass

# Functions of regular expressions, for the allow-list of ``expressions``.


def _name(e: Expressions, node: exp.Expr) -> str:
    return str(e.text.called(node))


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


#: The end of a text that does not end with a line end.
_END = r"\z"


def _regex(e: Expressions, node: exp.Expr, pattern: exp.Expr, scope: Scope) -> tuple[Typed, str]:
    """Returns a pattern whose matches, not only their existence, are Java's."""
    value = e.translate(pattern, scope)
    translated = java_regex(value.text, _END) if value.text is not None else None
    if translated is None or not replaceable(value.text or "", with_end=True):
        e.refuse(node, f"The regular expression {e.text.shown(pattern)} in {_name(e, node).upper()}")
    return value, translated


def _without_line_end(value: Typed, pattern: Typed, sql: str) -> str:
    """Returns SQL that is an error for a text that ends with a line end, before which ``$`` matches, too."""
    return f"rw_without_line_end({value.sql}, {sql})" if "$" in str(pattern.text) else sql


def _matched_group(e: Expressions, node: exp.Expr, scope: Scope) -> tuple[Typed, Typed, str, int]:
    """Returns the arguments of REGEXP_EXTRACT and REGEXP_EXTRACT_ALL: the string, the pattern, the same for DuckDB, and
    the number of a group in it.
    """
    string, regex, *options = e.arguments(node, 2, 3)
    value = text(e, string, scope)
    pattern, translated = _regex(e, node, regex, scope)
    group = e.translate(options[0], scope).digits if options else 1
    if group is None or not 0 <= group <= groups(str(pattern.text)):
        e.refuse(node, f"{_name(e, node).upper()} of a group that is not in the pattern")
    return value, pattern, translated, group


def _regexp_extract(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value, pattern, translated, group = _matched_group(e, node, scope)
    sql = _without_line_end(value, pattern, f"regexp_extract({value.sql}, {string_literal(translated)}, {group})")
    return Typed(sql, STRING, call("regexp_extract", value.name, pattern.name, str(group)))


def _regexp_replace(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    string, regex, replacement = e.arguments(node, 3)
    value, other = text(e, string, scope), text(e, replacement, scope)
    pattern, translated = _regex(e, node, regex, scope)
    rewritten = None if other.text is None else java_replacement(other.text, groups(str(pattern.text)))
    if rewritten is None:
        e.refuse(node, f"The replacement {e.text.shown(replacement)}")
    sql = f"regexp_replace({value.sql}, {string_literal(translated)}, {string_literal(rewritten)}, 'g')"
    sql = _without_line_end(value, pattern, sql)
    return Typed(sql, STRING, call("regexp_replace", value.name, pattern.name, other.name))


def _regexp_count(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    string, regex = e.arguments(node, 2)
    value = text(e, string, scope)
    pattern, translated = _regex(e, node, regex, scope)
    sql = f"len(regexp_extract_all({value.sql}, {string_literal(translated)}))"
    sql = _without_line_end(value, pattern, sql)
    return Typed(plain_cast(sql, INT), INT, call("regexp_count", value.name, pattern.name))


def _regexp_substr(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    string, regex = e.arguments(node, 2)
    value = text(e, string, scope)
    pattern, translated = _regex(e, node, regex, scope)
    # No match is empty.
    sql = f"nullif(regexp_extract({value.sql}, {string_literal(translated)}), '')"
    sql = _without_line_end(value, pattern, sql)
    return Typed(sql, STRING, call("regexp_substr", value.name, pattern.name))


def _regexp_instr(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    string, regex, *options = e.arguments(node, 2, 3)
    value = text(e, string, scope)
    if options and e.translate(options[0], scope).digits != 0:
        e.refuse(node, "REGEXP_INSTR of a group")
    pattern, translated = _regex(e, node, regex, scope)
    before = string_literal(f"(?s:\\A(.*?))(?:{translated})")
    sql = (
        f"CASE WHEN regexp_matches({value.sql}, {string_literal(translated)}) "
        f"THEN length(regexp_extract({value.sql}, {before}, 1)) + 1 WHEN {value.sql} IS NOT NULL THEN 0 END"
    )
    sql = _without_line_end(value, pattern, sql)
    return Typed(plain_cast(sql, INT), INT, call("regexp_instr", value.name, pattern.name, "0"))


def _regexp_extract_all(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value, pattern, translated, group = _matched_group(e, node, scope)
    sql = f"regexp_extract_all({value.sql}, {string_literal(translated)}, {group})"
    sql = _without_line_end(value, pattern, sql)
    return Typed(sql, array_of(STRING), call("regexp_extract_all", value.name, pattern.name, str(group)))


_SECTION = "Strings"
_PATTERN = "patterns other than those below"
_MATCHES = (
    f"{_PATTERN}, a repeated group with a repetition in it, matches of nothing; $ in a pattern if a text ends with a "
    "line end, when it occurs"
)
_REPLACED = f"{_MATCHES}; ${{name}}; a position"
REGULAR_EXPRESSION_NODES: dict[type[exp.Expr] | str, Allowed] = {
    exp.RegexpLike: Allowed(_rlike, Entry(_SECTION, "s RLIKE 'regex', rlike(s, 'regex')", _PATTERN)),
}
REGULAR_EXPRESSION_FUNCTIONS = functions(
    _SECTION,
    ("regexp_like(s, 'regex')", _regexp_like, _PATTERN),
    ("regexp_extract(s, 'regex'[, group])", _regexp_extract, _MATCHES),
    ("regexp_extract_all(s, 'regex'[, group])", _regexp_extract_all, _MATCHES),
    ("regexp_replace(s, 'regex', other)", _regexp_replace, _REPLACED),
    ("regexp_count(s, 'regex')", _regexp_count, _MATCHES),
    ("regexp_substr(s, 'regex')", _regexp_substr, _MATCHES),
    ("regexp_instr(s, 'regex'[, 0])", _regexp_instr, _MATCHES),
)


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
    if value.type.is_nested:
        e.refuse(node, f"{value.type} where a STRING is needed")
    return Typed(e.cast(value, STRING, node), STRING, value.name, value.text)


def count(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates a number of characters."""
    value = e.translate(node, scope)
    if not (value.type.is_integer and value.type != BIGINT) and value.type != VOID:
        e.refuse(node, f"A {value.type} where an INT is needed")
    return Typed(plain_cast(value.sql, INT), INT, value.name, digits=value.digits)


def _length(template: str) -> Translation:
    """Translates the length of a text, in characters or bytes, or of a BINARY in bytes."""

    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        (argument,) = e.arguments(node, 1)
        value = e.translate(argument, scope)
        if value.type == BINARY:
            return Typed(plain_cast(f"octet_length({value.sql})", INT), INT, call(_name(e, node), value.name))
        return of_text(e, node, scope)

    of_text = _direct(template, result="int")
    return translate


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
        name = call(_name(e, node), value.name)
        if value.text is not None and value.text.isascii():
            literal = value.text.lower() if function == "lower" else value.text.upper()
            return Typed(string_literal(literal), STRING, name, text=literal)
        return Typed(cased_sql(function, value.sql), STRING, name)

    return translate


def cased_sql(function: str, sql: str, shown: str = "") -> str:
    """Returns SQL of a text in another case. It fails for letters that the engines map differently. A text of ASCII, as
    long in bytes as in characters, is not compared with the pattern, which would take longer than the query.
    """
    return (
        f"CASE WHEN strlen({sql}) > length({sql}) AND NOT regexp_full_match({sql}, {_CASED}, 's') "
        f"THEN error('[DUCKDB_UNSUPPORTED] {shown or function.upper()} of this text is not supported on DuckDB: ' || "
        f"{sql}) ELSE {function}({sql}) END"
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
    parts = e.arguments(node, 1, _MAX_ARGUMENTS)
    values = [e.translate(part, scope) for part in parts]
    if any(value.type.element is not None for value in values):
        return concatenated_arrays(e, node, values)
    return _concatenation([text(e, part, scope) for part in parts])


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
    ("length(s)", _length("length({0})")),
    ("len(s)", _length("length({0})")),
    ("char_length(s)", _length("length({0})")),
    ("character_length(s)", _length("length({0})")),
    ("octet_length(s)", _length("strlen({0})")),
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


# Functions that find and replace parts of strings, for the allow-list of ``expressions``.

_MOST_ARGUMENTS = 1000


def _instr(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    string, part = (text(e, argument, scope) for argument in e.arguments(node, 2))
    return Typed(_found(part, string), INT, call("instr", string.name, part.name))


def _locate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``locate(part, s[, start])``, ``position(part, s)`` and ``position(part IN s)``."""
    function, arguments = _name(e, node), e.arguments(node, 1, 3)
    if len(arguments) == 1:
        (inside,) = arguments
        if function != "position" or not isinstance(inside, exp.In) or inside.args.get("field") is None:
            e.arguments(node, 2, 3)
        e.allow_only(inside, "this", "field")
        function, arguments = "locate", [inside.this, inside.args["field"]]
    part, string = (text(e, argument, scope) for argument in arguments[:2])
    if len(arguments) == 2:
        return Typed(_found(part, string), INT, call(function, part.name, string.name))
    start = count(e, arguments[2], scope)
    sql = f"rw_locate({part.sql}, {string.sql}, {start.sql})"
    return Typed(plain_cast(sql, INT), INT, call(function, part.name, string.name, start.name))


def _found(part: Typed, string: Typed) -> str:
    sql = f"CASE WHEN {part.sql} = '' AND {string.sql} IS NOT NULL THEN 1 ELSE instr({string.sql}, {part.sql}) END"
    return plain_cast(sql, INT)


def _substring_index(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    string, delimiter, number = e.arguments(node, 3)
    value, separator, part_count = text(e, string, scope), text(e, delimiter, scope), count(e, number, scope)
    name = call("substring_index", value.name, separator.name, part_count.name)
    if e.translate(delimiter, scope).type == VOID:
        return Typed(separator.sql, STRING, name)
    if separator.text is None or _overlaps_itself(separator.text):
        e.refuse(node, "SUBSTRING_INDEX with a delimiter that is not a literal, or that may overlap itself,")
    if separator.text == "":
        sql = f"CASE WHEN {value.sql} IS NOT NULL AND {part_count.sql} IS NOT NULL THEN '' END"
    else:
        sql = f"rw_substring_index({value.sql}, {separator.sql}, {part_count.sql})"
    return Typed(plain_cast(sql, STRING), STRING, name)


def _overlaps_itself(delimiter: str) -> bool:
    """Tests whether a delimiter begins as it ends: Spark also finds the second one of ``aa`` in ``aaa``."""
    return any(delimiter.startswith(delimiter[place:]) for place in range(1, len(delimiter)))


def _overlay(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    string, other, start, *options = e.arguments(node, 3, 4)
    value, replacement, first = text(e, string, scope), text(e, other, scope), count(e, start, scope)
    length = count(e, options[0], scope) if options else Typed("CAST(-1 AS INTEGER)", INT, "-1")
    # A negative length is the length of the replacement.
    sql = f"rw_overlay({value.sql}, {replacement.sql}, {first.sql}, {length.sql})"
    return Typed(sql, STRING, call("overlay", value.name, replacement.name, first.name, length.name))


def _find_in_set(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    word, words = (text(e, argument, scope) for argument in e.arguments(node, 2))
    sql = (
        f"CASE WHEN {word.sql} IS NOT NULL AND {words.sql} IS NOT NULL "
        f"THEN coalesce(list_position(string_split({words.sql}, ','), {word.sql}), 0) END"
    )
    return Typed(plain_cast(sql, INT), INT, call("find_in_set", word.name, words.name))


def _elt(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    number, *strings = e.arguments(node, 2, _MOST_ARGUMENTS)
    place, values = count(e, number, scope), [text(e, string, scope) for string in strings]
    arms = " ".join(f"WHEN {place.sql} = {index} THEN {value.sql}" for index, value in enumerate(values, start=1))
    failure = (
        f"error('[INVALID_ARRAY_INDEX] ELT has {len(values)} values, and none at the index ' || {place.sql} || '.')"
    )
    sql = f"CASE WHEN {place.sql} IS NULL THEN NULL {arms} ELSE {failure} END"
    return Typed(plain_cast(sql, STRING), STRING, call("elt", place.name, *(value.name for value in values)))


def _levenshtein(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, second, *options = e.arguments(node, 2, 3)
    values = [text(e, argument, scope) for argument in (first, second)]
    sql = f"levenshtein({values[0].sql}, {values[1].sql})"
    names = [value.name for value in values]
    if options:
        most = e.translate(options[0], scope)
        if most.digits is None or most.digits < 0:
            e.refuse(node, "LEVENSHTEIN with a threshold that is not a literal")
        sql = f"CASE WHEN {sql} > {most.digits} THEN -1 ELSE {sql} END"
        names.append(most.name)
    return Typed(plain_cast(sql, INT), INT, call("levenshtein", *names))


def _space(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    number = count(e, e.arguments(node, 1)[0], scope)
    sql = f"CASE WHEN {number.sql} <= 0 THEN '' ELSE repeat(' ', {number.sql}) END"
    return Typed(plain_cast(sql, STRING), STRING, call("space", number.name))


def _chr(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``chr(n)``: the character of the lowest eight bits, and nothing for a negative number."""
    value = e.translate(e.arguments(node, 1)[0], scope)
    if not value.type.is_integer:
        e.refuse(node, f"{_name(e, node).upper()} of {value.type}")
    sql = f"CASE WHEN {value.sql} < 0 THEN '' ELSE chr(CAST({value.sql} & 255 AS INTEGER)) END"
    return Typed(plain_cast(sql, STRING), STRING, call(_name(e, node), value.name))


def _base64(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``base64(s)``: lines of 76 characters."""
    value = e.translate(e.arguments(node, 1)[0], scope)
    octets = value.sql if value.type == BINARY else f"encode({e.cast(value, STRING, node)})"
    broken, line_end = string_literal("\\1\r\n"), string_literal("\r\n")
    sql = f"rtrim(regexp_replace(to_base64({octets}), '(.{{76}})', {broken}, 'g'), {line_end})"
    return Typed(sql, STRING, call("base64", value.name))


def _lengths(template: str) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        value = text(e, e.arguments(node, 1)[0], scope)
        return Typed(plain_cast(template.format(value.sql), INT), INT, call(_name(e, node), value.name))

    return translate


STRING_SEARCH_FUNCTIONS = functions(
    "Strings",
    ("instr(s, part)", _instr),
    ("locate(part, s[, start])", _locate),
    ("position(part, s[, start]), position(part IN s)", _locate),
    ("substring_index(s, delimiter, n)", _substring_index, "a delimiter that is not a literal, or overlaps itself"),
    ("overlay(s PLACING t FROM start [FOR length]), overlay(s, t, start[, length])", _overlay),
    ("find_in_set(s, 'a,b,…')", _find_in_set),
    ("elt(n, a, b, …)", _elt),
    ("levenshtein(s, t[, most])", _levenshtein, "a threshold that is not a literal"),
    ("space(n)", _space),
    ("chr(n)", _chr),
    ("char(n)", _chr),
    ("base64(s)", _base64),
    ("bit_length(s)", _lengths("8 * strlen({0})")),
)


# Numbers and texts by a format, for the allow-list of ``expressions``.

_DIRECTIVE = re.compile(r"%(?:%|([-0,]?)([1-9]\d{0,2})?(?:\.(\d{1,2}))?([sdf]))", re.ASCII)
_TEXT_FORMAT_MOST_ARGUMENTS = 100
#: Digits behind the point that a double below 2^53 leaves in a decimal.
_MOST_PLACES = MAX_PRECISION - 18
_MOST_DOUBLE_PLACES = 15


@dataclass(frozen=True)
class _Directive:
    """``%-5s`` and the like."""

    flag: str
    width: int
    places: int | None
    conversion: str


def _pieces(format: str) -> list[str | _Directive] | None:
    """Returns the texts and directives of a format; ``None`` if it has others than the ones of the list."""
    pieces: list[str | _Directive] = []
    position = 0
    for match in _DIRECTIVE.finditer(format):
        pieces.append(format[position : match.start()])
        position = match.end()
        flag, width, places, conversion = match.groups()
        if conversion is None:
            pieces.append("%")
            continue
        if (conversion == "f") != (places is not None) or (flag in ("-", "0") and width is None):
            return None
        if (flag == "0" and conversion != "d") or (flag == "," and conversion == "s"):
            return None
        pieces.append(_Directive(flag or "", int(width or 0), None if places is None else int(places), conversion))
    pieces.append(format[position:])
    return None if any("%" in piece and piece != "%" for piece in pieces if isinstance(piece, str)) else pieces


def _format_string(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, *arguments = e.arguments(node, 1, _TEXT_FORMAT_MOST_ARGUMENTS)
    format, values = e.translate(first, scope), [e.translate(argument, scope) for argument in arguments]
    pieces = None if format.text is None else _pieces(format.text)
    directives = [piece for piece in pieces or () if isinstance(piece, _Directive)]
    if pieces is None or len(directives) != len(values):
        e.refuse(node, f"The format {e.text.shown(first)}")
    remaining = iter(values)
    parts = [
        _formatted(e, node, next(remaining), piece) if isinstance(piece, _Directive) else string_literal(piece)
        for piece in pieces
        if piece
    ]
    name = call(str(e.text.called(node)), format.name, *(value.name for value in values))
    return Typed(f"({' || '.join(parts) or string_literal('')})", STRING, name)


#: Java writes a decimal of more places with an exponent, if it is small.
_MOST_PLAIN_PLACES = 6


def _formatted(e: Expressions, node: exp.Expr, value: Typed, directive: _Directive) -> str:
    """Returns the text of a value. NULL is ``null``."""
    null = "'null'"
    if directive.conversion == "s":
        if value.type not in (STRING, BOOLEAN, VOID) and not value.type.is_numeric:
            e.refuse(node, f"{value.type} by %s")
        if value.type.name == "decimal" and value.type.scale > _MOST_PLAIN_PLACES:
            e.refuse(node, f"{value.type} by %s")
        sql = e.cast(value, STRING, node)
    elif directive.conversion == "d":
        if not value.type.is_integer:
            e.refuse(node, f"{value.type} by %d")
        sql = plain_cast(value.sql, STRING)
        sql = f"rw_grouped({sql})" if directive.flag == "," else sql
        sql = f"rw_zero_filled({sql}, {directive.width})" if directive.flag == "0" else sql
    else:
        places = directive.places or 0
        if value.type != DOUBLE or places > _MOST_PLACES:
            e.refuse(node, f"{value.type} by %.{places}f")
        rounded = plain_cast(plain_cast(f"abs({value.sql})", STRING), decimal(MAX_PRECISION, places))
        sql = f"rw_fixed_double({value.sql}, CASE WHEN abs({value.sql}) < 9007199254740992 THEN {rounded} END)"
        sql = f"rw_grouped_number({sql})" if directive.flag == "," else sql
        null = string_literal("null"[:places])
    sql = f"coalesce({sql}, {null})"
    if directive.width and directive.flag != "0":
        return f"rw_wide({sql}, {directive.width}, {'true' if directive.flag == '-' else 'false'})"
    return f"rw_wide({sql}, {directive.width}, false)" if directive.width else sql


def _format_number(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``format_number(x, places)``, which rounds half to even."""
    first, second = e.arguments(node, 2)
    value, places = e.translate(first, scope), e.translate(second, scope)
    name = call("format_number", value.name, places.name)
    if value.type == VOID or (places.digits or 0) < 0:
        return Typed(plain_cast("NULL", STRING), STRING, name)
    if places.digits is None or places.digits > _MOST_PLACES:
        e.refuse(node, "FORMAT_NUMBER to other than a literal number of digits")
    zeros = f"'{'.' * (places.digits > 0)}{'0' * places.digits}'"
    if value.type.is_integer:
        return Typed(f"(rw_grouped({plain_cast(plain_cast(value.sql, BIGINT), STRING)}) || {zeros})", STRING, name)
    if value.type == DOUBLE and places.digits <= _MOST_DOUBLE_PLACES:
        format = string_literal(f"{{:,.{places.digits}f}}")
        return Typed(f"rw_format_double({value.sql}, {format}, {places.digits})", STRING, name)
    if not value.type.is_decimal:
        e.refuse(node, f"FORMAT_NUMBER of {value.type}")
    return Typed(_grouped_decimal(value, places.digits, zeros), STRING, name)


def _grouped_decimal(value: Typed, places: int, zeros: str) -> str:
    """Returns a decimal rounded half to even. A negative one keeps its sign, even if its digits are zeros."""
    scale = value.type.scale
    digits = f"rw_unscaled({value.sql})"
    if scale > places:
        digits = f"rw_even_quotient({digits}, CAST('1{'0' * (scale - places)}' AS HUGEINT))"
        scale = places
    text = f"rw_scaled(abs({digits}), {scale})" if scale else plain_cast(f"abs({digits})", STRING)
    filled = "" if places == scale else f" || '{'.' * (scale == 0)}{'0' * (places - scale)}'"
    return f"(CASE WHEN {value.sql} < 0 THEN '-' ELSE '' END || rw_grouped_number({text}){filled})"


TEXT_FORMAT_FUNCTIONS = functions(
    "Strings",
    ("format_string('format', x, …)", _format_string, "other than `%s %d %.nf %%` with a width, `-`, `0` or `,`"),
    ("printf('format', x, …)", _format_string, "as FORMAT_STRING"),
    ("format_number(x, places)", _format_number, "FLOAT; DOUBLE of more than 15 digits, when it occurs; a format"),
)
