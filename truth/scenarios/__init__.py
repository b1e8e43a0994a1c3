"""All scenarios, a module for each family of faults."""

from truth.model import Scenario
from truth.scenarios import (
    boundaries,
    calendar,
    changed_columns,
    concurrency,
    corrections,
    holes,
    late_rows,
    measures,
    retention,
    storage,
    streams,
    zones,
)

SCENARIOS: tuple[Scenario, ...] = (
    *boundaries.SCENARIOS,
    *late_rows.SCENARIOS,
    *corrections.SCENARIOS,
    *changed_columns.SCENARIOS,
    *concurrency.SCENARIOS,
    *streams.SCENARIOS,
    *holes.SCENARIOS,
    *retention.SCENARIOS,
    *zones.SCENARIOS,
    *calendar.SCENARIOS,
    *measures.SCENARIOS,
    *storage.SCENARIOS,
)
