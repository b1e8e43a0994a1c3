"""A script of Hive or Spark, converted statement by statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rewriter.convert.column_types import DATE, NUMBERS, STRING, TIMESTAMP, ExpressionTypes
from rewriter.convert.comments import inline_comment, line_comment
from rewriter.convert.expressions import Expression, ExpressionForm, all_parts, expressions
from rewriter.convert.lenient import LenientText
from rewriter.convert.refusals import (
    Replaced,
    ReplacedPart,
    all_but_columns,
    converted_refusal,
    delete_statement,
    deletes_partitions,
    managed_table,
)
from rewriter.convert.script_state import (
    ANSI,
    OVERWRITE_MODES,
    ConversionProblem,
    KnownTable,
    ScriptState,
    dotted_name,
    known_table,
)
from rewriter.convert.time_patterns import POLICY, differing_calls
from rewriter.data_formats import REFUSED_FORMATS
from rewriter.errors import Error, NotSupportedError, Span
from rewriter.exec.spark_functions import is_function, similar_function
from rewriter.grammar.families.databases import UseDatabase
from rewriter.grammar.families.multi_inserts import MultiInsert
from rewriter.grammar.families.settings import ResetSetting, SetSetting
from rewriter.grammar.families.tables import CreateTable, CreateTableAs, DropTable
from rewriter.grammar.families.views import CreateView, DropView
from rewriter.grammar.families.writes import Insert
from rewriter.grammar.lexer import Token, TokenKind, identifier_value, split_statements, tokens
from rewriter.grammar.parser import parse
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.text_variables import mask_references
from rewriter.shell.script import Piece, PieceKind, pieces

if TYPE_CHECKING:
    from rewriter.grammar.statements import Statement

#: The most rules that change one statement, one after the other.
_MOST_CHANGES = 50


#: The most names that one entry of the report lists.
_MOST_NAMES = 8


@dataclass(frozen=True)
class Unconverted:
    """An entry of the report: a statement, or a part of it, that stays as it was.

    ``line`` is that of the statement's first word in the original, from 1, ``statement`` its first words.
    """

    line: int
    statement: str
    reason: str
    hint: str


@dataclass(frozen=True)
class Conversion:
    """A converted script. ``changed`` is the number of statements that were changed, of ``total``."""

    text: str
    changed: int
    total: int
    unconverted: tuple[Unconverted, ...]


def convert_script(
    text: str, *, is_hive: bool, is_lenient: bool, tables: Mapping[str, KnownTable] | None = None
) -> Conversion:
    """Returns the script as one that runs here, and the report.

    ``is_lenient`` says that errors of casts, divisions and calls are NULL from the first statement on, ``tables`` are
    tables that the script does not create, by their names in lower case. Opens no warehouse, and runs nothing. Linear
    in the script; about 5 ms for each statement.

    Raises ``ParseError`` where the script cannot be read: a string or a comment is not closed.
    """
    state = ScriptState(text, is_lenient, is_hive, dict(tables or {}))
    parts: list[str] = []
    report: list[Unconverted] = []
    changed = position = 0
    all_pieces = [piece for piece in pieces(text) if piece.kind is not PieceKind.COMMAND]
    for number, piece in enumerate(all_pieces, start=1):
        state.is_last = number == len(all_pieces)
        typed = piece.of(text)
        outcome = _Statement(typed, state)
        line = text.count("\n", 0, piece.span.start) + 1
        report += [Unconverted(line, _first_words(typed), problem.reason, problem.hint) for problem in outcome.problems]
        before = text[position : piece.span.start]
        written, position = outcome.text, piece.span.end
        if outcome.has_no_end:
            written, position = _apart(written, text, piece)
        reasons = "; ".join(dict.fromkeys(problem.reason.rstrip(".") for problem in outcome.problems))
        note = line_comment(f"not converted: {reasons}") if reasons else ""
        if note and before.endswith(note):
            note = ""
        changed += written != typed
        parts += [before, note, written]
    return Conversion("".join([*parts, text[position:]]), changed, len(all_pieces), tuple(report))


def _apart(written: str, text: str, piece: Piece) -> tuple[str, int]:
    """Returns a text of whole lines in place of a statement and its end, and the offset behind them."""
    behind = text[piece.end :]
    return written + ("\n" if behind and not behind.startswith(("\n", "\r")) else ""), piece.end


def _first_words(typed: str) -> str:
    words = " ".join(typed.split())
    return words if len(words) <= 60 else f"{words[:59]}…"


class _Statement:
    """The conversion of one statement: ``text``, and ``problems``. ``has_no_end`` says that its ``;`` goes, too."""

    def __init__(self, typed: str, state: ScriptState) -> None:
        self._state = state
        self.text = typed
        self.problems: list[ConversionProblem] = []
        self.has_no_end = False
        self._convert(typed)

    def _convert(self, typed: str) -> None:
        state = self._state
        for _ in range(_MOST_CHANGES):
            lexed = tokens(mask_references(self.text))
            outcome: Replaced | ConversionProblem | None = all_but_columns(self.text)
            parsed, error = _accepted(self.text, state)
            if outcome is None and error is not None:
                outcome = converted_refusal(self.text, lexed, error, state)
            elif outcome is None and lexed[0].is_word("DELETE") and not deletes_partitions(lexed, state):
                outcome = delete_statement(self.text, lexed, state)
            if outcome is None and isinstance(parsed, CreateTable | CreateTableAs) and parsed.location is None:
                outcome = managed_table(self.text, lexed)
            if outcome is None:
                break
            if isinstance(outcome, ConversionProblem):
                self.text = typed
                self.problems.append(outcome)
                return
            self.text = outcome.text
            if outcome.scope is ReplacedPart.WITH_END:
                self.has_no_end = True
                return
            if len(split_statements(mask_references(self.text))) > 1:
                self._convert_each()
                return
        assert parsed is not None
        self._convert_accepted(parsed)

    def _convert_each(self) -> None:
        """Converts the statements that stand in place of one."""
        parts, position = [], 0
        for span in split_statements(mask_references(self.text)):
            inner = _Statement(self.text[span.start : span.end], self._state)
            self.problems += inner.problems
            parts += [self.text[position : span.start], inner.text]
            position = span.end
        self.text = "".join([*parts, self.text[position:]])

    def _convert_accepted(self, parsed: Statement) -> None:
        state = self._state
        if isinstance(parsed, SetSetting):
            if str(parsed.key).lower() in OVERWRITE_MODES and parsed.value is not None:
                state.overwrite_mode = parsed.value.strip().lower()
            elif str(parsed.key).lower() == ANSI:
                state.is_lenient = state.is_hive
            elif str(parsed.key).lower() == POLICY:
                state.has_legacy_patterns = False
            return
        if isinstance(parsed, ResetSetting):
            state.reset(parsed.key)
            return
        lexed = tokens(mask_references(self.text))
        query = _query_tokens(parsed, lexed)
        if query:
            try:
                roots = expressions(query)
                types = ExpressionTypes(query, roots, {name: table.types for name, table in state.tables.items()})
                self._check_calls(query, roots)
                self._check_patterns(roots, types)
                original = self.text
                if state.is_hive and isinstance(parsed, Insert):
                    self._check_stored_texts(parsed, query, roots, types)
                if state.is_lenient:
                    self._convert_expressions(parsed, query, roots, types, is_hive=state.is_hive)
            except RecursionError:
                self.problems.append(
                    ConversionProblem("An expression is nested too deeply to be converted.", "Split it.")
                )
                return
            columns = types.columns()
        else:
            columns, original = None, self.text
        _note_objects(parsed, lexed, columns, state)
        if isinstance(parsed, Insert):
            self._check_overwrite(parsed, original)

    def _convert_expressions(
        self,
        parsed: Statement,
        query: Sequence[Token],
        roots: Sequence[Expression],
        types: ExpressionTypes,
        *,
        is_hive: bool,
    ) -> None:
        keeps_names = not isinstance(parsed, Insert | MultiInsert)
        written = LenientText(self.text, query, roots, types, keeps_names=keeps_names, is_hive=is_hive)
        if written.problems:
            self.problems += [ConversionProblem(f"{reason}.") for reason in written.problems]
        if written.unknown:
            listed = list(written.unknown)
            more = f" and {len(listed) - _MOST_NAMES} more" if len(listed) > _MOST_NAMES else ""
            names = ", ".join(listed[:_MOST_NAMES]) + more
            self.problems.append(
                ConversionProblem(
                    f"The meaning depends on types that are not known: {names}.",
                    "Name the warehouse that has the tables with -w, or create them in the script. Otherwise write "
                    "TRY_CAST, or CAST, where a text becomes a number.",
                )
            )
        self.text = written.text

    def _check_calls(self, query: Sequence[Token], roots: Sequence[Expression]) -> None:
        """Reports what runs nowhere here: functions that do not exist, TRANSFORM, and Hive's grouping__id."""
        unknown: dict[str, None] = {}
        for part in all_parts(roots):
            if part.form is ExpressionForm.NAME and part.word == "grouping__id":
                self.problems.append(
                    ConversionProblem(
                        "grouping__id has other values in each version of Hive.",
                        "Write grouping_id(), whose last bit is that of the last column.",
                    )
                )
            if (
                part.form is not ExpressionForm.CALL
                or "." in part.word
                or query[part.first].kind is TokenKind.IDENTIFIER
            ):
                continue
            before = query[part.first - 1] if part.first else None
            if before is not None and before.is_word("INTO", "TABLE", "OVERWRITE", "AS", "WITH", "VIEW", "WINDOW"):
                continue
            is_alias = before is not None and (before.is_operator(")") or before.kind is not TokenKind.OPERATOR)
            is_alias = is_alias and not (before is not None and _joins(before))
            if part.word == "transform" and any(t.is_word("USING") for t in query[part.last + 1 : part.last + 20]):
                self.problems.append(ConversionProblem("TRANSFORM … USING runs a program.", "Write its work in SQL."))
            elif (
                not is_alias
                and part.word not in _NO_CALLS
                and not is_function(part.word)
                and part.word not in self._state.functions
            ):
                unknown[part.word] = None
        for name in unknown:
            similar = similar_function(name)
            hint = f"Did you mean {similar}?" if similar else "Write an SQL expression. SHOW FUNCTIONS lists all."
            self.problems.append(ConversionProblem(f"There is no function {name} here.", hint))

    def _check_patterns(self, roots: Sequence[Expression], types: ExpressionTypes) -> None:
        """Reports the calls that read or write times otherwise under the policy LEGACY, which the script has set."""
        calls = dict.fromkeys(differing_calls(roots, types.type_of)) if self._state.has_legacy_patterns else {}
        for name in calls:
            self.problems.append(
                ConversionProblem(
                    f"{name} may have another result under the policy LEGACY.",
                    "LEGACY reads 2024-13-01 as 2025-01-01, ignores text behind the pattern, and has other letters. "
                    "Compare the values; try_to_timestamp(text, pattern) is NULL for a text that the pattern is not.",
                )
            )

    def _is_callable(self, name: str) -> bool:
        return name in _NO_CALLS or is_function(name) or name in self._state.functions

    def _check_stored_texts(
        self, insert: Insert, query: Sequence[Token], roots: Sequence[Expression], types: ExpressionTypes
    ) -> None:
        """Reports texts that an INSERT writes into columns of another type: Hive casts them, and ANSI mode refuses."""
        table = self._state.tables.get(dotted_name(insert.table.parts))
        if table is None or table.names is None or insert.by_name:
            return
        static = {item.column.lower() for item in insert.partition or () if item.value is not None}
        names = [name.lower() for name in insert.columns or table.names if name.lower() not in static]
        if query[0].is_word("VALUES"):
            rows = [[types.type_of(part) for part in root.parts] for root in roots]
        else:
            rows = [[column.type for column in types.columns_of(types.blocks.whole) or ()]]
        written: dict[str, str] = {}
        for row in rows:
            for name, type_ in zip(names, row, strict=False):
                target = table.types.get(name)
                if type_ == STRING and target in (*NUMBERS, DATE, TIMESTAMP):
                    written[name] = str(target).upper()
        for name, target in written.items():
            self.problems.append(
                ConversionProblem(
                    f"INSERT writes a text into the {target} column {name}: Hive casts it, and it is refused here.",
                    f"Write TRY_CAST(… AS {target}).",
                )
            )

    def _check_overwrite(self, insert: Insert, typed: str) -> None:
        """Spark overwrites the whole table by default, where a value of a partition is missing in the statement."""
        state = self._state
        if state.is_hive or state.overwrite_mode is not None or not insert.overwrite:
            return
        table = state.tables.get(dotted_name(insert.table.parts))
        items = insert.partition or ()
        is_static = bool(items) and all(item.value is not None for item in items)
        if table is not None:
            is_whole = is_static and len(items) == len(table.partitioned_by)
            if not table.partitioned_by or not table.is_of_spark or is_whole:
                return
            mode = inline_comment("the default of Spark for tables with USING; here it is dynamic")
            self.text = f"SET spark.sql.sources.partitionOverwriteMode = static {mode};\n{self.text}"
            state.overwrite_mode = "static"
        elif not is_static:
            self.problems.append(
                ConversionProblem(
                    f"Spark may overwrite all partitions of {insert.table.last}, whose definition is not known.",
                    "Write SET spark.sql.sources.partitionOverwriteMode = static or dynamic before it, or name the "
                    "warehouse that has the table with -w.",
                )
            )


