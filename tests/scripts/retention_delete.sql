-- A table keeps three days: older partitions are deleted, and a day is loaded again.
CREATE TABLE measurement (sensor STRING, value DOUBLE) PARTITIONED BY (dt STRING) STORED AS PARQUET;
INSERT INTO measurement PARTITION (dt = '2024-06-01') VALUES ('a', 1.0), ('b', 2.0);
INSERT INTO measurement PARTITION (dt = '2024-06-02') VALUES ('a', 3.0);
INSERT INTO measurement PARTITION (dt = '2024-06-03') VALUES ('a', 4.0), ('b', 5.0), ('c', 6.0);
INSERT INTO measurement PARTITION (dt = '2024-06-04') VALUES ('c', 7.0);
DELETE FROM measurement WHERE dt < '2024-06-02';
SELECT dt, COUNT(*) AS n FROM measurement GROUP BY dt ORDER BY dt;
DELETE FROM measurement WHERE dt IN ('2024-06-03', '2024-05-01');
SELECT dt, SUM(value) AS total FROM measurement GROUP BY dt ORDER BY dt;
INSERT OVERWRITE TABLE measurement PARTITION (dt = '2024-06-03') VALUES ('c', 70.0);
SELECT * FROM measurement ORDER BY dt, sensor;
DELETE FROM measurement WHERE dt = '2024-06-02' OR dt > '2024-06-03';
SELECT COUNT(*) AS n, MIN(dt) AS oldest FROM measurement;
DELETE FROM measurement;
SELECT COUNT(*) AS n FROM measurement;
