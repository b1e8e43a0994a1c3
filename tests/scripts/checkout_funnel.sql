-- Funnel of the checkout by channel and day, from an event log with JSON payloads.
SET hive.exec.dynamic.partition=true;
SET hive.exec.dynamic.partition.mode=nonstrict;
SET hive.vectorized.execution.enabled=true;
CREATE TABLE event_log (
  event_name STRING,
  device_id  STRING,
  payload    STRING,
  event_ts   BIGINT
) PARTITIONED BY (dt INT) STORED AS PARQUET;

INSERT OVERWRITE TABLE event_log PARTITION (dt = 20240601) VALUES
  ('view',     'd1', '{"channel":"web","sku":"A-1","price":"10.00"}', 1717200000000),
  ('add_cart', 'd1', '{"channel":"web","sku":"A-1","qty":2}',          1717200060000),
  ('pay',      'd1', '{"channel":"web","order":{"id":77,"total":20.0}}', 1717200120500),
  ('view',     'd2', '{"channel":"app","sku":"B-2"}',                  1717203600000),
  ('add_cart', 'd2', '{"channel":"app","sku":"B-2","qty":1}',          1717203660000),
  ('view',     'd3', '{"channel":"web"}',                              1717207200000),
  ('view',     'd4', 'broken',                                         1717207300000),
  ('pay',      'd5', '{"channel":"app","order":{"id":78,"total":5.5}}',  1717207400000);
INSERT OVERWRITE TABLE event_log PARTITION (dt = 20240602) VALUES
  ('view',     'd2', '{"channel":"app","sku":"B-2"}',                  1717290000000),
  ('pay',      'd2', '{"channel":"app","order":{"id":79,"total":8.0}}',  1717290060000);

CREATE VIEW IF NOT EXISTS v_event AS
SELECT event_name,
       device_id,
       NVL(get_json_object(payload, '$.channel'), 'unknown') AS channel,
       get_json_object(payload, '$.sku') AS sku,
       CAST(get_json_object(payload, '$.order.total') AS DOUBLE) AS total,
       from_unixtime(CAST(event_ts / 1000 AS BIGINT)) AS event_time,
       dt
FROM event_log;

SELECT device_id, event_name, channel, sku, total, event_time FROM v_event WHERE dt = 20240601
ORDER BY device_id, event_time, event_name;

CREATE TABLE funnel_daily (
  channel STRING, viewers BIGINT, carts BIGINT, payers BIGINT, cart_rate DECIMAL(6,4), revenue DOUBLE
) PARTITIONED BY (dt INT) STORED AS PARQUET;

WITH steps AS (
  SELECT dt, channel, device_id,
         MAX(CASE event_name WHEN 'view' THEN 1 ELSE 0 END) AS viewed,
         MAX(CASE event_name WHEN 'add_cart' THEN 1 ELSE 0 END) AS carted,
         MAX(CASE event_name WHEN 'pay' THEN 1 ELSE 0 END) AS paid,
         SUM(COALESCE(total, 0.0)) AS total
  FROM v_event
  GROUP BY dt, channel, device_id
)
INSERT OVERWRITE TABLE funnel_daily PARTITION (dt)
SELECT channel,
       SUM(viewed),
       SUM(viewed * carted),
       SUM(viewed * carted * paid),
       CAST(SUM(viewed * carted) / SUM(viewed) AS DECIMAL(6,4)),
       SUM(total),
       dt
FROM steps
GROUP BY dt, channel;

SELECT * FROM funnel_daily ORDER BY dt, channel;
SELECT channel, SUM(viewers) AS viewers, SUM(payers) AS payers FROM funnel_daily
WHERE dt > 20240531 GROUP BY channel ORDER BY viewers DESC, channel;
SELECT dt, channel, viewers, LAG(viewers, 1, 0) OVER (PARTITION BY channel ORDER BY dt) AS day_before
FROM funnel_daily ORDER BY channel, dt;
SELECT to_date(CAST(dt AS STRING), 'yyyyMMdd') AS day, COUNT(*) AS n FROM event_log GROUP BY dt ORDER BY day;
SELECT from_unixtime(unix_timestamp(CAST(dt AS STRING), 'yyyyMMdd'), 'yyyy-MM-dd') AS day, MIN(device_id) AS first_device
FROM event_log GROUP BY dt ORDER BY dt;

SHOW PARTITIONS funnel_daily;
ALTER TABLE event_log ADD IF NOT EXISTS PARTITION (dt = 20240603) PARTITION (dt = 20240604);
ALTER TABLE event_log DROP IF EXISTS PARTITION (dt = 20240604);
SHOW PARTITIONS event_log;
SELECT COUNT(*) AS n, COUNT(DISTINCT dt) AS days FROM event_log WHERE dt IN (20240601, 20240602, 20240603);
DROP VIEW v_event;
DROP TABLE IF EXISTS event_log PURGE;