_CLAUSES = frozenset(
    "SELECT DISTINCT ALL WHERE AND OR NOT ON BY THEN ELSE WHEN CASE IN BETWEEN HAVING LIKE RLIKE USING VALUES FROM "
    "JOIN VIEW OUTER LIMIT DIV INTERVAL QUALIFY LATERAL OVER SET FILTER UNION EXISTS TABLE".split()
)

#: Words before a parenthesis that are clauses.
_NO_CALLS = ("pivot", "unpivot", "options", "tblproperties", "identifier", "columns", "map", "reduce", "tablesample")


def _joins(token: Token) -> bool:
    return token.kind is TokenKind.WORD and token.upper in _CLAUSES


def _accepted(statement: str, state: ScriptState) -> tuple[Statement | None, Error | None]:
    """Returns a statement as a session reads it, or the error with which it is refused before it is run."""
    masked = mask_references(statement)
    try:
        parsed = parse(masked)
        if isinstance(parsed, SetSetting) and parsed.key and parsed.value is not None and "${" not in statement:
            state.settings.set(parsed.key, parsed.value)
        name = getattr(parsed, "format", None)
        refused = REFUSED_FORMATS.get(str(name)) if isinstance(parsed, CreateTable | CreateTableAs) else None
        if refused is not None:
            reason = f": {refused.reason}" if refused.reason else "."
            return None, NotSupportedError(
                f"The format {name} is not supported{reason}",
                object=name,
                hint="Use one of parquet, csv, json, orc, textfile, avro.",
            )
    except Error as error:
        return None, error
    return parsed, None


