"""The peers' questions to Sidemantic, run by the interpreter that ``SIDEMANTIC_PYTHON`` names.

A model of the events has pre-aggregations of hours, days and months, refreshed in full, in a DuckDB database on disk.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

from sidemantic import Dimension, Metric, Model, SemanticLayer
from sidemantic.core.pre_aggregation import PreAggregation

from benchmarks.questions import (
    QUESTIONS,
    Contender,
    Question,
    answered,
    files_given,
    print_contenders,
)

DIMENSIONS = ("origin", "dest", "carrier")
METRICS = ("distance", "flights", "delay", "worst")
ROLLUPS = (("hourly", "hour"), ("daily", "day"), ("monthly", "month"))


def build(database: Path, events: str) -> SemanticLayer:
    """Builds a database with the events and their pre-aggregations, and returns the layer over it."""
    layer = SemanticLayer(connection=f"duckdb:///{database}", use_preaggregations=True)
    layer.adapter.execute(f"CREATE TABLE events AS FROM '{events}'")
    model = flights()
    layer.add_model(model)
    for rollup in model.pre_aggregations:
        rollup.refresh(
            connection=layer.adapter,
            source_sql=rollup.generate_materialization_sql(model),
            table_name=rollup.get_table_name(model.name),
            mode="full",
            dialect="duckdb",
            model=model,
        )
    return layer


def flights() -> Model:
    """Returns the model. An average needs the count of its values in the pre-aggregation: ``departures``."""
    stored = [*METRICS, "departures"]
    return Model(
        name="flights",
        table="events",
        primary_key="id",
        dimensions=[
            *(Dimension(name=name, type="categorical", sql=name) for name in DIMENSIONS),
            Dimension(name="departed", type="time", granularity="second", sql="departed"),
        ],
        metrics=[
            Metric(name="distance", agg="sum", sql="distance"),
            Metric(name="flights", agg="count"),
            Metric(name="delay", agg="avg", sql="delay"),
            Metric(name="departures", agg="count", sql="delay"),
            Metric(name="worst", agg="max", sql="delay"),
        ],
        pre_aggregations=[
            PreAggregation(
                name=name, measures=stored, dimensions=[*DIMENSIONS], time_dimension="departed", granularity=unit
            )
            for name, unit in ROLLUPS
        ],
    )


def arguments(question: Question) -> dict[str, Any]:
    """Returns the question as arguments of ``SemanticLayer.query``."""
    metrics = METRICS if question.by else METRICS[:1]
    dimension = question.by if question.by == "carrier" else f"departed__{question.by}"
    return {
        "metrics": [f"flights.{name}" for name in metrics],
        "dimensions": [f"flights.{dimension}"] if question.by else [],
        "filters": [f"flights.departed >= '{question.start}'", f"flights.departed < '{question.end}'"],
    }


def main() -> None:
    """Prints the answers of Sidemantic."""
    files = files_given()
    layer = build(Path(files.folder) / "sidemantic.duckdb", files.events)
    asked = [arguments(question) for question in QUESTIONS]
    answers = tuple(answered(lambda query=query: layer.query(**query).fetchall()) for query in asked)
    rollups = ", ".join(
        next((name for name, _ in ROLLUPS if f"flights_preagg_{name}" in layer.compile(**query)), "events")
        for query in asked
    )
    setup = f"pre-aggregations as tables of a DuckDB database on disk; they answer from: {rollups}"
    print_contenders((Contender(f"Sidemantic {version('sidemantic')}", setup, answers),))


if __name__ == "__main__":
    main()
