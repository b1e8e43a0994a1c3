"""Functions that plant a fault in the product which the histories must detect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from rewriter.catalog.commit import object_changes
from rewriter.catalog.commit.partition_changes import PartitionChanges
from rewriter.catalog.model.objects import Cube
from rewriter.exec.engine import Relation
from rewriter.planner.cover import choose_facts
from rewriter.planner.rewrite import union_arms
from rewriter.planner.scope.column_uses import ColumnUses
from rewriter.statements.define import alter_cube
from rewriter.statements.maintain import check_fact, maintain_fact, refresh_fact, shadow_proof
from rewriter.timeline.kinds.stored_ranges import RangesPartitionTimeline
from rewriter.timeline.ranges import RangeSet


@dataclass(frozen=True)
class Plant:
    """A fault, a pattern of the message of the history that detects it, the frequent steps of these histories, and the
    seed of the first of them.
    """

    fault: Callable[[pytest.MonkeyPatch], None]
    shown: str
    often: tuple[str, ...]
    first_seed: int = 20_000


def rollups_have_no_new_column(patch: pytest.MonkeyPatch) -> None:
    """Reads a new dimension or measure as NULL from rollups that are older than it."""
    plain = union_arms.arm_column

    def planted(arm: Any, name: str, cube: Cube) -> str:
        own = {column.name.lower() for column in arm.table.all_columns} | {time.lower() for time in cube.times}
        return plain(arm, name, cube) if name.lower() in own else f"CAST(NULL AS {union_arms._type_name(cube, name)})"

    patch.setattr(union_arms, "arm_column", planted)
    patch.setattr(choose_facts, "_missing_in_table", lambda source, demand: [])


def partitions_claim_new_columns(patch: pytest.MonkeyPatch) -> None:
    """The partitions of a rollup that gets a column have it at once."""
    patch.setattr(object_changes.ObjectChanges, "_widen", lambda *_: None)


def narrow_partitions_serve(patch: pytest.MonkeyPatch) -> None:
    """A query of a new column reads it as NULL from partitions that were computed before their table got it."""
    nothing = RangesPartitionTimeline()
    patch.setattr(choose_facts, "split_by_width", lambda source, columns, fresh, reader: (fresh, nothing))


def retention_waits_for_no_column(patch: pytest.MonkeyPatch) -> None:
    """Drops old partitions before the rollups over them have a new column."""
    patch.setattr(maintain_fact, "_time_without", lambda *_: RangeSet.EMPTY)
    plain = refresh_fact._Search.of

    def planted(search: Any, stored: Any, context: Any) -> Any:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(type(context.snapshot), "lacking", lambda *_: RangesPartitionTimeline())
            return plain(search, stored, context)

    patch.setattr(refresh_fact._Search, "of", planted)


def dropped_columns_come_back(patch: pytest.MonkeyPatch) -> None:
    """Rollups keep a dropped column in their lists, and serve it when the cube has it again."""
    plain = alter_cube._without

    def planted(fact: Any, *rest: Any) -> Any:
        return replace(plain(fact, *rest), storages=fact.storages)

    patch.setattr(alter_cube, "_without", planted)


def proofs_outlive_a_declaration(patch: pytest.MonkeyPatch) -> None:
    """A fact continues a dropped one, whatever the aggregates of their cubes are."""
    plain, before = object_changes._continued, object_changes._object_before
    cubes: list[Cube] = []

    def planted(connection: Any, fact: Any, cube: Cube, bindings: Any) -> Any:
        cubes.append(cube)
        return plain(connection, fact, cube, bindings)

    def planted_before(connection: Any, name: str, commit: int) -> object:
        found = before(connection, name, commit)
        return replace(cubes[-1]) if isinstance(found, Cube) else found

    patch.setattr(object_changes, "_continued", planted)
    patch.setattr(object_changes, "_object_before", planted_before)


def retention_waits_for_no_proof(patch: pytest.MonkeyPatch) -> None:
    """Drops old partitions before the rollups over them are proven."""
    patch.setattr(maintain_fact, "_blocked", lambda *_: [])


def late_events_are_welcome(patch: pytest.MonkeyPatch) -> None:
    """Accepts events for partitions that retention has dropped."""
    patch.setattr(PartitionChanges, "_refuse_late_events", lambda *_: None)


def wrong_rows_are_not_compared(patch: pytest.MonkeyPatch) -> None:
    """Shadow proofs compare nothing."""
    patch.setattr(shadow_proof, "_compare", lambda *_: None)


def wrong_rows_stay(patch: pytest.MonkeyPatch) -> None:
    """Shadow proofs find wrong rows, and leave their rollups in use."""
    patch.setattr(shadow_proof, "reject", lambda *_: None)


def wrong_rows_agree(patch: pytest.MonkeyPatch) -> None:
    """CHECK FACT finds no difference."""
    patch.setattr(check_fact, "differences", lambda *_: iter(()))


def renamed_columns_are_read_by_their_names(patch: pytest.MonkeyPatch) -> None:
    """Reads a renamed column of files by the name that it has now."""
    patch.setattr(Relation, "as_stored", lambda relation: relation)


def views_keep_their_text(patch: pytest.MonkeyPatch) -> None:
    """RENAME … CASCADE leaves the text of views as it is."""
    patch.setattr(ColumnUses, "with_name", lambda uses, query, name: query)


PLANTS: tuple[Plant, ...] = (
    Plant(rollups_have_no_new_column, "returned|REFUTED", ("add column", "refresh")),
    Plant(partitions_claim_new_columns, "returned|REFUTED", ("add column", "refresh")),
    Plant(narrow_partitions_serve, "returned|REFUTED", ("add column", "refresh")),
    Plant(retention_waits_for_no_column, "has left too early|must have a result", ("add column", "maintain", "go on")),
    # One history in 70 drops a column of a rollup, adds it again, and reads old partitions.
    Plant(dropped_columns_come_back, "returned|REFUTED|KeyError|INVALID_FACT", ("drop column", "add column"), 20_500),
    Plant(proofs_outlive_a_declaration, "returned", ("redeclare",)),
    Plant(retention_waits_for_no_proof, "has left too early", ("maintain", "late")),
    Plant(late_events_are_welcome, "was accepted", ("maintain", "late", "go on")),
    Plant(wrong_rows_are_not_compared, "returned", ("rot",)),
    Plant(wrong_rows_stay, "returned", ("rot",)),
    Plant(renamed_columns_are_read_by_their_names, "returned|REFUTED", ("rename", "refresh")),
    Plant(views_keep_their_text, "cannot be resolved|UNRESOLVED_COLUMN", ("rename",)),
    Plant(wrong_rows_agree, "did not find", ("rot",)),
)
