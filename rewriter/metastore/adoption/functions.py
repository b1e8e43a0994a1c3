"""The permanent functions of a source's databases, which the catalog keeps for clients of the metastore."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from rewriter.catalog.catalog import Catalog
from rewriter.catalog.model.changes import Change, CreateObject, DropObject
from rewriter.catalog.model.objects import Function
from rewriter.catalog.model.qualified_names import full_name, parts_of
from rewriter.errors import IntegrityError, OperationalError
from rewriter.metastore.adoption.commits import REFUSALS, State, committed
from rewriter.metastore.adoption.report import Counts, Report
from rewriter.metastore.adoption.selection import Selection
from rewriter.metastore.adoption.source import Source
from rewriter.metastore.functions import catalog_function

_LISTING = "get_functions"


@dataclass(frozen=True)
class Functions:
    """Brings the functions of the catalog in step with those of a source. It changes only those that an import made."""

    catalog: Catalog
    source: Source
    selection: Selection
    report: Report

    def compare(self, databases: Sequence[str]) -> None:
        """Compares the functions of databases of the source, and drops those of it that are gone there.

        Costs a request for each database, and one for each function. Raises METASTORE_UNAVAILABLE, and the errors of
        the catalog's database.
        """
        listed: set[str] = set()
        unread: set[str] = set()
        for database in databases:
            try:
                names = sorted({name.lower(): name for name in self.source.functions(database)}.values())
            except OperationalError as error:
                if error.condition != "METASTORE_REFUSED":
                    raise
                if self.source.lacks(_LISTING):
                    self.report.not_taken(self.source.uri, "functions", f"The source does not have {_LISTING}.")
                    return
                self.report.not_taken(database, "functions", error.headline)
                unread.add(database)
                continue
            listed.update(full_name(database, name.lower()) for name in names)
            self._put(list(self._wanted(database, names)))
        self._drop_missing(listed, unread)

    def _wanted(self, database: str, names: Sequence[str]) -> Iterator[Function]:
        """Yields the functions that the catalog can have."""
        for name in names:
            try:
                given = self.source.function(database, name)
                returned = (str(given.dbName or "").lower(), str(given.functionName or "").lower())
                if returned == (database, name.lower()):
                    yield replace(catalog_function(given, 0, database, 0), source=self.source.uri)
                    continue
                reason = "The source returned another function."
            except REFUSALS as error:
                reason = error.headline
            except OperationalError as error:
                if error.condition != "METASTORE_REFUSED":
                    raise
                reason = error.headline
            self.report.not_taken(f"{database}.{name}", "function", reason)

    def _put(self, functions: Sequence[Function]) -> None:
        """Creates and replaces functions in one commit, or each in its own if that is refused."""
        try:
            counts = committed(self.catalog, self._changes(functions))
        except REFUSALS as error:
            if len(functions) > 1:
                for function in functions:
                    self._put([function])
                return
            self.report.not_taken(".".join(parts_of(functions[0].name)), "function", error.headline)
        else:
            self.report.functions.add(counts)

    def _changes(self, functions: Sequence[Function]) -> Callable[[State], tuple[list[Change], Counts]]:
        def changes(state: State) -> tuple[list[Change], Counts]:
            made: list[Change] = []
            counts = Counts()
            for wanted in functions:
                live = state.snapshot.find_function(wanted.name)
                if live is None:
                    counts.created += 1
                elif live.source != self.source.uri:
                    raise IntegrityError(
                        "The catalog has a function of that name that this import did not make.",
                        condition="ROUTINE_ALREADY_EXISTS",
                        sqlstate="42723",
                        object=wanted.name,
                        hint="Rename one of them, and import again.",
                    )
                elif replace(wanted, id=live.id) == live:
                    continue
                else:
                    made.append(DropObject(live))
                    counts.changed += 1
                made.append(CreateObject(wanted))
            return made, counts

        return changes

    def _drop_missing(self, listed: Collection[str], unread: Collection[str]) -> None:
        """Drops the selected functions of the source that it does not list. ``unread`` databases listed none."""

        def changes(state: State) -> tuple[list[Change], Counts]:
            gone = [
                function
                for function in state.snapshot.functions()
                if function.source == self.source.uri
                and function.name not in listed
                and (database := parts_of(function.name)[0]) not in unread
                and self.selection.has_all_of(database)
            ]
            return [DropObject(function) for function in gone], Counts(dropped=len(gone))

        self.report.functions.add(committed(self.catalog, changes))
