-- Full comparison of two deliveries of the product catalog, with an audit table and a run variable.
SET hivevar:run_date=2024-12-02;
SET hive.exec.dynamic.partition.mode=nonstrict;
CREATE TABLE product_delivery (sku STRING, name STRING, price STRING, attributes STRING) PARTITIONED BY (dt STRING)
ROW FORMAT DELIMITED FIELDS TERMINATED BY ';' STORED AS TEXTFILE;
INSERT OVERWRITE TABLE product_delivery PARTITION (dt='2024-12-01') VALUES
  ('S1', 'Lamp',  '19,90', 'color=red|watt=40'),
  ('S2', 'Chair', '49,00', 'color=black'),
  ('S3', 'Desk',  '',      NULL);
INSERT OVERWRITE TABLE product_delivery PARTITION (dt='2024-12-02') VALUES
  ('S1', 'Lamp',   '21,90', 'color=red|watt=40'),
  ('S3', 'Desk',   '199,5', 'color=oak'),
  ('S4', ' Shelf ', '79,00', 'color=white|watt=');

CREATE TABLE product_clean (sku STRING, name STRING, price DECIMAL(10,2), color STRING, watt INT) PARTITIONED BY (dt STRING) STORED AS PARQUET;
INSERT OVERWRITE TABLE product_clean PARTITION (dt)
SELECT sku, TRIM(name), CAST(NULLIF(REGEXP_REPLACE(price, ',', '.'), '') AS DECIMAL(10,2)),
       REGEXP_EXTRACT(attributes, 'color=([a-z]+)', 1),
       CAST(NULLIF(REGEXP_EXTRACT(attributes, 'watt=([0-9]*)', 1), '') AS INT),
       dt
FROM product_delivery;
SELECT * FROM product_clean ORDER BY dt, sku;

CREATE TABLE product_change (sku STRING, change STRING, detail STRING) PARTITIONED BY (dt STRING) STORED AS PARQUET;
INSERT OVERWRITE TABLE product_change PARTITION (dt='2024-12-02')
SELECT COALESCE(o.sku, n.sku) AS sku,
       CASE WHEN o.sku IS NULL THEN 'added' WHEN n.sku IS NULL THEN 'removed' ELSE 'changed' END AS change,
       CONCAT(COALESCE(CAST(o.price AS STRING), '?'), ' -> ', COALESCE(CAST(n.price AS STRING), '?')) AS detail
FROM (SELECT * FROM product_clean WHERE dt = '2024-12-01') o
FULL OUTER JOIN (SELECT * FROM product_clean WHERE dt = '2024-12-02') n ON o.sku = n.sku
WHERE o.sku IS NULL OR n.sku IS NULL OR NOT (o.price <=> n.price);
SELECT sku, change, detail FROM product_change WHERE dt = '2024-12-02' ORDER BY sku;

CREATE TABLE load_audit (table_name STRING, row_count BIGINT, checksum BIGINT) PARTITIONED BY (run_date STRING) STORED AS ORC;
INSERT INTO TABLE load_audit PARTITION (run_date='2024-12-02')
SELECT 'product_clean', COUNT(*), SUM(CAST(price * 100 AS BIGINT)) FROM product_clean WHERE dt = '2024-12-02'
UNION ALL
SELECT 'product_change', COUNT(*), NULL FROM product_change WHERE dt = '2024-12-02';
SELECT * FROM load_audit ORDER BY table_name;

SELECT n.sku, n.price - o.price AS diff, ROUND((n.price - o.price) / o.price * 100, 1) AS pct
FROM product_clean n JOIN product_clean o ON o.sku = n.sku AND o.dt = '2024-12-01'
WHERE n.dt = '2024-12-02' AND o.price IS NOT NULL
ORDER BY n.sku;
SELECT change, COUNT(*) AS n FROM product_change GROUP BY change ORDER BY n DESC, change;
SELECT sku, str_to_map(attributes, '\\|', '=')['color'] AS color FROM product_delivery WHERE attributes IS NOT NULL AND dt = '2024-12-02' ORDER BY sku;
SELECT sku FROM product_clean WHERE dt = '2024-12-01' INTERSECT SELECT sku FROM product_clean WHERE dt = '2024-12-02' ORDER BY sku;
SELECT sku FROM product_clean WHERE dt = '2024-12-02' MINUS SELECT sku FROM product_clean WHERE dt = '2024-12-01' ORDER BY sku;
SELECT dt, format_number(SUM(price), 2) AS total, MIN(name) AS first_name, COUNT(color) AS colored FROM product_clean GROUP BY dt ORDER BY dt;
SELECT sku, LOWER(CONCAT(SUBSTR(name, 1, 3), '-', RPAD(sku, 4, '0'))) AS code, hash(sku) IS NOT NULL AS hashed FROM product_clean WHERE dt = '2024-12-02' ORDER BY sku;
SELECT sku, translate(price, ',', '.') AS p, price RLIKE '^[0-9]+,[0-9]{2}$' AS well_formed, ascii(sku) AS a FROM product_delivery ORDER BY dt, sku;
SELECT sku, COALESCE(watt, 0) AS watt, CAST(watt AS STRING) IS NULL AS no_watt FROM product_clean WHERE dt = '2024-12-01' ORDER BY watt DESC NULLS LAST, sku;
SHOW PARTITIONS load_audit;
ALTER TABLE product_delivery DROP IF EXISTS PARTITION (dt='2024-12-01');
SELECT COUNT(*) AS n FROM product_delivery;
DROP TABLE product_change;
