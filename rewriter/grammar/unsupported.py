"""Statements and clauses that are understood and refused, each with an alternative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rewriter.errors import NotSupportedError, Span

if TYPE_CHECKING:
    from rewriter.grammar.lexer import Token

_OVERWRITE = "Rewrite the partition: INSERT OVERWRITE t PARTITION (…) SELECT …."
_COMPACT = "ALTER TABLE t [PARTITION (…)] COMPACT merges the files of each partition."
_PARTITIONED = (
    "A partition has a single value: PARTITIONED BY (dt string), or PARTITIONED BY (dt) for a declared column."
)
_BUCKETS = (
    "Omit the clause: it does not change results. Put the columns that queries filter on most into PARTITIONED BY (…)."
)
_FORMAT = "Name the format: USING parquet, or USING csv OPTIONS (header 'true', sep ';')."
_COLUMN = (
    "Columns can be added at the end, renamed, dropped, commented, or get a wider type: ALTER TABLE t ADD COLUMNS (c "
    "type), RENAME COLUMN a TO b, DROP COLUMN c, ALTER COLUMN c COMMENT '…', … TYPE bigint. For other changes: CREATE "
    "TABLE new AS SELECT … FROM t."
)
_INDEX = (
    "Indexes are not needed: partitions are found by their values. Partition the table by the columns "
    "that queries filter on."
)
_ONE_CATALOG = "The only catalog is spark_catalog. For another warehouse, open a session on its directory."
_DATABASE = "Use CREATE DATABASE or DROP DATABASE."
_ALTER = (
    "Use ALTER TABLE t ADD PARTITION (…), DROP PARTITION (…), SET TBLPROPERTIES (…), UNSET TBLPROPERTIES "
    "(…) or SET TIMELINE …. For other changes, create a new table."
)
_PARTITION_PROPERTIES = (
    "Hive and Spark have no properties of a partition. Use ALTER TABLE t SET TBLPROPERTIES (…), or ALTER TABLE t "
    "PARTITION (…) SET SERDEPROPERTIES (…)."
)
_PARTITION_COLUMNS = "Columns belong to the table: ALTER TABLE t ADD COLUMNS (…) adds them to all partitions."
_SHOW = (
    "Use SHOW TABLES, SHOW VIEWS, SHOW CUBES, SHOW FACTS, SHOW PARTITIONS t, SHOW COLUMNS IN t, SHOW TBLPROPERTIES t, "
    "SHOW TABLE EXTENDED LIKE 't', SHOW FUNCTIONS, SHOW STREAMS, SHOW CLUSTERS, SHOW TIMELINES OF f, "
    "SHOW COVERAGE OF f, SHOW MISSING PARTITIONS OF f or SHOW LATEST OF f."
)
_TRANSACTION = "Use START TRANSACTION, COMMIT or ROLLBACK: all reads of a transaction see one snapshot."
_SCRIPT = "Execute the statements one by one: START TRANSACTION … COMMIT makes one change of several statements."
_LOCK = (
    "Locks are not needed: a statement sees one snapshot, and if two statements write the same partition, "
    "the second fails."
)
_CLASS = (
    "A function is an expression, CREATE FUNCTION f(x INT) RETURNS INT RETURN x + 1, or a query behind RETURNS TABLE. "
    "Classes of Java are not run."
)
_NO_FUNCTIONS = "Not needed: a query reads the newest body of a SQL function. SHOW FUNCTIONS lists all functions."
_FILES = "Read the files in place: INSERT INTO t SELECT … FROM parquet.`path`."
_VIEW = "CREATE OR REPLACE VIEW v AS SELECT … replaces it."
_GLOBAL = "CREATE TEMPORARY VIEW v AS SELECT … is of this session; CREATE VIEW v AS SELECT … is of all sessions."
_DROP_CREATE = "DROP it, then CREATE it."
_ACCESS = "Access is controlled by the permissions of the warehouse directory."
_OUTPUT = "Read the result with SELECT and write it from the client."
_ENGINE = "Configure the engine when you start it."
_LEAVE_OUT = "Omit the clause."


class _Refusal(NamedTuple):
    """A statement that begins with ``head`` and, unless ``at`` is empty, stops fitting at one of these words.

    One with a ``title`` stops fitting directly behind ``head``, at any word.
    """

    head: tuple[str, ...]
    at: tuple[str, ...]
    hint: str
    yet: bool
    title: str = ""

    def fits(self, tokens: Sequence[Token], index: int) -> bool:
        """Tests whether the statement is this one, and its token at ``index`` is the first that does not fit."""
        if len(tokens) < len(self.head):
            return False
        if not all(token.is_word(word) for token, word in zip(tokens, self.head, strict=False)):
            return False
        if self.title:
            return index == len(self.head)
        return not self.at or (index < len(tokens) and tokens[index].is_word(*self.at))


def _refuse(head: str, hint: str, at: str = "", yet: bool = True, title: str = "") -> _Refusal:
    return _Refusal(tuple(head.split()), tuple(at.split()), hint, yet, title)


def _tables(head: str) -> tuple[_Refusal, ...]:
    constraints = "GENERATED PRIMARY FOREIGN CONSTRAINT UNIQUE CHECK COLLATE"
    return (
        _refuse(head, _PARTITIONED, "PARTITION", yet=False),
        _refuse(head, _BUCKETS, "CLUSTERED CLUSTER SORTED SKEWED DISTRIBUTED", yet=False),
        _refuse(head, _FORMAT, "DELIMITED WITH INPUTFORMAT OUTPUTFORMAT BY"),
        _refuse(head, _LEAVE_OUT, constraints),
    )


# The first that fits decides.
_REFUSALS = (
    *_tables("CREATE TABLE"),
    *_tables("CREATE EXTERNAL TABLE"),
    *_tables("CREATE TEMPORARY TABLE"),
    *_tables("CREATE OR REPLACE TABLE"),
    *(
        _refuse(f"{head} FUNCTION", _CLASS, "AS", yet=False)
        for head in ("CREATE", "CREATE OR REPLACE", "CREATE TEMPORARY", "CREATE OR REPLACE TEMPORARY")
    ),
    _refuse("CREATE", _INDEX, "INDEX BITMAP UNIQUE BLOOMFILTER", yet=False),
    _refuse("DROP", _INDEX, "INDEX", yet=False),
    *(_refuse(head, _GLOBAL, "GLOBAL", yet=False) for head in ("CREATE", "CREATE OR REPLACE")),
    _refuse(
        "CREATE",
        "REFRESH FACT computes the rollups of a fact; CREATE VIEW v AS SELECT … stores a query under a name.",
        "MATERIALIZED",
        yet=False,
    ),
    _refuse("CREATE", _ONE_CATALOG, "CATALOG"),
    _refuse("CREATE OR REPLACE", _DROP_CREATE, "CUBE FACT"),
    _refuse("CREATE", "Use statements about tables, cubes and facts.", "INDEX ROLE USER VARIABLE STREAMING"),
    _refuse("CREATE CUBE", _LEAVE_OUT, "COMMENT"),
    _refuse("DROP", "Use DROP TABLE, DROP VIEW, DROP CUBE or DROP FACT.", "INDEX ROLE VARIABLE"),
    _refuse("DROP", _ONE_CATALOG, "CATALOG"),
    _refuse("ALTER TABLE", "Write = <> < <= > >= LIKE IN or BETWEEN, with a comma for AND.", "RLIKE ILIKE REGEXP"),
    _refuse("ALTER TABLE", _PARTITION_PROPERTIES, "TBLPROPERTIES", yet=False),
    _refuse("ALTER TABLE", _PARTITION_COLUMNS, "ADD", yet=False),
    _refuse("ALTER TABLE", _COLUMN, "CHANGE REPLACE ALTER COLUMN COLUMNS FIRST AFTER TYPE NOT DEFAULT", yet=False),
    _refuse(
        "ALTER TABLE",
        _ALTER,
        "RENAME SET UNSET EXCHANGE ARCHIVE UNARCHIVE PARTITIONS "
        "CONCATENATE CONSTRAINT ENABLE DISABLE "
        "LOCATION FILEFORMAT SERDE SERDEPROPERTIES",
    ),
    _refuse(
        "ALTER FACT",
        "DROP FACT f, then CREATE FACT f with all its storages; the tables keep their data.",
        "RENAME",
    ),
    _refuse(
        "ALTER CUBE",
        "ALTER CUBE changes columns by ADD (…), DROP (…), RENAME COLUMN a TO b and ALTER column TYPE type. For other "
        "changes, DROP CUBE c, then CREATE CUBE c with all its columns.",
        "RENAME CHANGE REPLACE SET UNSET",
    ),
    _refuse("ALTER VIEW", _VIEW, "SET UNSET WITH"),
    _refuse("ALTER", _DATABASE, "DATABASE SCHEMA NAMESPACE"),
    _refuse("INSERT", f"{_OVERWRITE} ALTER TABLE t DROP PARTITION (…) removes partitions without new rows.", "REPLACE"),
    _refuse("INSERT", "Write INSERT INTO t VALUES (…).", "DEFAULT"),
    _refuse("SHOW PARTITIONS", "Write = <> < <= > >= LIKE IN BETWEEN or IS NULL.", "RLIKE ILIKE REGEXP"),
    _refuse(
        "SHOW",
        _SHOW,
        "CATALOGS CURRENT INDEXES LOCKS TRANSACTIONS PROCEDURES",
    ),
    _refuse("UPDATE", _OVERWRITE, yet=False),
    _refuse("MERGE", _OVERWRITE, yet=False),
    _refuse("USE CATALOG", _ONE_CATALOG),
    _refuse("START TRANSACTION", _TRANSACTION, "READ ISOLATION WITH"),
    _refuse("BEGIN", _TRANSACTION, "READ ISOLATION ATOMIC"),
    _refuse("BEGIN", _SCRIPT, yet=False, title="A script (BEGIN … END)"),
    _refuse("COMMIT", _TRANSACTION, "AND"),
    _refuse("ROLLBACK", _TRANSACTION, "AND TO"),
    *(_refuse(word, _LOCK, yet=False) for word in ("LOCK", "UNLOCK")),
    _refuse("REFRESH", _NO_FUNCTIONS, "FUNCTION"),
    _refuse("OPTIMIZE", _COMPACT),
    _refuse("VACUUM", "Write VACUUM TABLE t, or VACUUM for all tables.", yet=False, title="VACUUM t"),
    _refuse("IMPORT", _FILES),
    _refuse("EXPORT", _OUTPUT),
    _refuse("COMMENT", "Use COMMENT ON TABLE t IS '…' or COMMENT ON COLUMN t.c IS '…'."),
    _refuse("REPLACE", _DROP_CREATE),
    _refuse("GRANT", _ACCESS, yet=False),
    _refuse("REVOKE", _ACCESS, yet=False),
    _refuse("MAP", "Write SELECT …."),
    _refuse("REDUCE", "Write SELECT …."),
    _refuse("CALL", "Write its work as statements."),
    _refuse("EXECUTE", "Execute the statement itself."),
    _refuse("ADD", _ENGINE, yet=False),
    _refuse("LIST", _ENGINE, yet=False),
)


_TWO_WORDS = (["NOT", "NULL"], ["PRIMARY", "KEY"], ["FOREIGN", "KEY"], ["MATERIALIZED", "VIEW"])
#: The words before COLUMN and COLUMNS that name the change with them.
_COLUMN_CHANGES = ("RENAME", "DROP", "ALTER", "CHANGE", "REPLACE")


def refusal(tokens: Sequence[Token], index: int) -> NotSupportedError | None:
    """Returns the refusal of the statement whose token at ``index`` does not fit; ``None`` if none is listed."""
    if index < len(tokens) and tokens[index].is_operator("(") and tokens[index - 1].is_word("IDENTIFIER"):
        return no_identifier_clause(tokens[index - 1].span)
    for item in _REFUSALS:
        if not item.fits(tokens, index):
            continue
        ellipsis = "" if index == len(item.head) else "… "
        title = item.title or " ".join(item.head) + (f" {ellipsis}{_clause(tokens, index)}" if item.at else "")
        return NotSupportedError(
            f"{title} is not supported{' yet' if item.yet else ''}.",
            position=tokens[index].span if item.at else Span(tokens[0].start, tokens[len(item.head) - 1].end),
            hint=item.hint,
        )
    return None


def no_identifier_clause(position: Span) -> NotSupportedError:
    """Returns the error for ``t.IDENTIFIER('name')``, and for IDENTIFIER(…) in a text of the catalog."""
    return NotSupportedError(
        "IDENTIFIER(…) is not supported here.",
        position=position,
        hint="It stands for a whole name in a statement: IDENTIFIER('database.t').",
    )


def no_time_travel(
    clause: str, position: Span | None, reason: str = "this statement reads the newest state"
) -> NotSupportedError:
    """Returns the error for ``t VERSION AS OF 3`` and ``t TIMESTAMP AS OF '…'`` where it has no meaning; ``clause`` is
    VERSION or TIMESTAMP.
    """
    return NotSupportedError(
        f"{clause} AS OF is not supported here: {reason}.",
        position=position,
        hint="SELECT, INSERT, CREATE TABLE … AS and EXPLAIN read managed tables and cubes as they were.",
    )


def _clause(tokens: Sequence[Token], index: int) -> str:
    """Returns the word at ``index``, with the next one or the one before it if they are one clause: NOT NULL, RENAME
    COLUMN.
    """
    if tokens[index].is_word("COLUMN", "COLUMNS") and tokens[index - 1].is_word(*_COLUMN_CHANGES):
        return f"{tokens[index - 1].upper} {tokens[index].upper}"
    words = [token.upper for token in tokens[index : index + 2]]
    return " ".join(words if words in _TWO_WORDS else words[:1])
