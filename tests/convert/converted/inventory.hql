set hive.exec.parallel=true;
set hive.groupby.skewindata=true;
DROP TABLE IF EXISTS inv;
CREATE TABLE inv (wh STRING, sku STRING, qty INT) PARTITIONED BY (dt STRING) STORED AS ORC;
INSERT INTO inv PARTITION (dt='2024-09-01') VALUES ('n','a',3),('n','b',0),('s','a',1);
INSERT INTO inv PARTITION (dt='2024-09-02') VALUES ('n','a',2),('s',NULL,NULL);
INSERT OVERWRITE TABLE inv PARTITION (dt='2024-09-03') IF NOT EXISTS SELECT 'n', 'c', 4 UNION ALL SELECT 's', 'a', 9;
SET rewriter.partition_overwrite_mode = static /* rewriter: a partition without a row goes, too */;
INSERT OVERWRITE TABLE inv /* rewriter: was DELETE: the table keeps the other rows */
SELECT * FROM inv WHERE (qty = 0) IS NOT TRUE;
RESET rewriter.partition_overwrite_mode;
INSERT OVERWRITE TABLE inv PARTITION (dt = '2024-09-02') /* rewriter: was DELETE: the partition keeps the other rows */
SELECT wh, sku, qty FROM inv WHERE dt = '2024-09-02' AND (dt = '2024-09-02' AND sku = 'a') IS NOT TRUE;
SET rewriter.partition_overwrite_mode = static /* rewriter: a partition without a row goes, too */;
INSERT OVERWRITE TABLE inv /* rewriter: was DELETE: the table keeps the other rows */
SELECT * FROM inv i WHERE (i.wh = 's' AND i.qty > 0) IS NOT TRUE;
RESET rewriter.partition_overwrite_mode;
SELECT dt, wh, sku, qty FROM inv ORDER BY dt, wh, sku;
SELECT a.wh, try_divide(a.qty, b.qty) /* rewriter: was /: NULL if the divisor is 0 */ AS rate FROM inv a JOIN inv b ON a.wh = b.wh AND a.dt > b.dt ORDER BY a.wh, rate;
-- rewriter: removed: a statement sees one snapshot
-- LOCK TABLE inv SHARED
-- rewriter: removed: a statement sees one snapshot
-- UNLOCK TABLE inv
SHOW PARTITIONS inv;
DESCRIBE inv;
