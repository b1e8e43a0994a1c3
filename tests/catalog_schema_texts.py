"""What docs/reference/catalog-schema.md says of each table of the catalog's database, of each column, and of events."""

from __future__ import annotations

#: Columns that have one meaning in all tables.
COMMON = {
    "row_id": "the number of the row. Of two versions of one thing, the later one has the larger number",
    "made": "the write id of the object under which the row was made",
    "ended": "the write id of the object under which the row was ended. A live row has 9223372036854775807",
    "commit_seq": "the number of the commit that made the row",
    "table_id": "the `object_id` of the table",
    "transaction_id": "the transaction, as in `transactions`",
    "key": "the partition: the id of the table and the encoded partition values ([keys](#keys))",
    "start_key": "the first key of the range",
    "end_key": "the first key after the range",
    "bytes": "the size in bytes",
    "rows": "the number of rows. NULL is an unknown number",
    "part": "for a packed file, a JSON array: the first row group, the number of row groups, the number of partitions "
    "in the file, the size of the file in bytes, the array of values in the partition columns of the file and, in a "
    "sorted file, the number of partitions before this one. NULL for a file of one partition",
}

#: The groups of tables, in the order of the page.
GROUPS: dict[str, tuple[str, ...]] = {
    "Objects and partitions": ("objects", "partitions", "partition_fields", "files", "timeline_ranges"),
    "Transactions and the log": ("counters", "transactions", "write_ids", "claimed_ranges", "events"),
    "Copies on clusters": ("partition_copies", "copied_files"),
    "Streams and batches": ("batches", "streams", "pending_policies"),
    "Processes": ("leases", "refresh_claims"),
    "Queries": ("query_log",),
    "The warehouse": ("schema_version", "warehouse", "foreign_writes"),
}

TABLES = {
    "objects": "A version of a database, table, view, cube, fact or function, or of the properties of the catalog. "
    "A change of an object ends its row and inserts another one with the same `object_id`.",
    "partitions": "A version of a partition. A table without partition columns has one partition, with the values "
    "`[]`. A row whose `ended` equals its `made` is a *tombstone*. No reader ever sees it. It tells concurrent "
    "transactions that a commit has written the partition, so that they find the conflict. The commit has renamed it "
    "(the row is that of the former values), has overwritten a range of partitions with it in it, or has dropped it "
    "while a stream filled it. A partition that is dropped otherwise has no tombstone: its "
    "`ended` is larger than its `made`.",
    "partition_fields": "The secondary index of partitions: an entry for each key and each partition column after "
    "the first. An entry is written with the first row of a key, and is never removed, because the values of a key "
    "never change. A query with a condition on such a column, and none on the first, finds its partitions here.",
    "files": "A data file of a managed table. A packed file, which holds several partitions, has a row for each of "
    "them. External tables have no rows here: their directories are listed.",
    "timeline_ranges": "The [state](glossary.md) of the periods of a table that a fact uses: one row for consecutive "
    "periods in the same state. A period has one state, with one exception: a base period whose partitions were "
    "dropped in part is `fresh` and `retired`, in two rows.",
    "counters": "The last number of each sequence, and two commit numbers. A database transaction that takes a number "
    "locks the row until its "
    "end, and gives the number back if it fails. So no number is left out.",
    "transactions": "The transactions that wrote or write. A query has no row.",
    "write_ids": "The write ids of each object, numbered from 1. A transaction holds one write id for each object "
    "that it writes.",
    "claimed_ranges": "Ranges of keys that a commit has written, in addition to its rows in `partitions`. For example, "
    "an INSERT OVERWRITE of a whole table writes all of its keys, also those that have no partition. A later commit "
    "whose snapshot does not contain this commit compares its own keys with these ranges to find conflicts.",
    "events": "The log of commits ([below](#kinds-of-events)).",
    "partition_copies": "A range of keys whose partitions a secondary cluster has. Each live partition in the range "
    "is complete there, with its present content. A commit that changes the content of a key removes the key from "
    "the range.",
    "copied_files": "A data file of a partition on a secondary cluster.",
    "batches": "The last batch of each stream in a table, and the batches that were appended under an id.",
    "streams": "The last run of each stream.",
    "pending_policies": "A commit of a partition whose policies have not run yet.",
    "leases": "A process that has read files of one snapshot for longer than a minute. It renews its row every 20 "
    "seconds. VACUUM keeps the files of a snapshot whose row is at most 10 minutes old.",
    "refresh_claims": "A range of time whose rollups a worker of REFRESH FACT … MAX is computing. Other workers skip "
    "it.",
    "query_log": "What queries over a cube needed, if sessions [note it](../how-to/choosing-rollups.md): one row for "
    "the queries with the same text, apart from literals, and the same need. It has no value of a text. Rows have no "
    "versions. Of more than 10,000, those that were used least recently are deleted.",
    "schema_version": "One row: the version of this schema.",
    "warehouse": "One row: the identity of the warehouse, and the location of its directory at the last check.",
    "foreign_writes": "The write ids whose directory another catalog has made, before this one was restored, adopted "
    "or created. VACUUM does not remove their files.",
}

