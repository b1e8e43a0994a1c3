"""What to write for statements that are refused.

A rule gets a statement with the error that refused it. It returns the statement that does the same here, or the
reason why there is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING

from rewriter.convert.column_types import INTEGERS, STRING
from rewriter.convert.comments import commented_out, inline_comment, line_comment, removed
from rewriter.convert.script_state import ANSI, ConversionProblem, KnownTable, ScriptState
from rewriter.convert.time_patterns import POLICY
from rewriter.data_formats import REFUSED_FORMATS
from rewriter.errors import Error, Span
from rewriter.grammar.lexer import Token, TokenKind, identifier_value, tokens
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.text_variables import mask_references

if TYPE_CHECKING:
    from rewriter.grammar.families.settings import SetSetting


class ReplacedPart(Enum):
    """Whether the new text replaces the statement alone, or also its ``;``."""

    STATEMENT = "statement"
    WITH_END = "with end"


@dataclass(frozen=True)
class Replaced:
    """The text in place of a statement: one statement or more."""

    text: str
    scope: ReplacedPart = ReplacedPart.STATEMENT


_Outcome = Replaced | ConversionProblem
#: A statement as typed, its tokens, the error that refused it, and the script so far.
Rule = Callable[[str, Sequence[Token], Error, ScriptState], _Outcome | None]

#: The settings that only refuse statements, or change no row: what is lost without them.
_CHECKS = {
    "hive.exec.dynamic.partition": "it only refuses inserts",
    "hive.exec.dynamic.partition.mode": "it only refuses inserts",
    "hive.mapred.mode": "it only refuses queries",
    "hive.default.fileformat": "rows do not depend on the format of a table",
    "hive.default.fileformat.managed": "rows do not depend on the format of a table",
    "spark.sql.hive.convertmetastoreparquet": "rows do not depend on the reader",
}
_REGEX_COLUMNS = ("hive.support.quoted.identifiers", "spark.sql.parser.quotedregexcolumnnames")
#: Statements without an effect on rows, by their first words, and why they are removed.
_NO_EFFECT = (
    (("CREATE", "INDEX"), "there are no indexes"),
    (("DROP", "INDEX"), "there are no indexes"),
    (("LOCK",), "a statement sees one snapshot"),
    (("UNLOCK",), "a statement sees one snapshot"),
    (("ADD", "JAR"), "programs in Java are not loaded"),
    (("ADD", "JARS"), "programs in Java are not loaded"),
    (("LIST", "JARS"), "programs in Java are not loaded"),
    (("DELETE", "JAR"), "programs in Java are not loaded"),
)
#: Where the hint of the product would not say what to do in a script.
_PROBLEMS = {
    "UPDATE": "Rewrite the table or the partition: INSERT OVERWRITE t SELECT …, with CASE for the changed column.",
    "MERGE": "Rewrite the partition: INSERT OVERWRITE t SELECT … FROM the new rows UNION ALL SELECT … the old rows "
    "that have no new one.",
    "DFS": "Run it outside of the script: hadoop fs, or a command of the store.",
    "!": "Run the command outside of the script.",
}
_EXITS = ("QUIT", "EXIT")
_CONSTRAINT_WORDS = ("DISABLE", "ENABLE", "NOVALIDATE", "VALIDATE", "RELY", "NORELY", "ENFORCED")


def converted_refusal(typed: str, lexed: Sequence[Token], error: Error, state: ScriptState) -> _Outcome:
    """Returns what stands in place of a refused statement, or why nothing does.

    ``lexed`` are the tokens of the statement, ``error`` has its position in it.
    """
    for rule in _RULES:
        outcome = rule(typed, lexed, error, state)
        if outcome is not None:
            return outcome
    hint = _PROBLEMS.get(lexed[0].upper, error.hint or "")
    return ConversionProblem(error.message, hint)


def _without_statement(typed: str, reason: str) -> Replaced:
    """Returns a statement as a comment."""
    return Replaced(f"{line_comment(f'removed: {reason}')}{commented_out(typed)}", ReplacedPart.WITH_END)


def _setting(typed: str, lexed: Sequence[Token], error: Error, state: ScriptState) -> _Outcome | None:
    setting = state.setting(typed)
    if setting is None or setting.key is None:
        return None
    key, value = setting.key.lower(), (setting.value or "").strip()
    if key == ANSI:
        state.is_lenient = value.lower() == "false"
        reason = "casts, divisions and calls below return NULL in place of an error by name"
        return _without_statement(typed, reason) if state.is_lenient else None
    if key == POLICY and value.upper() == "LEGACY":
        state.has_legacy_patterns = True
        return _without_statement(typed, "what a pattern of times may do otherwise is reported below")
    if key in _REGEX_COLUMNS:
        return _without_statement(typed, "columns of a regular expression are written out below")
    if key in _CHECKS or key.startswith("hive.strict."):
        return _without_statement(typed, _CHECKS.get(key, "it only refuses queries"))
    if error.condition == "UNKNOWN_SETTING":
        return _unknown_setting(typed, setting, error, state)
    return None


def _unknown_setting(typed: str, setting: SetSetting, error: Error, state: ScriptState) -> _Outcome:
    name = str(setting.key).partition(":")[2] or str(setting.key)
    if re.search(r"\$\{(?:\w+:)?\s*" + re.escape(name) + r"\s*\}", state.text):
        return ConversionProblem(error.message, error.hint or "")
    return _without_statement(typed, "there is no such setting, and no variable of the script has its name")


def _without_effect(typed: str, lexed: Sequence[Token], error: Error, state: ScriptState) -> _Outcome | None:
    for words, reason in _NO_EFFECT:
        if len(lexed) > len(words) and all(t.is_word(word) for t, word in zip(lexed, words, strict=False)):
            return _without_statement(typed, reason)
    if lexed[0].is_word("ALTER") and lexed[-1].is_word("CONCATENATE"):
        return _without_statement(typed, "VACUUM and COMPACT care for small files")
    if lexed[0].is_word(*_EXITS) and len(lexed) == 1 and state.is_last:
        return _without_statement(typed, "the script ends here")
    if lexed[0].is_operator("!") and len(lexed) > 1 and lexed[1].is_word("ECHO"):
        return _without_statement(typed, "a command of the system")
    return None


def _source(typed: str, lexed: Sequence[Token], error: Error, state: ScriptState) -> _Outcome | None:
    path = typed[lexed[0].end :].strip()
    if not lexed[0].is_word("SOURCE") or not path or "\n" in path:
        return None
    return Replaced(f"{line_comment('was source: convert this file, too')}\\i {path}", ReplacedPart.WITH_END)


def _function(typed: str, lexed: Sequence[Token], error: Error, state: ScriptState) -> _Outcome | None:
    """CREATE [TEMPORARY] FUNCTION x AS 'class', which may stay unused."""
    at = next((i for i, token in enumerate(lexed[:5]) if token.is_word("FUNCTION")), None)
    as_at = next((i for i, token in enumerate(lexed) if token.is_word("AS")), None)
    if not lexed[0].is_word("CREATE", "DROP") or at is None or at + 1 >= len(lexed):
        return None
    is_class = as_at is not None and as_at + 1 < len(lexed) and lexed[as_at + 1].kind is TokenKind.STRING
    if not is_class and not lexed[0].is_word("DROP"):
        return None
    name = identifier_value(lexed[at + 1 if as_at is None else as_at - 1])
    if re.search(rf"(?<![\w.]){re.escape(name)}\s*\(", state.text, re.IGNORECASE):
        return ConversionProblem(
            f"The function {name} is a program in Java.", "Write an SQL expression in place of its calls."
        )
    return _without_statement(typed, "no statement of the script calls the function")


def _table_clause(typed: str, lexed: Sequence[Token], error: Error, state: ScriptState) -> _Outcome | None:
    """Removes a clause of CREATE TABLE that changes no row."""
    if not lexed[0].is_word("CREATE") or error.position is None:
        return None
    at = next((i for i, token in enumerate(lexed) if token.start >= error.position.start), None)
    # PRIMARY KEY (a) begins as a column of the type KEY does.
    places = () if at is None else range(at, max(at - 6, 0), -1)
    clause = next((clause for place in places if (clause := _clause(lexed, place)) is not None), None)
    if clause is None:
        return None
    first, last, reason = clause
    span = Span(lexed[first].start, lexed[last].end)
    text = typed[: span.start] + removed(typed[span.start : span.end], reason) + typed[span.end :]
    return Replaced(text)


def _clause(lexed: Sequence[Token], at: int) -> tuple[int, int, str] | None:
    """Returns the first and the last token of the clause that begins at a token, and why it can be omitted."""
    token = lexed[at]
    if token.is_word("CLUSTERED"):
        end = next((i for i in range(at, len(lexed)) if lexed[i].is_word("BUCKETS")), None)
        return None if end is None else (at, end, "it changes no row")
    if token.is_word("SKEWED"):
        end = _parentheses(lexed, at)
        if end is not None and end + 1 < len(lexed) and lexed[end + 1].is_word("ON"):
            end = _parentheses(lexed, end + 1)
        if end is None:
            return None
        stored = [t.upper for t in lexed[end + 1 : end + 4]] == ["STORED", "AS", "DIRECTORIES"]
        return at, end + 3 if stored else end, "it changes no row"
    if token.is_word("NOT") and at + 1 < len(lexed) and lexed[at + 1].is_word("NULL"):
        return _not_null(lexed, at)
    return _constraint(lexed, at)


def _not_null(lexed: Sequence[Token], at: int) -> tuple[int, int, str]:
    """Returns NOT NULL of a partition column, and one that Hive does not check; otherwise the words behind it."""
    end = at + 1
    while end + 1 < len(lexed) and lexed[end + 1].is_word(*_CONSTRAINT_WORDS):
        end += 1
    words = lexed[at + 2 : end + 1]
    if words and not any(word.is_word("DISABLE") for word in words):
        return at + 2, end, "it is checked"
    return at, end, "it is not checked" if words else "it is not checked here"


def _constraint(lexed: Sequence[Token], at: int) -> tuple[int, int, str] | None:
    """Returns PRIMARY KEY, UNIQUE or FOREIGN KEY, which Hive does not check either, with the comma before it."""
    token = lexed[at]
    if not token.is_word("PRIMARY", "FOREIGN", "UNIQUE", "CONSTRAINT") or lexed[at - 2].is_word("CONSTRAINT"):
        return None
    if token.is_word("CONSTRAINT") and not any(t.is_word("PRIMARY", "FOREIGN", "UNIQUE") for t in lexed[at : at + 3]):
        return None
    end: int | None = at
    is_column = not lexed[at - 1].is_operator(",")
    if is_column:
        end = at + 1 if token.is_word("PRIMARY") else at if token.is_word("UNIQUE") else None
    else:
        end = _parentheses(lexed, at)
        if end is not None and end + 1 < len(lexed) and lexed[end + 1].is_word("REFERENCES"):
            end = _parentheses(lexed, end + 1)
    if end is None:
        return None
    while end + 1 < len(lexed) and (
        lexed[end + 1].is_word(*_CONSTRAINT_WORDS)
        or (lexed[end + 1].is_word("NOT") and end + 2 < len(lexed) and lexed[end + 2].is_word("ENFORCED"))
    ):
        end += 1
    return (at if is_column else at - 1), end, "it is not checked here"


def _parentheses(lexed: Sequence[Token], start: int) -> int | None:
    """Returns the index of the token that closes the first parenthesis from ``start`` on."""
    depth = 0
    for index in range(start, len(lexed)):
        depth += lexed[index].is_operator("(") - lexed[index].is_operator(")")
        if depth == 0 and lexed[index].is_operator(")"):
            return index
    return None


def _format(typed: str, lexed: Sequence[Token], error: Error, state: ScriptState) -> _Outcome | None:
    """A new table in a format of Java objects becomes one of Parquet. Files that exist stay unreadable."""
    at = next((i for i, t in enumerate(lexed) if t.is_word("STORED") and i + 2 < len(lexed)), None)
    if at is None or not lexed[0].is_word("CREATE") or not lexed[at + 1].is_word("AS"):
        return None
    last = at + 2
    if lexed[last].is_word("INPUTFORMAT"):
        last = at + 5
    name = error.object or ""
    if name not in REFUSED_FORMATS or REFUSED_FORMATS[name].is_source or last >= len(lexed):
        return None
    if any(token.is_word("EXTERNAL", "LOCATION") for token in lexed):
        hint = "Copy the rows with Hive into a table STORED AS PARQUET or ORC, and name its directory."
        return ConversionProblem(error.message, hint)
    text = typed[: lexed[at].start]
    row_format = next((i for i in range(at) if lexed[i].is_word("ROW") and lexed[i + 1].is_word("FORMAT")), None)
    if row_format is not None:
        span = Span(lexed[row_format].start, lexed[at - 1].end)
        text = typed[: span.start] + removed(typed[span.start : span.end], "Parquet needs none") + " "
    stored = " ".join(typed[lexed[at].start : lexed[last].end].split())
    return Replaced(f"{text}STORED AS PARQUET {inline_comment(f'was {stored}')}{typed[lexed[last].end :]}")


def delete_statement(typed: str, lexed: Sequence[Token], state: ScriptState) -> _Outcome | None:
    """Returns the INSERT OVERWRITE of the rows that a DELETE keeps: those for which its condition is not true."""
    if len(lexed) < 3 or not (lexed[0].is_word("DELETE") and lexed[1].is_word("FROM")):
        return None
    at = 2
    while at + 2 < len(lexed) and lexed[at + 1].is_operator("."):
        at += 2
    name = typed[lexed[2].start : lexed[at].end]
    where = next((i for i in range(at + 1, len(lexed)) if lexed[i].is_word("WHERE")), len(lexed))
    was = "was DELETE"
    if where == len(lexed):
        return Replaced(f"TRUNCATE TABLE {name} {inline_comment(was)}") if at + 1 == len(lexed) else None
    if where > at + 3 or where + 1 == len(lexed):
        return None
    alias = typed[lexed[at].end : lexed[where].start].rstrip()
    condition = typed[lexed[where + 1].start : lexed[-1].end]
    table = state.table(lexed[2 : at + 1])
    spec = None if table is None else _static_partition(typed, lexed[where + 1 :], table)
    keeps = f"WHERE ({condition}) IS NOT TRUE"
    if spec is not None and table is not None and table.names is not None:
        kept = ", ".join(_quoted(column) for column in table.names if column not in table.partitioned_by)
        values = ", ".join(f"{_quoted(column)} = {value}" for column, value in spec.items())
        only = " AND ".join(f"{_quoted(column)} = {value}" for column, value in spec.items())
        comment = inline_comment(f"{was}: the partition keeps the other rows")
        return Replaced(
            f"INSERT OVERWRITE TABLE {name} PARTITION ({values}) {comment}\n"
            f"SELECT {kept} FROM {name}{alias} WHERE {only} AND ({condition}) IS NOT TRUE"
        )
    insert = f"INSERT OVERWRITE TABLE {name} {inline_comment(f'{was}: the table keeps the other rows')}\n" \
             f"SELECT * FROM {name}{alias} {keeps}"  # fmt: skip
    if table is not None and not table.partitioned_by:
        return Replaced(insert)
    if state.overwrite_mode == "static":
        return Replaced(insert)
    before = (
        f"SET rewriter.partition_overwrite_mode = static {inline_comment('a partition without a row goes, too')};\n"
    )
    after = "RESET rewriter.partition_overwrite_mode"
    if state.overwrite_mode is not None:
        after = f"SET rewriter.partition_overwrite_mode = {state.overwrite_mode}"
    return Replaced(f"{before}{insert};\n{after}")


def deletes_partitions(lexed: Sequence[Token], state: ScriptState) -> bool:
    """Tests whether a DELETE names only columns of partitions of a known table, or no column."""
    at = 2
    while at + 2 < len(lexed) and lexed[at + 1].is_operator("."):
        at += 2
    table = state.table(lexed[2 : at + 1])
    where = next((i for i, token in enumerate(lexed) if token.is_word("WHERE")), None)
    if where is None:
        return True
    if table is None or table.names is None:
        return False
    named = {identifier_value(t).lower() for t in lexed[where:] if t.kind in (TokenKind.WORD, TokenKind.IDENTIFIER)}
    return bool(table.partitioned_by) and not (named & (set(table.names) - set(table.partitioned_by)))


def _static_partition(typed: str, condition: Sequence[Token], table: KnownTable) -> dict[str, str] | None:
    """Returns the value of each partition column, if a conjunction has an equality with a literal for each one."""
    columns = table.partitioned_by
    if not columns or any(token.is_word("OR", "CASE", "BETWEEN") for token in condition):
        return None
    values: dict[str, str] = {}
    depth = 0
    parts: list[list[Token]] = [[]]
    for token in condition:
        depth += token.is_operator("(") - token.is_operator(")")
        if depth == 0 and token.is_word("AND"):
            parts.append([])
        else:
            parts[-1].append(token)
    for part in parts:
        if len(part) != 3 or not part[1].is_operator("=", "==") or part[0].kind is TokenKind.OPERATOR:
            continue
        column = identifier_value(part[0]).lower()
        if column in columns and column not in values and _is_value(part[2], table.types.get(column)):
            values[column] = typed[part[2].start : part[2].end]
    return {column: values[column] for column in columns} if set(values) == set(columns) else None


def _is_value(literal: Token, type_: str | None) -> bool:
    """Tests whether a literal names one value of a type, so that ``column = literal`` selects one partition."""
    if literal.kind is TokenKind.STRING:
        return type_ == STRING
    return literal.kind is TokenKind.NUMBER and literal.text.isdigit() and type_ in INTEGERS


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else "`" + name.replace("`", "``") + "`"


def _delete(typed: str, lexed: Sequence[Token], error: Error, state: ScriptState) -> _Outcome | None:
    return delete_statement(typed, lexed, state)


def _update(typed: str, lexed: Sequence[Token], error: Error, state: ScriptState) -> _Outcome | None:
    """UPDATE of a table whose columns are known becomes the INSERT OVERWRITE of all rows, with the new values in those
    for which the condition is true. A value is cast to its column's type, as UPDATE does.
    """
    set_at, where = (_outside(lexed, word) for word in ("SET", "WHERE"))
    if not lexed[0].is_word("UPDATE") or set_at is None or not 2 <= set_at < len(lexed) - 1:
        return None
    at = 1
    while at + 2 < set_at and lexed[at + 1].is_operator("."):
        at += 2
    table, end = state.table(lexed[1 : at + 1]), len(lexed) if where is None else where
    if table is None or table.names is None or set_at > at + 3 or end + 1 == len(lexed):
        return None
    values: dict[str, str] = {}
    for assignment in _apart_by_commas(lexed[set_at + 1 : end]):
        equals = next((i for i, token in enumerate(assignment) if token.is_operator("=", "==")), 0)
        if equals not in (1, 3) or equals + 1 == len(assignment) or assignment[equals + 1].is_word("DEFAULT"):
            return None
        column = identifier_value(assignment[equals - 1]).lower()
        type_ = table.declared.get(column)
        if type_ is None or "char" in type_ or column in values or column in table.partitioned_by:
            return None
        values[column] = f"CAST({typed[assignment[equals + 1].start : assignment[-1].end]} AS {type_})"
    if where is not None:
        condition = typed[lexed[where + 1].start : lexed[-1].end]
        values = {c: f"CASE WHEN {condition} THEN {value} ELSE {_quoted(c)} END" for c, value in values.items()}
    items = ", ".join(f"{values[c]} AS {_quoted(c)}" if c in values else _quoted(c) for c in table.names)
    name, alias = typed[lexed[1].start : lexed[at].end], typed[lexed[at].end : lexed[set_at].start].rstrip()
    comment = inline_comment("was UPDATE: each row, with its new values")
    return Replaced(f"INSERT OVERWRITE TABLE {name} {comment}\nSELECT {items} FROM {name}{alias}")


def _outside(lexed: Sequence[Token], word: str) -> int | None:
    """Returns the index of the first token outside of parentheses that is a word."""
    depth = 0
    for index, token in enumerate(lexed):
        depth += token.is_operator("(") - token.is_operator(")")
        if depth == 0 and token.is_word(word):
            return index
    return None


def _apart_by_commas(lexed: Sequence[Token]) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in lexed:
        depth += token.is_operator("(", "[") - token.is_operator(")", "]")
        if depth == 0 and token.is_operator(","):
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


_RULES: tuple[Rule, ...] = (_setting, _without_effect, _source, _function, _table_clause, _format, _delete, _update)


def managed_table(typed: str, lexed: Sequence[Token]) -> Replaced | None:
    """Returns CREATE TABLE for CREATE EXTERNAL TABLE without a LOCATION, which Hive puts below its warehouse."""
    external = next((token for token in lexed[:4] if token.is_word("EXTERNAL")), None)
    if external is None:
        return None
    comment = removed("EXTERNAL", "without a LOCATION the files are in the warehouse, and DROP TABLE removes them")
    return Replaced(typed[: external.start] + comment + typed[external.end :])


_ALL_BUT = re.compile(r"\(((?:\w+\|)*\w+)\)\?\+\.\+")


def all_but_columns(typed: str) -> Replaced | None:
    """Returns a statement in which Hive's ```(a|b)?+.+``` is ``* EXCEPT (a, b)``; ``None`` if it has none."""
    pieces, position = [], 0
    for token in tokens(mask_references(typed)):
        hit = _ALL_BUT.fullmatch(identifier_value(token)) if token.kind is TokenKind.IDENTIFIER else None
        if hit:
            columns = ", ".join(_quoted(column.lower()) for column in hit[1].split("|"))
            pieces += [typed[position : token.start], f"* EXCEPT ({columns}) {inline_comment(f'was {token.text}')}"]
            position = token.end
    return Replaced("".join([*pieces, typed[position:]])) if pieces else None