def _query_tokens(parsed: Statement, lexed: Sequence[Token]) -> tuple[Token, ...]:
    """Returns the tokens of the query of a statement; of one that is several queries, all of them."""
    query = getattr(parsed, "query", None)
    if query is not None and isinstance(getattr(query, "span", None), Span):
        return tuple(token for token in lexed if query.span.start <= token.start < query.span.end)
    is_query = any(token.is_word("SELECT", "VALUES", "FROM") for token in lexed)
    is_query = is_query and lexed[0].is_word("SELECT", "WITH", "FROM", "INSERT", "VALUES", "CREATE", "ALTER", "CACHE")
    return tuple(lexed) if is_query or lexed[0].is_operator("(") else ()


def _note_objects(
    parsed: Statement, lexed: Sequence[Token], columns: Mapping[str, str | None] | None, state: ScriptState
) -> None:
    """Notes the tables and views that a statement creates, changes or drops."""
    if isinstance(parsed, CreateTable):
        declared = {column.name: column.type or "" for column in parsed.columns}
        parts = tuple(column.name for column in parsed.partitioned_by)
        declared |= {column.name: column.type for column in parsed.partitioned_by if column.type is not None}
        is_of_spark = any(token.is_word("USING") for token in lexed)
        known = known_table(declared, parts, is_of_spark)
        # Without declared columns, its files give them. An argument of a transform is no partition column.
        is_known = bool(parsed.columns) and all(column.transform is None for column in parsed.partitioned_by)
        state.tables[dotted_name(parsed.table.parts)] = known if is_known else replace(known, names=None)
    elif isinstance(parsed, CreateTableAs | CreateView):
        is_view = isinstance(parsed, CreateView)
        name = dotted_name((parsed.view if isinstance(parsed, CreateView) else parsed.table).parts)
        parts = () if isinstance(parsed, CreateView) else tuple(c.name.lower() for c in parsed.partitioned_by)
        state.tables.pop(name, None)
        is_renamed = isinstance(parsed, CreateView) and parsed.columns is not None
        if columns is not None and not is_renamed:
            names = (*(c for c in columns if c not in parts), *parts)
            is_of_spark = not is_view and any(token.is_word("USING") for token in lexed)
            state.tables[name] = KnownTable(columns, names, parts, is_of_spark)
        elif not is_view and parts:
            state.tables[name] = KnownTable({}, None, parts, any(token.is_word("USING") for token in lexed))
    elif isinstance(parsed, UseDatabase):
        state.use_database()
    elif isinstance(parsed, DropView):
        state.tables.pop(dotted_name(parsed.view.parts), None)
    elif isinstance(parsed, DropTable):
        state.tables.pop(dotted_name(parsed.table.parts), None)
    elif lexed[0].is_word("ALTER") and len(lexed) > 2 and any(
        token.is_word("COLUMN", "COLUMNS", "RENAME", "REPLACE", "CHANGE", "ADD") for token in lexed
    ) and not any(token.is_word("PARTITION") for token in lexed):  # fmt: skip
        end = 3
        while end + 1 < len(lexed) and lexed[end].is_operator("."):
            end += 2
        state.tables.pop(dotted_name(identifier_value(t) for t in lexed[2:end] if not t.is_operator(".")), None)
    elif lexed[0].is_word("CREATE") and any(token.is_word("FUNCTION") for token in lexed[:5]):
        state.functions |= {identifier_value(t).lower() for t in lexed[:8] if t.kind is not TokenKind.OPERATOR}
