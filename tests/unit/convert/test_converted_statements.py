"""How single statements are converted, and what is reported."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rewriter.convert.script import Conversion, convert_script
from rewriter.errors import ParseError
from rewriter.session import Session

TABLES = (
    "CREATE TABLE t (a INT, s STRING, d DATE) PARTITIONED BY (dt STRING, hr INT);\n"
    "CREATE TABLE u (a INT, s STRING) STORED AS ORC;\n"
)


def hive(text: str) -> Conversion:
    return convert_script(text, is_hive=True, is_lenient=True)


def spark(text: str) -> Conversion:
    return convert_script(text, is_hive=False, is_lenient=False)


def after_tables(statement: str) -> str:
    """Returns what a statement becomes in a script that creates the tables t and u."""
    return hive(TABLES + statement).text.removeprefix(TABLES)


#: Pairs of a statement and what it becomes.
CONVERTED = """
CREATE TABLE x (a INT) CLUSTERED BY (a) SORTED BY (a DESC) INTO 4 BUCKETS STORED AS ORC
CREATE TABLE x (a INT) [removed CLUSTERED BY (a) SORTED BY (a DESC) INTO 4 BUCKETS: it changes no row] STORED AS ORC

CREATE TABLE x (a INT) SKEWED BY (a, b) ON ((1, 2), (3, 4)) STORED AS ORC
CREATE TABLE x (a INT) [removed SKEWED BY (a, b) ON ((1, 2), (3, 4)): it changes no row] STORED AS ORC

