"""docs/explanation/the-law.md: its tables have the causes, texts and reasons of the planner, with true examples."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import rewriter
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.planner.model.plan import Cause, PruneCause, ReasonKind
from rewriter.session import Session

PAGE = (Path(__file__).parents[3] / "docs" / "explanation" / "the-law.md").read_text(encoding="utf-8")
COVER = Path(rewriter.__file__).parent / "planner" / "cover"
#: Instead of the kind of a cause that the source computes.
ANY = "any"


def rows(heading: str) -> list[list[str]]:
    """Returns the cells of the table below a heading, without its head."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


CAUSES = [(row[0], row[1].strip("`")) for row in rows("Why a rollup is not used")]
REASONS = [(row[0], row[1].strip("`")) for row in rows("Why a query needs the base period")]


def test_the_table_lists_the_causes_in_their_order() -> None:
    order = [PruneCause[name] for name, _ in CAUSES]
    assert all(before <= after for before, after in pairwise(order))
    assert set(order) == set(PruneCause)


def test_the_table_lists_the_texts_of_the_source() -> None:
    found = set(texts_of_source())
    assert len(found) > 15

    def agrees(kind: str, text: str, pattern: str, of: str) -> bool:
        return of in (kind, ANY) and re.fullmatch(_regex(pattern), text) is not None

    assert [row for row in CAUSES if not any(agrees(*row, text, kind) for kind, text in found)] == []
    lacking = [(kind, text) for kind, text in found if not any(agrees(*row, text, kind) for row in CAUSES)]
    assert lacking == []


def test_the_table_lists_the_reasons() -> None:
    assert [reason for reason, _ in REASONS] == [kind.value for kind in ReasonKind]


def test_the_page_is_short() -> None:
    """A table, an example and a heading are not read from the beginning to the end."""
    text = re.sub(r"^```.*?^```$|^\|.*?$|^#.*?$", "", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert len(text.split()) <= 900


def _regex(pattern: str) -> str:
    return ".+".join(map(re.escape, re.split("…+", pattern)))


def texts_of_source() -> Iterator[tuple[str, str]]:
    """Returns the kind and the text of each cause that the planner creates, with ``…`` for what it computes."""
    for path in COVER.glob("*.py"):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef):
                yield from _texts_of(function)


def _texts_of(function: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    assigned: dict[str, ast.expr] = {}
    statements = [node for node in ast.walk(function) if isinstance(node, ast.Assign | ast.Call)]
    for node in sorted(statements, key=lambda node: (node.lineno, node.col_offset)):
        if isinstance(node, ast.Assign):
            assigned |= {target.id: node.value for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node.func, ast.Name) and node.func.id == "Cause":
            kind, _, detail = node.args
            detail = assigned[detail.id] if isinstance(detail, ast.Name) else detail
            yield kind.attr if isinstance(kind, ast.Attribute) else ANY, _text(detail)


def _text(detail: ast.expr) -> str:
    parts = detail.values if isinstance(detail, ast.JoinedStr) else [detail]
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts)


# --- examples -----------------------------------------------------------------------------------------------------

