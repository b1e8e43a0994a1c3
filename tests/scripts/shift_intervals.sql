-- Shifts of workers: lengths as intervals, overtime, gaps, other zones.
CREATE TABLE shift (worker STRING, began TIMESTAMP, ended TIMESTAMP) PARTITIONED BY (dt DATE) STORED AS PARQUET;
INSERT OVERWRITE TABLE shift PARTITION (dt = DATE '2024-03-30') VALUES
  ('ada', TIMESTAMP '2024-03-30 08:00:00', TIMESTAMP '2024-03-30 16:30:00'),
  ('bob', TIMESTAMP '2024-03-30 22:00:00', TIMESTAMP '2024-03-31 06:00:30');
INSERT OVERWRITE TABLE shift PARTITION (dt = DATE '2024-03-31') VALUES
  ('ada', TIMESTAMP '2024-03-31 09:15:00', TIMESTAMP '2024-03-31 12:00:00.5'), ('cas', TIMESTAMP '2024-03-31 00:00:00', NULL);

SELECT worker, ended - began AS length FROM shift ORDER BY began, worker;
SELECT worker, ended - began > INTERVAL '8' HOUR AS is_long, began + INTERVAL '1' DAY AS next_day FROM shift ORDER BY began, worker;
SELECT worker, CAST(unix_timestamp(ended) - unix_timestamp(began) AS BIGINT) AS seconds, round((unix_timestamp(ended) - unix_timestamp(began)) / 3600, 2) AS hours FROM shift ORDER BY began, worker;
SELECT dt, SUM(ended - began) AS worked FROM shift GROUP BY dt ORDER BY dt;
SELECT worker, began - lag(ended) OVER (PARTITION BY worker ORDER BY began) AS pause FROM shift ORDER BY worker, began;
SELECT worker, extract(HOUR FROM ended - began) AS h, extract(MINUTE FROM ended - began) AS m FROM shift WHERE ended IS NOT NULL ORDER BY began;
SELECT worker, convert_timezone('UTC', 'Europe/Oslo', CAST(began AS TIMESTAMP_NTZ)) AS local FROM shift ORDER BY began, worker;
SELECT worker, from_utc_timestamp(began, 'Europe/Oslo') AS oslo, to_utc_timestamp(began, 'Europe/Oslo') AS utc FROM shift ORDER BY began, worker;
SELECT DATE '2024-03-31' - dt AS days_before, datediff(DATE '2024-03-31', dt) AS d, COUNT(*) AS n FROM shift GROUP BY dt ORDER BY dt;
SELECT INTERVAL '1' DAY + INTERVAL '2:30' HOUR TO MINUTE AS sum_of_two, INTERVAL '2' HOUR * 3 AS three_times, make_dt_interval(0, 1, 30) AS made;
CREATE TABLE worked AS
SELECT worker, SUM(unix_timestamp(ended) - unix_timestamp(began)) AS seconds FROM shift GROUP BY worker;
SELECT worker, coalesce(seconds, 0) AS seconds, CAST(CAST(seconds AS DOUBLE) / 3600 AS STRING) AS hours FROM worked ORDER BY worker;
SELECT date_format(began, 'EEE dd MMM yyyy HH:mm') AS label, weekofyear(began) AS week, dayofweek(began) AS dow FROM shift ORDER BY began, worker;
