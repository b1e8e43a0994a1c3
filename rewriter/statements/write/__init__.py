"""INSERT in all forms, LOAD DATA, CREATE TABLE AS, and the proof of the rollups that they write.

- **A proof is a canonical form** (``rollup_proof``). Each output column is followed down to the tables that hold the
  rows, through views, derived tables, CTEs and UNION ALL (``planner.scope.column_lineage``), with the conditions of
  outer blocks pushed down to them. Columns and aggregates are judged by their form. The partitions that rows go to
  are computed, for each partition that is read, by DuckDB's allow-list. Every other form is unproven, with the
  reason, so a form that is not understood costs a REFRESH or a CHECK FACT … ACCEPT, never a wrong result.
- **A shared source is planned into each INSERT, or computed once** (``planner.shared_source``). A query that only
  projects and filters, by deterministic functions, has the same rows under one snapshot, and each INSERT reads only
  what it needs of it. Every other source goes into files once. Rows of a cube are never put into files for that: an
  outer COUNT(*) counts events only where the planner sees the cube.
"""
