"""Names for the counting measures in a block: columns that its query need not have mentioned.

Such a column is visible through an inlined subquery only if the subquery passes it on. It is therefore added to the
select lists on the way.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.errors import InternalError, NotSupportedError, Span
from rewriter.planner.model.plan import quote_identifier
from rewriter.planner.scope.blocks import Block, CubeSource
from rewriter.planner.scope.inlining import Level
from rewriter.planner.text.edits import Edit
from rewriter.planner.text.query_text import QueryText

#: The column of a relation that counts events and is never NULL: NULL means that the relation is absent.
PRESENT = "rw_events"


class Counters:
    """Names for the counting measures of one source in its block; ``edits`` make them visible.

    ``absent`` says that an outer join may put NULLs in the source's place; such a row counts one.
    """

    def __init__(self, text: QueryText, block: Block, source: CubeSource, *, absent: bool) -> None:
        self._text = text
        self._block = block
        self._source = source
        self._absent = absent
        self.edits: list[Edit] = []
        #: Columns that the relation must offer besides the cube's: expressions over a storage table, by name.
        self.extras: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._hidden: set[str] = set()

    @property
    def used(self) -> tuple[str, ...]:
        """The cube's measures that are read."""
        return tuple(self._names)

    @property
    def named(self) -> tuple[str, ...]:
        """Those that are read as columns of the relation, not through ``extras``."""
        return tuple(name for name in self._names if name not in self._hidden)

    @property
    def present(self) -> str:
        """``PRESENT``, or a name like it that the cube does not have."""
        return self._free(PRESENT)

    def _free(self, name: str) -> str:
        taken = {column.lower() for column in self._source.cube.column_order}
        while name in taken:
            name += "_"
        return name

    def of_events(self) -> str:
        """Returns an expression for the number of events that a row of the block represents."""
        measure = self._source.cube.count_measure
        if measure is None:
            raise InternalError("a cube without a COUNT measure has no events to sum")
        if not self._absent:
            return self.column(measure.name)
        present = self.present
        if present not in self.extras:
            self.extras[present] = f"COALESCE({quote_identifier(measure.name)}, 0)"
            self._hidden.add(measure.name)
            self._names[measure.name] = self._visible(present)
        return f"COALESCE({self._written(self._names[measure.name])}, 1)"

    def column(self, name: str) -> str:
        """Returns a measure of the cube as the block may write it."""
        if name not in self._names:
            visible = self._visible(name)
            if visible.lower() in self._outputs():
                # ORDER BY and HAVING would find the output column of that name.
                extra = self._free(f"rw_{name.lower()}")
                self.extras[extra] = quote_identifier(name)
                self._hidden.add(name)
                visible = self._visible(extra)
            self._names[name] = visible
        return self._written(self._names[name])

    def _outputs(self) -> set[str]:
        """Output columns that ORDER BY and the like may name, in lower case."""
        select = self._block.select
        if not any(select.args.get(key) for key in ("order", "having", "sort", "cluster", "distribute", "qualify")):
            return set()
        return {item.alias.lower() for item in select.expressions}

    def _written(self, visible: str) -> str:
        """A column of the source, qualified where another source may have the name."""
        single = not self._block.others and len(self._block.cubes) == 1
        quoted = quote_identifier(visible)
        return quoted if single or not self._source.alias else f"{quote_identifier(self._source.alias)}.{quoted}"

    def _visible(self, name: str) -> str:
        """The name under which the block sees a column of the cube; select lists that hide it are extended."""
        added = [name] if name in self.extras else []
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
                "COUNT and AVG with * are not supported over a subquery or an outer join of a cube.",
                position=self._text.place(self._source.span),
                object=self._source.cube.name,
                hint="Name the columns instead of *.",
            )
        return name

    def _shown_by_star(self) -> bool:
        """Tests whether a ``*`` of the block would show the added columns."""
        for node in self._block.typed:
            if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
                if node.table.lower() == self._source.alias.lower():
                    return True
            elif isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count | exp.Column):
                return True
        return False

    def _added(self, level: Level, name: str) -> tuple[str, Edit]:
        position = self._text.select_list(level.select)
        if level.renamed:
            raise NotSupportedError(
                "COUNT and AVG over a cube in a subquery with a column list are not supported yet.",
                position=self._text.place(Span(position, position)),
                hint="Name the columns inside the subquery, with AS.",
            )
        fresh = name if name.startswith("rw_") else f"rw_{name.lower()}"
        while fresh in level.offers:
            fresh += "_"
        written = f"{quote_identifier(level.alias)}." if level.alias else ""
        item = f"{written}{quote_identifier(name)} AS {quote_identifier(fresh)}"
        return fresh, Edit(Span(position, position), (f"{item}, ",), f"a subquery also selects {item}")


def _names(level: Level, name: str) -> bool:
    """Tests whether a subquery gives the name to a column of its own, beside ``*``."""
    return any(item.alias_or_name.lower() == name.lower() for item in level.select.expressions)


def _passed(level: Level, name: str) -> str | None:
    """The name under which a subquery passes a column of its relation on, if it does."""
    if level.renamed:
        return None
    for item in level.select.expressions:
        column = item.unalias()
        is_own = isinstance(column, exp.Column) and column.table.lower() in ("", level.alias.lower())
        if is_own and column.name.lower() == name.lower():
            return str(item.alias_or_name)
    return None
