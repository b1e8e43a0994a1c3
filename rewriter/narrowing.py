"""Conditions on partition columns that have to be computed: on the values that there are, before files are looked up.

The planner says which partitions a reference can need as a filter; in it stand, as text, the conditions that are no
comparison of a column with a value, such as ``substr(dt, 1, 7) = '2024-01'``. Here they are computed on the values of
the partitions that the rest of the filter leaves, and become ranges of values. What cannot be computed rules nothing
out, and EXPLAIN SCAN says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from rewriter.catalog.computed import Fields, answer, conditions, settled
from rewriter.catalog.keys import NULL, decode_value
from rewriter.catalog.models import Table
from rewriter.catalog.partition_paths import is_discovered
from rewriter.catalog.scan_filters import Computed, ScanFilter
from rewriter.context import Context
from rewriter.errors import Error
from rewriter.exec.conditions import satisfying
from rewriter.planner.explain import counted
from rewriter.planner.plan import Plan, Reading, TableUse

#: Of how many combinations of values one condition is computed at most.
MOST_COMBINATIONS = 100_000
#: How many conditions are computed for one reference to a table.
MOST_CONDITIONS = 40


def narrowed(plan: Plan, context: Context) -> Plan:
    """The plan with the filters of its readings settled. A plan without conditions to compute stays as it is.

    Reads the keys that the rest of each filter leaves: about 10 µs each, and 1 µs for each combination of values.
    """
    if not any(_conditions(use) for reading in plan.readings for use in reading.uses):
        return plan
    return replace(plan, readings=tuple(_narrowed(one, plan.parameters, context) for one in plan.readings))


def _narrowed(reading: Reading, parameters: Mapping[str, object], context: Context) -> Reading:
    uses, notes = [], list(reading.notes)
    for use in reading.uses:
        asked = _conditions(use)
        if use.wanted is None or not asked:
            uses.append(use)
            continue
        if is_discovered(use.table):
            # Its partitions are no rows of the catalog, whose values could be computed with.
            left = settled(use.wanted, {})
            uses.append(TableUse(use.table, None) if left is None else replace(use, wanted=left))
            notes += (f"not used: {' '.join(one.text.split())}: the table's partitions are discovered" for one in asked)
            continue
        left_out = len({condition for condition, _ in conditions(use.wanted)}) - len(asked)
        if left_out:
            notes.append(f"not used: {counted(left_out, 'further condition')}: no more than {len(asked)} are computed")
        answers: dict[Computed, ScanFilter] = {}
        for condition, found in _occurring(use.table, use.wanted, asked, context).items():
            shown = " ".join(condition.text.split())
            if found is None:
                notes.append(f"not used: {shown}: it has more than {MOST_COMBINATIONS:,} combinations of values")
                continue
            # A side of a join that may be absent is not restricted by what is TRUE of NULLs.
            nulls = {(NULL,) * len(condition.indexes)} if asked[condition] else set()
            try:
                truths = _truths(condition, found | nulls, use.table, parameters)
            except Error as error:
                notes.append(f"not used: {shown}: {_reason(error)}")
                continue
            # A partition for which it fails is read, and the query fails as it would without any pruning.
            kept = answer(condition, {fields: truth is not False for fields, truth in truths.items()})
            if kept is not None:
                answers[condition] = kept
            notes.append(f"computed: {shown}: {_counts([truths[fields] for fields in found])}")
            if any(truths[fields] is not False for fields in nulls):
                notes[-1] += ", and of NULLs, which stand for no match"
        left = settled(use.wanted, answers)
        uses.append(TableUse(use.table, None) if left is None else replace(use, wanted=left))
    return replace(reading, uses=tuple(uses), notes=tuple(notes))


def _conditions(use: TableUse) -> dict[Computed, bool]:
    """What is computed for a use, and whether of NULLs, too. What comes behind the first ones says nothing."""
    found: dict[Computed, bool] = {}
    for condition, of_nulls in () if use.wanted is None else conditions(use.wanted):
        if condition in found or len(found) < MOST_CONDITIONS:
            found[condition] = found.get(condition, False) or of_nulls
    return found


def _occurring(
    table: Table, wanted: ScanFilter, asked: Iterable[Computed], context: Context
) -> dict[Computed, set[Fields] | None]:
    """For each condition the combinations of fields of its columns in partitions that can be wanted; ``None`` where
    they are too many.
    """
    lookup = context.snapshot.lookup(table, settled(wanted, {}))
    found: dict[Computed, set[Fields]] = {condition: set() for condition in asked}
    left = {condition: found[condition] for condition in asked}
    for key in lookup.found_keys():
        fields = lookup.fields_of(key)
        for condition, combinations in left.items():
            combinations.add(tuple(fields[index] for index in condition.indexes))
        if any(len(one) > MOST_COMBINATIONS for one in left.values()):
            left = {condition: one for condition, one in left.items() if len(one) <= MOST_COMBINATIONS}
            if not left:
                break
    return {condition: one if condition in left else None for condition, one in found.items()}


def _truths(
    condition: Computed, found: Iterable[Fields], table: Table, parameters: Mapping[str, object]
) -> dict[Fields, bool | None]:
    """Of which combinations the condition is TRUE. Raises what ``satisfying`` raises."""
    columns = [table.partition_columns[index] for index in condition.indexes]
    combinations = sorted(found)
    rows = [
        tuple(decode_value(column.type, field) for column, field in zip(columns, fields, strict=True))
        for fields in combinations
    ]
    truths = satisfying(condition.text, condition.alias, columns, rows, parameters)
    return dict(zip(combinations, truths, strict=True))


def _counts(truths: Sequence[bool | None]) -> str:
    values = f"TRUE of {truths.count(True):,} of {counted(len(truths), 'value')}"
    failed = truths.count(None)
    return f"{values}, and fails for {failed:,}, which are read" if failed else values


def _reason(error: Error) -> str:
    """Why a condition is not computed; on Spark, too, what counts is DuckDB's list."""
    if error.condition != "DUCKDB_UNSUPPORTED":
        return error.message
    what = error.message.removesuffix(".").removesuffix(" is not supported on DuckDB")
    shown = what if what[:2].isupper() else what[:1].lower() + what[1:]
    return f"{shown} is not on the list of what both engines answer alike (docs/duckdb.md)"
