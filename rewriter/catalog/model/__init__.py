"""The objects of the catalog and the changes to them, as frozen values. No I/O.

A name is one text: the catalog calls an object of the database ``sales`` ``sales.t``, and one of ``default`` ``t``
(``qualified_names``), so look-ups by name and facts that keep names of tables do not depend on databases. The current
database is written into a statement's names before it runs (``grammar.qualify_names``).
"""
