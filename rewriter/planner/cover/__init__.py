"""Selects the facts and periods that serve a query, and computes the cheapest exact cover of its time.

Covering is set arithmetic. Along a chain of nesting periods, each slot is either its own partition or the union of
finer ones. Weeks beside months are a shortest path over the bounds of months, and over whole runs of years in which no
week can win (``forced_runs``). The proof is in ``cover``. The cost depends on the number of ranges, not of partitions.

If a fact has several time dimensions, the cover is computed on the first. Another time is a further partition column,
seen in the units that the query uses: a day of two times depends on the hours inside both of its days
(``secondary_times``).
"""
