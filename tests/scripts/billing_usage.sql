-- Usage of a metered service, rated per tier; temporary tables and inserts with column lists.
SET spark.sql.sources.partitionOverwriteMode = dynamic;
SET hive.stats.autogather=false;
CREATE TABLE usage_record (account_id INT, meter STRING, quantity BIGINT, used_at TIMESTAMP) USING PARQUET PARTITIONED BY (usage_day STRING);
CREATE TABLE tier (meter STRING, from_quantity BIGINT, unit_price DECIMAL(12,6)) USING PARQUET;
INSERT INTO tier (meter, from_quantity, unit_price) VALUES ('calls', 0, 0.01), ('calls', 1000, 0.005), ('storage', 0, 0.000023);
INSERT INTO usage_record PARTITION (usage_day)
SELECT account_id, meter, quantity, CAST(used_at AS TIMESTAMP), SUBSTRING(used_at, 1, 10)
FROM VALUES (1, 'calls', 400L, '2024-05-30 23:00:00'), (1, 'calls', 900L, '2024-05-31 01:00:00'),
            (2, 'calls', 10L, '2024-05-31 02:00:00'), (2, 'storage', 5000000L, '2024-05-31 00:00:00'),
            (2, 'storage', 7000000L, '2024-06-01 00:00:00') AS v(account_id, meter, quantity, used_at);
SHOW PARTITIONS usage_record;

CREATE TEMPORARY TABLE may_usage AS
SELECT account_id, meter, SUM(quantity) AS quantity
FROM usage_record
WHERE usage_day >= '2024-05-01' AND usage_day < '2024-06-01'
GROUP BY account_id, meter;
SELECT * FROM may_usage ORDER BY account_id, meter;

CREATE OR REPLACE VIEW tier_range AS
SELECT meter, from_quantity,
       LEAD(from_quantity, 1, 9223372036854775807) OVER (PARTITION BY meter ORDER BY from_quantity) AS to_quantity,
       unit_price
FROM tier;
SELECT * FROM tier_range ORDER BY meter, from_quantity;

CREATE TABLE invoice_line (account_id INT, meter STRING, billed BIGINT, amount DECIMAL(18,2)) USING PARQUET PARTITIONED BY (invoice_month STRING);
INSERT OVERWRITE TABLE invoice_line PARTITION (invoice_month = '2024-05')
SELECT u.account_id, u.meter,
       LEAST(u.quantity, t.to_quantity) - t.from_quantity,
       CAST((LEAST(u.quantity, t.to_quantity) - t.from_quantity) * t.unit_price AS DECIMAL(18,2))
FROM usage_record r
JOIN (SELECT account_id, meter, SUM(quantity) AS quantity FROM usage_record
      WHERE usage_day LIKE '2024-05%' GROUP BY account_id, meter) u
  ON u.account_id = r.account_id AND u.meter = r.meter
JOIN tier_range t ON t.meter = u.meter AND u.quantity > t.from_quantity
WHERE r.usage_day LIKE '2024-05%'
GROUP BY u.account_id, u.meter, u.quantity, t.from_quantity, t.to_quantity, t.unit_price;
SELECT account_id, meter, billed, amount FROM invoice_line ORDER BY account_id, meter, billed;

SELECT account_id, SUM(amount) AS total, concat_ws(', ', sort_array(collect_set(meter))) AS meters
FROM invoice_line WHERE invoice_month = '2024-05' GROUP BY account_id ORDER BY account_id;
SELECT i.account_id, i.meter, i.amount, i.amount / SUM(i.amount) OVER () AS part FROM invoice_line i ORDER BY i.account_id, i.meter, i.amount;
SELECT account_id, quantity, SUM(quantity) OVER (PARTITION BY account_id ORDER BY used_at RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW) AS last_day
FROM usage_record ORDER BY account_id, used_at, quantity;
SELECT account_id, AVG(quantity) OVER (PARTITION BY meter ORDER BY used_at ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS moving
FROM usage_record WHERE meter = 'calls' ORDER BY used_at;
SELECT meter, shiftleft(1, 3) AS eight, quantity div 1000 AS thousands, quantity % 1000 AS rest, CAST(quantity AS DOUBLE) / 3 AS third
FROM usage_record ORDER BY used_at, quantity;
SELECT log10(quantity) AS l, sqrt(quantity) AS r, power(2, 3) AS p, exp(0) AS e, sign(quantity) AS s FROM usage_record WHERE quantity = 10;
SELECT meter, NULL AS nothing, 1.5 AS d, 2e0 AS f, 'it''s' AS t, "double" AS u FROM tier ORDER BY meter, from_quantity LIMIT 1;
SELECT bround(2.5) AS b, round(2.5) AS r, round(-1.45, 1) AS n, truncate_me.x FROM (SELECT 1 AS x) truncate_me;
INSERT OVERWRITE TABLE usage_record PARTITION (usage_day = '2024-06-01') SELECT account_id, meter, quantity + 1, used_at FROM usage_record WHERE usage_day = '2024-06-01';
SELECT usage_day, MAX(quantity) AS q FROM usage_record GROUP BY usage_day ORDER BY usage_day DESC;
ALTER TABLE invoice_line DROP IF EXISTS PARTITION (invoice_month = '2024-04');
DROP TABLE may_usage;
DROP VIEW tier_range;
