-- Cuts clicks into sessions after 30 minutes of silence.
SET spark.sql.sources.partitionOverwriteMode = dynamic;
CREATE TABLE clicks (visitor STRING, page STRING, clicked_at TIMESTAMP) USING PARQUET PARTITIONED BY (dt STRING);
INSERT INTO clicks PARTITION (dt) VALUES
  ('a', 'home',  TIMESTAMP '2024-05-01 10:00:00', '2024-05-01'),
  ('a', 'list',  TIMESTAMP '2024-05-01 10:05:00', '2024-05-01'),
  ('a', 'item',  TIMESTAMP '2024-05-01 10:36:00', '2024-05-01'),
  ('a', 'cart',  TIMESTAMP '2024-05-01 23:50:00', '2024-05-01'),
  ('a', 'pay',   TIMESTAMP '2024-05-02 00:10:00', '2024-05-02'),
  ('b', 'home',  TIMESTAMP '2024-05-01 10:00:00', '2024-05-01'),
  ('b', 'home',  TIMESTAMP '2024-05-01 10:30:00', '2024-05-01'),
  ('c', 'item',  TIMESTAMP '2024-05-02 08:00:00', '2024-05-02');

DROP TABLE IF EXISTS sessions;
CREATE TABLE sessions (
  session_id STRING, visitor STRING, started TIMESTAMP, ended TIMESTAMP, seconds BIGINT, pages INT
) USING PARQUET PARTITIONED BY (dt STRING);

CREATE OR REPLACE TEMPORARY VIEW click_gaps AS
SELECT visitor, page, clicked_at,
       LAG(clicked_at) OVER (PARTITION BY visitor ORDER BY clicked_at) AS previous_at
FROM clicks
WHERE dt BETWEEN '2024-05-01' AND '2024-05-02';

SELECT * FROM click_gaps ORDER BY visitor, clicked_at;

WITH flagged AS (
  SELECT visitor, page, clicked_at,
         CASE WHEN previous_at IS NULL
                OR unix_timestamp(clicked_at) - unix_timestamp(previous_at) > 30 * 60
              THEN 1 ELSE 0 END AS is_new
  FROM click_gaps
), numbered AS (
  SELECT visitor, page, clicked_at,
         SUM(is_new) OVER (PARTITION BY visitor ORDER BY clicked_at
                           ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS session_no
  FROM flagged
)
INSERT OVERWRITE TABLE sessions PARTITION (dt)
SELECT CONCAT(visitor, '-', CAST(session_no AS STRING)) AS session_id,
       visitor,
       MIN(clicked_at),
       MAX(clicked_at),
       CAST(MAX(clicked_at) AS BIGINT) - CAST(MIN(clicked_at) AS BIGINT),
       CAST(COUNT(*) AS INT),
       DATE_FORMAT(MIN(clicked_at), 'yyyy-MM-dd')
FROM numbered
GROUP BY visitor, session_no;

SELECT session_id, started, ended, seconds, pages, dt FROM sessions ORDER BY session_id;
SELECT dt, COUNT(*) AS sessions, AVG(seconds) AS avg_seconds, MAX(pages) AS max_pages
FROM sessions GROUP BY dt ORDER BY dt;

-- Entry and exit page of each visitor's day
SELECT DISTINCT dt, visitor,
       FIRST_VALUE(page) OVER (PARTITION BY dt, visitor ORDER BY clicked_at) AS entry_page,
       LAST_VALUE(page) OVER (PARTITION BY dt, visitor ORDER BY clicked_at
                              ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS exit_page
FROM clicks
ORDER BY dt, visitor;

-- Bounces
SELECT visitor, SUM(CASE WHEN pages = 1 THEN 1 ELSE 0 END) / COUNT(*) AS bounce_rate
FROM sessions GROUP BY visitor HAVING COUNT(*) >= 1 ORDER BY visitor;

SELECT visitor, HOUR(clicked_at) AS h, MINUTE(clicked_at) AS m, DAYOFWEEK(clicked_at) AS dow, date_trunc('HOUR', clicked_at) AS hour_start
FROM clicks ORDER BY visitor, clicked_at;
SHOW PARTITIONS sessions;
TRUNCATE TABLE sessions;
SELECT COUNT(*) FROM sessions;
DROP VIEW IF EXISTS click_gaps;
DROP TABLE clicks;
