"""The columns of a query as a table declares them, before a write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewriter.catalog.keys.values import DEFAULT_PARTITION
from rewriter.catalog.model.objects import Column
from rewriter.exec.engine import Write
from rewriter.exec.spark.relations import identifier
from rewriter.exec.sql_types import parse_type
from rewriter.exec.translate.store_assignment import SPARK, assign, check_arity

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def assigned(frame: DataFrame, write: Write) -> DataFrame:
    """Returns the columns by position, as the table declares them; dynamic partition columns as texts of their
    values.
    """
    targets = (*write.columns, *write.dynamic_columns)
    types = [field.dataType.simpleString() for field in frame.schema.fields]
    check_arity(len(types), len(targets))
    # Generated names: those of the query may repeat.
    renamed = frame.toDF(*(f"q{number}" for number in range(len(types))))
    items = []
    for number, (type_name, column) in enumerate(zip(types, targets, strict=True)):
        value = assign(f"q{number}", type_name, column, SPARK)
        if number >= len(write.columns):
            items.append(f"{_partition_text(value, column)} AS rewriter_key_{number}")
        else:
            items.append(f"{value} AS {identifier(column.name)}")
    return renamed.selectExpr(*items)


def _partition_text(value: str, column: Column) -> str:
    """Returns the canonical text of a partition value; NULL, '' and Hive's name for NULL are NULL."""
    type_ = parse_type(column.type)
    if type_.is_floating:
        # -0.0 and 0.0 are one partition.
        value = f"CASE WHEN {value} = 0 THEN CAST(0 AS {type_}) ELSE {value} END"
    text = f"CAST({value} AS STRING)"
    return f"CASE WHEN {text} IN ('', '{DEFAULT_PARTITION}') THEN NULL ELSE {text} END"