CREATE TABLE x (a INT) ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.columnar.ColumnarSerDe' STORED AS RCFILE
CREATE TABLE x (a INT) [removed ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.columnar.ColumnarSerDe': Parquet needs none] STORED AS PARQUET [was STORED AS RCFILE]

CREATE TABLE x (a INT NOT NULL DISABLE NOVALIDATE, b INT NOT NULL ENABLE, c INT NOT NULL, p INT NOT NULL) PARTITIONED BY (p)
CREATE TABLE x (a INT [removed NOT NULL DISABLE NOVALIDATE: it is not checked], b INT NOT NULL [removed ENABLE: it is checked], c INT NOT NULL, p INT [removed NOT NULL: it is not checked here]) PARTITIONED BY (p)

CREATE TABLE x (a INT, CONSTRAINT k PRIMARY KEY (a) DISABLE NOVALIDATE RELY)
CREATE TABLE x (a INT[removed , CONSTRAINT k PRIMARY KEY (a) DISABLE NOVALIDATE RELY: it is not checked here])

DELETE FROM u WHERE a > 1
INSERT OVERWRITE TABLE u [was DELETE: the table keeps the other rows]|SELECT * FROM u WHERE (a > 1) IS NOT TRUE

UPDATE u SET a = a + 1, s = upper(s) WHERE a > 1 OR s IN (SELECT s FROM t)
INSERT OVERWRITE TABLE u [was UPDATE: each row, with its new values]|SELECT CASE WHEN a > 1 OR s IN (SELECT s FROM t) THEN CAST(a + 1 AS int) ELSE a END AS a, CASE WHEN a > 1 OR s IN (SELECT s FROM t) THEN CAST(upper(s) AS string) ELSE s END AS s FROM u

UPDATE t AS x SET x.s = 'new'
INSERT OVERWRITE TABLE t [was UPDATE: each row, with its new values]|SELECT a, CAST('new' AS string) AS s, d, dt, hr FROM t AS x

CREATE EXTERNAL TABLE IF NOT EXISTS x (a INT) STORED AS PARQUET
CREATE [removed EXTERNAL: without a LOCATION the files are in the warehouse, and DROP TABLE removes them] TABLE IF NOT EXISTS x (a INT) STORED AS PARQUET

CREATE EXTERNAL TABLE x (a INT) STORED AS PARQUET LOCATION '/x'
CREATE EXTERNAL TABLE x (a INT) STORED AS PARQUET LOCATION '/x'

DELETE FROM t WHERE dt = 'x' AND hr = 5 AND a > 1
INSERT OVERWRITE TABLE t PARTITION (dt = 'x', hr = 5) [was DELETE: the partition keeps the other rows]|SELECT a, s, d FROM t WHERE dt = 'x' AND hr = 5 AND (dt = 'x' AND hr = 5 AND a > 1) IS NOT TRUE

SELECT `(dt)?+.+` FROM t
SELECT * EXCEPT (dt) [was `(dt)?+.+`] FROM t

SELECT CAST(a AS INT), a / 2, a + 1 FROM t
SELECT CAST(a AS INT), a / 2, a + 1 FROM t

SELECT a / a FROM t
SELECT try_divide(a, a) [was /: NULL if the divisor is 0] AS `(a / a)` FROM t

SELECT a -- x / y|/ /* c */ a AS q FROM t
SELECT try_divide(a -- x / y|, /* c */ a) [was /: NULL if the divisor is 0] AS q FROM t

SELECT a -- x|DIV a AS q FROM t
SELECT a -- x|DIV NULLIF(a, 0) [was DIV: NULL if the divisor is 0] AS q FROM t

SELECT a FROM t WHERE s > 5
SELECT a FROM t WHERE TRY_CAST(s AS DOUBLE) [a text that is no number is NULL] > 5

SELECT size(split(s, ',')) AS n, coalesce(size(split(s, ',')), -1) AS m FROM t
SELECT coalesce(size(split(s, ',')), -1) [was size: -1 for NULL] AS n, coalesce(size(split(s, ',')), -1) AS m FROM t

SELECT array(1, s) AS x FROM t
SELECT array('1' [texts and numbers are compared, or chosen, as texts], s) AS x FROM t

source next.hql
-- rewriter: was source: convert this file, too|\\i next.hql
"""  # noqa: E501


@pytest.mark.parametrize("pair", CONVERTED.strip().split("\n\n"))
def test_a_statement(pair: str) -> None:
    """In the pairs, a bar is the end of a line, and brackets are a comment of the conversion."""
    statement, converted = pair.replace("|", "\f").split("\n")
    expected = re.sub(r"\[(.*?)\]", r"/* rewriter: \1 */", converted)
    assert after_tables(statement.replace("\f", "\n")) == expected.replace("\f", "\n")


@pytest.mark.parametrize(
    "condition",
    ["hr = 5", "dt = 'x' AND hr = '5'", "dt = 20240101 AND hr = 5", "(dt = 'x' AND hr = 5) OR a = 1", "a = 1"],
)
def test_a_delete_of_more_than_one_partition_replaces_the_whole_table(condition: str) -> None:
    """With dynamic partitions, one that loses all its rows would stay."""
    converted = after_tables(f"DELETE FROM t WHERE {condition} AND s = 'q'").splitlines()
    assert converted[0].startswith("SET rewriter.partition_overwrite_mode = static ")
    assert converted[-1] == "RESET rewriter.partition_overwrite_mode"


def test_a_delete_restores_the_mode_of_the_script() -> None:
    mode = "SET spark.sql.sources.partitionOverwriteMode = dynamic;\n"
    twice = "DELETE FROM x WHERE a = 1;\nDELETE FROM x WHERE a = 2;\n"
    text = spark(mode + twice).text
    assert text.count("SET rewriter.partition_overwrite_mode = static /*") == 2
    assert text.count("SET rewriter.partition_overwrite_mode = dynamic;") == 2


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("SELECT CAST(x AS INT) FROM nowhere", "The meaning depends on types that are not known: x."),
        ("SELECT nowhere.x + 1 FROM nowhere", "The meaning depends on types that are not known: nowhere.x."),
        ("SELECT exists(array(1), v -> v + 1 > 2)", "The meaning depends on types that are not known: v."),
        ("SELECT TRANSFORM (a) USING 'cat' AS (b) FROM t", "TRANSFORM … USING runs a program."),
        ("SELECT my_udf(a) FROM t", "There is no function my_udf here."),
        ("SELECT grouping__id FROM t GROUP BY a WITH ROLLUP", "grouping__id has other values in each version of Hive."),
        ("SELECT make_date(2024, a, 1) AS m FROM t",
         "make_date raises an error for a date that does not exist, where the original is NULL."),
        ("SELECT greatest(a, 2) AS g FROM t",
         "greatest is NULL in Hive if an argument is NULL, and ignores NULLs here."),
        ("SELECT hash(s) AS h FROM t", "hash has other values in Hive."),
        ("SELECT CAST(s AS BOOLEAN) AS b FROM t",
         "CAST of a text to BOOLEAN is true in Hive for other texts, too: compare the text."),
        ("SELECT a FROM t WHERE s IN (1, 2)",
         "IN compares a text with numbers, in Hive by their values: cast the text."),
        ("CREATE EXTERNAL TABLE x (a INT) STORED AS RCFILE LOCATION '/x'",
         "The format rcfile is not supported: its rows are objects of Hive's Java classes, which neither DuckDB nor "
         "Spark's own readers read."),
        ("UPDATE t SET dt = 'x'", "UPDATE is not supported."),
        ("UPDATE t SET s = DEFAULT", "UPDATE is not supported."),
        ("UPDATE t SET s = 'x', s = 'y'", "UPDATE is not supported."),
        ("CREATE TEMPORARY FUNCTION f AS 'com.F'; SELECT f(1)", "The function f is a program in Java."),
    ],
)  # fmt: skip
def test_what_is_reported_stays_as_it_is(statement: str, reason: str) -> None:
    conversion = hive(TABLES + statement)
    assert conversion.unconverted[0].reason == reason
    assert conversion.unconverted[0].line == 3
    assert statement.partition(";")[0] in conversion.text
    assert f"-- rewriter: not converted: {reason.rstrip('.')}" in conversion.text


@pytest.mark.parametrize(
    "text",
    [
        "SELECT '${hiveconf:day}' AS d, ${x} AS x;",
        "SET hive.exec.max.dynamic.partitions = ${n};",
        "SELECT 'it''s; /* no comment */ -- no' AS s;\n\n\n-- end",
        "\\set x 1\nSELECT 1;",
        "SELECT * FROM t PIVOT (sum(a) FOR b IN (1, 2));",
        "",
        "-- nothing",
        "SELECT TRY_CAST(s AS INT) FROM t;",
    ],
)
def test_texts_that_stay(text: str) -> None:
    conversion = spark(text)
    assert (conversion.text, conversion.changed, conversion.unconverted) == (text, 0, ())


def test_a_setting_holds_from_its_place_on() -> None:
    table = "CREATE TABLE v (a INT);\n"
    lenient = "SET spark.sql.ansi.enabled = false;\n"
    text = spark(
        f"{table}SELECT 1 / a AS q FROM v;\n{lenient}SELECT 1 / a AS q FROM v;\nRESET;\nSELECT 2 / a AS q FROM v;"
    ).text
    assert text.count("try_divide") == 1
    assert "-- SET spark.sql.ansi.enabled = false\n" in text
    assert text.endswith("SELECT 2 / a AS q FROM v;")


def test_calls_under_the_policy_legacy_are_reported() -> None:
    """A pattern that writes the same is not; reading ends in NULL or another time where here is an error."""
    table = "CREATE TABLE v (s STRING, at TIMESTAMP);\n"
    legacy = "SET spark.sql.legacy.timeParserPolicy = LEGACY;\n"
    alike = "SELECT date_format(at, 'yyyy-MM-dd HH:mm:ss') AS a, unix_timestamp(at) AS u, to_date(s) AS d FROM v;\n"
    differing = ("to_date(s, 'yyyyMMdd')", "unix_timestamp(s)", "date_format(at, 'u')", "from_unixtime(1, 'EEE')",
                 "date_format(at, s)", "date_format(at, 'yyyy''Q')", "to_json(named_struct('a', at))")  # fmt: skip
    for call in differing:
        text = f"{table}{legacy}{alike}SELECT {call} AS x FROM v;\n"
        conversion = spark(text)
        name = call.partition("(")[0]
        reasons = [(entry.line, entry.reason) for entry in conversion.unconverted]
        assert reasons == [(4, f"{name} may have another result under the policy LEGACY.")]
        assert "\n-- SET spark.sql.legacy.timeParserPolicy = LEGACY\n" in conversion.text
        assert spark(text.replace(alike, "RESET;\n")).unconverted == ()


def test_an_update_changes_the_rows_whose_condition_is_true(tmp_path: Path) -> None:
    """A value becomes one of its column's type; the other rows stay as they are, to the last digit."""
    script = spark(
        """
        CREATE TABLE v (id INT, price DECIMAL(20, 4), note STRING) PARTITIONED BY (p INT);
        INSERT INTO v VALUES (1, 1234567890123456.7891, 'a', 1), (2, NULL, NULL, 1), (3, 2.5, 'c', 2);
        UPDATE v SET price = 1.5D, note = concat(note, '!', id) WHERE price > 2 AND id IN (SELECT max(id) FROM v);
        UPDATE v SET id = id * 10;
        DELETE FROM v WHERE note = 'a'
        """
    )
    assert script.unconverted == ()
    with Session(tmp_path, "duckdb") as session:
        for _ in session.script(script.text):
            pass
        rows = session.execute("SELECT id, CAST(price AS STRING), note, p FROM v ORDER BY id").fetch()
    assert rows == [(20, None, None, 1), (30, "1.5000", "c!3", 2)]


def test_a_table_with_hidden_partitions_is_not_updated() -> None:
    """Its rows would move, and its columns have another order than those of other partitioned tables."""
    table = "CREATE TABLE v (at TIMESTAMP, s STRING) PARTITIONED BY (days(at));\n"
    assert spark(table + "UPDATE v SET s = 'x';").text.endswith("UPDATE v SET s = 'x';")


def test_a_removed_statement_takes_nothing_else_with_it() -> None:
    assert hive("ADD JAR a.jar; SELECT 1;").text == (
        "-- rewriter: removed: programs in Java are not loaded\n-- ADD JAR a.jar\n SELECT 1;"
    )
    backslash = hive("ADD JAR a.jar\\g\nSELECT 1;").text
    assert backslash.endswith("\nSELECT 1;")


def test_spark_replaces_a_whole_table_by_default() -> None:
    table = "CREATE TABLE p (a INT, d INT) USING parquet PARTITIONED BY (d);\n"
    insert = "INSERT OVERWRITE TABLE p SELECT 1, 2;\n"
    text = spark(table + insert + insert).text
    assert text.count("SET spark.sql.sources.partitionOverwriteMode = static") == 1
    assert spark(table + "INSERT OVERWRITE TABLE p PARTITION (d = 2) SELECT 1;").changed == 0
    assert [entry.line for entry in spark(insert).unconverted] == [1]
    assert hive(insert).changed == 0


def test_a_column_is_that_of_the_block_around_it() -> None:
    conversion = hive(
        TABLES + "SELECT x.a + 1 AS p, b + 1 AS q, (SELECT max(a) FROM u) + a AS r FROM (SELECT a, s AS b FROM t) x"
    )
    assert not conversion.unconverted
    assert conversion.text.removeprefix(TABLES) == (
        "SELECT x.a + 1 AS p, TRY_CAST(b AS DOUBLE) /* rewriter: a text that is no number is NULL */ + 1 AS q, "
        "(SELECT max(a) FROM u) + a AS r FROM (SELECT a, s AS b FROM t) x"
    )


def test_a_table_is_that_of_its_database() -> None:
    tables = "CREATE TABLE x.t (s STRING);\nCREATE TABLE t (s INT);\n"
    assert hive(f"{tables}SELECT s + 1 AS n FROM x.t;").text.count("TRY_CAST") == 1
    assert hive(f"{tables}SELECT s + 1 AS n FROM t;").changed == 0
    other = hive(f"{tables}USE x;\nSELECT s + 1 AS n FROM t;")
    assert [entry.reason for entry in other.unconverted] == ["The meaning depends on types that are not known: s."]


@pytest.mark.parametrize("text", ["SELECT 'x", "SELECT /* x", "SELECT `x"])
def test_a_text_that_cannot_be_read(text: str) -> None:
    with pytest.raises(ParseError):
        spark(text)


def test_deep_nesting_is_reported() -> None:
    conversion = hive(f"{TABLES}SELECT {'(' * 900}1 / a{')' * 900} FROM t")
    assert conversion.unconverted[0].reason == "An expression is nested too deeply to be converted."
