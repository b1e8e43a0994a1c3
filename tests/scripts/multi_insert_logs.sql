-- One pass over the web log fills three tables (Hive multi-insert).
SET hive.exec.dynamic.partition = true;
SET hive.exec.dynamic.partition.mode = nonstrict;
CREATE TABLE web_log (
  ip STRING, method STRING, path STRING, status INT, bytes BIGINT, ms INT
) PARTITIONED BY (dt STRING, hh STRING)
ROW FORMAT DELIMITED FIELDS TERMINATED BY '|' NULL DEFINED AS '\\N'
STORED AS TEXTFILE;
INSERT INTO web_log PARTITION (dt='2024-08-01', hh='00') VALUES
 ('10.0.0.1', 'GET',  '/',          200, 5120, 12),
 ('10.0.0.2', 'GET',  '/login',     200, 900,  30),
 ('10.0.0.2', 'POST', '/login',     302, 0,    210),
 ('10.0.0.9', 'GET',  '/admin.php', 404, 150,  3);
INSERT INTO web_log PARTITION (dt='2024-08-01', hh='01') VALUES
 ('10.0.0.1', 'GET', '/report', 500, NULL, 5003),
 ('10.0.0.3', 'GET', '/',       200, 5120, 9);
INSERT INTO web_log PARTITION (dt='2024-08-02', hh='00') VALUES
 ('10.0.0.9', 'GET', '/admin.php', 404, 150, 2),
 ('10.0.0.9', 'GET', '/.env',      404, 150, 2);

CREATE TABLE traffic_hourly (requests BIGINT, bytes BIGINT, slow BIGINT) PARTITIONED BY (dt STRING, hh STRING) STORED AS PARQUET;
CREATE TABLE errors_daily (status INT, path STRING, n BIGINT) PARTITIONED BY (dt STRING) STORED AS PARQUET;
CREATE TABLE suspicious_ip (ip STRING, tries BIGINT) STORED AS PARQUET;

FROM web_log w
INSERT OVERWRITE TABLE traffic_hourly PARTITION (dt, hh)
  SELECT COUNT(*), SUM(COALESCE(w.bytes, 0)), SUM(IF(w.ms > 1000, 1, 0)), w.dt, w.hh GROUP BY w.dt, w.hh
INSERT OVERWRITE TABLE errors_daily PARTITION (dt)
  SELECT w.status, w.path, COUNT(*), w.dt WHERE w.status >= 400 GROUP BY w.status, w.path, w.dt
INSERT OVERWRITE TABLE suspicious_ip
  SELECT w.ip, COUNT(*) WHERE w.status = 404 GROUP BY w.ip HAVING COUNT(*) > 1;

SELECT * FROM traffic_hourly ORDER BY dt, hh;
SELECT * FROM errors_daily ORDER BY dt, status, path;
SELECT * FROM suspicious_ip ORDER BY ip;
SHOW PARTITIONS traffic_hourly;
SHOW PARTITIONS errors_daily;

FROM (SELECT path, ms, dt FROM web_log WHERE method = 'GET') g
INSERT INTO TABLE errors_daily PARTITION (dt = '2024-08-03') SELECT 0, path, COUNT(*) GROUP BY path
INSERT INTO TABLE suspicious_ip SELECT 'none', MAX(ms);
SELECT status, path, n FROM errors_daily WHERE dt = '2024-08-03' ORDER BY path;
SELECT ip, tries FROM suspicious_ip ORDER BY ip;

SELECT CASE WHEN status BETWEEN 200 AND 299 THEN '2xx'
            WHEN status BETWEEN 300 AND 399 THEN '3xx'
            WHEN status BETWEEN 400 AND 499 THEN '4xx'
            ELSE '5xx' END AS class,
       COUNT(*) AS n,
       SUM(bytes) AS bytes,
       ROUND(AVG(ms), 2) AS avg_ms
FROM web_log
GROUP BY CASE WHEN status BETWEEN 200 AND 299 THEN '2xx'
              WHEN status BETWEEN 300 AND 399 THEN '3xx'
              WHEN status BETWEEN 400 AND 499 THEN '4xx'
              ELSE '5xx' END
ORDER BY class;
SELECT concat(dt, ' ', hh, ':00') AS hour, requests FROM traffic_hourly WHERE concat(dt, hh) >= '2024-08-0101' ORDER BY hour;
SELECT DISTINCT regexp_replace(path, '[^a-z]+', '_') AS clean FROM web_log ORDER BY clean;
SELECT substring_index(ip, '.', 3) AS net, COUNT(*) AS n FROM web_log GROUP BY substring_index(ip, '.', 3) ORDER BY net;
SELECT split(ip, '\\.')[3] AS host, COUNT(*) AS n FROM web_log GROUP BY split(ip, '\\.')[3] ORDER BY host;
ALTER TABLE web_log PARTITION (dt='2024-08-02', hh='00') RENAME TO PARTITION (dt='2024-08-02', hh='01');
SELECT dt, hh, COUNT(*) AS n FROM web_log GROUP BY dt, hh ORDER BY dt, hh;
TRUNCATE TABLE web_log PARTITION (dt='2024-08-02', hh='01');
SELECT COUNT(*) FROM web_log WHERE dt = '2024-08-02';
ANALYZE TABLE traffic_hourly COMPUTE STATISTICS;
DROP TABLE IF EXISTS suspicious_ip;
