"""Errors of the grammar: the class, the exact position, Spark's condition, and a hint that helps.

A case marks the stretch that the error must point at with « and »; they are not part of the statement.
"""

import pytest

from rewriter.errors import AnalysisError, Error, NotSupportedError, ParseError, Span
from rewriter.grammar.lexer import LONGEST_SHOWN
from rewriter.grammar.parser import parse


def caught(marked: str) -> tuple[Error, Span]:
    """Returns the error of the statement, and the excerpt that it marks."""
    start, end = marked.index("«"), marked.index("»") - 1
    with pytest.raises(Error) as info:
        parse(marked.replace("«", "").replace("»", ""))
    return info.value, Span(start, end)


SYNTAX = [
    # a token that does not fit
    ("«SELEC» 1", "near 'SELEC'", "Statements are SELECT"),
    ("«1»", "near '1'", "Statements are"),
    ("CREATE «TABL» t (a int)", "near 'TABL'", "Did you mean TABLE?"),
    ("CREATE TABLE t (a int) «PARTITONED» BY (a)", "near 'PARTITONED'", "Did you mean PARTITIONED?"),
    ("CREATE TABLE t (a int,«)»", "near ')'", "Expected a name."),
    ("CREATE TABLE t (a int «int»)", "near 'int'", "Expected"),
    ("CREATE TABLE t («'a'» int)", "near ''a''", "backquotes"),
    ("CREATE TABLE t («``» int)", "name is empty", "between the backquotes"),
    ("CREATE TABLE t («)»", "near ')'", "Expected a name."),
    ("DROP TABLE IF «EXIST» t", "near 'EXIST'", "Did you mean EXISTS?"),
    ("SHOW «TABELS»", "near 'TABELS'", "Did you mean TABLES?"),
    ("SHOW TABLES LIKE «t»", "near 't'", "Expected a string."),
    ("DESCRIBE t c «d»", "near 'd'", "Expected the end of the statement"),
    ("INSERT «t» SELECT 1", "near 't'", "Expected INTO, OVERWRITE."),
    ("INSERT INTO t (a«.»b) SELECT 1", "near '.'", "Expected ',', ')'."),
    ("INSERT OVERWRITE t «IF» NOT EXISTS SELECT 1", "near 'IF'", "Expected a query"),
    ("INSERT INTO t PARTITION («)» SELECT 1", "near ')'", "Expected a name."),
    (
        "CREATE CUBE c (a int MEASURE «AVG»)",
        "near 'AVG'",
        "BOOL_AND, BOOL_OR, COUNT, FIRST, LAST, ….",
    ),
    ("CREATE FACT f OF CUBE c STORED IN («)»", "near ')'", "PERIOD"),
    (
        "SHOW COVERAGE OF f FROM «2015» TO 'x'",
        "near '2015'",
        "Expected a string, a constant expression, DATE, TIMESTAMP.",
    ),
    ("EXPLAIN «foo»", "near 'foo'", "Expected REWRITE, COVER"),
    ("(«1» + 2)", "near '1'", "Expected SELECT"),
    ("USE CLUSTER c «d»", "near 'd'", "Expected the end of the statement"),
    ("USE CLUSTER «'c'»", "near ''c''", "backquotes"),
    ("REPLICATE «t» TO CLUSTER c", "near 't'", "Expected TABLE."),
    ("REPLICATE TABLE t TO «c»", "near 'c'", "Expected CLUSTER."),
    ("CREATE TABLE t (a INT) ON «c»", "near 'c'", "Expected CLUSTER."),
    # the end that comes too early
    ("SHOW CATALOG«»", "end of input", "Expected PROPERTIES."),
    ("ALTER TABLE t ADD CLUSTER«»", "end of input", "Expected a name."),
    ("DROP TABLE«»", "end of input", "Expected a name"),
    ("INSERT INTO t (a, b)«» -- why\n;", "end of input", "Expected a query, MARK."),
    ("ALTER TABLE t ADD PARTITION (a=1«»", "end of input", "Expected"),
    ("EXPLAIN«»", "end of input", "Expected"),
    ("(«»", "end of input", "Expected SELECT"),
    # partition values
    ("ALTER TABLE t ADD PARTITION (c=«abc»)", "near 'abc'", "must be a constant"),
    ("ALTER TABLE t ADD PARTITION (c=«`abc`»)", "near '`abc`'", "must be a constant"),
    ("ALTER TABLE t DROP PARTITION (c < «yesterday»)", "near 'yesterday'", "must be a constant"),
    ("ALTER TABLE t DROP PARTITION (c < «(»SELECT MAX(c) FROM t))", "near '('", "run the query first"),
    ("ALTER TABLE t DROP PARTITION (c IN («SELECT» MAX(c) FROM t))", "near 'SELECT'", "run the query first"),
    ("ALTER TABLE t DROP PARTITION (c < CURRENT_DATE «7»)", "near '7'", "Expected"),
    ("ALTER TABLE t ADD PARTITION (c=2020«-»01-01)", "near '-'", "Write DATE '2020-01-01'"),
    ("ALTER TABLE t ADD PARTITION (c=«+»)", "near '+'", "Expected"),
    ("INSERT INTO «?» SELECT 1", "A parameter is not allowed", "Parameters are allowed only in expressions"),
    ("ALTER TABLE «:x» TOUCH", "A parameter is not allowed", "Parameters are allowed only in expressions"),
    ("ALTER TABLE t ADD PARTITION (c«:»x)", "near ':'", "Expected"),
    ("INSERT INTO t PARTITION (dt = «’»2019-8-30’) SELECT 1", "near '’'", "SQL requires '"),
    ("MSCK REPAIR TABLE t «(»c = 'a')", "Syntax error", "PARTITION"),
    ("VACUUM TABLE t RETAIN «1.5 HOURS»", "whole number of hours", "RETAIN 24 HOURS"),
    ("REFRESH FACT f MAX «0» PARTITIONS", "not a number of partitions", "MAX 100 PARTITIONS"),
    ("REFRESH FACT f MAX «1.5» PARTITIONS DRY RUN", "not a number of partitions", "MAX 100 PARTITIONS"),
    ("REFRESH FACT f «FORCE» MAX 5 PARTITIONS", "cannot be combined", "Omit MAX"),
    ("VACUUM TABLE t RETAIN «2 DAYS»", "whole number of hours", "RETAIN 24 HOURS"),
    ("VACUUM TABLE t «x»", "Syntax error", "RETAIN"),
    ("MSCK «t»", "Syntax error", "REPAIR, TABLE"),
    ("CREATE TABLE t (a int) COMMENT 'é«\ud800»'", "half of a surrogate pair", "Remove it"),
    # one statement
    ("SELECT 1«;» SELECT 2", "more than one statement", "one by one"),
    ("DROP TABLE t«;» DROP TABLE u", "more than one statement", "one by one"),
    # partition values
    ("ALTER TABLE t ADD PARTITION (a = «X»'41')", "near 'X'", "DATE '…'"),
    ("ALTER TABLE t ADD PARTITION (a = «upper» 'x')", "near 'upper'", "A value must be"),
    # facts and cubes
    ("CREATE CUBE c (a int MEASURE MAX «COUNTED» BY b)", "COUNTED BY is only for", "AVG"),
    ("CREATE TABLE t (ts TIMESTAMP) PARTITIONED BY («days(ts, 8»))", "takes one column", "(days(ts))"),
    ("CREATE CUBE c (a binary MEASURE THETA_UNION PRECISION «9.5»)", "not a whole number", "PRECISION 12"),
    ("CREATE FACT f OF CUBE c STORED IN (TABLE «t» PARTITIONED BY d AS (x))", "lacks PERIOD", "PERIOD DAILY"),
    ("CREATE FACT f OF CUBE c STORED IN (TABLE «t» PERIOD DAILY)", "lacks PARTITIONED BY", "PARTITIONED BY"),
    (
        "CREATE FACT f OF CUBE c WEIGHT «1.5» STORED IN (TABLE t PERIOD DAILY PARTITIONED BY d AS (x))",
        "whole number",
        "WEIGHT 10",
    ),
    (
        f"CREATE FACT f OF CUBE c WEIGHT «{'9' * 19}» STORED IN (TABLE t PERIOD DAILY PARTITIONED BY d AS (x))",
        "at most 18 digits",
        "WEIGHT 10",
    ),
    ("ALTER FACT f ADD STORAGE cold (TABLE x«)»", "near ')'", "PERIOD"),
    # VACUUM
    ("VACUUM TABLE t RETAIN «1.5 HOURS»", "whole number of hours", "RETAIN 24 HOURS"),
    (f"VACUUM TABLE t RETAIN «{'9' * 400} HOURS»", "whole number of hours", "RETAIN 24 HOURS"),
    # INSERT behind WITH and FROM, LOAD DATA
    ("FROM s INSERT INTO t «VALUES (1)»", "Expected SELECT", "FROM s INSERT INTO t"),
    ("FROM s SELECT a «INSERT» INTO u SELECT 2", "near 'INSERT'", "FROM s INSERT INTO t"),
    ("FROM s INSERT INTO t «INSERT» INTO u SELECT 2", "near 'INSERT'", "a query"),
    ("WITH x AS (SELECT 1) INSERT INTO t SELECT 1 «INSERT» INTO u SELECT 2", "near 'INSERT'", "WITH x AS"),
    ("LOAD DATA INPATH 'x' INTO «t»", "near 't'", "TABLE"),
    # types
    ("CREATE TABLE t (a «decimal(5,2,1»))", "a precision and a scale", "decimal(10,2)"),
    ("CREATE TABLE t (a «decimal(1.5»))", "not a whole number", "decimal(10,2)"),
]


