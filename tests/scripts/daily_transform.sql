-- A table that is partitioned by the days of its time.
CREATE TABLE trip (id INT, rider STRING, began TIMESTAMP, km DOUBLE) USING parquet PARTITIONED BY (days(began));
INSERT INTO trip VALUES (1, 'r1', TIMESTAMP '2024-07-01 23:59:59', 2.5), (2, 'r2', TIMESTAMP '2024-07-02 00:00:00', 4.0), (3, 'r1', TIMESTAMP '2024-07-02 12:30:00', 1.25), (4, 'r3', NULL, 9.0);
INSERT INTO trip SELECT id + 10, rider, began + INTERVAL 1 DAY, km * 2 FROM trip WHERE began IS NOT NULL;
SELECT * FROM trip ORDER BY id;
SELECT to_date(began) AS day, COUNT(*) AS trips, SUM(km) AS km FROM trip GROUP BY to_date(began) ORDER BY day;
SELECT id FROM trip WHERE began >= TIMESTAMP '2024-07-02 00:00:00' AND began < TIMESTAMP '2024-07-03 00:00:00' ORDER BY id;
SELECT id FROM trip WHERE to_date(began) = DATE '2024-07-01' OR began IS NULL ORDER BY id;
SELECT rider, MAX(began) AS last_trip FROM trip GROUP BY rider ORDER BY rider;
CREATE TABLE trip_month AS SELECT date_format(began, 'yyyy-MM') AS month, SUM(km) AS km FROM trip GROUP BY date_format(began, 'yyyy-MM');
SELECT * FROM trip_month ORDER BY month;
