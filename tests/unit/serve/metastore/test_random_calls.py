"""Random calls of all methods: each has a result or an error that the interface declares, and harms nothing else."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from pymetastore.hive_metastore import ttypes
from thrift.Thrift import TApplicationException, TType
from unit.serve.metastore.descriptions import EXTERNAL, partition, table, view

from rewriter.metastore.wire.interface import ErrorStructure, Structure, interface

_TEXTS = {
    "name": ["default", "d", "t", "v", "new", "a", "*", "NEW", "é", "", "a.b", "../x", "x" * 300, "a\0b", "@hive#d"],
    "type": ["int", "string", "map<int,string>", "decimal(3,1)", "nope", "date", ""],
    "location": ["file:/tmp/../x", "relative", "", "file:", "s3a://b", "hdfs://h/x", "/", "file:/\n"],
    "filter": ["d = 'x'", "d like 'x.*'", "d = 1", "(", "d in ('x', 'y') and d != \"z\"", "", "n < 5 or d >= 'a'"],
    "part": ["d=x", "d=x/n=1", "d=%2F/n=01", "", "d=", "n=1", "d=__HIVE_DEFAULT_PARTITION__/n=1"],
    "value": ["x", "1", "01", "", "__HIVE_DEFAULT_PARTITION__", "é/", "1.5", "x" * 300, "\0"],
    "list": ["default.t:1", "1:1::", "x", "", "default.t:5:9223372036854775807::", "default.d:1:1:1:1"],
    "kind": ["MANAGED_TABLE", "EXTERNAL_TABLE", "VIRTUAL_VIEW", "INDEX_TABLE", ""],
    "key": ["a", "EXTERNAL", "rewriter.x", "comment", "external.table.purge", "", "spark.sql.sources.provider"],
}
#: Which texts a field gets, by what its name contains.
_KINDS = (
    ("validwriteid", "list"),
    ("location", "location"),
    ("filter", "filter"),
    ("part_name", "part"),
    ("partnames", "part"),
    ("names", "part"),
    ("vals", "value"),
    ("values", "value"),
    ("tabletype", "kind"),
    ("type", "type"),
)
_NUMBERS = [0, 1, 2, -1, 5, 100]


def _text(chance: random.Random, name: str) -> str:
    kind = next((kind for part, kind in _KINDS if part in name.lower()), "name")
    return chance.choice(_TEXTS[kind])


def _value(chance: random.Random, type_: int, details: Any, name: str, depth: int) -> Any:
    if type_ == TType.STRUCT:
        return _structure(chance, details[0], depth + 1)
    if type_ == TType.STRING:
        return b"\x00\xff" if details == "BINARY" else _text(chance, name)
    if type_ == TType.BOOL:
        return chance.random() < 0.5
    if type_ == TType.DOUBLE:
        return chance.choice([0.0, -1.5, 1e300])
    count = chance.choice([0, 1, 1, 2]) if depth < 6 else 0
    if type_ in (TType.LIST, TType.SET):
        values = [_value(chance, details[0], details[1], name, depth + 1) for _ in range(count)]
        return values if type_ == TType.LIST else set(values)
    if type_ == TType.MAP:
        if details[0] != TType.STRING:
            return {}
        keys = [chance.choice(_TEXTS["key"]) for _ in range(count)]
        return {key: _value(chance, details[2], details[3], "value", depth + 1) for key in keys}
    return chance.choice([*_NUMBERS, (1 << (15 if type_ == TType.I16 else 31 if type_ == TType.I32 else 63)) - 1])


def _structure(chance: random.Random, class_: type[Structure], depth: int) -> Structure:
    fullness = chance.choice([0.0, 0.6, 0.9, 1.0])
    given = {}
    for field in class_.thrift_spec:
        if field is not None and chance.random() < fullness:
            _, type_, name, details, _ = field
            given[name] = _value(chance, type_ if type_ != TType.BYTE else TType.BOOL, details, name, depth)
    return class_(**given)


@pytest.fixture
def filled(client: Any, tmp_path: Any) -> Any:
    client.create_database(ttypes.Database("d"))
    client.create_table(table("t", keys={"d": "string", "n": "int"}, location=tmp_path / "t", kind=EXTERNAL))
    client.create_table(table("t", keys={"d": "string"}, database="d"))
    client.create_table(view("v"))
    client.add_partition(partition("t", ["x", "1"]))
    return client


#: It has no reply.
_NEVER = {"shutdown"}


def _is_ours(error: TApplicationException) -> bool:
    """Returns whether an error that the interface does not declare has a condition of this project."""
    if error.type == TApplicationException.PROTOCOL_ERROR:
        return True
    return error.type == TApplicationException.INTERNAL_ERROR and re.match(r"\[(?!INTERNAL)", error.message) is not None


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.share(1)
def test_random_calls(metastore: Any, filled: Any, send: Any, seed: int) -> None:
    chance = random.Random(seed)
    declared = results = 0
    foreign: list[tuple[str, Structure, str]] = []
    for _ in range(8):
        for name in sorted(interface().methods.keys() - _NEVER):
            arguments = _structure(chance, interface().methods[name].arguments, 0)
            try:
                send(filled, name, **vars(arguments))
                results += 1
            except ErrorStructure:
                declared += 1
            except TApplicationException as error:
                if not _is_ours(error):
                    foreign.append((name, arguments, error.message))
    assert foreign == []
    assert declared > 100
    assert results > 100
    # Everything that is left can be shown.
    fresh = metastore.connect()
    for database in fresh.get_all_databases():
        fresh.get_database(database)
        names = fresh.get_all_tables(database)
        for one in fresh.get_table_objects_by_name(database, names):
            if one.partitionKeys:
                assert len(fresh.get_partitions(database, one.tableName, -1)) == len(
                    fresh.get_partition_names(database, one.tableName, -1)
                )
