"""Temporary views: queries under names that one session knows. They are never in the catalog; nor are sources,
temporary functions and session variables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING

from rewriter.catalog.model.objects import Function, Table, View, parts_of
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.catalog.model.sql_functions import SessionVariable

#: What follows the names of temporary views where a temporary table has its session: such names cannot be typed.
OWNER = "0" * 32


@dataclass(frozen=True)
class TemporaryView(View):
    """A view of one session. ``name`` ends in ``OWNER``; ``database`` is the database of its query's unqualified names.

    ``reads`` are the names, in lower case, of the temporary views and tables that its query named when the view was
    created. All other names in its query mean objects of the catalog, whatever temporary objects are created later.
    """

    reads: frozenset[str] = frozenset()


@dataclass(frozen=True)
class TemporaryViews:
    """The temporary views of a session at one moment. ``version`` differs between all moments of one session.

    ``sources`` are the tables that stand for registered sources, by their plain names in lower case. Their own names
    end in ``OWNER``. ``functions`` are the temporary functions and ``variables`` the session variables, by their names
    in lower case.
    """

    by_name: Mapping[str, TemporaryView] = field(default_factory=dict)
    version: int = 0
    sources: Mapping[str, Table] = field(default_factory=dict)
    functions: Mapping[str, Function] = field(default_factory=dict)
    variables: Mapping[str, SessionVariable] = field(default_factory=dict)

    def get(self, name: str) -> TemporaryView | None:
        """Returns the view of that plain name, in any case; ``None`` if there is none."""
        return self.by_name.get(name.lower())

    def with_view(self, view: TemporaryView) -> TemporaryViews:
        """Returns the views with one more, or another one of its name."""
        by_name = {**self.by_name, with_typed_names(view.name).lower(): view}
        return replace(self, by_name=by_name, version=self.version + 1)

    def without(self, view: TemporaryView) -> TemporaryViews:
        """Returns the views without this one."""
        remaining = {name: other for name, other in self.by_name.items() if other.name != view.name}
        return replace(self, by_name=remaining, version=self.version + 1)

    def with_source(self, table: Table) -> TemporaryViews:
        """Returns the views with one more source, or another one of its name."""
        return replace(
            self, sources={**self.sources, with_typed_names(table.name).lower(): table}, version=self.version + 1
        )

    def without_source(self, name: str) -> TemporaryViews:
        """Returns the views without the source of a plain name."""
        remaining = {key: table for key, table in self.sources.items() if key != name.lower()}
        return replace(self, sources=remaining, version=self.version + 1)

    def with_functions(self, functions: Mapping[str, Function]) -> TemporaryViews:
        """Returns the views with these temporary functions."""
        return replace(self, functions=functions, version=self.version + 1)

    def with_variables(self, variables: Mapping[str, SessionVariable]) -> TemporaryViews:
        """Returns the views with these session variables."""
        return replace(self, variables=variables, version=self.version + 1)

    def source_stored_as(self, name: str) -> Table | None:
        """Returns the source whose table has this internal name; ``None`` if there is none."""
        return self.sources.get(with_typed_names(name).lower()) if session_of(name) == OWNER else None


NO_VIEWS = TemporaryViews()


def view_name(name: str) -> str:
    """Returns the internal name of the temporary view of that plain name."""
    return stored_name(name, OWNER)


# Names of temporary tables: rows of the catalog like all others, under a name that cannot be typed.
#
# ``sample@<32 hexadecimal digits of the session>``: a session finds its own tables by their plain names, and does not
# see the tables of other sessions. The catalog treats them as tables, so every statement about them is transactional.

_NAME = re.compile(r"(.*)@([0-9a-f]{32})", re.DOTALL)
_ANYWHERE = re.compile(r"@[0-9a-f]{32}")


def stored_name(name: str, session: str) -> str:
    """Returns the name in the catalog of a session's temporary table."""
    return f"{name}@{session}"


def session_of(name: str) -> str | None:
    """Returns the session whose temporary table has this name; ``None`` for any other name."""
    match = _NAME.fullmatch(name.lower())
    return match[2] if match else None


def place_of(name: str) -> tuple[str, str]:
    """Returns database and name of an object, as statements write them; the database of a temporary table is empty."""
    return ("", with_typed_names(name)) if session_of(name) is not None else parts_of(name)


def plainly(text: str, session: str | None) -> str:
    """Returns a text with the names of a session's temporary tables as they were typed, otherwise unchanged."""
    return text if session is None else text.replace(f"@{session}", "")


def with_typed_names(text: str) -> str:
    """Returns a text with the names of temporary tables as they were typed."""
    return _ANYWHERE.sub("", text)