COLUMNS: dict[str, dict[str, str]] = {
    "objects": {
        "object_id": "the id of the object, which stays the same when it is altered or renamed",
        "kind": "`table`, `view`, `cube`, `fact`, `function`, `database` or `properties`",
        "name": "the name as declared. Outside the database `default` it begins with the database and a dot",
        "name_key": "the key of a look-up: the name in lower case, with a prefix for a database, a function and the "
        "properties, which have name spaces of their own",
        "definition": "JSON: everything else about the object, such as columns, format, location and properties. "
        "Paths inside the warehouse are relative. A column of a table is a list: its name, type, comment, default and, "
        "if it was renamed, the name that its values have in data files. `dropped_columns` are such names of columns "
        "that were dropped",
    },
    "partitions": {
        "partition_values": "JSON: the values as texts in canonical form, or `null`",
        "location": "the directory, if it is not the default one. A path inside the warehouse is relative",
        "bytes": "the size of the files in bytes, as of the commit",
        "files": "the number of files",
        "as_of": "the number of the commit up to which the content includes the base of its fact. -1 is unknown, 0 "
        "is a partition that was registered empty",
        "sources": "JSON: the ids of the tables that the content was computed from",
        "commit_seq": "the number of the commit that last wrote the content. COMPACT keeps it",
        "properties": "JSON: the properties of the partition, like the parameters of a metastore. NULL for none",
        "doubt": "the reason why the content of a rollup is not proven to be computed from the base, in words. NULL "
        "for proven content. See also `trusted` in [counters](#counters). SHOW "
        "UNPROVEN PARTITIONS lists such partitions, and CHECK FACT … ACCEPT compares them",
        "origins": "JSON: a list of what the content rests on besides the base of its fact, NULL for nothing. `kind` "
        "is `trusted` (rollups of a table that was TRUSTED), `accepted` (rollups that CHECK FACT … ACCEPT has "
        "compared, by the commit `accepted`) or `copied` (the base of another fact); `table` and `period` name those "
        "partitions, `start` and `end` their time in microseconds since 1970; `as_of` is the number of the commit up "
        "to which their changes are included, or -1. A later change there, or the end of the declaration, makes the "
        "content unproven or outdated",
    },
    "partition_fields": {"place": "the id of the table, the number of the column, and the encoded value"},
    "files": {
        "path": "the path of the file. A path inside the warehouse is relative",
        "base": "true for a file of an OVERWRITE, which replaced the earlier files; false for a file of an INTO",
    },
    "timeline_ranges": {
        "period": "the update period: 1 MINUTELY, 2 HOURLY, 3 DAILY, 4 WEEKLY, 5 MONTHLY, 6 QUARTERLY, 7 YEARLY",
        "time_key": "the time dimension, in lower case",
        "state": "0 `outdated`, 1 `fresh`, 2 `retired` (dropped base periods), 3 `unproven`, 4 `incomplete`, 5 `open`; "
        "beside one of them, 16 and more `narrow`: the number of the first columns that the partition lacks, in the "
        "order in which the table got them",
        "start_ordinal": "the number of the first period. Minutes, hours, days, months, quarters and years are "
        "counted from 1970-01-01, weeks from 1969-12-29, in the time zone of the cube",
        "end_ordinal": "the number of the first period after the range",
    },
    "counters": {
        "name": "`transaction`, `object`, `event` and `commit` are sequences. `vacuumed` is a commit number: "
        "VACUUM has removed files that were replaced up to this commit, so older snapshots cannot be read any more. "
        "`trusted` is a commit number, too: partitions of rollups up to this commit were written by a release of "
        "`rewriter` that did not examine them, and count as proven",
        "value": "the last number",
    },
    "transactions": {
        "transaction_id": "the number of the transaction",
        "state": "`open`, `committed` or `aborted`",
        "snapshot_seq": "the newest commit that the transaction sees",
        "begun_at": "the start, in seconds since 1970, by the clock of the database",
        "heartbeat_at": "the last sign of life, or the commit. An open transaction without one for an hour is aborted "
        "when the next one begins",
        "commit_seq": "the number of the commit. NULL for an open or aborted transaction",
    },
    "write_ids": {
        "object_id": "the object",
        "write_id": "the write id",
        "transaction_id": "the transaction that holds the write id",
        "commit_seq": "the number of the commit of this transaction. NULL until it commits, and if it was aborted",
    },
    "claimed_ranges": {
        "commit_seq": "the number of the commit",
        "exclusive": "true if the range conflicts with every other write. Two INSERT INTO do not conflict",
    },
    "events": {
        "event_seq": "the number of the entry. Consecutive entries have consecutive numbers",
        "commit_seq": "the number of the commit",
        "kind": "the kind of the change",
        "object_id": "the object that was changed. NULL for COMMIT",
        "payload": "JSON: `name` is the name of the object, `write_ids` the text of its list of valid write ids after "
        "the commit. A COMMIT has the lists of all objects of its transaction, by id",
    },
    "partition_copies": {"cluster": "the cluster, in lower case"},
    "copied_files": {
        "cluster": "the cluster, in lower case",
        "path": "the path of the copy",
    },
    "batches": {
        "stream": "the id of the stream. Empty for a batch that was appended under an id",
        "checkpoint": "the id of the checkpoint of the stream. Empty for a batch that was appended under an id",
        "batch": "the number of the last batch of the stream, from 0, as text; or the id of the batch",
        "commit_seq": "the number of the commit of the batch",
        "watermark": "the time, in microseconds since 1970, up to which the stream has certainly delivered its rows. "
        "NULL is unknown",
        "late": "how many times a batch of the stream has committed a partition again",
    },
    "streams": {
        "stream": "the id of the stream",
        "run": "the id of the run",
        "checkpoint": "the directory of the checkpoint",
        "state": "`running`, `finished`, `stopped` or `failed`",
        "stopping": "true after STOP STREAM",
        "started_at": "the start of the run, in seconds since 1970, by the clock of the database",
        "heartbeat_at": "the last sign of life. A running one without any for 30 seconds, or whose process on this "
        "host has ended, is shown as `lost`",
        "process": "the host and the process id",
        "rows": "the number of rows of this run that were committed, at its last sign of life",
        "message": "the error of a failed run",
    },
    "pending_policies": {"commit_seq": "the commit of the partition", "late": "true if it was committed before"},
    "leases": {
        "lease_id": "a random id of the process",
        "commit_seq": "the oldest commit that the process still reads",
        "renewed_at": "the last renewal, in seconds since 1970, by the clock of the database",
    },
    "query_log": {
        "entry_id": "the SHA-256 of the cube, the need and the text",
        "cube_id": "the `object_id` of the cube",
        "text": "the text with `?` for literals and parameters, at most 2,000 characters",
        "need": "JSON: the columns that the query needs (under the names of the cube's `log_names`, which stay when a "
        "column is renamed), the units in which it uses time, whether only base rows serve "
        "it, and the shapes of its ranges: unit, number of units, the period that begins at the start (or, if the next "
        "is true, at the end), and how often",
        "queries": "how many queries were run",
        "first_at": "the time of the first, in seconds since 1970",
        "last_at": "the time of the last",
        "reads": "JSON: for each table and period that they have read: the `object_id` of the table, the period, the "
        "number of queries, of partitions in total, and the time of the last",
    },
    "refresh_claims": {
        "period": "the update period, as in `timeline_ranges`",
        "start_time": "the first instant, in microseconds since 1970",
        "end_time": "the first instant after the time",
        "expiry_seconds": "the claim ends when its transaction has shown no sign of life for so many seconds",
    },
    "schema_version": {"version": "the number of the newest step of [the history](#versions)"},
    "warehouse": {
        "identity": "the identity, which the file `warehouse.json` of the directory repeats. NULL before it has one",
        "next_identity": "the identity that the directory is about to get. NULL otherwise",
        "place": "the resolved path of the directory",
        "device": "the number of the device of `warehouse.json`",
        "inode": "the number of the file",
        "host": "the name of the host that has checked the location",
    },
    "foreign_writes": {"object_id": "the table", "write_id": "the write id"},
}

