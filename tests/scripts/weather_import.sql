-- Imports hourly weather observations, cleans them and builds daily and monthly tables.
SET hive.exec.dynamic.partition=true;
SET hive.exec.dynamic.partition.mode=nonstrict;
SET mapred.reduce.tasks=8;
SET hive.exec.reducers.bytes.per.reducer=67108864;
CREATE DATABASE weather;
USE weather;
CREATE TABLE obs_raw (station STRING, obs_time STRING, temp STRING, wind STRING, remark STRING)
ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' LINES TERMINATED BY '\n'
STORED AS TEXTFILE
TBLPROPERTIES ('skip.header.line.count' = '0');
INSERT INTO obs_raw VALUES
  ('EDDH', '20240229 2300', '3.5',  '12', 'RA'),
  ('EDDH', '20240301 0000', '3.1',  '14', 'RA BR'),
  ('EDDH', '20240301 0100', '-999', '9',  ''),
  ('LFPG', '20240301 0000', '7.0',  NULL, NULL),
  ('LFPG', '20240301 0600', ' 6.5', '3',  'FG'),
  ('LFPG', '20240301 0600', '6.5',  '3',  'FG');
CREATE TABLE obs (station STRING, observed_at TIMESTAMP, temp DECIMAL(5,1), wind INT, is_wet BOOLEAN)
PARTITIONED BY (dt STRING, hour STRING) STORED AS PARQUET;
FROM (
  SELECT DISTINCT station,
         to_timestamp(obs_time, 'yyyyMMdd HHmm') AS observed_at,
         CASE WHEN CAST(TRIM(temp) AS DECIMAL(5,1)) > -100 THEN CAST(TRIM(temp) AS DECIMAL(5,1)) END AS temp,
         CAST(wind AS INT) AS wind,
         COALESCE(remark LIKE '%RA%', FALSE) AS is_wet
  FROM obs_raw
) r
INSERT OVERWRITE TABLE obs PARTITION (dt, hour)
SELECT r.station, r.observed_at, r.temp, r.wind, r.is_wet, date_format(r.observed_at, 'yyyy-MM-dd'), date_format(r.observed_at, 'HH');
SHOW PARTITIONS obs;
SELECT * FROM obs ORDER BY station, observed_at;
SELECT station, COUNT(*) AS n, COUNT(temp) AS with_temp, MIN(temp) AS low, MAX(temp) AS high, AVG(temp) AS mean
FROM obs WHERE dt = '2024-03-01' GROUP BY station ORDER BY station;

CREATE TABLE daily (station STRING, low DECIMAL(5,1), high DECIMAL(5,1), wet_hours BIGINT) PARTITIONED BY (dt STRING) STORED AS PARQUET;
CREATE TABLE monthly LIKE daily;
DROP TABLE monthly;
CREATE TABLE monthly (station STRING, low DECIMAL(5,1), high DECIMAL(5,1), wet_hours BIGINT) PARTITIONED BY (mon STRING) STORED AS PARQUET;
FROM obs
INSERT OVERWRITE TABLE daily PARTITION (dt) SELECT station, MIN(temp), MAX(temp), SUM(CAST(is_wet AS INT)), dt GROUP BY station, dt
INSERT OVERWRITE TABLE monthly PARTITION (mon) SELECT station, MIN(temp), MAX(temp), SUM(CAST(is_wet AS INT)), substr(dt, 1, 7) GROUP BY station, substr(dt, 1, 7);
SELECT * FROM daily ORDER BY dt, station;
SELECT * FROM monthly ORDER BY mon, station;
SELECT a.station, a.hour, a.temp - b.temp AS diff FROM obs a JOIN obs b ON a.dt = b.dt AND a.hour = b.hour AND a.station < b.station ORDER BY a.station, a.hour;
SELECT station, hour(observed_at) AS h, CASE WHEN hour(observed_at) < 6 THEN 'night' ELSE 'day' END AS part, cast(hour AS INT) AS hour_number FROM obs WHERE hour < 6 ORDER BY station, observed_at;
SELECT station, observed_at FROM obs WHERE concat(dt, ' ', hour) BETWEEN '2024-02-29 23' AND '2024-03-01 00' ORDER BY station, observed_at;
SELECT station, wind FROM obs WHERE wind IS NULL OR wind NOT BETWEEN 5 AND 13 ORDER BY station, observed_at;
SELECT dt, temp FROM obs TABLESAMPLE (100 PERCENT) WHERE station = 'EDDH' ORDER BY dt, hour;
SELECT station, first(temp, true) AS first_temp FROM (SELECT station, temp FROM obs WHERE hour = '00') t GROUP BY station ORDER BY station;
SELECT from_unixtime(0) AS epoch, unix_timestamp('2024-03-01 00:00:00') AS u, to_date('2024-03-01 12:13:14') AS d, year('2024-03-01') AS y, from_unixtime(1709251200, 'yyyyMMddHH') AS f;
SELECT current_date() > DATE '2020-01-01' AS later, current_timestamp() IS NOT NULL AS present;
INSERT OVERWRITE TABLE obs PARTITION (dt = '2024-03-01', hour) SELECT station, observed_at, temp, wind, is_wet, hour FROM obs WHERE dt = '2024-03-01' AND hour = '00';
SHOW PARTITIONS obs;
SELECT COUNT(*) AS n FROM obs;
TRUNCATE TABLE obs_raw;
DROP TABLE obs_raw;
USE default;
DROP DATABASE weather CASCADE;
