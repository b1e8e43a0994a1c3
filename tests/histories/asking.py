"""Random reads of a snapshot, with results in the form of a log."""

from __future__ import annotations

import random

from rewriter.catalog import Snapshot
from rewriter.catalog.model.objects import Partition, Table

from .model import Question
from .operations import FREE_NAMES, FREE_VALUES, LAYOUTS, PERIODS, VALUES

STATES = ("fresh", "outdated", "retired", "unproven", "incomplete")


def questions(rng: random.Random, snapshot: Snapshot, number: int) -> list[Question]:
    """Returns some questions about what the snapshot shows."""
    return [_question(rng, rng.choice(snapshot.tables())) for _ in range(number)]


def everything(snapshot: Snapshot) -> list[Question]:
    """Returns all questions about a snapshot."""
    questions: list[Question] = [["tables"], *(["timeline", name, state] for name in PERIODS for state in STATES)]
    for table in snapshot.tables():
        questions += [
            ["partitions", table.id, ""],
            ["files", table.id],
            ["names", table.id, ""],
            ["count", table.id, ""],
        ]
    return questions


def _question(rng: random.Random, table: Table) -> Question:
    value = rng.choice(VALUES.get(table.name, FREE_VALUES))
    kind = rng.choice(["tables", "named", "timeline", "timeline", "partition", "files", "names", "count", "partitions"])
    if kind == "tables":
        return [kind]
    if kind == "named":
        return [kind, rng.choice(FREE_NAMES)]
    if kind == "timeline":
        return [kind, rng.choice(list(PERIODS)), rng.choice(STATES)]
    return [kind, table.id] if kind == "files" else [kind, table.id, value]


def ask(snapshot: Snapshot, question: Question) -> object:
    """Returns the snapshot's result for a question."""
    kind, *arguments = question
    if kind == "tables":
        return sorted([t.id, t.name, len(t.columns), sorted(t.properties.items())] for t in snapshot.tables())
    if kind == "named":
        named = snapshot.find(arguments[0])
        return None if named is None else named.id
    if kind == "timeline":
        return _timeline(snapshot, *arguments)
    table = next(table for table in snapshot.tables() if table.id == arguments[0])
    if kind == "partition":
        partition = snapshot.partition(table, (arguments[1],))
        return None if partition is None else _counts(partition)
    if kind == "files":
        return sorted([partition.values[0], file.path] for partition, file in snapshot.files(table))
    text = f"dt >= '{arguments[1]}'"
    if kind == "names":
        return [name.partition("=")[2] for name in snapshot.partition_names_by_filter(table, text)]
    if kind == "count":
        return snapshot.count_partitions_by_filter(table, text)
    return [[partition.values[0], *_counts(partition)] for partition in snapshot.get_partitions_by_filter(table, text)]


def _counts(partition: Partition) -> list[int | None]:
    return [partition.files, partition.rows, partition.bytes]


def _timeline(snapshot: Snapshot, name: str, state: str) -> list[str]:
    line = snapshot.timeline if state == "fresh" else getattr(snapshot, state)
    ranges = line(name, PERIODS[name], "t").ranges()
    return [
        str(LAYOUTS[name].values(ordinal)[0]) for stretch in ranges for ordinal in range(stretch.start, stretch.end)
    ]
