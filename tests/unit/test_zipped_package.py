"""The package runs from a zip file, as ``spark-submit --py-files`` imports it on the driver."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import rewriter

PROGRAM = """
    import sys
    import rewriter
    assert rewriter.__file__.startswith(sys.path[0]), rewriter.__file__
    with rewriter.connect(sys.argv[1], engine="duckdb") as connection:
        for statement in (
            "CREATE CUBE visits (page STRING, n BIGINT MEASURE COUNT, at TIMESTAMP TIME)",
            "CREATE TABLE hours (page STRING, n BIGINT) PARTITIONED BY (h STRING)",
            "CREATE FACT f OF CUBE visits STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY at AS (h)) "
            "ROLLUPS (DAILY)",
            "INSERT INTO hours MARK COMPLETE FROM '2024-01-01' TO '2024-01-02' VALUES ('a', 2, '2024-01-01-05')",
            "REFRESH FACT f",
            "SET spark.sql.shuffle.partitions = 3",
        ):
            connection.execute(statement)
        functions = connection.execute("SHOW FUNCTIONS LIKE 'cou*'").fetchall()
        total = connection.execute("SELECT SUM(n) AS n FROM visits WHERE at < '2024-01-02'")
        print(total.fetchall(), len(functions) > 0, bool(total._repr_html_()))
"""


def zipped(target: Path) -> Path:
    """Writes the package into a zip file that has no entries for directories."""
    root = Path(rewriter.__file__).parent
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(root.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                archive.write(path, path.relative_to(root.parent))
    return target


def test_statements_run_from_a_zip_file(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "rewriter.zip")
    program = "import sys; sys.path.insert(0, sys.argv.pop(1))\n" + textwrap.dedent(PROGRAM)
    others = [path for path in sys.path if path and not (Path(path) / "rewriter").is_dir()]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(others)}
    command = [sys.executable, "-c", program, archive, tmp_path / "w"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "[(2,)] True True"


def test_every_folder_is_a_package() -> None:
    """A folder without ``__init__.py`` is found in a zip file only where the file has an entry for the folder."""
    root = Path(rewriter.__file__).parent
    folders = {parent for path in root.rglob("*.py") for parent in path.relative_to(root).parents}
    assert [folder for folder in sorted(folders) if not (root / folder / "__init__.py").is_file()] == []