@pytest.mark.parametrize(("marked", "message", "hint"), SYNTAX)
def test_syntax_error(marked: str, message: str, hint: str) -> None:
    error, span = caught(marked)
    assert isinstance(error, ParseError)
    assert message in error.message
    assert error.position == span
    assert hint in (error.hint or "")
    assert error.sqlstate == "42601"


@pytest.mark.parametrize("before", ["-- é 'x\r\n", "/* 中 😀 /* ; */ */ ", "\r\n\t\r\n"])
@pytest.mark.parametrize("marked", [marked for marked, _, _ in SYNTAX if "--" not in marked])
def test_positions_hold_after_comments_line_ends_and_wide_characters(before: str, marked: str) -> None:
    error, span = caught(before + marked.replace(" ", "\r\n"))
    assert error.position == span


def test_line_and_column_of_an_error() -> None:
    sql = "-- 中\r\nCREATE TABLE t (\r\n  `é` INT,\r\n  b FOO)"
    with pytest.raises(ParseError) as info:
        parse(sql)
    assert info.value.position is not None
    assert info.value.position.line_column(sql) == (4, 5)


CONDITIONS = [
    ("«»", "PARSE_EMPTY_STATEMENT", "42617"),
    ("-- nothing«»", "PARSE_EMPTY_STATEMENT", "42617"),
    ("SELECT 1 «/*» x", "UNCLOSED_BRACKETED_COMMENT", "42601"),
    ("ALTER TABLE t ADD PARTITION (c=1, «C='y'»)", "DUPLICATE_KEY", "23505"),
    ("INSERT INTO t PARTITION (c, «`C`») SELECT 1", "DUPLICATE_KEY", "23505"),
    ("CREATE TABLE t (a int) TBLPROPERTIES ('x'='1', «'x'»='2')", "DUPLICATE_KEY", "23505"),
    ("ALTER TABLE t ADD PARTITION («c», d=1)", "INVALID_SQL_SYNTAX.EMPTY_PARTITION_VALUE", "42000"),
    ("SHOW PARTITIONS t PARTITION («c»)", "INVALID_SQL_SYNTAX.EMPTY_PARTITION_VALUE", "42000"),
    ("INSERT INTO t PARTITION (a=1) «IF» NOT EXISTS SELECT 1", "INVALID_STATEMENT_OR_CLAUSE", "42601"),
    ("INSERT OVERWRITE t PARTITION (a=1, «b») IF NOT EXISTS SELECT 1", "INVALID_STATEMENT_OR_CLAUSE", "42601"),
    ("CREATE TABLE t (a int) USING a «STORED» AS b", "DUPLICATE_CLAUSES", "42614"),
    ("CREATE TABLE t (a int) COMMENT 'a' LOCATION 'b' «COMMENT» 'c'", "DUPLICATE_CLAUSES", "42614"),
    ("DESCRIBE CUBE «FACT» f", "DUPLICATE_CLAUSES", "42614"),
    ("CREATE VIEW v COMMENT 'a' «COMMENT» 'b' AS SELECT 1", "DUPLICATE_CLAUSES", "42614"),
    (
        "CREATE OR REPLACE VIEW IF NOT EXISTS «v» AS SELECT 1",
        "CREATE_VIEW_WITH_IF_NOT_EXISTS_AND_REPLACE",
        "42601",
    ),
    ("CREATE TABLE t AS «INSERT» INTO t SELECT 1", "PARSE_SYNTAX_ERROR", "42601"),
    ("CREATE TABLE t AS«»", "PARSE_SYNTAX_ERROR", "42601"),
    ("CREATE OR REPLACE TABLE IF NOT EXISTS «t» (a int)", "INVALID_STATEMENT_OR_CLAUSE", "42601"),
    ("CREATE TABLE t («a int, b» int) AS SELECT 1, 2", "INVALID_STATEMENT_OR_CLAUSE", "42601"),
    ("CREATE TABLE t PARTITIONED BY (a, «b» int) AS SELECT 1, 2", "INVALID_STATEMENT_OR_CLAUSE", "42601"),
    (
        "CREATE TABLE t (a int) ROW FORMAT SERDE 'org.apache.hadoop.hive.ql.io.orc.OrcSerde' STORED AS «parquet»",
        "INVALID_STATEMENT_OR_CLAUSE",
        "42601",
    ),
    ("CREATE TABLE t (a int) ROW FORMAT DELIMITED STORED AS «parquet»", "INVALID_STATEMENT_OR_CLAUSE", "42601"),
    ("COMMENT ON COLUMN «c» IS 'x'", "PARSE_SYNTAX_ERROR", "42601"),
    ("CREATE VIEW v AS «INSERT» INTO t SELECT 1", "PARSE_SYNTAX_ERROR", "42601"),
    ("CREATE TEMPORARY VIEW «default.v» AS SELECT 1", "INVALID_TEMP_OBJ_QUALIFIER", "42602"),
    ("CREATE TEMPORARY VIEW IF NOT EXISTS «v» AS SELECT 1", "INVALID_STATEMENT_OR_CLAUSE", "42601"),
    ("CREATE TEMP VIEW «v» TBLPROPERTIES ('a' = 'b') AS SELECT 1", "INVALID_STATEMENT_OR_CLAUSE", "42601"),
    ("ALTER VIEW v «(»a) AS SELECT 1", "PARSE_SYNTAX_ERROR", "42601"),
    ("CACHE TABLE «s.t» AS SELECT 1", "INVALID_TEMP_OBJ_QUALIFIER", "42602"),
    ("CACHE TABLE t AS «DROP» TABLE u", "PARSE_SYNTAX_ERROR", "42601"),
    ("ALTER VIEW v AS «INSERT» INTO t SELECT 1", "PARSE_SYNTAX_ERROR", "42601"),
    ("CREATE VIEW v AS«»", "PARSE_SYNTAX_ERROR", "42601"),
    ("CREATE CUBE c (a int MEASURE SUM NOT NULL «NOT» NULL)", "DUPLICATE_CLAUSES", "42614"),
    ("CREATE FACT f OF CUBE c STORED IN (PERIOD DAILY «PERIODS» (DAILY) RAW)", "DUPLICATE_CLAUSES", "42614"),
    (
        "CREATE FACT f OF CUBE c STORED IN (PERIODS (DAILY, «daily») PARTITIONED BY t AS (a))",
        "DUPLICATE_KEY",
        "23505",
    ),
    ("CREATE TABLE t (a «foo»)", "UNSUPPORTED_DATATYPE", "0A000"),
    ("CREATE TABLE t (a int, b array<map<int, «strng»>>)", "UNSUPPORTED_DATATYPE", "0A000"),
    ("CREATE TABLE t (a «int(5»))", "UNSUPPORTED_DATATYPE", "0A000"),
    ("CREATE TABLE t (a «varchar»)", "DATATYPE_MISSING_SIZE", "42K01"),
    ("CREATE TABLE t (a «array»)", "INCOMPLETE_TYPE_DEFINITION.ARRAY", "42K01"),
    ("CREATE TABLE t (a «decimal(39»))", "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION", "22003"),
    ("CREATE TABLE t (a «decimal(5, 7»))", "DECIMAL_SCALE_EXCEEDS_PRECISION", "22003"),
    ("ALTER TABLE t DROP PARTITION (a = 1, «b»)", "INVALID_SQL_SYNTAX.EMPTY_PARTITION_VALUE", "42000"),
    ("ALTER TABLE t DROP PARTITION (a = 1, b > 2, «2 = A»)", "DUPLICATE_KEY", "23505"),
    ("SET a.b «c»", "INVALID_SET_SYNTAX", "42000"),
    ("SET «'a'» = b", "INVALID_SET_SYNTAX", "42000"),
    ("SET «-»v", "INVALID_SET_SYNTAX", "42000"),
]


