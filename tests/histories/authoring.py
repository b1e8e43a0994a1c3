"""Random statements of all kinds, each with its effect on the state that it saw."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product

from .outcomes import (
    ABSENT,
    FACT,
    MISFITS,
    PARTS,
    Answer,
    Outcome,
    Statement,
    answer,
    cube_outcomes,
    existing_rows,
    insert_changes,
    partition_column,
    partition_spec,
    query_of_table,
    refused,
    row_literal,
    time_condition,
)
from .rowmodel import ALL_MONTHS, MONTHS, MONTHS_OF, QUARTERS, State, summed
from .table_statements import TableStatements


class Author(TableStatements):
    """Writes statements that a session with this view can execute. Each history has one author."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        kinds = {
            self._select: 14,
            self._cube: 14,
            self._show: 6,
            self._explain: 3,
            self._insert: 14,
            self._insert_select: 8,
            self._months: 14,
            self._rollup: 12,
            self._rollup_from_cube: 5,
            self._exchange: 7,
            self._drop_partitions: 6,
            self._delete: 6,
            self._add_partition: 5,
            self._rename_partition: 6,
            self._truncate: 4,
            self._create: 6,
            self._create_as: 4,
            self._replace_as: 4,
            self._create_like: 2,
            self._insert_absent: 4,
            self._both_rollups: 4,
            self._check: 4,
            self._analyze: 3,
            self._drop_table: 4,
            self._rename_table: 4,
            self._add_column: 3,
            self._compact: 7,
            self._vacuum: 5,
            self._refresh: 8,
        }
        self._kinds, self._weights = list(kinds), list(kinds.values())

    def statement(self, view: State, partial: bool) -> Statement:
        """Returns the next statement for a session that sees ``view``. ``partial`` is the session's
        ``rewriter.partial_data``.
        """
        (kind,) = self._chance.choices(self._kinds, self._weights)
        return kind(view, partial) if kind in (self._cube, self._rollup_from_cube) else kind(view)

    # Reading.

    def _select(self, view: State) -> Statement:
        name, form = self._any_table(view), self._chance.randrange(4)
        part, second = self._part(view, name), self._table(view)
        if form == 0:
            return query_of_table(f"SELECT COUNT(*) AS n FROM {name}", name, lambda table: [(len(table.all_rows()),)])
        if form == 1 and name not in FACT:
            text = f"SELECT COUNT(*) AS n FROM {name} AS l JOIN {second} AS r ON l.x <= r.x"

            def joined(state: State) -> Sequence[Outcome]:
                left_table, right_table = state.find(name), state.find(second)
                if left_table is None or right_table is None:
                    return refused(ABSENT)
                pairs = product(left_table.all_rows(), right_table.all_rows())
                return answer([(sum(int(str(left[0])) <= int(str(right[0])) for left, right in pairs),)])

            return Statement(text, joined, reads=(name, second))
        key = view.find(name).key if name in view.names else ""  # type: ignore[union-attr]
        if form == 2 and key:
            return query_of_table(
                f"SELECT * FROM {name} WHERE {key} = '{part}'",
                name,
                lambda table: [row for row in table.all_rows() if row[-1] == part] if table.key == key else None,
            )
        return query_of_table(f"SELECT * FROM {name}", name, lambda table: table.all_rows())

    def _cube(self, view: State, partial: bool) -> Statement:
        first = self._chance.choice((0, 0, 0, 3, 1))
        last = self._chance.choice([number for number in (3, 6, 4, 2) if number > first])
        text = f"SELECT k, COUNT(*) AS n, SUM(v) AS v FROM sales WHERE {time_condition(first, last)} GROUP BY k"
        return Statement(text, lambda state: cube_outcomes(state, first, last, partial), reads=(MONTHS, QUARTERS))

    def _show(self, view: State) -> Statement:
        if self._chance.random() < 0.3:
            return Statement("SHOW TABLES", lambda state: answer([(name,) for name in state.names]))
        name = self._any_table(view)

        def effect(state: State) -> Sequence[Outcome]:
            table = state.find(name)
            if table is None:
                return refused(ABSENT)
            if not table.key:
                return refused("INVALID_PARTITION_OPERATION.PARTITION_SCHEMA_IS_EMPTY")
            return answer([(f"{table.key}={part}",) for part in table.parts])

        return Statement(f"SHOW PARTITIONS {name}", effect, reads=(name,))

    def _explain(self, view: State) -> Statement:
        name = self._any_table(view)
        return query_of_table(
            f"EXPLAIN SCAN SELECT * FROM {name}", name, lambda table: [(len(table.parts),)] if table.key else []
        )

    def earlier(self, view: State, old: State, clause: str, partial: bool) -> Statement:
        """Writes a statement over the state that a clause AS OF asks for: a query of a table or of the cube, alone or
        beside a table of the present, or an INSERT of a table's rows.
        """
        forms = (self._old_table, self._old_part, self._old_beside, self._old_rows, self._old_cube)
        form = self._chance.choice(forms)
        return self._old_cube(old, clause, partial) if form == self._old_cube else form(view, old, clause)

    def _old_table(self, view: State, old: State, clause: str) -> Statement:
        name = self._any_table(old)
        table = old.find(name)
        outcomes = refused(ABSENT) if table is None else answer(table.all_rows())
        return Statement(f"SELECT * FROM {name} {clause}", lambda _: outcomes)

    def _old_part(self, view: State, old: State, clause: str) -> Statement:
        name = self._table(old)
        table, part = old.find(name), self._part(old, name)
        if table is None or not table.key:
            return self._old_table(view, old, clause)
        rows = [row for row in table.all_rows() if row[-1] == part]
        return Statement(f"SELECT * FROM {name} {clause} AS o WHERE o.{table.key} = '{part}'", lambda _: answer(rows))

    def _old_beside(self, view: State, old: State, clause: str) -> Statement:
        name, other = self._any_table(old), self._table(view)
        table = old.find(name)

        def beside(state: State) -> Sequence[Outcome]:
            present = state.find(other)
            if table is None or present is None:
                return refused(ABSENT)
            return answer([(len(table.all_rows()), len(present.all_rows()))])

        old_count = f"SELECT COUNT(*) AS n FROM {name} {clause}"
        text = f"SELECT o.n, p.n FROM ({old_count}) AS o CROSS JOIN (SELECT COUNT(*) AS n FROM {other}) AS p"
        return Statement(text, beside, reads=(other,))

    def _old_rows(self, view: State, old: State, clause: str) -> Statement:
        """Writes the rows of an earlier state into a table: all into one partition, or each into its own."""
        name, source = self._table(view), self._table(old)
        how, given = self._chance.choice(("INTO", "OVERWRITE")), old.find(source)
        key, part = partition_column(view, name), self._chance.choice(PARTS)
        width = len(view.find(name).columns) if name in view.names else 1  # type: ignore[union-attr]
        items = ", ".join(["x"] * width)
        text = f"INSERT {how} {name}{partition_spec(key, part)} SELECT {items} FROM {source} {clause}"

        def effect(state: State) -> Sequence[Outcome]:
            table = state.find(name)
            if table is None or given is None:
                return refused(ABSENT)
            if len(table.columns) != width or table.key != key:
                return refused(*MISFITS)
            rows = tuple((row[0],) * width for row in given.all_rows())
            target = part if key else ""
            if how == "INTO" and not rows and (not key or target in table.parts):
                return [()]
            return [insert_changes(state.names[name], how, {target: rows})]

        return Statement(text, effect, writes=(name,))

    def _old_cube(self, old: State, clause: str, partial: bool) -> Statement:
        """Writes a query whose cover is that of the earlier state."""
        first = self._chance.choice((0, 0, 0, 3, 1))
        last = self._chance.choice([number for number in (3, 6, 4, 2) if number > first])
        outcomes = cube_outcomes(old, first, last, partial)
        condition = time_condition(first, last)
        text = f"SELECT k, COUNT(*) AS n, SUM(v) AS v FROM sales {clause} WHERE {condition} GROUP BY k"
        return Statement(text, lambda _: outcomes)

    # Rows.

    def _insert(self, view: State) -> Statement:
        name = self._table(view, "spare_months")
        return self._values(view, name, self._chance.choice(("INTO", "INTO", "OVERWRITE")))

    def _months(self, view: State) -> Statement:
        return self._values(view, MONTHS, self._chance.choice(("INTO", "OVERWRITE")))

    def _values(self, view: State, name: str, how: str) -> Statement:
        key = partition_column(view, name)
        parts = sorted({self._part(view, name, 0.4) for _ in range(self._chance.choice((1, 1, 2)))}) if key else [""]
        is_static = len(parts) == 1 and self._chance.random() < 0.5
        rows = {part: self._rows(name, view) for part in parts}
        width = len(next(iter(rows.values()))[0])
        spec = partition_spec(key, parts[0]) if is_static else ""
        values = [(*row, *((part,) if key and not spec else ())) for part in parts for row in rows[part]]
        text = f"INSERT {how} {name}{spec} VALUES {', '.join(map(row_literal, values))}"

        def effect(state: State) -> Sequence[Outcome]:
            table = state.find(name)
            if table is None:
                return refused(ABSENT)
            if len(table.columns) != width or table.key != key:
                return refused(*MISFITS)
            return [insert_changes(state.names[name], how, rows)]

        return Statement(text, effect, writes=(name,))

    def _insert_select(self, view: State) -> Statement:
        """Writes one partition of a table from the rows of another table, or from counts of its own rows."""
        name, source = self._table(view), self._table(view)
        how, part = self._chance.choice(("INTO", "OVERWRITE")), self._chance.choice(PARTS)
        width = len(view.find(name).columns) if name in view.names else 1  # type: ignore[union-attr]
        key = partition_column(view, name)
        items = ", ".join(["COALESCE(MAX(x), 0) + 1", *["COUNT(*)"] * (width - 1)])
        text = f"INSERT {how} {name}{partition_spec(key, part)} SELECT {items} FROM {source}"

        def effect(state: State) -> Sequence[Outcome]:
            table, given = state.find(name), state.find(source)
            if table is None or given is None:
                return refused(ABSENT)
            if len(table.columns) != width or table.key != key:
                return refused(*MISFITS)
            rows = given.all_rows()
            most = max((int(str(row[0])) for row in rows), default=0) + 1
            rows_written = ((most, *[len(rows)] * (width - 1)),)
            return [insert_changes(state.names[name], how, {part if key else "": rows_written})]

        return Statement(text, effect, reads=(source,), writes=(name,))

    def _rollup(self, view: State) -> Statement:
        """Computes a quarter from its months, in the table of quarters or in a spare table."""
        quarter, name = (
            self._chance.choice(list(MONTHS_OF)),
            self._chance.choice((QUARTERS, QUARTERS, "spare_quarters")),
        )
        months, how = MONTHS_OF[quarter], self._chance.choice(("OVERWRITE", "OVERWRITE", "OVERWRITE", "INTO"))
        text = (
            f"INSERT {how} {name} PARTITION (dt = '{quarter}') SELECT k, SUM(n), SUM(v) FROM months "
            f"WHERE dt >= '{months[0]}' AND dt <= '{months[-1]}' GROUP BY k"
        )

        def effect(state: State) -> Sequence[Outcome]:
            rows = summed(existing_rows(state, months))
            if how == "INTO" and not rows and quarter in state.tables[name].parts:
                return [()]
            return [insert_changes(name, how, {quarter: rows})]

        return Statement(text, effect, reads=(MONTHS,), writes=(name,))

    def _rollup_from_cube(self, view: State, partial: bool) -> Statement:
        number = self._chance.randrange(len(MONTHS_OF))
        quarter = list(MONTHS_OF)[number]
        text = (
            f"INSERT OVERWRITE quarters PARTITION (dt = '{quarter}') SELECT k, COUNT(*), SUM(v) FROM sales "
            f"WHERE {time_condition(3 * number, 3 * number + 3)} GROUP BY k"
        )

        def effect(state: State) -> Sequence[Outcome]:
            outcomes: list[Outcome] = []
            for outcome in cube_outcomes(state, 3 * number, 3 * number + 3, False):
                if isinstance(outcome, Answer):
                    outcomes.append(insert_changes(QUARTERS, "OVERWRITE", {quarter: tuple(outcome.options[0])}))
                else:
                    outcomes += refused("MISSING_PARTITIONS", "PARTIAL_ROLLUP")
            return outcomes

        return Statement(text, effect, reads=(MONTHS, QUARTERS), writes=(QUARTERS,))

    def _both_rollups(self, view: State) -> Statement:
        """Computes both quarters and a spare month from the months in one statement."""
        branches = [
            f"INSERT OVERWRITE quarters PARTITION (dt = '{quarter}') SELECT k, SUM(n), SUM(v) "
            f"WHERE dt >= '{months[0]}' AND dt <= '{months[-1]}' GROUP BY k"
            for quarter, months in MONTHS_OF.items()
        ]
        given, month = self._chance.sample(ALL_MONTHS, 2)
        branches.append(f"INSERT INTO spare_months PARTITION (dt = '{month}') SELECT k, n, v WHERE dt = '{given}'")

        def effect(state: State) -> Sequence[Outcome]:
            rollups = {quarter: summed(existing_rows(state, months)) for quarter, months in MONTHS_OF.items()}
            rows = tuple(existing_rows(state, [given]))
            is_nothing = not rows and month in state.tables["spare_months"].parts
            spare = () if is_nothing else insert_changes("spare_months", "INTO", {month: rows})
            return [(*insert_changes(QUARTERS, "OVERWRITE", rollups), *spare)]

        return Statement(
            f"FROM months {' '.join(branches)}", effect, reads=(MONTHS,), writes=(QUARTERS, "spare_months")
        )

    def _insert_absent(self, view: State) -> Statement:
        name = self._table(view, MONTHS)
        part, key, rows = self._part(view, name, 0.4), partition_column(view, name) or "p", self._rows(name, view)

        def effect(state: State) -> Sequence[Outcome]:
            table = state.find(name)
            if table is None:
                return refused(ABSENT)
            if len(table.columns) != len(rows[0]) or table.key != key:
                return refused(*MISFITS)
            if part in table.parts:
                return [()]
            return [insert_changes(state.names[name], "OVERWRITE", {part: rows})]

        values = ", ".join(map(row_literal, rows))
        text = f"INSERT OVERWRITE {name}{partition_spec(key, part)} IF NOT EXISTS VALUES {values}"
        return Statement(text, effect, reads=(name,), writes=(name,))
