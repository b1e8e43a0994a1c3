"""Checks the right answers, which are written by hand, with plain DuckDB over the events."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from truth.adapters.base import Trace, tidy
from truth.adapters.duckdb_by_hand import EventsOnly
from truth.adapters.sql import Columns, over_events
from truth.judge import same_rows
from truth.model import Late, Scenario, happened


def disagreement(scenario: Scenario, folder: Path) -> str | None:
    """Returns what DuckDB computes where it differs from the scenario's right answer, otherwise ``None``."""
    tool = EventsOnly(folder, replace(scenario, steps=()), Trace())
    tool.run(Late(happened(scenario)))
    rows = tidy(tool.sql(over_events(scenario.question, Columns())), scenario.question.by)
    tool.close()
    return None if same_rows(rows, scenario.right) else f"DuckDB: {rows}; written: {scenario.right}"
