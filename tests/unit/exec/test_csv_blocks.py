"""Arrow reads blocks of CSV files as the exact reader does, and those that it would read otherwise are found."""

from __future__ import annotations

import io
import random
from typing import Any

import pyarrow as pa
import pytest

from rewriter.exec.formats import csv_blocks, csv_rows

_COLUMNS = pa.schema([("a", pa.string()), ("b", pa.int32()), ("c", pa.decimal128(9, 2))])
_OPTIONS: tuple[dict[str, str], ...] = (
    {}, {"header": "true", "enforceschema": "true"}, {"comment": "#"}, {"nullvalue": "NA"}, {"quote": ""},
    {"comment": "#", "header": "true", "enforceschema": "true"}, {"escape": "!"}, {"nullvalue": "é"},
)  # fmt: skip
_TEXTS = ("", "x", "NA", "é b", "日本", " q", "z\u0085z", "\u2028", "a\x0bb", "!", "\\", '"a b"', '"NA"', '"é"')
_ODD_TEXTS = ('"', 'a"b', '""', '"x""y"', '"a!"', '"a\\"', ' "a"', '"a" ', "#", "\r", "\x00", "\ufeff", "  ", "\n", "'")
_DAMAGES = (b"\xff", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf")


def _rows(data: bytes, options: dict[str, str]) -> list[dict[str, Any]] | None:
    """Returns the rows of a file; ``None`` for a file that is refused. Which error comes first may differ."""
    rows = []
    try:
        for batch in csv_rows.read_csv_columns("f.csv", lambda _: io.BytesIO(data), _COLUMNS, options):
            rows += batch.to_pylist()
    except ValueError:
        return None
    return rows


def _file(chance: random.Random, separator: str) -> bytes:
    odd = chance.choice((0, 0, 0.003, 0.02, 0.1))
    data = b""
    for _ in range(chance.randrange(30)):
        text = chance.choice(_ODD_TEXTS if chance.random() < odd else (*_TEXTS, f'"a{separator}b"'))
        number = chance.choice(("x", " 1")) if chance.random() < odd / 2 else chance.choice(("1", "-5", "", "007"))
        line = separator.join((text, number, chance.choice(("1.5", ".5", "", "1e2"))))
        if chance.random() < odd:
            line = chance.choice(("", "  ", "#c", separator * 2, "\t", f"\ufeff{line}", f"{line}{separator}"))
        data += line.encode() + (chance.choice((b"\r\n", b"\r")) if chance.random() < odd / 4 else b"\n")
    if chance.random() < 0.2:
        data = data.removesuffix(b"\n")
    if data and chance.random() < 0.05:
        place = chance.randrange(len(data))
        data = data[:place] + chance.choice(_DAMAGES) + data[place:]
    return data


def test_blocks_have_the_rows_of_the_exact_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = {"arrow": 0, "exact": 0}
    block_columns = csv_blocks.block_columns

    def counted(*arguments: Any) -> Any:
        columns = block_columns(*arguments)
        blocks["exact" if columns is None else "arrow"] += 1
        return columns

    monkeypatch.setattr(csv_blocks, "_FIRST_BYTES", 20)
    monkeypatch.setattr(csv_blocks, "_BLOCK_BYTES", 60)
    monkeypatch.setattr(csv_rows, "block_columns", counted)
    for seed in range(3000):
        chance = random.Random(seed)
        separator = chance.choice((",", ";", "\t"))
        options = {**chance.choice(_OPTIONS), "sep": separator}
        data = _file(chance, separator)
        rows = _rows(data, options)
        with monkeypatch.context() as exact:
            exact.setattr(csv_rows, "has_blocks", lambda *_: False)
            assert rows == _rows(data, options), f"seed {seed}, {options}, {data!r}"
    assert min(blocks.values()) > 500, blocks


def test_errors_name_lines_of_the_file() -> None:
    lines = [f"{number},{number},1" for number in range(50_000)]
    lines[40_000] = "x,y,1"
    data = "\n".join(lines).encode()
    with pytest.raises(ValueError, match="line 40001 has 'y' in the column b"):
        list(csv_rows.read_csv_columns("f.csv", lambda _: io.BytesIO(data), _COLUMNS, {}))
    lines[40_000] = '"x",1'
    data = "\n".join(lines).encode()
    with pytest.raises(ValueError, match="line 40001 has 2 fields, not 3"):
        list(csv_rows.read_csv_columns("f.csv", lambda _: io.BytesIO(data), _COLUMNS, {}))
