"""Random statements, each with what it must do to the state that it saw."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count, product

from .rowmodel import ALL_MONTHS, MONTHS, MONTHS_OF, QUARTERS, Change, Row, Rows, State, Table, summed

PLAIN = ("a", "b", "c")
PARTS = ("p1", "p2", "p3")
SETUP = (
    "CREATE CUBE sales (k STRING, n BIGINT MEASURE COUNT, v BIGINT MEASURE SUM, at TIMESTAMP TIME)",
    *(
        f"CREATE TABLE {name} (k STRING, n BIGINT, v BIGINT) PARTITIONED BY (dt STRING)"
        for name in (MONTHS, QUARTERS, f"spare_{MONTHS}", f"spare_{QUARTERS}")
    ),
    "CREATE FACT all_sales OF CUBE sales STORED IN ("
    "TABLE months PERIOD MONTHLY PARTITIONED BY at AS (dt = 'yyyy-MM'), "
    "TABLE quarters PERIOD QUARTERLY PARTITIONED BY at AS (dt = 'yyyy-q'))",
)
FACT = {name: Table(("k", "n", "v"), "dt") for name in (MONTHS, QUARTERS, f"spare_{MONTHS}", f"spare_{QUARTERS}")}
START = State(names={name: name for name in FACT}, tables=dict(FACT))

ABSENT = "TABLE_OR_VIEW_NOT_FOUND"


@dataclass(frozen=True)
class Refused:
    """An error with one of these conditions, and no effect."""

    conditions: frozenset[str]


@dataclass(frozen=True)
class Answer:
    """One of these results, sorted."""

    options: tuple[list[Row], ...]


#: The outcome of a statement: an error, a result, or its changes.
Outcome = Refused | Answer | tuple[Change, ...]


@dataclass(frozen=True)
class Statement:
    """``effect`` tells every outcome that is right where a state was seen. ``told`` makes changes of what was answered,
    where only the answer says what was chosen. ``alone`` is never part of a transaction of several statements.
    """

    text: str
    effect: Callable[[State], Sequence[Outcome]]
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    alone: bool = False
    told: Callable[[State, Rows], tuple[Change, ...]] | None = None


def refused(*conditions: str) -> list[Outcome]:
    return [Refused(frozenset(conditions))]


def answer(*options: Sequence[Row]) -> list[Outcome]:
    return [Answer(tuple(sorted(rows, key=repr) for rows in options))]


class Author:
    """Writes statements that a session with this view of things could well execute. One for a history."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._numbers = count(1)
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
        """The next one, for a session that sees ``view`` and has ``rewriter.partial_data`` set or not."""
        (kind,) = self._chance.choices(self._kinds, self._weights)
        return kind(view, partial) if kind in (self._cube, self._rollup_from_cube) else kind(view)

    def _table(self, view: State, *more: str) -> str:
        """Mostly one that there is."""
        known = [name for name in (*PLAIN, *more) if name in view.names]
        return self._chance.choice(known if known and self._chance.random() < 0.93 else [*PLAIN, *more])

    def _any_table(self, view: State) -> str:
        return self._table(view, *FACT)

    def _part(self, view: State, name: str, there: float = 0.8) -> str:
        """What a partition of a table may be called: mostly one that there is."""
        table = view.find(name)
        known = sorted(table.parts) if table is not None else []
        if known and self._chance.random() < there:
            return self._chance.choice(known)
        return self._chance.choice(_names(name))

    def _rows(self, name: str, view: State) -> Rows:
        """New rows of a table, each with a number of its own."""
        table, times = view.find(name), range(self._chance.choice((1, 1, 2)))
        if name in FACT:
            return tuple((self._chance.choice("uvw"), 1, next(self._numbers)) for _ in times)
        width = len(table.columns) if table is not None else 1
        return tuple(tuple(next(self._numbers) for _ in range(width)) for _ in times)

    # Reading.

    def _select(self, view: State) -> Statement:
        name, form = self._any_table(view), self._chance.randrange(4)
        part, other = self._part(view, name), self._table(view)
        if form == 0:
            return _reading(f"SELECT COUNT(*) AS n FROM {name}", name, lambda table: [(len(table.all_rows()),)])
        if form == 1 and name not in FACT:
            text = f"SELECT COUNT(*) AS n FROM {name} AS l JOIN {other} AS r ON l.x <= r.x"

            def joined(state: State) -> Sequence[Outcome]:
                one, two = state.find(name), state.find(other)
                if one is None or two is None:
                    return refused(ABSENT)
                pairs = product(one.all_rows(), two.all_rows())
                return answer([(sum(int(str(left[0])) <= int(str(right[0])) for left, right in pairs),)])

            return Statement(text, joined, reads=(name, other))
        key = view.find(name).key if name in view.names else ""  # type: ignore[union-attr]
        if form == 2 and key:
            return _reading(
                f"SELECT * FROM {name} WHERE {key} = '{part}'",
                name,
                lambda table: [row for row in table.all_rows() if row[-1] == part] if table.key == key else None,
            )
        return _reading(f"SELECT * FROM {name}", name, lambda table: table.all_rows())

    def _cube(self, view: State, partial: bool) -> Statement:
        first = self._chance.choice((0, 0, 0, 3, 1))
        last = self._chance.choice([number for number in (3, 6, 4, 2) if number > first])
        text = f"SELECT k, COUNT(*) AS n, SUM(v) AS v FROM sales WHERE {_between(first, last)} GROUP BY k"
        return Statement(text, lambda state: _of_cube(state, first, last, partial), reads=(MONTHS, QUARTERS))

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
        return _reading(
            f"EXPLAIN SCAN SELECT * FROM {name}", name, lambda table: [(len(table.parts),)] if table.key else []
        )

    # Rows.

    def _insert(self, view: State) -> Statement:
        name = self._table(view, "spare_months")
        return self._values(view, name, self._chance.choice(("INTO", "INTO", "OVERWRITE")))

    def _months(self, view: State) -> Statement:
        return self._values(view, MONTHS, self._chance.choice(("INTO", "OVERWRITE")))

    def _values(self, view: State, name: str, how: str) -> Statement:
        key = _key(view, name)
        parts = sorted({self._part(view, name, 0.4) for _ in range(self._chance.choice((1, 1, 2)))}) if key else [""]
        is_static = len(parts) == 1 and self._chance.random() < 0.5
        rows = {part: self._rows(name, view) for part in parts}
        width = len(next(iter(rows.values()))[0])
        spec = _spec(key, parts[0]) if is_static else ""
        values = [(*row, *((part,) if key and not spec else ())) for part in parts for row in rows[part]]
        text = f"INSERT {how} {name}{spec} VALUES {', '.join(map(_literal, values))}"

        def effect(state: State) -> Sequence[Outcome]:
            table = state.find(name)
            if table is None:
                return refused(ABSENT)
            if len(table.columns) != width or table.key != key:
                return refused(*_MISFITS)
            return [_written(state.names[name], how, rows)]

        return Statement(text, effect, writes=(name,))

    def _insert_select(self, view: State) -> Statement:
        """One partition of a table, as rows of another one, or as its own rows counted."""
        name, source = self._table(view), self._table(view)
        how, part = self._chance.choice(("INTO", "OVERWRITE")), self._chance.choice(PARTS)
        width = len(view.find(name).columns) if name in view.names else 1  # type: ignore[union-attr]
        key = _key(view, name)
        items = ", ".join(["COALESCE(MAX(x), 0) + 1", *["COUNT(*)"] * (width - 1)])
        text = f"INSERT {how} {name}{_spec(key, part)} SELECT {items} FROM {source}"

        def effect(state: State) -> Sequence[Outcome]:
            table, given = state.find(name), state.find(source)
            if table is None or given is None:
                return refused(ABSENT)
            if len(table.columns) != width or table.key != key:
                return refused(*_MISFITS)
            rows = given.all_rows()
            most = max((int(str(row[0])) for row in rows), default=0) + 1
            made = ((most, *[len(rows)] * (width - 1)),)
            return [_written(state.names[name], how, {part if key else "": made})]

        return Statement(text, effect, reads=(source,), writes=(name,))

    def _rollup(self, view: State) -> Statement:
        """A quarter from its months: in its place, or in a spare table."""
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
            rows = summed(_present(state, months))
            if how == "INTO" and not rows and quarter in state.tables[name].parts:
                return [()]
            return [_written(name, how, {quarter: rows})]

        return Statement(text, effect, reads=(MONTHS,), writes=(name,))

    def _rollup_from_cube(self, view: State, partial: bool) -> Statement:
        number = self._chance.randrange(len(MONTHS_OF))
        quarter = list(MONTHS_OF)[number]
        text = (
            f"INSERT OVERWRITE quarters PARTITION (dt = '{quarter}') SELECT k, COUNT(*), SUM(v) FROM sales "
            f"WHERE {_between(3 * number, 3 * number + 3)} GROUP BY k"
        )

        def effect(state: State) -> Sequence[Outcome]:
            outcomes: list[Outcome] = []
            for one in _of_cube(state, 3 * number, 3 * number + 3, False):
                if isinstance(one, Answer):
                    outcomes.append(_written(QUARTERS, "OVERWRITE", {quarter: tuple(one.options[0])}))
                else:
                    outcomes += refused("MISSING_PARTITIONS", "PARTIAL_ROLLUP")
            return outcomes

        return Statement(text, effect, reads=(MONTHS, QUARTERS), writes=(QUARTERS,))

    def _both_rollups(self, view: State) -> Statement:
        """Both quarters, and a spare month, out of the months in one statement."""
        branches = [
            f"INSERT OVERWRITE quarters PARTITION (dt = '{quarter}') SELECT k, SUM(n), SUM(v) "
            f"WHERE dt >= '{months[0]}' AND dt <= '{months[-1]}' GROUP BY k"
            for quarter, months in MONTHS_OF.items()
        ]
        given, month = self._chance.sample(ALL_MONTHS, 2)
        branches.append(f"INSERT INTO spare_months PARTITION (dt = '{month}') SELECT k, n, v WHERE dt = '{given}'")

        def effect(state: State) -> Sequence[Outcome]:
            rollups = {quarter: summed(_present(state, months)) for quarter, months in MONTHS_OF.items()}
            rows = tuple(_present(state, [given]))
            is_nothing = not rows and month in state.tables["spare_months"].parts
            spare = () if is_nothing else _written("spare_months", "INTO", {month: rows})
            return [(*_written(QUARTERS, "OVERWRITE", rollups), *spare)]

        return Statement(
            f"FROM months {' '.join(branches)}", effect, reads=(MONTHS,), writes=(QUARTERS, "spare_months")
        )

    def _insert_absent(self, view: State) -> Statement:
        name = self._table(view, MONTHS)
        part, key, rows = self._part(view, name, 0.4), _key(view, name) or "p", self._rows(name, view)

        def effect(state: State) -> Sequence[Outcome]:
            table = state.find(name)
            if table is None:
                return refused(ABSENT)
            if len(table.columns) != len(rows[0]) or table.key != key:
                return refused(*_MISFITS)
            if part in table.parts:
                return [()]
            return [_written(state.names[name], "OVERWRITE", {part: rows})]

        text = f"INSERT OVERWRITE {name}{_spec(key, part)} IF NOT EXISTS VALUES {', '.join(map(_literal, rows))}"
        return Statement(text, effect, reads=(name,), writes=(name,))

    # Partitions.

    def _exchange(self, view: State) -> Statement:
        form = self._chance.randrange(3)
        pairs = [(self._table(view), self._table(view)), (MONTHS, "spare_months"), (QUARTERS, "spare_quarters")]
        into, out = pairs[form] if self._chance.random() < 0.6 else pairs[form][::-1]
        part = self._part(view, out, 0.9)
        key = "p" if form == 0 else "dt"

        def effect(state: State) -> Sequence[Outcome]:
            target, source = state.find(into), state.find(out)
            if target is None or source is None:
                return refused(ABSENT)
            wrong = [
                (into == out, "EXCHANGE_WITH_ITSELF"),
                (not target.key or not source.key, "INVALID_PARTITION_OPERATION.PARTITION_SCHEMA_IS_EMPTY"),
                (not target.key or not source.key, "TABLES_INCOMPATIBLE_SCHEMAS"),
                (target.columns != source.columns, "TABLES_INCOMPATIBLE_SCHEMAS"),
                (part in target.parts, "PARTITIONS_ALREADY_EXIST"),
                (part not in source.parts, "PARTITIONS_NOT_FOUND"),
            ]
            if any(is_so for is_so, _ in wrong):
                return refused(*(condition for is_so, condition in wrong if is_so))
            to, of = state.names[into], state.names[out]
            return [(Change("drop", of, part), Change("put", to, part, source.rows(part)))]

        text = f"ALTER TABLE {into} EXCHANGE PARTITION ({key} = '{part}') WITH TABLE {out}"
        return Statement(text, effect, reads=(into, out), writes=(into, out))

    def _drop_partitions(self, view: State) -> Statement:
        name, tolerant, sign = self._any_table(view), self._chance.random() < 0.5, self._chance.choice(("=", "=", ">="))
        part, key = self._part(view, name), "dt" if name in FACT else "p"

        def effect(state: State, table: Table) -> Sequence[Outcome]:
            gone = [one for one in table.parts if one == part or (sign == ">=" and one > part)]
            if not gone and not tolerant:
                return refused("PARTITIONS_NOT_FOUND")
            id = state.names[name]
            return [(Change("look", id), *(Change("drop", id, one) for one in gone))]

        exists = "IF EXISTS " if tolerant else ""
        text = f"ALTER TABLE {name} DROP {exists}PARTITION ({key} {sign} '{part}')"
        return Statement(text, _of_partitions(name, effect), reads=(name,), writes=(name,))

    def _add_partition(self, view: State) -> Statement:
        name, tolerant = self._any_table(view), self._chance.random() < 0.5
        part, key = self._part(view, name, 0.2), "dt" if name in FACT else "p"

        def effect(state: State, table: Table) -> Sequence[Outcome]:
            if part in table.parts:
                return [(Change("look", state.names[name]),)] if tolerant else refused("PARTITIONS_ALREADY_EXIST")
            return [(Change("put", state.names[name], part),)]

        exists = "IF NOT EXISTS " if tolerant else ""
        return Statement(
            f"ALTER TABLE {name} ADD {exists}PARTITION ({key} = '{part}')", _of_partitions(name, effect), writes=(name,)
        )

    def _rename_partition(self, view: State) -> Statement:
        name = self._any_table(view)
        old, new, key = self._part(view, name), self._part(view, name, 0.1), "dt" if name in FACT else "p"

        def effect(state: State, table: Table) -> Sequence[Outcome]:
            wrong = [(old not in table.parts, "PARTITIONS_NOT_FOUND"), (new in table.parts, "PARTITIONS_ALREADY_EXIST")]
            if any(is_so for is_so, _ in wrong):
                return refused(*(condition for is_so, condition in wrong if is_so))
            id = state.names[name]
            return [(Change("wipe", id, old), Change("put", id, new, table.rows(old)))]

        text = f"ALTER TABLE {name} PARTITION ({key} = '{old}') RENAME TO PARTITION ({key} = '{new}')"
        return Statement(text, _of_partitions(name, effect), reads=(name,), writes=(name,))

    def _truncate(self, view: State) -> Statement:
        name = self._any_table(view)
        part = (self._part(view, name) if self._chance.random() < 0.7 else None) or None
        key = "dt" if name in FACT else "p"

        def effect(state: State) -> Sequence[Outcome]:
            table = state.find(name)
            if table is None:
                return refused(ABSENT)
            if not table.key and part is not None:
                return refused("PARTITIONS_NOT_FOUND", "INVALID_PARTITION_OPERATION.PARTITION_SCHEMA_IS_EMPTY")
            emptied = [one for one in table.parts if part in (None, one) and table.parts[one]]
            id = state.names[name]
            return [(Change("look", id), *(Change("put", id, one) for one in emptied))]

        text = f"TRUNCATE TABLE {name}{_spec(key, part) if part else ''}"
        return Statement(text, effect, reads=(name,), writes=(name,))

    # Tables.

    def _create(self, view: State) -> Statement:
        name, key, tolerant = (
            self._new_name(view),
            self._chance.choice(("p", "p", "p", "")),
            self._chance.random() < 0.3,
        )
        id = f"{name}-{next(self._numbers)}"

        def effect(state: State) -> Sequence[Outcome]:
            if name in state.names:
                return [()] if tolerant else refused("TABLE_OR_VIEW_ALREADY_EXISTS")
            return [(Change("create", id, made=Table(("x",), key), name=name),)]

        exists = "IF NOT EXISTS " if tolerant else ""
        return Statement(f"CREATE TABLE {exists}{name} (x BIGINT){_partitioned(key, ' STRING')}", effect)

    def _create_as(self, view: State) -> Statement:
        name, source = self._new_name(view), self._table(view)
        key = _key(view, source)
        id = f"{name}-{next(self._numbers)}"

        def effect(state: State) -> Sequence[Outcome]:
            if name in state.names:
                return refused("TABLE_OR_VIEW_ALREADY_EXISTS", *(() if source in state.names else (ABSENT,)))
            copy = _copy(state, source, key)
            if isinstance(copy, Refused):
                return [copy]
            return [(Change("create", id, made=copy, name=name),)]

        items = "x, p" if key else "x"
        text = f"CREATE TABLE {name}{_partitioned(key)} AS SELECT {items} FROM {source}"
        return Statement(text, effect, reads=(source,))

    def _replace_as(self, view: State) -> Statement:
        """A table in the place of another one, also out of its own rows."""
        name, source = self._table(view), self._table(view)
        key = _key(view, source)
        id = f"{name}-{next(self._numbers)}"

        def effect(state: State) -> Sequence[Outcome]:
            copy = _copy(state, source, key)
            if isinstance(copy, Refused):
                return [copy]
            made = Change("create", id, made=copy, name=name)
            return [(Change("end", state.names[name]), made) if name in state.names else (made,)]

        items = "x, p" if key else "x"
        text = f"CREATE OR REPLACE TABLE {name}{_partitioned(key)} AS SELECT {items} FROM {source}"
        return Statement(text, effect, reads=(source,), writes=(name,))

    def _create_like(self, view: State) -> Statement:
        name, source = self._new_name(view), self._table(view)
        id = f"{name}-{next(self._numbers)}"

        def effect(state: State) -> Sequence[Outcome]:
            table = state.find(source)
            wrong = [(table is None, ABSENT), (name in state.names, "TABLE_OR_VIEW_ALREADY_EXISTS")]
            if table is None or name in state.names:
                return refused(*(condition for is_so, condition in wrong if is_so))
            return [(Change("create", id, made=Table(table.columns, table.key), name=name),)]

        return Statement(f"CREATE TABLE {name} LIKE {source}", effect)

    def _new_name(self, view: State) -> str:
        free = [name for name in PLAIN if name not in view.names]
        return self._chance.choice(free if free and self._chance.random() < 0.9 else PLAIN)

    def _drop_table(self, view: State) -> Statement:
        name, tolerant = self._table(view), self._chance.random() < 0.3

        def effect(state: State) -> Sequence[Outcome]:
            if name not in state.names:
                return [()] if tolerant else refused(ABSENT)
            return [(Change("end", state.names[name]),)]

        return Statement(f"DROP TABLE {'IF EXISTS ' if tolerant else ''}{name}", effect, writes=(name,))

    def _rename_table(self, view: State) -> Statement:
        old, new = self._table(view), self._new_name(view)

        def effect(state: State) -> Sequence[Outcome]:
            wrong = [(old not in state.names, ABSENT), (new in state.names, "TABLE_OR_VIEW_ALREADY_EXISTS")]
            if any(is_so for is_so, _ in wrong) and (old != new or old not in state.names):
                return refused(*(condition for is_so, condition in wrong if is_so))
            return [(Change("name", state.names[old], name=new),)]

        return Statement(f"ALTER TABLE {old} RENAME TO {new}", effect, alone=True)

    def _add_column(self, view: State) -> Statement:
        name, column = self._table(view), f"y{next(self._numbers)}"

        def effect(state: State) -> Sequence[Outcome]:
            if name not in state.names:
                return refused(ABSENT)
            return [(Change("columns", state.names[name], name=column),)]

        return Statement(f"ALTER TABLE {name} ADD COLUMNS ({column} BIGINT)", effect, alone=True)

    # Files, and recomputed rollups.

    def _compact(self, view: State) -> Statement:
        name = self._any_table(view)

        def effect(state: State) -> Sequence[Outcome]:
            table = state.find(name)
            if table is None:
                return refused(ABSENT)
            return [tuple(Change("files", state.names[name], part) for part in table.parts)]

        return Statement(f"ALTER TABLE {name} COMPACT", effect, alone=True)

    def _vacuum(self, view: State) -> Statement:
        return Statement("VACUUM RETAIN 0 HOURS", lambda _: [()], alone=True)

    def _analyze(self, view: State) -> Statement:
        name = self._any_table(view)

        def effect(state: State) -> Sequence[Outcome]:
            return refused(ABSENT) if name not in state.names else [(Change("files", state.names[name]),)]

        return Statement(f"ANALYZE TABLE {name} COMPUTE STATISTICS", effect, alone=True)

    def _check(self, view: State) -> Statement:
        def told(state: State, rows: Rows) -> tuple[Change, ...]:
            assert not [row for row in rows if row[8] == "differs"], rows
            return ()

        return Statement("CHECK FACT all_sales", lambda _: [()], reads=(MONTHS, QUARTERS), told=told)

    def _refresh(self, view: State) -> Statement:
        def told(state: State, rows: Rows) -> tuple[Change, ...]:
            done = [row for row in rows if row[5] == "refreshed" or str(row[5]).startswith("outdated again")]
            quarters = [
                quarter for row in done for quarter, months in MONTHS_OF.items()
                if str(row[2])[:7] <= months[0] and months[-1] < str(row[3])[:7]
            ]  # fmt: skip
            assert len(quarters) == sum(int(str(row[6])) for row in done), rows
            assert all(month in state.tables[MONTHS].parts for quarter in quarters for month in MONTHS_OF[quarter])
            return tuple(
                Change("put", QUARTERS, quarter, summed(_present(state, MONTHS_OF[quarter]))) for quarter in quarters
            )

        return Statement("REFRESH FACT all_sales", lambda _: [()], alone=True, told=told)


