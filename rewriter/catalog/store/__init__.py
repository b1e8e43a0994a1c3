"""The SQL database below the catalog: schema, migrations, backends, prepared statements, leases.

- **Two databases, one catalog.** SQLite and PostgreSQL run the same statements; a ``Backend`` holds the differences:
  the begin of a transaction, the settings of a connection, the texts of the driver's errors. ``SqlDifferences`` holds
  the differences of a few statements. On PostgreSQL a writer
  first locks the row of the commit counter, as SQLite locks the file, so writers run one after the other in READ
  COMMITTED, and the log has no gaps. Readers, in REPEATABLE READ, wait for no writer. Text in an index has the
  collation ``C``.
- **An announcement is asynchronous.** The begin of a transaction means nothing after its process has died. On SQLite
  it reaches the disk with the commit; PostgreSQL, whose clients may outlive it, waits. Frequent statements are given
  to SQLite's driver directly (``prepared_statements``).
- **A lost commit is looked up.** A connection that breaks during COMMIT leaves the outcome unknown. The next write
  comes after all pending work of the server, so it reads the state of the transaction. Only if no server can be
  reached is the error ``CommitUnknownError``, after which no file is removed.
"""
