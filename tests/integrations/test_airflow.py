"""The example of Airflow in docs/how-to/scheduling.md, with the real package in an environment of its own.

``tests/unit/documents/test_scheduling.py`` runs the sensor's command.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from integrations.environments import python_with
from page_runner import DOCS, blocks

PAGE = DOCS / "how-to" / "scheduling.md"
#: Defines the example's DAG and lets its sensor see each exit code.
CHILD = """
import json, sys
example = {}
exec(sys.stdin.read(), example)
sensor, seen = example["complete"], {}
for code in range(6):
    sensor.bash_command = f"exit {code}"
    try:
        seen[code] = sensor.poke({})
    except Exception as error:
        seen[code] = type(error).__name__
tasks = {task.task_id: sorted(task.downstream_task_ids) for task in sensor.dag.tasks}
print("\\n" + json.dumps([tasks, seen]))
"""


@pytest.mark.long
def test_the_sensor_waits_for_missing_periods_only(tmp_path: Path) -> None:
    python = python_with("apache-airflow>=3,<4", "REWRITER_TEST_AIRFLOW", tmp_path)
    (example,) = [block.text for block in blocks(PAGE) if block.title == "dags/sales.py"]
    environment = {**os.environ, "AIRFLOW_HOME": str(tmp_path), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run([python, "-c", CHILD], input=example, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    tasks, seen = json.loads(done.stdout.splitlines()[-1])
    assert tasks == {"complete": ["report"], "report": []}
    failed = "AirflowFailException"
    assert seen == {"0": True, "1": failed, "2": failed, "3": False, "4": failed, "5": failed}
