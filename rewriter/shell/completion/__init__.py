"""Completion: a pure function of a text, a cursor and the names of the catalog.

``position`` finds what a text expects at the cursor: statements of the dialect by the grammar's own tables, so that no
list of statements is kept by hand, and queries by their clauses, as their text is sqlglot's. ``candidates`` fills the
expectation from ``names``, which ``refresher`` reads in the background. ``partition_values`` are read on demand, with
a bound. Only ``prompt_completer`` imports prompt_toolkit.
"""
