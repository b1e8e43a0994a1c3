/*
 * Weekly retention of new users.
 * first_seen holds the day of each user's first login; retention counts those who return.
 */
SET hive.exec.dynamic.partition.mode=nonstrict;
SET hive.merge.mapfiles=true;
SET hive.exec.compress.output=true;
CREATE DATABASE IF NOT EXISTS mart COMMENT 'tables for reports';
USE mart;
CREATE TABLE login (user_id BIGINT, platform STRING) PARTITIONED BY (dt STRING) STORED AS ORC;
INSERT OVERWRITE TABLE login PARTITION (dt='2024-04-01') SELECT 1, 'ios' UNION ALL SELECT 2, 'android' UNION ALL SELECT 3, 'ios';
INSERT OVERWRITE TABLE login PARTITION (dt='2024-04-02') SELECT 1, 'ios' UNION ALL SELECT 4, 'web';
INSERT OVERWRITE TABLE login PARTITION (dt='2024-04-08') SELECT 2, 'android' UNION ALL SELECT 4, 'web' UNION ALL SELECT 4, 'ios';
INSERT OVERWRITE TABLE login PARTITION (dt='2024-04-15') SELECT 1, 'web';

CREATE TABLE first_seen (user_id BIGINT, first_platform STRING) PARTITIONED BY (first_dt STRING) STORED AS ORC;
INSERT OVERWRITE TABLE first_seen PARTITION (first_dt)
SELECT user_id, platform, dt
FROM (
  SELECT user_id, platform, dt, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY dt ASC, platform ASC) rn
  FROM login
) x
WHERE rn = 1;
SELECT * FROM first_seen ORDER BY user_id;
SHOW PARTITIONS mart.first_seen;

SELECT f.first_dt,
       DATEDIFF(l.dt, f.first_dt) AS days_after,
       COUNT(DISTINCT l.user_id) AS users
FROM mart.first_seen f
JOIN mart.login l ON f.user_id = l.user_id AND l.dt >= f.first_dt
GROUP BY f.first_dt, DATEDIFF(l.dt, f.first_dt)
ORDER BY f.first_dt, days_after;

CREATE TABLE IF NOT EXISTS retention (
  cohort_size BIGINT,
  day_7       BIGINT,
  day_14      BIGINT,
  rate_7      STRING
) PARTITIONED BY (first_dt STRING)
STORED AS PARQUET;

INSERT OVERWRITE TABLE retention PARTITION (first_dt)
SELECT COUNT(DISTINCT f.user_id),
       COUNT(DISTINCT CASE WHEN DATEDIFF(l.dt, f.first_dt) = 7 THEN f.user_id END),
       COUNT(DISTINCT CASE WHEN DATEDIFF(l.dt, f.first_dt) = 14 THEN f.user_id END),
       CONCAT(CAST(ROUND(100.0 * COUNT(DISTINCT CASE WHEN DATEDIFF(l.dt, f.first_dt) = 7 THEN f.user_id END)
                    / COUNT(DISTINCT f.user_id), 2) AS STRING), '%'),
       f.first_dt
FROM first_seen f
LEFT JOIN login l ON l.user_id = f.user_id
GROUP BY f.first_dt;
SELECT first_dt, cohort_size, day_7, day_14, rate_7 FROM retention ORDER BY first_dt;

-- The week is seen from a fixed run date.
SELECT dt, COUNT(*) AS logins
FROM login
WHERE dt >= DATE_SUB('2024-04-15', 7) AND dt < '2024-04-15'
GROUP BY dt ORDER BY dt;
SELECT dt, COUNT(*) AS logins FROM login WHERE dt = DATE '2024-04-08' GROUP BY dt;
SELECT dt, next_day(dt, 'MO') AS next_monday, date_add(dt, 6) AS week_end, date_format(dt, 'E') AS weekday
FROM login GROUP BY dt ORDER BY dt;
SELECT CASE WHEN user_id % 2 = 0 THEN 'even' ELSE 'odd' END AS bucket, COUNT(DISTINCT platform) AS platforms
FROM login GROUP BY CASE WHEN user_id % 2 = 0 THEN 'even' ELSE 'odd' END ORDER BY bucket;
SELECT l.user_id, COUNT(*) AS n FROM login l WHERE EXISTS (SELECT 1 FROM first_seen f WHERE f.user_id = l.user_id AND f.first_platform = 'web')
GROUP BY l.user_id ORDER BY l.user_id;
SELECT user_id FROM login WHERE dt = '2024-04-01' EXCEPT SELECT user_id FROM login WHERE dt = '2024-04-02' ORDER BY user_id;
ALTER TABLE login DROP IF EXISTS PARTITION (dt = '2024-04-15');
SELECT MAX(dt) AS last_dt FROM login;
DESCRIBE retention;
DROP TABLE retention;
USE default;
DROP DATABASE mart CASCADE;
