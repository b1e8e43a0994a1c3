-- Attributes each conversion to the last click within 7 days, and reports spend per campaign.
SET hive.exec.dynamic.partition.mode=nonstrict;
SET spark.sql.crossJoin.enabled=true;
CREATE TABLE ad_click (click_id STRING, user_id STRING, campaign STRING, cost DECIMAL(8,4), clicked_at TIMESTAMP) PARTITIONED BY (dt STRING) STORED AS PARQUET;
CREATE TABLE conversion (user_id STRING, value DECIMAL(10,2), converted_at TIMESTAMP) PARTITIONED BY (dt STRING) STORED AS PARQUET;
INSERT INTO ad_click PARTITION (dt)
VALUES ('k1', 'u1', 'search_brand', 0.5,    TIMESTAMP '2024-11-01 09:00:00', '2024-11-01'),
       ('k2', 'u1', 'display_re',   0.1234, TIMESTAMP '2024-11-03 09:00:00', '2024-11-03'),
       ('k3', 'u2', 'search_brand', 0.75,   TIMESTAMP '2024-11-01 12:00:00', '2024-11-01'),
       ('k4', 'u3', 'social_video', 0.02,   TIMESTAMP '2024-11-02 12:00:00', '2024-11-02');
INSERT INTO conversion PARTITION (dt)
VALUES ('u1', 59.90, TIMESTAMP '2024-11-03 10:30:00', '2024-11-03'),
       ('u2', 10.00, TIMESTAMP '2024-11-09 12:00:01', '2024-11-09'),
       ('u4', 99.99, TIMESTAMP '2024-11-03 18:00:00', '2024-11-03');

CREATE TABLE attributed (user_id STRING, click_id STRING, campaign STRING, value DECIMAL(10,2), hours_between DOUBLE)
PARTITIONED BY (dt STRING) STORED AS PARQUET;

WITH candidates AS (
    SELECT c.user_id, k.click_id, k.campaign, c.value, c.converted_at, k.clicked_at, c.dt,
           ROW_NUMBER() OVER (PARTITION BY c.user_id, c.converted_at ORDER BY k.clicked_at DESC) AS rn
    FROM conversion c
    LEFT JOIN ad_click k
      ON k.user_id = c.user_id
     AND k.clicked_at <= c.converted_at
     AND k.clicked_at >= c.converted_at - INTERVAL 7 DAYS
)
INSERT OVERWRITE TABLE attributed PARTITION (dt)
SELECT user_id, click_id, NVL(campaign, 'organic'), value,
       ROUND((UNIX_TIMESTAMP(converted_at) - UNIX_TIMESTAMP(clicked_at)) / 3600, 2), dt
FROM candidates WHERE rn = 1;
SELECT * FROM attributed ORDER BY user_id;

WITH spend AS (SELECT campaign, SUM(cost) AS cost, COUNT(*) AS clicks FROM ad_click GROUP BY campaign),
     gain AS (SELECT campaign, SUM(value) AS value, COUNT(*) AS orders FROM attributed GROUP BY campaign)
SELECT COALESCE(s.campaign, g.campaign) AS campaign, s.clicks, s.cost, g.orders, g.value,
       CASE WHEN s.cost > 0 THEN ROUND(g.value / s.cost, 2) END AS roas
FROM spend s FULL OUTER JOIN gain g ON s.campaign = g.campaign
ORDER BY campaign;

CREATE OR REPLACE VIEW campaign_parts AS
SELECT DISTINCT campaign, SPLIT(campaign, '_')[0] AS channel, SUBSTRING(campaign, INSTR(campaign, '_') + 1) AS creative FROM ad_click;
SELECT * FROM campaign_parts ORDER BY campaign;
SELECT channel, COUNT(*) AS campaigns FROM campaign_parts GROUP BY channel ORDER BY channel;
SELECT campaign, INITCAP(REPLACE(campaign, '_', ' ')) AS title, LENGTH(campaign) AS len, REVERSE(campaign) AS rev FROM ad_click ORDER BY click_id;
SELECT dt, SUM(cost) AS cost, SUM(SUM(cost)) OVER (ORDER BY dt) AS spent FROM ad_click GROUP BY dt ORDER BY dt;
SELECT user_id, COLLECT_LIST(campaign) AS path FROM (SELECT user_id, campaign FROM ad_click WHERE user_id = 'u3') p GROUP BY user_id ORDER BY user_id;
SELECT click_id, cost FROM ad_click WHERE cost > (SELECT AVG(cost) FROM ad_click) ORDER BY click_id;
SELECT click_id FROM ad_click WHERE user_id NOT IN (SELECT user_id FROM conversion WHERE user_id IS NOT NULL) ORDER BY click_id;
SELECT click_id, date_format(clicked_at, 'yyyy/MM/dd') AS d, clicked_at + INTERVAL 1 HOUR AS later, datediff('2024-11-10', dt) AS age FROM ad_click ORDER BY click_id;
SELECT months_between(TIMESTAMP '2024-11-30 00:00:00', clicked_at) AS m FROM ad_click ORDER BY click_id;
INSERT OVERWRITE TABLE attributed PARTITION (dt='2024-11-03') SELECT user_id, click_id, campaign, value * 2, hours_between FROM attributed WHERE dt='2024-11-03' AND click_id IS NOT NULL;
SELECT dt, COUNT(*) AS n, SUM(value) AS value FROM attributed GROUP BY dt ORDER BY dt;
SHOW PARTITIONS attributed;
DROP VIEW IF EXISTS campaign_parts;
DROP TABLE attributed;
