-- rewriter: removed: a command of the system
-- !echo starting sessions
SET hive.execution.engine=tez;
SET hive.tez.container.size=4096;
SET hive.auto.convert.join=true;
SET hive.strict.checks.cartesian.product=false;
CREATE TABLE hit (ip STRING, ts BIGINT, path STRING, status STRING, bytes STRING) PARTITIONED BY (day STRING) /* rewriter: removed CLUSTERED BY (ip) INTO 16 BUCKETS: it changes no row */ STORED AS ORC TBLPROPERTIES ('transactional'='false');
INSERT INTO TABLE hit PARTITION (day) SELECT * FROM (
  SELECT '1.1.1.1' AS ip, 1704067200L AS ts, '/' AS path, '200' AS status, '512' AS bytes, '2024-01-01' AS day
  UNION ALL SELECT '1.1.1.1', 1704067260L, '/a', '404', '-', '2024-01-01'
  UNION ALL SELECT '2.2.2.2', 1704153600L, '/b', 'ERR', '12', '2024-01-02') x;
SELECT ip, from_unixtime(ts, 'yyyy-MM-dd HH:mm') AS at, TRY_CAST(CASE WHEN status RLIKE '^[^0-9.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(status, '[.][0-9]*', '0') WHEN status RLIKE '^[^.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(status, '[.][0-9]*', '') ELSE status END AS INT) /* rewriter: was CAST: a text that is no number is NULL */ AS status, TRY_CAST(CASE WHEN bytes RLIKE '^[^0-9.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(bytes, '[.][0-9]*', '0') WHEN bytes RLIKE '^[^.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(bytes, '[.][0-9]*', '') ELSE bytes END AS BIGINT) /* rewriter: was CAST: a text that is no number is NULL */ AS bytes FROM hit ORDER BY ts;
SELECT day, sum(TRY_CAST(CASE WHEN bytes RLIKE '^[^0-9.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(bytes, '[.][0-9]*', '0') WHEN bytes RLIKE '^[^.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(bytes, '[.][0-9]*', '') ELSE bytes END AS BIGINT) /* rewriter: was CAST: a text that is no number is NULL */) AS bytes, try_divide(sum(if(TRY_CAST(CASE WHEN status RLIKE '^[^0-9.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(status, '[.][0-9]*', '0') WHEN status RLIKE '^[^.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(status, '[.][0-9]*', '') ELSE status END AS INT) /* rewriter: was CAST: a text that is no number is NULL */ >= 400, 1, 0)), count(*)) /* rewriter: was /: NULL if the divisor is 0 */ AS errors FROM hit GROUP BY day ORDER BY day;
FROM hit INSERT INTO TABLE hit PARTITION (day='2024-01-03') SELECT ip, ts + 86400, path, status, bytes WHERE day = '2024-01-02';
SELECT day, count(*) AS n FROM hit GROUP BY day ORDER BY day;
SET rewriter.partition_overwrite_mode = static /* rewriter: a partition without a row goes, too */;
INSERT OVERWRITE TABLE hit /* rewriter: was DELETE: the table keeps the other rows */
SELECT * FROM hit WHERE (status = 'ERR' AND day > '2024-01-02') IS NOT TRUE;
RESET rewriter.partition_overwrite_mode;
SELECT day, ip, path FROM hit ORDER BY day, ip, path;
SELECT ip, path FROM hit SORT BY ip, path;
