-- Slowly changing dimension, type 2: closes changed rows and opens new ones, in a full rewrite.
SET hive.exec.dynamic.partition.mode=nonstrict;
SET hive.auto.convert.join=true;

DROP TABLE IF EXISTS stg_customer;
CREATE TABLE stg_customer (
  customer_id INT,
  name        STRING,
  city        STRING,
  segment     STRING
)
PARTITIONED BY (snapshot STRING)
ROW FORMAT DELIMITED FIELDS TERMINATED BY ','
STORED AS TEXTFILE;

INSERT INTO stg_customer PARTITION (snapshot = '2024-01-01') VALUES
  (1, 'Ada',   'Turin',  'gold'),
  (2, 'Bruno', 'Milan',  'silver'),
  (3, 'Carla', NULL,     'bronze');
INSERT INTO stg_customer PARTITION (snapshot = '2024-01-02') VALUES
  (1, 'Ada',   'Turin',  'platinum'),
  (3, 'Carla', 'Naples', 'bronze'),
  (4, 'Dario', 'Rome',   'silver');

CREATE TABLE dim_customer (
  customer_key STRING,
  customer_id  INT,
  name         STRING,
  city         STRING,
  segment      STRING,
  valid_from   DATE,
  valid_to     DATE,
  is_current   INT
)
STORED AS PARQUET;

INSERT OVERWRITE TABLE dim_customer
SELECT md5(concat_ws('|', cast(customer_id AS STRING), snapshot)),
       customer_id, name, city, segment,
       to_date(snapshot), to_date('9999-12-31'), 1
FROM stg_customer
WHERE snapshot = '2024-01-01';

SELECT customer_key, customer_id, valid_from, valid_to FROM dim_customer ORDER BY customer_id;

CREATE TABLE dim_customer_new LIKE dim_customer;

WITH incoming AS (
  SELECT customer_id, name, city, segment, to_date(snapshot) AS snapshot_date,
         md5(concat_ws('|', cast(customer_id AS STRING), snapshot)) AS customer_key
  FROM stg_customer
  WHERE snapshot = '2024-01-02'
),
current_rows AS (
  SELECT * FROM dim_customer WHERE is_current = 1
),
closed_rows AS (
  SELECT * FROM dim_customer WHERE is_current = 0
)
INSERT OVERWRITE TABLE dim_customer_new
SELECT customer_key, customer_id, name, city, segment, valid_from, valid_to, is_current
FROM closed_rows
UNION ALL
SELECT c.customer_key, c.customer_id, c.name, c.city, c.segment, c.valid_from,
       CASE WHEN i.customer_id IS NULL THEN c.valid_to
            WHEN NOT (c.city <=> i.city) OR NOT (c.segment <=> i.segment) THEN date_sub(i.snapshot_date, 1)
            ELSE c.valid_to END,
       CASE WHEN i.customer_id IS NOT NULL AND (NOT (c.city <=> i.city) OR NOT (c.segment <=> i.segment)) THEN 0
            ELSE 1 END
FROM current_rows c
LEFT JOIN incoming i ON c.customer_id = i.customer_id
UNION ALL
SELECT i.customer_key, i.customer_id, i.name, i.city, i.segment, i.snapshot_date, to_date('9999-12-31'), 1
FROM incoming i
LEFT OUTER JOIN current_rows c ON c.customer_id = i.customer_id
WHERE c.customer_id IS NULL OR NOT (c.city <=> i.city) OR NOT (c.segment <=> i.segment);

SELECT customer_id, name, city, segment, valid_from, valid_to, is_current
FROM dim_customer_new
ORDER BY customer_id, valid_from;

-- Swap the tables.
DROP TABLE dim_customer;
ALTER TABLE dim_customer_new RENAME TO dim_customer;

SELECT is_current, COUNT(*) FROM dim_customer GROUP BY is_current ORDER BY is_current;

-- As of a date
SELECT customer_id, segment
FROM dim_customer
WHERE '2024-01-01' BETWEEN valid_from AND valid_to
ORDER BY customer_id;

SELECT customer_id, datediff(valid_to, valid_from) AS days_valid
FROM dim_customer WHERE is_current = 0 ORDER BY customer_id;

ALTER TABLE stg_customer DROP PARTITION (snapshot < '2024-01-02');
SHOW PARTITIONS stg_customer;