HOURS_AND_DAYS = """
CREATE CUBE flights (carrier STRING, n BIGINT MEASURE COUNT NOT NULL, distance BIGINT MEASURE SUM,
  departed TIMESTAMP TIME);
CREATE TABLE hours (carrier STRING, n BIGINT, distance BIGINT) PARTITIONED BY (dt STRING);
CREATE TABLE days (carrier STRING, n BIGINT, distance BIGINT) PARTITIONED BY (ds STRING);
CREATE TABLE months (carrier STRING, n BIGINT, distance BIGINT) PARTITIONED BY (m STRING);
CREATE FACT flights_all OF CUBE flights STORED IN (
  TABLE hours PERIOD HOURLY PARTITIONED BY departed AS (dt = 'yyyy-MM-dd-HH'),
  TABLE days PERIOD DAILY PARTITIONED BY departed AS (ds),
  TABLE months PERIOD MONTHLY PARTITIONED BY departed AS (m));
ALTER FACT flights_all MARK COMPLETE FROM '2013-01-01' TO '2013-02-01';
REFRESH FACT flights_all;
"""
JANUARY = "departed >= '2013-01-01' AND departed < '2013-02-01'"
SECOND_FACT = """
CREATE TABLE more (n BIGINT, distance BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT flights_slim OF CUBE flights (n, distance) WEIGHT 10 STORED IN (
  TABLE more PERIOD {period} PARTITIONED BY departed AS (dt));
"""
TWO_TIMES = """
CREATE CUBE records (n BIGINT MEASURE COUNT NOT NULL, processed TIMESTAMP TIME, happened TIMESTAMP TIME);
CREATE TABLE record_hours (n BIGINT) PARTITIONED BY (pt STRING, et STRING);
CREATE TABLE record_days (n BIGINT) PARTITIONED BY (pt STRING, et STRING);
CREATE TABLE record_months (n BIGINT) PARTITIONED BY (pt STRING);
CREATE FACT records_all OF CUBE records STORED IN (
  TABLE record_hours PERIOD HOURLY PARTITIONED BY processed AS (pt = 'yyyy-MM-dd-HH')
    PARTITIONED BY happened AS (et = 'yyyy-MM-dd-HH'),
  TABLE record_days PERIOD DAILY PARTITIONED BY processed AS (pt) PARTITIONED BY happened AS (et),
  TABLE record_months PERIOD MONTHLY PARTITIONED BY processed AS (pt));
INSERT INTO record_hours VALUES (1, '2013-02-01-05', '2013-01-31-22')
"""
WEEKS = """
CREATE CUBE flights (n BIGINT MEASURE COUNT NOT NULL, departed TIMESTAMP TIME);
CREATE TABLE days (n BIGINT) PARTITIONED BY (ds STRING);
CREATE TABLE weeks (n BIGINT) PARTITIONED BY (w STRING);
CREATE TABLE months (n BIGINT) PARTITIONED BY (m STRING);
CREATE FACT flights_all OF CUBE flights STORED IN (
  {days}TABLE weeks PERIOD WEEKLY PARTITIONED BY departed AS (w) TRUSTED,
  TABLE months PERIOD MONTHLY PARTITIONED BY departed AS (m) TRUSTED);
ALTER TABLE weeks ADD PARTITION (w = '2013-W05');
ALTER TABLE months ADD PARTITION (m = '2013-02');
"""
DAYS_OF_WEEKS = "TABLE days PERIOD DAILY PARTITIONED BY departed AS (ds), "

