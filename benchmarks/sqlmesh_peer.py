"""SQLMesh's missing-interval function, measured by a separate interpreter, because it needs another DuckDB and sqlglot.

``SQLMESH_PYTHON`` names a Python with SQLMesh. Without it there is no figure. The parent measures its own function in
the same run.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence

#: Reads {"start", "end", "intervals"} in milliseconds since 1970, returns {"seconds", "missing"}.
_CHILD = """
import json, sys, time
from sqlmesh.core.node import IntervalUnit
from sqlmesh.core.snapshot.definition import compute_missing_intervals, expand_range
given = json.load(sys.stdin)
intervals = tuple(map(tuple, given["intervals"]))
times = []
for _ in range(3):
    for cached in (compute_missing_intervals, expand_range):
        getattr(cached, "cache_clear", lambda: None)()
    begun = time.perf_counter()
    missing = compute_missing_intervals(IntervalUnit.HOUR, intervals, given["start"], given["end"], 0, None)
    times.append(time.perf_counter() - begun)
print(json.dumps({"seconds": sorted(times)[1], "missing": len(missing)}))
"""


def missing_hours(start: int, end: int, present: Sequence[tuple[int, int]]) -> tuple[float, int] | None:
    """Returns the median time and the number of missing hours. ``None`` without SQLMesh. Instants are microseconds."""
    python = os.environ.get("SQLMESH_PYTHON")
    if not python:
        return None
    given = {"start": start // 1000, "end": end // 1000, "intervals": [(a // 1000, b // 1000) for a, b in present]}
    done = subprocess.run([python, "-c", _CHILD], input=json.dumps(given), capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout.splitlines()[-1])
    return float(answer["seconds"]), int(answer["missing"])