_MISFITS = (
    "INSERT_COLUMN_ARITY_MISMATCH",
    "INSERT_PARTITION_COLUMN_ARITY_MISMATCH",
    "INVALID_PARTITION_OPERATION",
    "PARTITIONS_NOT_FOUND",
    "UNRESOLVED_COLUMN",
)


def _key(view: State, name: str) -> str:
    """The partition column of a table, or what one that is not there could well have."""
    table = view.find(name)
    return "p" if table is None else table.key


def _names(name: str) -> Sequence[str]:
    """What partitions of a table are called."""
    return PARTS if name not in FACT else ALL_MONTHS if name.endswith(MONTHS) else tuple(MONTHS_OF)


def _literal(row: Row) -> str:
    values = (f"'{value}'" if isinstance(value, str) else str(value) for value in row)
    return f"({', '.join(values)})"


def _spec(key: str, part: str) -> str:
    return f" PARTITION ({key} = '{part}')" if key else ""


def _partitioned(key: str, type_: str = "") -> str:
    return f" PARTITIONED BY ({key}{type_})" if key else ""


def _reading(text: str, name: str, rows: Callable[[Table], Sequence[Row] | None]) -> Statement:
    """A query over one table."""

    def effect(state: State) -> Sequence[Outcome]:
        table = state.find(name)
        found = rows(table) if table is not None else None
        return refused(ABSENT if table is None else "UNRESOLVED_COLUMN") if found is None else answer(found)

    return Statement(text, effect, reads=(name,))