#: A warehouse and a query for each text of the table.
EXAMPLES = {
    ("COLUMN_MISSING", "lacks …"): (
        HOURS_AND_DAYS + SECOND_FACT.format(period="DAILY"),
        f"SELECT carrier, SUM(n) FROM flights WHERE {JANUARY} GROUP BY carrier",
    ),
    ("COLUMN_MISSING", "is not partitioned by …"): (
        TWO_TIMES,
        "SELECT COUNT(*) FROM records WHERE happened < '2013-02-01'",
    ),
    ("NOT_ADDITIVE", "the block is not additive, which needs the base period"): (
        HOURS_AND_DAYS,
        f"SELECT MAX(distance) FROM flights WHERE {JANUARY}",
    ),
    ("PERIOD_TOO_COARSE", "time is used directly, which needs the base period"): (
        HOURS_AND_DAYS,
        f"SELECT departed, SUM(n) FROM flights WHERE {JANUARY} GROUP BY departed",
    ),
    ("PERIOD_TOO_COARSE", "does not nest in …"): (
        HOURS_AND_DAYS,
        f"SELECT to_date(departed), SUM(n) FROM flights WHERE {JANUARY} GROUP BY 1",
    ),
    ("PERIOD_TOO_COARSE", "… is restricted to …, which cuts … periods"): (
        TWO_TIMES,
        "SELECT COUNT(*) FROM records WHERE happened < '2013-01-31 23:00'",
    ),
    ("PERIOD_TOO_COARSE", "…, and … does not nest in it"): (
        WEEKS.format(days=""),
        "SELECT year(departed), SUM(n) FROM flights "
        "WHERE departed >= '2013-01-28' AND departed < '2013-03-04' GROUP BY 1",
    ),
    ("PERIOD_TOO_COARSE", "UTC hours do not nest in the days of …"): (
        """
        CREATE CUBE flights (n BIGINT MEASURE COUNT NOT NULL, departed TIMESTAMP TIME) TIME ZONE 'Asia/Kolkata';
        CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING);
        CREATE TABLE days (n BIGINT) PARTITIONED BY (ds STRING);
        CREATE FACT by_hour OF CUBE flights STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY departed AS (dt));
        CREATE FACT by_day OF CUBE flights STORED IN (TABLE days PERIOD DAILY PARTITIONED BY departed AS (ds))
        """,
        "SELECT SUM(n) FROM flights WHERE departed >= '2013-01-01' AND departed < '2013-01-02'",
    ),
    ("PERIOD_TOO_COARSE", "begins with …, another fact with …"): (
        HOURS_AND_DAYS + SECOND_FACT.format(period="DAILY"),
        f"SELECT MAX(distance) FROM flights WHERE {JANUARY}",
    ),
    ("OUTSIDE_VALIDITY", "is not valid at …: …"): (
        """
        CREATE CUBE flights (n BIGINT MEASURE COUNT NOT NULL, departed TIMESTAMP TIME);
        CREATE TABLE days (n BIGINT) PARTITIONED BY (ds STRING);
        CREATE FACT f OF CUBE flights STORED IN (TABLE days PERIOD DAILY PARTITIONED BY departed AS (ds))
          END '2013-02-01';
        INSERT INTO days VALUES (1, '2013-02-01')
        """,
        "SELECT SUM(n) FROM flights WHERE departed >= '2013-02-01' AND departed < '2013-02-02'",
    ),
    ("EXCLUDED_BY_SETTING", "SET rewriter.periods excludes this period"): (
        HOURS_AND_DAYS + "SET rewriter.periods = HOURLY",
        f"SELECT SUM(n) FROM flights WHERE {JANUARY}",
    ),
    ("OTHER_FACT", "another fact has fewer missing partitions or a lower cost"): (
        HOURS_AND_DAYS + SECOND_FACT.format(period="HOURLY"),
        f"SELECT MAX(distance) FROM flights WHERE {JANUARY}",
    ),
    ("REACHES_BEYOND", "no … period that holds … is inside the requested range"): (
        HOURS_AND_DAYS,
        "SELECT SUM(n) FROM flights WHERE departed >= '2013-01-01' AND departed < '2013-02-05'",
    ),
    ("REACHES_BEYOND", "has …, which overlaps other partitions of the cover"): (
        WEEKS.format(days=DAYS_OF_WEEKS),
        "SELECT SUM(n) FROM flights WHERE departed >= '2013-01-28' AND departed < '2013-03-01'",
    ),
    ("PARTITIONS_MISSING", "lacks …"): (
        HOURS_AND_DAYS,
        "SELECT SUM(n) FROM flights WHERE departed >= '2013-02-01' AND departed < '2013-02-02'",
    ),
    ("PARTITIONS_MISSING", "lacks …, which finer periods cover"): (
        HOURS_AND_DAYS + "ALTER TABLE days DROP PARTITION (ds = '2013-01-05')",
        "SELECT SUM(n) FROM flights WHERE departed >= '2013-01-04' AND departed < '2013-01-07'",
    ),
    ("PARTITIONS_OUTDATED", "is outdated at …"): (
        HOURS_AND_DAYS + "INSERT INTO hours VALUES ('UA', 1, 1, '2013-01-05-07')",
        "SELECT SUM(n) FROM flights WHERE departed >= '2013-01-04' AND departed < '2013-01-07'",
    ),
    ("PARTITIONS_INCOMPLETE", "is incomplete at … (its base lacks …)"): (
        HOURS_AND_DAYS
        + """
        ALTER FACT flights_all MARK COMPLETE FROM '2013-02-01' TO '2013-02-01T23';
        INSERT INTO days PARTITION (ds = '2013-02-01') SELECT carrier, SUM(n), SUM(distance) FROM hours
        WHERE dt >= '2013-02-01' AND dt < '2013-02-02' GROUP BY carrier
        """,
        "SELECT SUM(n) FROM flights WHERE departed >= '2013-02-01' AND departed < '2013-02-02'",
    ),
    ("PARTITIONS_UNPROVEN", "is unproven at … (ADD PARTITION registered it)"): (
        HOURS_AND_DAYS + "ALTER TABLE days ADD PARTITION (ds = '2013-02-01')",
        "SELECT SUM(n) FROM flights WHERE departed >= '2013-02-01' AND departed < '2013-02-02'",
    ),
    ("PARTITIONS_OPEN", "is open at … (a stream still fills it)"): (
        """
        CREATE TABLE visits (n BIGINT) PARTITIONED BY (hour STRING)
          TBLPROPERTIES ('rewriter.partition_commit.trigger' = 'partition time');
        CREATE CUBE traffic (n BIGINT MEASURE SUM, visited TIMESTAMP TIME);
        CREATE FACT f OF CUBE traffic STORED IN (TABLE visits PERIOD HOURLY PARTITIONED BY visited AS (hour));
        INSERT OVERWRITE DIRECTORY '{directory}/arrived' USING parquet VALUES (1, '2013-01-01-00') AS v(n, hour);
        INSERT INTO visits BY NAME SELECT CAST(n AS BIGINT) AS n, hour FROM STREAM parquet.`{directory}/arrived`
        OPTIONS ('stream' = 'visits', 'checkpoint' = '{directory}/checkpoints')
        """,
        "SELECT SUM(n) FROM traffic WHERE visited >= '2013-01-01' AND visited < '2013-01-01 01:00'",
    ),
}
EXAMPLES["PARTITIONS_NARROW", "is narrow at … (it was computed before the table got …)"] = (
    HOURS_AND_DAYS
    + """
    ALTER FACT flights_all DROP STORAGE months; ALTER FACT flights_all ADD ROLLUP MONTHLY; REFRESH FACT flights_all;
    ALTER TABLE hours ADD COLUMNS (plane STRING); ALTER CUBE flights ADD (plane STRING)
    """,
    f"SELECT plane, SUM(n) FROM flights WHERE {JANUARY} GROUP BY plane",
)
#: No statement creates such a table any more (tests/contract/test_float_sums.py has the text).
OF_EARLIER_RELEASES = ("COLUMN_MISSING", "holds sums of FLOAT as FLOAT, which rounds them")


