-- Partitions that are added and repaired by hand, and swaps by renaming.
CREATE DATABASE IF NOT EXISTS lake;
USE lake;
CREATE TABLE IF NOT EXISTS visit (visitor STRING, minutes INT) PARTITIONED BY (country STRING, dt STRING) STORED AS PARQUET;
ALTER TABLE visit ADD IF NOT EXISTS PARTITION (country='de', dt='2024-10-01');
ALTER TABLE visit ADD IF NOT EXISTS PARTITION (country='de', dt='2024-10-01') PARTITION (country='fr', dt='2024-10-01');
SHOW PARTITIONS visit;
INSERT OVERWRITE TABLE visit PARTITION (country='de', dt='2024-10-01') VALUES ('x', 10), ('y', 20);
INSERT INTO TABLE visit PARTITION (country='fr', dt='2024-10-02') SELECT 'z', 30;
INSERT INTO TABLE visit PARTITION (country='de', dt) SELECT 'w', 5, '2024-10-03';
INSERT INTO visit SELECT 'v', 7, 'be', '2024-10-03';
MSCK REPAIR TABLE visit;
SHOW PARTITIONS visit PARTITION (country='de');
SELECT country, dt, COUNT(*) AS visits, SUM(minutes) AS minutes FROM visit GROUP BY country, dt ORDER BY country, dt;

ALTER TABLE visit DROP IF EXISTS PARTITION (country='fr', dt='2024-10-01'), PARTITION (country='fr', dt='2024-10-09');
ALTER TABLE visit PARTITION (country='fr', dt='2024-10-02') RENAME TO PARTITION (country='fr', dt='2024-10-01');
SELECT visitor, country, dt FROM visit WHERE dt <> '2024-10-03' ORDER BY visitor;

CREATE TABLE visit_backup LIKE visit;
INSERT OVERWRITE TABLE visit_backup PARTITION (country, dt) SELECT visitor, minutes, country, dt FROM visit;
CREATE TABLE visit_text
ROW FORMAT DELIMITED FIELDS TERMINATED BY '\001'
STORED AS TEXTFILE
AS SELECT visitor, minutes, dt FROM visit WHERE country = 'de';
SELECT * FROM visit_text ORDER BY visitor;
ALTER TABLE visit RENAME TO visit_old;
ALTER TABLE visit_backup RENAME TO visit;
SELECT COUNT(*) FROM visit;
SELECT COUNT(*) FROM lake.visit_old v WHERE v.country IN ('de', 'fr') AND v.dt >= '2024-10-01';
DROP TABLE visit_old;
SHOW TABLES IN lake;
SHOW TABLES LIKE 'visit*';
CREATE EXTERNAL TABLE IF NOT EXISTS lake.no_location (a INT) STORED AS PARQUET;
DESCRIBE lake.visit;
DESC FORMATTED visit;
DESCRIBE DATABASE lake;
SHOW DATABASES;
SHOW CREATE TABLE visit;
ALTER TABLE visit CHANGE COLUMN minutes minutes INT COMMENT 'rounded down';
ALTER TABLE visit SET TBLPROPERTIES ('comment' = 'visits of the site');
REFRESH TABLE visit;
ANALYZE TABLE visit PARTITION (country, dt) COMPUTE STATISTICS;
SELECT visitor, minutes FROM visit WHERE country = 'de' AND dt = '2024-10-01' ORDER BY minutes DESC LIMIT 1;
SELECT dt, MAX(minutes) AS longest FROM visit GROUP BY dt HAVING MAX(minutes) >= 7 ORDER BY dt;
TRUNCATE TABLE visit_text;
DROP TABLE IF EXISTS visit_text;
USE default;
DROP DATABASE IF EXISTS lake CASCADE;
