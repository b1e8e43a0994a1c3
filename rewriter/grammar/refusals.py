"""Statements and clauses that are understood and refused, each with what serves instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rewriter.errors import NotSupportedError, Span
from rewriter.grammar.lexer import Token

_OVERWRITE = "Write the partition anew: INSERT OVERWRITE t PARTITION (…) SELECT …"
_CTAS = "Create the table with its columns first, then INSERT INTO t SELECT …"
_COLUMNS = "Write the columns out: CREATE TABLE t (name type, …)"
_PARTITIONED = "Partitions are single values: PARTITIONED BY (dt string), or PARTITIONED BY (dt) for a declared column."
_FORMAT = "Name the format: USING parquet"
_ONE_DATABASE = "There is one database, the warehouse directory. Open a session on another directory for another one."
_ALTER = (
    "ALTER TABLE t ADD PARTITION (…), DROP PARTITION (…), SET TBLPROPERTIES (…), UNSET TBLPROPERTIES (…) and "
    "SET TIMELINE … serve; for all else make a new table."
)
_MSCK = "Register partitions by name: ALTER TABLE t ADD IF NOT EXISTS PARTITION (…)"
_SHOW = (
    "SHOW TABLES, SHOW VIEWS, SHOW CUBES, SHOW FACTS, SHOW PARTITIONS t, SHOW TIMELINES OF f, SHOW COVERAGE OF f and "
    "SHOW LATEST OF f serve."
)
_DESCRIBE = "DESCRIBE [EXTENDED] t, DESCRIBE CUBE c and DESCRIBE FACT f serve."
_ATOMIC = "Every statement is a transaction of its own: it happens as a whole or not at all."
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
        _refuse(head, _CTAS, "AS"),
        _refuse(head, _COLUMNS, "LIKE"),
        _refuse(head, _PARTITIONED, "PARTITION CLUSTERED CLUSTER SORTED SKEWED DISTRIBUTED", yet=False),
        _refuse(head, _FORMAT, "ROW WITH INPUTFORMAT OUTPUTFORMAT"),
        _refuse(head, _CLUSTER, "ON"),
        _refuse(head, _LEAVE_OUT, f"{constraints} OPTIONS"),
    )


# The first that fits decides.
_REFUSALS = (
    *_tables("CREATE TABLE"),
    *_tables("CREATE EXTERNAL TABLE"),
    _refuse("CREATE", "Create it without TEMPORARY, and DROP it when it has served.", "TEMPORARY TEMP"),
    _refuse("CREATE", "CREATE VIEW v AS SELECT … keeps a query under a name.", "GLOBAL MATERIALIZED"),
    _refuse("CREATE", _ONE_DATABASE, "DATABASE SCHEMA NAMESPACE CATALOG"),
    _refuse("CREATE OR REPLACE", _DROP_CREATE, "TABLE EXTERNAL CUBE FACT"),
    _refuse("CREATE", "Statements about tables, cubes and facts serve.", "FUNCTION INDEX ROLE USER VARIABLE STREAMING"),
    _refuse("CREATE CUBE", _LEAVE_OUT, "COMMENT"),
    _refuse("DROP", "DROP TABLE, DROP VIEW, DROP CUBE and DROP FACT serve.", "FUNCTION INDEX ROLE TEMPORARY VARIABLE"),
    _refuse("DROP", _ONE_DATABASE, "DATABASE SCHEMA NAMESPACE"),
    _refuse("ALTER TABLE", "Write = <> < <= > >= LIKE IN or BETWEEN, with a comma for AND.", "RLIKE ILIKE REGEXP"),
    _refuse(
        "ALTER TABLE",
        _ALTER,
        "RENAME SET UNSET EXCHANGE RECOVER CHANGE REPLACE ALTER TOUCH ARCHIVE UNARCHIVE PARTITION PARTITIONS COLUMN "
        "COLUMNS CLUSTER COMPACT CONCATENATE CONSTRAINT ENABLE DISABLE "
        "LOCATION FILEFORMAT SERDE SERDEPROPERTIES PRIMARY",
    ),
    _refuse("ALTER FACT", "DROP FACT f, then CREATE FACT f with all its storages; the tables keep their data."),
    _refuse("ALTER CUBE", "DROP CUBE c, then CREATE CUBE c with all its columns."),
    _refuse("ALTER VIEW", _VIEW),
    _refuse("ALTER", _ONE_DATABASE, "DATABASE SCHEMA NAMESPACE"),
    _refuse("INSERT OVERWRITE DIRECTORY", _OUTPUT),
    _refuse("INSERT OVERWRITE LOCAL DIRECTORY", _OUTPUT),
    _refuse("INSERT", "Name the columns: INSERT INTO t (a, b) SELECT …", "BY"),
    _refuse("INSERT", _OVERWRITE, "REPLACE"),
    _refuse("INSERT", "Write INSERT INTO t VALUES (…)", "DEFAULT"),
    _refuse("SHOW TABLES", _ONE_DATABASE, "IN FROM"),
    _refuse("SHOW VIEWS", _ONE_DATABASE, "IN FROM"),
    _refuse("SHOW PARTITIONS", "Write = <> < <= > >= LIKE IN BETWEEN or IS NULL.", "RLIKE ILIKE REGEXP"),
    _refuse(
        "SHOW",
        _SHOW,
        "CREATE COLUMNS DATABASES SCHEMAS NAMESPACES FUNCTIONS USER ALL SYSTEM TBLPROPERTIES TABLE CATALOGS "
        "CLUSTERS CACHE STREAMS LATEST CURRENT INDEXES LOCKS TRANSACTIONS PROCEDURES",
    ),
    _refuse("DESC", _DESCRIBE, "PARTITION AS DATABASE SCHEMA NAMESPACE FUNCTION QUERY SELECT"),
    _refuse("DESCRIBE", _DESCRIBE, "PARTITION AS DATABASE SCHEMA NAMESPACE FUNCTION QUERY SELECT"),
    _refuse("UPDATE", _OVERWRITE, yet=False),
    _refuse("DELETE", f"ALTER TABLE t DROP PARTITION (…) drops partitions. {_OVERWRITE}", yet=False),
    _refuse("MERGE", _OVERWRITE, yet=False),
    _refuse("MSCK", _MSCK),
    _refuse("REPAIR", _MSCK),
    _refuse("TRUNCATE", "Drop the partitions: ALTER TABLE t DROP PARTITION (…)"),
    _refuse("USE CLUSTER", _CLUSTER),
    _refuse("USE", _ONE_DATABASE),
    *(_refuse(word, _ATOMIC) for word in ("START", "BEGIN", "COMMIT", "ROLLBACK", "LOCK", "UNLOCK")),
    *(_refuse(word, _AUTOMATIC) for word in ("ANALYZE", "CACHE", "UNCACHE", "CLEAR")),
    _refuse("REFRESH", _AUTOMATIC, "TABLE FUNCTION"),
    _refuse("REPLICATE", _CLUSTER),
    _refuse("VACUUM", "Files that nothing refers to do no harm to any answer."),
    _refuse("OPTIMIZE", _OVERWRITE),
    _refuse("LOAD", _FILES),
    _refuse("IMPORT", _FILES),
    _refuse("EXPORT", _OUTPUT),
    _refuse("COMMENT", "Give the comment in CREATE TABLE … COMMENT '…'."),
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
