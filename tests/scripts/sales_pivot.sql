-- Monthly sales as a wide table: CASE pivots, grouping sets, rollup and cube.
CREATE TABLE sales (
  region STRING, product STRING, channel STRING, units INT, price DECIMAL(8,2), sold_on DATE
) USING ORC PARTITIONED BY (mon STRING);
SET spark.sql.sources.partitionOverwriteMode=dynamic;
INSERT OVERWRITE sales PARTITION (mon)
SELECT region, product, channel, units, price, sold_on, date_format(sold_on, 'yyyy-MM') FROM VALUES
  ('north', 'tea',    'web',   3, 4.50, DATE '2024-01-03'),
  ('north', 'tea',    'store', 1, 4.50, DATE '2024-01-31'),
  ('north', 'coffee', 'web',   2, 7.25, DATE '2024-02-01'),
  ('south', 'tea',    'web',   5, 4.40, DATE '2024-02-29'),
  ('south', 'coffee', 'store', 4, 7.00, DATE '2024-03-15'),
  (NULL,    'coffee', 'web',   1, 7.25, DATE '2024-03-16')
  AS t(region, product, channel, units, price, sold_on);

SELECT product,
       SUM(CASE WHEN mon = '2024-01' THEN units * price ELSE 0 END) AS jan,
       SUM(CASE WHEN mon = '2024-02' THEN units * price ELSE 0 END) AS feb,
       SUM(CASE WHEN mon = '2024-03' THEN units * price ELSE 0 END) AS mar,
       SUM(units * price) AS total
FROM sales
GROUP BY product
ORDER BY product;

SELECT COALESCE(region, 'n/a') AS region, product, SUM(units) AS units
FROM sales
GROUP BY COALESCE(region, 'n/a'), product WITH ROLLUP
ORDER BY region NULLS LAST, product NULLS LAST;

SELECT region, channel, SUM(units) AS units, GROUPING(region) AS gr, GROUPING(channel) AS gc
FROM sales
GROUP BY region, channel GROUPING SETS ((region), (channel), ())
ORDER BY gr, gc, region, channel;

SELECT product, channel, COUNT(*) AS n, grouping_id() AS g
FROM sales
GROUP BY CUBE (product, channel)
ORDER BY g, product, channel;

SELECT * FROM (SELECT product, channel, units FROM sales)
PIVOT (SUM(units) FOR channel IN ('web' AS web, 'store' AS store))
ORDER BY product;

CREATE TABLE sales_month USING PARQUET AS
SELECT mon, region, SUM(units) AS units, CAST(SUM(units * price) AS DECIMAL(14,2)) AS revenue
FROM sales GROUP BY mon, region;

DESCRIBE sales_month;
SELECT mon, region, revenue,
       RANK() OVER (PARTITION BY mon ORDER BY revenue DESC) AS rnk,
       ROUND(100 * revenue / SUM(revenue) OVER (PARTITION BY mon), 1) AS pct
FROM sales_month
ORDER BY mon, rnk, region;

SELECT mon, SUM(revenue) AS revenue,
       SUM(SUM(revenue)) OVER (ORDER BY mon) AS year_to_date,
       SUM(revenue) - LAG(SUM(revenue)) OVER (ORDER BY mon) AS delta
FROM sales_month GROUP BY mon ORDER BY mon;

SELECT quarter(sold_on) AS q, month(sold_on) AS m, last_day(sold_on) AS month_end, add_months(sold_on, 1) AS month_later,
       weekofyear(sold_on) AS w, trunc(sold_on, 'MM') AS month_start
FROM sales ORDER BY sold_on;

SELECT 'tea' AS what, SUM(units) AS units FROM sales WHERE product = 'tea'
UNION ALL
SELECT 'coffee', SUM(units) FROM sales WHERE product = 'coffee'
UNION ALL
SELECT 'all', SUM(units) FROM sales
ORDER BY what;

SELECT region, percentile_approx(price, 0.5) AS median_price, max(price) AS max_price FROM sales GROUP BY region ORDER BY region;
SELECT product, stddev(units) AS sd, MIN(sold_on) AS first_sale FROM sales GROUP BY product ORDER BY product;
SELECT mon FROM sales WHERE mon > 2023 GROUP BY mon ORDER BY mon;
SHOW PARTITIONS sales;
DROP TABLE sales_month;
