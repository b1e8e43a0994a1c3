USE default;
set hive.support.quoted.identifiers=none;
set hive.vectorized.execution.enabled=true;
CREATE TABLE IF NOT EXISTS stg_orders (order_id BIGINT, customer STRING, amount DOUBLE, updated STRING) PARTITIONED BY (ds STRING) STORED AS SEQUENCEFILE;
INSERT INTO stg_orders PARTITION (ds='20240101') VALUES (1,'a',10.0,'2024-01-01 01:00:00'),(2,'b',0.0,'2024-01-01 02:00:00');
INSERT INTO stg_orders PARTITION (ds='20240102') VALUES (1,'a',12.5,'2024-01-02 01:00:00'),(3,'c',-1.5,'bad');
DROP TABLE IF EXISTS orders_latest;
CREATE TABLE orders_latest AS
SELECT `(rn|ds)?+.+` FROM (
  SELECT *, row_number() OVER (PARTITION BY order_id ORDER BY updated DESC) AS rn FROM stg_orders
) t WHERE t.rn = 1;
SELECT * FROM orders_latest ORDER BY order_id;
SELECT customer, from_unixtime(unix_timestamp(ds, 'yyyyMMdd'), 'yyyy-MM-dd') AS d, amount
FROM stg_orders ORDER BY customer, d;
SELECT concat(date_sub(from_unixtime(unix_timestamp(ds,'yyyyMMdd'),'yyyy-MM-dd'), 1), ' 00:00:00') AS before_midnight FROM stg_orders WHERE customer = 'b';
ALTER TABLE stg_orders DROP IF EXISTS PARTITION (ds = '20240101');
SELECT count(1) AS n FROM stg_orders;
SELECT count(*) AS n, count(distinct customer) AS customers FROM orders_latest WHERE unix_timestamp(updated) IS NOT NULL;
