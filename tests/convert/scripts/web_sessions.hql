!echo starting sessions;
SET hive.execution.engine=tez;
SET hive.tez.container.size=4096;
SET hive.auto.convert.join=true;
SET hive.strict.checks.cartesian.product=false;
CREATE TABLE hit (ip STRING, ts BIGINT, path STRING, status STRING, bytes STRING) PARTITIONED BY (day STRING) CLUSTERED BY (ip) INTO 16 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='false');
INSERT INTO TABLE hit PARTITION (day) SELECT * FROM (
  SELECT '1.1.1.1' AS ip, 1704067200L AS ts, '/' AS path, '200' AS status, '512' AS bytes, '2024-01-01' AS day
  UNION ALL SELECT '1.1.1.1', 1704067260L, '/a', '404', '-', '2024-01-01'
  UNION ALL SELECT '2.2.2.2', 1704153600L, '/b', 'ERR', '12', '2024-01-02') x;
SELECT ip, from_unixtime(ts, 'yyyy-MM-dd HH:mm') AS at, cast(status AS INT) AS status, cast(bytes AS BIGINT) AS bytes FROM hit ORDER BY ts;
SELECT day, sum(cast(bytes AS BIGINT)) AS bytes, sum(if(cast(status AS INT) >= 400, 1, 0)) / count(*) AS errors FROM hit GROUP BY day ORDER BY day;
FROM hit INSERT INTO TABLE hit PARTITION (day='2024-01-03') SELECT ip, ts + 86400, path, status, bytes WHERE day = '2024-01-02';
SELECT day, count(*) AS n FROM hit GROUP BY day ORDER BY day;
DELETE FROM hit WHERE status = 'ERR' AND day > '2024-01-02';
SELECT day, ip, path FROM hit ORDER BY day, ip, path;
SELECT ip, path FROM hit SORT BY ip, path;
