"""Dagster's status of partitions, measured by a separate interpreter, because it is not among our requirements.

``DAGSTER_PYTHON`` names a Python with Dagster. Without it there is no figure. The parent measures its own work list in
the same run.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence

from benchmarks.lookups import Taken

#: Reads {"start", "end", "holes"}, keys of hours; returns {"seconds", "cpu", "missing"}. The stored status is what
#: Dagster keeps of an asset, so that no event is read: the subset of the materialized partitions, as text.
_CHILD = """
import json, sys, time
import dagster
given = json.load(sys.stdin)
hours = dagster.HourlyPartitionsDefinition(given["start"], end_date=given["end"])
holes = set(given["holes"])
stored = hours.subset_with_partition_keys([key for key in hours.get_partition_keys() if key not in holes]).serialize()
times, cpus = [], []
for _ in range(11):
    begun, cpu = time.perf_counter(), time.process_time()
    missing = list(hours.deserialize_subset(stored).get_partition_keys_not_in_subset(partitions_def=hours))
    times.append(time.perf_counter() - begun)
    cpus.append(time.process_time() - cpu)
print(json.dumps({"seconds": sorted(times)[5], "cpu": sorted(cpus)[5], "missing": len(missing)}))
"""


def missing_keys(start: str, end: str, holes: Sequence[str]) -> tuple[Taken, int] | None:
    """Returns the median time and the number of missing hours. ``None`` without Dagster. Keys are its own:
    ``2024-01-01-00:00``.
    """
    python = os.environ.get("DAGSTER_PYTHON")
    if not python:
        return None
    given = json.dumps({"start": start, "end": end, "holes": list(holes)})
    done = subprocess.run([python, "-c", _CHILD], input=given, capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout.splitlines()[-1])
    return Taken(float(answer["seconds"]), float(answer["cpu"])), int(answer["missing"])
