"""Certificates of results, and the checker that decides whether one stands.

A certificate names what a result of a query over cubes rests on: the requested time, the pieces of time that were read,
and for each piece the partitions and why they hold what their base holds. ``law`` decides from the certificate, the
query's text and the tables of the catalog. It shares no code with the planner, the cover, the timelines or the commits:
what one of them does wrong, the other does not repeat.

The form of a certificate is documented in ``docs/reference/certificates.md``.
"""
