CREATE TABLE kpi (name STRING, value STRING, day STRING) STORED AS ORC;
INSERT INTO kpi VALUES ('a', '1', '20240101'), ('a', '2', '20240102'), ('b', 'x', '20240101'), ('b', '4.99', '2024010');
CREATE VIEW IF NOT EXISTS kpi_number AS SELECT name, TRY_CAST(value AS DOUBLE) /* rewriter: was CAST: what does not fit is NULL */ AS v, try_to_date(day, 'yyyyMMdd') /* rewriter: was to_date: an error is NULL */ AS d FROM kpi;
CREATE VIEW kpi_ratio AS SELECT name, try_divide(sum(v), count(d)) /* rewriter: was /: NULL if the divisor is 0 */ AS mean FROM kpi_number GROUP BY name;
SELECT * FROM kpi_number ORDER BY name, v;
SELECT * FROM kpi_ratio ORDER BY name;
SELECT k.name, TRY_CAST(k.value AS DOUBLE) /* rewriter: a text that is no number is NULL */ / 2 AS half FROM kpi k WHERE k.name = 'a' ORDER BY half;
SELECT name, cast(TRY_CAST(value AS DOUBLE) /* rewriter: was CAST: what does not fit is NULL */ AS INT) AS i, TRY_CAST(CASE WHEN value RLIKE '^[^0-9.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(value, '[.][0-9]*', '0') WHEN value RLIKE '^[^.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(value, '[.][0-9]*', '') ELSE value END AS INT) /* rewriter: was CAST: a text that is no number is NULL */ AS j FROM kpi ORDER BY name, value;
ALTER VIEW kpi_ratio AS SELECT name, try_divide(max(v), min(v)) /* rewriter: was /: NULL if the divisor is 0 */ AS spread FROM kpi_number GROUP BY name;
SELECT * FROM kpi_ratio ORDER BY name;
-- rewriter: removed: there are no indexes
-- CREATE INDEX kpi_idx ON TABLE kpi (name) AS 'COMPACT' WITH DEFERRED REBUILD
-- rewriter: not converted: GRANT is not supported
GRANT SELECT ON TABLE kpi TO ROLE analyst;
DROP VIEW kpi_ratio;
-- not converted:
-- 12: GRANT is not supported. Access is controlled by the permissions of the warehouse directory.