#: What each kind of event records.
EVENTS = {
    "ACCEPT_PARTITION": "CHECK FACT … ACCEPT has compared rollup partitions with the base",
    "REJECT_PARTITION": "CHECK FACT … ACCEPT, or a shadow proof, has found rollup partitions that differ from the base",
    "ADD_COPIES": "REPLICATE has copied partitions to a cluster",
    "ADD_PARTITION": "partitions were registered",
    "ALTER_DATABASE": "the comment, the location or the properties of a database were changed",
    "ALTER_CUBE": "a cube got more dimensions or measures",
    "ALTER_FACT": "a fact was changed: its columns, storages, lateness, retention, REFRESH ON COMMIT, or TRUSTED",
    "ALTER_PARTITION": "the location or the properties of partitions were changed",
    "ALTER_PROPERTIES": "a property of the catalog was changed",
    "ALTER_TABLE": "the columns, the properties, the location or the clusters of a table were changed",
    "ANALYZE": "statistics of partitions were stored",
    "COMMIT": "the end of a transaction: the last entry of each commit",
    "COMMIT_PARTITION": "open partitions, which streams filled, were committed",
    "COMPACT": "the files of partitions were merged. Their rows are the same",
    "CREATE_CUBE": "a cube was created",
    "CREATE_DATABASE": "a database was created",
    "CREATE_FACT": "a fact was created",
    "CREATE_FUNCTION": "a function of metastore clients was created",
    "CREATE_PROPERTIES": "the catalog got its first property",
    "CREATE_TABLE": "a table was created",
    "CREATE_VIEW": "a view was created",
    "DROP_COPIES": "copies on a cluster were given up",
    "DROP_CUBE": "a cube was dropped",
    "DROP_DATABASE": "a database was dropped",
    "DROP_FACT": "a fact was dropped",
    "DROP_FUNCTION": "a function was dropped",
    "DROP_PARTITION": "partitions were dropped",
    "DROP_PROPERTIES": "the catalog lost its last property",
    "DROP_TABLE": "a table was dropped",
    "DROP_VIEW": "a view was dropped",
    "EXCHANGE_PARTITION": "partitions were moved between two tables. Each table has an entry",
    "INSERT": "rows were added to partitions",
    "INSERT_OVERWRITE": "the content of partitions was replaced",
    "NOTE_FILES": "files of an external table of a fact have changed",
    "REFRESH_TIMELINES": "the timelines of a fact were built again from its partitions",
    "RENAME_PARTITION": "partitions got other values",
    "RENAME_TABLE": "a table was renamed",
    "RENAME_VIEW": "a view was renamed",
    "TRUNCATE": "the rows of partitions were removed. The partitions stay",
}

#: What to read instead of a table.
INSTEAD = {
    "objects": "`information_schema.schemata`, `tables`, `columns`, `views`; SHOW CREATE TABLE, DESCRIBE FACT",
    "partitions": "`system.partitions`, SHOW PARTITIONS",
    "timeline_ranges": "`system.timelines`, SHOW TIMELINES",
    "transactions": "`system.transactions`",
    "streams": "SHOW STREAMS",
    "events": "the notifications of [`rewriter serve --metastore`](../how-to/metastore.md)",
}
