-- Loads the orders of the last nights from the landing table into the daily fact table.
-- Owner: commerce data team. Runs at 02:30.
SET hive.exec.dynamic.partition=true;
SET hive.exec.dynamic.partition.mode=nonstrict;
SET hive.exec.max.dynamic.partitions=2000;
SET mapreduce.job.queuename=nightly;
SET hivevar:keep_days=30;

CREATE DATABASE IF NOT EXISTS ods;
DROP TABLE IF EXISTS ods.orders_landing;
CREATE TABLE IF NOT EXISTS ods.orders_landing (
    order_id    BIGINT,
    customer_id INT,
    ordered_at  STRING COMMENT 'as the shop sent it',
    status      STRING,
    amount      DOUBLE,
    coupon      STRING
)
COMMENT 'raw orders'
PARTITIONED BY (load_date STRING)
ROW FORMAT DELIMITED
FIELDS TERMINATED BY '\t'
LINES TERMINATED BY '\n'
STORED AS TEXTFILE;

INSERT OVERWRITE TABLE ods.orders_landing PARTITION (load_date = '2024-03-02')
VALUES
    (1001, 7, '2024-03-01 08:12:44', 'paid',     20.5,  NULL),
    (1002, 8, '2024-03-01 23:59:59', 'pending',  99.0,  'SPRING10'),
    (1003, 7, '2024-03-02 00:00:01', 'paid',     15.25, ''),
    (1004, 9, 'not a time',          'paid',      1.0,  NULL);
INSERT INTO TABLE ods.orders_landing PARTITION (load_date = '2024-03-03')
VALUES
    (1002, 8, '2024-03-01 23:59:59', 'paid',      99.0, 'SPRING10'),
    (1005, 9, '2024-03-02 17:30:00', 'cancelled', 42.0, 'x-1'),
    (1006, NULL, '2024-03-03 04:00:00', 'paid',    3.75, NULL);

CREATE TABLE IF NOT EXISTS fact_orders (
    order_id    BIGINT,
    customer_id INT,
    order_time  TIMESTAMP,
    status      STRING,
    amount      DECIMAL(12,2),
    has_coupon  BOOLEAN
)
PARTITIONED BY (dt STRING)
STORED AS ORC
TBLPROPERTIES ('orc.compress' = 'SNAPPY');

-- Keep the last state of each order.
INSERT OVERWRITE TABLE fact_orders PARTITION (dt)
SELECT
    t.order_id,
    COALESCE(t.customer_id, -1) AS customer_id,
    CAST(t.ordered_at AS TIMESTAMP) AS order_time,
    t.status,
    CAST(t.amount AS DECIMAL(12,2)) AS amount,
    CASE WHEN t.coupon IS NOT NULL AND LENGTH(TRIM(t.coupon)) > 0 THEN TRUE ELSE FALSE END AS has_coupon,
    SUBSTR(t.ordered_at, 1, 10) AS dt
FROM (
    SELECT o.*,
           ROW_NUMBER() OVER (PARTITION BY o.order_id ORDER BY o.load_date DESC) AS rn
    FROM ods.orders_landing o
    WHERE o.load_date BETWEEN '2024-03-02' AND '2024-03-03'
      AND o.ordered_at RLIKE '^[0-9]{4}-[0-9]{2}-[0-9]{2} '
) t
WHERE t.rn = 1;

SHOW PARTITIONS fact_orders;
DESCRIBE fact_orders;

SELECT order_id, customer_id, order_time, status, amount, has_coupon, dt FROM fact_orders ORDER BY order_id;

SELECT dt,
       COUNT(*) AS orders,
       COUNT(DISTINCT customer_id) AS customers,
       SUM(IF(status = 'paid', amount, 0)) AS paid_amount
FROM fact_orders
WHERE dt >= '2024-03-01'
GROUP BY dt
ORDER BY dt;

-- The customer service corrects one day by hand.
INSERT OVERWRITE TABLE fact_orders PARTITION (dt = '2024-03-03')
SELECT order_id, customer_id, order_time, 'refunded', amount, has_coupon
FROM fact_orders
WHERE dt = '2024-03-03';
SELECT status, SUM(amount) AS total FROM fact_orders GROUP BY status ORDER BY status;

ALTER TABLE ods.orders_landing DROP IF EXISTS PARTITION (load_date = '2024-03-02');
SHOW PARTITIONS ods.orders_landing;
SELECT COUNT(1) FROM ods.orders_landing WHERE load_date = '2024-03-02';
DROP TABLE IF EXISTS ods.orders_landing;
