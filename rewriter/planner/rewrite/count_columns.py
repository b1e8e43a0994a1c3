"""Names for the counting measures in a block: columns that its query need not have mentioned.

Such a column is visible through an inlined subquery only if the subquery passes it on. It is therefore added to the
select lists on the way.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.errors import InternalError, NotSupportedError, Span
from rewriter.planner.model.plan import quote_identifier
from rewriter.planner.rewrite.union_arms import Extra, arm_column
from rewriter.planner.scope.blocks import Block, CubeSource
from rewriter.planner.scope.inlining import Level
from rewriter.planner.text.edits import Edit
from rewriter.planner.text.query_text import QueryText

#: The column of a relation that counts events and is never NULL: NULL means that the relation is absent.
PRESENT = "rw_events"


class Counters:
    """Names for the counting measures of one source in its block; ``edits`` make them visible.

    ``nullable`` says that an outer join may put NULLs in the source's place; such a row counts one.
    """

    def __init__(self, text: QueryText, block: Block, source: CubeSource, *, nullable: bool) -> None:
        self._text = text
        self._block = block
        self._source = source
        self._is_nullable = nullable
        self.edits: list[Edit] = []
        #: Columns that the relation must offer besides the cube's.
        self.extras: dict[str, Extra] = {}
        self._names: dict[str, str] = {}
        self._names_in_extras: set[str] = set()

    @property
    def measures(self) -> tuple[str, ...]:
        """The cube's measures that are read."""
        return tuple(self._names)

    @property
    def relation_measures(self) -> tuple[str, ...]:
        """Those that are read as columns of the relation, not through ``extras``."""
        return tuple(name for name in self._names if name not in self._names_in_extras)

    @property
    def presence_name(self) -> str:
        """``PRESENT``, or a name like it that the cube does not have."""
        return self._unused_name(PRESENT)

    def _unused_name(self, name: str) -> str:
        used_names = {column.lower() for column in self._source.cube.column_order}
        while name in used_names:
            name += "_"
        return name

    def of_events(self) -> str:
        """Returns an expression for the number of events that a row of the block represents."""
        cube = self._source.cube
        measure = cube.count_measure
        if measure is None:
            raise InternalError("a cube without a COUNT measure has no events to sum")
        if not self._is_nullable:
            return self.column(measure.name)
        present = self.presence_name
        if present not in self.extras:
            name = measure.name
            self.extras[present] = lambda arm: f"COALESCE({arm_column(arm, name, cube)}, 0)"
            self._names_in_extras.add(name)
            self._names[name] = self._visible(present)
        return f"COALESCE({self._qualified(self._names[measure.name])}, 1)"

    def column(self, name: str) -> str:
        """Returns a measure of the cube as the block may write it."""
        if name not in self._names:
            visible = self._visible(name)
            if visible.lower() in self._outputs():
                # ORDER BY and HAVING would find the output column of that name.
                extra = self._unused_name(f"rw_{name.lower()}")
                cube = self._source.cube
                self.extras[extra] = lambda arm: arm_column(arm, name, cube)
                self._names_in_extras.add(name)
                visible = self._visible(extra)
            self._names[name] = visible
        return self._qualified(self._names[name])

    def _outputs(self) -> set[str]:
        """Returns the output columns that ORDER BY and the like may name, in lower case."""
        select = self._block.select
        if not any(select.args.get(key) for key in ("order", "having", "sort", "cluster", "distribute", "qualify")):
            return set()
        return {item.alias.lower() for item in select.expressions}

    def _qualified(self, visible: str) -> str:
        """Returns a column of the source, qualified where another source may have the name."""
        is_only_source = not self._block.others and len(self._block.cubes) == 1
        quoted = quote_identifier(visible)
        return (
            quoted if is_only_source or not self._source.alias else f"{quote_identifier(self._source.alias)}.{quoted}"
        )

    def _visible(self, name: str) -> str:
        """Returns the name under which the block sees a column of the cube; select lists that hide it are extended."""
        hidden_names = [name] if name in self.extras else []
        for level in self._source.levels:
            if level.passes_all and not _names(level, name):
                continue
            passed_name = None if level.passes_all else _passed_name(level, name)
            if passed_name is None:
                passed_name, edits = self._extend_select(level, name)
                self.edits += edits
                hidden_names.append(passed_name)
            name = passed_name
        if hidden_names and self._shown_by_star():
            raise NotSupportedError(
                "COUNT and AVG with * are not supported over a subquery or an outer join of a cube.",
                position=self._text.place(self._source.span),
                object=self._source.cube.name,
                hint="Name the columns instead of *.",
            )
        return name

    def _shown_by_star(self) -> bool:
        """Tests whether a ``*`` of the block would show the added columns."""
        for node in self._block.original_nodes:
            if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
                if node.table.lower() == self._source.alias.lower():
                    return True
            elif isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count | exp.Column):
                return True
        return False

    def _extend_select(self, level: Level, name: str) -> tuple[str, list[Edit]]:
        position = self._text.select_list(level.select)
        fresh = name if name.startswith("rw_") else f"rw_{name.lower()}"
        while fresh in {*level.output_values, *(name.name.lower() for names in level.column_lists for name in names)}:
            fresh += "_"
        qualifier = f"{quote_identifier(level.alias)}." if level.alias else ""
        item = f"{qualifier}{quote_identifier(name)} AS {quote_identifier(fresh)}"
        edits = [Edit(Span(position, position), (f"{item}, ",), f"a subquery also selects {item}")]
        for column_list in level.column_lists:
            start = column_list[0].meta["start"]
            edits.append(Edit(Span(start, start), (f"{quote_identifier(fresh)}, ",)))
        return fresh, edits


def _names(level: Level, name: str) -> bool:
    """Tests whether a subquery gives the name to a column of its own, beside ``*``."""
    return any(item.alias_or_name.lower() == name.lower() for item in level.select.expressions)


def _passed_name(level: Level, name: str) -> str | None:
    """Returns the name under which a subquery passes a column of its relation on, if it does."""
    if level.column_lists:
        return None
    for item in level.select.expressions:
        column = item.unalias()
        is_own = isinstance(column, exp.Column) and column.table.lower() in ("", level.alias.lower())
        if is_own and column.name.lower() == name.lower():
            return str(item.alias_or_name)
    return None