@pytest.fixture
def session(tmp_path: Path, duckdb: DuckDBEngine) -> Iterator[Session]:
    with Session(tmp_path / "w", duckdb) as opened:
        yield opened


def causes(session: Session, query: str) -> list[Cause]:
    coverage = session.execute(f"EXPLAIN COVER {query}").coverage
    return [cause for reference in coverage.references for cause in reference.causes]


@pytest.mark.share(1)
@pytest.mark.parametrize("example", [row for row in CAUSES if row != OF_EARLIER_RELEASES], ids=" ".join)
def test_each_text_has_an_example(example: tuple[str, str], session: Session, tmp_path: Path) -> None:
    script, query = EXAMPLES[example]
    list(session.script(script.replace("{directory}", str(tmp_path))))
    found = causes(session, query)
    kind, text = example
    # A text may go on: `…, which finer periods cover`.
    assert [c for c in found if c.kind.name == kind and re.match(_regex(text), c.detail)], [*map(str, found)]


@pytest.mark.share(1)
@pytest.mark.parametrize(("reason", "query"), REASONS, ids=[reason for reason, _ in REASONS])
def test_each_reason_has_an_example(reason: str, query: str, session: Session) -> None:
    list(
        session.script(
            HOURS_AND_DAYS + "CREATE CUBE probes (depth DOUBLE, n BIGINT MEASURE COUNT, taken TIMESTAMP TIME);"
        )
    )
    list(
        session.script("""
        CREATE TABLE probe_hours (depth DOUBLE, n BIGINT) PARTITIONED BY (dt STRING);
        CREATE FACT p OF CUBE probes STORED IN (TABLE probe_hours PERIOD HOURLY PARTITIONED BY taken AS (dt))""")
    )
    (reference,) = session.execute(f"EXPLAIN COVER {query}").coverage.references
    assert reason in [found.kind.value for found in reference.reasons]
