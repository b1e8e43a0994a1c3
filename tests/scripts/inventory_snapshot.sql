-- Stock at the end of each day: yesterday's snapshot plus the movements of the day.
SET spark.sql.sources.partitionOverwriteMode=dynamic;
SET spark.sql.files.maxRecordsPerFile=1000000;
CREATE OR REPLACE VIEW warehouse_names AS SELECT 'W1' AS wh, 'Hamburg' AS city UNION ALL SELECT 'W2', 'Lyon';
CREATE TABLE movement (wh CHAR(2), sku VARCHAR(12), qty INT, kind STRING) USING PARQUET PARTITIONED BY (dt DATE);
INSERT INTO movement PARTITION (dt = DATE '2024-09-01') VALUES
 ('W1', 'bolt', 100, 'in'), ('W1', 'bolt', -30, 'out'), ('W2', 'nut', 500, 'in');
INSERT INTO movement PARTITION (dt = '2024-09-02') VALUES
 ('W1', 'bolt', -20, 'out'), ('W2', 'nut', -500, 'out'), ('W1', 'gear', 5, 'in');
CREATE TABLE stock (wh CHAR(2), sku VARCHAR(12), qty BIGINT) USING PARQUET PARTITIONED BY (dt DATE);

INSERT OVERWRITE TABLE stock PARTITION (dt = '2024-09-01')
SELECT wh, sku, SUM(qty) FROM movement WHERE dt = '2024-09-01' GROUP BY wh, sku;

INSERT OVERWRITE TABLE stock PARTITION (dt = '2024-09-02')
SELECT COALESCE(y.wh, m.wh), COALESCE(y.sku, m.sku), COALESCE(y.qty, 0) + COALESCE(m.qty, 0)
FROM (SELECT wh, sku, qty FROM stock WHERE dt = date_sub(DATE '2024-09-02', 1)) y
FULL OUTER JOIN (SELECT wh, sku, SUM(qty) AS qty FROM movement WHERE dt = '2024-09-02' GROUP BY wh, sku) m
ON y.wh = m.wh AND y.sku = m.sku;
SELECT wh, sku, qty, dt FROM stock ORDER BY dt, wh, sku;

SELECT s.dt, w.city, s.sku, s.qty
FROM stock s JOIN warehouse_names w ON w.wh = s.wh
WHERE s.qty <> 0
ORDER BY s.dt DESC, w.city, s.sku;

SELECT sku, MAX(CASE WHEN dt = '2024-09-01' THEN qty END) AS d1, MAX(CASE WHEN dt = '2024-09-02' THEN qty END) AS d2
FROM stock GROUP BY sku ORDER BY sku;

MERGE INTO stock USING movement ON stock.sku = movement.sku WHEN MATCHED THEN DELETE;
UPDATE stock SET qty = 0 WHERE sku = 'nut';
DELETE FROM stock WHERE qty = 0;

INSERT OVERWRITE TABLE stock PARTITION (dt = '2024-09-02')
SELECT wh, sku, qty FROM stock WHERE dt = '2024-09-02' AND qty <> 0;
SELECT wh, sku, qty FROM stock WHERE dt = '2024-09-02' ORDER BY wh, sku;
SHOW PARTITIONS stock;
SHOW TABLES;
SHOW CREATE TABLE stock;
SHOW COLUMNS IN stock;
DESCRIBE EXTENDED stock;
DESCRIBE FORMATTED stock PARTITION (dt = '2024-09-01');
ALTER TABLE stock ADD COLUMNS (counted_by STRING COMMENT 'who counted');
INSERT INTO stock PARTITION (dt = '2024-09-03') VALUES ('W1', 'gear', 6, 'ann');
SELECT sku, qty, counted_by, dt FROM stock WHERE sku = 'gear' ORDER BY dt;
INSERT INTO stock (wh, sku, qty, dt) VALUES ('W2', 'bolt', 1, DATE '2024-09-03');
SELECT wh, sku, counted_by FROM stock WHERE dt > '2024-09-02' ORDER BY wh, sku;
SELECT dt, length(wh) AS l, upper(sku) AS s FROM stock WHERE wh = 'W1' AND dt IN ('2024-09-01', '2024-09-03') ORDER BY dt, s;
SELECT kind, SUM(ABS(qty)) AS moved, COUNT_IF(qty < 0) AS outs, ANY_VALUE(kind) AS k FROM movement GROUP BY kind ORDER BY kind;
ALTER TABLE stock SET TBLPROPERTIES ('owner.team' = 'logistics');
SHOW TBLPROPERTIES stock;
DROP VIEW warehouse_names;