def _copy(state: State, source: str, key: str) -> Table | Refused:
    """The table that a query of the first column makes of another one, which has this partition column."""
    table = state.find(source)
    if table is None:
        return Refused(frozenset((ABSENT,)))
    if table.key != key:
        return Refused(frozenset(_MISFITS))
    parts = {part: tuple(row[:1] for row in table.rows(part)) for part, rows in table.parts.items() if rows}
    return Table(("x",), key, parts)


def _of_partitions(
    name: str, effect: Callable[[State, Table], Sequence[Outcome]]
) -> Callable[[State], Sequence[Outcome]]:
    """What a statement does that is about partitions: refused of no table, and of one without any."""

    def checked(state: State) -> Sequence[Outcome]:
        table = state.find(name)
        if table is None:
            return refused(ABSENT)
        if not table.key:
            return refused("PARTITIONS_NOT_FOUND", "INVALID_PARTITION_OPERATION.PARTITION_SCHEMA_IS_EMPTY")
        return effect(state, table)

    return checked


def _written(table: object, how: str, rows: dict[str, Rows]) -> tuple[Change, ...]:
    kind = "into" if how == "INTO" else "put"
    return tuple(Change(kind, table, part, found, name="insert") for part, found in rows.items())


def _between(first: int, last: int) -> str:
    ends = [*(f"{month}-01" for month in ALL_MONTHS), "2024-07-01"]
    return f"at >= '{ends[first]}' AND at < '{ends[last]}'"


