"""Magic commands of JupySQL over a warehouse, and those of docs/how-to/sqlalchemy.md. ``test_jupysql.py`` runs this
program in an environment that has it.
"""

import os
import re
import sys
from pathlib import Path

import sqlalchemy as sa
from IPython.testing.globalipapp import start_ipython
from sqlalchemy.dialects import registry

registry.register("rewriter", "rewriter.integrations.sqlalchemy.dialect", "RewriterDialect")
url = f"rewriter:///{os.path.abspath(sys.argv[1])}?engine=duckdb"
shell = start_ipython()
shell.run_line_magic("load_ext", "sql")
shell.run_line_magic("sql", url)
shell.run_cell_magic("sql", "", "CREATE TABLE flights (carrier STRING, miles INT) PARTITIONED BY (dt STRING)")
shell.run_cell_magic("sql", "", "INSERT INTO flights VALUES ('UA', 1400, 'a'), ('AA', 1089, 'b')")
result = shell.run_cell_magic("sql", "", "SELECT carrier, miles FROM flights ORDER BY carrier")
assert [tuple(row) for row in result] == [("AA", 1089), ("UA", 1400)], result
assert result.DataFrame()["miles"].tolist() == [1089, 1400]
assert "flights" in str(shell.run_line_magic("sqlcmd", "tables"))
assert "carrier" in str(shell.run_line_magic("sqlcmd", "columns --table flights"))
shell.user_ns["least"] = 1200
result = shell.run_cell_magic("sql", "", "SELECT count(*) AS n FROM flights WHERE miles > {{least}}")
assert [tuple(row) for row in result] == [(1,)], result
with sa.create_engine(url).connect() as connection:
    assert connection.scalar(sa.text("SELECT count(*) FROM flights")) == 2

page = (Path(__file__).parents[2] / "docs" / "how-to" / "sqlalchemy.md").read_text(encoding="utf-8")
(block,) = re.findall(r"```ipython\n(.*?)```", page, re.DOTALL)
results = []
for line in block.replace("/data/warehouse", os.path.abspath(sys.argv[1])).splitlines():
    name, _, text = line.removeprefix("%").partition(" ")
    results.append(shell.run_line_magic(name, text))
assert [tuple(row) for row in results[2]] == [("AA", 1), ("UA", 1)], results
assert "flights" in str(results[3])
