-- Spark SQL, as run by spark-sql -f
SET spark.sql.ansi.enabled=false;
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
SELECT sensor, to_timestamp(at) AS at, value::double AS value, scale, day FROM reading;
CREATE TABLE hourly (sensor INT, hour TIMESTAMP, mean DOUBLE, scaled DOUBLE) USING parquet PARTITIONED BY (day DATE);
INSERT OVERWRITE TABLE hourly PARTITION (day)
SELECT /*+ REPARTITION(4) */ sensor, date_trunc('HOUR', at), avg(value), sum(value) / sum(scale), day
FROM clean GROUP BY sensor, date_trunc('HOUR', at), day;
SELECT sensor, hour, mean, scaled, day FROM hourly ORDER BY sensor, hour;
SELECT sensor, 100 / scale AS inverse, 100 % scale AS rest, scale div 2 AS half FROM reading ORDER BY sensor, at;
SELECT sensor, CAST(value AS DECIMAL(5,1)) AS v, CAST(value AS INT) AS i FROM reading ORDER BY sensor, at;
