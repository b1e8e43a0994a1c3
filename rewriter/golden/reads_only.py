"""Statements that may run in a user's warehouse: those that only read."""

from __future__ import annotations

from rewriter.catalog.catalog import Catalog
from rewriter.catalog.store.migrations import STEPS
from rewriter.errors import Error, NotSupportedError, OperationalError, Span, shifted
from rewriter.grammar.families.views import CreateView
from rewriter.grammar.lexer import split_statements
from rewriter.grammar.parser import parse
from rewriter.grammar.statements import Statement

CONDITION = "GOLDEN_FILE_READS_ONLY"

#: How the classes of statements begin that read, or change the session alone.
_READING = ("Select", "Explain", "Show", "Describe", "SetSetting", "ResetSetting", "UseDatabase")


def check_reads_only(text: str) -> None:
    """Raises ``NotSupportedError`` GOLDEN_FILE_READS_ONLY if a statement of a text may change the warehouse.

    A statement with a syntax error is not checked: it cannot run.
    """
    try:
        spans = split_statements(text)
    except Error:
        return
    for span in spans:
        try:
            statement = parse(text[span.start : span.end])
        except Error:
            continue
        if not only_reads(statement):
            raise shifted(_refusal(statement, span), span)


def only_reads(statement: Statement) -> bool:
    """Tests whether a statement leaves the warehouse as it is. A temporary view belongs to the session."""
    if isinstance(statement, CreateView):
        return statement.temporary
    return type(statement).__name__.startswith(_READING)


def _refusal(statement: Statement, span: Span) -> Error:
    return NotSupportedError(
        "The statement may change your warehouse, which golden files only read.",
        condition=CONDITION,
        position=statement.span or Span(0, span.end - span.start),
        hint="Put it into a case setup: the file then runs in a temporary warehouse. If your warehouse is to be "
        "changed, write the line: options warehouse=write.",
    )


def check_current(warehouse: str, catalog: str | None) -> None:
    """Raises ``OperationalError`` for a catalog of an older release, which a session would upgrade."""
    version = Catalog.stored_version(warehouse, catalog)
    if version < len(STEPS):
        raise OperationalError(
            f"The catalog has the schema version {version}, and this release has {len(STEPS)}.",
            condition=CONDITION,
            object=warehouse,
            hint="Golden files do not upgrade it: run rewriter catalog upgrade.",
        )
