"""Random statements about partitions, tables and files, each with its effect on the state that it saw."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import count

from .outcomes import (
    ABSENT,
    FACT,
    PLAIN,
    Outcome,
    Refused,
    Statement,
    copied_table,
    existing_rows,
    on_partitions,
    part_names,
    partition_column,
    partition_spec,
    partitioned_by,
    refused,
)
from .rowmodel import MONTHS, MONTHS_OF, QUARTERS, Change, Rows, State, Table, summed


class TableStatements:
    """Writes statements about partitions, tables and files. Most of them name what exists in the session's view."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._numbers = count(1)

    def _table(self, view: State, *more: str) -> str:
        """Chooses a table, usually one that exists."""
        existing = [name for name in (*PLAIN, *more) if name in view.names]
        return self._chance.choice(existing if existing and self._chance.random() < 0.93 else [*PLAIN, *more])

    def _any_table(self, view: State) -> str:
        return self._table(view, *FACT)

    def _part(self, view: State, name: str, there: float = 0.8) -> str:
        """Chooses a partition name for a table, usually that of an existing partition."""
        table = view.find(name)
        existing = sorted(table.parts) if table is not None else []
        if existing and self._chance.random() < there:
            return self._chance.choice(existing)
        return self._chance.choice(part_names(name))

    def _rows(self, name: str, view: State) -> Rows:
        """Returns new rows of a table, each with a number of its own."""
        table, times = view.find(name), range(self._chance.choice((1, 1, 2)))
        if name in FACT:
            return tuple((self._chance.choice("uvw"), 1, next(self._numbers)) for _ in times)
        width = len(table.columns) if table is not None else 1
        return tuple(tuple(next(self._numbers) for _ in range(width)) for _ in times)

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
            gone = [existing for existing in table.parts if existing == part or (sign == ">=" and existing > part)]
            if not gone and not tolerant:
                return refused("PARTITIONS_NOT_FOUND")
            id = state.names[name]
            return [(Change("look", id), *(Change("drop", id, dropped) for dropped in gone))]

        exists = "IF EXISTS " if tolerant else ""
        text = f"ALTER TABLE {name} DROP {exists}PARTITION ({key} {sign} '{part}')"
        return Statement(text, on_partitions(name, effect), reads=(name,), writes=(name,))

    def _delete(self, view: State) -> Statement:
        """DELETE FROM: base partitions of the fact and tables without partitions keep an empty part."""
        name, form = self._any_table(view), self._chance.choice(("all", "=", "=", ">=", "<", "NULL"))
        part, key = self._part(view, name), "dt" if name in FACT else "p"
        holds = {
            "all": lambda _: True, "=": lambda own: own == part, ">=": lambda own: own >= part,
            "<": lambda own: own < part, "NULL": lambda _: False,
        }[form]  # fmt: skip

        def effect(state: State) -> Sequence[Outcome]:
            table = state.find(name)
            if table is None:
                return refused(ABSENT)
            if not table.key and form != "all":
                return refused("UNRESOLVED_COLUMN")
            id, is_emptied = state.names[name], not table.key or name == MONTHS
            gone = [own for own in table.parts if holds(own) and (table.parts[own] or not is_emptied)]
            return [(Change("look", id), *(Change("put" if is_emptied else "drop", id, own) for own in gone))]

        condition = f"{key} {form} '{part}'" if form != "NULL" else f"{key} = NULL"
        text = f"DELETE FROM {name}" + ("" if form == "all" else f" WHERE {condition}")
        return Statement(text, effect, reads=(name,), writes=(name,))

    def _add_partition(self, view: State) -> Statement:
        name, tolerant = self._any_table(view), self._chance.random() < 0.5
        part, key = self._part(view, name, 0.2), "dt" if name in FACT else "p"

        def effect(state: State, table: Table) -> Sequence[Outcome]:
            if part in table.parts:
                return [(Change("look", state.names[name]),)] if tolerant else refused("PARTITIONS_ALREADY_EXIST")
            return [(Change("put", state.names[name], part),)]

        exists = "IF NOT EXISTS " if tolerant else ""
        return Statement(
            f"ALTER TABLE {name} ADD {exists}PARTITION ({key} = '{part}')", on_partitions(name, effect), writes=(name,)
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
        return Statement(text, on_partitions(name, effect), reads=(name,), writes=(name,))

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
            if part is not None and part not in table.parts:
                return refused("PARTITIONS_NOT_FOUND")
            emptied = [existing for existing in table.parts if part in (None, existing) and table.parts[existing]]
            id = state.names[name]
            return [(Change("look", id), *(Change("put", id, emptied_part) for emptied_part in emptied))]

        text = f"TRUNCATE TABLE {name}{partition_spec(key, part) if part else ''}"
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
            return [(Change("create", id, created=Table(("x",), key), name=name),)]

        exists = "IF NOT EXISTS " if tolerant else ""
        return Statement(f"CREATE TABLE {exists}{name} (x BIGINT){partitioned_by(key, ' STRING')}", effect)

    def _create_as(self, view: State) -> Statement:
        name, source = self._new_name(view), self._table(view)
        key = partition_column(view, source)
        id = f"{name}-{next(self._numbers)}"

        def effect(state: State) -> Sequence[Outcome]:
            if name in state.names:
                return refused("TABLE_OR_VIEW_ALREADY_EXISTS", *(() if source in state.names else (ABSENT,)))
            copy = copied_table(state, source, key)
            if isinstance(copy, Refused):
                return [copy]
            return [(Change("create", id, created=copy, name=name),)]

        items = "x, p" if key else "x"
        text = f"CREATE TABLE {name}{partitioned_by(key)} AS SELECT {items} FROM {source}"
        return Statement(text, effect, reads=(source,))

    def _replace_as(self, view: State) -> Statement:
        """Replaces a table by a query over another table, or over itself."""
        name, source = self._table(view), self._table(view)
        key = partition_column(view, source)
        id = f"{name}-{next(self._numbers)}"

        def effect(state: State) -> Sequence[Outcome]:
            copy = copied_table(state, source, key)
            if isinstance(copy, Refused):
                return [copy]
            created = Change("create", id, created=copy, name=name)
            return [(Change("end", state.names[name]), created) if name in state.names else (created,)]

        items = "x, p" if key else "x"
        text = f"CREATE OR REPLACE TABLE {name}{partitioned_by(key)} AS SELECT {items} FROM {source}"
        return Statement(text, effect, reads=(source,), writes=(name,))

    def _create_like(self, view: State) -> Statement:
        name, source = self._new_name(view), self._table(view)
        id = f"{name}-{next(self._numbers)}"

        def effect(state: State) -> Sequence[Outcome]:
            table = state.find(source)
            wrong = [(table is None, ABSENT), (name in state.names, "TABLE_OR_VIEW_ALREADY_EXISTS")]
            if table is None or name in state.names:
                return refused(*(condition for is_so, condition in wrong if is_so))
            return [(Change("create", id, created=Table(table.columns, table.key), name=name),)]

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
                Change("put", QUARTERS, quarter, summed(existing_rows(state, MONTHS_OF[quarter])))
                for quarter in quarters
            )

        return Statement("REFRESH FACT all_sales", lambda _: [()], alone=True, told=told)
