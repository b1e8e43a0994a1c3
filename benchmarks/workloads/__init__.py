"""TPC-H, ClickBench and the queries of a shop's analysts: their tables, and their queries by number."""

from __future__ import annotations

import re
from pathlib import Path

#: The workloads, each a file of queries beside this one.
WORKLOADS = ("tpch", "clickbench", "analysts")


def queries(file: str) -> dict[str, str]:
    """Returns the queries of a file by their names: the number or the words in the comment before each."""
    text = Path(__file__).with_name(f"{file}.sql").read_text(encoding="utf-8")
    parts = re.split(r"^-- (.+)\n", text.split("\n", 1)[1], flags=re.MULTILINE)
    return {name: query.strip().rstrip(";") for name, query in zip(parts[1::2], parts[2::2], strict=True)}
