-- Readings of machines: hourly partitions as integers, gaps, thresholds and a daily rollup.
SET spark.sql.sources.partitionOverwriteMode=DYNAMIC;
SET spark.sql.adaptive.enabled=true;
CREATE TABLE reading (machine SMALLINT, metric STRING, value DOUBLE, quality TINYINT, at TIMESTAMP)
USING PARQUET
PARTITIONED BY (day INT, hour INT);

INSERT INTO reading PARTITION (day = 20240210, hour = 5) VALUES
  (1, 'temp', 21.5, 1, TIMESTAMP '2024-02-10 05:00:00'),
  (1, 'temp', 22.25, 1, TIMESTAMP '2024-02-10 05:20:00'),
  (2, 'temp', -3.0, 0, TIMESTAMP '2024-02-10 05:10:00'),
  (2, 'rpm', 1500.0, 1, TIMESTAMP '2024-02-10 05:10:00');
INSERT INTO reading PARTITION (day = 20240210, hour = 6) VALUES
  (1, 'temp', NULL, 1, TIMESTAMP '2024-02-10 06:00:00'),
  (1, 'temp', 25.0, 1, TIMESTAMP '2024-02-10 06:40:00'),
  (2, 'rpm', 0.0, 1, TIMESTAMP '2024-02-10 06:05:00');
INSERT INTO reading PARTITION (day = 20240211, hour = 0) VALUES
  (1, 'temp', 19.0, 1, TIMESTAMP '2024-02-11 00:30:00'),
  (3, 'temp', 40.0, 1, TIMESTAMP '2024-02-11 00:31:00');

SHOW PARTITIONS reading;
SHOW PARTITIONS reading PARTITION (day = 20240210);
SELECT machine, metric, MIN(value) AS low, MAX(value) AS high, ROUND(AVG(value), 3) AS mean, COUNT(value) AS valid, COUNT(*) AS total
FROM reading
WHERE day = 20240210
GROUP BY machine, metric
ORDER BY machine, metric;

CREATE TABLE threshold (metric STRING, low DOUBLE, high DOUBLE) USING PARQUET;
INSERT INTO threshold VALUES ('temp', 0.0, 30.0), ('rpm', 100.0, 3000.0);

CREATE TABLE alarm (machine SMALLINT, metric STRING, value DOUBLE, kind STRING, at TIMESTAMP)
USING PARQUET PARTITIONED BY (day INT);
INSERT OVERWRITE TABLE alarm PARTITION (day)
SELECT /*+ BROADCAST(t) */
       r.machine, r.metric, r.value,
       CASE WHEN r.value < t.low THEN 'low' WHEN r.value > t.high THEN 'high' END AS kind,
       r.at, r.day
FROM reading r
JOIN threshold t ON r.metric = t.metric
WHERE (r.value < t.low OR r.value > t.high) AND r.quality > 0;
SELECT machine, metric, value, kind, at, day FROM alarm ORDER BY at, machine;

-- Time since the reading before, and the change of it
SELECT machine, at,
       value,
       value - LAG(value) OVER w AS change,
       (unix_timestamp(at) - unix_timestamp(LAG(at) OVER w)) / 60 AS minutes
FROM reading
WHERE metric = 'temp'
WINDOW w AS (PARTITION BY machine ORDER BY at)
ORDER BY machine, at;

CREATE TABLE reading_daily USING PARQUET PARTITIONED BY (day) AS
SELECT machine, metric, SUM(value) AS value_sum, COUNT(value) AS value_count, day
FROM reading GROUP BY machine, metric, day;
SHOW PARTITIONS reading_daily;
SELECT metric, SUM(value_sum) / SUM(value_count) AS mean FROM reading_daily GROUP BY metric ORDER BY metric;

-- Hours without any reading of a machine
SELECT d.machine, d.day, d.hour
FROM (SELECT DISTINCT m.machine, h.day, h.hour FROM reading m CROSS JOIN reading h) d
LEFT JOIN reading r ON r.machine = d.machine AND r.day = d.day AND r.hour = d.hour
WHERE r.machine IS NULL
ORDER BY d.machine, d.day, d.hour;

SELECT percentile_approx(value, 0.9) AS p90, percentile_approx(value, 0.5, 100) AS p50 FROM reading WHERE metric = 'temp';
SELECT machine, greatest(max(value), 0D) AS g, least(min(value), 0D) AS l, abs(min(value)) AS a, floor(max(value)) AS f, ceil(min(value)) AS c
FROM reading WHERE metric = 'temp' GROUP BY machine ORDER BY machine;
SELECT hour, value > 20 AS warm, COUNT(*) AS n FROM reading WHERE value IS NOT NULL AND metric LIKE 't%' GROUP BY hour, value > 20 ORDER BY hour, warm;
ALTER TABLE reading DROP IF EXISTS PARTITION (day = 20240210);
SELECT COUNT(*) FROM reading;
ALTER TABLE reading ADD PARTITION (day = 20240212, hour = 0);
SHOW PARTITIONS reading;
