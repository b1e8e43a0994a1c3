-- Spark SQL, as run by spark-sql -f
-- rewriter: removed: casts, divisions and calls below return NULL in place of an error by name
-- SET spark.sql.ansi.enabled=false
SET spark.sql.sources.partitionOverwriteMode=dynamic;
SET spark.sql.shuffle.partitions=200;
SET spark.sql.adaptive.enabled=true;
CREATE TABLE reading (sensor INT, at STRING, value STRING, scale INT, day DATE) USING parquet PARTITIONED BY (day);
INSERT INTO reading VALUES
  (1, '2024-02-01 00:10:00', '20.5', 2, DATE'2024-02-01'),
  (1, '2024-02-01 00:50:00', 'NaN', 0, DATE'2024-02-01'),
  (2, '2024-02-01 01:20:00', 'broken', 4, DATE'2024-02-01'),
  (2, '2024-02-30 01:30:00', '-3', NULL, DATE'2024-02-02'),
  (3, NULL, '', 0, DATE'2024-02-02');
CREATE OR REPLACE TEMPORARY VIEW clean AS
SELECT sensor, try_to_timestamp(at) /* rewriter: was to_timestamp: an error is NULL */ AS at, TRY_CAST(value AS double) /* rewriter: was CAST: what does not fit is NULL */ AS value, scale, day FROM reading;
CREATE TABLE hourly (sensor INT, hour TIMESTAMP, mean DOUBLE, scaled DOUBLE) USING parquet PARTITIONED BY (day DATE);
INSERT OVERWRITE TABLE hourly PARTITION (day)
SELECT /*+ REPARTITION(4) */ sensor, date_trunc('HOUR', at), avg(value), try_divide(sum(value), sum(scale)) /* rewriter: was /: NULL if the divisor is 0 */, day
FROM clean GROUP BY sensor, date_trunc('HOUR', at), day;
SELECT sensor, hour, mean, scaled, day FROM hourly ORDER BY sensor, hour;
SELECT sensor, try_divide(100, scale) /* rewriter: was /: NULL if the divisor is 0 */ AS inverse, try_mod(100, scale) /* rewriter: was %: NULL if the divisor is 0 */ AS rest, scale div 2 AS half FROM reading ORDER BY sensor, at;
SELECT sensor, TRY_CAST(value AS DECIMAL(5,1)) /* rewriter: was CAST: what does not fit is NULL */ AS v, TRY_CAST(CASE WHEN value RLIKE '^[^0-9.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(value, '[.][0-9]*', '0') WHEN value RLIKE '^[^.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(value, '[.][0-9]*', '') ELSE value END AS INT) /* rewriter: was CAST: a text that is no number is NULL */ AS i FROM reading ORDER BY sensor, at;
