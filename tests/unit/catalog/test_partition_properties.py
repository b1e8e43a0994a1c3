"""Properties of single partitions, and the one that names the update period (seed 000)."""

from __future__ import annotations

import pytest

from rewriter.catalog.facts.time_binding import UPDATE_PERIOD
from rewriter.catalog.model.changes import AddPartitions, PartitionWrite, WritePartitions
from rewriter.errors import AnalysisError, DataError

from .support import P, Warehouse


def _add(w: Warehouse, value: str, **properties: str) -> None:
    table = w.catalog.snapshot().table("t")
    named = {UPDATE_PERIOD if name == "period" else name: given for name, given in properties.items()}
    w.commit(lambda tx: [AddPartitions(table, (PartitionWrite((value,), properties=named),))])


def _properties(w: Warehouse) -> dict[str | None, dict[str, str]]:
    snapshot = w.catalog.snapshot()
    table = snapshot.table("t")
    partitions = snapshot.partitions(table)
    assert snapshot.get_partitions_by_expr(table, None) == partitions
    return {partition.values[0]: dict(partition.properties) for partition in partitions}


def test_they_are_kept_by_writes_and_gone_with_the_partition(w: Warehouse) -> None:
    t = w.create("t")
    _add(w, "2015-01", owner="a", kind="é")
    assert _properties(w) == {"2015-01": {"owner": "a", "kind": "é"}}
    w.into(t, "2015-01", "2015-02")
    w.overwrite(t, "2015-01")
    assert _properties(w) == {"2015-01": {"owner": "a", "kind": "é"}, "2015-02": {}}
    w.commit(
        lambda tx: [
            WritePartitions(
                t, tx.write_id(t), (PartitionWrite(("2015-01",), properties={"owner": "b"}),), overwrite=True
            )
        ]
    )
    assert _properties(w)["2015-01"] == {"owner": "b", "kind": "é"}
    w.drop(t, "2015-01")
    w.add(t, "2015-01")
    assert _properties(w) == {"2015-01": {}, "2015-02": {}}


def test_the_update_period_must_be_that_of_the_values(w: Warehouse) -> None:
    w.create("t")
    w.create_fact({"t": [P.DAILY, P.MONTHLY]})
    _add(w, "2015-01", period="monthly")
    _add(w, "2015-01-02", period="DAILY")
    with pytest.raises(DataError, match=r"partition dt=2015-03 of t: .* is DAILY, .* name a MONTHLY") as caught:
        _add(w, "2015-03", period="DAILY")
    assert caught.value.condition == "INVALID_TIME_PARTITION"
    assert _properties(w).keys() == {"2015-01", "2015-01-02"}
    assert (w.fresh("t", P.DAILY), w.unproven("t", P.MONTHLY)) == (["2015-01-02"], ["2015-01"])


def test_a_word_that_is_no_period_is_refused_everywhere(w: Warehouse) -> None:
    w.create("t")
    with pytest.raises(AnalysisError, match="which is not an update period"):
        _add(w, "2015-01", period="FORTNIGHTLY")
    assert _properties(w) == {}


def test_a_new_fact_checks_what_is_there(w: Warehouse) -> None:
    w.create("t")
    _add(w, "2015-01-02", period="MONTHLY")
    with pytest.raises(DataError, match="is MONTHLY"):
        w.create_fact({"t": [P.DAILY, P.MONTHLY]})
    assert w.catalog.snapshot().facts() == ()
