"""The use of time in a query: constants, predicates, granularity.

A row's time is the start of its base period. A range ``[a, b)`` of instants therefore means the base periods that
start in it: ``[ceil(a), ceil(b))``. This rule makes ``<=``, BETWEEN and ``=`` behave as in plain SQL over the base
table.
"""
