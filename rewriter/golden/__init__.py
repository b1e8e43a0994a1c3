"""Golden files: tests of SQL as text. A case is a command, its input, ``----`` and the output that is expected.

    # A line that begins with # is a comment.
    options now=2024-03-01

    query
    SELECT 1 AS one
    ----
    one
    ---
      1

``golden_file`` reads the text and replaces outputs in it, ``commands`` lists the commands and their options,
``runner`` runs a file, ``differences`` shows what differs. Decisions:

- A file runs as a whole, because its cases share a warehouse and sessions.
- Rewriting replaces the outputs that differ, by their place in the text. All else stays byte for byte, so a file's
  comments, blank lines and line ends are never lost.
- A file never changes a warehouse of the user unless it says so (``warehouses``).
- A file without ``----`` is plain SQL (``plain_sql``): it gets commands and outputs when it is rewritten.
"""
