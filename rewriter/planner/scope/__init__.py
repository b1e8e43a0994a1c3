"""Names, blocks, joins, views and CTEs: resolves names to relations, and finds the conditions that restrict each.

The planner looks through a subquery that only projects and filters (``inlining``), so COUNT(*) over it counts events as
it does over the cube. The text keeps its shape. Where that is impossible (a CTE that is named twice, a subquery that
joins), COUNT and AVG over its rows are refused.

A condition may be copied below an outer join, never moved. It restricts the side that may be absent only if NULL does
not pass it.
"""
