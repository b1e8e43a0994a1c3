"""Statements and clauses that are understood and refused, each with what serves instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rewriter.errors import NotSupportedError, Span
from rewriter.grammar.lexer import Token

_OVERWRITE = "Write the partition anew: INSERT OVERWRITE t PARTITION (…) SELECT …"
_COMPACT = "ALTER TABLE t [PARTITION (…)] COMPACT merges the files of each partition."
_PARTITIONED = "Partitions are single values: PARTITIONED BY (dt string), or PARTITIONED BY (dt) for a declared column."
_BUCKETS = (
    "Leave the clause out: answers do not depend on it. What queries filter on most belongs into PARTITIONED BY (…)."
)
_FORMAT = "Name the format: USING parquet. A CSV file has a header, commas, and quotes where they are needed: USING csv"
_COLUMN = (
    "New columns come last, and those that are there stay as they are: ALTER TABLE t ADD COLUMNS (c type) and "
    "ALTER TABLE t ALTER COLUMN c COMMENT '…' serve; for all else CREATE TABLE new AS SELECT … FROM t."
)
_INDEX = "Nothing needs an index: partitions are found by their values. Partition the table by what queries filter on."
_ONE_CATALOG = "There is one catalog, spark_catalog. Open a session on another directory for another warehouse."
_DATABASE = "CREATE DATABASE and DROP DATABASE serve."
_ALTER = (
    "ALTER TABLE t ADD PARTITION (…), DROP PARTITION (…), SET TBLPROPERTIES (…), UNSET TBLPROPERTIES (…) and "
    "SET TIMELINE … serve; for all else make a new table."
)
_PARTITION_PROPERTIES = (
    "Neither Hive nor Spark has properties of one partition: ALTER TABLE t SET TBLPROPERTIES (…), or ALTER TABLE t "
    "PARTITION (…) SET SERDEPROPERTIES (…)"
)
_SHOW = (
    "SHOW TABLES, SHOW VIEWS, SHOW CUBES, SHOW FACTS, SHOW PARTITIONS t, SHOW COLUMNS IN t, SHOW TBLPROPERTIES t, "
    "SHOW TABLE EXTENDED LIKE 't', SHOW TIMELINES OF f, SHOW COVERAGE OF f and SHOW LATEST OF f serve."
)
_DESCRIBE = (
    "DESCRIBE [EXTENDED] t [PARTITION (…)] [column], DESCRIBE QUERY …, DESCRIBE CUBE c and DESCRIBE FACT f serve."
)
_TRANSACTION = "START TRANSACTION, COMMIT and ROLLBACK serve: all reads of a transaction see one state."
_LOCK = "Nothing needs a lock: a statement sees one state, and of two that write the same partition the second fails."
_CLUSTER = "The engine is chosen where the session is opened."
_AUTOMATIC = "Nothing needs to be analysed or cached: statistics come with every INSERT."
_FILES = "Read files where they are: INSERT INTO t SELECT … FROM parquet.`path`"
_VIEW = "CREATE OR REPLACE VIEW v AS SELECT … makes it anew."
_DROP_CREATE = "DROP it, then CREATE it."
_ACCESS = "Access is that of the warehouse directory."
_OUTPUT = "Read the answer with SELECT and write it where it belongs."
_ENGINE = "Start the engine with what it needs."
_LEAVE_OUT = "Leave the clause out."


class _Refusal(NamedTuple):
    """A statement that begins with ``head`` and, unless ``at`` is empty, stops fitting at one of these words."""

    head: tuple[str, ...]
    at: tuple[str, ...]
    hint: str
    yet: bool


def _refuse(head: str, hint: str, at: str = "", yet: bool = True) -> _Refusal:
    return _Refusal(tuple(head.split()), tuple(at.split()), hint, yet)


def _tables(head: str) -> tuple[_Refusal, ...]:
    constraints = "NOT DEFAULT GENERATED PRIMARY FOREIGN CONSTRAINT UNIQUE CHECK COLLATE"
    return (
        _refuse(head, _PARTITIONED, "PARTITION", yet=False),
        _refuse(head, _BUCKETS, "CLUSTERED CLUSTER SORTED SKEWED DISTRIBUTED", yet=False),
        _refuse(head, _FORMAT, "DELIMITED WITH INPUTFORMAT OUTPUTFORMAT BY"),
        _refuse(head, _CLUSTER, "ON"),
        _refuse(head, _LEAVE_OUT, f"{constraints} OPTIONS"),
    )


# The first that fits decides.
_REFUSALS = (
    *_tables("CREATE TABLE"),
    *_tables("CREATE EXTERNAL TABLE"),
    *_tables("CREATE TEMPORARY TABLE"),
    *_tables("CREATE OR REPLACE TABLE"),
    *(
        _refuse(head, "Create it without TEMPORARY, and DROP it when it has served.", "VIEW FUNCTION VARIABLE")
        for head in ("CREATE TEMPORARY", "CREATE TEMP", "CREATE OR REPLACE TEMPORARY", "CREATE OR REPLACE TEMP")
    ),
    _refuse("CREATE", "Create it without TEMPORARY, and DROP it when it has served.", "TEMPORARY TEMP"),
    _refuse("CREATE", _INDEX, "INDEX BITMAP UNIQUE BLOOMFILTER", yet=False),
    _refuse("DROP", _INDEX, "INDEX", yet=False),
    _refuse("CREATE", "CREATE VIEW v AS SELECT … keeps a query under a name.", "GLOBAL MATERIALIZED"),
    _refuse("CREATE", _ONE_CATALOG, "CATALOG"),
    _refuse("CREATE OR REPLACE", _DROP_CREATE, "CUBE FACT"),
    _refuse("CREATE", "Statements about tables, cubes and facts serve.", "FUNCTION INDEX ROLE USER VARIABLE STREAMING"),
    _refuse("CREATE CUBE", _LEAVE_OUT, "COMMENT"),
    _refuse("DROP", "DROP TABLE, DROP VIEW, DROP CUBE and DROP FACT serve.", "FUNCTION INDEX ROLE TEMPORARY VARIABLE"),
    _refuse("DROP", _ONE_CATALOG, "CATALOG"),
    _refuse("ALTER TABLE", "Write = <> < <= > >= LIKE IN or BETWEEN, with a comma for AND.", "RLIKE ILIKE REGEXP"),
    _refuse("ALTER TABLE", _PARTITION_PROPERTIES, "TBLPROPERTIES", yet=False),
    _refuse("ALTER TABLE", _COLUMN, "CHANGE REPLACE ALTER COLUMN COLUMNS FIRST AFTER TYPE NOT DEFAULT", yet=False),
    _refuse(
        "ALTER TABLE",
        _ALTER,
        "RENAME SET UNSET EXCHANGE TOUCH ARCHIVE UNARCHIVE PARTITIONS "
        "CLUSTER CONCATENATE CONSTRAINT ENABLE DISABLE "
        "LOCATION FILEFORMAT SERDE SERDEPROPERTIES PRIMARY",
    ),
    _refuse("ALTER FACT", "DROP FACT f, then CREATE FACT f with all its storages; the tables keep their data."),
    _refuse("ALTER CUBE", "DROP CUBE c, then CREATE CUBE c with all its columns."),
    _refuse("ALTER VIEW", _VIEW),
    _refuse("ALTER", _DATABASE, "DATABASE SCHEMA NAMESPACE"),
    _refuse("INSERT OVERWRITE DIRECTORY", _OUTPUT),
    _refuse("INSERT OVERWRITE LOCAL DIRECTORY", _OUTPUT),
    _refuse("INSERT", f"{_OVERWRITE}; ALTER TABLE t DROP PARTITION (…) removes what no row comes for.", "REPLACE"),
    _refuse("INSERT", "Write INSERT INTO t VALUES (…)", "DEFAULT"),
    _refuse("SHOW PARTITIONS", "Write = <> < <= > >= LIKE IN BETWEEN or IS NULL.", "RLIKE ILIKE REGEXP"),
    _refuse(
        "SHOW",
        _SHOW,
        "FUNCTIONS USER ALL SYSTEM CATALOGS CLUSTERS STREAMS LATEST CURRENT INDEXES LOCKS TRANSACTIONS PROCEDURES",
    ),
    _refuse("DESC", _DESCRIBE, "FUNCTION"),
    _refuse("DESCRIBE", _DESCRIBE, "FUNCTION"),
    _refuse("UPDATE", _OVERWRITE, yet=False),
    _refuse("DELETE", f"ALTER TABLE t DROP PARTITION (…) drops partitions. {_OVERWRITE}", yet=False),
    _refuse("MERGE", _OVERWRITE, yet=False),
    _refuse("USE CLUSTER", _CLUSTER),
    _refuse("USE CATALOG", _ONE_CATALOG),
    _refuse("START TRANSACTION", _TRANSACTION, "READ ISOLATION WITH"),
    _refuse("BEGIN", _TRANSACTION, "READ ISOLATION ATOMIC"),
    _refuse("COMMIT", _TRANSACTION, "AND"),
    _refuse("ROLLBACK", _TRANSACTION, "AND TO"),
    *(_refuse(word, _LOCK, yet=False) for word in ("LOCK", "UNLOCK")),
    *(_refuse(word, _AUTOMATIC) for word in ("CACHE", "UNCACHE", "CLEAR")),
    _refuse("REFRESH", _AUTOMATIC, "FUNCTION"),
    _refuse("REPLICATE", _CLUSTER),
    _refuse("OPTIMIZE", _COMPACT),
    _refuse("IMPORT", _FILES),
    _refuse("EXPORT", _OUTPUT),
    _refuse("COMMENT", "COMMENT ON TABLE t IS '…' and COMMENT ON COLUMN t.c IS '…' serve."),
    _refuse("REPLACE", _DROP_CREATE),
    _refuse("GRANT", _ACCESS),
    _refuse("REVOKE", _ACCESS),
    _refuse("STOP", "There are no streams to stop."),
    _refuse("MAP", "Write SELECT …"),
    _refuse("REDUCE", "Write SELECT …"),
    _refuse("CALL", "Write what it does as statements."),
    _refuse("DECLARE", "Use a parameter of the query, :name."),
    _refuse("EXECUTE", "Execute the statement itself."),
    _refuse("ADD", _ENGINE),
    _refuse("LIST", _ENGINE),
)


def refusal(tokens: Sequence[Token], index: int) -> NotSupportedError | None:
    """Why the statement whose token at ``index`` does not fit is refused, if it is one that we know."""
    at = tokens[index].upper if index < len(tokens) else None
    for head, words, hint, yet in _REFUSALS:
        if len(tokens) < len(head) or not all(token.is_word(word) for token, word in zip(tokens, head, strict=False)):
            continue
        if words and at not in words:
            continue
        between = "" if index == len(head) else "… "
        title = " ".join(head) + (f" {between}{at}" if words else "")
        return NotSupportedError(
            f"{title} is not supported{' yet' if yet else ''}.",
            position=tokens[index].span if words else Span(tokens[0].start, tokens[len(head) - 1].end),
            hint=hint,
        )
    return None
