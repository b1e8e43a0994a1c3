"""Names made of keys, beside the names of the values."""

from __future__ import annotations

from random import Random

import pytest

from rewriter.catalog.keys import partition_names
from rewriter.catalog.keys.encoding import encode
from rewriter.catalog.keys.partition_names import NameMaker
from rewriter.catalog.keys.values import partition_name
from rewriter.catalog.model.objects import Column

VALUES: dict[str, list[str | None]] = {
    "string": ["a", "ab", "a=b/c", "\x00", "\x00\x01", "\x01", "é", None],
    "int": ["-1", "0", "1", "256", None],
    "date": ["1969-12-31", "2024-01-01", None],
    "decimal(4,2)": ["-1.50", "0.00", None],
    "boolean": ["false", "true", None],
}


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("remembered", [1, 3, 10_000])
def test_names_are_those_of_the_values(monkeypatch: pytest.MonkeyPatch, seed: int, remembered: int) -> None:
    monkeypatch.setattr(partition_names, "REMEMBERED", remembered)
    chance = Random(seed)
    types = [chance.choice(list(VALUES)) for _ in range(chance.randint(0, 3))]
    columns = [Column(f"c{number}", type) for number, type in enumerate(types)]
    every = [tuple(chance.choice(VALUES[type]) for type in types) for _ in range(200)]
    every.sort(key=lambda values: encode(7, types, values))
    maker, names = NameMaker(columns), [partition_name(columns, values) for values in every]
    keys = [encode(7, types, values) for values in every]
    pages = [slice(0, 1), slice(1, 90), slice(90, 90), slice(90, 200)]
    assert [name for page in pages for name in maker.names_of(keys[page])] == names
