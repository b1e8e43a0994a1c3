"""Spark as its shop starts it: settings of a spark-defaults.conf, and a program that ``spark-submit`` runs with the
package as a zip file of ``--py-files``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pyspark
import pytest
import spark_cluster
from unit.test_zipped_package import zipped

pytestmark = pytest.mark.spark

DEFAULTS = """
# Settings of a shop.
spark.local.dir                     {folder}/disk
spark.ui.enabled                    false
spark.speculation                   true
spark.sql.shuffle.partitions        7
spark.sql.files.openCostInBytes     1048576
spark.sql.session.timeZone          Asia/Tokyo
spark.sql.ansi.enabled              false
spark.rewriter.executorTimeout      77
"""
NAMES = (
    "spark.local.dir", "spark.speculation", "spark.sql.shuffle.partitions", "spark.sql.files.openCostInBytes",
    "spark.rewriter.executorTimeout", "spark.sql.session.timeZone", "spark.sql.ansi.enabled",
    "spark.sql.sources.parallelPartitionDiscovery.threshold",
)  # fmt: skip


def with_defaults(folder: Path) -> dict[str, str]:
    """Writes a spark-defaults.conf, and returns the environment of a process that reads it."""
    (folder / "conf").mkdir()
    (folder / "conf" / "spark-defaults.conf").write_text(DEFAULTS.format(folder=folder))
    return {**os.environ, "SPARK_CONF_DIR": str(folder / "conf")}


@pytest.mark.long
def test_settings_of_a_shop_hold(tmp_path: Path) -> None:
    """Settings that change no result are those of the file. The others are ours, and so are those that it lacks."""
    program = """
        import json, sys
        import rewriter
        from rewriter.exec.spark.engine import SparkEngine
        names = json.loads(sys.argv[2])
        with rewriter.connect(sys.argv[1], SparkEngine("local[1]")) as connection:
            conf = connection.sql("SELECT 1 AS a").sparkSession.conf
            print(json.dumps([conf.get(name) for name in names]))
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), tmp_path / "w", json.dumps(NAMES)],
        capture_output=True, text=True, check=False, env=with_defaults(tmp_path),
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == [
        f"{tmp_path}/disk", "true", "7", "1048576", "77", "UTC", "true", "100000",
    ]  # fmt: skip


PROGRAM = """
    import json, sys
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()

    import rewriter

    with rewriter.connect(sys.argv[1], engine=spark) as connection:
        connection.execute("CREATE TABLE hours (carrier STRING, n BIGINT) PARTITIONED BY (dt STRING)")
        rows = "SELECT concat('c', id % 3), id, concat('2024-01-01-0', id % 4) FROM range(1000)"
        connection.execute(f"INSERT INTO hours {rows}")
        frame = spark.range(100).selectExpr("'x' AS carrier", "id AS n", "'2024-01-02-00' AS dt")
        connection.append("hours", frame)
        counts = "SELECT dt, COUNT(*) AS n FROM hours GROUP BY dt ORDER BY dt"
        report = {
            "from": rewriter.__file__,
            "rows": connection.execute(counts).fetchall(),
            "frame": [list(row) for row in connection.sql(counts).collect()],
            "pieces": connection.sql(counts).sparkSession.conf.get("spark.sql.shuffle.partitions"),
        }
    print(json.dumps(report))
    spark.stop()
"""


@pytest.mark.cluster
def test_a_program_with_the_package_as_a_zip_file(tmp_path: Path) -> None:
    """On a standalone cluster, whose workers cannot import the package from elsewhere."""
    archive, program = zipped(tmp_path / "rewriter.zip"), tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    with spark_cluster.cluster(1) as cluster:
        settings = {"spark.executor.memory": "1g", "spark.driver.host": spark_cluster.HOST}
        options = [text for name, value in settings.items() for text in ("--conf", f"{name}={value}")]
        environment = {
            **spark_cluster.environment(tmp_path),
            "PYTHONPATH": "",  # The program has the package from the zip file alone.
            "SPARK_CONF_DIR": with_defaults(tmp_path)["SPARK_CONF_DIR"],
        }
        run = subprocess.run(
            [submit, "--master", cluster.url, *options, "--py-files", archive, program, tmp_path / "w"],
            capture_output=True, text=True, check=False, cwd=tmp_path, env=environment, timeout=300,
        )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr[-3000:]
    report = json.loads(run.stdout.strip().splitlines()[-1])
    expected = [[f"2024-01-01-0{hour}", 250] for hour in range(4)] + [["2024-01-02-00", 100]]
    assert (report["rows"], report["frame"], report["pieces"]) == (expected, expected, "7")
    assert "rewriter.zip" in report["from"]
