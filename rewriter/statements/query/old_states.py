"""Queries of earlier states: ``t VERSION AS OF 3``, ``t TIMESTAMP AS OF '2024-01-01'``.

A query all of whose tables, views and cubes are of one earlier commit is planned as a whole over the catalog of that
commit: definitions, covers, freshness and partitions are those of that state. In any other statement, each clause
becomes the name of a ``TableState``, of which the snapshot reads the partitions and files of its commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sqlglot import exp

from rewriter.catalog.model.objects import CATALOG, Table, TableKind, TableState, View, full_name
from rewriter.errors import AnalysisError, Error, NotSupportedError
from rewriter.grammar.families.descriptions import DescribeQuery
from rewriter.grammar.families.output_directories import InsertDirectory
from rewriter.grammar.families.queries import Explain, Select
from rewriter.grammar.families.tables import CreateTableAs
from rewriter.grammar.families.writes import Insert
from rewriter.grammar.lexer import tokens
from rewriter.grammar.query_spans import StateClause, state_clauses
from rewriter.grammar.terms import Query, ReadState, ReadStates, queries_in
from rewriter.grammar.unparse import name_text
from rewriter.grammar.unsupported import no_time_travel
from rewriter.planner.model.plan import quote_identifier
from rewriter.planner.scope.cte_references import CteReferences
from rewriter.planner.text.query_text import QueryText
from rewriter.runtime.constant_expressions import constant_instant
from rewriter.runtime.statement_context import single

if TYPE_CHECKING:
    from rewriter.catalog.model.json_codec import Object
    from rewriter.catalog.reading.snapshot import Snapshot
    from rewriter.grammar.statements import Statement
    from rewriter.runtime.statement_context import Context

_S = TypeVar("_S", bound="Statement")
#: The statements that only read, whose snapshot may be an earlier one as a whole.
_READING = (Select, Explain, DescribeQuery)
#: Ids of the catalog are positive, and those of files small.
_FIRST_ID = -1_000_000
_STATEMENTS = (*_READING, Insert, CreateTableAs, InsertDirectory)


def with_old_states(statement: _S, context: Context) -> tuple[_S, Context]:
    """Returns the statement without its clauses AS OF, and the context in which it reads what they ask for. A statement
    without any is returned as it is.

    Raises, at the clause, ``NotSupportedError`` for another statement, and for what has no versions: views, external
    and temporary tables, and cubes beside other states; ``AnalysisError`` INVALID_TIME_TRAVEL_SPEC for a commit that is
    not there, INVALID_TIME_TRAVEL_TIMESTAMP_EXPR, TABLE_OR_VIEW_NOT_FOUND; and SNAPSHOT_TOO_OLD. One read and one write
    for each state.
    """
    by_query = {id(query): clauses for query in queries_in(statement) if (clauses := _clauses(query))}
    if not by_query:
        return statement, context
    query = getattr(statement, "query", None)
    if not isinstance(statement, _STATEMENTS) or not isinstance(query, Query) or set(by_query) != {id(query)}:
        first = next(query for query in queries_in(statement) if id(query) in by_query)
        clause = by_query[id(first)][0]
        raise no_time_travel(clause.kind, clause.span.shifted(first.span.start))
    changed, context = _Reading(query, by_query[id(query)], context).result(isinstance(statement, _READING))
    return cast(_S, replace(cast(Any, statement), query=changed)), context


def _clauses(query: Query) -> tuple[StateClause, ...]:
    try:
        return state_clauses(query.tokens or tokens(query.text))
    except Error as error:
        error.position = None if error.position is None else error.position.shifted(query.span.start)
        raise


class _Reading:
    """A query with its clauses, and the snapshots that they ask for, by commit."""

    def __init__(self, query: Query, clauses: Sequence[StateClause], context: Context) -> None:
        self._query, self._clauses, self._context = query, clauses, context
        self._snapshots: dict[int, Snapshot] = {}

    def result(self, may_be_whole: bool) -> tuple[Query, Context]:
        # Proofs and the log are about the newest state.
        context = replace(self._context, shadow_proofs=None, query_log=None)
        read: list[tuple[StateClause, int, Object]] = []
        for clause in self._clauses:
            with self._at(clause):
                commit = self._commit(clause)
                if commit not in self._snapshots:
                    self._snapshots[commit] = context.snapshot.as_of(commit)
                read.append((clause, commit, self._object(clause, self._snapshots[commit])))
        without = self._replaced(lambda clause: " " * (clause.span.end - clause.name.span.end))
        nodes = self._tables(without)
        if may_be_whole and len(self._snapshots) == 1 and len(nodes) == len(self._clauses):
            for clause, commit, found in read:
                with self._at(clause):
                    _check_managed(found, self._snapshots[commit])
            (snapshot,) = self._snapshots.values()
            clauses = [_read_state(clause, commit, None) for clause, commit, _ in read]
            return self._planned(without, clauses), context.over(snapshot)
        states: dict[str, tuple[TableState, Snapshot, Table]] = {}
        names: dict[int, str] = {}
        clauses = []
        for number, (clause, commit, found) in enumerate(read, 1):
            node, name = nodes[clause.name.span.end], f"@{number}"
            with self._at(clause):
                table = _managed(found)
                if node.args.get("sample"):
                    raise no_time_travel(clause.kind, None, "a TABLESAMPLE follows")
            values = {item.name: getattr(table, item.name) for item in fields(Table)}
            values |= {"id": _FIRST_ID - number, "name": f"{table.name} VERSION AS OF {commit}", "copies": ()}
            states[name] = TableState(**values), self._snapshots[commit], table
            clauses.append(_read_state(clause, commit, table.name))
            names[id(clause)] = f"`{name}`" + ("" if node.alias else f" AS {quote_identifier(clause.name.last)}")
        text = self._replaced(lambda clause: names[id(clause)], with_name=True)
        snapshot = context.snapshot.with_states(states)
        return self._planned(text, clauses), replace(context, snapshot=snapshot)

    def _planned(self, text: str, clauses: Sequence[ReadState]) -> Query:
        """Returns the query to plan, which remembers the clauses that its text no longer has."""
        is_timed = any(clause.kind == "TIMESTAMP" for clause in self._clauses)
        now = int(self._context.planning.now) if is_timed else None
        states = ReadStates(self._query.text, text, tuple(clauses), self._context.snapshot.sequence, now)
        return replace(self._query, text=text, tokens=None, states=states)

    @contextmanager
    def _at(self, clause: StateClause) -> Iterator[None]:
        """Gives errors the position of a clause."""
        try:
            yield
        except Error as error:
            error.position = None
            raise error.at(clause.span.shifted(self._query.span.start)) from None

    def _commit(self, clause: StateClause) -> int:
        """Returns the number of the commit that a clause asks for."""
        snapshot, text = self._context.snapshot, self._query.text[clause.value.start : clause.value.end]
        newest = snapshot.sequence
        if clause.kind == "TIMESTAMP":
            instant = constant_instant(text, self._context)
            is_future = instant > int(self._context.planning.now) and not self._context.planning.now_is_fixed
            commit = None if is_future else snapshot.commit_before(instant)
            if commit is None:
                raise AnalysisError(
                    f"{text} is {'in the future' if is_future else 'before the first commit'}.",
                    condition="INVALID_TIME_TRAVEL_TIMESTAMP_EXPR.INPUT",
                    sqlstate="42K0E",
                    hint="DESCRIBE HISTORY t lists the commits with their times.",
                )
            return commit
        is_expression = text == "(" or (text.isidentifier() and text.upper() != "NULL")  # Its first token.
        value: object = self._context.parameters[text[1:]] if text[:1] == ":" else text.strip("'\"")
        if isinstance(value, bool) or not str(value).isdecimal() or not 0 < int(str(value)) <= newest:
            raise AnalysisError(
                f"{'An expression' if is_expression else value} is not the number of a commit: "
                f"the newest one is {newest}.",
                condition="INVALID_TIME_TRAVEL_SPEC",
                sqlstate="42K0E",
                hint="DESCRIBE HISTORY t lists the commits.",
            )
        return int(str(value))

    def _object(self, clause: StateClause, old: Snapshot) -> Object:
        """Returns what the name of a clause was in an earlier state."""
        parts = clause.name.parts[1:] if clause.name.parts[0].lower() == CATALOG else clause.name.parts
        if len(parts) == 1 and self._context.is_temporary(parts[0]):
            raise NotSupportedError(
                f"{parts[0]} is temporary and has no versions.", object=parts[0], hint="Read it without AS OF."
            )
        name = full_name(old.current, parts[0]) if len(parts) == 1 else single(clause.name)
        if old.system_table(name) is not None:
            raise NotSupportedError(f"{name} is computed and has no versions.", object=name, hint="Omit AS OF.")
        found = old.named(name)
        if found is None:
            return old.table(name)  # Which raises.
        if isinstance(found, View):
            raise NotSupportedError(
                f"{name} is a view, and has no versions.",
                object=name,
                hint="Write AS OF behind the tables of its query: SHOW CREATE VIEW shows it.",
            )
        return found

    def _replaced(self, new: Callable[[StateClause], str], with_name: bool = False) -> str:
        """Returns the text with another one in the place of each clause, of the same length."""
        text = self._query.text
        for clause in self._clauses:
            start, end = clause.name.span.start if with_name else clause.name.span.end, clause.span.end
            text = text[:start] + new(clause).ljust(end - start) + text[end:]
        return text

    def _tables(self, text: str) -> Mapping[int, exp.Table]:
        """Returns the tables of the query, without CTEs, by the end of their names in the text. Each clause must belong
        to one.
        """
        parsed = QueryText(text, self._query.span.start)
        unread = parsed.unread()
        if unread is not None:
            raise unread
        ctes = CteReferences(parsed.nodes)
        nodes = [
            node
            for node in parsed.find_all(exp.Table)
            if isinstance(node.this, exp.Identifier) and ctes.cte_of(node) is None and not parsed.in_hint(node)
        ]
        tables = {int(node.this.meta["end"]) + 1: node for node in nodes}
        for clause in self._clauses:
            if clause.name.span.end not in tables:
                raise no_time_travel(
                    clause.kind,
                    clause.span.shifted(self._query.span.start),
                    f"{name_text(clause.name)} is no table or cube of the catalog",
                )
        return tables


def _read_state(clause: StateClause, commit: int, table: str | None) -> ReadState:
    return ReadState(clause.name.span, clause.span, commit, table)


def _check_managed(found: Object, old: Snapshot) -> None:
    """Refuses an external table, also one that a cube or fact may read: its files have no versions."""
    if isinstance(found, Table):
        _managed(found)
        return
    for fact in old.facts():
        for stored in fact.tables if found.name.lower() in (fact.name.lower(), fact.cube.lower()) else ():
            _managed(old.table(stored.table))


def _managed(found: Object) -> Table:
    """Returns a managed table. Raises ``NotSupportedError`` for anything else."""
    if not isinstance(found, Table):
        raise NotSupportedError(
            f"{found.name} is no table: beside other states, and in a statement that writes, AS OF reads tables.",
            object=found.name,
            hint="Read the cube by a query of its own, in which all names have the same AS OF.",
        )
    if found.kind is not TableKind.MANAGED:
        raise NotSupportedError(
            f"The files of the external table {found.name} have no versions.",
            object=found.name,
            hint="AS OF reads managed tables, and cubes over managed tables.",
        )
    return found
