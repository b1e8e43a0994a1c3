"""Statements as the driver takes them: built once, run many times, without what SQLAlchemy does for each run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa


@dataclass(frozen=True)
class Prepared:
    """The text of a statement as the driver takes it, and the values of its parameters that are known.

    ``names`` are those of its parameters in their order where the driver counts them.
    """

    text: str
    known: Mapping[str, object]
    names: tuple[str, ...] | None

    def given(self, values: Mapping[str, object]) -> Mapping[str, object] | tuple[object, ...]:
        """All values, with those of a run."""
        every = {**self.known, **values}
        return every if self.names is None else tuple(every[name] for name in self.names)


def prepared(query: sa.Select[Any], dialect: sa.Dialect) -> Prepared:
    """The statement in a dialect's words. A parameter that each run gives has a value all the same."""
    compiled = query.compile(dialect=dialect, compile_kwargs={"render_postcompile": True})
    names = compiled.positiontup if compiled.positional else None
    return Prepared(str(compiled), compiled.params, None if names is None else tuple(names))