def _present(state: State, months: Sequence[str]) -> list[Row]:
    return [row for month in months for row in state.tables[MONTHS].rows(month)]


def _of_cube(state: State, first: int, last: int, partial: bool) -> Sequence[Outcome]:
    """The allowed results over months [first, last): the rows that were written, even if partitions were dropped.

    Without months and without a rollup it is refused, or partial. The model does not decide whether a rollup is used.
    """
    asked, there = ALL_MONTHS[first:last], state.tables[MONTHS].parts
    choices: list[list[Rows]] = []
    is_sure, is_possible = True, True
    for quarter, months in MONTHS_OF.items():
        inside = [month for month in months if month in asked]
        present, truth = _present(state, inside), [row for month in inside for row in state.truth.get(month, ())]
        is_whole = all(month in there for month in inside)
        is_served = inside == list(months) and quarter in state.tables[QUARTERS].parts
        is_sure &= is_whole
        is_possible &= is_whole or is_served
        choices.append([tuple(present)] if is_whole or not is_served else [tuple(truth), tuple(present)])
    if partial:
        return answer(*(summed(row for rows in chosen for row in rows) for chosen in product(*choices)))
    outcomes: list[Outcome] = []
    if is_possible:
        outcomes += answer(summed(row for found in choices for row in found[0]))
    return outcomes if is_sure else [*outcomes, *refused("MISSING_PARTITIONS")]
