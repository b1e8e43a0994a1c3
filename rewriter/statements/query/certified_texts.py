"""The texts of a certificate: the user's query with its clauses AS OF, and the executed SQL.

The planner sees no clause: in its text, blanks or a name such as ``@1`` stand there. A certificate has the user's words
again. In its SQL, a name without a clause is read at the certificate's commit, and any other as ``t VERSION AS OF 3``.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from rewriter.grammar.lexer import TokenKind, identifier_value, tokens
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.model.plan import own_text, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rewriter.grammar.terms import ReadState, ReadStates
    from rewriter.planner.model.plan import TextEdits


#: Differences of a text from another one, in order: first and last offset there, and the text in that place.
Edits = tuple[tuple[int, int, str], ...]


@dataclass(frozen=True)
class CertifiedTexts:
    """The texts of a certificate. ``edits`` are the differences of ``sql`` from ``query``, and ``from_planned``
    those of ``query`` from the text as planned. ``typed`` is the user's text where ``query`` is another one.
    """

    query: str
    sql: str
    edits: Edits
    typed: str | None
    from_planned: Edits

    def moved(self, offset: int) -> int:
        """Returns the offset in the query of an offset in the text as planned."""
        return _moved(offset, self.from_planned)


def stated_states(states: ReadStates | None) -> dict[str, Any]:
    """Returns the members of a certificate that name the commits of a query's clauses AS OF; none without clauses."""
    if states is None:
        return {}
    listed = [{"start": c.clause.start, "end": c.clause.end, "commit": c.commit} for c in states.clauses]
    return {"newest_commit": states.newest, "states": listed}


def texts_with_states(edits: TextEdits, states: ReadStates | None) -> CertifiedTexts:
    """Returns the texts of a certificate, in which the clauses AS OF are as the user wrote them. Where the queries of
    views or copies stand in the query, ``typed`` has the user's words, and the query ``VERSION AS OF`` with a number.
    """
    assert states is None or edits.typed == states.planned
    is_typed = edits.typed == edits.text
    typed = None if is_typed else edits.typed if states is None else states.text
    changes = () if states is None else tuple(_changes(edits, states))
    from_planned = tuple((change.start, change.end, change.query) for change in changes)
    made = [(_moved(c.start, from_planned), _moved(c.end, from_planned), c.sql) for c in changes]
    for replaced in edits.replacements:
        start, end = replaced.span.start, replaced.span.end
        # The place of a clause has its own text.
        if not any(change.start <= start < change.end for change in changes):
            made.append((_moved(start, from_planned), _moved(end, from_planned), own_text(replaced.template)))
    made.sort(key=itemgetter(0, 1))
    query = _edited(edits.text, from_planned)
    return CertifiedTexts(query, _edited(query, made), tuple(made), typed, from_planned)


def _edited(text: str, edits: Sequence[tuple[int, int, str]]) -> str:
    made, position = "", 0
    for start, end, replacement in edits:
        made += text[position:start] + replacement
        position = end
    return made + text[position:]


def _moved(offset: int, edits: Edits) -> int:
    """Returns an offset behind edits of a text, none of which has it inside."""
    return offset + sum(len(text) - (end - start) for start, end, text in edits if end <= offset)


@dataclass(frozen=True)
class _Change:
    """A stretch of the text as planned, and what stands in its place in the query and in the executed SQL."""

    start: int
    end: int
    query: str
    sql: str


def _changes(edits: TextEdits, states: ReadStates) -> Iterator[_Change]:
    """Yields the places of the planned text where a clause stood, in order."""
    if edits.typed == edits.text:
        for clause in states.clauses:
            start = clause.clause.start if clause.table is None else clause.name.start
            blanks = edits.text[start : clause.clause.end]
            sql = blanks if clause.table is None else _table_at(clause.table, clause, states)
            yield _Change(start, clause.clause.end, states.text[start : clause.clause.end], sql)
        return
    by_name = {f"@{number}": clause for number, clause in enumerate(states.clauses, 1)}
    for token in tokens(edits.text) if any(clause.table is not None for clause in states.clauses) else ():
        of_mark = by_name.get(identifier_value(token)) if token.kind is TokenKind.IDENTIFIER else None
        if of_mark is not None and of_mark.table is not None:
            name = states.text[of_mark.name.start : of_mark.name.end]
            sql = _table_at(of_mark.table, of_mark, states)
            yield _Change(token.start, token.end, f"{name} VERSION AS OF {of_mark.commit}", sql)


def _table_at(table: str, clause: ReadState, states: ReadStates) -> str:
    """Returns the executed text of a table at a commit: under its name as typed, where that has a database."""
    name = states.text[clause.name.start : clause.name.end]
    return f"{name if '.' in name or name.lower() == table else quoted(table)} VERSION AS OF {clause.commit}"
