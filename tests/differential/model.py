"""The base rows of a cube after the steps of a history, and the partitions of its facts.

The model keeps the base rows as ``semantics.md`` requires: the rows of dropped base partitions remain, because dropping
is retention. It uses neither the planner nor the catalog.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from .derivations import Accept, Derivation, Derive, MarkComplete, Rely, Retract
from .periods import Period
from .schemas import CubeSchema, FactSchema, Value
from .steps import Add, Drop, DropPart, DropPeriod, Load, Recreate, RefreshFact, RollUp, Row, Step, Write, held, within

#: The only partition of a period that is not divided. No part of a divided period has an empty text as its value.
ALL: Value = ""


class Inconsistent(Exception):
    """A step after which the facts of a cube would no longer describe the same events."""


@dataclass
class Model:
    """The base rows of one cube by ordinal of the base period, and the partitions of each fact by period.

    The ordinal ``None`` is that of rows without a time. ``merged`` has the same events as facts that merge rows hold
    them. ``parts`` are the partitions of each period. ``retired`` are the partitions of divided base periods that were
    dropped and not written since. ``fresh`` are rollup periods that certainly agree with the base and are known to;
    other rollups may agree, too. ``doubtful`` are those that must not be read: unproven ones, and incomplete ones,
    which are ``True``.
    """

    cube: CubeSchema
    rows: dict[int | None, list[Row]] = field(default_factory=dict)
    merged: dict[str, dict[int | None, list[Row]]] = field(default_factory=dict)
    parts: dict[tuple[str, Period], dict[int | None, set[Value]]] = field(default_factory=dict)
    retired: dict[str, dict[int, set[Value]]] = field(default_factory=dict)
    fresh: set[tuple[str, Period, int]] = field(default_factory=set)
    doubtful: dict[tuple[str, Period, int], bool] = field(default_factory=dict)
    #: The periods of each table of rollups over fewer columns.
    narrow: dict[str, set[int]] = field(default_factory=dict)

    def apply(self, step: Step | Derivation) -> list[Step | Derivation]:
        """Applies a step. Returns what the warehouse executes: the step, and the loads with which owners keep their
        promises.

        Raises ``Inconsistent``, and then nothing is changed.
        """
        if isinstance(step, Write | Add):
            changed = self._write(step) if isinstance(step, Write) else self._add(step)
            # Promised rollups are loaded first, so that only the promise says that they are correct.
            return [*self._kept(changed), step]
        if isinstance(step, Drop):
            self._drop(step)
        elif isinstance(step, Derive):
            step = self._derive(step)
        elif isinstance(step, MarkComplete):
            self._mark_complete(step)
        elif isinstance(step, Accept):
            # The results show which rollups agree with the base.
            self.doubtful = {
                rollup: kind for rollup, kind in self.doubtful.items() if rollup[0] != step.fact.name or kind
            }
        elif isinstance(step, Retract | Recreate):
            pass
        elif isinstance(step, Rely):
            step = replace(step, rows=self._derive(step.promised).rows)
            self._live(step.fact, step.period)[step.target] = {ALL}
            self._note(step.fact, step.period, step.target, sure=False, doubt=False)
        elif isinstance(step, RollUp):
            self._roll_up(step)
        elif isinstance(step, Load):
            step = self._load(step)
        elif isinstance(step, DropPeriod):
            self._live(step.fact, step.period).pop(step.target, None)
            self._note(step.fact, step.period, step.target, sure=False)
        elif isinstance(step, DropPart):
            self._drop_part(step)
        else:
            self._refresh(step)
        return [step, *self._kept(())]

    def of(self, fact: FactSchema, period: Period) -> set[int]:
        """Returns the ordinals of a fact's complete periods. Base periods that lost a partition are not included."""
        division = fact.division(period)
        retired = self.retired.get(fact.name, {}) if period is fact.base else {}
        return {
            ordinal
            for ordinal, parts in self._live(fact, period).items()
            if ordinal is not None and not retired.get(ordinal) and (division.is_whole(parts) if division else parts)
        }

    def valid(self, fact: FactSchema, period: Period) -> set[int]:
        """Returns the ordinals of those that lie in the fact's window."""
        return {ordinal for ordinal in self.of(fact, period) if fact.is_valid(period, ordinal)}

    def extent(self, facts: Collection[FactSchema]) -> tuple[int, int]:
        """Returns the first instant and the end of the last instant of all periods of these facts that have any
        partition. The extent is empty if there is none.
        """
        begun = [(period, ordinals) for f in facts for period in f.periods if (ordinals := self._begun(f, period))]
        tables = [narrow for fact in facts for narrow in fact.narrow]
        begun += [(table.period, ordinals) for table in tables if (ordinals := self.narrow.get(table.table))]
        starts = [period.start(min(ordinals)) for period, ordinals in begun]
        ends = [period.end(max(ordinals)) for period, ordinals in begun]
        return (min(starts), max(ends)) if begun else (0, 0)

    def _begun(self, fact: FactSchema, period: Period) -> set[int]:
        """Returns the ordinals of the periods in the fact's window that have any partition."""
        parts = self._live(fact, period)
        return {o for o, some in parts.items() if o is not None and some and fact.is_valid(period, o)}

    def held_by(self, fact: FactSchema) -> Mapping[int | None, Sequence[Row]]:
        """Returns the base rows of a fact by ordinal of its own base period. They are the same events."""
        if fact in self.cube.fine:
            return {**self.merged.get(fact.name, {}), None: self.rows.get(None, [])} if fact.merged else self.rows
        days = {fact.base.ordinal(self.cube.base.start(o)) for o in self.rows if o is not None}
        within_days = {day: self._within(fact.base, day) for day in days}
        return {
            **{day: held(self.cube, fact, rows) for day, rows in within_days.items()},
            None: self.rows.get(None, []),
        }

    def torn(self) -> list[int]:
        """Returns the base periods of which some facts lost partitions. A write that replaces them makes all facts
        equal again.
        """
        return [
            ordinal
            for ordinal, rows in self.rows.items()
            if ordinal is not None
            and any(
                not (there := self._there(fact, fact.base, ordinal))
                or any(self._part(fact, row) not in there for row in rows)
                for fact in self.cube.fine
            )
        ]

    # -- base rows ----------------------------------------------------------------------------------------------------

    def _write(self, step: Write) -> list[int]:
        """Writes rows. Rows of overwritten partitions are removed, and those of dropped partitions that are written
        again.
        """
        written = {o: rows for o, rows in step.rows if rows or not step.dynamic}
        gone: dict[int | None, dict[str, set[Value]]] = {}
        for ordinal, rows in written.items():
            gone[ordinal] = {}
            for fact in self._holders(ordinal):
                parts, live = self._parts(fact, fact.base, rows), self._there(fact, fact.base, ordinal)
                if step.overwrite and not step.dynamic:
                    parts |= {self._part(fact, row) for row in self.rows.get(ordinal, ())}
                gone[ordinal][fact.name] = parts if step.overwrite else parts - live
            self._same(ordinal, gone[ordinal])
        for ordinal, rows in written.items():
            self._replace(ordinal, gone[ordinal], rows)
            for fact in self._holders(ordinal):
                if step.overwrite and not step.dynamic:
                    # From now on the dropped partition counts as empty, too.
                    self._live(fact, fact.base)[ordinal] = set()
                    self.retired.get(fact.name, {}).pop(ordinal, None)
                self._register(fact, ordinal, self._parts(fact, fact.base, rows))
        for rollup in self._incomplete_over([o for o, rows in written.items() if o is not None]):
            news = [
                rows
                for o, rows in written.items()
                if o is not None and rollup[1].ordinal(self.cube.base.start(o)) == rollup[2]
            ]
            self.doubtful[rollup] = False
            if not any(news):
                del self.doubtful[rollup]
        return self._outdate(written)

    def _add(self, step: Add) -> list[int]:
        added = {
            fact.name: {part[0] if part else ALL for part in step.parts(fact)}
            - self._there(fact, fact.base, step.ordinal)
            for fact in self.cube.fine
        }
        self._same(step.ordinal, added)
        existed = step.ordinal in self.rows
        self._replace(step.ordinal, added, ())
        for fact in self.cube.fine:
            self._register(fact, step.ordinal, added[fact.name])
        changed = self._outdate([step.ordinal])
        if existed:
            # A partition that is added again, empty, may be a change.
            for rollup in self._incomplete_over(changed):
                del self.doubtful[rollup]
        self._complete(changed)
        return changed

    def _same(self, ordinal: int | None, gone: Mapping[str, Collection[Value]]) -> None:
        """Raises ``Inconsistent`` unless all facts lose the same rows with these partitions."""
        rows = self.rows.get(ordinal, [])
        lost = {tuple(self._part(fact, row) in gone[fact.name] for row in rows) for fact in self._holders(ordinal)}
        if len(lost) > 1:
            raise Inconsistent

    def _replace(self, ordinal: int | None, gone: Mapping[str, Collection[Value]], rows: Iterable[Row]) -> None:
        """Replaces the rows of the removed partitions, which are the same rows for each fact."""
        rows = tuple(rows)
        for fact in self.cube.fine:
            if fact.merged:
                before = self.merged.setdefault(fact.name, {}).get(ordinal, [])
                kept = [row for row in before if self._part(fact, row) not in gone[fact.name]]
                self.merged[fact.name][ordinal] = [*kept, *held(self.cube, fact, rows)]
        first = self.cube.fine[0]
        kept = [row for row in self.rows.get(ordinal, []) if self._part(first, row) not in gone[first.name]]
        self.rows[ordinal] = [*kept, *rows]

    def _register(self, fact: FactSchema, ordinal: int | None, parts: Collection[Value]) -> None:
        self._live(fact, fact.base).setdefault(ordinal, set()).update(parts)
        if ordinal is not None:
            self._retired(fact, ordinal).difference_update(parts)

    def _drop(self, step: Drop) -> None:
        if None in step.ordinals:
            # Timelines do not cover rows without a time, so none records them.
            self.rows[None] = []
        for ordinal in step.ordinals:
            for fact in (fact for fact in self._holders(ordinal) if fact.name in step.facts):
                dropped = self._live(fact, fact.base).pop(ordinal, set())
                if ordinal is not None and fact.division(fact.base):
                    self._retired(fact, ordinal).update(dropped)

    def _drop_part(self, step: DropPart) -> None:
        live = self._there(step.fact, step.period, step.target)
        if step.period is step.fact.base and step.value in live:
            self._retired(step.fact, step.target).add(step.value)
        live.discard(step.value)
        self._note(step.fact, step.period, step.target, sure=False)

    # -- rollups ------------------------------------------------------------------------------------------------------

    def _outdate(self, ordinals: Iterable[int | None]) -> list[int]:
        """Marks the rollups over these base periods as no longer certainly correct."""
        changed = [ordinal for ordinal in ordinals if ordinal is not None]
        starts = {self.cube.base.start(ordinal) for ordinal in changed}
        over = {period: {period.ordinal(start) for start in starts} for f in self.cube.facts for period in f.periods}
        self.fresh = {rollup for rollup in self.fresh if rollup[2] not in over[rollup[1]]}
        return changed

    def _kept(self, changed: Collection[int]) -> list[Step]:
        """Returns what owners load to keep their promises after these base periods changed. A fact with a coarse base
        has the same events, and an existing TRUSTED rollup agrees with the base.
        """
        loads: list[Load] = []
        for fact in self.cube.coarse:
            days = {fact.base.ordinal(self.cube.base.start(ordinal)) for ordinal in changed}
            loads.append(Load(self.cube, fact, fact.base, tuple(sorted(days))))
        for fact in self.cube.facts:
            for period in fact.trusted:
                broken = {
                    ordinal for ordinal in self.of(fact, period) if (fact.name, period, ordinal) not in self.fresh
                }
                loads.append(Load(self.cube, fact, period, tuple(sorted(broken))))
        return [self._load(load) for load in loads if load.targets]

    def _load(self, step: Load) -> Load:
        """Returns the same step with its rows."""
        fact, period = step.fact, step.period
        rows = tuple(tuple(self._within(period, target)) for target in step.targets)
        for target, some in zip(step.targets, rows, strict=True):
            self._live(fact, period)[target] = self._parts(fact, period, some)
            if period is fact.base:
                # What was dropped counts as empty from now on, as after each static overwrite.
                self.retired.get(fact.name, {}).pop(target, None)
                self.fresh = {
                    rollup
                    for rollup in self.fresh
                    if rollup[0] != fact.name or target not in within(period, rollup[1], rollup[2])
                }
            else:
                # Only a promise says where the rows came from.
                trusted = period in fact.trusted
                self._note(fact, period, target, sure=trusted, doubt=None if trusted else False)
        return replace(step, rows=rows)

    def _roll_up(self, step: RollUp) -> None:
        fact, period = step.fact, step.period
        asked = {target: step.inside(target) for target in step.targets}
        outside = {target for target, some in asked.items() if self._reads_outside(fact, step.source, some)}
        if step.dynamic and outside:
            # One statement reads for all of them.
            outside = set(asked)
        for target in step.targets:
            sources = self.of(fact, step.source) if step.source is not fact.base else self._live(fact, step.source)
            rows = [row for o in within(step.source, period, target) if o in sources for row in self._seen(step, o)]
            if step.dynamic and not rows:
                continue
            parts = self._parts(fact, period, rows)
            before = self._there(fact, period, target)
            after = before | parts if step.double or step.dynamic else parts
            self._live(fact, period)[target] = after
            # A dynamic write leaves partitions without rows unchanged, even dropped ones.
            replaced = not step.double and not (step.dynamic and fact.division(period))
            from_base, is_plain = replaced and step.source is fact.base, not fact.divisions and not step.dynamic
            # The query names only base periods of the stretch. Others may be marked complete, and are not read.
            unread = set(within(fact.base, period, target)) - set(asked[target])
            sure = from_base and not unread and target not in outside and self._has_all(fact, period, target)
            judged = from_base and period not in fact.trusted
            lacking = judged and is_plain and not sure
            absent = [o for o in within(fact.base, period, target) if not self._there(fact, fact.base, o)]
            gone = any(self._was_there(fact.base, o) for o in absent) or len(unread.union(absent)) > len(absent)
            doubt = not gone if lacking else None
            if judged and target in outside:
                doubt = False
            self._note(fact, period, target, sure=sure, doubt=doubt)

    def _reads_outside(self, fact: FactSchema, source: Period, ordinals: Iterable[int]) -> bool:
        """Returns True if a statement that asks for these periods of its source reads one outside of the fact's window.
        Then it proves nothing of what it writes, and the content is never fresh.
        """
        return any(self._there(fact, source, o) and not fact.is_valid(source, o) for o in ordinals)

    def _seen(self, step: RollUp, ordinal: int) -> list[Row]:
        """Returns the base rows that a rollup reads in a period of its source."""
        rows = self._within(step.source, ordinal)
        if step.source is not step.fact.base or step.fact in self.cube.coarse:
            return rows
        live = self._there(step.fact, step.source, ordinal)
        return [row for row in rows if self._part(step.fact, row) in live]

    def _refresh(self, step: RefreshFact) -> None:
        """Applies REFRESH FACT: it computes rollups whose base is complete, and adds their empty partitions."""
        fact = step.fact
        valid = self.valid(fact, fact.base)
        stretch = self.extent([replace(fact, periods=fact.periods[:1])])
        start, end = step.bounds or stretch

        def computed(period: Period) -> Iterator[int]:
            for target in {period.ordinal(fact.base.start(ordinal)) for ordinal in valid}:
                inside = period.start(target) < end and start < period.end(target) and fact.is_valid(period, target)
                if inside and all(o in valid for o in within(fact.base, period, target)):
                    yield target

        for narrow in fact.narrow:
            self.narrow.setdefault(narrow.table, set()).update(computed(narrow.period))
        for period in (period for period in fact.periods[1:] if period not in fact.trusted):
            division = fact.division(period)
            for target in computed(period):
                parts = self._parts(fact, period, self._within(period, target))
                parts |= self._there(fact, period, target)
                parts |= set(division.values if division else ())
                self._live(fact, period)[target] = parts or {None}
                self._note(fact, period, target, sure=True)

    def _has_all(self, fact: FactSchema, period: Period, target: int) -> bool:
        """Returns True if a fact has all base periods inside a rollup period and lost no partition of them."""
        return self.of(fact, fact.base).issuperset(within(fact.base, period, target))

    def _derive(self, step: Derive) -> Derive:
        fact, period, base = step.fact, step.period, step.fact.base
        if step.twist == "values":
            step = replace(step, rows=tuple(self._within(period, step.target)[:1]))
        self._live(fact, period)[step.target] = {ALL}
        inside = within(base, period, step.target)
        read = set(step.ordinals)
        unread = [o for o in inside if o not in read]
        outside = [o for o in read if o not in inside and self._there(fact, base, o)]
        doubt: bool | None = None
        if step.twist or outside or self._reads_outside(fact, base, step.ordinals):
            doubt = False
        elif not fact.division(base) and not (self._has_all(fact, period, step.target) and not unread):
            # The content can never include existing partitions that were not read.
            lacking = [o for o in inside if o in unread or not self._there(fact, base, o)]
            doubt = not any(self._there(fact, base, o) or self._was_there(base, o) for o in lacking)
        sure = doubt is None and not unread and self._has_all(fact, period, step.target)
        self._note(fact, period, step.target, sure=sure, doubt=doubt)
        return step

    def _was_there(self, base: Period, ordinal: int) -> bool:
        """Returns True if rows were ever written in a base period."""
        return any(o in self.rows for o in within(self.cube.base, base, ordinal))

    def _mark_complete(self, step: MarkComplete) -> None:
        """Applies MARK COMPLETE: dropped periods stay dropped, and partly existing ones become complete."""
        marked = set()
        for fact in self.cube.fine:
            for ordinal in step.ordinals:
                exists = self._retired(fact, ordinal) if fact.division(fact.base) else ordinal in self.rows
                if exists or ordinal in self.of(fact, fact.base) or not fact.is_valid(fact.base, ordinal):
                    continue
                parts = {part[0] if part else ALL for part in Add.parts(fact)}
                self._register(fact, ordinal, parts)
                marked.add(ordinal)
        for ordinal in marked:
            self.rows.setdefault(ordinal, [])
            for fact in self.cube.fine:
                if fact.merged:
                    self.merged.setdefault(fact.name, {}).setdefault(ordinal, [])
        self._complete(marked)

    def _complete(self, ordinals: Collection[int]) -> None:
        """Completes incomplete rollups over these base periods, which were added empty."""
        for rollup in self._incomplete_over(ordinals):
            fact = next(fact for fact in self.cube.facts if fact.name == rollup[0])
            inside = within(fact.base, rollup[1], rollup[2])
            if all(self._there(fact, fact.base, o) for o in inside):
                del self.doubtful[rollup]
                self.fresh.add(rollup)
            elif all(self._there(fact, fact.base, o) or self._was_there(fact.base, o) for o in inside):
                del self.doubtful[rollup]

    def _incomplete_over(self, ordinals: Collection[int]) -> list[tuple[str, Period, int]]:
        starts = {self.cube.base.start(ordinal) for ordinal in ordinals}
        doubtful = (rollup for rollup, kind in self.doubtful.items() if kind)
        return [rollup for rollup in doubtful if any(rollup[1].ordinal(start) == rollup[2] for start in starts)]

    def _note(self, fact: FactSchema, period: Period, target: int, *, sure: bool, doubt: bool | None = None) -> None:
        """Records the state of a rollup period. If ``doubt`` is set, the rollup must not be read; ``True`` ends when
        its base is complete.
        """
        rollup = (fact.name, period, target)
        is_complete = sure and target in self.of(fact, period)
        (self.fresh.add if is_complete else self.fresh.discard)(rollup)
        self.doubtful.pop(rollup, None)
        if doubt is not None:
            self.doubtful[rollup] = doubt

    # -- partitions ---------------------------------------------------------------------------------------------------

    def _live(self, fact: FactSchema, period: Period) -> dict[int | None, set[Value]]:
        return self.parts.setdefault((fact.name, period), {})

    def _there(self, fact: FactSchema, period: Period, ordinal: int | None) -> set[Value]:
        return self._live(fact, period).get(ordinal, set())

    def _holders(self, ordinal: int | None) -> tuple[FactSchema, ...]:
        """Returns the facts that a write to a base period changes. Rows without a time are the same at every period."""
        return self.cube.facts if ordinal is None else self.cube.fine

    def _retired(self, fact: FactSchema, ordinal: int) -> set[Value]:
        return self.retired.setdefault(fact.name, {}).setdefault(ordinal, set())

    def _part(self, fact: FactSchema, row: Row) -> Value:
        """Returns the partition of its base period that a row of a fact falls into."""
        return next(iter(self._parts(fact, fact.base, (row,))))

    def _parts(self, fact: FactSchema, period: Period, rows: Iterable[Row]) -> set[Value]:
        """Returns the partitions of a period into which these rows fall. An undivided period has its partition without
        rows, too.
        """
        division = fact.division(period)
        if division is None:
            return {ALL}
        position = self.cube.columns.index(division.column)
        return {division.part(period, row[position]) for row in rows}

    def _within(self, period: Period, target: int) -> list[Row]:
        """Returns the base rows in one period."""
        return [row for ordinal in within(self.cube.base, period, target) for row in self.rows.get(ordinal, ())]