@pytest.mark.parametrize(("marked", "condition", "sqlstate"), CONDITIONS)
def test_condition(marked: str, condition: str, sqlstate: str) -> None:
    error, span = caught(marked)
    assert isinstance(error, ParseError)
    assert (error.condition, error.sqlstate, error.position) == (condition, sqlstate, span)
    assert error.hint


def test_an_unknown_period() -> None:
    error, span = caught("CREATE FACT f OF CUBE c STORED IN (TABLE t PERIOD «DALY» PARTITIONED BY d AS (x))")
    assert isinstance(error, AnalysisError)
    assert (error.condition, error.position) == ("UNKNOWN_UPDATE_PERIOD", span)


REFUSED = [
    ("CREATE TABLE t (a int, p int «NOT» NULL) PARTITIONED BY (p)", "Omit NOT NULL"),
    ("ALTER TABLE t ADD COLUMNS (a int «NOT» NULL)", "Omit NOT NULL"),
    ("CREATE TABLE t (a «time»)", "timestamp"),
    (
        "CREATE TABLE pageview(user VARCHAR(100), cnt INT, date VARCHAR(100)) «PARTITION» BY LIST (date) "
        "(PARTITION day1 values('2019-8-28'))",
        "PARTITIONED BY",
    ),
    ("CREATE TABLE t (a int) «PARTITION» BY RANGE (a)", "PARTITIONED BY"),
    ("CREATE TABLE t (a int) «PARTITION» BY HASH (a)", "PARTITIONED BY"),
    ("CREATE TEMPORARY FUNCTION f «AS» 'x.Y'", "is an expression"),
    ("CREATE TABLE t PARTITIONED BY («bucket»(8, id)) AS SELECT 1 AS id", "years, months, days and hours"),
    ("CREATE TABLE t PARTITIONED BY («truncate»(id, 8)) AS SELECT 1 AS id", "years, months, days and hours"),
    ("CREATE TABLE t «PARTITION» BY RANGE (a) AS SELECT 1 AS a", "PARTITIONED BY"),
    ("CREATE TABLE t (a int) «CLUSTERED» BY (a) INTO 8 BUCKETS", "Omit the clause"),
    ("CREATE TABLE t (a int) ROW FORMAT DELIMITED «FIELDS TERMINATED BY '||'»", "FIELDS TERMINATED BY '\\t'"),
    ("CREATE TABLE t (a int) ROW FORMAT DELIMITED «MAP KEYS TERMINATED BY ':'»", "parquet or ORC"),
    ("CREATE TABLE t (a int) ROW FORMAT SERDE «'x.Y'»", "USING parquet"),
    ("CREATE TABLE t (a int) STORED AS INPUTFORMAT «'x.Y'» OUTPUTFORMAT 'x.Z'", "USING parquet"),
    ("CREATE «INDEX» i ON TABLE t (a)", "Partition the table"),
    ("CREATE «UNIQUE» INDEX i ON t (a)", "Partition the table"),
    ("DROP «INDEX» i", "Partition the table"),
    ("«LOCK» TABLE t EXCLUSIVE", "sees one snapshot"),
    ("«UNLOCK» TABLE t", "sees one snapshot"),
    ("INSERT INTO t VALUES (1) «ON CONFLICT» DO NOTHING", "INSERT OVERWRITE"),
    ("INSERT INTO t SELECT 1 «ON CONFLICT» (a) DO UPDATE SET b = 2", "INSERT OVERWRITE"),
    ("INSERT INTO t VALUES (1) «ON DUPLICATE» KEY UPDATE a = 2", "INSERT OVERWRITE"),
    ("ALTER TABLE t ADD COLUMNS (a int «FIRST»)", "Columns can be added at the end"),
    ("ALTER TABLE t ADD COLUMNS (a int COMMENT 'x' «AFTER» b)", "Columns can be added at the end"),
    ("ALTER TABLE t «REPLACE» COLUMNS (a int)", "CREATE TABLE new AS"),
    ("ALTER TABLE t ALTER COLUMN a «FIRST»", "CREATE TABLE new AS"),
    ("ALTER TABLE t CHANGE COLUMN a b int «AFTER» c", "CREATE TABLE new AS"),
    ("CREATE «GLOBAL» TEMPORARY VIEW v AS SELECT 1", "CREATE VIEW"),
    ("CREATE OR REPLACE «GLOBAL» TEMP VIEW v AS SELECT 1", "CREATE VIEW"),
    ("CREATE «MATERIALIZED» VIEW v AS SELECT 1", "CREATE VIEW"),
    ("ALTER VIEW v «SET» TBLPROPERTIES ('a' = 'b')", "CREATE OR REPLACE VIEW"),
    ("CREATE «CATALOG» d", "only catalog"),
    ("ALTER «DATABASE» d SET LOCATION 'x'", "CREATE DATABASE"),
    ("«USE CATALOG» d", "only catalog"),
    ("ALTER TABLE t PARTITION (a=1) «CONCATENATE»", "ADD PARTITION"),
    ("ALTER TABLE t COMPACT «'minor'»", "'major'"),
    ("ALTER TABLE t PARTITION (a=1) SET «TBLPROPERTIES» ('a' = 'b')", "SERDEPROPERTIES"),
    ("ALTER TABLE t SET FILEFORMAT «INPUTFORMAT» 'a' OUTPUTFORMAT 'b' SERDE 'c'", "SET FILEFORMAT parquet"),
    ("ALTER TABLE t UNSET «SERDEPROPERTIES» ('a')", "ADD PARTITION"),
    ("ALTER TABLE t DROP PARTITION (a «RLIKE» 'x')", "<="),
    ("ALTER FACT f «RENAME» TO g", "CREATE FACT"),
    ("«UPDATE» t SET a = 1", "INSERT OVERWRITE"),
    ("«MERGE» INTO t USING s ON true", "INSERT OVERWRITE"),
    ("START TRANSACTION «READ» ONLY", "see one snapshot"),
    ("BEGIN «ATOMIC»", "see one snapshot"),
    ("COMMIT «AND» CHAIN", "see one snapshot"),
    ("ROLLBACK «TO» SAVEPOINT s", "see one snapshot"),
    ("REFRESH «FUNCTION» f", "SHOW FUNCTIONS"),
    ("SHOW PARTITIONS t WHERE d «RLIKE» 'x'", "LIKE IN BETWEEN"),
    ("INSERT INTO t «REPLACE» WHERE d = 1 SELECT 1", "INSERT OVERWRITE"),
    ("FROM s INSERT INTO t SELECT 1 INSERT OVERWRITE LOCAL DIRECTORY «'/x'» SELECT 1", "a statement of its own"),
    ("EXPLAIN «INSERT» OVERWRITE DIRECTORY '/x' SELECT 1", "EXPLAIN the query alone"),
    ("WITH x AS (SELECT 1) INSERT INTO t «WITH» y AS (SELECT 2) SELECT * FROM x", "one WITH"),
    ("WITH x (a) AS (SELECT 1), y AS (SELECT 2) «DELETE» FROM t", "INSERT OVERWRITE"),
    ("INSERT INTO v FROM s «INSERT» INTO t SELECT a", "write the source first"),
    ("EXPLAIN «VACUUM»", "query alone"),
    ("EXPLAIN «ALTER» TABLE t COMPACT", "EXPLAIN SCAN"),
    ("EXPLAIN «COST» SELECT 1", "EXPLAIN SCAN"),
    ("EXPLAIN SCAN «SHOW» TABLES", "SHOW PARTITIONS"),
    ("EXPLAIN COVER «SHOW» PARTITIONS t", "EXPLAIN SCAN"),
    ("EXPLAIN SCAN «INSERT» INTO t SELECT 1", "query alone"),
    ("SET «TIME ZONE» 'UTC'", "UTC"),
]


