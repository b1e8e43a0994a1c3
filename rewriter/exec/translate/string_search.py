"""Functions that find and replace parts of strings, for the allow-list of ``expressions``."""

from __future__ import annotations

from sqlglot import exp

from rewriter.exec.sql_types import INT, STRING, VOID
from rewriter.exec.translate.casts import plain_cast, string_literal
from rewriter.exec.translate.expressions import Expressions, Scope, Translation, Typed, call, functions
from rewriter.exec.translate.string_functions import count, text

_MOST_ARGUMENTS = 1000


def _name(e: Expressions, node: exp.Expr) -> str:
    return str(e.text.called(node))


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
        return Typed(_found(part, string), INT, call(function, part.name, string.name, "1"))
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
    # A negative length is that of the replacement.
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


def _sha2(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    string, length = e.arguments(node, 2)
    value, bits = text(e, string, scope), e.translate(length, scope)
    name = call("sha2", value.name, bits.name)
    if bits.type == VOID or (bits.digits is not None and bits.digits not in (0, 224, 256, 384, 512)):
        return Typed(plain_cast("NULL", STRING), STRING, name)
    if bits.digits not in (0, 256):
        e.refuse(node, "SHA2 of other than 256 bits")
    return Typed(f"sha256({value.sql})", STRING, name)


def _base64(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``base64(s)``: lines of 76 characters."""
    value = text(e, e.arguments(node, 1)[0], scope)
    broken, line_end = string_literal("\\1\r\n"), string_literal("\r\n")
    sql = f"rtrim(regexp_replace(to_base64(encode({value.sql})), '(.{{76}})', {broken}, 'g'), {line_end})"
    return Typed(sql, STRING, call("base64", value.name))


def _lengths(template: str) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        value = text(e, e.arguments(node, 1)[0], scope)
        return Typed(plain_cast(template.format(value.sql), INT), INT, call(_name(e, node), value.name))

    return translate


FUNCTIONS = functions(
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
    ("sha2(s, bits)", _sha2, "other than 0 and 256 bits"),
    ("base64(s)", _base64),
    ("bit_length(s)", _lengths("8 * strlen({0})")),
)
