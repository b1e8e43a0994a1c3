"""How a block can name the measures that count: columns that its query need not have mentioned.

Through an inlined subquery such a column is visible only if the subquery passes it on, so it is added to the select
lists on the way.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.errors import InternalError, NotSupportedError, Span
from rewriter.planner.blocks import Block, CubeSource
from rewriter.planner.inlining import Level
from rewriter.planner.plan import quote_identifier
from rewriter.planner.projections import own_nodes
from rewriter.planner.text import Edit, QueryText

#: The column of a relation that counts events and is never NULL, so that NULL says that the relation is absent.
PRESENT = "rw_events"


class Counters:
    """Names for the counting measures of one source in its block; ``edits`` are what makes them visible.

    ``absent`` says that an outer join may put NULLs in the source's place; such a row counts one.
    """

    def __init__(self, text: QueryText, block: Block, source: CubeSource, *, absent: bool) -> None:
        self._text = text
        self._block = block
        self._source = source
        self._absent = absent
        self.edits: list[Edit] = []
        self._names: dict[str, str] = {}

    @property
    def used(self) -> tuple[str, ...]:
        """The cube's measures that were named."""
        return tuple(name for name in self._names if name != self.present)

    @property
    def marks(self) -> str | None:
        """The name of the extra column that the relation must offer, if any."""
        return self.present if self.present in self._names else None

    @property
    def present(self) -> str:
        """``PRESENT``, or a name like it that the cube does not have."""
        name, taken = PRESENT, {column.lower() for column in self._source.cube.column_order}
        while name in taken:
            name += "_"
        return name

    def of_events(self) -> str:
        """An expression that says how many events a row of the block stands for."""
        measure = self._source.cube.count_measure
        if measure is None:
            raise InternalError("a cube without a COUNT measure has no events to sum")
        return f"COALESCE({self.column(self.present)}, 1)" if self._absent else self.column(measure.name)

    def column(self, name: str) -> str:
        """A column of the cube as the block may write it."""
        if name not in self._names:
            self._names[name] = self._visible(name)
        visible = self._names[name]
        outputs = {item.alias.lower() for item in self._block.select.expressions}
        single = not self._block.others and len(self._block.cubes) == 1
        quoted = quote_identifier(visible)
        # Qualified where another source, or an output column (in ORDER BY), may have the name.
        if not self._source.alias or (single and visible.lower() not in outputs):
            return quoted
        return f"{quote_identifier(self._source.alias)}.{quoted}"

    def _visible(self, name: str) -> str:
        """The name under which the block sees a column of the cube; select lists that hide it are extended."""
        added = [] if name != self.present else [name]
        for level in self._source.levels:
            if level.passes_all and not _names(level, name):
                continue
            passed = None if level.passes_all else _passed(level, name)
            if passed is None:
                passed, edit = self._added(level, name)
                self.edits.append(edit)
                added.append(passed)
            name = passed
        if added and self._shown_by_star():
            raise NotSupportedError(
                "COUNT and AVG beside * are not supported over a subquery or an outer join of a cube.",
                position=self._text.place(self._source.span),
                object=self._source.cube.name,
                hint="Name the columns instead of *.",
            )
        return name

    def _shown_by_star(self) -> bool:
        """Whether a ``*`` of the block would show what is added."""
        for node in own_nodes(self._block.select):
            if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
                if node.table.lower() == self._source.alias.lower():
                    return True
            elif isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count | exp.Column):
                return True
        return False

    def _added(self, level: Level, name: str) -> tuple[str, Edit]:
        place = self._text.select_list(level.select)
        if level.renamed:
            raise NotSupportedError(
                "COUNT and AVG over a cube behind a subquery with a list of columns are not supported yet.",
                position=self._text.place(Span(place, place)),
                hint="Name the columns inside the subquery, with AS.",
            )
        fresh = name if name.startswith("rw_") else f"rw_{name.lower()}"
        while fresh in level.offers:
            fresh += "_"
        written = f"{quote_identifier(level.alias)}." if level.alias else ""
        item = f"{written}{quote_identifier(name)} AS {quote_identifier(fresh)}"
        return fresh, Edit(Span(place, place), (f"{item}, ",), f"a subquery also selects {item}")


def _names(level: Level, name: str) -> bool:
    """Whether a subquery gives the name to a column of its own, beside ``*``."""
    return any(item.alias_or_name.lower() == name.lower() for item in level.select.expressions)


def _passed(level: Level, name: str) -> str | None:
    """The name under which a subquery passes a column of its relation on, if it does."""
    if level.renamed:
        return None
    for item in level.select.expressions:
        column = item.unalias()
        mine = isinstance(column, exp.Column) and column.table.lower() in ("", level.alias.lower())
        if mine and column.name.lower() == name.lower():
            return str(item.alias_or_name)
    return None