@pytest.mark.parametrize(("marked", "hint"), REFUSED)
def test_understood_and_refused(marked: str, hint: str) -> None:
    error, span = caught(marked)
    assert isinstance(error, NotSupportedError)
    assert error.position == span
    assert "not supported" in error.message
    assert hint in (error.hint or "")


def test_a_table_without_columns_and_files() -> None:
    error, span = caught("CREATE TABLE «t» USING parquet")
    assert isinstance(error, AnalysisError)
    assert (error.condition, error.position) == ("UNABLE_TO_INFER_SCHEMA", span)
    assert "Declare the columns" in (error.hint or "")


@pytest.mark.parametrize("constraint", ["PRIMARY KEY", "UNIQUE"])
def test_a_refused_constraint_is_named_with_all_its_words(constraint: str) -> None:
    with pytest.raises(NotSupportedError, match=f"CREATE TABLE … {constraint} is not supported"):
        parse(f"CREATE TABLE t (a int {constraint})")


@pytest.mark.parametrize("head", ["", "EXPLAIN ", "ALTER TABLE t ADD ", "CREATE VIEW v AS "])
def test_a_message_shows_the_beginning_of_a_long_word(head: str) -> None:
    with pytest.raises(ParseError) as info:
        parse(head + "x" * 10_000)
    assert f"'{'x' * LONGEST_SHOWN}…'" in info.value.message
    assert len(info.value.message) < 200
