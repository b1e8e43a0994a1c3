"""Cubes with a time zone, as SQL.

A zone is a calendar, not a clock. Instants are always UTC. Wall times in the text are written out as offsets
(``zone_sql``), for each time dimension the offsets of the range in which its rows may lie. The engines' own time zone
tables, which may be older, are never used. A use of time is refused unless it is known to follow the zone
(``zone_rewrites``).
"""
