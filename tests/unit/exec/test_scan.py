"""Files whose path determines their partition."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rewriter.catalog.model.objects import Column, PartitionValues
from rewriter.errors import EngineError
from rewriter.exec.engine import Relation, ScanFile
from rewriter.exec.file_groups import scan

_COLUMNS = (Column("dt", "string"), Column("hr", "int"))


def relation(files: Sequence[tuple[str, PartitionValues]], columns: Sequence[Column] = _COLUMNS) -> Relation:
    scans = tuple(ScanFile(path, values, 1) for path, values in files)
    return Relation("t", "parquet", (Column("x", "int"),), tuple(columns), scans)


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("/w/dt=2013/hr=5/f", ("2013", "5")),
        ("/w/rewriter_write_id=3/dt=2013/hr=5/f", ("2013", "5")),
        ("/w/DT=2013/Hr=5/f", ("2013", "5")),
        ("/w/dt=a%2Fb/hr=__HIVE_DEFAULT_PARTITION__/f", ("a/b", None)),
    ],
)
def test_spelled(path: str, values: PartitionValues) -> None:
    scanned = scan(relation([(path, values)]))
    assert [group.files[0].path for group in scanned.by_path] == [path]
    assert not scanned.by_value


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("/w/dt=2013/hr=05/f", ("2013", "5")),  # not canonical
        ("/w/dt=2013/hr=5/f", ("2014", "5")),  # renamed
        ("/w/hr=5/dt=2013/f", ("2013", "5")),  # another order
        ("/w/hr=5/f", ("2013", "5")),
        ("/w/custom/f", ("2013", "5")),
        ("/w/dt=2013/hr=5/sub/f", ("2013", "5")),
        ("/w/x=1/dt=2013/hr=5/f", ("2013", "5")),  # would be a column x
        ("/x=1/w/dt=2013/hr=5/f", ("2013", "5")),
        ("/w/dt=2013/rewriter_write_id=3/hr=5/f", ("2013", "5")),
    ],
)
def test_not_spelled(path: str, values: PartitionValues) -> None:
    scanned = scan(relation([(path, values)]))
    assert not scanned.by_path
    assert [file.path for file in scanned.by_value] == [path]


def test_groups_are_directories_of_one_shape() -> None:
    files = [("/a/rewriter_write_id=1/dt=1/hr=1/f", ("1", "1")), ("/a/rewriter_write_id=2/dt=1/hr=2/f", ("1", "2")),
             ("/a/dt=1/hr=3/f", ("1", "3")), ("/b/dt=1/hr=4/f", ("1", "4"))]  # fmt: skip
    assert sorted(len(group.files) for group in scan(relation(files)).by_path) == [1, 1, 2]


def test_many_groups_are_not_read_one_by_one() -> None:
    files = [(f"/{n}/dt=1/hr={n}/f", ("1", str(n))) for n in range(100)]
    scanned = scan(relation(files))
    assert len(scanned.by_path) == 8
    assert len(scanned.by_value) == 92


@pytest.mark.parametrize(
    "columns", [(Column("X", "int"),), (Column("a", "int"), Column("A", "int")), (Column("rewriter_write_id", "int"),)]
)
def test_columns_that_would_hide_each_other(columns: Sequence[Column]) -> None:
    with pytest.raises(EngineError):
        scan(relation([], columns))


def test_as_many_values_as_columns() -> None:
    with pytest.raises(EngineError):
        scan(relation([("/w/dt=1/f", ("1",))]))
