"""A program that ``spark-submit`` runs on a standalone cluster, with the package as a zip: nothing is installed there.

``pytest -m cluster`` runs it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from spark_cluster import HOST, cluster

import rewriter
from rewriter.exec.spark.java import find_java_home

pytestmark = [pytest.mark.cluster, pytest.mark.long]

PROGRAM = """
import json, sys
import rewriter.spark
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
with rewriter.spark.register(spark, sys.argv[1]) as lake:
    rows = spark.range(1000).selectExpr("id", "id % 7 AS n", "concat('p', id % 3) AS p")
    lake.connection.create_table("t", rows, partitioned_by=["p"])
    totals = lake.connection.execute("SELECT p, COUNT(*) AS c, SUM(n) AS s FROM t GROUP BY p ORDER BY p").fetchall()
    frame = [tuple(row) for row in lake.sql("SELECT p, SUM(n) AS s FROM t GROUP BY p ORDER BY p").collect()]
    pieces = lake.connection.execute("SET spark.sql.shuffle.partitions").fetchall()
print(json.dumps([rewriter.spark.__file__, spark.sparkContext.master, totals, frame, pieces]))
"""


def test_a_program_with_the_package_as_a_zip(tmp_path: Path) -> None:
    package = shutil.make_archive(str(tmp_path / "rewriter"), "zip", Path(rewriter.__file__).parents[1], "rewriter")
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(
        f"spark.driver.host {HOST}\nspark.driver.bindAddress {HOST}\nspark.executor.memory 512m\n"
        "spark.sql.shuffle.partitions 3\nspark.ui.enabled false\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {
        "SPARK_CONF_DIR": str(tmp_path / "conf"), "JAVA_HOME": str(find_java_home()), "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_IP": HOST,
    }  # fmt: skip
    with cluster() as running:
        command = [
            str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", running.url, "--py-files", package,
            str(tmp_path / "program.py"), str(tmp_path / "w"),
        ]  # fmt: skip
        run = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600
        )
        url = running.url
    assert run.returncode == 0, run.stderr[-3000:]
    module, master, totals, frame, pieces = json.loads(run.stdout.splitlines()[-1])
    assert ".zip" in module
    assert master == url
    expected = [[f"p{p}", len(ids), sum(id % 7 for id in ids)] for p in range(3) if (ids := range(p, 1000, 3))]
    assert totals == expected
    assert frame == [[p, s] for p, _, s in expected]
    assert "3" in str(pieces)
