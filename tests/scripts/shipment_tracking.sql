-- Shipments: arrays, maps and structs of scans, late deliveries, and an archive by state.
SET hive.exec.dynamic.partition=true;
SET hive.exec.dynamic.partition.mode=nonstrict;
SET hive.exec.max.dynamic.partitions.pernode=500;
CREATE TABLE shipment (
  shipment_id STRING,
  promised DATE,
  delivered DATE,
  weight_kg FLOAT,
  stops ARRAY<STRING>,
  labels MAP<STRING, STRING>
) PARTITIONED BY (carrier STRING) STORED AS PARQUET;
INSERT INTO shipment PARTITION (carrier = 'blue')
SELECT 'p1', DATE '2024-02-27', DATE '2024-03-01', CAST(1.5 AS FLOAT), array('HAM', 'FRA', 'MUC'), map('fragile', 'yes', 'zone', '2');
INSERT INTO shipment PARTITION (carrier = 'blue')
SELECT 'p2', DATE '2024-03-02', NULL, CAST(0.25 AS FLOAT), array('HAM'), map('zone', '1');
INSERT INTO shipment PARTITION (carrier = 'green')
SELECT 'p3', DATE '2024-03-03', DATE '2024-03-03', CAST(10 AS FLOAT), array('LYS', 'PAR'), map('zone', '3');

SELECT shipment_id, stops[0] AS origin, size(stops) AS stops, labels['zone'] AS zone FROM shipment ORDER BY shipment_id;
SELECT shipment_id, stop FROM shipment LATERAL VIEW explode(stops) s AS stop ORDER BY shipment_id, stop;
SELECT shipment_id, key, value FROM shipment LATERAL VIEW explode(labels) l AS key, value ORDER BY shipment_id, key;

CREATE TABLE delivery_report (shipments BIGINT, late BIGINT, avg_delay DOUBLE, heaviest FLOAT) PARTITIONED BY (carrier STRING) STORED AS PARQUET;
INSERT OVERWRITE TABLE delivery_report PARTITION (carrier)
SELECT COUNT(*),
       SUM(CASE WHEN delivered > promised OR delivered IS NULL THEN 1 ELSE 0 END),
       AVG(DATEDIFF(delivered, promised)),
       MAX(weight_kg),
       carrier
FROM shipment
GROUP BY carrier;
SELECT * FROM delivery_report ORDER BY carrier;

CREATE TABLE scan (shipment_id STRING, place STRING, scanned_at TIMESTAMP) PARTITIONED BY (carrier STRING, day DATE) STORED AS PARQUET;
INSERT OVERWRITE TABLE scan PARTITION (carrier = 'blue', day)
SELECT 'p1', 'HAM', TIMESTAMP '2024-02-28 06:00:00', DATE '2024-02-28'
UNION ALL SELECT 'p1', 'FRA', TIMESTAMP '2024-02-29 02:00:00', DATE '2024-02-29'
UNION ALL SELECT 'p1', 'MUC', TIMESTAMP '2024-03-01 07:30:00', DATE '2024-03-01';
INSERT INTO TABLE scan PARTITION (carrier = 'green', day = '2024-03-03') VALUES ('p3', 'LYS', TIMESTAMP '2024-03-03 01:00:00'), ('p3', 'PAR', TIMESTAMP '2024-03-03 09:00:00');
SHOW PARTITIONS scan;
SELECT shipment_id, place, scanned_at,
       CAST((CAST(scanned_at AS DOUBLE) - CAST(LAG(scanned_at) OVER (PARTITION BY shipment_id ORDER BY scanned_at) AS DOUBLE)) / 3600 AS DECIMAL(10,1)) AS hours
FROM scan ORDER BY shipment_id, scanned_at;
SELECT shipment_id, CONCAT_WS('-', COLLECT_LIST(place)) AS route
FROM (SELECT shipment_id, place FROM scan WHERE shipment_id = 'p3' AND place = 'LYS') x GROUP BY shipment_id ORDER BY shipment_id;
SELECT day, COUNT(*) AS scans, MIN(scanned_at) AS first_scan FROM scan WHERE day >= '2024-02-29' AND day <= DATE '2024-03-02' GROUP BY day ORDER BY day;
SELECT named_struct('id', shipment_id, 'n', size(stops)).id AS id FROM shipment ORDER BY id;
SELECT shipment_id, IF(array_contains(stops, 'FRA'), 'via hub', 'direct') AS how FROM shipment ORDER BY shipment_id;
SELECT shipment_id, date_sub(promised, 1) AS d1, date_add(promised, 2) AS d2, add_months('2024-01-31', 1) AS m, last_day(promised) AS l FROM shipment ORDER BY shipment_id;
SELECT carrier, CAST(SUM(weight_kg) AS DECIMAL(10,2)) AS kg, COUNT(delivered) AS delivered FROM shipment GROUP BY carrier ORDER BY carrier;
SELECT carrier, shipment_id FROM shipment DISTRIBUTE BY carrier SORT BY carrier, shipment_id;
SELECT carrier FROM shipment CLUSTER BY carrier LIMIT 0;
CREATE TABLE shipment_done STORED AS ORC AS SELECT shipment_id, carrier, delivered FROM shipment WHERE delivered IS NOT NULL;
SELECT * FROM shipment_done ORDER BY shipment_id;
ALTER TABLE scan DROP IF EXISTS PARTITION (carrier = 'blue', day = '2024-02-28');
ALTER TABLE scan DROP PARTITION (carrier = 'green');
SHOW PARTITIONS scan;
DROP TABLE shipment;
